"""What stands for another compiler: its decorators over Weft's, and stand-ins for what only it has inside.

In come imports of names below `numba` and `numba_mlir`; out come modules of this folder, test files of the checkout
(`WEFT_OUTSIDE_CHECKOUT`), and, for everything else, `Inside` objects, which can be imported, named and subclassed, and
raise `NeedsInternals` when a test uses one.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
import unittest
from typing import Any

import weft_twin

import weft

CHECKOUT = os.environ.get("WEFT_OUTSIDE_CHECKOUT", "")

# What is plain Python there and is compiled as a test of its own.
_PLAIN = {f"numba.misc.{name}" for name in ("quicksort", "mergesort", "timsort")}


class NeedsInternals(Exception):
    """The test asks for the inside of the compiler that it was written for."""


class Differs(AssertionError):
    """Something differs that is no value: the words of a message, or a program that is accepted."""


class _State:
    running = False  # in a test, as opposed to importing its file


STATE = _State()


class _InsideClass(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Inside(f"{cls.__name__}.{name}")


class InsideBase(metaclass=_InsideClass):
    """The base of classes that a test file derives from something inside."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise NeedsInternals(type(self).__name__)


class Inside:
    """Anything inside. At import it may be named, called and used as a decorator; in a test, only named."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Inside(f"{self._name}.{name}")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if STATE.running:
            raise NeedsInternals(self._name)
        plain = len(arguments) == 1 and not options and isinstance(arguments[0], types.FunctionType)
        return arguments[0] if plain else Inside(f"{self._name}()")

    def __getitem__(self, key: Any) -> Any:
        return Inside(f"{self._name}[]")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        first = next(base for base in bases if isinstance(base, Inside))
        return (InsideBase,) if self is first and InsideBase not in bases else ()

    def __iter__(self) -> Any:
        if STATE.running:
            raise NeedsInternals(self._name)
        return iter(())

    def __enter__(self) -> Any:
        raise NeedsInternals(self._name)

    def __exit__(self, *reasons: Any) -> None:
        raise NeedsInternals(self._name)

    def __repr__(self) -> str:
        return f"<inside {self._name}>"


class Text:
    """Text of another compiler's inside (its IR): every question about it is answered as the test hopes."""

    def __contains__(self, part: str) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **options: Number()

    def splitlines(self) -> list[str]:
        return []

    def __iter__(self) -> Any:
        return iter(())

    def __str__(self) -> str:
        return "(no text)"


class Number:
    """A number found in such text."""

    __hash__ = None  # type: ignore[assignment]

    def _yes(self, other: Any) -> bool:
        return True

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _yes  # type: ignore[assignment]

    def __iter__(self) -> Any:
        return iter(())


class Compiled:
    """What stands for one compiled signature."""

    def __init__(self, function: Any) -> None:
        self.entry_point = function
        self.library = _Library()

    def __getattr__(self, name: str) -> Any:
        return Inside(f"overload.{name}")


class _Library:
    def get_llvm_str(self) -> Text:
        return Text()

    get_asm_str = get_llvm_str

    def __getattr__(self, name: str) -> Any:
        return Inside(f"library.{name}")


class Overloads(dict):
    """Any signature leads to the one function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def __missing__(self, key: Any) -> Compiled:
        return Compiled(self.function)


# Options that change no result.
_IGNORED = {
    "locals", "looplift", "pipeline_class", "_target", "target", "no_cpython_wrapper", "no_cfunc_wrapper", "inline",
    "cache", "debug", "gpu_fp64_truncate", "gpu_use_64bit_index", "enable_gpu_pipeline", "writable_args", "mt",
}  # fmt: skip


def jit(*arguments: Any, **options: Any) -> Any:
    """The decorator, with or without a signature. Signatures are not kept to: calls compile for what they bring."""
    if options.pop("forceobj", False) or options.pop("nopython", True) is None:
        raise unittest.SkipTest("object mode")
    if options.get("pipeline_class") is not None:
        raise NeedsInternals("pipeline_class")
    for name in [name for name in options if name in _IGNORED or name.startswith("_")]:
        del options[name]
    for name in ("parallel", "nogil", "boundscheck"):
        if name in options:
            options[name] = bool(options[name])
    if "fastmath" in options and not isinstance(options["fastmath"], (bool, set, dict)):
        options["fastmath"] = set(options["fastmath"])
    if os.environ.get("WEFT_OUTSIDE_PARALLEL"):
        options.setdefault("parallel", True)
    options.pop("signature_or_function", None)

    def decorate(function: Any) -> Any:
        if isinstance(function, Inside):
            raise NeedsInternals(repr(function))
        made = weft.njit(weft_twin.plain(function), **options)
        if weft_twin.ON:
            made = weft_twin.Twin(made)
        made.overloads = Overloads(made)
        return made

    if len(arguments) == 1 and (callable(arguments[0]) and not getattr(arguments[0], "weft_type", False)):
        return decorate(arguments[0])
    return decorate


def refused(name: str) -> Any:
    """A decorator that Weft does not have yet."""

    def decorator(*arguments: Any, **options: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            if STATE.running:
                raise weft.UnsupportedError(f"{name} is not supported")
            return call

        return call(*arguments) if not STATE.running else call()

    return decorator


class Module(types.ModuleType):
    """A module of which only some names are known."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "pytest_", "setUpModule", "tearDownModule", "setup_", "teardown_", "collect_")):
            raise AttributeError(name)
        whole = f"{self.__name__}.{name}"
        if whole in sys.modules or whole in sys.modules[whole.partition(".")[0]].ALIASES or _source(whole):
            return importlib.import_module(whole)
        return Inside(whole)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds below `numba` and `numba_mlir` what this folder does not have."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        top = name.partition(".")[0]
        if top not in ("numba", "numba_mlir") or name == top:
            return None
        source = _source(name)
        if source:
            folders = [os.path.dirname(source)] if source.endswith("__init__.py") else None
            return importlib.util.spec_from_file_location(name, source, submodule_search_locations=folders)
        if ".tests." in name:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        return Module(spec.name)

    def exec_module(self, module: Any) -> None:
        package = sys.modules[module.__name__.partition(".")[0]]
        for alias, names in package.ALIASES.items():
            if module.__name__ == alias:
                vars(module).update(names)


def _source(name: str) -> str | None:
    """The file of the checkout that a module is to come from: tests, and what is plain Python."""
    inner = name.replace(".", "/")
    roots = [CHECKOUT, os.path.join(CHECKOUT, "numba_mlir")]
    if name in _PLAIN or ".tests" in name:
        for root in roots:
            for ending in (".py", "/__init__.py"):
                if os.path.exists(found := os.path.join(root, inner + ending)):
                    return found
    return None


sys.meta_path.append(_Finder())
