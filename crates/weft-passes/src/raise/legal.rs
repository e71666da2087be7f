//! Whether the iterations of a loop may run in any order, statement by statement.

use crate::analysis::access::{Access, Accesses};
use crate::analysis::alias::{self, are_disjoint};
use crate::canon;
use std::collections::{BTreeMap, BTreeSet};
use weft_ir::{Dim, Func, Op, OpId, RegionId, ValueId};

/// Pairs of arrays that must not overlap for all iterations of a `scf.for` to be independent of each other; `None` if they are
/// not, or if its body has an op that has no batched form.
pub(super) fn disjoint_pairs(
    f: &Func,
    id: OpId,
    versions: &BTreeMap<OpId, OpId>,
) -> Option<BTreeSet<(ValueId, ValueId)>> {
    let data = f.op(id);
    if data.operands.len() > 3 || !data.results.is_empty() {
        return None;
    }
    let mut body = Body { f, versions, ops: vec![], works: false };
    body.collect(data.regions[0])?;
    if !body.works {
        return None;
    }
    let defs = canon::definitions(f);
    let mut of = Accesses::new(f, &defs, data, None);
    // With where it stands: an op reads before it writes.
    let mut accesses: Vec<(usize, Access)> = vec![];
    for (at, &op) in body.ops.iter().enumerate() {
        let data = f.op(op);
        let effects = data.op.effects();
        let arrays = |operands: &[ValueId]| -> Vec<ValueId> {
            operands.iter().copied().filter(|&v| f.ty(v).as_tensor().is_some()).collect()
        };
        let touched = arrays(data.written()).into_iter().map(|v| (v, true));
        let read = if effects.reads { arrays(data.read()) } else { vec![] };
        for (v, writes) in touched.chain(read.into_iter().map(|v| (v, false))) {
            // What an iteration makes is its own.
            if !of.forms.inside.contains(&alias::root(f, &defs, v)) {
                accesses.push((2 * at + usize::from(writes), of.of(data, v, writes)));
            }
        }
    }
    let goes_down = of.forms.of(data.operands[2]).and_then(|step| step.as_constant()).is_none_or(|step| step < 0);
    let mut pairs = BTreeSet::new();
    for (k, (at, w)) in accesses.iter().enumerate().filter(|(_, (_, a))| a.writes) {
        for (l, (other, a)) in accesses.iter().enumerate() {
            if a.writes && l < k {
                continue;
            }
            if a.root != w.root {
                if !are_disjoint(f, &defs, w.root, a.root) {
                    pairs.insert((w.root.min(a.root), w.root.max(a.root)));
                }
                continue;
            }
            // All iterations of a statement come before the next statement's: what meets must come in that order anyway.
            let (first, second) = if at <= other { (w, a) } else { (a, w) };
            let ordered = at != other && !goes_down && of.never_before(first, second);
            if w.care || a.care || !(of.apart(w, a) || ordered) {
                return None;
            }
        }
    }
    Some(pairs)
}

/// The ops of a loop's body that do something.
struct Body<'f> {
    f: &'f Func,
    versions: &'f BTreeMap<OpId, OpId>,
    ops: Vec<OpId>,
    /// Whether one of them works on whole arrays: a loop of scalars is as fast as it is.
    works: bool,
}

impl Body<'_> {
    fn collect(&mut self, region: RegionId) -> Option<()> {
        for &id in &self.f.region(region).ops {
            let data = self.f.op(id);
            let is_array = |v: ValueId| canon::dims(self.f, v).iter().any(|d| *d != Dim::Const(1));
            match &data.op {
                Op::NtElementwise | Op::NtReduce { .. } | Op::NtMatmul => {
                    self.works |= data.operands.iter().chain(&data.results).any(|&v| is_array(v));
                    if self.f.effects(id).may_raise {
                        return None;
                    }
                }
                Op::NtDot => self.works = true,
                Op::NtCopy => self.works |= is_array(data.operands[0]),
                Op::ScfIf if self.versions.contains_key(&id) => {
                    self.collect(data.regions[0])?;
                    continue;
                }
                // A check: what it raises is excluded before.
                Op::ScfIf if data.results.is_empty() && raising_region(self.f, id).is_some() => continue,
                Op::Yield if data.operands.is_empty() => {}
                Op::NtView { .. } | Op::NtDim { .. } | Op::NtExpand { .. } | Op::NtRefine { .. } | Op::NtItem => {}
                Op::NtLoad { .. } | Op::NtStore { .. } | Op::NtIndex { .. } | Op::NtAlloc { .. } => {}
                Op::ShapeBind { .. } | Op::Checked { .. } | Op::NtReshape => {}
                op if matches!(op.dialect(), "arith" | "math") => {}
                _ => return None,
            }
            self.ops.push(id);
        }
        Some(())
    }
}

/// Which region of a `scf.if` does nothing but raise, where the other one does nothing at all.
pub(super) fn raising_region(f: &Func, id: OpId) -> Option<usize> {
    let regions = &f.op(id).regions;
    let raises = |k: usize| {
        let ops = &f.region(regions[k]).ops;
        let quiet = |&op: &OpId| {
            let e = f.effects(op);
            !(e.writes || e.may_raise || e.exits)
        };
        let (last, before) = ops.split_last()?;
        (matches!(f.op(*last).op, Op::Raise { .. }) && before.iter().all(quiet)).then_some(())
    };
    let idle = |k: usize| matches!(f.region(regions[k]).ops[..], [op] if f.op(op).op == Op::Yield);
    (0..2).find(|&k| raises(k).is_some() && idle(1 - k))
}
