//! Which arrays may be one.

use weft_ir::{Func, OpId, ValueId};

/// The array that an array is a view of, as far as that is written in this function.
pub(crate) fn root(f: &Func, defs: &[Option<OpId>], mut v: ValueId) -> ValueId {
    while let Some(of) = defs[v.index()].and_then(|id| f.op(id).viewed()) {
        v = of;
    }
    v
}
