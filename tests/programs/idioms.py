"""Statements that people write and that a walk over the grammar would hardly find: overlapping slices, swaps, lists of
tuples, values that may be None, functions that take functions.

Each method writes a few lines with fresh names and records the names whose types the rest of the grammar knows.
"""

from expressions import SLICES, Expressions
from kinds import INTEGERS, SIGNED, Array, List, result_of


class Idioms(Expressions):
    """Mixed into the writer of statements, which has `write`, `assignable` and the lines."""

    def idiom(self, depth: int) -> None:
        ways = [
            self.overlap,
            self.swap,
            self.fancy,
            self.axis,
            self.rows,
            self.reshaped,
            self.free_slice,
            self.maybe_none,
        ]
        ways += [self.list_of_tuples, self.list_of_lists, self.list_of_arrays, self.starred, self.taking_functions]
        ways += [self.sorted_by, self.complex_numbers, self.ping_pong, self.strings, self.filled, self.product]
        ways += [self.stencil, self.assigned_twice, self.tried_loop, self.scalar_copy, self.finally_return, self.mapped]
        ways += [self.window, self.between, self.turned, self.neighbours, self.emptied, self.picked, self.mixed]
        ways += [self.zeros, self.limits]
        way = self.rng.choice(ways)
        before = len(self.lines)
        way()
        if len(self.lines) > before:
            self.used[f"idiom {way.__name__}"] += 1

    def an_array(self, rank: int | None = None) -> str:
        names = self.arrays(rank)
        return self.rng.choice(names) if names else ""

    def keep(self, name: str, kind) -> None:
        self.scope.names[name] = kind

    def a_new_array(self, rank: int) -> str:
        """The name of an array, made if there is none."""
        if name := self.an_array(rank):
            return name
        name = self.fresh("b")
        dims = ("5",) if rank == 1 else ("3", "4")
        kind = Array(self.dtype(), dims)
        self.write(f"{name} = {self.created(kind)}")
        self.keep(name, kind)
        return name

    # Arrays

    def overlap(self) -> None:
        a = self.a_new_array(1)
        op = "=" if self.chance(0.6) else self.element_operator(self.kind(a).dtype)
        pairs = [("1:", ":-1"), (":-1", "1:"), ("::-1", ":"), (":", "::-1"), ("::2", "::2"), ("1::2", "1::2")]
        # Backwards from beyond what is read, and the other way round.
        pairs += [("-1:0:-1", ":-1"), (":-1", "-1:0:-1")]
        to, of = self.rng.choice(pairs)
        sign = self.rng.choice("+|^*&") if self.kind(a).dtype in INTEGERS else "+"
        extra = f" {sign} {a}[{of}]" if self.chance(0.4) else ""
        if self.kind(a).dtype == "bool":
            extra = extra.replace("+", "|").replace("*", "&")
        self.write(f"{a}[{to}] {op} {a}[{of}]{extra}")

    def swap(self) -> None:
        a = self.a_new_array(self.rng.choice([1, 1, 2]))
        kind = self.kind(a)
        i, j = self.index(kind.dims[0], 1), self.index(kind.dims[0], 1)
        # Rows are views: the second store reads what the first has written.
        self.write(f"{a}[{i}], {a}[{j}] = {a}[{j}], {a}[{i}]")

    def fancy(self) -> None:
        a = self.a_new_array(self.rng.choice([1, 1, 2]))
        kind = self.kind(a)
        size = f"{a}.shape[0]"
        ids = self.fresh("b")
        dtype = self.rng.choice(["int64", "int64", "int32", "uint8"])
        count = self.rng.choice([0, 1, 3, 4])
        shift = "" if dtype.startswith("u") else self.rng.choice(["", "", f" - {self.rng.randint(1, 2)}"])
        bound = "" if self.edge(0.3) else f" % max({size}, 1)"
        self.write(f"{ids} = ((np.arange({count}) * {self.rng.choice([1, 2, 3, 0])}){bound}{shift}).astype(np.{dtype})")
        self.keep(ids, Array(dtype, (str(count),)))
        roll = self.rng.random()
        if roll < 0.4:
            new = self.fresh("b")
            self.write(f"{new} = {a}[{ids}]")
            self.keep(new, Array(kind.dtype, (str(count), *kind.dims[1:])))
        elif roll < 0.7:
            self.write(f"{a}[{ids}] = {self.of(kind.dtype, 1)}")
        elif kind.dtype != "bool":
            self.write(f"{a}[{ids}] {self.rng.choice(['+=', '*=', '-='])} {self.literal(kind.dtype)}")
        else:
            self.write(f"{a}[{ids}] = {a}[{ids}[::-1]]")

    def axis(self) -> None:
        if "reduction" in self.without:
            return
        a = self.a_new_array(2)
        kind = self.kind(a)
        axis = self.rng.choice([0, 1, -1])
        keep = ", keepdims=True" if self.chance(0.2) else ""
        total = "int64" if kind.dtype in [*SIGNED, "bool"] else "uint64"
        ways = [("any", "bool"), ("all", "bool")]
        if kind.dtype != "bool":
            ways += [("max", kind.dtype), ("min", kind.dtype)]
        if kind.dtype in [*INTEGERS, "bool"]:
            ways += [("sum", total), ("prod", total)]
        if not keep:
            ways += [("argmax", "int64"), ("argmin", "int64")]
        name, dtype = self.rng.choice(ways)
        new = self.fresh("b")
        call = f"{a}.{name}(axis={axis}{keep})" if self.chance(0.5) else f"np.{name}({a}, axis={axis}{keep})"
        self.write(f"{new} = {call}")
        rest = kind.dims[1:] if axis == 0 else kind.dims[:1]
        if not keep:
            self.keep(new, Array(dtype, rest))
        else:
            self.keep(new, Array(dtype, ("1", kind.dims[1]) if axis == 0 else (kind.dims[0], "1")))

    def rows(self) -> None:
        a = self.a_new_array(2)
        kind = self.kind(a)
        row = self.fresh("r")
        self.write(f"for {row} in {a}:")
        self.indent += 1
        outer_names = dict(self.scope.names)
        self.scope.names[row] = Array(kind.dtype, kind.dims[1:])
        self.scope.fixed.add(row)
        self.write(f"{row}[{self.rng.choice(SLICES)}] = {self.of(kind.dtype, 1)}")
        if names := self.assignable(lambda k: k == kind.dtype):
            self.write(f"{self.rng.choice(names)} = {row}[{self.index(kind.dims[1], 1)}]")
        self.indent -= 1
        self.scope.names = outer_names

    def reshaped(self) -> None:
        a = self.a_new_array(2)
        kind = self.kind(a)
        new = self.fresh("b")
        product = f"~{'*'.join(kind.dims)}"
        ways = [(f"{a}.T", kind.dims[::-1]), (f"{a}.reshape(-1)", (product,)), (f"{a}.ravel()", (product,))]
        ways += [(f"{a}.flatten()", (product,)), (f"np.transpose({a})", kind.dims[::-1])]
        ways += [(f"{a}[:, ::-1].T", kind.dims[::-1])]
        text, dims = self.rng.choice(ways)
        self.write(f"{new} = {text}")
        self.keep(new, Array(kind.dtype, dims))
        if len(dims) == 1 and self.chance(0.5):
            self.write(f"{new}[::2] = {self.of(kind.dtype, 1)}")

    def free_slice(self) -> None:
        """Bounds and steps that are not known when compiling."""
        a = self.a_new_array(1)
        kind = self.kind(a)
        bounds = [self.rng.choice(["", self.of("pyint", 1)]) for _ in range(2)]
        step = self.rng.choice(["", "", f":{self.of('pyint', 0)}", ":-1", ":-2", ":3"])
        where = f"{bounds[0]}:{bounds[1]}{step}"
        if self.chance(0.5):
            self.write(f"{a}[{where}] = {self.of(kind.dtype, 1)}")
        else:
            new = self.fresh("b")
            self.write(f"{new} = {a}[{where}]")
            self.keep(new, Array(kind.dtype, (f"~{new}",)))

    def ping_pong(self) -> None:
        a = self.a_new_array(1)
        kind = self.kind(a)
        old, new = self.fresh("b"), self.fresh("b")
        self.write(f"{old} = {a}.copy()")
        self.write(f"{new} = np.zeros_like({old})")
        self.write(f"for _ in range({self.rng.randint(0, 4)}):")
        self.write(f"    {new}[1:] = {old}[:-1]")
        self.write(f"    {old}, {new} = {new}, {old}")
        self.keep(old, kind)
        self.keep(new, kind)

    def filled(self) -> None:
        a = self.a_new_array(self.rng.choice([1, 2]))
        kind = self.kind(a)
        value = self.of(kind.dtype, 1)
        self.write(self.rng.choice([f"{a}.fill({value})", f"{a}[...] = {value}", f"{a}[:] = {value}"]))

    def product(self) -> None:
        a = self.a_new_array(1)
        kind = self.kind(a)
        if kind.dtype not in INTEGERS:
            return
        new = self.fresh("x")
        self.write(f"{new} = {self.rng.choice([f'{a} @ {a}[::-1]', f'np.dot({a}, {a})', f'{a}.dot({a}[::-1])'])}")
        self.keep(new, kind.dtype)

    def stencil(self) -> None:
        a = self.a_new_array(2)
        kind = self.kind(a)
        i, j = self.fresh("i"), self.fresh("i")
        op = self.rng.choice(["|", "&", "^"]) if kind.dtype == "bool" else self.rng.choice(["+", "*", "-"])
        self.write(f"for {i} in range(1, {a}.shape[0]):")
        self.write(f"    for {j} in range({a}.shape[1] - 1):")
        self.write(f"        {a}[{i}, {j}] = {a}[{i} - 1, {j}] {op} {a}[{i}, {j} + 1]")

    def window(self) -> None:
        """Parts of the columns, computed with as wholes."""
        a = self.a_new_array(2)
        kind = self.kind(a)
        op = self.rng.choice("|&^" if kind.dtype == "bool" else "+-*")
        rows, columns = self.rng.choice([(":", "1:"), (":", ":-1"), ("1:", "1:"), (":-1", "1:")]), (":-1", "1:")
        other = {"1:": ":-1", ":-1": "1:", ":": ":"}
        new = self.fresh("b")
        left = f"{a}[{rows[0]}, {rows[1]}]"
        right = f"{a}[{other[rows[0]]}, {self.rng.choice(columns)}]"
        self.write(f"{new} = {left} {op} {right}")
        dims = (kind.dims[0] if rows[0] == ":" else self.less_one(kind.dims[0]), self.less_one(kind.dims[1]))
        self.keep(new, Array(kind.dtype, dims))

    def less_one(self, dim: str) -> str:
        return str(max(int(dim) - 1, 0)) if dim.isdigit() else f"~{dim}[1:]"

    def between(self) -> None:
        """A store between two computations that read what it writes; maybe with an array of other sizes."""
        a = self.a_new_array(1)
        kind = self.kind(a)
        op, again = (self.rng.choice("|&^" if kind.dtype == "bool" else "+-*") for _ in range(2))
        b, c = self.fresh("b"), self.fresh("b")
        others = [n for n in self.arrays(1) if self.kind(n).dtype == kind.dtype and n != a]
        other = self.rng.choice(others) if others and self.chance(0.6) else ""
        lines = [f"{b} = {a} {op} {a}[::-1]"]
        lines += [f"{a}[{self.rng.choice([':', '1:', '::2', ':-1'])}] = {self.of(kind.dtype, 1)}"]
        lines += [f"{c} = {b} {again} {other or a}"]
        if other:
            self.write("try:")
            for line in lines:
                self.write(f"    {line}")
            self.write("except ValueError:")
            self.write(f"    {c} = {a}")
            self.keep(c, Array(kind.dtype, (f"~{c}",)))
        else:
            for line in lines:
                self.write(line)
            self.keep(c, kind)

    def turned(self) -> None:
        """A copy with the axes in the other order of memory."""
        a = self.a_new_array(2)
        kind = self.kind(a)
        b = self.fresh("b")
        name = "bool_" if kind.dtype == "bool" else kind.dtype
        self.write(f"{b} = np.zeros(({a}.shape[1], {a}.shape[0]), dtype=np.{name})")
        self.write(f"{b}[:] = {a}.T" if self.chance(0.7) else f"{b} = {a}.T.copy()")
        self.keep(b, Array(kind.dtype, kind.dims[::-1]))

    def neighbours(self) -> None:
        """Elements beside each index, some of them beyond an end."""
        a = self.a_new_array(1)
        kind = self.kind(a)
        i, new = self.fresh("i"), self.fresh("x")
        by = self.rng.choice(["- 1", "- 1", "+ 1", "- 2", "+ 0"])
        start, more = self.rng.choice([("", ""), ("1, ", ""), ("", " - 1"), ("", " + 1")])
        self.write(f"{new} = {self.literal(kind.dtype)}")
        self.write("try:")
        self.write(f"    for {i} in range({start}len({a}){more}):")
        op = self.rng.choice(["|=", "^="] if kind.dtype == "bool" else ["+=", "-="])
        self.write(f"        {new} {op} {a}[{i} {by}]")
        self.write("except IndexError:")
        self.write(f"    {new} {op} {self.literal(kind.dtype)}")
        self.keep(new, kind.dtype)

    def emptied(self) -> None:
        """What has no value without elements."""
        if "reduction" in self.without:
            return
        dtype = self.rng.choice([d for d in self.dtypes if d != "bool"] or ["int64"])
        size, new = self.rng.choice([0, 0, 1, 3]), self.fresh("x")
        part = self.rng.choice(["", "[1:]", "[:0]", "[::-2]"])
        self.write("try:")
        name = self.rng.choice(["min", "max"])
        self.write(f"    {new} = np.full({size}, {self.rng.randint(0, 9)}, dtype=np.{dtype}){part}.{name}()")
        self.write("except ValueError:")
        self.write(f"    {new} = np.{dtype}({self.rng.randint(0, 9)})")
        self.keep(new, dtype)

    def scalar_copy(self) -> None:
        """What was read from an array does not change when the array does."""
        a = self.a_new_array(1)
        kind = self.kind(a)
        new = self.fresh("x")
        at = self.index(kind.dims[0], 0)
        self.write(f"{new} = {a}[{at}]")
        self.write(f"{a}[{at}] = {self.of(kind.dtype, 1)}")
        self.keep(new, kind.dtype)

    # Lists, tuples, None, strings

    def maybe_none(self) -> None:
        kind = self.rng.choice(["pyint", "pyfloat", self.dtype()])
        name, new = self.fresh("o"), self.fresh("x")
        self.write(f"{name} = None")
        self.write(f"if {self.condition(1)}:")
        self.write(f"    {name} = {self.of(kind, 1)}")
        self.write(f"{new} = {self.of(kind, 1)} if {name} is None else {name}")
        self.keep(new, kind)
        if self.edge(0.3):
            self.write(f"{new} = {name} + {self.literal(kind)}" if kind != "bool" else "pass")

    def list_of_tuples(self) -> None:
        pairs, i = self.fresh("t"), self.fresh("v")
        p, q, total = self.fresh("p"), self.fresh("q"), self.fresh("x")
        body = self.inner(lambda: self.of("pyfloat", 1), {i: "pyint"}, {})
        self.write(f"{pairs} = [({i}, {body}) for {i} in range({self.rng.randint(0, 5)})]")
        if self.chance(0.4):
            self.write(f"{pairs}.append(({self.of('pyint', 1)}, {self.of('pyfloat', 1)}))")
        if self.chance(0.3):
            self.write(f"{pairs}.sort()" if self.chance(0.5) else f"{pairs}.reverse()")
        self.write(f"{total} = 0.0")
        self.write(f"for {p}, {q} in {pairs}:")
        self.write(f"    {total} += {p} * {q}")
        self.keep(total, "pyfloat")

    def list_of_lists(self) -> None:
        m, i, new = self.fresh("m"), self.fresh("v"), self.fresh("x")
        self.write(f"{m} = [[{self.of('pyint', 1)}] * 3 for {i} in range(3)]")
        self.write(f"{m}[{self.rng.randint(-3, 2)}][{self.rng.randint(-3, 2)}] += {self.of('pyint', 1)}")
        if self.chance(0.4):
            self.write(f"{m}[0] = {m}[1]")
            self.write(f"{m}[1].append(7)")
        self.write(f"{new} = sum(len({i}) * {i}[0] for {i} in {m})")
        self.keep(new, "pyint")

    def list_of_arrays(self) -> None:
        a = self.a_new_array(1)
        kind = self.kind(a)
        held, new = self.fresh("t"), self.fresh("b")
        self.write(f"{held} = [{a}, {self.array_of(kind, 1)}]")
        self.write(f"{held}[{self.rng.choice([0, 1, -1])}][:1] = {self.of(kind.dtype, 1)}")
        if self.chance(0.5):
            self.write(f"{held}.append({a}[::-1])")
        self.write(f"{new} = {held}[{self.rng.choice(['0', '-1', '1'])}]")
        self.keep(new, kind)

    def assigned_twice(self) -> None:
        kind = self.number()
        first, second = self.fresh("x"), self.fresh("x")
        if self.chance(0.5):
            self.write(f"{first} = {second} = {self.of(kind, 2)}")
            self.keep(second, kind)
        else:
            self.write(f"{first}, *{second} = {self.of(kind, 1)}, {self.of('pyint', 1)}, {self.of('pyint', 1)}")
            self.keep(second, List("pyint"))
        self.keep(first, kind)

    def strings(self) -> None:
        mode, new = self.fresh("s"), self.fresh("x")
        self.write(f"{mode} = 'up' if {self.condition(1)} else 'down'")
        self.write(f"{new} = {self.of('pyint', 1)}")
        self.write(f"if {mode} == 'up':")
        self.write(f"    {new} += 1")
        self.write(f"elif {mode} != 'down':")
        self.write("    raise ValueError(mode)".replace("mode", mode))
        self.keep(new, "pyint")

    def complex_numbers(self) -> None:
        z, new = self.fresh("z"), self.fresh("x")
        self.write(f"{z} = complex({self.of('pyfloat', 1)}, {self.of('pyfloat', 1)})")
        self.write(f"for _ in range({self.rng.randint(0, 3)}):")
        self.write(f"    {z} = {z} * {z} {self.rng.choice('+-')} {self.of(self.rng.choice(['pyint', 'pyfloat']), 1)}")
        self.write(f"{new} = {z}.{self.rng.choice(['real', 'imag'])}")
        self.keep(new, "pyfloat")

    # Functions

    def starred(self) -> None:
        g, new, given = self.fresh("g"), self.fresh("x"), self.fresh("q")
        self.write(f"def {g}({given}, *rest, scale=2):")
        self.write(f"    return {given} + len(rest) * scale + sum(rest)")
        texts = [self.of("pyint", 1) for _ in range(self.rng.randint(1, 4))]
        if self.chance(0.3):
            texts.append(f"*({self.of('pyint', 0)}, {self.of('pyint', 0)})")
        if self.chance(0.5):
            texts.append(f"scale={self.of('pyint', 0)}")
        self.write(f"{new} = {g}({', '.join(texts)})")
        self.keep(new, "pyint")

    def taking_functions(self) -> None:
        g, new, q = self.fresh("g"), self.fresh("x"), self.fresh("q")
        self.write(f"def {g}(fn, {q}):")
        self.write(f"    return fn(fn({q}))")
        body = self.inner(lambda: self.bounded(self.of("pyint", 2), "pyint"), {q: "pyint"}, {})
        self.write(f"{new} = {g}(lambda {q}: {body}, {self.of('pyint', 1)})")
        self.keep(new, "pyint")

    def sorted_by(self) -> None:
        new, q = self.fresh("b"), self.fresh("q")
        kind = List(self.rng.choice(["pyint", "pyfloat"]))
        key = self.inner(lambda: self.of("pyint", 1), {q: kind.item}, {})
        more = ", reverse=True" if self.chance(0.4) else ""
        self.write(f"{new} = sorted({self.list_of(kind, 2)}, key=lambda {q}: {key}{more})")
        self.keep(new, kind)

    def mapped(self) -> None:
        new, q = self.fresh("b"), self.fresh("q")
        kind = List(self.rng.choice(["pyint", "pyfloat"]))
        body = self.inner(lambda: self.bounded(self.of(kind.item, 1), kind.item), {q: kind.item}, {})
        # No walrus may stand in what a comprehension walks over.
        source = self.inner(lambda: self.list_of(kind, 2), {}, {})
        if self.chance(0.5):
            self.write(f"{new} = list(map(lambda {q}: {body}, {source}))")
        else:
            test = self.inner(lambda: self.condition(1), {q: kind.item}, {})
            self.write(f"{new} = [{q} for {q} in filter(lambda {q}: {test}, {source})]")
        self.keep(new, kind)

    def tried_loop(self) -> None:
        i, total = self.fresh("i"), self.fresh("x")
        self.write(f"{total} = 0")
        self.write(f"for {i} in range({self.rng.randint(1, 5)}):")
        self.write("    try:")
        self.write(f"        if {i} == {self.rng.randint(0, 4)}:")
        leaving = self.rng.choice(["break", "continue", "raise ValueError(3)"])
        self.write(f"            {leaving}")
        self.write(f"        {total} += 100 // ({i} - {self.rng.randint(0, 4)})")
        self.write(
            f"    except {self.rng.choice(['ZeroDivisionError', 'ArithmeticError', 'ValueError', 'Exception'])}:"
        )
        self.write(f"        {self.rng.choice(['continue', 'break', f'{total} -= 7', 'pass'])}")
        if self.chance(0.3):
            self.write("    else:")
            self.write(f"        {total} *= 2")
        if self.chance(0.6):
            self.write("    finally:")
            self.write(f"        {total} += {i}")
            if self.chance(0.2):
                self.write(f"        if {i} > 2:")
                self.write(f"            {self.rng.choice(['break', 'continue'])}")
        self.keep(total, "pyint")

    def picked(self) -> None:
        """An int that a branch chooses, as a divisor, an index, and the end of a slice."""
        k, new = self.fresh("x"), self.fresh("x")
        few = [0, 1, 2, 3, -1, -2]
        self.write(f"{k} = {self.rng.choice(few)}")
        self.write(f"if {self.condition(1)}:")
        self.write(f"    {k} = {self.rng.choice(few)}")
        a = self.a_new_array(1)
        ways = [f"{self.of('pyint', 1)} // {k}", f"{self.rng.choice([-7, 7, 100])} // {self.rng.choice(few[1:])} + {k}"]
        ways += [f"{self.of('pyint', 1)} % {k}", f"int({a}[{k}] != {a}[0])", f"len({a}[{k}:])", f"len({a}[:{k}])"]
        self.write("try:")
        self.write(f"    {new} = {self.rng.choice(ways)}")
        self.write("except (ZeroDivisionError, IndexError):")
        self.write(f"    {new} = {k}")
        self.keep(k, "pyint")
        self.keep(new, "pyint")

    def mixed(self) -> None:
        """Two integers of different dtypes, compared and combined."""
        first, second = self.rng.choice(INTEGERS), self.rng.choice([*INTEGERS, "uint64", "int64"])
        x, y, less, both = (self.fresh("x") for _ in range(4))
        self.write(f"{x}, {y} = {self.either_sign(first)}, {self.either_sign(second)}")
        if self.chance(0.7):
            self.write(f"if {self.condition(1)}:")
            self.write(f"    {x} = {self.either_sign(first)}")
        self.write(f"{less} = {x} {self.rng.choice(['<', '<=', '>', '==', '!='])} {y}")
        # Of uint64 and a signed one come floats, which have no bits.
        op = self.rng.choice(
            [op for op in ("+", "*", "//", "%", "|", "&") if result_of(f"{{}} {op} {{}}", first, second)]
        )
        self.write(f"{both} = {x} {op} {y}")
        self.keep(x, first)
        self.keep(y, second)
        self.keep(less, "bool")
        if kind := result_of(f"{{}} {op} {{}}", first, second):
            self.keep(both, kind)

    def either_sign(self, kind: str) -> str:
        if kind in SIGNED and self.chance(0.5):
            return f"np.{kind}({-self.rng.choice([1, 2, 3, 7, 100])})"
        return self.literal(kind)

    def zeros(self) -> None:
        """Zeros of both signs: equal, and not the same."""
        kind = self.rng.choice(["pyfloat", "pyfloat", "float64", "float32"])
        x, y, new = (self.fresh("x") for _ in range(3))
        signs = self.rng.choice([("0.0", "-0.0"), ("-0.0", "0.0")])
        values = signs if kind == "pyfloat" else [f"np.{kind}({sign})" for sign in signs]
        self.write(f"{x}, {y} = {values[0]}, {values[1]}")
        if self.chance(0.5):
            self.write(f"if {self.condition(1)}:")
            self.write(f"    {x} = {self.rng.choice(['-', ''])}{y}")
        self.write(f"{new} = math.copysign(2.0, {x}) + math.copysign(1.0, {y})")
        self.keep(x, kind)
        self.keep(y, kind)
        self.keep(new, "pyfloat")

    def limits(self) -> None:
        """Ints near the ends of 64 bits: what leaves them must raise."""
        if not self.edge(0.6):
            return self.picked()
        x, new = self.fresh("x"), self.fresh("x")
        near = f"abs({self.of('pyint', 1)}) % 4"
        end, back, on = self.rng.choice([("9223372036854775807", "-", "+"), ("-9223372036854775807", "+", "-")])
        self.write(f"{x} = {end} {back} {near}")
        self.write(f"{new} = ({x} {on} {self.rng.choice([0, 1, 2, 3, near])}) % 1000")
        self.keep(new, "pyint")

    def finally_return(self) -> None:
        g, new, q = self.fresh("g"), self.fresh("x"), self.fresh("q")
        self.write(f"def {g}({q}):")
        self.write("    try:")
        self.write(f"        return 10 // {q}")
        if self.chance(0.5):
            self.write("    except ZeroDivisionError:")
            self.write(f"        return {self.rng.choice(['-1', q, f'{q} + 1'])}")
        self.write("    finally:")
        self.write(f"        {q} += 1")
        if self.chance(0.4):
            self.write(f"        if {q} > {self.rng.randint(0, 3)}:")
            self.write(f"            return {q}")
        if self.chance(0.8):
            self.write(f"{new} = {g}({self.of('pyint', 1)} % 3)")
            self.keep(new, "pyint")
