"""Numbers that a call leaves to their defaults are constants of the code that serves it."""

import pytest

import numpy as np
import weft


def scaled(x, factor=3, shift=-0.5, flip=False):
    y = x * factor + shift
    if flip:
        y = -y
    return y, factor, shift, flip


X = np.arange(4.0)


def check(have, want):
    assert [type(a) for a in have] == [type(a) for a in want]
    for a, b in zip(have, want):
        np.testing.assert_array_equal(a, b)


# spec: N2
@pytest.mark.parametrize(
    "given, named",
    [
        ((), {}),
        ((2,), {}),
        ((2, 1.5), {}),
        ((2, 1.5, True), {}),
        ((), {"flip": True}),
        ((), {"factor": 3}),
        ((), {"shift": 0, "factor": 2.5}),
    ],
)
def test_any_of_them_may_be_left_out(given, named):
    compiled = weft.njit(scaled)
    for _ in range(2):
        check(compiled(X, *given, **named), scaled(X, *given, **named))
    check(compiled(X), scaled(X))
    check(compiled(X, *given, **named), scaled(X, *given, **named))


# spec: N2
def test_code_for_a_default_knows_its_value():
    compiled = weft.njit(scaled)
    compiled(X)
    compiled(X)
    assert compiled.signatures == ["(float64[:], int=3, float=-0.5, bool=False)"]
    assert "scf.if" not in compiled.inspect("ntensor")  # `flip` is known
    compiled(X, 3, -0.5, False)
    assert len(compiled.specializations) == 2
    assert "scf.if" in compiled.inspect("ntensor")


# spec: N2
def test_code_that_takes_them_at_run_time_serves_all_calls():
    compiled = weft.njit(scaled)
    compiled(X, 2, 1.0, True)
    check(compiled(X), scaled(X))
    assert len(compiled.specializations) == 1

    @weft.njit("float64(float64, float64)")
    def eager(x, y=2.0):
        return x * y

    assert eager(3.0) == 6.0 and len(eager.specializations) == 1


# spec: N2
@pytest.mark.parametrize("default", [0, -1, 1, 0.0, -0.0, float("nan"), float("inf"), True, False, 2**63 - 1, -(2**63)])
def test_defaults_come_back_as_they_are(default):
    def f(a=default, *, b=default):
        return a, b

    have = weft.njit(f)()
    assert [type(v) for v in have] == [type(default)] * 2
    assert [repr(v) for v in have] == [repr(default)] * 2


# spec: N2
@pytest.mark.parametrize("k", [0, 5, -5, 2**63 - 1])
def test_what_a_default_raises_is_raised_by_the_call(k):
    def divided(x, by=k):
        return x // by

    def element(x, at=k):
        return x[at]

    def further(x, by=k):
        return x + by

    for function, argument in ((divided, 7), (element, np.arange(5)), (further, 1)):
        try:
            want = function(argument)
        except (ZeroDivisionError, IndexError) as error:
            with pytest.raises(type(error)):
                weft.njit(function)(argument)
        else:
            if isinstance(want, int) and want >= 2**63:
                with pytest.raises(OverflowError):
                    weft.njit(function)(argument)
            else:
                assert weft.njit(function)(argument) == want


# spec: N2
def test_an_int_that_no_code_can_hold():
    @weft.njit
    def f(x, k=2**70):
        return x

    with pytest.raises(OverflowError, match="`k` is an int outside the 64 bits"):
        f(1)
    assert f(1, 2) == 1


# spec: N2
def test_keywords_bind_as_in_cpython():
    """After the first such call Weft binds by itself; what is wrong is still CPython's to say."""

    def f(a, b, /, c, d=4, *, e, g=-1):
        return a, b, c, d, e, g

    compiled = weft.njit(f)
    right = [
        ((1, 2), {"c": 3, "e": 5}),
        ((1, 2, 3), {"e": 5, "d": 6}),
        ((1, 2, 3, 4), {"g": 7, "e": 5}),
        ((1, 2), {"e": 5, "g": 7, "d": 6, "c": 3}),
        ((1, 2), {"e": 5.5, "c": 3.5}),
    ]
    wrong = [
        ((), {}),
        ((1, 2), {"e": 5}),
        ((1, 2, 3), {}),
        ((1, 2, 3), {"c": 3, "e": 5}),
        ((1, 2, 3, 4, 5), {"e": 5}),
        ((1,), {"b": 2, "c": 3, "e": 5}),
        ((1, 2, 3), {"e": 5, "z": 6}),
    ]
    for _ in range(3):
        for given, named in right:
            assert compiled(*given, **named) == f(*given, **named)
        for given, named in wrong:
            with pytest.raises(TypeError) as theirs:
                f(*given, **named)
            with pytest.raises(TypeError) as ours:
                compiled(*given, **named)
            assert str(ours.value) == str(theirs.value).replace(f.__qualname__, compiled.__qualname__)


# spec: N2
def test_keywords_that_are_made_when_running():
    """Names that are equal and not the same object, and arrays among them."""
    compiled = weft.njit(scaled)
    for _ in range(3):
        named = {"".join(["fac", "tor"]): 5, "".join(["x"]): X}
        check(compiled(**named), scaled(**named))


# spec: N2
def test_defaults_that_are_no_numbers():
    def f(x, y=None, *more):
        return x if y is None else x + y, len(more)

    compiled = weft.njit(f)
    for given in ((1,), (1, 2), (1, 2, 3, 4), (1,)):
        assert compiled(*given) == f(*given)
    assert compiled(1, y=2) == compiled(x=1, y=2) == (3, 0)
