//! Levels of `par.for`: groups, the items of a group, and what a group shares.
//!
//! In a kernel a work-group takes groups in a grid-stride loop, so that any launch covers any number of them; an item of a group
//! is a work-item, and the end of a loop over items is a barrier. On the host groups are the iterations of a chunk, and their
//! items a loop to vectorise; what a group shares lies on the stack.

use std::mem::offset_of;

use weft_diag::Span;
use weft_ir::attr::{Fence, Level};
use weft_ir::{Func, Op, OpData, RegionId, Space, Type as IrType};

use super::kernel::Query;
use super::{Frame, Item, Lowering, Target, malformed, types};
use crate::abi::RuntimeTable;
use crate::error::{CodegenError, Result};
use crate::llvm::Value;
use crate::llvm::builder::{IntIs, Opcode};
use crate::llvm::metadata::LoopHints;
use crate::{ptx, spirv};

/// The group being written.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    /// Row-major position of its first item, if all groups are full.
    first: Value,
    /// Items that it has.
    items: u32,
}

/// Items of a work-group of this kernel; 0 where that is for the launch to choose.
pub(crate) fn group_size(func: &Func) -> u32 {
    let level = func.region(func.body).ops.iter().find_map(|&op| match func.op(op).op {
        Op::ParFor { level: Level::Grid(items), .. } => Some(items),
        _ => None,
    });
    level.unwrap_or(0)
}

impl Lowering<'_, '_> {
    /// `par.for`.
    pub(crate) fn parallel(&mut self, data: &OpData, cost: u32, level: Level) -> Result<()> {
        match (level, &self.frame) {
            (Level::Item, Frame::Kernel { item: None, .. }) => self.work_items(data),
            (Level::Item, _) => self.parallel_loop(data, cost),
            (Level::Grid(items), Frame::Kernel { .. }) => self.groups(data, items),
            (Level::Grid(_), Frame::Entry { .. }) => self.parallel_groups(data, cost),
            (Level::Group, Frame::Kernel { .. }) => self.group_items(data),
            (Level::Group, Frame::Chunk { .. }) => {
                let sizes = self.operands(data)?;
                self.loop_nest(data.regions[0], &sizes, true, false, &mut vec![])
            }
            _ => Err(malformed("a parallel loop of a level that is not one here", data.span)),
        }
    }

    /// A work-group's loop over groups.
    fn groups(&mut self, data: &OpData, items: u32) -> Result<()> {
        let sizes = self.operands(data)?;
        let wide: Vec<Value> = sizes.iter().map(|&n| self.to_i64(n)).collect();
        let all = wide.iter().fold(self.b.i64(1), |p, &n| self.b.op(Opcode::LLVMMul, p, n));
        let (start, step) = (self.query(Query::GroupId, 0), self.query(Query::GroupCount, 0));
        self.strided_loop(start, all, step, &[], LoopHints::default(), |this, at, _, _| {
            this.group_at(data.regions[0], &wide, at, items)?;
            Ok(Some(vec![]))
        })?;
        Ok(())
    }

    /// The body of a loop over groups, for the one at a position in row-major order.
    fn group_at(&mut self, region: RegionId, sizes: &[Value], at: Value, items: u32) -> Result<()> {
        let args = self.func.region(region).args.clone();
        let indices = self.row_major(at, sizes);
        for (&arg, i) in args.iter().zip(indices) {
            let ty = self.llvm_type(self.func.ty(arg), Span::NONE)?;
            let i = if self.b.type_of(i) == ty { i } else { self.b.cast(Opcode::LLVMTrunc, i, ty) };
            self.bind(arg, i);
        }
        let first = self.b.op(Opcode::LLVMMul, at, self.b.i64(items.into()));
        let outer = self.group.replace(Group { first, items });
        let reached = self.region(region)?;
        self.group = outer;
        reached.map(drop).ok_or_else(|| malformed("a group is left", self.span))
    }

    /// A position as the index of each size.
    fn row_major(&self, at: Value, sizes: &[Value]) -> Vec<Value> {
        let (mut rest, mut indices) = (at, vec![]);
        for (k, &n) in sizes.iter().enumerate().rev() {
            indices.push(if k == 0 { rest } else { self.b.op(Opcode::LLVMURem, rest, n) });
            rest = if k == 0 { rest } else { self.b.op(Opcode::LLVMUDiv, rest, n) };
        }
        indices.reverse();
        indices
    }

