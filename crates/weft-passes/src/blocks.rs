//! Loops around array statements become loops over blocks of rows, with the loop inside.
//!
//! In and out: a host function at stage `fused`, edited in place. In
//!
//! ```text
//! for k in range(1, n):
//!     c[:, k] = a[:, k] - b * c[:, k - 1]
//! ```
//!
//! no row needs another row: some rows can go through all turns before the others begin. So threads share the rows for the
//! whole loop, not for each statement of each turn, and a block is small enough to stay in the cache from turn to turn. What
//! is computed, and in which order for each element, does not change: nor do bits.
//!
//! Rows are the first axis of the space that all statements of the loop share. An array that is written must be
//! walked along by that axis at the same start and step wherever it is used; arrays that are only read may be read anyhow.
//! Where the elements of a plane lie apart and those of different turns together (`c[:, :, k]`), a block goes through the loop
//! element by element: memory is read as it lies, and temporaries are numbers.
//! Different arrays may still share memory: where they do, which is found out at run time, there is one block of all rows.

use crate::canon;
use crate::loops::cost;
use std::collections::{BTreeMap, BTreeSet};
use weft_ir::attr::{self, Const};
use weft_ir::{Builder, Dim, Func, Layout, Op, OpData, OpId, RegionId, TensorType, Type, ValueId};

/// Bytes that a block may go through in all turns: what a core keeps near for itself.
const NEAR: i64 = 1 << 18;
/// Most blocks that are made for threads to share.
const SHARED: i64 = 16;
/// Fewest views across memory that make a loop go element by element.
const ACROSS: usize = 4;
/// Fewest elements of a block, if a row's elements lie apart, and if they lie together: what one turn writes should have left the
/// core before the next reads it.
const LEAST: (i64, i64) = (96, 512);

/// The step.
pub fn run(f: &mut Func) {
    hoist(f, f.body);
    visit(f, f.body);
}

/// Sizes of slices that are the same in every turn of a loop around array statements, dots or products are found before it.
fn hoist(f: &mut Func, region: RegionId) {
    let mut at = 0;
    while at < f.region(region).ops.len() {
        let id = f.region(region).ops[at];
        at += 1;
        if matches!(f.op(id).op, Op::NtElementwise | Op::EnvRegion { .. }) {
            continue;
        }
        f.op(id).regions.clone().into_iter().for_each(|r| hoist(f, r));
        if f.op(id).op != Op::ScfFor {
            continue;
        }
        let body = f.op(id).regions[0];
        let product = |op: &Op| matches!(op, Op::NtDot | Op::NtMatmul);
        let products = || f.region(body).ops.iter().any(|&op| product(&f.op(op).op));
        if first_space(f, body).is_none() && !products() {
            continue;
        }
        let mut inside: BTreeSet<ValueId> = f.region(body).args.iter().copied().collect();
        let (mut stay, mut go) = (vec![], vec![]);
        for op in std::mem::take(&mut f.regions[body.index()].ops) {
            let data = f.op(op);
            if is_harmless(f, data) && !data.operands.iter().any(|v| inside.contains(v)) {
                go.push(op);
            } else {
                inside.extend(&data.results);
                stay.push(op);
            }
        }
        f.regions[body.index()].ops = stay;
        let moved = go.len();
        f.regions[region.index()].ops.splice(at - 1..at - 1, go);
        at += moved;
    }
}

/// Whether an op can be done though the loop may have no turn.
fn is_harmless(f: &Func, data: &OpData) -> bool {
    use Op::*;
    let positive = |v: ValueId| {
        let def = f.ops.iter().find(|o| o.results.first() == Some(&v));
        def.is_some_and(|o| matches!(o.op, Const { value: attr::Const::Int(n) } if n > 0))
    };
    match data.op {
        Const { .. } | Cast | Add | Sub | Mul | Neg | Min | Max | Select | Cmp { .. } => true,
        NtDim { .. } | ShapeBind { .. } => true,
        FloorDiv | Mod => positive(data.operands[1]),
        _ => false,
    }
}

