"""The place names of the original documents, bound to the device under test."""

from types import SimpleNamespace

import pytest

import weft


@pytest.fixture
def places(device):
    """`gpu` is the device under test, `cpu` is native. `gpu_queue_1` and `gpu_queue_2` are equivalent, `gpu_queue` is
    not equivalent to them."""
    return SimpleNamespace(
        gpu=weft.Device(device).filter_string,
        cpu="native:cpu:0",
        gpu_queue=weft.Queue(device, profiling=True),
        gpu_queue_1=weft.Queue(device),
        gpu_queue_2=weft.Queue(device),
    )
