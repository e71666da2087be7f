"""Arguments that are arrays without being `numpy.ndarray` itself: subclasses, and objects that offer an array."""

import array
import ctypes
import gc
import weakref

import pytest

import numpy as np
import weft

# np.matrix says that it is not for new programs.
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")


@weft.njit
def one_more(x):
    return x + 1


@weft.njit
def itself(x):
    return x


@weft.njit
def tail(x):
    return x[1:]


@weft.njit
def put(x):
    x[0] = 42
    return x.sum()


class Trivial(np.ndarray):
    """A subclass that adds, and changes nothing."""

    unit = "m"

    def __new__(cls, data):
        return np.asarray(data).view(cls)

    def __repr__(self):
        return "Trivial"

    def describe(self):
        return f"{self} {self.unit}"


class Finalised(np.ndarray):
    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", None)


class Doubling(np.ndarray):
    def __getitem__(self, index):
        return 2 * super().__getitem__(index)


class Ufuncs(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        raise AssertionError("not reached")


@pytest.fixture
def mapped(tmp_path):
    return np.memmap(tmp_path / "data", dtype=np.float64, mode="w+", shape=(4,))


# spec: N10
def test_a_memmap_is_read_and_written_where_it_is(mapped, tmp_path):
    result = one_more(mapped)
    assert type(result) is type(one_more.py_func(mapped)) is np.ndarray
    assert result.tolist() == [1, 1, 1, 1]
    assert put(mapped) == 42 and mapped[0] == 42
    mapped.flush()
    assert np.fromfile(tmp_path / "data")[0] == 42
    assert itself(mapped) is mapped
    readonly = np.memmap(tmp_path / "data", dtype=np.float64, mode="r")
    assert one_more(readonly)[0] == 43
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        put(readonly)


# spec: A8
def test_a_memmap_goes_to_a_device_and_back(mapped):
    with weft.device_context("opencl"):
        assert put(mapped) == 42
        assert one_more(mapped).tolist() == [43, 1, 1, 1]
    assert mapped[0] == 42


# spec: N10
@pytest.mark.parametrize("kind", [Trivial, np.recarray])
def test_subclasses_without_rules_of_their_own(kind):
    x = np.arange(3.0).view(kind)
    assert one_more(x).tolist() == [1, 2, 3]
    assert put(x) == 45 and x[0] == 42
    assert itself(x) is x


# spec: N2
def test_in_tuples_lists_and_globals(mapped):
    global TABLE

    assert weft.njit(lambda p: p[0] + p[1][0])((mapped, (Column(np.ones(4)),))).tolist() == [1, 1, 1, 1]

    @weft.njit
    def sums(arrays):
        total = 0.0
        for a in arrays:
            total += a.sum()
        return total

    assert sums([mapped + 1, mapped, Trivial(np.ones(2))]) == 6

    @weft.njit
    def read():
        return TABLE[1] + TABLE.sum()

    for TABLE in (mapped + 1, mapped, Trivial(np.full(4, 2.0)), np.arange(4)):
        assert read() == read.py_func()
    TABLE = np.matrix([[1.0]])
    with pytest.raises(weft.UnsupportedError, match="`TABLE` is an object of type `matrix`"):
        read()


TABLE = None


# spec: G2
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda x: np.ma.masked_array(x, x > 1),
            r"is a numpy.ma.MaskedArray, whose mask compiled code does not know: pass x.filled\(value\), or the",
        ),
        (np.matrix, r"is a numpy.matrix, whose `\*` is a product of matrices: pass np.asarray\(x\), and write `@`"),
        (
            lambda x: x.view(Finalised),
            r"Finalised, a subclass of ndarray with rules of its own \(`__array_finalize__`\)",
        ),
        (
            lambda x: x.view(Doubling),
            r"own \(`__getitem__`\), which compiled code would not follow: pass x.view\(np.nd",
        ),
        (lambda x: x.view(Ufuncs), r"own \(`__array_ufunc__`\)"),
    ],
)
def test_subclasses_with_rules_of_their_own_are_refused(make, text):
    x = make(np.arange(3.0))
    for _ in range(2):
        with pytest.raises(weft.UnsupportedError, match=text):
            one_more(x)


