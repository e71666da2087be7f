"""Text rebuilt from bytecode: which programs it covers, and that what is not the same is never taken for it."""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from weft import _decompile
from weft._decompile.proof import same as same_code

ROOT = Path(__file__).parents[2]
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")

# Parts of the file begin with `# title: arguments`; a program is called `f`.
PARTS = re.split(r"^# (.*): ?(.*)\n", Path(__file__).with_name("rebuilt.txt").read_text(), flags=re.M)[1:]
PROGRAMS = {title: (text, arguments) for title, arguments, text in zip(PARTS[::3], PARTS[1::3], PARTS[2::3])}


def functions(text: str, name: str = "program.py") -> Iterator[CodeType]:
    """The functions and lambdas of a text, from the outside in."""
    waiting = [compile(text, name, "exec", dont_inherit=True)]
    while waiting:
        code = waiting.pop()
        waiting += (constant for constant in code.co_consts if isinstance(constant, CodeType))
        if code.co_flags & 2 and code.co_name not in COMPREHENSIONS:
            yield code


def outcome(function, arguments):
    try:
        return repr(eval(f"f({arguments})", {"f": function}))
    except Exception as error:
        return repr(error)


# spec: N1
@pytest.mark.parametrize("title", PROGRAMS)
def test_ordinary_programs_are_rebuilt(title):
    text, arguments = PROGRAMS[title]
    scope: dict = {}
    exec(text, scope)
    plain = scope["f"]
    rebuilt = _decompile.rebuilt(plain.__code__, plain.__defaults__ or (), plain.__kwdefaults__)
    assert rebuilt is not None, text
    again: dict = {}
    exec(rebuilt if rebuilt.startswith("def") else f"f = {rebuilt}", again)
    assert outcome(again["f"], arguments) == outcome(plain, arguments)


# spec: N1
def test_most_functions_of_this_project_are_rebuilt():
    paths = [
        path
        for folder in ("tests/corpus", "examples", "python/weft/lib", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    missed = []
    count = 0
    for path in paths:
        for code in functions(path.read_text(), str(path)):
            count += 1
            if _decompile.rebuilt(code) is None:
                missed.append(f"{path.name}:{code.co_firstlineno} {code.co_name}")
    # What is left imports, has a `with` or a `finally`.
    assert count > 2000
    assert len(missed) <= 0.02 * count, missed


# spec: N1
def test_statements_stand_on_their_lines():
    text = textwrap.dedent("""
        # a comment
        def f(x, k=3.5, *, t=()):
            '''Text.'''
            s = 0; t = (x +
                        1)

            for i in range(x):  # to x

                if i: s += i
                else:
                    s -= 1
            return s
    """)
    scope: dict = {}
    exec(text, scope)
    f = scope["f"]
    expected = """\
def f(x, k=3.5, *, t=...):

    s = 0; t = x + 1


    for i in range(x):

        if i: s += i
        else:
            s -= 1
    return s
"""
    assert _decompile.rebuilt(f.__code__, f.__defaults__, f.__kwdefaults__) == expected


# spec: N1
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("return x + 1", "return x + 1.0"),
        ("return x + 1", "return x + True"),
        ("return 0.0", "return -0.0"),
        ("return x < y", "return x <= y"),
        ("return x - y", "return y - x"),
        ("return x, 1", "return x, (1,)"),
        ("return x.a", "return x.b"),
        ("return x(a=y)", "return x(b=y)"),
        ("return x and y", "return x or y"),
        ("return x if y else z", "return z if y else x"),
        ("if x: y = 1\n    return y", "if not x: y = 1\n    return y"),
        ("for i in x:\n        if i: break\n    return i", "for i in x:\n        if i: continue\n    return i"),
        ("for i in x: y = i\n    return y", "for i in x: y = i\n    else: y = 1\n    return y"),
        ("a, b = x, y\n    return a", "b, a = x, y\n    return a"),
        ("return [i for i in x if i]", "return [i for i in x if not i]"),
        ("return lambda: x", "return lambda: y"),
        ("try: return x\n    except ValueError: return y", "try: return x\n    except KeyError: return y"),
        ("try: y = z()\n    except ValueError: y = 1\n    return y", "y = z()\n    return y"),
        ("return x", "yield x"),
    ],
)
def test_other_code_is_not_the_same(one, other):
    a, b = (next(functions(f"def f(x, y, z):\n    {body}")) for body in (one, other))
    assert same_code(a, a) and same_code(b, b)
    assert not same_code(a, b)


# spec: N1
def test_signatures_are_compared():
    texts = ["x, y", "y, x", "x, *y", "x, /, y", "x, *, y", "x, **y"]
    codes = [next(functions(f"def f({parameters}): return x")) for parameters in texts]
    for a in codes:
        assert [same_code(a, b) for b in codes] == [a is b for b in codes]


# spec: N1
def test_the_layout_of_code_does_not_matter():
    one = "def f(x):\n if x: return 1\n else: return 2"
    other = "def f(x):\n\n\n if not x:\n  return 2\n\n return 1"
    a, b = next(functions(one)), next(functions(other))
    assert same_code(a, b)


# spec: N1
def test_code_of_an_unknown_python_is_left_alone(monkeypatch):
    from weft._decompile import steps

    code = next(functions("def f(x): return x"))
    assert _decompile.rebuilt(code) == "def f(x): return x\n"
    monkeypatch.setattr(steps, "VERSION", (3, 99))
    assert _decompile.rebuilt(code) is None
