"""Differences found by the other tests, each the smallest program that shows it; they fail until mended.

What is mended moves to the file of its subject, named above each test.
"""

import itertools
import threading

import numpy as np
import pytest
import weft
from doors import function, jitted
from support import same


# To: test_threads.py. Threads that race for one specialisation each add theirs.
# spec: A2
def test_threads_that_race_keep_one_specialisation():
    f = jitted(["np.sin(x) * 2 + x"], "x")
    start = threading.Barrier(6)

    def call():
        start.wait(30)
        f(np.linspace(0, 1, 100))

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert f.signatures == ["(float64[:])"]


# To: test_matrix.py and test_device_code.py, which leave np.where out of kernels.
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


# To: test_matrix.py, LAYOUTS. COMPILER.md 3.2: unaligned is layout A with alignment 1; today it is refused.
# spec: N6
def test_unaligned_arrays(device):
    x = np.ndarray((5,), np.float64, np.arange(48, dtype=np.uint8).tobytes(), 3)
    f = jitted(["x * 2"], "x")
    with weft.device_context(device):
        same(f(x), (x * 2,))


# To: test_matrix.py. NumPy names the operands in their order; compiled code names the second first.
# spec: N3
def test_the_message_of_shapes_that_do_not_broadcast():
    f = jitted(["x + y"], "xy")
    with pytest.raises(ValueError) as theirs:
        f.py_func(np.zeros(3), np.zeros(4))
    with pytest.raises(ValueError) as ours:
        f(np.zeros(3), np.zeros(4))
    assert str(ours.value).strip() == str(theirs.value).strip()


# To: test_device_code.py. DESIGN: without a GPU, all PTX is still assembled. Any specialisation can be generated for
# any target; today only those placed on a device other than native have "ptx" and "spirv".
# spec: N5
@pytest.mark.parametrize("stage", ["ptx", "spirv"])
def test_device_code_of_any_specialisation(stage):
    f = jitted(["np.sin(x) + 1"], "x")
    f(np.arange(4.0))
    assert ("ENTRY" if stage == "ptx" else "OPENTRYPOINT") in f.inspect(stage).upper()


# To: test_promotion.py, INTEGERS. COMPILER.md 2.6: int / int is correctly rounded beyond 2**53; today it is refused.
# spec: N2
def test_division_of_large_ints():
    f = jitted(["x / y"], "xy")
    values = [1, 3, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63)]
    for x, y in itertools.product(values, values):
        assert f(x, y) == (x / y,), (x, y)


# To: test_promotion.py, FLOATS. COMPILER.md 2.4: a Python int meets a Python float exactly; today it is refused.
# spec: N2
@pytest.mark.parametrize("text", ["x == y", "x < y", "x >= y", "x + y", "x / y"])
def test_large_ints_meet_floats(text):
    f = jitted([text], "xy")
    for x, y in itertools.product([2.0**53, 1.5, -(2.0**60), float("inf")], [2**53 + 1, -(2**60) + 1, 2**63 - 1]):
        assert f(x, y) == f.py_func(x, y), (x, y)


# To: test_promotion.py, RAISING and OVERFLOWING. Today a count that is not a constant is refused.
# spec: N2, N9
@pytest.mark.parametrize("x, y", [(1, 3), (-5, 10), (0, 100), (1, 62), (1, -1), (1, 63), (1, 1000)])
def test_left_shifts_of_python_ints(x, y):
    f = jitted(["x << y"], "xy")
    try:
        expected = x << y
    except ValueError:
        with pytest.raises(ValueError):
            f(x, y)
        return
    if expected < 2**63:
        assert f(x, y) == (expected,)
    else:
        with pytest.raises(OverflowError):
            f(x, y)


# To: test_promotion.py. COMPILER.md 2.7: an exponent that is not a constant gives an int, and a negative one is refused
# when the call is made; today the function is refused when compiled.
# spec: N2, N9
@pytest.mark.parametrize("x, y", [(2, 10), (-3, 3), (0, 0), (7, 1), (2, True), (3, 50)])
def test_powers_of_python_ints(x, y):
    f = jitted(["x ** y"], "xy")
    if x**y < 2**63:
        assert f(x, y) == (x**y,)
    else:
        with pytest.raises(OverflowError):
            f(x, y)


# To: test_differential.py. Intel's OpenCL compiler makes 0 of `0.0 / uitofp(bool)`; the SPIR-V we give it is right (a
# plain OpFDiv of a constant 0 by OpConvertUToF). Found by `make fuzz`; native gives nan, as NumPy does.
# spec: K5
def test_zero_divided_by_a_bool(device):
    f = jitted(["x * (0.0 / (x <= 0))"], "x")
    x = np.array([0.72, -3.0])
    with weft.device_context(device), np.errstate(all="ignore"):
        same(f(x), f.py_func(x))
