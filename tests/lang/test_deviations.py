"""Where compiled code differs from NumPy on CPython: one test for each entry of docs/deviations.md."""

import math
import re
import warnings
from pathlib import Path

import pytest

import numpy as np
import weft
from doors import jitted
from support import function as program
from support import same
from weft import tensor

DOCS = Path(__file__).parents[2] / "docs" / "deviations.md"


def test_every_entry_names_a_test_that_exists():
    rows = re.findall(r"^\| \[(V\d+)\]\(.*?\) \| .* \| `(\w+)` \|$", DOCS.read_text(), re.M)
    assert [v for v, _ in rows] == re.findall(r"^## (V\d+) ", DOCS.read_text(), re.M)
    assert all(name in globals() for _, name in rows)


# spec: N2
def test_rounding_of_gamma():
    @weft.njit
    def f(x):
        return math.gamma(x), math.lgamma(x)

    for x in np.arange(0.3, 40, 0.37).tolist():
        np.testing.assert_allclose(f(x), f.py_func(x), rtol=4e-15, atol=1e-15)


# spec: N2
def test_rounding_of_complex_scalars():
    f = jitted(["np.multiply(x, y)", "x * y"], "xy")
    parts = np.random.default_rng(0).normal(size=(100, 4))
    for x, y in ((complex(*p[:2]), complex(*p[2:])) for p in parts.tolist()):
        function, operator = f(np.complex128(x), np.complex128(y))
        assert function == operator == x * y
        np.testing.assert_allclose(function, np.multiply(x, y), rtol=1e-14)


# spec: N9
def test_v1_python_ints_are_64_bit():
    f = jitted(["x * x"], "x")
    assert f.py_func(2**40) == (2**80,)
    with pytest.raises(OverflowError, match="64 bits"):
        f(2**40)
    same(f(np.int64(2**40)), (np.int64(0),))  # NumPy integers wrap in both


# spec: N2
def test_v2_a_name_has_one_type_where_paths_meet():
    @weft.njit
    def f(c):
        if c:
            x = 1
        else:
            x = 2.5
        return x

    assert type(f.py_func(True)) is int
    same(f(True), 1.0)

    @weft.njit
    def total(a):
        s = 0
        for v in a:
            s += v
        return s

    assert type(total.py_func(np.ones(0))) is int
    same(total(np.ones(0)), np.float64(0))
    same(total(np.ones(3, np.float32)), np.float32(3))

    f = jitted(["min(x, 2.5)", "max(x, 2.5)"], "x")
    assert repr(f.py_func(1)) == "(1, 2.5)"
    assert repr(f(1)) == "(1.0, 2.5)"

    @weft.njit
    def either(c, x, y):
        if c:
            z = x
        else:
            z = y
        return z

    assert type(either.py_func(True, 1.5, np.float64(2))) is float
    same(either(True, 1.5, np.float64(2)), np.float64(1.5))
    for x, y in [(np.int8(1), np.int64(1)), (np.zeros(1), np.zeros((1, 1))), (np.zeros(1), np.zeros(1, "f4"))]:
        with pytest.raises(weft.TypingError, match=r"(?s)`z` is .* on one path and .* on another.*z = y.*z = x"):
            either(True, x, y)


# spec: N2
def test_v3_an_int_to_a_negative_power():
    f = jitted(["x ** y"], "xy")
    assert f.py_func(2, -1) == (0.5,)
    with pytest.raises(weft.UnsupportedError, match=r"float\(x\)"):
        f(2, -1)


# spec: N2
def test_v4_a_negative_float_to_a_fractional_power():
    f = jitted(["x ** y"], "xy")
    assert type(f.py_func(-8.0, 0.5)[0]) is complex
    with pytest.raises(weft.UnsupportedError, match="complex"):
        f(-8.0, 0.5)
    with np.errstate(invalid="ignore"):
        same(f(np.float64(-8), 0.5), f.py_func(np.float64(-8), 0.5))  # nan in both


# spec: K5
def test_v5_a_float_that_does_not_fit_an_integer_dtype(device):
    x = tensor.asarray(np.array([np.nan, 1e20, -1e20]), device=device)
    same(tensor.asnumpy(tensor.astype(x, "int32")), np.full(3, np.iinfo("i4").min, "i4"))
    same(tensor.asnumpy(tensor.astype(x, "int64")), np.full(3, np.iinfo("i8").min, "i8"))


