//! Arrays that iterations of a `prange` only update, all by one operator: `h[k] += w`, `acc += row`, `h[k] = max(h[k], v)`.
//!
//! An update reads a place, applies the operator to what is there, and writes the same place; nothing else sees what was read.
//! Places are the same if they are computed alike from values that do not change in between.

use super::update::Update;
use super::{only_names, root};
use crate::canon;
use std::collections::{BTreeMap, BTreeSet};
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{DType, Dim, Func, Op, OpData, OpId, RegionId, TensorType, Type, ValueId};

/// An array that a loop accumulates into.
pub(super) struct Accumulator {
    /// As it is seen outside of the loop.
    pub array: ValueId,
    pub ty: TensorType,
    pub update: Update,
    /// The places that update it.
    pub sites: Vec<Site>,
}

/// One place that updates an array.
pub(super) struct Site {
    /// Loops around it, inside an iteration.
    pub depth: u32,
    /// Sizes of the part that is updated; none for an element.
    pub sizes: Vec<Dim>,
}

/// What a write turned out to be.
enum Found {
    Update(Update, OpId),
    /// A part is given its own elements, as `a[i:j] += x` does at its end.
    Itself,
}

pub(super) struct Finder<'f> {
    f: &'f Func,
    defs: &'f [Option<OpId>],
    inside: &'f BTreeSet<ValueId>,
    users: BTreeMap<ValueId, BTreeSet<OpId>>,
    /// Arrays that the loop writes, and the sizes it binds.
    written: BTreeSet<ValueId>,
    bound: &'f BTreeMap<Dim, ValueId>,
}

