"""`fastmath=`: float arithmetic that need not be exact, as far as it was allowed."""

import pytest

import numpy as np
import weft

# The product is 1 + 2**-29 + 2**-60, which a double cannot hold: rounded once, the sum is 2**-60.
NEAR, LESS = 1 + 2.0**-30, -(1 + 2.0**-29)


def has_fma():
    with open("/proc/cpuinfo") as info:
        return " fma " in info.read()


def product_and_sum(x, y, z):
    return x * y + z


def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


# spec: N1
def test_nothing_is_rounded_once_unless_allowed():
    assert weft.njit(product_and_sum)(NEAR, NEAR, LESS) == 0.0
    assert weft.njit(fastmath={"reassoc", "nnan"})(product_and_sum)(NEAR, NEAR, LESS) == 0.0
    for fastmath in ({"contract"}, {"contract": True, "nnan": False}, {"fast"}, True):
        got = weft.njit(fastmath=fastmath)(product_and_sum)(NEAR, NEAR, LESS)
        assert got == (2.0**-60 if has_fma() else 0.0)


# spec: N1
def test_sums_in_another_order_are_vectors():
    x = np.random.default_rng(0).random(10_001)
    exact, fast = weft.njit(total), weft.njit(fastmath={"reassoc"})(total)
    assert exact(x) == total(x)
    assert np.isclose(fast(x), total(x), rtol=1e-12)
    assert "items at a time" in str(fast.report()) and "items at a time" not in str(exact.report())
    assert "fast = reassoc\n" in fast.inspect("loops") and "fast" not in exact.inspect("loops")


# spec: N1
def test_it_holds_for_what_is_called():
    inner = weft.njit(product_and_sum)

    @weft.njit(fastmath=True)
    def outer(x, y, z):
        return inner(x, y, z)

    assert outer(NEAR, NEAR, LESS) == (2.0**-60 if has_fma() else 0.0)
    assert inner(NEAR, NEAR, LESS) == 0.0


# spec: N1
def test_infinity_to_begin_with():
    @weft.njit(fastmath=True)
    def least(x):
        best = np.inf
        for i in range(len(x)):
            if x[i] < best:
                best = x[i]
        return best

    x = np.random.default_rng(1).random(999)
    assert least(x) == x.min() and least(x[:0]) == np.inf


# spec: N1
@pytest.mark.parametrize("name", ["reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"])
def test_each_alone(name):
    @weft.njit(fastmath={name})
    def f(x):
        return np.sin(x) / x + np.sqrt(x) * 2

    x = np.linspace(0.5, 1.5, 100)
    assert np.allclose(f(x), f.py_func(x), rtol=1e-14)
    assert f"fast = {name}\n" in f.inspect("loops")


# spec: N1
def test_what_is_not_known():
    with pytest.raises(ValueError, match="fastmath has no 'speed': it is True, False, or some of reassoc, nnan"):
        weft.njit(fastmath={"speed", "nnan"})
    with pytest.raises(ValueError, match="fastmath has no 'speed'"):
        weft.njit(fastmath={"speed": False})
    with pytest.raises(TypeError, match=r"fastmath is True, False, a set or a dict of reassoc, .*, not 3"):
        weft.njit(fastmath=3)


# spec: N1
def test_kernels_too(device):
    @weft.kernel(fastmath=True)
    def scale(x, y):
        i = weft.get_global_id(0)
        y[i] = x[i] * 2.0 + 1.0

    x, y = np.arange(64.0), np.zeros(64)
    with weft.device_context(device):
        scale[64](x, y)
    assert np.array_equal(y, x * 2 + 1)
