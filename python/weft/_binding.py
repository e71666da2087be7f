"""Calls with keywords and defaults: which argument goes to which parameter.

In comes a function; out comes a twin with the same signature that returns its arguments as a tuple in declaration
order. Calling the twin binds as CPython does, and fails with CPython's own words.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any


def binder(function: FunctionType) -> Callable[..., tuple[Any, ...]]:
    """The twin of `function` that returns its arguments."""
    code = function.__code__
    positional = list(code.co_varnames[: code.co_argcount])
    keyword_only = list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    parts = positional.copy()
    if code.co_posonlyargcount:
        parts.insert(code.co_posonlyargcount, "/")
    if keyword_only:
        parts += ["*", *keyword_only]
    names = positional + keyword_only
    result = f"({', '.join(names)}{',' if names else ''})"
    scope: dict[str, Any] = {}
    exec(f"def twin({', '.join(parts)}): return {result}", scope)
    twin: FunctionType = scope["twin"]
    twin.__defaults__ = function.__defaults__
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__name__ = function.__name__
    twin.__qualname__ = function.__qualname__
    return twin
