"""Our own set of kernels (`kernel_functions.py`) against NumPy, Numba (serial, parallel, fastmath), JAX and NumExpr.

    python benchmarks/kernels.py [--only a,b] [--json kernels.json] [--picture kernels.svg]

Peers that are not installed are left out. All contenders of a kernel run in one process, in turns whose order is
random, on all cores, by the clock; a turn begins when no thread of the process computes any more. Results are compared
with NumPy's, or for loops with Numba's. Figures are medians with quartiles.
"""

import argparse
import importlib
import inspect
import json
import math
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kernel_functions
import numpy as np
import weft
from measure import Result, machine, number, result, settle, table

ROUNDS = 9
LEAST = 0.02  # seconds of a turn
Contender = Callable[..., Any]


def numba_variants(function: Contender) -> dict[str, Contender]:
    try:
        import numba
    except ImportError:
        return {}
    options: dict[str, dict[str, bool]] = {"": {}, " parallel": {"parallel": True}, " fastmath": {"fastmath": True}}
    return {f"Numba{name}": numba.njit(**flags)(function) for name, flags in options.items()}


def in_jax(function: Contender) -> Contender | None:
    """The same source with JAX's NumPy. Functions that write into arrays are not for it."""
    source = inspect.getsource(function)
    if "] = " in source or "steps" in source:
        return None
    try:
        jax = importlib.import_module("jax")
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    names: dict[str, Any] = {"np": jax.numpy, "math": math}
    exec(source, names)
    compiled = jax.jit(names[function.__name__])
    return lambda *arguments: jax.block_until_ready(compiled(*arguments))


def in_numexpr(function: Contender) -> Contender | None:
    text = kernel_functions.NUMEXPR.get(function.__name__)
    try:
        numexpr = importlib.import_module("numexpr")
    except ImportError:
        return None
    names = list(inspect.signature(function).parameters)
    return text and (lambda *arguments: numexpr.evaluate(text, dict(zip(names, arguments))))


def contenders(function: Contender, arrays: bool) -> dict[str, Contender]:
    found: dict[str, Contender | None] = {"NumPy": function if arrays else None, "Weft": weft.njit(function)}
    found |= numba_variants(function)
    if arrays:
        found |= {"JAX": in_jax(function), "NumExpr": in_numexpr(function)}
    return {name: run for name, run in found.items() if run is not None}


def checked(runs: dict[str, Contender], arguments: tuple[Any, ...]) -> dict[str, Contender]:
    """Those that give the first one's values; a peer that cannot run a kernel is left out."""
    wanted = None
    kept = {}
    for name, run in sorted(runs.items(), key=lambda item: item[0] not in ("NumPy", "Numba")):
        try:
            found = run(*arguments)
        except Exception as error:
            if name == "Weft":
                raise
            print(f"  {name}: {type(error).__name__}", flush=True)
            continue
        parts = found if isinstance(found, tuple) else (found,)
        if wanted is None:
            wanted = parts
        # Fastmath may give other numbers.
        for a, b in zip(parts, wanted, strict=True) if "fastmath" not in name else ():
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
        kept[name] = run
    return kept


