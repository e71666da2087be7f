//! `nt.reduce` and `nt.fold` on a device → kernels, in the order of [`weft_ir::reduce`]: the bits are the host's.
//!
//! Along the fastest axis, a group takes a block of a line, or several short lines: its items are the accumulators of a row, and
//! fold by halves in local memory. The results of blocks are folded by further launches until one is left for each line. Along
//! other axes, an item folds a run of one result, whose neighbours are its own neighbours' results; the results of runs are folded
//! pairwise, [`FAN`] of them in a launch.
//!
//! What is folded has parts: the element, and for `argmin` and `argmax` its position. Those may be found in any order, as may
//! results of integers: a group has [`ITEMS`] items for them whatever their size.

use super::array::Array;
use super::fold::{Sizes, Work};
use super::{Lower, space_of};
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Const, Fold, Level, Unit};
use weft_ir::{DType, Op, RegionId, Type, ValueId, reduce};

/// Items of a group, where the order does not say how many.
const ITEMS: usize = 128;
/// Results of runs that an item folds: a power of two, so that they are a whole part of the tree.
const FAN: usize = 16;

/// Elements that are folded, by where they stand in the axes before those that are folded away, in these, and in those after.
pub(super) enum Elements<'a> {
    /// All neighbours, in row-major order; the second one has their positions if they are results of `argmin` or `argmax`.
    Flat(ValueId, Option<ValueId>),
    /// Of an array with strides of its own.
    Strided(&'a Array),
    /// Computed as they are folded.
    Computed(&'a Work<'a>),
}

/// What a kernel folds, and in how many lines.
struct Lines<'a> {
    elements: Elements<'a>,
    sizes: Sizes,
    n: ValueId,
    before: ValueId,
    after: ValueId,
}

