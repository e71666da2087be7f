"""Finding the source text of a function, and proving that it is that function's.

In comes a Python function when its decorator runs; out comes a `Source`: lines of a file, and which function of them
is meant. The text is proved against the function's code object when it is first compiled, so that decorating costs
microseconds. Of functions of which Python has kept no text (the plain prompt, `exec`, standard input) it is rebuilt
then, from their bytecode (`_decompile`).
"""

from __future__ import annotations

import ast
import io
import linecache
import opcode
import os
import re
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import NamedTuple

from weft.errors import CompileError

# Compiler flags that change what a text means (`from __future__ import annotations` and its like).
_FUTURE_FLAGS = 0x1FE0000

# Options of `python` that take a value, in the same argument or the next.
_TAKES_VALUE = "XW"

_OPERATORS = {
    number
    for name, number in opcode.opmap.items()
    if name in ("BINARY_OP", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "RETURN_VALUE") or name.startswith("UNARY_")
}


class Source(NamedTuple):
    """Where a function's text is. `lines` is shared with linecache and never changed."""

    lines: list[str]  # none: the text is to be rebuilt
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
    """Takes the text behind a function, where Python has kept it."""
    code = function.__code__
    if source is not None:
        if not isinstance(source, str):
            raise TypeError(f"source= takes the text of the function, not {type(source).__name__}")
        return Source(_lines(source), f"<source of {function.__name__}>", True)
    filename = code.co_filename
    # A file that was edited and imported again must not be read from the cache.
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, function.__globals__)
    if not lines and filename == "<string>" and function.__module__ == "__main__":
        lines = _command_line()
    return Source(lines, filename, False)


def _lines(text: str) -> list[str]:
    """Lines as Python counts them: form feeds and the like do not end one."""
    return io.StringIO(text, newline=None).readlines()


def _command_line() -> list[str]:
    """The program of `python -c`, which may stand alone, among other options (`-Ic`) or before it (`-cpass`)."""
    arguments = iter(sys.orig_argv[1:])
    for argument in arguments:
        if argument == "--check-hash-based-pycs":
            next(arguments, None)
            continue
        if not argument.startswith("-"):
            break
        if argument.startswith("--"):
            continue
        for at, option in enumerate(argument[1:], 2):
            if option == "c":
                return _lines(argument[at:] or next(arguments, ""))
            if option in _TAKES_VALUE:
                if not argument[at:]:
                    next(arguments, None)
                break
            if option == "m":
                return []
    return []


def excerpt(function: FunctionType, source: Source) -> Excerpt:
    """The part of the source that holds the function, proved to be the function's."""
    if not source.lines and not source.given:
        found = _rebuilt(function)
        if found is None:
            raise _not_found(function)
        return found
    try:
        return _kept(function, source)
    except CompileError:
        # Where there is no file, other text may stand under the name of this: all that `exec` runs is "<string>".
        found = None if source.given or os.path.exists(source.filename) else _rebuilt(function)
        if found is None:
            raise
        return found


def _rebuilt(function: FunctionType) -> Excerpt | None:
    """The text of a function from its bytecode, which compiles to that bytecode again."""
    from weft import _decompile

    code = function.__code__
    text = _decompile.rebuilt(code, function.__defaults__ or (), function.__kwdefaults__)
    if text is None:
        return None
    name = f"{code.co_filename} (text rebuilt from bytecode)"
    found = Excerpt(text, name, code.co_firstlineno, code.co_name, 1, 0)
    if code.co_name != "<lambda>":
        return found
    body = ast.parse(text, mode="eval").body
    assert isinstance(body, ast.Lambda)
    return found._replace(name=None, line=body.body.lineno, col=body.body.col_offset)


def _not_found(function: FunctionType) -> CompileError:
    code = function.__code__
    return CompileError(
        f"the source of `{function.__name__}` cannot be found (file {code.co_filename!r}, line {code.co_firstlineno}): "
        f"give it with weft.njit({function.__name__}, source='def {function.__name__}(…): …')"
    )


