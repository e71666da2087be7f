"""CuPy, PyTorch and Triton on the expressions of `gpu.py`, where they are installed.

`peers(a, b)` takes two NumPy arrays and yields a `Peer` for each that is found. One that is missing or fails is a
sentence on stderr, not an error.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np


class Peer(NamedTuple):
    """`start[expression]()` begins the computation; `wait()` ends when all are done."""

    name: str
    start: dict[str, Callable[[], Any]]
    wait: Callable[[], None]


def cupy(a: np.ndarray, b: np.ndarray) -> Peer:
    import cupy

    x, y = cupy.asarray(a), cupy.asarray(b)
    multiply_add = cupy.ElementwiseKernel("T a, T b", "T c", "c = a * b + a", "multiply_add")
    wave = cupy.ElementwiseKernel("T a, T b", "T c", "c = sin(a) * exp(b) + a", "wave")
    start = {"a*b+a": lambda: multiply_add(x, y), "sin(a)*exp(b)+a": lambda: wave(x, y)}
    return Peer("CuPy ElementwiseKernel", start, cupy.cuda.get_current_stream().synchronize)


def torch(a: np.ndarray, b: np.ndarray) -> Peer:
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("it was built without CUDA, or finds no GPU")
    x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
    start = {"a*b+a": lambda: x * y + x, "sin(a)*exp(b)+a": lambda: torch.sin(x) * torch.exp(y) + x}
    return Peer("PyTorch, eager", start, torch.cuda.synchronize)


def triton(a: np.ndarray, b: np.ndarray) -> Peer:
    import torch

    import gpu_triton

    x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
    start = {
        "a*b+a": lambda: gpu_triton.launch(gpu_triton.multiply_add, x, y),
        "sin(a)*exp(b)+a": lambda: gpu_triton.launch(gpu_triton.wave, x, y),
    }
    return Peer("Triton", start, torch.cuda.synchronize)


def peers(a: np.ndarray, b: np.ndarray) -> Iterator[Peer]:
    for make in (cupy, torch, triton):
        try:
            peer = make(a, b)
            for start in peer.start.values():
                start()
            peer.wait()
        except ImportError as error:
            print(f"{make.__name__}: left out, {error}", file=sys.stderr)
        except Exception as error:
            print(f"{make.__name__}: left out, {type(error).__name__}: {error}", file=sys.stderr)
        else:
            yield peer
