//! A loop whose turns find numbers, and then change a column with them, falls apart: first all numbers, then all columns at once.
//!
//! In and out: a host function at stage `fused`, edited in place. In
//!
//! ```text
//! for j in range(k + 1, n):
//!     r[k, j] = np.dot(q, a[:, j])
//!     a[:, j] -= q * r[k, j]
//! ```
//!
//! each turn goes down a column, whose elements lie apart. The changes of all turns are one statement over a matrix,
//! `a[:, k + 1:] -= q[:, None] * r[k, k + 1:]`, which goes along rows. That is so where no number depends on what another turn
//! changes, and no change on what another turn stores or changes: memory is known to be apart, or each turn keeps to
//! its own index.

use crate::fuse::each_op;
use crate::turn::{self, Inside};
use crate::{canon, together};
use weft_ir::{Builder, Dim, Func, Layout, Op, OpData, OpId, Place, RegionId, TensorType, Type, ValueId};

/// The step.
pub fn run(f: &mut Func) {
    each_op(f, f.body, &mut |f, region, at| {
        let id = f.region(region).ops[at];
        let turn = *f.op(id).regions.first().filter(|_| f.op(id).op == Op::ScfFor)?;
        // Everything else looks at the whole function.
        f.region(turn).ops.iter().find(|&&op| f.op(op).op == Op::NtInto)?;
        Some(Split::new(f, id, turn)?.rewrite(f, region, at))
    });
}

/// How a turn falls apart.
struct Split {
    changes: Vec<Change>,
    /// Numbers that are kept for them.
    kept: Vec<ValueId>,
}

/// A statement that changes a column.
struct Change {
    id: OpId,
    /// The elementwise op in it.
    work: OpId,
    to: Operand,
    operands: Vec<Operand>,
}

/// What a statement uses, seen for all turns at once.
#[derive(PartialEq)]
enum Operand {
    /// A number, or an array, that is the same in every turn.
    Same(ValueId),
    /// A view that is the same in every turn: its op.
    View(OpId),
    /// A vector or an element that moves on with the turns: the array, where it begins and by how much it goes on along
    /// each axis, the axis that it walks along, and the one that turns do.
    Moves { array: ValueId, walk: Vec<ValueId>, axis: Option<usize>, turns: usize },
    /// A number that is kept, by its place among those.
    Kept(usize),
}

/// A part of an array that an op reads or writes: which, and its index along each axis, where that is one number.
struct Access {
    array: ValueId,
    index: Vec<Option<ValueId>>,
}

impl Split {
    fn new(f: &Func, id: OpId, turn: RegionId) -> Option<Split> {
        let data = f.op(id);
        let ops = &f.region(turn).ops;
        let defs = canon::definitions(f);
        let plain = data.results.is_empty() && data.operands.len() == 3 && turn::goes_by_one(f, &defs, id);
        let quiet = |&op: &OpId| f.op(op).op == Op::Yield || !f.effects(op).may_raise && !f.effects(op).exits;
        if !plain || !ops.iter().all(quiet) {
            return None;
        }
        let inside = Inside::new(f, turn);
        let is_change = |op: OpId| f.op(op).op == Op::NtInto;
        // Other effects come first in a turn.
        let acts = |op: OpId| f.effects(op).writes && !matches!(f.op(op).op, Op::ShapeBind { .. });
        let first = ops.iter().position(|&op| is_change(op))?;
        let last = ops.iter().rposition(|&op| !is_change(op) && acts(op));
        if last.is_some_and(|last| last > first) {
            return None;
        }
        let touched = |change: bool, writes: bool| {
            accesses(f, &defs, ops.iter().copied().filter(|&op| is_change(op) == change), writes)
        };
        let (stored, read) = (touched(false, true)?, touched(false, false)?);
        let mut split = Split { changes: vec![], kept: vec![] };
        for &op in ops.iter().filter(|&&op| is_change(op)) {
            split.change(f, &defs, &inside, &stored, op)?;
        }
        // What only changes columns is a loop over rows as it is.
        if last.is_none() && split.kept.is_empty() {
            return None;
        }
        let (changed, used) = (touched(true, true)?, touched(true, false)?);
        let apart = |a: &[Access], b: &[Access]| a.iter().all(|a| b.iter().all(|b| is_apart(f, &defs, &inside, a, b)));
        let fine = apart(&read, &changed) && apart(&stored, &used) && apart(&stored, &changed);
        (fine && apart(&used, &changed) && apart(&changed, &changed)).then_some(split)
    }

