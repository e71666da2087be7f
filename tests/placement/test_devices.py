"""Devices and queues: naming them, comparing them."""

import os
import pickle
import re
import uuid
from pathlib import Path

import pytest

import weft
from support import OTHER


# spec: D1
def test_native_is_always_there():
    assert weft.devices()[0].filter_string == "native:cpu:0"
    assert weft.Device("cpu").backend == "native"


# spec: D1, D2
def test_a_devices_own_filter_string_finds_it_again():
    for device in weft.devices():
        assert weft.Device(device.filter_string) == device
        assert weft.Device.create_device(device) == device
        assert hash(weft.Device(device.filter_string)) == hash(device)
        assert device.filter_string == f"{device.backend}:{device.device_type}:{device.index}"
        assert device.name and device.vendor and device.driver_version
        assert device.global_mem_size > 0 and device.max_compute_units > 0
        assert "device" in device.usm_types
        assert device.filter_string in repr(device)


# spec: D1
@pytest.mark.parametrize(
    ("filter", "says"),
    [
        ("gup", "did you mean `gpu`"),
        ("cuda:cpu", "no device matches `cuda:cpu`"),
        ("native:cpu:7", "no device matches"),
        ("level_zero:gpu", "reserved"),
    ],
)
def test_a_filter_that_names_no_device(filter, says):
    with pytest.raises(weft.DeviceError, match=says):
        weft.Device(filter)
    with pytest.raises(weft.DeviceError, match=says):
        weft.device_context(filter)


# spec: D2
def test_every_device_says_what_it_is(device):
    found = weft.Device(device)
    info = found.get_info()
    assert len(info) >= 40
    for name, value in info.items():
        assert getattr(found, name) == value
    assert info["filter_string"] == found.filter_string
    assert info["address_bits"] == 64
    assert info["max_work_item_dims"] == 3 and len(info["max_work_item_sizes"]) == 3
    assert 0 < info["max_mem_alloc_size"] <= info["global_mem_size"]
    assert 0 < info["max_work_group_size"] <= 1 << 20 and all(n > 0 for n in info["max_work_item_sizes"])
    assert info["sub_group_sizes"] and all(n > 0 for n in info["sub_group_sizes"])
    assert info["max_num_sub_groups"] > 0 and info["max_parameter_size"] >= 1024
    assert info["global_mem_cache_size"] > 0 and info["global_mem_cache_line_size"] in (32, 64, 128, 256)
    # Virtual machines may hide it from the driver.
    assert info["max_clock_frequency"] is None or 100 < info["max_clock_frequency"] < 10_000
    assert info["profiling_timer_resolution"] >= 1
    for kind in ("preferred", "native"):
        widths = {t: info[f"{kind}_vector_width_{t}"] for t in ("char", "short", "int", "long", "float", "double")}
        assert all(width >= 1 for width in widths.values())
        assert widths["char"] >= widths["int"] >= widths["long"]
    assert info["parent_device"] is None and found.parent is None
    assert info["has_atomics32"] and info["has_fp64"] == ("fp64" in info["aspects"])
    assert (info["partition_max_sub_devices"] > 0) == bool(info["partition_kinds"]) == found.has_aspect_partitionable


# spec: D2
def test_aspects_agree_with_the_properties(device):
    found = weft.Device(device)
    flags = {name.removeprefix("has_aspect_") for name in dir(found) if name.startswith("has_aspect_")}
    assert {name for name in flags if getattr(found, f"has_aspect_{name}")} == set(found.aspects)
    assert found.has_aspect_cpu == (found.device_type == "cpu")
    assert found.has_aspect_gpu == (found.device_type == "gpu")
    assert not found.has_aspect_accelerator
    assert found.has_aspect_fp16 == found.has_fp16 and found.has_aspect_atomic64 == found.has_atomics64
    for kind in ("device", "shared", "host"):
        assert getattr(found, f"has_aspect_usm_{kind}_allocations") == (kind in found.usm_types)
    assert found.has_aspect_queue_profiling and found.has_aspect_online_compiler


# spec: D2
def test_native_tells_the_real_machine():
    native = weft.Device("native")
    with open("/proc/cpuinfo") as cpuinfo:
        assert native.name in cpuinfo.read()
    assert 1 <= native.max_compute_units <= len(os.sched_getaffinity(0))
    cache = Path("/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size")
    if cache.exists():
        assert native.global_mem_cache_line_size == int(cache.read_text())
        assert native.l1_cache_size <= native.l2_cache_size
    assert native.host_unified_memory and native.program_languages == []


# spec: D2
@pytest.mark.cuda
def test_cuda_has_an_address_and_an_id():
    if not weft.devices("cuda"):
        pytest.skip("no CUDA device on this machine")
    device = weft.Device("cuda")
    assert re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0", device.pci_address)
    assert uuid.UUID(device.uuid).int != 0
    assert device.arch.startswith("sm_") and device.vendor_id == 0x10DE
    assert device.sub_group_sizes == [32] and device.program_languages == ["PTX"]


# spec: D2
def test_all_properties_can_be_printed(device, capsys):
    found = weft.Device(device)
    found.print_device_info()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == found.filter_string
    printed = dict(line.split(maxsplit=1) for line in lines[1:])
    assert printed["name"] == found.name
    assert printed["max_compute_units"] == str(found.max_compute_units)
    assert len(printed) >= 40


# spec: D2
def test_a_device_can_be_pickled(device):
    found = weft.Device(device)
    assert pickle.loads(pickle.dumps(found)) == found


# spec: B2
def test_queues_are_equal_when_device_and_properties_are():
    first, second = weft.Queue(OTHER), weft.Queue(OTHER)
    assert first == second and hash(first) == hash(second)
    assert first != weft.Queue(OTHER, profiling=True)
    assert first != weft.Queue(OTHER, in_order=False)
    assert first != weft.Queue("native")
    assert first.is_in_order and not first.has_profiling
    first.wait()


# spec: B10
def test_the_default_device_can_be_set():
    before = weft.config.device
    try:
        weft.config.device = OTHER
        assert weft.default_device().filter_string == OTHER
        weft.config.device = "nowhere"
        with pytest.raises(weft.DeviceError, match="nowhere"):
            weft.default_device()
    finally:
        weft.config.device = before
