"""Threads, processes and imports: compiled code does not mind which of them it is called from."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import numpy as np
import weft
from doors import jitted
from support import OTHER, same

SOON = 60  # seconds; far more than any of this takes, and far less than forever


def together(*jobs):
    """Runs each job in a thread of its own, starting at the same moment; returns their results."""
    start = threading.Barrier(len(jobs))

    def run(job):
        start.wait(SOON)
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return [future.result(SOON) for future in [pool.submit(run, job) for job in jobs]]


# spec: N1
def test_threads_compile_and_call_one_function():
    f = jitted(["np.sin(x) * 2 + x"], "x")
    arrays = [np.linspace(0, 1, 100).astype(dtype) for dtype in ("f4", "f8", "i4", "i8")] * 2
    for x, result in zip(arrays, together(*(lambda x=x: f(x) for x in arrays))):
        same(result, (np.sin(x) * 2 + x,), ulps=4)


# spec: N1
def test_threads_compile_many_functions_at_once():
    def job(k):
        def work():
            results = []
            for n in range(4):
                f = jitted([f"x * {k} + {n}"], "x")
                results += [(k * 3.0 + n, f(np.full(1000, 3.0))[0])]
            return results

        return work

    for results in together(*map(job, range(6))):
        for expected, result in results:
            same(result, np.full(1000, expected))


# spec: N1, N10
def test_one_function_is_called_from_many_threads():
    f = jitted(["x * y + x"], "xy")
    x = np.arange(200_000.0)
    f(x, x)

    def job(k):
        return lambda: [f(x, k) for _ in range(20)]

    for k, results in enumerate(together(*map(job, range(4)))):
        for result in results:
            same(result[0], x * k + x)


# spec: A1
def test_a_context_is_of_its_thread(device):
    opened, looked = threading.Event(), threading.Event()

    def inside():
        with weft.device_context(device):
            opened.set()
            assert looked.wait(SOON)
            return weft.current_queue().device.backend

    def outside():
        assert opened.wait(SOON)
        seen = weft.current_queue()
        looked.set()
        return seen

    assert together(inside, outside) == [device, None]


# spec: A1, A2
def test_threads_run_on_different_devices_at_once():
    f = jitted(["x + 1", "x * 2"], "x")
    x = np.arange(1000.0)

    def job(place):
        def work():
            with weft.device_context(place):
                return [f(x) for _ in range(10)]

        return work

    for results in together(job("native"), job(OTHER), job("native"), job(OTHER)):
        for result in results:
            same(result, (x + 1, x * 2))


# spec: A1, K5
def test_threads_compile_for_one_device_at_once():
    x = np.arange(9.0)

    def job(k):
        def work():
            results = []
            for n in range(6):
                f = jitted([f"x * {k} + {n}"], "x")
                with weft.device_context(OTHER):
                    results.append((f(x)[0], x * k + n))
            return results

        return work

    for results in together(*map(job, range(4))):
        for result, expected in results:
            same(result, expected)


# spec: T4, D7
def test_threads_record_and_look_at_tensors(device):
    tensor = weft.tensor
    x = tensor.asarray(np.arange(1000.0), device=device)
    shared = tensor.sqrt(x) + 1

    def job(k):
        return lambda: tensor.asnumpy(shared * k + x)

    host = np.arange(1000.0)
    for k, result in enumerate(together(*map(job, range(4)))):
        same(result, (np.sqrt(host) + 1) * k + host)


# spec: T6a, D7
def test_threads_update_one_tensor_and_each_update_is_whole(device):
    t = weft.tensor.zeros(100, dtype="int64", device=device)

    def add(k):
        def work():
            x = t
            for _ in range(50):
                x += k

        return work

    together(*map(add, range(1, 9)))
    assert weft.tensor.asnumpy(t).tolist() == [50 * sum(range(1, 9))] * 100


# spec: N10
def test_exceptions_stay_in_their_thread():
    f = jitted(["x / y"], "xy")

    def job(y):
        def work():
            try:
                return f(1.0, y)
            except ZeroDivisionError as error:
                return type(error)

        return work

    results = together(*(job(k % 2) for k in range(8)))
    assert results == [ZeroDivisionError, (1.0,)] * 4


def in_child(work):
    """Forks, runs `work` in the child, and returns what it said; a child that hangs is killed, and fails the test."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = str(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode()[:4000])
        os._exit(0)
    os.close(write)
    end = time.monotonic() + SOON
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            with os.fdopen(read) as pipe:
                assert status == 0, f"the child ended with {status}"
                return pipe.read()
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the child did not come back")


