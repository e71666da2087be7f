"""Random programs about memory, to be run in a device context: what a device computes and the host writes.

`make(seed, device)` writes a function of vectors and a matrix, some of which may overlap. Locals are made in every way
(computed, copied, filled, views, other names, one of two), and written in every way (elements, slices, masks, `out=`,
rows, columns, in place, through tuples and lists, by other functions) in loops, branches, handlers and inner functions.
All numbers are integers of a size that sums of floats hold exactly, so that any order of a sum gives the same bits.
"""

import random
from dataclasses import dataclass, replace

from grammar import Program

LENGTH, ROWS = 8, 3
MOST_DEPTH = 3
CALLS = {
    "apart": "a = {v}\nb = {v}[::-1] * 2\nm = {m}",
    "overlapping": "base = np.arange({z}, 13).astype({v}.dtype)\na = base[1:9]\nb = base[3:11]\nm = {m}",
    "reversed": "base = np.arange({z}, 13).astype({v}.dtype)\na = base[8:0:-1]\nb = base[2:10]\nm = {m}",
    "rows": "m = {m}\na = m[1]\nb = m[0]",
    "one": "a = {v}\nb = a\nm = {m}",
    "strided": "a = np.repeat({v}, 2)[::2]\nb = {v}[::-1]\nm = np.asfortranarray({m})",
    "columns": "a = {v}\nb = {v} + 1\nm = np.repeat({m}, 2, axis=1)[:, ::2]",
}


# What programs call: elsewhere compiled once, and walked with its arguments' types here.
CHANGE = [
    "@njit",
    "def change(x, y, k):",
    "    for i in range(k):",
    "        x[i % len(x)] += k",
    "    x -= 1",
    "    return y[1:]",
    "",
    "",
]


@dataclass
class Local:
    """An array that a statement may use."""

    name: str
    shape: tuple[int, ...]


