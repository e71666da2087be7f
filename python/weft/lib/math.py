"""The `math` module: values and exceptions as CPython gives them.

Arguments become Python floats, functions are C's own (`prim.libm`): the bits are CPython's. `gamma` and `lgamma`, which
CPython has its own code for, are C's too.
"""

import math

import numpy as np
from weft.lib import prim
from weft.lib.prim import overload


def _domain(x, r):
    """A function that never overflows: nan out of no nan, and inf out of no inf, are outside its domain."""
    if r - r != 0.0 and x - x == 0.0 or r != r and x == x:
        raise ValueError("math domain error")
    return r


def _range(x, r):
    """A function that may overflow."""
    if r - r != 0.0:
        if r != r:
            if x == x:
                raise ValueError("math domain error")
        elif x - x == 0.0:
            raise OverflowError("math range error")
    return r


@overload(math.sin)
def sin(x, /):
    x = float(x)
    return _domain(x, prim.libm("sin", x))


@overload(math.cos)
def cos(x, /):
    x = float(x)
    return _domain(x, prim.libm("cos", x))


@overload(math.tan)
def tan(x, /):
    x = float(x)
    return _domain(x, prim.libm("tan", x))


@overload(math.asin)
def asin(x, /):
    x = float(x)
    return _domain(x, prim.libm("asin", x))


@overload(math.acos)
def acos(x, /):
    x = float(x)
    return _domain(x, prim.libm("acos", x))


@overload(math.atan)
def atan(x, /):
    return prim.libm("atan", float(x))


@overload(math.atan2)
def atan2(y, x, /):
    return prim.libm("atan2", float(y), float(x))


@overload(math.sinh)
def sinh(x, /):
    x = float(x)
    return _range(x, prim.libm("sinh", x))


@overload(math.cosh)
def cosh(x, /):
    x = float(x)
    return _range(x, prim.libm("cosh", x))


@overload(math.tanh)
def tanh(x, /):
    return prim.libm("tanh", float(x))


@overload(math.asinh)
def asinh(x, /):
    return prim.libm("asinh", float(x))


@overload(math.acosh)
def acosh(x, /):
    x = float(x)
    return _domain(x, prim.libm("acosh", x))


@overload(math.atanh)
def atanh(x, /):
    x = float(x)
    return _domain(x, prim.libm("atanh", x))


@overload(math.exp)
def exp(x, /):
    x = float(x)
    return _range(x, prim.libm("exp", x))


@overload(math.exp2)
def exp2(x, /):
    x = float(x)
    return _range(x, prim.libm("exp2", x))


@overload(math.expm1)
def expm1(x, /):
    x = float(x)
    return _range(x, prim.libm("expm1", x))


@overload(math.log1p)
def log1p(x, /):
    x = float(x)
    return _domain(x, prim.libm("log1p", x))


def _ln(x):
    if x <= 0.0:
        raise ValueError("math domain error")
    return prim.libm("log", x)


@overload(math.log)
def log(x, base=None, /):
    if base is None:
        return _ln(float(x))
    top = _ln(float(x))
    return top / _ln(float(base))


@overload(math.log2)
def log2(x, /):
    x = float(x)
    if x <= 0.0:
        raise ValueError("math domain error")
    return prim.libm("log2", x)


@overload(math.log10)
def log10(x, /):
    x = float(x)
    if x <= 0.0:
        raise ValueError("math domain error")
    return prim.libm("log10", x)


@overload(math.sqrt)
def sqrt(x, /):
    x = float(x)
    if x < 0.0:
        raise ValueError("math domain error")
    return prim.libm("sqrt", x)


@overload(math.cbrt)
def cbrt(x, /):
    return prim.libm("cbrt", float(x))


@overload(math.pow)
def pow(x, y, /):
    x = float(x)
    y = float(y)
    r = prim.libm("pow", x, y)
    if r - r != 0.0 and x - x == 0.0 and y - y == 0.0:
        if r != r or x == 0.0:
            raise ValueError("math domain error")
        raise OverflowError("math range error")
    return r


@overload(math.erf)
def erf(x, /):
    return prim.libm("erf", float(x))


@overload(math.erfc)
def erfc(x, /):
    return prim.libm("erfc", float(x))


@overload(math.gamma)
def gamma(x, /):
    x = float(x)
    if x == 0.0 or x < 0.0 and prim.libm("floor", x) == x:
        raise ValueError("math domain error")
    r = prim.libm("tgamma", x)
    if r - r != 0.0 and x - x == 0.0:
        raise OverflowError("math range error")
    return r


@overload(math.lgamma)
def lgamma(x, /):
    x = float(x)
    if x - x != 0.0:
        return abs(x)
    if x <= 0.0 and prim.libm("floor", x) == x:
        raise ValueError("math domain error")
    if x == 1.0 or x == 2.0:
        return 0.0
    r = prim.libm("lgamma", x)
    if r - r != 0.0:
        raise OverflowError("math range error")
    return r


@overload(math.fabs)
def fabs(x, /):
    return abs(float(x))


@overload(math.copysign)
def copysign(x, y, /):
    return prim.libm("copysign", float(x), float(y))


