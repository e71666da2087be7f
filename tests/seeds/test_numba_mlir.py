"""Listings of the Numba-MLIR slides."""

import numpy as np
import weft.compat.dpctl.tensor as dpt
from support import same, same_as_plain
from weft.compat.numba_mlir import njit


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
