"""Device code without the device: every operator and dtype assembles as PTX and is valid SPIR-V.

`f.inspect("ptx")` and `f.inspect("spirv")` generate code for any specialisation that has kernels, on any machine. The
kernels here are made for OpenCL, which is always there in tests; PTX is generated from the same IR.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import numpy as np
import weft
from doors import jitted, kernelised, plain
from test_integer_casts import casts
from test_matrix import CHOICES, COMPARISONS, DTYPES, EXACT, SMOOTH, kind_of, operands

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

from check_device_code import check_ptx, check_spirv


def assemble(text):
    """The binary of SPIR-V text."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "a.spvasm"), Path(folder, "a.spv")
        source.write_text(text)
        tool = shutil.which("spirv-as")
        assert tool, "spirv-as was not found: install spirv-tools"
        command = [tool, "--target-env", "spv1.4", "--preserve-numeric-ids", str(source), "-o", str(binary)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, f"spirv-as refused it:\n{done.stdout}{done.stderr}"
        return binary.read_bytes()


def check(function):
    """Both kinds of code, for every specialisation that has been made."""
    for index, made in enumerate(function.specializations):
        ptx = function.inspect("ptx", index)
        assert ".entry" in ptx, made
        check_ptx(ptx.encode())
        check_spirv(assemble(function.inspect("spirv", index)))


def expressions(dtype):
    texts = EXACT[kind_of(dtype)] + COMPARISONS + CHOICES
    return texts if dtype == "bool" else texts + ["np.sqrt(x)"] + SMOOTH[:4] + SMOOTH[4:] * (kind_of(dtype) == "float")


# spec: K5, N5
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operator_in_jitted_functions(dtype):
    f = jitted(expressions(dtype), "xy")
    with weft.device_context("opencl"):
        f(*operands(dtype).values())
    check(f)


# spec: K5, N5
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operator_in_kernels(dtype):
    arrays = operands(dtype)
    texts = expressions(dtype)
    f = kernelised(texts, {"x": 1, "y": 1}, 1)
    outs = [np.empty_like(e) for e in plain(texts, arrays)]
    with weft.device_context("opencl"):
        f[len(arrays["x"])](*arrays.values(), *outs)
    check(f)


# spec: K5, N5
@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_casts_after_casts(dtype):
    f = jitted(casts(dtype), "x")
    with weft.device_context("opencl"):
        f(np.arange(5).astype(dtype))
    check(f)


# spec: N6, N5
def test_every_layout_and_rank():
    f = jitted(["x * 2 + y"], "xy")
    grid = np.arange(48.0).reshape(6, 8)
    row = np.arange(8.0)
    for x, y in [
        (grid, grid),
        (grid.T, grid.T),
        (grid[::2, ::-1], grid[:3]),
        (grid, row),
        (grid[:, :1], row),
        (np.zeros((2, 6, 8)), grid),
        (np.array(1.0), grid),
        (2, grid),
        (2.5, grid.astype("f4")),
    ]:
        with weft.device_context("opencl"):
            f(x, y)
    assert len(f.specializations) >= 7
    check(f)


# spec: T3, N5
def test_mixed_dtypes():
    f = jitted(["x + y", "x * y - x", "x / y", "x < y", "np.maximum(x, y)", "np.where(x > 1, x, y)"], "xy")
    for left, right in [("f4", "i4"), ("f4", "f8"), ("i4", "i8"), ("i8", "f4"), ("?", "f4"), ("?", "i4")]:
        with weft.device_context("opencl"):
            f(np.ones(5, left), np.ones(5, right))
    check(f)


# spec: K1, K2, N5
def test_kernels_with_branches_and_loops():
    @weft.kernel
    def collatz(start, steps, cap):
        i, j = weft.get_global_id(0), weft.get_global_id(1)
        n = start[i, j]
        count = 0
        for k in range(cap):
            if n > 1:
                if n % 2 == 0:
                    n = n // 2
                else:
                    n = 3 * n + 1
                count = count + 1
        steps[i, j] = count + weft.get_global_size(0) * 0

    start = np.arange(1, 13).reshape(3, 4)
    steps = np.zeros((3, 4), "i8")
    with weft.device_context("opencl"):
        collatz[start.shape](start, steps, 50)

    def reference(n):
        return 0 if n <= 1 else 1 + reference(n // 2 if n % 2 == 0 else 3 * n + 1)

    np.testing.assert_array_equal(steps, [[reference(n) for n in row] for row in start.tolist()])
    check(collatz)


# spec: K5, N5
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "f4", "f8"])
def test_folds_scans_and_products(dtype):
    x = np.ones((5, 7), dtype)
    whole = ["x.sum()", "x.min()", "x.argmax()", "(x > 0).all()"]
    along = [f"x.{name}(axis={axis})" for name in ["prod", "max", "argmin", "any"] for axis in [0, 1]]
    f = jitted(whole + along + ["np.cumsum(x)", "x @ x.T"], "x")
    with weft.device_context("opencl"):
        f(x)
        f(x[:, ::2])
    check(f)


# spec: K5
def test_every_module_of_a_process_is_valid():
    """LLVM keeps block ids in a static between modules (llvm/llvm-project#160613); ours start clean."""
    x = np.arange(9)
    for text in ["x != y", "x > y", "x >= y", "np.maximum(x, y)", "x + y"] * 8:
        f = jitted([text], "xy")
        with weft.device_context("opencl"):
            f(x, x)
        check_spirv(assemble(f.inspect("spirv")))


def test_the_checks_can_fail():
    with pytest.raises(AssertionError, match="ptxas"):
        check_ptx(b".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry f() { nonsense; }\n")
    with pytest.raises(AssertionError, match="spirv-val"):
        check_spirv(assemble("OpCapability Kernel\n%1 = OpTypeVoid\n"))


# spec: N5
@pytest.mark.parametrize("stage", ["ptx", "spirv"])
def test_device_code_of_any_specialisation(stage):
    f = jitted(["np.sin(x) + 1"], "x")
    f(np.arange(4.0))
    assert ("ENTRY" if stage == "ptx" else "OPENTRYPOINT") in f.inspect(stage).upper()
