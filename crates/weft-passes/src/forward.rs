//! What is written over a whole new array is that array from then on.
//!
//! In and out: a host function at stage `placed`, edited in place. `t = a * b; t += c` computes a new array and writes it over
//! `t`, which nobody else knows yet. Then what reads `t` later can read what was computed: nothing is written, and all of it may
//! be one loop. So it is with `t[t > 0] = 1 / t[t > 0]`, which computes a new array that has the old elements elsewhere.

use crate::together::is_whole_view;
use crate::{canon, fuse};
use weft_ir::{Builder, Dim, Func, Layout, Op, OpData, OpId, RegionId, TensorType, Type, ValueId};

/// The step, for one block.
pub fn run(f: &mut Func, region: RegionId) {
    let (mut at, mut chosen) = (0, false);
    while at < f.region(region).ops.len() {
        let id = f.region(region).ops[at];
        at += 1;
        if f.op(id).op == Op::NtPut {
            if let Some(next) = choose(f, region, at - 1) {
                (at, chosen) = (next, true);
            }
        } else if let Some(next) = spread(f, region, at - 1) {
            at = next;
        } else if let Some((old, new)) = overwritten(f, region, at - 1) {
            f.regions[region.index()].ops.retain(|&op| op != id);
            at -= 1;
            let later = f.region(region).ops[at..].to_vec();
            later.into_iter().for_each(|op| replace(f, op, old, new));
        }
    }
    if chosen {
        // Nobody counts the elements that a mask chooses any more.
        canon::dce(f);
    }
}

/// The array that the op at a position writes over, and what it writes, if one can stand for the other from there on.
fn overwritten(f: &Func, region: RegionId, at: usize) -> Option<(ValueId, ValueId)> {
    let ops = &f.region(region).ops;
    let data = f.op(ops[at]);
    let [to, new] = data.operands[..] else { return None };
    if data.op != Op::NtCopy {
        return None;
    }
    let makes = |v: ValueId| ops[..at].iter().rposition(|&op| f.op(op).results.contains(&v));
    // `t[:] = …` writes a view of it.
    let view = makes(to).filter(|&at| is_whole_view(f, ops[at]));
    let old = view.map_or(to, |at| f.op(ops[at]).operands[0]);
    let (first, second) = (makes(old)?, makes(new)?);
    let is_new = matches!(f.op(ops[first]).op, Op::NtElementwise | Op::NtCompress | Op::NtAlloc { .. });
    let only_here = view.is_none() || ops.iter().map(|&op| mentions(f, op, to)).sum::<u32>() == 1;
    let between: Vec<OpId> = (first + 1..at).filter(|&k| Some(k) != view).map(|k| ops[k]).collect();
    if !is_new || !only_here || f.ty(old) != f.ty(new) || !is_unnamed(f, &between, old) {
        return None;
    }
    // Inside a loop, the next turn makes both anew. What is computed is wanted nowhere else.
    let fresh = f.op(ops[second]).op.effects().fresh && is_forgotten(f, ops, second, at);
    fresh.then_some((old, new))
}

/// Whether the array that an op makes, and every view of it, is used no later than by the copy at a position.
fn is_forgotten(f: &Func, ops: &[OpId], second: usize, at: usize) -> bool {
    let mut names = f.op(ops[second]).results.to_vec();
    for (k, &op) in ops.iter().enumerate().skip(second + 1) {
        let data = f.op(op);
        if k == at || names.iter().all(|&v| mentions(f, op, v) == 0) {
            continue;
        }
        match data.op {
            _ if k > at => return false,
            Op::NtView { .. } | Op::NtReshape | Op::NtExpand { .. } => names.extend(&data.results),
            _ if !keeps_no_name(f, op, &names) => return false,
            _ => {}
        }
    }
    // What it writes is written by name.
    mentions(f, ops[at], names[0]) == 1
}

/// Whether an op, or what it holds, does something with the elements of arrays, and gives them no other name: puts them into no list,
/// hands them on from no region.
fn keeps_no_name(f: &Func, id: OpId, names: &[ValueId]) -> bool {
    let data = f.op(id);
    let mentioned = names.iter().any(|v| data.operands.contains(v));
    let is_array = |&v: &ValueId| f.ty(v).as_tensor().is_some();
    let aliases = !data.op.effects().fresh && data.results.iter().any(is_array);
    let here = !mentioned || (data.op.dialect() == "nt" && !aliases);
    here && data.regions.iter().flat_map(|&r| &f.region(r).ops).all(|&op| keeps_no_name(f, op, names))
}

