//! `placed` → `fused`: neighbouring elementwise ops become one, so that removable temporaries are never stored.
//!
//! Comes in: blocks whose `nt.elementwise` ops all run at the block's place. Goes out: the same scalar ops in fewer
//! `nt.elementwise`; a result is stored only if something outside its group uses it. Bits do not change.
//!
//! A block is a graph: an op depends on the ops that define its operands, ops that raise or write keep their order,
//! and nothing moves up past a possible `return`. Two groups over one iteration space (equal sizes, by symbol) merge
//! when one uses the other's result, or when both read an array; never when an op outside would have to run between
//! them. A cheap producer over a smaller space is recomputed in its consumers instead of stored. Scalar constants
//! move into bodies. A result that is only reduced is folded as it is computed (`nt.fold`); on the host, one that is only copied into
//! another array is computed there (`nt.into`).

use crate::{PassCx, canon, flat, forward};
use std::collections::{BTreeMap, BTreeSet};
use weft_diag::Diagnostic;
use weft_ir::attr::{Const, Fold};
use weft_ir::math::By;
use weft_ir::{Builder, Dim, Func, Layout, Module, Op, OpData, OpId, RegionId, Stage, TensorType, Type, ValueId};

/// Most scalar ops in one body.
pub(crate) const MAX_BODY: usize = 256;
/// Most arrays read and written by one op: what hardware prefetchers follow.
pub(crate) const MAX_STREAMS: usize = 16;
/// Most scalar ops of what is computed of every element, where only some are written.
const MAX_PUT: usize = 24;
/// Most scalar ops of a producer that is recomputed rather than stored and loaded.
const MAX_RECOMPUTED: usize = 4;

/// The pass.
pub fn run(mut m: Module, _cx: &PassCx) -> Result<Module, Diagnostic> {
    for f in m.funcs.iter_mut().filter(|f| !f.kernel) {
        canon::known_sizes(f);
        canon::cse(f);
        canon::dce(f);
        // `x[i:j] += y` ends by writing the slice into itself.
        let idle = |o: &OpData| o.op == Op::NtCopy && o.operands[0] == o.operands[1];
        let ops = &f.ops;
        f.regions.iter_mut().for_each(|region| region.ops.retain(|&op| !idle(&ops[op.index()])));
        let mut regions = vec![(f.body, true)];
        f.walk(&mut |op| {
            let op = f.op(op);
            if op.op != Op::NtElementwise {
                let host = !matches!(&op.op, Op::EnvRegion { at } if !at.is_host());
                regions.extend(op.regions.iter().map(|&r| (r, host)));
            }
        });
        for (region, host) in regions {
            // Each step looks at the whole function: only where there is something to do.
            let computes = |id: &OpId| matches!(f.op(*id).op, Op::NtElementwise | Op::EnvRegion { .. } | Op::NtPut);
            if !f.region(region).ops.iter().any(computes) {
                continue;
            }
            forward::run(f, region);
            if host {
                flat::run(f, region);
            }
            sink_constants(f, region);
            merge(f, region, false);
            while recompute(f, region) {
                merge(f, region, false);
            }
            fold_in_place(f, region);
            // Siblings last: what one of them stores is no longer cheap to recompute.
            merge(f, region, true);
            if host {
                store_in_place(f, region);
                put_in_place(f, region);
            }
        }
        canon::cse(f);
        canon::dce(f);
    }
    m.stage = Stage::Fused;
    Ok(m)
}

/// Offers every op of a region, and of what is inside its control flow, to `step` by its position. A step that has dealt with it says
/// where to go on.
pub(crate) fn each_op(
    f: &mut Func,
    region: RegionId,
    step: &mut dyn FnMut(&mut Func, RegionId, usize) -> Option<usize>,
) {
    let mut at = 0;
    while let Some(&id) = f.region(region).ops.get(at) {
        if let Some(next) = step(f, region, at) {
            at = next;
            continue;
        }
        at += 1;
        use Op::{ParBlocks, ScfBlock, ScfFor, ScfIf, ScfLoop, ScfTry};
        if matches!(f.op(id).op, ScfIf | ScfFor | ScfLoop | ScfBlock | ScfTry | ParBlocks { .. }) {
            f.op(id).regions.clone().into_iter().for_each(|r| each_op(f, r, step));
        }
    }
}