# spec: N12
def test_v6_writes_beside_an_exception(device):
    @weft.kernel
    def store(values, out):
        i = weft.get_global_id(0)
        out[i] = values[i]

    values, out = np.arange(1000.0), np.full(1000, -1, "i4")
    values[500] = 1e20
    with weft.device_context(device), pytest.raises(OverflowError, match="Python int too large to convert to C long"):
        store[1000](values, out)
    # CPython would have written 0 to 499; whatever ran is right, and nothing else was written.
    written = out != -1
    assert np.array_equal(out[written], values[written]) and out[500] == -1


# spec: N2
def test_v7_no_floating_point_warnings():
    f = jitted(["x / 0"], "x")
    with pytest.warns(RuntimeWarning):
        f.py_func(np.float64(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(f(np.float64(1)), (np.float64(np.inf),))


# spec: N2
def test_v8_parts_of_complex_arrays_are_copies():
    f = jitted(["x.real", "x.imag"], "x")
    x = np.array([1 + 2j, 3 - 4j])
    for mine, other in zip(f(x), f.py_func(x)):
        same(mine, other)
        assert not np.shares_memory(mine, x)
        assert np.shares_memory(other, x)


# spec: K5
def test_v9_zero_divided_by_a_bool():
    f = jitted(["x * (0.0 / (x <= 0))"], "x")
    x = np.array([0.72, -3.0])
    with np.errstate(all="ignore"):
        same(f(x), f.py_func(x))  # natively; Intel's OpenCL compiler gives 0 for nan


# spec: N10
def test_v10_arrays_that_are_not_aligned():
    f = jitted(["x + 1"], "x")
    x = np.zeros(9, np.uint8)[1:].view(np.float64)
    same(f.py_func(x), (np.ones(1),))
    with pytest.raises(weft.UnsupportedError, match=r"not aligned.*x.copy\(\)"):
        f(x)
    same(f(x.copy()), (np.ones(1),))


# spec: N10
def test_v11_the_base_of_a_part_of_a_new_array():
    @weft.njit
    def f(x):
        y = x + 1
        return y[1:]

    x = np.zeros((3, 2))
    ours, theirs = f(x), f.py_func(x)
    same(ours, theirs)
    assert ours.strides == theirs.strides
    assert theirs.base.shape == (3, 2) and ours.base.shape == (6,)
    ours.base[5] = 7
    assert ours[1, 1] == 7


# spec: N2
def test_v12_items_of_a_list_have_one_type():
    @weft.njit
    def f(a, x):
        a.append(x)
        return [1, x]

    ours, theirs = [1, 2], [1, 2]
    assert repr((f(ours, 2.5), ours)) == "([1.0, 2.5], [1.0, 2.0, 2.5])"
    assert repr((f.py_func(theirs, 2.5), theirs)) == "([1, 2.5], [1, 2, 2.5])"


# spec: N2
def test_v13_tuples_of_run_time_length():
    for expression in ("tuple(a)", "max(*a)", "(1, 2, 3)[: len(a)]"):
        f = jitted([expression], "a")
        f.py_func([1, 2])
        with pytest.raises(weft.UnsupportedError, match=r"(?s)-->.*\^.*help"):
            f([1, 2])


# spec: N2
def test_v14_exceptions_have_no_cause():
    @weft.njit
    def f(x):
        try:
            return 1 // x
        except ZeroDivisionError as error:
            raise KeyError(x) from error

    with pytest.raises(KeyError) as theirs:
        f.py_func(0)
    with pytest.raises(KeyError) as ours:
        f(0)
    assert theirs.value.args == ours.value.args == (0,)
    assert type(theirs.value.__cause__) is ZeroDivisionError and ours.value.__cause__ is None

    @weft.njit
    def again():
        raise

    def in_a_handler(f):
        try:
            raise KeyError
        except KeyError:
            f()

    with pytest.raises(KeyError):
        in_a_handler(again.py_func)
    with pytest.raises(RuntimeError, match="No active exception to reraise"):
        in_a_handler(again)

    @weft.njit
    def of_an_array(x):
        raise ValueError("a", x)

    with pytest.raises(weft.UnsupportedError, match="among its arguments"):
        of_an_array(np.arange(3))


# spec: N2
def test_v15_lists_are_copied():
    @weft.njit
    def f(a, x):
        a.append(x)
        if x < 0:
            raise ValueError("negative")
        return a

    item = float("1.5")
    ours, theirs = [item], [item]
    assert f(ours, 2.0) is ours and f.py_func(theirs, 2.0) is theirs
    assert ours == theirs == [1.5, 2.0]
    assert theirs[0] is item and ours[0] is not item
    with pytest.raises(ValueError, match="negative"):
        f(ours, -1.0)
    assert ours == [1.5, 2.0, -1.0]


# spec: N2
def test_v16_what_surely_raises():
    @weft.njit
    def unbound(a):
        a[0] = 7
        b = a
        del b
        return b  # noqa: F821

    for function, written in ((unbound.py_func, 7), (unbound, 0)):
        a = np.zeros(1)
        with pytest.raises(UnboundLocalError):
            function(a)
        assert a[0] == written
    with pytest.raises(weft.TypingError):
        unbound(np.zeros(1))

    @weft.njit
    def under_a_condition(a, c):
        a[0] = 7
        if c:
            a[0] = 1 // 0
        return a

    assert under_a_condition(np.zeros(1), False)[0] == 7
    a = np.zeros(1)
    with pytest.raises(ZeroDivisionError):
        under_a_condition(a, True)
    assert a[0] == 7


def test_v17_texts_of_cpython_3_11():
    @weft.njit
    def least(x):
        return min(x)

    with pytest.raises(ValueError, match=r"^min\(\) arg is an empty sequence$"):
        least(np.zeros(0))


def test_v18_linear_algebra_in_another_order():
    @weft.njit
    def product(a, b):
        return a @ b

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(90, 80)), rng.normal(size=(80, 70))
    assert (np.abs(product(a, b) - a @ b) <= 40 * np.finfo(float).eps * (np.abs(a) @ np.abs(b))).all()


def test_v19_diagonals_are_copies():
    @weft.njit
    def diagonal(a):
        return np.diag(a)

    a = np.arange(9.0).reshape(3, 3)
    for function, view in ((diagonal.py_func, True), (diagonal, False)):
        d = function(a)
        assert np.array_equal(d, [0, 4, 8])
        assert np.shares_memory(d, a) == view and d.flags.writeable != view


# spec: N2
def test_v20_what_may_be_read_only():
    @weft.njit
    def store(a):
        arrays = [a, np.ones(2)]
        arrays[1][0] = 5.0
        return arrays[1]

    frozen = np.zeros(2)
    frozen.flags.writeable = False
    assert np.array_equal(store.py_func(frozen), [5, 1])
    with pytest.raises(ValueError, match="read-only"):
        store(frozen)
    assert np.array_equal(store(frozen.copy()), [5, 1])


# spec: N14
def test_v21_sums_of_a_prange():
    @weft.njit
    def total(x):
        s = 0.0
        for i in weft.prange(len(x)):
            s += x[i]
        return s

    short = np.full(256, 0.1)
    assert total(short) == total.py_func(short)
    # Blocks of two: 1e16 + 1 loses the 1, 1 + 1 does not.
    x = np.ones(512)
    x[0] = 1e16
    assert total.py_func(x) == 1e16
    assert total(x) == 1e16 + 510


# spec: N3
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_v22_zeros_of_both_signs(dtype):
    @weft.njit
    def both(x, y):
        return np.fmin(x, y), np.fmax(x, y)

    @weft.njit
    def extremes(x):
        return x.min(), x.max()

    x, y = np.full(33, -0.0, dtype), np.full(33, 0.0, dtype)
    for first, second, negative in ((x, y, True), (y, x, False)):
        for ours, theirs in zip(both(first, second), both.py_func(first, second)):
            assert (np.signbit(ours) == negative).all()
            # NumPy's are of both signs.
            assert (ours == theirs).all()
        row = np.concatenate([first[:1], second])
        for ours, theirs in zip(extremes(row), extremes.py_func(row)):
            assert np.signbit(ours) == negative and ours == theirs


# spec: N3
def test_v23_new_shapes():
    @weft.njit
    def shaped(a):
        return a[::2].reshape(2, -1), a[:4].reshape(2, -1), a[::2].reshape(-1, 1)

    a = np.arange(8.0)
    ours, theirs = shaped(a), shaped.py_func(a)
    assert [np.shares_memory(a, part) for part in theirs] == [True, True, True]
    assert [np.shares_memory(a, part) for part in ours] == [False, True, True]
    assert all(np.array_equal(x, y) for x, y in zip(ours, theirs))

    @weft.njit
    def more(a):
        return a + 1

    grid = np.arange(24).reshape(4, 6)
    for a, alike in ((grid, True), (grid.T, True), (grid[::2], True), (grid[::2].T, False)):
        assert np.array_equal(more(a), a + 1) and (more(a).strides == (a + 1).strides) == alike


# spec: N3
def test_v24_the_sign_of_a_nan():
    @weft.njit
    def signs(x, y):
        z = x % y
        return np.isnan(z), np.signbit(z)

    x, y = np.array([1.0, -1.0, -3.0, 3.0]), np.array([0.0, 0.0, 2.0, -2.0])
    with np.errstate(all="ignore"):
        ours, theirs = signs(x, y), signs.py_func(x, y)
    assert np.array_equal(ours[0], theirs[0]) and ours[0].tolist() == [True, True, False, False]
    assert np.array_equal(ours[1][~ours[0]], theirs[1][~ours[0]])


# spec: N3
def test_v25_masks_that_share_memory():
    @weft.njit
    def cleared(a):
        a[a[::-1]] = False
        return a

    @weft.njit
    def cleared_apart(a):
        a[a[::-1].copy()] = False
        return a

    @weft.njit
    def moved(a):
        a[a > 1] = a[::-1][: (a > 1).sum()]
        return a

    @weft.njit
    def moved_apart(a):
        a[a > 1] = a[::-1].copy()[: (a > 1).sum()]
        return a

    bools = np.array([[k >> j & 1 for j in range(6)] for k in range(64)], dtype=bool)
    ints = np.random.default_rng(0).integers(0, 4, (64, 6))
    for rows, f, apart in ((bools, cleared, cleared_apart), (ints, moved, moved_apart)):
        theirs = [f.py_func(row.copy()).tolist() for row in rows]
        ours = [f(row.copy()).tolist() for row in rows]
        assert ours == [apart.py_func(row.copy()).tolist() for row in rows]
        assert ours != theirs


# spec: N2
def test_v26_a_nan_in_a_list():
    @weft.njit
    def found(items, k):
        x = items[k]
        return x in items, items.count(x), (x, 1) == (x, 1)

    @weft.njit
    def removed(items, k):
        items.remove(items[k])

    items = [1.0, math.nan, 2.0]
    assert found.py_func(items, 1) == (True, 1, True)
    assert found(items, 1) == (False, 0, False)
    assert found(items, 2) == found.py_func(items, 2)
    with pytest.raises(ValueError, match="not in list"):
        removed(items, 1)

    @weft.njit
    def in_order(items):
        return sorted(items)

    # Whatever the order: the items are the same ones.
    theirs, ours = in_order.py_func([1.0, -2.5, math.nan, -5.0]), in_order([1.0, -2.5, math.nan, -5.0])
    assert sorted(map(str, ours)) == sorted(map(str, theirs)) and str(ours) != str(theirs)


# spec: N2
def test_v27_generators_inside_iterators():
    @weft.njit
    def paired(items):
        seen = [0]

        def noted(x):
            seen.append(x)
            return x

        for _, x in zip(range(2), (noted(x) for x in items)):
            seen.append(-x)
        return seen

    @weft.njit
    def one_by_one(items):
        seen = [0]

        def noted(x):
            seen.append(x)
            return x

        for x in (noted(x) for x in items):
            seen.append(-x)
        return seen

    assert paired.py_func([1, 2, 3]) == [0, 1, -1, 2, -2]
    assert paired([1, 2, 3]) == [0, 1, 2, 3, -1, -2]
    assert one_by_one([1, 2, 3]) == one_by_one.py_func([1, 2, 3]) == [0, 1, -1, 2, -2, 3, -3]


# spec: N3
def test_v28_running_sums():
    x = np.random.default_rng(2).random(3 * 4096)

    @weft.njit
    def sums(x):
        return np.cumsum(x)

    ours, theirs = sums(x), np.cumsum(x)
    np.testing.assert_array_equal(ours[:4096], theirs[:4096])
    part = np.cumsum(x[4096:8192])
    np.testing.assert_array_equal(ours[4096:8192], theirs[4095] + part)
    assert (ours != theirs).any()
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)


