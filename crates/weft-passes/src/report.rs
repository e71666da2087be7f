//! What became of a function's source, as notes on its places: read off the stages that a specialisation keeps, when somebody
//! asks. Compiling does nothing for it.
//!
//! Comes in: the stages, and what the runtime is told beside them. Goes out: notes in no order. Vectors are the code
//! generator's to tell (`weft_codegen::loop_remarks`).
//!
//! A note's text names other places by slots: `{of}` is ` of line 3` (nothing where that is the note's own line), `{at}` is
//! `line 3` (and there is no note at all where that is its own).

use crate::loops::{self, Tested};
use crate::pipeline::Stages;
use crate::{canon, fuse, races};
use std::collections::{BTreeMap, BTreeSet};
use weft_diag::Span;
use weft_ir::{Func, Module, Op, OpId, RegionId, Stage, ValueId};

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Which operations share a loop.
    Fused,
    /// Threads.
    Parallel,
    /// SIMD.
    Vector,
    /// What is checked while it runs.
    Checks,
    /// Allocations and copies.
    Memory,
    /// Kernels and transfers.
    Device,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Fused => "fused",
            Kind::Parallel => "parallel",
            Kind::Vector => "vector",
            Kind::Checks => "checks",
            Kind::Memory => "memory",
            Kind::Device => "device",
        }
    }
}

/// How much time what a note tells may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// Nothing: it is what one wants.
    None,
    /// A little, or once.
    Some,
    /// Something for every item or turn.
    Much,
    /// An allocation or a copy on every turn.
    Most,
}

/// Something to say of a place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub span: Span,
    /// About what.
    pub kind: Kind,
    /// How bad it is.
    pub cost: Cost,
    /// The text, with slots.
    pub text: String,
    /// The places that the slots name.
    pub others: Vec<Span>,
}

/// What the stages do not say.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// Nanoseconds of work from which on a parallel region is given to several threads: 0 for `parallel=True`, none for
    /// `parallel=False`.
    pub parallel_from: Option<u64>,
    /// The user asked for no bounds checks.
    pub unchecked: bool,
    /// The user asked for all checks that there are.
    pub debug: bool,
    /// The device of kernels.
    pub device: String,
}

impl Circumstances {
    /// From how many things on, at so many nanoseconds each, threads share them.
    fn how_many(&self, things: &str, cost: u32) -> String {
        match self.parallel_from {
            Some(0) | None => ", however few: parallel=True".into(),
            Some(work) => {
                let least = work.div_ceil(u64::from(cost).max(1));
                format!(" from {least}{things} on, at about {cost} ns each")
            }
        }
    }
}

/// The notes of a function.
pub fn notes(stages: &Stages, given: &Circumstances) -> Vec<Note> {
    let mut notes = vec![];
    if let Some(kernel) = stages.ntensor.funcs.first().filter(|f| f.kernel && given.debug)
        && let Some(span) = kernel.ops.iter().map(|op| op.span).find(|span| span.is_known())
    {
        let text = "debug=True: work-items run one after the other on the host, in the interpreter, and device arrays \
                    are copied there and back";
        notes.push(Note { span, kind: Kind::Device, cost: Cost::Much, text: text.into(), others: vec![] });
    }
    let allocating = spans_with(&stages.loops, |op| matches!(op, Op::MemAlloc { .. }));
    let before = loops_of_operations(&stages.placed);
    recomputed(&stages.fused, &before, &mut notes);
    for f in &stages.fused.funcs {
        let tested = if f.kernel { Tested::default() } else { loops::tested(f) };
        let mut fused =
            Fused { f, defs: canon::definitions(f), given, allocating: &allocating, tested, notes: &mut notes };
        fused.region(f.body, &[], None);
    }
    for f in &stages.ntensor.funcs {
        blocks(f, &mut notes);
    }
    let pranges = spans_with(&stages.ntensor, |op| matches!(op, Op::ParBlocks { .. }));
    // What a kernel does in parallel, a device does.
    for f in stages.loops.funcs.iter().filter(|f| !f.kernel) {
        threads(f, f.body, false, &pranges, given, &mut notes);
    }
    notes
}

/// What iterations of a `prange` do to the same arrays.
fn blocks(f: &Func, notes: &mut Vec<Note>) {
    let mut note = |spans: Vec<Span>, cost, text: &str| {
        for span in spans.into_iter().collect::<BTreeSet<_>>() {
            notes.push(Note { span, kind: Kind::Parallel, cost, text: text.into(), others: vec![] });
        }
    };
    f.walk(&mut |id| {
        if let Op::ParBlocks { .. } = f.op(id).op {
            let told = races::told(f, id);
            note(told.trusted, Cost::None, "taken not to store where another iteration does: debug=True checks it");
            let text = "groups of iterations update copies of their own, at most 64 and 64 MB, where that pays";
            note(told.accumulated, Cost::Some, text);
        }
    });
}

