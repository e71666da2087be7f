"""Weft: data-parallel Python. One compiler for NumPy functions, kernels and tensors, on CPUs and GPUs.

    @weft.njit                              # compiled for the types it is called with
    def f(x, y):
        return np.sin(x) * np.exp(y) + x

    with weft.device_context("cuda"):       # offloaded: copied in, run, copied back
        z = f(x, y)

Modules: `weft.tensor` (arrays on devices), `weft.config` (settings), `weft.errors` (exception classes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as _numpy  # the extension needs NumPy's C API  # noqa: F401
from weft import _core, config, errors
from weft._core import Device, Queue
from weft._core import Trace as trace
from weft._core import usm_ndarray as Tensor
from weft._decorators import jit, kernel, njit
from weft._placement import (
    current_queue,
    default_device,
    device_context,
    devices,
    get_global_id,
    get_global_size,
)
from weft.errors import (
    CompileError,
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    ExecutionPlacementError,
    OffloadConflictError,
    PlacementWarning,
    TypingError,
    UnsupportedError,
    WeftError,
    WeftInternalError,
)

if TYPE_CHECKING:
    from weft import tensor

__version__: str = _core.__version__

# The runtime chooses the work-group size: `f[global_size, weft.DEFAULT_LOCAL_SIZE](...)`.
DEFAULT_LOCAL_SIZE: tuple[int, ...] = ()

__all__ = [
    "DEFAULT_LOCAL_SIZE",
    "CompileError",
    "Device",
    "DeviceError",
    "DeviceLostError",
    "DeviceMemoryError",
    "ExecutionPlacementError",
    "OffloadConflictError",
    "PlacementWarning",
    "Queue",
    "Tensor",
    "TypingError",
    "UnsupportedError",
    "WeftError",
    "WeftInternalError",
    "config",
    "current_queue",
    "default_device",
    "device_context",
    "devices",
    "errors",
    "get_global_id",
    "get_global_size",
    "jit",
    "kernel",
    "njit",
    "tensor",
    "trace",
]


def __getattr__(name: str) -> Any:
    if name == "tensor":
        import importlib

        return importlib.import_module("weft.tensor")
    raise AttributeError(f"module 'weft' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
