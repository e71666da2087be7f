"""`scripts/code_snapshot.py`: two processes write the same text, and what differs is said."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "scripts" / "code_snapshot.py"


def snapshot(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)


# spec: N5
def test_two_processes_write_the_same_and_what_differs_is_said(tmp_path, accelerator):
    before, after = tmp_path / "before", tmp_path / "after"
    only = ("--only", "spelled/softmax_(none|rows)|spelled/matvec_prange", "--devices", f"native,{accelerator}")
    done = snapshot(before, *only, "--jobs", "1")
    assert done.returncode == 0 and "of 3 functions" in done.stdout, done.stderr
    done = snapshot(after, *only, "--jobs", "2", "--compare", before)
    assert done.returncode == 0 and "0 of 3 functions differ" in done.stdout, done.stdout + done.stderr

    # A refusal is written down, and every stage that there is.
    [refused] = after.rglob(f"matvec_prange.{accelerator}.*")
    assert "a prange cannot run on a device yet" in refused.read_text()
    assert str(SCRIPT.parents[1]) not in refused.read_text()
    assert len(list(after.rglob("softmax_none.native.0.*"))) == 6
    assert len(list(after.rglob(f"softmax_none.{accelerator}.0.*"))) == 8

    moved, changed, gone = (
        after / "spelled" / f"softmax_none.{end}" for end in ("native.0.fused", "native.0.llvm", f"{accelerator}.0.ptx")
    )
    moved.write_text(re.sub(r" @(\d+:)", r" @1\1", moved.read_text(), count=1))
    changed.write_text(changed.read_text() + "; more\n")
    gone.unlink()
    done = snapshot(after, "--written", "--compare", before)
    assert done.returncode == 1
    said = done.stdout.splitlines()
    assert said[0] == "spelled/softmax_none" and said[-1] == "1 of 3 functions differ"
    assert said[1] == "  native 0 fused: differs in places in the source alone"
    assert said[2].startswith("  native 0 llvm: differs, ") and said[3] == f"  {accelerator} 0 ptx: is gone"
