//! Products of one vector and a matrix, one in each turn of a loop, become products of matrices, for many turns at a time.
//!
//! In and out: a host function at stage `fused`, edited in place. `for i in range(n): … x[:, i] @ m[:, i:] …` reads the matrix from
//! memory in every turn; the product of a panel of vectors with it reads it once for all of them. So the loop is cut into
//! panels: for each the product is computed, then its turns run, each of which takes its row. Which columns the turns of a
//! panel need is asked of the first and the last; a turn that needs others computes them itself. So do all where
//! arrays may share memory, where turns are few, or where most of the product would be for nothing.

use crate::canon;
use crate::fuse::each_op;
use crate::turn::{self, Inside, TURNS, Vector};
use std::collections::{BTreeMap, BTreeSet};
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{Builder, DType, Dim, Func, Layout, Op, OpData, OpId, RegionId, TensorType, Type, ValueId};

/// Turns of a panel: many enough that reading the matrix is little beside multiplying.
const PANEL: i64 = 256;

/// The step.
pub fn run(f: &mut Func) {
    each_op(f, f.body, &mut |f, region, at| {
        let id = f.region(region).ops[at];
        let turn = *f.op(id).regions.first().filter(|_| f.op(id).op == Op::ScfFor)?;
        // Everything else looks at the whole function.
        f.region(turn).ops.iter().find(|&&op| f.op(op).op == Op::NtMatmul)?;
        let found = find(f, id, turn)?;
        Some(rewrite(f, &found, region, at))
    });
}

/// A product in the turn of a loop.
struct Found {
    product: OpId,
    /// The vector, the axis of its array along which it moves on, and how far it is.
    vector: Vector,
    along: usize,
    index: ValueId,
    matrix: Matrix,
    /// The matrix stands on the left.
    turned: bool,
    /// Arrays that must not share memory.
    apart: BTreeSet<(ValueId, ValueId)>,
}

/// The matrix: an array, where it begins and by how much it goes on along its axes, or nothing of that where it is the array.
struct Matrix {
    array: ValueId,
    walk: Vec<ValueId>,
    /// The axes of the array along which products are summed, and results lie.
    summed: usize,
    across: usize,
    cut: Option<Cut>,
}

/// What a turn needs of the columns: the first, and how many.
struct Cut {
    start: ValueId,
    count: ValueId,
}

fn find(f: &Func, id: OpId, turn: RegionId) -> Option<Vec<Found>> {
    let defs = canon::definitions(f);
    let ops = &f.region(turn).ops;
    let leaves = ops.iter().any(|&op| f.op(op).op != Op::Yield && f.effects(op).exits);
    if leaves || !turn::goes_by_one(f, &defs, id) {
        return None;
    }
    let inside = Inside::new(f, turn);
    let products = ops.iter().enumerate().filter(|(_, op)| f.op(**op).op == Op::NtMatmul);
    let found: Vec<Found> = products
        .filter(|(at, op)| inside.reaches(f, *at) && is_only_read(f, turn, f.op(**op).results[0]))
        .filter_map(|(at, &product)| {
            Found::new(f, &defs, &inside, (product, at), false)
                .or_else(|| Found::new(f, &defs, &inside, (product, at), true))
        })
        .collect();
    (!found.is_empty()).then_some(found)
}

/// Whether what a turn makes is only looked at in it: then it may be a part of something larger.
fn is_only_read(f: &Func, turn: RegionId, v: ValueId) -> bool {
    let mut fine = true;
    f.walk_region(turn, &mut |id| {
        let data = f.op(id);
        if data.operands.contains(&v) {
            fine &= match data.op {
                Op::NtView { .. } => is_only_read(f, turn, data.results[0]),
                Op::NtElementwise | Op::NtReduce { .. } | Op::NtDot | Op::NtMatmul | Op::NtLoad { .. } => true,
                Op::NtDim { .. } => true,
                Op::NtCopy => !data.written().contains(&v),
                _ => false,
            };
        }
    });
    fine
}

