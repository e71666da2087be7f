"""Arrays that a `prange` accumulates into: one order of updates, whatever the number of threads."""

import pytest

import numpy as np
import weft
from weft import prange

THREADS = (1, 2, 7)


pytestmark = pytest.mark.usefixtures("threads_kept")


@weft.njit
def weighted(h, labels, weights):
    for i in prange(len(labels)):
        h[labels[i]] += weights[i]


@weft.njit
def summed(h, rows):
    for i in prange(len(rows)):
        h += rows[i]


def in_groups(n, updates, update, array, neutral):
    """What is promised: blocks by the number of iterations, in groups, each with a copy of its own.

    There are at most 64, and so many that making their elements is a quarter of the updates (per iteration: `updates`).
    """
    block = min(max(-(-n // 256), 1), 4096)
    blocks = -(-n // block)
    copies = max(min(64, blocks, blocks * block * updates // (4 * array.size)), 1)
    each = max(-(-blocks // copies), 1)
    if -(-blocks // each) <= 1:
        for i in range(n):
            update(array, i)
        return
    for first in range(0, blocks, each):
        part = np.full_like(array, neutral)
        for i in range(first * block, min((first + each) * block, n)):
            update(part, i)
        array += part


# spec: N14
@pytest.mark.parametrize("n", [0, 1, 300, 5000, 100_000])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_labels_have_one_order(n, dtype):
    some = np.random.default_rng(n)
    labels, weights = some.integers(0, 20, n), some.normal(size=n).astype(dtype)
    start = some.normal(size=20).astype(dtype)
    expected = start.copy()

    def update(array, i):
        array[labels[i]] += weights[i]

    in_groups(n, 1, update, expected, -0.0)
    for threads in THREADS:
        weft.set_num_threads(threads)
        got = start.copy()
        weighted(got, labels, weights)
        assert got.tobytes() == expected.tobytes()


# spec: N14
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_rows_have_one_order(layout):
    some = np.random.default_rng(4)
    rows = some.normal(size=(2560, 6, 4))
    start = some.normal(size=(6, 4))

    def array():
        if layout == "strided":
            return np.repeat(np.repeat(start, 2, axis=0), 3, axis=1)[::2, ::3]
        return np.array(start, order=layout)

    expected = array()

    def update(array, i):
        array += rows[i]

    in_groups(len(rows), start.size, update, expected, -0.0)
    for threads in THREADS:
        weft.set_num_threads(threads)
        got = array()
        summed(got, rows)
        assert got.tobytes() == expected.tobytes()


# spec: N14, N7
def test_an_array_that_overlaps_is_updated_in_order():
    @weft.njit
    def f(h, x):
        for i in prange(len(x)):
            h[i % 3] += x[i]

    for threads in THREADS:
        weft.set_num_threads(threads)
        memory = np.arange(5000.0)
        expected = memory.copy()
        for i in range(5000):
            expected[i % 3] += expected[i]
        f(memory[:3], memory)
        assert memory.tobytes() == expected.tobytes()


# spec: N14
def test_large_arrays_are_updated_themselves():
    n = 3_000_000
    labels = np.random.default_rng(2).integers(0, n, 1000)
    h, expected = np.zeros(n), np.zeros(n)
    weighted(h, labels, np.ones(1000))
    np.add.at(expected, labels, 1.0)
    assert h.tobytes() == expected.tobytes()


# spec: N14
@pytest.mark.parametrize("dtype", list("bBhHiIlLefdFD"))
def test_dtypes(dtype):
    labels = np.random.default_rng(3).integers(0, 9, 4000)
    weights = (np.arange(4000) % 3).astype(dtype)
    expected = np.zeros(9, dtype)
    with np.errstate(over="ignore"):
        for i in range(4000):
            expected[labels[i]] += weights[i]
    for threads in THREADS:
        weft.set_num_threads(threads)
        got = np.zeros(9, dtype)
        weighted(got, labels, weights)
        assert got.tobytes() == expected.tobytes()


# spec: N14
def test_signed_zeros_nans_and_infinities_stay():
    labels = np.arange(4000) % 2
    weights = np.full(4000, -0.0)
    for threads in THREADS:
        weft.set_num_threads(threads)
        got = np.array([-0.0, -0.0, 0.0, np.nan, np.inf])
        weighted(got, labels, weights)
        assert np.signbit(got).tolist() == [True, True, False, np.signbit(np.nan), False]
        assert got[2:].tobytes() == np.array([0.0, np.nan, np.inf]).tobytes()


# spec: N10, N12
def test_indices_are_checked():
    labels = np.zeros(10_000, dtype=int)
    labels[[5000, 9000]] = 100, -21
    for threads in THREADS:
        weft.set_num_threads(threads)
        with pytest.raises(IndexError, match="index 100 is out of bounds for axis 0 with size 20"):
            weighted(np.zeros(20), labels, np.zeros(10_000))


# spec: N12, N14
def test_shapes_must_fit():
    with pytest.raises(ValueError, match="broadcast"):
        summed(np.zeros(3), np.zeros((1000, 4)))
