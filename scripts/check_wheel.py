"""Checks that a wheel is what `make wheel` promises: small, and in need of nothing but the C library.

    python scripts/check_wheel.py dist/weft-….whl

One extension; its NEEDED entries are libc's and the compiler's own; no symbol of LLVM or C++ is left undefined (a
component missing from the link shows only at import); and it imports, apart from the checkout, with NumPy alone.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

LIMIT_MB = 25
# ld-linux is the loader itself: a thread-local of a static library refers to it.
ALLOWED = re.compile(r"^(libc|libm|libgcc_s|libdl|libpthread|librt|ld-linux-[\w-]+)\.so\.\d+$")


def output(*command: str) -> str:
    """What a tool prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def problems(wheel: Path) -> list[str]:
    """One sentence for each thing that is wrong with the wheel."""
    found = []
    megabytes = wheel.stat().st_size / 1e6
    print(f"{wheel}: {megabytes:.1f} MB")
    if megabytes > LIMIT_MB:
        found.append(f"it is {megabytes:.1f} MB, over the limit of {LIMIT_MB} MB")
    if "-abi3-" not in wheel.name:
        found.append("it is not built for the stable ABI (abi3)")

    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        extensions = sorted(Path(folder).rglob("*.so*"))
        if len(extensions) != 1:
            found.append(f"it should hold one extension, not {[str(e.relative_to(folder)) for e in extensions]}")
        for extension in extensions:
            print(f"  {extension.relative_to(folder)}: {extension.stat().st_size / 1e6:.1f} MB")
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", str(extension)))
            print(f"  needs {', '.join(needed)}")
            found += [f"it needs {name}" for name in needed if not ALLOWED.match(name)]
            symbols = output("nm", "-D", "--undefined-only", str(extension)).split()
            missing = [s for s in symbols if s.startswith(("LLVM", "_ZN4llvm", "_ZNK4llvm", "_ZNSt", "_ZSt"))]
            if missing:
                found.append(f"{len(missing)} symbols are undefined, {missing[0]} the first: a library was not linked")
        script = f"import sys; sys.path.insert(0, {folder!r}); import weft; assert weft.__file__.startswith({folder!r})"
        if subprocess.run([sys.executable, "-c", script], cwd=folder).returncode:
            found.append("it does not import")
    return found


def main() -> int:
    """Prints what is wrong; 1 where something is."""
    if len(sys.argv) != 2:
        print("check_wheel: name one wheel.", file=sys.stderr)
        return 2
    found = problems(Path(sys.argv[1]))
    for problem in found:
        print(f"check_wheel: {problem}.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
