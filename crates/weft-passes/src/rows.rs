//! Statements that reduce rows, and use what came out for the same rows, go over blocks of rows together.
//!
//! In and out: a host function at stage `fused`, edited in place. In
//!
//! ```text
//! e = np.exp(x - x.max(axis=1, keepdims=True))
//! return e / e.sum(axis=1, keepdims=True)
//! ```
//!
//! no row needs another row: some rows can go through all statements before the others begin. So a block stays in the cache from
//! statement to statement, temporaries have the size of a block, and threads meet once. Every row is reduced in the order
//! it was: bits do not change.
//!
//! A row is what the first axes of all statements have in common; the others are those that are reduced. Several first axes
//! become one, which C-ordered arrays allow.

use crate::blocks::Cut;
use crate::canon;
use crate::fuse::each_op;
use crate::loops::cost;
use std::collections::{BTreeMap, BTreeSet};
use weft_ir::attr::Const;
use weft_ir::{Builder, Dim, Func, Layout, Op, OpData, OpId, RegionId, TensorType, Type, ValueId};

/// Bytes of all arrays that a block goes through: what a core keeps near for itself.
const NEAR: i64 = 1 << 17;
/// Fewest elements of a block.
const LEAST: i64 = 1 << 12;

/// The step. Blocks that run at once already are not cut again.
pub fn run(f: &mut Func) {
    each_op(f, f.body, &mut |f, region, at| match f.op(f.region(region).ops[at]).op {
        Op::NtReduce { .. } | Op::NtFold { .. } => Some(Group::new(f, region, at)?.rewrite(f, region)),
        Op::ParBlocks { .. } => Some(at + 1),
        _ => None,
    });
}

/// The array that a reduction takes away the last axes of, and how many are left; None if it is another kind of reduction.
fn reduced(f: &Func, id: OpId) -> Option<(ValueId, usize)> {
    let data = f.op(id);
    let (from, axes) = match &data.op {
        Op::NtReduce { axes, .. } => (data.operands[0], axes),
        Op::NtFold { axes, .. } => (*f.op(*f.region(data.regions[0]).ops.last()?).operands.first()?, axes),
        _ => return None,
    };
    let (ty, left) = (f.ty(from).as_tensor()?, *axes.first()? as usize);
    let last = (left as u32..ty.rank() as u32).eq(axes.iter().copied());
    (last && left > 0 && ty.layout == Layout::C && ty.place.is_host()).then_some((from, left))
}

/// Some statements of a region, and what stands between them.
struct Group {
    /// The sizes of the rows' axes.
    rows: Vec<Dim>,
    members: Vec<OpId>,
    /// What the members define.
    inside: BTreeSet<ValueId>,
    /// Ops between the members: those that come before them now, and those that need what the members compute.
    before: Vec<OpId>,
    after: Vec<OpId>,
    /// Where they all are in the region.
    from: usize,
    to: usize,
    /// Arrays from outside whose rows the members read.
    read: Vec<ValueId>,
    /// What members compute that others use.
    leaving: Vec<ValueId>,
}

impl Group {
    /// The group around a reduction.
    fn new(f: &Func, region: RegionId, at: usize) -> Option<Group> {
        let ops = &f.region(region).ops;
        let (source, left) = reduced(f, ops[at])?;
        let rows = canon::dims(f, source)[..left].to_vec();
        let ends = |id: &OpId| {
            let e = f.effects(*id);
            (e.writes && !matches!(f.op(*id).op, Op::ShapeBind { .. }))
                || e.exits
                || f.op(*id).op.is_terminator()
                || f.op(*id).op.dialect() == "env"
        };
        let from = ops[..at].iter().rposition(ends).map_or(0, |k| k + 1);
        let (members, inside, read, leaving) = Default::default();
        let mut group = Group { rows, members, inside, before: vec![], after: vec![], from, to: from, read, leaving };
        let mut later: BTreeSet<ValueId> = BTreeSet::new();
        let mut unbound: BTreeSet<Dim> = BTreeSet::new();
        for &id in ops[from..].iter().take_while(|id| !ends(id)) {
            let data = f.op(id);
            let mut used: Vec<ValueId> = data.operands.to_vec();
            data.regions.iter().for_each(|&r| f.walk_region(r, &mut |op| used.extend(&f.op(op).operands)));
            let waits = used.iter().any(|v| later.contains(v))
                || used.iter().chain(&data.results).flat_map(|&v| canon::dims(f, v)).any(|d| unbound.contains(d));
            if !waits && group.takes(f, id) {
                group.inside.extend(&data.results);
                group.members.push(id);
            } else if !waits && !used.iter().any(|v| group.inside.contains(v)) {
                group.before.push(id);
            } else if f.effects(id).may_raise || data.op.dialect() == "scf" {
                break;
            } else {
                later.extend(&data.results);
                if let Op::ShapeBind { dim } = data.op {
                    unbound.insert(dim);
                }
                group.after.push(id);
            }
            group.to += 1;
        }
        group.is_worth_it(f).then(|| group.finish(f))?
    }

