"""Memory as bytes on a queue, and what the pools hold.

    m = weft.memory.SharedMemory(1024, queue="cuda")
    m.copy_from_host(b"warp and weft")
    memoryview(m)[:4]                       # where the host can see it: shared, host, and all of a native queue's

Memory comes from a pool per device and kind, and goes back there, in the order of its queue, when nothing refers to it.
`stats()` says what the pools hold, `trim()` gives back what they keep, `weft.config.memory_limit` bounds them. When
memory runs out, what is pending runs and the pools are trimmed, once, before `weft.DeviceMemoryError` says the sizes.

Everything here speaks `__sycl_usm_array_interface__`, and takes it from other objects: `as_usm_memory(obj)` is their
memory without a copy. A tensor has it too; its memory is shared from then on, and an in-place operation on the tensor
later gives it new memory, which a holder of the old does not see.

Pickling carries the bytes, the kind and the device's filter string. They are restored on the default queue of that
device or, where there is no such device, of the default device, with a `weft.PlacementWarning`.
"""

from __future__ import annotations

import warnings
from operator import add
from typing import Any, NamedTuple

from weft import _core, errors
from weft._core import DeviceMemory, HostMemory, Queue, SharedMemory
from weft._global_queue import Place as _Place

__all__ = [
    "DeviceMemory",
    "HostMemory",
    "MemoryUSMDevice",
    "MemoryUSMHost",
    "MemoryUSMShared",
    "PoolStats",
    "SharedMemory",
    "as_usm_memory",
    "stats",
    "trim",
]


# The names dpctl has for them.
MemoryUSMDevice = DeviceMemory
MemoryUSMShared = SharedMemory
MemoryUSMHost = HostMemory

_KINDS: dict[str, Any] = {"device": DeviceMemory, "shared": SharedMemory, "host": HostMemory}


def as_usm_memory(obj: Any) -> DeviceMemory | SharedMemory | HostMemory:
    """The memory of an object with `__sycl_usm_array_interface__`, without a copy. Keeps the object's memory alive."""
    if isinstance(obj, (DeviceMemory, SharedMemory, HostMemory)):
        return obj
    kind: str = _core.usm_kind(obj)
    memory: DeviceMemory | SharedMemory | HostMemory = _KINDS[kind](obj)
    return memory


def _restored_queue(device: str, what: str) -> Queue:
    """Where what was on a device is unpickled: there, or on the default device if there is no such device."""
    try:
        return _core.queue_of(device)
    except errors.DeviceError:
        queue = _core.queue_of(None)
        there = queue.device.filter_string
        warnings.warn(
            f"{what} of {device}, which is not here, was restored on {there}", errors.PlacementWarning, stacklevel=3
        )
        return queue


def _restore(kind: Any, content: bytes, device: str) -> Any:
    """Unpickles memory."""
    queue = _restored_queue(device, "memory")
    memory = kind(len(content), queue=queue)
    memory.copy_from_host(content)
    return memory


def _restore_queue(device: str, in_order: bool, profiling: bool) -> Queue:
    """Unpickles a queue."""
    return Queue(device, in_order=in_order, profiling=profiling)


class PoolStats(NamedTuple):
    """What one pool holds. Bytes count whole blocks, which are up to a quarter larger than what was asked for."""

    live: int
    """Bytes in use."""
    pooled: int
    """Bytes kept for reuse."""
    peak: int
    """Most bytes that were in use at once."""
    allocations: int
    """Requests answered so far."""
    fresh: int
    """Requests for which the system or the driver had to be asked."""


def stats(device: _Place = None) -> dict[str, Any]:
    """What the pools hold: `stats()["cuda:gpu:0"]["device"].live`, or `stats("cuda")["device"].live`.

    Memory of native queues, of whatever kind, and results of jitted functions come from one pool,
    `stats("native")["host"]`.
    """
    found: dict[str, dict[str, PoolStats]] = {}
    for place, kind, *numbers in _core.memory_stats():
        name = "native:cpu:0" if place == "host" else place
        # A device in several contexts has a pool in each.
        pools = found.setdefault(name, {})
        before = pools.get(kind or "host", (0,) * len(numbers))
        pools[kind or "host"] = PoolStats(*map(add, before, numbers))
    if device is None:
        return found
    return found.get(_core.queue_of(device).device.filter_string, {})


def trim() -> int:
    """Gives all memory that the pools keep for reuse back to the system and the drivers. Returns how many bytes."""
    return _core.memory_trim()
