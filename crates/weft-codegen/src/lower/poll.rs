//! Where host code looks whether it is to end (Ctrl-C): at the end of a loop's turns, and where functions call each other.
//!
//! A look is a load and a branch that is not taken. Loops of vectors, or of a few instructions, have none: an innermost
//! `scf.for`, and a `while` that counts up to a bound, go in *strips* of a fraction of a millisecond, and look between two; so
//! does a loop that only sometimes comes to such loops, after some of its turns. At most some 50 ms go between two looks.

use std::mem::offset_of;

use weft_diag::Span;
use weft_ir::attr::CmpOp;
use weft_ir::{DType, Op, OpData, RegionId, ValueId};

use super::{Frame, Lowering, Target};
use crate::abi::CallCtx;
use crate::error::Result;
use crate::llvm::Value;
use crate::llvm::builder::{IntIs, Opcode};
use crate::llvm::module::Linkage;

/// Instructions of a strip, about.
const STRIP: u64 = 1 << 18;

/// Turns of a strip of a loop that only sometimes comes to its inner loops.
const OUTER: u64 = 128;

/// What a loop does so that it can be ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looks {
    /// Nothing: it is over soon, or cannot be ended.
    Never,
    /// It looks at the end of every turn.
    Turns,
    /// It looks after so many turns; whether a turn checks something.
    Strips(u64, bool),
}

/// A `while i < n` that adds a positive constant to `i` at the end of each turn.
pub(crate) struct Counted {
    /// `i` among what is carried.
    pub(crate) counter: usize,
    pub(crate) bound: ValueId,
    pub(crate) is: IntIs,
    /// Turns of a strip times what a turn adds.
    pub(crate) span: u64,
    /// The op that compares; the branch is the next one.
    pub(crate) at: usize,
}

impl Lowering<'_, '_> {
    /// Whether code here can be ended.
    fn can_end(&self) -> bool {
        self.ends && self.unit.target == Target::Native && !matches!(self.frame, Frame::Kernel { .. })
    }

    /// Looks whether to end, and leaves as with an exception if so.
    pub(crate) fn poll(&mut self, span: Span) -> Result<()> {
        if !self.can_end() {
            return Ok(());
        }
        let ctx = self.context(span)?;
        let signal = match self.signal {
            Some(signal) => signal,
            None => {
                let here = self.b.here();
                self.b.at_entry_start(self.b.function());
                let signal =
                    self.b.load(self.b.context.ptr(0), self.b.bytes_past(ctx, offset_of!(CallCtx, signal) as u64), 8);
                self.b.at_end(here);
                *self.signal.insert(signal)
            }
        };
        let (b, f) = (&self.b, self.b.function());
        let (asks, next) = (b.block(f, c"asks"), b.block(f, c"next"));
        let seen = b.load_again(b.context.int(32), signal, 4);
        let branch = b.branch(b.icmp(IntIs::LLVMIntNE, seen, b.i32(0)), asks, next);
        b.annotate(branch, "prof", b.context.branch_weights(false));
        b.at_end(asks);
        let ends = self.helper("weft_ends", b.context.int(32), &[ctx]);
        // Loops keep in registers what they have there. What it writes is the exception, which handlers alone read here.
        if self.tries == 0 {
            b.touches_nothing_here(ends);
        }
        let branch = b.branch(b.icmp(IntIs::LLVMIntNE, ends, b.i32(0)), self.fail(span)?, next);
        b.annotate(branch, "prof", b.context.branch_weights(false));
        b.at_end(next);
        Ok(())
    }

    /// After a routine that gives its work to threads: leaves if it was ended.
    pub(crate) fn leave_if_stopped(&mut self, span: Span) -> Result<()> {
        if !self.can_end() {
            return Ok(());
        }
        let (ctx, f) = (self.context(span)?, self.b.function());
        let b = &self.b;
        let (leaves, next) = (b.block(f, c"ends"), b.block(f, c"next"));
        let stopped = b.bytes_past(ctx, offset_of!(CallCtx, stopped) as u64);
        let seen = b.load(b.context.int(32), stopped, 4);
        let branch = b.branch(b.icmp(IntIs::LLVMIntNE, seen, b.i32(0)), leaves, next);
        b.annotate(branch, "prof", b.context.branch_weights(false));
        b.at_end(leaves);
        // A handler may go on.
        b.store(b.i32(0), stopped, 4);
        b.jump(self.fail(span)?);
        b.at_end(next);
        Ok(())
    }

