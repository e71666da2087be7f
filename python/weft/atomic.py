"""Updates of one element of an array that no other thread comes between.

In compiled functions they may be used where iterations of a `prange` meet: `weft.atomic.add(h, k, 1)`,
`weft.atomic.max(a, (i, j), v)`. Each gives the element's old value. The value is converted to the array's dtype, as an
assignment does; integers wrap. Sums of floats depend on the order, which is any. Arrays may be of integers, float32 and
float64. Called by Python they do the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["add", "and_", "cas", "compare_exchange", "exchange", "max", "min", "or_", "sub", "xor"]

Index = Any
Value = Any


def _check(array: Array, value: Value, bits: bool = False) -> None:
    kind, size = array.dtype.kind, array.dtype.itemsize
    if not (kind in "iu" or (kind == "f" and size in (4, 8) and not bits)):
        raise TypeError(f"elements of dtype {array.dtype} have no such atomic update")
    dtype = getattr(value, "dtype", None)
    given = dtype.kind if dtype is not None else "iu" if isinstance(value, int) else "f"
    if kind in "iu" and given not in "iub":
        raise TypeError(f"a value of type {type(value).__name__} does not go into an array of {array.dtype}")


def _element(array: Array, index: Index) -> Any:
    old = array[index]
    if getattr(old, "ndim", 0) > 0:
        raise TypeError("an atomic update is of one element: it takes an index for each axis")
    return old


def _update(array: Array, index: Index, value: Value, apply: Callable[[Any, Any], Any], bits: bool = False) -> Any:
    _check(array, value, bits)
    old = _element(array, index)
    # Storing converts the value, as an assignment does.
    array[index] = value
    new = apply(old, array[index]) if array.dtype.kind == "f" else apply(int(old), int(array[index]))
    if array.dtype.kind != "f":
        width = 8 * array.dtype.itemsize
        half = 1 << (width - 1) if array.dtype.kind == "i" else 0
        new = (new + half) % (1 << width) - half
    array[index] = new
    return old


def _least(old: Any, value: Any) -> Any:
    return old if old <= value or old != old else value


def _greatest(old: Any, value: Any) -> Any:
    return old if old >= value or old != old else value


def add(array: Array, index: Index, value: Value) -> Any:
    """`array[index] += value`; gives the old element."""
    return _update(array, index, value, operator.add)


def sub(array: Array, index: Index, value: Value) -> Any:
    """`array[index] -= value`; gives the old element."""
    return _update(array, index, value, operator.sub)


def min(array: Array, index: Index, value: Value) -> Any:
    """`array[index] = np.minimum(array[index], value)`; gives the old element."""
    return _update(array, index, value, _least)


def max(array: Array, index: Index, value: Value) -> Any:
    """`array[index] = np.maximum(array[index], value)`; gives the old element."""
    return _update(array, index, value, _greatest)


def and_(array: Array, index: Index, value: Value) -> Any:
    """`array[index] &= value` of integers; gives the old element."""
    return _update(array, index, value, operator.and_, bits=True)


def or_(array: Array, index: Index, value: Value) -> Any:
    """`array[index] |= value` of integers; gives the old element."""
    return _update(array, index, value, operator.or_, bits=True)


def xor(array: Array, index: Index, value: Value) -> Any:
    """`array[index] ^= value` of integers; gives the old element."""
    return _update(array, index, value, operator.xor, bits=True)


def exchange(array: Array, index: Index, value: Value) -> Any:
    """`array[index] = value`; gives the old element."""
    return _update(array, index, value, lambda old, new: new)


def cas(array: Array, index: Index, expected: Value, desired: Value) -> Any:
    """Compare and swap: `array[index] = desired` if the element has the bits of `expected`; gives the old element."""
    _check(array, expected)
    _check(array, desired)
    old = _element(array, index)
    array[index] = expected
    wanted: Any = array[index]
    same = memoryview(wanted).tobytes() == memoryview(old).tobytes()
    array[index] = desired if same else old
    return old


compare_exchange = cas