    /// Adds a statement, if it changes a column of its turn, which lies beside that of the next.
    fn change(&mut self, f: &Func, defs: &[Option<OpId>], inside: &Inside, stored: &[Access], id: OpId) -> Option<()> {
        let data = f.op(id);
        let ([to], [work, _]) = (&data.operands[..], &f.region(data.regions[0]).ops[..]) else { return None };
        let mut position = f.op(*work).op != Op::NtElementwise;
        f.walk_region(f.op(*work).regions[0], &mut |op| position |= matches!(f.op(op).op, Op::NtPosition { .. }));
        let space = canon::dims(f, *f.op(*work).results.first()?);
        if position || space.len() != 1 || canon::dims(f, *to) != space || inside.sizes.contains(&space[0]) {
            return None;
        }
        let mut operand = |v: ValueId| self.operand(f, defs, inside, stored, v);
        let to = operand(*to)?;
        let Operand::Moves { array, axis: Some(_), turns, .. } = to else { return None };
        if turns + 1 != canon::dims(f, array).len() {
            return None;
        }
        let operands = f.op(*work).operands.iter().map(|&v| operand(v)).collect::<Option<_>>()?;
        self.changes.push(Change { id, work: *work, to, operands });
        Some(())
    }

    fn operand(
        &mut self,
        f: &Func,
        defs: &[Option<OpId>],
        inside: &Inside,
        stored: &[Access],
        v: ValueId,
    ) -> Option<Operand> {
        let array = f.ty(v).as_tensor();
        if array.is_some_and(|t| t.rank() != 1) {
            return None;
        }
        if !inside.values.contains(&v) {
            return Some(Operand::Same(v));
        }
        let id = defs[v.index()]?;
        let data = f.op(id);
        let (walk, axis) = match &data.op {
            Op::NtView { axes } => (data.operands[1..].to_vec(), Some(usize::try_from(axes[0]).ok()?)),
            Op::NtLoad { wrap: false } => {
                let one = data.operands[1];
                (data.operands[1..].iter().flat_map(|&v| [v, one]).collect(), None)
            }
            _ => (vec![], None),
        };
        let moving: Vec<usize> = (0..walk.len()).filter(|&k| inside.values.contains(&walk[k])).collect();
        let before = !walk.is_empty() && !inside.values.contains(&data.operands[0]);
        let starts: Vec<usize> = moving.iter().copied().filter(|k| k % 2 == 0).collect();
        if before && array.is_some() && moving.is_empty() {
            return Some(Operand::View(id));
        }
        // The steps of an element count for nothing.
        let by_one = |k: usize| axis != Some(k / 2) && inside.counts(f, defs, walk[k]);
        let steps = array.is_none() || starts.len() == moving.len();
        // An element that another turn may store is taken in its turn.
        let element = || element(f, defs, data.operands[0], &data.operands[1..]);
        let own = || array.is_some() || stored.iter().all(|s| is_apart(f, defs, inside, s, &element()));
        if let (true, true, &[k]) = (before, steps, &starts[..])
            && by_one(k)
            && own()
        {
            return Some(Operand::Moves { array: data.operands[0], walk, axis, turns: k / 2 });
        }
        if array.is_some() || !matches!(f.ty(v), Type::Num(_)) {
            return None;
        }
        let at = self.kept.iter().position(|&kept| kept == v).unwrap_or_else(|| {
            self.kept.push(v);
            self.kept.len() - 1
        });
        Some(Operand::Kept(at))
    }

