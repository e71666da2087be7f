"""A pytest plugin: what became of each test, as a line of JSON each, written before and after it ran.

In come tests of another compiler; out goes, to the file `WEFT_OUTSIDE_LOG`, a line when a test begins and one with its
verdict: pass, skipped, refused, internals, differs, as python (what it raises is what CPython raises), wrong, internal
error, or the entry of `docs/deviations.md` that tells of it. What ends the process shows as a test that
began and has no verdict. Tests that the file names already are not run again.
"""

from __future__ import annotations

import builtins
import faulthandler
import json
import linecache
import os
import re
import resource
import sys
import unittest
from pathlib import Path
from typing import Any

import numba  # the stand-in, before pytest puts the checkout on the path  # noqa: F401
import numba_mlir  # noqa: F401
import pytest
import weft_outside
import weft_twin

import weft

LOG = Path(os.environ["WEFT_OUTSIDE_LOG"])
SECONDS = float(os.environ.get("WEFT_OUTSIDE_SECONDS", "60"))
_memory = int(os.environ.get("WEFT_OUTSIDE_GIGABYTES", "12")) << 30
resource.setrlimit(resource.RLIMIT_AS, (_memory, _memory))
sys.setrecursionlimit(3000)


# Texts of failures that are entries of `docs/deviations.md`.
NAMED = [
    ("V1", "^OverflowError: .* 64 bits"),
    ("V14", "No active exception to reraise"),
]

_eval = builtins.eval


def _kept(text: Any, names: Any = None, local: Any = None) -> Any:
    """`eval` that leaves the text where the compiler can find it."""
    frame = sys._getframe(1)
    if names is None:
        names, local = frame.f_globals, frame.f_locals
    if isinstance(text, str):
        name = f"<evaluated {len(linecache.cache)}>"
        linecache.cache[name] = (len(text), None, [text.strip() + "\n"], name)
        text = compile(text.strip(), name, "eval")
    return _eval(text, names, local)


builtins.eval = _kept  # type: ignore[assignment]


def _write(**record: Any) -> None:
    with LOG.open("a") as file:
        file.write(json.dumps(record) + "\n")


def _done() -> set[str]:
    return {json.loads(line)["test"] for line in LOG.read_text().splitlines()} if LOG.exists() else set()


def _inner(test: str) -> str:
    return test.partition("/tests/")[2] or test


def verdict(error: BaseException) -> str:
    """The one word for what an exception says about Weft."""
    if isinstance(error, weft_outside.NeedsInternals):
        return "internals"
    if isinstance(error, weft.WeftInternalError) or "internal error" in str(error).lower():
        return "internal error"
    if isinstance(error, weft.WeftError):
        return "refused"
    if isinstance(error, weft_outside.Differs):
        return "differs"
    if isinstance(error, (unittest.SkipTest, pytest.skip.Exception, pytest.xfail.Exception)):
        return "skipped"
    if getattr(error, "as_python", False):
        return "as python"
    text = f"{type(error).__name__}: {error}"
    for entry, pattern in NAMED:
        if re.search(pattern, text):
            return entry
    theirs = r"numba|Inside|inside|Dispatcher|'Type'|_Config|builtin_function_or_method|Twin|has no option|InsideBase"
    if isinstance(error, (AttributeError, ImportError, TypeError)) and re.search(theirs, text):
        return "internals"
    if type(error).__name__ in ("NameError", "FileNotFoundError"):
        return "internals"
    return "wrong"


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:1500]


def pytest_collection_modifyitems(items: list[Any]) -> None:
    done = _done()
    items[:] = [item for item in items if _inner(item.nodeid) not in done]


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        _write(test=_inner(report.nodeid), verdict="import", text=str(report.longrepr)[-1500:])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Any:
    _write(test=_inner(item.nodeid), verdict="began")
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    weft_outside.STATE.running = True
    weft_twin.DIFFERENCES.clear()
    yield
    weft_outside.STATE.running = False
    faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" or (report.when == "setup" and not report.passed):
        name = _inner(item.nodeid)
        case = getattr(item, "_instance", None) or getattr(item, "instance", None)
        parts = getattr(case, "__dict__", {}).pop("parts", [])
        for part in parts:
            _write(test=name, verdict=verdict(part), text=_text(part), part=True)
        twins = list(dict.fromkeys(line[:1000] for line in weft_twin.DIFFERENCES))
        if call.excinfo is not None:
            error = call.excinfo.value
            _write(test=name, verdict=verdict(error), text=_text(error), where=_where(call.excinfo), twins=twins)
        elif report.skipped:
            _write(test=name, verdict="skipped", text="")
        else:
            _write(test=name, verdict="parts" if parts else "pass", twins=twins)


def _where(info: Any) -> str:
    frames = [f"{Path(entry.path).name}:{entry.lineno + 1}" for entry in info.traceback]
    return " ".join(frames[-6:])
