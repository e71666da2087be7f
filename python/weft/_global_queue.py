"""Where new arrays go: the global queue, and the order in which a place for a new array is looked for (spec B10, C2).

In comes what a creation function was told (`queue=`, `device=`, array arguments); out comes one queue.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from weft import _core
from weft._placement import current_queue
from weft.errors import ExecutionPlacementError

Place = str | _core.Device | _core.Queue | None

_global: ContextVar[_core.Queue | None] = ContextVar("weft.global_queue", default=None)


def set_global_queue(where: str | _core.Device | _core.Queue) -> None:
    """New arrays go to `where` from now on, unless the call or an open `device_context` names another place.

    `where` is a filter string, a `Device`, a `Queue` or `x.device`. It holds for this thread or async task, until
    `reset_global_queue()`. Jitted calls on NumPy arrays are not moved by it.
    """
    if where is None:
        raise TypeError("set_global_queue takes a place; reset_global_queue() goes back to the default device")
    _global.set(_core.queue_of(where))


def reset_global_queue() -> None:
    """New arrays go to the default device again."""
    _global.set(None)


def queue_for_new_array(
    queue: Place, device: Place, sycl_queue: Place = None, arrays: Iterable[Any] = ()
) -> _core.Queue:
    """What the call names, else where its array arguments live, else the innermost device context, else the global
    queue, else the default device (`WEFT_DEVICE`, else the first GPU, else native)."""
    named: _core.Queue | None = None
    spelling = ""
    for keyword, place in (("queue", queue), ("sycl_queue", sycl_queue), ("device", device)):
        if place is None:
            continue
        found = _core.queue_of(place)
        if named is None:
            named, spelling = found, keyword
        elif named != found:
            raise TypeError(f"{spelling}= names {named!r} and {keyword}= names {found!r}: give one of them")
    if named is not None:
        return named
    lived = [a.queue for a in arrays if isinstance(a, _core.usm_ndarray)]
    if lived:
        return common_queue(lived)
    return current_queue() or _global.get() or _core.queue_of(None)


def common_queue(queues: list[_core.Queue]) -> _core.Queue:
    """The one queue of several arrays, or the refusal that names the queues."""
    other = next((q for q in queues if q != queues[0]), None)
    if other is not None:
        raise ExecutionPlacementError(
            f"the arrays live on {queues[0]!r} and on {other!r}: say where the new array goes with queue= or device="
        )
    return queues[0]
