//! Races in `prange`: whether two iterations can touch one element, one of them writing.
//!
//! Comes in: a typed function. Every access to an array made outside the loop is taken as one box: for each axis the first
//! index and the one after the last, both polynomials in the loop's index and values that do not change in it; inner counters
//! are replaced by their bounds. Two accesses are proved apart if along one axis both boxes move on with the loop's index, by
//! at least their length. What is not proved is refused with both places, but for stores to places that were read from
//! memory: `a[p[i]] = v` is the program's promise. An array that is only updated, by one operator, is an accumulator
//! (`accumulate`): each group of iterations gets a copy of its own (`private`).
//!
//! Arrays that are different values outside are compared at run time (`loops`): if they overlap, the caller runs all blocks.

mod accumulate;
mod kept;
mod poly;
mod private;
mod shadow;
pub(crate) mod update;

use crate::canon;
use accumulate::{Accumulator, Finder};
use poly::{Poly, Symbol};
use std::collections::{BTreeMap, BTreeSet};
use weft_diag::{Diagnostic, Span};
use weft_ir::attr::{BinOp, CmpOp, Const};
use weft_ir::{DType, Dim, Func, Op, OpData, OpId, RegionId, Site, ValueId};

/// Refuses the races of all `par.blocks` of a function, and takes back the care for negative indices where no proof needs it.
/// `debug`: what is taken on trust is checked at run time.
///
/// # Errors
/// Both accesses of a race.
pub fn run(f: &mut Func, debug: bool, sites: &mut Vec<Site>) -> Result<(), Diagnostic> {
    let mut loops = vec![];
    f.walk(&mut |id| {
        if matches!(f.op(id).op, Op::ParBlocks { .. }) {
            loops.push(id);
        }
    });
    if !loops.is_empty() {
        kept::run(f);
    }
    for id in loops {
        let Some(mut check) = Check::of(f, id) else { continue };
        let needs_care = check.run()?;
        let (accumulators, pairs) = (std::mem::take(&mut check.accumulators), check.meetings());
        let (body, index, promised) = (check.turns.regions[0], check.index, std::mem::take(&mut check.promised));
        if debug && !promised.is_empty() {
            shadow::rewrite(f, id, body, index, &promised, sites);
        }
        let turns = f.op(id).operands[1];
        let is_zero = |v: ValueId| {
            f.ops.iter().any(|o| o.op == Op::Const { value: Const::Int(0) } && o.results.first() == Some(&v))
        };
        let care = f.ops.iter().find(|o| o.op == Op::Select && o.results[0] == turns && is_zero(o.operands[1]));
        let plain = care.map_or(turns, |o| o.operands[2]);
        if !needs_care {
            f.ops[id.index()].operands[1] = plain;
        }
        if !accumulators.is_empty() {
            private::rewrite(f, id, plain, &accumulators, &pairs);
        }
    }
    Ok(())
}

/// What a report tells of a `par.blocks`.
pub(crate) struct Told {
    /// Stores that are taken not to meet.
    pub trusted: Vec<Span>,
    /// Where arrays are accumulated into.
    pub accumulated: Vec<Span>,
}

/// What became of the accesses of blocks that [`run`] has let through.
pub(crate) fn told(f: &Func, id: OpId) -> Told {
    let mut told = Told { trusted: vec![], accumulated: vec![] };
    let Some(mut check) = Check::of(f, id) else { return told };
    // What groups of blocks have for themselves looks like a race to one that does not know of groups.
    if check.region(check.turns.regions[0]).is_err() {
        return told;
    }
    let all = std::mem::take(&mut check.accesses);
    for w in all.iter().filter(|a| a.writes && !a.atomic) {
        let is_copy = f.region(f.op(id).regions[0]).ops.iter().any(|&op| f.op(op).results.contains(&w.root));
        if is_copy {
            told.accumulated.push(w.span);
        } else if w.scattered && !check.apart(w, w) {
            told.trusted.push(w.span);
        }
    }
    told
}

/// The array that an array is a view of, as far as that is written in this function.
pub(crate) fn root(f: &Func, defs: &[Option<OpId>], mut v: ValueId) -> ValueId {
    while let Some(of) = defs[v.index()].and_then(|id| f.op(id).viewed()) {
        v = of;
    }
    v
}

