"""Products of matrices and vectors, and what is made of them."""

import math

import numpy as np
from spelled.kernel import SOURCE_ORDER, Kernel, random
from weft import prange

# ---- matrix × vector -----------------------------------------------------------------------------

matvec = Kernel("matrix × vector", lambda n, m: random((n, m), (m,)), (1500, 1200), (14, 11))


@matvec.array
def matvec_at(a, x):
    return a @ x


@matvec.array
def matvec_dots(a, x):
    y = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        y[i] = np.dot(a[i], x)
    return y


@matvec.array
def matvec_listed_dots(a, x):
    return np.array([np.dot(a[i], x) for i in range(a.shape[0])])


@matvec.array
def matvec_sum(a, x):
    return (a * x).sum(axis=1)


@matvec.array
def matvec_sum_of_rows(a, x):
    y = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        y[i] = np.sum(a[i] * x)
    return y


@matvec.array
def matvec_columns(a, x):
    y = np.zeros(a.shape[0])
    for j in range(a.shape[1]):
        y += a[:, j] * x[j]
    return y


@matvec.array
def matvec_transposed(a, x):
    return x @ a.T


@matvec.loops
def matvec_loops(a, x):
    n, m = a.shape
    y = np.zeros(n)
    for i in range(n):
        for j in range(m):
            y[i] += a[i, j] * x[j]
    return y


@matvec.loops
def matvec_loops_with_a_scalar(a, x):
    n, m = a.shape
    y = np.empty(n)
    for i in range(n):
        total = 0.0
        for j in range(m):
            total += a[i, j] * x[j]
        y[i] = total
    return y


@matvec.loops
def matvec_loops_by_columns(a, x):
    n, m = a.shape
    y = np.zeros(n)
    for j in range(m):
        for i in range(n):
            y[i] += a[i, j] * x[j]
    return y


@matvec.loops
def matvec_prange(a, x):
    n, m = a.shape
    y = np.empty(n)
    for i in prange(n):
        total = 0.0
        for j in range(m):
            total += a[i, j] * x[j]
        y[i] = total
    return y


# ---- vector × matrix -----------------------------------------------------------------------------

vecmat = Kernel("vector × matrix", lambda n, m: random((n,), (n, m)), (1500, 1200), (14, 11))


@vecmat.array
def vecmat_at(x, a):
    return x @ a


@vecmat.array
def vecmat_of_the_transpose(x, a):
    return a.T @ x


@vecmat.array
def vecmat_sum(x, a):
    return (x[:, None] * a).sum(axis=0)


@vecmat.array
def vecmat_rows(x, a):
    y = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        y += x[i] * a[i]
    return y


@vecmat.array
def vecmat_dots(x, a):
    y = np.empty(a.shape[1])
    for j in range(a.shape[1]):
        y[j] = np.dot(x, a[:, j])
    return y


@vecmat.loops
def vecmat_loops_by_rows(x, a):
    n, m = a.shape
    y = np.zeros(m)
    for i in range(n):
        for j in range(m):
            y[j] += x[i] * a[i, j]
    return y


@vecmat.loops
def vecmat_loops_by_columns(x, a):
    n, m = a.shape
    y = np.empty(m)
    for j in range(m):
        total = 0.0
        for i in range(n):
            total += x[i] * a[i, j]
        y[j] = total
    return y


# ---- product of matrices -------------------------------------------------------------------------

matmul = Kernel("matrix product", lambda n, m, k: random((n, k), (k, m)), (240, 220, 200), (9, 8, 7))


@matmul.array
def matmul_at(a, b):
    return a @ b


