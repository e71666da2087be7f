"""What compiled functions return: objects, bases, and who owns the memory."""

import sys

import numpy as np
import weft
from support import same


# spec: N10
def test_an_argument_that_is_returned_is_the_same_object():
    @weft.njit
    def f(a, b):
        return a, b, a

    a, b = np.arange(3.0), np.arange(4)
    got = f(a, b)
    assert got[0] is a and got[1] is b and got[2] is a


# spec: N10
def test_a_view_of_an_argument_has_it_as_its_base():
    @weft.njit
    def f(a):
        return a[1:]

    a = np.arange(5.0)
    got = f(a)
    same(got, a[1:])
    assert got is not a and got.base is a and np.shares_memory(got, a)
    got[0] = 9
    assert a[1] == 9
    # As NumPy's, the base of a view of a view is what owns the memory.
    assert f(a[1:]).base is a


# spec: N10
def test_a_whole_view_is_a_new_object():
    @weft.njit
    def f(a):
        return a[:]

    a = np.arange(5.0)
    got = f(a)
    assert got is not a and got.base is a


# spec: N10
def test_a_view_of_a_read_only_array_is_read_only():
    @weft.njit
    def f(a):
        return a[::2]

    a = np.arange(6)
    a.flags.writeable = False
    got = f(a)
    same(got, a[::2])
    assert not got.flags.writeable
    b = np.arange(6)
    assert f(b).flags.writeable and f(b).strides == b[::2].strides


# spec: N10
def test_a_fresh_array_owns_its_memory():
    @weft.njit
    def f(a):
        b = a + 1
        return b, b, b[1:], b[::-1]

    a = np.arange(5.0)
    whole, again, part, reverse = f(a)
    assert whole is again and whole.base is None and whole.flags.owndata
    assert part.base is whole and reverse.base is whole
    same(part, (a + 1)[1:])
    same(reverse, (a + 1)[::-1])
    whole[4] = 50
    assert part[3] == 50 and reverse[0] == 50


# spec: N10
def test_parts_of_memory_nobody_else_has_share_one_base():
    @weft.njit
    def f(a):
        b = a * 2
        return b[1:], b[:2]

    a = np.arange(5)
    one, two = f(a)
    same(one, (a * 2)[1:])
    same(two, (a * 2)[:2])
    assert one.base is two.base and one.base.flags.owndata and np.shares_memory(one, two)
    base = one.base
    del one, two
    assert base.sum() == 20  # the memory lives as long as anything that shows it


# spec: N2
def test_tuples_inside_tuples_with_none_and_strings():
    @weft.njit
    def f(x):
        return (x, (x + 1, None)), (), ("text", True), x * 0.5

    same(f(3), ((3, (4, None)), (), ("text", True), 1.5))


# spec: N2
def test_a_result_may_be_none_on_one_path():
    @weft.njit
    def f(x):
        if x > 0:
            return None
        return x

    assert f(1) is None
    same(f(-1), -1)

    @weft.njit
    def g(x, a):
        if x > 0:
            return x, None
        return x, a + 1

    assert g(1, np.arange(3)) == (1, None)
    got = g(-1, np.arange(3))
    same(got[1], np.arange(3) + 1)


# spec: N10
def test_results_do_not_leak():
    @weft.njit
    def f(a):
        b = a + 1
        return b, b, b[1:], a[2:]

    def in_use():
        return weft.memory.stats()["native:cpu:0"]["host"].live

    a = np.zeros(1000)
    f(a)
    before = sys.getrefcount(a), in_use()
    for _ in range(1000):
        f(a)
    assert (sys.getrefcount(a), in_use()) == before
    kept = f(a)
    assert in_use() > before[1]
    del kept
    assert in_use() == before[1]
