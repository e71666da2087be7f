"""Statements that write into arrays which are there, in one loop; and arrays that share memory, for which it is not."""

import itertools

import pytest

import numpy as np
import weft
from support import function

pytestmark = pytest.mark.usefixtures("threads_kept")

NAMES = ["a", "b", "c", "x", "s"]

# title: statements of arrays of one size, and how many of them are one loop where no array shares memory with another.
ONE_LOOP = {
    "what was just written is read": ("a += x * s\nb += a * s", 2),
    "one input": ("a[:] = x * s\nb[:] = x + s", 2),
    "three": ("a[:] = x * s\nb[:] = a + x\nc[:] = b - a", 3),
    "slices": ("a[1:-1] += x[2:] - x[:-2]\nb[1:-1] += a[1:-1] * s", 2),
    "slices with a step": ("a[::2] = x[::2] * s\nb[::2] = x[::2] + a[::2]", 2),
    "of both directions": ("a[::-1] = x * s\nb[::-1] = x - s", 2),
    "new arrays": (
        "p = np.zeros(a.size)\nq = np.ones(a.size)\nv, w = p[1:], q[1:]\np[:] = x * 2\nq[:] = p + x\na[1:] = v + w",
        2,
    ),
    "in a loop": ("k = 0\nwhile k < 3:\n    a += x * k\n    b -= a + k\n    k += 1", 2),
    "dtypes": (
        "n = np.zeros(a.size, np.int32)\nv = n[1:]\nn[:] = (x * 10).astype(np.int32)\na[:] = n * 0.5 + x\nb[1:] = v",
        2,
    ),
    "where the same array is read and written": ("a[:] = a * s + x\nb[:] = b * s + a + x", 2),
}

# Not one loop: the second reads other elements of what the first writes, or the first would read what the second wrote.
APART = {
    "a neighbour of what was written": "a[1:-1] = x[1:-1] * s\nb[1:-1] = a[2:] + x[1:-1]",
    "a neighbour of what is written next": "a[1:-1] = b[2:] * s + x[1:-1]\nb[1:-1] = x[1:-1] + s",
    "backwards": "a[:] = x * s\nb[:] = a[::-1] + x",
    "the same array twice": "a[:] = x * s\na[:] = a + x",
    "other sizes": "a[1:] = x[1:] * s\nb[:-2] = x[:-2] + s",
    "a sum between": "a[:] = x * s\nt = a.max()\nb[:] = x + t",
    "an element between": "a[:] = x * s\nb[3] = 7.0\nb[:] = b + x + a[4]",
    "one element everywhere": "a[:] = x * s\nb[:] = x + a[:1]",
    "an exception between": "a[:] = x * s\nif x[0] > 9:\n    raise ValueError\nb[:] = x + a",
}


def loops(f):
    text = f.inspect("fused")
    return text.count("nt.into_all("), text.count("nt.into("), text.count("nt.copy(")


def arguments(n=50):
    rng = np.random.default_rng(3)
    return [*(rng.normal(size=n) for _ in range(4)), 0.3]


def copied(given):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in given]


def check(f, given, wanted):
    result, expected = f(*given), f.py_func(*wanted)
    for ours, theirs in zip([*given, result], [*wanted, expected]):
        np.testing.assert_array_equal(ours, theirs)


# spec: N7
@pytest.mark.parametrize("title", ONE_LOOP)
def test_one_loop(title):
    body, count = ONE_LOOP[title]
    f = function("None", NAMES, body)
    for threads, n in itertools.product((1, 2, 7), (3, 50, 200_000)):
        weft.set_num_threads(threads)
        check(f, arguments(n), arguments(n))
    assert loops(f)[0] == 1
    # All of them went into it.
    assert body.count("= ") - loops(f)[1] - loops(f)[2] >= count - 1


# spec: N7
@pytest.mark.parametrize("title", APART)
def test_not_one_loop(title):
    f = function("None", NAMES, APART[title])
    check(f, arguments(), arguments())
    assert loops(f)[0] == 0


