"""Random whole programs in Python and NumPy: functions with statements of every kind, and arguments to call them with.

`make(seed)` is the program of a seed. Every name keeps one type, every loop and recursion ends, and ints mostly stay
small; what may raise is there on purpose, and is rare.
"""

import random
from collections import Counter
from dataclasses import dataclass, field

from expressions import Callee, Scope
from idioms import Idioms
from kinds import FLOATS, INTEGERS, Array, Kind, List, Tuple

EXCEPTIONS = ["ValueError", "ZeroDivisionError", "IndexError", "OverflowError", "RuntimeError", "KeyError", "TypeError"]
CAUGHT = ["ZeroDivisionError", "ZeroDivisionError", "IndexError", "ValueError", "OverflowError", "ArithmeticError"]
CAUGHT += ["LookupError", "Exception", "(ValueError, IndexError)", "(ZeroDivisionError, OverflowError)", "RuntimeError"]
BASES = {"ZeroDivisionError": ["ArithmeticError", "Exception"], "IndexError": ["LookupError", "Exception"]}


@dataclass
class Program:
    """The text of a module whose function `f` is called with each of `calls`: statements that make the arguments."""

    seed: int
    text: str
    parameters: list[str]
    calls: list[str]
    rounds: bool = False
    used: Counter[str] = field(default_factory=Counter)
    # The device in whose context the compiled calls run, if any.
    device: str | None = None


