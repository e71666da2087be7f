"""Syntax trees as text, with each statement on its own line where there is room."""

from __future__ import annotations

import ast
from typing import Any

from weft._decompile.items import constant
from weft._decompile.steps import Undone


def write(made: ast.stmt | ast.expr, first_line: int) -> str:
    """The text of a function that begins at `first_line`."""
    if isinstance(made, ast.expr):
        return ast.unparse(made) + "\n"
    writer = _Writer(first_line)
    writer.statement(made, 0)
    return "\n".join(writer.lines) + "\n"


def default(value: Any) -> ast.expr:
    """The default of a parameter, which is taken from the function, for the reader."""
    if value is None or type(value) in (bool, int, float, str):
        return constant(value)
    return ast.Constant(...)


def one_expression(statements: list[ast.stmt]) -> ast.expr:
    """What a lambda returns: branches that all return are conditional expressions."""
    first = statements[0] if statements else None
    if isinstance(first, ast.Return):
        return first.value or ast.Constant(None)
    if isinstance(first, ast.If):
        return ast.IfExp(first.test, one_expression(first.body), one_expression(first.orelse or statements[1:]))
    raise Undone


def without_last_return(statements: list[ast.stmt]) -> None:
    """Takes away what a function does anyway at its end."""
    while statements:
        last = statements[-1]
        if isinstance(last, ast.Return) and last.value is None:
            statements.pop()
            continue
        if isinstance(last, ast.If):
            without_last_return(last.body)
            without_last_return(last.orelse)
            if not last.body:
                last.body.append(ast.Pass(lineno=last.lineno))
        return


class _Writer:
    def __init__(self, first_line: int) -> None:
        self.first = first_line
        self.lines: list[str] = []
        # Whether another simple statement may stand on the last line, and how deep it is.
        self.open: int | None = None

    def put(self, text: str, node: ast.stmt, depth: int, simple: bool) -> None:
        line = getattr(node, "lineno", 0) or 0
        at = self.first + len(self.lines) - 1
        if simple and self.open == depth and line == at:
            self.lines[-1] += "; " + text
            return
        while self.first + len(self.lines) < line:
            self.lines.append("")
        self.lines += ("    " * depth + text).split("\n")
        self.open = depth if simple else None

    def block(self, head: str, node: ast.stmt, body: list[ast.stmt], depth: int) -> None:
        body = body or [ast.Pass(lineno=node.lineno)]
        line = node.lineno or 0
        simple = not any(
            isinstance(s, ast.If | ast.For | ast.While | ast.FunctionDef | ast.Try | ast.Match) for s in body
        )
        if simple and all((getattr(s, "lineno", 0) or line) <= line for s in body):
            self.put(f"{head} {'; '.join(map(ast.unparse, body))}", node, depth, False)
            return
        self.put(head, node, depth, False)
        self.open = None
        for statement in body:
            self.statement(statement, depth + 1)
        self.open = None

    def otherwise(self, body: list[ast.stmt], depth: int) -> None:
        if not body:
            return
        if len(body) == 1 and isinstance(body[0], ast.If):
            self.block(f"elif {ast.unparse(body[0].test)}:", body[0], body[0].body, depth)
            self.otherwise(body[0].orelse, depth)
            return
        # The line of an `else` alone is not known: it stands before what is in it.
        before = ast.Pass(lineno=max((getattr(body[0], "lineno", 0) or 0) - 1, 0))
        self.block("else:", before, body, depth)

    def statement(self, node: ast.stmt, depth: int) -> None:
        if isinstance(node, ast.If):
            self.block(f"if {ast.unparse(node.test)}:", node, node.body, depth)
            self.otherwise(node.orelse, depth)
        elif isinstance(node, ast.While):
            self.block(f"while {ast.unparse(node.test)}:", node, node.body, depth)
            self.loop_else(node.orelse, depth)
        elif isinstance(node, ast.For):
            head = ast.unparse(ast.For(node.target, node.iter, [], [], lineno=0))
            self.block(head, node, node.body, depth)
            self.loop_else(node.orelse, depth)
        elif isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                self.put(f"@{ast.unparse(decorator)}", node, depth, False)
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            self.block(f"def {node.name}({ast.unparse(node.args)}){returns}:", node, node.body, depth)
        elif isinstance(node, ast.Match):
            self.put(f"match {ast.unparse(node.subject)}:", node, depth, False)
            for case in node.cases:
                before = ast.Pass(lineno=case.line)  # type: ignore[attr-defined]
                self.block(f"case {ast.unparse(case.pattern)}:", before, case.body, depth + 1)
        elif isinstance(node, ast.Try):
            self.block("try:", node, node.body, depth)
            for handler in node.handlers:
                kind = f" {ast.unparse(handler.type)}" if handler.type else ""
                name = f" as {handler.name}" if handler.name else ""
                self.block(f"except{kind}{name}:", ast.Pass(lineno=handler.lineno), handler.body, depth)
            self.loop_else(node.orelse, depth)
        else:
            self.put(ast.unparse(node), node, depth, True)

    def loop_else(self, body: list[ast.stmt], depth: int) -> None:
        if body:
            self.block("else:", ast.Pass(lineno=max((getattr(body[0], "lineno", 0) or 0) - 1, 0)), body, depth)
