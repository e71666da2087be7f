"""Random array expressions: made, run by NumPy and by Weft, compared, and made smaller when they differ.

A program is a tree over leaves (arrays `a`, `b`, `c`, scalars `s`, `t` and constants). NumPy evaluates every subtree
as it grows, so that operators meet operands they are defined on. Functions that round (sin, pow, …) are only wrapped
in what does not amplify an error, so that the bound of one function holds for the whole.
"""

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import weft
from doors import function
from support import same

ULPS = 4
DEVICE_DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
DTYPES = [*DEVICE_DTYPES, "float16", "complex64", "complex128"]
SHAPES = [
    [(3, 4), (4,), (1, 4), (3, 1), (1, 1), (1,), ()],
    [(7,), (1,), ()],
    [(0, 4), (4,), (1, 4), (0, 1), (1,)],
    [(2, 3, 5), (3, 5), (5,), (3, 1), (2, 1, 1), ()],
]
CONSTANTS = ["0", "1", "2", "3", "-1", "7", "0.0", "1.0", "0.5", "-2.25", "3.0", "True", "False"]

ANY = ["{} + {}", "{} * {}", "{} == {}", "{} != {}", "{} < {}", "{} <= {}", "{} > {}", "{} >= {}"]
ANY += ["np.minimum({}, {})", "np.maximum({}, {})", "np.where({} > 0, {}, {})", "{} / {}"]
NUMBERS = ["{} - {}", "-{}", "{} // {}", "{} % {}", "abs({})", "np.abs({})", "+{}"]
BITS = ["{} & {}", "{} | {}", "{} ^ {}", "~{}"]
SHIFTS = ["{} << ({} & 7)", "{} >> ({} & 15)"]
ROUNDING = ["np.sin({})", "np.cos({})", "np.exp({})", "np.log({})", "np.sqrt({})", "{} ** {}"]
# NumPy's arrays round products of complex numbers in their own way.
COMPLEX = ["{} + {}", "{} - {}", "{} == {}", "{} != {}", "{} < {}", "{} >= {}", "-{}", "np.maximum({}, {})"]
COMPLEX += ["np.where({} != 0, {}, {})", "{} - {}", "{} / {}"]
KEEPING = ["-{}", "np.abs({})", "np.minimum({}, {})", "np.where({} > 1, {}, {})"]


@dataclass
class Node:
    """A subtree: `template` with its `children`, and what NumPy makes of it."""

    template: str
    children: list["Node"] = field(default_factory=list)
    value: Any = None

    @property
    def text(self) -> str:
        return self.template.format(
            *(child.text if not child.children else f"({child.text})" for child in self.children)
        )

    @property
    def size(self) -> int:
        return 1 + sum(child.size for child in self.children)

    @property
    def has_array(self) -> bool:
        return isinstance(self.value, np.ndarray) or any(child.has_array for child in self.children)


@dataclass
class Program:
    """An expression and its arguments."""

    root: Node
    arguments: dict[str, Any]

    @property
    def text(self) -> str:
        return self.root.text

    def with_root(self, root: Node) -> "Program":
        return Program(root, self.arguments)


def _array(rng: random.Random, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    numbers = np.random.default_rng(rng.getrandbits(32))
    steps = [rng.choice([1, 1, 2, -1]) for _ in shape]
    whole = tuple(n * abs(step) for n, step in zip(shape, steps))
    if dtype == "bool":
        array = numbers.random(whole) < 0.5
    elif dtype.startswith(("int", "uint")):
        array = numbers.integers(-9, 10, whole).astype(dtype)
        if rng.random() < 0.2 and array.size:
            array = np.where(numbers.random(whole) < 0.2, np.iinfo(dtype).min, array).astype(dtype)
    elif dtype.startswith("complex"):
        array = (np.round(numbers.normal(size=whole), 1) + 1j * numbers.integers(-2, 3, whole)).astype(dtype)
    else:
        array = np.round(numbers.normal(scale=4, size=whole), 2).astype(dtype)
        if rng.random() < 0.3 and array.size:
            special = numbers.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 1e30], whole)
            array = np.where(numbers.random(whole) < 0.3, special, array).astype(dtype)
    if rng.random() < 0.2:
        array = np.asfortranarray(array)
    return array[tuple(slice(None, None, step) for step in steps)]


