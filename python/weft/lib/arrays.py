"""Arrays from lists: the number of items is known when they run."""

from weft.lib import prim


def from_numbers(items, dtype):
    n = len(items)
    out = prim.empty((n,), dtype)
    for i in range(n):
        out[i] = items[i]
    return out


def from_tuples(items, dtype, width):
    n = len(items)
    out = prim.empty((n, width), dtype)
    for i in range(n):
        item = items[i]
        for k in range(width):
            out[i, k] = item[k]
    return out


def from_lists(items, dtype):
    n = len(items)
    width = 0
    if n > 0:
        width = len(items[0])
    out = prim.empty((n, width), dtype)
    for i in range(n):
        row = items[i]
        if len(row) != width:
            raise ValueError(
                "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 "
                f"dimensions. The detected shape was ({n},) + inhomogeneous part."
            )
        for j in range(width):
            out[i, j] = row[j]
    return out


def from_matrices(items, dtype):
    n = len(items)
    rows = 0
    columns = 0
    if n > 0:
        rows, columns = items[0].shape
    out = prim.empty((n, rows, columns), dtype)
    for i in range(n):
        out[i] = items[i]
    return out
