//! `arith.*`: one LLVM instruction or a short branch-free sequence each.

use weft_ir::attr::{CmpOp, Const};
use weft_ir::{DType, Op, OpData, Type as IrType, half};

use super::{Lowering, Target, malformed, types};
use crate::error::Result;
use crate::llvm::Value;
use crate::llvm::builder::{IntIs, Opcode, RealIs};

impl Lowering<'_, '_> {
    /// Lowers an `arith` op with one result.
    pub(crate) fn arith(&mut self, data: &OpData) -> Result<Value> {
        let result = &self.func.ty(data.results[0]).clone();
        if let Op::Const { value } = &data.op {
            return self.constant(value, result, data);
        }
        if data.op == Op::Select {
            return Ok(self.b.select(self.operand(data, 0)?, self.operand(data, 1)?, self.operand(data, 2)?));
        }
        let a = self.operand(data, 0)?;
        let d = self.dtype(data.operands[0], data.span)?;
        if data.op == Op::Cast {
            let to = self.dtype(data.results[0], data.span)?;
            return Ok(self.cast(a, d, to));
        }
        if data.op == Op::Bits {
            return Ok(self.b.cast(Opcode::LLVMBitCast, a, self.llvm_type(result, data.span)?));
        }
        let b = data.operands.get(1).map(|_| self.operand(data, 1)).transpose()?;
        match d {
            _ if d.is_complex() || data.op == Op::Complex => self.complex(data, d, a, b),
            DType::F16 => self.half(data, a, b),
            _ => self.real(data, d, a, b),
        }
    }

    /// An op on halves, as NumPy does it: in f32, then rounded. For `+ - * /` that is the correctly rounded
    /// result, since 24 ≥ 2 · 11 + 2.
    pub(crate) fn half(&mut self, data: &OpData, a: Value, b: Option<Value>) -> Result<Value> {
        let (single, half) = (self.b.context.float(32), self.b.context.float(16));
        let wide = |v| self.b.cast(Opcode::LLVMFPExt, v, single);
        let (a, b) = (wide(a), b.map(wide));
        let v = self.real(data, DType::F32, a, b)?;
        Ok(if self.b.type_of(v) == single { self.b.cast(Opcode::LLVMFPTrunc, v, half) } else { v })
    }

    /// An index counted from the front. Hardly any is negative: a branch is foreseen, where arithmetic would make each
    /// access wait for it.
    fn counted_from_front(&self, index: Value, size: Value) -> Value {
        let b = &self.b;
        let negative = b.icmp(IntIs::LLVMIntSLT, index, b.int(b.type_of(index), 0));
        if self.unit.target != Target::Native {
            return b.select(negative, b.op(Opcode::LLVMAdd, index, size), index);
        }
        let (before, wrap, next) = (b.here(), b.block(b.function(), c"negative"), b.block(b.function(), c"counted"));
        let branch = b.branch(negative, wrap, next);
        b.annotate(branch, "prof", b.context.branch_weights(false));
        b.at_end(wrap);
        let from_end = b.op(Opcode::LLVMAdd, index, size);
        b.jump(next);
        b.at_end(next);
        let phi = b.phi(b.type_of(index));
        b.incoming(phi, &[(from_end, wrap), (index, before)]);
        phi
    }

