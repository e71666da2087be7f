"""Dots of a vector with the columns or rows of a matrix, one in each iteration of a loop, are one product.

Where an iteration may write what a later dot reads, they stay dots. Numbers are small and whole, so every order of sums
gives the same ones.
"""

import copy

import pytest

import numpy as np
import weft
from support import agree, function, outcome

pytestmark = pytest.mark.usefixtures("threads_kept")

NAMES = ["u", "m", "s", "out"]

# The vector `u` has as many elements as `m` has rows and `s` rows and columns; `out` as many as `m` has columns.
ONE_PRODUCT = {
    "columns": "for j in range(m.shape[1]):\n    out[j] = np.dot(u, m[:, j])",
    "with @": "for j in range(m.shape[1]):\n    out[j] = u @ m[:, j]",
    "the vector second": "for j in range(m.shape[1]):\n    out[j] += np.dot(m[:, j], u)",
    "rows": "v = m[0] * 2\nfor i in range(m.shape[0]):\n    u[i] = np.dot(m[i], v)",
    "parts": "for j in range(3, m.shape[1] - 2):\n    out[j] = np.dot(u[4:], m[4:, j])",
    "parts with steps": "for j in range(m.shape[1]):\n    out[j] = np.dot(u[::-2], m[::-2, j])",
    "in its own column": (
        "for i in range(m.shape[0]):\n"
        "    for j in range(m.shape[1]):\n"
        "        m[i, j] += np.dot(s[i + 1:, i], m[i + 1:, j])"
    ),
    "more of the column, afterwards": (
        "for j in range(m.shape[1]):\n    t = np.dot(u, m[:, j])\n    m[0, j] = t\n    m[1, j] = t + 1"
    ),
    "all of the column, afterwards": (
        "for j in range(m.shape[1]):\n    t = np.dot(u, m[:, j]) % 7\n    m[:, j] -= u * t\n    out[j] = t"
    ),
    "a part of the row, afterwards": (
        "v = m[0] * 2\nfor i in range(m.shape[0]):\n    t = np.dot(m[i], v) % 7\n    m[i, 2:9] = v[2:9] * t"
    ),
    "two in a turn": "for j in range(m.shape[1]):\n    out[j] = np.dot(u, m[:, j]) - np.dot(s[3], m[:, j])",
    "the turns of a prange": "for j in prange(m.shape[1]):\n    out[j] = np.dot(u, m[:, j])",
    "a new array each time": (
        "for j in range(m.shape[1]):\n    d = np.dot(u, m[:, j])\n    t = np.zeros(2)\n    t[1] = d\n    out[j] = t[1]"
    ),
    "all of the column, before": "for j in range(m.shape[1]):\n    m[:, j] *= 2\n    out[j] = np.dot(u, m[:, j])",
    "before the dot, in its column": "for j in range(m.shape[1]):\n    m[1, j] = j\n    out[j] = np.dot(u, m[:, j])",
    "an index that may be outside": "for j in range(m.shape[1]):\n    out[j] = np.dot(s[:, 2], m[:, j])",
    "an element before it": (
        "for j in range(m.shape[1]):\n    out[j] = u[len(out) - 1]\n    out[j] += np.dot(s[:, len(out) - 1], m[:, j])"
    ),
    "every second": "for j in range(0, m.shape[1], 2):\n    out[j] = np.dot(u, m[:, j])",
    "downwards": "for j in range(m.shape[1] - 1, -1, -1):\n    out[j] = np.dot(u, m[:, j])",
}
DOTS = {
    "all of the next column": (
        "for j in range(m.shape[1] - 1):\n    t = np.dot(u, m[:, j]) % 7\n    m[:, j + 1] -= u * t"
    ),
    "from its column on": "for j in range(m.shape[1]):\n    t = np.dot(u, m[:, j]) % 7\n    m[2, j:] -= t",
    "the next column": "for j in range(m.shape[1] - 1):\n    m[2, j + 1] = np.dot(u, m[:, j]) % 7",
    "another column": "for j in range(m.shape[1]):\n    m[2, 5] = np.dot(u, m[:, j])",
    "the vector": "for j in range(m.shape[1]):\n    u[0] = np.dot(u, m[:, j]) % 7",
    "an element of the vector's matrix": "for j in range(m.shape[1]):\n    s[0, 3] = np.dot(s[0], m[:, j]) % 7",
    "a view of the matrix": "w = m[1]\nfor j in range(m.shape[1] - 1):\n    w[j + 1] = np.dot(u, m[:, j]) % 7",
    "a row of the matrix": "for j in range(m.shape[1]):\n    m[3, :] = np.dot(u, m[:, j]) % 5",
    "leaves before the end of the matrix": (
        "for j in range(10**6):\n    if j >= m.shape[1]:\n        break\n    out[j] = np.dot(u, m[:, j])"
    ),
    "a column that is there behind a condition": (
        "k = len(out)\n"
        "for j in range(m.shape[1]):\n"
        "    if k >= s.shape[1]:\n"
        "        break\n"
        "    out[j] = np.dot(s[:, k], m[:, j])"
    ),
    "a part that is there behind a condition": (
        "k = len(out) * 1000\n"
        "for j in range(m.shape[1]):\n"
        "    if k > len(u):\n"
        "        continue\n"
        "    out[j] = np.dot(u[k:], m[k:, j])"
    ),
    "a vector that changes": "for j in range(m.shape[1]):\n    out[j] = np.dot(s[j % 3], m[:, j])",
    "a column that is not the next": "for j in range(m.shape[1]):\n    out[j] = np.dot(u, m[:, j // 2])",
    "from the end": "for j in range(m.shape[1]):\n    out[j] = np.dot(u, m[:, -j])",
    "a column on a condition": "for j in range(m.shape[1]):\n    if j % 3:\n        out[j] = np.dot(u, m[:, j])",
    "sizes that change": "for j in range(1, m.shape[1]):\n    out[j] = np.dot(u[:j], m[:j, j])",
    "a sum of them": "t = 0.0\nfor j in range(m.shape[1]):\n    t += np.dot(u, m[:, j]) * j\nout[0] = t",
    "leaves early": "for j in range(m.shape[1]):\n    out[j] = np.dot(u, m[:, j])\n    if j == 20:\n        break",
}
SHAPES = [(0, 0), (1, 40), (40, 1), (5, 15), (5, 16), (33, 70), (300, 500)]
DTYPES = [np.float64, np.float32, np.int64, np.complex128]


