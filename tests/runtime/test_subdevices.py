"""Sub-devices and contexts: parts of a device that are devices themselves, and devices that share memory."""

import os
import subprocess
import sys
import threading
from typing import Any

import pytest

import numpy as np
import weft
import weft.tensor as tensor
from support import OTHER


@weft.njit
def wave(x):
    return np.sqrt(x) * 2.0 + 1.0


@weft.kernel
def twice(x, out):
    i = weft.get_global_id(0)
    out[i] = x[i] * 2.0


X = np.arange(200_000.0)


def parts_of(device: str) -> list[Any]:
    """A device in parts of one compute unit."""
    if device == "cuda":
        pytest.skip("cuda devices cannot be divided")
    return weft.Device(device).create_sub_devices(partition=1)


# spec: C3
def test_equal_parts_and_parts_by_counts(device):
    whole = weft.Device(device)
    if device == "cuda":
        with pytest.raises(weft.DeviceError, match=r"cuda:gpu:0 cannot be divided .* MIG"):
            whole.create_sub_devices(partition=1)
        return
    parts = whole.create_sub_devices(partition=1)
    units = whole.max_compute_units
    assert len(parts) == units
    assert all(part.max_compute_units == 1 for part in parts)
    counted = whole.create_sub_devices(partition=[1] * units)
    assert counted == parts, "the same cut gives the same sub-devices"
    (all_of_it,) = whole.create_sub_devices(partition=(units,))
    assert all_of_it.max_compute_units == units
    assert all_of_it != whole and all_of_it not in (parts if units > 1 else [])


# spec: C3, D1, D2
def test_a_sub_device_is_a_device(device):
    whole, parts = weft.Device(device), parts_of(device)
    assert len(set(parts)) == len(parts) and whole not in parts
    for part in parts:
        assert part.filter_string.startswith(whole.filter_string + ".")
        assert weft.Device(part.filter_string) == part
        assert hash(weft.Device(part.filter_string)) == hash(part)
        assert part.parent_device == part.parent == whole
        assert part.backend == whole.backend and part.device_type == whole.device_type and part.index == whole.index
        assert part.name and part.filter_string in repr(part)
        assert weft.select_device(part.filter_string, aspects=["cpu"]) == part
    assert not set(parts) & set(weft.devices()), "devices() lists whole devices"


# spec: C3
def test_parts_of_parts(device):
    part = parts_of(device)[0]
    if device == "opencl":
        # Intel's driver does not divide one compute unit again.
        with pytest.raises(weft.DeviceError, match=rf"{part.filter_string} cannot be divided .* \(-68\)"):
            part.create_sub_devices(partition=1)
        return
    (inner,) = part.create_sub_devices(partition=1)
    assert inner.parent_device == part and inner.filter_string == part.filter_string + ".0"
    assert weft.Device(inner.filter_string) == inner
    assert float(tensor.asnumpy(tensor.ones(3, device=inner) + 1.0)[2]) == 2.0


# spec: C3
@pytest.mark.parametrize("partition", ["numa", "L2_cache", "L3_cache"])
def test_native_parts_along_the_hardware(partition):
    native = weft.Device("native")
    parts = native.create_sub_devices(partition)
    assert sum(part.max_compute_units for part in parts) == len(os.sched_getaffinity(0))
    assert len(set(parts)) == len(parts) and all(part.parent_device == native for part in parts)
    for part in parts:
        with weft.device_context(part), weft.trace() as trace:
            np.testing.assert_allclose(wave(X), np.sqrt(X) * 2.0 + 1.0, rtol=1e-14)
        assert [launch.device for launch in trace.launches] == [part.filter_string]


# spec: C3
def test_the_next_border_is_the_outermost_that_divides():
    native = weft.Device("native")
    borders = [native.create_sub_devices(name) for name in ("numa", "L3_cache", "L2_cache")]
    dividing = [parts for parts in borders if len(parts) > 1]
    if dividing:
        assert native.create_sub_devices("next_partitionable") == dividing[0]
    else:
        with pytest.raises(weft.DeviceError, match="share all caches"):
            native.create_sub_devices("next_partitionable")