class Writer(Idioms):
    """Writes the statements of one program."""

    def __init__(self, rng: random.Random, without: frozenset[str]) -> None:
        super().__init__(rng, without)
        self.lines: list[str] = []
        self.indent = 0
        self.rounds = False
        self.result: Tuple | Kind = "pyint"
        self.loops = 0  # how many loops of this function are around
        self.handling = False
        self.returns = True
        self.left_early = False  # `f` has a return before its last
        self.left = rng.randint(5, 22)  # statements left to write

    def write(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    # Blocks

    def block(self, depth: int, most: int = 4) -> None:
        """An indented block; what it binds is only maybe bound after it."""
        scope = self.scope
        before, functions, below = dict(scope.names), list(scope.functions), dict(scope.below)
        self.indent += 1
        start = len(self.lines)
        for _ in range(self.rng.randint(1, most)):
            if self.statement(depth):
                break
        if len(self.lines) == start:
            self.write("pass")
        self.indent -= 1
        for name, kind in scope.names.items():
            if name not in before:
                scope.maybe[name] = kind
        scope.names, scope.functions, scope.below = before, functions, below

    def statement(self, depth: int) -> bool:
        """Writes one statement; whether it leaves the block."""
        self.left -= 1
        simple = [(5, self.assign), (2.5, self.augment), (1.5, self.bind), (1.2, self.store), (0.8, self.list_method)]
        simple += [
            (0.5, self.unpack),
            (0.6, self.view_of),
            (0.5, self.mask),
            (0.4, self.array_augment),
            (0.15, self.check),
        ]
        simple += [(0.05, self.nothing), (2.0, self.idiom)]
        nested = [(2.5, self.branch), (2, self.loop), (1.2, self.count), (1, self.attempt), (0.5, self.select)]
        nested += [(0.6, self.define), (0.4, self.name_lambda)]
        leaving = [
            (1.2 if self.loops else 0, self.leave_loop),
            (0.25 if self.returns else 0, self.early),
            (0.12, self.throw),
        ]
        ways = simple + leaving if depth <= 0 or self.left < 0 else simple + nested + leaving
        if self.indent == 1:
            ways = [way for way in ways if way not in leaving]
        way = self.rng.choices([w for _, w in ways], [weight for weight, _ in ways])[0]
        return bool(way(depth))

    # Names

    def assignable(self, test=lambda kind: True) -> list[str]:
        scope = self.scope
        return [n for n, k in scope.names.items() if n not in scope.fixed and test(k)]

    def any_kind(self) -> Kind:
        roll = self.rng.random()
        if roll < 0.6:
            return self.number()
        if roll < 0.78:
            return self.some_array()
        if roll < 0.9:
            return List(self.rng.choice(["pyint", "pyint", "pyfloat", self.dtype()]))
        return Tuple(tuple(self.number() for _ in range(self.rng.randint(1, 3))))

    def some_array(self) -> Array:
        shapes = [self.kind(n).dims for n in self.arrays()]
        if shapes and self.chance(0.7):
            dims = self.rng.choice(shapes)
            if dims:
                return Array(self.dtype(), dims)
        return Array(self.dtype(), self.rng.choice([("4",), ("5",), ("2", "3"), ("3",), ("0",), ("1",)]))

    def bind(self, depth: int) -> None:
        """A new name."""
        kind = self.any_kind()
        name = self.fresh("x" if isinstance(kind, str) else "b")
        self.write(f"{name} = {self.value(kind)}")
        self.scope.names[name] = kind

    def value(self, kind: Kind) -> str:
        """An expression to assign: ints are kept small, since a loop may do it again and again."""
        text = self.of(kind, self.rng.choice([1, 2, 2, 3]))
        return self.bounded(text, kind) if kind == "pyint" else text

    def assign(self, depth: int) -> None:
        names = self.assignable()
        if not names:
            return self.bind(depth)
        name = self.rng.choice(names)
        if self.chance(0.08) and (more := [n for n in names if n != name]):
            other = self.rng.choice(more)
            a, b = self.value(self.kind(name)), self.value(self.kind(other))
            self.used["several targets"] += 1
            self.write(f"{name}, {other} = {a}, {b}")
        else:
            self.write(f"{name} = {self.value(self.kind(name))}")

    def augment(self, depth: int) -> None:
        """`x += …` that keeps the type of x."""
        names = self.assignable(lambda k: isinstance(k, str))
        if not names:
            return self.bind(depth)
        name = self.rng.choice(names)
        kind = self.kind(name)
        ops = {
            "pyint": ["+=", "-=", "//=", "%=", "&=", "|=", "^=", ">>=", "*="],
            "pyfloat": ["+=", "-=", "*=", "/=", "//="],
        }
        ops |= {"pybool": ["&=", "|=", "^="], "bool": ["&=", "|=", "^="]}
        default = ["+=", "-=", "*="] + (["//=", "%=", "&=", "|=", "^=", "<<=", ">>="] if kind in INTEGERS else ["/="])
        op = self.rng.choice(ops.get(kind, default))
        operand = self.of(kind, 2)
        if op in ("//=", "%=", "/="):
            operand = self.divisor(kind, 2) if kind in ("pyint", "pyfloat") else operand
        elif op in ("<<=", ">>="):
            operand = f"({operand}) & {'np.' + kind + '(7)' if kind != 'pyint' else '7'}"
        elif op == "*=" and kind == "pyint":
            operand = str(self.rng.choice([0, 1, 2, -1, 3]))
        self.used[f"{op} {kind}"] += 1
        self.write(f"{name} {op} {operand}")

    def unpack(self, depth: int) -> None:
        tuples = [(n, k) for n, k in self.scope.visible().items() if isinstance(k, Tuple)]
        if not tuples:
            return self.bind(depth)
        name, kind = self.rng.choice(tuples)
        names = [self.fresh("x") for _ in kind.items]
        targets = ", ".join(names) + "," * (len(names) == 1)
        if len(names) == 3 and self.chance(0.2):
            targets = f"{names[0]}, ({names[1]}), {names[2]}"
        self.used["unpacking"] += 1
        self.write(f"{targets} = {name}")
        self.scope.names.update(zip(names, kind.items))

    # Arrays and lists

    def view_of(self, depth: int) -> None:
        names = self.arrays()
        if not names:
            return self.bind(depth)
        text, kind = self.view(self.rng.choice(names))
        if not kind.dims:
            return
        name = self.fresh("b")
        self.write(f"{name} = {text}")
        self.scope.names[name] = kind

    def store(self, depth: int) -> None:
        """`a[…] = …`: an element, or a part."""
        names = self.arrays() + [n for n, k in self.scope.visible().items() if isinstance(k, List)]
        if not names:
            return self.bind(depth)
        name = self.rng.choice(names)
        kind = self.kind(name)
        if isinstance(kind, List):
            self.used["list store"] += 1
            self.write(f"{name}[{self.index(f'len({name})', 2)}] = {self.of(kind.item, 2)}")
        elif self.chance(0.6) and kind.dims:
            self.used["element store"] += 1
            source = self.stored_kind(kind.dtype)
            op = self.element_operator(kind.dtype) if source == kind.dtype and self.chance(0.3) else "="
            self.write(f"{name}[{self.indices(kind, 2)}] {op} {self.of(source, 2)}")
        elif kind.dims:
            text, part = self.view(name)
            self.used["slice store"] += 1
            value = self.operand(kind.dtype, part.dims, 1, False) if part.dims else self.of(kind.dtype, 1)
            self.write(f"{text} {self.rng.choice(['=', '=', self.element_operator(kind.dtype)])} {value}")

    def element_operator(self, dtype: str) -> str:
        if dtype == "bool":
            return self.rng.choice(["|=", "&=", "^="])
        return self.rng.choice(["+=", "-=", "*="] + (["//=", "%=", "&=", "|="] if dtype in INTEGERS else ["/="]))

    def stored_kind(self, dtype: str) -> str:
        """What is stored into an array: its own dtype, or something that NumPy casts."""
        if self.chance(0.6):
            return dtype
        if dtype in INTEGERS:
            return self.rng.choice(
                [*[d for d in self.dtypes if d in INTEGERS], "pybool", "bool"] + ["pyint"] * self.edge(0.5)
            )
        return self.rng.choice(["pyint", "pyfloat", "pybool", self.dtype()])

    def array_augment(self, depth: int) -> None:
        names = self.arrays()
        if not names:
            return self.bind(depth)
        name = self.rng.choice(names)
        kind = self.kind(name)
        if name not in self.scope.names:
            # An outer name would become a local one.
            return self.store(depth)
        self.used["array augmented"] += 1
        self.write(f"{name} {self.element_operator(kind.dtype)} {self.operand(kind.dtype, kind.dims, 1, False)}")

    def mask(self, depth: int) -> None:
        """Boolean masks, read and written."""
        names = self.arrays()
        if not names or "mask" in self.without:
            return self.bind(depth)
        name = self.rng.choice(names)
        kind = self.kind(name)
        mask = self.array_of(Array("bool", kind.dims), 1)
        if self.chance(0.5):
            self.used["mask read"] += 1
            new = self.fresh("b")
            self.write(f"{new} = {name}[{mask}]")
            self.scope.names[new] = Array(kind.dtype, (f"~{new}",))
        else:
            self.used["mask store"] += 1
            self.write(f"{name}[{mask}] = {self.of(kind.dtype, 1)}")

    def list_method(self, depth: int) -> None:
        lists = [n for n, k in self.scope.visible().items() if isinstance(k, List)]
        if not lists:
            name = self.fresh("b")
            kind = List(self.rng.choice(["pyint", "pyfloat"]))
            self.write(f"{name} = {self.of(kind, 2)}")
            self.scope.names[name] = kind
            return
        name = self.rng.choice(lists)
        item = lambda: self.of(self.kind(name).item, 2)
        ways = [f"{name}.append({item()})"] * 4 + [
            f"{name}.reverse()",
            f"{name}.sort()",
            f"{name}.insert({self.rng.randint(-2, 3)}, {item()})",
        ]
        ways += [
            f"{name}.extend([{item()}, {item()}])",
            f"{name}.clear()",
            f"{name}[1:2] = [{item()}]",
            f"del {name}[::2]",
        ]
        guarded = [f"{name}.pop()", f"{name}.pop(0)", f"del {name}[-1]", f"{name}.remove({name}[-1])"]
        if self.chance(0.25):
            way = self.rng.choice(guarded)
            self.used["list pop"] += 1
            if self.edge(0.3):
                self.write(way)
            else:
                self.write(f"if len({name}) > 0:")
                self.write(f"    {way}")
        else:
            self.used["list method"] += 1
            self.write(self.rng.choice(ways))
            # A list that grows in a loop stays short.
            if self.loops:
                self.write(f"if len({name}) > 9:")
                self.write(f"    {name}.clear()")

    # Control flow

    def test(self) -> str:
        roll = self.rng.random()
        if roll < 0.75:
            return self.condition(2)
        if roll < 0.9:
            return self.of(self.number(), 2)
        return self.comparison(self.dtype(), 2)

    def branch(self, depth: int) -> None:
        self.used["if"] += 1
        self.write(f"if {self.test()}:")
        self.block(depth - 1)
        if self.chance(0.25):
            self.used["elif"] += 1
            self.write(f"elif {self.test()}:")
            self.block(depth - 1)
        if self.chance(0.5):
            self.used["else"] += 1
            self.write("else:")
            self.block(depth - 1)

    def loop(self, depth: int) -> None:
        """A `for` over something short."""
        if self.loops >= 3:
            return self.branch(depth)
        text, kind, below = self.iterable(2)
        name = self.fresh("i")
        names = {name: kind}
        target = name
        if self.chance(0.15):
            index = self.fresh("i")
            start = f", {self.rng.randint(-1, 2)}" if self.chance(0.2) else ""
            self.used["enumerate"] += 1
            target, text, names = f"{index}, {name}", f"enumerate({text}{start})", {index: "pyint", name: kind}
        elif self.chance(0.12):
            other, other_kind, _ = self.iterable(2)
            second = self.fresh("i")
            self.used["zip"] += 1
            target, text, names = f"{name}, {second}", f"zip({text}, {other})", {name: kind, second: other_kind}
        self.used["for"] += 1
        # A list must not grow while it is walked over.
        if (
            found := [n for n, k in self.scope.visible().items() if isinstance(k, List) and n in text]
        ) and "sorted" not in text:
            text = text.replace(found[0], f"{found[0]}[:9]", 1) if f"{found[0]}[" not in text else text
        self.write(f"for {target} in {text}:")
        scope = self.scope
        scope.names |= names
        scope.fixed |= set(names)
        if below:
            scope.below[name] = below
        self.loops += 1
        self.block(depth - 1, 5)
        self.loops -= 1
        for bound in names:
            del scope.names[bound]
            scope.below.pop(bound, None)
            scope.fixed.discard(bound)
            scope.maybe[bound] = names[bound]
        self.otherwise(depth)

    def otherwise(self, depth: int) -> None:
        if self.chance(0.25):
            self.used["else of a loop"] += 1
            self.write("else:")
            self.block(depth - 1, 2)

    def count(self, depth: int) -> None:
        """A `while` with a counter that bounds it."""
        if self.loops >= 2:
            return self.branch(depth)
        name = self.fresh("k")
        self.used["while"] += 1
        self.write(f"{name} = 0")
        bound = self.rng.randint(1, 6)
        condition = f"{name} < {bound}" if self.chance(0.5) else f"{name} < {bound} and {self.condition(2)}"
        if self.chance(0.15):
            condition = f"({name} := {name} + 1) < {bound}"
        elif self.chance(0.1):
            condition = "True"
        self.write(f"while {condition}:")
        scope = self.scope
        scope.names[name] = "pyint"
        scope.fixed.add(name)
        self.loops += 1
        self.indent += 1
        self.write(f"{name} += 1")
        if condition == "True":
            self.write(f"if {name} > {bound}:")
            self.write("    break")
        self.indent -= 1
        self.block(depth - 1, 5)
        self.loops -= 1
        self.otherwise(depth)

    def leave_loop(self, depth: int) -> bool:
        word = self.rng.choice(["break", "continue"])
        self.used[word] += 1
        if self.chance(0.7):
            self.write(f"if {self.condition(1)}:")
            self.write(f"    {word}")
            return False
        self.write(word)
        return True

    def nothing(self, depth: int) -> None:
        self.write("pass")

    def early(self, depth: int) -> bool:
        self.used["early return"] += 1
        self.left_early |= self.scope.outer is None
        if self.chance(0.6):
            self.write(f"if {self.condition(2)}:")
            self.indent += 1
            self.give()
            self.indent -= 1
            return False
        self.give()
        return True

    def give(self) -> None:
        """The `return` of this function."""
        if not isinstance(self.result, Tuple):
            self.write(f"return {self.of(self.result, 2)}")
            return
        items = []
        for kind in self.result.items:
            # Mostly names: what the statements did to them is what is looked at.
            if (names := self.of_kind(kind)) and self.chance(0.7):
                items.append(self.rng.choice(names))
                continue
            text, rounds = self.returned(kind, 2)
            self.rounds |= rounds
            items.append(text)
        self.write(f"return {', '.join(items)}{',' * (len(items) == 1)}")

    def throw(self, depth: int) -> bool:
        self.used["raise"] += 1
        if self.handling and self.chance(0.4):
            line = "raise"
        else:
            name = self.rng.choice(EXCEPTIONS)
            scalar = self.of(self.rng.choice(["pyint", "pyfloat", "pybool"]), 0)
            ways = ["", "()", "('wrong')", f"(f'got {{{scalar}}} here')" if "'" not in scalar else "('odd')"]
            line = f"raise {name}{self.rng.choice(ways)}"
        if self.chance(0.8):
            self.write(f"if {self.condition(2)}:")
            self.write(f"    {line}")
            return False
        self.write(line)
        return True

    def check(self, depth: int) -> None:
        self.used["assert"] += 1
        message = self.rng.choice(["", ", 'not so'", f", f'value {{{self.of('pyint', 0)}}}'"])
        self.write(f"assert {self.condition(2)} or {self.condition(1)} or {self.condition(1)}{message}")

    def attempt(self, depth: int) -> None:
        """try, except, else, finally."""
        self.used["try"] += 1
        self.write("try:")
        edges, self.edges = self.edges, True
        self.indent += 1
        if self.chance(0.3):
            self.assign(depth)
        likely = [self.risk(depth) for _ in range(self.rng.choice([0, 1, 1, 2]))]
        self.indent -= 1
        self.block(depth - 1)
        self.edges = edges
        handlers = self.rng.choice([0, 1, 1, 1, 2])
        handling = self.handling
        for number in range(handlers):
            self.used["except"] += 1
            last = number == handlers - 1
            caught = self.rng.choice(CAUGHT)
            if likely and self.chance(0.75):
                name = self.rng.choice(likely)
                caught = self.rng.choice([name, name, f"({name}, KeyError)", *BASES.get(name, ["Exception"])])
            self.write("except:" if last and self.chance(0.05) else f"except {caught}:")
            self.handling = True
            self.block(depth - 1, 2)
            self.handling = handling
        if handlers and self.chance(0.3):
            self.used["else of try"] += 1
            self.write("else:")
            self.block(depth - 1, 2)
        if not handlers or self.chance(0.3):
            self.used["finally"] += 1
            self.write("finally:")
            loops, returns = self.loops, self.returns
            if self.chance(0.8):
                # Leaving out of a finally swallows what was raised: rare.
                self.loops, self.returns = 0, False
            self.block(depth - 1, 2)
            self.loops, self.returns = loops, returns

    def risk(self, depth: int) -> str:
        """A statement that raises for some values; what it raises."""
        roll = self.rng.random()
        if roll < 0.3:
            name = self.rng.choice(EXCEPTIONS)
            self.write(f"if {self.condition(1)}:")
            self.write(f"    raise {name}{self.rng.choice(['', '()', '(3)', f'({name!r})'])}")
            return name
        holders = [n for n, k in self.scope.visible().items() if isinstance(k, List)] + self.arrays(1)
        names = self.assignable(lambda k: k == "pyint")
        name = self.rng.choice(names) if names else "_"
        number = lambda: self.of("pyint", 1)
        ways = [
            (f"{number()} // ({number()} % 2)", "ZeroDivisionError"),
            (f"{number()} % ({number()} & 1)", "ZeroDivisionError"),
        ]
        ways += [
            (f"int({number()} / ({number()} % 2))", "ZeroDivisionError"),
            (f"{number()} >> {number()}", "ValueError"),
        ]
        ways += [(f"math.isqrt({number()})", "ValueError"), (f"int(math.sqrt({number()}))", "ValueError")]
        ways += [("int(math.nan)", "ValueError"), ("int(math.inf)", "OverflowError")]
        if holders:
            holder = self.rng.choice(holders)
            ways += [(f"int({holder}[{number()}] > 0)", "IndexError")] * 3
            ways += [(f"int({holder}[len({holder}) - {number()} % 2] > 0)", "IndexError")] * 3
        text, raised = self.rng.choice(ways)
        self.used["risk"] += 1
        self.write(f"{name} = {text}")
        return raised

    def select(self, depth: int) -> None:
        """match on an int or a tuple of ints."""
        self.used["match"] += 1
        tuples = [n for n, k in self.scope.visible().items() if isinstance(k, Tuple) and set(k.items) == {"pyint"}]
        name = self.rng.choice(tuples) if tuples and self.chance(0.5) else ""
        self.write(f"match {name or self.of('pyint', 1) + ' % 4'}:")
        self.indent += 1
        width = len(self.kind(name).items) if name else 0
        for _ in range(self.rng.randint(1, 3)):
            bound: dict[str, Kind] = {}
            if name:
                parts = []
                for _ in range(width):
                    way = self.rng.choice(["literal", "name", "any"])
                    if way == "name":
                        parts.append(self.fresh("m"))
                        bound[parts[-1]] = "pyint"
                    else:
                        parts.append(str(self.rng.randint(0, 4)) if way == "literal" else "_")
                pattern = f"({', '.join(parts)}{',' * (width == 1)})"
            elif self.chance(0.25):
                pattern = self.fresh("m")
                bound[pattern] = "pyint"
            else:
                values = self.rng.sample(range(-1, 4), self.rng.randint(1, 3))
                pattern = " | ".join(map(str, values))
            self.scope.names |= bound
            irrefutable = all(p in "_" or p in bound for p in pattern.strip("()").split(", "))
            guard = f" if {self.condition(1)}" if irrefutable or self.chance(0.5) else ""
            self.write(f"case {pattern}{guard}:")
            self.block(depth - 1, 2)
            for other in bound:
                self.scope.maybe[other] = self.scope.names.pop(other)
        if self.chance(0.7):
            self.write("case _:")
            self.block(depth - 1, 2)
        self.indent -= 1

    # Functions

    def name_lambda(self, depth: int) -> None:
        name, parameter = self.fresh("g"), self.fresh("p")
        kind, result = self.number(), self.number()
        body = self.inner(lambda: self.of(result, 2), {parameter: kind}, {})
        self.used["lambda"] += 1
        self.write(f"{name} = lambda {parameter}: {body}")
        self.scope.functions.append(Callee(name, [kind], result))

    def define(self, depth: int) -> None:
        """A nested function: a closure, perhaps with `nonlocal`, defaults, or recursion."""
        if self.scope.outer is not None or self.loops > 1:
            return self.assign(depth)
        callee = self.function(self.fresh("g"), depth)
        self.scope.functions.append(callee)
        if self.chance(0.7):
            names = self.assignable(lambda k: k == callee.result)
            name = self.rng.choice(names) if names else self.fresh("x")
            self.write(f"{name} = {self.call_of(callee, 2)}")
            self.scope.names[name] = callee.result
        elif self.chance(0.3):
            self.write(self.call_of(callee, 1))

    def function(self, name: str, depth: int) -> Callee:
        self.used["nested function"] += 1
        parameters = [self.number() for _ in range(self.rng.randint(1, 3))]
        if self.chance(0.25):
            parameters.append(self.some_array() if self.arrays() else List("pyint"))
        recursive = self.chance(0.3)
        if recursive:
            parameters.insert(0, "pyint")
        names = [self.fresh("p") for _ in parameters]
        texts = list(names)
        optional = 0
        if isinstance(parameters[-1], str) and not (recursive and len(parameters) == 1) and self.chance(0.3):
            optional = 1
            texts[-1] += f"={self.literal(parameters[-1])}"
        result: Kind = self.number() if self.chance(0.8) else self.any_kind()
        if isinstance(result, Array) and any(not d.isdigit() for d in result.dims):
            result = self.number()
        callee = Callee(name, parameters, result, optional, names, recursive)
        self.write(f"def {name}({', '.join(texts)}):")
        outer, saved = self.scope, (self.result, self.loops, self.handling, self.returns)
        self.scope = Scope(outer, dict(zip(names, parameters)), {names[0]} if recursive else set())
        self.result, self.loops, self.handling, self.returns = result, 0, False, True
        self.indent += 1
        if self.chance(0.3) and (
            found := [n for n, k in outer.names.items() if isinstance(k, str) and n not in outer.fixed]
        ):
            shared = self.rng.choice(found)
            # At the top of a module there is nothing to share.
            if outer.outer is None and self.indent > 1:
                self.used["nonlocal"] += 1
                self.write(f"nonlocal {shared}")
                self.scope.names[shared] = outer.names[shared]
        if recursive:
            self.used["recursion"] += 1
            self.write(f"if {names[0]} <= 0:")
            self.indent += 1
            self.give()
            self.indent -= 1
            again = [f"{names[0]} - 1", *(self.of(k, 1) for k in parameters[1:])]
            inner = self.fresh("x")
            self.write(f"{inner} = {name}({', '.join(again)})")
            self.scope.names[inner] = result
        for _ in range(self.rng.randint(0, 3)):
            self.statement(min(depth - 1, 1))
        if self.scope.names.keys() & outer.names.keys():
            self.augment(depth)
        self.give()
        self.indent -= 1
        self.scope = outer
        self.result, self.loops, self.handling, self.returns = saved
        return callee

    # The program

    def helper(self) -> None:
        """A function beside `f`."""
        self.write(self.rng.choice(["@njit", "@njit", ""]) or "# plain")
        depth = 2
        self.scope = Scope()
        callee = self.function(self.fresh("h"), depth)
        self.top.functions.append(callee)
        self.used["helper function"] += 1

    def program(self, seed: int) -> Program:
        self.top = Scope()
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            self.helper()
        self.scope = Scope(self.top)
        # `f` itself is a function of the module: its names are not another's.
        self.scope.outer = None
        self.scope.functions = list(self.top.functions)
        parameters: dict[str, Kind] = {}
        for _ in range(self.rng.randint(1, 4)):
            parameters[self.fresh("a")] = self.parameter(parameters)
        self.write("@njit")
        self.write(f"def f({', '.join(parameters)}):")
        self.indent += 1
        self.scope.names = dict(parameters)
        for name, kind in parameters.items():
            if isinstance(kind, Array):
                sizes = [d for d in kind.dims if not d.isdigit()]
                if len(kind.dims) == 1:
                    self.write(f"{sizes[0]} = len({name})")
                else:
                    self.write(f"{', '.join(sizes)} = {name}.shape")
                self.scope.names |= dict.fromkeys(sizes, "pyint")
                self.scope.fixed |= set(sizes)
        for kind in ["pyint", self.number(), self.any_kind()]:
            name = self.fresh("x")
            self.write(f"{name} = {self.of(kind, 1)}")
            self.scope.names[name] = kind
        kinds = [self.rng.choice(list(self.scope.names.values())) for _ in range(self.rng.randint(2, 8))]
        self.result = Tuple(tuple(kinds))
        depth = self.rng.randint(1, 4)
        while self.left > 0:
            self.statement(depth)
        self.give()
        if not self.left_early:
            self.also_give(random.Random(seed))
        calls = [self.arguments(parameters) for _ in range(3)]
        text = "\n".join(["import math", "", "import numpy as np", "", *self.lines, ""])
        return Program(seed, text, list(parameters), calls, self.rounds, self.used)

    def also_give(self, rng: random.Random) -> None:
        """Makes the last `return` give more names: what was computed and is not looked at is not tested."""
        names = [n for n in self.scope.names if n not in self.scope.fixed]
        arrays = [n for n in names if isinstance(self.kind(n), Array)]
        more = rng.sample(names, min(len(names), 6)) + rng.sample(arrays, min(len(arrays), 4))
        self.lines[-1] = ", ".join([self.lines[-1].rstrip(","), *dict.fromkeys(more)])

    def parameter(self, others: dict[str, Kind]) -> Kind:
        roll = self.rng.random()
        if roll < 0.45:
            return self.number()
        if roll < 0.9:
            dims = [k.dims for k in others.values() if isinstance(k, Array)]
            if dims and self.chance(0.0):
                return Array(self.dtype(), self.rng.choice(dims))
            n = self.fresh("n")
            return Array(self.dtype(), (n,) if self.chance(0.7) else (n, self.fresh("n")))
        if roll < 0.96:
            return List(self.rng.choice(["pyint", "pyfloat"]))
        return Tuple(tuple(self.rng.choice(["pyint", "pyfloat"]) for _ in range(2)))

    # Arguments

    def arguments(self, parameters: dict[str, Kind]) -> str:
        size = self.rng.choice([0, 1, 2, 3, 4, 5, 5, 7, 7, 33])
        lines = []
        arrays: list[tuple[str, Array]] = []
        for name, kind in parameters.items():
            lines.append(f"{name} = {self.argument(kind, size, arrays)}")
            if isinstance(kind, Array):
                arrays.append((name, kind))
                if self.edge(0.03) and "impossible" not in self.without:
                    lines.append(f"{name}.flags.writeable = False")
        return "\n".join(lines)

    def argument(self, kind: Kind, size: int, arrays: list[tuple[str, Array]]) -> str:
        if isinstance(kind, Array):
            if (
                same := [n for n, k in arrays if k.dtype == kind.dtype and len(k.dims) == len(kind.dims)]
            ) and self.chance(0.3):
                # Arguments that share memory.
                self.used["shared arguments"] += 1
                return f"{self.rng.choice(same)}{self.rng.choice(['', '', '[::-1]'])}"
            return self.array_argument(kind, size)
        if isinstance(kind, List):
            return f"[{', '.join(self.scalar_argument(kind.item) for _ in range(self.rng.choice([1, 2, 3, 5])))}]"
        if isinstance(kind, Tuple):
            return f"({', '.join(self.scalar_argument(k) for k in kind.items)},)"
        return self.scalar_argument(kind)

    def scalar_argument(self, kind: str) -> str:
        if kind == "pyint":
            return str(self.rng.randint(-9, 12)) if self.chance(0.9) else self.literal("pyint")
        if kind == "pyfloat":
            return str(self.rng.randint(-40, 40) / 8) if self.chance(0.9) else self.literal("pyfloat")
        return self.literal(kind)

    def array_argument(self, kind: Array, size: int) -> str:
        shape = (size,) if len(kind.dims) == 1 else (min(size, 4), self.rng.choice([1, 2, 3, 5]))
        if self.chance(0.1):
            shape = tuple(self.rng.choice([1, 2, n]) for n in shape)
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        low, high = (-9, 12) if kind.dtype not in ["bool", "uint8", "uint16", "uint32", "uint64"] else (0, 12)
        items = [str(self.rng.randint(low, high)) for _ in range(count)]
        if kind.dtype == "bool":
            items = [self.rng.choice(["True", "False"]) for _ in range(count)]
        elif kind.dtype in FLOATS:
            items = [str(self.rng.randint(-40, 40) / 8) for _ in range(count)]
            if self.edge(0.3) and count:
                items[self.rng.randrange(count)] = self.rng.choice(["np.nan", "np.inf", "-0.0"])
        elif self.chance(0.2) and count:
            bits = int(kind.dtype.lstrip("uint"))
            edges = [2**bits - 1] if kind.dtype.startswith("u") else [2 ** (bits - 1) - 1, -(2 ** (bits - 1))]
            items[self.rng.randrange(count)] = str(self.rng.choice(edges))
        text = f"np.array([{', '.join(items)}], dtype=np.{'bool_' if kind.dtype == 'bool' else kind.dtype})"
        if len(shape) == 2:
            text += f".reshape({shape[0]}, {shape[1]})"
        roll = self.rng.random()
        if roll < 0.1 and len(shape) == 2:
            return f"np.asfortranarray({text})"
        if roll < 0.2:
            return f"{text}[::-1]"
        if roll < 0.3:
            return f"np.repeat({text}, 2, axis=0)[::2]"
        return text


def make(seed: int, without: frozenset[str] = frozenset()) -> Program:
    """The program of a seed; `without` some of `mask`, `reduction`, `np.array`, `unbound`, `impossible`."""
    return Writer(random.Random(seed), without).program(seed)
