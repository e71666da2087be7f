"""Each call of a compiled function done twice: by Weft, and by CPython on copies of its arguments.

In come calls; out come Weft's results, and in `DIFFERENCES` a line for each thing that CPython did otherwise: the
result's type, dtype, shape or value, what was written into an argument, or the exception. On with
`WEFT_OUTSIDE_TWIN=1`. `WEFT_OUTSIDE_DEVICE=opencl` has the calls run inside a device context.
"""

from __future__ import annotations

import contextlib
import copy
import io
import math
import os
import signal
import types
import warnings
from typing import Any

import numpy as np
import weft

DEVICE = os.environ.get("WEFT_OUTSIDE_DEVICE")
ON = os.environ.get("WEFT_OUTSIDE_TWIN") == "1" or bool(DEVICE)
DIFFERENCES: list[str] = []
_SECONDS = 5


class _Slow(BaseException):
    pass


def plain(function: Any) -> Any:
    """The function behind a twin."""
    return function.py_func if isinstance(function, Twin) else function


class Twin:
    """A compiled function that checks itself."""

    inside = False  # while CPython runs: what it calls runs in CPython too

    def __init__(self, made: Any) -> None:
        self.made = made
        self.py_func = made.py_func
        self.__name__ = made.__name__
        self.__doc__ = made.__doc__
        self.__wrapped__ = made.py_func

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["made"], name)

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if Twin.inside:
            return self.py_func(*arguments, **options)
        copier = Copier()
        try:
            twins = [copier.copy(value) for value in arguments], {k: copier.copy(v) for k, v in options.items()}
        except Exception:
            return self.compiled(arguments, options)
        expected = self.python(*twins)
        try:
            found: Any = ("value", self.compiled(arguments, options))
        except (weft.WeftError, weft.WeftInternalError):
            raise
        except Exception as error:
            found = ("raised", error)
        if expected is not None:
            self.compare(expected, found, (*twins[0], *twins[1].values()), (*arguments, *options.values()))
        if found[0] == "raised":
            if expected is not None and expected[0] == "raised" and isinstance(found[1], type(expected[1])):
                found[1].as_python = True
            raise found[1]
        return found[1]

    def python(self, arguments: list[Any], options: dict[str, Any]) -> Any:
        """What CPython makes of it; None if it takes too long."""

        def stop(*_: Any) -> None:
            raise _Slow

        Twin.inside = True
        previous = signal.signal(signal.SIGALRM, stop)
        signal.alarm(_SECONDS)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                return ("value", self.py_func(*arguments, **options))
        except _Slow:
            return None
        except Exception as error:
            return ("raised", error)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, previous)
            Twin.inside = False

    def compiled(self, arguments: Any, options: Any) -> Any:
        """What Weft makes of it: twins among names outside and arguments are what they stand for meanwhile."""
        bared: list[tuple[Any, Any, Any]] = []
        _bare(self.py_func, bared, set())
        arguments = [value.made if isinstance(value, Twin) else value for value in arguments]
        options = {name: value.made if isinstance(value, Twin) else value for name, value in options.items()}
        try:
            with weft.device_context(DEVICE) if DEVICE else contextlib.nullcontext():
                return self.made(*arguments, **options)
        finally:
            for place, key, twin in reversed(bared):
                _put(place, key, twin)

    def compare(self, expected: Any, found: Any, theirs: Any, ours: Any) -> None:
        name = self.py_func.__qualname__

        def note(what: str) -> None:
            DIFFERENCES.append(f"{name}{_brief(ours)}: {what}")

        if expected[0] != found[0]:
            if expected[0] == "raised":
                note(f"CPython raises {expected[1]!r}, Weft gives {found[1]!r:.300}")
            else:
                note(f"Weft raises {found[1]!r}, CPython gives {expected[1]!r:.300}")
            return
        if expected[0] == "raised":
            if not isinstance(found[1], type(expected[1])):
                note(f"CPython raises {expected[1]!r}, Weft {found[1]!r}")
            elif str(expected[1]) != str(found[1]):
                note(f"words: CPython {expected[1]!r}, Weft {found[1]!r}")
        elif what := difference(expected[1], found[1]):
            note(f"result: {what}")
        for place, (theirs_, ours_) in enumerate(zip(theirs, ours)):
            if what := difference(theirs_, ours_):
                note(f"argument {place} afterwards: {what}")


def _brief(arguments: Any) -> str:
    return f"({', '.join(f'{value!r:.80}' for value in arguments)})".replace("\n", " ")


def _put(place: Any, key: Any, value: Any) -> None:
    if isinstance(place, types.CellType):
        place.cell_contents = value
    else:
        place[key] = value


