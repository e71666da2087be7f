"""Fixtures of all tests, and the check that the devices the suite needs are there."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import weft
from support import device_parameters


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("WEFT_REQUIRE_OPENCL") == "1" and not weft.devices("opencl"):
        report = next(r for r in weft._core.backend_reports() if r["backend"] == "opencl")
        pytest.exit(f"no OpenCL device: {report['problem']}", returncode=3)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", device_parameters())
