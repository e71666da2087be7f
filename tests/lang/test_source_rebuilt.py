"""Functions of which Python has kept no text: it is rebuilt from bytecode, and what is compiled is the function."""

import functools
import os
import pty
import runpy
import select
import subprocess
import sys
import textwrap
import types

import pytest

import numpy as np
import weft
from support import same

PROGRAM = '''\
import numpy as np
import weft

@weft.njit
def total(x, low=0.5):
    """Sums what is above low."""
    s = 0.0
    for i in range(len(x)):
        if x[i] <= low:
            continue
        s += x[i]  # a comment

    return s

square = weft.njit(lambda v: v * v)
x = np.array([0.25, 1.0, 3.0])
'''
SHOWN = "print([total(x), total.py_func(x), square(3)])"
EXPECTED = "[np.float64(4.0), np.float64(4.0), 9]"


def run(*arguments, text=None):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, input=text)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def executed(text, name="<string>"):
    scope = {"weft": weft, "np": np, "__name__": "__main__"}
    exec(compile(textwrap.dedent(text), name, "exec"), scope)
    return scope


def typed(lines, *options):
    """What a prompt on a terminal answers to lines that are typed, each when it asks for one."""
    keyboard, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "PYTHONSTARTUP": "", "PYTHON_BASIC_REPL": "1"}
    command = [sys.executable, *options, "-i"]
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment) as prompt:
        os.close(terminal)
        answer = ""
        for line in [*lines, "exit()"]:
            asked = ""
            while not asked.endswith((">>> ", "... ")):
                ready, _, _ = select.select([keyboard], [], [], 60)
                assert ready, answer
                asked += os.read(keyboard, 4096).decode()
            answer += asked
            os.write(keyboard, f"{line}\n".encode())
        prompt.wait(60)
    os.close(keyboard)
    return answer


# spec: N1
@pytest.mark.parametrize("options", [[], ["-X", "no_debug_ranges"]])
def test_the_prompt(options):
    lines = [
        "import weft",
        "@weft.njit",
        "def f(x, n):",
        "    s = 0",
        "    while n > 0 and s < 100:",
        "        s += x; n -= 1",
        "    return s",
        "",
        "g = weft.njit(lambda x: f(x, 3) if x else -1)",
        "'answers', f(2, 4), g(5), g(0)",
    ]
    assert "('answers', 8, 15, -1)" in typed(lines, *options)


# spec: N1
def test_a_program_from_standard_input():
    assert run("-", text=f"{PROGRAM}{SHOWN}\n") == EXPECTED
    assert run(text=f"{PROGRAM}{SHOWN}\n") == EXPECTED


# spec: N1
def test_programs_inside_others():
    for name in ("<string>", "<timed exec>", "<magic-timeit>", "no such file.py"):
        program = f"program = {PROGRAM!r}\nexec(compile(program, {name!r}, 'exec'))\n{SHOWN}\n"
        assert run("-c", program) == EXPECTED
    # The program of -c has the name that exec gives to others.
    both = f"import weft\nown = weft.njit(lambda v: v + 1)\nexec({PROGRAM!r})\n{SHOWN}\nprint(own(1))\n"
    assert run("-c", both).split("\n") == [EXPECTED, "2"]
    tree = "import ast\n" + f"exec(compile(ast.parse({PROGRAM!r}), '<timed exec>', 'exec'))\n{SHOWN}\n"
    assert run("-c", tree) == EXPECTED


# spec: N1
def test_modules_that_are_run(tmp_path, monkeypatch):
    (tmp_path / "run_as_module.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    for scope in (runpy.run_path(str(tmp_path / "run_as_module.py")), runpy.run_module("run_as_module")):
        same((scope["total"](scope["x"]), scope["square"](3)), (np.float64(4.0), 9))


# spec: N1
def test_a_module_without_its_file(tmp_path, monkeypatch):
    import py_compile

    (tmp_path / "only_bytecode.py").write_text(PROGRAM)
    py_compile.compile(str(tmp_path / "only_bytecode.py"), str(tmp_path / "only_bytecode.pyc"))
    (tmp_path / "only_bytecode.py").unlink()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "only_bytecode", raising=False)
    import only_bytecode as m

    same((m.total(m.x), m.square(3)), (np.float64(4.0), 9))


# spec: N1
def test_functions_that_are_made():
    scope = executed("""
        def f(x, k=3):
            return x * k

        def factory(k):
            def inner(x):
                return x - k
            return inner

        class Box:
            scale = 2

            @staticmethod
            @weft.njit
            def area(w, h):
                return w * h
    """)
    f = scope["f"]
    copy = types.FunctionType(f.__code__, {}, "copy", (5,))
    same((weft.njit(f)(2), weft.njit(copy)(2), weft.njit(scope["factory"](4))(6)), (6, 10, 2))
    assert scope["Box"].area(3, 4) == 12

    @functools.wraps(f)
    def wrapper(x):
        return x + 1

    assert weft.njit(wrapper)(1) == 2
    assert weft.njit(eval("lambda x, *rest, y=1: x + y + len(rest)"))(1, 2, 3) == 4


# spec: N1
def test_lambdas_on_one_line():
    scope = executed("a, b, c = (weft.njit(f) for f in (lambda x: x + 1, lambda x: x - 1, lambda x: x * 10))")
    same((scope["a"](5), scope["b"](5), scope["c"](5)), (6, 4, 50))


# spec: N1
def test_a_kernel():
    scope = executed("""
        @weft.kernel
        def double(x, y):
            i = weft.get_global_id(0)
            if i < 3:
                y[i] = 2 * x[i]
    """)
    x, y = np.arange(4.0), np.zeros(4)
    with weft.device_context("native"):
        scope["double"][4](x, y)
    same(y, np.array([0.0, 2.0, 4.0, 0.0]))


# spec: N1
def test_errors_stand_on_the_lines_that_were_written():
    scope = executed("""
        # a comment

        @weft.njit
        def f(x):
            # another
            y = (x +
                 1)

            return y[100]

        @weft.njit
        def g(x):
            return x + "a"
    """)
    with pytest.raises(IndexError) as raised:
        scope["f"](np.zeros(3))
    place = raised.traceback[-1]
    assert (str(place.path), place.lineno + 1) == ("<string> (text rebuilt from bytecode)", 10)
    with pytest.raises(weft.TypingError) as raised:
        scope["g"](np.zeros(3))
    assert "--> <string> (text rebuilt from bytecode):14:12\n" in str(raised.value)
    assert "14 |     return x + 'a'\n" in str(raised.value)


# spec: N1
def test_decorating_rebuilds_nothing():
    program = "import sys, weft\nexec('@weft.njit\\ndef f(x): return x')\n" + (
        "print('weft._decompile' in sys.modules, f(3), 'weft._decompile' in sys.modules)"
    )
    assert run("-c", program) == "False 3 True"
