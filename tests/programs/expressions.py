"""Random expressions of a given type.

`Expressions.of(kind, depth)` is the text of an expression that CPython and NumPy give that type. Operands are mostly
such that nothing is raised, and now and then such that something is: an index out of range, a zero divisor, a Python
int that does not fit a dtype, a shape that does not broadcast.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from kinds import (
    DTYPE_WEIGHTS,
    FLOATS,
    INTEGERS,
    SIGNED,
    STRONG,
    Array,
    Kind,
    List,
    Operation,
    Tuple,
    is_strong,
    operations_among,
)

# Rounding functions may differ by a few ulps, so they stand only around what is returned.
ROUNDING = ["np.sin({})", "np.cos({})", "np.exp({})", "np.tanh({})", "np.log({})", "np.arctan({})", "np.cbrt({})"]
ROUNDING_PYTHON = ["math.sin({})", "math.exp({})", "math.atan({})", "math.log({})", "math.tanh({})", "abs({}) ** 0.5"]
SLICES = ["1:", ":-1", "::2", "::-1", "1::2", ":3", "-3:", "2:0:-1", ":", "1:-1", "::-2", "5:1"]


@dataclass
class Callee:
    """A function of the program that can be called where it is in scope."""

    name: str
    parameters: list[Kind]
    result: Kind
    optional: int = 0  # how many of the last parameters have defaults
    keywords: list[str] = field(default_factory=list)
    fuel: bool = False  # the first parameter bounds the recursion


@dataclass
class Scope:
    """The names of a function being written."""

    outer: "Scope | None" = None
    names: dict[str, Kind] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)  # not to be assigned: loop variables, sizes, fuel
    maybe: dict[str, Kind] = field(default_factory=dict)  # assigned on some paths only
    below: dict[str, str] = field(default_factory=dict)  # indices, and the size that they are below
    functions: list[Callee] = field(default_factory=list)
    walrus: bool = True  # whether a walrus may stand here

    def visible(self) -> dict[str, Kind]:
        return (self.outer.visible() if self.outer else {}) | self.names

    def callees(self) -> list[Callee]:
        return (self.outer.callees() if self.outer else []) + self.functions

    def indices(self) -> dict[str, str]:
        return (self.outer.indices() if self.outer else {}) | self.below


class Expressions:
    """Makes expressions out of the names of `scope`; `used` counts what was made."""

    def __init__(self, rng: random.Random, without: frozenset[str] = frozenset()) -> None:
        self.rng = rng
        self.without = without
        self.scope = Scope()
        self.used: Counter[str] = Counter()
        self.counter = 0
        self.edges = rng.random() < 0.3  # a program that goes to the edges, or one that mostly does not
        # A program keeps to a few dtypes, so that its names meet.
        weights = [DTYPE_WEIGHTS.get(d, 2) for d in STRONG]
        self.dtypes = rng.choices(STRONG, weights, k=3)

    # Choices

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def edge(self, p: float = 0.1) -> bool:
        """Whether to do what may raise."""
        return self.chance(p if self.edges else p * 0.1)

    def pick(self, *ways: tuple[float, Callable[[], str]]) -> str:
        ways = tuple(way for way in ways if way[0] > 0)
        return self.rng.choices([way for _, way in ways], [weight for weight, _ in ways])[0]()

    def note(self, what: str, text: str) -> str:
        self.used[what] += 1
        return text

    def fresh(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    def dtype(self) -> str:
        return self.rng.choice(self.dtypes)

    def number(self) -> str:
        """A scalar type."""
        return self.rng.choice(["pyint", "pyint", "pyint", "pyfloat", "pyfloat", "pybool", self.dtype(), self.dtype()])

    def of_kind(self, kind: Kind) -> list[str]:
        return [name for name, k in self.scope.visible().items() if k == kind]

    def arrays(self, rank: int | None = None) -> list[str]:
        found = self.scope.visible().items()
        return [n for n, k in found if isinstance(k, Array) and (rank is None or len(k.dims) == rank)]

    def kind(self, name: str) -> Kind:
        return self.scope.visible()[name]

    # Any type

    def of(self, kind: Kind, depth: int) -> str:
        if isinstance(kind, Array):
            return self.array_of(kind, depth)
        if isinstance(kind, List):
            return self.list_of(kind, depth)
        if isinstance(kind, Tuple):
            return self.tuple_of(kind, depth)
        if depth <= 0 or self.chance(0.2):
            return self.leaf(kind)
        common = [
            (0.5, lambda: self.conditional(kind, depth)),
            (2.0 if any(c.result == kind for c in self.scope.callees()) else 0, lambda: self.call(kind, depth)),
            (0.4, lambda: self.walrus(kind, depth)),
            (0.3, lambda: self.smallest(kind, depth)),
            (0.3, lambda: self.item(kind, depth)),
        ]
        own = {"pyint": self.pyint, "pyfloat": self.pyfloat, "pybool": self.pybool}.get(kind)
        if own:
            return self.pick((2.5, lambda: own(depth)), (2, lambda: self.operation(kind, depth)), *common)
        return self.pick((1.5, lambda: self.strong(kind, depth)), (3, lambda: self.operation(kind, depth)), *common)

    def leaf(self, kind: str) -> str:
        names = self.of_kind(kind)
        if (
            "unbound" not in self.without
            and self.edge(0.03)
            and (unsure := [n for n, k in self.scope.maybe.items() if k == kind])
        ):
            return self.note("name that may be unbound", self.rng.choice(unsure))
        if names and self.chance(0.8):
            return self.rng.choice(names)
        return self.literal(kind)

    def literal(self, kind: str) -> str:
        rng = self.rng
        if kind == "pyint":
            rare = ["100", "127", "128", "255", "256", "-129", "1000", "65536", "2147483648", "-2147483649"]
            rare += ["4611686018427387904", "9223372036854775807", "-9223372036854775808"]
            return rng.choice(rare) if self.edge(0.15) else str(rng.choice([0, 1, 1, 2, 2, 3, 4, 5, 7, 9, -1, -2, -3]))
        if kind == "pyfloat":
            rare = ["1e300", "-0.0", "1e-310", "math.inf", "math.nan", "-1e16", "0.1"]
            return rng.choice(rare) if self.edge(0.15) else rng.choice(["0.0", "1.0", "0.5", "2.0", "-1.5", "3.25"])
        if kind == "pybool":
            return rng.choice(["True", "False"])
        if kind == "bool":
            return f"np.bool_({rng.choice(['True', 'False'])})"
        if kind in FLOATS:
            return f"np.{kind}({self.literal('pyfloat')})"
        if kind in SIGNED:
            return f"np.{kind}({rng.choice([0, 1, 2, 3, 5, 7, -1, -3, 100, -128])})"
        return f"np.{kind}({rng.choice([0, 1, 2, 3, 5, 7, 100, 200, 255])})"

    def conditional(self, kind: Kind, depth: int) -> str:
        a, b = self.of(kind, depth - 1), self.of(kind, depth - 1)
        return self.note("conditional expression", f"({a} if {self.condition(depth - 1)} else {b})")

    def walrus(self, kind: Kind, depth: int) -> str:
        names = [n for n, k in self.scope.names.items() if k == kind and n not in self.scope.fixed]
        if not names or not self.scope.walrus:
            return self.leaf(kind)
        return self.note("walrus", f"({self.rng.choice(names)} := {self.of(kind, depth - 1)})")

    def smallest(self, kind: str, depth: int) -> str:
        items = ", ".join(self.of(kind, depth - 1) for _ in range(self.rng.choice([2, 2, 3])))
        name = self.rng.choice(["min", "max"])
        return self.note(f"{name}()", f"{name}({items})")

    def call(self, kind: Kind, depth: int) -> str:
        return self.call_of(self.rng.choice([c for c in self.scope.callees() if c.result == kind]), depth)

    def call_of(self, callee: Callee, depth: int) -> str:
        given = len(callee.parameters) - self.rng.randint(0, callee.optional)
        texts = []
        for i, parameter in enumerate(callee.parameters[:given]):
            fuel = callee.fuel and i == 0
            text = str(self.rng.randint(0, 5)) if fuel else self.of(parameter, min(depth - 1, 1))
            if callee.keywords and i >= len(callee.parameters) - callee.optional and self.chance(0.4):
                text = f"{callee.keywords[i]}={text}"
                texts.append(text)
                break
            texts.append(text)
        return self.note("call", f"{callee.name}({', '.join(texts)})")

    def item(self, kind: str, depth: int) -> str:
        """An item of an array, a list or a tuple."""
        holders = []
        for name, k in self.scope.visible().items():
            if isinstance(k, Array) and k.dtype == kind and k.dims:
                holders.append(f"{name}[{self.indices(k, depth)}]")
            elif isinstance(k, List) and k.item == kind:
                holders.append(f"{name}[{self.index(f'len({name})', depth)}]")
            elif isinstance(k, Tuple) and kind in k.items:
                places = [i for i, t in enumerate(k.items) if t == kind]
                at = self.rng.choice(places)
                holders.append(f"{name}[{at if self.chance(0.7) else at - len(k.items)}]")
        return self.note("item", self.rng.choice(holders)) if holders else self.leaf(kind)

    def indices(self, array: Array, depth: int) -> str:
        return ", ".join(self.index(dim, depth) for dim in array.dims)

    def index(self, size: str, depth: int) -> str:
        """An index that is mostly in range."""
        if self.edge(0.12):
            return self.of(self.rng.choice(["pyint", "pyint", "int64", "uint8"]), min(depth - 1, 1))
        if (names := [n for n, below in self.scope.indices().items() if below == size]) and self.chance(0.7):
            name = self.rng.choice(names)
            return name if self.chance(0.85) else f"{name} - 1"
        if size.isdigit():
            n = int(size)
            return str(self.rng.randint(-n, n - 1)) if n else "0"
        if size.startswith("~"):
            return self.rng.choice(["0", "-1"])
        return self.rng.choice(["0", "-1", f"{self.of('pyint', min(depth - 1, 1))} % {size}"])

    def operation(self, kind: str, depth: int) -> str:
        """An operator or ufunc whose result has that type."""
        known = {k for k in self.scope.visible().values() if isinstance(k, str)}
        operation = self.chosen_operation(kind, known, False)
        texts = [self.of(k, depth - 1) for k in operation.kinds]
        return self.note(f"{operation.template} ({', '.join(operation.kinds)})", self.fill(operation, texts))

    def chosen_operation(self, kind: str, known: set[str], arrays: bool) -> Operation:
        ways, arithmetic = operations_among(kind, frozenset({*known, *self.dtypes, "pyint"}), arrays)
        return self.rng.choice(arithmetic if arithmetic and self.chance(0.5) else ways)

    def fill(self, operation: Operation, texts: list[str], whole: int = 0) -> str:
        """The text of an operation; operand `whole` is the array that gives the result its shape, if one does."""
        template, kinds = operation
        if len(texts) == 2 and not self.edge(0.2):
            weak = not any(is_strong(k) for k in kinds)
            if template[3:-3] in ("<<", ">>") and template.startswith("{}"):
                # The mask keeps the type of the count.
                mask = "7" if kinds[1] == "pyint" else f"np.{kinds[1]}(7)"
                if kinds[1] in INTEGERS and self.chance(0.4):
                    # NumPy's counts may be as wide as the number, or wider.
                    count = f"np.{kinds[1]}({self.rng.choice([0, 1, 5, 8, 15, 31, 33, 64, 100])})"
                    texts[1] = f"({texts[1]} & np.{kinds[1]}(0) | {count})" if whole == 1 else count
                elif kinds[1] not in ("pybool", "bool"):
                    texts[1] = f"({texts[1]} & {mask})"
            elif template[3:-3] in ("//", "%", "/") and weak and self.chance(0.8):
                texts[1] = str(self.rng.choice([1, 2, 3, 7, -2, -3])) + (".0" if kinds[1] == "pyfloat" else "")
                if kinds[1] == "pybool":
                    texts[1] = "True"
            elif any(k in INTEGERS for k in kinds) and "pyint" in kinds and self.chance(0.8):
                # A Python int must fit the dtype of the other operand.
                texts[kinds.index("pyint")] = str(self.rng.choice([0, 1, 2, 3, 5, 7, 100]))
        return f"({template.format(*texts)})"

    # Python's own types

    def pyint(self, depth: int) -> str:
        one = lambda: self.of("pyint", depth - 1)
        lists = [n for n, k in self.scope.visible().items() if isinstance(k, List)]
        arrays = self.arrays()
        integer = [d for d in self.dtypes if d in INTEGERS]
        return self.pick(
            (
                1,
                lambda: self.note(
                    "int()", f"int({self.of(self.rng.choice(['pyfloat', 'pybool', 'pyint']), depth - 1)})"
                ),
            ),
            (0.5 if integer else 0, lambda: self.note("int()", f"int({self.of(self.rng.choice(integer), depth - 1)})")),
            (0.3, lambda: self.note("round()", f"round({self.of('pyfloat', depth - 1)})")),
            (0.5, lambda: self.note("**", f"({one()}) ** {self.rng.choice([0, 1, 2, 2, 3])}")),
            (0.3, lambda: self.note("pow()", f"pow({one()}, {self.rng.randint(0, 5)}, {self.rng.randint(1, 99)})")),
            (
                0.3,
                lambda: self.note(
                    "divmod()", f"divmod({one()}, {self.divisor('pyint', depth)})[{self.rng.randint(0, 1)}]"
                ),
            ),
            (0.2, lambda: self.note("math.gcd", f"math.gcd({one()}, {one()})")),
            (0.2, lambda: self.note("math.isqrt", f"math.isqrt(abs({one()}))")),
            (
                0.3,
                lambda: self.note(
                    "math.floor", f"math.{self.rng.choice(['floor', 'ceil', 'trunc'])}({self.of('pyfloat', depth - 1)})"
                ),
            ),
            (0.4, lambda: self.note("and/or", f"({one()} {self.rng.choice(['and', 'or'])} {one()})")),
            (0.6 if lists else 0, lambda: self.note("len()", f"len({self.rng.choice(lists)})")),
            (0.6 if arrays else 0, lambda: self.size_of(self.rng.choice(arrays))),
            (0.8, lambda: self.total("pyint", depth)),
            (0.3 if lists else 0, lambda: self.list_number(depth)),
        )

    def size_of(self, name: str) -> str:
        ways = [f"{name}.size", f"{name}.ndim"]
        if rank := len(self.kind(name).dims):
            ways += [f"len({name})", f"{name}.shape[{self.rng.randint(-rank, rank - 1)}]"]
        return self.note("size of an array", self.rng.choice(ways))

    def divisor(self, kind: str, depth: int) -> str:
        if self.edge(0.2):
            return self.of(kind, depth - 1)
        return str(self.rng.choice([1, 2, 3, 7, -2])) + (".0" if kind == "pyfloat" else "")

    def list_number(self, depth: int) -> str:
        name = self.rng.choice([n for n, k in self.scope.visible().items() if isinstance(k, List)])
        kind = self.kind(name)
        ways = [f"{name}.count({self.of(kind.item, depth - 1)})"]
        if self.edge(0.3):
            ways.append(f"{name}.index({self.of(kind.item, depth - 1)})")
        if kind.item == "pyint":
            ways += [f"sum({name})", f"max({name}, default=0)"] + ([f"min({name})"] if self.edge(0.3) else [])
        return self.note("list number", self.rng.choice(ways))

    def pyfloat(self, depth: int) -> str:
        one = lambda: self.of("pyfloat", depth - 1)
        number = lambda: self.of(self.rng.choice(["pyint", "pybool", self.dtype()]), depth - 1)
        return self.pick(
            (1.2, lambda: self.note("float()", f"float({number()})")),
            (0.4, lambda: self.note("math.sqrt", f"math.sqrt({one() if self.edge() else f'abs({one()})'})")),
            (0.3, lambda: self.note("round()", f"round({one()}, {self.rng.randint(-1, 3)})")),
            (0.3, lambda: self.note("math.fmod", f"math.fmod({one()}, {self.divisor('pyfloat', depth)})")),
            (
                0.3,
                lambda: self.note(
                    "divmod()", f"divmod({one()}, {self.divisor('pyfloat', depth)})[{self.rng.randint(0, 1)}]"
                ),
            ),
            (0.2, lambda: self.note("math.copysign", f"math.copysign({one()}, {one()})")),
            (0.2, lambda: self.note("math.fabs", f"math.fabs({one()})")),
            (0.3, lambda: self.note("and/or", f"({one()} {self.rng.choice(['and', 'or'])} {one()})")),
            (0.6, lambda: self.total("pyfloat", depth)),
        )

    def pybool(self, depth: int) -> str:
        return self.pick(
            (2, lambda: self.condition(depth)),
            (0.5, lambda: self.note("bool()", f"bool({self.of(self.number(), depth - 1)})")),
            (0.5, lambda: self.quantified(depth)),
        )

    def condition(self, depth: int) -> str:
        """A condition: a Python bool."""
        one = lambda: self.condition(depth - 1)
        if depth <= 0:
            return self.comparison("pyint", 0)
        return self.pick(
            (3, lambda: self.comparison(self.rng.choice(["pyint", "pyint", "pyfloat"]), depth)),
            (0.7, lambda: self.note("and/or", f"({one()} {self.rng.choice(['and', 'or'])} {one()})")),
            (0.5, lambda: self.note("not", f"(not {one()})")),
            (0.5, lambda: self.chained(depth)),
            (0.4, lambda: self.membership(depth)),
            (0.3, lambda: self.leaf("pybool")),
        )

    def comparison(self, kind: str, depth: int) -> str:
        op = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        other = self.rng.choice([kind, kind, "pyint", "pybool"])
        return f"({self.of(kind, depth - 1)} {op} {self.of(other, depth - 1)})"

    def chained(self, depth: int) -> str:
        a, b, c = (self.of("pyint", depth - 1) for _ in range(3))
        ops = [self.rng.choice(["<", "<=", "==", "!=", ">"]) for _ in range(2)]
        return self.note("chained comparison", f"({a} {ops[0]} {b} {ops[1]} {c})")

    def membership(self, depth: int) -> str:
        kind = self.rng.choice(["pyint", "pyfloat"])
        lists = self.of_kind(List(kind))
        items = ", ".join(self.of(kind, 0) for _ in range(3))
        where = self.rng.choice(lists) if lists and self.chance(0.5) else f"({items})"
        if kind == "pyint" and self.chance(0.2):
            where = f"range({self.of('pyint', 0)}, {self.of('pyint', 0)})"
        return self.note("in", f"({self.of(kind, depth - 1)} {self.rng.choice(['in', 'not in'])} {where})")

    # Comprehensions and generators

    def clauses(self, depth: int) -> tuple[str, dict[str, Kind], dict[str, str]]:
        """`for v in … if …`, with the names it binds."""
        name = self.fresh("v")
        walrus, self.scope.walrus = self.scope.walrus, False
        text, kind, below = self.iterable(depth)
        self.scope.walrus = walrus
        return f"for {name} in {text}", {name: kind}, ({name: below} if below else {})

    def iterable(self, depth: int) -> tuple[str, str, str]:
        """The text of an iterable, the type of its items, and the size that they are below, if any."""
        lists = [n for n, k in self.scope.visible().items() if isinstance(k, List)]
        arrays = self.arrays(1)
        way = self.rng.choice(["range"] * 4 + ["list"] * bool(lists) * 2 + ["array"] * bool(arrays) * 2 + ["tuple"])
        self.used[f"for in {way}"] += 1
        if way == "list":
            name = self.rng.choice(lists)
            text = self.rng.choice(
                [name, name, f"reversed({name})", f"sorted({name})", f"{name}[{self.rng.choice(SLICES)}]"]
            )
            return text, self.kind(name).item, ""
        if way == "array":
            name = self.rng.choice(arrays)
            return self.rng.choice([name, name, f"{name}[::-1]", f"{name}[1:]"]), self.kind(name).dtype, ""
        if way == "tuple":
            kind = self.rng.choice(["pyint", "pyfloat"])
            return f"({', '.join(self.literal(kind) for _ in range(3))})", kind, ""
        sizes = [d for n in arrays for d in self.kind(n).dims if not d.startswith("~")]
        if sizes and self.chance(0.6):
            size = self.rng.choice(sizes)
            return f"range({size})", "pyint", size
        a, b = self.rng.randint(-3, 3), self.rng.randint(-1, 6)
        ways = [
            f"range({self.rng.randint(0, 6)})",
            f"range({self.rng.randint(2, 6)})",
            f"range({a}, {b})",
            f"range({b}, {a}, -1)",
            f"range({a}, {b}, 2)",
        ]
        ways += [f"range({self.of('pyint', min(depth - 1, 1))} % 6)", f"reversed(range({b}))"]
        return self.rng.choice(ways), "pyint", ""

    def bounded(self, text: str, kind: str) -> str:
        """Keeps ints from growing without end."""
        return f"({text}) % {self.rng.choice([7, 97, 1000])}" if kind == "pyint" and self.chance(0.6) else text

    def inner(self, make: Callable[[], str], names: dict[str, Kind], below: dict[str, str]) -> str:
        """Text made in a scope with more names."""
        outer = self.scope
        self.scope = Scope(outer, dict(names), set(names), below=below, walrus=False)
        try:
            return make()
        finally:
            self.scope = outer

    def comprehension(self, item: str, depth: int) -> str:
        """`item for … in … if …`, to be put in brackets."""
        text, names, below = self.clauses(depth)

        def rest() -> str:
            clauses = text
            more_names, more_below = {}, {}
            if self.chance(0.25):
                more, more_names, more_below = self.clauses(depth - 1)
                clauses += f" {more}"
            if self.chance(0.35):
                clauses += f" if {self.inner(lambda: self.condition(min(depth - 1, 2)), more_names, more_below)}"
            body = self.inner(lambda: self.bounded(self.of(item, min(depth - 1, 2)), item), more_names, more_below)
            return f"{body} {clauses}"

        return self.inner(rest, names, below)

    def total(self, kind: str, depth: int) -> str:
        body = self.comprehension(kind, depth)
        if kind == "pyint":
            return self.note("sum(generator)", f"sum({body})")
        return self.note("sum(generator)", f"sum(({body}), {'0.0' if kind == 'pyfloat' else f'np.{kind}(0)'})")

    def quantified(self, depth: int) -> str:
        name = self.rng.choice(["any", "all"])
        return self.note(f"{name}(generator)", f"{name}({self.comprehension('pybool', depth)})")

    # NumPy's scalars

    def strong(self, kind: str, depth: int) -> str:
        source = self.rng.choice(["pyint", "pyfloat", "pybool", self.dtype(), self.dtype()])
        if kind in INTEGERS and not self.edge(0.2):
            source = self.rng.choice([d for d in self.dtypes if d in [*INTEGERS, "bool"]] or ["pybool"])
        name = "bool_" if kind == "bool" else kind
        return self.pick(
            (1.5, lambda: self.note(f"np.{kind}({source})", f"np.{name}({self.of(source, depth - 1)})")),
            (1.5, lambda: self.item(kind, depth)),
            (1.5, lambda: self.reduction(kind, depth)),
            (0.3, lambda: self.total(kind, depth)),
        )

    def reduction(self, kind: str, depth: int) -> str:
        """A reduction of an array that is exact whatever the order."""
        ways = []
        for name in self.arrays():
            array = self.kind(name)
            if array.dtype == kind:
                ways += [f"{name}.max()", f"np.min({name})", f"{name}.min()"] if array.dtype != "bool" else []
            total = "int64" if array.dtype in [*SIGNED, "bool"] else "uint64" if array.dtype in INTEGERS else ""
            if kind == total:
                ways += [f"{name}.sum()", f"np.sum({name})", f"np.prod({name})"]
            if kind == "bool":
                ways += [f"np.any({name})", f"np.all({name})", f"({name} > {self.of('pyint', 0)}).any()"]
            if kind == "int64":
                ways += [f"np.argmax({name})", f"{name}.argmin()", f"np.count_nonzero({name})"]
        if not ways or "reduction" in self.without:
            return self.leaf(kind)
        return self.note("reduction", self.rng.choice(ways))

    # Arrays

    def array_of(self, kind: Array, depth: int) -> str:
        if depth <= 0 or self.chance(0.15):
            return self.array_leaf(kind)
        return self.pick(
            (4, lambda: self.elementwise(kind, depth)),
            (0.8, lambda: self.cast(kind, depth)),
            (0.5, lambda: self.chosen(kind, depth)),
            (0.4, lambda: self.conditional(kind, depth)),
            (1.0 if any(c.result == kind for c in self.scope.callees()) else 0, lambda: self.call(kind, depth)),
            (0.7, lambda: self.array_leaf(kind)),
            (0.4, lambda: self.copied(kind, depth)),
        )

    def array_leaf(self, kind: Array) -> str:
        names = self.of_kind(kind)
        if names and self.chance(0.85):
            return self.rng.choice(names)
        return self.created(kind)

    def created(self, kind: Array) -> str:
        """A new array."""
        dtype = f"np.{'bool_' if kind.dtype == 'bool' else kind.dtype}"
        alike = [n for n in self.arrays(len(kind.dims)) if self.kind(n).dims == kind.dims]
        if any(d.startswith("~") for d in kind.dims) or (alike and self.chance(0.3)):
            if not alike:
                alike = self.arrays(len(kind.dims))
            if not alike:
                return f"np.zeros({('4, ' * len(kind.dims)).join('()')}, {dtype})"
            way = self.rng.choice(["np.zeros_like({}, dtype={})", "np.ones_like({}, dtype={})", "{}.astype({})"])
            return self.note(way, way.format(self.rng.choice(alike), dtype))
        if (
            len(kind.dims) == 1
            and kind.dims[0].isdigit()
            and 0 < int(kind.dims[0]) < 6
            and "np.array" not in self.without
            and self.chance(0.4)
        ):
            items = ", ".join(
                self.literal("pyint" if kind.dtype in INTEGERS else "pyfloat") for _ in range(int(kind.dims[0]))
            )
            if kind.dtype in INTEGERS:
                items = ", ".join(str(self.rng.randint(0, 9)) for _ in range(int(kind.dims[0])))
            return self.note("np.array", f"np.array([{items}], dtype={dtype})")
        shape = kind.dims[0] if len(kind.dims) == 1 else f"({', '.join(kind.dims)})"
        if len(kind.dims) == 1 and kind.dtype != "bool" and self.chance(0.4):
            return self.note("np.arange", f"np.arange({shape}, dtype={dtype})")
        if len(kind.dims) == 2 and kind.dtype != "bool" and self.chance(0.3):
            return self.note(
                "reshape", f"np.arange({kind.dims[0]} * {kind.dims[1]}, dtype={dtype}).reshape({', '.join(kind.dims)})"
            )
        fill = self.literal("pyfloat" if kind.dtype in FLOATS else "pybool" if kind.dtype == "bool" else "pyint")
        if kind.dtype in INTEGERS:
            fill = str(self.rng.randint(0, 99))
        ways = [
            f"np.zeros({shape}, dtype={dtype})",
            f"np.ones({shape}, {dtype})",
            f"np.full({shape}, {fill}, dtype={dtype})",
        ]
        way = self.rng.choice(ways)
        return self.note(way.split("(")[0], way)

    def operand(self, kind: str, dims: tuple[str, ...], depth: int, whole: bool) -> str:
        """An array of these sizes, or what broadcasts to them."""
        if whole or self.chance(0.5):
            return self.array_of(Array(kind, dims), depth)
        if len(dims) == 2 and self.chance(0.5):
            return self.array_of(Array(kind, self.rng.choice([dims[1:], ("1", dims[1]), (dims[0], "1")])), depth)
        if self.edge(0.08) and (names := [n for n in self.arrays() if self.kind(n).dtype == kind]):
            return self.note("maybe another shape", self.rng.choice(names))
        return self.of(kind, min(depth, 1))

    def elementwise(self, kind: Array, depth: int) -> str:
        operation = self.chosen_operation(kind.dtype, {"pyfloat"}, True)
        whole = self.rng.choice([i for i, k in enumerate(operation.kinds) if is_strong(k)])
        texts = []
        for i, k in enumerate(operation.kinds):
            texts.append(
                self.operand(k, kind.dims, depth - 1, i == whole) if is_strong(k) else self.of(k, min(depth - 1, 1))
            )
        return self.note(f"array {operation.template}", self.fill(operation, texts, whole))

    def cast(self, kind: Array, depth: int) -> str:
        dtype = self.dtype()
        # A float that does not fit an integer dtype is undefined in NumPy.
        if kind.dtype in INTEGERS and dtype in FLOATS:
            dtype = "bool"
        inner = self.array_of(Array(dtype, kind.dims), depth - 1)
        name = "bool_" if kind.dtype == "bool" else kind.dtype
        return self.note(f"astype {dtype} to {kind.dtype}", f"({inner}).astype(np.{name})")

    def chosen(self, kind: Array, depth: int) -> str:
        mask = self.array_of(Array("bool", kind.dims), depth - 1)
        a, b = self.array_of(kind, depth - 1), self.operand(kind.dtype, kind.dims, depth - 1, False)
        return self.note("np.where", f"np.where({mask}, {a}, {b})")

    def copied(self, kind: Array, depth: int) -> str:
        inner = self.array_of(kind, depth - 1)
        if len(kind.dims) == 2 and self.chance(0.4):
            other = self.array_of(Array(kind.dtype, kind.dims[::-1]), depth - 1)
            return self.note("transposed", f"({other}).T")
        return self.note("copy", self.rng.choice([f"({inner}).copy()", f"({inner})[::-1]", f"np.copy({inner})"]))

    def view(self, name: str) -> tuple[str, Array]:
        """A basic index of an array that gives an array, and its type."""
        kind = self.kind(name)
        dims, parts = [], []
        for axis, dim in enumerate(kind.dims):
            if axis and self.chance(0.3):
                dims += kind.dims[axis:]
                break
            if len(kind.dims) > 1 and not (axis == 1 and not dims) and self.chance(0.3):
                parts.append(self.index(dim, 1))
                continue
            where = self.rng.choice(SLICES)
            parts.append(where)
            if dim.isdigit():
                bounds = slice(*(int(p) if p else None for p in where.split(":")))
                dims.append(str(len(range(int(dim))[bounds])))
            else:
                dims.append(dim if where in (":", "::-1") else f"~{dim}[{where}]")
        if self.chance(0.1):
            parts.append("...")
        elif self.chance(0.05):
            parts.insert(0, "None")
            dims.insert(0, "1")
        return self.note("view", f"{name}[{', '.join(parts)}]"), Array(kind.dtype, tuple(dims))

    # Lists and tuples

    def list_of(self, kind: List, depth: int) -> str:
        names = self.of_kind(kind)
        if names and self.chance(0.3):
            return self.rng.choice(
                [f"{self.rng.choice(names)}[{self.rng.choice(SLICES)}]", f"{self.rng.choice(names)}.copy()"]
            )
        return self.pick(
            (2, lambda: f"[{', '.join(self.of(kind.item, depth - 1) for _ in range(self.rng.randint(1, 4)))}]"),
            (2, lambda: self.note("list comprehension", f"[{self.comprehension(kind.item, depth)}]")),
            (0.5, lambda: f"[{self.of(kind.item, depth - 1)}] * {self.rng.randint(0, 4)}"),
            (0.7 if names else 0, lambda: self.note("sorted()", f"sorted({self.rng.choice(names)})")),
            (0.7 if names else 0, lambda: f"({self.rng.choice(names)} + [{self.of(kind.item, depth - 1)}])"),
        )

    def tuple_of(self, kind: Tuple, depth: int) -> str:
        names = self.of_kind(kind)
        if names and self.chance(0.2):
            return self.rng.choice(names)
        items = [self.of(item, depth - 1) for item in kind.items]
        return f"({', '.join(items)}{',' * (len(items) == 1)})"

    def returned(self, kind: Kind, depth: int) -> tuple[str, bool]:
        """What a `return` gives, and whether it was rounded."""
        if isinstance(kind, str) and kind in ("float32", "float64", "pyfloat") and self.chance(0.1):
            way = self.rng.choice(ROUNDING_PYTHON if kind == "pyfloat" else ROUNDING)
            return self.note(way, way.format(f"({self.of(kind, depth)})")), True
        if isinstance(kind, Array) and kind.dtype in ("float32", "float64") and self.chance(0.1):
            way = self.rng.choice(ROUNDING)
            return self.note(way, way.format(f"({self.of(kind, depth)})")), True
        return self.of(kind, depth), False
