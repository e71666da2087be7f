"""`weft.generic`: contractions by iterators, maps and a body."""

import pytest

import numpy as np
import weft
from support import same

pytestmark = pytest.mark.usefixtures("overloads_undone")


# spec: N4
def test_the_numpy_dot_of_the_slides():
    @weft.overload(np.dot)
    def dot(a, b):
        iterators = ("parallel", "parallel", "reduction")
        expr1 = "(d0,d1,d2) -> (d0,d2)"
        expr2 = "(d0,d1,d2) -> (d2,d1)"
        expr3 = "(d0,d1,d2) -> (d0,d1)"
        init = np.zeros((a.shape[0], b.shape[1]), a.dtype)

        def body(a, b, c):
            return a * b + c

        return weft.generic((a, b), init, iterators, (expr1, expr2, expr3), body)

    def product(a, b):
        return np.dot(a, b)

    compiled = weft.njit(product)
    rng = np.random.default_rng(0)
    for dtype in (np.int32, np.int64, np.float32, np.float64, np.complex128):
        a, b = rng.integers(-9, 9, (5, 7)).astype(dtype), rng.integers(-9, 9, (7, 6)).astype(dtype)
        same(compiled(a, b), product(a, b))
        same(compiled(b.T[:, ::-1], a.T[::-1]), product(b.T[:, ::-1], a.T[::-1]))
    with pytest.raises(ValueError, match="iterator d2 has the sizes 7 and 6"):
        compiled(np.ones((5, 7)), np.ones((6, 5)))


def many(x, y):
    out = np.zeros(3)
    pairs = weft.generic(
        (x, y),
        np.full((x.shape[0], y.shape[0]), np.inf),
        ("parallel", "parallel", "reduction"),
        ("(i, j, k) -> (i, k)", "(i, j, k) -> (j, k)", "(i, j, k) -> (i, j)"),
        lambda a, b, best: min(best, abs(a - b)),
    )
    # Nothing but reductions: one element.
    total = weft.generic((x,), np.array(1.0), ("reduction", "reduction"), ("(i, j) -> (j, i)", "(i, j) -> ()"), fold)
    # No reduction, and a result whose axes are turned.
    turned = weft.generic(
        (x,), out[:, None] * x[:1], ("parallel", "parallel"), ("(i, j) -> (i, j)", "(i, j) -> (i, j)"), fold
    )
    swapped = weft.generic(
        (x,), np.zeros((4, 3)), ("parallel", "parallel"), ("(i, j) -> (i, j)", "(i, j) -> (j, i)"), fold
    )
    rows = weft.generic(
        (x, y[0]), out, ("parallel", "reduction"), ("(i, j) -> (i, j)", "(i, j) -> (j)", "(i, j) -> (i)"), three
    )
    return pairs, total, turned, swapped, rows, out


def fold(a, c):
    return a + 2 * c


def three(a, b, c):
    return c * 0.5 + a * b


# spec: N4
def test_compiled_is_what_it_is_outside():
    rng = np.random.default_rng(1)
    for x, y in (
        (rng.normal(size=(3, 4)), rng.normal(size=(5, 4))),
        (rng.normal(size=(4, 3)).T, rng.normal(size=(5, 8))[:, ::2]),
    ):
        same(weft.njit(many)(x, y), many(x, y), ulps=0)


# spec: N4
def test_bits_do_not_depend_on_threads():
    @weft.njit
    def f(a, b):
        init = np.zeros((a.shape[0], b.shape[1]))
        maps = ("(i, j, k) -> (i, k)", "(i, j, k) -> (k, j)", "(i, j, k) -> (i, j)")
        return weft.generic((a, b), init, ("parallel", "parallel", "reduction"), maps, lambda a, b, c: a * b + c)

    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(40, 30)), rng.normal(size=(30, 500))
    first = f(a, b)
    assert (np.abs(first - a @ b) <= 30 * np.finfo(float).eps * (np.abs(a) @ np.abs(b))).all()
    assert {f(a, b).tobytes() for _ in range(5)} == {first.tobytes()}


def call(a, iterators, maps, body):
    return weft.generic((a,), np.zeros(3), iterators, maps, body)


GOOD = ("(i, j) -> (i, j)", "(i, j) -> (i)")


# spec: N4
@pytest.mark.parametrize(
    ("iterators", "maps", "message"),
    [
        (("parallel", "sequential"), GOOD, "is no kind of iterator"),
        (("parallel", "reduction"), GOOD[:1], "needs a map for each input and one for the result: 2, not 1"),
        (("parallel", "reduction"), ("(i, j) -> (i, k)", GOOD[1]), "is no map of 2 iterators"),
        (("parallel", "reduction"), ("i, j -> i, j", GOOD[1]), "is no map of 2 iterators"),
        (("parallel", "reduction"), ("(i, j) -> (i, i)", GOOD[1]), "is no map of 2 iterators"),
        (("parallel",), GOOD, "is no map of 1 iterators"),
        (("parallel", "parallel"), GOOD, "must name each parallel iterator once"),
        (("parallel", "reduction"), ("(i, j) -> (i)", GOOD[1]), "has 1 axes, its array"),
        (
            ("parallel", "reduction", "reduction"),
            ("(i, j, k) -> (i, j)", "(i, j, k) -> (i)"),
            "iterator d2, so it has no",
        ),
    ],
)
def test_what_is_refused(iterators, maps, message):
    for function in (call, weft.njit(call)):
        with pytest.raises(ValueError, match=message):
            function(np.ones((3, 4)), iterators, maps, fold)


# spec: N4
def test_what_it_takes():
    with pytest.raises(weft.TypingError, match="tuple of constant strings"):
        weft.njit(call)(np.ones((3, 4)), 3, GOOD, fold)
    with pytest.raises(ValueError, match="iterator d0 has the sizes 4 and 3"):
        weft.njit(call)(np.ones((4, 4)), ("parallel", "reduction"), GOOD, fold)
