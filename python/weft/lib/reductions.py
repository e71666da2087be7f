"""Reductions: one number from many, along axes or over all.

The parameters are NumPy's. A reduction computes in `dtype`, else in the dtype where the elements and `out` meet, else
in the one NumPy chooses; elements that `where` leaves out are replaced by what changes nothing.
"""

import numpy as np
from weft.lib import prim
from weft.lib.prim import elementwise, elementwise_array, overload


def as_array(a):
    if prim.is_array(a):
        return a
    return prim.array(a, None)


def as_places(x):
    """Indices of elements, in an array of ints."""
    places = as_array(x)
    if prim.is_kind(prim.dtype_of(places), "fc"):
        # What is empty holds floats in NumPy, which takes it if it is no array.
        if prim.is_array(x) or places.size > 0:
            raise TypeError("Cannot cast array data to dtype('int64') according to the rule 'safe'")
    return prim.as_dtype(places, int)


def axis_of(axis, rank):
    """An axis counted from the front."""
    if axis < -rank or axis >= rank:
        raise np.exceptions.AxisError(f"axis {axis} is out of bounds for array of dimension {rank}")
    return axis + rank if axis < 0 else axis


def no_axis(axis):
    """An axis of an array that has none."""
    if axis is None:
        return None
    if prim.is_tuple(axis):
        if len(axis) == 0:
            return None
        return no_axis(axis[0])
    return axis_of(axis, 0)


def sizes_text(shape):
    if len(shape) == 1:
        return f"{shape[0]}"
    return f"{shape[0]}," + sizes_text(shape[1:])


def shape_text(shape):
    """A shape as NumPy's messages show it."""
    if len(shape) == 0:
        return "()"
    if len(shape) == 1:
        return f"({shape[0]},)"
    return "(" + sizes_text(shape) + ")"


def into(op, result, out, keepdims):
    """The result, or `out` with the result in it."""
    if out is None:
        return result
    if not prim.is_array(out):
        prim.undefined("return arrays must be of ArrayType")
    if out.ndim != len(prim.shape_of(result)):
        raise ValueError(
            "output parameter for reduction operation "
            + op
            + f" has the wrong number of dimensions: Found {out.ndim} but expected {len(prim.shape_of(result))}"
            + (" (must match the operand's when keepdims=True)" if keepdims else "")
        )
    if out.shape != prim.shape_of(result):
        raise ValueError(
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
            + shape_text(out.shape)
            + " "
            + shape_text(prim.shape_of(result))
        )
    out[...] = prim.as_dtype(result, prim.dtype_of(out))
    return out


def wide(kind):
    """The dtype in which NumPy adds integers: at least 64 bits."""
    if prim.is_kind(kind, "bi"):
        return prim.dtype(int)
    if prim.is_kind(kind, "u"):
        return prim.dtype("uint64")
    return kind


def chosen(x, kind, dtype, out):
    """The dtype to compute in, where NumPy's own choice is `kind`."""
    if dtype is not None:
        return prim.dtype(dtype)
    if out is not None and prim.is_array(out):
        return prim.promote_dtypes(prim.dtype_of(x), prim.dtype_of(out))
    return kind


@elementwise_array
def _masked(x, where, other):
    return prim.select(where, x, other)


def masked(x, where, other):
    """The elements, with `other` where the mask is false."""
    if where is True:
        return x
    mask = prim.as_dtype(as_array(where), bool)
    if mask.ndim > x.ndim:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    return _masked(x, prim.broadcast_to(mask, x.shape), prim.as_dtype(other, prim.dtype_of(x)))


def folded(fold, x, axis, keepdims):
    if x.ndim == 0:
        # NumPy's ufuncs take the first or the last of no axes, if it is no tuple.
        if prim.is_tuple(axis) or axis is None or axis != 0 and axis != -1:
            no_axis(axis)
        axis = None
    if prim.is_tuple(axis) and len(axis) == 0:
        return prim.copy(x)
    # Halves are added as singles.
    if prim.same_dtype(prim.dtype_of(x), "float16"):
        return prim.as_dtype(prim.reduce(fold, prim.as_dtype(x, "float32"), axis, keepdims), "float16")
    if prim.same_dtype(prim.dtype_of(x), "bool"):
        if fold == "sum":
            return prim.reduce("any", x, axis, keepdims)
        if fold == "prod":
            return prim.reduce("all", x, axis, keepdims)
    return prim.reduce(fold, x, axis, keepdims)


@elementwise
def _negative_zero(x, negative):
    return prim.select((x == 0) & negative, prim.cast_like(-0.0, x), x)


@overload(np.sum, np.ndarray.sum)
def array_sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    x = as_array(a)
    kind = chosen(x, wide(prim.dtype_of(x)), dtype, out)
    y = masked(prim.as_dtype(x, kind), where, 0)
    result = folded("sum", y, axis, keepdims)
    if initial is not None:
        first = prim.as_dtype(initial, kind)
        result = result + first
        if prim.is_kind(kind, "f") and first == 0:
            # The sum of the elements begins with 0.0, NumPy's with `initial`: of -0.0 alone it is -0.0.
            negative = folded("all", np.signbit(y), axis, keepdims) & np.signbit(first)
            result = _negative_zero(result, negative)
    return into("add", result, out, keepdims)


