"""Arrays on devices. Operations are recorded and run fused, where the arrays live, when something looks.

    x = weft.tensor.linspace(0, 1, 1_000_000, device="cuda")
    y = 2 * weft.tensor.sin(x) + x * x      # nothing has run yet
    weft.tensor.asnumpy(y)                  # one kernel, no temporaries

Metadata and errors are immediate. `asarray` copies host data at the call; `asnumpy` copies back.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from weft import _core
from weft._core import Device, Queue, usm_ndarray
from weft._placement import current_queue

__all__ = [
    "abs",
    "arange",
    "asarray",
    "asnumpy",
    "astype",
    "bool",
    "cos",
    "empty",
    "exp",
    "float32",
    "float64",
    "from_numpy",
    "full",
    "int32",
    "int64",
    "linspace",
    "log",
    "maximum",
    "minimum",
    "ones",
    "sin",
    "sqrt",
    "to_numpy",
    "usm_ndarray",
    "where",
    "zeros",
]

_Place = str | Device | Queue | None

_builtin_bool = bool
bool = np.dtype("bool")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
float32 = np.dtype("float32")
float64 = np.dtype("float64")


def _queue(queue: _Place, device: _Place, sycl_queue: _Place = None) -> Queue:
    """Where a new array goes: what the call names, else the open device context, else the default device."""
    queue = queue if queue is not None else sycl_queue
    if queue is not None and device is not None and _core.queue_of(queue) != _core.queue_of(device):
        raise TypeError(
            f"queue= names {_core.queue_of(queue)!r} and device= names {_core.queue_of(device)!r}: give one"
        )
    where = queue if queue is not None else device
    if where is not None:
        return _core.queue_of(where)
    return current_queue() or _core.queue_of(None)


def _shape(shape: Any) -> tuple[int, ...]:
    try:
        return (operator.index(shape),)
    except TypeError:
        return tuple(operator.index(n) for n in shape)


def _dtype(dtype: Any, default: str) -> str:
    return default if dtype is None else np.dtype(dtype).name


def _weak_dtype(*numbers: Any) -> str:
    """The dtype NumPy gives these numbers together."""
    return np.result_type(*(np.asarray(n) for n in numbers)).name


def asarray(
    obj: Any,
    dtype: Any = None,
    *,
    device: _Place = None,
    usm_type: str | None = None,
    queue: _Place = None,
    sycl_queue: _Place = None,
    copy: _builtin_bool | None = None,
) -> usm_ndarray:
    """`obj` as a tensor: a copy of host data, or of a tensor that lives elsewhere.

    A tensor that already fits is returned as it is, unless `copy=True`.
    """
    if isinstance(obj, usm_ndarray):
        where = obj.queue if queue is device is sycl_queue is None else _queue(queue, device, sycl_queue)
        moved = obj.to_device(where) if where != obj.queue else obj
        if dtype is not None and np.dtype(dtype) != moved.dtype:
            moved = astype(moved, dtype)
        if usm_type is not None and usm_type != moved.usm_type:
            return _core.tensor_from_array(asnumpy(moved), where, usm_type)
        return +moved if copy and moved is obj and obj.dtype != bool else moved
    if copy is False:
        raise ValueError("host data cannot become a tensor without a copy")
    array = np.asarray(obj) if dtype is None else np.asarray(obj, dtype=dtype)
    return _core.tensor_from_array(array, _queue(queue, device, sycl_queue), usm_type or "device")


def from_numpy(array: np.ndarray[Any, Any], device: _Place = None, usm_type: str = "device") -> usm_ndarray:
    """A tensor with a copy of a NumPy array."""
    return asarray(array, device=device, usm_type=usm_type)


def asnumpy(x: usm_ndarray) -> np.ndarray[Any, Any]:
    """A NumPy array with a copy of the elements. Runs what is pending."""
    return _core.tensor_to_array(x)


to_numpy = asnumpy


def astype(x: usm_ndarray, dtype: Any) -> usm_ndarray:
    """`x` converted to a dtype."""
    return _core.tensor_cast(x, np.dtype(dtype).name)


def empty(
    shape: Any,
    dtype: Any = None,
    *,
    device: _Place = None,
    usm_type: str = "device",
    queue: _Place = None,
    sycl_queue: _Place = None,
) -> usm_ndarray:
    """A tensor of uninitialised memory."""
    return _core.tensor_empty(_shape(shape), _dtype(dtype, "float64"), _queue(queue, device, sycl_queue), usm_type)


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    *,
    device: _Place = None,
    usm_type: str = "device",
    queue: _Place = None,
    sycl_queue: _Place = None,
) -> usm_ndarray:
    """A tensor whose elements are all `fill_value`."""
    name = _dtype(dtype, "") or _weak_dtype(fill_value)
    # NumPy's own conversion: an int that does not fit raises here.
    value = np.asarray(fill_value, dtype=name)[()]
    where = _queue(queue, device, sycl_queue)
    return _core.tensor_generate("full", _shape(shape), (value,), name, where, usm_type)


def zeros(shape: Any, dtype: Any = None, **where: Any) -> usm_ndarray:
    """A tensor of zeros. Takes `device`, `usm_type` and `queue` like `full`."""
    return full(shape, 0, _dtype(dtype, "float64"), **where)


def ones(shape: Any, dtype: Any = None, **where: Any) -> usm_ndarray:
    """A tensor of ones. Takes `device`, `usm_type` and `queue` like `full`."""
    return full(shape, 1, _dtype(dtype, "float64"), **where)


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: _Place = None,
    usm_type: str = "device",
    queue: _Place = None,
    sycl_queue: _Place = None,
) -> usm_ndarray:
    """Numbers from `start` (0 when only one is given) up to, not including, `stop`."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ZeroDivisionError("arange() step must not be zero")
    count = max(0, math.ceil((stop - start) / step))
    name = _dtype(dtype, "") or _weak_dtype(start, stop, step)
    where = _queue(queue, device, sycl_queue)
    return _core.tensor_generate("arange", (count,), (start, start + step), name, where, usm_type)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int = 50,
    dtype: Any = None,
    *,
    endpoint: _builtin_bool = True,
    device: _Place = None,
    usm_type: str = "device",
    queue: _Place = None,
    sycl_queue: _Place = None,
) -> usm_ndarray:
    """`num` evenly spaced numbers from `start` to `stop`."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = float(start), float(stop)
    delta = stop - start
    div = num - 1 if endpoint else num
    name = _dtype(dtype, "float64")
    where = _queue(queue, device, sycl_queue)
    if div <= 0:
        return full((num,), start, name, queue=where, usm_type=usm_type)
    last = num - 1 if endpoint else -1
    numbers = (start, stop, delta / div, delta, float(div), last)
    return _core.tensor_generate("linspace", (num,), numbers, name, where, usm_type)


def sin(x: usm_ndarray, /) -> usm_ndarray:
    """Sine of each element."""
    return _core.tensor_call("numpy.sin", x)


def cos(x: usm_ndarray, /) -> usm_ndarray:
    """Cosine of each element."""
    return _core.tensor_call("numpy.cos", x)


def exp(x: usm_ndarray, /) -> usm_ndarray:
    """Exponential of each element."""
    return _core.tensor_call("numpy.exp", x)


def log(x: usm_ndarray, /) -> usm_ndarray:
    """Natural logarithm of each element."""
    return _core.tensor_call("numpy.log", x)


def sqrt(x: usm_ndarray, /) -> usm_ndarray:
    """Square root of each element, correctly rounded."""
    return _core.tensor_call("numpy.sqrt", x)


def abs(x: usm_ndarray, /) -> usm_ndarray:
    """Absolute value of each element."""
    return _core.tensor_call("numpy.absolute", x)


def minimum(x1: Any, x2: Any, /) -> usm_ndarray:
    """The smaller of two elements; nan where either is."""
    return _core.tensor_call("numpy.minimum", x1, x2)


def maximum(x1: Any, x2: Any, /) -> usm_ndarray:
    """The larger of two elements; nan where either is."""
    return _core.tensor_call("numpy.maximum", x1, x2)


def where(condition: Any, x1: Any, x2: Any, /) -> usm_ndarray:
    """`x1` where the condition holds, `x2` elsewhere."""
    return _core.tensor_call("numpy.where", condition, x1, x2)


def _repr(x: usm_ndarray) -> str:
    text = np.array2string(asnumpy(x), separator=", ", prefix="usm_ndarray(")
    suffix = "" if x.dtype in (float64, int64, bool) else f", dtype={x.dtype.name}"
    return f"usm_ndarray({text}{suffix})"


def _str(x: usm_ndarray) -> str:
    return str(asnumpy(x))
