"""Choosing a device: filters, aspects, the environment, and the command line that shows what there is."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

import weft
from support import OTHER


def python(*arguments: str, **environment: str) -> Any:
    """Runs Python in a process of its own."""
    env = {name: value for name, value in os.environ.items() if name not in ("WEFT_DEVICE", "WEFT_NULL_DEVICE")}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env={**env, **environment}, capture_output=True, text=True, timeout=120)


# spec: D1
def test_devices_by_backend_and_type(device):
    found = weft.Device(device)
    assert found in weft.devices(found.backend)
    assert found in weft.devices(type=found.device_type)
    assert found in weft.devices(backend=found.backend, type=found.device_type)
    assert found in weft.devices(f"{found.backend}:{found.device_type}")
    assert found in weft.devices("all") and found in weft.devices()
    other = "gpu" if found.device_type == "cpu" else "cpu"
    assert found not in weft.devices(found.backend, other)
    assert weft.devices("level_zero") == []


# spec: D1
def test_devices_of_an_unknown_kind():
    with pytest.raises(weft.DeviceError, match="did you mean `cuda`"):
        weft.devices("coda")
    with pytest.raises(weft.DeviceError, match="did you mean `gpu`"):
        weft.devices(type="gpus")


# spec: D1
def test_a_filter_has_alternatives_and_optional_parts(device):
    found = weft.Device(device)
    for filter in (
        found.filter_string,
        f"cuda:77,{found.filter_string}",
        f"{found.backend}:{found.index}",
        f" {found.backend.upper()} : {found.device_type} ",
        f"level_zero:gpu, {found.backend}",
    ):
        assert weft.Device(filter) == found


# spec: D1
def test_the_nearest_devices_are_shown():
    with pytest.raises(weft.DeviceError) as refused:
        weft.Device(f"{OTHER.split(':')[0]}:accelerator:3")
    nearest = str(refused.value).split("there is ")[1]
    assert nearest.startswith(OTHER) and "native:cpu:0" in nearest


# spec: D1, D2
def test_selection_by_filters():
    native, other = weft.Device("native"), weft.Device(OTHER)
    assert weft.select_device() == weft.default_device()
    assert weft.select_device("native") == native
    assert weft.select_device("cuda:gpu:99", OTHER, "native") == other
    assert weft.select_device(f"cuda:gpu:99,{OTHER}") == other
    assert weft.select_device(other) == weft.select_device(weft.Queue(other)) == other
    assert weft.select_device("cpu") == native
    with pytest.raises(weft.DeviceError, match="no device matches `cuda:gpu:99,null`; there is"):
        weft.select_device("cuda:gpu:99", "null")
    with pytest.raises(weft.DeviceError, match="did you mean `native`"):
        weft.select_device("nativ")


# spec: D1, D2
def test_selection_by_aspects():
    assert weft.select_device(aspects=["cpu", "fp64"]).has_aspect_cpu
    assert weft.select_device(aspects="usm_system_allocations").backend == "native"
    assert weft.select_device(excluded_aspects=["usm_system_allocations"]).backend != "native"
    chosen = weft.select_device("cpu", OTHER, aspects=["fp64"], excluded_aspects=["host_debuggable"])
    assert chosen.backend != "native"
    with pytest.raises(weft.DeviceError, match="native:cpu:0 has no gpu"):
        weft.select_device("native", aspects=["cpu", "gpu"])
    with pytest.raises(weft.DeviceError, match="native:cpu:0 has cpu"):
        weft.select_device("native", excluded_aspects=["cpu"])
    with pytest.raises(ValueError, match="'fp46' is no aspect of a device; did you mean 'fp64'"):
        weft.select_device(aspects=["fp46"])


# spec: D1, B10
def test_the_default_is_a_gpu_where_there_is_one():
    gpus = weft.devices(type="gpu")
    assert weft.default_device() == (gpus[0] if gpus else weft.Device("native"))
    best = max(device.default_selector_score for device in weft.devices())
    assert weft.default_device().default_selector_score == best


# spec: D1, B10
def test_the_environment_names_the_default():
    code = "import weft; print(weft.default_device().filter_string, weft.tensor.ones(2).device.filter_string)"
    done = python("-c", code, WEFT_DEVICE=f"cuda:77,{OTHER}")
    assert done.stdout.split() == [OTHER, OTHER], done.stderr
    done = python("-c", code, WEFT_DEVICE="coda")
    assert done.returncode == 1 and "did you mean `cuda`" in done.stderr


# spec: D2
def test_a_device_from_anything_that_names_one(device):
    found = weft.Device(device)
    array = weft.tensor.ones(2, device=device)
    for place in (device, found, weft.Queue(device), array.device, array.queue):
        assert weft.Device.create_device(place) == weft.Device(place) == found
    for nonsense in (3, object(), [device]):
        with pytest.raises(TypeError, match="a place is a filter string"):
            weft.Device.create_device(nonsense)
    assert weft.Device.create_device() == weft.default_device()


# spec: G1, D1
def test_the_table_of_devices():
    done = python("-m", "weft", "devices")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["device", "name", "memory", "units", "fp64", "driver"]
    rows = [line for line in done.stdout.splitlines()[1:] if line]
    assert len(rows) == len(weft.devices())
    assert [row for row in rows if row.startswith("*")] == [r for r in rows if weft.Device().filter_string in r]


# spec: G1, D2
def test_devices_as_data():
    done = python("-m", "weft", "devices", "--json", "--all")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert listed["default"] == weft.default_device().filter_string
    assert [d["filter_string"] for d in listed["devices"]] == [d.filter_string for d in weft.devices()]
    for properties in listed["devices"]:
        assert len(properties) >= 40 and properties["parent_device"] is None
    reasons = {seen["backend"]: seen["reason"] for seen in listed["unusable"]}
    assert "WEFT_NULL_DEVICE=1" in reasons["null"] and "reserved" in reasons["level_zero"]
    for backend in ("cuda", "opencl"):
        assert weft.devices(backend) or reasons[backend]


# spec: G1, D2
def test_every_property_and_what_cannot_be_used():
    done = python("-m", "weft", "devices", "--all", WEFT_NULL_DEVICE="1")
    assert done.returncode == 0, done.stderr
    for device in [*weft.devices(), "null:accelerator:0"]:
        assert getattr(device, "filter_string", device) in done.stdout.splitlines()
    assert done.stdout.count("max_work_group_size") == len(weft.devices()) + 1
    assert "level_zero" in done.stdout.split("not usable:")[1]


# spec: G1, D1
def test_the_doctor_explains_each_backend():
    done = python("-m", "weft", "doctor", WEFT_OPENCL_LIB="/nowhere/libnone.so", WEFT_DEVICE="cuda:77")
    assert done.returncode == 0, done.stderr
    native, cuda, opencl, *_ = done.stdout.split("\n\n")[1:]
    assert native.startswith("native:") and "device: native:cpu:0" in native
    assert "looked for: libcuda.so.1" in cuda
    assert "device: cuda:gpu:0" in cuda or "install the NVIDIA driver" in cuda or "problem:" in cuda
    assert "looked for: /nowhere/libnone.so (" in opencl and "looked for: libOpenCL.so.1" in opencl
    assert "default device: no device matches `cuda:77`" in done.stdout


# spec: G1, D1
def test_the_doctor_fails_only_if_native_does_not_work(monkeypatch, capsys):
    from weft import __main__ as command

    assert command.main(["doctor"]) == 0

    def broken(function):
        raise OSError("no memory may be made executable")

    capsys.readouterr()
    monkeypatch.setattr(weft, "njit", broken)
    assert command.main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "native: broken" in said and "OSError: no memory may be made executable" in said


# spec: G1
def test_wrong_commands_show_the_right_ones():
    for arguments in ([], ["devises"], ["devices", "--jsom"], ["doctor", "--all"]):
        done = python("-m", "weft", *arguments)
        assert done.returncode == 2
        assert "devices [--all] [--json]" in done.stderr and "doctor" in done.stderr
    assert python("-m", "weft", "--help").returncode == 0