BIG = 300_000  # enough for the thread pool, whose threads a child does not have


# spec: N1
def test_a_forked_child_runs_and_compiles_natively():
    f, g = jitted(["x * 2 + 1"], "x"), jitted(["x - 1"], "x")
    x = np.arange(float(BIG))
    f(x)
    assert in_child(lambda: f(x)[0].tolist() == (x * 2 + 1).tolist()) == "True"
    assert in_child(lambda: g(x)[0].tolist() == (x - 1).tolist()) == "True"
    same(f(x), (x * 2 + 1,))
    same(g(x), (x - 1,))


# spec: D8
def test_a_forked_child_refuses_devices_cleanly():
    """A driver's state does not survive a fork: an exception, neither a hang nor a crash."""
    f = jitted(["x * 2 + 1"], "x")
    x = np.arange(float(BIG))
    with weft.device_context(OTHER):
        f(x)
    tensor = weft.tensor.asarray(x, device=OTHER)

    def njit():
        with weft.device_context(OTHER):
            return f(x)

    for work in (njit, lambda: weft.tensor.asnumpy(tensor + 1), lambda: weft.tensor.ones(3, device=OTHER) + 1):
        said = in_child(work)
        assert said.startswith("DeviceError") and "fork" in said, said
    with weft.device_context(OTHER):
        same(f(x), (x * 2 + 1,))


# spec: N1
def test_a_forked_child_of_a_child_and_threads_in_it():
    f = jitted(["x * 2 + 1"], "x")
    x = np.arange(float(BIG))
    expected = x * 2 + 1
    assert in_child(lambda: all(bool((r[0] == expected).all()) for r in together(*[lambda: f(x)] * 3))) == "True"


