"""Sizes that compiled code knows: equal ones, integers that are sizes, and the shape of an array assigned anew."""

import itertools

import pytest

import numpy as np
import weft


# spec: N6
@pytest.mark.parametrize("sizes", list(itertools.product([1, 2, 3], repeat=3)))
def test_any_sizes_through_one_function(sizes):
    """Patterns of equal sizes are compiled for; what fits none of them goes through code for any."""
    a, b, c = sizes

    x, y, z = np.arange(a * b).reshape(a, b) * 1.0, np.arange(a) + 0.5, np.arange(c * c).reshape(c, c)
    for n in (0, 1, 2, 3, -1):
        for got, wanted in zip(any_sizes(x, y, z, n), any_sizes.py_func(x, y, z, n), strict=True):
            np.testing.assert_array_equal(got, wanted)


@weft.njit
def any_sizes(x, y, z, n):
    return x + y[:, None], x.T @ y, z + n, x[: n - 1].shape, y[n - 1 :] if n <= len(y) else y


# spec: N10
def test_an_integer_that_is_a_size_now_and_then():
    @weft.njit
    def total(x, n):
        s = 0.0
        for i in range(n):
            s += x[i]
        return s

    x = np.arange(5.0)
    assert [total(x, n) for n in (5, 4, 0, 5)] == [10.0, 6.0, 0.0, 10.0]
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        total(x, 6)
    assert total(x[:3], 3) == 3.0


# spec: N10
def test_loops_up_to_a_size_check_nothing():
    def total(x, n):
        s = 0.0
        for i in range(n):
            s += x[i]
        return s

    of_size, of_less = weft.njit(total), weft.njit(total)
    assert of_size(np.ones(5), 5) == 5 and of_less(np.ones(5), 4) == 4
    assert "IndexError" not in of_size.inspect("loops")
    assert "IndexError" in of_less.inspect("loops")


def test_many_integers_and_axes():
    @weft.njit
    def f(n, a, m, b, c, d, p, q, r):
        return a[: n - 1].sum() + b[:, : m - 1].sum() + c.sum() * p + d.sum() * q + r

    rng = np.random.default_rng(1)
    for n, m, p, q, r in [(2, 3, 4, 5, 6), (2, 2, 2, 2, 2), (3, 4, 3, 4, 3), (6, 5, 4, 3, 2)]:
        a, b = rng.integers(0, 9, n), rng.integers(0, 9, (n, m))
        c, d = rng.integers(0, 9, (n, m, p, q)), rng.integers(0, 9, (q, r, n, 7, 8, 9))
        assert f(n, a, m, b, c, d, p, q, r) == f.py_func(n, a, m, b, c, d, p, q, r)
        assert f(m, a, n, b, c, d, q, p, r) == f.py_func(m, a, n, b, c, d, q, p, r)


# spec: N7
def test_what_is_read_repeatedly_and_written_over():
    """A row and a column of the array that is written are read as they were."""

    def steps(path):
        for k in range(path.shape[0]):
            path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))

    def rows(x):
        x[:] = x + x[1]
        x[...] = x[:, 2:3] * x
        x[1:] = x[0] + x[1:]

    rng = np.random.default_rng(2)
    for function, order in itertools.product((steps, rows), "CF"):
        theirs = rng.integers(-3, 9, (9, 9))
        ours = theirs.copy(order)
        weft.njit(function)(ours)
        function(theirs)
        np.testing.assert_array_equal(ours, theirs)


# spec: N3
def test_assigning_a_shape():
    def f(n, m):
        a = np.zeros((n, m))
        b = a + 1
        view = a[0]
        a.shape = b.shape = n * m
        a[1] = 5
        b.shape = (m, -1)
        return a, b, view

    for got, wanted in zip(weft.njit(f)(2, 3), f(2, 3)):
        np.testing.assert_array_equal(got, wanted)
        assert got.shape == wanted.shape


def test_a_shape_that_does_not_fit():
    @weft.njit
    def f(n):
        x = np.ones((n, 2))
        x.shape = 2 * n + 1
        return x

    with pytest.raises(ValueError, match="cannot reshape array of size 4 into shape"):
        f(2)


# spec: N3
def test_out_after_the_arguments():
    def f(x, y):
        z = np.empty_like(x)
        r = np.multiply(x, y, z)
        np.add(r, 1, r)
        np.sqrt(z, z)
        return z, r.sum()

    x, y = np.arange(4.0), np.arange(4.0) + 2
    got, wanted = weft.njit(f)(x, y), f(x, y)
    np.testing.assert_array_equal(got[0], wanted[0])
    assert got[1] == wanted[1]