    /// Where a `scf.for` looks.
    pub(crate) fn looks(&self, data: &OpData) -> Looks {
        if !self.can_end() {
            return Looks::Never;
        }
        match (self.cost_of(data.regions[0]), self.constant_turns(data)) {
            (None, _) if self.sometimes_loops(data.regions[0]) => Looks::Strips(OUTER, false),
            (None, _) => Looks::Turns,
            (Some(cost), Some(turns)) if turns.saturating_mul(cost) <= STRIP => Looks::Never,
            (Some(cost), _) => Looks::Strips((STRIP / cost).max(1), self.checks(data.regions[0])),
        }
    }

    /// Where a loop over a dimension of a parallel loop looks, if it is written as a plain one: `innermost` ones in strips.
    pub(crate) fn looks_in(&self, region: RegionId, innermost: bool) -> Looks {
        if !self.can_end() {
            return Looks::Never;
        }
        match self.cost_of(region).filter(|_| innermost) {
            None => Looks::Turns,
            Some(cost) => Looks::Strips((STRIP / cost).max(1), self.checks(region)),
        }
    }

    /// Whether all that takes long in a region is innermost loops under a condition, so that many turns are short.
    fn sometimes_loops(&self, region: RegionId) -> bool {
        let op = |&id| self.func.op(id);
        let inner_look = |region: RegionId| {
            self.func.region(region).ops.iter().map(op).all(|data| match data.op {
                Op::ScfFor | Op::ScfLoop => self.cost_of(data.regions[0]).is_some(),
                _ => self.cost_of_op(data).is_some(),
            })
        };
        self.func.region(region).ops.iter().map(op).all(|data| match data.op {
            Op::ScfIf => data.regions.iter().all(|&r| inner_look(r)),
            _ => self.cost_of_op(data).is_some(),
        })
    }

    fn constant_turns(&self, data: &OpData) -> Option<u64> {
        let [lo, hi, step] = [0, 1, 2].map(|k| self.constant_operand(data.operands[k]));
        let (distance, step) = (hi?.checked_sub(lo?)?, step?);
        let turns = distance.checked_div(step)?.max(0) + 1;
        u64::try_from(turns).ok()
    }

    /// The instructions of a region, about; `None` if nobody can say how long it takes, or it looks by itself.
    fn cost_of(&self, region: RegionId) -> Option<u64> {
        let ops = self.func.region(region).ops.iter().map(|&id| self.func.op(id));
        ops.map(|data| self.cost_of_op(data)).try_fold(1_u64, |sum, cost| sum.checked_add(cost?))
    }

    fn cost_of_op(&self, data: &OpData) -> Option<u64> {
        let several =
            |turns: Option<u64>| self.cost_of(data.regions[0])?.checked_mul(turns?).filter(|&all| all <= STRIP);
        match &data.op {
            Op::ScfFor => several(self.constant_turns(data)),
            Op::ParFor { .. } => {
                let sizes = &data.operands[..self.func.region(data.regions[0]).args.len()];
                several(self.constant_items(sizes).and_then(|n| u64::try_from(n).ok()))
            }
            Op::ScfLoop | Op::ParBlocks { .. } | Op::Call { .. } | Op::SimtLaunch { .. } | Op::MemNeed { .. } => None,
            Op::MemZero | Op::MemScan { .. } | Op::MemReduce { .. } | Op::MemCopy { .. } | Op::MemCount => None,
            Op::MemCompress { .. } | Op::MemMatmul | Op::MemProduct | Op::MemBothSides | Op::MemDot => None,
            Op::MemCholesky | Op::MemSolve => None,
            Op::Print { .. } => Some(1000),
            Op::MemAlloc { .. } | Op::MemList { .. } | Op::MemReserve | Op::Math { .. } => Some(50),
            _ => data.regions.iter().try_fold(1_u64, |sum, &r| sum.checked_add(self.cost_of(r)?)),
        }
    }

