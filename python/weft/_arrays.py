"""What besides `numpy.ndarray` itself is an array to compiled functions.

In comes a type or an object among the arguments; out comes whether instances of a subclass are read as plain arrays,
and the array that an object of another package offers. `weft._core` asks.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

# What a subclass may define anew without changing what NumPy computes with it: how it is made, kept, shown and pickled.
_HARMLESS = frozenset(
    "__module__ __qualname__ __doc__ __dict__ __weakref__ __slots__ __annotations__ __annotate__ __annotate_func__ "
    "__new__ __init__ __del__ __init_subclass__ __class_getitem__ __dir__ "
    "__repr__ __str__ __format__ __sizeof__ __reduce__ __reduce_ex__ __getstate__ __setstate__ "
    "__array_priority__".split()
)

# NumPy's own, whose rules are known: what they change concerns files, and fields of records.
_KNOWN = (np.memmap, np.recarray)

_PLAIN: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()


def _own_rules(cls: type) -> list[str]:
    """What a subclass of ndarray does in its own way."""
    found = []
    for base in cls.__mro__[: cls.__mro__.index(np.ndarray)]:
        if base not in _KNOWN:
            own = vars(base)
            found += [name for name in own if name not in _HARMLESS and hasattr(np.ndarray, name)]
            # `__array_finalize__ = None` says that there is nothing to do.
            if "__array_finalize__" in own and own["__array_finalize__"] is None:
                found.remove("__array_finalize__")
    return sorted(set(found))


def is_plain(cls: type) -> bool:
    """Whether arrays of a subclass of ndarray are to NumPy as other arrays are."""
    known = _PLAIN.get(cls)
    if known is None:
        known = _PLAIN[cls] = not _own_rules(cls)
    return known


def why_refused(cls: type, name: str) -> str:
    """Why the argument `name`, of a subclass of ndarray with rules of its own, is not taken."""
    module = "" if cls.__module__ == "__main__" else f"{cls.__module__}."
    said = f"the argument `{name}` is a {module}{cls.__qualname__}"
    if issubclass(cls, np.ma.MaskedArray):
        return f"{said}, whose mask compiled code does not know: pass {name}.filled(value), or the data and the mask"
    if issubclass(cls, np.matrix):
        return f"{said}, whose `*` is a product of matrices: pass np.asarray({name}), and write `@` for products"
    rules = _own_rules(cls)
    some = ", ".join(f"`{rule}`" for rule in rules[:3]) + (", …" if len(rules) > 3 else "")
    return (
        f"{said}, a subclass of ndarray with rules of its own ({some}), which compiled code would not follow: "
        f"pass {name}.view(np.ndarray) if they may be left out"
    )


def offered(value: Any) -> np.ndarray[Any, Any] | None:
    """The array that an object offers, or None if it offers none.

    It shows the object's own memory, so that what is written there is the object's; or it is a copy, or may be one, and
    read-only, so that nothing that is written is lost.
    """
    # Text; and what follows rules of its own in NumPy's functions, such as units.
    if isinstance(value, (bytes, bytearray)) or hasattr(type(value), "__array_function__"):
        return None
    if hasattr(value, "__array_interface__") or hasattr(value, "__array_struct__") or _has_buffer(value):
        return np.asarray(value, copy=False)
    # What has no dtype can be made an array and is none: a polynomial, a table.
    convert = getattr(value, "__array__", None) if hasattr(value, "dtype") else None
    if convert is not None:
        try:
            return _exact(convert(copy=False))
        except Exception:
            # It needs a copy, or does not say whether it is one.
            pass
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return np.from_dlpack(value)
    if convert is None:
        return None
    # A view, since the flag of what may be its own array is not ours to change.
    array = np.asarray(value)[...]
    array.flags.writeable = False
    return array


def _exact(array: Any) -> np.ndarray[Any, Any]:
    if not isinstance(array, np.ndarray) or not (type(array) is np.ndarray or is_plain(type(array))):
        raise TypeError(f"its __array__ gives a {type(array).__qualname__}")
    return np.asarray(array)


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value).release()
    except (TypeError, BufferError, ValueError):
        return False
    return True
