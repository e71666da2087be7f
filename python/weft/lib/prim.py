"""What the standard library is written in: operations on one element that Python has no spelling for.

The compiler gives these their meaning; here they are only names, so that editors and checkers know them. Called outside
compiled code they raise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def overload(*functions: Any) -> Callable[[F], F]:
    """The decorated function is what a call of any of `functions` compiles to."""
    return lambda f: f


def elementwise(f: F) -> F:
    """The body is about one element: arrays broadcast, and a 0-d result is a scalar."""
    return f


def elementwise_array(f: F) -> F:
    """Like `elementwise`, but a 0-d result stays an array."""
    return f


def attribute(f: F) -> F:
    """Read like a value: `x.real`."""
    return f


def generate(f: F) -> F:
    """The body is about one element of a new array, whose shape is the first parameter."""
    return f


def _only_compiled(name: str) -> NoReturn:
    raise RuntimeError(f"weft.lib.prim.{name} means something only to the compiler")


def _function(name: str) -> Callable[..., Any]:
    def only_compiled(*args: Any) -> Any:
        _only_compiled(name)

    return only_compiled


# Functions of floats by C's names, in the float dtype NumPy would use: vector routines where there are some.
sin = _function("sin")
cos = _function("cos")
tan = _function("tan")
asin = _function("asin")
acos = _function("acos")
atan = _function("atan")
atan2 = _function("atan2")
sinh = _function("sinh")
cosh = _function("cosh")
tanh = _function("tanh")
asinh = _function("asinh")
acosh = _function("acosh")
atanh = _function("atanh")
exp = _function("exp")
exp2 = _function("exp2")
expm1 = _function("expm1")
log = _function("log")
log2 = _function("log2")
log10 = _function("log10")
log1p = _function("log1p")
pow = _function("pow")
cbrt = _function("cbrt")
hypot = _function("hypot")
erf = _function("erf")
erfc = _function("erfc")
sqrt = _function("sqrt")
floor = _function("floor")
ceil = _function("ceil")
trunc = _function("trunc")
rint = _function("rint")
copysign = _function("copysign")
fmod = _function("fmod")
remainder = _function("remainder")
tgamma = _function("tgamma")
lgamma = _function("lgamma")


def libm(name: str, *args: Any) -> Any:
    """C's own function of Python floats (or of a Python complex), whose bits are CPython's."""
    _only_compiled("libm")


def absolute(x: Any) -> Any:
    """Absolute value; keeps the dtype."""
    _only_compiled("absolute")


def minimum(x: Any, y: Any) -> Any:
    """The smaller, in the common dtype; nan if either is."""
    _only_compiled("minimum")


def maximum(x: Any, y: Any) -> Any:
    """The larger, in the common dtype; nan if either is."""
    _only_compiled("maximum")


def select(condition: Any, x: Any, y: Any) -> Any:
    """`x` if the condition holds, else `y`, in the common dtype."""
    _only_compiled("select")


def position(dim: int) -> Any:
    """Index of this element along a dimension of the result."""
    _only_compiled("position")


def cast_like(x: Any, like: Any) -> Any:
    """`x` converted to the dtype of `like`."""
    _only_compiled("cast_like")


def real(x: Any) -> Any:
    """Real part; a real number itself."""
    _only_compiled("real")


def imag(x: Any) -> Any:
    """Imaginary part; 0 of a real number."""
    _only_compiled("imag")


def conjugate(x: Any) -> Any:
    """Complex conjugate."""
    _only_compiled("conjugate")


def complex(re: Any, im: Any) -> Any:
    """The complex number with these parts, which are of one type."""
    _only_compiled("complex")


def to_complex(x: Any) -> Any:
    """`x` as a Python complex."""
    _only_compiled("to_complex")


def kind(x: Any) -> Any:
    """Of a number or an array, known when compiling: "bool", "int", "uint", "float", "complex", or "" for others."""
    _only_compiled("kind")


def size(x: Any) -> Any:
    """Bytes of a number or of an element, known when compiling."""
    _only_compiled("size")


def is_python(x: Any) -> Any:
    """Whether it is a Python number: known when compiling."""
    _only_compiled("is_python")


def python_minor() -> Any:
    """The version of CPython, 11 of 3.11: known when compiling."""
    _only_compiled("python_minor")


def divides_by_zero() -> Any:
    """Whether Python's numbers are divided by zero without an exception: known when compiling."""
    _only_compiled("divides_by_zero")


