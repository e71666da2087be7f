"""The test mode in which NumPy may not compute for Weft (DESIGN, "How it is tested", 7).

Contract 2: no computation is done by NumPy or CPython behind the user's back. `install()` puts a stand-in in the place
of every public NumPy function, ufunc and ndarray method. A stand-in passes through, except that it raises
`AssertionError` when entered while Weft is at work on this thread (`weft._core.at_work()`), or when Weft's own Python
code calls it. It carries `__weft_stands_for__`, by which the compiler takes it for the original.

Install it before test modules are imported, so that `from numpy import sin` sees stand-ins too. Operators on arrays
(`a + b`) go through C slots of the type, which Python code cannot replace; their explicit spellings are functions.
"""

import ctypes
import functools
import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

# What Weft may call at its border with NumPy, by name, with the reason.
BORDER = {
    "numpy.asarray": "weft.tensor.asarray takes whatever NumPy takes: making an array of a list is NumPy's to do",
    "numpy.from_dlpack": "an argument that is of another package: an array over its memory is NumPy's to make",
    "numpy.ndarray.setflags": "what may be a copy of an argument is marked as read-only",
    "numpy.array2string": "printing: tensors print as NumPy prints, from a copy on the host",
}

# ndarray methods that stay as they are: NumPy's own C code compares them by identity, or finds them before ours.
UNTOUCHED = ("__array_ufunc__", "__array_function__", "__array_finalize__", "__array_wrap__", "__array_priority__")

MODULES = ("numpy", "numpy.linalg", "numpy.fft", "numpy.random")

# Whether Weft is at work on this thread; `watch` gives the real one, tests may pretend.
at_work: Callable[[], int] = lambda: 0

# How often stand-ins were entered, that is, how much the guard has seen.
entered = 0


def watch(flag: Callable[[], int]) -> None:
    """From now on, `flag()` says how deep inside Weft this thread is."""
    global at_work
    at_work = flag


def _check(name: str) -> None:
    global entered
    entered += 1
    if at_work():
        raise AssertionError(f"{name} was entered while Weft was at work")
    caller = sys._getframe(2).f_globals.get("__name__") or ""
    if (caller == "weft" or caller.startswith("weft.")) and name not in BORDER:
        raise AssertionError(f"{name} was called by {caller}")


class StandIn:
    """A NumPy function or ufunc that looks at who calls it."""

    def __init__(self, name: str, original: Any) -> None:
        self.__weft_stands_for__ = original
        self.__wrapped__ = original
        self.__name__ = getattr(original, "__name__", name)
        self.__doc__ = original.__doc__
        self._name = name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        _check(self._name)
        return self.__weft_stands_for__(*args, **kwargs)

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(self.__weft_stands_for__, attribute)
        # `np.add.reduce` and the like compute as well.
        if callable(value) and not attribute.startswith("_"):
            return StandIn(f"{self._name}.{attribute}", value)
        return value

    @property
    def __class__(self) -> type:
        return type(self.__weft_stands_for__)

    def __eq__(self, other: Any) -> bool:
        return self.__weft_stands_for__ is getattr(other, "__weft_stands_for__", other)

    def __hash__(self) -> int:
        return hash(self.__weft_stands_for__)

    def __repr__(self) -> str:
        return repr(self.__weft_stands_for__)

    def __reduce__(self) -> Any:
        return self.__weft_stands_for__.__reduce__()


def _guarded_method(name: str, original: Any) -> Any:
    full = f"numpy.ndarray.{name}"

    @functools.wraps(original)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        _check(full)
        return original(self, *args, **kwargs)

    method.__weft_stands_for__ = original
    return method


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, (type, StandIn))


def _stand_in_functions() -> dict[str, StandIn]:
    made: dict[int, StandIn] = {}
    named: dict[str, StandIn] = {}
    for path in MODULES:
        module = sys.modules[path]
        for name in dir(module):
            if name.startswith("_") or not _is_function(original := getattr(module, name)):
                continue
            # One stand-in for each function: `np.abs is np.absolute` stays true.
            stand_in = made.setdefault(id(original), StandIn(f"{path}.{name}", original))
            setattr(module, name, stand_in)
            named[f"{path}.{name}"] = stand_in
    return named


def _stand_in_methods() -> dict[str, Any]:
    # The type's real dictionary: what `np.ndarray.__dict__` is a read-only view of.
    attributes = gc.get_referents(np.ndarray.__dict__)[0]
    kind = type(np.ndarray.sum)
    named = {}
    for name, original in list(attributes.items()):
        if isinstance(original, kind) and not name.startswith("_") and name not in UNTOUCHED:
            attributes[name] = named[name] = _guarded_method(name, original)
    modified = ctypes.pythonapi.PyType_Modified
    modified.argtypes, modified.restype = [ctypes.py_object], None
    modified(np.ndarray)
    return named


functions: dict[str, StandIn] = {}
methods: dict[str, Any] = {}


def install() -> None:
    """Puts the stand-ins in place, for the rest of the process."""
    import numpy.fft
    import numpy.linalg
    import numpy.random  # noqa: F401

    if not functions:
        functions.update(_stand_in_functions())
        methods.update(_stand_in_methods())


def installed() -> bool:
    """Whether the mode is on."""
    return bool(functions)
