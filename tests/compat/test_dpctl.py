"""`weft.compat`: other packages' names are Weft's own objects."""

import importlib
import subprocess
import sys

import pytest

import numpy as np
import weft
import weft.compat.dpctl as dpctl
from support import OTHER, same
from weft.compat import dppl
from weft.compat.dpctl import tensor as dpt


# spec: B1, D3
@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("SyclContext", "Context"),
        ("SyclDevice", "Device"),
        ("SyclEvent", "Event"),
        ("SyclQueue", "Queue"),
        ("SyclTimer", "Timer"),
    ],
)
def test_classes_are_aliases(name, ours):
    assert getattr(dpctl, name) is getattr(weft, ours)
    assert name in dir(dpctl)


# spec: D4
def test_memory_classes_are_aliases():
    from weft.compat.dpctl import memory

    assert memory.MemoryUSMDevice is weft.memory.DeviceMemory
    assert memory.MemoryUSMShared is weft.memory.SharedMemory
    assert memory.MemoryUSMHost is weft.memory.HostMemory


# spec: D6
def test_programs_are_aliases():
    from weft.compat.dpctl import program

    assert program.create_program_from_source is weft.program.create_program_from_source
    assert program.create_program_from_spirv is weft.program.create_program_from_spirv
    assert program.SyclProgram is weft.program.Program and program.SyclKernel is weft.program.Kernel


def test_modules_are_the_modules_themselves():
    assert dpt is dpctl.tensor is weft.tensor
    assert importlib.import_module("weft.compat.dpctl.tensor") is weft.tensor
    assert dpctl.utils is weft.utils
    from weft.compat.dpctl.utils import ExecutionPlacementError, get_coerced_usm_type, get_execution_queue

    assert ExecutionPlacementError is weft.ExecutionPlacementError
    assert get_coerced_usm_type(["shared", "host"]) == "shared"
    assert get_execution_queue([dpctl.SyclQueue(OTHER), dpctl.SyclQueue(OTHER)]) == weft.Queue(OTHER)


# spec: D1
def test_devices_are_found_by_backend_and_type():
    assert dpctl.get_devices() == weft.devices()
    assert dpctl.get_num_devices() == len(weft.devices())
    for backend in (*dpctl.backend_type, "all"):
        for kind in (*dpctl.device_type, "all"):
            found = dpctl.get_devices(backend=backend, device_type=kind)
            assert all(backend in ("all", d.backend) and kind in ("all", d.device_type) for d in found)
            assert dpctl.get_num_devices(backend=backend, device_type=kind) == len(found)
    assert dpctl.has_cpu_devices() and dpctl.has_gpu_devices() == bool(dpctl.get_devices(device_type="gpu"))
    assert dpctl.has_accelerator_devices() == bool(dpctl.get_devices(device_type="accelerator"))


# spec: D1
def test_devices_are_selected():
    assert dpctl.select_default_device() == weft.default_device()
    assert dpctl.select_cpu_device().device_type == dpctl.select_device_with_aspects("cpu").device_type == "cpu"
    assert dpctl.select_device_with_aspects(["fp64", "usm_shared_allocations"]).has_fp64
    assert dpctl.select_device_with_aspects("fp64", excluded_aspects=["gpu"]).device_type != "gpu"
    if not dpctl.has_gpu_devices():
        with pytest.raises(dpctl.SyclDeviceCreationError, match="gpu"):
            dpctl.select_gpu_device()
    with pytest.raises(weft.DeviceError, match="no device"):
        dpctl.select_device_with_aspects(["cpu"], ["cpu"])
    with pytest.raises(ValueError, match="warp"):
        dpctl.select_device_with_aspects("warp")


# spec: C2, B10
def test_the_current_queue_is_where_new_arrays_go():
    try:
        assert dpctl.get_current_queue() == weft.Queue()
        dpctl.set_global_queue(OTHER)
        assert dpctl.get_current_queue() == dpt.zeros(1).queue == weft.Queue(OTHER)
        assert not dpctl.is_in_device_context()
        with dpctl.device_context("native"):
            assert dpctl.is_in_device_context() and dpctl.get_current_queue() == weft.Queue("native")
    finally:
        dpctl.reset_global_queue()


# spec: A1
def test_the_context_of_dppl():
    assert not dppl.get_context()
    with dppl.device_context(OTHER):
        assert dppl.get_context() == weft.current_queue() == weft.Queue(OTHER)
    with dppl.device_context(dppl.device_type.cpu):
        assert weft.current_queue() == weft.Queue("native")


# spec: B6
def test_kernels_of_numba_dppy(device):
    from weft.compat import numba_dppy

    @numba_dppy.kernel
    def f(a, b, c):
        i = numba_dppy.get_global_id(0)
        c[i] = a[i] * b[i]

    a, b, c = np.arange(4.0), np.arange(4.0), np.zeros(4)
    with numba_dppy.offload_to_sycl_device(device):
        f[a.shape](a, b, c)
    same(c, a * b)


# spec: D3
def test_queues_are_made_as_dpctl_makes_them():
    x = dpt.ones(3, device=OTHER)
    queue = dpctl.SyclQueue(x.sycl_context, x.sycl_device, property="enable_profiling")
    assert queue.has_profiling and queue.device == x.device
    assert x.to_device(queue).queue == queue
    assert dpctl.SyclQueue(OTHER, property=["in_order", "enable_profiling"]) == queue
    assert x.context == x.sycl_context == x.device.sycl_context == x.device.context == x.queue.context


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="SyclToaster"):
        dpctl.SyclToaster
    with pytest.raises(ImportError, match="SyclToaster"):
        from weft.compat.dpctl import SyclToaster  # noqa: F401


def test_importing_the_names_imports_little():
    program = "import sys, weft.compat.dpctl, weft.compat.dppl; print('weft.tensor' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
