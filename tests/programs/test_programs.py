"""Random whole programs, run by CPython with NumPy and by Weft: the same answer. `make fuzz` goes on with new seeds."""

from functools import cache

import pytest
from compare import compare
from covered import Coverage
from grammar import make as make_anew
from planted import BUGS, planted
from shrink import shrink

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
