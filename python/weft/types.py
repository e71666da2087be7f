"""Types of arguments, for signatures: `@njit("float64[:, ::1](float64)")`, `@njit(types.float64(types.float64[:]))`.

In comes a signature, as text in Numba's spelling or made of the names here; out comes what the dispatcher compiles for
before the first call. `float64[:]` is an array in any layout, `[::1]` and `[:, ::1]` are C-ordered, `[::1, :]` is
F-ordered. `float`, `int`, `bool`, `complex` and `float64`, `int64`, `boolean`, `complex128` are Python's numbers, which
is what calls usually pass; the narrower names are NumPy's scalars.
"""

from __future__ import annotations

import builtins
import difflib
import re
from typing import Any

__all__ = [
    "Array",
    "Scalar",
    "Signature",
    "Tuple",
    "Type",
    "boolean",
    "complex64",
    "complex128",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "none",
    "parse",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "void",
]


class Type:
    """The type of an argument or a result."""

    def __call__(self, *arguments: Type) -> Signature:
        return Signature(self, tuple(as_type(argument) for argument in arguments))

    def describe(self) -> tuple[Any, ...]:
        """What `weft._core` is told."""
        raise NotImplementedError


class Scalar(Type):
    """A number, or None."""

    def __init__(self, name: str, kind: str, dtype: str) -> None:
        self.name, self.kind, self.dtype = name, kind, dtype

    def __getitem__(self, index: Any) -> Array:
        if self.kind == "none":
            raise TypeError("there are no arrays of None")
        axes = index if isinstance(index, tuple) else (index,)
        return Array(self, *_layout(axes))

    def describe(self) -> tuple[Any, ...]:
        return (self.kind, self.dtype)

    def __repr__(self) -> str:
        return self.name


class Array(Type):
    """An array of a rank and a layout: "C", "F" or "A" for any."""

    def __init__(self, dtype: Scalar, ndim: int, layout: str) -> None:
        self.dtype, self.ndim, self.layout = dtype, ndim, layout

    def describe(self) -> tuple[Any, ...]:
        return ("array", self.dtype.dtype, self.ndim, self.layout)

    def __repr__(self) -> str:
        axes = [":"] * self.ndim
        if self.layout != "A":
            axes[-1 if self.layout == "C" else 0] = "::1"
        return f"{self.dtype}[{', '.join(axes)}]"


class Tuple(Type):
    """A tuple, by its parts."""

    def __init__(self, *parts: Type) -> None:
        self.parts = tuple(as_type(part) for part in parts)

    def describe(self) -> tuple[Any, ...]:
        return ("tuple", *(part.describe() for part in self.parts))

    def __repr__(self) -> str:
        return f"Tuple({', '.join(map(repr, self.parts))})"


class Signature:
    """Types of the arguments, and of the result if it was given."""

    def __init__(self, result: Type | None, arguments: tuple[Type, ...]) -> None:
        self.result, self.arguments = result, arguments

    def __repr__(self) -> str:
        return f"{'' if self.result is None else self.result}({', '.join(map(repr, self.arguments))})"


boolean = Scalar("boolean", "python", "bool")
int8 = Scalar("int8", "numpy", "int8")
int16 = Scalar("int16", "numpy", "int16")
int32 = Scalar("int32", "numpy", "int32")
int64 = Scalar("int64", "python", "int64")
uint8 = Scalar("uint8", "numpy", "uint8")
uint16 = Scalar("uint16", "numpy", "uint16")
uint32 = Scalar("uint32", "numpy", "uint32")
uint64 = Scalar("uint64", "numpy", "uint64")
float16 = Scalar("float16", "numpy", "float16")
float32 = Scalar("float32", "numpy", "float32")
float64 = Scalar("float64", "python", "float64")
complex64 = Scalar("complex64", "numpy", "complex64")
complex128 = Scalar("complex128", "python", "complex128")
none = Scalar("none", "none", "")
void = none

_SCALARS = (
    *(boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64),
    *(float16, float32, float64, complex64, complex128, none),
)

# Python's own names, and the short and C-like ones of Numba.
_OTHER_NAMES = {
    boolean: "bool b1 bool_",
    int8: "i1",
    int16: "i2",
    int32: "i4 intc",
    int64: "int i8 intp",
    uint8: "u1 byte",
    uint16: "u2",
    uint32: "u4",
    uint64: "u8 uintp",
    float16: "f2",
    float32: "f4",
    float64: "float f8 double",
    complex64: "c8",
    complex128: "complex c16",
    none: "None void",
}

_NAMES: dict[str, Scalar] = {t.name: t for t in _SCALARS} | {
    name: t for t, names in _OTHER_NAMES.items() for name in names.split()
}

