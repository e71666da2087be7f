"""New arrays, other shapes, dtypes as values: NumPy's results and exceptions."""

import re

import pytest
from test_basic_indexing import check, jit

import numpy as np
import weft
from support import same

NEW = [
    "np.zeros(3)", "np.zeros((2, 3))", "np.zeros(3, np.int32)", "np.zeros(3, dtype=int)", "np.zeros(3, dtype='f4')",
    "np.ones((2, 2), dtype=np.float32)", "np.full(3, 7)", "np.full((2, 2), 1.5)", "np.full(3, 7, dtype=np.float32)",
    "np.zeros(-1)", "np.zeros(0)", "np.zeros(())", "np.ones(3, dtype=bool)", "np.array(1.0)", "np.array((1, 2, 3))",
    "np.array(((1, 2), (3, 4.5)))", "np.array((1, 2), dtype=np.float32)", "np.eye(3)", "np.eye(2, 3)", "np.eye(3, k=1)",
    "np.identity(2)", "np.arange(5)", "np.arange(2, 10, 3)", "np.arange(10, 2, -3)", "np.arange(0.0, 1.0, 0.1)",
    "np.arange(5, dtype=np.float32)", "np.arange(0, 1, 0.3)", "np.linspace(0, 1, 5)", "np.linspace(2.0, 3.0)",
    "np.linspace(0, 1, 5, endpoint=False)", "np.linspace(0, 10, 4, dtype=int)", "np.asarray(3.5)",
]  # fmt: skip


# spec: N3
def test_new_arrays():
    for expression in NEW:
        check(f"def f():\n    return {expression}\n")


# spec: N3
def test_new_arrays_of_run_time_sizes():
    for expression, arguments in (
        ("np.zeros(a) + 1", (3,)), ("np.zeros((a, b))", (2, 3)), ("np.arange(a)", (4,)), ("np.arange(a)", (4.5,)),
        ("np.arange(a, b)", (0.1, 2.0)), ("np.full(a, b)", (3, np.float32(2.5))), ("np.zeros(a)", (-1,)),
        ("np.zeros(a)", (np.int64(3),)), ("np.array((a, b))", (1, 2.0)), ("np.arange(a)", (-3,)),
    ):  # fmt: skip
        names = ", ".join("ab"[: len(arguments)])
        check(f"def f({names}):\n    return {expression}\n", *arguments)
    for arguments in ((0.0, 5.0, 7), (0.0, 5.0, 1), (0, 5, 0)):
        check("def f(a, b, n):\n    return np.linspace(a, b, n)\n", *arguments)


SHAPES = [
    "np.zeros_like(a)", "np.ones_like(a, dtype=np.int64)", "np.full_like(a, 3)", "a.copy()", "a.astype(np.int32)",
    "a.astype(np.float64)", "a.reshape(4, 3)", "a.reshape((2, 6))", "a.reshape(-1)", "a.reshape(2, -1)",
    "a.reshape(5, -1)",
    "a.reshape(5, 5)", "a.ravel()", "a.flatten()", "a.T", "a.transpose()", "a.transpose(1, 0)", "np.transpose(a)",
    "np.expand_dims(a, 0)", "np.expand_dims(a, -1)", "np.squeeze(a)", "a[None].squeeze()", "a[:1].squeeze(axis=0)",
    "a.itemsize", "a.nbytes", "a.size", "a.ndim", "a.shape", "len(a)", "np.array((a, a))", "np.array((a[0], a[1]))",
    "np.asarray(a) + 1", "np.zeros(a.shape)", "np.zeros(a.shape[0], a.dtype)", "np.zeros(len(a)) + a[:, 0]",
    "a[0, 0].item()",
    "np.reshape(a, (4, 3))", "np.ravel(a)", "a.swapaxes(0, 1)", "np.shape(a)", "np.size(a)", "np.ndim(a)",
    "a[1:2, 1:2].item()", "a.item()", "a.dtype == np.float64",
]  # fmt: skip


# spec: N3
@pytest.mark.parametrize("expression", SHAPES)
def test_other_shapes_and_dtypes(expression):
    check(f"def f(a):\n    return {expression}\n", np.arange(12.0).reshape(3, 4))


