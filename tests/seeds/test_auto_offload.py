"""Listings of the automatic offload proposal. `numba` becomes `weft`; placeholder functions get bodies."""

import contextlib

import pytest

import numpy as np
import weft
import weft.compat.dppl as dppl
from support import same
from weft import jit


# spec: A1, A2
def test_listing_2_1(places):
    gpu, cpu = places.gpu, places.cpu

    @jit
    def foo(x):
        return 2.0 * np.sin(x) + x

    x = np.linspace(0.0, 1.0, 100)
    expected = foo.py_func(x)

    # Invoking foo outside a PyDPPL context results in the default Numba behavior
    same(foo(x), expected)

    with dppl.device_context(gpu):
        # Triggers GPU code generation
        same(foo(x), expected)

    with dppl.device_context(cpu):
        # Triggers code generation for a SYCL CPU device
        same(foo(x), expected)

    # Section 2.1: all three are different versions of foo.
    made = [s.device for s in foo.specializations]
    assert made == (["native:cpu:0", gpu, cpu] if gpu != cpu else ["native:cpu:0", cpu])


# spec: A1, A3
def test_listing_2_2(places):
    """Corrected: the wrapper is returned by `gpujit`, passes keywords as keywords, and returns its result."""
    import weft as nb

    gpu = places.gpu
    used = []

    def gpujit(func):
        jitted = nb.jit()(func)
        used.append(jitted)

        def wrp_gpujit(*args, **kwargs):
            if dppl.get_context():
                return jitted(*args, **kwargs)
            else:
                with dppl.device_context(gpu):
                    return jitted(*args, **kwargs)

        return wrp_gpujit

    @gpujit
    def foo(a):
        return a * 2.0

    a = np.arange(10.0)
    same(foo(a), a * 2.0)
    same(foo(a=a), a * 2.0)
    assert {s.device for s in used[0].specializations} == {gpu}
    with dppl.device_context(places.cpu):
        same(foo(a), a * 2.0)
    assert {s.device for s in used[0].specializations} == {gpu, places.cpu}


# spec: A5
def test_listing_2_3(places):
    @jit(parallel=False)
    def foo():
        pass

    foo()

    with dppl.device_context(places.gpu):
        with pytest.raises(weft.OffloadConflictError, match="parallel=False"):
            foo()


def some_serial_preprocessing(x):
    for i in range(1, len(x)):
        x[i] = x[i] * 0.5 + x[i - 1]


def another_serial_processing(y):
    for i in range(1, len(y)):
        if y[i] < y[i - 1]:
            y[i] = y[i - 1]


def outside_and_inside(foo, gpu):
    """Calls it outside a context and in one, and compares result and arguments with plain Python."""
    for context in (contextlib.nullcontext(), dppl.device_context(gpu)):
        plain, given = [(np.linspace(0, 1, 100), np.linspace(2, 1, 100)) for _ in range(2)]
        expected = foo.py_func(*plain)
        with context:
            got = foo(*given)
        assert type(got) is type(expected) and np.isclose(got, expected, rtol=1e-12)
        same(given, plain)


# spec: A1, A8
def test_listing_3_1(places):
    """The serial functions get bodies, which write to what they are given."""

    @jit
    def foo(x, y):
        a = 0.5
        some_serial_preprocessing(x)
        # Data parallel region 1
        y = a * x + y
        # End of data parallel region 1
        another_serial_processing(y)
        # Data parallel region 2
        r = np.sum(y)
        # End of data parallel region 2
        return r

    outside_and_inside(foo, places.gpu)


# spec: A1, A8
def test_listing_3_2(places, capsys):
    @jit
    def foo(x, y):
        a = 0.5
        some_serial_preprocessing(x)
        # Data parallel region 1
        y = a * x + y
        # End of data parallel region 1
        print("I do not need anything from the device")
        # Data parallel region 2
        r = np.sum(y)
        # End of data parallel region 2
        return r

    outside_and_inside(foo, places.gpu)
    assert capsys.readouterr().out == "I do not need anything from the device\n" * 4