/// Whether an op only names arrays, and touches no element.
fn only_names(op: &Op) -> bool {
    matches!(
        op,
        Op::NtView { .. } | Op::NtRefine { .. } | Op::NtWeaken | Op::NtReshape | Op::NtDim { .. } | Op::NtStride { .. }
    )
}

/// First and next index along an axis; `None` where nothing is known.
type Side = Option<(Poly, Poly)>;

/// How an index was found: only where it was read from memory, the program is trusted.
#[derive(Clone, PartialEq)]
struct Access {
    root: ValueId,
    axes: Vec<Side>,
    writes: bool,
    /// Nothing comes between: two such accesses may meet.
    atomic: bool,
    /// One element, at a place that is computed from what memory holds.
    scattered: bool,
    /// Counts on indices not being negative.
    care: bool,
    span: Span,
}

struct Check<'f> {
    f: &'f Func,
    defs: Vec<Option<OpId>>,
    /// The `scf.for` over the iterations of a block.
    turns: &'f OpData,
    index: ValueId,
    /// How far two indices of the loop are apart at least.
    step: i128,
    /// Values made in the loop.
    inside: BTreeSet<ValueId>,
    /// Loops inside, by counter.
    counters: BTreeMap<ValueId, OpId>,
    /// One symbol for equal invariants.
    numbers: BTreeMap<String, ValueId>,
    /// Sizes that are known outside the loop, and the values of those that the loop binds.
    outer_sizes: BTreeSet<u32>,
    bound: BTreeMap<Dim, ValueId>,
    accesses: Vec<Access>,
    /// What is never negative beside sizes.
    naturals: Vec<Symbol>,
    /// Where an array that may be any is read.
    read_anywhere: Option<Span>,
    /// Arrays that the loop only updates.
    accumulators: Vec<Accumulator>,
    /// Arrays with stores that are taken not to meet.
    promised: BTreeSet<ValueId>,
}

