"""What NumPy's functions take beside the usual: lists, arrays without axes or elements, negative sizes."""

import copy

import pytest

import numpy as np
import weft
from support import function, same

LINE = np.arange(6.0)
GRID = LINE.reshape(2, 3)
POINT = np.array(3.0)
MASK = np.array([True, False, True])
NOTHING = np.zeros(0)


def agree(text, names="", *arguments, body=""):
    """Value, type, dtype, shape, what can be written, what shares memory; or the class of the exception."""
    f = function(text, names.split(), body)
    given = [copy.deepcopy(arguments) for _ in range(2)]
    with np.errstate(all="ignore"):
        try:
            theirs = f.py_func(*given[0])
        except Exception as error:
            # NumPy's own classes of these are private.
            classes = [c for c in (MemoryError, TypeError) if isinstance(error, c)]
            with pytest.raises(*classes or [type(error)]):
                f(*given[1])
            return
        ours = f(*given[1])
    same(ours, theirs)
    if isinstance(theirs, np.ndarray):
        assert ours.flags.writeable == theirs.flags.writeable
        assert (np.signbit(ours.real) == np.signbit(theirs.real))[theirs == 0].all()
        for mine, other in zip(given[1], given[0]):
            if isinstance(other, np.ndarray):
                assert (ours is mine, np.shares_memory(ours, mine)) == (
                    theirs is other,
                    np.shares_memory(theirs, other),
                )


SEQUENCES = ["(1, 2, 3)", "[1, 2, 3]", "((1, 2), (3, 4))", "[[1, 2.5]]", "[a, a]", "(a, a)", "()", "5"]


# spec: N3
@pytest.mark.parametrize("name", ["size", "shape", "ndim", "zeros_like", "ones_like", "atleast_1d", "atleast_2d"])
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_lists_and_tuples_are_arrays(name, sequence):
    agree(f"np.{name}({sequence})", "a", LINE)


# spec: N3
@pytest.mark.parametrize(
    "text",
    [
        "np.full_like((1, 2), 7.5)",
        "np.full_like([[1.0], [2.0]], 7)",
        "np.empty_like([[1, 2]]).shape",
        "np.size([1, 2], -1)",
        "np.size((1, 2), 2)",
        "np.sqrt([1.0, 4.0])",
        "np.add((1, 2), [3, 4.5])",
        "np.round((1.25, 2.5), 1)",
        "np.imag([1j, 2])",
        "np.real((1, 2))",
        "np.diff([1, 4, 9])",
        "np.flip((1, 2))",
        "np.array(([1, 2], [3, 4]))",
        "np.array([[[1, 2], [3, 4]]])",
        "np.array([([1, 2], [3, 4]), ([5, 6], [7, 8])])",
        "np.array([[[i + j + k for i in range(2)] for j in range(3)] for k in range(4)])",
        "np.array([[[1, 2], [3]]])",
        "np.array([[[]]])",
    ],
)
def test_functions_of_lists_and_tuples(text):
    agree(text)


# spec: N3
@pytest.mark.parametrize(
    "text", ["np.array([[a, a], [a, b]])", "np.array((a, b))", "np.array([[g], [g]])", "np.array([[g, g[:1]]])"]
)
@pytest.mark.parametrize("other", [LINE, np.ones(1)])
def test_arrays_of_arrays_have_one_shape(text, other):
    agree(text, "a b g", LINE, other, GRID)


# spec: N3
@pytest.mark.parametrize(
    "index", ["(1,)", "[1, 0]", "1", "-1", "()", "((0, 1), (1, 0))", "np.array(1)", "np.array([True])", "1.0", "9"]
)
def test_take_is_not_an_index(index):
    agree(f"a.take({index})", "a", LINE)
    for axis in (0, 1, -1, -2, 2):
        agree(f"np.take(a, {index}, axis={axis})", "a", GRID)


# spec: N3
def test_what_numpy_gives_read_only():
    for shape in ("a.shape", "(6,)", "6", "(2, 6)"):
        agree(f"np.broadcast_to(a, {shape})", "a", LINE)
    for x in (LINE, POINT, MASK, GRID.T):
        agree("np.imag(a)", "a", x)
        agree("a.imag", "a", x)
    for view in ("np.broadcast_to(a, a.shape)", "a.imag"):
        agree("", "a", LINE, body=f"b = {view}\nb[0] = 1")


# spec: N3
@pytest.mark.parametrize(
    "x", [MASK, MASK[:0], NOTHING, NOTHING.astype(int), LINE, np.array([1, 2], "u1"), GRID.astype(int), np.array(1)]
)
def test_bincount(x):
    agree("np.bincount(x)", "x", x)
    agree("np.bincount(x, minlength=4)", "x", x)
    if x.size:
        agree("np.bincount(x, x * 0.5)", "x", x)
        agree("np.bincount(x, 1j * x)", "x", x)
    agree("np.bincount(x, minlength=-1)", "x", x)
    agree("np.bincount([1, 2, 2]), np.bincount((1, 1)), np.bincount([])")


