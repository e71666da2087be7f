"""`f.report()`: what it says of five functions, that what it says is so, and how it is shown."""

import html.parser
import re
import subprocess
import sys

import pytest

import numpy as np
import weft
from support import OTHER
from support import function as jitted


@weft.njit
def chain(a, b):
    c = a * 2.0
    d = c + b
    return np.sqrt(d) - 1.0


@weft.njit
def smooth(u, v):
    for _ in range(10):
        v[1:-1] = (u[:-2] + u[1:-1] + u[2:]) / 3.0
        u[1:-1] = v[1:-1]


@weft.njit
def gather(a, indices, out, n):
    for i in range(len(out)):
        out[i] = a[i] + a[indices[i]]
    for i in range(n):
        out[i] = 0.5 * a[i + 1]


@weft.njit
def total(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * a[i]
    return s + np.sum(a + 1.0)


@weft.njit
def grow(n, m):
    s = 0.0
    for i in range(n):
        x = np.arange(m) * 0.5
        s += x[i] + x.max()
    return s


def compiled():
    a = np.arange(100.0)
    chain(a, a)
    smooth(a.copy(), a.copy())
    gather(a, np.arange(100), a.copy(), 99)
    total(a)
    grow(5, 10)


def shown(report):
    """The lines of a report from the `def` on, numbered from it, without what depends on the machine."""
    first = next(line.number for line in report.lines if line.source.startswith("def"))
    out = []
    for line in report.lines:
        if line.number < first:
            continue
        out.append(f"{line.number - first} {' .+!'[line.cost]}| {line.source}")
        out += [f"    {note.kind}: {note.text}" for note in line.notes]
    text = "\n".join(out)
    text = re.sub(
        r"(lines? )([\d, and]+)", lambda m: m[1] + re.sub(r"\d+", lambda n: str(int(n[0]) - first), m[2]), text
    )
    return re.sub(r"\d+ items at a time(, \d+ such in flight)?", "N items at a time", text)


# Read by a person, line by line. Lines count from the `def`.
EXPECTED = {
    "chain": """\
0  | def chain(a, b):
1  |     c = a * 2.0
    fused: computed in the loop of line 3
2  |     d = c + b
    fused: computed in the loop of line 3
3 .|     return np.sqrt(d) - 1.0
    fused: 4 operations of lines 1, 2 and 3 are one loop
    parallel: on several threads from 10000 items on, at about 2 ns each
    vector: N items at a time
    memory: allocates float64[:]
""",
    "smooth": """\
0  | def smooth(u, v):
1  |     for _ in range(10):
2  |         v[1:-1] = (u[:-2] + u[1:-1] + u[2:]) / 3.0
    fused: 3 operations are one loop
    parallel: on several threads from 10000 items on, at about 2 ns each
    vector: N items at a time
    memory: computed straight into its place: no temporary
3  |         u[1:-1] = v[1:-1]
    parallel: on several threads by blocks, where there is enough to do
    memory: copies its elements
""",
    "gather": """\
0  | def gather(a, indices, out, n):
1 +|     for i in range(len(out)):
    parallel: in order, on one thread
    vector: not vectorised: an exception or a `break` may leave it in the middle
2 +|         out[i] = a[i] + a[indices[i]]
    checks: indices are known to be inside: no check
    checks: an index is checked on every turn: its value comes from an array
3  |     for i in range(n):
    parallel: in order, on one thread
    vector: N items at a time
4  |         out[i] = 0.5 * a[i + 1]
    checks: indices are tested before the loop of line 3, which then runs without checks as far as they are inside
""",
    "total": """\
0  | def total(a):
1  |     s = 0.0
2 +|     for i in range(len(a)):
    parallel: in order, on one thread
    vector: not vectorised: a sum of floats keeps its order
3  |         s += a[i] * a[i]
    checks: indices are known to be inside: no check
4  |     return s + np.sum(a + 1.0)
    fused: computed inside the reduction: no temporary
    parallel: on several threads by blocks, where there is enough to do
    vector: N items at a time
""",
    "grow": """\
0  | def grow(n, m):
1  |     s = 0.0
2  |     for i in range(n):
3 !|         x = np.arange(m) * 0.5
    fused: 2 operations are one loop
    fused: stored before it is reduced: it is used elsewhere too, can raise, or something between writes
    parallel: on several threads from 20000 items on, at about 1 ns each
    vector: N items at a time
    checks: ints are checked for overflow on every turn
    memory: allocates float64[:] on every turn of the loop of line 2
4 +|         s += x[i] + x.max()
    parallel: on several threads by blocks, where there is enough to do
    checks: an index is checked on every turn
5  |     return s
""",
}


# spec: G3
@pytest.mark.parametrize("function", [chain, smooth, gather, total, grow], ids=lambda f: f.__name__)
def test_what_it_says(function):
    compiled()
    assert shown(function.report()) + "\n" == EXPECTED[function.__name__]


def texts(report, kind):
    return [note.text for note in report.notes if note.kind == kind]


# spec: G3
def test_the_loops_it_names_are_the_loops_that_run():
    compiled()
    a = np.arange(100.0)
    for function, arguments in [(chain, (a, a)), (total, (a,))]:
        with weft.trace() as trace:
            function(*arguments)
        named = [text for text in texts(function.report(), "parallel") if "items" in text or "by blocks" in text]
        assert len(trace.launches) == len(named)


# spec: G3
def test_the_width_it_names_is_in_the_code():
    compiled()
    (text,) = texts(chain.report(), "vector")
    assert f"<{text.split()[0]} x double>" in chain.inspect("llvm")
    text = texts(gather.report(), "vector")[1]
    assert f"<{text.split()[0]} x double>" in gather.inspect("llvm")


# spec: G3
def test_checks_that_it_says_are_made_raise_and_others_cannot():
    compiled()
    a, out = np.arange(4.0), np.zeros(4)
    said = [note for note in gather.report().notes if "on every turn" in note.text]
    with pytest.raises(IndexError) as raised:
        gather(a, np.array([0, 1, 2, 4]), out, 0)
    assert raised.traceback[-1].lineno + 1 == said[0].line
    said = [note for note in gather.report().notes if "tested before" in note.text]
    with pytest.raises(IndexError) as raised:
        gather(a, np.arange(4), out, 4)
    assert raised.traceback[-1].lineno + 1 == said[0].line


@weft.njit
def scaled(a, b):
    w = np.sin(b) * 2.0
    return a * w


@weft.njit
def tripled(x):
    y = x * 3.0
    return y + 1.0


@weft.njit
def calls(x):
    return tripled(x) - 2.0


# spec: G3
def test_why_two_operations_are_two_loops():
    scaled(np.ones((4, 5)), np.ones(5))
    line = next(line for line in scaled.report().lines if "np.sin" in line.source)
    number = line.number + 1
    assert f"stored, and read again by the loop of line {number}: their sizes differ" in [n.text for n in line.notes]


# spec: G3
def test_functions_that_are_called_are_shown_too():
    calls(np.ones(8))
    report = calls.report()
    assert {line.function for line in report.lines} == {"calls", "tripled"}
    product = next(line for line in report.lines if "x * 3.0" in line.source)
    (place,) = [line.number for line in report.lines if "- 2.0" in line.source]
    assert [note.text for note in product.notes] == [f"computed in the loop of line {place} of calls"]


# spec: G3
def test_what_the_user_asked_for_is_the_reason():
    plain = chain.py_func
    serial = weft.njit(plain, parallel=False)
    serial(np.ones(8), np.ones(8))
    assert texts(serial.report(), "parallel") == ["on one thread: parallel=False"]
    always = weft.njit(plain, parallel=True)
    always(np.ones(8), np.ones(8))
    assert texts(always.report(), "parallel") == ["on several threads, however few: parallel=True"]
    unchecked = weft.njit(gather.py_func, boundscheck=False)
    unchecked(np.ones(8), np.arange(8), np.ones(8), 7)
    assert set(texts(unchecked.report(), "checks")) == {"indices are not checked: boundscheck=False"}


# spec: G3
def test_kernels_and_what_is_moved():
    @weft.njit
    def doubled(a):
        return a * 2.0

    with weft.device_context(OTHER):
        doubled(np.ones(100))
    place = doubled.specializations[0].device
    assert texts(doubled.report(), "device") == [
        f"a kernel on {place}",
        "copied back to the host, unless the host has it",
        f"copied to {place}, unless it is there",
    ]

    @weft.kernel
    def double(a, out):
        i = weft.get_global_id(0)
        out[i] = a[i] * 2.0

    x = weft.tensor.ones(100, device="native")
    double[100](x, weft.tensor.ones(100, device="native"))
    assert texts(double.report(), "checks") == ["indices are not checked: kernels do not"]


# spec: G3
def test_which_specialisation_it_is_of():
    function = weft.njit(chain.py_func)
    with pytest.raises(ValueError, match="`chain` has not been compiled yet: call it first"):
        function.report()
    function(np.ones(8), np.ones(8))
    function(np.ones((2, 4), "float32"), np.ones((2, 4), "float32"))
    assert function.report().signature == "(float32[:, :], float32[:, :])"
    assert function.report(index=0).signature == "(float64[:], float64[:])"
    with pytest.raises(IndexError, match="`chain` has no specialisation 2"):
        function.report(2)


# spec: G3
def test_text_and_data_say_the_same():
    compiled()
    report = grow.report()
    assert isinstance(report, weft.Report)
    assert report.notes == [note for line in report.lines for note in line.notes]
    text = str(report)
    assert all(f"# {note.kind}: {note.text}" in text for note in report.notes)
    assert all(line.source in text for line in report.lines)
    worst = next(line for line in report.lines if "np.arange" in line.source)
    assert worst.cost == max(note.cost for note in worst.notes) == 3
    assert f"{worst.number} !| " in text
    assert repr(report).startswith("<weft.Report of grow(int, int) on native:cpu:0: ")


SUMMARIES = {
    "chain": """\
runs         on native:cpu:0, 1 loop on the host's threads
vectors      1 loop in vectors
temporaries  2 lines computed in loops of others, 1 line allocates
copies       none
checks       none
""",
    "smooth": """\
runs         on native:cpu:0, 2 loops on the host's threads
vectors      1 loop in vectors
temporaries  1 computed in its place
copies       1 on the host
checks       none
""",
    "gather": """\
runs         on native:cpu:0, 2 loops in order
vectors      1 loop in vectors, 1 not
temporaries  none
copies       none
checks       1 line on every turn, 1 before a loop
""",
    "total": """\
runs         on native:cpu:0, 1 loop on the host's threads, 1 loop in order
vectors      1 loop in vectors, 1 not
temporaries  1 computed inside its reduction
copies       none
checks       none
""",
    "grow": """\
runs         on native:cpu:0, 2 loops on the host's threads
vectors      1 loop in vectors
temporaries  1 line allocates, 1 of them on every turn of a loop
copies       none
checks       2 lines on every turn
""",
}


# spec: G3
@pytest.mark.parametrize("function", [chain, smooth, gather, total, grow], ids=lambda f: f.__name__)
def test_the_summary_counts_what_the_lines_say(function):
    compiled()
    report = function.report()
    summary = "".join(f"{row:<12} {what}\n" for row, what in report.summary.items())
    assert summary == SUMMARIES[function.__name__]
    assert summary in str(report)
    page = report.page()
    assert page.count("<title>") == 1 and {report._title(), *report.summary.values()} <= set(parsed(page).texts)


# spec: G3
def test_the_summary_counts_kernels_and_transfers(accelerator):
    @weft.njit
    def f(x):
        y = np.sqrt(x) + 1.0
        return np.sum(y)

    with weft.device_context(accelerator):
        f(np.ones(100))
    summary = f.report().summary
    assert summary["runs"] == f"on {weft.Device(accelerator).filter_string}, 1 kernel"
    assert summary["copies"] == "1 to the device, 1 back"


class Page(html.parser.HTMLParser):
    """Fails where tags do not close each other; notes texts, tags and addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.texts, self.attributes = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.attributes += attributes
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)


def parsed(text):
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open
    return page


# spec: G3
def test_the_page_is_whole_and_needs_nothing_else():
    @weft.njit
    def tricky(a):
        return np.where(a < 2.0, a, a & 1 if False else -a) * len("<b>&amp;")

    compiled()
    tricky(np.arange(4.0))
    for report in (grow.report(), tricky.report()):
        for text in (report._repr_html_(), report.page()):
            page = parsed(text)
            assert not {"script", "link", "img"} & set(page.seen)
            assert not {"src", "href"} & {name for name, _ in page.attributes} and "url(" not in text
            # What a reader sees is the source, with everything that looks like a tag.
            for line in report.lines:
                assert not line.source or line.source in page.texts
            for note in report.notes:
                assert note.text in page.texts


PROGRAM = """
import numpy as np
import weft

@weft.njit
def doubled(x):
    return x * 2.0 + 1.0

@weft.njit("float64(float64[:])")
def summed(x):
    return x.sum()

def plain(x):
    return x
"""


def run(folder, *arguments):
    (folder / "model.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "weft", "report", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


# spec: G3
def test_the_command(tmp_path):
    done = run(tmp_path, "model:doubled", "--call", "doubled(np.ones(9))")
    assert done.returncode == 0 and "2 operations are one loop" in done.stdout, done.stderr
    done = run(tmp_path, "model.py:summed")
    assert done.returncode == 0 and "on several threads by blocks" in done.stdout, done.stderr
    done = run(tmp_path, "model:doubled", "--call", "doubled(np.ones(9))", "-o", "page.html")
    assert done.returncode == 0 and not done.stdout, done.stderr
    assert "2 operations are one loop" in parsed((tmp_path / "page.html").read_text()).texts


# spec: G3
@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["model:doubled"],
            "doubled has no signature and was not called: say with what to call it, --call 'doubled(…)'",
        ),
        (["model:plain"], "plain is no compiled function of model: decorate it with @weft.njit"),
        (["model:absent"], "absent is no compiled function of model"),
        (["doubled"], "doubled names no function: write MODULE:FUNCTION"),
        ([], "the following arguments are required: MODULE:FUNCTION"),
    ],
)
def test_what_the_command_refuses(tmp_path, arguments, message):
    done = run(tmp_path, *arguments)
    assert done.returncode == 2 and message in done.stderr


# spec: G3, N14
def test_a_prange_is_told_from_a_plain_loop():
    @weft.njit
    def total(x):
        s = 0.0
        for i in weft.prange(len(x)):
            s += x[i]
        for i in range(len(x)):
            s += x[i]
        return s

    total(np.ones(3))
    first, second = texts(total.report(), "parallel")
    assert first.startswith("iterations on several threads from") and second == "in order, on one thread"


# spec: G3, N14
def test_what_a_prange_trusts_and_what_it_accumulates():
    @weft.njit
    def f(y, h, p, x):
        s = 0.0
        for i in weft.prange(len(x)):
            y[p[i]] = x[i]
            h[p[i] % 4] += x[i]
            s += x[i]
        return s

    f(np.zeros(3), np.zeros(4), np.arange(3), np.ones(3))
    *_, trusted, accumulated = texts(f.report(), "parallel")
    assert trusted.startswith("taken not to store where another iteration does")
    assert accumulated.startswith("groups of iterations update copies of their own")


# spec: G3
def test_it_says_which_calls_it_is_for():
    f = jitted("None", ["a", "b"], "a[2:6] = b[1:5] * 2")
    room = np.arange(20.0)
    f(room[:8], room[8:16])
    first = f.report()
    assert first.calls == (
        "for calls in which no array that it writes shares memory with another argument, "
        "and slices lie inside their arrays"
    )
    assert str(first).splitlines()[0].endswith(f" on native:cpu:0, {first.calls}")
    assert "a temporary" not in str(first).replace("no temporary", "")
    f(room[:8], room[4:12])
    second = f.report()
    assert second.calls == first.calls.replace("for calls", "for all calls but those")
    assert "a temporary only where the arrays overlap" in str(second)
    g = jitted("None", ["a"], "a[:] = a * 2")
    g(room)
    assert g.report().calls == ""


# spec: G3
def test_products_that_many_turns_share():
    """A product that is computed before its turns is said where it is taken; what a turn makes of it, as ever."""
    rows = jitted("out", ["x", "w", "out"], "for i in range(len(x)):\n    out[i, i:] = w[i:] @ x[i]")
    rows(np.ones((40, 30)), np.ones((40, 30)), np.zeros((40, 40)))
    text = str(rows.report())
    assert "taken from a product that is computed for many turns at once" in text
    # The array of a panel is not one of every turn.
    assert "on every turn of the loop" not in text
