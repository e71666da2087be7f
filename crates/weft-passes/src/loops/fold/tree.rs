//! Folds in the order of the tree of results that lie side by side: short rows, and axes that are not the last.
//!
//! A tile of neighbouring results has lanes of accumulators in memory that stays in the nearest cache, one row of the tile's width
//! each. Element `i` of a block goes to lane `i mod lanes` of all results at once, so that vectors go over the results. Lanes without
//! an element do not exist. The routine that reduces folds the lanes.

use super::super::array::Array;
use super::{Lower, SHORT, Sizes, Work};
use weft_diag::Diagnostic;
use weft_ir::attr::{Order, Unit};
use weft_ir::{Op, Type, ValueId, reduce};

/// Results of a tile whose elements are read with a step.
const WIDTH: i64 = 32;
/// Lanes have rows of so many bytes, and rows of results that are neighbours are as long as they can be: what is read of a row of the
/// array in one go should be many lines of the cache.
const ROOM: i64 = 64 * reduce::ROW as i64;
const WIDEST: i64 = 512;

/// The results along the axis whose neighbours go together, in tiles; and the axes of the result around it.
struct Tiles {
    last: ValueId,
    around: Vec<ValueId>,
    count: ValueId,
    width: ValueId,
    /// Whether the axis stands after the folded ones.
    after: bool,
}

/// A tile: the indices around it, where it begins, how many results it has, and the position of the first.
struct Tile {
    around: Vec<ValueId>,
    left: ValueId,
    count: ValueId,
    first: ValueId,
}

