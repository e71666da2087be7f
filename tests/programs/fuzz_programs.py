"""Random whole programs on and on; `tests/fuzz.py` runs this as its way `programs`.

    python tests/programs/fuzz_programs.py --seconds 60 [--seed 12345] [--count 1000] [--workers 16] [--out folder]
                                           [--keep-going] [--coverage] [--third] [--calls 1] [--without mask]
                                           [--device opencl]

What is found is shown once for each kind, made small, with the seed that makes it again. With `--out`, the counts and
the coverage are written to `results.json` in that folder, and each small program to a file beside it; nothing that is
found ends the run then. With `--third`, the reference interpreter runs each program too, and a difference is told
apart: made by `infer`, or after it. It is a process of its own because it forks: the children must not inherit threads.
"""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

# Programs are small: many threads in each of many processes would only be in each other's way.
os.environ.setdefault("WEFT_NUM_THREADS", "2")

from third import INTERPRETER
from workers import Hunt

import weft


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() // 1_000_000)
    parser.add_argument("--count", type=int, default=10**9, help="at most so many programs")
    parser.add_argument("--workers", type=int, default=1, help="processes at once")
    parser.add_argument("--out", type=Path, help="a folder for results.json and the small programs")
    parser.add_argument("--keep-going", action="store_true", help="do not end with the first difference")
    parser.add_argument("--coverage", action="store_true", help="print what the programs were made of, and what ran")
    parser.add_argument("--calls", type=int, default=3, help="of each program; fewer calls are fewer compilations")
    parser.add_argument("--third", action="store_true", help="have the reference interpreter run each program as well")
    parser.add_argument("--without", action="append", default=[], help="a part of the grammar to leave out")
    parser.add_argument("--optimise", action="store_true", help="optimise what is compiled: a quarter as many programs")
    parser.add_argument("--device", help="programs of `offloaded.py`, in the context of this device")
    asked = parser.parse_args()
    if asked.third and not INTERPRETER.exists():
        parser.error(f"the reference interpreter is not built: {INTERPRETER.name}, by `make build`")
    return asked


def main() -> int:
    """Runs the command line."""
    asked = options()
    weft.config.optimise = asked.optimise
    on = asked.keep_going or asked.out is not None
    measured = asked.coverage or asked.out is not None
    without = frozenset(asked.without)
    hunt = Hunt(
        asked.seed,
        asked.count,
        asked.seconds,
        asked.workers,
        without,
        measured,
        on,
        asked.third,
        asked.calls,
        asked.device,
    )
    hunt.run(lambda text: print(text, flush=True))
    if measured:
        print(hunt.coverage.table())
        print("\nnever executed:", ", ".join(hunt.coverage.missing()) or "nothing", "\n")
    for detail, count in sorted(hunt.details.get("refused", {}).items(), key=lambda item: -item[1]):
        print(f"{count:6} refused: {detail}")
    for said, count in hunt.interpreted.most_common():
        print(f"{count:6} by the interpreter: {said}")
    if asked.out:
        hunt.save(asked.out)
    print(hunt.summary())
    return 1 if hunt.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
