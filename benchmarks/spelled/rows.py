"""What is found of rows or columns, and used for each of their elements."""

import math

import numpy as np
from spelled.kernel import Kernel, random
from weft import prange

# ---- softmax of rows -----------------------------------------------------------------------------

softmax = Kernel("softmax of rows", lambda n, m: random((n, m)), (1000, 500), (9, 7))


@softmax.array
def softmax_none(x):
    e = np.exp(x - x.max(axis=1)[:, None])
    return e / e.sum(axis=1)[:, None]


@softmax.array
def softmax_reshape(x):
    e = np.exp(x - x.max(axis=1).reshape(-1, 1))
    return e / e.sum(axis=1).reshape(-1, 1)


@softmax.array
def softmax_keepdims(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


@softmax.array
def softmax_in_place(x):
    e = x - x.max(axis=1)[:, None]
    np.exp(e, out=e)
    e /= e.sum(axis=1)[:, None]
    return e


@softmax.array
def softmax_rows(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        e = np.exp(x[i] - x[i].max())
        out[i] = e / e.sum()
    return out


@softmax.array
def softmax_of_the_transpose(x):
    t = x.T
    e = np.exp(t - t.max(axis=0))
    return (e / e.sum(axis=0)).T


@softmax.loops
def softmax_loops(x):
    n, m = x.shape
    out = np.empty((n, m))
    for i in range(n):
        most = x[i, 0]
        for j in range(1, m):
            most = max(most, x[i, j])
        total = 0.0
        for j in range(m):
            out[i, j] = math.exp(x[i, j] - most)
            total += out[i, j]
        for j in range(m):
            out[i, j] /= total
    return out


# ---- rows, and columns, of length one ------------------------------------------------------------

unit_rows = Kernel("rows of length 1", lambda n, m: random((n, m)), (1500, 1000), (9, 7))


@unit_rows.array
def unit_rows_none(x):
    return x / np.sqrt((x * x).sum(axis=1))[:, None]


@unit_rows.array
def unit_rows_reshape(x):
    lengths = np.sqrt(np.sum(x**2, axis=1))
    return x / lengths.reshape(-1, 1)


@unit_rows.array
def unit_rows_of_the_transpose(x):
    return (x.T / np.sqrt((x * x).sum(axis=1))).T


@unit_rows.array
def unit_rows_one_by_one(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = x[i] / np.sqrt((x[i] * x[i]).sum())
    return out


@unit_rows.array
def unit_rows_by_dots(x):
    out = x.copy()
    for i in range(x.shape[0]):
        out[i] /= np.sqrt(np.dot(x[i], x[i]))
    return out


@unit_rows.array
def unit_rows_by_norms(x):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i, :] = x[i, :] / np.linalg.norm(x[i, :])
    return out


@unit_rows.loops
def unit_rows_loops(x):
    n, m = x.shape
    out = np.empty((n, m))
    for i in range(n):
        total = 0.0
        for j in range(m):
            total += x[i, j] * x[i, j]
        length = math.sqrt(total)
        for j in range(m):
            out[i, j] = x[i, j] / length
    return out


unit_columns = Kernel("columns of length 1", lambda n, m: random((n, m)), (1500, 1000), (9, 7))


@unit_columns.array
def unit_columns_whole(x):
    return x / np.sqrt((x * x).sum(axis=0))


@unit_columns.array
def unit_columns_of_the_transpose(x):
    t = x.T
    return (t / np.sqrt((t * t).sum(axis=1))[:, None]).T


@unit_columns.array
def unit_columns_one_by_one(x):
    out = np.empty_like(x)
    for j in range(x.shape[1]):
        out[:, j] = x[:, j] / np.sqrt((x[:, j] ** 2).sum())
    return out


@unit_columns.array
def unit_columns_in_place(x):
    out = x.copy()
    for j in range(x.shape[1]):
        out[:, j] /= np.sqrt(np.sum(x[:, j] * x[:, j]))
    return out


@unit_columns.array
def unit_columns_by_rows(x):
    total = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return x / np.sqrt(total)


@unit_columns.loops
def unit_columns_loops(x):
    n, m = x.shape
    out = np.empty((n, m))
    for j in range(m):
        total = 0.0
        for i in range(n):
            total += x[i, j] * x[i, j]
        length = math.sqrt(total)
        for i in range(n):
            out[i, j] = x[i, j] / length
    return out


@unit_columns.loops
def unit_columns_loops_by_rows(x):
    n, m = x.shape
    total = np.zeros(m)
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            total[j] += x[i, j] * x[i, j]
    for i in range(n):
        for j in range(m):
            out[i, j] = x[i, j] / math.sqrt(total[j])
    return out


# ---- distances of all pairs ----------------------------------------------------------------------

distances = Kernel("pairwise distances", lambda n, m, d: random((n, d), (m, d)), (500, 450, 8), (9, 8, 3))


@distances.array
def distances_whole(x, y):
    return np.sqrt(((x[:, None] - y) ** 2).sum(axis=2))


@distances.array
def distances_with_none(x, y):
    difference = x[:, None, :] - y[None, :, :]
    return np.sqrt(np.sum(difference * difference, axis=-1))


@distances.array
def distances_by_rows(x, y):
    out = np.empty((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        out[i] = np.sqrt(((x[i] - y) ** 2).sum(axis=1))
    return out


@distances.array
def distances_by_coordinates(x, y):
    total = np.zeros((x.shape[0], y.shape[0]))
    for k in range(x.shape[1]):
        total += (x[:, k][:, None] - y[:, k]) ** 2
    return np.sqrt(total)


@distances.array
def distances_by_products(x, y):
    squares = (x * x).sum(axis=1)[:, None] + (y * y).sum(axis=1) - 2.0 * (x @ y.T)
    return np.sqrt(np.maximum(squares, 0.0))


@distances.array
def distances_by_dots(x, y):
    out = np.empty((x.shape[0], y.shape[0]))
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            difference = x[i] - y[j]
            out[i, j] = np.sqrt(np.dot(difference, difference))
    return out


@distances.loops
def distances_loops(x, y):
    n, d = x.shape
    m = y.shape[0]
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            total = 0.0
            for k in range(d):
                total += (x[i, k] - y[j, k]) ** 2
            out[i, j] = math.sqrt(total)
    return out


@distances.loops
def distances_prange(x, y):
    n, d = x.shape
    m = y.shape[0]
    out = np.empty((n, m))
    for i in prange(n):
        for j in range(m):
            total = 0.0
            for k in range(d):
                total += (x[i, k] - y[j, k]) ** 2
            out[i, j] = math.sqrt(total)
    return out


# ---- mean and variance of columns ----------------------------------------------------------------

moments = Kernel("mean and variance of columns", lambda n, m: random((n, m)), (2000, 700), (11, 6))


@moments.array
def moments_axis(x):
    return x.mean(axis=0), x.var(axis=0)


@moments.array
def moments_of_the_transpose(x):
    t = x.T
    return t.mean(axis=1), t.var(axis=1)


@moments.array
def moments_spelled_out(x):
    mean = np.sum(x, axis=0) / x.shape[0]
    centred = x - mean
    return mean, (centred * centred).sum(axis=0) / x.shape[0]


@moments.array
def moments_one_by_one(x):
    mean = np.empty(x.shape[1])
    variance = np.empty(x.shape[1])
    for j in range(x.shape[1]):
        mean[j] = x[:, j].mean()
        variance[j] = x[:, j].var()
    return mean, variance


@moments.array
def moments_by_rows(x):
    mean = np.zeros(x.shape[1])
    variance = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        mean += x[i]
    mean /= x.shape[0]
    for i in range(x.shape[0]):
        variance += (x[i] - mean) ** 2
    return mean, variance / x.shape[0]


@moments.loops
def moments_loops(x):
    n, m = x.shape
    mean = np.zeros(m)
    variance = np.zeros(m)
    for i in range(n):
        for j in range(m):
            mean[j] += x[i, j]
    for j in range(m):
        mean[j] /= n
    for i in range(n):
        for j in range(m):
            variance[j] += (x[i, j] - mean[j]) ** 2
    for j in range(m):
        variance[j] /= n
    return mean, variance


@moments.loops
def moments_loops_by_columns(x):
    n, m = x.shape
    mean = np.empty(m)
    variance = np.empty(m)
    for j in range(m):
        total = 0.0
        for i in range(n):
            total += x[i, j]
        mean[j] = total / n
        total = 0.0
        for i in range(n):
            total += (x[i, j] - mean[j]) ** 2
        variance[j] = total / n
    return mean, variance


# ---- largest of each row, and where --------------------------------------------------------------

largest = Kernel("largest of rows, and where", lambda n, m: random((n, m)), (1500, 1000), (9, 7))


@largest.array
def largest_axis(x):
    return x.max(axis=1), x.argmax(axis=1)


@largest.array
def largest_of_the_transpose(x):
    return x.T.max(axis=0), np.argmax(x.T, axis=0)


@largest.array
def largest_by_rows(x):
    most, where = np.empty(x.shape[0]), np.empty(x.shape[0], np.int64)
    for i in range(x.shape[0]):
        most[i] = x[i].max()
        where[i] = x[i].argmax()
    return most, where


@largest.array
def largest_taken(x):
    where = x.argmax(axis=1)
    return x[np.arange(x.shape[0]), where], where


@largest.loops
def largest_loops(x):
    n, m = x.shape
    most, where = np.empty(n), np.empty(n, np.int64)
    for i in range(n):
        best = 0
        for j in range(1, m):
            if x[i, j] > x[i, best]:
                best = j
        most[i] = x[i, best]
        where[i] = best
    return most, where


@largest.loops
def largest_prange(x):
    n, m = x.shape
    most, where = np.empty(n), np.empty(n, np.int64)
    for i in prange(n):
        best = 0
        for j in range(1, m):
            if x[i, j] > x[i, best]:
                best = j
        most[i] = x[i, best]
        where[i] = best
    return most, where
