"""NumPy's functions that give one of their operands: by size, by a condition, within bounds, in place of a nan."""

import numpy as np
from weft.lib import prim
from weft.lib.prim import elementwise, elementwise_array, overload
from weft.lib.ufuncs import same


@overload(np.minimum)
@elementwise
def minimum(x1, x2):
    return prim.minimum(x1, x2)


@overload(np.maximum)
@elementwise
def maximum(x1, x2):
    return prim.maximum(x1, x2)


@overload(np.fmin)
@elementwise
def fmin(x1, x2):
    x1, x2 = prim.promote(x1, x2)
    return prim.select((x1 <= x2) | (x2 != x2), x1, x2)


@overload(np.fmax)
@elementwise
def fmax(x1, x2):
    x1, x2 = prim.promote(x1, x2)
    return prim.select((x1 >= x2) | (x2 != x2), x1, x2)


@elementwise_array
def _where(condition, x, y):
    return prim.select(condition, x, y)


@overload(np.where)
def where(condition, x=..., y=..., /):
    if prim.is_absent(x) and prim.is_absent(y):
        return np.nonzero(condition)
    if prim.is_absent(x) or prim.is_absent(y):
        raise ValueError("either both or neither of x and y should be given")
    return _where(condition, x, y)


@elementwise
def _clip(a, a_min, a_max):
    a, a_min, a_max = prim.promote(a, a_min, a_max)
    # Of equal zeros the element stays, of which halves take the first operand and other floats the second.
    if prim.kind(a) == "float" and prim.size(a) == 2:
        return prim.minimum(prim.maximum(a, a_min), a_max)
    return prim.minimum(a_max, prim.maximum(a_min, a))


@overload(np.clip)
def clip(a, a_min=..., a_max=..., out=None, *, min=..., max=...):
    if prim.is_absent(a_min) and prim.is_absent(a_max):
        low = None if prim.is_absent(min) else min
        high = None if prim.is_absent(max) else max
        return clipped(a, low, high, out)
    if prim.is_absent(a_min):
        return prim.undefined("clip() missing 1 required positional argument: 'a_min'")
    if prim.is_absent(a_max):
        return prim.undefined("clip() missing 1 required positional argument: 'a_max'")
    return clipped(a, a_min, a_max, out)


@overload(np.ndarray.clip)
def clip_method(a, min=None, max=None, out=None):
    return clipped(a, min, max, out)


def is_bound(a, x):
    """Whether `x` is a Python integer beside an array of integers: beyond those of the dtype it bounds nothing."""
    return (prim.kind(a) == "int" or prim.kind(a) == "uint") and prim.is_python(x) and prim.kind(x) == "int"


def clipped(a, low, high, out):
    if prim.is_python(a):
        # What is clipped is an array in NumPy, so that its dtype counts beside those of the bounds.
        a = prim.as_dtype(a, prim.dtype_of(a))
    bits = 8 * prim.size(a)
    if is_bound(a, low):
        low = prim.greatest(low, 0 if prim.kind(a) == "uint" else -(2 ** (bits - 1)))
    if is_bound(a, high) and bits < 64:
        most = 2 ** (bits - (prim.kind(a) == "int")) - 1
        if low is None or is_bound(a, low) or prim.same_dtype(prim.dtype_of(a), prim.dtype_of(low)):
            result = between(a, low, prim.least(high, most))
        else:
            # Here the lower bound may be above all that the array's dtype has.
            result = between(a, low, None) if high >= most else between(a, low, high)
    else:
        result = between(a, low, high)
    if out is None:
        return result
    return prim.store_result("clip", out, result)


def between(a, low, high):
    if low is None:
        return np.positive(a) if high is None else np.minimum(a, high)
    if high is None:
        return np.maximum(a, low)
    return _clip(a, low, high)


@elementwise
def _without_nan(x, nan, posinf, neginf):
    x = prim.select(x == np.inf, prim.cast_like(posinf, x), prim.select(x == -np.inf, prim.cast_like(neginf, x), x))
    return prim.select(x == x, x, prim.cast_like(nan, x))


@elementwise
def _finite_number(x, nan, posinf, neginf):
    if prim.kind(x) == "complex":
        re = prim.real(x)
        im = prim.imag(x)
        return prim.complex(_finite_number(re, nan, posinf, neginf), _finite_number(im, nan, posinf, neginf))
    return _without_nan(x, nan, posinf, neginf)


@overload(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    if not copy:
        return prim.refuse(
            "np.nan_to_num(copy=False) is not supported yet: assign the result, x[...] = np.nan_to_num(x)"
        )
    if prim.kind(x) != "float" and prim.kind(x) != "complex":
        return same(x)
    high = prim.largest(x) if posinf is None else posinf
    low = -prim.largest(x) if neginf is None else neginf
    return _finite_number(x, nan, high, low)
