"""Typing rules as documents: `mdtest/*.md`, each expression checked in CPython and compiled.

A Python block is a small program. A line

    reveal_type(x + 1)  # revealed: np.float32

says what type the expression has. It is made a function of the block's variables, so that nothing but their types is
known when it is compiled, and called twice: by CPython with NumPy, which must give the type that the line says, and
compiled, which must give the same type and value. Functions of the block may be called in it. Where compiled code
differs, the line names the entry of docs/deviations.md: `# revealed: int; compiled: float (V2)`. `# raises: IndexError`
says that both raise it.
"""

import ast
import itertools
import linecache
import re
from pathlib import Path
from types import FunctionType

import pytest

import numpy as np
import weft

HERE = Path(__file__).with_name("mdtest")
DEVIATIONS = Path(__file__).parents[2] / "docs" / "deviations.md"
LINE = re.compile(r"^reveal_type\((?P<expr>.*)\)  # (?P<kind>revealed|raises): (?P<says>.*)$")
numbers = itertools.count()


def blocks(path):
    """(line number, text) of each Python block."""
    text = path.read_text()
    for found in re.finditer(r"^```python\n(.*?)^```$", text, re.S | re.M):
        yield text[: found.start(1)].count("\n") + 1, found[1]


def cases():
    for path in sorted(HERE.glob("*.md")):
        for first, block in blocks(path):
            for offset, line in enumerate(block.splitlines()):
                if line.startswith("reveal_type("):
                    where = f"{path.name}:{first + offset}"
                    found = LINE.match(line)
                    assert found, f"{where}: not understood: {line}"
                    yield pytest.param(path.name, block, *found.groups(), id=f"{where}-{found['expr']}")


def spelled(value):
    """The type of a value, as these documents write it."""
    if value is None:
        return "None"
    if isinstance(value, tuple):
        return f"tuple[{', '.join(map(spelled, value))}]"
    if isinstance(value, list):
        return f"list[{', '.join(sorted({spelled(v) for v in value}))}]"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join([':'] * value.ndim)}]"
    if isinstance(value, np.generic):
        return f"np.{type(value).__name__.rstrip('_')}"
    return type(value).__name__


def agree(ours, theirs):
    """The same values; transcendental functions are within 4 ulp of NumPy's."""
    if isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs):
            agree(mine, other)
    elif theirs is None:
        assert ours is None
    else:
        np.testing.assert_allclose(ours, theirs, rtol=4 * 2.0**-52, atol=0)


def execute(text, scope):
    name = f"mdtest_{next(numbers)}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)


def function_of(name, block, expr):
    """The expression as a function of the block's variables, and their values."""
    scope = {"np": np, "__name__": name}
    given = "".join(line + "\n" for line in block.splitlines() if not line.startswith("reveal_type("))
    execute(given, scope)
    used = {node.id for node in ast.walk(ast.parse(expr)) if isinstance(node, ast.Name)}
    names = [n for n in scope if n in used and n != "np" and not isinstance(scope[n], FunctionType)]
    execute(f"def revealed({', '.join(names)}):\n    return {expr}\n", scope)
    return scope["revealed"], [scope[n] for n in names]


# spec: N2
@pytest.mark.parametrize(("name", "block", "expr", "kind", "says"), list(cases()))
def test_revealed(name, block, expr, kind, says):
    function, values = function_of(name, block, expr)
    compiled = weft.njit(function)
    if kind == "raises":
        for f in (function, compiled):
            with np.errstate(all="ignore"), pytest.raises(Exception) as caught:
                f(*values)
            assert says in [c.__name__ for c in type(caught.value).__mro__], repr(caught.value)
        return
    deviation = re.fullmatch(r"(.*); compiled: (.*) \((V\d+)\)", says)
    python, ours = (deviation[1], deviation[2]) if deviation else (says, says)
    if deviation:
        assert f"## {deviation[3]} " in DEVIATIONS.read_text()
        assert python != ours
    with np.errstate(all="ignore"):
        expected = function(*values)
    assert spelled(expected) == python, "CPython with NumPy"
    result = compiled(*values)
    assert spelled(result) == ours, "compiled"
    agree(result, expected)


def test_every_topic_has_cases():
    topics = {case.values[0] for case in cases()}
    assert len(topics) >= 6 and len(list(cases())) >= 40
