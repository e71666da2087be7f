"""Slices with written ends: code takes them to lie inside the array; calls where they do not run other code."""

import itertools
import linecache
import random
import re
import threading

import pytest

import numpy as np
import weft
from support import OTHER, same, same_as_plain


@weft.njit
def diffuse(field, out, coeff):
    n, m = out.shape[0], out.shape[1]
    lap = 4.0 * field[1 : n + 3, 1 : m + 3] - (
        field[2 : n + 4, 1 : m + 3]
        + field[0 : n + 2, 1 : m + 3]
        + field[1 : n + 3, 2 : m + 4]
        + field[1 : n + 3, 0 : m + 2]
    )
    flux = lap[1:, 1 : m + 1] - lap[:-1, 1 : m + 1]
    flux = np.where(flux * (field[2 : n + 3, 2 : m + 2] - field[1 : n + 2, 2 : m + 2]) > 0, 0, flux)
    out[:, :] = field[2 : n + 2, 2 : m + 2] - coeff * (flux[1:, :] - flux[:-1, :])


def stencil(rows, columns, n, m):
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, columns)), np.zeros((n, m)), rng.normal(size=(n, m))


def both(f, *arguments):
    """Compiled or plain, a function does the same to copies of its arguments: results, or exception and message."""
    outcomes = []
    for call in (f, f.py_func):
        own = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        try:
            outcomes.append((call(*own), "", own))
        except Exception as error:
            outcomes.append((type(error), str(error), own))
    (ours, said, left), (theirs, wanted, after) = outcomes
    if isinstance(theirs, type):
        assert ours is theirs and said == wanted
    else:
        same(ours, theirs)
    for mine, other in zip(left, after, strict=True):
        same(mine, other)


def compiled(f):
    """How often it was compiled."""
    return len(f.specializations)


# spec: N6
def test_a_stencil_with_written_ends_is_few_loops():
    f = weft.njit(diffuse.py_func)
    both(f, *stencil(14, 13, 10, 9))
    said = str(f.report())
    assert "not known to be equal" not in said
    assert said.count("memory: allocates") == 2
    assert len(re.findall(r"par\.for\(", f.inspect("loops"))) == 3
    # Nothing is compared at run time.
    assert "nt.expand" not in f.inspect("ntensor") and "nt.refine" not in f.inspect("ntensor")
    assert "arith.min" not in f.inspect("ntensor")


# spec: N3
@pytest.mark.parametrize("order", list(itertools.permutations([(14, 13), (13, 13), (30, 40), (3, 3)], 3)))
def test_a_stencil_whose_ends_are_cut_off_raises_as_numpy_does(order):
    f = weft.njit(diffuse.py_func)
    for rows, columns in (*order, *order):
        both(f, *stencil(rows, columns, 10, 9))


@weft.njit
def shifted(a, k, n):
    return a[k : k + n] + a[k + 1 : k + n + 1], a[:n] * 2, a[n:].shape, a[k:].sum()


# spec: N3
def test_bounds_from_int_arguments():
    a = np.arange(10.0)
    bounds = [*range(-12, 13, 3), 0, 1, 2, 9, 10, 11, 2**31, 2**62, 2**63 - 1, -(2**63), -(2**62)]
    pairs = list(itertools.product(bounds, bounds))
    random.Random(1).shuffle(pairs)
    for k, n in pairs:
        if max(k + 1, k + n, k + n + 1) >= 2**63 or k + n < -(2**63):
            with pytest.raises(OverflowError):
                shifted(a, k, n)
        else:
            both(shifted, a, k, n)


# spec: N3
@pytest.mark.parametrize("first", [0, 1])
def test_calls_that_keep_and_break_it_take_turns(first):
    @weft.njit
    def f(a, b, n):
        return a[1 : n + 1] + b[:n]

    x, y = np.arange(8.0), np.arange(20.0)
    for turn in range(6):
        both(f, x, y, 5 if (turn + first) % 2 else 9)
        both(f, x, y[:9], 5 if (turn + first) % 2 else 9)
    inside, beyond = f.py_func(x, y, 5), f.py_func(x, y[:1], 1)
    same((f(x, y, 5), f(x, y[:1], 1)), (inside, beyond))
    # Not one more for each call.
    made = compiled(f)
    for n in (2, 3, 4, 12, 13, 14):
        both(f, x, y[1:], n)
    assert compiled(f) <= made + 2


# spec: N6
def test_the_code_that_assumes_comes_when_a_call_can_use_it():
    @weft.njit
    def f(a, b, n):
        return a[1 : n + 1] + b[2 : n + 2]

    x, y = np.arange(8.0), np.arange(8.0)
    both(f, x, y, -3)
    assert compiled(f) == 1 and "arith.min" in f.inspect("ntensor")
    both(f, x, y, 3)
    assert compiled(f) == 2 and "arith.min" not in f.inspect("ntensor")
    both(f, x, y, -3)
    both(f, x, y, 3)
    assert compiled(f) == 2


