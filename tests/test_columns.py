"""Statements that write an array and read a column of it, one element for each row: as if all was read before."""

import pytest

import numpy as np
import weft


def by_column(a, k):
    a[:] = a * 2 + a[:, k][:, None]


def outer(a, k):
    a[:] = np.minimum(a, np.add.outer(a[:, k], a[k, :]))


def two_columns(a, k):
    a[:] = a[:, k][:, None] - a[:, -1 - k][:, None] * a


def last_written(a, k):
    a += a[:, k].reshape(a.shape[0], 1)


def other_rows(a, k):
    a[1:] = a[1:] + a[:-1, k][:, None]


def turned_rows(a, k):
    a[:] = a + a[::-1, k][:, None]


def every_other_row(a, k):
    half = a[: a.shape[0] // 2]
    half[:] = half + a[: 2 * half.shape[0] : 2, k][:, None]


def some_columns(a, k):
    a[:, ::2] = a[:, ::2] + a[:, k][:, None]


def columns_beside(a, k):
    a[:, 1:] = a[:, 1:] * a[:, 0][:, None]


def backwards(a, k):
    b = a[:, ::-1]
    b[:] = b + a[:, k][:, None]


def rows_backwards(a, k):
    b = a[::-1]
    b[:] = b + b[:, k][:, None]


def across(a, k):
    b = a.T
    b[:] = b + b[:, k % b.shape[1]][:, None]


def argument(a, b):
    a[:] = a + b


def repeated(a, k):
    for j in range(a.shape[1]):
        a[:] = a + a[:, j][:, None] % 7


FUNCTIONS = [
    by_column,
    outer,
    two_columns,
    last_written,
    other_rows,
    turned_rows,
    every_other_row,
    some_columns,
    columns_beside,
    backwards,
    rows_backwards,
    across,
    repeated,
]


def numbers(rows, columns, dtype=np.float64):
    return np.random.default_rng(rows).integers(0, 50, (rows, columns)).astype(dtype)


@pytest.fixture(params=[1, 2, 7])
def threads(request):
    before = weft.get_num_threads()
    weft.set_num_threads(request.param)
    yield request.param
    weft.set_num_threads(before)


# spec: N7
@pytest.mark.parametrize("function", FUNCTIONS)
def test_all_is_read_before(function, threads):
    compiled = weft.njit(parallel=True)(function)
    for rows, columns in [(1, 4), (2, 3), (5, 5), (6, 9), (64, 64), (300, 300)]:
        for k in (0, 1, columns - 2) if function is not outer else (0, min(rows, columns) - 1):
            for order in "CF":
                want = np.asarray(numbers(rows, columns), order=order)
                have = want.copy(order="K")
                function(want, k)
                compiled(have, k)
                np.testing.assert_array_equal(have, want)


# spec: N7
def test_arguments_that_share_memory(threads):
    compiled = weft.njit(parallel=True)(argument)
    for dtype in (np.float64, np.int32, np.complex64):
        for choose in (
            lambda a: (a, a[:, 2:3]),
            lambda a: (a[1:], a[:-1, 2:3]),
            lambda a: (a[:-1], a[1:, 2:3]),
            lambda a: (a[:, 1:4], a[:, 0:1]),
            lambda a: (a[:, 1:4], a[:, 3:4]),
            lambda a: (a[::2], a[: (a.shape[0] + 1) // 2, 1:2]),
            lambda a: (a[::-1], a[:, 1:2]),
            lambda a: (a, a.copy()[:, 2:3]),
        ):
            want, have = numbers(101, 40, dtype), numbers(101, 40, dtype)
            argument(*choose(want))
            compiled(*choose(have))
            np.testing.assert_array_equal(have, want)
