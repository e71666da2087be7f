//! `nt.cholesky` and `nt.solve` → copies of their operands, and calls of the routines that work in place.

use super::Lower;
use super::array::Array;
use weft_diag::Diagnostic;
use weft_ir::{Op, OpData, OpId, Place, Type, ValueId};

impl Lower<'_> {
    /// The op.
    pub fn cholesky(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let a = self.own_copy(&data, 0)?;
        let outcome = self.r.b().value(Op::MemCholesky, &[a.mem, a.sizes[0], a.strides[0]], Type::I64);
        self.arrays.insert(data.results[0], a);
        self.r.set(data.results[1], outcome);
        Ok(())
    }

    /// The op.
    pub fn solve(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let (a, b) = (self.own_copy(&data, 0)?, self.own_copy(&data, 1)?);
        let operands: [ValueId; 6] = [a.mem, b.mem, a.sizes[0], b.sizes[1], a.strides[0], b.strides[0]];
        let sign = self.r.b().value(Op::MemSolve, &operands, Type::I64);
        self.arrays.insert(data.results[0], a);
        self.arrays.insert(data.results[1], b);
        self.r.set(data.results[2], sign);
        Ok(())
    }

    /// An operand, as the result that it will become.
    fn own_copy(&mut self, data: &OpData, which: usize) -> Result<Array, Diagnostic> {
        let Some(ty) = self.r.src.ty(data.results[which]).as_tensor().cloned() else {
            return Err(Diagnostic::internal(data.span, "a factor that is no array"));
        };
        if !self.place.is_host() {
            let message = "linear algebra is not supported on a device yet";
            return Err(Diagnostic::unsupported(data.span, message).help("run it outside the device context"));
        }
        let from = self.array(data.operands[which]).clone();
        let to = self.alloc(&ty, &Place::Host);
        self.copy_rarely(&to, &from)?;
        Ok(to)
    }
}
