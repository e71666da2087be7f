"""The benchmarks on a GPU: `python benchmarks/gpu.py --json FILE`.

Bandwidth of array expressions as a share of the device's copy bandwidth, beside the peers that are installed; what a
launch costs the host; and how long compiling takes. Times are taken between two waits for the queue, around several
launches, so that they are the device's. Values are checked against NumPy on a sample of elements.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import weft
from gpu_peers import Peer, peers
from measure import Result, collect, in_fresh_process, machine, result, table, version, write
from weft import tensor

ROUNDS = 11
LAUNCHES = 10  # between two waits
SMALL = 1024
SMALL_LAUNCHES = 2_000
PROCESSES = 5

EXPRESSIONS: dict[str, tuple[Callable[..., Any], float | None]] = {
    "a*b+a": (lambda a, b: a * b + a, 0.8),
    "sin(a)*exp(b)+a": (lambda a, b: np.sin(a) * np.exp(b) + a, None),
}


@weft.njit
def look(t):
    """Taking a tensor as an argument runs what is pending on it; nothing is copied or waited for."""
    return 0


@weft.kernel
def multiply_add(c, a, b):
    i = weft.get_global_id(0)
    c[i] = a[i] * b[i] + a[i]


@weft.kernel
def wave(c, a, b):
    i = weft.get_global_id(0)
    c[i] = np.sin(a[i]) * np.exp(b[i]) + a[i]


@weft.kernel
def copy(c, a):
    i = weft.get_global_id(0)
    c[i] = a[i]


@weft.njit
def jitted(a, b):
    return a * b + a


def evaluated(t: Any) -> Any:
    look(t)
    return t


def ours(a: np.ndarray, b: np.ndarray, device: weft.Device) -> list[Peer]:
    """Weft's contenders, after checking what they compute."""
    x, y = tensor.asarray(a, device=device), tensor.asarray(b, device=device)
    out = tensor.empty(a.shape, "float32", device=device)
    n = a.size

    def launched(kernel: Any) -> Any:
        kernel[n](out, x, y)
        return out

    tensors = {
        "a*b+a": lambda: evaluated(x * y + x),
        "sin(a)*exp(b)+a": lambda: evaluated(tensor.sin(x) * tensor.exp(y) + x),
    }
    kernels = {"a*b+a": lambda: launched(multiply_add), "sin(a)*exp(b)+a": lambda: launched(wave)}
    sample = slice(None, None, 4097)
    for start in (tensors, kernels):
        for name, (function, _) in EXPRESSIONS.items():
            values = tensor.asnumpy(start[name]())[sample]
            np.testing.assert_allclose(values, function(a[sample], b[sample]), rtol=1e-6)
    return [Peer("weft tensor", tensors, x.queue.wait), Peer("weft kernel", kernels, x.queue.wait)]


def once(start: Callable[[], Any], wait: Callable[[], None], launches: int) -> float:
    """Seconds of one launch, from a quiet device to a quiet device."""
    wait()
    begin = time.perf_counter()
    for _ in range(launches):
        start()
    wait()
    return (time.perf_counter() - begin) / launches


def copy_bandwidth(a: np.ndarray, device: weft.Device) -> tuple[str, list[float]]:
    """Bytes per second of copies within the device, and what copied them."""
    if device.backend == "cuda":
        import cuda_copy

        try:
            return "the driver", cuda_copy.bandwidth(a.nbytes, device.index)
        except (OSError, RuntimeError, AttributeError) as error:
            print(f"copying through the driver failed, so a kernel copies: {error}", file=sys.stderr)
    x = tensor.asarray(a, device=device)
    out = tensor.empty(a.shape, "float32", device=device)
    copy[a.size](out, x)
    return "a kernel", [
        2 * a.nbytes / once(lambda: copy[a.size](out, x), x.queue.wait, LAUNCHES) for _ in range(ROUNDS)
    ]


def bandwidths(device: weft.Device, elements: int) -> list[Result]:
    generator = np.random.default_rng(1)
    a, b = generator.random(elements, np.float32), generator.random(elements, np.float32)
    by, copied = copy_bandwidth(a, device)
    roof = statistics.median(copied)
    contenders = [*ours(a, b, device), *(peers(a, b) if device.backend == "cuda" else ())]

    samples: dict[tuple[str, str], list[float]] = {(e, c.name): [] for e in EXPRESSIONS for c in contenders}
    order = [(expression, contender) for expression in EXPRESSIONS for contender in contenders]
    for turn in range(ROUNDS + 1):
        random.shuffle(order)
        for expression, contender in order:
            spent = once(contender.start[expression], contender.wait, LAUNCHES)
            if turn:  # the first warms up
                samples[expression, contender.name].append(3 * a.nbytes / spent)  # two arrays read, one written

    results = [result(f"copy, by {by}", "GB/s", copied, 1e-9)]
    for expression, (_, budget) in EXPRESSIONS.items():
        for contender in contenders:
            name, got = f"{expression} float32, {contender.name}", samples[expression, contender.name]
            promised = {"at_least": budget} if budget and contender.name.startswith("weft") else {}
            results.append(result(name, "GB/s", got, 1e-9))
            results.append(result(f"{name}, share of copy", "×", got, 1 / roof, **promised))
    return results


