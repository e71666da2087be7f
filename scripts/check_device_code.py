"""Checks device code without the device: PTX is assembled by `ptxas`, SPIR-V validated by `spirv-val`.

Tests import `check_ptx` and `check_spirv`; the command line takes folders and checks every `.ptx` and `.spv` below:

    python scripts/check_device_code.py target/device-code

A tool that cannot be found is an error, never a pass.
"""

import functools
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

PTX_ARCH = "sm_90"


class ToolMissingError(RuntimeError):
    """Neither the environment nor PATH has the tool."""


@functools.cache
def find_ptxas() -> str:
    """`ptxas` of the environment's NVIDIA packages, else of PATH, else of the usual CUDA folder."""
    packages = Path(sysconfig.get_path("purelib")) / "nvidia"
    found = next(iter(sorted(packages.glob("*/bin/ptxas"))), None)
    path = str(found) if found else shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")
    if path is None:
        raise ToolMissingError("ptxas was not found: pip install nvidia-cuda-nvcc-cu12")
    return path


@functools.cache
def find_spirv_val() -> str:
    """`spirv-val` of PATH."""
    path = shutil.which("spirv-val")
    if path is None:
        raise ToolMissingError("spirv-val was not found: install spirv-tools")
    return path


def check_ptx(ptx: bytes, arch: str = PTX_ARCH) -> None:
    """Raises AssertionError with the assembler's words, unless `ptx` assembles."""
    # NVIDIA's text ends with a NUL where it was made for the driver.
    _check([find_ptxas(), f"-arch={arch}", "-o", "/dev/null"], ptx.rstrip(b"\0"), ".ptx")


def check_spirv(spirv: bytes) -> None:
    """Raises AssertionError with the validator's words, unless `spirv` is valid."""
    _check([find_spirv_val(), "--target-env", _spirv_env(spirv)], spirv, ".spv")


def _spirv_env(spirv: bytes) -> str:
    """The rules to go by: OpenCL's where the validator has them (SPIR-V 1.2 and older), else the version's own."""
    minor = spirv[5] if len(spirv) > 5 and spirv[6:7] == b"\x01" else 0
    return "opencl2.2" if minor <= 2 else f"spv1.{minor}"


def _check(command: list[str], code: bytes, suffix: str) -> None:
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        file.write(code)
        file.flush()
        done = subprocess.run([*command, file.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{Path(command[0]).name} refused it:\n{done.stdout.strip()}"


def check_folders(folders: list[Path]) -> tuple[int, list[str]]:
    """How many files were checked below `folders`, and what was wrong."""
    checks: dict[str, Callable[[bytes], None]] = {".ptx": check_ptx, ".spv": check_spirv}
    count = 0
    problems = []
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in checks):
        count += 1
        try:
            checks[path.suffix](path.read_bytes())
        except AssertionError as problem:
            problems.append(f"{path}: {problem}")
    return count, problems


def main(arguments: list[str]) -> int:
    """Runs the command line."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        count, problems = check_folders([Path(argument) for argument in arguments])
    except ToolMissingError as missing:
        print(f"check_device_code: {missing}", file=sys.stderr)
        return 2
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{count} files checked, {len(problems)} refused.")
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
