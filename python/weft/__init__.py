"""Weft: data-parallel Python. One compiler for NumPy functions, kernels and tensors, on CPUs and GPUs.

    @weft.njit                              # compiled for the types it is called with
    def f(x, y):
        return np.sin(x) * np.exp(y) + x

    with weft.device_context("cuda"):       # offloaded: copied in, run, copied back
        z = f(x, y)

Modules: `weft.tensor` (arrays on devices), `weft.memory` (bytes on devices), `weft.types` (signatures),
`weft.config` (settings), `weft.errors` (exception classes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as _numpy  # the extension needs NumPy's C API  # noqa: F401
from weft import _core, config, errors
from weft._core import Context, Device, Dispatcher, Event, Kernel, Queue
from weft._core import Trace as trace
from weft._core import usm_ndarray as Tensor
from weft._decorators import jit, kernel, njit
from weft._generic import generic
from weft._global_queue import reset_global_queue, set_global_queue
from weft._overload import overload
from weft._placement import (
    current_queue,
    default_device,
    device_context,
    devices,
    get_global_id,
    get_global_size,
    placement,
    select_device,
)
from weft._ranges import NdRange, Range, call_kernel, call_kernel_async
from weft._threads import get_num_threads, prange, reduction, set_num_threads
from weft._timer import Timer
from weft.errors import (
    CompileError,
    DeviceError,
    DeviceLostError,
    DeviceMemoryError,
    ExecutionPlacementError,
    OffloadConflictError,
    OptionWarning,
    PlacementWarning,
    TypingError,
    UnsupportedError,
    WeftError,
    WeftInternalError,
)

if TYPE_CHECKING:
    from weft import atomic, compat, memory, program, tensor, types, utils
    from weft._report import Report

__version__: str = _core.__version__

# The runtime chooses the work-group size: `f[global_size, weft.DEFAULT_LOCAL_SIZE](...)`.
DEFAULT_LOCAL_SIZE: tuple[int, ...] = ()

__all__ = [
    "DEFAULT_LOCAL_SIZE",
    "CompileError",
    "Context",
    "Device",
    "DeviceError",
    "DeviceLostError",
    "DeviceMemoryError",
    "Dispatcher",
    "Event",
    "ExecutionPlacementError",
    "Kernel",
    "NdRange",
    "OffloadConflictError",
    "OptionWarning",
    "PlacementWarning",
    "Queue",
    "Range",
    "Report",
    "Tensor",
    "Timer",
    "TypingError",
    "UnsupportedError",
    "WeftError",
    "WeftInternalError",
    "atomic",
    "call_kernel",
    "call_kernel_async",
    "compat",
    "config",
    "current_queue",
    "default_device",
    "device_context",
    "devices",
    "errors",
    "generic",
    "get_global_id",
    "get_global_size",
    "get_num_threads",
    "jit",
    "kernel",
    "memory",
    "njit",
    "overload",
    "placement",
    "prange",
    "program",
    "reduction",
    "reset_global_queue",
    "select_device",
    "set_global_queue",
    "set_num_threads",
    "tensor",
    "trace",
    "types",
    "utils",
]


# What the module's own code uses.
_HIDDEN = {"Any", "TYPE_CHECKING", "annotations"}
_SUBMODULES = {"atomic", "compat", "memory", "program", "tensor", "types", "utils"}


# Names that one looks for who comes from Numba, and what to write.
_INSTEAD = {
    "vectorize": "write the array expression in a function with @weft.njit",
    "guvectorize": "write a loop, or a weft.prange, over the outer axes in a function with @weft.njit",
    "stencil": "write slices (`x[2:] - x[:-2]`), or a loop, in a function with @weft.njit",
    "cuda": 'kernels are functions with @weft.kernel, run inside weft.device_context("cuda")',
    "typed": "lists are Python's own; dicts are not compiled yet",
}


def _instead(name: str) -> str:
    """What to write instead of a name that is not there."""
    if name.startswith("_"):
        return ""
    if name in _INSTEAD:
        return f": {_INSTEAD[name]}"
    import difflib

    from weft import types

    if name in types.__all__:
        return f"; did you mean weft.types.{name}?"
    near = difflib.get_close_matches(name, __all__, 1)
    return f"; did you mean {near[0]}?" if near else ""


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        import importlib

        return importlib.import_module(f"weft.{name}")
    if name == "Report":
        from weft._report import Report

        return Report
    raise AttributeError(f"module 'weft' has no attribute {name!r}{_instead(name)}", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES} - _HIDDEN)
