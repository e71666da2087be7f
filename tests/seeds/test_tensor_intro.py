"""Listings of "Intro to dpctl.tensor"."""

import numpy
import weft
import weft.compat.dpctl as dpctl
from support import same
from weft.compat.dpctl import tensor


# spec: B5, D5
def test_to_device_migrates_without_a_copy(places):
    """With 10**6 elements, not 10**8."""
    x = tensor.linspace(0, 1, num=10**6, device=places.gpu)
    q_prof = dpctl.SyclQueue(x.sycl_context, x.sycl_device, property="enable_profiling")

    timer = dpctl.SyclTimer()
    with weft.trace() as trace:
        # no data migration takes place here (zero-copy),
        # but x and x1 arrays do not satify compute-follows-data requirements
        x1 = x.to_device(q_prof)

        with timer(q_prof):
            y1 = tensor.sin(2 * x1) * tensor.exp(-tensor.square(x1))

        # also a zero copy operation
        y = y1.to_device(x.device)
    assert not trace.copies
    assert x1.queue != x.queue and y.queue == x.queue

    host_dt, device_dt = timer.dt
    print(f"Execution on device {x.sycl_device.name} took {device_dt} seconds")
    print(f"Execution on host took {host_dt} seconds")
    assert host_dt > 0 and device_dt >= 0
    x_np = numpy.linspace(0, 1, num=10**6)
    same(tensor.asnumpy(y), numpy.sin(2 * x_np) * numpy.exp(-numpy.square(x_np)))


# spec: B5, B7
def test_asarray_may_migrate_multiple_arrays(places):
    x_cpu = tensor.ones((10, 10), device="cpu")
    x_gpu = tensor.zeros((10, 10), device=places.gpu)
    x_np = numpy.random.default_rng(1).standard_normal((10, 10))

    # Array w has shape (3, 10, 10)
    w = tensor.asarray([x_cpu, x_gpu, x_np], device=places.gpu)

    assert w.shape == (3, 10, 10) and w.device == dpctl.SyclDevice(places.gpu)
    same(tensor.asnumpy(w), numpy.stack([numpy.ones((10, 10)), numpy.zeros((10, 10)), x_np]))


# spec: B10, B7
def test_usm_ndarray_as_an_argument_of_array_construction(places):
    # Zero-dimensional array allocated on CPU device
    pi_on_device = tensor.asarray(tensor.pi, dtype=tensor.float32, device="cpu")

    # x will also be allocated on CPU device
    x = tensor.full(shape=(100, 100), fill_value=pi_on_device)
    assert x.queue == pi_on_device.queue

    # Create array on GPU. Migration of `pi_on_device` to GPU via host
    # takes place under the hood
    y_gpu = tensor.full(shape=(100, 100), fill_value=pi_on_device, device=places.gpu)
    assert y_gpu.device == dpctl.SyclDevice(places.gpu)
    for array in (x, y_gpu):
        same(tensor.asnumpy(array), numpy.full((100, 100), numpy.float32(numpy.pi)))


# spec: B4
def test_get_coerced_usm_type():
    from weft.compat.dpctl.utils import get_coerced_usm_type

    # r1 has value "device"
    r1 = get_coerced_usm_type(["device", "shared", "host"])

    # r2 has value "shared"
    r2 = get_coerced_usm_type(["shared", "shared", "host"])

    # r3 has value "host"
    r3 = get_coerced_usm_type(["host", "host", "host"])

    assert (r1, r2, r3) == ("device", "shared", "host")
