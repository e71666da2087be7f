"""The decorators: `njit`, `jit` and `kernel`.

In comes a Python function; out comes a dispatcher of `weft._core`, which compiles one specialisation for each
combination of argument types and place, when it is first called with it.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, overload

from weft import _core, _source
from weft.errors import UnsupportedError

F = TypeVar("F", bound=Callable[..., Any])

# Every option with the values that mean something today. Numba's `nopython` is what njit always does.
_OPTIONS: dict[str, tuple[Any, ...]] = {
    "parallel": ("auto", True, False),
    "fastmath": (False,),
    "boundscheck": (True, False, None),
    "overflow": ("raise",),
    "nogil": (None, True, False),
    "cache": (True, False),
    "error_model": ("python",),
    "inline": ("auto", "never", "always", None),
    "debug": (False,),
    "nopython": (True,),
}

# Values that SPEC names and that are not compiled yet: refused, since ignoring them would change results.
_LATER: dict[str, tuple[Any, ...]] = {
    "fastmath": (True,),
    "overflow": ("wrap",),
    "error_model": ("numpy",),
    "debug": (True,),
}


def _same(value: Any, choice: Any) -> bool:
    return type(value) is type(choice) and bool(value == choice)


def _check_options(decorator: str, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if name not in _OPTIONS:
            near = difflib.get_close_matches(name, [*_OPTIONS, "source"], 1)
            hint = f"; did you mean {near[0]}?" if near else f"; it takes {', '.join(_OPTIONS)}"
            if name in ("device", "target", "queue"):
                hint = ": the place is chosen by the arguments, or by `with weft.device_context(...)` around the call"
            raise TypeError(f"{decorator} has no option {name!r}{hint}")
        if any(_same(value, choice) for choice in _OPTIONS[name]):
            continue
        if any(_same(value, choice) for choice in _LATER.get(name, ())):
            raise UnsupportedError(f"{decorator}({name}={value!r}) is not supported yet")
        choices = ", ".join(map(repr, _OPTIONS[name]))
        raise TypeError(f"{decorator}: {name} is one of {choices}, not {value!r}")


def _function(decorator: str, function: Any) -> FunctionType:
    """The plain function behind what is decorated."""
    if isinstance(function, (_core.Dispatcher, _core.Kernel)):
        function = function.py_func
    if isinstance(function, (staticmethod, classmethod)):
        raise TypeError(f"put {decorator} below @{type(function).__name__}, nearest to the function")
    if not isinstance(function, FunctionType):
        if isinstance(function, str):
            raise UnsupportedError(
                f"{decorator} with a signature is not supported yet: leave it out, types come from the first call"
            )
        raise TypeError(f"{decorator} decorates a Python function, not {type(function).__name__}")
    return function


def _parameters(function: FunctionType) -> list[str]:
    code = function.__code__
    if code.co_flags & 0x0C:  # CO_VARARGS | CO_VARKEYWORDS
        raise UnsupportedError(
            f"`{function.__name__}` ({code.co_filename}:{code.co_firstlineno}) has a * or ** parameter, which is not "
            "supported: name each parameter"
        )
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _make(cls: Any, decorator: str, function: Any, source: str | None, options: dict[str, Any]) -> Any:
    plain = _function(decorator, function)
    parameters = _parameters(plain)
    made = cls(plain, _source.capture(plain, source), parameters, options.get("parallel", "auto"), options.get("nogil"))
    if isinstance(made, _core.Dispatcher):
        made._enable_vectorcall()
    return functools.update_wrapper(made, plain)


@overload
def njit(function: F, /, *, source: str | None = None, **options: Any) -> F: ...
@overload
def njit(function: None = None, /, *, source: str | None = None, **options: Any) -> Callable[[F], F]: ...


def njit(function: Any = None, /, *, source: str | None = None, **options: Any) -> Any:
    """Compiles a function for the types it is called with.

    Results are those of the plain function: values, types, shapes, exceptions. `source` gives the text where Python
    has not kept it. Options: `parallel="auto"`, `boundscheck=True`, `nogil=None`, `cache=True`, `inline`.
    """
    _check_options("weft.njit", options)
    if function is None:
        return lambda function: _make(_core.Dispatcher, "weft.njit", function, source, options)
    return _make(_core.Dispatcher, "weft.njit", function, source, options)


jit = njit


@overload
def kernel(function: Callable[..., None], /, *, source: str | None = None, **options: Any) -> _core.Kernel: ...
@overload
def kernel(
    function: None = None, /, *, source: str | None = None, **options: Any
) -> Callable[[Callable[..., None]], _core.Kernel]: ...


def kernel(function: Any = None, /, *, source: str | None = None, **options: Any) -> Any:
    """Compiles a function that one work-item runs; launch it with `f[global_size](...)`.

    Inside, `weft.get_global_id(d)` says which item this is. It returns nothing and writes into its array arguments.
    """
    _check_options("weft.kernel", options)
    if function is None:
        return lambda function: _make(_core.Kernel, "weft.kernel", function, source, options)
    return _make(_core.Kernel, "weft.kernel", function, source, options)
