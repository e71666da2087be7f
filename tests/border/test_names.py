"""Names that compiled functions use from outside: globals, closures, modules, other functions."""

import enum
import types

import pytest

import numpy as np
import weft
from support import same

SCALE = 2
TABLE = np.arange(4.0)
NESTED = (1, 2.5, ("a", None))


def helper(x, k=10, *, z=1):
    return x * k + z


@weft.njit
def jitted_helper(x):
    return helper(x) + SCALE


class Colour(enum.Enum):
    RED = 7


class Speed(enum.IntEnum):
    FAST = 3


class Failure(ValueError):
    """An exception of the user's."""


# spec: N2
def test_functions_call_other_functions():
    @weft.njit
    def f(x):
        return jitted_helper(x), helper(x, 2), helper(x, z=5), helper(k=3, x=x)

    same(f(2), f.py_func(2))
    same(f(2.5), f.py_func(2.5))


# spec: N2
def test_a_function_sees_its_own_globals_and_closure():
    module = types.ModuleType("elsewhere")
    module.SCALE = 100
    source = "def scaled(x):\n    return x * SCALE\n"
    exec(compile(source, "<elsewhere>", "exec"), module.__dict__)
    scaled = weft.njit(module.scaled, source=source)
    offset = 5

    def shifted(x):
        return x + offset

    @weft.njit
    def f(x):
        return scaled(x), shifted(x), SCALE

    assert f(1) == (100, 6, 2)
    module.SCALE = 200
    assert f(1) == (200, 6, 2)
    offset = 6
    assert f(1) == (200, 7, 2)


# spec: N2
def test_rebinding_a_global_or_a_called_function_is_seen(monkeypatch):
    @weft.njit
    def f(x):
        return helper(x) * SCALE

    assert f(1) == 22
    monkeypatch.setitem(globals(), "SCALE", 3)
    assert f(1) == 33
    monkeypatch.setitem(globals(), "helper", lambda x: x + 1)
    assert f(1) == 6
    monkeypatch.undo()
    assert f(1) == 22
    # The first specialisation fits again.
    assert len(f.specializations) == 3


# spec: N2
def test_a_global_that_hides_a_builtin(monkeypatch):
    @weft.njit
    def f(x):
        return abs(x)

    assert f(-2) == 2
    monkeypatch.setitem(globals(), "abs", lambda x: x * 100)
    assert f(-2) == -200
    monkeypatch.undo()
    assert f(-2) == 2


# spec: N2
def test_a_number_that_keeps_changing_is_read_at_every_call(monkeypatch):
    @weft.njit
    def f(x):
        return x * SCALE

    for k in range(50):
        monkeypatch.setitem(globals(), "SCALE", k)
        assert f(3) == 3 * k
    assert len(f.specializations) <= 4
    monkeypatch.setitem(globals(), "SCALE", 0.5)
    same(f(3), 1.5)


# spec: N2
def test_a_changing_number_where_a_constant_must_be(monkeypatch):
    @weft.njit
    def f(p):
        return p[SCALE]

    for k in (0, 1, 2, 0, 1):
        monkeypatch.setitem(globals(), "SCALE", k)
        same(f((1, 2.5, None)), (1, 2.5, None)[k])


# spec: N2
def test_global_arrays_are_read_at_every_call(monkeypatch):
    @weft.njit
    def f(i):
        return TABLE[i], TABLE.shape[0]

    same(f(2), (np.float64(2.0), 4))
    TABLE[2] = 77
    same(f(2), (np.float64(77.0), 4))
    monkeypatch.setitem(globals(), "TABLE", np.arange(6))
    same(f(2), (np.int64(2), 6))
    monkeypatch.setitem(globals(), "TABLE", np.arange(9))
    same(f(2), (np.int64(2), 9))
    assert len(f.specializations) == 2
    TABLE[2] = 2


# spec: N2
def test_writes_into_a_global_array_are_seen():
    @weft.njit
    def f(v):
        TABLE[0] = v
        return TABLE

    assert f(5.0) is TABLE
    assert TABLE[0] == 5
    TABLE[0] = 0


# spec: N2
def test_tuples_enums_and_attributes():
    settings = types.SimpleNamespace(alpha=1.5)

    @weft.njit
    def f(x):
        return NESTED[1] * x, Colour.RED.value, Speed.FAST + 1, settings.alpha

    same(f(2), (5.0, 7, 4, 1.5))
    settings.alpha = 2
    same(f(2), (5.0, 7, 4, 2))


# spec: N2
def test_recursion():
    def fib(n):
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)

    assert weft.njit(fib)(15) == 610


# spec: G2
def test_a_missing_name_is_refused_where_it_stands():
    @weft.njit
    def f(x):
        return x + SCALLE  # noqa: F821

    with pytest.raises(NameError, match="did you mean `SCALE`"):
        f(1)


# spec: G2
def test_a_callee_that_cannot_be_compiled_is_shown_with_its_own_line():
    def callee(x):
        return x.no_such_attribute

    @weft.njit
    def f(x):
        return callee(x)

    with pytest.raises(AttributeError) as caught:
        f(np.zeros(3))
    assert f":{callee.__code__.co_firstlineno + 1}:" in str(caught.value)


def thrower(x):
    if x > 1:
        raise Failure("too big")
    return x


# spec: N2
def test_exceptions_of_the_users_own_class_with_the_place():
    @weft.njit
    def f(x):
        return thrower(x) + 1

    assert f(1) == 2
    with pytest.raises(Failure, match=r"^too big$") as caught:
        f(2)
    # One entry for each function, as without the decorator.
    outer, inner = caught.traceback[-2:]
    assert (outer.name, inner.name) == ("f", "thrower")
    assert outer.lineno + 1 == f.py_func.__code__.co_firstlineno + 2
    assert inner.lineno + 1 == thrower.__code__.co_firstlineno + 2
    assert type(caught.value) is Failure


# spec: N2
@pytest.mark.parametrize(
    "cls",
    [
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        RuntimeError,
        NotImplementedError,
        ArithmeticError,
        AssertionError,
        OSError,
        StopIteration,
        LookupError,
        Exception,
    ],
)
def test_builtin_exceptions(cls):
    def f(x):
        if x:
            raise cls("text")
        raise cls

    jitted = weft.njit(f)
    for x in (True, False):
        with pytest.raises(cls) as expected:
            f(x)
        with pytest.raises(cls) as caught:
            jitted(x)
        assert type(caught.value) is type(expected.value)
        assert str(caught.value) == str(expected.value)
        assert caught.value.args == expected.value.args


# spec: G2
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "vectorize",
            "module 'weft' has no attribute 'vectorize': write the array expression in a function with @weft.njit",
        ),
        ("float64", "module 'weft' has no attribute 'float64'; did you mean weft.types.float64?"),
        ("parange", "module 'weft' has no attribute 'parange'; did you mean prange?"),
        ("qqq", "module 'weft' has no attribute 'qqq'"),
        ("__path__x", "module 'weft' has no attribute '__path__x'"),
    ],
)
def test_a_name_that_weft_does_not_have(name, text):
    with pytest.raises(AttributeError) as caught:
        getattr(weft, name)
    assert str(caught.value) == text
    assert not hasattr(weft, name)


class Unready:
    """Settings of which one raises when it is looked at."""

    @property
    def factor(self):
        raise LookupError("not configured")


unready = Unready()


# spec: N2
def test_what_looking_up_an_attribute_raises_is_not_lost():
    @weft.njit
    def scaled(x):
        return x * unready.factor

    for _ in range(2):
        with pytest.raises(LookupError, match="not configured"):
            scaled(2)
