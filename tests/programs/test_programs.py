"""Random whole programs, run by CPython with NumPy and by Weft: the same answer. `make fuzz` goes on with new seeds."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from compare import compare
from covered import Coverage
from grammar import make as make_anew
from planted import BUGS, planted
from shrink import shrink
from third import INTERPRETER

# Differences that are known and not mended yet: each goes when it is mended, and its program moves to test_found.py.
OPEN: list[str] = []

# Several tests run the same programs.
make = cache(make_anew)

# As many as take some twenty seconds on a busy machine, in parts, so that a failure says which part.
PARTS, EACH = 4, 15


# spec: N2, N3, N9, N10
@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_do_what_cpython_does(part):
    refused = []
    for seed in range(part * EACH, (part + 1) * EACH):
        program = make(seed)
        outcome = compare(program)
        if outcome.wrong and not f"{outcome.kind}: {outcome.detail}".startswith(tuple(OPEN)):
            smaller = f"make it small with `python tests/programs/fuzz_programs.py --seed {seed} --count 1`"
            pytest.fail(f"seed {seed}: {outcome.kind}: {outcome.text}\n\n{program.text}\n{smaller}", pytrace=False)
        if outcome.kind == "refused":
            refused.append(f"seed {seed}: {outcome.detail}")
    # What is not supported may be refused; but then this test would prove nothing.
    assert len(refused) <= EACH // 5, "\n".join(refused)


# spec: N2
@pytest.mark.skipif(not INTERPRETER.exists(), reason="weft-opt is built with the checkout, and not in a wheel")
def test_the_reference_interpreter_does_what_cpython_does():
    said = []
    for seed in range(EACH):
        outcome = compare(make(seed), third=True)
        assert outcome.kind != "interpreter", f"seed {seed}: {outcome.text}"
        said.append(outcome.third)
    # What it cannot run says nothing: that must be rare.
    assert said.count("same") >= EACH * 2 // 3, said


def test_programs_are_the_same_for_the_same_seed():
    assert [make_anew(seed).text for seed in range(20)] == [make_anew(seed).text for seed in range(20)]


# spec: N2
def test_programs_execute_every_statement_and_operator():
    coverage = Coverage()
    for seed in range(120):
        coverage.add(make(seed))
    assert not coverage.missing()


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug):
    compiler = planted(bug)
    assert any(compare(make(seed), compiler).wrong for seed in range(2000))


def test_what_is_found_is_made_small():
    compiler = planted("// truncates")
    program, outcome = next((p, o) for p in map(make, range(2000)) if (o := compare(p, compiler)).kind == "value")
    small = shrink(program, lambda candidate: compare(candidate, compiler).signature == outcome.signature)
    assert compare(small, compiler).signature == outcome.signature
    assert len(small.text) < len(program.text) / 2 and "//" in small.text


# Programs with seeds 3 and 6 end their process, one by a signal, one by never answering.
DEADLY = """
import os, sys
sys.path[:0] = sys.argv[1:3]
import workers
from compare import Outcome
from pathlib import Path

def tried(program, third):
    if program.seed == 3:
        os.kill(os.getpid(), 11)
    while program.seed == 6:
        pass
    return Outcome("same")

workers.tried, workers.reduce, workers.SECONDS_BEFORE_HUNG = tried, lambda p, o, *_: (p, o), 6.0
hunt = workers.Hunt(0, 10, workers=2)
hunt.run(lambda text: None)
hunt.save(Path(sys.argv[3]))
"""


def test_workers_survive_crashes_and_hangs(tmp_path):
    here = Path(__file__).parent
    subprocess.run([sys.executable, "-c", DEADLY, str(here), str(here.parent), str(tmp_path)], check=True)
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["kinds"] == {"same": 8, "crash": 1, "hang": 1}
    assert results["differences"] == [
        {"seed": 3, "others": [], "times": 1, "kind": "crash", "detail": "SIGSEGV"},
        {"seed": 6, "others": [], "times": 1, "kind": "hang", "detail": ""},
    ]
    assert sorted(path.name for path in tmp_path.glob("*.py")) == ["crash-3.py", "hang-6.py"]
