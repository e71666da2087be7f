"""How much code fixed programs become: ops at each stage, and instructions of LLVM and of devices.

Compile time goes by what passes and LLVM have to look at, so an op more in every loop is seen here first.
`code_size.json` has the counts. More than 3% above them, and at least 4, is an error; who means it writes the file anew
with `WEFT_BLESS=1 pytest tests/test_code_size.py`, and says in the commit what the code is for.

LLVM writes other code for other processors: the file has its counts by processor. On one that it does not have, they
may be twice the largest that it has.
"""

import contextlib
import json
import os
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import code_snapshot
import numpy as np
import weft

GOLDEN = Path(__file__).parent / "code_size.json"
BLESS = os.environ.get("WEFT_BLESS") == "1"
STAGES = ("ntensor", "fused", "loops", "llvm")
DEVICE_STAGES = ("spirv", "ptx")
SHARE, LEAST = 0.03, 4
# On a processor that the file does not know.
SHARE_ELSEWHERE = 1.0

PROGRAMS = [
    "spelled/matvec_sum",
    "spelled/matmul_rows",
    "spelled/matmul_dots",
    "spelled/covariance_product",
    "spelled/orthogonal_by_products",
    "spelled/stencil_named_parts",
    "spelled/heat_two_buffers",
    "spelled/convolution_windows",
    "spelled/paths_outer",
    "spelled/paths_loops_with_if",
    "spelled/softmax_none",
    "spelled/softmax_rows",
    "spelled/unit_columns_one_by_one",
    "spelled/distances_whole",
    "spelled/distances_prange",
    "spelled/moments_axis",
    "spelled/histogram_bincount",
    "spelled/running_in_a_list",
    "spelled/options_in_place",
    "spelled/masked_store",
    "language/sobel",
    "language/longest_common",
    "language/nbody",
    "corpus/finance/black_scholes_greeks",
    "corpus/graphs/dijkstra_heap",
    "spelled/stencil_one_expression opencl",
    "spelled/softmax_none opencl",
    "spelled/options_named opencl",
]


def processor():
    """What LLVM chooses instructions by."""
    said = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", Path("/proc/cpuinfo").read_text().split("\n\n")[0], re.M))
    return " ".join(said.get(key, "?") for key in ("vendor_id", "cpu family", "model"))


def ops(text):
    """Ops of the IR: each begins a line, with its results before it."""
    return len(re.findall(r"^ +(?:%[^=\n]* = )?[a-z][a-z_0-9.]*\(", text, re.M))


def instructions(stage, text):
    """Instructions in the text of a code generator."""
    if stage == "llvm":
        # One for each line of a body: labels begin at the margin, cases of a switch and the like further in.
        bodies = re.findall(r"^define .*?^}", text, re.M | re.S)
        return sum(len(re.findall(r"^  [^ \]]", body, re.M)) for body in bodies)
    if stage == "spirv":
        return len(re.findall(r"\bOp[A-Z]\w*", text.partition("OpFunction ")[2]))
    return len(re.findall(r"^\t[^.\s/][^;\n]*;", text, re.M))


def counts(name):
    """How much each stage of a program has, of all its specialisations."""
    name, _, device = name.partition(" ")
    program = next(p for p in code_snapshot.programs() if p.name == name)
    function = program.make()
    with weft.device_context(device) if device else contextlib.nullcontext():
        for make in program.arguments:
            with contextlib.suppress(ValueError):  # some of the corpus raise, and that is in the code too
                function(*make())
    found = {}
    for stage in STAGES + (DEVICE_STAGES if device else ()):
        texts = [function.inspect(stage, k) for k in range(len(function.specializations))]
        found[stage] = sum(instructions(stage, t) if stage in ("llvm", "spirv", "ptx") else ops(t) for t in texts)
    return found


def known(golden, name, stage, here):
    """The count to hold to, and by how large a share more may come."""
    count = golden[name][stage]
    if stage != "llvm":
        return count, SHARE
    return (count[here], SHARE) if here in count else (max(count.values()), SHARE_ELSEWHERE)


def grown(golden, name, found, here):
    """What of a program has grown, in words."""
    said = []
    for stage, count in found.items():
        before, share = known(golden, name, stage, here)
        if count > before * (1 + share) and count - before >= LEAST:
            more = count / before - 1
            said.append(f"{name}, {stage}: {count}, {more:.1%} more than {before} (WEFT_BLESS=1 writes the file anew)")
    return said


def bless(name, found, here):
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    processors = golden.get(name, {}).get("llvm", {}) | {here: found["llvm"]}
    golden[name] = found | {"llvm": dict(sorted(processors.items()))}
    kept = {name: golden[name] for name in PROGRAMS if name in golden}
    GOLDEN.write_text(json.dumps(kept, indent=1) + "\n")


# spec: N5
@pytest.mark.parametrize("name", PROGRAMS)
def test_code_has_not_grown(name):
    if (device := name.partition(" ")[2]) and not weft.devices(device):
        pytest.skip(f"no {device} device on this machine")
    found, here = counts(name), processor()
    assert all(found.values()), found
    if BLESS:
        bless(name, found, here)
    assert not grown(json.loads(GOLDEN.read_text()), name, found, here)


def test_the_check_can_fail():
    golden = {"f": {"loops": 100, "llvm": {"this": 1000, "that": 2000}}}
    assert grown(golden, "f", {"loops": 103, "llvm": 1030}, "this") == []
    assert grown(golden, "f", {"loops": 50, "llvm": 1031}, "this") == [
        "f, llvm: 1031, 3.1% more than 1000 (WEFT_BLESS=1 writes the file anew)"
    ]
    assert grown(golden, "f", {"loops": 104, "llvm": 4000}, "another") == [
        "f, loops: 104, 4.0% more than 100 (WEFT_BLESS=1 writes the file anew)"
    ]
    # A few ops more in a small program are no share worth a word.
    assert grown({"g": {"loops": 10}}, "g", {"loops": 13}, "this") == []


def test_ops_and_instructions_are_counted():
    @weft.njit
    def f(x, y):
        return x * 2.0 + y

    f(np.arange(3.0), np.arange(3.0))
    # Two elementwise ops of a product and a sum, a constant, and what goes out of the loops and the function.
    assert 5 <= ops(f.inspect("ntensor")) <= 12
    assert ops(f.inspect("fused")) < ops(f.inspect("ntensor"))
    text = "define i32 @f() {\nentry:\n  br label %a\n\na:\n  switch i32 0, label %a [\n    i32 1, label %a\n  ]\n}\n"
    assert instructions("llvm", text) == 2
    assert instructions("spirv", "%1 = OpTypeVoid\n%2 = OpFunction %1 None %3\n%4 = OpLabel\n\tOpReturn\n") == 2
    assert instructions("ptx", "\t.reg .b32 %r<2>;\n\tadd.s32 %r1, %r1, 1;\n$L1:\n\t@%p1 bra $L1;\n\tret;\n") == 3
