"""Element access, views and stores of arrays: NumPy's values, shapes, strides, aliasing and exceptions."""

import itertools

import pytest

import numpy as np
import weft
from support import same

RNG = np.random.default_rng(11)
DTYPES = [np.bool_, np.int8, np.uint8, np.int32, np.int64, np.float32, np.float64, np.complex128]


def outcome(function, *arguments):
    """What a call gives: its result, or the class and message of its exception."""
    try:
        return "value", function(*arguments)
    except Exception as error:
        return "raises", error


def check(source, *arguments, name="f"):
    """Runs a function plain and compiled on equal arguments: same result, same changes, same exception."""
    space = {"np": np}
    exec(compile(source, f"<{name}>", "exec"), space)
    plain = space[name]
    weft_function = jit(source, name)
    theirs_args = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    ours_args = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"):
        kind, theirs = outcome(plain, *theirs_args)
    ours_kind, ours = outcome(weft_function, *ours_args)
    if kind == "raises":
        assert ours_kind == "raises", f"{theirs!r} was not raised, but {ours!r} returned"
        builtin = next(c for c in type(theirs).__mro__ if c.__module__ == "builtins")
        assert isinstance(ours, builtin), f"{ours!r} is not {theirs!r}"
        # What is refused while compiling is said in Weft's words where NumPy has none of its own.
        if builtin is not TypeError:
            assert str(theirs) in str(ours), f"{ours} is not {theirs}"
    else:
        if ours_kind == "raises":
            raise ours
        same(ours, theirs)
        if isinstance(theirs, np.ndarray):
            # NumPy gives an empty slice the step 1.
            if theirs.base is not None and theirs.size:
                assert ours.strides == theirs.strides
            assert ours.flags.writeable == theirs.flags.writeable
            for mine, other in zip(ours_args, theirs_args):
                if isinstance(other, np.ndarray):
                    assert np.shares_memory(ours, mine) == np.shares_memory(theirs, other)
    for mine, other in zip(ours_args, theirs_args):
        if isinstance(other, np.ndarray):
            same(mine, other)


_JITTED = {}


def jit(source, name):
    """A jitted function from source text, written to a file so that its source can be found."""
    if source not in _JITTED:
        import linecache

        filename = f"<test source {len(_JITTED)}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        space = {"np": np, "weft": weft}
        exec(compile(source, filename, "exec"), space)
        _JITTED[source] = weft.njit(space[name])
    return _JITTED[source]


ONE = "def f(a, i):\n    return a[i]\n"
TWO = "def f(a, i, j):\n    return a[i, j]\n"


# spec: N3
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_element_is_a_numpy_scalar(dtype):
    a = (RNG.normal(size=7) * 5).astype(dtype)
    for i in (0, 6, -1, -7, np.int32(2), np.uint64(3)):
        check(ONE, a, i)
    check(TWO, a[:6].reshape(2, 3), 1, -2)


# spec: N3, N10
def test_an_index_out_of_bounds_raises_numpys_words():
    a = np.arange(6.0)
    for i in (6, -7, 2**40, -(2**40)):
        check(ONE, a, i)
    check(ONE, np.zeros(0), 0)
    for i, j in ((2, 0), (0, 3), (-3, 0), (0, -4)):
        check(TWO, a.reshape(2, 3), i, j)
    check(TWO, a, 0, 0)


# spec: N3, N6
def test_elements_of_any_layout():
    grid = RNG.normal(size=(6, 8))
    for x in (grid, grid.T, grid[::2, 1::3], grid[::-1, ::-1], np.asfortranarray(grid), grid[:, :1], grid[:1]):
        for i, j in itertools.product((0, -1), (0, -1)):
            same(jit(TWO, "f")(x, i, j), x[i, j])


STORE = "def f(a, i, v):\n    a[i] = v\n"


# spec: N3
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_store_casts_as_numpy_does(dtype):
    a = np.ones(3, dtype)
    for v in (
        0,
        3,
        1.7,
        True,
        np.float32(2.5),
        np.int64(7),
        np.uint8(200),
        300,
        -1,
        np.nan,
        np.inf,
        1e30,
        np.int64(300),
    ):
        check(STORE, a, 1, v)
    check(STORE, a, 3, 0)


SLICES = [
    ":", "1:", ":-1", "1:-1", "2:5", "-3:", ":3", "::2", "1::2", "::-1", "5:1:-1", "-2:0:-2", "10:", ":10", "-10:3",
    "3:3", "5:2", "::3", ":-20", "20::-1", "-1:-20:-1",
]  # fmt: skip


# spec: N3
@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_slices_with_constants(size):
    a = np.arange(float(size))
    for s in SLICES:
        check(f"def f(a):\n    return a[{s}]\n", a)


