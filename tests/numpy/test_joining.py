"""Arrays put together, repeated, turned around; parts of matrices; histograms: as NumPy has them."""

import pytest
from test_basic_indexing import check, jit

import numpy as np
import weft
from support import same

RNG = np.random.default_rng(9)
A = RNG.normal(size=(3, 4))
I = RNG.integers(-9, 9, (3, 4)).astype(np.int16)
M = A > 0
V, W = RNG.normal(size=4), RNG.normal(size=3)
S = RNG.normal(size=(2, 3, 4))

JOINED = [
    ("np.concatenate((a, b))", A, A), ("np.concatenate((a, b), axis=1)", A, I),
    ("np.concatenate((a, b), axis=-1)", A, M), ("np.concatenate((a, b), axis=None)", A, V),
    ("np.concatenate((a, b), dtype=np.float32)", A, I), ("np.concatenate((a, b))", A, V),
    ("np.concatenate((a, b))", A, A.T), ("np.concatenate((a, b), axis=2)", A, A),
    ("np.concatenate((a, b, a[:0]), axis=0)", A, A[::-1]), ("np.concatenate([a, b])", A, A),
    ("np.concatenate([a, b], 1)", A, A), ("np.stack((a, b))", A, A), ("np.stack((a, b), axis=-1)", V, V),
    ("np.stack([a, b], axis=1)", V, V), ("np.stack((a, b))", A, A.T), ("np.vstack((a, b))", V, V),
    ("np.vstack((a, b))", V, A), ("np.vstack([a, b])", V, V), ("np.hstack((a, b))", V, W),
    ("np.hstack((a, b))", A, A), ("np.hstack([a, b])", A, A), ("np.hstack((a, b, a))", A, I),
    ("np.column_stack((a, b))", V, V), ("np.append(a, b)", A, V), ("np.append(a, b, axis=0)", A, A),
    ("np.append(a, b)", V, 3.0),
]  # fmt: skip

CHANGED = [
    ("np.flip(a)", A), ("np.flip(a, 0)", A), ("np.flip(a, axis=(0, 1))", S), ("np.flip(a)", V), ("np.flipud(a)", A),
    ("np.fliplr(a)", I), ("np.fliplr(a)", V), ("np.roll(a, 1)", A), ("np.roll(a, -3, axis=1)", A),
    ("np.roll(a, (1, 2), axis=(0, 1))", A), ("np.roll(a, 7)", V), ("np.roll(a, 2)", V[:0]), ("np.repeat(a, 2)", A),
    ("np.repeat(a, 3, axis=1)", I), ("np.repeat(a, 0, axis=0)", A), ("np.repeat(a, -1)", V), ("a.repeat(2, 0)", S),
    ("np.repeat(a, np.array([1, 0, 2]), axis=0)", A), ("np.tile(a, 2)", A), ("np.tile(a, (2, 1, 3))", M),
    ("np.triu(a)", A), ("np.triu(a, 1)", S), ("np.triu(a, -2)", I), ("np.tril(a, -1)", A), ("np.tril(a)", V),
    ("np.tril(a, 9)", M), ("np.diag(a)", V), ("np.diag(a, -2)", W), ("np.trace(a)", A), ("np.trace(a, 1)", I),
    ("a.trace(dtype=np.float32)", A), ("np.moveaxis(a, 0, -1)", S), ("np.moveaxis(a, 2, 0)", S),
    ("np.broadcast_to(a, (3, 4))", V), ("np.atleast_2d(a)", V), ("np.atleast_2d(a)", A), ("np.mgrid[0:a, 0:5]", 3),
    ("np.mgrid[1:a:2]", 7), ("np.mgrid[0:2, 0:a, 1:3]", 4), ("np.mgrid[0:a:0.5]", 2), ("np.tri(a)", 3),
    ("np.tri(a, 4, 1)", 3), ("np.clip(a, -0.5, 0.5)", A), ("a.clip(-2, 3)", I), ("np.clip(a, None, 0)", A),
    ("np.clip(a, a_min=0)", A), ("np.clip(a, min=0, max=1)", A), ("np.clip(a, 0, 1, out=a)", A.copy()),
]  # fmt: skip


