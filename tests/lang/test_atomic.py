"""`weft.atomic`: in compiled loops, in parallel ones, and in plain Python."""

import pytest

import numpy as np
import weft
from weft import atomic, prange

THREADS = (1, 2, 7)
NAMES = ["add", "sub", "min", "max", "and_", "or_", "xor", "exchange"]
DTYPES = list("bBhHiIlLfd")


pytestmark = pytest.mark.usefixtures("threads_kept")


def updates(name):
    update = getattr(atomic, name)

    def f(a, k, v, old):
        for i in range(len(k)):
            old[i] = update(a, k[i], v[i])

    return f


# spec: K3
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_as_in_python(name, dtype):
    if dtype in "fd" and name in ("and_", "or_", "xor"):
        return
    some = np.random.default_rng(7)
    k, v = some.integers(-5, 5, 300), some.integers(0, 100, 300).astype(dtype)
    wanted, got = np.arange(5).astype(dtype), np.arange(5).astype(dtype)
    old_wanted, old_got = np.zeros(300, dtype), np.zeros(300, dtype)
    f = updates(name)
    f(wanted, k, v, old_wanted)
    weft.njit(f)(got, k, v, old_got)
    assert got.tobytes() == wanted.tobytes()
    assert old_got.tobytes() == old_wanted.tobytes()


# spec: K3
@pytest.mark.parametrize("dtype", DTYPES)
def test_compare_and_swap(dtype):
    def f(a):
        first = atomic.cas(a, 1, 5, 7)
        second = atomic.compare_exchange(a, 1, 5, 9)
        third = weft.atomic.cas(a, (2,), 3, 4)
        return first, second, third

    wanted, got = np.full(4, 5).astype(dtype), np.full(4, 5).astype(dtype)
    assert f(wanted) == weft.njit(f)(got) == (5, 7, 5)
    assert got.tolist() == wanted.tolist() == [5, 7, 5, 5]


# spec: K3
def test_bits_of_floats_are_compared():
    def f(a):
        return atomic.cas(a, 0, 0.0, 1.0), atomic.cas(a, 1, np.nan, 2.0)

    wanted, got = np.array([-0.0, np.nan]), np.array([-0.0, np.nan])
    f(wanted)
    weft.njit(f)(got)
    assert got.tobytes() == wanted.tobytes()
    assert np.signbit(got[0]) and got[1] == 2.0


# spec: K3, N14
@pytest.mark.parametrize("dtype", ["i4", "u8", "f4", "f8"])
def test_in_a_prange(dtype):
    @weft.njit
    def count(h, last, k):
        for i in prange(len(k)):
            atomic.add(h, k[i], 1)
            atomic.max(last, (k[i], 0), i)

    k = np.random.default_rng(1).integers(0, 10, 50_000)
    for threads in THREADS:
        weft.set_num_threads(threads)
        h, last = np.zeros(10, dtype), np.zeros((10, 2), dtype)
        count(h, last, k)
        assert (h == np.bincount(k)).all()
        assert (last[:, 0] == [np.flatnonzero(k == b)[-1] for b in range(10)]).all()
        assert (last[:, 1] == 0).all()


# spec: K3
def test_places_in_any_order():
    @weft.njit
    def chosen(x, out):
        used = np.zeros(1, dtype=np.int64)
        for i in prange(len(x)):
            if x[i] > 0:
                out[atomic.add(used, 0, 1)] = x[i]
        return used[0]

    x = np.random.default_rng(2).normal(size=20_000)
    for threads in THREADS:
        weft.set_num_threads(threads)
        out = np.zeros(len(x))
        n = chosen(x, out)
        assert n == (x > 0).sum()
        assert (np.sort(out[:n]) == np.sort(x[x > 0])).all() and (out[n:] == 0).all()


# spec: K3
def test_strided_and_views():
    @weft.njit
    def f(a, k):
        v = a[1:]
        for i in prange(len(k)):
            atomic.add(v, k[i], 2)

    for threads in THREADS:
        weft.set_num_threads(threads)
        memory = np.zeros(40, dtype=np.int64)
        f(memory[::4], np.full(1000, -1))
        assert memory[36] == 2000 and memory.sum() == 2000


# spec: K3, G2
def test_what_is_refused():
    def one(a, v):
        return atomic.add(a, 0, v)

    def meets(a, v):
        for i in prange(len(v)):
            atomic.add(a, v[i], 1)
            a[0] = 1

    def reads(a, v):
        for i in prange(len(v)):
            atomic.add(a, v[i], a[i])

    def bits(a, v):
        return atomic.xor(a, 0, v)

    for dtype in ("?", "e", "F", "D"):
        for f in (one, weft.njit(one)):
            with pytest.raises(TypeError, match="atomic"):
                f(np.zeros(3, dtype), np.zeros(3, dtype)[0])
    for f in (bits, weft.njit(bits)):
        with pytest.raises(TypeError, match="atomic"):
            f(np.zeros(3), 1.0)
    for f in (one, weft.njit(one)):
        with pytest.raises(TypeError, match="does not go into"):
            f(np.zeros(3, int), 1.5)
        with pytest.raises(TypeError, match="index for each axis"):
            f(np.zeros((3, 3)), 1.5)
        with pytest.raises(IndexError):
            f(np.zeros(0), 1.5)
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    for f in (one, weft.njit(one)):
        with pytest.raises(ValueError, match="read-only"):
            f(frozen, 1.0)
    for racy in (meets, reads):
        with pytest.raises(weft.TypingError, match="same elements of `a`"):
            weft.njit(racy)(np.zeros(3, int), np.zeros(3, int))
