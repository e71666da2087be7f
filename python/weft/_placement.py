"""Where calls run: device contexts, and the queue of the innermost one."""

from __future__ import annotations

from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

from weft import _core

_current: ContextVar[_core.Queue] = ContextVar("weft.device_context")
_core.set_context_variable(_current)


class device_context:
    """`with weft.device_context(where):` offloads jitted calls on NumPy arrays to a device.

    `where` is a filter string (`"cuda"`, `"opencl:cpu:0"`), a `Device` or a `Queue`. Contexts nest; the innermost wins,
    for this thread and this async task only.
    """

    def __init__(self, where: str | _core.Device | _core.Queue) -> None:
        self.queue = _core.queue_of(where)
        self._tokens: list[Token[_core.Queue]] = []

    def __enter__(self) -> _core.Queue:
        _core.context_opened()
        self._tokens.append(_current.set(self.queue))
        return self.queue

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _current.reset(self._tokens.pop())

    def __repr__(self) -> str:
        return f"weft.device_context({self.queue.device.filter_string!r})"


def current_queue() -> _core.Queue | None:
    """The queue of the innermost open device context, or None."""
    return _current.get(None)


def default_device() -> _core.Device:
    """The device for new arrays where nothing names one: `weft.config.device`, else the first GPU, else native."""
    return _core.queue_of(None).device


def devices(where: str | None = None) -> list[_core.Device]:
    """Every device found: native, then CUDA, then OpenCL. With a backend or type name, those only."""
    found = _core.devices()
    if where is None:
        return found
    wanted = where.lower().split(":")
    return [d for d in found if all(part in ("", d.backend, d.device_type, str(d.index)) for part in wanted)]


def work_item(name: str) -> Any:
    """A function that only means something inside a kernel."""

    def outside(dimension: int = 0) -> int:
        raise RuntimeError(f"weft.{name} is the place of a work-item: it can only be called inside a @weft.kernel")

    outside.__name__ = outside.__qualname__ = name
    outside.__doc__ = f"Inside a kernel: `{name}(d)` along dimension `d` of the launch."
    return outside


get_global_id = work_item("get_global_id")
get_global_size = work_item("get_global_size")
