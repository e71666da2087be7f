//! Branches that only compute: both arms are computed, and the results selected.
//!
//! LLVM does that itself where nothing in the arms can raise. Python's integers can: here the arms' overflows become one
//! condition, and only where it holds is found out whether it was in the arm that counts, and which operation it was. Several
//! operations with constants on one number (`3 * n + 1`) are one comparison of that number.

use std::collections::BTreeMap;

use weft_ir::attr::BinOp;
use weft_ir::{Op, OpData, OpId, RegionId, Type as IrType, ValueId};

use super::{Flow, Lowering, Target};
use crate::error::Result;
use crate::llvm::Value;
use crate::llvm::builder::{IntIs, Opcode};

/// Most operations of an arm: more are worth a jump.
const MAX_OPS: usize = 4;
/// Factors and terms beyond this are not added up.
const FAR: i128 = 1 << 62;
const MIN: i128 = i64::MIN as i128;
const MAX: i128 = i64::MAX as i128;

/// `factor · base + plus`, which, and all that it was computed by, fits where `base` is in `lo..=hi`.
#[derive(Clone, Copy)]
struct Affine {
    base: ValueId,
    factor: i128,
    plus: i128,
    lo: i128,
    hi: i128,
}

impl Affine {
    fn of(base: ValueId) -> Affine {
        Affine { base, factor: 1, plus: 0, lo: MIN, hi: MAX }
    }

    /// The same times and plus a constant, if that has a range at all.
    fn then(self, times: i128, plus: i128) -> Option<Affine> {
        let factor = self.factor.checked_mul(times).filter(|n| *n != 0 && n.abs() < FAR)?;
        let plus = self.plus.checked_mul(times)?.checked_add(plus).filter(|n| n.abs() < FAR)?;
        let (least, most, by) = match factor > 0 {
            true => (MIN - plus, MAX - plus, factor),
            false => (plus - MAX, plus - MIN, -factor),
        };
        let (lo, hi) = (-(-least).div_euclid(by), most.div_euclid(by));
        let all = Affine { base: self.base, factor, plus, lo: lo.max(self.lo), hi: hi.min(self.hi) };
        (all.lo <= all.hi).then_some(all)
    }
}

/// When an operation leaves 64 bits.
enum Overflow {
    /// Where this number is not in its range.
    Range(Affine),
    Bit(Value),
}

/// The operations of an arm that can overflow.
#[derive(Default)]
struct Arm {
    known: BTreeMap<ValueId, Affine>,
    /// By what is computed, without those that another implies.
    overflows: Vec<(ValueId, Overflow)>,
    /// All, in order.
    checked: Vec<OpId>,
}

impl Lowering<'_, '_> {
    /// `scf.if` without a jump, if its arms are of that kind.
    pub(crate) fn speculated(&mut self, data: &OpData) -> Result<bool> {
        let fits = self.unit.target == Target::Native && data.regions.iter().all(|&r| self.only_computes(r));
        let raises = |&r: &RegionId| {
            let ops = &self.func.region(r).ops;
            ops.iter().any(|&id| matches!(self.func.op(id).op, Op::Checked { .. }))
        };
        if !fits || !data.regions.iter().any(raises) {
            return Ok(false);
        }
        let condition = self.operand(data, 0)?;
        let (mut arms, mut values) = (vec![], vec![]);
        for &region in &data.regions {
            let mut arm = Arm::default();
            values.push(self.compute(region, &mut arm)?);
            arms.push(arm);
        }
        let mut bits = vec![];
        for arm in &arms {
            bits.push(self.any_overflow(arm)?);
        }
        let f = self.b.function();
        let next = self.b.block(f, c"fits");
        if let Some(any) = bits.iter().copied().flatten().reduce(|a, b| self.b.op(Opcode::LLVMOr, a, b)) {
            let cold = self.b.block(f, c"overflow");
            let branch = self.b.branch(any, cold, next);
            self.b.annotate(branch, "prof", self.b.context.branch_weights(false));
            self.b.at_end(cold);
        }
        let (then, otherwise) = (self.b.block(f, c"then"), self.b.block(f, c"else"));
        self.b.branch(condition, then, otherwise);
        for (block, (arm, bit)) in [then, otherwise].into_iter().zip(arms.iter().zip(bits)) {
            self.b.at_end(block);
            if let Some(bit) = bit {
                let raise = self.b.block(f, c"raise");
                self.b.branch(bit, raise, next);
                self.b.at_end(raise);
                self.raise_first(&arm.checked)?;
            } else {
                self.b.jump(next);
            }
        }
        self.b.at_end(next);
        for (k, (&yes, &no)) in values[0].iter().zip(&values[1]).enumerate() {
            let v = self.b.select(condition, yes, no);
            self.define(data, k, v);
        }
        Ok(true)
    }

    /// Whether an arm is a few cheap operations without effects, apart from overflow of Python's integers.
    fn only_computes(&self, region: RegionId) -> bool {
        let ops = &self.func.region(region).ops;
        let counts = |&&id: &&OpId| !matches!(self.func.op(id).op, Op::Const { .. } | Op::Yield);
        let ends = ops.last().is_some_and(|&id| self.func.op(id).op == Op::Yield);
        ends && ops.iter().filter(counts).count() <= MAX_OPS && ops.iter().all(|&id| self.is_cheap(id))
    }

