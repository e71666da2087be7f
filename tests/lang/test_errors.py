"""What a person sees when something is refused."""

import traceback

import pytest

import numpy as np
import weft
from weft import errors


# spec: G2
def test_the_tree_of_classes():
    assert issubclass(errors.TypingError, (errors.CompileError, TypeError))
    for twin, base in {
        errors.TypingAttributeError: AttributeError,
        errors.TypingNameError: NameError,
        errors.TypingValueError: ValueError,
        errors.TypingIndexError: IndexError,
        errors.TypingAxisError: np.exceptions.AxisError,
        errors.TypingOverflowError: OverflowError,
        errors.TypingZeroDivisionError: ZeroDivisionError,
        errors.TypingUnboundLocalError: UnboundLocalError,
    }.items():
        assert issubclass(twin, errors.TypingError) and issubclass(twin, base)
    assert issubclass(errors.UnsupportedError, errors.CompileError)
    assert issubclass(errors.ExecutionPlacementError, TypeError)
    assert issubclass(errors.DeviceMemoryError, MemoryError)
    for name in errors.__all__:
        cls = getattr(errors, name)
        inside = name not in ("WeftInternalError", "PlacementWarning", "OptionWarning")
        assert issubclass(cls, errors.WeftError) == inside
        assert cls.__doc__


@weft.njit
def add(x, y):
    return x + y


# spec: G2
@pytest.mark.parametrize(
    ("argument", "cls", "says"),
    [
        ("a", weft.TypingError, "float and str"),
        ([1.0], weft.TypingError, "'float' and 'list'"),
        (np.zeros(3, np.longdouble), weft.UnsupportedError, r"longdouble.*float64.*y.astype"),
        (np.zeros(3, object), weft.UnsupportedError, "object"),
        (np.zeros(3, "U3"), weft.UnsupportedError, "str_"),
        (np.zeros(3, ">f8"), weft.UnsupportedError, r"byte-swapped.*y.astype\(np.float64\)"),
        (np.zeros(25, np.uint8)[1:].view(np.float64), weft.UnsupportedError, r"not aligned.*y.copy\(\)"),
        (np.longdouble(3), weft.UnsupportedError, "longdouble"),
        (np.ma.zeros(3), weft.UnsupportedError, r"MaskedArray.*y.filled\(value\)"),
        (2**63, OverflowError, "`y` is an int outside the 64 bits"),
    ],
)
def test_arguments_that_are_not_taken(argument, cls, says):
    with pytest.raises(cls, match=says):
        add(1.0, argument)


# spec: N9
def test_ints_at_the_border_are_taken():
    for value in (2**63 - 1, -(2**63)):
        assert add(value, 0) == value


# spec: G2
def test_a_refusal_shows_the_users_line_with_a_caret():
    @weft.njit
    def f(x):
        y = x + 1
        return np.sinn(y)

    with pytest.raises(AttributeError) as caught:
        f(1.0)
    text = str(caught.value)
    line = f.py_func.__code__.co_firstlineno + 3
    assert type(caught.value) is errors.TypingAttributeError
    assert f"test_errors.py:{line}:16" in text
    assert "        return np.sinn(y)" in text and "^^^^^^^" in text
    assert len(text.splitlines()) <= 10


# spec: G2
def test_an_unknown_name_is_a_name_error():
    @weft.njit
    def f(x):
        return x + undefined_name  # noqa: F821

    with pytest.raises(NameError, match="undefined_name") as caught:
        f(1.0)
    assert isinstance(caught.value, weft.TypingError)


# spec: N2
def test_exceptions_of_compiled_code_have_the_users_line():
    @weft.njit
    def f(a, b):
        c = a + 1
        return (c // b) * 2

    with pytest.raises(ZeroDivisionError) as caught:
        f(1, 0)
    with pytest.raises(ZeroDivisionError) as plain:
        f.py_func(1, 0)
    assert str(caught.value) == str(plain.value)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.filename, frame.name) == (__file__, "f")
    assert frame.lineno == f.py_func.__code__.co_firstlineno + 3
    assert frame.line == "return (c // b) * 2"
    assert frame.line[frame.colno - 8 : frame.end_colno - 8] == "c // b"


class Picky(Exception):
    def __init__(self, a, b):
        if a < 0:
            raise KeyError(a)
        super().__init__(a, b)


class NoException(Exception):
    def __new__(cls):
        return 3


# spec: N2
def test_an_exception_that_cannot_be_made_points_at_its_raise():
    @weft.njit
    def made(x):
        if x == 1:
            raise Picky(x)
        if x == 2:
            raise NoException()
        raise Picky(-x, 2)

    @weft.njit
    def f(x):
        return made(x) + 1

    for x in (1, 2, 3):
        with pytest.raises((TypeError, KeyError)) as ours:
            f(x)
        with pytest.raises((TypeError, KeyError)) as plain:
            made.py_func(x)
        assert (ours.type, str(ours.value)) == (plain.type, str(plain.value))
        shown, expected = (traceback.extract_tb(caught.value.__traceback__)[1:] for caught in (ours, plain))
        assert [(entry.filename, entry.name, entry.lineno) for entry in shown][1:] == [
            (entry.filename, entry.name, entry.lineno) for entry in expected
        ]
        assert shown[0].name == "f"


# spec: N9
def test_python_ints_that_leave_64_bits_raise():
    with pytest.raises(OverflowError) as caught:
        add(2**62, 2**62)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "add"


# spec: N3
def test_shapes_that_do_not_broadcast_raise_as_numpy_does():
    for x, y in ((np.zeros(3), np.zeros(4)), (np.zeros((2, 3)), np.zeros((3, 2)))):
        with pytest.raises(ValueError) as ours:
            add(x, y)
        with pytest.raises(ValueError) as plain:
            x + y
        assert str(ours.value) == str(plain.value)


# spec: G2
def test_a_failed_call_leaves_the_function_usable():
    @weft.njit
    def f(x):
        return x + 1

    for _ in range(2):
        with pytest.raises(weft.TypingError):
            f("a")
    assert f(1) == 2 and len(f.specializations) == 1
    assert weft._core.at_work() == 0


# spec: G2
def test_keyword_star_parameters_are_refused():
    with pytest.raises(weft.UnsupportedError, match="name each parameter"):

        @weft.njit
        def f(**xs):
            return xs