fn visit(f: &mut Func, region: RegionId) {
    for id in f.region(region).ops.clone() {
        match &f.op(id).op {
            Op::ScfFor => match Plan::new(f, id) {
                Some(plan) => plan.rewrite(f, region, id),
                None => visit(f, f.op(id).regions[0]),
            },
            Op::ScfIf | Op::ScfLoop | Op::ScfBlock | Op::ScfTry => {
                f.op(id).regions.clone().into_iter().for_each(|r| visit(f, r));
            }
            _ => {}
        }
    }
}

/// How an array is walked along by the rows of the space.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Walk {
    axis: u32,
    start: Number,
    step: Number,
}

/// A number that may be known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    Known(i64),
    Value(ValueId),
}

/// What a loop does with an array from outside.
struct Use {
    array: ValueId,
    /// None: the same for all rows.
    walk: Option<Walk>,
    /// How the other axes of the space walk along it.
    others: Vec<Walk>,
    /// Where the turns move along its last axis, so that neighbours in memory are of different turns.
    across: bool,
    /// Whether turns see different parts of it.
    moves: bool,
    written: bool,
}

/// What a loop is found to be.
#[derive(Default)]
struct Plan {
    /// Sizes that all statements share.
    space: Vec<Dim>,
    uses: Vec<Use>,
    /// Views whose start and size change, by their op; values whose size changes.
    views: Vec<OpId>,
    made: Vec<ValueId>,
    /// Arrays from outside that statements use as they are.
    whole: BTreeSet<ValueId>,
    /// Values that the loop defines.
    inside: BTreeSet<ValueId>,
    /// Whether everything that statements use has the sizes of the space, and none asks where in it an element is.
    full: bool,
    /// Tenths of a nanosecond that a turn takes for an element.
    cost: u64,
}

impl Plan {
    fn new(f: &Func, id: OpId) -> Option<Plan> {
        let defs = canon::definitions(f);
        let space = first_space(f, f.op(id).regions[0])?;
        let mut plan = Plan { space, full: true, ..Plan::default() };
        let large = |d: &Dim| !matches!(d, Dim::Const(n) if *n < 16);
        if !plan.space.first().is_some_and(large) {
            return None;
        }
        plan.walk_loop(f, &defs, id)?;
        plan.is_apart().then_some(plan)
    }

    fn walk_loop(&mut self, f: &Func, defs: &[Option<OpId>], id: OpId) -> Option<()> {
        let data = f.op(id);
        let plain = data.results.is_empty() && data.operands.len() == 3;
        self.inside.extend(&f.region(data.regions[0]).args);
        plain.then(|| self.walk_region(f, defs, data.regions[0]))?
    }

    fn walk_region(&mut self, f: &Func, defs: &[Option<OpId>], region: RegionId) -> Option<()> {
        for &id in &f.region(region).ops {
            let data = f.op(id);
            let e = f.effects(id);
            self.inside.extend(&data.results);
            match &data.op {
                Op::ScfFor => self.walk_loop(f, defs, id)?,
                Op::ScfIf if data.results.is_empty() => {
                    data.regions.iter().try_for_each(|&r| self.walk_region(f, defs, r))?;
                }
                _ if e.may_raise => return None,
                Op::NtView { .. } => self.view(f, defs, id)?,
                Op::NtElementwise => self.statement(f, id)?,
                Op::NtInto => {
                    let inner = &f.region(data.regions[0]).ops;
                    let [made, _] = inner[..] else { return None };
                    self.inside.extend(&f.op(made).results);
                    if f.op(made).op != Op::NtElementwise {
                        return None;
                    }
                    self.statement(f, made)?;
                    self.touch(f, data.operands[0], true)?;
                    data.operands[1..].iter().try_for_each(|&mask| self.touch(f, mask, false))?;
                }
                Op::NtCopy => {
                    self.touch(f, data.operands[0], true)?;
                    self.touch(f, data.operands[1], false)?;
                }
                Op::NtDim { .. } if !self.inside.contains(&data.operands[0]) => {}
                Op::NtLoad { .. } if !self.inside.contains(&data.operands[0]) => {
                    self.uses.push(Use {
                        array: data.operands[0],
                        walk: None,
                        others: vec![],
                        across: false,
                        moves: true,
                        written: false,
                    });
                }
                Op::Yield => {}
                _ => {
                    let scalars = data.operands.iter().chain(&data.results).all(|&v| f.ty(v).as_tensor().is_none());
                    if !scalars || !data.regions.is_empty() || e.reads || e.writes || e.exits {
                        return None;
                    }
                }
            }
        }
        Some(())
    }

