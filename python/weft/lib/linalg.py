"""Linear algebra: systems, inverses, factors and norms, by elimination with the largest pivots.

Sums are taken in another order than LAPACK's: results agree to a few units in the last place times the condition.
"""

import math

import numpy as np
from weft.lib import prim
from weft.lib.prim import overload
from weft.lib.products import product
from weft.lib.reductions import as_array


def inexact(kind):
    """The dtype in which NumPy solves systems of these numbers."""
    if prim.is_kind(kind, "biu"):
        return prim.dtype(float)
    if prim.same_dtype(kind, "float16"):
        return prim.undefined("array type float16 is unsupported in linalg")
    return kind


def check_square(a):
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


def only_matrix(a):
    if a.ndim > 2:
        prim.refuse("linear algebra of stacks of matrices is not supported yet", "call it for each matrix in a loop")


def eliminate(a, b):
    """Turns `a` into its upper factor, and `b` along; gives the sign of the exchanges, or 0 where `a` is singular."""
    n = a.shape[0]
    sign = 1
    for k in range(n):
        pivot = k
        largest = abs(a[k, k])
        for i in range(k + 1, n):
            if abs(a[i, k]) > largest:
                largest = abs(a[i, k])
                pivot = i
        if largest == 0:
            return 0
        if pivot != k:
            sign = -sign
            for j in range(k, n):
                a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
            for j in range(b.shape[1]):
                b[k, j], b[pivot, j] = b[pivot, j], b[k, j]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            if factor != 0:
                for j in range(k + 1, n):
                    a[i, j] -= factor * a[k, j]
                for j in range(b.shape[1]):
                    b[i, j] -= factor * b[k, j]
            a[i, k] = 0
    return sign


def solved(a, b):
    """`b` becomes the solution; `a` is used up."""
    n = a.shape[0]
    if eliminate(a, b) == 0:
        raise np.linalg.LinAlgError("Singular matrix")
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            factor = a[i, k]
            for j in range(b.shape[1]):
                b[i, j] -= factor * b[k, j]
        divisor = a[i, i]
        for j in range(b.shape[1]):
            b[i, j] = b[i, j] / divisor
    return b


@overload(np.linalg.solve)
def solve(a, b):
    x = as_array(a)
    y = as_array(b)
    check_square(x)
    only_matrix(x)
    kind = inexact(prim.promote_dtypes(prim.dtype_of(x), prim.dtype_of(y)))
    if x.shape[0] != y.shape[0]:
        raise ValueError(
            "solve: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (m,m),(m,n)->(m,n) "
            f"(size {y.shape[0]} is different from {x.shape[0]})"
        )
    left = prim.copy(prim.as_dtype(x, kind))
    if y.ndim == 1:
        return solved(left, prim.copy(prim.as_dtype(y, kind))[:, None])[:, 0]
    return solved(left, prim.copy(prim.as_dtype(y, kind)))


@overload(np.linalg.inv)
def inv(a):
    x = as_array(a)
    check_square(x)
    only_matrix(x)
    kind = inexact(prim.dtype_of(x))
    return solved(prim.copy(prim.as_dtype(x, kind)), np.eye(x.shape[0], dtype=kind))


@overload(np.linalg.det)
def det(a):
    x = as_array(a)
    check_square(x)
    only_matrix(x)
    left = prim.copy(prim.as_dtype(x, inexact(prim.dtype_of(x))))
    sign = eliminate(left, left[:, :0])
    result = prim.as_dtype(sign, prim.dtype_of(left))
    for i in range(left.shape[0]):
        result = result * left[i, i]
    return result


@overload(np.linalg.cholesky)
def cholesky(a, /, *, upper=False):
    x = as_array(a)
    check_square(x)
    only_matrix(x)
    kind = inexact(prim.dtype_of(x))
    if upper:
        x = np.conjugate(prim.permute(x, None))
    source = prim.as_dtype(x, kind)
    n = x.shape[0]
    result = prim.zeros((n, n), kind)
    for j in range(n):
        row = result[j, :j]
        rest = (source[j, j] - product(row, np.conjugate(row))).real
        if not rest > 0:
            raise np.linalg.LinAlgError("Matrix is not positive definite")
        root = np.sqrt(rest)
        result[j, j] = root
        for i in range(j + 1, n):
            result[i, j] = (source[i, j] - product(result[i, :j], np.conjugate(row))) / root
    if upper:
        return np.conjugate(prim.permute(result, None))
    return result


@overload(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    a = as_array(x)
    if prim.kind(a) != "float" and prim.kind(a) != "complex":
        a = prim.as_dtype(a, float)
    if axis is None and ord is not None and a.ndim == 2:
        return matrix_norm(a, ord, keepdims)
    if prim.is_tuple(axis) and len(axis) == 2 and ord is not None:
        return prim.refuse("np.linalg.norm of matrices along axes is not supported yet")
    if ord is None:
        return np.sqrt(np.sum(squares(a), axis=axis, keepdims=keepdims))
    if ord == 2:
        return np.sqrt(np.sum(squares(a), axis=axis, keepdims=keepdims))
    if ord == math.inf:
        return np.max(np.abs(a), axis=axis, keepdims=keepdims)
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
        return np.max(np.sum(np.abs(a), axis=0, keepdims=keepdims), keepdims=keepdims)
    if ord == -1:
        return np.min(np.sum(np.abs(a), axis=0, keepdims=keepdims), keepdims=keepdims)
    if ord == math.inf:
        return np.max(np.sum(np.abs(a), axis=1, keepdims=keepdims), keepdims=keepdims)
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
    kind = inexact(prim.dtype_of(x)) if dtype is None else prim.dtype(dtype)
    rows = np.atleast_2d(x)
    if not rowvar and x.ndim == 2:
        rows = prim.permute(rows, None)
    values = prim.as_dtype(rows, kind)
    n = values.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    centered = values - np.mean(values, axis=1)[:, None]
    result = product(centered, np.conjugate(prim.permute(centered, None)))
    scaled = result * prim.as_dtype(1 / max(n, 0), prim.real_dtype(kind)) if n > 0 else result * np.inf
    return prim.squeeze(scaled, None)
