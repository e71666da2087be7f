"""Random array expressions, run by NumPy and by Weft: the same answer. `make fuzz` goes on with new seeds."""

import pytest

from programs import describe, make, run_njit, run_tensor, shrink
from support import OTHER

SEEDS = {"njit": range(120), "njit-device": range(1000, 1012), "tensor-native": range(2000, 2020)}
SEEDS["tensor-device"] = range(3000, 3012)
RUNS = {
    "njit": run_njit,
    "njit-device": lambda program: run_njit(program, OTHER),
    "tensor-native": lambda program: run_tensor(program, "native"),
    "tensor-device": lambda program: run_tensor(program, OTHER),
}


# spec: N3, T4, A1
@pytest.mark.parametrize("way", SEEDS)
def test_random_expressions_give_numpys_answer(way):
    run = RUNS[way]
    refused = []
    for seed in SEEDS[way]:
        program = make(seed, tensors="tensor" in way, device="device" in way)
        outcome = run(program)
        if outcome.problem:
            small = shrink(program, lambda p: bool(run(p).problem))
            pytest.fail(f"seed {seed}: {run(small).problem}\n{describe(small)}", pytrace=False)
        if outcome.refused:
            refused.append(program.text)
    # What is not supported may be refused; but then this test would prove nothing.
    assert len(refused) <= len(SEEDS[way]) // 10, refused


# spec: N3
def test_programs_are_the_same_for_the_same_seed():
    assert [make(seed).text for seed in range(20)] == [make(seed).text for seed in range(20)]


def test_a_wrong_answer_is_found_and_shrunk(monkeypatch):
    """The comparison can fail, and what it reports is small."""
    import programs

    honest = programs.same
    monkeypatch.setattr(programs, "same", lambda a, b, ulps: honest(a, -b if b.dtype.kind == "f" else b, ulps))
    fails = lambda p: bool(run_njit(p).problem)
    failing = next(p for p in map(make, range(100)) if p.root.size > 12 and fails(p))
    small = shrink(failing, fails)
    assert fails(small) and small.root.size < failing.root.size and small.root.size <= 5
    assert "np.array(" in describe(small)
