"""What all benchmarks share: a result and its budget, ways to measure, and the machine in words.

Figures are medians with their quartiles. Contenders are run in turns, in a random order, and compared turn by turn.
Work of one thread is measured in CPU time, of all threads of the process, so that nobody hides work in another one:
on a quiet machine that is the time a clock shows, and on a busy one it leaves out the waiting.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


@dataclass
class Result:
    """One figure: the median of what was measured, its quartiles, and what was promised."""

    name: str
    value: float
    unit: str
    low: float
    high: float
    samples: int
    at_most: float | None = None
    at_least: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the budget holds; None where there is none."""
        if self.at_most is not None:
            return self.value <= self.at_most
        if self.at_least is not None:
            return self.value >= self.at_least
        return None


def result(name: str, unit: str, samples: Sequence[float], scale: float = 1.0, **budget: float) -> Result:
    """The median and the quartiles of some samples, times `scale`."""
    values = [sample * scale for sample in samples]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return Result(name, middle, unit, low, high, len(values), **budget)


def ratios(over: Sequence[float], under: Sequence[float]) -> list[float]:
    """Turn by turn, how many times longer the first took."""
    return [a / b for a, b in zip(over, under)]


def seconds(run: Callable[[], Any], calls: int = 1) -> float:
    """The CPU time of one of `calls` calls."""
    start = time.process_time()
    for _ in range(calls):
        run()
    return (time.process_time() - start) / calls


def settle() -> None:
    """Waits until no thread of this process computes: those of a BLAS spin for a tenth of a second after a call."""
    for _ in range(100):
        start = time.process_time()
        time.sleep(0.01)
        if time.process_time() - start < 0.002:
            return


def turns(contenders: Mapping[str, Callable[[], Any]], rounds: int, calls: int = 1) -> dict[str, list[float]]:
    """Times of each contender, by name, one for each round; the order changes from round to round."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for run in contenders.values():
        seconds(run, min(calls, 3))  # compiles, and fills caches
    order = list(contenders)
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            samples[name].append(seconds(contenders[name], calls))
    return samples


def in_fresh_process(script: str, **environment: str) -> dict[str, float]:
    """Runs a Python program whose last line of output is a JSON object, and returns that.

    NumPy's BLAS gets no threads: they spin for a while after the import, which would count as CPU time of what follows.
    """
    env = {**os.environ, "WEFT_CACHE": "0", "OPENBLAS_NUM_THREADS": "1", **environment}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(f"a benchmark's process failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def collect(runs: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Several objects with the same keys, as one object of lists."""
    return {key: [run[key] for run in runs] for key in runs[0]}


def version(package: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def machine() -> dict[str, Any]:
    """Where and on what the figures were measured."""
    import numpy
    import weft

    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "numba": version("numba"),
        "weft": weft.__version__,
        "commit": _commit(),
        "date": datetime.date.today().isoformat(),
    }


def number(value: float) -> str:
    """Three digits that matter."""
    return f"{value:.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f}"


def _row(r: Result) -> list[str]:
    spread = f"{number(r.low)} to {number(r.high)}" if r.samples > 1 else ""
    promised = f"≤ {r.at_most:g}" if r.at_most is not None else f"≥ {r.at_least:g}" if r.at_least is not None else ""
    return [r.name, number(r.value), r.unit, spread, promised, {True: "met", False: "MISSED", None: ""}[r.met]]


def table(results: Sequence[Result]) -> str:
    """The results as aligned text."""
    rows = [["benchmark", "median", "", "quartiles", "budget", ""], *map(_row, results)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows.insert(1, ["─" * width for width in widths])
    aligned = ([c.rjust(w) if k == 1 else c.ljust(w) for k, (c, w) in enumerate(zip(row, widths))] for row in rows)
    return "\n".join("  ".join(row).rstrip() for row in aligned)


def write(path: Path, about: Mapping[str, Any], results: Sequence[Result]) -> None:
    """Writes the machine and the results as JSON, making folders on the way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {"machine": about, "results": [{**asdict(r), "met": r.met} for r in results]}
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
