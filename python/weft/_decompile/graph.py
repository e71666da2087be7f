"""Basic blocks of a function, without the copies that the compiler made.

CPython repeats the test of a `while` at its end and copies short ends of functions to where they are jumped to. Copies
stand at the same place of the source and go on to the same steps: they become one again. What is left has the shape of
the source.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any

from weft._decompile.proof import constant_key
from weft._decompile.steps import Step, read
from weft._decompile.tries import mark


@dataclass(slots=True)
class Block:
    steps: list[Step]
    # As of the last step: one; (if true, if false); (body, exit); or none.
    next: list[int]
    # The offsets of the first step in all copies.
    offsets: list[int]


@dataclass(slots=True)
class Graph:
    blocks: dict[int, Block]
    entry: int
    # The blocks of each loop by its first one: those that come back to it.
    loops: dict[int, set[int]] = field(default_factory=dict)
    # Edges that go back to the first block of a loop.
    back: set[tuple[int, int]] = field(default_factory=set)


def graph(code: CodeType) -> Graph:
    steps, first = read(code)
    first = mark(steps, first)
    steps, first, offsets = _without_copies(steps, first)
    made = _blocks(steps, first, offsets)
    _find_loops(made)
    return made


def _without_copies(steps: list[Step], first: int) -> tuple[list[Step], int, list[list[int]]]:
    """One step for all that are alike and go on alike: those that are not are parted, as when automata are reduced."""
    reached = {first}
    waiting = [first]
    while waiting:
        new = [n for n in steps[waiting.pop()].next if n not in reached]
        reached.update(new)
        waiting += new
    order = sorted(reached)
    numbers: dict[Any, int] = {}
    labels = {k: (steps[k].op, constant_key(steps[k].arg), steps[k].place, steps[k].guard) for k in order}
    parts = {k: numbers.setdefault(labels[k], len(numbers)) for k in order}
    count = len(numbers)
    while True:
        numbers = {}
        parts = {k: numbers.setdefault((parts[k], *(parts[n] for n in steps[k].next)), len(numbers)) for k in order}
        if len(numbers) == count:
            break
        count = len(numbers)
    merged: list[Step] = []
    offsets: list[list[int]] = [[] for _ in range(count)]
    for k in order:
        offsets[parts[k]].append(steps[k].offset)
        if parts[k] == len(merged):
            step = steps[k]
            nexts = [parts[n] for n in step.next]
            merged.append(replace(step, next=nexts))
    return merged, parts[first], offsets


def _blocks(steps: list[Step], first: int, offsets: list[list[int]]) -> Graph:
    into = [0] * len(steps)
    into[first] = 2
    for step in steps:
        for n in step.next:
            # What a branch goes to begins a block.
            into[n] += len(step.next)
    # A FOR_ITER and a TRY stand alone: they are where their statements begin.
    begins = {k for k, step in enumerate(steps) if into[k] > 1 or step.op in ("FOR_ITER", "TRY")}
    for step in steps:
        begins.update(n for n in step.next if steps[n].guard != step.guard)
    blocks = {}
    for k in range(len(steps)):
        if k not in begins:
            continue
        run = [steps[k]]
        while len(run[-1].next) == 1 and run[-1].next[0] not in begins:
            run.append(steps[run[-1].next[0]])
        blocks[k] = Block(run, run[-1].next, offsets[k])
    return Graph(blocks, first)


def _find_loops(graph: Graph) -> None:
    """Edges back to a block that is being walked are those of loops."""
    into: dict[int, list[int]] = {k: [] for k in graph.blocks}
    for k, block in graph.blocks.items():
        for n in block.next:
            into[n].append(k)
    on_path: set[int] = set()
    done: set[int] = set()
    stack: list[tuple[int, int]] = [(graph.entry, 0)]
    while stack:
        k, at = stack.pop()
        if at == 0:
            on_path.add(k)
            done.add(k)
        following = graph.blocks[k].next
        if at == len(following):
            on_path.discard(k)
            continue
        stack.append((k, at + 1))
        n = following[at]
        if n in on_path:
            graph.back.add((k, n))
        elif n not in done:
            stack.append((n, 0))
    for tail, head in graph.back:
        body = graph.loops.setdefault(head, {head})
        waiting = [tail]
        while waiting:
            k = waiting.pop()
            if k not in body:
                body.add(k)
                waiting += into[k]
