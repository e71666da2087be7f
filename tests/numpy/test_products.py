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


def ways(a):
    """The same numbers in memory in other ways: by columns, backwards, with gaps."""
    yield a
    yield np.asfortranarray(a)
    yield a[::-1].copy()[::-1]
    yield a[..., ::-1].copy()[..., ::-1]
    gaps = np.zeros(tuple(2 * n for n in a.shape), a.dtype)
    gaps[tuple(slice(None, None, 2) for _ in a.shape)] = a
    yield gaps[tuple(slice(None, None, 2) for _ in a.shape)]


# spec: N3
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_in_any_layout(dtype):
    at, dot = jit(AT, "f"), jit("def f(a, b):\n    return np.dot(a, b)\n", "f")
    for m, k in ((1, 1), (3, 7), (5, 16), (9, 33), (2, 70), (130, 3)):
        a, x, y = numbers((m, k), dtype), numbers(k, dtype), numbers(m, dtype)
        for matrix in ways(a):
            for vector in ways(x):
                same(at(matrix, vector), a @ x, ulps=0)
            for vector in ways(y):
                same(at(vector, matrix), y @ a, ulps=0)
        for left in ways(x):
            for right in ways(a[0].copy()):
                same(dot(left, right), np.dot(x, a[0]), ulps=0)


# spec: N3, N7
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128, np.int32])
def test_vectors_are_the_same_for_any_number_of_threads(dtype):
    code = jit("def f(a, x, y, u, v):\n    return a @ x, y @ a, u @ v, u @ v[::-1]\n", "f")
    part = 1j * RNG.normal(size=(1, 1)) if np.dtype(dtype).kind == "c" else 0
    for m, k in ((700, 300), (40, 5000), (3000, 31)):
        a = (RNG.normal(size=(m, k)) * 8 + part).astype(dtype)
        x, y = RNG.normal(size=k).astype(dtype), RNG.normal(size=m).astype(dtype)
        u, v = (RNG.normal(size=150_001).astype(dtype) for _ in range(2))
        first = code(a, x, y, u, v)
        exact = np.result_type(dtype, np.float64)
        wide = [w.astype(exact) for w in (a, x, y, u, v)]
        size = [np.abs(w) for w in wide]
        theirs = (wide[0] @ wide[1], wide[2] @ wide[0], wide[3] @ wide[4], wide[3] @ wide[4][::-1])
        bound = (size[0] @ size[1], size[2] @ size[0], size[3] @ size[4], size[3] @ size[4][::-1])
        eps = 0 if dtype == np.int32 else np.finfo(dtype).eps
        for ours, value, most in zip(first, theirs, bound):
            assert ours.dtype == dtype
            assert (np.abs(ours - value) <= 8 * eps * np.sqrt(max(m, k)) * most + (dtype == np.int32) * 0.5).all()
        threads = weft.config.num_threads
        try:
            for count in (1, 2, 7):
                weft.config.num_threads = count
                for ours, again in zip(first, code(a, x, y, u, v)):
                    assert again.tobytes() == ours.tobytes()
        finally:
            weft.config.num_threads = threads


# spec: N3
def test_not_a_number_and_infinity_in_vectors():
    a, x = np.ones((40, 40)), np.ones(40)
    a[3, 4], a[5, 39], x[6] = np.nan, -np.inf, np.inf
    for matrix in (a, a.T, a[:, ::-1]):
        same(jit(AT, "f")(matrix, x), matrix @ x)
        same(jit(AT, "f")(x, matrix), x @ matrix)
        same(jit(AT, "f")(matrix[3], x[::-1]), matrix[3] @ x[::-1])
    # Lanes that are not there must not make a number of zero times infinity.
    same(jit(AT, "f")(np.full(3, np.inf), np.ones(3)), np.float64(np.inf))


# spec: N3
def test_small_products():
    for m, n, k in ((1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 2, 3), (8, 8, 8), (3, 16, 10), (2, 17, 3), (9, 9, 9)):
        for dtype in (np.float32, np.float64, np.complex64, np.complex128, np.int16):
            a, b = numbers((m, k), dtype), numbers((k, n), dtype)
            for x, y in zip(ways(a), ways(b)):
                same(jit(AT, "f")(x, y), a @ b, ulps=0)
    stack, one = numbers((5, 3, 3), float), numbers((3, 3), float)
    for x, y in ((stack, one), (stack[::-1], one), (stack.transpose(0, 2, 1), one), (one, stack), (stack, stack[::-1])):
        same(jit(AT, "f")(x, y), x @ y, ulps=0)


PER_ROW = """
def f(a, x):
    out = np.zeros(a.shape[0])
    for i in weft.prange(a.shape[0]):
        out[i] = a[i] @ x
    return out
"""


