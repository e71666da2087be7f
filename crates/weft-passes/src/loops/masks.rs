//! `nt.count`, `nt.compress` and `nt.put` → calls of the routines that go through masks.

use super::Lower;
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Unit};
use weft_ir::{DType, Op, OpId, Place, Space, Type, ValueId};

/// Bools that are counted, and whose elements are moved, by one thread.
const BLOCK: i64 = 16 << 10;

/// A mask that was counted.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    /// Whether it is more than a block.
    several: ValueId,
    /// Where there are several blocks: how many are true before each.
    before: ValueId,
}

impl Lower<'_> {
    /// `nt.count`. Of a large mask every block by itself, so that what it chooses can be moved in blocks, too.
    pub fn count(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        self.only_on_the_host(id)?;
        let mask = self.array(data.operands[0]).clone();
        let n = self.product(&mask.sizes);
        let block = self.r.b().i64(BLOCK);
        let several = self.r.b().value(Op::Cmp { is: CmpOp::Gt }, &[n, block], Type::BOOL);
        let types = [Type::I64, Type::Mem(DType::I64, Space::Host), Type::Owner];
        let (blocks, ()) = self.nested(|l| {
            let counted = l.count_blocks(mask.mem, n, block)?;
            l.r.b().effect(Op::Yield, &counted);
            Ok(())
        })?;
        let (whole, ()) = self.nested(|l| {
            let mut b = l.r.b();
            let total = b.value(Op::MemCount, &[mask.mem, n], Type::I64);
            let null = b.op(Op::MemNull, &[], &types[1..], &[]);
            let null = b.func.op(null).results.clone();
            b.effect(Op::Yield, &[total, null[0], null[1]]);
            Ok(())
        })?;
        let counted = self.r.b().op(Op::ScfIf, &[several], &types, &[blocks, whole]);
        let results = self.r.dst.op(counted).results.clone();
        self.r.set(data.results[0], results[0]);
        self.counted.insert(data.results[0], Counted { several, before: results[1] });
        Ok(())
    }

    /// How many of `n` bools are true, and memory with how many of them are before each block, and its owner.
    fn count_blocks(&mut self, mask: ValueId, n: ValueId, block: ValueId) -> Result<[ValueId; 3], Diagnostic> {
        let blocks = self.parts(n, block);
        let (zero, one, item) = (self.r.b().i64(0), self.r.b().i64(1), self.r.b().i64(8));
        let bytes = self.int(Op::Mul, blocks, item);
        let types = [Type::Mem(DType::I64, Space::Host), Type::Owner];
        let made = self.r.b().op(Op::MemAlloc { at: Place::Host }, &[bytes], &types, &[]);
        let (before, owner) = (self.r.dst.op(made).results[0], self.r.dst.op(made).results[1]);
        let unit = Unit::Element;
        let region = self.item_region(|l, at| {
            let (start, some) = l.part_at(at, block, n);
            let from = l.past(mask, start);
            let count = l.r.b().value(Op::MemCount, &[from, some], Type::I64);
            l.r.b().effect(Op::MemStore { unit }, &[count, before, at]);
            Ok(())
        })?;
        // A few dozen bools take a nanosecond.
        let work = self.r.b().i64(BLOCK / 4);
        self.in_parallel(blocks, work, 1, region);
        let (sums, ()) = self.nested(|l| {
            let (at, sum) = (l.r.b().arg(Type::I64), l.r.b().arg(Type::I64));
            let count = l.r.b().value(Op::MemLoad { unit }, &[before, at], Type::I64);
            l.r.b().effect(Op::MemStore { unit }, &[sum, before, at]);
            let next = l.int(Op::Add, sum, count);
            l.r.b().effect(Op::Yield, &[next]);
            Ok(())
        })?;
        let summed = self.r.b().op(Op::ScfFor, &[zero, blocks, one, zero], &[Type::I64], &[sums]);
        Ok([self.r.dst.op(summed).results[0], before, owner])
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
        match self.counted.get(&data.operands[2]).copied() {
            None => self.through_mask(false, to.mem, from, data.operands[1]),
            Some(counted) => {
                let (blocks, ()) = self.nested(|l| {
                    l.compress_blocks(to.mem, from, data.operands[1], counted.before, ty.dtype.size())?;
                    l.r.b().effect(Op::Yield, &[]);
                    Ok(())
                })?;
                let (whole, ()) = self.nested(|l| {
                    l.through_mask(false, to.mem, from, data.operands[1]);
                    l.r.b().effect(Op::Yield, &[]);
                    Ok(())
                })?;
                self.r.b().op(Op::ScfIf, &[counted.several], &[], &[blocks, whole]);
            }
        }
        self.arrays.insert(data.results[0], to);
        Ok(())
    }

    /// Brings the elements of each block of a mask to where they belong.
    fn compress_blocks(
        &mut self,
        to: ValueId,
        from: ValueId,
        mask: ValueId,
        before: ValueId,
        item: usize,
    ) -> Result<(), Diagnostic> {
        let mask = self.array(mask).clone();
        let n = self.product(&mask.sizes);
        // Where many are chosen, memory is what it takes.
        let tenths = (item as u64 / 2).max(1);
        let (block, item) = (self.r.b().i64(BLOCK), self.r.b().i64(item as i64));
        let blocks = self.parts(n, block);
        let region = self.item_region(|l, at| {
            let (start, some) = l.part_at(at, block, n);
            let first = l.r.b().value(Op::MemLoad { unit: Unit::Element }, &[before, at], Type::I64);
            let (there, here) = (l.int(Op::Mul, first, item), l.int(Op::Mul, start, item));
            let (to, from, mask) = (l.past(to, there), l.past(from, here), l.past(mask.mem, start));
            l.r.b().effect(Op::MemCompress { back: false }, &[to, from, mask, some]);
            Ok(())
        })?;
        self.in_parallel(blocks, block, tenths, region);
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
