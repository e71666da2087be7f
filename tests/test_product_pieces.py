"""What is made of a product of matrices is made piece by piece; small products of known sizes are written out.

The bits are those of the product as a whole, and of what is made of it then, for any number of threads.
"""

import pytest

import numpy as np
import weft
from support import function, loops_left

pytestmark = pytest.mark.usefixtures("threads_kept")

THREADS = (1, 2, 7)

# What is made of the product `p`, which is `a @ b`. `row` and `column` are broadcast, `c` has the product's shape.
TOGETHER = {
    "a number": "p * 2 + 1",
    "relu": "np.maximum(p + row, 0)",
    "a column": "p - column[:, None]",
    "all of them": "(p + row) * column[:, None] - 2",
    "one row": "p + row[None, :]",
    "lines with strides": "p - row[::-1] * column[::-1, None]",
    "a choice": "np.where(p > row, p, column[:, None])",
    "one of two rows": "p + (row if column.sum() > 0 else row[::-1])",
}
APART = {
    "the product is returned too": "p + row, p",
    "it is needed twice": "p + row, p * 2",
    "more rows": "p[None] + np.ones((2, 1, 1))",
    "a matrix": "p + 3 * c",
    "a row and a matrix": "(p + row) * c",
    "a matrix in Fortran order": "p - np.asfortranarray(c)",
    "another dtype": "p > row",
}
SHAPES = [
    (1, 1, 1),
    (3, 2, 4),
    (1, 50, 9),
    (50, 1, 9),
    (5, 7, 0),
    (33, 17, 65),
    (200, 300, 5),
    (130, 70, 300),
    (700, 500, 260),
]
DTYPES = [np.float64, np.float32, np.int64, np.complex128]
# Complex numbers have no order.
CASES = [(name, dtype) for name in TOGETHER for dtype in DTYPES
         if dtype != np.complex128 or name not in ("a choice", "relu", "one of two rows")]  # fmt: skip


def made(text):
    """The function of one statement, and that of two calls that know nothing of each other."""
    whole = function("r", ["a", "b", "c", "row", "column"], f"p = a @ b\nr = {text}")
    product = function("a @ b", ["a", "b"])
    rest = function("r", ["p", "c", "row", "column"], f"r = {text}")
    return whole, lambda a, b, c, row, column: rest(product(a, b), c, row, column)


def operands(shape, dtype, seed=0):
    m, n, k = shape
    rng = np.random.default_rng(seed)
    sizes = [(m, k), (k, n), (m, n), (n,), (m,)]
    return [rng.integers(-9, 9, size=size).astype(dtype) if np.dtype(dtype).kind == "i"
            else rng.uniform(-1, 1, size=size).astype(dtype) for size in sizes]  # fmt: skip


# spec: N3
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_pieces_are_what_the_whole_would_be(name, dtype):
    whole, apart = made(TOGETHER[name])
    for shape in SHAPES:
        args = operands(shape, dtype)
        expected, theirs = apart(*args), whole.py_func(*args)
        assert np.allclose(expected, theirs, rtol=1e-4 if dtype == np.float32 else 1e-10, atol=1e-4)
        for threads in THREADS:
            weft.set_num_threads(threads)
            ours = whole(*args)
            assert (ours.dtype, ours.shape, ours.strides) == (theirs.dtype, theirs.shape, theirs.strides)
            assert ours.tobytes() == expected.tobytes(), shape
    assert "nt.product" in whole.inspect("fused")
    assert "computed for each piece of the product" in str(whole.report())


# spec: N3
@pytest.mark.parametrize("name", APART)
def test_a_product_that_others_need_is_computed_as_a_whole(name):
    whole, apart = made(APART[name])
    args = operands((60, 40, 30), np.float64)
    ours, expected = whole(*args), apart(*args)
    for mine, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (ours, expected)), strict=True):
        assert mine.tobytes() == other.tobytes()
    assert "nt.product" not in whole.inspect("fused")


