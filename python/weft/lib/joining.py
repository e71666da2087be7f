"""Arrays put together, repeated, turned around, and parts of matrices."""

import numpy as np
import weft
from weft.lib import prim
from weft.lib.prim import elementwise_array, overload
from weft.lib.reductions import as_array, as_places, axis_of


def common_dtype(arrays):
    if len(arrays) == 1:
        return prim.dtype_of(arrays[0])
    return prim.promote_dtypes(prim.dtype_of(arrays[0]), common_dtype(arrays[1:]))


def each_as_array(arrays):
    if len(arrays) == 0:
        return ()
    return (as_array(arrays[0]),) + each_as_array(arrays[1:])


def each_flat(arrays):
    if len(arrays) == 0:
        return ()
    return (prim.reshape(arrays[0], (-1,)),) + each_flat(arrays[1:])


def each_expanded(arrays, axis):
    if len(arrays) == 0:
        return ()
    return (prim.expand_dims(arrays[0], axis),) + each_expanded(arrays[1:], axis)


def each_deep(arrays):
    """With at least two axes, the first of which is new."""
    if len(arrays) == 0:
        return ()
    return (np.atleast_2d(arrays[0]),) + each_deep(arrays[1:])


def each_line(arrays):
    """With at least one axis."""
    if len(arrays) == 0:
        return ()
    return (np.atleast_1d(arrays[0]),) + each_line(arrays[1:])


def each_column(arrays):
    if len(arrays) == 0:
        return ()
    first = np.atleast_1d(arrays[0])
    return (first[:, None] if first.ndim == 1 else first,) + each_column(arrays[1:])


def check_alike(first, x, at, axis):
    """Sizes off the axis must be the same."""
    if x.ndim != first.ndim:
        raise ValueError(
            "all the input arrays must have same number of dimensions, but the array at index 0 has "
            f"{first.ndim} dimension(s) and the array at index {at} has {x.ndim} dimension(s)"
        )
    for k, n in enumerate(first.shape):
        if k != axis and x.shape[k] != n:
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match exactly, but along "
                f"dimension {k}, the array at index 0 has size {n} and the array at index {at} has size {x.shape[k]}"
            )


def joined(arrays, axis, kind):
    """The items one after the other along an axis."""
    first = arrays[0]
    if first.ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = axis_of(axis, first.ndim)
    n = 0
    for at, x in enumerate(arrays):
        check_alike(first, x, at, axis)
        n = n + x.shape[axis]
    result = prim.empty(first.shape[:axis] + (n,) + first.shape[axis + 1 :], kind)
    place = prim.swap(result, axis, 0)
    at = 0
    for x in arrays:
        place[at : at + x.shape[axis]] = prim.swap(x, axis, 0)
        at = at + x.shape[axis]
    return result


def joined_list(arrays, axis, kind):
    """The items of a list one after the other along an axis."""
    if len(arrays) == 0:
        raise ValueError("need at least one array to concatenate")
    return joined(arrays, axis, kind)


def finished(result, out):
    if out is None:
        return result
    return prim.store_result("concatenate", out, result)


@overload(np.concatenate, np.concat)
def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    if prim.list_is(arrays):
        kind = prim.dtype_of(arrays) if dtype is None else prim.dtype(dtype)
        if axis is None:
            prim.refuse("np.concatenate of a list with axis=None is not supported yet", "pass a tuple of arrays")
        return finished(joined_list(arrays, axis, kind), out)
    if prim.is_array(arrays):
        rows = [arrays[i] for i in range(arrays.shape[0])]
        return finished(joined_list(rows, axis, prim.dtype_of(arrays) if dtype is None else prim.dtype(dtype)), out)
    if len(arrays) == 0:
        raise ValueError("need at least one array to concatenate")
    items = each_as_array(arrays)
    kind = common_dtype(items) if dtype is None else prim.dtype(dtype)
    if axis is None:
        return finished(joined(each_flat(items), 0, kind), out)
    return finished(joined(items, axis, kind), out)


