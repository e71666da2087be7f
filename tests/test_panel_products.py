"""Products of a vector and a matrix, one in each turn of a loop, are products of matrices for many turns at a time.

Where a turn may write what a later one reads, each has its own. Numbers are small and whole, so every order of sums
gives the same ones.
"""

import copy

import pytest

import numpy as np
import weft
from support import agree, function, loops_left, outcome

pytestmark = pytest.mark.usefixtures("threads_kept")

NAMES = ["x", "w", "out"]

# `x` has n rows of k elements, `w` n rows and k columns too, `out` n rows and n columns.
PANELS = {
    "matrix second": "for i in range(len(x)):\n    out[i] = x[i] @ w.T",
    "matrix first": "for i in range(len(x)):\n    out[i] = w @ x[i]",
    "np.dot": "for i in range(len(x)):\n    out[i] = np.dot(w, x[i])",
    "columns": "for j in range(min(x.shape)):\n    out[j] = (x[:, j] @ w).sum()",
    "from the turn on": "for i in range(len(x)):\n    out[i, i:] = out[i:, i] = x[i] @ w[i:].T",
    "after the turn": "for i in range(len(x) - 1):\n    out[i, i + 1:] = x[i] @ w[i + 1:].T",
    "up to the turn": "for i in range(len(x)):\n    out[i, :i] = x[i] @ w[:i].T",
    "up to the turn, matrix first": "for i in range(len(x)):\n    out[:i + 1, i] = w[:i + 1] @ x[i]",
    "with itself": "for i in range(len(x)):\n    out[i, i:] = x[i] @ x[i:].T",
    "with a part of itself": "for i in range(len(x)):\n    out[i, :] = x[i, 2:] @ x[:, 2:].T",
    "downwards, cut": "for i in range(len(x)):\n    out[i, len(x) - i:] = x[i] @ w[len(x) - i:].T",
    "something of it": "for i in range(len(x)):\n    out[i] = np.maximum(x[i] @ w.T, 0) - 1",
    "a sum of it": "t = 0.0\nfor i in range(len(x)):\n    t += (x[i] @ w.T).sum() * i\nout[0] = t",
    "two of them": "for i in range(len(x)):\n    out[i] = x[i] @ w.T + w @ w[i]",
    "in the row that it was made of": "for i in range(len(x)):\n    x[i] = (x[i] @ out[:x.shape[1], :x.shape[1]]) % 5",
    "a bound of its own": "for i in range(3, len(x) - 2):\n    out[i] = w @ x[i]",
    "an index that may not be there": "for i in range(x.shape[1] + len(x) - len(out)):\n    out[i] = w @ x[i]",
    "it is changed": "for i in range(len(x)):\n    t = w @ x[i]\n    t += 1\n    out[i] = t",
    "every second": "for i in range(0, len(x), 2):\n    out[i] = w @ x[i]",
}
ALONE = {
    "the matrix changes": "for i in range(len(x)):\n    out[i] = w @ x[i]\n    w[i] = 1",
    "the next row changes": "for i in range(len(x) - 1):\n    out[i] = w @ x[i]\n    x[i + 1, 0] = i % 3",
    "it is kept": "t = w @ x[0] if len(x) else out.sum(axis=0)\nfor i in range(len(x)):\n    t = w @ x[i]\nout[0] = t",
    "another row": "for i in range(len(x)):\n    out[i] = w @ x[i // 2]",
    "leaves": "for i in range(len(x)):\n    out[i] = w @ x[i]\n    if out[i, 0] > 3:\n        break",
    "on a condition": "for i in range(len(x)):\n    if i % 3:\n        out[i] = w @ x[i]",
    "sums of different lengths": "for i in range(1, len(x)):\n    out[i] = w[:, :i] @ x[i, :i]",
}
SHAPES = [(0, 3), (1, 40), (15, 20), (16, 20), (40, 30), (300, 25), (260, 200)]


def arguments(shape, dtype=np.float64):
    """Small whole numbers in every array, so that no sum is rounded."""
    rng = np.random.default_rng(shape)
    made = [rng.integers(-3, 4, size).astype(dtype) for size in (shape, shape, (shape[0], shape[0]))]
    if dtype == np.complex128:
        made = [a + 1j * rng.integers(-3, 4, a.shape) for a in made]
    return made