/// Where loops begin that the vectoriser could do something for: innermost, and with no work that others do for them.
pub fn plain_loops(stages: &Stages) -> BTreeSet<(u32, u32)> {
    let mut found = BTreeSet::new();
    for f in stages.loops.funcs.iter().filter(|f| !f.kernel) {
        f.walk(&mut |id| {
            let data = f.op(id);
            if !is_loop(&data.op) {
                return;
            }
            let mut plain = true;
            f.walk_region(data.regions[0], &mut |inner| {
                let op = &f.op(inner).op;
                let routine = matches!(
                    op,
                    Op::MemReduce { .. }
                        | Op::MemScan { .. }
                        | Op::MemCopy { .. }
                        | Op::MemMatmul
                        | Op::MemProduct
                        | Op::MemBothSides
                        | Op::MemDot
                        | Op::MemCholesky
                        | Op::MemSolve
                        | Op::MemAlloc { .. }
                        | Op::MemZero
                        | Op::MemList { .. }
                        | Op::MemReserve
                        | Op::SimtLaunch { .. }
                );
                plain &= !is_loop(op) && !routine;
            });
            found.extend(plain.then_some((data.span.file, data.span.start)));
        });
    }
    found
}

fn is_loop(op: &Op) -> bool {
    matches!(op, Op::ParFor { .. } | Op::ScfFor | Op::ScfLoop)
}

fn spans_with(module: &Module, wanted: impl Fn(&Op) -> bool) -> BTreeSet<Span> {
    debug_assert_eq!(module.stage, Stage::Loops);
    let mut found = BTreeSet::new();
    for f in &module.funcs {
        f.walk(&mut |id| found.extend(wanted(&f.op(id).op).then_some(f.op(id).span)));
    }
    found
}

/// The operations of an elementwise body: what a user wrote, once each.
fn operations(f: &Func, id: OpId) -> BTreeSet<Span> {
    let mut spans = BTreeSet::new();
    for &region in &f.op(id).regions {
        f.walk_region(region, &mut |inner| {
            let data = f.op(inner);
            let computes = !matches!(data.op, Op::Const { .. } | Op::Cast | Op::Yield | Op::NtPosition { .. });
            spans.extend((computes && data.span.is_known()).then_some(data.span));
        });
    }
    spans
}

/// The loops that each operation is computed in.
fn loops_of_operations(module: &Module) -> BTreeMap<Span, Vec<Span>> {
    let mut found: BTreeMap<Span, Vec<Span>> = BTreeMap::new();
    for f in &module.funcs {
        f.walk(&mut |id| {
            if f.op(id).op == Op::NtElementwise {
                operations(f, id).into_iter().for_each(|span| found.entry(span).or_default().push(f.op(id).span));
            }
        });
    }
    found
}

/// Operations that are computed in more loops than before fusion.
fn recomputed(fused: &Module, before: &BTreeMap<Span, Vec<Span>>, notes: &mut Vec<Note>) {
    for (span, loops) in loops_of_operations(fused) {
        if before.get(&span).is_some_and(|once| once.len() < loops.len()) {
            let text = "computed again in each of the loops{of}, which is cheaper than to store it".into();
            notes.push(Note { span, kind: Kind::Fused, cost: Cost::None, text, others: loops });
        }
    }
}

/// A function at stage `fused`, where whole arrays and indices still are what the user wrote.
struct Fused<'a> {
    f: &'a Func,
    defs: Vec<Option<OpId>>,
    given: &'a Circumstances,
    /// Places that allocate in the end.
    allocating: &'a BTreeSet<Span>,
    tested: Tested,
    notes: &'a mut Vec<Note>,
}

