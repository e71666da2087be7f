"""Ctrl-C in compiled code: every kind of loop ends with KeyboardInterrupt, and afterwards all is as it was."""

import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import mmap, os, signal, sys, threading
import numpy as np
import weft
from weft import njit, prange

FOREVER = 1 << 62
seen = np.frombuffer(mmap.mmap(-1, 64), np.int64)


def press(keys=(signal.SIGINT,)):
    "Another process, which sends a signal when seen[0] is set, and another when seen[2] says that it was handled."
    parent, child = os.getpid(), os.fork()
    if child == 0:
        for k, key in enumerate(keys):
            while seen[0] == 0 or seen[2] < k:
                if os.getppid() != parent:
                    os._exit(1)
            os.kill(parent, key)
        os._exit(0)
    return child


def interrupted(f, *args):
    "What became of a call that is interrupted once it has set seen[0]."
    seen[:] = 0
    child = press()
    try:
        f(*args)
    except KeyboardInterrupt:
        outcome = "interrupted"
    else:
        outcome = "returned"
    os.waitpid(child, 0)
    return outcome
"""


def run(tmp_path, program, **more):
    """The lines that a program prints, which is a file, so that compiled functions find their source."""
    path = tmp_path / "program.py"
    path.write_text(PRELUDE + textwrap.dedent(program))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=100, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


# With a small `n` each ends by itself.
LOOPS = {
    "for": """
        def f(seen, n):
            s = 0
            seen[0] = 1
            for i in range(n):
                s ^= i
            return s
        """,
    "a sum of floats": """
        def f(seen, n):
            s = 0.0
            seen[0] = 1
            for i in range(n):
                s += i % 7
            return s
        """,
    "a step": """
        def f(seen, n):
            s = 0
            seen[0] = 1
            for i in range(n, 0, -3):
                s ^= i
            return s
        """,
    "nested": """
        def f(seen, n):
            s = 0
            seen[0] = 1
            for i in range(n):
                for j in range(i % 10):
                    for k in range(3):
                        s ^= i * j + k
            return s
        """,
    "a while that counts": """
        def f(seen, n):
            i = s = 0
            seen[0] = 1
            while i < n:
                s ^= i
                i += 1
            return s
        """,
    "a while that counts by five": """
        def f(seen, n):
            i = s = 0
            seen[0] = 1
            while i <= n:
                s ^= i
                i += 5
            return s + i
        """,
    "a while that does not count": """
        def f(seen, n):
            x = n
            k = 0
            seen[0] = 1
            while x > 100:
                x ^= 1
                if x % 3 == 0:
                    continue
                k ^= x
            return x + k
        """,
    "break and continue": """
        def f(seen, n):
            s = 0
            seen[0] = 1
            for i in range(n):
                if i % 3 == 0:
                    continue
                if s == -5:
                    break
                s = s + 1 if s < 1000 else 0
            return s
        """,
    "array statements": """
        def f(seen, n):
            a, b = np.ones(3000), np.zeros(3000)
            seen[0] = 1
            for i in range(n):
                b[:] = np.sqrt(a + b)
            return b[0]
        """,
    "large array statements": """
        def f(seen, n):
            a = np.ones(1_000_000 if n > 1000 else 10)
            seen[0] = 1
            for i in range(n):
                a[:] = np.sin(a) * np.cos(a) + np.exp(-a)
            return a[0]
        """,
    "a list": """
        def f(seen, n):
            items = [1, 2, 3]
            k = 0
            seen[0] = 1
            for x in items:
                if n > 1000:
                    items.append(x)
                    if len(items) > 1000:
                        items = [1, 2, 3]
                        k = 0
                        while k < n:
                            items[k % 3] ^= k
                            k += 1
            return k + len(items)
        """,
    "recursion": """
        def f(seen, n):
            seen[0] = 1
            m = min(n, 80)
            return 1 if m <= 2 else (f(seen, m - 1) + f(seen, m - 2)) % 1000
        """,
    "products": """
        def f(seen, n):
            a = np.ones((300, 300)) if n > 1000 else np.ones((3, 3))
            s = 0.0
            seen[0] = 1
            for i in range(n):
                s += (a @ a)[0, 0]
            return s
        """,
    "one large product": """
        def f(seen, n):
            size = 6000 if n > 1000 else 3
            a = np.ones((size, size))
            seen[0] = 1
            return (a @ a)[0, 0]
        """,
    "prange": """
        def f(seen, n):
            s = 0
            seen[0] = 1
            for i in prange(min(n, 1 << 37)):
                s += i % 3
            return s
        """,
    "loops in a prange": """
        def f(seen, n):
            out = np.zeros(8)
            seen[0] = 1
            for i in prange(8):
                for j in range(n):
                    out[i] += j % 3
            return out[7]
        """,
    "a while in a prange": """
        def f(seen, n):
            out = np.zeros(2, np.int64)
            seen[0] = 1
            for i in prange(2):
                x = n
                while x > 100:
                    x ^= 1
                out[i] = x
            return out[1]
        """,
}
OPTIONS = {
    "": LOOPS,
    "nogil=True": ("for", "nested", "loops in a prange"),
    "nogil=False": ("for", "recursion", "loops in a prange"),
}


# spec: N10
@pytest.mark.parametrize(("name", "options"), [(name, o) for o, names in OPTIONS.items() for name in names])
def test_ctrl_c_ends_every_kind_of_loop(tmp_path, name, options):
    program = f"@njit({options})" + textwrap.dedent(LOOPS[name])
    program += """
few = f(seen, 5)
for _ in range(2):
    print(interrupted(f, seen, FOREVER))
    print(f(seen, 5) == few)
