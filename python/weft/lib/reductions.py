"""Reductions: one number from many, along axes or over all."""

import numpy as np
from weft.lib import prim
from weft.lib.prim import overload


def as_array(a):
    if prim.is_array(a):
        return a
    return prim.array(a, None)


def no_out(out):
    if out is not None:
        prim.refuse("`out=` of a reduction is not supported yet: assign the result, out[...] = np.sum(…)")


def wide(kind):
    """The dtype in which NumPy adds integers: at least 64 bits."""
    if prim.is_kind(kind, "bi"):
        return prim.dtype(int)
    if prim.is_kind(kind, "u"):
        return prim.dtype("uint64")
    return kind


def folded(fold, a, kind, axis, keepdims):
    # Halves are added as singles.
    if prim.same_dtype(kind, "float16"):
        return prim.as_dtype(prim.reduce(fold, prim.as_dtype(a, "float32"), axis, keepdims), kind)
    return prim.reduce(fold, prim.as_dtype(a, kind), axis, keepdims)


@overload(np.sum, np.ndarray.sum)
def array_sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None):
    no_out(out)
    x = as_array(a)
    kind = wide(prim.dtype_of(x)) if dtype is None else prim.dtype(dtype)
    result = folded("sum", x, kind, axis, keepdims)
    if initial is not None:
        return result + initial
    return result


@overload(np.prod, np.ndarray.prod)
def array_prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None):
    no_out(out)
    x = as_array(a)
    kind = wide(prim.dtype_of(x)) if dtype is None else prim.dtype(dtype)
    result = folded("prod", x, kind, axis, keepdims)
    if initial is not None:
        return result * initial
    return result


@overload(np.min, np.amin, np.ndarray.min)
def array_min(a, axis=None, out=None, keepdims=False, initial=None):
    no_out(out)
    x = as_array(a)
    if initial is not None:
        if prim.count(x, axis) == 0:
            return folded("sum", x, prim.dtype_of(x), axis, keepdims) + initial
        return np.minimum(folded("min", x, prim.dtype_of(x), axis, keepdims), initial)
    return folded("min", x, prim.dtype_of(x), axis, keepdims)


@overload(np.max, np.amax, np.ndarray.max)
def array_max(a, axis=None, out=None, keepdims=False, initial=None):
    no_out(out)
    x = as_array(a)
    if initial is not None:
        if prim.count(x, axis) == 0:
            return folded("sum", x, prim.dtype_of(x), axis, keepdims) + initial
        return np.maximum(folded("max", x, prim.dtype_of(x), axis, keepdims), initial)
    return folded("max", x, prim.dtype_of(x), axis, keepdims)


@overload(np.any, np.ndarray.any)
def array_any(a, axis=None, out=None, keepdims=False):
    no_out(out)
    return prim.reduce("any", prim.as_dtype(as_array(a), bool), axis, keepdims)


@overload(np.all, np.ndarray.all)
def array_all(a, axis=None, out=None, keepdims=False):
    no_out(out)
    return prim.reduce("all", prim.as_dtype(as_array(a), bool), axis, keepdims)


def position(fold, a, axis, keepdims):
    x = as_array(a)
    # Halves are compared as singles, which keep their order.
    if prim.same_dtype(prim.dtype_of(x), "float16"):
        x = prim.as_dtype(x, "float32")
    if axis is None:
        return prim.reduce(fold, prim.reshape(x, (-1,)), 0, False)
    return prim.reduce(fold, x, axis, keepdims)


@overload(np.argmin, np.ndarray.argmin)
def array_argmin(a, axis=None, out=None, keepdims=False):
    no_out(out)
    return position("argmin", a, axis, keepdims)


@overload(np.argmax, np.ndarray.argmax)
def array_argmax(a, axis=None, out=None, keepdims=False):
    no_out(out)
    return position("argmax", a, axis, keepdims)


def mean_kind(kind):
    if prim.is_kind(kind, "biu"):
        return prim.dtype(float)
    return kind


@overload(np.mean, np.ndarray.mean)
def array_mean(a, axis=None, dtype=None, out=None, keepdims=False):
    no_out(out)
    x = as_array(a)
    kind = mean_kind(prim.dtype_of(x)) if dtype is None else prim.dtype(dtype)
    if prim.same_dtype(kind, "float16"):
        total = prim.reduce("sum", prim.as_dtype(x, "float32"), axis, keepdims)
        return prim.as_dtype(total / prim.count(x, axis), kind)
    return folded("sum", x, kind, axis, keepdims) / prim.as_dtype(prim.count(x, axis), prim.real_dtype(kind))