def _kept(function: FunctionType, source: Source) -> Excerpt:
    """The part of the text that Python has kept."""
    code = function.__code__
    name = code.co_name
    if name == "<lambda>":
        return _lambda_excerpt(code, source)
    if source.given:
        text = "".join(source.lines)
        found = Excerpt(text, source.filename, 1, name, 0, 0)
        outer = _compiled(_closed(code, text), code)
        if outer is None:
            return found  # the parser says what is wrong, with a caret in the right place
    else:
        first = code.co_firstlineno
        if first > len(source.lines):
            raise _changed(code, f"the file has {len(source.lines)} lines, the function began at line {first}")
        last = _last_line(code, source.lines)
        text = "".join(source.lines[first - 1 : last])
        found = Excerpt(text, source.filename, first, name, 1, 0)
        outer = _compiled(_closed(code, text), code)
        if outer is None:
            # Cut in the wrong place, as inside a string that is no code, or of a file that has changed.
            text = "".join(source.lines[first - 1 : _last_line_by_parsing(code, source.lines)])
            found = found._replace(text=text)
            outer = _compiled(_closed(code, text), code)
        if outer is None:
            raise _changed(code, "it does not parse")
    _prove(code, outer)
    return found


def _lambda_excerpt(code: CodeType, source: Source) -> Excerpt:
    """A lambda is found where its body begins, so that several may stand on a line."""
    text = "".join(source.lines)
    if source.given:
        text = text.strip()
        if "lambda" not in text:
            raise CompileError("source= for a lambda holds the text of a lambda")
    found = Excerpt(text, source.filename, 1, None, 1, 0)
    outer = _compiled(text, code)
    if outer is None:
        if source.given:
            return found  # the parser says what is wrong, with a caret in the right place
        raise _changed(code, "the file does not parse")
    candidates = [inner for inner in _nested(outer) if inner.co_name == code.co_name]
    if not source.given:
        here = (code.co_firstlineno, _begin(code))
        candidates = [inner for inner in candidates if (inner.co_firstlineno, _begin(inner)) == here]
    if not candidates:
        raise _changed(code, f"line {code.co_firstlineno} holds no lambda there")
    reasons = {inner: _difference(code, inner) for inner in candidates}
    proved = [inner for inner, reason in reasons.items() if reason is None]
    if not proved:
        raise _changed(code, next(reason for reason in reasons.values() if reason))
    begin = _begin(proved[0]) or _only_lambda(text, proved[0])
    if begin is None:
        raise CompileError(
            f"which lambda of line {code.co_firstlineno} of {source.filename} is meant cannot be told, since there are "
            "no column positions (python -X no_debug_ranges?): write it as a `def`"
        )
    return found._replace(line=begin[0], col=begin[1])


def _begin(code: CodeType) -> tuple[int, int] | None:
    """Where a lambda's body begins. Instructions that set up a frame have no width."""
    places = [
        (line, col)
        for line, end_line, col, end_col in code.co_positions()
        if line is not None and col is not None and (line, col) != (end_line, end_col)
    ]
    return min(places, default=None)


def _only_lambda(text: str, code: CodeType) -> tuple[int, int] | None:
    """Where the body of the only lambda on a line begins that compiles to this code; equal ones are as good as one."""
    tree = _tree(text)
    nodes = ast.walk(tree) if tree else ()
    lambdas = [node for node in nodes if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno]
    if len(lambdas) > 1:
        lambdas = [node for node in lambdas if _compiles_to(node, code)][:1]
    return (lambdas[0].body.lineno, lambdas[0].body.col_offset) if lambdas else None


def _compiles_to(node: ast.Lambda, code: CodeType) -> bool:
    alone = compile(ast.Expression(node), code.co_filename, "eval")
    inner = next((constant for constant in alone.co_consts if isinstance(constant, CodeType)), None)
    return inner is not None and inner.co_code == code.co_code and _difference(code, inner) is None