def measured(runs: dict[str, Contender], arguments: tuple[Any, ...]) -> dict[str, list[float]]:
    def seconds(run: Contender, calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            run(*arguments)
        return (time.perf_counter() - start) / calls

    calls = {name: max(1, math.ceil(LEAST / max(seconds(run, 1), 1e-7))) for name, run in runs.items()}
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name in random.sample(list(runs), len(runs)):
            settle()
            samples[name].append(seconds(runs[name], calls[name]))
    return samples


def kernel(function: Contender, make: Callable[[], tuple[Any, ...]], arrays: bool) -> dict[str, list[float]]:
    arguments = make()
    return measured(checked(contenders(function, arrays), arguments), arguments)


def rows(name: str, samples: dict[str, list[float]]) -> list[Result]:
    ours = samples["Weft"]
    made = [result(f"{name}: Weft", "ms", ours, 1e3)]
    made += [
        result(f"{name}: {peer}'s time / ours", "×", [a / b for a, b in zip(times, ours)])
        for peer, times in samples.items()
        if peer != "Weft"
    ]
    return made


def means(everything: dict[str, dict[str, list[float]]]) -> list[Result]:
    """Geometric means over the kernels that a peer runs; and over the best of Numba's variants."""
    middle = {k: {p: statistics.median(t) for p, t in samples.items()} for k, samples in everything.items()}
    for times in middle.values():
        numba = [t for p, t in times.items() if p.startswith("Numba")]
        times |= {"Numba's best": min(numba)} if numba else {}
    peers = sorted({p for times in middle.values() for p in times} - {"Weft"})
    made = []
    for peer in peers:
        logs = [math.log(times[peer] / times["Weft"]) for times in middle.values() if peer in times]
        made.append(result(f"geometric mean of {len(logs)}: {peer}", "×", [math.exp(statistics.fmean(logs))]))
    return made


COLOURS = {"NumPy": "#8a8f98", "Numba": "#e0a030", "JAX": "#7a5ac0", "NumExpr": "#4a90b8"}


def picture(everything: dict[str, dict[str, list[float]]], about: dict[str, Any]) -> str:
    """How many times longer each peer takes than Weft, on a logarithmic scale, as SVG."""
    left, width, line = 190, 640, 26
    low, high = math.log10(0.3), math.log10(60)

    def at(ratio: float) -> float:
        return left + width * (min(max(math.log10(ratio), low), high) - low) / (high - low)

    height = line * len(everything) + 96
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {height}" font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        '<text x="12" y="24" font-size="16" fill="#222">How many times longer than Weft</text>',
    ]
    place = 300
    for peer, colour in COLOURS.items():
        out.append(f'<circle cx="{place}" cy="19" r="5" fill="{colour}"/>')
        out.append(f'<text x="{place + 10}" y="24" font-size="13" fill="#222">{peer}</text>')
        place += 95
    bottom = 44 + line * len(everything)
    for tick in (0.5, 1, 2, 5, 10, 20, 50):
        colour = "#222" if tick == 1 else "#ddd"
        out.append(f'<line x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="40" y2="{bottom}" stroke="{colour}"/>')
        text = (
            f'<text x="{at(tick):.1f}" y="{bottom + 16}" font-size="12" fill="#444" text-anchor="middle">{tick}×</text>'
        )
        out.append(text)
    for k, (name, samples) in enumerate(everything.items()):
        y = 44 + line * k + line / 2
        label = name.replace("_", " ")
        out.append(f'<text x="{left - 10}" y="{y + 4:.0f}" font-size="13" fill="#222" text-anchor="end">{label}</text>')
        ours = statistics.median(samples["Weft"])
        best: dict[str, float] = {}
        for peer, times in samples.items():
            family = peer.split()[0]
            if family != "Weft":
                best[family] = min(best.get(family, math.inf), statistics.median(times) / ours)
        for family, ratio in best.items():
            out.append(f'<circle cx="{at(ratio):.1f}" cy="{y:.0f}" r="5" fill="{COLOURS[family]}"/>')
    where = f"{about['cpu']}, {about['cores']} cores"
    what = f"{where}; NumPy {about['numpy']}, Numba {about['numba']} (best variant); {about['date']}"
    out += [f'<text x="12" y="{height - 12}" font-size="12" fill="#666">{what}</text>', "</svg>"]
    return "\n".join(out) + "\n"


def run(only: str | None = None, picture_at: Path | None = None, json_at: Path | None = None) -> list[Result]:
    chosen = only.split(",") if only else None
    everything = {}
    for kernels, arrays in ((kernel_functions.ARRAYS, True), (kernel_functions.LOOPS, False)):
        for function, make in kernels:
            if chosen is None or function.__name__ in chosen:
                print(f"  {function.__name__}", flush=True)
                everything[function.__name__] = kernel(function, make, arrays)
    about = machine()
    if picture_at:
        picture_at.write_text(picture(everything, about))
    if json_at:
        json_at.write_text(json.dumps({"machine": about, "seconds": everything}, indent=1) + "\n")
    return [row for name, samples in everything.items() for row in rows(name, samples)] + means(everything)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="names of kernels, with commas")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    results = run(options.only, options.picture, options.json)
    print(table(results))
    numba = [r for r in results if "Numba's best" in r.name]
    print(f"\nNumba's best takes {number(numba[0].value)} times as long" if numba else "\nNumba is not installed")


if __name__ == "__main__":
    main()
