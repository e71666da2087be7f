"""What conditions say of integers: an index behind a test that proves it is not checked; one that is off by one is."""

import pytest

import numpy as np
import weft


def insertion_sort(x):
    out = x.copy()
    for i in range(1, len(out)):
        key = out[i]
        j = i - 1
        while j >= 0 and out[j] > key:
            out[j + 1] = out[j]
            j -= 1
        out[j + 1] = key
    return out


def merge(a, b, out):
    i = 0
    j = 0
    for k in range(len(out)):
        if i < len(a) and (j >= len(b) or a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        elif j < len(b):
            out[k] = b[j]
            j += 1
    return i, j


def clamped(x, out):
    n = len(x)
    for i in range(n):
        out[i] = x[max(i - 1, 0)] + x[min(i + 1, n - 1)]


def counted(x, at, out):
    outside = 0
    for k in at:
        if 0 <= k < len(out):
            out[k] += 1.0
        elif not (k < -5 or k > 20):
            outside += 1
    return outside


def first_and_last(x):
    if len(x) == 0:
        return 0.0
    n = x.size
    return x[0] + x[n - 1]


def first_of_three(x):
    if len(x) < 3:
        return x[0]
    return x[0] + x[1] + x[2]


def first_of_two(x):
    if len(x) > 2:
        return x[0] + x[1] + x[2] + x[3]
    return 0.0


def left_early(x, n):
    total = 0.0
    for i in range(n):
        if i >= len(x):
            break
        total += x[i]
    return total


def early_return(x, k):
    if k < 0:
        return -1.0
    if k >= len(x):
        return -2.0
    return x[k]


def same_size(x, n):
    out = np.zeros(n)
    if n == len(x):
        for i in range(n):
            out[i] = x[i]
    return out


def down(x):
    total = 0.0
    i = len(x)
    while i > 0:
        i -= 1
        total = total * 2 + x[i]
    return total


def divided(values):
    total = 0
    for v in values:
        n = int(v)
        if n > 0:
            total += 100 // n
        if n != 0:
            total += 7 * (n + 1)
        if n > 2 and not n > 7:
            total += 100 % n
    return total


def convolved(signal, taps):
    n = len(signal) - len(taps) + 1
    out = np.zeros(n)
    for i in range(n):
        for k in range(len(taps)):
            out[i] += signal[i + k] * taps[len(taps) - 1 - k]
    return out


# Each is like one above, with a test that lets one index too many through.


def sort_too_far(x):
    out = x.copy()
    for i in range(1, len(out)):
        key = out[i]
        j = i
        while j >= 0 and out[j + 1] >= key:
            j -= 1
    return out


def one_beyond(x, k):
    if k <= len(x):
        return x[k]
    return 0.0


def one_before(x, k):
    if k >= -len(x) - 1 and k < len(x):
        return x[k]
    return 0.0


def either(x, k):
    if k >= 0 or k < len(x):
        return x[k]
    return 0.0


def after_join(x, k):
    if k < len(x):
        found = 1
    else:
        found = 0
    return x[k] + found


def grows(x):
    i = len(x) - 1
    total = 0.0
    while total < 100.0:
        total += x[i]
        i += 1
    return total


def rises_and_falls(x, n):
    i = len(x) - 2
    for k in range(n):
        if k % 2:
            i -= 1
        else:
            i += 1
        x[i] += 1.0
    return i


def in_a_nested_function(x, k):
    def at(i):
        if i < len(x):
            return x[i]
        return -1.0

    return at(k) + at(k + 1)


def changed_since(x, k):
    if 0 <= k < len(x):
        k += 1
        return x[k]
    return 0.0


def other_array(x, y, k):
    if 0 <= k < len(x):
        return y[k]
    return 0.0


def ends_beyond(x):
    i = 0
    while i < len(x):
        i += 1
    return x[i]


def outcome(function, arguments):
    arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        returned = function(*arguments)
    except (IndexError, OverflowError, ZeroDivisionError, ValueError) as error:
        returned = (type(error), str(error))
    return returned, arguments


def same(function, *arguments):
    want, wanted = outcome(function, arguments)
    have, left = outcome(weft.njit(function), arguments)
    np.testing.assert_equal(have, want)
    for a, b in zip(left, wanted):
        np.testing.assert_array_equal(a, b)


X = np.array([3.0, 1.0, 2.0, 5.0, 4.0])


# spec: N10
@pytest.mark.parametrize(
    "function, arguments",
    [
        (insertion_sort, (X,)),
        (merge, (X, X + 1, np.zeros(10))),
        (clamped, (X, np.zeros(5))),
        (left_early, (X, 9)),
        (early_return, (X, 2)),
        (same_size, (X, 5)),
        (down, (X,)),
        (convolved, (X, X[:2].copy())),
        (first_and_last, (X,)),
        (counted, (X, np.array([1, 4, -3, 9, 30]), np.zeros(5))),
    ],
)
def test_an_index_behind_its_condition_is_not_checked(function, arguments):
    same(function, *arguments)
    compiled = weft.njit(function)
    compiled(*arguments)
    assert "nt.index" not in compiled.inspect("ntensor")


# spec: N9
def test_a_divisor_that_is_not_zero_is_not_checked():
    for values in (np.array([0, 3, 5, 12, -4, 7]), np.zeros(2, dtype=np.int64)):
        same(divided, values)
    compiled = weft.njit(divided)
    compiled(np.array([1, 2]))
    assert "ZeroDivisionError" not in compiled.inspect("ntensor")


# spec: N10
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5])
def test_sizes(size):
    x = X[:size].copy()
    for function in (insertion_sort, down, sort_too_far, ends_beyond, first_and_last, first_of_three, first_of_two):
        same(function, x)
    if size:
        same(grows, x)
        same(clamped, x, np.zeros(size))
    for other in range(4):
        same(merge, x, X[:other].copy(), np.zeros(size + other))
        same(convolved, x, X[:other].copy())
        same(rises_and_falls, x, other)
        same(left_early, x, other)
        same(same_size, x, other)


