"""`weft.kernel(debug=True)`: the work-items run in the interpreter, which checks what compiled kernels do not."""

import traceback

import pytest

import numpy as np
import weft
from support import same


def arrays(device, *given):
    """Tensors where the device is not the host's, else what was given, to be used inside a context."""
    return [weft.tensor.asarray(x, device=device) for x in given]


@weft.njit
def clipped(i, n):
    return min(max(i, 0), n - 1)


def blur(image, out):
    i = weft.get_global_id(0)
    j = weft.get_global_id(1)
    total = 0.0
    for k in range(-1, 2):
        total += image[i, clipped(j + k, image.shape[1])]
    out[i, j] = total / 3


def shift(a, b, by):
    i = weft.get_global_id(0)
    b[i] = a[i + by]


# spec: K6
def test_the_same_results_as_compiled(device):
    image = np.arange(35.0).reshape(5, 7)
    for kernel in (weft.kernel(blur), weft.kernel(blur, debug=True)):
        with weft.device_context(device):
            for there in (image, image[::-1, ::2]):
                out = np.zeros_like(there)
                kernel[there.shape](there, out)
                padded = np.pad(there, ((0, 0), (1, 1)), mode="edge")
                same(out, (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / 3)
        x, y = arrays(device, image, np.zeros_like(image))
        kernel[image.shape, (2, 2)](x, y)
        same(weft.tensor.asnumpy(y)[0, 0], np.float64(1 / 3))


# spec: K6
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64", "float32", "float64"])
def test_numbers_of_every_type(device, dtype):
    @weft.kernel(debug=True)
    def scaled(a, b, c, d):
        i = weft.get_global_id(0)
        b[i] = a[i] if d else c

    a, b = np.array([1, 0, 3]).astype(dtype), np.zeros(3, dtype)
    with weft.device_context(device):
        scaled[3](a, b, np.dtype(dtype).type(1), True)
        same(b, a)
        scaled[3](a, b, np.dtype(dtype).type(1), False)
        same(b, np.ones(3, dtype))


# spec: K6
@pytest.mark.parametrize("on_device", [False, True])
def test_an_index_outside_raises_with_the_line_and_the_work_item(device, on_device):
    checked = weft.kernel(shift, debug=True)
    a, b = np.arange(4.0), np.zeros(4)
    if on_device:
        a, b = arrays(device, a, b)
    with weft.device_context(device), pytest.raises(IndexError) as caught:
        checked[4](a, b, 2)
    assert str(caught.value) == "index 4 is out of bounds for axis 0 with size 4"
    assert caught.value.__notes__ == ["in work-item (2,) of `shift`, launched over (4,)"]
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name, last.line) == (__file__, "shift", "b[i] = a[i + by]")
    # What the items before it did is done.
    same(b if isinstance(b, np.ndarray) else weft.tensor.asnumpy(b), np.array([2.0, 3.0, 0.0, 0.0]))
    with weft.device_context(device):
        checked[4](a, b, -4)  # negative indices count from the end
        with pytest.raises(IndexError, match="index -5 is out of bounds for axis 0 with size 4"):
            checked[4](a, b, -5)


# spec: K6
def test_writes_outside_and_functions_that_are_called(device):
    def put(a, i, j):
        a[i, j] = 1.0

    @weft.kernel(debug=True, boundscheck=False)
    def far(a):
        put(a, weft.get_global_id(0), weft.get_global_id(1) * 2)

    with (
        weft.device_context(device),
        pytest.raises(IndexError, match="index 4 is out of bounds for axis 1 with size 3") as caught,
    ):
        far[2, 3](np.zeros((2, 3)))
    assert caught.value.__notes__ == ["in work-item (0, 2) of `far`, launched over (2, 3)"]
    assert [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)][-2:] == ["far", "put"]


