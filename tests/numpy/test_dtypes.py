"""All dtypes: every operator on every pair of dtypes, on values where arithmetic is interesting, against NumPy.

One compiled function for each pair computes every operator that NumPy defines for it, over the table of all edge values
of the one against all of the other.
"""

import itertools

import pytest

import numpy as np
import weft
from doors import function
from support import same

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = ["bool", *INTEGERS, *FLOATS, *COMPLEX]
PYTHON = {"pybool": [True, False], "pyint": [0, 3, -2], "pyfloat": [0.1, -2.5], "pycomplex": [1.5 - 2j, 0.1j]}

BINARY = ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="]
FUNCTIONS = ["np.minimum(x, y)", "np.maximum(x, y)", "np.where(x == y, x, y)"]
UNARY = ["-x", "+x", "~x", "abs(x)", "np.abs(x)"]

FLOAT_EDGES = [0.0, -0.0, 1.0, -1.5, 2.0, 0.1, 7.0, -1e-3, 6e4, np.inf, -np.inf, np.nan]


def edges(dtype):
    """Values of a dtype where something happens."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([True, False])
    if kind in "iu":
        info = np.iinfo(dtype)
        values = {0, 1, 2, 3, 7, 8, 31, info.max, info.max - 1, info.min, info.min + 1, info.max // 2}
        if kind == "i":
            values |= {-1, -2, -7}
        return np.array(sorted(values), dtype)
    if kind == "f":
        return np.array(FLOAT_EDGES, dtype)
    return np.array([0, 1, -1, 1j, 1.5 - 2j, -0.5 + 0.25j, 3 + 0.1j, -7j], dtype)


def expressions(x, y):
    """What NumPy defines for these operands."""
    found = []
    with np.errstate(all="ignore"):
        for text in [f"x {op} y" for op in BINARY] + FUNCTIONS:
            try:
                eval(text, {"np": np, "x": x, "y": y})
            except (TypeError, OverflowError, ValueError, ZeroDivisionError):
                continue
            found.append(text)
    return found


def ulps(text, expected):
    """Exact, but for powers by a routine and products of complex numbers, which NumPy's arrays round differently."""
    kind = np.asarray(expected).dtype.kind
    if kind == "c":
        return 0 if text in ("x + y", "x - y") or "np." in text else 4
    if kind == "f" and ("**" in text or "abs" in text):
        return 4
    return 0


def check(texts, *arguments):
    names = "xyz"[: len(arguments)]
    f = function(f"def f({', '.join(names)}):\n    return {', '.join(texts)},\n", "f", weft.njit)
    with np.errstate(all="ignore"):
        expected = f.py_func(*arguments)
    for text, mine, other in zip(texts, f(*arguments), expected, strict=True):
        try:
            same(mine, other, ulps(text, other))
        except AssertionError as error:
            raise AssertionError(f"{text} with {arguments}: {error}") from None


def powers(texts, x, y):
    """Integers have no negative powers: those are tested below."""
    kinds = np.asarray(x).dtype.kind + np.asarray(y).dtype.kind
    return [t for t in texts if "**" not in t or "f" in kinds or "c" in kinds]


# spec: N3, N9
@pytest.mark.parametrize("left", DTYPES)
def test_every_operator_on_every_pair_of_dtypes(left):
    for right in DTYPES:
        x, y = edges(left)[:, None], edges(right)
        check(powers(expressions(x, y), x, y), x, y)


# spec: N3, N9
@pytest.mark.parametrize("left", DTYPES)
def test_scalars_of_every_pair_of_dtypes(left):
    """NumPy scalars meet as arrays of their dtypes do."""
    for right in DTYPES:
        texts = None
        for x, y in itertools.product(edges(left)[1:4], edges(right)[1:3]):
            if texts is None:
                texts = powers(expressions(x, y), x, y)
                f = function(f"def f(x, y):\n    return {', '.join(texts)},\n", "f", weft.njit)
            with np.errstate(all="ignore"):
                expected = f.py_func(x, y)
            for text, mine, other in zip(texts, f(x, y), expected, strict=True):
                try:
                    same(mine, other, ulps(text, other))
                except AssertionError as error:
                    raise AssertionError(f"{text} with {x!r}, {y!r}: {error}") from None


