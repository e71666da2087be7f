"""Memory as bytes on a queue, the USM array interface, and the pools."""

import os
import pickle
import subprocess
import sys

import pytest

import numpy as np
import weft
from support import OTHER
from weft import memory

KINDS = [memory.DeviceMemory, memory.SharedMemory, memory.HostMemory]


class Wrapped:
    """Somebody else's object with the interface."""

    def __init__(self, owner, **changes):
        self.owner = owner
        self.__sycl_usm_array_interface__ = {**owner.__sycl_usm_array_interface__, **changes}


# spec: D4
@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_bytes_on_a_queue(queue, kind):
    m = kind(100, queue=queue)
    assert len(m) == m.nbytes == m.size == 100
    assert m.queue == m.sycl_queue == queue and m.device == m.sycl_device == queue.device
    assert m.usm_type == m.get_usm_type() == kind.__name__.removesuffix("Memory").lower()
    assert m._pointer % 64 == 0 and m._pointer != 0
    assert "100 bytes" in repr(m) and kind.__name__ in repr(m)
    content = bytes(range(100))
    m.copy_from_host(content)
    assert m.tobytes() == bytes(m) == content
    out = m.copy_to_host()
    assert out.dtype == np.uint8 and out.tobytes() == content
    place = bytearray(120)
    assert m.copy_to_host(place) is place and place[:100] == content
    m.copy_from_host(np.arange(5, dtype=np.int32))
    assert bytes(m)[:20] == np.arange(5, dtype=np.int32).tobytes() and bytes(m)[20:] == content[20:]
    m.memset(7)
    assert bytes(m) == bytes([7]) * 100
    m.memset()
    assert bytes(m) == bytes(100)


# spec: D4
def test_dpctls_names():
    assert memory.MemoryUSMDevice is memory.DeviceMemory
    assert memory.MemoryUSMShared is memory.SharedMemory
    assert memory.MemoryUSMHost is memory.HostMemory


# spec: D4
@pytest.mark.parametrize("kind", KINDS)
def test_the_buffer_protocol_where_the_host_can_see(queue, kind):
    m = kind(64, queue=queue)
    m.memset(3)
    if queue.backend != "native" and kind is memory.DeviceMemory:
        with pytest.raises(BufferError, match="copy_to_host"):
            memoryview(m)
        return
    view = memoryview(m)
    assert view.nbytes == 64 and not view.readonly and view[5] == 3
    view[5] = 9
    assert bytes(m)[5] == 9
    array = np.frombuffer(m, dtype=np.float64)
    array[...] = 1.5
    del m
    assert array.sum() == 12.0, "the array keeps the memory"


# spec: D4
@pytest.mark.parametrize("alignment", [0, 1, 8, 64, 256, 4096, 1 << 20])
def test_alignment(queue, alignment):
    m = memory.DeviceMemory(1000, alignment=alignment, queue=queue)
    assert m._pointer % max(alignment, 1) == 0 and m.nbytes == 1000
    m.memset(1)
    assert bytes(m) == bytes([1]) * 1000


# spec: D4
def test_copies_between_any_two(queue):
    content = bytes(range(64))
    for other in {queue, weft.Queue("native"), weft.Queue(OTHER), weft.Queue(queue, profiling=True)}:
        for first in KINDS:
            for second in KINDS:
                a, b = first(64, queue=queue), second(80, queue=other)
                a.copy_from_host(content)
                b.memset(255)
                b.copy_from_device(a)
                assert bytes(b) == content + bytes([255]) * 16
                again = first(80, queue=queue)
                again.copy_from_device(second(b, queue=other))
                assert bytes(again) == bytes(b)
    # A tensor is memory too.
    x = weft.tensor.arange(8, device=queue) * 2.0
    m = memory.HostMemory(64, queue=queue)
    m.copy_from_device(x)
    np.testing.assert_array_equal(np.frombuffer(bytes(m)), np.arange(8) * 2.0)


# spec: D4, D8
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_that_cannot_be(queue, kind):
    for size in (0, -1, -(1 << 70)):
        with pytest.raises(ValueError, match=f"at least one byte, not {size}"):
            kind(size, queue=queue)
    for size in (1 << 50, 1 << 63, 1 << 70):
        with pytest.raises(weft.DeviceMemoryError, match=f"{size} bytes were asked for"):
            kind(size, queue=queue)
    for wrong in (1.5, "100", None, b"abc"):
        with pytest.raises(TypeError, match="number of bytes"):
            kind(wrong, queue=queue)
    for alignment in (-1, 3, 100):
        with pytest.raises(ValueError, match=f"power of two, not {alignment}"):
            kind(8, alignment=alignment, queue=queue)
    m = kind(10, queue=queue)
    with pytest.raises(ValueError, match="11 bytes do not fit into memory of 10 bytes"):
        m.copy_from_host(bytes(11))
    with pytest.raises(ValueError, match="10 bytes do not fit into 9 bytes"):
        m.copy_to_host(bytearray(9))
    with pytest.raises(ValueError, match="11 bytes do not fit into memory of 10 bytes"):
        m.copy_from_device(kind(11, queue=queue))
    with pytest.raises(TypeError):
        m.copy_from_device(bytes(3))
    with pytest.raises((TypeError, BufferError)):
        m.copy_to_host(b"read-only!")
    with pytest.raises(TypeError):
        m.copy_from_host(3)


