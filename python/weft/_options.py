"""The options of the decorators: Weft's own, and what `numba.jit` takes besides.

In come the keywords of a decorator; out comes what the compiler is told. Every keyword is honoured, taken because what
it would switch is not there to be switched, or refused by name with what to do instead.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict

from weft.errors import OptionWarning, UnsupportedError


class Options(TypedDict, total=False):
    """What `njit`, `jit` and `kernel` take, for type checkers."""

    parallel: Literal["auto"] | bool | dict[str, bool]
    fastmath: bool | set[str] | frozenset[str] | dict[str, bool]
    boundscheck: bool | None
    overflow: Literal["raise", "wrap"]
    nogil: bool | None
    error_model: Literal["python", "numpy"]
    debug: bool
    cache: bool
    inline: str | Callable[..., Any] | None
    # Numba's, which change nothing.
    nopython: Literal[True]
    forceobj: Literal[False]
    looplift: bool
    locals: Mapping[str, Any]
    pipeline_class: None
    target: None
    target_backend: None
    no_rewrites: bool
    no_cpython_wrapper: bool
    no_cfunc_wrapper: bool
    forceinline: bool
    writable_args: bool
    _nrt: bool
    _dbg_extend_lifetimes: bool
    _dbg_optnone: bool


# The options of which a message lists the values.
_VALUES: dict[str, tuple[Any, ...]] = {
    "parallel": ("auto", True, False),
    "boundscheck": (True, False, None),
    "overflow": ("raise", "wrap"),
    "nogil": (None, True, False),
    "cache": (True, False),
    "error_model": ("python", "numpy"),
    "inline": ("auto", "never", "always", None),
    "debug": (False, True),
}

# Numba's switches of what has no counterpart here: whatever they say, results are the same.
_NOTHING_TO_SWITCH = (
    "looplift",
    "no_rewrites",
    "no_cpython_wrapper",
    "no_cfunc_wrapper",
    "forceinline",
    "writable_args",
    "_dbg_extend_lifetimes",
    "_dbg_optnone",
)

_OBJECT_MODE = (
    "there is no object mode, what does not compile is refused with its line: leave {} out, and the decorator off what "
    "is to stay Python"
)
_PLACE = "the place is chosen by the arguments, or by `with weft.device_context(...)` around the call"

# Numba's options that mean something only with these values; for others, what to do instead.
_REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "nopython": ((True,), _OBJECT_MODE.format("nopython")),
    "forceobj": ((False,), _OBJECT_MODE.format("forceobj")),
    "locals": ((), "names have the types of what is assigned to them: convert there, as in `x = np.float32(0)`"),
    "pipeline_class": ((None,), "the compiler's passes cannot be replaced; `f.inspect(stage)` shows what they made"),
    "target": ((None,), _PLACE),
    "target_backend": ((None,), _PLACE),
    "device": ((), _PLACE),
    "queue": ((), _PLACE),
    "_nrt": ((True,), "arrays that a function makes are always counted"),
}

# The parts of Numba's parallel=True that can be named.
_PARTS = ("comprehension", "reduction", "inplace_binop", "setitem", "numpy", "stencil", "fusion", "prange")

# What `fastmath` allows, from the lowest bit.
_LIBERTIES = ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")

_warned_of_cache = False


def _same(value: Any, choice: Any) -> bool:
    return type(value) is type(choice) and bool(value == choice)


def _fast(fastmath: Any) -> int:
    """What float arithmetic may do, as bits."""
    if isinstance(fastmath, bool):
        return 2 ** len(_LIBERTIES) - 1 if fastmath else 0
    if isinstance(fastmath, dict):
        unknown = fastmath.keys() - {*_LIBERTIES, "fast"}
        chosen = {name for name, on in fastmath.items() if on}
    elif isinstance(fastmath, set | frozenset):
        chosen = {*fastmath}
        unknown = chosen - {*_LIBERTIES, "fast"}
    else:
        raise TypeError(f"fastmath is True, False, a set or a dict of {', '.join(_LIBERTIES)}, not {fastmath!r}")
    if unknown:
        names = ", ".join(sorted(map(repr, unknown)))
        raise ValueError(f"fastmath has no {names}: it is True, False, or some of {', '.join(_LIBERTIES)}")
    return _fast(True) if "fast" in chosen else sum(1 << _LIBERTIES.index(name) for name in chosen)


def _parallel(parallel: Any) -> Any:
    """`parallel=`, of which Numba's parts are one thing here: on, unless all of them are off."""
    if not isinstance(parallel, dict):
        return parallel
    if unknown := [name for name in parallel if name not in _PARTS]:
        names = ", ".join(map(repr, unknown))
        raise ValueError(f"parallel has no part {names}: Numba's are {', '.join(_PARTS)}")
    return any(parallel.get(part, True) for part in _PARTS)


