"""Thirty functions of the kind people compile, and arguments for them.

Each entry of `CASES` names what the budget of its loops is measured by: `affine` indices (a counter plus a constant),
`data` dependent ones, whole `array` expressions, or `scalar` work. Everything is plain Python and NumPy.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def trivial(x):
    return x + 1.0


# Loops with affine indices.


def axpy(a, x, y):
    for i in range(x.size):
        y[i] += a * x[i]


def dot(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


def integer_checksum(x):
    low = 0
    high = 0
    for i in range(x.shape[0]):
        low = (low + x[i]) % 65521
        high = (high + low) % 65521
    return high * 65536 + low


def matmul(a, b):
    n, inner = a.shape
    m = b.shape[1]
    out = np.zeros((n, m))
    for i in range(n):
        for k in range(inner):
            scale = a[i, k]
            for j in range(m):
                out[i, j] += scale * b[k, j]
    return out


def heat_1d(u, steps, r):
    n = len(u)
    new = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            new[i] = u[i] + r * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        for i in range(1, n - 1):
            u[i] = new[i]
    return u


def laplace_2d(u, new):
    rows, columns = u.shape
    change = 0.0
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            value = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
            change = max(change, abs(value - u[i, j]))
            new[i, j] = value
    return change


def blur(image, kernel):
    rows, columns = image.shape
    height, width = kernel.shape
    out = np.zeros_like(image)
    for i in range(rows - height + 1):
        for j in range(columns - width + 1):
            total = 0.0
            for k in range(height):
                for m in range(width):
                    total += image[i + k, j + m] * kernel[k, m]
            out[i + height // 2, j + width // 2] = total
    return out


def sobel(image):
    rows, columns = image.shape
    out = np.zeros((rows, columns))
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            gx = image[i - 1, j + 1] + 2.0 * image[i, j + 1] + image[i + 1, j + 1]
            gx -= image[i - 1, j - 1] + 2.0 * image[i, j - 1] + image[i + 1, j - 1]
            gy = image[i + 1, j - 1] + 2.0 * image[i + 1, j] + image[i + 1, j + 1]
            gy -= image[i - 1, j - 1] + 2.0 * image[i - 1, j] + image[i - 1, j + 1]
            out[i, j] = math.sqrt(gx * gx + gy * gy)
    return out


def floyd_warshall(distance):
    n = distance.shape[0]
    for k in range(n):
        for i in range(n):
            through = distance[i, k]
            for j in range(n):
                if through + distance[k, j] < distance[i, j]:
                    distance[i, j] = through + distance[k, j]
    return distance


def lu(a):
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def cholesky(a):
    n = a.shape[0]
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= low[i, k] * low[j, k]
            if i == j:
                low[i, i] = math.sqrt(total)
            else:
                low[i, j] = total / low[j, j]
    return low


def moving_average(x, window):
    n = x.size
    out = np.empty(n - window + 1)
    total = 0.0
    for i in range(window):
        total += x[i]
    out[0] = total / window
    for i in range(window, n):
        total += x[i] - x[i - window]
        out[i - window + 1] = total / window
    return out


def pairwise(points, others):
    n, dims = points.shape
    m = others.shape[0]
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            total = 0.0
            for k in range(dims):
                difference = points[i, k] - others[j, k]
                total += difference * difference
            out[i, j] = math.sqrt(total)
    return out


def nbody(position, mass, force):
    n = mass.size
    for i in range(n):
        fx = fy = fz = 0.0
        for j in range(n):
            dx = position[j, 0] - position[i, 0]
            dy = position[j, 1] - position[i, 1]
            dz = position[j, 2] - position[i, 2]
            r2 = dx * dx + dy * dy + dz * dz + 1e-9
            scale = mass[i] * mass[j] / (r2 * math.sqrt(r2))
            fx += scale * dx
            fy += scale * dy
            fz += scale * dz
        force[i, 0] = fx
        force[i, 1] = fy
        force[i, 2] = fz


def convolve(signal, taps):
    n = len(signal) - len(taps) + 1
    out = np.zeros(n)
    for i in range(n):
        for k in range(len(taps)):
            out[i] += signal[i + k] * taps[len(taps) - 1 - k]
    return out


def longest_common(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1] + 1
            else:
                table[i, j] = max(table[i - 1, j], table[i, j - 1])
    return table[len(a), len(b)]


# Indices that depend on data, and while loops.


def histogram(x, bins, low, high):
    counts = np.zeros(bins, dtype=np.int64)
    scale = bins / (high - low)
    for value in x:
        if low <= value < high:
            counts[int((value - low) * scale)] += 1
    return counts


def spmv(start, column, value, x):
    n = len(start) - 1
    out = np.zeros(n)
    for i in range(n):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += value[k] * x[column[k]]
        out[i] = total
    return out


def breadth_first(start, neighbour, root):
    n = len(start) - 1
    level = np.full(n, -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    queue[0] = root
    level[root] = 0
    head = 0
    tail = 1
    while head < tail:
        node = queue[head]
        head += 1
        for k in range(start[node], start[node + 1]):
            other = neighbour[k]
            if level[other] < 0:
                level[other] = level[node] + 1
                queue[tail] = other
                tail += 1
    return level


def interpolate(x, xs, ys):
    out = np.empty(x.size)
    for i in range(x.size):
        low = 0
        high = len(xs) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if xs[middle] <= x[i]:
                low = middle
            else:
                high = middle
        t = (x[i] - xs[low]) / (xs[high] - xs[low])
        out[i] = ys[low] * (1.0 - t) + ys[high] * t
    return out


def knapsack(weight, worth, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(len(weight)):
        for c in range(capacity, weight[i] - 1, -1):
            candidate = best[c - weight[i]] + worth[i]
            if candidate > best[c]:
                best[c] = candidate
    return best[capacity]


def insertion_sort(x):
    out = x.copy()
    for i in range(1, len(out)):
        key = out[i]
        j = i - 1
        while j >= 0 and out[j] > key:
            out[j + 1] = out[j]
            j -= 1
        out[j + 1] = key
    return out


def sieve(n):
    prime = np.ones(n + 1, dtype=np.bool_)
    prime[:2] = False
    i = 2
    while i * i <= n:
        if prime[i]:
            for k in range(i * i, n + 1, i):
                prime[k] = False
        i += 1
    count = 0
    for flag in prime:
        if flag:
            count += 1
    return count


# Scalars.


def mandelbrot(width, height, limit):
    out = np.zeros((height, width), dtype=np.int64)
    for row in range(height):
        for column in range(width):
            cx = -2.0 + 3.0 * column / width
            cy = -1.5 + 3.0 * row / height
            x = y = 0.0
            n = 0
            while n < limit and x * x + y * y <= 4.0:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                n += 1
            out[row, column] = n
    return out


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def collatz(limit):
    longest = 0
    for start in range(1, limit):
        n = start
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        if steps > longest:
            longest = steps
    return longest


def monte_carlo_pi(samples, seed):
    state = seed
    inside = 0
    for _ in range(samples):
        state = (1664525 * state + 1013904223) & 0xFFFFFFFF
        x = state / 4294967296.0
        state = (1664525 * state + 1013904223) & 0xFFFFFFFF
        y = state / 4294967296.0
        if x * x + y * y <= 1.0:
            inside += 1
    return 4.0 * inside / samples


# Whole arrays.


def jacobi_2d(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def standardise(x):
    mean = np.sum(x) / x.size
    centred = x - mean
    return centred / np.sqrt(np.sum(centred * centred) / x.size)


def total(x):
    return np.sum(x)


def row_sums(x):
    return np.sum(x, axis=1)


def column_sums(x):
    return np.sum(x, axis=0)


def sines(x):
    return np.sin(x)


def exponentials(x):
    return np.exp(x)


def logarithms(x):
    return np.log(x)


def powers(x):
    return x**1.7


@dataclass
class Case:
    """A function, what its loops are, and fresh arguments for it."""

    function: Callable[..., Any]
    kind: str
    arguments: Callable[[], tuple[Any, ...]]


def _rng():
    return np.random.default_rng(7)


def _graph(n, degree):
    start = np.arange(n + 1, dtype=np.int64) * degree
    return start, _rng().integers(0, n, n * degree)


def _sparse(n, degree):
    start, column = _graph(n, degree)
    return start, column, _rng().random(n * degree), _rng().random(n)


def _definite(n):
    # Without `@`: the threads of a BLAS would go on spinning into what is measured.
    a = _rng().random((n, n))
    return a + a.T + 2 * n * np.eye(n)


CASES = [
    Case(axpy, "affine", lambda: (1.0000001, _rng().random(20_000), _rng().random(20_000))),
    Case(dot, "affine", lambda: (_rng().random(20_000), _rng().random(20_000))),
    Case(integer_checksum, "affine", lambda: (_rng().integers(0, 256, 50_000),)),
    Case(matmul, "affine", lambda: (_rng().random((96, 96)), _rng().random((96, 96)))),
    Case(heat_1d, "affine", lambda: (_rng().random(5_000), 20, 0.1)),
    Case(laplace_2d, "affine", lambda: (_rng().random((200, 200)), np.zeros((200, 200)))),
    Case(blur, "affine", lambda: (_rng().random((100, 100)), np.full((3, 3), 1 / 9))),
    Case(sobel, "affine", lambda: (_rng().random((200, 200)),)),
    Case(floyd_warshall, "affine", lambda: (_rng().random((80, 80)),)),
    Case(lu, "affine", lambda: (_definite(80),)),
    Case(cholesky, "affine", lambda: (_definite(100),)),
    Case(moving_average, "affine", lambda: (_rng().random(50_000), 16)),
    Case(pairwise, "affine", lambda: (_rng().random((120, 8)), _rng().random((120, 8)))),
    Case(nbody, "affine", lambda: (_rng().random((200, 3)), _rng().random(200), np.zeros((200, 3)))),
    Case(convolve, "affine", lambda: (_rng().random(10_000), _rng().random(16))),
    Case(longest_common, "affine", lambda: (_rng().integers(0, 4, 300), _rng().integers(0, 4, 300))),
    Case(histogram, "data", lambda: (_rng().random(50_000), 64, 0.0, 1.0)),
    Case(spmv, "data", lambda: _sparse(5_000, 8)),
    Case(breadth_first, "data", lambda: (*_graph(5_000, 6), 0)),
    Case(interpolate, "data", lambda: (_rng().random(5_000), np.linspace(0, 1, 500), _rng().random(500))),
    Case(knapsack, "data", lambda: (_rng().integers(1, 50, 100), _rng().integers(1, 100, 100), 1_000)),
    Case(insertion_sort, "data", lambda: (_rng().random(600),)),
    Case(sieve, "data", lambda: (100_000,)),
    Case(mandelbrot, "scalar", lambda: (60, 60, 100)),
    Case(fibonacci, "scalar", lambda: (22,)),
    Case(collatz, "scalar", lambda: (3_000,)),
    Case(monte_carlo_pi, "scalar", lambda: (50_000, 42)),
    Case(jacobi_2d, "array", lambda: (_rng().random((150, 150)), np.zeros((150, 150)), 5)),
    Case(softmax, "array", lambda: (_rng().random(20_000),)),
    Case(standardise, "array", lambda: (_rng().random(20_000),)),
]

ARRAY_CASES = [
    Case(total, "array", lambda: (_rng().random(1_000_000),)),
    Case(row_sums, "array", lambda: (_rng().random((1_000, 1_000)),)),
    Case(column_sums, "array", lambda: (_rng().random((1_000, 1_000)),)),
    Case(sines, "array", lambda: (_rng().random(1_000_000),)),
    Case(exponentials, "array", lambda: (_rng().random(1_000_000),)),
    Case(logarithms, "array", lambda: (_rng().random(1_000_000) + 0.1,)),
    Case(powers, "array", lambda: (_rng().random(1_000_000),)),
]
