"""Stands for `numba.tests.support`: a test case of our own, and decorators that decide what is run."""

import contextlib
import enum
import functools
import importlib
import io
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import warnings

from weft_outside import Differs, Inside, NeedsInternals

import numpy as np
import weft
from numba import _errors, config

_32bit = False
is_parfors_unsupported = False
numpy_sincos_low_precision = False
REDUCED_TESTING = False
has_blas = has_lapack = True
numpy_support = importlib.import_module("numba.np.numpy_support")
no_pyobj_flags = {"nopython": True}
force_pyobj_flags = enable_pyobj_flags = {"forceobj": True}
nrt_flags = {}


def tag(*names):
    return lambda test: test


def always_test(test):
    return test


def _keep(test):
    return test


def _skip(reason):
    return unittest.skip(reason)


skip_unless_cffi = needs_gdb = needs_external_compilers = _skip("needs another program")
linux_only = skip_parfors_unsupported = needs_lapack = needs_blas = needs_subprocess = needs_setuptools = _keep
disabled_test = skip_unless_typeguard = windows_only = _skip("not for here")
skip_unless_scipy = _keep
skip_unless_py314_or_later = _skip("a later Python")
skip_unless_py10_or_later = _keep
skip_if_numpy_2 = expected_failure_np2 = _skip("an earlier NumPy")
expected_failure_py311 = expected_failure_py312 = expected_failure_py313 = expected_failure_py314 = _keep


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name.startswith("skip_unless"):
        return _skip(name)
    if name.startswith(("skip_", "needs_")):
        return _keep
    return Inside(f"support.{name}")


class SerialMixin:
    _numba_parallel_test_ = False


class MemoryLeak:
    def memory_leak_setup(self):
        pass

    def memory_leak_teardown(self):
        pass

    def assert_no_memory_leak(self):
        pass

    def disable_leak_check(self):
        pass


class EnableNRTStatsMixin:
    pass


class MemoryLeakMixin(EnableNRTStatsMixin, MemoryLeak):
    pass


class CheckWarningsMixin:
    @contextlib.contextmanager
    def check_warnings(self, messages, category=RuntimeWarning):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield


def ignore_internal_warnings():
    pass


@contextlib.contextmanager
def override_config(name, value):
    before = getattr(config, name)
    setattr(config, name, value)
    try:
        yield
    finally:
        setattr(config, name, before)


@contextlib.contextmanager
def override_env_config(name, value):
    with unittest.mock.patch.dict(os.environ, {name: value}):
        yield


def compile_function(name, code, names):
    made = {}
    exec(compile(code.rstrip(), "<string>", "single"), names, made)
    return made[name]


def temp_directory(prefix):
    return tempfile.mkdtemp(prefix=f"{prefix}-")


def import_dynamic(name):
    importlib.invalidate_caches()
    return importlib.import_module(name)


@contextlib.contextmanager
def _captured(stream):
    before = getattr(sys, stream)
    setattr(sys, stream, io.StringIO())
    try:
        yield getattr(sys, stream)
    finally:
        setattr(sys, stream, before)


def captured_stdout():
    return _captured("stdout")


def captured_stderr():
    return _captured("stderr")


def captured_output(stream):
    return _captured(stream)


def run_in_subprocess(code, flags=None, env=None, timeout=60):
    done = subprocess.run(
        [sys.executable, *(flags or []), "-c", code], env=env, timeout=timeout, capture_output=True
    )  # fmt: skip
    if done.returncode:
        raise AssertionError(f"status {done.returncode}: {done.stderr.decode()[-2000:]}")
    return done.stdout, done.stderr


_NUMBERS = (
    ("bool", (bool, np.bool_)),
    ("int", (int, np.integer)),
    ("float", (float, np.floating)),
    ("complex", (complex, np.complexfloating)),
)
_DIGITS = {"single": 24, "double": 53}