impl<'f> Finder<'f> {
    pub(super) fn new(
        f: &'f Func,
        defs: &'f [Option<OpId>],
        inside: &'f BTreeSet<ValueId>,
        bound: &'f BTreeMap<Dim, ValueId>,
        body: RegionId,
    ) -> Finder<'f> {
        let (mut users, mut all_written) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeSet::new());
        f.walk_region(body, &mut |id| {
            let data = f.op(id);
            for (k, &v) in data.operands.iter().enumerate() {
                // Sizes that a check mentions are no use of elements.
                let mentions = matches!(data.op, Op::NtRefine { .. } | Op::NtExpand { .. } | Op::NtKeep) && k > 0;
                if !mentions && !matches!(data.op, Op::NtDim { .. }) {
                    users.entry(v).or_default().insert(id);
                }
            }
            all_written.extend(data.written().iter().map(|&v| root(f, defs, v)));
        });
        Finder { f, defs, inside, users, written: all_written, bound }
    }

    /// The accumulator that the array with this root is in the loop, or an access that makes it none.
    pub(super) fn find(&self, body: RegionId, of: ValueId) -> Result<Accumulator, OpId> {
        let mut accesses = vec![];
        self.accesses(body, of, 0, &mut accesses);
        let (mut array, mut update, mut sites) = (None, None, vec![]);
        let mut explained = BTreeSet::new();
        for &(id, depth, ref operands) in &accesses {
            for &v in operands {
                let seen = self.outside(v).ok_or(id)?;
                if *array.get_or_insert(seen) != seen {
                    return Err(id);
                }
            }
            let data = self.f.op(id);
            let found = match data.op {
                Op::NtStore { .. } => self.element(id),
                Op::NtCopy => self.part(id),
                _ => continue,
            };
            explained.insert(id);
            let (by, reader) = match found.ok_or(id)? {
                Found::Update(by, reader) => (by, reader),
                Found::Itself => continue,
            };
            let dtype = self.f.ty(operands[0]).as_tensor().map(|t| t.dtype);
            if *update.get_or_insert(by) != by || dtype.and_then(|d| by.neutral(d)).is_none() {
                return Err(id);
            }
            explained.insert(reader);
            let sizes = if data.op == Op::NtCopy { canon::dims(self.f, data.operands[0]).to_vec() } else { vec![] };
            sites.push(Site { depth, sizes });
        }
        if let Some((id, ..)) = accesses.iter().find(|(id, ..)| !explained.contains(id)) {
            return Err(*id);
        }
        match (array.and_then(|a| Some((a, self.f.ty(a).as_tensor()?.clone()))), update) {
            (Some((array, ty)), Some(update)) => Ok(Accumulator { array, ty, update, sites }),
            _ => Err(accesses.first().map_or(OpId(0), |(id, ..)| *id)),
        }
    }

    /// The ops that touch elements of an array, how deep in loops, and by which operands.
    fn accesses(&self, region: RegionId, of: ValueId, depth: u32, all: &mut Vec<(OpId, u32, Vec<ValueId>)>) {
        for &id in &self.f.region(region).ops {
            let data = self.f.op(id);
            let tensors = data.operands.iter().copied().filter(|&v| self.f.ty(v).as_tensor().is_some());
            let mine: Vec<ValueId> = tensors.filter(|&v| root(self.f, self.defs, v) == of).collect();
            // What control flow passes on is another value there, which is looked at where it is used.
            let touches =
                !only_names(&data.op) && !matches!(data.op, Op::NtExpand { .. }) && data.op.dialect() != "scf";
            if !mine.is_empty() && touches {
                all.push((id, depth, mine));
            }
            let inner = depth + u32::from(matches!(data.op, Op::ScfFor | Op::ScfLoop));
            data.regions.iter().for_each(|&r| self.accesses(r, of, inner, all));
        }
    }

    fn def(&self, v: ValueId) -> Option<(OpId, &'f OpData)> {
        self.defs[v.index()].map(|id| (id, self.f.op(id)))
    }

    /// The array outside of the loop that this one is, or is a view of.
    fn outside(&self, mut v: ValueId) -> Option<ValueId> {
        while self.inside.contains(&v) {
            let (_, data) = self.def(v)?;
            if !only_names(&data.op) && !matches!(data.op, Op::NtExpand { .. }) {
                return None;
            }
            v = data.operands[0];
        }
        Some(v)
    }

    fn is_used_by(&self, v: ValueId, only: &[OpId]) -> bool {
        self.users.get(&v).is_none_or(|users| users.iter().all(|id| only.contains(id)))
    }

    /// `h[k] = h[k] + w`.
    fn element(&self, store: OpId) -> Option<Found> {
        let data = self.f.op(store);
        let Op::NtStore { wrap } = data.op else { return None };
        let (to, indices) = (data.operands[1], &data.operands[2..]);
        let dtype = self.f.ty(to).as_tensor()?.dtype;
        let (update, reader) = self.operator(data.operands[0], store, dtype, &|v| {
            let (id, load) = self.def(v).filter(|(_, data)| data.op == Op::NtLoad { wrap })?;
            let (&from, at) = load.operands.split_first()?;
            let same = at.len() == indices.len() && at.iter().zip(indices).all(|(&a, &b)| self.is_same(a, b));
            (same && self.is_same(from, to)).then_some(id)
        })?;
        Some(Found::Update(update, reader))
    }

    /// `acc[…] += row`, and what else writes a whole part.
    fn part(&self, copy: OpId) -> Option<Found> {
        let data = self.f.op(copy);
        let (to, mut from) = (data.operands[0], data.operands[1]);
        let dtype = self.f.ty(to).as_tensor()?.dtype;
        self.f.ty(from).as_tensor()?;
        if self.is_same(to, from) {
            return Some(Found::Itself);
        }
        let mut user = copy;
        loop {
            let (id, made) = self.def(from)?;
            if !self.is_used_by(from, &[user]) {
                return None;
            }
            match made.op {
                // Where that repeats an element, the array has only one.
                Op::NtRefine { .. } | Op::NtExpand { .. } => {}
                Op::NtElementwise if made.results.len() == 1 => {
                    let region = made.regions[0];
                    let &end = self.f.region(region).ops.last()?;
                    let args = &self.f.region(region).args;
                    let element = self.f.op(end).operands[0];
                    // A conversion of what another one computed.
                    let (from_cast, _) = self.through_casts(element, end, dtype)?;
                    if !(args.len() == 1 && from_cast == args[0]) {
                        let (update, k) = self.operator(element, end, dtype, &|v| args.iter().position(|&a| a == v))?;
                        let others = made.operands.iter().enumerate().filter(|&(j, _)| j != k);
                        let apart = others.clone().all(|(_, &v)| self.is_elsewhere(v, to));
                        let read = self.as_written(made.operands[k]);
                        return (apart && self.is_same(read, to)).then_some(Found::Update(update, id));
                    }
                }
                _ => return None,
            }
            (from, user) = (made.operands[0], id);
        }
    }

    fn is_elsewhere(&self, v: ValueId, from: ValueId) -> bool {
        self.f.ty(v).as_tensor().is_none() || root(self.f, self.defs, v) != root(self.f, self.defs, from)
    }

    /// An array without the checks that it fits others.
    fn as_written(&self, mut v: ValueId) -> ValueId {
        while let Some((_, data)) = self.def(v)
            && matches!(data.op, Op::NtRefine { .. } | Op::NtExpand { .. })
        {
            v = data.operands[0];
        }
        v
    }

    /// What a value was before conversions that lose nothing and that nothing else sees, and who uses that.
    fn through_casts(&self, mut v: ValueId, mut user: OpId, dtype: DType) -> Option<(ValueId, OpId)> {
        while let Some((id, data)) = self.def(v)
            && data.op == Op::Cast
        {
            if !self.is_used_by(v, &[user]) || !is_alike(self.f.ty(v), dtype) {
                return None;
            }
            (v, user) = (data.operands[0], id);
        }
        Some((v, user))
    }

    /// The operator that makes `value` for `user` out of what was there before, which `reads` knows, and something else.
    fn operator<R>(
        &self,
        value: ValueId,
        user: OpId,
        dtype: DType,
        reads: &dyn Fn(ValueId) -> Option<R>,
    ) -> Option<(Update, R)> {
        let (made, user) = self.through_casts(value, user, dtype)?;
        let (id, data) = self.def(made)?;
        if !self.is_used_by(made, &[user]) {
            return None;
        }
        let (update, candidates): (_, &[usize]) = match data.op {
            Op::Add => (Update::Add, &[0, 1]),
            Op::Sub if dtype != DType::Bool => (Update::Add, &[0]),
            Op::Mul => (Update::Mul, &[0, 1]),
            Op::And => (Update::And, &[0, 1]),
            Op::Or => (Update::Or, &[0, 1]),
            Op::Xor => (Update::Xor, &[0, 1]),
            Op::Min => (Update::Minimum, &[0, 1]),
            Op::Max => (Update::Maximum, &[0, 1]),
            Op::Select => return self.choice(made, id, dtype, reads),
            _ => return None,
        };
        let computed = self.f.ty(made).clone();
        if !is_alike(&computed, dtype) || update.is_extreme() && computed != Type::Num(dtype) {
            return None;
        }
        candidates.iter().find_map(|&k| {
            let (before, by) = self.through_casts(data.operands[k], id, dtype)?;
            (self.is_used_by(before, &[by]) && data.operands[0] != data.operands[1])
                .then(|| reads(before))
                .flatten()
                .map(|r| (update, r))
        })
    }

    /// `min(before, v)`, `max(before, v)`; of integers the other way round too, which is the same.
    fn choice<R>(
        &self,
        made: ValueId,
        id: OpId,
        dtype: DType,
        reads: &dyn Fn(ValueId) -> Option<R>,
    ) -> Option<(Update, R)> {
        let data = self.f.op(id);
        let [test, chosen, other] = data.operands[..] else { return None };
        let (compared, cmp) = self.def(test)?;
        let Op::Cmp { is } = cmp.op else { return None };
        // Each may have been converted once for the comparison and once for the choice.
        let alike = self.is_same(cmp.operands[0], chosen) && self.is_same(cmp.operands[1], other);
        if !alike || *self.f.ty(made) != Type::Num(dtype) {
            return None;
        }
        let update = match is {
            CmpOp::Lt => Update::Least,
            CmpOp::Gt => Update::Greatest,
            _ => return None,
        };
        let both = if dtype.is_int() { vec![other, chosen] } else { vec![other] };
        both.into_iter()
            .find_map(|v| self.is_used_by(v, &[compared, id]).then(|| reads(v)).flatten().map(|r| (update, r)))
    }

    /// Whether two values of one iteration are equal: computed alike, or arrays that are the same part of one.
    fn is_same(&self, a: ValueId, b: ValueId) -> bool {
        let (a, b) = (self.without_whole_views(a), self.without_whole_views(b));
        if a == b {
            return true;
        }
        let (Some((_, x)), Some((_, y))) = (self.def(a), self.def(b)) else { return false };
        let same_op = match (&x.op, &y.op) {
            (Op::NtIndex { wrap: p, .. }, Op::NtIndex { wrap: q, .. }) => p == q,
            (Op::NtLoad { .. }, p) => x.op == *p && !self.written.contains(&root(self.f, self.defs, x.operands[0])),
            (Op::NtView { .. }, p) => x.op == *p && self.have_same_sizes(a, b),
            (p, q) => {
                let effects = p.effects();
                p == q && self.f.ty(a) == self.f.ty(b) && !effects.reads && !effects.writes && !effects.fresh
            }
        };
        let plain = x.regions.is_empty() && x.results.len() == 1 && x.operands.len() == y.operands.len();
        same_op && plain && x.operands.iter().zip(&y.operands).all(|(&a, &b)| self.is_same(a, b))
    }

    fn have_same_sizes(&self, a: ValueId, b: ValueId) -> bool {
        let (a, b) = (canon::dims(self.f, a), canon::dims(self.f, b));
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| {
                a == b || matches!((self.bound.get(a), self.bound.get(b)), (Some(&a), Some(&b)) if self.is_same(a, b))
            })
    }

    /// The array that `a[:]` is all of.
    fn without_whole_views(&self, mut v: ValueId) -> ValueId {
        let is =
            |v: ValueId, n: i128| self.def(v).is_some_and(|(_, data)| data.op == Op::Const { value: Const::Int(n) });
        while let Some((_, data)) = self.def(v)
            && let Op::NtView { axes } = &data.op
            && axes.iter().enumerate().all(|(k, &a)| a == k as i32)
            && canon::dims(self.f, v) == canon::dims(self.f, data.operands[0])
            && data.operands[1..].chunks(2).all(|axis| is(axis[0], 0) && is(axis[1], 1))
        {
            v = data.operands[0];
        }
        v
    }
}

/// Whether numbers computed as `ty` are of the kind of a dtype: then converting them keeps sums and products.
fn is_alike(ty: &Type, dtype: DType) -> bool {
    let Type::Num(computed) = ty else { return false };
    match dtype {
        DType::Bool => *computed == DType::Bool,
        d if d.is_int() => computed.is_int() && computed.size() >= d.size(),
        d if d.is_float() => computed.is_float() && computed.size() >= d.size(),
        d => computed.is_complex() && computed.size() >= d.size(),
    }
}