    /// A view of an array from outside that statements may use.
    fn view(&mut self, f: &Func, defs: &[Option<OpId>], id: OpId) -> Option<()> {
        let data = f.op(id);
        let Op::NtView { axes } = &data.op else { return None };
        let (array, result) = (data.operands[0], data.results[0]);
        if self.inside.contains(&array) {
            return None;
        }
        let last = canon::dims(f, array).len().checked_sub(1)?;
        let starts = data.operands[1..].iter().step_by(2);
        let moving: Vec<usize> = starts.enumerate().filter(|(_, v)| self.inside.contains(v)).map(|(k, _)| k).collect();
        let number = |v: ValueId| match defs[v.index()].map(|d| &f.op(d).op) {
            Some(Op::Const { value: Const::Int(n) }) => Number::Known(*n as i64),
            _ => Number::Value(v),
        };
        let walk_along = |axis: &i32| {
            let axis = u32::try_from(*axis).ok()?;
            let at = 1 + 2 * axis as usize;
            Some(Walk { axis, start: number(data.operands[at]), step: number(data.operands[at + 1]) })
        };
        let (mut walk, mut others) = (None, vec![]);
        if self.walks(f, result) {
            walk = Some(walk_along(axes.first()?)?);
            others = axes[1..].iter().filter_map(walk_along).collect();
            self.views.push(id);
            self.made.push(result);
        }
        let across = moving.contains(&last) && !axes.contains(&(last as i32));
        self.uses.push(Use { array, walk, others, across, moves: !moving.is_empty(), written: false });
        Some(())
    }

    /// Whether rows of the space are rows of an array.
    fn walks(&self, f: &Func, v: ValueId) -> bool {
        let dims = canon::dims(f, v);
        dims.len() == self.space.len() && dims[0] == self.space[0]
    }

    /// An elementwise op.
    fn statement(&mut self, f: &Func, id: OpId) -> Option<()> {
        let data = f.op(id);
        let (mut row, mut position) = (false, false);
        f.walk_region(data.regions[0], &mut |op| {
            row |= f.op(op).op == Op::NtPosition { dim: 0 };
            position |= matches!(f.op(op).op, Op::NtPosition { .. });
        });
        self.full &= !position;
        if row || data.results.iter().any(|&v| canon::dims(f, v) != self.space) {
            return None;
        }
        self.made.extend(&data.results);
        self.cost += cost::tenths(f, data.regions[0]);
        data.operands.iter().try_for_each(|&v| self.touch(f, v, false))
    }

    /// An array that a statement reads or writes; its sizes are the space's, or repeat.
    fn touch(&mut self, f: &Func, v: ValueId, written: bool) -> Option<()> {
        if f.ty(v).as_tensor().is_none() {
            return Some(());
        }
        let walks = self.walks(f, v);
        self.full &= canon::dims(f, v) == self.space;
        if written && (!walks || canon::dims(f, v) != self.space) {
            return None;
        }
        self.cost += 3;
        if !self.inside.contains(&v) {
            let whole = |axis: u32| Walk { axis, start: Number::Known(0), step: Number::Known(1) };
            if walks {
                self.whole.insert(v);
            }
            let (walk, others) = (walks.then(|| whole(0)), (1..self.space.len() as u32).map(whole).collect());
            self.uses.push(Use { array: v, walk, others, across: false, moves: false, written });
            return Some(());
        }
        if written {
            // A view from above: what is made inside is written by nobody.
            let array = self.viewed(f, v)?;
            self.uses.iter_mut().filter(|u| u.array == array).for_each(|u| u.written = true);
        }
        Some(())
    }