# spec: N7
def test_v29_a_part_into_another():
    @weft.njit
    def put(a):
        a[1] = a[:, 2]
        return a

    a = np.arange(16.0).reshape(4, 4)
    copied = a.copy()
    copied[1] = a[:, 2].copy()
    np.testing.assert_array_equal(put(a.copy()), copied)
    theirs = put.py_func(a.copy())
    assert theirs[1, 2] == copied[1, 2] and (theirs != copied).any()

    @weft.njit
    def spread(a):
        a[::2] = a[:3]
        return a

    assert spread(np.arange(6)).tolist() == [0, 1, 1, 3, 2, 5]
    assert spread.py_func(np.arange(6)).tolist() == [0, 1, 1, 3, 1, 5]


# spec: N6
def test_v30_sums_in_another_order():
    @weft.njit
    def folded(x):
        return np.sum(x), np.mean(x)

    x = np.array([1e16, -1e16, 3.0])
    assert folded.py_func(x) == (3.0, 1.0)
    assert folded(x) == (4.0, 4.0 / 3)
    # In the order of the program where the program has one.
    added = program("s", ["x"], "s = 0.0\nfor v in x:\n    s += v")
    assert added(x) == added.py_func(x) == 3.0


def test_v31_functions_that_are_replaced(monkeypatch):
    @weft.njit
    def wave(x):
        return np.sin(x)

    @weft.njit
    def waves(f, x):
        return f(x)

    assert wave(0.0) == 0.0
    monkeypatch.setattr(np, "sin", np.cos)
    assert wave.py_func(0.0) == 1.0
    assert wave(0.0) == 0.0
    assert waves(np.sin, 0.0) == 1.0


