"""What docs/spec.md promises, where each promise stands, and which tests name it.

A promise is a list item of the specification that begins with an id and a mark: `- A3 *done.* …`, `- T4 *partly.* …`,
`- K7 *planned.* …`. One that is kept in part says at its end what is not, after `*Missing:*`. A test names the promises
it proves in a comment: `# spec: A3, B4`, `// spec: …`, `; spec: …`, or `<!-- spec: … -->` in Markdown. What is done or
partly kept is named by a test, what is planned by none.

    python scripts/promises.py           the promises that are not kept, or in part, each with what is missing
    python scripts/promises.py --check   fails where the marks and the tests disagree, or a test names no promise
"""

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "docs" / "spec.md"
TESTS = ["tests/**/*", "crates/*/tests/**/*", "crates/*/src/**/*.rs", "filetests/**/*"]
MARKS = ("done", "partly", "planned")

PROMISE = re.compile(r"^\s*- ([A-Z]\d+[a-z]?) (?:\*(\w+)\.\* )?(.*)$")
HEADING = re.compile(r"^## ([A-Z])\. (.*?)(?: \(.*\))?$")
NAMED = re.compile(r"(?:#|//[/!]?|;|<!--)\s*spec:\s*([A-Z].*?)(?:-->)?$")
MISSING = "*Missing:*"


class Promise(NamedTuple):
    """An item of the specification."""

    mark: str  # one of MARKS, or what stands in its place
    text: str

    @property
    def missing(self) -> str:
        """What of it is not there, where the item says so."""
        return self.text.partition(MISSING)[2].strip()


def read_spec(text: str) -> tuple[dict[str, Promise], dict[str, str]]:
    """The promises by id, and the title of each section by its letter."""
    promises: dict[str, Promise] = {}
    sections: dict[str, str] = {}
    current = None
    for line in text.splitlines():
        if item := PROMISE.match(line):
            current = item[1]
            promises[current] = Promise(item[2] or "", item[3].strip())
        elif heading := HEADING.match(line):
            current = None
            sections[heading[1]] = heading[2]
        elif current and line.startswith(" "):
            promises[current] = Promise(promises[current].mark, promises[current].text + " " + line.strip())
        else:
            current = None
    return promises, sections


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence, or what fits a line."""
    return textwrap.shorten(re.split(r"(?<=\.)\s", text, maxsplit=1)[0].rstrip("."), 112, placeholder=" …")


def named() -> Iterator[tuple[str, str]]:
    """Every id that a test names, or what stands where one should, with its place."""
    files = {path for pattern in TESTS for path in ROOT.glob(pattern) if path.is_file()}
    for path in sorted(files):
        if "__pycache__" in path.parts:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for comment in NAMED.finditer(line):
                for name in comment[1].split(","):
                    yield name.strip(), f"{path.relative_to(ROOT)}:{number}"


def problems(promises: dict[str, Promise], names: dict[str, str]) -> list[str]:
    """Where marks and tests disagree; `names` are the ids that tests name, each with a place."""
    found = []
    for name, place in names.items():
        if name not in promises:
            found.append(f"{place}: docs/spec.md has no promise {name}")
        elif promises[name].mark == "planned":
            found.append(f"{place}: {name} is marked as planned: mark it as partly kept, or name another promise")
    for name, promise in promises.items():
        if promise.mark not in MARKS:
            found.append(f"docs/spec.md: {name} has no mark: {', '.join(f'*{mark}.*' for mark in MARKS)}")
        elif promise.mark != "planned" and name not in names:
            found.append(f"docs/spec.md: {name} is marked as {promise.mark}, and no test names it")
        if (promise.mark == "partly") != bool(promise.missing):
            found.append(f"docs/spec.md: {name}: what is kept in part, and nothing else, says what is {MISSING}")
    return found


def main(arguments: list[str]) -> int:
    """Runs the command line."""
    promises, sections = read_spec(SPEC.read_text())
    if arguments == ["--check"]:
        found = problems(promises, dict(named()))
        for problem in found:
            print(problem, file=sys.stderr)
        return 1 if found else 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2

    for letter, title in sections.items():
        names = [name for name in promises if name[0] == letter and promises[name].mark != "done"]
        if names:
            print(f"{letter}. {title}")
        for name in names:
            promise = promises[name]
            rest = promise.missing or first_sentence(promise.text)
            print(
                textwrap.fill(
                    f"{promise.mark:<8} {rest}", 118, initial_indent=f"  {name:<4} ", subsequent_indent=" " * 16
                )
            )
    counts = [f"{sum(promise.mark == mark for promise in promises.values())} {mark}" for mark in MARKS]
    print(f"{len(promises)} promises: {', '.join(counts)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
