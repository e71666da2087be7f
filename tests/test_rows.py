"""Statements that reduce rows and use what came out for the same rows: they go over blocks of rows together.

What a row gives must not depend on the others: the bits are those of the row alone, for any number of threads.
"""

import pytest

import numpy as np
import weft
from support import function

pytestmark = pytest.mark.usefixtures("threads_kept")

THREADS = (1, 2, 7)

# A body and what is returned. Rows are all axes of `x` but the last; `v` has as many elements as a row.
TOGETHER = {
    "softmax": (
        "e = np.exp(x - x.max(axis=-1, keepdims=True))\ns = e.sum(axis=-1, keepdims=True)",
        "e / s",
    ),
    "to mean 0 and variance 1": (
        "d = x - x.mean(axis=-1)[..., None]\ns = np.sqrt((d * d).mean(axis=-1) + 1e-5)",
        "d / s[..., None]",
    ),
    "to length 1": ("", "x / np.sqrt((x * x).sum(axis=-1))[..., None]"),
    "two reductions of one array": ("low = x.min(axis=-1)\nhigh = x.max(axis=-1)", "high - low"),
    "what is reduced is returned too": ("e = np.exp(x)", "e, e.sum(axis=-1)"),
    "everything is returned": ("s = x.sum(axis=-1)\nd = x - s[..., None]", "d, s, d.max(axis=-1), d * 2"),
    "two results of one loop": ("s = x.sum(axis=-1)[..., None]\na = x * s\nb = x / s", "a, b, (a + b).sum(axis=-1)"),
    "a vector for all rows": ("d = x * v - x.sum(axis=-1, keepdims=True)", "d, d.sum(axis=-1)"),
    "where the largest is": ("k = x.argmax(axis=-1)\nd = x - x.max(axis=-1, keepdims=True)", "k, d, k * 2"),
    "positions in the row": ("p = x * np.arange(x.shape[-1])\ns = p.sum(axis=-1, keepdims=True)", "p / (s + 1)"),
    "a truth": ("m = x > v\nn = m.sum(axis=-1)", "m, n, (x * m).sum(axis=-1) / (n + 1)"),
    "in a loop": (
        "y = x\n"
        "for t in range(3):\n"
        "    y = y - y.mean(axis=-1, keepdims=True)\n"
        "    y = y / (1 + np.abs(y).max(axis=-1, keepdims=True))",
        "y",
    ),
    "in other numbers": ("y = x.astype(np.float32)\ns = y.sum(axis=-1)", "y / s[..., None], s"),
}

# Rows need others, or there is nothing to gain.
APART = {
    "one reduction": ("", "x.sum(axis=-1)"),
    "no reduction": ("y = x + 1", "y * y"),
    "another row": ("s = x.sum(axis=-1)", "x - s[::-1][..., None]"),
    "the other axis": ("s = x.sum(axis=0)", "x - s"),
    "all of it": ("s = x.sum()", "x - s"),
}

# Of square matrices, whose rows are as many as their columns: axes are told apart by where they are.
SQUARE = {
    "a row of what rows give": ("", "x - x.mean(axis=1)"),
    "both ways": ("s = x.sum(axis=1)", "x - s, x - s[:, None]"),
    "rows and columns": ("m = x.mean(axis=1)\nk = x.mean(axis=0)", "x - m[:, None] - k + x.mean()"),
    "columns first": ("t = x.sum(axis=0)\ns = (x - t).sum(axis=1)", "s, x - s[:, None]"),
    "a vector both ways": ("s = x.sum(axis=1) + v", "x * v - s[:, None], s"),
    "a vector from the side": ("d = x * v[:, None] + v", "d, d.max(axis=1), d - v"),
    "what was turned": ("s = x.max(axis=1)", "x - s[:, None], x.T - s, (x.T - s[:, None]).sum(axis=1)"),
}