# spec: N3
def test_what_is_made_inside_is_used_inside():
    check("def f(n):\n    a = np.zeros(n)\n    for i in range(n):\n        a[i] = i * i\n    return a\n", 5)
    check(
        "def f(a):\n    b = np.empty_like(a)\n    b[:] = a\n    b += 1\n    a.fill(7)\n    return b\n", np.arange(4.0)
    )
    check("def f(n):\n    a = np.arange(n)\n    b = a[1:]\n    b[:] = 0\n    return a\n", 4)
    check("def f(n):\n    a = np.arange(n)\n    return a[1:]\n", 4)


ORDERED = [
    'np.zeros((3, 4), order="F")', 'np.ones((3, 4), np.int8, "F")', 'np.full((2, 3), 7, order="F")',
    "np.full((2, 3), 7.5)", 'np.zeros((3, 4), order="K")', "np.zeros_like(a)", 'np.zeros_like(a, order="C")',
    "np.ones_like(a, shape=(2, 2))", "np.full_like(a, 2, dtype=int)", 'np.array(a, order="F")',
    "np.array(a, copy=None)", "np.array(a, ndmin=3)", "np.array(3.0, ndmin=1)",
    'np.array(((1, 2), (3, 4)), order="F")', 'np.asarray(a, order="F")', "np.asarray(a, int)",
    "np.ascontiguousarray(a)", "np.asfortranarray(a)", "np.copy(a)", 'np.copy(a, order="C")', "a.copy()",
    'a.copy("F")', 'a.reshape(4, 3, order="F")', 'a.reshape((4, 3), order="F")', 'np.reshape(a, (4, 3), order="F")',
    'np.reshape(a, (2, -1), "A")', "np.reshape(a, -1)", 'a.ravel("F")', 'a.ravel(order="A")', 'np.ravel(a, "K")',
    'a.flatten("F")', 'np.eye(3, 4, 1, order="F")', "a.astype(np.float64, copy=False)",
    "a.astype(np.float64)", "a.astype(np.int8)", 'a.astype(np.float64, "C", copy=False)', 'a.astype(np.float64, "F")',
    'a.astype(np.float64, "X")', 'a[1, ::2].astype(np.float64, "C", copy=False)', 'np.asarray(a[:, 1], order="F")',
    'np.zeros((2, 3), device="cpu")',
]  # fmt: skip


# spec: N3
@pytest.mark.parametrize("expression", ORDERED)
def test_orders(expression):
    base = np.arange(12.0).reshape(3, 4)
    compiled = jit(f"def f(a):\n    return {expression}\n", "f")
    for a in (base, np.asfortranarray(base)):
        try:
            theirs = eval(expression, {"np": np, "a": a})
        except ValueError as error:
            with pytest.raises(ValueError, match=re.escape(str(error))):
                compiled(a)
            continue
        ours = compiled(a)
        same(ours, theirs)
        # Along an axis of one element there is nothing to step to.
        steps = [(mine, other) for n, mine, other in zip(theirs.shape, ours.strides, theirs.strides) if n > 1]
        assert all(mine == other for mine, other in steps)
        assert np.shares_memory(ours, a) == np.shares_memory(theirs, a)


# spec: N3
def test_shapes_as_lists():
    check("def f(n):\n    return np.zeros([n, 3]), np.ones([2, n], np.int8), np.full([n], 2.5)\n", 4)
    check("def f(a):\n    return np.reshape(a, [3, 2])\n", np.arange(6))


# spec: N3
def test_where_elements_lie():
    a = np.arange(24, dtype=np.int16).reshape(4, 6)
    for x in (a, a.T, a[::2, 1:], a[::-1], np.int16(3)):
        check("def f(a):\n    return a.strides, a.itemsize, a.nbytes, a.T.strides\n", x)


# spec: N3
def test_what_creation_refuses():
    with pytest.raises(weft.UnsupportedError, match="like="):
        jit("def f(a):\n    return np.zeros(3, like=a)\n", "f")(np.ones(3))