def python(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=SOON,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# spec: D1
def test_import_finds_no_devices_and_starts_no_threads():
    program = """
import os, sys
import numpy
threads = len(os.listdir("/proc/self/task"))
import weft, weft.tensor
maps = open("/proc/self/maps").read()
drivers = [name for name in ("libOpenCL", "libintelocl", "libcuda", "libnvidia") if name in maps]
print(len(os.listdir("/proc/self/task")) - threads, drivers)
"""
    assert python(program) == "0 []"


# spec: D1
def test_host_code_needs_no_driver():
    program = """
import numpy as np, weft
f = weft.njit(lambda x: x + 1)
print(f(np.arange(3.0)))
print("libintelocl" in open("/proc/self/maps").read())
"""
    assert python(program) == "[1. 2. 3.]\nFalse"


# spec: D1
@pytest.mark.parametrize("broken", ["/nonexistent/libOpenCL.so", "/etc/passwd"])
def test_a_broken_driver_is_no_error_until_it_is_asked_for(broken):
    program = """
import numpy as np, weft
print(weft.njit(lambda x: x + 1)(np.arange(3.0)), len(weft.devices("native")))
"""
    out = python(program, WEFT_OPENCL_LIB=broken, WEFT_OPENCL_DIR="/nonexistent")
    assert out == "[1. 2. 3.] 1"


# spec: A2
def test_threads_that_race_keep_one_specialisation():
    f = jitted(["np.sin(x) * 2 + x"], "x")
    start = threading.Barrier(6)

    def call():
        start.wait(30)
        f(np.linspace(0, 1, 100))

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert f.signatures == ["(float64[:])"]


# spec: N1
def test_parallel_false_uses_the_callers_thread_alone():
    x = np.linspace(0, 1, 4_000_000)
    f = weft.njit(lambda x: np.sin(x) * np.exp(x), parallel=False)
    f(x)
    time.sleep(0.05)  # threads of earlier work come to rest
    own, all_threads = time.thread_time(), time.process_time()
    for _ in range(4):
        f(x)
    own, all_threads = time.thread_time() - own, time.process_time() - all_threads
    assert all_threads - own < 0.2 * own


def meets(started, answer, most):
    """Whether another Python thread answers during the call. Of long calls, none is short because it did."""
    weft.atomic.add(started, 0, 1)
    for k in range(most):
        if weft.atomic.add(answer, 0, 0) != 0 and k > 50_000:
            return True
    return False


def is_answered(f, most):
    started, answer = np.zeros(1, np.int64), np.zeros(1, np.int64)

    def other():
        while started[0] == 0:
            time.sleep(0)
        answer[0] = 1

    thread = threading.Thread(target=other)
    thread.start()
    found = f(started, answer, most)
    thread.join(SOON)
    return found


LONG, SHORT = 30_000_000, 10  # a tenth of a second; next to nothing


# spec: N10
def test_calls_that_take_long_let_other_threads_run():
    f = weft.njit(meets)
    assert is_answered(f, LONG)
    # Short calls keep the GIL. They say nothing of calls with larger arguments.
    for _ in range(40):
        f(np.zeros(1, np.int64), np.zeros(1, np.int64), SHORT)
    assert is_answered(f, LONG)


# spec: N10
def test_long_calls_that_no_argument_tells_of_are_found_out():
    f = weft.njit(lambda started, answer, turns: meets(started, answer, int(turns)))
    for _ in range(40):
        f(np.zeros(1, np.int64), np.zeros(1, np.int64), float(SHORT))
    assert any(is_answered(f, 1e6) for _ in range(20))
    assert is_answered(f, float(LONG))


# spec: N1, N10
def test_nogil_says_whether_other_threads_run():
    never = weft.njit(meets, nogil=False)
    assert not any(is_answered(never, 1_000_000) for _ in range(3))
    always = weft.njit(meets, nogil=True)
    for _ in range(40):
        always(np.zeros(1, np.int64), np.zeros(1, np.int64), SHORT)
    assert is_answered(always, LONG)


HOW_MANY_WORKERS = """
import os
import numpy as np, weft

def threads():
    return len(os.listdir("/proc/self/task"))

f = weft.njit(lambda x: x * 2 + 1, parallel={parallel!r})
weft.set_num_threads(2)
before = threads()
for n in (0, 1, 8):
    assert np.array_equal(f(np.arange(n)), np.arange(n) * 2 + 1)
print(threads() - before)
"""


# spec: N1
@pytest.mark.parametrize("parallel, workers", [(True, 1), ("auto", 0), (False, 0)])
def test_parallel_true_uses_threads_however_little_there_is_to_do(parallel, workers):
    program = HOW_MANY_WORKERS.format(parallel=parallel)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SOON)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == workers


WHERE_WORKERS_ARE = """
import os, time
import numpy as np, weft

@weft.njit(parallel=True)
def f(x):
    return np.sqrt(x) + 1.0

def workers():
    names = {t: open(f"/proc/self/task/{t}/comm").read().strip() for t in os.listdir("/proc/self/task")}
    return [int(t) for t, name in names.items() if name.startswith("weft-")]

x = np.ones(400_000)
given = os.sched_getaffinity(0)
for _ in range(1000):
    f(x)
    if workers():
        break
    time.sleep(0.01)
assert workers()
# Of many wakings, some are on the core of the thread that wakes.
for _ in range(60):
    time.sleep(0.001)
    f(x)
    for worker in workers():
        mine = os.sched_getaffinity(worker)
        assert mine and mine <= given and len(given - mine) <= 1, (mine, given)
# Who is told from outside to run elsewhere stays there.
told = {}
for worker in workers():
    mine = os.sched_getaffinity(worker)
    told[worker] = {min(given - mine or given)}
    os.sched_setaffinity(worker, told[worker])
for _ in range(60):
    time.sleep(0.001)
    f(x)
    assert all(os.sched_getaffinity(worker) == cores for worker, cores in told.items())
print("fine")
"""


# spec: N1
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core is no choice")
def test_workers_keep_out_of_the_callers_way_and_within_their_cores(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(WHERE_WORKERS_ARE)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=2 * SOON)
    assert done.stdout.strip() == "fine", done.stderr
