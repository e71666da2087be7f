"""Kernels call functions, and what they raise comes out of the launch."""

import traceback

import pytest

import numpy as np
import weft


def plain(v):
    return v * v + 1


@weft.njit
def jitted(v, k=3):
    return plain(v) * k


@weft.kernel
def calling(a, out):
    i = weft.get_global_id(0)
    out[i] = jitted(a[i]) - plain(a[i])


@weft.kernel
def refusing(a, limit):
    i = weft.get_global_id(0)
    if a[i] > limit:
        raise ValueError("too large")
    a[i] = 0


@weft.kernel
def asserting(a):
    i = weft.get_global_id(0)
    assert a[i] < 7, "seven or more"
    a[i] = 0


# spec: K1, G2
@pytest.mark.parametrize("look", [list, lambda k: [*k], sum])
def test_a_kernel_has_no_items(look):
    with pytest.raises(TypeError, match=r"a kernel has no items: it is launched by f\[global_size\]"):
        look(calling)
    with pytest.raises(TypeError, match="is not iterable"):
        3 in calling


# spec: K4
def test_a_kernel_calls_plain_and_jitted_functions(device):
    a = np.arange(100.0)
    out = np.zeros(100)
    with weft.device_context(device):
        calling[a.shape](a, out)
    assert np.array_equal(out, 2 * (a * a + 1))


# spec: K6
@pytest.mark.parametrize(
    "launch, kind, says, line",
    [
        (lambda a: refusing[a.shape](a, 5.0), ValueError, "too large", 'raise ValueError("too large")'),
        (lambda a: asserting[a.shape](a), AssertionError, "seven or more", 'assert a[i] < 7, "seven or more"'),
    ],
)
def test_exceptions_have_the_line_of_the_kernel(launch, kind, says, line, device):
    a = weft.tensor.arange(10, dtype="float64", device=device)
    with pytest.raises(kind, match=says) as caught:
        launch(a)
    assert traceback.extract_tb(caught.tb)[-1].line == line
    launch(weft.tensor.zeros(10, device=device))  # the device goes on
