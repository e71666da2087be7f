"""New arrays that are written over as a whole or by a mask, repeated or flattened are computed at once.

And what must stay as it is: arrays that have another name, are read before, or are changed in between.
"""

import copy
import itertools

import pytest

import numpy as np
from support import function, same

pytestmark = pytest.mark.usefixtures("threads_kept")

# title: statements of arrays of one size, and how many loops they are at most.
MASKED = {
    "something of the elements": ("t = a * b\nt[t > 0] = 1 / t[t > 0]\nreturn t + c", 1),
    "a root": ("t = a * b + 2\nt[t > 0] = np.sqrt(t[t > 0])\nreturn t", 1),
    "a number": ("t = a * b\nt[t < 0] = 0.5\nreturn t * 2", 1),
    "twice": ("t = a * b\nt[t < 0] = -1.0\nt[c > 0] = t[c > 0] * c[c > 0]\nreturn t", 1),
    "a mask that is kept": ("t = a * b\nm = t > 0\nt[m] = 2.0\nreturn t, m", 1),
    "the elements of others": ("t = a + 1\nm = b > c\nt[m] = b[m] - c[m]\nreturn t", 1),
    "a sum": ("t = a * b\nt[t > 0] = 0.0\nreturn t.sum()", 1),
    "in a loop": ("s = 0.0\nfor k in range(3):\n    t = a * k\n    t[t > b] = 1.5\n    s += t.max()\nreturn s", 1),
    "what it was before": ("t = a * b\nu = t + 1\nt[t > 0] = 3.0\nreturn t, u", 1),
}

# What has another name, or is there already, is written where it is.
STAYS = {
    "a view": "t = a * b\nv = t[1:]\nt[t > 0] = 3.0\nreturn v, t",
    "another name in a branch": "t = a * b\nif c[0] > 0:\n    u = t\nelse:\n    u = c\nt[t > 0] = 3.0\nreturn u, t",
    "an argument": "a[a > 0] = b[a > 0]\nreturn a",
    "chosen by another mask": "t = a * b\nm = t > 0\nn = c > 0\nif m.sum() == n.sum():\n    t[m] = b[n]\nreturn t",
    "changed in between": "t = a * b\nw = a[t > 0]\na[0] = 77.0\nt[t > 0] = w * 2\nreturn t",
    "a function that is dear": "t = a * b\nt[t > 0] = np.exp(t[t > 0])\nreturn t",
    "an index": "t = a * b\nt[2] = 5.0\nt[t > 0] = 1.0\nt[3] = 6.0\nreturn t",
    "too few": "t = a * b\nt[t > 0] = b[:1]\nreturn t",
    "rows": "t = np.outer(a, b)\nt[a > 0] = 1.0\nreturn t",
}

COPIED = {
    "repeated": "d = np.empty((x.shape[0], 3 * x.shape[1]))\nd[:] = np.repeat(x, 3, axis=1)\nreturn d * 2",
    "repeated, and both are kept": (
        "r = np.repeat(x, 2, axis=0)\nd = np.empty_like(r)\nd[:] = r\nr[0] = 5.0\nreturn d, r\n"
    ),
    "repeated, and changed before": "r = np.repeat(x, 2, axis=1)\nd = np.empty_like(r)\nd[0] = 1.0\nd[:] = r\nreturn d",
    "a view that is used later": (
        "r = np.repeat(x, 2, axis=1)\nv = r[1:]\nd = np.zeros_like(r)\nd[:] = r\nd += 1\nreturn d, v"
    ),
    "kept in a list": (
        "r = np.repeat(x, 2, axis=1)\nl = [r]\nd = np.empty_like(r)\nd[:] = r\nd += 1\nreturn d, l[0].sum()"
    ),
    "another name in a branch": (
        "r = np.repeat(x, 2, axis=1)\nif x.size > 3:\n    u = r\nelse:\n    u = x\n"
        "d = np.empty_like(r)\nd[:] = r\nd += 1\nreturn d, u.sum()"
    ),
    "a view of what is written": "d = np.zeros(x.shape)\nv = d[0]\nd[:] = x + 1\nv += 1\nreturn d",
    "one column everywhere": "d = np.empty((x.shape[0], 4))\nd[:] = x[:, :1]\nreturn d + 1",
    "one row everywhere, read before": "d = np.zeros((3, x.shape[1]))\ns = d.sum()\nd[:] = x[0]\nreturn d, s",
    "in a loop": (
        "s = 0.0\nfor k in range(4):\n    d = np.empty((2, x.size))\n    d[:] = x.ravel() * k\n"
        "    s += d[1].sum()\nreturn s"
    ),
    "sizes that are powers": (
        "n = x.shape[0]\nd = np.empty((n**2, 2))\nd[:] = np.repeat(np.ones((n**2, 1)), 2, axis=1)\nreturn d"
    ),
}

