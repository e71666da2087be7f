//! `nt.fold` → loops that compute elements and fold them at once, in the order of `weft_ir::reduce`.
//!
//! Along the last axes, a block of elements is computed into memory of its own, which stays in the nearest cache, and the
//! routine that reduces takes it from there. Along others, the elements of a run are folded one row after the other into
//! the results, which are neighbours and so vectors. On a device, both are kernels (`fold_device`).

use super::array::Array;
use super::elementwise::Space;
use super::fold_device::Elements;
use super::{Lower, cost};
use weft_diag::Diagnostic;
use weft_ir::attr::{BinOp, CmpOp, Const, Fold, Level, Unit};
use weft_ir::{DType, Dim, Layout, Op, OpId, RegionId, Space as Memory, TensorType, Type, ValueId, reduce};

/// Most neighbouring results that are folded at a time: they stay in the nearest cache.
const WIDTH: i64 = 512;

/// What is folded: an elementwise op over its space.
pub(super) struct Work<'a> {
    op: OpId,
    space: &'a Space,
    inputs: &'a [Option<Array>],
    dtype: DType,
    /// The bool that each element is, if what is folded is how many are true.
    truth: Option<ValueId>,
}

impl Work<'_> {
    /// Whether an element is found by its position among all.
    pub(super) fn is_flat(&self) -> bool {
        self.space.collapsed
    }
}

/// Bools that are counted at a time.
const COUNTED: i64 = 16 << 10;

/// The sizes of the axes before those that are folded away, of these, and of those after; axes of size 1 left out.
pub(super) struct Sizes {
    pub before: Vec<ValueId>,
    pub folded: Vec<ValueId>,
    pub after: Vec<ValueId>,
}

