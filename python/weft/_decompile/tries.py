"""Where `try` statements begin: a step that goes on to the body, or to its handlers."""

from __future__ import annotations

from weft._decompile.steps import NOWHERE, Step


def mark(steps: list[Step], first: int) -> int:
    """Puts a step `TRY` before the body of each `try`, and says in which bodies each step is; returns the first step.

    Its argument is the handler's number, and the offsets between which the code of the handlers lies.
    """
    handlers = {s.handler[0] for s in steps if s.handler and steps[s.handler[0]].op == "PUSH_EXC_INFO"}
    for step in steps:
        found: set[int] = set()
        at = step.handler
        while at and at[0] not in found:
            found.add(at[0])
            at = steps[at[0]].handler
        step.guard = frozenset(found & handlers)
    begins: dict[int, int] = {}  # with the step that now stands before it
    # Inner ones first: they stand inside the body of the outer ones, which may begin with one.
    for handler in sorted(handlers, key=lambda h: -len(steps[h].guard)):
        body = min(k for k, step in enumerate(steps) if handler in step.guard)
        begin = begins.get(body, body)
        cleanup = steps[handler].handler
        span = (handler, steps[handler].offset, steps[cleanup[0]].offset if cleanup else steps[handler].offset)
        made = Step("TRY", span, NOWHERE, steps[body].offset, guard=steps[body].guard - {handler})
        for step in steps:
            if handler not in step.guard:
                step.next = [len(steps) if n == begin else n for n in step.next]
        if first == begin:
            first = len(steps)
        made.next = [begin, handler]
        begins[body] = len(steps)
        steps.append(made)
    return first
