//! Which elements of arrays an iteration of a loop touches, as boxes.
//!
//! Each axis of a box begins at an affine form and ends before another one; inner counters are replaced by their bounds. Views
//! are seen through, up to the array that is there before the loop: slices are clipped to their axis, which only makes them
//! smaller, and counted from its front. What counts from the end where it is negative has a box only where it surely is not;
//! an index of which that is seen at run time alone is marked ([`Access::care`]).

use super::affine::{Affine, Symbol};
use super::alias::root;
use super::dependence::{self, Distances, Question, Variable};
use super::forms::Forms;
use super::inequalities::Bounds;
use crate::canon;
use std::collections::BTreeSet;
use std::ops::Range;
use weft_diag::Span;
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{Dim, Func, Op, OpData, OpId, ValueId};

/// First and next index along an axis; `None` where nothing is known.
pub(crate) type Side = Option<(Affine, Affine)>;

/// What an op touches of an array.
#[derive(Clone, PartialEq)]
pub(crate) struct Access {
    /// The array that is there before the loop.
    pub root: ValueId,
    /// The box.
    pub axes: Vec<Side>,
    /// It writes there.
    pub writes: bool,
    /// Nothing comes between: two such accesses may meet.
    pub atomic: bool,
    /// One element, at a place that is computed from what memory holds.
    pub scattered: bool,
    /// The box is right only if the loop's index is not negative.
    pub care: bool,
    /// Where it stands.
    pub span: Span,
}

impl Access {
    /// Whether it is one element along each axis of which anything is known.
    pub fn is_one_element(&self) -> bool {
        let one = |(low, high): &(Affine, Affine)| high.minus(low).and_then(|d| d.as_constant()) == Some(1);
        self.axes.iter().flatten().all(one)
    }
}

/// The accesses of a loop's iterations.
pub(crate) struct Accesses<'f> {
    pub f: &'f Func,
    pub defs: &'f [Option<OpId>],
    pub forms: Forms<'f>,
    /// How far two indices of the loop are apart at least.
    step: i128,
    /// What is never negative beside sizes.
    naturals: Vec<Symbol>,
    /// The loop's least index, and the one behind its greatest.
    indices: Option<(Affine, Affine)>,
}

