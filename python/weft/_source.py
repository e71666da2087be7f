"""Finding the source text of a function, and proving that it is that function's.

In comes a Python function when its decorator runs; out comes a `Source`: lines of a file, and which function of them
is meant. The text is proved against the function's code object when it is first compiled, so that decorating costs
microseconds.
"""

from __future__ import annotations

import linecache
import opcode
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import NamedTuple

from weft.errors import CompileError

# Compiler flags that change what a text means (`from __future__ import annotations` and its like).
_FUTURE_FLAGS = 0x1FE0000

_OPERATORS = {
    number
    for name, number in opcode.opmap.items()
    if name in ("BINARY_OP", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "RETURN_VALUE") or name.startswith("UNARY_")
}


class Source(NamedTuple):
    """Where a function's text is. `lines` is shared with linecache and never changed."""

    lines: list[str]
    filename: str
    given: bool  # by `source=`: there is no file behind it


class Excerpt(NamedTuple):
    """The text handed to the parser, and which function of it is meant."""

    text: str
    filename: str
    first_line: int  # of `text`, in the file
    name: str | None  # a `def` of this name at `line`; None for the lambda at `line`, `col`
    line: int  # 1-based in `text`; 0: wherever the name is
    col: int  # 0-based, in UTF-8 bytes


def capture(function: FunctionType, source: str | None) -> Source:
    """Takes the text behind a function, or refuses with the way out."""
    code = function.__code__
    if source is not None:
        if not isinstance(source, str):
            raise TypeError(f"source= takes the text of the function, not {type(source).__name__}")
        return Source(source.splitlines(keepends=True), f"<source of {function.__name__}>", True)
    filename = code.co_filename
    # A file that was edited and imported again must not be read from the cache.
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, function.__globals__)
    if not lines and filename == "<string>" and function.__module__ == "__main__":
        lines = _command_line()
    if not lines:
        raise CompileError(
            f"the source of `{function.__name__}` cannot be found (file {filename!r}, line {code.co_firstlineno}): "
            f"give it with weft.njit({function.__name__}, source='def {function.__name__}(…): …')"
        )
    return Source(lines, filename, False)


def _command_line() -> list[str]:
    """The program of `python -c`."""
    arguments = iter(sys.orig_argv[1:])
    for argument in arguments:
        if argument in ("-X", "-W", "--check-hash-based-pycs"):
            next(arguments, None)
        elif not argument.startswith("-"):
            break
        elif argument[1:2] != "-" and argument.endswith("c"):
            return next(arguments, "").splitlines(keepends=True)
    return []


def excerpt(function: FunctionType, source: Source) -> Excerpt:
    """The part of the source that holds the function, proved to be the function's."""
    code = function.__code__
    name = code.co_name
    if name == "<lambda>":
        return _lambda_excerpt(code, source)
    if source.given:
        text = "".join(source.lines)
        found = Excerpt(text, source.filename, 1, name, 0, 0)
    else:
        first = code.co_firstlineno
        if first > len(source.lines):
            raise _changed(code, f"the file has {len(source.lines)} lines, the function began at line {first}")
        last = _last_line(code, source.lines)
        text = "".join(source.lines[first - 1 : last])
        found = Excerpt(text, source.filename, first, name, 1, 0)
    _prove(code, found)
    return found


def _lambda_excerpt(code: CodeType, source: Source) -> Excerpt:
    text = "".join(source.lines)
    if source.given:
        at = text.find("lambda")
        if at < 0:
            raise CompileError("source= for a lambda holds the text of a lambda")
        line, start = text.count("\n", 0, at) + 1, text.rfind("\n", 0, at) + 1
        return Excerpt(text, source.filename, 1, None, line, len(text[start:at].encode()))
    # Where the body begins. Instructions that set up a frame have no width.
    places = [
        (line, col)
        for line, end_line, col, end_col in code.co_positions()
        if line is not None and col is not None and (line, col) != (end_line, end_col)
    ]
    if not places:
        raise CompileError(
            f"the lambda at {source.filename}:{code.co_firstlineno} has no column positions "
            "(python -X no_debug_ranges?): write it as a `def`"
        )
    line, col = min(places)
    if line > len(source.lines) or "lambda" not in text:
        raise _changed(code, f"line {code.co_firstlineno} holds no lambda")
    return Excerpt(text, source.filename, 1, None, line, col)