# spec: N7
@pytest.mark.parametrize("title", [*ONE_LOOP, *APART])
def test_arguments_that_share_memory(title):
    """In every way that two or three of them can: the same array, shifted, backwards, with other steps."""
    body = ONE_LOOP[title][0] if title in ONE_LOOP else APART[title]
    f = function("None", NAMES, body)
    check(f, arguments(12), arguments(12))
    views = [
        lambda m: m[:12],
        lambda m: m[1:13],
        lambda m: m[11::-1],
        lambda m: m[:24:2],
        lambda m: m[24:36],
        lambda m: m[12:36:2],
    ]
    for ways in itertools.product(views, repeat=4):
        ours, theirs = (np.random.default_rng(5).normal(size=40) for _ in range(2))
        check(f, [*(way(ours) for way in ways), 0.3], [*(way(theirs) for way in ways), 0.3])
        np.testing.assert_array_equal(ours, theirs)


# spec: N7
def test_calls_are_told_apart():
    """Code for arguments that share no memory, and code for all others, each when it is needed."""
    f = function("None", ["a", "x"], "a[1:] = x[:-1] * 2\nx[:1] = 0.0")
    base = np.arange(30.0)
    f(base[:10], base[10:20])
    f(base[10:20], base[20:30])
    assert len(f.specializations) == 1
    assert " apart {" in f.inspect("ntensor")
    for first, second in ((base[:10], base[:10]), (base[:10], base[9:19]), (base[9:19], base[:10])):
        wanted = base.copy()
        at = [(v.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // 8 for v in (first, second)]
        f.py_func(*(wanted[k : k + 10] for k in at))
        f(first, second)
        np.testing.assert_array_equal(base, wanted)
    assert len(f.specializations) == 2
    assert " apart {" not in f.inspect("ntensor")


# spec: N7
def test_extents():
    """Arrays are apart if no byte of one is of the other: of any rank, dtype, step, and of no elements."""
    f = function("None", ["a", "x"], "a[...] = x.sum() + a")
    room = np.zeros(64)

    def code(a, x):
        f(a, x)
        return " apart {" in f.inspect("ntensor", len(f.specializations) - 1)

    bytes_of = room.view(np.int8)
    assert code(room[:4], bytes_of[32:40])
    g = function("None", ["a", "x"], "a[...] = x.sum() + a")
    g(room[:4], bytes_of[31:40])
    assert " apart {" not in g.inspect("ntensor")
    g(room[:4], bytes_of[32:40])
    assert len(g.specializations) == 2
    grid = room.reshape(8, 8)
    h = function("None", ["a", "x"], "a[...] = x.sum() + a")
    h(grid[:3], grid[3:])
    assert len(h.specializations) == 1
    h(grid[:3, ::-1], grid[3:, ::-1])
    h(grid[:0], grid[:0])
    before = len(h.specializations)
    h(grid[2::-1, :4], grid[:3, 4:])  # side by side: their extents meet
    assert len(h.specializations) == before + 1


# spec: N7
def test_global_arrays_are_not_taken_to_be_apart():
    room = np.arange(10.0)

    @weft.njit
    def f(a):
        a[1:] = room[:-1] * 2
        return room.sum()

    wanted = room.copy()
    wanted[1:] = wanted[:-1] * 2
    assert f(room) == wanted.sum()
    np.testing.assert_array_equal(room, wanted)


# spec: G3
def test_the_report_names_both_statements():
    f = function("None", NAMES, ONE_LOOP["what was just written is read"][0])
    f(*arguments())
    notes = [note.text for line in f.report().lines for note in line.notes]
    assert any("are one loop" in text for text in notes), notes


# spec: N7
def test_arguments_that_become_one_array_inside():
    """What a call does not share, the function may: by a call of its own, or a name that is one of two."""

    @weft.njit
    def again(a, b, n):
        if n == 0:
            a[1:] = b[:-1] * 2
            return 0
        return again(b, b, n - 1) + 1

    @weft.njit
    def chosen(a, b, n):
        c = a
        if n > 0:
            c = b
        c[1:] = b[:-1] * 2
        b[1:] = a[:-1] + c[1:]

    for f in (again, chosen):
        for n in (0, 1, 2):
            ours, theirs = ([np.arange(1.0, 9.0), np.arange(11.0, 19.0)] for _ in range(2))
            assert f(*ours, n) == f.py_func(*theirs, n)
            np.testing.assert_array_equal(ours, theirs)