def is_array(x: Any) -> Any:
    """Whether it is an array: known when compiling."""
    _only_compiled("is_array")


def is_known(x: Any) -> Any:
    """Whether it is a constant when compiling."""
    _only_compiled("is_known")


def is_absent(x: Any) -> Any:
    """Whether it is the default `...`: known when compiling."""
    _only_compiled("is_absent")


def strong(x: Any) -> Any:
    """A Python number as the NumPy scalar it becomes by itself; others as they are."""
    _only_compiled("strong")


def to_float(x: Any) -> Any:
    """`x` in the float dtype NumPy's functions of floats use."""
    _only_compiled("to_float")


def wide(x: Any) -> Any:
    """Halves as singles; others as they are."""
    _only_compiled("wide")


def largest(x: Any) -> Any:
    """The largest float of its dtype, or of its parts' dtype."""
    _only_compiled("largest")


def bits(x: Any) -> Any:
    """The bits of a float as a signed integer of its size."""
    _only_compiled("bits")


def from_bits(x: Any, like: Any) -> Any:
    """The float of the type of `like` with these bits."""
    _only_compiled("from_bits")


def cast(x: Any, dtype: Any) -> Any:
    """`x` converted to the dtype of this name, as `astype` does."""
    _only_compiled("cast")


def convert(x: Any, dtype: Any) -> Any:
    """`x` as `np.int8(x)` converts it: Python's numbers must fit."""
    _only_compiled("convert")


def promote(*args: Any) -> Any:
    """The numbers in the dtype where they meet."""
    _only_compiled("promote")


def promote_float(*args: Any) -> Any:
    """The numbers in the float dtype where they meet."""
    _only_compiled("promote_float")


def least(*args: Any) -> Any:
    """Python's `min` of several numbers."""
    _only_compiled("least")


def greatest(*args: Any) -> Any:
    """Python's `max` of several numbers."""
    _only_compiled("greatest")


def undefined(message: str) -> NoReturn:
    """Refuses to compile what NumPy or Python has no meaning for: a TypeError."""
    _only_compiled("undefined")


def refuse(message: str, help: str = "") -> NoReturn:
    """Refuses to compile what Weft does not support: an UnsupportedError, with what to write instead."""
    _only_compiled("refuse")


def check_index(i: Any, size: Any, axis: int) -> None:
    """Raises IndexError unless `i` is an index of an axis of this size."""
    _only_compiled("check_index")


def keep(x: Any, written: Any) -> Any:
    """`x`, or a copy of it if it shares memory with an array that is about to be written."""
    _only_compiled("keep")


def broadcast_to(x: Any, shape: Any) -> Any:
    """A read-only view of `x` with this shape."""
    _only_compiled("broadcast_to")


def read_only(x: Any) -> Any:
    """A view of all of an array that cannot be written."""
    _only_compiled("read_only")


def list_len(items: Any) -> Any:
    """Number of items of a list."""
    _only_compiled("list_len")


def list_get(items: Any, at: Any) -> Any:
    """The item at a position, which is known to be one."""
    _only_compiled("list_get")


def list_set(items: Any, at: Any, item: Any) -> None:
    """Replaces the item at a position, which is known to be one."""
    _only_compiled("list_set")


def list_push(items: Any, item: Any) -> None:
    """Adds an item at the end."""
    _only_compiled("list_push")


def list_truncate(items: Any, length: Any) -> None:
    """Keeps only the first items, of which there are at least so many."""
    _only_compiled("list_truncate")


def list_reserve(items: Any, length: Any) -> None:
    """Makes room for so many items, or raises MemoryError."""
    _only_compiled("list_reserve")


def list_is(x: Any) -> bool:
    """Whether it is a list, which is known when compiling."""
    _only_compiled("list_is")


def empty(shape: Any, dtype: Any) -> Any:
    """A new array, not initialised."""
    _only_compiled("empty")


def zeros(shape: Any, dtype: Any) -> Any:
    """A new array of zeros."""
    _only_compiled("zeros")


def array(x: Any, dtype: Any) -> Any:
    """A new array of scalars, (nested) tuples or another array; `dtype` may be None."""
    _only_compiled("array")


def copy(x: Any) -> Any:
    """A new C-ordered array with the elements of another."""
    _only_compiled("copy")


def dtype(x: Any) -> Any:
    """The dtype that a type or a name stands for."""
    _only_compiled("dtype")