# spec: N3
def test_a_slice_that_is_cut_to_one_item_is_repeated():
    @weft.njit
    def f(a, b, n):
        return a[0:n] + b[0 : n + 1]

    for size, n in [(1, 0), (1, 4), (5, 0), (5, 4), (4, 4), (2, 1), (1, 4)]:
        both(f, np.arange(4.0), np.arange(float(size)), n)
        both(f, np.arange(float(size)), np.arange(5.0), n)


# spec: N3
def test_from_the_end_and_empty():
    @weft.njit
    def f(x, k):
        return x[k:] - x[:-k], x[-k:], x[:-k].copy(), x[k:-k], x[len(x) - k :], x[: 2 * k]

    for size in (0, 1, 2, 7):
        for k in (0, 1, 2, 3, 4, 7, 8, -1, -2, -9):
            both(f, np.arange(float(size)), k)


# spec: N3
def test_constant_ends():
    @weft.njit
    def f(x, y):
        y[:3] = x[1:4] * 2 + y[-3:]
        return x[:1] + y, x[-1:] - y[2:], x[:3][:5], x[5:2], x[-2:3], x[:4].sum() + y[-4:-1].sum(), x[:2].reshape(2, 1)

    for m, n in itertools.product((0, 1, 2, 3, 4, 9), repeat=2):
        both(f, np.arange(float(m)), np.arange(float(n)) + 0.5)


# spec: N6
def test_one_column_is_known_to_be_repeated():
    @weft.njit
    def f(x):
        return x - x[:, :1] * x[-1:]

    both(f, np.arange(12.0).reshape(3, 4))
    assert "nt.expand" not in f.inspect("ntensor") and f.inspect("ntensor").count("shape.bind") == 0
    both(f, np.zeros((0, 4)))
    both(f, np.zeros((4, 0)))


# spec: N3
def test_arrays_made_of_such_sizes():
    @weft.njit
    def f(x, n):
        t = np.zeros(n + 2)
        t[1 : n + 1] = x[1 : n + 1] * 2.0
        t[:n] += x[2 : n + 2]
        y = np.empty(n)
        y[:] = t[2 : n + 2] - t[:n]
        for i in range(n):
            y[i] += t[i + 1]
        return t, y, y.shape[0] + t[1:].shape[0]

    for n in (4, 6, 0, 7, 8, -1, -2, 20, 4):
        both(f, np.arange(8.0), n)


# spec: N7
def test_views_and_what_they_share():
    @weft.njit
    def f(a, b, n):
        view = a[1 : n + 1]
        view += b[2 : n + 2]
        a[: n + 1] = a[1 : n + 2]
        return view

    for n in (3, 7, 30, 3):
        a = np.arange(9.0)
        whole, wanted = a.copy(), a.copy()
        ours, theirs = outcome(f, whole, n), outcome(f.py_func, wanted, n)
        same(whole, wanted)
        if isinstance(theirs, str):
            assert ours == theirs
            continue
        same(ours, theirs)
        ours[:1], theirs[:1] = -1.0, -1.0
        same(whole, wanted)


def outcome(f, a, n):
    try:
        return f(a, a, n)
    except ValueError as error:
        return str(error)


# spec: N3
def test_messages_name_the_sizes_that_there_are():
    @weft.njit
    def f(a, b, k):
        return a[k : k + 3] + b[k : k + 4]

    a, b = np.arange(10.0), np.arange(10.0)
    for k in (0, 8, 2, 9, 7, 6, 12):
        both(f, a, b, k)
        both(f, a[:-1], b, k)


# spec: N1
def test_every_kind_of_argument_before_the_array():
    @weft.njit
    def f(items, pair, nothing, z, name, w, n, a):
        return a[1 : n + 1] + pair[1][2 : n + 2] + pair[0][0 : n + pair[2]], len(items), z, w, name == "x"

    def call(n, extra, size):
        a = np.arange(float(size))
        arguments = [1, 2, 3], (a, a + 1, extra, 2j), None, 1 + 2j, "x", np.complex128(3), n, np.arange(8.0)
        try:
            wanted = f.py_func(*arguments)
        except ValueError:
            with pytest.raises(ValueError):
                f(*arguments)
            return
        same(f(*arguments), wanted)

    for n, extra, size in itertools.product((3, 5, 9, -1), (0, 2, -1), (8, 7, 6, 1)):
        call(n, extra, size)


