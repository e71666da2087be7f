"""Mistakes that a programmer could make in the compiler: what `plant.py` builds in, one to be switched on at a time.

Each replaces an expression or a statement by another. `at` is what stands before it, where the text alone is not
unique. `test_planted.py` keeps the list alive: every text must be found once in its file.
"""

from typing import NamedTuple

INFER = "crates/weft-passes/src/infer/"
PASSES = "crates/weft-passes/src/"
LOOPS = "crates/weft-passes/src/loops/"
LOWER = "crates/weft-codegen/src/lower/"
RUNTIME = "crates/weft-runtime/src/"


class Bug(NamedTuple):
    """One mistake: what it means, the file, the text there, and what is written instead."""

    says: str
    file: str
    old: str
    new: str
    at: str = ""
    # Programs of `offloaded.py` look for it, in the context of this device.
    device: str | None = None

    def found(self, text: str) -> int:
        """Where `old` begins in the text of the file."""
        if text.count(self.at + self.old) != 1:
            raise ValueError(f"{self.file}: {text.count(self.at + self.old)} times, not once: {self.at}{self.old}")
        return text.index(self.at + self.old) + len(self.at)

    def planted(self, text: str, number: int) -> str:
        """The text of the file with a switch for this bug."""
        start = self.found(text)
        switch = f"if weft_ir::planted({number}) {{ {self.new} }} else {{ {self.old} }}"
        switch = switch if self.old.endswith(";") else f"({switch})"
        return text[:start] + switch + text[start + len(self.old) :]


