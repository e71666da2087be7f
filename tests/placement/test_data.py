"""Compute follows data: device arrays in jitted calls."""

import pytest

import numpy as np
import weft
from support import OTHER, same
from weft import tensor


@weft.njit
def line(a, x, y):
    return a * x + y


# spec: B9
def test_results_live_where_the_arguments_live(device):
    x = tensor.asarray(np.arange(50.0), device=device)
    with weft.trace() as trace:
        z = line(2.0, x, x)
    assert not trace.copies
    assert isinstance(z, tensor.usm_ndarray) and z.queue == x.queue and z.usm_type == "device"
    same(tensor.asnumpy(z), np.arange(50.0) * 3.0)


# spec: B9
def test_a_returned_argument_is_the_same_object(device):
    @weft.njit
    def pass_through(x):
        return x, 1

    x = tensor.zeros(3, device=device)
    assert pass_through(x)[0] is x


# spec: B3
def test_arrays_of_different_queues_are_refused():
    x = tensor.zeros(3, device="native")
    y = tensor.zeros(3, device=OTHER)
    with pytest.raises(weft.ExecutionPlacementError) as caught:
        line(1.0, x, y)
    text = str(caught.value)
    assert "`x` lives on native:cpu:0" in text
    assert f"`y` lives on {OTHER}: pass y.to_device(x.queue)" in text


# spec: B3, B2
def test_equal_queues_mix():
    x = tensor.ones(3, queue=weft.Queue(OTHER))
    y = tensor.ones(3, queue=weft.Queue(OTHER))
    same(tensor.asnumpy(line(1.0, x, y)), np.full(3, 2.0))
    z = tensor.ones(3, queue=weft.Queue(OTHER, profiling=True))
    with pytest.raises(weft.ExecutionPlacementError, match="profiling"):
        line(1.0, x, z)


# spec: B7
def test_numpy_and_device_arrays_do_not_mix(device):
    x = tensor.zeros(3, device=device)
    for context in (None, device):
        with weft.device_context(context) if context else weft.trace():
            with pytest.raises(weft.ExecutionPlacementError, match="NumPy array `y` and with `x`"):
                line(1.0, x, np.zeros(3))


# spec: B8
def test_data_win_over_a_context_with_a_warning():
    x = tensor.ones(3, device="native")
    with weft.device_context(OTHER):
        with pytest.warns(weft.PlacementWarning, match=f"runs on native:cpu:0.*names {OTHER}"):
            z = line(1.0, x, x)
    assert z.device.backend == "native"
    with weft.device_context("native"):
        line(1.0, x, x)


# spec: B4
def test_usm_types_mix_and_the_lowest_wins():
    kinds = ["device", "shared", "host"]
    for i, first in enumerate(kinds):
        for j, second in enumerate(kinds):
            x = tensor.ones(3, device=OTHER, usm_type=first)
            y = tensor.ones(3, device=OTHER, usm_type=second)
            assert line(1.0, x, y).usm_type == kinds[min(i, j)]
