"""The tour (`make demo`): one njit function, one kernel and one tensor expression on every device found.

    python examples/demo.py [folder]

Each result is compared with NumPy's and timed beside it; then a kernel paints a fractal into the folder, or the current
one. Ends with status 1 when a result is wrong.
"""

import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import fractal
import numpy as np
import weft
from weft import tensor

ELEMENTS = 4_000_000
SIDE = 2_000
REPEATS = 7
# Units in the last place: 4 for one function of the vector math library, and some for the chain.
ULPS = 16


@weft.njit
def wave(x, y):
    return np.sin(x) * np.exp(y) + x


@weft.kernel
def heat(new, old):
    i = weft.get_global_id(0)
    j = weft.get_global_id(1)
    new[i, j] = old[i, j]
    if i > 0 and i < weft.get_global_size(0) - 1 and j > 0 and j < weft.get_global_size(1) - 1:
        new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])


def numpy_heat(old: np.ndarray) -> np.ndarray:
    new = old.copy()
    new[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
    return new


class Case(NamedTuple):
    """One computation: what it is, how NumPy does it, and how to make it ready on a device.

    `prepare(device)` returns (run, result): `run()` is timed, `result()` is what it computed, as a NumPy array.
    """

    door: str
    expression: str
    reference: Callable[[], np.ndarray]
    prepare: Callable[[weft.Device], tuple[Callable[[], Any], Callable[[], np.ndarray]]]


def cases() -> list[Case]:
    random = np.random.default_rng(1)
    x, y = random.random(ELEMENTS), random.random(ELEMENTS)
    plate = random.random((SIDE, SIDE))

    def njit(device: weft.Device) -> Any:
        def run() -> np.ndarray:
            with weft.device_context(device):
                return wave(x, y)

        return run, run

    def kernel(device: weft.Device) -> Any:
        old = tensor.asarray(plate, device=device)
        new = tensor.empty(plate.shape, device=device)

        def run() -> None:
            heat[plate.shape](new, old)
            new.queue.wait()

        return run, lambda: tensor.asnumpy(new)

    def expression(device: weft.Device) -> Any:
        u, v = tensor.asarray(x, device=device), tensor.asarray(y, device=device)

        def run() -> np.ndarray:
            return tensor.asnumpy(2 * tensor.sin(u) + v * v - u)

        return run, run

    return [
        Case("njit", "np.sin(x)*np.exp(y) + x", lambda: np.sin(x) * np.exp(y) + x, njit),
        Case("kernel", f"a heat step on {SIDE:,}²", lambda: numpy_heat(plate), kernel),
        Case("tensor", "2*sin(x) + y*y - x", lambda: 2 * np.sin(x) + y * y - x, expression),
    ]


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def median(run: Callable[[], Any]) -> float:
    run()
    return statistics.median(seconds(run) for _ in range(REPEATS))


def ulps(ours: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, in units in the last place of the largest operand it may have cancelled from."""
    if ours.shape != expected.shape or ours.dtype != expected.dtype:
        return float("inf")
    worst = np.max(np.abs(ours - expected) / np.spacing(np.maximum(np.abs(expected), 1.0)))
    return float(worst) if worst == worst else float("inf")


def duration(value: float) -> str:
    unit, scale = ("s ", 1.0) if value >= 1 else ("ms", 1e-3) if value >= 1e-3 else ("µs", 1e-6)
    number = value / scale
    return f"{number:.{0 if number >= 100 else 1 if number >= 10 else 2}f} {unit}"


def table(rows: list[list[str]], right: set[int]) -> str:
    """Rows under a heading; the columns in `right` are numbers."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows = [rows[0], ["─" * width for width in widths], *rows[1:]]

    def line(row: list[str]) -> str:
        cells = (cell.rjust(w) if k in right else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths)))
        return "  " + "  ".join(cells).rstrip()

    return "\n".join(map(line, rows))


def show_devices(devices: list[weft.Device]) -> None:
    rows = [["device", "name", "compute units", "memory"]]
    for device in devices:
        memory = f"{device.global_mem_size / 2**30:.1f} GiB"
        rows.append([device.filter_string, device.name, str(device.max_compute_units), memory])
    print(table(rows, right={2, 3}))
    for report in weft._core.backend_reports():
        if not report["found"]:
            print(f"  no {report['backend']} device: {report['problem']}")


def show_cases(devices: list[weft.Device]) -> bool:
    rows = [["", "computation", "device", "first call", "Weft", "NumPy", "speed-up", "same as NumPy"]]
    fine = True
    for case in cases():
        expected = case.reference()
        theirs = median(case.reference)
        for k, device in enumerate(devices):
            run, result = case.prepare(device)
            first = seconds(run)
            worst = ulps(result(), expected)
            ours = median(run)
            fine &= worst <= ULPS
            verdict = "to the bit" if worst == 0 else f"within {worst:.1f} ulp"
            if worst > ULPS:
                verdict = f"NO: {worst:.3g} ulp"
            name = [case.door, case.expression] if k == 0 else ["", ""]
            times = [duration(first), duration(ours), duration(theirs), f"{theirs / ours:.1f}×"]
            rows.append([*name, device.filter_string, *times, verdict])
    print(table(rows, right={3, 4, 5, 6}))
    return fine


def paint(device: weft.Device, file: Path) -> bool:
    every = 20
    fractal.render(device, 1, 1)  # compiles
    start = time.perf_counter()
    picture = fractal.render(device)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    expected = fractal.reference(every)
    theirs = (time.perf_counter() - start) * every**2
    fractal.write_png(file, picture)
    fine = fractal.agrees(picture[::every, ::every], expected)
    verdict = "they agree" if fine else "THEY DIFFER"
    print(f"  {file}")
    print(f"  {fractal.WIDTH} × {fractal.HEIGHT} by a kernel on {device.filter_string}: {duration(ours).strip()}")
    print(f"  the same with NumPy: {duration(theirs).strip()}, from one pixel in {every**2}, where {verdict}")
    return fine


def main() -> int:
    devices = weft.devices()
    print(f"\nWeft {weft.__version__} on Python {platform.python_version()} and NumPy {np.__version__}\n")
    show_devices(devices)
    doubles = [device for device in devices if device.has_fp64]
    for device in devices:
        if device not in doubles:
            print(f"  {device.filter_string} has no float64, which the rest is about: left out")

    print(f"\nOn {ELEMENTS:,} float64; the median of {REPEATS} calls after the first, which compiles\n")
    fine = show_cases(doubles)
    print("\n  njit: from NumPy arrays and back to one. kernel: arrays stay there. tensor: the result comes back.")

    print("\nA picture\n")
    default = weft.default_device()
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    fine &= paint(default if default in doubles else doubles[0], folder / fractal.FILE)
    print()
    if not fine:
        print("demo: a result differs from NumPy's, see above", file=sys.stderr)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
