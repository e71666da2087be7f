"""Three doors × three devices: every program gives NumPy's answer in every cell.

Doors are `njit` inside a device context, `kernel` and `tensor`; devices are native, OpenCL and CUDA. Arithmetic,
comparisons and sqrt are exact; the other functions are within 4 ulps of NumPy's (docs/deviations.md).
"""

import pytest

import numpy as np
import weft
from doors import DOORS, function, jitted, kernelised, plain
from support import OTHER, same

ROUNDED = 4
DTYPES = ["float32", "float64", "int32", "int64", "bool"]
RNG = np.random.default_rng(20)

COMPARISONS = ["x == y", "x != y", "x < y", "x <= y", "x > y", "x >= y"]
CHOICES = [
    "abs(x)",
    "np.abs(x)",
    "np.minimum(x, y)",
    "np.maximum(x, y)",
    "np.where(x > y, x, y)",
    "np.where(x < y, y, 1)",
]
EXACT = {
    "float": [
        "x + y",
        "x - y",
        "x * y",
        "x / y",
        "x // y",
        "x % y",
        "-x",
        "+x",
        "2 * x",
        "1.5 - y",
        "3 / x",
        "x // 2",
        "7 % y",
    ],
    "int": ["x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "-x", "+x", "~x", "x & y", "x | y", "x ^ y"]
    + ["x << y", "x >> y", "x ** (y & 7)", "x ** 2", "2 * x", "x + 1.5", "7 // x", "x % 3", "x << 3", "x & 255"],
    "bool": ["x + y", "x * y", "x / y", "~x", "x & y", "x | y", "x ^ y", "x + 1", "x * 2.5", "x | True"],
}
SMOOTH = ["np.sin(x)", "np.cos(x)", "np.exp(x)", "np.log(x)", "x ** y"]

doors = pytest.mark.parametrize("door", DOORS)


def kind_of(dtype):
    return {"f": "float", "i": "int", "b": "bool"}[np.dtype(dtype).kind]


def operands(dtype, count=67):
    """Two arrays in which the awkward values meet each other, and some ordinary ones."""
    if dtype == "bool":
        return {"x": RNG.random(count) < 0.5, "y": RNG.random(count) < 0.5}
    if kind_of(dtype) == "int":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        special = np.array([0, 1, -1, 2, 31, 64, -7, low, high], dtype)
        ordinary = RNG.integers(-100, 100, count).astype(dtype)
    else:
        special = np.array([0.0, -0.0, 1.0, -1.5, 1e-30, 3e38, np.inf, -np.inf, np.nan], dtype)
        ordinary = RNG.normal(scale=10, size=count).astype(dtype)
    x, y = np.meshgrid(special, special)
    return {"x": np.concatenate([x.ravel(), ordinary]), "y": np.concatenate([y.ravel(), ordinary[::-1]])}


def check(door, device, expressions, arrays, ulps=0):
    ours = DOORS[door](expressions, arrays, device)
    for text, mine, other in zip(expressions, ours, plain(expressions, arrays), strict=True):
        if door == "tensor":
            other = np.asarray(other)  # tensors of rank 0 stay arrays
        try:
            same(mine, other, ulps)
        except AssertionError as error:
            raise AssertionError(f"{text}: {error}") from None


# spec: A1, B6, T4, K1, K5, N1
@doors
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_first_expression(door, device, dtype):
    # Far from cancellation, so that the error of sin stays what it is.
    arrays = {"x": RNG.random(1000).astype(dtype), "y": 2 + RNG.random(1000).astype(dtype)}
    check(door, device, ["2 * np.sin(x) + y * y - x"], arrays, ROUNDED)


# spec: A4, K5, T3, N9
@doors
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operator(door, device, dtype):
    check(door, device, EXACT[kind_of(dtype)] + COMPARISONS, operands(dtype))


# spec: K5, T3, N3, N4
@doors
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_that_are_exact(door, device, dtype):
    wide = [] if dtype == "bool" else ["np.sqrt(x)"]  # of bools it is a float16
    check(door, device, CHOICES + wide, operands(dtype))


# spec: K5, N3
@doors
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_functions_that_round(door, device, dtype):
    if kind_of(dtype) == "int":
        arrays = {"x": RNG.integers(-20, 700, 100).astype(dtype)}
        check(door, device, SMOOTH[:4], arrays, ROUNDED)
    else:
        check(door, device, SMOOTH, operands(dtype), ROUNDED)


# spec: T3, N3
@doors
@pytest.mark.parametrize(
    "left, right", [("float32", "int32"), ("float32", "float64"), ("int32", "int64"), ("bool", "float32")]
)
def test_dtypes_meet_as_in_numpy(door, device, left, right):
    arrays = {"x": operands(left, 148 if left == "bool" else 67)["x"], "y": operands(right)["y"]}
    check(door, device, ["x + y", "x * y - x", "x / y", "x < y", "np.maximum(x, y)", "np.where(y > 1, x, y)"], arrays)


# spec: N3, T4, K1
@doors
def test_a_matrix_and_a_row_broadcast(door, device):
    arrays = {"x": RNG.normal(size=(13, 7)), "y": RNG.normal(size=7)}
    check(door, device, ["x + y", "np.where(y > 0, x, y)"], arrays)


# spec: N3, N6, T4
@pytest.mark.parametrize("door", ["njit", "tensor"])
@pytest.mark.parametrize(
    "shapes", [((4, 1), (1, 5)), ((3, 1, 5), (4, 1)), ((1,), (6,)), ((), (3,)), ((2, 0), (1, 1)), ((0,), ())]
)
def test_shapes_broadcast(door, device, shapes):
    check(door, device, ["x * y + x"], {"x": RNG.normal(size=shapes[0]), "y": RNG.normal(size=shapes[1])})


# spec: N3, T4
@pytest.mark.parametrize("door", ["njit", "tensor"])
def test_shapes_that_do_not_broadcast_are_a_value_error(door, device):
    with pytest.raises(ValueError, match="operands could not be broadcast together with shapes"):
        DOORS[door](["x + y"], {"x": np.zeros(3), "y": np.zeros(4)}, device)


GRID = np.arange(48.0).reshape(6, 8)
LAYOUTS = {
    "strided": GRID[::2, 1::3],
    "backwards": GRID[::-1, ::-1],
    "transposed": GRID.T,
    "fortran": np.asfortranarray(GRID),
    "column": GRID[:, 2:3],
    "inner": GRID[1:-1, 1:-1],
    "backwards row": GRID[3, ::-2],
    "repeated": np.broadcast_to(np.arange(4.0), (3, 4)),
    "empty": GRID[:0],
}


# spec: N6, A8, K1
@doors
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout(door, device, layout):
    x = LAYOUTS[layout]
    check(door, device, ["x * 2 + y"], {"x": x, "y": np.ones(x.shape)})


# spec: N6
@pytest.mark.parametrize("order", ["C", "F"])
def test_results_take_the_order_of_the_inputs(device, order):
    x = np.asarray(GRID, order=order)
    (ours,) = DOORS["njit"](["x + x"], {"x": x}, device)
    assert ours.strides == (x + x).strides


# spec: N1, T4
@pytest.mark.parametrize("door", ["njit", "tensor"])
def test_arrays_without_dimensions(door, device):
    """NumPy makes scalars of 0-d results, except `where`; tensors stay tensors."""
    arrays = {"x": np.array(2.5), "y": np.array(-1.0)}
    check(door, device, ["x + y", "np.sqrt(x)", "x > y", "np.where(x > y, x, y)"], arrays)


# spec: B6, A8
def test_a_kernel_writes_through_any_layout(device):
    f = kernelised(["x * 2 + 1"], {"x": 2}, 2)
    out = np.zeros((12, 16))
    view = out[10::-2, ::2]
    with weft.device_context(device):
        f[view.shape](GRID, view)
    expected = np.zeros((12, 16))
    expected[10::-2, ::2] = GRID * 2 + 1
    same(out, expected)


# spec: B6, A8, K1
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_items_beyond_the_launch_do_not_run(device, count):
    f = kernelised(["x + 1"], {"x": 1}, 1)
    x, out = np.arange(1000.0), np.zeros(1000)
    with weft.device_context(device):
        f[count](x, out)
    same(out, np.where(np.arange(1000) < count, x + 1, 0.0))


LARGE = 300_000  # enough for several threads and many groups


# spec: A6, K5, T4
@doors
def test_large_arrays(door, device):
    arrays = {"x": RNG.normal(size=LARGE).astype("f4"), "y": RNG.normal(size=LARGE).astype("f4")}
    check(door, device, ["x * y + x"], arrays)


def moved(trace, direction):
    return sorted(item.bytes for item in trace.copies if item.name.startswith(direction))


# spec: T4
def test_a_tensor_expression_is_one_launch_without_temporaries(device):
    tensor = weft.tensor
    host = {n: RNG.random(1000).astype("f4") for n in "xy"}
    with weft.trace() as trace:
        x, y = (tensor.asarray(host[n], device=device) for n in "xy")
        z = 2 * tensor.sin(x) + y * y - x
        assert z.is_pending and trace.launches == []
        assert "nt.elementwise" in z.inspect("fused") and z.inspect("fused").count("nt.elementwise") == 1
        assert z.inspect("loops").count("mem.alloc") == 1
        tensor.asnumpy(z)
    assert len(trace.launches) == 1
    if device != "native":
        assert moved(trace, "host to device") == [4000, 4000]
        assert moved(trace, "device to host") == [4000]
    with weft.trace() as again:
        tensor.asnumpy(z)
    assert again.launches == []


# spec: A8, A4
def test_a_jitted_expression_copies_each_input_once_and_the_result_back_once(device):
    f = jitted(["2 * np.sin(x) + y * y - x"], "xy")
    x, y = RNG.random(1000), RNG.random(1000)
    with weft.device_context(device), weft.trace() as trace:
        f(x, y)
    assert len(trace.launches) == 1 and len(trace.compiles) == 1
    if device == "native":
        assert trace.copies == []
        return
    assert moved(trace, "host to device") == [8000, 8000]
    assert moved(trace, "device to host") == [8000]
    assert all(item.device.startswith(device) for item in trace.launches + trace.copies)
    with weft.device_context(device), weft.trace() as again:
        f(x, x)
    # Arguments that overlap share one device copy.
    assert moved(again, "host to device") == [8000] and again.compiles == []


# spec: A8, B6
def test_a_kernel_copies_back_only_what_it_writes(device):
    f = kernelised(["x + y"], {"x": 1, "y": 1}, 1)
    x, y, out = np.arange(1000.0), np.arange(1000.0), np.zeros(1000)
    with weft.device_context(device), weft.trace() as trace:
        f[1000](x, y, out)
    assert len(trace.launches) == 1
    if device != "native":
        assert moved(trace, "device to host") == [8000]
        assert moved(trace, "host to device")[:2] == [8000, 8000]


# spec: A2, A3
def test_one_function_runs_everywhere_with_a_specialisation_for_each_place():
    f = jitted(["x + 1"], "x")
    places = {device.filter_string for device in weft.devices()}
    x = np.arange(5.0)
    results = [f(x)]
    for place in places:
        with weft.device_context(place):
            results.append(f(x))
    for result in results:
        same(result, (x + 1,))
    assert {s.device for s in f.specializations} == places


# spec: B3, B7
def test_places_do_not_mix():
    tensor = weft.tensor
    here, there = tensor.ones(3, device="native"), tensor.ones(3, device=OTHER)
    with pytest.raises(weft.ExecutionPlacementError):
        here + there
    with pytest.raises(weft.ExecutionPlacementError):
        here + np.ones(3)
    with pytest.raises(weft.ExecutionPlacementError):
        np.ones(3) * there
    same(tensor.asnumpy(here + there.to_device("native")), np.full(3, 2.0))


# spec: K2, K5
@pytest.mark.parametrize("text", ["np.where(x_[i] > y_[i], x_[i], y_[i])", "np.where(x_[i] > 1, 0.5, 2)"])
def test_where_of_elements_in_a_kernel(device, text):
    lines = ["def f(x_, y_, out):", "i = weft.get_global_id(0)", f"out[i] = {text}"]
    f = function("\n    ".join(lines) + "\n", "f", weft.kernel)
    x, y, out = np.arange(4.0), np.array([3.0, 0.0, 2.5, 1.0]), np.zeros(4)
    expected = [eval(text, {"np": np, "x_": x, "y_": y, "i": i}) for i in range(4)]
    with weft.device_context(device):
        f[4](x, y, out)
    same(out, np.array(expected))


# spec: N3
def test_the_message_of_shapes_that_do_not_broadcast():
    f = jitted(["x + y"], "xy")
    with pytest.raises(ValueError) as theirs:
        f.py_func(np.zeros(3), np.zeros(4))
    with pytest.raises(ValueError) as ours:
        f(np.zeros(3), np.zeros(4))
    assert str(ours.value).strip() == str(theirs.value).strip()