    /// Whether an op is a statement of the group.
    fn takes(&self, f: &Func, id: OpId) -> bool {
        let data = f.op(id);
        let left = self.rows.len();
        match &data.op {
            Op::NtReduce { .. } | Op::NtFold { .. } => {
                let source = reduced(f, id).filter(|(_, n)| *n == left).map(|(from, _)| from);
                let inner = data.regions.first().map(|&r| f.region(r).ops[0]);
                source.is_some_and(|v| self.has_rows(f, v)) && inner.is_none_or(|op| self.computes(f, op))
            }
            Op::NtElementwise => self.computes(f, id),
            Op::NtView { axes } => {
                let same = |k: usize| {
                    let number = |v: ValueId, n: i128| {
                        let def = f.ops.iter().find(|o| o.results.first() == Some(&v));
                        def.is_some_and(|o| o.op == Op::Const { value: Const::Int(n) })
                    };
                    number(data.operands[1 + 2 * k], 0) && number(data.operands[2 + 2 * k], 1)
                };
                let whole = axes.iter().take(left).copied().eq(0..left as i32) && (0..left).all(same);
                let ordered = left == 1 || self.is_ordered(f, data.results[0]);
                self.inside.contains(&data.operands[0]) && whole && ordered && self.has_rows(f, data.results[0])
            }
            _ => false,
        }
    }

    /// Whether the first axes of an array are the rows.
    fn has_rows(&self, f: &Func, v: ValueId) -> bool {
        canon::dims(f, v).starts_with(&self.rows)
    }

    /// Whether a statement with so many axes takes an array row by row. Axes are matched from the last: the only axis of an
    /// array can have the size of the rows, and still be the statement's last.
    fn by_rows(&self, f: &Func, v: ValueId, rank: usize) -> bool {
        canon::dims(f, v).len() == rank && self.has_rows(f, v)
    }

    fn is_ordered(&self, f: &Func, v: ValueId) -> bool {
        f.ty(v).as_tensor().is_some_and(|t| t.layout == Layout::C)
    }

    /// Whether an elementwise op computes rows from the same rows.
    fn computes(&self, f: &Func, id: OpId) -> bool {
        let data = f.op(id);
        let left = self.rows.len();
        let mut row = false;
        f.walk_region(data.regions[0], &mut |op| {
            row |= matches!(f.op(op).op, Op::NtPosition { dim } if (dim as usize) < left);
        });
        let Some(rank) = data.results.first().map(|&v| canon::dims(f, v).len()) else { return false };
        let host = |v: ValueId| f.ty(v).as_tensor().is_none_or(|t| t.place.is_host());
        let result = |&v: &ValueId| self.has_rows(f, v) && self.is_ordered(f, v) && host(v);
        let operand = |&v: &ValueId| {
            if self.by_rows(f, v, rank) {
                return left == 1 || self.is_ordered(f, v);
            }
            // Anything else is the same for all rows, and there before the first.
            let dims = canon::dims(f, v);
            let beside = (left + dims.len()).saturating_sub(rank);
            !self.inside.contains(&v) && dims[..beside.min(dims.len())].iter().all(|d| *d == Dim::Const(1))
        };
        !row && !f.effects(id).may_raise
            && data.results.iter().all(result)
            && data.operands.iter().all(operand)
            && data.operands.iter().all(|&v| host(v))
    }

    /// The elementwise op of a statement.
    fn elementwise(f: &Func, id: OpId) -> Option<OpId> {
        match f.op(id).op {
            Op::NtElementwise => Some(id),
            Op::NtFold { .. } => Some(f.region(f.op(id).regions[0]).ops[0]),
            _ => None,
        }
    }