def _last_line(code: CodeType, lines: list[str]) -> int:
    """The last line of a `def` (1-based): where its code ends, and what follows and is indented deeper than it."""
    first = code.co_firstlineno
    last = max(_lines_of(code), default=first)
    indent = _indent(lines[first - 1])
    while last < len(lines) and (not lines[last].strip() or _indent(lines[last]) > indent):
        last += 1
    return last


def _last_line_by_parsing(code: CodeType, lines: list[str]) -> int:
    """The last line of a `def`, by parsing all of the file."""
    tree = _tree("".join(lines))
    if tree is None:
        raise _changed(code, "it does not parse")
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            if min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) == code.co_firstlineno:
                return node.end_lineno or node.lineno
    raise _changed(code, f"there is no `def {code.co_name}` there")


def _tree(text: str) -> ast.Module | None:
    try:
        tree = compile(text, "<source>", "exec", flags=ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError):
        return None
    assert isinstance(tree, ast.Module)
    return tree


def _lines_of(code: CodeType) -> Iterator[int]:
    """The lines on which parts of a function begin. A cut before the end of the last one does not parse."""
    for _, _, line in code.co_lines():
        if line is not None:
            yield line
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


def _prove(code: CodeType, outer: CodeType) -> None:
    """Compares names, constants and nested code with those of the text compiled again."""
    candidates = [inner for inner in _nested(outer) if inner.co_name == code.co_name]
    if not candidates:
        raise _changed(code, f"there is no `def {code.co_name}` there")
    # The usual case, and quickly told: nothing differs but the line.
    if any(candidate.replace(co_firstlineno=code.co_firstlineno) == code for candidate in candidates):
        return
    reasons = [_difference(code, candidate) for candidate in candidates]
    if None not in reasons:
        raise _changed(code, next(reason for reason in reasons if reason))


def _closed(code: CodeType, text: str) -> str:
    """The text of a function in one whose variables are those it closes over, so that it closes over them again."""
    if not text[:1].isspace() and "nonlocal" not in text:
        return text
    free = ", ".join(name for name in code.co_freevars if name.isidentifier() and name != "__class__")
    if not text[:1].isspace():
        text = "".join(f" {line}" for line in text.splitlines(keepends=True))
    return f"def enclosing({free}):\n{text}"


def _compiled(text: str, code: CodeType) -> CodeType | None:
    """The text compiled as the module of `code` was, or None if it does not parse. Notebooks may await anywhere."""
    flags = code.co_flags & _FUTURE_FLAGS | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        compiled = compile(text, code.co_filename, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    assert isinstance(compiled, CodeType)
    return compiled


def _nested(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _nested(constant)


def _difference(code: CodeType, other: CodeType) -> str | None:
    """What tells two code objects apart, or None. Rewritten code (pytest's asserts) may hold more than its text."""
    count = code.co_argcount + code.co_kwonlyargcount
    parameters, others = code.co_varnames[:count], other.co_varnames[:count]
    if [*map(_unmangled, parameters)] != [*map(_unmangled, others)] or _kinds(code) != _kinds(other):
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


def _kinds(code: CodeType) -> tuple[int, int, int, int]:
    """How many parameters of each kind there are; the flags say whether there are * and ** ones."""
    return code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & 0x0C


def _unmangled(name: str) -> str:
    """A name as it is written: `_Box__x` is `__x` inside the class `Box`, which is not in sight."""
    # Few names are; making the expression takes longer than everything else here.
    return re.sub(r"^_[^\W_]\w*?(?=__)", "", name) if name.startswith("_") else name


def _operators(code: CodeType) -> list[tuple[int, int]]:
    """Operators in order. Other instructions depend on what the compiler saw around the function."""
    units = code.co_code
    return [(op, argument) for op, argument in zip(units[::2], units[1::2]) if op in _OPERATORS]


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _constants(code: CodeType) -> list[str]:
    return [repr(constant) for constant in code.co_consts if not isinstance(constant, CodeType)]
