"""Thirty functions against Numba: how long the first call takes, and how fast they run on one thread.

The first call is measured in fresh processes that have compiled one trivial function before, without caches; running
in one process, in turns, with indices checked and with `boundscheck=False`. Results are compared before they are timed.
What overflow checks cost is the time beside that with `overflow="wrap"`.
"""

from __future__ import annotations

import functools
import math
import random
import types
from collections.abc import Callable, Sequence
from typing import Any

import language_functions
import numpy as np
import weft
from language_functions import ARRAY_CASES, CASES, Case
from measure import Result, collect, in_fresh_process, ratios, result, turns, version

PROCESSES = 5
NUMBA_PROCESSES = 3  # each takes seconds
ROUNDS = 21
FUNCTIONS = 1000

# How fast a function must be: Numba's time by ours.
SPEED = {"affine": 0.95, "data": 0.8}

COMPILE = """
import json, sys, time
sys.path.insert(0, "benchmarks")
import language_functions as functions
from {package} import njit
case = functions.CASES[{number}]
arguments = case.arguments()
njit(functions.trivial)(1.0)
name = case.function.__name__
compiled = njit({options})(case.function)
setattr(functions, name, compiled)
time.sleep(0.2)  # NumPy's BLAS has threads that spin for 0.1 s after its import: nobody's time
start = time.process_time()
compiled(*arguments)
print(json.dumps({{"first": time.process_time() - start}}))
"""

MEMORY = """
import gc, json, sys
import numpy as np
from weft import njit
def resident():
    gc.collect()
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096
def made(k):
    source = "def f(x):\\n    t = 0.0\\n    for i in range(x.size):\\n        t += x[i] * K\\n    return t\\n"
    source = source.replace("K", f"{k}.5")
    space = {}
    exec(source, space)
    f = njit(space["f"], source=source)
    f(x)
    return f
x = np.ones(10)
kept = [made(k) for k in range(50)]
before = resident()
kept += [made(k) for k in range(50, 50 + COUNT)]
full = resident()
del kept
after = resident()
print(json.dumps({"each": (full - before) / COUNT / 1024, "left": (after - before) / COUNT / 1024}))
"""