    fn viewed(&self, f: &Func, v: ValueId) -> Option<ValueId> {
        let view = self.views.iter().find(|&&id| f.op(id).results[0] == v)?;
        Some(f.op(*view).operands[0])
    }

    /// Whether no row that is written is another row of the same array elsewhere.
    fn is_apart(&self) -> bool {
        let written = self.written();
        let apart = |array: &ValueId| {
            let mut walks = self.uses.iter().filter(|u| u.array == *array).map(|u| u.walk);
            let first = walks.next().flatten();
            first.is_some_and(|w| self.is_fixed(w)) && walks.all(|w| w == first)
        };
        !written.is_empty() && written.iter().all(apart)
    }

    /// Whether, if rows are apart, their elements are too.
    fn elements_are_apart(&self) -> bool {
        self.written().iter().all(|array| {
            let mut others = self.uses.iter().filter(|u| u.array == *array).map(|u| &u.others);
            let first = others.next();
            first.is_some_and(|walks| walks.iter().all(|&w| self.is_fixed(w))) && others.all(|o| Some(o) == first)
        })
    }

    fn written(&self) -> BTreeSet<ValueId> {
        self.uses.iter().filter(|u| u.written).map(|u| u.array).collect()
    }

    /// Whether it is the same in every turn.
    fn is_fixed(&self, walk: Walk) -> bool {
        let fixed = |n: Number| !matches!(n, Number::Value(v) if self.inside.contains(&v));
        fixed(walk.start) && fixed(walk.step)
    }

    // ---- the new form ------------------------------------------------------------------------

    fn rewrite(self, f: &mut Func, region: RegionId, id: OpId) {
        let span = f.op(id).span;
        let before = f.new_region();
        let symbol = Dim::Sym(f.new_symbol());
        let turns = f.op(id).operands.to_vec();
        let Some(rows) = self.size(f, before, id, self.space[0]) else {
            return visit(f, f.op(id).regions[0]);
        };
        let others: Vec<ValueId> = self.space[1..].iter().filter_map(|&d| self.size(f, before, id, d)).collect();
        let alone = self.goes_alone() && others.len() + 1 == self.space.len();
        let (count, length, work) = self.blocks(f, before, id, rows, &turns);
        let mut at = Builder { func: f, region: before, span };
        let (block, index) = at.region(|b| b.arg(Type::I64));
        at.op(Op::ParBlocks { cost: self.cost.div_ceil(10) as u32 }, &[count, work], &[], &[block]);
        let mut at = Builder { func: f, region: block, span };
        let first = at.value(Op::Mul, &[index, length], Type::I64);
        let left = at.value(Op::Sub, &[rows, first], Type::I64);
        let size = at.value(Op::Min, &[length, left], Type::I64);
        let (inner, part) = if alone {
            let end = at.value(Op::Add, &[first, size], Type::I64);
            let mut part = Part { starts: vec![], sizes: vec![Dim::Const(1); self.space.len()] };
            (nest(&mut at, first, end, &others, &mut part.starts), part)
        } else {
            at.effect(Op::ShapeBind { dim: symbol }, &[size]);
            (block, Part { starts: vec![first], sizes: vec![symbol] })
        };
        let views = self.parts(&mut Builder { func: f, region: inner, span }, &part);
        f.regions[inner.index()].ops.push(id);
        Builder { func: f, region: inner, span }.effect(Op::Yield, &[]);
        if alone {
            Builder { func: f, region: block, span }.effect(Op::Yield, &[]);
        }
        self.narrow(f, id, &part, &views);
        let ops = std::mem::take(&mut f.regions[before.index()].ops);
        let place = &mut f.regions[region.index()].ops;
        let at = place.iter().position(|&op| op == id).unwrap_or(0);
        place.splice(at..=at, ops);
    }