# spec: N3
def test_products_of_vectors_in_parallel_loops():
    function = jit(PER_ROW, "f")
    for k in (5, 140_000):
        a, x = numbers((6, k), float), numbers(k, float)
        same(function(a, x), a @ x, ulps=0)


# spec: N3
def test_not_a_number_and_infinity():
    a, b = np.ones((9, 9)), np.ones((9, 9))
    a[3, 4], b[5, 6] = np.nan, np.inf
    same(jit(AT, "f")(a, b), a @ b)


def close(ours, a, b):
    """As near to the exact product as any order of summing it."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    bound = (a.shape[-1] + 2) * np.finfo(ours.dtype).eps * (np.abs(a) @ np.abs(b))
    return ours.shape == (a @ b).shape and (np.abs(ours - a @ b) <= bound).all()


# Small and large, high, wide and deep: each is computed in a way of its own.
KINDS = [
    (5, 7, 3), (7, 25, 9), (64, 64, 64), (100, 100, 100), (8, 700, 300), (33, 700, 300), (31, 2100, 17), (700, 24, 300),
    (700, 49, 300), (700, 2, 300), (130, 135, 257), (200, 200, 513), (193, 3100, 40), (9, 9, 2000), (260, 300, 260),
]  # fmt: skip


# spec: N3, N7
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m, n, k", KINDS)
def test_every_kind_of_product_in_any_layout_with_any_number_of_threads(m, n, k, dtype):
    at = jit(AT, "f")
    a, b = RNG.normal(size=(m, k)).astype(dtype), RNG.normal(size=(k, n)).astype(dtype)
    threads = weft.config.num_threads
    try:
        for x, y in ((x, y) for x in ways(a) for y in ways(b)):
            weft.config.num_threads = 7
            first = at(x, y)
            assert first.dtype == dtype and close(first, a, b)
            for count in (1, 2):
                weft.config.num_threads = count
                assert at(x, y).tobytes() == first.tobytes()
    finally:
        weft.config.num_threads = threads


# spec: N3
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sizes_around_the_edges_of_tiles(dtype):
    at = jit(AT, "f")
    sizes = (1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 23, 24, 25, 31, 33, 47, 48, 49, 63, 65, 97, 127, 129, 255, 257)
    for _ in range(250):
        m, n, k = (int(size) for size in RNG.choice(sizes, 3))
        a, b = numbers((m, k), dtype), numbers((k, n), dtype)
        x, y = (list(ways(v))[RNG.integers(5)] for v in (a, b))
        same(at(x, y), a @ b, ulps=0)


# spec: N3
def test_a_matrix_times_itself():
    code = jit("def f(a):\n    return a.T @ a, a @ a.T, np.cov(a)\n", "f")
    for m, n in ((3, 5), (40, 70), (300, 200), (17, 600), (600, 17), (1000, 70)):
        for dtype in (np.float32, np.float64):
            a = RNG.normal(size=(m, n)).astype(dtype)
            for x in (a, np.asfortranarray(a), a[::-1, ::-1], np.repeat(a, 2, 1)[:, ::2]):
                inner, outer, covariance = code(x)
                assert close(inner, x.T, x) and close(outer, x, x.T)
                assert (inner == inner.T).all() and (outer == outer.T).all()
                assert np.allclose(covariance, np.cov(x), rtol=0, atol=1e-5)
                # The same bits as of a copy, of which nobody knows that it is the same matrix.
                assert jit(AT, "f")(x.T, x.copy(order="K")).tobytes() == inner.tobytes()


# spec: N3
def test_data_anywhere():
    for m, n, k in ((5, 7, 3), (8, 700, 300), (130, 135, 257)):
        a, b = RNG.normal(size=(m, k)), RNG.normal(size=(k, n))
        first = jit(AT, "f")(a, b)
        for offset in (8, 16, 40, 56):
            moved = []
            for x in (a, b):
                room = np.zeros(x.nbytes + 64, np.uint8)
                place = room[offset : offset + x.nbytes].view(np.float64).reshape(x.shape)
                place[...] = x
                moved.append(place)
            assert jit(AT, "f")(*moved).tobytes() == first.tobytes()


# spec: N3
def test_not_a_number_and_infinity_in_every_kind():
    for m, n, k in KINDS:
        a, b = np.ones((m, k)), np.ones((k, n))
        a[m // 2, k - 1], a[m - 1, 0], b[k // 2, n - 1] = np.nan, -np.inf, np.inf
        for x, y in ((a, b), (np.asfortranarray(a), b), (a, np.asfortranarray(b))):
            same(jit(AT, "f")(x, y), a @ b)


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
