//! `nt.fold` → loops that compute elements and fold them at once, in the order of `weft_ir::reduce`. So is an `nt.reduce` in the
//! order of the tree whose elements are not neighbours.
//!
//! `along`: long rows of neighbours, by blocks. `tree`: short rows and other axes in the order of the tree, many results side by side.
//! `line`: few elements, and one result. `across`: other axes, by runs.

mod across;
mod along;
mod line;
mod tree;

use super::array::Array;
use super::elementwise::Space;
use super::{Lower, cost};
use weft_diag::Diagnostic;
use weft_ir::attr::{BinOp, CmpOp, Const, Fold, Level, Order};
use weft_ir::{DType, Dim, Layout, Op, OpId, RegionId, TensorType, Type, ValueId, reduce};

/// Elements up to which results are folded side by side, or in a straight line if there is but one.
const SHORT: i64 = 32;

/// What is folded.
pub(super) struct Work<'a> {
    elements: Elements<'a>,
    space: &'a Space,
    dtype: DType,
    fold: Fold,
    /// The bool that each element is, if what is folded is how many are true.
    truth: Option<ValueId>,
}

pub(super) enum Elements<'a> {
    /// What an elementwise op computes of these.
    Computed(OpId, &'a [Option<Array>]),
    Stored(&'a Array),
}

/// The sizes of the axes before those that are folded away, of these, and of those after; axes of size 1 left out.
pub(super) struct Sizes {
    pub before: Vec<ValueId>,
    pub folded: Vec<ValueId>,
    pub after: Vec<ValueId>,
    /// How many elements become one, if that is known.
    pub known: Option<i64>,
}

impl Work<'_> {
    /// Whether an element is found by its position among all.
    pub(super) fn is_flat(&self) -> bool {
        self.space.collapsed
    }
}

