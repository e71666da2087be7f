//! Folds of the last axes: a block of elements is computed into memory of its own, which stays in the nearest cache, and the
//! routine that reduces takes it from there.

use super::super::array::Array;
use super::{Lower, Sizes, Work};
use weft_diag::Diagnostic;
use weft_ir::attr::{Order, Unit};
use weft_ir::{DType, Op, Space as Memory, Type, ValueId, reduce};

/// Bools that are counted at a time.
const COUNTED: i64 = 16 << 10;

impl Lower<'_> {
    pub(super) fn fold_along(&mut self, work: &Work<'_>, sizes: &Sizes, out: &Array) -> Result<(), Diagnostic> {
        let (bytes, fold) = (work.dtype.size(), work.fold);
        let truth = work.truth.filter(|_| sizes.before.is_empty());
        // Integers are the same in whatever order they are added.
        let block = if truth.is_some() { COUNTED } else { reduce::block(bytes) as i64 };
        let (n, lines) = (self.product(&sizes.folded), self.product(&sizes.before));
        let (one, item, size) = (self.r.b().i64(1), self.r.b().i64(bytes as i64), self.r.b().i64(block));
        // As many lines at a time as fill a block.
        let some = self.int(Op::FloorDiv, size, n);
        let tile = self.int(Op::Max, some, one);
        let tile = self.int(Op::Min, tile, size);
        let blocks = self.parts(n, size);
        let blocks = self.int(Op::Max, blocks, one);
        let tiles = self.parts(lines, tile);
        let items = self.int(Op::Mul, tiles, blocks);
        let (several, partial) = self.partial(out, blocks, lines)?;
        let step = self.int(Op::Mul, blocks, item);
        let mut tenths = 0;
        let region = self.item_region(|l, at| {
            let (at_tile, at_block) = match sizes.before.is_empty() {
                true => (l.r.b().i64(0), at),
                false => l.split(at, blocks),
            };
            let (first, lines) = l.part_at(at_tile, tile, lines);
            let (start, count) = l.part_at(at_block, size, n);
            let (ty, bytes) = match truth {
                Some(_) => (Type::Mem(DType::Bool, Memory::Host), 1),
                None => (l.r.dst.ty(out.mem).clone(), bytes),
            };
            let buffer = l.r.b().value(Op::MemStack { bytes: (block as usize * bytes) as u32 }, &[], ty);
            tenths = l.fill(work, truth, sizes, buffer, (first, lines), (start, count))?;
            if truth.is_some() {
                let count = l.r.b().value(Op::MemCount, &[buffer, count], Type::I64);
                l.r.b().effect(Op::MemStore { unit: Unit::Element }, &[count, partial, at_block]);
                return Ok(());
            }
            let to = l.int(Op::Mul, first, blocks);
            let to = l.int(Op::Add, to, at_block);
            let to = l.int(Op::Mul, to, item);
            let to = l.past(partial, to);
            let line = l.int(Op::Mul, count, item);
            l.r.b().effect(Op::MemReduce { fold, order: Order::Auto }, &[buffer, to, count, item, lines, line, step]);
            Ok(())
        })?;
        let part = self.int(Op::Min, n, size);
        let elements = self.int(Op::Mul, part, tile);
        self.in_parallel(items, elements, tenths + 2, region);
        self.combine(
            several,
            Op::MemReduce { fold, order: Order::Auto },
            &[partial, out.mem, blocks, item, lines, step, item],
        );
        Ok(())
    }

    /// Computes elements `start..start + count` of some lines, one after the other, into a buffer.
    fn fill(
        &mut self,
        work: &Work<'_>,
        truth: Option<ValueId>,
        sizes: &Sizes,
        buffer: ValueId,
        (first, lines): (ValueId, ValueId),
        (start, count): (ValueId, ValueId),
    ) -> Result<u64, Diagnostic> {
        let store = |l: &mut Self, v: ValueId, at: ValueId| {
            let v = truth.map_or(v, |truth| l.element(truth, DType::Bool));
            l.r.b().effect(Op::MemStore { unit: Unit::Element }, &[v, buffer, at]);
        };
        if work.space.collapsed || work.space.axes.len() <= 1 {
            // Several lines are whole ones, and so one piece.
            let n = self.product(&sizes.folded);
            let from = self.int(Op::Mul, first, n);
            let from = self.int(Op::Add, from, start);
            let all = self.int(Op::Mul, lines, count);
            let none = work.space.axes.is_empty();
            return self.independent(all, |l, k| {
                let at = l.int(Op::Add, from, k);
                let v = l.computed(work, if none { &[] } else { std::slice::from_ref(&at) })?;
                store(l, v, k);
                Ok(())
            });
        }
        let Some((&width, outer)) = sizes.folded.split_last() else {
            return Err(Diagnostic::internal(self.r.span, "a fold of no wide axis"));
        };
        let mut tenths = 0;
        let mut line = |l: &mut Self, at: ValueId| -> Result<(), Diagnostic> {
            let line_at = l.int(Op::Add, first, at);
            let before = l.indices_of(line_at, &sizes.before);
            let to = l.int(Op::Mul, at, count);
            if outer.is_empty() {
                tenths = l.independent(count, |l, k| {
                    let mut indices = before;
                    indices.push(l.int(Op::Add, start, k));
                    let v = l.computed(work, &indices)?;
                    let to = l.int(Op::Add, to, k);
                    store(l, v, to);
                    Ok(())
                })?;
                return Ok(());
            }
            // The rows that the elements are in, the first and the last of which may not be whole.
            let end = l.int(Op::Add, start, count);
            let (first_row, _) = l.split(start, width);
            let rows = l.parts(end, width);
            l.in_order([first_row, rows], &[], |l, row, _| {
                let zero = l.r.b().i64(0);
                let row_start = l.int(Op::Mul, row, width);
                let skipped = l.int(Op::Sub, start, row_start);
                let skipped = l.int(Op::Max, skipped, zero);
                let left = l.int(Op::Sub, end, row_start);
                let stop = l.int(Op::Min, left, width);
                let turns = l.int(Op::Sub, stop, skipped);
                let to_row = l.int(Op::Add, to, row_start);
                let to_row = l.int(Op::Sub, to_row, start);
                let mut around = before;
                around.extend(l.indices_of(row, outer));
                tenths = l.independent(turns, |l, k| {
                    let at = l.int(Op::Add, skipped, k);
                    let mut indices = around;
                    indices.push(at);
                    let v = l.computed(work, &indices)?;
                    let to = l.int(Op::Add, to_row, at);
                    store(l, v, to);
                    Ok(())
                })?;
                Ok(vec![])
            })?;
            Ok(())
        };
        let zero = self.r.b().i64(0);
        match sizes.before.is_empty() {
            true => line(self, zero)?,
            false => drop(self.in_order([zero, lines], &[], |l, at, _| line(l, at).map(|()| vec![]))?),
        }
        Ok(tenths)
    }
}
