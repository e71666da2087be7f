"""Random whole programs on and on; `tests/fuzz.py` runs this as its way `programs`.

    python tests/programs/fuzz_programs.py --seconds 60 [--seed 12345] [--keep-going] [--coverage] [--without mask]

What is found is shown once for each kind, made small, with the seed that makes it again. It is a process of its own
because it forks: the children must not inherit threads.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from covered import Coverage
from driver import hunt, reduce
from grammar import make

import weft


def fuzz(seconds: float, first: int, count: int, keep_going: bool, without: frozenset[str], coverage: bool) -> int:
    """Runs programs for so many seconds, or so many programs; how many were wrong."""
    kinds: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    shown: set[tuple[str, str, str]] = set()
    table = Coverage()
    seed = first
    for seed, outcome in hunt(first, seconds, count, without):
        kinds[outcome.kind] += 1
        if coverage:
            table.add(make(seed, without))
        if outcome.kind == "refused":
            refusals[outcome.detail] += 1
        if not outcome.wrong or outcome.signature in shown:
            continue
        shown.add(outcome.signature)
        program, outcome = reduce(make(seed, without), outcome)
        print(f"--way programs --seed {seed}: {outcome.kind}: {outcome.text}\n\n{program.text}\n", flush=True)
        if not keep_going:
            break
    if coverage:
        print(table.table())
    for detail, count in refusals.most_common():
        print(f"{count:6} refused: {detail}")
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    print(f"{sum(kinds.values())} whole programs, seeds {first} to {seed}: {counts}")
    good = ("same", "deviation", "slow", "refused")
    return sum(count for kind, count in kinds.items() if kind not in good)


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() // 1_000_000)
    parser.add_argument("--count", type=int, default=10**9, help="at most so many programs")
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--coverage", action="store_true", help="print what the programs were made of, and what ran")
    parser.add_argument("--without", action="append", default=[], help="a part of the grammar to leave out")
    parser.add_argument("--optimise", action="store_true", help="optimise what is compiled: a quarter as many programs")
    options = parser.parse_args()
    weft.config.optimise = options.optimise
    without = frozenset(options.without)
    wrong = fuzz(options.seconds, options.seed, options.count, options.keep_going, without, options.coverage)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
