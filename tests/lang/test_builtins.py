"""Builtin functions: sums, choices, powers and rounding as CPython computes them."""

import math
import random
import sys

import pytest
from test_math import check

import numpy as np
import weft

A = np.array([1.5, -2.0, 3.0])
I = np.array([3, 1, 2])
NOTHING = np.empty(0)


# spec: N2
def test_sum_any_all():
    check("def f(x):\n    return sum(x), sum(x, 10)\n", [(A,), (I,), ((1, 2, 3),), ((1.5, 2),)])
    check("def f(x):\n    return sum(v * 2 for v in x)\n", [(A,), (I,)])
    check("def f(x):\n    return any(x), all(x)\n", [(A,), (NOTHING,), ((0, 1),), ((1, 1),), ((),)])
    check("def f(x):\n    return any(v > 2 for v in x), all(v > -5 for v in x)\n", [(A,), (I,), (NOTHING,)])


# spec: N2
def test_divmod_and_pow():
    pairs = [(7, 2), (-7, 2), (7, -2), (7.5, 2), (-7.5, 2.0), (1, 0), (1.0, 0.0), (1, 0.0), (True, 2)]
    check("def f(a, b):\n    return divmod(a, b)\n", pairs)
    check("def f(a, b):\n    return pow(a, b)\n", [(2.0, 3.0), (2.0, 0.5), (0.0, -1.0)])
    bases, exponents = (0, 1, 2, -3, 7, 10**17, 2**62), (0, 1, 5, -1, 10**9)
    moduli = (1, 2, 7, -5, 10**9 + 7, 2**61 - 1, 0, -(2**62))
    check("def f(a, b, m):\n    return pow(a, b, m)\n", [(a, b, m) for a in bases for b in exponents for m in moduli])


# spec: N2
def test_round_to_an_int():
    numbers = [0.5, 1.5, 2.5, -0.5, -2.5, 1e15 + 0.5, 2, True, math.inf, math.nan, -7]
    check("def f(x):\n    return round(x)\n", [(x,) for x in numbers])


# spec: N2
def test_round_to_digits():
    rnd = random.Random(4)
    floats = [0.0, -0.0, 0.5, 1.5, 2.675, 1.005, -2.675, 1e22, 123456.789, math.inf, math.nan, 5e-324, 1e-5, 0.15, 0.25]
    floats += [rnd.uniform(-1, 1) * 10.0 ** rnd.randint(-8, 12) for _ in range(300)]
    floats += [round(rnd.uniform(0, 100), rnd.randint(1, 6)) for _ in range(300)]
    digits = [0, 1, 2, 3, 5, 8, -1, -2, -5, 15, 20, 22, -22, 400, -400]
    check("def f(x, n):\n    return round(x, n)\n", [(x, n) for x in floats for n in digits])
    ints = [0, 5, 15, 25, -15, -25, 149, 150, 12345678, 2**62, -(2**62), True]
    check("def f(x, n):\n    return round(x, n)\n", [(x, n) for x in ints for n in (0, 1, -1, -2, -3, -18, -25)])


# spec: N2
@pytest.mark.parametrize("x", [np.float64(2.55), np.float32(2.55), np.int64(5)])
def test_round_of_numpy_scalars(x):
    check("def f(x):\n    return round(x), round(x, 1)\n", [(x,)])


# spec: N2
def test_min_and_max():
    check("def f(a, b, c):\n    return min(a, b, c), max(a, b, c)\n", [(1, 2, 3), (2.5, 1.0, 3.0)])
    # The text for nothing is another one from CPython 3.12 on: V17.
    empty = [(NOTHING,)] if sys.version_info < (3, 12) else []
    check("def f(x):\n    return min(x), max(x)\n", [(A,), (I,), ((3, 1, 2),), *empty])
    check("def f(x):\n    return max(x, key=lambda v: -v), min(x, key=abs)\n", [(A,), (I,), ((3, -1, 2),)])
    check("def f(x):\n    return min(x, default=None)\n", [(A,), (NOTHING,)])


# spec: N2
def test_sums_of_floats_are_those_of_this_cpython():
    """From 3.12 on CPython keeps what additions of floats lose."""

    @weft.njit
    def of_list(x):
        return sum(x)

    @weft.njit
    def from_start(x, start):
        return sum(x, start)

    @weft.njit
    def generated(x, n):
        return sum(v / 3 for v in x for _ in range(n)), sum((v * 0.1 for v in x), 0.1)

    @weft.njit
    def of_tuple(a, b, c):
        return sum((a, b, c)), sum((a, b, c), 1), sum((1, 2, a))

    rng = np.random.default_rng(5)
    for count in (1, 2, 3, 10, 101):
        for scale in (1.0, 1e10):
            x = [float(v) for v in rng.normal(size=count) * scale]
            assert of_list(x) == sum(x)
            for start in (0, 7, 2**60 + 1, 0.1, -1e17):
                assert from_start(x, start) == sum(x, start)
            assert generated(x, 3) == generated.py_func(x, 3)
    for parts in ((0.1, 0.2, 0.3), (1e100, 1.0, -1e100), (1e308, 1e308, -1e308), (math.inf, 1.0, -math.inf)):
        assert repr(of_tuple(*parts)) == repr(of_tuple.py_func(*parts))
    strong = rng.normal(size=50)
    assert of_list(strong) == sum(strong) and from_start(strong, 0.5) == sum(strong, 0.5)
