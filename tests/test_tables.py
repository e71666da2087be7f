"""What shows itself as a table: devices and traces, in terminals and notebooks; what the command line and `dir` say."""

import pickle
import re
import subprocess
import sys

import numpy as np
import weft


@weft.njit
def wave(x):
    return np.sin(x) + x


# spec: D1, G1
def test_devices_show_as_a_table():
    found = weft.devices()
    lines = repr(found).splitlines()
    assert lines[0].split() == ["device", "name", "memory", "units", "fp64", "driver"]
    assert len(lines) == len(found) + 1 and str(found) == repr(found)
    for device, line in zip(found, lines[1:]):
        assert line.startswith("*") == (device == weft.default_device())
        assert device.filter_string in line and device.name in line and str(device.max_compute_units) in line
    page = found._repr_html_()
    assert page.startswith("<table") and page.count("<tr>") == len(lines) and found[0].filter_string in page
    # It is a list in every other way.
    assert isinstance(found, list) and found == list(found) and type(found[:1]) is list
    listed = subprocess.run([sys.executable, "-m", "weft", "devices"], capture_output=True, text=True, check=True)
    assert listed.stdout.split("\n")[0].split() == lines[0].split()
    empty = weft.devices("native", "gpu")
    assert repr(empty) == empty._repr_html_() == "no devices" and empty == []
    try:
        pickle.dumps(found[:0])
        pickle.dumps(empty)
    except TypeError as error:
        raise AssertionError("an empty list of devices is an empty list") from error


# spec: G4
def test_traces_show_as_a_table(device):
    with weft.device_context(device), weft.trace() as trace:
        wave(np.ones(1000))
        wave(np.ones(1000))
    lines = repr(trace).splitlines()
    copies, launches = len(trace.copies), len(trace.launches)
    moved = " of 31.2 KiB" if device != "native" else ""
    assert lines[0].startswith("weft.trace: 1 compile, ") or lines[0].startswith("weft.trace: 2 compiles, ")
    assert f", {launches} launches, {copies} copies{moved}, " in lines[0]
    assert lines[1].split() == ["name", "device", "times", "bytes", "time", "at"]
    told = next(line.split() for line in lines if line.startswith("launch"))
    assert trace.launches[0].device in told and "2" in told
    # Parallel regions of the host do not say where they stand.
    assert device == "native" or any(re.search(r"test_tables\.py:\d+$", line) for line in lines)
    page = trace._repr_html_()
    assert page.startswith("<p>weft.trace: ") and page.count("<tr>") == len(lines) - 1 and "wave" in page
    assert repr(weft.trace()) == "weft.trace: 0 compiles, 0 launches, 0 copies, 0 waits"
    assert weft.trace()._repr_html_() == "<p>weft.trace: 0 compiles, 0 launches, 0 copies, 0 waits</p>"


# spec: G1
def test_the_version_on_the_command_line():
    for option in ("--version", "-V"):
        done = subprocess.run([sys.executable, "-m", "weft", option], capture_output=True, text=True, check=True)
        assert done.stdout == f"weft {weft.__version__}\n"
    done = subprocess.run([sys.executable, "-m", "weft"], capture_output=True, text=True)
    assert done.returncode == 2 and "--version" in done.stderr


# spec: G5
def test_dir_has_all_that_there_is():
    """Also what is imported when it is first used."""
    program = """
import weft
names = dir(weft)
assert {"atomic", "compat", "memory", "program", "tensor", "types", "utils", "Report", "__version__"} <= set(names)
assert set(weft.__all__) <= set(names)
for name in names:
    getattr(weft, name)
assert "Any" not in names and "TYPE_CHECKING" not in names
assert {name for name in names if not name.startswith("_")} == {*weft.__all__, *weft._SUBMODULES}
"""
    subprocess.run([sys.executable, "-c", program], check=True)