def _bare(function: Any, bared: list[Any], seen: set[int]) -> None:
    if id(function) in seen or not isinstance(function, types.FunctionType):
        return
    seen.add(id(function))
    places: list[tuple[Any, Any, Any]] = []
    names = _names(function.__code__)
    places += [(function.__globals__, key, function.__globals__[key]) for key in names if key in function.__globals__]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            places.append((cell, None, cell.cell_contents))
    for place, key, value in places:
        if isinstance(value, Twin):
            bared.append((place, key, value))
            _put(place, key, value.made)
            _bare(value.py_func, bared, seen)
        else:
            _bare(getattr(value, "py_func", value), bared, seen)


def _names(code: types.CodeType) -> set[str]:
    names = {*code.co_names}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


class Copier:
    """Copies of arguments in which arrays that share memory share memory."""

    def __init__(self) -> None:
        self.roots: dict[int, np.ndarray] = {}
        self.kept: list[Any] = []

    def copy(self, value: Any) -> Any:
        if type(value) is np.ndarray:
            return self.array(value)
        if type(value) is tuple:
            return tuple(self.copy(item) for item in value)
        if type(value) is list:
            return [self.copy(item) for item in value]
        if isinstance(value, (Twin, types.FunctionType, types.ModuleType, type)) or hasattr(value, "py_func"):
            return value
        return copy.deepcopy(value)

    def array(self, value: np.ndarray) -> np.ndarray:
        root = value
        while type(root.base) is np.ndarray:
            root = root.base
        if not (root.flags.c_contiguous or root.flags.f_contiguous) or root.dtype.hasobject:
            return copy.deepcopy(value)
        if id(root) not in self.roots:
            flat = np.array(root.ravel(order="K"), copy=True)
            self.roots[id(root)] = flat
            self.kept.append(root)
        flat = self.roots[id(root)]
        offset = value.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        made = np.ndarray(value.shape, value.dtype, flat.view(np.uint8).data if flat.size else None,
                          offset if flat.size else 0, value.strides)  # fmt: skip
        made.flags.writeable = value.flags.writeable
        return made


def difference(first: Any, second: Any) -> str | None:
    """How what CPython gives and what Weft gives differ, or None."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        if type(first) is not type(second):
            return f"{_typed(first)} is {_typed(second)}"
        if first.dtype != second.dtype or first.shape != second.shape:
            return f"{first.dtype}{first.shape} is {second.dtype}{second.shape}"
        return _elements(first, second)
    if isinstance(first, (tuple, list)):
        if type(first) is not type(second) or len(first) != len(second):
            return f"{_typed(first)} is {_typed(second)}"
        for place, (one, other) in enumerate(zip(first, second)):
            if what := difference(one, other):
                return f"item {place}: {what}"
        return None
    if isinstance(first, (bool, int, float, complex, np.generic, str, type(None))):
        if type(first) is not type(second):
            return f"{_typed(first)} is {_typed(second)}"
        if isinstance(first, (float, complex, np.inexact)):
            return _elements(np.asarray(first), np.asarray(second))
        return None if first == second else f"{first!r} is {second!r}"
    return None


def _typed(value: Any) -> str:
    return f"{type(value).__name__} {value!r:.200}"


def _elements(first: np.ndarray, second: np.ndarray) -> str | None:
    """Exact but for the signs of nans; how many units in the last place otherwise."""
    if first.dtype.kind not in "fc":
        return None if np.array_equal(first, second) else f"{first!r:.300} is {second!r:.300}"
    if first.dtype.kind == "c":
        parts = [(first.real, second.real), (first.imag, second.imag)]
    else:
        parts = [(first, second)]
    worst = 0.0
    for one, other in parts:
        with np.errstate(all="ignore"):
            both_nan = np.isnan(one) & np.isnan(other)
            same = both_nan | ((one == other) & (np.signbit(one) == np.signbit(other)))
            if same.all():
                continue
            signs = both_nan | (one == other)
            if signs.all():
                worst = max(worst, 0.25)
                continue
            scale = np.spacing(np.abs(np.where(same, 1, one)).astype(one.dtype)).astype(float)
            ulps = np.where(same, 0, np.abs(one.astype(float) - other.astype(float)) / scale)
            top = float(np.max(ulps))
            worst = math.inf if math.isnan(top) else max(worst, top)
    if not worst:
        return None
    if worst == 0.25:
        return f"zero's sign: {first!r:.300} is {second!r:.300}"
    return f"{worst:.3g} ulp: {first!r:.300} is {second!r:.300}"
