"""Elements where a mask of the whole array is true: read, written, and computed with."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


# spec: N3 N7
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