pub(crate) fn is_elementwise(f: &Func, op: OpId) -> bool {
    f.op(op).op == Op::NtElementwise
}

/// Sizes of the iteration space.
pub(crate) fn space(f: &Func, op: OpId) -> &[Dim] {
    canon::dims(f, f.op(op).results[0])
}

pub(crate) fn body_size(f: &Func, op: OpId) -> usize {
    let mut n = 0;
    f.op(op).regions.iter().for_each(|&r| f.walk_region(r, &mut |_| n += 1));
    n
}

// ---- groups ----------------------------------------------------------------------------------

/// The ops of one block, which group each belongs to, and what must run before what.
struct Graph {
    ops: Vec<OpId>,
    /// Group of each op: the index of its last member.
    group: Vec<usize>,
    /// Ops that each op depends on.
    before: Vec<BTreeSet<usize>>,
}

impl Graph {
    fn new(f: &Func, region: RegionId) -> Graph {
        let ops = f.region(region).ops.clone();
        let mut before = vec![BTreeSet::new(); ops.len()];
        let mut defined: BTreeMap<ValueId, usize> = BTreeMap::new();
        let mut bound: BTreeMap<Dim, usize> = BTreeMap::new();
        let mut last_ordered: Option<usize> = None;
        let mut last_write: Option<usize> = None;
        let mut last_exit: Option<usize> = None;
        let mut readers: Vec<usize> = vec![];
        for (i, &id) in ops.iter().enumerate() {
            let mut used = vec![];
            uses_in(f, id, &mut used);
            before[i].extend(used.iter().filter_map(|v| defined.get(v)));
            results_in(f, id, &mut used);
            before[i].extend(used.iter().flat_map(|&v| canon::dims(f, v)).filter_map(|d| bound.get(d)));
            let e = f.effects(id);
            if matches!(f.op(id).op.dialect(), "scf" | "list") {
                // An array that comes out of control flow binds the symbols that it is the first to have.
                for d in f.op(id).results.iter().flat_map(|&v| canon::dims(f, v)) {
                    bound.entry(*d).or_insert(i);
                }
            }
            if let Op::ShapeBind { dim } = f.op(id).op {
                bound.insert(dim, i);
            } else {
                if e.may_raise || e.writes || e.exits {
                    before[i].extend(last_ordered);
                    last_ordered = Some(i);
                }
                if e.writes {
                    before[i].extend(readers.drain(..));
                    last_write = Some(i);
                } else if e.reads {
                    before[i].extend(last_write);
                    readers.push(i);
                }
            }
            // Work after a possible return is not done before it.
            before[i].extend(last_exit);
            if e.exits {
                last_exit = Some(i);
            }
            if f.op(id).op.is_terminator() {
                before[i].extend(0..i);
            }
            defined.extend(f.op(id).results.iter().map(|&v| (v, i)));
        }
        Graph { group: (0..ops.len()).collect(), ops, before }
    }

    fn members(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.ops.len()).filter(move |&i| self.group[i] == group)
    }

    /// Groups that a group depends on directly.
    fn needs(&self, group: usize) -> BTreeSet<usize> {
        let all = self.members(group).flat_map(|i| self.before[i].iter().map(|&d| self.group[d]));
        all.filter(|&g| g != group).collect()
    }

    /// Whether `from` depends on `to` by a path that passes through another group.
    fn depends_around(&self, from: usize, to: usize) -> bool {
        let mut todo: Vec<usize> = self.needs(from).into_iter().filter(|&g| g != to).collect();
        let mut seen = BTreeSet::new();
        while let Some(g) = todo.pop() {
            if g == to {
                return true;
            }
            if seen.insert(g) {
                todo.extend(self.needs(g));
            }
        }
        false
    }

    /// Groups in an order that keeps every dependence, and otherwise the order of their last members.
    fn schedule(&self) -> Vec<usize> {
        let mut waiting: BTreeSet<usize> = self.group.iter().copied().collect();
        let mut order = vec![];
        while !waiting.is_empty() {
            let ready = waiting.iter().copied().find(|&g| self.needs(g).is_disjoint(&waiting));
            let g = ready.expect("merging keeps the graph free of cycles");
            waiting.remove(&g);
            order.push(g);
        }
        order
    }
}

