"""Stands for `numba.errors`: every error is a refusal of Weft's, every warning one that is never given."""

from weft.errors import CompileError as _CompileError

ERRORS = (_CompileError, TypeError, NotImplementedError)
_made = {}


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if name.endswith("Warning"):
        return _made.setdefault(name, type(name, (UserWarning,), {}))
    return _CompileError
