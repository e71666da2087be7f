"""Memory runs out: every allocation that depends on the user's sizes fails in turn, by `_core._allocation_faults`.

Each failure is a MemoryError with the sizes. Arguments that are not written stay as they were, nothing is kept, and the
next call succeeds.
"""

import gc
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import numpy as np
import weft
from weft import tensor

# From some allocation on all fail, or one: it is tried again where something can be given up for it.
COUNTS = [1, 1 << 40]


@pytest.fixture(autouse=True)
def nothing_fails_afterwards() -> Iterator[None]:
    yield
    weft._core._allocation_faults(0, 0)


def live() -> dict[Any, int]:
    """Bytes in use, by pool."""
    gc.collect()
    all_of = weft.memory.stats()
    return {(place, kind): pool.live for place in all_of for kind, pool in all_of[place].items() if pool.live}


def on_host(result: Any) -> Any:
    """A copy of a result, so that nothing of it counts as kept."""
    if isinstance(result, (tuple, list)):
        return [on_host(part) for part in result]
    return np.array(tensor.asnumpy(result) if isinstance(result, weft.Tensor) else result)


def same(a: Any, b: Any) -> bool:
    return all(map(same, a, b)) if isinstance(a, list) else np.array_equal(a, b)


def copies(arguments: Any) -> Any:
    return [on_host(argument) for argument in arguments]


def check(call: Callable[..., Any], *arguments: Any, count: int, least: int = 1) -> None:
    """Lets each allocation of `call(*arguments)` fail in turn. At least so many must be there."""
    expected, given = on_host(call(*arguments)), copies(arguments)
    before, failures = live(), 0
    for nth in range(1, 1000):
        weft._core._allocation_faults(nth, count)
        try:
            result, error = call(*arguments), None
            if isinstance(result, weft.Tensor):
                result = tensor.asnumpy(result)
        except MemoryError as raised:
            result, error = None, str(raised)
        failed = weft._core._allocation_faults(0, 0)
        if error is None:
            assert same(on_host(result), expected)
        else:
            assert failed and re.search(r"out of memory.* [0-9]+ bytes", error), error
            failures += 1
        result = None
        assert same(copies(arguments), given)
        assert live() == before
        assert same(on_host(call(*arguments)), expected)
        if not failed:
            break
    assert failures >= least, failures


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).standard_normal(shape)


@weft.njit
def elementwise(a):
    b = np.where(a > 0.0, a, -a)
    c = b[::-1] * 2.0
    b[1:] = b[:-1] + c[1:]
    return b, c


@weft.njit
def scans(a):
    b = np.cumsum(a)
    return np.cumsum(b[::2]) + a[::2], np.cumprod(a / 2.0)


@weft.njit
def reductions(a):
    return a.sum(), a[:, ::3].max(), a.T.sum(axis=0), a.mean(axis=1), a.argmax(axis=0)


@weft.njit
def masked(a):
    b = a[a > 0.0]
    c = a.copy()
    c[c < 0.0] = 0.0
    return b, c, np.nonzero(a > 1.0)[0]


@weft.njit
def product(a, b):
    return a @ b


@weft.njit
def softmax(a):
    b = np.exp(a - a.max(axis=1)[:, None])
    return b / b.sum(axis=1)[:, None]


@weft.njit
def solved(a, b):
    return np.linalg.solve(a, b)


@weft.njit
def inverted(a):
    return np.linalg.inv(a), np.linalg.det(a)


@weft.njit
def factored(a):
    return np.linalg.cholesky(a)


@weft.njit
def listed(n):
    found = []
    for i in range(n):
        found.append(i * 2.0)
    arrays = [np.ones(3), np.zeros(n)]
    arrays.append(np.full(n, 2.0))
    return found, arrays


@weft.njit
def many_arrays(n):
    return [np.full(3, float(i)) for i in range(n)], [[i] for i in range(n)]


@weft.njit
def in_parallel(a):
    sums = np.zeros(8)
    for i in weft.prange(8):
        b = a[i:] * 2.0
        sums[i] = (b @ b.T).sum()
    return sums


@weft.njit
def of_lists(values, rows):
    total = 0.0
    for v in values:
        total += v
    for row in rows:
        for v in row:
            total += v
    return total


# spec: D8
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(
    ("call", "shape", "least"),
    [
        (elementwise, (50_000,), 2),
        (scans, (50_000,), 3),
        (reductions, (300, 200), 4),
        (masked, (5_000,), 3),
        (softmax, (300, 200), 1),
    ],
)
def test_arrays(call, shape, least, count):
    check(call, numbers(*shape), count=count, least=least)


def whole(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape)).reshape(shape) % 7


# spec: D8
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(
    ("a", "b", "least"),
    [
        # In blocks, whose columns and rows are packed.
        (numbers(260, 300), numbers(300, 240), 3),
        (numbers(240, 300), numbers(240, 300).T, 3),
        # Few rows, with columns in one piece.
        (numbers(4, 600), numbers(500, 600).T, 2),
        (whole(70, 80), whole(80, 90), 2),
        (numbers(60, 70) + 1j, numbers(70, 80) + 2j, 2),
        # With vectors: elements apart, columns in slices.
        (numbers(300, 400), numbers(400, 2)[:, 0], 2),
        (numbers(4000, 60).T, numbers(4000), 2),
    ],
)
def test_products(a, b, least, count):
    check(product, a, b, count=count, least=least)