def arguments(shape, dtype=np.float64):
    """Small whole numbers in every array, so that no sum is rounded."""
    rows, columns = shape
    rng = np.random.default_rng(rows * 1000 + columns)
    made = [rng.integers(-3, 4, size).astype(dtype) for size in (rows, shape, (rows, rows), columns)]
    if dtype == np.complex128:
        made = [(a + 1j * rng.integers(-3, 4, a.shape)).astype(dtype) for a in made]
    return made


# spec: N7
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*ONE_PRODUCT, *DOTS])
def test_as_numpy_has_it(name, shape):
    """Whether a loop's dots are a product or not, its results are NumPy's."""
    f = function("None", NAMES, {**ONE_PRODUCT, **DOTS}[name])
    agree(f, arguments(shape))


# spec: N7
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["columns", "rows", "in its own column"])
def test_every_dtype(name, dtype):
    """Of every dtype that a product has."""
    agree(function("None", NAMES, ONE_PRODUCT[name]), arguments((20, 30), dtype))


# spec: N7
@pytest.mark.parametrize("name", [*ONE_PRODUCT, *DOTS])
def test_what_becomes_a_product(name):
    """A product is made where iterations are independent, and nowhere else."""
    f = function("None", NAMES, {**ONE_PRODUCT, **DOTS}[name])
    outcome(f, arguments((33, 70)))
    assert ("nt.matmul" in f.inspect("fused")) == (name in ONE_PRODUCT)