    /// The items of a work-group, of which some may have nothing to do, and the barrier behind them.
    fn group_items(&mut self, data: &OpData) -> Result<()> {
        let (Frame::Kernel { errors, item: None }, Some(group)) = (&self.frame, self.group) else {
            return Err(malformed("the items of no group", data.span));
        };
        let errors = *errors;
        let sizes: Vec<Value> = self.operands(data)?.into_iter().map(|n| self.to_i64(n)).collect();
        let count = data.operands.iter().try_fold(1_i128, |n, &size| n.checked_mul(self.constant_operand(size)?));
        let local = self.query(Query::LocalId, 0);
        let position = self.b.op(Opcode::LLVMAdd, group.first, local);
        let f = self.b.function();
        let next = self.b.block(f, c"items.done");
        if count != Some(group.items.into()) {
            let inside = self.b.block(f, c"items");
            let all = sizes.iter().fold(self.b.i64(1), |p, &n| self.b.op(Opcode::LLVMMul, p, n));
            self.b.branch(self.b.icmp(IntIs::LLVMIntSLT, local, all), inside, next);
            self.b.at_end(inside);
        }
        let args = self.func.region(data.regions[0]).args.clone();
        for (&arg, i) in args.iter().zip(self.row_major(local, &sizes)) {
            let ty = self.llvm_type(self.func.ty(arg), data.span)?;
            let i = if self.b.type_of(i) == ty { i } else { self.b.cast(Opcode::LLVMTrunc, i, ty) };
            self.bind(arg, i);
        }
        self.frame = Frame::Kernel { errors, item: Some(Item { position, done: next }) };
        if self.region(data.regions[0])?.is_some() {
            self.b.jump(next);
        }
        self.frame = Frame::Kernel { errors, item: None };
        self.b.at_end(next);
        let fence = if self.writes_global(data.regions[0]) { Fence::All } else { Fence::Local };
        self.barrier(fence);
        Ok(())
    }

    fn writes_global(&self, region: RegionId) -> bool {
        let mut found = false;
        self.func.walk_region(region, &mut |id| {
            let data = self.func.op(id);
            let global = |v| matches!(self.func.ty(v), IrType::Mem(_, Space::Global));
            found |= data.op.effects().operands.writes.of(&data.operands).iter().any(|&v| global(v));
        });
        found
    }

    /// `simt.barrier`.
    pub(crate) fn explicit_barrier(&mut self, data: &OpData, fence: Fence) -> Result<()> {
        if self.unit.target == Target::Native {
            let op = "a barrier between items".to_owned();
            return Err(CodegenError::Unsupported { op, target: self.unit.target.name(), span: data.span });
        }
        self.barrier(fence);
        Ok(())
    }

    fn barrier(&self, fence: Fence) {
        match self.unit.target {
            Target::Ptx => ptx::barrier(self.unit.module, &self.b),
            _ => spirv::barrier(self.unit.module, &self.b, fence),
        }
    }

    /// `mem.local`.
    pub(crate) fn local(&mut self, data: &OpData, bytes: u32) -> Result<()> {
        let &IrType::Mem(d, _) = self.func.ty(data.results[0]) else {
            return Err(malformed("local memory of nothing", data.span));
        };
        let cx = self.b.context;
        let ty = cx.array(types::in_memory(cx, d), u64::from(bytes) / d.size() as u64);
        let memory = match self.unit.target {
            Target::Native => self.b.stack(ty, 64),
            _ => self.unit.module.local(ty, 16),
        };
        self.define(data, 0, memory);
        Ok(())
    }

    /// A loop over groups on the host.
    fn parallel_groups(&mut self, data: &OpData, cost: u32) -> Result<()> {
        let sizes = self.operands(data)?;
        let (chunk, env) = self.chunk(data, &data.operands)?;
        let all = self.product(&sizes);
        self.run_chunks(offset_of!(RuntimeTable, par_for), [chunk, env, all, self.b.i32(cost)], None, data.span)
    }

    /// The groups of a chunk, one after the other.
    pub(crate) fn group_chunk(
        &mut self,
        region: RegionId,
        sizes: &[Value],
        items: u32,
        lo: Value,
        hi: Value,
    ) -> Result<()> {
        self.counted_loop(lo, hi, &[], LoopHints::default(), |this, at, _| {
            if let Frame::Chunk { ctx, fail, .. } = this.frame {
                this.frame = Frame::Chunk { ctx, fail, iteration: at };
            }
            this.group_at(region, sizes, at, items)?;
            Ok(Some(vec![]))
        })?;
        Ok(())
    }
}
