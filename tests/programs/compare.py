"""One program by CPython with NumPy and by Weft: what each does, and whether it is the same.

Compared are the value, Python type, dtype and shape of what is returned, what it shares memory with, what became of the
arguments, and the class and message of an exception. Where docs/deviations.md allows a difference, the program is run
again in a form that notices whether it did what the entry is about (an int beyond 64 bits, a float cast to an integer
that cannot hold it); only then is a difference let pass.
"""

import linecache
import math
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from deviations import watched
from grammar import Program
from third import interpreted

import numpy as np
import weft

SECONDS_IN_CPYTHON = 1.0
SECONDS_IN_WEFT = 15.0  # with compiling
# Classes, beside CompileError, of what is refused because it would always raise.
ALWAYS_RAISES = (ValueError, OverflowError, ZeroDivisionError, IndexError, UnboundLocalError)
# How far a function that rounds may be off (docs/deviations.md), after what is done to its result.
ULPS = 16
# Messages about ints beyond 64 bits, and how many of these may pass before one is raised.
LEFT = re.compile("64 bits|Python int too large to convert to C long")
MOST_OVERFLOWS = 40


@dataclass
class Outcome:
    """`kind` is same, slow, deviation, refused, or what differs; `detail` tells findings apart, `text` shows them."""

    kind: str
    detail: str = ""
    text: str = ""
    wanted: str = ""  # the exception that CPython raised, if any
    third: str = ""  # what the interpreter makes of it, where it was asked

    @property
    def wrong(self) -> bool:
        return self.kind not in ("same", "slow", "deviation", "refused")

    @property
    def signature(self) -> tuple[str, str, str]:
        return self.kind, self.detail, self.wanted


@dataclass
class Done:
    """What a call did."""

    value: Any
    error: BaseException | None
    arguments: dict[str, Any]


class TooSlow(BaseException):
    """A program that CPython does not finish in time; not an Exception, so that no handler of it catches this."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooSlow

    # Time that the process is at work, so that nothing else on the machine matters.
    before = signal.signal(signal.SIGPROF, stop)
    # Again and again after the first time: a bare `except` in a loop of the program may catch it.
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.01)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def load(text: str, name: str, decorator: Any, **more: Any) -> Any:
    """The function `f` of a module with this text, where `njit` is `decorator`."""
    filename = f"<program {name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {"__name__": "program", "njit": decorator} | more
    exec(compile(text, filename, "exec"), scope)
    return scope["f"]


def run(function: Any, call: str, parameters: list[str]) -> Done:
    """Calls a function with fresh arguments."""
    scope: dict[str, Any] = {"np": np, "math": math}
    exec(call, scope)
    arguments = {name: scope[name] for name in parameters}
    try:
        return Done(function(*arguments.values()), None, arguments)
    except Exception as error:
        return Done(None, error, arguments)


def run_compiled(function: Any, call: str, program: Program) -> Done:
    """Calls a compiled function with fresh arguments, in the context of the program's device."""
    with weft.device_context(program.device) if program.device else nullcontext():
        return run(function, call, program.parameters)


def by_weft(text: str) -> Any:
    """The function `f` of a module, as a user would have Weft compile it."""
    return load(text, "compiled", weft.njit)


def compare(program: Program, compiler: Callable[[str], Any] = by_weft, third: bool = False) -> Outcome:
    """Runs every call of a program both ways, and by the interpreter if asked; the first difference, if any."""
    asked: list[str] = []
    plain = load(program.text, "plain", lambda f: f)
    compiled = None
    twin = False
    for call in program.calls:
        with np.errstate(all="ignore"):
            try:
                with time_limit(SECONDS_IN_CPYTHON):
                    expected = run(plain, call, program.parameters)
            except TooSlow:
                return Outcome("slow")
            if isinstance(expected.error, MemoryError):
                return Outcome("slow")
            if compiled is None:
                try:
                    compiled = compiler(program.text)
                except weft.errors.CompileError as error:
                    return _refused(error)
            try:
                with time_limit(SECONDS_IN_WEFT):
                    found = run_compiled(compiled, call, program)
            except TooSlow:
                return Outcome("hang", "", call)
            outcome = _judge(found, expected, program, call)
            outcome.wanted = _name(expected.error)
            wrong = outcome.wrong and outcome.kind != "twin"
            if wrong and _read_only(program, call, compiled, found.error):
                outcome = Outcome("deviation", "V20")
            elif wrong and (about := _deviates(program, call)):
                # What an int beyond 64 bits does is known (V1): anything else is no deviation.
                if about != {"V1"} or _overflows(found, program, call):
                    outcome = Outcome("deviation", outcome.kind)
                else:
                    outcome = Outcome("overflow", outcome.kind, outcome.text)
            if third and outcome.kind not in ("twin", "refused", "deviation"):
                asked.append(_third(compiled, expected, program, call))
                if outcome.kind == "same" and not asked[-1].startswith(("same", "cannot")):
                    outcome = Outcome("interpreter", "", asked[-1])
        if outcome.kind == "twin":
            twin = True
        elif outcome.kind != "same":
            outcome.text = f"{outcome.text}\n{call}"
            outcome.third = asked[-1] if asked else ""
            return outcome
    return Outcome("same", "twin" if twin else "", third=max(asked, key=lambda said: said != "same", default=""))


