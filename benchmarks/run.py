"""The benchmarks that need no GPU: `python benchmarks/run.py --json FILE [--only NAME]`.

Prints a table, and writes the figures with a description of the machine as JSON. Each benchmark is a module of this
folder whose `run()` returns results. They run in a random order and are shown in the one below.
"""

import argparse
import random
import sys
from pathlib import Path

import calls
import compiling
import elementwise
import importing
import language
import products
import runtime
import threads
import wheel
from measure import Result, machine, table, write

BENCHMARKS = {
    "import": importing.run,
    "compile": compiling.run,
    "elementwise": elementwise.run,
    "calls": calls.run,
    "language": language.run,
    "products": products.run,
    "runtime": runtime.run,
    "threads": threads.run,
    "wheel": wheel.run,
}


def main() -> int:
    parser = argparse.ArgumentParser(description="The benchmarks that need no GPU.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the figures")
    parser.add_argument("--only", choices=BENCHMARKS, metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}")
    options = parser.parse_args()

    about = machine()
    print(", ".join(f"{key} {value}" for key, value in about.items()), flush=True)
    names = [options.only] if options.only else random.sample(list(BENCHMARKS), len(BENCHMARKS))
    done: dict[str, list[Result]] = {}
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        done[name] = BENCHMARKS[name]()
    results = [r for name in BENCHMARKS for r in done.get(name, [])]
    print(f"\n{table(results)}")
    if options.json:
        write(options.json, about, results)
        print(f"\nwritten to {options.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