@overload(np.var, np.ndarray.var)
def array_var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    no_out(out)
    x = as_array(a)
    kind = mean_kind(prim.dtype_of(x)) if dtype is None else prim.dtype(dtype)
    y = prim.as_dtype(x, kind)
    n = prim.count(x, axis)
    center = prim.reduce("sum", y, axis, True) / prim.as_dtype(n, prim.real_dtype(kind))
    d = y - center
    if prim.is_kind(kind, "c"):
        squares = d.real * d.real + d.imag * d.imag
    else:
        squares = d * d
    total = prim.reduce("sum", squares, axis, keepdims)
    return total / prim.as_dtype(max(n - ddof, 0), prim.real_dtype(kind))


@overload(np.std, np.ndarray.std)
def array_std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    no_out(out)
    return np.sqrt(array_var(a, axis, dtype, None, ddof, keepdims))


@overload(np.ptp)
def array_ptp(a, axis=None, out=None, keepdims=False):
    no_out(out)
    return array_max(a, axis, None, keepdims) - array_min(a, axis, None, keepdims)


@overload(np.count_nonzero)
def count_nonzero(a, axis=None, keepdims=False):
    found = prim.as_dtype(prim.as_dtype(as_array(a), bool), int)
    result = prim.reduce("sum", found, axis, keepdims)
    return result


@overload(np.cumsum, np.ndarray.cumsum)
def cumsum(a, axis=None, dtype=None):
    x = as_array(a)
    kind = wide(prim.dtype_of(x)) if dtype is None else prim.dtype(dtype)
    if axis is None:
        flat = prim.reshape(x, (-1,))
        result = prim.empty(flat.shape, kind)
        total = prim.zero(kind)
        for i in range(flat.shape[0]):
            total = total + prim.as_dtype(flat[i], kind)
            result[i] = total
        return result
    y = prim.swap(prim.as_dtype(x, kind), axis, 0)
    result = prim.empty(x.shape, kind)
    z = prim.swap(result, axis, 0)
    for i in range(y.shape[0]):
        if i == 0:
            z[i] = y[i]
        else:
            z[i] = z[i - 1] + y[i]
    return result


@overload(np.cumprod, np.ndarray.cumprod)
def cumprod(a, axis=None, dtype=None):
    x = as_array(a)
    kind = wide(prim.dtype_of(x)) if dtype is None else prim.dtype(dtype)
    if axis is None:
        flat = prim.reshape(x, (-1,))
        result = prim.empty(flat.shape, kind)
        total = prim.as_dtype(1, kind)
        for i in range(flat.shape[0]):
            total = total * prim.as_dtype(flat[i], kind)
            result[i] = total
        return result
    y = prim.swap(prim.as_dtype(x, kind), axis, 0)
    result = prim.empty(x.shape, kind)
    z = prim.swap(result, axis, 0)
    for i in range(y.shape[0]):
        if i == 0:
            z[i] = y[i]
        else:
            z[i] = z[i - 1] * y[i]
    return result


@overload(np.diff)
def diff(a, n=1):
    if n == 0:
        return a
    d = a[..., 1:] - a[..., :-1]
    if n == 1:
        return d
    return diff(d, n - 1)


@overload(np.dot, np.ndarray.dot)
def dot(a, b):
    x = as_array(a)
    y = as_array(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return matmul(x, y)


@overload(np.matmul)
def matmul(a, b):
    kind = prim.promote_dtypes(prim.dtype_of(a), prim.dtype_of(b))
    x = prim.as_dtype(a, kind)
    y = prim.as_dtype(b, kind)
    if x.ndim == 1 and y.ndim == 1:
        if x.shape[0] != y.shape[0]:
            raise ValueError(
                "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
                "(n?,k),(k,m?)->(n?,m?)"
            )
        return prim.reduce("sum", x * y, 0, False)
    if x.ndim == 1:
        return matmul(prim.permute(y, None), x)
    if x.shape[1] != y.shape[0]:
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            "(n?,k),(k,m?)->(n?,m?)"
        )
    if y.ndim == 1:
        result = prim.empty((x.shape[0],), kind)
        for i in range(x.shape[0]):
            result[i] = prim.reduce("sum", x[i] * y, 0, False)
        return result
    product = prim.zeros((x.shape[0], y.shape[1]), kind)
    for i in range(x.shape[0]):
        into = product[i]
        row = x[i]
        for k in range(x.shape[1]):
            factor = row[k]
            other = y[k]
            for j in range(y.shape[1]):
                into[j] += factor * other[j]
    return product