# spec: N3
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i4"])
def test_cov_is_of_doubles(dtype):
    x = np.array([[1, 2, 4], [3, 1, 0]]).astype(dtype)
    agree("np.cov(x)", "x", x)
    agree("np.cov(x[0])", "x", x)


FOLDS = [
    "sum",
    "prod",
    "min",
    "max",
    "any",
    "all",
    "mean",
    "std",
    "var",
    "argmin",
    "argmax",
    "cumsum",
    "ptp",
    "count_nonzero",
]


# spec: N3
@pytest.mark.parametrize("name", FOLDS)
def test_reductions_without_axes(name):
    for axis in ("0", "-1", "1", "()", "(0,)", "None"):
        if (name, axis) != ("cumsum", "()") and (name, axis) != ("cumsum", "(0,)"):
            agree(f"np.{name}(x, axis={axis})", "x", POINT)
    agree(f"np.{name}(x, axis=2)", "x", GRID)
    agree(f"np.{name}(x, axis=-3)", "x", GRID)
    if name not in ("ptp", "count_nonzero"):
        for x in (
            POINT,
            np.array(3),
            np.array(1 + 2j),
            np.array(True),
            np.array(2, "f4"),
            np.float64(2),
            np.array(2, "f2"),
        ):
            agree(f"x.{name}()", "x", x)
    if name != "cumsum":
        agree(f"np.{name}(x, keepdims=True)", "x", POINT)


# spec: N3
def test_an_axis_error_is_numpys():
    f = function("1", ["x"], "try:\n    np.sum(x, axis=5)\nexcept np.exceptions.AxisError:\n    return 2")
    assert f(GRID) == f.py_func(GRID) == 2
    g = function("2", ["x"], "try:\n    np.sum(x, axis=5)\nexcept IndexError:\n    return 3")
    assert g(GRID) == g.py_func(GRID) == 3
    h = function("np.sum(x, axis=5)", ["x", "c"], "if c:\n    return x.sum(axis=0)")
    with pytest.raises(np.exceptions.AxisError, match=r"^axis 5 is out of bounds for array of dimension 2$"):
        h(GRID, False)
    with pytest.raises(np.exceptions.AxisError, match="axis 5 is out of bounds for array of dimension 2"):
        function("np.sum(x, axis=5)", ["x"])(GRID)


# spec: N3
@pytest.mark.parametrize("x", [POINT, LINE, GRID, GRID.T, NOTHING, 5.0, np.float32(2)])
def test_turned_around_and_in_order(x):
    for text in ("np.flip(x)", "np.flip(x, ())", "np.flip(x, 0)", "np.flip(x, (0, 0))", "np.flipud(x)", "np.fliplr(x)"):
        agree(text, "x", x)
    agree("np.asfortranarray(x)", "x", x)
    agree("np.ascontiguousarray(x)", "x", x)


# spec: N3
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16"])
def test_sums_of_negative_zeros(dtype):
    for n in (1, 5, 300, 5000):
        x = np.full((2, n), -0.0).astype(dtype)
        for text in (
            "x.sum(0)",
            "x.sum(1)",
            "x.mean(0)",
            "np.sum(x, keepdims=True)",
            "np.array([x.sum(), x.mean(), x[0].sum()])",
        ):
            agree(text, "x", x)
        if dtype != "c16":
            agree("np.sum(x, axis=0, initial=-0.0)", "x", x)
            agree("np.array([np.sum(x, initial=-0.0), np.sum(x, initial=0.0)])", "x", x)


# spec: N3
def test_sums_of_negative_zeros_on_a_device(device):
    x = np.full((300, 40), -0.0)
    with weft.device_context(device):
        for text in ("np.sum(x * 1)", "np.sum(x * 1, axis=0)", "np.mean(x * 1, axis=1)"):
            assert not np.signbit(function(text, ["x"])(x)).any()


# spec: N3
def test_counts_are_not_rounded():
    many = np.ones(2**24 + 1, np.float32)
    agree("np.mean(x)", "x", many)
    agree("np.mean(x, axis=0, keepdims=True)", "x", many)


# spec: N3
def test_the_variance_of_halves_is_of_halves():
    agree("x.var(), x.std()", "x", np.full(300, 500, "f2"))
    agree("x.var()", "x", (np.arange(7) / 3).astype("f2"))


# spec: N3
def test_bools_are_not_rounded_to_decimals():
    for x in (MASK, True, np.array(True)):
        for decimals in (0, 1, -1):
            agree(f"np.round(x, {decimals})", "x", x)
            agree("np.round(x, n)", "x n", x, decimals)


# spec: N3
def test_a_vector_cannot_become_a_product():
    for x, y in ((LINE, LINE), (LINE, np.eye(6)), (GRID, np.ones((3, 3))), (GRID, np.ones(3))):
        agree("x", "x y", x, y, body="x @= y")


