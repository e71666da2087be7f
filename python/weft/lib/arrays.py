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


def from_nested(items, dtype, like):
    """Of lists in lists, tuples and arrays; `like` is the shape of an item where there is none."""
    out = prim.empty(shape_of_list(items, like), dtype)
    fill(out, items)
    return out


def shape_of_list(items, like):
    inner = like
    if len(like) > 0 and len(items) > 0:
        inner = shape_of_item(items[0], like)
    return (len(items),) + inner


def shape_of_item(item, like):
    if prim.is_array(item):
        return item.shape
    if prim.list_is(item):
        return shape_of_list(item, like[1:])
    if len(item) == 0 or len(like) == 1:
        return (len(item),) + like[1:]
    return (len(item),) + shape_of_item(item[0], like[1:])


def fill(out, items):
    if prim.is_array(items):
        if items.shape != out.shape:
            uneven()
        out[...] = items
    elif len(items) != out.shape[0]:
        uneven()
    elif prim.list_is(items):
        for i in range(len(items)):
            if out.ndim == 1:
                out[i] = items[i]
            else:
                fill(out[i], items[i])
    else:
        fill_each(out, items, 0)


def fill_each(out, items, k):
    if k < len(items):
        if out.ndim == 1:
            out[k] = items[k]
        else:
            fill(out[k], items[k])
        fill_each(out, items, k + 1)


def uneven():
    raise ValueError("setting an array element with a sequence. The requested array has an inhomogeneous shape")
