//! Arrays that a `prange` accumulates into: its blocks are taken in groups, each of which updates a copy of its own; after
//! the loop the copies are combined in order.
//!
//! How many there are depends on sizes alone, so the bits are the same for any number of threads. There is only one group,
//! which updates the array itself, where copies would be dearer than what they save, and where the array shares memory
//! with another that the loop uses: then all blocks run in order.

use super::accumulate::{Accumulator, Site};
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{Builder, Dim, Func, Layout, Op, OpId, RegionId, TensorType, Type, ValueId};

/// Copies of an array at most.
const COPIES: i64 = 64;

/// Bytes of all copies of an array at most.
const BYTES: i64 = 64 << 20;

/// Updates that pay for making one element of a copy and combining it.
const UPDATES: i64 = 4;

/// Turns that a loop is taken to have.
const TURNS: i64 = 16;

/// Bytes from one copy to the next at least, so that threads do not write to the same lines.
const APART: i64 = 1024;

/// Gives each group of the blocks of `id` copies of these arrays. `block`: iterations of a block; `pairs`: arrays that must
/// not share memory for that.
pub(super) fn rewrite(
    f: &mut Func,
    id: OpId,
    block: ValueId,
    accumulators: &[Accumulator],
    pairs: &[(ValueId, ValueId)],
) {
    let Some((parent, position)) = place_of(f, id) else { return };
    let span = f.op(id).span;
    let [blocks, turns] = f.op(id).operands[..] else { return };
    let old = f.op(id).regions[0];
    let before = f.new_region();
    let mut b = Builder { func: f, region: before, span };
    let groups = Groups::new(&mut b, blocks, block, accumulators, pairs);
    let kept = groups.int(&mut b, 0);
    let turns = b.value(Op::Select, &[groups.direct, kept, turns], Type::PYINT);
    let copies: Vec<Copies> = accumulators.iter().map(|a| Copies::new(&mut b, a, groups.rows)).collect();
    let (new, own) = b.region(|b| {
        let group = b.arg(Type::PYINT);
        let own: Vec<ValueId> = copies.iter().map(|c| c.of_group(b, group, groups.direct)).collect();
        let first = b.value(Op::Mul, &[group, groups.each], Type::PYINT);
        let end = b.value(Op::Add, &[first, groups.each], Type::PYINT);
        let end = b.value(Op::Min, &[end, blocks], Type::PYINT);
        let one = groups.int(b, 1);
        b.op(Op::ScfFor, &[first, end, one], &[], &[old]);
        b.effect(Op::Yield, &[]);
        own
    });
    let after = b.func.new_region();
    b.region = after;
    copies.iter().for_each(|c| c.combine(&mut b, &groups));
    for (acc, own) in accumulators.iter().zip(own) {
        replace(f, old, acc.array, own);
    }
    f.ops[id.index()].operands = [groups.count, turns].into_iter().collect();
    f.ops[id.index()].regions = [new].into_iter().collect();
    let mut ops = f.region(before).ops.clone();
    ops.push(id);
    ops.extend(&f.region(after).ops);
    f.regions[parent.index()].ops.splice(position..=position, ops);
}

/// The region that holds an op, and where.
pub(super) fn place_of(f: &Func, id: OpId) -> Option<(RegionId, usize)> {
    (0..f.regions.len() as u32)
        .map(RegionId)
        .find_map(|r| f.region(r).ops.iter().position(|&op| op == id).map(|position| (r, position)))
}

fn replace(f: &mut Func, region: RegionId, old: ValueId, new: ValueId) {
    let mut ids = vec![];
    f.walk_region(region, &mut |id| ids.push(id));
    for id in ids {
        // Sizes are those of the array itself.
        if !matches!(f.op(id).op, Op::NtDim { .. }) {
            f.ops[id.index()].operands.iter_mut().filter(|v| **v == old).for_each(|v| *v = new);
        }
    }
}

/// How blocks go together.
struct Groups {
    count: ValueId,
    /// Blocks of a group.
    each: ValueId,
    /// Whether the arrays themselves are updated, by one group.
    direct: ValueId,
    /// Copies to make.
    rows: ValueId,
}

