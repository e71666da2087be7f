"""Every place a function's text can come from: what is compiled is the function that was decorated."""

import linecache
import subprocess
import sys
import textwrap

import pytest

import weft
from support import same


def run(*arguments, text=None):
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, input=text)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded(text, name):
    """Runs a text as notebooks and newer REPLs do: its lines are in linecache under a name that is no file."""
    text = textwrap.dedent(text)
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"weft": weft, "__name__": "__main__"}
    exec(compile(text, name, "exec"), scope)
    return scope


def module(tmp_path, monkeypatch, name, text, encoding="utf-8"):
    (tmp_path / f"{name}.py").write_bytes(text.encode(encoding))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return __import__(name)


# spec: N1
def test_decorators_over_several_lines_and_stacked():
    def tagged(**tags):
        return lambda function: function

    # fmt: off
    @weft.njit(
        parallel=False,
    )

    # between
    @tagged(
        a=1,
        b="""
text at column 0
""",
    )
    @tagged()
    def f(
        x,
    ):
        return x + 1
    # fmt: on

    assert f(1) == 2


# spec: N1
def test_a_decorator_that_wraps_is_what_is_compiled():
    def twice(function):
        def wrapper(x):
            return x * 2

        return wrapper

    @weft.njit
    @twice
    def f(x):
        return x + 1

    assert f(5) == 10


# spec: N1
def test_methods_static_methods_and_nested_classes():
    class Outer:
        class Inner:
            @staticmethod
            @weft.njit
            def f(__x, y):
                return __x + y

        @weft.njit
        def g(x):
            return x - 1

    assert Outer.Inner.f(1, 2) == 3
    assert Outer.g(3) == 2


# spec: N1
def test_functions_of_one_factory_keep_their_own_closures():
    def factory(k):
        @weft.njit
        def f(x):
            return x * k

        return f

    double, triple = factory(2), factory(3)
    same((double(5), triple(5), double(6)), (10, 15, 12))


# spec: N1
def test_strings_that_are_no_code_do_not_cut_the_function(tmp_path, monkeypatch):
    text = (
        "import weft\n\n@weft.njit\ndef f(x):\n    return x + 1\n    '''\nno code, at column 0\n    '''\n\n"
        "@weft.njit\ndef g(x):\n    y = x\n# low\n    return y + 2\n    # end\n"
    )
    m = module(tmp_path, monkeypatch, "strings_module", text)
    same((m.f(1), m.g(1)), (2, 3))


# spec: N1
@pytest.mark.parametrize(
    ("name", "text", "encoding"),
    [
        ("crlf", "import weft\r\n\r\n@weft.njit\r\ndef f(x):\r\n    return x + 1\r\n", "utf-8"),
        ("tabs", "import weft\nif True:\n\t@weft.njit\n\tdef f(x):\n\t\treturn x + 1\n", "utf-8"),
        ("bom", "import weft\n# \u00e9\n@weft.njit\ndef f(x):\n    return x + 1\n", "utf-8-sig"),
        ("latin", "# coding: latin-1\nimport weft\n\u00e9 = 1; f = weft.njit(lambda x: x + 1)\n", "latin-1"),
        ("feed", "import weft\n\x0c\n@weft.njit\ndef f(x):\n    s = '\x0c\u2028'\n    return x + 1\n", "utf-8"),
        ("last", "import weft\n@weft.njit\ndef f(x): return x + 1", "utf-8"),
    ],
)
def test_files_as_they_are_written(tmp_path, monkeypatch, name, text, encoding):
    assert module(tmp_path, monkeypatch, f"written_{name}", text, encoding).f(1) == 2


# spec: N1
@pytest.mark.parametrize("name", ["<ipython-input-3-0a1b>", "/tmp/ipykernel_7/123.py", "<python-input-4>"])
def test_notebook_cells_and_repls_that_keep_source(name):
    first = loaded("k = 2\nf = weft.njit(lambda x: x + k)\n@weft.njit\ndef g(x):\n    return x * k\n", name)
    again = loaded("@weft.njit\ndef g(x):\n    return x * 5\n", name + "+")
    same((first["f"](1), first["g"](3), again["g"](3)), (3, 6, 15))


