//! Folds of other axes in the order of runs: the elements of a run are folded one row after the other into the results, which are
//! neighbours and so vectors.

use super::super::array::Array;
use super::{Lower, Sizes, Work};
use weft_diag::Diagnostic;
use weft_ir::attr::{Order, Unit};
use weft_ir::{Op, Type, ValueId, reduce};

/// Most neighbouring results that are folded at a time: they stay in the nearest cache.
const WIDTH: i64 = 512;

impl Lower<'_> {
    pub(super) fn fold_across(&mut self, work: &Work<'_>, sizes: &Sizes, out: &Array) -> Result<(), Diagnostic> {
        let (n, fold) = (self.product(&sizes.folded), work.fold);
        let (before, after) = (self.product(&sizes.before), self.product(&sizes.after));
        let results = self.int(Op::Mul, before, after);
        // Neighbours: all axes after those folded away, where they are one in every array.
        let (&last, middle) = match work.space.collapsed {
            true => (&after, &[][..]),
            false => sizes.after.split_last().unwrap_or((&after, &[])),
        };
        let (one, zero) = (self.r.b().i64(1), self.r.b().i64(0));
        let (run, width) = (self.r.b().i64(reduce::RUN as i64), self.r.b().i64(WIDTH));
        let item = self.r.b().i64(work.dtype.size() as i64);
        let runs = self.parts(n, run);
        let runs = self.int(Op::Max, runs, one);
        let tiles = self.parts(last, width);
        let (several, partial) = self.partial(out, runs, results)?;
        let outer: Vec<ValueId> = [runs].iter().chain(&sizes.before).chain(middle).copied().collect();
        let rows = self.product(&outer);
        let items = self.int(Op::Mul, rows, tiles);
        let identity = self.identity(fold, work.dtype);
        let mut tenths = 0;
        let region = self.item_region(|l, at| {
            let (row, tile) = l.split(at, tiles);
            let (left, count) = l.part_at(tile, width, last);
            let around = l.indices_of(row, &outer);
            let (before, middle) = around[1..].split_at(sizes.before.len());
            let to = l.int(Op::Mul, row, last);
            let to = l.int(Op::Add, to, left);
            let to = l.int(Op::Mul, to, item);
            let to = l.past(partial, to);
            l.independent(count, |l, k| {
                l.r.b().effect(Op::MemStore { unit: Unit::Element }, &[identity, to, k]);
                Ok(())
            })?;
            let (start, turns) = l.part_at(around[0], run, n);
            let indices = l.indices_of(start, &sizes.folded);
            l.in_order([zero, turns], &indices, |l, _, folded| {
                let flat = match work.space.collapsed {
                    true => {
                        let sizes = [&sizes.before[..], &sizes.folded].concat();
                        Some(l.position_flat(&[before, folded].concat(), &sizes))
                    }
                    false => None,
                };
                tenths = l.independent(count, |l, k| {
                    let at = l.int(Op::Add, left, k);
                    let indices = match flat {
                        Some(flat) => {
                            let row = l.int(Op::Mul, flat, last);
                            vec![l.int(Op::Add, row, at)]
                        }
                        None => before.iter().chain(folded).chain(middle).copied().chain([at]).collect(),
                    };
                    let v = l.computed(work, &indices)?;
                    let ty = Type::Num(work.dtype);
                    let mut b = l.r.b();
                    let so_far = b.value(Op::MemLoad { unit: Unit::Element }, &[to, k], ty);
                    let v = l.fold_two(fold, so_far, v);
                    l.r.b().effect(Op::MemStore { unit: Unit::Element }, &[v, to, k]);
                    Ok(())
                })?;
                Ok(l.next_index(folded, &sizes.folded))
            })?;
            Ok(())
        })?;
        let rows = self.int(Op::Min, n, run);
        let columns = self.int(Op::Min, last, width);
        let elements = self.int(Op::Mul, rows, columns);
        self.in_parallel(items, elements, tenths, region);
        let step = self.int(Op::Mul, results, item);
        let words = [partial, out.mem, runs, step, results, item, item];
        self.combine(several, Op::MemReduce { fold, order: Order::Pairs }, &words);
        Ok(())
    }
}
