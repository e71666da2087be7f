"""What threads cost and bring: a parallel region, array expressions beside a copy, and what follows a product.

By the clock: several threads work here.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import weft
from measure import Result, ratios, result

REGIONS = 2_000
ROUNDS = 21
ELEMENTS = 1 << 24


@weft.njit
def regions(turns, steps, seeds):
    """Each iteration is a chain of `steps` products, of which no vector does several."""
    for _ in range(turns):
        for i in weft.prange(len(seeds)):
            x = seeds[i]
            for _ in range(steps):
                x = (x * 6364136223846793005 + 1442695040888963407) & 0x7FFFFFFF
            seeds[i] = x


@weft.njit
def chain(a, b, out):
    out[:] = (a * 2.0 + b) * (a - b) + 1.0


@weft.njit
def fresh(a, b):
    return (a * 2.0 + b) * (a - b) + 1.0


@weft.njit
def layer(x, w, b):
    return np.maximum(x @ w + b, 0.0)


@weft.njit
def product(x, w):
    return x @ w


@weft.njit
def after(p, b):
    return np.maximum(p + b, 0.0)


def clock(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def in_turns(*contenders: Callable[[], Any]) -> list[list[float]]:
    """Times of each, one for each round, after a round that compiles and fills caches."""
    times = [[clock(run) for run in contenders] for _ in range(ROUNDS + 1)]
    return [list(of_one) for of_one in zip(*times[1:])]


def region() -> Result:
    """A region of 10 microseconds' work: how much longer two threads take than half of one thread's time."""
    seeds = np.arange(64)

    def by(threads: int) -> Callable[[], None]:
        def run() -> None:
            weft.set_num_threads(threads)
            regions(REGIONS, 100, seeds)

        return run

    before = weft.get_num_threads()
    alone, shared = in_turns(by(1), by(2))
    weft.set_num_threads(before)
    costs = [(two - one / 2) / REGIONS for one, two in zip(alone, shared)]
    return result("a parallel region, two threads", "µs", costs, 1e6, at_most=2.0)


def run() -> list[Result]:
    a, b, out = (np.random.default_rng(k).uniform(size=ELEMENTS) for k in range(3))
    copy, into, new = in_turns(lambda: np.copyto(out, a), lambda: chain(a, b, out), lambda: fresh(a, b))
    # Bytes moved: a copy reads one array and writes one, the chain reads two.
    x, w, bias = (np.random.default_rng(k).uniform(size=size) for k, size in enumerate([(20_000, 64), (64, 256), 256]))
    together, apart = in_turns(lambda: layer(x, w, bias), lambda: after(product(x, w), bias))
    results = [] if weft.get_num_threads() < 2 else [region()]
    return [
        *results,
        result(
            "a chain of 5 operations into an array: bandwidth beside np.copyto's",
            "×",
            ratios([1.5 * t for t in copy], into),
            at_least=0.9,
        ),
        result("the same into a new array: time beside the one into an array", "×", ratios(new, into)),
        result(
            "np.maximum(x @ w + b, 0), 20000 × 64 × 256: beside product and rest apart", "×", ratios(apart, together)
        ),
    ]
