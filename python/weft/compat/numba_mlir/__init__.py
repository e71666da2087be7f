"""Numba-MLIR's names over Weft."""

from weft import jit, njit

__all__ = ["jit", "njit"]