    /// The arrays that a statement reads row by row.
    fn rows_read(&self, f: &Func, id: OpId) -> Vec<ValueId> {
        let data = f.op(Group::elementwise(f, id).unwrap_or(id));
        match data.op {
            Op::NtElementwise => {
                let rank = canon::dims(f, data.results[0]).len();
                data.operands.iter().copied().filter(|&v| self.by_rows(f, v, rank)).collect()
            }
            _ => vec![data.operands[0]],
        }
    }

    /// Whether an array with more than one element in a row is gone through more than once.
    fn is_worth_it(&self, f: &Func) -> bool {
        let mut times: BTreeMap<ValueId, u32> = BTreeMap::new();
        let statements = self.members.iter().filter(|&&id| !matches!(f.op(id).op, Op::NtView { .. }));
        for &id in statements {
            let read = self.rows_read(f, id).into_iter();
            let touched: BTreeSet<ValueId> = read.chain(f.op(id).results.iter().copied()).collect();
            let large = |v: &&ValueId| canon::dims(f, **v).len() > self.rows.len();
            touched.iter().filter(large).for_each(|&v| *times.entry(v).or_default() += 1);
        }
        let reduces = self.members.iter().any(|&id| reduced(f, id).is_some());
        let small = |d: &Dim| matches!(d, Dim::Const(n) if *n < 16);
        reduces && times.values().any(|&n| n > 1) && !self.rows.iter().all(small)
    }

    /// Notes what comes in and what goes out.
    fn finish(mut self, f: &Func) -> Option<Group> {
        for &id in &self.members {
            for v in self.rows_read(f, id) {
                if !self.inside.contains(&v) && !self.read.contains(&v) {
                    self.read.push(v);
                }
            }
        }
        let own = self.own_ops(f);
        let mut used: BTreeSet<ValueId> = BTreeSet::new();
        f.walk(&mut |id| {
            if !own.contains(&id) {
                used.extend(&f.op(id).operands);
            }
        });
        self.leaving = self.inside.intersection(&used).copied().collect();
        // A view cannot leave: it would be one of a block.
        let views = self.members.iter().filter(|&&id| matches!(f.op(id).op, Op::NtView { .. }));
        let stay = views.flat_map(|&id| &f.op(id).results).all(|v| !self.leaving.contains(v));
        (stay && self.rows.iter().all(|&d| self.holder(f, d).is_some())).then_some(self)
    }

    /// The members and all ops inside them.
    fn own_ops(&self, f: &Func) -> BTreeSet<OpId> {
        let mut own: BTreeSet<OpId> = self.members.iter().copied().collect();
        let regions = self.members.iter().flat_map(|&id| &f.op(id).regions);
        regions.for_each(|&r| f.walk_region(r, &mut |op| own.extend([op])));
        own
    }

    /// An array from outside that has this size, and its axis.
    fn holder(&self, f: &Func, d: Dim) -> Option<(ValueId, u32)> {
        let of = |v: &ValueId| canon::dims(f, *v).iter().position(|&have| have == d).map(|k| (*v, k as u32));
        self.read.iter().find_map(of)
    }

    // ---- the new form ------------------------------------------------------------------------