    /// A size of the space, as far as it can be told before the loop.
    fn size(&self, f: &mut Func, region: RegionId, id: OpId, d: Dim) -> Option<ValueId> {
        let span = f.op(id).span;
        if let Dim::Const(n) = d {
            return Some(Builder { func: f, region, span }.i64(n as i64));
        }
        let whole = self.uses.iter().find_map(|u| {
            let axis = canon::dims(f, u.array).iter().position(|&have| have == d)?;
            Some((u.array, axis as u32))
        });
        if let Some((array, dim)) = whole {
            let mut at = Builder { func: f, region, span };
            let n = at.value(Op::NtDim { dim }, &[array], Type::PYINT);
            return Some(at.cast(n, Type::I64));
        }
        let mut bound = None;
        f.walk(&mut |op| {
            if f.op(op).op == (Op::ShapeBind { dim: d }) {
                bound = Some(f.op(op).operands[0]);
            }
        });
        let bound = bound.filter(|v| !self.inside.contains(v))?;
        Some(Builder { func: f, region, span }.cast(bound, Type::I64))
    }

    /// How many blocks there are, the rows of each, and the elements that one goes through.
    fn blocks(
        &self,
        f: &mut Func,
        region: RegionId,
        id: OpId,
        rows: ValueId,
        turns: &[ValueId],
    ) -> (ValueId, ValueId, ValueId) {
        let span = f.op(id).span;
        let inner: Vec<ValueId> = self.space[1..].iter().filter_map(|&d| self.size(f, region, id, d)).collect();
        let bytes = self.bytes(f, region, id);
        let overlaps = self.overlaps(f, region, id);
        let mut at = Builder { func: f, region, span };
        let mut i64s = |op: Op, a: ValueId, b: ValueId| at.value(op, &[a, b], Type::I64);
        let mut elements = rows;
        for &n in &inner {
            elements = i64s(Op::Mul, elements, n);
        }
        let lies_apart = self.uses.iter().any(|u| u.across);
        let least = if lies_apart { LEAST.0 } else { LEAST.1 };
        let (count, length) = Cut { near: NEAR, least, overlaps }.of(&mut at, rows, elements, bytes);
        let one = at.i64(1);
        // Turns of the loop, if its step is 1 or -1.
        let [lo, hi, ..] = turns[..] else { return (count, length, one) };
        let (lo, hi) = (at.cast(lo, Type::I64), at.cast(hi, Type::I64));
        let mut i64s = |op: Op, a: ValueId, b: ValueId| at.value(op, &[a, b], Type::I64);
        let (up, down) = (i64s(Op::Sub, hi, lo), i64s(Op::Sub, lo, hi));
        let turns = i64s(Op::Max, up, down);
        let mut work = i64s(Op::Mul, turns, length);
        for n in inner {
            work = i64s(Op::Mul, work, n);
        }
        (count, length, i64s(Op::Max, work, one))
    }

    /// Bytes of a row of all arrays, as far as turns come back to them.
    fn bytes(&self, f: &mut Func, region: RegionId, id: OpId) -> ValueId {
        let span = f.op(id).span;
        let arrays: BTreeMap<ValueId, &Use> = self.uses.iter().map(|u| (u.array, u)).collect();
        let mut sum = Builder { func: f, region, span }.i64(0);
        for (array, used) in arrays {
            let Some(walk) = used.walk else { continue };
            let Some(ty) = f.ty(array).as_tensor().cloned() else { continue };
            if used.moves && !used.across {
                continue;
            }
            let mut at = Builder { func: f, region, span };
            let mut bytes = at.i64(ty.dtype.size() as i64);
            for dim in (0..ty.rank() as u32).filter(|&k| k != walk.axis) {
                let n = at.value(Op::NtDim { dim }, &[array], Type::PYINT);
                let n = at.cast(n, Type::I64);
                bytes = at.value(Op::Mul, &[bytes, n], Type::I64);
            }
            sum = at.value(Op::Add, &[sum, bytes], Type::I64);
        }
        sum
    }

