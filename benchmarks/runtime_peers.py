"""Launches and allocations of CuPy, Numba and Triton for `runtime.py`, where they are installed.

`peers()` yields the name of each with what it calls, on what, and what ends it. One that is missing or fails is a
sentence on stderr, not an error.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

Peer = tuple[Callable[..., Any], tuple[Any, ...], Callable[[], Any]]

MIB = 1 << 20
LAUNCH = "launch of a kernel with three arrays, from Python"
MEMORY = "1 MiB from the pool and back, from Python"


def cupy() -> dict[str, Peer]:
    import cupy

    a, b, c = (cupy.ones(64) for _ in range(3))
    kernel = cupy.RawKernel('extern "C" __global__ void nothing(double *a, double *b, double *c) {}', "nothing")
    wait = cupy.cuda.get_current_stream().synchronize
    return {
        f"CuPy, {LAUNCH}": (kernel, ((1,), (64,), (a, b, c)), wait),
        f"CuPy, {MEMORY}": (cupy.cuda.alloc, (MIB,), wait),
    }


def numba() -> dict[str, Peer]:
    import numba.cuda as cuda

    import numpy as np

    @cuda.jit
    def nothing(a, b, c):
        i = cuda.grid(1)
        if i < 0:
            c[i] = a[i] + b[i]

    a, b, c = (cuda.to_device(np.ones(64)) for _ in range(3))
    launch = nothing[1, 64]
    return {f"Numba, {LAUNCH}": (launch, (a, b, c), cuda.synchronize)}


def triton() -> dict[str, Peer]:
    import torch

    import gpu_triton

    a, b, c = (torch.ones(64, device="cuda", dtype=torch.float64) for _ in range(3))
    launch = gpu_triton.multiply_add[(1,)]
    return {
        f"Triton, {LAUNCH}": (launch, (a, b, c, 64, gpu_triton.BLOCK), torch.cuda.synchronize),
        f"PyTorch, {MEMORY}": (partial(torch.empty, dtype=torch.uint8, device="cuda"), (MIB,), torch.cuda.synchronize),
    }


def peers() -> Iterator[tuple[str, Peer]]:
    for make in (cupy, numba, triton):
        try:
            found = make()
            for call, arguments, wait in found.values():
                call(*arguments)
                wait()
        except ImportError as error:
            print(f"{make.__name__}: left out, {error}", file=sys.stderr)
        except Exception as error:
            print(f"{make.__name__}: left out, {type(error).__name__}: {error}", file=sys.stderr)
        else:
            yield from found.items()
