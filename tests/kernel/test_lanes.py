"""Sizes and addresses around which a device changes how many elements a work-item takes."""

import pytest

import numpy as np
import weft

SIZES = [1, 2, 3, 4, 5, 15, 16, 17, 255, 1023, 1025, 4097, (1 << 16) + 3]
# Where the arrays begin in one allocation, in elements: together on a boundary, together off it, apart.
OFFSETS = [(0, 0, 0), (1, 1, 1), (1, 2, 0), (0, 4, 1)]
DTYPES = ["float32", "float64", "int32", "int64", "bool"]


@weft.kernel
def two(c, d, a, b):
    i = weft.get_global_id(0)
    c[i] = a[i] * b[i] + a[i]
    d[i] = c[i] < b[i]


@weft.kernel
def neighbours(c, a, b):
    i = weft.get_global_id(0)
    c[weft.get_global_size(0) - 1 - i] = a[i] * a[i + 1] + b[0]


@weft.njit
def whole(a, b):
    return a * b + a


def values(n: int, dtype: str) -> np.ndarray:
    return (np.random.default_rng(n).integers(0, 40, n) - 20).astype(dtype)


# spec: A6
@pytest.mark.parametrize("dtype", DTYPES)
def test_any_size_at_any_address(in_context, dtype):
    for n in SIZES:
        for at_a, at_b, at_c in OFFSETS:
            held = values(n + 8, dtype)
            a, b = held[at_a : at_a + n], held[at_b : at_b + n]
            out, less = values(n + 8, dtype), values(n + 8, "bool")
            expected, expected_less = out.copy(), less.copy()
            expected[at_c : at_c + n] = a * b + a
            expected_less[at_a : at_a + n] = expected[at_c : at_c + n] < b
            two[n](out[at_c : at_c + n], less[at_a : at_a + n], a, b)
            assert np.array_equal(out, expected), (n, at_a, at_b, at_c)
            assert np.array_equal(less, expected_less), (n, at_a, at_b, at_c)
            assert np.array_equal(whole(a, b), a * b + a), (n, at_a, at_b)


# spec: A6
@pytest.mark.parametrize("dtype", DTYPES)
def test_accesses_beside_the_own_element(in_context, dtype):
    for n in SIZES:
        held = values(n + 1, dtype)
        out = values(n + 2, dtype)
        expected = out.copy()
        expected[1 : n + 1] = (held[:n] * held[1:] + held[0])[::-1]
        neighbours[n](out[1 : n + 1], held, held)
        assert np.array_equal(out, expected), n


# spec: A6
def test_in_place(in_context):
    for n in SIZES:
        a = values(n, "float32")
        expected = a * a + a
        two[n](a, np.empty(n, "bool"), a, a)
        assert np.array_equal(a, expected), n
