"""NumPy's functions of one element, in every dtype NumPy has them in.

The bodies are about one element: arrays broadcast. Python numbers beside NumPy's are weak, as in NumPy; where all are
Python's own, they have become NumPy's before a body is entered. What a body must know of a dtype it asks when
compiling: `prim.kind` and `prim.size`.
"""

import math

import numpy as np
from weft.lib import prim
from weft.lib.prim import elementwise, overload


@overload(np.add)
@elementwise
def add(x1, x2):
    return x1 + x2


@overload(np.subtract)
@elementwise
def subtract(x1, x2):
    return x1 - x2


@overload(np.multiply)
@elementwise
def multiply(x1, x2):
    return x1 * x2


@overload(np.divide, np.true_divide)
@elementwise
def divide(x1, x2):
    return x1 / x2


@overload(np.floor_divide)
@elementwise
def floor_divide(x1, x2):
    return x1 // x2


@overload(np.remainder, np.mod)
@elementwise
def remainder(x1, x2):
    return x1 % x2


@overload(np.power, np.pow)
@elementwise
def power(x1, x2):
    return x1**x2


@overload(np.float_power)
@elementwise
def float_power(x1, x2):
    if prim.kind(x1) == "complex" or prim.kind(x2) == "complex":
        return prim.cast(x1, "complex128") ** prim.cast(x2, "complex128")
    return prim.cast(x1, "float64") ** prim.cast(x2, "float64")


@overload(np.fmod)
@elementwise
def fmod(x1, x2):
    x1, x2 = prim.promote(x1, x2)
    if prim.kind(x1) == "float":
        return prim.fmod(x1, x2)
    r = x1 % x2
    # The sign of the first operand instead of the second's.
    return prim.select((r != 0) & ((x1 < 0) != (x2 < 0)), r - x2, r)


@overload(np.negative)
@elementwise
def negative(x):
    return -x


@overload(np.positive)
@elementwise
def positive(x):
    return +x


@overload(np.fabs)
@elementwise
def fabs(x):
    return prim.absolute(prim.to_float(x))


@overload(np.sign)
@elementwise
def sign(x):
    if prim.kind(x) == "complex":
        re = prim.real(x)
        im = prim.imag(x)
        size = prim.absolute(x)
        finite = prim.complex(re / size, im / size)
        endless = prim.select(prim.absolute(re) == np.inf, prim.copysign(prim.cast_like(1, re), re), 0)
        upward = prim.select(prim.absolute(im) == np.inf, prim.copysign(prim.cast_like(1, im), im), 0)
        both = prim.select((endless != 0) & (upward != 0), prim.cast_like(np.nan, re), 0)
        return prim.select(
            size == 0, 0, prim.select(size == np.inf, prim.complex(endless + both, upward + both), finite)
        )
    if prim.kind(x) == "bool":
        return prim.undefined("np.sign of bool is not defined")
    return prim.select(x > 0, 1, prim.select(x < 0, prim.cast_like(-1, x), prim.select(x == 0, 0, x)))


@overload(np.reciprocal)
@elementwise
def reciprocal(x):
    if prim.kind(x) == "complex":
        re = prim.real(x)
        im = prim.imag(x)
        wide = prim.absolute(im) <= prim.absolute(re)
        ratio = prim.select(wide, im / re, re / im)
        divisor = prim.select(wide, re + im * ratio, re * ratio + im)
        return prim.complex(prim.select(wide, 1, ratio) / divisor, -prim.select(wide, ratio, 1) / divisor)
    if prim.kind(x) == "float":
        return 1 / x
    if prim.kind(x) == "bool":
        x = prim.cast(x, "int8")
    return prim.cast_like(1.0 / prim.cast(x, "float64"), x)


@overload(np.square)
@elementwise
def square(x):
    if prim.kind(x) == "bool":
        x = prim.cast(x, "int8")
    return x * x


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
    if prim.kind(x) == "complex":
        return complex_exp(x)
    return prim.exp(x)


