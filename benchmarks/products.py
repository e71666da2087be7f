"""Products of matrices and vectors on one thread, against NumPy's, which are those of OpenBLAS."""

import functools
import json
from typing import Any

import numpy as np
import weft
from measure import Result, in_fresh_process, ratios, result, turns

# Rows, products that are summed, columns; None: a vector.
SHAPES: list[tuple[int | None, int, int | None]] = [
    (4, 4, 4), (16, 16, 16), (64, 64, 64), (100, 100, 100), (256, 256, 256), (500, 500, 500), (1000, 1000, 1000),
    (2000, 2000, 2000), (8, 30_000, 2000), (800, 900, 850), (10_000, 10, 10), (4000, 5000, None), (None, 4000, 5000),
    (1000, 1000, None), (None, 1000, 1000),
]  # fmt: skip


@weft.njit
def product(a, b):
    return a @ b


def name(a: np.ndarray, b: np.ndarray) -> str:
    return " @ ".join("×".join(map(str, x.shape)) for x in (a, b))


def measure() -> None:
    """Prints how many times longer NumPy took, turn by turn."""
    numbers = np.random.default_rng(1)
    cases = []
    for m, k, n in SHAPES:
        a, b = numbers.normal(size=[m, k] if m else k), numbers.normal(size=[k, n] if n else k)
        cases.append((name(a, b), a, b, (m or 1) * (n or 1) * k))
    x = numbers.normal(size=(600, 500))
    cases.append(("X.T @ X, X 600×500", x.T, x, 500 * 500 * 600))
    compared = {}
    for which, a, b, work in cases:
        contenders = {"weft": functools.partial(product, a, b), "NumPy": functools.partial(np.matmul, a, b)}
        times = turns(contenders, 7 if work > 10**9 else 21, max(1, 10**7 // work))
        compared[which] = ratios(times["NumPy"], times["weft"])
    print(json.dumps(compared))


def run() -> list[Result]:
    # In a process in which both have one thread.
    script = "import sys; sys.path.insert(0, 'benchmarks'); import products; products.measure()"
    compared: Any = in_fresh_process(script, WEFT_NUM_THREADS="1")
    return [result(f"{which}, against NumPy", "×", samples, at_least=0.95) for which, samples in compared.items()]
