"""Calls with keywords, defaults and stars: which argument goes to which parameter.

In comes a function; out comes a twin with the same signature that returns its arguments as a tuple in declaration
order. Calling the twin binds as CPython does, and fails with CPython's own words.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

VARARGS, VARKEYWORDS = 4, 8  # flags of a code object


def parameters(function: FunctionType) -> list[str]:
    """The names of a function's parameters in declaration order; `*args` is one of them."""
    code = function.__code__
    positional, keyword_only = _named(function)
    star = [code.co_varnames[len(positional) + len(keyword_only)]] if code.co_flags & VARARGS else []
    return [*positional, *star, *keyword_only]


def _named(function: FunctionType) -> tuple[list[str], list[str]]:
    code = function.__code__
    count = code.co_argcount
    return list(code.co_varnames[:count]), list(code.co_varnames[count : count + code.co_kwonlyargcount])


def defaults(function: FunctionType) -> dict[str, Any]:
    """The defaults of a function's parameters."""
    positional, _ = _named(function)
    given = function.__defaults__ or ()
    return dict(zip(positional[len(positional) - len(given) :], given)) | (function.__kwdefaults__ or {})


def binder(function: FunctionType) -> Callable[..., tuple[Any, ...]]:
    """The twin of `function` that returns its arguments."""
    code = function.__code__
    positional, keyword_only = _named(function)
    names = parameters(function)
    parts = positional.copy()
    if code.co_posonlyargcount:
        parts.insert(code.co_posonlyargcount, "/")
    if code.co_flags & VARARGS:
        parts.append("*" + names[len(positional)])
    elif keyword_only:
        parts.append("*")
    parts += keyword_only
    result = f"({', '.join(names)}{',' if names else ''})"
    scope: dict[str, Any] = {}
    exec(f"def twin({', '.join(parts)}): return {result}", scope)
    twin: FunctionType = scope["twin"]
    # Whether a parameter has a default is not part of the twin's text: CPython looks at these.
    twin.__defaults__ = function.__defaults__
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__name__ = function.__name__
    twin.__qualname__ = function.__qualname__
    return twin
