"""Queues: their properties, copies, fills and barriers."""

import pickle

import pytest

import numpy as np
import weft
from support import OTHER
from weft import memory


# spec: B2, D3
def test_properties_by_their_names(device):
    plain = weft.Queue(device)
    assert plain.is_in_order and not plain.has_profiling and not plain.has_enable_profiling
    profiling = weft.Queue(device, property="enable_profiling")
    assert profiling.has_enable_profiling and profiling.has_profiling and profiling.is_in_order
    assert profiling == weft.Queue(device, profiling=True) != plain
    assert hash(profiling) == hash(weft.Queue(device, profiling=True))
    assert weft.Queue(device, property=("in_order", "enable_profiling")) == profiling
    assert not weft.Queue(device, in_order=False).is_in_order
    assert plain.backend == plain.device.backend and plain.name == plain.device.name
    assert plain.sycl_device == plain.device
    assert pickle.loads(pickle.dumps(profiling)) == profiling
    with pytest.raises(ValueError, match='not "fast"'):
        weft.Queue(device, property="fast")
    with pytest.raises(TypeError):
        weft.Queue(device, property=3)


# spec: B2, C3, D3
def test_a_queue_on_a_context_and_a_device(device):
    plain = weft.Queue(device)
    again = weft.Queue(plain.context, plain.device, property="enable_profiling")
    assert again.has_profiling and again.device == plain.device and again.context == plain.context
    assert weft.Queue(plain.context, plain.device) == plain


@pytest.fixture(params=[True, False], ids=["in_order", "out_of_order"])
def q(device, request):
    """A queue of its own, in order and not."""
    return weft.Queue(device, in_order=request.param)


# spec: D3, D4
@pytest.mark.parametrize("sync", [True, False])
def test_memcpy_between_host_and_device(q, sync):
    source = np.arange(1000.0)
    m = memory.DeviceMemory(8000, queue=q)
    event = q.memcpy(m, source, sync=sync)
    assert isinstance(event, weft.Event) and (not sync or event.execution_status == "complete")
    target = np.zeros(1000)
    q.memcpy_async(target, m, wait_for=[event]).wait()
    np.testing.assert_array_equal(target, source)
    q.memcpy(target, m, 8)
    few = bytearray(24)
    q.memcpy(few, m, 24)
    assert bytes(few) == source[:3].tobytes()


# spec: D3, D4
def test_memcpy_between_devices(q):
    for other in (weft.Queue("native"), weft.Queue(OTHER), weft.Queue(q, profiling=True)):
        for runner in (q, other):
            a, b = memory.DeviceMemory(4096, queue=q), memory.DeviceMemory(4096, queue=other)
            a.copy_from_host(np.arange(512))
            event = runner.memcpy_async(b, a)
            # Freed in order: nothing may take the memory before the copy is done.
            del a
            memory.DeviceMemory(4096, queue=q).memset(1)
            event.wait()
            assert bytes(b) == np.arange(512).tobytes()


# spec: D3
def test_a_dropped_event_keeps_the_memory(q):
    m = memory.DeviceMemory(1 << 22, queue=q)
    for _ in range(20):
        q.memcpy_async(m, np.full(1 << 19, 3.0))
    q.wait()
    np.testing.assert_array_equal(np.frombuffer(bytes(m)), np.full(1 << 19, 3.0))


# spec: D3
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, bytes([7]) * 64),
        (np.int16(-2), np.full(32, -2, np.int16).tobytes()),
        (np.float32(1.5), np.full(16, 1.5, np.float32).tobytes()),
        (2.25, np.full(8, 2.25).tobytes()),
        (np.int64(1 << 40), np.full(8, 1 << 40).tobytes()),
        (b"weft", b"weft" * 16),
    ],
)
def test_fill(q, value, expected):
    for kind in (memory.DeviceMemory, memory.SharedMemory, memory.HostMemory):
        m = kind(64, queue=q)
        q.fill(m, value).wait()
        assert bytes(m) == expected
    q.memset(m, 9, sync=True)
    assert bytes(m) == bytes([9]) * 64


