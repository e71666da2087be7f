//! Host functions: the specialisation's entry, raising and returning, and calls of the runtime table.

use std::mem::offset_of;

use weft_diag::Span;
use weft_ir::attr::Access;
use weft_ir::{Func, Op, OpData, Place as IrPlace, Site, Type as IrType};

use super::kernel::{KernelInfo, kernel_info};
use super::{Flow, Frame, Lowering, Ret, Unit, malformed, types};
use crate::abi::{CallCtx, ExcRecord, RuntimeTable, VIEW_BIT, VIEW_BITS, VIEW_NUMBER, mode, place};
use crate::error::Result;
use crate::llvm::builder::{Builder, IntIs, Opcode};
use crate::llvm::module::{Linkage, Place};
use crate::llvm::{Block, Type, Value};

/// The symbol of every specialisation's entry in its object.
pub(crate) const ENTRY: &str = "weft_entry";

/// Writes the entry function: `u32 weft_entry(ctx, args, ret)`.
pub(crate) fn write_entry(unit: &Unit, func: &Func) -> Result<()> {
    let cx = unit.module.context;
    let ptr = cx.ptr(0);
    let f = unit.module.function(ENTRY, cx.function(cx.int(32), &[ptr, ptr, ptr]), Linkage::External);
    set_attributes(unit, f);
    if is_glue(func) {
        unit.module.attribute(f, Place::Function, "optnone", 0);
        unit.module.attribute(f, Place::Function, "noinline", 0);
    }
    let b = Builder::new(cx);
    let (entry, fail) = (b.block(f, c"entry"), b.block(f, c"fail"));
    b.at_end(entry);
    let (ctx, args, ret) = (b.param(f, 0), b.param(f, 1), b.param(f, 2));
    let mut this = Lowering::new(unit, func, b, Frame::Entry { ctx, ret: Ret::Slots(ret), fail });
    let mut at = 0;
    for &id in func.params() {
        let slot = this.b.bytes_past(args, 8 * at);
        at += func.ty(id).slots() as u64;
        let v = types::from_slot(&this.b, func.ty(id), slot, Span::NONE)?;
        this.bind(id, v);
    }
    if this.region(func.body)?.is_some() {
        this.b.ret(Some(this.b.i32(0)));
    }
    this.finish_failure();
    Ok(())
}

/// Whether the entry only sets parallel regions and launches up: optimising it costs a sixth of a compilation and saves
/// a few nanoseconds of a call that has microseconds of work.
fn is_glue(func: &Func) -> bool {
    let (mut sets_up, mut computes) = (false, false);
    let mut regions = vec![func.body];
    while let Some(region) = regions.pop() {
        for &id in &func.region(region).ops {
            match func.op(id).op {
                Op::ParFor { .. } | Op::ParBlocks { .. } | Op::SimtLaunch { .. } => {
                    sets_up = true;
                    continue;
                }
                Op::ScfFor | Op::ScfLoop | Op::CellNew => computes = true,
                _ => {}
            }
            regions.extend(&func.op(id).regions);
        }
    }
    sets_up && !computes
}

/// What every native function has.
pub(crate) fn set_attributes(unit: &Unit, f: Value) {
    unit.module.attribute(f, Place::Function, "nounwind", 0);
    for i in 0..3 {
        unit.module.attribute(f, Place::Param(i), "noundef", 0);
    }
}

/// 64-byte frames, so that spilled vectors are aligned: around vector calls they run at half speed otherwise.
pub(crate) fn align_frame(unit: &Unit, f: Value) {
    unit.module.attribute(f, Place::Function, "alignstack", 64);
}

impl<'m, 'c> Lowering<'m, 'c> {
    /// Fills the block that returns 1. What the call still holds then is the runtime's to release.
    pub(crate) fn finish_failure(&mut self) {
        if let Frame::Entry { fail, .. } | Frame::Chunk { fail, .. } = self.frame {
            self.b.at_end(fail);
            let status = self.b.i32(1);
            self.b.ret(Some(match self.frame {
                Frame::Entry { ret: Ret::Values(given), .. } => self.b.with_field(self.b.zero(given), status, 0),
                _ => status,
            }));
        }
    }

    /// Where a raise goes.
    pub(crate) fn fail(&self, span: Span) -> Result<Block> {
        match self.frame {
            Frame::Entry { fail, .. } | Frame::Chunk { fail, .. } => Ok(fail),
            Frame::Kernel { .. } => Err(malformed("a kernel has no handler", span)),
        }
    }

    /// The call's context.
    pub(crate) fn context(&self, span: Span) -> Result<Value> {
        match self.frame {
            Frame::Entry { ctx, .. } | Frame::Chunk { ctx, .. } => Ok(ctx),
            Frame::Kernel { .. } => Err(malformed("a kernel cannot call the runtime", span)),
        }
    }

