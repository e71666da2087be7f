//! The table that declares every op once: name, attributes, counts, effects, meaning.
//!
//! From it come the enum, the names, the printer's and the reader's attributes, the counts the
//! verifier checks and the reference page (`weft-opt --ops`): they cannot drift. The enum holds
//! attributes only; operands, results and regions are uniform lists in [`crate::func::OpData`].

use crate::attr::{Access, Attr, BinOp, CmpOp, Const, Fence, Fold, Level, Order, Rmw, UnaryOp, Unit};
use crate::math::MathFn;
use crate::read::{ReadError, Reader};
use crate::types::{Dim, Place};

/// What an op may do besides computing its results. Regions add their ops' effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Effects {
    /// Reads memory.
    pub reads: bool,
    /// Writes memory.
    pub writes: bool,
    /// Its array result is new memory that nothing else names.
    pub fresh: bool,
    /// May leave with an exception.
    pub may_raise: bool,
    /// Ends its region.
    pub exits: bool,
    /// Whose memory that is.
    pub operands: OperandEffects,
}

/// What an op does with the memory of its operands. Operands that are no arrays count for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct OperandEffects {
    /// Elements of these are read.
    pub reads: Which,
    /// Elements of these are written. An op that writes, but none of its operands, changes what nobody names by a value: a cell,
    /// a list, a count of owners.
    pub writes: Which,
    /// The result is another name for some or all elements of this one.
    pub views: Which,
}

/// A run of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Which {
    from: usize,
    to: usize,
}

impl Which {
    /// Those of an op with these operands.
    pub fn of<T>(self, operands: &[T]) -> &[T] {
        &operands[self.from.min(operands.len())..self.to.min(operands.len())]
    }
}

impl Effects {
    /// No effect at all.
    pub const PURE: Effects = Effects {
        reads: false,
        writes: false,
        fresh: false,
        may_raise: false,
        exits: false,
        operands: OperandEffects {
            reads: Which { from: 0, to: 0 },
            writes: Which { from: 0, to: 0 },
            views: Which { from: 0, to: 0 },
        },
    };

    /// Those of an op with another one inside, whose operands are its own business.
    pub fn union(self, o: Effects) -> Effects {
        Effects {
            reads: self.reads | o.reads,
            writes: self.writes | o.writes,
            fresh: self.fresh | o.fresh,
            may_raise: self.may_raise | o.may_raise,
            exits: self.exits | o.exits,
            operands: self.operands,
        }
    }

    /// Whether it may be removed, repeated and moved.
    pub fn is_pure(self) -> bool {
        !(self.reads || self.writes || self.fresh || self.may_raise || self.exits)
    }

    /// Whether an unused op with these effects can go.
    pub fn removable(self) -> bool {
        !self.writes && !self.may_raise && !self.exits
    }
}

/// A count of operands or results in the table: exactly `n`, or at least `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// This many.
    Exactly(usize),
    /// This many or more.
    AtLeast(usize),
}

impl Count {
    /// Whether `n` fits.
    pub fn admits(self, n: usize) -> bool {
        match self {
            Count::Exactly(k) => n == k,
            Count::AtLeast(k) => n >= k,
        }
    }
}

/// One row of the reference page.
#[derive(Clone, Copy, Debug)]
pub struct OpDoc {
    /// Text name.
    pub name: &'static str,
    /// Meaning.
    pub doc: &'static str,
}

macro_rules! count {
    ($n:literal) => {
        Count::Exactly($n)
    };
    (($n:literal +)) => {
        Count::AtLeast($n)
    };
}

/// One word of the last column of the table: an effect, and the operands whose memory it is about.
macro_rules! effect {
    ($e:ident, pure) => {};
    ($e:ident, views [$($which:tt)+]) => { $e.operands.views = which!($($which)+); };
    ($e:ident, reads [$($which:tt)+]) => { $e.reads = true; $e.operands.reads = which!($($which)+); };
    ($e:ident, reads) => { $e.reads = true; $e.operands.reads = which!(..); };
    ($e:ident, writes [$($which:tt)+]) => { $e.writes = true; $e.operands.writes = which!($($which)+); };
    ($e:ident, $effect:ident) => { $e.$effect = true; };
}

/// Operands by position: `1`, `1 ..` (from there on) or `..` (all).
macro_rules! which {
    (..) => {
        Which { from: 0, to: usize::MAX }
    };
    ($k:literal) => {
        Which { from: $k, to: $k + 1 }
    };
    ($k:literal ..) => {
        Which { from: $k, to: usize::MAX }
    };
}

