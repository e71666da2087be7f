"""Lists the promises of docs/spec.md that no test names.

A promise is a list item of the specification that begins with an id (`- A3 …`, `- T4a …`). A test names the promises it
proves in a comment: `# spec: A3, B4`, `// spec: …`, `; spec: …`, or `<!-- spec: … -->` in Markdown.

    python scripts/promises.py                 the unnamed promises, each with its first sentence
    python scripts/promises.py --check-known   fails where a test names an id that does not exist
"""

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "docs" / "spec.md"
TESTS = ["tests/**/*", "crates/*/tests/**/*", "crates/*/src/**/*.rs", "filetests/**/*"]

PROMISE = re.compile(r"^\s*- ([A-Z]\d+[a-z]?) (.*)$")
HEADING = re.compile(r"^## ([A-Z])\. (.*?)(?: \(.*\))?$")
NAMED = re.compile(r"(?:#|//[/!]?|;|<!--)\s*spec:\s*([A-Z]\d+[a-z]?(?:\s*,\s*[A-Z]\d+[a-z]?)*)")


def read_spec() -> tuple[dict[str, str], dict[str, str]]:
    """The text of each promise by id, and the title of each section by its letter."""
    promises: dict[str, str] = {}
    sections: dict[str, str] = {}
    current = None
    for line in SPEC.read_text().splitlines():
        if item := PROMISE.match(line):
            current = item[1]
            promises[current] = item[2].strip()
        elif heading := HEADING.match(line):
            current = None
            sections[heading[1]] = heading[2]
        elif current and line.startswith(" "):
            promises[current] += " " + line.strip()
        else:
            current = None
    return promises, sections


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence, or what fits a line."""
    return textwrap.shorten(re.split(r"(?<=\.)\s", text, maxsplit=1)[0].rstrip("."), 112, placeholder=" …")


def named() -> Iterator[tuple[str, Path, int]]:
    """Every id that a test names, with its place."""
    files = {path for pattern in TESTS for path in ROOT.glob(pattern) if path.is_file()}
    for path in sorted(files):
        if "__pycache__" in path.parts:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for comment in NAMED.finditer(line):
                for name in re.split(r"\s*,\s*", comment[1]):
                    yield name, path.relative_to(ROOT), number


def main(arguments: list[str]) -> int:
    """Runs the command line."""
    promises, sections = read_spec()
    if arguments == ["--check-known"]:
        unknown = [(name, path, line) for name, path, line in named() if name not in promises]
        for name, path, line in unknown:
            print(f"{path}:{line}: docs/spec.md has no promise {name}", file=sys.stderr)
        return 1 if unknown else 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2

    proved = {name for name, _, _ in named()}
    unproved = [name for name in promises if name not in proved]
    for letter, title in sections.items():
        names = [name for name in unproved if name[0] == letter]
        if names:
            print(f"{letter}. {title}")
            for name in names:
                print(f"  {name:<4} {first_sentence(promises[name])}")
    print(f"{len(promises) - len(unproved)} of {len(promises)} promises are named by a test.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
