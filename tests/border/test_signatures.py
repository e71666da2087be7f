"""Signatures: compiling before the first call, in Numba's spelling or with `weft.types`."""

import pytest

import numpy as np
import weft
from weft import types


# spec: N1
@pytest.mark.parametrize(
    ("signature", "arguments", "shown"),
    [
        ("float64(float64)", (1.5,), "(float)"),
        ("int64(int64)", (1,), "(int)"),
        ("(int32,)", (np.int32(1),), "(np.int32)"),
        ("float32(float32)", (np.float32(1),), "(np.float32)"),
        ("float64[:](float64[:])", (np.zeros(6)[::2],), "(float64[:])"),
        ("float64[:, ::1](float64[:, ::1])", (np.zeros((2, 3)),), "(float64[:, :])"),
        ("i8[::1, :](i8[::1, :])", (np.zeros((2, 3), order="F", dtype=np.int64),), "(int64[:, :])"),
        ("complex128(complex128)", (1j,), "(complex)"),
        ("Tuple(int64, float64)(Tuple(int64, float64))", ((1, 2.5),), "(tuple[int, float])"),
        ("UniTuple(int64, 2)(UniTuple(int64, 2))", ((1, 2),), "(tuple[int, int])"),
        ((types.float64,), (1.5,), "(float)"),
        (types.float64(types.float64), (1.5,), "(float)"),
        (types.float64[:, ::1](types.float64[:, ::1]), (np.zeros((2, 3)),), "(float64[:, :])"),
        ((float,), (1.5,), "(float)"),
    ],
)
def test_a_signature_is_compiled_at_once(signature, arguments, shown):
    @weft.njit(signature)
    def f(x):
        return x

    assert f.signatures == [shown]
    f(*arguments)
    assert len(f.specializations) == 1, "the call found what was compiled"


# spec: N1
def test_several_signatures_and_other_types():
    @weft.njit(["int64(int64)", "float64(float64)"], nogil=True)
    def f(x):
        return x + 1

    assert f.signatures == ["(int)", "(float)"]
    assert f(np.float32(1)) == 2  # compiled when it comes
    assert len(f.specializations) == 3
    assert f.py_func(1) == 2


# spec: G2
@pytest.mark.parametrize(
    ("text", "says", "column"),
    [
        ("float64(float65)", "did you mean float64", 8),
        ("float64(float64", "','", 15),
        ("float64[::1, :, ::1](int64)", "once", 7),
        ("(int64))", "nothing more", 7),
        ("int64(int64,,)", "a type is missing", 12),
        ("int64(UniTuple(int64, x))", "number of parts", 22),
        ("", "a type is missing", 0),
    ],
)
def test_a_wrong_signature_is_pointed_at(text, says, column):
    with pytest.raises(ValueError, match=says) as caught:
        types.parse(text)
    caret = str(caught.value).splitlines()[-1]
    assert caret.index("^") == column + 2


# spec: N1
def test_what_does_not_agree_with_the_function_is_refused():
    with pytest.raises(weft.TypingError, match="returns int64, and it returns float64"):

        @weft.njit("int64(float64)")
        def f(x):
            return x + 1

    with pytest.raises(TypeError, match="has 2 arguments, and `g` has 1 parameters"):

        @weft.njit("int64(int64, int64)")
        def g(x):
            return x


SCALE = 2


# spec: N1
def test_recompile(monkeypatch):
    @weft.njit
    def f(x):
        return x * SCALE

    assert f(2) == 4 and f(2.5) == 5.0
    f.recompile()
    assert f.signatures == ["(int)", "(float)"]
    assert f(2) == 4
    monkeypatch.setitem(globals(), "SCALE", 5)
    f.recompile()
    assert f(2) == 10 and len(f.specializations) == 2


# spec: N5
def test_inspect_knows_the_last_specialisation():
    @weft.njit
    def f(x):
        return x + 1

    f(1)
    f(1.0)
    assert "pyfloat" in f.inspect("ntensor")
    assert "pyint" in f.inspect("ntensor", 0)


# spec: A2
def test_a_specialisation_tells_what_took_its_time():
    @weft.njit
    def f(x):
        return x + 1

    f(1)
    (made,) = f.specializations
    assert list(made.timings) == ["source", "parse", "infer", "passes", "code", "load"]
    assert all(seconds > 0 for seconds in made.timings.values())
    assert abs(sum(made.timings.values()) - made.seconds) < 1e-6