def _arguments(rng: random.Random, tensors: bool, dtypes: list[str]) -> dict[str, Any]:
    family = rng.choice(SHAPES)
    arguments: dict[str, Any] = {}
    for name in "abc"[: rng.randint(1, 3)]:
        arguments[name] = _array(rng, rng.choice(dtypes), rng.choice(family))
    if not tensors:
        scalars = [3, -2, 2.5, True, np.float32(1.5), np.int32(-7), np.int64(5), np.float64(0.75), np.bool_(True)]
        scalars += [np.int8(-100), np.uint8(200), np.uint16(9), np.uint32(2**31), np.uint64(2**63 + 5)]
        if "complex64" in dtypes:
            scalars += [1.5 - 2j, np.complex64(0.5 + 1j), np.complex128(-3j), np.float16(0.1)]
        for name in "st"[: rng.randint(0, 2)]:
            arguments[name] = rng.choice(scalars)
    return arguments


def _evaluate(node: Node, arguments: dict[str, Any], dtypes: list[str] = DTYPES) -> Node | None:
    """The node with its value; None where NumPy refuses, or where the result is of another dtype."""
    try:
        node.value = eval(node.text, {"np": np} | arguments)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return None
    if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return node if abs(node.value) < 2**40 else None
    dtype = getattr(node.value, "dtype", None)
    return node if isinstance(node.value, (bool, complex)) or str(dtype) in dtypes else None


def _kind(value: Any) -> str:
    return np.asarray(value).dtype.kind


def _leaf(rng: random.Random, arguments: dict[str, Any]) -> Node:
    name = rng.choice([*arguments, *arguments, *arguments, rng.choice(CONSTANTS)])
    return Node(name, [], eval(name, {"np": np} | arguments))


def _templates(left: Node, right: Node) -> list[str]:
    kinds = _kind(left.value) + _kind(right.value)
    if "c" in kinds:
        return COMPLEX
    templates = list(ANY)
    if kinds != "bb":
        templates += NUMBERS
    if "f" not in kinds:
        templates += BITS
        if left.has_array and right.has_array and kinds != "bb":
            templates += SHIFTS
    return templates


def _grow(rng: random.Random, arguments: dict[str, Any], depth: int, dtypes: list[str]) -> Node:
    if depth == 0 or rng.random() < 0.1:
        return _leaf(rng, arguments)
    for _ in range(20):
        children = [_grow(rng, arguments, depth - 1, dtypes) for _ in range(2)]
        template = rng.choice(_templates(*children))
        node = _fill(rng, template, children, arguments, dtypes)
        if node is not None:
            return node
    return _leaf(rng, arguments)


def _fill(
    rng: random.Random, template: str, children: list[Node], arguments: dict[str, Any], dtypes: list[str] = DTYPES
) -> Node | None:
    holes = template.count("{}")
    children = [*children, _leaf(rng, arguments)][:holes]
    # A third operand may bring complex numbers where the template is not for them.
    if template not in COMPLEX and any(_kind(child.value) == "c" for child in children):
        return None
    # Library functions of constants alone are not what this is about, and tensors have none.
    if "np." in template and not any(child.has_array for child in children):
        return None
    return _evaluate(Node(template, children), arguments, dtypes)


def _round(rng: random.Random, node: Node, arguments: dict[str, Any], dtypes: list[str]) -> Node:
    """A rounding function around an exact expression, inside things that keep its error small."""
    made = _fill(rng, rng.choice(ROUNDING), [node, node], arguments, dtypes)
    if made is None or _kind(made.value) != "f":
        return node
    kept = _fill(rng, rng.choice(KEEPING), [made, made], arguments, dtypes)
    # In a wider dtype the same error would be more ulps.
    wider = kept is None or np.asarray(kept.value).dtype != np.asarray(made.value).dtype
    return made if kept is None or wider or rng.random() < 0.5 else kept


