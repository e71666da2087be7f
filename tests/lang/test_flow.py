"""Statements: what compiled code does at every `if`, loop, exit and exception is what CPython does."""

import math

import pytest

import numpy as np
import weft


def outcome(function, args):
    """Value and type, or exception type and message."""
    try:
        value = function(*args)
    except Exception as error:
        return type(error), str(error)
    return type(value), value


def agree(function, *calls):
    compiled = weft.njit(function)
    for args in calls:
        expected, found = outcome(function, args), outcome(compiled, args)
        assert repr(found) == repr(expected), f"{function.__name__}{args}"


# spec: N2
def test_while_with_else_break_and_continue():
    def f(n):
        total = 0
        i = 0
        while i < n:
            i += 1
            if i % 3 == 0:
                continue
            if i > 50:
                break
            total += i
        else:
            total = -total
        return total

    agree(f, (0,), (10,), (50,), (51,), (1000,))


# spec: N2
def test_exits_of_several_levels():
    def f(a, wanted):
        rows = 0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                if a[i, j] == wanted:
                    return i, j
                if a[i, j] < 0:
                    break
            else:
                rows += 1
                continue
            rows -= 1
            while True:
                rows += 2
                if rows > 3:
                    break
                if wanted > 100:
                    return -1, rows
        return -2, rows

    a = np.arange(12).reshape(3, 4)
    b = a.copy()
    b[1, 2] = -5
    agree(f, (a, 7), (a, 70), (b, 70), (b, 700), (b, 11))


# spec: N2
def test_names_that_a_path_leaves_unassigned():
    def f(n):
        if n > 0:
            x = n * 2
        for i in range(n):
            last = i
        if n > 3:
            return x + last
        if n == 2:
            return last
        return x

    agree(f, (5,), (2,), (1,), (0,), (-1,))


# spec: N2
def test_values_that_may_be_none():
    def f(x, scale=None):
        if scale is None:
            scale = 2.0
        best = None
        for i in range(len(x)):
            if x[i] > 0 and (best is None or x[i] < best):
                best = x[i]
        if best is None:
            return None
        return best * scale

    agree(f, (np.array([3.0, -1.0, 2.0]),), (np.array([-1.0]),), (np.array([3.0, 4.0]), 3.0), (np.zeros(0),))


# spec: N2
def test_using_none_where_a_number_is_needed_raises():
    def f(n):
        x = None
        if n > 0:
            x = n
        return x + 1

    compiled = weft.njit(f)
    assert compiled(3) == 4
    with pytest.raises(TypeError):
        compiled(0)


# spec: N2
def test_exceptions_are_raised_caught_and_passed_on():
    def f(x, mode):
        steps = 0
        try:
            steps += 1
            if mode == 1:
                raise ValueError("bad value")
            if mode == 2:
                steps = steps // x
            if mode == 3:
                try:
                    steps = 10 // x
                except ZeroDivisionError:
                    steps = 100
                    raise
                finally:
                    steps += 1000
            steps += 10
        except ValueError:
            steps = -steps
        except (ArithmeticError, IndexError):
            if mode == 3:
                return steps
            raise RuntimeError(f"mode {mode} with x = {x}")
        else:
            steps += 5
        finally:
            steps += 1
        return steps

    agree(f, (0, 0), (0, 1), (0, 2), (2, 2), (0, 3), (5, 3))


# spec: N2
def test_assert_and_messages():
    @weft.njit
    def f(n, x):
        assert n > 0, f"n is {n}, x is {x}"
        assert x == x
        if n > 10:
            raise OverflowError("too big")
        return n

    assert f(1, 2.5) == 1
    for args, error, message in [
        ((0, 2.5), AssertionError, "n is 0, x is 2.5"),
        ((-3, 0.1), AssertionError, "n is -3, x is 0.1"),
        ((1, math.nan), AssertionError, ""),
        ((11, 1.0), OverflowError, "too big"),
    ]:
        with pytest.raises(error) as caught:
            f(*args)
        assert str(caught.value) == message


# spec: N2
def test_recursion_of_functions_and_of_nested_functions():
    def f(n):
        def ackermann(m, n):
            if m == 0:
                return n + 1
            if n == 0:
                return ackermann(m - 1, 1)
            return ackermann(m - 1, ackermann(m, n - 1))

        return ackermann(2, n)

    agree(f, (0,), (3,), (7,))


@weft.njit
def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


# spec: N10
def test_endless_recursion_is_a_recursion_error():
    assert depth(500) == 500
    with pytest.raises(RecursionError):
        depth(10**8)


