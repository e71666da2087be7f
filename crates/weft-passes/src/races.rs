//! Races in `prange`: whether two iterations can touch one element, one of them writing.
//!
//! Comes in: a typed function. Every access to an array made outside the loop is taken as one box: for each axis the first
//! index and the one after the last, both sums of products of the loop's index and values that do not change in it; inner
//! counters are replaced by their bounds. In which iterations two boxes meet is [`dependence`]'s to say. What may meet in
//! different ones is refused with both places, but for stores to places that were read from memory: `a[p[i]] = v` is the
//! program's promise. An array that is only updated, by one operator, is an accumulator
//! (`accumulate`): each group of iterations gets a copy of its own (`private`).
//!
//! Arrays that are different values outside are compared at run time (`loops`): if they overlap, the caller runs all blocks.

mod accumulate;
mod kept;
mod private;
mod shadow;
pub(crate) mod update;

use crate::analysis::access::{Access, Accesses};
use crate::analysis::alias::root;
use crate::canon;
use accumulate::{Accumulator, Finder};
use std::collections::BTreeSet;
use weft_diag::{Diagnostic, Span};
use weft_ir::attr::Const;
use weft_ir::{Func, Op, OpData, OpId, RegionId, Site, ValueId};

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
        let defs = canon::definitions(f);
        let Some(mut check) = Check::of(f, &defs, id) else { continue };
        let needs_care = check.run()?;
        let (accumulators, pairs) = (std::mem::take(&mut check.accumulators), check.meetings());
        let (body, index, promised) =
            (check.turns.regions[0], check.of.forms.index, std::mem::take(&mut check.promised));
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
    let defs = canon::definitions(f);
    let Some(mut check) = Check::of(f, &defs, id) else { return told };
    // What groups of blocks have for themselves looks like a race to one that does not know of groups.
    if check.region(check.turns.regions[0]).is_err() {
        return told;
    }
    let all = std::mem::take(&mut check.accesses);
    for w in all.iter().filter(|a| a.writes && !a.atomic) {
        let is_copy = f.region(f.op(id).regions[0]).ops.iter().any(|&op| f.op(op).results.contains(&w.root));
        if is_copy {
            told.accumulated.push(w.span);
        } else if w.scattered && !check.of.apart(w, w) {
            told.trusted.push(w.span);
        }
    }
    told
}

/// Whether an op only names arrays, and touches no element.
fn only_names(op: &Op) -> bool {
    matches!(
        op,
        Op::NtView { .. } | Op::NtRefine { .. } | Op::NtWeaken | Op::NtReshape | Op::NtDim { .. } | Op::NtStride { .. }
    )
}

struct Check<'f> {
    f: &'f Func,
    /// The `scf.for` over the iterations of a block.
    turns: &'f OpData,
    of: Accesses<'f>,
    accesses: Vec<Access>,
    /// Where an array that may be any is read.
    read_anywhere: Option<Span>,
    /// Arrays that the loop only updates.
    accumulators: Vec<Accumulator>,
    /// Arrays with stores that are taken not to meet.
    promised: BTreeSet<ValueId>,
}

