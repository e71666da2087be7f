"""Lists in compiled code: CPython is the oracle for values, types, aliasing, exceptions and their messages."""

import copy
import gc

import pytest

import numpy as np
import weft
from support import function


def outcome(function, args):
    """What a call gives, or the exception it raises, and what became of its arguments."""
    args = copy.deepcopy(args)
    try:
        result = function(*args)
    except (ValueError, IndexError, TypeError, ZeroDivisionError, AssertionError) as error:
        return type(error), str(error), args
    return result, args


def check(function, *args):
    """Compiled and plain code agree. `repr` tells ints from floats and shows dtypes."""
    ours, theirs = outcome(weft.njit(function), args), outcome(function, args)
    assert repr(ours) == repr(theirs)


# ---- making lists --------------------------------------------------------------------------------


def displays(n):
    return [], [n], [1, 2, 3], [1.5, 2.5], [True, False], [(1, 2.5), (3, 4.5)], [[1], [], [2, 3]], [None, None]


def appended(n):
    out = []
    for i in range(n):
        out.append(i * i)
    return out, len(out)


def comprehensions(n):
    squares = [i * i for i in range(n)]
    pairs = [(i, j) for i in range(n) for j in range(i) if (i + j) % 2]
    table = [[i * j for j in range(n)] for i in range(n)]
    return squares, pairs, table, [x for row in table for x in row]


def repeated(n):
    return [0] * n, n * [1.5], [1, 2] * 2, [[0.0] * n for _ in range(n)], [7] * -1


def converted(n):
    evens = (2 * i for i in range(n))
    return list(range(n)), list(evens), list((1, 2, n)), list(np.arange(n)), list([1, n]), list()  # noqa: C408, C410


def starred(n):
    a = [1, 2]
    return [*a, n, *range(2)], [*a]


def of_numpy_scalars(n):
    return [np.float32(1.5), np.float32(n)], [np.int8(3)], [np.uint64(7)]


def of_complex(n):
    return [1j * n, 2 + 3j]


def of_arrays(n):
    rows = [np.arange(3) + i for i in range(n)]
    rows.append(rows[0])
    return rows


def growing(n):
    out = [0]
    for i in range(n):
        out.append(i)
        out.append(-i)
    return out, sum(out), len(out)


# spec: N2
@pytest.mark.parametrize(
    "function",
    [displays, appended, comprehensions, repeated, converted, starred, of_numpy_scalars, of_complex, of_arrays],
)
@pytest.mark.parametrize("n", [0, 1, 4])
def test_lists_are_made(function, n):
    check(function, n)


# spec: N2
def test_a_list_grows_as_far_as_memory_goes():
    check(growing, 5000)


# ---- methods -------------------------------------------------------------------------------------


def methods(n):
    a = [3, 1, 2, 1, n]
    a.insert(0, 10)
    a.insert(-1, 20)
    a.insert(100, 30)
    b = a.copy()
    a.reverse()
    last, first, third = b.pop(), b.pop(0), b.pop(-2)
    c = a.count(1), a.index(1), a.index(1, 4), a.index(2, -4, -1)
    b.remove(1)
    a.extend(b)
    a.extend((5, 6))
    a.extend(x * 2 for x in range(3))
    d = [1, 2]
    d.extend(d)
    e = [1, 2]
    e.clear()
    return a, b, c, d, e, last, first, third


def slices(n):
    a = list(range(10))
    return a[2:5], a[::2], a[::-1], a[-3:], a[:-3], a[n:], a[:n:2], a[8:2:-n], a[100:], a[-100:2], a[:]


def slice_stores(n):
    a = list(range(10))
    a[2:4] = [20, 21, 22]
    a[1:1] = [n]
    a[::4] = [7, 8, 9]
    a[5:] = a[:2]
    a[:0] = (1, 2)
    return a


def deletions(n):
    a = list(range(12))
    del a[0], a[-1], a[n]
    b = a.copy()
    del a[1:3]
    del b[::3]
    c = list(range(9))
    del c[::-2]
    return a, b, c


def operators(n):
    a = [1, 2]
    b = a + [n]
    c = a
    c += [4]
    c += (5, 6)
    c *= 2
    return (
        a,
        b,
        b * 2,
        2 * b,
        a == c,
        a == [1],
        a != b,
        [1, 2] < [1, 3],
        [1] <= [1, 0],
        [2] > [1, 9],
        [3] >= [4],
        [] < [0],
    )