# spec: N2
def test_v32_results_of_nothing():
    rows = program("np.array([[i, k] for i in range(n)])", ["n", "k"])
    same(rows(2, 5), rows.py_func(2, 5))
    assert rows.py_func(0, 5).shape == (0,) and rows(0, 5).shape in ((0, 2), (0, 0))
    counts = program("np.bincount(x, w)", ["x", "w"])
    nothing = (np.zeros(0, int), np.zeros(0))
    same(counts(np.ones(1, int), np.ones(1)), np.array([0.0, 1.0]))
    assert counts.py_func(*nothing).dtype == int and counts(*nothing).dtype == float


class Lengths(np.ndarray):
    """A subclass that changes nothing."""


class Column:
    """A column with missing values, that offers an array."""

    def __init__(self, data):
        self.data, self.dtype = data, data.dtype

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype, copy=copy)

    def mean(self):
        return np.nanmean(self.data)


# spec: N10
def test_v33_what_is_like_an_array(tmp_path):
    f = jitted(["x + 1", "x[1:]", "x"], "x")
    mapped = np.memmap(tmp_path / "data", dtype=np.float64, mode="w+", shape=(3,))
    for x in (np.ones(3).view(Lengths), mapped):
        more, part, all_of_it = f(x)
        theirs = f.py_func(x)
        assert type(theirs[1]) is type(x)
        assert type(more) is type(part) is np.ndarray
        assert np.array_equal(more, theirs[0]) and np.shares_memory(part, x) and all_of_it is x
    assert type(f.py_func(np.ones(3).view(Lengths))[0]) is Lengths
    column, mean = Column(np.array([1.0, np.nan])), jitted(["x.mean()"], "x")
    assert mean.py_func(column) == (1.0,)
    assert np.isnan(mean(column))
    more, part, all_of_it = f(column)
    assert type(more) is type(all_of_it) is np.ndarray and np.shares_memory(all_of_it, column.data)
