"""Runs another compiler's own tests against Weft, from a checkout beside the project.

    python scripts/outside/run.py CHECKOUT [--only PART] [--twin] [--device opencl] [--seconds 60] [--to results.jsonl]

Each test file has a process of its own; a test that ends or hangs it is noted, and the file goes on with the next.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FILES = ("numba/tests/test_*.py", "numba/tests/npyufunc/test_*.py", "numba/tests/doc_examples/test_*.py",
         "numba_mlir/numba_mlir/mlir/tests/test_*.py")  # fmt: skip


def records(log: Path) -> list[dict]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def run_file(file: Path, log: Path, options: argparse.Namespace) -> None:
    """Runs a file until each of its tests has a verdict."""
    environment = dict(os.environ)
    environment.update(
        WEFT_OUTSIDE_CHECKOUT=str(options.checkout),
        WEFT_OUTSIDE_LOG=str(log),
        WEFT_OUTSIDE_SECONDS=str(options.seconds),
        WEFT_OUTSIDE_TWIN="1" if options.twin else "",
        WEFT_OUTSIDE_PARALLEL="1" if options.parallel else "",
        PYTHONPATH=os.pathsep.join(map(str, [HERE / "shim", HERE, ROOT / "python", *options.path])),
        PYTHONDONTWRITEBYTECODE="1",
        PY_IGNORE_IMPORTMISMATCH="1",
        NUMBA_MLIR_ENABLE_GPU_TESTS="1",
        WEFT_VERIFY="1",
        WEFT_OPENCL_DIR=str(ROOT / ".venv" / "lib"),
        OMP_NUM_THREADS="1",
    )
    if options.device:
        environment["WEFT_OUTSIDE_DEVICE"] = options.device
    command = [sys.executable, "-X", "faulthandler", "-m", "pytest", "-q", "--assert=plain", "-p", "verdicts",
               "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={options.checkout}", "-W", "ignore",
               "-p", "no:unraisableexception", "-p", "no:threadexception", "--tb=no",
               "--no-header", "-s", str(file)]  # fmt: skip
    while True:
        output = log.with_suffix(".out")
        with output.open("w") as stream:
            status = subprocess.run(command, env=environment, cwd="/tmp", stdout=stream, stderr=subprocess.STDOUT)
        last = (records(log) or [{}])[-1]
        if last.get("verdict") != "began":
            if status.returncode not in (0, 1, 2, 5):
                write(log, test=f"{file.name}", verdict="crash", text=output.read_text()[-3000:])
            return
        text = output.read_text()
        hang = "Timeout (" in text
        start = text.find("Timeout (" if hang else "Fatal Python error")
        write(log, test=last["test"], verdict="hang" if hang else "crash",
              text=f"status {status.returncode}: {text[start:][:3000] if start >= 0 else text[-300:]}")  # fmt: skip


def write(log: Path, **record: object) -> None:
    with log.open("a") as file:
        file.write(json.dumps(record) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", action="append", default=[], help="files whose names have this part")
    parser.add_argument("--twin", action="store_true", help="do each call in CPython too, and compare all of it")
    parser.add_argument("--device", help="make each call inside a context of this device (with --twin)")
    parser.add_argument("--parallel", action="store_true", help="all parallel work goes to threads, however little")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--path", action="append", default=[], help="more folders with packages that the tests import")
    parser.add_argument("--to", type=Path, default=Path("outside.jsonl"))
    options = parser.parse_args()
    options.checkout = options.checkout.resolve()
    options.to = options.to.resolve()
    total: collections.Counter[str] = collections.Counter()
    options.to.write_text("")
    files = sorted({file for pattern in FILES for file in options.checkout.glob(pattern)})
    for file in files:
        if options.only and not any(part in file.name for part in options.only):
            continue
        log = options.to.with_name(f"{options.to.stem}-{file.stem}.log")
        log.unlink(missing_ok=True)
        run_file(file, log, options)
        found = [record for record in records(log) if record["verdict"] != "began"]
        counts = collections.Counter(record["verdict"] for record in found)
        total += counts
        with options.to.open("a") as stream:
            stream.writelines(json.dumps({"file": file.name, **record}) + "\n" for record in found)
        log.unlink(missing_ok=True)
        log.with_suffix(".out").unlink(missing_ok=True)
        print(f"{file.name}: " + ", ".join(f"{count} {word}" for word, count in counts.most_common()), flush=True)
    print("all: " + ", ".join(f"{count} {word}" for word, count in total.most_common()))


if __name__ == "__main__":
    main()