# spec: D8
@pytest.mark.parametrize("count", COUNTS)
def test_both_sides_of_a_matrix(count):
    @weft.njit
    def sides(a, x, y):
        return a @ x, y @ a

    check(sides, numbers(1100, 1000), numbers(1000), numbers(1100), count=count, least=3)


# spec: D8
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("columns", [1, 40])
def test_systems(columns, count):
    a = numbers(200, 200) + 20.0 * np.eye(200)
    check(solved, a, numbers(200, columns), count=count, least=3)
    check(inverted, a, count=count, least=3)
    check(factored, a @ a.T, count=count, least=3)
    check(solved, a + 1j, numbers(200, columns) + 1j, count=count, least=3)


# spec: D8
@pytest.mark.parametrize("count", COUNTS)
def test_lists(count):
    check(listed, 2000, count=count, least=5)
    check(of_lists, [1.0] * 1000, [[2.0] * 50, [3.0] * 60, []], count=count, least=4)
    check(of_lists, [1.0], [[2.0] * 20] + [[float(k)] for k in range(12)], count=count, least=5)
    check(many_arrays, 10, count=count, least=5)


# spec: D8
@pytest.mark.parametrize("count", COUNTS)
def test_blocks_of_a_parallel_loop(count):
    check(in_parallel, numbers(200, 150), count=count, least=2)


# spec: D8
@pytest.mark.parametrize("count", COUNTS)
def test_first_calls(device, count):
    host = numbers(500)
    expected, before = np.cumsum(host * 2.0), live()
    failures = 0
    for nth in range(1, 100):

        @weft.njit
        def f(a):
            return np.cumsum(a * 2.0)

        weft._core._allocation_faults(nth, count)
        try:
            with weft.device_context(device):
                f(host)
        except MemoryError:
            failures += 1
        failed = weft._core._allocation_faults(0, 0)
        assert live() == before and np.allclose(f(host), expected)
        if not failed:
            break
    assert failures > 0


# spec: D8
@pytest.mark.parametrize("count", COUNTS)
def test_a_handler_in_compiled_code_sees_that_a_routine_had_no_memory(count):
    @weft.njit
    def handled(a):
        try:
            return (a @ a).sum()
        except MemoryError:
            return -1.0

    a = numbers(200, 200)
    expected = handled(a)
    found = []
    for nth in range(1, 20):
        weft._core._allocation_faults(nth, count)
        found.append(handled(a))
        if not weft._core._allocation_faults(0, 0):
            break
    assert found[-1] == expected and found.count(-1.0) >= 2 and set(found) <= {expected, -1.0}


# spec: D8
@pytest.mark.parametrize("count", COUNTS)
def test_tensors(device, count):
    host = numbers(300, 20)

    def computed(x: Any) -> Any:
        y = tensor.asarray(x, device=device)
        z = tensor.sin(y) * 2.0 + y
        y += z
        return tensor.where(y > 0.0, y, z)

    check(computed, host, count=count, least=2)
    check(lambda x: tensor.asarray(x, device=device), host.T[::2], count=count)
    x = tensor.asarray(host, device=device)
    check(tensor.asnumpy, x, count=count)


# spec: D8
@pytest.mark.parametrize("count", COUNTS)
def test_a_device_context(in_context, count):
    check(elementwise, numbers(30_000), count=count, least=2)
    check(softmax, numbers(100, 200), count=count)


# spec: D8
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("debug", [False, True])
def test_kernels(in_context, debug, count):
    @weft.kernel(debug=debug)
    def doubled(a, b):
        i = weft.get_global_id(0)
        b[i] = a[i] * 2.0

    out = np.zeros(200)

    def launched(a: Any) -> Any:
        doubled[200](a, out)
        return out.copy()

    native = in_context.startswith("native") and not debug
    check(launched, numbers(200), count=count, least=0 if native else 1)


# spec: D8
def test_memory_of_weft_memory(queue):
    for count in COUNTS:
        check(lambda: weft.memory.DeviceMemory(1 << 20, queue=queue).nbytes, count=count, least=count > 1)


# spec: D8
def test_a_limit_of_the_system_is_a_memory_error():
    code = """
        import resource
        import numpy as np
        import weft
        from weft import tensor

        @weft.njit
        def product(a, b):
            return a @ b

        @weft.njit
        def doubled(a):
            return a * 2.0 + 1.0

        a = np.ones((3000, 3000))
        one = np.ones((100, 100))
        tensor.asnumpy(tensor.asarray(one)), product(one, one), product(one + 1j, one + 1j), doubled(one)
        large = np.ones((3000, 3000), complex)
        weft.memory.trim()
        with open("/proc/self/statm") as f:
            pages = int(f.read().split()[0])
        limit = pages * resource.getpagesize() + (60 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        calls = [
            lambda: tensor.asarray(a, device="native"),
            lambda: product(a, a),
            lambda: product(large, large),
            lambda: doubled(a),
        ]
        for call in calls:
            try:
                call()
            except MemoryError as error:
                assert "bytes" in str(error), error
            else:
                raise AssertionError("there was memory")
        assert doubled(one).sum() == 30_000.0
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=dict(os.environ), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-4000:]
