"""`@weft.njit` on scalars and arrays, on the host: the same answer as the plain function."""

import pytest

import numpy as np
import weft
from support import same, same_as_plain

RNG = np.random.default_rng(7)
DTYPES = [np.bool_, np.int32, np.int64, np.float32, np.float64]


@weft.njit
def wave(x, y):
    return np.sin(x) * np.exp(y) + x


@weft.njit
def line(a, x, y):
    return a * x + y


# spec: N1
def test_an_expression_over_arrays():
    x, y = RNG.normal(size=(2, 1000))
    same_as_plain(wave, x, y)


# spec: N3
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_promote_as_numpy_promotes(dtype):
    x = (RNG.normal(size=17) * 5).astype(dtype)
    for other in DTYPES:
        y = (RNG.normal(size=17) * 5).astype(other)
        same_as_plain(line, x, y, x)
        same_as_plain(line, 3, y, x)
        same_as_plain(line, 2.5, y, x)
        same_as_plain(line, other(1), x, y)


# spec: N3
@pytest.mark.parametrize(
    "arguments", [(1, 2, 3), (1.5, 2, 3), (True, 2, 3), (np.float32(1.5), 2, 3), (np.int32(7), 2.0, 1)]
)
def test_scalars_keep_their_family(arguments):
    """Python scalars come back as Python scalars, NumPy scalars as NumPy scalars."""
    same_as_plain(line, *arguments)


# spec: N6
def test_any_layout_and_stride():
    grid = RNG.normal(size=(6, 8))
    for x in (grid, grid.T, grid[::2, 1::3], grid[::-1, ::-1], np.asfortranarray(grid), grid[:, :1], grid[:1]):
        same_as_plain(wave, x, x)
        same_as_plain(line, 2.0, x, x)


# spec: N3
def test_broadcasting():
    row, column = RNG.normal(size=(1, 5)), RNG.normal(size=(4, 1))
    same_as_plain(line, 2.0, row, column)
    same_as_plain(line, row, column, RNG.normal(size=(3, 4, 5)))
    same_as_plain(wave, np.float64(1.0), column)


# spec: N3
def test_empty_and_zero_dimensional_arrays():
    same_as_plain(wave, np.zeros(0), np.zeros(0))
    same_as_plain(wave, np.zeros((3, 0)), np.zeros((1, 1)))
    same_as_plain(wave, np.array(1.0), np.array(2.0))


# spec: N10
def test_results_are_ordinary_arrays():
    x = np.linspace(0, 1, 100)
    z = wave(x, x)
    assert z.base is None and z.flags.owndata and z.flags.writeable and z.flags.c_contiguous


# spec: N10
def test_an_argument_returned_is_the_same_object():
    @weft.njit
    def pass_through(x, y):
        return x, x + y

    x = np.arange(4.0)
    first, second = pass_through(x, 1.0)
    assert first is x
    same(second, x + 1.0)


# spec: N2
def test_results_may_be_tuples_and_none():
    @weft.njit
    def both(x):
        return x + 1, x * 2.0, 3

    @weft.njit
    def nothing(x):
        y = x + 1  # noqa: F841

    same_as_plain(both, 5)
    same_as_plain(both, np.arange(3))
    same_as_plain(nothing, 5)


# spec: N10
def test_the_same_fresh_array_returned_twice_is_one_object():
    @weft.njit
    def twice(x):
        y = x + 1.0
        return y, y

    a, b = twice(np.arange(3.0))
    assert a is b
    same(a, np.arange(3.0) + 1.0)


# spec: N2
def test_keywords_and_defaults_bind_as_in_python():
    @weft.njit
    def f(x, y=2.0, *, z=3):
        return x * y + z

    same(f(1.0), f.py_func(1.0))
    same(f(1.0, z=5), f.py_func(1.0, z=5))
    same(f(y=4.0, x=1.0), f.py_func(y=4.0, x=1.0))
    for bad in (lambda g: g(), lambda g: g(1, 2, 3), lambda g: g(1.0, w=1)):
        with pytest.raises(TypeError) as ours:
            bad(f)
        with pytest.raises(TypeError) as plain:
            bad(f.py_func)
        assert str(ours.value).replace(f.__qualname__, "f") == str(plain.value).replace(f.__qualname__, "f")