class TestCase(unittest.TestCase):  # also what files mean by `unittest.TestCase`: see the end
    """Compares as precisely as a test asks for. Differences of words, and programs that Weft takes, are `Differs`."""

    longMessage = True

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)

    @functools.cached_property
    def random(self):
        return np.random.RandomState(42)

    def subTest(self, *arguments, **options):
        return self._noted()

    @contextlib.contextmanager
    def _noted(self):
        """Failures of parts are kept, and each counts."""
        try:
            yield
        except (unittest.SkipTest, KeyboardInterrupt):
            raise
        except Exception as error:
            self.__dict__.setdefault("parts", []).append(error)

    def assertPreciseEqual(
        self, first, second, prec="exact", ulps=1, msg=None, ignore_sign_on_zero=False, abs_tol=None
    ):
        what = _differ(first, second, prec, ulps, ignore_sign_on_zero, abs_tol)
        if what:
            self.fail(f"{first!r} and {second!r}: {what}{f' ({msg})' if msg else ''}")

    def assertStridesEqual(self, first, second):
        self.assertEqual(first.shape, second.shape)
        self.assertEqual(first.itemsize, second.itemsize)

    def assertTypingError(self):
        return self.assertRaises(_errors.ERRORS)

    def assertRaises(self, expected, *arguments, **options):
        return self._raises(expected, None, *arguments, **options)

    def assertRaisesRegex(self, expected, pattern, *arguments, **options):
        return self._raises(expected, pattern, *arguments, **options)

    def _raises(self, expected, pattern, function=None, *arguments, **options):
        if function is not None:
            with self._raising(expected, pattern):
                function(*arguments, **options)
            return None
        return self._raising(expected, pattern)

    @contextlib.contextmanager
    def _raising(self, expected, pattern):
        kinds = expected if isinstance(expected, tuple) else (expected,)
        own = any(isinstance(kind, type) and issubclass(kind, weft.CompileError) for kind in kinds)
        kinds = tuple(kind for kind in kinds if isinstance(kind, type))
        caught = _Caught()
        try:
            yield caught
        except (NeedsInternals, weft.WeftInternalError):
            raise
        except (weft.CompileError, *kinds) as error:
            if not own and not isinstance(error, kinds):
                raise
            caught.exception = error
            if pattern is not None and not own and not re.search(pattern, str(error)):
                raise Differs(f"words: {pattern!r} is not in {str(error)!r}") from None
            return
        except Exception as error:
            if own:
                raise Differs(f"refused there, here raised when run: {error!r}") from error
            raise
        if own:
            raise Differs("refused there, accepted here")
        self.fail(f"{expected} not raised")

    def assertIn(self, member, container, msg=None):
        if isinstance(container, str) and isinstance(member, str) and member not in container:
            raise Differs(f"words: {member!r} is not in {container!r:.300}")
        super().assertIn(member, container, msg)

    def assertRegex(self, text, pattern, msg=None):
        if isinstance(text, str) and not re.search(pattern, text):
            raise Differs(f"words: {pattern!r} is not in {text!r:.300}")

    def assertRefCount(self, *objects):
        return contextlib.nullcontext()

    assertRefCountEqual = assertNoNRTLeak = assertRefCount

    def reset_module_warnings(self, module):
        pass

    def make_dummy_type(self):
        raise NeedsInternals("make_dummy_type")

    def subprocess_test_runner(self, *arguments, **options):
        raise unittest.SkipTest("its tests run here")

    @staticmethod
    def run_test_in_subprocess(test=None, **options):
        return test if test is not None else lambda test: test

    def skip_if_no_external_compiler(self):
        raise unittest.SkipTest("no other compiler")


class _Caught:
    exception = None

    @property
    def msg(self):
        return str(self.exception)


def _differ(first, second, prec, ulps, zeros, tolerance):
    """How two results differ beyond what the test allows, or None. Python's numbers and NumPy's are of one family."""
    rest = (prec, ulps, zeros, tolerance)
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        if not (isinstance(first, np.ndarray) and isinstance(second, np.ndarray)):
            return "an array and none"
        if first.dtype != second.dtype:
            return f"dtypes {first.dtype} and {second.dtype}"
        if first.shape != second.shape:
            return f"shapes {first.shape} and {second.shape}"
        if first.flags.writeable != second.flags.writeable:
            return "one can be written"
        for place, (one, other) in enumerate(zip(first.flat, second.flat)):
            if what := _differ(one, other, *rest):
                return f"element {place}: {what}"
        return None
    if isinstance(first, (tuple, list)) or isinstance(second, (tuple, list)):
        if type(first).__name__ != type(second).__name__ or len(first) != len(second):
            return "sequences of other kinds or lengths"
        return next((what for one, other in zip(first, second) if (what := _differ(one, other, *rest))), None)
    if isinstance(first, enum.Enum) or isinstance(first, (np.datetime64, np.timedelta64)):
        same = first is second or (first == second and type(first) is type(second)) or (first != first)
        return None if same else "other values"
    kinds = [next((name for name, types in _NUMBERS if isinstance(value, types)), None) for value in (first, second)]
    if kinds[0] is None or kinds[1] is None:
        return None if first == second else "not equal"
    if kinds[0] != kinds[1]:
        return f"{kinds[0]} and {kinds[1]}"
    if kinds[0] == "complex":
        return _differ(first.real, second.real, *rest) or _differ(first.imag, second.imag, *rest)
    if kinds[0] != "float":
        return None if first == second else "not equal"
    one, other = float(first), float(second)
    if math.isnan(one) or math.isnan(other):
        return None if math.isnan(one) and math.isnan(other) else "a nan"
    if tolerance is not None:
        bound = float(np.finfo(type(first)).eps) if tolerance == "eps" else tolerance
        if abs(one - other) < bound:
            return None
    if one == other:
        return None if one or zeros or math.copysign(1, one) == math.copysign(1, other) else "zeros of other signs"
    if prec == "exact" or math.isinf(one) or math.isinf(other):
        return "not equal"
    digits = _DIGITS[prec]
    if isinstance(first, np.float32) or isinstance(second, np.float32):
        digits = min(digits, 24)
    unit = math.ldexp(1.0, math.frexp(max(abs(one), abs(other)))[1] - digits)
    return None if abs(one - other) <= ulps * unit else f"{abs(one - other) / unit:g} units apart"


unittest.TestCase = TestCase  # type: ignore[misc]
