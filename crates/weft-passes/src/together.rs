//! Statements in a row that write into arrays which are there become one loop (`nt.into_all`).
//!
//! In and out: a host function at stage `fused`, edited in place. In
//!
//! ```text
//! v[1:-1] += force[1:-1] * dt
//! x[1:-1] += v[1:-1] * dt
//! ```
//!
//! the second reads what the first has just computed, or both read one array: in one loop it is read once, and threads meet
//! once. That is so only where element `i` of the one needs no other element of what the other writes: each array that is read
//! is the very view that is written, or is known to share no memory with it.

use crate::analysis::alias;
use crate::canon;
use crate::fuse::{self, MAX_BODY, MAX_STREAMS};
use std::collections::BTreeMap;
use weft_ir::{Builder, Dim, Func, Op, OpData, OpId, RegionId, ValueId};

/// The step.
pub fn run(f: &mut Func) {
    let mut writes = 0;
    f.walk(&mut |op| writes += usize::from(f.op(op).op == Op::NtInto));
    if writes > 1 {
        let defs = canon::definitions(f);
        visit(f, f.body, &defs);
    }
}

fn visit(f: &mut Func, region: RegionId, defs: &[Option<OpId>]) {
    let mut ops = f.region(region).ops.clone();
    let mut at = 0;
    while at < ops.len() {
        use Op::{ScfBlock, ScfFor, ScfIf, ScfLoop, ScfTry};
        let id = ops[at];
        if matches!(f.op(id).op, ScfIf | ScfFor | ScfLoop | ScfBlock | ScfTry) {
            f.op(id).regions.clone().into_iter().for_each(|r| visit(f, r, defs));
        }
        if let Some(before) = partner(f, &ops, at, defs) {
            ops[at] = merge(f, ops[before], id, defs);
            ops.remove(before);
        } else {
            at += 1;
        }
    }
    f.regions[region.index()].ops = ops;
}

/// An op that computes elements of arrays that are there, and nothing else.
fn work(f: &Func, id: OpId) -> Option<&OpData> {
    let data = f.op(id);
    let plain = data.op == Op::NtIntoAll || data.op == Op::NtInto && data.operands.len() == 1;
    let [work, _] = f.region(*data.regions.first().filter(|_| plain)?).ops[..] else { return None };
    let same = |&to: &ValueId| canon::dims(f, to) == fuse::space(f, work);
    (fuse::is_elementwise(f, work) && data.operands.iter().all(same)).then(|| f.op(work))
}

/// Whether an op gives an array as a view of all its elements in their order.
pub(crate) fn is_whole_view(f: &Func, id: OpId) -> bool {
    let data = f.op(id);
    let Op::NtView { axes } = &data.op else { return false };
    let in_order = axes.iter().enumerate().all(|(k, &axis)| axis == k as i32);
    in_order && canon::takes_all(f, id) && canon::dims(f, data.results[0]) == canon::dims(f, data.operands[0])
}

/// The array that an array is all of, in its order: `a` for `a[:]`.
fn whole(f: &Func, defs: &[Option<OpId>], mut v: ValueId) -> ValueId {
    while let Some(id) = defs[v.index()].filter(|&id| is_whole_view(f, id)) {
        v = f.op(id).operands[0];
    }
    v
}

/// The position of a write before the one at a position that can be done in one loop with it.
fn partner(f: &Func, ops: &[OpId], at: usize, defs: &[Option<OpId>]) -> Option<usize> {
    let second = work(f, ops[at])?;
    // What stands between them comes first then.
    let quiet = |op: OpId| {
        let e = f.effects(op);
        matches!(f.op(op).op, Op::ShapeBind { .. }) || !(e.reads || e.writes || e.may_raise || e.exits)
    };
    let before = (0..at).rev().find(|&k| !quiet(ops[k]))?;
    let first = work(f, ops[before])?;
    let arrays = |data: &OpData| -> Vec<ValueId> {
        let arrays = data.operands.iter().filter(|&&v| f.ty(v).as_tensor().is_some());
        arrays.map(|&v| whole(f, defs, v)).collect()
    };
    let (to, also) = (arrays(f.op(ops[before])), arrays(f.op(ops[at])));
    let (read, read_also) = (arrays(first), arrays(second));
    let one_space = canon::dims(f, first.results[0]) == canon::dims(f, second.results[0]);
    let some = canon::dims(f, first.results[0]).iter().any(|d| *d != Dim::Const(1));
    let shares = read_also.iter().any(|v| read.contains(v) || to.contains(v));
    let apart = |a: ValueId, b: ValueId| alias::are_disjoint(f, defs, a, b);
    let all = || read.iter().chain(&read_also);
    let fits = |&w: &ValueId| all().all(|&r| r == w || apart(w, r));
    let size: usize =
        [ops[before], ops[at]].iter().map(|&op| fuse::body_size(f, f.region(f.op(op).regions[0]).ops[0])).sum();
    let streams = read.len() + read_also.len() + to.len() + also.len();
    let fit = one_space && some && shares && size <= MAX_BODY && streams <= MAX_STREAMS;
    let fit = fit && to.iter().all(|&a| also.iter().all(|&b| apart(a, b))) && to.iter().chain(&also).all(fits);
    fit.then_some(before)
}

/// One op that does what two do.
fn merge(f: &mut Func, first: OpId, second: OpId, defs: &[Option<OpId>]) -> OpId {
    let body = f.new_region();
    // The scalar that stands for each array.
    let mut scalars: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    let (mut operands, mut results, mut yields, mut targets) = (vec![], vec![], vec![], vec![]);
    for id in [first, second] {
        let to = f.op(id).operands.to_vec();
        let part = f.op(f.region(f.op(id).regions[0]).ops[0]).clone();
        let mut map = BTreeMap::new();
        for (&v, &a) in part.operands.iter().zip(&f.region(part.regions[0]).args.clone()) {
            let (ty, all) = (f.ty(a).clone(), whole(f, defs, v));
            let mut b = Builder { func: f, region: body, span: part.span };
            let scalar = *scalars.entry(all).or_insert_with(|| {
                operands.push(v);
                b.arg(ty.clone())
            });
            let scalar = b.cast(scalar, ty);
            map.insert(a, scalar);
        }
        let out = fuse::inline(f, part.regions[0], body, &mut map, &|op| op.clone());
        // Whoever reads the array from now on reads what was written.
        scalars.extend(to.iter().map(|&v| whole(f, defs, v)).zip(out.iter().copied()));
        targets.extend(to);
        results.extend(part.results);
        yields.extend(out);
    }
    let span = f.op(second).span;
    Builder { func: f, region: body, span }.effect(Op::Yield, &yields);
    let (operands, regions) = (operands.into(), vec![body].into());
    f.ops.push(OpData { op: Op::NtElementwise, operands, results: results.clone().into(), regions, span });
    let work = OpId((f.ops.len() - 1) as u32);
    let inner = f.new_region();
    f.regions[inner.index()].ops.push(work);
    Builder { func: f, region: inner, span }.effect(Op::Yield, &results);
    let regions = vec![inner].into();
    f.ops.push(OpData { op: Op::NtIntoAll, operands: targets.into(), results: vec![].into(), regions, span });
    OpId((f.ops.len() - 1) as u32)
}
