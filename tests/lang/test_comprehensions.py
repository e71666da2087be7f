"""Comprehensions, and loops that append an item at every turn: CPython is the oracle, for any number of threads."""

import pytest

import numpy as np
import weft
from support import function

pytestmark = pytest.mark.usefixtures("threads_kept")

THREADS = (1, 2, 7)

# Each gives a list. `x` are floats, `k` ints, of the same length `n`.
AT_ONCE = {
    "an expression": "[2.0 * x[i] + i for i in range(n)]",
    "an item of an array": "[v * v for v in x]",
    "from a number on": "[i * i for i in range(3, n)]",
    "pairs": "[(i, x[i]) for i in range(n)]",
    "truths": "[v > 0.5 for v in x]",
    "what another array says": "[x[j] for j in k]",
    "two arrays": "[v * j for v, j in zip(x, k)]",
    "numbered": "[v * j for j, v in enumerate(x)]",
    "a loop in each": "[sum(range(j)) for j in k]",
    "an array in each": "[(x[:j] * 2).sum() for j in k]",
    "a list in each": "[len([v for v in x[:j] if v > 0.5]) for j in k]",
    "a choice": "[v if v > 0.5 else -v for v in x]",
    "complex numbers": "[v + 1j * v for v in x]",
    "nothing": "[i for i in range(-n)]",
    "constants": "[7 for _ in range(n)]",
}
IN_ORDER = {
    "a condition": "[v for v in x if v > 0.5]",
    "two loops": "[i * j for i in range(n) for j in range(3)]",
    "what is counted": "[(total := total + i) for i in range(n)]",
    "lists": "[[i] for i in range(n)]",
    "arrays": "[x[:i] for i in range(n)]",
    "backwards": "[i for i in range(n, 0, -1)]",
    "items of a list": "[v for v in [1, 2, n]]",
}


def made(text):
    return function("r", ["x", "k"], f"n = len(x)\ntotal = 0\nr = {text}")


# spec: N2
@pytest.mark.parametrize("name", [*AT_ONCE, *IN_ORDER])
def test_comprehensions_are_cpythons(name):
    f = made((AT_ONCE | IN_ORDER)[name])
    for n in (0, 1, 3, 256, 257, 700):
        rng = np.random.default_rng(n)
        x, k = rng.uniform(size=n), rng.integers(0, max(n, 1), size=n)
        theirs = f.py_func(x, k)
        for threads in THREADS:
            weft.set_num_threads(threads)
            ours = f(x, k)
            assert len(ours) == len(theirs)
            if name == "arrays":
                assert all(np.array_equal(a, b) for a, b in zip(ours, theirs))
            elif name == "an array in each":
                assert np.allclose(ours, theirs, rtol=1e-12)
            else:
                assert ours == theirs
                assert {*map(type, ours)} == {*map(type, theirs)}
    assert ("list.room" in f.inspect("fused")) == (name in AT_ONCE)


# spec: N2
def test_the_first_turn_that_raises_is_the_one():
    f = function("r", ["k"], "r = [10.0 // (int(j) - 5) if j < 900 else np.zeros(3)[j] for j in k]")
    k = np.arange(6, 3000)
    for threads in THREADS:
        weft.set_num_threads(threads)
        with pytest.raises(IndexError):
            f(k)
        k[100] = 5
        with pytest.raises(ZeroDivisionError):
            f(k)
        k[100] = 106


# What changes something else is done in order.
SIDE_EFFECTS = {
    "an array": ("y = np.zeros(n)\nfor i in range(n):\n    y[0] += 1\n    r.append(y[0])", "r, y"),
    "another list": ("s = [0]\nfor i in range(n):\n    s.append(i)\n    r.append(len(s))", "r, s"),
    "the list itself": ("for i in range(n):\n    r.append(len(r))", "r"),
    "the list twice": ("for i in range(n):\n    r.append(i)\n    r.append(-i)", "r"),
    "a name": ("t = 0\nfor i in range(n):\n    t += i\n    r.append(t)", "r, t"),
    "a list that has items": ("r.append(5)\nfor i in range(n):\n    r.append(i)", "r"),
    "a break": ("for i in range(n):\n    r.append(i)\n    if i == 4:\n        break", "r"),
    "a continue": ("for i in range(n):\n    if i == 4:\n        continue\n    r.append(i)", "r"),
    "two names of the list": ("s = r\nfor i in range(n):\n    r.append(i)", "r, s, r is s"),
    "a handler": (
        "try:\n    for i in range(n):\n        r.append(10 // (4 - i))\nexcept ZeroDivisionError:\n    pass",
        "r",
    ),
}


# spec: N2
@pytest.mark.parametrize("name", SIDE_EFFECTS)
def test_turns_that_need_each_other(name):
    body, result = SIDE_EFFECTS[name]
    f = function(result, ["n"], f"r = [0]\nr.pop()\n{body}")
    g = function(result, ["n"], f"r = [0 for i in range(0)]\n{body}")
    for n in (0, 3, 9, 600):
        for h in (f, g):
            ours, theirs = h(n), h.py_func(n)
            pairs = zip(*(v if isinstance(v, tuple) else (v,) for v in (ours, theirs)), strict=True)
            assert all(np.array_equal(a, b) for a, b in pairs), (n, ours, theirs)


# spec: N2
def test_a_loop_that_appends_is_one_too():
    @weft.njit
    def squares(x):
        found = []
        for v in x:
            y = np.zeros(3)
            y[1] = v
            found.append(y.sum() * v)
        return found

    x = np.linspace(0, 1, 1000)
    assert squares(x) == squares.py_func(x)
    assert "list.room" in squares.inspect("fused")


# spec: N2
def test_items_are_set_in_vectors():
    """The address of the items is found once, not in every turn; and anew once the list has grown."""

    @weft.njit
    def doubled(x):
        items = [2.0 * v for v in x]
        items.append(-1.0)
        items[0] = 5.0
        more = [(v, v + 1.0) for v in items if v > 0.0]
        return np.array(items), len(more), [i + 1.0 if i % 2 else x[i] for i in range(len(x))]

    for n in (1, 5, 3000):
        x = np.arange(float(n))
        ours, theirs = doubled(x), doubled.py_func(x)
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1:] == theirs[1:]
    notes = [note for line in doubled.report().lines for note in line.notes]
    assert any(note.kind == "vector" and "items at a time" in note.text for note in notes)


# spec: N2
def test_a_variable_that_a_nested_function_sets():
    @weft.njit
    def counted(n):
        step = 1

        def longer():
            nonlocal step
            step += 1
            return step

        longer()
        before = [i * step for i in range(n)]
        return before, [longer() * i for i in range(n)], step

    for n in (0, 3, 500):
        assert counted(n) == counted.py_func(n)
