//! `par.for` on the host: its body becomes a chunk function that the runtime calls on its threads.
//!
//! One dimension: `lo..hi` are iterations. More: `lo..hi` run over the row-major product of all sizes but the last, and the
//! last is a loop inside, the one to vectorise. A `par.for` inside another one (or in a kernel) is a plain loop nest. All
//! memory accesses of the body carry the loop's access group: iterations are independent by the op's definition.

use std::mem::offset_of;

use weft_diag::Span;
use weft_ir::{Op, OpData, RegionId, ValueId};

use super::host::{align_frame, set_attributes};
use super::{Frame, Lowering, malformed, types};
use crate::abi::{CallCtx, RuntimeTable};
use crate::error::Result;
use crate::llvm::builder::{Builder, IntIs, Opcode};
use crate::llvm::context::Context;
use crate::llvm::metadata::LoopHints;
use crate::llvm::module::{Linkage, Place};
use crate::llvm::{Type, Value};

/// `u32 chunk(ctx, env, lo, hi)`.
fn chunk_type(cx: &Context) -> Type {
    let (ptr, word) = (cx.ptr(0), cx.int(64));
    cx.function(cx.int(32), &[ptr, ptr, word, word])
}

impl<'m, 'c> Lowering<'m, 'c> {
    /// `par.for`.
    pub(crate) fn parallel_loop(&mut self, data: &OpData, cost: u32) -> Result<()> {
        let region = data.regions[0];
        if self.func.region(region).args.len() != data.operands.len() {
            return Err(malformed("`par.for` needs one index per size", data.span));
        }
        if !matches!(self.frame, Frame::Entry { .. }) {
            let sizes = self.operands(data)?;
            return self.loop_nest(region, &sizes, &mut vec![]);
        }
        let (chunk, env) = self.chunk(data)?;
        let sizes = self.operands(data)?;
        let (&inner, outer) = sizes.split_last().ok_or_else(|| malformed("`par.for` has no size", data.span))?;
        let (items, cost) = match outer {
            [] => (inner, self.b.i32(cost)),
            _ => (self.product(outer), self.row_cost(inner, cost)),
        };
        self.run_chunks(offset_of!(RuntimeTable, par_for), [chunk, env, items, cost], data.span)
    }

    /// `par.blocks`. Its accesses are in no group: what the iterations of one block write may depend on each other.
    pub(crate) fn parallel_blocks(&mut self, data: &OpData, cost: u32) -> Result<()> {
        let sizes = self.operands(data)?;
        let &[blocks, turns] = sizes.as_slice() else {
            return Err(malformed("`par.blocks` needs two numbers", data.span));
        };
        if !matches!(self.frame, Frame::Entry { .. }) {
            return self.blocks(data.regions[0], self.b.i64(0), blocks, false);
        }
        let (chunk, env) = self.chunk(data)?;
        let cost = self.row_cost(turns, cost);
        self.run_chunks(offset_of!(RuntimeTable, par_blocks), [chunk, env, blocks, cost], data.span)
    }

    /// Runs a chunk function over all items: here if there is little to do, else by an entry of the runtime.
    fn run_chunks(&self, entry: usize, [chunk, env, items, cost]: [Value; 4], span: Span) -> Result<()> {
        let (b, cx) = (&self.b, self.b.context);
        let ctx = self.context(span)?;
        let alone = b.load(cx.int(64), b.bytes_past(ctx, offset_of!(CallCtx, alone) as u64), 8);
        // So few items that the product is one of 64 bits.
        let few = b.icmp(IntIs::LLVMIntULT, items, b.i64(1 << 16));
        let work = b.op(Opcode::LLVMMul, items, b.cast(Opcode::LLVMZExt, cost, cx.int(64)));
        let little = b.op(Opcode::LLVMAnd, few, b.icmp(IntIs::LLVMIntULT, work, alone));
        let f = b.function();
        let (here, shared, next) = (b.block(f, c"here"), b.block(f, c"shared"), b.block(f, c"done"));
        b.branch(little, here, shared);
        b.at_end(here);
        let status_here = b.call(chunk_type(cx), chunk, &[ctx, env, b.i64(0), items]);
        b.jump(next);
        b.at_end(shared);
        let status_shared = self.runtime_call(ctx, entry, cx.int(32), &[chunk, env, items, cost]);
        b.jump(next);
        b.at_end(next);
        let status = b.phi(cx.int(32));
        b.incoming(status, &[(status_here, here), (status_shared, shared)]);
        self.go_on_if_fine(status, span)
    }

