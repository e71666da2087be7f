"""Arrays that are read while they are written through another name: everything is read before anything is written."""

import itertools

import pytest

import numpy as np
import weft
from support import function, outcome


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
@pytest.mark.parametrize("plain", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_written_was_read_before(plain, dtype):
    compiled = weft.njit(plain)
    for size, which in itertools.product([2, 6, 40], range(7)):
        want, have = [np.arange(1, size + 1).astype(dtype) for _ in range(2)]
        plain(*pairs(want)[which])
        compiled(*pairs(have)[which])
        np.testing.assert_array_equal(have, want, err_msg=f"{size} elements, pair {which}")


# Vectors of `a`, a matrix, that are written in the turns of a loop while others, or their neighbours, are read.
ROWS = {
    "one ahead": "a[i, :-1] += a[i, 1:]",
    "one behind": "a[i, 1:] += a[i, :-1]",
    "on both sides": "a[i, 1:-1] = a[i, 2:] - a[i, :-2] + a[i, 1:-1]",
    "ahead, and other rows": "a[i, 1:-1] += a[i - 1, :-2] + a[i, 2:] + a[i + 1, 1:-1]",
    "two ahead, twice": "a[i, :-3] = a[i, 2:-1] * a[i, 3:]",
    "ahead, by steps": "a[i, :-2:2] += a[i, 2::2]",
    "ahead, from the end": "a[i, -2::-1] += a[i, :0:-1]",
    "ahead, in the other direction": "a[i, :-1] += a[i, :0:-1]",
    "ahead, down a column": "a[:-1, i] += a[1:, i]",
    "behind, down a column": "a[1:, i] += a[:-1, i]",
    "another column": "a[:, i] += a[:, i + 1] - a[:, i - 1]",
    "a copy of the row before": "a[i] = a[i - 1]",
    "a copy of the column before": "a[:, i] = a[:, i - 1]",
    "the next row of a row": "a[i] += a[i + 1][::-1]",
    "an index from the end": "a[i - 2] += a[i - 1]",
    "the row itself, later": "a[i] = a[i + k]",
    "the row of another name": "a[i] += b[i, 1:]",
    "of another dtype": "a[i, :-1] += a[i, 1:].astype(np.float32)",
    "a part of it": "a[i, 3:9] += a[i, 4:10] - 1",
}


# spec: N7
@pytest.mark.parametrize("size", [3, 11, 40, 700])
@pytest.mark.parametrize("name", ROWS)
def test_vectors_of_one_array_in_a_loop(name, size):
    """Elements that lie ahead are read before they are written, whatever memory that needs."""
    f = function("None", ["a", "b", "k"], f"for i in range(1, len(a) - 1):\n    {ROWS[name]}")
    for columns, copies in ((size, True), (size + 1, False)):
        left = []
        for run in (f, f.py_func):
            whole = (np.arange(size * (columns + 1)) * 7 % 11 + 1.0).reshape(size, columns + 1)
            # A C-ordered array of its own, or a part of a wider one, which the other name is.
            a = whole[:, :columns].copy() if copies else whole[:, :columns]
            with np.errstate(all="ignore"):
                left.append([*map(np.asarray, outcome(run, [a, whole, 0]))])
        for have, want in zip(*left, strict=True):
            np.testing.assert_array_equal(have, want)


# spec: N7
@pytest.mark.usefixtures("threads_kept")
@pytest.mark.parametrize("size", [16_384, 16_386, 100_000])
@pytest.mark.parametrize("shift", [-3, -1, 1, 2, 300])
def test_long_vectors_that_lie_ahead_or_behind(size, shift):
    """So many that threads would share them: the same numbers, with any number of threads."""
    body = "for _ in range(n):\n    to += np.sqrt(read) * 0.5 - 1"
    f = function("None", ["to", "read", "n"], body)
    for threads in (1, 2, 7):
        weft.set_num_threads(threads)
        have, want = [np.arange(size + 400) % 97.0 + 1 for _ in range(2)]
        for whole, run in ((have, f), (want, f.py_func)):
            at = max(0, -shift)
            run(whole[at : at + size], whole[at + shift : at + shift + size], 2)
        np.testing.assert_array_equal(have, want)


# Loops that write rows or columns of their own of `a`, after they have read others or the same.
OWN = {
    "columns": "for j in range(1, a.shape[1]):\n    r[j] = np.dot(q, a[:, j]) % 5\n    a[:, j] -= q * r[j]",
    "an element": "for j in range(1, a.shape[1]):\n    a[2, j] = np.dot(q, a[:, j]) % 5",
    "rows": "w = np.ones((a.shape[1], a.shape[1]))\nfor i in range(len(a)):\n    a[i] = (a[i] @ w) % 7",
    "one by one": "for j in range(1, a.shape[1]):\n    a[:, j] += q",
}


# spec: N7
@pytest.mark.parametrize("strides", [(8, 8), (16, 8), (8, 16), (160, 8), (8, 160)])
@pytest.mark.parametrize("name", OWN)
def test_arrays_whose_elements_share_memory(name, strides):
    """What is another row or column may be the same memory."""
    f = function("None", ["a", "q", "r"], OWN[name])
    left = []
    for run in (f, f.py_func):
        room = np.arange(4000) % 5.0
        outcome(run, [np.lib.stride_tricks.as_strided(room, (20, 17), strides), np.arange(20) % 3 - 1.0, np.zeros(17)])
        left.append(room)
    np.testing.assert_array_equal(*left)
