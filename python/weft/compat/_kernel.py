"""Kernels with the launch convention that numba-dppy and Numba-MLIR have: `f[8, 4]` is 8 work-items in groups of 4."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Unpack, overload

import weft
from weft import _core

if TYPE_CHECKING:
    from weft._options import Options

P = ParamSpec("P")


@overload
def kernel(function: Callable[P, None], /, **options: Unpack[Options]) -> _core.Kernel[P]: ...
@overload
def kernel(function: None = None, /, **options: Unpack[Options]) -> Callable[[Callable[P, None]], _core.Kernel[P]]: ...
def kernel(function: Any = None, /, **options: Any) -> Any:
    """`weft.kernel`, whose launches are `f[global_size]` and `f[global_size, local_size]`, also with plain ints."""
    if function is None:
        return lambda function: kernel(function, **options)
    made = weft.kernel(function, **options)
    made._take_pairs()
    return made
