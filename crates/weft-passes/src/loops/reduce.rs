//! `nt.reduce` → calls of the one routine that reduces, in parallel where there is much to do.
//!
//! Of one line, blocks are reduced by themselves and their results together: the order of `weft_ir::reduce`, so that it does
//! not matter how many threads there are. Of many lines, tiles of lines. On a device it is kernels (`fold_device`).

use super::Lower;
use super::array::Array;
use super::fold::Sizes;
use super::fold_device::Elements;
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Const, Fold, Order};
use weft_ir::{Dim, Layout, Op, OpId, Type, ValueId, reduce};

/// Most lines that one item of a parallel loop reduces, and the elements for which it takes fewer.
const TILE: i64 = 64;
const MANY: i64 = 1 << 14;
/// Of lines that lie beside each other, so that all are read row by row: lines and rows that one item reduces.
const COLUMNS: i64 = 256;
const ROWS: i64 = 8 * reduce::RUN as i64;
/// Blocks from which on a line is reduced in parallel.
const FEW: i64 = 8;
/// Estimated tenths of a nanosecond of an element.
const COST: u64 = 2;

/// Reductions of `n` elements each: all those along one axis, and of each of them as many as the axes outside have positions.
/// Steps are in bytes.
struct Lines {
    n: ValueId,
    stride: ValueId,
    /// How many, and from one to the next; `None` if there is but one reduction.
    inner: Option<(ValueId, ValueId)>,
    outer: Vec<(ValueId, ValueId)>,
}

