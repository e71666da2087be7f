"""Weft in one minute: the listing of README.md, and a look at what it gives."""

import numpy as np
import weft


@weft.njit  # compiled for the types it is called with
def f(x, y):
    return np.sin(x) * np.exp(y) + x  # one fused, vectorised, parallel loop


@weft.njit  # and the Python around it: loops at the speed of C, lists, tuples, closures, recursion, exceptions
def crossings(v, level):
    found = []
    for i in range(1, len(v)):
        if (v[i - 1] < level) != (v[i] < level):
            found.append(i)
    return found


@weft.kernel  # one work-item, one element
def double(a, out):
    i = weft.get_global_id(0)
    out[i] = 2 * a[i]


x = np.linspace(0, 1, 1_000_000)
z = f(x, x)  # NumPy in, NumPy out
print(f"{'host':<14}f(x, x) = {z}")
print(f"{'host':<14}crossings of 1.0 = {crossings(z, 1.0)}")
assert crossings(z, 1.0) == crossings.py_func(z, 1.0)  # what CPython and NumPy give

for device in weft.devices():
    with weft.device_context(device):  # or "cuda", "opencl": copied in, run there, copied back
        z = f(x, x)
    print(f"{device.filter_string:<14}f(x, x) = {z}")

a = weft.tensor.asarray(x)  # a tensor lives on a device, the default one here
b = weft.tensor.empty(a.shape)
double[a.shape](a, b)  # kernels run where their arrays are
c = 2 * weft.tensor.sin(a) + b * b - a  # recorded: nothing has run yet
print(f"{a.device.filter_string:<14}c       = {weft.tensor.asnumpy(c)}")  # one kernel, no temporaries

np.testing.assert_allclose(z, np.sin(x) * np.exp(x) + x, rtol=1e-14)
np.testing.assert_allclose(weft.tensor.asnumpy(c), 2 * np.sin(x) + (2 * x) ** 2 - x, atol=1e-14)