impl Found {
    fn new(
        f: &Func,
        defs: &[Option<OpId>],
        inside: &Inside,
        (product, at): (OpId, usize),
        turned: bool,
    ) -> Option<Found> {
        let data = f.op(product);
        let (vector, matrix) =
            if turned { (data.operands[1], data.operands[0]) } else { (data.operands[0], data.operands[1]) };
        let (flat, ty) = (f.op(defs[vector.index()]?), f.ty(matrix).as_tensor()?);
        let new_axis = if turned { [0, -1] } else { [-1, 0] };
        let is_flat = flat.op == Op::NtView { axes: new_axis.to_vec() }
            && turn::is_number(f, defs, flat.operands[1], 0)
            && turn::is_number(f, defs, flat.operands[2], 1);
        let axes = if turned { [1, 0] } else { [0, 1] };
        if !is_flat || ty.rank() != 2 || !ty.place.is_host() || matches!(ty.dtype, DType::Bool | DType::F16) {
            return None;
        }
        let (summed, across) = (ty.dims[axes[0]], ty.dims[axes[1]]);
        // Few known ones are multiplied in place.
        let short = matches!(summed, Dim::Const(n) if n < TURNS as u64) || inside.sizes.contains(&summed);
        if short || canon::dims(f, flat.operands[0]) != [summed] {
            return None;
        }
        let (vector, along, index) = inside.moved(f, defs, flat.operands[0])?;
        let matrix = Matrix::new(f, defs, inside, matrix, axes, across)?;
        let all = Vector { array: matrix.array, walk: vec![], axis: 0 };
        let apart = inside.apart(f, defs, at, &all, (&vector, along))?;
        Some(Found { product, vector, along, index, matrix, turned, apart })
    }
}

impl Matrix {
    fn new(
        f: &Func,
        defs: &[Option<OpId>],
        inside: &Inside,
        v: ValueId,
        axes: [usize; 2],
        size: Dim,
    ) -> Option<Matrix> {
        let [summed, across] = axes;
        let varies = inside.sizes.contains(&size);
        if !inside.values.contains(&v) {
            return (!varies).then_some(Matrix { array: v, walk: vec![], summed, across, cut: None });
        }
        // A view of a view that only names its axes in another order, as `.T` does, is one of what that is of.
        let (mut data, mut along) = (f.op(defs[v.index()]?), [summed as i32, across as i32]);
        let (array, walk) = loop {
            let Op::NtView { axes } = &data.op else { return None };
            along = along.map(|axis| axes.get(axis as usize).copied().unwrap_or(-1));
            let (array, walk) = (data.operands[0], &data.operands[1..]);
            if along.contains(&-1) || !inside.values.contains(&array) {
                break (array, walk.to_vec());
            }
            let whole = |walk: &[ValueId]| turn::is_number(f, defs, walk[0], 0) && turn::is_number(f, defs, walk[1], 1);
            if !walk.chunks(2).all(whole) {
                return None;
            }
            data = f.op(defs[array.index()]?);
        };
        let [summed, across] = along.map(usize::try_from);
        let (summed, across) = (summed.ok()?, across.ok()?);
        let still = |at: usize| at == 2 * across || !inside.values.contains(&walk[at]);
        if inside.values.contains(&array) || !(0..walk.len()).all(still) {
            return None;
        }
        let (start, moves) = (walk[2 * across], inside.values.contains(&walk[2 * across]));
        if !varies {
            return (!moves).then_some(Matrix { array, walk, summed, across, cut: None });
        }
        let count = inside.bound(f, size)?;
        let known = [start, count].iter().all(|&v| inside.follows(f, defs, v));
        let neighbours = turn::is_number(f, defs, walk[2 * across + 1], 1);
        (known && neighbours).then_some(Matrix { array, walk, summed, across, cut: Some(Cut { start, count }) })
    }
}

/// The product of a panel, as its turns need to know it.
struct Panel {
    product: ValueId,
    /// Whether there is one; the first turn, and the first and the last of the columns.
    pays: ValueId,
    first: ValueId,
    columns: Option<[ValueId; 2]>,
}

