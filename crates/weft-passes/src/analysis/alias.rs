//! Which arrays may be one.

use weft_ir::{Func, OpId, ValueId};

/// The array that an array is a view of, as far as that is written in this function.
pub(crate) fn root(f: &Func, defs: &[Option<OpId>], mut v: ValueId) -> ValueId {
    while let Some(of) = defs[v.index()].and_then(|id| f.op(id).viewed()) {
        v = of;
    }
    v
}

/// Whether two arrays, of which one is written, are known to share no memory.
pub(crate) fn are_disjoint(f: &Func, defs: &[Option<OpId>], a: ValueId, b: ValueId) -> bool {
    let (a, b) = (root(f, defs, a), root(f, defs, b));
    let is_new = |v: ValueId| defs[v.index()].is_some_and(|op| f.op(op).op.effects().fresh);
    let is_known = |v: ValueId| is_new(v) || f.params().contains(&v);
    a != b && is_known(a) && is_known(b) && (f.apart || is_new(a) || is_new(b))
}