# spec: N3
def test_slices_with_run_time_values():
    a = np.arange(7)
    both = "def f(a, i, j):\n    return a[i:j]\n"
    step = "def f(a, i, j, k):\n    return a[i:j:k]\n"
    down = "def f(a, i, j):\n    return a[i:j:-1]\n"
    for i, j in itertools.product((-9, -7, -1, 0, 1, 6, 7, 9), repeat=2):
        check(both, a, i, j)
        check(down, a, i, j)
        for k in (-3, -1, 1, 2):
            check(step, a, i, j, k)
    check(step, a, 0, 5, 0)
    check(step, a, 0, 5, -(2**63))
    check("def f(a):\n    return a[::0]\n", a)
    check("def f(a):\n    return a[1.5:]\n", a)


VIEWS = [
    "1, 2", "1", "-1", "1:", ":, 1", "1:, 1", "1:-1, 1:-1", "::2, ::-1", "...", "..., 0", "0, ...", "None", "..., None",
    "None, 1, None", ":, None, 1:", "..., 1:2", "1, 1:", "1:2, 1:2", "::-1", "0:0, 1:", "1:, ...", "5", "0, 9",
    "0, 0, 0",
]  # fmt: skip


# spec: N3, N6
@pytest.mark.parametrize("index", VIEWS)
def test_views_of_two_dimensions(index):
    grid = np.arange(20.0).reshape(4, 5)
    for a in (grid, np.asfortranarray(grid), np.arange(80.0).reshape(8, 10)[::2, ::2]):
        check(f"def f(a):\n    return a[{index}]\n", a)


# spec: N3, N6
def test_views_of_other_ranks():
    check("def f(a):\n    return a[()]\n", np.array(5.0))
    check("def f(a):\n    return a[...]\n", np.array(5.0))
    check("def f(a):\n    return a[None]\n", np.array(5.0))
    check("def f(a):\n    return a[0]\n", np.array(5.0))
    check("def f(a):\n    return a[()]\n", np.arange(3))
    cube = np.arange(60).reshape(3, 4, 5)
    for index in (
        "0",
        "0, 1",
        ":, 1",
        "..., 1",
        "1:, 2, ::2",
        "::-1, ..., ::-1",
        "0, :, None, 1",
        "1:, 1:, 1:",
        "1, 2, 3",
    ):
        check(f"def f(a):\n    return a[{index}]\n", cube)
        check(f"def f(a):\n    return a[{index}]\n", cube.T)


# spec: N3, N6
def test_what_is_computed_from_views():
    a, grid = RNG.normal(size=9), RNG.normal(size=(6, 7))
    check("def f(a):\n    return a[1:] - a[:-1]\n", a)
    check("def f(a):\n    return a[2:] + a[1:-1] * a[:-2]\n", a)
    check("def f(a):\n    return a[::2] + a[1::2]\n", a[:8])
    check("def f(a):\n    return a[::2] + a[1::2]\n", a)
    check("def f(a):\n    return a[:3] + a[3:4]\n", a)
    check("def f(a, b):\n    return a[1:] + b\n", a, a[1:])
    check("def f(a, b):\n    return a[1:] + b\n", a, a)
    check("def f(a, n):\n    return a[:n] + a[n:2 * n]\n", a, 4)
    check("def f(a, n):\n    return a[:n] + a[n:3 * n]\n", a, 1)
    check("def f(a, n):\n    return a[:n] + a[n:3 * n]\n", a, 2)
    laplace = "def f(a):\n    return a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1] - 4 * a[1:-1, 1:-1]\n"
    check(laplace, grid)
    check(laplace, grid.T)
    check(laplace, grid[:1])
    check("def f(a):\n    return a[0] + a[:, :1]\n", grid)
    check("def f(a):\n    return a[1:][1:].shape, a[1:].size, a[::2].ndim\n", grid)


ASSIGNED = [
    ("1:", "0"), (":", "b"), ("1:4", "b[:3]"), ("::2", "b[::2]"), ("::-1", "a"), ("1:", "a[:-1]"), (":-1", "a[1:]"),
    ("...", "a[::-1]"), (":", "a"), ("2:3", "b[:1]"), ("1:4", "b[4:5]"), (":", "b[None]"), (":3", "b"),
    ("0:0", "b[:0]"),
    (":", "b[:, None]"), ("1:3", "(5, 6)"), (":", "7.9"), (":", "True"),
]  # fmt: skip


# spec: N3
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32])
def test_assignment_to_views(dtype):
    a, b = np.arange(6).astype(dtype), RNG.normal(size=6) * 9
    for index, value in ASSIGNED:
        check(f"def f(a, b):\n    a[{index}] = {value}\n", a, b)


