"""Stands for `numba`: its decorators and names over Weft (see `weft_outside`)."""

import sys as _sys
import types as _pytypes

import weft_outside as _outside
from weft_outside import Inside as _Inside
from weft_outside import jit, refused

import numpy as _numpy
import weft as _weft
from numba import _errors, _types
from weft import get_num_threads, prange, set_num_threads

njit = jit
types = _types
errors = _errors
__version__ = "0.99.0"
version_info = _Inside("numba.version_info")
typeof = _types.typeof
vectorize = refused("vectorize")
guvectorize = refused("guvectorize")
stencil = refused("stencil")
cfunc = refused("cfunc")
jit_module = refused("jit_module")


class _Config(_pytypes.ModuleType):
    """Settings of another compiler: anything may be set, and everything is off."""

    DISABLE_JIT = 0
    NUMBA_NUM_THREADS = 2
    NUMBA_DEFAULT_NUM_THREADS = 2
    IS_32BITS = False
    IS_WIN32 = False
    IS_OSX = False
    OPT = 3
    CACHE_DIR = ""
    THREADING_LAYER = "default"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return 0

    def reload_config(self):
        pass


config = _Config("numba.core.config")


def register_jitable(*functions, **options):
    return functions[0] if functions else lambda function: function


def literally(value):
    return value


_PLAIN = {"register_jitable": register_jitable}
ALIASES = {
    "numba.core.registry": {"CPUDispatcher": type(_weft.njit(lambda: None, source="lambda: None"))},
    "numba.core.utils": {"PYVERSION": _sys.version_info[:2], "_RedirectSubpackage": None},
    "numba.np.numpy_support": {
        "numpy_version": tuple(map(int, _numpy.__version__.split(".")[:2])),
        "from_dtype": lambda dtype: _types.Type(str(_numpy.dtype(dtype))),
        "as_dtype": lambda kind: _numpy.dtype(str(kind).replace("boolean", "bool")),
    },
    "numba.extending": _PLAIN,
    "numba.core.extending": _PLAIN,
    "numba.core": {"types": types, "errors": errors, "config": config},
    "numba.core.typing": {"signature": _types.signature},
    "numba.stencils.stencil": {"stencil": stencil},
    "numba.misc.special": {"typeof": typeof, "literally": literally},
    "numba.testing": {"unittest": __import__("unittest")},
    "numba.core.decorators": {"jit": jit, "njit": njit},
}
_sys.modules.update({
    "numba.types": types, "numba.core.types": types, "numba.errors": errors, "numba.core.errors": errors,
    "numba.core.config": config, "numba.config": config,
})  # fmt: skip
types.__path__ = errors.__path__ = config.__path__ = []


def __getattr__(name):
    if name.startswith(("__", "pytest_", "setUpModule", "tearDownModule", "setup_", "teardown_", "collect_")):
        raise AttributeError(name)
    if name in _types.SCALARS:
        return getattr(_types, name)
    if name == "literal_unroll":
        return _Inside("numba.literal_unroll")
    import importlib

    try:
        if name in ("core", "tests", "np", "parfors", "typed", "misc", "extending", "testing", "experimental", "cuda"):
            return importlib.import_module(f"numba.{name}")
    except ImportError:
        pass
    return _Inside(f"numba.{name}")


_sys.modules["numba.tests.support"] = __import__("importlib").import_module("numba._support")
_ = (_outside, get_num_threads, prange, set_num_threads)
