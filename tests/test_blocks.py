"""Loops around array statements, which become loops over blocks of rows: as NumPy has them, for any number of threads.

Blocks are made where every statement keeps to its row; where one does not, the loop must stay as it was. What is
compared is bits: nothing may be computed in another order.
"""

import copy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import numpy as np
import weft
from support import function, loops_left

pytestmark = pytest.mark.usefixtures("threads_kept")

THREADS = (1, 2, 7)

# Every statement keeps to its row.
APART = {
    "a recurrence along the last axis": "for k in range(1, x.shape[1]):\n    x[:, k] = y[:, k] - 0.5 * x[:, k - 1]",
    "down": "for k in range(x.shape[1] - 2, -1, -1):\n    x[:, k] = y[:, k] - 0.5 * x[:, k + 1]",
    "every second": "for k in range(2, x.shape[1], 2):\n    x[:, k] -= x[:, k - 2] * y[:, k]",
    "the whole array, again and again": "for t in range(9):\n    x[:] = x * 0.9 + y",
    "by name": "for t in range(9):\n    x *= 0.9\n    x += y",
    "temporaries": (
        "for k in range(1, x.shape[1]):\n"
        "    t = y[:, k] * 2\n"
        "    x[:, k] = t / (1 + x[:, k - 1] ** 2)\n"
        "    x[:, k] = x[:, k] * t"
    ),
    "some of the rows": "for k in range(1, x.shape[1]):\n    x[2:-1, k] = x[2:-1, k - 1] + y[1:-2, k]",
    "rows from the end": "for k in range(1, x.shape[1]):\n    x[::-1, k] = x[::-1, k - 1] + y[:, k]",
    "every third row": "for k in range(1, x.shape[1]):\n    x[::3, k] = x[::3, k - 1] + y[::3, k]",
    "what is only read may be read anyhow": (
        "for k in range(1, x.shape[1]):\n    x[:, k] = x[:, k - 1] + y[::-1, k] * k"
    ),
    "a vector for all rows": "v = np.arange(x.shape[1]) * 0.5\nfor t in range(5):\n    x[:] = x * 0.5 + v",
    "neighbours in a row": "for t in range(5):\n    x[:, 1:] = x[:, :-1] * 0.5 + y[:, 1:]",
    "a mask": "for t in range(9):\n    m = np.abs(x) < 2\n    x[m] = x[m] ** 2 + y[m]",
    "a number where": (
        "n = np.zeros(x.shape, np.int64)\nfor t in range(9):\n    m = x < t\n    n[m] = t\n    x[m] += y[m]\nx += n"
    ),
    "a loop in a loop": (
        "for t in range(3):\n    for k in range(1, x.shape[1]):\n        x[:, k] += x[:, k - 1] * y[:, k]"
    ),
    "a branch": (
        "for k in range(1, x.shape[1]):\n"
        "    if k % 3 == 0:\n"
        "        x[:, k] = x[:, k - 1]\n"
        "    else:\n"
        "        x[:, k] = -y[:, k]"
    ),
    "a copy": "for k in range(1, x.shape[1]):\n    x[:, k] = y[:, k - 1]",
    "a number": "for k in range(1, x.shape[1]):\n    x[:, k] = k * 0.5",
    "the other axis": "for k in range(1, x.shape[0]):\n    x[k, :] = y[k, :] - 0.5 * x[k - 1, :]",
    "one loop after the other": (
        "for k in range(1, x.shape[1]):\n"
        "    x[:, k] += x[:, k - 1]\n"
        "for k in range(x.shape[1] - 2, -1, -1):\n"
        "    x[:, k] -= y[:, k + 1]"
    ),
    "two arrays": (
        "z = np.zeros_like(x)\n"
        "for k in range(1, x.shape[1]):\n"
        "    z[:, k] = x[:, k - 1] + z[:, k - 1]\n"
        "    x[:, k] = z[:, k] - y[:, k]"
    ),
}