# spec: D4
@pytest.mark.parametrize("kind", KINDS)
def test_pickling_keeps_content_kind_and_device(queue, kind):
    m = kind(16, queue=queue)
    m.copy_from_host(bytes(range(16)))
    again = pickle.loads(pickle.dumps(m))
    assert type(again) is kind and bytes(again) == bytes(m)
    assert again.device == m.device and again._pointer != m._pointer
    text = pickle.dumps(m).replace(queue.device.filter_string.encode(), b"?" * len(queue.device.filter_string))
    with pytest.warns(weft.PlacementWarning, match="is not here"):
        moved = pickle.loads(text)
    assert bytes(moved) == bytes(m) and moved.device == weft.default_device()


# spec: B1, D4
def test_the_interface_out(queue):
    m = memory.SharedMemory(32, queue=queue)
    interface = m.__sycl_usm_array_interface__
    assert interface["data"] == (m._pointer, False)
    assert interface["shape"] == (32,) and interface["strides"] is None and interface["typestr"] == "|u1"
    assert interface["version"] == 1 and interface["syclobj"] == queue and interface["offset"] == 0
    x = weft.tensor.ones((3, 4), dtype=weft.tensor.float32, device=queue) + 1
    interface = x.__sycl_usm_array_interface__
    assert not x.is_pending
    assert interface["shape"] == (3, 4) and interface["typestr"] == "<f4" and interface["syclobj"] == queue


# spec: B1, D4
@pytest.mark.parametrize("kind", KINDS)
def test_the_interface_in(queue, kind):
    m = kind(32, queue=queue)
    m.copy_from_host(np.arange(4.0))
    assert memory.as_usm_memory(m) is m
    theirs = memory.as_usm_memory(Wrapped(m))
    assert type(theirs) is kind and theirs._pointer == m._pointer and theirs.queue == queue
    theirs.copy_from_host(np.arange(4.0) + 1)
    assert bytes(m) == (np.arange(4.0) + 1).tobytes()
    # By offset and type, as elements of a larger memory; by filter string instead of a queue.
    part = memory.as_usm_memory(Wrapped(m, typestr="<f8", shape=(2,), offset=1, syclobj=queue.device.filter_string))
    assert part.nbytes == 16 and part._pointer == m._pointer + 8
    assert bytes(part) == np.array([2.0, 3.0]).tobytes()
    address = m._pointer
    del m, theirs
    assert part._pointer == address + 8 and bytes(part) == np.array([2.0, 3.0]).tobytes(), "the part keeps the whole"
    assert bytes(kind(part, copy=True)) == bytes(part)
    other = memory.HostMemory if kind is not memory.HostMemory else memory.DeviceMemory
    with pytest.raises(ValueError, match="copy=True"):
        other(part)
    assert bytes(other(part, copy=True)) == bytes(part)


# spec: B1, B5, D4
def test_tensors_over_memory(queue):
    tensor = weft.tensor
    m = memory.DeviceMemory(48, queue=queue)
    m.copy_from_host(np.arange(6.0))
    x = tensor.asarray(Wrapped(m, typestr="<f8", shape=(2, 3)))
    assert x.shape == (2, 3) and x.dtype == np.float64 and x.queue == queue and x.usm_type == "device"
    np.testing.assert_array_equal(tensor.asnumpy(x + 1), np.arange(6.0).reshape(2, 3) + 1)
    m.copy_from_host(np.full(6, 7.0))
    np.testing.assert_array_equal(tensor.asnumpy(x), np.full((2, 3), 7.0), "no copy was made")
    y = tensor.usm_ndarray((3,), "int64", buffer=m)
    assert y.nbytes == 24
    with pytest.raises(ValueError, match="48 bytes of memory cannot be an array of float64"):
        tensor.usm_ndarray((7,), "float64", buffer=m)
    moved = tensor.asarray(Wrapped(m, typestr="<f8", shape=(6,)), device="native")
    assert moved.queue == weft.Queue("native")
    np.testing.assert_array_equal(tensor.asnumpy(moved), np.full(6, 7.0))
    z = tensor.arange(4, device=queue) * 2
    shared = memory.as_usm_memory(z)
    assert bytes(shared) == (np.arange(4) * 2).tobytes() and shared.usm_type == "device"
    assert bytes(memory.as_usm_memory(Wrapped(z))) == bytes(shared)
    np.testing.assert_array_equal(tensor.asnumpy(tensor.asarray(Wrapped(z))), np.arange(4) * 2)