    /// An op on bools, integers or floats.
    fn real(&mut self, data: &OpData, d: DType, a: Value, b: Option<Value>) -> Result<Value> {
        let Some(b) = b else { return self.unary(data, d, a) };
        match &data.op {
            Op::TrueDiv => Ok(self.true_quotient(a, b)),
            Op::Cmp { is } => self.compare(*is, d, a, b, data),
            Op::Wrap if d.is_int() => Ok(self.counted_from_front(a, b)),
            Op::Div if d.is_float() => self.divide(d, a, b),
            Op::Pow => self.power(data, d, a, b),
            Op::FloorDiv if d.is_float() => self.float_floordiv(data, d, a, b),
            Op::Mod if d.is_float() => self.float_mod(data, d, a, b),
            Op::FloorDiv if d.is_int() => Ok(self.int_floordiv(d, a, b)),
            Op::Mod if d.is_int() => Ok(self.int_mod(d, a, b)),
            Op::Shl | Op::Shr if d.is_int() => Ok(self.shift(data.op == Op::Shl, d, a, b)),
            Op::Min | Op::Max => Ok(self.extremum(data.op == Op::Min, d, a, b)),
            _ => match opcode(&data.op, d) {
                Some(opcode) => Ok(self.b.op(opcode, a, b)),
                None => Err(malformed(format!("`{}` does not take {}", data.op.name(), d.name()), data.span)),
            },
        }
    }

    fn constant(&self, value: &Const, ty: &IrType, data: &OpData) -> Result<Value> {
        let span = data.span;
        if matches!(ty, IrType::Owner | IrType::Mem(..)) && *value == Const::Int(0) {
            return Ok(self.b.zero(self.llvm_type(ty, span)?));
        }
        let d = ty.scalar_dtype().ok_or_else(|| malformed(format!("no constant has type {ty}"), span))?;
        let llvm = types::scalar(self.b.context, d);
        let number = match value {
            Const::Int(v) => *v,
            Const::Bool(v) => i128::from(*v),
            Const::Float(v) if d.is_float() => return Ok(self.float_constant(d, *v, llvm)),
            Const::Complex(re, im) if d.is_complex() => return self.complex_constant(d, *re, *im),
            _ => return Err(malformed(format!("the constant {value:?} is not a {ty}"), span)),
        };
        match d {
            // By way of f64 it would be rounded twice.
            DType::F32 => Ok(self.float_constant(d, f64::from(number as f32), llvm)),
            _ if d.is_complex() => self.complex_constant(d, number as f64, 0.0),
            _ if d.is_float() => Ok(self.float_constant(d, number as f64, llvm)),
            DType::Bool => Ok(self.b.int(llvm, (number != 0).into())),
            _ => Ok(self.b.int(llvm, number as u64)),
        }
    }

    pub(crate) fn float_constant(&self, d: DType, v: f64, ty: crate::llvm::Type) -> Value {
        match d {
            DType::F32 => self.b.real_bits(ty, 32, (v as f32).to_bits().into()),
            DType::F16 => self.b.real_bits(ty, 16, half::to_bits(v).into()),
            _ => self.b.real_bits(ty, 64, v.to_bits()),
        }
    }

    pub(crate) fn unary(&mut self, data: &OpData, d: DType, a: Value) -> Result<Value> {
        let b = &self.b;
        let ty = b.type_of(a);
        match data.op {
            Op::Neg if d.is_float() => Ok(b.fneg(a)),
            Op::Neg if d.is_int() => Ok(b.op(Opcode::LLVMSub, b.zero(ty), a)),
            Op::Not if !d.is_float() => Ok(b.not(a)),
            Op::Abs if d.is_float() => Ok(self.intrinsic("llvm.fabs", d, &[a])),
            Op::Abs if d.is_signed() => {
                let negative = b.icmp(IntIs::LLVMIntSLT, a, b.zero(ty));
                Ok(b.select(negative, b.op(Opcode::LLVMSub, b.zero(ty), a), a))
            }
            Op::Abs => Ok(a),
            _ => Err(malformed(format!("`{}` does not take {}", data.op.name(), d.name()), data.span)),
        }
    }

