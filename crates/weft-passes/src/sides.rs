//! Products of one matrix with a vector behind it and with one before it are one op (`nt.both_sides`), which reads the matrix once.
//!
//! In and out: a host function at stage `fused`, edited in place: `a @ p` and `r @ a`, and `a.T @ (a @ x)`. A matrix that is larger than
//! the caches takes as long to read as the products take. The later product moves up to the earlier one; whether its vector
//! has the matrix's size is only asked after that, so the op looks for itself.

use crate::analysis::alias;
use crate::canon;
use crate::fuse::each_op;
use weft_ir::{DType, Dim, Func, Layout, Op, OpId, RegionId, ValueId};

/// The step.
pub fn run(f: &mut Func) {
    let mut products = 0;
    f.walk(&mut |op| products += usize::from(f.op(op).op == Op::NtMatmul));
    if products > 1 {
        each_op(f, f.body, &mut join);
    }
}

/// A product of a matrix, which lies by rows, and a vector.
#[derive(Clone, Copy)]
struct Product {
    matrix: ValueId,
    vector: ValueId,
    /// The vector stands before the matrix.
    before: bool,
}

impl Product {
    fn of(f: &Func, defs: &[Option<OpId>], id: OpId) -> Option<Product> {
        let data = f.op(id);
        if data.op != Op::NtMatmul || f.ty(data.results[0]).as_tensor()?.rank() != 2 {
            return None;
        }
        let [a, b] = [data.operands[0], data.operands[1]];
        let (mut matrix, vector, mut before) = match (canon::dims(f, a), canon::dims(f, b)) {
            ([_, _], [_, Dim::Const(1)]) => (a, b, false),
            ([Dim::Const(1), _], [_, _]) => (b, a, true),
            _ => return None,
        };
        // Of a matrix that is turned, it is the other side.
        if let Some(id) = defs[matrix.index()]
            && let view = f.op(id)
            && matches!(&view.op, Op::NtView { axes } if axes[..] == [1, 0])
            && canon::takes_all(f, id)
            && canon::dims(f, matrix).iter().rev().eq(canon::dims(f, view.operands[0]))
        {
            (matrix, before) = (view.operands[0], !before);
        }
        let ty = f.ty(matrix).as_tensor()?;
        let known = matches!(ty.layout, Layout::C | Layout::I) && ty.place.is_host();
        let thin = ty.dims.contains(&Dim::Const(1));
        let number = matches!(ty.dtype, DType::F32 | DType::F64);
        (known && !thin && number).then_some(Product { matrix, vector, before })
    }
}

/// Joins the product at a position with one before it.
fn join(f: &mut Func, region: RegionId, at: usize) -> Option<usize> {
    let ops = f.region(region).ops.clone();
    if f.op(ops[at]).op != Op::NtMatmul {
        return None;
    }
    let defs = canon::definitions(f);
    let late = Product::of(f, &defs, ops[at])?;
    let partner = |from: usize| {
        let early = Product::of(f, &defs, ops[from])?;
        (early.matrix == late.matrix && early.before != late.before).then_some((from, early))
    };
    let (from, early) = (0..at).rev().find_map(partner)?;
    let chained = source(f, &defs, late.vector) == f.op(ops[from]).results[0];
    // The rows' products are known before the rows go; the columns' only when all have gone.
    if chained && !late.before {
        return None;
    }
    let moved = if chained { vec![] } else { leads_to(f, &ops[from..at], late.vector)? };
    if !ops[from + 1..at].iter().all(|&op| leaves(f, &defs, op, &[late.matrix, late.vector])) {
        return None;
    }
    let (first, second) = (f.op(ops[from]).results[0], f.op(ops[at]).results[0]);
    let (behind, ahead) = if late.before { (early, late) } else { (late, early) };
    let op = &mut f.ops[ops[from].index()];
    op.op = Op::NtBothSides;
    op.operands = vec![behind.matrix, behind.vector].into();
    if !chained {
        op.operands.push(ahead.vector);
    }
    op.results = if late.before { vec![first, second] } else { vec![second, first] }.into();
    let list = &mut f.regions[region.index()].ops;
    list.remove(at);
    list.retain(|op| !moved.contains(op));
    list.splice(from..from, moved);
    Some(at)
}

/// The array whose elements a vector has, in other sizes.
fn source(f: &Func, defs: &[Option<OpId>], mut v: ValueId) -> ValueId {
    while let Some(id) = defs[v.index()].filter(|&id| has_all(f, id)) {
        v = f.op(id).operands[0];
    }
    v
}

/// Whether an op gives a view of all elements of an array, with other sizes of 1 at most.
fn has_all(f: &Func, id: OpId) -> bool {
    let data = f.op(id);
    canon::takes_all(f, id) && canon::long_dims(f, data.results[0]) == canon::long_dims(f, data.operands[0])
}

/// The ops among some that a vector needs, if they can come before all of them: they describe an array that is there, with sizes that
/// nobody has to look at first.
fn leads_to(f: &Func, ops: &[OpId], vector: ValueId) -> Option<Vec<OpId>> {
    let mut needed = vec![vector];
    let mut found = vec![];
    for &op in ops.iter().rev() {
        let data = f.op(op);
        if !data.results.iter().any(|v| needed.contains(v)) {
            continue;
        }
        if !has_all(f, op) && !matches!(data.op, Op::Const { .. }) {
            return None;
        }
        needed.extend(&data.operands);
        found.push(op);
    }
    found.reverse();
    Some(found)
}

/// Whether an op leaves arrays as they are.
fn leaves(f: &Func, defs: &[Option<OpId>], op: OpId, read: &[ValueId]) -> bool {
    let data = f.op(op);
    if !f.effects(op).writes || matches!(data.op, Op::ShapeBind { .. }) {
        return true;
    }
    let inside = data.regions.iter().flat_map(|&r| &f.region(r).ops).all(|&op| !f.effects(op).writes);
    let apart = |&to: &ValueId| read.iter().all(|&v| alias::are_disjoint(f, defs, to, v));
    let written = data.written();
    inside && !written.is_empty() && written.iter().all(apart)
}
