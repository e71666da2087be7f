"""NumPy's functions of one element, in every dtype NumPy has them in.

The bodies are about one element: arrays broadcast. Python numbers beside NumPy's are weak, as in NumPy; where all are
Python's own, they have become NumPy's before a body is entered. What a body must know of a dtype it asks when
compiling: `prim.kind` and `prim.size`.
"""

import math

import numpy as np
from weft.lib import prim
from weft.lib.prim import elementwise, elementwise_array, overload


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


@overload(np.minimum)
@elementwise
def minimum(x1, x2):
    return prim.minimum(x1, x2)


@overload(np.maximum)
@elementwise
def maximum(x1, x2):
    return prim.maximum(x1, x2)


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


@overload(np.nextafter)
@elementwise
def nextafter(x1, x2):
    x1, x2 = prim.promote_float(x1, x2)
    bits = prim.bits(x1)
    # Floats of one sign are ordered as their bits are.
    beside = prim.from_bits(prim.select((x2 > x1) == (x1 > 0), bits + 1, bits - 1), x1)
    least = prim.copysign(prim.from_bits(prim.cast_like(1, bits), x1), x2)
    r = prim.select(x1 == 0, least, beside)
    r = prim.select(x1 == x2, x2, r)
    return prim.select((x1 == x1) & (x2 == x2), r, x1 + x2)


@overload(np.spacing)
@elementwise
def spacing(x):
    x = prim.to_float(x)
    size = prim.absolute(x)
    bits = prim.bits(size)
    above = prim.from_bits(bits + 1, x) - size
    least = prim.from_bits(prim.cast_like(1, bits), x)
    if prim.size(x) == 2:
        # Of halves it is never negative, and of negative ones it is what is below.
        below = size - prim.from_bits(bits - 1, x)
        r = prim.select(x < 0, below, above)
    else:
        r = prim.copysign(above, x)
    return prim.select(x - x == 0, prim.select(x == 0, least, r), np.nan)


@elementwise
def _power_of_two(n):
    return prim.from_bits((prim.cast(n, "int64") + 1023) << 52, prim.cast(n, "float64"))


@overload(np.ldexp)
@elementwise
def ldexp(x1, x2):
    if prim.kind(x2) == "float" or prim.kind(x2) == "complex":
        return prim.undefined("np.ldexp takes an integer exponent")
    x = prim.to_float(x1)
    n = prim.minimum(prim.maximum(prim.cast(x2, "int64"), -3000), 3000)
    r = prim.cast(x, "float64")
    # In steps that stay in range; going down, only the last one rounds.
    up = prim.minimum(n, 1023)
    r = r * _power_of_two(prim.maximum(up, 0))
    rest = prim.maximum(n - 1023, 0)
    r = r * _power_of_two(prim.minimum(rest, 1023))
    r = r * _power_of_two(prim.minimum(prim.maximum(rest - 1023, 0), 1023))
    down = prim.maximum(-n, 0)
    first = prim.select(down > 1022, 969, 0)
    r = r * _power_of_two(-first)
    down = down - first
    second = prim.select(down > 1022, 969, 0)
    r = r * _power_of_two(-second)
    r = r * _power_of_two(-prim.minimum(down - second, 1022))
    return prim.cast_like(r, x)


@elementwise
def _exponent(x):
    x = prim.cast(prim.to_float(x), "float64")
    small = prim.absolute(x) < 2.2250738585072014e-308
    e = ((prim.bits(prim.select(small, x * 18014398509481984.0, x)) >> 52) & 2047) - prim.select(small, 1076, 1022)
    return prim.cast(prim.select((x == 0) | (x - x != 0), 0, e), "int32")


@elementwise
def _mantissa(x):
    x = prim.to_float(x)
    y = prim.cast(x, "float64")
    small = prim.absolute(y) < 2.2250738585072014e-308
    bits = prim.bits(prim.select(small, y * 18014398509481984.0, y))
    m = prim.from_bits((bits & -9218868437227405313) | 4602678819172646912, y)
    return prim.select((x == 0) | (x - x != 0), x, prim.cast_like(m, x))


@overload(np.frexp)
def frexp(x):
    return _mantissa(x), _exponent(x)


@elementwise
def _whole_part(x):
    return prim.trunc(prim.to_float(x))


@elementwise
def _fraction(x):
    x = prim.to_float(x)
    return prim.copysign(prim.select(prim.absolute(x) == np.inf, 0, x - prim.trunc(x)), x)


@overload(np.modf)
def modf(x):
    return _fraction(x), _whole_part(x)


@overload(np.divmod)
def divmod(x1, x2):
    return floor_divide(x1, x2), remainder(x1, x2)


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


@elementwise
def _same(x):
    return x


@overload(np.round, np.around)
def round(a, decimals=0):
    if prim.kind(a) == "bool":
        return rint(a)
    if prim.kind(a) == "int" or prim.kind(a) == "uint":
        if decimals >= 0:
            return _same(a)
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


@elementwise
def _clip(a, a_min, a_max):
    a, a_min, a_max = prim.promote(a, a_min, a_max)
    return prim.minimum(prim.maximum(a, a_min), a_max)


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
        return _same(a) if high is None else np.minimum(a, high)
    if high is None:
        return np.maximum(a, low)
    return _clip(a, low, high)


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
    return val.real


@overload(np.imag)
def imag(val):
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
        return _same(x)
    high = prim.largest(x) if posinf is None else posinf
    low = -prim.largest(x) if neginf is None else neginf
    return _finite_number(x, nan, high, low)


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
