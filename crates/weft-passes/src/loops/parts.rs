//! Work in parts: numbers, positions and loops that several lowerings share.

use super::array::Array;
use super::{Lower, cost};
use weft_diag::Diagnostic;
use weft_ir::attr::Level;
use weft_ir::{Op, RegionId, Type, ValueId};

impl Lower<'_> {
    /// An op on two numbers.
    pub(super) fn int(&mut self, op: Op, a: ValueId, b: ValueId) -> ValueId {
        self.r.b().value(op, &[a, b], Type::I64)
    }

    /// The pointer so many bytes on.
    pub(super) fn past(&mut self, mem: ValueId, bytes: ValueId) -> ValueId {
        let ty = self.r.dst.ty(mem).clone();
        self.r.b().value(Op::MemOffset, &[mem, bytes], ty)
    }

    /// In how many parts of `size` something of `n` falls.
    pub(super) fn parts(&mut self, n: ValueId, size: ValueId) -> ValueId {
        let one = self.r.b().i64(1);
        let less = self.int(Op::Sub, size, one);
        let most = self.int(Op::Add, n, less);
        self.int(Op::FloorDiv, most, size)
    }

    /// Where a part begins, and how many it has.
    pub(super) fn part_at(&mut self, at: ValueId, size: ValueId, n: ValueId) -> (ValueId, ValueId) {
        let start = self.int(Op::Mul, at, size);
        let left = self.int(Op::Sub, n, start);
        (start, self.int(Op::Min, left, size))
    }

    /// A position as a row of `size`, and the position in that row.
    pub(super) fn split(&mut self, at: ValueId, size: ValueId) -> (ValueId, ValueId) {
        let row = self.int(Op::FloorDiv, at, size);
        let rows = self.int(Op::Mul, row, size);
        (row, self.int(Op::Sub, at, rows))
    }

    /// A position in the row-major order of these sizes as an index of each.
    pub(super) fn indices_of(&mut self, at: ValueId, sizes: &[ValueId]) -> Vec<ValueId> {
        let mut indices = vec![at; sizes.len()];
        for k in (1..sizes.len()).rev() {
            (indices[0], indices[k]) = self.split(indices[0], sizes[k]);
        }
        indices
    }

    /// Memory for so many elements of an array's dtype: pointer and owner.
    pub(super) fn scratch(&mut self, like: &Array, count: ValueId) -> [ValueId; 2] {
        self.room(like.ty.dtype, count)
    }

    /// The region of a parallel loop over items.
    pub(super) fn item_region(
        &mut self,
        body: impl FnOnce(&mut Self, ValueId) -> Result<(), Diagnostic>,
    ) -> Result<RegionId, Diagnostic> {
        let (region, ()) = self.nested(|l| {
            let item = l.r.b().arg(Type::I64);
            body(l, item)?;
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        Ok(region)
    }

    /// A parallel loop over items, where the ops at the cursor run: on a device, a kernel to be.
    pub(super) fn items(&mut self, sizes: &[ValueId], region: RegionId) {
        let cost = cost::of_region(&self.r.dst, region);
        self.at_place(Op::ParFor { cost, level: Level::Item }, sizes, region);
    }

    /// A parallel loop at the cursor's place.
    pub(super) fn at_place(&mut self, op: Op, sizes: &[ValueId], region: RegionId) {
        let id = self.r.b().op(op, sizes, &[], &[region]);
        if !self.place.is_host() {
            self.offloaded.insert(id);
        }
    }

    /// A parallel loop over so many items of so many elements, which take so many tenths of a nanosecond.
    pub(super) fn in_parallel(&mut self, items: ValueId, elements: ValueId, tenths: u64, region: RegionId) {
        let mut b = self.r.b();
        let (cost, ten) = (b.i64(tenths as i64), b.i64(10));
        let cost = b.value(Op::Mul, &[elements, cost], Type::I64);
        let nanoseconds = b.value(Op::FloorDiv, &[cost, ten], Type::I64);
        b.op(Op::ParBlocks { cost: 1 }, &[items, nanoseconds], &[], &[region]);
    }
}
