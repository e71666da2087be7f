"""Weft in one minute: a function, a kernel and a tensor expression, on whatever devices this machine has."""

import numpy as np
import weft
from weft import tensor


# Compiled for the types it is called with; the result is the one NumPy would give.
@weft.njit
def wave(x, y):
    return np.sin(x) * np.exp(y) + x


# One work-item to an element. It returns nothing and writes into its arguments.
@weft.kernel
def saxpy(a, x, y):
    i = weft.get_global_id(0)
    y[i] = a * x[i] + y[i]


x = np.linspace(0.0, 1.0, 1_000_000)
y = np.linspace(1.0, 2.0, 1_000_000)
print("host  ", wave(x, y)[:3])

for device in weft.devices():
    # NumPy arrays inside a device context are copied in, and what was written is copied back.
    with weft.device_context(device):
        z = wave(x, y)
        saxpy[z.size](2.0, x, z)

    # Tensors live on a device. Nothing runs until the last line, and then it is one kernel with no temporaries.
    t = tensor.asarray(x, device=device)
    u = 2 * tensor.sin(t) + t * t - 1
    print(device.filter_string, z[:3], tensor.asnumpy(u)[:3])
