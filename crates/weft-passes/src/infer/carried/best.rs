//! The best of all, and what belongs to it: `if v < best: best = v; at = i`.

use super::{Callee, Chain};
use weft_ir::attr::CmpOp;
use weft_ir::{Op, OpData, OpId, RegionId, ValueId};

impl Chain<'_, '_> {
    /// How a value is a comparison of another one with a member, and which that is.
    pub(super) fn comparison(&self, v: ValueId) -> Option<(CmpOp, ValueId)> {
        let data = self.py.func.op(*self.defs.get(&v)?);
        match data.op {
            Op::PyTruth => self.comparison(data.operands[0]),
            Op::PyCompare { op } => {
                let second = self.is_member(data.operands[1]);
                if second == self.is_member(data.operands[0]) {
                    return None;
                }
                let is = match (op, second) {
                    (CmpOp::Lt, true) | (CmpOp::Gt, false) => CmpOp::Lt,
                    (CmpOp::Le, true) | (CmpOp::Ge, false) => CmpOp::Le,
                    (CmpOp::Gt, true) | (CmpOp::Lt, false) => CmpOp::Gt,
                    (CmpOp::Ge, true) | (CmpOp::Le, false) => CmpOp::Ge,
                    _ => return None,
                };
                Some((is, data.operands[usize::from(!second)]))
            }
            // `a and b`: the second, unless the first is false.
            Op::ScfIf => {
                let end = |k: usize| {
                    let last = self.py.func.op(*self.py.func.region(data.regions[k]).ops.last()?);
                    (last.op == Op::Yield && last.operands.len() == 1).then(|| last.operands[0])
                };
                let (second, first) = (end(0)?, end(1)?);
                match (self.comparison(first), self.comparison(second)) {
                    (Some(test), None) | (None, Some(test)) if first == data.operands[0] => Some(test),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// `a and b`, of which one is a comparison with a member.
    pub(super) fn conjunction(&mut self, data: &OpData) -> Option<(CmpOp, ValueId)> {
        let &[result] = &data.results[..] else { return None };
        let test = self.comparison(result)?;
        self.only_computes(data.regions[0]).then_some(test)
    }

    /// Where the first arm of an `if` gives the name another value (`wanted`, if that is said), and the second leaves it as it is.
    pub(super) fn taken(&mut self, data: &OpData, wanted: Option<ValueId>) -> Option<usize> {
        let end = |s: &Self, k: usize| {
            let last = s.py.func.op(*s.py.func.region(data.regions[k]).ops.last()?);
            (last.op == Op::Yield).then(|| last.operands.clone())
        };
        let (new, old) = (end(self, 0)?, end(self, 1)?);
        let mut kept = (0..old.len()).filter(|&k| self.is_member(old[k]));
        let position = kept.next().filter(|_| kept.next().is_none())?;
        if new.iter().any(|&v| self.is_member(v)) || new.iter().chain(&old).any(|v| self.tests.contains_key(v)) {
            return None;
        }
        let fits = match wanted {
            Some(wanted) if new[position] == wanted => true,
            // Written again: nothing has changed since it was compared.
            Some(wanted) => self.only_computes(data.regions[0]) && self.is_same(new[position], wanted),
            None => true,
        };
        fits.then_some(position)
    }

    /// Whether a region only computes: it writes nothing, and calls nothing that could.
    fn only_computes(&mut self, region: RegionId) -> bool {
        let ops = self.py.func.region(region).ops.clone();
        ops.into_iter().all(|id| match self.py.func.op(id).op.clone() {
            Op::ScfIf => self.py.func.op(id).regions.clone().into_iter().all(|r| self.only_computes(r)),
            Op::PyCall { .. } => self.is_known_call(id),
            Op::PyBinop { inplace, .. } => !inplace,
            Op::PyIndex | Op::PyUnary { .. } | Op::PyConst { .. } | Op::PyAttr { .. } | Op::PyGlobal { .. } => true,
            Op::PyTuple | Op::PyCompare { .. } | Op::PyTruth | Op::Yield => true,
            _ => false,
        })
    }

    /// Whether two values are computed alike.
    fn is_same(&mut self, a: ValueId, b: ValueId) -> bool {
        if a == b {
            return true;
        }
        let (Some(&x), Some(&y)) = (self.defs.get(&a), self.defs.get(&b)) else { return false };
        let (p, q) = (self.py.func.op(x).clone(), self.py.func.op(y).clone());
        let computes = match &p.op {
            Op::PyCall { .. } => self.is_known_call(x),
            Op::PyBinop { inplace, .. } => !inplace,
            Op::PyIndex | Op::PyUnary { .. } | Op::PyConst { .. } | Op::PyAttr { .. } | Op::PyGlobal { .. } => true,
            _ => false,
        };
        computes
            && p.op == q.op
            && p.operands.len() == q.operands.len()
            && p.operands.iter().zip(&q.operands).all(|(&a, &b)| self.is_same(a, b))
    }

    fn is_known_call(&mut self, id: OpId) -> bool {
        let callee = self.defs.get(&self.py.func.op(id).operands[0]).map(|&def| self.py.func.op(def).op.clone());
        let Some(Op::PyGlobal { path }) = callee else { return false };
        matches!((self.global)(&path), Some(Callee::Known(_)))
    }
}