/// Makes what the `nt.copy` at a position repeats all over a new array (`np.repeat`) that array, as something that is computed: what
/// reads it can be in the same loop. Returns the position after it.
fn spread(f: &mut Func, region: RegionId, at: usize) -> Option<usize> {
    let ops = f.region(region).ops.clone();
    let copy = f.op(ops[at]).clone();
    let (&[to, from], Op::NtCopy) = (&copy.operands[..], &copy.op) else { return None };
    let makes = |v: ValueId| ops[..at].iter().rposition(|&op| f.op(op).results.first() == Some(&v));
    let repeated = ops[makes(from)?];
    let Op::NtExpand { .. } = f.op(repeated).op else { return None };
    let (mut old, mut first, mut names) = (to, makes(to)?, vec![]);
    while is_whole_view(f, ops[first]) || f.op(ops[first]).op == Op::NtReshape {
        // It gives what is repeated its sizes.
        if ops.iter().filter(|op| **op != repeated).map(|&op| mentions(f, op, old)).sum::<u32>() != 1 {
            return None;
        }
        names.push(ops[first]);
        old = f.op(ops[first]).operands[0];
        first = makes(old)?;
    }
    let (ty, whole) = (f.ty(old).as_tensor()?.clone(), f.ty(from).as_tensor()?.clone());
    names.push(repeated);
    let between: Vec<OpId> = ops[first + 1..at].iter().copied().filter(|op| !names.contains(op)).collect();
    let fits = matches!(f.op(ops[first]).op, Op::NtAlloc { .. })
        && ty.dtype == whole.dtype
        && ty.place == whole.place
        && canon::long_dims(f, old) == canon::long_dims(f, from)
        && is_unnamed(f, &between, old);
    if !fits {
        return None;
    }
    // Sizes of 1 come and go between the two.
    let mut longs = (0..whole.dims.len()).filter(|&k| whole.dims[k] != Dim::Const(1));
    let axes = ty.dims.iter().map(|d| if *d == Dim::Const(1) { -1 } else { longs.next().map_or(-1, |k| k as i32) });
    let axes: Vec<i32> = axes.collect();
    let new = f.new_value(f.ty(old).clone());
    let setup = f.new_region();
    let mut b = Builder { func: f, region: setup, span: copy.span };
    let (zero, one) = (b.i64(0), b.i64(1));
    let parts = [vec![from], [zero, one].repeat(whole.dims.len())].concat();
    let seen = Type::tensor(TensorType { dims: ty.dims.clone(), layout: Layout::A, ..whole });
    let seen = b.value(Op::NtView { axes }, &parts, seen);
    let (same, ()) = b.region(|b| {
        let v = b.arg(Type::Num(ty.dtype));
        b.effect(Op::Yield, &[v]);
    });
    let made = b.op(Op::NtElementwise, &[seen], &[], &[same]);
    f.ops[made.index()].results = vec![new].into();
    let setup = std::mem::take(&mut f.regions[setup.index()].ops);
    ops[at + 1..].iter().for_each(|&op| replace(f, op, old, new));
    let next = at + setup.len();
    f.regions[region.index()].ops.splice(at..=at, setup);
    Some(next)
}

/// Makes a new array of the one that the `nt.put` at a position writes to, if nobody else knows that yet. Returns the position after
/// it.
fn choose(f: &mut Func, region: RegionId, at: usize) -> Option<usize> {
    let ops = f.region(region).ops.clone();
    let put = f.op(ops[at]).clone();
    let (old, mask) = (put.operands[0], put.operands[1]);
    let first = ops[..at].iter().rposition(|&op| f.op(op).results.contains(&old))?;
    let is_new = f.op(ops[first]).op == Op::NtElementwise && is_unnamed(f, &ops[first + 1..at], old);
    if !is_new || canon::dims(f, mask) != canon::dims(f, old) {
        return None;
    }
    let (mut operands, body, gone) = fuse::whole_work(f, &ops[..at], &put, &f.use_counts())?;
    operands.extend([mask, old]);
    let number = f.ty(old).as_tensor().map(|t| Type::Num(t.dtype))?;
    let end = f.regions[body.index()].ops.pop()?;
    let written = f.op(end).operands[0];
    let mut b = Builder { func: f, region: body, span: put.span };
    let (here, before) = (b.arg(Type::BOOL), b.arg(number.clone()));
    let chosen = b.value(Op::Select, &[here, written, before], number);
    b.effect(Op::Yield, &[chosen]);
    let ty = f.ty(old).clone();
    let new = f.new_value(ty);
    let (results, regions) = (vec![new].into(), vec![body].into());
    f.ops[ops[at].index()] =
        OpData { op: Op::NtElementwise, operands: operands.into(), results, regions, span: put.span };
    ops[at + 1..].iter().for_each(|&op| replace(f, op, old, new));
    f.regions[region.index()].ops.retain(|op| Some(*op) != gone);
    Some(at + 1 - usize::from(gone.is_some()))
}

/// Whether ops have read an array, and nothing else: no other name of its memory is about.
fn is_unnamed(f: &Func, ops: &[OpId], v: ValueId) -> bool {
    ops.iter().all(|&op| mentions(f, op, v) == 0 || only_reads(&f.op(op).op))
}

fn only_reads(op: &Op) -> bool {
    use Op::{NtCompress, NtDim, NtElementwise, NtItem, NtLoad, NtReduce};
    matches!(op, NtElementwise | NtReduce { .. } | NtDim { .. } | NtLoad { .. } | NtItem | NtCompress)
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
