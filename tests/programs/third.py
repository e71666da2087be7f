"""The reference interpreter as a third party: it runs the typed IR of a call that machine code has just run.

`weft-opt` reads what `inspect("ntensor")` prints and runs it; nothing after `infer` is involved. So where machine code
and CPython differ, it says on which side of that border the bug is. What it cannot run is said, too.
"""

import math
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

INTERPRETER = Path(__file__).parents[2] / "target" / "release" / "weft-opt"
SECONDS = 20.0

NAMES = {"bool": "bool"} | {f"{kind}{bits}": f"{kind[0]}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
NAMES |= {"float16": "f16", "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}


class Cannot(Exception):
    """What the interpreter cannot be given."""


# Values as weft-opt writes and reads them: a dtype, a shape (None of a scalar), and elements in C order.
Plain = tuple[str, tuple[int, ...] | None, list[Any]]


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, complex):
        return f"({_number(value.real)}, {_number(value.imag)})"
    return repr(value)


def written(value: Any) -> str:
    """An argument as text."""
    if value is None:
        raise Cannot("None")
    if isinstance(value, complex) and not isinstance(value, np.generic):
        return f"complex{_number(value)}"
    if type(value) in (bool, int, float):
        return _number(value)
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))})"
    if isinstance(value, np.generic) and str(value.dtype) in NAMES:
        text = _number(value.item())
        return f"{NAMES[str(value.dtype)]}{text if text.startswith('(') else f'({text})'}"
    if isinstance(value, np.ndarray) and str(value.dtype) in NAMES:
        elements = ", ".join(map(_number, np.ravel(value).tolist()))
        shape = ", ".join(map(str, value.shape))
        order = ".F" if value.flags.f_contiguous and not value.flags.c_contiguous else ""
        return f"{NAMES[str(value.dtype)]}[{elements}].shape({shape}){order}"
    raise Cannot(type(value).__name__)


def flat(value: Any) -> Iterator[Any]:
    """The parts of tuples that have a slot of their own."""
    if isinstance(value, tuple):
        for item in value:
            yield from flat(item)
    elif value is not None:
        yield value