    pub(crate) fn compare(&self, is: CmpOp, d: DType, a: Value, b: Value, data: &OpData) -> Result<Value> {
        use CmpOp::*;
        if d.is_float() {
            let real = match is {
                Lt => RealIs::LLVMRealOLT,
                Le => RealIs::LLVMRealOLE,
                Gt => RealIs::LLVMRealOGT,
                Ge => RealIs::LLVMRealOGE,
                Eq => RealIs::LLVMRealOEQ,
                Ne => RealIs::LLVMRealUNE,
                _ => return Err(malformed(format!("`{}` is no comparison of scalars", is.text()), data.span)),
            };
            return Ok(self.b.fcmp(real, a, b));
        }
        let signed = d.is_signed();
        let int = match is {
            Lt if signed => IntIs::LLVMIntSLT,
            Le if signed => IntIs::LLVMIntSLE,
            Gt if signed => IntIs::LLVMIntSGT,
            Ge if signed => IntIs::LLVMIntSGE,
            Lt => IntIs::LLVMIntULT,
            Le => IntIs::LLVMIntULE,
            Gt => IntIs::LLVMIntUGT,
            Ge => IntIs::LLVMIntUGE,
            Eq => IntIs::LLVMIntEQ,
            Ne => IntIs::LLVMIntNE,
            _ => return Err(malformed(format!("`{}` is no comparison of scalars", is.text()), data.span)),
        };
        Ok(self.b.icmp(int, a, b))
    }

    /// Division of floats, correctly rounded. OpenCL allows f32 2.5 ulp, so there it goes through f64, which rounds the same.
    pub(crate) fn divide(&self, d: DType, a: Value, b: Value) -> Result<Value> {
        let div = |a, b| self.b.op(Opcode::LLVMFDiv, a, b);
        if self.unit.target == Target::SpirV && d == DType::F32 {
            return Ok(self.through_f64(&[a, b], |v| div(v[0], v[1])));
        }
        Ok(div(a, b))
    }

    /// Computes an f32 result in f64. Exact for `/` and `sqrt`: 53 ≥ 2 · 24 + 2 bits make double rounding harmless.
    pub(crate) fn through_f64(&self, args: &[Value], compute: impl FnOnce(&[Value]) -> Value) -> Value {
        let f64t = self.b.context.float(64);
        let wide: Vec<Value> = args.iter().map(|&a| self.b.cast(Opcode::LLVMFPExt, a, f64t)).collect();
        self.b.cast(Opcode::LLVMFPTrunc, compute(&wide), self.b.context.float(32))
    }

    /// `np.minimum` and `np.maximum`: the first operand if it is better or nan, else the second (so of two zeros the second).
    fn extremum(&self, min: bool, d: DType, x: Value, y: Value) -> Value {
        let b = &self.b;
        let first = if d.is_float() {
            let better = b.fcmp(if min { RealIs::LLVMRealOLT } else { RealIs::LLVMRealOGT }, x, y);
            b.op(Opcode::LLVMOr, better, b.fcmp(RealIs::LLVMRealUNO, x, x))
        } else {
            let is = match (min, d.is_signed()) {
                (true, true) => IntIs::LLVMIntSLE,
                (true, false) => IntIs::LLVMIntULE,
                (false, true) => IntIs::LLVMIntSGE,
                (false, false) => IntIs::LLVMIntUGE,
            };
            b.icmp(is, x, y)
        };
        b.select(first, x, y)
    }
}

/// The instruction of an op that has one.
fn opcode(op: &Op, d: DType) -> Option<Opcode> {
    let (float, int, boolean) = (d.is_float(), d.is_int(), d == DType::Bool);
    Some(match op {
        Op::Add if float => Opcode::LLVMFAdd,
        Op::Sub if float => Opcode::LLVMFSub,
        Op::Mul if float => Opcode::LLVMFMul,
        Op::Add if int => Opcode::LLVMAdd,
        Op::Sub if int => Opcode::LLVMSub,
        Op::Mul if int => Opcode::LLVMMul,
        Op::Add if boolean => Opcode::LLVMOr,
        Op::Mul if boolean => Opcode::LLVMAnd,
        Op::And if !float => Opcode::LLVMAnd,
        Op::Or if !float => Opcode::LLVMOr,
        Op::Xor if !float => Opcode::LLVMXor,
        _ => return None,
    })
}
