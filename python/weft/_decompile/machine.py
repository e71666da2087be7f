"""Runs the steps of a block on a stack of expressions; what it stores, calls and raises comes out as statements."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable
from types import CodeType
from typing import Any

from weft._decompile.items import (
    EXCEPTION,
    LOOP_VALUE,
    NULL,
    SELF,
    Append,
    Augmented,
    Caught,
    Chain,
    Failure,
    Function,
    Known,
    Mark,
    Match,
    Part,
    Reraise,
    Target,
    Unpacked,
    constant,
    expression,
)
from weft._decompile.steps import Step, Undone

_BINARY: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow,
    "@": ast.MatMult, "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor, "<<": ast.LShift, ">>": ast.RShift,
}  # fmt: skip
_COMPARE: dict[str, type[ast.cmpop]] = {
    "<": ast.Lt, "<=": ast.LtE, "==": ast.Eq, "!=": ast.NotEq, ">": ast.Gt, ">=": ast.GtE,
}  # fmt: skip
_UNARY: dict[str, type[ast.unaryop]] = {
    "UNARY_NEGATIVE": ast.USub, "UNARY_POSITIVE": ast.UAdd, "UNARY_INVERT": ast.Invert, "UNARY_NOT": ast.Not,
}  # fmt: skip
_DISPLAYS: dict[str, Callable[[list[ast.expr]], ast.expr]] = {
    "BUILD_TUPLE": lambda elements: ast.Tuple(elements, ast.Load()),
    "BUILD_LIST": lambda elements: ast.List(elements, ast.Load()),
    "BUILD_SET": ast.Set,
}
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class Machine:
    """Runs blocks. One machine is shared by the blocks of a function, so that it knows which value came first."""

    def __init__(self, code: CodeType, build: Callable[[Function], Any]) -> None:
        self.code = code
        self.build = build  # of a lambda: its expression; of a comprehension: a function of its iterable
        self.order: dict[int, int] = {}
        self.kept: list[Any] = []  # so that ids stay what they are
        self.tested: set[int] = set()  # ids of values that were the test of a branch and stayed on the stack
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.stack: list[Any] = []
        self.statements: list[ast.stmt] = []
        self.line: int | None = None
        self.unused: list[Part] = []  # parts whose name the next store writes over: `_, _ = pair`
        self.swapped: list[tuple[Any, ast.expr]] = []
        self.swapping = 0

    def run(self, steps: list[Step], stack: list[Any], line: int | None) -> None:
        self.stack, self.statements, self.line = [*stack], [], line
        for step in steps:
            if step.place[0] is not None and (self.line is None or step.place[0] < self.line):
                self.line = step.place[0]
            run = getattr(self, f"_{step.op.lower()}", None)
            if run is not None:
                run(step.arg)
            elif step.op in _UNARY:
                self.push(ast.UnaryOp(_UNARY[step.op](), self.value()))
            elif step.op in _DISPLAYS:
                self.push(_DISPLAYS[step.op](self.values(step.arg)))
            else:
                raise Undone
        if self.swapping:
            raise Undone

    # The stack.

    def push(self, item: Any) -> None:
        self.note(item)
        self.stack.append(item)

    def note(self, item: Any) -> None:
        if id(item) not in self.order:
            self.order[id(item)] = len(self.order)
            self.kept.append(item)

    def pop(self) -> Any:
        if not self.stack:
            raise Undone
        return self.stack.pop()

    def value(self) -> ast.expr:
        return expression(self.pop())

    def values(self, count: int) -> list[ast.expr]:
        return [expression(item) for item in self.items(count)]

    def items(self, count: int) -> list[Any]:
        if count > len(self.stack):
            raise Undone
        taken = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return taken

    def emit(self, statement: ast.stmt) -> None:
        if self.swapping:
            raise Undone
        statement.lineno = self.line or 0
        self.line = None
        self.statements.append(statement)

    def _copy(self, n: int) -> None:
        if n > len(self.stack):
            raise Undone
        self.stack.append(self.stack[-n])

    def _swap(self, n: int) -> None:
        if n > len(self.stack):
            raise Undone
        self.stack[-1], self.stack[-n] = self.stack[-n], self.stack[-1]

    def _pop_top(self, _: Any) -> None:
        item = self.pop()
        if isinstance(item, Part):
            self.unused.append(item)
            return
        if isinstance(item, Mark) or id(item) in self.tested:
            return
        self.emit(ast.Expr(expression(item)))

    def _push_null(self, _: Any) -> None:
        self.stack.append(NULL)

    # Names.

    def _load_const(self, value: Any) -> None:
        self.push(Function(value, self.build) if isinstance(value, CodeType) else Known(value, constant(value)))

    def _load_name(self, name: str) -> None:
        if not (name.isidentifier() or name == ".0") or keyword.iskeyword(name):
            raise Undone
        self.push(ast.Name(name, ast.Load()))

    _load_fast = _load_global = _load_deref = _load_closure = _load_name

    def _load_fast_and_clear(self, name: str) -> None:
        self.stack.append(Mark(f"what {name} was"))

    def _load_assertion_error(self, _: Any) -> None:
        self.push(Failure(None))

    def _store_fast(self, name: str) -> None:
        self.store(ast.Name(name, ast.Store()), self.pop())

    def _store_global(self, name: str) -> None:
        self.globals.add(name)
        self._store_fast(name)

    def _store_deref(self, name: str) -> None:
        if name in self.code.co_freevars:
            self.nonlocals.add(name)
        self._store_fast(name)

    def _delete_fast(self, name: str) -> None:
        self.emit(ast.Delete([ast.Name(name, ast.Del())]))

    _delete_deref = _delete_fast

    # Stores.

    def store(self, target: ast.expr, item: Any) -> None:
        unused, self.unused = self.unused, []
        for part in unused:
            self.store_part(target, part)
        if item is LOOP_VALUE:
            self.emit(Target(target))
        elif item is EXCEPTION and isinstance(target, ast.Name):
            self.emit(Caught(target.id))
        elif isinstance(item, Mark):
            pass  # what a name was before a comprehension
        elif isinstance(item, Part):
            self.store_part(target, item)
        elif self.stack and self.stack[-1] is item:
            chain = item if isinstance(item, Chain) else Chain([], item)
            self.stack[-1] = Chain([*chain.targets, target], chain.value)
            self.note(self.stack[-1])
        elif self.swapping or self.beneath():
            self.store_swapped(target, item)
        else:
            self.assign(target, item)

    def store_part(self, target: ast.expr, part: Part) -> None:
        whole = part.whole
        whole.targets[part.at] = ast.Starred(target, ast.Store()) if part.starred else target
        if None not in whole.targets:
            self.store(ast.Tuple([t for t in whole.targets if t], ast.Store()), whole.value)

    def beneath(self) -> int:
        """How many values lie on the stack, down to what belongs to statements around."""
        count = 0
        for item in reversed(self.stack):
            if isinstance(item, Mark):
                break
            count += 1
        return count

    def store_swapped(self, target: ast.expr, item: Any) -> None:
        """`a, b = b, a` makes no tuple: values are pushed, and stored in the order of the targets, or the other way."""
        if not self.swapping:
            self.swapping = self.beneath() + 1
        self.swapped.append((item, target))
        if len(self.swapped) < self.swapping:
            return
        pairs = sorted(self.swapped, key=lambda pair: self.order[id(pair[0])])
        self.swapped, self.swapping = [], 0
        values: list[ast.expr] = [expression(item) for item, _ in pairs]
        targets = ast.Tuple([target for _, target in pairs], ast.Store())
        self.emit(ast.Assign([targets], ast.Tuple(values, ast.Load())))

    def assign(self, target: ast.expr, item: Any) -> None:
        if isinstance(item, Augmented):
            if _text(target) != _text(item.left):
                raise Undone
            self.emit(ast.AugAssign(target, item.op, item.right))  # type: ignore[arg-type]
        elif isinstance(item, Function) and item.code.co_name != "<lambda>":
            if not isinstance(target, ast.Name) or target.id != item.code.co_name:
                raise Undone
            self.emit(item.build(item))
        elif isinstance(item, Chain):
            self.emit(ast.Assign([*item.targets, target], expression(item.value)))
        else:
            self.emit(ast.Assign([target], expression(item)))

    def _store_subscr(self, _: Any) -> None:
        key, of = self.value(), self.value()
        self.store(ast.Subscript(of, key, ast.Store()), self.pop())

    def _store_slice(self, _: Any) -> None:
        stop, start, of = self.pop(), self.pop(), self.value()
        self.store(ast.Subscript(of, _slice(start, stop), ast.Store()), self.pop())

    def _delete_subscr(self, _: Any) -> None:
        key, of = self.value(), self.value()
        self.emit(ast.Delete([ast.Subscript(of, key, ast.Del())]))

    def _store_attr(self, name: str) -> None:
        of = self.value()
        self.store(ast.Attribute(of, name, ast.Store()), self.pop())

    def _delete_attr(self, name: str) -> None:
        self.emit(ast.Delete([ast.Attribute(self.value(), name, ast.Del())]))

    def _unpack_sequence(self, count: int) -> None:
        whole = Unpacked(self.pop(), [None] * count)
        self.stack += [Part(whole, at) for at in reversed(range(count))]

    def _unpack_ex(self, counts: int) -> None:
        before, after = counts & 0xFF, counts >> 8
        whole = Unpacked(self.pop(), [None] * (before + 1 + after))
        self.stack += [Part(whole, at, at == before) for at in reversed(range(before + 1 + after))]

    # Operators.

    def _binary_op(self, operator: str) -> None:
        right, left = self.value(), self.value()
        op = _BINARY[operator.removesuffix("=")]()
        self.push(Augmented(left, op, right) if operator.endswith("=") else ast.BinOp(left, op, right))

    def _compare_op(self, operator: str) -> None:
        self.compare(_COMPARE[operator]())

    def _is_op(self, inverted: int) -> None:
        self.compare(ast.IsNot() if inverted else ast.Is())

    def _contains_op(self, inverted: int) -> None:
        self.compare(ast.NotIn() if inverted else ast.In())

    def compare(self, op: ast.cmpop) -> None:
        right, left = self.value(), self.value()
        self.push(ast.Compare(left, [op], [right]))

    def _binary_subscr(self, _: Any) -> None:
        key, of = self.value(), self.value()
        self.push(ast.Subscript(of, key, ast.Load()))

    def _binary_slice(self, _: Any) -> None:
        stop, start, of = self.pop(), self.pop(), self.value()
        self.push(ast.Subscript(of, _slice(start, stop), ast.Load()))

    def _build_slice(self, count: int) -> None:
        start, stop, *step = self.items(count)
        self.push(_slice(start, stop, *step))

    def _load_attr(self, name: str) -> None:
        self.push(ast.Attribute(self.value(), name, ast.Load()))

    def _load_method(self, name: str) -> None:
        self._load_attr(name)
        self.stack.append(SELF)

    # Displays.

    def _build_map(self, count: int) -> None:
        items = self.values(2 * count)
        self.push(ast.Dict([*items[::2]], items[1::2]))

    def _build_const_key_map(self, count: int) -> None:
        keys = self.pop()
        if not isinstance(keys, Known):
            raise Undone
        self.push(ast.Dict([constant(key) for key in keys.value], self.values(count)))

    def _list_extend(self, depth: int) -> None:
        added, display = self.pop(), self.stack[-depth]
        if depth != 1 or not isinstance(display, ast.List | ast.Set):
            raise Undone
        if isinstance(added, Known) and isinstance(added.value, tuple | frozenset) and not display.elts:
            display.elts += [constant(value) for value in added.value]
        else:
            display.elts.append(ast.Starred(expression(added), ast.Load()))

    _set_update = _list_extend

    def _list_to_tuple(self, _: Any) -> None:
        display = self.pop()
        if not isinstance(display, ast.List):
            raise Undone
        self.push(ast.Tuple(display.elts, ast.Load()))

    def _dict_update(self, depth: int) -> None:
        added, display = self.value(), self.stack[-depth]
        if depth != 1 or not isinstance(display, ast.Dict):
            raise Undone
        # Long displays come in parts of 15 or more.
        if isinstance(added, ast.Dict) and len(display.keys) >= 15:
            display.keys += added.keys
            display.values += added.values
        else:
            display.keys.append(None)
            display.values.append(added)

    _dict_merge = _dict_update

    def _list_append(self, depth: int) -> None:
        if depth == 1 and isinstance(self.stack[-2], ast.List | ast.Set):
            added = self.value()
            self.stack[-1].elts.append(added)
        else:
            self.append([self.value()])

    _set_add = _list_append

    def _map_add(self, depth: int) -> None:
        value, key = self.value(), self.value()
        if depth == 1 and self.stack and isinstance(self.stack[-1], ast.Dict):
            self.stack[-1].keys.append(key)
            self.stack[-1].values.append(value)
        else:
            self.append([key, value])

    def append(self, elements: list[ast.expr]) -> None:
        self.emit(Append(elements))

    def _format_value(self, flags: int) -> None:
        spec = self.value() if flags & 4 else None
        self.formatted({0: -1, 1: 115, 2: 114, 3: 97}[flags & 3], spec)

    def formatted(self, conversion: int, spec: ast.expr | None) -> None:
        value: Any = self.pop()
        if isinstance(value, ast.FormattedValue):  # 3.13 converts in a step of its own
            value, conversion = value.value, value.conversion
        if spec is not None and not isinstance(spec, ast.JoinedStr):
            spec = ast.JoinedStr([spec])
        self.push(ast.JoinedStr([ast.FormattedValue(expression(value), conversion, spec)]))

    def _convert_value(self, kind: Any) -> None:
        conversion = {str: 115, repr: 114, ascii: 97}.get(kind, {1: 115, 2: 114, 3: 97}.get(kind, -1))
        self.push(ast.FormattedValue(self.value(), conversion, None))

    def _format_simple(self, _: Any) -> None:
        self.formatted(-1, None)

    def _format_with_spec(self, _: Any) -> None:
        self.formatted(-1, self.value())

    def _build_string(self, count: int) -> None:
        parts: list[ast.expr] = []
        for part in self.values(count):
            parts += part.values if isinstance(part, ast.JoinedStr) else [part]
        self.push(ast.JoinedStr(parts))

    # Calls.

    def _call(self, how: tuple[int, tuple[str, ...]]) -> None:
        self.call(self.items(how[0]), how[1])

    def _call_kw(self, count: int) -> None:
        names = self.pop()
        if not isinstance(names, Known):
            raise Undone
        self.call(self.items(count), names.value)

    def call(self, arguments: list[Any], names: tuple[str, ...]) -> None:
        called = self.called(arguments)
        if isinstance(called, Failure):
            if len(arguments) != 1:
                raise Undone
            self.push(Failure(expression(arguments[0])))
            return
        if isinstance(called, Function) and called.code.co_name in _COMPREHENSIONS:
            self.push(called.build(called)(*map(expression, arguments)))
            return
        if len(arguments) == 1 and isinstance(arguments[0], Function) and arguments[0].code.co_name != "<lambda>":
            arguments[0].decorators.insert(0, expression(called))
            self.push(arguments[0])
            return
        positional = [expression(item) for item in arguments[: len(arguments) - len(names)]]
        by_name = zip(names, map(expression, arguments[len(arguments) - len(names) :]), strict=True)
        keywords = [ast.keyword(name, value) for name, value in by_name]
        self.push(ast.Call(expression(called), positional, keywords))

    def called(self, arguments: list[Any]) -> Any:
        """What is called; the object of a method, and what is decorated, come before the arguments."""
        second, first = self.pop(), self.pop()
        if first is NULL:
            return second
        if second is not NULL and second is not SELF:
            arguments.insert(0, second)
        return first

    def _call_function_ex(self, flags: int) -> None:
        named = self.value() if flags & 1 else None
        unnamed = self.pop()
        arguments: list[ast.expr]
        if isinstance(unnamed, ast.Tuple):
            arguments = unnamed.elts
        elif isinstance(unnamed, Known) and isinstance(unnamed.value, tuple):
            arguments = [constant(value) for value in unnamed.value]
        else:
            arguments = [ast.Starred(expression(unnamed), ast.Load())]
        keywords = []
        if isinstance(named, ast.Dict):
            for key, value in zip(named.keys, named.values, strict=True):
                name = key.value if isinstance(key, ast.Constant) else None
                if key is not None and not isinstance(name, str):
                    raise Undone
                keywords.append(ast.keyword(name if isinstance(name, str) else None, value))
        elif named is not None:
            keywords.append(ast.keyword(None, named))
        second, first = self.pop(), self.pop()
        if NULL not in (first, second):
            raise Undone
        self.push(ast.Call(expression(second if first is NULL else first), arguments, keywords))

    # Functions.

    def _make_function(self, flags: int | None) -> None:
        function = self.pop()
        if not isinstance(function, Function):
            raise Undone
        for flag in (8, 4, 2, 1):
            if (flags or 0) & flag:
                _give(function, flag, self.pop())
        self.push(function)

    def _set_function_attribute(self, flag: int) -> None:
        function, attribute = self.pop(), self.pop()
        if not isinstance(function, Function):
            raise Undone
        _give(function, flag, attribute)
        self.push(function)

    def _return_value(self, _: Any) -> None:
        value = self.value()
        none = isinstance(value, ast.Constant) and value.value is None
        self.emit(ast.Return(None if none else value))

    def _raise_varargs(self, count: int) -> None:
        if count == 1 and self.stack and isinstance(self.stack[-1], Failure):
            self.emit(ast.Assert(ast.Constant(False), self.pop().message))
            return
        cause = self.value() if count == 2 else None
        self.emit(ast.Raise(self.value() if count else None, cause))

    # Handlers of exceptions.

    def _push_exc_info(self, _: Any) -> None:
        self.stack += [Mark("previous exception"), EXCEPTION]

    def _check_exc_match(self, _: Any) -> None:
        self.push(Match(self.value()))

    def _pop_except(self, _: Any) -> None:
        if not isinstance(self.pop(), Mark):
            raise Undone

    def _reraise(self, _: Any) -> None:
        self.emit(Reraise())

    def _return_generator(self, _: Any) -> None:
        self.stack.append(Mark("generator"))

    def _yield_value(self, _: Any) -> None:
        self.push(ast.Yield(self.value()))

    def _get_iter(self, _: Any) -> None:
        pass  # a loop or a comprehension takes it from here


def _text(node: ast.expr) -> str:
    return ast.unparse(node)


def _slice(start: Any, stop: Any, *step: Any) -> ast.Slice:
    """`None` is what is left out, and a step of None is written."""
    ends = [None if isinstance(end, Known) and end.value is None else expression(end) for end in (start, stop)]
    return ast.Slice(*ends, *map(expression, step))


def _give(function: Function, flag: int, attribute: Any) -> None:
    if flag == 8:
        return
    if isinstance(attribute, Known) and isinstance(attribute.value, tuple):
        elements = [constant(value) for value in attribute.value]
    elif isinstance(attribute, ast.Tuple):
        elements = attribute.elts
    elif isinstance(attribute, ast.Dict):
        elements = [part for pair in zip(attribute.keys, attribute.values, strict=True) for part in pair if part]
    else:
        raise Undone
    if flag == 1:
        function.defaults = elements
        return
    names = [str(key.value) for key in elements[::2] if isinstance(key, ast.Constant)]
    pairs = dict(zip(names, elements[1::2], strict=True))
    if flag == 2:
        function.keyword_defaults = pairs
    else:
        function.annotations = pairs
