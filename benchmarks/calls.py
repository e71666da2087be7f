"""What a call costs before any work is done: small arrays, through Weft, Numba and plain Python."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import weft
from measure import Result, result, turns, version

CALLS = 5_000
ROUNDS = 21


def none():
    return 1


def one(a):
    return 1


def three(a, b, c):
    return 1


def add(a, b):
    return a + b


def numbers(x, y):
    return x + y


FACTOR = 2.0


def with_global(x):
    return x * FACTOR


def run() -> list[Result]:
    a, b, c = np.ones(8), np.ones(8), np.ones(8)
    cases: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
        ("no argument", none, ()),
        ("one array", one, (a,)),
        ("three arrays", three, (a, b, c)),
        ("a + b of 8", add, (a, b)),
        ("two floats", numbers, (1.5, 2.5)),
        ("two NumPy floats", numbers, (np.float64(1.5), np.float64(2.5))),
        ("a float and a global", with_global, (1.5,)),
    ]
    decorators: dict[str, Callable[..., Any]] = {"weft": weft.njit, "Python": lambda function: function}
    if version("numba"):
        import numba

        decorators["Numba"] = numba.njit
    results = []
    for name, function, arguments in cases:
        made = {who: decorate(function) for who, decorate in decorators.items()}
        # What `partial` and the loop around it cost is the same for everyone; Python's own call shows how much.
        times = turns({who: functools.partial(f, *arguments) for who, f in made.items()}, ROUNDS, CALLS)
        results += [result(f"call, {name}: {who}", "ns", samples, 1e9) for who, samples in times.items()]
    return results
