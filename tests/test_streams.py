"""Results that are larger than the caches go past them: values are the same, wherever they begin and end.

Where that begins is asked once in a process, so that this runs in one of its own.
"""

import os
import subprocess
import sys
import textwrap

PROGRAM = textwrap.dedent(
    """
    import numpy as np
    import weft

    @weft.njit
    def one(a, b):
        return a * b + a

    @weft.njit
    def two(a, b):
        return a + b, a - b

    @weft.njit
    def truths(a, b):
        return a > b

    @weft.njit
    def into(a, b, c):
        c[:] = a - 2 * b

    @weft.njit
    def in_place(a, b):
        a[:] = a * b
        a += b

    @weft.njit
    def some(a, b, c):
        c[a > b] = 3

    def like(x, y):
        assert x.dtype == y.dtype and np.array_equal(x, y), (x.dtype, np.flatnonzero(x != y)[:5])

    rng = np.random.default_rng(0)
    checked = 0
    for dtype in (np.float64, np.float32, np.int64, np.uint8, np.complex128):
        n = 10_000_001 // np.dtype(dtype).itemsize
        whole = [rng.integers(0, 100, size=n + 7).astype(dtype) for _ in range(3)]
        for first in (0, 5):
            for threads in (1, 2):
                weft.set_num_threads(threads)
                a, b, c = (x[first : first + n] for x in whole)
                like(one(a, b), a * b + a)
                for ours, theirs in zip(two(a, b), (a + b, a - b)):
                    like(ours, theirs)
                into(a, b, c)
                like(c, a - 2 * b)
                x, y = a.copy(), a.copy()
                in_place(x, b)
                y[:] = y * b
                y += b
                like(x, y)
                if dtype != np.complex128:
                    like(truths(a, b), a > b)
                    x, y = c.copy(), c.copy()
                    some(a, b, x)
                    y[a > b] = 3
                    like(x, y)
                checked += 1
    # What stands beside the results is not touched.
    x = np.zeros(1_000_010)
    into(np.ones(1_000_000), np.ones(1_000_000), x[3:-7])
    assert (x[3:-7] == -1).all() and not x[:3].any() and not x[-7:].any()
    assert all("weft_stream" in f.inspect("asm") for f in (one, two, truths, into))
    print("checked", checked)
    """
)


# spec: N3
def test_results_that_go_past_the_caches(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    environment = {**os.environ, "WEFT_STREAM_FROM": "0"}
    ran = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "checked 20\n"
