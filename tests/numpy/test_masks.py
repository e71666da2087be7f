"""Elements where a mask of the whole array is true: read, written, and computed with."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_basic_indexing import check

import numpy as np
import weft


def step(z, c, h):
    m = abs(z) < h
    z[m] = z[m] * z[m] + c[m]
    return m


def numbers(x, v):
    x[x > 1] = v
    y = x[x < 0.5]
    return y, y.sum(), y.mean() if y.size else v


def changed_between(x):
    m = x > 0
    y = x[m] * 2
    m[0] = not m[0]
    z = x[m] + 1
    x[m] = z * z
    return y, z, m


def changed_in_a_loop(x):
    m = x > 0
    total = x[m].sum()
    for k in range(3):
        x[m] = x[m] - 1
        m[k] = True
        total += x[m].sum()
    return total, m


def itself(x):
    x[x] = False
    return x


def overlapping(x, m):
    """The mask is a view of what is written."""
    flags = m[1:]
    m[:-1][flags] = False
    x[m] = x[m][::-1]
    return x, m


def conversions(x, m):
    x[m] = 2.75
    y = x[m]
    y[:] = 9
    return y


def many_readers(x, y, m):
    x[m] += y[m] * 2 - x[m]
    y[m] = x[m]
    return x[m], y[~m]


RNG = np.random.default_rng(3)
CASES = [
    (step, (RNG.random((4, 5)) * 4, RNG.random((4, 5)), 2.0)),
    (step, ((RNG.random((40, 5)) * 4).astype(np.complex64), RNG.random((40, 5)).astype(np.complex64), 2.0)),
    (numbers, (RNG.random((3, 7)) * 3, 9)),
    (numbers, (RNG.random((300, 701)) * 3, 9.5)),
    (numbers, (RNG.random((0, 7)), 9.0)),
    (changed_between, (RNG.standard_normal(20),)),
    (changed_in_a_loop, (RNG.integers(-5, 5, 30),)),
    (itself, (RNG.random(9) > 0.5,)),
    (overlapping, (np.arange(30), RNG.random(30) > 0.5)),
    (conversions, (np.arange(6, dtype=np.int8), RNG.random(6) > 0.5)),
    (conversions, (np.arange(6.0).reshape(2, 3), np.zeros((2, 3), bool))),
    (many_readers, (np.arange(40).reshape(5, 8), np.arange(40).reshape(5, 8) * 3, RNG.random((5, 8)) > 0.5)),
    # Neither is C-ordered, or the mask is of the first axis alone.
    (many_readers, (np.arange(40).reshape(5, 8).T, np.arange(40).reshape(8, 5), RNG.random((8, 5)) > 0.5)),
    (many_readers, (np.arange(40).reshape(5, 8), np.arange(40).reshape(5, 8) + 1, RNG.random(5) > 0.5)),
]


# spec: N3, N7
@pytest.mark.parametrize("function, arguments", CASES)
def test_masks(function, arguments):
    ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    got, wanted = weft.njit(function)(*ours), function(*theirs)
    got = got if isinstance(got, tuple) else (got,)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for a, b in zip((*got, *ours), (*wanted, *theirs)):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-6 if np.asarray(a).dtype == np.complex64 else 1e-14)


# spec: N7
def test_what_one_mask_chose_is_one_loop():
    compiled = weft.njit(step)
    compiled(np.ones((4, 5)), np.ones((4, 5)), 2.0)
    assert "nt.compress" in compiled.inspect("ntensor")
    assert "nt.compress" not in compiled.inspect("fused")
    compiled = weft.njit(changed_between)
    compiled(np.ones(5))
    assert "nt.compress" in compiled.inspect("fused")


@weft.njit
def assign(x, m, v):
    x[m] = v


# spec: N3
@pytest.mark.parametrize(
    "x, m, v",
    [
        (np.zeros(4, np.uint8), np.zeros(4, bool), 300),
        (np.zeros(4), np.array([1, 0, 1, 0], bool), np.array([1.0, 2.0, 3.0])),
        (np.zeros(4), np.zeros(4, bool), np.array([1.0, 2.0])),
        (np.zeros(4), np.ones(3, bool), 1.0),
    ],
)
def test_what_cannot_be_assigned(x, m, v):
    with pytest.raises((ValueError, OverflowError, IndexError)) as wanted:
        assign.py_func(x.copy(), m, v)
    with pytest.raises(wanted.type) as found:
        assign(x, m, v)
    assert str(found.value) == str(wanted.value)
    assert not x.any()


@weft.njit
def several(x, y, m):
    x[m] = x[m] * 3 - y[m]
    picked = y[m]
    y[m] = 7
    return picked


# spec: N3
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 70), st.integers(1, 5), st.floats(0, 1), st.integers(0, 2**32), st.sampled_from("bhiqfdD?"))
def test_any_density_and_size(n, m, density, seed, code):
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(0, 9, (n, m)).astype(code) for _ in range(2))
    mask = rng.random((n, m)) < density
    if code == "?":
        x, y = x.astype(np.uint8), y.astype(np.uint8)
    a, b = x.copy(), y.copy()
    got, wanted = several(x, y, mask), several.py_func(a, b, mask)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(x, a)
    np.testing.assert_array_equal(y, b)


# spec: N3
@pytest.mark.parametrize("n, m", [(0, 0), (5, 5), (70, 70), (5, 0), (5, 4), (5, 6), (0, 3), (1, 70), (70, 1)])
def test_a_line_and_a_mask_whose_sizes_are_only_known_later(n, m):
    x, mask = np.arange(100.0), np.arange(100) % 3 != 1
    check("def f(x, mask, n, m):\n    return x[:n][mask[:m]]\n", x, mask, n, m)
    check("def f(x, mask, n, m):\n    x[:n][mask[:m]] = 7\n    return x\n", x, mask, n, m)
    source = "def f(x, mask, n, m):\n    y = x[1 : n + 1]\n    y[mask[:m]] = y[mask[:m]] ** 2 + 1\n    return x\n"
    check(source, x, mask, n, m)


# spec: N3
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_masks_of_many(threads, threads_kept):
    weft.set_num_threads(threads)
    rng = np.random.default_rng(8)
    source = "def f(x, y, m):\n    return x[m], y[m], x[m].sum(), np.count_nonzero(m)\n"
    for n in (16383, 16384, 16385, 32769, 200_000):
        x, y = rng.integers(0, 99, n).astype(np.float64), rng.integers(0, 99, n).astype(np.int16) * (1 + 1j)
        for density in (0, 0.001, 0.5, 1):
            check(source, x, y, rng.random(n) < density)
    rows = x.reshape(500, 400)
    check("def f(x):\n    x[x > 50] = x[x > 50] - 3\n    return x, x[x < 3]\n", rows)


# spec: N3
def test_fewer_in_every_turn():
    source = """def f(z, c, at, turns):
    gone = np.zeros(z.size, np.int64)
    for k in range(turns):
        z = (z * 7 + c) % 1000
        out = z > 900
        gone[at[out]] = k + 1
        out = np.logical_not(out)
        z, c, at = z[out], c[out], at[out]
    return gone, z, at