def membership(n):
    a = [1, 2, n]
    return 2 in a, 7 in a, n not in a, (1, 2) in [(1, 2)], 2.0 in a


def sorting(n):
    a = [(i * 7919) % 101 for i in range(n)]
    b = a.copy()
    b.sort()
    c = sorted(a, reverse=True)
    d = sorted(a, key=lambda x: -(x % 10))
    e = sorted([(x % 3, x) for x in a])
    f = sorted([(x % 3, x) for x in a], key=lambda p: p[0], reverse=True)
    g = sorted([2.5, -1.0, 0.5])
    return a, b, c, d, e, f, g, sorted((3, 1, 2)), sorted(x * x for x in [3, -1])


def reductions(n):
    a = [3, 1, n]
    return sum(a), min(a), max(a), any(a), all(a), len(a), any([]), all([]), sum([]), sum([0.5, 1.5])


def iterators(n):
    a = [5, 6, 7]
    out = []
    for i, x in enumerate(a):
        out.append((i, x))
    for x, y in zip(a, [1.5, 2.5]):
        out.append((x, int(y)))
    for x in reversed(a):
        out.append((n, x))
    return out, list(map(lambda x: x + n, a)), list(filter(lambda x: x > 5, a))


# spec: N2
@pytest.mark.parametrize(
    "function",
    [methods, slices, slice_stores, deletions, operators, membership, sorting, reductions, iterators],
)
@pytest.mark.parametrize("n", [1, 3])
def test_methods_and_operators(function, n):
    check(function, n)


# spec: N2
@pytest.mark.parametrize("n", [0, 1, 16, 17, 100, 1000])
def test_sorting_is_stable_at_every_length(n):
    check(sorting, n)


# ---- aliasing and control flow -------------------------------------------------------------------


def aliases(n):
    a = [1, 2, 3]
    b = a
    b.append(n)
    t = (a, n)
    t[0].append(9)
    nested = [a, [5]]
    nested[0].append(8)
    nested[1] = a
    nested[1].append(7)
    return a, b, nested, len(a), a is b


def shared_rows(n):
    rows = [[0] * 2] * n
    rows[0][1] = 5
    return rows


def chosen(n):
    a, b = [1], [2, 3]
    c = a if n > 2 else b
    c.append(n)
    return a, b, c


def carried(n):
    old = [0]
    for i in range(n):
        new = [x + i for x in old]
        new.append(i)
        old = new
    while len(old) > 2:
        old = old[1:]
    return old


def stack(n):
    todo, seen = [n], []
    while todo:
        x = todo.pop()
        seen.append(x)
        if x > 0:
            todo.append(x - 1)
            todo.append(x - 2)
    return seen


def first_unknown(n):
    spare, out = [], []
    for i in range(n):
        x = spare.pop() if spare else -1
        out.append(x)
        spare.append(i)
    return out


def grows_while_walked(n):
    a = [0]
    for x in a:
        if len(a) < n:
            a.append(x + 1)
    pairs = [0]
    for i, x in enumerate(pairs):
        if i < n:
            pairs.append(x + i)
    return a, pairs


def optional(n):
    best = None
    for i in range(n):
        if i % 2:
            best = [i]
    return best


def with_none(n):
    found = [None] * n
    for i in range(0, n, 2):
        found[i] = i * 1.5
    return found, [x is None for x in found]


