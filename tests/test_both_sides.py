"""Products of one matrix with vectors on both sides of it read the matrix once."""

import copy

import pytest

import numpy as np
import weft
from support import function, same

pytestmark = pytest.mark.usefixtures("threads_kept")

# title: what is computed of a matrix and vectors of its columns' (x, p) and its rows' size (y, q); whether in one op.
PRODUCTS = {
    "one of the other": ("return (a @ x) @ a", True),
    "turned": ("return a.T @ (a @ x)", True),
    "the first is kept": ("t = a @ x\nreturn t, t @ a, t.sum()", True),
    "both": ("t = a @ x\nreturn t, t @ a", True),
    "of two vectors": ("return a @ x, y @ a", True),
    "the other way round": ("return y @ a, a @ x", True),
    "both turned": ("return a.T @ y, a @ x", True),
    "np.dot": ("return np.dot(a, x), np.dot(y, a)", True),
    "into vectors": ("q += a @ x\np += y @ a", True),
    "of every second": ("return a @ x[::-1], y[::-1] @ a", False),
    "columns": ("return a @ x[:, None], y[None, :] @ a", True),
    "in a loop": ("for k in range(3):\n    x = x - a.T @ (a @ x) * 0\nreturn x", True),
    "sizes that are looked at between": ("t = a @ x\nn = a.shape[0]\nreturn t, y.reshape((1, n)) @ a", False),
    "a vector that is made between": ("t = a @ x\nz = t * 2 + y\nreturn z @ a", False),
    "the matrix is changed between": ("t = a @ x\na += 1\nreturn t, y @ a", False),
    "the first product is changed between": ("t = a @ x\nt *= 2\nreturn t @ a", False),
    "the vector is changed between": ("t = a @ x\ny += 1\nreturn t, y @ a", False),
    "one of the other, from the left": ("return a @ (y @ a)", False),
    "the same side": ("return a @ x, a @ p", False),
}


def written(body):
    return function("", ["a", "x", "y", "p", "q"], body)


def given(rows, columns, dtype=np.float64, order="C"):
    rng = np.random.default_rng(rows + columns)
    # Whole numbers: sums have no rounding, in any order.
    sizes = [(rows, columns), columns, rows, columns, rows]
    numbers = [rng.integers(-4, 5, size).astype(dtype) for size in sizes]
    return [np.array(numbers[0], order=order), *numbers[1:]]


@pytest.mark.parametrize("title", PRODUCTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
def test_products(title, dtype):
    body, once = PRODUCTS[title]
    f = written(body)
    for rows, columns in [(3, 5), (1, 4), (4, 1), (0, 3), (3, 0), (50, 70)]:
        for order in "CF":
            ours = given(rows, columns, dtype, order)
            theirs = copy.deepcopy(ours)
            same(f(*ours), f.py_func(*theirs))
            for mine, other in zip(ours, theirs):
                same(mine, other)
    assert ("nt.both_sides" in f.inspect("fused", 0)) == (once and dtype in (np.float64, np.float32))


# More than 8 MB; rows of which four, or two, or none fit into a cache; rows that are left over.
LARGE = [(1203, 1100), (101, 12_000), (43, 30_003), (7, 200_000), (5, 600_001)]


@pytest.mark.parametrize("size", LARGE)
@pytest.mark.parametrize(
    "title", ["one of the other", "turned", "of two vectors", "the other way round", "of every second"]
)
def test_large_matrices(size, title):
    f = written(PRODUCTS[title][0])
    for dtype in (np.float64, np.float32):
        numbers = given(*size, dtype)
        if dtype == np.float32:
            numbers[0] = np.repeat(numbers[0], 2, axis=0)
            numbers[2] = np.tile(numbers[2], 2)
        same(f(*numbers), f.py_func(*numbers))


def test_rows_that_lie_apart():
    f = written(PRODUCTS["one of the other"][0])
    numbers = given(1100, 1100)
    wide = np.zeros((1100, 1300))
    wide[:, 100:1200] = numbers[0]
    same(f(wide[:, 100:1200], *numbers[1:]), f.py_func(*numbers))
    same(f(wide[::-1, 100:1200], *numbers[1:]), f.py_func(numbers[0][::-1], *numbers[1:]))


@pytest.mark.parametrize("title", ["both", "of two vectors"])
def test_bits_do_not_depend_on_threads(title):
    f = written(PRODUCTS[title][0])
    numbers = given(1201, 1301)
    numbers = [n + np.random.default_rng(k).normal(size=n.shape) for k, n in enumerate(numbers)]
    results = []
    for threads in (1, 2, 7):
        weft.set_num_threads(threads)
        results.append(np.concatenate(f(*numbers)))
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
    np.testing.assert_allclose(results[0], np.concatenate(f.py_func(*numbers)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("title", ["of two vectors", "the other way round", "into vectors"])
@pytest.mark.parametrize("size", [(30, 40), (1100, 1100)])
def test_sizes_that_do_not_fit(title, size):
    f = written(PRODUCTS[title][0])
    for which in (1, 2):
        ours = given(*size)
        ours[which] = ours[which][:-1]
        theirs = copy.deepcopy(ours)
        with pytest.raises(ValueError) as wanted:
            f.py_func(*theirs)
        with pytest.raises(ValueError) as found:
            f(*ours)
        assert str(found.value).split("(")[0] == str(wanted.value).split("(")[0]
        for mine, other in zip(ours, theirs):
            same(mine, other)
