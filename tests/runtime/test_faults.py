"""Failures of a device, shown by the null device on demand: an exception of the right class, and all else survives."""

import os
import subprocess
import sys
import textwrap

START = """
import numpy as np
import pytest
import weft
from weft import tensor

faults = weft._core._null_faults

@weft.njit
def f(x):
    return x + 1.0

@weft.kernel
def k(x):
    x[weft.get_global_id(0)] = 1.0

elsewhere = tensor.arange(4, dtype="float64", device="native")
here = tensor.asarray(np.arange(5.0), device="null")
host = np.arange(300_000.0)

def offload():
    with weft.device_context("null"):
        f(host)

def survives(device=True):
    "Everything that did not fail works as before."
    assert tensor.asnumpy(elsewhere + 1.0).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert host[-1] == 299_999.0 and f(host)[-1] == 300_000.0
    if device:
        assert tensor.asnumpy(here).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
        tensor.asnumpy(tensor.asarray(host, device="null"))
        here.queue.wait()
        offload()
"""


def run(code: str) -> None:
    """Runs a test in a process that has the null device."""
    env = {**os.environ, "WEFT_NULL_DEVICE": "1"}
    command = [sys.executable, "-c", START + textwrap.dedent(code)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-4000:]


# spec: D8, D4
def test_out_of_memory_has_the_sizes_and_everything_else_survives():
    run("""
        for action, least in [
            (lambda: tensor.asarray(host, device="null"), host.nbytes),
            (offload, host.nbytes),
            (lambda: tensor.asnumpy(tensor.ones(1000, device="null") + 1.0), 8000),
        ]:
            weft._core.memory_trim()
            faults(allocation=(1, 1000))
            with pytest.raises(weft.DeviceMemoryError) as failed:
                action()
            assert isinstance(failed.value, MemoryError)
            words = str(failed.value).split()
            assert words[0] == "null:accelerator:0" and least <= int(words[words.index("bytes") - 1]) < 2 * least
            assert f"{weft.Device('null').global_mem_size} bytes in all" in str(failed.value)
            faults()
            survives()
    """)


# spec: D8, D4
def test_one_failed_allocation_is_tried_again_after_a_trim():
    run("""
        weft._core.memory_trim()
        faults(allocation=(1, 1))
        assert tensor.asnumpy(tensor.asarray(host, device="null"))[-1] == 299_999.0
        survives()
    """)


# spec: D8
def test_the_nth_allocation_fails_and_those_before_it_do_not():
    run("""
        offload()
        weft._core.memory_trim()
        faults(allocation=(3, 1000))
        kept = []
        with pytest.raises(weft.DeviceMemoryError):
            for n in range(10):
                kept.append(tensor.asarray(host[: 10_000 * (n + 1)], device="null"))
        assert len(kept) == 2
        faults()
        assert all(tensor.asnumpy(x)[-1] == x.size - 1 for x in kept)
        survives()
    """)


# spec: D8
def test_a_refused_launch_carries_the_drivers_words():
    run("""
        for action in [lambda: k[5](here), offload, lambda: tensor.asnumpy(here + 1.0)]:
            faults(launch=(1, 1))
            with pytest.raises(weft.DeviceError, match="null:accelerator:0: launch failed with -1: NULL_INJECTED") as e:
                action()
            assert type(e.value) is weft.DeviceError
            survives()
            action()
    """)


# spec: D8
def test_a_refused_copy_leaves_host_arrays_as_they_were():
    run("""
        for nth in (1, 2):
            faults(copy=(nth, 1))
            with pytest.raises(weft.DeviceError, match="memcpy failed with -1"):
                offload()
            survives()
        faults(copy=(1, 1))
        with pytest.raises(weft.DeviceError, match="memcpy failed"):
            tensor.asarray(np.zeros(3), device="null")
        survives()
    """)


# spec: D8
def test_a_lost_device_is_lost_and_nothing_else_is():
    run("""
        faults(loss=(2, 1))
        k[5](here)
        said = "null:accelerator:0 was lost and cannot be used again .*memory on other devices is intact"
        for use in [
            lambda: k[5](here),
            lambda: tensor.asnumpy(here),
            lambda: tensor.asnumpy(here + 1.0),
            lambda: here.to_device("native") + 1.0,
            lambda: tensor.asarray(host, device="null"),
            lambda: here.queue.wait(),
            lambda: weft.Queue("null"),
            offload,
        ]:
            with pytest.raises(weft.DeviceLostError, match=said) as lost:
                use()
            assert isinstance(lost.value, weft.DeviceError)
            survives(device=False)
        assert weft.Device("null").name == "null device"
        del here
        survives(device=False)
    """)


# spec: D8
def test_a_program_with_a_lost_device_ends_quietly():
    env = {**os.environ, "WEFT_NULL_DEVICE": "1"}
    code = START + "faults(loss=(1, 1))\ntry:\n    k[5](here)\nexcept weft.DeviceLostError:\n    print('lost')\n"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "lost\n", "")
