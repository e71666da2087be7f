"""Arrays that are read while they are written through another name: everything is read before anything is written."""

import itertools

import pytest

import numpy as np
import weft


def reversed_view(a, b):
    a -= b[::-1]


def carried(a, b):
    turned = b[::-1]
    for _ in range(2):
        a -= turned
        k = 0
        while k < 3:
            k += 1


def shifted(a, b):
    a[1:] = a[1:] + b[:-1]


def both_ways(a, b):
    a[:] = b + 2 * b[::-1]


def as_it_is(a, b):
    a += b


def of_a_branch(a, b):
    c = a if a.size > 2 else b
    for k in range(1, 3):
        c *= b[::-1]
        while k < 2:
            k += 1


FUNCTIONS = [reversed_view, carried, shifted, both_ways, as_it_is, of_a_branch]


def pairs(x):
    """Two names for the same memory, and for memory of their own."""
    return [(x, x), (x, x[::-1]), (x[::-1], x), (x[::-1], x[::-1]), (x, x.copy()), (x[1:], x[:-1]), (x[::2], x[1::2])]


# spec: N7
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_written_was_read_before(function, dtype):
    compiled = weft.njit(function)
    for size, which in itertools.product([2, 6, 40], range(7)):
        want, have = [np.arange(1, size + 1).astype(dtype) for _ in range(2)]
        function(*pairs(want)[which])
        compiled(*pairs(have)[which])
        np.testing.assert_array_equal(have, want, err_msg=f"{size} elements, pair {which}")