FLAT = {
    "turned": "n = x.size\nreturn np.reshape(x.T, (n,)) * np.reshape(y.T, (n,))",
    "turned, of three sizes": (
        "z = np.reshape(x, (2, x.shape[0] // 2, x.shape[1]))\nn = x.size\n"
        "return np.reshape(np.transpose(z, (1, 0, 2)), (n,)) + np.reshape(np.transpose(z, (1, 0, 2)) * 2, (n,))"
    ),
    "every second": "return x[:, ::2].ravel() * 2 + y[:, ::2].ravel()",
    "then changed": "v = x.T.ravel()\nx[0, 0] = 100.0\nreturn v + x.T.ravel()",
    "of other sizes": "return x.T.ravel() * y.ravel()",
    "kept as well": "v = x.T.ravel()\nw = v * 2\nv[0] = 5.0\nreturn v, w",
    "by position": "v = x.T.ravel()\nreturn v * np.arange(v.size)",
    "written": "v = x.T.ravel() + 0\nv += 1\nreturn v, x",
}


def written(body, names):
    return function("", names, body)


def outcome(f, given):
    try:
        return f(*given)
    except (ArithmeticError, IndexError, ValueError, KeyError) as error:
        return type(error).__name__, str(error)


def agree(f, given):
    """A call returns and leaves what the plain function does, or raises what it raises."""
    ours, theirs = copy.deepcopy(given), copy.deepcopy(given)
    have, want = outcome(f, ours), outcome(f.py_func, theirs)
    same(have, want)
    for one, other in zip(ours, theirs):
        same(one, other)


def loops(f):
    text = f.inspect("fused")
    return text.count("nt.elementwise(")


def arguments(n=50):
    rng = np.random.default_rng(3)
    return [rng.normal(size=n) for _ in range(3)]


@pytest.mark.parametrize("title", MASKED)
def test_masked_writes_to_new_arrays_are_computed(title):
    body, most = MASKED[title]
    f = written(body, ["a", "b", "c"])
    agree(f, arguments())
    assert loops(f) <= most, f.inspect("fused")
    assert "nt.compress" not in f.inspect("fused")


@pytest.mark.parametrize("title", STAYS)
def test_masked_writes_to_arrays_that_others_know(title):
    f = written(STAYS[title], ["a", "b", "c"])
    for n in (3, 50):
        agree(f, arguments(n))


def test_what_is_not_a_number_stays_where_the_mask_is_false():
    f = written("t = a * b\nt[t > 0] = 1 / t[t > 0]\nreturn t", ["a", "b"])
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324])
    agree(f, [np.repeat(special, 8), np.tile(special, 8)])


@pytest.mark.parametrize("title", COPIED)
@pytest.mark.parametrize("shape", [(4, 6), (1, 1), (0, 3), (5, 1)])
def test_whole_copies_into_new_arrays(title, shape):
    x = np.arange(float(np.prod(shape))).reshape(shape)
    f = written(COPIED[title], ["x"])
    agree(f, [x])
    agree(f, [np.asfortranarray(x)])


@pytest.mark.parametrize("title", FLAT)
@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_what_is_computed_of_flattened_arrays(title, order):
    f = written(FLAT[title], ["x", "y"])
    for shape in [(4, 6), (2, 1), (64, 40)]:
        both = [np.random.default_rng(k).normal(size=(shape[0], shape[1] * 2)) for k in range(2)]
        agree(f, [b[:, ::2] if order == "A" else np.array(b[:, ::2], order=order) for b in both])


def test_flattened_arrays_are_not_copied():
    f = written(FLAT["turned"], ["x", "y"])
    agree(f, [np.ones((3, 4)), np.ones((3, 4))])
    assert "nt.copy" not in f.inspect("fused")


