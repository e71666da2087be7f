"""Parallel loops, and the threads that run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex, TypeVar, overload

from weft import _core, config

__all__ = ["get_num_threads", "prange", "reduction", "set_num_threads"]

F = TypeVar("F", bound=Callable[..., Any])


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


def reduction(*, identity: complex) -> Callable[[F], F]:
    """Declares that a function of two values is associative, and that `identity` changes nothing.

    `f(identity, x)` is then `x`, and a `prange` may update a name by it in parts: `acc = f(acc, x)`. The function
    itself, plain or jitted, stays as it is.
    """
    if not isinstance(identity, (bool, int, float, complex)) and not hasattr(identity, "dtype"):
        raise TypeError(f"the identity of a reduction is a number, not {type(identity).__name__}")

    def declare(function: F) -> F:
        plain: Any = getattr(function, "py_func", function)
        plain.__weft_identity__ = identity
        return function

    return declare


def set_num_threads(count: int) -> None:
    """Threads that parallel loops use from now on, the calling one included: `weft.config.num_threads`.

    It is one number for the whole process, whichever thread sets it.
    """
    config.num_threads = count


def get_num_threads() -> int:
    """Threads that parallel loops use, the calling one included."""
    return _core.num_threads()
