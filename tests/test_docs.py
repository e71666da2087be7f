"""Every listing of the documentation runs, and the examples do."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import numpy as np
import weft
from support import OTHER

ROOT = Path(__file__).parents[1]


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


# spec: G2
def test_the_refusal_in_the_readme_is_what_a_user_sees(tmp_path):
    shown = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
    source = "\n" * 7 + "import weft\n\n@weft.njit\ndef f(w, x, b):\n    return w @ x + b\n"
    program = tmp_path / "model.py"
    program.write_text(source)
    code = {}
    exec(compile(source, str(program), "exec"), code)
    with pytest.raises(weft.UnsupportedError) as caught:
        code["f"](np.zeros((2, 2)), np.zeros(2), 1.0)
    ours = f"weft.UnsupportedError: {caught.value}".replace(str(program), "model.py")
    squeeze = lambda text: re.sub(r"\s+", " ", text).replace(":13:", ":12:").replace("13 |", "12 |").strip()
    assert squeeze(ours) == squeeze(shown)