def complex_exp(z):
    """In vectors, and of what is not finite as C's standard has it."""
    re, im = prim.real(z), prim.imag(z)
    # An exponential that is too large by itself is multiplied in two steps.
    most = prim.cast_like(709.0 if prim.size(z) == 16 else 88.0, re)
    large = prim.cast_like(8.218407461554972e307 if prim.size(z) == 16 else 1.6516362549940018e38, re)
    far = (re > most) & (re < np.inf)
    size = prim.exp(prim.select(far, re - most, re))
    first = prim.select(far, large, 1)
    real, imag = prim.cos(im) * first * size, prim.sin(im) * first * size
    open_ended = (prim.absolute(re) == np.inf) & ~(prim.absolute(im) < np.inf)
    return prim.complex(
        prim.select(open_ended, prim.maximum(re, 0), real),
        prim.select(im == 0, im, prim.select(open_ended & (re < 0), prim.copysign(prim.cast_like(0, im), im), imag)),
    )


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
    if prim.kind(x) == "complex" and prim.size(x) == 8:
        # Squares of singles neither overflow nor vanish as doubles.
        re = prim.cast(prim.real(x), "float64")
        im = prim.cast(prim.imag(x), "float64")
        endless = (prim.absolute(re) == np.inf) | (prim.absolute(im) == np.inf)
        return prim.cast(prim.select(endless, np.inf, prim.sqrt(re * re + im * im)), "float32")
    if prim.kind(x) == "complex":
        return modulus(prim.absolute(prim.real(x)), prim.absolute(prim.imag(x)))
    return prim.absolute(x)


def modulus(a, b):
    """The length of a vector of two positive doubles: `hypot` without calls, for loops over vectors."""
    most = prim.select(a > b, a, b)
    # 2**-600 and 2**600: the squares neither overflow nor vanish, and nothing is rounded.
    scale = prim.select(most > 1e150, 2.409919865102884e-181, prim.select(most < 1e-120, 4.149515568880993e180, 1.0))
    back = prim.select(most > 1e150, 4.149515568880993e180, prim.select(most < 1e-120, 2.409919865102884e-181, 1.0))
    x, y = a * scale, b * scale
    return prim.select((a == np.inf) | (b == np.inf), np.inf, prim.sqrt(x * x + y * y) * back)


@overload(np.tan)
@elementwise
def tan(x):
    return prim.tan(x)


@overload(np.arcsin, np.asin)
@elementwise
def arcsin(x):
    return prim.asin(x)


@overload(np.arccos, np.acos)
@elementwise
def arccos(x):
    return prim.acos(x)


@overload(np.arctan, np.atan)
@elementwise
def arctan(x):
    return prim.atan(x)


@overload(np.sinh)
@elementwise
def sinh(x):
    return prim.sinh(x)


@overload(np.cosh)
@elementwise
def cosh(x):
    return prim.cosh(x)


@overload(np.tanh)
@elementwise
def tanh(x):
    return prim.tanh(x)


@overload(np.arcsinh, np.asinh)
@elementwise
def arcsinh(x):
    return prim.asinh(x)


@overload(np.arccosh, np.acosh)
@elementwise
def arccosh(x):
    return prim.acosh(x)


@overload(np.arctanh, np.atanh)
@elementwise
def arctanh(x):
    return prim.atanh(x)


@elementwise
def _scaled(z, factor):
    return prim.complex(prim.real(z) * factor, prim.imag(z) * factor)


@overload(np.exp2)
@elementwise
def exp2(x):
    if prim.kind(x) == "complex":
        return prim.exp(_scaled(x, 0.6931471805599453))
    return prim.exp2(x)


@overload(np.log2)
@elementwise
def log2(x):
    if prim.kind(x) == "complex":
        return _scaled(prim.log(x), 1.4426950408889634)
    return prim.log2(x)


@overload(np.log10)
@elementwise
def log10(x):
    if prim.kind(x) == "complex":
        return _scaled(prim.log(x), 0.4342944819032518)
    return prim.log10(x)


@overload(np.log1p)
@elementwise
def log1p(x):
    if prim.kind(x) == "complex":
        re = prim.real(x) + 1
        im = prim.imag(x)
        return prim.complex(prim.log(prim.absolute(prim.complex(re, im))), prim.atan2(im, re))
    return prim.log1p(x)