    /// The chunk function of a parallel loop, and the words of what it captured.
    fn chunk(&mut self, data: &OpData) -> Result<(Value, Value)> {
        let region = data.regions[0];
        // What is known here is known there too: a step of 8 bytes that is loaded is no longer one to neighbours.
        let (mut captured, mut known, mut words) = (vec![], vec![], vec![]);
        for v in self.captured(region, &data.operands) {
            let value = self.value(v)?;
            if self.b.is_constant(value) {
                known.push((v, value));
            } else {
                captured.push(v);
                words.extend(types::to_words(&self.b, self.func.ty(v), value, data.span)?);
            }
        }
        let env = self.words(&words);
        Ok((self.write_chunk(data, region, &captured, &known)?, env))
    }

    fn product(&self, sizes: &[Value]) -> Value {
        let one = self.b.i64(1);
        sizes.iter().fold(one, |p, &n| self.b.op(Opcode::LLVMMul, p, n))
    }

    /// Cost of a whole inner loop, at most `u32::MAX`.
    fn row_cost(&self, inner: Value, cost: u32) -> Value {
        let b = &self.b;
        let (limit, most) = (b.i64(1 << 31), b.i64(u32::MAX.into()));
        let n = b.select(b.icmp(IntIs::LLVMIntULT, inner, limit), inner, limit);
        let total = b.op(Opcode::LLVMMul, n, b.i64(cost.into()));
        let total = b.select(b.icmp(IntIs::LLVMIntULT, total, most), total, most);
        b.cast(Opcode::LLVMTrunc, total, b.context.int(32))
    }

    /// The values that a region uses and does not define, and the sizes, in order of first use.
    fn captured(&self, region: RegionId, sizes: &[ValueId]) -> Vec<ValueId> {
        let mut inside = vec![false; self.func.values.len()];
        let mut used: Vec<ValueId> = sizes.to_vec();
        for &arg in &self.func.region(region).args {
            inside[arg.index()] = true;
        }
        self.func.walk_region(region, &mut |id| {
            let data = self.func.op(id);
            used.extend(&data.operands);
            let args = data.regions.iter().flat_map(|&r| &self.func.region(r).args);
            for v in data.results.iter().chain(args) {
                inside[v.index()] = true;
            }
        });
        let mut seen = vec![false; self.func.values.len()];
        used.retain(|v| !inside[v.index()] && !std::mem::replace(&mut seen[v.index()], true));
        used
    }

    /// Writes `u32 chunk(ctx, env, lo, hi)` and gives its address.
    fn write_chunk(
        &self,
        data: &OpData,
        region: RegionId,
        captured: &[ValueId],
        known: &[(ValueId, Value)],
    ) -> Result<Value> {
        let (unit, cx) = (self.unit, self.b.context);
        let name = format!("weft.chunk.{}", unit.module.functions().len());
        let f = unit.module.function(&name, chunk_type(cx), Linkage::Internal);
        set_attributes(unit, f);
        // Small regions call it directly: a second copy would be compiled for little gain.
        unit.module.attribute(f, Place::Function, "noinline", 0);
        align_frame(unit, f);
        let b = Builder::new(cx);
        let (entry, fail) = (b.block(f, c"entry"), b.block(f, c"fail"));
        b.at_end(entry);
        let (ctx, env, lo, hi) = (b.param(f, 0), b.param(f, 1), b.param(f, 2), b.param(f, 3));
        let frame = Frame::Chunk { ctx, fail, iteration: b.i64(0) };
        let mut this = Lowering::new(unit, self.func, b, frame);
        this.span = data.span;
        known.iter().for_each(|&(id, v)| this.bind(id, v));
        let mut at = 0;
        for &id in captured {
            let slot = this.b.bytes_past(env, 8 * at);
            at += self.func.ty(id).slots() as u64;
            let v = types::from_slot(&this.b, self.func.ty(id), slot, data.span)?;
            this.bind(id, v);
        }
        let sizes: Vec<Value> = data.operands.iter().map(|&v| this.value(v)).collect::<Result<_>>()?;
        match sizes.split_last() {
            _ if matches!(data.op, Op::ParBlocks { .. }) => this.blocks(region, lo, hi, true)?,
            Some((&inner, outer)) if !outer.is_empty() => this.rows(region, outer, inner, lo, hi)?,
            _ => this.iterations(region, &[], this.b.i64(0), lo, hi)?,
        }
        this.b.ret(Some(this.b.i32(0)));
        this.finish_failure();
        Ok(f)
    }

