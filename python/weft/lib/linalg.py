"""Linear algebra: systems, inverses, factors and norms, by elimination with the largest pivots.

Sums are taken in another order than LAPACK's: results agree to a few units in the last place times the condition.
"""

import math

import numpy as np
from weft.lib import prim
from weft.lib.prim import overload
from weft.lib.products import check_joined, joined, product, rows_of
from weft.lib.reductions import as_array, no_axis


def inexact(kind):
    """The dtype in which NumPy solves systems of these numbers."""
    if prim.is_kind(kind, "biu"):
        return prim.dtype(float)
    if prim.same_dtype(kind, "float16"):
        return prim.undefined("array type float16 is unsupported in linalg")
    return kind


def calculated(x, kind):
    """In the precision in which NumPy calculates results of this dtype: in doubles, and only the result is rounded."""
    return prim.as_dtype(x, prim.dtype(complex if prim.is_kind(kind, "c") else float))


def check_square(a):
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


def matrices(a):
    """A stack of matrices along one axis."""
    return prim.reshape(a, (rows_of(a.shape[:-2]),) + a.shape[-2:])


def solution(a, b):
    factors, result, sign = prim.solve(a, b)
    if sign == 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return result


@overload(np.linalg.solve)
def solve(a, b):
    x = as_array(a)
    y = as_array(b)
    check_square(x)
    kind = prim.promote_dtypes(inexact(prim.dtype_of(x)), inexact(prim.dtype_of(y)))
    left = calculated(x, kind)
    right = calculated(y, kind)
    n = x.shape[-1]
    if y.ndim == 1:
        if y.shape[0] != n:
            raise ValueError(
                "solve1: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (m,m),(m)->(m) "
                f"(size {y.shape[0]} is different from {n})"
            )
        if x.ndim == 2:
            return prim.as_dtype(solution(left, right[:, None])[:, 0], kind)
        stack = matrices(left)
        result = prim.empty((stack.shape[0], n), kind)
        for i in range(stack.shape[0]):
            result[i] = solution(stack[i], right[:, None])[:, 0]
        return prim.reshape(result, x.shape[:-1])
    if y.shape[-2] != n:
        raise ValueError(
            "solve: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (m,m),(m,n)->(m,n) "
            f"(size {y.shape[-2]} is different from {n})"
        )
    if x.ndim == 2 and y.ndim == 2:
        return prim.as_dtype(solution(left, right), kind)
    check_joined(x, y, x.shape[:-2], y.shape[:-2])
    outer = joined(x.shape[:-2], y.shape[:-2])
    stack = matrices(prim.broadcast_to(left, outer + x.shape[-2:]))
    sides = matrices(prim.broadcast_to(right, outer + y.shape[-2:]))
    result = prim.empty(sides.shape, kind)
    for i in range(stack.shape[0]):
        result[i] = solution(stack[i], sides[i])
    return prim.reshape(result, outer + y.shape[-2:])


@overload(np.linalg.inv)
def inv(a):
    x = as_array(a)
    check_square(x)
    kind = inexact(prim.dtype_of(x))
    source = calculated(x, kind)
    unit = np.eye(x.shape[-1], dtype=prim.dtype_of(source))
    if x.ndim == 2:
        return prim.as_dtype(solution(source, unit), kind)
    stack = matrices(source)
    result = prim.empty(stack.shape, kind)
    for i in range(stack.shape[0]):
        result[i] = solution(stack[i], unit)
    return prim.reshape(result, x.shape)


def determinant(a):
    factors, _, sign = prim.solve(a, a[:, :0])
    result = prim.as_dtype(sign, prim.dtype_of(a))
    if sign == 0:
        return result
    for i in range(a.shape[0]):
        result = result * factors[i, i]
    if result != 0 and np.isfinite(result):
        return result
    # Beyond the range of numbers on the way, but perhaps not at the end.
    unit = prim.as_dtype(sign, prim.dtype_of(a))
    logarithm = 0.0
    for i in range(a.shape[0]):
        size = np.abs(factors[i, i])
        unit = unit * (factors[i, i] / size)
        logarithm += np.log(size)
    return unit * np.exp(logarithm)