macro_rules! ops {
    ($( $(#[doc = $doc:literal])+ $variant:ident $name:literal $({ $($attr:ident: $ty:ty),* })?: $ins:tt -> $outs:tt, regions $regions:tt, $($effect:ident $([$($which:tt)+])?)+; )*) => {
        /// Every op of every stage. See the table for what each means.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub enum Op { $( $(#[doc = $doc])+ $variant $({ $($attr: $ty),* })? ),* }

        impl Op {
            /// The table, for the reference page.
            pub const DOCS: &'static [OpDoc] = &[ $(OpDoc { name: $name, doc: concat!($($doc),+) }),* ];

            /// Text name; the dialect is the part before the dot.
            pub fn name(&self) -> &'static str {
                #[allow(unreachable_patterns)]
                match self {
                    // One row for all functions: its name says which.
                    Op::Math { function, exact } => function.op_name(*exact),
                    $(Op::$variant { .. } => $name),*
                }
            }

            /// Effects of the op itself, without its regions.
            pub fn effects(&self) -> Effects {
                match self { $(Op::$variant { .. } => {
                    #[allow(unused_mut)]
                    let mut e = Effects::PURE;
                    $( effect!(e, $effect $([$($which)+])?); )+
                    e
                }),* }
            }

            /// Allowed numbers of operands, results and regions.
            pub fn counts(&self) -> (Count, Count, Count) {
                match self { $(Op::$variant { .. } => (count!($ins), count!($outs), count!($regions))),* }
            }

            /// Appends `name=value` pairs.
            pub(crate) fn print_attrs(&self, out: &mut String) {
                #[allow(unused_variables, unreachable_patterns)]
                match self { Op::Math { .. } => {} $(Op::$variant { $($($attr),*)? } => {
                    $($(
                        if <$ty>::implied().as_ref() != Some($attr) {
                            if !out.ends_with("<{") { out.push_str(", "); }
                            out.push_str(concat!(stringify!($attr), "="));
                            Attr::print($attr, out);
                        }
                    )*)?
                })* }
            }

            /// Reads the attributes of the op called `name`.
            pub(crate) fn read_attrs(name: &str, r: &mut Reader<'_>) -> Result<Op, ReadError> {
                if let Some((function, exact)) = MathFn::from_op_name(name) {
                    return Ok(Op::Math { function, exact });
                }
                match name {
                    $($name => Ok(Op::$variant { $($($attr: r.attr(stringify!($attr))?),*)? }),)*
                    _ => Err(r.error("the name of an op")),
                }
            }
        }
    };
}

ops! {
    // ---- py: one op per Python operation, untyped -------------------------------------------
    /// A literal.
    PyConst "py.const" { value: Const }: 0 -> 1, regions 0, pure;
    /// A global or closure name, or a dotted path from one (`np.sin`). Resolved by `infer`.
    PyGlobal "py.global" { path: String }: 0 -> 1, regions 0, pure;
    /// A local name that no path has assigned yet: using it raises.
    PyUnbound "py.unbound" { name: String }: 0 -> 1, regions 0, pure;
    /// What a local name holds that not every path has assigned: raises where it is unbound.
    PyRead "py.read": 1 -> 1, regions 0, may_raise;
    /// The same of a name of the function around: a nested function or a comprehension reads it.
    PyReadFree "py.read_free": 1 -> 1, regions 0, may_raise;
    /// `del x`: raises if the name is unbound.
    PyDelete "py.delete": 1 -> 0, regions 0, may_raise;
    /// `x.name`.
    PyAttr "py.attr" { name: String }: 1 -> 1, regions 0, may_raise;
    /// `x.name = v`: operands are x and v. The result is what `x` is from then on.
    PySetAttr "py.setattr" { name: String }: 2 -> 1, regions 0, writes may_raise;
    /// `a op b`; `inplace` for augmented assignment.
    PyBinop "py.binop" { op: BinOp, inplace: bool }: 2 -> 1, regions 0, may_raise;
    /// `op a`.
    PyUnary "py.unary" { op: UnaryOp }: 1 -> 1, regions 0, may_raise;
    /// `a op b`, one link of a comparison.
    PyCompare "py.compare" { op: CmpOp }: 2 -> 1, regions 0, may_raise;
    /// Truth value of a condition.
    PyTruth "py.truth": 1 -> 1, regions 0, may_raise;
    /// `f(args…)`: operand 0 is the callee; the last `keywords.len()` operands are by keyword.
    PyCall "py.call" { keywords: Vec<String> }: (1+) -> 1, regions 0, reads writes may_raise;
    /// `f(*a, **k…)`: operand 0 is the callee, operand 1 a tuple of all positional arguments; the rest are by keyword.
    PyCallStar "py.call_star" { keywords: Vec<String> }: (2+) -> 1, regions 0, reads writes may_raise;
    /// `x[i, …]`: operand 0 is the base.
    PyIndex "py.index": (2+) -> 1, regions 0, reads may_raise;
    /// `x[i, …] = v`: operands are v, x, i….
    PySetIndex "py.setindex": (3+) -> 0, regions 0, writes may_raise;
    /// `del x[i, …]`: operand 0 is the base.
    PyDelIndex "py.delindex": (2+) -> 0, regions 0, writes may_raise;
    /// `lower:upper:step` in an index; absent parts are None.
    PySlice "py.slice": 3 -> 1, regions 0, pure;
    /// `(a, b, …)`.
    PyTuple "py.tuple": (0+) -> 1, regions 0, pure;
    /// `(*a, *b, …)`: the items of every operand, which are tuples, lists or arrays.
    PyConcat "py.concat": (0+) -> 1, regions 0, reads may_raise;
    /// `[a, b, …]`: a new list.
    PyList "py.list": (0+) -> 1, regions 0, reads may_raise;
    /// A comprehension's `append`: operands are the list and the item.
    PyAppend "py.append": 2 -> 0, regions 0, writes may_raise;
    /// `n` values out of one.
    PyUnpack "py.unpack": 1 -> (1+), regions 0, may_raise;
    /// `a, *rest, b = x`: result `star` is a list of what the others leave.
    PyUnpackStar "py.unpack_star" { star: u32 }: 1 -> (1+), regions 0, may_raise;
    /// Whether a value is a sequence that a pattern with `len` items fits (`star`: at least so many).
    PyMatchLen "py.match_len" { len: u32, star: bool }: 1 -> 1, regions 0, pure;
    /// An f-string: literal parts around the operands; `specs` are conversion and format of each (`!r:>8`).
    PyFormat "py.format" { parts: Vec<String>, specs: Vec<String> }: (0+) -> 1, regions 0, may_raise;
    /// A nested function or lambda: `function` counts the nested functions of this one. Operands: its captured values
    /// (cells for names that are rebound), in the order of its `captures`, then its defaults.
    PyClosure "py.closure" { function: u32 }: (0+) -> 1, regions 0, pure;
    /// In a nested function: that function itself, with the captures and defaults it was made with. What it calls itself by.
    PySelf "py.self": 0 -> 1, regions 0, pure;
    /// A generator expression. Region `^()` holds its loops, with a `py.emit` for each item; it yields nothing.
    PyGenerator "py.generator": 0 -> 1, regions 1, pure;
    /// The next item of the generator around this.
    PyEmit "py.emit": 1 -> 0, regions 0, reads writes may_raise;
    /// A variable that is read and written by place, not by value: of a closure that rebinds it, or assigned under `try`.
    PyCell "py.cell" { name: String }: 1 -> 1, regions 0, pure;
    /// What a cell holds; if that is `py.unbound`, using it raises.
    PyGet "py.get": 1 -> 1, regions 0, reads may_raise;
    /// What a cell holds, `py.unbound` too: its name is a value again from here on.
    PyTake "py.take": 1 -> 1, regions 0, reads;
    /// Puts a value into a cell: operands are value, cell.
    PySet "py.set": 2 -> 0, regions 0, writes;
    /// `try`: a body, and a handler that is entered when the body raises. Both yield nothing; names pass through cells.
    PyTry "py.try": 0 -> 0, regions 2, may_raise;
    /// In a handler: whether the exception is of this class (or of one in a tuple).
    PyCatch "py.catch": 1 -> 1, regions 0, may_raise;
    /// In a handler: the exception.
    PyCaught "py.caught": 0 -> 1, regions 0, reads;
    /// `raise x`; without operand the exception that the innermost handler around was entered with, also if others have been
    /// raised and handled in it since.
    PyRaise "py.raise": (0+) -> 0, regions 0, may_raise exits;
    /// `for item in iter`: operands are iter, inits…; region `^(item, carried…)` yields carried…, as `break` and
    /// `continue` do.
    PyFor "py.for": (1+) -> (0+), regions 1, may_raise;

    /// Control does not come here: what stands before this never ends, or always leaves.
    PyUnreachable "py.unreachable": 0 -> 0, regions 0, exits;

    // ---- scf: structured control flow, every stage ------------------------------------------
    /// Two regions, each yielding the results (or leaving).
    ScfIf "scf.if": 1 -> (0+), regions 2, pure;
    /// `for i in range(lo, hi, step)`: operands lo, hi, step, inits…; region `^(i, carried…)` yields carried…, as `break`
    /// and `continue` do.
    ScfFor "scf.for": (3+) -> (0+), regions 1, pure;
    /// Repeats: operands are inits…; region `^(carried…)` yields (or continues with) carried…. Only `break`, with the
    /// results, ends it.
    ScfLoop "scf.loop": (0+) -> (0+), regions 1, pure;
    /// Runs its region once; `yield` or `break` gives the results.
    ScfBlock "scf.block": 0 -> (0+), regions 1, pure;
    /// A body, and a handler that is entered when the body raises. Both yield nothing: values pass through cells.
    ScfTry "scf.try": 0 -> 0, regions 2, pure;
    /// In a handler: whether the exception is of one of these classes (numbers of `ExcClass`).
    ScfCatch "scf.catch" { classes: Vec<u32> }: 0 -> 1, regions 0, reads;
    /// In a handler: raises the exception again.
    ScfReraise "reraise": 0 -> 0, regions 0, may_raise exits;
    /// Leaves the `depth`-th loop or block around (0 is the nearest) with its results.
    Break "break" { depth: u32 }: (0+) -> 0, regions 0, exits;
    /// Goes to the next turn of the `depth`-th loop or block around, which must be a loop, with what it carries.
    Continue "continue" { depth: u32 }: (0+) -> 0, regions 0, exits;
    /// A memory cell for a value, with its first content.
    CellNew "scf.cell": 1 -> 1, regions 0, writes;
    /// What a cell holds.
    CellGet "scf.get": 1 -> 1, regions 0, reads;
    /// Puts a value into a cell: operands are value, cell.
    CellSet "scf.set": 2 -> 0, regions 0, writes;
    /// Writes a line of output: the text of a site with the operands in its slots.
    Print "scf.print" { site: u32 }: (0+) -> 0, regions 0, reads writes;
    /// Calls a function of the module.
    Call "scf.call" { function: String }: (0+) -> (0+), regions 0, reads writes may_raise;
    /// Ends a region with its results.
    Yield "yield": (0+) -> 0, regions 0, exits;
    /// Leaves the function (in a kernel: this work-item).
    Return "return": (0+) -> 0, regions 0, exits;
    /// Leaves with the exception of a site; operands fill its message.
    Raise "raise" { site: u32 }: (0+) -> 0, regions 0, may_raise exits;

    // ---- shape ------------------------------------------------------------------------------
    /// Binds a symbol to a size (not negative).
    ShapeBind "shape.bind" { dim: Dim }: 1 -> 0, regions 0, writes;

    // ---- nt: whole arrays -------------------------------------------------------------------
    /// A scalar body over an iteration space (the results' sizes). Operands: tensors, read at the broadcast
    /// position, and scalars. Region `^(element or scalar…)` yields one element per result.
    NtElementwise "nt.elementwise": (0+) -> (1+), regions 1, reads fresh;
    /// Position along a dimension of the enclosing `nt.elementwise`, as i64.
    NtPosition "nt.position" { dim: u32 }: 0 -> 1, regions 0, pure;
    /// Operand 0 with the sizes of the result type, checked; operands 1… are tensors whose sizes,
    /// one after the other, are the values `site` is raised with.
    NtRefine "nt.refine" { site: u32 }: (1+) -> 1, regions 0, may_raise views[0];
    /// Size of a dimension, as pyint.
    NtDim "nt.dim" { dim: u32 }: 1 -> 1, regions 0, pure;
    /// Bytes from one element to the next along a dimension, as pyint.
    NtStride "nt.stride" { dim: u32 }: 1 -> 1, regions 0, pure;
    /// Whether the memory from the first to the last byte of two arrays meets, as bool. Of arrays without elements it may say either.
    NtOverlaps "nt.overlaps": 2 -> 1, regions 0, pure;
    /// The element of a 0-d array.
    NtItem "nt.item": 1 -> 1, regions 0, reads[0];
    /// One element: tensor, i64 indices…; `wrap`: negative indices count from the end.
    NtLoad "nt.load" { wrap: bool }: (1+) -> 1, regions 0, reads[0];
    /// Writes one element: value, tensor, i64 indices….
    NtStore "nt.store" { wrap: bool }: (2+) -> 0, regions 0, writes[1];
    /// Updates one element so that nothing comes between, and gives what it was: tensor, the values of `rmw`, i64 indices….
    NtAtomic "nt.atomic" { rmw: Rmw, wrap: bool }: (2+) -> 1, regions 0, reads[0] writes[0];
    /// The index (i64), counted from the front, if it is one of an axis of operand 1's size; else raises `site` with the
    /// index as written and the size. `wrap`: negative ones count from the end.
    NtIndex "nt.index" { wrap: bool, site: u32 }: 2 -> 1, regions 0, may_raise;
    /// A view: operands are the array, then start and step (i64) of each of its axes. `axes`: for each axis of the result the
    /// axis of the array it walks along, or -1 for a new one of size 1. The result's sizes are in its type; axes that
    /// are not walked along stay at their start.
    NtView "nt.view" { axes: Vec<i32> }: (1+) -> 1, regions 0, views[0];
    /// An array as it is now, to be read while operand 1 is written: the array itself, or a copy of it if the memory of the two
    /// meets.
    NtKeep "nt.keep": 2 -> 1, regions 0, reads[0] views[0];
    /// The array seen with the sizes of the result type, of which it may have fewer: sizes that are 1 at run time
    /// repeat, others must agree or `site` is raised with the sizes of operands 1…. If the result's layout has no room for
    /// repeated elements, it is then an array of its own.
    NtExpand "nt.expand" { site: u32 }: (1+) -> 1, regions 0, may_raise views[0];
    /// An array's elements in other sizes, of which there are as many. They must lie in C order, whatever the layout says.
    NtReshape "nt.reshape": 1 -> 1, regions 0, views[0];
    /// The same array, of which less is known: other symbols, a more general layout, read-only. Only to leave a region or enter a
    /// loop with: the symbols of the result are bound by where it goes.
    NtWeaken "nt.weaken": 1 -> 1, regions 0, views[0];
    /// An array that stands where there is none: no elements, no memory.
    NtNull "nt.null": 0 -> 1, regions 0, pure;
    /// New memory, not initialised unless `zero`.
    NtAlloc "nt.alloc" { zero: bool }: 0 -> 1, regions 0, fresh may_raise;
    /// Writes every element: operands are the array written and the values, an array of the same sizes or one scalar.
    /// All values are read before the first is written.
    NtCopy "nt.copy": 2 -> 0, regions 0, reads[1] writes[0];
    /// Writes the array that the region yields into operand 0, as `nt.copy` does. What computes that array stands in the region:
    /// its elements may be computed where they go. With operand 1, bools of the same sizes, only where these are true.
    NtInto "nt.into": (1+) -> 0, regions 1, reads[1 ..] writes[0];
    /// Writes each of the arrays that the region yields into an operand of the same sizes, element by element, all in one loop: the
    /// operands share no memory with each other, nor with what the region reads, which may be an operand itself.
    NtIntoAll "nt.into_all": (1+) -> 0, regions 1, reads writes[..];
    /// How many elements of a C-ordered array of bools are true (i64).
    NtCount "nt.count": 1 -> 1, regions 0, reads;
    /// The elements of an array where a mask is true, one after the other: operands are the array, the mask (bools of the same
    /// sizes; both C-ordered), and how many are true.
    NtCompress "nt.compress": 3 -> 1, regions 0, reads fresh;
    /// Writes the elements of an array where a mask is true: operands are the array and the mask, as for `nt.compress`, and one
    /// scalar or as many values as are true.
    NtPut "nt.put": 3 -> 0, regions 0, reads[1 ..] writes[0];
    /// Folds the axes `axes` away, in an order that depends on nothing else. The result has the axes that are left. Several axes are
    /// neighbours of a C-ordered array, and folded as the one axis that they are in memory.
    NtReduce "nt.reduce" { fold: Fold, axes: Vec<u32>, order: Order }: 1 -> 1, regions 0, reads fresh;
    /// `nt.reduce` of the array that the region yields, which is C-ordered. What computes it stands in the region: it need not be
    /// stored as a whole.
    NtFold "nt.fold" { fold: Fold, axes: Vec<u32>, order: Order }: 0 -> 1, regions 1, reads fresh;
    /// The running folds of a vector: sums, products, least and greatest so far. The order is that of [`crate::reduce::SCAN`].
    NtScan "nt.scan" { fold: Fold }: 1 -> 1, regions 0, reads fresh;
    /// Products of the matrices in the last two axes; the axes before those are the same in all three.
    NtMatmul "nt.matmul": 2 -> 1, regions 0, reads fresh;
    /// Writes the product of the matrices in operands 1 and 2 into operand 0, of which neither is a part, piece by piece, in any
    /// order, at once. When a piece is there, the region `^(i64 first row, rows, first column, columns)` runs for it: what is
    /// made of the product is made while it is near.
    NtProduct "nt.product": 3 -> 0, regions 1, reads[1 ..] writes[0];
    /// The products of a matrix, operand 0, with a vector behind it, operand 1, and with one before it, operand 2, or else the first
    /// product: the matrix is read once. Vectors and products are matrices of one row or column. Where a vector does not have the
    /// matrix's size, its product is anything.
    NtBothSides "nt.both_sides": (2+) -> 2, regions 0, reads fresh;
    /// The sum of the products of two vectors of one dtype and size.
    NtDot "nt.dot": 2 -> 1, regions 0, reads;
    /// The lower Cholesky factor of a matrix, of which the upper half is not read; and 1, or 0 where it has none.
    NtCholesky "nt.cholesky": 1 -> 2, regions 0, reads fresh;
    /// The solution of a system: operands are the matrix and the right sides, as columns. Results are the triangular factors of
    /// the matrix (whose lower one has ones on its diagonal, which are not there), the solutions, and the sign of the exchanges of
    /// rows, 0 where the matrix is singular: then the others are not defined.
    NtSolve "nt.solve": 2 -> 3, regions 0, reads fresh;

    // ---- list: lists, whose items are rows of run-time values --------------------------------
    /// A new list without items.
    ListNew "list.new": 0 -> 1, regions 0, fresh may_raise;
    /// Number of items, as pyint.
    ListLen "list.len": 1 -> 1, regions 0, reads;
    /// The values of the item at an index (not negative, below the length). Sizes of arrays get new symbols.
    ListGet "list.get": 2 -> (0+), regions 0, reads;
    /// Replaces the item at an index (as for `list.get`): operands are list, index, the item's values….
    ListSet "list.set": (2+) -> 0, regions 0, writes;
    /// Adds an item at the end: operands are list, the item's values….
    ListPush "list.push": (1+) -> 0, regions 0, writes may_raise;
    /// Makes a list without items one of so many (i64, not negative) items of numbers, each of which is set before it is read.
    ListRoom "list.room": 2 -> 0, regions 0, writes may_raise;
    /// Makes room for so many items (not negative), or raises.
    ListReserve "list.reserve": 2 -> 0, regions 0, writes may_raise;
    /// Keeps only so many items (not negative, at most the length).
    ListTruncate "list.truncate": 2 -> 0, regions 0, writes;

    // ---- arith: scalars ---------------------------------------------------------------------
    /// A constant of the result's type.
    Const "arith.const" { value: Const }: 0 -> 1, regions 0, pure;
    /// Sum; integers wrap; bool is or.
    Add "arith.add": 2 -> 1, regions 0, pure;
    /// Difference; integers wrap.
    Sub "arith.sub": 2 -> 1, regions 0, pure;
    /// Product; integers wrap; bool is and.
    Mul "arith.mul": 2 -> 1, regions 0, pure;
    /// Product of complex numbers in NumPy's loops over arrays: where the machine can ([`crate::math::fuses_products`]), the first
    /// product of each part is added to the second, rounded one without being rounded itself.
    Cmul "arith.cmul": 2 -> 1, regions 0, pure;
    /// Quotient of floats; of complex numbers by Smith's method, as NumPy's.
    Div "arith.div": 2 -> 1, regions 0, pure;
    /// Quotient of two Python ints as a float, correctly rounded; the divisor is not 0.
    TrueDiv "arith.truediv": 2 -> 1, regions 0, pure;
    /// Floor quotient, NumPy's: integers by zero give 0, min // -1 wraps.
    FloorDiv "arith.floordiv": 2 -> 1, regions 0, pure;
    /// Remainder with the divisor's sign, NumPy's.
    Mod "arith.mod": 2 -> 1, regions 0, pure;
    /// Power; integer exponents are not negative, integers wrap.
    Pow "arith.pow": 2 -> 1, regions 0, pure;
    /// Smaller; nan if either is (np.minimum).
    Min "arith.min": 2 -> 1, regions 0, pure;
    /// Larger; nan if either is (np.maximum).
    Max "arith.max": 2 -> 1, regions 0, pure;
    /// Bitwise and; logical for bool.
    And "arith.and": 2 -> 1, regions 0, pure;
    /// Bitwise or; logical for bool.
    Or "arith.or": 2 -> 1, regions 0, pure;
    /// Bitwise exclusive or; logical for bool.
    Xor "arith.xor": 2 -> 1, regions 0, pure;
    /// Left shift, NumPy's: counts outside the width give 0.
    Shl "arith.shl": 2 -> 1, regions 0, pure;
    /// Arithmetic right shift, NumPy's: counts outside the width give 0, or -1 for negative values.
    Shr "arith.shr": 2 -> 1, regions 0, pure;
    /// Negation; integers wrap.
    Neg "arith.neg": 1 -> 1, regions 0, pure;
    /// Absolute value; integers wrap.
    Abs "arith.abs": 1 -> 1, regions 0, pure;
    /// The complex number with this real and this imaginary part.
    Complex "arith.complex": 2 -> 1, regions 0, pure;
    /// Real part of a complex number.
    Real "arith.real": 1 -> 1, regions 0, pure;
    /// Imaginary part of a complex number.
    Imag "arith.imag": 1 -> 1, regions 0, pure;
    /// Bitwise complement; logical for bool.
    Not "arith.not": 1 -> 1, regions 0, pure;
    /// Comparison of two scalars of one type (of complex numbers: only equal or not); the result is bool or pybool.
    Cmp "arith.cmp" { is: CmpOp }: 2 -> 1, regions 0, pure;
    /// `c ? a : b`.
    Select "arith.select": 3 -> 1, regions 0, pure;
    /// An index counted from the front: negative ones count from the end of an axis of operand 1's size. Not checked.
    Wrap "arith.wrap": 2 -> 1, regions 0, pure;
    /// Conversion to the result's type: float to int truncates by COMPILER 2.6, anything to bool is `!= 0`, complex to real
    /// drops the imaginary part.
    Cast "arith.cast": 1 -> 1, regions 0, pure;
    /// The same bits as the result's type, of the same size: a float as an integer or an integer as a float.
    Bits "arith.bits": 1 -> 1, regions 0, pure;
    /// Python int arithmetic (`+ - * //` and `abs`-free): raises `site` when the result leaves int64.
    Checked "arith.checked" { op: BinOp, site: u32 }: 2 -> 1, regions 0, may_raise;

    // ---- math: functions of floats and complex numbers ---------------------------------------
    /// A function of floats (of complex numbers too where C has it): `math.sin` and so on, by the machine's vector routine
    /// where there is one; `exact` (`math.libm.sin`): by C's own function, whose bits are CPython's.
    Math "math.*" { function: MathFn, exact: bool }: (1+) -> 1, regions 0, pure;

    // ---- env: places ------------------------------------------------------------------------
    /// Ops that run at a place. Region `^(operands…)` yields the results.
    EnvRegion "env.region" { at: Place }: (0+) -> (0+), regions 1, pure;
    /// The array at another place; copied if it is not valid there. Each place has one copy, which all transfers name.
    EnvTransfer "env.transfer" { mode: Access }: 1 -> 1, regions 0, reads;

    // ---- mem: pointers and owners (stage loops) ---------------------------------------------
    /// Element at an index counted in elements or bytes from the pointer.
    MemLoad "mem.load" { unit: Unit }: 2 -> 1, regions 0, reads[0];
    /// Writes an element: value, pointer, index.
    MemStore "mem.store" { unit: Unit }: 3 -> 0, regions 0, writes[1];
    /// Updates an element so that nothing comes between, and gives what it was: pointer, index, the values of `rmw`.
    MemAtomic "mem.atomic" { rmw: Rmw, unit: Unit }: (3+) -> 1, regions 0, reads[0] writes[0];
    /// Fresh memory of so many bytes at a place: results pointer and owner.
    MemAlloc "mem.alloc" { at: Place }: 1 -> 2, regions 0, writes may_raise;
    /// Makes so many bytes (i64) of host memory behind a pointer 0.
    MemZero "mem.zero": 2 -> 0, regions 0, writes[0];
    /// A pointer to nothing, and the owner word of it.
    MemNull "mem.null": 0 -> 2, regions 0, pure;
    /// The pointer so many bytes on.
    MemOffset "mem.offset": 2 -> 1, regions 0, pure;
    /// The pointer as a number.
    MemAddress "mem.address": 1 -> 1, regions 0, pure;
    /// The owner word of a view of the array with this owner word. Those of views with different numbers differ.
    MemViewOwner "mem.view_owner" { number: u32 }: 1 -> 1, regions 0, pure;
    /// Adds one count to an owner.
    MemRetain "mem.retain": 1 -> 0, regions 0, writes;
    /// `m` reductions of `n` elements each: operands are the elements, the results, `n`, the bytes from one element to the next,
    /// `m`, and the bytes from one reduction's elements and results to the next one's. In order `auto`, elements are along the fastest
    /// axis if they are nearer to each other than the reductions, or if `m` is 1 in type (its bytes are 0).
    MemReduce "mem.reduce" { fold: Fold, order: Order }: 7 -> 0, regions 0, reads[0] writes[1];
    /// `nt.scan`: operands are the results, which are neighbours, the elements, which may be the same, how many there are, and the
    /// bytes from one element to the next.
    MemScan "mem.scan" { fold: Fold }: 4 -> 0, regions 0, reads[1] writes[0];
    /// So many bytes of memory that the items of a group share, and that are gone with the group.
    MemLocal "mem.local" { bytes: u32 }: 0 -> 1, regions 0, writes;
    /// So many bytes of memory that the region around has for itself, each time it runs, and that is gone after it: of the host, or
    /// private to an item of a kernel.
    MemStack "mem.stack" { bytes: u32 }: 0 -> 1, regions 0, writes;
    /// Copies the elements of an array: operands are the pointers written and read, then the sizes, the byte strides written
    /// and those read. The two do not overlap.
    MemCopy "mem.copy" { rank: u32 }: (2+) -> 0, regions 0, reads[1] writes[0];
    /// How many of so many bools (i64) behind a pointer are true.
    MemCount "mem.count": 2 -> 1, regions 0, reads[0];
    /// Elements where a mask is true: operands are the pointers written, read and to the mask, and the elements of the mask.
    /// They come together, or go back to where the mask is true. Nothing overlaps.
    MemCompress "mem.compress" { back: bool }: 4 -> 0, regions 0, reads[1 ..] writes[0];
    /// The product of two matrices: operands are its elements and the factors', its rows and columns, how many products
    /// an element sums, and of each of the three the bytes from one row and from one column to the next.
    MemMatmul "mem.matmul": 12 -> 0, regions 0, reads[1 ..] writes[0] may_raise;
    /// `mem.matmul`, piece by piece, with what is done for each: the region of `nt.product`.
    MemProduct "mem.product": 12 -> 0, regions 1, reads[1 ..] writes[0] may_raise;
    /// `nt.both_sides`: operands are the elements of the two products, the matrix and the two vectors, the matrix's rows and columns,
    /// the bytes from one row and from one column to the next, and from one element to the next of the two products and the
    /// vectors, and how many elements the vectors have.
    MemBothSides "mem.both_sides": 15 -> 0, regions 0, reads writes may_raise;
    /// The sum of the products of two vectors: operands are their elements, how many there are, and of both the bytes from one
    /// element to the next.
    MemDot "mem.dot": 5 -> 1, regions 0, reads[0 ..];
    /// `nt.cholesky` in place: operands are the matrix, whose rows are neighbours, its size, and the bytes from row to row.
    MemCholesky "mem.cholesky": 3 -> 1, regions 0, reads[0] writes[0] may_raise;
    /// `nt.solve` in place: operands are the matrix and the right sides, whose rows are neighbours, the size, how many columns the
    /// right sides have, and of both the bytes from row to row.
    MemSolve "mem.solve": 6 -> 1, regions 0, reads[0 ..] writes[0 ..] may_raise;
    /// Drops one count of an owner.
    MemRelease "mem.release": 1 -> 0, regions 0, writes;
    /// The pointer with this address, into memory that lives as long as what operand 1 points to.
    MemPointer "mem.pointer": 2 -> 1, regions 0, pure;
    /// The pointer with an address, and the owner with a word that `mem.keep` gave: with a count of its own.
    MemShare "mem.share": 2 -> 2, regions 0, writes;
    /// Adds a count that memory will hold, and gives the owner's word (i64) to put there.
    MemKeep "mem.keep": 1 -> 1, regions 0, writes;
    /// Drops the count that memory held with this word.
    MemDrop "mem.drop": 1 -> 0, regions 0, writes;
    /// A new list: results its header and owner. Items have so many 8-byte words; `owners` are the words that hold counts.
    /// The header is the words length, capacity, address of the items.
    MemList "mem.list" { words: u32, owners: Vec<u32> }: 0 -> 2, regions 0, writes may_raise;
    /// Makes room for so many items (i64) behind a list's header.
    MemReserve "mem.reserve": 2 -> 0, regions 0, writes may_raise;
    /// The array (pointer, owner, rank sizes, rank byte strides) made valid at a place: results pointer and owner there.
    MemNeed "mem.need" { at: Place, mode: Access, rank: u32 }: (2+) -> 2, regions 0, writes may_raise;

    // ---- par and simt: parallel loops (stage loops) -----------------------------------------
    /// Iterations in any order, at once: operands are sizes; region `^(index…)`, row-major, the last is fastest. None touches memory
    /// another writes. `cost`: estimated nanoseconds of one iteration. `level`, `"item"` where nothing is said:
    /// items are grouped by whoever runs them (chunks and vectors on the host, work-items in a kernel, which a `return` ends);
    /// the iterations of a `"grid of n"` are groups with so many items; those of a `"group"` loop, at most so many, are the items of
    /// the group that it stands in: when it ends, the whole group sees what they wrote. One more operand of a loop over items is a
    /// bool: where it is true, one thread of the host runs them in ascending order, and an iteration may read what later ones write.
    ParFor "par.for" { cost: u32, level: Level }: (1+) -> 0, regions 1, pure;
    /// Blocks of the iterations of a `prange`, in any order, at once, on the host (every stage from `ntensor` on): operands are
    /// how many there are and the iterations in one (0: all stay on the caller's thread, in order); region `^(block)`, which has the type of the operands. None touches memory
    /// another writes, but it may allocate. `cost`: estimated nanoseconds of one iteration, 0 where nobody has looked (until stage `loops`),
    /// [`UNKNOWN_COST`](crate::UNKNOWN_COST) where it is found out by running it.
    ParBlocks "par.blocks" { cost: u32 }: 2 -> 0, regions 1, pure;
    /// In the body of a `"group"` loop: all items get here before one goes on, and see what was written to this memory.
    SimtBarrier "simt.barrier" { fence: Fence }: 0 -> 0, regions 0, reads writes;
    /// Launches a kernel of the module: operands are `dims` sizes of its items or groups, then its arguments.
    SimtLaunch "simt.launch" { kernel: String, dims: u32 }: (1+) -> 0, regions 0, reads writes may_raise;
    /// Index of this work-item (stages before loops), as pyint.
    SimtGlobalId "simt.global_id" { dim: u32 }: 0 -> 1, regions 0, pure;
    /// Size of the launch (stages before loops), as pyint.
    SimtGlobalSize "simt.global_size" { dim: u32 }: 0 -> 1, regions 0, pure;
}

impl Op {
    /// The op of a function of floats: the vector routine where there is one.
    pub fn math(function: MathFn) -> Op {
        Op::Math { function, exact: false }
    }

    /// Part of the name before the dot; the terminators belong to `scf`.
    pub fn dialect(&self) -> &'static str {
        self.name().split_once('.').map_or("scf", |(d, _)| d)
    }

    /// Whether `break` can leave it: the loops and blocks that exits count.
    pub fn is_breakable(&self) -> bool {
        matches!(self, Op::PyFor | Op::ScfFor | Op::ScfLoop | Op::ScfBlock)
    }

    /// Whether it ends a region.
    pub fn is_terminator(&self) -> bool {
        self.effects().exits
    }

    /// The op of a binary operator on scalars of one dtype.
    pub fn from_binop(op: BinOp) -> Option<Op> {
        Some(match op {
            BinOp::Add => Op::Add,
            BinOp::Sub => Op::Sub,
            BinOp::Mul => Op::Mul,
            BinOp::Div => Op::Div,
            BinOp::FloorDiv => Op::FloorDiv,
            BinOp::Mod => Op::Mod,
            BinOp::Pow => Op::Pow,
            BinOp::And => Op::And,
            BinOp::Or => Op::Or,
            BinOp::Xor => Op::Xor,
            BinOp::Shl => Op::Shl,
            BinOp::Shr => Op::Shr,
            BinOp::MatMul => return None,
        })
    }
}
