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
from weft._global_queue import Place as _Place
from weft._global_queue import queue_for_new_array as _queue
from weft.memory import _restored_queue
from weft.utils import get_coerced_usm_type

__all__ = [
    "abs",
    "arange",
    "asarray",
    "asnumpy",
    "astype",
    "bool",
    "cos",
    "e",
    "empty",
    "exp",
    "float32",
    "float64",
    "from_numpy",
    "full",
    "inf",
    "int32",
    "int64",
    "linspace",
    "log",
    "maximum",
    "minimum",
    "nan",
    "newaxis",
    "ones",
    "pi",
    "sin",
    "sqrt",
    "square",
    "to_numpy",
    "usm_ndarray",
    "where",
    "zeros",
]

_builtin_bool = bool
bool = np.dtype("bool")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
float32 = np.dtype("float32")
float64 = np.dtype("float64")

e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi


def _shape(shape: Any) -> tuple[int, ...]:
    try:
        return (operator.index(shape),)
    except TypeError:
        return tuple(operator.index(n) for n in shape)


def _dtype(dtype: Any, default: str) -> str:
    return default if dtype is None else np.dtype(dtype).name


def _weak_dtype(*numbers: Any) -> str:
    """The dtype NumPy gives these numbers together."""
    return np.asarray(numbers).dtype.name


def _tensors_in(obj: Any) -> list[usm_ndarray]:
    """The tensors in nested lists and tuples."""
    if isinstance(obj, usm_ndarray):
        return [obj]
    return [x for item in obj for x in _tensors_in(item)] if isinstance(obj, (list, tuple)) else []


def _on_host(obj: Any) -> Any:
    """Nested lists and tuples with every tensor copied to the host."""
    if isinstance(obj, usm_ndarray):
        return asnumpy(obj)
    return [_on_host(item) for item in obj] if isinstance(obj, (list, tuple)) else obj


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

    A tensor that already fits is returned as it is, unless `copy=True`. `obj` may be nested lists of tensors, NumPy
    arrays and numbers, wherever they live, or anything with `__sycl_usm_array_interface__`, whose memory is then used
    as it is where the queue is the same. `asarray(x, queue)` is `asarray(x, queue=queue)`.
    """
    if isinstance(dtype, (Queue, Device)):
        if queue is not None:
            raise TypeError("asarray() got two queues: one by position and queue=")
        dtype, queue = None, dtype
    if isinstance(obj, usm_ndarray):
        where = obj.queue if queue is device is sycl_queue is None else _queue(queue, device, sycl_queue)
        moved = obj.to_device(where) if where != obj.queue else obj
        if dtype is not None and np.dtype(dtype) != moved.dtype:
            moved = astype(moved, dtype)
        if usm_type is not None and usm_type != moved.usm_type:
            return _core.tensor_from_array(asnumpy(moved), where, usm_type)
        return _copy(obj) if copy and moved is obj else moved
    if not isinstance(obj, np.ndarray) and (found := _core.tensor_from_usm(obj)) is not None:
        return asarray(found, dtype, device=device, usm_type=usm_type, queue=queue, sycl_queue=sycl_queue, copy=copy)
    if isinstance(obj, np.ndarray) and type(obj) is not np.ndarray and isinstance(obj, np.ma.MaskedArray):
        raise TypeError("a masked array cannot become a tensor: pass x.filled(value), or the data and the mask")
    if copy is False:
        raise ValueError("host data cannot become a tensor without a copy")
    inside = _tensors_in(obj)
    where = _queue(queue, device, sycl_queue, inside)
    if inside:
        obj = _on_host(obj)
        usm_type = usm_type or get_coerced_usm_type([x.usm_type for x in inside])
    array = np.asarray(obj) if dtype is None else np.asarray(obj, dtype=dtype)
    return _core.tensor_from_array(array, where, usm_type or "device")


def _copy(x: usm_ndarray) -> usm_ndarray:
    """A tensor of its own with the same elements. Bools have no `+`."""
    return x | False if x.dtype == bool else +x


def _restore(content: np.ndarray[Any, Any], device: str, usm_type: str) -> usm_ndarray:
    """Unpickles a tensor."""
    return asarray(content, queue=_restored_queue(device, "a tensor"), usm_type=usm_type)


def _construct(
    shape: Any,
    dtype: Any = None,
    *,
    buffer: Any = None,
    type: str | None = None,
    usm_type: str | None = None,
    queue: _Place = None,
    sycl_queue: _Place = None,
    device: _Place = None,
) -> usm_ndarray:
    """What `usm_ndarray(...)` makes: a copy of data where a place or kind of memory is named, else an empty array."""
    if type is not None and usm_type is not None and type != usm_type:
        raise TypeError(f"type={type!r} and usm_type={usm_type!r}: give one of them")
    usm_type = type or usm_type
    if usm_type is not None or not (queue is sycl_queue is device is None):
        if buffer is not None:
            raise TypeError("buffer= belongs to usm_ndarray(shape, dtype, buffer=...), not to data with a place")
        made = asarray(shape, dtype, usm_type=usm_type, queue=queue, sycl_queue=sycl_queue, device=device)
        return asarray(made, copy=True) if made is shape else made
    if buffer is not None and not isinstance(buffer, str):
        over = _core.tensor_from_usm(buffer, _shape(shape), _dtype(dtype, "float64"))
        if over is None:
            raise TypeError(
                f'buffer= is a USM type, such as "shared", or memory of weft.memory, not {buffer.__class__.__name__}'
            )
        return over
    return empty(shape, dtype, usm_type=buffer or "device")


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
    usm_type: str | None = None,
    queue: _Place = None,
    sycl_queue: _Place = None,
) -> usm_ndarray:
    """A tensor whose elements are all `fill_value`. A tensor as `fill_value` says where, unless the call does."""
    where = _queue(queue, device, sycl_queue, (fill_value,))
    if isinstance(fill_value, usm_ndarray):
        value = asarray(fill_value, dtype, queue=where, usm_type=usm_type)
        spread = _core.tensor_call(
            "numpy.where", full(shape, True, bool, queue=where, usm_type=value.usm_type), value, value
        )
        if spread.shape != _shape(shape):
            raise ValueError(
                f"could not broadcast input array from shape {fill_value.shape} into shape {_shape(shape)}"
            )
        return spread
    name = _dtype(dtype, "") or _weak_dtype(fill_value)
    # NumPy's own conversion: an int that does not fit raises here.
    number = np.asarray(fill_value, dtype=name)[()]
    return _core.tensor_generate("full", _shape(shape), (number,), name, where, usm_type or "device")


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


def square(x: usm_ndarray, /) -> usm_ndarray:
    """Square of each element."""
    return x * x


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
