"""Loops whose iterations find numbers and then change a column: all of them are batched (`raise`).

Where an iteration could see what a later one changes or stores, the loop stays. Numbers are small and whole, so
every order of sums gives the same ones.
"""

import pytest

import numpy as np
import weft
from support import agree, function, loops_left, outcome

pytestmark = pytest.mark.usefixtures("threads_kept")

NAMES = ["a", "q", "r", "s"]
LOOP = "for j in range(1, a.shape[1]):\n"

# `a` is a matrix, `q` has an element for each of its rows, `r` and `s` one for each of its columns.
BATCHED = {
    "stored, and read again": "    r[j] = np.dot(q, a[:, j]) % 5\n    a[:, j] -= q * r[j]",
    "kept": "    t = np.dot(q, a[:, j]) % 5\n    r[j] = t\n    a[:, j] -= q * t",
    "only kept": "    t = np.dot(q, a[:, j]) % 5\n    a[:, j] -= q * t",
    "twice": "    r[j] = np.dot(q, a[:, j]) % 5\n    a[:, j] -= q * r[j]\n    a[1:, j] = a[1:, j] * 2 - q[1:]",
    "parts": "    r[j] = np.dot(q[2:], a[2:, j]) % 5\n    a[1::2, j] += q[1::2] * r[j]",
    "backwards": "    r[j] = s[j] * j\n    a[::-1, j] = q * r[j]",
    "numbers of four kinds": "    r[j] = j\n    t = s[j] % 3\n    a[:, j] = q * r[j] + s[j] - t * len(q)",
    "no dot": "    r[j] += s[j]\n    a[:, j] += q - r[j]",
    "what it reads of its own column": "    r[j] = a[:, j].sum() % 5\n    a[:, j] = a[:, j] * r[j]",
    "a number in the whole column": "    r[j] = 2 * s[j]\n    a[:, j] += r[j]",
    "a store of the turn before": "    r[j] = np.dot(q, a[:, j]) % 5\n    a[:, j] -= q * r[j - 1]",
    "a vector made before": "    v = q[::-1]\n    r[j] = s[j]\n    a[:, j] += v * r[j]",
    "the column before": "    r[j] = a[:, j].sum() % 5\n    a[:, j - 1] -= q * r[j]",
    "a change before the number": "    a[:, j] -= q\n    r[j] = np.dot(q, a[:, j]) % 5",
}
LOOPS = {
    "a number of the column before": "    r[j] = np.dot(q, a[:, j - 1]) % 5\n    a[:, j] -= q * r[j]",
    "a store that later turns overwrite": "    r[-1] = np.dot(q, a[:, j]) % 5\n    a[:, j] -= q * r[-1]",
    "what the change is made of": "    q[:] = j\n    r[j] = s[j]\n    a[:, j] -= q * r[j]",
    "columns that read each other": "    r[j] = j\n    a[:, j] = a[:, j - 1] + r[j]",
    "a way out": "    r[j] = np.dot(q, a[:, j]) % 5\n    a[:, j] -= q * r[j]\n    if r[j] == 2:\n        break",
    "on a condition": "    r[j] = s[j] * j\n    if j % 2:\n        a[:, j] = q * r[j]",
    "one that may be outside": "    r[j] = s[j] * 2\n    a[:, j] += q * r[j + 1]",
    "an element that the next turn stores": "    r[j - 1] = np.dot(q, a[:, j]) % 5\n    a[:, j] -= q * r[j]",
    "an element that the turn before stores": "    s[j - 1] = r[j]\n    r[j] = s[j]\n    a[:, j] -= q * s[j]",
}
SHAPES = [(0, 5), (3, 1), (3, 2), (3, 3), (20, 17), (7, 40), (300, 90)]


def arguments(shape, dtype=np.float64):
    """Small whole numbers in every array, so that no sum is rounded."""
    rng = np.random.default_rng(shape)
    made = [rng.integers(-3, 4, size).astype(dtype) for size in (shape, shape[0], shape[1], shape[1])]
    return made


# spec: N7
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*BATCHED, *LOOPS])
def test_as_numpy_has_it(name, shape):
    """Whether a loop is batched or not, what it leaves is NumPy's."""
    f = function("None", NAMES, LOOP + {**BATCHED, **LOOPS}[name])
    agree(f, arguments(shape))


# spec: N7
@pytest.mark.parametrize("name", [*BATCHED, *LOOPS])
def test_what_is_batched(name):
    """No loop is left where no iteration can see what a later one changes or stores, and nowhere else."""
    f = function("None", NAMES, LOOP + {**BATCHED, **LOOPS}[name])
    outcome(f, arguments((20, 17)))
    assert (loops_left(f) == 0) == (name in BATCHED)


# spec: N7
@pytest.mark.parametrize("name", ["stored, and read again", "kept", "no dot"])
def test_arrays_that_share_memory(name):
    """Calls whose arrays are one have code of their own."""
    f = function("None", NAMES, LOOP + BATCHED[name])
    rng = np.random.default_rng(1)
    for start in range(3):
        room = [rng.integers(-2, 3, 400).astype(float)] * 2
        have, want = room[0].copy(), room[1].copy()
        for run, whole in ((f, have), (f.py_func, want)):
            a = whole[start : start + 60].reshape(6, 10)
            with np.errstate(all="ignore"):
                run(a, a[:, 3], whole[30:40], a[2])
        np.testing.assert_array_equal(have, want)


# spec: N3
def test_bits_do_not_depend_on_threads():
    """One, two and seven threads give the same bits; so do float32 and layouts of other orders what NumPy gives."""
    f = function("None", NAMES, LOOP + BATCHED["stored, and read again"])
    rng = np.random.default_rng(3)
    given = [rng.normal(size=(700, 300)), rng.normal(size=700), np.zeros(300), np.zeros(300)]
    bits = set()
    for threads in (1, 2, 7):
        weft.set_num_threads(threads)
        mine = [array.copy() for array in given]
        f(*mine)
        bits.add(mine[0].tobytes() + mine[2].tobytes())
    assert len(bits) == 1
    for change in (np.asfortranarray, lambda a: a[::-1, ::-1], lambda a: np.repeat(a, 2, 1)[:, ::2]):
        a, *others = arguments((30, 20), np.float32)
        agree(f, [change(a), *others])


# spec: N7
@pytest.mark.parametrize("name", ["stored, and read again", "only kept"])
def test_loops_without_turns(name):
    """Nothing is computed for them, however far apart their ends are."""
    loop = "for j in range(max(k, 0), min(m, a.shape[1])):\n"
    f = function("None", [*NAMES, "k", "m"], loop + BATCHED[name])
    for k, m in ((0, 17), (5, 5), (9, 2), (0, -1), (2**62 + 5, -(2**63)), (-(2**63), 3), (2**63 - 1, 17)):
        agree(f, [*arguments((20, 17)), k, m])
