"""Products of matrices on a device."""

import pytest
from test_offloaded_folds import numbers

import numpy as np
import weft


@weft.njit
def multiply(a, b):
    return a @ b


@weft.njit
def layer(x, w, b):
    return np.maximum(x @ w + b, 0)


def on_device(function, *arguments):
    with weft.device_context("opencl"), weft.trace() as trace:
        found = function(*arguments)
    assert trace.launches
    return found


# spec: A1
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
def test_products_of_every_size(dtype):
    for m, k, n in [
        (1, 2, 3),
        (4, 4, 4),
        (5, 7, 3),
        (17, 33, 65),
        (64, 1, 64),
        (100, 70, 1),
        (1, 70, 100),
        (130, 129, 66),
    ]:
        a, b = numbers((m, k), dtype), numbers((k, n), dtype, seed=2)
        found = on_device(multiply, a, b)
        assert found.dtype == (a @ b).dtype and found.shape == (m, n)
        if np.dtype(dtype).kind == "f":
            scale = np.abs(a).astype("f8") @ np.abs(b).astype("f8")
            assert np.all(np.abs(found - a.astype("f8") @ b) <= scale * np.finfo(dtype).eps * 8)
        else:
            np.testing.assert_array_equal(found, a @ b)


# spec: A1
def test_products_of_views():
    a, b = numbers((60, 50), "f8"), numbers((50, 40), "f8", seed=2)
    for x, y in [(np.asfortranarray(a), b), (a.T.copy().T, b[:, ::-1]), (a[::2], b), (a[:, ::-1], b[::-1])]:
        np.testing.assert_allclose(on_device(multiply, x, y), x @ y, rtol=1e-12, atol=1e-12)


# spec: A1
def test_stacks_and_vectors():
    a, b = numbers((3, 20, 30), "f8"), numbers((3, 30, 10), "f8", seed=2)
    np.testing.assert_allclose(on_device(multiply, a, b), a @ b, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(on_device(multiply, a, b[0]), a @ b[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(on_device(multiply, a[0], b[0, :, 0]), a[0] @ b[0, :, 0], rtol=1e-12, atol=1e-12)


# spec: A1
def test_nothing_to_sum():
    with weft.device_context("opencl"):
        np.testing.assert_array_equal(multiply(np.ones((3, 0)), np.ones((0, 4))), np.zeros((3, 4)))


# spec: A1
def test_what_follows_a_product_runs_there():
    x, w, b = numbers((50, 30), "f8"), numbers((30, 20), "f8", seed=2), numbers(20, "f8", seed=3)
    found = on_device(layer, x, w, b)
    np.testing.assert_allclose(found, np.maximum(x @ w + b, 0), rtol=1e-12, atol=1e-12)