def swapped(n):
    a = list(range(n))
    for i in range(n // 2):
        a[i], a[-1 - i] = a[-1 - i], a[i]
    a[0] += 10
    return a


def unpacked(n):
    a = [n, 2, 3]
    x, y, z = a
    first, *middle, last = [1, 2, 3, n]
    *most, end = a
    return x, y, z, first, middle, last, most, end


def matched(n):
    out = []
    for case in [[1], [1, 2], [1, 2, 3], [n, n, n, n]]:
        match case:
            case [x]:
                out.append(x)
            case [x, y]:
                out.append(x + y)
            case [x, *rest]:
                out.append(x + len(rest) * 100)
    return out


def in_closure(n):
    out = []

    def note(x):
        out.append(x)
        return len(out)

    return [note(i) for i in range(n)], out


def keeps_after_error(n):
    out = []
    try:
        for i in range(10):
            out.append(10 // (n - i))
    except ZeroDivisionError:
        out.append(-1)
    return out


def loops(n):
    out = []
    for x in [1, 2, 3, 4, 5]:
        if x == 2:
            continue
        if x == n:
            break
        out.append(x)
    else:
        out.append(99)
    return out


# spec: N2
@pytest.mark.parametrize(
    "function",
    [
        aliases,
        shared_rows,
        chosen,
        carried,
        stack,
        first_unknown,
        grows_while_walked,
        optional,
        with_none,
        swapped,
        unpacked,
        matched,
        in_closure,
        keeps_after_error,
        loops,
    ],
)
@pytest.mark.parametrize("n", [1, 4])
def test_lists_go_where_values_go(function, n):
    check(function, n)


def quicksort(a):
    if len(a) <= 1:
        return a
    pivot = a[0]
    less = [x for x in a[1:] if x < pivot]
    more = [x for x in a[1:] if x >= pivot]
    return quicksort(less) + [pivot] + quicksort(more)


def permutations(prefix, rest, out):
    if not rest:
        out.append(prefix[:])
    for i in range(len(rest)):
        prefix.append(rest[i])
        permutations(prefix, rest[:i] + rest[i + 1 :], out)
        prefix.pop()


def sorts_by_recursion(n):
    return quicksort([(i * 7919) % 31 for i in range(n)])


def permutes(n):
    out = []
    permutations([], list(range(n)), out)
    return out


# spec: N2
@pytest.mark.parametrize("function", [sorts_by_recursion, permutes])
def test_lists_through_recursion(function):
    check(function, 0)
    check(function, 4)


# ---- exceptions ----------------------------------------------------------------------------------


def item(i):
    return [1, 2, 3][i]


def store(i):
    a = [1, 2, 3]
    a[i] = 5
    return a


def delete(i):
    a = [1, 2, 3]
    del a[i]
    return a


def pop_at(i):
    a = [1, 2, 3]
    return a.pop(i), a


def pop_empty(i):
    return [].pop()


def pop_emptied(i):
    a = [1]
    a.pop()
    return a.pop()


def remove(i):
    a = [1, 2, 3]
    a.remove(i)
    return a


def find(i):
    return [1, 2, 3].index(i)


def unpack(i):
    a, b, c = [0] * i
    return a + b + c


def unpack_star(i):
    a, b, c, *d = [0] * i
    return a, b, c, d


def extended(i):
    a = [1, 2, 3]
    a[::2] = [0] * i
    return a


def zero_step(i):
    return [1, 2, 3][:: i - 3]


def item_of_nothing(i):
    return [][i]


# spec: N2, N7
@pytest.mark.parametrize(
    "function",
    [
        item,
        store,
        delete,
        pop_at,
        pop_empty,
        pop_emptied,
        remove,
        find,
        unpack,
        unpack_star,
        extended,
        zero_step,
        item_of_nothing,
    ],
)
@pytest.mark.parametrize("i", [3, 2, -3, -4])
def test_exceptions_are_pythons(function, i):
    check(function, i)


# ---- arguments -----------------------------------------------------------------------------------


def total(a):
    return sum(a), len(a)


def extends(a):
    a.append(a[0])
    return len(a)


def same_list(a):
    a.append(a[-1])
    return a


def raises_after(a):
    a[0] = a[-1]
    raise ValueError("after the change")


def rows(a):
    count = 0
    for row in a:
        row.append(row[0])
        count += len(row)
    a.append(a[0])
    return count


def turns_pairs(a):
    for i, (x, y) in enumerate(a):
        a[i] = (x + 1, y * 0.5)


def adds_arrays(a):
    first = a[0]
    first[0] = 9.0
    a.append(first * 2.0)
    return first, a[-1]


def fills(a, x):
    a.append(x)
    return len(a)


# spec: N2, A1
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (total, ([1, 2, 3],)),
        (total, ([1.5, -2.0],)),
        (total, ([1j, 2j],)),
        (total, ([np.float32(1.5), np.float32(2)],)),
        (total, ([],)),
        (extends, ([1, 2],)),
        (extends, ([True, False],)),
        (same_list, ([0.5],)),
        (raises_after, ([1, 2],)),
        (rows, ([[1], [2, 3]],)),
        (turns_pairs, ([(1, 2.0), (3, 4.0)],)),
        (adds_arrays, ([np.arange(3.0), np.ones(2)],)),
        (fills, ([], 3)),
        (fills, ([], 2.5)),
        (fills, ([], (1, 2))),
    ],
)
def test_lists_as_arguments(function, args):
    check(function, *args)