impl<'f> Accesses<'f> {
    /// Of a `scf.for`; `whole` are the bounds of its index where its own are only those of a part.
    pub fn new(f: &'f Func, defs: &'f [Option<OpId>], of: &OpData, whole: Option<(ValueId, ValueId)>) -> Accesses<'f> {
        let mut forms = Forms::new(f, defs, of.regions[0]);
        let step = match defs[of.operands[2].index()].map(|id| &f.op(id).op) {
            Some(Op::Const { value: Const::Int(n) }) => *n,
            _ => 0,
        };
        let naturals = forms.outer_counters();
        let (lo, hi) = whole.unwrap_or((of.operands[0], of.operands[1]));
        let mut ends = || {
            let (lo, hi, one) = (forms.of(lo)?, forms.of(hi)?, Affine::constant(1));
            match step {
                1.. => Some((lo, hi)),
                0 => None,
                _ => Some((hi.plus(&one)?, lo.plus(&one)?)),
            }
        };
        let indices = ends();
        Accesses { f, defs, forms, step: step.abs().max(1), naturals, indices }
    }

    /// What an op touches of one of its operands, an array that `root` was before the loop.
    pub fn of(&mut self, data: &OpData, v: ValueId, writes: bool) -> Access {
        let root = root(self.f, self.defs, v);
        let (mut care, mut scattered) = (false, false);
        let indices = match data.op {
            Op::NtLoad { wrap } => Some((&data.operands[1..], wrap)),
            Op::NtStore { wrap } => Some((&data.operands[2..], wrap)),
            Op::NtAtomic { rmw, wrap } => Some((&data.operands[1 + rmw.values()..], wrap)),
            _ => None,
        };
        let rank = self.f.ty(v).as_tensor().map_or(0, |t| t.rank());
        let mut axes: Vec<Side> = match indices {
            Some((indices, wrap)) => {
                let mut axes = vec![];
                for &i in indices {
                    let side = self.index(i, wrap, &mut care);
                    scattered |= side.is_none() && self.is_from_memory(i);
                    axes.push(side);
                }
                axes
            }
            None => {
                let dims = canon::dims(self.f, v).to_vec();
                dims.iter().map(|&d| Some((Affine::default(), self.forms.size(d)?))).collect()
            }
        };
        axes.resize(rank, None);
        let mut at = v;
        while at != root {
            let Some(def) = self.defs[at.index()].map(|id| self.f.op(id)) else { break };
            axes = match &def.op {
                Op::NtView { axes: walked } => self.through_view(def, walked, &axes, &mut care),
                Op::NtRefine { .. } | Op::NtWeaken => axes,
                _ => vec![None; self.f.ty(def.operands[0]).as_tensor().map_or(0, |t| t.rank())],
            };
            at = def.operands[0];
        }
        let atomic = matches!(data.op, Op::NtAtomic { .. });
        Access { root, axes, writes, atomic, scattered, care, span: data.span }
    }

    /// A box in a view, as one in the array it is of.
    fn through_view(&mut self, def: &OpData, walked: &[i32], axes: &[Side], care: &mut bool) -> Vec<Side> {
        let rank = (def.operands.len() - 1) / 2;
        (0..rank)
            .map(|axis| {
                let start = def.operands[1 + 2 * axis];
                if walked.iter().filter(|&&a| a == axis as i32).count() > 1 {
                    // Windows: two axes of the view walk along this one.
                    return None;
                }
                let Some(k) = walked.iter().position(|&a| a == axis as i32) else {
                    return self.index(start, false, care);
                };
                let step = self.forms.of(def.operands[2 + 2 * axis])?.as_constant().filter(|&n| n > 0)?;
                let whole = canon::dims(self.f, def.operands[0]).get(axis).copied()?;
                let first = self.slice_end(start, whole)?;
                let size = canon::dims(self.f, def.results[0]).get(k).copied()?;
                let (low, high) = match axes.get(k)? {
                    Some((low, high)) => (low.clone(), high.clone()),
                    // All of a slice: to where it ends.
                    None if self.forms.bound.contains_key(&size) => {
                        let stop = self.slice_stop(size)?;
                        return Some((first.0, self.slice_end(stop, whole)?.1));
                    }
                    None => return None,
                };
                let (step, one) = (Affine::constant(step), Affine::constant(1));
                let last = high.minus(&one)?.times(&step)?;
                Some((first.0.plus(&low.times(&step)?)?, first.1.plus(&last)?.plus(&one)?))
            })
            .collect()
    }

    /// Where a slice with this size ends.
    fn slice_stop(&self, size: Dim) -> Option<ValueId> {
        let v = *self.forms.bound.get(&size)?;
        let max = self.defs[v.index()].map(|id| self.f.op(id)).filter(|o| o.op == Op::Max)?;
        let sub = self.defs[max.operands[0].index()].map(|id| self.f.op(id)).filter(|o| o.op == Op::Sub)?;
        Some(sub.operands[0])
    }

    /// The end of a slice as it was written, least and greatest, if that is never negative. That it is held inside the array
    /// only makes the slice smaller.
    fn slice_end(&mut self, mut v: ValueId, whole: Dim) -> Option<(Affine, Affine)> {
        let whole = self.forms.size(whole)?;
        while let Some(data) = self.defs[v.index()].map(|id| self.f.op(id)) {
            let held = match data.op {
                Op::Max => self.forms.of(data.operands[1])? == Affine::constant(0),
                Op::Min => self.forms.of(data.operands[1])? == whole,
                Op::Select => {
                    let test = self.defs[data.operands[0].index()].map(|id| self.f.op(id));
                    let below = |o: &&OpData| o.op == Op::Cmp { is: CmpOp::Lt } && o.operands[0] == data.operands[2];
                    let zero = test.filter(below).map(|o| o.operands[1]);
                    zero.and_then(|v| self.forms.of(v)) == Some(Affine::constant(0))
                }
                _ => false,
            };
            if !held {
                break;
            }
            v = if data.op == Op::Select { data.operands[2] } else { data.operands[0] };
        }
        let exact = self.forms.of(v)?;
        let (low, high) = self.forms.over_counters(&exact)?;
        self.is_never_negative(&exact, &low).then_some((low, high))
    }

    /// The indices that a value has in one iteration: inner counters go through all their turns.
    fn index(&mut self, v: ValueId, wrap: bool, care: &mut bool) -> Side {
        let mut wraps = wrap;
        let mut v = v;
        while let Some(data) = self.defs[v.index()].map(|id| self.f.op(id)) {
            match data.op {
                Op::NtIndex { wrap, .. } => wraps |= wrap,
                Op::Wrap => wraps = true,
                Op::Cast if self.forms.is_wide(v) && self.forms.is_wide(data.operands[0]) => {}
                _ => break,
            }
            v = data.operands[0];
        }
        let exact = self.forms.of(v)?;
        let (low, high) = self.forms.over_counters(&exact)?;
        if wraps && !self.is_never_negative(&exact, &low) {
            // The loop's index alone is seen not to be negative at run time, else all blocks run in order.
            let rest = exact.minus(&Affine::symbol(Symbol::Value(self.forms.index)))?;
            if rest.as_constant().is_none_or(|n| n < 0) {
                return None;
            }
            *care = true;
        }
        Some((low, high.plus(&Affine::constant(1))?))
    }

    /// Whether an index, of which this is the least over inner counters, is 0 or more in all iterations.
    fn is_never_negative(&mut self, exact: &Affine, least: &Affine) -> bool {
        // Where a counter runs from 0 to a value, that is positive.
        let mut positive = self.naturals.clone();
        for (&counter, &id) in &self.forms.counters.clone() {
            let (from, to) = (self.forms.of(self.f.op(id).operands[0]), self.forms.of(self.f.op(id).operands[1]));
            let from_zero = from.and_then(|p| p.as_constant()).is_some_and(|n| n >= 0);
            if exact.uses(Symbol::Value(counter)) && from_zero {
                positive.extend(to.and_then(|p| p.as_symbol()));
            }
        }
        let Some((first, to)) = self.indices.clone() else { return false };
        let Some(last) = to.minus(&Affine::constant(1)) else { return false };
        // The factor of the loop's index may be such a value too: it is least where the index is.
        let index = Symbol::Value(self.forms.index);
        let factor = least.coefficient(index).filter(|f| f.is_never_negative(&positive));
        let least = match factor {
            Some(_) => least.with(index, &first),
            None => least.least(index, &first, &last),
        };
        least.is_some_and(|p| p.is_never_negative(&positive))
    }

    /// Whether a value was computed from what memory holds, at a place that depends on the iteration.
    fn is_from_memory(&self, v: ValueId) -> bool {
        let (mut reads, mut varies) = (false, false);
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![v]);
        while let Some(v) = waiting.pop() {
            if !self.forms.inside.contains(&v) || !seen.insert(v) {
                continue;
            }
            match self.defs[v.index()] {
                Some(id) => {
                    reads |= self.f.effects(id).reads;
                    // Every iteration finds something else there.
                    varies |= matches!(self.f.op(id).op, Op::NtAtomic { .. });
                    waiting.extend(&self.f.op(id).operands);
                }
                // What a loop inside counts is the same in every iteration.
                None => varies |= v == self.forms.index || !self.forms.counters.contains_key(&v),
            }
        }
        reads && varies
    }

    /// Whether two accesses of different iterations never meet.
    pub fn apart(&self, a: &Access, b: &Access) -> bool {
        // One axis is enough for most, and little to ask about.
        let axes = || 0..a.axes.len().min(b.axes.len());
        let known = |&k: &usize| a.axes[k].is_some() && b.axes[k].is_some();
        axes().filter(known).any(|k| self.apart_along(a, b, k..k + 1))
            || axes().len() > 1 && self.apart_along(a, b, axes())
    }

    /// Whether the second access of two never comes in an earlier iteration than the first, where they meet.
    pub fn never_before(&self, first: &Access, second: &Access) -> bool {
        let axes = 0..first.axes.len().min(second.axes.len());
        let forward = |found: Distances| match found {
            None => true,
            Some(Bounds { least, .. }) => least.is_some_and(|least| least > -self.step),
        };
        axes.clone().any(|k| forward(self.distances(first, second, k..k + 1)))
            || axes.len() > 1 && forward(self.distances(first, second, axes))
    }

    /// The same, by what is known of these axes.
    fn apart_along(&self, a: &Access, b: &Access, axes: Range<usize>) -> bool {
        match self.distances(a, b, axes) {
            None => true,
            Some(Bounds { least: Some(least), most: Some(most) }) => -self.step < least && most < self.step,
            Some(_) => false,
        }
    }

    /// By how much the loop's index is greater at the second access than at the first, where they meet along these axes.
    fn distances(&self, a: &Access, b: &Access, axes: Range<usize>) -> Distances {
        let any = Some(Bounds { least: None, most: None });
        let (Some(first), Some(second)) = (boxed(a, axes.clone()), boxed(b, axes)) else { return any };
        let (from, to) = self.indices.clone().map_or((None, None), |(from, to)| (Some(from), Some(to)));
        let around = [Variable { symbol: Symbol::Value(self.forms.index), from, to }];
        let naturals = &self.naturals;
        Question { first: &first, second: &second, around: &around, naturals, known: &[] }.distances()
    }
}

/// The elements in the box of an access, along some axes: positions from its low end on.
fn boxed(a: &Access, axes: Range<usize>) -> Option<dependence::Access> {
    let mut found = dependence::Access { axes: vec![], over: vec![] };
    for side in &a.axes[axes] {
        let Some((low, high)) = side else {
            found.axes.push(None);
            continue;
        };
        let length = high.minus(low)?;
        if length.as_constant() == Some(1) {
            found.axes.push(Some(low.clone()));
            continue;
        }
        let position = Symbol::Position(found.over.len() as u32);
        found.axes.push(Some(low.plus(&Affine::symbol(position))?));
        found.over.push(Variable { symbol: position, from: Some(Affine::default()), to: Some(length) });
    }
    Some(found)
}
