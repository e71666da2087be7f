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
NJIT = {
    "unknown attribute of a module": ("return np.sine(x)", X),
    "a NumPy function that is not there yet": ("return np.cumsum(x)", X),
    "an unknown name": ("return sinn(x)", X),
    "a name that is no function": ("return X(x)", X),
    "an unknown array attribute": ("return x.shpae", X),
    "matrix product": ("return x @ x", X),
    "bool minus bool": ("return x - x", FLAGS),
    "negative bool": ("return -x", FLAGS),
    "bits of floats": ("return x & 1", X),
    "an array and a string": ("return x + 'a'", X),
    "a number too large for the dtype": ("return x + 3000000000", I32),
    "truth of an array": ("return 1 if x else 2", X),
    "a negative power of integers": ("return x ** -1", I32),
    "division by a constant zero": ("return 1 // 0", X),
    "augmented assignment to an array": ("x += 1\n    return x", X),
    "indexing in njit": ("return x[0]", X),
    "a keyword that is not there": ("return np.sin(x, out=x)", X),
    "a keyword with a typing error": ("return np.where(condition=x > 0, x=x, z=x)", X),
    "too few arguments": ("return np.minimum(x)", X),
    "too many arguments": ("return np.sin(x, x, x)", X),
    "a loop over an array": ("for v in x:\n        pass", X),
    "a name assigned on one path": ("if c:\n        y = x\n    return y", X, True),
    "two types of one name": ("if c:\n        y = x\n    else:\n        y = 1\n    return y", X, True),
    "return under a condition": ("if c:\n        return x\n    return x + 1", X, True),
    "min of arrays": ("return min(x, x)", X),
    "complex numbers have no order": ("return x < 2j", 1j),
    "not in a kernel": ("return weft.get_global_id(0)", X),
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
KERNEL = {
    "a kernel that returns a value": ("return 1", X),
    "too many indices": ("x[0, 0] = 1.0", X),
    "too few indices": ("x[0] = 1.0", Y),
    "an index that is a float": ("x[0.5] = 1.0", X),
    "a dimension outside the launch": ("i = weft.get_global_id(1)", X),
    "an array expression in a kernel": ("y = x + x", X),
    "a range with a variable step": ("for i in range(0, 9, c):\n        x[i] = 1.0", X, 2),
    "a stored array": ("x[0] = x", X),
}
RUN_TIME = {
    "shapes that do not broadcast": ("return x + c", X, np.zeros(4)),
    "an int that leaves 64 bits": ("return x * c", 2**40, 2**40),
    "an int too large for the array": ("return x + c", I32, 2**40),
    "division by zero": ("return x / c", 1, 0),
}


def program(lines, decorator):
    """A function from text, whose lines messages can show."""
    parameters = "x, c=None" if "c" in lines else "x"
    text = f"@weft.{decorator}\ndef f({parameters}):\n    {lines}\n"
    name = "program.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"weft": weft, "np": np, "X": 3}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def message(lines, arguments, decorator):
    f = program(lines, decorator)
    with pytest.raises(Exception) as caught, weft.device_context("native"):
        (f[3] if decorator == "kernel" else f)(*arguments)
    return f"{type(caught.value).__name__}: {caught.value}"


REFUSED = [("njit", NJIT), ("njit", STATEMENTS), ("kernel", KERNEL)]


def messages(decorator, programs):
    return {title: message(lines, arguments, decorator) for title, (lines, *arguments) in programs.items()}


# spec: G2
def test_messages():
    parts = [
        f"## {decorator}: {title}\n{text}\n"
        for decorator, programs in [*REFUSED, ("njit", RUN_TIME)]
        for title, text in messages(decorator, programs).items()
    ]
    ours = "\n".join(parts)
    if os.environ.get("WEFT_BLESS") == "1":
        GOLDEN.write_text(ours)
    assert ours == GOLDEN.read_text()


# spec: G2
def test_refusals_fit_a_screen_and_show_the_line():
    for decorator, programs in REFUSED:
        for text in messages(decorator, programs).values():
            lines = text.splitlines()
            assert len(lines) <= 12 and max(map(len, lines)) <= 160, text
            assert "--> program.py:" in text and "^" in text, text