    /// Whether an array that is written shares memory with another one.
    fn overlaps(&self, f: &mut Func, region: RegionId, id: OpId) -> Option<ValueId> {
        let span = f.op(id).span;
        let all: BTreeMap<ValueId, bool> = self.uses.iter().fold(BTreeMap::new(), |mut all, u| {
            *all.entry(u.array).or_default() |= u.written;
            all
        });
        let mut any = None;
        for (&a, _) in all.iter().filter(|(_, written)| **written) {
            for (&b, &also) in all.iter().filter(|(b, _)| **b != a) {
                if also && b < a {
                    continue;
                }
                let mut at = Builder { func: f, region, span };
                let meet = at.value(Op::NtOverlaps, &[a, b], Type::BOOL);
                any = Some(match any {
                    None => meet,
                    Some(other) => at.value(Op::Or, &[other, meet], Type::BOOL),
                });
            }
        }
        any
    }

    /// Whether elements go through the loop one by one.
    fn goes_alone(&self) -> bool {
        let across = self.uses.iter().filter(|u| u.across).count();
        let follows = |u: &Use| u.walk.is_some() && (u.across || !u.moves);
        let possible = self.full && self.elements_are_apart();
        self.space.len() > 1 && across >= ACROSS && possible && self.uses.iter().all(follows)
    }

    /// The part of a block of the arrays that statements use as they are.
    fn parts(&self, at: &mut Builder<'_>, part: &Part) -> BTreeMap<ValueId, ValueId> {
        let mut parts = BTreeMap::new();
        for &array in &self.whole {
            let Some(ty) = at.func.ty(array).as_tensor().cloned() else { continue };
            let (zero, one) = (at.i64(0), at.i64(1));
            let mut operands = vec![array];
            for k in 0..ty.rank() {
                operands.extend([part.starts.get(k).copied().unwrap_or(zero), one]);
            }
            let axes = (0..ty.rank() as i32).collect();
            let ty = Type::tensor(part.of(&ty, true));
            parts.insert(array, at.value(Op::NtView { axes }, &operands, ty));
        }
        parts
    }

    /// Lets the loop do what it does for a part only.
    fn narrow(&self, f: &mut Func, id: OpId, part: &Part, parts: &BTreeMap<ValueId, ValueId>) {
        let views: BTreeSet<ValueId> = self.views.iter().map(|&op| f.op(op).results[0]).collect();
        for &v in &self.made {
            if let Some(ty) = f.ty(v).as_tensor().cloned() {
                f.values[v.index()].ty = Type::tensor(part.of(&ty, views.contains(&v)));
            }
        }
        let mut regions = f.op(id).regions.to_vec();
        while let Some(region) = regions.pop() {
            let ops = std::mem::take(&mut f.regions[region.index()].ops);
            for op in ops {
                if self.views.contains(&op) {
                    shift(f, region, op, &part.starts);
                }
                let data = &mut f.ops[op.index()];
                if matches!(data.op, Op::NtElementwise | Op::NtInto | Op::NtCopy) {
                    data.operands.iter_mut().for_each(|v| *v = parts.get(v).copied().unwrap_or(*v));
                }
                if data.op != Op::NtElementwise {
                    regions.extend(&data.regions);
                }
                f.regions[region.index()].ops.push(op);
            }
        }
    }
}

/// How rows are cut into blocks.
pub(crate) struct Cut {
    /// Bytes that a block may go through.
    pub near: i64,
    /// Fewest elements of a block.
    pub least: i64,
    /// Where this holds there is one block.
    pub overlaps: Option<ValueId>,
}

