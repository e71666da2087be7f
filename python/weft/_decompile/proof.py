"""Whether two code objects do the same: the same steps in the same order, whichever way their branches go.

Both are walked side by side. Where they agree at each step, with the same names, constants and handlers of exceptions,
until all pairs of places that can be reached were seen, no run can tell one from the other. Where the compiler has laid
out blocks, copied a short end or threaded jumps does not matter.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from weft._decompile.steps import Step, Undone, read

# *args, **kwargs, generator, coroutine, asynchronous generator.
_KIND = 0x04 | 0x08 | 0x20 | 0x80 | 0x200


def same(code: CodeType, other: CodeType) -> bool:
    """Whether two code objects do the same. Their own names may differ, and those of functions inside may not."""
    if _signature(code) != _signature(other):
        return False
    try:
        (steps, first), (others, other_first) = read(code), read(other)
    except Undone:
        return False
    seen: set[tuple[int, int]] = set()
    waiting = [(first, other_first)]
    while waiting:
        pair = waiting.pop()
        if pair in seen:
            continue
        seen.add(pair)
        a, b = steps[pair[0]], others[pair[1]]
        if not _agree(a, b):
            return False
        waiting += zip(a.next, b.next, strict=True)
        if a.handler and b.handler:
            waiting.append((a.handler[0], b.handler[0]))
    return True


def _signature(code: CodeType) -> tuple[Any, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return (
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags & _KIND,
        code.co_varnames[:count],
        {*code.co_freevars},
        {*code.co_cellvars},
    )


def _agree(a: Step, b: Step) -> bool:
    if a.op != b.op or len(a.next) != len(b.next) or (a.handler is None) != (b.handler is None):
        return False
    if a.handler and b.handler and a.handler[1:] != b.handler[1:]:
        return False
    if isinstance(a.arg, CodeType) and isinstance(b.arg, CodeType):
        return a.arg.co_name == b.arg.co_name and same(a.arg, b.arg)
    return constant_key(a.arg) == constant_key(b.arg)


def constant_key(value: Any) -> Any:
    """Equal for constants that are the same: 1 is neither 1.0 nor True, and 0.0 is not -0.0."""
    if isinstance(value, tuple):
        return tuple, tuple(map(constant_key, value))
    if isinstance(value, frozenset):
        return frozenset, frozenset(map(constant_key, value))
    if isinstance(value, CodeType):
        return CodeType, id(value)
    return type(value), repr(value)