impl Lower<'_> {
    /// The op.
    pub fn fold(&mut self, id: OpId, fold: Fold, axes: &[u32], order: Order) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let op = self.r.src.region(data.regions[0]).ops[0];
        let from = self.r.src.ty(self.r.src.op(op).results[0]).as_tensor().cloned();
        let Some(from) = from else {
            return Err(Diagnostic::internal(data.span, "a fold of no array"));
        };
        let inputs: Vec<Option<Array>> =
            self.r.src.op(op).operands.iter().map(|v| self.arrays.get(v).cloned()).collect();
        let arrays: Vec<&Array> = inputs.iter().flatten().collect();
        let mut space = self.space(op, &from.dims, &arrays);
        // Elements are folded in C order.
        space.collapsed &= arrays.iter().all(|a| a.ty.layout == Layout::C);
        self.count_bytes(&from);
        let truth = self.truth(op, fold, &from);
        let elements = Elements::Computed(op, &inputs);
        let work = Work { elements, space: &space, dtype: from.dtype, fold, truth };
        self.fold_work(id, &work, axes, order)
    }

    /// An `nt.reduce` of this array in the order of the tree.
    pub(super) fn fold_stored(&mut self, id: OpId, a: &Array, fold: Fold, axes: &[u32]) -> Result<(), Diagnostic> {
        let dims = a.ty.dims.clone();
        let axes_wide: Vec<usize> = (0..dims.len()).filter(|&k| dims[k] != Dim::Const(1)).collect();
        let collapsed = axes_wide.len() > 1 && a.ty.layout == Layout::C;
        let space = Space { dims, axes: axes_wide, collapsed };
        let work = Work { elements: Elements::Stored(a), space: &space, dtype: a.ty.dtype, fold, truth: None };
        self.fold_work(id, &work, axes, Order::Tree)
    }

    fn fold_work(&mut self, id: OpId, work: &Work<'_>, axes: &[u32], order: Order) -> Result<(), Diagnostic> {
        let result = self.r.src.op(id).results[0];
        let (Some(ty), [first, .., last] | [first @ last]) = (self.r.src.ty(result).as_tensor().cloned(), axes) else {
            return Err(Diagnostic::internal(self.r.span, "a fold of no axis"));
        };
        let out = self.alloc(&ty, &self.place.clone());
        let dims: Vec<(u32, Dim)> = (0..).zip(work.space.dims.iter().copied()).collect();
        let mut sizes = |wanted: &dyn Fn(u32) -> bool| -> Vec<ValueId> {
            let axes = dims.iter().filter(|(k, d)| wanted(*k) && *d != Dim::Const(1));
            axes.map(|(_, d)| self.size(*d)).collect()
        };
        let folded = |k: u32| (*first..=*last).contains(&k);
        let known = dims.iter().filter(|(k, _)| folded(*k)).try_fold(1_i64, |n, (_, d)| match d {
            Dim::Const(size) => n.checked_mul(i64::try_from(*size).ok()?),
            Dim::Sym(_) => None,
        });
        let (before, after) = (sizes(&|k| k < *first), sizes(&|k| k > *last));
        let sizes = Sizes { before, folded: sizes(&folded), after, known };
        if self.place.is_host() {
            self.fold_sizes(work, &sizes, order, &out)?;
        } else {
            let along = sizes.after.is_empty() || order == Order::Tree;
            let elements = super::fold_device::Elements::Computed(work);
            self.fold_on_device(elements, sizes, (work.fold, work.dtype), &out, along)?;
        }
        self.arrays.insert(result, out);
        Ok(())
    }

    /// Chooses the way.
    fn fold_sizes(&mut self, work: &Work<'_>, sizes: &Sizes, order: Order, out: &Array) -> Result<(), Diagnostic> {
        let lanes = reduce::lanes(work.dtype.size()) as i64;
        let short = SHORT.min(lanes);
        let one = sizes.before.is_empty() && sizes.after.is_empty();
        if !sizes.after.is_empty() && order != Order::Tree {
            return self.fold_across(work, sizes, out);
        }
        if let Some(n) = sizes.known.filter(|&n| self.is_straight(work, n)) {
            return self.fold_straight(work, sizes, n, out);
        }
        if !sizes.after.is_empty() {
            let is_short = sizes.known.is_some_and(|n| (1..=short).contains(&n));
            return if is_short { self.fold_short(work, sizes, out) } else { self.fold_lanes(work, sizes, out) };
        }
        // What another way would save is less than its code costs: one result outside a loop, and what lies in one piece.
        if if one { self.loops == 0 } else { work.space.collapsed } {
            return self.fold_along(work, sizes, out);
        }
        let shortly = |l: &mut Self| match one {
            true => l.fold_line(work, sizes, out),
            false => l.fold_short(work, sizes, out),
        };
        match sizes.known {
            Some(n) if (1..=short).contains(&n) => return shortly(self),
            Some(_) => return self.fold_along(work, sizes, out),
            None => {}
        }
        let n = self.product(&sizes.folded);
        let mut b = self.r.b();
        let (none, most) = (b.i64(0), b.i64(short));
        let some = b.value(Op::Cmp { is: CmpOp::Gt }, &[n, none], Type::BOOL);
        let few = b.value(Op::Cmp { is: CmpOp::Le }, &[n, most], Type::BOOL);
        let few = b.value(Op::And, &[some, few], Type::BOOL);
        let arm = |l: &mut Self, short: bool| {
            let (region, ()) = l.nested(|l| {
                if short {
                    shortly(l)?
                } else {
                    l.fold_along(work, sizes, out)?
                }
                l.r.b().effect(Op::Yield, &[]);
                Ok(())
            })?;
            Ok::<RegionId, Diagnostic>(region)
        };
        let (short, long) = (arm(self, true)?, arm(self, false)?);
        self.r.b().op(Op::ScfIf, &[few], &[], &[short, long]);
        Ok(())
    }

    /// The bool whose number an element is, if they are summed: `(x > 0).sum()`.
    fn truth(&self, work: OpId, fold: Fold, from: &TensorType) -> Option<ValueId> {
        let f = self.r.src;
        let ops = &f.region(f.op(work).regions[0]).ops;
        let yielded = f.op(*ops.last()?).operands[0];
        let cast = ops.iter().map(|&op| f.op(op)).find(|o| o.op == Op::Cast && o.results[0] == yielded)?;
        let truth = cast.operands[0];
        (fold == Fold::Sum && from.dtype == DType::I64 && *f.ty(truth) == Type::BOOL).then_some(truth)
    }

    /// Raises where the array would be too big to be stored: its elements could not be counted.
    fn count_bytes(&mut self, ty: &TensorType) {
        let mut bytes = self.r.b().i64(ty.dtype.size() as i64);
        for &d in ty.dims.iter().filter(|d| **d != Dim::Const(1)) {
            let (multiply, size) = (Op::Checked { op: BinOp::Mul, site: self.too_big }, self.size(d));
            bytes = self.int(multiply, bytes, size);
        }
    }

    /// One element, at an index of each wide axis.
    pub(super) fn computed(&mut self, work: &Work<'_>, indices: &[ValueId]) -> Result<ValueId, Diagnostic> {
        match work.elements {
            Elements::Computed(op, inputs) => {
                let (_, yields) = self.values_at(op, work.space, inputs, indices)?;
                Ok(self.element(yields[0], work.dtype))
            }
            Elements::Stored(a) => {
                let position = self.position_of(work.space, indices);
                let (at, unit) = self.place_of(a, work.space, &position, indices);
                Ok(self.r.b().value(Op::MemLoad { unit }, &[a.mem, at], Type::Num(a.ty.dtype)))
            }
        }
    }

    /// The element where these axes are: those before the folded ones, these, and those after.
    fn element_at(
        &mut self,
        work: &Work<'_>,
        sizes: &Sizes,
        [before, folded, after]: [&[ValueId]; 3],
    ) -> Result<ValueId, Diagnostic> {
        let indices = [before, folded, after].concat();
        if work.space.collapsed {
            let sizes = [&sizes.before[..], &sizes.folded, &sizes.after].concat();
            let at = self.position_flat(&indices, &sizes);
            return self.computed(work, &[at]);
        }
        self.computed(work, &indices)
    }

    /// A loop whose turns are independent, and the tenths of a nanosecond of one.
    fn independent(
        &mut self,
        count: ValueId,
        body: impl FnOnce(&mut Self, ValueId) -> Result<(), Diagnostic>,
    ) -> Result<u64, Diagnostic> {
        let region = self.item_region(body)?;
        let (tenths, cost) = (cost::tenths(&self.r.dst, region).max(1), cost::of_region(&self.r.dst, region));
        self.r.b().op(Op::ParFor { cost, level: Level::Item }, &[count], &[], &[region]);
        Ok(tenths)
    }

    /// A loop in order that carries numbers; returns them as they are after it.
    fn in_order(
        &mut self,
        [lo, hi]: [ValueId; 2],
        carried: &[ValueId],
        body: impl FnOnce(&mut Self, ValueId, &[ValueId]) -> Result<Vec<ValueId>, Diagnostic>,
    ) -> Result<Vec<ValueId>, Diagnostic> {
        let (region, ()): (RegionId, ()) = self.nested(|l| {
            let at = l.r.b().arg(Type::I64);
            let values: Vec<ValueId> = carried.iter().map(|_| l.r.b().arg(Type::I64)).collect();
            let next = body(l, at, &values)?;
            l.r.b().effect(Op::Yield, &next);
            Ok(())
        })?;
        let one = self.r.b().i64(1);
        let operands: Vec<ValueId> = [lo, hi, one].into_iter().chain(carried.iter().copied()).collect();
        let id = self.r.b().op(Op::ScfFor, &operands, &vec![Type::I64; carried.len()], &[region]);
        Ok(self.r.dst.op(id).results.to_vec())
    }

    /// Results in memory of their own if there is more than one part, else where they belong.
    pub(super) fn partial(
        &mut self,
        out: &Array,
        parts: ValueId,
        results: ValueId,
    ) -> Result<(ValueId, ValueId), Diagnostic> {
        let one = self.r.b().i64(1);
        let several = self.r.b().value(Op::Cmp { is: CmpOp::Gt }, &[parts, one], Type::BOOL);
        let (elsewhere, ()) = self.nested(|l| {
            let all = l.int(Op::Mul, parts, results);
            let scratch = l.scratch(out, all);
            l.r.b().effect(Op::Yield, &scratch);
            Ok(())
        })?;
        let types = [self.r.dst.ty(out.mem).clone(), Type::Owner];
        let mut b = self.r.b();
        // Whoever combines writes to `out`, which is owned until then.
        let (there, _) = b.region(|b| {
            let nobody = b.op(Op::MemNull, &[], &types, &[]);
            let nobody = b.func.op(nobody).results[1];
            b.effect(Op::Yield, &[out.mem, nobody]);
        });
        let chosen = b.op(Op::ScfIf, &[several], &types, &[elsewhere, there]);
        Ok((several, b.func.op(chosen).results[0]))
    }

    /// Reduces the results of several parts, if there are several.
    pub(super) fn combine(&mut self, several: ValueId, op: Op, words: &[ValueId]) {
        let mut b = self.r.b();
        let (reduces, _) = b.region(|b| {
            b.effect(op, words);
            b.effect(Op::Yield, &[]);
        });
        let (nothing, _) = b.region(|b| b.effect(Op::Yield, &[]));
        b.op(Op::ScfIf, &[several], &[], &[reduces, nothing]);
    }

    /// The position of indices in row-major order.
    fn position_flat(&mut self, indices: &[ValueId], sizes: &[ValueId]) -> ValueId {
        let mut pairs = indices.iter().zip(sizes);
        let Some((&first, _)) = pairs.next() else { return self.r.b().i64(0) };
        pairs.fold(first, |at, (&i, &n)| {
            let row = self.int(Op::Mul, at, n);
            self.int(Op::Add, row, i)
        })
    }

    /// The index after this one in row-major order.
    fn next_index(&mut self, indices: &[ValueId], sizes: &[ValueId]) -> Vec<ValueId> {
        let mut next = indices.to_vec();
        let (mut carry, zero) = (self.r.b().i64(1), self.r.b().i64(0));
        for k in (0..next.len()).rev() {
            let more = self.int(Op::Add, next[k], carry);
            if k == 0 {
                next[0] = more;
                break;
            }
            let mut b = self.r.b();
            let over = b.value(Op::Cmp { is: CmpOp::Ge }, &[more, sizes[k]], Type::BOOL);
            next[k] = b.value(Op::Select, &[over, zero, more], Type::I64);
            carry = b.cast(over, Type::I64);
        }
        next
    }

    /// An element folded into what there is so far. Of two zeros the first stays the least or the largest.
    pub(super) fn fold_two(&mut self, fold: Fold, so_far: ValueId, v: ValueId) -> ValueId {
        let operands = if matches!(fold, Fold::Min | Fold::Max) { [v, so_far] } else { [so_far, v] };
        let ty = self.r.dst.ty(v).clone();
        self.r.b().value(folding(fold), &operands, ty)
    }

    /// What a fold begins with, and the result where nothing is folded. NumPy's sums begin with 0.0: of -0.0 alone they are 0.0.
    pub(super) fn identity(&mut self, fold: Fold, dtype: DType) -> ValueId {
        let float = !dtype.is_int() && dtype != DType::Bool;
        let fold = match fold {
            Fold::Min if dtype == DType::Bool => Fold::All,
            Fold::Max if dtype == DType::Bool => Fold::Any,
            fold => fold,
        };
        let most = (1 << (8 * dtype.size() as u32 - u32::from(dtype.is_signed()))) - 1;
        let value = match fold {
            Fold::Sum if dtype.is_complex() => Const::Complex(0.0, 0.0),
            Fold::Sum if float => Const::Float(0.0),
            Fold::Prod if float => Const::Float(1.0),
            Fold::Min if float => Const::Float(f64::INFINITY),
            Fold::Max if float => Const::Float(f64::NEG_INFINITY),
            Fold::Any => Const::Bool(false),
            Fold::All => Const::Bool(true),
            Fold::Prod => Const::Int(1),
            Fold::Min => Const::Int(most),
            Fold::Max => Const::Int(if dtype.is_signed() { -most - 1 } else { 0 }),
            _ => Const::Int(0),
        };
        self.r.b().constant(value, Type::Num(dtype))
    }

    /// A sum of elements alone, as one that began with 0.0.
    fn normalise_zero(&mut self, fold: Fold, v: ValueId) -> ValueId {
        let ty = self.r.dst.ty(v).clone();
        let sums = fold == Fold::Sum && ty.scalar_dtype().is_some_and(|d| !d.is_int() && d != DType::Bool);
        match sums {
            true => {
                let zero = self.identity(fold, ty.scalar_dtype().expect("looked at"));
                self.r.b().value(Op::Add, &[v, zero], ty)
            }
            false => v,
        }
    }
}

/// The op that folds two elements.
fn folding(fold: Fold) -> Op {
    match fold {
        Fold::Prod => Op::Mul,
        Fold::Min => Op::Min,
        Fold::Max => Op::Max,
        Fold::Any => Op::Or,
        Fold::All => Op::And,
        _ => Op::Add,
    }
}