def _alone(function: Callable[..., Any], decorate: Callable[..., Any]) -> Any:
    """The function as if it were the only one of its name: where it calls itself, it calls what was made of it."""
    space = dict(vars(language_functions))
    copy = types.FunctionType(function.__code__, space, function.__name__, function.__defaults__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    made = decorate(copy)
    space[function.__name__] = made
    return made


def _aligned(a: np.ndarray) -> np.ndarray:
    """A copy at the start of a cache line: where an array lies makes a quarter of some functions' time."""
    room = np.empty(a.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + a.nbytes].view(a.dtype).reshape(a.shape)
    copy[...] = a
    return copy


def _fresh(arguments: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_aligned(a) if isinstance(a, np.ndarray) else a for a in arguments)


def _agree(case: Case, contenders: dict[str, Any]) -> None:
    """All give what the plain function gives, and leave the same in their arguments."""
    results = {}
    for name, function in {"Python": case.function, **contenders}.items():
        arguments = _fresh(case.arguments())
        results[name] = [function(*arguments), *arguments]
    for name, found in results.items():
        for want, have in zip(results["Python"], found):
            if want is not None:
                np.testing.assert_allclose(have, want, rtol=1e-9, err_msg=f"{case.function.__name__}: {name}")


def _geometric(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _compiling(with_numba: bool) -> list[Result]:
    jobs = [("weft", "parallel=False", k) for k in range(len(CASES))] * PROCESSES
    if with_numba:
        jobs += [("numba", "", k) for k in range(len(CASES))] * NUMBA_PROCESSES
    random.shuffle(jobs)
    times: dict[tuple[str, int], list[float]] = {}
    for package, options, number in jobs:
        script = COMPILE.format(package=package, options=options, number=number)
        times.setdefault((package, number), []).append(in_fresh_process(script)["first"])
    results, shares = [], []
    for k, case in enumerate(CASES):
        name = f"first call: {case.function.__name__}"
        most: dict[str, float] = {}
        if with_numba:
            numba = float(np.median(times["numba", k]))
            most["at_most"] = round(max(15.0, 100.0 * numba), 1)
            shares.append(float(np.median(times["weft", k])) / numba)
        if case.function.__name__ == "jacobi_2d":
            most["at_most"] = 100.0
        results.append(result(name, "ms", times["weft", k], 1e3, **most))
        if with_numba:
            results.append(result(f"{name}: Numba", "ms", times["numba", k], 1e3))
    if with_numba:
        results.append(result("first call: geometric mean of ours / Numba's", "", [_geometric(shares)], at_most=0.05))
    return results


def _running(with_numba: bool) -> list[Result]:
    results: list[Result] = []
    speeds: dict[str, list[float]] = {}
    costs: list[float] = []
    for case in CASES:
        name = case.function.__name__
        contenders = {
            "checked": _alone(case.function, weft.njit(parallel=False)),
            "unchecked": _alone(case.function, weft.njit(parallel=False, boundscheck=False)),
            "wraps": _alone(case.function, weft.njit(parallel=False, overflow="wrap")),
        }
        if with_numba:
            import numba

            contenders["numba"] = _alone(case.function, numba.njit)
        _agree(case, contenders)
        bound = {who: functools.partial(f, *_fresh(case.arguments())) for who, f in contenders.items()}
        times = turns(bound, ROUNDS)
        if case.kind != "array":
            cost = ratios(times["checked"], times["wraps"])
            costs.append(float(np.median(cost)))
            results.append(result(f"overflow checks: {name} ({case.kind}), time / without", "×", cost, at_most=1.05))
        for who in ("checked", "unchecked"):
            if not with_numba:
                results.append(result(f"run: {name}, {who}", "µs", times[who], 1e6))
                continue
            promised = SPEED.get(case.kind) if who == "checked" else 0.95 if case.kind in SPEED else None
            budget = {} if promised is None else {"at_least": promised}
            r = result(
                f"run: {name} ({case.kind}), {who}: Numba's time / ours",
                "×",
                ratios(times["numba"], times[who]),
                **budget,
            )
            results.append(r)
            speeds.setdefault(f"{case.kind}, {who}", []).append(r.value)
    for group, values in speeds.items():
        results.append(result(f"run: geometric mean, {group}", "×", [_geometric(values)]))
    results.append(result("overflow checks: geometric mean", "×", [_geometric(costs)], at_most=1.05))
    return results


def _arrays(with_numba: bool) -> list[Result]:
    """Sums and elementary functions of a million items on one thread."""
    results: list[Result] = []
    if not with_numba:
        return results
    import numba

    for case in ARRAY_CASES:
        contenders = {
            "weft": _alone(case.function, weft.njit(parallel=False)),
            "numba": _alone(case.function, numba.njit),
        }
        for dtype in ("f8", "f4"):
            arguments = tuple(a.astype(dtype) if isinstance(a, np.ndarray) else a for a in case.arguments())
            want = case.function(*arguments)
            for f in contenders.values():
                np.testing.assert_allclose(f(*arguments), want, rtol=1e-9 if dtype == "f8" else 2e-4)
            bound = {who: functools.partial(f, *arguments) for who, f in contenders.items()}
            times = turns(bound, ROUNDS)
            name = f"run: {case.function.__name__}, 10⁶ {np.dtype(dtype).name}: Numba's time / ours"
            results.append(result(name, "×", ratios(times["numba"], times["weft"])))
    return results


def _memory() -> list[Result]:
    runs = [in_fresh_process(MEMORY.replace("COUNT", str(FUNCTIONS)))]
    found = collect(runs)
    return [
        result(f"memory of each of {FUNCTIONS} functions", "KB", found["each"], at_most=100),
        result("memory left of each after they are dropped", "KB", found["left"]),
    ]


def run() -> list[Result]:
    with_numba = version("numba") is not None
    return [*_compiling(with_numba), *_running(with_numba), *_arrays(with_numba), *_memory()]