impl Lower<'_> {
    /// The op.
    pub fn reduce(&mut self, id: OpId, fold: Fold, axes: &[u32], order: Order) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let a = self.array(data.operands[0]).clone();
        let result = self.r.src.ty(data.results[0]).as_tensor().cloned();
        let ([first, .., last] | [first @ last], Some(ty)) = (axes, result) else {
            return Err(Diagnostic::internal(data.span, "a reduction of no axis"));
        };
        let neighbours = match a.ty.layout {
            Layout::C => *last as usize + 1 == a.ty.rank(),
            Layout::F => *first == 0,
            _ => a.ty.rank() == 1,
        };
        let by_position = matches!(fold, Fold::ArgMin | Fold::ArgMax);
        let plain = !by_position && (fold == Fold::Sum || !a.ty.dtype.is_complex());
        if order == Order::Tree && !neighbours && plain {
            if a.ty.layout == Layout::F && a.ty.rank() == 2 {
                // The columns of a matrix in Fortran order are the rows of its transpose.
                let mut turned = a.clone();
                turned.ty.dims.reverse();
                turned.ty.layout = Layout::C;
                turned.sizes.reverse();
                turned.strides.reverse();
                return self.fold_stored(id, &turned, fold, &[0]);
            }
            return self.fold_stored(id, &a, fold, axes);
        }
        let out = self.alloc(&ty, &self.place.clone());
        if !self.place.is_host() {
            self.reduce_on_device(&a, &out, fold, *first as usize, *last as usize)?;
            self.arrays.insert(data.results[0], out);
            return Ok(());
        }
        let lines = self.lines(&a, *first as usize, *last as usize);
        match lines.inner {
            None => self.reduce_line(&a, &out, fold, &lines)?,
            Some(inner) => self.reduce_lines(&a, &out, (fold, order), &lines, inner)?,
        }
        self.arrays.insert(data.results[0], out);
        Ok(())
    }

    /// The op on a device. Which order it is, depends on the strides, as it does on the host.
    fn reduce_on_device(
        &mut self,
        a: &Array,
        out: &Array,
        fold: Fold,
        first: usize,
        last: usize,
    ) -> Result<(), Diagnostic> {
        let wide = |range: std::ops::Range<usize>| -> Vec<ValueId> {
            range.filter(|&k| a.ty.dims[k] != Dim::Const(1)).map(|k| a.sizes[k]).collect()
        };
        let sizes = || Sizes {
            before: wide(0..first),
            folded: wide(first..last + 1),
            after: wide(last + 1..a.ty.rank()),
            known: None,
        };
        let of = (fold, a.ty.dtype);
        if a.ty.layout == Layout::C {
            let along = sizes().after.is_empty();
            return self.fold_on_device(Elements::Flat(a.mem, None), sizes(), of, out, along);
        }
        let lines = self.lines(a, first, last);
        let Some((_, in_step)) = lines.inner else {
            return self.fold_on_device(Elements::Strided(a), sizes(), of, out, true);
        };
        let across = self.is_across(&lines, in_step);
        let [row_by_row, line_by_line] = [false, true].map(|along| {
            self.nested(|l| {
                l.fold_on_device(Elements::Strided(a), sizes(), of, out, along)?;
                l.r.b().effect(Op::Yield, &[]);
                Ok(())
            })
        });
        self.r.b().op(Op::ScfIf, &[across], &[], &[row_by_row?.0, line_by_line?.0]);
        Ok(())
    }

    /// Axes `first..=last` of an array as lines. Those of a C-ordered one are one axis, as are all before and all after them.
    fn lines(&mut self, a: &Array, first: usize, last: usize) -> Lines {
        let wide = |k: &usize| a.ty.dims[*k] != Dim::Const(1);
        if a.ty.layout != Layout::C {
            let mut kept: Vec<_> = (0..a.ty.rank()).filter(|k| *k != first && wide(k)).collect();
            let inner = kept.pop().map(|k| (a.sizes[k], a.strides[k]));
            let outer = kept.into_iter().map(|k| (a.sizes[k], a.strides[k])).collect();
            return Lines { n: a.sizes[first], stride: a.strides[first], inner, outer };
        }
        let sizes = |range: std::ops::Range<usize>| range.filter(wide).map(|k| a.sizes[k]).collect::<Vec<_>>();
        let (before, folded, after) = (sizes(0..first), sizes(first..last + 1), sizes(last + 1..a.ty.rank()));
        let (some_before, some_after) = (!before.is_empty(), !after.is_empty());
        let (before, n, after) = (self.product(&before), self.product(&folded), self.product(&after));
        let item = self.r.b().i64(a.ty.dtype.size() as i64);
        let stride = self.int(Op::Mul, after, item);
        let whole = self.int(Op::Mul, n, stride);
        match (some_before, some_after) {
            (false, false) => Lines { n, stride, inner: None, outer: vec![] },
            (true, false) => Lines { n, stride, inner: Some((before, whole)), outer: vec![] },
            (false, true) => Lines { n, stride, inner: Some((after, item)), outer: vec![] },
            (true, true) => Lines { n, stride, inner: Some((after, item)), outer: vec![(before, whole)] },
        }
    }

    /// One reduction.
    fn reduce_line(&mut self, a: &Array, out: &Array, fold: Fold, lines: &Lines) -> Result<(), Diagnostic> {
        let (n, stride) = (lines.n, lines.stride);
        let whole = |l: &mut Self, from: ValueId, n: ValueId, stride: ValueId| {
            let mut b = l.r.b();
            let (one, zero) = (b.i64(1), b.i64(0));
            b.effect(Op::MemReduce { fold, order: Order::Auto }, &[from, out.mem, n, stride, one, zero, zero]);
        };
        if matches!(fold, Fold::ArgMin | Fold::ArgMax) {
            whole(self, a.mem, n, stride);
            return Ok(());
        }
        let item = a.ty.dtype.size();
        let size = reduce::block(item) as i64;
        let few = self.r.b().i64(FEW * size);
        let short = self.r.b().value(Op::Cmp { is: CmpOp::Le }, &[n, few], Type::BOOL);
        let (directly, ()) = self.nested(|l| {
            whole(l, a.mem, n, stride);
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        let (in_blocks, ()) = self.nested(|l| {
            let (size, item) = (l.r.b().i64(size), l.r.b().i64(item as i64));
            let blocks = l.parts(n, size);
            let [scratch, _] = l.scratch(a, blocks);
            let region = l.item_region(|l, block| {
                let (start, count) = l.part_at(block, size, n);
                let from = l.int(Op::Mul, start, stride);
                let from = l.past(a.mem, from);
                let to = l.int(Op::Mul, block, item);
                let to = l.past(scratch, to);
                let mut b = l.r.b();
                let (one, zero) = (b.i64(1), b.i64(0));
                b.effect(Op::MemReduce { fold, order: Order::Auto }, &[from, to, count, stride, one, zero, zero]);
                Ok(())
            })?;
            l.in_parallel(blocks, size, COST, region);
            whole(l, scratch, blocks, item);
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.r.b().op(Op::ScfIf, &[short], &[], &[directly, in_blocks]);
        Ok(())
    }

    /// Many reductions, `m` of them `in_step` bytes apart from each other.
    fn reduce_lines(
        &mut self,
        a: &Array,
        out: &Array,
        (fold, order): (Fold, Order),
        lines: &Lines,
        (m, in_step): (ValueId, ValueId),
    ) -> Result<(), Diagnostic> {
        let n = lines.n;
        let (one, most, many) = (self.r.b().i64(1), self.r.b().i64(TILE), self.r.b().i64(MANY));
        let some = self.int(Op::FloorDiv, many, n);
        let tile = self.int(Op::Max, some, one);
        let tile = self.int(Op::Min, tile, most);
        let across = match order {
            Order::Tree => self.r.b().constant(Const::Bool(false), Type::BOOL),
            _ => self.is_across(lines, in_step),
        };
        let all = self.int(Op::Max, n, one);
        let columns = self.r.b().i64(COLUMNS);
        let tile = self.r.b().value(Op::Select, &[across, columns, tile], Type::I64);
        // The order is that of pairs of runs: blocks of a power of two of runs are parts of it.
        let rows = match fold {
            Fold::ArgMin | Fold::ArgMax => all,
            _ => {
                let rows = self.r.b().i64(ROWS);
                self.r.b().value(Op::Select, &[across, rows, all], Type::I64)
            }
        };
        let (tiles, blocks) = (self.parts(m, tile), self.parts(all, rows));
        let sizes: Vec<ValueId> = [blocks].into_iter().chain(lines.outer.iter().map(|o| o.0)).collect();
        let outside = self.product(&sizes);
        let items = self.int(Op::Mul, outside, tiles);
        let results = self.product(&sizes[1..]);
        let results = self.int(Op::Mul, results, m);
        let (several, partial) = self.partial(out, blocks, results)?;
        let item = self.r.b().i64(out.ty.dtype.size() as i64);
        let region = self.item_region(|l, at| {
            let (outside, tile_at) = l.split(at, tiles);
            let (left, count) = l.part_at(tile_at, tile, m);
            let around = l.indices_of(outside, &sizes);
            let (top, turns) = l.part_at(around[0], rows, n);
            let steps = [lines.stride].into_iter().chain(lines.outer.iter().map(|o| o.1));
            let mut from = l.int(Op::Mul, left, in_step);
            for (i, step) in [top].iter().chain(&around[1..]).zip(steps) {
                let step = l.int(Op::Mul, *i, step);
                from = l.int(Op::Add, from, step);
            }
            let to = l.int(Op::Mul, outside, m);
            let to = l.int(Op::Add, to, left);
            let to = l.int(Op::Mul, to, item);
            let (from, to) = (l.past(a.mem, from), l.past(partial, to));
            let words = [from, to, turns, lines.stride, count, in_step, item];
            l.r.b().effect(Op::MemReduce { fold, order }, &words);
            Ok(())
        })?;
        let (height, width) = (self.int(Op::Min, n, rows), self.int(Op::Min, m, tile));
        let elements = self.int(Op::Mul, height, width);
        self.in_parallel(items, elements, COST, region);
        let step = self.int(Op::Mul, results, item);
        let words = [partial, out.mem, blocks, step, results, item, item];
        self.combine(several, Op::MemReduce { fold, order: Order::Pairs }, &words);
        Ok(())
    }

    /// Whether the routine that reduces goes over lines row by row: their elements are further apart than the lines.
    fn is_across(&mut self, lines: &Lines, in_step: ValueId) -> ValueId {
        let mut b = self.r.b();
        let zero = b.i64(0);
        let [stride, beside] = [lines.stride, in_step].map(|v| b.value(Op::Abs, &[v], Type::I64));
        let further = b.value(Op::Cmp { is: CmpOp::Ge }, &[stride, beside], Type::BOOL);
        let apart = b.value(Op::Cmp { is: CmpOp::Ne }, &[beside, zero], Type::BOOL);
        b.value(Op::And, &[further, apart], Type::BOOL)
    }
}
