"""Builds the extension in release mode for use from the checkout.

In: the Cargo workspace. Out: `python/weft/_core.abi3.so`, replaced only when it changed, and a `.pth` file that puts
`python/` on the path of the environment that runs this script.

Plain cargo, not `maturin develop`: maturin sets variables that PyO3's build script watches, so that taking turns with
`cargo test` would rebuild PyO3 and everything above it each time.
"""

import filecmp
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = ROOT / "python" / "weft" / "_core.abi3.so"


def build() -> Path:
    """Builds the workspace (as `cargo test` does: the same features) and returns the path of the shared library."""
    command = ["cargo", "build", "--release", "--workspace", "--message-format=json-render-diagnostics"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and "cdylib" in message["target"]["crate_types"]:
            return next(Path(name) for name in message["filenames"] if name.endswith(".so"))
    sys.exit("build: the workspace made no shared library.")


def install(library: Path) -> None:
    """Puts the library in its package, by rename: a process that has the old one open keeps it."""
    if not EXTENSION.exists() or not filecmp.cmp(library, EXTENSION, shallow=False):
        fresh = EXTENSION.with_suffix(".new")
        shutil.copy2(library, fresh)
        os.replace(fresh, EXTENSION)
    pth = Path(sysconfig.get_path("purelib")) / "weft.pth"
    line = f"{ROOT / 'python'}\n"
    if not pth.exists() or pth.read_text() != line:
        pth.write_text(line)


if __name__ == "__main__":
    install(build())
