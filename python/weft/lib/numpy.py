"""NumPy's functions of one element.

``@elementwise``: the body is about one element; arrays broadcast, and a 0-d result is a scalar.
``@elementwise_array``: the same, but a 0-d result stays an array.
"""

import numpy as np
from weft.lib import prim
from weft.lib.prim import elementwise, elementwise_array, overload


@overload(np.sin)
@elementwise
def sin(x):
    return prim.sin(x)


@overload(np.cos)
@elementwise
def cos(x):
    return prim.cos(x)


@overload(np.exp)
@elementwise
def exp(x):
    return prim.exp(x)


@overload(np.log)
@elementwise
def log(x):
    return prim.log(x)


@overload(np.sqrt)
@elementwise
def sqrt(x):
    return prim.sqrt(x)


@overload(np.absolute, np.abs)
@elementwise
def absolute(x):
    return prim.absolute(x)


@overload(np.minimum)
@elementwise
def minimum(x1, x2):
    return prim.minimum(x1, x2)


@overload(np.maximum)
@elementwise
def maximum(x1, x2):
    return prim.maximum(x1, x2)


@overload(np.where)
@elementwise_array
def where(condition, x, y):
    return prim.select(condition, x, y)