@overload(math.floor)
def floor(x, /):
    if prim.kind(x) == "float":
        return int(prim.libm("floor", float(x)))
    return int(x)


@overload(math.ceil)
def ceil(x, /):
    if prim.kind(x) == "float":
        return int(prim.libm("ceil", float(x)))
    return int(x)


@overload(math.trunc)
def trunc(x, /):
    return int(x)


@overload(math.fmod)
def fmod(x, y, /):
    x = float(x)
    y = float(y)
    if x - x == 0.0 and y - y != 0.0 and y == y:
        return x
    r = prim.libm("fmod", x, y)
    if r != r and x == x and y == y:
        raise ValueError("math domain error")
    return r


@overload(math.remainder)
def remainder(x, y, /):
    x = float(x)
    y = float(y)
    if x - x == 0.0 and y - y != 0.0 and y == y:
        return x
    r = prim.libm("remainder", x, y)
    if r != r and x == x and y == y:
        raise ValueError("math domain error")
    return r


@overload(math.modf)
def modf(x, /):
    x = float(x)
    whole = prim.libm("trunc", x)
    part = 0.0 if x - x != 0.0 and x == x else x - whole
    return prim.libm("copysign", part, x), whole


@overload(math.frexp)
def frexp(x, /):
    x = float(x)
    if x == 0.0 or x - x != 0.0:
        return x, 0
    shift = 0
    if abs(x) < 2.2250738585072014e-308:
        x = x * 18014398509481984.0
        shift = 54
    bits = prim.bits(x)
    exponent = (bits >> 52) & 2047
    return prim.from_bits((bits & ~(2047 << 52)) | (1022 << 52), x), exponent - 1022 - shift


def _scaled(x, n):
    """x * 2**n with one rounding, for a finite x that is not 0 and any n."""
    mantissa, exponent = frexp(x)
    n = exponent + n
    if n > 1024:
        return prim.libm("copysign", math.inf, x)
    if n < -1080:
        return prim.libm("copysign", 0.0, x)
    if n > 0:
        return mantissa * 2.0 * prim.from_bits((n + 1022) << 52, x)
    if n > -1022:
        return mantissa * prim.from_bits((n + 1023) << 52, x)
    # Only the last product rounds.
    return mantissa * prim.from_bits(1 << 52, x) * prim.from_bits((n + 1022 + 1023) << 52, x)


@overload(math.ldexp)
def ldexp(x, i, /):
    x = float(x)
    i = int(i)
    if x == 0.0 or x - x != 0.0:
        return x
    if i > 2147483647:
        raise OverflowError("math range error")
    r = _scaled(x, max(i, -2147483648))
    if r - r != 0.0:
        raise OverflowError("math range error")
    return r


@overload(math.nextafter)
def nextafter(x, y, /):
    x = float(x)
    y = float(y)
    if x != x or y != y:
        return x + y
    if x == y:
        return y
    if x == 0.0:
        return prim.libm("copysign", 5e-324, y)
    # Floats of one sign are ordered as their bits are.
    step = 1 if (y > x) == (x > 0.0) else -1
    return prim.from_bits(prim.bits(x) + step, x)


@overload(math.ulp)
def ulp(x, /):
    x = abs(float(x))
    if x - x != 0.0:
        return x
    if x == 1.7976931348623157e308:
        return 1.99584030953472e292
    return prim.from_bits(prim.bits(x) + 1, x) - x


@overload(math.degrees)
def degrees(x, /):
    return float(x) * (180.0 / math.pi)


@overload(math.radians)
def radians(x, /):
    return float(x) * (math.pi / 180.0)


@overload(math.isnan)
def isnan(x, /):
    x = float(x)
    return x != x


@overload(math.isinf)
def isinf(x, /):
    return abs(float(x)) == math.inf


@overload(math.isfinite)
def isfinite(x, /):
    return abs(float(x)) < math.inf


@overload(math.isclose)
def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    a = float(a)
    b = float(b)
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if a == b:
        return True
    if abs(a) == math.inf or abs(b) == math.inf:
        return False
    difference = abs(b - a)
    return difference <= abs(rel_tol * b) or difference <= abs(rel_tol * a) or difference <= abs_tol


