"""Kernels as people write them: array expressions where NumPy has them, loops where it has not.

Each has a function that makes its arguments. `ARRAYS` are written in NumPy's functions alone, so that NumPy and JAX run
them as they are; `LOOPS` are for compilers.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

RNG = np.random.default_rng(7)


# ---- elementwise chains ------------------------------------------------------------------------


def saxpy_chain(x, y, z):
    return 2.5 * x + y * z - 0.5 * (x - z)


def polynomial(x):
    return ((((0.1 * x + 0.7) * x - 1.3) * x + 0.2) * x - 0.9) * x + 3.0


def black_scholes(price, strike, t):
    rate, volatility = 0.02, 0.3
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * t) / (volatility * np.sqrt(t))
    d2 = d1 - volatility * np.sqrt(t)
    n1 = 1.0 / (1.0 + np.exp(-1.702 * d1))
    n2 = 1.0 / (1.0 + np.exp(-1.702 * d2))
    return price * n1 - strike * np.exp(-rate * t) * n2


def distances(lat1, lon1, lat2, lon2):
    a = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(a), np.sqrt(1 - a))


def clipped(x, low, high):
    return np.where(x < low, low, np.where(x > high, high, x)) * 2.0


# ---- stencils ----------------------------------------------------------------------------------


def smooth_1d(x):
    return (x[:-2] + 2.0 * x[1:-1] + x[2:]) * 0.25


def laplace_2d(u):
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]


def heat_3d(u):
    inner = u[1:-1, 1:-1, 1:-1]
    x = u[2:, 1:-1, 1:-1] - 2.0 * inner + u[:-2, 1:-1, 1:-1]
    y = u[1:-1, 2:, 1:-1] - 2.0 * inner + u[1:-1, :-2, 1:-1]
    z = u[1:-1, 1:-1, 2:] - 2.0 * inner + u[1:-1, 1:-1, :-2]
    return inner + 0.125 * (x + y + z)


def jacobi_steps(u, steps):
    a, b = u.copy(), u.copy()
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a[1:-1, 1:-1] = 0.25 * (b[:-2, 1:-1] + b[2:, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:])
    return a


# ---- reductions --------------------------------------------------------------------------------


def standardise(x):
    return (x - x.mean()) / x.std()


def row_norms(x):
    return np.sqrt((x * x).sum(axis=1))


def column_means(x):
    return x.mean(axis=0)


def softmax(x):
    shifted = np.exp(x - x.max(axis=1).reshape(-1, 1))
    return shifted / shifted.sum(axis=1).reshape(-1, 1)


# ---- linear algebra ----------------------------------------------------------------------------


def matmul_chain(a, b, c):
    return a @ b @ c


def power_iteration(a, x, steps):
    for _ in range(steps):
        x = a @ x
        x = x / np.sqrt((x * x).sum())
    return x


# ---- loops -------------------------------------------------------------------------------------


def running_sum(x):
    out = np.empty_like(x)
    total = 0.0
    for i in range(x.size):
        total += x[i]
        out[i] = total
    return out


def histogram(x, bins):
    counts = np.zeros(bins, np.int64)
    for v in x:
        counts[int(v * bins)] += 1
    return counts


def sparse_times_vector(starts, columns, values, x):
    y = np.zeros(starts.size - 1)
    for i in range(y.size):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total
    return y


def n_body(position, mass, force):
    n = mass.size
    for i in range(n):
        fx = fy = fz = 0.0
        for j in range(n):
            dx = position[j, 0] - position[i, 0]
            dy = position[j, 1] - position[i, 1]
            dz = position[j, 2] - position[i, 2]
            s = mass[j] / math.sqrt((dx * dx + dy * dy + dz * dz + 0.01) ** 3)
            fx += s * dx
            fy += s * dy
            fz += s * dz
        force[i, 0] = fx
        force[i, 1] = fy
        force[i, 2] = fz
    return force


def k_means_step(points, centres):
    k, d = centres.shape
    sums, counts = np.zeros((k, d)), np.zeros(k)
    for p in range(points.shape[0]):
        best, nearest = math.inf, 0
        for c in range(k):
            distance = 0.0
            for a in range(d):
                distance += (points[p, a] - centres[c, a]) ** 2
            if distance < best:
                best, nearest = distance, c
        counts[nearest] += 1
        for a in range(d):
            sums[nearest, a] += points[p, a]
    return sums, counts


def mandelbrot(width, height, most):
    out = np.empty((height, width), np.int64)
    for i in range(height):
        for j in range(width):
            cr, ci = -2.0 + 3.0 * j / width, -1.2 + 2.4 * i / height
            x = y = 0.0
            n = 0
            while n < most and x * x + y * y < 4.0:
                x, y = x * x - y * y + cr, 2.0 * x * y + ci
                n += 1
            out[i, j] = n
    return out


def floyd_warshall(graph):
    d = graph.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


def heap_sort(values):
    x = values.copy()
    n = x.size
    for end in range(2 * n):
        start, last = (n - 1 - end, n) if end < n else (0, 2 * n - 1 - end)
        if end >= n:
            x[0], x[last] = x[last], x[0]
        root = start
        while 2 * root + 1 < last:
            child = 2 * root + 1
            if child + 1 < last and x[child] < x[child + 1]:
                child += 1
            if x[root] >= x[child]:
                break
            x[root], x[child] = x[child], x[root]
            root = child
    return x


def butterflies(real, imag):
    re, im = real.copy(), imag.copy()
    n = re.size
    size = n
    while size > 1:
        half = size // 2
        for start in range(0, n, size):
            for k in range(half):
                angle = -2.0 * math.pi * k / size
                c, s = math.cos(angle), math.sin(angle)
                i, j = start + k, start + k + half
                ar, ai, br, bi = re[i], im[i], re[j], im[j]
                re[i], im[i] = ar + br, ai + bi
                dr, di = ar - br, ai - bi
                re[j], im[j] = dr * c - di * s, dr * s + di * c
        size = half
    return re, im


def vector(n: int = 2_000_000) -> np.ndarray:
    return RNG.random(n)


def matrix(n: int, m: int) -> np.ndarray:
    return RNG.random((n, m))


def sparse(rows: int, each: int) -> tuple[Any, ...]:
    starts = np.arange(rows + 1) * each
    return starts, RNG.integers(0, rows, rows * each), RNG.random(rows * each), RNG.random(rows)


Kernel = tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]

ARRAYS: list[Kernel] = [
    (saxpy_chain, lambda: (vector(), vector(), vector())),
    (polynomial, lambda: (vector(),)),
    (black_scholes, lambda: (vector(500_000) + 10, vector(500_000) + 10, vector(500_000) + 0.1)),
    (distances, lambda: tuple(vector(500_000) for _ in range(4))),
    (clipped, lambda: (vector(), 0.2, 0.8)),
    (smooth_1d, lambda: (vector(),)),
    (laplace_2d, lambda: (matrix(1500, 1500),)),
    (heat_3d, lambda: (RNG.random((120, 120, 120)),)),
    (jacobi_steps, lambda: (matrix(400, 400), 20)),
    (standardise, lambda: (vector(),)),
    (row_norms, lambda: (matrix(2000, 1000),)),
    (column_means, lambda: (matrix(2000, 1000),)),
    (softmax, lambda: (matrix(2000, 500),)),
    (matmul_chain, lambda: (matrix(400, 500), matrix(500, 600), matrix(600, 300))),
    (power_iteration, lambda: (matrix(800, 800), vector(800), 20)),
]

LOOPS: list[Kernel] = [
    (running_sum, lambda: (vector(),)),
    (histogram, lambda: (vector(1_000_000), 256)),
    (sparse_times_vector, lambda: sparse(50_000, 20)),
    (n_body, lambda: (matrix(600, 3), vector(600), np.empty((600, 3)))),
    (k_means_step, lambda: (matrix(20_000, 4), matrix(16, 4))),
    (mandelbrot, lambda: (300, 200, 200)),
    (floyd_warshall, lambda: (matrix(200, 200),)),
    (heap_sort, lambda: (vector(100_000),)),
    (butterflies, lambda: (vector(1 << 14), vector(1 << 14))),
]

NUMEXPR = {
    "saxpy_chain": "2.5 * x + y * z - 0.5 * (x - z)",
    "polynomial": "((((0.1 * x + 0.7) * x - 1.3) * x + 0.2) * x - 0.9) * x + 3.0",
    "clipped": "where(x < low, low, where(x > high, high, x)) * 2.0",
}