impl Fused<'_> {
    fn note(&mut self, span: Span, kind: Kind, cost: Cost, text: impl Into<String>, others: &[Span]) {
        self.notes.push(Note { span, kind, cost, text: text.into(), others: others.to_vec() });
    }

    fn definition(&self, v: ValueId) -> Option<OpId> {
        self.defs[v.index()]
    }

    /// The elementwise op that computes an array, whatever was found out of its sizes since.
    fn computed(&self, v: ValueId) -> Option<OpId> {
        let def = self.definition(v)?;
        match self.f.op(def).op {
            Op::NtElementwise => Some(def),
            Op::NtRefine { .. } | Op::NtExpand { .. } | Op::NtWeaken => self.computed(self.f.op(def).operands[0]),
            _ => None,
        }
    }

    /// Walks a region inside these loops; `into`: what it computes goes into an array that is there, at that place.
    fn region(&mut self, region: RegionId, turns: &[Span], into: Option<Span>) {
        for &id in &self.f.region(region).ops {
            let data = self.f.op(id);
            let mut inside = turns.to_vec();
            let mut goes_into = None;
            match &data.op {
                Op::NtElementwise => self.elementwise(id, turns, into),
                Op::NtInto | Op::NtIntoAll => {
                    if into.is_none() {
                        self.into(id);
                    }
                    goes_into = Some(data.span);
                }
                Op::NtProduct => {
                    let text = "computed for each piece of the product, while it is in a cache";
                    self.note(data.span, Kind::Fused, Cost::None, text, &[]);
                    goes_into = Some(data.span);
                }
                Op::NtCopy => self.copy(id, turns),
                Op::NtAlloc { .. } | Op::NtMatmul | Op::NtScan { .. } | Op::NtCompress | Op::NtCholesky => {
                    self.allocates(data.results[0], data.span, turns);
                }
                Op::NtBothSides => {
                    let text = "products with vectors on both sides of a matrix: it is read once, if it is large";
                    self.note(data.span, Kind::Fused, Cost::None, text, &[]);
                    data.results.iter().for_each(|&v| self.allocates(v, data.span, turns));
                }
                Op::NtReduce { .. } => self.reduce(id, turns),
                Op::NtFold { .. } => {
                    self.fold(id, turns);
                    goes_into = Some(data.span);
                }
                Op::NtIndex { .. } => self.index(id, turns),
                Op::NtLoad { .. } | Op::NtStore { .. } => self.access(id),
                Op::Checked { .. } if !turns.is_empty() && !self.tested.exact.contains(&id) => {
                    self.note(data.span, Kind::Checks, Cost::Some, "ints are checked for overflow on every turn", &[]);
                }
                Op::ScfIf if self.is_taken(id) => {
                    let text = "taken from a product that is computed for many turns at once, where that pays";
                    self.note(data.span, Kind::Fused, Cost::None, text, &[]);
                    continue;
                }
                // The user's loop is the one inside.
                Op::ScfFor if self.is_cut(id) => {}
                Op::ScfFor | Op::ScfLoop => inside.push(data.span),
                _ => {}
            }
            if data.op != Op::NtElementwise {
                data.regions.iter().for_each(|&r| self.region(r, &inside, goes_into));
            }
        }
    }

    /// Whether a branch gives a part of a product that was computed before the turn, or computes it (`panels.rs`).
    fn is_taken(&self, id: OpId) -> bool {
        let is_product = |op: OpId| matches!(self.f.op(op).op, Op::NtMatmul | Op::NtDot);
        let [taken, computed] = self.f.op(id).regions[..] else { return false };
        let (taken, computed) = (&self.f.region(taken).ops, &self.f.region(computed).ops);
        let ([.., part, _], [own, _]) = (&taken[..], &computed[..]) else { return false };
        let from = self.f.op(*part).operands.first().and_then(|&v| self.definition(v));
        is_product(*own) && self.f.op(*own).span == self.f.op(id).span && from.is_some_and(is_product)
    }

    /// Whether a loop goes through the parts of a loop that was cut (`panels.rs`).
    fn is_cut(&self, id: OpId) -> bool {
        let data = self.f.op(id);
        let same = |&op: &OpId| self.f.op(op).op == Op::ScfFor && self.f.op(op).span == data.span;
        self.f.region(data.regions[0]).ops.iter().any(same)
    }

    fn elementwise(&mut self, id: OpId, turns: &[Span], into: Option<Span>) {
        let f = self.f;
        let data = f.op(id);
        let operations = operations(f, id);
        let all: Vec<Span> = operations.iter().copied().collect();
        // What is computed into another array stands where that is written.
        let at = into.unwrap_or(data.span);
        if all.len() > 1 {
            let text = format!("{} operations{{of}} are one loop", all.len());
            self.note(at, Kind::Fused, Cost::None, text, &all);
            for span in all {
                self.note(span, Kind::Fused, Cost::None, "computed in the loop of {at}", &[at]);
            }
        }
        if into.is_none() {
            let yields = f.region(data.regions[0]).ops.last().map(|&op| f.op(op).operands.clone()).unwrap_or_default();
            for (k, &v) in data.results.iter().enumerate() {
                let scalar = yields.get(k).and_then(|&v| self.definition(v)).map(|op| f.op(op).span);
                self.allocates(v, scalar.filter(|s| s.is_known()).unwrap_or(data.span), turns);
            }
        }
        for &v in &data.operands {
            let Some(producer) = self.computed(v) else { continue };
            let why = fuse::apart(f, producer, id);
            let text = format!("stored, and read again by the loop of {{at}}: {why}");
            self.note(f.op(producer).span, Kind::Fused, Cost::Some, text, &[at]);
        }
    }

    fn into(&mut self, id: OpId) {
        let span = self.f.op(id).span;
        let text = match self.allocating.contains(&span) {
            true => "computed straight into its place: a temporary only where the arrays overlap",
            false => "computed straight into its place: no temporary",
        };
        self.note(span, Kind::Memory, Cost::None, text, &[]);
    }

    fn copy(&mut self, id: OpId, turns: &[Span]) {
        let data = self.f.op(id);
        match self.computed(data.operands[1]) {
            Some(op) => {
                let why = match self.f.effects(op).may_raise {
                    true => "it can raise, and then nothing must have been written",
                    false => "it is used elsewhere too, or something between writes or can raise",
                };
                let cost = if turns.is_empty() { Cost::Some } else { Cost::Most };
                self.note(data.span, Kind::Memory, cost, format!("computed first and copied then: {why}"), &[]);
            }
            None => self.note(data.span, Kind::Memory, Cost::None, "copies its elements", &[]),
        }
    }

    fn reduce(&mut self, id: OpId, turns: &[Span]) {
        let data = self.f.op(id);
        self.allocates(data.results[0], data.span, turns);
        if let Some(producer) = self.computed(data.operands[0]) {
            let span = self.f.op(producer).span;
            let text = "stored before it is reduced: it is used elsewhere too, can raise, or something between writes";
            self.note(span, Kind::Fused, Cost::Some, text, &[]);
        }
    }

    fn fold(&mut self, id: OpId, turns: &[Span]) {
        let data = self.f.op(id);
        self.allocates(data.results[0], data.span, turns);
        self.note(data.span, Kind::Fused, Cost::None, "computed inside the reduction: no temporary", &[]);
    }

    /// A new array for a value. A single number is not worth a word.
    fn allocates(&mut self, v: ValueId, span: Span, turns: &[Span]) {
        let ty = self.f.ty(v);
        if ty.as_tensor().is_none_or(|t| t.rank() == 0) {
            return;
        }
        let name = ty.user_name();
        match turns.last() {
            None => self.note(span, Kind::Memory, Cost::Some, format!("allocates {name}"), &[]),
            Some(&turn) => {
                let text = format!("allocates {name} on every turn of the loop{{of}}");
                self.note(span, Kind::Memory, Cost::Most, text, &[turn]);
            }
        }
    }

    fn index(&mut self, id: OpId, turns: &[Span]) {
        let data = self.f.op(id);
        match turns.last() {
            Some(&turn) if self.tested.checks.contains(&id) => {
                let text =
                    "indices are tested before the loop{of}, which then runs without checks as far as they are inside";
                self.note(data.span, Kind::Checks, Cost::None, text, &[turn]);
            }
            Some(_) => {
                let why = if self.is_loaded(data.operands[0]) { ": its value comes from an array" } else { "" };
                self.note(data.span, Kind::Checks, Cost::Much, format!("an index is checked on every turn{why}"), &[]);
            }
            None => self.note(data.span, Kind::Checks, Cost::Some, "an index is checked", &[]),
        }
    }

    /// Whether a number was read from an array, casts aside.
    fn is_loaded(&self, v: ValueId) -> bool {
        let Some(def) = self.definition(v) else { return false };
        match self.f.op(def).op {
            Op::Cast => self.is_loaded(self.f.op(def).operands[0]),
            Op::NtLoad { .. } | Op::NtItem => true,
            _ => false,
        }
    }

    /// An element read or written: its indices that no check stands before.
    fn access(&mut self, id: OpId) {
        let data = self.f.op(id);
        let indices = if let Op::NtStore { .. } = data.op { &data.operands[2..] } else { &data.operands[1..] };
        let checked = |&v: &ValueId| self.definition(v).is_some_and(|d| matches!(self.f.op(d).op, Op::NtIndex { .. }));
        if !indices.is_empty() && !indices.iter().all(checked) {
            let text = match () {
                _ if self.f.kernel && !self.given.debug => "indices are not checked: kernels do not",
                _ if self.given.unchecked => "indices are not checked: boundscheck=False",
                _ => "indices are known to be inside: no check",
            };
            self.note(data.span, Kind::Checks, Cost::None, text, &[]);
        }
    }
}

