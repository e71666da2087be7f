"""`python -m weft devices | doctor`."""

from __future__ import annotations

import platform
import sys

import weft
from weft import _core


def _size(count: int) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count = count / 1024  # type: ignore[assignment]
    raise AssertionError("the loop returns")


def _table(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def devices() -> int:
    """Prints a line for each device; the default one is marked."""
    default = weft.default_device()
    rows = [["", "device", "name", "memory", "units", "fp64", "driver"]]
    for device in weft.devices():
        rows.append(
            [
                "*" if device == default else "",
                device.filter_string,
                device.name,
                _size(device.global_mem_size),
                str(device.max_compute_units),
                "yes" if device.has_fp64 else "no",
                device.driver_version,
            ]
        )
    print(_table(rows))
    return 0


def doctor() -> int:
    """Says what was looked for, what was found, and what to do about what was not."""
    import numpy

    python = platform.python_version()
    print(f"weft {weft.__version__}, Python {python}, NumPy {numpy.__version__}, {platform.machine()}")
    for report in _core.backend_reports():
        state = report["found"] or "not available"
        print(f"\n{report['backend']}: {state}")
        if report["problem"]:
            print(f"  problem: {report['problem']}")
        for tried in report["looked_for"]:
            print(f"  looked for: {tried}")
        for note in report["notes"]:
            print(f"  note: {note}")
    return 0


COMMANDS = {"devices": devices, "doctor": doctor}


def main(arguments: list[str]) -> int:
    """Runs the command line."""
    if len(arguments) != 1 or arguments[0] not in COMMANDS:
        print("usage: python -m weft COMMAND\n", file=sys.stderr)
        for name, command in COMMANDS.items():
            print(f"  {name:<10}{command.__doc__}", file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    return COMMANDS[arguments[0]]()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