impl Cut {
    /// How many blocks there are, and the rows of each: of so many rows, elements in all, and bytes of a row.
    pub(crate) fn of(
        self,
        at: &mut Builder<'_>,
        rows: ValueId,
        elements: ValueId,
        bytes: ValueId,
    ) -> (ValueId, ValueId) {
        let (near, least, most, one) = (at.i64(self.near), at.i64(self.least), at.i64(SHARED), at.i64(1));
        let mut i64s = |op: Op, operands: &[ValueId]| at.value(op, operands, Type::I64);
        let possible = i64s(Op::FloorDiv, &[elements, least]);
        let shared = i64s(Op::Min, &[possible, most]);
        let all = i64s(Op::Mul, &[rows, bytes]);
        let cached = i64s(Op::FloorDiv, &[all, near]);
        let mut count = i64s(Op::Max, &[shared, cached]);
        for limit in [possible, rows] {
            count = i64s(Op::Min, &[count, limit]);
        }
        count = i64s(Op::Max, &[count, one]);
        if let Some(overlaps) = self.overlaps {
            count = i64s(Op::Select, &[overlaps, one, count]);
        }
        let mut up = |n: ValueId, by: ValueId| {
            let n = i64s(Op::Add, &[n, by]);
            let n = i64s(Op::Sub, &[n, one]);
            let parts = i64s(Op::FloorDiv, &[n, by]);
            i64s(Op::Max, &[parts, one])
        };
        let length = up(rows, count);
        // No rows are no block.
        let count = up(rows, length);
        (i64s(Op::Min, &[count, rows]), length)
    }
}

/// What of the space a loop goes through at once.
struct Part {
    /// Where it begins, and how large it is, along the first axes.
    starts: Vec<ValueId>,
    sizes: Vec<Dim>,
}

impl Part {
    /// The same part of an array.
    fn of(&self, ty: &TensorType, view: bool) -> TensorType {
        let dims = [&self.sizes[..], &ty.dims[self.sizes.len()..]].concat();
        let layout = match ty.layout {
            _ if dims.iter().all(|d| *d == Dim::Const(1)) => Layout::C,
            Layout::F if view && dims.len() > 1 => Layout::A,
            layout => layout,
        };
        TensorType { dims, layout, ..ty.clone() }
    }
}

/// Loops over the rows of a block and over the other axes: the region inside them, and the indices.
fn nest(
    at: &mut Builder<'_>,
    first: ValueId,
    end: ValueId,
    others: &[ValueId],
    indices: &mut Vec<ValueId>,
) -> RegionId {
    let (lo, hi) = (at.cast(first, Type::PYINT), at.cast(end, Type::PYINT));
    let one = at.constant(Const::Int(1), Type::PYINT);
    let (region, index) = at.region(|b| b.arg(Type::PYINT));
    at.op(Op::ScfFor, &[lo, hi, one], &[], &[region]);
    let mut inner = Builder { func: at.func, region, span: at.span };
    indices.push(inner.cast(index, Type::I64));
    let Some((&next, rest)) = others.split_first() else { return region };
    let zero = inner.i64(0);
    let innermost = nest(&mut inner, zero, next, rest, indices);
    inner.effect(Op::Yield, &[]);
    innermost
}

/// Lets a view begin where a part does.
fn shift(f: &mut Func, region: RegionId, view: OpId, starts: &[ValueId]) {
    let span = f.op(view).span;
    let Op::NtView { axes } = f.op(view).op.clone() else { return };
    for (&first, axis) in starts.iter().zip(axes) {
        let Ok(axis) = usize::try_from(axis) else { continue };
        let at = 1 + 2 * axis;
        let (start, step) = (f.op(view).operands[at], f.op(view).operands[at + 1]);
        let mut b = Builder { func: f, region, span };
        let rows = b.value(Op::Mul, &[first, step], Type::I64);
        let start = b.value(Op::Add, &[start, rows], Type::I64);
        f.ops[view.index()].operands[at] = start;
    }
}

/// The space of the first statement of a loop.
fn first_space(f: &Func, region: RegionId) -> Option<Vec<Dim>> {
    let mut found = None;
    f.walk_region(region, &mut |id| {
        let data = f.op(id);
        let array = match data.op {
            Op::NtElementwise => data.results.first().copied(),
            _ => data.written().first().copied(),
        };
        found = found.take().or_else(|| array.map(|v| canon::dims(f, v).to_vec()));
    });
    found.filter(|dims| !dims.is_empty())
}
