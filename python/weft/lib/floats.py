"""NumPy's functions that take floats apart, put them together, or go to the next one: by their bits."""

import numpy as np
from weft.lib import prim
from weft.lib.prim import elementwise, overload


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
    if prim.kind(x2) == "uint" and prim.size(x2) == 8:
        return prim.undefined("np.ldexp takes no uint64 as an exponent: it has no safe cast to int64")
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
