"""`math` and `cmath`: values to the last bit, types and exceptions as CPython has them."""

import cmath
import math
import random
import struct

import pytest

import numpy as np
import weft

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, 10.0, 1e-300, 5e-324, -5e-324, 2.2e-308, 1e300, -1e300]
FLOATS += [
    1.7976931348623157e308,
    math.inf,
    -math.inf,
    math.nan,
    0.1,
    0.7,
    -0.3,
    100.0,
    -100.5,
    709.9,
    -745.2,
    171.5,
    2.5,
]
INTS = [0, 1, -1, 2, 5, 20, True]

ONE = (
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log1p log2 log10 sqrt cbrt "
    "erf erfc fabs modf frexp ulp degrees radians isnan isinf isfinite"
).split()
TWO = ["atan2", "pow", "fmod", "remainder", "copysign", "nextafter", "hypot", "log", "isclose"]


def compiled(text, module):
    """The function of a text, plain and compiled."""
    scope = {module.__name__: module, "np": np, "__name__": "program"}
    exec(text, scope)
    return scope["f"], weft.njit(scope["f"], source=text)


def outcome(f, args):
    """What a call gives or raises."""
    try:
        return f(*args)
    except (ValueError, OverflowError, ZeroDivisionError) as e:
        return type(e).__name__, str(e).split("\n")[0]


def bits(v):
    """The value with its type, comparable: all nans are one."""
    if isinstance(v, tuple):
        return tuple(bits(x) for x in v)
    if isinstance(v, complex):
        return "complex", bits(v.real), bits(v.imag)
    if isinstance(v, float):
        return "float", "nan" if v != v else struct.pack("d", v).hex()
    return type(v).__name__, v


def check(text, cases, module=math):
    """Compares all cases, and shows the first few that differ."""
    plain, ours = compiled(text, module)
    wrong = [(c, outcome(plain, c), outcome(ours, c)) for c in cases]
    wrong = [w for w in wrong if bits(w[1]) != bits(w[2])]
    assert not wrong, f"{len(wrong)} of {len(cases)}: {wrong[:3]}"


# spec: N2
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name):
    check(f"def f(x):\n    return math.{name}(x)\n", [(x,) for x in FLOATS + INTS])


# spec: N2
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name):
    cases = [(x, y) for x in FLOATS for y in FLOATS] + [(3, 2), (2, 0.5), (True, 4)]
    check(f"def f(x, y):\n    return math.{name}(x, y)\n", cases)


# spec: N2
@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
def test_floats_become_ints(name):
    small = [x for x in FLOATS if not 2.0**63 <= abs(x) < math.inf]
    check(f"def f(x):\n    return math.{name}(x)\n", [(x,) for x in small + INTS])


# spec: N2
def test_the_gamma_function():
    """C's instead of CPython's own code: the same errors, and values within a few ulps."""
    for name in ("gamma", "lgamma"):
        plain, ours = compiled(f"def f(x):\n    return math.{name}(x)\n", math)
        for x in FLOATS + INTS:
            theirs, mine = outcome(plain, (x,)), outcome(ours, (x,))
            if isinstance(theirs, tuple):
                assert mine == theirs, x
            else:
                assert mine == pytest.approx(theirs, rel=1e-14, nan_ok=True), x


# spec: N2
def test_functions_of_ints():
    ints = [0, 1, -1, 2, -4, 6, 12, 100, 2**40, 10**18, 2**62, -(2**62)]
    check("def f(a, b):\n    return math.gcd(a, b), math.gcd(), math.gcd(a)\n", [(a, b) for a in ints for b in ints])
    check("def f(a, b, c):\n    return math.gcd(a, b, c), math.lcm(a, b, c)\n", [(4, 6, 10), (0, 3, 5), (True, 2, 3)])
    check("def f(a, b):\n    return math.lcm(a, b), math.lcm()\n", [(a, b) for a in ints[:8] for b in ints[:8]])
    check("def f(n):\n    return math.factorial(n)\n", [(n,) for n in (0, 1, 5, 20, -1, True)])
    pairs = [(n, k) for n in (0, 1, 5, 15, 62, -1) for k in (0, 1, 3, 31, -1)]
    check("def f(n, k):\n    return math.comb(n, k)\n", pairs)
    check("def f(n, k):\n    return math.perm(n, k)\n", [p for p in pairs if p[1] < 31])
    check("def f(n):\n    return math.perm(n)\n", [(0,), (5,), (20,), (-1,)])
    roots = [0, 1, 2, 3, 4, 8, 9, 10**18, 2**62, 2**63 - 1, 3037000499**2, 3037000499**2 - 1, (2**31) ** 2 - 1, -1]
    check("def f(n):\n    return math.isqrt(n)\n", [(n,) for n in roots])


# spec: N2
def test_scaling():
    shifts = [0, 1, -1, 52, 1023, 1024, 2100, -1022, -1074, -1075, -2200, 10**12, -(10**12)]
    check("def f(x, n):\n    return math.ldexp(x, n)\n", [(x, n) for x in FLOATS for n in shifts])


