"""`njit(debug=True)`: stores of a `prange` that are taken not to meet are checked."""

import re

import pytest

import numpy as np
import weft
from weft import prange

THREADS = (1, 2, 7)


pytestmark = pytest.mark.usefixtures("threads_kept")


def scatter(y, p, x):
    for i in prange(len(p)):
        y[p[i]] = x[i]


def scatter_rows(y, p, q, x):
    for i in prange(len(p)):
        row = y[p[i]]
        row[q[i]] = x[i]
        y[p[i], q[i]] = x[i] + 1


def scatter_part(y, p, x):
    v = y[2:]
    for i in prange(len(p)):
        v[p[i]] = x[i]


# spec: N14
def test_what_does_not_meet_is_as_before():
    p, x = np.random.default_rng(1).permutation(5000), np.arange(5000.0)
    q = np.arange(5000) % 7
    for threads in THREADS:
        weft.set_num_threads(threads)
        for f, shape, args in [(scatter, 5000, ()), (scatter_rows, (5000, 7), (q,)), (scatter_part, 5002, ())]:
            got, wanted = np.zeros(shape), np.zeros(shape)
            weft.njit(debug=True)(f)(got, p, *args, x)
            f(wanted, p, *args, x)
            assert got.tobytes() == wanted.tobytes()


# spec: N14
def test_both_iterations_are_named():
    p = np.random.default_rng(1).permutation(5000)
    p[700] = p[3100]
    f = weft.njit(debug=True)(scatter)
    for threads in THREADS:
        weft.set_num_threads(threads)
        with pytest.raises(RuntimeError) as raised:
            f(np.zeros(5000), p, np.zeros(5000))
        first, second, at = re.fullmatch(
            r"iterations (\d+) and (\d+) of a prange write the same element, \((\d+),\) of `y`", str(raised.value)
        ).groups()
        assert {int(first), int(second)} == {700, 3100} and int(at) == p[700]
    # Without it, the program's promise is taken.
    weft.njit(scatter)(np.zeros(5000), p, np.zeros(5000))


# spec: N14
def test_parts_too():
    p, q = np.arange(300), np.zeros(300, dtype=int)
    p[20] = 21
    with pytest.raises(RuntimeError, match=r"iterations (20 and 21|21 and 20) .* of a part of `y`"):
        weft.njit(debug=True)(scatter_rows)(np.zeros((300, 2)), p, q, np.zeros(300))
    with pytest.raises(RuntimeError, match=r"iterations (20 and 21|21 and 20) "):
        weft.njit(debug=True)(scatter_part)(np.zeros(302), p, np.zeros(300))
