"""NumPy's functions of one element: value, dtype and type for every dtype NumPy has them in, over edge values.

Each dtype, or pair of them, is one compiled function that returns many results.
"""

import warnings

import pytest

import numpy as np
import weft
from doors import function, jitted
from support import same

DTYPES = list("?bhilBHILefdFD")

# Exactly NumPy's.
EXACT = (
    "negative positive fabs reciprocal sqrt deg2rad degrees rad2deg spacing floor ceil trunc rint fix round "
    "logical_not isnan isinf isfinite isposinf isneginf signbit invert conjugate frexp modf nan_to_num int8 int64 "
    "float32 float64 bool"
).split()
# By the machine's vector routines (docs/deviations.md), and of complex numbers up to the rounding of a product.
ROUNDED = (
    "absolute sign square cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 "
    "expm1 log log2 log10 log1p sinc angle"
).split()
EXACT_PAIRS = (
    "add subtract divide floor_divide remainder fmod copysign nextafter heaviside equal not_equal less less_equal "
    "greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift "
    "right_shift minimum maximum fmin fmax gcd lcm divmod isclose"
).split()
ROUNDED_PAIRS = ["multiply", "hypot", "arctan2", "logaddexp", "logaddexp2", "float_power"]


def edges(d):
    """Values at which functions go wrong."""
    dtype = np.dtype(d)
    if dtype.kind == "b":
        return np.array([False, True, True])
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        values = [0, 1, 2, 3, 7, 12, 100, bounds.max, bounds.max - 1]
        return np.array(values + ([-1, -2, -7, bounds.min + 1] if dtype.kind == "i" else []), dtype)
    info = np.finfo(dtype)
    values = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, -0.7, 10, 100.25, info.tiny, info.smallest_subnormal]
    values += [-info.smallest_subnormal, info.max, -info.max, np.inf, -np.inf, np.nan, info.eps, 7, 30000.0]
    if dtype.kind == "f":
        return np.array(values, dtype)
    # Infinite and huge parts meet in ways that rounding decides: C99 leaves them open.
    parts = np.array([0.0, 1, -1, 0.5, 1.5, -2.5, 0.1, -0.7, 3], info.dtype)
    return (parts[:, None] + parts[None, :] * 1j).astype(dtype).ravel()


def accepted(names, *args):
    """Those NumPy takes these arguments for, as text over x and y."""
    found = []
    for name in names:
        try:
            getattr(np, name)(*args)
        except TypeError:
            continue
        found.append(f"np.{name}({', '.join('xy'[: len(args)])})")
    return found


