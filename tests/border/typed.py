"""What type checkers see of the decorators: `tests/border/test_typing.py` compares it with mypy's answers."""

from typing import assert_type, reveal_type

import numpy as np
import weft
from weft import types

Vector = np.ndarray[tuple[int], np.dtype[np.float64]]


@weft.njit
def scale(x: float, times: int = 2) -> float:
    return x * times


assert_type(scale(1.0), float)
assert_type(scale(1.0, times=3), float)
scale("1")  # error: arg-type
scale(1.0, 2, 3)  # error: call-arg
scale(1.0, factor=3)  # error: call-arg
reveal_type(scale)  # revealed: weft._core.Dispatcher[[x: float, times: int =
assert_type(scale.report(), weft.Report)
assert_type(scale.inspect("llvm"), str)
assert_type([s.signature for s in scale.specializations], list[str])
assert_type(scale.py_func(1.0), float)
scale.reports()  # error: attr-defined


@weft.njit(parallel=True, fastmath={"reassoc"}, error_model="numpy")
def total(x: Vector) -> float:
    return float(x.sum())


assert_type(total(np.ones(3)), float)
total(1.0)  # error: arg-type


@weft.jit("float64(float64)")
def half(x: float) -> float:
    return x / 2


assert_type(half(1.0), float)
half()  # error: call-arg


def plain(x: float) -> float:
    return x + 1


assert_type(weft.njit("float64(float64)")(plain)(1.0), float)
assert_type(weft.njit(types.float64(types.float64))(plain)(1.0), float)
assert_type(weft.njit(plain)(1.0), float)
assert_type(weft.njit(weft.njit(plain))(1.0), float)
assert_type(weft.njit(lambda x: x + 1, nogil=True).signatures, list[str])


class Box:
    size = 3.0

    @weft.njit
    def twice(self, x: float) -> float:
        return 2 * x

    @staticmethod
    @weft.njit
    def shared(x: int) -> int:
        return x


assert_type(Box().twice(1.0), float)
Box().twice("1")  # error: arg-type
assert_type(Box().twice.report(), weft.Report)
assert_type(Box.shared(3), int)
assert_type(Box.shared.specializations[0].seconds, float)


@weft.njit
def untyped(x, y):
    return x + y


untyped(1, 2)
untyped(1)  # error: call-arg
untyped.report()


def apply(f: weft.Dispatcher[[float], float], x: float) -> float:
    return f(x)


apply(half, 1.0)
apply(total, 1.0)  # error: arg-type


@weft.kernel
def double(a: Vector, out: Vector, by: float) -> None:
    i = weft.get_global_id(0)
    out[i] = by * a[i]


x = np.ones(3)
double[3](x, x, 2.0)
double[(3,), (1,)](x, x, by=2.0)
double[3](x, x)  # error: call-arg
reveal_type(double)  # revealed: weft._core.Kernel[[a: numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]], out:
assert_type(double.report(), weft.Report)


@weft.kernel(debug=True)
def checked(a: Vector) -> None:
    a[0] = 1.0


checked[1](1.0)  # error: arg-type

weft.njit(paralel=True)  # error: call-overload
weft.njit(overflow="wraps")  # error: call-overload
weft.njit(error_model="numpy", cache=True, nopython=True, forceobj=False, locals={}, looplift=True)
