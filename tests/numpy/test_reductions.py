"""Reductions: NumPy's values (to rounding), dtypes, shapes and exceptions."""

import pytest
from test_basic_indexing import check, jit

import numpy as np
import weft
from support import same

RNG = np.random.default_rng(5)
FOLDS = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "var", "std"]
DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64]


# spec: N3
@pytest.mark.parametrize("fold", FOLDS)
def test_over_everything(fold):
    source = f"def f(a):\n    return np.{fold}(a), a.{fold}()\n"
    for dtype in DTYPES:
        for shape in ((1,), (7,), (3, 4), (2, 3, 4)):
            a = (RNG.normal(size=shape) * 2 + 1).astype(dtype)
            same(jit(source, "f")(a), (getattr(np, fold)(a), getattr(a, fold)()), ulps=64)
            same(jit(source, "f")(a.T), (getattr(np, fold)(a.T), getattr(a.T, fold)()), ulps=64)
            part = a[::2]
            same(jit(source, "f")(part), (getattr(np, fold)(part), getattr(part, fold)()), ulps=64)


# spec: N3
@pytest.mark.parametrize("fold", FOLDS)
def test_along_axes(fold):
    a = RNG.normal(size=(5, 6, 7)) + 3
    for axis in (0, 1, 2, -1):
        function = jit(f"def f(a):\n    return np.{fold}(a, axis={axis})\n", "f")
        for x in (a, a.T, a[::2, :, ::-1]):
            same(function(x), getattr(np, fold)(x, axis=axis), ulps=64)
    if not fold.startswith("arg"):
        for axis in ("(0, 1)", "(0, 2)", "(0, 1, 2)"):
            function = jit(f"def f(a):\n    return a.{fold}(axis={axis}, keepdims=True)\n", "f")
            same(function(a), getattr(np, fold)(a, axis=eval(axis), keepdims=True), ulps=64)


# spec: N3
def test_long_lines_are_the_same_for_any_number_of_threads():
    total = jit("def f(a):\n    return np.sum(a)\n", "f")
    for dtype in (np.float32, np.float64):
        a = RNG.normal(size=300_001).astype(dtype)
        first = total(a)
        assert abs(float(first) - a.astype(np.float64).sum()) < 300_001 * np.finfo(dtype).eps
        assert {total(a).tobytes() for _ in range(5)} == {first.tobytes()}
    same(total(np.arange(1_000_000)), np.int64(499999500000))
    wide = RNG.normal(size=(1000, 70))
    same(jit("def f(a):\n    return a.sum(axis=0)\n", "f")(wide), wide.sum(axis=0), ulps=4096)


