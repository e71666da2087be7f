"""What the standard library is written in: operations on one element that Python has no spelling for.

The compiler gives these their meaning; here they are only names, so that editors and checkers know them. Called outside
compiled code they raise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def overload(*functions: Any) -> Callable[[F], F]:
    """The decorated function is what a call of any of `functions` compiles to."""
    return lambda f: f


def elementwise(f: F) -> F:
    """The body is about one element: arrays broadcast, and a 0-d result is a scalar."""
    return f


def elementwise_array(f: F) -> F:
    """Like `elementwise`, but a 0-d result stays an array."""
    return f


def generate(f: F) -> F:
    """The body is about one element of a new array, whose shape is the first parameter."""
    return f


def _only_compiled(name: str) -> NoReturn:
    raise RuntimeError(f"weft.lib.prim.{name} means something only to the compiler")


def sin(x: Any) -> Any:
    """Sine, in the float dtype NumPy would use."""
    _only_compiled("sin")


def cos(x: Any) -> Any:
    """Cosine, in the float dtype NumPy would use."""
    _only_compiled("cos")


def exp(x: Any) -> Any:
    """Exponential, in the float dtype NumPy would use."""
    _only_compiled("exp")


def log(x: Any) -> Any:
    """Natural logarithm, in the float dtype NumPy would use."""
    _only_compiled("log")


def sqrt(x: Any) -> Any:
    """Square root, correctly rounded, in the float dtype NumPy would use."""
    _only_compiled("sqrt")


def absolute(x: Any) -> Any:
    """Absolute value; keeps the dtype."""
    _only_compiled("absolute")


def minimum(x: Any, y: Any) -> Any:
    """The smaller, in the common dtype; nan if either is."""
    _only_compiled("minimum")


def maximum(x: Any, y: Any) -> Any:
    """The larger, in the common dtype; nan if either is."""
    _only_compiled("maximum")


def select(condition: Any, x: Any, y: Any) -> Any:
    """`x` if the condition holds, else `y`, in the common dtype."""
    _only_compiled("select")


def position(dim: int) -> Any:
    """Index of this element along a dimension of the result."""
    _only_compiled("position")


def cast_like(x: Any, like: Any) -> Any:
    """`x` converted to the dtype of `like`."""
    _only_compiled("cast_like")