/// Values that an op uses, itself or inside its regions.
fn uses_in(f: &Func, id: OpId, out: &mut Vec<ValueId>) {
    out.extend(&f.op(id).operands);
    for &r in &f.op(id).regions {
        f.walk_region(r, &mut |op| out.extend(&f.op(op).operands));
    }
}

/// Values that an op defines, itself or inside its regions.
fn results_in(f: &Func, id: OpId, out: &mut Vec<ValueId>) {
    out.extend(&f.op(id).results);
    for &r in &f.op(id).regions {
        f.walk_region(r, &mut |op| out.extend(&f.op(op).results));
    }
}

/// Merges groups of one block until no pair fits, then rewrites the block. Without `siblings` only producers and
/// consumers merge.
fn merge(f: &mut Func, region: RegionId, siblings: bool) {
    let mut g = Graph::new(f, region);
    let uses = f.use_counts();
    let mut changed = false;
    let mut from = 0;
    while let Some((a, b)) = find_pair(f, &g, from, siblings) {
        g.group.iter_mut().filter(|k| **k == a).for_each(|k| *k = b);
        changed = true;
        // Pairs before this one did not fit, and merging others later does not make them fit.
        from = b;
    }
    if !changed {
        return;
    }
    let mut ops = vec![];
    for group in g.schedule() {
        let members: Vec<OpId> = g.members(group).map(|i| g.ops[i]).collect();
        ops.push(if let [one] = members[..] { one } else { build(f, &members, &uses) });
    }
    f.regions[region.index()].ops = ops;
}

/// The first pair that fits, from op `from` on; the later group names both.
fn find_pair(f: &Func, g: &Graph, from: usize, siblings: bool) -> Option<(usize, usize)> {
    let heads: Vec<usize> = (0..g.ops.len()).filter(|&i| g.group[i] == i && is_elementwise(f, g.ops[i])).collect();
    for (k, &b) in heads.iter().enumerate().filter(|(_, b)| **b >= from) {
        for &a in heads[..k].iter().rev() {
            if fits(f, g, a, b, siblings) && !g.depends_around(b, a) && !g.depends_around(a, b) {
                return Some((a, b));
            }
        }
    }
    None
}

/// Whether two groups may share a loop, dependences aside.
fn fits(f: &Func, g: &Graph, a: usize, b: usize, siblings: bool) -> bool {
    if space(f, g.ops[a]) != space(f, g.ops[b]) {
        return false;
    }
    let of = |group: usize| g.members(group).map(|i| g.ops[i]).collect::<Vec<_>>();
    let (left, right) = (of(a), of(b));
    let linked = g.needs(b).contains(&a) || g.needs(a).contains(&b);
    let arrays = |ops: &[OpId]| -> BTreeSet<ValueId> {
        let used = ops.iter().flat_map(|&op| f.op(op).operands.iter().copied());
        used.filter(|&v| f.ty(v).as_tensor().is_some()).collect()
    };
    let (reads_left, reads_right) = (arrays(&left), arrays(&right));
    let layout = |ops: &[OpId]| f.ty(f.op(ops[0]).results[0]).as_tensor().map(|t| t.layout);
    let siblings = siblings && !reads_left.is_disjoint(&reads_right) && layout(&left) == layout(&right);
    let both: Vec<OpId> = left.iter().chain(&right).copied().collect();
    let size: usize = both.iter().map(|&op| body_size(f, op)).sum();
    let results = both.iter().map(|&op| f.op(op).results.len()).sum::<usize>();
    let streams = reads_left.union(&reads_right).count() + results;
    // Which of two raises comes first must not depend on who is fused with whom.
    let raising = both.iter().filter(|&&op| f.effects(op).may_raise).count();
    (linked || siblings) && size <= MAX_BODY && (linked || streams <= MAX_STREAMS) && raising < 2
}

