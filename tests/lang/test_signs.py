"""`math.sqrt` of what is never below zero is not checked; of everything else it raises as Python's does."""

import math

import pytest

import numpy as np
import weft


def norm(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return math.sqrt(total)


def distances(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total = 0.0
            for k in range(a.shape[1]):
                d = a[i, k] - b[j, k]
                total += d * d
            out[i, j] = math.sqrt(total)
    return out


def chosen(x):
    total = 0.0
    for v in x:
        if v < 0.0:
            total += abs(v)
        else:
            total = max(total, v * v) + np.sqrt(abs(v))
    return math.sqrt(total * 0.5) + math.sqrt(float(x.size))


UNCHECKED = [norm, chosen]


def below_at_first(x):
    total = -1.0
    for i in range(x.size):
        total += x[i] * x[i]
    return math.sqrt(total)


def falls(x):
    total = 0.0
    for i in range(x.size):
        total -= x[i] * x[i]
    return math.sqrt(total)


def two_numbers(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[x.size - 1 - i]
    return math.sqrt(total)


def written_between(x):
    total = 0.0
    for i in range(x.size):
        a = x[i]
        x[i] = -a
        total += a * x[i]
    return math.sqrt(total)


def breaks(x):
    total = 0.0
    for i in range(x.size):
        if x[i] == 2.0:
            total = -total
            break
        total += x[i] * x[i]
    return math.sqrt(total)


def on_the_other_way(x):
    total = 0.0
    for v in x:
        total = v if v > 2.0 or v == -5.0 else total + v * v
    return math.sqrt(total)


def by_negative_zero(x):
    total = -0.0
    for v in x:
        total += v * v
    return math.sqrt(1.0 / total) if total == 0.0 and x.size == 7 else math.sqrt(total)


def smallest(x):
    total = 0.0
    for v in x:
        total = min(total, v)
    return math.sqrt(total)


def of_integers(n):
    total = 0
    for _ in range(3):
        total = abs(total - n)
    return math.sqrt(float(total - n))


CHECKED = [below_at_first, falls, two_numbers, written_between, breaks, on_the_other_way, smallest]
INPUTS = [
    [],
    [0.0],
    [-0.0, 0.0],
    [1.0, -2.0],
    [1.0, 2.0, 3.0],
    [1.0, -5.0],
    [math.nan, 1.0],
    [math.inf, -1.0],
    [-math.inf, 3.0],
    [1e200, -1e200],
    [0.25],
]


def outcome(function, *arguments):
    try:
        return repr(function(*[a.copy() if isinstance(a, np.ndarray) else a for a in arguments]))
    except (ValueError, ZeroDivisionError, OverflowError) as e:
        return f"{type(e).__name__}: {e}"


# spec: N2
@pytest.mark.parametrize("values", INPUTS, ids=repr)
@pytest.mark.parametrize("function", [*UNCHECKED, *CHECKED, by_negative_zero], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_roots_raise_where_python_s_do(function, values):
    x = np.array(values)
    assert outcome(weft.njit(function), x) == outcome(function, x)


# spec: N2
def test_roots_of_integers_raise_where_python_s_do():
    compiled = weft.njit(of_integers)
    for n in (0, 1, 5, -3):
        assert outcome(compiled, n) == outcome(of_integers, n)


# spec: N2
def test_what_is_never_below_zero_is_not_looked_at():
    for function in UNCHECKED:
        compiled = weft.njit(function)
        compiled(np.ones(3))
        assert "raise" not in compiled.inspect("fused")
    for function in CHECKED:
        compiled = weft.njit(function)
        outcome(compiled, np.ones(3))
        assert "raise" in compiled.inspect("fused"), function.__name__


# spec: N2
def test_distances_have_no_check_and_the_same_bits():
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    compiled = weft.njit(distances)
    np.testing.assert_array_equal(compiled(a, b, np.zeros((5, 4))), distances(a, b, np.zeros((5, 4))))
    assert "raise" not in compiled.inspect("fused")
