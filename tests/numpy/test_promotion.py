"""Promotion: `x op y` has NumPy's value, dtype and type for every pair of operands; Python scalars have CPython's.

Each pair of types is one compiled function that returns many results, so that the whole table takes seconds.
"""

import itertools

import pytest

import numpy as np
import weft
from doors import function, jitted
from support import same

DTYPES = ["bool", "int32", "int64", "float32", "float64"]
SAMPLES = {
    "bool": [True, False, True, True, False, True],
    "int32": [7, -3, 0, 2, -(2**31), 5],
    "int64": [3, 2, -1, 0, 2**40, 4],
    "float32": [1.5, -2.25, 0.0, 3.0, 1e30, -0.5],
    "float64": [0.1, 2.0, -7.5, 0.0, 1e300, 3.5],
}
PYTHON = {"pybool": True, "pyint": 3, "pyfloat": 2.5}

PAIRS = list(itertools.product(DTYPES, DTYPES))

COMPARISONS = ["x == y", "x != y", "x < y", "x <= y", "x > y", "x >= y"]
ARITHMETIC = ["x + y", "x * y", "x / y", *COMPARISONS]
SELECTION = ["np.minimum(x, y)", "np.maximum(x, y)", "np.where(x > y, x, y)"]
NUMBERS = ["x - y", "x // y", "x % y"]
BITS = ["x & y", "x | y", "x ^ y"]
SHIFTS = ["x << (y & 7)", "x >> y"]


def operand(name, form):
    """An operand of a dtype as an array, a NumPy scalar or, by its own name, a Python scalar."""
    if name in PYTHON:
        return PYTHON[name]
    array = np.array(SAMPLES[name], name)
    return {"array": array, "0-d": np.array(array[0]), "scalar": array[0]}[form]


def kind(name):
    return "b" if name in ("bool", "pybool") else "f" if "float" in name else "i"


def expressions(left, right):
    """What both Weft and NumPy define for these operands; results of eight bits are not supported yet."""
    kinds = kind(left) + kind(right)
    texts = ARITHMETIC + SELECTION
    if kinds != "bb":
        texts = texts + NUMBERS
    if "f" not in kinds:
        texts = texts + BITS
        if kinds != "bb":
            texts = texts + SHIFTS
    return texts


def compare(left, right, x, y):
    texts = expressions(left, right)
    f = function(f"def f(x, y):\n    return {', '.join(texts)}\n", "f", weft.njit)
    with np.errstate(all="ignore"):
        expected = f.py_func(x, y)
    for text, mine, other in zip(texts, f(x, y), expected, strict=True):
        try:
            same(mine, other, ulps=0)
        except AssertionError as error:
            raise AssertionError(f"{text} with x={x!r}, y={y!r}: {error}") from None


# spec: N3
@pytest.mark.parametrize("left, right", PAIRS)
def test_arrays_meet_arrays(left, right):
    compare(left, right, operand(left, "array"), operand(right, "array")[::-1])


# spec: N3
@pytest.mark.parametrize("left, right", PAIRS)
def test_arrays_meet_numpy_scalars(left, right):
    """A NumPy scalar promotes as an array of its dtype does."""
    compare(left, right, operand(left, "array"), operand(right, "scalar"))


# spec: N3
@pytest.mark.parametrize("left, right", PAIRS)
def test_numpy_scalars_meet_each_other(left, right):
    compare(left, right, operand(left, "scalar"), operand(right, "scalar"))


# spec: N3
@pytest.mark.parametrize("form", ["array", "0-d", "scalar"])
@pytest.mark.parametrize("dtype, python", list(itertools.product(DTYPES, PYTHON)))
def test_python_scalars_are_weak(dtype, python, form):
    """NEP 50: a Python scalar takes the other operand's dtype where its kind allows; a bool is not weak."""
    compare(dtype, python, operand(dtype, form), operand(python, form))
    compare(python, dtype, operand(python, form), operand(dtype, form))


# spec: N3
@pytest.mark.parametrize("left, right", PAIRS)
def test_0d_arrays_become_scalars(left, right):
    if left == right or "64" in left:
        compare(left, right, operand(left, "0-d"), operand(right, "0-d"))