# spec: N2
def test_closures_see_what_is_rebound():
    def f(n):
        count = 0

        def step(by):
            nonlocal count
            count += by
            return count

        total = 0
        for i in range(n):
            total += step(i)
        scale = 2

        def scaled(x, power=2, *, plus=0):
            return scale * x**power + plus

        scale = 3
        return total, count, scaled(2), scaled(2, 3), scaled(2, plus=1), (lambda x: x + scale)(1)

    agree(f, (0,), (5,))


# spec: N2
def test_generators_are_consumed_in_place():
    def f(a, n):
        squares = sum(x * x for x in a if x > 1)
        pairs = sum(i * j for i in range(n) for j in range(i) if (i + j) % 2)
        return squares, pairs, any(x > 3 for x in a), all(x >= 0 for x in a), max(abs(x - 2) for x in a)

    agree(f, (np.arange(5.0), 6), (np.array([-1.0, 7.0]), 0))


# spec: N2
def test_iteration_helpers():
    def f(a, b, n):
        total = 0.0
        for i, x in enumerate(a):
            total += i * x
        for x, y in zip(a, b):
            total += x * y
        for i, (x, y) in enumerate(zip(a, b), 3):
            total -= i * x / (1 + y)
        for i in reversed(range(n)):
            total = total * 0.5 + i
        for x in reversed(a):
            total += x
        for x in map(lambda v: v * 2, b):
            total += x
        for k in (1, 2.5, 3):
            total += k
        for i in range(n, -n, -2):
            total += i
        return total

    agree(f, (np.arange(4.0), np.arange(3.0), 5), (np.zeros(0), np.ones(2), 0))


# spec: N2
def test_match_and_walrus():
    def f(n, pair):
        match n % 5:
            case 0:
                kind = 10
            case 1 | 2:
                kind = 20
            case k if k == 3:
                kind = 30 + k
            case _:
                kind = 40
        match pair:
            case (0, y):
                kind += y
            case (x, 0):
                kind -= x
            case (x, y):
                kind += x * y
        if (half := n // 2) > 3:
            kind += half
        return kind

    agree(f, *[(n, p) for n in range(12) for p in ((0, 5), (5, 0), (2, 3))])


# spec: N2
def test_tuples_as_values():
    def f(a, b, n):
        t = (a, b)
        for _ in range(n):
            t = (t[1], t[0] + t[1])
        x, y = t
        u = t + (x,)
        return u[-1], len(u), u[:2], t == (x, y), t < (x, y + 1), x in u, (x, 1.5)

    agree(f, (0, 1, 10), (1.5, 2.5, 3), (0, 1, 0))


# spec: N2
def test_a_type_that_widens_in_a_loop():
    def f(n):
        x = 1
        for i in range(n):
            x = x * 0.5 + i
        return x

    agree(f, (1,), (5,))


# spec: N2
def test_integers_have_pythons_rules():
    def f(a, b):
        return a // b, a % b, -a // b, divmod(a, b), a << 3, a >> 1, a & b, a | b, a ^ b, ~a, a**3, abs(-a), +a

    agree(f, (7, 3), (-7, 3), (7, -3), (0, 5), (7, 0))


# spec: N9
def test_integers_beyond_64_bits_raise():
    @weft.njit
    def grow(n):
        x = 1
        for _ in range(n):
            x *= 3
        return x

    assert grow(39) == 3**39
    with pytest.raises(OverflowError):
        grow(40)


# spec: N10
def test_indices_out_of_bounds_raise_where_python_would():
    def f(a, n):
        for i in range(n):
            a[i] = i
        return a[-1]

    compiled = weft.njit(f)
    for n in (2, 3, 5):
        x, y = np.zeros(3), np.zeros(3)
        assert repr(outcome(compiled, (x, n))) == repr(outcome(f, (y, n)))
        np.testing.assert_array_equal(x, y)


# spec: N2
def test_functions_as_arguments():
    def newton(f, df, x, steps):
        for _ in range(steps):
            x = x - f(x) / df(x)
        return x

    compiled = weft.njit(newton)
    args = (lambda x: x * x - 2, lambda x: 2 * x, 1.0, 6)
    assert compiled(*args) == newton(*args)


# spec: N2
def test_print_writes_what_python_writes(capsys):
    def f(n, x, y, flag):
        print()
        print("n is", n, "and x is", x, sep=" | ", end=".\n")
        for i in range(2):
            print(i, x / 3, y, flag, (i, x), None, f"{x:8.3f}|{n:05d}|{flag}")
        return n

    args = (7, 2.5, np.float32(0.1), True)
    f(*args)
    expected = capsys.readouterr().out
    weft.njit(f)(*args)
    assert capsys.readouterr().out == expected
