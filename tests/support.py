"""What every test uses: the one comparison with NumPy, and the devices under test.

`same(ours, theirs)` is the contract in one function: value (floats within documented rounding), type, dtype, shape.
"""

import copy
import linecache
import math
from typing import Any

import pytest

import numpy as np
import weft

# The most that one elementwise math function may differ from NumPy's (docs/deviations.md), and some for a chain.
ULPS = 8


def same(ours: Any, theirs: Any, ulps: int = ULPS) -> None:
    """Asserts that a result of Weft is the result of NumPy or CPython: value, type, dtype and shape."""
    assert type(ours) is type(theirs), f"{type(ours)} is not {type(theirs)}"
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs):
            same(mine, other, ulps)
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype, f"dtype {ours.dtype} is not {theirs.dtype}"
        assert ours.shape == theirs.shape, f"shape {ours.shape} is not {theirs.shape}"
        _close(ours, theirs, ulps)
    elif isinstance(theirs, np.generic):
        assert ours.dtype == theirs.dtype, f"dtype {ours.dtype} is not {theirs.dtype}"
        _close(np.asarray(ours), np.asarray(theirs), ulps)
    elif isinstance(theirs, complex):
        _close(np.asarray(ours), np.asarray(theirs), ulps)
    elif isinstance(theirs, float):
        near = math.isclose(ours, theirs, rel_tol=ulps * np.finfo(float).eps, abs_tol=ulps * 5e-324)
        assert near or (math.isnan(ours) and math.isnan(theirs)), f"{ours!r} is not {theirs!r}"
    else:
        assert ours == theirs, f"{ours!r} is not {theirs!r}"


def _close(ours: np.ndarray, theirs: np.ndarray, ulps: int) -> None:
    if theirs.dtype.kind == "c" and ulps:
        _close_complex(ours, theirs, ulps)
        return
    if theirs.dtype.kind != "f":
        np.testing.assert_array_equal(ours, theirs)
        return
    assert np.array_equal(np.isnan(ours), np.isnan(theirs)), "nan in different places"
    # Infinite differences of equal infinities are nan: equal is equal.
    with np.errstate(invalid="ignore", over="ignore"):
        unit = np.spacing(np.maximum(np.abs(theirs), np.finfo(theirs.dtype).tiny))
        wrong = ~((ours == theirs) | np.isnan(theirs) | (np.abs(ours - theirs) <= ulps * unit))
    assert not wrong.any(), f"{ours[wrong][:5]} is not {theirs[wrong][:5]} within {ulps} ulps"


def _close_complex(ours: np.ndarray, theirs: np.ndarray, ulps: int) -> None:
    """Within ulps of the number's size: of a part that is small beside the other, fewer bits are right."""
    finite = np.isfinite(theirs)
    np.testing.assert_array_equal(np.isfinite(ours), finite)
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.maximum(np.abs(theirs), np.finfo(theirs.dtype).tiny)
        wrong = finite & ~(np.abs(ours - theirs) <= ulps * np.spacing(size))
    assert not wrong.any(), f"{ours[wrong][:5]} is not {theirs[wrong][:5]} within {ulps} ulps"


def same_as_plain(function: Any, *arguments: Any, ulps: int = ULPS) -> Any:
    """Calls a jitted function and its plain function; both return the same, or raise the same class."""
    with np.errstate(all="ignore"):
        try:
            expected = function.py_func(*arguments)
        except Exception as error:
            with pytest.raises(type(error)):
                function(*arguments)
            return None
    result = function(*arguments)
    same(result, expected, ulps)
    return result


# A device that is not native: Intel's OpenCL CPU where the suite runs in full, a GPU where there is no OpenCL.
OTHER = next((d.filter_string for backend in ("opencl", "cuda") for d in weft.devices(backend)), "opencl:cpu:0")


def device_parameters() -> list[Any]:
    """Every device under test, by filter string; one that is missing is skipped, loudly (see conftest.py)."""
    found = {device.backend for device in weft.devices()}

    def marks(backend: str) -> list[Any]:
        skip = pytest.mark.skip(reason=f"no {backend} device on this machine")
        return [] if backend in found else [skip]

    return [
        pytest.param("native", id="native"),
        pytest.param("opencl", id="opencl", marks=marks("opencl")),
        pytest.param("cuda", id="cuda", marks=[pytest.mark.cuda, *marks("cuda")]),
    ]


def function(text, names, body=""):
    """The jitted function that runs a body and returns an expression, if any, with a source that can be found."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    source = f"def f({', '.join(names)}):\n{lines}" + (f"    return {text}\n" if text else "")
    filename = f"<test: {source}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope = {"np": np, "math": math, "prange": weft.prange}
    exec(compile(source, filename, "exec"), scope)
    return weft.njit(scope["f"])


def outcome(f, given):
    """What a call leaves in its arguments, or the exception."""
    try:
        f(*given)
    except (IndexError, ValueError) as error:
        return type(error), str(error), *given
    return given


def agree(f, given):
    """A call leaves what the plain function leaves, or raises what it raises."""
    have, want = outcome(f, copy.deepcopy(given)), outcome(f.py_func, copy.deepcopy(given))
    assert len(have) == len(want)
    for one, other in zip(have, want):
        np.testing.assert_array_equal(one, other)


def loops_left(compiled: Any) -> int:
    """How many loops the pass that batches them has left, in the versions that run where its tests hold."""
    left, skipped = 0, None
    for line in compiled.inspect("after:raise").splitlines():
        indent = len(line) - len(line.lstrip())
        if skipped is not None and indent > skipped:
            continue
        skipped = indent if line.strip() == "} {" else None
        left += "scf.for" in line
    return left
