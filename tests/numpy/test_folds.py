"""Reductions of what is computed for them: nothing is stored, and the bits are those of the array stored first."""

import pytest

import numpy as np
import weft
from support import function

pytestmark = pytest.mark.usefixtures("threads_kept")


EXPRESSIONS = [
    "a * b",
    "a * b[..., :1]",
    "a[..., :3] * b[..., :3]",
    "a[1:] - b[:-1]",
    "a[::-1] + b",
    "a.T * b.T",
    "a > b",
    "-a",
]
# Around the ends of rows, blocks and runs; nothing; axes of one.
SHAPES = {
    1: [(0,), (1,), (9,), (65,), (2049,), (40_001,)],
    2: [(3, 0), (0, 3), (2, 3), (300, 7), (7, 300), (1, 5000), (5000, 1), (129, 600), (3, 20_000)],
    3: [(2, 3, 4), (5, 7, 300), (300, 7, 5), (2, 1, 2500), (20, 130, 3), (3, 0, 2)],
}
AXES = {1: [None, 0], 2: [None, 0, -1, (0, 1)], 3: [None, 0, 1, 2, (0, 1), (1, 2), (0, 2)]}


# spec: N3, N7
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("fold, code", [("sum", "d"), ("sum", "D"), ("mean", "f"), ("max", "i"), ("prod", "d")])
def test_the_bits_are_those_of_the_stored_array(fold, code, rank):
    rng = np.random.default_rng(rank)
    for text in EXPRESSIONS:
        if code == "D" and ">" in text:
            continue
        stored = function(text, "ab")
        for axis in AXES[rank]:
            fused = function(f"np.{fold}({text}, axis={axis})", "ab")
            alone = function(f"np.{fold}(t, axis={axis})", "t")
            for shape in SHAPES[rank]:
                # So near 1 that products stay finite.
                a, b = (1 + rng.normal(size=(2, *shape)) / 4096).astype(code)
                if 0 in (a * b).shape or 0 in stored(a, b).shape:
                    continue
                weft.set_num_threads(1)
                got = np.asarray(fused(a, b))
                assert got.tobytes() == np.asarray(alone(stored(a, b))).tobytes(), (text, axis, shape)
                np.testing.assert_allclose(got, fused.py_func(a, b), rtol=1e-4 if code == "f" else 1e-9, atol=1e-37)
                for threads in (2, 7):
                    weft.set_num_threads(threads)
                    assert np.asarray(fused(a, b)).tobytes() == got.tobytes(), (text, axis, shape, threads)


# spec: N3
@pytest.mark.parametrize("fold", ["sum", "prod", "any", "all", "max", "min"])
@pytest.mark.parametrize("text", ["a * a", "a > 0", "a"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_nothing_is_reduced_as_by_numpy(fold, text, axis):
    f = function(f"np.{fold}({text}, axis={axis})", "a")
    for shape in [(0, 3), (3, 0), (0, 0)]:
        a = np.zeros(shape)
        try:
            wanted = f.py_func(a)
        except ValueError as e:
            with pytest.raises(ValueError, match=str(e)):
                f(a)
            continue
        got = f(a)
        assert np.asarray(got).dtype == np.asarray(wanted).dtype
        # A sum of nothing is 0.0, not -0.0.
        assert np.asarray(got).tobytes() == np.asarray(wanted).tobytes()


@weft.njit
def distance(a, b, keep):
    d = a - b
    if keep:
        a[0] = 5.0
    return np.sqrt(np.sum(d * d))


@weft.njit
def used_twice(a):
    t = a * 2.0
    return t, np.sum(t)


@weft.njit
def written_between(a):
    t = a * 2.0
    a[0] = 100.0
    return np.sum(t)


# spec: N7, G3
def test_what_is_folded_as_it_is_computed():
    a, b = np.arange(5.0), np.ones(5)
    assert distance(a, b, False) == distance.py_func(a, b, False)
    assert "nt.fold" in distance.inspect("fused")
    assert used_twice(a)[1] == 20.0
    assert "nt.fold" not in used_twice.inspect("fused")
    assert written_between(a.copy()) == 20.0
    assert "nt.fold" not in written_between.inspect("fused")
    assert "computed inside the reduction" in str(distance.report())


@weft.njit
def rows(a, b):
    out = np.empty(a.shape[0])
    for i in weft.prange(a.shape[0]):
        out[i] = np.sum(a[i] * b) + np.max(np.abs(a[i]))
    return out


# spec: N14
def test_inside_a_parallel_loop():
    a, b = np.random.default_rng(0).normal(size=(40, 3000)), np.linspace(0, 1, 3000)
    got = [None] * 3
    for k, threads in enumerate((1, 2, 7)):
        weft.set_num_threads(threads)
        got[k] = rows(a, b).tobytes()
    assert got[0] == got[1] == got[2]
    np.testing.assert_allclose(rows(a, b), (a * b).sum(1) + np.abs(a).max(1))


@weft.njit
def of_all(x):
    return np.sum(x[:, None, None] * x[None, :, None] * x[None, None, :])


# spec: N3, G2
def test_more_elements_than_can_be_counted():
    assert of_all(np.arange(4.0)) == of_all.py_func(np.arange(4.0))
    with pytest.raises(ValueError, match="array is too big"):
        of_all(np.zeros(1 << 21))


@weft.njit
def windows(x, w):
    k, m = w.shape
    out = np.empty((x.shape[0] - k + 1, x.shape[1] - m + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(x[i : i + k, j : j + m] * w)
    return out


@weft.njit
def windows_at_once(x, w):
    k, m = w.shape
    out = np.empty((x.shape[0] - k + 1, x.shape[1] - m + 1))
    for i in weft.prange(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(x[i : i + k, j : j + m] * w)
    return out


# spec: N3, N14
@pytest.mark.parametrize("k, m", [(0, 2), (1, 1), (1, 2), (3, 3), (4, 5), (4, 8), (3, 11), (9, 9)])
def test_one_result_of_few_elements_in_a_loop(k, m):
    rng = np.random.default_rng(k)
    x, w = rng.normal(size=(11, 14)), rng.normal(size=(k, m))
    alone = function("np.sum(t)", "t")
    wanted = np.array([[alone(x[i : i + k, j : j + m] * w) for j in range(15 - m)] for i in range(12 - k)])
    assert windows(x, w).tobytes() == wanted.tobytes()
    for threads in (1, 2, 7):
        weft.set_num_threads(threads)
        assert windows_at_once(x, w).tobytes() == wanted.tobytes()


@weft.njit
def distances(x, y):
    return ((x[:, None] - y) ** 2).sum(axis=2)


# spec: N3, N7, N14
@pytest.mark.parametrize("n", [0, 1, 2, 3, 8, 17, 31, 32, 33, 64, 65])
def test_short_rows_side_by_side(n):
    rng = np.random.default_rng(n)
    alone = function("np.sum(t, axis=2)", "t")
    for code in "df":
        x, y = rng.normal(size=(5, n)).astype(code), rng.normal(size=(67, n)).astype(code)
        wanted = alone((x[:, None] - y) ** 2)
        for threads in (1, 2, 7):
            weft.set_num_threads(threads)
            assert distances(x, y).tobytes() == wanted.tobytes()
            assert distances(x, y[::-1].copy(order="F")[::-1]).tobytes() == wanted.tobytes()
