"""PyDPPL's names over Weft: device contexts, and asking for the open one."""

from __future__ import annotations

from weft._global_queue import reset_global_queue as reset_global_queue
from weft._global_queue import set_global_queue as set_global_queue
from weft._placement import current_queue as get_context
from weft._placement import device_context
from weft.compat.dpctl import backend_type, device_type, get_current_queue, has_cpu_devices, has_gpu_devices

__all__ = [
    "backend_type",
    "device_context",
    "device_type",
    "get_context",
    "get_current_queue",
    "has_cpu_queues",
    "has_gpu_queues",
    "reset_global_queue",
    "set_global_queue",
]

has_cpu_queues = has_cpu_devices
has_gpu_queues = has_gpu_devices