    fn is_cheap(&self, id: OpId) -> bool {
        let data = self.func.op(id);
        let scalar = |&v: &ValueId| self.func.ty(v).scalar_dtype().is_some_and(|d| d.size() <= 8 && !d.is_complex());
        let wide = || *self.func.ty(data.results[0]) == IrType::I64;
        match &data.op {
            Op::Yield => true,
            Op::Const { .. } => data.results.iter().all(scalar),
            Op::Checked { op: BinOp::Add | BinOp::Sub | BinOp::Mul, .. } => wide(),
            Op::Add | Op::Sub | Op::Mul | Op::And | Op::Or | Op::Xor | Op::Neg | Op::Cmp { .. } | Op::Select => {
                data.operands.iter().chain(&data.results).all(scalar)
            }
            // A shift, and a mask.
            Op::FloorDiv | Op::Mod => {
                let by = self.constant_operand(data.operands[1]);
                wide() && by.is_some_and(|n| n > 0 && n & (n - 1) == 0)
            }
            _ => false,
        }
    }

    /// Writes the operations of an arm; gives what it yields.
    fn compute(&mut self, region: RegionId, arm: &mut Arm) -> Result<Vec<Value>> {
        for &id in &self.func.region(region).ops {
            let data = self.func.op(id);
            let Op::Checked { op, .. } = data.op else {
                if let Flow::Yield(values) = self.op(id)? {
                    return Ok(values);
                }
                continue;
            };
            let (x, y) = (self.operand(data, 0)?, self.operand(data, 1)?);
            let (value, overflow) = match self.affine(data, op, arm) {
                Some(affine) => {
                    let opcode = match op {
                        BinOp::Add => Opcode::LLVMAdd,
                        BinOp::Sub => Opcode::LLVMSub,
                        _ => Opcode::LLVMMul,
                    };
                    arm.known.insert(data.results[0], affine);
                    // What it was computed from fits, if it does.
                    arm.overflows.retain(|(v, o)| matches!(o, Overflow::Bit(_)) || !data.operands.contains(v));
                    (self.b.op(opcode, x, y), Overflow::Range(affine))
                }
                None => {
                    let (value, bit) = self.with_overflow(op, weft_ir::DType::I64, x, y);
                    (value, Overflow::Bit(bit))
                }
            };
            arm.overflows.push((data.results[0], overflow));
            arm.checked.push(id);
            self.define(data, 0, value);
        }
        Ok(vec![])
    }

    /// What an operation with a constant is of the number that its other operand was computed from.
    fn affine(&self, data: &OpData, op: BinOp, arm: &Arm) -> Option<Affine> {
        let of = |v: ValueId| arm.known.get(&v).copied().unwrap_or(Affine::of(v));
        let (x, y) = (data.operands[0], data.operands[1]);
        match (op, self.constant_operand(x), self.constant_operand(y)) {
            (BinOp::Add, None, Some(c)) => of(x).then(1, c),
            (BinOp::Add, Some(c), None) => of(y).then(1, c),
            (BinOp::Sub, None, Some(c)) => of(x).then(1, -c),
            (BinOp::Sub, Some(c), None) => of(y).then(-1, c),
            (BinOp::Mul, None, Some(c)) => of(x).then(c, 0),
            (BinOp::Mul, Some(c), None) => of(y).then(c, 0),
            _ => None,
        }
    }

    /// Whether an operation of an arm overflows; `None` where there is none.
    fn any_overflow(&self, arm: &Arm) -> Result<Option<Value>> {
        let mut any = None;
        for (_, overflow) in &arm.overflows {
            let bit = match *overflow {
                Overflow::Bit(bit) => bit,
                Overflow::Range(Affine { base, lo, hi, .. }) => {
                    let (b, x) = (&self.b, self.value(base)?);
                    let constant = |n: i128| b.i64(n as u64);
                    match (lo, hi) {
                        (MIN, hi) => b.icmp(IntIs::LLVMIntSGT, x, constant(hi)),
                        (lo, MAX) => b.icmp(IntIs::LLVMIntSLT, x, constant(lo)),
                        (lo, hi) => {
                            let above = b.op(Opcode::LLVMSub, x, constant(lo));
                            b.icmp(IntIs::LLVMIntUGT, above, constant(hi - lo))
                        }
                    }
                }
            };
            any = Some(any.map_or(bit, |any| self.b.op(Opcode::LLVMOr, any, bit)));
        }
        Ok(any)
    }

    /// Raises what the first of these operations that overflows raises; one of them does.
    fn raise_first(&mut self, checked: &[OpId]) -> Result<()> {
        for (k, &id) in checked.iter().enumerate() {
            let data = self.func.op(id);
            let Op::Checked { op, site } = data.op else { continue };
            let after = match k + 1 == checked.len() {
                true => None,
                false => {
                    let (x, y) = (self.operand(data, 0)?, self.operand(data, 1)?);
                    let (_, bit) = self.with_overflow(op, weft_ir::DType::I64, x, y);
                    let f = self.b.function();
                    let (raise, after) = (self.b.block(f, c"raise"), self.b.block(f, c"after"));
                    self.b.branch(bit, raise, after);
                    self.b.at_end(raise);
                    Some(after)
                }
            };
            self.raise_values(site, &[], data.span)?;
            after.into_iter().for_each(|block| self.b.at_end(block));
        }
        Ok(())
    }
}