# Statements that write into `c`, and what NumPy does: everything is read before the first element is written.
INTO = {
    "itself": "c[:] = a @ b + 2 * c",
    "added": "c += a @ b",
    "scaled": "c[:, :] = 0.5 * (a @ b) - c",
    "something else": "c[:] = a @ b + d",
    "a factor": "c[:] = c @ b + 1",
    "the other factor": "c[:] = a @ c - d",
    "both factors": "c[:] = c @ c + c",
    "transposed": "c[:] = a @ b + c.T",
    "turned around": "c[:] = a @ b + c[::-1]",
    "every second row": "c[::2] = (a @ b)[::2] + 1",
    "a row for all": "c[:] = a @ b + c[0]",
}


# spec: N7
@pytest.mark.parametrize("name", INTO)
@pytest.mark.parametrize("n", [1, 4, 70, 300])
def test_a_product_goes_where_it_is_wanted(name, n):
    f = function("c", ["a", "b", "c", "d"], INTO[name])
    rng = np.random.default_rng(n)
    values = [rng.integers(-3, 4, size=(n, n)).astype(float) for _ in range(4)]
    for shares in ("nothing", "a", "b", "d"):
        for threads in THREADS:
            weft.set_num_threads(threads)
            results = []
            for call in (f, f.py_func):
                a, b, c, d = (x.copy() for x in values)
                if shares != "nothing":
                    # `c` is the array itself, or the same memory the other way round.
                    a, b, d = (c if shares == k else x for k, x in zip("abd", (a, b, d)))
                call(a, b, c, d)
                results.append(c)
            assert np.array_equal(*results), (shares, threads)


# spec: N7
def test_a_factor_overlaps_what_is_written():
    f = function("c", ["a", "b", "c"], "c[:] = a @ b + c")
    whole = np.random.default_rng(0).integers(-3, 4, size=(260, 250)).astype(float)
    for shift in (1, 5, 10):
        ours, theirs = whole.copy(), whole.copy()
        for call, x in ((f, ours), (f.py_func, theirs)):
            call(x[:250], np.ones((250, 250)), x[shift : shift + 250])
        assert np.array_equal(ours, theirs)


@weft.njit
def turned(points):
    c, s = np.cos(0.5), np.sin(0.5)
    turn = np.array([[c, -s], [s, c]])
    out = np.empty_like(points)
    for i in range(len(points)):
        out[i] = turn @ points[i, :2]
    return out


@weft.njit
def of_ints(n):
    a = np.array([[n, 2, 3], [4, n, 6]])
    b = np.array([[n, 1], [2, n], [3, 4]])
    return a @ b, b @ a, (a @ b) @ np.array([1, n])


@weft.njit
def stacked(x):
    a = np.zeros((2, 2, 2))
    a[0, 0, 1] = x
    a[1, 1, 0] = x + 1
    return a @ a + a, a.transpose(0, 2, 1) @ a


# spec: N3
def test_small_products_are_written_out():
    points = np.random.default_rng(0).uniform(size=(9, 2))
    assert np.allclose(turned(points), turned.py_func(points), rtol=1e-14, atol=0)
    # The products of all points are one.
    assert loops_left(turned) == 0
    for n in (0, 7, -3):
        for ours, theirs in zip(of_ints(n), of_ints.py_func(n), strict=True):
            assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    assert "mem.matmul" not in of_ints.inspect("loops")
    for ours, theirs in zip(stacked(1.5), stacked.py_func(1.5), strict=True):
        assert np.array_equal(ours, theirs)
    assert "mem.matmul" not in stacked.inspect("loops")


# spec: N3
def test_products_of_nothing():
    @weft.njit
    def nothing():
        return np.zeros((2, 0)) @ np.zeros((0, 3)) + 1, np.zeros((0, 2)) @ np.ones((2, 2)) + 1

    for ours, theirs in zip(nothing(), nothing.py_func(), strict=True):
        assert (ours.shape, ours.tolist()) == (theirs.shape, theirs.tolist())
