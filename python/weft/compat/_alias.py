"""Aliases that are looked up when they are used: importing a compatibility module imports nothing else."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def lazy(module: str, names: dict[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module whose names stand for others: `{"SyclQueue": "weft:Queue"}`.

    A target without a colon is a module.
    """

    def get(name: str) -> Any:
        target = names.get(name)
        if target is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, attribute = target.partition(":")
        found = importlib.import_module(home)
        if not attribute:
            return found
        try:
            return getattr(found, attribute)
        except AttributeError:
            raise AttributeError(f"{module}.{name} is {home}.{attribute}, which this version does not have") from None

    return get, lambda: sorted(names)