# spec: N7
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*PANELS, *ALONE])
def test_as_numpy_has_it(name, shape):
    """Whether products are made for many turns or not, results and exceptions are NumPy's."""
    agree(function("None", NAMES, {**PANELS, **ALONE}[name]), arguments(shape))


# spec: N7
@pytest.mark.parametrize("name", [*PANELS, *ALONE])
def test_what_becomes_a_panel(name):
    """Products are made for many turns where no turn can see what another one wrote, and nowhere else."""
    f = function("None", NAMES, {**PANELS, **ALONE}[name])
    outcome(f, arguments((40, 30)))
    # A loop of panels with the iterations of one inside; or no loop at all, where iterations are independent.
    is_panel = f.inspect("fused").count("scf.for") == 2 and loops_left(f) > 0
    assert (is_panel or loops_left(f) == 0) == (name in PANELS)


# spec: N7
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128])
@pytest.mark.parametrize("name", ["matrix second", "matrix first", "from the turn on"])
def test_every_dtype(name, dtype):
    """Of every dtype that a product has."""
    agree(function("None", NAMES, PANELS[name]), arguments((150, 30), dtype))


# spec: N7
@pytest.mark.parametrize("name", ["matrix second", "matrix first", "from the turn on"])
@pytest.mark.parametrize("shift", [0, 1, 30])
def test_arrays_that_share_memory(name, shift):
    """What a turn writes into its own factors is seen by the next turns."""
    f = function("None", NAMES, PANELS[name])

    def given():
        room = np.arange(60 * 60) % 7 - 3.0
        w, out = (room[k * shift : k * shift + 1600].reshape(40, 40) for k in (0, 1))
        return [np.arange(1600).reshape(40, 40) % 3 - 1.0, w, out]

    # Results grow from turn to turn: as bits, since whole numbers are exact only so far.
    for threads in (1, 2):
        weft.set_num_threads(threads)
        have, want = given(), given()
        with np.errstate(all="ignore"):
            f(*have)
            f.py_func(*want)
        np.testing.assert_allclose(have[2], want[2], rtol=1e-9)


# spec: N7
@pytest.mark.parametrize("change", [np.asfortranarray, lambda a: a[::-1, ::-1], lambda a: np.repeat(a, 2, 1)[:, ::2]])
@pytest.mark.parametrize("name", ["matrix second", "matrix first", "from the turn on", "up to the turn"])
def test_any_layout(name, change):
    """Matrices need not be in C order."""
    x, w, out = arguments((140, 30))
    agree(function("None", NAMES, PANELS[name]), [change(x), change(w), out])


# spec: N3
def test_sizes_that_differ_raise_in_the_turn():
    """No product reads past the end of a matrix before the loop has found that it is too small."""
    f = function("None", NAMES, PANELS["matrix first"])
    for rows, size in ((30, 31), (31, 30), (20, 20000)):
        agree(f, [np.ones((40, size)), np.ones((40, rows)), np.zeros((40, 40))])
        agree(f, [np.ones((0, size)), np.ones((40, rows)), np.zeros((0, 40))])


# spec: N3
@pytest.mark.parametrize("name", ["matrix second", "matrix first", "from the turn on"])
def test_bits_do_not_depend_on_threads(name):
    """One, two and seven threads give the same bits."""
    f = function("None", NAMES, PANELS[name])
    rng = np.random.default_rng(3)
    given = [rng.normal(size=size) for size in ((300, 500), (300, 500), (300, 300))]
    results = []
    for threads in (1, 2, 7):
        weft.set_num_threads(threads)
        results.append(copy.deepcopy(given))
        f(*results[-1])
    assert len({made[2].tobytes() for made in results}) == 1


# spec: N7
def test_few_columns_of_many_are_computed_in_the_turn():
    """Where turns need a narrow band, a panel of all columns would be work for nothing: each computes its own."""
    body = "for i in range(len(x)):\n    k = max(i - 1, 0)\n    out[i, k:i + 2] = x[i] @ w[k:i + 2].T"
    agree(function("None", NAMES, body), arguments((300, 40)))
