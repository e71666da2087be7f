"""`error_model="numpy"`: Python's numbers divided by zero, without an exception."""

import math

import pytest

import numpy as np
import weft

DIVISORS = (0, 0.0, -0.0, 3, 2.5)
DIVIDENDS = (0, 1, -1, 2**62 + 1, -(2**62) - 1, 0.0, -0.0, 1.0, -1.0, math.inf, math.nan)


def quotient(a, b):
    return a / b


def whole(a, b):
    return a // b


def rest(a, b):
    return a % b


def both(a, b):
    return divmod(a, b)


def power(a, b):
    return a**b


def divide(function):
    return weft.njit(error_model="numpy")(function)


def expected(function, a, b):
    """The plain function where it has an answer; NumPy's floats where it raises, and 0 of ints."""
    try:
        return function(a, b)
    except ZeroDivisionError:
        if function is both:
            return expected(whole, a, b), expected(rest, a, b)
        if function is not quotient and isinstance(a, int) and isinstance(b, int):
            return 0
        number = np.complex128 if isinstance(a, complex) or isinstance(b, complex) else np.float64
        with np.errstate(all="ignore"):
            return function(number(a), number(b)).item()


def identical(ours, theirs):
    """The same type, and the same bits but of a nan's sign."""
    assert type(ours) is type(theirs)
    if isinstance(theirs, tuple):
        for mine, other in zip(ours, theirs, strict=True):
            identical(mine, other)
    elif isinstance(theirs, complex):
        identical(ours.real, theirs.real)
        identical(ours.imag, theirs.imag)
    elif isinstance(theirs, float) and math.isnan(theirs):
        assert math.isnan(ours)
    else:
        assert (ours, math.copysign(1, ours)) == (theirs, math.copysign(1, theirs))


# spec: N1
@pytest.mark.parametrize("function", [quotient, whole, rest, both])
def test_division_by_zero_is_numpys(function):
    jitted = divide(function)
    for a in DIVIDENDS:
        for b in DIVISORS:
            identical(jitted(a, b), expected(function, a, b))


# spec: N1
def test_complex_numbers_and_powers():
    jitted = divide(quotient)
    for a, b in ((1 + 1j, 0j), (0j, 0j), (1 - 1j, 0), (-1j, 0.0), (1.0, 0j), (1 + 2j, 3 - 4j)):
        identical(jitted(a, b), expected(quotient, a, b))
    jitted = divide(power)
    for a, b in ((0.0, -1.0), (-0.0, -1.0), (-0.0, -2.0), (0.0, -0.5), (0, -1.0), (2.0, -1.0), (0j, -1.0), (0j, 1j)):
        identical(jitted(a, b), expected(power, a, b))
    # Another failure than a division by zero stays one.
    with pytest.raises(OverflowError):
        jitted(1e300, 2.0)


# spec: N1
def test_constants_are_divided_too():
    @divide
    def f():
        return 1 / 0, -1.0 / 0, 1 // 0, 1 % 0, 0**-1

    assert f() == (math.inf, -math.inf, 0, 0, math.inf)


# spec: N1
def test_what_is_called_divides_alike_and_other_callers_do_not():
    inner = weft.njit(quotient)

    @weft.njit(error_model="numpy")
    def outer(a, b):
        return inner(a, b), quotient(b, a)

    assert outer(1, 0) == (math.inf, 0.0)
    with pytest.raises(ZeroDivisionError):
        inner(1, 0)
    with pytest.raises(ZeroDivisionError):
        weft.njit(error_model="python")(quotient)(1, 0)


# spec: N1
def test_what_else_raises_for_a_zero_still_does():
    @divide
    def f(n):
        return pow(2, 3, n)

    with pytest.raises(ValueError, match="3rd argument cannot be 0"):
        f(0)
    with pytest.raises(ValueError, match="arg 3 must not be zero"):
        divide(lambda n: sum(range(0, 3, n)))(0)
    with pytest.raises(ValueError):
        divide(lambda x: math.fmod(1.0, x))(0.0)


# spec: N1
@pytest.mark.parametrize("parallel", [False, True])
def test_loops(parallel):
    @weft.njit(error_model="numpy", parallel=parallel)
    def f(n, z):
        out = np.empty(n)
        for i in weft.prange(n):
            out[i] = i / z
        return out, [i // z for i in range(n)], [i % z for i in range(n)]

    out, quotients, rests = f(3, 0)
    np.testing.assert_array_equal(out, [np.nan, np.inf, np.inf])
    assert quotients == rests == [0, 0, 0]


# spec: N1
def test_on_a_device():
    @weft.njit(error_model="numpy")
    def f(x, a, b):
        return x + a / b + a // b

    @weft.kernel(error_model="numpy")
    def k(out, z):
        i = weft.get_global_id(0)
        out[i] = (i - 1) / z + (i - 1) // z

    with weft.device_context("opencl"):
        np.testing.assert_array_equal(f(np.ones(3), -1, 0), [-np.inf] * 3)
        out = np.zeros(3)
        k[3](out, 0)
    np.testing.assert_array_equal(out, [-np.inf, np.nan, np.inf])