BUGS = [
    # infer
    Bug(
        "a slice with a step drops what is left after the last whole step",
        INFER + "view.rs",
        "self.emit(Op::Add, &[whole, more], Type::I64)",
        "whole",
    ),
    Bug(
        "the same, of an axis whose size is known",
        INFER + "view.rs",
        "(length - 1) / step.abs() + 1",
        "length / step.abs()",
    ),
    Bug(
        "a view of some columns is taken for contiguous",
        INFER + "view.rs",
        "!whole || !matches!(walks[k], Walk::Full | Walk::Run)",
        "!matches!(walks[k], Walk::Full | Walk::Run)",
    ),
    Bug(
        "a slice that goes down ends before the first element",
        INFER + "view.rs",
        "[(false, 1), (false, i128::MAX)]",
        "[(false, 1), (true, 0)]",
    ),
    Bug(
        "a divisor that is not negative is not tested for zero",
        INFER + "scalar.rs",
        "(range.0 > 0 || range.1 < 0)",
        "(range.0 >= 0 || range.1 < 0)",
    ),
    Bug(
        "after an `if` an int is known by what the first arm makes of it",
        INFER + "branch.rs",
        "ranges.reduce(super::growth::hull)",
        "{ let mut ranges = ranges; ranges.next() }",
    ),
    Bug(
        "negative Python ints enter unsigned dtypes",
        INFER + "weak.rs",
        "range.0 < lo",
        "range.0 < lo && lo < 0",
        at="if ",
    ),
    Bug(
        "uint64 is compared with a negative int64 by its bits",
        INFER + "scalar.rs",
        "self.emit(Op::Select, &[negative, below, compared], Type::BOOL)",
        "compared",
    ),
    Bug(
        "the minimum of an array known to be empty does not raise",
        INFER + "reduce.rs",
        "matches!(ty.dims[k], Dim::Const(n) if n > 0)",
        "matches!(ty.dims[k], Dim::Const(_))",
    ),
    Bug(
        "// of two known ints of both signs",
        INFER + "scalar.rs",
        "x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0)",
        "x.div_euclid(y)",
    ),
    Bug(
        "an index that is the size is taken to be below it",
        INFER + "facts.rs",
        "f.plus < size.plus",
        "f.plus <= size.plus",
    ),
    Bug(
        "int16 and uint16 meet in int64",
        "crates/weft-ir/src/rules.rs",
        "DType::I32",
        "DType::I64",
        at="2 => ",
    ),
    Bug(
        "`a <= b` is taken for `a < b` in what follows",
        INFER + "narrow.rs",
        "((a0, a1.min(b1)), (b0.max(a0), b1))",
        "((a0, a1.min(b1 - 1)), (b0.max(a0 + 1), b1))",
    ),
    Bug(
        "an int that a turn sets is known by where it started",
        INFER + "growth.rs",
        "hull(start, or)",
        "{ let _ = or; start }",
    ),
    # fuse, canon, loops, own
    Bug(
        "what reads memory may come before the store that stands before it",
        PASSES + "fuse.rs",
        "before[i].extend(last_write);",
        "",
    ),
    Bug(
        "a store may come before what reads the memory before it",
        PASSES + "fuse.rs",
        "before[i].extend(readers.drain(..));",
        "readers.clear();",
    ),
    Bug(
        "0.0 and -0.0 are one constant",
        "crates/weft-ir/src/attr.rs",
        "a.to_bits() == b.to_bits()",
        "a == b",
        at="let same = |a: &f64, b: &f64| ",
    ),
    Bug(
        "an array is computed after a store into what it is computed from",
        PASSES + "canon.rs",
        "f.region(region).ops[from..at].iter().all(quiet)",
        "{ let _ = (from, quiet); true }",
    ),
    Bug(
        "the test for overlap does not know of negative strides",
        LOOPS + "copy.rs",
        "low = b.value(Op::Add, &[low, down], Type::I64);",
        "let _ = down;",
    ),
    Bug(
        "a copy between C and Fortran order goes through both as they lie",
        LOOPS + "copy.rs",
        "(layouts == [Layout::C; 2] || layouts == [Layout::F; 2])",
        "layouts.iter().all(|l| matches!(l, Layout::C | Layout::F))",
    ),
    Bug(
        "an index that is the size is inside",
        LOOPS + "flow.rs",
        "CmpOp::Ge",
        "CmpOp::Gt",
        at="b.value(Op::Cmp { is: ",
    ),
    Bug(
        "a loop without checks begins before the first element",
        LOOPS + "split.rs",
        "first",
        "lo",
        at="let inside = b.value(Op::Cmp { is: CmpOp::Ge }, &[",
    ),
    Bug(
        "an array that is passed on is not kept alive",
        PASSES + "own.rs",
        "self.count(Op::MemRetain, v)",
        "{}",
        at="None => ",
    ),
    Bug(
        "what a loop carries is given up though its body uses it",
        PASSES + "own.rs",
        "last[root.index()] == Some(i) && !inside.contains(&root)",
        "last[root.index()] == Some(i)",
    ),
    Bug(
        "an array that is read from a variable is released with it",
        LOOPS + "flow.rs",
        "self.r.b().effect(Op::MemRetain, &[v]);",
        "",
    ),
    Bug(
        "the last lines of a reduction along an axis are skipped",
        LOOPS + "reduce.rs",
        "self.parts(m, tile)",
        "self.int(Op::FloorDiv, m, tile)",
    ),
    Bug(
        "a sum that grows is not negative, wherever it starts",
        PASSES + "idle.rs",
        "from.to_vec()",
        "from[1..].to_vec()",
    ),
    # codegen
    Bug(
        "// of ints is corrected in the wrong direction",
        LOWER + "numpy.rs",
        "b.cast(Opcode::LLVMSExt, up, b.type_of(q))",
        "b.cast(Opcode::LLVMZExt, up, b.type_of(q))",
    ),
    Bug(
        "% of ints has the sign of the dividend",
        LOWER + "numpy.rs",
        "b.select(up, b.op(Opcode::LLVMAdd, r, divisor), r)",
        "{ let _ = up; r }",
    ),
    Bug(
        "counts of >> beyond the width are masked",
        LOWER + "numpy.rs",
        "b.select(inside, safe, last)",
        "{ let _ = last; safe }",
    ),
    Bug(
        "% of floats does not look at the divisor's sign",
        LOWER + "numpy.rs",
        "b.op(Opcode::LLVMXor, less(y), less(rem))",
        "less(rem)",
    ),
    Bug(
        "adding a known number never overflows",
        LOWER + "numpy.rs",
        "limit(hi - up)",
        "limit(hi)",
    ),
    Bug(
        "the minimum with a nan is the other number",
        LOWER + "scalar.rs",
        "b.op(Opcode::LLVMOr, better, b.fcmp(RealIs::LLVMRealUNO, x, x))",
        "better",
    ),
    Bug(
        "a nan is not unequal to itself",
        LOWER + "scalar.rs",
        "RealIs::LLVMRealUNE",
        "RealIs::LLVMRealONE",
        at="Ne => ",
    ),
    Bug(
        "unsigned ints are compared as signed ones",
        LOWER + "scalar.rs",
        "IntIs::LLVMIntULT",
        "IntIs::LLVMIntSLT",
        at="            Lt => ",
    ),
    Bug(
        "negative small ints become large ones",
        LOWER + "cast.rs",
        "b.cast(Opcode::LLVMSExt, v, ty)",
        "b.cast(Opcode::LLVMZExt, v, ty)",
    ),
    Bug(
        "of exceptions of one class the last is not caught",
        LOWER + "handle.rs",
        "IntIs::LLVMIntULE",
        "IntIs::LLVMIntULT",
        at="let inside = b.icmp(",
    ),
    Bug(
        "a range with a step takes one turn too many",
        LOWER + "control.rs",
        "b.op(Opcode::LLVMSub, distance, one)",
        "distance",
    ),
    Bug(
        "a reduction of an odd number of elements leaves out the last",
        "crates/weft-codegen/src/reduce.rs",
        "n - done",
        "(n - done) & !1",
        at="let rest = ",
    ),
    Bug(
        "the minimum of an array loses a nan",
        "crates/weft-codegen/src/reduce.rs",
        "a <= b || a != a",
        "a <= b",
    ),
    # place, transfers
    Bug(
        "what a device computed comes home again, over what the host has written",
        RUNTIME + "transfers.rs",
        "self.dirty.remove(span);",
        "let _ = span;",
        device="opencl",
    ),
    Bug(
        "a device's copy of what the host has written is taken for new",
        RUNTIME + "transfers.rs",
        "record.valid.remove(span);",
        "let _ = span;",
        device="opencl",
    ),
    Bug(
        "the runtime is not told of what the host writes",
        LOOPS + "written.rs",
        "a.ty.place.is_host()",
        "a.ty.place.is_host() && false",
        device="opencl",
    ),
    Bug(
        "what a device has of an array stands for it after the host has written",
        PASSES + "place.rs",
        "effects.writes && !binds",
        "false",
        at="        if ",
        device="opencl",
    ),
    Bug(
        "what waits for a device is computed after the host has written what it reads",
        PASSES + "place.rs",
        "effects.writes && !binds",
        "false",
        at="inside_arrays || inside_pending || ordered || ",
        device="opencl",
    ),
]