def dtype_of(x: Any) -> Any:
    """The dtype of an array, or of the array that scalars would make."""
    _only_compiled("dtype_of")


def promote_dtypes(x: Any, y: Any) -> Any:
    """The dtype in which two meet."""
    _only_compiled("promote_dtypes")


def same_dtype(x: Any, y: Any) -> Any:
    """Whether two names stand for one dtype."""
    _only_compiled("same_dtype")


def real_dtype(x: Any) -> Any:
    """The dtype of the parts of complex numbers; others as they are."""
    _only_compiled("real_dtype")


def is_kind(dtype: Any, kinds: str) -> Any:
    """Whether a dtype is of one of these kinds, by NumPy's letters."""
    _only_compiled("is_kind")


def as_dtype(x: Any, dtype: Any) -> Any:
    """A scalar or an array by plain conversion."""
    _only_compiled("as_dtype")


def zero(dtype: Any) -> Any:
    """A zero of a dtype."""
    _only_compiled("zero")


def shape_of(x: Any) -> Any:
    """The shape of an array; of a scalar the empty tuple."""
    _only_compiled("shape_of")


def in_order(x: Any) -> Any:
    """An array as a C-ordered one: itself if its elements lie in that order, else a copy."""
    _only_compiled("in_order")


def is_contiguous(x: Any) -> Any:
    """Whether an array is known to be C-ordered."""
    _only_compiled("is_contiguous")


def is_tuple(x: Any) -> Any:
    """Whether this is a tuple."""
    _only_compiled("is_tuple")


def reshape(x: Any, shape: Any) -> Any:
    """The elements in another shape; one size may be -1."""
    _only_compiled("reshape")


def permute(x: Any, axes: Any) -> Any:
    """A view with its axes in another order; None turns it around."""
    _only_compiled("permute")


def swap(x: Any, a: int, b: int) -> Any:
    """A view with two axes swapped."""
    _only_compiled("swap")


def squeeze(x: Any, axes: Any) -> Any:
    """A view without axes of size 1."""
    _only_compiled("squeeze")


def expand_dims(x: Any, axis: Any) -> Any:
    """A view with new axes of size 1."""
    _only_compiled("expand_dims")


def item(x: Any) -> Any:
    """The one element of an array, as a Python scalar."""
    _only_compiled("item")


def reduce(fold: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """Folds axes away, in the one order that all machines use."""
    _only_compiled("reduce")


def store_result(ufunc: str, out: Any, result: Any) -> Any:
    """Writes a result into `out` as a ufunc does, by the rule `same_kind`, and gives `out`."""
    _only_compiled("store_result")


def generic(inputs: Any, init: Any, iterators: Any, maps: Any, body: Any) -> Any:
    """`weft.generic`."""
    _only_compiled("generic")


def walked(arrays: Any, has: Any, k: Any) -> Any:
    """Item `k` of those arrays that have an iterator as their first axis, the others as they are."""
    _only_compiled("walked")


def step(arrays: Any, body: Any) -> None:
    """The last of the arrays becomes what the body makes of the elements of all."""
    _only_compiled("step")


def layout(x: Any) -> Any:
    """How an array is known to lie in memory, when compiling: "C", "F", or "A" for any other."""
    _only_compiled("layout")


def matmul(x: Any, y: Any) -> Any:
    """The matrix products of two arrays of one dtype and rank, whose sizes have been looked at."""
    _only_compiled("matmul")


def scan(fold: str, x: Any) -> Any:
    """The running folds ("sum", "prod", "any", "all", "min", "max") of a vector."""
    _only_compiled("scan")


def dot(x: Any, y: Any) -> Any:
    """The sum of the products of two vectors of one dtype, whose sizes have been looked at."""
    _only_compiled("dot")


def cholesky(a: Any) -> Any:
    """The lower Cholesky factor of a matrix of doubles, or of complex ones, and 1; or 0 where it has none."""
    _only_compiled("cholesky")


def solve(a: Any, b: Any) -> Any:
    """The triangular factors of `a`, the solution of `a x = b` for the columns of `b`, and the sign of the exchanges of
    rows, 0 where `a` is singular. Both are matrices of doubles, or of complex ones."""
    _only_compiled("solve")


def count(x: Any, axis: Any) -> Any:
    """How many elements a reduction of these axes combines."""
    _only_compiled("count")