# spec: N2
@pytest.mark.parametrize("left, right", list(itertools.product(PYTHON, PYTHON)))
def test_python_scalars_meet_each_other(left, right):
    """Without NumPy the results are CPython's: ints, floats and bools."""
    texts = ["x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "-x", "+x", "abs(x)"] + COMPARISONS
    if "f" not in kind(left) + kind(right):
        texts += ["x & y", "x | y", "x ^ y", "x << 3", "x >> abs(y)", "~x"]
    f = function(f"def f(x, y):\n    return {', '.join(texts)}\n", "f", weft.njit)
    values = {"pybool": [True], "pyint": [1, -7, 5, 2], "pyfloat": [2.5, -0.75, 1e300]}
    for x, y in itertools.product(values[left], values[right]):
        for text, mine, other in zip(texts, f(x, y), f.py_func(x, y), strict=True):
            assert (type(mine), mine) == (type(other), other), f"{text} with {x!r}, {y!r}"


BIG = 2**62
RAISING = [
    ("x / y", 1, 0),
    ("x // y", 1, 0),
    ("x % y", 1, 0),
    ("x / y", 1.0, 0.0),
    ("x // y", 1.0, 0),
    ("x % y", 1, 0.0),
    ("x / y", True, False),
    ("x % y", True, False),
    ("x >> y", 1, -1),
    ("x ** y", 0.0, -1.0),
    ("2.0 ** x + y", 5000.0, 1.0),
    ("x & y", 1.0, 2),
    ("x | y", 1, 2.0),
    ("~x + y", 1.0, 1),
    ("x << y", np.float64(1), 2),
    ("x - y", np.array([True]), np.array([False])),
    ("-x + y", np.array([True]), 1),
    ("x ** y", np.array([2]), np.array([-1])),
    ("x ** y", np.int64(2), np.int64(-1)),
    ("x + y", np.ones(2, "i4"), 2**40),
    ("x * y", np.int32(1), -(2**31) - 1),
    ("x & y", np.ones(2), np.ones(2, "i8")),
    ("x + y", np.zeros(2), np.zeros(3)),
]


# spec: N2, N3, G2
@pytest.mark.parametrize("text, x, y", RAISING, ids=[f"{t} of {x!r}, {y!r}" for t, x, y in RAISING])
def test_what_python_raises_is_raised(text, x, y):
    """The class is CPython's or NumPy's, or derives from it."""
    f = function(f"def f(x, y):\n    return {text}\n", "f", weft.njit)
    with pytest.raises(Exception) as theirs, np.errstate(all="ignore"):
        f.py_func(x, y)
    with pytest.raises(theirs.type):
        f(x, y)


OVERFLOWING = [
    ("x + y", BIG, BIG),
    ("x - y", -BIG, BIG + 1),
    ("x * y", BIG, 2),
    ("x ** 3 + y", BIG, 0),
    ("(x << 40) + y", BIG, 0),
    ("-x + y", -(2**63), 0),
    ("abs(x) + y", -(2**63), 0),
    ("x // y", -(2**63), -1),
]


# spec: N9
@pytest.mark.parametrize("text, x, y", OVERFLOWING, ids=[f"{t} of {x}, {y}" for t, x, y in OVERFLOWING])
def test_ints_beyond_64_bits_raise(text, x, y):
    """Deviation V1: CPython's ints grow; ours raise, and never wrap."""
    f = function(f"def f(x, y):\n    return {text}\n", "f", weft.njit)
    with pytest.raises(OverflowError):
        f(x, y)


INTEGERS = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    -7,
    10,
    63,
    2**31,
    -(2**31),
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    BIG,
    -BIG,
    2**63 - 1,
    -(2**63),
]


# spec: N2, N9
@pytest.mark.parametrize("text", ["x / y", "x // y", "x % y", "x + y", "x - y", "x * y", "x == y", "x < y"])
def test_int_arithmetic_is_exact_or_raises(text):
    f = function(f"def f(x, y):\n    return {text}\n", "f", weft.njit)
    for x, y in itertools.product(INTEGERS, INTEGERS):
        try:
            expected = f.py_func(x, y)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                f(x, y)
            continue
        if type(expected) is int and not -(2**63) <= expected < 2**63:
            with pytest.raises(OverflowError):
                f(x, y)
        else:
            result = f(x, y)
            assert (type(result), result) == (type(expected), expected), f"{text} with {x}, {y}"


