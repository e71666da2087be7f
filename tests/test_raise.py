"""Loops of array statements whose iterations are independent become array statements (`weft-passes/src/raise`).

Whether one did is read off what stands behind the pass; what it computes is compared with CPython. Elements are small
integers held in floats where sums may be done in another order.
"""

# spec: N7, A4

import random

import pytest

import numpy as np
import weft
from support import loops_left, same


def ints(*shape, seed=0):
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(float)


def distances(x, y):
    d = np.empty((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        d[i] = np.sqrt(((x[i] - y) ** 2).sum(axis=1))
    return d


def product_by_dots(a, b):
    c = np.empty((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = np.dot(a[i], b[:, j])
    return c


def product_columns_first(a, b):
    c = np.empty((a.shape[0], b.shape[1]))
    for j in range(b.shape[1]):
        for i in range(a.shape[0]):
            c[i, j] = a[i] @ b[:, j]
    return c


def product_by_rows(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        c[i] = a[i] @ b
    return c


def product_by_columns(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for j in range(b.shape[1]):
        c[:, j] = a @ b[:, j]
    return c


def rows_in_place(a):
    for i in range(a.shape[0]):
        a[i] -= a[i].sum()
    return a


def columns_in_place(a):
    for j in range(a.shape[1]):
        a[:, j] *= a[:, j].max()
    return a


def windows(img, w):
    out = np.empty((img.shape[0] - w.shape[0] + 1, img.shape[1] - w.shape[1] + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = (img[i : i + w.shape[0], j : j + w.shape[1]] * w).sum()
    return out


def moving_sums(x, k):
    out = np.zeros(len(x) - k + 1)
    for i in range(len(x) - k + 1):
        out[i] = x[i : i + k].sum()
    return out


def with_counter(x):
    out = np.empty(x.shape)
    for i in range(x.shape[0]):
        out[i] = x[i] * i + np.arange(x.shape[1]) - 2 * i
    return out


def with_scalars(x, s):
    out = np.empty(x.shape)
    for i in range(x.shape[0]):
        scale = s[i] * 2.0 + x[i, 0]
        out[i] = x[i] * scale - s[i]
    return out


def other_rows(x):
    out = np.zeros(x.shape)
    for i in range(1, x.shape[0] - 1):
        out[i] = x[i - 1] + x[i + 1] - 2 * x[i]
    return out


def own_temporary(x):
    out = np.empty(x.shape)
    for i in range(x.shape[0]):
        t = np.zeros(x.shape[1])
        t[1:] = x[i, :-1]
        t[0] = i
        out[i] = t + x[i]
    return out


def softmax_rows(x):
    out = np.empty(x.shape)
    for i in range(x.shape[0]):
        e = np.exp(x[i] - x[i].max())
        out[i] = e / e.sum()
    return out


def planes(x, w):
    out = np.empty((x.shape[0], x.shape[1]))
    for i in range(x.shape[0]):
        out[i] = (x[i] * w).sum(axis=1)
    return out


def planes_across(x):
    out = np.empty((x.shape[0], x.shape[2]))
    for i in range(x.shape[0]):
        out[i] = x[i].sum(axis=0)
    return out


def repeats(x, v):
    out = np.empty(x.shape)
    for i in range(x.shape[0]):
        out[i] = v
        out[i] += x[i].min()
    return out


def every_row_twice(x):
    out = np.zeros((2 * x.shape[0], x.shape[1]))
    for i in range(x.shape[0]):
        out[2 * i] = x[i]
        out[2 * i + 1] = -x[i]
    return out


def nearest(x, c):
    label = np.empty(x.shape[0], np.int64)
    for i in range(x.shape[0]):
        d = ((c - x[i]) ** 2).sum(axis=1)
        label[i] = d.argmin()
    return label


CASES = [
    (nearest, lambda: (ints(9, 3), ints(4, 3, seed=1)), 0),
    (distances, lambda: (ints(9, 3), ints(7, 3, seed=1)), 0),
    (product_by_dots, lambda: (ints(9, 5), ints(5, 8, seed=1)), 0),
    (product_columns_first, lambda: (ints(9, 5), ints(5, 8, seed=1)), 0),
    (product_by_rows, lambda: (ints(9, 5), ints(5, 8, seed=1)), 0),
    (product_by_columns, lambda: (ints(9, 5), ints(5, 8, seed=1)), 0),
    (rows_in_place, lambda: (ints(9, 5),), 0),
    (columns_in_place, lambda: (ints(9, 5),), 0),
    (windows, lambda: (ints(9, 8), ints(3, 2, seed=1)), 0),
    (moving_sums, lambda: (ints(40), 7), 0),
    (with_counter, lambda: (ints(6, 4),), 0),
    (with_scalars, lambda: (ints(6, 4), ints(6, seed=1)), 0),
    (other_rows, lambda: (ints(6, 4),), 0),
    (own_temporary, lambda: (ints(6, 4),), 0),
    (softmax_rows, lambda: (ints(6, 4),), 0),
    (planes, lambda: (ints(6, 4, 5), ints(4, 5, seed=1)), 0),
    (planes_across, lambda: (ints(6, 4, 5),), 0),
    (repeats, lambda: (ints(6, 4), ints(4, seed=1)), 0),
    (every_row_twice, lambda: (ints(6, 4),), 0),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_independent_iterations_are_batched(case):
    function, arguments, left = case
    compiled = weft.njit(function)
    got, expected = compiled(*arguments()), function(*arguments())
    np.testing.assert_allclose(got, expected, rtol=1e-14)
    assert loops_left(compiled) == left
    # Other sizes, none and one among them, and arrays that lie otherwise.
    for change in (lambda a: a[:1], lambda a: a[:0], np.asfortranarray, lambda a: a[::-1]):
        few = [change(a) if isinstance(a, np.ndarray) and a.ndim > 1 else a for a in arguments()]
        try:
            expected = function(*[np.copy(a, order="K") if isinstance(a, np.ndarray) else a for a in few])
        except Exception as error:
            with pytest.raises(type(error)):
                compiled(*few)
        else:
            np.testing.assert_allclose(compiled(*few), expected, rtol=1e-14)


def carried(x):
    for i in range(1, x.shape[0]):
        x[i] += x[i - 1]
    return x


def one_place(x):
    out = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        out[:] = out * 2 + x[i]
    return out


def triangle(x):
    for i in range(x.shape[0]):
        x[i, :i] = x[i, :i] * 2
    return x


def stops(x):
    for i in range(x.shape[0]):
        if x[i].sum() > 10:
            break
        x[i] = 0
    return x


@pytest.mark.parametrize("function", [carried, one_place, triangle, stops])
def test_other_loops_stay(function):
    compiled = weft.njit(function)
    same(compiled(ints(8, 8)), function(ints(8, 8)))
    assert "scf.for" in compiled.inspect("after:raise")


def add_rows(out, x):
    for i in range(x.shape[0]):
        out[i] = x[i] * 2.0
    return out


def test_arguments_that_overlap_run_in_the_order_of_the_loop():
    compiled = weft.njit(add_rows)
    a, b = ints(9, 4), ints(9, 4)
    same(compiled(a[1:], a[:-1]), add_rows(b[1:], b[:-1]))
    same(a, b)


def beyond(x, n):
    out = np.zeros((n, x.shape[1]))
    for i in range(n):
        out[i] = x[i] + 1
    return out


def test_an_index_outside_raises_where_the_loop_does():
    compiled = weft.njit(beyond)
    x = ints(5, 3)
    same(compiled(x, 5), beyond(x, 5))
    with pytest.raises(IndexError):
        compiled(x, 6)
    y, z = ints(5, 3), ints(5, 3)
    out = weft.njit(shifted)
    for a, f in ((y, out), (z, shifted)):
        with pytest.raises(IndexError):
            f(a)
    same(y, z)


def shifted(x):
    for i in range(x.shape[0]):
        x[i] = x[i + 1] * 2.0


def ends(x, k):
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        out[i] = x[i : i + k].sum()
    return out


def test_slices_that_are_cut_off_run_as_written():
    compiled = weft.njit(ends)
    x = ints(12)
    for k in (0, 1, 3, 12, 20, -1):
        same(compiled(x, k), ends(x, k))


STATEMENTS = [
    "a[i] = b[i] * 2 + c[0]",
    "a[i, 1:] = b[i, :-1]",
    "a[:, i] = b[i] + b[:, i]",
    "a[i] += b[i] - v",
    "a[i] = a[i] * v[i]",
    "v[i] = b[i].sum()",
    "v[i] = (b[i] * c[i]).sum()",
    "v[i] = np.dot(b[i], c[:, i])",
    "a[i] = b[i] @ c",
    "a[i] = c @ b[:, i]",
    "a[i, 0] = v[i] * i",
    "t = b[i] * i\n        a[i] = t - t.max()",
    "s = v[i] + i\n        a[i] = b[i] * s",
    "a[i] = b[n - 1 - i]",
    "a[n - 1 - i] = b[i]",
    "a[i] = a[n - 1 - i] + 1",
    "a[i] = np.where(b[i] > 0, b[i], v)",
    "v[i] = b[i, i]",
    "a[i, i] = v[i]",
    "a[i] = b[i, ::-1]",
    "a[i, :] = i",
    "v[i] = b[i].argmax()",
    "for j in range(n):\n            a[i, j] = b[i, j] * v[j]",
    "for j in range(n):\n            a[i, j] = (b[i] * c[j]).sum()",
    "for j in range(i):\n            a[i, j] = b[j, i]",
]


@pytest.mark.parametrize("seed", range(60))
def test_random_loops_agree_with_python(seed):
    choose = random.Random(seed)
    body = "\n        ".join(choose.choices(STATEMENTS, k=choose.randint(1, 4)))
    first = choose.choice(["0", "1", "0", "n // 2"])
    text = f"def program(a, b, c, v, n):\n    for i in range({first}, n):\n        {body}\n    return a, v\n"
    scope = {"np": np}
    exec(text, scope)
    compiled = weft.njit(scope["program"], source=text)
    for n in (6, 1, 0):
        arguments = [ints(n, n, seed=k) for k in range(3)] + [ints(n, seed=4), n]
        own = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
        try:
            expected = scope["program"](*arguments)
        except Exception as error:
            with pytest.raises(type(error)):
                compiled(*own)
            continue
        for got, want in zip(compiled(*own), expected):
            assert np.array_equal(got, want), text


def sums_of_rows(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i].sum()


def sums_of_columns(x, out):
    for j in range(x.shape[1]):
        out[j] = x[:, j].sum()


def sums_of_windows(x, out):
    for i in range(len(out)):
        out[i] = x[i : i + 700].sum()


def sums_across(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i].sum(axis=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [1, 3, 63, 65, 129, 700, 4097, 9000])
def test_sums_keep_their_order(length, dtype):
    # spec: N3
    one = weft.njit(lambda v: v.sum())
    rng = np.random.default_rng(length)
    x = rng.standard_normal((5, length)).astype(dtype)
    got = np.empty(5, dtype)
    weft.njit(sums_of_rows)(x, got)
    assert [v.tobytes() for v in got] == [one(row).tobytes() for row in x]
    columns = np.ascontiguousarray(x.T)
    weft.njit(sums_of_columns)(columns, got)
    assert [v.tobytes() for v in got] == [one(columns[:, j]).tobytes() for j in range(5)]
    planes = rng.standard_normal((3, length, 4)).astype(dtype)
    across = weft.njit(lambda v: v.sum(axis=0))
    got = np.empty((3, 4), dtype)
    weft.njit(sums_across)(planes, got)
    assert got.tobytes() == np.array([across(plane) for plane in planes]).tobytes()
    line = rng.standard_normal(length + 700).astype(dtype)
    got = np.empty(length, dtype)
    weft.njit(sums_of_windows)(line, got)
    assert [v.tobytes() for v in got[:20]] == [one(line[i : i + 700]).tobytes() for i in range(min(length, 20))]
