"""Array expressions on one thread, beside Numba's njit and NumPy in the same process."""

from collections.abc import Callable
from typing import Any

import numpy as np
import weft
from measure import Result, ratios, result, turns, version

ELEMENTS = 1_000_000
ROUNDS = 31


def wave(x, y):
    return np.sin(x) * np.exp(y) + x


def multiply_add(x, y):
    return x * y + x


# What, on which dtype, and how many times faster than Numba it is to be.
CASES: list[tuple[str, Callable[..., Any], str, float | None]] = [
    ("sin(x)*exp(y)+x", wave, "float64", 6.0),
    ("sin(x)*exp(y)+x", wave, "float32", None),
    ("x*y+x", multiply_add, "float32", None),
]


def contenders() -> dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]:
    found = {"weft": weft.njit, "NumPy": lambda function: function}
    if version("numba"):
        import numba

        found["Numba"] = numba.njit
    return found


def run() -> list[Result]:
    threads = weft.config.num_threads
    weft.config.num_threads = 1
    try:
        return [r for case in CASES for r in measure(*case)]
    finally:
        weft.config.num_threads = threads


def measure(text: str, function: Callable[..., Any], dtype: str, budget: float | None) -> list[Result]:
    random = np.random.default_rng(1)
    x, y = random.random(ELEMENTS).astype(dtype), random.random(ELEMENTS).astype(dtype)
    expected = function(x, y)
    tolerance = 16 * np.finfo(dtype).eps

    calls = {}
    for name, decorate in contenders().items():
        made = decorate(function)
        np.testing.assert_allclose(made(x, y), expected, rtol=tolerance)
        calls[name] = lambda made=made: made(x, y)
    times = turns(calls, ROUNDS)

    name = f"{text} {dtype}, one thread"
    results = [result(f"{name}: {who}", "ns/element", t, 1e9 / ELEMENTS) for who, t in times.items()]
    for peer in ("Numba", "NumPy"):
        if peer in times:
            promise = {"at_least": budget} if budget and peer == "Numba" else {}
            results.append(result(f"{name}: faster than {peer}", "×", ratios(times[peer], times["weft"]), **promise))
    return results
