//! `(k * x + c) & mask`: only the low bits of a Python integer are used, and those are right where 64 bits wrap.
//!
//! Comes in: a typed function. Sums, differences and products that nothing uses but a mask (`&` with an integer that is not
//! negative), or but others of this kind, do not raise: CPython's do not either, having as many bits as it takes.

use std::collections::BTreeMap;
use weft_ir::attr::{BinOp, Const};
use weft_ir::{Func, Op, OpId, Type, ValueId};

/// The pass.
pub(super) fn run(f: &mut Func) {
    let mut defs = BTreeMap::new();
    let mut masks = vec![];
    f.walk(&mut |id| {
        let data = f.op(id);
        match data.op {
            Op::Checked { op: BinOp::Add | BinOp::Sub | BinOp::Mul, .. } | Op::Const { .. } => {
                defs.insert(data.results[0], id);
            }
            Op::And if *f.ty(data.results[0]) == Type::PYINT => masks.push(id),
            _ => {}
        }
    });
    let is_checked = |f: &Func, id: OpId| matches!(f.op(id).op, Op::Checked { .. });
    let masked = |f: &Func, v: ValueId| {
        let def = defs.get(&v).map(|&id| &f.op(id).op);
        matches!(def, Some(Op::Const { value: Const::Int(n) }) if *n >= 0)
    };
    masks.retain(|&id| f.op(id).operands.iter().any(|&v| masked(f, v)));
    if masks.is_empty() || !defs.values().any(|&id| is_checked(f, id)) {
        return;
    }
    let uses = f.use_counts();
    let mut waiting: Vec<ValueId> = masks.iter().flat_map(|&id| f.op(id).operands.clone()).collect();
    while let Some(v) = waiting.pop() {
        let Some(&id) = defs.get(&v).filter(|&&id| uses[v.index()] == 1 && is_checked(f, id)) else { continue };
        let Op::Checked { op, .. } = f.op(id).op else { continue };
        let Some(plain) = Op::from_binop(op) else { continue };
        f.ops[id.index()].op = plain;
        waiting.extend(f.op(id).operands.iter().copied());
    }
}
