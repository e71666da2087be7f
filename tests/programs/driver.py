"""Runs random programs in child processes, so that one that crashes or hangs is a finding and not the end.

`child(work)` forks one that sends lines; `apart(program)` is what a program does in a process of its own;
`reduce(program, outcome)` shrinks what was found, each attempt apart.
"""

import json
import os
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from compare import Outcome, compare
from grammar import Program
from shrink import shrink

SECONDS_BEFORE_HUNG = 120.0  # on a busy machine
BYTES = 16 << 30  # of a child: CPython's ints may ask for more than a machine has, and be given it


def tried(program: Program, third: bool = False) -> Outcome:
    """What a program does, here and now; also by the interpreter if asked."""
    try:
        return compare(program, third=third)
    except Exception as error:
        return Outcome("tester", f"{type(error).__name__}: {error}"[:100], traceback.format_exc())


def child(work: Callable[[Callable[[str], None]], None]) -> tuple[int, int]:
    """Forks; the child does `work` with a way to send lines. The child's id, and where to read."""
    read, write = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    try:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        warnings.simplefilter("ignore")
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        work(lambda line: os.write(write, line.encode() + b"\n") and None)
    except BaseException:
        # What a crash of the compiler leaves behind can be anything: say it, and be found to have failed.
        traceback.print_exc()
        os.abort()
    finally:
        os._exit(0)


def how_it_ended(pid: int) -> Outcome | None:
    """Waits for a child; what it died of, if it did."""
    status = os.waitpid(pid, 0)[1]
    if not os.WIFSIGNALED(status):
        return None
    return Outcome("crash", signal.Signals(os.WTERMSIG(status)).name)


def seconds_at_work(pid: int) -> float:
    """For how long a child has had a processor, whatever else the machine was busy with."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()  # without /proc, time on the clock has to do
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stopped(pid: int) -> Outcome:
    """Ends a child that says nothing any more."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return Outcome("hang")


def apart(program: Program, third: bool = False) -> Outcome:
    """What a program does, in a process of its own."""
    pid, pipe = child(lambda send: send(json.dumps(asdict(tried(program, third)))))
    said = b""
    with open(pipe, "rb", buffering=0) as lines:
        while select.select([lines], [], [], SECONDS_BEFORE_HUNG)[0]:
            if not (data := lines.read(1 << 16)):
                break
            said += data
        else:
            return stopped(pid)
    return how_it_ended(pid) or Outcome(**json.loads(said))


def reduce(program: Program, outcome: Outcome, seconds: float = 20.0, third: bool = False) -> tuple[Program, Outcome]:
    """A small program with the same difference, and what it does now."""

    def fails(candidate: Program) -> bool:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(candidate.text, "candidate", "exec")
        except SyntaxError:
            return False
        return apart(candidate, third).signature == outcome.signature

    small = shrink(program, fails, seconds)
    return small, apart(small, third)
