//! What the host writes, where parts of the function run on a device: the runtime must know before, since the device has copies.
//!
//! Before each op that writes an array of the host stands a `mem.need` of it on the host, to update it. One before a loop is
//! enough for all of its turns, if none of them uses the device.

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
}

impl Told {
    /// Nothing yet.
    pub fn new(f: &Func) -> Told {
        Told { defs: canon::definitions(f), before: vec![] }
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
    /// Tells the runtime of what an op is about to write, or all turns of a loop.
    pub(super) fn tell_of_writes(&mut self, id: OpId) {
        let Some(told) = &self.told else { return };
        let f = self.r.src;
        let data = f.op(id);
        let root = |v: ValueId| alias::root(f, &told.defs, v);
        let known = |v: ValueId| told.before.iter().any(|(_, known)| known.contains(&root(v)));
        let news: Vec<ValueId> = data.written().iter().copied().filter(|&v| !known(v)).collect();
        let repeats = matches!(data.op, Op::ScfFor | Op::ScfLoop);
        if !news.is_empty() {
            news.into_iter().for_each(|v| self.need_to_write(v));
            return;
        }
        if !repeats || !told.before.is_empty() || !data.regions.iter().all(|&r| is_quiet(f, r)) {
            return;
        }
        let mut all = BTreeSet::new();
        for &r in &data.regions {
            f.walk_region(r, &mut |op| all.extend(f.op(op).written().iter().map(|&v| root(v))));
        }
        // Others are made in the loop, or come out of a branch there.
        all.retain(|v| self.arrays.contains_key(v));
        all.iter().for_each(|&v| self.need_to_write(v));
        if let Some(told) = &mut self.told {
            told.before.push((id, all));
        }
    }

    /// The end of a loop.
    pub(super) fn forget_writes(&mut self, id: OpId) {
        if let Some(told) = &mut self.told {
            told.before.retain(|(of, _)| *of != id);
        }
    }

    fn need_to_write(&mut self, v: ValueId) {
        if let Some(array) = self.arrays.get(&v).filter(|a| a.ty.place.is_host()).cloned() {
            self.need(&array, &Place::Host, Access::Update);
        }
    }
}
