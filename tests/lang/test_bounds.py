"""Indices in loops: what is proved or tested before a loop is not checked in it, and nothing else changes."""

import pytest

import numpy as np
import weft


def shift(x, out, lo, hi, by):
    for i in range(lo, hi):
        out[i] = x[i + by] + 1.0


def window(x, out, width):
    total = 0.0
    for i in range(width, len(x)):
        total += x[i] - x[i - width]
        out[i - width + 1] = total
    return total


def rows(a, out, row, column):
    for j in range(a.shape[1]):
        out[j] = a[row, j] * a[j, column]


def sometimes(x, out, limit):
    count = 0
    for i in range(len(out)):
        if i < limit:
            out[i] = x[i + 1]
            count += 1
        else:
            out[i] = -1.0
    return count


def mirrored(x, out):
    n = len(x)
    for i in range(n):
        out[n - 1 - i] = x[i]


def table(a, b):
    found = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            found[i, j] = max(found[i - 1, j], found[i, j - 1]) + (a[i - 1] == b[j - 1])
    return found


def gathered(x, at, out):
    for i in range(len(at)):
        out[i] = x[at[i]]


def windows(image, kernel, out, more):
    """Indices below the difference of two sizes, plus indices below the second one."""
    for i in range(image.shape[0] - kernel.shape[0] + more):
        for j in range(image.shape[1] - kernel.shape[1] + 1):
            for k in range(kernel.shape[0]):
                for m in range(kernel.shape[1]):
                    out[i, j] += image[i + k, j + m] * kernel[k, m]


def crossed(image, kernel, out):
    """As `windows`, with the sizes of the other dimension."""
    for i in range(image.shape[0] - kernel.shape[1] + 1):
        for k in range(kernel.shape[0]):
            out[i, k] = image[i + k, kernel.shape[1] - 1 - k]


def reversed_window(x, taps, out):
    n = len(x) - len(taps) + 1
    for i in range(n):
        for k in range(len(taps)):
            out[i] += x[i + k] * taps[len(taps) - 1 - k]


def outcome(function, arguments):
    """What a call returns or raises, and what it leaves in its arrays."""
    arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        returned = function(*arguments)
    except (IndexError, OverflowError) as error:
        returned = (type(error), str(error))
    return returned, arguments


def same(function, *arguments):
    compiled = weft.njit(function)
    want, wanted = outcome(function, arguments)
    have, left = outcome(compiled, arguments)
    np.testing.assert_equal(have, want)
    for a, b in zip(left, wanted):
        np.testing.assert_array_equal(a, b)


X = np.arange(10.0)


# spec: N10
@pytest.mark.parametrize("size", [0, 1, 4, 10, 12])
@pytest.mark.parametrize("lo, hi", [(0, 10), (0, 4), (3, 9), (-3, 5), (-12, 2), (9, 3), (0, 11), (12, 14)])
@pytest.mark.parametrize("by", [0, 1, -1, 3, -5, 10, -10, 11])
def test_an_index_beyond_an_array_raises_in_the_turn_that_uses_it(size, lo, hi, by):
    same(shift, X, np.zeros(size), lo, hi, by)


# spec: N10
@pytest.mark.parametrize("by", [2**61, -(2**61), 2**63 - 1, -(2**63)])
def test_far_indices(by):
    compiled = weft.njit(shift)
    out = np.zeros(10)
    with pytest.raises(IndexError):
        compiled(X, out, 0, 10, by)
    assert not out.any()


# spec: N10
@pytest.mark.parametrize("width", [1, 3, 10, 0, -1, -3])
@pytest.mark.parametrize("size", [10, 7, 3])
def test_sums_of_indices(width, size):
    same(window, X, np.zeros(size), width)


# spec: N10
@pytest.mark.parametrize("row", [0, 3, -1, -4, 4, -5])
@pytest.mark.parametrize("column", [0, -4, 4])
@pytest.mark.parametrize("shape", [(4, 4), (4, 3), (3, 4), (4, 5)])
def test_indices_that_a_loop_does_not_change(shape, row, column):
    a = np.arange(float(shape[0] * shape[1])).reshape(shape)
    same(rows, a, np.zeros(4), row, column)


