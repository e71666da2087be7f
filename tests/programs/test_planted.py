"""The bugs that `make plant` builds into the compiler: each still has a place there."""

from pathlib import Path

import pytest
from compiler_bugs import BUGS, INFER, LOWER

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("bug", BUGS, ids=[bug.says for bug in BUGS])
def test_the_text_is_found_once(bug):
    text = (ROOT / bug.file).read_text()
    planted = bug.planted(text, 7)
    assert planted != text and planted.count("weft_ir::planted(7)") == 1


def test_every_part_of_the_compiler_has_bugs():
    parts = {"infer": 0, "passes": 0, "codegen": 0, "placement": 0}
    for bug in BUGS:
        if bug.device:
            parts["placement"] += 1
        elif bug.file.startswith(INFER):
            parts["infer"] += 1
        elif "weft-passes" in bug.file:
            parts["passes"] += 1
        elif bug.file.startswith((LOWER, "crates/weft-codegen")):
            parts["codegen"] += 1
    assert all(count >= (5 if part == "placement" else 8) for part, count in parts.items()), parts
