"""Slices with one length are of one size: nothing is compared at run time, and statements become one loop."""

import pytest

import numpy as np
import weft


@weft.njit
def rank_two(alpha, c, a, b):
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * alpha * a[i, k]


@weft.njit
def ends(x, n):
    return x[:n] + x[-n:], x[1 : n + 1] * x[:n]


@weft.njit
def differ(x, y, n, m):
    return x[:n] + y[:m]


@weft.njit
def in_a_branch(x, n, other):
    if other:
        y = x[:n] * 2.0
    else:
        y = x[n:] * 3.0
    return y + 1.0, x[:n] + x[:n]


# spec: N6
def test_slices_of_one_length_are_one_loop():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(9, 5)), rng.normal(size=(9, 5))
    c = np.zeros((9, 9))
    wanted = c.copy()
    rank_two(1.5, c, a, b)
    rank_two.py_func(1.5, wanted, a, b)
    np.testing.assert_array_equal(c, wanted)
    fused = rank_two.inspect("fused")
    assert fused.count("nt.elementwise") == 1
    assert "nt.expand" not in fused and "nt.refine" not in fused and "nt.alloc" not in fused


# spec: N6
@pytest.mark.parametrize("n", [0, 1, 3, 7, 8, 20, -2, -8, -20])
def test_any_length(n):
    x = np.arange(8.0)
    try:
        wanted = ends.py_func(x, n)
    except ValueError as e:
        with pytest.raises(ValueError) as found:
            ends(x, n)
        assert str(found.value) == str(e)
        return
    for got, want in zip(ends(x, n), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


# spec: N6
@pytest.mark.parametrize("n, m", [(3, 3), (1, 3), (3, 1), (0, 1), (2, 3), (4, 0)])
def test_lengths_that_happen_to_be_equal(n, m):
    x, y = np.arange(8.0), np.arange(8.0) * 10
    try:
        wanted = differ.py_func(x, y, n, m)
    except ValueError as e:
        with pytest.raises(ValueError) as found:
            differ(x, y, n, m)
        assert str(found.value) == str(e)
        return
    np.testing.assert_array_equal(differ(x, y, n, m), wanted)


# spec: N6
@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("n", [0, 2, 5, 9])
def test_sizes_of_branches_stay_apart(n, other):
    x = np.arange(6.0)
    for got, want in zip(in_a_branch(x, n, other), in_a_branch.py_func(x, n, other), strict=True):
        np.testing.assert_array_equal(got, want)


def products(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = np.dot(a[i, :], b[:, j]) + np.dot(a[i, 1:], b[1:, j])
    return c


def unequal(a, b, n):
    total = 0.0
    for i in range(a.shape[0]):
        total += np.dot(a[i, :n], b[1:, 0])
    return total


# spec: N6
def test_products_of_vectors_of_one_size_are_not_checked():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 9, (4, 5)).astype(float), rng.integers(0, 9, (5, 3)).astype(float)
    compiled = weft.njit(products)
    np.testing.assert_array_equal(compiled(a, b, np.zeros((4, 3))), products(a, b, np.zeros((4, 3))))
    assert "raise" not in compiled.inspect("fused")
    compiled = weft.njit(unequal)
    assert compiled(a, b, 4) == unequal(a, b, 4)
    for n in (3, 5):
        with pytest.raises(ValueError, match=r"shapes \(\d,\) and \(\d,\) not aligned"):
            compiled(a, b, n)


def repeated(x):
    return np.zeros_like(x) | np.arange(4, dtype=np.uint64), x + np.ones(3, np.uint64), np.arange(6).reshape(2, 3) * x


def divided(x, mask):
    out = np.arange(5, dtype=np.uint32)
    out[:-1] = [3, 6, 4, 9] % x[mask]
    return out


# spec: N6
def test_one_element_is_repeated_beside_sizes_that_are_known():
    compiled = weft.njit(repeated)
    for x in (np.array([7], np.uint64), np.array([5, 6, 7], np.uint64)[1::2]):
        for have, want in zip(compiled(x), repeated(x)):
            np.testing.assert_array_equal(have, want)
    x = np.array([5, 7, 12, 4], np.uint32)
    compiled = weft.njit(divided)
    for mask in (x == 7, x > 3):
        np.testing.assert_array_equal(compiled(x, mask), divided(x, mask))
