"""`@weft.kernel`: launches, index spaces and arguments, on every device."""

import pytest

import numpy as np
import weft
from support import same


@weft.kernel
def scale(a, b, factor):
    i = weft.get_global_id(0)
    b[i] = a[i] * factor


@weft.kernel
def outer(a, b, c):
    i = weft.get_global_id(0)
    j = weft.get_global_id(1)
    c[i, j] = a[i] * 10 + b[j]


@weft.kernel
def positions(c):
    i = weft.get_global_id(0)
    j = weft.get_global_id(1)
    k = weft.get_global_id(2)
    c[i, j, k] = (i * weft.get_global_size(1) + j) * weft.get_global_size(2) + k


# spec: K1, B6
def test_one_dimension(device):
    a, b = np.linspace(0, 1, 1000), np.zeros(1000)
    with weft.device_context(device):
        scale[1000](a, b, 3.0)
    same(b, a * 3.0)


# spec: K1, K2
def test_two_dimensions(device):
    a, b, c = np.arange(7.0), np.arange(5.0), np.zeros((7, 5))
    with weft.device_context(device):
        outer[c.shape](a, b, c)
    same(c, a[:, None] * 10 + b)


# spec: K1, K2, K5
def test_three_dimensions_are_row_major(device):
    c = np.zeros((3, 4, 5), np.int64)
    with weft.device_context(device):
        positions[c.shape](c)
    same(c, np.arange(60).reshape(3, 4, 5))


# spec: K1
def test_local_sizes(device):
    a, b = np.arange(10.0), np.zeros(10)
    with weft.device_context(device):
        scale[10, weft.DEFAULT_LOCAL_SIZE](a, b, 2.0)
        same(b, a * 2.0)
        # Local does not divide global.
        scale[(10,), (4,)](a, b, 3.0)
        same(b, a * 3.0)


# spec: K2
def test_ifs_and_loops(device):
    @weft.kernel
    def powers(a, b, n):
        i = weft.get_global_id(0)
        value = 1.0
        for k in range(n):
            if k % 2 == 0:
                value = value * a[i]
            else:
                value = value + 1.0
        b[i] = value

    a, b = np.linspace(-1, 1, 50), np.zeros(50)
    expected = np.ones(50)
    for k in range(5):
        expected = expected * a if k % 2 == 0 else expected + 1.0
    with weft.device_context(device):
        powers[50](a, b, 5)
    same(b, expected)


# spec: K1
def test_an_empty_launch_does_nothing(device):
    a, b = np.zeros(0), np.zeros(0)
    with weft.device_context(device):
        scale[0](a, b, 2.0)


# spec: B6
def test_only_written_arrays_are_copied_back(device):
    a, b = np.arange(1000.0), np.zeros(1000)
    with weft.device_context(device):
        scale[1000](a, b, 2.0)
        with weft.trace() as trace:
            scale[1000](a, b, 2.0)
    assert len(trace.launches) == 1
    if device == "native":
        assert not trace.copies
    else:
        assert [c.bytes for c in trace.copies] == [8000, 8000, 8000]
        assert [c.name for c in trace.copies].count("device to host") == 1


# spec: B6
def test_strided_arrays(device):
    base, out = np.arange(20.0), np.full(20, -1.0)
    with weft.device_context(device):
        scale[10](base[::2], out[::-2], 2.0)
    expected = np.full(20, -1.0)
    expected[::-2] = base[::2] * 2.0
    same(out, expected)


# spec: B6
def test_numpy_arrays_outside_a_context_are_refused():
    with pytest.raises(weft.ExecutionPlacementError, match=r"`a` is a NumPy array.*device_context") as caught:
        scale[10](np.zeros(10), np.zeros(10), 1.0)
    assert isinstance(caught.value, TypeError)


# spec: K1
def test_a_bare_call_says_how_to_launch():
    with pytest.raises(TypeError, match=r"scale\[global_size\]\(a, b, factor\)"):
        scale(np.zeros(10), np.zeros(10), 1.0)


# spec: K1
@pytest.mark.parametrize(
    ("size", "error"),
    [
        ((), ValueError),
        ((1, 2, 3, 4), ValueError),
        (-1, ValueError),
        ("a", TypeError),
        (1.5, TypeError),
        ((4, (2, 2)), ValueError),
    ],
)
def test_sizes_that_cannot_be(size, error):
    with pytest.raises(error):
        scale[size]