# spec: N7
@pytest.mark.parametrize("name", ["columns", "in its own column", "rows"])
@pytest.mark.parametrize("shift", [0, 1, 7])
def test_arrays_that_share_memory(name, shift):
    """Arrays that came by two names and are one are seen when the function runs."""
    body = ONE_PRODUCT[name]
    f = function("None", NAMES, body)

    def given():
        room = np.arange(3 * 40 * 40) % 7 - 3.0
        m, s = (room[k * shift : k * shift + 1600].reshape(40, 40) for k in (0, 1))
        return [s[5], m, s, m[5]]

    have, want = given(), given()
    f(*have)
    f.py_func(*want)
    for one, other in zip(have, want):
        np.testing.assert_array_equal(one, other)


# spec: N3
@pytest.mark.parametrize("name", ["columns", "rows", "in its own column"])
def test_bits_do_not_depend_on_threads(name):
    """One, two and seven threads give the same bits."""
    f = function("None", NAMES, ONE_PRODUCT[name])
    rng = np.random.default_rng(3)
    given = [rng.normal(size=size) for size in (700, (700, 900), (700, 700), 900)]
    results = []
    for threads in (1, 2, 7):
        weft.set_num_threads(threads)
        results.append(copy.deepcopy(given))
        f(*results[-1])
    for other in results[1:]:
        for one, two in zip(results[0], other):
            assert one.tobytes() == two.tobytes()


# spec: N7
@pytest.mark.parametrize("layout", ["F", "steps", "backwards"])
def test_any_layout(layout):
    """Matrices need not be in C order."""
    u, m, s, out = arguments((40, 50))
    views = {"F": np.asfortranarray(m), "steps": np.repeat(m, 2, 1)[:, ::2], "backwards": m[::-1, ::-1]}
    for name in ("columns", "rows", "in its own column"):
        f = function("None", NAMES, ONE_PRODUCT[name])
        have, want = [u.copy(), views[layout].copy(order="K"), s, out.copy()], [u.copy(), m.copy(), s, out.copy()]
        want[1][...] = views[layout]
        if layout == "backwards":
            have[1] = m.copy()[::-1, ::-1]
        f(*have)
        f.py_func(*want)
        np.testing.assert_array_equal(have[1], want[1])
        np.testing.assert_array_equal(have[3], want[3])


# spec: N3
@pytest.mark.parametrize("columns", [0, 40])
def test_sizes_that_differ_raise_in_the_turn(columns):
    """No product reads past the end of a vector before the loop has found that it is too short."""
    f = function("None", NAMES, ONE_PRODUCT["columns"])
    for rows, size in ((30, 31), (31, 30), (20000, 20)):
        agree(f, [np.ones(size), np.ones((rows, columns)), np.ones((2, 2)), np.zeros(columns)])


# spec: N3
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128, np.bool_])
def test_long_dots(dtype):
    """Vectors of several blocks, of any steps: NumPy's numbers, and the same bits for every number of threads."""
    f = function("s", ["x", "y", "n"], "s = np.dot(x, y)\nfor _ in range(n):\n    s = np.dot(x, y)")
    rng = np.random.default_rng(5)
    for size in (8192, 8193, 20_000, 300_001):
        x, y = rng.integers(-3, 4, (2, size)).astype(dtype)
        for one, other in ((x, y), (x[::-1], y), (x[::-1], y[::-1]), (x[::3], y[::3]), (x[::-2], y[::2])):
            assert f(one, other, 0) == np.dot(one, other)
    if np.issubdtype(dtype, np.inexact):
        x, y = (rng.normal(size=40_000).astype(dtype) for _ in range(2))
        bits = set()
        for threads in (1, 2, 7):
            weft.set_num_threads(threads)
            # Often enough that workers are awake at the end.
            bits.add(np.asarray(f(x, y, 300)).tobytes())
        assert len(bits) == 1
