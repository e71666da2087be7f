"""Linear algebra: NumPy's results to rounding, its dtypes, shapes and exceptions."""

import pytest
from test_basic_indexing import check, jit

import numpy as np
import weft
from support import same

RNG = np.random.default_rng(3)


def one(expression):
    """A compiled function of `a`."""
    return jit(f"def f(a):\n    return {expression}\n", "f")


def matrix(n, dtype):
    a = RNG.normal(size=(n, n)) + 3 * np.eye(n)
    return (a + 1j * RNG.normal(size=(n, n))).astype(dtype) if np.dtype(dtype).kind == "c" else a.astype(dtype)


def close(ours, theirs, condition):
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    scale = np.abs(theirs).max(initial=0) * np.finfo(theirs.dtype).eps * 16 * condition
    assert (np.abs(ours - theirs) <= scale).all()


# spec: N3
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_systems(dtype):
    solve = jit("def f(a, b):\n    return np.linalg.solve(a, b)\n", "f")
    for n in (1, 2, 5, 20, 33, 75):
        a, b, m = matrix(n, dtype), RNG.normal(size=n).astype(dtype), RNG.normal(size=(n, 3)).astype(dtype)
        condition = np.linalg.cond(a)
        before = a.copy()
        for x in (a, np.asfortranarray(a), a[::-1, ::-1]):
            close(solve(x, b), np.linalg.solve(x, b), condition)
            close(solve(x, m), np.linalg.solve(x, m), condition)
            close(one("np.linalg.inv(a)")(x), np.linalg.inv(x), condition)
        ours, theirs = one("np.linalg.det(a)")(a), np.linalg.det(a)
        assert type(ours) is type(theirs)
        # Determinants of large matrices are infinite in singles.
        assert ours == theirs or abs(ours - theirs) <= abs(theirs) * np.finfo(dtype).eps * 16 * condition
        good = a @ a.T.conj() + np.eye(n, dtype=dtype)
        condition = np.linalg.cond(good)
        close(one("np.linalg.cholesky(a)")(good), np.linalg.cholesky(good), condition)
        close(one("np.linalg.cholesky(a, upper=True)")(good), np.linalg.cholesky(good, upper=True), condition)
        same(a, before)


# spec: N3
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_large_ones_are_the_same_for_any_number_of_threads(dtype):
    function = jit(
        "def f(a, g, b):\n"
        "    return np.linalg.solve(a, b), np.linalg.solve(a, b[:, 0]), np.linalg.inv(a), np.linalg.cholesky(g)\n",
        "f",
    )
    n = 300
    a = matrix(n, dtype)
    good = a @ a.T.conj() + n * np.eye(n, dtype=dtype)
    b = RNG.normal(size=(n, 40)).astype(dtype)
    ours = function(a, good, b)
    theirs = np.linalg.solve(a, b), np.linalg.solve(a, b[:, 0]), np.linalg.inv(a), np.linalg.cholesky(good)
    for mine, yours in zip(ours[:3], theirs):
        close(mine, yours, np.linalg.cond(a))
    close(ours[3], theirs[3], np.linalg.cond(good))
    threads = weft.config.num_threads
    try:
        for count in (1, 2, 7):
            weft.config.num_threads = count
            for first, again in zip(ours, function(a, good, b)):
                assert first.tobytes() == again.tobytes()
    finally:
        weft.config.num_threads = threads


# spec: N3
def test_stacks():
    a = RNG.normal(size=(2, 3, 4, 4)) + 3 * np.eye(4)
    b, v = RNG.normal(size=(3, 4, 2)), RNG.normal(size=4)
    good = a @ a.transpose(0, 1, 3, 2) + np.eye(4)
    for expression, x in (
        ("np.linalg.inv(a)", a), ("np.linalg.inv(a)", a[:, ::-1]), ("np.linalg.det(a)", a), ("np.linalg.det(a)", a[:0]),
        ("np.linalg.inv(a)", a[0].astype(np.complex64)), ("np.linalg.cholesky(a)", good),
        ("np.linalg.cholesky(a, upper=True)", good), ("np.linalg.inv(a)", np.zeros((2, 0, 0))),
    ):  # fmt: skip
        close(one(expression)(x), eval(expression, {"np": np, "a": x}), 1000)
    solve = jit("def f(a, b):\n    return np.linalg.solve(a, b)\n", "f")
    for x, y in ((a, b), (a, v), (a[0, 0], b), (a[:, :1], b), (a[0], b[0]), (a.astype(np.float32), b.astype(np.int8))):
        close(solve(x, y), np.linalg.solve(x, y), 1000)
    check("def f(a, b):\n    return np.linalg.solve(a, b)\n", np.zeros((3, 2, 2)), np.zeros((4, 2, 2)))
    check("def f(a, b):\n    return np.linalg.solve(a, b)\n", np.zeros((3, 2, 2)), np.zeros(3))


# spec: N3
def test_of_no_size_and_no_rank():
    for expression in ("np.linalg.inv(a)", "np.linalg.det(a)", "np.linalg.cholesky(a)", "np.linalg.solve(a, a)"):
        nothing = np.zeros((0, 0))
        same(one(expression)(nothing), eval(expression, {"np": np, "a": nothing}))
        check(f"def f(a):\n    return {expression}\n", np.zeros(3))