# Rows need other rows.
TOGETHER = {
    "the row above": "for k in range(1, x.shape[1]):\n    x[1:, k] = x[:-1, k - 1] + y[1:, k]",
    "rows in turn": "for t in range(5):\n    x[1:-1, :] = 0.5 * (x[2:, :] + x[:-2, :])",
    "the other end": "for k in range(1, x.shape[1]):\n    x[:, k] = x[::-1, k - 1] + y[:, k]",
    "one row for all": "for k in range(min(x.shape)):\n    x[:, :] = np.minimum(x, x[k] + y)",
    "one element for all": "for k in range(1, min(x.shape)):\n    x[:, k] = x[:, k - 1] * x[k, k]",
    "rows that move": "for k in range(1, min(x.shape)):\n    x[k:, 0] = x[k:, 1] + x[k - 1, 0]",
    "columns are rows": "for k in range(3):\n    x[:5, :5] = x[:5, :5].T + y[:5, :5]",
    "a number of all rows": (
        "for k in range(1, x.shape[1] * min(x.shape[0], 1)):\n    x[:, k] = x[:, k - 1] + np.max(x[:, k])"
    ),
}

# Rows are apart if the arrays are, which is known when it runs.
UNKNOWN = {
    "a view made before": "z = x[::-1]\nfor k in range(1, x.shape[1]):\n    x[:, k] = z[:, k - 1] + y[:, k]",
}

COMPILED = {name: function("x, y", "xy", text) for name, text in (APART | TOGETHER | UNKNOWN).items()}
SHAPES = [(0, 5), (5, 0), (1, 1), (7, 9), (60, 40), (130, 700), (900, 12), (3000, 130)]


def check(f, x, y):
    """`f` of copies of what `x` and `y` are, as NumPy has it, on some numbers of threads."""
    with np.errstate(all="ignore"):
        expected = f.py_func(*copy.deepcopy((x, y)))
    for threads in THREADS:
        weft.set_num_threads(threads)
        got = f(*copy.deepcopy((x, y)))
        for ours, theirs in zip(got, expected):
            assert ours.dtype == theirs.dtype
            assert ours.tobytes() == theirs.tobytes() or np.array_equal(ours, theirs, equal_nan=True)


# spec: N7
@pytest.mark.parametrize("name", APART | TOGETHER | UNKNOWN)
def test_as_numpy_for_any_number_of_threads(name):
    rng = np.random.default_rng(len(name))
    for shape in SHAPES:
        if name in ("columns are rows", "rows in turn") and min(shape) < 5:
            continue
        check(COMPILED[name], rng.normal(size=shape), rng.normal(size=shape))


# spec: N6, N7
@pytest.mark.parametrize("name", APART)
def test_other_layouts(name):
    rng = np.random.default_rng(0)
    f = COMPILED[name]
    for x, y in [
        (np.asfortranarray(rng.normal(size=(90, 70))), rng.normal(size=(90, 70))),
        (rng.normal(size=(70, 90)).T, rng.normal(size=(70, 90)).T),
        (rng.normal(size=(180, 140))[::2, ::2], rng.normal(size=(90, 70))[:, ::-1]),
    ]:
        with np.errstate(all="ignore"):
            theirs, ours = x.copy(order="K"), x.copy(order="K")
            f.py_func(theirs, y)
        f(ours, y)
        assert np.array_equal(ours, theirs, equal_nan=True)


# spec: N7
@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("shift", [0, 1, -1, 5])
def test_arrays_that_share_memory(name, shift):
    rng = np.random.default_rng(1)
    f = COMPILED[name]
    memory = rng.uniform(0.5, 1.5, size=(140, 80))
    rows = slice(10, 130)
    moved = slice(10 + shift, 130 + shift)
    results = []
    for run in (f.py_func, f):
        own = memory.copy()
        with np.errstate(all="ignore"):
            run(own[rows], own[moved])
        results.append(own)
    assert np.array_equal(results[0], results[1], equal_nan=True)


# spec: N3, N7
def test_three_axes_and_types():
    body = (
        "for k in range(1, x.shape[2] - 1):\n"
        "    a = 0.25 * (y[:, :, k] + y[:, :, k + 1])\n"
        "    d = 1.0 / (2.0 - x[:, :, k - 1] * a)\n"
        "    x[:, :, k] = (x[:, :, k] + a) * d\n"
        "for k in range(x.shape[2] - 2, -1, -1):\n"
        "    x[:, :, k] -= x[:, :, k + 1] * y[:, :, k]"
    )
    f = function("x, y", "xy", body)
    f(np.ones((20, 20, 5)), np.ones((20, 20, 5)))
    assert f.inspect("fused").count("tensor<1x1xf64, C>") > 0, "elements go through the first loop one by one"
    rng = np.random.default_rng(2)
    for shape in [(60, 60, 40), (1, 50, 9), (50, 1, 9), (17, 3, 200), (4, 0, 5)]:
        for code in "fdD":
            check(f, rng.normal(size=shape).astype(code), rng.normal(size=shape).astype(code))
    body = "for k in range(1, x.shape[1]):\n    x[:, k] = x[:, k - 1] * 3 + y[:, k]"
    f = function("x, y", "xy", body)
    for code in "bHiLq":
        check(f, rng.integers(0, 99, (200, 90)).astype(code), rng.integers(0, 99, (200, 90)).astype(code))


