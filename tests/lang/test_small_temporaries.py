"""Temporaries of a few elements in loops, which need not be asked of the runtime: values and lifetimes are as ever."""

import pytest

import numpy as np
import weft
from support import same

# Around what is small for the compiler, and far from it.
SIZES = [0, 1, 2, 3, 63, 64, 65, 66, 500]
RNG = np.random.default_rng(5)
X = RNG.normal(size=1000)


# spec: N10
@pytest.mark.parametrize("size", SIZES)
def test_rows_that_are_gathered(size):
    def f(rows, columns, values, x):
        y = np.empty(rows.size - 1)
        for i in range(rows.size - 1):
            chosen = columns[rows[i] : rows[i + 1]]
            y[i] = values[rows[i] : rows[i + 1]] @ x[chosen]
        return y

    rows = np.array([0, size, size, 2 * size, 2 * size + 1, 3 * size + 1])
    columns = RNG.integers(0, 1000, 3 * size + 1)
    values = RNG.integers(-9, 9, 3 * size + 1).astype(np.float64)
    x = np.round(X * 8)
    same(weft.njit(f)(rows, columns, values, x), f(rows, columns, values, x))


# spec: N10
def test_several_at_once_do_not_share_memory():
    def f(x, sizes):
        total = 0.0
        for n in sizes:
            a = x[:n] * 2
            b = a[::-1] + 1
            c = np.empty(n)
            for i in range(n):
                c[i] = a[i] * b[i]
            a[:] = 0
            total += c.sum() + b.max(initial=0) + a.sum()
        return total

    sizes = np.array(SIZES)
    same(weft.njit(f)(X, sizes), f(X, sizes))


# spec: N10
def test_what_outlives_a_turn():
    def f(x, n):
        last = x[:n] * 1
        kept = [last]
        for k in range(5):
            now = x[k : k + n] + last
            kept.append(now * 2)
            last = now
        total = np.zeros(n)
        for a in kept:
            total += a
        return last, total, kept[2]

    for n in SIZES:
        for got, wanted in zip(weft.njit(f)(X, n), f(X, n), strict=True):
            same(got, wanted)


# spec: N10
def test_a_turn_left_early():
    def f(x, sizes, wrong):
        found = 0.0
        for n in sizes:
            a = x[:n] * 2
            if n == wrong:
                continue
            try:
                found += a[n - 1 if n < 65 else n]
            except IndexError:
                found += 1000
            if n > 66:
                return found, a
        return found, x

    for wrong in (0, 64, 500):
        got, wanted = weft.njit(f)(X, np.array(SIZES), wrong), f(X, np.array(SIZES), wrong)
        same(got[0], wanted[0])
        same(got[1], wanted[1])


# spec: N10, N14
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_in_a_parallel_loop(threads, threads_kept):
    weft.set_num_threads(threads)

    @weft.njit
    def f(x, sizes):
        y = np.empty(sizes.size)
        for i in weft.prange(sizes.size):
            a = x[: sizes[i]] * i
            y[i] = (a[::-1] * a).sum()
        return y

    sizes = np.array(SIZES * 200)
    wanted = [((x := X[:n] * i)[::-1] * x).sum() for i, n in enumerate(sizes)]
    np.testing.assert_allclose(f(X, sizes), wanted, rtol=1e-12)