impl Lower<'_> {
    /// The op.
    pub fn fold(&mut self, id: OpId, fold: Fold, axes: &[u32]) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let result = self.r.src.ty(data.results[0]).as_tensor().cloned();
        let work = self.r.src.region(data.regions[0]).ops[0];
        let from = self.r.src.ty(self.r.src.op(work).results[0]).as_tensor().cloned();
        let (Some(result), Some(from)) = (result, from) else {
            return Err(Diagnostic::internal(data.span, "a fold of no array"));
        };
        let inputs: Vec<Option<Array>> =
            self.r.src.op(work).operands.iter().map(|v| self.arrays.get(v).cloned()).collect();
        let arrays: Vec<&Array> = inputs.iter().flatten().collect();
        let mut space = self.space(work, &from.dims, &arrays);
        // Elements are folded in C order.
        space.collapsed &= arrays.iter().all(|a| a.ty.layout == Layout::C);
        self.count_bytes(&from);
        let out = self.alloc(&result, &self.place.clone());
        let mut sizes = |wanted: &dyn Fn(u32) -> bool| -> Vec<ValueId> {
            let axes = from.dims.iter().enumerate().filter(|(k, d)| wanted(*k as u32) && **d != Dim::Const(1));
            axes.map(|(_, d)| self.size(*d)).collect()
        };
        let (first, last) = (axes[0], axes[axes.len() - 1]);
        let sizes = Sizes {
            before: sizes(&|k| k < first),
            folded: sizes(&|k| (first..=last).contains(&k)),
            after: sizes(&|k| k > last),
        };
        let on_host = self.place.is_host();
        let truth = self
            .truth(work, fold, &from)
            .filter(|_| on_host)
            .filter(|_| sizes.before.is_empty() && sizes.after.is_empty());
        let work = Work { op: work, space: &space, inputs: &inputs, dtype: from.dtype, truth };
        match sizes.after.is_empty() {
            along if !on_host => {
                self.fold_on_device(Elements::Computed(&work), sizes, (fold, from.dtype), &out, along)?;
            }
            true => self.fold_along(&work, &sizes, fold, &out)?,
            false => self.fold_across(&work, &sizes, fold, &out)?,
        }
        self.arrays.insert(data.results[0], out);
        Ok(())
    }

    /// The bool whose number an element is, if they are summed: `(x > 0).sum()`.
    fn truth(&self, work: OpId, fold: Fold, from: &TensorType) -> Option<ValueId> {
        let f = self.r.src;
        let ops = &f.region(f.op(work).regions[0]).ops;
        let yielded = f.op(*ops.last()?).operands[0];
        let cast = ops.iter().map(|&op| f.op(op)).find(|o| o.op == Op::Cast && o.results[0] == yielded)?;
        let truth = cast.operands[0];
        (fold == Fold::Sum && from.dtype == DType::I64 && *f.ty(truth) == Type::BOOL).then_some(truth)
    }

    /// Raises where the array would be too big to be stored: its elements could not be counted.
    fn count_bytes(&mut self, ty: &TensorType) {
        let mut bytes = self.r.b().i64(ty.dtype.size() as i64);
        for &d in ty.dims.iter().filter(|d| **d != Dim::Const(1)) {
            let (multiply, size) = (Op::Checked { op: BinOp::Mul, site: self.too_big }, self.size(d));
            bytes = self.int(multiply, bytes, size);
        }
    }

    /// One element, at an index of each wide axis.
    pub(super) fn computed(&mut self, work: &Work<'_>, indices: &[ValueId]) -> Result<ValueId, Diagnostic> {
        let (_, yields) = self.values_at(work.op, work.space, work.inputs, indices)?;
        match work.truth {
            Some(truth) => Ok(self.element(truth, DType::Bool)),
            None => Ok(self.element(yields[0], work.dtype)),
        }
    }

    /// A loop whose turns are independent, and the tenths of a nanosecond of one.
    fn independent(
        &mut self,
        count: ValueId,
        body: impl FnOnce(&mut Self, ValueId) -> Result<(), Diagnostic>,
    ) -> Result<u64, Diagnostic> {
        let region = self.item_region(body)?;
        let (tenths, cost) = (cost::tenths(&self.r.dst, region).max(1), cost::of_region(&self.r.dst, region));
        self.r.b().op(Op::ParFor { cost, level: Level::Item }, &[count], &[], &[region]);
        Ok(tenths)
    }

    /// A loop in order that carries numbers; returns them as they are after it.
    fn in_order(
        &mut self,
        [lo, hi]: [ValueId; 2],
        carried: &[ValueId],
        body: impl FnOnce(&mut Self, ValueId, &[ValueId]) -> Result<Vec<ValueId>, Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let (region, ()): (RegionId, ()) = self.nested(|l| {
            let at = l.r.b().arg(Type::I64);
            let values: Vec<ValueId> = carried.iter().map(|_| l.r.b().arg(Type::I64)).collect();
            let next = body(l, at, &values)?;
            l.r.b().effect(Op::Yield, &next);
            Ok(())
        })?;
        let one = self.r.b().i64(1);
        let operands: Vec<ValueId> = [lo, hi, one].into_iter().chain(carried.iter().copied()).collect();
        self.r.b().op(Op::ScfFor, &operands, &vec![Type::I64; carried.len()], &[region]);
        Ok(())
    }

    /// Results in memory of their own if there is more than one part, else where they belong.
    pub(super) fn partial(
        &mut self,
        out: &Array,
        parts: ValueId,
        results: ValueId,
    ) -> Result<(ValueId, ValueId), Diagnostic> {
        let one = self.r.b().i64(1);
        let several = self.r.b().value(Op::Cmp { is: CmpOp::Gt }, &[parts, one], Type::BOOL);
        let (elsewhere, ()) = self.nested(|l| {
            let all = l.int(Op::Mul, parts, results);
            let scratch = l.scratch(out, all);
            l.r.b().effect(Op::Yield, &scratch);
            Ok(())
        })?;
        let types = [self.r.dst.ty(out.mem).clone(), Type::Owner];
        let mut b = self.r.b();
        let (there, _) = b.region(|b| b.effect(Op::Yield, &[out.mem, out.owner]));
        let chosen = b.op(Op::ScfIf, &[several], &types, &[elsewhere, there]);
        Ok((several, b.func.op(chosen).results[0]))
    }

    /// Reduces the results of several parts, if there are several.
    pub(super) fn combine(&mut self, several: ValueId, op: Op, words: &[ValueId]) {
        let mut b = self.r.b();
        let (reduces, _) = b.region(|b| {
            b.effect(op, words);
            b.effect(Op::Yield, &[]);
        });
        let (nothing, _) = b.region(|b| b.effect(Op::Yield, &[]));
        b.op(Op::ScfIf, &[several], &[], &[reduces, nothing]);
    }

    // ---- along the last axes ---------------------------------------------------------------------

    fn fold_along(&mut self, work: &Work<'_>, sizes: &Sizes, fold: Fold, out: &Array) -> Result<(), Diagnostic> {
        let bytes = work.dtype.size();
        // Integers are the same in whatever order they are added.
        let block = if work.truth.is_some() { COUNTED } else { reduce::block(bytes) as i64 };
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
            let (ty, bytes) = match work.truth {
                Some(_) => (Type::Mem(DType::Bool, Memory::Host), 1),
                None => (l.r.dst.ty(out.mem).clone(), bytes),
            };
            let buffer = l.r.b().value(Op::MemStack { bytes: (block as usize * bytes) as u32 }, &[], ty);
            tenths = l.fill(work, sizes, buffer, (first, lines), (start, count))?;
            if work.truth.is_some() {
                let count = l.r.b().value(Op::MemCount, &[buffer, count], Type::I64);
                l.r.b().effect(Op::MemStore { unit: Unit::Element }, &[count, partial, at_block]);
                return Ok(());
            }
            let to = l.int(Op::Mul, first, blocks);
            let to = l.int(Op::Add, to, at_block);
            let to = l.int(Op::Mul, to, item);
            let to = l.past(partial, to);
            let line = l.int(Op::Mul, count, item);
            l.r.b().effect(Op::MemReduce { fold, pairs: false }, &[buffer, to, count, item, lines, line, step]);
            Ok(())
        })?;
        let part = self.int(Op::Min, n, size);
        let elements = self.int(Op::Mul, part, tile);
        self.in_parallel(items, elements, tenths + 2, region);
        self.combine(
            several,
            Op::MemReduce { fold, pairs: false },
            &[partial, out.mem, blocks, item, lines, step, item],
        );
        Ok(())
    }

    /// Computes elements `start..start + count` of some lines, one after the other, into a buffer.
    fn fill(
        &mut self,
        work: &Work<'_>,
        sizes: &Sizes,
        buffer: ValueId,
        (first, lines): (ValueId, ValueId),
        (start, count): (ValueId, ValueId),
    ) -> Result<u64, Diagnostic> {
        let store = |l: &mut Self, v: ValueId, at: ValueId| {
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
            })
        };
        let zero = self.r.b().i64(0);
        match sizes.before.is_empty() {
            true => line(self, zero)?,
            false => self.in_order([zero, lines], &[], |l, at, _| line(l, at).map(|()| vec![]))?,
        }
        Ok(tenths)
    }

    // ---- along other axes ------------------------------------------------------------------------

    fn fold_across(&mut self, work: &Work<'_>, sizes: &Sizes, fold: Fold, out: &Array) -> Result<(), Diagnostic> {
        let n = self.product(&sizes.folded);
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
                    true => Some(l.position_flat(before, &sizes.before, folded, &sizes.folded)),
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
                    let mut b = l.r.b();
                    b.effect(Op::MemStore { unit: Unit::Element }, &[v, to, k]);
                    Ok(())
                })?;
                Ok(l.next_index(folded, &sizes.folded))
            })
        })?;
        let rows = self.int(Op::Min, n, run);
        let columns = self.int(Op::Min, last, width);
        let elements = self.int(Op::Mul, rows, columns);
        self.in_parallel(items, elements, tenths, region);
        let step = self.int(Op::Mul, results, item);
        let words = [partial, out.mem, runs, step, results, item, item];
        self.combine(several, Op::MemReduce { fold, pairs: true }, &words);
        Ok(())
    }

    /// The position of two groups of indices, one inside the other, in row-major order.
    fn position_flat(
        &mut self,
        outer: &[ValueId],
        outer_sizes: &[ValueId],
        inner: &[ValueId],
        inner_sizes: &[ValueId],
    ) -> ValueId {
        let mut at = self.r.b().i64(0);
        for (&i, &n) in outer.iter().zip(outer_sizes).chain(inner.iter().zip(inner_sizes)) {
            at = self.int(Op::Mul, at, n);
            at = self.int(Op::Add, at, i);
        }
        at
    }

    /// The index after this one in row-major order.
    fn next_index(&mut self, indices: &[ValueId], sizes: &[ValueId]) -> Vec<ValueId> {
        let mut next = indices.to_vec();
        let (mut carry, zero) = (self.r.b().i64(1), self.r.b().i64(0));
        for k in (0..next.len()).rev() {
            let more = self.int(Op::Add, next[k], carry);
            if k == 0 {
                next[0] = more;
                break;
            }
            let mut b = self.r.b();
            let over = b.value(Op::Cmp { is: CmpOp::Ge }, &[more, sizes[k]], Type::BOOL);
            next[k] = b.value(Op::Select, &[over, zero, more], Type::I64);
            carry = b.cast(over, Type::I64);
        }
        next
    }

    /// An element folded into what there is so far. Of two zeros the first stays the least or the largest.
    pub(super) fn fold_two(&mut self, fold: Fold, so_far: ValueId, v: ValueId) -> ValueId {
        let operands = if matches!(fold, Fold::Min | Fold::Max) { [v, so_far] } else { [so_far, v] };
        let ty = self.r.dst.ty(v).clone();
        self.r.b().value(folding(fold), &operands, ty)
    }

    /// What a fold begins with, and the result where nothing is folded. NumPy's sums begin with 0.0: of -0.0 alone they are 0.0.
    pub(super) fn identity(&mut self, fold: Fold, dtype: DType) -> ValueId {
        let float = !dtype.is_int() && dtype != DType::Bool;
        let fold = match fold {
            Fold::Min if dtype == DType::Bool => Fold::All,
            Fold::Max if dtype == DType::Bool => Fold::Any,
            fold => fold,
        };
        let most = (1 << (8 * dtype.size() as u32 - u32::from(dtype.is_signed()))) - 1;
        let value = match fold {
            Fold::Sum if dtype.is_complex() => Const::Complex(0.0, 0.0),
            Fold::Sum if float => Const::Float(0.0),
            Fold::Prod if float => Const::Float(1.0),
            Fold::Min if float => Const::Float(f64::INFINITY),
            Fold::Max if float => Const::Float(f64::NEG_INFINITY),
            Fold::Any => Const::Bool(false),
            Fold::All => Const::Bool(true),
            Fold::Prod => Const::Int(1),
            Fold::Min => Const::Int(most),
            Fold::Max => Const::Int(if dtype.is_signed() { -most - 1 } else { 0 }),
            _ => Const::Int(0),
        };
        self.r.b().constant(value, Type::Num(dtype))
    }
}

/// The op that folds two elements.
fn folding(fold: Fold) -> Op {
    match fold {
        Fold::Prod => Op::Mul,
        Fold::Min => Op::Min,
        Fold::Max => Op::Max,
        Fold::Any => Op::Or,
        Fold::All => Op::And,
        _ => Op::Add,
    }
}
