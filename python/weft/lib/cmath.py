"""The `cmath` module: values and exceptions as CPython gives them.

Finite arguments go through real functions, by CPython's formulas. Where a part is inf or nan the values are those of
C99, which C's functions of complex numbers give.
"""

import cmath
import math

from weft.lib import prim
from weft.lib.prim import overload


def _parts(z):
    z = prim.to_complex(z)
    return prim.real(z), prim.imag(z)


def _finite(x, y):
    return x - x == 0.0 and y - y == 0.0


def _domain():
    raise ValueError("math domain error")


def _in_range(x, y):
    """The result of finite arguments."""
    if not _finite(x, y):
        raise OverflowError("math range error")
    return prim.complex(x, y)


def _quarter_turn_back(z):
    """-i z."""
    return prim.complex(prim.imag(z), -prim.real(z))


@overload(cmath.isnan)
def isnan(z, /):
    x, y = _parts(z)
    return x != x or y != y


@overload(cmath.isinf)
def isinf(z, /):
    x, y = _parts(z)
    return abs(x) == math.inf or abs(y) == math.inf


@overload(cmath.isfinite)
def isfinite(z, /):
    x, y = _parts(z)
    return _finite(x, y)


@overload(cmath.phase)
def phase(z, /):
    x, y = _parts(z)
    return prim.libm("atan2", y, x)


def _modulus(x, y):
    r = prim.libm("hypot", x, y)
    if r == math.inf and _finite(x, y):
        raise OverflowError("absolute value too large")
    return r


@overload(cmath.polar)
def polar(z, /):
    x, y = _parts(z)
    r = prim.libm("hypot", x, y)
    if r == math.inf and _finite(x, y):
        raise OverflowError("math range error")
    return r, prim.libm("atan2", y, x)


@overload(cmath.rect)
def rect(r, phi, /):
    r = float(r)
    phi = float(phi)
    if not _finite(r, phi):
        if abs(phi) == math.inf and r == r and r != 0.0:
            _domain()
        if abs(r) == math.inf and phi - phi == 0.0 and phi != 0.0:
            if r < 0.0:
                return prim.complex(
                    -prim.libm("copysign", math.inf, prim.libm("cos", phi)),
                    -prim.libm("copysign", math.inf, prim.libm("sin", phi)),
                )
            return prim.complex(
                prim.libm("copysign", math.inf, prim.libm("cos", phi)),
                prim.libm("copysign", math.inf, prim.libm("sin", phi)),
            )
        if phi == 0.0:
            # Of an infinite size the angle's sign counts, of none nothing does.
            return prim.complex(r, prim.libm("copysign", 0.0, r) * phi if r == r else 0.0)
        if r == 0.0:
            return prim.complex(0.0, 0.0)
        if abs(r) == math.inf:
            return prim.complex(math.inf, math.nan)
        return prim.complex(math.nan, math.nan)
    if phi == 0.0:
        return prim.complex(r, r * phi)
    return prim.complex(r * prim.libm("cos", phi), r * prim.libm("sin", phi))


@overload(cmath.isclose)
def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    ax, ay = _parts(a)
    bx, by = _parts(b)
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if ax == bx and ay == by:
        return True
    if abs(ax) == math.inf or abs(ay) == math.inf or abs(bx) == math.inf or abs(by) == math.inf:
        return False
    difference = _modulus(ax - bx, ay - by)
    return difference <= rel_tol * _modulus(bx, by) or difference <= rel_tol * _modulus(ax, ay) or difference <= abs_tol


@overload(cmath.exp)
def exp(z, /):
    x, y = _parts(z)
    if not _finite(x, y):
        if abs(y) == math.inf and (x - x == 0.0 or x == math.inf):
            _domain()
        if x == -math.inf and y - y != 0.0:
            return prim.complex(0.0, 0.0)
        return prim.libm("exp", prim.complex(x, y))
    if x > 708.3964185322641:
        size = prim.libm("exp", x - 1.0)
        return _in_range(size * prim.libm("cos", y) * math.e, size * prim.libm("sin", y) * math.e)
    size = prim.libm("exp", x)
    return _in_range(size * prim.libm("cos", y), size * prim.libm("sin", y))


def _ln(x, y):
    if not _finite(x, y):
        return prim.libm("log", prim.complex(x, y))
    a = abs(x)
    b = abs(y)
    angle = prim.libm("atan2", y, x)
    if a > 4.49423283715579e307 or b > 4.49423283715579e307:
        return prim.complex(prim.libm("log", prim.libm("hypot", a / 2.0, b / 2.0)) + 0.6931471805599453, angle)
    if a < 2.2250738585072014e-308 and b < 2.2250738585072014e-308:
        if a == 0.0 and b == 0.0:
            return prim.complex(-math.inf, angle)
        size = prim.libm("hypot", a * 9007199254740992.0, b * 9007199254740992.0)
        return prim.complex(prim.libm("log", size) - 53.0 * 0.6931471805599453, angle)
    size = prim.libm("hypot", a, b)
    if size >= 0.71 and size <= 1.73:
        high = a if a > b else b
        low = b if a > b else a
        return prim.complex(prim.libm("log1p", (high - 1.0) * (high + 1.0) + low * low) / 2.0, angle)
    return prim.complex(prim.libm("log", size), angle)


