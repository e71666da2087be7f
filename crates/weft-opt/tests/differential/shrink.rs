//! Makes a failing module small: ops go one by one as long as it still fails.

use weft_ir::verify::{verify, verify_structure};
use weft_ir::{Func, Module, Op, OpId, ValueId};

/// The smallest module that dropping ops and results leads to and that `fails`.
pub fn shrink(mut m: Module, fails: &dyn Fn(&Module) -> bool) -> Module {
    let accept = |smaller: Option<Module>| smaller.filter(|s| verify(s).is_ok() && fails(s));
    loop {
        let mut changed = false;
        for i in (0..m.entry().results.len()).rev() {
            if let Some(smaller) = accept(without_result(&m, i)) {
                (m, changed) = (smaller, true);
            }
        }
        let mut ids = vec![];
        m.entry().walk(&mut |op| ids.push(op));
        for &id in ids.iter().rev() {
            if let Some(smaller) = accept(without(&m, id)) {
                (m, changed) = (smaller, true);
            }
        }
        if !changed {
            return m;
        }
    }
}

/// The module whose entry does not return its result `i`; one is left.
fn without_result(m: &Module, i: usize) -> Option<Module> {
    if m.entry().results.len() < 2 {
        return None;
    }
    let mut m = m.clone();
    let f = &mut m.funcs[0];
    f.results.remove(i);
    for data in f.ops.iter_mut().filter(|data| data.op == Op::Return) {
        data.operands.remove(i);
    }
    Some(m)
}

/// The module without this op, others of their types in the place of its results.
fn without(m: &Module, id: OpId) -> Option<Module> {
    let mut m = m.clone();
    let mut used = vec![];
    for &r in &m.entry().op(id).results {
        if m.entry().use_counts()[r.index()] > 0 {
            used.push(r);
        }
    }
    for r in used {
        let count = m.entry().values.len() as u32;
        let fits =
            |v: &ValueId| *v != r && !m.entry().op(id).results.contains(v) && m.entry().ty(*v) == m.entry().ty(r);
        let others: Vec<ValueId> = (0..count).map(ValueId).filter(fits).collect();
        m = others.into_iter().map(|other| replaced(&m, r, other)).find(|m| verify_structure(m).is_ok())?;
    }
    let f = &mut m.funcs[0];
    f.regions.iter_mut().for_each(|region| region.ops.retain(|op| *op != id));
    Some(m)
}

/// The module with every use of a value turned into one of another.
fn replaced(m: &Module, from: ValueId, to: ValueId) -> Module {
    let mut m = m.clone();
    let f: &mut Func = &mut m.funcs[0];
    for v in f.ops.iter_mut().flat_map(|data| data.operands.iter_mut()).filter(|v| **v == from) {
        *v = to;
    }
    m
}