    /// `return`.
    pub(crate) fn leave(&mut self, data: &OpData) -> Result<Flow> {
        match &self.frame {
            Frame::Entry { ret: Ret::Slots(ret), .. } => {
                let mut words = vec![];
                for &id in &data.operands {
                    words.extend(types::to_words(&self.b, self.func.ty(id), self.value(id)?, data.span)?);
                }
                for (k, word) in words.into_iter().enumerate() {
                    self.b.store(word, self.b.bytes_past(*ret, 8 * k as u64), 8);
                }
                self.b.ret(Some(self.b.i32(0)));
            }
            &Frame::Entry { ret: Ret::Values(given), .. } => {
                let mut all = self.b.zero(given);
                for (k, &id) in data.operands.iter().enumerate() {
                    all = self.b.with_field(all, self.value(id)?, 1 + k as u32);
                }
                self.b.ret(Some(all));
            }
            Frame::Chunk { .. } => return Err(malformed("`return` inside a parallel loop", data.span)),
            Frame::Kernel { item: Some(item), .. } => {
                self.b.jump(item.done);
            }
            Frame::Kernel { item: None, .. } => self.b.ret(None),
        }
        Ok(Flow::Left)
    }

    /// `scf.print`.
    pub(crate) fn print(&mut self, data: &OpData, site: u32) -> Result<()> {
        self.serial_context(data)?;
        let words = data.operands.iter();
        let words = words.map(|&v| types::to_message_word(&self.b, self.func.ty(v), self.value(v)?, data.span));
        let words = words.collect::<Result<Vec<_>>>()?;
        let count = self.b.i32(words.len() as u32);
        let values = self.words(&words);
        self.runtime_try(offset_of!(RuntimeTable, print), &[self.b.i32(site), values, count], data.span)
    }

    /// `raise`.
    pub(crate) fn raise(&mut self, data: &OpData, site: u32) -> Result<Flow> {
        let args: Vec<(Value, &IrType)> =
            data.operands.iter().map(|&v| Ok((self.value(v)?, self.func.ty(v)))).collect::<Result<_>>()?;
        self.raise_values(site, &args, data.span)?;
        Ok(Flow::Left)
    }

    /// Raises a site with values, and closes the block.
    pub(crate) fn raise_values(&mut self, site: u32, args: &[(Value, &IrType)], span: Span) -> Result<()> {
        if args.len() > Site::MAX_ARGS {
            return Err(malformed("a raise carries too many values", span));
        }
        let words: Vec<Value> =
            args.iter().map(|(v, ty)| types::to_message_word(&self.b, ty, *v, span)).collect::<Result<_>>()?;
        let (ctx, fail, iteration) = match self.frame {
            Frame::Entry { ctx, fail, .. } => (ctx, fail, self.b.i64(u64::MAX)),
            Frame::Chunk { ctx, fail, iteration } => (ctx, fail, iteration),
            Frame::Kernel { .. } => return self.raise_in_kernel(site, &words, span),
        };
        let b = &self.b;
        let field = |offset: usize| b.bytes_past(ctx, (offset_of!(CallCtx, exc) + offset) as u64);
        // The site and the number of values are neighbours, and written as one word.
        const { assert!(offset_of!(ExcRecord, nargs) == offset_of!(ExcRecord, site) + 4) };
        let head = u64::from(site) | (words.len() as u64) << 32;
        b.store(b.i64(head), field(offset_of!(ExcRecord, site)), 8);
        b.store(iteration, field(offset_of!(ExcRecord, iteration)), 8);
        for (k, &w) in words.iter().enumerate() {
            b.store(w, field(offset_of!(ExcRecord, args) + 8 * k), 8);
        }
        b.jump(fail);
        Ok(())
    }

    /// Calls the table entry at `offset` with `ctx` first.
    pub(crate) fn runtime_call(&self, ctx: Value, offset: usize, ret: Type, args: &[Value]) -> Value {
        let b = &self.b;
        let ptr = b.context.ptr(0);
        let table = b.load(ptr, b.bytes_past(ctx, offset_of!(CallCtx, rt) as u64), 8);
        let entry = b.load(ptr, b.bytes_past(table, offset as u64), 8);
        let all: Vec<Value> = std::iter::once(ctx).chain(args.iter().copied()).collect();
        let types: Vec<Type> = all.iter().map(|&v| b.type_of(v)).collect();
        b.call(b.context.function(ret, &types), entry, &all)
    }

