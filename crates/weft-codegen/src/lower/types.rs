//! Types: what an IR type is as an LLVM value, in memory, and in an 8-byte slot.

use weft_diag::Span;
use weft_ir::{DType, Space, Type as IrType};

use super::{Lowering, Target, malformed};
use crate::error::Result;
use crate::llvm::builder::{Builder, Opcode};
use crate::llvm::context::Context;
use crate::llvm::{Type, Value};

/// Bits of a scalar as a value: bool has one.
pub(crate) fn bits(d: DType) -> u32 {
    if d == DType::Bool { 1 } else { d.size() as u32 * 8 }
}

/// The LLVM type of a scalar as a value.
pub(crate) fn scalar(cx: &Context, d: DType, span: Span) -> Result<Type> {
    match d {
        _ if d.is_float() => Ok(cx.float(bits(d))),
        _ if d.is_complex() => Err(malformed("complex scalars are pairs at stage loops", span)),
        _ => Ok(cx.int(bits(d))),
    }
}

/// The LLVM type of a scalar in memory and as a kernel argument.
pub(crate) fn in_memory(cx: &Context, d: DType, span: Span) -> Result<Type> {
    if d == DType::Bool { Ok(cx.int(8)) } else { scalar(cx, d, span) }
}

/// The address space of a pointer. The host only passes device addresses on, as plain pointers.
pub(crate) fn space(target: Target, s: Space) -> u32 {
    match (target, s) {
        (Target::Native, _) | (_, Space::Host) => 0,
        (_, Space::Global) => 1,
    }
}

/// The LLVM type of a value.
pub(crate) fn value(cx: &Context, target: Target, ty: &IrType, span: Span) -> Result<Type> {
    match ty {
        IrType::Mem(_, s) => Ok(cx.ptr(space(target, *s))),
        IrType::Owner => Ok(cx.int(64)),
        _ => match ty.scalar_dtype() {
            Some(d) => scalar(cx, d, span),
            None => Err(malformed(format!("{ty} is not a type of stage loops"), span)),
        },
    }
}

/// Bytes of a value in a packed kernel argument.
pub(crate) fn argument_size(ty: &IrType) -> u32 {
    match ty.scalar_dtype() {
        Some(d) => d.size() as u32,
        None => 8,
    }
}

/// Reads a value of an IR type from an 8-byte slot.
pub(crate) fn from_slot(b: &Builder, ty: &IrType, slot: Value, span: Span) -> Result<Value> {
    let cx = b.context;
    match ty {
        IrType::Mem(..) => Ok(b.load(cx.ptr(0), slot, 8)),
        IrType::Owner => Ok(b.load(cx.int(64), slot, 8)),
        _ => match ty.scalar_dtype() {
            Some(d) => {
                let v = b.load(in_memory(cx, d, span)?, slot, 8);
                Ok(from_memory(b, d, v))
            }
            None => Err(malformed(format!("{ty} is not a type of stage loops"), span)),
        },
    }
}

/// The 64-bit word of a value of an IR type: what a slot holds.
pub(crate) fn to_word(b: &Builder, ty: &IrType, v: Value, span: Span) -> Result<Value> {
    let word = b.context.int(64);
    match ty {
        IrType::Mem(..) => Ok(b.cast(Opcode::LLVMPtrToInt, v, word)),
        IrType::Owner => Ok(v),
        _ => match ty.scalar_dtype() {
            Some(DType::F64) => Ok(b.cast(Opcode::LLVMBitCast, v, word)),
            Some(d) if d.is_float() => {
                let n = bits(d);
                Ok(b.cast(Opcode::LLVMZExt, b.cast(Opcode::LLVMBitCast, v, b.context.int(n)), word))
            }
            Some(d) if bits(d) == 64 => Ok(v),
            Some(d) if d.is_signed() => Ok(b.cast(Opcode::LLVMSExt, v, word)),
            Some(_) => Ok(b.cast(Opcode::LLVMZExt, v, word)),
            None => Err(malformed(format!("{ty} is not a type of stage loops"), span)),
        },
    }
}

/// The 64-bit word of a value in an exception record: floats as f64 bits, integers extended.
pub(crate) fn to_message_word(b: &Builder, ty: &IrType, v: Value, span: Span) -> Result<Value> {
    match ty.scalar_dtype() {
        Some(d) if d.is_float() && d != DType::F64 => {
            let wide = b.cast(Opcode::LLVMFPExt, v, b.context.float(64));
            Ok(b.cast(Opcode::LLVMBitCast, wide, b.context.int(64)))
        }
        _ => to_word(b, ty, v, span),
    }
}

/// A value that was loaded from memory (a bool becomes one bit).
pub(crate) fn from_memory(b: &Builder, d: DType, v: Value) -> Value {
    if d != DType::Bool {
        return v;
    }
    let byte = b.context.int(8);
    b.icmp(crate::llvm::builder::IntIs::LLVMIntNE, v, b.zero(byte))
}

/// A value as it is stored in memory (a bool becomes a byte, 0 or 1).
pub(crate) fn to_memory(b: &Builder, d: DType, v: Value) -> Value {
    if d == DType::Bool { b.cast(Opcode::LLVMZExt, v, b.context.int(8)) } else { v }
}

impl Lowering<'_, '_> {
    /// The LLVM type of an IR type, for this target.
    pub(crate) fn llvm_type(&self, ty: &IrType, span: Span) -> Result<Type> {
        value(self.b.context, self.unit.target, ty, span)
    }
}