# spec: N2
def test_distances():
    rnd = random.Random(1)
    points = [tuple(rnd.uniform(-1, 1) * 10.0 ** rnd.randint(-3, 3) for _ in range(3)) for _ in range(500)]
    check("def f(a, b, c):\n    return math.hypot(a, b, c), math.hypot(a), math.hypot()\n", points)
    check("def f(a, b, c):\n    return math.dist((a, b), (b, c))\n", points)
    few = [0.0, 1.0, -1.5, 1e-320, 1e300, 1.7e308, math.inf, -math.inf, math.nan]
    check("def f(a, b, c):\n    return math.hypot(a, b, c)\n", [(a, b, c) for a in few for b in few for c in few])
    check("def f(p, q):\n    return math.dist(p, q)\n", [(np.array([1.0, 2, 3]), np.array([4.5, 5, 6]))])


# spec: N2
def test_exact_sums_and_products():
    rnd = random.Random(2)
    arrays = [np.array([rnd.uniform(-1, 1) * 10.0 ** rnd.randint(-30, 30) for _ in range(n)]) for n in (0, 1, 5, 500)]
    inf = math.inf
    arrays += [np.array(a) for a in ([inf, -inf], [inf, 1.0], [math.nan, 1.0], [1e308, 1e308], [1e16, 1.0, 1e-16])]
    check("def f(x):\n    return math.fsum(x)\n", [(a,) for a in arrays])
    check("def f(a, b, c):\n    return math.prod((a, b, c)), math.prod((a, b), start=2)\n", [(1, 2, 3), (1.5, 2, 3)])


# spec: N2
def test_closeness_and_bases():
    text = "def f(a, b, r, t):\n    return math.isclose(a, b, rel_tol=r, abs_tol=t)\n"
    check(text, [(1.0, 1.1, 0.2, 0.0), (1.0, 1.1, -1.0, 0.0), (1.0, 2.0, 0.0, 5.0), (math.inf, 1.0, 2.0, 0.0)])
    check("def f(x):\n    return math.log(x, 2), math.log(x, 10.0)\n", [(x,) for x in FLOATS])


# spec: N2
def test_numpy_scalars_give_python_floats():
    cases = [(t(2),) for t in (np.float32, np.float64, np.int8, np.uint64, np.bool, np.float16)]
    check("def f(x):\n    return math.exp(x), math.sqrt(x), math.floor(x), math.isnan(x)\n", cases)


PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 1e-310, 1e300, -1e308, 710.0, math.inf, -math.inf, math.nan, 3.7]
COMPLEX = (
    "isnan isinf isfinite polar exp log log10 sqrt cosh sinh tanh cos sin tan acos acosh asin asinh atan atanh"
).split()


# spec: N2
@pytest.mark.parametrize("name", COMPLEX)
def test_functions_of_complex_numbers(name):
    rnd = random.Random(3)
    numbers = [complex(x, y) for x in PARTS for y in PARTS]
    numbers += [complex(rnd.gauss(0, 2), rnd.gauss(0, 2)) for _ in range(200)]
    if name == "polar":
        # The angle underflows there, which CPython reports as an overflow.
        numbers.remove(complex(1e300, 1e-310))
    check(f"def f(z):\n    return cmath.{name}(z)\n", [(z,) for z in [*numbers, 2, 1.5, True]], cmath)


# spec: N2
def test_polar_coordinates_and_bases():
    check("def f(r, phi):\n    return cmath.rect(r, phi)\n", [(x, y) for x in PARTS for y in PARTS], cmath)
    numbers = [complex(x, y) for x in PARTS[:7] for y in PARTS[:4]]
    check("def f(a, b):\n    return cmath.isclose(a, b)\n", [(a, b) for a in numbers for b in numbers], cmath)
    check("def f(z):\n    return cmath.log(z, 2), cmath.phase(z)\n", [(z,) for z in numbers], cmath)


# spec: N2
def test_sine_and_cosine_of_one_number():
    """One call gives both, and the bits are CPython's; an exception is that of the one which comes first."""

    @weft.njit
    def both(x):
        return [math.cos(v) for v in x], [math.sin(v) for v in x], [math.sin(v) - math.cos(v) for v in x]

    @weft.njit
    def turned(x, y, angle):
        c, s = math.cos(angle), math.sin(angle)
        return x * c - y * s, x * s + y * c

    rng = np.random.default_rng(7)
    x = [*(rng.normal(size=2000) * 10.0 ** rng.uniform(-200, 200, 2000)).tolist(), 0.0, -0.0, 5e-324, math.nan, 1e308]
    for ours, theirs in zip(both(x), both.py_func(x)):
        assert np.array(ours).tobytes() == np.array(theirs).tobytes()
    for angle in x:
        assert np.array(turned(2.0, 3.0, angle)).tobytes() == np.array(turned.py_func(2.0, 3.0, angle)).tobytes()
    with pytest.raises(ValueError, match="math domain error"):
        turned(2.0, 3.0, math.inf)