/// What routines do that give their work to threads themselves.
const BY_BLOCKS: &str = "on several threads by blocks, where there is enough to do";

/// Threads and kernels, in a region at stage `loops`. `chosen`: that of a branch.
fn threads(
    f: &Func,
    region: RegionId,
    chosen: bool,
    pranges: &BTreeSet<Span>,
    given: &Circumstances,
    notes: &mut Vec<Note>,
) {
    let ops = &f.region(region).ops;
    for (at, &id) in ops.iter().enumerate() {
        let data = f.op(id);
        // What moves arrays stands nowhere in the source: it is there for what comes next.
        let place = ops[at..].iter().map(|&op| f.op(op).span).find(|span| span.is_known());
        let mut note = |kind, cost, text: String| {
            notes.push(Note { span: place.unwrap_or(Span::NONE), kind, cost, text, others: vec![] });
        };
        match &data.op {
            Op::ParFor { .. } | Op::ParBlocks { .. } if given.parallel_from.is_none() => {
                note(Kind::Parallel, Cost::Some, "on one thread: parallel=False".into());
                continue;
            }
            Op::ParFor { cost, .. } => {
                // A routine takes a block at a time; how many items that are, it says itself.
                let mut blocks = false;
                f.walk_region(data.regions[0], &mut |inner| {
                    blocks |= matches!(
                        f.op(inner).op,
                        Op::MemReduce { .. }
                            | Op::MemCopy { .. }
                            | Op::MemMatmul
                            | Op::MemProduct
                            | Op::MemBothSides
                            | Op::MemDot
                    );
                });
                let text = match blocks {
                    true => BY_BLOCKS.into(),
                    false => format!("on several threads{}", given.how_many(" items", *cost)),
                };
                note(Kind::Parallel, Cost::None, text);
                continue;
            }
            Op::ParBlocks { .. } if !pranges.contains(&data.span) => {
                note(Kind::Parallel, Cost::None, BY_BLOCKS.into());
                continue;
            }
            // A copy in a branch is hardly the user's: it is made if arrays meet.
            Op::MemCopy { .. } if chosen => {}
            Op::MemMatmul | Op::MemProduct | Op::MemBothSides | Op::MemCopy { .. } => {
                match given.parallel_from {
                    None => note(Kind::Parallel, Cost::Some, "on one thread: parallel=False".into()),
                    Some(_) => note(Kind::Parallel, Cost::None, BY_BLOCKS.into()),
                }
                continue;
            }
            Op::ParBlocks { cost: weft_ir::UNKNOWN_COST } if given.parallel_from != Some(0) => {
                let text = "iterations on several threads, unless they took little the last time";
                note(Kind::Parallel, Cost::None, text.into());
                continue;
            }
            Op::ParBlocks { cost } => {
                let text = format!("iterations on several threads{}", given.how_many("", *cost));
                note(Kind::Parallel, Cost::None, text);
                continue;
            }
            Op::SimtLaunch { .. } => note(Kind::Device, Cost::None, format!("a kernel on {}", given.device)),
            Op::MemNeed { at, .. } => {
                let text = match at.is_host() {
                    true => "copied back to the host, unless the host has it".to_owned(),
                    false => format!("copied to {}, unless it is there", given.device),
                };
                note(Kind::Device, Cost::Some, text);
            }
            // What the blocks of a prange reduced is combined by a short loop of its own.
            Op::ScfFor | Op::ScfLoop if !has_parallel(f, id) && !is_after_blocks(f, data.span) => {
                note(Kind::Parallel, Cost::None, "in order, on one thread".into());
            }
            _ => {}
        }
        let chosen = data.op == Op::ScfIf;
        data.regions.iter().for_each(|&r| threads(f, r, chosen, pranges, given, notes));
    }
}

fn is_after_blocks(f: &Func, span: Span) -> bool {
    f.ops.iter().any(|o| matches!(o.op, Op::ParBlocks { .. }) && o.span == span)
}

fn has_parallel(f: &Func, id: OpId) -> bool {
    let mut found = false;
    for &region in &f.op(id).regions {
        f.walk_region(region, &mut |inner| {
            found |= matches!(f.op(inner).op, Op::ParFor { .. } | Op::SimtLaunch { .. });
        });
    }
    found
}