    /// The outer loop of a chunk over several dimensions: each row is taken apart into its indices.
    fn rows(&mut self, region: RegionId, outer: &[Value], inner: Value, lo: Value, hi: Value) -> Result<()> {
        self.counted_loop(lo, hi, &[], LoopHints::default(), |this, row, _| {
            let mut rest = row;
            let mut indices = vec![];
            for (k, &n) in outer.iter().enumerate().rev() {
                if k == 0 {
                    indices.push(rest);
                } else {
                    indices.push(this.b.op(Opcode::LLVMURem, rest, n));
                    rest = this.b.op(Opcode::LLVMUDiv, rest, n);
                }
            }
            indices.reverse();
            let base = this.b.op(Opcode::LLVMMul, row, inner);
            this.iterations(region, &indices, base, this.b.i64(0), inner)?;
            Ok(Some(vec![]))
        })?;
        Ok(())
    }

    /// The innermost loop of a chunk: `base + i` is the iteration's row-major position.
    fn iterations(&mut self, region: RegionId, outer: &[Value], base: Value, lo: Value, hi: Value) -> Result<()> {
        let group = self.b.context.access_group()?;
        let hints = self.parallel_hints(region, group);
        self.groups.push(group);
        self.counted_loop(lo, hi, &[], hints, |this, i, _| {
            if let Frame::Chunk { ctx, fail, .. } = this.frame {
                let iteration = this.b.op(Opcode::LLVMAdd, base, i);
                this.frame = Frame::Chunk { ctx, fail, iteration };
            }
            let args = this.func.region(region).args.clone();
            this.bind_all(&args, outer);
            this.bind(args[outer.len()], i);
            Ok(this.region(region)?.map(|_| vec![]))
        })?;
        self.groups.pop();
        Ok(())
    }

    /// The blocks of a chunk, one after the other. Which of two exceptions comes first is decided by the outermost ones.
    fn blocks(&mut self, region: RegionId, lo: Value, hi: Value, outermost: bool) -> Result<()> {
        self.counted_loop(lo, hi, &[], LoopHints::default(), |this, block, _| {
            if let (Frame::Chunk { ctx, fail, .. }, true) = (&this.frame, outermost) {
                this.frame = Frame::Chunk { ctx: *ctx, fail: *fail, iteration: block };
            }
            let args = this.func.region(region).args.clone();
            this.bind(args[0], block);
            Ok(this.region(region)?.map(|_| vec![]))
        })?;
        Ok(())
    }

    /// Plain loops, for a `par.for` that runs inside another one or in a work-item.
    fn loop_nest(&mut self, region: RegionId, sizes: &[Value], indices: &mut Vec<Value>) -> Result<()> {
        let n = sizes[indices.len()];
        let innermost = indices.len() + 1 == sizes.len();
        let zero = self.b.zero(self.b.type_of(n));
        let mut hints = LoopHints::default();
        if innermost {
            let group = self.b.context.access_group()?;
            hints = self.parallel_hints(region, group);
            self.groups.push(group);
        }
        self.counted_loop(zero, n, &[], hints, |this, i, _| {
            indices.push(i);
            let reached = if innermost {
                let args = this.func.region(region).args.clone();
                this.bind_all(&args, indices);
                this.region(region)?.is_some()
            } else {
                this.loop_nest(region, sizes, indices)?;
                true
            };
            indices.pop();
            Ok(reached.then(Vec::new))
        })?;
        if innermost {
            self.groups.pop();
        }
        Ok(())
    }
}