@overload(cmath.log)
def log(z, base=None, /):
    x, y = _parts(z)
    if base is None:
        if x == 0.0 and y == 0.0:
            _domain()
        return _ln(x, y)
    # Of 0 to a base there is a value.
    top = _ln(x, y)
    x, y = _parts(base)
    if x == 0.0 and y == 0.0 or x == 1.0 and y == 0.0:
        _domain()
    return top / _ln(x, y)


@overload(cmath.log10)
def log10(z, /):
    x, y = _parts(z)
    if x == 0.0 and y == 0.0:
        _domain()
    r = _ln(x, y)
    return prim.complex(prim.real(r) / 2.302585092994046, prim.imag(r) / 2.302585092994046)


def _root(x, y):
    if not _finite(x, y):
        return prim.libm("sqrt", prim.complex(x, y))
    if x == 0.0 and y == 0.0:
        return prim.complex(0.0, y)
    a = abs(x)
    b = abs(y)
    if a < 2.2250738585072014e-308 and b < 2.2250738585072014e-308:
        a = a * 9007199254740992.0
        s = prim.libm("sqrt", a + prim.libm("hypot", a, b * 9007199254740992.0)) * 7.450580596923828e-09
    else:
        a = a / 8.0
        s = 2.0 * prim.libm("sqrt", a + prim.libm("hypot", a, b / 8.0))
    d = b / (2.0 * s)
    if x >= 0.0:
        return prim.complex(s, prim.libm("copysign", d, y))
    return prim.complex(d, prim.libm("copysign", s, y))


@overload(cmath.sqrt)
def sqrt(z, /):
    x, y = _parts(z)
    return _root(x, y)


def _cosh(x, y):
    if not _finite(x, y):
        if abs(y) == math.inf and x == x:
            _domain()
        if x != x and y == 0.0:
            return prim.complex(x, 0.0)
        return prim.libm("cosh", prim.complex(x, y))
    if abs(x) > 708.3964185322641:
        less = x - prim.libm("copysign", 1.0, x)
        return _in_range(
            prim.libm("cos", y) * prim.libm("cosh", less) * math.e,
            prim.libm("sin", y) * prim.libm("sinh", less) * math.e,
        )
    return _in_range(prim.libm("cos", y) * prim.libm("cosh", x), prim.libm("sin", y) * prim.libm("sinh", x))


def _sinh(x, y):
    if not _finite(x, y):
        if abs(y) == math.inf and x == x:
            _domain()
        if x == 0.0:
            return prim.complex(0.0, y)
        return prim.libm("sinh", prim.complex(x, y))
    if abs(x) > 708.3964185322641:
        less = x - prim.libm("copysign", 1.0, x)
        return _in_range(
            prim.libm("cos", y) * prim.libm("sinh", less) * math.e,
            prim.libm("sin", y) * prim.libm("cosh", less) * math.e,
        )
    return _in_range(prim.libm("cos", y) * prim.libm("sinh", x), prim.libm("sin", y) * prim.libm("cosh", x))


def _tanh(x, y):
    if not _finite(x, y):
        if abs(y) == math.inf and x - x == 0.0:
            _domain()
        if x == 0.0:
            return prim.complex(y, y)
        if abs(y) == math.inf and abs(x) == math.inf:
            return prim.complex(prim.libm("copysign", 1.0, x), 0.0)
        return prim.libm("tanh", prim.complex(x, y))
    if abs(x) > 708.3964185322641:
        im = 4.0 * prim.libm("sin", y) * prim.libm("cos", y) * prim.libm("exp", -2.0 * abs(x))
        return prim.complex(prim.libm("copysign", 1.0, x), im)
    tx = prim.libm("tanh", x)
    ty = prim.libm("tan", y)
    cx = 1.0 / prim.libm("cosh", x)
    both = tx * ty
    divisor = 1.0 + both * both
    return prim.complex(tx * (1.0 + ty * ty) / divisor, ((ty / divisor) * cx) * cx)


@overload(cmath.cosh)
def cosh(z, /):
    x, y = _parts(z)
    return _cosh(x, y)


@overload(cmath.sinh)
def sinh(z, /):
    x, y = _parts(z)
    return _sinh(x, y)


@overload(cmath.tanh)
def tanh(z, /):
    x, y = _parts(z)
    return _tanh(x, y)


@overload(cmath.cos)
def cos(z, /):
    x, y = _parts(z)
    return _cosh(-y, x)