def launches(device: weft.Device) -> list[Result]:
    """What the host spends on a launch, as long as the device keeps up."""
    a = np.ones(SMALL, np.float32)
    x, y = tensor.asarray(a, device=device), tensor.asarray(a, device=device)
    out = tensor.empty(a.shape, "float32", device=device)
    starts = {
        "kernel": lambda: multiply_add[SMALL](out, x, y),
        "tensor a*b+a": lambda: look(x * y + x),
        "njit a*b+a on tensors": lambda: jitted(x, y),
    }
    samples: dict[str, list[float]] = {name: [] for name in starts}
    round_trips = []
    for turn in range(ROUNDS + 1):
        for name in random.sample(list(starts), len(starts)):
            x.queue.wait()
            begin = time.perf_counter()
            for _ in range(SMALL_LAUNCHES):
                starts[name]()
            spent = (time.perf_counter() - begin) / SMALL_LAUNCHES
            if turn:
                samples[name].append(spent)
        round_trips.append(once(lambda: (starts["kernel"](), x.queue.wait()), x.queue.wait, 200))
    results = [result(f"launch, {name}", "µs", times, 1e6) for name, times in samples.items()]
    return [*results, result("launch of a kernel and wait", "µs", round_trips[1:], 1e6)]


COMPILE = """
import json, time
import numpy as np
import weft
from weft import tensor
times = {{}}
def clock(name, run):
    start = time.perf_counter()
    value = run()
    times[name] = time.perf_counter() - start
    return value
x = clock("start", lambda: tensor.asarray(np.ones(1000, np.float32), device={device!r}))
@weft.kernel
def first(c, a):
    i = weft.get_global_id(0)
    c[i] = np.sin(a[i]) * np.exp(a[i]) + a[i]
@weft.kernel
def second(c, a):
    i = weft.get_global_id(0)
    c[i] = np.cos(a[i]) * np.log(a[i]) - a[i]
out = tensor.empty(1000, "float32", device={device!r})
def launch(kernel):
    kernel[1000](out, x)
    out.queue.wait()
clock("first", lambda: launch(first))
clock("second", lambda: launch(second))
clock("tensor", lambda: tensor.asnumpy(tensor.sin(x) * tensor.log(x) + 2))
print(json.dumps(times))
"""


def compiles(device: weft.Device) -> list[Result]:
    script = COMPILE.format(device=device.filter_string)
    times = collect([in_fresh_process(script) for _ in range(PROCESSES)])
    return [
        result("the first tensor on the device, driver start included", "ms", times["start"], 1e3),
        result("first kernel in a process", "ms", times["first"], 1e3),
        result("second kernel", "ms", times["second"], 1e3),
        result("a tensor expression after them", "ms", times["tensor"], 1e3),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="The benchmarks on a GPU.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the figures")
    parser.add_argument("--device", default="cuda", metavar="FILTER", help="another device, to try this program")
    parser.add_argument("--elements", type=int, default=1 << 28, help="of each large array (2^28)")
    options = parser.parse_args()

    try:
        device = weft.Device.create_device(options.device)
    except (ValueError, weft.WeftError) as error:
        print(f"gpu: {error}", file=sys.stderr)
        return 1
    versions = {package: version(package) for package in ("cupy-cuda12x", "cupy-cuda13x", "torch", "triton")}
    about = {**machine(), "device": device.name, "driver": device.driver_version, "elements": options.elements}
    about |= {package: found for package, found in versions.items() if found}
    print(", ".join(f"{key} {value}" for key, value in about.items()), flush=True)

    results = []
    failed = False
    for step in (compiles, launches, lambda device: bandwidths(device, options.elements)):
        try:
            results += step(device)
        except Exception as error:
            # The figures of the other steps are worth having.
            failed = True
            print(f"gpu: a step failed, {type(error).__name__}: {error}", file=sys.stderr)
    print(f"\n{table(results)}")
    if options.json:
        write(options.json, about, results)
        print(f"\nwritten to {options.json}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
