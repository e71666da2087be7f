"""Scopes of a thread or an async task: what `with weft.device_context(…)` and `with weft.placement(…)` are.

A scope gives a context variable a value. Those that are open in a context are a chain, from the innermost outwards,
which is itself the value of a context variable: so threads and tasks have chains of their own, and a task begins with
the chain of whoever started it. A scope can be left only in the context that entered it (what a token of
`contextvars` knows), and only before those around it. One that is left too early is closed all the same, and those
inside it stay open: nothing is in force for longer than its `with` statement.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class _Open(NamedTuple):
    """An open scope, and the chain around it."""

    scope: Scope[Any]
    value: Any
    token: Token[_Open | None]
    outer: _Open | None


class Variable(Generic[T]):
    """What is in force in a context: the value of the innermost open scope, in a variable that others read."""

    def __init__(self, current: ContextVar[T], otherwise: Any) -> None:
        self.current = current
        self.otherwise = otherwise  # the value where no scope is open
        self.chain: ContextVar[_Open | None] = ContextVar(f"{current.name}.chain", default=None)

    def put(self, chain: _Open | None) -> None:
        """Makes `chain` the open scopes."""
        self.chain.set(chain)
        self.current.set(self.otherwise if chain is None else chain.value)


class Scope(Generic[T]):
    """A context manager under which a variable has a value."""

    _variable: Variable[T]
    _value: T

    def _enter(self) -> None:
        variable = self._variable
        outer = variable.chain.get()
        token = variable.chain.set(outer)
        variable.put(_Open(self, self._value, token, outer))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        variable = self._variable
        open_ = variable.chain.get()
        inside: list[_Open] = []
        while open_ is not None and open_.scope is not self:
            inside.append(open_)
            open_ = open_.outer
        if open_ is None:
            raise RuntimeError(f"{self!r} is left, and was not entered in this thread or async task")
        chain = variable.chain.get()
        try:
            variable.chain.reset(open_.token)
        except ValueError:
            raise RuntimeError(
                f"{self!r} is left in another thread or async task than the one that entered it"
            ) from None
        finally:
            variable.chain.set(chain)
        rest = open_.outer
        for inner in reversed(inside):
            rest = inner._replace(outer=rest)
        variable.put(rest)
        if inside:
            raise RuntimeError(
                f"{self!r} is left before {inside[0].scope!r}, which was entered after it: leave scopes in the "
                "opposite order, as nested `with` statements do"
            )