/// Why an elementwise op and one that reads its result did not become one, for the report.
pub(crate) fn apart(f: &Func, producer: OpId, consumer: OpId) -> &'static str {
    let both = [producer, consumer];
    let (a, b) = (space(f, producer), space(f, consumer));
    if a != b {
        let known = |dims: &[Dim]| dims.iter().all(|d| matches!(d, Dim::Const(_)));
        let differ = a.len() != b.len() || (known(a) && known(b));
        return if differ { "their sizes differ" } else { "their sizes are not known to be equal" };
    }
    if both.iter().map(|&op| body_size(f, op)).sum::<usize>() > MAX_BODY {
        return "one loop would be too long";
    }
    if both.iter().all(|&op| f.effects(op).may_raise) {
        return "both can raise, and which does so first must not change";
    }
    "something between them must come first"
}

/// One op that does what the members do, in their order.
fn build(f: &mut Func, members: &[OpId], uses: &[u32]) -> OpId {
    let parts: Vec<OpData> = members.iter().map(|&op| f.op(op).clone()).collect();
    let mut inner_uses: BTreeMap<ValueId, u32> = BTreeMap::new();
    for v in parts.iter().flat_map(|p| &p.operands) {
        *inner_uses.entry(*v).or_default() += 1;
    }
    let region = f.new_region();
    let mut operands: Vec<ValueId> = vec![];
    // The scalar that stands for each operand, and for each member's result.
    let mut scalars: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    let mut results = vec![];
    let mut yields = vec![];
    for p in &parts {
        let args = f.region(p.regions[0]).args.clone();
        let mut map = BTreeMap::new();
        for (&v, &a) in p.operands.iter().zip(&args) {
            let ty = f.ty(a).clone();
            let mut b = Builder { func: f, region, span: p.span };
            let scalar = *scalars.entry(v).or_insert_with(|| {
                operands.push(v);
                b.arg(ty.clone())
            });
            let scalar = b.cast(scalar, ty);
            map.insert(a, scalar);
        }
        let out = inline(f, p.regions[0], region, &mut map, &|op| op.clone());
        for (&v, s) in p.results.iter().zip(out) {
            scalars.insert(v, s);
            if uses[v.index()] > inner_uses.get(&v).copied().unwrap_or(0) {
                results.push(v);
                yields.push(s);
            }
        }
    }
    let last = &parts[parts.len() - 1];
    if results.is_empty() {
        // Only its raises matter; the op still has a space, and so a result.
        results.push(last.results[0]);
        yields.push(scalars[&last.results[0]]);
    }
    let span = last.span;
    Builder { func: f, region, span }.effect(Op::Yield, &yields);
    let regions = vec![region].into();
    let data = OpData { op: Op::NtElementwise, operands: operands.into(), results: results.into(), regions, span };
    f.ops.push(data);
    OpId((f.ops.len() - 1) as u32)
}

/// Copies a body's ops to the end of another region; returns what it yields. `change` may replace an op.
pub(crate) fn inline(
    f: &mut Func,
    from: RegionId,
    to: RegionId,
    map: &mut BTreeMap<ValueId, ValueId>,
    change: &dyn Fn(&Op) -> Op,
) -> Vec<ValueId> {
    let mut yields = vec![];
    for id in f.region(from).ops.clone() {
        let data = f.op(id).clone();
        let operands: Vec<ValueId> = data.operands.iter().map(|v| map.get(v).copied().unwrap_or(*v)).collect();
        if data.op == Op::Yield {
            yields = operands;
            break;
        }
        copy_op(f, &data, &operands, to, map, change);
    }
    yields
}