@matmul.array
def matmul_rows(a, b):
    c = np.empty((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        c[i] = a[i] @ b
    return c


@matmul.array
def matmul_columns(a, b):
    c = np.empty((a.shape[0], b.shape[1]))
    for j in range(b.shape[1]):
        c[:, j] = a @ b[:, j]
    return c


@matmul.array
def matmul_dots(a, b):
    c = np.empty((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = np.dot(a[i], b[:, j])
    return c


@matmul.array
def matmul_of_transposes(a, b):
    return (b.T @ a.T).T


@matmul.array(exempt=SOURCE_ORDER)
def matmul_rank_one(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for k in range(a.shape[1]):
        c += np.outer(a[:, k], b[k])
    return c


@matmul.array(exempt=SOURCE_ORDER)
def matmul_sum(a, b):
    return (a[:, :, None] * b).sum(axis=1)


@matmul.loops(exempt=SOURCE_ORDER)
def matmul_loops(a, b):
    n, inner = a.shape
    m = b.shape[1]
    c = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for k in range(inner):
                c[i, j] += a[i, k] * b[k, j]
    return c


@matmul.loops(exempt=SOURCE_ORDER)
def matmul_loops_by_rows(a, b):
    n, inner = a.shape
    m = b.shape[1]
    c = np.zeros((n, m))
    for i in range(n):
        for k in range(inner):
            for j in range(m):
                c[i, j] += a[i, k] * b[k, j]
    return c


# ---- covariance ----------------------------------------------------------------------------------

covariance = Kernel("covariance", lambda n, m: random((n, m)), (800, 200), (12, 6))


@covariance.array
def covariance_product(x):
    c = x - x.mean(axis=0)
    return c.T @ c / (x.shape[0] - 1)


@covariance.array
def covariance_np_cov(x):
    return np.cov(x.T)


@covariance.array
def covariance_divided_first(x):
    c = x - np.sum(x, axis=0) / x.shape[0]
    return (c / (x.shape[0] - 1)).T @ c


@covariance.array
def covariance_row_by_row(x):
    n, m = x.shape
    c = x - x.mean(axis=0)
    out = np.empty((m, m))
    for i in range(m):
        out[i:, i] = c[:, i] @ c[:, i:] / (n - 1)
        out[i, i:] = out[i:, i]
    return out


@covariance.array
def covariance_dots(x):
    n, m = x.shape
    c = x - x.mean(axis=0)
    out = np.empty((m, m))
    for i in range(m):
        for j in range(m):
            out[i, j] = np.dot(c[:, i], c[:, j]) / (n - 1)
    return out


@covariance.array(exempt=SOURCE_ORDER)
def covariance_rank_one(x):
    n, m = x.shape
    c = x - x.mean(axis=0)
    out = np.zeros((m, m))
    for i in range(n):
        out += np.outer(c[i], c[i])
    return out / (n - 1)


@covariance.loops(exempt=SOURCE_ORDER)
def covariance_loops(x):
    n, m = x.shape
    mean = np.zeros(m)
    for i in range(n):
        for j in range(m):
            mean[j] += x[i, j]
    for j in range(m):
        mean[j] /= n
    out = np.zeros((m, m))
    for i in range(m):
        for j in range(i, m):
            total = 0.0
            for k in range(n):
                total += (x[k, i] - mean[i]) * (x[k, j] - mean[j])
            out[i, j] = total / (n - 1)
            out[j, i] = out[i, j]
    return out


# ---- updates of rank one -------------------------------------------------------------------------

rank_one = Kernel("rank-one updates", lambda n, m: random((n, m), (n,), (m,), (n,), (m,)), (1200, 1000), (9, 7))


@rank_one.array
def rank_one_outer(a, u, v, w, z):
    return a + np.outer(u, v) + np.outer(w, z)


@rank_one.array
def rank_one_none(a, u, v, w, z):
    return a + u[:, None] * v + w[:, None] * z


@rank_one.array
def rank_one_in_place(a, u, v, w, z):
    out = a.copy()
    out += np.outer(u, v)
    out += np.outer(w, z)
    return out


@rank_one.array
def rank_one_products(a, u, v, w, z):
    return a + u.reshape(-1, 1) @ v.reshape(1, -1) + w.reshape(-1, 1) @ z.reshape(1, -1)


@rank_one.array
def rank_one_multiply_outer(a, u, v, w, z):
    return a + np.multiply.outer(u, v) + np.multiply.outer(w, z)


@rank_one.array
def rank_one_rows(a, u, v, w, z):
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        out[i] = a[i] + u[i] * v + w[i] * z
    return out


@rank_one.array
def rank_one_columns(a, u, v, w, z):
    out = np.empty_like(a)
    for j in range(a.shape[1]):
        out[:, j] = a[:, j] + u * v[j] + w * z[j]
    return out


@rank_one.loops
def rank_one_loops(a, u, v, w, z):
    n, m = a.shape
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = a[i, j] + u[i] * v[j] + w[i] * z[j]
    return out


# ---- Gram-Schmidt --------------------------------------------------------------------------------

orthogonal = Kernel("gram-schmidt", lambda n, m: random((n, m)), (300, 160), (12, 6))


@orthogonal.array
def orthogonal_by_pairs(x):
    a = x.copy()
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


@orthogonal.array
def orthogonal_by_products(x):
    a = x.copy()
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(a[:, k] @ a[:, k])
        q[:, k] = a[:, k] / r[k, k]
        r[k, k + 1 :] = q[:, k] @ a[:, k + 1 :]
        a[:, k + 1 :] -= np.outer(q[:, k], r[k, k + 1 :])
    return q, r


@orthogonal.array
def orthogonal_by_sums(x):
    a = x.copy()
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros((n, n))
    for k in range(n):
        column = a[:, k]
        r[k, k] = np.sqrt((column * column).sum())
        q[:, k] = column / r[k, k]
        rest = a[:, k + 1 :]
        r[k, k + 1 :] = (q[:, k][:, None] * rest).sum(axis=0)
        rest -= q[:, k][:, None] * r[k, k + 1 :]
    return q, r


@orthogonal.array
def orthogonal_of_the_transpose(x):
    a = x.T.copy()
    n = a.shape[0]
    q, r = np.zeros_like(a), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.linalg.norm(a[k])
        q[k] = a[k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[k], a[j])
            a[j] -= q[k] * r[k, j]
    return q.T, r


@orthogonal.loops
def orthogonal_loops(x):
    a = x.copy()
    m, n = a.shape
    q, r = np.zeros((m, n)), np.zeros((n, n))
    for k in range(n):
        total = 0.0
        for i in range(m):
            total += a[i, k] * a[i, k]
        r[k, k] = math.sqrt(total)
        for i in range(m):
            q[i, k] = a[i, k] / r[k, k]
        for j in range(k + 1, n):
            total = 0.0
            for i in range(m):
                total += q[i, k] * a[i, j]
            r[k, j] = total
            for i in range(m):
                a[i, j] -= q[i, k] * total
    return q, r
