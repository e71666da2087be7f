//! `nt.dot` → a call of the routine that sums the products of two vectors; of long ones, blocks in parallel.
//!
//! Where vectors are cut depends on their size alone, so that it does not matter how many threads there are.

use super::Lower;
use super::array::Array;
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Fold, Unit};
use weft_ir::{DType, Dim, Op, OpId, Place, Space, Type, ValueId};

/// Elements of a block.
const BLOCK: i64 = 1 << 14;
/// Elements up to which vectors are one block.
const FEW: i64 = 1 << 17;
/// Estimated nanoseconds of a block.
const COST: u32 = 4000;

impl Lower<'_> {
    /// The op.
    pub fn dot(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let (a, b) = (self.array(data.operands[0]).clone(), self.array(data.operands[1]).clone());
        if !self.place.is_host() {
            let message = "products of vectors are not supported on a device yet";
            return Err(Diagnostic::unsupported(data.span, message).help("run it outside the device context"));
        }
        let n = a.sizes[0];
        if matches!(a.ty.dims[0], Dim::Const(size) if size <= FEW as u64) {
            let sum = self.sum_of_products(&a, &b, a.mem, b.mem, n);
            self.r.set(data.results[0], sum);
            return Ok(());
        }
        let mut at = self.r.b();
        let few = at.i64(FEW);
        let short = at.value(Op::Cmp { is: CmpOp::Le }, &[n, few], Type::BOOL);
        let (directly, ()) = self.nested(|l| {
            let sum = l.sum_of_products(&a, &b, a.mem, b.mem, n);
            l.r.b().effect(Op::Yield, &[sum]);
            Ok(())
        })?;
        let (in_blocks, ()) = self.nested(|l| {
            let sum = l.in_blocks(&a, &b, n)?;
            l.r.b().effect(Op::Yield, &[sum]);
            Ok(())
        })?;
        self.r.emit(id, Op::ScfIf, &[short], &[Type::Num(a.ty.dtype)], &[directly, in_blocks]);
        Ok(())
    }

    /// Of `n` elements from these on.
    fn sum_of_products(&mut self, a: &Array, b: &Array, from_a: ValueId, from_b: ValueId, n: ValueId) -> ValueId {
        let operands = [from_a, from_b, n, a.strides[0], b.strides[0]];
        self.r.b().value(Op::MemDot, &operands, Type::Num(a.ty.dtype))
    }

    /// The blocks' sums are added up in the order of every sum.
    fn in_blocks(&mut self, a: &Array, b: &Array, n: ValueId) -> Result<ValueId, Diagnostic> {
        let dtype = a.ty.dtype;
        let mem = Type::Mem(dtype, Space::Host);
        let mut at = self.r.b();
        let (size, item, less) = (at.i64(BLOCK), at.i64(dtype.size() as i64), at.i64(BLOCK - 1));
        let most = at.value(Op::Add, &[n, less], Type::I64);
        let blocks = at.value(Op::FloorDiv, &[most, size], Type::I64);
        let (one, zero) = (at.i64(1), at.i64(0));
        // One more, for the result.
        let places = at.value(Op::Add, &[blocks, one], Type::I64);
        let bytes = at.value(Op::Mul, &[places, item], Type::I64);
        let scratch = at.op(Op::MemAlloc { at: Place::Host }, &[bytes], &[mem.clone(), Type::Owner], &[]);
        let scratch = at.func.op(scratch).results[0];
        let (region, ()) = self.nested(|l| {
            let mut at = l.r.b();
            let block = at.arg(Type::I64);
            let start = at.value(Op::Mul, &[block, size], Type::I64);
            let left = at.value(Op::Sub, &[n, start], Type::I64);
            let count = at.value(Op::Min, &[left, size], Type::I64);
            let mut from = [a, b].into_iter().map(|x| {
                let bytes = at.value(Op::Mul, &[start, x.strides[0]], Type::I64);
                let ty = at.func.ty(x.mem).clone();
                at.value(Op::MemOffset, &[x.mem, bytes], ty)
            });
            let (Some(from_a), Some(from_b)) = (from.next(), from.next()) else { return Ok(()) };
            let sum = l.sum_of_products(a, b, from_a, from_b, count);
            let mut at = l.r.b();
            at.effect(Op::MemStore { unit: Unit::Element }, &[sum, scratch, block]);
            at.effect(Op::Yield, &[]);
            Ok(())
        })?;
        let mut at = self.r.b();
        at.op(Op::ParFor { cost: COST }, &[blocks], &[], &[region]);
        let end = at.value(Op::Mul, &[blocks, item], Type::I64);
        let result = at.value(Op::MemOffset, &[scratch, end], mem);
        let fold = if dtype == DType::Bool { Fold::Any } else { Fold::Sum };
        at.effect(Op::MemReduce { fold, pairs: false }, &[scratch, result, blocks, item, one, zero, zero]);
        Ok(at.value(Op::MemLoad { unit: Unit::Element }, &[scratch, blocks], Type::Num(dtype)))
    }
}
