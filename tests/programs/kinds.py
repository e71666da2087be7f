"""The types that random programs are made of, and what NumPy and CPython say an operation of two of them gives.

Scalars are strings: Python's `pyint pyfloat pybool pycomplex`, NumPy's dtypes by name. Nothing about promotion is
written down here: each rule is asked of NumPy once, with small values, when the table is made.
"""

import itertools
from functools import cache
from typing import Any, NamedTuple

import numpy as np

WEAK = ["pyint", "pyfloat", "pybool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["float16", "float32", "float64"]
STRONG = ["bool", *INTEGERS, *FLOATS]
COMPLEX = ["pycomplex", "complex64", "complex128"]
SCALARS = WEAK + STRONG

# How often a dtype is chosen: the common ones more often.
DTYPE_WEIGHTS = {"bool": 2, "int64": 5, "float64": 6, "float32": 4, "int32": 4, "uint8": 3, "int8": 3, "float16": 1}


class Array(NamedTuple):
    """An array: the dtype, and an expression for each size; one that begins with `~` only says which are equal."""

    dtype: str
    dims: tuple[str, ...]


class List(NamedTuple):
    """A list of numbers of one type."""

    item: str


class Tuple(NamedTuple):
    """A tuple; each item has a type of its own."""

    items: tuple[str, ...]


Kind = str | Array | List | Tuple

OPERATORS = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "<", "<=", "==", "!=", ">", ">="]
UFUNCS = ["minimum", "maximum", "add", "subtract", "multiply", "floor_divide", "remainder", "bitwise_and", "bitwise_or"]
UFUNCS += ["bitwise_xor", "fmin", "fmax", "less", "equal", "logical_and", "logical_or", "divide", "copysign"]
UNARY = ["-{}", "~{}", "+{}", "abs({})", "np.abs({})", "np.square({})", "np.sign({})", "np.negative({})"]
UNARY += ["np.floor({})", "np.ceil({})", "np.trunc({})", "np.rint({})", "np.isnan({})", "np.isfinite({})"]
UNARY += ["np.logical_not({})", "np.sqrt(np.abs({}))", "np.signbit({})", "np.invert({})"]
# These only give numbers that are not exact for some dtypes, or have no loop for them.
BINARY = [f"{{}} {op} {{}}" for op in OPERATORS] + [f"np.{name}({{}}, {{}})" for name in UFUNCS]

_SAMPLES = {"pyint": 3, "pyfloat": 3.0, "pybool": True, "pycomplex": 3j}


def sample(kind: str) -> Any:
    """A small value of a scalar type."""
    return _SAMPLES[kind] if kind in _SAMPLES else np.dtype(kind).type(1 if kind == "bool" else 3)


def kind_of(value: Any) -> str | None:
    """The type of a scalar, by the names used here."""
    if isinstance(value, np.generic):
        return str(value.dtype) if str(value.dtype) in [*STRONG, *COMPLEX] else None
    return {int: "pyint", float: "pyfloat", bool: "pybool", complex: "pycomplex"}.get(type(value))


@cache
def result_of(template: str, *kinds: str) -> str | None:
    """The type of an operation; None where there is none."""
    try:
        with np.errstate(all="ignore"):
            return kind_of(eval(_compiled(template), _scope(kinds)))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return None


@cache
def _compiled(template: str) -> Any:
    return compile(template.format("x", "y"), template, "eval")


def _scope(kinds: tuple[str, ...]) -> dict[str, Any]:
    return {"np": np} | {name: sample(kind) for name, kind in zip("xy", kinds)}


class Operation(NamedTuple):
    template: str
    kinds: tuple[str, ...]


@cache
def operations() -> dict[str, list[Operation]]:
    """By the type that they give: every operation of one and two scalars."""
    found: dict[str, list[Operation]] = {kind: [] for kind in SCALARS}
    for template in UNARY:
        for kind in SCALARS:
            if result := result_of(template, kind):
                found[result].append(Operation(template, (kind,)))
    for template, left, right in itertools.product(BINARY, SCALARS, SCALARS):
        if result := result_of(template, left, right):
            found[result].append(Operation(template, (left, right)))
    return found


ARITHMETIC = {f"{{}} {op} {{}}" for op in OPERATORS[:11]}


@cache
def operations_among(kind: str, known: frozenset[str], arrays: bool) -> tuple[list[Operation], list[Operation]]:
    """Operations that give `kind`, of known types where there are some, of arrays if asked; and the arithmetic ones."""
    ways = [op for op in operations()[kind] if not arrays or any(map(is_strong, op.kinds))]
    ways = [op for op in ways if known.issuperset(op.kinds)] or ways
    return ways, [op for op in ways if op.template in ARITHMETIC]


def is_strong(kind: str) -> bool:
    return kind in STRONG or kind in COMPLEX[1:]
