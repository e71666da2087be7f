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


class Big:
    """Something that a closure keeps alive."""

    value = 1


# spec: N10
def test_closures_that_are_gone_are_forgotten():
    @weft.njit
    def apply(f, x):
        return f(x)

    def call(k):
        big = Big()
        big.value = k + 0.5
        assert apply(lambda x: x + big.value, 1) == k + 1.5
        return weakref.ref(big)

    count = 150
    called = [call(k) for k in range(count)]
    gc.collect()
    alive = sum(ref() is not None for ref in called)
    assert alive <= 70, "what was not used for long is let go"
    assert len(apply.specializations) <= 70
    # Those used last are still there, and those that are gone can come again.
    before = len(apply.specializations)
    assert apply(lambda x: x + Big.value, 1) == 2
    assert call(0)() is not None
    assert len(apply.specializations) <= before + 2


# spec: N10
def test_a_closure_in_use_outlives_many_others():
    @weft.njit
    def apply(f, x):
        return f(x)

    def times(k):
        return lambda x: x * k

    first = times(1000)
    for k in range(100):
        assert apply(times(k), 2) == 2 * k
        assert apply(first, 2) == 2000
    with weft.trace() as trace:
        assert apply(times(1000), 2) == 2000
    assert trace.compiles == []


# spec: N10
def test_many_strings_and_tuples_of_them_as_arguments():
    @weft.njit
    def pick(words, word):
        return len(words) if words[0] == word else -1

    for k in range(100):
        assert pick((str(k), "b"), str(k)) == 2
        assert pick((str(k), "b"), "b") == -1
    # More in one call than are kept.
    many = tuple(f"word {k}" for k in range(80))
    assert pick(many, "word 0") == 80
    assert pick(many, "word 1") == -1
    assert len(pick.specializations) <= 140


# spec: N10
def test_threads_call_with_closures_of_their_own():
    @weft.njit(nogil=True)
    def apply(f, x):
        return f(x)

    wrong = []

    def work(thread):
        for k in range(40):
            number = 1000 * thread + k
            if apply(lambda x: x + number, 1) != number + 1:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# spec: N10
def test_functions_take_little_memory_and_give_it_back():
    # In a process of its own: memory of the whole process is measured.
    program = """
        import gc, weft

        COUNT = 320

        def rss():
            gc.collect()
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * 4096

        def make(k):
            source = f"def f(x):\\n    return x * {k} + {k}\\n"
            scope = {}
            exec(source, scope)
            f = weft.njit(scope["f"], source=source)
            assert f(2) == 3 * k
            return f

        def cycle(first):
            kept = [make(first + k) for k in range(COUNT)]
            return rss()

        for k in range(50):
            make(k)
        start = rss()
        full = cycle(100)
        left = rss()
        for k in range(1, 5):
            again = cycle(100 + k * COUNT)
        print((full - start) // COUNT, (left - start) // COUNT, (again - full) // COUNT, (rss() - left) // COUNT)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    each, left, more, more_left = map(int, done.stdout.split())
    assert each <= 100_000, f"{each} bytes for each function"
    assert left <= each / 2 + 1000, f"{left} bytes of {each} are left of each function"
    assert max(more, more_left) <= 2000, f"cycles add {more} bytes, {more_left} when the functions are gone"


# spec: N1
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
