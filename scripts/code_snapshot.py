"""The text of every compiler stage of a fixed list of functions, to see what a change of the compiler changes in them.

    python scripts/code_snapshot.py before                     # one file for each function, device and stage
    python scripts/code_snapshot.py after --compare before     # which functions and stages differ; exit status 1 if any
    python scripts/code_snapshot.py after --only 'corpus/.*' --npbench CHECKOUT

The functions are those of `tests/corpus`, of `benchmarks/kernel_functions.py`, `language_functions.py` and `spelled/`,
and with `--npbench` those of a checkout of spcl/npbench. Each is called with its arguments, on the host and inside a
device context, and each specialisation that this makes is written down. So are calls that are refused or raise: a
snapshot shows what became possible. The text is the same at each run of the same build on the same kind of machine;
`about.json` says which that was.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import io
import json
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "corpus"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import measure
import weft

ROOT = Path(__file__).resolve().parents[1]
STAGES = ("py", "ntensor", "placed", "fused", "loops", "llvm")
DEVICE_STAGES = ("spirv", "ptx")
ABOUT = "about.json"
# What the text depends on.
MACHINE = ("cpu", "cores", "numpy", "python")


@dataclass
class Program:
    """A function as it is, what makes it Weft's, and the arguments to call it with, fresh at each call."""

    name: str
    make: Callable[[], Callable[..., Any]]
    arguments: list[Callable[[], Iterable[Any]]]


def jitted(name: str, function: Callable[..., Any], *makers: Callable[[], Iterable[Any]]) -> Program:
    return Program(name, lambda: weft.njit(function), list(makers))


def programs() -> Iterator[Program]:
    """Everything that this repository has."""
    from _case import CASES

    import kernel_functions
    import language_functions
    from spelled import KERNELS

    for path in sorted((ROOT / "tests" / "corpus").glob("corpus_*.py")):
        importlib.import_module(path.stem)
    for case in CASES:
        folder = case.function.__module__.removeprefix("corpus_")
        yield jitted(f"corpus/{folder}/{case.function.__name__}", case.function, *case.makers)
    for function, make in kernel_functions.ARRAYS + kernel_functions.LOOPS:
        yield jitted(f"kernels/{function.__name__}", function, make)
    for case in language_functions.CASES + language_functions.ARRAY_CASES:
        yield jitted(f"language/{case.function.__name__}", case.function, case.arguments)
    for kernel in KERNELS:
        for spelling in kernel.spellings:
            yield jitted(
                f"spelled/{spelling.name}", spelling.function, lambda kernel=kernel: kernel.make(*kernel.small)
            )


def npbench(checkout: Path) -> Iterator[Program]:
    """The kernels of a checkout of NPBench. What needs packages that are not installed is left out."""
    from on_npbench import Kernel

    sys.path.insert(0, str(checkout))
    for path in sorted((checkout / "bench_info").glob("*.json")):
        try:
            kernel = Kernel(checkout, path.stem, "S")
        except ImportError as error:
            print(f"npbench/{path.stem} is left out: {error}", file=sys.stderr)
            continue
        yield Program(f"npbench/{path.stem}", kernel.weft, [lambda kernel=kernel: kernel.arguments().values()])


def relative(text: str) -> str:
    """Nothing in a snapshot depends on where the checkout lies."""
    return text.replace(f"{ROOT}{os.sep}", "")


def stage(function: Any, name: str, index: int) -> str:
    try:
        return function.inspect(name, index)
    except ValueError as why:
        return f"{why}\n"


def texts(program: Program, device: str | None) -> dict[str, str]:
    """What one program is compiled to, by the ends of the names of files."""
    function = program.make()
    found: dict[str, str] = {}
    with contextlib.ExitStack() as around:
        around.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        if device:
            around.enter_context(weft.device_context(device))
        for turn, make in enumerate(program.arguments):
            try:
                function(*make())
            except Exception as error:
                found[f"call{turn}.raised"] = relative(f"{type(error).__name__}: {error}\n")
    for index in range(len(function.specializations)):
        for name in STAGES + (DEVICE_STAGES if device else ()):
            found[f"{index}.{name}"] = relative(stage(function, name, index))
    return found


def chosen(arguments: argparse.Namespace) -> list[Program]:
    everything = list(programs())
    if arguments.npbench:
        everything += npbench(arguments.npbench)
    return [p for p in everything if arguments.only is None or re.fullmatch(arguments.only, p.name)]


