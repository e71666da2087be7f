"""NPBench against Weft: its NumPy sources with nothing added but `@weft.njit`, beside NumPy and Numba's variants.

    python benchmarks/on_npbench.py CHECKOUT                      # a checkout of spcl/npbench; preset S, every kernel
    python benchmarks/on_npbench.py CHECKOUT --only gemm,adi --numba --json npbench.json --table npbench.txt
    python benchmarks/on_npbench.py CHECKOUT --preset L --at-once 3   # three beside each other, on two cores each
    python benchmarks/on_npbench.py CHECKOUT --framework          # for NPBench's own programs: run_benchmark.py -f weft

Each kernel runs in a process of its own, which also checks the results as NPBench does (relative error of the norm).
Times are medians; contenders take turns of a few calls. The first call of Weft, compiling included, comes after
that of a trivial function.
"""

import argparse
import contextlib
import copy
import importlib
import importlib.util
import inspect
import io
import json
import math
import os
import queue
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import numpy as np
from measure import settle

# Variants that NPBench has for Numba; object mode is not compiled code.
VARIANTS = {"n": "serial", "np": "parallel", "npr": "prange"}
SECONDS = 2.0  # of measuring, for each contender of a kernel
TURNS = 5
IN_A_ROW = 5  # calls of a contender in a turn: NPBench, too, calls one again and again
LIMIT = 600  # seconds for a kernel


