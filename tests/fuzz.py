"""`make fuzz`: random programs, also in device contexts, then array expressions, until one differs from NumPy.

    python tests/fuzz.py --seconds 60 [--seed 12345] [--keep-going]
                         [--way programs | offloaded-opencl | njit | tensor-native | …]

Prints each failing program, made small, with the seed that makes it again. Seeds start from the clock.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import weft
from programs import describe, make, run_njit, run_tensor, shrink


def ways() -> dict[str, object]:
    """Every door and device there is here."""
    found = {"njit": run_njit}
    for backend in ("native", "opencl", "cuda"):
        if weft.devices(backend):
            found[f"tensor-{backend}"] = lambda program, backend=backend: run_tensor(program, backend)
            if backend != "native":
                found[f"njit-{backend}"] = lambda program, backend=backend: run_njit(program, backend)
    return found


def whole_programs(options: argparse.Namespace, *more: str) -> int:
    """Runs `programs/fuzz_programs.py`, in a process of its own; its exit status."""
    script = Path(__file__).parent / "programs" / "fuzz_programs.py"
    command = [sys.executable, str(script), "--seconds", str(options.seconds), "--seed", str(options.seed), *more]
    flags = [flag for flag in ("keep_going", "coverage") if getattr(options, flag)]
    return subprocess.run([*command, *(f"--{flag.replace('_', '-')}" for flag in flags)]).returncode


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() // 1_000_000)
    offloaded = {f"offloaded-{d.backend}": d.filter_string for d in weft.devices()}
    parser.add_argument("--way", choices=["programs", *offloaded, *ways()], action="append")
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--coverage", action="store_true", help="of the whole programs")
    options = parser.parse_args()
    wrong = 0
    processes = {"programs": ["--third"]} | {way: ["--device", device] for way, device in offloaded.items()}
    for way in options.way or processes:
        if way in processes:
            wrong |= whole_programs(options, *processes[way])
            if wrong and not options.keep_going:
                return wrong
    runs = {name: run for name, run in ways().items() if not options.way or name in options.way}
    if not runs:
        return wrong
    end = time.monotonic() + options.seconds
    seed, count, refused, failed = options.seed, 0, 0, 0
    while time.monotonic() < end:
        for name, run in runs.items():
            # Said first: a crash must leave its seed behind.
            print(f"\r{count} programs, seed {seed} ({name})\033[K", end="", file=sys.stderr, flush=True)
            device = not name.endswith(("njit", "native"))
            program = make(seed, options.depth, tensors=name.startswith("tensor"), device=device)
            outcome = run(program)
            count += 1
            refused += outcome.refused
            if not outcome.problem:
                continue
            failed += 1
            small = shrink(program, lambda p, run=run: bool(run(p).problem))
            print(f"\n--seed {seed} --way {name}: {run(small).problem}\n{describe(small)}\n")
            if not options.keep_going:
                return 1
        seed += 1
    print(f"\n{count} programs, {refused} refused, {failed} wrong; seeds {options.seed} to {seed - 1}")
    return 1 if failed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