# spec: N2
def test_inside_functions_that_are_called_and_loops():
    @weft.njit
    def part(x, low, high):
        return x[low:high]

    @weft.njit
    def fib(x, n):
        if n < 2:
            return x[:n].sum()
        return fib(x, n - 1) + part(x, 1, n + 1).sum()

    @weft.njit
    def f(x, n, turns):
        total = np.zeros(2)
        for t in range(turns):
            total += part(x, t, t + 2)
            x[1 : n + 1] = 0.5 * (part(x, 0, n) + part(x, 2, n + 2))
        if n > 5:
            total = part(x, n - 5, n - 3) + total
        return total, fib(x, n), x[:n].max() if n > 0 else x.max()

    for n, turns in [(5, 3), (6, 3), (8, 2), (9, 2), (3, 3), (10, 1), (7, 9), (0, 1)]:
        both(f, np.arange(10.0), n, turns)


# spec: N3
def test_in_a_parallel_loop():
    @weft.njit(parallel=True)
    def f(a, out, n):
        for i in weft.prange(a.shape[0]):
            out[i] = np.sum(a[i, 1 : n + 1] * a[i, 2 : n + 2])

    for n in (4, 6, 5, 4):
        both(f, np.arange(56.0).reshape(7, 8), np.zeros(7), n)


# spec: N3
@pytest.mark.parametrize("n", [(4, 9), (9, 4)])
def test_on_a_device(n):
    @weft.njit
    def f(a, b, n):
        return a[1 : n + 1] + b[:n]

    a, b = np.arange(6.0), np.arange(5.0)
    with weft.device_context(OTHER):
        for k in (*n, *n):
            same(np.asarray(f(a, b, k)), f.py_func(a, b, k))


# spec: N1
def test_signatures_of_the_user_serve_every_call():
    @weft.njit("float64[::1](float64[::1], int)")
    def f(a, n):
        return a[1 : n + 1] + a[:n]

    for n in (3, 30, 7, -2, 3):
        both(f, np.arange(9.0), n)
    assert compiled(f) == 1


# spec: N1
def test_recompiling_makes_both_again():
    @weft.njit
    def f(a, n):
        return a[1 : n + 1] + a[:n]

    a = np.arange(9.0)
    for n in (3, -3):
        both(f, a, n)
    assert compiled(f) == 2
    f.recompile()
    assert compiled(f) == 2
    for n in (3, -3, 4):
        both(f, a, n)
    assert compiled(f) == 2


# spec: N9
def test_integers_that_wrap_are_not_taken_for_sums():
    @weft.njit(overflow="wrap")
    def f(a, k):
        return a[k + 1 : k + 3]

    a = np.arange(9.0)
    same(f(a, 2), a[3:5])
    same(f(a, 2**63 - 1), a[-(2**63) : -(2**63) + 2])


# spec: N1
def test_threads_that_need_different_code():
    @weft.njit
    def f(a, n):
        return a[1 : n + 1] + a[2 : n + 2]

    a, wrong = np.arange(9.0), []

    def calls(n):
        wanted = f.py_func(a, n)
        wrong.extend(n for _ in range(50) if not np.array_equal(f(a, n), wanted))

    threads = [threading.Thread(target=calls, args=(n,)) for n in (3, -3, 5, -20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


ENDS = [
    "",
    "0",
    "1",
    "3",
    "-1",
    "-2",
    "n",
    "m",
    "k",
    "n + 1",
    "k + m",
    "n - k",
    "-k",
    "2 * k",
    "m - 2",
    "k - 1",
    "len(x) - k",
]


# spec: N3
@pytest.mark.parametrize("seed", range(12))
def test_random_slices(seed):
    """One function of random slices, called with many sizes in a row."""
    rng = random.Random(seed)

    def part(name):
        return f"{name}[{rng.choice(ENDS)}:{rng.choice(ENDS)}]"

    lines = [f"    p{i} = {part('x')}\n    q{i} = {part(f'p{i}')}\n    r{i} = {part('y')}" for i in range(4)]
    kept = ", ".join(f"p{i}, q{i}, r{i}, p{i}.shape[0] + q{i}.shape[0]" for i in range(4))
    sums = f"    return {kept}, {part('x')}.sum() + {part('y')}.sum()"
    head = "    n = x.shape[0]\n    m = y.shape[0]"
    source = "\n".join(["def f(x, y, k):", head, *lines, sums])
    name, space = f"<slices {seed}>", {}
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), space)
    f = weft.njit(space["f"])
    for _ in range(60):
        x, y = np.arange(float(rng.randrange(9))), np.arange(float(rng.randrange(9)))
        same_as_plain(f, x, y, rng.randrange(-4, 8))