impl Groups {
    fn new(
        b: &mut Builder<'_>,
        blocks: ValueId,
        block: ValueId,
        accumulators: &[Accumulator],
        pairs: &[(ValueId, ValueId)],
    ) -> Groups {
        let int = |b: &mut Builder<'_>, n: i64| b.constant(Const::Int(n.into()), Type::PYINT);
        let most = int(b, COPIES);
        let mut wanted = b.value(Op::Min, &[blocks, most], Type::PYINT);
        let turns = b.value(Op::Mul, &[blocks, block], Type::PYINT);
        for acc in accumulators {
            let elements = elements(b, acc);
            let room = int(b, BYTES / acc.ty.dtype.size() as i64);
            let room = b.value(Op::FloorDiv, &[room, elements], Type::PYINT);
            wanted = b.value(Op::Min, &[wanted, room], Type::PYINT);
            let work = updates(b, acc);
            let work = b.value(Op::Mul, &[work, turns], Type::PYINT);
            let price = int(b, UPDATES);
            let price = b.value(Op::Mul, &[elements, price], Type::PYINT);
            let pays = b.value(Op::FloorDiv, &[work, price], Type::PYINT);
            wanted = b.value(Op::Min, &[wanted, pays], Type::PYINT);
        }
        let one = int(b, 1);
        let wanted = b.value(Op::Max, &[wanted, one], Type::PYINT);
        let up = |b: &mut Builder<'_>, by: ValueId| {
            let less = b.value(Op::Sub, &[by, one], Type::PYINT);
            let sum = b.value(Op::Add, &[blocks, less], Type::PYINT);
            let quotient = b.value(Op::FloorDiv, &[sum, by], Type::PYINT);
            b.value(Op::Max, &[quotient, one], Type::PYINT)
        };
        let each = up(b, wanted);
        let count = up(b, each);
        let mut direct = b.value(Op::Cmp { is: CmpOp::Le }, &[count, one], Type::BOOL);
        for &(x, y) in pairs {
            let meet = b.value(Op::NtOverlaps, &[x, y], Type::BOOL);
            direct = b.value(Op::Or, &[direct, meet], Type::BOOL);
        }
        let zero = int(b, 0);
        let each = b.value(Op::Select, &[direct, blocks, each], Type::PYINT);
        let rows = b.value(Op::Select, &[direct, zero, count], Type::PYINT);
        let count = b.value(Op::Select, &[direct, one, count], Type::PYINT);
        Groups { count, each, direct, rows }
    }

    fn int(&self, b: &mut Builder<'_>, n: i64) -> ValueId {
        b.constant(Const::Int(n.into()), Type::PYINT)
    }
}

/// Elements of an array; 1 if it has none.
fn elements(b: &mut Builder<'_>, acc: &Accumulator) -> ValueId {
    let one = b.constant(Const::Int(1), Type::PYINT);
    let mut n = one;
    for dim in 0..acc.ty.rank() as u32 {
        let size = b.value(Op::NtDim { dim }, &[acc.array], Type::PYINT);
        n = b.value(Op::Mul, &[n, size], Type::PYINT);
    }
    b.value(Op::Max, &[n, one], Type::PYINT)
}

/// About how many elements of its array an iteration updates.
fn updates(b: &mut Builder<'_>, acc: &Accumulator) -> ValueId {
    let mut all = b.constant(Const::Int(0), Type::PYINT);
    for Site { depth, sizes } in &acc.sites {
        let mut n = b.constant(Const::Int(TURNS.pow((*depth).min(3)).into()), Type::PYINT);
        for size in sizes {
            let size = match (size, acc.ty.dims.iter().position(|d| d == size)) {
                (Dim::Const(n), _) => b.constant(Const::Int((*n).into()), Type::PYINT),
                (_, Some(k)) => b.value(Op::NtDim { dim: k as u32 }, &[acc.array], Type::PYINT),
                _ => b.constant(Const::Int(TURNS.into()), Type::PYINT),
            };
            n = b.value(Op::Mul, &[n, size], Type::PYINT);
        }
        all = b.value(Op::Add, &[all, n], Type::PYINT);
    }
    all
}

/// The copies of one array.
struct Copies<'a> {
    of: &'a Accumulator,
    /// Their type, and all of them in one array, with `spacing` rows from one to the next.
    ty: TensorType,
    all: ValueId,
    spacing: ValueId,
}

