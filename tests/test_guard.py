"""The guard can fail, and it watches what it should: NumPy does not compute for Weft."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import guard
import numpy as np
import weft
from numpy import cos, where
from support import OTHER, same
from weft import _binding

CASES = {
    "a ufunc": lambda x: np.sin(x),
    "a ufunc's method": lambda x: np.add.reduce(x),
    "a function": lambda x: np.where(x > 1, x, x),
    "a function imported by name": lambda x: where(x > 1, x, x),
    "a function of a submodule": lambda x: np.linalg.norm(x),
    "a method": lambda x: x.sum(),
    "a method of the type": lambda x: np.ndarray.astype(x, "f4"),
    "creation": lambda x: np.zeros(3),
}


@pytest.fixture
def at_work(monkeypatch):
    """Returns a function that runs another in the midst of a jitted call, where Weft binds keywords in Python."""

    def run(work):
        def f(x):
            return x + 1

        original = _binding.binder

        def binder(function):
            twin = original(function)

            def spy(*args, **kwargs):
                work()
                return twin(*args, **kwargs)

            return spy

        monkeypatch.setattr(_binding, "binder", binder)
        return weft.njit(f)(x=np.arange(3.0))

    return run


def test_weft_is_seen_at_work_during_a_jitted_call(at_work):
    depths = []
    result = at_work(lambda: depths.append(weft._core.at_work()))
    assert len(depths) == 1 and depths[0] > 0
    assert weft._core.at_work() == 0
    same(result, np.arange(3.0) + 1)


@pytest.mark.parametrize("case", CASES)
def test_numpy_entered_while_weft_is_at_work_raises(at_work, case):
    x = np.arange(3.0)
    CASES[case](x)
    with pytest.raises(AssertionError, match=r"numpy\..* was entered while Weft was at work"):
        at_work(lambda: CASES[case](x))
    assert weft._core.at_work() == 0
    CASES[case](x)


def test_the_flag_is_of_one_thread(at_work):
    seen = []

    def other():
        seen.append((weft._core.at_work(), np.sin(np.arange(3.0)).shape))

    def work():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    at_work(work)
    assert seen == [(0, (3,))]


def test_every_public_function_and_method_has_a_stand_in():
    for name in ("sin", "add", "absolute", "where", "sum", "zeros", "einsum", "dot", "sort", "linspace"):
        assert hasattr(getattr(np, name), "__weft_stands_for__"), name
    assert np.abs is np.absolute and cos is np.cos
    plain = [name for name in np.__all__ if guard._is_function(getattr(np, name))]
    assert plain == []
    assert {"sum", "astype", "copy", "reshape", "sort", "dot", "take", "item", "tolist"} <= guard.methods.keys()


def test_weft_own_python_code_is_watched_too():
    scope = {"__name__": "weft.fake", "np": np}
    exec("def compute(x): return np.sin(x)\ndef create(x): return np.asarray(x)", scope)
    with pytest.raises(AssertionError, match=r"numpy.sin was called by weft.fake"):
        scope["compute"](np.arange(3.0))
    scope["create"]([1, 2])


def test_stand_ins_behave_as_the_originals():
    x = np.arange(6.0).reshape(2, 3)
    assert isinstance(np.add, np.ufunc) and np.add.nin == 2 and np.sin.__name__ == "sin"
    same(np.add.reduce(x, axis=0), np.array([3.0, 5.0, 7.0]))
    same(np.add.outer([1, 2], [10, 20]), np.array([[11, 21], [12, 22]]))
    same(x.sum(axis=1), np.array([3.0, 12.0]))
    same(np.ma.masked_array(x, x > 3).sum(), np.float64(6.0))


def test_the_compiler_takes_stand_ins_for_the_originals():
    @weft.njit
    def f(x):
        return cos(x) + np.sin(x) + np.abs(x)

    @weft.njit
    def g(x):
        return where(x > 1, x, -x)

    x = np.arange(4.0)
    before = guard.entered
    ours = f(x), g(x)
    assert guard.entered == before
    same(ours, (f.py_func(x), g.py_func(x)))
    assert guard.entered > before


# spec: T4
@pytest.mark.parametrize("where_", ["native", OTHER])
def test_tensors_work_without_numpy(where_):
    tensor = weft.tensor
    x = tensor.asarray(np.arange(4.0), device=where_)
    before = guard.entered
    y = tensor.where(x > 1, tensor.sqrt(x), x * 2 + 1)
    host = tensor.asnumpy(y)
    assert guard.entered == before
    same(host, np.where(np.arange(4.0) > 1, np.sqrt(np.arange(4.0)), np.arange(4.0) * 2 + 1))


MAY_PASS = """
import pytest
def test_plain(): pass
@pytest.mark.cuda
def test_gpu(): pytest.skip("no GPU")
"""
MUST_FAIL = """
import pytest
def test_skips(): pytest.skip("no reason")
@pytest.mark.xfail
def test_expected_to_fail(): assert 0
"""
MUST_FAIL_TOO = "import pytest\npytest.skip('no reason', allow_module_level=True)"


@pytest.mark.parametrize("good", [True, False])
def test_a_session_in_which_something_but_cuda_skips_fails(tmp_path, good):
    here = Path(__file__).parent
    (tmp_path / "test_may_pass.py").write_text(MAY_PASS)
    if not good:
        (tmp_path / "test_must_fail.py").write_text(MUST_FAIL)
        (tmp_path / "test_must_fail_too.py").write_text(MUST_FAIL_TOO)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = cuda: as in pyproject.toml\n")
    (tmp_path / "conftest.py").symlink_to(here / "conftest.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(here), *filter(None, sys.path)])}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == (0 if good else 1), done.stdout + done.stderr
    if not good:
        _, _, listed = done.stdout.partition("not for want of CUDA")
        for name in ("test_skips", "test_expected_to_fail", "test_must_fail_too.py"):
            assert name in listed
        assert "test_gpu" not in listed.partition("short test summary")[0]
