"""Products: of matrices, of vectors, outer and inner ones."""

import numpy as np
from weft.lib import prim
from weft.lib.prim import overload
from weft.lib.reductions import as_array, shape_text


def common(x, y):
    """Both in the dtype where they meet; halves as singles, in which their products are summed."""
    kind = prim.promote_dtypes(prim.dtype_of(x), prim.dtype_of(y))
    if prim.same_dtype(kind, "float16"):
        kind = prim.dtype("float32")
    return prim.as_dtype(x, kind), prim.as_dtype(y, kind)


def times(x, y):
    """The products of matrices of one rank, whose sizes fit."""
    a, b = common(x, y)
    return prim.as_dtype(prim.matmul(a, b), prim.promote_dtypes(prim.dtype_of(x), prim.dtype_of(y)))


def joined(a, b):
    """The sizes that two shapes broadcast to, if they do."""
    if len(a) == 0:
        return b
    if len(b) == 0:
        return a
    n = b[-1] if a[-1] == 1 else a[-1]
    return joined(a[:-1], b[:-1]) + (n,)


def check_joined(x, y, a, b):
    if len(a) == 0 or len(b) == 0:
        return
    if a[-1] != b[-1] and a[-1] != 1 and b[-1] != 1:
        raise ValueError(
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
            + shape_text(x.shape)
            + "->("
            + remapped(x.shape)
            + ") "
            + shape_text(y.shape)
            + "->("
            + remapped(y.shape)
            + f")  and requested shape ({x.shape[-2]},{y.shape[-1]})"
        )
    check_joined(x, y, a[:-1], b[:-1])


def remapped(shape):
    if len(shape) == 2:
        return "newaxis,newaxis"
    return f"{shape[0]}," + remapped(shape[1:])


def check_rank(x, operand):
    if x.ndim == 0:
        raise ValueError(
            f"matmul: Input operand {operand} does not have enough dimensions (has 0, gufunc core with signature "
            "(n?,k),(k,m?)->(n?,m?) requires 1)"
        )


def check_inner(n, k):
    if n != k:
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"(n?,k),(k,m?)->(n?,m?) (size {k} is different from {n})"
        )


def product(x, y):
    """`x @ y` of arrays."""
    check_rank(x, 0)
    check_rank(y, 1)
    check_inner(x.shape[-1], y.shape[0 if y.ndim == 1 else -2])
    if x.ndim == 1 and y.ndim == 1:
        a, b = common(x, y)
        return prim.as_dtype(prim.dot(a, b), prim.promote_dtypes(prim.dtype_of(x), prim.dtype_of(y)))
    if x.ndim == 1:
        return product(x[None, :], y)[..., 0, :]
    if y.ndim == 1:
        return product(x, y[:, None])[..., 0]
    if x.ndim == 2 and y.ndim == 2:
        return times(x, y)
    if y.ndim == 2 and prim.is_contiguous(x):
        # One matrix below the other.
        rows = prim.reshape(x, (rows_of(x.shape[:-1]), x.shape[-1]))
        return prim.reshape(times(rows, y), x.shape[:-1] + y.shape[1:])
    check_joined(x, y, x.shape[:-2], y.shape[:-2])
    outer = joined(x.shape[:-2], y.shape[:-2])
    return times(prim.broadcast_to(x, outer + x.shape[-2:]), prim.broadcast_to(y, outer + y.shape[-2:]))


@overload(np.matmul)
def matmul(x1, x2, /, out=None, *, casting="same_kind", order="K", dtype=None, subok=True):
    x = as_array(x1)
    y = as_array(x2)
    if dtype is not None:
        x = prim.as_dtype(x, dtype)
        y = prim.as_dtype(y, dtype)
    result = product(x, y)
    if out is None:
        return result
    return prim.store_result("matmul", out, result)


@overload(np.dot, np.ndarray.dot)
def dot(a, b, out=None):
    x = as_array(a)
    y = as_array(b)
    if x.ndim == 0 or y.ndim == 0:
        result = x * y
    else:
        result = sums_of_products(x, y)
    if out is None:
        return result
    if not prim.is_array(out) or not prim.same_dtype(prim.dtype_of(out), prim.dtype_of(result)):
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array)"
        )
    return prim.store_result("dot", out, result)


