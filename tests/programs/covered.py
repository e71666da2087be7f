"""Which statements and operators the random programs are made of, and which of them CPython got to.

    python tests/programs/covered.py [--count 500] [--seed 0]

prints the table. A node counts as executed when its line was.
"""

import argparse
import ast
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from compare import SECONDS_IN_CPYTHON, TooSlow, load, run, time_limit
from grammar import Program, make

import numpy as np

# What the specification (N2) names; the tests ask that all of it is executed.
STATEMENTS = [
    "If",
    "else",
    "While",
    "For",
    "else of For",
    "else of While",
    "Break",
    "Continue",
    "Return",
    "Try",
    "except",
]
STATEMENTS += [
    "else of Try",
    "finally",
    "Raise",
    "Assert",
    "Match",
    "FunctionDef",
    "Nonlocal",
    "Assign",
    "AugAssign",
    "Pass",
]
STATEMENTS += ["Delete", "Expr"]
OPERATORS = ["Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow", "LShift", "RShift", "BitAnd", "BitOr", "BitXor"]
OPERATORS += ["USub", "UAdd", "Invert", "Not", "And", "Or", "Lt", "LtE", "Gt", "GtE", "Eq", "NotEq", "In", "NotIn"]
EXPRESSIONS = [
    "IfExp",
    "NamedExpr",
    "Lambda",
    "Call",
    "ListComp",
    "GeneratorExp",
    "Subscript",
    "Slice",
    "Tuple",
    "List",
]
EXPRESSIONS += ["JoinedStr", "Attribute"]
WANTED = STATEMENTS + OPERATORS + EXPRESSIONS


class Coverage:
    """Counts over programs."""

    def __init__(self) -> None:
        self.generated: Counter[str] = Counter()
        self.executed: Counter[str] = Counter()
        self.made: Counter[str] = Counter()  # by the productions of the grammar
        self.programs = 0

    def add(self, program: Program) -> None:
        """Runs a program in CPython, and counts."""
        self.programs += 1
        self.made += program.used
        labels = _labels(ast.parse(program.text))
        lines = _executed_lines(program)
        for line, found in labels.items():
            self.generated.update(found)
            if line in lines:
                self.executed.update(found)

    def counts(self) -> dict[str, Any]:
        """All of it, for another process."""
        made = {"generated": self.generated, "executed": self.executed, "made": self.made}
        return {"programs": self.programs} | {name: dict(counter.most_common()) for name, counter in made.items()}

    def merge(self, counts: dict[str, Any]) -> None:
        """Adds what another process counted."""
        self.programs += counts["programs"]
        self.generated.update(counts["generated"])
        self.executed.update(counts["executed"])
        self.made.update(counts["made"])

    def missing(self) -> list[str]:
        return [label for label in WANTED if not self.executed[label]]

    def table(self) -> str:
        lines = [f"{self.programs} programs", "", f"{'':24}{'generated':>10}{'executed':>10}"]
        for title, labels in (("statements", STATEMENTS), ("operators", OPERATORS), ("expressions", EXPRESSIONS)):
            lines.append(f"{title}")
            lines += [f"  {label:22}{self.generated[label]:10}{self.executed[label]:10}" for label in labels]
        others = sorted(set(self.generated) - set(WANTED))
        lines += ["others", *(f"  {label:22}{self.generated[label]:10}{self.executed[label]:10}" for label in others)]
        lines += ["", "by production (generated)"]
        lines += [f"  {name:50}{count:8}" for name, count in sorted(self.made.items())]
        return "\n".join(lines)


def _labels(tree: ast.AST) -> dict[int, list[str]]:
    """What stands on each line."""
    found: dict[int, list[str]] = defaultdict(list)
    line = 0
    for node in ast.walk(tree):
        line = getattr(node, "lineno", None) or getattr(node, "_line", line)
        for child in ast.iter_child_nodes(node):
            child._line = line
        if isinstance(node, ast.stmt | ast.expr | ast.operator | ast.unaryop | ast.cmpop | ast.boolop):
            found[line].append(type(node).__name__)
        if isinstance(node, ast.For | ast.While | ast.Try | ast.If) and node.orelse:
            kind = "else" if isinstance(node, ast.If) else f"else of {type(node).__name__}"
            found[node.orelse[0].lineno].append(kind)
        if isinstance(node, ast.Try) and node.finalbody:
            found[node.finalbody[0].lineno].append("finally")
        if isinstance(node, ast.ExceptHandler):
            found[node.body[0].lineno].append("except")
        if isinstance(node, ast.Nonlocal):
            # No code of its own: executed when the function is.
            found[node.lineno + 1].append("Nonlocal")
    return found


def _executed_lines(program: Program) -> set[int]:
    function = load(program.text, "covered", lambda f: f)
    lines: set[int] = set()

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code.co_filename != "<program covered>":
            return None
        lines.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    try:
        with time_limit(20 * SECONDS_IN_CPYTHON), np.errstate(all="ignore"):
            sys.settrace(trace)
            for call in program.calls:
                run(function, call, program.parameters)
    except TooSlow:
        pass
    finally:
        sys.settrace(before)
    return lines


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    coverage = Coverage()
    for seed in range(options.seed, options.seed + options.count):
        coverage.add(make(seed))
    print(coverage.table())
    print("\nnever executed:", ", ".join(coverage.missing()) or "nothing")


if __name__ == "__main__":
    main()