def _last_line(code: CodeType, lines: list[str]) -> int:
    """The last line of a `def` (1-based): where its code ends, and what follows and is indented deeper than it."""
    first = code.co_firstlineno
    last = max((line for line in _lines_of(code)), default=first)
    indent = _indent(lines[first - 1])
    while last < len(lines) and (not lines[last].strip() or _indent(lines[last]) > indent):
        last += 1
    return last


def _lines_of(code: CodeType) -> Iterator[int]:
    for line, end_line, _, _ in code.co_positions():
        if line is not None:
            yield end_line or line
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _lines_of(constant)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _changed(code: CodeType, what: str) -> CompileError:
    return CompileError(
        f"the source of `{code.co_name}` at {code.co_filename}:{code.co_firstlineno} is not what was imported "
        f"({what}): the file changed since import; import it again"
    )


def _prove(code: CodeType, found: Excerpt) -> None:
    """Compiles the text again and compares names, constants and nested code with the function's own."""
    text = found.text
    if text[:1].isspace() and not found.text.lstrip("\r\n")[:1].strip():
        # The names of enclosing functions are variables of one here, so that they are closed over again.
        free = ", ".join(name for name in code.co_freevars if name.isidentifier() and name != "__class__")
        text = f"def enclosing({free}):\n{text}"
    elif code.co_freevars:
        free = ", ".join(name for name in code.co_freevars if name.isidentifier() and name != "__class__")
        text = f"def enclosing({free}):\n" + "".join(f" {line}" for line in text.splitlines(keepends=True))
    try:
        outer = compile(text, found.filename, "exec", flags=code.co_flags & _FUTURE_FLAGS, dont_inherit=True)
    except SyntaxError:
        # The parser says it better, with a caret in the right place, unless the text was cut from a changed file.
        if found.line == 0:
            return
        raise _changed(code, "it does not parse") from None
    candidates = [inner for inner in _nested(outer) if inner.co_name == code.co_name]
    if not candidates:
        raise _changed(code, f"there is no `def {code.co_name}` there")
    reasons = [_difference(code, candidate) for candidate in candidates]
    if None not in reasons:
        raise _changed(code, next(reason for reason in reasons if reason))


def _nested(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


def _difference(code: CodeType, other: CodeType) -> str | None:
    """What tells two code objects apart, or None. Rewritten code (pytest's asserts) may hold more than its text."""
    count = code.co_argcount + code.co_kwonlyargcount
    parameters, others = code.co_varnames[:count], other.co_varnames[:count]
    if parameters != others or other.co_argcount != code.co_argcount:
        return f"its parameters were {', '.join(parameters)}"
    known = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    rewritten = any(name.startswith("@py") for name in known)
    # Names in classes are mangled where the class is in sight.
    named = {*other.co_names, *other.co_varnames, *other.co_freevars, *other.co_cellvars}
    unknown = {name for name in named - known if not name.startswith("__")}
    if unknown and not rewritten:
        return f"it did not name {', '.join(sorted(unknown))}"
    if rewritten:
        return None
    gone = {name for name in known - named if "__" not in name}
    if gone:
        return f"it named {', '.join(sorted(gone))}"
    if _constants(code) != _constants(other):
        return "its constants differ"
    if _operators(code) != _operators(other):
        return "its operators differ"
    for mine, theirs in zip(_inner(code), _inner(other)):
        if reason := _difference(mine, theirs):
            return reason
    return None


def _operators(code: CodeType) -> list[tuple[int, int]]:
    """Operators in order. Other instructions depend on what the compiler saw around the function."""
    units = code.co_code
    return [(op, argument) for op, argument in zip(units[::2], units[1::2]) if op in _OPERATORS]


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _constants(code: CodeType) -> list[str]:
    return [repr(constant) for constant in code.co_consts if not isinstance(constant, CodeType)]
