"""`f.report()`: what became of each line of a function, as text, as a page, and as data."""

from __future__ import annotations

import html
import os
import textwrap
from typing import NamedTuple

# What a note may be about, in the order in which notes of a line stand.
KINDS = ("fused", "parallel", "vector", "checks", "memory", "device")

# One scale, from what costs nothing to what costs something on every turn; alpha lets light and dark pages through.
_SHADES = ("transparent", "rgba(245, 158, 11, .14)", "rgba(245, 158, 11, .32)", "rgba(239, 88, 12, .5)")
_MEANINGS = ("costs nothing", "a little, or once", "on every turn", "an allocation or copy on every turn")

# What the summary counts: its row, a kind of notes, what such a note begins with, what one and several are called.
_COUNTED = (
    ("runs", "device", "a kernel on", "kernel", "kernels"),
    (
        "runs",
        "parallel",
        ("on several threads", "iterations on several threads"),
        "loop on the host's threads",
        "loops on the host's threads",
    ),
    ("runs", "parallel", ("in order", "on one thread"), "loop in order", "loops in order"),
    ("vectors", "vector", tuple("123456789"), "loop in vectors", "loops in vectors"),
    ("vectors", "vector", "not vectorised", "not", "not"),
    (
        "temporaries",
        "fused",
        "computed in the loop",
        "line computed in the loop of another",
        "lines computed in loops of others",
    ),
    ("temporaries", "fused", "computed inside", "computed inside its reduction", "computed inside their reductions"),
    ("temporaries", "memory", "computed straight", "computed in its place", "computed in their places"),
    ("temporaries", "memory", "allocates", "line allocates", "lines allocate"),
    ("copies", "memory", ("copies", "computed first"), "on the host", "on the host"),
    ("copies", "device", "copied to", "to the device", "to the device"),
    ("copies", "device", "copied back", "back", "back"),
    ("checks", "checks", ("an index is checked on every", "ints are"), "line on every turn", "lines on every turn"),
    ("checks", "checks", ("indices are tested",), "before a loop", "before loops"),
)

# In a narrow place notes stand below their line, not beside it.
_STYLE = """\
.weft-report { font: 13px/1.5 system-ui, sans-serif; color: inherit; container-type: inline-size; }
.weft-report table { border-collapse: collapse; font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; }
.weft-report td, .weft-report th { padding: 0 .7em; border: 0; background: none; }
.weft-report td, .weft-report th { text-align: left; vertical-align: top; }
.weft-report tr + tr td, .weft-report tr + tr th { border-top: 1px solid rgba(128, 128, 128, .18); }
.weft-report .weft-sum { font-family: system-ui, sans-serif; margin: .6em 0 1.2em; }
.weft-report .weft-sum th { font-weight: 600; padding-left: 0; }
.weft-report .weft-n { text-align: right; opacity: .55; user-select: none; }
.weft-report .weft-c { white-space: pre; }
.weft-report .weft-t { white-space: normal; max-width: 60em; opacity: .85; font-family: system-ui, sans-serif; }
.weft-report .weft-t div { padding: 0 .4em; }
.weft-report .weft-k { display: inline-block; min-width: 5.2em; font-weight: 600; }
.weft-report .weft-s { display: inline-block; padding: 0 .6em; border-radius: 3px; margin: 0 .8em .3em 0; }
@container (max-width: 760px) {
  .weft-report p { overflow-wrap: anywhere; }
  .weft-report .weft-of, .weft-report .weft-of tbody { display: block; }
  .weft-report .weft-of tr { display: grid; grid-template-columns: 2.6em 1fr; }
  .weft-report .weft-of td { padding: 0 .3em; min-width: 0; }
  .weft-report .weft-of .weft-c { white-space: pre-wrap; overflow-wrap: anywhere; }
  .weft-report .weft-of .weft-t { grid-column: 2; border: 0; overflow-wrap: anywhere; }
}"""

_PAGE_STYLE = "body { margin: 1.2em; } @media (max-width: 500px) { body { margin: .6em; } }"


def _near(file: str) -> str:
    """A path as one reads it from the working directory, where it is below."""
    try:
        below = os.path.relpath(file)
    except (OSError, ValueError):
        return file
    return file if below.startswith(os.pardir) or not os.path.exists(file) else below


class Note(NamedTuple):
    """Something to say of a line."""

    line: int  # in its file
    kind: str  # one of fused, parallel, vector, checks, memory, device
    cost: int  # 0: nothing, 1: a little or once, 2: on every turn, 3: an allocation or copy on every turn
    text: str


class Line(NamedTuple):
    """A line of a function's source, with its notes."""

    function: str
    file: str
    number: int
    source: str
    notes: tuple[Note, ...]

    @property
    def cost(self) -> int:
        """The most that a note of it costs."""
        return max((note.cost for note in self.notes), default=0)


