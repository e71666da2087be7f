//! `nt.count`, `nt.compress` and `nt.put` → calls of the routines that go through masks.

use super::Lower;
use weft_diag::Diagnostic;
use weft_ir::{Op, OpId, Place, Type, ValueId};

impl Lower<'_> {
    /// `nt.count`.
    pub fn count(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        self.only_on_the_host(id)?;
        let mask = self.array(data.operands[0]).clone();
        let n = self.product(&mask.sizes);
        self.r.emit(id, Op::MemCount, &[mask.mem, n], &[Type::I64], &[]);
        Ok(())
    }

    /// `nt.compress`.
    pub fn compress(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        self.only_on_the_host(id)?;
        let Some(ty) = self.r.src.ty(data.results[0]).as_tensor().cloned() else {
            return Err(Diagnostic::internal(data.span, "no array is made"));
        };
        let to = self.alloc(&ty, &Place::Host);
        let from = self.array(data.operands[0]).mem;
        self.through_mask(false, to.mem, from, data.operands[1]);
        self.arrays.insert(data.results[0], to);
        Ok(())
    }

    /// `nt.put` of as many values as are true.
    pub fn put(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        self.only_on_the_host(id)?;
        let to = self.array(data.operands[0]).clone();
        let Some(from) = self.arrays.get(&data.operands[2]).cloned() else {
            return Err(Diagnostic::internal(data.span, "`fuse` puts scalars"));
        };
        let from = self.read_first(&to, &from)?;
        self.read_copies(&to, &[data.operands[1]], |l| {
            l.through_mask(true, to.mem, from.mem, data.operands[1]);
            Ok(())
        })
    }

    fn through_mask(&mut self, back: bool, to: ValueId, from: ValueId, mask: ValueId) {
        let mask = self.array(mask).clone();
        let n = self.product(&mask.sizes);
        self.r.b().effect(Op::MemCompress { back }, &[to, from, mask.mem, n]);
    }

    fn only_on_the_host(&self, id: OpId) -> Result<(), Diagnostic> {
        if self.place.is_host() {
            return Ok(());
        }
        let message = "elements chosen by a mask are not supported on a device yet";
        Err(Diagnostic::unsupported(self.r.src.op(id).span, message).help("run it outside the device context"))
    }
}
