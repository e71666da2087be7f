//! What is computed of flattened arrays is computed before they are flattened.
//!
//! In and out: a host function at stage `placed`, edited in place. `np.reshape(a.T, (n,)) * b.reshape(n)` copies `a.T` only so that its
//! elements lie in a row. Where all arrays that an elementwise op reads are flattened from the same sizes, it reads them as
//! they lie, and its result, which is new, is flattened: that takes no copy.

use crate::{canon, fuse};
use weft_ir::{Builder, Dim, Func, Layout, Op, OpId, RegionId, TensorType, Type, ValueId};

/// The step, for one block.
pub fn run(f: &mut Func, region: RegionId) {
    let mut at = 0;
    while at < f.region(region).ops.len() {
        if let Some(sources) = sources(f, region, at) {
            unflatten(f, region, at, &sources);
        }
        at += 1;
    }
}

/// What the elementwise op at a position could read instead of its operands.
fn sources(f: &Func, region: RegionId, at: usize) -> Option<Vec<ValueId>> {
    let ops = &f.region(region).ops;
    let data = f.op(ops[at]);
    let flat = |v: ValueId| canon::dims(f, v).len() == 1;
    let fits = fuse::is_elementwise(f, ops[at])
        && data.results.iter().all(|&v| flat(v))
        && !fuse::has(f, ops[at], |op| matches!(op, Op::NtPosition { .. }));
    if !fits {
        return None;
    }
    let makes = |v: ValueId| ops[..at].iter().rposition(|&op| f.op(op).results.first() == Some(&v));
    let mut sizes: Option<&[Dim]> = None;
    let mut saves = false;
    let mut sources = vec![];
    for &v in &data.operands {
        if f.ty(v).as_tensor().is_none() {
            sources.push(v);
            continue;
        }
        let reshape = f.op(ops[makes(v)?]);
        if reshape.op != Op::NtReshape || !flat(v) {
            return None;
        }
        let mut source = reshape.operands[0];
        let dims = canon::dims(f, source);
        if dims.len() < 2 || sizes.is_some_and(|known| known != dims) {
            return None;
        }
        sizes = Some(dims);
        if let Some(copy) = makes(source)
            && let Some(strided) = copied(f, ops[copy])
            && ops[copy + 1..at].iter().all(|&op| leaves_arrays(f, op))
        {
            (source, saves) = (strided, true);
        }
        sources.push(source);
    }
    saves.then_some(sources)
}

/// Whether an op writes to no array that was there before.
fn leaves_arrays(f: &Func, op: OpId) -> bool {
    canon::is_quiet(f, op) || copied(f, op).is_some()
}

/// The array that a branch gives as it is where its elements lie in order, or else copies.
fn copied(f: &Func, id: OpId) -> Option<ValueId> {
    let data = f.op(id);
    let (&[result], &[as_is, copy]) = (&data.results[..], &data.regions[..]) else { return None };
    let [as_is, copy] = [as_is, copy].map(|r| &f.region(r).ops[..]);
    let (&[view, _], &[alloc, fill, _]) = (as_is, copy) else { return None };
    let [view, alloc, fill] = [view, alloc, fill].map(|op| f.op(op));
    let source = *view.operands.first()?;
    let fits = data.op == Op::ScfIf
        && view.op == Op::NtReshape
        && matches!(alloc.op, Op::NtAlloc { .. })
        && fill.op == Op::NtCopy
        && fill.operands[..] == [alloc.results[0], source]
        && canon::dims(f, source) == canon::dims(f, result);
    fits.then_some(source)
}

fn unflatten(f: &mut Func, region: RegionId, at: usize, sources: &[ValueId]) {
    let id = f.region(region).ops[at];
    let old = f.op(id).clone();
    let Some(dims) = sources.iter().find_map(|&v| f.ty(v).as_tensor().map(|t| t.dims.clone())) else { return };
    let after = f.new_region();
    let mut results = vec![];
    for &flat in &old.results {
        let Some(ty) = f.ty(flat).as_tensor().cloned() else { return };
        let made = f.new_value(Type::tensor(TensorType { dims: dims.clone(), layout: Layout::C, ..ty }));
        let mut b = Builder { func: f, region: after, span: old.span };
        let reshape = b.op(Op::NtReshape, &[made], &[], &[]);
        f.ops[reshape.index()].results = vec![flat].into();
        results.push(made);
    }
    let op = &mut f.ops[id.index()];
    (op.operands, op.results) = (sources.to_vec().into(), results.into());
    let after = std::mem::take(&mut f.regions[after.index()].ops);
    f.regions[region.index()].ops.splice(at + 1..at + 1, after);
    // The copies that nobody reads any more: through reshapes, which go by themselves.
    canon::dce(f);
    let uses = f.use_counts();
    let unused: Vec<OpId> = f.region(region).ops.iter().copied().filter(|&op| is_unused_copy(f, op, &uses)).collect();
    f.regions[region.index()].ops.retain(|op| !unused.contains(op));
}

fn is_unused_copy(f: &Func, id: OpId, uses: &[u32]) -> bool {
    copied(f, id).is_some() && f.op(id).results.iter().all(|v| uses[v.index()] == 0)
}
