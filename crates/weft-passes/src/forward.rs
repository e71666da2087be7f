//! What is written over a whole new array is that array from then on.
//!
//! In and out: a host function at stage `placed`, edited in place. `t = a * b; t += c` computes a new array and writes it over
//! `t`, which nobody else knows yet. Then what reads `t` later can read what was computed: nothing is written, and all of it may
//! be one loop.

use weft_ir::{Func, Op, OpId, RegionId, ValueId};

/// The step, for one block.
pub fn run(f: &mut Func, region: RegionId) {
    let mut at = 0;
    while at < f.region(region).ops.len() {
        let id = f.region(region).ops[at];
        at += 1;
        if let Some((old, new)) = overwritten(f, region, at - 1) {
            f.regions[region.index()].ops.retain(|&op| op != id);
            at -= 1;
            let later = f.region(region).ops[at..].to_vec();
            later.into_iter().for_each(|op| replace(f, op, old, new));
        }
    }
}

/// The array that the op at a position writes over, and what it writes, if one can stand for the other from there on.
fn overwritten(f: &Func, region: RegionId, at: usize) -> Option<(ValueId, ValueId)> {
    let ops = &f.region(region).ops;
    let data = f.op(ops[at]);
    let [old, new] = data.operands[..] else { return None };
    if data.op != Op::NtCopy || f.ty(old) != f.ty(new) {
        return None;
    }
    let makes = |v: ValueId| ops[..at].iter().rposition(|&op| f.op(op).results.contains(&v));
    let (first, second) = (makes(old)?, makes(new)?);
    let is_new = |at: usize| matches!(f.op(ops[at]).op, Op::NtElementwise | Op::NtCompress | Op::NtAlloc { .. });
    // Until now the old one has been read, and nothing else: no other name of its memory is about.
    let read = |&op: &OpId| mentions(f, op, old) == 0 || only_reads(&f.op(op).op);
    let fine = is_new(first) && f.op(ops[second]).op == Op::NtElementwise && ops[first + 1..at].iter().all(read);
    // Inside a loop, the next turn makes both anew. What is computed is wanted nowhere else.
    let uses: u32 = ops.iter().map(|&op| mentions(f, op, new)).sum();
    (fine && uses == 1).then_some((old, new))
}

fn only_reads(op: &Op) -> bool {
    matches!(op, Op::NtElementwise | Op::NtReduce { .. } | Op::NtDim { .. } | Op::NtLoad { .. } | Op::NtItem)
}

/// How often an op and what it holds use a value.
fn mentions(f: &Func, id: OpId, v: ValueId) -> u32 {
    let own = f.op(id).operands.iter().filter(|&&o| o == v).count() as u32;
    let regions = &f.op(id).regions;
    own + regions.iter().flat_map(|&r| &f.region(r).ops).map(|&op| mentions(f, op, v)).sum::<u32>()
}

fn replace(f: &mut Func, id: OpId, old: ValueId, new: ValueId) {
    f.ops[id.index()].operands.iter_mut().filter(|v| **v == old).for_each(|v| *v = new);
    for r in f.op(id).regions.clone() {
        for op in f.region(r).ops.clone() {
            replace(f, op, old, new);
        }
    }
}