# spec: G2
def test_a_tensor_of_a_masked_array_would_lose_the_mask():
    with pytest.raises(TypeError, match=r"x.filled\(value\)"):
        weft.tensor.asarray(np.ma.masked_array([1.0, 2.0], [True, False]))


class Column:
    """As pandas' Series since 3.0: an array without a copy is a read-only view."""

    def __init__(self, data):
        self.data, self.dtype = data, data.dtype

    def __array__(self, dtype=None, copy=None):
        view = np.array(self.data, dtype=dtype, copy=copy)
        if copy is not True:
            view = view.view()
            view.flags.writeable = False
        return view


class Writable(Column):
    """As pandas' Series before."""

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype, copy=copy)


class Chunked:
    """As polars' Series in pieces: one array is always a copy."""

    def __init__(self, *parts):
        self.parts, self.dtype = parts, parts[0].dtype

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise RuntimeError("copy not allowed: cannot convert to a NumPy array without copying data")
        return np.concatenate(self.parts)


class Old(Column):
    """`__array__` as it was before NumPy 2: nobody knows whether it is a copy."""

    def __array__(self, dtype=None):
        return self.data


class Interface:
    def __init__(self, data):
        self.data = data

    @property
    def __array_interface__(self):
        return self.data.__array_interface__


class Capsule:
    def __init__(self, data):
        self.data = data

    def __dlpack__(self, **options):
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()


class Quantity(Column):
    """As units are: an array with rules of its own in NumPy's functions."""

    def __array_function__(self, function, types, args, kwargs):
        raise AssertionError("not reached")


class OnDevice(Capsule):
    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        raise BufferError("it lives on a GPU")


class Failing:
    dtype = np.dtype(float)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no numbers here\n(details)")


def columns(data):
    return [
        Writable(data),
        Interface(data),
        Capsule(data),
        memoryview(data),
        array.array("d", data),
        (ctypes.c_double * len(data))(*data),
    ]


# spec: N10
@pytest.mark.parametrize("k", range(6))
def test_what_offers_its_memory_is_written_there(k):
    data = np.arange(3.0)
    column = columns(data)[k]
    assert one_more(column).tolist() == [1, 2, 3]
    assert put(column) == 45
    assert one_more(column).tolist() == [43, 2, 3]
    if k < 4:
        assert data[0] == 42
    with weft.device_context("opencl"):
        assert one_more(column).tolist() == [43, 2, 3]


# spec: N10
@pytest.mark.parametrize("make", [Column, Old, lambda x: Chunked(x[:1], x[1:])])
def test_what_may_be_a_copy_is_read_and_never_written(make):
    data = np.arange(3.0)
    column = make(data)
    assert one_more(column).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        put(column)
    assert data.tolist() == [0, 1, 2] and data.flags.writeable


# spec: N10
def test_results_keep_the_memory_of_an_argument():
    column = Writable(np.arange(1000.0))
    kept = weakref.ref(column.data)
    part = tail(column)
    del column
    gc.collect()
    assert kept() is not None and part.sum() == 499500
    del part
    gc.collect()
    assert kept() is None


# spec: G2
def test_what_is_no_array_of_the_host_is_refused():
    with pytest.raises(
        weft.UnsupportedError, match=r"OnDevice, which gives no array in the host's memory \(it lives on a GPU\)"
    ):
        one_more(OnDevice(np.ones(3)))
    with pytest.raises(
        weft.UnsupportedError, match=r"no array in the host's memory \(no numbers here\): pass a NumPy array"
    ):
        one_more(Failing())
    with pytest.raises(weft.UnsupportedError, match="is an array of object_"):
        one_more(Column(np.array(["a", 1], dtype=object)))
    for other in (np.poly1d([1.0, 2.0]), Quantity(np.ones(2))):
        with pytest.raises(weft.TypingError, match=r"pass np.asarray\(x\), where its own rules may be left out"):
            one_more(other)
    for other in (b"ab", bytearray(b"ab")):
        with pytest.raises(weft.TypingError, match=r"pass np.frombuffer\(x, np.uint8\)"):
            one_more(other)
    for other in ({}, object(), range(3)):
        with pytest.raises(weft.TypingError, match="compiled functions take"):
            one_more(other)