# spec: N10
@pytest.mark.parametrize("size", [5, 9, 10, 14])
@pytest.mark.parametrize("limit", [0, 4, 9, 10, 20])
def test_indices_behind_a_condition(size, limit):
    same(sometimes, X, np.zeros(size), limit)


# spec: N10
@pytest.mark.parametrize("size", [0, 1, 5, 9, 10, 11])
def test_indices_from_the_other_end(size):
    same(mirrored, X, np.zeros(size))


# spec: N10
def test_tables_with_a_border():
    rng = np.random.default_rng(3)
    for n, m in [(0, 0), (1, 0), (0, 3), (5, 7), (20, 20)]:
        same(table, rng.integers(0, 3, n), rng.integers(0, 3, m))


# spec: N10
@pytest.mark.parametrize("at", [[0, 9, 3], [0, -1, -10], [0, 10, 1], [0, -11, 1]])
def test_indices_from_an_array(at):
    same(gathered, X, np.array(at), np.zeros(3))


# spec: N10
def test_what_is_proved_is_not_checked():
    compiled = weft.njit(mirrored)
    compiled(X, np.zeros(11))
    assert compiled.inspect("ntensor").count("nt.index") == 1  # of `out`: it may be shorter than `x`
    compiled(X, np.zeros(10))
    assert "nt.index" not in compiled.inspect("ntensor")  # sizes that are equal are known to be
    compiled = weft.njit(table)
    compiled(np.arange(3), np.arange(4))
    assert "nt.index" not in compiled.inspect("ntensor")


def larger(x, k, v):
    if v > x[k]:
        x[k] = v
    return x[k]


def caught(x, k):
    try:
        v = x[k]
    except IndexError:
        v = -1.0
    return v + x[k]


def shorter(items, k):
    v = items[k]
    items.pop()
    return v + items[k]


# spec: N10
def test_an_index_is_looked_at_once():
    compiled = weft.njit(larger)
    for k in (0, 3, -1, -10, 9, 10, -11):
        for function in (larger, compiled):
            x = X.copy()
            if -10 <= k < 10:
                assert (function(x, k, 5.5), x[k]) == (max(X[k], 5.5),) * 2
            else:
                with pytest.raises(IndexError, match=f"index {k} is out of bounds for axis 0 with size 10"):
                    function(x, k, 5.5)
    assert compiled.inspect("fused").count("nt.index") == 1
    compiled = weft.njit(caught)
    assert compiled(X, -1) == caught(X, -1)
    with pytest.raises(IndexError):
        compiled(X, 10)
    compiled = weft.njit(shorter)
    assert compiled([1, 2, 3], 1) == 4
    with pytest.raises(IndexError):
        compiled([1, 2, 3], 2)


# spec: N10
def test_boundscheck_false_leaves_the_checks_out():
    for function in (shift, window, rows, sometimes, mirrored, gathered):
        checked, unchecked = weft.njit(function), weft.njit(boundscheck=False)(function)
        arguments = {
            shift: (X, np.zeros(10), -3, 5, 2),
            window: (X, np.zeros(10), 3),
            rows: (np.arange(16.0).reshape(4, 4), np.zeros(4), -1, 2),
            sometimes: (X, np.zeros(9), 5),
            mirrored: (X, np.zeros(11)),
            gathered: (X, np.array([0, -1, 9]), np.zeros(3)),
        }[function]
        want, wanted = outcome(function, arguments)
        for compiled in (checked, unchecked):
            have, left = outcome(compiled, arguments)
            np.testing.assert_equal(have, want)
            for a, b in zip(left, wanted):
                np.testing.assert_array_equal(a, b)
        assert "nt.index" in checked.inspect("ntensor")
        assert "nt.index" not in unchecked.inspect("ntensor")


# spec: N10
@pytest.mark.parametrize("more", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 2), (5, 4), (6, 7), (0, 2)])
def test_windows_that_slide_over_an_array(shape, more):
    rng = np.random.default_rng(1)
    image, kernel = rng.random((5, 6)), rng.random(shape)
    same(windows, image, kernel, np.zeros((6, 8)), more)
    same(crossed, image, kernel, np.zeros((6, 8)))
    same(reversed_window, image[0], kernel[:, 0], np.zeros(8))
    same(reversed_window, image[0], kernel[:, 0], np.zeros(2))