@overload(np.linalg.det)
def det(a):
    x = as_array(a)
    check_square(x)
    kind = inexact(prim.dtype_of(x))
    if x.ndim == 2:
        return prim.as_dtype(determinant(calculated(x, kind)), kind)
    stack = matrices(calculated(x, kind))
    result = prim.empty(stack.shape[:1], kind)
    for i in range(stack.shape[0]):
        result[i] = determinant(stack[i])
    return prim.reshape(result, x.shape[:-2])


def factor(a):
    result, is_positive = prim.cholesky(a)
    if is_positive == 0:
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return result


@overload(np.linalg.cholesky)
def cholesky(a, /, *, upper=False):
    x = as_array(a)
    check_square(x)
    if upper:
        x = np.conjugate(prim.swap(x, -1, -2))
    kind = inexact(prim.dtype_of(x))
    if x.ndim == 2:
        result = prim.as_dtype(factor(calculated(x, kind)), kind)
    else:
        stack = matrices(calculated(x, kind))
        factors = prim.empty(stack.shape, kind)
        for i in range(stack.shape[0]):
            factors[i] = factor(stack[i])
        result = prim.reshape(factors, x.shape)
    if upper:
        return np.conjugate(prim.swap(result, -1, -2))
    return result


@overload(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    a = as_array(x)
    if prim.kind(a) != "float" and prim.kind(a) != "complex":
        a = prim.as_dtype(a, float)
    if a.ndim == 0:
        no_axis(axis)
    if axis is None and ord is not None and a.ndim == 2:
        return matrix_norm(a, ord, keepdims)
    if prim.is_tuple(axis) and len(axis) == 2 and ord is not None:
        return prim.refuse("np.linalg.norm of matrices along axes is not supported yet")
    if ord is None:
        return np.sqrt(np.sum(squares(a), axis=axis, keepdims=keepdims))
    if axis is None and a.ndim != 1:
        raise ValueError("Improper number of dimensions to norm.")
    if ord == 2:
        return np.sqrt(np.sum(squares(a), axis=axis, keepdims=keepdims))
    if ord == math.inf:
        return np.max(np.abs(a), axis=axis, keepdims=keepdims, initial=0)
    if ord == -math.inf:
        return np.min(np.abs(a), axis=axis, keepdims=keepdims)
    if ord == 0:
        return prim.as_dtype(np.sum(a != 0, axis=axis, keepdims=keepdims), prim.real_dtype(prim.dtype_of(a)))
    if ord == 1:
        return np.sum(np.abs(a), axis=axis, keepdims=keepdims)
    return np.sum(np.abs(a) ** ord, axis=axis, keepdims=keepdims) ** (1 / ord)


def squares(a):
    if prim.kind(a) == "complex":
        return a.real * a.real + a.imag * a.imag
    return a * a


def matrix_norm(a, ord, keepdims):
    if ord == "fro":
        return np.sqrt(np.sum(squares(a), keepdims=keepdims))
    if ord == 1:
        return np.max(np.sum(np.abs(a), axis=0, keepdims=keepdims), keepdims=keepdims, initial=0)
    if ord == -1:
        return np.min(np.sum(np.abs(a), axis=0, keepdims=keepdims), keepdims=keepdims)
    if ord == math.inf:
        return np.max(np.sum(np.abs(a), axis=1, keepdims=keepdims), keepdims=keepdims, initial=0)
    if ord == -math.inf:
        return np.min(np.sum(np.abs(a), axis=1, keepdims=keepdims), keepdims=keepdims)
    return prim.refuse("this norm of a matrix is not supported yet", 'of matrices there are 1, -1, inf, -inf and "fro"')


@overload(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    if y is not None or fweights is not None or aweights is not None:
        return prim.refuse(
            "np.cov with `y` or weights is not supported yet", "stack the variables: np.cov(np.vstack(…))"
        )
    x = as_array(m)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    kind = prim.promote_dtypes(prim.dtype_of(x), prim.dtype(float)) if dtype is None else prim.dtype(dtype)
    rows = np.atleast_2d(x)
    if not rowvar and x.ndim == 2:
        rows = prim.permute(rows, None)
    values = prim.as_dtype(rows, kind)
    n = values.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    centered = values - np.mean(values, axis=1)[:, None]
    turned = prim.permute(centered, None)
    # Of real numbers, a product with itself: half of the work.
    result = product(centered, np.conjugate(turned) if prim.kind(centered) == "complex" else turned)
    scaled = result * prim.as_dtype(1 / max(n, 0), prim.real_dtype(kind)) if n > 0 else result * np.inf
    return prim.squeeze(scaled, None)
