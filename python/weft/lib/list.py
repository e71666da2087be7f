"""Methods and operators of lists, in terms of their length and items.

`prim.list_*` neither checks nor wraps positions: callers do. Items are read and written one by one, in Python's order,
so that what is seen while a list changes is what Python shows.
"""

from weft.lib import prim
from weft.lib.prim import overload


def made_of(items):
    out = []
    for x in items:
        prim.list_push(out, x)
    return out


@overload(list.append)
def append(self, item):
    prim.list_push(self, item)


@overload(list.extend)
def extend(self, items):
    if prim.list_is(items):
        # The list may be extended by itself: only what is there now.
        for i in range(prim.list_len(items)):
            prim.list_push(self, prim.list_get(items, i))
    else:
        for x in items:
            prim.list_push(self, x)


@overload(list.insert)
def insert(self, index, item):
    n = prim.list_len(self)
    if index < 0:
        index = max(index + n, 0)
    if index >= n:
        prim.list_push(self, item)
    else:
        prim.list_push(self, prim.list_get(self, n - 1))
        for i in range(n - 1, index, -1):
            prim.list_set(self, i, prim.list_get(self, i - 1))
        prim.list_set(self, index, item)


@overload(list.pop)
def pop(self, index=None):
    n = prim.list_len(self)
    if n == 0:
        raise IndexError("pop from empty list")
    if index is None:
        item = prim.list_get(self, n - 1)
        prim.list_truncate(self, n - 1)
        return item
    if index < 0:
        index += n
    if index < 0 or index >= n:
        raise IndexError("pop index out of range")
    item = prim.list_get(self, index)
    remove_at(self, index)
    return item


def remove_at(self, index):
    n = prim.list_len(self)
    for i in range(index, n - 1):
        prim.list_set(self, i, prim.list_get(self, i + 1))
    prim.list_truncate(self, n - 1)


@overload(list.remove)
def remove(self, item):
    i = 0
    while i < prim.list_len(self):
        if prim.list_get(self, i) == item:
            remove_at(self, i)
            return
        i += 1
    raise ValueError("list.remove(x): x not in list")


@overload(list.clear)
def clear(self):
    prim.list_truncate(self, 0)


@overload(list.index)
def index_of(self, item, start=0, stop=None):
    n = prim.list_len(self)
    if start < 0:
        start = max(start + n, 0)
    if stop is None:
        end = n
    else:
        end = stop
        if end < 0:
            end = max(end + n, 0)
    i = start
    while i < end and i < prim.list_len(self):
        if prim.list_get(self, i) == item:
            return i
        i += 1
    raise ValueError(f"{item!r} is not in list")


@overload(list.count)
def count(self, item):
    found = 0
    for x in self:
        if x == item:
            found += 1
    return found


@overload(list.__contains__)
def contains(self, item):
    for x in self:
        if x == item:
            return True
    return False


@overload(list.reverse)
def reverse(self):
    low = 0
    high = prim.list_len(self) - 1
    while low < high:
        x = prim.list_get(self, low)
        prim.list_set(self, low, prim.list_get(self, high))
        prim.list_set(self, high, x)
        low += 1
        high -= 1


@overload(list.copy)
def copy(self):
    out = []
    for i in range(prim.list_len(self)):
        prim.list_push(out, prim.list_get(self, i))
    return out


@overload(list.__add__)
def add(self, other):
    out = copy(self)
    extend(out, other)
    return out


def make_room(out, n, times):
    """Room for `times` times `n` items at once: what does not fit raises before anything is written."""
    if n > 0 and times > 0:
        if times > 2**60 // n:
            raise MemoryError
        prim.list_reserve(out, n * times)


@overload(list.__mul__)
def multiply(self, times):
    out = []
    n = prim.list_len(self)
    if n == 1:
        x = prim.list_get(self, 0)
        make_room(out, n, times)
        for _ in range(times):
            prim.list_push(out, x)
    else:
        make_room(out, n, times)
        for _ in range(times):
            for i in range(n):
                prim.list_push(out, prim.list_get(self, i))
    return out


@overload(list.__imul__)
def multiply_in_place(self, times):
    n = prim.list_len(self)
    if times <= 0:
        prim.list_truncate(self, 0)
    make_room(self, n, times)
    for _ in range(1, times):
        for i in range(n):
            prim.list_push(self, prim.list_get(self, i))


# ---- slices ------------------------------------------------------------------------------------


def slice_step(step):
    if step is None:
        return 1
    if step == 0:
        raise ValueError("slice step cannot be zero")
    return step


def slice_start(n, start, step):
    if start is None:
        return 0 if step > 0 else n - 1
    if start < 0:
        return max(start + n, 0 if step > 0 else -1)
    return min(start, n if step > 0 else n - 1)


def slice_stop(n, stop, step):
    if stop is None:
        return n if step > 0 else -1
    if stop < 0:
        return max(stop + n, 0 if step > 0 else -1)
    return min(stop, n if step > 0 else n - 1)


