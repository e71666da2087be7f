//! Releases in host functions at stage `loops`: what was allocated and is not returned is given back.
//!
//! Comes in: `mem.alloc` and `mem.need`, whose owner results are owned by this function. Goes out: each owner is released
//! after the last op of its block that uses it or its pointer, and before every `raise` or `return` that leaves while
//! it is alive; owners that a `return` or `yield` passes on are not. Failures inside runtime calls and parallel
//! loops release everything through the call's own record, so nothing is inserted there.

use std::collections::BTreeMap;
use weft_ir::{Func, Op, OpData, OpId, RegionId, ValueId};

/// The pass. Kernels own nothing.
pub fn run(f: &mut Func) {
    if !f.kernel {
        block(f, f.body, &[]);
    }
}

/// Inserts the releases of one block; `around` are owners alive in the blocks around it, oldest first.
fn block(f: &mut Func, region: RegionId, around: &[ValueId]) {
    let ops = std::mem::take(&mut f.regions[region.index()].ops);
    let last = last_uses(f, &ops);
    let mut alive: Vec<ValueId> = vec![];
    let mut out = vec![];
    for (i, &id) in ops.iter().enumerate() {
        let data = f.op(id).clone();
        let everything: Vec<ValueId> = around.iter().chain(&alive).copied().collect();
        match data.op {
            Op::Return | Op::Raise { .. } => release(f, &data, &everything, &mut out),
            Op::Yield => release(f, &data, &alive, &mut out),
            // Items leave a parallel loop, not the function.
            Op::ParFor { .. } | Op::SimtItems => {}
            _ => data.regions.iter().for_each(|&r| block(f, r, &everything)),
        }
        out.push(id);
        if let Op::MemAlloc { .. } | Op::MemNeed { .. } = data.op {
            alive.push(data.results[1]);
        }
        if !data.op.is_terminator() {
            let (dead, rest) = alive.into_iter().partition(|v| last.get(v).is_none_or(|&at| at <= i));
            alive = rest;
            release(f, &data, &dead, &mut out);
        }
    }
    f.regions[region.index()].ops = out;
}

/// Releases, newest first, of the owners that `leaving` does not pass on.
fn release(f: &mut Func, leaving: &OpData, owners: &[ValueId], out: &mut Vec<OpId>) {
    let passed = |v: &ValueId| leaving.op.is_terminator() && leaving.operands.contains(v);
    for &v in owners.iter().rev().filter(|v| !passed(v)) {
        let span = leaving.span;
        let data = OpData {
            op: Op::MemRelease,
            operands: vec![v].into(),
            results: vec![].into(),
            regions: vec![].into(),
            span,
        };
        f.ops.push(data);
        out.push(OpId((f.ops.len() - 1) as u32));
    }
}

/// For each owner made in the block: the last op that uses it or its pointer, in it or in its regions.
fn last_uses(f: &Func, ops: &[OpId]) -> BTreeMap<ValueId, usize> {
    let mut owner_of: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    let mut last = BTreeMap::new();
    for (i, &id) in ops.iter().enumerate() {
        let data = f.op(id);
        if let Op::MemAlloc { .. } | Op::MemNeed { .. } = data.op {
            owner_of.insert(data.results[0], data.results[1]);
            owner_of.insert(data.results[1], data.results[1]);
        }
        let mut used = data.operands.to_vec();
        data.regions.iter().for_each(|&r| f.walk_region(r, &mut |op| used.extend(&f.op(op).operands)));
        last.extend(used.iter().filter_map(|v| owner_of.get(v)).map(|&o| (o, i)));
    }
    last
}
