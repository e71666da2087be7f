//! `mem.load`, `mem.store` and `mem.atomic`: elements behind a pointer.

use weft_ir::attr::{Rmw, Unit};
use weft_ir::{DType, OpData, Type as IrType, ValueId};

use super::{Lowering, Target, malformed, types};
use crate::error::Result;
use crate::llvm::builder::{Opcode, Rmw as Update};
use crate::llvm::{Metadata, Value};

impl Lowering<'_, '_> {
    /// `mem.load`: pointer, index.
    pub(crate) fn load(&mut self, data: &OpData, unit: Unit) -> Result<()> {
        let (p, d, align) = self.element_address(data, data.operands[0], 0, unit)?;
        let v = types::load_element(&self.b, d, p, align, &mut |load| self.in_groups(load));
        self.define(data, 0, v);
        Ok(())
    }

    /// `mem.store`: value, pointer, index.
    pub(crate) fn store(&mut self, data: &OpData, unit: Unit) -> Result<()> {
        let (p, d, align) = self.element_address(data, data.operands[1], 1, unit)?;
        let v = self.operand(data, 0)?;
        types::store_element(&self.b, d, v, p, align, &mut |store| self.in_groups(store));
        Ok(())
    }

    /// `mem.atomic`: pointer, index, values.
    pub(crate) fn atomic(&mut self, data: &OpData, rmw: Rmw, unit: Unit) -> Result<()> {
        if self.unit.target != Target::Native {
            return Err(malformed("an atomic update inside a kernel", data.span));
        }
        let (p, d, _) = self.element_address(data, data.operands[0], 0, unit)?;
        let v = self.operand(data, 2)?;
        let (float, signed) = (d.is_float(), d.is_signed());
        let op = match rmw {
            Rmw::Add if float => Update::LLVMAtomicRMWBinOpFAdd,
            Rmw::Add => Update::LLVMAtomicRMWBinOpAdd,
            Rmw::Sub if float => Update::LLVMAtomicRMWBinOpFSub,
            Rmw::Sub => Update::LLVMAtomicRMWBinOpSub,
            Rmw::Min if float => Update::LLVMAtomicRMWBinOpFMinimum,
            Rmw::Min if signed => Update::LLVMAtomicRMWBinOpMin,
            Rmw::Min => Update::LLVMAtomicRMWBinOpUMin,
            Rmw::Max if float => Update::LLVMAtomicRMWBinOpFMaximum,
            Rmw::Max if signed => Update::LLVMAtomicRMWBinOpMax,
            Rmw::Max => Update::LLVMAtomicRMWBinOpUMax,
            Rmw::And => Update::LLVMAtomicRMWBinOpAnd,
            Rmw::Or => Update::LLVMAtomicRMWBinOpOr,
            Rmw::Xor => Update::LLVMAtomicRMWBinOpXor,
            Rmw::Exchange => Update::LLVMAtomicRMWBinOpXchg,
            Rmw::Cas => {
                let new = self.operand(data, 3)?;
                let int = self.b.context.int(8 * d.size() as u32);
                let bits = |v: Value| if float { self.b.cast(Opcode::LLVMBitCast, v, int) } else { v };
                let old = self.b.compare_and_swap(p, bits(v), bits(new));
                let old = if float { self.b.cast(Opcode::LLVMBitCast, old, self.b.type_of(v)) } else { old };
                self.define(data, 0, old);
                return Ok(());
            }
        };
        let old = self.b.ordered_atomic(op, p, v);
        self.define(data, 0, old);
        Ok(())
    }

    /// Address, dtype and alignment of the element that a pointer operand and the index after it name.
    pub(crate) fn element_address(
        &self,
        data: &OpData,
        pointer: ValueId,
        at: usize,
        unit: Unit,
    ) -> Result<(Value, DType, u32)> {
        let &IrType::Mem(d, _) = self.ir_type(pointer) else {
            return Err(malformed(format!("`{}` needs a pointer", data.op.name()), data.span));
        };
        let (p, mut index) = (self.operand(data, at)?, self.operand(data, at + 1)?);
        if let Some((_, by)) = self.shifted.iter().find(|(of, _)| *of == pointer) {
            index = self.b.op(Opcode::LLVMSub, index, *by);
        }
        let cx = self.b.context;
        let natural = d.size() as u32;
        Ok(match unit {
            Unit::Element => (self.b.element(types::in_memory(cx, d), p, index), d, natural),
            // Byte strides are how unaligned NumPy arrays come; device copies are always aligned.
            Unit::Byte => {
                let align = if self.unit.target == Target::Native { 1 } else { natural };
                (self.b.element(cx.int(8), p, index), d, align)
            }
        })
    }

    /// Marks a memory access as one of the parallel loops around it.
    fn in_groups(&self, access: Value) {
        match self.groups[..] {
            [] => {}
            [one] => self.b.annotate(access, "llvm.access.group", one),
            ref many => self.b.annotate(access, "llvm.access.group", Metadata::list(self.b.context, many)),
        }
    }
}
