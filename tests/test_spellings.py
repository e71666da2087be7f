"""The spellings that are measured (`benchmarks/spelled`), at small sizes: all give what NumPy makes of the first."""

import contextlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import numpy as np
import weft
from spelled import KERNELS

# What is not compiled yet: anywhere, and in device contexts.
REFUSED = {
    "histogram_add_at": "has no attribute `at`",
    "running_accumulate": "has no attribute `accumulate`",
    "polynomial_polyval": "`np.polyval` is not supported yet",
}
ON_DEVICES = "a prange cannot run on a device yet"


def parts(value):
    return value if isinstance(value, tuple) else (value,)


# spec: N3
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_spellings_agree(kernel, device):
    wanted = parts(kernel.spellings[0].function(*kernel.make(*kernel.small)))
    elsewhere = device.partition(":")[0] != "native"
    for spelling in kernel.spellings:
        refusal = REFUSED.get(spelling.name) or (ON_DEVICES if elsewhere and "prange" in spelling.name else None)
        compiled = weft.njit(spelling.function)
        with contextlib.ExitStack() as around:
            if elsewhere:
                around.enter_context(weft.device_context(device))
            if refusal:
                around.enter_context(pytest.raises(weft.errors.CompileError, match=refusal))
            found = parts(compiled(*kernel.make(*kernel.small)))
        if refusal:
            continue
        assert len(found) == len(wanted), spelling.name
        for ours, theirs in zip(found, wanted):
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape, spelling.name
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12, err_msg=spelling.name)


def test_there_are_enough_of_them():
    assert len(KERNELS) >= 14 and min(len(kernel.spellings) for kernel in KERNELS) >= 5
    names = [spelling.name for kernel in KERNELS for spelling in kernel.spellings]
    assert len(set(names)) == len(names) and REFUSED.keys() <= set(names)