fn copy_op(
    f: &mut Func,
    data: &OpData,
    operands: &[ValueId],
    to: RegionId,
    map: &mut BTreeMap<ValueId, ValueId>,
    change: &dyn Fn(&Op) -> Op,
) {
    let mut regions = vec![];
    for &r in &data.regions {
        let new = f.new_region();
        for a in f.region(r).args.clone() {
            let ty = f.ty(a).clone();
            map.insert(a, Builder { func: f, region: new, span: data.span }.arg(ty));
        }
        for inner in f.region(r).ops.clone() {
            let inner = f.op(inner).clone();
            let operands: Vec<ValueId> = inner.operands.iter().map(|v| map.get(v).copied().unwrap_or(*v)).collect();
            copy_op(f, &inner, &operands, new, map, change);
        }
        regions.push(new);
    }
    let types: Vec<Type> = data.results.iter().map(|&v| f.ty(v).clone()).collect();
    let new = Builder { func: f, region: to, span: data.span }.op(change(&data.op), operands, &types, &regions);
    for (i, &v) in data.results.iter().enumerate() {
        let result = f.op(new).results[i];
        map.insert(v, result);
        let name = f.values[v.index()].name.clone();
        f.values[result.index()].name = name;
    }
}

// ---- producers over a smaller space ----------------------------------------------------------

/// Inlines one cheap producer that is broadcast into its consumers; says whether there was one.
fn recompute(f: &mut Func, region: RegionId) -> bool {
    let uses = f.use_counts();
    let ops = f.region(region).ops.clone();
    for &p in &ops {
        let cheap = is_elementwise(f, p)
            && f.op(p).results.len() == 1
            && body_size(f, p) <= MAX_RECOMPUTED + 1
            && !f.effects(p).may_raise
            && !has_transcendental(f, p);
        if !cheap {
            continue;
        }
        let result = f.op(p).results[0];
        let consumers: Vec<OpId> =
            ops.iter().copied().filter(|&c| is_elementwise(f, c) && f.op(c).operands.contains(&result)).collect();
        let read: usize = consumers.iter().map(|&c| f.op(c).operands.iter().filter(|&&v| v == result).count()).sum();
        // Stored anyway, or read too often: then it is cheaper to load it.
        if read == 0 || read != uses[result.index()] as usize || consumers.len() > 2 {
            continue;
        }
        if writes_between(f, &ops, p, consumers[consumers.len() - 1])
            || consumers.iter().any(|&c| space(f, c) == space(f, p) || body_size(f, c) + MAX_RECOMPUTED > MAX_BODY)
        {
            continue;
        }
        for c in consumers {
            let new = broadcast_into(f, p, c);
            let at = f.regions[region.index()].ops.iter_mut().find(|op| **op == c);
            *at.expect("the consumer stands in this region") = new;
        }
        f.regions[region.index()].ops.retain(|&op| op != p);
        return true;
    }
    false
}

fn writes_between(f: &Func, ops: &[OpId], first: OpId, last: OpId) -> bool {
    let from = ops.iter().skip_while(|&&op| op != first);
    from.take_while(|&&op| op != last).any(|&op| f.effects(op).writes && !matches!(f.op(op).op, Op::ShapeBind { .. }))
}

fn has_transcendental(f: &Func, op: OpId) -> bool {
    has(f, op, |op| op.dialect() == "math" || *op == Op::Pow)
}

/// Whether what an op computes of an element takes a call of a function.
fn has_call(f: &Func, op: OpId) -> bool {
    has(f, op, |op| match op {
        Op::Math { function, .. } => function.by() != By::Instruction,
        op => *op == Op::Pow,
    })
}

/// Whether a body has such an op.
pub(crate) fn has(f: &Func, id: OpId, is: impl Fn(&Op) -> bool) -> bool {
    let mut found = false;
    f.op(id).regions.iter().for_each(|&r| f.walk_region(r, &mut |op| found |= is(&f.op(op).op)));
    found
}

