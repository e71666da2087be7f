//! Which values of a function are exact on every backend, and which only within a few ulps.

use weft_ir::math::MathFn;
use weft_ir::{Func, Op, OpId, RegionId, ValueId};

/// True for what is only near.
pub struct Precision {
    /// The function's results.
    pub results: Vec<bool>,
    /// What its array parameters hold afterwards.
    pub params: Vec<bool>,
}

/// Follows the results of `math.*` and of float powers; `None` if something computes with one, which could make a
/// difference of a few ulps as large as it likes.
pub fn precision(f: &Func) -> Option<Precision> {
    let mut near =
        Near { f, values: vec![false; f.values.len()], results: vec![false; f.results.len()], changed: true };
    while near.changed {
        near.changed = false;
        f.walk(&mut |op| near.follow(op));
    }
    let mut computed = false;
    f.walk(&mut |op| computed |= near.misused(op));
    let params = f.params().iter().map(|v| near.values[v.index()]).collect();
    (!computed).then_some(Precision { results: near.results, params })
}

struct Near<'f> {
    f: &'f Func,
    values: Vec<bool>,
    results: Vec<bool>,
    changed: bool,
}

impl Near<'_> {
    fn is(&self, v: ValueId) -> bool {
        self.values[v.index()]
    }

    fn set(&mut self, v: ValueId, near: bool) {
        self.changed |= near && !self.is(v);
        self.values[v.index()] |= near;
    }

    /// The operands of a region's `yield`; none where it is left otherwise.
    fn yielded(&self, region: RegionId) -> Vec<bool> {
        let last = self.f.region(region).ops.last().map(|&op| self.f.op(op)).filter(|d| d.op == Op::Yield);
        last.map_or(vec![], |d| d.operands.iter().map(|&v| self.is(v)).collect())
    }

    fn follow(&mut self, op: OpId) {
        let data = self.f.op(op);
        let operands: Vec<bool> = data.operands.iter().map(|&v| self.is(v)).collect();
        // Where region arguments, results and yields meet: from this operand and argument on.
        let (from_operand, from_arg) = match data.op {
            Op::ScfFor => (3, 1),
            Op::NtElementwise => (0, 0),
            _ => (operands.len(), 0),
        };
        for &region in &data.regions {
            let yielded = self.yielded(region);
            let args = &self.f.region(region).args;
            for (&arg, &near) in args[from_arg.min(args.len())..].iter().zip(&operands[from_operand..]) {
                self.set(arg, near);
            }
            for (i, &near) in yielded.iter().enumerate() {
                // A loop that only `break` ends yields what it carries, and nothing inexact (see `misused`).
                if data.op == Op::ScfLoop {
                    continue;
                }
                self.set(data.results[i], near);
                if data.op == Op::ScfFor {
                    self.set(args[1 + i], near);
                }
            }
        }
        let float = || data.results.iter().all(|&v| self.f.ty(v).scalar_dtype().is_some_and(|d| d.is_float()));
        match data.op {
            Op::Math { function, .. } => self.set(data.results[0], function != MathFn::Sqrt),
            Op::Pow if float() => self.set(data.results[0], true),
            Op::Neg | Op::Abs | Op::Select | Op::NtItem | Op::NtLoad { .. } => {
                self.set(data.results[0], operands.contains(&true));
            }
            Op::NtRefine { .. } => self.set(data.results[0], operands[0]),
            Op::NtStore { .. } => self.set(data.operands[1], operands[0]),
            Op::ScfFor => {
                for (i, &near) in operands[3..].iter().enumerate() {
                    self.set(data.results[i], near);
                }
            }
            Op::Return => {
                for (to, &near) in self.results.iter_mut().zip(&operands) {
                    *to |= near;
                }
            }
            _ => {}
        }
    }

    /// Whether a `yield` is that of a `scf.loop`.
    fn carries_on(&self, op: OpId) -> bool {
        let ends = |r: &RegionId| self.f.region(*r).ops.last() == Some(&op);
        self.f.ops.iter().any(|data| data.op == Op::ScfLoop && data.regions.iter().any(ends))
    }

    /// Whether the op does more with a near value than pass it on or change its sign.
    fn misused(&self, op: OpId) -> bool {
        let data = self.f.op(op);
        data.operands.iter().enumerate().any(|(i, &v)| {
            let passes = match data.op {
                Op::Yield => !self.carries_on(op),
                Op::Neg | Op::Abs | Op::Return | Op::NtElementwise => true,
                Op::NtRefine { .. } | Op::NtDim { .. } | Op::NtItem => true,
                Op::NtLoad { .. } => i == 0,
                Op::NtStore { .. } => i < 2,
                Op::Select => i > 0,
                Op::ScfFor => i >= 3,
                _ => false,
            };
            self.is(v) && !passes
        })
    }
}
