"""Listings of the automatic offload proposal. `numba` becomes `weft`; placeholder functions get bodies."""

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
