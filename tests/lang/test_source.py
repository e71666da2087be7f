"""Where a function's text comes from, and that it is proved to be the function's."""

import linecache
import subprocess
import sys
import textwrap
import zipfile

import pytest

import numpy as np
import weft
from support import same, same_as_plain


def run(program, *options):
    """Runs a program with `python -c`."""
    done = subprocess.run([sys.executable, *options, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


# spec: N1
def test_nested_indented_and_decorated_functions():
    def plain(f):
        return f

    # fmt: off
    class Box:
        @weft.njit
        @plain
        def add(  # a comment
            x,
            y=(
                1
            ),
        ):
            """Text at column 0:
no dedent of this.
            """
            # a comment at the end
            return (
                x
                + y
            )
    # fmt: on

    same_as_plain(Box.add, 3)
    same_as_plain(Box.add, 3, 4.5)


# spec: N1
def test_several_lambdas_on_a_line():
    add, sub, mul = weft.njit(lambda x, y: x + y), weft.njit(lambda x, y: x - y), weft.njit(lambda x, y: x * y)
    same((add(7, 2), sub(7, 2), mul(7, 2)), (9, 5, 14))
    # fmt: off
    spread = [
        weft.njit(lambda x: x + 1),
        weft.njit(
            lambda x:
            x + 2
        ),
        weft.njit(lambda x: (lambda: 0, x + 3)[1]).py_func,
    ]
    # fmt: on
    same((spread[0](1), spread[1](1)), (2, 3))


# spec: N1
def test_exec_with_linecache():
    text = "import weft\n\n@weft.njit\ndef f(x):\n    return x * 3\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(True), "<cell 1>")
    scope = {}
    exec(compile(text, "<cell 1>", "exec"), scope)
    assert scope["f"](2) == 6


# spec: N1
def test_python_dash_c():
    program = """
        import weft
        @weft.njit
        def f(x):
            return x * 5
        print(f(2))
    """
    assert run(program) == "10\n"
    assert run(program, "-s", "-X", "dev") == "10\n"


# spec: N1
def test_a_module_in_a_zip_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "lib.zip", "w") as archive:
        archive.writestr("zipped_module.py", "import weft\n\n@weft.njit\ndef f(x):\n    return x - 1\n")
    place = str(tmp_path / "lib.zip")
    program = f"import sys; sys.path.insert(0, {place!r}); import zipped_module; print(zipped_module.f(5))"
    assert run(program) == "4\n"


# spec: N1
def test_no_source_is_refused_with_the_way_out():
    scope = {"weft": weft}
    # What an import does is not rebuilt from bytecode.
    text = "def f(x):\n    import math\n    return x + 10\n"
    exec(text, scope)
    f = weft.njit(scope["f"])
    for _ in range(2):
        with pytest.raises(weft.CompileError, match=r"source of `f` cannot be found.*weft.njit\(f, source="):
            f(1)
    exec("@weft.njit\ndef g(x):\n    return f(x) + 1\n", scope)
    with pytest.raises(weft.CompileError, match=r"source of `f` cannot be found"):
        scope["g"](1)
    with pytest.raises(weft.UnsupportedError, match="import"):
        weft.njit(scope["f"], source=text)(1)
    g = weft.njit(eval("lambda x: x * 4"), source="lambda x: x * 4")
    assert g(5) == 20


# spec: N1
def test_given_source_must_be_the_functions_own():
    scope = {}
    exec("def f(x):\n    return x + 10\n", scope)
    for wrong in (
        "def f(x):\n    return x + 11\n",
        "def f(x):\n    return x - 10\n",
        "def f(x, y):\n    return x + 10\n",
    ):
        with pytest.raises(weft.CompileError, match="not what was imported"):
            weft.njit(scope["f"], source=wrong)(1)
    with pytest.raises(weft.CompileError, match="invalid syntax"):
        weft.njit(scope["f"], source="def f(x:\n    return x + 10\n")(1)
    with pytest.raises(TypeError, match="text"):
        weft.njit(scope["f"], source=3)


# spec: N1
@pytest.mark.parametrize(
    "after",
    [
        "def f(x):\n    return x + 2\n",
        "def g(x):\n    return x + 1\n",
        "def f(y):\n    return y + 1\n",
        "\n",
        "def f(x):\n  ( \n",
    ],
)
def test_a_file_that_changed_since_import_is_refused(tmp_path, monkeypatch, after):
    path = tmp_path / "changing_module.py"
    path.write_text("def f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "changing_module", raising=False)
    import changing_module

    path.write_text(after + "\n" * 7)
    with pytest.raises(weft.CompileError, match="the file changed since import"):
        weft.njit(changing_module.f)(1)


# spec: N1
def test_source_is_taken_when_the_decorator_runs(tmp_path, monkeypatch):
    path = tmp_path / "early_module.py"
    path.write_text("import weft\n\n@weft.njit\ndef f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "early_module", raising=False)
    import early_module

    path.write_text("changed = True\n")
    linecache.checkcache(str(path))
    assert early_module.f(1) == 2


# spec: N1
def test_a_jitted_function_can_be_decorated_again():
    @weft.njit
    def f(x):
        return x + 1

    assert weft.njit(f)(1) == 2
    for bad in (3, len, np.sin, int):
        with pytest.raises(TypeError, match="decorates a Python function"):
            weft.njit(bad)


# spec: N1
def test_options_are_checked():
    for options in ({"parallel": False}, {"boundscheck": False}, {"cache": False, "nogil": True}, {"nopython": True}):
        assert weft.njit(**options)(lambda x: x + 1)(1) == 2
    with pytest.raises(TypeError, match="did you mean parallel"):
        weft.njit(paralel=True)
    with pytest.raises(TypeError, match="one of 'auto', True, False"):
        weft.njit(parallel="yes")
    with pytest.raises(TypeError, match="error_model is one of 'python', 'numpy', not 'c'"):
        weft.njit(error_model="c")


# spec: A3
def test_no_option_chooses_a_device():
    with pytest.raises(TypeError, match="device_context"):
        weft.njit(device="gpu")
    with pytest.raises(TypeError, match="device_context"):
        weft.njit(target="gpu")