"""
    check(source, np.arange(1200), np.arange(1200) * 3, np.arange(1200), 20)


# spec: N3
@pytest.mark.parametrize(
    "body",
    [
        "x[x > 0] = x[x > 0] ** -1.5",
        "x[x > 0] = 1.0 / x[x > 0]",
        "x[(x > 0) & (y < 1)] = x[(x > 0) & (y < 1)] - y[(x > 0) & (y < 1)]",
        # What the mask is computed from is written between.
        "v = x[x > 0]\n    x[0] = -x[0]\n    x[x > 0] = v[0]\n    y[x > 0] = x[x > 0] * 2",
        "m = x > 0\n    v = x[m] * 3\n    y[:] = 0\n    y[x > 0] = v",
        "a = y < 1\n    x[:1] = 5\n    b = (x > 0) & a\n    y[1] = 9\n    y[(x > 0) & (y < 1)] = 3\n    x[b] = 4",
        # A mask that is changed is not what it was computed as.
        "m = x > 0\n    m[1] = not m[1]\n    y[x > 0] = 1\n    x[m] = x[m] + 1",
        "m = x > 0\n    k = x > 0\n    np.logical_not(k, k)\n    y[k] = x[k]\n    x[m] = y[m]",
        # Other numbers, other comparisons, other arrays.
        "y[x > 0] = x[x > 0]\n    y[x > 1] = 7\n    y[x >= 0] = x[x >= 0]\n    x[y > 0] = y[y > 0]",
    ],
)
def test_a_mask_that_is_written_twice(body):
    rng = np.random.default_rng(3)
    x, y = (np.round(rng.normal(size=60), 1) for _ in range(2))
    check(f"def f(x, y):\n    {body}\n    return x, y\n", x, y)
    in_rows = body.replace("[0]", "[0, 0]").replace("[1]", "[1, 0]").replace("v[0, 0]", "v[0]")
    check(f"def f(x, y):\n    {in_rows}\n    return x, y\n", x.reshape(12, 5), y.reshape(12, 5))


# spec: N3
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_how_many_are_true(threads, threads_kept):
    weft.set_num_threads(threads)
    rng = np.random.default_rng(4)
    for expression in (
        "np.count_nonzero(x > 0)", "(x > 0).sum()", "np.sum((x > 0) & (y < 1))", "np.sum(x > 0, axis=0)",
        "np.count_nonzero(x)", "(x > 0).sum(axis=-1)", "(x > y).mean()", "(x > 5.5).sum(dtype=np.int16)",
        "np.sum(np.isnan(x))", "(x[::2] > 0).sum()", "(x.T > 0).sum()",
    ):  # fmt: skip
        for shape in ((0,), (1,), (7,), (40_000,), (3, 5), (200, 300), (4, 5, 6)):
            x, y = np.round(rng.normal(size=shape), 1), rng.normal(size=shape)
            check(f"def f(x, y):\n    return {expression}\n", x, y)