"""
    assert run(tmp_path, program) == ["interrupted", "True"] * 2


# spec: N10
def test_handlers_in_compiled_code_see_ctrl_c_as_in_cpython(tmp_path):
    program = """
    @njit
    def not_an_exception(seen, n):
        seen[0] = 1
        try:
            for i in range(n):
                seen[3] ^= i
        except Exception:
            seen[1] = 1
        finally:
            seen[2] = 1
        return 1

    @njit
    def caught(seen, n):
        seen[0] = 1
        try:
            while n > 100:
                n ^= 1
        except KeyboardInterrupt:
            seen[1] = 1
        return n

    print(interrupted(not_an_exception, seen, FOREVER), seen[1:3])
    print(interrupted(caught, seen, FOREVER), seen[1])
    """
    assert run(tmp_path, program) == ["interrupted [0 1]", "returned 1"]


# spec: N10
def test_what_a_call_held_is_released(tmp_path):
    program = """
    @njit
    def f(seen, n):
        kept = [np.ones(1000)]
        total = 0.0
        for i in range(n):
            a = np.full(1000, float(i))
            kept.append(a)
            if len(kept) > 20:
                kept = [a]
                seen[0] = 1
            total += a[3]
        return total

    f(seen, 50)
    interrupted(f, seen, FOREVER)
    before = weft.memory.stats("native")["host"].live
    for _ in range(5):
        print(interrupted(f, seen, FOREVER))
    print(weft.memory.stats("native")["host"].live == before)
    """
    assert run(tmp_path, program) == ["interrupted"] * 5 + ["True"]


ENDLESS = """
@njit
def f(seen, n):
    seen[0] = 1
    while n > 100:
        n ^= 1
    return n

f(seen, 3)
"""


# spec: N10
def test_a_handler_that_raises_nothing_runs_meanwhile_and_one_that_raises_ends_the_call(tmp_path):
    program = """
    def handler(number, frame):
        seen[2] += 1
        if seen[2] == 3:
            raise ValueError("enough")

    signal.signal(signal.SIGINT, handler)
    seen[:] = 0
    child = press([signal.SIGINT] * 3)
    try:
        f(seen, FOREVER)
    except ValueError as error:
        print(error, seen[2])
    os.waitpid(child, 0)
    print(signal.getsignal(signal.SIGINT) is handler)
    """
    assert run(tmp_path, ENDLESS + textwrap.dedent(program)) == ["enough 3", "True"]


# spec: N10
def test_handlers_that_come_and_go(tmp_path):
    program = """
    usual = signal.getsignal(signal.SIGINT)
    print(interrupted(f, seen, FOREVER), signal.getsignal(signal.SIGINT) is usual)
    for _ in range(3):
        signal.signal(signal.SIGINT, lambda number, frame: sys.exit("not this one"))
        signal.signal(signal.SIGINT, usual)
        print(interrupted(f, seen, FOREVER))

    @njit
    def long(seen, n):
        seen[0] = 1
        s = 0
        for i in range(n):
            s ^= i * i % 7
        return s

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(interrupted(long, seen, 50_000_000))
    signal.signal(signal.SIGINT, usual)
    print(interrupted(f, seen, FOREVER))

    import faulthandler
    faulthandler.register(signal.SIGINT, file=open(os.devnull, "w"), chain=True)
    print(interrupted(f, seen, FOREVER))
    print(interrupted(f, seen, FOREVER))
    """
    lines = run(tmp_path, ENDLESS + textwrap.dedent(program))
    assert lines == ["interrupted True", *["interrupted"] * 3, "returned", *["interrupted"] * 3]


# spec: N10
def test_in_a_forked_child_and_on_another_thread(tmp_path):
    program = """
    print(interrupted(f, seen, FOREVER), flush=True)
    child = os.fork()
    if child == 0:
        print("child", interrupted(f, seen, FOREVER), flush=True)
        os._exit(0)
    os.waitpid(child, 0)

    # As in CPython, another thread is not interrupted: the main thread is.
    @njit(nogil=True)
    def long(seen, n):
        s = 0
        seen[0] = 1
        for i in range(n):
            s ^= i * i % 7
        return s

    long(seen, 3)
    results, done = [], threading.Event()

    def work():
        results.append(long(seen, 200_000_000))
        done.set()

    def start_and_wait():
        threading.Thread(target=work).start()
        done.wait()

    print(interrupted(start_and_wait), results)
    done.wait()
    print(len(results))
    """
    lines = run(tmp_path, ENDLESS + textwrap.dedent(program))
    assert lines == ["interrupted", "child interrupted", "interrupted []", "1"]


# spec: N10
def test_what_was_done_to_a_list_until_then_was_done(tmp_path):
    program = """
    @njit
    def f(seen, items, n):
        items.append(7)
        seen[0] = 1
        for i in range(n):
            seen[1] ^= i

    f(seen, [1], 3)
    items = [1, 2]
    print(interrupted(f, seen, items, FOREVER), items)
    """
    assert run(tmp_path, program) == ["interrupted [1, 2, 7]"]


# spec: N10
def test_a_kernel_under_debug_ends_too(tmp_path):
    program = """
    @weft.kernel(debug=True)
    def k(a, n):
        x = 0
        while x < n:
            x += 1
        a[weft.get_global_id(0)] = x

    def call(seen, n):
        seen[0] = 1
        k[weft.Range(1)](a, n)

    a = np.zeros(1, np.int64)
    with weft.device_context("native"):
        k[weft.Range(1)](a, 3)
        print(interrupted(call, seen, FOREVER))
        k[weft.Range(1)](a, 4)
    print(a[0])
    """
    assert run(tmp_path, program) == ["interrupted", "4"]
