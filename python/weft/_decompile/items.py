"""What lies on the stack while steps are read: expressions of the syntax tree, and things that are none yet."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from weft._decompile.steps import Undone


@dataclass(eq=False, slots=True)
class Mark:
    """Something that is no value of the program; popping it says nothing."""

    name: str


NULL, SELF, LOOP_VALUE, EXCEPTION = Mark("null"), Mark("self"), Mark("loop value"), Mark("exception")


class Iterator(Mark):
    """The iterator of a loop that is under way."""


@dataclass(eq=False, slots=True)
class Known:
    """A constant, and how it is written."""

    value: Any
    node: ast.expr


@dataclass(eq=False, slots=True)
class Chain:
    """A value that is stored, and stays on the stack: `a = b = value`, or `(a := value)`."""

    targets: list[ast.expr]
    value: Any


@dataclass(eq=False, slots=True)
class Augmented:
    """What `target op= value` stores."""

    left: ast.expr
    op: ast.operator
    right: ast.expr


@dataclass(eq=False, slots=True)
class Unpacked:
    """A value that is being taken apart, and the targets of its parts."""

    value: Any
    targets: list[ast.expr | None]


@dataclass(eq=False, slots=True)
class Part:
    whole: Unpacked
    at: int
    starred: bool = False


@dataclass(eq=False, slots=True)
class Function:
    """A nested function, comprehension or generator."""

    code: CodeType
    build: Callable[[Function], Any]
    defaults: list[ast.expr] = field(default_factory=list)
    keyword_defaults: dict[str, ast.expr] = field(default_factory=dict)
    annotations: dict[str, ast.expr] = field(default_factory=dict)
    decorators: list[ast.expr] = field(default_factory=list)
    built: Any = None  # the expression of a lambda


@dataclass(eq=False, slots=True)
class Failure:
    """The exception of an `assert`."""

    message: ast.expr | None


class Target(ast.stmt):
    """The target of a `for`, at the beginning of its body."""

    def __init__(self, target: ast.expr) -> None:
        super().__init__()
        self.target = target


class Append(ast.stmt):
    """What a comprehension adds in one turn."""

    def __init__(self, elements: list[ast.expr]) -> None:
        super().__init__()
        self.elements = elements


class Leave(ast.stmt):
    """A jump out of a loop to a block, or to its next turn."""

    def __init__(self, goal: int, line: int) -> None:
        super().__init__()
        self.goal, self.lineno = goal, line


class Caught(ast.stmt):
    """The name that a handler gives its exception."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class Reraise(ast.stmt):
    """The end of handlers of which none takes the exception."""


class Match(ast.expr):
    """Whether a handler takes the exception."""

    def __init__(self, kind: ast.expr) -> None:
        super().__init__()
        self.kind = kind


def constant(value: Any) -> ast.expr:
    """How a constant is written."""
    if isinstance(value, tuple):
        return ast.Tuple([constant(v) for v in value], ast.Load())
    if isinstance(value, frozenset):
        return ast.Set([constant(v) for v in value])
    if isinstance(value, complex):
        if value.real == 0 and math.copysign(1, value.real) > 0 and math.copysign(1, value.imag) > 0:
            return ast.Constant(value)
        negative = math.copysign(1, value.imag) < 0
        imaginary = ast.Constant(complex(0, abs(value.imag)))
        return ast.BinOp(constant(value.real), ast.Sub() if negative else ast.Add(), imaginary)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.copysign(1, value) < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    if value is None or value is ... or isinstance(value, bool | int | float | str | bytes):
        return ast.Constant(value)
    raise Undone


def expression(item: Any) -> ast.expr:
    """An item as a value of the program."""
    if isinstance(item, ast.expr):
        return item
    if isinstance(item, Known):
        return item.node
    if isinstance(item, Chain) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name):
        return ast.NamedExpr(item.targets[0], expression(item.value))
    if isinstance(item, Function) and item.code.co_name == "<lambda>":
        item.built = item.built or item.build(item)
        return item.built
    raise Undone
