//! Checks that never raise go.
//!
//! In and out: a function at stage `ntensor`, edited in place. `math.sqrt` raises for what is below zero; of a sum of squares
//! that a loop adds up, or of `abs`, there is nothing to look at. Nan and -0.0 are not below zero either. `np.dot` compares
//! sizes, which after [`crate::sizes`] are known to be one where they are.

use crate::canon;
use std::collections::BTreeSet;
use weft_ir::attr::{CmpOp, Const};
use weft_ir::math::MathFn;
use weft_ir::{Dim, Func, Op, OpId, RegionId, ValueId};

/// Drops every `if c: raise` whose condition is known never to hold.
pub fn run(f: &mut Func) {
    let mut checks = vec![];
    f.walk(&mut |id| {
        if is_check(f, id) {
            checks.push(id);
        }
    });
    if checks.is_empty() {
        return;
    }
    let found = Values::of(f);
    let idle: BTreeSet<OpId> = checks.into_iter().filter(|&id| found.never_holds(f.op(id).operands[0])).collect();
    f.regions.iter_mut().for_each(|region| region.ops.retain(|id| !idle.contains(id)));
}

/// `if v: raise`, and nothing else.
fn is_check(f: &Func, id: OpId) -> bool {
    let data = f.op(id);
    let arm = |k: usize| match f.region(data.regions[k]).ops[..] {
        [only] => Some(&f.op(only).op),
        _ => None,
    };
    data.op == Op::ScfIf
        && data.results.is_empty()
        && matches!((arm(0), arm(1)), (Some(Op::Raise { .. }), Some(Op::Yield)))
}

/// Where values come from.
struct Values<'f> {
    f: &'f Func,
    defs: Vec<Option<OpId>>,
    /// The loops that hand their arguments on at the end of a turn alone, by those arguments: what each starts from and
    /// what every turn makes of it.
    carried: Vec<Option<[ValueId; 2]>>,
}

impl<'f> Values<'f> {
    fn of(f: &'f Func) -> Self {
        let mut carried = vec![None; f.values.len()];
        f.walk(&mut |id| {
            let data = f.op(id);
            let Some(ends) = (data.op == Op::ScfFor).then(|| yielded(f, data.regions[0])).flatten() else { return };
            let mut leaves = false;
            f.walk_region(data.regions[0], &mut |op| {
                leaves |= matches!(f.op(op).op, Op::Break { .. } | Op::Continue { .. });
            });
            if leaves {
                return;
            }
            let args = &f.region(data.regions[0]).args[1..];
            for (k, (&arg, &result)) in args.iter().zip(&data.results).enumerate() {
                let from = Some([data.operands[3 + k], ends[k]]);
                carried[arg.index()] = from;
                carried[result.index()] = from;
            }
        });
        Values { f, defs: canon::definitions(f), carried }
    }

    /// Whether a condition asks for a float below zero where there is none, or for two sizes where there is one.
    fn never_holds(&self, condition: ValueId) -> bool {
        let Some(test) = self.defs[condition.index()].map(|id| self.f.op(id)) else { return false };
        let &[a, b] = &test.operands[..] else { return false };
        match test.op {
            Op::Cmp { is: CmpOp::Lt } => self.is_real(a) && self.is_zero(b) && self.is_never_negative(a),
            Op::Cmp { is: CmpOp::Ne } => self.size(a).is_some_and(|size| self.size(b) == Some(size)),
            _ => false,
        }
    }

    /// The size that a number is.
    fn size(&self, v: ValueId) -> Option<Dim> {
        let data = self.f.op(self.defs[v.index()]?);
        match data.op {
            Op::NtDim { dim } => canon::dims(self.f, data.operands[0]).get(dim as usize).copied(),
            _ => None,
        }
    }

    fn is_real(&self, v: ValueId) -> bool {
        self.f.ty(v).scalar_dtype().is_some_and(|d| d.is_float())
    }

    fn is_zero(&self, v: ValueId) -> bool {
        let def = self.defs[v.index()].map(|id| &self.f.op(id).op);
        matches!(def, Some(Op::Const { value: Const::Float(x) }) if *x == 0.0)
    }

    /// Every value that this one is made of must be so; what a loop carries is, if it is at first and each turn keeps it.
    fn is_never_negative(&self, v: ValueId) -> bool {
        let (mut open, mut seen) = (vec![v], BTreeSet::new());
        while let Some(v) = open.pop() {
            if !seen.insert(v) {
                continue;
            }
            match self.needs(v) {
                Some(needs) => open.extend(needs),
                None => return false,
            }
        }
        true
    }

    /// The values that must not be negative for this one not to be; `None` if that would not do.
    fn needs(&self, v: ValueId) -> Option<Vec<ValueId>> {
        if let Some(from) = self.carried[v.index()] {
            return Some(from.to_vec());
        }
        let id = self.defs[v.index()]?;
        let data = self.f.op(id);
        let all = || Some(data.operands.to_vec());
        match &data.op {
            Op::NtDim { .. } => Some(vec![]),
            Op::Abs if self.is_real(v) => Some(vec![]),
            Op::Const { value: Const::Int(n) } => (*n >= 0).then(Vec::new),
            Op::Const { value: Const::Float(x) } => (x.is_nan() || *x >= 0.0).then(Vec::new),
            Op::Math { function: MathFn::Sqrt | MathFn::Exp | MathFn::Cosh | MathFn::Hypot, .. } if self.is_real(v) => {
                Some(vec![])
            }
            Op::Cast if self.is_real(v) && self.has_sign(data.operands[0]) => all(),
            Op::Mul if self.is_real(v) && self.are_same(data.operands[0], data.operands[1]) => Some(vec![]),
            Op::Add | Op::Mul | Op::Min | Op::Max if self.is_real(v) => all(),
            Op::Select => Some(data.operands[1..].to_vec()),
            Op::ScfIf => {
                let k = data.results.iter().position(|&r| r == v)?;
                let arms = data.regions.iter().filter(|&&r| !raises(self.f, r));
                arms.map(|&r| yielded(self.f, r).map(|ends| ends[k])).collect()
            }
            _ => None,
        }
    }

    /// Whether a number's sign is that of the float made of it.
    fn has_sign(&self, v: ValueId) -> bool {
        self.f.ty(v).scalar_dtype().is_some_and(|d| d.is_float() || d.is_int())
    }

    /// Whether two values are one: the same, or the same element read twice with nothing written between.
    fn are_same(&self, a: ValueId, b: ValueId) -> bool {
        let [Some(x), Some(y)] = [a, b].map(|v| self.defs[v.index()]) else { return a == b };
        let (first, second) = (self.f.op(x), self.f.op(y));
        let twice = matches!(first.op, Op::NtLoad { .. }) && first.op == second.op && first.operands == second.operands;
        let quiet = |ops: &[OpId]| {
            let place = |op: OpId| ops.iter().position(|&o| o == op);
            let (Some(i), Some(k)) = (place(x), place(y)) else { return false };
            ops[i.min(k)..i.max(k)].iter().all(|&op| !self.f.effects(op).writes)
        };
        a == b || (twice && self.f.regions.iter().any(|r| quiet(&r.ops)))
    }
}

/// What a region that ends in `yield` ends with.
fn yielded(f: &Func, region: RegionId) -> Option<&[ValueId]> {
    let last = f.op(*f.region(region).ops.last()?);
    (last.op == Op::Yield).then_some(&last.operands[..])
}

fn raises(f: &Func, region: RegionId) -> bool {
    f.region(region).ops.last().is_some_and(|&id| matches!(f.op(id).op, Op::Raise { .. }))
}