# spec: N3, N9
@pytest.mark.parametrize("python", PYTHON)
def test_python_scalars_are_weak_beside_every_dtype(python):
    for dtype in DTYPES:
        for value in PYTHON[python]:
            x = edges(dtype)
            for a, b in [(x, value), (value, x), (x[1], value)]:
                check(powers(expressions(a, b), a, b), a, b)


# spec: N3
@pytest.mark.parametrize("dtype", DTYPES)
def test_unary_operators(dtype):
    x = edges(dtype)
    texts = []
    for text in UNARY:
        try:
            eval(text, {"np": np, "x": x})
            texts.append(text)
        except TypeError:
            f = function(f"def f(x):\n    return {text}\n", "f", weft.njit)
            for refused in (x, x[0]):
                with pytest.raises(TypeError):
                    f(refused)
    check(texts, x)
    check(texts, x[-1])


# spec: N3, N9
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_powers(dtype):
    x, n = edges(dtype)[:, None], np.arange(10, dtype=dtype)
    check(["x ** y", "x ** 2", "x ** 3", "y ** 0"], x, n)
    f = function("def f(x, y):\n    return x ** y\n", "f", weft.njit)
    if dtype.startswith("int"):
        for x, y in [(n, np.array([-1], dtype)), (n[2], n[2] - n[3])]:
            with pytest.raises(ValueError, match="Integers to negative integer powers"):
                f(x, y)
    negative = function("def f(x):\n    return x ** -1\n", "f", weft.njit)
    with pytest.raises((ValueError, OverflowError)) as theirs:
        negative.py_func(n)
    with pytest.raises(theirs.type):
        negative(n)


OUTSIDE = [("int8", 128), ("int8", -129), ("uint8", -1), ("uint8", 256), ("int16", 2**15), ("uint16", -5)]
OUTSIDE += [("uint32", 2**32), ("uint32", -1), ("uint64", -1), ("int32", -(2**31) - 1)]


# spec: N9
@pytest.mark.parametrize("dtype, value", OUTSIDE)
def test_a_python_int_that_does_not_fit_raises(dtype, value):
    """As a variable and as a literal, where the operation runs; comparisons never raise."""
    x = edges(dtype)
    variable = function("def f(x, y):\n    return x + y\n", "f", weft.njit)
    literal = function(f"def f(x, y):\n    return x * {value}\n", "f", weft.njit)
    for f, operand in itertools.product([variable, literal], [x, x[0]]):
        with pytest.raises(OverflowError) as theirs:
            f.py_func(operand, value)
        with pytest.raises(OverflowError) as ours:
            f(operand, value)
        assert str(theirs.value) in str(ours.value)
    for operand in (x, x[0]):
        check(["x < y", "x <= y", "x == y", "x != y", "x > y", "y > x", f"x >= {value}"], operand, value)


# spec: N9
def test_ints_beyond_every_dtype_compare():
    x = edges("uint64")
    check([f"x < {2**64}", f"x == {2**70}", f"{-(2**70)} < x", f"x >= {2**63}", f"{2**64 - 1} == x"], x)


# spec: N3
@pytest.mark.parametrize("left", DTYPES)
def test_what_numpy_refuses_is_a_type_error(left):
    for right, op in itertools.product(DTYPES, ["-", "//", "%", "&", "<<"]):
        x, y = edges(left), edges(right)[:1]
        try:
            with np.errstate(all="ignore"):
                eval(f"x {op} y", {"x": x, "y": y})
        except TypeError:
            f = function(f"def f(x, y):\n    return x {op} y\n", "f", weft.njit)
            with pytest.raises(TypeError):
                f(x, y)


# spec: N3
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_loaded_stored_and_carried(dtype):
    """A value of any dtype through a loop, a branch and memory."""

    @weft.njit
    def f(x, out):
        total = x[0]
        for i in range(len(x)):
            if x[i] != total:
                total = x[i]
            out[i] = total
        return total

    x = edges(dtype)
    x = x[~np.isnan(x)] if x.dtype.kind in "fc" else x
    mine, other = np.zeros_like(x), np.zeros_like(x)
    same(f(x, mine), f.py_func(x, other), 0)
    same(mine, other, 0)