def slice_len(first, last, step):
    if step > 0:
        return max((last - first + step - 1) // step, 0)
    return max((first - last - step - 1) // -step, 0)


def get_slice(self, start, stop, step):
    n = prim.list_len(self)
    step = slice_step(step)
    first = slice_start(n, start, step)
    out = []
    at = first
    for _ in range(slice_len(first, slice_stop(n, stop, step), step)):
        prim.list_push(out, prim.list_get(self, at))
        at += step
    return out


def set_slice(self, start, stop, step, items):
    new = made_of(items)
    n = prim.list_len(self)
    if step is None or step == 1:
        first = slice_start(n, start, 1)
        last = max(slice_stop(n, stop, 1), first)
        replace(self, first, last, new)
    else:
        by = slice_step(step)
        first = slice_start(n, start, by)
        length = slice_len(first, slice_stop(n, stop, by), by)
        given = prim.list_len(new)
        if given != length:
            raise ValueError(f"attempt to assign sequence of size {given} to extended slice of size {length}")
        for i in range(length):
            prim.list_set(self, first + i * by, prim.list_get(new, i))


def replace(self, first, last, new):
    tail = get_slice(self, last, None, None)
    prim.list_truncate(self, first)
    extend(self, new)
    extend(self, tail)


def delete_slice(self, start, stop, step):
    n = prim.list_len(self)
    by = slice_step(step)
    first = slice_start(n, start, by)
    length = slice_len(first, slice_stop(n, stop, by), by)
    if by < 0:
        first += (length - 1) * by
        by = -by
    if length > 0:
        # What stays moves down over what goes.
        to = first
        next_gone = first
        gone = 0
        for i in range(first, n):
            if gone < length and i == next_gone:
                gone += 1
                next_gone += by
            else:
                prim.list_set(self, to, prim.list_get(self, i))
                to += 1
        prim.list_truncate(self, to)


# ---- comparisons -------------------------------------------------------------------------------


@overload(list.__eq__)
def equal(self, other):
    if prim.list_len(self) != prim.list_len(other):
        return False
    i = 0
    while i < prim.list_len(self) and i < prim.list_len(other):
        if not (prim.list_get(self, i) == prim.list_get(other, i)):
            return False
        i += 1
    return True


@overload(list.__ne__)
def not_equal(self, other):
    return not equal(self, other)


def first_difference(self, other):
    i = 0
    while i < prim.list_len(self) and i < prim.list_len(other):
        if not (prim.list_get(self, i) == prim.list_get(other, i)):
            return i
        i += 1
    return -1


@overload(list.__lt__)
def less(self, other):
    i = first_difference(self, other)
    if i < 0:
        return prim.list_len(self) < prim.list_len(other)
    return prim.list_get(self, i) < prim.list_get(other, i)


@overload(list.__le__)
def less_equal(self, other):
    i = first_difference(self, other)
    if i < 0:
        return prim.list_len(self) <= prim.list_len(other)
    return prim.list_get(self, i) <= prim.list_get(other, i)


@overload(list.__gt__)
def greater(self, other):
    i = first_difference(self, other)
    if i < 0:
        return prim.list_len(self) > prim.list_len(other)
    return prim.list_get(self, i) > prim.list_get(other, i)


@overload(list.__ge__)
def greater_equal(self, other):
    i = first_difference(self, other)
    if i < 0:
        return prim.list_len(self) >= prim.list_len(other)
    return prim.list_get(self, i) >= prim.list_get(other, i)


# ---- sorting -----------------------------------------------------------------------------------


@overload(sorted)
def sorted_list(iterable, key=None, reverse=False):
    out = made_of(iterable)
    sort(out, key, reverse)
    return out


@overload(list.sort)
def sort(self, key=None, reverse=False):
    # Items that compare equal keep their order, also in reverse.
    if reverse:
        list.reverse(self)
    if key is None:
        sort_by(self, None)
    else:
        keys = []
        for x in self:
            prim.list_push(keys, key(x))
        sort_by(keys, self)
    if reverse:
        list.reverse(self)


def sort_by(keys, items):
    """Sorts keys, and items (if there are any) with them: short runs by insertion, then merged."""
    n = prim.list_len(keys)
    width = 16
    low = 0
    while low < n:
        sort_run(keys, items, low, min(low + width, n))
        low += width
    if width < n:
        left_keys = []
        left_items = []
        while width < n:
            low = 0
            while low + width < n:
                merge(keys, items, low, low + width, min(low + 2 * width, n), left_keys, left_items)
                low += 2 * width
            width *= 2


def sort_run(keys, items, low, high):
    for i in range(low + 1, high):
        k = prim.list_get(keys, i)
        j = i
        if items is None:
            while j > low and k < prim.list_get(keys, j - 1):
                prim.list_set(keys, j, prim.list_get(keys, j - 1))
                j -= 1
            prim.list_set(keys, j, k)
        else:
            x = prim.list_get(items, i)
            while j > low and k < prim.list_get(keys, j - 1):
                prim.list_set(keys, j, prim.list_get(keys, j - 1))
                prim.list_set(items, j, prim.list_get(items, j - 1))
                j -= 1
            prim.list_set(keys, j, k)
            prim.list_set(items, j, x)


def merge(keys, items, low, middle, high, left_keys, left_items):
    # Already in order, as in a list that is sorted: nothing to do.
    if prim.list_get(keys, middle) < prim.list_get(keys, middle - 1):
        prim.list_truncate(left_keys, 0)
        prim.list_truncate(left_items, 0)
        for i in range(low, middle):
            prim.list_push(left_keys, prim.list_get(keys, i))
            if items is not None:
                prim.list_push(left_items, prim.list_get(items, i))
        i = 0
        j = middle
        to = low
        while i < middle - low:
            if j < high and prim.list_get(keys, j) < prim.list_get(left_keys, i):
                prim.list_set(keys, to, prim.list_get(keys, j))
                if items is not None:
                    prim.list_set(items, to, prim.list_get(items, j))
                j += 1
            else:
                prim.list_set(keys, to, prim.list_get(left_keys, i))
                if items is not None:
                    prim.list_set(items, to, prim.list_get(left_items, i))
                i += 1
            to += 1
