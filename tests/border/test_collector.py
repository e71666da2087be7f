"""The garbage collector: it may run while an object is made, and it finds every cycle through one."""

import gc
import os
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import numpy as np
import weft


def run(code: str) -> None:
    """Runs a test in a process that collects whenever it can."""
    command = [sys.executable, "-c", "import gc, weft\ngc.set_threshold(1)\n" + textwrap.dedent(code)]
    done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout == "done\n", done.stderr[-4000:]


@pytest.mark.parametrize("decorator", ["njit", "kernel"])
def test_functions_are_made_and_dropped_while_the_collector_runs(decorator):
    run(f"""
        def make(k):
            def f(x):
                x[0] = k
            return weft.{decorator}(f, source="def f(x):\\n    x[0] = k\\n")
        kept = [make(k) for k in range(300)]
        for k in range(300):
            make(k)
        assert all(f.__wrapped__ is f.py_func for f in kept)
        print("done")
    """)


def test_objects_of_every_kind_are_made_while_the_collector_runs():
    run("""
        from weft import memory, program, tensor

        class Mine(memory.DeviceMemory):
            pass

        def k(x):
            x[weft.get_global_id(0)] = 1.0

        k = weft.kernel(k, source="def k(x):\\n    x[weft.get_global_id(0)] = 1.0\\n")

        queue = weft.Queue("native")
        for n in range(1, 100):
            own = Mine(n, queue=queue)
            own.note = n
            x = tensor.zeros(n, device="native") + 1.0
            view = memory.as_usm_memory(x)
            launch = k[n]
            launch(x)
            event = queue.submit_barrier()
            weft.Device("native"), x.device, queue.context, event.get_wait_list(), program.WorkGroupMemory(n)
            assert float(tensor.asnumpy(x)[n - 1]) == 1.0 and own.note == n and view.nbytes == 8 * n
        print("done")
    """)


def dies(make: Callable[[], Any]) -> bool:
    """Whether the collector finds what `make` leaves: an object that only refers to itself."""
    gone = weakref.ref(make())
    gc.collect()
    return gone() is None


def test_a_function_in_its_own_closure_is_collected():
    def make() -> Any:
        @weft.njit
        def f(n):
            return n if n < 2 else f(n - 1) + f(n - 2)

        return f

    def called() -> Any:
        f = make()
        assert f(10) == 55
        return f

    assert dies(make) and dies(called)


def test_a_function_in_its_own_globals_is_collected():
    def make() -> Any:
        scope = {"weft": weft}
        source = "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\n"
        exec(source, scope)
        scope["f"] = weft.njit(scope["f"], source=source)
        assert scope["f"](10) == 55
        return scope["f"]

    assert dies(make)


def test_a_function_among_its_own_arguments_is_collected():
    def make() -> Any:
        def g(x):
            return f(x) if x > 100.0 else x + 1.0

        @weft.njit
        def apply(h, x):
            return h(x)

        @weft.njit
        def f(x):
            return x * 2.0

        f.apply = apply
        assert apply(g, 3.0) == 4.0 and apply(f, 3.0) == 6.0
        return f

    assert dies(make)


def test_a_function_behind_its_default_is_collected():
    class Box:
        pass

    def make() -> Any:
        box = Box()

        @weft.njit
        def f(x, y=box):
            return x + y

        box.f = f
        assert f(1.0, y=2.0) == 3.0
        return f

    assert dies(make)


def test_a_function_behind_its_exception_is_collected():
    def make() -> Any:
        class Failure(Exception):
            pass

        @weft.njit
        def f(x):
            if x < 0.0:
                raise Failure
            return x

        Failure.f = f
        assert f(1.0) == 1.0
        return f

    assert dies(make)


def test_a_function_that_a_wrapper_refers_to_is_collected():
    def make() -> Any:
        @weft.njit
        def f(x):
            return x

        f.again = f
        return f

    assert dies(make)


def test_a_kernel_that_keeps_its_launch_is_collected():
    def make() -> Any:
        @weft.kernel
        def k(x):
            x[weft.get_global_id(0)] = 1.0

        k.launch = k[8]
        k.launch(weft.tensor.zeros(8))
        return k

    assert dies(make)


def test_memory_that_keeps_itself_is_collected():
    class Mine(weft.memory.HostMemory):
        pass

    def make() -> Any:
        memory = Mine(64)
        memory.again = memory
        return memory

    assert dies(make)


def test_an_array_that_keeps_the_event_of_its_copy_is_collected(queue):
    class Mine(np.ndarray):
        pass

    def make() -> Any:
        array = np.zeros(1 << 20, "u1").view(Mine)
        memory = weft.memory.DeviceMemory(array.nbytes, queue=queue)
        array.event = queue.memcpy_async(memory, array, array.nbytes)
        queue.wait()
        return array

    assert dies(make)


def test_a_live_function_is_left_alone_by_the_collector():
    @weft.njit
    def f(n):
        return n if n < 2 else f(n - 1) + f(n - 2)

    assert f(10) == 55
    before = f.specializations
    gc.collect()
    assert len(f.specializations) == len(before) == 1 and f(11) == 89
