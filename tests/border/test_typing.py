"""The stubs: what a type checker makes of jitted functions and kernels."""

import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import weft

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


# spec: G5
def test_what_annotations_name_is_there_when_the_program_runs():
    class Box:
        @weft.njit
        def first(self, x):
            return x

    @weft.kernel
    def k(out):
        out[0] = 1.0

    assert isinstance(Box.first, weft.Dispatcher) and isinstance(k, weft.Kernel)
    assert typing.get_origin(weft.Dispatcher[[float], float]) is weft.Dispatcher
    assert typing.get_args(weft.Dispatcher[[float], float]) == ([float], float)
    assert typing.get_origin(weft.Kernel[[float]]) is weft.Kernel
    # The stub says that a method has the attributes of its function.
    assert Box().first.specializations == [] and Box().first.__func__ is Box.first
