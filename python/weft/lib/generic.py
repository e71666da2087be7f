"""`weft.generic`: a contraction by its iterators, maps and body."""

import weft
from weft.lib import prim
from weft.lib.prim import overload


@overload(weft.generic)
def generic(inputs, init, iterators, maps, body):
    return prim.generic(inputs, init, iterators, maps, body)


def nest(arrays, walked, sizes, body):
    """One loop for each of `walked`, which says which arrays have that iterator as their first axis."""
    if len(walked) == 0:
        prim.step(arrays, body)
    else:
        for k in range(sizes[0]):
            nest(prim.walked(arrays, walked[0], k), walked[1:], sizes[1:], body)