    /// Puts the group into a loop over blocks. Returns the position after it.
    fn rewrite(self, f: &mut Func, region: RegionId) -> usize {
        let span = f.op(self.members[0]).span;
        let setup = f.new_region();
        let (rows, length, count, work) = self.blocks(f, setup);
        let (all, some) = (Dim::Sym(f.new_symbol()), Dim::Sym(f.new_symbol()));
        let mut at = Builder { func: f, region: setup, span };
        if self.rows.len() > 1 {
            at.effect(Op::ShapeBind { dim: all }, &[rows]);
        }
        // Whole arrays with one axis of rows, by the values that stand for them inside and outside.
        let mut whole: Vec<(ValueId, ValueId)> = vec![];
        let mut left: BTreeMap<ValueId, ValueId> = BTreeMap::new();
        for &v in &self.read {
            whole.push((v, self.flat(&mut at, v, all)));
        }
        for &v in &self.leaving {
            let full = at.value(Op::NtAlloc { zero: false }, &[], at.ty(v));
            left.insert(v, full);
            whole.push((v, self.flat(&mut at, full, all)));
        }
        let (block, index) = at.region(|b| b.arg(Type::I64));
        at.op(Op::ParBlocks { cost: self.cost(at.func) }, &[count, work], &[], &[block]);
        let mut at = Builder { func: f, region: block, span };
        let first = at.value(Op::Mul, &[index, length], Type::I64);
        let rest = at.value(Op::Sub, &[rows, first], Type::I64);
        let size = at.value(Op::Min, &[length, rest], Type::I64);
        at.effect(Op::ShapeBind { dim: some }, &[size]);
        let parts: BTreeMap<ValueId, ValueId> =
            whole.into_iter().map(|(v, array)| (v, part(&mut at, array, first, some))).collect();
        let own = self.own_ops(f);
        for (_, data) in f.ops.iter_mut().enumerate().filter(|(k, _)| !own.contains(&OpId(*k as u32))) {
            data.operands.iter_mut().for_each(|v| *v = left.get(v).copied().unwrap_or(*v));
        }
        let mut stands = parts.clone();
        stands.retain(|v, _| !self.leaving.contains(v));
        let by_rows: Vec<Vec<ValueId>> = self.members.iter().map(|&id| self.rows_read(f, id)).collect();
        for (&id, by_rows) in self.members.iter().zip(&by_rows) {
            let stand = by_rows.iter().filter_map(|v| Some((*v, *stands.get(v)?))).collect();
            self.narrow(f, id, some, &stand);
            self.place(f, block, id, &parts, &mut stands);
        }
        Builder { func: f, region: block, span }.effect(Op::Yield, &[]);
        let setup = std::mem::take(&mut f.regions[setup.index()].ops);
        let ops: Vec<OpId> = self.before.iter().chain(&setup).chain(&self.after).copied().collect();
        let next = self.from + self.before.len() + setup.len();
        f.regions[region.index()].ops.splice(self.from..self.to, ops);
        next
    }

    /// An array with one axis of rows.
    fn flat(&self, at: &mut Builder<'_>, v: ValueId, all: Dim) -> ValueId {
        let Some(ty) = at.func.ty(v).as_tensor().cloned().filter(|_| self.rows.len() > 1) else { return v };
        let ty = self.with_rows(&ty, all);
        at.value(Op::NtReshape, &[v], Type::tensor(ty))
    }

    /// A type with one axis of so many rows.
    fn with_rows(&self, ty: &TensorType, rows: Dim) -> TensorType {
        let dims = [&[rows], &ty.dims[self.rows.len()..]].concat();
        TensorType { dims, ..ty.clone() }
    }

    /// How many rows there are, the rows of a block, how many blocks, and the elements of one.
    fn blocks(&self, f: &mut Func, region: RegionId) -> (ValueId, ValueId, ValueId, ValueId) {
        let span = f.op(self.members[0]).span;
        let mut arrays: BTreeSet<ValueId> = self.read.iter().copied().collect();
        let computed = self.members.iter().filter(|&&id| !matches!(f.op(id).op, Op::NtView { .. }));
        arrays.extend(computed.flat_map(|&id| &f.op(id).results));
        // Bytes of the elements of a row, by its sizes.
        let mut items: BTreeMap<Vec<Dim>, i64> = BTreeMap::new();
        for ty in arrays.into_iter().filter_map(|v| f.ty(v).as_tensor()) {
            *items.entry(ty.dims[self.rows.len()..].to_vec()).or_default() += ty.dtype.size() as i64;
        }
        let mut at = Builder { func: f, region, span };
        let rows = self.product(&mut at, &self.rows);
        let (mut bytes, mut elements) = (at.i64(0), at.i64(1));
        for (dims, size) in items {
            let (size, wide) = (at.i64(size), self.product(&mut at, &dims));
            let row = at.value(Op::Mul, &[size, wide], Type::I64);
            bytes = at.value(Op::Add, &[bytes, row], Type::I64);
            elements = at.value(Op::Max, &[elements, wide], Type::I64);
        }
        let all = at.value(Op::Mul, &[rows, elements], Type::I64);
        let (count, length) = Cut { near: NEAR, least: LEAST, overlaps: None }.of(&mut at, rows, all, bytes);
        let work = at.value(Op::Mul, &[length, elements], Type::I64);
        (rows, length, count, work)
    }