    /// As [`Lowering::runtime_call`], leaving through the failure block unless it returns 0.
    pub(crate) fn runtime_try(&self, offset: usize, args: &[Value], span: Span) -> Result<()> {
        let status = self.runtime_call(self.context(span)?, offset, self.b.context.int(32), args);
        self.go_on_if_fine(status, span)
    }

    /// Goes on if a status is 0; else the exception is there, and this leaves with it.
    pub(crate) fn go_on_if_fine(&self, status: Value, span: Span) -> Result<()> {
        let next = self.b.block(self.b.function(), c"fine");
        let branch = self.b.branch(self.b.icmp(IntIs::LLVMIntEQ, status, self.b.i32(0)), next, self.fail(span)?);
        self.b.annotate(branch, "prof", self.b.context.branch_weights(true));
        self.b.at_end(next);
        Ok(())
    }

    /// A pair of words that the runtime fills: results 0 (a pointer) and 1 (an owner).
    pub(crate) fn define_pair(&mut self, data: &OpData, out: Value) {
        let p = self.b.load(self.b.context.ptr(0), out, 8);
        let owner = self.b.load(self.b.context.int(64), self.b.bytes_past(out, 8), 8);
        self.define(data, 0, p);
        self.define(data, 1, owner);
    }

    pub(crate) fn word_buffer(&self, words: usize) -> Value {
        self.b.stack(self.b.context.array(self.b.context.int(64), words.max(1) as u64), 16)
    }

    /// Stores words to a fresh buffer on the stack.
    pub(crate) fn words(&self, values: &[Value]) -> Value {
        let buffer = self.word_buffer(values.len());
        for (k, &v) in values.iter().enumerate() {
            self.b.store(v, self.b.bytes_past(buffer, 8 * k as u64), 8);
        }
        buffer
    }

    /// A chunk has a count of memory of its own: the verifier has seen that only blocks of a `prange` use it. Kernels neither
    /// allocate nor release.
    fn serial_context(&self, data: &OpData) -> Result<Value> {
        match self.frame {
            Frame::Entry { ctx, .. } | Frame::Chunk { ctx, .. } => Ok(ctx),
            _ => Err(malformed(format!("`{}` inside a kernel", data.op.name()), data.span)),
        }
    }

    /// `mem.alloc`.
    pub(crate) fn alloc(&mut self, data: &OpData, at: &IrPlace) -> Result<()> {
        self.serial_context(data)?;
        let bytes = self.operand(data, 0)?;
        let out = self.word_buffer(2);
        let at = self.b.i32(if at.is_host() { place::HOST } else { place::DEVICE });
        self.runtime_try(offset_of!(RuntimeTable, alloc), &[at, bytes, out], data.span)?;
        self.define_pair(data, out);
        Ok(())
    }

    /// `mem.zero`.
    pub(crate) fn clear(&mut self, data: &OpData) -> Result<()> {
        self.serial_context(data)?;
        let (ctx, void) = (self.context(data.span)?, self.b.context.void());
        self.runtime_call(ctx, offset_of!(RuntimeTable, zero), void, &self.operands(data)?);
        Ok(())
    }

    /// `mem.retain` and `mem.release`, by the table entry at `offset`. Only even words other than 0 have counts.
    pub(crate) fn count(&mut self, data: &OpData, offset: usize) -> Result<()> {
        let owner = self.operand(data, 0)?;
        self.count_word(owner, offset, data.span)
    }

    /// [`Lowering::count`] of an owner word.
    pub(crate) fn count_word(&mut self, owner: Value, offset: usize, span: Span) -> Result<()> {
        let ctx = self.context(span)?;
        let b = &self.b;
        let f = b.function();
        let (counted, next) = (b.block(f, c"counted"), b.block(f, c"next"));
        let odd = b.op(Opcode::LLVMAnd, owner, b.i64(1));
        let borrowed = b.icmp(IntIs::LLVMIntNE, odd, b.i64(0));
        let none = b.icmp(IntIs::LLVMIntEQ, owner, b.i64(0));
        b.branch(b.op(Opcode::LLVMOr, borrowed, none), next, counted);
        b.at_end(counted);
        self.runtime_call(ctx, offset, self.b.context.void(), &[owner]);
        self.b.jump(next);
        self.b.at_end(next);
        Ok(())
    }

    /// `mem.null`.
    pub(crate) fn null(&mut self, data: &OpData) -> Result<()> {
        let nowhere = self.b.zero(self.b.context.ptr(0));
        self.define(data, 0, nowhere);
        self.define(data, 1, self.b.i64(0));
        Ok(())
    }

    /// `mem.offset`: pointer, bytes.
    pub(crate) fn offset(&mut self, data: &OpData) -> Result<()> {
        let v = self.b.element(self.b.context.int(8), self.operand(data, 0)?, self.operand(data, 1)?);
        self.define(data, 0, v);
        Ok(())
    }