_PYTHON = {builtins.bool: boolean, int: int64, float: float64, complex: complex128, None: none, type(None): none}


def as_type(value: Any) -> Type:
    """The type that an object names: one of this module, one of Python's, a NumPy scalar type, or text."""
    if isinstance(value, Type):
        return value
    if isinstance(value, str):
        return _Parser(value).only_type()
    found = _PYTHON.get(value) if value is None or isinstance(value, type) else None
    if found is None and isinstance(value, type):
        found = _NAMES.get(value.__name__)
    if found is not None:
        return found
    raise TypeError(f"a signature is made of weft.types, not {value!r}")


def parse(signature: Any) -> Signature:
    """A signature from text, from the call of a type, or from a tuple of argument types."""
    if isinstance(signature, Signature):
        return signature
    if isinstance(signature, str):
        return _Parser(signature).signature()
    if isinstance(signature, tuple):
        return Signature(None, tuple(as_type(argument) for argument in signature))
    raise TypeError(f"a signature is text, a type called with types, or a tuple of types, not {signature!r}")


def _layout(axes: tuple[Any, ...]) -> tuple[int, str]:
    unit = slice(None, None, 1)
    plain = slice(None)
    for axis in axes:
        if axis not in (unit, plain):
            raise TypeError("an axis of an array type is `:`, or `::1` where elements are next to each other")
    if axes[-1] == unit and unit not in axes[:-1]:
        return len(axes), "C"
    if axes[0] == unit and unit not in axes[1:]:
        return len(axes), "F"
    if unit in axes:
        raise TypeError("`::1` stands at the last axis (C order) or at the first (F order), once")
    return len(axes), "A"


class _Parser:
    """Reads `result(argument, …)` with a position for messages."""

    _TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z_0-9]*|[()\[\],:]|\d+)")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def error(self, message: str, at: int | None = None) -> ValueError:
        at = len(self.text[: self.at].rstrip()) if at is None else at
        return ValueError(f"{message}\n  {self.text}\n  {' ' * at}^")

    def peek(self) -> str:
        found = self._TOKEN.match(self.text, self.at)
        return found[1] if found else ""

    def next(self) -> str:
        found = self._TOKEN.match(self.text, self.at)
        if not found:
            return ""
        self.at = found.end()
        return found[1]

    def start(self) -> int:
        """Where the next token begins."""
        found = self._TOKEN.match(self.text, self.at)
        return found.start(1) if found else len(self.text)

    def expect(self, token: str) -> None:
        at = self.start()
        if self.next() != token:
            raise self.error(f"a signature has {token!r} here", at)

    def signature(self) -> Signature:
        result = None if self.peek() == "(" else self.type()
        self.expect("(")
        arguments = self.types(")")
        self.end()
        return Signature(result, arguments)

    def only_type(self) -> Type:
        found = self.type()
        self.end()
        return found

    def end(self) -> None:
        if self.text[self.at :].strip():
            raise self.error("nothing more is expected here", self.start() if self.peek() else self.at)

    def types(self, close: str) -> tuple[Type, ...]:
        found: list[Type] = []
        while self.peek() != close:
            if found:
                self.expect(",")
                if self.peek() == close:
                    break
            found.append(self.type())
        self.expect(close)
        return tuple(found)

    def type(self) -> Type:
        at = self.start()
        name = self.next()
        if name in ("Tuple", "UniTuple"):
            return self.tuple(name)
        if name not in _NAMES:
            near = difflib.get_close_matches(name, _NAMES, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; it is one of {', '.join(sorted(_NAMES))}"
            raise self.error(f"{name!r} is no type{hint}" if name.isidentifier() else "a type is missing here", at)
        scalar = _NAMES[name]
        if self.peek() != "[":
            return scalar
        bracket = self.start()
        self.next()
        axes = [self.axis()]
        while self.peek() == ",":
            self.next()
            axes.append(self.axis())
        self.expect("]")
        try:
            return scalar[tuple(axes)]
        except TypeError as error:
            raise self.error(str(error), bracket) from None

    def axis(self) -> slice:
        self.expect(":")
        if self.peek() != ":":
            return slice(None)
        self.next()
        self.expect("1")
        return slice(None, None, 1)

    def tuple(self, name: str) -> Type:
        self.expect("(")
        if name == "Tuple":
            if self.peek() == "(":
                self.next()
                parts = self.types(")")
                self.expect(")")
                return Tuple(*parts)
            return Tuple(*self.types(")"))
        part = self.type()
        self.expect(",")
        at = self.start()
        count = self.next()
        if not count.isdigit():
            raise self.error("UniTuple has a number of parts here", at)
        self.expect(")")
        return Tuple(*[part] * int(count))
