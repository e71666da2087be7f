//! Names that loops and branches give the array they had: after `acc += row` the name is bound anew, to the same array. Uses
//! of what a loop carries, or a branch yields, become uses of that array, so that it is seen which one is written.

use std::collections::BTreeMap;
use weft_ir::{Func, Op, OpData, OpId, RegionId, ValueId};

/// Everywhere in a function, until nothing is left to replace.
pub(super) fn run(f: &mut Func) {
    loop {
        let uses = f.use_counts();
        let (mut ids, mut map) = (vec![], BTreeMap::new());
        f.walk(&mut |id| ids.push(id));
        ids.iter().for_each(|&id| find(f, id, &uses, &mut map));
        if map.is_empty() {
            return;
        }
        for id in ids {
            for v in &mut f.ops[id.index()].operands {
                // What replaces a value may be replaced itself.
                while let Some(&other) = map.get(v) {
                    *v = other;
                }
            }
        }
    }
}

/// The values that an op makes of arrays which are there already, with those.
fn find(f: &Func, id: OpId, uses: &[u32], map: &mut BTreeMap<ValueId, ValueId>) {
    let data = f.op(id);
    let mut keep = |values: &[ValueId], given: Option<ValueId>, ends: &[ValueId]| {
        let Some(given) = given.filter(|&v| f.ty(v).as_tensor().is_some() && !is_made_in(f, data, v)) else { return };
        let all_given = ends.iter().all(|v| *v == given || values.contains(v));
        let fits = |v: &&ValueId| uses[v.index()] > 0 && f.ty(**v) == f.ty(given) && **v != given;
        if all_given && values.iter().all(|v| f.ty(*v) == f.ty(given)) {
            map.extend(values.iter().filter(fits).map(|&v| (v, given)));
        }
    };
    match data.op {
        Op::ScfFor => {
            for (k, &result) in data.results.iter().enumerate() {
                let carried = f.region(data.regions[0]).args[1 + k];
                keep(&[carried, result], Some(data.operands[3 + k]), &ends_of(f, data, k, &[End::Turn, End::Leave]));
            }
        }
        Op::ScfLoop => {
            for (k, &carried) in f.region(data.regions[0]).args.iter().enumerate() {
                keep(&[carried], Some(data.operands[k]), &ends_of(f, data, k, &[End::Turn]));
            }
            for (k, &result) in data.results.iter().enumerate() {
                let ends = ends_of(f, data, k, &[End::Leave]);
                keep(&[result], ends.first().copied(), &ends);
            }
        }
        Op::ScfIf => {
            for (k, &result) in data.results.iter().enumerate() {
                let ends = ends_of(f, data, k, &[End::Turn]);
                keep(&[result], ends.first().copied(), &ends);
            }
        }
        _ => {}
    }
}

/// How control gets from a region to the end of the op that holds it.
#[derive(PartialEq)]
enum End {
    /// At its own end, or by `continue`.
    Turn,
    /// By `break`.
    Leave,
}

/// The values that go to position `k` where control ends a region of an op in one of these ways.
fn ends_of(f: &Func, data: &OpData, k: usize, ways: &[End]) -> Vec<ValueId> {
    fn collect(f: &Func, region: RegionId, own: bool, depth: Option<u32>, visit: &mut dyn FnMut(End, &OpData)) {
        for &id in &f.region(region).ops {
            let data = f.op(id);
            match data.op {
                Op::Yield if own => visit(End::Turn, data),
                Op::Continue { depth: d } if depth == Some(d) => visit(End::Turn, data),
                Op::Break { depth: d } if depth == Some(d) => visit(End::Leave, data),
                _ => {}
            }
            let inner = depth.map(|d| d + u32::from(data.op.is_breakable()));
            data.regions.iter().for_each(|&r| collect(f, r, false, inner, visit));
        }
    }
    let mut ends = vec![];
    let depth = data.op.is_breakable().then_some(0);
    for &r in &data.regions {
        collect(f, r, true, depth, &mut |end, leaving| {
            if ways.contains(&end) {
                ends.extend(leaving.operands.get(k));
            }
        });
    }
    ends
}

fn is_made_in(f: &Func, data: &OpData, v: ValueId) -> bool {
    let mut made = false;
    for &r in &data.regions {
        f.walk_region(r, &mut |id| made |= f.op(id).results.contains(&v));
    }
    made
}
