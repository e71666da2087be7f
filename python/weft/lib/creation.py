"""New arrays, and the same elements in another shape or dtype."""

import numpy as np
from weft.lib import prim
from weft.lib.prim import attribute, generate, overload
from weft.lib.reductions import as_array, axis_of


def turned(shape):
    """A shape from its last size to its first."""
    if len(shape) == 0:
        return ()
    return turned(shape[1:]) + (shape[0],)


def as_shape(shape):
    return shape if prim.is_tuple(shape) else (shape,)


def only_here(device, like):
    if device is not None and device != "cpu":
        raise ValueError('Device not understood. Only "cpu" is allowed')
    if like is not None:
        prim.refuse("`like=` is not supported: compiled code knows NumPy's arrays alone", "leave it out")


def check_order(order):
    if order != "C" and order != "F" and order != "A" and order != "K":
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}')")


def order_like(a, order):
    """C or F for a new array beside `a`."""
    check_order(order)
    if order == "A" or order == "K":
        return "F" if prim.is_array(a) and a.ndim > 1 and prim.layout(a) == "F" else "C"
    return order


def fresh(shape, dtype, order):
    """A new array that is not initialised."""
    if order == "F":
        return prim.permute(prim.empty(turned(as_shape(shape)), dtype), None)
    if order != "C":
        raise ValueError("only 'C' or 'F' order is permitted")
    return prim.empty(shape, dtype)


@overload(np.zeros)
def zeros(shape, dtype=None, order="C", *, device=None, like=None):
    only_here(device, like)
    if order == "F":
        return prim.permute(prim.zeros(turned(as_shape(shape)), dtype), None)
    if order != "C":
        raise ValueError("only 'C' or 'F' order is permitted")
    return prim.zeros(shape, dtype)


@overload(np.empty)
def empty(shape, dtype=None, order="C", *, device=None, like=None):
    only_here(device, like)
    return fresh(shape, dtype, order)


@overload(np.ndarray)
def ndarray(shape, dtype=None, buffer=None, offset=0, strides=None, order=None):
    if buffer is not None or strides is not None:
        prim.refuse("np.ndarray over a buffer or with strides is not supported", "take a view of an array instead")
    return fresh(shape, dtype, "C" if order is None else order)


@overload(np.ones)
def ones(shape, dtype=None, order="C", *, device=None, like=None):
    only_here(device, like)
    result = fresh(shape, dtype, order)
    result[...] = 1
    return result


def filled(result, value):
    # NumPy casts all numbers here but Python's integers, which must fit.
    is_int = prim.is_python(value) and (prim.kind(value) == "int" or prim.kind(value) == "bool")
    if prim.kind(value) == "" or prim.is_array(value) or is_int:
        result[...] = value
    else:
        result[...] = prim.as_dtype(value, prim.dtype_of(result))
    return result


@overload(np.full)
def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    only_here(device, like)
    result = fresh(shape, prim.dtype_of(fill_value) if dtype is None else dtype, order)
    return filled(result, fill_value)


def dtype_like(a, dtype):
    if dtype is None:
        return prim.dtype_of(a)
    return prim.dtype(dtype)


def shape_like(a, shape):
    return prim.shape_of(a) if shape is None else shape


@overload(np.zeros_like)
def zeros_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    a = as_array(a)
    return zeros(shape_like(a, shape), dtype_like(a, dtype), order_like(a, order), device=device)


@overload(np.empty_like)
def empty_like(prototype, dtype=None, order="K", subok=True, shape=None, *, device=None):
    prototype = as_array(prototype)
    only_here(device, None)
    return fresh(shape_like(prototype, shape), dtype_like(prototype, dtype), order_like(prototype, order))


@overload(np.ones_like)
def ones_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    a = as_array(a)
    return ones(shape_like(a, shape), dtype_like(a, dtype), order_like(a, order), device=device)


@overload(np.full_like)
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    a = as_array(a)
    only_here(device, None)
    result = fresh(shape_like(a, shape), dtype_like(a, dtype), order_like(a, order))
    return filled(result, fill_value)


def deepened(x, ndmin):
    if x.ndim >= ndmin:
        return x
    return deepened(prim.expand_dims(x, 0), ndmin)


