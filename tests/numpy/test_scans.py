"""Running sums and products: NumPy's values, dtypes and exceptions; long ones in blocks, whatever the threads."""

import pytest
from test_basic_indexing import check, jit

import numpy as np
import weft
from support import same

pytestmark = pytest.mark.usefixtures("threads_kept")

BLOCK = 4096
SIZES = [0, 1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 64 * BLOCK + 7, 130 * BLOCK - 1]
RNG = np.random.default_rng(8)


@weft.njit
def sums(x):
    return np.cumsum(x)


@weft.njit
def products(x):
    return np.cumprod(x)


def in_blocks(x, scan):
    """The order of `weft_ir::reduce::SCAN`, in NumPy's own numbers."""
    plain, fold = (np.cumsum, np.add) if scan is sums else (np.cumprod, np.multiply)
    result = np.empty_like(x)
    for start in range(0, len(x), BLOCK):
        part = plain(x[start : start + BLOCK])
        result[start : start + BLOCK] = fold(result[start - 1], part) if start else part
    return result


# spec: N3
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u4", "i8", "u8"])
def test_integers_are_numpys_at_every_size(dtype):
    for n in SIZES:
        x = RNG.integers(0, 100, n).astype(dtype)
        same(sums(x), np.cumsum(x))
        same(products(x | x.dtype.type(1)), np.cumprod(x | x.dtype.type(1)))


# spec: N3
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_floats_have_one_order_for_any_number_of_threads(dtype):
    for n in SIZES[1:]:
        x = (RNG.random(n) * 1.9 - 0.9).astype(dtype)
        if np.dtype(dtype).kind == "c":
            x = x + x[::-1] * x.dtype.type(1j)
        for scan, given in ((sums, x), (products, np.exp((x - x.mean()) / 100).astype(dtype))):
            wanted = in_blocks(given, scan)
            if scan is products and x.dtype.kind == "c":
                # NumPy fuses products of arrays, and one of two numbers; not those of a longer scan.
                weft.set_num_threads(3)
                np.testing.assert_allclose(scan(given), wanted, rtol=1e-2)
                wanted = scan(given)
            for threads in (1, 2, 7):
                weft.set_num_threads(threads)
                assert scan(given).tobytes() == wanted.tobytes(), (scan, n, threads)
            assert weft.njit(parallel=False)(scan.py_func)(given).tobytes() == wanted.tobytes()
        if n <= BLOCK:
            assert sums(x).tobytes() == np.cumsum(x).tobytes()
        if dtype == "f8":
            np.testing.assert_allclose(sums(x), np.cumsum(x), atol=1e-10)


# spec: N3
def test_sums_of_what_is_not_negative_never_fall():
    """Also where one block goes on from another: a distribution can be searched."""
    for dtype in ("f4", "f8"):
        x = (RNG.random(50 * BLOCK) ** 20).astype(dtype)
        assert (np.diff(sums(x)) >= 0).all()


# spec: N3, N6
def test_any_steps_and_orders():
    x = RNG.normal(size=6 * BLOCK)
    for part in (x[::2], x[::-1], x[5::3]):
        same(sums(part), sums(part.copy()), ulps=0)
    grid = RNG.normal(size=(90, 70))
    same(sums(grid), in_blocks(grid.ravel(), sums), ulps=0)
    same(sums(grid.T), in_blocks(grid.T.ravel(), sums), ulps=0)
    same(sums(np.broadcast_to(x[:1], (3 * BLOCK,))), in_blocks(np.full(3 * BLOCK, x[0]), sums), ulps=0)


# spec: N3
def test_parameters():
    x = RNG.integers(-5, 5, 11).astype("i4")
    for expression in (
        "np.cumsum(a)", "a.cumsum()", "np.cumsum(a, 0)", "np.cumsum(a, axis=-1)", "np.cumsum(a, dtype=np.float32)",
        "np.cumsum(a, dtype=np.int8)", "np.cumsum(a, dtype=bool)", "np.cumprod(a, dtype=bool)",
        "a.cumprod(dtype=np.complex64)",
        "np.cumsum(a[:0])", "np.cumsum(a[3])", "np.cumsum(a.reshape(11, 1), axis=1)", "np.cumsum(3.5)",
        "np.cumsum(a[3], axis=0)", "np.cumprod(a[3], -1)",
    ):  # fmt: skip
        check(f"def f(a):\n    return {expression}\n", x)
    out = np.zeros(11)
    result = jit("def f(a, out):\n    return np.cumsum(a, out=out)\n", "f")(x, out)
    assert result is out
    np.testing.assert_array_equal(out, np.cumsum(x))


# spec: N3
def test_the_first_element_is_itself():
    x = np.array([-0.0, -0.0, 1.0])
    np.testing.assert_array_equal(np.signbit(sums(x)), np.signbit(np.cumsum(x)))
    x = np.array([np.inf, -np.inf, np.nan, 1.0])
    same(sums(x), np.cumsum(x))


# spec: N3
def test_an_axis_that_is_not_there():
    f = jit("def f(a):\n    return np.cumsum(a, axis=1)\n", "f")
    with pytest.raises(ValueError, match="axis 1 is out of bounds for array of dimension 1"):
        f(np.ones(3))


# spec: N3
def test_into_what_is_read():
    """The array that is scanned may be the one that is written."""
    f = jit("def f(a):\n    np.cumsum(a[1:], out=a[:-1])\n    return a\n", "f")
    for n in (9, 3 * BLOCK):
        a = RNG.integers(0, 9, n).astype(float)
        b = a.copy()
        np.cumsum(b[1:].copy(), out=b[:-1])
        same(f(a), b)


# spec: N3, N7
def test_what_is_computed_for_it_is_scanned_where_it_is():
    @weft.njit
    def walk(x, y):
        return np.cumsum(x * y + 1)

    x, y = RNG.normal(size=(2, 2 * BLOCK))
    same(walk(x, y), in_blocks(x * y + 1, sums), ulps=0)
    assert walk.inspect("loops").count("mem.alloc") == 1


# spec: N3, N7
def test_what_was_computed_before_a_loop_is_there_for_every_turn():
    """It is scanned where it is only if nobody can scan it again."""

    @weft.njit
    def turns(x):
        y = x * 2
        total = 0.0
        for _ in range(3):
            total += np.cumsum(y)[-1]
        return total

    @weft.njit
    def while_turns(x):
        y, k, total = x * 2, 0, 0.0
        while k < 3:
            if k != 1:
                total += np.cumsum(y)[-1]
            k += 1
        return total

    @weft.njit
    def at_once(x):
        y, ends = x * 2, np.zeros(40)
        for i in weft.prange(40):
            ends[i] = np.cumsum(y)[-1] + np.cumsum(x[i:] * 2)[0]
        return ends

    x = np.arange(50.0)
    for f in (turns, while_turns, at_once):
        same(f(x), f.py_func(x))
