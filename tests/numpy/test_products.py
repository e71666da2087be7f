"""Products of matrices and vectors: NumPy's values, dtypes, shapes and exceptions."""

import pytest
from test_basic_indexing import check, jit

import numpy as np
import weft
from support import same

RNG = np.random.default_rng(7)
DTYPES = [
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128,
]  # fmt: skip
AT = "def f(a, b):\n    return a @ b\n"


def numbers(shape, dtype):
    """Small whole numbers: their products are exact in every order."""
    whole = RNG.integers(-3 if np.dtype(dtype).kind in "ifc" else 0, 4, shape)
    if np.dtype(dtype).kind == "c":
        return (whole + 1j * RNG.integers(-3, 4, shape)).astype(dtype)
    return whole.astype(dtype)


SHAPES = [
    ((3, 4), (4, 5)), ((1, 4), (4, 1)), ((3, 1), (1, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)),
    ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((1, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (3, 4, 2)),
    ((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((0, 4), (4, 3)), ((3, 0), (0, 4)), ((0,), (0,)), ((2, 0, 3), (3, 2)),
]  # fmt: skip


# spec: N3
@pytest.mark.parametrize("dtype", DTYPES)
def test_shapes_of_every_dtype(dtype):
    for left, right in SHAPES:
        a, b = numbers(left, dtype), numbers(right, dtype)
        same(jit(AT, "f")(a, b), a @ b, ulps=0)
        same(jit("def f(a, b):\n    return np.dot(a, b)\n", "f")(a, b), np.dot(a, b), ulps=0)


# spec: N3
def test_any_layout():
    a, b = numbers((6, 8), np.float64), numbers((8, 10), np.float64)
    wide = numbers((12, 16), np.float64)
    for x in (a, np.asfortranarray(a), a[::-1], a[:, ::-1], wide[::2, ::2], wide[:6, 3:11], a.astype(np.int16)):
        for y in (b, np.asfortranarray(b), b[::-1, ::-1], b.T.copy().T, np.repeat(b, 2, 1)[:, ::2], b[:, :1]):
            same(jit(AT, "f")(x, y), x @ y, ulps=0)


# spec: N3
def test_promotion():
    for left in DTYPES:
        for right in (np.int8, np.uint64, np.float16, np.float32, np.complex64):
            a, b = numbers((2, 3), left), numbers((3, 2), right)
            same(jit(AT, "f")(a, b), a @ b, ulps=0)


# spec: N3
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128, np.int64])
def test_larger_ones_are_the_same_for_any_number_of_threads(dtype):
    for m, n, k in ((70, 300, 90), (300, 40, 300), (520, 1030, 33)):
        a, b = RNG.normal(size=(m, k)), RNG.normal(size=(k, n))
        if dtype == np.int64:
            a, b = a * 1e9, b * 1e9
        a, b = a.astype(dtype), b.astype(dtype)
        first = jit(AT, "f")(a, b)
        size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
        if dtype == np.int64:
            same(first, a @ b)
        else:
            assert (np.abs(first - a @ b) <= 4 * np.finfo(dtype).eps * np.sqrt(k) * size).all()
        threads = weft.config.num_threads
        try:
            for count in (1, 2):
                weft.config.num_threads = count
                assert jit(AT, "f")(a, b).tobytes() == first.tobytes()
        finally:
            weft.config.num_threads = threads


# spec: N3
def test_not_a_number_and_infinity():
    a, b = np.ones((9, 9)), np.ones((9, 9))
    a[3, 4], b[5, 6] = np.nan, np.inf
    same(jit(AT, "f")(a, b), a @ b)


# spec: N3
def test_other_products():
    m, v, w, s = numbers((3, 4), float), numbers(4, float), numbers(3, float), numbers((2, 3, 4), float)
    c = numbers((3, 4), complex)
    for expression, *arguments in (
        ("np.dot(a, b)", m, v), ("np.dot(a, b)", w, m), ("np.dot(a, b)", m, 3.0),
        ("np.dot(a, b)", s, s.transpose(0, 2, 1)), ("np.dot(a, b)", v, s.transpose(0, 2, 1)), ("a.dot(b)", v, v),
        ("np.outer(a, b)", v, w), ("np.outer(a, b)", m, w), ("np.inner(a, b)", m, m), ("np.inner(a, b)", v, m),
        ("np.inner(a, b)", s, m), ("np.vdot(a, b)", c, c), ("np.tensordot(a, b)", s, s[0].reshape(3, 4, 1)),
        ("np.tensordot(a, b, 1)", s, m.T), ("np.tensordot(a, b, 0)", v, w), ("np.add.outer(a, b)", v, w),
        ("np.minimum.outer(a, b)", m, v), ("np.matmul(a, b)", m, m.T),
    ):  # fmt: skip
        check(f"def f(a, b):\n    return {expression}\n", *arguments)


# spec: N3
def test_into_an_array():
    m = numbers((3, 4), float)
    for out in (np.zeros((3, 3)), np.zeros((3, 3), complex), np.zeros((3, 3), int)):
        check("def f(a, b, c):\n    return np.matmul(a, b, out=c)\n", m, m.T, out)
    for out in (np.zeros((3, 3)), np.zeros((3, 3), int)):
        check("def f(a, b, c):\n    return np.dot(a, b, out=c)\n", m, m.T, out)
    check("def f(a, b, c):\n    np.matmul(a, b, out=c[::2])\n", m, m.T, np.zeros((6, 3)))


# spec: N3
def test_what_does_not_fit():
    m, v = numbers((3, 4), float), numbers(4, float)
    for a, b in ((m, m), (m, v[:3]), (v, v[:3]), (np.zeros((3, 2, 2)), np.zeros((4, 2, 2))), (v, m)):
        check(AT, a, b)
        if a.ndim < 3:
            check("def f(a, b):\n    return np.dot(a, b)\n", a, b)
    check("def f(a, b):\n    return np.matmul(a, b)\n", m, np.float64(3))
    check("def f(a, b):\n    return np.inner(a, b)\n", m, v[:3])
