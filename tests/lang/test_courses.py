"""Integers that loops carry: where they can get decides which checks are left out, and never what comes out."""

import itertools

import pytest

import numpy as np
import weft

MOST, LEAST = 2**63 - 1, -(2**63)


def halves(xs, x):
    low, high = 0, len(xs) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if xs[middle] <= x:
            low = middle
        else:
            high = middle
    return low, high


def halves_by_shift(xs, x):
    low, high = 0, len(xs)
    while low < high:
        middle = (low + high) >> 1
        if xs[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


def longest_run(xs):
    run = best = 0
    for x in xs:
        run = run + 1 if x > 0 else 0
        best = max(best, run)
    return best


def turns_round(n, size):
    at = total = 0
    for _ in range(n):
        at += 1
        if at == size:
            at = 0
        total += at
    return total


UNCHECKED = [
    (halves, (np.arange(10.0), 3.5)),
    (halves_by_shift, (np.arange(10.0), 3.5)),
    (longest_run, (np.array([1, 2, 0, 3, 4, 5, -1, 2]),)),
]


def middle_of(low, high, turns):
    for _ in range(turns):
        middle = (low + high) // 2
        if middle % 2:
            low = middle
        else:
            high = middle
    return low, high


def set_high(n, limit, high):
    at = 0
    for k in range(n):
        at = high if k == limit else at + 1
    return at


def set_low(n, limit):
    at = 0
    for k in range(n):
        at = -9223372036854775806 if k == limit else at - 1
    return at


def set_near_the_end(n, limit):
    at = 0
    for k in range(n):
        if k == limit:
            at = 9223372036854775805
        at += 1
    return at


def set_outside(n, inner, high):
    total = 0
    for k in range(n):
        at = high if k == 2 else 0
        for _ in range(inner):
            at = at + 1 if at else 1
        total = at
    return total


def set_while(n, high):
    at = k = 0
    while k < n:
        k += 1
        if k == 3:
            at = high
            continue
        at = at + 2
    return at


def swapped(a, b, n):
    for _ in range(n):
        a, b = b, a + 1
    return a, b


CHECKED = [
    (middle_of, [(0, 100, 7), (MOST, MOST - 2, 1), (MOST - 1, 2, 3), (LEAST, LEAST + 5, 2), (LEAST, MOST, 5)]),
    (set_high, [(5, 2, 7), (5, 2, MOST), (5, 4, MOST), (5, 2, MOST - 1), (5, 2, MOST - 2), (0, 0, MOST)]),
    (set_low, [(5, 2), (3, 2), (6, 2), (4, 2), (5, 9)]),
    (set_near_the_end, [(5, 2), (3, 2), (4, 2), (5, 9)]),
    (set_outside, [(4, 3, 7), (3, 3, MOST - 3), (3, 3, MOST - 2), (4, 3, MOST - 2), (3, 0, MOST)]),
    (set_while, [(6, 7), (6, MOST - 6), (6, MOST - 5), (3, MOST), (4, MOST)]),
    (swapped, [(1, 2, 5), (MOST, 0, 1), (MOST, 0, 2), (0, MOST, 1), (0, MOST - 1, 3)]),
]


def outcome(function, arguments):
    """What comes out, as tuples of Python ints; an int that does not fit in 64 bits is an OverflowError."""
    try:
        found = function(*arguments)
    except OverflowError:
        return OverflowError
    found = [int(x) for x in (found if isinstance(found, tuple) else (found,))]
    return found if all(LEAST <= x <= MOST for x in found) else OverflowError


class Checked(int):
    """An int of Python that refuses, as compiled code does, sums and differences beyond 64 bits."""

    @staticmethod
    def made(x):
        if not LEAST <= x <= MOST:
            raise OverflowError
        return Checked(x)

    def __add__(self, other):
        return Checked.made(int(self) + int(other))

    __radd__ = __add__

    def __sub__(self, other):
        return Checked.made(int(self) - int(other))

    def __floordiv__(self, other):
        return Checked.made(int(self) // int(other))


# spec: N9
@pytest.mark.parametrize(("function", "arguments"), [(f, a) for f, all_of in CHECKED for a in all_of], ids=repr)
def test_what_leaves_64_bits_is_seen(function, arguments):
    want = outcome(function, [Checked(a) for a in arguments])
    assert outcome(weft.njit(function), arguments) == want


# spec: N9
@pytest.mark.parametrize(("function", "arguments"), UNCHECKED, ids=lambda x: getattr(x, "__name__", ""))
def test_what_cannot_leave_64_bits_is_not_checked(function, arguments):
    compiled = weft.njit(function)
    assert compiled(*arguments) == function(*arguments)
    assert "arith.checked" not in compiled.inspect("ntensor")


# spec: N2
def test_halving_finds_what_python_finds():
    compiled, shifted = weft.njit(halves), weft.njit(halves_by_shift)
    for n, x in itertools.product([0, 1, 2, 3, 7, 64], [-1.0, 0.0, 2.5, 6.0, 63.0, 99.0]):
        xs = np.arange(float(n))
        assert compiled(xs, x) == halves(xs, x)
        assert shifted(xs, x) == halves_by_shift(xs, x)


# spec: N2
def test_rings_come_round():
    compiled = weft.njit(turns_round)
    for n, size in itertools.product([0, 1, 5, 100], [1, 2, 7, 1000]):
        assert compiled(n, size) == turns_round(n, size)


LOOKED_UP = """
def looked_up():
    x = np.arange({size})
    found = 0
    for a in range({low}, {high}):
        for b in range({by_low}, {by_high}):
            found += x[a {op} b]
    return found
"""


def looked_up(**numbers):
    source = LOOKED_UP.format(**numbers)
    space = {"np": np}
    exec(source, space)
    return space["looked_up"], weft.njit(space["looked_up"], source=source)


# spec: N2, N10
@pytest.mark.parametrize("op", ["//", "%", ">>"])
@pytest.mark.parametrize("by", [(1, 2), (1, 9), (2, 5), (3, 70)])
@pytest.mark.parametrize("of", [(-9, 3), (-9, -2), (0, 30), (5, 39), (-40, 40)])
def test_ranges_of_quotients_hold_what_comes_out(op, by, of):
    """In arrays that have just the elements that are asked for, and in those that have one less."""
    results = [eval(f"{a} {op} {b}") for a in range(*of) for b in range(*by)]
    enough = max(max(results) + 1, -min(results))
    for size in (enough, enough - 1):
        function, compiled = looked_up(size=size, op=op, low=of[0], high=of[1], by_low=by[0], by_high=by[1])
        try:
            want = function()
        except IndexError as e:
            with pytest.raises(IndexError, match=str(e)):
                compiled()
        else:
            assert compiled() == want
