"""NumPy's comparisons and logic, of elements and of whole arrays; what is nan, infinite or negative."""

import numpy as np
from weft.lib import prim
from weft.lib.prim import elementwise, overload


@overload(np.equal)
@elementwise
def equal(x1, x2):
    return x1 == x2


@overload(np.not_equal)
@elementwise
def not_equal(x1, x2):
    return x1 != x2


@overload(np.less)
@elementwise
def less(x1, x2):
    return x1 < x2


@overload(np.less_equal)
@elementwise
def less_equal(x1, x2):
    return x1 <= x2


@overload(np.greater)
@elementwise
def greater(x1, x2):
    return x1 > x2


@overload(np.greater_equal)
@elementwise
def greater_equal(x1, x2):
    return x1 >= x2


@overload(np.logical_and)
@elementwise
def logical_and(x1, x2):
    return prim.cast(x1, "bool") & prim.cast(x2, "bool")


@overload(np.logical_or)
@elementwise
def logical_or(x1, x2):
    return prim.cast(x1, "bool") | prim.cast(x2, "bool")


@overload(np.logical_xor)
@elementwise
def logical_xor(x1, x2):
    return prim.cast(x1, "bool") ^ prim.cast(x2, "bool")


@overload(np.logical_not)
@elementwise
def logical_not(x):
    return ~prim.cast(x, "bool")


@overload(np.isnan)
@elementwise
def isnan(x):
    if prim.kind(x) == "float" or prim.kind(x) == "complex":
        return x != x
    return False


@overload(np.isinf)
@elementwise
def isinf(x):
    if prim.kind(x) == "float":
        return prim.absolute(x) == np.inf
    if prim.kind(x) == "complex":
        return (prim.absolute(prim.real(x)) == np.inf) | (prim.absolute(prim.imag(x)) == np.inf)
    return False


@overload(np.isfinite)
@elementwise
def isfinite(x):
    if prim.kind(x) == "float":
        return x - x == 0
    if prim.kind(x) == "complex":
        return (prim.real(x) - prim.real(x) == 0) & (prim.imag(x) - prim.imag(x) == 0)
    return True


@overload(np.isposinf)
@elementwise
def isposinf(x):
    if prim.kind(x) == "float":
        return x == np.inf
    if prim.kind(x) == "complex":
        return prim.undefined("np.isposinf of complex numbers would be ambiguous")
    return False


@overload(np.isneginf)
@elementwise
def isneginf(x):
    if prim.kind(x) == "float":
        return x == -np.inf
    if prim.kind(x) == "complex":
        return prim.undefined("np.isneginf of complex numbers would be ambiguous")
    return False


@overload(np.signbit)
@elementwise
def signbit(x):
    if prim.kind(x) == "float":
        return prim.bits(x) < 0
    if prim.kind(x) == "int":
        return x < 0
    if prim.kind(x) == "complex":
        return prim.undefined("np.signbit of complex numbers is not defined")
    return False


@overload(np.isclose)
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return _is_close(a, b, rtol, atol, equal_nan)


@elementwise
def _is_close(a, b, rtol, atol, equal_nan):
    if prim.kind(b) != "float" and prim.kind(b) != "complex":
        b = prim.cast(b, "float64")
    close = (prim.absolute(a - b) <= atol + rtol * prim.absolute(b)) & (b - b == 0) | (a == b)
    return close | (a != a) & (b != b) & prim.cast(equal_nan, "bool")


@overload(np.allclose)
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@overload(np.array_equal)
def array_equal(a1, a2, equal_nan=False):
    if np.shape(a1) != np.shape(a2):
        return False
    if equal_nan:
        return bool(np.all(equal(a1, a2) | isnan(a1) & isnan(a2)))
    return bool(np.all(equal(a1, a2)))
