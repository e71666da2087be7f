"""Random whole programs, run by CPython with NumPy and by Weft: the same answer. `make fuzz` goes on with new seeds."""

import pytest
from compare import compare
from coverage import Coverage
from grammar import make
from planted import BUGS, planted
from shrink import shrink

# As many as take some twenty seconds on a busy machine, in parts, so that a failure says which part.
PARTS, EACH = 6, 30


def differs_like(outcome, compiler=None):
    """Whether a program differs as `outcome` says."""
    return lambda program: (compare(program, compiler) if compiler else compare(program)).signature == outcome.signature


# spec: N2, N3, N9, N10
@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_do_what_cpython_does(part):
    refused = []
    for seed in range(part * EACH, (part + 1) * EACH):
        program = make(seed)
        outcome = compare(program)
        if outcome.wrong:
            small = shrink(program, differs_like(outcome))
            pytest.fail(f"seed {seed}: {outcome.kind}: {compare(small).text}\n\n{small.text}", pytrace=False)
        if outcome.kind == "refused":
            refused.append(f"seed {seed}: {outcome.detail}")
    # What is not supported may be refused; but then this test would prove nothing.
    assert len(refused) <= EACH // 10, "\n".join(refused)


def test_programs_are_the_same_for_the_same_seed():
    assert [make(seed).text for seed in range(20)] == [make(seed).text for seed in range(20)]


# spec: N2
def test_programs_execute_every_statement_and_operator():
    coverage = Coverage()
    for seed in range(10_000, 10_250):
        coverage.add(make(seed))
    assert not coverage.missing()


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug):
    compiler = planted(bug)
    assert any(compare(make(seed), compiler).wrong for seed in range(2000))


def test_what_is_found_is_made_small():
    compiler = planted("// truncates")
    program, outcome = next((p, o) for p in map(make, range(2000)) if (o := compare(p, compiler)).kind == "value")
    small = shrink(program, differs_like(outcome, compiler))
    assert compare(small, compiler).signature == outcome.signature
    assert len(small.text) < len(program.text) / 2 and "//" in small.text
