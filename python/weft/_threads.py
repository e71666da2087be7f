"""Parallel loops, and the threads that run them."""

from __future__ import annotations

from typing import SupportsIndex, overload

from weft import _core, config

__all__ = ["get_num_threads", "prange", "set_num_threads"]


@overload
def prange(stop: SupportsIndex, /) -> range: ...
@overload
def prange(start: SupportsIndex, stop: SupportsIndex, step: SupportsIndex = ..., /) -> range: ...
def prange(*bounds: SupportsIndex) -> range:
    """A `range` whose iterations a compiled `for` may run at once, on several threads.

    Not compiled it is `range` itself. Names that the body assigns belong to an iteration; one that every iteration only
    updates by an operator (`acc += x`) is a reduction. What would depend on the order of the iterations is refused when
    the function is compiled.
    """
    return range(*bounds)


prange.__module__ = "weft"


def set_num_threads(count: int) -> None:
    """Threads that parallel loops use from now on, the calling one included: `weft.config.num_threads`."""
    config.num_threads = count


def get_num_threads() -> int:
    """Threads that parallel loops use, the calling one included."""
    return _core.num_threads()
