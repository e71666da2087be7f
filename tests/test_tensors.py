"""What there is of tensors on every device, and what says that it is not there yet."""

import copy
import operator
import pickle

import pytest

import numpy as np
import weft
import weft.tensor as wt
from support import same

ONE = ["sin", "cos", "exp", "log", "sqrt", "square", "abs"]
TWO = ["minimum", "maximum"]


# spec: T1
@pytest.mark.parametrize("name", ONE + TWO)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_elements(name, dtype, device):
    x = np.linspace(0.25, 4, 100, dtype=dtype)
    given = (x,) if name in ONE else (x, x[::-1].copy())
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(*given)
    same(wt.asnumpy(getattr(wt, name)(*(wt.asarray(a, device=device) for a in given))), wanted)


# spec: T1, T2
def test_creation(device):
    for ours, wanted in [
        (wt.zeros((2, 3), dtype="int16", device=device), np.zeros((2, 3), np.int16)),
        (wt.ones(4, dtype="bool", device=device), np.ones(4, bool)),
        (wt.full((2, 2), 2.5, device=device), np.full((2, 2), 2.5)),
        (wt.arange(3, 20, 4, dtype="uint8", device=device), np.arange(3, 20, 4, dtype=np.uint8)),
        (wt.linspace(0, 1, num=5, dtype="float32", device=device), np.linspace(0, 1, 5, dtype=np.float32)),
    ]:
        same(wt.asnumpy(ours), wanted)


# spec: T6
@pytest.mark.parametrize("dtype", list("?bhilBHILfdFD"))
def test_there_and_back(dtype, device):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    t = wt.from_numpy(x, device=device)
    assert t.dtype == x.dtype and t.shape == x.shape
    same(wt.asnumpy(t), x)
    x[0, 0] = 1
    assert wt.asnumpy(t)[0, 0] == 0


# spec: T6
def test_it_prints_as_numpy_prints(device):
    x = np.linspace(0, 1, 5)
    t = wt.asarray(x, device=device)
    assert str(t) == str(x)
    assert repr(t) == repr(x).replace("array", "usm_ndarray")
    assert repr(wt.astype(t, "float32")) == repr(x.astype(np.float32)).replace("array", "usm_ndarray")


# spec: T6a
def test_it_does_not_become_a_numpy_array_by_itself(device):
    x, t = np.ones(3), wt.ones(3, device=device)
    with pytest.raises(weft.ExecutionPlacementError):
        x + t
    with pytest.raises(weft.ExecutionPlacementError):
        t + x
    for compute in (lambda: np.sin(t), lambda: np.add(x, t)):
        with pytest.raises(TypeError):
            compute()
    with pytest.raises(TypeError):
        x += t
    assert (x == 1).all()


# spec: T6a
@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        np.array,
        np.ascontiguousarray,
        lambda t: np.array(t, copy=True),
        lambda t: np.asarray(t, dtype="float32"),
        lambda t: np.array([t, t]),
        lambda t: np.concatenate([t, t]),
        lambda t: np.zeros(3).__setitem__(slice(None), t),
    ],
)
def test_numpy_is_told_how_to_copy_it(convert, device):
    with pytest.raises(weft.ExecutionPlacementError, match=r"copy it with weft.tensor.asnumpy\(x\)"):
        convert(wt.ones(3, device=device))


# spec: T5
def test_one_element_becomes_a_number_and_several_do_not(device):
    for value, convert in [(2.5, float), (2.5, int), (1 + 2j, complex), (True, bool), (2.5, complex), (7, float)]:
        for host in (np.array(value), np.array([value])):
            t = wt.asarray(host, device=device)
            result = convert(t)
            assert result == convert(value) and type(result) is convert
            several = wt.asarray(np.array([value, value]), device=device)
            with pytest.raises(ValueError, match="more than one element" if convert is bool else "array of size 1"):
                convert(several)
    for convert in (float, int):
        with pytest.raises(TypeError, match=rf"{convert.__name__}\(\) argument must be .*not 'complex'"):
            convert(wt.asarray(np.array(1 + 2j), device=device))
    with pytest.raises(ValueError, match="empty array is ambiguous"):
        bool(wt.zeros(0, device=device))


# spec: T5
def test_what_python_asks_of_an_array(device):
    t, x, number = wt.arange(3.0, device=device), np.arange(3.0), wt.asarray(np.array(2.5), device=device)
    assert len(t) == 3 and f"{t}" == f"{x}" and f"{number:.2f}" == f"{np.array(2.5):.2f}" == "2.50"
    for several, one in [(t, number), (x, np.array(2.5))]:
        for ask, error in [
            (lambda t, n: len(n), TypeError),
            (lambda t, n: iter(n), TypeError),
            (lambda t, n: f"{t:.2f}", TypeError),
            (lambda t, n: hash(t), TypeError),
            (lambda t, n: pow(t, 2.0, 3.0), TypeError),
            (lambda t, n: operator.delitem(t, 0), ValueError),
        ]:
            with pytest.raises(error):
                ask(several, one)
    with pytest.raises(weft.UnsupportedError, match="loops over them"):
        iter(t)
    with pytest.raises(weft.UnsupportedError, match="stores into elements"):
        t[0] = 1.0


# spec: T5
@pytest.mark.parametrize("other", [None, "a"])
def test_no_element_equals_what_is_no_number(other, device):
    t, x = wt.asarray(np.array([1.0, np.nan]), device=device), np.array([1.0, np.nan])
    for result, expected in [(t == other, x == other), (t != other, x != other)]:
        assert wt.asnumpy(result).tolist() == expected.tolist() and result.dtype == bool
    assert (t == object()) is False


# spec: T5
def test_comparing_with_a_list_says_what_to_do(device):
    for compare in (lambda t: t == [1.0, 2.0], lambda t: t != (1.0, 2.0)):
        with pytest.raises(TypeError, match=r"use weft\.tensor\.asarray"):
            compare(wt.ones(2, device=device))


# spec: T6
@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_a_copy_is_an_array_of_its_own_in_the_same_place(make, dtype, device):
    x = (np.arange(6).reshape(2, 3) % 2).astype(dtype)
    t = wt.asarray(x, device=device, usm_type="shared")
    made = make(t)
    again = wt.asarray(t, copy=True)
    x, before = x.copy(), t
    t = operator.ixor(t, True) if dtype == "bool" else operator.iadd(t, 1)
    assert t is before and wt.asnumpy(t).tolist() != x.tolist()
    assert (made.queue.device, made.usm_type, made.dtype) == (t.queue.device, "shared", x.dtype)
    for result in (made, again):
        assert wt.asnumpy(result).tolist() == x.tolist() and result is not t


# spec: T5, G2
@pytest.mark.parametrize(
    "look", [lambda t: t[0], lambda t: t[1:], lambda t: list(t), lambda t: 1.0 in t, lambda t: max(t), lambda t: [*t]]
)
def test_items_are_refused_and_not_none(look, device):
    with pytest.raises(weft.UnsupportedError, match=r"not supported yet: use weft.tensor.asnumpy\(x\)"):
        look(wt.ones(3, device=device))
