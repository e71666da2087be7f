"""dpctl's names over Weft: devices, contexts, queues, events, timers, memory, programs, tensors.

A `SyclDevice` is a `weft.Device`, and so on: everything Weft says about these classes holds. Queues are in order unless
`property=` or `in_order=` says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from weft import _core
from weft._global_queue import queue_for_new_array
from weft._global_queue import reset_global_queue as reset_global_queue
from weft._global_queue import set_global_queue as set_global_queue
from weft._placement import current_queue
from weft._placement import device_context as device_context
from weft._placement import devices as _devices
from weft._placement import select_device as _select_device
from weft.compat._alias import lazy
from weft.compat.dpctl._enums import backend_type as backend_type
from weft.compat.dpctl._enums import device_type as device_type

if TYPE_CHECKING:
    from weft.compat.dpctl import memory as memory
    from weft.compat.dpctl import program as program
    from weft.compat.dpctl import tensor as tensor
    from weft.compat.dpctl import utils as utils

_NAMES = {
    "SyclContext": "weft:Context",
    "SyclContextCreationError": "weft:DeviceError",
    "SyclDevice": "weft:Device",
    "SyclDeviceCreationError": "weft:DeviceError",
    "SyclEvent": "weft:Event",
    "SyclKernelInvalidRangeError": "weft:DeviceError",
    "SyclKernelSubmitError": "weft:DeviceError",
    "SyclQueue": "weft:Queue",
    "SyclQueueCreationError": "weft:DeviceError",
    "SyclSubDeviceCreationError": "weft:DeviceError",
    "SyclTimer": "weft:Timer",
    "memory": "weft.compat.dpctl.memory",
    "program": "weft.compat.dpctl.program",
    "tensor": "weft.compat.dpctl.tensor",
    "utils": "weft.compat.dpctl.utils",
}

__getattr__, _lazy_names = lazy(__name__, _NAMES)


def __dir__() -> list[str]:
    return sorted({*_lazy_names(), *(name for name in globals() if not name.startswith("_"))})


def _matching(backend: str, kind: str) -> list[_core.Device]:
    backend, kind = str(backend), str(kind)
    return [d for d in _devices() if backend in ("all", d.backend) and kind in ("all", d.device_type)]


def get_devices(backend: str = "all", device_type: str = "all") -> list[_core.Device]:
    """The devices of a backend and type."""
    return _matching(backend, device_type)


def get_num_devices(backend: str = "all", device_type: str = "all") -> int:
    """How many devices of a backend and type there are."""
    return len(_matching(backend, device_type))


def has_gpu_devices() -> bool:
    """Whether there is a GPU."""
    return bool(_matching("all", "gpu"))


def has_cpu_devices() -> bool:
    """Whether there is a CPU device: always, since `native` is one."""
    return bool(_matching("all", "cpu"))


def has_accelerator_devices() -> bool:
    """Whether there is a device that is neither a CPU nor a GPU."""
    return bool(_matching("all", "accelerator"))


def select_default_device() -> _core.Device:
    """The default device: `WEFT_DEVICE`, else the first GPU, else native."""
    return _select_device()


def select_gpu_device() -> _core.Device:
    """The best GPU."""
    return _select_device("gpu")


def select_cpu_device() -> _core.Device:
    """The best CPU device."""
    return _select_device("cpu")


def select_accelerator_device() -> _core.Device:
    """The best device that is neither a CPU nor a GPU."""
    return _select_device("accelerator")


def select_device_with_aspects(
    required_aspects: str | Iterable[str], excluded_aspects: str | Iterable[str] = ()
) -> _core.Device:
    """The best device that has every required aspect and no excluded one."""
    return _select_device(aspects=required_aspects, excluded_aspects=excluded_aspects)


def get_current_queue() -> _core.Queue:
    """The queue for new arrays: of the open device context, else the global one, else the default device's."""
    return queue_for_new_array(None, None)


def is_in_device_context() -> bool:
    """Whether a device context is open."""
    return current_queue() is not None


def lsplatform(verbosity: int = 0) -> None:
    """Prints a line for each device."""
    for device in _devices():
        print(f"{device.filter_string:<20}{device.name}  {device.driver_version if verbosity else ''}".rstrip())
