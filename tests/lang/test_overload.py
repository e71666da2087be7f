"""`weft.overload`: library functions in Python."""

import math

import pytest

import numpy as np
import weft
from support import same

pytestmark = pytest.mark.usefixtures("overloads_undone")


# spec: N4
def test_a_function_that_weft_does_not_have():
    def f(y, x):
        return np.trapezoid(y), np.trapezoid(y, x), np.trapezoid(y, dx=0.5)

    y, x = np.arange(5.0) ** 2, np.linspace(0, 1, 5)
    with pytest.raises(weft.UnsupportedError, match="trapezoid"):
        weft.njit(f)(y, x)

    @weft.overload(np.trapezoid)
    def trapezoid(y, x=None, dx=1.0):
        total = 0.0
        for i in range(len(y) - 1):
            step = dx if x is None else x[i + 1] - x[i]
            total += step * (y[i] + y[i + 1]) / 2
        return total

    same(weft.njit(f)(y, x), f(y, x))
    same(np.trapezoid(y), np.float64(22))  # outside nothing has changed


# spec: N4
def test_numpy_dot_by_rank():
    """The example of the slides: `numpy.dot`, written out, decided by the ranks of its arguments."""

    @weft.overload(np.dot)
    def dot(a, b):
        if a.ndim == 1 and b.ndim == 1:
            total = 0
            for k in range(len(a)):
                total += a[k] * b[k]
            return total
        if a.ndim == 2 and b.ndim == 2:
            out = np.zeros((a.shape[0], b.shape[1]), dtype=a.dtype)
            for i in range(a.shape[0]):
                for j in range(b.shape[1]):
                    for k in range(a.shape[1]):
                        out[i, j] += a[i, k] * b[k, j]
            return out
        raise ValueError("ranks 1 and 2 only")

    @weft.njit
    def f(a, b):
        return np.dot(a, b)

    m, n = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    same(f(m, n), m @ n)
    same(f(n[0], n[1]), n[0] @ n[1])
    with pytest.raises(ValueError, match="ranks 1 and 2 only"):
        f(m, n[:, 0])


# spec: N4
def test_it_replaces_what_weft_has_and_jitted_functions_serve():
    @weft.overload(math.sin, np.sin)
    @weft.njit
    def sine(x):
        return x * 2

    @weft.njit
    def f(x):
        return math.sin(x), np.sin(x)

    assert f(3.0) == (6.0, 6.0)


# spec: N4
def test_what_it_takes():
    with pytest.raises(TypeError, match="takes the functions"):
        weft.overload()
    with pytest.raises(TypeError, match="takes the functions"):
        weft.overload("np.sin")
    with pytest.raises(TypeError, match="decorates a function"):
        weft.overload(np.sin)(3)
