"""numba-dppy's names over Weft: kernels, and the context that says where NumPy arguments go."""

from __future__ import annotations

from weft import DEFAULT_LOCAL_SIZE, get_global_id, get_global_size
from weft._placement import device_context as offload_to_sycl_device
from weft.compat._kernel import kernel

__all__ = ["DEFAULT_LOCAL_SIZE", "get_global_id", "get_global_size", "kernel", "offload_to_sycl_device"]