@overload(np.array)
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, ndmax=0, like=None):
    only_here(None, like)
    if prim.is_array(object):
        if copy is not True and (dtype is None or prim.same_dtype(prim.dtype_of(object), dtype)):
            result = object
        elif copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        elif order_like(object, order) == "F" and object.ndim > 1:
            result = fresh(object.shape, dtype_like(object, dtype), "F")
            result[...] = object
        else:
            result = prim.array(object, dtype)
    else:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        result = prim.array(object, dtype)
        if order == "F" and result.ndim > 1:
            return deepened(copied(result, "F"), ndmin)
    return deepened(result, ndmin)


@overload(np.asarray, np.asanyarray)
def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    only_here(device, like)
    if prim.is_array(a) and copy is not True:
        if dtype is None or prim.same_dtype(prim.dtype_of(a), dtype):
            if order is None or order == "K" or order == "A" or a.ndim == 0 or prim.layout(a) == order:
                return a
            if a.ndim == 1 and prim.layout(a) == "C":
                return a
            return copied(a, order)
    return array(a, dtype, order="K" if order is None else order)


@overload(np.ascontiguousarray)
def ascontiguousarray(a, dtype=None, *, like=None):
    only_here(None, like)
    if prim.is_array(a) and (a.ndim == 0 or prim.layout(a) == "C"):
        if dtype is None or prim.same_dtype(prim.dtype_of(a), dtype):
            return atleast_1d(a)
    return atleast_1d(array(a, dtype, order="C"))


@overload(np.asfortranarray)
def asfortranarray(a, dtype=None, *, like=None):
    only_here(None, like)
    if prim.is_array(a) and a.ndim > 1:
        if prim.layout(a) == "F" and (dtype is None or prim.same_dtype(prim.dtype_of(a), dtype)):
            return a
        result = fresh(a.shape, dtype_like(a, dtype), "F")
        result[...] = a
        return result
    return atleast_1d(asarray(a, dtype))


def copied(a, order):
    if order_like(a, order) == "F" and a.ndim > 1:
        result = fresh(a.shape, prim.dtype_of(a), "F")
        result[...] = a
        return result
    return prim.copy(a)


@overload(np.copy)
def copy(a, order="K", subok=False):
    if prim.is_array(a):
        return copied(a, order)
    return prim.array(a, None)


@overload(np.ndarray.copy)
def copy_method(a, order="C"):
    if prim.is_array(a):
        return copied(a, order)
    return a


@overload(np.ndarray.astype)
def astype(a, dtype, order="K", casting="unsafe", subok=True, copy=True):
    if casting != "unsafe":
        prim.refuse("astype(casting=…) is not supported yet", "leave it out: the cast is the plain one")
    if prim.is_array(a):
        return array(a, dtype, order=order) if copy else asarray(a, dtype, order)
    return prim.as_dtype(a, dtype)


@overload(np.ndarray.fill)
def fill(a, value):
    a[...] = value


def truth(a):
    # Of `if a`.
    if a.size == 0:
        raise ValueError(
            "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty."
        )
    if a.size != 1:
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
    return bool(prim.item(a))


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
def arange(start=..., stop=None, step=None, dtype=None):
    if step is None:
        step = 1
    if prim.is_absent(start):
        if stop is None:
            raise TypeError("arange() requires stop to be specified.")
        start = 0
    elif stop is None:
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
        no_step(start, stop, step)
    n = length(start, stop, step)
    like = prim.zero(kind)
    if prim.is_kind(kind, "iu") and prim.is_kind(prim.dtype_of((start, stop, step)), "bui"):
        return counted((n,), prim.as_dtype(start, kind), prim.as_dtype(step, kind), like)
    return stepped((n,), prim.as_dtype(start, kind), prim.as_dtype(start + step, kind))


