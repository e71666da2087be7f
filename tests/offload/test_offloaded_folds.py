"""Folds on a device: the bits are the host's, and they run where the arrays' other work would."""

import pytest

import numpy as np
import weft
from weft import tensor

DEVICE = "opencl"
# Around the accumulators of a row, the blocks of a line and the runs along other axes.
SIZES = [1, 2, 3, 63, 64, 65, 127, 128, 129, 1000, 2047, 2048, 2049, 4095, 4096, 4097, 40_000]


def bits(value):
    value = np.asarray(value)
    return value.dtype, value.shape, value.tobytes()


def numbers(shape, dtype, seed=1):
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.random(shape) < 0.5
    values = rng.standard_normal(shape) * (3 if np.dtype(dtype).kind == "f" else 40)
    return values.astype(dtype) if np.dtype(dtype).kind != "u" else np.abs(values).astype(dtype)


def same_bits(function, *arguments, launches=True):
    """What a function gives in a context of the device is what it gives on the host, and the device does it."""
    expected = function(*arguments)
    with weft.device_context(DEVICE), weft.trace() as trace:
        found = function(*arguments)
    assert bits(found) == bits(expected)
    assert bool(trace.launches) == launches
    return found


@weft.njit
def total(x):
    return x.sum()


@weft.njit
def product(x):
    return x.prod()


@weft.njit
def least(x):
    return x.min()


@weft.njit
def largest(x):
    return x.max()


@weft.njit
def where_least(x):
    return x.argmin()


@weft.njit
def where_largest(x):
    return x.argmax()


@weft.njit
def any_of(x):
    return np.any(x > 1)


@weft.njit
def all_of(x):
    return np.all(x > -1000)


@weft.njit
def mean(x):
    return np.mean(x)


@weft.njit
def norm(x):
    return np.sqrt((x * x).sum())


@weft.njit
def weighted(a, x):
    return (a * x).sum(axis=1)


@weft.njit
def softmax(x):
    e = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
    return e / e.sum(axis=1).reshape((x.shape[0], 1))


FULL = [total, product, least, largest, where_least, where_largest, any_of, all_of, mean, norm]


