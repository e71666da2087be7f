"""Arrays that a device computes and the host then writes or reads, in every way and in every kind of block."""

import linecache
import textwrap
from itertools import count

import pytest

import numpy as np
import weft
from support import same

WRITES = {
    "in place": "t += 1.0",
    "element": "t[i] = 9.0",
    "element in place": "t[i] *= 3.0",
    "slice": "t[1:] = b[:-1]",
    "slice in place": "t[i:] += b[i:]",
    "out": "np.add(t, 1.0, out=t)",
    "mask": "t[t < 3.0] = 1.0",
    "view": "v = t[::-1]\nv[i] = 7.0",
    "other name": "u = t\nu -= 2.0",
    "fill": "t[:] = 5.0",
    "list": "for x in [t, b * 2.0]:\n    x += 1.0",
    "function": "change(t)",
}
BLOCKS = {
    "for": "for i in range(3):\n    {write}",
    "nested for": "for i in range(2):\n    for j in range(2):\n        {write}",
    "while": "i = 0\nwhile t.sum() < 60.0 and i < 4:\n    {write}\n    i += 1",
    "if": "i = 1\nif b[0] > 0.0:\n    {write}",
    "else": "i = 1\nif b[0] < 0.0:\n    t = b * 3.0\nelse:\n    {write}",
    "try": "i = 1\ntry:\n    {write}\n    if b[1] > 0.0:\n        raise ValueError('stop')\n    t[0] = 50.0\n"
    "except ValueError:\n    t[2] += 4.0",
    "handler": "i = 1\ntry:\n    t[99] = 1.0\nexcept IndexError:\n    {write}",
    "inner function": "def inner(i):\n    {write}\ninner(1)",
    "closure that is called in a loop": "def inner(i):\n    t[0] += 1.0\nfor i in range(3):\n    inner(i)\n    {write}",
}
NAMES = count()


def compiled_and_plain(text):
    """The function `f` of a text, compiled and not."""
    filename = f"<local arrays {next(NAMES)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope = {"np": np, "weft": weft, "change": change}
    exec(compile(text, filename, "exec"), scope)
    return weft.njit(scope["f"]), scope["f"]


def change(x):
    x += 1.0
    x[0] = -1.0


# spec: A1, A8
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("write", WRITES)
def test_writes_to_what_a_device_computed(write, block, device):
    head, _, _ = BLOCKS[block].partition("{write}")
    indent = head.rpartition("\n")[2]
    body = BLOCKS[block].replace("{write}", WRITES[write].replace("\n", "\n" + indent))
    if "def inner" in body and write == "in place":
        body = body.replace("def inner(i):\n", "def inner(i):\n    nonlocal t\n", 1)
    text = "def f(b):\n    t = b * 1.0\n" + textwrap.indent(body, "    ") + "\n    u = t * 2.0\n    return t, u\n"
    compiled, plain = compiled_and_plain(text)
    b = np.arange(1.0, 7.0)
    with weft.device_context(device):
        same(compiled(b), plain(b))


# spec: A1, A8
def test_rows_that_a_loop_goes_over(device):
    def f(m):
        t = m * 1.0
        for r in t:
            r += 1.0
        return t

    m = np.arange(12.0).reshape(3, 4)
    with weft.device_context(device):
        same(weft.njit(f)(m), f(m))


# spec: A1, A8
def test_a_matrix_that_is_filled_by_its_own_columns(device):
    def f(x):
        c = x.T * 0.0
        m = c.shape[0]
        for i in range(m - 1):
            c[i + 1 : m, i] = c[i, i + 1 : m] = x[0, i + 1 : m] * x[1, i]
        return c

    x = np.arange(25.0).reshape(5, 5)
    with weft.device_context(device):
        same(weft.njit(f)(x), f(x))


# spec: A1, A8
def test_two_names_of_one_size_see_one_memory(device):
    """Sizes that are only found equal when the function runs give an array a second name."""

    def f(x, y):
        t = x * 1.0
        u = t + y
        for i in range(2):
            t[i] = 9.0
        return t, u, t + y

    x, y = np.arange(4.0), np.arange(10.0, 14.0)
    with weft.device_context(device):
        same(weft.njit(f)(x, y), f(x, y))
        same(weft.njit(f)(x, y[:1]), f(x, y[:1]))


COPIES = {
    "returned": "u = t.copy()",
    "written": "u = t.copy()\nu[0] = 9.0",
    "beside a device's": "u = t.copy()\nu[0] = 9.0\nw = t * 2.0",
    "in a list": "u = t.copy()\nitems = [u]\nitems[0][1] = 2.0",
    "all of a new array": "u = np.empty(6)\nu[:] = t\nu[0] = 9.0\nw = t * 2.0",
}


# spec: A1, A8
@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_of_what_a_device_computed_is_memory_of_its_own(copy, device):
    text = f"def f(b):\n    t = b + 5.0\n    w = b\n{textwrap.indent(COPIES[copy], '    ')}\n    return u, w\n"
    compiled, plain = compiled_and_plain(text)
    b = np.arange(1.0, 7.0)
    with weft.device_context(device):
        same(compiled(b), plain(b))


def traced(f, *arguments, device):
    """What a call gives, and the bytes it copied."""
    with weft.device_context(device):
        f(*arguments)
        with weft.trace() as trace:
            result = f(*arguments)
    return result, [copy.bytes for copy in trace.copies]


# spec: A8
def test_what_a_loop_only_reads_moves_once(accelerator):
    @weft.njit
    def f(x):
        y = x * 2
        s = 0.0
        for i in range(len(y)):
            s += y[i]
        return s

    x = np.arange(1000.0)
    result, copies = traced(f, x, device=accelerator)
    assert result == 2 * x.sum()
    assert copies == [x.nbytes, x.nbytes]


# spec: A8
def test_what_no_branch_takes_does_not_move(accelerator):
    @weft.njit
    def f(x, c):
        y = x * 2
        s = 0.0
        if c:
            s = y[0]
        return s, y * 3

    x = np.arange(1000.0)
    assert traced(f, x, False, device=accelerator)[1] == [x.nbytes, x.nbytes]
    assert traced(f, x, True, device=accelerator)[1] == [x.nbytes, x.nbytes, x.nbytes]


# spec: A8
def test_a_copy_that_is_still_valid_is_used_again(accelerator):
    @weft.njit
    def f(x, n):
        y = x * 2
        y[0] = 1.0
        s = 0.0
        for i in range(n):
            s += (y + i)[3]
        return s

    x = np.arange(1000.0)
    result, copies = traced(f, x, 5, device=accelerator)
    assert result == 5 * 6.0 + sum(range(5))
    # x there, 2x back, and there once more when element 0 has changed; then each sum back.
    assert copies == [x.nbytes] * 3 + [x.nbytes] * 5


# spec: A8
def test_a_loop_gives_back_what_its_iterations_are_done_with(accelerator):
    @weft.njit
    def f(x, n):
        s = 0.0
        for i in range(n):
            t = x * 2.0
            t[0] = i
            u = t + 1.0
            s += u[0] + t[1]
        return s

    x = np.ones(1 << 18)
    with weft.device_context(accelerator):
        f(x, 1)
        before = held(accelerator)
        assert f(x, 40) == sum(range(40)) + 40 * 3.0
        assert held(accelerator) <= before + 8 * x.nbytes


def held(device):
    """Bytes that the pools have from the device and the host."""
    return sum(pool.live + pool.pooled for place in (device, "native") for pool in weft.memory.stats(place).values())