# spec: N2
def test_a_list_stays_the_same_object():
    compiled = weft.njit(same_list)
    a = [1]
    assert compiled(a) is a
    assert a == [1, 1]
    inner = [1]
    outer = [inner, inner]
    weft.njit(rows)(outer)
    assert outer[0] is inner
    assert outer[2] is inner
    assert inner == [1, 1, 1]


# spec: N2
def test_an_array_in_a_list_stays_the_same_object():
    first = np.arange(3.0)
    a = [first]
    returned, made = weft.njit(adds_arrays)(a)
    assert returned is first
    assert a[0] is first
    assert a[1] is made


# spec: N2
def test_a_list_of_several_types_is_refused():
    with pytest.raises(weft.errors.TypingError, match="a list of bool and int"):
        weft.njit(total)([True, 2])
    with pytest.raises(weft.errors.TypingError, match="holds a str"):
        weft.njit(total)([1, "a"])
    with pytest.raises(OverflowError, match="64 bits"):
        weft.njit(total)([2**70])


def mixed_arrays(n):
    a = [np.zeros(2)]
    a.append(n)
    return a


# spec: N2, G2
def test_items_of_several_types_are_refused():
    with pytest.raises(weft.errors.TypingError, match="a list holds"):
        weft.njit(mixed_arrays)(1)


# ---- beside arrays -------------------------------------------------------------------------------


def beside_arrays(n):
    a = np.arange(4.0)
    picked = a[[3, 0, n]]
    a[1:3] = [n, 7.5]
    a[[0, 3]] = [1.5, 2.5]
    b = a + [1, 2, 3, 4]
    c = [2.0] * 4 * a
    return picked, a, b, c, a == [1.5, 1.0, 7.5, 2.5], np.array([n, 2]), np.array([[1.5], [n]]), np.array([a, b])


# spec: N2
def test_lists_beside_arrays():
    check(beside_arrays, 1)


# ---- memory --------------------------------------------------------------------------------------


def busy(n, x):
    arrays = [x + i for i in range(n)]
    arrays[0] = arrays[1]
    arrays.pop()
    nested = [[x * 2.0] for _ in range(n)]
    nested[1].append(arrays[0])
    del nested[0]
    if n > 6:
        raise ValueError("lists are dropped on the way")
    return arrays, nested, arrays[0]


# spec: N10
def test_nothing_leaks():
    compiled = weft.njit(busy)
    x = np.ones(8)

    def live():
        return weft.memory.stats()["native:cpu:0"]["host"].live

    compiled(5, x)
    gc.collect()
    before = live()
    for i in range(100_000):
        if i % 10:
            compiled(5, x)
        else:
            with pytest.raises(ValueError, match="on the way"):
                compiled(7, x)
    assert live() == before


@weft.njit
def kept_by_the_list_alone(n):
    rows = [[7] * 3 for _ in range(3)]
    row = rows[1]
    others = [[n] * 3 for _ in range(50)]
    row[0] += 1
    return row[0] + row[2], len(others)


# spec: N2
def test_an_item_outlives_its_list():
    assert [kept_by_the_list_alone(100) for _ in range(200)] == [(15, 50)] * 200
    # The list is given up only after its item has a count of its own.
    text = kept_by_the_list_alone.inspect("loops")
    read = text.index("mem.share")
    assert "mem.release" not in text[text.rindex("mem.pointer", 0, read) : read]


def _grows_before(items):
    found = [0]
    for x in reversed(items):
        found.append(x)
        if len(items) < 9:
            items.append(7)
    return found, items


def _shrinks_in_front(items):
    found = [0]
    for _, x in zip(range(9), reversed(items)):
        found.append(x)
        del items[0]
    return found, items


def _shrinks_at_the_end(items):
    found = [0]
    for i, x in enumerate(reversed(items)):
        found.append(x * i)
        items.pop()
    return found, items


def _is_cleared(items):
    found = [0]
    for x in map(lambda x: x + 1, reversed(items)):
        found.append(x)
        items.clear()
    return found


def _had_more_items(items):
    behind = reversed(items)
    items.pop()
    return list(behind)


def _had_fewer_items(items):
    behind = reversed(items)
    items.append(5)
    return [2 * x for x in behind]


def _first_and_rest(items):
    last, *others = reversed(items)
    first, *pairs = enumerate(items)
    least, *more = np.arange(4)
    return last, others, first, pairs, least, more


def _used_in_one_branch(items):
    pairs = enumerate(items)
    if len(items) > 3:
        total = sum(i * x for i, x in pairs)
    else:
        total = 0
        for i, x in pairs:
            total -= i * x
    return total


