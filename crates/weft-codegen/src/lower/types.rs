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
pub(crate) fn scalar(cx: &Context, d: DType) -> Type {
    match d {
        _ if d.is_float() => cx.float(bits(d)),
        _ if d.is_complex() => {
            let part = cx.float(bits(d) / 2);
            cx.structure(&[part, part])
        }
        _ => cx.int(bits(d)),
    }
}

/// The LLVM type of a scalar in memory and as a kernel argument.
pub(crate) fn in_memory(cx: &Context, d: DType) -> Type {
    if d == DType::Bool { cx.int(8) } else { scalar(cx, d) }
}

/// The address space of a pointer. The host only passes device addresses on, as plain pointers.
pub(crate) fn space(target: Target, s: Space) -> u32 {
    match (target, s) {
        (Target::Native, _) | (_, Space::Host | Space::Private) => 0,
        (_, Space::Global) => 1,
        (_, Space::Local) => 3,
    }
}

/// The LLVM type of a value.
pub(crate) fn value(cx: &Context, target: Target, ty: &IrType, span: Span) -> Result<Type> {
    match ty {
        IrType::Mem(_, s) => Ok(cx.ptr(space(target, *s))),
        IrType::Cell(_) => Ok(cx.ptr(0)),
        IrType::Owner => Ok(cx.int(64)),
        _ => match ty.scalar_dtype() {
            Some(d) => Ok(scalar(cx, d)),
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

/// Reads a value of an IR type from its slot or slots.
pub(crate) fn from_slot(b: &Builder, ty: &IrType, slot: Value, span: Span) -> Result<Value> {
    let cx = b.context;
    match ty {
        IrType::Mem(..) => Ok(b.load(cx.ptr(0), slot, 8)),
        IrType::Owner => Ok(b.load(cx.int(64), slot, 8)),
        _ => match ty.scalar_dtype() {
            Some(d) => Ok(load_element(b, d, slot, 8, &mut |_| {})),
            None => Err(malformed(format!("{ty} is not a type of stage loops"), span)),
        },
    }
}

/// The 64-bit words of a value of an IR type: what its slots hold.
pub(crate) fn to_words(b: &Builder, ty: &IrType, v: Value, span: Span) -> Result<Vec<Value>> {
    let word = b.context.int(64);
    let one = |v| Ok(vec![v]);
    match ty {
        IrType::Mem(..) => one(b.cast(Opcode::LLVMPtrToInt, v, word)),
        IrType::Owner => one(v),
        _ => match ty.scalar_dtype() {
            Some(DType::C128) => Ok((0..2).map(|i| b.cast(Opcode::LLVMBitCast, b.field(v, i), word)).collect()),
            Some(DType::C64) => {
                let half =
                    |i| b.cast(Opcode::LLVMZExt, b.cast(Opcode::LLVMBitCast, b.field(v, i), b.context.int(32)), word);
                one(b.op(Opcode::LLVMOr, half(0), b.op(Opcode::LLVMShl, half(1), b.i64(32))))
            }
            Some(DType::F64) => one(b.cast(Opcode::LLVMBitCast, v, word)),
            Some(d) if d.is_float() => {
                let n = bits(d);
                one(b.cast(Opcode::LLVMZExt, b.cast(Opcode::LLVMBitCast, v, b.context.int(n)), word))
            }
            Some(d) if bits(d) == 64 => one(v),
            Some(d) if d.is_signed() => one(b.cast(Opcode::LLVMSExt, v, word)),
            Some(_) => one(b.cast(Opcode::LLVMZExt, v, word)),
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
        Some(d) if d.is_complex() => Err(malformed("a raise carries a complex number", span)),
        _ => Ok(to_words(b, ty, v, span)?[0]),
    }
}

/// A complex number from its parts.
pub(crate) fn pair(b: &Builder, re: Value, im: Value) -> Value {
    let of = b.type_of(re);
    let empty = b.poison(b.context.structure(&[of, of]));
    b.with_field(b.with_field(empty, re, 0), im, 1)
}

/// Loads an element. `each` sees every load: the parts of a complex number are loaded on their own, so that loops over
/// them vectorise.
pub(crate) fn load_element(b: &Builder, d: DType, p: Value, align: u32, each: &mut dyn FnMut(Value)) -> Value {
    let Some(part) = d.part() else {
        let v = b.load(in_memory(b.context, d), p, align);
        each(v);
        return from_memory(b, d, v);
    };
    let (of, size) = (scalar(b.context, part), part.size() as u64);
    let align = align.min(size as u32);
    let (re, im) = (b.load(of, p, align), b.load(of, b.bytes_past(p, size), align));
    each(re);
    each(im);
    pair(b, re, im)
}

/// Stores an element; `each` sees every store.
pub(crate) fn store_element(b: &Builder, d: DType, v: Value, p: Value, align: u32, each: &mut dyn FnMut(Value)) {
    let Some(part) = d.part() else { return each(b.store(to_memory(b, d, v), p, align)) };
    let size = part.size() as u64;
    let align = align.min(size as u32);
    each(b.store(b.field(v, 0), p, align));
    each(b.store(b.field(v, 1), b.bytes_past(p, size), align));
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
