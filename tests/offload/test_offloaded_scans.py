"""Running folds on a device: the bits are the host's."""

import pytest
from test_offloaded_folds import numbers, same_bits

import numpy as np
import weft


@weft.njit
def running_sum(x):
    return np.cumsum(x)


@weft.njit
def running_product(x):
    return np.cumprod(x)


@weft.njit
def computed(x):
    return np.cumsum(x * 2 + 1)


# spec: A1
@pytest.mark.parametrize("function", [running_sum, running_product, computed], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
def test_scans_of_every_size(function, dtype):
    for n in [2, 100, 4095, 4096, 4097, 8192, 100_001]:
        same_bits(function, numbers(n, dtype))


# spec: A1
def test_more_blocks_than_one_piece():
    same_bits(running_sum, numbers(4096 * 1024 * 2 + 5, "f4"))


# spec: A1
def test_scans_of_views():
    x = numbers(30_000, "f8")
    for view in [x[::3], x[::-1], x[5:9000]]:
        same_bits(running_sum, view)