def no_step(start, stop, step):
    """What a step of zero raises: NumPy divides by it, as Python's numbers or as its own."""
    if prim.is_python(start) and prim.is_python(stop) and prim.is_python(step):
        if prim.is_kind(prim.dtype_of((start, stop, step)), "f"):
            raise ZeroDivisionError("float division by zero")
        raise ZeroDivisionError("division by zero")
    if start == stop:
        raise ValueError("arange: cannot compute length")
    raise ValueError("Maximum allowed size exceeded")


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
    kind = prim.dtype_of(prim.promote(start, stop, 1.0)[0])
    first = prim.as_dtype(start, kind)
    end = prim.as_dtype(stop, kind)
    div = num - 1 if endpoint else num
    last = num - 1 if endpoint and num > 1 else -1
    delta = end - first
    if div > 0:
        step = delta / prim.as_dtype(div, kind)
    else:
        step = prim.as_dtype(np.nan, kind)
    spread = step if div > 0 else delta
    result = spaced((num,), first, end, spread, delta, prim.as_dtype(max(div, 1), kind), last, first)
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
def eye(N, M=None, k=0, dtype=None, order="C", *, device=None, like=None):
    only_here(device, like)
    if not prim.is_kind(prim.dtype_of(k), "bui"):
        return prim.undefined("'float' object cannot be interpreted as an integer")
    one = prim.zero(prim.dtype(float) if dtype is None else prim.dtype(dtype))
    columns = N if M is None else M
    if order == "F":
        return prim.permute(diagonal_ones((columns, N), -k, one), None)
    return diagonal_ones((N, columns), k, one)


@overload(np.identity)
def identity(n, dtype=None):
    return eye(n, n, 0, dtype)


def is_scalar(a):
    """Whether it is a number of NumPy's."""
    return prim.kind(a) != "" and not prim.is_array(a) and not prim.is_python(a)


@overload(np.reshape)
def reshape(a, /, shape, order="C", *, copy=None):
    x = a if prim.is_array(a) else prim.array(a, None)
    if copy:
        x = prim.copy(x)
    if order == "C":
        result = prim.reshape(x, shape)
        # NumPy's own numbers stay numbers.
        return result[()] if result.ndim == 0 and is_scalar(a) else result
    if order == "A":
        return reshape(x, shape, "F" if prim.layout(x) == "F" and x.ndim > 1 else "C")
    if order != "F":
        raise ValueError("order 'K' is not permitted for reshaping")
    # In Fortran's order the first axis runs fastest: that is C's order of everything turned around.
    return prim.permute(prim.reshape(prim.permute(x, None), turned(as_shape(shape))), None)


@overload(np.ravel, np.ndarray.ravel)
def ravel(a, order="C"):
    x = a if prim.is_array(a) else prim.array(a, None)
    if order_like(x, order) == "F":
        return prim.reshape(prim.in_order(prim.permute(x, None)), (-1,))
    return prim.reshape(prim.in_order(x), (-1,))


@overload(np.ndarray.flatten)
def flatten(a, order="C"):
    a = as_array(a)
    if order_like(a, order) == "F":
        return prim.reshape(prim.copy(prim.permute(a, None)), (-1,))
    return prim.reshape(prim.copy(a), (-1,))


@overload(np.transpose)
def transpose(a, axes=None):
    if is_scalar(a) and axes is None:
        return a
    return prim.permute(as_array(a), axes)


@overload(np.ndarray.T)
@attribute
def T(a):
    if prim.is_array(a):
        return prim.permute(a, None)
    return a


@overload(np.swapaxes, np.ndarray.swapaxes)
def swapaxes(a, axis1, axis2):
    return prim.swap(as_array(a), axis1, axis2)


@overload(np.squeeze, np.ndarray.squeeze)
def squeeze(a, axis=None):
    x = as_array(a)
    if x.ndim == 0:
        if prim.is_tuple(axis):
            for k in axis:
                axis_of(k, 0)
        elif axis is not None:
            axis_of(axis, 1)
        return a if is_scalar(a) else x
    return prim.squeeze(x, axis)


@overload(np.expand_dims)
def expand_dims(a, axis):
    return prim.expand_dims(as_array(a), axis)


@overload(np.atleast_1d)
def atleast_1d(a):
    x = as_array(a)
    return x[None] if x.ndim == 0 else x


@overload(np.shape)
def shape(a):
    return prim.shape_of(as_array(a))


@overload(np.ndim)
def ndim(a):
    return len(prim.shape_of(as_array(a)))


@overload(np.size)
def size(a, axis=None):
    sizes = prim.shape_of(as_array(a))
    if axis is not None:
        return sizes[axis_of(axis, len(sizes))]
    n = 1
    for k in sizes:
        n = n * k
    return n