@overload(np.prod, np.ndarray.prod)
def array_prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    x = as_array(a)
    kind = chosen(x, wide(prim.dtype_of(x)), dtype, out)
    result = folded("prod", masked(prim.as_dtype(x, kind), where, 1), axis, keepdims)
    if initial is not None:
        result = result * prim.as_dtype(initial, kind)
    return into("multiply", result, out, keepdims)


@elementwise_array
def _second(x, y):
    return prim.select(True, y, x)


def only_initial(x, initial, axis, keepdims):
    """What a reduction of nothing is, in the shape that is left."""
    result = folded("sum", x, axis, keepdims)
    if prim.is_array(result):
        return _second(result, initial)
    return initial


def extreme(ufunc, name, fold, a, axis, out, keepdims, initial, where):
    """The least or the greatest: `ufunc` of two is one of them, called so, and `fold` of many."""
    x = as_array(a)
    x = prim.as_dtype(x, chosen(x, prim.dtype_of(x), None, out))
    if initial is None:
        if where is not True:
            raise ValueError(
                f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify "
                "'initial'"
            )
        return into(name, folded(fold, x, axis, keepdims), out, keepdims)
    first = prim.as_dtype(initial, prim.dtype_of(x))
    if prim.count(x, axis if x.ndim > 0 else None) == 0:
        result = only_initial(x, first, axis, keepdims)
    else:
        result = ufunc(folded(fold, masked(x, where, first), axis, keepdims), first)
    return into(name, result, out, keepdims)