PRODUCTS = {
    "into an array": "c[:] = a @ b",
    "into itself": "a[:] = a @ b",
    "into the other": "b[:] = a @ b",
    "turned": "c.T[:] = a @ b",
    "into its own turned self": "a[:] = a.T @ a",
    "rows of it": "a[1:] = a[:-1] @ b",
    "as a vector": "d = np.empty(a.size)\nd[:] = np.reshape(a @ b, (a.size,))\nreturn d",
    "as a vector into a factor": "d = np.reshape(a, (a.size,))\nd[:] = np.reshape(a @ b, (a.size,))\nreturn d",
    "a vector": "c[0] = a @ b[0]\nc[:, 1] = a @ b[:, 1]",
    "sizes are asked for": "p = a @ b\nn = p.shape[0] + 10 * p.shape[1]\nc[:] = p\nreturn n",
    "a factor is changed first": "p = a @ b\na[0, 0] = 50\nc[:] = p",
    "used twice": "p = a @ b\nc[:] = p\nreturn p",
    "in a loop": "for k in range(3):\n    c[:] = a @ b\n    a[:] = c - a",
    "of another dtype": "d = np.empty(c.shape, np.complex128)\nd[:] = a @ b\nreturn d",
    "three": "c[:] = a @ b @ a",
}


@pytest.mark.parametrize("title", PRODUCTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int32, np.int64, np.uint8])
def test_products_are_written_where_they_go(title, dtype):
    f = written(PRODUCTS[title], ["a", "b", "c"])
    for n, order in itertools.product([1, 3, 5, 40], "CF"):
        rng = np.random.default_rng(n)
        agree(f, [np.array(rng.integers(0, 4, (n, n)), dtype, order=order) for _ in range(3)])


def test_a_product_takes_no_array_of_its_own():
    f = written("c[:] = a @ b", ["a", "b", "c"])
    agree(f, [np.ones((5, 5)) for _ in range(3)])
    assert "nt.copy" not in f.inspect("fused") and "nt.into" in f.inspect("fused")
    one = np.ones((6, 5))
    agree(f, [one[:5], np.ones((5, 5)), one[1:]])


@pytest.mark.parametrize("n", [0, 1, 5, 1000, 16384, 20000, 40000])
def test_an_array_and_its_mirror(n):
    f = written("for k in range(3):\n    y += 0.5 * np.flip(y)\n    y[1:] -= y[:-1] * 0.25\n    y[:-1] += y[1:]", ["y"])
    agree(f, [np.arange(float(n))])


STEPS = ["x[::-1] * 2", "x[::2] + x[1::2]", "x[::-3].copy()", "x[5::-1] + 1", "x[-4:2:-2] * x[2:-4:2]"]


@pytest.mark.parametrize("expression", STEPS)
def test_steps_that_are_known(expression):
    f = written(f"return {expression}", ["x"])
    for n in (8, 100, 1000):
        x = np.arange(float(n))
        if expression.startswith("x[-4") and n != 8:
            continue
        agree(f, [x])
        agree(f, [np.arange(2.0 * n)[::2]])
    g = written("return x[:, ::-1] + x[::-1], x[::2].sum(), x[:, ::2].T * 2", ["x"])
    for order in "CF":
        agree(g, [np.array(np.arange(48.0).reshape(6, 8), order=order)])


def test_sizes_of_1_may_have_any_stride():
    f = written("return x[::-1] * 2, x[::2] + 1", ["x"])
    agree(f, [np.arange(30.0)[::10][:1]])


SAME = {
    "powers": "return n**3 + n**3, m**n - m**n",
    "a power that overflows": "return m**n + m**n",
    "sums that overflow": "a = m + 2**62\nb = m + 2**62\nreturn a - b",
    "an exception of the first": (
        "if n > 3:\n    raise ValueError('first')\nif n > 3:\n    raise KeyError('second')\nreturn n"
    ),
    "in a branch": "if n > 3:\n    a = m**n\nelse:\n    a = 0\nreturn a + m**n",
    "loops": "s = 0\nfor i in range(n):\n    s += i * m\nt = 0\nfor i in range(n):\n    t += i * m\nreturn s - t, s",
    "loops that are not the same": (
        "s = 0\nfor i in range(n):\n    s += i * m\nt = 1\nfor i in range(n):\n    t += i * m\nreturn s - t"
    ),
    "in a try": (
        "try:\n    a = m**n\nexcept OverflowError:\n    a = -1\ntry:\n    b = m**n\n"
        "except OverflowError:\n    b = -2\nreturn a, b"
    ),
}


@pytest.mark.parametrize("title", SAME)
def test_what_is_computed_twice(title):
    f = written(SAME[title], ["n", "m"])
    for n, m in [(2, 3), (5, 7), (1, -2), (0, 5)]:
        agree(f, [n, m])
