"""What random programs came down to when they showed a difference: each has been mended, and stays so."""

import textwrap

import pytest
from compare import compare
from grammar import Program

import numpy as np
import weft

# By what was wrong: the program, and the arguments of a call or two.
FOUND = {
    "min and max of bools are bools": (
        """
        @njit
        def f(x, y):
            return max(x, y), min(x, y)
        """,
        ["x = True\ny = False"],
    ),
    "the shape of an array that a try rebinds": (
        """
        @njit
        def f(a, n):
            try:
                b = np.zeros_like(a)
                a = np.arange(n)
            except ZeroDivisionError:
                pass
            return a, b
        """,
        ["a = np.arange(5)\nn = 2"],
    ),
    "a division by zero on a path that is not taken": (
        """
        @njit
        def f(n):
            if n > 3:
                n = 1 // 0
            return n
        """,
        ["n = 2", "n = 4"],
    ),
    "a store to a read-only array on a path that is not taken": (
        """
        @njit
        def f(n, a):
            if n > 3:
                a[0] = 1
            return n
        """,
        ["n = 2\na = np.arange(3)\na.flags.writeable = False", "n = 4\na = np.arange(3)\na.flags.writeable = False"],
    ),
    "a name that is surely unbound, on a path that is not taken": (
        """
        @njit
        def f(n):
            if n > 0:
                x = n
            else:
                n = x
            return n
        """,
        ["n = 2", "n = 0"],
    ),
    "a recursion whose end always raises": (
        """
        @njit
        def h(p):
            if p <= 0:
                return p / 0
            return h(0)

        @njit
        def f(a):
            return h(a)
        """,
        ["a = 3"],
    ),
    "filter over nothing": (
        """
        @njit
        def f(n):
            return [q for q in filter(lambda q: q, [1 for v in range(0)])]
        """,
        ["n = 1"],
    ),
    "an array that the else of a try rebinds, before its finally": (
        """
        @njit
        def f(a, n):
            for i in range(n):
                try:
                    pass
                except Exception:
                    pass
                else:
                    a = np.arange(n, dtype=np.int16)
                finally:
                    x = a[0]
                break
            return a, x
        """,
        ["a = np.arange(3, dtype=np.int16)\nn = 2"],
    ),
}


# spec: N2, N3
@pytest.mark.parametrize("name", FOUND)
def test_found_and_mended(name):
    text, calls = FOUND[name]
    parameters = [line.split(" =")[0] for line in calls[0].split("\n") if "." not in line.split(" =")[0]]
    program = Program(0, "import numpy as np\n" + textwrap.dedent(text), parameters, calls)
    outcome = compare(program)
    assert outcome.kind == "same", outcome.text


# spec: N2
def test_two_dtypes_do_not_meet():
    @weft.njit
    def f(n, x):
        a = np.int64(5)
        if n > 3:
            a = x
        return a

    with pytest.raises(weft.errors.TypingError, match=r"np\.int8 on one path and np\.int64 on another"):
        f(8, np.int8(1))