FLOATS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.1, 1e-300, 1e300, float("inf"), float("-inf"), float("nan")]


# spec: N2
@pytest.mark.parametrize("text", ["x / y", "x // y", "x % y", "x + y", "x * y", "x == y", "x < y", "x >= y"])
def test_float_arithmetic_is_that_of_cpython(text):
    f = function(f"def f(x, y):\n    return {text}\n", "f", weft.njit)
    for x, y in itertools.product(FLOATS + [3, -7], FLOATS + [2, -2]):
        try:
            expected = f.py_func(x, y)
        except (ZeroDivisionError, OverflowError) as error:
            with pytest.raises(type(error)):
                f(x, y)
            continue
        result = f(x, y)
        # repr tells zeros of either sign, and nan, apart.
        assert (type(result), repr(result)) == (type(expected), repr(expected)), f"{text} with {x}, {y}"


# spec: N2
@pytest.mark.parametrize("text", ["x // y", "x % y", "x / y"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_numpy_scalars_never_raise_on_zero(text, dtype):
    f = function(f"def f(x, y):\n    return {text}\n", "f", weft.njit)
    kind_ = np.dtype(dtype).type
    values = [0, 1, -1, 7, -7, np.iinfo(dtype).min if "int" in dtype else np.inf]
    with np.errstate(all="ignore"):
        for x, y in itertools.product(values, values):
            same(f(kind_(x), kind_(y)), f.py_func(kind_(x), kind_(y)), ulps=0)


# spec: N2
@pytest.mark.parametrize("x", [2, -3, 1.5, True])
@pytest.mark.parametrize("text", ["x ** 2", "x ** 3", "x ** 0", "x ** -1", "x ** 0.5", "2.0 ** x"])
def test_powers_by_constants(text, x):
    f = function(f"def f(x):\n    return {text}\n", "f", weft.njit)
    expected = f.py_func(x)
    if isinstance(expected, complex):
        with pytest.raises(weft.UnsupportedError):  # deviation V4
            f(x)
        return
    same(f(x), expected, ulps=4)


# spec: N3
@pytest.mark.parametrize("text", ["np.sin(x)", "np.sqrt(x)", "np.abs(x)", "np.minimum(x, 2)", "np.where(x > 1, x, 2)"])
@pytest.mark.parametrize("x", [3, 2.5, np.int32(3), np.int64(3), np.float32(0.5), np.float64(0.5)], ids=repr)
def test_functions_of_scalars(text, x):
    """A ufunc of a Python number is a NumPy scalar."""
    f = function(f"def f(x):\n    return {text}\n", "f", weft.njit)
    same(f(x), f.py_func(x), ulps=4)


# spec: N2
@pytest.mark.parametrize("text", ["x == y", "x < y", "x >= y", "x + y", "x / y"])
def test_large_ints_meet_floats(text):
    f = jitted([text], "xy")
    for x, y in itertools.product([2.0**53, 1.5, -(2.0**60), float("inf")], [2**53 + 1, -(2**60) + 1, 2**63 - 1]):
        assert f(x, y) == f.py_func(x, y), (x, y)


# spec: N2, N9
@pytest.mark.parametrize("x, y", [(1, 3), (-5, 10), (0, 100), (1, 62), (1, -1), (1, 63), (1, 1000)])
def test_left_shifts_of_python_ints(x, y):
    f = jitted(["x << y"], "xy")
    try:
        expected = x << y
    except ValueError:
        with pytest.raises(ValueError):
            f(x, y)
        return
    if expected < 2**63:
        assert f(x, y) == (expected,)
    else:
        with pytest.raises(OverflowError):
            f(x, y)


# spec: N2, N9
@pytest.mark.parametrize("x, y", [(2, 10), (-3, 3), (0, 0), (7, 1), (2, True), (3, 50)])
def test_powers_of_python_ints(x, y):
    f = jitted(["x ** y"], "xy")
    if x**y < 2**63:
        assert f(x, y) == (x**y,)
    else:
        with pytest.raises(OverflowError):
            f(x, y)
