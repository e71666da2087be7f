"""`out=` that is wider than what is computed, and numbers beside arrays whose dtype counts in NumPy."""

import copy

import pytest

import numpy as np
import weft
from support import function, same, same_as_plain

ROW = np.arange(5.0)
CUBE = np.arange(24.0).reshape(2, 3, 4)


def check(f, *arguments):
    """The same result, the same array given back, the same left in every argument, or the same class of exception."""
    ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    try:
        expected = f.py_func(*theirs)
    except Exception as error:
        with pytest.raises(type(error)):
            f(*ours)
    else:
        result = f(*ours)
        same(result, expected)
        assert [result is x for x in ours] == [expected is x for x in theirs]
    for one, other in zip(ours, theirs):
        same(one, other)


OUTPUTS = [
    ("np.sqrt(a, b)", (ROW, np.zeros((2, 5)))),
    ("np.sqrt(a, out=b)", (ROW, np.zeros((1, 5)))),
    ("np.add(a, 1.0, b)", (ROW, np.zeros((3, 2, 5)))),
    ("np.add(a, a, out=b)", (np.ones((4, 1)), np.zeros((4, 3)))),
    ("np.add(a, b, out=c)", (np.ones((3, 1)), ROW, np.zeros((2, 3, 5)))),
    ("np.multiply(a, b, out=c)", (ROW, np.float32(2), np.asfortranarray(np.zeros((3, 5))))),
    ("np.clip(a, 1.0, 3.0, out=b)", (ROW, np.zeros((2, 5)))),
    ("a.clip(1.0, 3.0, out=b)", (ROW, np.zeros((2, 5)))),
    # Sizes that nobody knows before the call.
    ("np.add(a[:b], 1.0, out=c)", (ROW, 1, np.zeros(5))),
    ("np.add(a[:b], 1.0, out=c)", (ROW, 3, np.zeros(5))),
    ("np.add(a[:b], 1.0, out=c[:b])", (ROW, 3, np.zeros(5))),
    ("np.add(a[b:], a[:-b], out=c)", (ROW, 4, np.zeros((2, 3)))),
    # Parts of the array that is written.
    ("np.add(a[1], 1.0, out=a)", (np.arange(12.0).reshape(3, 4),)),
    ("np.add(a[:, 1:2], a[2], out=a)", (np.arange(12.0).reshape(3, 4),)),
    ("np.negative(a[0, 0], out=a)", (CUBE,)),
    # What does not fit.
    ("np.add(a, 1.0, out=b)", (ROW, np.zeros(4))),
    ("np.add(a, 1.0, out=b)", (ROW, np.zeros(1))),
    ("np.add(a, 1.0, out=b)", (ROW, np.zeros((5, 1)))),
    ("np.add(a, 1.0, out=b)", (np.zeros((2, 5)), np.zeros(5))),
    ("np.add(a, 1.0, out=b)", (ROW, np.zeros((5, 2)))),
    ("np.sum(a, axis=0, out=b)", (CUBE, np.zeros((2, 3, 4)))),
]


# spec: N3, T5
@pytest.mark.parametrize(("expression", "arguments"), OUTPUTS, ids=range(len(OUTPUTS)))
def test_outputs_wider_than_the_result(expression, arguments):
    check(function(expression, "abc"[: len(arguments)]), *arguments)


# spec: N3, N7
def test_operators_in_place_are_never_narrower():
    f = function(None, "ab", "a += b")
    for a, b in ((ROW, np.zeros((2, 5))), (np.zeros(1), ROW), (np.zeros((2, 1)), np.zeros((2, 2)))):
        with pytest.raises(ValueError, match="non-broadcastable output operand"):
            f(a.copy(), b)


@weft.njit
def root(a, b):
    return np.sqrt(a, out=b)


# spec: A1, N3
def test_wider_outputs_on_devices(device):
    a, b = np.arange(6, dtype=np.float32), np.zeros((4, 6), np.float32)
    with weft.device_context(device):
        assert root(a, b) is b
    same(b, np.broadcast_to(np.sqrt(a), b.shape))


NUMBERS = [
    ("np.clip(a, b, 9)", (1, np.array([4.4, 5.5], np.float32))),
    ("np.clip(a, b, 9)", (1.5, np.array([1, 2], np.int8))),
    ("np.clip(a, b, None)", (2, np.array([1, 2, 3], np.uint16))),
    ("np.clip(a, None, b)", (2, np.array([1, 2, 3], np.int32))),
    ("np.clip(a, b, 9)", (True, np.array([1, 2, 3], np.int8))),
    ("np.clip(a, 1, b)", (2**40, np.int8(100))),
    ("np.clip(a, 2, 3)", (1,)),
    ("np.clip(a, 2, 3.5)", (7,)),
    ("np.linspace(a, b, 3)", (np.int16(2), np.float32(1))),
    ("np.linspace(a, b, 3)", (True, np.float32(2.5))),
    ("np.linspace(a, b, 3)", (np.int16(2), np.int16(1))),
    ("np.linspace(a, b, 3)", (2, np.float32(1))),
    ("np.linspace(a, b, 3)", (1 + 2j, np.float32(1))),
    ("np.linspace(a, b, 3)", (1, 2)),
]


# spec: N3
@pytest.mark.parametrize(("expression", "arguments"), NUMBERS, ids=range(len(NUMBERS)))
def test_numbers_whose_dtype_counts(expression, arguments):
    same_as_plain(function(expression, "ab"[: len(arguments)]), *arguments)


# spec: N3
def test_steps_of_zero():
    f = function("np.arange(a, b, c)", "abc")
    for arguments in (
        (1, 2, 0), (1.0, 2, 0), (1, 2, 0.0), (1, 1, 0), (2, 1, 0), (1, np.int16(2), 0), (1, 2, np.float32(0)),
        (np.float64(1), 2, 0), (np.uint8(3), 2, np.int8(0)), (np.int16(1), 1, 0), (1.5, np.float64(1.5), 0.0),
    ):  # fmt: skip
        kind, text = None, None
        with np.errstate(all="ignore"):
            try:
                f.py_func(*arguments)
            except Exception as error:
                kind, text = type(error), str(error)
        with pytest.raises(kind) as caught:
            f(*arguments)
        assert str(caught.value) == text


# spec: N3
def test_diagonals_are_ints():
    matrix = np.ones((3, 4))
    for k in (-2, np.int8(1), True):
        for expression in ("np.eye(3, 4, k)", "np.tri(3, 4, k)", "np.triu(a, k)", "np.tril(a, k)"):
            same_as_plain(function(expression, "ak"), matrix, k)
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        function("np.eye(3, 4, k)", "k")(1.5)
    for expression in ("np.tri(3, 4, k)", "np.triu(np.ones((3, 4)), k)", "np.tril(np.ones((3, 4)), k)"):
        with pytest.raises(weft.UnsupportedError, match="the number of a diagonal is an int"):
            function(expression, "k")(1.5)