# spec: N1
def test_a_notebook_cell_that_awaits():
    import ast
    import types

    text = "import weft\nf = weft.njit(lambda x: x + 1)\nif False:\n    await f\n"
    linecache.cache["<cell 9>"] = (len(text), None, text.splitlines(keepends=True), "<cell 9>")
    scope = {}
    code = compile(text, "<cell 9>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    made = types.FunctionType(code, scope)()
    if made is not None:
        with pytest.raises(StopIteration):
            made.send(None)
    assert scope["f"](1) == 2


# spec: N1
def test_doctest(tmp_path):
    (tmp_path / "documented.py").write_text(
        textwrap.dedent(
            """
            def example():
                '''
                >>> import weft
                >>> @weft.njit
                ... def f(x):
                ...     return x + 1
                >>> f(1)
                2
                >>> weft.njit(lambda x: x * 3)(2)
                6
                '''

            if __name__ == "__main__":
                import doctest
                print(doctest.testmod())
            """
        )
    )
    assert run(tmp_path / "documented.py") == "TestResults(failed=0, attempted=4)\n"


# spec: N1
@pytest.mark.parametrize("options", [["-c"], ["-sc"], ["-X", "dev", "-Wignore", "-c"], ["-W", "ignore", "-Bc"]])
def test_python_dash_c_in_every_spelling(options):
    program = "import weft\ns = '\x0c'\n@weft.njit\ndef f(x):\n    return x * 5\nprint(f(2))"
    assert run(*options, program) == "10\n"
    assert run(*options[:-1], options[-1] + program) == "10\n"


# spec: N1
def test_without_column_positions():
    program = """
import weft
f = weft.njit(lambda x: x + 1)
g, h = weft.njit(lambda x: x), weft.njit(lambda x: x + 2)
print(f(1))
print(g(1), h(1))
@weft.njit
def k(
    x,
):
    return (
        x + 3
    )
print(k(1))
"""
    assert run("-X", "no_debug_ranges", "-c", program) == "2\n1 3\n4\n"


# spec: N1
@pytest.mark.parametrize(
    "after",
    ["f = lambda x: x + 2\n", "f = lambda y: y + 1\n", "f = 1\n", "f = lambda x: (\n", "\n", "f =  lambda x: x + 1\n"],
)
def test_a_lambda_whose_file_changed_since_import_is_refused(tmp_path, monkeypatch, after):
    m = module(tmp_path, monkeypatch, "changing_lambda", "f = lambda x: x + 1\n")
    (tmp_path / "changing_lambda.py").write_text(after + "\n" * 9)
    with pytest.raises(weft.CompileError, match="the file changed since import"):
        weft.njit(m.f)(1)


# spec: N1
def test_given_source_of_lambdas_is_proved_too():
    f = eval("lambda x: x * 4")
    assert weft.njit(f, source="  mylambda = [lambda x: x, lambda x: x * 4]\n")(5) == 20
    with pytest.raises(weft.CompileError, match="not what was imported"):
        weft.njit(f, source="lambda x: x * 5")(5)
    with pytest.raises(weft.CompileError, match="holds the text of a lambda"):
        weft.njit(f, source="def f(x): return x * 4")(5)
    with pytest.raises(weft.CompileError, match="invalid syntax"):
        weft.njit(f, source="lambda x: x *")(5)


# spec: N1
def test_given_source_with_closures_and_texts_of_several_lines():
    def factory(k):
        scope = {}
        text = "def make(k):\n def f(x):\n  s = '''a\nb'''\n  return x + k\n return f\n"
        exec(text, scope)
        return scope["make"](k)

    source = "def f(x):\n    s = '''a\nb'''\n    return x + k\n"
    assert weft.njit(factory(3), source=source)(1) == 4
