"""Kernels with the launch convention that numba-dppy and Numba-MLIR have: `f[8, 4]` is 8 work-items in groups of 4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft
from weft import _core


def kernel(function: Callable[..., None] | None = None, /, **options: Any) -> Any:
    """`weft.kernel`, whose launches are `f[global_size]` and `f[global_size, local_size]`, also with plain ints."""
    if function is None:
        return lambda function: kernel(function, **options)
    made: _core.Kernel = weft.kernel(function, **options)
    made._take_pairs()
    return made
