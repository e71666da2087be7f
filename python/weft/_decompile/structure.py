"""Statements of a function, from its blocks.

Blocks are run in an order in which each has one block before it, and are put together: tests to `and`, `or` and chained
comparisons, branches to conditional expressions and `if`, loops to `for` and `while`. What does not come out as one
statement after the other is not rebuilt.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft._decompile.clauses import (
    after_cases,
    case_of,
    comprehension,
    first_line,
    handlers,
    other_cases,
    pattern_of,
    same_value,
)
from weft._decompile.graph import Graph
from weft._decompile.items import (
    LOOP_VALUE,
    Iterator,
    Leave,
    Mark,
    Match,
    Target,
    expression,
)
from weft._decompile.machine import Machine
from weft._decompile.steps import Step, Undone

_OPPOSITES = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


@dataclass(eq=False, slots=True)
class Piece:
    """Blocks that were run and put together."""

    statements: list[ast.stmt]
    stack: list[Any]
    next: list[int]
    test: Any = None  # of a branch: (if true, if false)
    line: int | None = None  # of a statement that is not complete


class Structure:
    """One function."""

    def __init__(self, graph: Graph, machine: Machine) -> None:
        self.graph = graph
        self.machine = machine

    def whole(self) -> list[ast.stmt]:
        piece = Region(self, set()).build(self.graph.entry, [], None)
        if piece.next:
            raise Undone
        return piece.statements

    def run(self, block: int, stack: list[Any], line: int | None) -> Piece:
        found = self.graph.blocks[block]
        steps = _without_forgetting(found.steps)
        ends = steps[-1].op in ("BRANCH", "FOR_ITER", "SEND", "TRY")
        self.machine.run(steps[:-1] if ends else steps, stack, line)
        machine = self.machine
        piece = Piece(machine.statements, machine.stack, found.next, None, machine.line)
        if steps[-1].op == "BRANCH":
            piece.test = self.machine.pop()
            if piece.stack and piece.stack[-1] is piece.test:
                self.machine.tested.add(id(piece.test))
            if steps[-1].arg == "none":
                piece.test = ast.Compare(expression(piece.test), [ast.Is()], [ast.Constant(None)])
            place = steps[-1].place[0]
            if piece.line is None or (place is not None and place < piece.line):
                piece.line = place
        elif ends:
            raise Undone
        return piece

    def pops(self, block: int, ops: list[str]) -> int | None:
        """Where a block goes that does nothing but these steps."""
        found = self.graph.blocks[block]
        return found.next[0] if [s.op for s in found.steps] == ops and len(found.next) == 1 else None


class Region:
    """Blocks from an entry to where they leave: a function, the body of a loop, or its `else`."""

    def __init__(self, whole: Structure, leaves: set[int], jumps: set[int] | None = None) -> None:
        self.whole = whole
        self.graph = whole.graph
        self.leaves = leaves
        # Those to which a `break` or `continue` may go.
        self.jumps = leaves if jumps is None else jumps
        self.pieces: dict[int, Piece] = {}

    def build(self, entry: int, stack: list[Any], line: int | None, as_loop: bool = True) -> Piece:
        """Everything from the entry on as one piece, which goes to a leaf or ends."""
        self.entry = entry
        self.pieces[entry] = self.start(entry, stack, line, as_loop)
        while True:
            before = self.before()
            known = [k for k in reversed(before) if k in self.pieces]
            # Tests are put together before their first half becomes an `if` with the second inside.
            if any(self.join(k, before) for k in known) or any(self.reduce(k, before) for k in known):
                continue
            piece = self.pieces[entry]
            if piece.test is None and all(n in self.leaves for n in piece.next):
                return piece
            if not self.leave(before):
                raise Undone

    def start(self, block: int, stack: list[Any], line: int | None, as_loop: bool = True) -> Piece:
        first = self.graph.blocks[block].steps[0]
        if as_loop and (block in self.graph.loops or first.op == "FOR_ITER"):
            return Loop(self.whole, block, self.leaves).build(stack, line)
        if first.op == "TRY":
            return Try(self.whole, block, self.leaves).build(stack)
        return self.whole.run(block, stack, line)

    def before(self) -> dict[int, list[int]]:
        """What goes to each block that can be reached, in the order in which they are reached."""
        found: dict[int, list[int]] = {self.entry: [-1]}
        order = [self.entry]
        for k in order:
            known = self.pieces.get(k)
            for n in known.next if known else self.graph.blocks[k].next:
                if (known is None and (k, n) in self.graph.back) or n in self.leaves:
                    continue
                if n not in found:
                    found[n] = []
                    order.append(n)
                found[n].append(k)
        return found

    def alone(self, k: int, before: dict[int, list[int]]) -> bool:
        return k not in self.leaves and len(before.get(k, ())) == 1

    def reduce(self, k: int, before: dict[int, list[int]]) -> bool:
        """Makes one step at a piece; whether there was one."""
        piece = self.pieces[k]
        if piece.test is None:
            if len(piece.next) != 1 or not self.alone(piece.next[0], before):
                return False
            # It was run already as one side of a branch, of which the other is a statement now.
            added = self.pieces.get(piece.next[0]) or self.start(piece.next[0], piece.stack, piece.line)
            added.statements[:0] = piece.statements
            self.pieces[k] = added
            return True
        for n in piece.next:
            if self.alone(n, before) and n not in self.pieces:
                # The line of the test is that of its statement.
                self.pieces[n] = self.start(n, piece.stack, None)
                return True
        return self.join_statements(piece, self.sides(piece, before))

    def sides(self, piece: Piece, before: dict[int, list[int]]) -> list[Piece | None]:
        return [self.pieces.get(n) if self.alone(n, before) else None for n in piece.next]

    def join(self, k: int, before: dict[int, list[int]]) -> bool:
        """Makes one expression of a branch and what follows it."""
        piece = self.pieces[k]
        if piece.test is None or isinstance(piece.test, Match):
            return False
        sides = self.sides(piece, before)
        return self.join_comparisons(piece, sides) or self.join_tests(piece, sides) or self.join_values(piece, sides)

    # Each of these puts a branch and what follows it together, or leaves them as they are.

    def join_comparisons(self, a: Piece, sides: list[Piece | None]) -> bool:
        """`a < b < c`: b is kept for a second comparison, or dropped."""
        b, dropped = sides[0], a.next[1]
        if b is None or b.statements or not isinstance(a.test, ast.Compare) or dropped in self.leaves:
            return False
        middle = a.test.comparators[-1]

        def both(second: Any) -> ast.expr | None:
            if not isinstance(second, ast.Compare) or second.left is not middle:
                return None
            return ast.Compare(a.test.left, a.test.ops + second.ops, a.test.comparators + second.comparators)

        def kept(item: Any) -> bool:
            return not isinstance(item, Mark) and item is not None and same_value(item, middle)

        if a.stack and kept(a.stack[-1]) and b.test is not None and _same(b.stack, a.stack[:-1]):
            test = both(b.test)
            # Both ways of failing go on to the same block.
            if test is not None and self.whole.pops(dropped, ["POP_TOP"]) == b.next[1]:
                a.stack, a.test, a.next = b.stack, test, b.next
                return True
        if len(a.stack) > 1 and a.stack[-1] is a.test and kept(a.stack[-2]) and b.test is None and b.stack:
            test = both(b.stack[-1])
            joined = self.whole.pops(dropped, ["SWAP", "POP_TOP"])
            if test is not None and _same(b.stack[:-1], a.stack[:-2]) and [joined] == b.next:
                self.whole.machine.note(test)
                a.stack, a.test, a.next = [*b.stack[:-1], test], None, b.next
                return True
        return False

    def join_tests(self, a: Piece, sides: list[Piece | None]) -> bool:
        true, false = sides
        for s, side in enumerate(sides):
            other = a.next[1 - s]
            if side is None or side.test is None or side.statements:
                continue
            if _same(side.stack, a.stack):
                # `a and b`, `a or b`, and with `not`: both fail, or hold, to the same block.
                for t in (0, 1):
                    if side.next[t] == other:
                        return self.join_test(a, s, side, t)
            elif side.stack and _same(side.stack[:-1], a.stack) and side.stack[-1] is side.test:
                # `a and b or c`: the value of b is kept where it decides.
                for t in (0, 1):
                    popped = side.next[t]
                    if popped not in self.leaves and self.whole.pops(popped, ["POP_TOP"]) == other:
                        whole = self.join_test(a, s, side, t)
                        a.stack = [*a.stack, a.test]
                        self.whole.machine.tested.add(id(a.test))
                        return whole
        if (
            true is not None
            and false is not None
            and true.test is not None
            and false.test is not None
            and true.next == false.next
            and not (true.statements or false.statements)
            and _same(true.stack, a.stack)
            and _same(false.stack, a.stack)
        ):
            a.test = ast.IfExp(expression(a.test), expression(true.test), expression(false.test))
            a.next = true.next
            return True
        return False

    def join_test(self, a: Piece, s: int, side: Piece, t: int) -> bool:
        """The first test goes on to the second where it is `not s`; where the second is `not t` both go on alike."""
        first, second = expression(a.test), expression(side.test)
        # At `t` of the second test the whole is what it is where the first does not get that far.
        op: ast.boolop = ast.And() if t == 1 else ast.Or()
        a.next = side.next
        if (s == 0) != (t == 1):
            if _negates(first):
                first = _not(first)
            else:
                # `not a and b` is where `a or not b` is not.
                op, second = (ast.Or() if t == 1 else ast.And()), _not(second)
                a.next = a.next[::-1]
        a.test = ast.BoolOp(op, _flat(op, first, second))
        self.whole.machine.note(a.test)
        return True

    def join_values(self, a: Piece, sides: list[Piece | None]) -> bool:
        true, false = sides
        note = self.whole.machine.note

        def pushes(side: Piece | None, beneath: list[Any]) -> bool:
            return (
                side is not None
                and side.test is None
                and not side.statements
                and len(side.next) == 1
                and len(side.stack) == len(beneath) + 1
                and _same(side.stack[:-1], beneath)
                and not isinstance(side.stack[-1], Mark)
            )

        if true and false and pushes(true, a.stack) and pushes(false, a.stack) and true.next == false.next:
            value = ast.IfExp(expression(a.test), expression(true.stack[-1]), expression(false.stack[-1]))
            note(value)
            a.stack, a.test, a.next = [*a.stack, value], None, true.next
            return True
        if a.stack and a.stack[-1] is a.test:
            # The value that was tested is the result, or dropped for another.
            for s, side in enumerate(sides):
                if side and pushes(side, a.stack[:-1]) and side.next == [a.next[1 - s]]:
                    op: ast.boolop = ast.Or() if s else ast.And()
                    kept = ast.BoolOp(op, _flat(op, expression(a.test), expression(side.stack[-1])))
                    note(kept)
                    a.stack, a.test, a.next = [*a.stack[:-1], kept], None, side.next
                    return True
        return False

    def join_statements(self, a: Piece, sides: list[Piece | None]) -> bool:
        def over(side: Piece | None) -> bool:
            return side is not None and side.test is None and not side.next

        def through(side: Piece | None) -> bool:
            if side is None or side.test is not None or len(side.next) != 1:
                return False
            # A handler takes the exception off the stack.
            return _same(side.stack, a.stack) or (isinstance(a.test, Match) and _unwound(side.stack, a.stack))

        true, false = sides
        if true and (pattern := _case_pattern(a, true)):
            return false is not None and self.join_cases(a, pattern, true, false)
        if a.next[0] == a.next[1]:
            return self.finish(a, [], [], [a.next[0]])
        if over(true) and over(false) and true and false:
            first = first_line(true.statements) <= first_line(false.statements)
            if first:
                return self.finish(a, true.statements, [], [], false.statements)
            return self.finish(a, [], false.statements, [], true.statements)
        if over(false) and false:
            return self.finish(a, [], false.statements, [a.next[0]])
        if over(true) and true:
            return self.finish(a, true.statements, [], [a.next[1]])
        if through(true) and through(false) and true and false and true.next == false.next:
            a.stack = true.stack
            return self.finish(a, true.statements, false.statements, true.next)
        if through(true) and true and true.next[0] == a.next[1]:
            return self.finish(a, true.statements, [], true.next)
        if through(false) and false and false.next[0] == a.next[0]:
            return self.finish(a, [], false.statements, false.next)
        return False

    def join_cases(self, a: Piece, pattern: ast.pattern, true: Piece, false: Piece) -> bool:
        """A `match`: the subject stays on the stack until a case has it."""
        ends = [side for side in (true, false) if side.next]
        if true.test is not None or false.test is not None or (len(ends) == 2 and true.next != false.next):
            return False
        if any(not _same(side.stack, a.stack[:-1]) for side in ends):
            return False
        others, rest = after_cases(false.statements, a.stack[-1])
        if rest and true.next:
            # What follows is not for the first case: that goes on with the next turn.
            if true.next[0] not in self.jumps:
                return False
            true.statements.append(Leave(true.next[0], 0))
        cases = [case_of(pattern, true.statements[1:], a.line), *other_cases(others, a.stack[-1])]
        made = ast.Match(expression(a.stack[-1]), cases)
        made.lineno = a.line or 0
        a.statements += [made, *rest]
        a.stack, a.test, a.next, a.line = a.stack[:-1], None, ends[0].next if ends else [], None
        return True

    def finish(
        self, a: Piece, true: list[ast.stmt], false: list[ast.stmt], following: list[int], rest: Sequence[ast.stmt] = ()
    ) -> bool:
        test = expression(a.test)
        made: ast.stmt
        if len(false) == 1 and not true and _fails(false[0]):
            made = ast.Assert(test, false[0].msg)  # type: ignore[attr-defined]
        elif len(true) == 1 and not false and _fails(true[0]) and _negates(test):
            made = ast.Assert(_not(test), true[0].msg)  # type: ignore[attr-defined]
        elif not true and false and _negates(test):
            made = ast.If(_not(test), false, [])
        else:
            made = ast.If(test, true or [ast.Pass(lineno=a.line or 0)], false)
        made.lineno = a.line or 0
        a.statements += [made, *rest]
        a.test, a.next, a.line = None, following, None
        return True

    def leave(self, before: dict[int, list[int]]) -> bool:
        """Writes one jump to a leaf as a statement, where nothing else is left to do; `break` before `continue`."""
        found: list[tuple[bool, int, int, int]] = []
        for k in before:
            piece = self.pieces.get(k)
            if piece is None or piece.test is None:
                continue
            for s, n in enumerate(piece.next):
                side = self.pieces.get(n) if self.alone(n, before) else None
                through = side is not None and side.test is None and len(side.next) == 1 and side.next[0] in self.leaves
                goal = n if n in self.leaves else side.next[0] if through and side else None
                if goal in self.jumps:
                    found.append((goal in self.graph.loops and goal in self.leaves, -k, s, goal))
        if not found:
            return False
        _, negative, s, goal = min(found)
        piece = self.pieces[-negative]
        side = self.pieces.get(piece.next[s]) if piece.next[s] not in self.leaves else None
        jump = Leave(goal, piece.line or 0)
        if side is not None:
            # Iterators, exceptions and subjects of what is left are gone.
            if not _same(side.stack, piece.stack[: len(side.stack)]):
                raise Undone
            side.statements.append(jump)
            side.next = []
            return True
        statements: list[ast.stmt] = [jump]
        sides: tuple[list[ast.stmt], list[ast.stmt]] = (statements, []) if s == 0 else ([], statements)
        return self.finish(piece, *sides, [piece.next[1 - s]])


class Try:
    """A `try` with its handlers."""

    def __init__(self, whole: Structure, block: int, outside: set[int]) -> None:
        self.whole = whole
        self.graph = whole.graph
        self.outside = outside
        self.body, self.handlers = self.graph.blocks[block].next
        self.number, self.low, self.high = self.graph.blocks[block].steps[0].arg

    def build(self, stack: list[Any]) -> Piece:
        blocks = self.graph.blocks
        inside = self.with_ends({k for k, block in blocks.items() if self.number in block.steps[0].guard})
        tried = self.region(inside).build(self.body, stack, None)
        within = {k for k, block in blocks.items() if all(self.low <= o < self.high for o in block.offsets)}
        caught = self.region(self.with_ends(within)).build(self.handlers, stack, None)
        made = ast.Try(tried.statements, handlers(caught.statements), [], [])
        made.lineno = max(first_line(tried.statements) - 1, 0)
        if tried.next and caught.next and tried.next != caught.next:
            if caught.next[0] in self.outside:
                for clause in made.handlers:
                    clause.body = _leaving(clause.body, caught.next[0])
                caught.next = []
            elif tried.next[0] in self.outside:
                made.body = _leaving(made.body, tried.next[0])
                tried.next = []
            else:
                # What comes after the body and not after the handlers is the `else`.
                leaves = self.outside | {*caught.next}
                otherwise = Region(self.whole, leaves, self.outside).build(tried.next[0], tried.stack, None)
                made.orelse = otherwise.statements
                if otherwise.next not in ([], caught.next):
                    made.orelse = _leaving(made.orelse, otherwise.next[0])
                tried.next = []
        following = caught.next or tried.next
        return Piece([made], [*(caught if caught.next else tried).stack] if following else [*stack], following)

    def region(self, inside: set[int]) -> Region:
        return Region(self.whole, ({*self.graph.blocks} - inside) | self.outside, self.outside)

    def with_ends(self, inside: set[int]) -> set[int]:
        """With the ends of the ways out, which are not guarded: what leaves loops, and returns."""
        unwinding = {"SWAP", "POP_TOP", "LOAD_CONST", "RETURN_VALUE", "POP_EXCEPT"}
        while True:
            more = {
                k
                for k, block in self.graph.blocks.items()
                if k not in inside
                and unwinding.issuperset(step.op for step in block.steps)
                and all(p in inside for p, other in self.graph.blocks.items() if k in other.next)
            }
            if not more:
                return inside
            inside = inside | more


def _leaving(body: list[ast.stmt], goal: int) -> list[ast.stmt]:
    if body and isinstance(body[-1], ast.Return | ast.Raise | Leave):
        return body
    return [*body, Leave(goal, 0)]


def _without_forgetting(steps: list[Step]) -> list[Step]:
    """Steps without `name = None; del name`, which is how a handler ends that names its exception."""
    ops = ["LOAD_CONST", "STORE_FAST", "DELETE_FAST"]
    kept: list[Step] = []
    for step in steps:
        kept.append(step)
        last = kept[-3:]
        if [s.op for s in last] == ops and last[0].arg is None and last[1].arg == last[2].arg:
            del kept[-3:]
    return kept


class SeveralExits(Exception):
    """A loop is left to more than one place."""

    def __init__(self, goals: set[int]) -> None:
        self.goals = goals


class Loop:
    """A `for`, a `while`, or a comprehension."""

    def __init__(self, whole: Structure, head: int, outside: set[int]) -> None:
        self.whole = whole
        self.graph = whole.graph
        self.head = head
        self.outside = outside
        self.block = self.graph.blocks[head]
        self.is_for = self.block.steps[0].op == "FOR_ITER"

    def build(self, stack: list[Any], line: int | None) -> Piece:
        inside = self.inside()
        while True:
            try:
                return self.attempt(inside, stack, line)
            except SeveralExits as exits:
                # What only ends the function after a last jump back belongs to the body.
                more = self.ending(exits.goals) - inside
                if not more:
                    raise Undone from None
                inside = inside | more

    def ending(self, goals: set[int]) -> set[int]:
        """The blocks of the first exit in the source, from which no other exit is reached."""
        first = min(goals, key=lambda k: self.graph.blocks[k].offsets[0])
        found = {first}
        waiting = [first]
        while waiting:
            new = [n for n in self.graph.blocks[waiting.pop()].next if n not in found]
            found.update(new)
            waiting += new
        return set() if found & (goals - {first} | self.outside | {self.head}) else found

    def attempt(self, inside: set[int], stack: list[Any], line: int | None) -> Piece:
        leaves = ({*self.graph.blocks} - inside) | {self.head} | self.outside
        body = Region(self.whole, leaves)
        if not self.is_for:
            piece = body.build(self.head, stack, line, as_loop=False)
            return self.while_loop(piece, stack, line)
        if not stack:
            raise Undone
        iterator = expression(stack[-1])
        if line is None:
            line = self.block.steps[0].place[0]
        entry = [*stack[:-1], Iterator("iterator"), LOOP_VALUE]
        piece = body.build(self.block.next[0], entry, None)
        return self.for_loop(piece, iterator, stack[:-1], line)

    def inside(self) -> set[int]:
        """The blocks of the loop: those that come back, and those that the source has between them."""
        blocks = self.graph.blocks
        natural = self.graph.loops.get(self.head, {self.head})
        tries = [blocks[k].steps[0].arg for k in natural if blocks[k].steps[0].op == "TRY"]
        # Handlers may lie behind all other code.
        handlers = {
            k for k, b in blocks.items() if any(all(low <= o < high for o in b.offsets) for _, low, high in tries)
        }
        own = [blocks[k] for k in natural - handlers]
        offsets = [offset for block in own for offset in (*block.offsets, *(step.offset for step in block.steps))]
        low, high = min(offsets), max(offsets) + 1
        natural = natural | handlers
        exit_ = self.block.steps[0].jump
        if self.is_for and exit_ is not None:
            low, high = min(self.block.offsets), max(high, exit_)
        between = {k for k, block in self.graph.blocks.items() if all(low <= o < high for o in block.offsets)}
        return natural | between

    def while_loop(self, piece: Piece, stack: list[Any], line: int | None) -> Piece:
        body = self.ended(piece)
        test: ast.expr = ast.Constant(True)
        exhausted = None
        first = body[0] if body else None
        if isinstance(first, ast.If) and len(first.body) == 1 and not first.orelse:
            jump = first.body[0]
            if isinstance(jump, Leave) and jump.goal != self.head:
                test, exhausted, body = _not(first.test), jump.goal, body[1:]
                line = first.lineno
        # `while c` does all again that its test did, and nothing before it.
        return self.close(ast.While(test, body, []), body, exhausted, stack, line)

    def for_loop(self, piece: Piece, iterator: ast.expr, stack: list[Any], line: int | None) -> Piece:
        body = self.ended(piece)
        if not body or not isinstance(body[0], Target):
            raise Undone
        target, body = body[0].target, body[1:]
        if len(body) == 1 and stack and (made := comprehension(target, iterator, body[0], stack[-1])):
            self.whole.machine.note(made)
            return Piece([], [*stack[:-1], made], [self.block.next[1]], None, line)
        return self.close(ast.For(target, iterator, body, []), body, self.block.next[1], stack, line)

    def ended(self, piece: Piece) -> list[ast.stmt]:
        """The statements of the body; where it does not go on to the next turn, it leaves at its end."""
        if piece.next and piece.next[0] != self.head:
            return [*piece.statements, Leave(piece.next[0], 0)]
        return piece.statements

    def close(
        self, loop: ast.For | ast.While, body: list[ast.stmt], exhausted: int | None, stack: list[Any], line: int | None
    ) -> Piece:
        """Finds out where the loop goes on, and writes the jumps in it."""
        goals = {jump.goal for jump in _jumps(body)} - {self.head}
        loop.lineno = line or 0
        following = exhausted
        if len(goals - {exhausted}) > 1:
            raise SeveralExits(goals - {exhausted})
        if goals - {exhausted}:
            if exhausted in goals:
                raise SeveralExits(goals)
            following = goals.pop()
            if exhausted is not None:
                otherwise = Region(self.whole, self.outside | {following}).build(exhausted, stack, None)
                if otherwise.next not in ([], [following]):
                    raise Undone
                loop.orelse = otherwise.statements
        loop.body = _written(body, self.head) or [ast.Pass(lineno=loop.lineno)]
        return Piece([loop], [*stack], [] if following is None else [following])


def _jumps(statements: list[ast.stmt]) -> list[Leave]:
    """Jumps that stand in a loop and in no other in it: those are written already."""
    return [node for statement in statements for node in ast.walk(statement) if isinstance(node, Leave)]


def _written(statements: list[ast.stmt], head: int) -> list[ast.stmt]:
    """The statements of a body with `break` and `continue`."""
    written: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, Leave):
            jump: ast.stmt = ast.Continue() if statement.goal == head else ast.Break()
            jump.lineno = statement.lineno
            written.append(jump)
            continue
        if isinstance(statement, ast.If):
            statement.body = _written(statement.body, head)
            statement.orelse = _written(statement.orelse, head)
        elif isinstance(statement, ast.Match):
            for case in statement.cases:
                case.body = _written(case.body, head)
        elif isinstance(statement, ast.Try):
            statement.body = _written(statement.body, head)
            statement.orelse = _written(statement.orelse, head)
            for handler in statement.handlers:
                handler.body = _written(handler.body, head)
        elif _jumps([statement]):
            raise Undone  # out of two loops at once
        written.append(statement)
    return written


def _case_pattern(a: Piece, true: Piece) -> ast.pattern | None:
    """What a branch compares the subject of a `match` with, which it drops where it is that."""
    if not a.stack or isinstance(a.stack[-1], Mark):
        return None
    first = true.statements[0] if true.statements else None
    dropped = isinstance(first, ast.Expr) and same_value(a.stack[-1], first.value)
    return pattern_of(a.test, a.stack[-1]) if dropped else None


def _fails(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Constant) and not statement.test.value


def _same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _unwound(a: list[Any], b: list[Any]) -> bool:
    """Whether `a` is `b`, perhaps without iterators of loops and exceptions of handlers that are left."""
    return _same(a, b[: len(a)]) and all(isinstance(item, Mark) for item in b[len(a) :])


def _not(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if _is_none(test):
        assert isinstance(test, ast.Compare)
        op: ast.cmpop = ast.Is() if isinstance(test.ops[0], ast.IsNot) else ast.IsNot()
        return ast.Compare(test.left, [op], test.comparators)
    return ast.UnaryOp(ast.Not(), test)


def _negates(test: ast.expr) -> bool:
    """Whether `not test` is the same test with branches changed: Python makes `not a in b` the operator `not in`."""
    return _is_none(test) or not (isinstance(test, ast.Compare) and isinstance(test.ops[0], _OPPOSITES))


def _is_none(test: ast.expr) -> bool:
    """Branches have a form of their own for `is None` and for `is not None`."""
    if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot) and len(test.ops) == 1):
        return False
    other = test.comparators[0]
    return isinstance(other, ast.Constant) and other.value is None


def _flat(op: ast.boolop, *values: ast.expr) -> list[ast.expr]:
    """`a and b and c` is one operation."""
    flat: list[ast.expr] = []
    for value in values:
        flat += value.values if isinstance(value, ast.BoolOp) and type(value.op) is type(op) else [value]
    return flat