# spec: N3
@pytest.mark.parametrize(("expression", "a", "b"), JOINED)
def test_joined(expression, a, b):
    check(f"def f(a, b):\n    return {expression}\n", a, b)


# spec: N3
@pytest.mark.parametrize(("expression", "a"), CHANGED)
def test_changed(expression, a):
    check(f"def f(a):\n    return {expression}\n", a)


# spec: N3
def test_diagonals():
    for k in (-4, -1, 0, 1, 4):
        same(jit(f"def f(a):\n    return np.diag(a, {k}), a.diagonal({k})\n", "f")(A), (np.diag(A, k), A.diagonal(k)))


# spec: N3
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8])
def test_histograms(dtype):
    a = (RNG.normal(size=500) * 9).astype(dtype)
    weights = RNG.integers(0, 5, 500).astype(np.float64)
    edges = np.array([-7.0, -3, 0, 0.5, 9])
    for expression in (
        "np.histogram(a)", "np.histogram(a, 7)", "np.histogram(a, 7, weights=w)", "np.histogram(a, bins=e)",
        "np.histogram(a, 5, (-4, 4))", "np.histogram(a, bins=e, weights=w)", "np.histogram(a, 6, density=True)",
        "np.histogram(a.reshape(50, 10), 3)[0]",
    ):  # fmt: skip
        check(f"def f(a, w, e):\n    return {expression}\n", a, weights, edges)
    check("def f(a):\n    return np.histogram(a, 0)\n", a)
    check("def f(a, e):\n    return np.histogram(a, e)\n", a, edges[::-1])
    check("def f(a):\n    return np.histogram(a)\n", a[:0])
    check("def f(a):\n    return np.histogram(a)\n", a[:1])


# spec: N3
def test_histogram_of_values_on_the_edges():
    a = np.concatenate([np.linspace(0, 1, 11), np.linspace(0, 1, 101)])
    for bins in (3, 7, 10, 100):
        check(f"def f(a):\n    return np.histogram(a, {bins})\n", a)


# spec: N3
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_histograms_of_many(threads, threads_kept):
    weft.set_num_threads(threads)
    # More than the blocks that NumPy adds up, and that are done at once.
    a, w = RNG.normal(size=1_200_000), RNG.normal(size=1_200_000)
    for expression in ("np.histogram(a, 100)", "np.histogram(a, 99, (-1, 2), weights=w)"):
        check(f"def f(a, w):\n    return {expression}\n", a, w)
    check("def f(a, w):\n    return np.histogram(a, 10, weights=w)\n", a[:65537], w[:65537] + 1j)
    # So many bins that only two parts are counted at once.
    check("def f(a):\n    return np.histogram(a, 400_000)\n", a[:300_000])


# spec: N3
def test_histogram_of_too_many_bins():
    for a in ([-1e308, 1e308], [2.0**60] * 3, [1.0, 1.0 + 2e-16], [0.0, 5e-324]):
        check("def f(a):\n    return np.histogram(a, 10)\n", np.array(a))
    check("def f(a):\n    return np.histogram(a, 10, (0.0, 5e-324))\n", np.zeros(3))


# spec: N3
def test_counts():
    i = RNG.integers(0, 9, 30)
    check("def f(a, b):\n    return np.bincount(a), np.bincount(a, b), np.bincount(a, minlength=20)\n", i, np.ones(30))
    check("def f(a):\n    return np.bincount(a)\n", -i)


# spec: N3
def test_where_with_one_argument():
    for a in (A, V, S):
        check("def f(a):\n    return np.where(a > 0)\n", a)
    check("def f(a):\n    return np.where(a > 0, a)\n", A)
