"""Random programs by many processes at once; one that crashes or hangs costs the program it was at, and nothing else.

`Hunt` hands out ranges of seeds to children, collects what they say, and has what differs made small by children too.
The parent runs no program itself: it has no threads, so that forking it is safe.
"""

import json
import os
import select
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from compare import Outcome
from covered import Coverage
from driver import SECONDS_BEFORE_HUNG, child, how_it_ended, reduce, seconds_at_work, stopped, tried
from grammar import Program, make
from kinds import operations
from offloaded import make as make_offloaded

MOST_SEEDS = 500  # of one child: a fresh process now and then, so that memory does not pile up
SECONDS_TO_SHRINK = 20.0


@dataclass
class Finding:
    """A difference: the first seed that showed it, some of the others, and the smallest program with it."""

    seed: int
    outcome: Outcome
    program: Program
    times: int = 1
    others: list[int] = field(default_factory=list)

    def text(self) -> str:
        said = f"{self.outcome.kind}: {self.outcome.text}\n{self.blamed()}".rstrip("\n")
        said = "\n".join(f"# {line}" for line in said.splitlines())
        arguments = ", ".join(self.program.parameters)
        calls = "\n\n".join(f"{call}\nprint(f({arguments}))" for call in self.program.calls)
        imports = "import math\n\nimport numpy as np\nfrom weft import njit\n\n"
        return f"# --seed {self.seed}, seen {self.times} times\n{said}\n\n{imports}{self.program.text}\n\n{calls}\n"

    def blamed(self) -> str:
        """Which part of the compiler is to blame, if the interpreter was asked."""
        if not self.outcome.third or self.outcome.third.startswith("cannot"):
            return self.outcome.third
        if self.outcome.third == "same":
            return "the interpreter does what CPython does: a pass after `infer`, or code generation"
        return f"`infer`, or the interpreter itself, which {self.outcome.third}"


@dataclass
class Child:
    """A process at work: on seeds from `at` to `end`, or on making a finding small."""

    pid: int
    patience: float  # seconds without a word before it is taken for hung
    at: int = 0
    end: int = 0
    shrinks: Finding | None = None
    rest: bytes = b""
    heard: float = field(default_factory=time.monotonic)
    worked: float = 0.0  # seconds that it had been at work when patience ended, on a machine that may be busy