def make(seed: int, depth: int = 5, tensors: bool = False, device: bool = False) -> Program:
    """The program of a seed; `device`: in the dtypes that every device has."""
    dtypes = DEVICE_DTYPES if device else DTYPES
    rng = random.Random(seed)
    with np.errstate(all="ignore"):
        while True:
            arguments = _arguments(rng, tensors, dtypes)
            root = _grow(rng, arguments, rng.randint(1, depth), dtypes)
            if rng.random() < 0.4:
                root = _round(rng, root, arguments, dtypes)
            if root.children and root.has_array:
                return Program(root, arguments)


@dataclass
class Outcome:
    """`problem` is what differs; `refused` that Weft says it does not support the program."""

    problem: str = ""
    refused: bool = False


def _compare(run: Any, program: Program, tensors: bool) -> Outcome:
    try:
        with np.errstate(all="ignore"):
            expected = eval(program.text, {"np": np} | program.arguments)
    except Exception as error:
        expected = error
    try:
        result = run()
    except weft.UnsupportedError:
        return Outcome(refused=True)
    except Exception as error:
        if isinstance(expected, Exception) and isinstance(error, type(expected)):
            return Outcome()
        return Outcome(f"raised {type(error).__name__}: {error}")
    if isinstance(expected, Exception):
        return Outcome(f"returned {result!r}, NumPy raised {expected!r}")
    try:
        same(result, np.asarray(expected) if tensors else expected, ULPS if _rounds(program.root) else 0)
    except AssertionError as error:
        return Outcome(str(error) or "differs")
    return Outcome()


def _rounds(node: Node) -> bool:
    return node.template in ROUNDING or any(_rounds(child) for child in node.children)


def run_njit(program: Program, device: str = "") -> Outcome:
    """Compares `@weft.njit` with NumPy; on the host, or inside a context of `device`."""
    names = list(program.arguments)

    def run() -> Any:
        f = function(f"def f({', '.join(names)}):\n    return {program.text}\n", "f", weft.njit)
        if not device:
            return f(*program.arguments.values())
        with weft.device_context(device):
            return f(*program.arguments.values())

    return _compare(run, program, tensors=False)


def run_tensor(program: Program, device: str) -> Outcome:
    """Compares `weft.tensor` with NumPy."""

    def run() -> Any:
        tensors = {n: weft.tensor.asarray(x, device=device) for n, x in program.arguments.items()}
        result = eval(program.text, {"np": weft.tensor} | tensors)
        return weft.tensor.asnumpy(result)

    return _compare(run, program, tensors=True)


def shrink(program: Program, fails: Any) -> Program:
    """A smaller program that still fails: subtrees are replaced by their own subtrees for as long as that works."""

    def smaller(node: Node) -> Any:
        yield from node.children
        for k, child in enumerate(node.children):
            for other in smaller(child):
                yield Node(node.template, [*node.children[:k], other, *node.children[k + 1 :]])

    def arrays_left(root: Node) -> bool:
        return bool(_evaluate(root, program.arguments)) and root.has_array

    with np.errstate(all="ignore"):
        found = True
        while found:
            found = False
            for root in smaller(program.root):
                if arrays_left(root) and root.size < program.root.size and fails(program.with_root(root)):
                    program, found = program.with_root(root), True
                    break
    names = [n for n in program.arguments if n in program.text.replace("np.", "").replace("abs", "")]
    kept = program.with_root(program.root)
    kept.arguments = {n: x for n, x in program.arguments.items() if n in names} or program.arguments
    return kept if fails(kept) else program


def describe(program: Program) -> str:
    """The program as something to paste."""
    lines = []
    for name, value in program.arguments.items():
        if isinstance(value, np.ndarray):
            lines.append(
                f"{name} = np.array({value.tolist()!r}, {str(value.dtype)!r})  # {value.shape}, {value.strides}"
            )
        else:
            lines.append(f"{name} = {value!r}")
    return "\n".join([*lines, program.text])
