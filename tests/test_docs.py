"""Every listing of the documentation runs, and the examples do."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import numpy as np
import weft
from support import OTHER

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import promises  # noqa: E402


def listings(page):
    """The Python blocks of a page, one after the other, on their own lines of the page, so that errors name them."""
    text, out = (ROOT / page).read_text(), []
    inside = False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            line = ""
        out.append(line if inside else "")
    return "\n".join(out) + "\n"


# spec: G5
@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_listings_run(page, tmp_path):
    # As a user would: a file in an empty folder. The OpenCL device stands for whatever device there is.
    program = tmp_path / "listing.py"
    program.write_text(listings(page).replace('"opencl"', f'"{OTHER}"'))
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# spec: G5
def test_the_one_minute_example_runs():
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "one_minute.py")], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


# spec: G5
def test_the_fractal_is_written_where_one_stands(tmp_path):
    example = str(ROOT / "examples" / "fractal.py")
    done = subprocess.run(
        [sys.executable, example, "native"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "mandelbrot.png\n"
    assert (tmp_path / "mandelbrot.png").read_bytes()[:4] == b"\x89PNG"


# spec: G2
def test_the_refusal_in_the_readme_is_what_a_user_sees(tmp_path):
    shown = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    source = (
        "import weft\n\n@weft.njit\ndef weighted(x, n):\n    total = 0.0\n"
        "    for i in range(n):\n        total = x * i\n    return total\n"
    )
    program = tmp_path / "model.py"
    program.write_text(source)
    code = {}
    exec(compile(source, str(program), "exec"), code)
    with pytest.raises(weft.TypingError) as caught:
        code["weighted"](np.zeros(3), 2)
    ours = f"weft.TypingError: {caught.value}".replace(str(program), "model.py")
    squeeze = lambda text: " ".join(text.split())
    assert squeeze(ours) == squeeze(shown)


def library_table():
    """The functions that `python/weft/lib` overloads, by where they are found."""
    found = {}
    for path in sorted((ROOT / "python" / "weft" / "lib").glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            for decorator in getattr(node, "decorator_list", []):
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "overload":
                    for name in map(ast.unparse, decorator.args):
                        owner, _, last = name.rpartition(".")
                        found.setdefault(owner, set()).add(last)
    # What the compiler itself gives meaning to (`infer/library.rs`).
    source = (ROOT / "crates" / "weft-passes" / "src" / "infer" / "library.rs").read_text()
    found.setdefault("", set()).update(re.findall(r'^    "builtins\.(\w+)",$', source, re.M))
    titles = {
        "": "builtins",
        "math": "`math`",
        "cmath": "`cmath`",
        "np": "`numpy`",
        "np.ndarray": "array methods",
        "list": "list methods",
    }
    rows = [f"| {title} | {' '.join(sorted(public(found[owner])))} |" for owner, title in titles.items()]
    return "\n".join(["", "| from | functions |", "|---|---|", *rows, ""])


def public(names):
    return [name for name in names if not name.startswith("_")]


# spec: G5
def test_the_table_of_library_functions_is_that_of_the_library():
    page = ROOT / "docs" / "guide.md"
    text = page.read_text()
    pattern = r"(<!-- library: [^>]*-->\n).*?(<!-- end of library -->)"
    ours = re.sub(pattern, lambda found: found[1] + library_table() + "\n" + found[2], text, flags=re.S)
    if os.environ.get("WEFT_BLESS") == "1":
        page.write_text(ours)
    assert "| `numpy` |" in ours and ours == page.read_text()


# spec: N5
def test_the_table_of_passes_is_that_of_the_compiler():
    @weft.njit("float64(float64)")
    def f(x):
        return x

    with pytest.raises(ValueError) as wrong:
        f.inspect("after:nothing")
    passes = re.search(r"it is one of ([\w, -]+)", str(wrong.value))[1]
    table = (ROOT / "ARCHITECTURE.md").read_text().partition("## The pipeline")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.M) == passes.split(", ")


SPEC = """\
## A. Some title (a document)
- A1 *done.* One.
- A2 *partly.* Two.
  More of it. *Missing:* three.
  - A2a *planned.* Four.
"""


# spec: G5
def test_marks_and_tests_agree():
    kept, titles = promises.read_spec(SPEC)
    assert titles == {"A": "Some title"}
    assert [promise.mark for promise in kept.values()] == ["done", "partly", "planned"]
    assert kept["A2"].missing == "three."
    assert promises.problems(kept, {"A1": "t:1", "A2": "t:2"}) == []
    for change, names, says in [
        (("", ""), {"A1": "t:1"}, "A2 is marked as partly, and no test names it"),
        (("", ""), {"A1": "t:1", "A2": "t:1", "A2a": "t:9"}, "t:9: A2a is marked as planned"),
        (("", ""), {"A1": "t:1", "A2": "t:1", "A1 A2": "t:9"}, "t:9: docs/spec.md has no promise A1 A2"),
        (("*done.* ", ""), {"A1": "t:1", "A2": "t:2"}, "A1 has no mark"),
        (("*Missing:* three.", ""), {"A1": "t:1", "A2": "t:2"}, "A2: what is kept in part"),
    ]:
        (problem,) = promises.problems(promises.read_spec(SPEC.replace(*change, 1) if change[0] else SPEC)[0], names)
        assert says in problem


# spec: G5
def test_names_that_are_not_there_yet():
    """The list of the specification shrinks as names come."""
    listed = (ROOT / "docs" / "spec.md").read_text().partition("Of these names there are not yet:")[2]
    for owner, module in (("weft", weft), ("weft.config", weft.config)):
        names = re.search(owner.replace(".", r"\.") + r"\.\{([\w, ]+)\}", listed)[1].split(", ")
        assert [name for name in names if hasattr(module, name)] == []
