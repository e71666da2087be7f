"""Bytecode as steps: one form for CPython 3.11, 3.12 and 3.13.

In comes a code object; out come its steps in order, each of which knows what is next. What says nothing about the
program is gone (jumps, NOPs, caches, the setting up of frames), and instructions that do two things are two steps.
"""

from __future__ import annotations

import dis
import itertools
import sys
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

# Line, last line, column, last column; what is not known is None.
Place = tuple[int | None, int | None, int | None, int | None]
NOWHERE: Place = (None, None, None, None)

KNOWN = ((3, 11), (3, 12), (3, 13))
VERSION = sys.version_info[:2]

_DROPPED = frozenset(
    "NOP CACHE PRECALL EXTENDED_ARG RESUME TO_BOOL MAKE_CELL COPY_FREE_VARS END_FOR GEN_START KW_NAMES".split()
)
_LEAVES = frozenset(("RETURN_VALUE", "RAISE_VARARGS", "RERAISE"))
_INTRINSICS = {3: "STOPITERATION_ERROR", 5: "UNARY_POSITIVE", 6: "LIST_TO_TUPLE"}


class Undone(Exception):
    """This code is not rebuilt: it does something that the decompiler does not know."""


@dataclass(slots=True)
class Step:
    op: str
    arg: Any
    place: Place
    offset: int
    # Indices of the steps that may follow: one; (if true, if false) for BRANCH; (body, exit) for FOR_ITER; or none.
    next: list[int] = field(default_factory=list)
    # Where an exception goes: the step, the height of the stack, and whether the instruction is pushed.
    handler: tuple[int, int, bool] | None = None
    # The offset that the instruction names, where there is one.
    jump: int | None = None
    # The `try` statements in whose body the step is, by the numbers of their handlers.
    guard: frozenset[int] = frozenset()


def read(code: CodeType) -> tuple[list[Step], int]:
    """The steps of a code object, and which is the first."""
    if VERSION not in KNOWN:
        raise Undone
    steps: list[Step] = []
    at: dict[int, int] = {}
    names: tuple[str, ...] = ()
    after_end_for = False
    for i in dis.get_instructions(code):
        at[i.offset] = len(steps)
        if i.opname == "KW_NAMES":
            names = code.co_consts[i.arg or 0]
        # 3.13 pops the iterator by itself.
        dropped = i.opname in _DROPPED or (after_end_for and VERSION >= (3, 13))
        after_end_for = i.opname == "END_FOR"
        if dropped:
            continue
        place: Place = tuple(i.positions) if i.positions else NOWHERE  # type: ignore[assignment]
        for op, arg, jump in _parts(i, names):
            steps.append(Step(op, arg, place, i.offset, jump=jump))
        if i.opname == "CALL":
            names = ()
    at[len(code.co_code)] = len(steps)
    _connect(steps, at)
    _handlers(code, steps, at)
    return steps, _goal(steps, 0)


def _forget_silent_ends(steps: list[Step]) -> None:
    """The `return None` that nobody wrote stands in many copies, each at the place of what comes before it."""
    before: dict[int, list[Place]] = {}
    for step in steps:
        for n in step.next:
            before.setdefault(n, []).append(step.place)
    for k, (load, leave) in enumerate(itertools.pairwise(steps)):
        if load.op == "LOAD_CONST" and load.arg is None and leave.op == "RETURN_VALUE":
            if load.place[0] is None or load.place in before.get(k, ()):
                load.place = leave.place = NOWHERE


def _parts(i: dis.Instruction, names: tuple[str, ...]) -> list[tuple[str, Any, int | None]]:
    """What an instruction does: operations with their arguments, and where they jump."""
    op, arg, raw = i.opname, i.argval, i.arg or 0
    if op.startswith("POP_JUMP_"):
        kind = "none" if op.endswith("_NONE") else "true"
        return [("BRANCH", (kind, op.endswith(("_TRUE", "IF_NONE"))), arg)]
    if op.startswith("JUMP_IF_"):
        return [("COPY", 1, None), ("BRANCH", ("true", "_TRUE_" in op), arg), ("POP_TOP", None, None)]
    if op.startswith("JUMP_"):
        return [("JUMP", None, arg)]
    if op in ("FOR_ITER", "SEND"):
        return [(op, None, arg)]
    if op == "RETURN_CONST":
        return [("LOAD_CONST", arg, None), ("RETURN_VALUE", None, None)]
    if op == "RETURN_GENERATOR":
        return [(op, None, None)]
    if op in ("LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"):
        return [
            (f"{half}_FAST", name, None) for half, name in zip(op.replace("_FAST", "").split("_"), arg, strict=True)
        ]
    if op == "LOAD_FAST_CHECK":
        return [("LOAD_FAST", arg, None)]
    if op == "LOAD_GLOBAL":
        load: tuple[str, Any, int | None] = (op, arg, None)
        if not raw & 1:
            return [load]
        null: tuple[str, Any, int | None] = ("PUSH_NULL", None, None)
        return [load, null] if VERSION >= (3, 13) else [null, load]
    if op == "LOAD_ATTR" and VERSION >= (3, 12) and raw & 1:
        return [("LOAD_METHOD", arg, None)]
    if op == "CALL":
        return [(op, (raw, names), None)]
    if op == "CALL_INTRINSIC_1":
        return [(_INTRINSICS.get(raw, f"INTRINSIC_{raw}"), None, None)]
    if op == "BINARY_OP":
        return [(op, i.argrepr, None)]
    if op == "FORMAT_VALUE":
        return [(op, raw, None)]
    if op in ("YIELD_VALUE", "RETURN_VALUE"):
        return [(op, None, None)]
    return [(op, arg, None)]


def _connect(steps: list[Step], at: dict[int, int]) -> None:
    for k, step in enumerate(steps):
        if step.op in _LEAVES:
            continue
        if step.jump is None:
            step.next = [k + 1]
        elif step.op == "JUMP":
            step.next = [at[step.jump]]
        elif step.op == "BRANCH":
            kind, if_true = step.arg
            there, on = at[step.jump], k + 1
            step.next, step.arg = ([there, on] if if_true else [on, there]), kind
        else:
            step.next = [k + 1, at[step.jump]]
        if any(n >= len(steps) for n in step.next):
            raise Undone
    _forget_silent_ends(steps)
    for step in steps:
        step.next = [_goal(steps, n) for n in step.next]


def _goal(steps: list[Step], k: int) -> int:
    """The step that a jump ends up at."""
    seen = set()
    while steps[k].op == "JUMP":
        if k in seen:
            raise Undone
        seen.add(k)
        k = steps[k].next[0]
    return k


def _handlers(code: CodeType, steps: list[Step], at: dict[int, int]) -> None:
    if not code.co_exceptiontable:
        return
    for entry in dis._parse_exception_table(code):  # type: ignore[attr-defined]
        handler = (_goal(steps, at[entry.target]), entry.depth, entry.lasti)
        for step in steps:
            if entry.start <= step.offset < entry.end:
                step.handler = handler
