"""Stands for `numba.types`: names for signatures, which are read and not kept to."""

import numpy as _np

SCALARS = {
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
    "complex128", "boolean", "bool_", "void", "none", "intp", "uintp", "intc", "uintc", "byte", "char", "uchar",
    "short", "ushort", "long_", "ulong", "longlong", "ulonglong", "int_", "uint", "float_", "double", "b1", "i1", "i2",
    "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16", "pyobject", "ffi_forced_object", "ssize_t", "size_t",
}  # fmt: skip


_LETTERS = "abcdefghijklmnopqrstuvwxyz_"


class Type:
    """Any type: named, called, indexed and compared."""

    weft_type = True

    def __init__(self, name, parts=()):
        self.name, self.parts = name, parts

    def __call__(self, *parts, **options):
        return Type(self.name, (*self.parts, *parts, *options.items()))

    def __getitem__(self, key):
        return Type(f"{self.name}[{key}]", self.parts)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "key":
            return self.name
        if name == "bitwidth":
            return {"intp": 64, "uintp": 64, "bool": 8, "boolean": 8}.get(self.name) or int(self.name.strip(_LETTERS))
        if name == "maxval" and "int" in self.name:
            return int(_np.iinfo(self.name).max)
        if name == "minval" and "int" in self.name:
            return int(_np.iinfo(self.name).min)
        return Type(f"{self.name}.{name}")

    def __instancecheck__(self, value):
        return isinstance(value, Type) and value.name.lower().startswith(self.name.lower())

    def __mro_entries__(self, bases):
        from weft_outside import InsideBase

        return (InsideBase,)

    def __eq__(self, other):
        return isinstance(other, Type) and repr(self) == repr(other)

    def __hash__(self):
        return hash(self.name)

    def __iter__(self):
        return iter(self.parts)

    def __repr__(self):
        return f"{self.name}({', '.join(map(repr, self.parts))})" if self.parts else self.name


integer_domain = signed_domain = [Type(f"int{n}") for n in (8, 16, 32, 64)]
unsigned_domain = [Type(f"uint{n}") for n in (8, 16, 32, 64)]
integer_domain = frozenset(signed_domain) | frozenset(unsigned_domain)
real_domain = frozenset([Type("float32"), Type("float64")])
complex_domain = frozenset([Type("complex64"), Type("complex128")])
number_domain = real_domain | integer_domain | complex_domain
signed_domain, unsigned_domain = frozenset(signed_domain), frozenset(unsigned_domain)


def typeof(value, *rest):
    if isinstance(value, _np.ndarray):
        return Type("array", (str(value.dtype), value.ndim, value.flags.c_contiguous, value.flags.f_contiguous))
    if isinstance(value, (tuple, list)):
        return Type(type(value).__name__, tuple(map(typeof, value)))
    return Type(type(value).__name__)


def signature(*parts):
    return Type("signature", parts)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Type(name)