def write(folder: Path, arguments: argparse.Namespace) -> None:
    """Writes the snapshot. Workers do it, of which one that dies is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty")
    (folder / ABOUT).write_text(json.dumps(measure.machine(), indent=1, ensure_ascii=False) + "\n")
    for device in arguments.devices:
        if not weft.devices(device):
            raise SystemExit(f"there is no device for {device!r}: `python -m weft doctor` says why")
    start = time.perf_counter()
    names = [program.name for program in chosen(arguments)]
    with futures.ThreadPoolExecutor(arguments.jobs) as pool:
        parts = [names[k :: arguments.jobs] for k in range(arguments.jobs)]
        for done in [pool.submit(written, folder, part, arguments) for part in parts]:
            done.result()
    count = sum(path.is_file() for path in folder.rglob("*")) - 1
    print(f"{count} texts of {len(names)} functions in {time.perf_counter() - start:.0f} s")


def written(folder: Path, names: list[str], arguments: argparse.Namespace) -> None:
    """Has the texts of these programs written. A program at which a worker dies has a file that says so."""
    waiting = [(name, device) for name in names for device in arguments.devices]
    while waiting:
        command = [sys.executable, __file__, str(folder), "--worker"]
        command += ["--npbench", str(arguments.npbench)] if arguments.npbench else []
        worker = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert worker.stdin and worker.stdout
        worker.stdin.write("".join(f"{name} {device}\n" for name, device in waiting))
        worker.stdin.close()
        for line in worker.stdout:
            name, device, took = line.split()
            assert (name, device) == waiting.pop(0)
            if arguments.verbose:
                print(f"{name} {device} {took} s", flush=True)
        if status := worker.wait():
            (name, device), *waiting = waiting
            print(f"{name} {device} ends the process with status {status}", flush=True)
            save(folder, name, device, {"0.crashed": f"status {status}\n"})


def save(folder: Path, name: str, device: str, found: dict[str, str]) -> None:
    for end, text in found.items():
        path = folder / f"{name}.{device}.{end}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def work(folder: Path, arguments: argparse.Namespace) -> None:
    """A worker: reads programs and devices, a line each, and says when one is done."""
    waiting = [line.split() for line in sys.stdin]
    known = {program.name: program for program in chosen(arguments)}
    for name, device in waiting:
        begun = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            found = texts(known[name], None if device == "native" else device)
        save(folder, name, device, found)
        print(name, device, f"{time.perf_counter() - begun:.2f}", flush=True)


def without_places(text: str) -> str:
    """Without what says where in the source an op comes from."""
    return re.sub(r" @\d+:\d+", "", text)


def compare(old: Path, new: Path, arguments: argparse.Namespace) -> int:
    """Says what differs; how many functions."""

    def files(folder: Path) -> set[str]:
        found = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        return {
            name
            for name in found
            if name != ABOUT and (not arguments.only or re.fullmatch(arguments.only, name.split(".")[0]))
        }

    before, after = (json.loads((folder / ABOUT).read_text()) for folder in (old, new))
    for key in MACHINE:
        if before[key] != after[key]:
            print(f"note: {key} was {before[key]!r} and is {after[key]!r}, which LLVM's text may show")
    differing: dict[str, list[str]] = {}
    for name in sorted(files(old) | files(new)):
        function, place, index, what = name.split(".")
        paths = old / name, new / name
        here = [path.exists() for path in paths]
        if not all(here):
            said = "is new" if here[1] else "is gone"
        else:
            a, b = (path.read_text() for path in paths)
            if a == b:
                continue
            said = "differs" if without_places(a) != without_places(b) else "differs in places in the source alone"
            lines = [text.count("\n") for text in (a, b)]
            if lines[0] != lines[1]:
                said += f", {lines[0]} lines before, {lines[1]} now"
            if arguments.diff:
                said += "\n" + "".join(
                    difflib.unified_diff(a.splitlines(True), b.splitlines(True), *map(str, paths), n=arguments.diff)
                )
        differing.setdefault(function, []).append(f"  {place} {index} {what}: {said}")
    for function, lines in differing.items():
        print("\n".join([function, *lines]))
    names = {name.split(".")[0] for name in files(old) | files(new)}
    print(f"{len(differing)} of {len(names)} functions differ")
    return len(differing)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where to write; it is made, or empty")
    parser.add_argument("--compare", type=Path, metavar="DIR", help="an earlier snapshot")
    parser.add_argument("--written", action="store_true", help="the folder has been written already: compare alone")
    parser.add_argument("--diff", type=int, metavar="N", help="show what differs, with N lines around")
    parser.add_argument("--only", metavar="REGEX", help="names of functions, such as corpus/graphs/.*")
    parser.add_argument(
        "--npbench", type=Path, metavar="CHECKOUT", help="add the kernels of a checkout of spcl/npbench"
    )
    parser.add_argument("--devices", default="native,opencl", help="native, opencl, or both with a comma")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="worker processes")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--verbose", action="store_true", help="how long each function takes")
    arguments = parser.parse_args()
    arguments.devices = arguments.devices.split(",")
    if arguments.worker:
        np.seterr(all="ignore")
        work(arguments.folder, arguments)
        return 0
    if not arguments.written:
        write(arguments.folder, arguments)
    if arguments.compare:
        return 1 if compare(arguments.compare, arguments.folder, arguments) else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