# spec: K2
def test_work_item_functions_mean_nothing_outside():
    with pytest.raises(RuntimeError, match=r"inside a @weft\.kernel"):
        weft.get_global_id(0)


# spec: K1, B3
def test_tensors_run_where_they_live(device):
    x = weft.tensor.asarray(np.arange(100.0), device=device)
    y = weft.tensor.asarray(np.zeros(100), device=device)
    with weft.trace() as trace:
        scale[100](x, y, 3.0)
    assert not trace.copies and [item.device.split(":")[0] for item in trace.launches] == [device]
    same(weft.tensor.asnumpy(y), np.arange(100.0) * 3.0)


# spec: T5
def test_pending_operations_do_not_see_later_writes(device):
    x = weft.tensor.asarray(np.arange(10.0), device=device)
    y = weft.tensor.zeros(10, device=device)
    before = y + 1.0
    scale[10](x, y, 3.0)
    after = y + 1.0
    same(weft.tensor.asnumpy(before), np.ones(10))
    same(weft.tensor.asnumpy(after), np.arange(10.0) * 3.0 + 1.0)


# spec: K1
@pytest.mark.parametrize(("size", "local"), [(1000, (64,)), (1000, (7,)), (5, (64,)), (1000, ()), (1, (1,))])
def test_a_local_size_need_not_divide_the_global_size(device, size, local):
    a = weft.tensor.asarray(np.arange(float(size)), device=device)
    b = weft.tensor.zeros(size, device=device)
    scale[size, local](a, b, 3.0)
    same(weft.tensor.asnumpy(b), np.arange(float(size)) * 3.0)


# spec: K1
def test_local_sizes_of_several_dimensions(device):
    c = weft.tensor.zeros((4, 6, 10), device=device)
    for local in [(1, 2, 8), (4, 4, 4), (3, 1, 1)]:
        positions[c.shape, local](c)
        same(weft.tensor.asnumpy(c), np.arange(240.0).reshape(4, 6, 10))
    outside = weft.NdRange((4, 6, 10), (2, 3, 5))
    weft.call_kernel(positions, outside, c)
    same(weft.tensor.asnumpy(c), np.arange(240.0).reshape(4, 6, 10))


# spec: K1
def test_a_local_size_that_the_device_does_not_take(accelerator):
    a = weft.tensor.zeros(10, device=accelerator)
    with pytest.raises(
        weft.DeviceError, match=r"work-group \[1048576, 1, 1\] has 1048576 work-items; it can have 1 to"
    ):
        scale[10, (1 << 20,)](a, a, 1.0)
    # It was asked for, and not just left out: the same launch with one that fits works.
    scale[10, (2,)](a, a, 1.0)


# spec: K1, D7
def test_asynchronous_launches_take_and_return_events(device):
    a = weft.tensor.asarray(np.arange(1000.0), device=device)
    b, c = weft.tensor.zeros(1000, device=device), weft.tensor.zeros(1000, device=device)
    other = weft.Queue(device)
    m = weft.memory.DeviceMemory(1 << 20, queue=other)
    first = weft.call_kernel_async(scale, weft.Range(1000), None, a, b, 2.0)
    last = weft.call_kernel_async(scale, weft.NdRange(1000, 10), [first, other.fill(m, 1)], b, c, 5.0)
    assert isinstance(first, weft.Event) and len(last.get_wait_list()) == 2
    last.wait()
    assert first.is_complete and last.execution_status == "complete"
    same(weft.tensor.asnumpy(c), np.arange(1000.0) * 10.0)
    x, y = np.arange(10.0), np.zeros(10)
    with weft.device_context(device):
        weft.call_kernel_async(scale, 10, first, x, y, 4.0)
    same(y, x * 4.0)
    with pytest.raises(TypeError, match=r"expected a weft\.Event or several, not int"):
        weft.call_kernel_async(scale, 10, 5, a, b, 2.0)
    with pytest.raises(TypeError, match=r"call_kernel_async launches a @weft\.kernel"):
        weft.call_kernel_async(print, 10, None)