# spec: N2
def test_globals_and_closure_variables_are_read_at_each_call():
    scale = 3

    @weft.njit
    def f(x):
        return x * scale

    assert f(2) == 6
    scale = 5
    assert f(2) == 10
    scale = 3
    assert f(2) == 6
    assert len(f.specializations) == 2


GLOBAL = 1.5


# spec: N2
def test_a_rebound_global_selects_another_specialisation(monkeypatch):
    @weft.njit
    def f(x):
        return x + GLOBAL

    same(f(1.0), 2.5)
    monkeypatch.setitem(globals(), "GLOBAL", np.float32(2.0))
    same(f(1.0), f.py_func(1.0))


# spec: A2
def test_specialisations_are_listed():
    @weft.njit
    def f(x):
        return x + 1

    assert f.specializations == [] and f.signatures == []
    f(1), f(1), f(1.0), f(np.zeros(3)), f(np.zeros(5)), f(np.zeros(1))
    # Arrays with an axis of size one have code of their own, and the same signature.
    assert f.signatures == ["(int)", "(float)", "(float64[:])"] and len(f.specializations) == 4
    one = f.specializations[0]
    assert (one.signature, one.device, one.origin) == ("(int)", "native:cpu:0", "compiled")
    assert one.seconds > 0


# spec: N1
def test_it_looks_like_the_function_it_wraps():
    import inspect

    def f(x, y=1):
        """Doc."""
        return x + y

    g = weft.njit(f)
    assert (g.__name__, g.__doc__, g.__module__, g.__wrapped__, g.py_func) == ("f", "Doc.", __name__, f, f)
    assert inspect.signature(g) == inspect.signature(f)
    assert weft.jit is weft.njit


# spec: N5
def test_every_stage_can_be_inspected():
    @weft.njit
    def f(x):
        return np.sin(x) + 1.0

    with pytest.raises(ValueError, match="not been compiled"):
        f.inspect("py")
    f(np.ones(3))
    for stage in ("py", "ntensor", "placed", "fused", "loops"):
        assert f.inspect(stage).startswith(f"weft 1 stage {stage}"), stage
    assert "define" in f.inspect("llvm") and ".text" in f.inspect("asm")
    # What it would be on a device.
    assert ".visible .entry" in f.inspect("ptx") and "OpEntryPoint" in f.inspect("spirv")
    with pytest.raises(ValueError, match="did you mean 'loops'"):
        f.inspect("loop")
    f(1.0)
    assert "tensor<" in f.inspect("ntensor", 0) and "tensor<" not in f.inspect("ntensor")
    with pytest.raises(ValueError, match="no kernels"):
        f.inspect("ptx")
    with pytest.raises(IndexError):
        f.inspect("py", 5)


# spec: N7
def test_an_expression_is_one_loop():
    x = np.ones(1000)
    wave(x, x)
    with weft.trace() as trace:
        wave(x, x)
    assert len(trace.launches) == 1 and not trace.compiles and not trace.copies
    assert trace.launches[0].device == "native:cpu:0" and trace.launches[0].seconds >= 0


# spec: N1
def test_jitted_functions_run_in_threads():
    from concurrent.futures import ThreadPoolExecutor

    @weft.njit
    def f(x, y):
        return np.cos(x) * y

    x = np.linspace(0, 1, 200_000)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda k: f(x, float(k)), range(16)))
    for k, result in enumerate(results):
        same(result, np.cos(x) * float(k))


@weft.njit
def module_level(x):
    return x + 1


@weft.kernel
def module_level_kernel(x):
    i = weft.get_global_id(0)
    x[i] = 1.0


# spec: N1
def test_jitted_functions_are_pickled_by_name_as_functions_are():
    import copy
    import pickle

    for f in (module_level, module_level_kernel):
        assert pickle.loads(pickle.dumps(f)) is f
        assert copy.deepcopy(f) is f


# spec: N10
def test_functions_that_nobody_holds_are_collected():
    import gc
    import weakref

    def make():
        offset = 2

        @weft.njit
        def f(x):
            return x + offset

        keep = f

        def holder():
            return keep

        f.holder = holder
        assert f(1) == 3
        return weakref.ref(f)

    dead = make()
    gc.collect()
    assert dead() is None
