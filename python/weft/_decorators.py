"""The decorators: `njit`, `jit` and `kernel`.

In comes a Python function; out comes a dispatcher of `weft._core`, which compiles one specialisation for each
combination of argument types and place, when it is first called with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, overload

from weft import _binding, _core, _options, _source
from weft.errors import TypingError, UnsupportedError

if TYPE_CHECKING:
    from weft._options import Options
    from weft.types import Signature

P = ParamSpec("P")
R = TypeVar("R")


def _function(decorator: str, function: Any) -> FunctionType:
    """The plain function behind what is decorated."""
    if isinstance(function, (_core.Dispatcher, _core.Kernel)):
        function = function.py_func
    if isinstance(function, (staticmethod, classmethod)):
        raise TypeError(f"put {decorator} below @{type(function).__name__}, nearest to the function")
    if not isinstance(function, FunctionType):
        raise TypeError(f"{decorator} decorates a Python function, not {type(function).__name__}")
    return function


def _parameters(function: FunctionType) -> list[str]:
    code = function.__code__
    if code.co_flags & _binding.VARKEYWORDS:
        raise UnsupportedError(
            f"`{function.__name__}` ({code.co_filename}:{code.co_firstlineno}) has a ** parameter, which is not "
            "supported: name each parameter"
        )
    return _binding.parameters(function)


def _make(cls: Any, decorator: str, function: Any, source: str | None, options: dict[str, Any]) -> Any:
    plain = _function(decorator, function)
    parameters = _parameters(plain)
    made = cls(plain, _source.capture(plain, source), parameters, *_options.modes(options))
    if isinstance(made, _core.Dispatcher):
        made._enable_vectorcall()
    return functools.update_wrapper(made, plain)


def _compile(dispatcher: _core.Dispatcher, signature: Any) -> None:
    """Compiles for a signature now. Calls with other types compile when they come."""
    from weft import types

    given = types.parse(signature)
    parameters = _parameters(_function("weft.njit", dispatcher))
    if len(given.arguments) != len(parameters):
        raise TypeError(
            f"the signature {signature} has {len(given.arguments)} arguments, and `{dispatcher.py_func.__name__}` has "
            f"{len(parameters)} parameters"
        )
    returned = dispatcher._compile([argument.describe() for argument in given.arguments])
    if given.result is not None and not _agree(given.result.describe(), returned):
        raise TypingError(
            f"the signature {signature} says that `{dispatcher.py_func.__name__}` returns {given.result}, and it "
            f"returns {_spelled(returned)}"
        )


def _agree(said: tuple[Any, ...], found: tuple[Any, ...]) -> bool:
    if said[0] == "tuple" or found[0] == "tuple":
        parts = zip(said[1:], found[1:])
        return said[0] == found[0] and len(said) == len(found) and all(_agree(a, b) for a, b in parts)
    if said[0] == "array" or found[0] == "array":
        return said[:3] == found[:3]
    # Python's numbers and NumPy's of the same width have one name in signatures.
    return said[1] == found[1]


def _spelled(described: tuple[Any, ...]) -> str:
    kind, *rest = described
    if kind == "tuple":
        return f"Tuple({', '.join(map(_spelled, rest))})"
    if kind == "array":
        return f"{rest[0]}[{', '.join(':' * rest[1])}]"
    return rest[0] or "none"


@overload
def njit(
    function: Callable[P, R], /, *, source: str | None = None, **options: Unpack[Options]
) -> _core.Dispatcher[P, R]: ...
@overload
def njit(
    signature: str | tuple[Any, ...] | list[Any] | Signature | None = None,
    /,
    *,
    source: str | None = None,
    **options: Unpack[Options],
) -> Callable[[Callable[P, R]], _core.Dispatcher[P, R]]: ...


def njit(function: Any = None, /, *, source: str | None = None, **options: Any) -> Any:
    """Compiles a function for the types it is called with.

    Results are those of the plain function: values, types, shapes, exceptions. `source` gives the text where Python
    has not kept it. A signature (`"float64(float64[:])"`, see `weft.types`) or a list of them is compiled for at once.
    Options:

    - `parallel="auto"`; `True`: all parallel work goes to threads, however little it is; `False`: none.
    - `boundscheck=True`; `False`: elements are taken without a check.
    - `overflow="raise"`; `"wrap"`: ints wrap at 64 bits, here and in what is called.
    - `error_model="python"`; `"numpy"`: Python's numbers divided by zero give inf, nan or, of `//` and `%` of ints, 0,
      here and in what is called.
    - `fastmath=False`; `True`, or some of LLVM's flags, as in `{"reassoc", "contract"}`: float arithmetic need not be
      exact.
    - `nogil=None`: other Python threads run during calls that take long; `True`: during all; `False`: during none.
    - `debug=False`; `True`: stores that a `prange` takes not to meet are checked.
    - `cache` and `inline` change nothing yet.

    What else `numba.jit` takes is taken where it changes no result, and refused by name where it would.
    """
    _options.check("weft.njit", options)
    if function is None:
        return lambda function: _make(_core.Dispatcher, "weft.njit", function, source, options)
    if isinstance(function, (str, tuple, list)) or type(function).__module__ == "weft.types":
        signatures = function if isinstance(function, list) else [function]

        def decorate(function: Any) -> Any:
            made = _make(_core.Dispatcher, "weft.njit", function, source, options)
            for signature in signatures:
                _compile(made, signature)
            return made

        return decorate
    return _make(_core.Dispatcher, "weft.njit", function, source, options)


jit = njit


@overload
def kernel(
    function: Callable[P, None], /, *, source: str | None = None, **options: Unpack[Options]
) -> _core.Kernel[P]: ...
@overload
def kernel(
    function: None = None, /, *, source: str | None = None, **options: Unpack[Options]
) -> Callable[[Callable[P, None]], _core.Kernel[P]]: ...


def kernel(function: Any = None, /, *, source: str | None = None, **options: Any) -> Any:
    """Compiles a function that one work-item runs; launch it with `f[global_size](...)`.

    Inside, `weft.get_global_id(d)` says which item this is. It returns nothing and writes into its array arguments.
    Indices are not checked: an item that reads or writes outside an array corrupts memory. `debug=True` runs the items
    one after the other in an interpreter on the host, which checks them, and that no two items race for an element.
    """
    _options.check("weft.kernel", options)
    if function is None:
        return lambda function: _make(_core.Kernel, "weft.kernel", function, source, options)
    return _make(_core.Kernel, "weft.kernel", function, source, options)