impl Lower<'_> {
    /// A fold of all elements along the axes in the middle, in the order of the fastest axis or that of the others.
    pub(super) fn fold_on_device(
        &mut self,
        elements: Elements<'_>,
        sizes: Sizes,
        (fold, dtype): (Fold, DType),
        out: &Array,
        along: bool,
    ) -> Result<(), Diagnostic> {
        let [n, before, after] = [&sizes.folded, &sizes.before, &sizes.after].map(|sizes| self.product(sizes));
        let lines = Lines { elements, sizes, n, before, after };
        match along {
            true => self.lines_along(lines, fold, dtype, out),
            false => self.lines_across(&lines, fold, dtype, out),
        }
    }

    // ---- along the fastest axis ------------------------------------------------------------------

    fn lines_along(&mut self, lines: Lines<'_>, fold: Fold, dtype: DType, out: &Array) -> Result<(), Diagnostic> {
        let one = self.r.b().i64(1);
        let count = self.int(Op::Mul, lines.before, lines.after);
        let size = self.r.b().i64((width(fold, dtype) * reduce::ROWS) as i64);
        let blocks = self.parts(lines.n, size);
        let blocks = self.int(Op::Max, blocks, one);
        let several = self.r.b().value(Op::Cmp { is: CmpOp::Gt }, &[blocks, one], Type::BOOL);
        // For each part of what is folded: room for the results of blocks, and of these again.
        let (workspace, ()) = self.nested(|l| {
            let two = l.r.b().i64(2);
            let all = l.int(Op::Mul, count, blocks);
            let all = l.int(Op::Mul, all, two);
            let rooms: Vec<[ValueId; 2]> = parts(fold, dtype).iter().map(|&d| l.room(d, all)).collect();
            l.r.b().effect(Op::Yield, &rooms.concat());
            Ok(())
        })?;
        let (direct, ()) = self.nested(|l| {
            let all = parts(fold, dtype);
            let mut rooms = vec![];
            for (k, &d) in all.iter().enumerate() {
                // Of an element and its position, only the position is the result.
                let own = k + 1 == all.len();
                rooms.push(if own { [out.mem, out.owner] } else { l.room(d, count) });
            }
            l.r.b().effect(Op::Yield, &rooms.concat());
            Ok(())
        })?;
        let space = space_of(&self.place);
        let types: Vec<Type> = parts(fold, dtype).iter().flat_map(|&d| [Type::Mem(d, space), Type::Owner]).collect();
        let chosen = self.r.b().op(Op::ScfIf, &[several], &types, &[workspace, direct]);
        let rooms: Vec<ValueId> = self.r.dst.op(chosen).results.iter().copied().step_by(2).collect();
        self.blocks_of_lines(&lines, fold, dtype, &rooms, blocks)?;
        let (again, ()) = self.nested(|l| {
            l.fold_blocks(&rooms, [count, blocks, size], fold, dtype, out)?;
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        let (nothing, ()) = self.nested(|l| {
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.r.b().op(Op::ScfIf, &[several], &[], &[again, nothing]);
        Ok(())
    }

    /// Folds the results of blocks, which are themselves blocks, until there is one of each line.
    fn fold_blocks(
        &mut self,
        rooms: &[ValueId],
        [count, blocks, size]: [ValueId; 3],
        fold: Fold,
        dtype: DType,
        out: &Array,
    ) -> Result<(), Diagnostic> {
        let all = parts(fold, dtype);
        let (body, ()) = self.nested(|l| {
            let (from, n) = (l.r.b().arg(Type::I64), l.r.b().arg(Type::I64));
            let one = l.r.b().i64(1);
            let left = l.parts(n, size);
            let last = l.r.b().value(Op::Cmp { is: CmpOp::Le }, &[left, one], Type::BOOL);
            let some = l.int(Op::Mul, count, n);
            let to = l.int(Op::Add, from, some);
            let (mut sources, mut results) = (vec![], vec![]);
            for (k, (&d, &room)) in all.iter().zip(rooms).enumerate() {
                let [source, result] = [from, to].map(|at| l.element_past(room, d, at));
                sources.push(source);
                results.push(match k + 1 == all.len() {
                    true => {
                        let ty = l.r.dst.ty(room).clone();
                        l.r.b().value(Op::Select, &[last, out.mem, result], ty)
                    }
                    false => result,
                });
            }
            let elements = Elements::Flat(sources[0], sources.get(1).copied());
            let sizes = Sizes { before: vec![count], folded: vec![n], after: vec![], known: None };
            let lines = Lines { elements, sizes, n, before: count, after: one };
            l.blocks_of_lines(&lines, fold, dtype, &results, left)?;
            let (leaves, ()) = l.nested(|l| {
                l.r.b().effect(Op::Break { depth: 0 }, &[]);
                Ok(())
            })?;
            let (goes_on, ()) = l.nested(|l| {
                l.r.b().effect(Op::Yield, &[]);
                Ok(())
            })?;
            l.r.b().op(Op::ScfIf, &[last], &[], &[leaves, goes_on]);
            l.r.b().effect(Op::Yield, &[to, left]);
            Ok(())
        })?;
        let zero = self.r.b().i64(0);
        self.r.b().op(Op::ScfLoop, &[zero, blocks], &[], &[body]);
        Ok(())
    }

    /// The kernel: block `b` of line `l` goes to element `l * blocks + b` of the results.
    fn blocks_of_lines(
        &mut self,
        lines: &Lines<'_>,
        fold: Fold,
        dtype: DType,
        results: &[ValueId],
        blocks: ValueId,
    ) -> Result<(), Diagnostic> {
        let items = width(fold, dtype);
        let all = parts(fold, dtype);
        let unit = Unit::Element;
        let count = self.int(Op::Mul, lines.before, lines.after);
        // Short lines need fewer accumulators: others would hold what changes nothing. A power of two of them is one line's.
        let mut row = self.r.b().i64(1);
        let mut half = 1;
        while half < items {
            let mut b = self.r.b();
            let (own, twice) = (b.i64(half as i64), b.i64(2 * half as i64));
            let more = b.value(Op::Cmp { is: CmpOp::Gt }, &[lines.n, own], Type::BOOL);
            row = b.value(Op::Select, &[more, twice, row], Type::I64);
            half *= 2;
        }
        let (items_n, size) = (self.r.b().i64(items as i64), self.r.b().i64((items * reduce::ROWS) as i64));
        let together = self.int(Op::FloorDiv, items_n, row);
        let tiles = self.parts(count, together);
        let (region, ()) = self.nested(|l| {
            let (tile, block) = (l.r.b().arg(Type::I64), l.r.b().arg(Type::I64));
            let first_line = l.int(Op::Mul, tile, together);
            let start = l.int(Op::Mul, block, size);
            let end = l.int(Op::Add, start, size);
            let end = l.int(Op::Min, end, lines.n);
            // Whole rows, in which all accumulators get an element, and a part of one.
            let all_of_it = l.int(Op::Sub, end, start);
            let (rows, rest) = l.split(all_of_it, row);
            let whole = l.int(Op::Sub, all_of_it, rest);
            let shared: Vec<ValueId> = all.iter().map(|&d| l.local(d, items)).collect();
            l.group(items_n, |l, item| {
                // By a constant: `item / row`, as both are powers of two.
                let scaled = l.int(Op::Mul, item, together);
                let line = l.int(Op::FloorDiv, scaled, items_n);
                let skipped = l.int(Op::Mul, line, row);
                let lane = l.int(Op::Sub, item, skipped);
                // What stands for lines past the last one is not stored.
                let (zero, one) = (l.r.b().i64(0), l.r.b().i64(1));
                let line = l.int(Op::Add, first_line, line);
                let last = l.int(Op::Sub, count, one);
                let line = l.int(Op::Min, line, last);
                let (before, after) = l.split(line, lines.after);
                let spot = l.spot(lines, before, after);
                let first = l.int(Op::Add, start, lane);
                let identity = l.neutral(fold, dtype);
                let sums = l.turns([zero, rows, one], &identity, |l, turn, so_far| {
                    let skipped = l.int(Op::Mul, turn, row);
                    let at = l.int(Op::Add, first, skipped);
                    let new = l.fetch(lines, &spot, at, fold)?;
                    Ok(l.combine_parts(fold, so_far, &new))
                })?;
                let behind = l.int(Op::Add, start, whole);
                let sums = l.turns([lane, rest, row], &sums, |l, lane, so_far| {
                    let at = l.int(Op::Add, behind, lane);
                    let new = l.fetch(lines, &spot, at, fold)?;
                    Ok(l.combine_parts(fold, so_far, &new))
                })?;
                for (&v, &mem) in sums.iter().zip(&shared) {
                    l.r.b().effect(Op::MemStore { unit }, &[v, mem, item]);
                }
                Ok(())
            })?;
            let mut half = items / 2;
            while half > 0 {
                let width = l.r.b().i64(half as i64);
                let wide = l.r.b().value(Op::Cmp { is: CmpOp::Gt }, &[row, width], Type::BOOL);
                let (folds, ()) = l.nested(|l| {
                    let some = l.int(Op::Mul, together, width);
                    l.group(some, |l, item| {
                        let (line, lane) = l.split(item, width);
                        let line = l.int(Op::Mul, line, row);
                        let at = l.int(Op::Add, line, lane);
                        let other = l.int(Op::Add, at, width);
                        let [a, b] = [at, other].map(|at| l.load_parts(&shared, &all, at));
                        let sums = l.combine_parts(fold, &a, &b);
                        for (&v, &mem) in sums.iter().zip(&shared) {
                            l.r.b().effect(Op::MemStore { unit }, &[v, mem, at]);
                        }
                        Ok(())
                    })?;
                    l.r.b().effect(Op::Yield, &[]);
                    Ok(())
                })?;
                let (nothing, ()) = l.nested(|l| {
                    l.r.b().effect(Op::Yield, &[]);
                    Ok(())
                })?;
                l.r.b().op(Op::ScfIf, &[wide], &[], &[folds, nothing]);
                half /= 2;
            }
            let left = l.int(Op::Sub, count, first_line);
            let some = l.int(Op::Min, left, together);
            l.group(some, |l, item| {
                let from = l.int(Op::Mul, item, row);
                let sums = l.load_parts(&shared, &all, from);
                let line = l.int(Op::Add, first_line, item);
                let to = l.int(Op::Mul, line, blocks);
                let to = l.int(Op::Add, to, block);
                for (&v, &mem) in sums.iter().zip(results) {
                    l.r.b().effect(Op::MemStore { unit }, &[v, mem, to]);
                }
                Ok(())
            })?;
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.at_place(Op::ParFor { cost: 1, level: Level::Grid(items as u32) }, &[tiles, blocks], region);
        Ok(())
    }

    // ---- along other axes ------------------------------------------------------------------------

    fn lines_across(&mut self, lines: &Lines<'_>, fold: Fold, dtype: DType, out: &Array) -> Result<(), Diagnostic> {
        let one = self.r.b().i64(1);
        let unit = Unit::Element;
        let position = matches!(fold, Fold::ArgMin | Fold::ArgMax);
        let run = match position {
            // An element and its position have one result.
            true => self.int(Op::Max, lines.n, one),
            false => self.r.b().i64(reduce::RUN as i64),
        };
        let runs = self.parts(lines.n, run);
        let runs = self.int(Op::Max, runs, one);
        let count = self.int(Op::Mul, lines.before, lines.after);
        let (several, partial) = self.partial(out, runs, count)?;
        let rows = self.int(Op::Mul, runs, lines.before);
        let (region, ()) = self.nested(|l| {
            let (row, after) = (l.r.b().arg(Type::I64), l.r.b().arg(Type::I64));
            let (at_run, before) = l.split(row, lines.before);
            let spot = l.spot(lines, before, after);
            let (start, turns) = l.part_at(at_run, run, lines.n);
            let (end, one) = (l.int(Op::Add, start, turns), l.r.b().i64(1));
            let identity = l.neutral(fold, dtype);
            let sums = l.turns([start, end, one], &identity, |l, at, so_far| {
                let new = l.fetch(lines, &spot, at, fold)?;
                Ok(l.combine_parts(fold, so_far, &new))
            })?;
            let to = l.int(Op::Mul, row, lines.after);
            let to = l.int(Op::Add, to, after);
            l.r.b().effect(Op::MemStore { unit }, &[sums[sums.len() - 1], partial, to]);
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.items(&[rows, lines.after], region);
        if position {
            return Ok(());
        }
        let (pairs, ()) = self.nested(|l| {
            l.fold_runs(partial, [count, runs], fold, dtype, out)?;
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        let (nothing, ()) = self.nested(|l| {
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.r.b().op(Op::ScfIf, &[several], &[], &[pairs, nothing]);
        Ok(())
    }

    /// Folds the results of runs pairwise until one is left.
    fn fold_runs(
        &mut self,
        partial: ValueId,
        [count, runs]: [ValueId; 2],
        fold: Fold,
        dtype: DType,
        out: &Array,
    ) -> Result<(), Diagnostic> {
        let unit = Unit::Element;
        let fan = self.r.b().i64(FAN as i64);
        let first = self.parts(runs, fan);
        let all = self.int(Op::Mul, first, count);
        let two = self.r.b().i64(2);
        let all = self.int(Op::Mul, all, two);
        let [workspace, _] = self.room(dtype, all);
        let ty = self.r.dst.ty(partial).clone();
        // What was there, so many of it, where the next go.
        let (body, ()) = self.nested(|l| {
            let (from, n, at) = (l.r.b().arg(ty.clone()), l.r.b().arg(Type::I64), l.r.b().arg(Type::I64));
            let one = l.r.b().i64(1);
            let left = l.parts(n, fan);
            let last = l.r.b().value(Op::Cmp { is: CmpOp::Le }, &[left, one], Type::BOOL);
            let next = l.element_past(workspace, dtype, at);
            let to = l.r.b().value(Op::Select, &[last, out.mem, next], ty.clone());
            let (region, ()) = l.nested(|l| {
                let (group, result) = (l.r.b().arg(Type::I64), l.r.b().arg(Type::I64));
                let (one, first) = (l.r.b().i64(1), l.int(Op::Mul, group, fan));
                let end = l.int(Op::Sub, n, one);
                let identity = l.neutral(fold, dtype)[0];
                let mut values = vec![];
                for k in 0..FAN {
                    let k = l.r.b().i64(k as i64);
                    let wanted = l.int(Op::Add, first, k);
                    let there = l.int(Op::Min, wanted, end);
                    let line = l.int(Op::Mul, there, count);
                    let at = l.int(Op::Add, line, result);
                    let mut b = l.r.b();
                    let v = b.value(Op::MemLoad { unit }, &[from, at], Type::Num(dtype));
                    let is = b.value(Op::Cmp { is: CmpOp::Eq }, &[wanted, there], Type::BOOL);
                    values.push(b.value(Op::Select, &[is, v, identity], Type::Num(dtype)));
                }
                while values.len() > 1 {
                    let pairs = values.chunks(2).map(|pair| l.combine_parts(fold, &pair[..1], &pair[1..])[0]);
                    values = pairs.collect();
                }
                let line = l.int(Op::Mul, group, count);
                let at = l.int(Op::Add, line, result);
                l.r.b().effect(Op::MemStore { unit }, &[values[0], to, at]);
                l.r.b().effect(Op::Yield, &[]);
                Ok(())
            })?;
            l.items(&[left, count], region);
            let (leaves, ()) = l.nested(|l| {
                l.r.b().effect(Op::Break { depth: 0 }, &[]);
                Ok(())
            })?;
            let (goes_on, ()) = l.nested(|l| {
                l.r.b().effect(Op::Yield, &[]);
                Ok(())
            })?;
            l.r.b().op(Op::ScfIf, &[last], &[], &[leaves, goes_on]);
            let some = l.int(Op::Mul, left, count);
            let after = l.int(Op::Add, at, some);
            l.r.b().effect(Op::Yield, &[next, left, after]);
            Ok(())
        })?;
        let zero = self.r.b().i64(0);
        self.r.b().op(Op::ScfLoop, &[partial, runs, zero], &[], &[body]);
        Ok(())
    }

    // ---- elements and what is folded of them -----------------------------------------------------

    /// Where a line is: its place before and after the axes that are folded away, and the indices of all these axes.
    fn spot(&mut self, lines: &Lines<'_>, before: ValueId, after: ValueId) -> Spot {
        let flat = match lines.elements {
            Elements::Flat(..) => true,
            Elements::Computed(work) => work.is_flat(),
            Elements::Strided(_) => false,
        };
        let mut indices = |at: ValueId, sizes: &[ValueId]| match flat || sizes.is_empty() {
            true => vec![],
            false => self.indices_of(at, sizes),
        };
        let around = [indices(before, &lines.sizes.before), indices(after, &lines.sizes.after)];
        Spot { before, after, around, flat }
    }

    /// The parts of the element at a place of a line.
    fn fetch(&mut self, lines: &Lines<'_>, spot: &Spot, at: ValueId, fold: Fold) -> Result<Vec<ValueId>, Diagnostic> {
        let indices = match spot.flat {
            true => {
                let line = self.int(Op::Mul, spot.before, lines.n);
                let place = self.int(Op::Add, line, at);
                let place = self.int(Op::Mul, place, lines.after);
                vec![self.int(Op::Add, place, spot.after)]
            }
            false => {
                let folded = self.indices_of(at, &lines.sizes.folded);
                [&spot.around[0][..], &folded, &spot.around[1]].concat()
            }
        };
        let unit = Unit::Element;
        let element = match &lines.elements {
            &Elements::Flat(mem, positions) => {
                let Type::Mem(d, _) = *self.r.dst.ty(mem) else {
                    return Err(Diagnostic::internal(self.r.span, "elements of no memory"));
                };
                let element = self.r.b().value(Op::MemLoad { unit }, &[mem, indices[0]], Type::Num(d));
                if let Some(positions) = positions {
                    let position = self.r.b().value(Op::MemLoad { unit }, &[positions, indices[0]], Type::I64);
                    return Ok(vec![element, position]);
                }
                element
            }
            Elements::Strided(a) => {
                let wide = (0..a.ty.rank()).filter(|&k| a.ty.dims[k] != weft_ir::Dim::Const(1));
                let zero = self.r.b().i64(0);
                let mut all = vec![zero; a.ty.rank()];
                wide.zip(&indices).for_each(|(k, &i)| all[k] = i);
                let (at, unit) = self.offset(a, &all);
                self.r.b().value(Op::MemLoad { unit }, &[a.mem, at], Type::Num(a.ty.dtype))
            }
            Elements::Computed(work) => self.computed(work, &indices)?,
        };
        Ok(match fold {
            Fold::ArgMin | Fold::ArgMax => vec![element, at],
            _ => vec![element],
        })
    }

    fn load_parts(&mut self, memory: &[ValueId], dtypes: &[DType], at: ValueId) -> Vec<ValueId> {
        let unit = Unit::Element;
        let all = memory.iter().zip(dtypes);
        all.map(|(&mem, &d)| self.r.b().value(Op::MemLoad { unit }, &[mem, at], Type::Num(d))).collect()
    }

    /// What changes nothing. A position is -1 where there is none.
    fn neutral(&mut self, fold: Fold, dtype: DType) -> Vec<ValueId> {
        match fold {
            Fold::ArgMin | Fold::ArgMax => {
                let zero = if dtype == DType::Bool { Const::Bool(false) } else { Const::Int(0) };
                let mut b = self.r.b();
                vec![b.constant(zero, Type::Num(dtype)), b.i64(-1)]
            }
            _ => vec![self.identity(fold, dtype)],
        }
    }

    fn combine_parts(&mut self, fold: Fold, a: &[ValueId], b: &[ValueId]) -> Vec<ValueId> {
        let ty = self.r.dst.ty(a[0]).clone();
        let is = match fold {
            Fold::ArgMin => CmpOp::Lt,
            Fold::ArgMax => CmpOp::Gt,
            _ => return vec![self.fold_two(fold, a[0], b[0])],
        };
        // What is not a number is the least and the largest; of equals the first.
        let mut at = self.r.b();
        let zero = at.i64(0);
        let mut test = |op: Op, a: ValueId, b: ValueId| at.value(op, &[a, b], Type::BOOL);
        let compare = |is| Op::Cmp { is };
        let (a_is_no_number, b_is_no_number) =
            (test(compare(CmpOp::Ne), a[0], a[0]), test(compare(CmpOp::Ne), b[0], b[0]));
        let better = test(compare(is), b[0], a[0]);
        let better = test(Op::Or, better, b_is_no_number);
        let equal = test(compare(CmpOp::Eq), a[0], b[0]);
        let neither = test(Op::And, a_is_no_number, b_is_no_number);
        let same = test(Op::Or, equal, neither);
        let earlier = test(compare(CmpOp::Lt), b[1], a[1]);
        let first = test(Op::And, same, earlier);
        let number = test(compare(CmpOp::Eq), a[0], a[0]);
        let better = test(Op::And, better, number);
        let takes = test(Op::Or, better, first);
        let (there, none) = (test(compare(CmpOp::Ge), b[1], zero), test(compare(CmpOp::Lt), a[1], zero));
        let takes = test(Op::Or, takes, none);
        let takes = test(Op::And, takes, there);
        [(a[0], b[0], ty), (a[1], b[1], Type::I64)]
            .map(|(a, b, ty)| self.r.b().value(Op::Select, &[takes, b, a], ty))
            .to_vec()
    }

    // ---- kernels ---------------------------------------------------------------------------------

    /// Memory for so many elements where the ops at the cursor run: pointer and owner.
    pub(super) fn room(&mut self, dtype: DType, count: ValueId) -> [ValueId; 2] {
        let at = self.place.clone();
        let mut b = self.r.b();
        let item = b.i64(dtype.size() as i64);
        let bytes = b.value(Op::Mul, &[count, item], Type::I64);
        let types = [Type::Mem(dtype, space_of(&at)), Type::Owner];
        let op = b.op(Op::MemAlloc { at }, &[bytes], &types, &[]);
        let made = &b.func.op(op).results;
        [made[0], made[1]]
    }

    fn element_past(&mut self, mem: ValueId, dtype: DType, at: ValueId) -> ValueId {
        let item = self.r.b().i64(dtype.size() as i64);
        let bytes = self.int(Op::Mul, at, item);
        self.past(mem, bytes)
    }

    /// Memory of the group for so many elements.
    pub(super) fn local(&mut self, dtype: DType, count: usize) -> ValueId {
        let bytes = (count * dtype.size()) as u32;
        self.r.b().value(Op::MemLocal { bytes }, &[], Type::Mem(dtype, weft_ir::Space::Local))
    }

    /// The items of a group.
    pub(super) fn group(
        &mut self,
        count: ValueId,
        body: impl FnOnce(&mut Self, ValueId) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let region: RegionId = self.item_region(body)?;
        self.r.b().op(Op::ParFor { cost: 1, level: Level::Group }, &[count], &[], &[region]);
        Ok(())
    }

    /// A loop in order from, to and by these, which carries values.
    pub(super) fn turns(
        &mut self,
        bounds: [ValueId; 3],
        carried: &[ValueId],
        body: impl FnOnce(&mut Self, ValueId, &[ValueId]) -> Result<Vec<ValueId>, Diagnostic>,
    ) -> Result<Vec<ValueId>, Diagnostic> {
        let types: Vec<Type> = carried.iter().map(|&v| self.r.dst.ty(v).clone()).collect();
        let (region, ()) = self.nested(|l| {
            let at = l.r.b().arg(Type::I64);
            let values: Vec<ValueId> = types.iter().map(|ty| l.r.b().arg(ty.clone())).collect();
            let next = body(l, at, &values)?;
            l.r.b().effect(Op::Yield, &next);
            Ok(())
        })?;
        let operands: Vec<ValueId> = bounds.into_iter().chain(carried.iter().copied()).collect();
        let id = self.r.b().op(Op::ScfFor, &operands, &types, &[region]);
        Ok(self.r.dst.op(id).results.to_vec())
    }
}

/// Where a line is.
struct Spot {
    before: ValueId,
    after: ValueId,
    /// Indices of the axes before and after those that are folded away.
    around: [Vec<ValueId>; 2],
    /// One position says where an element is.
    flat: bool,
}

/// Items of a group: accumulators of a row, where the order counts.
fn width(fold: Fold, dtype: DType) -> usize {
    let ordered = dtype.is_float() && !matches!(fold, Fold::ArgMin | Fold::ArgMax);
    if ordered { reduce::lanes(dtype.size()) } else { ITEMS }
}

/// What is folded: elements, and maybe their positions.
fn parts(fold: Fold, dtype: DType) -> Vec<DType> {
    match fold {
        Fold::ArgMin | Fold::ArgMax => vec![dtype, DType::I64],
        _ => vec![dtype],
    }
}
