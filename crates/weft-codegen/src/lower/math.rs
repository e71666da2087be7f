//! `math.*`: functions of floats. Some are instructions; the rest are libmvec's, libm's, libdevice's or OpenCL's.

use weft_ir::math::By;
use weft_ir::{DType, MathFn, Op, OpData};

use super::host::align_frame;
use super::{Lowering, Target, malformed, types};
use crate::error::Result;
use crate::llvm::Value;
use crate::llvm::builder::Opcode;
use crate::llvm::module::Place;
use crate::llvm::target::host_cpu;
use crate::mvec::{c_name, declare, declare_as};
use crate::{ptx, spirv};

impl Lowering<'_, '_> {
    /// Lowers a `math` op.
    pub(crate) fn math(&mut self, data: &OpData) -> Result<Value> {
        let Op::Math { function, exact } = data.op else {
            return Err(malformed(format!("`{}` is not a math function", data.op.name()), data.span));
        };
        let mut args = self.operands(data)?;
        let d = self.dtype(data.operands[0], data.span)?;
        if d.is_complex() {
            return self.complex_math(data, d, args[0]);
        }
        // Halves are computed with as f32, then rounded.
        if d == DType::F16 {
            for v in &mut args {
                *v = self.b.cast(Opcode::LLVMFPExt, *v, self.b.context.float(32));
            }
            let v = self.real_math(function, exact, data, DType::F32, &args)?;
            return Ok(self.b.cast(Opcode::LLVMFPTrunc, v, self.b.context.float(16)));
        }
        self.real_math(function, exact, data, d, &args)
    }

    fn real_math(&mut self, f: MathFn, exact: bool, data: &OpData, d: DType, args: &[Value]) -> Result<Value> {
        let name = match f {
            MathFn::Sqrt => return self.square_root(data, d, args[0]),
            MathFn::Floor => "llvm.floor",
            MathFn::Ceil => "llvm.ceil",
            MathFn::Trunc => "llvm.trunc",
            MathFn::Rint => "llvm.rint",
            MathFn::Copysign => "llvm.copysign",
            _ if self.unit.target == Target::Native && (exact || f.by() == By::Scalar) => {
                return self.libm_call(f, data, d, args);
            }
            _ => return self.math_call(f, data, d, args),
        };
        if !matches!(d, DType::F32 | DType::F64) {
            return Err(self.unsupported(data, d));
        }
        Ok(self.intrinsic(name, d, args))
    }

    /// Calls C's own function for one value.
    fn libm_call(&self, f: MathFn, data: &OpData, d: DType, args: &[Value]) -> Result<Value> {
        if !matches!(d, DType::F32 | DType::F64) {
            return Err(self.unsupported(data, d));
        }
        let bits = types::bits(d);
        if d == DType::F64 && self.wants_both(f, data) {
            let (of, cx) = (self.b.context.float(64), self.b.context);
            let (function, ty) = declare_as(self.unit.module, "weft_sincos", cx.structure(&[of, of]), &[of]);
            // The other one makes the same call, and LLVM one of both.
            let both = self.b.call(ty, function, args);
            return Ok(self.b.field(both, u32::from(f == MathFn::Cos)));
        }
        let (function, ty) = declare(self.unit.module, &c_name(f, bits), self.b.context.float(bits), args.len());
        // LLVM must not put another function in its place: `pow(x, 2)` is `x * x` only nearly.
        self.unit.module.attribute(function, Place::Function, "nobuiltin", 0);
        Ok(self.b.call(ty, function, args))
    }

    /// Whether the sine and the cosine of the value are wanted, of which one is `f`.
    fn wants_both(&self, f: MathFn, data: &OpData) -> bool {
        let other = match f {
            MathFn::Sin => MathFn::Cos,
            MathFn::Cos => MathFn::Sin,
            _ => return false,
        };
        let op = Op::Math { function: other, exact: true };
        let exact = matches!(data.op, Op::Math { exact: true, .. });
        exact && self.func.ops.iter().any(|o| o.op == op && o.operands == data.operands)
    }

    /// Calls the target's routine for a function.
    pub(crate) fn math_call(&self, f: MathFn, data: &OpData, d: DType, args: &[Value]) -> Result<Value> {
        if !matches!(d, DType::F32 | DType::F64) {
            return Err(self.unsupported(data, d));
        }
        let bits = types::bits(d);
        Ok(match self.unit.target {
            Target::Native => {
                align_frame(self.unit, self.b.function());
                // Where LLVM prefers 256-bit registers, it must still hold 512-bit arguments whole.
                for key in ["prefer-vector-width", "min-legal-vector-width"] {
                    let width = host_cpu().vector_bits.to_string();
                    self.unit.module.text_attribute(self.b.function(), key, &width);
                }
                self.unit.math.borrow_mut().call(self.unit.module, &self.b, f, bits, args)
            }
            Target::Ptx => self.device_call(&ptx::libdevice_name(f, bits), d, args, 0),
            Target::SpirV => {
                self.device_call(&spirv::builtin_name(f.name(), bits, args.len()), d, args, spirv::FUNCTION)
            }
        })
    }

    /// Correctly rounded on every target: OpenCL allows f32 3 ulp, so there it goes through f64.
    pub(crate) fn square_root(&self, data: &OpData, d: DType, a: Value) -> Result<Value> {
        if !matches!(d, DType::F32 | DType::F64) {
            return Err(self.unsupported(data, d));
        }
        if self.unit.target == Target::SpirV && d == DType::F32 {
            return Ok(self.through_f64(&[a], |v| self.intrinsic("llvm.sqrt", DType::F64, v)));
        }
        Ok(self.intrinsic("llvm.sqrt", d, &[a]))
    }
}

/// The routine behind an op, if it has one on the host that the vectoriser must be told about.
pub(crate) fn math_function(op: &Op) -> Option<MathFn> {
    match op {
        Op::Math { function, exact: false } if function.by() == By::Vector => Some(*function),
        Op::Pow => Some(MathFn::Pow),
        _ => None,
    }
}