def _read_only(program: Program, call: str, compiled: Any, error: BaseException | None) -> bool:
    """Whether it is an exception that only V20 explains, or that may have met a `try`: without it all is well."""
    if "writeable" not in call or ("try:" not in program.text and "read-only" not in str(error)):
        return False
    written = "\n".join(line for line in call.split("\n") if "writeable" not in line)
    with time_limit(SECONDS_IN_CPYTHON + SECONDS_IN_WEFT):
        expected = run(load(program.text, "plain", lambda f: f), written, program.parameters)
        return _judge(run_compiled(compiled, written, program), expected, program, written).kind == "same"


def _third(compiled: Any, expected: Done, program: Program, call: str) -> str:
    scope: dict[str, Any] = {"np": np, "math": math}
    exec(call, scope)
    before = [scope[name] for name in program.parameters]
    # Its functions are the C library's, ours vector routines.
    ulps = ULPS if program.rounds else 0
    after = list(expected.arguments.values())
    return interpreted(compiled.inspect("ntensor"), before, expected.value, expected.error, after, ulps)


def _judge(found: Done, expected: Done, program: Program, call: str) -> Outcome:
    error, wanted = found.error, expected.error
    if isinstance(error, weft.errors.WeftInternalError):
        return Outcome("internal", _plain(str(error)), str(error))
    if wanted is None and isinstance(error, ValueError) and "is read-only" in str(error) and "writeable" in call:
        return Outcome("deviation", "V20")
    if isinstance(error, weft.errors.CompileError):
        # What always raises is said when compiling, by a class that is also Python's: nothing has run then.
        # What raises before it does not come first then (V16).
        if wanted is not None and (isinstance(error, type(wanted)) or isinstance(error, ALWAYS_RAISES)):
            return Outcome("twin")
        if _deviates(program, call):
            return Outcome("deviation", "refused")
        if isinstance(error, ALWAYS_RAISES):
            return Outcome("exception", f"{_name(error)} is not {_name(wanted)}", str(error))
        return _refused(error)
    if sys.version_info >= (3, 12) and _words_of_3_11(error, wanted):
        return Outcome("deviation", "V17")
    if not _same_class(error, wanted):
        names = f"{_name(error)} is not {_name(wanted)}"
        text = f"{_said(found)}\nis not\n{_said(expected)}"
        return Outcome("exception", names, text)
    if error is not None and wanted is not None:
        if str(error) != str(wanted):
            return Outcome("message", _plain(f"{error} is not {wanted}"), f"{error!r} is not {wanted!r}")
        if problem := difference(error.args, wanted.args, 0, "arguments of the exception"):
            return Outcome("arguments", problem[1], problem[2])
    ulps = ULPS if program.rounds else 0
    if problem := difference(found.value, expected.value, ulps, "result"):
        return Outcome(problem[0], problem[1], problem[2])
    for name in program.parameters:
        if problem := difference(found.arguments[name], expected.arguments[name], 0, name):
            return Outcome("argument " + problem[0], problem[1], problem[2])
    shared = sharing(found), sharing(expected)
    if shared[0] != shared[1]:
        return Outcome("sharing", "", f"{shared[0]} is not {shared[1]}")
    return Outcome("same")


def _name(error: BaseException | None) -> str:
    return type(error).__name__ if error else "no exception"


def _words_of_3_11(ours: BaseException | None, theirs: BaseException | None) -> bool:
    """Whether two exceptions are one in the words of CPython 3.11 and of a later one (V17)."""
    if type(ours) is NameError and type(theirs) is UnboundLocalError:
        return "free variable" in str(ours)
    words = r"(min|max)\(\) arg is an empty sequence|math domain error|.*(division|modulo) by zero"
    return _same_class(ours, theirs) and str(ours) != str(theirs) and re.fullmatch(words, str(ours)) is not None


def _same_class(ours: BaseException | None, theirs: BaseException | None) -> bool:
    """Each run of a program has classes of its own."""
    a, b = type(ours), type(theirs)
    return a is b or (a.__module__ == b.__module__ == "program" and a.__qualname__ == b.__qualname__)


def _said(done: Done) -> str:
    return _shown(done.error or done.value)


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:
        return "an int of thousands of digits"


