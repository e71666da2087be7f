"""Bodies of the tensor functions that NumPy has no function of one element for.

``@generate``: the body is about one element of a new array, whose shape is the first parameter.
``like`` is a zero of the result's dtype.
"""

from weft.lib import prim
from weft.lib.prim import elementwise, generate


@elementwise
def cast(x, like):
    return prim.cast_like(x, like)


@generate
def full(shape, fill_value, like):
    return prim.cast_like(fill_value, like)


@generate
def arange(shape, first, second, like):
    # NumPy computes the first two elements and goes on in steps of their difference.
    i = prim.position(0)
    a = prim.cast_like(first, like)
    b = prim.cast_like(second, like)
    return prim.select(i == 1, b, a + prim.cast_like(i, like) * (b - a))


@generate
def linspace(shape, start, stop, step, delta, div, last, like):
    # A step that underflows to zero is applied in two parts, as NumPy does.
    i = prim.position(0)
    x = prim.cast_like(i, start)
    offset = prim.select(step == 0.0, x / div * delta, x * step)
    return prim.cast_like(prim.select(i == last, stop, offset + start), like)