# spec: K6
def test_what_a_kernel_raises(device):
    @weft.kernel(debug=True)
    def refused(a):
        i = weft.get_global_id(0)
        if a[i] < 0:
            raise ValueError("negative", i)

    with weft.device_context(device), pytest.raises(ValueError) as caught:
        refused[3](np.array([1.0, -1.0, -2.0]))
    assert caught.value.args == ("negative", 1)
    assert caught.value.__notes__ == ["in work-item (1,) of `refused`, launched over (3,)"]


# spec: K6
def test_races_between_work_items(device):
    @weft.kernel(debug=True)
    def scan(a):
        i = weft.get_global_id(0)
        if i > 0:
            a[i] = a[i - 1] + 1

    @weft.kernel(debug=True)
    def total(a, out):
        out[0] += a[weft.get_global_id(0)]

    @weft.kernel(debug=True)
    def last(a, out):
        out[1] = a[weft.get_global_id(0)]

    @weft.kernel(debug=True)
    def ahead(a, out):
        i = weft.get_global_id(0)
        a[i] = a[i + 1]

    def race(kernel, *given):
        with weft.device_context(device), pytest.raises(RuntimeError) as caught:
            kernel[3](*given)
        return str(caught.value)

    a, out = np.arange(4.0), np.zeros(2)
    assert race(scan, a.copy()) == "work-item (1,) writes and work-item (2,) reads the same element, (1,) of `a`"
    assert race(total, a, out) == "work-item (0,) writes and work-item (1,) reads the same element, (0,) of `out`"
    assert race(last, a, out) == "work-items (0,) and (1,) both write the same element, (1,) of `out`"
    assert race(ahead, a.copy(), out) == "work-item (0,) reads and work-item (1,) writes the same element, (1,) of `a`"
    # By another name, and of memory that two arrays share.
    held = np.zeros(5)

    @weft.kernel(debug=True)
    def moved(x, y):
        i = weft.get_global_id(0)
        y[i] = x[i] + 1

    assert race(moved, held[:4], held[1:]) == (
        "work-item (0,) writes and work-item (1,) reads the same element, (1,) of `x`"
    )


# spec: K3, K6
def test_equal_values_and_own_elements_are_no_race(device):
    @weft.kernel(debug=True)
    def found(a, out):
        i = weft.get_global_id(0)
        a[i] = a[i] + 1
        a[i] += 1
        if a[i] > 2:
            out[0] = 1

    a, out = np.arange(4.0), np.zeros(1)
    with weft.device_context(device):
        found[4](a, out)
        found[4](a, out)  # of another launch
    same(a, np.arange(4.0) + 4)
    same(out, np.ones(1))


# spec: K6
def test_it_is_told_and_only_what_is_on_a_device_moves(device):
    checked = weft.kernel(shift, debug=True)
    with weft.device_context(device), weft.trace() as trace:
        checked[2](np.arange(4.0), np.zeros(4), 1)
    assert not trace.copies
    assert [(item.name, item.device) for item in trace.launches] == [("shift, interpreted", "native:cpu:0")]
    assert "interpreter" in str(checked.report())
    a, b = arrays(device, np.arange(4.0), np.zeros(4))
    before = b + 1.0
    event = weft.call_kernel_async(checked, 2, None, a, b, 1)
    event.wait()
    same(weft.tensor.asnumpy(b), np.array([1.0, 2.0, 0.0, 0.0]))
    same(weft.tensor.asnumpy(before), np.ones(4))


# spec: K6
def test_empty_launches_globals_and_numbers(device):
    table = np.array([10, 20, 30])

    @weft.kernel(debug=True)
    def look(out, k, z):
        i = weft.get_global_id(0)
        out[i] = table[i + k[0]] + z

    out = np.zeros(2, np.int64)
    with weft.device_context(device):
        look[0](out, (1,), 0)
        same(out, np.zeros(2, np.int64))
        look[2](out, (1,), 5)
        same(out, np.array([25, 35]))
        with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
            look[2](out, (2,), 5)