def check_same_shape(items):
    for x in items:
        if x.ndim != items[0].ndim:
            raise ValueError("all input arrays must have the same shape")
        if x.shape != items[0].shape:
            raise ValueError("all input arrays must have the same shape")


def rows_of(arrays):
    """What a function of several arrays is given: an array is its rows."""
    if not prim.is_array(arrays):
        return arrays
    if arrays.ndim == 0:
        prim.undefined("iteration over a 0-d array")
    return [arrays[i] for i in range(arrays.shape[0])]


def check_some(arrays, what):
    if len(arrays) == 0:
        raise ValueError("need at least one array to " + what)


@overload(np.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    if prim.list_is(arrays):
        check_some(arrays, "stack")
        check_same_shape(arrays)
        rows = [prim.expand_dims(x, axis) for x in arrays]
        return concatenate(rows, axis, out, dtype=dtype)
    if prim.is_array(arrays) and arrays.ndim > 0:
        check_some(arrays, "stack")
        return np.moveaxis(prim.copy(arrays), 0, axis)
    if prim.is_array(arrays):
        prim.undefined("iteration over a 0-d array")
    items = each_as_array(arrays)
    if len(items) == 0:
        raise ValueError("need at least one array to stack")
    check_same_shape(items)
    return concatenate(each_expanded(items, axis), axis, out, dtype=dtype)


@overload(np.vstack)
def vstack(tup, *, dtype=None, casting="same_kind"):
    tup = rows_of(tup)
    check_some(tup, "concatenate")
    if prim.list_is(tup):
        return concatenate([np.atleast_2d(x) for x in tup], 0, dtype=dtype)
    return concatenate(each_deep(each_as_array(tup)), 0, dtype=dtype)


@overload(np.hstack)
def hstack(tup, *, dtype=None, casting="same_kind"):
    tup = rows_of(tup)
    check_some(tup, "concatenate")
    if prim.list_is(tup):
        rows = [np.atleast_1d(x) for x in tup]
        return concatenate(rows, 0 if rows[0].ndim == 1 else 1, dtype=dtype)
    items = each_line(each_as_array(tup))
    return concatenate(items, 0 if items[0].ndim == 1 else 1, dtype=dtype)


@overload(np.column_stack)
def column_stack(tup):
    tup = rows_of(tup)
    check_some(tup, "concatenate")
    if prim.list_is(tup):
        return concatenate([each_column((x,))[0] for x in tup], 1)
    return concatenate(each_column(each_as_array(tup)), 1)


@overload(np.append)
def append(arr, values, axis=None):
    x = as_array(arr)
    y = as_array(values)
    if axis is None:
        return concatenate((prim.reshape(x, (-1,)), prim.reshape(y, (-1,))), 0)
    return concatenate((x, y), axis)


@overload(np.atleast_2d)
def atleast_2d(a):
    x = as_array(a)
    if x.ndim == 0:
        return x[None, None]
    if x.ndim == 1:
        return x[None, :]
    return x


@overload(np.moveaxis)
def moveaxis(a, source, destination):
    if prim.is_tuple(source) or prim.is_tuple(destination):
        return prim.refuse("np.moveaxis of several axes is not supported yet", "call it once for each, or np.transpose")
    source = axis_of(source, a.ndim)
    destination = axis_of(destination, a.ndim)
    return prim.permute(a, shifted(source, destination, 0, a.ndim))


def shifted(source, destination, at, rank):
    """The axes in order, from place `at` on, with one of them moved."""
    if at == rank:
        return ()
    if at == destination:
        axis = source
    elif source <= at and at < destination:
        axis = at + 1
    elif destination < at and at <= source:
        axis = at - 1
    else:
        axis = at
    return (axis,) + shifted(source, destination, at + 1, rank)


@overload(np.broadcast_to)
def broadcast_to(array, shape, subok=False):
    return prim.read_only(prim.broadcast_to(as_array(array), shape if prim.is_tuple(shape) else (shape,)))


def flipped(m, axis):
    return prim.swap(prim.swap(m, axis, 0)[::-1], axis, 0)


def flipped_all(m, axis):
    """The axes from `axis` on."""
    if axis == m.ndim:
        return m
    return flipped_all(flipped(m, axis), axis + 1)


@overload(np.flip)
def flip(m, axis=None):
    x = as_array(m)
    if axis is None:
        # Of no axis it is an element.
        return flipped_all(x, 0) if x.ndim > 0 else x[()]
    if prim.is_tuple(axis):
        if x.ndim == 0 and len(axis) == 0:
            return x[()]
        return flipped_each(x[...], axis, ())
    return flipped(x, axis)


def flipped_each(m, axes, seen):
    if len(axes) == 0:
        return m
    axis = axis_of(axes[0], m.ndim)
    if axis in seen:
        raise ValueError("repeated axis")
    return flipped_each(flipped(m, axis), axes[1:], seen + (axis,))


@overload(np.flipud)
def flipud(m):
    x = as_array(m)
    if x.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flipped(x, 0)


@overload(np.fliplr)
def fliplr(m):
    x = as_array(m)
    if x.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flipped(x, 1)


def rolled(x, shift, axis):
    axis = axis_of(axis, x.ndim)
    result = prim.empty(x.shape, prim.dtype_of(x))
    n = x.shape[axis]
    if n > 0:
        k = shift % n
        source = prim.swap(x, axis, 0)
        place = prim.swap(result, axis, 0)
        place[k:] = source[: n - k]
        place[:k] = source[n - k :]
    return result


def rolled_each(x, shift, axes):
    if len(axes) == 0:
        return x
    if prim.is_tuple(shift):
        return rolled_each(rolled(x, shift[0], axes[0]), shift[1:], axes[1:])
    return rolled_each(rolled(x, shift, axes[0]), shift, axes[1:])


@overload(np.roll)
def roll(a, shift, axis=None):
    x = as_array(a)
    if axis is None:
        return prim.reshape(rolled(prim.reshape(x, (-1,)), shift, 0), x.shape)
    if prim.is_tuple(axis):
        return rolled_each(x, shift, axis)
    return rolled(x, shift, axis)


@overload(np.repeat, np.ndarray.repeat)
def repeat(a, repeats, axis=None):
    x = as_array(a)
    if axis is None:
        return repeat(prim.reshape(x, (-1,)), repeats, 0)
    if x.ndim == 0:
        return repeat(x[None], repeats, axis)
    if prim.list_is(repeats) or prim.is_tuple(repeats):
        return repeat(x, prim.as_dtype(prim.array(repeats, None), int), axis)
    # Floats are cast where they are no array yet.
    if prim.is_array(repeats) and prim.is_kind(prim.dtype_of(repeats), "fc"):
        prim.undefined("Cannot cast array data to dtype('int64') according to the rule 'safe'")
    axis = axis_of(axis, x.ndim)
    n = x.shape[axis]
    if prim.is_array(repeats) and repeats.ndim > 0:
        return repeated_each(x, repeats, axis)
    count = int(repeats)
    if count < 0:
        raise ValueError("negative dimensions are not allowed")
    result = prim.empty(x.shape[:axis] + (n * count,) + x.shape[axis + 1 :], prim.dtype_of(x))
    parts = prim.reshape(result, x.shape[:axis] + (n, count) + x.shape[axis + 1 :])
    parts[...] = prim.expand_dims(x, axis + 1)
    return result


def repeated_each(x, repeats, axis):
    n = x.shape[axis]
    if repeats.shape[0] != n and repeats.shape[0] != 1:
        raise ValueError(f"operands could not be broadcast together with shape ({n},) ({repeats.shape[0]},)")
    counts = prim.broadcast_to(repeats, (n,))
    total = 0
    for i in range(n):
        if counts[i] < 0:
            raise ValueError("repeats may not contain negative values.")
        total = total + int(counts[i])
    result = prim.empty(x.shape[:axis] + (total,) + x.shape[axis + 1 :], prim.dtype_of(x))
    place = prim.swap(result, axis, 0)
    source = prim.swap(x, axis, 0)
    at = 0
    for i in range(n):
        for _ in range(int(counts[i])):
            place[at] = source[i]
            at = at + 1
    return result


@overload(np.tile)
def tile(A, reps):
    x = as_array(A)
    if prim.is_array(reps) or prim.list_is(reps):
        prim.refuse("np.tile with a run-time number of repetitions is not supported yet", "write them as a tuple")
    if not prim.is_tuple(reps):
        reps = (reps,)
    if len(reps) < x.ndim:
        reps = (1,) * (x.ndim - len(reps)) + reps
    shape = (1,) * (len(reps) - x.ndim) + x.shape
    result = prim.empty(each_product(shape, reps), prim.dtype_of(x))
    parts = prim.reshape(result, woven(reps, shape))
    parts[...] = prim.reshape(x, woven((1,) * len(reps), shape))
    return result


def each_product(a, b):
    if len(a) == 0:
        return ()
    return (a[0] * b[0],) + each_product(a[1:], b[1:])


def woven(a, b):
    """Taken from both in turn."""
    if len(a) == 0:
        return ()
    return (a[0], b[0]) + woven(a[1:], b[1:])


# ---- parts of matrices --------------------------------------------------------------------------


@elementwise_array
def _upper(m, k, row, column):
    return prim.select(prim.position(column) - prim.position(row) >= k, m, prim.cast_like(0, m))


@elementwise_array
def _lower(m, k, row, column):
    return prim.select(prim.position(column) - prim.position(row) <= k, m, prim.cast_like(0, m))


def whole_diagonal(k):
    if not prim.is_kind(prim.dtype_of(k), "bui"):
        # What NumPy makes of it depends on how its parts round.
        return prim.refuse("the number of a diagonal is an int", "write int(k)")
    return k


def matrix_of(m):
    x = as_array(m)
    if x.ndim == 0:
        prim.undefined("tri() missing 1 required positional argument: 'N'")
    return prim.broadcast_to(x, (x.shape[0], x.shape[0])) if x.ndim == 1 else x


@overload(np.triu)
def triu(m, k=0):
    x = matrix_of(m)
    return _upper(x, whole_diagonal(k), x.ndim - 2, x.ndim - 1)


@overload(np.tril)
def tril(m, k=0):
    x = matrix_of(m)
    return _lower(x, whole_diagonal(k), x.ndim - 2, x.ndim - 1)


@overload(np.tri)
def tri(N, M=None, k=0, dtype=None):
    # A negative size is none.
    rows, columns = max(N, 0), max(N if M is None else M, 0)
    return tril(np.ones((rows, columns), dtype), k)


def diagonal_length(rows, columns, k):
    return max(0, min(rows, columns - k) if k >= 0 else min(rows + k, columns))


@overload(np.diagonal, np.ndarray.diagonal)
def diagonal(a, offset=0, axis1=0, axis2=1):
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    if a.ndim > 2:
        prim.refuse("np.diagonal of more than two dimensions is not supported yet")
    x = a if axis_of(axis1, 2) < axis_of(axis2, 2) else prim.permute(a, None)
    n = diagonal_length(x.shape[0], x.shape[1], offset)
    result = prim.empty((n,), prim.dtype_of(a))
    for i in range(n):
        result[i] = x[i + max(-offset, 0), i + max(offset, 0)]
    return result


@overload(np.diag)
def diag(v, k=0):
    x = as_array(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = x.shape[0] + abs(k)
    result = prim.zeros((n, n), prim.dtype_of(x))
    for i in range(x.shape[0]):
        result[i + max(-k, 0), i + max(k, 0)] = x[i]
    return result


@overload(np.trace, np.ndarray.trace)
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return np.sum(diagonal(a, offset, axis1, axis2), None, dtype, out)


# ---- grids --------------------------------------------------------------------------------------


def stepped(bounds):
    """The numbers of a slice of `np.mgrid`."""
    start = 0 if bounds.start is None else bounds.start
    step = 1 if bounds.step is None else bounds.step
    return np.arange(start, bounds.stop, step)


def each_stepped(slices):
    if len(slices) == 0:
        return ()
    return (stepped(slices[0]),) + each_stepped(slices[1:])


def each_length(numbers):
    if len(numbers) == 0:
        return ()
    return (numbers[0].shape[0],) + each_length(numbers[1:])


@overload(np.mgrid)
def mgrid(slices):
    """`np.mgrid[0:n, 0:m]`: the indices along each axis, as one array."""
    if not prim.is_tuple(slices):
        return stepped(slices)
    numbers = each_stepped(slices)
    result = prim.empty((len(numbers),) + each_length(numbers), common_dtype(numbers))
    for k, x in enumerate(numbers):
        result[k] = prim.reshape(x, (x.shape[0],) + (1,) * (len(numbers) - k - 1))
    return result


# ---- counting -----------------------------------------------------------------------------------


@overload(np.bincount)
def bincount(x, /, weights=None, minlength=0):
    flat_only(as_array(x))
    places = as_places(x)
    n = counted_at_least(minlength)
    for i in range(places.shape[0]):
        place = int(places[i])
        if place < 0:
            raise ValueError("'list' argument must have no negative elements")
        n = max(n, place + 1)
    if weights is None:
        counts = prim.zeros((n,), int)
        for i in range(places.shape[0]):
            counts[places[i]] += 1
        return counts
    values = as_array(weights)
    if prim.is_kind(prim.dtype_of(values), "c"):
        raise TypeError("Cannot cast array data to dtype('float64') according to the rule 'safe'")
    flat_only(values)
    if values.shape[0] != places.shape[0]:
        raise ValueError("The weights and list don't have the same length.")
    totals = prim.zeros((n,), float)
    for i in range(places.shape[0]):
        totals[places[i]] += prim.as_dtype(values[i], float)
    return totals


def counted_at_least(minlength):
    if minlength is None:
        prim.undefined("'NoneType' object cannot be interpreted as an integer")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    return int(minlength)


def flat_only(x):
    if x.ndim > 1:
        raise ValueError("object too deep for desired array")
    if x.ndim == 0:
        raise ValueError("object of too small depth for desired array")


def bin_range(x, range):
    """The first and the last edge of bins of one width."""
    if range is not None:
        first, last = float(range[0]), float(range[1])
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
        if first - first != 0.0 or last - last != 0.0:
            raise ValueError(f"supplied range of [{first}, {last}] is not finite")
    elif x.size == 0:
        first, last = 0.0, 1.0
    else:
        first, last = float(x.min()), float(x.max())
        if first - first != 0.0 or last - last != 0.0:
            raise ValueError(f"autodetected range of [{first}, {last}] is not finite")
    if first == last:
        first = first - 0.5
        last = last + 0.5
    return first, last


def edges_kind(x):
    """The dtype of the edges of bins for these numbers."""
    if prim.kind(x) == "float":
        return prim.dtype_of(x)
    return prim.dtype(float)


@overload(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    x = prim.reshape(as_array(a), (-1,))
    if weights is not None:
        weights = as_array(weights)
    if prim.list_is(bins) or prim.is_tuple(bins):
        bins = prim.array(bins, None)
    kind = prim.dtype(int) if weights is None else prim.dtype_of(weights)
    if prim.is_array(bins):
        edges = bins
        counts = prim.zeros((max(bins.shape[0] - 1, 0),), kind)
        in_bins(x, edges, counts, weights)
    else:
        if bins < 1:
            raise ValueError("`bins` must be positive, when an integer")
        lowest, highest = bin_range(x, range)
        first, last = prim.as_dtype(lowest, edges_kind(x)), prim.as_dtype(highest, edges_kind(x))
        edges = np.linspace(first, last, bins + 1)
        check_edges(edges, bins)
        counts = prim.zeros((bins,), kind)
        in_equal_bins(x, edges, counts, weights, first, last)
    if density:
        return counts / prim.as_dtype(np.diff(edges), float) / counts.sum(), edges
    return counts, edges


def check_edges(edges, bins):
    for i in range(bins):
        if edges[i] >= edges[i + 1]:
            raise ValueError(f"Too many bins for data range. Cannot create {bins} finite-sized bins.")


def in_equal_bins(x, edges, counts, weights, first, last):
    values = None if weights is None else prim.reshape(weights, (-1,))
    # NumPy adds up so many at a time: each part has counts of its own, and they are added up in order.
    bins = counts.shape[0]
    # Whole numbers have one sum in any order: smaller parts are shared out more evenly.
    size = max(16384, bins) if weights is None else 65536
    count = (x.shape[0] + size - 1) // size
    # Few at once where there are many bins: what the parts have of their own should be small.
    together = max(1, min(count, 16, 2**20 // bins))
    parts = prim.zeros((together, bins), prim.dtype_of(counts))
    for begin in range(0, count, together):
        some = min(count - begin, together)
        for k in weft.prange(some):
            start = (begin + k) * size
            part = parts[k]
            part[:] = 0
            weighed = None if values is None else values[start : start + size]
            fill_equal_bins(x[start : start + size], edges, part, weighed, first, last)
        for k in range(some):
            counts += parts[k]


def fill_equal_bins(x, edges, counts, values, first, last):
    n = counts.shape[0]
    part = prim.as_dtype(x, prim.dtype_of(edges))
    scaled = (part - first) / (last - first) * n
    found = np.trunc(scaled)
    # Far enough from both edges the division is right, whatever was rounded: only others are compared with the edges.
    rest = scaled - found
    margin = prim.as_dtype(bin_margin(part, n, float(first), float(last)), prim.dtype_of(edges))
    surely = (part >= first) & (part <= last) & (rest > margin) & (rest < 1 - margin)
    bins = np.where(surely, prim.as_dtype(found, np.int32), -1)
    for i in range(part.shape[0]):
        k = int(bins[i])
        if k < 0:
            k = careful_bin(x[i], part[i], edges, n, first, last)
        if k >= 0:
            if values is None:
                counts[k] += 1
            else:
                counts[k] += values[i]


def bin_margin(x, n, first, last):
    """How much of a bin rounding can make of a number's place in it, and of where the edges are."""
    width = last - first
    # Half of the distance from 1 to the next float. Halves, and widths near the smallest float, are rounded more;
    # and the number of a bin may be too large for 32 bits.
    unit = 2.0**-53 if prim.size(x) == 8 else 2.0**-24
    if prim.size(x) == 2 or width / n < 1e-30 or n >= 2**31:
        return 1.0
    # Four roundings of the place; three of the width and one of its own for an edge. Twice that is more than enough.
    return 32.0 * n * unit * max(abs(first), abs(last)) / width


def careful_bin(x, v, edges, n, first, last):
    """The bin of a number, -1 if it is in none; `v` is the number in the dtype of the edges."""
    if x >= first and x <= last:
        k = min(int(prim.as_dtype((v - first) / (last - first) * n, int)), n - 1)
        # The division may be off by one step at an edge.
        if v < edges[k]:
            k = k - 1
        if v >= edges[k + 1] and k != n - 1:
            k = k + 1
        return k
    return -1


def in_bins(x, edges, counts, weights):
    n = counts.shape[0]
    values = None if weights is None else prim.reshape(weights, (-1,))
    for i in range(n):
        if edges[i] > edges[i + 1]:
            raise ValueError("`bins` must increase monotonically, when an array")
    for i in range(x.shape[0]):
        v = x[i]
        if n > 0 and v >= edges[0] and v <= edges[n]:
            low, high = 0, n
            while high - low > 1:
                middle = (low + high) // 2
                if v >= edges[middle]:
                    low = middle
                else:
                    high = middle
            if values is None:
                counts[low] += 1
            else:
                counts[low] += values[i]
