"""What random programs came down to when they showed a difference: each has been mended, and stays so."""

import textwrap

import pytest
from compare import compare
from grammar import Program

import numpy as np
import weft

# By what was wrong: the program, and the arguments of a call or two.
FOUND = {
    "two views that show the same are two arrays": (
        """
        @njit
        def f(a):
            b = a[::-1]
            c = a[::-1]
            return b, c, b
        """,
        ["a = np.arange(4)"],
    ),
    "filter() over what is surely empty": (
        """
        @njit
        def f(n):
            c = []
            for i in range(n):
                for q in filter(lambda q: q > 1, []):
                    c.append(q)
            return c
        """,
        ["n = 2"],
    ),
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
    "the sizes of an array that a recursive nested function rebinds": (
        """
        @njit
        def f(a):
            def g(k):
                nonlocal a
                if k == 0:
                    return 0
                a = a[1:]
                return g(k - 1) + a.size
            x = g(2)
            return x, np.zeros_like(a), a + a
        """,
        ["a = np.arange(5)"],
    ),
    "a recursive nested function calls one that is in a variable": (
        """
        @njit
        def f(a):
            a = a + 1
            h = lambda: a.size
            h = h

            def g(k):
                if k == 0:
                    return 0
                return g(k - 1) + h() + np.zeros_like(a).size

            x = g(2)
            a = a[1:]
            return x, g(1)
        """,
        ["a = np.arange(5)"],
    ),
    "nested functions that call each other": (
        """
        @njit
        def f(n, a):
            c = 0
            a = a[1:]

            def even(k):
                nonlocal c, a
                c += 1
                a = a[k:]
                return True if k == 0 else odd(k - 1)

            def odd(k):
                nonlocal c
                c += 10
                return False if k == 0 else even(k - 1)

            return even(n), odd(n), c, a, a.size
        """,
        ["n = 3\na = np.arange(9)"],
    ),
    "a function with a variable of its own leaves a branch": (
        """
        @njit
        def f(n):
            def counter(x):
                def step():
                    nonlocal x
                    x += 1
                    return x
                return step

            if n > 2:
                g = counter(n)
            else:
                g = None
            if g is not None:
                return g() + g()
            return 0
        """,
        ["n = 5", "n = 1"],
    ),
    "a recursive function that is defined in a loop": (
        """
        @njit
        def f(n):
            s = 0
            for i in range(n):
                def g(k):
                    return 0 if k == 0 else g(k - 1) + i
                s += g(3)
            return s, g(2)
        """,
        ["n = 3", "n = 0"],
    ),
    "a division by zero that its handler catches": (
        """
        @njit
        def f(n):
            q = 0
            try:
                n = 10 // q
            except ZeroDivisionError:
                n = -1
            return n
        """,
        ["n = 1"],
    ),
    "a name that a try did not assign, and that nobody reads": (
        """
        @njit
        def f(n):
            for i in range(n):
                try:
                    if i > 5:
                        y = 1
                    y += 1
                except NameError:
                    pass
                if i > 7:
                    n += y
            return n
        """,
        ["n = 3", "n = 9"],
    ),
    "the output of an operation in place is too small for it": (
        """
        @njit
        def f(a):
            a[None] += np.zeros(4)
        """,
        ["a = np.arange(4.0).reshape(4, 1)"],
    ),
    "the sizes of an array that comes out of a list": (
        """
        @njit
        def f(a):
            b = [a]
            c = b[0]
            return np.ones_like(c, dtype=np.uint8)
        """,
        ["a = np.arange(3)"],
    ),
    "a function that several ways return, with what it captured": (
        """
        @njit
        def f(n):
            def twice(x):
                y = x * 2
                c = 0

                def h():
                    nonlocal c
                    c += 1
                    return y + c

                if x > 3:
                    return h
                return h

            g = twice(n)
            return g() + g()
        """,
        ["n = 2", "n = 5"],
    ),
    "what surely raises after a loop that returned": (
        """
        @njit
        def f(a, n):
            while n < 5:
                return a
            return 1 // 0
        """,
        ["a = 3\nn = 2", "a = 3\nn = 7"],
    ),
    "branches that both raise": (
        """
        @njit
        def f(a, n):
            if np.divide(n, 0):
                a[1] = 0
            else:
                a[0] = a
        """,
        ["a = np.arange(3.0)\nn = 0\na.flags.writeable = False"],
    ),
    "a new array and a view of all of it are two": (
        """
        @njit
        def f(n):
            a = np.zeros(n)
            b = a[:]
            return a, b, a
        """,
        ["n = 3"],
    ),
    "the message of an in-place operation shows the output too": (
        """
        @njit
        def f(a):
            a[1:] -= a
        """,
        ["a = np.arange(7)"],
    ),
    "the message of shapes that cannot meet, on a path that is taken": (
        """
        @njit
        def f(a, n):
            if n > 2:
                a = np.zeros((n, 3)) + np.zeros((n, 4))
            return a
        """,
        ["a = np.zeros((1, 3))\nn = 1", "a = np.zeros((1, 3))\nn = 3"],
    ),
    "None as an operand": (
        """
        @njit
        def f(n, k):
            o = None
            if n:
                o = 1
            if k == 0:
                return o + 128
            if k == 1:
                return 2 * o
            if k == 2:
                o -= 1
                return o
            if k == 3:
                return -o
            if k == 4:
                return 1 if o < 3 else 2
            if k == 5:
                return 1 if not o else 2
            return o
        """,
        [f"n = {n}\nk = {k}" for k in range(7) for n in (0, 1)],
    ),
    "None as an operand of NumPy's": (
        """
        @njit
        def f(x, k):
            o = None
            if k > 5:
                o = x
            if k == 0:
                return o + x
            if k == 1:
                return x * o
            return x ** o
        """,
        [f"x = {x}\nk = {k}" for x in ("np.int8(3)", "np.float32(3)", "np.arange(3)") for k in range(3)],
    ),
    "arguments of exceptions": (
        """
        @njit
        def f(n, x, o):
            if n == 0:
                raise KeyError(3)
            if n == 1:
                raise KeyError(n)
            if n == 2:
                raise ValueError("no", n, x, True, None)
            if n == 3:
                raise IndexError((n, x), 2.5, "")
            if n == 4:
                raise ValueError("")
            if n == 5:
                raise ValueError
            if n == 6:
                raise KeyError(np.float32(x), np.uint64(18446744073709551615), np.bool_(n))
            if n == 7:
                p = None if x > 3 else n
                raise RuntimeError(p, f"{p} {p!r}", "{=i}")
            return n
        """,
        [f"n = {n}\nx = {x}\no = None" for n in range(9) for x in (1.5, 4.5)],
    ),
    "a choice between strings": (
        """
        @njit
        def f(n):
            s = "up" if n > 1 else "down"
            t = ""
            for i in range(n):
                if s == "down":
                    s = "{left}, 'then' 5%"
                elif i == 1:
                    s = "down"
                t = s
            if s in ("up", "down"):
                n += 1
            if not t:
                n += 10
            match s:
                case "up":
                    n += 100
                case "down":
                    n += 1000
            if n > 1010:
                raise ValueError(s, f"{s} {s!r} {n}")
            return n, s, t, s != t, (s, 1)
        """,
        [f"n = {n}" for n in (0, 1, 2, 3, 4, 11)],
    ),
    "lists of strings, and strings that may be None": (
        """
        @njit
        def f(n):
            words = ["a", "b", "c"]
            last = None
            for w in words:
                if n > 1 and w != "c":
                    last = w
            return words, last, words[n], [w == "b" for w in words]
        """,
        ["n = 0", "n = 2"],
    ),
    "exception classes of the program's own": (
        """
        class Wrong(ValueError):
            pass

        class Worse(Wrong):
            pass

        class Both(KeyError, ArithmeticError):
            pass

        @njit
        def check(n):
            if n == 1:
                raise Wrong("wrong", n)
            if n == 2:
                raise Worse(n)
            if n == 3:
                raise ValueError("plain")
            if n == 4:
                raise Both(n)
            return n

        @njit
        def f(n, how):
            try:
                check(n)
            except Worse:
                return 1
            except (Wrong, ZeroDivisionError) as error:
                if how:
                    raise
                return 2
            except ArithmeticError:
                return 3
            except LookupError:
                return 4
            except ValueError as error:
                if how:
                    raise error
                return 5
            return 6
        """,
        [f"n = {n}\nhow = {how}" for n in range(5) for how in (False, True)],
    ),
    "zeros of both signs in float16": (
        """
        @njit
        def f(x, y):
            pairs = np.minimum(0, x), np.maximum(x, 0), np.maximum(y, x), np.minimum(y, x)
            return pairs, np.min(x), np.max(x), np.max(y)
        """,
        ["x = np.array([0.0, -0.0, 0.0], np.float16)\ny = np.array([-0.0, 0.0, np.nan], np.float16)"],
    ),
    "a Python float that does not fit an integer dtype": (
        """
        @njit
        def f(x):
            caught = 0
            for k in range(8):
                try:
                    if k == 0:
                        return np.uint8(x), np.int8(x), np.uint64(x), np.int64(x), caught
                    elif k == 1:
                        caught += int(np.uint8(x))
                    elif k == 2:
                        caught += int(np.int8(x))
                    elif k == 3:
                        caught += int(np.int32(x))
                    elif k == 4:
                        caught += int(np.uint64(x) // np.uint64(2))
                except OverflowError:
                    caught += 10**k
                except ValueError:
                    caught -= 10**k
            return np.uint8(0), np.int8(0), np.uint64(0), np.int64(0), caught
        """,
        [f"x = {x}" for x in ("1000.0", "-0.9", "-1.0", "127.9", "-128.5", "1e19", "1e20", "1e300", "float('nan')")],
    ),
    "an exception for a float that does not fit": (
        """
        @njit
        def f(x):
            return np.uint8(x)
        """,
        ["x = 1000.0", "x = -1.5", "x = 255.9", "x = float('inf')", "x = float('nan')"],
    ),
    "a negative float for uint64": (
        """
        @njit
        def f(x):
            return np.uint64(x)
        """,
        ["x = -4.375", "x = -1.0", "x = -1e20", "x = 1e19", "x = 2e19", "x = -0.5"],
    ),
    "a break through a finally, before a function that names itself is made": (
        """
        @njit
        def f(a):
            made = 0
            for x in a:
                try:
                    if x >= 0:
                        break

                    def g(p):
                        return p if p <= 0 else g(p - 1)

                    made += g(x) + 1
                finally:
                    made += 10
            return made
        """,
        ["a = [4]", "a = [-4]", "a = [-4, -3, 2]"],
    ),
    "an array twice, and elsewhere a view": (
        """
        @njit
        def f(a):
            n, m = a.shape
            a = np.ones_like(a)
            if n >= 1:
                return a, a
            return a, np.arange(m).reshape(m, n).T
        """,
        ["a = np.arange(5).reshape(1, 5)", "a = np.arange(6).reshape(2, 3)", "a = np.arange(0).reshape(0, 3)"],
    ),
    "a view under two names": (
        """
        @njit
        def f(a, n):
            b = a[::1]
            c = a[:]
            while n > 0:
                n -= 1
                a = b
            return a, b, c, c[1:], c[1:], a.ravel(), a.ravel(), a.reshape(-1)
        """,
        ["a = np.zeros(0)\nn = 2", "a = np.zeros(3)\nn = 2", "a = np.zeros(3)\nn = 0"],
    ),
    "a nan is in a tuple of it": (
        """
        @njit
        def f(x, y):
            z = x
            return z in (1.0, x), y in (x, 2.0), x not in (y, x), np.float64(x) in (x,)
        """,
        ["x = float('nan')\ny = float('nan')", "x = 1.5\ny = 2.0"],
    ),
    "the message of list.index": (
        """
        @njit
        def f(x):
            empty = [x for _ in range(0)]
            return empty.index(x)
        """,
        ["x = np.int16(-1)", "x = 2.5", "x = np.float32(0.5)", "x = 7", "x = np.bool_(True)", "x = True"],
    ),
    "shapes of scalars in messages": (
        """
        @njit
        def f(a, b, how):
            if how == 0:
                return np.where(a, b, 1)
            if how == 1:
                return np.where(a, 2.0, b)
            if how == 2:
                return np.where(True, a, b)
            return np.clip(a, b, 1)
        """,
        [f"a = np.ones(2)\nb = np.ones(5)\nhow = {how}" for how in range(4)],
    ),
    "a new shape of what may lie in order": (
        """
        @njit
        def f(a, n):
            if n > 1:
                a = np.full((n, 5), 54.0)
            b = a.reshape(-1)
            b[2] = 0.0
            c = a[:, 0]
            d, e = c.reshape(-1, 1), c.reshape(1, -1)
            d[0, 0] = 7.0
            e[0, -1] = 8.0
            flat = a[:, 1][:, None].reshape(-1)
            flat[0] = 3.0
            flat = a[:, 2:3].ravel()
            flat[0] = 4.0
            flat = a.ravel()
            flat[3] = 5.0
            g = a[:n, :].reshape(1, -1, 5)
            g[:, 0] += 1.0
            return a, b, d, e, g
        """,
        [
            f"a = np.arange(20.0).reshape(4, 5){how}\nn = {n}"
            for how in ("[::-1]", "", "[::2]", "[:1]", "[::-1][:1]")
            for n in (1, 4)
        ],
    ),
    "a name that may be unbound is read, and nothing done with it": (
        """
        @njit
        def f(n, d):
            for i in range(n):
                best = None if i == 1 else i
            x = i
            if n > 1 and best is not None:
                x += best + 1
            return x
        """,
        ["n = 0\nd = 0", "n = 2\nd = 0", "n = 3\nd = 1"],
    ),
    "of two exceptions the one that comes first": (
        """
        @njit
        def f(n, d):
            for i in range(n):
                pass
            if d == 2:
                i += n // (d - 2)
            return i, n // d
        """,
        ["n = 0\nd = 0", "n = 0\nd = 2", "n = 2\nd = 0", "n = 3\nd = 1"],
    ),
    "an int that is too large where it is not chosen": (
        """
        @njit
        def f(n, d):
            a = n and 4611686018427387904 * 7
            b = n or 3
            c = 4611686018427387904 * 7 if n else d
            for _ in range(n):
                c = 4611686018427387904 * 7
            return a, b, c
        """,
        ["n = 0\nd = 3"],
    ),
    "a list that never has items loses one": (
        """
        def f(c):
            a = [len for v in range(3) if 0]
            if c:
                del a[1]
            return c
        """,
        ["c = 0", "c = 1"],
    ),
    "what is assigned shares memory with the indices and with the values": (
        """
        @njit
        def f(a, b):
            a[a] = 7
            b[1:][b[:-1]] += 1
            b[b[::-1]] = b[:]
            return a, b
        """,
        [
            "a = np.array([1, 0, 2, 1])\nb = np.array([1, 0, 2, 1, 2])",
            "a = np.array([3, 2, 1, 0])\nb = np.array([0, 1, 0, 2, 2])",
        ],
    ),
    "a mask without elements chooses none, whatever the axis": (
        """
        @njit
        def f(a, b, n):
            mask = np.zeros(n, dtype=np.bool_)
            a[mask] = 1
            b[mask] += 1
            return a[mask], b[mask], b[:, mask]
        """,
        ["a = np.arange(3)\nb = np.ones((2, 3))\nn = 0", "a = np.arange(3)\nb = np.ones((2, 3))\nn = 1"],
    ),
    "views of nothing in a list, and beside it": (
        """
        @njit
        def f(n):
            a = np.arange(n)
            t = []
            t.append(a[::1])
            b = t[0]
            c = b[5:1]
            return a, c, b, b
        """,
        ["n = 0", "n = 3"],
    ),
    "views of nothing that a try may rebind": (
        """
        @njit
        def f(n):
            a = np.arange(n)
            b = a[1:]
            c = b[5:1]
            try:
                d = a[n]
                b = a
                c = a
            except IndexError:
                a[1::2] = 4
            return b, c, a
        """,
        ["n = 0", "n = 3"],
    ),
    "the shape that does not fit, without the leading axes of size 1": (
        """
        @njit
        def f(a, b):
            a[:] = b
        """,
        [
            "a = np.zeros(3)\nb = np.ones((1, 5))",
            "a = np.zeros(5)\nb = np.ones((1, 2, 5))",
            "a = np.zeros(5)\nb = np.ones((2, 1, 5))",
            "a = np.zeros((4, 1))\nb = np.ones((1, 4, 5))",
        ],
    ),
    "a name of the function around that is not bound": (
        """
        @njit
        def f(n, way):
            for i in range(n):
                x = i

            def inner():
                return x

            if way == 0:
                return inner()
            if way == 1:
                return sum(x + v for v in range(3) if v)
            if way == 2:
                return sum(x for _ in range(3))
            if way == 3:
                return (lambda: x)()
            if way == 4:
                return len([v for v in range(x)])
            return sum(sum(x for v in range(u)) for u in range(3))
        """,
        [f"n = {n}\nway = {way}" for way in range(6) for n in (0, 3)],
    ),
    "math.gcd of the smallest int": (
        """
        import math
        @njit
        def f(x, y):
            return math.gcd(x, y), math.gcd(y, x), math.gcd(x, -1), math.gcd(y, -12, x)
        """,
        ["x = -(2**63)\ny = 12", "x = 2**63 - 1\ny = -(2**63)", "x = -18\ny = 0"],
    ),
    "what would raise in a loop over a list that is empty does not": (
        """
        @njit
        def f(n):
            x = np.arange(3, dtype=np.uint64)
            items = [1.0 for i in range(n) for j in range(0)]
            for i in items:
                x = np.remainder(-3, x)
            least = -(2**63)
            return x, [abs(least) for i in items]
        """,
        ["n = 2"],
    ),
    "comparisons with an int beyond 64 bits": (
        """
        @njit
        def f(v, k):
            x = 9223372036854775807 << 1
            y = 2**64
            z = -(2**64) - 1
            floats = v == x, v < x, v <= x, v > x, v >= x, v != x, v == y, v < y, v <= y, v >= y, v < z, v >= z, z < v
            ints = k == x, k < x, k <= x, k > z, k >= x, k != x, x < k, z < k
            return floats, ints, sum(1 for i in range(3) if i == x)
        """,
        [
            "v = 1.5\nk = 3",
            "v = 2.0**64\nk = -1",
            "v = -(2.0**64)\nk = 0",
            "v = math.nan\nk = 1",
            "v = math.inf\nk = 1",
        ],
    ),
    "an int beyond 64 bits beside an array of small ints": (
        """
        @njit
        def f(n):
            try:
                a = np.arange(n, dtype=np.uint16) - 4611686018427387904**2
            except ZeroDivisionError:
                pass
        """,
        ["n = 2"],
    ),
    "two views of the same elements, one of which an inner function knows": (
        """
        @njit
        def f(a):
            b = a[1:]

            def g(n):
                return 0 if n <= 0 else g(n - 1) + b[0]

            c = a[1:]
            k = g(1)
            return c, b, b, a, k, a + 1
        """,
        ["a = np.arange(4)"],
    ),
    "views of the same elements in lists": (
        """
        @njit
        def f(a):
            b = a[1:]
            same = [b for _ in range(2)]
            shown = [(a[1:], a[:2], i) for i in range(2)]
            c = same[1]
            again = [a[1:] for _ in range(2)]
            again.append(again[0])
            return [a[:1] for _ in range(3)], same, shown, c, again
        """,
        ["a = np.arange(4)"],
    ),
    "an array whose size is found out after a way out that returns it": (
        """
        @njit
        def f(a, items):
            if a[0] > 1:
                return items, a
            a[-3:] *= a
        """,
        ["a = np.array([2.0, 3.0, 4.0, 5.0])\nitems = [1.0]", "a = np.array([1.0, 3.0, 4.0])\nitems = [1.0]"],
    ),
    "a constant beyond 64 bits, chosen where a bool is below an int": (
        """
        @njit
        def f(a):
            yes = True
            large = 4 + 9223372036854775807
            a[None] = 7
            return large if yes < 3 else yes
        """,
        ["a = np.arange(2)"],
    ),
    "a loop in a loop whose array turns out to have a step": (
        """
        @njit
        def f(a, n):
            for i in range(3):
                while n:
                    a = np.arange(n)
                    n = 0
                a = (a + 1)[::-1]
            return a
        """,
        ["a = np.array([3, -8, -3])\nn = 0", "a = np.array([3, -8, -3])\nn = 4"],
    ),
    "an array that a loop hands on unchanged, of a size that is not known to be the argument's": (
        """
        @njit
        def f(a):
            n = len(a)
            for x in a:
                for i in range(n):
                    a &= 1
                try:
                    if i > 6:
                        raise ValueError
                except ArithmeticError:
                    a = np.arange(n, dtype=np.int32)
            return a
        """,
        ["a = np.array([-4, 10, 12, -5, 8], dtype=np.int32)[::-1]"],
    ),
    "an empty array that a loop over a list hands on unchanged": (
        """
        @njit
        def f(items):
            a = np.array([], dtype=np.int64)
            for t in range(5):
                for i, x in enumerate(reversed(items)):
                    a |= 0
                try:
                    if i:
                        pass
                    a = a
                except ValueError:
                    pass
        """,
        ["items = [-1, 2]"],
    ),
    "two views of the same elements, one of which may become the other": (
        """
        @njit
        def f(a, n):
            b = a[::-1]
            c = a[::-1]
            if n:
                c = b
            return c, b
        """,
        ["a = np.arange(4)\nn = 0", "a = np.arange(4)\nn = 1"],
    ),
    "a copy of a Fortran-ordered array in its own dtype": (
        """
        @njit
        def f(a):
            b = a.astype(np.uint8)
            c = b.ravel()
            c[2] = 0
            return b
        """,
        ["a = np.asfortranarray(np.arange(8, dtype=np.uint8).reshape(4, 2))"],
    ),
    "a list that becomes shorter while it is gone through from its end": (
        """
        @njit
        def f(a):
            b = [0.0 for v in a]
            for i, x in zip(b[:9], reversed(b)):
                del b[0]
            return b
        """,
        ["a = np.arange(6)", "a = np.arange(7)", "a = np.arange(0)"],
    ),
    "an int beyond 64 bits, returned where control does not come": (
        """
        def f(x):
            if round(x):
                return 2 * 9223372036854775807
        """,
        ["x = 0"],
    ),
}


# spec: N2, N3
@pytest.mark.parametrize("name", FOUND)
def test_found_and_mended(name):
    text, calls = FOUND[name]
    parameters = [line.split(" =")[0] for line in calls[0].split("\n") if "." not in line.split(" =")[0]]
    program = Program(0, "import numpy as np\n" + textwrap.dedent(text), parameters, calls)
    outcome = compare(program)
    assert outcome.kind == "same", f"{outcome.kind}: {outcome.detail}: {outcome.text}"


# spec: N2, N9
def test_an_int_that_is_too_large_behind_a_return():
    """The last return of several is not one that every call takes: seed 410030667."""

    @weft.njit
    def f(x):
        if x > 0.0:
            return x, 1
        return x, 9223372036854775808

    assert f(1.0) == (1.0, 1)
    with pytest.raises(OverflowError, match="Python int 9223372036854775808 does not fit in 64 bits"):
        f(-1.0)


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