# spec: B1, D4
@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"version": 2}, ValueError, "version"),
        ({"data": 12}, ValueError, "data"),
        ({"data": (0, False)}, ValueError, "32 bytes"),
        ({"shape": (-1,)}, ValueError, "shape"),
        ({"shape": 5}, ValueError, "shape"),
        ({"shape": (1 << 40, 1 << 40)}, ValueError, "shape"),
        ({"typestr": "<O8"}, ValueError, "typestr"),
        ({"typestr": ">f8"}, ValueError, "typestr"),
        ({"typestr": ""}, ValueError, "typestr"),
        ({"strides": (2,)}, ValueError, "C order"),
        ({"strides": (1, 1)}, ValueError, "as many as sizes"),
        ({"offset": -1}, ValueError, "offset"),
        ({"syclobj": 3.5}, TypeError, "place"),
        ({"syclobj": "nowhere"}, weft.DeviceError, "nowhere"),
    ],
)
def test_interfaces_that_are_wrong(change, error, says):
    m = memory.SharedMemory(32, queue="native")
    with pytest.raises(error, match=says):
        memory.as_usm_memory(Wrapped(m, **change))


# spec: B1
def test_a_sycl_capsule_is_refused():
    import datetime

    m = memory.SharedMemory(32, queue="native")
    with pytest.raises(TypeError, match="SYCL object"):
        memory.as_usm_memory(Wrapped(m, syclobj=datetime.datetime_CAPI))
    missing = Wrapped(m)
    del missing.__sycl_usm_array_interface__["typestr"]
    with pytest.raises(ValueError, match="typestr"):
        memory.as_usm_memory(missing)
    with pytest.raises(TypeError, match="no __sycl_usm_array_interface__"):
        memory.as_usm_memory(np.arange(3))


# spec: D4
def test_stats_and_trim(queue):
    kind = "device" if queue.backend != "native" else "host"
    m = memory.DeviceMemory(1 << 20, queue=queue)
    before = memory.stats(queue)[kind]
    more = memory.DeviceMemory(1 << 20, queue=queue)
    after = memory.stats(queue)[kind]
    assert after.live >= before.live + (1 << 20) and after.allocations > before.allocations
    assert after.peak >= after.live
    assert memory.stats()[queue.device.filter_string][kind].live >= 2 << 20
    del m, more
    freed = memory.stats(queue)[kind]
    assert freed.pooled >= 2 << 20 and freed.live <= after.live - (2 << 20)
    assert memory.trim() >= 2 << 20
    assert memory.stats(queue)[kind].pooled < 1 << 20


# spec: D4, D8
def test_a_limit_is_kept(queue):
    memory.trim()
    live = sum(s.live for s in memory.stats(queue).values())
    try:
        weft.config.memory_limit = live + (8 << 20)
        kept = memory.DeviceMemory(4 << 20, queue=queue)
        with pytest.raises(weft.DeviceMemoryError, match=f"{6 << 20} bytes were asked for.*{live + (8 << 20)} bytes"):
            memory.DeviceMemory(6 << 20, queue=queue)
        assert len(kept) == 4 << 20
        del kept
        # What is kept for reuse is given back first.
        assert len(memory.DeviceMemory(6 << 20, queue=queue)) == 6 << 20
        weft.config.memory_limit = "4GB"
        assert weft.config.memory_limit == 4_000_000_000
        weft.config.memory_limit = "1.5 GiB"
        assert weft.config.memory_limit == 3 << 29
        for wrong in ("lots", "-3", 0, "4XB"):
            with pytest.raises(ValueError, match="memory_limit"):
                weft.config.memory_limit = wrong
    finally:
        weft.config.memory_limit = None
    assert len(memory.DeviceMemory(16 << 20, queue=queue)) == 16 << 20


# spec: D4
def test_the_limit_from_the_environment():
    script = (
        "import weft; assert weft.config.memory_limit == 64 << 20\n"
        "try: weft.memory.HostMemory(100 << 20, queue='native')\n"
        "except weft.DeviceMemoryError as e: print(e)\n"
    )
    env = {**os.environ, "WEFT_MEMORY_LIMIT": "64MiB"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert f"{100 << 20} bytes" in done.stdout and f"{64 << 20} bytes" in done.stdout
