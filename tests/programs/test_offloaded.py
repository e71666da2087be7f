"""Random programs about memory in a device context: the same as by CPython. `make fuzz` goes on with new seeds."""

import pytest
from compare import compare
from offloaded import make

PARTS, EACH = 4, 20


# spec: A1, A8
@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_in_a_device_context_do_what_cpython_does(device, part):
    refused = []
    for seed in range(part * EACH, (part + 1) * EACH):
        program = make(seed, device)
        outcome = compare(program)
        if outcome.wrong:
            smaller = f"python tests/programs/fuzz_programs.py --device {device} --seed {seed} --count 1"
            pytest.fail(f"seed {seed}: {outcome.kind}: {outcome.text}\n\n{program.text}\n{smaller}", pytrace=False)
        if outcome.kind == "refused":
            refused.append(f"seed {seed}: {outcome.detail}")
    # What is not supported may be refused; but then this test would prove nothing.
    assert len(refused) <= EACH // 10, "\n".join(refused)


def test_programs_are_the_same_for_the_same_seed():
    assert [make(seed, "native") for seed in range(20)] == [make(seed, "native") for seed in range(20)]


def test_a_lost_write_is_found(monkeypatch):
    """The comparison can fail: arguments that are written by nobody but CPython are a difference soon."""
    import compare as module

    honest = module.run_compiled

    def forgets(function, call, program):
        done = honest(function, call, program)
        unchanged = module.run(lambda *arguments: None, call, program.parameters)
        return module.Done(done.value, done.error, unchanged.arguments)

    monkeypatch.setattr(module, "run_compiled", forgets)
    assert any(compare(make(seed, "native")).wrong for seed in range(10))
