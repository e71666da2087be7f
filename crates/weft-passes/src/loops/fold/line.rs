//! Folds of few elements: no call and no block. If it is known how many, the tree is written out, for all results in one loop; a
//! single result of a number of elements that is found at run time has its lanes on the stack.

use super::super::array::Array;
use super::super::cost;
use super::{Elements, Lower, SHORT, Sizes, Work};
use weft_diag::Diagnostic;
use weft_ir::attr::{Level, Unit};
use weft_ir::{Op, Type, ValueId, reduce};

/// Most elements, and most ops of all of them, that are written out.
const FEW: i64 = 16;
const OPS: usize = 160;

impl Lower<'_> {
    /// Whether each of so many elements is written out.
    pub(super) fn is_straight(&self, work: &Work<'_>, n: i64) -> bool {
        let most = FEW.min(reduce::lanes(work.dtype.size()) as i64);
        let Elements::Computed(op, _) = work.elements else { return (1..=most).contains(&n) };
        let (mut ops, mut simple) = (0, true);
        self.r.src.walk_region(self.r.src.op(op).regions[0], &mut |id| {
            ops += 1;
            simple &= self.r.src.op(id).regions.is_empty();
        });
        (1..=most).contains(&n) && simple && ops * n as usize <= OPS
    }

    /// Results of so many elements each.
    pub(super) fn fold_straight(
        &mut self,
        work: &Work<'_>,
        sizes: &Sizes,
        n: i64,
        out: &Array,
    ) -> Result<(), Diagnostic> {
        let sizes = &self.merged(work, sizes);
        let results: Vec<ValueId> = sizes.before.iter().chain(&sizes.after).copied().collect();
        if results.is_empty() {
            return self.straight(work, sizes, n, out, &[]);
        }
        let (region, ()) = self.nested(|l| {
            let indices: Vec<ValueId> = results.iter().map(|_| l.r.b().arg(Type::I64)).collect();
            l.straight(work, sizes, n, out, &indices)?;
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        let cost = cost::of_region(&self.r.dst, region);
        self.r.b().op(Op::ParFor { cost, level: Level::Item }, &results, &[], &[region]);
        Ok(())
    }

    /// One result.
    fn straight(
        &mut self,
        work: &Work<'_>,
        sizes: &Sizes,
        n: i64,
        out: &Array,
        indices: &[ValueId],
    ) -> Result<(), Diagnostic> {
        let (before, after) = indices.split_at(sizes.before.len());
        let widths: Vec<i64> =
            sizes.folded.iter().map(|&v| self.r.dst.constant_int(v).map_or(1, |n| n as i64)).collect();
        let mut lanes = vec![];
        for e in 0..n {
            let mut folded = vec![0; widths.len()];
            let mut rest = e;
            for (at, &width) in folded.iter_mut().zip(&widths).rev() {
                (*at, rest) = (rest % width, rest / width);
            }
            let folded: Vec<ValueId> = folded.into_iter().map(|i| self.r.b().i64(i)).collect();
            lanes.push(self.element_at(work, sizes, [before, &folded, after])?);
        }
        let mut half = lanes.len().next_power_of_two() / 2;
        while half > 0 {
            let (low, high) = lanes.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                *a = self.fold_two(work.fold, *a, *b);
            }
            lanes.truncate(half);
            half /= 2;
        }
        let all: Vec<ValueId> = sizes.before.iter().chain(&sizes.after).copied().collect();
        let at = self.position_flat(indices, &all);
        let v = self.normalise_zero(work.fold, lanes[0]);
        self.r.b().effect(Op::MemStore { unit: Unit::Element }, &[v, out.mem, at]);
        Ok(())
    }

    /// The one result of at least one and at most [`SHORT`] elements.
    pub(super) fn fold_line(&mut self, work: &Work<'_>, sizes: &Sizes, out: &Array) -> Result<(), Diagnostic> {
        let sizes = &self.merged(work, sizes);
        let n = self.product(&sizes.folded);
        let ty = Type::Num(work.dtype);
        let most = SHORT.min(reduce::lanes(work.dtype.size()) as i64);
        let (zero, two) = (self.r.b().i64(0), self.r.b().i64(2));
        let bytes = (most as usize * work.dtype.size()) as u32;
        let memory = self.r.dst.ty(out.mem).clone();
        let lanes = self.r.b().value(Op::MemStack { bytes }, &[], memory);
        self.elements_in_order(work, sizes, lanes, &mut vec![])?;
        // Lanes that have no element change nothing.
        let (steps, half) = (self.r.b().i64(i64::from(most.ilog2())), self.r.b().i64(most / 2));
        self.in_order([zero, steps], &[half], |l, _, half| {
            let half = half[0];
            let left = l.int(Op::Sub, n, half);
            let pairs = l.int(Op::Min, left, half);
            l.in_order([zero, pairs], &[], |l, k, _| {
                let other = l.int(Op::Add, k, half);
                let mut b = l.r.b();
                let [x, y] =
                    [k, other].map(|at| b.value(Op::MemLoad { unit: Unit::Element }, &[lanes, at], ty.clone()));
                let v = l.fold_two(work.fold, x, y);
                l.r.b().effect(Op::MemStore { unit: Unit::Element }, &[v, lanes, k]);
                Ok(vec![])
            })?;
            Ok(vec![l.int(Op::FloorDiv, half, two)])
        })?;
        let mut b = self.r.b();
        let v = b.value(Op::MemLoad { unit: Unit::Element }, &[lanes, zero], ty);
        let v = self.normalise_zero(work.fold, v);
        self.r.b().effect(Op::MemStore { unit: Unit::Element }, &[v, out.mem, zero]);
        Ok(())
    }

    /// Computes all elements of the one result, a loop for each axis.
    fn elements_in_order(
        &mut self,
        work: &Work<'_>,
        sizes: &Sizes,
        lanes: ValueId,
        folded: &mut Vec<ValueId>,
    ) -> Result<(), Diagnostic> {
        let Some(&n) = sizes.folded.get(folded.len()) else {
            let v = self.element_at(work, sizes, [&[], folded, &[]])?;
            let at = self.position_flat(folded, &sizes.folded);
            self.r.b().effect(Op::MemStore { unit: Unit::Element }, &[v, lanes, at]);
            return Ok(());
        };
        let zero = self.r.b().i64(0);
        self.in_order([zero, n], &[], |l, k, _| {
            folded.push(k);
            l.elements_in_order(work, sizes, lanes, folded)?;
            folded.pop();
            Ok(vec![])
        })?;
        Ok(())
    }
}