# spec: D3, D8
def test_copies_and_fills_that_cannot_be(queue):
    m = memory.DeviceMemory(10, queue=queue)
    with pytest.raises(ValueError, match="11 bytes cannot be copied into 10 bytes"):
        queue.memcpy(m, bytes(11))
    with pytest.raises(ValueError, match="12 bytes cannot be copied into 10 bytes"):
        queue.memcpy(m, bytes(20), 12)
    with pytest.raises(ValueError, match="6 bytes cannot be copied out of 5 bytes"):
        queue.memcpy(m, bytes(5), 6)
    with pytest.raises((ValueError, OverflowError)):
        queue.memcpy(m, bytes(5), -1)
    with pytest.raises(ValueError, match="overlap"):
        queue.memcpy(m, m)
    with pytest.raises((TypeError, BufferError)):
        queue.memcpy(b"read-only", m)
    with pytest.raises((ValueError, BufferError), match="contiguous"):
        queue.memcpy(np.zeros((10, 10))[:, ::2], m)
    with pytest.raises(TypeError, match="as_usm_memory"):
        queue.memcpy(weft.tensor.zeros(3, device=queue), m)
    with pytest.raises(TypeError):
        queue.memcpy(m, 5)
    with pytest.raises(TypeError, match=r"weft\.Event"):
        queue.memcpy(m, bytes(3), wait_for=[3])
    with pytest.raises(ValueError, match="10 bytes are not a whole number of 4-byte values"):
        queue.fill(m, np.float32(1))
    with pytest.raises(ValueError, match="0 to 255"):
        queue.fill(m, 256)
    with pytest.raises(ValueError, match="3"):
        queue.fill(m, b"abc")
    with pytest.raises(ValueError, match="11 bytes cannot be prefetched of 10"):
        queue.prefetch(m, 11)
    queue.memcpy(m, b"")
    queue.prefetch(m).wait()


# spec: D3, D7
def test_barriers(q):
    m = memory.DeviceMemory(1 << 20, queue=q)
    fill = q.fill(m, 5)
    barrier = q.barrier()
    barrier.wait()
    assert fill.execution_status == "complete"
    other = weft.Queue(OTHER)
    after = other.barrier([q.fill(m, 6), barrier])
    assert len(after.get_wait_list()) == 2
    after.wait()
    assert bytes(m) == bytes([6]) * (1 << 20)
    q.submit_barrier((after,)).wait()


# spec: D3, T4e
def test_a_barrier_and_a_wait_run_what_is_recorded(queue):
    x = weft.tensor.arange(10, device=queue) + 1
    assert x.is_pending
    queue.barrier().wait()
    assert not x.is_pending
    y = x + 1
    queue.wait()
    assert not y.is_pending


# spec: B2, D3
def test_another_queue_of_a_device_may_copy_its_memory(device):
    a, b = weft.Queue(device), weft.Queue(device, in_order=False, profiling=True)
    m = memory.DeviceMemory(1 << 20, queue=a)
    for k in range(20):
        a.fill(m, k)
        out = np.empty(1 << 20, np.uint8)
        b.memcpy(out, m)
        assert out.min() == out.max() == k


# spec: D3
def test_prefetched_memory_keeps_its_content(q):
    content = np.arange(100_000, dtype=np.uint32)
    for kind in (memory.SharedMemory, memory.DeviceMemory, memory.HostMemory):
        m = kind(content.nbytes, queue=q)
        copied = q.memcpy_async(m, content)
        moved = q.prefetch(m, wait_for=copied)
        assert len(moved.get_wait_list()) == 1
        assert q.prefetch(m, 4096, sync=True).is_complete and copied.is_complete
        moved.wait()
        assert np.frombuffer(m.tobytes(), np.uint32).tolist() == content.tolist()
    q.prefetch(weft.tensor.ones(10, queue=q, usm_type="shared")).wait()
    with pytest.raises(TypeError, match="memory of the host alone stays there"):
        q.prefetch(content)
