"""The same kernel in several spellings (`spelled/`): how many times longer each takes than the kernel's fastest one.

    python benchmarks/spellings.py [--only 'softmax|matrix.*'] [--json spellings.json] [--table spellings.txt]
    python benchmarks/spellings.py --device opencl     # in a device context, with arrays of the host
    python benchmarks/spellings.py --threads 1

Each kernel runs in a process of its own, on all cores, by the clock. Its spellings take turns whose order is random;
times are lower quartiles: what disturbs a turn of 10 ms makes it longer, and never shorter. All must agree with what
NumPy makes of the first. A spelling that is refused is listed, and so is one that is wrong, or one at which the process
dies.

Budget: 90% of the spellings in arrays within 1.3 of the kernel's fastest, and 90% of the loops within 2.5. What may not
be as fast, for the rules on bits or because it asks for more work, is exempt, by a rule that says why and that has a
floor of its own.
"""

import argparse
import contextlib
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import machine, number, result, settle
from spelled import KERNELS, Kernel, Rule, Spelling

ROUNDS = 21
LEAST = 0.01  # seconds of a turn
SECONDS = 1.5  # of measuring, for each spelling
LONG = 5.0  # seconds after which a call is not repeated
LIMIT = 1800  # seconds for a kernel
BUDGET = {True: 1.3, False: 2.5}  # × the fastest, for arrays and for loops
SHARE = 0.9

Row = dict[str, Any]


def agrees(found: Any, wanted: Any) -> bool:
    ours, theirs = (value if isinstance(value, tuple) else (value,) for value in (found, wanted))
    return len(ours) == len(theirs) and all(
        np.shape(a) == np.shape(b)
        and np.asarray(a).dtype == np.asarray(b).dtype
        and np.allclose(a, b, rtol=1e-6, atol=1e-8)
        for a, b in zip(ours, theirs)
    )


def seconds(run: Callable[..., Any], arguments: tuple[Any, ...], calls: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        run(*arguments)
    return (time.perf_counter() - start) / calls


def checked(kernel: Kernel, skipped: list[str], tell: Callable[[Row], None]) -> dict[str, Callable[..., Any]]:
    """The spellings that give the values of NumPy, compiled; what became of the others is told at once."""
    import weft

    wanted = kernel.spellings[0].function(*kernel.make(*kernel.sizes))
    kept = {}
    for spelling in kernel.spellings:
        if spelling.name in skipped:
            continue
        tell({"trying": spelling.name})
        run = weft.njit(spelling.function)
        arguments = kernel.make(*kernel.sizes)
        start = time.perf_counter()
        try:
            found = run(*arguments)
        except weft.errors.CompileError as error:
            tell({"spelling": spelling.name, "refused": str(error).splitlines()[0]})
            continue
        except Exception as error:
            tell({"spelling": spelling.name, "failed": f"{type(error).__name__}: {str(error).splitlines()[0]}"})
            continue
        first = time.perf_counter() - start
        if not agrees(found, wanted):
            tell({"spelling": spelling.name, "failed": "other values than NumPy's"})
            continue
        tell({"spelling": spelling.name, "first": first})
        kept[spelling.name] = run
    return kept


def measured(kernel: Kernel, runs: dict[str, Callable[..., Any]]) -> dict[str, list[float]]:
    arguments = kernel.make(*kernel.sizes)
    once = {name: seconds(run, arguments) for name, run in runs.items()}
    samples: dict[str, list[float]] = {name: [once[name]] if once[name] > LONG else [] for name in runs}
    for _ in range(ROUNDS):
        for name in random.sample(list(runs), len(runs)):
            calls = max(1, math.ceil(LEAST / max(once[name], 1e-7)))
            # What is slow has fewer turns.
            if not samples[name] or (sum(samples[name]) + once[name]) * calls < SECONDS:
                settle()
                samples[name].append(seconds(runs[name], arguments, calls))
    return samples


def one(arguments: argparse.Namespace) -> None:
    """One kernel, in this process, which tells of each step with a line."""
    import weft

    def tell(row: Row) -> None:
        print(json.dumps(row), flush=True)

    if arguments.threads:
        weft.config.num_threads = arguments.threads
    kernel = next(k for k in KERNELS if k.name == arguments.one)
    place = weft.device_context(arguments.device) if arguments.device else contextlib.nullcontext()
    with place:
        runs = checked(kernel, arguments.skip, tell)
        for name, times in measured(kernel, runs).items():
            tell({"spelling": name, "seconds": times})


def in_a_process(kernel: Kernel, options: argparse.Namespace) -> dict[str, Row]:
    """What became of each spelling. Where a process dies of one, the others are begun anew."""
    rows: dict[str, Row] = {}
    skipped: list[str] = []
    while True:
        command = [sys.executable, __file__, "--one", kernel.name]
        command += ["--device", options.device] if options.device else []
        command += ["--threads", str(options.threads)] if options.threads else []
        command += [part for name in skipped for part in ("--skip", name)]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT)
            output, status = done.stdout, done.returncode
        except subprocess.TimeoutExpired as late:
            output, status = (late.stdout or b"").decode(), LIMIT
        trying = None
        for line in output.splitlines():
            row = json.loads(line)
            trying = row.get("trying", trying)
            if "spelling" in row:
                rows.setdefault(row.pop("spelling"), {}).update(row)
        if not status:
            return rows
        if trying is None or trying in skipped or "first" in rows.get(trying, {}):
            raise SystemExit(f"{kernel.name} ends with status {status}")
        rows[trying] = {"failed": f"ends the process with status {status}"}
        skipped.append(trying)


