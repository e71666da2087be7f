"""`prange` over iterations of which nobody can say before how long they take: it is found out by running them."""

import os
from pathlib import Path

import pytest

import numpy as np
import weft
from support import function

pytestmark = pytest.mark.usefixtures("threads_kept")

NAMES = ["x", "out"]
SUMS = """for t in prange(out.size):
    s = 0.0
    for i in range(x.size):
        s += x[i] * (i % (t + 2))
    out[t] = s"""


def seconds_of_workers():
    """Processor time of the threads of the pool."""
    total = 0.0
    for task in Path("/proc/self/task").iterdir():
        name, _, rest = (task / "stat").read_text().partition("(")[2].rpartition(")")
        if name.startswith("weft-"):
            total += int(rest.split()[11]) / os.sysconf("SC_CLK_TCK")
    return total


# spec: N14
@pytest.mark.parametrize("before", [0, 10], ids=["at once", "after short ones"])
def test_few_long_iterations_are_shared(before):
    """Four iterations, each of seconds, use two threads, also if they were short the last times."""
    weft.set_num_threads(2)
    f = function("None", NAMES, SUMS)
    out = np.zeros(4)
    for _ in range(before):
        f(np.ones(3), out)
    x = np.ones(20_000_000)
    start = seconds_of_workers()
    f(x, out)
    assert seconds_of_workers() - start > 0.02
    np.testing.assert_array_equal(out, [(np.arange(x.size) % (t + 2)).sum() for t in range(4)])


# spec: N14
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_sizes_change(threads):
    """Results do not depend on how long the same loop took before."""
    weft.set_num_threads(threads)
    f = function("None", NAMES, SUMS)
    for n in (3, 3, 100_000, 5, 0, 20_000, 1, 300_000, 2):
        for turns in (0, 1, 2, 3, 33):
            have, want, x = np.full(turns, -1.0), np.full(turns, -1.0), np.arange(n) % 5.0
            f(x, have)
            want[:] = [(x * (np.arange(n) % (t + 2))).sum() for t in range(turns)]
            np.testing.assert_array_equal(have, want)


# spec: N12, N14
@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("n", [3, 50_000])
def test_the_first_exception_is_raised(threads, n):
    """That of the lowest iteration, whether the others ran at once or not."""
    weft.set_num_threads(threads)
    raises = "\n    if t == first or t == last:\n        raise ValueError(f'{t}')"
    f = function("None", [*NAMES, "first", "last"], SUMS + raises)
    x, out = np.ones(n), np.zeros(40)
    for first in (0, 1, 5, 39):
        for last in (first, 39):
            f(x, out, -1, -1)  # how long it takes is known then
            with pytest.raises(ValueError, match=f"^{first}$"):
                f(x, out, first, last)


# spec: G3
def test_the_report_says_so():
    """What decides is said."""
    f = function("None", NAMES, SUMS)
    f(np.ones(3), np.zeros(2))
    assert "iterations on several threads, unless they took little the last time" in str(f.report())