def across(x):
    """Sums along the first axis in the order that is promised: runs of 128 in order, and their results by pairs."""
    if len(x) <= 128:
        total = np.zeros(x.shape[1:], x.dtype)
        for row in x:
            total += row
        return total
    runs = -(-len(x) // 128)
    left = 1 << (runs - 1).bit_length() - 1
    return across(x[: 128 * left]) + across(x[128 * left :])


# spec: N3
@pytest.mark.usefixtures("threads_kept")
@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("shape", [(3, 5), (129, 300), (1023, 8), (1024, 16), (1025, 17), (3300, 257), (5000, 2, 9)])
def test_columns_are_summed_in_one_order(shape, threads):
    """However many rows and columns are summed at a time, and by whom."""
    total = jit("def f(a):\n    return np.sum(a, axis=0)\n", "f")
    weft.set_num_threads(threads)
    for dtype in (np.float32, np.float64):
        a = (RNG.normal(size=shape) * 1000).astype(dtype)
        np.testing.assert_array_equal(total(a), across(a))
        np.testing.assert_array_equal(total(a[::-1]), across(a[::-1]))
        np.testing.assert_array_equal(total(a[:, ::2]), across(a[:, ::2]))


# spec: N3
@pytest.mark.parametrize("fold", ["prod", "min", "max", "any", "all", "argmin", "argmax"])
@pytest.mark.parametrize("shape", [(1024, 3), (2500, 40), (1030, 300)])
def test_columns_of_tall_arrays(fold, shape):
    function = jit(f"def f(a):\n    return a.{fold}(axis=0)\n", "f")
    for dtype in (np.int64, np.uint8, np.float32, np.bool_):
        a = RNG.integers(0, 3, size=shape).astype(dtype)
        a[:, 1] = 1
        same(function(a), getattr(a, fold)(axis=0))
    x = RNG.normal(size=shape)
    x[shape[0] // 2, 2] = np.nan
    if fold not in ("any", "all", "prod"):
        same(function(x), getattr(x, fold)(axis=0))


# spec: N3
def test_empty_arrays():
    for fold in ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax"):
        check(f"def f(a):\n    return np.{fold}(a)\n", np.zeros(0))
        check(f"def f(a):\n    return np.{fold}(a, axis=0)\n", np.zeros((0, 3)))


# spec: N3
def test_not_a_number_wins():
    a = np.array([1.0, np.nan, -1.0, np.nan])
    for fold in ("min", "max", "argmin", "argmax", "sum", "any"):
        check(f"def f(a):\n    return np.{fold}(a)\n", a)
    check("def f(a):\n    return np.sum(a)\n", np.array([-0.0, -0.0]))


# spec: N3
def test_what_goes_with_reductions():
    a, grid = RNG.normal(size=9), RNG.normal(size=(3, 4))
    for expression in (
        "np.ptp(a)", "np.diff(a)", "np.clip(a, -0.5, 0.5)", "np.cumsum(a)", "a.cumprod()", "np.sum(a, initial=3.0)",
        "np.sum(a, dtype=np.float32)", "np.dot(a, a)", "a @ a", "a.sum() / a.size", "np.sum(a * a)", "np.mean(a > 0)",
        "np.sum(a[1:] * a[:-1])",
    ):  # fmt: skip
        check(f"def f(a):\n    return {expression}\n", a)
    for expression in (
        "a @ a.T",
        "a.T @ a",
        "a @ a[0]",
        "a[:, 0] @ a",
        "np.dot(a, a.T)",
        "np.cumsum(a, axis=1)",
    ):
        check(f"def f(a):\n    return {expression}\n", grid)
    check("def f(a):\n    return np.count_nonzero(a)\n", np.array([0, 3, 0, 1]))
    check("def f(n):\n    return np.arange(n).sum()\n", 10)


FOLDS = {
    "sum": lambda a: (a.sum(), a.sum(axis=0), a.sum(axis=-1)),
    "prod": lambda a: (a.prod(), a.prod(axis=0), a.prod(axis=-1)),
    "min": lambda a: (a.min(), a.min(axis=0), a.min(axis=-1)),
    "max": lambda a: (a.max(), a.max(axis=0), a.max(axis=-1)),
    "argmin": lambda a: (a.argmin(), a.argmin(axis=0), a.argmin(axis=-1)),
    "argmax": lambda a: (a.argmax(), a.argmax(axis=0), a.argmax(axis=-1)),
    "any": lambda a: (a.any(), a.any(axis=0), a.any(axis=-1)),
    "all": lambda a: (a.all(), a.all(axis=0), a.all(axis=-1)),
}


# spec: N3
@pytest.mark.parametrize("name", FOLDS)
def test_every_reduction_of_every_dtype(name):
    f = weft.njit(FOLDS[name])
    for letter in "?bhilBHILefdFD":
        a = (np.arange(24).reshape(4, 6) % 7 - 2).astype(letter)
        a[1, 2] = 3 - 5j if letter in "FD" else a[1, 2]
        arrays = [a, a[::-1, ::2], a.T]
        if letter in "efdFD":
            with_nan = a.copy()
            # In complex numbers, in the imaginary part alone.
            with_nan[2, 3] = complex(0, np.nan) if letter in "FD" else np.nan
            arrays.append(with_nan)
        for x in arrays:
            for got, expected in zip(f(x), f.py_func(x), strict=True):
                assert type(got) is type(expected), (letter, got, expected)
                exact = {"equal_nan": True} | ({"rtol": 1e-3} if letter == "e" else {"rtol": 1e-6})
                assert got.dtype == expected.dtype and np.allclose(got, expected, **exact), (letter, got, expected)


GRID = RNG.normal(size=(3, 4))
WHOLE = RNG.integers(-5, 9, (3, 4)).astype(np.int8)
MASK = GRID > 0
KEYWORDS = [
    ("np.sum(a, axis=0, out=b)", GRID, np.zeros(4)), ("np.sum(a, axis=0, out=b)", GRID, np.zeros(4, np.float32)),
    ("np.sum(a, axis=0, out=b)", WHOLE, np.zeros(4)), ("np.sum(a, axis=0, out=b)", GRID, np.zeros((4, 1))),
    ("a.sum(axis=0, out=b, keepdims=True)", GRID, np.zeros(4)),
    ("a.sum(axis=0, out=b, keepdims=True)", GRID, np.zeros((1, 4))), ("np.sum(a, out=b)", GRID, np.zeros(())),
    ("np.sum(a, axis=(0, 1), where=b)", GRID, MASK), ("np.sum(a, axis=0, where=b)", GRID, MASK[:1]),
    ("np.sum(a, where=b)", GRID, np.ones((5, 3, 4), bool)), ("np.prod(a, axis=1, where=b, initial=2)", GRID, MASK),
    ("np.max(a, axis=0, where=b)", GRID, MASK), ("np.max(a, axis=0, where=b, initial=-1)", GRID, MASK),
    ("np.min(a, axis=0, where=b, initial=100.0)", GRID, MASK), ("np.max(a, axis=0, out=b)", GRID, np.zeros(4)),
    ("np.any(a, axis=0, where=b)", GRID, MASK), ("np.all(a, axis=-1, keepdims=True, where=b)", GRID, MASK),
    ("np.any(a, axis=0, out=b)", GRID, np.zeros(4, bool)), ("np.any(a, axis=0, out=b)", GRID, np.zeros(4, np.int8)),
    ("np.argmax(a, axis=0, out=b)", GRID, np.zeros(4, int)), ("np.argmax(a, axis=0, out=b)", GRID, np.zeros(4)),
    ("np.argmax(a, axis=0, out=b)", GRID, np.zeros(3, int)),
    ("np.argmin(a, axis=1, out=b)", GRID, np.zeros(3, np.int16)), ("np.mean(a, axis=0, where=b)", GRID, MASK),
    ("np.mean(a, axis=0, out=b)", GRID, np.zeros(4)), ("np.var(a, axis=0, where=b)", GRID, MASK | (np.arange(4) > 1)),
    ("np.var(a, axis=0, out=b)", WHOLE, np.zeros(4)), ("np.std(a, axis=1, out=b)", GRID, np.zeros(3)),
    ("np.cumsum(a, axis=1, out=b)", GRID, np.zeros((3, 4))), ("np.sum(a, axis=0, out=3)", GRID, 0),
]  # fmt: skip
ALONE = [
    ("np.min(a, axis=0, initial=3)", WHOLE), ("np.min(a, axis=0, initial=3.5)", WHOLE),
    ("np.min(a, initial=3)", np.zeros(0)), ("np.max(a, axis=0, initial=3)", np.zeros((0, 4))),
    ("a.max(axis=1, keepdims=True, initial=5)", GRID), ("a.sum(0, np.float32)", GRID), ("a.sum(dtype=int)", GRID * 9),
    ("a.sum(dtype=complex)", GRID), ("a.sum(dtype=bool)", WHOLE), ("a.prod(dtype=bool)", WHOLE),
    ("a.sum(initial=2.5)", WHOLE), ("np.argmin(a, keepdims=True)", GRID),
    ("np.argmin(a, axis=1, keepdims=True)", GRID), ("np.argmin(a, axis=0)", np.array(3)),
    ("np.sum(a, axis=0)", np.array(3)), ("np.mean(a, dtype=int)", GRID * 9),
    ("np.mean(a, axis=0)", GRID.astype(np.float16)), ("np.mean(a)", WHOLE),
    ("np.mean(a, axis=(0, 1), keepdims=True)", GRID * 1j), ("np.var(a, axis=1, ddof=1)", GRID),
    ("np.std(a, axis=0, keepdims=True, correction=1)", GRID), ("np.std(a)", GRID.astype(np.float16)),
    ("np.std(a)", GRID * 1j), ("np.ptp(a, axis=0)", GRID), ("np.cumsum(a, dtype=np.float32)", GRID),
    ("np.cumprod(a, axis=0)", WHOLE), ("np.diff(a, axis=0)", GRID), ("np.diff(a, 2)", GRID), ("np.diff(a)", MASK),
    ("np.count_nonzero(a, axis=0, keepdims=True)", GRID), ("np.sum(a, axis=2)", GRID),
    ("np.sum(a, axis=(0, 0))", GRID), ("np.sum(a, axis=-3)", GRID), ("np.max(a, axis=())", GRID),
    ("np.sum(a, axis=())", MASK), ("np.sum(a, axis=(1, -3))", RNG.normal(size=(2, 3, 2))),
]  # fmt: skip


# spec: N3
@pytest.mark.parametrize(("expression", "a", "b"), KEYWORDS)
def test_keywords(expression, a, b):
    check(f"def f(a, b):\n    return {expression}\n", a, b)


# spec: N3
@pytest.mark.parametrize(("expression", "a"), ALONE)
def test_keywords_without_another_array(expression, a):
    check(f"def f(a):\n    return {expression}\n", a)
