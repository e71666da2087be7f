"""Arrays that Weft makes: NumPy cannot tell them from its own."""

import gc
import pickle

import pytest

import numpy as np
import weft
from weft import _core


# spec: N10
def test_memory_is_owned_and_has_our_handler():
    x = _core._pool_array([3, 4])
    assert x.base is None and x.flags.owndata and x.flags.c_contiguous and x.flags.aligned
    assert x.shape == (3, 4) and x.strides == (32, 8) and x.dtype == np.float64
    assert np._core.multiarray.get_handler_name(x) == "weft"
    assert x.ctypes.data % 64 == 0


# spec: N10
def test_resize_pickle_copy_and_views():
    x = _core._pool_array([4])
    x[:] = range(4)
    x.resize(6, refcheck=False)
    np.testing.assert_array_equal(x, [0, 1, 2, 3, 0, 0])
    x.resize(2, refcheck=False)
    np.testing.assert_array_equal(x, [0, 1])
    again = pickle.loads(pickle.dumps(x))
    np.testing.assert_array_equal(again, x)
    view = x[::-1]
    del x
    gc.collect()
    np.testing.assert_array_equal(view, [1, 0])
    assert np._core.multiarray.get_handler_name(view.copy()) != "weft"


# spec: N10
def test_shapes_without_elements_and_without_dimensions():
    for shape in ([0], [3, 0, 2], []):
        x = _core._pool_array(shape)
        assert x.shape == tuple(shape) and x.base is None
        np.testing.assert_array_equal(x, np.zeros(shape))


# spec: N10
def test_freed_memory_is_used_again():
    addresses = set()
    for _ in range(50):
        x = _core._pool_array([10_000])
        addresses.add(x.ctypes.data)
        del x
    assert len(addresses) <= 2


# spec: N10
def test_results_outlive_the_function_that_made_them():
    def make():
        @weft.njit
        def f(x):
            return x + 1.0

        return f(np.arange(1000.0))

    results = [make() for _ in range(3)]
    gc.collect()
    for x in results:
        np.testing.assert_array_equal(x, np.arange(1000.0) + 1.0)


# spec: D8
def test_a_result_too_big_to_be_counted_in_bytes_is_refused(device):
    """Views of one element may have any size; what would be allocated for them is checked."""

    @weft.njit
    def f(x, y):
        return x + y

    x = np.broadcast_to(np.ones(1), (2**32,))
    with weft.device_context(device), pytest.raises(ValueError, match="too big"):
        f(x[:, None], x)
