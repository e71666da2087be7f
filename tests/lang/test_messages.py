"""Every message the compiler shows, as a user sees it: compared with `messages.txt`, which a person has read.

`WEFT_BLESS=1 pytest tests/lang/test_messages.py` writes it anew; read the difference before committing it.
"""

import linecache
import os
from pathlib import Path

import pytest

import numpy as np
import weft

GOLDEN = Path(__file__).with_name("messages.txt")

X, Y = np.zeros(3), np.zeros((2, 3))
I32, FLAGS = np.zeros(3, np.int32), np.zeros(3, bool)

# title: (the function's lines, its arguments). A kernel is launched over three items.
NAMES = {
    "unknown attribute of a module": ("return np.sine(x)", X),
    "a NumPy function that is not there yet": ("return np.einsum('i->', x)", X),
    "a function of a submodule": ("return np.linalg.svd(x)", Y),
    "a NumPy function that is written in Python": ("return np.broadcast_shapes(3, 1)", X),
    "a NumPy function in other words": ("return np.nanprod(x)", X),
    "a NumPy function with others in its name": ("return np.quantile(x, 0.5)", X),
    "a misspelt NumPy function": ("return np.nanmaen(x)", X),
    "a type that NumPy had once": ("return np.float(x[0])", X),
    "random numbers": ("return np.random.rand(3)", X),
    "a builtin that is not there": ("return open('a')", X),
    "an attribute by name": ("return getattr(x, 'shape')", X),
    "an unknown name": ("return sinn(x)", X),
    "a name that is no function": ("return X(x)", X),
    "a number that is called": ("return c()", X, 3),
    "an unknown array attribute": ("return x.shpae", X),
    "an unknown array method": ("return x.summ()", X),
    "an array attribute that is not there yet": ("return x.flat", X),
    "an unknown method of a list": ("y = [1]\n    y.apend(2)\n    return y", X),
    "a method of a string": ("return 'a'.upper()", X),
    "an unknown attribute of a number": ("return c.reall", X, 3),
    "an attribute of a tuple": ("return (1, 2).first", X),
    "an attribute that is assigned": ("y = x + 1\n    y.flags = 3\n    return y", X),
    "the shape of an argument": ("x.shape = (3, 1)\n    return x", X),
    "the shape of an array with two names": ("y = x + 1\n    z = y\n    y.shape = (3, 1)\n    return z", X),
    "the shape of a transposed array": ("y = (x + 1).T\n    y.shape = 6\n    return y", Y),
    "a method of a ufunc": ("return np.add.reduce(x)", X),
    "a module as a value": ("return np", X),
    "a global object": ("return OBJECT + x", X),
    "a global dict": ("return TABLE[1]", X),
    "an attribute of a global object": ("return OBJECT.value", X),
    "a global array of strings": ("return STRINGS[0]", X),
    "a name that is deleted": ("y = 1\n    del y\n    return y", X),
    "not in a kernel": ("return weft.get_global_id(0)", X),
}
CALLS = {
    "an array that may be None, compared": ("y = None\n    if c:\n        y = x\n    return y == c", X, 3),
    "a tuple that holds more at every iteration": (
        "y = None\n    for k in range(c):\n        y = (y, k)\n    return y",
        X,
        3,
    ),
    "a diagonal between two": ("return np.triu(x, 1.5)", Y),
    "an eye between two diagonals": ("return np.eye(3, 3, 1.5)", X),
    "too few arguments": ("return np.minimum(x)", X),
    "too many arguments": ("return np.sin(x, x, x)", X),
    "too many arguments of a method": ("return x.copy('C', 2)", X),
    "too many arguments where some may be left out": ("return np.mean(x, 0, None, None, False, 1)", X),
    "too few arguments of an iterator": ("return list(map(abs))", X),
    "an operand that is no number": ("return np.where(x > 0, x, 'a')", X),
    "a bound that is no number": ("return np.clip(x, 'a', 2)", X),
    "a keyword that is not there": ("return np.sum(x, weights=x)", X),
    "a keyword with a typing error": ("return np.where(condition=x > 0, x=x, z=x)", X),
    "a keyword of a builtin": ("return sorted([2, 1], kee=abs)", X),
    "a keyword that zip does not have": ("for v, w in zip(x, x, exact=True):\n        pass", X),
    "a function of the program with too few arguments": ("return helper(x)", X),
    "a function of the program with too many arguments": ("return helper(x, 1, 2, 3)", X),
    "a function of the program with a wrong keyword": ("return helper(x, 1, offest=2)", X),
    "a function of the program with an argument twice": ("return helper(x, 1, a=2)", X),
    "a nested function with too many arguments": ("def g(a):\n        return a\n    return g(1, 2)", X),
    "a lambda with too few arguments": ("return (lambda a: a)()", X),
    "as many arguments as an array has items": ("return np.minimum(*x)", X),
    "out of a reduction": ("return np.sum(x, out=3)", X),
    "an axis that is out of bounds": ("return x.sum(axis=1)", X),
    "an axis that varies": ("return x.sum(axis=c)", Y, 1),
    "a misspelt dtype": ("return np.zeros(3, dtype='flaot64')", X),
    "a number for a dtype": ("return np.zeros(3, dtype=c)", X, 3),
    "a dtype of strings": ("return x.astype('U3')", X),
    "an array of strings": ("return np.array(['a'])", X),
    "a range of floats": ("for i in range(2.5):\n        pass", X),
    "a range with step zero": ("for i in range(0, 3, 0):\n        pass", X),
    "isinstance of no class": ("return isinstance(x, 'a')", X),
    "int of an array": ("return int(x)", X),
    "float of a string": ("return float('a')", X),
    "len of a number": ("return len(c)", X, 3),
    "min of arrays": ("return min(x, x)", X),
}
TYPES = {
    "a name that changes its type in a loop": ("y = 0.0\n    for i in range(c):\n        y = x\n    return y", X, 3),
    "a rank that grows in a loop": ("y = x\n    for i in range(c):\n        y = y[:, None]\n    return y", X, 3),
    "a rank that shrinks in a loop": ("while c:\n        x = x[0]\n        c -= 1\n    return x", Y, 2),
    "a dtype that changes in a loop": (
        "y = x\n    for i in range(c):\n        y = y.astype(np.float32)\n    return y",
        X,
        3,
    ),
    "a tuple that grows in a loop": ("t = ()\n    for i in range(c):\n        t = t + (i,)\n    return t", X, 3),
    "two types of one name": ("if c:\n        y = x\n    else:\n        y = 1\n    return y", X, True),
    "a tuple or a number": ("if c:\n        y = (1, 2)\n    else:\n        y = 1\n    return y", X, True),
    "tuples of two lengths": ("y = (1, 2)\n    if c:\n        y = (1, 2, 3)\n    return y", X, True),
    "two functions": ("g = np.sin\n    if c:\n        g = np.cos\n    return g(x)", X, True),
    "two types of an expression": ("return x if c else 1", X, True),
    "two types returned": ("if c:\n        return x\n    return 1", X, True),
    "a tuple as long as a list": ("return tuple([1] * c)", X, 3),
    "a tuple from a generator": ("return tuple(i for i in range(c))", X, 3),
    "a list of two types": ("return [1, x]", X),
    "an item of another type": ("y = [1]\n    y.append(x)\n    return y", X),
    "a list of strings and numbers": ("return ['a', 1]", X),
    "a returned function": ("def g():\n        return 1\n    return g", X),
    "a returned lambda": ("return lambda: x", X),
    "a returned library function": ("return np.sin", X),
    "a returned slice": ("return slice(1, 2)", X),
    "a returned range": ("return range(c)", X, 3),
    "a returned generator": ("return (v for v in x)", X),
    "an iterator that is used twice": ("y = enumerate(x)\n    for i, v in y:\n        break\n    return list(y)", X),
    "an iterator that is used at every turn": (
        "y = (v for v in x)\n    for i in range(c):\n        c += sum(y)\n    return c",
        X,
        3,
    ),
    "an iterator beside itself": ("y = zip(x, x)\n    return list(zip(y, y))", X),
    "a zip that is reversed": ("return list(reversed(zip(x, x)))", X),
    "a returned string": ("return f'{c}'", X, 3),
    "is on numbers": ("return c is 3", X, 3),
    "is on arrays": ("return x is c", X, X),
}
OPERATIONS = {
    "bool minus bool": ("return x - x", FLAGS),
    "negative bool": ("return -x", FLAGS),
    "bits of floats": ("return x & 1", X),
    "an array and a string": ("return x + 'a'", X),
    "a string and a number": ("return 'a' + 1", X),
    "None and a number": ("return c + 1", X, None),
    "a string with values": ("return 'a' % c", X, 3),
    "a list times a float": ("return [1] * 2.5", X),
    "a matrix product with a number": ("return x @ 2.0", X),
    "a number too large for the dtype": ("return x + 3000000000", I32),
    "truth of an array": ("return 1 if np.zeros(3) else 2", X),
    "a negative power of integers": ("return x ** -1", I32),
    "a negative shift": ("return 1 << -1", X),
    "division by a constant zero": ("return 1 // 0", X),
    "complex numbers have no order": ("return x < 2j", 1j),
    "shapes known not to broadcast": ("return np.zeros((2, 3)) * np.ones((3, 2))", X),
    "shapes of a choice known not to broadcast": ("return np.where(np.ones(2) > 0, np.zeros(3), 1.0)", X),
    "an item of a number": ("return 1 in c", X, 3),
    "unpacking a number": ("a, b = c\n    return a", X, 3),
    "unpacking a string": ("a, b = 'ab'\n    return a", X),
    "a loop over a string": ("for v in 'ab':\n        pass", X),
    "a string with other iterables": ("return list(zip('ab', x))", X),
    "the items of a string": ("return tuple('ab')", X),
    "too many values to unpack": ("a, b = (1, 2, 3)\n    return a", X),
    "a loop over a number": ("for v in c:\n        pass", X, 3),
    "more indices than dimensions": ("return x[0, 0]", X),
    "an index that is a float": ("return x[0.5]", X),
    "an index that is a string": ("return x['a']", X),
    "two ellipses": ("return x[..., ...]", X),
    "a mask of more dimensions": ("return x[c]", X, Y > 0),
    "an indexed number": ("return c[0]", X, 3),
    "an index outside a tuple": ("return (1, 2)[2]", X),
    "a variable index of a mixed tuple": ("return (1, x)[c]", X, 1),
    "a slice of a tuple that varies": ("return (1, 2, 3)[:c]", X, 1),
    "a list index that is a string": ("return [1, 2]['a']", X),
    "assignment to an item of a tuple": ("t = (1, 2)\n    t[0] = 3\n    return t", X),
    "a deleted element": ("del x[0]", X),
    "a raised number": ("raise 3", X),
    "an exception with an array among its arguments": ("raise ValueError('a', x)", X),
    "an array in a message": ("raise ValueError(f'{x}')", X),
    "the order of strings at run time": ("s = 'up' if c else 'down'\n    return s < 'left'", X, 3),
    "a function of an earlier turn": (
        "h = None\n    for i in range(c):\n        if h is not None:\n            c += h(1)\n        h = counter(i)",
        X,
        3,
    ),
    "functions in a list": ("y = []\n    for i in range(c):\n        y.append(counter(i))\n    return y[0](1)", X, 3),
    "a caught number": ("try:\n        c = 1 // c\n    except c:\n        pass", X, 3),
}
STATEMENTS = {
    "a global that is rebound": ("global z\n    z = x", X),
    "a global that is augmented": ("global z\n    z += x", X),
    "a with statement": ("with x:\n        pass", X),
    "a class": ("class A:\n        pass", X),
    "an import": ("import os", X),
    "a generator function": ("yield x", X),
    "a generator function that never yields": ("return x\n    yield", X),
    "a nested generator": ("def g():\n        yield x\n    return g()", X),
    "a nested function with decorators": ("@weft.njit\n    def g():\n        return 1\n    return g()", X),
    "a nested coroutine": ("async def g():\n        pass", X),
    "keywords of a nested function": ("def g(**k):\n        return k\n    return g()", X),
    "an attribute that is set": ("x.a = 1", X),
    "an attribute that is augmented": ("x.a += 1", X),
    "an attribute that is deleted": ("del x.shape", X),
    "an empty target": ("[] = x", X),
    "a declaration of an attribute": ("x.a: int", X),
    "an exception group": ("try:\n        pass\n    except* ValueError:\n        pass", X),
    "a mapping pattern": ("match x:\n        case {'a': y}:\n            return y", X),
    "a class pattern with attributes": ("match x:\n        case slice(start=1):\n            return 1", X),
    "a dict": ("return {1: x}", X),
    "a set": ("return {1, 2}", X),
    "a set comprehension": ("return {v for v in x}", X),
    "a dict comprehension": ("return {v: 1 for v in x}", X),
    "a dict in a call": ("return np.sin(**x)", X),
    "a computed format": ("raise ValueError(f'{x:{x}}')", X),
    "bytes": ("return b'a'", X),
    "a very large integer": ("return x + 1" + "0" * 40, X),
}
PARALLEL = {
    "an element that all iterations write": ("for i in weft.prange(len(x)):\n        x[0] = 1.0", X),
    "the element before": ("for i in weft.prange(1, len(x)):\n        x[i] = x[i - 1]", X),
    "two stores that meet": ("for i in weft.prange(c):\n        x[i] = 1.0\n        x[i + 1] = 2.0", X, 3),
    "an update at an index from memory": ("for i in weft.prange(len(c)):\n        x[c[i]] /= 2", X, I32),
    "a chain of values": ("t = 0.0\n    for i in weft.prange(3):\n        t = x[i] - t\n    return t", X),
    "a sum that is read": ("t = 0.0\n    for i in weft.prange(3):\n        t += x[i]\n        x[i] = t", X),
    "a value of some iterations": (
        "t = 0\n    for i in weft.prange(3):\n        if x[i] > 0:\n            t = i\n    return t",
        X,
    ),
    "an array that goes out": ("for i in weft.prange(3):\n        y = x * i\n    return y", X),
    "break out of a prange": ("for i in weft.prange(3):\n        if x[i] > 0:\n            break", X),
    "return out of a prange": ("for i in weft.prange(3):\n        return i", X),
    "a list that all iterations change": ("y = [0]\n    for i in weft.prange(3):\n        y.append(i)", X),
}
KERNEL = {
    "a kernel that returns a value": ("return 1", X),
    "too many indices": ("x[0, 0] = 1.0", X),
    "too few indices": ("x[0] = 1.0", Y),
    "an index that is a float": ("x[0.5] = 1.0", X),
    "a dimension outside the launch": ("i = weft.get_global_id(1)", X),
    "a dimension that is a float": ("i = weft.get_global_id(0.5)", X),
    "an array expression in a kernel": ("y = x + x", X),
    "a stored array": ("x[0] = x", X),
}
RUN_TIME = {
    "shapes that do not broadcast": ("return x + c", X, np.zeros(4)),
    "an int that leaves 64 bits": ("return x * c", 2**40, 2**40),
    "an int too large for the array": ("return x + c", I32, 2**40),
    "division by zero": ("return x / c", 1, 0),
    "an index out of bounds": ("return x[c]", X, 7),
    "an index out of bounds of a matrix": ("x[1, c] = 1.0", Y, -4),
    "a value that does not broadcast": ("x[1:] = np.ones(c)", X, 4),
    "a mask of another size": ("return x[np.ones(c) > 0]", X, 4),
    "a shape of another size": ("return x.reshape(c, 2)", X, 4),
    "a name assigned on a path not taken": ("if c:\n        y = x\n    return y", X, False),
    "a list index out of range": ("return [1, 2][c]", X, 5),
    "nothing to compare": ("return max()", X),
    "recursion without an end": ("return forever(c)", X, 3),
    "a shift by a negative number": ("return c << -c", X, 3),
}
ARGUMENTS = {
    "an object": ("return c", X, object()),
    "a dict": ("return c", X, {1: 2}),
    "a set": ("return c", X, {1}),
    "bytes": ("return c", X, b"a"),
    "an array of strings": ("return c", X, np.array(["a"])),
    "an array of objects": ("return c", X, np.array([None])),
    "an array of records": ("return c", X, np.zeros(2, "i4,f8")),
    "an array of dates": ("return c", X, np.zeros(2, "M8[D]")),
    "a byte-swapped array": ("return c", X, np.zeros(3, ">f8")),
    "an array that is not aligned": ("return c", X, np.zeros(9, np.uint8)[1:].view(np.float64)),
    "a list with a string": ("return c", X, [1, "a"]),
    "a long double": ("return c", X, np.longdouble(1)),
    "an int of 71 bits": ("return c", X, 2**70),
    "none": ("return c",),
}


