"""Listings of the Numba-MLIR slides."""

import pytest

import numpy as np
import weft as numba
import weft.compat.dpctl.tensor as dpt
import weft.compat.numba_mlir as numba_mlir
from support import same, same_as_plain
from weft.compat.numba_mlir import njit


# spec: N1, N3
def test_the_sum_of_an_expression():
    a = np.ones(42, dtype=np.float32)
    b = np.ones(42, dtype=np.float32)

    @numba_mlir.njit(parallel=True)
    def foo(a, b):
        return np.sum(a + b)

    res = foo(a, b)
    same(res, np.float32(84))


# spec: N14
def test_prange():
    """`numba` is `weft` here."""
    a = np.ones(42, dtype=np.float32)
    b = np.ones(42, dtype=np.float32)

    @numba_mlir.njit(parallel=True)
    def foo(a, b):
        c = 0.0
        for i in numba.prange(a.shape[0]):
            c += a[i] + b[i]
        return c

    same(foo(a, b), foo.py_func(a, b))


# spec: N3
@pytest.mark.parametrize("size", [0, 1, 5])
def test_array_indexing(size):
    @njit(parallel=True)
    def foo(a):
        a[1:2] = 1

    a, expected = np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int32)
    foo(a)
    foo.py_func(expected)
    same(a, expected)


# spec: N3, N4
def test_ntensor_ops():
    @njit
    def foo():
        return np.arange(10)

    same(foo(), np.arange(10))


# spec: N3
def test_out_args():
    @njit
    def foo(a, b, c):
        np.add(a, b, out=c)

    a, b, c = (np.arange(3, dtype=np.int32) + k for k in range(3))
    foo(a, b, c)
    same(c, a + b)


# spec: B9
def test_gpu_pipeline(places):
    a = dpt.ones((10, 10), device=places.gpu)

    @njit(parallel=True)
    def foo(a):
        return a + 1

    b = foo(a)
    assert b.queue == a.queue
    same(dpt.asnumpy(b), np.full((10, 10), 2.0))


# spec: N3
def test_broadcasting():
    @njit(parallel=True)
    def foo(a, b):
        return a + b

    for a, b in [
        (np.arange(3), np.arange(3)),
        (np.arange(3), np.arange(6).reshape(2, 3)),
        (np.ones((3, 1)), np.ones((1, 4))),
        (np.arange(3), 1),
    ]:
        same_as_plain(foo, a, b)