class Hunt:
    """Programs from seed `first` on, of `offloaded` for a `device`: `count`, or as many as `seconds` allow."""

    def __init__(
        self,
        first: int,
        count: int = 10**9,
        seconds: float = 1e9,
        workers: int = 1,
        without: frozenset[str] = frozenset(),
        coverage: bool = False,
        keep_going: bool = True,
        third: bool = False,
        calls: int = 3,
        device: str | None = None,
    ) -> None:
        self.first, self.last = first, first + count
        self.started = time.monotonic()
        self.end = self.started + seconds
        self.workers, self.without, self.measured, self.keep_going = workers, without, coverage, keep_going
        self.third, self.calls, self.device = third, calls, device
        self.kinds: Counter[str] = Counter()
        self.interpreted: Counter[str] = Counter()
        self.details: dict[str, Counter[str]] = {}
        self.findings: dict[tuple[str, str, str], Finding] = {}
        self.coverage = Coverage()
        self.each = max(1, min(MOST_SEEDS, count // (4 * workers)))
        self.next = first
        self.again: deque[tuple[int, int]] = deque()  # what is left of ranges whose child died
        self.to_shrink: deque[Finding] = deque()
        self.children: dict[int, Child] = {}
        operations()  # once, and not in every child

    def run(self, tell: Callable[[str], None]) -> None:
        """Until all is done; `tell` hears how far it is, now and then, and each finding when it is small."""
        told = time.monotonic()
        while self._staffed():
            ready = select.select(list(self.children), [], [], 1.0)[0]
            for pipe in ready:
                self._hear(pipe, tell)
            now = time.monotonic()
            for pipe, one in list(self.children.items()):
                if now - one.heard > one.patience and self._hangs(one, now):
                    self._gone(pipe, stopped(one.pid), tell)
            if now - told > 30:
                told = now
                tell(self.summary())

    def _hangs(self, one: Child, now: float) -> bool:
        """Whether a child that says nothing has had its time at work since then, or has waited for very long."""
        one.worked = one.worked or seconds_at_work(one.pid)
        return seconds_at_work(one.pid) - one.worked > one.patience / 4 or now - one.heard > 5 * one.patience

    def _staffed(self) -> bool:
        """Starts children for what is left to do; whether anybody is at work."""
        while len(self.children) < self.workers:
            if self.to_shrink:
                self._start_shrinking(self.to_shrink.popleft())
            elif time.monotonic() < self.end and (self.again or self.next < self.last):
                if self.again:
                    seeds = self.again.popleft()
                else:
                    seeds = self.next, min(self.next + self.each, self.last)
                    self.next = seeds[1]
                self._start_hunting(*seeds)
            else:
                break
        return bool(self.children)

    def _program(self, seed: int) -> Program:
        program = make_offloaded(seed, self.device) if self.device else make(seed, self.without)
        return replace(program, calls=program.calls[: self.calls])

    def _start_hunting(self, start: int, stop: int) -> None:
        def work(send: Callable[[str], None]) -> None:
            table = Coverage()
            for seed in range(start, stop):
                if time.monotonic() > self.end:
                    break
                send(str(seed))
                program = self._program(seed)
                outcome = tried(program, self.third)
                if self.measured:
                    table.add(program)
                send(json.dumps({"outcome": asdict(outcome)}))
            if self.measured:
                send(json.dumps({"coverage": table.counts()}))

        pid, pipe = child(work)
        self.children[pipe] = Child(pid, SECONDS_BEFORE_HUNG, start, stop)

    def _start_shrinking(self, finding: Finding) -> None:
        def work(send: Callable[[str], None]) -> None:
            small, outcome = reduce(finding.program, finding.outcome, SECONDS_TO_SHRINK, self.third)
            # What is not seen again in a process of its own stays as it was.
            if outcome.signature == finding.outcome.signature:
                parts = {"text": small.text, "parameters": small.parameters, "calls": small.calls}
                send(json.dumps({"shrunk": parts, "outcome": asdict(outcome)}))

        pid, pipe = child(work)
        self.children[pipe] = Child(pid, 3 * SECONDS_TO_SHRINK + SECONDS_BEFORE_HUNG, shrinks=finding)

    def _hear(self, pipe: int, tell: Callable[[str], None]) -> None:
        one = self.children[pipe]
        data = os.read(pipe, 1 << 16)
        one.heard, one.worked = time.monotonic(), 0.0
        *lines, one.rest = (one.rest + data).split(b"\n")
        for line in lines:
            self._said(one, json.loads(line))
        if not data:
            self._gone(pipe, how_it_ended(one.pid), tell)

    def _gone(self, pipe: int, ended: Outcome | None, tell: Callable[[str], None]) -> None:
        """A child is no more; `ended` where it did not end well."""
        os.close(pipe)
        one = self.children.pop(pipe)
        if one.shrinks:
            tell(one.shrinks.text())
        elif ended:
            self._noted(one.at, ended)
            if one.at + 1 < one.end:
                self.again.append((one.at + 1, one.end))

    def _said(self, one: Child, said: Any) -> None:
        if isinstance(said, int):
            one.at = said
        elif "coverage" in said:
            self.coverage.merge(said["coverage"])
        elif one.shrinks:
            one.shrinks.outcome = Outcome(**said["outcome"])
            one.shrinks.program = replace(one.shrinks.program, **said["shrunk"])
        else:
            self._noted(one.at, Outcome(**said["outcome"]))

    def _noted(self, seed: int, outcome: Outcome) -> None:
        self.kinds[outcome.kind] += 1
        if outcome.third:
            # What differs is told with the difference; what cannot be run, with the reason.
            self.interpreted[outcome.third if outcome.third.startswith(("same", "cannot")) else "different"] += 1
        if outcome.detail or outcome.wrong:
            self.details.setdefault(outcome.kind, Counter())[outcome.detail] += 1
        if not outcome.wrong:
            return
        if known := self.findings.get(outcome.signature):
            known.times += 1
            known.others += [seed] if len(known.others) < 20 else []
            return
        finding = Finding(seed, outcome, self._program(seed))
        self.findings[outcome.signature] = finding
        self.to_shrink.append(finding)
        if not self.keep_going:
            self.end = time.monotonic()

    # What came of it

    @property
    def programs(self) -> int:
        return sum(self.kinds.values())

    @property
    def wrong(self) -> int:
        return sum(count for kind, count in self.kinds.items() if Outcome(kind).wrong)

    def summary(self) -> str:
        """One line."""
        seconds = time.monotonic() - self.started
        counts = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())
        rate = f"{seconds:.0f} s, {self.programs / seconds:.1f} a second"
        return f"{self.programs} whole programs, seeds {self.first} to {self.next - 1}: {counts}; {rate}"

    def save(self, folder: Path) -> None:
        """`results.json`, and a file for each difference."""
        folder.mkdir(parents=True, exist_ok=True)
        results = {
            "programs": self.programs,
            "wrong": self.wrong,
            "seeds": [self.first, self.next - 1],
            "seconds": round(time.monotonic() - self.started, 1),
            "workers": self.workers,
            "kinds": dict(self.kinds.most_common()),
            "interpreted": dict(self.interpreted.most_common()),
            "details": {kind: dict(details.most_common()) for kind, details in self.details.items()},
            "differences": [
                {
                    "seed": f.seed,
                    "others": f.others,
                    "times": f.times,
                    "kind": f.outcome.kind,
                    "detail": f.outcome.detail,
                }
                for f in self._by_frequency()
            ],
            "coverage": self.coverage.counts(),
            "never executed": self.coverage.missing() if self.measured else None,
        }
        (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        for finding in self._by_frequency():
            name = f"{finding.outcome.kind.replace(' ', '-')}-{finding.seed}.py"
            (folder / name).write_text(finding.text())

    def _by_frequency(self) -> list[Finding]:
        return sorted(self.findings.values(), key=lambda f: -f.times)