# spec: N3
def test_assignment_in_two_dimensions():
    grid = np.arange(20.0).reshape(4, 5)
    for index, value in (
        ("0", "b"), (":, 0", "b[:4]"), ("1:-1, 1:-1", "0"), (":", "b"), (":", "b[:4, None]"), ("::2", "a[1::2]"),
        ("1:", "a[:-1]"), (":, 1:", "a[:, :-1]"), ("::-1, ::-1", "a"), ("...", "a.T"), ("1:3", "b[:3]"),
        ("0, 1:3", "b[1]"),
        (":, ::-1", "a"), ("None, 0", "b"),
    ):  # fmt: skip
        source = f"def f(a, b):\n    a[{index}] = {value}\n"
        check(source, grid, np.arange(5.0) + 100)
        check(source, np.asfortranarray(grid), np.arange(5.0) + 100)
        check(source, np.arange(80.0).reshape(8, 10)[::2, ::2], np.arange(5.0) + 100)
    check("def f(a):\n    a[...] = a.T\n", np.arange(25.0).reshape(5, 5))


# spec: N3, N7
def test_arguments_that_share_memory():
    shift = jit("def f(a, b):\n    a[:] = b\n", "f")
    for ours, theirs in ((np.arange(9), np.arange(9)), (np.arange(9.0), np.arange(9.0))):
        shift(ours[1:], ours[:-1])
        theirs[1:] = theirs[:-1].copy()
        same(ours, theirs)
        shift(ours[:-1], ours[1:])
        theirs[:-1] = theirs[1:].copy()
        same(ours, theirs)
        shift(ours, ours[::-1])
        theirs[:] = theirs[::-1].copy()
        same(ours, theirs)


# spec: N3
@pytest.mark.parametrize("op", ["+", "-", "*", "/", "//", "%", "**", "&", "|", "<<"])
def test_augmented_assignment_writes_into_the_array(op):
    for a in (np.arange(1, 6), np.arange(1, 6, dtype=np.int32), np.arange(1.0, 6), np.arange(1, 6, dtype=np.float32)):
        for v in (2, 2.5, np.int64(2), np.arange(5), np.arange(5.0), np.float32(2)):
            check(f"def f(a, v):\n    a {op}= v\n    return a\n", a, v)
    check(f"def f(a):\n    a[1:] {op}= a[:-1]\n", np.arange(1, 6))
    check(f"def f(a):\n    a[1] {op}= 2\n", np.arange(1, 6))
    check(f"def f(a):\n    a[1, 1:] {op}= a[0, 1:]\n", np.arange(1, 7).reshape(2, 3))


# spec: N3
def test_augmented_assignment_does_not_grow_the_array():
    source = "def f(a, v):\n    a += v\n"
    check(source, np.arange(3.0), np.ones((2, 3)))
    check(source, np.ones((2, 3)), np.arange(3.0))
    check(source, np.array(1.0), 2.0)
    check("def f(a, n):\n    b = a[:n]\n    b += a\n", np.arange(3.0), 1)


# spec: N3
def test_read_only_arrays_are_not_written():
    a = np.arange(5.0)
    a.flags.writeable = False
    for source in ("a[0] = 1", "a[1:] = 1", "a += 1", "a[1:] += 1"):
        function = jit(f"def f(a):\n    {source}\n", "f")
        with pytest.raises(ValueError, match="read-only"):
            function(a)
    view = jit("def f(a):\n    return a[1:]\n", "f")(a)
    assert not view.flags.writeable and view.base is a


# spec: N3
def test_loops_over_elements():
    total = "def f(a):\n    s = 0.0\n    for i in range(len(a)):\n        s += a[i]\n    return s\n"
    check(total, RNG.normal(size=100))
    sweep = (
        "def f(a, b):\n    for i in range(1, a.shape[0] - 1):\n        for j in range(1, a.shape[1] - 1):\n"
        "            b[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) / 4\n"
    )
    grid = RNG.normal(size=(7, 9))
    check(sweep, grid, np.zeros((7, 9)))
    check(sweep, grid.T, np.zeros((9, 7)))
    check(sweep, grid, np.zeros((7, 8)))
    running = "def f(a):\n    for i in range(1, len(a)):\n        a[i] += a[i - 1]\n"
    check(running, RNG.normal(size=20))
    check("def f(a, n):\n    for i in range(n):\n        a[i] = i\n", np.zeros(4), 6)


# spec: N3
def test_a_view_names_the_same_elements():
    check("def f(a):\n    b = a[1:]\n    b[0] = 9\n    return a[1]\n", np.arange(4.0))
    check("def f(a):\n    b = a[::2]\n    c = b + 1\n    b[:] = 0\n    return a + 0, c\n", np.arange(6.0))
    check("def f(a):\n    c = a * 2\n    a[:] = 0\n    return c + a[0]\n", np.arange(6.0))
    check("def f(a):\n    c = a[0] + 0\n    a[0] = 5\n    d = a[0] + 0\n    return c, d\n", np.arange(6.0))


# spec: N3
def test_a_bool_as_the_whole_index():
    for a in (np.arange(6.0).reshape(2, 3), np.array(3.0), np.zeros(0)):
        for condition in (np.array(True), np.array(False), np.bool_(True), False):
            check("def f(a, c):\n    return a[c]\n", a, condition)
            check("def f(a, c):\n    a[c] = 7\n", a, condition)
        check("def f(a):\n    b = np.array(4.0)\n    return b[b > 2], b[b < 2]\n", a)
