//! `par.for` on the host: its body becomes a chunk function that the runtime calls on its threads.
//!
//! One dimension: `lo..hi` are iterations. More: `lo..hi` run over the row-major product of all sizes but the last, and the
//! last is a loop inside, the one to vectorise. A `par.for` inside another one (or in a kernel) is a plain loop nest. All
//! memory accesses of the body carry the loop's access group: iterations are independent by the op's definition. Those that run in
//! order may read what later ones write: also vectors are loaded before any of their lanes, or a later one, is stored.

use std::mem::offset_of;

use weft_diag::Span;
use weft_ir::attr::{Level, Unit};
use weft_ir::{Op, OpData, RegionId, Type as IrType, ValueId};

use super::host::{align_frame, set_attributes};
use super::poll::Looks;
use super::{Frame, Lowering, Target, malformed, types};
use crate::abi::{CallCtx, RuntimeTable};
use crate::error::Result;
use crate::llvm::builder::{Builder, IntIs, Opcode};
use crate::llvm::context::Context;
use crate::llvm::metadata::LoopHints;
use crate::llvm::module::{Linkage, Place};
use crate::llvm::{Type, Value};
use crate::stream::NEAR;

/// Items whose results go past the caches together, and arrays of results at most.
const BLOCK: u64 = 1024;
const MOST_STREAMS: usize = 2;

/// No more items than this, known when the code is made, are no work for a function of their own.
const FEW: i128 = 32;

/// Arrays of which each iteration takes the element with its own number.
struct InOrder {
    /// Pointers that are written, and not read by that name, with the sizes of their elements.
    written: Vec<(ValueId, u64)>,
    read: Vec<ValueId>,
    /// That an iteration reads and writes.
    bytes: u64,
}

/// Items of a loop inside another one up to which its body is not worth more copies than the vectors need.
const TILE: i128 = 64;

/// `u32 chunk(ctx, env, lo, hi)`.
fn chunk_type(cx: &Context) -> Type {
    let (ptr, word) = (cx.ptr(0), cx.int(64));
    cx.function(cx.int(32), &[ptr, ptr, word, word])
}

impl<'m, 'c> Lowering<'m, 'c> {
    /// `par.for` over items.
    pub(crate) fn parallel_loop(&mut self, data: &OpData, cost: u32) -> Result<()> {
        let region = data.regions[0];
        let Some((sizes, in_order)) = data.operands.split_at_checked(self.func.region(region).args.len()) else {
            return Err(malformed("`par.for` needs one index per size", data.span));
        };
        let values: Vec<Value> = sizes.iter().map(|&v| self.value(v)).collect::<Result<_>>()?;
        let few = self.constant_items(sizes).is_some_and(|n| n <= FEW);
        if few || !matches!(self.frame, Frame::Entry { .. }) {
            let tile = sizes.last().is_some_and(|&size| self.is_at_most(size, TILE));
            return self.loop_nest(region, &values, few, tile, &mut vec![]);
        }
        let (chunk, env) = self.chunk(data, sizes)?;
        let in_order = in_order.first().map(|&v| self.value(v)).transpose()?;
        let sizes = values;
        let (&inner, outer) = sizes.split_last().ok_or_else(|| malformed("`par.for` has no size", data.span))?;
        let (items, cost) = match outer {
            [] => (inner, self.b.i32(cost)),
            _ => (self.product(outer), self.row_cost(inner, cost)),
        };
        self.run_chunks(offset_of!(RuntimeTable, par_for), [chunk, env, items, cost], in_order, data.span)
    }

    /// Whether a size is the lesser of two, one of which is known to be no more than this.
    fn is_at_most(&self, size: ValueId, most: i128) -> bool {
        let op = self.func.ops.iter().find(|o| o.results.first() == Some(&size));
        op.is_some_and(|o| {
            o.op == Op::Min && o.operands.iter().any(|&v| self.constant_operand(v).is_some_and(|n| n <= most))
        })
    }

    /// The items of a `par.for`, if that is known.
    pub(crate) fn constant_items(&self, sizes: &[ValueId]) -> Option<i128> {
        sizes.iter().try_fold(1_i128, |n, &size| n.checked_mul(self.constant_operand(size)?))
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
        let (chunk, env) = self.chunk(data, &data.operands)?;
        let cost = self.row_cost(turns, cost);
        self.run_chunks(offset_of!(RuntimeTable, par_blocks), [chunk, env, blocks, cost], None, data.span)
    }

