//! Complex scalars: a struct of two floats as a value, two floats in a row in memory.
//!
//! LLVM takes the structs apart before it vectorises, so a loop over complex arrays is a loop over floats.

use weft_diag::Span;
use weft_ir::attr::CmpOp;
use weft_ir::{DType, Op, OpData};

use super::{Lowering, Target, malformed, types};
use crate::error::Result;
use crate::llvm::builder::{Opcode, RealIs};
use crate::llvm::module::Linkage;
use crate::llvm::{Type, Value};

/// The float dtype of a complex dtype's parts.
pub(crate) fn part(d: DType, span: Span) -> Result<DType> {
    d.part().ok_or_else(|| malformed(format!("{} is not complex", d.name()), span))
}

impl Lowering<'_, '_> {
    /// A complex number from its parts.
    pub(crate) fn pair(&self, re: Value, im: Value) -> Value {
        types::pair(&self.b, re, im)
    }

    fn parts(&self, z: Value) -> (Value, Value) {
        (self.b.field(z, 0), self.b.field(z, 1))
    }

    pub(crate) fn complex_constant(&self, d: DType, re: f64, im: f64) -> Result<Value> {
        let part = part(d, Span::NONE)?;
        let ty = self.b.context.float(types::bits(part));
        Ok(self.b.constant_pair(self.float_constant(part, re, ty), self.float_constant(part, im, ty)))
    }

    /// An `arith` op with complex operands or a complex result.
    pub(crate) fn complex(&mut self, data: &OpData, d: DType, a: Value, b: Option<Value>) -> Result<Value> {
        if data.op == Op::Complex {
            let im = b.ok_or_else(|| malformed("a complex number has two parts", data.span))?;
            return Ok(self.pair(a, im));
        }
        let of = part(d, data.span)?;
        let (re, im) = self.parts(a);
        let Some(b) = b else {
            return match data.op {
                Op::Real => Ok(re),
                Op::Imag => Ok(im),
                Op::Neg => Ok(self.pair(self.b.fneg(re), self.b.fneg(im))),
                _ => Err(self.unsupported(data, d)),
            };
        };
        let (other_re, other_im) = self.parts(b);
        let op = |opcode, x, y| self.b.op(opcode, x, y);
        let both = |opcode| self.pair(op(opcode, re, other_re), op(opcode, im, other_im));
        let (add, sub, mul) = (Opcode::LLVMFAdd, Opcode::LLVMFSub, Opcode::LLVMFMul);
        match &data.op {
            Op::Add => Ok(both(add)),
            Op::Sub => Ok(both(sub)),
            Op::Cmul if weft_ir::math::fuses_products() => {
                let (left, right) = (op(mul, im, other_im), op(mul, im, other_re));
                let real = self.intrinsic("llvm.fma", of, &[re, other_re, self.b.fneg(left)]);
                Ok(self.pair(real, self.intrinsic("llvm.fma", of, &[re, other_im, right])))
            }
            Op::Mul | Op::Cmul => {
                let real = op(sub, op(mul, re, other_re), op(mul, im, other_im));
                let imaginary = op(add, op(mul, re, other_im), op(mul, im, other_re));
                Ok(self.pair(real, imaginary))
            }
            Op::Div => self.smith_quotient(of, (re, im), (other_re, other_im)),
            Op::Pow => self.complex_call("weft_cpow", data, d, &[a, b]),
            Op::Cmp { is: is @ (CmpOp::Eq | CmpOp::Ne) } => {
                let same_re = self.compare(CmpOp::Eq, of, re, other_re, data)?;
                let same = op(Opcode::LLVMAnd, same_re, self.compare(CmpOp::Eq, of, im, other_im, data)?);
                Ok(if *is == CmpOp::Eq { same } else { self.b.not(same) })
            }
            _ => Err(self.unsupported(data, d)),
        }
    }

    /// NumPy's division, without branches: of Smith's two cases the one for the larger part of the divisor.
    fn smith_quotient(&self, d: DType, a: (Value, Value), b: (Value, Value)) -> Result<Value> {
        let bb = &self.b;
        let op = |opcode, x, y| bb.op(opcode, x, y);
        let (add, sub, mul) = (Opcode::LLVMFAdd, Opcode::LLVMFSub, Opcode::LLVMFMul);
        let (size_re, size_im) = (self.intrinsic("llvm.fabs", d, &[b.0]), self.intrinsic("llvm.fabs", d, &[b.1]));
        let zero = bb.zero(bb.type_of(b.0));
        let by_real = bb.fcmp(RealIs::LLVMRealOGE, size_re, size_im);
        let is_zero = op(
            Opcode::LLVMAnd,
            bb.fcmp(RealIs::LLVMRealOEQ, size_re, zero),
            bb.fcmp(RealIs::LLVMRealOEQ, size_im, zero),
        );
        let (large, small) = (bb.select(by_real, b.0, b.1), bb.select(by_real, b.1, b.0));
        let ratio = self.divide(d, small, large)?;
        let scale = self.divide(d, bb.real(bb.type_of(b.0), 1.0), op(add, large, op(mul, small, ratio)))?;
        // (a.re + a.im r, a.im - a.re r) or (a.re r + a.im, a.im r - a.re).
        let (p, q) = (bb.select(by_real, a.0, a.1), bb.select(by_real, a.1, a.0));
        let real = op(mul, op(add, p, op(mul, q, ratio)), scale);
        let (left, right) = (op(mul, a.0, ratio), op(mul, a.1, ratio));
        let imaginary = bb.select(by_real, op(sub, a.1, left), op(sub, right, a.0));
        let imaginary = op(mul, imaginary, scale);
        let real = bb.select(is_zero, self.divide(d, a.0, size_re)?, real);
        let imaginary = bb.select(is_zero, self.divide(d, a.1, size_re)?, imaginary);
        Ok(self.pair(real, imaginary))
    }

    /// A `math` op on a complex number: libm's function.
    pub(crate) fn complex_math(&self, data: &OpData, d: DType, a: Value) -> Result<Value> {
        let Op::Math { function, .. } = data.op else { return Err(self.unsupported(data, d)) };
        let name = format!("c{}", function.name());
        self.complex_call(&name, data, d, &[a])
    }

    /// Calls a C function of complex numbers: a c128 travels in two registers, a c64 packed in one.
    fn complex_call(&self, name: &str, data: &OpData, d: DType, args: &[Value]) -> Result<Value> {
        if self.unit.target != Target::Native {
            return Err(self.unsupported(data, d));
        }
        let b = &self.b;
        let of = b.context.float(types::bits(part(d, data.span)?));
        let single = d == DType::C64;
        let mut flat = vec![];
        for &z in args {
            let (re, im) = self.parts(z);
            if single {
                let empty = b.poison(b.context.vector(of, 2));
                flat.push(b.with_lane(b.with_lane(empty, re, 0), im, 1));
            } else {
                flat.extend([re, im]);
            }
        }
        let result = if single { b.context.vector(of, 2) } else { b.context.structure(&[of, of]) };
        let params: Vec<Type> = flat.iter().map(|&v| b.type_of(v)).collect();
        let name = format!("{name}{}", if single { "f" } else { "" });
        let ty = b.context.function(result, &params);
        let f = self.unit.module.find(&name);
        let f = f.unwrap_or_else(|| self.unit.module.function(&name, ty, Linkage::External));
        let v = b.call(ty, f, &flat);
        Ok(if single { self.pair(b.lane(v, 0), b.lane(v, 1)) } else { v })
    }
}
