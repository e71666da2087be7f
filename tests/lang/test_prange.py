"""`weft.prange`: what it computes, for any number of threads, and what it refuses."""

# Programs are one line each.
# ruff: noqa: E501

import linecache
import math
import re
import threading

import pytest

import numpy as np
import weft
from weft import prange

THREADS = (1, 2, 7)
N, M = 1500, 6


pytestmark = pytest.mark.usefixtures("threads_kept")


@weft.reduction(identity=0)
def gcd(a, b):
    while b > 0:
        a, b = b, a % b
    return a


@weft.reduction(identity=-math.inf)
@weft.njit
def largest(a, b):
    return a if a > b else b


def plain(a, b):
    return a + b


def function(title: str, body: str):
    """The function with this body, of which the source can be found."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"def f(x, y, a, k, p, n, m):\n{lines}"
    filename = f"<prange: {title}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = {"np": np, "math": math, "prange": prange, "weft": weft, "gcd": gcd, "largest": largest, "plain": plain}
    exec(compile(text, filename, "exec"), names)
    return names["f"]


def arguments():
    """Floats that are small integers, so that every order of summing them is exact; a permutation."""
    some = np.random.default_rng(5)
    x = some.integers(-50, 50, N).astype(float)
    a = some.integers(-50, 50, (N, M)).astype(float)
    k = some.integers(-1000, 1000, N)
    p = some.permutation(N)
    return [x, np.zeros(N), a, k, p, N, M]


def bits(value):
    if isinstance(value, tuple):
        return tuple(bits(v) for v in value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return type(value), repr(value)


LEGAL = {
    "own element": "for i in prange(n):\n    y[i] = x[i] * 2",
    "own element, read and written": "for i in prange(n):\n    y[i] = y[i] + x[i]",
    "augmented": "for i in prange(n):\n    y[i] += x[i]",
    "twice": "for i in prange(n):\n    y[i] = x[i]\n    y[i] *= 3.0",
    "neighbours of another array": "for i in prange(1, n - 1):\n    y[i] = x[i - 1] + x[i + 1]",
    "shifted": "for i in prange(1, n):\n    y[i - 1] = x[i]",
    "reversed": "for i in prange(n):\n    y[n - 1 - i] = x[i]",
    "by two": "for i in prange(n // 2):\n    y[2 * i] = x[i]\n    y[2 * i + 1] = -x[i]",
    "a step": "for i in prange(0, n, 3):\n    y[i] = x[i]",
    "a step and neighbours": "for i in prange(0, n - 1, 2):\n    y[i] = x[i]\n    y[i + 1] = x[i] + 1",
    "downwards": "for i in prange(n - 1, -1, -1):\n    y[i] = x[i] + i",
    "downwards by two": "for i in prange(n - 1, 0, -2):\n    y[i] = x[i]\n    y[i - 1] = 2 * x[i]",
    "rows": "for i in prange(n):\n    for j in range(m):\n        a[i, j] += x[i] * j",
    "rows, whole": "for i in prange(n):\n    a[i] = a[i] * 2 + x[i]",
    "rows, by a slice": "for i in prange(n):\n    a[i, :] += x[i]",
    "columns": "for j in prange(m):\n    for i in range(n):\n        a[i, j] = a[i, j] * j",
    "columns, whole": "for j in prange(m):\n    a[:, j] = x * j",
    "along a row": "for i in prange(n):\n    for j in range(1, m):\n        a[i, j] += a[i, j - 1]",
    "flat": "z = np.zeros(n * m)\nfor i in prange(n):\n    for j in range(m):\n        z[i * m + j] = a[i, j]\nreturn z",
    "blocks of four": "for i in prange(n // 4):\n    y[4 * i : 4 * i + 4] = x[i]",
    "blocks of four, read": "for i in prange(n // 4):\n    y[4 * i : 4 * (i + 1)] += x[4 * i : 4 * i + 4] * y[4 * i]",
    "blocks as wide as a row": "w = a.shape[1]\nfor i in prange(n // w):\n    y[i * w : (i + 1) * w] = a[i]",
    "blocks by steps": "for i in prange(0, n, 5):\n    y[i : i + 5] = x[i]\n    y[i + 2] += 1",
    "elements of a part": "v = y[1:]\nfor i in prange(n - 1):\n    v[i] = x[i] + v[i]",
    "elements of an own part": "for i in prange(n // 4):\n    v = y[4 * i : 4 * i + 4]\n    for j in range(4):\n        v[j] = j",
    "every other element": "v = y[::2]\nfor i in prange(n // 2):\n    v[i] = x[i]\n    y[2 * i + 1] = -x[i]",
    "a part of a row": "for i in prange(n):\n    a[i, 1:3] = x[i]",
    "private sizes": "for i in prange(m):\n    t = np.ones(i + 1)\n    t[i] = 5.0\n    y[i] = t.sum()",
    "flat, of six": "z = np.zeros(n * 6)\nfor i in prange(n):\n    for j in range(6):\n        z[i * 6 + j] = a[i, j]\nreturn z",
    "a triangle": "for i in prange(n):\n    for j in range(min(i, m)):\n        a[i, j] = i - j",
    "private names": "for i in prange(n):\n    t = x[i]\n    u = t * t\n    t = u + 1\n    y[i] = t",
    "private arrays": "for i in prange(n):\n    t = np.zeros(3)\n    t[0] = x[i]\n    t[1] = t[0] * 2\n    y[i] = t.sum()",
    "a private part": "for i in prange(n):\n    row = a[i]\n    row[0] = x[i]\n    y[i] = row.sum()",
    "an inner sum": "for i in prange(n):\n    s = 0.0\n    for j in range(m):\n        s += a[i, j]\n    y[i] = s",
    "an inner while": "for i in prange(n):\n    c = k[i]\n    s = 0\n    while c > 0:\n        c //= 2\n        s += 1\n    y[i] = s",
    "continue": "for i in prange(n):\n    if x[i] < 0:\n        continue\n    y[i] = x[i]",
    "an inner break": "for i in prange(n):\n    for j in range(m):\n        if a[i, j] > 10:\n            break\n        y[i] += a[i, j]",
    "a scatter": "for i in prange(n):\n    y[p[i]] = x[i]",
    "a gather": "for i in prange(n):\n    y[i] = x[p[i]]",
    "a sum": "s = 0.0\nfor i in prange(n):\n    s += x[i]\nreturn s",
    "a sum from something": "s = x[0]\nfor i in prange(n):\n    s = s + x[i]\nreturn s",
    "a sum with the name behind": "s = 1.0\nfor i in prange(n):\n    s = x[i] + s\nreturn s",
    "a difference": "s = 0.0\nfor i in prange(n):\n    s -= x[i]\n    s += 1\nreturn s",
    "a sum of ints": "s = 0\nfor i in prange(n):\n    s += int(k[i])\nreturn s",
    "a sum of int64": "s = np.int64(3)\nfor i in prange(n):\n    s += k[i]\nreturn s",
    "a sum where": "s = 0.0\nfor i in prange(n):\n    if x[i] > 0:\n        s += x[i]\nreturn s",
    "a sum in a loop": "s = 0.0\nfor i in prange(n):\n    for j in range(m):\n        s += a[i, j]\nreturn s",
    "a sum with continue": "s = 0.0\nfor i in prange(n):\n    if x[i] < 0:\n        continue\n    s += x[i]\nreturn s",
    "a product": "s = 1.0\nfor i in prange(n):\n    s *= 2.0 if x[i] > 40 else 1.0\nreturn s",
    "bits": "u, v, w = -1, 0, 0\nfor i in prange(n):\n    u &= int(k[i])\n    v |= int(k[i])\n    w ^= int(k[i])\nreturn u, v, w",
    "flags": "u, v = True, False\nfor i in prange(n):\n    u &= bool(x[i] > -100)\n    v |= bool(x[i] > 40)\nreturn u, v",
    "and, or": "u, v = True, False\nfor i in prange(n):\n    u = u and bool(x[i] > -49)\n    v = v or bool(x[i] > 48)\nreturn u, v",
    "and, in an if": "u = True\nfor i in prange(n):\n    if x[i] > 0:\n        u = u and bool(x[i] > -49)\nreturn u",
    "a product of matrices": "for i in prange(n // 6):\n    t = a[6 * i : 6 * i + 6] @ a[:6]\n    y[i] = t.sum()",
    "least and greatest": "u, v = x[0], x[0]\nfor i in prange(n):\n    u = min(u, x[i])\n    v = max(v, x[i])\nreturn u, v",
    "least int": "u = 0\nfor i in prange(n):\n    u = min(u, int(k[i]))\nreturn u",
    "np.maximum": "u = x[0]\nfor i in prange(n):\n    u = np.maximum(u, x[i])\nreturn u",
    "the last": "t = -1.0\nfor i in prange(n):\n    t = x[i] * 2\n    y[i] = t\nreturn t, i",
    "the last of none": "t = x[0]\ni = 7\nfor i in prange(n, 0):\n    t = x[i] * 2\nreturn t, i",
    "a sum of none": "s = x[1]\nfor i in prange(0):\n    s += x[i]\nreturn s",
    "nested": "s = 0.0\nfor i in prange(n):\n    t = 0.0\n    for j in prange(m):\n        t += a[i, j]\n        a[i, j] = t\n    s += t\nreturn s",
    "two loops": "for i in prange(n):\n    y[i] = x[i]\nfor i in prange(1, n):\n    x[i] = y[i - 1]\nreturn x",
    "from below zero": "s = 0\nfor i in prange(-n, n):\n    s += i * i\nreturn s",
    "indices from the end": "for i in prange(-n, n):\n    y[i] = i",
    "a lower bound": "for i in prange(m, n):\n    y[i] += x[i - m]",
    "array expressions": "for i in prange(n):\n    y[i] = np.sum(a[i] * a[i] + 1.0)",
    "one element, summed": "for i in prange(n):\n    y[0] += x[i]",
    "all, summed": "for i in prange(n):\n    y += x",
    "inner elements": "for i in prange(n):\n    for j in range(m):\n        y[j] += a[i, j]",
    "inner sums": "for i in prange(n - m):\n    for j in range(m):\n        y[i + j] += a[i, j]",
    "a histogram": "for i in prange(n):\n    y[p[i]] += 1",
    "a histogram of few": "h = np.zeros(7, dtype=np.int64)\nfor i in prange(n):\n    h[k[i] % 7] += 1\nreturn h",
    "a histogram with weights": "h = np.zeros(7)\nfor i in prange(n):\n    h[k[i] % 7] += x[i]\nreturn h",
    "a histogram, where": "h = np.zeros(7)\nfor i in prange(n):\n    if x[i] > 0:\n        h[k[i] % 7] -= x[i]\nreturn h",
    "two histograms": "g, h = np.zeros(7), np.ones((3, 5))\nfor i in prange(n):\n    g[k[i] % 7] += x[i]\n    h[k[i] % 3, i % 5] *= -1.0\nreturn g, h",
    "a histogram and a sum": "s, h = 0.0, np.zeros(7)\nfor i in prange(n):\n    s += x[i]\n    h[k[i] % 7] = x[i] + h[k[i] % 7]\nreturn s, h",
    "rows, summed": "t = np.zeros(m)\nfor i in prange(n):\n    t += a[i]\nreturn t",
    "rows, summed where": "t = np.zeros(m)\nfor i in prange(n):\n    if x[i] > 0:\n        t += a[i] * 2\n    else:\n        t -= a[i]\nreturn t",
    "rows, summed by a slice": "t = np.zeros(m)\nfor i in prange(n):\n    t[:] += a[i]\nreturn t",
    "rows, summed by a part": "t = np.zeros(m)\nfor i in prange(n):\n    t[1:4] += a[i, 1:4]\n    t[5:] += x[i]\nreturn t",
    "rows, summed by label": "t = np.zeros((4, m))\nfor i in prange(n):\n    t[k[i] % 4] += a[i]\nreturn t",
    "rows, summed by label and part": "t = np.zeros((4, m))\nfor i in prange(n):\n    t[k[i] % 4, 2:] += a[i, 2:]\nreturn t",
    "rows of a view, summed": "t = np.zeros((m, 2))\nv = t[:, 1]\nfor i in prange(n):\n    v += a[i]\nreturn t",
    "sums in a while": "t = np.zeros(m)\nfor i in prange(n):\n    c = i % 3\n    while c > 0:\n        t += a[i]\n        c -= 1\nreturn t",
    "least by label": "t = np.full(5, np.inf)\nfor i in prange(n):\n    t[k[i] % 5] = min(t[k[i] % 5], x[i])\nreturn t",
    "greatest by label": "t = np.zeros(5, dtype=np.int64)\nfor i in prange(n):\n    t[i % 5] = max(t[i % 5], k[i])\nreturn t",
    "np.minimum by label": "t = np.zeros(5)\nfor i in prange(n):\n    t[i % 5] = np.minimum(t[i % 5], x[i])\nreturn t",
    "np.maximum of rows": "t = np.zeros(m)\nfor i in prange(n):\n    t[:] = np.maximum(t, a[i])\nreturn t",
    "bits by label": "u, v, w = np.full(5, -1), np.zeros(5, dtype=np.int64), np.zeros(5, dtype=np.int64)\nfor i in prange(n):\n    u[i % 5] &= k[i] | 1\n    v[i % 5] |= k[i]\n    w[i % 5] ^= k[i]\nreturn u, v, w",
    "flags by label": "v = np.zeros(900, dtype=np.bool_)\nfor i in prange(n):\n    v[p[i] // 2] |= x[i] > 40\nreturn v",
    "a sum from the end": "h = np.zeros(7)\nfor i in prange(n):\n    h[-1 - k[i] % 7] += x[i]\nreturn h",
    "narrow sums": "h = np.zeros(7, dtype=np.int8)\nfor i in prange(n):\n    h[k[i] % 7] += 1\nreturn h",
    "the least and where": "u, v = x[0], 0\nfor i in prange(n):\n    if x[i] < u:\n        u = x[i]\n        v = i\nreturn u, v",
    "the last least and where": "u, v = x[0], 0\nfor i in prange(n):\n    if x[i] <= u:\n        u, v = x[i], i\nreturn u, v",
    "the greatest and where": "u, v = -1000.0, -1\nfor i in prange(n):\n    t = abs(x[i])\n    if u < t:\n        u = t\n        v = i\nreturn u, v",
    "the last greatest and where": "u, v = -1, -1\nfor i in prange(n):\n    if abs(int(k[i])) >= u:\n        u = abs(int(k[i]))\n        v = i\nreturn u, v",
    "the best is there before": "u, v = np.float64(1000.0), -1\nfor i in prange(n):\n    if x[i] > u:\n        u, v = x[i], i\nreturn u, v",
    "as good as before": "u, v = 49.0, -1\nfor i in prange(n):\n    if x[i] >= u:\n        u, v = x[i], i\nreturn u, v",
    "the best of a table": "u, v, w = -1000.0, -1, -1\nfor i in prange(n):\n    for j in range(m):\n        if a[i, j] > u:\n            u = a[i, j]\n            v, w = i, j\nreturn u, v, w",
    "the best of two": "u, v = x[0], 0\nfor i in prange(n):\n    if x[i] > u:\n        u, v = x[i], i\n    if a[i, 0] > u:\n        u, v = a[i, 0], -i\nreturn u, v",
    "the least and the greatest": "u, v, s, t = x[0], 0, x[0], 0\nfor i in prange(n):\n    if x[i] < u:\n        u, v = x[i], i\n    if x[i] > s:\n        s, t = x[i], i\nreturn u, v, s, t",
    "the best alone": "u = 0.0\nfor i in prange(n):\n    if x[i] > u:\n        u = x[i]\nreturn u",
    "a best, and a place set in every iteration": "u, v = x[0], 0\nfor i in prange(n):\n    if x[i] < u:\n        u, v = x[i], i\n    else:\n        v = 0\nreturn u, v",
    "the best of some": "u, v = -1000.0, -1\nfor i in prange(n):\n    if k[i] > 0 and x[i] > u:\n        u, v = x[i], i\nreturn u, v",
    "the last best of some": "u, v = -1000.0, -1\nfor i in prange(n):\n    if u <= x[i] and i > 10 and k[i] < 100:\n        u, v = x[i], i\nreturn u, v",
    "the best of none": "u, v = np.float64(0.0), 7\nfor i in prange(0):\n    if x[i] >= u:\n        u, v = x[i], i\nreturn u, v",
    "a function of the user's": "g = 0\nfor i in prange(n):\n    g = gcd(g, abs(int(k[i])) * 6)\nreturn g",
    "a function of the user's, of floats": "g = 0.0\nfor i in prange(n):\n    if x[i] > 0:\n        g = largest(g, x[i])\nreturn g",
    "slices from a counter of a loop around": "for b in range(0, n - 7, 8):\n    for i in prange(4):\n        y[b + 2 * i : b + 2 * i + 2] = x[b + 2 * i : b + 2 * i + 2] + b",
    "elements from counters of loops around": "for b in range(3):\n    for c in range(b + 1, 6):\n        for i in prange(4):\n            y[b * c + i] += x[c] + i",
    "as range": "return [i * i for i in range(5)], len(range(3)), sum(range(4))",
}


# spec: N14
@pytest.mark.parametrize("title", LEGAL)
def test_legal(title):
    f = function(title, LEGAL[title])
    wanted = arguments()
    expected = f(*wanted)
    for options in ({}, {"parallel": False}):
        compiled = weft.njit(**options)(f)
        for threads in THREADS:
            weft.set_num_threads(threads)
            given = arguments()
            assert bits(compiled(*given)) == bits(expected), (options, threads)
            assert [bits(v) for v in given[:5]] == [bits(v) for v in wanted[:5]], (options, threads)


# title: the body, and the lines (of the function, whose first is `def`) that the message must show.
RACY = {
    "slices from a counter that goes below 0": (
        "for b in range(-8, n - 8, 8):\n    for i in prange(4):\n        y[b + 2 * i : b + 2 * i + 2] = x[0]",
        [4],
    ),
    "slices that are longer than their step": (
        "for b in range(0, n - 9, 8):\n    for i in prange(4):\n        y[b + 2 * i : b + 2 * i + 3] = x[b]",
        [4],
    ),
    "one element": ("for i in prange(n):\n    y[0] = x[i]", [3]),
    "the last element": ("for i in prange(n):\n    y[-1] = x[i]", [3]),
    "an element given": ("for i in prange(n):\n    y[m] = x[i]", [3]),
    "the one before": ("for i in prange(1, n):\n    y[i] = y[i - 1] + x[i]", [3]),
    "the one after": ("for i in prange(n - 1):\n    y[i] = y[i + 1]", [3]),
    "two places": ("for i in prange(n - 1):\n    y[i] = x[i]\n    y[i + 1] = 0.0", [3, 4]),
    "read elsewhere": ("for i in prange(1, n):\n    t = y[i - 1]\n    y[i] = t", [3, 4]),
    "steps that meet": ("for i in prange(n // 2 - 1):\n    y[2 * i] = x[i]\n    y[2 * i + 2] = x[i]", [3, 4]),
    "a step too short": ("for i in prange(0, n - 2, 2):\n    y[i] = x[i]\n    y[i + 2] = x[i]", [3, 4]),
    "against each other": ("for i in prange(n):\n    y[i] = y[n - 1 - i]", [3]),
    "halves": ("for i in prange(n):\n    y[i // 2] = x[i]", [3]),
    "remainders": ("for i in prange(n):\n    y[i % m] = x[i]", [3]),
    "squares": ("for i in prange(m):\n    y[(i - 2) * (i - 2)] = x[i]", [3]),
    "one row": ("for i in prange(n):\n    for j in range(m):\n        a[0, j] += a[i, j]", [4]),
    "the row above": ("for i in prange(1, n):\n    for j in range(m):\n        a[i, j] = a[i - 1, j]", [4]),
    "the row above, whole": ("for i in prange(1, n):\n    a[i] = a[i - 1]", [3]),
    "the column before": ("for j in prange(1, m):\n    a[:, j] = a[:, j - 1]", [3]),
    "all": ("for i in prange(n):\n    y[:] = x[i]", [3]),
    "all, read": ("for i in prange(n):\n    y[i] = y.sum()", [3]),
    "a slice to the end": ("for i in prange(n):\n    y[i:] = x[i]", [3]),
    "a slice that overlaps": ("for i in prange(n - 2):\n    y[i:i + 2] = x[i]", [3]),
    "slices of five by four": ("for i in prange(n // 4 - 1):\n    y[4 * i : 4 * i + 5] = x[i]", [3]),
    "slices that meet a store": (
        "for i in prange(n // 4 - 1):\n    y[4 * i : 4 * i + 4] = x[i]\n    y[4 * i + 4] = 0.0",
        [3, 4],
    ),
    "slices from below zero": ("for i in prange(n // 4):\n    y[4 * i - 4 : 4 * i] = x[i]", [3]),
    "sizes of an iteration": (
        "for i in prange(m):\n    t = np.ones(i + 1)\n    for j in range(len(t)):\n        y[i * len(t) + j] = 1.0",
        [5],
    ),
    "held below an end": ("for i in prange(n // 4):\n    y[min(4 * i, m) : 4 * i + 4] = x[i]", [3]),
    "rows too short": (
        "z = np.zeros(n * m)\nfor i in prange(n):\n    for j in range(m + 1):\n        z[i * m + j] = 1.0",
        [5],
    ),
    "a transposed read": ("for i in prange(m):\n    for j in range(m):\n        a[i, j] = a[j, i]", [4]),
    "a histogram that is read": ("for i in prange(n):\n    y[p[i]] += 1\n    x[i] = y[i]", [3, 4]),
    "a histogram that is set": ("for i in prange(n):\n    y[p[i]] += 1\n    y[m] = 0.0", [3, 4]),
    "a histogram of two operators": ("for i in prange(n):\n    y[p[i]] += 1\n    y[p[i]] *= 2", [3, 4]),
    "a histogram of what is there": ("for i in prange(n):\n    y[p[i]] += y[p[i]]", [3]),
    "another place": ("for i in prange(n - 1):\n    y[p[i]] = y[p[i + 1]] + 1", [3]),
    "subtracted from, by label": ("for i in prange(n):\n    y[p[i]] = x[i] - y[p[i]]", [3]),
    "divided by label": ("for i in prange(n):\n    y[p[i]] /= 2", [3]),
    "truncated sums": ("h = np.zeros(7, dtype=np.int64)\nfor i in prange(n):\n    h[p[i]] = h[p[i]] + x[i]", [4]),
    "a new array for each": ("t = np.zeros(m)\nfor i in prange(n):\n    t = t + a[i]\nreturn t", [4]),
    "rows that are read": ("t = np.zeros(m)\nfor i in prange(n):\n    t += a[i]\n    y[i] = t[0]\nreturn t", [5]),
    "the first that": ("t = -1\nfor i in prange(n):\n    if x[i] > 0:\n        t = i\nreturn t", [3]),
    "the best or": (
        "u, v = x[0], 0\nfor i in prange(n):\n    if k[i] > 900 or x[i] > u:\n        u, v = x[i], i\nreturn u, v",
        [4],
    ),
    "a comparison that is kept": (
        "u, v = x[0], False\nfor i in prange(n):\n    t = bool(x[i] > u)\n    if t:\n        u, v = x[i], t\nreturn u, v",
        [4],
    ),
    "a best that is read": (
        "u, v = x[0], 0\nfor i in prange(n):\n    if x[i] < u:\n        u, v = x[i], i\n    y[i] = u",
        [6],
    ),
    "a place that is read": (
        "u, v = x[0], 0\nfor i in prange(n):\n    if x[i] < u:\n        u, v = x[i], i\n    y[i] = v",
        [6],
    ),
    "another value": ("u = x[0]\nfor i in prange(n):\n    if x[i] < u:\n        u = x[i] + 1\nreturn u", [4]),
    "both ways": (
        "u, v = x[0], 0\nfor i in prange(n):\n    if x[i] < u:\n        u, v = x[i], i\n    if a[i, 0] > u:\n        u, v = a[i, 0], i\nreturn u, v",
        [6],
    ),
    "a place for one of two": (
        "u, v = x[0], 0\nfor i in prange(n):\n    if x[i] < u:\n        u, v = x[i], i\n    if a[i, 0] < u:\n        u = a[i, 0]\nreturn u, v",
        [3],
    ),
    "a place set elsewhere": (
        "u, v = x[0], 0\nfor i in prange(n):\n    if x[i] < u:\n        u, v = x[i], i\n    if x[i] > 40:\n        v = 0\nreturn u, v",
        [4, 6],
    ),
    "a function that is not declared": ("g = 0.0\nfor i in prange(n):\n    g = plain(g, x[i])\nreturn g", [4]),
    "a function the other way round": ("g = 0.0\nfor i in prange(n):\n    g = largest(x[i], g)\nreturn g", [4]),
    "a scatter that reads": ("for i in prange(n):\n    y[p[i]] = y[i] + 1", [3]),
    "every other element, and its neighbour": (
        "v = y[::2]\nfor i in prange(n // 2 - 1):\n    v[i] = x[i]\n    y[2 * i + 2] = 0.0",
        [4, 5],
    ),
    "one element, found in memory": ("for i in prange(n):\n    y[p[0]] = x[i]", [3]),
    "elements found in memory": ("for i in prange(n):\n    y[p] = x[i]", [3]),
    "through a part": ("v = y[1:]\nfor i in prange(n - 1):\n    v[i] = y[i]", [4]),
    "through a name": ("z = y\nfor i in prange(n - 1):\n    z[i] = y[i + 1]", [4]),
    "a chain": ("t = 0.0\nfor i in prange(n):\n    t = t * 0.5 + x[i]\nreturn t", [4]),
    "a previous value": ("t = 0.0\nfor i in prange(n):\n    y[i] = t\n    t = x[i]", [4, 5]),
    "two operators": ("t = 0.0\nfor i in prange(n):\n    t += x[i]\n    t *= 2\nreturn t", [5]),
    "a sum that is read": ("t = 0.0\nfor i in prange(n):\n    t += x[i]\n    y[i] = t", [5]),
    "a sum that starts anew": (
        "t = 0.0\nfor i in prange(n):\n    t += x[i]\n    if t > 100:\n        t = 0.0\nreturn t",
        [5],
    ),
    "subtracted from": ("t = 0.0\nfor i in prange(n):\n    t = x[i] - t\nreturn t", [4]),
    "divided": ("t = 1.0\nfor i in prange(n):\n    t /= 2\nreturn t", [4]),
    "a choice by the sum": ("t = 0.0\nfor i in prange(n):\n    t = x[i] if t else t + 1\nreturn t", [4]),
    "a condition on the sum": ("t = 0.0\nfor i in prange(n):\n    if t < 100:\n        t += x[i]\nreturn t", [4]),
    "Fibonacci": ("t, u = 0.0, 1.0\nfor i in prange(n):\n    t, u = u, t + u\nreturn t", [4]),
    "a break": ("for i in prange(n):\n    if x[i] > 0:\n        break\n    y[i] = 1.0", [4, 2]),
    "a return": ("for i in prange(n):\n    if x[i] > 0:\n        return i\nreturn -1", [4, 2]),
    "a list": ("z = [0]\nfor i in prange(n):\n    z.append(i)\nreturn z", [4, 3]),
    "an item of a list": ("z = [0]\nfor i in prange(n):\n    z[0] = i\nreturn z", [4, 3]),
    "a comprehension": ("return [i for i in prange(n)]", [2]),
    "a variable of a closure": (
        "t = 0\ndef add(v):\n    nonlocal t\n    t += v\nfor i in prange(n):\n    add(i)\nreturn t",
        [6],
    ),
}


# spec: N14, G2
@pytest.mark.parametrize("title", RACY)
def test_racy(title):
    body, lines = RACY[title]
    f = weft.njit(function(title, body))
    with pytest.raises((weft.TypingError, weft.UnsupportedError)) as refused:
        f(*arguments())
    shown = {int(n) for n in re.findall(r"^ *(\d+) \|", str(refused.value), re.MULTILINE)}
    assert set(lines) <= shown, str(refused.value)


def blocks_sum(values):
    """The order that is promised: blocks by the number of iterations, in order inside and among them."""
    n = len(values)
    block = min(max(-(-n // 256), 1), 4096)
    total = 0.0
    for start in range(0, n, block):
        part = -0.0
        for v in values[start : start + block]:
            part += v
        total += part
    return total


# spec: N14
@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 5000, 1_100_000])
def test_sums_have_one_order(n):
    @weft.njit
    def f(x):
        s = 0.0
        for i in prange(len(x)):
            s += x[i]
        return s

    x = np.random.default_rng(n).normal(size=n)
    expected = blocks_sum(x.tolist())
    for threads in THREADS:
        weft.set_num_threads(threads)
        assert float(f(x)).hex() == float(expected).hex()


# spec: N14
def test_dtypes_of_reductions():
    @weft.njit
    def total(x):
        s = x[0]
        for i in prange(1, len(x)):
            s += x[i]
        return s

    @weft.njit
    def greatest(x):
        s = x[0]
        for i in prange(1, len(x)):
            s = max(s, x[i])
        return s

    for dtype in "bBhHiIlLefd":
        x = (np.arange(600) % 7).astype(dtype)
        got = total(x)
        want = x[0]
        with np.errstate(over="ignore"):
            for v in x[1:]:
                want = want + v
        assert (type(got), got) == (type(want), want)
        assert bits(greatest(x)) == bits(max(x))


# spec: N12, N14
def test_the_lowest_iteration_raises():
    @weft.njit
    def f(x, y):
        for i in prange(len(x)):
            if x[i] > 0:
                raise ValueError("at", i)
            y[i] = 1.0

    x = np.zeros(100_000)
    x[[777, 50_000, 99_999]] = 1
    for threads in THREADS:
        weft.set_num_threads(threads)
        for _ in range(10):
            with pytest.raises(ValueError, match="at") as raised:
                f(x, np.zeros(len(x)))
            assert raised.value.args == ("at", 777)


# spec: N12, N14
def test_exceptions_are_caught_around_and_inside():
    @weft.njit
    def around(x, y):
        try:
            for i in prange(len(x) + 1):
                y[i] = x[i]
        except IndexError:
            return -1.0
        return 1.0

    @weft.njit
    def inside(x, y):
        for i in prange(len(x)):
            try:
                y[i] = int(x[i]) // int(x[i])
            except ZeroDivisionError:
                y[i] = -1.0

    x = np.arange(5000.0) % 3
    for threads in THREADS:
        weft.set_num_threads(threads)
        y = np.zeros(5000)
        assert around(x, y) == -1.0
        inside(x, y)
        assert (y == np.where(x == 0, -1.0, 1.0)).all()


# spec: N14, N7
def test_arrays_that_overlap_run_in_order():
    @weft.njit
    def f(x, y):
        for i in prange(len(x)):
            y[i] = x[i] + 1

    for threads in THREADS:
        weft.set_num_threads(threads)
        memory = np.zeros(200_001)
        f(memory[:-1], memory[1:])
        assert (memory == np.arange(200_001)).all()
        memory = np.zeros(200_001)
        f(memory[1:], memory[:-1])
        assert (memory[:-1] == 1).all()


# spec: N14, N10
def test_temporaries_are_given_back():
    @weft.njit
    def f(a):
        s = 0.0
        for i in prange(a.shape[0]):
            t = a[i] * 2
            u = [t, t + 1]
            s += u[1].sum()
        return s

    a = np.ones((20_000, 10))
    for threads in THREADS:
        weft.set_num_threads(threads)
        assert f(a) == 20_000 * 30


# spec: N12, N10
def test_calls_from_threads_that_raise_beside_temporaries():
    @weft.njit
    def f(a, bad):
        s = 0.0
        for i in prange(a.shape[0]):
            t = a[i] * 2 + 1
            u = [t, t * 2]
            if i == bad:
                raise ValueError(i)
            s += u[1].sum()
        return s

    a = np.ones((3000, 50))
    outcomes = []

    def calls():
        for _ in range(20):
            with pytest.raises(ValueError) as raised:
                f(a, 2000)
            outcomes.append((raised.value.args, f(a, -1)))

    weft.set_num_threads(7)
    threads = [threading.Thread(target=calls) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 60 and set(outcomes) == {((2000,), 3000 * 50 * 6.0)}


# spec: N14
def test_a_variable_step():
    @weft.njit
    def f(y, lo, hi, step):
        for i in prange(lo, hi, step):
            y[i] += 1
        return y

    with pytest.raises(weft.UnsupportedError, match="step"):
        f(np.zeros(5), 0, 5, 2)

    @weft.njit
    def upwards(y, lo, hi, step):
        if step > 0:
            for i in prange(lo, hi, step):
                y[i] += 1
        return y

    for step in (1, 2, 3, 7, 0, -1):
        np.testing.assert_array_equal(upwards(np.zeros(5), 1, 5, step), upwards.py_func(np.zeros(5), 1, 5, step))


# spec: N14
def test_best_of_all_with_nans_and_ties():
    @weft.njit
    def least(x):
        best, at = np.float64(np.inf), -1
        for i in prange(len(x)):
            if x[i] < best:
                best, at = x[i], i
        return best, at

    @weft.njit
    def last_least(x):
        best, at = np.float64(np.inf), -1
        for i in prange(len(x)):
            if x[i] <= best:
                best, at = x[i], i
        return best, at

    inputs = [np.full(3000, np.inf), np.full(3000, np.nan), np.zeros(3000), np.tile([0.0, -0.0, np.nan], 1000)]
    for x in [*inputs, np.random.default_rng(8).integers(0, 9, 3000).astype(float)]:
        for f in (least, last_least):
            expected = f.py_func(x)
            for threads in THREADS:
                weft.set_num_threads(threads)
                assert bits(f(x)) == bits(expected)


# spec: N14
def test_what_a_reduction_declares():
    assert gcd(12, 18) == 6 and largest(1.0, 2.0) == 2.0
    with pytest.raises(TypeError, match="identity"):
        weft.reduction(identity="none")


# spec: N14
def test_in_plain_python_it_is_range():
    assert prange(3) == range(3)
    assert prange(1, 9, 2) == range(1, 9, 2)
    assert list(prange(5, 0, -2)) == [5, 3, 1]
    with pytest.raises(TypeError):
        prange()


# spec: N14
def test_numbas_name():
    # What Numba calls so is a class of this name and module; Numba itself need not be there.
    numbas = type("prange", (), {"__new__": lambda cls, *bounds: range(*bounds), "__module__": "numba.misc.special"})

    @weft.njit
    def f(x):
        s = 0.0
        for i in numbas(len(x)):
            s += x[i]
        return s

    x = np.random.default_rng(1).normal(size=5000)
    assert f(x) == blocks_sum(x.tolist())


# spec: N14
def test_threads_are_set():
    weft.set_num_threads(3)
    assert weft.get_num_threads() == 3 == weft.config.num_threads
    with pytest.raises(ValueError, match="positive"):
        weft.set_num_threads(0)
    with pytest.raises(TypeError):
        weft.set_num_threads("2")
