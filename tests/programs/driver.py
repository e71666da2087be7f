"""Runs random programs in child processes, so that one that crashes or hangs is a finding and not the end.

`hunt(seed, …)` yields `(seed, outcome)` for one seed after another; `reduce(program, outcome)` shrinks what was found,
each attempt in a child of its own where that is needed.
"""

import json
import os
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict

from compare import Outcome, compare
from grammar import Program, make
from shrink import shrink

SECONDS_BEFORE_HUNG = 120.0  # on a busy machine


def _tried(program: Program) -> Outcome:
    try:
        return compare(program)
    except Exception as error:
        return Outcome("tester", f"{type(error).__name__}: {error}"[:100], traceback.format_exc())


def _child(work: Callable[[Callable[[str], None]], None]) -> tuple[int, int]:
    """Forks; the child does `work` with a way to send lines. The child's id, and where to read."""
    read, write = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.close(write)
        return child, read
    try:
        os.close(read)
        warnings.simplefilter("ignore")
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        work(lambda line: os.write(write, line.encode() + b"\n") and None)
    finally:
        os._exit(0)


def _received(child: int, read: int) -> Iterator[str]:
    """The lines of a child; the last says how it ended, when it did not end well."""
    rest = b""
    ended = ""
    while True:
        if not select.select([read], [], [], SECONDS_BEFORE_HUNG)[0]:
            os.kill(child, signal.SIGKILL)
            ended = "hang"
            break
        if not (data := os.read(read, 1 << 16)):
            break
        *lines, rest = (rest + data).split(b"\n")
        yield from (line.decode() for line in lines)
    os.close(read)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        yield ended or f"crash {signal.Signals(os.WTERMSIG(status)).name}"


def hunt(
    seed: int, seconds: float = 1e9, count: int = 10**9, without: frozenset[str] = frozenset()
) -> Iterator[tuple[int, Outcome]]:
    """The outcomes of programs from `seed` on, for as long or as many as asked for."""
    end, last = time.monotonic() + seconds, seed + count
    while time.monotonic() < end and seed < last:

        def work(send: Callable[[str], None], seed: int = seed) -> None:
            # A fresh process now and then, so that memory does not pile up.
            for number in range(seed, min(seed + 500, last)):
                if time.monotonic() > end:
                    return
                send(str(number))
                send(json.dumps(asdict(_tried(make(number, without)))))

        current = seed
        for line in _received(*_child(work)):
            if line.startswith("{"):
                yield current, Outcome(**json.loads(line))
                seed = current + 1
            elif line.isdigit():
                current = int(line)
            else:
                yield current, Outcome(*line.split(" ", 1))
                seed = current + 1


def apart(program: Program) -> Outcome:
    """What a program does, in a process of its own."""
    outcome = Outcome("same")
    for line in _received(*_child(lambda send: send(json.dumps(asdict(_tried(program)))))):
        outcome = Outcome(**json.loads(line)) if line.startswith("{") else Outcome(*line.split(" ", 1))
    return outcome


def reduce(program: Program, outcome: Outcome, seconds: float = 20.0) -> tuple[Program, Outcome]:
    """A small program with the same difference, and what it does now."""

    def fails(candidate: Program) -> bool:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(candidate.text, "candidate", "exec")
        except SyntaxError:
            return False
        return apart(candidate).signature == outcome.signature

    small = shrink(program, fails, seconds)
    return small, apart(small)
