"""Python's builtin functions that Python can express."""

import math

import numpy as np
from weft.lib import prim
from weft.lib.prim import overload


@overload(sum)
def sum(iterable, /, start=0):
    total = start
    if prim.python_minor() < 12:
        for item in iterable:
            total = total + item
        return total
    # From 3.12 on CPython keeps what additions of floats lose, and adds it in the end. What additions of an int and a
    # float lose is not kept.
    lost = 0.0
    first = prim.kind(start) == "int"
    for item in iterable:
        if (
            prim.is_python(item)
            and prim.kind(item) == "float"
            and prim.is_python(total)
            and prim.kind(total) == "float"
        ):
            new = total + item
            if first:
                first = False
            elif abs(total) >= abs(item):
                lost += (total - new) + item
            else:
                lost += (item - new) + total
            total = new
        else:
            total = total + item
            first = first and prim.kind(item) != "float"
    if prim.is_python(total) and prim.kind(total) == "float" and lost != 0.0 and math.isfinite(lost):
        total += lost
    return total


@overload(any)
def any(iterable, /):
    for item in iterable:
        if item:
            return True
    return False


@overload(all)
def all(iterable, /):
    for item in iterable:
        if not item:
            return False
    return True


@overload(divmod)
def divmod(x, y, /):
    if prim.is_python(x) and prim.is_python(y) and (prim.kind(x) == "float" or prim.kind(y) == "float"):
        y = float(y)
        if y == 0.0 and not prim.divides_by_zero():
            raise ZeroDivisionError("float divmod()")
    return x // y, x % y


@overload(pow)
def pow(base, exp, mod=None):
    if mod is None:
        return base**exp
    if prim.kind(base) == "float" or prim.kind(exp) == "float" or prim.kind(mod) == "float":
        raise TypeError("pow() 3rd argument not allowed unless all arguments are integers")
    base = int(base)
    exp = int(exp)
    mod = int(mod)
    if mod == 0:
        raise ValueError("pow() 3rd argument cannot be 0")
    size = abs(mod)
    base = base % size
    if exp < 0:
        base = _inverse(base, size)
        exp = -exp
    result = 1 % size
    while exp > 0:
        if exp & 1 == 1:
            result = _product(result, base, size)
        exp = exp >> 1
        if exp > 0:
            base = _product(base, base, size)
    # The result has the sign of the modulus.
    return result - size if mod < 0 and result > 0 else result


def _product(a, b, size):
    """a * b % size where the product may not fit: by doubling."""
    if a < 3037000500 and b < 3037000500:
        return a * b % size
    result = 0
    while b > 0:
        if b & 1 == 1:
            result = result - (size - a) if result >= size - a else result + a
        a = a - (size - a) if a >= size - a else a + a
        b = b >> 1
    return result


def _inverse(a, size):
    r, next_r = size, a
    t, next_t = 0, 1
    while next_r != 0:
        q = r // next_r
        t, next_t = next_t, t - q * next_t
        r, next_r = next_r, r - q * next_r
    if r != 1:
        raise ValueError("base is not invertible for the given modulus")
    return t % size


@overload(round)
def round(number, ndigits=None):
    if prim.is_array(number):
        return prim.undefined("round() of an array is not defined: write np.round(a)")
    if ndigits is None:
        if prim.kind(number) == "float":
            return int(prim.libm("rint", float(number)))
        return int(number)
    if not prim.is_python(number):
        return np.round(number, ndigits)
    if prim.kind(number) == "float":
        return _round_float(number, int(ndigits))
    return _round_int(int(number), int(ndigits))


def _round_int(x, ndigits):
    if ndigits >= 0:
        return x
    if ndigits < -19:
        return 0
    if ndigits == -19:
        # Half of 10**19 is less than what an int can be here, 10**19 is not.
        if x > 5000000000000000000 or x < -5000000000000000000:
            raise OverflowError("the rounded int leaves the 64 bits Weft gives Python ints")
        return 0
    unit = 1
    for _ in range(-ndigits):
        unit = unit * 10
    low = x // unit * unit
    rest = x - low
    other = unit - rest
    if rest > other or rest == other and x // unit % 2 != 0:
        return low + unit
    return low


def _ten_to(n):
    r = 1.0
    for _ in range(n):
        r = r * 10.0
    return r


def _round_float(x, ndigits):
    """The float nearest to the decimal with so many digits that is nearest to x, by exact arithmetic."""
    if x - x != 0.0 or ndigits > 323 or x == 0.0:
        return x
    if ndigits < -308:
        return 0.0 * x
    size = abs(x)
    if ndigits > 0:
        if size >= 9007199254740992.0:
            return x
        # Both factors are exact, and so is the product of them as a sum of two floats.
        scale = _ten_to(min(ndigits, 22))
        extra = _ten_to(max(ndigits - 22, 0))
        if size * scale * extra >= 9007199254740992.0:
            return x
        product = size * scale
        a = size * 134217729.0
        a = a - (a - size)
        b = scale * 134217729.0
        b = b - (b - scale)
        error = ((a * b - product) + a * (scale - b) + (size - a) * b) + (size - a) * (scale - b)
        whole = prim.libm("rint", product * extra)
        rest = product * extra - whole
        error = error * extra
        odd = prim.libm("fmod", whole, 2.0) != 0.0
        # A tie of the product is none where it was rounded; where it is whole, what was rounded off may be a tie.
        if rest == 0.5 and error > 0.0 or rest == 0.0 and error == 0.5 and odd:
            whole = whole + 1.0
        elif rest == -0.5 and error < 0.0 or rest == 0.0 and error == -0.5 and odd:
            whole = whole - 1.0
        return prim.libm("copysign", whole / scale / extra, x)
    unit = _ten_to(-ndigits)
    rest = prim.libm("fmod", size, unit)
    odd = prim.libm("fmod", size, unit * 2.0) >= unit
    other = unit - rest
    if rest > other or rest == other and odd:
        result = size + other
        if result - result != 0.0:
            raise OverflowError("rounded value too large to represent")
    else:
        result = size - rest
    return prim.libm("copysign", result, x)


@overload(min)
def min(*args, key=None, default=...):
    if len(args) == 0:
        raise TypeError("min expected at least 1 argument, got 0")
    if len(args) > 1:
        if key is None:
            return prim.least(*args)
        return _least(args, key, default)
    return _least(args[0], key, default)


@overload(max)
def max(*args, key=None, default=...):
    if len(args) == 0:
        raise TypeError("max expected at least 1 argument, got 0")
    if len(args) > 1:
        if key is None:
            return prim.greatest(*args)
        return _greatest(args, key, default)
    return _greatest(args[0], key, default)


def _least(items, key, default):
    best = None
    rank = None
    for item in items:
        found = item if key is None else key(item)
        if rank is None or found < rank:
            best = item
            rank = found
    if best is None:
        if prim.is_absent(default):
            raise ValueError("min() arg is an empty sequence")
        return default
    return best


def _greatest(items, key, default):
    best = None
    rank = None
    for item in items:
        found = item if key is None else key(item)
        if rank is None or found > rank:
            best = item
            rank = found
    if best is None:
        if prim.is_absent(default):
            raise ValueError("max() arg is an empty sequence")
        return default
    return best
