"""Where new arrays go, and what `x.device` means."""

import asyncio
import copy
import pickle
import threading

import pytest

import numpy as np
import weft
from support import OTHER, same
from weft import tensor


@pytest.fixture(autouse=True)
def no_global_queue():
    yield
    weft.reset_global_queue()


def makers():
    """Every creation function, by name."""
    return {
        "asarray": lambda **where: tensor.asarray([1.0, 2.0], **where),
        "empty": lambda **where: tensor.empty(2, **where),
        "full": lambda **where: tensor.full(2, 7, **where),
        "zeros": lambda **where: tensor.zeros(2, **where),
        "ones": lambda **where: tensor.ones(2, **where),
        "arange": lambda **where: tensor.arange(2, **where),
        "linspace": lambda **where: tensor.linspace(0, 1, 2, **where),
    }


# spec: B10
@pytest.mark.parametrize("maker", makers().values(), ids=makers())
def test_the_order_in_which_a_place_is_looked_for(maker):
    """Keywords, then the innermost device context, then the global queue, then WEFT_DEVICE, then the default device."""
    queues = [weft.Queue(OTHER, profiling=p, in_order=o) for p in (False, True) for o in (False, True)]
    named, inner, outer, everywhere = queues
    before = weft.config.device
    try:
        weft.config.device = "native"
        assert maker().queue == weft.Queue("native")
        weft.config.device = OTHER
        assert maker().queue == weft.Queue(OTHER)
        weft.set_global_queue(everywhere)
        assert maker().queue == everywhere
        with weft.device_context(outer), weft.device_context(inner):
            assert maker().queue == inner
            assert maker(queue=named).queue == named
            assert maker(sycl_queue=named).queue == named
            assert maker(device=named).queue == named
        weft.reset_global_queue()
        assert maker().queue == weft.Queue(OTHER)
    finally:
        weft.config.device = before


# spec: B10
def test_array_arguments_come_before_contexts():
    here = weft.Queue(OTHER, profiling=True)
    value = tensor.asarray(3.5, dtype=np.float32, queue=here, usm_type="shared")
    with weft.device_context("native"):
        filled = tensor.full((2, 3), value)
        assert filled.queue == here and filled.usm_type == "shared"
        assert tensor.asarray([value, value]).queue == here
        elsewhere = tensor.full((2, 3), value, device="native")
    assert elsewhere.device == weft.Device("native")
    for array in (filled, elsewhere):
        same(tensor.asnumpy(array), np.full((2, 3), np.float32(3.5)))


# spec: B5, B10
def test_asarray_gathers_arrays_from_anywhere():
    parts = [tensor.ones((2, 2), device="native"), tensor.zeros((2, 2), device=OTHER), np.full((2, 2), 2.0)]
    whole = tensor.asarray(parts, device=OTHER)
    assert whole.device == weft.Device(OTHER)
    same(tensor.asnumpy(whole), np.stack([np.ones((2, 2)), np.zeros((2, 2)), np.full((2, 2), 2.0)]))
    with pytest.raises(weft.ExecutionPlacementError, match=f"native:cpu:0.*{OTHER}.*device="):
        tensor.asarray(parts)


# spec: C2, B10
def test_a_global_queue_moves_creation_only():
    @weft.njit
    def double(x):
        return x * 2.0

    weft.set_global_queue(OTHER)
    same(double(np.ones(3)), np.full(3, 2.0))
    assert [s.device for s in double.specializations] == ["native:cpu:0"]
    assert weft.current_queue() is None
    assert tensor.ones(3).device == weft.Device(OTHER)


# spec: C2
def test_a_global_queue_belongs_to_a_thread_and_to_a_task():
    profiling = weft.Queue(OTHER, profiling=True)
    weft.set_global_queue(profiling)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(tensor.zeros(1).queue))
    thread.start()
    thread.join()
    assert seen == [weft.Queue()]

    async def with_its_own(where):
        weft.set_global_queue(where)
        await asyncio.sleep(0)
        return tensor.zeros(1).queue

    async def main():
        return await asyncio.gather(with_its_own("native"), with_its_own(OTHER))

    assert asyncio.run(main()) == [weft.Queue("native"), weft.Queue(OTHER)]
    assert tensor.zeros(1).queue == profiling


# spec: C2
def test_a_global_queue_is_a_place():
    for where in (OTHER, weft.Device(OTHER), weft.Queue(OTHER), tensor.ones(1, device=OTHER).device):
        weft.set_global_queue(where)
        assert tensor.zeros(1).queue == weft.Queue(OTHER)
    with pytest.raises(weft.DeviceError, match="nowhere"):
        weft.set_global_queue("nowhere")
    for bad in (None, 3):
        with pytest.raises(TypeError, match="place"):
            weft.set_global_queue(bad)


# spec: B10
def test_the_device_of_an_array_is_its_device_and_carries_its_queue():
    queue = weft.Queue(OTHER, profiling=True)
    device = tensor.ones(3, queue=queue).device
    plain = weft.Device(OTHER)
    assert device == plain and plain == device and hash(device) == hash(plain)
    assert device != weft.Device("native") and {plain: "found"}[device] == "found"
    assert isinstance(device, weft.Device)
    assert device.queue == device.sycl_queue == queue
    assert device.filter_string == OTHER and device.name == plain.name
    assert device.sycl_device == plain and not hasattr(device.sycl_device, "queue")
    device.wait()
    for other in (copy.copy(device), copy.deepcopy(device), pickle.loads(pickle.dumps(device))):
        assert other == plain and other.queue == queue