/// The consumer with the producer's body in front of its own.
fn broadcast_into(f: &mut Func, p: OpId, c: OpId) -> OpId {
    let (producer, mut new) = (f.op(p).clone(), f.op(c).clone());
    let small = space(f, p).to_vec();
    let skip = space(f, c).len() - small.len();
    let region = f.new_region();
    let mut operands: Vec<ValueId> = vec![];
    let mut map = BTreeMap::new();
    let all = new.operands.iter().zip(f.region(new.regions[0]).args.clone());
    let all = all.filter(|(v, _)| **v != producer.results[0]);
    let inputs: Vec<(ValueId, ValueId)> = all
        .chain(producer.operands.iter().zip(f.region(producer.regions[0]).args.clone()))
        .map(|(v, a)| (*v, a))
        .collect();
    for (v, a) in inputs {
        operands.push(v);
        let ty = f.ty(a).clone();
        map.insert(a, Builder { func: f, region, span: new.span }.arg(ty));
    }
    // Positions of the small space are positions of the large one, or 0 where it is broadcast.
    let moved = |op: &Op| match op {
        Op::NtPosition { dim } if small[*dim as usize] == Dim::Const(1) => Op::Const { value: Const::Int(0) },
        Op::NtPosition { dim } => Op::NtPosition { dim: dim + skip as u32 },
        other => other.clone(),
    };
    let out = inline(f, producer.regions[0], region, &mut map, &moved);
    for (v, a) in new.operands.clone().iter().zip(f.region(new.regions[0]).args.clone()) {
        if *v == producer.results[0] {
            let ty = f.ty(a).clone();
            let scalar = Builder { func: f, region, span: new.span }.cast(out[0], ty);
            map.insert(a, scalar);
        }
    }
    let yields = inline(f, new.regions[0], region, &mut map, &|op| op.clone());
    Builder { func: f, region, span: new.span }.effect(Op::Yield, &yields);
    new.operands = operands.into();
    new.regions = vec![region].into();
    f.ops.push(new);
    OpId((f.ops.len() - 1) as u32)
}

// ---- results that go into another array ------------------------------------------------------

/// Puts ops whose result is only copied into another array, broadcast or not, into an `nt.into` in the copy's place.
fn store_in_place(f: &mut Func, region: RegionId) {
    let uses = f.use_counts();
    let mut ops = f.region(region).ops.clone();
    let mut at = 0;
    while at < ops.len() {
        let Some(moved) = computed_there(f, &ops, at, &uses) else {
            at += 1;
            continue;
        };
        let data = f.op(ops[at]).clone();
        let inner = f.new_region();
        f.regions[inner.index()].ops = moved.clone();
        Builder { func: f, region: inner, span: data.span }.effect(Op::Yield, &[data.operands[1]]);
        let into = &mut f.ops[ops[at].index()];
        into.op = Op::NtInto;
        into.operands.truncate(1);
        into.regions = vec![inner].into();
        ops.retain(|op| !moved.contains(op));
        at = at + 1 - moved.len();
    }
    f.regions[region.index()].ops = ops;
}

/// The ops that compute what the `nt.copy` at a position of a block writes, if they can stand in its place: an elementwise op
/// and maybe the op that gives its result the sizes of the array written.
fn computed_there(f: &Func, ops: &[OpId], at: usize, uses: &[u32]) -> Option<Vec<OpId>> {
    let copy = f.op(ops[at]);
    let before = &ops[..at];
    let defines = |v: ValueId| before.iter().rposition(|&op| f.op(op).results.first() == Some(&v));
    if copy.op != Op::NtCopy {
        return None;
    }
    let mut value = copy.operands[1];
    let mut moved = vec![];
    let mut first = defines(value)?;
    if let Op::NtExpand { .. } = f.op(ops[first]).op {
        let source = f.op(ops[first]).operands[0];
        let (have, want) = (canon::dims(f, source), canon::dims(f, value));
        let repeats = have.iter().zip(want).any(|(have, want)| *have == Dim::Const(1) && have != want);
        if uses[value.index()] != 1 || have.len() != want.len() || repeats {
            return None;
        }
        moved.push(ops[first]);
        value = source;
        first = defines(value)?;
    }
    let producer = ops[first];
    let mentioned = moved.iter().chain([&ops[at]]).flat_map(|&op| &f.op(op).operands).filter(|&&v| v == value).count();
    let alone =
        is_elementwise(f, producer) && f.op(producer).results.len() == 1 && uses[value.index()] == mentioned as u32;
    // It moves down to the copy: what it reads must not change on the way. If something raises or leaves on the way, nobody
    // misses it; but what gives it the sizes can raise itself, and not come after another raise.
    let from = moved.first().map_or(before.len(), |op| before.iter().position(|o| o == op).unwrap_or(0));
    let quiet = before.iter().enumerate().skip(first + 1).filter(|(_, op)| !moved.contains(op)).all(|(i, &op)| {
        let e = f.effects(op);
        matches!(f.op(op).op, Op::ShapeBind { .. }) || !(e.writes || (i > from && (e.may_raise || e.exits)))
    });
    if !alone || !quiet || f.effects(producer).may_raise {
        return None;
    }
    moved.insert(0, producer);
    Some(moved)
}

