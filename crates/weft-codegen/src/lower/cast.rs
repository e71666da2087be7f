//! `arith.cast`: conversions that are defined for every input, the same on every device (COMPILER 2.6).

use weft_ir::DType;

use super::{Lowering, types};
use crate::llvm::Value;
use crate::llvm::builder::{IntIs, Opcode, RealIs};

impl Lowering<'_, '_> {
    /// Converts a scalar.
    pub(crate) fn cast(&self, v: Value, from: DType, to: DType) -> Value {
        let b = &self.b;
        match (from.part(), to.part()) {
            _ if from == to => return v,
            (Some(f), Some(t)) => {
                let re = self.cast(b.field(v, 0), f, t);
                return self.pair(re, self.cast(b.field(v, 1), f, t));
            }
            (Some(f), None) if to == DType::Bool => {
                let re = self.cast(b.field(v, 0), f, to);
                return b.op(Opcode::LLVMOr, re, self.cast(b.field(v, 1), f, to));
            }
            (Some(f), None) => return self.cast(b.field(v, 0), f, to),
            (None, Some(t)) => {
                let re = self.cast(v, from, t);
                return self.pair(re, b.zero(b.type_of(re)));
            }
            (None, None) => {}
        }
        // Halves meet everything but f64 and bools by way of f32, which is exact, or rounds as NumPy does.
        if from == DType::F16 && to != DType::Bool {
            let wide = b.cast(Opcode::LLVMFPExt, v, b.context.float(32));
            return self.cast(wide, DType::F32, to);
        }
        if to == DType::F16 && from != DType::F32 {
            let single = match from {
                DType::F64 => self.round_to_odd(v),
                _ => self.cast(v, from, DType::F32),
            };
            return b.cast(Opcode::LLVMFPTrunc, single, b.context.float(16));
        }
        let ty = types::scalar(b.context, to);
        let (wide, narrow) = (types::bits(to), types::bits(from));
        match () {
            _ if to == DType::Bool && from.is_float() => b.fcmp(RealIs::LLVMRealUNE, v, b.zero(b.type_of(v))),
            _ if to == DType::Bool => b.icmp(IntIs::LLVMIntNE, v, b.zero(b.type_of(v))),
            _ if from.is_float() && to.is_float() && wide > narrow => b.cast(Opcode::LLVMFPExt, v, ty),
            _ if from.is_float() && to.is_float() => b.cast(Opcode::LLVMFPTrunc, v, ty),
            _ if from.is_float() => self.float_to_int(v, to),
            _ if to.is_float() && from.is_signed() => b.cast(Opcode::LLVMSIToFP, v, ty),
            _ if to.is_float() => b.cast(Opcode::LLVMUIToFP, v, ty),
            _ if wide == narrow => v,
            _ if wide < narrow => b.cast(Opcode::LLVMTrunc, v, ty),
            _ if from.is_signed() => b.cast(Opcode::LLVMSExt, v, ty),
            _ => b.cast(Opcode::LLVMZExt, v, ty),
        }
    }

    /// An f64 as the f32 that rounds to the same half: truncated, with its last bit set where that lost something.
    fn round_to_odd(&self, v: Value) -> Value {
        let b = &self.b;
        let (single, double, word) = (b.context.float(32), b.context.float(64), b.context.int(32));
        let near = b.cast(Opcode::LLVMFPTrunc, v, single);
        let back = b.cast(Opcode::LLVMFPExt, near, double);
        let size = |x| self.intrinsic("llvm.fabs", DType::F64, &[x]);
        let away = b.fcmp(RealIs::LLVMRealOGT, size(back), size(v));
        let inexact = b.fcmp(RealIs::LLVMRealONE, back, v);
        let bits = b.cast(Opcode::LLVMBitCast, near, word);
        let bits = b.op(Opcode::LLVMSub, bits, b.cast(Opcode::LLVMZExt, away, word));
        let bits = b.op(Opcode::LLVMOr, bits, b.cast(Opcode::LLVMZExt, inexact, word));
        b.cast(Opcode::LLVMBitCast, bits, single)
    }

    /// Truncates, then keeps the low bits: 8 and 16 bits through i32, u32 through i64.
    fn float_to_int(&self, v: Value, to: DType) -> Value {
        let b = &self.b;
        match to {
            DType::I64 | DType::I32 => self.float_to_signed(v, types::bits(to)),
            DType::U64 => {
                // Exact from 2⁶³ up to 2⁶⁴; everything else through i64.
                let ty = b.type_of(v);
                let (half, limit) = (b.real(ty, 9_223_372_036_854_775_808.0), b.real(ty, 18_446_744_073_709_551_616.0));
                let high =
                    b.op(Opcode::LLVMAnd, b.fcmp(RealIs::LLVMRealOGE, v, half), b.fcmp(RealIs::LLVMRealOLT, v, limit));
                let safe = b.select(high, v, half);
                let unsigned = b.cast(Opcode::LLVMFPToUI, safe, b.context.int(64));
                b.select(high, unsigned, self.float_to_signed(v, 64))
            }
            DType::U32 => b.cast(Opcode::LLVMTrunc, self.float_to_signed(v, 64), b.context.int(32)),
            _ => b.cast(Opcode::LLVMTrunc, self.float_to_signed(v, 32), b.context.int(types::bits(to))),
        }
    }

    /// Truncation to i32 or i64; its minimum where the value does not fit, and for nan.
    fn float_to_signed(&self, v: Value, bits: u32) -> Value {
        let b = &self.b;
        let (float, int) = (b.type_of(v), b.context.int(bits));
        let limit = 2f64.powi(bits as i32 - 1);
        // The minimum itself is what those that do not fit become.
        let dtype = if float == b.context.float(32) { DType::F32 } else { DType::F64 };
        let fits = b.fcmp(RealIs::LLVMRealOLT, self.intrinsic("llvm.fabs", dtype, &[v]), b.real(float, limit));
        // The conversion of a value that does not fit would be poison, so 0 is converted in its place.
        let safe = b.select(fits, v, b.zero(float));
        b.select(fits, b.cast(Opcode::LLVMFPToSI, safe, int), b.int(int, 1 << (bits - 1)))
    }
}