impl Lower<'_> {
    /// The sizes, each group as one where every array is walked through in one piece.
    pub(super) fn merged(&mut self, work: &Work<'_>, sizes: &Sizes) -> Sizes {
        let mut group = |sizes: &[ValueId]| match work.space.collapsed && sizes.len() > 1 {
            true => vec![self.product(sizes)],
            false => sizes.to_vec(),
        };
        let (before, folded, after) = (group(&sizes.before), group(&sizes.folded), group(&sizes.after));
        Sizes { before, folded, after, known: sizes.known }
    }

    fn tiles(&mut self, sizes: &Sizes, width: ValueId) -> Tiles {
        let mut around: Vec<ValueId> = sizes.before.iter().chain(&sizes.after).copied().collect();
        let last = around.pop().unwrap_or_else(|| self.r.b().i64(1));
        let count = self.parts(last, width);
        Tiles { last, around, count, width, after: !sizes.after.is_empty() }
    }

    fn tile(&mut self, tiles: &Tiles, at: ValueId) -> Tile {
        let (row, tile) = self.split(at, tiles.count);
        let (left, count) = self.part_at(tile, tiles.width, tiles.last);
        let first = self.int(Op::Mul, row, tiles.last);
        let first = self.int(Op::Add, first, left);
        Tile { around: self.indices_of(row, &tiles.around), left, count, first }
    }

    /// An element of result `k` of a tile.
    fn element_of(
        &mut self,
        work: &Work<'_>,
        sizes: &Sizes,
        (tiles, tile): (&Tiles, &Tile),
        folded: &[ValueId],
        k: ValueId,
    ) -> Result<ValueId, Diagnostic> {
        let mut indices = tile.around.clone();
        indices.push(self.int(Op::Add, tile.left, k));
        let split = if tiles.after { sizes.before.len() } else { indices.len() };
        let (before, after) = indices.split_at(split);
        self.element_at(work, sizes, [before, folded, after])
    }

    /// Results of at least one and at most [`SHORT`] elements: each has a lane of its own.
    pub(super) fn fold_short(&mut self, work: &Work<'_>, sizes: &Sizes, out: &Array) -> Result<(), Diagnostic> {
        let sizes = &self.merged(work, sizes);
        let n = self.product(&sizes.folded);
        let most = SHORT.min(reduce::lanes(work.dtype.size()) as i64);
        let width = self.r.b().i64(WIDTH);
        let tiles = self.tiles(sizes, width);
        let rows = self.product(&tiles.around);
        let items = self.int(Op::Mul, rows, tiles.count);
        let (zero, item) = (self.r.b().i64(0), self.r.b().i64(work.dtype.size() as i64));
        let mut tenths = 0;
        let region = self.item_region(|l, at| {
            let tile = l.tile(&tiles, at);
            let memory = l.r.dst.ty(out.mem).clone();
            let bytes = ((most * WIDTH) as usize * work.dtype.size()) as u32;
            let lanes = l.r.b().value(Op::MemStack { bytes }, &[], memory);
            let start = vec![zero; sizes.folded.len()];
            l.in_order([zero, n], &start, |l, e, folded| {
                let row = l.int(Op::Mul, e, tile.count);
                tenths = l.independent(tile.count, |l, k| {
                    let v = l.element_of(work, sizes, (&tiles, &tile), folded, k)?;
                    let at = l.int(Op::Add, row, k);
                    l.r.b().effect(Op::MemStore { unit: Unit::Element }, &[v, lanes, at]);
                    Ok(())
                })?;
                Ok(l.next_index(folded, &sizes.folded))
            })?;
            let (to, row) = (l.int(Op::Mul, tile.first, item), l.int(Op::Mul, tile.count, item));
            let to = l.past(out.mem, to);
            let words = [lanes, to, n, row, tile.count, item, item];
            l.r.b().effect(Op::MemReduce { fold: work.fold, order: Order::Tree }, &words);
            Ok(())
        })?;
        let width = self.int(Op::Min, tiles.last, tiles.width);
        let elements = self.int(Op::Mul, n, width);
        self.in_parallel(items, elements, tenths + 2, region);
        Ok(())
    }

    /// Results of any number of elements. Blocks of a result are items of their own, whose results are reduced at the end.
    pub(super) fn fold_lanes(&mut self, work: &Work<'_>, sizes: &Sizes, out: &Array) -> Result<(), Diagnostic> {
        let sizes = &self.merged(work, sizes);
        let (fold, bytes) = (work.fold, work.dtype.size());
        let (n, all) = (self.product(&sizes.folded), reduce::lanes(bytes) as i64);
        let mut b = self.r.b();
        let (zero, one, item) = (b.i64(0), b.i64(1), b.i64(bytes as i64));
        let (size, most, mask) = (b.i64(reduce::block(bytes) as i64), b.i64(all), b.i64(all - 1));
        let (room, widest) = (b.i64(ROOM / bytes as i64), b.i64(WIDEST));
        let used = self.int(Op::Min, n, most);
        let used = self.int(Op::Max, used, one);
        let width = self.int(Op::FloorDiv, room, used);
        let width = self.int(Op::Min, width, widest);
        let tiles = self.tiles(sizes, width);
        let blocks = self.parts(n, size);
        let blocks = self.int(Op::Max, blocks, one);
        let rows = self.product(&tiles.around);
        let results = self.int(Op::Mul, rows, tiles.last);
        let (several, partial) = self.partial(out, blocks, results)?;
        let step = self.int(Op::Mul, blocks, item);
        let items = self.int(Op::Mul, rows, tiles.count);
        let items = self.int(Op::Mul, items, blocks);
        let ty = Type::Num(work.dtype);
        let mut tenths = 0;
        let region = self.item_region(|l, at| {
            let (at, block) = l.split(at, blocks);
            let tile = l.tile(&tiles, at);
            let (start, turns) = l.part_at(block, size, n);
            let memory = l.r.dst.ty(out.mem).clone();
            let lanes = l.r.b().value(Op::MemStack { bytes: ROOM as u32 }, &[], memory);
            let alive = l.int(Op::Min, turns, most);
            let indices = l.indices_of(start, &sizes.folded);
            // The first element of a lane is what the lane begins with.
            let indices = l.in_order([zero, alive], &indices, |l, e, folded| {
                let row = l.int(Op::Mul, e, tile.count);
                l.independent(tile.count, |l, k| {
                    let v = l.element_of(work, sizes, (&tiles, &tile), folded, k)?;
                    let at = l.int(Op::Add, row, k);
                    l.r.b().effect(Op::MemStore { unit: Unit::Element }, &[v, lanes, at]);
                    Ok(())
                })?;
                Ok(l.next_index(folded, &sizes.folded))
            })?;
            l.in_order([alive, turns], &indices, |l, e, folded| {
                let lane = l.int(Op::And, e, mask);
                let row = l.int(Op::Mul, lane, tile.count);
                tenths = l.independent(tile.count, |l, k| {
                    let v = l.element_of(work, sizes, (&tiles, &tile), folded, k)?;
                    let at = l.int(Op::Add, row, k);
                    let mut b = l.r.b();
                    let so_far = b.value(Op::MemLoad { unit: Unit::Element }, &[lanes, at], ty.clone());
                    let v = l.fold_two(fold, so_far, v);
                    l.r.b().effect(Op::MemStore { unit: Unit::Element }, &[v, lanes, at]);
                    Ok(())
                })?;
                Ok(l.next_index(folded, &sizes.folded))
            })?;
            let to = l.int(Op::Mul, tile.first, blocks);
            let to = l.int(Op::Add, to, block);
            let to = l.int(Op::Mul, to, item);
            let to = l.past(partial, to);
            let row = l.int(Op::Mul, tile.count, item);
            let words = [lanes, to, alive, row, tile.count, item, step];
            l.r.b().effect(Op::MemReduce { fold, order: Order::Tree }, &words);
            Ok(())
        })?;
        let (height, width) = (self.int(Op::Min, n, size), self.int(Op::Min, tiles.last, tiles.width));
        let elements = self.int(Op::Mul, height, width);
        self.in_parallel(items, elements, tenths + 2, region);
        let words = [partial, out.mem, blocks, item, results, step, item];
        self.combine(several, Op::MemReduce { fold, order: Order::Tree }, &words);
        Ok(())
    }
}