def plain(value: Any) -> Any:
    """A Python value in the terms of the interpreter; lists stay lists."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return [plain(item) for item in flat(value)]
    if isinstance(value, np.ndarray):
        return NAMES[str(value.dtype)], value.shape, np.ravel(value).tolist()
    if isinstance(value, np.generic):
        return NAMES[str(value.dtype)], None, [value.item()]
    kind = {bool: "bool", int: "i64", float: "f64", complex: "c128"}[type(value)]
    return kind, None, [value]


class Reader:
    """Reads values that weft-opt prints."""

    def __init__(self, text: str) -> None:
        self.tokens = re.findall(r"[\[\](),]|\.shape|[^\[\](),\s]+", text)
        self.at = 0

    def eat(self, token: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at] == token
        self.at += found
        return found

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def all(self) -> list[Any]:
        """Values between commas, up to the end."""
        values = []
        while self.at < len(self.tokens):
            values.append(self.value())
            self.eat(",")
        return values

    def until(self, close: str, item: Any) -> list[Any]:
        items = []
        while not self.eat(close):
            items.append(item())
            self.eat(",")
        return items

    def value(self) -> Any:
        if self.eat("["):
            return self.until("]", self.value)
        if self.eat("("):
            return self.until(")", self.value)
        name = self.next()
        if name == "none":
            return None
        if self.eat("("):
            parts = self.until(")", self.number)
            return name, None, [complex(*parts) if name.startswith("c") else parts[0]]
        self.eat("[")
        items = self.until("]", self.nested)
        if self.eat(".shape"):
            self.eat("(")
            return name, tuple(self.until(")", lambda: int(self.next()))), items
        shape, level = [], items
        while isinstance(level, list):
            shape.append(len(level))
            level = level[0] if level else None
        for _ in shape[1:]:
            items = [item for row in items for item in row]
        return name, tuple(shape), items

    def nested(self) -> Any:
        if self.eat("["):
            return self.until("]", self.nested)
        return self.number()

    def number(self) -> Any:
        if self.eat("("):
            return complex(*self.until(")", self.number))
        text = self.next()
        if text in ("true", "false"):
            return text == "true"
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def _same(a: Any, b: Any, ulps: int) -> bool:
    if isinstance(a, list) or isinstance(b, list) or a is None or b is None:
        return type(a) is type(b) and len(a) == len(b) and all(_same(x, y, ulps) for x, y in zip(a, b))
    if a[:2] != b[:2]:
        return False
    unit = ulps * {"f16": 2.0**-10, "f32": 2.0**-23}.get(a[0], 2.0**-52)
    # Numbers are written with as many digits as their dtype needs, and read as doubles.
    rounded = {"f16": np.float16, "f32": np.float32, "c64": np.complex64}.get(a[0])
    with np.errstate(all="ignore"):
        a, b = ([rounded(v).item() for v in part[2]] if rounded else part[2] for part in (a, b))
    return len(a) == len(b) and all(_close(x, y, unit) for x, y in zip(a, b))


def _close(a: Any, b: Any, relative: float) -> bool:
    if isinstance(a, complex) or isinstance(b, complex):
        return _close(a.real, b.real, relative) and _close(a.imag, b.imag, relative)
    if not isinstance(a, float) or not isinstance(b, float):
        return bool(a == b)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if relative == 0 or math.isinf(a) or math.isinf(b):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return math.isclose(a, b, rel_tol=relative, abs_tol=1e-300)


def interpreted(
    ir: str, before: list[Any], wanted: Any, error: BaseException | None, after: list[Any], ulps: int
) -> str:
    """Runs a call: "same", "cannot: …", or what is different from what CPython did."""
    arrays = [a for a in before if isinstance(a, np.ndarray)]
    if any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k]):
        return "cannot: arguments that share memory"
    # It is given copies in C order: what is a view of those may be a copy of an array that lies otherwise.
    if "nt.stride" in ir and any(not (a.flags.c_contiguous or a.flags.f_contiguous) for a in arrays):
        return "cannot: arrays whose steps are asked for"
    try:
        arguments = ", ".join(written(part) for value in before for part in flat(value))
    except Cannot as what:
        return f"cannot: an argument that is {what}"
    name = re.search(r"^func @(\w+)", ir, re.MULTILINE)
    call = f"{name[1] if name else 'f'}({arguments})"
    try:
        command = [str(INTERPRETER), "--run", call, "-"]
        done = subprocess.run(command, input=ir, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "cannot: it takes too long"
    if done.returncode:
        said = done.stderr.strip()
        # A KeyError shows its word with quotes around it.
        word = error.args[0] if isinstance(error, KeyError) and len(error.args) == 1 else error
        if error is not None and said == f"{type(error).__name__}: {word}".strip():
            return "same"
        if re.match(r"[A-Z]\w*(Error|Exception|Iteration): ?", said):
            return f"raises {said}"
        return f"cannot: {said[:100]}"
    if error is not None:
        return f"gives {done.stdout[:200]}, not {type(error).__name__}: {error}"
    results, *changed = done.stdout.rstrip("\n").split("\n")
    ours = [] if results == "nothing" else [v for v in Reader(results).all() if v is not None]
    theirs = [plain(value) for value in flat(wanted)]
    if len(ours) != len(theirs):
        return "cannot: a result that may be None"
    if not _same(ours, theirs, ulps):
        return f"gives {results[:300]}"
    left = [Reader(line.split(": ", 1)[1]).value() for line in changed]
    there = [plain(part) for value in after for part in flat(value) if isinstance(part, np.ndarray | list)]
    return "same" if _same(left, there, 0) else f"leaves {changed!r}"[:300]