class Report:
    """What became of each line of a function: what was fused, ran in parallel, was vectorised, is checked, allocates.

    `str()` is text, notebooks show a page, `.lines` and `.notes` are data. The lines of functions that were called
    follow those of the function itself, where there is something to say of them.
    """

    def __init__(self, signature: str, device: str, calls: str, lines: list[Line]) -> None:
        self.signature = signature
        self.device = device
        self.calls = calls  # which calls with this signature the code is for; empty: all
        self.lines = lines

    @classmethod
    def _of(
        cls,
        signature: str,
        device: str,
        calls: str,
        sources: list[tuple[str, str, int, str]],
        told: list[tuple[int, int, str, int, str]],
    ) -> Report:
        """Called by the compiled part with the functions' texts and the notes on them."""
        lines = []
        for number, (function, file, first, text) in enumerate(sources):
            notes: dict[int, list[Note]] = {}
            for source, line, kind, cost, words in told:
                if source == number:
                    notes.setdefault(line, []).append(Note(line, kind, cost, words))
            if number and not notes:
                continue
            shown = textwrap.dedent(text).rstrip().splitlines()
            for at, source_line in enumerate(shown, first):
                lines.append(Line(function, file, at, source_line, tuple(notes.get(at, ()))))
        return cls(signature, device, calls, lines)

    @property
    def notes(self) -> list[Note]:
        """All notes, by line."""
        return [note for line in self.lines for note in line.notes]

    @property
    def summary(self) -> dict[str, str]:
        """How often the notes say what: where it runs, loops in vectors, temporaries, copies, checks."""
        counts: dict[str, list[str]] = {row: [] for row, *_ in _COUNTED}
        for row, kind, begins, one, several in _COUNTED:
            number = sum(note.kind == kind and note.text.startswith(begins) for note in self.notes)
            if number:
                counts[row].append(f"{number} {one if number == 1 else several}")
        turns = sum(note.kind == "memory" and note.cost == 3 for note in self.notes)
        if turns:
            counts["temporaries"].append(f"{turns} of them on every turn of a loop")
        found = {row: ", ".join(parts) or "none" for row, parts in counts.items()}
        found["runs"] = ", ".join([f"on {self.device}", *counts["runs"]])
        return found

    def _functions(self) -> list[tuple[str, str, list[Line]]]:
        found: list[tuple[str, str, list[Line]]] = []
        for line in self.lines:
            if not found or found[-1][:2] != (line.function, line.file) or line.number <= found[-1][2][-1].number:
                found.append((line.function, line.file, []))
            found[-1][2].append(line)
        return found

    def _title(self) -> str:
        calls = f", {self.calls}" if self.calls else ""
        return f"{self.lines[0].function if self.lines else ''}{self.signature} on {self.device}{calls}"

    def __str__(self) -> str:
        out = [self._title()]
        out += [f"{row:<12} {what}" for row, what in self.summary.items()]
        for function, file, lines in self._functions():
            out += ["", f"{function}, {_near(file)}:{lines[0].number}"]
            width = len(str(lines[-1].number))
            for line in lines:
                mark = " .+!"[line.cost]
                out.append(f"{line.number:{width}} {mark}| {line.source}".rstrip())
                indent = " " * (len(line.source) - len(line.source.lstrip()))
                out += [f"{'':{width}}  | {indent}  # {note.kind}: {note.text}" for note in line.notes]
        out += ["", "Margin: . costs a little, or once; + on every turn; ! allocates or copies on every turn."]
        return "\n".join(out)

    def __repr__(self) -> str:
        return f"<weft.Report of {self._title()}: {len(self.notes)} notes>"

    def _repr_html_(self) -> str:
        """A fragment that needs nothing else, for light and dark pages."""
        rows = "".join(f"<tr><th>{row}</th><td>{html.escape(what)}</td></tr>" for row, what in self.summary.items())
        out = [
            f'<div class="weft-report"><style>{_STYLE}</style>',
            f"<p><b>{html.escape(self._title())}</b></p>",
            f'<table class="weft-sum">{rows}</table>',
        ]
        for function, file, lines in self._functions():
            place = html.escape(f"{function}, {_near(file)}:{lines[0].number}")
            out.append(f'<p>{place}</p><table class="weft-of">')
            for line in lines:
                notes = "".join(
                    f'<div style="background: {_SHADES[note.cost]}"><span class="weft-k">{note.kind}</span>'
                    f"{html.escape(note.text)}</div>"
                    for note in line.notes
                )
                out.append(
                    f'<tr><td class="weft-n">{line.number}</td>'
                    f'<td class="weft-c" style="background: {_SHADES[line.cost]}">{html.escape(line.source)}</td>'
                    f'<td class="weft-t">{notes}</td></tr>'
                )
            out.append("</table>")
        scale = "".join(
            f'<span class="weft-s" style="background: {shade}">{meaning}</span>'
            for shade, meaning in zip(_SHADES, _MEANINGS)
        )
        out.append(f"<p>{scale}</p></div>")
        return "\n".join(out)

    def page(self) -> str:
        """A whole HTML page."""
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
            f"<title>{html.escape(self._title())}</title><style>{_PAGE_STYLE}</style></head>\n<body>\n{self._repr_html_()}\n</body></html>\n"
        )
