"""Listings of "Compute follows data". `f(a, b, c)` becomes `f[a.shape](a, b, c)`: a bare call says so."""

import pytest

import numpy
import weft
import weft.compat.dpctl as dpctl
from support import same
from weft.compat import numba_dppy


@numba_dppy.kernel
def f(a, b, c):
    i = numba_dppy.get_global_id(0)
    c[i] = a[i] * b[i]


def product(array):
    return numpy.asarray(array) if isinstance(array, numpy.ndarray) else dpctl.tensor.asnumpy(array)


SQUARES = numpy.array([1, 4, 9, 16])


# spec: B1
def test_attributes_of_data(places):
    a = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="shared", queue=places.gpu_queue)
    assert isinstance(a.queue, dpctl.SyclQueue) and a.queue == places.gpu_queue
    assert isinstance(a.device, dpctl.SyclDevice) and a.device == places.gpu_queue.device
    assert a.usm_type == "shared"
    assert isinstance(a.__sycl_usm_array_interface__, dict)


# spec: B2, B3
def test_rule_1_one_queue(places):
    a = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="shared", queue=places.gpu_queue)
    b = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="shared", queue=places.gpu_queue)
    c = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="shared", queue=places.gpu_queue)

    f[a.shape](a, b, c)  # offloading to gpu_queue
    same(product(c), SQUARES)

    with pytest.raises(TypeError, match=r"f\[global_size\]"):
        f(a, b, c)


# spec: B3
def test_rule_1_queues_that_are_not_equivalent(places):
    a = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="shared", queue=places.gpu_queue)
    b = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="shared", queue=places.gpu_queue_1)
    c = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="shared", queue=places.gpu_queue_1)

    with pytest.raises(dpctl.utils.ExecutionPlacementError):
        f[a.shape](a, b, c)  # raising error as queues are not equivalent


# spec: B2, B3
def test_rule_1_equivalent_queues(places):
    a = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="shared", queue=places.gpu_queue_1)
    b = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="shared", queue=places.gpu_queue_2)
    c = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="shared", queue=places.gpu_queue_2)

    f[a.shape](a, b, c)  # offloading to gpu_queue_1 or gpu_queue_2 depending on implementation
    same(product(c), SQUARES)


# spec: B4
def test_rule_2_usm_types_mix(places):
    a = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="shared", queue=places.gpu_queue)
    b = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="device", queue=places.gpu_queue)
    c = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="host", queue=places.gpu_queue)

    f[a.shape](a, b, c)  # offloading to gpu_queue even if USM-types are different
    same(product(c), SQUARES)


# spec: B5
def test_rule_3_helper_functions(places):
    data, queue = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="host", queue=places.gpu_queue_1), places.gpu_queue
    pkg = dpctl.tensor
    for moved in (data.asarray(queue, usm_type="device"), pkg.asarray(data, queue, usm_type="device")):
        assert moved.queue == queue and moved.usm_type == "device"
        same(product(moved), numpy.array([1, 2, 3, 4]))


# spec: B3, B5
def test_rule_3_data_made_compatible(places):
    # gpu_queue_1 and gpu_queue_2 are not equivalent here.
    gpu_queue_1, gpu_queue_2 = places.gpu_queue, places.gpu_queue_2
    a = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="device", queue=gpu_queue_1)
    b = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="device", queue=gpu_queue_2)
    c = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="device", queue=gpu_queue_2)

    with pytest.raises(dpctl.utils.ExecutionPlacementError):
        f[a.shape](a, b, c)  # raising error as queues are not equivalent

    with weft.trace() as trace:
        a_queue_2 = dpctl.tensor.asarray(a, queue=gpu_queue_2)  # potentially zero-copy
    assert not trace.copies

    f[a.shape](a_queue_2, b, c)  # offloading to gpu_queue_2
    same(product(c), SQUARES)


# spec: B6
def test_numpy_arrays_and_kernels(places):
    a = numpy.asarray([1, 2, 3, 4])
    b = numpy.asarray([1, 2, 3, 4])
    c = numpy.asarray([1, 2, 3, 4])

    with pytest.raises(dpctl.utils.ExecutionPlacementError):
        f[a.shape](a, b, c)  # raising error as the queue to submit the kernel can not be determined

    with numba_dppy.offload_to_sycl_device(places.gpu_queue):
        f[a.shape](a, b, c)  # offloading to gpu_queue
    same(c, SQUARES)


# spec: B7
def test_numpy_arrays_and_usm_arrays_do_not_mix(places):
    a = numpy.asarray([1, 2, 3, 4])
    b = numpy.asarray([1, 2, 3, 4])
    c = dpctl.tensor.usm_ndarray([1, 2, 3, 4], type="device", queue=places.gpu_queue_2)

    with pytest.raises(dpctl.utils.ExecutionPlacementError):
        f[a.shape](a, b, c)  # raising error as the queue to submit the kernel can not be determined

    with numba_dppy.offload_to_sycl_device(places.gpu_queue):
        with pytest.raises(dpctl.utils.ExecutionPlacementError):
            f[a.shape](a, b, c)  # raising error as the queue to submit the kernel can not be determined

    with numba_dppy.offload_to_sycl_device(places.gpu_queue_2):
        with pytest.raises(dpctl.utils.ExecutionPlacementError):
            # raising error as inferring the SYCL queue can not be accomplished for data a and b
            f[a.shape](a, b, c)


# spec: B4, B9
def test_output_type_inference(places):
    @weft.njit
    def add(x, y):
        return x + y

    table = {
        "device": {"device": "device", "shared": "device", "host": "device"},
        "shared": {"device": "device", "shared": "shared", "host": "shared"},
        "host": {"device": "device", "shared": "shared", "host": "host"},
    }
    for first, row in table.items():
        for second, result in row.items():
            x = dpctl.tensor.usm_ndarray([1, 2], type=first, queue=places.gpu_queue)
            y = dpctl.tensor.usm_ndarray([1, 2], type=second, queue=places.gpu_queue)
            assert add(x, y).usm_type == result
