"""NumPy's functions of integers: their bits, and what divides them."""

import numpy as np
from weft.lib import prim
from weft.lib.prim import elementwise, overload


@overload(np.bitwise_and)
@elementwise
def bitwise_and(x1, x2):
    return x1 & x2


@overload(np.bitwise_or)
@elementwise
def bitwise_or(x1, x2):
    return x1 | x2


@overload(np.bitwise_xor)
@elementwise
def bitwise_xor(x1, x2):
    return x1 ^ x2


@overload(np.left_shift, np.bitwise_left_shift)
@elementwise
def left_shift(x1, x2):
    return x1 << x2


@overload(np.right_shift, np.bitwise_right_shift)
@elementwise
def right_shift(x1, x2):
    return x1 >> x2


@overload(np.invert, np.bitwise_not, np.bitwise_invert)
@elementwise
def invert(x):
    return ~x


@overload(np.gcd)
@elementwise
def gcd(x1, x2):
    x1, x2 = prim.promote(x1, x2)
    if prim.kind(x1) != "int" and prim.kind(x1) != "uint":
        return prim.undefined("np.gcd takes integers")
    a = prim.absolute(x1)
    b = prim.absolute(x2)
    while b != 0:
        a, b = b, a % b
    return prim.absolute(a)


@overload(np.lcm)
@elementwise
def lcm(x1, x2):
    x1, x2 = prim.promote(x1, x2)
    if prim.kind(x1) != "int" and prim.kind(x1) != "uint":
        return prim.undefined("np.lcm takes integers")
    a = prim.absolute(x1)
    b = prim.absolute(x2)
    while b != 0:
        a, b = b, a % b
    # By zero NumPy's division gives 0.
    return prim.absolute(x1) // a * prim.absolute(x2)
