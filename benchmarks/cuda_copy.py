"""The copy bandwidth of an NVIDIA GPU, measured through the driver itself: the roof that kernels are compared with."""

import ctypes
import statistics


class Driver:
    """The few calls of `libcuda` that a copy needs; a failure raises with the driver's own words."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name: str):
        function = getattr(self.library, name)

        def call(*arguments) -> None:
            code = function(*arguments)
            if code:
                text = ctypes.c_char_p()
                self.library.cuGetErrorString(code, ctypes.byref(text))
                raise RuntimeError(f"{name}: {(text.value or b'unknown error').decode()}")

        return call


def bandwidth(size: int, device: int = 0, repeats: int = 10) -> list[float]:
    """Bytes read and written per second by copies of `size` bytes within the device's memory, one for each repeat."""
    cuda = Driver()
    cuda.cuInit(0)
    handle, context = ctypes.c_int(), ctypes.c_void_p()
    cuda.cuDeviceGet(ctypes.byref(handle), device)
    # The primary context, which other libraries of the process use too.
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle)
    cuda.cuCtxPushCurrent_v2(context)
    source, target = ctypes.c_uint64(), ctypes.c_uint64()
    start, end = ctypes.c_void_p(), ctypes.c_void_p()
    try:
        cuda.cuMemAlloc_v2(ctypes.byref(source), ctypes.c_size_t(size))
        cuda.cuMemAlloc_v2(ctypes.byref(target), ctypes.c_size_t(size))
        cuda.cuEventCreate(ctypes.byref(start), 0)
        cuda.cuEventCreate(ctypes.byref(end), 0)
        return [_copy(cuda, target, source, size, start, end) for _ in range(repeats + 2)][2:]
    finally:
        for pointer in (source, target):
            if pointer.value:
                cuda.cuMemFree_v2(pointer)
        for event in (start, end):
            if event.value:
                cuda.cuEventDestroy_v2(event)
        cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        cuda.cuDevicePrimaryCtxRelease_v2(handle)


def _copy(cuda: Driver, target, source, size: int, start, end, copies: int = 5) -> float:
    cuda.cuEventRecord(start, None)
    for _ in range(copies):
        cuda.cuMemcpyDtoDAsync_v2(target, source, ctypes.c_size_t(size), None)
    cuda.cuEventRecord(end, None)
    cuda.cuEventSynchronize(end)
    milliseconds = ctypes.c_float()
    cuda.cuEventElapsedTime(ctypes.byref(milliseconds), start, end)
    return 2 * size * copies / (milliseconds.value * 1e-3)


if __name__ == "__main__":
    print(f"{statistics.median(bandwidth(1 << 30)) / 1e12:.2f} TB/s")
