//! `mem.load` and `mem.store`: elements behind a pointer.

use weft_ir::attr::{Fold, Rmw, Unit};
use weft_ir::{DType, Op, OpData, Type as IrType, ValueId};

use super::{Lowering, Target, malformed, types};
use crate::error::Result;
use crate::llvm::builder::{Opcode, Rmw as Update};
use crate::llvm::module::Linkage;
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
        let (p, index) = (self.operand(data, at)?, self.operand(data, at + 1)?);
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

    /// `mem.reduce`: a call of the routine that all code shares.
    pub(crate) fn reduce(&mut self, data: &OpData, fold: Fold) -> Result<()> {
        let &IrType::Mem(d, _) = self.ir_type(data.operands[0]) else {
            return Err(malformed("`mem.reduce` needs a pointer", data.span));
        };
        if self.unit.target != Target::Native {
            return Err(malformed("a reduction inside a kernel", data.span));
        }
        if !crate::reduce::has_routine(fold, d) {
            return Err(malformed("a reduction that there is no routine for", data.span));
        }
        let words = self.words(&self.operands(data)?);
        let cx = self.b.context;
        let ty = cx.function(cx.void(), &[cx.int(64), cx.int(64), cx.ptr(0)]);
        let f = self.unit.module.find("weft_reduce");
        let f = f.unwrap_or_else(|| self.unit.module.function("weft_reduce", ty, Linkage::External));
        let args = [self.b.i64(crate::reduce::fold_number(fold)), self.b.i64(d as u64), words];
        self.b.call(ty, f, &args);
        Ok(())
    }

    /// `mem.copy`: a call of the routine that all code shares.
    pub(crate) fn copy(&mut self, data: &OpData, rank: u32) -> Result<()> {
        let &IrType::Mem(d, _) = self.ir_type(data.operands[0]) else {
            return Err(malformed("`mem.copy` needs a pointer", data.span));
        };
        if self.unit.target != Target::Native {
            return Err(malformed("a copy inside a kernel", data.span));
        }
        let words = self.words(&self.operands(data)?);
        let cx = self.b.context;
        let ty = cx.function(cx.void(), &[cx.int(64), cx.int(64), cx.ptr(0)]);
        let f = self.unit.module.find("weft_copy");
        let f = f.unwrap_or_else(|| self.unit.module.function("weft_copy", ty, Linkage::External));
        let args = [self.b.i64(d.size() as u64), self.b.i64(rank.into()), words];
        self.b.call(ty, f, &args);
        Ok(())
    }

    /// `mem.count`.
    pub(crate) fn count_true(&mut self, data: &OpData) -> Result<()> {
        if self.unit.target != Target::Native {
            return Err(malformed("a count inside a kernel", data.span));
        }
        let cx = self.b.context;
        let ty = cx.function(cx.int(64), &[cx.ptr(0), cx.int(64)]);
        let f = self.unit.module.find("weft_count");
        let f = f.unwrap_or_else(|| self.unit.module.function("weft_count", ty, Linkage::External));
        let operands = self.operands(data)?;
        let counted = self.b.call(ty, f, &operands);
        self.define(data, 0, counted);
        Ok(())
    }

    /// `mem.compress`.
    pub(crate) fn compress(&mut self, data: &OpData, back: bool) -> Result<()> {
        let &IrType::Mem(d, _) = self.ir_type(data.operands[0]) else {
            return Err(malformed("`mem.compress` needs a pointer", data.span));
        };
        if self.unit.target != Target::Native {
            return Err(malformed("a compression inside a kernel", data.span));
        }
        let words = self.words(&self.operands(data)?);
        let cx = self.b.context;
        let ty = cx.function(cx.void(), &[cx.int(64), cx.int(64), cx.ptr(0)]);
        let f = self.unit.module.find("weft_compress");
        let f = f.unwrap_or_else(|| self.unit.module.function("weft_compress", ty, Linkage::External));
        self.b.call(ty, f, &[self.b.i64(d.size() as u64), self.b.i64(back.into()), words]);
        Ok(())
    }

    /// `mem.matmul`.
    pub(crate) fn matmul(&mut self, data: &OpData) -> Result<()> {
        let &IrType::Mem(d, _) = self.ir_type(data.operands[0]) else {
            return Err(malformed("`mem.matmul` needs a pointer", data.span));
        };
        if self.unit.target != Target::Native {
            return Err(malformed("a matrix product inside a kernel", data.span));
        }
        let words = self.words(&self.operands(data)?);
        let cx = self.b.context;
        let ty = cx.function(cx.void(), &[cx.int(64), cx.ptr(0)]);
        let f = self.unit.module.find("weft_matmul");
        let f = f.unwrap_or_else(|| self.unit.module.function("weft_matmul", ty, Linkage::External));
        self.b.call(ty, f, &[self.b.i64(d as u64), words]);
        Ok(())
    }

    /// `mem.dot`.
    pub(crate) fn dot(&mut self, data: &OpData) -> Result<()> {
        let &IrType::Mem(d, _) = self.ir_type(data.operands[0]) else {
            return Err(malformed("`mem.dot` needs a pointer", data.span));
        };
        if self.unit.target != Target::Native {
            return Err(malformed("a product of vectors inside a kernel", data.span));
        }
        if d == DType::F16 {
            return Err(malformed("a product of vectors that there is no routine for", data.span));
        }
        let cx = self.b.context;
        let ty = cx.function(cx.void(), &[cx.ptr(0), cx.ptr(0), cx.int(64), cx.int(64), cx.int(64), cx.ptr(0)]);
        let name = crate::helpers::dot_name(d);
        let f = self.unit.module.find(&name);
        let f = f.unwrap_or_else(|| self.unit.module.function(&name, ty, Linkage::External));
        let to = self.word_buffer(2);
        let mut args = self.operands(data)?;
        args.push(to);
        self.b.call(ty, f, &args);
        let v = types::load_element(&self.b, d, to, d.size() as u32, &mut |_| {});
        self.define(data, 0, v);
        Ok(())
    }

    /// `mem.cholesky` and `mem.solve`.
    pub(crate) fn linalg(&mut self, data: &OpData) -> Result<()> {
        let &IrType::Mem(d, _) = self.ir_type(data.operands[0]) else {
            return Err(malformed("linear algebra needs a pointer", data.span));
        };
        if !matches!(d, DType::F64 | DType::C128) {
            return Err(malformed("linear algebra that there is no routine for", data.span));
        }
        let ctx = self.context(data.span)?;
        let operands = self.operands(data)?;
        let cx = self.b.context;
        let mut args = vec![ctx, self.b.i64(d as u64)];
        let name = match data.op {
            Op::MemCholesky => {
                args.extend(operands);
                "weft_cholesky"
            }
            _ => {
                args.push(self.words(&operands));
                "weft_solve"
            }
        };
        let types: Vec<_> = args.iter().map(|&v| self.b.type_of(v)).collect();
        let ty = cx.function(cx.int(64), &types);
        let f = self.unit.module.find(name);
        let f = f.unwrap_or_else(|| self.unit.module.function(name, ty, Linkage::External));
        let outcome = self.b.call(ty, f, &args);
        self.define(data, 0, outcome);
        Ok(())
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
