"""What a kernel in several spellings is: the same computation, as whole arrays in different words and as loops.

Each kernel makes its arguments, and its spellings take them in the same order; who needs no `out` leaves it alone. The
first spelling says what the kernel is: NumPy runs it, and all others must agree with it. `@kernel.array` is one that
names arrays or their parts in each statement that does the work, `@kernel.loops` one that goes element by element.

A spelling that may not be compiled to the code of the fastest one, because the promises on bits forbid it or because it
asks for more work, has a rule with a floor of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True)
class Rule:
    """Why a spelling is not measured by the budget, and what it is measured by: × the fastest, by number of threads."""

    name: str
    why: str
    floor: Callable[[int], float]


SOURCE_ORDER = Rule(
    "source order",
    "sums that a program adds up itself, or that `sum` makes, keep their order and round each product; the one of `@` "
    "and `dot` is chosen by the compiler, with fused multiply-adds: half of the instructions",
    lambda threads: 3.0,
)
SERIAL = Rule(
    "serial",
    "each addition of floats needs the result of the last one, in the order of the program, so one thread does them "
    "one by one; a library function or a prange may add up in blocks",
    lambda threads: 1.3 * threads,
)
MORE_WORK = Rule(
    "more work",
    "goes over all elements for each of the 64 bins, where the others go over them once; eight at a time at best",
    lambda threads: 16.0,
)


@dataclass
class Spelling:
    function: Function
    array: bool
    exempt: Rule | None

    @property
    def name(self) -> str:
        return self.function.__name__


@dataclass
class Kernel:
    """What is computed; `make` gives the arguments for sizes: those to measure by, or small ones to look at code by."""

    name: str
    make: Callable[..., tuple[Any, ...]]
    sizes: tuple[int, ...]
    small: tuple[int, ...]
    spellings: list[Spelling] = field(default_factory=list)

    def __post_init__(self) -> None:
        KERNELS.append(self)

    def _add(self, function: Function | None, array: bool, exempt: Rule | None) -> Any:
        if function is None:
            return lambda later: self._add(later, array, exempt)
        self.spellings.append(Spelling(function, array, exempt))
        return function

    def array(self, function: Function | None = None, *, exempt: Rule | None = None) -> Any:
        return self._add(function, True, exempt)

    def loops(self, function: Function | None = None, *, exempt: Rule | None = None) -> Any:
        return self._add(function, False, exempt)


KERNELS: list[Kernel] = []


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def random(*shapes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    source = rng()
    return tuple(source.random(shape) for shape in shapes)