/// Puts a loop over panels in the place of a loop. Returns the position after it.
fn rewrite(f: &mut Func, found: &[Found], region: RegionId, at: usize) -> usize {
    let id = f.region(region).ops[at];
    let data = f.op(id).clone();
    let turn = data.regions[0];
    let mut types: Vec<Type> = f.region(turn).args.iter().map(|&v| f.ty(v).clone()).collect();
    let counter = types.remove(0);
    let setup = f.new_region();
    let mut b = Builder { func: f, region: setup, span: data.span };
    let (lo, hi) = (b.cast(data.operands[0], Type::I64), b.cast(data.operands[1], Type::I64));
    let (zero, few, most) = (b.i64(0), b.i64(TURNS), b.i64(PANEL));
    let turns = turn::count(&mut b, lo, hi);
    let tests = [(CmpOp::Le, zero, lo), (CmpOp::Le, few, turns)];
    let tests = tests.map(|(is, x, y)| b.value(Op::Cmp { is }, &[x, y], Type::BOOL));
    let pays = b.value(Op::And, &tests, Type::BOOL);
    let pays: Vec<ValueId> = found.iter().map(|one| one.may_pay(&mut b, pays, hi)).collect();
    let step = b.constant(Const::Int(PANEL.into()), counter.clone());
    let (panels, inner) = b.region(|b| {
        let first = b.arg(counter.clone());
        let carried: Vec<ValueId> = types.iter().map(|ty| b.arg(ty.clone())).collect();
        let p = b.cast(first, Type::I64);
        let left = b.value(Op::Sub, &[hi, p], Type::I64);
        let count = b.value(Op::Min, &[left, most], Type::I64);
        let end = b.value(Op::Add, &[p, count], Type::I64);
        let made: Vec<Panel> =
            found.iter().zip(&pays).map(|(one, &pays)| one.panel(b, turn, pays, [p, count])).collect();
        let end = b.cast(end, counter.clone());
        let mut operands = vec![first, end, data.operands[2]];
        operands.extend(&carried);
        let results: Vec<Type> = data.results.iter().map(|&v| b.ty(v)).collect();
        let inner = b.op(Op::ScfFor, &operands, &results, &[turn]);
        let results = b.func.op(inner).results.to_vec();
        b.effect(Op::Yield, &results);
        made
    });
    let mut operands = vec![data.operands[0], data.operands[1], step];
    operands.extend(&data.operands[3..]);
    let outer = b.op(Op::ScfFor, &operands, &[], &[panels]);
    f.ops[outer.index()].results = data.results.clone();
    f.ops[id.index()].results = Default::default();
    for (one, panel) in found.iter().zip(&inner) {
        one.take(f, turn, panel);
    }
    let setup = std::mem::take(&mut f.regions[setup.index()].ops);
    let next = at + setup.len();
    f.regions[region.index()].ops.splice(at..=at, setup);
    next
}

impl Found {
    /// Whether all turns have a vector, and arrays share no memory.
    fn may_pay(&self, b: &mut Builder<'_>, mut pays: ValueId, hi: ValueId) -> ValueId {
        let size = b.value(Op::NtDim { dim: self.along as u32 }, &[self.vector.array], Type::PYINT);
        let size = b.cast(size, Type::I64);
        let there = b.value(Op::Cmp { is: CmpOp::Le }, &[hi, size], Type::BOOL);
        pays = b.value(Op::And, &[pays, there], Type::BOOL);
        for &(x, y) in &self.apart {
            let meet = b.value(Op::NtOverlaps, &[x, y], Type::BOOL);
            let apart = b.value(Op::Not, &[meet], Type::BOOL);
            pays = b.value(Op::And, &[pays, apart], Type::BOOL);
        }
        pays
    }