# spec: N7
def test_blocks_are_made_where_rows_are_apart():
    x = np.ones((64, 64))
    for name, text in (APART | TOGETHER).items():
        f = function("x, y", "xy", text)
        f(x.copy(), x.copy())
        loops = 2 if name == "one loop after the other" else 1
        # Independent iterations are no loop any more.
        loops = min(loops, loops_left(f))
        assert f.inspect("fused").count("par.blocks") == (loops if name in APART else 0), name


# spec: N7
def test_neighbours_in_a_plane_keep_elements_together():
    body = (
        "for k in range(1, x.shape[2]):\n"
        "    t = y[:, 1:-1, k] + y[:, 1:-1, k - 1]\n"
        "    x[:, 1:-1, k] = x[:, 2:, k - 1] + x[:, :-2, k] + t"
    )
    f = function("x, y", "xy", body)
    rng = np.random.default_rng(4)
    for shape in [(20, 20, 9), (60, 50, 40)]:
        check(f, rng.normal(size=shape), rng.normal(size=shape))
    assert f.inspect("fused").count("par.blocks") == 1
    body = (
        "for k in range(1, x.shape[2]):\n"
        "    at = np.arange(x.shape[1]) + np.zeros(x.shape[:2])\n"
        "    x[:, :, k] = x[:, :, k - 1] + y[:, :, k] * y[:, :, k - 1] + at"
    )
    check(function("x, y", "xy", body), rng.normal(size=(20, 30, 9)), rng.normal(size=(20, 30, 9)))


STATEMENTS = [
    "x[{r}, k] = x[{r}, k - 1] * 0.5 + y[{s}, k]",
    "y[{r}, k] = x[{s}, k] - y[{r}, k - 1]",
    "x[{r}, k] += z[{s}, k - 1]",
    "z[{r}, :] = z[{r}, :] * 0.5 + x[{s}, :1]",
    "y[{r}, 1:] = y[{r}, :-1] + 0.25",
    "t = x[{r}, k] * y[{s}, k]\n    z[{r}, k] = t - t * z[{r}, k]",
]
ROWS = [":", "1:-1", "::-1", "2:", ":-2", "::2"]
SIZES = {":": 0, "1:-1": 2, "::-1": 0, "2:": 2, ":-2": 2, "::2": -1}


@st.composite
def loops(draw):
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        r = draw(st.sampled_from(ROWS))
        s = draw(st.sampled_from([s for s in ROWS if SIZES[s] == SIZES[r]]))
        lines.append(draw(st.sampled_from(STATEMENTS)).format(r=r, s=s))
    head = draw(st.sampled_from(["range(1, x.shape[1])", "range(x.shape[1] - 1, 0, -1)", "range(1, x.shape[1], 3)"]))
    return f"for k in {head}:\n" + "\n".join("    " + line for line in lines)


# spec: N7
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(loops(), st.sampled_from([(64, 33), (300, 20), (40, 300)]), st.booleans())
def test_random_loops(text, shape, shared):
    f = function("x, y, z", "xyz", text)
    rng = np.random.default_rng(3)
    x, y, z = (rng.normal(size=shape) for _ in range(3))
    if shared:
        z = x
    theirs, ours = copy.deepcopy((x, y, z)), copy.deepcopy((x, y, z))
    with np.errstate(all="ignore"):
        f.py_func(*theirs)
    weft.set_num_threads(2)
    f(*ours)
    for a, b in zip(ours, theirs):
        assert np.array_equal(a, b, equal_nan=True), text


# spec: N6, G3
def test_a_stencil_reads_neighbours_as_vectors():
    """What is constant outside a parallel loop is so inside: a step that is loaded would be one to anywhere."""
    f = function("y", "xy", "y[1:-1, 1:-1] = x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1]")
    f(np.ones((50, 50)), np.ones((50, 50)))
    assert "items at a time" in str(f.report())
    assert "gather" not in f.inspect("asm") and "scatter" not in f.inspect("asm")
