"""`print` in compiled code, and what `sys.stdout` raises."""

import io
import subprocess
import sys
import textwrap

import pytest

from weft import njit, prange


@njit
def shows(n):
    for i in range(n):
        print("line", i)
    return n


@njit
def catches(n):
    done = 0
    for i in range(n):
        try:
            print(i)
            done += 1
        except OSError:
            done += 100
    return done


@njit
def parts():
    print("a", 1, sep="-", end="!")
    print(sep="x")
    print("b", end=None, sep=None)


class Failing(io.TextIOBase):
    """Takes so many texts, and raises at the next."""

    def __init__(self, error, takes=2):
        self.error, self.takes, self.texts = error, takes, []

    def write(self, text):
        if len(self.texts) == self.takes:
            raise self.error
        self.texts.append(text)
        return len(text)


class Own(BaseException):
    pass


# spec: N2
@pytest.mark.parametrize("error", [BrokenPipeError(32, "gone"), ValueError("full"), Own("mine"), KeyboardInterrupt()])
def test_what_a_write_raises_leaves_the_call_as_itself(monkeypatch, error):
    out = Failing(error)
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(type(error)) as caught:
        shows(10)
    assert caught.value is error and out.texts == ["line 0\n", "line 1\n"], "once, and nothing after it"
    out.takes = 100
    assert shows(3) == 3 and len(out.texts) == 5


# spec: N2
def test_compiled_handlers_catch_it(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Failing(BrokenPipeError(32, "gone")))
    assert catches(5) == 2 + 300
    monkeypatch.setattr(sys, "stdout", Failing(ValueError("full")))
    with pytest.raises(ValueError, match="full"):
        catches(5)


# spec: N2
def test_no_standard_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert shows(3) == 3
    monkeypatch.delattr(sys, "stdout")
    with pytest.raises(RuntimeError, match=r"lost sys\.stdout"):
        shows(3)


# spec: N2
def test_a_closed_output(monkeypatch):
    out = io.StringIO()
    out.close()
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(ValueError, match="closed file"):
        shows(3)


# spec: N2
def test_separators_and_ends(capsys):
    parts()
    assert capsys.readouterr().out == "a-1!\nb\n"


@njit
def prints_in_parallel(n):
    for i in prange(n):
        print(i)


@njit(nogil=False)
def prints_with_the_gil(n):
    for i in prange(n):
        print(i)


# spec: N2
@pytest.mark.parametrize("f", [prints_in_parallel, prints_with_the_gil])
def test_other_threads_print_too(capsys, monkeypatch, f):
    f(500)
    assert sorted(map(int, capsys.readouterr().out.split())) == list(range(500))
    error = OSError("full")
    monkeypatch.setattr(sys, "stdout", Failing(error))
    with pytest.raises(OSError) as caught:
        f(500)
    assert caught.value is error


# spec: N2
def test_a_full_disk(tmp_path):
    program = """
    import sys
    from weft import njit

    @njit
    def f(n):
        for i in range(n):
            print(i)

    sys.stdout.reconfigure(line_buffering=True)
    try:
        f(3)
    except OSError as error:
        sys.stderr.write(error.strerror)
    sys.stdout = None
    """
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, path], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.stderr.startswith("No space left on device")
