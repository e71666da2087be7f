"""Tables for terminals and notebooks: of devices, and of what a trace saw."""

from __future__ import annotations

import html
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft import _core

_STYLE = "border-collapse: collapse; font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; color: inherit"
_CELL = "padding: 0 .7em; text-align: left; background: none; border: 0"


def text(rows: list[list[str]]) -> str:
    """Rows as text; the first is the header."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def page(rows: list[list[str]]) -> str:
    """Rows as HTML; the first is the header."""
    lines = []
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        lines.append("".join(f'<{tag} style="{_CELL}">{html.escape(cell)}</{tag}>' for cell in row))
    return f'<table style="{_STYLE}">' + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def size(count: float) -> str:
    """So many bytes, in words."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def duration(seconds: float) -> str:
    """A time, in words."""
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.1f} µs"


def _default() -> _core.Device | None:
    from weft import _core
    from weft.errors import DeviceError

    try:
        return _core.Device()
    except DeviceError:  # WEFT_DEVICE names nothing
        return None


def device_rows(devices: list[_core.Device]) -> list[list[str]]:
    """A row for each device; the default one is marked."""
    default = _default()
    rows = [["", "device", "name", "memory", "units", "fp64", "driver"]]
    for device in devices:
        rows.append(
            [
                "*" if device == default else "",
                device.filter_string,
                device.name,
                size(device.global_mem_size),
                str(device.max_compute_units),
                "yes" if device.has_fp64 else "no",
                device.driver_version,
            ]
        )
    return rows


class Devices(list["_core.Device"]):
    """A list of devices that shows itself as a table."""

    def __repr__(self) -> str:
        return text(device_rows(self)) if self else "no devices"

    def _repr_html_(self) -> str:
        return page(device_rows(self)) if self else "no devices"

    def __reduce__(self) -> tuple[type[list[_core.Device]], tuple[list[_core.Device]]]:
        return list, (list(self),)


def _near(file: str) -> str:
    """A path as one reads it from the working directory, where it is below."""
    try:
        below = os.path.relpath(file)
    except (OSError, ValueError):
        return file
    return file if below.startswith(os.pardir) else below


def _trace_rows(trace: _core.Trace) -> list[list[str]]:
    """A row for each thing that happened; what happened again at the same place is counted."""
    rows = [["", "name", "device", "times", "bytes", "time", "at"]]
    kinds = (("compile", trace.compiles), ("launch", trace.launches), ("copy", trace.copies), ("wait", trace.events))
    for kind, items in kinds:
        same: dict[tuple[str, str, tuple[str, int] | None], list[_core.TraceItem]] = {}
        for item in items:
            same.setdefault((item.name, item.device, item.span), []).append(item)
        for (name, device, span), group in same.items():
            count = sum(item.bytes for item in group)
            spent = duration(sum(item.seconds for item in group))
            at = f"{_near(span[0])}:{span[1]}" if span else ""
            rows.append([kind, name, device, str(len(group)), size(count) if count else "", spent, at])
    return rows


def _trace_line(trace: _core.Trace) -> str:
    counts = [("compile", trace.compiles), ("launch", trace.launches), ("copy", trace.copies), ("wait", trace.events)]
    plurals = {"launch": "launches", "copy": "copies"}
    words = [f"{len(items)} {name if len(items) == 1 else plurals.get(name, name + 's')}" for name, items in counts]
    moved = sum(item.bytes for item in trace.copies)
    words[2] += f" of {size(moved)}" if moved else ""
    return f"weft.trace: {', '.join(words)}"


def trace_text(trace: _core.Trace) -> str:
    """What `repr` of a trace is."""
    rows = _trace_rows(trace)
    return "\n".join([_trace_line(trace), *([text(rows)] if len(rows) > 1 else [])])


def trace_page(trace: _core.Trace) -> str:
    """What a notebook shows of a trace."""
    rows = _trace_rows(trace)
    return f"<p>{html.escape(_trace_line(trace))}</p>" + (page(rows) if len(rows) > 1 else "")
