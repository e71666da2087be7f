"""Listings of "XPU offloading semantics". Placeholder packages get bodies."""

import pytest

import numpy as np
import weft
import weft.compat.dpctl as dpctl
from support import same
from weft.compat.dpctl import tensor


# spec: B1
def test_data_containers(places):
    usm_array = tensor.ones(4, queue=places.gpu_queue)
    assert isinstance(usm_array.queue, dpctl.SyclQueue)
    assert isinstance(usm_array.device, dpctl.SyclDevice)
    assert usm_array.usm_type in ("shared", "device", "host")


# spec: C3
def test_a_context_of_sub_devices():
    """On native, which can always be divided; the document says `partition="L2_cache"`."""
    root_dev = dpctl.SyclDevice("cpu")
    try:
        sub_devs = root_dev.create_sub_devices(partition="L2_cache")
    except weft.DeviceError:
        sub_devs = root_dev.create_sub_devices(partition=1)
    ctx = dpctl.SyclContext(sub_devs)
    qs = [dpctl.SyclQueue(ctx, sd) for sd in sub_devs]

    # allocate memory on qs[-1] and compute on it on qs[0]
    ar2 = tensor.asarray(np.arange(4.0), queue=qs[-1])
    ar1 = tensor.ones(4, queue=qs[0])
    assert ar1.sycl_context == ar2.sycl_context == ctx
    ar3 = tensor.asarray(ar2, device=ar1.sycl_queue)
    same(tensor.asnumpy(ar1 + ar3), np.arange(4.0) + 1.0)


# spec: C3
def test_memory_of_one_tile_on_the_queue_of_another():
    """ "HPC user might want explicit control": `weft.placement` walks away from computation that follows data."""
    sub_devs = dpctl.SyclDevice("cpu").create_sub_devices(partition=1)
    ctx = dpctl.SyclContext(sub_devs)
    qs = [dpctl.SyclQueue(ctx, sd) for sd in sub_devs]
    ar1 = tensor.ones(4, queue=qs[0])
    ar2 = tensor.asarray(np.arange(4.0), queue=qs[-1])
    with weft.placement("context"):
        result = tensor.maximum(ar1, ar2)
    assert result.queue == ar1.queue
    same(tensor.asnumpy(result), np.maximum(1.0, np.arange(4.0)))


# spec: B3, B5
def test_explicit_control(places):
    ar1 = tensor.ones(4, queue=places.gpu_queue)
    ar2 = tensor.ones(4, queue=places.gpu_queue_1)
    assert ar1.sycl_context == ar2.sycl_context and ar1.queue != ar2.queue

    with pytest.raises(dpctl.utils.ExecutionPlacementError):
        tensor.maximum(ar1, ar2)  # which device should computation be performed at?

    ar3 = tensor.asarray(ar2, device=ar1.sycl_queue)
    assert tensor.maximum(ar1, ar3).queue == ar1.queue


# spec: C2
def test_a_global_queue(places):
    def compute(x):
        """What a package does with host data and the current queue."""
        return tensor.asarray(x) * 2.0

    x = np.arange(4.0)
    dpctl.set_global_queue(places.gpu)
    result = compute(x)
    dpctl.reset_global_queue()

    assert result.device == dpctl.SyclDevice(places.gpu)
    assert compute(x).device == weft.default_device()
    same(tensor.asnumpy(result), x * 2.0)