impl<'f> Check<'f> {
    fn of(f: &'f Func, id: OpId) -> Option<Check<'f>> {
        let blocks = f.op(id);
        let mut ops = &f.region(blocks.regions[0]).ops;
        let mut turns = ops.iter().map(|&op| f.op(op)).find(|o| o.op == Op::ScfFor)?;
        // Where blocks are in groups, each with arrays of its own, the blocks come first.
        let has_copies = |o: &OpData| o.op == Op::ScfIf && o.results.iter().any(|&v| f.ty(v).as_tensor().is_some());
        if ops.iter().any(|&op| has_copies(f.op(op))) {
            ops = &f.region(turns.regions[0]).ops;
            turns = ops.iter().map(|&op| f.op(op)).find(|o| o.op == Op::ScfFor)?;
        }
        let index = *f.region(turns.regions[0]).args.first()?;
        let defs = canon::definitions(f);
        let constant = |v: ValueId| match defs[v.index()].map(|id| &f.op(id).op) {
            Some(Op::Const { value: Const::Int(n) }) => Some(*n),
            _ => None,
        };
        let step = constant(turns.operands[2]).map_or(1, i128::abs).max(1);
        let (mut inside, mut counters) = (BTreeSet::new(), BTreeMap::new());
        inside.extend(f.region(turns.regions[0]).args.iter().copied());
        // Cells that a block has for itself.
        let cells = ops.iter().map(|&op| f.op(op)).filter(|o| o.op == Op::CellNew);
        inside.extend(cells.flat_map(|o| o.results.iter().copied()));
        f.walk_region(turns.regions[0], &mut |id| {
            let data = f.op(id);
            inside.extend(data.results.iter().copied());
            for &r in &data.regions {
                inside.extend(f.region(r).args.iter().copied());
            }
            if data.op == Op::ScfFor {
                counters.insert(f.region(data.regions[0]).args[0], id);
            }
        });
        let mut bound = BTreeMap::new();
        f.walk_region(turns.regions[0], &mut |id| {
            if let Op::ShapeBind { dim } = f.op(id).op {
                bound.insert(dim, f.op(id).operands[0]);
            }
        });
        let outside = (0..f.values.len() as u32).map(ValueId).filter(|v| !inside.contains(v));
        let dims = outside.filter_map(|v| f.ty(v).as_tensor()).flat_map(|t| t.dims.iter());
        let outer_sizes = dims
            .filter_map(|d| if let Dim::Sym(s) = d { Some(*s) } else { None })
            .filter(|&s| !bound.contains_key(&Dim::Sym(s)))
            .collect();
        let (numbers, accesses) = (BTreeMap::new(), vec![]);
        let mut check = Check {
            f,
            defs,
            turns,
            index,
            step,
            inside,
            counters,
            numbers,
            outer_sizes,
            bound,
            naturals: vec![],
            accesses,
            read_anywhere: None,
            accumulators: vec![],
            promised: BTreeSet::new(),
        };
        check.naturals = check.outer_counters();
        Some(check)
    }

    /// Counters of other loops that begin at 0 or above and go up.
    fn outer_counters(&mut self) -> Vec<Symbol> {
        let mut loops = vec![];
        self.f.walk(&mut |id| loops.extend(Some(self.f.op(id)).filter(|o| o.op == Op::ScfFor)));
        let mut found = vec![];
        for data in loops {
            let counter = self.f.region(data.regions[0]).args[0];
            if self.inside.contains(&counter) {
                continue;
            }
            let (from, step) = (self.poly(data.operands[0]), self.poly(data.operands[2]));
            let up = step.and_then(|p| p.as_constant()).is_some_and(|n| n > 0);
            if up && from.is_some_and(|p| p.is_never_negative(&found)) {
                found.push(Symbol::Value(counter));
            }
        }
        found
    }

    /// Whether a proof needs indices that are not negative.
    fn run(&mut self) -> Result<bool, Diagnostic> {
        self.region(self.turns.regions[0])?;
        if let Some(span) = self.read_anywhere.filter(|_| self.accesses.iter().any(|a| a.writes)) {
            return Err(self.any_array(span));
        }
        let mut care = false;
        let all = std::mem::take(&mut self.accesses);
        let mut accumulated = BTreeSet::new();
        for (k, w) in all.iter().enumerate().filter(|(_, a)| a.writes) {
            for (l, a) in all.iter().enumerate().filter(|(_, a)| a.root == w.root) {
                if a.writes && l < k || a.atomic && w.atomic || accumulated.contains(&w.root) {
                    continue;
                }
                if self.apart(w, a) {
                    care |= w.care || a.care;
                } else if self.is_promised(w, a) {
                    self.promised.insert(w.root);
                } else {
                    let found =
                        self.accumulator(w.root).map_err(|id| self.race(w, self.culprit(&all, w, id).unwrap_or(a)))?;
                    self.accumulators.push(found);
                    accumulated.insert(w.root);
                }
            }
        }
        Ok(care)
    }

    /// Whether two stores to elements are taken not to meet: where one goes was read from memory.
    fn is_promised(&self, w: &Access, a: &Access) -> bool {
        let plain = a.writes && !a.atomic && !w.atomic;
        plain && (w.scattered || a.scattered) && one_element(w) && one_element(a)
    }

    /// The access by an op that keeps an array from being an accumulator, if it meets the write that was found.
    fn culprit<'a>(&self, all: &'a [Access], w: &Access, id: OpId) -> Option<&'a Access> {
        let span = self.f.op(id).span;
        all.iter().find(|a| a.root == w.root && a.span == span && a.span != w.span && !self.apart(w, a))
    }

    fn accumulator(&self, root: ValueId) -> Result<Accumulator, OpId> {
        let body = self.turns.regions[0];
        Finder::new(self.f, &self.defs, &self.inside, &self.bound, body).find(body, root)
    }

    /// Arrays of which one is written: an accumulator's copies hold only what others do not see if none of them meet.
    fn meetings(&self) -> Vec<(ValueId, ValueId)> {
        let (mut used, mut changed) = (BTreeSet::new(), BTreeSet::new());
        self.f.walk_region(self.turns.regions[0], &mut |id| {
            let data = self.f.op(id);
            let outer = |v: &ValueId| !self.inside.contains(v);
            let roots = data.operands.iter().filter(|&&v| self.f.ty(v).as_tensor().is_some());
            used.extend(roots.map(|&v| root(self.f, &self.defs, v)).filter(outer));
            changed.extend(data.written().iter().map(|&v| root(self.f, &self.defs, v)).filter(outer));
        });
        let mut pairs = vec![];
        for &w in &changed {
            pairs.extend(used.iter().filter(|&&u| u != w && !(changed.contains(&u) && u < w)).map(|&u| (w, u)));
        }
        pairs
    }

    fn region(&mut self, region: RegionId) -> Result<(), Diagnostic> {
        let f = self.f;
        for &id in &f.region(region).ops {
            let data = f.op(id);
            self.op(data)?;
            // Bodies of elementwise ops hold scalars only.
            if data.op != Op::NtElementwise {
                data.regions.iter().try_for_each(|&r| self.region(r))?;
            }
        }
        Ok(())
    }

    fn op(&mut self, data: &'f OpData) -> Result<(), Diagnostic> {
        let refuse = |what: &str, help: &str| {
            Err(Diagnostic::unsupported(data.span, what).other(self.turns.span, "the prange").help(help))
        };
        let outer = |v: &&ValueId| !self.inside.contains(v);
        let plain = "write it as a plain loop: range";
        match &data.op {
            Op::Call { .. } => return refuse("a function that calls itself cannot be called in a prange yet", plain),
            Op::ListSet | Op::ListPush | Op::ListRoom | Op::ListTruncate if outer(&&data.operands[0]) => {
                return refuse("iterations of a prange cannot change one list", "write into an array, or use range");
            }
            Op::CellSet if outer(&&data.operands[1]) => {
                return refuse(
                    "iterations of a prange cannot assign a variable that a closure, or code under `try`, shares with them",
                    plain,
                );
            }
            Op::CellGet if outer(&&data.operands[0]) => {
                return refuse(
                    "a variable that a closure, or code under `try`, shares cannot be read in a prange yet",
                    plain,
                );
            }
            _ => {}
        }
        let target = data.written().first().copied();
        // What is written later is only named.
        let touched = if data.op == Op::NtKeep { &data.operands[..1] } else { &data.operands[..] };
        for &v in touched {
            let Some(_) = self.f.ty(v).as_tensor() else { continue };
            let is_target = target == Some(v);
            let passes = matches!(data.op, Op::ScfIf | Op::ScfFor | Op::ScfLoop | Op::Yield)
                || matches!(data.op, Op::Break { .. } | Op::Continue { .. } | Op::CellNew | Op::CellSet);
            if only_names(&data.op) || passes && !self.inside_root(v) {
                continue;
            }
            self.access(data, v, is_target)?;
        }
        Ok(())
    }

    /// Whether an array was made in the loop and belongs to one iteration.
    fn inside_root(&self, v: ValueId) -> bool {
        let root = root(self.f, &self.defs, v);
        let made = self.defs[root.index()].map(|id| &self.f.op(id).op);
        self.inside.contains(&root) && made.is_some_and(|op| op.effects().fresh || *op == Op::NtNull)
    }

    fn access(&mut self, data: &'f OpData, v: ValueId, writes: bool) -> Result<(), Diagnostic> {
        let root = root(self.f, &self.defs, v);
        if self.inside_root(v) {
            return Ok(());
        }
        if self.inside.contains(&root) {
            // It came out of a branch, a loop or a list: it may be any array.
            if writes {
                return Err(self.any_array(data.span));
            }
            if data.op.dialect() != "scf" {
                self.read_anywhere.get_or_insert(data.span);
            }
            return Ok(());
        }
        if !writes && data.op.dialect() == "scf" {
            return Ok(());
        }
        let mut care = false;
        let mut scattered = false;
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
                dims.iter().map(|&d| Some((Poly::constant(0), self.size(d)?))).collect()
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
        self.accesses.push(Access { root, axes, writes, atomic, scattered, care, span: data.span });
        Ok(())
    }

    fn any_array(&self, span: Span) -> Diagnostic {
        let what = "which array this is depends on the iteration of a prange, and so whether iterations meet";
        let d = Diagnostic::unsupported(span, what).other(self.turns.span, "the prange");
        d.help("write it as a plain loop: range")
    }

    /// A box in a view, as one in the array it is of.
    fn through_view(&mut self, def: &OpData, walked: &[i32], axes: &[Side], care: &mut bool) -> Vec<Side> {
        let rank = (def.operands.len() - 1) / 2;
        (0..rank)
            .map(|axis| {
                let start = def.operands[1 + 2 * axis];
                let Some(k) = walked.iter().position(|&a| a == axis as i32) else {
                    return self.index(start, false, care);
                };
                let step = self.poly(def.operands[2 + 2 * axis])?.as_constant().filter(|&n| n > 0)?;
                let whole = canon::dims(self.f, def.operands[0]).get(axis).copied()?;
                let first = self.slice_end(start, whole)?;
                let size = canon::dims(self.f, def.results[0]).get(k).copied()?;
                let (low, high) = match axes.get(k)? {
                    Some((low, high)) => (low.clone(), high.clone()),
                    // All of a slice: to where it ends.
                    None if self.bound.contains_key(&size) => {
                        let stop = self.slice_stop(size)?;
                        return Some((first.0, self.slice_end(stop, whole)?.1));
                    }
                    None => return None,
                };
                let (step, one) = (Poly::constant(step), Poly::constant(1));
                let last = high.minus(&one).times(&step);
                Some((first.0.plus(&low.times(&step)), first.1.plus(&last).plus(&one)))
            })
            .collect()
    }

    /// Where a slice with this size ends.
    fn slice_stop(&self, size: Dim) -> Option<ValueId> {
        let v = *self.bound.get(&size)?;
        let max = self.defs[v.index()].map(|id| self.f.op(id)).filter(|o| o.op == Op::Max)?;
        let sub = self.defs[max.operands[0].index()].map(|id| self.f.op(id)).filter(|o| o.op == Op::Sub)?;
        Some(sub.operands[0])
    }

    /// The end of a slice as it was written, least and greatest, if that is never negative. That it is held inside the array
    /// only makes the slice smaller.
    fn slice_end(&mut self, mut v: ValueId, whole: Dim) -> Option<(Poly, Poly)> {
        let whole = self.size(whole)?;
        while let Some(data) = self.defs[v.index()].map(|id| self.f.op(id)) {
            let held = match data.op {
                Op::Max => self.poly(data.operands[1])? == Poly::constant(0),
                Op::Min => self.poly(data.operands[1])? == whole,
                Op::Select => {
                    let test = self.defs[data.operands[0].index()].map(|id| self.f.op(id));
                    let below = |o: &&OpData| o.op == Op::Cmp { is: CmpOp::Lt } && o.operands[0] == data.operands[2];
                    let zero = test.filter(below).map(|o| o.operands[1]);
                    zero.and_then(|v| self.poly(v)) == Some(Poly::constant(0))
                }
                _ => false,
            };
            if !held {
                break;
            }
            v = if data.op == Op::Select { data.operands[2] } else { data.operands[0] };
        }
        let exact = self.poly(v)?;
        let (low, high) = self.over_counters(&exact)?;
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
                Op::Cast if self.is_wide(v) && self.is_wide(data.operands[0]) => {}
                _ => break,
            }
            v = data.operands[0];
        }
        let exact = self.poly(v)?;
        let (low, high) = self.over_counters(&exact)?;
        if wraps && !self.is_never_negative(&exact, &low) {
            // The loop's index alone is seen not to be negative at run time, else all blocks run in order.
            let rest = exact.minus(&Poly::symbol(Symbol::Value(self.index)));
            if rest.as_constant().is_none_or(|n| n < 0) {
                return None;
            }
            *care = true;
        }
        Some((low, high.plus(&Poly::constant(1))))
    }

    /// The least and the greatest that a polynomial is when inner counters go through all their turns.
    fn over_counters(&mut self, exact: &Poly) -> Option<(Poly, Poly)> {
        let (mut low, mut high) = (exact.clone(), exact.clone());
        // Bounds of counters may be other counters': as deep as loops are.
        for _ in 0..=self.counters.len() {
            let uses = |c: &ValueId| low.uses(Symbol::Value(*c)) || high.uses(Symbol::Value(*c));
            let Some(counter) = self.counters.keys().copied().find(uses) else { return Some((low, high)) };
            let data = self.f.op(self.counters[&counter]);
            let (from, to) = (self.poly(data.operands[0])?, self.poly(data.operands[1])?);
            if self.poly(data.operands[2])?.as_constant()? < 1 {
                return None;
            }
            let last = to.minus(&Poly::constant(1));
            low = low.least(Symbol::Value(counter), &from, &last)?;
            high = high.greatest(Symbol::Value(counter), &from, &last)?;
        }
        None
    }

    /// Whether an index, of which this is the least over inner counters, is 0 or more in all iterations.
    fn is_never_negative(&mut self, exact: &Poly, least: &Poly) -> bool {
        // Where a counter runs from 0 to a value, that is positive.
        let mut positive = self.naturals.clone();
        for (&counter, &id) in &self.counters.clone() {
            let (from, to) = (self.poly(self.f.op(id).operands[0]), self.poly(self.f.op(id).operands[1]));
            let from_zero = from.and_then(|p| p.as_constant()).is_some_and(|n| n >= 0);
            if exact.uses(Symbol::Value(counter)) && from_zero {
                positive.extend(to.and_then(|p| p.as_symbol()));
            }
        }
        // The bounds of a block are made of those of the whole.
        let made = |v: ValueId, op: Op, k: usize| {
            self.defs[v.index()].map(|id| self.f.op(id)).filter(|o| o.op == op).map(|o| o.operands[k])
        };
        let [lo, hi] =
            [(0, Op::Add, 0), (1, Op::Select, 1)].map(|(k, op, from)| made(self.turns.operands[k], op, from));
        let (Some(lo), Some(hi)) = (lo, hi) else { return false };
        let (Some(lo), Some(hi)) = (self.poly(lo), self.poly(hi)) else { return false };
        let one = Poly::constant(1);
        let (first, last) = match self.poly(self.turns.operands[2]).and_then(|p| p.as_constant()) {
            Some(1..) => (lo, hi.minus(&one)),
            Some(_) => (hi.plus(&one), lo),
            None => return false,
        };
        // The factor of the loop's index may be such a value too: it is least where the index is.
        let index = Symbol::Value(self.index);
        let factor = least.coefficient(index).filter(|f| f.is_never_negative(&positive));
        let least = match factor {
            Some(factor) => Some(least.plus(&first.minus(&Poly::symbol(index)).times(&factor))),
            None => least.least(index, &first, &last),
        };
        least.is_some_and(|p| p.is_never_negative(&positive))
    }

    /// A value as a polynomial; `None` if it depends on the iteration in another way.
    fn poly(&mut self, v: ValueId) -> Option<Poly> {
        if v == self.index || self.counters.contains_key(&v) {
            return Some(Poly::symbol(Symbol::Value(v)));
        }
        let Some(data) = self.defs[v.index()].map(|id| self.f.op(id)) else {
            return (!self.inside.contains(&v)).then(|| Poly::symbol(Symbol::Value(v)));
        };
        let binary = match data.op {
            Op::Add | Op::Checked { op: BinOp::Add, .. } => Some(BinOp::Add),
            Op::Sub | Op::Checked { op: BinOp::Sub, .. } => Some(BinOp::Sub),
            Op::Mul | Op::Checked { op: BinOp::Mul, .. } => Some(BinOp::Mul),
            _ => None,
        };
        let is_wide = self.is_wide(v);
        match (&data.op, binary) {
            (Op::Const { value: Const::Int(n) }, _) => return Some(Poly::constant(*n)),
            (Op::NtDim { dim }, _) => {
                let dim = canon::dims(self.f, data.operands[0]).get(*dim as usize).copied()?;
                return self.size(dim);
            }
            (Op::Cast | Op::NtIndex { wrap: false, .. }, _) if is_wide && self.is_wide(data.operands[0]) => {
                return self.poly(data.operands[0]);
            }
            (_, Some(op)) if is_wide => {
                let (a, b) = (self.poly(data.operands[0])?, self.poly(data.operands[1])?);
                return Some(match op {
                    BinOp::Add => a.plus(&b),
                    BinOp::Sub => a.minus(&b),
                    _ => a.times(&b),
                });
            }
            _ => {}
        }
        if !self.inside.contains(&v) {
            return Some(Poly::symbol(Symbol::Value(v)));
        }
        // Computed in the loop of what does not change in it: equal computations are one symbol.
        if !data.regions.is_empty() || data.operands.is_empty() || self.f.effects(self.defs[v.index()]?).reads {
            return None;
        }
        let mut key = format!("{:?}", data.op);
        for &operand in &data.operands {
            let part = self.poly(operand)?;
            if self.varies(&part) {
                return None;
            }
            key.push_str(&format!(" {part:?}"));
        }
        let same = *self.numbers.entry(key).or_insert(v);
        Some(Poly::symbol(Symbol::Value(same)))
    }

    /// Whether a value is an integer of 64 bits: no others are taken to be what was computed.
    fn is_wide(&self, v: ValueId) -> bool {
        self.f.ty(v).scalar_dtype() == Some(DType::I64)
    }

    /// Whether a value was computed from what memory holds, at a place that depends on the iteration.
    fn is_from_memory(&self, v: ValueId) -> bool {
        let (mut reads, mut varies) = (false, false);
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![v]);
        while let Some(v) = waiting.pop() {
            if !self.inside.contains(&v) || !seen.insert(v) {
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
                None => varies |= v == self.index || !self.counters.contains_key(&v),
            }
        }
        reads && varies
    }

    /// A size; `None` if it depends on the iteration.
    fn size(&mut self, d: Dim) -> Option<Poly> {
        match d {
            Dim::Const(n) => Some(Poly::constant(i128::from(n))),
            Dim::Sym(s) if self.outer_sizes.contains(&s) => Some(Poly::symbol(Symbol::Size(s))),
            Dim::Sym(_) => {
                let v = *self.bound.get(&d)?;
                let size = self.poly(v)?;
                (!self.varies(&size)).then_some(size)
            }
        }
    }

    fn varies(&self, p: &Poly) -> bool {
        p.uses(Symbol::Value(self.index)) || self.counters.keys().any(|&c| p.uses(Symbol::Value(c)))
    }

    /// Whether two accesses of different iterations never meet.
    fn apart(&self, a: &Access, b: &Access) -> bool {
        let index = Symbol::Value(self.index);
        a.axes.iter().zip(&b.axes).any(|(a, b)| {
            let (Some((a_low, a_high)), Some((b_low, b_high))) = (a, b) else { return false };
            let Some(moves) = a_low.coefficient(index) else { return false };
            let all = [a_high, b_low, b_high];
            if !all.iter().all(|p| p.coefficient(index).as_ref() == Some(&moves)) {
                return false;
            }
            let needed = [a_high.minus(b_low), b_high.minus(a_low)];
            match moves.as_constant() {
                Some(0) => false,
                Some(c) if c.abs() >= 1 << 32 => false,
                Some(c) => needed.iter().all(|d| d.as_constant().is_some_and(|d| d <= c.abs() * self.step)),
                // As many as an inner loop has turns: if that is none or less, nothing is touched.
                None => needed.iter().all(|d| *d == moves),
            }
        })
    }

    fn race(&self, w: &Access, a: &Access) -> Diagnostic {
        let name = &self.f.values[w.root.index()].name;
        let what = if name.is_empty() { "an array".into() } else { format!("`{name}`") };
        let sure = w.axes.iter().chain(&a.axes).all(Option::is_some);
        let may = if sure { "touch" } else { "may touch" };
        let message = format!("iterations of a prange {may} the same elements of {what}");
        let d = Diagnostic::typing(w.span, message).label("one iteration writes here");
        let verb = if a.writes { "writes" } else { "reads" };
        let d = match a.span == w.span {
            true => d.other(self.turns.span, format!("another one {verb} there too")),
            false => d.other(a.span, format!("another {verb} here")),
        };
        d.help(match w.scattered && one_element(w) {
            true => "update it by one operator alone (`h[k] += v`), or by weft.atomic.add; or write it as a plain loop: range",
            false => "write it as a plain loop: range",
        })
    }
}

fn one_element(a: &Access) -> bool {
    a.axes.iter().all(|side| side.as_ref().is_none_or(|(low, high)| high.minus(low).as_constant() == Some(1)))
}
