"""Numbers that do not fit where they are put: NumPy casts some, and raises for others."""

import warnings

import pytest

import numpy as np
import weft


def mask(x, v):
    x[x > 2] = v
    return x


def mask_of_rows(x, v):
    rows = x.reshape(2, 2)
    rows[rows[:, 0] > 2] = v
    return x


def places(x, v):
    x[np.array([0, 1])] = v
    return x


def places_of_a_column(x, v):
    rows = x.reshape(2, 2)
    rows[np.array([0, 1]), 1] = v
    return x


def full(x, v):
    return np.full(4, v, dtype=x.dtype)


def full_like(x, v):
    return np.full_like(x, v)


def slices(x, v):
    x[1:] = v
    return x


def clip_below(x, v):
    return np.clip(x, -4, v)


def clip_above(x, v):
    return x.clip(v, 300)


def clip_one_side(x, v):
    return np.clip(x, None, v)


WAYS = (mask, mask_of_rows, places, places_of_a_column, full, full_like, slices, clip_below, clip_above, clip_one_side)
NUMBERS = [
    *(3, 300, -1, 70_000, -(2**40), True, 300.7, float("nan")),
    *(np.int64(300), np.int64(-1), np.uint64(2**63), np.uint8(200), np.int8(-3), np.True_),
    *(np.float64(300.7), np.float64("nan"), np.float32(3.5)),
    *(np.array(300), np.array(300.5), np.array([300, -7]), np.array([np.nan, 1.5])),
]


def outcome(f, x, v):
    """What comes out, or what is raised."""
    try:
        return f(x.copy(), v)
    except Exception as error:
        return error


# spec: N3
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_as_numpy_puts_them(way):
    compiled = weft.njit(way)
    for dtype in ("int8", "uint8", "int32", "uint64", "float32", "bool"):
        x = np.array([1, 5, 7, 2], dtype)
        for v in NUMBERS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = outcome(way, x, v)
            got = outcome(compiled, x, v)
            if isinstance(expected, Exception):
                # Errors of typing are also of the class that NumPy raises.
                assert isinstance(got, type(expected)), (dtype, v, got)
            else:
                assert not isinstance(got, Exception), (dtype, v, got)
                assert got.dtype == expected.dtype, (dtype, v)
                np.testing.assert_array_equal(got, expected, f"{dtype} {v!r}")
