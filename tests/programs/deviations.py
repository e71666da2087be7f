"""What docs/deviations.md allows: a program in a form that notices whether it does what an entry is about.

`watched` is that form of a program's function, to be run by CPython. What it notices are the entries V1, V3 to V5 and
V22 to V26. Whenever an int leaves 64 bits (V1) it calls a function, which may raise what Weft must raise there.
"""

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

from grammar import Program

import numpy as np


class Watched(ast.NodeTransformer):
    """A program in which operations report to functions of these names."""

    def _call(self, name: str, *arguments: ast.expr) -> ast.expr:
        return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])

    def _seen(self, node: ast.expr, of: ast.expr) -> ast.expr:
        # Constants are computed exactly: only what is stored of them has 64 bits.
        constant = all(
            isinstance(n, ast.Constant | ast.operator | ast.unaryop | ast.BinOp | ast.UnaryOp) for n in ast.walk(of)
        )
        return self._call("_folded" if constant else "_seen", node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        plain = ast.BinOp(node.left, node.op, node.right)
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            return self._seen(self._call("_power", node.left, node.right), plain)
        if isinstance(node.op, ast.LShift):
            return self._seen(self._call("_shift", node.left, node.right), plain)
        return self._seen(node, plain)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        plain = ast.UnaryOp(node.op, node.operand)
        if not isinstance(node.operand, ast.Constant):
            self.generic_visit(node)
        return self._seen(node, plain)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        names = {ast.In: "_in", ast.NotIn: "_not_in", ast.Eq: "_equal", ast.NotEq: "_unequal"}
        if len(node.ops) > 1 or type(node.ops[0]) not in names:
            return node
        return self._call(names[type(node.ops[0])], node.left, node.comparators[0])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "sum":
            node.func.id = "_sum"
        if isinstance(node.func, ast.Name) and node.func.id == "sorted" and node.args:
            node.args[0] = self._call("_ordered", node.args[0])
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "astype":
                node.func.value = self._call("_cast", node.func.value)
            elif re.fullmatch(r"u?int\d+", node.func.attr):
                node.args = [self._call("_cast", argument) for argument in node.args]
            elif node.func.attr in ("fmin", "fmax"):
                node.args = [ast.Starred(self._call("_extreme", *node.args), ast.Load())]
            elif node.func.attr in ("signbit", "copysign"):
                node.args = [self._call("_signed", argument) for argument in node.args]
            elif node.func.attr == "reshape":
                node.func.value = self._call("_shaped", node.func.value)
            elif node.func.attr in ("min", "max"):
                node.func.value = self._call("_least", node.func.value)
                node.args = [self._call("_least", argument) for argument in node.args]
            elif node.func.attr == "sort":
                node.func.value = self._call("_ordered", node.func.value)
            elif node.func.attr in ("remove", "index", "count") and len(node.args) == 1:
                return self._call("_sought", node.func.value, ast.Constant(node.func.attr), node.args[0])
        return self._call("_seen", node)

    def _taken_apart(self, target: ast.Subscript) -> list[ast.stmt]:
        """The array or list, and the index, evaluated once and in Python's order."""
        index = ast.Subscript(ast.Name("_index_of", ast.Load()), target.slice, ast.Load())
        parts = {"_target": target.value, "_index": index}
        return [ast.Assign([ast.Name(name, ast.Store())], value) for name, value in parts.items()]

    def _part(self, context: ast.expr_context) -> ast.Subscript:
        return ast.Subscript(ast.Name("_target", ast.Load()), ast.Name("_index", ast.Load()), context)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            # What leaves 64 bits is raised before it is assigned.
            name, load = node.target.id, ast.Load()
            first = ast.Assign([ast.Name("_next", ast.Store())], ast.Name(name, load))
            again = ast.AugAssign(ast.Name("_next", ast.Store()), node.op, node.value)
            last = ast.Assign([ast.Name(name, ast.Store())], ast.Name("_next", load))
            return [first, again, ast.Expr(self._call("_seen", ast.Name("_next", load))), last]
        if not isinstance(node.target, ast.Subscript):
            return node
        names = [ast.Name(name, ast.Load()) for name in ("_target", "_index")]
        kept = ast.Expr(self._call("_stored", *names, ast.Constant(None)))
        again = ast.AugAssign(self._part(ast.Store()), node.op, node.value)
        return [*self._taken_apart(node.target), kept, again, ast.Expr(self._call("_seen", self._part(ast.Load())))]

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        target = node.targets[0]
        if not isinstance(target, ast.Subscript) or len(node.targets) > 1:
            return node
        first = ast.Assign([ast.Name("_value", ast.Store())], node.value)
        names = [ast.Name(name, ast.Load()) for name in ("_target", "_index", "_value")]
        stored = ast.Assign([self._part(ast.Store())], self._call("_stored", *names))
        return [first, *self._taken_apart(target), stored]

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self._call("_folded", node) if type(node.value) is int else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        # Where one of several values is chosen it is stored, and a constant too has 64 bits then.
        self.generic_visit(node)
        return self._call("_seen", node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        return self._call("_seen", node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node


class _IndexOf:
    """`x[…]` gives what stands between the brackets."""

    def __getitem__(self, index: Any) -> Any:
        return index


def watched(program: Program, noticed: set[str], left: Callable[[bool], None]) -> Callable[..., Any]:
    """The function of a program, which adds the entries it meets to `noticed`, and calls `left` for each V1.

    `left` hears whether it was a constant.
    """

    def beyond(value: Any) -> bool:
        if type(value) is tuple:
            return any(map(beyond, value))
        return type(value) is int and not -(2**63) <= value < 2**63

    def folded(value: Any) -> Any:
        if beyond(value):
            noticed.add("V1")
            left(True)
        return value

    def seen(value: Any) -> Any:
        if beyond(value):
            noticed.add("V1")
            left(False)
        return value

    def total(items: Any, start: Any = 0) -> Any:
        def each() -> Iterator[Any]:
            so_far = start
            for item in items:
                if type(so_far) in (int, bool) and type(item) in (int, bool):
                    so_far = seen(so_far + item)
                else:
                    so_far = None
                yield item

        return sum(each(), start)

    def power(base: Any, exponent: Any) -> Any:
        if type(base) in (int, bool) and type(exponent) in (int, bool) and exponent < 0:
            noticed.add("V3")
        if type(base) is float and base < 0 and exponent != int(exponent):
            noticed.add("V4")
        return base**exponent

    def shift(number: Any, count: Any) -> Any:
        if type(number) in (int, bool) and type(count) in (int, bool) and count > 64 and number:
            noticed.add("V1")
            left(False)
        return number << count

    def cast(value: Any) -> Any:
        if getattr(getattr(value, "dtype", None), "kind", "") == "f" or type(value) is float:
            if any(not abs(x) < 2**31 for x in np.ravel(np.asarray(value)).tolist()):
                noticed.add("V5")
        return value

    def extreme(x: Any, y: Any) -> tuple[Any, Any]:
        if np.any((np.asarray(x) == 0) & (np.asarray(y) == 0) & (np.signbit(1.0 * x) != np.signbit(1.0 * y))):
            noticed.add("V22")
        return x, y

    def least(x: Any) -> Any:
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and len({*np.signbit(x[x == 0]).tolist()}) == 2:
            noticed.add("V22")
        return x

    def signed(x: Any) -> Any:
        if np.any(np.isnan(np.asarray(x, dtype=np.float64))):
            noticed.add("V24")
        return x

    not_surely_in_order: list[np.ndarray] = []

    def shaped(x: Any) -> Any:
        if isinstance(x, np.ndarray) and (not x.flags.c_contiguous or not_surely_in_order):
            noticed.add("V23")
        return x

    def stored(target: Any, index: Any, value: Any) -> Any:
        if not isinstance(target, np.ndarray):
            return value
        parts = index if isinstance(index, tuple) else (index,)
        masks = [part for part in parts if isinstance(part, np.ndarray) and part.dtype == np.bool_]
        if any(overlaps(mask, target) for mask in masks):
            noticed.add("V25")
        if masks and isinstance(value, np.ndarray) and overlaps(value, target):
            noticed.add("V25")
        return cast(value) if target.dtype.kind in "iu" else value

    def is_itself(x: Any, y: Any) -> bool:
        """Whether Python takes two numbers that are not equal to be the same: a nan that is one object."""
        return x is y and isinstance(x, float | np.floating) and bool(x != x)

    def compared(x: Any, y: Any) -> None:
        if isinstance(x, tuple | list) and isinstance(y, tuple | list):
            for a, b in zip(x, y):
                compared(a, b)
        elif is_itself(x, y):
            noticed.add("V26")

    def ordered(items: Any) -> Any:
        items = items if isinstance(items, list) else list(items)
        if any(part != part for item in items for part in (item if isinstance(item, tuple) else (item,))):
            noticed.add("V26")
        return items

    def looked_for(x: Any, items: Any) -> None:
        if isinstance(items, tuple | list):
            for item in items:
                compared(x, item)

    def sought(owner: Any, method: str, x: Any) -> Any:
        looked_for(x, owner)
        return getattr(owner, method)(x)

    def is_in(x: Any, items: Any) -> bool:
        looked_for(x, items)
        return x in items

    def equal(x: Any, y: Any) -> Any:
        if isinstance(x, tuple | list):
            compared(x, y)
        return x == y

    def unequal(x: Any, y: Any) -> Any:
        if isinstance(x, tuple | list):
            compared(x, y)
        return x != y

    tree = ast.fix_missing_locations(Watched().visit(ast.parse(program.text)))
    scope: dict[str, Any] = {"__name__": "program", "njit": lambda f: f}
    scope |= {"_folded": folded, "_seen": seen, "_sum": total, "_power": power, "_shift": shift, "_cast": cast}
    scope |= {"_stored": stored, "_extreme": extreme, "_least": least, "_shaped": shaped, "_signed": signed}
    scope |= {"_in": is_in, "_not_in": lambda x, items: not is_in(x, items), "_equal": equal, "_unequal": unequal}
    scope |= {"_sought": sought, "_ordered": ordered, "_index_of": _IndexOf()}
    exec(compile(tree, "<watched>", "exec"), scope)

    def called(*args: Any) -> Any:
        # What is assigned to the name of such an argument is taken to be like it.
        arrays = [x for x in args if isinstance(x, np.ndarray)]
        not_surely_in_order.extend(x for x in arrays if not (x.flags.writeable or x.flags.c_contiguous))
        return scope["f"](*args)

    return called


def overlaps(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether arrays share memory without being the same elements in the same order."""
    same = a.__array_interface__["data"] == b.__array_interface__["data"] and a.strides == b.strides
    return np.shares_memory(a, b) and not (same and a.shape == b.shape)
