"""Neighbours on a grid, windows of an image, and paths: what reads its surroundings."""

import numpy as np
from spelled.kernel import Kernel, random
from weft import prange

# ---- a stencil of five points --------------------------------------------------------------------

stencil = Kernel("5-point stencil", lambda n, m: (*random((n, m)), np.zeros((n, m))), (1000, 1000), (12, 10))


@stencil.array
def stencil_one_expression(u, out):
    out[1:-1, 1:-1] = 0.2 * (u[1:-1, 1:-1] + u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return out


@stencil.array
def stencil_named_parts(u, out):
    middle = u[1:-1, 1:-1]
    up, down = u[:-2, 1:-1], u[2:, 1:-1]
    left, right = u[1:-1, :-2], u[1:-1, 2:]
    total = middle + up
    total = total + down
    total = total + left
    total = total + right
    out[1:-1, 1:-1] = 0.2 * total
    return out


@stencil.array
def stencil_in_place(u, out):
    total = u[1:-1, 1:-1].copy()
    total += u[:-2, 1:-1]
    total += u[2:, 1:-1]
    total += u[1:-1, :-2]
    total += u[1:-1, 2:]
    total *= 0.2
    out[1:-1, 1:-1] = total
    return out


@stencil.array
def stencil_into_out(u, out):
    inner = out[1:-1, 1:-1]
    np.add(u[1:-1, 1:-1], u[:-2, 1:-1], out=inner)
    np.add(inner, u[2:, 1:-1], out=inner)
    np.add(inner, u[1:-1, :-2], out=inner)
    np.add(inner, u[1:-1, 2:], out=inner)
    np.multiply(inner, 0.2, out=inner)
    return out


@stencil.array
def stencil_by_rows(u, out):
    for i in range(1, u.shape[0] - 1):
        out[i, 1:-1] = 0.2 * (u[i, 1:-1] + u[i - 1, 1:-1] + u[i + 1, 1:-1] + u[i, :-2] + u[i, 2:])
    return out


@stencil.loops
def stencil_loops(u, out):
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return out


@stencil.loops
def stencil_prange(u, out):
    n, m = u.shape
    for i in prange(1, n - 1):
        for j in range(1, m - 1):
            out[i, j] = 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return out


# ---- heat, in steps ------------------------------------------------------------------------------

heat = Kernel("heat in steps", lambda n, steps: (*random((n, n)), steps), (300, 40), (10, 3))


@heat.array
def heat_fresh(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


@heat.array
def heat_two_buffers(u, steps):
    u = u.copy()
    new = u.copy()
    for _ in range(steps):
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u, new = new, u
    return u


@heat.array
def heat_copied_back(u, steps):
    u = u.copy()
    for _ in range(steps):
        old = u.copy()
        u[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
    return u


@heat.array
def heat_halves(u, steps):
    u = u.copy()
    for _ in range(steps):
        rows = u[:-2, 1:-1] + u[2:, 1:-1]
        columns = u[1:-1, :-2] + u[1:-1, 2:]
        # Another order of the sum: the same but for rounding.
        u[1:-1, 1:-1] = 0.25 * (rows + columns)
    return u


@heat.loops
def heat_loops(u, steps):
    n, m = u.shape
    u = u.copy()
    new = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = new[i, j]
    return u


@heat.loops
def heat_loops_two_buffers(u, steps):
    n, m = u.shape
    u = u.copy()
    new = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                new[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        u, new = new, u
    return u


# ---- convolution of an image ---------------------------------------------------------------------

convolution = Kernel("convolution", lambda n, m, k: random((n, m), (k, k)), (260, 240, 5), (12, 11, 3))


@convolution.array
def convolution_by_shifts(image, w):
    k = w.shape[0]
    n, m = image.shape[0] - k + 1, image.shape[1] - k + 1
    out = np.zeros((n, m))
    for p in range(k):
        for q in range(k):
            out += image[p : p + n, q : q + m] * w[p, q]
    return out


@convolution.array
def convolution_windows(image, w):
    k = w.shape[0]
    n, m = image.shape[0] - k + 1, image.shape[1] - k + 1
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = np.sum(image[i : i + k, j : j + k] * w)
    return out


@convolution.array
def convolution_of_rows(image, w):
    k = w.shape[0]
    n, m = image.shape[0] - k + 1, image.shape[1] - k + 1
    out = np.zeros((n, m))
    for i in range(n):
        for p in range(k):
            for q in range(k):
                out[i] += image[i + p, q : q + m] * w[p, q]
    return out


@convolution.array
def convolution_stacked(image, w):
    k = w.shape[0]
    n, m = image.shape[0] - k + 1, image.shape[1] - k + 1
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = np.dot(image[i : i + k, j : j + k].ravel(), w.ravel())
    return out


@convolution.loops
def convolution_loops(image, w):
    k = w.shape[0]
    n, m = image.shape[0] - k + 1, image.shape[1] - k + 1
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            total = 0.0
            for p in range(k):
                for q in range(k):
                    total += image[i + p, j + q] * w[p, q]
            out[i, j] = total
    return out


@convolution.loops
def convolution_loops_by_shifts(image, w):
    k = w.shape[0]
    n, m = image.shape[0] - k + 1, image.shape[1] - k + 1
    out = np.zeros((n, m))
    for p in range(k):
        for q in range(k):
            for i in range(n):
                for j in range(m):
                    out[i, j] += image[i + p, j + q] * w[p, q]
    return out


@convolution.loops
def convolution_prange(image, w):
    k = w.shape[0]
    n, m = image.shape[0] - k + 1, image.shape[1] - k + 1
    out = np.empty((n, m))
    for i in prange(n):
        for j in range(m):
            total = 0.0
            for p in range(k):
                for q in range(k):
                    total += image[i + p, j + q] * w[p, q]
            out[i, j] = total
    return out


# ---- shortest paths ------------------------------------------------------------------------------

paths = Kernel("floyd-warshall", lambda n: random((n, n)), (200,), (9,))


@paths.array
def paths_slices(w):
    p = w.copy()
    for k in range(p.shape[0]):
        p = np.minimum(p, p[:, k : k + 1] + p[k : k + 1, :])
    return p


@paths.array
def paths_into_itself(w):
    p = w.copy()
    for k in range(p.shape[0]):
        p[:] = np.minimum(p, p[:, k : k + 1] + p[k : k + 1, :])
    return p


@paths.array
def paths_outer(w):
    p = w.copy()
    for k in range(p.shape[0]):
        p[:] = np.minimum(p[:], np.add.outer(p[:, k], p[k, :]))
    return p


@paths.array
def paths_none(w):
    p = w.copy()
    for k in range(p.shape[0]):
        p = np.minimum(p, p[:, k][:, None] + p[k])
    return p


@paths.array
def paths_out(w):
    p = w.copy()
    for k in range(p.shape[0]):
        np.minimum(p, p[:, k].reshape(-1, 1) + p[k], out=p)
    return p


@paths.array
def paths_by_rows(w):
    p = w.copy()
    for k in range(p.shape[0]):
        for i in range(p.shape[0]):
            p[i] = np.minimum(p[i], p[i, k] + p[k])
    return p


@paths.array
def paths_where(w):
    p = w.copy()
    for k in range(p.shape[0]):
        through = p[:, k : k + 1] + p[k]
        p = np.where(through < p, through, p)
    return p


@paths.loops
def paths_loops(w):
    n = w.shape[0]
    p = w.copy()
    for k in range(n):
        for i in range(n):
            for j in range(n):
                p[i, j] = min(p[i, j], p[i, k] + p[k, j])
    return p


@paths.loops
def paths_loops_with_if(w):
    n = w.shape[0]
    p = w.copy()
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = p[i, k] + p[k, j]
                if through < p[i, j]:
                    p[i, j] = through
    return p