// ---- results that are only folded ------------------------------------------------------------

/// Puts ops whose result is only reduced into an `nt.fold` in the reduction's place.
fn fold_in_place(f: &mut Func, region: RegionId) {
    let uses = f.use_counts();
    let mut ops = f.region(region).ops.clone();
    let mut at = 0;
    while at < ops.len() {
        at += 1;
        let (id, data) = (ops[at - 1], f.op(ops[at - 1]).clone());
        let Op::NtReduce { fold, axes, order } = data.op else { continue };
        let before = &ops[..at - 1];
        let Some(first) = before.iter().rposition(|&op| f.op(op).results.first() == Some(&data.operands[0])) else {
            continue;
        };
        let producer = before[first];
        let alone = uses[data.operands[0].index()] == 1 && !writes_between(f, before, producer, id);
        if !alone || !folds(f, producer, fold, &axes) {
            continue;
        }
        let inner = f.new_region();
        f.regions[inner.index()].ops.push(producer);
        Builder { func: f, region: inner, span: data.span }.effect(Op::Yield, &data.operands);
        let folding = &mut f.ops[id.index()];
        folding.op = Op::NtFold { fold, axes, order };
        folding.operands.clear();
        folding.regions = vec![inner].into();
        ops.remove(first);
        at -= 1;
    }
    f.regions[region.index()].ops = ops;
}

/// Whether what an op computes can be folded as it comes.
fn folds(f: &Func, producer: OpId, fold: Fold, axes: &[u32]) -> bool {
    let data = f.op(producer);
    let Some(ty) = f.ty(data.results[0]).as_tensor() else { return false };
    // Positions are the reducing routine's to find. Products of complex numbers have an order of their own there.
    let simple = match fold {
        Fold::ArgMin | Fold::ArgMax => false,
        Fold::Prod | Fold::Min | Fold::Max => !ty.dtype.is_complex(),
        _ => true,
    };
    let wide = axes.iter().any(|&k| ty.dims[k as usize] != Dim::Const(1));
    let alone = is_elementwise(f, producer) && data.results.len() == 1 && !f.effects(producer).may_raise;
    alone && simple && wide && ty.layout == Layout::C
}

// ---- results that go where a mask is true ----------------------------------------------------

/// Lets what an `nt.put` writes be computed where it goes, in one loop over the whole array: one number, or something cheap of
/// elements that the same mask chose.
fn put_in_place(f: &mut Func, region: RegionId) {
    let uses = f.use_counts();
    let mut ops = f.region(region).ops.clone();
    let mut at = 0;
    while at < ops.len() {
        at += 1;
        if f.op(ops[at - 1]).op != Op::NtPut {
            continue;
        }
        let put = f.op(ops[at - 1]).clone();
        let work = whole_work(f, &ops[..at - 1], &put, &uses);
        let (Some((operands, body, gone)), Some(ty)) = (work, f.ty(put.operands[0]).as_tensor().cloned()) else {
            continue;
        };
        let result = f.new_value(Type::tensor(TensorType::fresh(ty.dims, ty.dtype, ty.place)));
        let (operands, results, regions) = (operands.into(), vec![result].into(), vec![body].into());
        f.ops.push(OpData { op: Op::NtElementwise, operands, results, regions, span: put.span });
        let inner = f.new_region();
        f.regions[inner.index()].ops.push(OpId((f.ops.len() - 1) as u32));
        Builder { func: f, region: inner, span: put.span }.effect(Op::Yield, &[result]);
        let into = &mut f.ops[ops[at - 1].index()];
        into.op = Op::NtInto;
        into.operands.truncate(2);
        into.regions = vec![inner].into();
        if let Some(gone) = gone {
            ops.retain(|op| *op != gone);
            at -= 1;
        }
    }
    f.regions[region.index()].ops = ops;
}