def _plain(message: str) -> str:
    """A message without what is particular to one program."""
    first = message.split("\n")[0]
    return re.sub(r"\b[a-z]\d+\b", "x", re.sub(r"(?<![\w.])-?\d+(\.\d+)?(e[+-]\d+)?", "0", first))[:160]


def _refused(error: BaseException) -> Outcome:
    return Outcome("refused", f"{type(error).__name__}: {_plain(str(error))}", str(error))


# Values


def difference(ours: Any, theirs: Any, ulps: int, where: str) -> tuple[str, str, str] | None:
    """What differs between two values: the kind of it, a short form, a sentence."""
    if type(ours) is not type(theirs):
        names = f"{type(ours).__name__} is not {type(theirs).__name__}"
        return "type", names, f"{where}: {_shown(ours)} is not {_shown(theirs)}"
    if isinstance(theirs, tuple | list):
        if len(ours) != len(theirs):
            return "value", "length", f"{where}: {_shown(ours)} is not {_shown(theirs)}"
        found = (difference(a, b, ulps, f"{where}[{i}]") for i, (a, b) in enumerate(zip(ours, theirs)))
        return next((problem for problem in found if problem), None)
    if isinstance(theirs, np.ndarray | np.generic):
        if ours.dtype != theirs.dtype:
            return "dtype", f"{ours.dtype} is not {theirs.dtype}", f"{where}: {_shown(ours)} is not {_shown(theirs)}"
        if ours.shape != theirs.shape:
            return "shape", "", f"{where}: {_shown(ours)} is not {_shown(theirs)}"
        if theirs.dtype.kind == "f":
            # Not compared as an array: NumPy may be guarded against just that.
            pairs = zip(np.ravel(ours).tolist(), np.ravel(theirs).tolist())
            unit = float(np.finfo(theirs.dtype).eps)
            equal = all(_close(a, b, ulps * unit) for a, b in pairs)
        else:
            equal = ours.tolist() == theirs.tolist()
        return None if equal else ("value", str(theirs.dtype), f"{where}: {_shown(ours)} is not {_shown(theirs)}")
    if isinstance(theirs, float):
        equal = _close(ours, theirs, ulps * 2.0**-52)
    else:
        equal = ours == theirs
    return None if equal else ("value", type(theirs).__name__, f"{where}: {_shown(ours)} is not {_shown(theirs)}")


def _close(ours: float, theirs: float, relative: float) -> bool:
    if math.isnan(theirs):
        return math.isnan(ours)
    if relative == 0 or math.isinf(theirs):
        return ours == theirs and math.copysign(1, ours) == math.copysign(1, theirs)
    return math.isclose(ours, theirs, rel_tol=relative, abs_tol=1e-300)


def sharing(done: Done) -> list[tuple[str, str, str]]:
    """Which returned arrays are an argument or share memory with one, and with each other."""
    arrays = {f"result[{i}]": v for i, v in enumerate(_flat(done.value)) if isinstance(v, np.ndarray)}
    others = arrays | {n: v for n, v in done.arguments.items() if isinstance(v, np.ndarray)}
    found = []
    for name, array in arrays.items():
        for other, value in others.items():
            if other > name and value is array:
                found.append((name, "is", other))
            elif other != name and np.may_share_memory(array, value) and np.shares_memory(array, value):
                found.append((name, "shares memory with", other))
    return sorted(found)


def _flat(value: Any) -> list[Any]:
    return [item for part in value for item in _flat(part)] if isinstance(value, tuple) else [value]


# Deviations


def _deviates(program: Program, call: str) -> set[str]:
    """The entries of docs/deviations.md that the call is about, or that this is not known."""
    noticed: set[str] = set()
    try:
        with time_limit(10 * SECONDS_IN_CPYTHON), np.errstate(all="ignore"):
            run(watched(program, noticed, lambda constant: None), call, program.parameters)
    except TooSlow:
        return {"not known"}
    return noticed


def _overflows(found: Done, program: Program, call: str) -> bool:
    """Whether it is what CPython would do if ints that leave 64 bits raised: the first of them or, since what is not
    needed need not be computed and low bits are right in any case, only those after the first few. Constants are
    computed exactly, but what is kept of them has 64 bits too."""
    for also_constants in (False, True):
        for skipped in range(MOST_OVERFLOWS):
            left = skipped

            def leave(constant: bool, counts: bool = also_constants) -> None:
                nonlocal left
                if counts or not constant:
                    left -= 1
                    if left < 0:
                        raise OverflowError("64 bits")

            try:
                with time_limit(10 * SECONDS_IN_CPYTHON), np.errstate(all="ignore"):
                    expected = run(watched(program, set(), leave), call, program.parameters)
            except TooSlow:
                return False
            if LEFT.search(str(expected.error)) and LEFT.search(str(found.error)):
                expected.error = found.error
            if _judge(found, expected, program, call).kind == "same":
                return True
            if left >= 0:
                break
    return False
