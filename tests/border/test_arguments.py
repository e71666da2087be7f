"""What compiled functions take: numbers, arrays, tuples, functions, types, strings, and how calls bind them."""

import enum
import math

import pytest

import numpy as np
import weft
from support import same


def same_call(function, *args, **kwargs):
    """A jitted call gives what the plain one gives: result or TypeError with its text."""
    jitted = weft.njit(function)
    try:
        expected = function(*args, **kwargs)
    except TypeError as error:
        with pytest.raises(TypeError) as caught:
            jitted(*args, **kwargs)
        assert str(caught.value) == str(error)
        return
    same(jitted(*args, **kwargs), expected)


# spec: N2
@pytest.mark.parametrize(
    "pair",
    [
        (1, 2.5),
        (np.arange(3), np.float32(2)),
        ((1, 2), (3.5, (4,))),
        (None, 1),
        ((), ()),
        (1 + 2j, True),
        (np.array(2.0), np.int8(3)),
    ],
)
def test_tuples(pair):
    @weft.njit
    def swap(p):
        a, b = p
        return b, a

    same(swap(pair), pair[::-1])


# spec: N2
def test_tuples_of_different_structure_are_different_specialisations():
    @weft.njit
    def length(p):
        return len(p)

    for p in ((), (1,), (1, 2), ((1,), 2), (1, (2,)), (1, 2.0)):
        assert length(p) == len(p)
    assert len(length.specializations) == 6
    length((7, 8))
    assert len(length.specializations) == 6


# spec: N3
def test_a_zero_dimensional_array_is_an_array():
    @weft.njit
    def f(a):
        return a, a.ndim, a + 1

    z = np.array(2.5)
    got = f(z)
    assert got[0] is z
    same(got[1:], (0, z + 1))


def twice(x):
    return x * 2


twice_jitted = weft.njit(twice)


# spec: N2
def test_functions_as_arguments():
    @weft.njit
    def apply(f, x):
        return f(x)

    k = 3
    for f, x in [
        (lambda x: x + 1, 2),
        (lambda x: x + k, 2),
        (twice, 2.5),
        (twice_jitted, 2.5),
        (math.sqrt, 2.0),
        (np.sin, 2.0),
        (float, 2),
        (abs, -2),
    ]:
        plain = f.py_func if f is twice_jitted else f
        same(apply(f, x), plain(x))


# spec: N2
def test_a_lambda_in_a_loop_is_compiled_once():
    @weft.njit
    def apply(f, x):
        return f(x)

    for _ in range(3):
        assert apply(lambda x: x + 1, 1) == 2
    assert len(apply.specializations) == 1
    for k in (1, 2, 1, 2):
        assert apply(lambda x, k=k: x + k, 1) == 1 + k
        assert apply(lambda x: x * 10 + k, 1) == 10 + k
    assert apply(twice, 4) == apply(twice_jitted, 4) == 8


# spec: N2
def test_types_and_dtypes_as_arguments():
    @weft.njit
    def convert(d, x):
        return d(x)

    same(convert(float, 3), 3.0)
    same(convert(int, 3.5), 3)
    same(convert(np.float32, 3), np.float32(3))


# spec: N2
def test_strings_are_constants():
    @weft.njit
    def f(mode, x):
        if mode == "up":
            return x + 1
        elif mode == "down":
            return x - 1
        raise ValueError("no such mode")

    assert f("up", 1) == 2 and f("down", 1) == 0
    with pytest.raises(ValueError, match="no such mode"):
        f("left", 1)


def defaults(a, b=2, /, c=3.5, *, d=4, e=None):
    return a, b, c, d, e


def stars(a, *rest, k=1):
    return a, rest, k


# spec: N2
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((1,), {}),
        ((1, 5), {}),
        ((1, 5, 6), {}),
        ((1,), {"c": 7}),
        ((1,), {"d": 7, "e": 8}),
        ((), {}),
        ((1, 2, 3, 4), {}),
        ((1,), {"b": 2}),
        ((1,), {"zz": 2}),
        ((1, 2, 3), {"c": 2}),
    ],
)
def test_calls_bind_as_in_cpython(args, kwargs):
    same_call(defaults, *args, **kwargs)


# spec: N2
@pytest.mark.parametrize(
    ("args", "kwargs"), [((1,), {}), ((1, 2), {}), ((1, 2, 3.5), {"k": 9}), ((), {}), ((1,), {"rest": 2})]
)
def test_star_arguments(args, kwargs):
    same_call(stars, *args, **kwargs)


class Mode(enum.IntEnum):
    SLOW = 1
    FAST = 2


# spec: G2
@pytest.mark.parametrize(
    ("argument", "says"),
    [
        (Mode.FAST, r"pass int\(x\)"),
        ({1: 2}, "pass its values"),
        (object(), "is a object"),
        (open, "functions are taken if"),
        (np.zeros(3, ">f4"), r"byte-swapped.*x.astype\(np.float32\)"),
        (np.zeros(9, np.uint8)[1:].view(np.float64), r"not aligned.*x.copy\(\)"),
    ],
)
def test_what_is_not_taken_is_refused_with_a_way_out(argument, says):
    @weft.njit
    def f(x):
        return 1

    with pytest.raises(weft.CompileError, match=says):
        f(argument)