# spec: N10
@pytest.mark.parametrize("k", [-7, -6, -5, -1, 0, 3, 4, 5, 6, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("function", [early_return, one_beyond, one_before, either, after_join, changed_since])
def test_an_index_that_a_condition_lets_through_is_checked(function, k):
    same(function, X, k)


def test_a_condition_of_itself():
    @weft.njit
    def f(p, k):
        if p or p:
            k += 1
        if not (p and p):
            k += 2
        return k

    assert f(True, 1) == 2 and f(False, 1) == 3


# spec: N10
@pytest.mark.parametrize("k", [-6, -1, 0, 3, 4, 5])
def test_conditions_of_other_arrays_and_functions(k):
    same(in_a_nested_function, X, k)
    same(other_array, X, X[:3].copy(), k)
    same(other_array, X[:3].copy(), X, k)
    same(counted, X, np.array([k, k + 1, 30]), np.zeros(5))


def after_a_call(x, k):
    def first(i):
        if i < 0:
            return 0.0
        return x[0]

    return first(k) + x[k]


def after_continue(x, k):
    for _ in range(1):
        if k < 0:
            continue
        x[0] += 1
    return x[k]


def after_break(x, k):
    n = 0
    while True:
        if k < 0:
            break
        n += 1
        if n > 2:
            break
    return x[k] + n


def after_except(x, k):
    try:
        if k < 0:
            raise ValueError("negative")
        y = x[0]
    except ValueError:
        y = 0.0
    return y + x[k]


# spec: N10
@pytest.mark.parametrize("function", [in_a_nested_function, after_a_call, after_continue, after_break, after_except])
def test_what_a_condition_says_ends_where_other_paths_come(function):
    for k in range(-7, 8):
        same(function, X, k)
