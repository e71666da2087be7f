"""The registry of the corpus: whole functions as people publish them, with the arguments to call them with.

`@case(maker, maker, ...)` registers a plain function. A maker takes nothing and returns a fresh tuple of arguments, the
same at every call, so that what a function does to its arguments can be compared. `raises` is the exception class that
at least one of the makers leads to; without it no maker may raise. `note` is for the reader.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

Maker = Callable[[], tuple[Any, ...]]


class Case(NamedTuple):
    function: Callable[..., Any]
    makers: tuple[Maker, ...]
    raises: type[BaseException] | tuple[type[BaseException], ...] | None
    note: str | None


CASES: list[Case] = []


def case(
    *makers: Maker,
    raises: type[BaseException] | tuple[type[BaseException], ...] | None = None,
    note: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers the function below with its argument makers, and leaves it as it is."""
    assert makers, "a case needs arguments to call the function with"

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(Case(function, makers, raises, note))
        return function

    return register
