"""Bugs to plant: what a compiler might get wrong, each as a change to a program that CPython then runs.

The tester must find each of them. They stand for mistakes in typing, control flow and code generation, and need no
compiler: the changed program plays the part of the compiled one.
"""

import ast
from collections.abc import Callable
from typing import Any

from compare import load

import numpy as np


class _Change(ast.NodeTransformer):
    """Replaces nodes by what `change` makes of them; None leaves them."""

    def __init__(self, change: Callable[[ast.AST], Any]) -> None:
        self.change = change

    def visit(self, node: ast.AST) -> Any:
        node = super().generic_visit(node)
        changed = self.change(node)
        return node if changed is None else changed


def _operator(old: type[ast.AST], new: str) -> Callable[[ast.AST], Any]:
    """`a old b` is the call `new(a, b)`."""

    def change(node: ast.AST) -> Any:
        if isinstance(node, ast.BinOp) and isinstance(node.op, old):
            return ast.Call(ast.Name(new, ast.Load()), [node.left, node.right], [])
        return None

    return change


def _without(kind: type[ast.AST], field: str) -> Callable[[ast.AST], Any]:
    """Statements of a kind lose a part."""

    def change(node: ast.AST) -> Any:
        if isinstance(node, kind) and getattr(node, field):
            if field == "finalbody" and not node.handlers:
                return node.body
            setattr(node, field, [])
            return node
        return None

    return change


def _call(name: str, new: str) -> Callable[[ast.AST], Any]:
    """Calls of a function, or of a method of that name, go to `new`."""

    def change(node: ast.AST) -> Any:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            return ast.Call(ast.Name(new, ast.Load()), node.args, node.keywords)
        return None

    return change


def _swapped(kind: type[ast.AST], old: type[ast.AST], new: ast.AST) -> Callable[[ast.AST], Any]:
    def change(node: ast.AST) -> Any:
        if isinstance(node, kind) and isinstance(getattr(node, "op", None), old):
            node.op = new
            return node
        return None

    return change


def _comparison(old: type[ast.AST], new: ast.AST) -> Callable[[ast.AST], Any]:
    def change(node: ast.AST) -> Any:
        if isinstance(node, ast.Compare):
            node.ops = [new if isinstance(op, old) else op for op in node.ops]
            return node
        return None

    return change


def _views_are_copies(node: ast.AST) -> Any:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript) and isinstance(node.targets[0], ast.Name):
        node.value = ast.Call(ast.Name("_copied", ast.Load()), [node.value], [])
        return node
    return None


