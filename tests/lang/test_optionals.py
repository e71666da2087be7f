"""A value that may be None: how it compares, what it is true of, and what its class is."""

import pytest

import numpy as np
import weft
from support import function, same

# What the names `a` and `b` hold where they are not None.
KINDS = [
    ("1", "1"),
    ("1", "2"),
    ("1", "1.0"),
    ("1", "'x'"),
    ("'x'", "'x'"),
    ("'x'", "'y'"),
    ("(1, 2)", "(1, 2)"),
    ("(1, 'x')", "(1, 'y')"),
    ("[1, 2]", "[1, 2]"),
    ("[1, 2]", "[1]"),
    ("0", "False"),
]


def both(text, a, b):
    body = f"a = None\nb = None\nif c:\n    a = {a}\nif d:\n    b = {b}"
    f = function(text, ["c", "d"], body)
    for c in (False, True):
        for d in (False, True):
            same(f(c, d), f.py_func(c, d))


# spec: N2
@pytest.mark.parametrize(("a", "b"), KINDS)
def test_equality(a, b):
    both("a == b, b == a, a != b, a == a, a != a, a == None, None != b, a is None", a, b)
    both("(a, 1) == (b, 1), (a, b) != (b, a), a in (b, 3), b in (a,)", a, b)


# spec: N2
def test_items_of_lists():
    both("[a, b] == [b, a], [a] == [b], [a].count(b), a in [b], [a, b].index(b)", "1", "2")
    both("[a, b] == [b, a], a in [b]", "1.5", "1.5")


# spec: N2
@pytest.mark.parametrize(("a", "b"), KINDS)
def test_truth(a, b):
    both("bool(a), not b, 1 if a else 2, bool(None)", a, b)


# spec: N2
def test_classes_and_texts():
    both("isinstance(a, int), isinstance(a, (float, str)), isinstance(b, float)", "1", "2.5")
    f = function("bool(a), isinstance(a, int), a == b", ["a", "b"])
    for a in (None, 1):
        for b in (None, 1):
            same(f(a, b), f.py_func(a, b))


# spec: N2
def test_order_asks_only_the_items_that_differ():
    body = "a = None\nb = None\nif c:\n    a = 1\nif d:\n    b = 2"
    for text in ("(1, a) < (2, b)", "(2, a) <= (2, b)", "(a, 1) > (b, 0)", "(a, 1) >= (a, 0)", "(1, 2, a) < (1, 3, b)"):
        f = function(text, ["c", "d"], body)
        for c in (False, True):
            for d in (False, True):
                try:
                    expected = f.py_func(c, d)
                except TypeError:
                    with pytest.raises(TypeError, match="not supported between instances"):
                        f(c, d)
                else:
                    same(f(c, d), expected)


# spec: N2
def test_arrays_are_asked_for_first():
    for text in ("a == b", "a == 1", "a == None", "x == b", "x != b"):
        f = function(text, ["x", "c"], "a = None\nb = None\nif c:\n    a = x\n    b = 1")
        with pytest.raises(weft.UnsupportedError, match="ask `is None` first"):
            f(np.zeros(2), True)
