"""What a fused expression needs beside its inputs: its outputs, and nothing else."""

import pytest

import numpy as np
import weft
from support import function

N = 1 << 20
MB = 8 * N
# Blocks come in classes of sizes, and have a header.
SLACK = MB // 4

# The expression, and how many arrays of N floats it may have at a time beside its inputs.
NEEDS = {
    "a chain": ("r = (x * 2 + y) * (x - y) + 1", 1),
    "statements": ("a = x * 2\nb = a + y\nr = np.sqrt(b * b) - a", 1),
    "what is only reduced": ("r = np.sum((x - y) * (x - y))", 0),
    "several reductions of one thing": ("d = x * y\nr = d.sum(), d.max(), d.min()", 1),
    "into an argument": ("x[1:-1] = (y[2:] + y[:-2]) * 0.5\nr = 0", 0),
    "into two": ("x += y * 0.1\ny -= x * 0.1\nr = 0", 0),
    "a new array that is written over": ("r = np.zeros(x.size)\nr[:] = x + y\nr += 1", 1),
    "two results": ("r = x + y, x - y", 2),
    "running sums of what is computed": ("r = np.cumsum(x * y + 1)", 1),
    "where": ("r = np.where(x > y, x * 2, y - 1)", 1),
    "a mask": ("x[x > y] = 0.0\nr = 0", 0),
    "rows": ("g = x.reshape(1024, -1)\nr = (g - g.mean(axis=1)[:, None]) / 3", 1),
    "a broadcast": ("g = x.reshape(1024, -1)\nr = g + y[:1024] * 2", 1),
}


@weft.njit
def room(n):
    return np.empty(n, np.int8)


def host():
    return weft.memory.stats()["native:cpu:0"]["host"]


# spec: N7
@pytest.mark.parametrize("title", NEEDS)
def test_inputs_and_outputs(title):
    body, arrays = NEEDS[title]
    f = function("r", ["x", "y"], body)
    x, y = np.random.default_rng(4).random((2, N))
    f(x.copy(), y.copy())
    # With this, more bytes are in use than ever before: the next peak is that of the call.
    ballast = room(host().peak - host().live + 1)
    before = host().live
    assert before == host().peak
    result = f(x, y)
    assert host().peak - before <= arrays * MB + SLACK, (ballast.size, result)
    if arrays:
        assert host().peak - before >= arrays * MB
