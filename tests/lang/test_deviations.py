"""Where compiled code differs from NumPy on CPython: one test for each entry of docs/deviations.md."""

import re
import warnings
from pathlib import Path

import pytest

import numpy as np
import weft
from doors import jitted
from support import same
from weft import tensor

DOCS = Path(__file__).parents[2] / "docs" / "deviations.md"


def test_every_entry_names_a_test_that_exists():
    rows = re.findall(r"^\| \[(V\d+)\]\(.*?\) \| .* \| `(\w+)` \|$", DOCS.read_text(), re.M)
    assert [v for v, _ in rows] == re.findall(r"^## (V\d+) ", DOCS.read_text(), re.M)
    assert all(name in globals() for _, name in rows)


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
