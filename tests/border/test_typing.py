"""The stubs: what a type checker makes of jitted functions and kernels."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = Path(__file__).parent / "typed.py"


def said_by_mypy(file: Path) -> dict[int, list[str]]:
    """mypy's messages by line, errors by their code."""
    command = [sys.executable, "-m", "mypy", "--config-file=", "--python-version=3.11", "--no-error-summary", str(file)]
    done = subprocess.run(command, cwd=ROOT, env={"MYPYPATH": "python"}, capture_output=True, text=True, check=False)
    said: dict[int, list[str]] = {}
    for line in done.stdout.splitlines():
        found = re.fullmatch(r".*?typed\.py:(\d+): (error|note): (.*?)(?:  \[([\w-]+)\])?", line)
        assert found, done.stdout + done.stderr
        number, kind, text, code = found.groups()
        if kind == "error" or text.startswith("Revealed type is"):
            said.setdefault(int(number), []).append(code if kind == "error" else text)
    return said


# spec: G5
@pytest.mark.slow
def test_a_type_checker_sees_the_signature_of_what_is_decorated():
    said = said_by_mypy(EXAMPLES)
    wanted = {}
    for number, line in enumerate(EXAMPLES.read_text().splitlines(), 1):
        if found := re.search(r"# (error|revealed): (.*)", line):
            wanted[number] = found.groups()
    assert said.keys() == wanted.keys(), {n: said.get(n) for n in said.keys() ^ wanted.keys()}
    for number, (kind, text) in wanted.items():
        (answer,) = said[number]
        assert answer == text if kind == "error" else text in answer.replace('"', ""), (number, answer)
    assert len(wanted) > 10
