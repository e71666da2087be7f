"""The rules of compute follows data, as functions: which queue a call runs on, which kind of memory its result has.

They answer for lists of queues and of USM types; what cannot be decided is None, as in dpctl.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft._core import Queue
from weft.errors import ExecutionPlacementError

__all__ = ["ExecutionPlacementError", "get_coerced_usm_type", "get_execution_queue", "validate_usm_type"]

# The lowest wins.
_USM_TYPES = ("device", "shared", "host")


def _sequence(values: Any, of: str) -> Sequence[Any]:
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"expected a list or tuple of {of}, not {type(values).__name__}")
    return values


def validate_usm_type(usm_type: str, allow_none: bool = True) -> None:
    """Raises unless `usm_type` is "device", "shared" or "host" (or None, where that is allowed)."""
    if usm_type is None and allow_none:
        return
    if not isinstance(usm_type, str):
        raise TypeError(f"a USM type is a string, not {type(usm_type).__name__}")
    if usm_type not in _USM_TYPES:
        raise ValueError(f'a USM type is "device", "shared" or "host", not {usm_type!r}')


def get_coerced_usm_type(usm_types: Sequence[str]) -> str | None:
    """The USM type of a result of arrays of these types: the lowest of device < shared < host. None for no types."""
    for usm_type in _sequence(usm_types, "USM types"):
        validate_usm_type(usm_type, allow_none=False)
    return min(usm_types, key=_USM_TYPES.index) if usm_types else None


def get_execution_queue(queues: Sequence[Queue]) -> Queue | None:
    """The queue that a call on arrays of these queues runs on: the first, if all are equivalent. None otherwise."""
    for queue in _sequence(queues, "queues"):
        if not isinstance(queue, Queue):
            raise TypeError(f"expected a list of weft.Queue, found {type(queue).__name__}")
    return queues[0] if queues and all(queue == queues[0] for queue in queues) else None
