"""`weft.config`, the command line and what importing costs."""

import subprocess
import sys

import pytest

import weft


def run(*arguments, **environment):
    import os

    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env={**os.environ, **environment}
    )
    return done


def test_settings_are_checked_when_assigned():
    with pytest.raises(AttributeError, match="it has device, num_threads"):
        weft.config.threads = 3
    with pytest.raises(ValueError, match=r"weft.config.num_threads: expected a positive number"):
        weft.config.num_threads = 0
    with pytest.raises(TypeError, match="expected an int, not bool"):
        weft.config.num_threads = True
    with pytest.raises(ValueError, match="'error', 'ignore', 'host'"):
        weft.config.offload_conflict = "perhaps"
    before = weft.config.num_threads
    weft.config.num_threads = 1
    assert weft._core.num_threads() == 1
    weft.config.num_threads = before


def test_every_setting_has_a_variable_and_a_sentence():
    for name, setting in weft.config.SETTINGS.items():
        assert setting.env == f"WEFT_{name.upper()}" and setting.doc.endswith(".")
        assert hasattr(weft.config, name)


def test_the_environment_is_read():
    program = "import weft; print(weft.config.num_threads, weft.config.verify, weft.config.device)"
    done = run("-c", program, WEFT_NUM_THREADS="3", WEFT_VERIFY="1", WEFT_DEVICE="cpu")
    assert done.stdout == "3 True cpu\n"
    done = run("-c", "import weft", WEFT_NUM_THREADS="many")
    assert done.returncode == 1 and "WEFT_NUM_THREADS='many'" in done.stderr


# spec: G1
def test_python_m_weft_devices():
    done = run("-m", "weft", "devices")
    assert done.returncode == 0, done.stderr
    header, *rows = done.stdout.splitlines()
    assert header.split()[:2] == ["device", "name"]
    assert len(rows) == len(weft.devices()) and "native:cpu:0" in rows[0]
    assert sum(row.startswith("*") for row in rows) == 1


# spec: G1, D1
def test_python_m_weft_doctor_says_what_is_missing():
    done = run("-m", "weft", "doctor", WEFT_OPENCL_LIB="/nowhere/libOpenCL.so", LD_LIBRARY_PATH="")
    assert done.returncode == 0, done.stderr
    for backend in ("native", "cuda", "opencl"):
        assert f"\n{backend}: " in done.stdout
    assert "/nowhere/libOpenCL.so" in done.stdout


def test_usage():
    assert run("-m", "weft").returncode == 2
    assert run("-m", "weft", "--help").returncode == 0
    assert "devices" in run("-m", "weft", "--help").stderr


# spec: D1
def test_importing_looks_for_no_driver():
    program = (
        "import numpy, weft, os; "
        "print([m.split()[-1] for m in open('/proc/self/maps') if 'OpenCL' in m or 'intelocl' in m or 'libcuda' in m])"
    )
    done = run("-c", program)
    assert done.stdout == "[]\n", done.stderr