    /// The product of some turns from the first on.
    fn panel(&self, b: &mut Builder<'_>, turn: RegionId, mut pays: ValueId, [first, count]: [ValueId; 2]) -> Panel {
        let data = b.func.op(self.product).clone();
        let around = std::mem::replace(&mut b.span, data.span);
        let operand = if self.turned { data.operands[0] } else { data.operands[1] };
        let ty = b.func.ty(operand).as_tensor().cloned();
        let ty = ty.expect("a matrix, as `find` has seen");
        let (summed, width) = if self.turned { (ty.dims[1], ty.dims[0]) } else { (ty.dims[0], ty.dims[1]) };
        let (zero, one) = (b.i64(0), b.i64(1));
        let rows = Dim::Sym(b.func.new_symbol());
        let (mut columns, mut width) = (None, width);
        if let Some(cut) = &self.matrix.cut {
            let end = b.value(Op::Add, &[first, count], Type::I64);
            let last = b.value(Op::Sub, &[end, one], Type::I64);
            let ends = [first, last].map(|at| cut.at_turn(b, turn, at));
            let stops = ends.map(|[start, count]| b.value(Op::Add, &[start, count], Type::I64));
            let from = b.value(Op::Min, &[ends[0][0], ends[1][0]], Type::I64);
            let to = b.value(Op::Max, &stops, Type::I64);
            // At least half of it is for something.
            let all = b.value(Op::Sub, &[to, from], Type::I64);
            let used = b.value(Op::Add, &[ends[0][1], ends[1][1]], Type::I64);
            let most = b.value(Op::Cmp { is: CmpOp::Le }, &[all, used], Type::BOOL);
            pays = b.value(Op::And, &[pays, most], Type::BOOL);
            let all = b.value(Op::Select, &[pays, all, zero], Type::I64);
            width = Dim::Sym(b.func.new_symbol());
            b.effect(Op::ShapeBind { dim: width }, &[all]);
            columns = Some([from, to]);
        }
        let count = b.value(Op::Select, &[pays, count, zero], Type::I64);
        let at = b.value(Op::Select, &[pays, first, zero], Type::I64);
        b.effect(Op::ShapeBind { dim: rows }, &[count]);
        // The factors are only read; the product is new.
        let of = |dims: [Dim; 2], layout| {
            let readonly = layout != Layout::C;
            Type::tensor(TensorType { dims: dims.to_vec(), layout, readonly, ..ty.clone() })
        };
        let mut operands = vec![self.vector.array];
        operands.extend(&self.vector.walk);
        operands[1 + 2 * self.along] = at;
        operands[2 + 2 * self.along] = one;
        let axes = vec![self.along as i32, self.vector.axis];
        let vectors = b.value(Op::NtView { axes }, &operands, of([rows, summed], Layout::A));
        let mut operands = vec![self.matrix.array];
        operands.extend(&self.matrix.walk);
        if self.matrix.walk.is_empty() {
            operands.extend([zero, one, zero, one]);
        }
        if let Some([from, _]) = columns {
            operands[1 + 2 * self.matrix.across] = b.value(Op::Select, &[pays, from, zero], Type::I64);
        }
        let axes = vec![self.matrix.summed as i32, self.matrix.across as i32];
        let matrix = b.value(Op::NtView { axes }, &operands, of([summed, width], Layout::A));
        let product = b.value(Op::NtMatmul, &[vectors, matrix], of([rows, width], Layout::C));
        b.span = around;
        Panel { product, pays, first, columns }
    }

    /// Takes a turn's row from the product, where it is in it.
    fn take(&self, f: &mut Func, turn: RegionId, panel: &Panel) {
        let data: OpData = f.op(self.product).clone();
        let ty = f.ty(data.results[0]).clone();
        let own = f.new_region();
        let mut b = Builder { func: f, region: own, span: data.span };
        let mut is_there = panel.pays;
        let cut = self.matrix.cut.as_ref().zip(panel.columns);
        if let Some((cut, [from, to])) = cut {
            let end = b.value(Op::Add, &[cut.start, cut.count], Type::I64);
            for (x, y) in [(from, cut.start), (end, to)] {
                let fits = b.value(Op::Cmp { is: CmpOp::Le }, &[x, y], Type::BOOL);
                is_there = b.value(Op::And, &[is_there, fits], Type::BOOL);
            }
        }
        let (taken, ()) = b.region(|b| {
            let (zero, one) = (b.i64(0), b.i64(1));
            let row = b.value(Op::Sub, &[self.index, panel.first], Type::I64);
            let column = cut.map_or(zero, |(cut, [from, _])| b.value(Op::Sub, &[cut.start, from], Type::I64));
            let axes = if self.turned { vec![1, 0] } else { vec![0, 1] };
            let part = b.value(Op::NtView { axes }, &[panel.product, row, one, column, one], ty.clone());
            b.effect(Op::Yield, &[part]);
        });
        let (computed, ()) = b.region(|b| {
            let product = b.value(Op::NtMatmul, &data.operands, ty);
            b.effect(Op::Yield, &[product]);
        });
        let choice = b.op(Op::ScfIf, &[is_there], &[], &[taken, computed]);
        f.ops[choice.index()].results = data.results.clone();
        f.ops[self.product.index()].results = Default::default();
        let own = std::mem::take(&mut f.regions[own.index()].ops);
        let ops = &mut f.regions[turn.index()].ops;
        if let Some(at) = ops.iter().position(|&op| op == self.product) {
            ops.splice(at..=at, own);
        }
    }
}

impl Cut {
    /// What another turn needs.
    fn at_turn(&self, b: &mut Builder<'_>, turn: RegionId, at: ValueId) -> [ValueId; 2] {
        let counter = b.func.region(turn).args[0];
        let ty = b.ty(counter);
        let at = b.cast(at, ty);
        let defs = canon::definitions(b.func);
        let mut known = BTreeMap::from([(counter, at)]);
        let inside = Inside::new(b.func, turn);
        [self.start, self.count].map(|v| {
            let v = inside.again(b, &defs, &mut known, v);
            b.cast(v, Type::I64)
        })
    }
}