# spec: B10
def test_the_device_of_an_array_means_its_queue_wherever_a_place_is_expected():
    queue = weft.Queue(OTHER, profiling=True)
    device = tensor.ones(3, queue=queue).device
    assert tensor.zeros(3, device=device).queue == queue
    assert tensor.zeros(3, queue=device).queue == queue
    assert tensor.ones(3, device="native").to_device(device).queue == queue
    with weft.device_context(device) as opened:
        assert opened == queue
    assert tensor.zeros(3, device=weft.Device(device)).queue == weft.Queue(OTHER)


# spec: T2
@pytest.mark.parametrize("keyword", ["queue", "sycl_queue"])
def test_device_and_queue_together_must_agree(keyword):
    queue = weft.Queue(OTHER, profiling=True)
    array = tensor.ones(3, queue=queue)
    assert tensor.zeros(3, device=array.device, **{keyword: queue}).queue == queue
    with pytest.raises(TypeError, match=f"{keyword}= names .*profiling.* and device= names .*native"):
        tensor.zeros(3, device="native", **{keyword: queue})
    with pytest.raises(TypeError, match="give one"):
        tensor.zeros(3, device=OTHER, **{keyword: queue})


# spec: B5
def test_a_queue_may_be_the_second_positional_argument():
    queue = weft.Queue(OTHER, profiling=True)
    assert tensor.asarray([1.0, 2.0], queue).queue == queue
    moved = tensor.asarray(tensor.ones(3, device="native"), queue, usm_type="shared")
    assert moved.queue == queue and moved.usm_type == "shared"
    assert tensor.asarray([1], moved.device).queue == queue
    with pytest.raises(TypeError, match="two queues"):
        tensor.asarray([1], queue, queue=queue)


# spec: B5
def test_the_asarray_method():
    x = tensor.asarray(np.arange(4.0), device="native")
    for kind in ("device", "shared", "host"):
        moved = x.asarray(weft.Queue(OTHER), usm_type=kind)
        assert moved.queue == weft.Queue(OTHER) and moved.usm_type == kind
        same(tensor.asnumpy(moved), np.arange(4.0))
    assert x.asarray(x.queue) is x


# spec: B5
def test_moving_within_a_context_copies_nothing(device):
    x = tensor.asarray(np.arange(4.0), device=device)
    (x + 1.0).item  # a pending operation, so that the queue has work
    with weft.trace() as trace:
        moved = x.to_device(weft.Queue(device, profiling=True))
        back = moved.to_device(device=x.device)
    assert not trace.copies
    assert moved.queue.has_profiling and back.queue == x.queue
    same(tensor.asnumpy(moved + 1.0), np.arange(4.0) + 1.0)
    same(tensor.asnumpy(back), np.arange(4.0))


# spec: B5, T5
def test_arrays_that_share_memory_do_not_see_each_others_kernel_writes(device):
    @weft.kernel
    def negate(a):
        i = weft.get_global_id(0)
        a[i] = -a[i]

    x = tensor.asarray(np.arange(4.0), device=device)
    moved = x.to_device(weft.Queue(device, profiling=True))
    negate[4](moved)
    same(tensor.asnumpy(x), np.arange(4.0))
    same(tensor.asnumpy(moved), -np.arange(4.0))
    negate[4](x)
    same(tensor.asnumpy(x), -np.arange(4.0))
    same(tensor.asnumpy(moved), -np.arange(4.0))


# spec: T2
def test_usm_ndarray_takes_data_or_a_shape():
    queue = weft.Queue(OTHER, profiling=True)
    for spelling in ({"type": "shared"}, {"usm_type": "shared"}, {"type": "shared", "usm_type": "shared"}):
        x = tensor.usm_ndarray([1, 2, 3, 4], queue=queue, **spelling)
        assert x.queue == queue and x.usm_type == "shared" and isinstance(x, tensor.usm_ndarray)
        same(tensor.asnumpy(x), np.array([1, 2, 3, 4]))
    assert tensor.usm_ndarray(x, queue=x.queue) is not x
    empty = tensor.usm_ndarray((2, 3), "float32", buffer="host")
    assert empty.shape == (2, 3) and empty.dtype == np.float32 and empty.usm_type == "host"
    assert tensor.usm_ndarray(5).shape == (5,)
    with pytest.raises(TypeError, match="give one"):
        tensor.usm_ndarray([1], type="shared", usm_type="host")
    with pytest.raises(TypeError, match="buffer="):
        tensor.usm_ndarray([1], type="shared", buffer="host")


# spec: B1
def test_an_array_names_its_queue_and_device_in_both_vocabularies(device):
    x = tensor.ones(3, device=device)
    assert x.queue == x.sycl_queue == weft.Queue(device)
    assert x.device == x.sycl_device == x.queue.device


# spec: B4
def test_the_usm_type_of_a_result():
    kinds = ["device", "shared", "host"]
    for i, first in enumerate(kinds):
        assert weft.utils.get_coerced_usm_type([first]) == first
        for j, second in enumerate(kinds):
            assert weft.utils.get_coerced_usm_type([first, second]) == kinds[min(i, j)]
    assert weft.utils.get_coerced_usm_type([]) is None
    with pytest.raises(ValueError, match="managed"):
        weft.utils.get_coerced_usm_type(["device", "managed"])
    with pytest.raises(TypeError):
        weft.utils.get_coerced_usm_type("device")


# spec: B3
def test_the_queue_of_a_call():
    one, twin, profiling = weft.Queue(OTHER), weft.Queue(OTHER), weft.Queue(OTHER, profiling=True)
    assert weft.utils.get_execution_queue([one, twin]) is one
    assert weft.utils.get_execution_queue((profiling,)) is profiling
    assert weft.utils.get_execution_queue([one, profiling]) is None
    assert weft.utils.get_execution_queue([]) is None
    with pytest.raises(TypeError):
        weft.utils.get_execution_queue([OTHER])