def _compared_with_none(items):
    pairs = zip(items, items)
    if pairs is None:
        return 0
    return sum(x * y for x, y in pairs)


_ITERATORS = [
    _grows_before,
    _shrinks_in_front,
    _shrinks_at_the_end,
    _is_cleared,
    _had_more_items,
    _had_fewer_items,
    _first_and_rest,
    _used_in_one_branch,
    _compared_with_none,
]


# spec: N2
@pytest.mark.parametrize("function", _ITERATORS, ids=lambda function: function.__name__[1:])
def test_iterators_over_lists_that_change(function):
    for items in ([1, 2, 3, 4], [1, 2, 3], [1, 2], [1]):
        assert repr(outcome(weft.njit(function), [items])) == repr(outcome(function, [items]))


# spec: N2
def test_an_iterator_is_used_once():
    @weft.njit
    def again(items):
        pairs = enumerate(items)
        total = 0
        for _ in range(2):
            for _, x in pairs:
                total += x
        return total

    @weft.njit
    def anew(items):
        total = 0
        for _ in range(2):
            pairs = enumerate(items)
            for _, x in pairs:
                total += x
        return total

    with pytest.raises(weft.errors.UnsupportedError, match="may have been used up"):
        again([1, 2])
    assert anew([1, 2]) == 6


# What is written out is an array of a size that is known; what may have changed since is not.
_WRITTEN_OUT = {
    "numbers": ("", "np.array([n, 2 * n, 3])", "tensor<3xi64"),
    "rows": ("", "np.array([[n, 1.5], [2, n], [0, 0]])", "tensor<3x2xf64"),
    "tuples": ("", "np.array([(n, 1), (2, n)])", "tensor<2x2xi64"),
    "deeper": ("", "np.array([[[n], [2]], [[3], [n]]])", "tensor<2x2x1xi64"),
    "another dtype": ("", "np.array([n, 2], dtype=np.float32)", "tensor<2xf32"),
    "a name": ("items = [n, 4]", "np.array(items)", "tensor<2xi64"),
    "a name that lives on": ("items = [n, 4]\nx = np.array(items)\nitems.append(5)", "x, items", "tensor<2xi64"),
    "appended": ("items = [n, 4]\nitems.append(n)", "np.array(items)", "tensor<3xi64"),
    "appended, perhaps": ("items = [n, 4]\nif n > 3:\n    items.append(n)", "np.array(items)", None),
    "appended later in a loop": (
        "items = [n]\nx = np.zeros(1, int)\nfor i in range(3):\n    x = np.array(items)\n    items.append(i)",
        "x",
        None,
    ),
    "changed": ("items = [n, 4]\nitems[0] = 9", "np.array(items)", None),
    "a row that is changed": ("row = [n, 4]\nrows = [row, [1, 2]]\nrow[0] = 7", "np.array(rows)", None),
    "a row that is changed later": (
        "row = [n, 4]\nrows = [row, [1, 2]]\nx = np.array(rows)\nrow[0] = 7",
        "x, rows",
        "tensor<2x2xi64",
    ),
    "one row twice": ("row = [n, 4]", "np.array([row, row])", None),
    "repeated": ("items = [n] * 3", "np.array(items)", None),
    "truths": ("", "np.array([n > 3, True])", "tensor<2xbool"),
    "complex": ("", "np.array([n, 1j])", "tensor<2xc128"),
    "nothing": ("", "np.array([])", None),
}


# spec: N2, N3
@pytest.mark.parametrize("name", _WRITTEN_OUT)
def test_arrays_of_lists_that_are_written_out(name):
    body, result, known = _WRITTEN_OUT[name]
    f = function(result, "n", body)
    for n in (2, 5, -1):
        ours, theirs = f(n), f.py_func(n)
        for mine, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (ours, theirs)), strict=True):
            assert type(mine) is type(other) and np.array_equal(mine, other)
            assert np.asarray(mine).dtype == np.asarray(other).dtype
    text = f.inspect("fused")
    if known:
        assert known in text
        assert "list" not in text or "lives on" in name or "later" in name
    elif name != "nothing":
        assert "list.get" in text


# spec: N3
def test_rows_of_different_lengths_are_no_array():
    f = function("np.array([[n, 1], [2]])", "n")
    with pytest.raises(ValueError) as ours:
        f(1)
    with pytest.raises(ValueError) as theirs:
        f.py_func(1)
    assert str(ours.value).splitlines()[0] == str(theirs.value)
