"""Index spaces of launches: `Range` (how many work-items) and `NdRange` (and in which work-groups)."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex

from weft import _core

__all__ = ["NdRange", "Range", "call_kernel"]


class Range(tuple[int, ...]):
    """A global size of one to three dimensions: `Range(1000)`, `Range(40, 25)`, `Range((40, 25))`."""

    __slots__ = ()

    def __new__(cls, *sizes: SupportsIndex | Iterable[SupportsIndex]) -> Range:
        """Checks the sizes."""
        given: Iterable[Any] = sizes
        if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
            given = sizes[0]
        numbers = tuple(operator.index(n) for n in given)
        if not 1 <= len(numbers) <= 3:
            raise ValueError(f"a range has one to three dimensions, not {len(numbers)}")
        for n in numbers:
            if n < 0:
                raise ValueError(f"a size is not negative, and {n} is")
        return super().__new__(cls, numbers)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self)

    @property
    def size(self) -> int:
        """Number of work-items."""
        count = 1
        for n in self:
            count *= n
        return count

    def __repr__(self) -> str:
        return f"weft.Range({', '.join(map(str, self))})"


class NdRange:
    """A global size and the size of the work-groups that it is cut into: `NdRange((40, 25), (8, 5))`."""

    __slots__ = ("global_range", "local_range")

    global_range: Range
    local_range: Range

    def __init__(self, global_range: Any, local_range: Any) -> None:
        self.global_range, self.local_range = Range(global_range), Range(local_range)
        if len(self.global_range) != len(self.local_range):
            raise ValueError(
                f"the local size has {len(self.local_range)} dimensions and the global size {len(self.global_range)}"
            )
        if 0 in self.local_range:
            raise ValueError("a local size has no zeros")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NdRange):
            return NotImplemented
        return (self.global_range, self.local_range) == (other.global_range, other.local_range)

    def __hash__(self) -> int:
        return hash((self.global_range, self.local_range))

    def __repr__(self) -> str:
        return f"weft.NdRange({tuple(self.global_range)}, {tuple(self.local_range)})"


def _launcher(kernel: _core.Kernel, size: Any) -> _core.Launcher:
    """`kernel[size]`, for every way to write a size."""
    if isinstance(size, NdRange):
        return kernel._over(tuple(size.global_range), tuple(size.local_range))
    return kernel._over(tuple(size)) if isinstance(size, Range) else kernel[size]


def _refuse(name: str, kernel: Any) -> TypeError:
    return TypeError(f"{name} launches a @weft.kernel or a kernel of weft.program, not {type(kernel).__name__}")


def call_kernel(kernel: Any, size: Any, /, *args: Any) -> None:
    """Launches a kernel over a `Range`, an `NdRange` or a size: `call_kernel(f, Range(n), a, b)` is `f[n](a, b)`.

    `kernel` is a `@weft.kernel` or a kernel of `weft.program`, whose launch is complete on return.
    """
    if isinstance(kernel, _core.ProgramKernel):
        kernel.launch(size, args, sync=True)
    elif isinstance(kernel, _core.Kernel):
        _launcher(kernel, size)(*args)
    else:
        raise _refuse("call_kernel", kernel)


def call_kernel_async(kernel: Any, size: Any, wait_for: Any, /, *args: Any) -> _core.Event:
    """`call_kernel` after some events (one, several or None), returning the event of the launch.

        first = weft.call_kernel_async(f, weft.Range(n), None, a, b)
        last = weft.call_kernel_async(g, weft.Range(n), [first], b, c)
        last.wait()

    What shares data is in order without any of that. The runtime keeps the arrays for as long as the launch needs them.
    NumPy arrays, which a device context copies there and back, hold their results on return.
    """
    if isinstance(kernel, _core.ProgramKernel):
        return kernel.launch(size, args, wait_for=wait_for)
    if isinstance(kernel, _core.Kernel):
        return _launcher(kernel, size)._start(args, wait_for)
    raise _refuse("call_kernel_async", kernel)
