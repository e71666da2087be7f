"""`numba_mlir.kernel`: kernels, and the functions that mean something inside them."""

from weft import DEFAULT_LOCAL_SIZE, get_global_id, get_global_size
from weft.compat._kernel import kernel

__all__ = ["DEFAULT_LOCAL_SIZE", "get_global_id", "get_global_size", "kernel"]
