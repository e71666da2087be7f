"""Indexing with arrays of integers and of bools.

The compiler brings the axes that arrays index to the front, and moves them back afterwards; here the first
``len(ids)`` axes of ``x`` are indexed by ``ids``, integer arrays of one shape.
"""

import numpy as np
from weft.lib import prim
from weft.lib.prim import overload
from weft.lib.reductions import as_array, axis_of


def flat(a):
    if a.ndim == 1:
        return a
    return a.ravel()


def pick(x, ids):
    first = flat(ids[0])
    n = first.size
    k = len(ids)
    out = prim.empty((n,) + x.shape[k:], prim.dtype_of(x))
    if k == 1:
        for j in range(n):
            out[j] = x[first[j]]
    elif k == 2:
        second = flat(ids[1])
        for j in range(n):
            out[j] = x[first[j], second[j]]
    elif k == 3:
        second, third = flat(ids[1]), flat(ids[2])
        for j in range(n):
            out[j] = x[first[j], second[j], third[j]]
    else:
        prim.refuse("more than three axes indexed by arrays are not supported yet")
    if ids[0].ndim == 1:
        return out
    return out.reshape(ids[0].shape + x.shape[k:])


def check(ids, shape):
    # All indices are looked at before the first element is written.
    for k, index in enumerate(ids):
        a = flat(index)
        for j in range(a.size):
            prim.check_index(a[j], shape[k], k)


def put(x, ids, v):
    # Indices and values are read as they were before the first element is written.
    k = len(ids)
    check(ids, x.shape)
    first = flat(prim.keep(ids[0], x))
    n = first.size
    if prim.is_array(v):
        target = ids[0].shape + x.shape[k:]
        values = prim.broadcast_to(prim.keep(v, x), target)
        if ids[0].ndim != 1:
            values = prim.copy(values).reshape((n,) + x.shape[k:])
        if k == 1:
            for j in range(n):
                x[first[j]] = values[j]
        elif k == 2:
            second = flat(prim.keep(ids[1], x))
            for j in range(n):
                x[first[j], second[j]] = values[j]
        elif k == 3:
            second, third = flat(prim.keep(ids[1], x)), flat(prim.keep(ids[2], x))
            for j in range(n):
                x[first[j], second[j], third[j]] = values[j]
        else:
            prim.refuse("more than three axes indexed by arrays are not supported yet")
    elif k == 1:
        for j in range(n):
            x[first[j]] = v
    elif k == 2:
        second = flat(prim.keep(ids[1], x))
        for j in range(n):
            x[first[j], second[j]] = v
    elif k == 3:
        second, third = flat(prim.keep(ids[1], x)), flat(prim.keep(ids[2], x))
        for j in range(n):
            x[first[j], second[j], third[j]] = v
    else:
        prim.refuse("more than three axes indexed by arrays are not supported yet")


def pick_if(x, condition):
    # A bool as an index is a new axis, with one place or none.
    return prim.copy(x[None][: 1 if condition else 0])


def put_if(x, condition, v):
    x[None][: 1 if condition else 0] = v


def put_mask(x, mask, v):
    # A number into the places of a mask of one axis.
    chosen = prim.keep(mask, x)
    for j in range(chosen.size):
        if chosen[j]:
            x[j] = v


def together(a, b):
    # Two index arrays, or an array and an integer, in one shape.
    return a + b * 0


@overload(np.nonzero, np.ndarray.nonzero)
def nonzero(a):
    n = 0
    if a.ndim == 1:
        for j in range(a.shape[0]):
            if a[j]:
                n += 1
        first = np.empty(n, np.int64)
        k = 0
        for j in range(a.shape[0]):
            if a[j]:
                first[k] = j
                k += 1
        return (first,)
    if a.ndim == 2:
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                if a[i, j]:
                    n += 1
        first, second = np.empty(n, np.int64), np.empty(n, np.int64)
        k = 0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                if a[i, j]:
                    first[k] = i
                    second[k] = j
                    k += 1
        return first, second
    if a.ndim == 3:
        for h in range(a.shape[0]):
            for i in range(a.shape[1]):
                for j in range(a.shape[2]):
                    if a[h, i, j]:
                        n += 1
        first, second, third = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        k = 0
        for h in range(a.shape[0]):
            for i in range(a.shape[1]):
                for j in range(a.shape[2]):
                    if a[h, i, j]:
                        first[k] = h
                        second[k] = i
                        third[k] = j
                        k += 1
        return first, second, third
    prim.refuse("np.nonzero of so many dimensions is not supported yet")


@overload(np.flatnonzero)
def flatnonzero(a):
    return nonzero(a.ravel())[0]


@overload(np.argwhere)
def argwhere(a):
    found = nonzero(a)
    out = np.empty((found[0].size, len(found)), np.int64)
    for k, index in enumerate(found):
        out[:, k] = index
    return out


@overload(np.take, np.ndarray.take)
def take(a, indices, axis=None):
    x = as_array(a)
    kind = prim.dtype_of(indices)
    # Floats are cast where they are no array yet.
    if prim.is_kind(kind, "c") or prim.is_array(indices) and prim.is_kind(kind, "f"):
        raise TypeError("Cannot cast array data to dtype('int64') according to the rule 'same_kind'")
    ids = prim.as_dtype(as_array(indices), int)
    if not prim.is_array(indices) and ids.ndim == 0:
        # A number stays one: it takes its axis away.
        ids = prim.item(ids)
    if axis is None:
        return x.ravel()[ids]
    if x.ndim == 0:
        axis_of(axis, 1)
        return take(x[None], ids, 0)
    part = x[(slice(None),) * axis_of(axis, x.ndim) + (ids,)]
    # Always elements of their own.
    is_view = not prim.is_array(ids) or ids.ndim == 0
    return prim.copy(part) if is_view and prim.is_array(part) else part


@overload(np.compress)
def compress(condition, a):
    return a[np.flatnonzero(condition)]


@overload(np.ndarray.__contains__)
def contains(a, x):
    for v in flat(a):
        if v == x:
            return True
    return False