# spec: C3, D7
def test_native_workers_are_pinned_to_their_cores():
    code = """
import os, time, weft, numpy as np
@weft.njit
def f(x):
    return np.sin(x) + x
(part,) = weft.Device("native").create_sub_devices([weft.Device("native").max_compute_units])
before = os.sched_getaffinity(0)
with weft.device_context(part):
    f(np.arange(1e6))
assert os.sched_getaffinity(0) == before
# A thread has its name when it first runs, which on a busy machine may be after the work is done.
time.sleep(0.5)
for task in os.listdir("/proc/self/task"):
    name = open(f"/proc/self/task/{task}/comm").read().strip()
    allowed = [line.split()[1] for line in open(f"/proc/self/task/{task}/status") if "Cpus_allowed_list" in line]
    if name.startswith("weft"):
        print(name, *allowed)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    names = {line.split()[0] for line in done.stdout.splitlines()}
    workers = min(weft.Device("native").max_compute_units, weft.config.num_threads) - 1
    assert names == {f"weft.0-{k + 1}" for k in range(workers)}, "one thread for each core, the caller among them"


# spec: C3, A1, A2
def test_jitted_functions_run_on_a_sub_device(device):
    for part in parts_of(device):
        with weft.device_context(part) as queue, weft.trace() as trace:
            result = wave(X)
        assert queue.device == part and type(result) is np.ndarray
        np.testing.assert_allclose(result, np.sqrt(X) * 2.0 + 1.0, rtol=1e-14)
        assert {launch.device for launch in trace.launches} == {part.filter_string}
        assert part.filter_string in {made.device for made in wave.specializations}


# spec: C3, B1, B9
def test_tensors_live_on_a_sub_device(device):
    whole = weft.Device(device)
    for part in [*parts_of(device), whole]:
        x = tensor.asarray(X, device=part)
        assert x.device == part and x.queue == weft.Queue(part)
        y = wave(x)
        assert y.device == part
        np.testing.assert_allclose(tensor.asnumpy(y), np.sqrt(X) * 2.0 + 1.0, rtol=1e-14)
        np.testing.assert_array_equal(tensor.asnumpy(x * 2.0 + 1.0), X * 2.0 + 1.0)
        out = tensor.empty(x.shape, dtype=x.dtype, device=part)
        twice[x.shape](x, out)
        np.testing.assert_array_equal(tensor.asnumpy(out), X * 2.0)
        np.testing.assert_array_equal(tensor.asnumpy(x.to_device(whole)), X)


# spec: C3, B3
def test_a_part_and_the_whole_are_different_places(device):
    part = parts_of(device)[0]
    here, there = tensor.ones(3, device=part), tensor.ones(3, device=device)
    with pytest.raises(weft.ExecutionPlacementError, match=rf"{part.filter_string}"):
        here + there
    assert weft.Queue(part) != weft.Queue(device)
    assert weft.Queue(part) == weft.Queue(part.filter_string)


# spec: C3
def test_two_threads_on_two_parts(device):
    parts = parts_of(device)
    results: dict[int, Any] = {}

    def work(k: int) -> None:
        with weft.device_context(parts[k % len(parts)]):
            results[k] = [wave(X + k) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        for result in results[k]:
            np.testing.assert_allclose(result, np.sqrt(X + k) * 2.0 + 1.0, rtol=1e-14)


# spec: C3, D8
def test_a_forked_child_may_use_native_parts():
    parts = weft.Device("native").create_sub_devices(1)
    with weft.device_context(parts[0]):
        expected = wave(X)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for part in parts:
                with weft.device_context(part):
                    if not np.array_equal(wave(X), expected):
                        os._exit(2)
            if weft.devices("opencl"):
                opened = tensor.ones(3, device="opencl")
                tensor.asnumpy(opened + 1.0)
        except weft.DeviceError as refused:
            code = 0 if "does not survive a fork" in str(refused) else 3
        else:
            code = 4 if weft.devices("opencl") else 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# spec: C3
@pytest.mark.parametrize(
    ("partition", "error", "says"),
    [
        (0, ValueError, "a positive number"),
        (-1, ValueError, "not -1"),
        (1 << 40, ValueError, "not 1099511627776"),
        (100_000, weft.DeviceError, r"into parts of 100000 compute units: it has \d+"),
        ([], ValueError, "a list of such numbers"),
        ([1, 0], ValueError, r"not \[1, 0\]"),
        ([100_000, 1], weft.DeviceError, r"into parts of \[100000, 1\] compute units: it has \d+"),
        ("L7_cache", ValueError, "L3_cache.*not 'L7_cache'"),
        (1.5, TypeError, "not 1.5"),
        (True, TypeError, "not True"),
        (None, TypeError, "not None"),
    ],
)
def test_partitions_that_make_no_sense(device, partition, error, says):
    if device == "cuda":
        says = says if error is not weft.DeviceError else "cannot be divided"
    with pytest.raises(error, match=says):
        weft.Device(device).create_sub_devices(partition)


# spec: C3
def test_a_border_that_a_device_does_not_have():
    for device in weft.devices("opencl"):
        if "numa" not in device.partition_kinds:
            with pytest.raises(weft.DeviceError, match=r"cannot be divided by `numa`: it offers partition=n"):
                device.create_sub_devices("numa")


# spec: C3, D1
def test_a_sub_device_that_nobody_made(device):
    name = weft.Device(device).filter_string + ".77"
    with pytest.raises(weft.DeviceError, match=rf"no device matches `{name}`.*once create_sub_devices made it"):
        weft.Device(name)


# spec: C3, B2
def test_a_device_has_one_default_context(device):
    default = weft.Context(device)
    assert default == weft.Context(weft.Device(device)) == weft.Context([device]) == weft.Queue(device).context
    assert hash(default) == hash(weft.Context(device)) and default == weft.Context(default)
    assert default.devices == [weft.Device(device)] and default.device_count == len(default) == 1
    assert weft.Queue(default) == weft.Queue(device) == weft.Queue(default, device)
    assert weft.Queue(device, profiling=True).context == default
    assert tensor.ones(2, device=device).queue.context == default


# spec: C3, B2
def test_contexts_over_several_devices(device):
    whole, parts = weft.Device(device), parts_of(device)
    first, last = parts[0], parts[-1] if len(parts) > 1 else whole
    shared = weft.Context([first, last])
    assert shared.devices == [first, last] and first in shared and (whole in shared) == (last == whole)
    assert shared == weft.Context((first, last)) != weft.Context([first])
    queues = [weft.Queue(shared, device) for device in shared.devices]
    assert [queue.device for queue in queues] == [first, last]
    assert all(queue.context == shared for queue in queues)
    assert queues[0] == weft.Queue(shared, first) and hash(queues[0]) == hash(weft.Queue(shared, first))
    assert queues[0] != queues[1] and queues[0] != weft.Queue(first), "the contexts differ"
    x = tensor.asarray(X, queue=queues[0])
    assert x.queue == queues[0]
    y = wave(x)
    with weft.trace() as trace:
        moved = y.to_device(queues[1])
        queues[1].wait()
    if device == "opencl":
        assert [(copy.name, copy.bytes) for copy in trace.copies] == [("device to device", X.nbytes)]
    assert moved.queue == queues[1]
    np.testing.assert_allclose(tensor.asnumpy(moved + 0.0), np.sqrt(X) * 2.0 + 1.0, rtol=1e-14)
    with weft.device_context(queues[1]):
        np.testing.assert_allclose(wave(X), np.sqrt(X) * 2.0 + 1.0, rtol=1e-14)
    assert first.filter_string in repr(queues[0]) and "in a context of" in repr(queues[0])


# spec: C3
def test_contexts_that_cannot_be(device):
    part = weft.Device(device) if device == "cuda" else parts_of(device)[0]
    with pytest.raises(ValueError, match="at least one device"):
        weft.Context([])
    with pytest.raises(ValueError, match="given twice"):
        weft.Context([part, part])
    other = "native" if part.backend != "native" else next(iter(weft.devices("opencl")), None)
    if other is not None:
        with pytest.raises(weft.DeviceError, match="no context can hold both"):
            weft.Context([part, other])
        with pytest.raises(ValueError, match="is not in the context of"):
            weft.Queue(weft.Context(part), other)
    with pytest.raises(TypeError, match=r"the first is a weft\.Context, not str"):
        weft.Queue(device, device)
    if device != "cuda" and weft.Device(device).max_compute_units > 1:
        with pytest.raises(TypeError, match="say which"):
            weft.Queue(weft.Context(parts_of(device)[:2]))


@weft.njit
def subtract(x, y):
    return x - y


def near_queues(device: str) -> list[Any]:
    """Two queues that are not equal and share a context."""
    if device == "cuda":
        return [weft.Queue(device), weft.Queue(device, profiling=True)]
    parts = parts_of(device)
    shared = weft.Context([parts[0], parts[-1] if len(parts) > 1 else weft.Device(device)])
    return [weft.Queue(shared, one) for one in shared.devices]


# spec: C3, B3
def test_arrays_that_share_a_context_meet_where_that_is_asked_for(device):
    here, there = near_queues(device)
    x, y = tensor.asarray(X, queue=here), tensor.asarray(X * 3.0, queue=there)
    apart = tensor.asarray(X, queue=weft.Queue(device, in_order=False)) if device == "cuda" else None
    far = tensor.asarray(X, device="native" if device != "native" else OTHER)
    for meet in (lambda: subtract(x, y), lambda: x - y, lambda: twice[X.size](x, y)):
        with pytest.raises(weft.ExecutionPlacementError, match="different queues"):
            meet()
    with weft.placement("context") as rule:
        assert repr(rule) == "weft.placement('context')"
        for z, home, expected in [
            (subtract(x, y), here, -2.0 * X),
            (subtract(y, x), there, 2.0 * X),
            (x - y, here, -2.0 * X),
            (y - (x + 1.0), there, 2.0 * X - 1.0),
        ]:
            assert z.queue == home
            assert np.array_equal(tensor.asnumpy(z), expected)
        out = tensor.zeros(X.size, queue=there)
        twice[X.size](x, out)
        assert np.array_equal(tensor.asnumpy(out), 2.0 * X) and out.queue == there
        if apart is not None:
            assert subtract(x, apart).queue == here
        with pytest.raises(weft.ExecutionPlacementError):
            subtract(x, far)
        with weft.placement("queue"), pytest.raises(weft.ExecutionPlacementError):
            subtract(x, y)
        seen = []
        other = threading.Thread(target=lambda: seen.append(raises_placement(lambda: x - y)))
        other.start()
        other.join()
        assert seen == [True], "a rule is for the thread that set it"
    assert raises_placement(lambda: x - y)
    with pytest.raises(ValueError, match='"queue" or "context", not \'device\''):
        weft.placement("device")


def raises_placement(work: Any) -> bool:
    try:
        work()
    except weft.ExecutionPlacementError:
        return True
    return False


# spec: C3, D4
def test_copies_within_a_context_do_not_go_by_way_of_the_host(device):
    here, there = near_queues(device)
    a = weft.memory.DeviceMemory(X.nbytes, queue=here)
    b = weft.memory.DeviceMemory(X.nbytes, queue=there)
    here.memcpy(a, X)
    with weft.trace() as trace:
        event = there.memcpy_async(b, a)
        event.wait()
    kinds = [(copy.name, copy.bytes) for copy in trace.copies]
    assert kinds == [("host to host" if device == "native" else "device to device", X.nbytes)]
    assert np.array_equal(np.frombuffer(b.tobytes()), X)