class Settings:
    value = object()


def helper(a, b, offset=0):
    return a + b + offset


def counter(x):
    def step(y):
        nonlocal x
        x += y
        return x

    return step


def forever(n):
    return forever(n)


def program(lines, decorator):
    """A function from text, whose lines messages can show."""
    parameters = "x, c=None" if "c" in lines else "x"
    text = f"@weft.{decorator}\ndef f({parameters}):\n    {lines}\n"
    name = "program.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"weft": weft, "np": np, "X": 3, "helper": helper, "counter": counter, "forever": forever}
    scope |= {"OBJECT": Settings(), "TABLE": {1: 2}, "STRINGS": np.array(["a"])}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def message(lines, arguments, decorator):
    f = program(lines, decorator)
    with pytest.raises(Exception) as caught, weft.device_context("native"):
        (f[3] if decorator == "kernel" else f)(*arguments)
    return f"{type(caught.value).__name__}: {caught.value}"


REFUSED = [*(("njit", group) for group in (NAMES, CALLS, TYPES, OPERATIONS, STATEMENTS, PARALLEL)), ("kernel", KERNEL)]


def messages(decorator, programs):
    return {title: message(lines, arguments, decorator) for title, (lines, *arguments) in programs.items()}


# spec: G2
def test_messages():
    parts = [
        f"## {decorator}: {title}\n{text}\n"
        for decorator, programs in [*REFUSED, ("njit", RUN_TIME), ("njit", ARGUMENTS)]
        for title, text in messages(decorator, programs).items()
    ]
    ours = "\n".join(parts)
    if os.environ.get("WEFT_BLESS") == "1":
        GOLDEN.write_text(ours)
    assert ours == GOLDEN.read_text()


# spec: G2
def test_refusals_fit_a_screen_and_show_the_line():
    assert sum(len(programs) for _, programs in REFUSED) >= 80
    for decorator, programs in REFUSED:
        for text in messages(decorator, programs).values():
            lines = text.splitlines()
            assert len(lines) <= 12 and max(map(len, lines)) <= 160, text
            assert "--> program.py:" in text and "^" in text, text
