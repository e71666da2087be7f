"""Many functions and many threads: bounds on memory, and no two threads in each other's way."""

import gc
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import weft


# spec: N10
def test_a_dropped_function_is_freed():
    def make(k):
        @weft.njit
        def f(x):
            return x + k

        assert f(1) == 1 + k
        return weakref.ref(f)

    dropped = [make(k) for k in range(20)]
    gc.collect()
    assert not any(ref() for ref in dropped)


# spec: N10
def test_a_thousand_functions_take_little_memory_and_give_it_back():
    # In a process of its own: memory of the whole process is measured.
    program = """
        import gc, weft

        def rss():
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * 4096

        def make(k):
            source = f"def f(x):\\n    return x * {k} + {k}\\n"
            scope = {}
            exec(source, scope)
            f = weft.njit(scope["f"], source=source)
            assert f(2) == 3 * k
            return f

        for k in range(50):
            make(k)
        gc.collect()
        start = rss()
        kept = [make(k) for k in range(1000)]
        full = rss()
        kept.clear()
        gc.collect()
        again = [make(k) for k in range(1000)]
        print((full - start) // 1000, (rss() - full) // 1000)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    each, more = map(int, done.stdout.split())
    assert each <= 100_000, f"{each} bytes for each function"
    assert more <= 30_000, f"{more} bytes for each function were not given back"


# spec: N10
def test_eight_threads_compile_at_once():
    functions = []
    for k in range(8):
        source = f"def f(a, x):\n    return a * x + {k}\n"
        scope = {}
        exec(source, scope)
        functions.append(weft.njit(scope["f"], source=source))
    a = np.arange(100.0)
    wrong = []
    start = threading.Barrier(8)

    def work(n):
        start.wait()
        # Every thread compiles every function, in another order, for two types.
        for i in range(8):
            k = (n + i) % 8
            for x in (2, 2.5):
                got = functions[k](a, x)
                if not np.array_equal(got, a * x + k):
                    wrong.append((n, k, x))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong
    assert all(len(f.specializations) == 2 for f in functions)


# spec: N10
def test_calls_keep_no_references():
    @weft.njit
    def f(a, p, x):
        return a[1:], p, x

    a, big = np.zeros(10), 10**12
    f(a, (a, big), "text")
    before = sys.getrefcount(a), sys.getrefcount(big)
    for _ in range(100):
        f(a, (a, big), "text")
    assert (sys.getrefcount(a), sys.getrefcount(big)) == before