def _norm(values, largest, has_nan):
    """The square root of the sum of squares: scaled by a power of two, summed exactly to twice the precision, and the
    root corrected by what it misses. Any of them may be nan or inf."""
    if largest == math.inf:
        return math.inf
    if has_nan:
        return math.nan
    if largest == 0.0 or len(values) <= 1:
        return largest
    exponent = frexp(largest)[1]
    total = 1.0
    rest1 = 0.0
    rest2 = 0.0
    rest3 = 0.0
    if exponent < -1023:
        for value in values:
            square = float(value) / largest
            square = square * square
            before = total
            total = total + square
            rest1 = rest1 + ((before - total) + square)
        return largest * prim.libm("sqrt", total - 1.0 + rest1)
    scale = prim.from_bits((1023 - exponent) << 52, largest) if exponent < 1023 else _scaled(1.0, -exponent)
    for value in values:
        scaled = float(value) * scale
        high = scaled * 134217729.0
        high = high - (high - scaled)
        low = scaled - high
        square = high * high
        before = total
        total = total + square
        rest1 = rest1 + ((before - total) + square)
        square = 2.0 * high * low
        before = total
        total = total + square
        rest2 = rest2 + ((before - total) + square)
        rest3 = rest3 + low * low
    root = prim.libm("sqrt", total - 1.0 + (rest1 + rest2 + rest3))
    high = root * 134217729.0
    high = high - (high - root)
    low = root - high
    square = -high * high
    before = total
    total = total + square
    rest1 = rest1 + ((before - total) + square)
    square = -2.0 * high * low
    before = total
    total = total + square
    rest2 = rest2 + ((before - total) + square)
    square = -low * low
    before = total
    total = total + square
    rest3 = rest3 + ((before - total) + square)
    missing = total - 1.0 + (rest1 + rest2 + rest3)
    return (root + missing / (2.0 * root)) / scale


@overload(math.hypot)
def hypot(*coordinates):
    largest = 0.0
    has_nan = False
    values = ()
    for c in coordinates:
        c = abs(float(c))
        values = (*values, c)
        has_nan = has_nan or c != c
        largest = max(largest, c)
    return _norm(values, largest, has_nan)


@overload(math.dist)
def dist(p, q, /):
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    largest = 0.0
    has_nan = False
    if prim.is_array(p) or prim.is_array(q):
        values = np.empty(len(p))
        for i in range(len(p)):
            d = abs(float(p[i]) - float(q[i]))
            values[i] = d
            has_nan = has_nan or d != d
            largest = max(largest, d)
        return _norm(values, largest, has_nan)
    parts = ()
    for a, b in zip(p, q):
        d = abs(float(a) - float(b))
        parts = (*parts, d)
        has_nan = has_nan or d != d
        largest = max(largest, d)
    return _norm(parts, largest, has_nan)


@overload(math.fsum)
def fsum(seq, /):
    # Numbers without overlap whose sum is what was added so far, smallest first.
    partials = np.empty(64)
    n = 0
    special = 0.0
    infinite = 0.0
    for item in seq:
        x = float(item)
        start = x
        i = 0
        for j in range(n):
            y = float(partials[j])
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)
            if low != 0.0:
                partials[i] = low
                i += 1
            x = high
        n = i
        if x != 0.0:
            if x - x != 0.0:
                if start - start == 0.0:
                    raise OverflowError("intermediate overflow in fsum")
                if abs(start) == math.inf:
                    infinite = infinite + start
                special = special + start
                n = 0
            else:
                partials[n] = x
                n += 1
    if special != 0.0:
        if infinite != infinite:
            raise ValueError("-inf + inf in fsum")
        return special
    if n == 0:
        return 0.0
    n -= 1
    total = float(partials[n])
    low = 0.0
    while n > 0:
        n -= 1
        x = total
        y = float(partials[n])
        total = x + y
        low = y - (total - x)
        if low != 0.0:
            break
    # What is left decides a tie.
    if n > 0 and (low < 0.0 and float(partials[n - 1]) < 0.0 or low > 0.0 and float(partials[n - 1]) > 0.0):
        y = low * 2.0
        x = total + y
        if y == x - total:
            total = x
    return total


@overload(math.prod)
def prod(iterable, /, *, start=1):
    total = start
    for item in iterable:
        total = total * item
    return total


def _divisor(a, b):
    # Of either sign: what goes into -2**63 has 64 bits, its absolute value has not.
    while b != 0:
        a, b = b, a % b
    return a


def _gcd(a, b):
    return abs(_divisor(a, b))


@overload(math.gcd)
def gcd(*integers):
    r = 0
    for i in integers:
        r = _divisor(r, int(i))
    return abs(r)


@overload(math.lcm)
def lcm(*integers):
    r = 1
    for i in integers:
        i = int(i)
        r = 0 if r == 0 or i == 0 else abs(r // _gcd(r, i) * i)
    return r


@overload(math.factorial)
def factorial(n, /):
    n = int(n)
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    r = 1
    for i in range(2, n + 1):
        r = r * i
    return r


@overload(math.comb)
def comb(n, k, /):
    n = int(n)
    k = int(k)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    if k > n:
        return 0
    k = min(k, n - k)
    r = 1
    for i in range(k):
        # Divided before it is multiplied: nothing on the way is larger than the result.
        common = _gcd(r, i + 1)
        r = r // common * ((n - i) // ((i + 1) // common))
    return r


@overload(math.perm)
def perm(n, k=None, /):
    n = int(n)
    if k is None:
        return factorial(n)
    k = int(k)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    if k > n:
        return 0
    r = 1
    for i in range(k):
        r = r * (n - i)
    return r


@overload(math.isqrt)
def isqrt(n, /):
    n = int(n)
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    r = min(int(prim.libm("sqrt", float(n))), 3037000499)
    if r * r > n:
        r -= 1
    elif r < 3037000499 and (r + 1) * (r + 1) <= n:
        r += 1
    return r