impl<'a> Copies<'a> {
    fn new(b: &mut Builder<'_>, of: &'a Accumulator, rows: ValueId) -> Copies<'a> {
        let layout = if of.ty.layout == Layout::F { Layout::F } else { Layout::C };
        let ty = TensorType { layout, ..of.ty.clone() };
        let n = elements(b, of);
        let int = |b: &mut Builder<'_>, n: i64| b.constant(Const::Int(n.into()), Type::PYINT);
        let (apart, less) = (int(b, APART / ty.dtype.size() as i64), int(b, 1));
        let less = b.value(Op::Sub, &[n, less], Type::PYINT);
        let up = b.value(Op::Add, &[apart, less], Type::PYINT);
        let spacing = b.value(Op::FloorDiv, &[up, n], Type::PYINT);
        let size = b.value(Op::Mul, &[rows, spacing], Type::PYINT);
        let dim = Dim::Sym(b.func.new_symbol());
        let size = b.cast(size, Type::I64);
        b.effect(Op::ShapeBind { dim }, &[size]);
        // The axis of the copies is the slowest.
        let mut dims = ty.dims.clone();
        dims.insert(if ty.layout == Layout::F { dims.len() } else { 0 }, dim);
        let all = b.value(Op::NtAlloc { zero: false }, &[], Type::tensor(TensorType { dims, ..ty.clone() }));
        Copies { of, ty, all, spacing }
    }

    fn row(&self, b: &mut Builder<'_>, group: ValueId) -> ValueId {
        let at = b.value(Op::Mul, &[group, self.spacing], Type::PYINT);
        let at = b.cast(at, Type::I64);
        let (zero, one) = (b.i64(0), b.i64(1));
        let rank = self.ty.rank();
        let copies = if self.ty.layout == Layout::F { rank } else { 0 };
        let mut operands = vec![self.all];
        operands.extend((0..=rank).flat_map(|axis| [if axis == copies { at } else { zero }, one]));
        let axes = (0..=rank as i32).filter(|&axis| axis != copies as i32).collect();
        b.value(Op::NtView { axes }, &operands, Type::tensor(self.ty.clone()))
    }

    /// What one group updates: the array itself, or its copy, which begins with what changes nothing.
    fn of_group(&self, b: &mut Builder<'_>, group: ValueId, direct: ValueId) -> ValueId {
        let ty = b.ty(self.of.array);
        let (itself, _) = b.region(|b| b.effect(Op::Yield, &[self.of.array]));
        let (copy, _) = b.region(|b| {
            let row = self.row(b, group);
            let neutral = self.of.update.neutral(self.ty.dtype).unwrap_or(Const::Int(0));
            let neutral = b.constant(neutral, Type::Num(self.ty.dtype));
            b.effect(Op::NtCopy, &[row, neutral]);
            let row = if b.ty(row) == ty { row } else { b.value(Op::NtWeaken, &[row], ty.clone()) };
            b.effect(Op::Yield, &[row]);
        });
        let chosen = b.op(Op::ScfIf, &[direct], &[ty], &[itself, copy]);
        b.func.op(chosen).results[0]
    }

    fn combine(&self, b: &mut Builder<'_>, groups: &Groups) {
        let (zero, one) = (groups.int(b, 0), groups.int(b, 1));
        let (each, _) = b.region(|b| {
            let group = b.arg(Type::PYINT);
            let row = self.row(b, group);
            let element = Type::Num(self.ty.dtype);
            let (body, _) = b.region(|b| {
                let (into, part) = (b.arg(element.clone()), b.arg(element.clone()));
                let next = self.of.update.apply(b, into, part);
                b.effect(Op::Yield, &[next]);
            });
            let ty = Type::tensor(self.ty.clone());
            let sum = b.op(Op::NtElementwise, &[self.of.array, row], &[ty], &[body]);
            let sum = b.func.op(sum).results[0];
            b.effect(Op::NtCopy, &[self.of.array, sum]);
            b.effect(Op::Yield, &[]);
        });
        b.op(Op::ScfFor, &[zero, groups.rows, one], &[], &[each]);
    }
}
