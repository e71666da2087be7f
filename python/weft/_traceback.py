"""Exceptions of compiled code, with a traceback entry at the user's own expression.

In come a class, a message and a place; out comes the exception as if that expression had raised it. The entry is
a frame of a stub whose only statement is a `raise`, compiled with the user's file name, lines and columns.
"""

import ast
import builtins
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from weft import errors

# File, first line, last line, first column, last column; columns count bytes.
Place = tuple[str, int, int, int, int]


@lru_cache(maxsize=256)
def _stub(place: Place, function: str) -> CodeType:
    filename, line, end_line, column, end_column = place
    module = ast.parse("def stub(): raise exception")
    for node in ast.walk(module):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.lineno, node.end_lineno = line, end_line
            node.col_offset, node.end_col_offset = column, end_column
    code = next(c for c in compile(module, filename, "exec").co_consts if isinstance(c, CodeType))
    return code.replace(co_name=function, co_qualname=function)


def _class(name: str) -> Any:
    if name == "UFuncTypeError":
        from numpy._core._exceptions import UFuncTypeError

        return UFuncTypeError
    return getattr(builtins, name, None) or getattr(errors, name)


def exception(class_: Any, message: str, place: Place | None, function: str) -> BaseException:
    """The exception `class_(message)`, raised at `place` in `function`. A class of ours or Python's is named by a str."""
    cls = _class(class_) if isinstance(class_, str) else class_
    made: BaseException = cls(message) if message else cls()
    if place is None:
        return made
    stub = FunctionType(_stub(place, function), {"exception": made})
    try:
        stub()
    except BaseException as raised:
        traceback = raised.__traceback__
        # Without this function's own entry.
        return made.with_traceback(traceback.tb_next if traceback else None)
    raise AssertionError("the stub raises")
