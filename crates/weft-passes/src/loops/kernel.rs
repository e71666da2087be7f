//! User kernels → a host function that runs or launches their work-items.
//!
//! Parameters are the sizes of the launch (`PassCx::kernel_dims` of them), then the kernel's own, exploded. On the host
//! the items are one `par.for`, whose iterations leave a block instead of returning; on a device they are outlined into a
//! kernel, where `return` leaves the item.
//! NumPy arguments of a device kernel are made valid there first, and written ones are made valid on the host after.

use super::Lower;
use crate::{PassCx, canon, place};
use std::collections::BTreeSet;
use weft_diag::Diagnostic;
use weft_ir::attr::Access;
use weft_ir::{Builder, Func, Op, OpId, Place, RegionId, Type, ValueId};

/// The host function of a kernel, and the loop of it that runs on a device, if one does.
pub fn lower(f: &Func, cx: &PassCx) -> Result<(Func, BTreeSet<OpId>), Diagnostic> {
    let at = place::kernel_place(f, cx)?;
    let mut f = f.clone();
    if at.is_host() {
        break_for_return(&mut f);
    }
    let f = &f;
    let mut l = Lower::new(f);
    l.r.dst.kernel = false;
    let mut sizes = vec![];
    for k in 0..cx.kernel_dims {
        let v = l.r.b().arg(Type::I64);
        l.r.dst.values[v.index()].name = format!("g{k}");
        sizes.push(v);
    }
    l.params();
    let written = written(f);
    let originals = l.arrays.clone();
    for (&v, a) in originals.iter().filter(|(_, a)| a.ty.place != at) {
        let mode = if written.contains(&v) { Access::Update } else { Access::Read };
        let there = l.need(a, &at, mode);
        l.arrays.insert(v, there);
    }
    let (region, ()) = l.nested(|l| {
        l.items = sizes.iter().map(|&n| (l.r.b().arg(Type::I64), n)).collect();
        let (last, ops) = f.region(f.body).ops.split_last().expect("the verifier has checked that a body has an end");
        ops.iter().try_for_each(|&op| l.op(op))?;
        if f.op(*last).op == Op::Return {
            l.r.emit(*last, Op::Yield, &[], &[], &[]);
        } else {
            l.op(*last)?;
        }
        l.items.clear();
        Ok(())
    })?;
    l.place = at.clone();
    l.items(&sizes, region);
    for (_, a) in originals.iter().filter(|(v, a)| a.ty.place != at && written.contains(v)) {
        l.need(a, &Place::Host, Access::Read);
    }
    l.r.b().effect(Op::Return, &[]);
    Ok((l.r.dst, l.offloaded))
}

/// Puts a body that returns from inside into a block, which it leaves instead: iterations end only at their end.
fn break_for_return(f: &mut Func) {
    let mut exits = vec![];
    nested_returns(f, f.body, 0, &mut exits);
    let last = f.region(f.body).ops.last().copied();
    exits.retain(|(op, _)| Some(*op) != last);
    if exits.is_empty() {
        return;
    }
    for (op, depth) in exits {
        f.ops[op.index()].op = Op::Break { depth };
    }
    if let Some(last) = last.filter(|&op| f.op(op).op == Op::Return) {
        f.ops[last.index()].op = Op::Yield;
    }
    let inner = f.new_region();
    f.regions[inner.index()].ops = std::mem::take(&mut f.regions[f.body.index()].ops);
    let mut b = Builder::new(f);
    b.op(Op::ScfBlock, &[], &[], &[inner]);
    b.effect(Op::Return, &[]);
}

/// Every `return`, and how many loops and blocks are around it.
fn nested_returns(f: &Func, region: RegionId, depth: u32, out: &mut Vec<(OpId, u32)>) {
    for &op in &f.region(region).ops {
        if f.op(op).op == Op::Return {
            out.push((op, depth));
        }
        let inside = depth + u32::from(f.op(op).op.is_breakable());
        f.op(op).regions.iter().for_each(|&r| nested_returns(f, r, inside, out));
    }
}

/// Parameters that a kernel stores into.
fn written(f: &Func) -> BTreeSet<ValueId> {
    let mut out = BTreeSet::new();
    let defs = canon::definitions(f);
    f.walk(&mut |id| {
        if let Op::NtStore { .. } = f.op(id).op {
            let mut array = f.op(id).operands[1];
            while let Some(def) = defs[array.index()].filter(|&d| matches!(f.op(d).op, Op::NtRefine { .. })) {
                array = f.op(def).operands[0];
            }
            out.insert(array);
        }
    });
    out
}