def _arrays_augmented_anew(node: ast.AST) -> Any:
    """`a += b` makes a new array."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        left = ast.Name(node.target.id, ast.Load())
        return ast.Assign([node.target], ast.BinOp(left, node.op, node.value))
    return None


def _handlers_catch_all(node: ast.AST) -> Any:
    if isinstance(node, ast.ExceptHandler):
        node.type = ast.Name("Exception", ast.Load())
        return node
    return None


def _first_handler_only(node: ast.AST) -> Any:
    if isinstance(node, ast.Try) and node.handlers:
        node.handlers = node.handlers[:1]
        return node
    return None


def _both_arms(node: ast.AST) -> Any:
    """`a if c else b` computes both."""
    if isinstance(node, ast.IfExp):
        return ast.Call(ast.Name("_chosen", ast.Load()), [node.test, node.body, node.orelse], [])
    return None


def _one_turn_less(node: ast.AST) -> Any:
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "range"
        and len(node.args) == 3
    ):
        return ast.Call(ast.Name("_range", ast.Load()), node.args, [])
    return None


def _guards_ignored(node: ast.AST) -> Any:
    if isinstance(node, ast.match_case) and isinstance(node.pattern, ast.MatchValue | ast.MatchOr) and node.guard:
        node.guard = None
        return node
    return None


def _negative_indices_from_zero(node: ast.AST) -> Any:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.UnaryOp) and isinstance(node.slice.op, ast.USub):
        node.slice = ast.Constant(0)
        return node
    return None


def _step_ignored(node: ast.AST) -> Any:
    if isinstance(node, ast.Slice) and isinstance(node.step, ast.Constant):
        node.step = None
        return node
    return None


def _trunc_div(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b:
        return int(a / b)
    return a // b


def _trunc_mod(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b:
        return a - b * int(a / b)
    return a % b


def _true_div(a: Any, b: Any) -> Any:
    """NumPy's answer for Python's numbers."""
    return float(np.true_divide(a, b)) if isinstance(a, int | float) and isinstance(b, int | float) else a / b


def _widened(a: Any, b: Any) -> Any:
    """Small integers are added as 64-bit ones."""
    small = np.int8 | np.int16 | np.int32
    wide = lambda x: np.int64(x) if isinstance(x, small) else x
    if isinstance(a, np.ndarray) and a.dtype.kind == "i":
        a = a.astype(np.int64)
    return wide(a) + wide(b)


def _saturated(a: Any, b: Any) -> Any:
    result = a * b
    if isinstance(result, np.ndarray) and result.dtype.kind in "iu" and isinstance(a, np.ndarray):
        limits = np.iinfo(result.dtype)
        return np.clip(a.astype(float) * b, limits.min, limits.max).astype(result.dtype)
    return result


def _masked_shift(a: Any, b: Any) -> Any:
    strong = np.integer | np.ndarray
    if isinstance(a, strong) and isinstance(b, strong) and a.dtype.kind in "iu" and b.dtype.kind in "iu":
        return a << (b & 7)
    return a << b


HELPERS = {
    "_div": _trunc_div,
    "_mod": _trunc_mod,
    "_true": _true_div,
    "_wide": _widened,
    "_sat": _saturated,
    "_round": lambda x, *n: int(x + 0.5) if not n else round(x, *n),
    "_copied": lambda x: x.copy() if isinstance(x, np.ndarray) else x,
    "_chosen": lambda c, a, b: a if c else b,
    "_range": lambda a, b, c: range(a, b - (c > 0), c),
    "_int": lambda x: int(np.floor(x)) if isinstance(x, float) and np.isfinite(x) else int(x),
    "_shift": _masked_shift,
}

BUGS: dict[str, Callable[[ast.AST], Any]] = {
    "// truncates": _operator(ast.FloorDiv, "_div"),
    "% has the sign of the dividend": _operator(ast.Mod, "_mod"),
    "/ by zero is inf": _operator(ast.Div, "_true"),
    "small integers are added in 64 bits": _operator(ast.Add, "_wide"),
    "products saturate": _operator(ast.Mult, "_sat"),
    "counts of << are masked": _operator(ast.LShift, "_shift"),
    "round() rounds halves up": _call("round", "_round"),
    "int() rounds down": _call("int", "_int"),
    "the else of a for is lost": _without(ast.For, "orelse"),
    "the else of a while is lost": _without(ast.While, "orelse"),
    "finally is lost": _without(ast.Try, "finalbody"),
    "the else of a try is lost": _without(ast.Try, "orelse"),
    "handlers catch everything": _handlers_catch_all,
    "only the first handler": _first_handler_only,
    "both arms of a conditional expression": _both_arms,
    "range with a step ends early": _one_turn_less,
    "guards of cases are ignored": _guards_ignored,
    "negative indices are zero": _negative_indices_from_zero,
    "the step of a slice is ignored": _step_ignored,
    "views are copies": _views_are_copies,
    "augmented assignment makes a new array": _arrays_augmented_anew,
    "| is ^": _swapped(ast.BinOp, ast.BitOr, ast.BitXor()),
    "or is and": _swapped(ast.BoolOp, ast.Or, ast.And()),
    "<= is <": _comparison(ast.LtE, ast.Lt()),
}


def planted(name: str) -> Callable[[str], Any]:
    """A compiler with that bug."""

    def compiler(text: str) -> Any:
        tree = ast.fix_missing_locations(_Change(BUGS[name]).visit(ast.parse(text)))
        return load(ast.unparse(tree), "planted", lambda f: f, **HELPERS)

    return compiler