def decorated(path: Path, name: str) -> Callable[..., Any]:
    """The function `name` of a module in NumPy, with every function of the module decorated."""
    import weft

    # A second copy of the module: NumPy's has plain functions that call plain functions.
    spec = importlib.util.spec_from_file_location(f"{path.stem.removesuffix('_numpy')}_weft", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for key, function in inspect.getmembers(module, inspect.isfunction):
        if function.__module__ == module.__name__:
            setattr(module, key, weft.njit(function))
    return getattr(module, name)


# What a checkout needs so that NPBench's own programs know Weft: what it is called, and a class that finds its kernels.
ABOUT = {
    "simple_name": "weft",
    "full_name": "Weft",
    "prefix": "weft",
    "postfix": "numpy",  # there are no sources of our own
    "class": "WeftFramework",
    "arch": "cpu",
}
CLASS = """\
# Written by Weft's {name} --framework.
import sys

import weft
from npbench.infrastructure.framework import Framework

sys.path.append({folder!r})
from on_npbench import decorated

__all__ = ["WeftFramework"]


class WeftFramework(Framework):
    def version(self):
        return weft.__version__

    def implementations(self, bench):
        return [(decorated(path, bench.info["func_name"]), name) for path, name in self.impl_files(bench)]
"""


def add_framework(checkout: Path) -> None:
    """Makes `-f weft` known to the programs of a checkout."""
    this = Path(__file__).resolve()
    (checkout / "framework_info" / "weft.json").write_text(json.dumps({"framework": ABOUT}, indent=4) + "\n")
    package = checkout / "npbench" / "infrastructure"
    (package / "weft_framework.py").write_text(CLASS.format(name=this.name, folder=str(this.parent)))
    listed, line = package / "__init__.py", "from .weft_framework import *\n"
    if line not in (text := listed.read_text()):
        listed.write_text(f"{text.rstrip()}\n{line}")


class Kernel:
    """What NPBench says about a kernel, and its data."""

    def __init__(self, checkout: Path, name: str, preset: str) -> None:
        info = json.loads((checkout / "bench_info" / f"{name}.json").read_text())["benchmark"]
        self.info = info
        self.module = f"npbench.benchmarks.{info['relative_path'].replace('/', '.')}.{info['module_name']}"
        self.data: dict[str, Any] = dict(info["parameters"][preset])
        if init := info.get("init"):
            made = getattr(importlib.import_module(self.module), init["func_name"])
            values = made(*(self.data[name] for name in init["input_args"]))
            names = init["output_args"]
            self.data |= dict(zip(names, values if len(names) > 1 else [values]))

    def arguments(self) -> dict[str, Any]:
        """Fresh ones: kernels write to them."""
        return {name: copy.deepcopy(self.data[name]) for name in self.info["input_args"]}

    def outputs(self, result: Any, arguments: dict[str, Any]) -> list[Any]:
        returned = [] if result is None else list(result) if isinstance(result, tuple | list) else [result]
        return returned + [arguments[name] for name in self.info.get("output_args", [])]

    def function(self, postfix: str) -> Callable[..., Any]:
        return getattr(importlib.import_module(f"{self.module}_{postfix}"), self.info["func_name"])

    def weft(self) -> Callable[..., Any]:
        found = importlib.util.find_spec(f"{self.module}_numpy")
        assert found is not None and found.origin is not None
        return decorated(Path(found.origin), self.info["func_name"])

    def agrees(self, found: list[Any], wanted: list[Any]) -> bool:
        rtol, atol = self.info.get("rtol", 1e-5), self.info.get("atol", 1e-8)
        least = self.info.get("norm_error", 1e-5)
        if len(found) != len(wanted):
            return False
        for ours, theirs in zip(found, wanted):
            ours, theirs = np.asarray(ours), np.asarray(theirs)
            if ours.shape != theirs.shape:
                return False
            norm = np.linalg.norm(theirs.ravel().astype(complex))
            error = np.linalg.norm((ours - theirs).ravel().astype(complex)) / (norm or 1.0)
            if not np.allclose(ours, theirs, rtol=rtol, atol=atol) and not error < least:
                return False
        return True


def timed(function: Callable[..., Any], arguments: dict[str, Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function(*arguments.values())
    return time.perf_counter() - start, result


def stolen() -> float:
    """Seconds that other machines of the same host have taken from the cores of this one, since it runs."""
    try:
        fields = Path("/proc/stat").read_text().splitlines()[0].split()
        return int(fields[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def may_raise(name: str) -> contextlib.AbstractContextManager[None]:
    """Numba divides as Python does: in durbin now and then by 0.0, as the bits of a sum fall out. Nobody else may."""
    return contextlib.suppress(ZeroDivisionError) if name.startswith("numba") else contextlib.nullcontext()


def measure(kernel: Kernel, numba: bool) -> dict[str, Any]:
    """One kernel, in this process."""
    import weft

    weft.njit(lambda x: x + 1)(1)
    row: dict[str, Any] = {}
    plain = kernel.function("numpy")
    arguments = kernel.arguments()
    took, result = timed(plain, arguments)
    wanted = kernel.outputs(result, arguments)
    contenders: dict[str, Callable[..., Any]] = {"numpy": plain}
    spent = {"numpy": took}
    arguments = kernel.arguments()
    try:
        ours = kernel.weft()
        row["first"], result = timed(ours, arguments)
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {error}"
    else:
        row["valid"] = kernel.agrees(kernel.outputs(result, arguments), wanted)
        contenders["weft"] = ours
    for postfix, variant in VARIANTS.items() if numba else ():
        try:
            theirs = kernel.function(f"numba_{postfix}")
            row[f"first {variant}"], _ = timed(theirs, kernel.arguments())
            contenders[f"numba {variant}"] = theirs
        except Exception as error:
            row[f"error {variant}"] = f"{type(error).__name__}: {str(error)[:200]}"
    for name, function in contenders.items():
        spent[name] = row["first"] if "first" in row else took
        with may_raise(name):
            spent[name] = timed(function, kernel.arguments())[0]
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(TURNS):
        for name in random.sample(list(contenders), len(contenders)):
            settle()
            for _ in range(IN_A_ROW):
                # What is slow has fewer turns.
                if not samples[name] or sum(samples[name]) + spent[name] < SECONDS:
                    with may_raise(name):
                        samples[name].append(timed(contenders[name], kernel.arguments())[0])
    row["times"] = {name: statistics.median(times) for name, times in samples.items() if times}
    return row


def in_a_process(arguments: argparse.Namespace, name: str, cores: set[int]) -> dict[str, Any]:
    command = [sys.executable, __file__, str(arguments.checkout), "--preset", arguments.preset, "--one", name]
    command += ["--numba"] if arguments.numba else []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(arguments.checkout), *sys.path])}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {LIMIT} s"}
    if done.returncode:
        return {"error": f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"}
    return json.loads(done.stdout.splitlines()[-1])


def all_rows(arguments: argparse.Namespace, names: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The kernels as they are done: one after the other, or so many at once, each with two cores of its own."""
    cores = sorted(os.sched_getaffinity(0))
    at_once = arguments.at_once
    free: queue.SimpleQueue[set[int]] = queue.SimpleQueue()
    for k in range(at_once):
        free.put(set(cores if at_once == 1 else cores[2 * k : 2 * k + 2]))

    def one(name: str) -> tuple[str, dict[str, Any]]:
        mine = free.get()
        row = in_a_process(arguments, name, mine)
        free.put(mine)
        return name, row

    with futures.ThreadPoolExecutor(at_once) as pool:
        for done in futures.as_completed([pool.submit(one, name) for name in names]):
            yield done.result()


def line(name: str, row: dict[str, Any]) -> str:
    times = row.get("times", {})
    mine, plain = times.get("weft"), times.get("numpy")
    theirs = min((t for n, t in times.items() if n.startswith("numba")), default=None)
    said = ["ok" if row.get("valid") else "WRONG" if "valid" in row else "refused"]
    said.append(f"{plain * 1e3:10.2f}" if plain else f"{'':10}")
    said.append(f"{mine * 1e3:10.2f}" if mine else f"{'':10}")
    said.append(f"{plain / mine:8.2f}" if mine and plain else f"{'':8}")
    said.append(f"{theirs / mine:8.2f}" if mine and theirs else f"{'':8}")
    said.append(f"{row['first'] * 1e3:9.0f}" if "first" in row else f"{'':9}")
    error = " ".join(row.get("error", "").split())[:150]
    return f"{name:25} {said[0]:8}{' '.join(said[1:])}  {error}".rstrip()


HEAD = f"{'kernel':25} {'':8}{'NumPy ms':>10} {'Weft ms':>10} {'× NumPy':>8} {'× Numba':>8} {'first ms':>9}"


def summary(rows: dict[str, dict[str, Any]]) -> str:
    def mean(ratios: list[float]) -> str:
        return f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}" if ratios else "-"

    times = [row["times"] for row in rows.values() if row.get("valid")]
    over_numpy = [t["numpy"] / t["weft"] for t in times]
    best = [min((v for n, v in t.items() if n.startswith("numba")), default=None) for t in times]
    over_numba = [b / t["weft"] for b, t in zip(best, times) if b]
    firsts = [row["first"] * 1e3 for row in rows.values() if row.get("valid")]
    middle, most = (f"{statistics.median(firsts):.0f}", f"{max(firsts):.0f}") if firsts else ("-", "-")
    return (
        f"{len(times)} of {len(rows)} valid; geometric mean over NumPy {mean(over_numpy)}, over Numba's best "
        f"{mean(over_numba)} ({sum(r < 0.95 for r in over_numba)} below 0.95); first call {middle} ms in the median, "
        f"{most} at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--preset", default="S")
    parser.add_argument("--only", help="names of kernels, with commas")
    parser.add_argument("--numba", action="store_true")
    parser.add_argument("--at-once", type=int, default=1, help="kernels measured beside each other, on two cores each")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--framework", action="store_true", help="add Weft to NPBench's own frameworks, and end")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not 1 <= arguments.at_once <= max(1, len(os.sched_getaffinity(0)) // 2):
        parser.error("--at-once asks for two cores for each kernel")
    if not (arguments.checkout / "bench_info").is_dir():
        parser.error(f"{arguments.checkout} is no checkout of NPBench: it has no folder bench_info")
    if arguments.framework:
        add_framework(arguments.checkout)
        return
    if arguments.one:
        with contextlib.redirect_stdout(io.StringIO()):
            row = measure(Kernel(arguments.checkout, arguments.one, arguments.preset), arguments.numba)
        print(json.dumps(row))
        return
    names = sorted(path.stem for path in (arguments.checkout / "bench_info").glob("*.json"))
    rows: dict[str, dict[str, Any]] = {}
    text = [HEAD]
    print(HEAD)
    start, lost = time.perf_counter(), stolen()
    for name, row in all_rows(arguments, arguments.only.split(",") if arguments.only else names):
        rows[name] = row
        text.append(line(name, row))
        print(text[-1], flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps({"preset": arguments.preset, "kernels": rows}, indent=1))
    text.append(summary(rows))
    share = (stolen() - lost) / (time.perf_counter() - start) / (os.cpu_count() or 1)
    text[-1] += f"; others had {share:.1%} of the cores"
    print(text[-1])
    if arguments.table:
        arguments.table.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
