"""What holds for every test: the guard on NumPy, the devices, and that nothing but CUDA is skipped.

`WEFT_GUARD_NUMPY=0` turns the guard of `guard.py` off. `WEFT_REQUIRE_OPENCL=1` and `WEFT_REQUIRE_CUDA=1` end the
session where such a device is missing. `WEFT_GC_THRESHOLD=1` lets the garbage collector run wherever
it may.
"""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import guard

# Before any test module is imported, so that all of them see the stand-ins.
if os.environ.get("WEFT_GUARD_NUMPY", "1") != "0":
    guard.install()
else:
    collect_ignore = ["test_guard.py"]

import weft

if threshold := os.environ.get("WEFT_GC_THRESHOLD"):
    gc.set_threshold(int(threshold))

guard.watch(weft._core.at_work)

from support import device_parameters  # noqa: E402 (support imports NumPy, and weft)


def pytest_configure(config: pytest.Config) -> None:
    for backend, name in (("opencl", "OpenCL"), ("cuda", "CUDA")):
        if os.environ.get(f"WEFT_REQUIRE_{name.upper()}") == "1" and not weft.devices(backend):
            report = next(r for r in weft._core.backend_reports() if r["backend"] == backend)
            pytest.exit(f"no {name} device: {report['problem']}", returncode=3)


def pytest_report_header() -> list[str]:
    devices = ", ".join(device.filter_string for device in weft.devices())
    return [f"weft: {devices}; NumPy is {'guarded' if guard.installed() else 'not guarded'}"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", device_parameters())
    # What only devices with memory and a driver of their own have.
    if "accelerator" in metafunc.fixturenames:
        metafunc.parametrize("accelerator", device_parameters()[1:])


@pytest.fixture
def queue(device: str) -> Any:
    """The default queue of the device under test."""
    with weft.device_context(device) as queue:
        pass
    return queue


@pytest.fixture
def in_context(device: str) -> Iterator[str]:
    """The test runs inside a context of the device under test."""
    with weft.device_context(device):
        yield device


# Only CUDA tests may skip: a skipped test looks like a passed one. Where OpenCL is not required (a GPU machine without
# Intel's runtime), its tests may too.

_may_skip = {"cuda"} if os.environ.get("WEFT_REQUIRE_OPENCL") == "1" else {"cuda", "opencl"}

_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not any(device in report.nodeid or device in report.keywords for device in _may_skip):
        _skipped.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if _skipped and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _skipped:
        terminalreporter.section("skipped, and not for want of CUDA", red=True)
        for name in _skipped:
            terminalreporter.line(name)


@pytest.fixture
def threads_kept():
    """The number of threads that a test sets is as before after it."""
    import weft

    before = weft.get_num_threads()
    yield
    weft.set_num_threads(before)


@pytest.fixture
def overloads_undone():
    """What a test registers is gone after it."""
    from weft import _overload

    before = dict(_overload._OVERLOADS)
    yield
    _overload._OVERLOADS.clear()
    _overload._OVERLOADS.update(before)