    /// Puts the changes of all turns behind the loop. Returns the position after it.
    fn rewrite(self, f: &mut Func, region: RegionId, at: usize) -> usize {
        let id = f.region(region).ops[at];
        let data = f.op(id).clone();
        let turn = data.regions[0];
        let counter = f.region(turn).args[0];
        let before = f.new_region();
        let mut b = Builder { func: f, region: before, span: data.span };
        let (lo, hi) = (b.cast(data.operands[0], Type::I64), b.cast(data.operands[1], Type::I64));
        let (zero, one) = (b.i64(0), b.i64(1));
        let turns = turn::count(&mut b, lo, hi);
        let size = Dim::Sym(b.func.new_symbol());
        b.effect(Op::ShapeBind { dim: size }, &[turns]);
        let room = |b: &mut Builder<'_>, &v: &ValueId| {
            let Type::Num(dtype) = *b.func.ty(v) else { unreachable!("kept numbers have dtypes") };
            let ty = TensorType::fresh(vec![size], dtype, Place::Host);
            b.value(Op::NtAlloc { zero: false }, &[], Type::tensor(ty))
        };
        let room: Vec<ValueId> = self.kept.iter().map(|v| room(&mut b, v)).collect();
        // Numbers are kept when they are there; the changes are gone.
        let mut ops = f.region(turn).ops.clone();
        ops.retain(|op| self.changes.iter().all(|change| change.id != *op));
        for (&v, &kept) in self.kept.iter().zip(&room) {
            let store = f.new_region();
            let mut b = Builder { func: f, region: store, span: data.span };
            let index = b.cast(counter, Type::I64);
            let index = b.value(Op::Sub, &[index, lo], Type::I64);
            b.effect(Op::NtStore { wrap: false }, &[v, kept, index]);
            let store = std::mem::take(&mut f.regions[store.index()].ops);
            let made = ops.iter().position(|&op| f.op(op).results.contains(&v)).map_or(0, |at| at + 1);
            ops.splice(made..made, store);
        }
        f.regions[turn.index()].ops = ops;
        let after = f.new_region();
        let all = All { room, lo, zero, one, size };
        for change in &self.changes {
            let span = f.op(change.id).span;
            all.change(&mut Builder { func: f, region: after, span }, change);
        }
        let [before, after] = [before, after].map(|r| std::mem::take(&mut f.regions[r.index()].ops));
        let next = at + before.len() + 1 + after.len();
        let place = &mut f.regions[region.index()].ops;
        place.splice(at + 1..at + 1, after);
        place.splice(at..at, before);
        next
    }
}

/// What the statements over all turns share.
struct All {
    room: Vec<ValueId>,
    lo: ValueId,
    zero: ValueId,
    one: ValueId,
    /// How many turns there are.
    size: Dim,
}

impl All {
    fn change(&self, b: &mut Builder<'_>, change: &Change) {
        let data = b.func.op(change.work).clone();
        let Some(own) = b.func.ty(data.results[0]).as_tensor().cloned() else { return };
        let rows = own.dims[0];
        let to = self.operand(b, &change.to, rows);
        // What is changed is read by the same name, so that nobody asks whether it is the same.
        let name = |v: &Operand| if *v == change.to { to } else { self.operand(b, v, rows) };
        let operands: Vec<ValueId> = change.operands.iter().map(name).collect();
        let ty = TensorType { dims: vec![rows, self.size], layout: Layout::C, ..own };
        let value = b.func.new_value(Type::tensor(ty));
        let (inner, ()) = b.region(|b| {
            let work = b.op(Op::NtElementwise, &operands, &[], &data.regions);
            b.func.ops[work.index()].results = vec![value].into();
            b.effect(Op::Yield, &[value]);
        });
        b.op(Op::NtInto, &[to], &[], &[inner]);
    }