class Writer:
    """Writes the statements of one program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.dtype = rng.choice(["float64", "float64", "int64", "int64", "float32", "int32", "int16"])
        self.is_int = self.dtype.startswith("int")
        self.lines: list[str] = []
        self.indent = 1
        self.locals = [Local("a", (LENGTH,)), Local("b", (LENGTH,)), Local("m", (ROWS, LENGTH))]
        self.count = 0
        self.left = rng.randint(3, 14)

    # What is written

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def number(self) -> str:
        value = self.rng.choice([-3, -2, -1, 0, 1, 2, 3, 5, 9])
        return str(value) if self.is_int else f"{value}.0"

    def of_shape(self, shape: tuple[int, ...]) -> str | None:
        names = [one.name for one in self.locals if one.shape == shape]
        # Recent ones more often: what has just been computed at a device.
        return self.rng.choice(names[-3:] if self.rng.random() < 0.6 else names) if names else None

    def any_local(self, least_rank: int = 1) -> Local:
        found = [one for one in self.locals if len(one.shape) >= least_rank and one.shape[0] > 1]
        return self.rng.choice(found[-3:] if self.rng.random() < 0.6 else found)

    def leaf(self, shape: tuple[int, ...]) -> str:
        name = self.of_shape(shape)
        if name is None or (shape == (LENGTH,) and self.rng.random() < 0.15):
            return f"m[{self.rng.randrange(ROWS)}]" if shape == (LENGTH,) else self.number()
        return name

    def expression(self, shape: tuple[int, ...], depth: int = 2) -> str:
        """An array of this shape; a scalar where there is none of it."""
        x = self.leaf(shape) if depth <= 1 or self.rng.random() < 0.4 else self.expression(shape, depth - 1)
        y = self.leaf(shape) if self.rng.random() < 0.6 else self.number()
        kind = self.rng.randrange(7)
        if kind < 3:
            text = f"({x} {self.rng.choice('+-*')} {y})"
        elif kind == 3:
            text = f"np.{self.rng.choice(['minimum', 'maximum', 'add', 'subtract'])}({x}, {y})"
        elif kind == 4:
            text = f"np.where({x} < {self.number()}, {x}, {y})"
        elif kind == 5:
            text = f"abs({x})"
        else:
            text = f"({x} * {self.number()})"
        return text

    def bounded(self, text: str, limit: int = 9) -> str:
        """Small enough that what loops make of it is exact; integers wrap, which is exact too."""
        return text if self.is_int else f"np.minimum(np.maximum({text}, -{limit}.0), {limit}.0)"

    def index(self, size: int) -> str:
        return str(self.rng.randrange(-size, size))

    def piece(self, size: int) -> tuple[str, int]:
        """A slice of an axis, and its length."""
        start, stop, step = self.rng.choice(
            [(1, None, 1), (None, -1, 1), (None, None, -1), (None, None, 2), (1, -1, 1), (2, 5, 1)]
        )
        text = ":".join(["" if start is None else str(start), "" if stop is None else str(stop)])
        text += "" if step == 1 else f":{step}"
        return text, len(range(size)[slice(start, stop, step)])

    # Statements

    def statements(self, depth: int) -> None:
        """A block; names made in it are not used behind it."""
        known = len(self.locals)
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth)
        del self.locals[known:]

    def block(self, header: str, depth: int) -> None:
        self.emit(header)
        self.indent += 1
        self.statements(depth + 1)
        self.indent -= 1

    def statement(self, depth: int) -> None:
        self.left -= 1
        nested = [
            self.loop,
            self.branch,
            self.handler,
            self.while_loop,
            self.rows,
            self.elements,
            self.several,
            self.either,
        ]
        plain = [
            *[self.local] * 3,
            *[self.view] * 2,
            *[self.write] * 4,
            *[self.matrix_write] * 2,
            self.scalar,
            self.rebind,
            self.inner,
            self.call,
            self.held,
        ]
        if depth < MOST_DEPTH and self.left > 0 and self.rng.random() < 0.45:
            self.rng.choice(nested)(depth)
        else:
            self.rng.choice(plain)()

    def local(self) -> None:
        name, shape = self.fresh("t"), self.rng.choice([(LENGTH,), (LENGTH,), (LENGTH,), (ROWS, LENGTH)])
        size = f"{LENGTH}" if shape == (LENGTH,) else f"({ROWS}, {LENGTH})"
        source = self.of_shape(shape) or "m"
        made = self.rng.choice(
            [
                self.bounded(self.expression(shape)),
                self.bounded(self.expression(shape)),
                f"{source} * {self.number()}",
                f"{source} + {self.number()}",
                f"{source}.copy()",
                f"np.zeros({size}, np.{self.dtype})",
                f"np.full({size}, {self.number()}, np.{self.dtype})",
                f"np.ones_like({source})",
                f"-{source}",
            ]
        )
        # A scalar expression has no shape of its own.
        self.emit(
            f"{name} = {self.bounded(made) if '*' in made and not self.is_int and not made.startswith('np.') else made}"
        )
        self.locals.append(Local(name, shape))

    def view(self) -> None:
        of, name = self.any_local(), self.fresh("v")
        if len(of.shape) == 2:
            text, shape = self.rng.choice(
                [
                    (f"{of.name}[{self.index(of.shape[0])}]", of.shape[1:]),
                    (f"{of.name}.T", of.shape[::-1]),
                    (f"{of.name}[:, {self.index(of.shape[1])}]", of.shape[:1]),
                ]
            )
        else:
            piece, size = self.piece(of.shape[0])
            text, shape = self.rng.choice([(f"{of.name}[{piece}]", (size,)), (of.name, of.shape)])
        self.emit(f"{name} = {text}")
        self.locals.append(Local(name, shape))

    def write(self) -> None:
        to = self.any_local()
        name, size = to.name, to.shape[0]
        piece, length = self.piece(size)
        inner = (length, *to.shape[1:])
        value = self.bounded(self.expression(to.shape))
        part = self.bounded(self.expression(inner))
        row = self.bounded(self.expression(to.shape[1:])) if len(to.shape) == 2 else self.number()
        kind = self.rng.randrange(12)
        if kind == 0:
            self.emit(f"{name} += {value}")
        elif kind == 1:
            self.emit(f"{name} -= {self.number()}")
        elif kind == 2:
            self.emit(f"{name}[{piece}] = {part}")
        elif kind == 3:
            self.emit(f"{name}[{piece}] += {part}")
        elif kind == 4:
            self.emit(f"{name}[{self.index(size)}] = {row}")
        elif kind == 5:
            self.emit(f"{name}[{self.index(size)}] += {row}")
        elif kind == 6:
            other = self.leaf(to.shape)
            ufunc = self.rng.choice(["add", "subtract", "minimum"])
            self.emit(f"np.{ufunc}({self.bounded(other)}, {self.number()}, out={name})")
        elif kind == 7:
            self.emit(f"{name}[{name} < {self.number()}] = {self.number()}")
        elif kind == 8:
            self.emit(f"{name}[:] = {value}")
        elif kind == 9:
            self.emit(f"{name} *= {self.rng.choice(['-1', '1', '0'])}")
        elif kind == 10:
            self.emit(f"{name}[1:] = {name}[:-1]")
        else:
            self.emit(f"{name}[1:] += {self.bounded(f'{name}[:-1]')}")

    def matrix_write(self) -> None:
        """Rows, columns, elements and windows of a matrix; elements that are chosen by integers or a mask."""
        matrices = [one for one in self.locals if len(one.shape) == 2]
        to, of = self.rng.choice(matrices[-3:]), self.any_local()
        (rows, columns), name = to.shape, to.name
        row, column = self.bounded(self.expression((columns,))), self.bounded(self.expression((rows,)))
        one = self.bounded_scalar(f"{of.name}[{', '.join(self.index(size) for size in of.shape)}]")
        whole = self.bounded(self.expression(to.shape))
        i, j, number = self.index(rows), self.index(columns), self.number()
        step = self.rng.choice(["=", "+=", "-="])
        self.emit(
            self.rng.choice(
                [
                    f"{name}[{i}, {j}] {step} {one}",
                    f"{name}[{i}] {step} {row}",
                    f"{name}[:, {j}] {step} {column}",
                    f"{name}[{i}, 1:] = {name}[{i}, :-1]",
                    f"{name}[1:] {step} {name}[:-1]",
                    f"{name}[:, ::-1] = {whole}",
                    f"{name}[{name} > {number}] = {number}",
                    f"np.multiply({whole}, {self.rng.choice(['-1', '1'])}, out={name})",
                    f"{name}[np.array([1, 0, 1])] = {row}",
                    f"{name}.fill({number})",
                    f"{name}.T[{j}] = {column}",
                    f"for q in range({rows}):\n{'    ' * (self.indent + 1)}{name}[q, q] {step} {one}",
                ]
            )
        )

    def call(self) -> None:
        """Another compiled function, which writes to one of its arguments and gives back a view of another."""
        to, other = self.any_local(), self.any_local()
        result = self.fresh("t")
        self.emit(f"{result} = change({to.name}, {other.name}, {self.rng.randrange(4)})")
        self.locals.append(Local(result, (other.shape[0] - 1, *other.shape[1:])))

    def held(self) -> None:
        """Arrays in a tuple or a list, written through it."""
        one = self.any_local()
        other = self.of_shape(one.shape)
        if other is None:
            return
        name, item = self.fresh("h"), self.rng.randrange(2)
        fresh = self.bounded(f"{other} * 2")
        self.emit(
            f"{name} = {self.rng.choice(['[{}, {}]', '({}, {})']).format(one.name, self.rng.choice([other, fresh]))}"
        )
        self.emit(f"{name}[{item}][{self.index(one.shape[0])}] = {self.number()}")
        if self.rng.random() < 0.5:
            self.emit(f"for y in {name}:")
            self.emit(f"    y += {self.number()}")
        out = self.fresh("t")
        self.emit(f"{out} = {name}[{1 - item}]")
        self.locals.append(Local(out, one.shape))

    def several(self, depth: int) -> None:
        """A loop over several arrays at once."""
        one = self.rng.choice([local for local in self.locals if len(local.shape) == 1])
        other = self.rng.choice([local for local in self.locals if len(local.shape) == 1])
        n = self.fresh("n")
        self.emit(f"for {n}, (x, y) in enumerate(zip({one.name}, {other.name})):")
        self.indent += 1
        self.emit(f"s += {self.bounded_scalar('x')} - {self.bounded_scalar('y')}")
        self.emit(f"{one.name}[{n}] = {self.bounded_scalar('y')}")
        self.statements(depth + 1)
        self.indent -= 1

    def either(self, depth: int) -> None:
        """A name that is one array or another, one of them perhaps new."""
        one = self.any_local()
        other = self.of_shape(one.shape)
        if other is None:
            return
        name, fresh = self.fresh("t"), self.bounded(f"{other} + {self.number()}")
        kind = self.rng.randrange(3)
        if kind == 0:
            self.emit(f"{name} = {one.name} if {self.condition()} else {self.rng.choice([other, fresh])}")
        else:
            self.emit(f"{name} = {self.rng.choice([one.name, fresh])}")
            self.emit(f"if {self.condition()}:")
            self.indent += 1
            self.emit(f"{name} = {self.rng.choice([one.name, fresh, f'{one.name}[::-1]'])}")
            self.statements(depth + 1)
            self.indent -= 1
        self.locals.append(Local(name, one.shape))

    def scalar(self) -> None:
        of = self.any_local()
        element = f"{of.name}[{', '.join(self.index(size) for size in of.shape)}]"
        self.emit(
            self.rng.choice(
                [
                    f"s += {self.bounded(of.name)}.sum()",
                    f"s = s - {self.bounded_scalar(element)}",
                    # One type of number on every path (V2).
                    f"s = s * 0 + {self.bounded_scalar(f'{of.name}.max()')}",
                ]
            )
        )

    def bounded_scalar(self, text: str) -> str:
        return f"int({text})" if self.is_int else f"min(max({text}, -9.0), 9.0)"

    def rebind(self) -> None:
        """Names that change what they stand for, also in loops."""
        one = self.rng.choice([local for local in self.locals if local.name not in ("m",)])
        other = self.of_shape(one.shape)
        if other and other != one.name and self.rng.random() < 0.5:
            self.emit(f"{one.name}, {other} = {other}, {one.name}")
        elif other:
            value = f"{other} {self.rng.choice('+-')} {self.number()}"
            self.emit(f"{one.name} = {self.bounded(value)}")

    def inner(self) -> None:
        """A function that writes what it is given, or what it sees."""
        name, to = self.fresh("g"), self.any_local()
        self.emit(f"def {name}(x):")
        if self.rng.random() < 0.5:
            self.emit(f"    x[{self.index(to.shape[0])}] = {self.number()}")
        else:
            self.emit(f"    x += {self.number()}")
        seen = self.any_local()
        if self.rng.random() < 0.5:
            self.emit(f"    {seen.name}[{self.index(seen.shape[0])}] = {self.number()}")
        self.emit(f"    return {self.bounded('x * 2')}")
        result = self.fresh("t")
        self.emit(f"{result} = {name}({to.name})")
        self.locals.append(Local(result, to.shape))

    def loop(self, depth: int) -> None:
        counter = self.fresh("i")
        self.emit(f"for {counter} in range({self.rng.choice(['k', '2', '3', f'len(a) - {LENGTH - 2}'])}):")
        self.indent += 1
        if self.rng.random() < 0.4:
            to = self.any_local()
            self.emit(f"{to.name}[{counter} % {to.shape[0]}] = {self.number()}")
        self.statements(depth + 1)
        if self.rng.random() < 0.3:
            self.emit(f"if {self.condition()}:")
            self.emit(f"    {self.rng.choice(['break', 'continue'])}")
            self.statements(depth + 1)
        self.indent -= 1

    def while_loop(self, depth: int) -> None:
        guard, of = self.fresh("w"), self.any_local()
        self.emit(f"{guard} = 0")
        self.emit(f"while {self.bounded(of.name)}.sum() < {self.rng.choice(['10', '100'])} and {guard} < 4:")
        self.indent += 1
        self.emit(f"{guard} += 1")
        self.emit(f"{of.name} += {self.number()}")
        self.statements(depth + 1)
        self.indent -= 1

    def rows(self, depth: int) -> None:
        of, name = self.rng.choice([one for one in self.locals if len(one.shape) == 2]), self.fresh("r")
        known = len(self.locals)
        self.emit(f"for {name} in {of.name}:")
        self.indent += 1
        self.emit(f"{name} += {self.number()}")
        self.locals.append(Local(name, of.shape[1:]))
        self.statements(depth + 1)
        del self.locals[known:]
        self.indent -= 1

    def elements(self, depth: int) -> None:
        of = self.rng.choice([one for one in self.locals if len(one.shape) == 1])
        name = self.fresh("x")
        self.emit(f"for {name} in {of.name}:")
        self.emit(f"    s += {self.bounded_scalar(name)}")

    def condition(self) -> str:
        of = self.rng.choice([one for one in self.locals if len(one.shape) == 1 and one.shape[0] > 0])
        return self.rng.choice(
            [f"{of.name}[{self.index(of.shape[0])}] < {self.number()}", f"s > {self.number()}", "k > 2", "k < 2"]
        )

    def branch(self, depth: int) -> None:
        self.block(f"if {self.condition()}:", depth)
        if self.rng.random() < 0.5:
            self.block("else:", depth)

    def handler(self, depth: int) -> None:
        self.emit("try:")
        self.indent += 1
        self.statements(depth + 1)
        if self.rng.random() < 0.6:
            self.emit(f"if {self.condition()}:")
            self.emit(f"    raise {self.rng.choice(['ValueError', 'IndexError'])}('stop')")
        else:
            to = self.any_local()
            self.emit(f"{to.name}[k + {to.shape[0] - 3}] = {self.number()}")
        self.statements(depth + 1)
        self.indent -= 1
        self.block("except (ValueError, IndexError):", depth)

    def program(self, seed: int) -> Program:
        self.emit("s = a.sum()")
        self.local()
        while self.left > 0:
            self.statement(0)
        mine = [one.name for one in self.locals if one.name not in "abm"]
        shown = self.rng.sample(mine, min(len(mine), 5))
        self.emit(f"return ({', '.join([*shown, 's'])},)")
        text = "\n".join(["import numpy as np", "", *CHANGE, "@njit", "def f(a, b, m, k):", *self.lines])
        vector = f"(np.arange({LENGTH}) * 5 % 7 - 2).astype(np.{self.dtype})"
        matrix = f"(np.arange({ROWS * LENGTH}).reshape({ROWS}, {LENGTH}) * 3 % 11 - 4).astype(np.{self.dtype})"
        kinds = ["apart", self.rng.choice(list(CALLS))]
        calls = [CALLS[kind].format(v=vector, m=matrix, z=0) + f"\nk = {self.rng.randint(1, 4)}" for kind in kinds]
        return Program(seed, text, ["a", "b", "m", "k"], calls)


def make(seed: int, device: str) -> Program:
    """The program of a seed, to be run in the context of a device."""
    return replace(Writer(random.Random(seed)).program(seed), device=device)