    /// Elements of these sizes, as far as they can be told.
    fn product(&self, at: &mut Builder<'_>, dims: &[Dim]) -> ValueId {
        let mut product = at.i64(1);
        for &d in dims {
            let size = match (d, self.holder(at.func, d)) {
                (Dim::Const(n), _) => at.i64(n as i64),
                (_, Some((array, dim))) => {
                    let n = at.value(Op::NtDim { dim }, &[array], Type::PYINT);
                    at.cast(n, Type::I64)
                }
                (_, None) => continue,
            };
            product = at.value(Op::Mul, &[product, size], Type::I64);
        }
        product
    }

    /// Nanoseconds of an element.
    fn cost(&self, f: &Func) -> u32 {
        let tenths = |&id: &OpId| match Group::elementwise(f, id).map(|op| f.op(op)) {
            Some(data) => cost::tenths(f, data.regions[0]) + 3 * (data.operands.len() as u64 + 1),
            None => 3,
        };
        (self.members.iter().map(tenths).sum::<u64>().div_ceil(10) as u32).max(1)
    }

    /// Lets a statement do what it does for a block only, with these arrays for those that it reads row by row.
    fn narrow(&self, f: &mut Func, id: OpId, some: Dim, stands: &BTreeMap<ValueId, ValueId>) {
        let gone = self.rows.len() - 1;
        let inner = Group::elementwise(f, id).filter(|&op| op != id);
        for op in [Some(id), inner].into_iter().flatten() {
            for v in f.op(op).results.clone() {
                if let Some(ty) = f.ty(v).as_tensor().cloned() {
                    f.values[v.index()].ty = Type::tensor(self.with_rows(&ty, some));
                }
            }
            let mut bodies = f.op(op).regions.to_vec();
            while let Some(body) = bodies.pop() {
                for inside in f.region(body).ops.clone() {
                    if let Op::NtPosition { dim } = &mut f.ops[inside.index()].op {
                        *dim -= gone as u32;
                    }
                    if f.op(op).op == Op::NtElementwise {
                        bodies.extend(&f.op(inside).regions);
                    }
                }
            }
            let data = &mut f.ops[op.index()];
            data.operands.iter_mut().for_each(|v| *v = stands.get(v).copied().unwrap_or(*v));
            match &mut data.op {
                Op::NtReduce { axes, .. } | Op::NtFold { axes, .. } => {
                    axes.iter_mut().for_each(|k| *k -= gone as u32);
                }
                Op::NtView { axes } => {
                    axes.drain(1..=gone);
                    axes.iter_mut().filter(|k| **k > 0).for_each(|k| *k -= gone as i32);
                    data.operands.drain(3..3 + 2 * gone);
                }
                _ => {}
            }
        }
    }

    /// Puts a statement into the loop. What others use goes where they find it.
    fn place(
        &self,
        f: &mut Func,
        block: RegionId,
        id: OpId,
        parts: &BTreeMap<ValueId, ValueId>,
        stands: &mut BTreeMap<ValueId, ValueId>,
    ) {
        let OpData { op, results, span, .. } = f.op(id).clone();
        let mut at = Builder { func: f, region: block, span };
        if let (Op::NtElementwise, [v]) = (&op, &results[..])
            && let Some(&part) = parts.get(v)
        {
            let (region, ()) = at.region(|b| {
                b.func.regions[b.region.index()].ops.push(id);
                b.effect(Op::Yield, &[*v]);
            });
            at.op(Op::NtInto, &[part], &[], &[region]);
            stands.insert(*v, part);
            return;
        }
        f.regions[block.index()].ops.push(id);
        let mut at = Builder { func: f, region: block, span };
        for v in results {
            if let Some(&part) = parts.get(&v) {
                at.effect(Op::NtCopy, &[part, v]);
            }
        }
    }
}

/// Some rows of an array.
fn part(at: &mut Builder<'_>, array: ValueId, first: ValueId, some: Dim) -> ValueId {
    let Some(ty) = at.func.ty(array).as_tensor().cloned() else { return array };
    let (zero, one) = (at.i64(0), at.i64(1));
    let mut operands = vec![array, first, one];
    operands.extend([zero, one].repeat(ty.rank() - 1));
    let mut dims = ty.dims.clone();
    dims[0] = some;
    let layout = if ty.layout == Layout::F && ty.rank() > 1 { Layout::A } else { ty.layout };
    let axes = (0..ty.rank() as i32).collect();
    at.value(Op::NtView { axes }, &operands, Type::tensor(TensorType { dims, layout, ..ty }))
}