def check(names, args, ulps):
    """All of them in one function, against NumPy."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expressions = accepted(names, *args)
        scope = {"np": np} | dict(zip("xy", args))
        theirs = [eval(e, scope) for e in expressions]
    ours = jitted(expressions, list("xy"[: len(args)]))(*args)
    for expression, mine, other in zip(expressions, ours, theirs):
        try:
            same(mine, other, ulps)
        except AssertionError as e:
            raise AssertionError(f"{expression}: {e}") from None


# spec: N3, N4
@pytest.mark.parametrize("d", DTYPES)
def test_functions_of_one_array(d):
    x = edges(d)
    if x.dtype.kind in "fc":
        # What a float out of range becomes is open (V5); zero has no integer reciprocal.
        casts = {"int8", "int64"}
        check([n for n in EXACT if n not in casts], [x], 1 if x.dtype.kind == "c" else 0)
        check(sorted(casts), [np.array([0, 1, 2.5, 100, 7], d)], 0)
    else:
        check([n for n in EXACT if n != "reciprocal"], [x], 0)
    check(ROUNDED, [x], 40 if x.dtype.kind == "c" else 4)


# spec: N3, N4
@pytest.mark.parametrize("d", DTYPES)
def test_functions_of_scalars(d):
    x = np.ones(1, d)[0]
    check(EXACT, [x], 0)
    check(ROUNDED, [x], 4)


PAIRS = [d + d for d in DTYPES] + ["bB", "eb", "he", "?b", "fi", "fd", "bl"]


# spec: N3, N4
@pytest.mark.parametrize("pair", PAIRS)
def test_functions_of_two_arrays(pair):
    x, y = (edges(d) for d in pair)
    x, y = np.repeat(x, len(y)), np.tile(y, len(x))
    complex_ = "F" in pair or "D" in pair
    check(EXACT_PAIRS, [x, y], 8 if complex_ else 0)
    with np.errstate(all="ignore"):
        # Sums of logarithms near zero keep few bits.
        mild = [n for n in ROUNDED_PAIRS if not n.startswith("logadd")]
    check(mild, [x, y], 40 if complex_ else 4)


# spec: N3, N4
@pytest.mark.parametrize("other", [2, 1.5, True])
@pytest.mark.parametrize("d", list("?bilBfd"))
def test_python_numbers_are_weak(d, other):
    check(EXACT_PAIRS + ROUNDED_PAIRS[:3], [edges(d)[1:5], other], 4)


# spec: N3, N4
def test_python_numbers_alone_become_numpys():
    check(EXACT_PAIRS + ROUNDED_PAIRS, [7, 2], 4)
    check(EXACT + ROUNDED, [3], 4)
    check(EXACT + ROUNDED, [0.5], 4)


# spec: N3, N4
@pytest.mark.parametrize("d", list("efd"))
def test_sums_of_logarithms(d):
    x = np.array([0, 1, -3, 30, 1000, -1000, np.inf, -np.inf, np.nan, 0.25], d)
    x, y = np.repeat(x, len(x)), np.tile(x, len(x))
    check(["logaddexp", "logaddexp2"], [x, y], 8)


# spec: N3, N4
@pytest.mark.parametrize("d", list("efd"))
def test_scaling_by_powers_of_two(d):
    x = edges(d)
    n = np.array([0, 1, -1, 20, -20, 1100, -1100, -1074, 2000, -2100], np.int32)
    check(["ldexp"], [np.repeat(x, len(n)), np.tile(n, len(x))], 0)


# spec: N3, N4
@pytest.mark.parametrize("decimals", [0, 1, 3, -1, -2])
@pytest.mark.parametrize("d", list("bildLfde"))
def test_round_to_decimals(d, decimals):
    x = np.array([0, 5, 15, 25, 101, 119, 120, 1], d) / (1 if d in "bilL" else 8)
    x = x.astype(d)
    f = function(f"def f(x):\n    return np.round(x, {decimals}), np.around(x, {decimals})\n", "f", weft.njit)
    same(f(x), (np.round(x, decimals), np.around(x, decimals)), 0)


# spec: N3, N4
def test_clip_and_nan_to_num():
    x = np.array([-5.0, 0.5, np.nan, np.inf, -np.inf, 7.0])

    @weft.njit
    def f(x):
        return (
            np.clip(x, -1, 1),
            np.clip(x, None, 1.0),
            np.clip(x, 0, None),
            np.nan_to_num(x),
            np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-2.0),
        )

    same(f(x), f.py_func(x), 0)


# spec: N3, N4
def test_closeness():
    a, b = np.array([1.0, np.nan, np.inf, 1e10]), np.array([1.0 + 1e-9, np.nan, np.inf, 1.1e10])

    @weft.njit
    def f(a, b):
        return np.isclose(a, b), np.isclose(a, b, equal_nan=True), np.isclose(a, b, rtol=0.2), np.isclose(a, 1)

    same(f(a, b), f.py_func(a, b), 0)


# spec: N3, G2
@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("np.floor(x)", 1j * np.ones(2)),
        ("np.arctan2(x, x)", 1j * np.ones(2)),
        ("np.signbit(x)", 1j * np.ones(2)),
        ("np.gcd(x, x)", np.ones(2)),
        ("np.invert(x)", np.ones(2)),
        ("np.negative(x)", np.array([True])),
        ("np.isposinf(x)", 1j * np.ones(2)),
    ],
)
def test_what_numpy_does_not_define_raises(text, x):
    f = jitted([text], ["x"])
    with pytest.raises(TypeError):
        eval(text, {"np": np, "x": x})
    with pytest.raises(TypeError):
        f(x)


# spec: N3
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_exponentials_of_any_complex_number(dtype):
    """Zeros of both signs, what is not finite, and products that are not too large though an exponential is."""
    parts = [
        0.0,
        1.0,
        np.pi,
        1e-310,
        88.0,
        88.5,
        95.0,
        709.0,
        709.5,
        712.0,
        745.0,
        1400.0,
        1500.0,
        1e22,
        np.inf,
        np.nan,
    ]
    parts += [-part for part in parts]
    with np.errstate(all="ignore"):
        z = np.array([complex(a, b) for a in parts for b in parts]).astype(dtype)
        ours, theirs = jitted(["np.exp(x)"], ["x"])(z)[0], np.exp(z)
    for mine, other in ((ours.real, theirs.real), (ours.imag, theirs.imag)):
        np.testing.assert_array_equal(np.isnan(mine), np.isnan(other))
        known = ~np.isnan(other)
        np.testing.assert_array_equal(np.signbit(mine[known]), np.signbit(other[known]))
        np.testing.assert_array_equal(np.isinf(mine), np.isinf(other))
    same(ours[np.isfinite(theirs)], theirs[np.isfinite(theirs)])
    # An element's bits do not depend on where it stands.
    for k in (0, 5, 100, 700):
        assert jitted(["np.exp(x)"], ["x"])(z[k : k + 1])[0].tobytes() == ours[k : k + 1].tobytes()


# spec: N3
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_third_and_fourth_powers(dtype):
    """Products, within the documented rounding: of all sizes and signs, also where a square is no longer a number."""
    rng = np.random.default_rng(6)
    x = (rng.normal(size=4000) * 10.0 ** rng.uniform(-120, 120, 4000)).astype(dtype)
    x[:9] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e30, 1.0, np.finfo(dtype).tiny]
    powers = ["x ** 3", "x ** 4", "x ** 3.0", "np.power(x, 4)", "x[3] ** 3", "x[4] ** 4"]
    with np.errstate(all="ignore"):
        ours, theirs = jitted(powers, ["x"])(x), [eval(text, {"np": np, "x": x}) for text in powers]
    for mine, other in zip(ours, theirs):
        same(mine, other, ulps=4)
        np.testing.assert_array_equal(np.signbit(mine), np.signbit(other))


# spec: N3
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_powers_that_are_roots_and_quotients(dtype):
    """Within the documented rounding of every power, the smallest ones too, and of what has no root."""
    rng = np.random.default_rng(7)
    reach = 150 if dtype == "f8" else 18
    x = (rng.normal(size=6000) * 10.0 ** rng.uniform(-2 * reach, 2 * reach, 6000)).astype(dtype)
    size = np.finfo(dtype)
    x[:9] = [0.0, -0.0, np.inf, -np.inf, np.nan, size.max, size.tiny, -size.tiny, size.smallest_subnormal]
    powers = ["x ** -1.5", "x ** 1.5", "x ** -0.5", "x ** -2", "np.power(x, -1.5)", "x[3] ** 1.5", "x[1] ** -0.5"]
    with np.errstate(all="ignore"):
        ours, theirs = jitted(powers, ["x"])(x), [eval(text, {"np": np, "x": x}) for text in powers]
    for mine, other in zip(ours, theirs):
        same(mine, other, ulps=4)
        np.testing.assert_array_equal(np.signbit(mine[~np.isnan(mine)]), np.signbit(other[~np.isnan(other)]))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_sizes_of_complex_numbers(dtype):
    """N3: no square overflows or vanishes, whatever the parts are."""
    parts = [0.0, -0.0, 1.0, -3.0, 4.0, 5e-324, 1e-310, 3e-200, 1e-121, 1e149, 3e151, 1.7e308, np.inf, -np.inf, np.nan]
    f = function("def f(z):\n    return abs(z), np.abs(z[::-1])\n", "f", weft.njit)
    with np.errstate(all="ignore"):
        z = np.array([complex(re, im) for re in parts for im in parts], dtype)
        same(f(z), f.py_func(z))