    /// A matrix with a column for each turn, or what repeats in it.
    fn operand(&self, b: &mut Builder<'_>, operand: &Operand, rows: Dim) -> ValueId {
        let &All { ref room, lo, zero, one, size } = self;
        let view = |b: &mut Builder<'_>, array: ValueId, walk: &[ValueId], axes: Vec<i32>, dims: [Dim; 2]| {
            let Some(ty) = b.func.ty(array).as_tensor().cloned() else { return array };
            // Neighbours stay neighbours where the last axis is the last.
            let close = axes.last() == Some(&(ty.rank() as i32 - 1)) && matches!(ty.layout, Layout::C | Layout::I);
            let layout = match close {
                true if dims[0] == Dim::Const(1) => Layout::C,
                true => Layout::I,
                false => Layout::A,
            };
            let operands: Vec<ValueId> = [array].into_iter().chain(walk.iter().copied()).collect();
            let ty = TensorType { dims: dims.to_vec(), layout, ..ty };
            b.value(Op::NtView { axes }, &operands, Type::tensor(ty))
        };
        match operand {
            Operand::Same(v) if b.func.ty(*v).as_tensor().is_none() => *v,
            Operand::Same(v) => view(b, *v, &[zero, one], vec![0, -1], [rows, Dim::Const(1)]),
            Operand::View(id) => {
                let data = b.func.op(*id).clone();
                let ty = b.ty(data.results[0]);
                let vector = b.value(data.op, &data.operands, ty);
                view(b, vector, &[zero, one], vec![0, -1], [rows, Dim::Const(1)])
            }
            Operand::Kept(at) => view(b, room[*at], &[zero, one], vec![-1, 0], [Dim::Const(1), size]),
            Operand::Moves { array, walk, axis, turns } => {
                let mut walk = walk.clone();
                if axis.is_none() {
                    walk.iter_mut().skip(1).step_by(2).for_each(|step| *step = one);
                }
                walk[2 * turns] = lo;
                walk[2 * turns + 1] = one;
                let (first, dims) = axis.map_or((-1, [Dim::Const(1), size]), |axis| (axis as i32, [rows, size]));
                view(b, *array, &walk, vec![first, *turns as i32], dims)
            }
        }
    }
}

/// What ops read or write of arrays; `None` where that cannot be told.
fn accesses(f: &Func, defs: &[Option<OpId>], ops: impl Iterator<Item = OpId>, writes: bool) -> Option<Vec<Access>> {
    let mut found = vec![];
    let mut known = true;
    let mut look = |id: OpId| {
        let data = f.op(id);
        let e = data.op.effects();
        let is_array = |v: &ValueId| f.ty(*v).as_tensor().is_some();
        if matches!(data.op, Op::ShapeBind { .. } | Op::NtView { .. } | Op::NtDim { .. }) {
            return;
        }
        let written = data.written();
        known &= !(e.writes && written.is_empty());
        match &data.op {
            Op::NtStore { .. } if writes => found.push(element(f, defs, data.operands[1], &data.operands[2..])),
            Op::NtLoad { .. } if !writes => found.push(element(f, defs, data.operands[0], &data.operands[1..])),
            Op::NtStore { .. } | Op::NtLoad { .. } => {}
            _ if writes => found.extend(written.iter().map(|&v| element(f, defs, v, &[]))),
            _ => {
                let read = data.operands.iter().filter(|v| is_array(v) && !(e.writes && written.contains(v)));
                found.extend(read.map(|&v| element(f, defs, v, &[])));
            }
        }
    };
    for id in ops {
        look(id);
        f.op(id).regions.iter().for_each(|&r| f.walk_region(r, &mut look));
    }
    known.then_some(found)
}

/// An element of an array, or all of it: of a view, the part of the array that it is of.
fn element(f: &Func, defs: &[Option<OpId>], v: ValueId, index: &[ValueId]) -> Access {
    let index: Vec<Option<ValueId>> = index.iter().copied().map(Some).collect();
    let view: Option<&OpData> = defs[v.index()].map(|op| f.op(op));
    match view {
        Some(OpData { op: Op::NtView { axes }, operands, .. }) if index.is_empty() => {
            let stays = |k: usize| !axes.contains(&(k as i32));
            let starts = operands[1..].iter().step_by(2).enumerate();
            Access { array: operands[0], index: starts.map(|(k, &start)| stays(k).then_some(start)).collect() }
        }
        _ => Access { array: v, index },
    }
}

/// Whether what one turn touches by one access no other turn touches by the other.
fn is_apart(f: &Func, defs: &[Option<OpId>], inside: &Inside, a: &Access, b: &Access) -> bool {
    let own = |(x, y): (&Option<ValueId>, &Option<ValueId>)| {
        let counts = |v: &Option<ValueId>| v.is_some_and(|v| inside.counts(f, defs, v));
        counts(x) && counts(y)
    };
    let one = a.array == b.array && !inside.values.contains(&a.array) && turn::has_own_places(f, a.array);
    one && a.index.iter().zip(&b.index).any(own) || together::are_apart(f, defs, a.array, b.array)
}
