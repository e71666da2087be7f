"""The exception classes of Weft.

In comes a refusal (a diagnostic of the compiler, an error of a driver, a conflict of places); out comes one of these
classes. Python's own exceptions raised by compiled user code come out as themselves, not as one of these.
"""

from numpy.exceptions import AxisError

__all__ = [
    "CompileError",
    "DeviceError",
    "DeviceLostError",
    "DeviceMemoryError",
    "ExecutionPlacementError",
    "OffloadConflictError",
    "OptionWarning",
    "PlacementWarning",
    "TypingAttributeError",
    "TypingAxisError",
    "TypingError",
    "TypingIndexError",
    "TypingNameError",
    "TypingOverflowError",
    "TypingUnboundLocalError",
    "TypingValueError",
    "TypingZeroDivisionError",
    "UnsupportedError",
    "WeftError",
    "WeftInternalError",
]


class WeftError(Exception):
    """The base of all refusals."""


class CompileError(WeftError):
    """A function cannot be compiled: no source, or source that does not parse or does not belong to the function."""


class TypingError(CompileError, TypeError):
    """An operation has no meaning for the types involved, in CPython and NumPy either."""


class TypingAttributeError(TypingError, AttributeError):
    """An attribute that the object does not have."""


class TypingNameError(TypingError, NameError):
    """A name that is bound nowhere."""


class TypingValueError(TypingError, ValueError):
    """Values known at compile time that do not fit, such as constant shapes that disagree."""


class TypingOverflowError(TypingError, OverflowError):
    """Constants that leave the range of their type."""


class TypingZeroDivisionError(TypingError, ZeroDivisionError):
    """A division by a constant zero."""


class TypingIndexError(TypingError, IndexError):
    """An index known to be out of range, or more indices than dimensions."""


class TypingAxisError(AxisError, TypingIndexError, TypingValueError):
    """An axis that an array does not have."""


class TypingUnboundLocalError(TypingError, UnboundLocalError):
    """A local name read where nothing can have bound it."""


class UnsupportedError(CompileError):
    """Legal Python or NumPy that Weft does not compile."""


class ExecutionPlacementError(WeftError, TypeError):
    """Arrays of different places in one call, or arrays in a place where the call cannot run."""


class OffloadConflictError(WeftError):
    """A function that asked for serial code, called where a device context asks for parallel code."""


class DeviceError(WeftError):
    """A device that does not exist, a driver that fails or refuses."""


class DeviceLostError(DeviceError):
    """A device that a kernel fault has taken from this process. Arrays elsewhere survive."""


class DeviceMemoryError(DeviceError, MemoryError):
    """An allocation that did not fit. Everything else survives."""


class WeftInternalError(RuntimeError):
    """A bug of Weft. Outside the tree of `WeftError`, so that a program that handles refusals does not hide it."""


class PlacementWarning(UserWarning):
    """Data and device context name different places; the data won."""


class OptionWarning(UserWarning):
    """An option of a decorator that changes nothing yet."""
