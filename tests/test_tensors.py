"""What there is of tensors on every device, and what says that it is not there yet."""

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


# spec: T5, G2
@pytest.mark.parametrize(
    "look", [lambda t: t[0], lambda t: t[1:], lambda t: list(t), lambda t: 1.0 in t, lambda t: max(t), lambda t: [*t]]
)
def test_items_are_refused_and_not_none(look, device):
    with pytest.raises(weft.UnsupportedError, match=r"not supported yet: use weft.tensor.asnumpy\(x\)"):
        look(wt.ones(3, device=device))
