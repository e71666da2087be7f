"""`make plant`: builds the compiler with the bugs of `compiler_bugs.py`, and counts how many programs find each.

    python tests/programs/plant.py [--bugs 1,5,12] [--workers 2] [--count 2000] [--seed 0] [--json found.json] [--built]

The sources are copied to target/plant, where every bug becomes a branch on `WEFT_PLANTED`: one build has them all, and
none is on where that is not set. A program counts if it differs with the bug and not without it. Crashes and hangs are
differences like others. The exit status says whether all were found.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from compiler_bugs import BUGS

ROOT = Path(__file__).resolve().parents[2]
SCRATCH = ROOT / "target" / "plant"
TREE = SCRATCH / "tree"
SECONDS_TO_SHRINK = 4.0

SWITCH = """
extern crate self as weft_ir;

/// Whether the planted bug of this number is on.
pub fn planted(number: u32) -> bool {
    static ON: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();
    *ON.get_or_init(|| std::env::var("WEFT_PLANTED").ok()?.parse().ok()) == Some(number)
}
"""


def sources() -> dict[str, bytes]:
    """The files of the build, with all bugs in them."""
    listed = subprocess.run(
        ["git", "ls-files", "Cargo.toml", "Cargo.lock", ".cargo", "crates", "python"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    files = {name: (ROOT / name).read_bytes() for name in listed.stdout.splitlines()}
    for number, bug in enumerate(BUGS, start=1):
        files[bug.file] = bug.planted(files[bug.file].decode(), number).encode()
    files["crates/weft-ir/src/lib.rs"] += SWITCH.encode()
    return files


def build() -> None:
    """Builds the copy; only what changed, from the second time on."""
    files = sources()
    library = TREE / "python" / "weft" / "_core.abi3.so"
    for path in TREE.rglob("*"):
        if path.is_file() and path != library and str(path.relative_to(TREE)) not in files:
            path.unlink()
    for name, content in files.items():
        path = TREE / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    target = SCRATCH / "build"
    if not target.exists() and (ROOT / "target" / "release").exists():
        # What the crates of the project depend on need not be built again.
        shutil.copytree(ROOT / "target" / "release", target / "release", symlinks=True)
    command = ["cargo", "build", "--release", "--package", "weft-python", "--message-format=json"]
    env = os.environ | {"CARGO_TARGET_DIR": str(target)}
    done = subprocess.run(command, cwd=TREE, env=env, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode:
        # Bugs make for warnings; only errors are told.
        said = [m["message"] for m in messages if m["reason"] == "compiler-message"]
        sys.exit("".join(m["rendered"] for m in said if m["level"] == "error"))
    made = (m for m in messages if m["reason"] == "compiler-artifact" and "cdylib" in m["target"]["crate_types"])
    built = next(name for m in made for name in m["filenames"] if name.endswith(".so"))
    fresh = library.with_name("_core.new")
    shutil.copy2(built, fresh)
    os.replace(fresh, library)


def hunt(first: int, count: int, workers: int, device: str | None) -> None:
    """In a process that has the bug on: prints what it took to find it, as JSON."""
    # Only here: this imports the compiler.
    import workers as crowd
    from compare import Outcome
    from driver import apart
    from grammar import Program

    bug = os.environ["WEFT_PLANTED"]

    def innocent(program: Program) -> Outcome:
        """What the program does without the bug; the child reads the variable, no process before it did."""
        del os.environ["WEFT_PLANTED"]
        try:
            return apart(program)
        finally:
            os.environ["WEFT_PLANTED"] = bug

    class Hunt(crowd.Hunt):
        def _noted(self, seed: int, outcome: Outcome) -> None:
            if outcome.wrong:
                program = self._program(seed)
                known = innocent(program).signature == outcome.signature
                # Once more: a busy machine makes programs hang that do not.
                if known or apart(program).signature != outcome.signature:
                    outcome = Outcome("same", "known")
            super()._noted(seed, outcome)

    crowd.MOST_SEEDS, crowd.SECONDS_TO_SHRINK = 100, SECONDS_TO_SHRINK
    found = Hunt(first, count, workers=workers, keep_going=False, device=device)
    found.run(lambda text: print(text, file=sys.stderr))
    finding = min(found.findings.values(), key=lambda f: f.seed, default=None)
    result: dict[str, object] = {"programs": found.programs}
    if finding:
        outcome = finding.outcome
        result |= {"seed": finding.seed, "kind": outcome.kind, "detail": outcome.detail, "text": finding.text()}
    print(json.dumps(result))


def search(number: int, options: argparse.Namespace) -> dict[str, object]:
    """Looks for one bug, in a process of its own."""
    command = [sys.executable, __file__, "--hunt", "--workers", str(options.workers)]
    command += ["--count", str(options.count), "--seed", str(options.seed)]
    if device := BUGS[number - 1].device:
        command += ["--device", device]
    env = os.environ | {"WEFT_PLANTED": str(number), "PYTHONPATH": str(TREE / "python"), "WEFT_NUM_THREADS": "2"}
    env["WEFT_OPTIMISE"] = "0"  # none of the bugs is LLVM's
    start = time.monotonic()
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    lines = done.stdout.splitlines()
    result: dict[str, object] = json.loads(lines[-1]) if lines else {"programs": 0, "kind": "the tester failed"}
    return result | {"bug": BUGS[number - 1].says, "seconds": round(time.monotonic() - start)}


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bugs", help="their numbers, from 1 on; all of them if not given")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=SCRATCH / "found.json")
    parser.add_argument("--built", action="store_true", help="with the copy as it was built the last time")
    parser.add_argument("--hunt", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--device", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.hunt:
        hunt(options.seed, options.count, options.workers, options.device)
        return 0
    if not options.built:
        build()
    numbers = [int(n) for n in options.bugs.split(",")] if options.bugs else list(range(1, len(BUGS) + 1))
    results = json.loads(options.json.read_text()) if options.json.exists() else {}
    missed = 0
    for number in numbers:
        result = search(number, options)
        results[str(number)] = result
        options.json.write_text(json.dumps(results, indent=1) + "\n")
        needed = result["programs"] if "seed" in result else f"not in {result['programs']}"
        missed += "seed" not in result
        print(f"{number:3} {needed!s:>12}  {result['bug']} ({result['seconds']} s)", flush=True)
        print(str(result.get("text", "")), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
