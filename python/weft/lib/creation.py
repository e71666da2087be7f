"""New arrays, and the same elements in another shape or dtype."""

import numpy as np
from weft.lib import prim
from weft.lib.prim import attribute, generate, overload


@overload(np.zeros)
def zeros(shape, dtype=None):
    return prim.zeros(shape, dtype)


@overload(np.empty)
def empty(shape, dtype=None):
    return prim.empty(shape, dtype)


@overload(np.ones)
def ones(shape, dtype=None):
    result = prim.empty(shape, dtype)
    result[...] = 1
    return result


@overload(np.full)
def full(shape, fill_value, dtype=None):
    if dtype is None:
        result = prim.empty(shape, prim.dtype_of(fill_value))
    else:
        result = prim.empty(shape, dtype)
    result[...] = fill_value
    return result


def dtype_like(a, dtype):
    if dtype is None:
        return prim.dtype_of(a)
    return prim.dtype(dtype)


@overload(np.zeros_like)
def zeros_like(a, dtype=None):
    return prim.zeros(prim.shape_of(a), dtype_like(a, dtype))


@overload(np.empty_like)
def empty_like(a, dtype=None):
    return prim.empty(prim.shape_of(a), dtype_like(a, dtype))


@overload(np.ones_like)
def ones_like(a, dtype=None):
    return ones(prim.shape_of(a), dtype_like(a, dtype))


@overload(np.full_like)
def full_like(a, fill_value, dtype=None):
    result = prim.empty(prim.shape_of(a), dtype_like(a, dtype))
    result[...] = fill_value
    return result


@overload(np.array)
def array(object, dtype=None):
    return prim.array(object, dtype)


@overload(np.asarray, np.ascontiguousarray)
def asarray(a, dtype=None):
    if prim.is_array(a):
        if dtype is None or prim.same_dtype(prim.dtype_of(a), dtype):
            return a
    return prim.array(a, dtype)


@overload(np.copy, np.ndarray.copy)
def copy(a):
    return prim.copy(a)


@overload(np.ndarray.astype)
def astype(a, dtype):
    if prim.is_array(a):
        return prim.array(a, dtype)
    return prim.as_dtype(a, dtype)


@overload(np.ndarray.fill)
def fill(a, value):
    a[...] = value


@overload(np.ndarray.item)
def item(a):
    return prim.item(a)


@overload(np.ndarray.tolist)
def tolist(a):
    if a.ndim == 0:
        return prim.item(a)
    if a.ndim == 1:
        return [v.item() for v in a]
    if a.ndim == 2:
        return [[v.item() for v in row] for row in a]
    return prim.refuse("tolist() of more than two dimensions is not supported yet")


@generate
def counted(shape, start, step, like):
    return prim.cast_like(start + prim.position(0) * step, like)


@generate
def stepped(shape, first, second):
    # NumPy computes the first two elements and goes on in steps of their difference.
    i = prim.position(0)
    return prim.select(i == 1, second, first + prim.cast_like(i, first) * (second - first))


def length(start, stop, step):
    if prim.is_kind(prim.dtype_of((start, stop, step)), "bui"):
        if step > 0:
            return max(0, (int(stop) - int(start) + int(step) - 1) // int(step))
        return max(0, (int(start) - int(stop) - int(step) - 1) // -int(step))
    steps = (float(stop) - float(start)) / float(step)
    if steps != steps:
        raise ValueError("arange: cannot compute length")
    if steps > 2305843009213693951.0:
        raise ValueError("Maximum allowed size exceeded")
    return max(0, int(-(-steps // 1.0)))


@overload(np.arange)
def arange(start, stop=None, step=1, dtype=None):
    if stop is None:
        return arange_from(0, start, step, dtype)
    return arange_from(start, stop, step, dtype)


def arange_from(start, stop, step, dtype):
    if dtype is None:
        kind = prim.dtype_of((start, stop, step))
        if prim.is_kind(kind, "b"):
            kind = prim.dtype(int)
    else:
        kind = prim.dtype(dtype)
    if step == 0:
        raise ZeroDivisionError("division by zero")
    n = length(start, stop, step)
    like = prim.zero(kind)
    if prim.is_kind(kind, "iu") and prim.is_kind(prim.dtype_of((start, stop, step)), "bui"):
        return counted((n,), prim.as_dtype(start, kind), prim.as_dtype(step, kind), like)
    return stepped((n,), prim.as_dtype(start, kind), prim.as_dtype(start + step, kind))


@generate
def spaced(shape, start, stop, step, delta, div, last, like):
    # A step that underflows to zero is applied in two parts, as NumPy does.
    i = prim.position(0)
    x = prim.cast_like(i, start)
    offset = prim.select(step == 0.0, x / div * delta, x * step)
    return prim.cast_like(prim.select(i == last, stop, offset + start), like)


@overload(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None):
    if num < 0:
        raise ValueError("Number of samples must be non-negative.")
    first = prim.as_dtype(start, "float64")
    end = prim.as_dtype(stop, "float64")
    div = num - 1 if endpoint else num
    last = num - 1 if endpoint and num > 1 else -1
    delta = end - first
    if div > 0:
        step = delta / prim.as_dtype(div, "float64")
    else:
        step = prim.as_dtype(np.nan, "float64")
    spread = step if div > 0 else delta
    result = spaced((num,), first, end, spread, delta, prim.as_dtype(max(div, 1), "float64"), last, first)
    if dtype is not None:
        if prim.is_kind(prim.dtype(dtype), "iu"):
            result = np.floor(result)
        result = prim.array(result, dtype)
    if retstep:
        return result, step
    return result


@generate
def diagonal_ones(shape, k, like):
    return prim.cast_like(prim.position(1) == prim.position(0) + k, like)


@overload(np.eye)
def eye(N, M=None, k=0, dtype=None):
    like = prim.zero(prim.dtype(float) if dtype is None else prim.dtype(dtype))
    return diagonal_ones((N, N if M is None else M), k, like)


@overload(np.identity)
def identity(n, dtype=None):
    return eye(n, n, 0, dtype)


@overload(np.reshape)
def reshape(a, shape):
    return prim.reshape(a, shape)


@overload(np.ravel, np.ndarray.ravel)
def ravel(a):
    return prim.reshape(a, (-1,))


@overload(np.ndarray.flatten)
def flatten(a):
    return prim.reshape(prim.copy(a), (-1,))


@overload(np.transpose)
def transpose(a, axes=None):
    return prim.permute(a, axes)


@overload(np.ndarray.T)
@attribute
def T(a):
    if prim.is_array(a):
        return prim.permute(a, None)
    return a


@overload(np.swapaxes, np.ndarray.swapaxes)
def swapaxes(a, axis1, axis2):
    return prim.swap(a, axis1, axis2)


@overload(np.squeeze, np.ndarray.squeeze)
def squeeze(a, axis=None):
    return prim.squeeze(a, axis)


@overload(np.expand_dims)
def expand_dims(a, axis):
    return prim.expand_dims(a, axis)


@overload(np.atleast_1d)
def atleast_1d(a):
    if prim.is_array(a):
        return a[None] if a.ndim == 0 else a
    return prim.array(a, None)[None]


@overload(np.shape)
def shape(a):
    return prim.shape_of(a)


@overload(np.ndim)
def ndim(a):
    return len(prim.shape_of(a))


@overload(np.size)
def size(a, axis=None):
    if axis is not None:
        return prim.shape_of(a)[axis]
    n = 1
    for k in prim.shape_of(a):
        n = n * k
    return n
