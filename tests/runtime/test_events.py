"""Events, timers, and Ctrl-C during waits."""

import os
import signal
import threading
import time

import pytest

import numpy as np
import weft
from weft import memory


# spec: D5
def test_status_and_waiting_twice(queue):
    m = memory.DeviceMemory(1 << 22, queue=queue)
    first = queue.fill(m, 1)
    second = queue.memcpy_async(bytearray(1 << 22), m, wait_for=first)
    assert len(second.get_wait_list()) == 1 and first.get_wait_list() == []
    assert second.execution_status in ("submitted", "running", "complete")
    second.wait()
    second.wait()
    assert second.execution_status == second.status == "complete" and second.is_complete
    assert first.execution_status == "complete"
    weft.Event.wait_for([first, second])
    weft.Event.wait_for(first)
    weft.Event.wait_for([])
    with pytest.raises(TypeError, match=r"weft\.Event"):
        weft.Event.wait_for([None])
    done = weft.Event()
    done.wait()
    assert done.is_complete and "complete" in repr(done)


# spec: D5, D7
def test_a_long_chain_of_events(queue):
    m = memory.DeviceMemory(64, queue=queue)
    event = queue.fill(m, 0)
    for k in range(5000):
        event = queue.fill(m, k % 256, wait_for=event)
    event.get_wait_list()[0].wait()
    event.wait()
    del event
    assert set(bytes(m)) == {4999 % 256}


# spec: D5
def test_device_times(device):
    q = weft.Queue(device, profiling=True)
    m = memory.DeviceMemory(1 << 24, queue=q)
    q.fill(m, 0).wait()
    event = q.fill(m, 1)
    submit, start, end = event.profiling_info_submit, event.profiling_info_start, event.profiling_info_end
    assert 0 <= submit <= start < end
    later = q.barrier()
    assert later.profiling_info_end >= end
    assert (end - start) < 10e9


# spec: D5
def test_without_profiling_there_are_no_times(queue):
    event = queue.barrier()
    with pytest.raises(weft.DeviceError, match="profiling=True"):
        event.profiling_info_start


# spec: D5, T4e
def test_a_timer_measures_host_and_device(device):
    q = weft.Queue(device, profiling=True)
    x = weft.tensor.linspace(0, 1, num=2_000_000, queue=q)
    weft.tensor.asnumpy(weft.tensor.sin(x))  # compiled
    timer = weft.Timer()
    before = x * 3
    with timer(q):
        assert not before.is_pending, "what was recorded before is not measured"
        y = weft.tensor.sin(x)
        assert y.is_pending
    assert not y.is_pending, "what was recorded inside ran"
    host_dt, device_dt = timer.dt
    assert 0 < device_dt < 10 and 0 < host_dt < 10
    assert timer.dt.host_dt == host_dt and timer.dt.device_dt == device_dt
    with timer(q):
        z = weft.tensor.sin(y)
    assert timer.dt.device_dt > device_dt and timer.dt.host_dt > host_dt
    assert not z.is_pending
    milliseconds = weft.Timer(time_scale=1000)
    with milliseconds(q) as same:
        time.sleep(0.01)
    assert same is milliseconds and 9 < milliseconds.dt.host_dt < 5000


# spec: D5, B5, T4e
def test_the_example_of_the_introduction(device):
    x = weft.tensor.linspace(0, 1, num=10**5, device=device)
    q_prof = weft.Queue(x.sycl_context, x.sycl_device, property="enable_profiling")
    timer = weft.Timer()
    with weft.trace() as trace:
        x1 = x.to_device(q_prof)
    assert not trace.copies
    with timer(q_prof):
        y1 = weft.tensor.sin(2 * x1) * weft.tensor.exp(-(x1 * x1))
    y = y1.to_device(x.device)
    host_dt, device_dt = timer.dt
    assert host_dt > 0 and device_dt > 0
    v = np.linspace(0, 1, 10**5)
    np.testing.assert_allclose(weft.tensor.asnumpy(y), np.sin(2 * v) * np.exp(-(v * v)), rtol=1e-12)


# spec: D5
def test_timers_of_other_things(queue):
    with pytest.raises(ValueError, match="profiling=True"):
        weft.Timer()(queue)
    with pytest.raises(TypeError, match=r"weft\.Queue"):
        weft.Timer()("native")
    with pytest.raises(TypeError, match="host_timer"):
        weft.Timer(host_timer=3)
    with pytest.raises(ValueError, match="device_timer"):
        weft.Timer(device_timer="sundial")
    ticks = iter(range(100))
    timer = weft.Timer(host_timer=lambda: float(next(ticks)), device_timer="queue_barrier")
    assert timer.dt == (0.0, 0.0)
    with timer(weft.Queue(queue, profiling=True)):
        pass
    assert timer.dt.host_dt == 1.0


