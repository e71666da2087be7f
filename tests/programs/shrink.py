"""Makes a program that shows a difference smaller: statements and expressions are taken out while it stays.

Works on the syntax tree of the text, so it knows nothing of the grammar; a candidate that means nothing is simply not a
program with that difference.
"""

import ast
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from grammar import Program

Fails = Callable[[Program], bool]
CONSTANTS = [0, 1, 0.0, 1.0, True]


def shrink(program: Program, fails: Fails, seconds: float = 30.0) -> Program:
    """The smallest program found that still `fails`."""
    end = time.monotonic() + seconds
    program = _fewer_calls(program, fails)
    again = True
    while again and time.monotonic() < end:
        again = False
        for pass_ in (_without_statements, _flattened, _simpler):
            found = _greedy(program, pass_, fails, end)
            again |= found.text != program.text
            program = found
        found = _fewer_arguments(program, fails)
        again |= found is not program
        program = found
    return program


def _fewer_calls(program: Program, fails: Fails) -> Program:
    for call in program.calls:
        if fails(one := replace(program, calls=[call])):
            return one
    return program


def _fewer_arguments(program: Program, fails: Fails) -> Program:
    """Parameters that nothing reads are taken out."""
    for at in reversed(range(len(program.parameters))):
        name = program.parameters[at]
        tree = ast.parse(program.text)
        function = _main(tree)
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(function)):
            continue
        del function.args.args[at]
        calls = ["\n".join(line for line in call.split("\n") if not line.startswith(name)) for call in program.calls]
        parameters = [p for p in program.parameters if p != name]
        smaller = replace(program, text=ast.unparse(tree), calls=calls, parameters=parameters)
        if fails(smaller):
            program = smaller
    return program


def _main(tree: ast.Module) -> ast.FunctionDef:
    return next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "f")


def _greedy(program: Program, pass_: Callable[[ast.Module], Iterator[ast.Module]], fails: Fails, end: float) -> Program:
    """Takes every candidate that fails; the next candidates are those of what is left, from where it was."""
    at = 0
    while time.monotonic() < end:
        for number, tree in enumerate(pass_(ast.parse(program.text))):
            if number < at:
                continue
            at = number
            text = ast.unparse(ast.fix_missing_locations(tree))
            if len(text) < len(program.text) and _fails(fails, candidate := replace(program, text=text)):
                program = candidate
                break
            if time.monotonic() > end:
                return program
        else:
            return program
    return program


def _fails(fails: Fails, program: Program) -> bool:
    try:
        return fails(program)
    except Exception:
        return False


def _bodies(tree: ast.AST) -> Iterator[tuple[Any, str, list[Any]]]:
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            value = getattr(node, field, None)
            if isinstance(value, list) and value:
                yield node, field, value


def _without_statements(tree: ast.Module) -> Iterator[ast.Module]:
    """Without one statement, the last first: nothing before depends on it."""
    places = [(i, j) for i, (_, _, body) in enumerate(_bodies(tree)) for j in reversed(range(len(body)))]
    for i, j in places:
        other = copy.deepcopy(tree)
        _, field, body = list(_bodies(other))[i]
        if isinstance(body[j], ast.FunctionDef) and body[j].name == "f":
            continue
        del body[j]
        if field == "body" and not body:
            body.append(ast.Pass())
        yield other


def _flattened(tree: ast.Module) -> Iterator[ast.Module]:
    """A statement replaced by the statements in it; a function without its decorator."""
    places = [(i, j) for i, (_, _, body) in enumerate(_bodies(tree)) for j in range(len(body))]
    for i, j in places:
        for field in ("body", "orelse", "finalbody"):
            other = copy.deepcopy(tree)
            body = list(_bodies(other))[i][2]
            inner = getattr(body[j], field, None)
            if isinstance(body[j], ast.FunctionDef | ast.ExceptHandler | ast.match_case) or not isinstance(inner, list):
                continue
            body[j : j + 1] = inner
            yield other


def _expressions(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.MatchValue | ast.FormattedValue | ast.JoinedStr):
            continue
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not (
                field in ("func", "target", "targets") and not isinstance(node, ast.Call)
            ):
                yield node, field, None, value
            elif isinstance(value, list) and field not in ("targets", "decorator_list"):
                for k, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        yield node, field, k, item


def _simpler(tree: ast.Module) -> Iterator[ast.Module]:
    """An expression replaced by one inside it, or by a constant; an item of a tuple or list taken out."""
    count = sum(1 for _ in _expressions(tree))
    for at in range(count):
        node, field, k, value = _nth(tree, at)
        if isinstance(getattr(value, "ctx", None), ast.Store | ast.Del):
            continue
        inside = [n for n in ast.walk(value) if isinstance(n, ast.expr) and n is not value][:12]
        for number in range(-1, len(inside) + len(CONSTANTS)):
            if number == -1 and not (k is not None and isinstance(node, ast.Tuple | ast.List | ast.BoolOp | ast.Call)):
                continue
            if number >= len(inside) and isinstance(value, ast.Constant | ast.Name):
                break
            other = copy.deepcopy(tree)
            node2, _, _, value2 = _nth(other, at)
            if number == -1:
                del getattr(node2, field)[k]
                if isinstance(node2, ast.BoolOp) and len(node2.values) < 2:
                    continue
            else:
                parts = [n for n in ast.walk(value2) if isinstance(n, ast.expr) and n is not value2][:12]
                new = parts[number] if number < len(inside) else ast.Constant(CONSTANTS[number - len(inside)])
                if isinstance(getattr(new, "ctx", None), ast.Store):
                    continue
                if k is None:
                    setattr(node2, field, new)
                else:
                    getattr(node2, field)[k] = new
            yield other


def _nth(tree: ast.AST, at: int) -> tuple[ast.AST, str, int | None, ast.expr]:
    return next(found for number, found in enumerate(_expressions(tree)) if number == at)
