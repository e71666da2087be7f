"""`weft.generic`: a contraction stated as one operation."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

_MAP = re.compile(r"\s*\(([^()]*)\)\s*->\s*\(([^()]*)\)\s*")


def generic(
    inputs: tuple[Any, ...],
    init: Any,
    iterators: Sequence[str],
    maps: Sequence[str],
    body: Callable[..., Any],
) -> Any:
    """A new array: `init`, in which `body` has replaced elements step by step.

    The iterators run over all combinations of their values, reductions innermost and in order. In each step `body`
    gets an element of every input and of the result, and what it returns takes the place of the latter. `maps` say
    which: one for each input and one for the result, as ``"(d0, d1, d2) -> (d0, d2)"``. Every "parallel" iterator is an
    axis of the result, no "reduction" is; an iterator has the size of the axes that it runs along.

    In compiled code `iterators` and `maps` are tuples of constant strings, and the whole is compiled as loops around
    one array expression. Outside, this function does the same, slowly.
    """
    if len(maps) != len(inputs) + 1:
        raise ValueError(
            f"generic() needs a map for each input and one for the result: {len(inputs) + 1}, not {len(maps)}"
        )
    for kind in iterators:
        if kind not in ("parallel", "reduction"):
            raise ValueError(f'generic(): "{kind}" is no kind of iterator')
    read = [_axes(text, len(iterators)) for text in maps]
    parallel = [k for k, kind in enumerate(iterators) if kind == "parallel"]
    if sorted(read[-1]) != parallel:
        raise ValueError("generic(): the result's map must name each parallel iterator once, and no other")
    result = copy.deepcopy(init)
    arrays = [*inputs, result]
    sizes: dict[int, int] = {}
    for x, axes, text in zip(arrays, read, maps, strict=True):
        if x.ndim != len(axes):
            raise ValueError(f'generic(): the map "{text}" has {len(axes)} axes, its array {x.ndim}')
        for k, n in zip(axes, x.shape, strict=True):
            if sizes.setdefault(k, n) != n:
                raise ValueError(f"generic(): iterator d{k} has the sizes {sizes[k]} and {n}")
    for k in range(len(iterators)):
        if k not in sizes:
            raise ValueError(f"generic(): no map names iterator d{k}, so it has no size")
    order = parallel + [k for k in range(len(iterators)) if k not in parallel]
    for values in itertools.product(*(range(sizes[k]) for k in order)):
        at = dict(zip(order, values, strict=True))
        places = [tuple(at[k] for k in axes) for axes in read]
        result[places[-1]] = body(*(x[place] for x, place in zip(arrays, places, strict=True)))
    return result


def _axes(text: str, iterators: int) -> list[int]:
    """The iterators along the axes of a map's array."""
    found = _MAP.fullmatch(text)
    names = [[n.strip() for n in part.split(",") if n.strip()] for part in found.groups()] if found else []
    if not names or len(names[0]) != iterators or len(set(names[1])) != len(names[1]) or set(names[1]) - set(names[0]):
        raise ValueError(f'generic(): "{text}" is no map of {iterators} iterators')
    return [names[0].index(n) for n in names[1]]
