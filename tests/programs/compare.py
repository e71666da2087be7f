"""One program by CPython with NumPy and by Weft: what each does, and whether it is the same.

Compared are the value, Python type, dtype and shape of what is returned, what it shares memory with, what became of the
arguments, and the class and message of an exception. Where docs/deviations.md allows a difference, the program is run
again in a form that notices whether it did what the entry is about (an int beyond 64 bits, a float cast to an integer
that cannot hold it); only then is a difference let pass.
"""

import ast
import linecache
import math
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

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
            if compiled is None:
                try:
                    compiled = compiler(program.text)
                except weft.errors.CompileError as error:
                    return _refused(error)
            try:
                with time_limit(SECONDS_IN_WEFT):
                    found = run(compiled, call, program.parameters)
            except TooSlow:
                return Outcome("hang", "", call)
            outcome = _judge(found, expected, program, call)
            outcome.wanted = _name(expected.error)
            if outcome.wrong and _read_only(program, call, compiled, found.error):
                outcome = Outcome("deviation", "V20")
            elif outcome.wrong and (about := _deviates(program, call)):
                # An int beyond 64 bits must raise (V1): a wrong number is no deviation. A handler may hide that it did.
                silent = about == {"V1"} and found.error is None and "except" not in program.text
                outcome = Outcome("overflow", "", outcome.text) if silent else Outcome("deviation", outcome.kind)
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
        return _judge(run(compiled, written, program.parameters), expected, program, written).kind == "same"


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


class Watched(ast.NodeTransformer):
    """A program in which operations report to functions of these names."""

    def _call(self, name: str, *arguments: ast.expr) -> ast.expr:
        return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            return self._call("_seen", self._call("_power", node.left, node.right))
        if isinstance(node.op, ast.LShift):
            return self._call("_seen", self._call("_shift", node.left, node.right))
        return self._call("_seen", node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return self._call("_seen", node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "astype":
                node.func.value = self._call("_cast", node.func.value)
            elif re.fullmatch(r"u?int\d+", node.func.attr):
                node.args = [self._call("_cast", argument) for argument in node.args]
            elif node.func.attr in ("fmin", "fmax"):
                node.args = [ast.Starred(self._call("_extreme", *node.args), ast.Load())]
            elif node.func.attr in ("signbit", "copysign"):
                node.args = [self._call("_signed", argument) for argument in node.args]
            elif node.func.attr == "reshape":
                node.func.value = self._call("_shaped", node.func.value)
            elif node.func.attr in ("min", "max"):
                node.func.value = self._call("_least", node.func.value)
                node.args = [self._call("_least", argument) for argument in node.args]
        return self._call("_seen", node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        return [node, ast.Expr(self._call("_seen", ast.Name(node.target.id, ast.Load())))]

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            node.value = self._call("_stored", target.value, node.value)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self._call("_seen", node) if type(node.value) is int else node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node


def _deviates(program: Program, call: str) -> set[str]:
    """The entries of docs/deviations.md that the call is about: V1, V3 to V5, V22 to V24, or that this is not known."""
    noticed: set[str] = set()

    def seen(value: Any) -> Any:
        if type(value) is int and not -(2**63) <= value < 2**63:
            noticed.add("V1")
        return value

    def power(base: Any, exponent: Any) -> Any:
        if type(base) in (int, bool) and type(exponent) in (int, bool) and exponent < 0:
            noticed.add("V3")
        if type(base) is float and base < 0 and exponent != int(exponent):
            noticed.add("V4")
        return base**exponent

    def shift(number: Any, count: Any) -> Any:
        if type(number) in (int, bool) and type(count) in (int, bool) and count > 64 and number:
            noticed.add("V1")
        return number << count

    def cast(value: Any) -> Any:
        if getattr(getattr(value, "dtype", None), "kind", "") == "f" or type(value) is float:
            if any(not abs(x) < 2**31 for x in np.ravel(np.asarray(value)).tolist()):
                noticed.add("V5")
        return value

    def extreme(x: Any, y: Any) -> tuple[Any, Any]:
        if np.any((np.asarray(x) == 0) & (np.asarray(y) == 0) & (np.signbit(1.0 * x) != np.signbit(1.0 * y))):
            noticed.add("V22")
        return x, y

    def least(x: Any) -> Any:
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and len({*np.signbit(x[x == 0]).tolist()}) == 2:
            noticed.add("V22")
        return x

    def signed(x: Any) -> Any:
        if np.any(np.isnan(np.asarray(x, dtype=np.float64))):
            noticed.add("V24")
        return x

    def shaped(x: Any) -> Any:
        if isinstance(x, np.ndarray) and not x.flags.c_contiguous:
            noticed.add("V23")
        return x

    def stored(target: Any, value: Any) -> Any:
        return cast(value) if isinstance(target, np.ndarray) and target.dtype.kind in "iu" else value

    tree = ast.fix_missing_locations(Watched().visit(ast.parse(program.text)))
    scope: dict[str, Any] = {"__name__": "program", "njit": lambda f: f}
    scope |= {
        "_seen": seen,
        "_power": power,
        "_shift": shift,
        "_cast": cast,
        "_stored": stored,
        "_extreme": extreme,
        "_least": least,
        "_shaped": shaped,
        "_signed": signed,
    }
    exec(compile(tree, "<watched>", "exec"), scope)
    try:
        with time_limit(10 * SECONDS_IN_CPYTHON), np.errstate(all="ignore"):
            run(scope["f"], call, program.parameters)
    except TooSlow:
        return {"not known"}
    return noticed
