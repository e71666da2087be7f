"""What branches and loops stand for: clauses of a `try`, cases of a `match`, comprehensions."""

from __future__ import annotations

import ast
from typing import Any

from weft._decompile.items import Append, Caught, Leave, Match, Reraise, expression
from weft._decompile.steps import Undone


def handlers(statements: list[ast.stmt]) -> list[ast.ExceptHandler]:
    """The clauses in nested branches, each of which says whether it takes the exception."""
    if not statements or isinstance(statements[0], Reraise):
        return []
    first, rest = statements[0], statements[1:]
    if not isinstance(first, ast.If):
        return [_clause(None, statements)]
    test, body, others = first.test, first.body, first.orelse or rest
    if isinstance(test, ast.UnaryOp) and isinstance(test.operand, Match):
        test, body, others = test.operand, rest, body
    elif first.orelse and rest:
        raise Undone
    if not isinstance(test, Match):
        return [_clause(None, statements)]
    return [_clause(test.kind, body), *handlers(others)]


def _clause(kind: ast.expr | None, body: list[ast.stmt]) -> ast.ExceptHandler:
    name = None
    if body and isinstance(body[0], Caught):
        name, body = body[0].name, body[1:]
    if any(isinstance(node, Caught | Reraise | Match) for statement in body for node in ast.walk(statement)):
        raise Undone
    line = max(first_line(body) - 1, 0)
    return ast.ExceptHandler(kind, name, body or [ast.Pass(lineno=line)], lineno=line)


def after_cases(statements: list[ast.stmt], subject: Any) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The other cases of a `match`, and what follows them, where both have come together already."""
    first = statements[0] if statements else None
    whole = isinstance(first, ast.Match) and same_value(subject, first.subject)
    if isinstance(first, ast.If) and pattern_of(first.test, subject):
        whole = bool(first.orelse) or not isinstance(first.body[-1], ast.Return | ast.Raise | Leave)
    return (statements[:1], statements[1:]) if whole else (statements, [])


def other_cases(statements: list[ast.stmt], subject: Any) -> list[ast.match_case]:
    """The cases after one that has not matched, the last of which takes the subject off the stack."""
    if not statements:
        return []
    first, rest = statements[0], statements[1:]
    if isinstance(first, ast.Match) and same_value(subject, first.subject) and not rest:
        return first.cases
    if isinstance(first, ast.If) and not (first.orelse and rest):
        test, body, others = first.test, first.body, first.orelse or rest
        if isinstance(test, ast.UnaryOp):
            test, body, others = test.operand, rest, body
        if pattern := pattern_of(test, subject):
            return [case_of(pattern, body, first.lineno), *other_cases(others, subject)]
    if isinstance(first, ast.Expr) and same_value(subject, first.value):
        statements = rest
    return [case_of(ast.MatchAs(), statements, max(first_line(statements) - 1, 0))]


def pattern_of(test: Any, subject: Any) -> ast.pattern | None:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and same_value(subject, test.left)):
        return None
    value = test.comparators[0]
    if isinstance(test.ops[0], ast.Is) and isinstance(value, ast.Constant):
        return ast.MatchSingleton(value.value)  # type: ignore[arg-type]
    return ast.MatchValue(value) if isinstance(test.ops[0], ast.Eq) else None


def case_of(pattern: ast.pattern, body: list[ast.stmt], line: int | None) -> ast.match_case:
    made = ast.match_case(pattern, None, body or [ast.Pass(lineno=line or 0)])
    made.line = line or 0  # type: ignore[attr-defined]
    return made


def comprehension(target: ast.expr, iterator: ast.expr, inner: ast.stmt, display: Any) -> ast.expr | None:
    """A display to which loops add, as a comprehension."""
    generators = [ast.comprehension(target, iterator, [], 0)]
    while True:
        if isinstance(inner, ast.If) and len(inner.body) == 1 and not inner.orelse:
            generators[-1].ifs.append(inner.test)
            inner = inner.body[0]
        elif isinstance(inner, ast.For) and len(inner.body) == 1 and not inner.orelse:
            generators.append(ast.comprehension(inner.target, inner.iter, [], 0))
            inner = inner.body[0]
        else:
            break
    if not isinstance(inner, Append):
        return None
    elements = inner.elements
    if isinstance(display, ast.Dict) and len(elements) == 2 and not display.keys:
        return ast.DictComp(elements[0], elements[1], generators)
    if isinstance(display, ast.Set) and len(elements) == 1 and not display.elts:
        return ast.SetComp(elements[0], generators)
    if isinstance(display, ast.List) and len(elements) == 1 and not display.elts:
        return ast.ListComp(elements[0], generators)
    return None


def generator(target_loop: ast.stmt, iterable: ast.expr) -> ast.expr | None:
    """A loop that yields, as a generator expression over `iterable`."""
    if not isinstance(target_loop, ast.For) or target_loop.orelse:
        return None
    generators = [ast.comprehension(target_loop.target, iterable, [], 0)]
    inner: ast.stmt = target_loop
    while isinstance(inner, ast.For | ast.If) and len(inner.body) == 1 and not inner.orelse:
        if isinstance(inner, ast.If):
            generators[-1].ifs.append(inner.test)
        elif inner is not target_loop:
            generators.append(ast.comprehension(inner.target, inner.iter, [], 0))
        inner = inner.body[0]
    if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Yield) and inner.value.value:
        return ast.GeneratorExp(inner.value.value, generators)
    return None


def first_line(statements: list[ast.stmt]) -> int:
    return statements[0].lineno if statements else 0


def same_value(item: Any, node: ast.expr) -> bool:
    try:
        return expression(item) is node
    except Undone:
        return False
