"""Python's own numbers: ints, floats, bools and complex numbers compute, compare and raise as CPython's do."""

import itertools
import math

import pytest

import numpy as np
import weft
from doors import function

NAN, INF = math.nan, math.inf
REALS = [0.0, -0.0, 1.0, -1.5, 0.1, 1e200, INF, NAN]
COMPLEXES = [complex(*parts) for parts in itertools.product(REALS[:6], REALS[:6:2])]
COMPLEXES += [complex(INF, 1), complex(1, NAN), complex(-INF, NAN)]
INTEGERS = [0, 1, -1, 2, 3, -7, 10, 2**31, 2**52 + 1, 2**53, 2**53 + 1, -(2**53) - 1, 10**18 + 3, 2**62 - 1]
INTEGERS += [2**63 - 1, 2**63 - 1025, -(2**63), -(2**63) + 511]


def jitted(text, names="xy"):
    return function(f"def f({', '.join(names)}):\n    return {text}\n", "f", weft.njit)


def agrees(f, *arguments):
    """The same value to the last bit (repr tells zeros and nans apart), or the same exception with the same words."""
    try:
        expected = f.py_func(*arguments)
    except (ArithmeticError, ValueError) as error:
        with pytest.raises(type(error)) as raised:
            f(*arguments)
        assert str(error) in str(raised.value), arguments
        return
    result = f(*arguments)
    assert (type(result), repr(result)) == (type(expected), repr(expected)), arguments


# spec: N2
@pytest.mark.parametrize("text", ["x + y", "x - y", "x * y", "x / y", "x == y", "x != y"])
def test_complex_arithmetic_is_that_of_cpython(text):
    f = jitted(text)
    for x, y in itertools.product(COMPLEXES, COMPLEXES):
        agrees(f, x, y)
    for z, other in itertools.product(COMPLEXES[::3], [3, -2, 0, 2.5, -0.0, True, 2**53 + 1, INF]):
        agrees(f, z, other)
        agrees(f, other, z)


# spec: N2
def test_a_complex_number_equals_an_int_exactly():
    f = jitted("x == y, y != x")
    for z, n in itertools.product([2.0**53 + 0j, 2.0**53 + 1j, 2.0**63 + 0j], [2**53, 2**53 + 1, 2**63 - 1]):
        agrees(f, z, n)


# spec: N2
@pytest.mark.parametrize("text", ["-z", "+z", "abs(z)", "z.real", "z.imag", "z.conjugate()", "not z", "1 if z else 2"])
def test_functions_of_one_complex_number(text):
    f = jitted(text, "z")
    for z in [*COMPLEXES, complex(1e308, 1e308)]:
        agrees(f, z)


# spec: N2
@pytest.mark.parametrize("text", ["x ** y", "x ** 2", "x ** 3 + y", "x ** -1 + y", "x ** 0 + y"])
def test_complex_powers(text):
    """Whole exponents by multiplication, as CPython; others within documented rounding."""
    f = jitted(text)
    for x, y in itertools.product([1 + 2j, -0.5j, 3 + 0j, 0j, -1.5 + 0.25j], [2 + 0j, 3, -1, 0.5, 1 - 1j, 0, 7.0]):
        try:
            expected = f.py_func(x, y)
        except ZeroDivisionError as error:
            with pytest.raises(ZeroDivisionError, match=str(error)):
                f(x, y)
            continue
        result = f(x, y)
        assert type(result) is complex
        assert abs(result - expected) <= 8 * np.spacing(max(abs(expected), 1e-300)), (x, y, result, expected)
    overflow = jitted("x ** 4", "x")
    with pytest.raises(OverflowError, match="complex exponentiation"):
        overflow(1e100 + 1e100j)
    with pytest.raises(OverflowError, match="complex exponentiation"):
        overflow.py_func(1e100 + 1e100j)


# spec: N2
@pytest.mark.parametrize("text", ["x < y", "x >= y", "x // y", "x % y", "x & y", "x << y"])
def test_what_complex_numbers_do_not_have(text):
    f = jitted(text)
    with pytest.raises(TypeError):
        f.py_func(1j, 2j)
    with pytest.raises(TypeError):
        f(1j, 2j)


# spec: N2
def test_constants_and_loops_of_complex_numbers():
    @weft.njit
    def mandelbrot(c, most):
        z = 0j
        for n in range(most):
            if abs(z) > 2:
                return n, z
            z = z * z + c
        return most, z * (1 + 2j) - 0.5j

    for c in [0.1 + 0.2j, -1 + 0.3j, 2 + 0j, -0.75 + 0.1j]:
        agrees(mandelbrot, c, 50)


# spec: N2
def test_the_class_complex():
    one, two = jitted("complex(x), complex()", "x"), jitted("complex(x, y)")
    for x in [1, True, 2.5, 1 - 2j, np.float32(0.1), np.complex64(1 + 2j), np.int8(-3)]:
        agrees(one, x)
    for x, y in itertools.product([1, -0.0, 1 - 2j, np.float32(0.1), np.complex64(2j)], [2, -0.5, 3j, np.uint8(7)]):
        agrees(two, x, y)


# spec: N2
def test_ints_divide_correctly_rounded():
    f = jitted("x / y")
    for x, y in itertools.product(INTEGERS, INTEGERS):
        agrees(f, x, y)
    rng = np.random.default_rng(0)
    for x, y in rng.integers(-(2**63), 2**63 - 1, (300, 2)):
        agrees(f, int(x), int(y) >> int(abs(x) % 60))


# spec: N2
@pytest.mark.parametrize("text", ["x / y", "x // y", "x % y"])
@pytest.mark.parametrize("x, y", [(1, 0), (1.5, 0.0), (True, False), (1, 0.0), (2.5, 0)])
def test_division_by_zero_says_what_cpython_says(text, x, y):
    agrees(jitted(text), x, y)


# spec: N2
def test_float_powers_at_the_edges():
    f = jitted("x ** y")
    for x, y in itertools.product([0.0, -0.0, 1.0, -1.0, 2.0, INF, -INF, NAN], [0.0, 1.0, -1.0, 2.0, INF, -INF, NAN]):
        agrees(f, x, y)
    for x, y in [(-INF, 0.5), (0.0, -INF), (-INF, -0.5), (2.0, 5000.0)]:
        agrees(f, x, y)


# spec: N2, N9
def test_uint64_that_is_no_python_int_raises():
    f = jitted("int(x) + 1", "x")
    agrees(f, np.uint64(2**63 - 2))
    with pytest.raises(OverflowError):
        f(np.uint64(2**63))