def _warn_of_cache() -> None:
    """Says, once for the process, that there is nothing yet to keep code in."""
    global _warned_of_cache
    if not _warned_of_cache:
        message = (
            "cache=True: compiled code is not kept on disk yet, so that each process compiles again (said once; "
            "to silence it, filter weft.OptionWarning)"
        )
        # Who decorates, however many of our own frames are between.
        depth, frame = 1, sys._getframe()
        while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "weft":
            depth, frame = depth + 1, frame.f_back
        warnings.warn(message, OptionWarning, stacklevel=depth)
        _warned_of_cache = True


def check(decorator: str, options: Mapping[str, Any]) -> None:
    """Raises where an option is unknown, or has a value that Weft does not follow."""
    for name, value in options.items():
        if name == "fastmath":
            _fast(value)
        elif name == "parallel" and isinstance(value, dict):
            _parallel(value)
        elif name == "inline" and callable(value):
            # Numba's cost models: functions that are called are always inlined here, where they can be.
            pass
        elif name == "locals" and isinstance(value, Mapping) and not value:
            pass
        elif name in _NOTHING_TO_SWITCH:
            if not isinstance(value, (bool, int)):
                raise TypeError(f"{decorator}: {name} is True or False, not {value!r}")
        elif any(_same(value, choice) for choice in _VALUES.get(name, ())):
            if name == "cache" and value:
                _warn_of_cache()
        elif name in _REFUSED:
            _check_refused(decorator, name, value)
        elif name in _VALUES:
            raise TypeError(f"{decorator}: {name} is one of {', '.join(map(repr, _VALUES[name]))}, not {value!r}")
        else:
            raise TypeError(f"{decorator} has no option {name!r}{_hint(name)}")


def _check_refused(decorator: str, name: str, value: Any) -> None:
    taken, why = _REFUSED[name]
    # What belongs to a device is no option at all (spec A3).
    kind = TypeError if why is _PLACE else UnsupportedError
    if not any(_same(value, choice) for choice in taken):
        shown = repr(value) if isinstance(value, (bool, int, str, Mapping, type(None))) else "..."
        raise kind(f"{decorator}({name}={shown}): {why}")


def _hint(name: str) -> str:
    known = [*_VALUES, "fastmath", "source"]
    near = difflib.get_close_matches(name, [*known, *_REFUSED, *_NOTHING_TO_SWITCH], 1)
    return f"; did you mean {near[0]}?" if near else f"; it takes {', '.join(known)}"


def modes(options: Mapping[str, Any]) -> tuple[Any, bool | None, bool | None, tuple[bool, bool, bool, int]]:
    """What a dispatcher is made with: parallel, nogil, boundscheck, and what arithmetic may do."""
    arithmetic = (
        options.get("overflow") == "wrap",
        options.get("error_model") == "numpy",
        options.get("debug", False),
        _fast(options.get("fastmath", False)),
    )
    return _parallel(options.get("parallel", "auto")), options.get("nogil"), options.get("boundscheck"), arithmetic
