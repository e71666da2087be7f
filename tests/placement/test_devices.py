"""Devices and queues: naming them, comparing them."""

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
