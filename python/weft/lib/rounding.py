"""NumPy's functions that round, to whole numbers or to decimals."""

import numpy as np
from weft.lib import prim
from weft.lib.prim import elementwise, overload
from weft.lib.ufuncs import same


@overload(np.floor)
@elementwise
def floor(x):
    if prim.kind(x) == "float":
        return prim.floor(x)
    if prim.kind(x) == "complex":
        return prim.undefined("np.floor of complex numbers is not defined")
    return x


@overload(np.ceil)
@elementwise
def ceil(x):
    if prim.kind(x) == "float":
        return prim.ceil(x)
    if prim.kind(x) == "complex":
        return prim.undefined("np.ceil of complex numbers is not defined")
    return x


@overload(np.trunc, np.fix)
@elementwise
def trunc(x):
    if prim.kind(x) == "float":
        return prim.trunc(x)
    if prim.kind(x) == "complex":
        return prim.undefined("np.trunc of complex numbers is not defined")
    return x


@overload(np.rint)
@elementwise
def rint(x):
    if prim.kind(x) == "complex":
        return prim.complex(prim.rint(prim.real(x)), prim.rint(prim.imag(x)))
    return prim.rint(x)


def _ten_to(n):
    r = 1.0
    for _ in range(n):
        r = r * 10.0
    return r


@elementwise
def _rounded_up(x, f):
    return prim.rint(x * f) / f


@elementwise
def _rounded_down(x, f):
    return prim.rint(x / f) * f


@elementwise
def _rounded_int(x, f):
    return prim.cast_like(prim.rint(x / f) * f, x)


@overload(np.round, np.around, np.ndarray.round)
def round(a, decimals=0):
    if prim.list_is(a) or prim.is_tuple(a):
        return round(prim.array(a, None), decimals)
    if prim.kind(a) == "bool":
        if decimals != 0:
            raise TypeError(
                "Cannot cast ufunc 'multiply' output from dtype('float64') to dtype('bool') with casting rule "
                "'same_kind'"
            )
        return rint(a)
    if prim.kind(a) == "int" or prim.kind(a) == "uint":
        if decimals >= 0:
            return same(a)
        return _rounded_int(a, _ten_to(-decimals))
    if decimals == 0:
        return rint(a)
    if prim.kind(a) == "complex":
        return _complex(round(a.real, decimals), round(a.imag, decimals))
    if decimals > 0:
        return _rounded_up(a, _ten_to(decimals))
    return _rounded_down(a, _ten_to(-decimals))


@elementwise
def _complex(re, im):
    return prim.complex(re, im)