COMPILED = {name: function(text, "xv", body) for name, (body, text) in (TOGETHER | APART | SQUARE).items()}
SHAPES = [(1, 1), (3, 1), (1, 9), (40, 7), (17, 64), (9, 1000), (5000, 3), (700, 130), (4, 5, 6), (30, 2, 300),
          (2, 3, 4, 5)]  # fmt: skip


def parts(results):
    return results if isinstance(results, tuple) else (results,)


def close(ours, theirs):
    return np.allclose(ours, theirs, rtol=1e-5 if ours.itemsize == 4 else 1e-12, atol=1e-12)


# spec: N3, N7
@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_computed_as_if_alone(name, shape):
    f = COMPILED[name]
    rng = np.random.default_rng(len(shape))
    x, v = rng.uniform(0.5, 1.5, size=shape), rng.uniform(0.5, 1.5, size=shape[-1])
    expected = parts(f.py_func(x, v))
    rows = x.reshape(-1, shape[-1])
    for threads in THREADS:
        weft.set_num_threads(threads)
        got = parts(f(x, v))
        for ours, theirs in zip(got, expected, strict=True):
            assert (ours.dtype, ours.shape, ours.strides) == (theirs.dtype, theirs.shape, theirs.strides)
            assert close(ours, theirs)
        for k in {0, len(rows) // 2, len(rows) - 1}:
            alone = parts(f(rows[k : k + 1], v))
            for ours, one in zip(got, alone, strict=True):
                assert ours.reshape(len(rows), -1)[k].tobytes() == one.tobytes()


# spec: N6, N7
@pytest.mark.parametrize("name", TOGETHER)
def test_empty_arrays_and_other_layouts(name):
    f = COMPILED[name]
    rng = np.random.default_rng(3)
    for x in [
        np.zeros((0, 5)),
        np.zeros((0, 3, 5)),
        np.asfortranarray(rng.uniform(0.5, 1.5, size=(40, 30))),
        rng.uniform(0.5, 1.5, size=(30, 40)).T,
        rng.uniform(0.5, 1.5, size=(80, 90))[::2, ::3],
        rng.uniform(0.5, 1.5, size=(20, 30, 40)).transpose(1, 0, 2),
    ]:
        v = rng.uniform(0.5, 1.5, size=x.shape[-1])
        for ours, theirs in zip(parts(f(x, v)), parts(f.py_func(x, v)), strict=True):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            assert close(ours, theirs)


# spec: N3, N7
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("name", SQUARE)
def test_rows_and_columns_of_one_size(name, order):
    f = COMPILED[name]
    for n in (1, 2, 95, 128, 300):
        rng = np.random.default_rng(n)
        x, v = np.array(rng.uniform(0.5, 1.5, size=(n, n)), order=order), rng.uniform(0.5, 1.5, size=n)
        for ours, theirs in zip(parts(f(x, v)), parts(f.py_func(x, v)), strict=True):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            assert close(ours, theirs)


# spec: N3
@pytest.mark.parametrize("name", ["softmax", "where the largest is", "two reductions of one array"])
def test_rows_of_nothing_raise_as_numpy_does(name):
    f, x, v = COMPILED[name], np.zeros((4, 0)), np.zeros(0)
    with pytest.raises(ValueError) as theirs:
        f.py_func(x, v)
    with pytest.raises(ValueError) as ours:
        f(x, v)
    assert str(ours.value) == str(theirs.value)


# spec: N7
def test_rows_go_together_where_it_pays():
    for name, (body, text) in (TOGETHER | APART).items():
        f = function(text, "xv", body)
        f(np.ones((64, 32)), np.ones(32))
        assert ("par.blocks" in f.inspect("fused")) == (name in TOGETHER), name


# spec: N7
def test_temporaries_have_the_size_of_a_block():
    f = COMPILED["softmax"]
    x = np.ones((64, 100_000))
    f(x, x[0])
    fused = f.inspect("fused")
    before, inside = fused.split("par.blocks")
    assert before.count("nt.alloc") == 1 and "nt.elementwise" not in before
    assert inside.count("nt.elementwise") == 2
