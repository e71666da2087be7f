"""Parallel functions give the same bits wherever they are called: in pools of threads and processes, in children."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).with_name("everywhere")
SOON = 120  # seconds; far more than any of this takes, and far less than forever


def python(program, **environment):
    """What a program of its own prints; it can import `parallel_work`, also where it starts other processes."""
    path = os.pathsep.join([str(HERE), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=SOON,
        env=os.environ | {"PYTHONPATH": path} | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# spec: N1
def test_thread_pools():
    program = """
from concurrent.futures import ThreadPoolExecutor
from parallel_work import digest
with ThreadPoolExecutor(6) as pool:
    found = list(pool.map(digest, [1, 2, 3] * 8))
assert found == [digest(k) for k in (1, 2, 3)] * 8
print(len(set(found)))
"""
    assert python(program) == "3"


# spec: N1
@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_processes(start):
    """A forked child has none of its parent's threads, and makes its own."""
    program = f"""
import multiprocessing, warnings
from parallel_work import digest
if __name__ == "__main__":
    warnings.simplefilter("ignore")
    here = digest()
    with multiprocessing.get_context({start!r}).Pool(2) as pool:
        there = pool.map(digest, [2.0] * 4)
    assert there == [here] * 4
    assert digest() == here
    print("same")
"""
    assert python(program) == "same"


# spec: N1
@pytest.mark.parametrize("prefer", ["processes", "threads"])
def test_joblib(prefer):
    program = f"""
import joblib
from parallel_work import digest
found = joblib.Parallel(n_jobs=2, prefer={prefer!r})(joblib.delayed(digest)(2.0) for _ in range(4))
assert found == [digest()] * 4
print("same")
"""
    assert python(program) == "same"


# spec: N1
def test_children_of_threads_and_threads_of_children():
    program = """
import os, threading, warnings
warnings.simplefilter("ignore")
from concurrent.futures import ThreadPoolExecutor
from parallel_work import digest
here = digest()
busy = threading.Thread(target=lambda: [digest() for _ in range(20)])
busy.start()
child = os.fork()
if child == 0:
    with ThreadPoolExecutor(3) as pool:
        same = list(pool.map(digest, [2.0] * 6)) == [here] * 6
    os._exit(0 if same else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
busy.join()
print("same")
"""
    assert python(program) == "same"


# spec: N14
def test_one_core():
    """A process that may use one core has one thread, and the bits of all others."""
    program = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import weft
before = weft.get_num_threads()
tasks = len(os.listdir("/proc/self/task"))
weft.njit(lambda x: x + 1)(__import__("numpy").zeros(10**6))
print(before, len(os.listdir("/proc/self/task")) - tasks)
from parallel_work import digest
print(digest())
"""
    counts, bits = python(program).splitlines()
    assert counts == "1 0"
    assert bits == python("from parallel_work import digest\nprint(digest())")


# spec: N1
def test_the_limit_of_a_cgroup_is_kept():
    """No more threads than the quota of processor time allows, where there is one."""
    threads = int(python("import weft; print(weft.get_num_threads())"))
    allowed = len(os.sched_getaffinity(0))
    quota = Path("/sys/fs/cgroup/cpu.max")
    if quota.exists():
        limit, _, period = quota.read_text().strip().partition(" ")
        if limit != "max":
            allowed = min(allowed, max(int(limit) // int(period), 1))
    assert 1 <= threads <= allowed


# spec: N14
def test_the_number_of_threads_is_of_the_whole_process():
    """Set in one thread, it holds in all; a region that runs inside another one stays on its thread."""
    program = """
import threading, weft
from parallel_work import digest
seen = []
weft.set_num_threads(3)
def other():
    seen.append(weft.get_num_threads())
    weft.set_num_threads(2)
    digest()
thread = threading.Thread(target=other)
thread.start()
thread.join()
print(seen, weft.get_num_threads())
"""
    assert python(program) == "[3] 2"
    assert python("import weft; print(weft.get_num_threads())", WEFT_NUM_THREADS="5") == "5"


# spec: N1
def test_blas_threads_beside_ours():
    """NumPy's BLAS has threads of its own: neither disturbs the other, also not at the same time."""
    program = """
import threading
import numpy as np
from parallel_work import digest
a = np.random.default_rng(2).random((300, 300))
wanted = (a @ a).tobytes()
here = digest()
products = []
other = threading.Thread(target=lambda: products.extend((a @ a).tobytes() for _ in range(20)))
other.start()
assert [digest() for _ in range(20)] == [here] * 20
other.join()
assert set(products) == {wanted}
print("same")
"""
    assert python(program) == "same"


# spec: N14
def test_nested_regions():
    """A parallel function that calls another, and array expressions in a parallel loop."""
    program = """
import numpy as np, weft
from weft import prange
@weft.njit
def inner(row):
    total = 0.0
    for j in prange(len(row)):
        total += row[j] * row[j]
    return total
@weft.njit
def outer(table):
    out = np.zeros(len(table))
    for i in prange(len(table)):
        out[i] = inner(table[i]) + np.sum(table * 2)
    return out
table = np.random.default_rng(3).random((400, 500))
found = set()
for threads in (1, 2, 7):
    weft.set_num_threads(threads)
    found.add(outer(table).tobytes())
print(len(found))
"""
    assert python(program) == "1"