# spec: N9
def test_the_least_int_is_a_power():
    for x, n in ((-2, 63), (-8, 21), (-128, 9), (-1, 101), (2, 62), (-(2**63), 1)):
        f = function("x ** n", ["x", "n"])
        assert f(x, n) == x**n
        assert function(f"x ** {n}", ["x"])(x) == x**n
    for x, n in ((2, 63), (-2, 64), (-4, 32)):
        with pytest.raises(OverflowError):
            function("x ** n", ["x", "n"])(x, n)


# spec: N3
@pytest.mark.parametrize("n", [-1307, -1, 0, 2, 3, 6])
def test_negative_sizes(n):
    for text in (
        "np.tri(n)",
        "np.tri(3, n)",
        "np.tri(n, 3, 1)",
        "np.eye(n)",
        "np.eye(3, n)",
        "np.identity(n)",
        "np.zeros(n)",
        "np.eye(n, order='F')",
    ):
        agree(text, "n", n)
    for text in ("np.tri", "np.eye", "np.identity"):
        agree(f"{text}({n})")
    for shape in ("n", "(n, 2)", "(n, n)", "(n, -1)", "(2, n, -1)"):
        agree(f"x.reshape({shape})", "x n", LINE, n)
        agree(f"np.reshape(x, {shape.replace('n', str(n))})", "x", LINE)
    agree("x.reshape(s)", "x s", LINE, (n, 2))
    agree("x.reshape(s)", "x s", NOTHING, (n, 0))


# spec: N3
def test_steps_that_are_none():
    for text in ("0, 5, None", "5, None, None", "5, step=None", "stop=5", "0, 5, None, np.float32", "0, 5.5, None"):
        agree(f"np.arange({text})")


# spec: N3
@pytest.mark.parametrize("n", [-1, 0, 1, 2, 7])
def test_differences_of_any_order(n):
    for x in (LINE**2, GRID, MASK, LINE.astype("u1"), np.array(1.0)):
        agree("np.diff(x, n)", "x n", x, n)
        agree(f"np.diff(x, {n})", "x", x)
    agree("np.diff(x, n, axis=0)", "x n", GRID, n)


# spec: N3
@pytest.mark.parametrize("x", [POINT, 5, LINE, NOTHING, GRID, np.ones((2, 2, 3))])
def test_triangles(x):
    for text in ("np.tril(x)", "np.triu(x, 1)"):
        agree(text, "x", x)


# spec: D8
def test_what_does_not_fit_is_refused_at_once():
    for text in ("[0] * n", "[0, 1] * n", "n * [(1, 2)]", "[[0]] * n", "np.zeros(n)", "np.eye(n)", "np.ones((n, 2))"):
        for n in (2**40, 2**58, 2**62):
            with pytest.raises((MemoryError, ValueError)):
                function(text, ["n"])(n)
    with pytest.raises(MemoryError):
        function("a", ["n"], "a = [0, 1]\na *= n")(2**58)
    assert function("[0, 1] * n", ["n"])(2) == [0, 1, 0, 1] and function("[(1, 2)] * n", ["n"])(-1) == []


# spec: N3
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c16"])
def test_clip_keeps_the_zeros_of_the_array(dtype):
    x = np.array([-0.0, 0.0, 1.0, np.nan], dtype)
    for bounds in ("0.0, 2.0", "-1.0, 0.0", "-0.0, 0.0", "None, -0.0"):
        agree(f"np.clip(x, {bounds})", "x", x)


# spec: N3
@pytest.mark.parametrize("name", ["vstack", "hstack", "column_stack", "stack", "concatenate"])
def test_arrays_are_their_rows(name):
    for x in (GRID, LINE, MASK, NOTHING, np.ones((2, 2, 2)), POINT):
        agree(f"np.{name}(x)", "x", x)
    agree(f"np.{name}(())")
    if name == "hstack":
        agree("np.hstack((x, 1))", "x", LINE)


# spec: N3
@pytest.mark.parametrize("x", [POINT, 3, np.float32(2), LINE, GRID, [[1, 2], [3, 4]]])
def test_shapes_of_anything(x):
    texts = [
        "transpose(x)",
        "squeeze(x)",
        "squeeze(x, 0)",
        "expand_dims(x, 0)",
        "expand_dims(x, (0, 0))",
        "swapaxes(x, 0, -1)",
    ]
    texts += [
        "reshape(x, -1)",
        "roll(x, 1, 2)",
        "repeat(x, 2, 0)",
        "repeat(x, [2])",
        "repeat(x, 1.5)",
        "tile(x, [2, 1])",
    ]
    for text in texts:
        agree(f"np.{text}", "x", x)


# spec: N3
def test_arrays_without_axes_pick_copies():
    for index in ("np.array(0)", "0", "[]", "()", "[0]", "np.array(1), 1"):
        agree(f"x[{index}]", "x", GRID)


# spec: N3
def test_norms_of_what_has_no_norm():
    for x in (POINT, 3.0, np.ones((2, 2, 2)), np.zeros((0, 3)), NOTHING, LINE, GRID):
        for order in ("", ", 2", ", np.inf", ", None, 0", ", 1"):
            if not (order == ", 2" and np.ndim(x) == 2):
                agree(f"np.linalg.norm(x{order})", "x", x)