def compared(rows: dict[str, Row]) -> None:
    """Adds the times, and how many times longer than the fastest each is."""
    times = {name: result(name, "ms", row["seconds"], 1e3).low for name, row in rows.items() if row.get("seconds")}
    for name, low in times.items():
        rows[name]["ms"] = low
        rows[name]["ratio"] = low / min(times.values())


def allowed(spelling: Spelling, threads: int) -> float:
    return spelling.exempt.floor(threads) if spelling.exempt else BUDGET[spelling.array]


def line(spelling: Spelling, row: Row, threads: int) -> str:
    kind = "array" if spelling.array else "loops"
    if "ratio" not in row:
        return f"  {spelling.name:36} {kind:6}{'':20}  {row.get('refused') or row.get('failed')}"
    note = f"exempt, {spelling.exempt.name}: ≤ {spelling.exempt.floor(threads):g}" if spelling.exempt else ""
    note += "" if row["ratio"] <= allowed(spelling, threads) else f"{', ' if note else ''}over"
    return f"  {spelling.name:36} {kind:6}{row['ms']:10.3f}{number(row['ratio']):>8} ×  {note}".rstrip()


def lines(kernel: Kernel, rows: dict[str, Row], threads: int) -> list[str]:
    ordered = sorted(kernel.spellings, key=lambda s: rows[s.name].get("ratio", math.inf))
    sizes = " × ".join(map(str, kernel.sizes))
    return [f"{kernel.name} ({sizes})", *(line(s, rows[s.name], threads) for s in ordered)]


def summary(everything: dict[str, dict[str, Row]], threads: int) -> list[str]:
    """How much of the budget holds."""
    said = []
    found = [(s, everything[k.name][s.name]) for k in KERNELS if k.name in everything for s in k.spellings]
    for array, kind in ((True, "in arrays"), (False, "in loops")):
        ratios = [row["ratio"] for s, row in found if s.array is array and not s.exempt and "ratio" in row]
        if not ratios:
            continue
        within = sum(ratio <= BUDGET[array] for ratio in ratios)
        share = within / len(ratios)
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        said.append(
            f"{within} of {len(ratios)} spellings {kind} ({share:.0%}) are within {BUDGET[array]} of the fastest "
            f"(budget {SHARE:.0%}: {'met' if share >= SHARE else 'MISSED'}); geometric mean {number(mean)}, "
            f"at most {number(max(ratios))}"
        )
    exempt = [(s, row["ratio"]) for s, row in found if s.exempt and "ratio" in row]
    over = [f"{s.name} {number(ratio)}" for s, ratio in exempt if ratio > allowed(s, threads)]
    said.append(f"{len(exempt)} exempt, over their floors: {', '.join(over) or 'none'}")
    refused = [s.name for s, row in found if "refused" in row]
    failed = [s.name for s, row in found if "failed" in row]
    said.append(f"refused: {', '.join(refused) or 'none'}; wrong or failed: {', '.join(failed) or 'none'}")
    rules: dict[str, Rule] = {s.exempt.name: s.exempt for s, _ in found if s.exempt}
    said += [f"exempt by the rule of {rule.name}: {rule.why}" for rule in rules.values()]
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="REGEX", help="names of kernels")
    parser.add_argument("--device", help="run in a context of this device, such as opencl")
    parser.add_argument("--threads", type=int, help="how many threads; all cores by themselves")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--skip", action="append", default=[], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options)
        return
    about = machine() | {"device": options.device or "native"}
    threads = options.threads or len(os.sched_getaffinity(0))
    about["threads"] = threads
    text = [", ".join(f"{key} {value}" for key, value in about.items())]
    print(text[0])
    everything: dict[str, dict[str, Row]] = {}
    for kernel in KERNELS:
        if options.only and not re.fullmatch(options.only, kernel.name):
            continue
        rows = in_a_process(kernel, options)
        compared(rows)
        everything[kernel.name] = rows
        text += ["", *lines(kernel, rows, threads)]
        print("\n".join(["", *lines(kernel, rows, threads)]), flush=True)
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps({"machine": about, "kernels": everything}, indent=1) + "\n")
    text += ["", *summary(everything, threads)]
    print("\n".join(["", *summary(everything, threads)]))
    if options.table:
        options.table.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