/// The operands and the body of an elementwise op over a whole array that gives what an `nt.put` writes; and the op that is no
/// longer needed.
pub(crate) fn whole_work(
    f: &mut Func,
    before: &[OpId],
    put: &OpData,
    uses: &[u32],
) -> Option<(Vec<ValueId>, RegionId, Option<OpId>)> {
    let &[to, mask, value] = &put.operands[..] else { return None };
    let dims = canon::dims(f, to).to_vec();
    let defines = |f: &Func, v: ValueId| before.iter().rposition(|&op| f.op(op).results.first() == Some(&v));
    // What an array of chosen elements was chosen from, and where.
    let whole = |f: &Func, v: ValueId| {
        let at = defines(f, v)?;
        let data = f.op(before[at]);
        let fits = data.op == Op::NtCompress && data.operands[1] == mask && canon::dims(f, data.operands[0]) == dims;
        fits.then_some((data.operands[0], at))
    };
    let (operands, first, producer) = if f.ty(value).as_tensor().is_none() {
        (vec![value], before.len(), None)
    } else if let Some((from, first)) = whole(f, value) {
        (vec![from], first, None)
    } else {
        let mut first = defines(f, value)?;
        let producer = before[first];
        let data = f.op(producer);
        let cheap = is_elementwise(f, producer)
            && data.results.len() == 1
            && uses[value.index()] == 1
            && body_size(f, producer) <= MAX_PUT
            && !f.effects(producer).may_raise
            && !has_call(f, producer)
            && !has(f, producer, |op| matches!(op, Op::NtPosition { .. }));
        if !cheap {
            return None;
        }
        let mut operands = data.operands.to_vec();
        for v in operands.iter_mut().filter(|v| f.ty(**v).as_tensor().is_some()) {
            let (from, at) = whole(f, *v)?;
            *v = from;
            first = first.min(at);
        }
        (operands, first, Some(producer))
    };
    if !before[first..].iter().all(|&op| canon::is_quiet(f, op)) {
        return None;
    }
    let body = match producer {
        Some(producer) => f.op(producer).regions[0],
        None => {
            let ty = f.ty(operands[0]).as_tensor().map_or_else(|| f.ty(operands[0]).clone(), |t| Type::Num(t.dtype));
            let body = f.new_region();
            let mut b = Builder { func: f, region: body, span: put.span };
            let v = b.arg(ty);
            b.effect(Op::Yield, &[v]);
            body
        }
    };
    Some((operands, body, producer))
}

/// Scalar operands that are constants become constants of the body: nothing to pass, and code sees the number.
/// Blocks are visited from the outside in, so that a constant passes through an `env.region` into a body.
fn sink_constants(f: &mut Func, region: RegionId) {
    let defs = canon::definitions(f);
    for id in f.region(region).ops.clone() {
        if !matches!(f.op(id).op, Op::NtElementwise | Op::EnvRegion { .. }) {
            continue;
        }
        let body = f.op(id).regions[0];
        for i in (0..f.op(id).operands.len()).rev() {
            let Some(def) = defs[f.op(id).operands[i].index()] else { continue };
            if !matches!(f.op(def).op, Op::Const { .. }) {
                continue;
            }
            let mut data = f.op(def).clone();
            data.results = vec![f.region(body).args[i]].into();
            f.ops.push(data);
            let new = OpId((f.ops.len() - 1) as u32);
            f.regions[body.index()].ops.insert(0, new);
            f.regions[body.index()].args.remove(i);
            f.ops[id.index()].operands.remove(i);
        }
    }
}
