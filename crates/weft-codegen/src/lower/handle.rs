//! Handlers (`scf.try`) and variables that live in memory (`scf.cell`).
//!
//! A raise fills the call's exception record and jumps; inside the body of a `scf.try` it jumps to the handler, which looks at
//! the record. A cell is a place in the function's frame, which LLVM makes a register again where it can.

use std::mem::offset_of;

use weft_ir::{ExcClass, Op, OpData, RegionId, Type as IrType};

use super::{Flow, Frame, Lowering, malformed, types};
use crate::abi::{CallCtx, ExcRecord};
use crate::error::{CodegenError, Result};
use crate::llvm::builder::{IntIs, Opcode};
use crate::llvm::{Block, Type, Value};

/// Words of an exception record.
const RECORD: u64 = (size_of::<ExcRecord>() / 8) as u64;

impl Lowering<'_, '_> {
    /// `scf.try`.
    pub(crate) fn guarded(&mut self, data: &OpData) -> Result<Flow> {
        let f = self.b.function();
        let (handler, join) = (self.b.block(f, c"handler"), self.b.block(f, c"tried"));
        let outer = self.redirect(handler, data)?;
        self.tries += 1;
        let through = self.region(data.regions[0])?.is_some();
        self.tries -= 1;
        if through {
            self.b.jump(join);
        }
        self.redirect(outer, data)?;
        self.b.at_end(handler);
        let record = self.b.bytes_past(self.context(data.span)?, offset_of!(CallCtx, exc) as u64);
        let record = if self.raises_again(data.regions[1]) { self.copy_of(record) } else { record };
        self.handled.push(record);
        let handled = self.region(data.regions[1])?.is_some();
        self.handled.pop();
        if handled {
            self.b.jump(join);
        }
        self.b.at_end(join);
        if through || handled {
            return Ok(Flow::Next);
        }
        self.b.unreachable();
        Ok(Flow::Left)
    }

    /// Makes raises go to another block; gives the one they went to.
    fn redirect(&mut self, to: Block, data: &OpData) -> Result<Block> {
        match &mut self.frame {
            Frame::Entry { fail, .. } | Frame::Chunk { fail, .. } => Ok(std::mem::replace(fail, to)),
            Frame::Kernel { .. } => {
                let target = self.unit.target.name();
                Err(CodegenError::Unsupported { op: data.op.name().into(), target, span: data.span })
            }
        }
    }

    /// Whether a handler may fill the record with another exception, and go on.
    fn raises_again(&self, handler: RegionId) -> bool {
        let mut found = false;
        self.func.walk_region(handler, &mut |id| found |= matches!(self.func.op(id).op, Op::ScfTry | Op::Call { .. }));
        found
    }

    fn copy_of(&self, record: Value) -> Value {
        let word = self.b.context.int(64);
        let copy = self.b.stack(self.b.context.array(word, RECORD), 8);
        self.copy_record(record, copy);
        copy
    }

    fn copy_record(&self, from: Value, to: Value) {
        for k in 0..RECORD {
            let word = self.b.load(self.b.context.int(64), self.b.bytes_past(from, 8 * k), 8);
            self.b.store(word, self.b.bytes_past(to, 8 * k), 8);
        }
    }

    fn record(&self, data: &OpData) -> Result<Value> {
        self.handled.last().copied().ok_or_else(|| malformed("no exception is being handled", data.span))
    }

    /// `scf.catch`: the class of every site is known, and an error of the runtime says its own.
    pub(crate) fn catch(&mut self, data: &OpData, classes: &[u32]) -> Result<()> {
        let record = self.record(data)?;
        let fits =
            |class: ExcClass| classes.iter().any(|&n| ExcClass::ALL.get(n as usize).is_some_and(|&w| class.is_a(w)));
        let b = &self.b;
        let site = b.load(b.context.int(32), b.bytes_past(record, offset_of!(ExcRecord, site) as u64), 4);
        let sites = (0u32..).zip(&self.unit.ir.sites).filter(|(_, s)| s.is_a(classes)).map(|(i, _)| i);
        let found = self.is_among(site, sites);
        let own = b.load(b.context.int(32), b.bytes_past(record, offset_of!(ExcRecord, args) as u64), 8);
        let runtime = b.icmp(IntIs::LLVMIntEQ, site, b.i32(ExcRecord::RUNTIME));
        let own = self.is_among(own, (0u32..).zip(ExcClass::ALL).filter(|&(_, &c)| fits(c)).map(|(i, _)| i));
        let found = b.op(Opcode::LLVMOr, found, b.op(Opcode::LLVMAnd, runtime, own));
        self.define(data, 0, found);
        Ok(())
    }

    /// Whether a number is one of these, which come in ascending order: a comparison for each run of them.
    fn is_among(&self, number: Value, numbers: impl Iterator<Item = u32>) -> Value {
        let b = &self.b;
        let mut found = b.int(b.context.int(1), 0);
        let mut numbers = numbers.peekable();
        while let Some(first) = numbers.next() {
            let mut last = first;
            while let Some(next) = numbers.next_if_eq(&(last + 1)) {
                last = next;
            }
            let past = b.op(Opcode::LLVMSub, number, b.i32(first));
            let inside = b.icmp(IntIs::LLVMIntULE, past, b.i32(last - first));
            found = b.op(Opcode::LLVMOr, found, inside);
        }
        found
    }

    /// `reraise`.
    pub(crate) fn reraise(&mut self, data: &OpData) -> Result<Flow> {
        let record = self.record(data)?;
        let own = self.b.bytes_past(self.context(data.span)?, offset_of!(CallCtx, exc) as u64);
        if record != own {
            self.copy_record(record, own);
        }
        self.b.jump(self.fail(data.span)?);
        Ok(Flow::Left)
    }

    /// The type of a value where it lies in memory.
    pub(crate) fn stored_type(&self, ty: &IrType, data: &OpData) -> Result<Type> {
        match ty.scalar_dtype() {
            Some(d) => Ok(types::in_memory(self.b.context, d)),
            None => self.llvm_type(ty, data.span),
        }
    }

    /// Stores a value to a place of [`Lowering::stored_type`].
    pub(crate) fn put(&self, ty: &IrType, v: Value, place: Value) {
        let v = ty.scalar_dtype().map_or(v, |d| types::to_memory(&self.b, d, v));
        self.b.store(v, place, 8);
    }

    /// What [`Lowering::put`] stored.
    pub(crate) fn take(&self, ty: &IrType, place: Value, data: &OpData) -> Result<Value> {
        let v = self.b.load(self.stored_type(ty, data)?, place, 8);
        Ok(ty.scalar_dtype().map_or(v, |d| types::from_memory(&self.b, d, v)))
    }

    /// `scf.cell`.
    pub(crate) fn cell(&mut self, data: &OpData) -> Result<()> {
        let (v, ty) = (self.operand(data, 0)?, self.ir_type(data.operands[0]));
        let place = self.b.stack(self.stored_type(ty, data)?, 8);
        self.put(ty, v, place);
        self.define(data, 0, place);
        Ok(())
    }

    /// `scf.get`.
    pub(crate) fn cell_get(&mut self, data: &OpData) -> Result<()> {
        let v = self.take(self.ir_type(data.results[0]), self.operand(data, 0)?, data)?;
        self.define(data, 0, v);
        Ok(())
    }

    /// `scf.set`.
    pub(crate) fn cell_set(&mut self, data: &OpData) -> Result<()> {
        self.put(self.ir_type(data.operands[0]), self.operand(data, 0)?, self.operand(data, 1)?);
        Ok(())
    }
}