# spec: A1
@pytest.mark.parametrize("function", FULL, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u1", "?"])
def test_full_folds_of_every_size(function, dtype):
    if dtype == "?" and function in (norm,):
        return
    for n in SIZES:
        same_bits(function, numbers(n, dtype), launches=n > 1)


# spec: A1
@pytest.mark.parametrize("dtype", ["i1", "i2", "u2", "u4", "u8"])
def test_other_integers(dtype):
    for function in [total, product, least, largest, where_least, where_largest]:
        same_bits(function, numbers(5000, dtype))


@weft.njit
def sum_0(x):
    return x.sum(axis=0)


@weft.njit
def sum_1(x):
    return x.sum(axis=1)


@weft.njit
def max_0(x):
    return x.max(axis=0)


@weft.njit
def argmin_0(x):
    return x.argmin(axis=0)


@weft.njit
def argmax_1(x):
    return x.argmax(axis=1)


@weft.njit
def mean_0(x):
    return x.mean(axis=0)


@weft.njit
def any_1(x):
    return (x > 2).any(axis=1)


@weft.njit
def shifted_0(x):
    return (x * 2 + 1).sum(axis=0)


BY_AXIS = [sum_0, sum_1, max_0, argmin_0, argmax_1, mean_0, any_1, shifted_0]
SHAPES = [(1, 5), (5, 2), (3, 130), (130, 3), (200, 64), (64, 200), (7, 4100), (4100, 7), (2100, 2), (33, 2049)]


# spec: A1
@pytest.mark.parametrize("function", BY_AXIS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_folds_along_an_axis(function, dtype):
    for shape in SHAPES:
        same_bits(function, numbers(shape, dtype))


# spec: A1
@pytest.mark.parametrize("function", BY_AXIS, ids=lambda f: f.__name__)
def test_folds_of_arrays_in_other_orders(function):
    x = numbers((300, 280), "f8")
    for view in [np.asfortranarray(x), x.T, x[::2, ::3], x[::-1, 5:], x[:, ::-1], x[3:, :7]]:
        same_bits(function, view)


@weft.njit
def sum_01(x):
    return x.sum(axis=(0, 1))


@weft.njit
def sum_12(x):
    return x.sum(axis=(1, 2))


@weft.njit
def max_middle(x):
    return x.max(axis=1)


@weft.njit
def sum_outer(x):
    return x.sum(axis=(0, 2))


@weft.njit
def broadcast_sum(x, y):
    return (x + y).sum(axis=(1, 2))


# spec: A1
def test_folds_along_several_axes():
    for shape in [(3, 4, 5), (20, 30, 40), (2, 129, 33), (5, 1, 700)]:
        x = numbers(shape, "f8")
        for function in [sum_01, sum_12, max_middle, sum_outer]:
            same_bits(function, x)
        same_bits(broadcast_sum, x, numbers(shape[1:], "f8", seed=2))


# spec: A1
def test_what_is_folded_is_computed_in_the_kernel():
    a, x = numbers((70, 300), "f4"), numbers(300, "f4", seed=3)
    expected = weighted(a, x)
    with weft.device_context(DEVICE), weft.trace() as trace:
        found = weighted(a, x)
    assert bits(found) == bits(expected)
    # One block for a row: its results are the sums.
    assert len(trace.launches) == 1
    assert sorted(item.bytes for item in trace.copies) == [70 * 4, 300 * 4, 70 * 300 * 4]


# spec: A1
def test_several_folds_in_a_row():
    for shape in [(5, 7), (40, 1000)]:
        x = numbers(shape, "f8")
        expected = softmax(x)
        with weft.device_context(DEVICE):
            found = softmax(x)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


# spec: A1
def test_nothing_to_fold():
    for dtype in ["f8", "i8"]:
        x = np.zeros(0, dtype)
        for function in [total, product, all_of, any_of]:
            expected = function(x)
            with weft.device_context(DEVICE):
                assert bits(function(x)) == bits(expected)
        for shape in [(0, 4), (4, 0)]:
            for function in [sum_0, sum_1]:
                expected = function(np.zeros(shape, dtype))
                with weft.device_context(DEVICE):
                    assert bits(function(np.zeros(shape, dtype))) == bits(expected)
    with weft.device_context(DEVICE), pytest.raises(ValueError, match="zero-size array"):
        least(np.zeros(0))


# spec: A1
def test_numbers_that_are_none_and_zeros_with_signs():
    for n in [5, 100, 5000]:
        x = numbers(n, "f8")
        x[n // 2] = np.nan
        zeros = np.where(numbers(n, "f8") > 0, 0.0, -0.0)
        for function in [least, largest, where_least, where_largest, total]:
            same_bits(function, x)
            same_bits(function, zeros)
        ties = np.zeros(n)
        ties[n // 3 :: 7] = 2
        assert same_bits(where_least, ties) == np.argmin(ties)
        assert same_bits(where_largest, ties) == np.argmax(ties)


# spec: A1, B9
def test_folds_of_device_arrays_stay_there():
    x = numbers((50, 60), "f8")
    d = tensor.asarray(x, device=DEVICE)
    with weft.trace() as trace:
        rows = sum_1(d)
    assert trace.launches and not trace.copies
    assert isinstance(rows, tensor.usm_ndarray) and rows.queue == d.queue
    assert bits(tensor.asnumpy(rows)) == bits(sum_1(x))
    with weft.trace() as trace:
        whole = norm(d)
    assert bits(whole) == bits(norm(x))
    # What comes to the host is one number.
    assert [item.bytes for item in trace.copies] == [8]


@weft.njit
def differences(x):
    return (x[1:] - x[:-1]).max()


# spec: B9
def test_views_of_device_arrays_are_folded_there():
    x = numbers((40, 50), "f8")
    for function in [where_least, differences, softmax]:
        d = tensor.asarray(x, device=DEVICE)
        with weft.trace() as trace:
            found = function(d)
        assert trace.launches and all(item.bytes == 8 for item in trace.copies)
        found = tensor.asnumpy(found) if isinstance(found, tensor.usm_ndarray) else found
        np.testing.assert_allclose(found, function(x), rtol=1e-14)


# spec: A1
def test_complex_numbers_are_folded_on_the_host():
    x = numbers(100, "f8") + 1j * numbers(100, "f8", seed=2)
    same_bits(total, x, launches=False)