@overload(np.min, np.amin, np.ndarray.min)
def array_min(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    return extreme(np.minimum, "minimum", "min", a, axis, out, keepdims, initial, where)


@overload(np.max, np.amax, np.ndarray.max)
def array_max(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    return extreme(np.maximum, "maximum", "max", a, axis, out, keepdims, initial, where)


@overload(np.any, np.ndarray.any)
def array_any(a, axis=None, out=None, keepdims=False, *, where=True):
    x = prim.as_dtype(as_array(a), bool)
    return into("logical_or", folded("any", masked(x, where, False), axis, keepdims), out, keepdims)


@overload(np.all, np.ndarray.all)
def array_all(a, axis=None, out=None, keepdims=False, *, where=True):
    x = prim.as_dtype(as_array(a), bool)
    return into("logical_and", folded("all", masked(x, where, True), axis, keepdims), out, keepdims)


def position(fold, a, axis, keepdims, out):
    x = as_array(a)
    if prim.is_tuple(axis):
        prim.undefined("'tuple' object cannot be interpreted as an integer")
    if axis is not None and x.ndim == 0:
        axis_of(axis, 1)
    # Halves are compared as singles, which keep their order.
    if prim.same_dtype(prim.dtype_of(x), "float16"):
        x = prim.as_dtype(x, "float32")
    if axis is None or x.ndim == 0:
        result = prim.reduce(fold, prim.reshape(x, (-1,)), 0, False)
        if keepdims and x.ndim > 0:
            result = prim.reshape(prim.array(result, None), (1,) * x.ndim)
    else:
        result = prim.reduce(fold, x, axis, keepdims)
    if out is None:
        return result
    if not prim.is_array(out):
        prim.undefined("return arrays must be of ArrayType")
    if prim.is_kind(prim.dtype_of(out), "fc") or prim.same_dtype(prim.dtype_of(out), "uint64"):
        prim.undefined("Cannot cast the array `out` to dtype('int64') according to the rule 'safe'")
    if out.ndim != len(prim.shape_of(result)):
        raise ValueError("output array does not match result of np." + fold + ".")
    if out.shape != prim.shape_of(result):
        raise ValueError("output array does not match result of np." + fold + ".")
    out[...] = prim.as_dtype(result, prim.dtype_of(out))
    return out


@overload(np.argmin, np.ndarray.argmin)
def array_argmin(a, axis=None, out=None, *, keepdims=False):
    return position("argmin", a, axis, keepdims, out)


@overload(np.argmax, np.ndarray.argmax)
def array_argmax(a, axis=None, out=None, *, keepdims=False):
    return position("argmax", a, axis, keepdims, out)


def mean_kind(x, dtype, out):
    """The dtype in which elements are added for a mean."""
    if dtype is not None:
        return prim.dtype(dtype)
    kind = prim.dtype_of(x)
    if prim.is_kind(kind, "biu"):
        return prim.dtype(float)
    if prim.same_dtype(kind, "float16"):
        return prim.dtype("float32")
    return chosen(x, kind, None, out)


def counted(x, axis, keepdims, where):
    """How many elements a reduction takes: a number, or of each place where a mask says so."""
    if where is True:
        if x.ndim == 0:
            no_axis(axis)
            axis = None
        return prim.count(x, axis)
    mask = prim.broadcast_to(prim.as_dtype(as_array(where), bool), x.shape)
    return folded("sum", prim.as_dtype(mask, int), axis, keepdims)


def divided(total, n, kind):
    """A total over a count, in the dtype of the total, whatever that loses. A count is more than a single may hold."""
    if prim.is_kind(kind, "biu"):
        return prim.as_dtype(total / n, kind)
    wide = prim.dtype(complex if prim.is_kind(kind, "c") else float)
    return prim.as_dtype(prim.as_dtype(total, wide) / prim.as_dtype(n, float), kind)


def mean_result(kind, x, dtype):
    """The dtype of a mean that was computed in `kind`."""
    if dtype is None and prim.same_dtype(prim.dtype_of(x), "float16"):
        return prim.dtype("float16")
    return kind


@overload(np.mean, np.ndarray.mean)
def array_mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    x = as_array(a)
    kind = mean_kind(x, dtype, out)
    total = folded("sum", masked(prim.as_dtype(x, kind), where, 0), axis, keepdims)
    if out is not None and prim.is_array(out):
        # The total is in `out` before it is divided.
        kind = prim.dtype_of(out)
        total = prim.as_dtype(total, kind)
    result = divided(total, counted(x, axis, keepdims, where), kind)
    return into("add", prim.as_dtype(result, mean_result(kind, x, dtype)), out, keepdims)


@overload(np.var, np.ndarray.var)
def array_var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    if correction is not None:
        ddof = correction
    x = as_array(a)
    # Halves stay halves here: only a mean is computed of singles.
    kind = prim.dtype_of(x) if dtype is None and prim.is_kind(prim.dtype_of(x), "f") else mean_kind(x, dtype, None)
    y = prim.as_dtype(x, kind)
    if mean is None:
        center = divided(folded("sum", masked(y, where, 0), axis, True), counted(x, axis, True, where), kind)
    else:
        center = prim.as_dtype(mean, kind)
    d = as_array(y - center)
    if prim.is_kind(kind, "c"):
        squares = as_array(d.real * d.real + d.imag * d.imag)
    else:
        squares = as_array(d * d)
    real = prim.real_dtype(kind) if dtype is None else kind
    squares = prim.as_dtype(squares, real)
    total = folded("sum", masked(squares, where, 0), axis, keepdims)
    result = divided(total, np.maximum(counted(x, axis, keepdims, where) - ddof, 0), real)
    return into("add", prim.as_dtype(result, mean_result(real, x, dtype)), out, keepdims)


@overload(np.std, np.ndarray.std)
def array_std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
    variance = array_var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return into("add", prim.as_dtype(np.sqrt(variance), prim.dtype_of(variance)), out, keepdims)


@overload(np.ptp)
def array_ptp(a, axis=None, out=None, keepdims=False):
    result = array_max(a, axis, None, keepdims) - array_min(a, axis, None, keepdims)
    return into("subtract", result, out, keepdims)


@overload(np.count_nonzero)
def count_nonzero(a, axis=None, *, keepdims=False):
    return folded("sum", prim.as_dtype(prim.as_dtype(as_array(a), bool), int), axis, keepdims)


def scanned(product, a, axis, dtype, out):
    """Running sums or products along an axis."""
    x = as_array(a)
    kind = chosen(x, wide(prim.dtype_of(x)), dtype, out)
    if x.ndim == 0:
        x = prim.reshape(x, (1,))
    if axis is None or x.ndim == 1:
        if axis is not None:
            x = prim.swap(x, axis, 0)
        flat = x if x.ndim == 1 else prim.reshape(x, (-1,))
        fold = ("all" if product else "any") if prim.is_kind(kind, "b") else ("prod" if product else "sum")
        result = prim.scan(fold, prim.as_dtype(flat, kind))
    else:
        y = prim.swap(prim.as_dtype(x, kind), axis, 0)
        result = prim.empty(x.shape, kind)
        z = prim.swap(result, axis, 0)
        for i in range(y.shape[0]):
            if i == 0:
                z[i] = y[i]
            elif product:
                z[i] = z[i - 1] * y[i]
            else:
                z[i] = z[i - 1] + y[i]
    return into("accumulate", result, out, False)


@overload(np.cumsum, np.ndarray.cumsum)
def cumsum(a, axis=None, dtype=None, out=None):
    return scanned(False, a, axis, dtype, out)


@overload(np.cumprod, np.ndarray.cumprod)
def cumprod(a, axis=None, dtype=None, out=None):
    return scanned(True, a, axis, dtype, out)


@overload(np.diff)
def diff(a, n=1, axis=-1):
    if prim.kind(n) == "float":
        prim.undefined("'float' object cannot be interpreted as an integer")
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    x = as_array(a)
    if x.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    return differences(x, n, axis)


def differences(x, n, axis):
    d = difference(x, axis)
    if prim.is_known(n):
        return d if n == 1 else differences(d, n - 1, axis)
    for _ in range(1, n):
        d = difference(d, axis)
    return d


def difference(x, axis):
    """Of neighbours along an axis."""
    y = prim.swap(x, axis, 0)
    d = np.not_equal(y[1:], y[:-1]) if prim.kind(x) == "bool" else y[1:] - y[:-1]
    return prim.swap(d, 0, axis)