class Slow(Exception):
    """Raised by a handler."""


# spec: D8
def test_signals_end_waits(device):
    """A handler runs, and what it raises ends the wait, while the device is still at work."""
    q = weft.Queue(device)
    m = memory.DeviceMemory(1 << 26, queue=q)

    def handler(number, frame):
        raise Slow

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        end = time.monotonic() + 20
        ended = False
        while not ended and time.monotonic() < end:
            # Long enough on any device: half a gigabyte a piece.
            for k in range(200 if q.backend != "native" else 1):
                q.fill(m, k % 256)
            killer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
            try:
                killer.start()
                q.wait()
                killer.join()
                time.sleep(0.001)
            except Slow:
                ended = True
            finally:
                killer.join()
        assert ended
    finally:
        signal.signal(signal.SIGUSR1, before)
    q.wait()
    assert bytes(m)[0] in range(256)


@weft.kernel
def busy(a, n):
    i = weft.get_global_id(0)
    x = a[i]
    for _ in range(n):
        x = x * 0.999999 + 1e-6
    a[i] = x


class Stopped(Exception):
    pass


# spec: D8
def test_ctrl_c_ends_the_wait_inside_a_launch_on_host_arrays(accelerator):

    def handler(number, frame):
        raise Stopped

    a = np.zeros(1)
    rounds = 1_000_000
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with weft.device_context(accelerator) as q:
            busy[1](a, 10)
            # Long enough that the signal comes in the middle.
            while True:
                start = time.monotonic()
                busy[1](a, rounds)
                took = time.monotonic() - start
                if took > 1.5 or rounds > 10**11:
                    break
                rounds = int(rounds * max(2.0, min(20.0, 2.0 / max(took, 1e-3))))
            a[:] = 7.0
            killer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1))
            killer.start()
            start = time.monotonic()
            with pytest.raises(Stopped):
                busy[1](a, rounds)
            stopped_after = time.monotonic() - start
            killer.join()
            assert a[0] == 7.0, "what the host no longer waits for does not come back"
            q.wait()
            assert stopped_after < 0.8 * took, f"{stopped_after} s of {took} s"
            # Everything goes on working.
            b = np.zeros(1)
            busy[1](b, 1)
            assert b[0] == 1e-6
    finally:
        signal.signal(signal.SIGUSR1, before)


@weft.njit
def guarded(a):
    """One long kernel, which is waited for where an element is read."""
    caught = 0
    try:
        b = a + 0.0
        for k in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16):
            b = np.sin(b) * np.cos(b + k) + np.sqrt(np.abs(b))
        if b[0] < -1e9:
            caught = -1
    except Exception:
        caught = 1
    a[:] = 5.0
    return caught


# spec: D8
@pytest.mark.parametrize("raised", [KeyboardInterrupt, Stopped])
def test_compiled_handlers_see_what_ended_a_wait(accelerator, raised):
    """`except Exception` handles what a handler of a signal raises, if that is an Exception: Ctrl-C is none."""

    def handler(number, frame):
        raise raised

    size = 1 << 16
    with weft.device_context(accelerator):
        # Before the handler is there: an OpenCL driver may set its own when it is loaded.
        assert guarded(np.zeros(size)) == 0
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with weft.device_context(accelerator) as q:
            while True:
                a = np.full(size, 7.0)
                start = time.monotonic()
                assert guarded(a) == 0
                took = time.monotonic() - start
                if took > 0.8 or size >= 1 << 25:
                    break
                size *= 2
            if took < 0.4 and accelerator.startswith("cuda"):
                pytest.skip("a cuda device is done before a signal could meet the wait")
            a[:] = 7.0
            killer = threading.Timer(0.3 * took, os.kill, (os.getpid(), signal.SIGUSR1))
            killer.start()
            try:
                if raised is KeyboardInterrupt:
                    with pytest.raises(KeyboardInterrupt):
                        guarded(a)
                    assert a[0] == 7.0, "nothing after the handler ran"
                else:
                    assert guarded(a) == 1
                    assert (a == 5.0).all(), "the call went on, to its end"
            finally:
                killer.join()
            q.wait()
            b = np.zeros(4)
            assert guarded(b) == 0 and (b == 5.0).all()
    finally:
        signal.signal(signal.SIGUSR1, before)


# spec: D5
def test_events_that_nobody_keeps_do_not_add_up(queue):
    content = np.ones(1 << 12, np.uint8)
    m = memory.DeviceMemory(content.nbytes, queue=queue)

    def seconds(count):
        start = time.process_time()
        for _ in range(count):
            queue.memcpy_async(m, content)
        took = time.process_time() - start
        queue.wait()
        return took

    seconds(500)
    few, many = min(seconds(500) for _ in range(3)), min(seconds(4000) for _ in range(2))
    assert many < 40 * few + 0.2, "each event costs the same, however many are pending"