@overload(np.expm1)
@elementwise
def expm1(x):
    if prim.kind(x) == "complex":
        re = prim.real(x)
        im = prim.imag(x)
        half = prim.sin(im / 2)
        return prim.complex(prim.expm1(re) * prim.cos(im) - 2 * half * half, prim.exp(re) * prim.sin(im))
    return prim.expm1(x)


@overload(np.cbrt)
@elementwise
def cbrt(x):
    return prim.cbrt(x)


@overload(np.hypot)
@elementwise
def hypot(x1, x2):
    return prim.hypot(x1, x2)


@overload(np.arctan2, np.atan2)
@elementwise
def arctan2(x1, x2):
    return prim.atan2(x1, x2)


@overload(np.copysign)
@elementwise
def copysign(x1, x2):
    return prim.copysign(x1, x2)


@overload(np.deg2rad, np.radians)
@elementwise
def deg2rad(x):
    x = prim.to_float(x)
    return prim.cast_like(prim.wide(x) * (math.pi / 180.0), x)


@overload(np.rad2deg, np.degrees)
@elementwise
def rad2deg(x):
    x = prim.to_float(x)
    if prim.size(x) == 8:
        return x * (180.0 / math.pi)
    # The constant is a quotient of singles.
    return prim.cast_like(prim.wide(x) * 57.295776367, x)


@overload(np.logaddexp)
@elementwise
def logaddexp(x1, x2):
    x1, x2 = prim.promote_float(x1, x2)
    a = prim.wide(x1)
    b = prim.wide(x2)
    d = a - b
    r = prim.select(d > 0, a, b) + prim.log1p(prim.exp(-prim.absolute(d)))
    r = prim.select(d == d, r, d)
    return prim.cast_like(prim.select(a == b, a + 0.6931471805599453, r), x1)


@overload(np.logaddexp2)
@elementwise
def logaddexp2(x1, x2):
    x1, x2 = prim.promote_float(x1, x2)
    a = prim.wide(x1)
    b = prim.wide(x2)
    d = a - b
    r = prim.select(d > 0, a, b) + 1.4426950408889634 * prim.log1p(prim.exp2(-prim.absolute(d)))
    r = prim.select(d == d, r, d)
    return prim.cast_like(prim.select(a == b, a + 1, r), x1)


@overload(np.sinc)
@elementwise
def sinc(x):
    if prim.kind(x) == "complex":
        x = math.pi * x
        y = prim.select(x == 0, 1e-20, x)
        return prim.sin(y) / y
    x = math.pi * x
    if prim.size(x) == 2:
        tiny = 0.0009765625
    elif prim.size(x) == 4:
        tiny = 1.1920928955078125e-07
    else:
        tiny = 2.220446049250313e-16
    y = prim.select(x == 0, tiny, x)
    return prim.sin(y) / y


@overload(np.heaviside)
@elementwise
def heaviside(x1, x2):
    x1, x2 = prim.promote_float(x1, x2)
    return prim.select(x1 == 0, x2, prim.select(x1 < 0, 0, prim.select(x1 > 0, 1, x1)))


@overload(np.divmod)
def divmod(x1, x2):
    return floor_divide(x1, x2), remainder(x1, x2)


@elementwise
def same(x):
    """The elements as they are, in an array of their own."""
    return x


@overload(np.conjugate, np.conj)
@elementwise
def conjugate(x):
    if prim.kind(x) == "complex":
        return prim.conjugate(x)
    if prim.kind(x) == "bool":
        return prim.cast(x, "int8")
    return x


@overload(np.real)
def real(val):
    if prim.list_is(val) or prim.is_tuple(val):
        return prim.array(val, None).real
    return val.real


@overload(np.imag)
def imag(val):
    if prim.list_is(val) or prim.is_tuple(val):
        return prim.array(val, None).imag
    return val.imag


@elementwise
def _angle(z):
    if prim.kind(z) == "complex":
        return prim.atan2(prim.imag(z), prim.real(z))
    if prim.kind(z) == "bool":
        z = prim.cast(z, "float64")
    return prim.atan2(0, z)


@overload(np.angle)
def angle(z, deg=False):
    if deg:
        return _angle(z) * (180 / math.pi)
    return _angle(z)
