"""NumPy's dtypes, called like functions."""

import numpy as np
from weft.lib import prim
from weft.lib.prim import elementwise, overload


@overload(np.bool)
@elementwise
def as_bool(x=0):
    return prim.convert(x, "bool")


@overload(np.int8)
@elementwise
def as_int8(x=0):
    return prim.convert(x, "int8")


@overload(np.int16)
@elementwise
def as_int16(x=0):
    return prim.convert(x, "int16")


@overload(np.int32)
@elementwise
def as_int32(x=0):
    return prim.convert(x, "int32")


@overload(np.int64)
@elementwise
def as_int64(x=0):
    return prim.convert(x, "int64")


@overload(np.uint8)
@elementwise
def as_uint8(x=0):
    return prim.convert(x, "uint8")


@overload(np.uint16)
@elementwise
def as_uint16(x=0):
    return prim.convert(x, "uint16")


@overload(np.uint32)
@elementwise
def as_uint32(x=0):
    return prim.convert(x, "uint32")


@overload(np.uint64)
@elementwise
def as_uint64(x=0):
    return prim.convert(x, "uint64")


@overload(np.float16)
@elementwise
def as_float16(x=0):
    return prim.convert(x, "float16")


@overload(np.float32)
@elementwise
def as_float32(x=0):
    return prim.convert(x, "float32")


@overload(np.float64)
@elementwise
def as_float64(x=0):
    return prim.convert(x, "float64")


@overload(np.complex64)
@elementwise
def as_complex64(x=0):
    return prim.convert(x, "complex64")


@overload(np.complex128)
@elementwise
def as_complex128(x=0):
    return prim.convert(x, "complex128")