def sums_of_products(x, y):
    at = 0 if y.ndim == 1 else y.ndim - 2
    if x.shape[-1] != y.shape[at]:
        raise ValueError(
            "shapes "
            + shape_text(x.shape)
            + " and "
            + shape_text(y.shape)
            + f" not aligned: {x.shape[-1]} (dim {x.ndim - 1}) != {y.shape[at]} (dim {at})"
        )
    if y.ndim <= 2:
        return product(x, y)
    if x.ndim == 1:
        return product(x, y)
    # Every matrix of `x` with every matrix of `y`.
    left = prim.reshape(x, (rows_of(x.shape[:-1]), x.shape[-1]))
    right = prim.swap(y, -2, 0)
    columns = right.shape[1:]
    right = prim.reshape(right, (y.shape[-2], rows_of(columns)))
    result = prim.reshape(times(left, right), x.shape[:-1] + columns)
    # The first of the columns' axes takes the place of the one that was summed.
    return result if y.ndim == 3 else moved(result, x.ndim - 1, y.ndim)


def rows_of(shape):
    n = 1
    for size in shape:
        n = n * size
    return n


def moved(result, first, rank):
    # `right` has the axes 1 … rank-3, 0, rank-1 of `y`: bring the 0 to the front again.
    return np.moveaxis(result, first + rank - 3, first)


@overload(np.outer)
def outer(a, b, out=None):
    x = prim.reshape(as_array(a), (-1,))
    y = prim.reshape(as_array(b), (-1,))
    result = x[:, None] * y[None, :]
    if out is None:
        return result
    return prim.store_result("multiply", out, result)


@overload(np.inner)
def inner(a, b, /):
    x = as_array(a)
    y = as_array(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            "shapes "
            + shape_text(x.shape)
            + " and "
            + shape_text(y.shape)
            + f" not aligned: {x.shape[-1]} (dim {x.ndim - 1}) != {y.shape[-1]} (dim {y.ndim - 1})"
        )
    if y.ndim == 1:
        return product(x, y)
    flat = prim.reshape(y, (rows_of(y.shape[:-1]), y.shape[-1]))
    left = x[None, :] if x.ndim == 1 else prim.reshape(x, (rows_of(x.shape[:-1]), x.shape[-1]))
    return prim.reshape(times(left, prim.permute(flat, None)), x.shape[:-1] + y.shape[:-1])


@overload(np.vdot)
def vdot(a, b, /):
    x = prim.reshape(as_array(a), (-1,))
    y = prim.reshape(as_array(b), (-1,))
    if prim.kind(x) == "complex":
        x = np.conjugate(x)
    if x.shape[0] != y.shape[0]:
        raise ValueError("cannot reshape array of size " + f"{y.shape[0]} into shape ({x.shape[0]},)")
    return product(x, y)


@overload(np.tensordot)
def tensordot(a, b, axes=2):
    x = as_array(a)
    y = as_array(b)
    if prim.is_tuple(axes):
        return prim.refuse(
            "np.tensordot with pairs of axes is not supported yet",
            "bring the axes to the end and to the front with np.transpose, and pass their number",
        )
    if axes > x.ndim or axes > y.ndim:
        raise IndexError("tuple index out of range")
    kept = x.shape[: x.ndim - axes]
    summed = x.shape[x.ndim - axes :]
    if summed != y.shape[:axes]:
        raise ValueError("shape-mismatch for sum")
    left = prim.reshape(x, (rows_of(kept), rows_of(summed)))
    right = prim.reshape(y, (rows_of(summed), rows_of(y.shape[axes:])))
    return prim.reshape(times(left, right), kept + y.shape[axes:])


def ufunc_outer(ufunc, a, b):
    """`np.add.outer(a, b)`: every element of one with every element of the other."""
    x = as_array(a)
    y = as_array(b)
    return ufunc(prim.reshape(x, x.shape + (1,) * y.ndim), y)
