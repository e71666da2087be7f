//! `math.*`: functions of floats. Square roots are instructions; the rest are libmvec's, libdevice's or OpenCL's.

use weft_ir::{DType, Op, OpData};

use super::host::align_frame;
use super::{Lowering, Target, malformed, types};
use crate::error::Result;
use crate::llvm::Value;
use crate::llvm::target::host_cpu;
use crate::mvec::MathFn;
use crate::{ptx, spirv};

impl Lowering<'_, '_> {
    /// Lowers a `math` op.
    pub(crate) fn math(&self, data: &OpData) -> Result<Value> {
        let a = self.operand(data, 0)?;
        let d = self.dtype(data.operands[0], data.span)?;
        if data.op == Op::Sqrt {
            return self.square_root(data, d, a);
        }
        let function = math_function(&data.op)
            .ok_or_else(|| malformed(format!("`{}` is not a math function", data.op.name()), data.span))?;
        self.math_call(function, data, d, &[a])
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
    fn square_root(&self, data: &OpData, d: DType, a: Value) -> Result<Value> {
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
    Some(match op {
        Op::Sin => MathFn::Sin,
        Op::Cos => MathFn::Cos,
        Op::Exp => MathFn::Exp,
        Op::Log => MathFn::Log,
        Op::Pow => MathFn::Pow,
        _ => return None,
    })
}
