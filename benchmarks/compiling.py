"""How long the first call of a small function takes: the first compiled in a process, and one after it."""

import random

from measure import Result, collect, in_fresh_process, ratios, result, version

PROCESSES = 10
NUMBA_PROCESSES = 3  # each takes seconds

HEAD = """
import json, time
import numpy as np
{imports}
x = np.linspace(0.0, 1.0, 1000)
times = {{}}
def clock(name, run):
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    times[name + " clock"], times[name] = time.perf_counter() - wall, time.process_time() - cpu
"""

FUNCTIONS = """
@njit
def first(x, y):
    return np.sin(x) * np.exp(y) + x
@njit
def second(x, y):
    return np.cos(x) * np.log(y + 2.0) - y
clock("first", lambda: first(x, x))
clock("second", lambda: second(x, x))
print(json.dumps(times))
"""

TENSORS = """
t = tensor.asarray(x, device="native")
clock("first", lambda: tensor.asnumpy(tensor.sin(t) * tensor.exp(t) + t))
clock("second", lambda: tensor.asnumpy(tensor.cos(t) * tensor.log(t + 2.0) - t))
clock("again", lambda: tensor.asnumpy(tensor.cos(t) * tensor.log(t + 2.0) - t))
print(json.dumps(times))
"""

SCRIPTS = {
    "weft": HEAD.format(imports="from weft import njit") + FUNCTIONS,
    "tensor": HEAD.format(imports="from weft import tensor") + TENSORS,
    "numba": HEAD.format(imports="from numba import njit") + FUNCTIONS,
}


def run() -> list[Result]:
    runs = ["weft"] * PROCESSES + ["tensor"] * PROCESSES
    if version("numba"):
        runs += ["numba"] * NUMBA_PROCESSES
    random.shuffle(runs)
    done: dict[str, list[dict[str, float]]] = {name: [] for name in SCRIPTS}
    for name in runs:
        done[name].append(in_fresh_process(SCRIPTS[name]))

    weft, tensor = collect(done["weft"]), collect(done["tensor"])
    results = [
        result("first compile in a process", "ms", weft["first"], 1e3, at_most=20),
        result("first compile in a process, by the clock", "ms", weft["first clock"], 1e3),
        result("second compile", "ms", weft["second"], 1e3, at_most=10),
        result("second compile, by the clock", "ms", weft["second clock"], 1e3),
        result("first tensor expression in a process", "ms", tensor["first"], 1e3),
        result("second tensor expression", "ms", tensor["second"], 1e3),
        result("the same tensor expression again", "ms", tensor["again"], 1e3),
    ]
    if done["numba"]:
        numba = collect(done["numba"])
        results += [
            result("Numba: first compile in a process", "ms", numba["first"], 1e3),
            result("Numba: second compile", "ms", numba["second"], 1e3),
            result("first compile: faster than Numba", "×", ratios(numba["first"], weft["first"])),
            result("second compile: faster than Numba", "×", ratios(numba["second"], weft["second"])),
        ]
    return results
