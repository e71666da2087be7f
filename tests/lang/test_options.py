"""The keywords of `numba.jit`: honoured, taken, or refused by name."""

import warnings

import pytest

import numpy as np
import weft
from weft import _options


def f(x):
    return x + 1


# spec: N1
@pytest.mark.parametrize(
    "options",
    [
        {"nopython": True},
        {"forceobj": False},
        {"looplift": True},
        {"looplift": False},
        {"locals": {}},
        {"pipeline_class": None},
        {"target": None},
        {"target_backend": None},
        {"no_rewrites": True},
        {"no_cpython_wrapper": True},
        {"no_cfunc_wrapper": True},
        {"forceinline": True},
        {"writable_args": True},
        {"_nrt": True},
        {"_dbg_extend_lifetimes": True},
        {"_dbg_optnone": False},
        {"inline": "always"},
        {"inline": lambda expr, caller, callee: True},
        {"boundscheck": None},
        {"debug": True},
        {"error_model": "python"},
        {"parallel": {"prange": True, "fusion": False}},
        {"parallel": {}},
        {"cache": False},
    ],
)
def test_options_that_change_no_result(options):
    for decorator in (weft.njit, weft.jit):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            jitted = decorator(**options)(f)
        assert jitted(1) == 2
        assert jitted(np.arange(3)).tolist() == [1, 2, 3]


# spec: N1
@pytest.mark.parametrize(
    ("option", "way_out"),
    [
        (
            {"nopython": False},
            r"njit\(nopython=False\): there is no object mode.*the decorator off what is to stay Python",
        ),
        ({"forceobj": True}, r"njit\(forceobj=True\): there is no object mode"),
        ({"locals": {"x": np.float32}}, r"njit\(locals=.*\): names have the types.*`x = np.float32\(0\)`"),
        ({"pipeline_class": object}, r"njit\(pipeline_class=\.\.\.\): the compiler's passes.*`f.inspect\(stage\)`"),
        ({"_nrt": False}, r"njit\(_nrt=False\): arrays that a function makes are always counted"),
    ],
)
def test_options_that_would_change_results_are_refused_with_a_way_out(option, way_out):
    with pytest.raises(weft.UnsupportedError, match=way_out):
        weft.njit(**option)


# spec: A3
@pytest.mark.parametrize("option", [{"target": "cpu"}, {"target_backend": "cuda"}, {"queue": None}, {"device": "gpu"}])
def test_a_place_is_no_option(option):
    with pytest.raises(
        TypeError, match=r"njit\(.*\): the place is chosen by the arguments, or by `with weft.device_context"
    ):
        weft.njit(**option)


# spec: N1
def test_values_and_names_that_are_none():
    for options, text in (
        ({"looplift": "yes"}, "looplift is True or False, not 'yes'"),
        ({"error_model": "c"}, "error_model is one of 'python', 'numpy', not 'c'"),
        ({"cache": 1}, "cache is one of True, False, not 1"),
        ({"error_mode": "numpy"}, "did you mean error_model?"),
        ({"no_rewrite": True}, "did you mean no_rewrites?"),
        ({"colour": "red"}, "it takes parallel, .*, fastmath, source"),
    ):
        with pytest.raises(TypeError, match=text):
            weft.njit(**options)
    with pytest.raises(ValueError, match=r"parallel has no part 'loops': Numba's are comprehension, .*, prange"):
        weft.njit(parallel={"loops": True})


# spec: A5
def test_all_parts_of_parallel_off_is_off():
    off = weft.njit(parallel=dict.fromkeys(_options._PARTS, False))(f)
    some = weft.njit(parallel={**dict.fromkeys(_options._PARTS, False), "numpy": True})(f)
    with weft.device_context("opencl"):
        with pytest.raises(weft.OffloadConflictError):
            off(np.ones(3))
        assert some(np.ones(3)).tolist() == [2, 2, 2]


# spec: N1
def test_that_there_is_no_cache_is_said_once_and_only_to_who_asks(monkeypatch):
    monkeypatch.setattr(_options, "_warned_of_cache", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weft.njit(f)
        weft.njit(cache=False)(f)
    with pytest.warns(weft.OptionWarning, match="not kept on disk yet") as caught:
        weft.njit(cache=True)(f)
    assert [w.filename for w in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weft.njit(cache=True)(f)
        weft.kernel(cache=True)(f)
    monkeypatch.setattr(_options, "_warned_of_cache", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", weft.OptionWarning)
        weft.njit("int64(int64)", cache=True)(f)
