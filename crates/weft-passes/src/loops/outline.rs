//! A parallel loop of a host function that runs on a device → a kernel, and a `simt.launch` in its place.
//!
//! The kernel's parameters are what the items use from outside: pointers first, then scalars by falling size, so that
//! the packed argument block has no holes. Constants are repeated in the kernel instead of passed.

use crate::canon;
use std::collections::{BTreeMap, BTreeSet};
use weft_ir::{Func, Op, OpData, OpId, RegionId, Type, ValueId};

/// Outlines these loops; kernels are named `@name.k0`, `@name.k1`, ….
pub fn run(f: &mut Func, offloaded: &BTreeSet<OpId>) -> Vec<Func> {
    let mut found = vec![];
    f.walk(&mut |op| {
        if offloaded.contains(&op) {
            found.push(op);
        }
    });
    let mut kernels = vec![];
    for items in found {
        let name = format!("{}.k{}", f.name, kernels.len());
        let (kernel, captured) = outline(f, items, &name);
        let data = &mut f.ops[items.index()];
        let dims = data.operands.len() as u32;
        data.op = Op::SimtLaunch { kernel: name, dims };
        data.operands.extend(captured);
        data.regions.clear();
        kernels.push(kernel);
    }
    kernels
}

/// Pointers, then scalars by falling size.
fn rank(ty: &Type) -> usize {
    match ty {
        Type::Num(d) => 1 + 16 - d.size(),
        _ => 0,
    }
}

fn outline(f: &Func, items: OpId, name: &str) -> (Func, Vec<ValueId>) {
    let mut o =
        Outline { src: f, dst: Func::new(name), map: BTreeMap::new(), captured: vec![], defs: canon::definitions(f) };
    o.dst.kernel = true;
    let body = o.dst.body;
    // The items come after what they capture, so constants are known first.
    let mut outer: Vec<ValueId> = f.op(items).operands.to_vec();
    let mut inside = vec![];
    f.walk_region(f.op(items).regions[0], &mut |op| {
        outer.extend(&f.op(op).operands);
        inside.extend(f.op(op).results.iter().copied());
        inside.extend(f.op(op).regions.iter().flat_map(|&r| f.region(r).args.iter().copied()));
    });
    inside.extend(f.region(f.op(items).regions[0]).args.iter().copied());
    for v in outer {
        if !o.map.contains_key(&v) && !inside.contains(&v) {
            o.capture(v);
        }
    }
    o.captured.sort_by_key(|&v| rank(f.ty(v)));
    o.dst.regions[body.index()].args = o.captured.iter().map(|v| o.map[v]).collect();
    o.copy(items, body);
    let span = f.op(items).span;
    let end = OpData { op: Op::Return, operands: vec![].into(), results: vec![].into(), regions: vec![].into(), span };
    o.push(end, body);
    (o.dst, o.captured)
}

struct Outline<'s> {
    src: &'s Func,
    dst: Func,
    map: BTreeMap<ValueId, ValueId>,
    captured: Vec<ValueId>,
    defs: Vec<Option<OpId>>,
}

impl Outline<'_> {
    /// A parameter for an outer value, or its constant again.
    fn capture(&mut self, v: ValueId) {
        let def = self.defs[v.index()].filter(|&op| matches!(self.src.op(op).op, Op::Const { .. }));
        match def {
            Some(op) => {
                let body = self.dst.body;
                self.copy(op, body);
            }
            None => {
                self.define(v);
                self.captured.push(v);
            }
        }
    }

    fn define(&mut self, v: ValueId) -> ValueId {
        let new = self.dst.new_value(self.src.ty(v).clone());
        self.dst.values[new.index()].name.clone_from(&self.src.values[v.index()].name);
        self.map.insert(v, new);
        new
    }

    fn push(&mut self, data: OpData, to: RegionId) {
        self.dst.ops.push(data);
        let id = OpId((self.dst.ops.len() - 1) as u32);
        self.dst.regions[to.index()].ops.push(id);
    }

    fn copy(&mut self, op: OpId, to: RegionId) {
        let mut data = self.src.op(op).clone();
        for v in &mut data.operands {
            *v = self.map[v];
        }
        for r in &mut data.regions {
            let old = *r;
            *r = self.dst.new_region();
            let args: Vec<ValueId> = self.src.region(old).args.iter().map(|&a| self.define(a)).collect();
            self.dst.regions[r.index()].args = args;
            for &inner in &self.src.region(old).ops {
                self.copy(inner, *r);
            }
        }
        for v in &mut data.results {
            *v = self.define(*v);
        }
        self.push(data, to);
    }
}
