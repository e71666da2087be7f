"""Products of complex arrays have NumPy's bits, which fuse a multiplication with an addition where the machine can."""

import pytest

import numpy as np
import weft


def product(x, y):
    return x * y


def ufunc(x, y):
    return np.multiply(x, y)


def with_more(x, y):
    return x * y + x - y * y * x


def in_place(x, y):
    z = x + 0
    z *= y
    return z


def into(x, y):
    z = np.empty_like(x)
    np.multiply(x, y, out=z)
    return z


def squares(x, y):
    return np.square(x), x**2, y**2


def with_number(x, y):
    return x * (0.1 + 0.7j), (0.3 - 0.1j) * y, x * 0.1


def total(x, y):
    return np.sum(x * y), (x * y).mean()


def iterated(x, y):
    z = np.zeros_like(x)
    for _ in range(20):
        z = z * z + y
        z[np.abs(z) > 2] = 0
    return z


def scalars(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] * y[i] + x[i] ** 2
    return out


FUNCTIONS = [product, ufunc, with_more, in_place, into, squares, with_number, iterated, scalars]


def numbers(count, dtype, seed):
    parts = np.random.default_rng(seed).normal(size=(2, count))
    return (parts[0] + 1j * parts[1]).astype(dtype)


def same(function, *arguments):
    want, have = function(*arguments), weft.njit(function)(*arguments)
    for a, b in zip(have, want) if isinstance(want, tuple) else [(have, want)]:
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


# spec: N3, N7
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_products_have_numpys_bits(function, dtype):
    for count in (0, 1, 2, 3, 5, 8, 17, 100, 1003):
        same(function, numbers(count, dtype, count), numbers(count, dtype, 7 + count))


# spec: N3, N7
@pytest.mark.parametrize("function", [product, with_more, squares])
def test_any_layout(function):
    x, y = numbers(600, np.complex128, 1), numbers(600, np.complex128, 2)
    same(function, x[::3], y[::-3])
    same(function, x.reshape(20, 30).T, y.reshape(30, 20))
    same(function, x.reshape(20, 30)[:, :1], y[:17])


# spec: N3
def test_special_values():
    parts = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e308, 5e-324]
    x = np.array([complex(a, b) for a in parts for b in parts])
    with np.errstate(all="ignore"):
        want, have = x[:, None] * x, weft.njit(product)(x[:, None], x)
    for a, b in ((have.real, want.real), (have.imag, want.imag)):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a[~np.isnan(b)]), np.signbit(b[~np.isnan(b)]))


# spec: N7
def test_sums_of_products():
    x, y = numbers(5000, np.complex128, 3), numbers(5000, np.complex128, 4)
    np.testing.assert_allclose(weft.njit(total)(x, y), total(x, y), rtol=1e-13)