@overload(cmath.sin)
def sin(z, /):
    x, y = _parts(z)
    return _quarter_turn_back(_sinh(-y, x))


@overload(cmath.tan)
def tan(z, /):
    x, y = _parts(z)
    return _quarter_turn_back(_tanh(-y, x))


def _large(x, y):
    return abs(x) > 4.49423283715579e307 or abs(y) > 4.49423283715579e307


def _log_of_double(x, y):
    """log(2 |z|) of a large z."""
    return prim.libm("log", prim.libm("hypot", x / 2.0, y / 2.0)) + 0.6931471805599453 * 2.0


@overload(cmath.acos)
def acos(z, /):
    x, y = _parts(z)
    if not _finite(x, y):
        if abs(x) == math.inf and y != y:
            return prim.complex(y, math.inf)
        return prim.libm("acos", prim.complex(x, y))
    if _large(x, y):
        im = _log_of_double(x, y)
        im = -prim.libm("copysign", im, y) if x < 0.0 else prim.libm("copysign", im, -y)
        return prim.complex(prim.libm("atan2", abs(y), x), im)
    s = _root(1.0 - x, -y)
    t = _root(1.0 + x, y)
    im = prim.libm("asinh", prim.real(t) * prim.imag(s) - prim.imag(t) * prim.real(s))
    return prim.complex(2.0 * prim.libm("atan2", prim.real(s), prim.real(t)), im)


@overload(cmath.acosh)
def acosh(z, /):
    x, y = _parts(z)
    if not _finite(x, y):
        if x == 0.0 and y != y:
            return prim.complex(y, y)
        return prim.libm("acosh", prim.complex(x, y))
    if _large(x, y):
        return prim.complex(_log_of_double(x, y), prim.libm("atan2", y, x))
    s = _root(x - 1.0, y)
    t = _root(x + 1.0, y)
    re = prim.libm("asinh", prim.real(s) * prim.real(t) + prim.imag(s) * prim.imag(t))
    return prim.complex(re, 2.0 * prim.libm("atan2", prim.imag(s), prim.real(t)))


def _asinh(x, y):
    if not _finite(x, y):
        if x != x and abs(y) == math.inf:
            return prim.complex(math.inf, x)
        return prim.libm("asinh", prim.complex(x, y))
    if _large(x, y):
        re = _log_of_double(x, y)
        re = prim.libm("copysign", re, x) if y >= 0.0 else -prim.libm("copysign", re, -x)
        return prim.complex(re, prim.libm("atan2", y, abs(x)))
    s = _root(1.0 + y, -x)
    t = _root(1.0 - y, x)
    re = prim.libm("asinh", prim.real(s) * prim.imag(t) - prim.real(t) * prim.imag(s))
    im = prim.libm("atan2", y, prim.real(s) * prim.real(t) - prim.imag(s) * prim.imag(t))
    return prim.complex(re, im)


def _atanh_right(x, y):
    """Of what is not left of the imaginary axis."""
    b = abs(y)
    if x > 6.703903964971298e153 or b > 6.703903964971298e153:
        h = prim.libm("hypot", x / 2.0, y / 2.0)
        return prim.complex(x / 4.0 / h / h, -prim.libm("copysign", math.pi / 2.0, -y))
    if x == 1.0 and b < 1.4916681462400413e-154:
        if b == 0.0:
            _domain()
        re = -prim.libm("log", prim.libm("sqrt", b) / prim.libm("sqrt", prim.libm("hypot", b, 2.0)))
        return prim.complex(re, prim.libm("copysign", prim.libm("atan2", 2.0, -b) / 2.0, y))
    re = prim.libm("log1p", 4.0 * x / ((1.0 - x) * (1.0 - x) + b * b)) / 4.0
    return prim.complex(re, -prim.libm("atan2", -2.0 * y, (1.0 - x) * (1.0 + x) - b * b) / 2.0)


def _atanh(x, y):
    if not _finite(x, y):
        if x != x and abs(y) == math.inf:
            return prim.complex(0.0, prim.libm("copysign", math.pi / 2.0, y))
        return prim.libm("atanh", prim.complex(x, y))
    if prim.libm("copysign", 1.0, x) < 0.0:
        r = _atanh_right(-x, -y)
        return prim.complex(-prim.real(r), -prim.imag(r))
    return _atanh_right(x, y)


@overload(cmath.asinh)
def asinh(z, /):
    x, y = _parts(z)
    return _asinh(x, y)


@overload(cmath.asin)
def asin(z, /):
    x, y = _parts(z)
    return _quarter_turn_back(_asinh(-y, x))


@overload(cmath.atanh)
def atanh(z, /):
    x, y = _parts(z)
    return _atanh(x, y)


@overload(cmath.atan)
def atan(z, /):
    x, y = _parts(z)
    return _quarter_turn_back(_atanh(-y, x))
