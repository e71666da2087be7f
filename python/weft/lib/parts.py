"""Real and imaginary parts, and conjugates: attributes and methods of every number and array."""

import numpy as np
from weft.lib import prim
from weft.lib.prim import attribute, elementwise_array, overload


@overload(np.generic.real, complex.real, float.real, int.real, bool.real)
@attribute
def real(x):
    return prim.real(x)


@overload(np.generic.imag, complex.imag, float.imag, int.imag, bool.imag)
@attribute
def imag(x):
    return prim.imag(x)


@overload(np.generic.conjugate, np.generic.conj, complex.conjugate, float.conjugate, int.conjugate, bool.conjugate)
def conjugate(x):
    return prim.conjugate(x)


@elementwise_array
def _real(x):
    return prim.real(x)


@elementwise_array
def _imag(x):
    return prim.imag(x)


@elementwise_array
def _conjugate(x):
    return prim.conjugate(x)


@overload(np.ndarray.real)
@attribute
def array_real(x):
    if prim.kind(x) == "complex":
        return _real(x)
    return x


@overload(np.ndarray.imag)
@attribute
def array_imag(x):
    if prim.kind(x) == "complex":
        return _imag(x)
    # In NumPy an array of zeros that cannot be written.
    return prim.read_only(_imag(x))


@overload(np.ndarray.conjugate, np.ndarray.conj)
def array_conjugate(x):
    if prim.kind(x) == "complex":
        return _conjugate(x)
    return x
