//! `nt.dot` → a call of the routine that sums the products of two vectors.

use super::Lower;
use weft_diag::Diagnostic;
use weft_ir::{Op, OpId, Type};

impl Lower<'_> {
    /// The op.
    pub fn dot(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let (a, b) = (self.array(data.operands[0]).clone(), self.array(data.operands[1]).clone());
        if !self.place.is_host() {
            let message = "products of vectors are not supported on a device yet";
            return Err(Diagnostic::unsupported(data.span, message).help("run it outside the device context"));
        }
        let operands = [a.mem, b.mem, a.sizes[0], a.strides[0], b.strides[0]];
        let sum = self.r.b().value(Op::MemDot, &operands, Type::Num(a.ty.dtype));
        self.r.set(data.results[0], sum);
        Ok(())
    }
}
