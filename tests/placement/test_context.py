"""Device contexts: where jitted calls on NumPy arrays run."""

import asyncio
import threading

import pytest

import numpy as np
import weft
from support import OTHER, same, same_as_plain


@weft.njit
def wave(x, y):
    return np.sin(x) * np.exp(y) + x


# spec: A1
def test_a_context_offloads_and_returns_numpy_arrays(device):
    x, y = np.linspace(0, 1, 1000), np.linspace(1, 2, 1000)
    with weft.device_context(device), weft.trace() as trace:
        same_as_plain(wave, x, y)
    assert [item.device.split(":")[0] for item in trace.launches] == [device]


# spec: A8
def test_each_array_moves_once(device):
    x, y = np.linspace(0, 1, 1000), np.linspace(1, 2, 1000)
    with weft.device_context(device):
        wave(x, y)
        with weft.trace() as trace:
            wave(x, y)
    moved = [] if device == "native" else [8000, 8000, 8000]
    assert [item.bytes for item in trace.copies] == moved
    assert not trace.compiles


# spec: A2
def test_specialisations_are_keyed_by_place():
    """After Listing 2.1 there are three."""

    @weft.njit
    def foo(x):
        return x + 1.0

    x = np.ones(3)
    foo(x)
    with weft.device_context(OTHER):
        foo(x)
    with weft.device_context("native"):
        foo(x)
    foo(x)
    assert [s.device for s in foo.specializations] == ["native:cpu:0", OTHER, "native:cpu:0"]


# spec: A1
def test_contexts_nest_and_end():
    assert weft.current_queue() is None
    with weft.device_context(OTHER) as outer:
        assert weft.current_queue() == outer
        with weft.device_context("native"):
            assert weft.current_queue().device.backend == "native"
        assert weft.current_queue() == outer
        with pytest.raises(KeyError), weft.device_context("native"):
            raise KeyError
        assert weft.current_queue() == outer
    assert weft.current_queue() is None


# spec: A1
def test_contexts_belong_to_a_thread():
    seen = []
    with weft.device_context(OTHER):
        thread = threading.Thread(target=lambda: seen.append(weft.current_queue()))
        thread.start()
        thread.join()
    assert seen == [None]


# spec: A1
def test_contexts_belong_to_an_async_task():
    async def inside(where, turns):
        with weft.device_context(where):
            for _ in range(turns):
                await asyncio.sleep(0)
                assert weft.current_queue().device.filter_string == where

    async def main():
        await asyncio.gather(inside("native:cpu:0", 5), inside(OTHER, 3))
        assert weft.current_queue() is None

    asyncio.run(main())


# spec: A1
def test_a_place_is_a_filter_string_a_device_or_a_queue():
    for where in (OTHER, weft.Device(OTHER), weft.Queue(OTHER), weft.Queue(OTHER, profiling=True)):
        with weft.device_context(where):
            assert weft.current_queue().device == weft.Device(OTHER)
    with pytest.raises(TypeError, match="filter string"):
        weft.device_context(3)


# spec: A1
def test_a_wrapper_as_in_listing_2_2():
    def offloading(function):
        jitted = weft.jit(function)

        def wrapped(*args, **kwargs):
            if weft.current_queue():
                return jitted(*args, **kwargs)
            with weft.device_context(OTHER):
                return jitted(*args, **kwargs)

        wrapped.jitted = jitted
        return wrapped

    @offloading
    def foo(a):
        return a * 2.0

    same(foo(np.arange(3.0)), np.arange(3.0) * 2.0)
    assert [s.device for s in foo.jitted.specializations] == [OTHER]


# spec: A5
def test_parallel_false_and_a_context_contradict(monkeypatch):
    @weft.njit(parallel=False)
    def foo(x):
        return x + 1.0

    x = np.ones(3)
    foo(x)
    with weft.device_context(OTHER):
        with pytest.raises(weft.OffloadConflictError, match=rf"parallel=False \(.*test_context.py:\d+\).*{OTHER}"):
            foo(x)
        try:
            weft.config.offload_conflict = "host"
            foo(x)
            assert [s.device for s in foo.specializations] == ["native:cpu:0"]
            weft.config.offload_conflict = "ignore"
            foo(x)
            assert [s.device for s in foo.specializations] == ["native:cpu:0", OTHER]
        finally:
            weft.config.offload_conflict = "error"


# spec: A8
def test_overlapping_and_strided_arguments(device):
    base = np.arange(100.0)
    with weft.device_context(device):
        same_as_plain(wave, base[::2], base[1::2] * 0.01)
        same_as_plain(wave, base[:50], base[25:75] * 0.01)
        same_as_plain(wave, base[::-1] * 0.01, base * 0.01)


# spec: A8
def test_an_exception_leaves_everything_usable(device):
    with weft.device_context(device):
        with pytest.raises(ValueError, match="broadcast"):
            wave(np.ones(3), np.ones(4))
        same_as_plain(wave, np.ones(3), np.ones(3))


# spec: A1
def test_the_last_context_wins_for_scalars_too(device):
    with weft.device_context(device):
        same_as_plain(wave, 1.0, 2.0)
        same_as_plain(wave, np.float32(1.0), np.float32(2.0))


# spec: N5
def test_device_code_can_be_inspected(device):
    @weft.njit
    def f(x):
        return x * 2.0

    with weft.device_context(device):
        f(np.ones(3))
    if device == "native":
        assert "par.for" in f.inspect("loops")
    else:
        assert "simt.launch" in f.inspect("loops")
        assert "OpEntryPoint" in f.inspect("spirv") and ".visible .entry" in f.inspect("ptx")
