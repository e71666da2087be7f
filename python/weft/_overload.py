"""`weft.overload`: what a call of a library function compiles to, in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

# By the identity of the function: (the function, what stands for it). The compiler reads this.
_OVERLOADS: dict[int, tuple[Any, Callable[..., Any]]] = {}


def overload(*functions: Callable[..., Any]) -> Callable[[F], F]:
    """The decorated function is what calls of `functions` in compiled code mean from now on.

    It is compiled like any function that is called: for the types of its arguments, with conditions on types, ranks,
    None and constants decided then. Functions that are compiled already keep what they had. Outside compiled code
    nothing changes.
    """
    if not functions or not all(callable(f) for f in functions):
        raise TypeError("weft.overload takes the functions to stand for: @weft.overload(np.trapezoid)")

    def register(implementation: F) -> F:
        if not callable(implementation):
            raise TypeError(f"weft.overload decorates a function, not {type(implementation).__name__}")
        for function in functions:
            _OVERLOADS[id(function)] = (function, implementation)
        return implementation

    return register
