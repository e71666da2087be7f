//! Masks that a program writes twice, as in `x[x > 0] = f(x[x > 0])`: the second is the first, if nothing was written between.

use super::Infer;
use std::collections::HashMap;
use weft_ir::{Op, OpId, RegionId, ValueId};

impl Infer<'_> {
    /// An array with the same elements that was computed before this one in the same way, or else the array itself.
    pub(super) fn computed_before(&self, array: ValueId) -> ValueId {
        let ops = &self.out.region(self.region).ops;
        let writes = |id: &OpId| self.out.effects(*id).writes && !matches!(self.out.op(*id).op, Op::ShapeBind { .. });
        let since = ops.iter().rposition(writes).map_or(0, |last| last + 1);
        let recent = Recent { infer: self, ops, since };
        let Some(own) = recent.definition(array).filter(|&at| at >= since) else { return array };
        let before = ops[since..own].iter().find(|&&op| recent.alike(op, ops[own]));
        before.map_or(array, |&op| self.out.op(op).results[0])
    }
}

/// The ops of a region, of which those from `since` on write nothing.
struct Recent<'a, 'i> {
    infer: &'a Infer<'i>,
    ops: &'a [OpId],
    since: usize,
}

impl Recent<'_, '_> {
    fn definition(&self, v: ValueId) -> Option<usize> {
        self.ops.iter().rposition(|&op| self.infer.out.op(op).results.first() == Some(&v))
    }

    /// Whether two ops compute the same array.
    fn alike(&self, a: OpId, b: OpId) -> bool {
        let f = &self.infer.out;
        let (x, y) = (f.op(a), f.op(b));
        x.op == Op::NtElementwise
            && y.op == Op::NtElementwise
            && x.results.len() == 1
            && y.results.len() == 1
            && f.ty(x.results[0]) == f.ty(y.results[0])
            && self.same_body(x.regions[0], y.regions[0])
            && x.operands.len() == y.operands.len()
            && x.operands.iter().zip(&y.operands).all(|(&v, &w)| self.same(v, w))
    }

    /// Whether two values of the region are the same.
    fn same(&self, v: ValueId, w: ValueId) -> bool {
        if v == w {
            return true;
        }
        let (Some(i), Some(j)) = (self.definition(v), self.definition(w)) else { return false };
        let f = &self.infer.out;
        let (x, y) = (f.op(self.ops[i]), f.op(self.ops[j]));
        if x.op == Op::NtElementwise {
            return i >= self.since && j >= self.since && self.alike(self.ops[i], self.ops[j]);
        }
        x.op == y.op
            && x.op.effects().is_pure()
            && x.regions.is_empty()
            && f.ty(v) == f.ty(w)
            && x.operands.len() == y.operands.len()
            && x.operands.iter().zip(&y.operands).all(|(&v, &w)| self.same(v, w))
    }

    /// Whether two bodies do the same with their arguments.
    fn same_body(&self, a: RegionId, b: RegionId) -> bool {
        let f = &self.infer.out;
        let (a, b) = (f.region(a), f.region(b));
        let mut as_other: HashMap<ValueId, ValueId> = a.args.iter().copied().zip(b.args.iter().copied()).collect();
        let typed = a.args.iter().zip(&b.args).all(|(&v, &w)| f.ty(v) == f.ty(w));
        typed
            && a.args.len() == b.args.len()
            && a.ops.len() == b.ops.len()
            && a.ops.iter().zip(&b.ops).all(|(&x, &y)| {
                let (x, y) = (f.op(x), f.op(y));
                let operands = x.operands.iter().map(|v| as_other.get(v).unwrap_or(v)).eq(&y.operands);
                let types = x.results.iter().map(|&v| f.ty(v)).eq(y.results.iter().map(|&v| f.ty(v)));
                let plain = x.regions.is_empty() && y.regions.is_empty();
                as_other.extend(x.results.iter().copied().zip(y.results.iter().copied()));
                x.op == y.op && operands && types && plain
            })
    }
}
