"""Python's integers at the end of 64 bits: raised where CPython's would leave them, and wrapped where asked for."""

import random

import pytest

import weft

MOST, LEAST = 2**63 - 1, -(2**63)
EDGES = [
    0,
    1,
    -1,
    2,
    3,
    MOST,
    MOST - 1,
    LEAST,
    LEAST + 1,
    MOST // 3,
    MOST // 3 + 1,
    LEAST // 3,
    LEAST // 3 - 1,
    2**62,
    -(2**62),
]


def collatz_step(n, _):
    if n % 2 == 0:
        n = n // 2
    else:
        n = 3 * n + 1
    return n


def either(n, m):
    if n > m:
        r = n - m
    else:
        r = n + m
    return r


def chained(n, m):
    if m > 0:
        r = 5 - 2 * n
    else:
        r = -(n + 7) * 3
    return r


def one_armed(n, m):
    r = m
    if n != 0:
        r = n * m + 1
    return r


def by_constants(n, m):
    r = 0
    if m % 4 == 1:
        r = (n + 2**62) * -1
    return r


def two_names(n, m):
    if n < m:
        a, b = n + 1, m * 2
    else:
        a, b = n - 1, 0
    return a, b


def handled(n, m):
    try:
        if m > 1:
            r = n * 3
        else:
            r = n
    except OverflowError:
        r = -1
    return r


BRANCHES = [collatz_step, either, chained, one_armed, by_constants, two_names, handled]


def expected(function, n, m):
    """What CPython gives, if every step of it has 64 bits."""

    class Int(int):
        pass

    def checked(name):
        def operation(self, *other):
            value = getattr(int, name)(self, *other)
            if value is NotImplemented or isinstance(value, bool):
                return value
            if not LEAST <= value <= MOST:
                raise OverflowError
            return Int(value)

        return operation

    for name in ("add", "radd", "sub", "rsub", "mul", "rmul", "neg", "floordiv", "mod"):
        setattr(Int, f"__{name}__", checked(f"__{name}__"))
    return function(Int(n), Int(m))


def outcome(call):
    try:
        return call()
    except OverflowError:
        return OverflowError


# spec: N9
@pytest.mark.parametrize("function", BRANCHES, ids=lambda f: f.__name__)
def test_overflow_raises_only_in_the_arm_that_is_taken(function):
    f = weft.njit(function)
    rng = random.Random(5)
    pairs = [(n, m) for n in EDGES for m in EDGES]
    pairs += [(rng.randint(LEAST, MOST), rng.randint(-5, 5)) for _ in range(50)]
    for n, m in pairs:
        assert outcome(lambda n=n, m=m: f(n, m)) == outcome(lambda n=n, m=m: expected(function, n, m)), (n, m)


# spec: N9
def test_the_message_names_the_operation_that_left_64_bits():
    @weft.njit
    def f(n, m):
        if m > 0:
            r = n * 2 + m
        else:
            r = n - 1
        return r

    with pytest.raises(OverflowError, match=r"int \* int"):
        f(MOST, 1)
    with pytest.raises(OverflowError, match=r"int \+ int"):
        f(MOST // 2, 2)
    with pytest.raises(OverflowError, match="int - int"):
        f(LEAST, 0)
    assert f(MOST, 0) == MOST - 1


def wrapped(value):
    return (value + 2**63) % 2**64 - 2**63


# spec: N9
@pytest.mark.parametrize("n", EDGES)
def test_integers_wrap_where_asked_for(n):
    f = weft.njit(lambda n, m: (n + m, n - m, n * m, -n), overflow="wrap")
    for m in EDGES:
        assert f(n, m) == (wrapped(n + m), wrapped(n - m), wrapped(n * m), wrapped(-n))
    g = weft.njit(lambda n, k: (n**3, n**k, n << k, n << 5, n // -1), overflow="wrap")
    for k in (0, 1, 5, 62, 63, 64, 100):
        assert g(n, k) == (wrapped(n**3), wrapped(n**k), wrapped(n << k), wrapped(n << 5), wrapped(-n))


# spec: N9
def test_functions_that_are_called_wrap_too():
    @weft.njit
    def square(n):
        return n * n

    f = weft.njit(lambda n: square(n) + 1, overflow="wrap")
    assert f(MOST) == wrapped(MOST * MOST + 1)
    with pytest.raises(OverflowError):
        square(MOST)


# spec: N9, N10
def test_an_index_that_wrapped_is_checked():
    import numpy as np

    @weft.njit(overflow="wrap")
    def f(x, n):
        total = 0.0
        for i in range(len(x)):
            total += x[i + n]
        return total

    x = np.arange(4.0)
    assert f(x, 0) == 6.0
    assert f(x, -4) == 6.0
    for n in (1, -5, MOST, LEAST, MOST - 1):
        with pytest.raises(IndexError):
            f(x, n)


# spec: N9
@pytest.mark.parametrize("value", [None, "saturate", True])
def test_other_answers_to_overflow_are_refused(value):
    with pytest.raises(TypeError, match="overflow is one of 'raise', 'wrap'"):
        weft.njit(lambda n: n, overflow=value)


# spec: N2
@pytest.mark.parametrize("value", [0.0, -0.5, 2.0**53, -(2.0**63), 2.0**63, -(2.0**63) - 2048, 2.0**63 - 1024, 1e300])
def test_int_of_a_float_at_the_ends(value):
    f = weft.njit(lambda x: int(x))
    if LEAST <= int(value) <= MOST:
        assert f(value) == int(value)
    else:
        with pytest.raises(OverflowError):
            f(value)
    for bad, error in ((float("nan"), ValueError), (float("inf"), OverflowError), (float("-inf"), OverflowError)):
        with pytest.raises(error) as ours:
            f(bad)
        with pytest.raises(error) as theirs:
            int(bad)
        assert str(ours.value) == str(theirs.value)


def generator(state):
    return (1664525 * state + 1013904223) & 0xFFFFFFFF


def hashed(a, b):
    return (((a * 1000003) - b * 37) & 0x7FFFFFFFFFFFFFFF) + 1 - 1


def kept(a, b):
    product = a * b
    return product & 255, product // 2


# spec: N9
@pytest.mark.parametrize("n", EDGES)
def test_low_bits_are_those_of_the_whole_number(n):
    assert weft.njit(generator)(n) == generator(n)
    for m in EDGES:
        have = outcome(lambda m=m: weft.njit(hashed)(n, m))
        want = (n * 1000003 - m * 37) & 0x7FFFFFFFFFFFFFFF
        # What is added behind the mask has 64 bits.
        assert have == (want if want < MOST else OverflowError)


# spec: N9
def test_what_is_used_beside_its_low_bits_raises():
    f = weft.njit(kept)
    assert f(12345, 678) == kept(12345, 678)
    with pytest.raises(OverflowError):
        f(MOST, 3)
