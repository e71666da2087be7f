"""Exceptions of compiled code, with a traceback entry at the user's own expression.

In come a class, arguments and places; out comes the exception as if that expression had raised it. An entry is a frame
of a stub whose only statement is a `raise` or a call, compiled with the user's file name, lines and columns.
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
def _stub(statement: str, place: Place, function: str) -> CodeType:
    filename, line, end_line, column, end_column = place
    module = ast.parse(f"def stub(): {statement}")
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
    if name == "LinAlgError":
        from numpy.linalg import LinAlgError

        return LinAlgError
    if name == "AxisError":
        from numpy.exceptions import AxisError

        return AxisError
    return getattr(builtins, name, None) or getattr(errors, name)


def exception(class_: Any, arguments: tuple[Any, ...], entries: list[tuple[Place, str]]) -> BaseException:
    """The exception `class_(*arguments)`, raised at the last of the entries, each of which called the next.

    An entry is a place and the name of the function it is in. Classes of Python's and ours come as names.
    """
    cls = _class(class_) if isinstance(class_, str) else class_
    try:
        made: BaseException = cls(*arguments)
    except BaseException as failure:
        # What the constructor raises is raised where it is called, and shows the constructor's own frames.
        inside = failure.__traceback__
        made = failure.with_traceback(inside.tb_next if inside else None)
    if not entries:
        return made
    place, function = entries[-1]
    stub = FunctionType(_stub("raise exception", place, function), {"exception": made})
    for place, function in reversed(entries[:-1]):
        stub = FunctionType(_stub("callee()", place, function), {"callee": stub})
    try:
        stub()
    except BaseException as raised:
        # What is raised is another exception where the class has made something that is none.
        traceback = raised.__traceback__
        # Without this function's own entry.
        return raised.with_traceback(traceback.tb_next if traceback else None)
    raise AssertionError("the stub raises")