    /// Runs a chunk function over all items: here if there is little to do or their order counts, else by an entry of the runtime.
    pub(crate) fn run_chunks(
        &self,
        entry: usize,
        [chunk, env, items, cost]: [Value; 4],
        in_order: Option<Value>,
        span: Span,
    ) -> Result<()> {
        let (b, cx) = (&self.b, self.b.context);
        let ctx = self.context(span)?;
        let alone = b.load(cx.int(64), b.bytes_past(ctx, offset_of!(CallCtx, alone) as u64), 8);
        // So few items that the product is one of 64 bits.
        let few = b.icmp(IntIs::LLVMIntULT, items, b.i64(1 << 16));
        let work = b.op(Opcode::LLVMMul, items, b.cast(Opcode::LLVMZExt, cost, cx.int(64)));
        let little = b.op(Opcode::LLVMAnd, few, b.icmp(IntIs::LLVMIntULT, work, alone));
        let little = in_order.map_or(little, |in_order| b.op(Opcode::LLVMOr, little, in_order));
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

    /// The chunk function of a parallel loop over these sizes, and the words of what it captured.
    pub(crate) fn chunk(&mut self, data: &OpData, sizes: &[ValueId]) -> Result<(Value, Value)> {
        let region = data.regions[0];
        // What is known here is known there too: a step of 8 bytes that is loaded is no longer one to neighbours.
        let (mut captured, mut known, mut words) = (vec![], vec![], vec![]);
        for v in self.captured(region, sizes) {
            let value = self.value(v)?;
            if self.b.is_constant(value) {
                known.push((v, value));
            } else {
                captured.push(v);
                words.extend(types::to_words(&self.b, self.func.ty(v), value, data.span)?);
            }
        }
        let env = self.words(&words);
        Ok((self.write_chunk(data, sizes, &captured, &known)?, env))
    }

    pub(crate) fn product(&self, sizes: &[Value]) -> Value {
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
        sizes: &[ValueId],
        captured: &[ValueId],
        known: &[(ValueId, Value)],
    ) -> Result<Value> {
        let (unit, cx, region) = (self.unit, self.b.context, data.regions[0]);
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
        // Nobody hears of a piece of a product that was left.
        this.ends = data.op != Op::MemProduct;
        known.iter().for_each(|&(id, v)| this.bind(id, v));
        let mut at = 0;
        for &id in captured {
            let slot = this.b.bytes_past(env, 8 * at);
            at += self.func.ty(id).slots() as u64;
            let v = types::from_slot(&this.b, self.func.ty(id), slot, data.span)?;
            this.bind(id, v);
        }
        let sizes: Vec<Value> = sizes.iter().map(|&v| this.value(v)).collect::<Result<_>>()?;
        match sizes.split_last() {
            _ if data.op == Op::MemProduct => this.piece(region, lo)?,
            _ if let Op::ParFor { level: Level::Grid(items), .. } = data.op => {
                this.group_chunk(region, &sizes, items, lo, hi)?;
            }
            _ if matches!(data.op, Op::ParBlocks { .. }) => this.blocks(region, lo, hi, true)?,
            Some((&inner, outer)) if !outer.is_empty() => this.rows(region, outer, inner, lo, hi)?,
            Some((&n, _)) => this.in_blocks(region, n, lo, hi)?,
            None => return Err(malformed("`par.for` has no size", data.span)),
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

    /// The loop of a chunk over one dimension of `n` items. If its arrays are far larger than the caches, what it writes goes to a
    /// near place, from which it is copied past the caches, some items at a time.
    fn in_blocks(&mut self, region: RegionId, n: Value, lo: Value, hi: Value) -> Result<()> {
        let InOrder { written, read, bytes } = self.in_order(region);
        if written.is_empty() || self.unit.target != Target::Native {
            return self.iterations(region, &[], self.b.i64(0), lo, hi);
        }
        let (b, cx) = (&self.b, self.b.context);
        let f = b.function();
        let (asks, begins) = (b.block(f, c"asks"), b.block(f, c"begins"));
        let before = b.here();
        let total = b.op(Opcode::LLVMMul, n, b.i64(bytes));
        b.branch(b.icmp(IntIs::LLVMIntUGT, total, b.i64(NEAR)), asks, begins);
        b.at_end(asks);
        let answer = self.helper("weft_is_far", cx.int(32), &[total]);
        let b = &self.b;
        let answer = b.icmp(IntIs::LLVMIntNE, answer, b.i32(0));
        b.jump(begins);
        b.at_end(begins);
        let mut far = b.phi(cx.int(1));
        b.incoming(far, &[(b.zero(cx.int(1)), before), (answer, asks)]);
        let mut near = vec![];
        for &(pointer, size) in &written {
            let own = self.value(pointer)?;
            // What is read where it is written (`a += b`) has been brought near to be read.
            for &other in &read {
                let apart = self.b.icmp(IntIs::LLVMIntNE, own, self.value(other)?);
                far = self.b.op(Opcode::LLVMAnd, far, apart);
            }
            near.push((pointer, size, own, self.word_buffer(BLOCK as usize * size as usize / 8)));
        }
        let block = self.b.i64(BLOCK);
        self.strided_loop(lo, hi, block, &[], LoopHints::default(), |this, first, _, _| {
            let b = &this.b;
            let (left, zero) = (b.op(Opcode::LLVMSub, hi, first), b.i64(0));
            let count = b.select(b.icmp(IntIs::LLVMIntULT, left, b.i64(BLOCK)), left, b.i64(BLOCK));
            let end = b.op(Opcode::LLVMAdd, first, count);
            let shift = b.select(far, first, zero);
            for &(pointer, _, own, room) in &near {
                let place = this.b.select(far, room, own);
                this.bind(pointer, place);
                this.shifted.push((pointer, shift));
            }
            this.iterations(region, &[], zero, first, end)?;
            this.shifted.clear();
            near.iter().for_each(|&(pointer, _, own, _)| this.bind(pointer, own));
            this.if_far(far, |this| {
                for &(_, size, own, room) in &near {
                    let b = &this.b;
                    let bytes = |items: Value| b.op(Opcode::LLVMMul, items, b.i64(size));
                    let (to, count) = (b.element(cx.int(8), own, bytes(first)), bytes(count));
                    this.helper("weft_stream", cx.void(), &[to, room, count]);
                }
            });
            Ok(Some(vec![]))
        })?;
        self.if_far(far, |this| {
            this.helper("weft_streamed", cx.void(), &[]);
        });
        Ok(())
    }

    fn if_far(&mut self, far: Value, then: impl FnOnce(&mut Self)) {
        let f = self.b.function();
        let (streams, goes_on) = (self.b.block(f, c"streams"), self.b.block(f, c"goes_on"));
        self.b.branch(far, streams, goes_on);
        self.b.at_end(streams);
        then(self);
        self.b.jump(goes_on);
        self.b.at_end(goes_on);
    }

    /// What the iterations of a loop do to the element with their own number.
    fn in_order(&self, region: RegionId) -> InOrder {
        let f = self.func;
        let index = f.region(region).args[0];
        let (mut touched, mut inside) = (vec![], vec![]);
        f.walk_region(region, &mut |id| {
            let data = f.op(id);
            inside.extend(data.results.iter().copied());
            // Anything that takes a pointer.
            touched.extend(data.operands.iter().filter(|&&v| matches!(f.ty(v), IrType::Mem(..))).copied());
        });
        let (mut written, mut read, mut bytes) = (vec![], vec![], 0);
        for data in f.region(region).ops.iter().map(|&id| f.op(id)) {
            let (pointer, at, stores) = match (&data.op, &data.operands[..]) {
                (Op::MemLoad { unit: Unit::Element }, &[p, at]) => (p, at, false),
                (Op::MemStore { unit: Unit::Element }, &[_, p, at]) => (p, at, true),
                _ => continue,
            };
            let &IrType::Mem(d, _) = f.ty(pointer) else { continue };
            if at != index || inside.contains(&pointer) {
                continue;
            }
            bytes += d.size() as u64;
            if !stores {
                read.push(pointer);
            } else if touched.iter().filter(|&&v| v == pointer).count() == 1 {
                written.push((pointer, d.size() as u64));
            }
        }
        written.truncate(MOST_STREAMS);
        InOrder { written, read, bytes }
    }

    /// The blocks of a chunk, one after the other. Which of two exceptions comes first is decided by the outermost ones.
    fn blocks(&mut self, region: RegionId, lo: Value, hi: Value, outermost: bool) -> Result<()> {
        let looks = self.looks_in(region, false);
        self.looking_loop(lo, hi, &[], LoopHints::default(), looks, |this, block, _| {
            if let (Frame::Chunk { ctx, fail, .. }, true) = (&this.frame, outermost) {
                this.frame = Frame::Chunk { ctx: *ctx, fail: *fail, iteration: block };
            }
            let args = this.func.region(region).args.clone();
            this.bind(args[0], block);
            Ok(this.region(region)?.map(|_| vec![]))
        })?;
        Ok(())
    }

    /// A piece of a product: its numbers lie where `at` says.
    fn piece(&mut self, region: RegionId, at: Value) -> Result<()> {
        let numbers = self.b.cast(Opcode::LLVMIntToPtr, at, self.b.context.ptr(0));
        for (k, arg) in self.func.region(region).args.clone().into_iter().enumerate() {
            let number = self.b.load(self.b.context.int(64), self.b.bytes_past(numbers, 8 * k as u64), 8);
            self.bind(arg, number);
        }
        self.region(region).map(drop)
    }

    /// Plain loops, for a `par.for` that runs inside another one or in a work-item, or has `few` items; a `tile` is never long.
    pub(crate) fn loop_nest(
        &mut self,
        region: RegionId,
        sizes: &[Value],
        few: bool,
        tile: bool,
        indices: &mut Vec<Value>,
    ) -> Result<()> {
        let n = sizes[indices.len()];
        let innermost = indices.len() + 1 == sizes.len();
        let zero = self.b.zero(self.b.type_of(n));
        let mut hints = LoopHints::default();
        if innermost {
            let group = self.b.context.access_group()?;
            hints = LoopHints { rest_is_short: tile, few: tile, ..self.parallel_hints(region, group) };
            self.groups.push(group);
        }
        let looks = if few { Looks::Never } else { self.looks_in(region, innermost) };
        self.looking_loop(zero, n, &[], hints, looks, |this, i, _| {
            indices.push(i);
            let reached = if innermost {
                let args = this.func.region(region).args.clone();
                this.bind_all(&args, indices);
                this.region(region)?.is_some()
            } else {
                this.loop_nest(region, sizes, few, tile, indices)?;
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