    /// `mem.address`.
    pub(crate) fn address(&mut self, data: &OpData) -> Result<()> {
        let v = self.b.cast(Opcode::LLVMPtrToInt, self.operand(data, 0)?, self.b.context.int(64));
        self.define(data, 0, v);
        Ok(())
    }

    /// `mem.view_owner`: the word says that it is a view and not the array itself. No array has no views.
    pub(crate) fn view_owner(&mut self, data: &OpData, number: u32) -> Result<()> {
        let b = &self.b;
        let owner = self.operand(data, 0)?;
        let none = b.icmp(IntIs::LLVMIntEQ, owner, b.i64(0));
        let array = b.op(Opcode::LLVMAnd, owner, b.i64(!VIEW_BITS));
        // Functions with more views than there are numbers use them again.
        let mark = (1 << VIEW_BIT) | ((u64::from(number) << VIEW_NUMBER) & VIEW_BITS);
        let marked = b.op(Opcode::LLVMOr, array, b.i64(mark));
        let v = b.select(none, owner, marked);
        self.define(data, 0, v);
        Ok(())
    }

    /// `mem.need`: pointer, owner, sizes…, byte strides….
    pub(crate) fn need(&mut self, data: &OpData, at: &IrPlace, access: Access, rank: u32) -> Result<()> {
        self.serial_context(data)?;
        let operands = self.operands(data)?;
        let rank_n = rank as usize;
        let &IrType::Mem(d, _) = self.ir_type(data.operands[0]) else {
            return Err(malformed("`mem.need` needs a pointer", data.span));
        };
        if operands.len() != 2 + 2 * rank_n {
            return Err(malformed("`mem.need` needs its sizes and strides", data.span));
        }
        let address = self.b.cast(Opcode::LLVMPtrToInt, operands[0], self.b.context.int(64));
        let (shape, strides) = (self.words(&operands[2..2 + rank_n]), self.words(&operands[2 + rank_n..]));
        let out = self.word_buffer(2);
        let at = if at.is_host() { place::HOST } else { place::DEVICE };
        let access = match access {
            Access::Read => mode::READ,
            Access::WriteAll => mode::WRITE_ALL,
            Access::Update => mode::UPDATE,
        };
        let b = &self.b;
        let args =
            [address, operands[1], b.i32(rank), shape, strides, b.i32(d.size() as u32), b.i32(at), b.i32(access), out];
        self.runtime_try(offset_of!(RuntimeTable, need), &args, data.span)?;
        self.define_pair(data, out);
        Ok(())
    }

    /// `simt.launch`: sizes, then arguments.
    pub(crate) fn launch(&mut self, data: &OpData, kernel: &str, dims: u32) -> Result<()> {
        let kernels = || self.unit.ir.funcs.iter().filter(|f| f.kernel);
        let site = kernels().position(|f| f.name == kernel);
        let site = site.ok_or_else(|| malformed(format!("no kernel @{kernel}"), data.span))?;
        let callee = kernels().nth(site).expect("it was just found there");
        let info: KernelInfo = kernel_info(callee, site, self.unit.target);
        let operands = self.operands(data)?;
        let params = callee.params();
        let dims_n = dims as usize;
        if operands.len() != dims_n + params.len() {
            return Err(malformed(format!("@{kernel} takes {} arguments", params.len()), data.span));
        }
        let sizes: Vec<Value> = operands[..dims_n].iter().map(|&v| self.to_i64(v)).collect();
        let sizes = self.words(&sizes);
        let buffer = self.word_buffer(info.bytes.div_ceil(8) as usize);
        for (i, (&v, &p)) in operands[dims_n..].iter().zip(params).enumerate() {
            let (ty, field) = (callee.ty(p), info.fields[i]);
            let v = ty.scalar_dtype().map_or(v, |d| types::to_memory(&self.b, d, v));
            self.b.store(v, self.b.bytes_past(buffer, field.offset.into()), field.size);
        }
        if info.may_raise {
            let error = info.fields[params.len()];
            self.b.store(self.b.i64(0), self.b.bytes_past(buffer, error.offset.into()), 8);
        }
        let b = &self.b;
        let args = [b.i32(site as u32), sizes, b.i32(dims), buffer, b.i32(info.bytes)];
        self.runtime_try(offset_of!(RuntimeTable, launch), &args, data.span)
    }

    /// An index or size as i64.
    pub(crate) fn to_i64(&self, v: Value) -> Value {
        let wide = self.b.context.int(64);
        if self.b.type_of(v) == wide { v } else { self.b.cast(Opcode::LLVMSExt, v, wide) }
    }
}