    /// How far the strip goes that begins at `first`, below `hi`: that far, or `turns` on. LLVM is to see how often the loop turns,
    /// so that it is unrolled as others are, and where it checks indices that it stays below `hi`.
    pub(crate) fn end_of_strip(&self, first: Value, hi: Value, turns: u64, checks: bool) -> Value {
        let b = &self.b;
        let ty = b.type_of(hi);
        let end = match checks {
            true => self.bound_of_strip(first, hi, turns),
            false => {
                let left = b.op(Opcode::LLVMSub, hi, first);
                b.add_nsw(first, self.integer_intrinsic("llvm.umin", ty, &[left, b.int(ty, turns)]))
            }
        };
        let begins = b.icmp(IntIs::LLVMIntSLT, first, end);
        let assume = b.context.function(b.context.void(), &[b.context.int(1)]);
        b.call(assume, self.unit.module.function("llvm.assume", assume, Linkage::External), &[begins]);
        end
    }

    /// The same for the bound of a `while`, wherever `first` is, in words from which LLVM sees that it is at most `hi`: checks of
    /// indices that `hi` makes superfluous go.
    pub(crate) fn bound_of_strip(&self, first: Value, hi: Value, turns: u64) -> Value {
        let ty = self.b.type_of(hi);
        let both = |name: &str, x: Value, y: Value| self.integer_intrinsic(name, ty, &[x, y]);
        both("llvm.smin", hi, both("llvm.sadd.sat", first, self.b.int(ty, turns)))
    }

    /// Whether a `scf.loop` counts up to a bound, and does nothing that takes long.
    pub(crate) fn counted(&self, data: &OpData) -> Option<Counted> {
        if !self.can_end() {
            return None;
        }
        let region = self.func.region(data.regions[0]);
        let op = |k: usize| region.ops.get(k).map(|&id| self.func.op(id));
        let at = (0..region.ops.len()).find(|&k| op(k).is_some_and(|o| !matches!(o.op, Op::Const { .. })))?;
        let (compare, branch, last) = (op(at)?, op(at + 1)?, op(region.ops.len() - 1)?);
        let is = match compare.op {
            Op::Cmp { is: CmpOp::Lt } => IntIs::LLVMIntSLT,
            Op::Cmp { is: CmpOp::Le } => IntIs::LLVMIntSLE,
            _ => return None,
        };
        let counter = region.args.iter().position(|&v| v == compare.operands[0])?;
        let (i, bound) = (region.args[counter], compare.operands[1]);
        if self.func.ty(i).scalar_dtype() != Some(DType::I64) || branch.op != Op::ScfIf || last.op != Op::Yield {
            return None;
        }
        let only = |region: RegionId| match self.func.region(region).ops[..] {
            [id] => Some(&self.func.op(id).op),
            _ => None,
        };
        let leaves = branch.operands[..] == compare.results[..]
            && branch.results.is_empty()
            && only(branch.regions[0]) == Some(&Op::Yield)
            && only(branch.regions[1]) == Some(&Op::Break { depth: 0 });
        // Nothing else leaves the loop or goes to its start, and the bound is not of the loop.
        let (mut exits, mut inside) = (0, region.args.contains(&bound));
        self.func.walk_region(data.regions[0], &mut |id| {
            let data = self.func.op(id);
            exits += usize::from(matches!(data.op, Op::Break { .. } | Op::Continue { .. } | Op::Return));
            inside |= data.results.contains(&bound);
        });
        if !leaves || exits != 1 || inside {
            return None;
        }
        let next = *last.operands.get(counter)?;
        let add = region.ops.iter().map(|&id| self.func.op(id)).find(|o| o.results.contains(&next))?;
        let by = match (&add.op, &add.operands[..]) {
            (Op::Add | Op::Checked { op: weft_ir::attr::BinOp::Add, .. }, &[x, by]) if x == i => by,
            _ => return None,
        };
        let by = u64::try_from(self.constant_operand(by)?).ok().filter(|by| (1..=1 << 16).contains(by))?;
        let span = (STRIP / self.cost_of(data.regions[0])?).max(1).saturating_mul(by);
        Some(Counted { counter, bound, is, span, at })
    }
}
