"""The text of functions of which Python has kept none, rebuilt from their bytecode.

The plain prompt, `exec` and standard input leave no text behind. Hooks on the compiler could keep it, but they would
slow down what has nothing to do with Weft, and see neither the prompt nor what ran before Weft was imported; bytecode
is always there. In comes a code object; out comes text that compiles to the same code: that is proved (`proof.py`), so
that a mistake here can only mean that nothing comes out. Statements stand on the lines on which they were written.

`steps.py` reads bytecode, `tries.py` and `graph.py` find bodies of `try`, blocks and loops, `machine.py` runs blocks on
a stack of expressions (`items.py`), `structure.py` and `clauses.py` make statements of branches, loops and handlers,
`text.py` writes them down.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from weft._decompile import text
from weft._decompile.clauses import generator
from weft._decompile.graph import graph
from weft._decompile.items import Function
from weft._decompile.machine import Machine
from weft._decompile.proof import same
from weft._decompile.steps import VERSION, Undone, read
from weft._decompile.structure import Structure

_FUTURE_FLAGS = 0x1FE0000
_ANNOTATIONS = 0x1000000


def rebuilt(
    code: CodeType, defaults: tuple[Any, ...] = (), keyword_defaults: dict[str, Any] | None = None
) -> str | None:
    """The text of a function, or None. Its first line is the function's; defaults are written for the reader."""
    try:
        function = Function(code, _build)
        function.defaults = [text.default(value) for value in defaults]
        function.keyword_defaults = {k: text.default(v) for k, v in (keyword_defaults or {}).items()}
        made = _build(function)
        if not isinstance(made, ast.stmt | ast.expr):
            return None
        written = text.write(made, code.co_firstlineno)
        return written if _proved(written, code) else None
    except (Undone, RecursionError):
        return None


def _proved(written: str, code: CodeType) -> bool:
    """Whether the text compiles to the same code."""
    free = ", ".join(code.co_freevars)
    # A function that calls itself means the global one, unless it closes over itself.
    own = "" if code.co_name == "<lambda>" or code.co_name in code.co_freevars else f" global {code.co_name}\n"
    imports = "".join(f"import {name}\n" for name in sorted(set(_imported(code))))
    inside = "".join(f" {line}" for line in written.splitlines(keepends=True))
    try:
        flags = code.co_flags & _FUTURE_FLAGS
        outer: Any = compile(f"{imports}def enclosing({free}):\n{own}{inside}", code.co_filename, "exec", flags, True)
    except (SyntaxError, ValueError):
        return False
    enclosing = next(constant for constant in outer.co_consts if isinstance(constant, CodeType))
    inner = [constant for constant in enclosing.co_consts if isinstance(constant, CodeType)]
    return any(same(code, candidate) for candidate in inner)


def _imported(code: CodeType) -> Iterator[str]:
    """Names that the module imported, as far as that shows: their attributes are not called as methods."""
    steps, _ = read(code)
    null, load, attribute = (2, 0, 1) if VERSION >= (3, 13) else (0, 1, 2)
    loads = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF")
    pairs = itertools.pairwise(steps)
    methods = [first.arg for first, second in pairs if second.op == "LOAD_METHOD" and first.op in loads]
    for three in zip(steps, steps[1:], steps[2:]):
        ops = [step.op for step in three]
        if ops[load] in loads and ops[null] == "PUSH_NULL" and ops[attribute] == "LOAD_ATTR":
            name = three[load].arg
            if name.isidentifier() and name not in methods:
                yield name
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _imported(constant)


def _build(function: Function) -> Any:
    """A `def`, a lambda, or, for a comprehension, what makes one of its iterable."""
    code = function.code
    machine = Machine(code, _build)
    statements = Structure(graph(code), machine).whole()
    if code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
        return _over(statements)
    parameters = _parameters(function)
    if code.co_name == "<lambda>":
        return ast.Lambda(parameters, text.one_expression(statements))
    if not code.co_name.isidentifier():
        raise Undone
    text.without_last_return(statements)
    declared: list[ast.stmt] = []
    for kind, names in ((ast.Global, machine.globals), (ast.Nonlocal, machine.nonlocals)):
        if names:
            declared.append(kind(sorted(names), lineno=0))
    made = ast.FunctionDef(code.co_name, parameters, [*declared, *statements] or [ast.Pass()], function.decorators)
    made.lineno = code.co_firstlineno
    made.returns = _annotation(function, "return")
    return made


def _over(statements: list[ast.stmt]) -> Callable[[ast.expr], ast.expr]:
    first = statements[0]

    def over(iterable: ast.expr) -> ast.expr:
        if isinstance(first, ast.Return) and isinstance(first.value, ast.ListComp | ast.SetComp | ast.DictComp):
            first.value.generators[0].iter = iterable
            return first.value
        made = generator(first, iterable)
        if made is None:
            raise Undone
        return made

    return over


def _annotation(function: Function, name: str) -> ast.expr | None:
    annotation = function.annotations.get(name)
    if function.code.co_flags & _ANNOTATIONS and isinstance(annotation, ast.Constant):
        return ast.parse(str(annotation.value), mode="eval").body
    return annotation


def _parameters(function: Function) -> ast.arguments:
    code = function.code
    names = iter(code.co_varnames)

    def take() -> ast.arg:
        name = next(names)
        if not name.isidentifier():
            raise Undone
        return ast.arg(name, _annotation(function, name))

    positional = [take() for _ in range(code.co_argcount)]
    keyword_only = [take() for _ in range(code.co_kwonlyargcount)]
    rest = take() if code.co_flags & 0x04 else None
    named = take() if code.co_flags & 0x08 else None
    split = code.co_posonlyargcount
    return ast.arguments(
        posonlyargs=positional[:split],
        args=positional[split:],
        vararg=rest,
        kwonlyargs=keyword_only,
        kw_defaults=[function.keyword_defaults.get(a.arg) for a in keyword_only],
        kwarg=named,
        defaults=function.defaults,
    )