impl<'f> Check<'f> {
    fn of(f: &'f Func, defs: &'f [Option<OpId>], id: OpId) -> Option<Check<'f>> {
        let blocks = f.op(id);
        let mut ops = &f.region(blocks.regions[0]).ops;
        let mut turns = ops.iter().map(|&op| f.op(op)).find(|o| o.op == Op::ScfFor)?;
        // Where blocks are in groups, each with arrays of its own, the blocks come first.
        let has_copies = |o: &OpData| o.op == Op::ScfIf && o.results.iter().any(|&v| f.ty(v).as_tensor().is_some());
        if ops.iter().any(|&op| has_copies(f.op(op))) {
            ops = &f.region(turns.regions[0]).ops;
            turns = ops.iter().map(|&op| f.op(op)).find(|o| o.op == Op::ScfFor)?;
        }
        // The bounds of a block are made of those of the whole.
        let made = |v: ValueId, op: Op, k: usize| {
            defs[v.index()].map(|id| f.op(id)).filter(|o| o.op == op).map(|o| o.operands[k])
        };
        let whole = made(turns.operands[0], Op::Add, 0).zip(made(turns.operands[1], Op::Select, 1));
        let mut of = Accesses::new(f, defs, turns, whole);
        // Cells that a block has for itself.
        let cells = ops.iter().map(|&op| f.op(op)).filter(|o| o.op == Op::CellNew);
        of.forms.inside.extend(cells.flat_map(|o| o.results.iter().copied()));
        let (accumulators, promised) = (vec![], BTreeSet::new());
        Some(Check { f, turns, of, accesses: vec![], read_anywhere: None, accumulators, promised })
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
                if self.of.apart(w, a) {
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
        plain && (w.scattered || a.scattered) && w.is_one_element() && a.is_one_element()
    }

    /// The access by an op that keeps an array from being an accumulator, if it meets the write that was found.
    fn culprit<'a>(&self, all: &'a [Access], w: &Access, id: OpId) -> Option<&'a Access> {
        let span = self.f.op(id).span;
        all.iter().find(|a| a.root == w.root && a.span == span && a.span != w.span && !self.of.apart(w, a))
    }

    fn accumulator(&self, root: ValueId) -> Result<Accumulator, OpId> {
        let body = self.turns.regions[0];
        Finder::new(self.f, self.of.defs, &self.of.forms.inside, &self.of.forms.bound, body).find(body, root)
    }

    /// Arrays of which one is written: an accumulator's copies hold only what others do not see if none of them meet.
    fn meetings(&self) -> Vec<(ValueId, ValueId)> {
        let (mut used, mut changed) = (BTreeSet::new(), BTreeSet::new());
        self.f.walk_region(self.turns.regions[0], &mut |id| {
            let data = self.f.op(id);
            let outer = |v: &ValueId| !self.of.forms.inside.contains(v);
            let roots = data.operands.iter().filter(|&&v| self.f.ty(v).as_tensor().is_some());
            used.extend(roots.map(|&v| root(self.f, self.of.defs, v)).filter(outer));
            changed.extend(data.written().iter().map(|&v| root(self.f, self.of.defs, v)).filter(outer));
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
        let outer = |v: &&ValueId| !self.of.forms.inside.contains(v);
        let plain = "write it as a plain loop: range";
        match &data.op {
            Op::Call { .. } => return refuse("a function that calls itself cannot be called in a prange yet", plain),
            Op::ListSet | Op::ListPush | Op::ListReserve | Op::ListRoom | Op::ListTruncate
                if outer(&&data.operands[0]) =>
            {
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
        let root = root(self.f, self.of.defs, v);
        let made = self.of.defs[root.index()].map(|id| &self.f.op(id).op);
        self.of.forms.inside.contains(&root) && made.is_some_and(|op| op.effects().fresh || *op == Op::NtNull)
    }

    fn access(&mut self, data: &'f OpData, v: ValueId, writes: bool) -> Result<(), Diagnostic> {
        let root = root(self.f, self.of.defs, v);
        if self.inside_root(v) {
            return Ok(());
        }
        if self.of.forms.inside.contains(&root) {
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
        self.accesses.push(self.of.of(data, v, writes));
        Ok(())
    }

    fn any_array(&self, span: Span) -> Diagnostic {
        let what = "which array this is depends on the iteration of a prange, and so whether iterations meet";
        let d = Diagnostic::unsupported(span, what).other(self.turns.span, "the prange");
        d.help("write it as a plain loop: range")
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
        d.help(match w.scattered && w.is_one_element() {
            true => "update it by one operator alone (`h[k] += v`), or by weft.atomic.add; or write it as a plain loop: range",
            false => "write it as a plain loop: range",
        })
    }
}
