"""What the programs of `test_parallel_everywhere.py` run: a function with parallel loops, and what it must give."""

import numpy as np
import weft
from weft import prange

weft.set_num_threads(4)


@weft.njit
def work(table, labels, scale):
    total, largest = 0.0, 0.0
    by_label = np.zeros(8)
    for i in prange(len(table)):
        row = np.sum(table[i] * scale + 1.0)
        total += row
        largest = max(largest, row)
        by_label[labels[i]] += row
    return total, largest, by_label + np.sum(np.sqrt(table))


TABLE = np.random.default_rng(1).random((4000, 32))
LABELS = np.arange(4000) % 8


def digest(scale=2.0):
    """The bits of the results, which depend on nothing but the arguments."""
    total, largest, by_label = work(TABLE, LABELS, float(scale))
    return float(total).hex(), float(largest).hex(), by_label.tobytes().hex()
