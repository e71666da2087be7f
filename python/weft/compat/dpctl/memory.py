"""`dpctl.memory`: USM allocations, by dpctl's names."""

from weft.compat._alias import lazy

__getattr__, __dir__ = lazy(
    __name__,
    {
        "MemoryUSMDevice": "weft.memory:DeviceMemory",
        "MemoryUSMHost": "weft.memory:HostMemory",
        "MemoryUSMShared": "weft.memory:SharedMemory",
        "USMAllocationError": "weft:DeviceMemoryError",
        "as_usm_memory": "weft.memory:as_usm_memory",
    },
)