# spec: N3
def test_determinants_beyond_the_range_on_the_way():
    for diagonal in ([1e200, 1e200, 1e-300], [1e-200, 1e-200, 1e300], [1e200, 1e200], [1e-200, 1e-200, 1.0]):
        for dtype in (np.float64, np.complex128):
            a = np.diag(diagonal).astype(dtype)
            ours, theirs = one("np.linalg.det(a)")(a), np.linalg.det(a)
            assert type(ours) is type(theirs)
            assert ours == theirs or abs(ours - theirs) <= 1e-12 * abs(theirs) or not np.isfinite(abs(theirs))


# spec: N3
def test_only_one_half_is_read():
    good = np.array([[4.0, 99.0], [2.0, 5.0]])
    close(one("np.linalg.cholesky(a)")(good), np.linalg.cholesky(good), 10)
    close(one("np.linalg.cholesky(a, upper=True)")(good.T), np.linalg.cholesky(good.T, upper=True), 10)


# spec: N3
def test_what_is_no_number():
    a = np.eye(3)
    a[1, 1] = np.nan
    for expression in ("np.linalg.inv(a)", "np.linalg.det(a)"):
        ours, theirs = one(expression)(a), eval(expression, {"np": np, "a": a})
        assert np.isnan(ours).any() and np.isnan(theirs).any()
    with pytest.raises(np.linalg.LinAlgError):
        one("np.linalg.cholesky(a)")(a)


# spec: N3
def test_pivots():
    a = np.array([[0.0, 2, 1], [1, 0, 0], [3, 1, 0]])
    close(one("np.linalg.inv(a)")(a), np.linalg.inv(a), 10)
    whole = np.array([[2, 1], [1, 3]])
    close(one("np.linalg.inv(a)")(whole), np.linalg.inv(whole), 10)


# spec: N3
def test_what_has_no_solution():
    bad = np.zeros((2, 2))
    for expression in ("np.linalg.inv(a)", "np.linalg.solve(a, a)", "np.linalg.cholesky(a - 1.0)"):
        with pytest.raises(np.linalg.LinAlgError) as theirs:
            eval(expression, {"np": np, "a": bad})
        with pytest.raises(np.linalg.LinAlgError) as ours:
            one(expression)(bad)
        assert str(ours.value) == str(theirs.value)
    check("def f(a):\n    return np.linalg.inv(a)\n", np.zeros((2, 3)))
    check("def f(a, b):\n    return np.linalg.solve(a, b)\n", np.eye(3), np.ones((2, 2)))


CAUGHT = """
def f(a):
    try:
        return np.linalg.inv(a)[0, 0]
    except np.linalg.LinAlgError:
        return -1.0
"""


# spec: N3
def test_singular_matrices_can_be_caught():
    function = jit(CAUGHT, "f")
    assert function(np.zeros((2, 2))) == -1.0
    assert function(2 * np.eye(2)) == 0.5


# spec: N3
def test_norms():
    m, v = RNG.normal(size=(3, 4)), RNG.normal(size=5)
    for arguments in (
        "", "axis=1", "axis=0, keepdims=True", '"fro"', "1", "np.inf", "-1", "-np.inf", "1, axis=1",
    ):  # fmt: skip
        check(f"def f(a):\n    return np.linalg.norm(a, {arguments})\n", m)
    for arguments in ("", "1", "np.inf", "3", "0", "-np.inf", "2"):
        check(f"def f(a):\n    return np.linalg.norm(a, {arguments})\n", v)
    check("def f(a):\n    return np.linalg.norm(a)\n", m + 1j * m)


# spec: N3
def test_covariance():
    m = RNG.normal(size=(4, 30))
    for arguments in ("a", "a, rowvar=False", "a, bias=True", "a, ddof=2", "a[0]"):
        expression = f"np.cov({arguments})"
        ours, theirs = one(expression)(m), eval(expression, {"np": np, "a": m})
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() <= 64 * np.finfo(float).eps * np.abs(theirs).max()


# spec: N3
@pytest.mark.usefixtures("threads_kept")
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("n", [2, 31, 33, 50, 128, 129, 161])
def test_any_number_of_right_sides(n, dtype):
    """As many as fill a register or a stripe of columns, and one more or less; also where numbers are tiny or huge."""
    solve = jit("def f(a, b):\n    return np.linalg.solve(a, b)\n", "f")
    a = matrix(n, dtype)
    for columns in (2, 4, 5, 8, 9, 16, 17, 31, 32, 33, 65, 150, 200):
        b = (RNG.normal(size=(n, columns)) * 10.0 ** RNG.integers(-100, 100, columns)).astype(dtype)
        ours, theirs = solve(a, b), np.linalg.solve(a, b)
        for mine, other in zip(ours.T, theirs.T):
            close(mine, other, np.linalg.cond(a))
        for threads in (1, 2, 7):
            weft.set_num_threads(threads)
            assert solve(a, b).tobytes() == ours.tobytes()
    scales = 10.0 ** np.linspace(-140, 140, n)
    close(solve(a * scales[:, None], b * scales[:, None]), theirs, np.linalg.cond(a) * n)
