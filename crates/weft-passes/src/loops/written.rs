//! What the host writes, where parts of the function run on a device: the runtime must know before, since the device has copies.
//!
//! Before each op that writes an array of the host stands a `mem.need` of it on the host, to update it. One before a loop is
//! enough for all of its turns, if none of them uses the device. One before what runs on several threads is enough for all of
//! them, and the only one that there may be: their code moves no memory.

use super::Lower;
use crate::analysis::alias;
use crate::canon;
use std::collections::BTreeSet;
use weft_ir::attr::Access;
use weft_ir::{Func, Op, OpId, Place, RegionId, ValueId};

/// What the runtime was told.
pub struct Told {
    defs: Vec<Option<OpId>>,
    /// Arrays that loops around the cursor write, by the loop.
    before: Vec<(OpId, BTreeSet<ValueId>)>,
    /// The op around the cursor whose region runs on several threads: what it writes was told before it.
    parallel: Option<OpId>,
}

impl Told {
    /// Nothing yet.
    pub fn new(f: &Func) -> Told {
        Told { defs: canon::definitions(f), before: vec![], parallel: None }
    }
}

/// Whether a region runs on the host alone.
fn is_quiet(f: &Func, region: RegionId) -> bool {
    let mut quiet = true;
    f.walk_region(region, &mut |op| {
        quiet &= match &f.op(op).op {
            Op::EnvRegion { at } => at.is_host(),
            Op::Call { .. } => false,
            _ => true,
        };
    });
    quiet
}

impl Lower<'_> {
    /// Tells the runtime of what an op is about to write, or all turns of a loop, or all threads of what is parallel.
    pub(super) fn tell_of_writes(&mut self, id: OpId) {
        let Some(told) = &self.told else { return };
        if told.parallel.is_some() {
            return;
        }
        let f = self.r.src;
        let data = f.op(id);
        let root = |v: ValueId| alias::root(f, &told.defs, v);
        let known = |v: ValueId| told.before.iter().any(|(_, known)| known.contains(&root(v)));
        let mut news: Vec<ValueId> = data.written().iter().copied().filter(|&v| !known(v)).collect();
        let parallel = matches!(data.op, Op::ParBlocks { .. } | Op::NtProduct);
        let repeats = matches!(data.op, Op::ScfFor | Op::ScfLoop)
            && news.is_empty()
            && told.before.is_empty()
            && data.regions.iter().all(|&r| is_quiet(f, r));
        let mut all = BTreeSet::new();
        if parallel || repeats {
            for &r in &data.regions {
                f.walk_region(r, &mut |op| all.extend(f.op(op).written().iter().map(|&v| root(v))));
            }
            // Others are made in the region, or come out of a branch there.
            all.retain(|v| self.arrays.contains_key(v));
            news.extend(all.iter().filter(|&&v| !known(v) && !data.written().contains(&v)));
        }
        news.into_iter().for_each(|v| self.need_to_write(v));
        match &mut self.told {
            Some(told) if parallel => told.parallel = Some(id),
            Some(told) if repeats => told.before.push((id, all)),
            _ => {}
        }
    }

    /// The end of a loop, or of what is parallel.
    pub(super) fn forget_writes(&mut self, id: OpId) {
        if let Some(told) = &mut self.told {
            told.before.retain(|(of, _)| *of != id);
            told.parallel = told.parallel.filter(|of| *of != id);
        }
    }

    fn need_to_write(&mut self, v: ValueId) {
        if let Some(array) = self.arrays.get(&v).filter(|a| a.ty.place.is_host()).cloned() {
            self.need(&array, &Place::Host, Access::Update);
        }
    }
}
