//! Loops of array statements become array statements: batching, as JAX's `vmap`, of loops whose iterations are independent.
//!
//! In and out: a host function at stage `ntensor`, edited in place. In
//!
//! ```text
//! for i in range(n):
//!     d[i] = np.sqrt(((x[i] - y) ** 2).sum(axis=1))
//! ```
//!
//! every iteration does the same to other rows. The loop's counter becomes one more axis of everything that depends on it:
//! `x[i]` is `x[0:n]`, the difference has three axes, the sum goes over the last of them. What comes out is what a user would have
//! written without a loop, so that fusion, products and devices take it as such; a loop of dots is a product of matrices.
//!
//! Loops go from the inside out, and each is batched whole or not at all:
//! - [`legal`]: what one iteration writes and another one touches comes in the order of the statements anyway.
//! - [`batch`]: every op of the body has a batched form, and nothing with more axes than the arrays that the loop goes through has to
//!   be stored.
//!
//! What has to be true at run time (slices lie inside their axis, sizes agree, arrays do not overlap) is tested before; where it is not, the
//! loop runs as it was written. Integers of the body are affine in the counter, so a test of the first and the last
//! iteration holds for all.

mod arrays;
mod batch;
mod legal;
mod values;

use crate::canon;
use batch::Batch;
use std::collections::BTreeMap;
use weft_ir::{Builder, Func, Op, OpId, RegionId};

/// The pass.
pub fn run(f: &mut Func) {
    let mut raise = Raise { versions: BTreeMap::new(), changed: false };
    raise.visit(f, f.body);
    if raise.changed {
        canon::cse(f);
        canon::dce(f);
    }
}

struct Raise {
    /// The `scf.if`s that choose between a batched loop and the loop as it was written.
    versions: BTreeMap<OpId, OpId>,
    changed: bool,
}

impl Raise {
    fn visit(&mut self, f: &mut Func, region: RegionId) {
        let mut at = 0;
        while at < f.region(region).ops.len() {
            let id = f.region(region).ops[at];
            at += 1;
            match f.op(id).op {
                Op::NtElementwise => continue,
                _ => f.op(id).regions.clone().into_iter().for_each(|r| self.visit(f, r)),
            }
            if f.op(id).op == Op::ScfFor
                && let Some(more) = self.raise(f, region, at - 1)
            {
                at += more;
            }
        }
    }

    /// Batches the loop at a position of a region. Returns how many ops stand in its place beyond one.
    fn raise(&mut self, f: &mut Func, region: RegionId, at: usize) -> Option<usize> {
        let id = f.region(region).ops[at];
        let disjoint = legal::disjoint_pairs(f, id, &self.versions)?;
        let (setup, code, test) = Batch::new(f, id, &self.versions)?.run(disjoint)?;
        self.changed = true;
        let mut ops = std::mem::take(&mut f.regions[setup.index()].ops);
        match test {
            None => ops.extend(std::mem::take(&mut f.regions[code.index()].ops)),
            Some(test) => {
                let span = f.op(id).span;
                self.restore(f, f.op(id).regions[0]);
                Builder { func: f, region: code, span }.effect(Op::Yield, &[]);
                let plain = f.new_region();
                f.regions[plain.index()].ops.push(id);
                Builder { func: f, region: plain, span }.effect(Op::Yield, &[]);
                let choice = f.new_region();
                let choice = Builder { func: f, region: choice, span }.op(Op::ScfIf, &[test], &[], &[code, plain]);
                self.versions.insert(choice, id);
                ops.push(choice);
            }
        }
        let count = ops.len();
        f.regions[region.index()].ops.splice(at..=at, ops);
        Some(count - 1)
    }

    /// Takes back what was batched inside a loop that is kept for the rare case, so that there are two versions and no more.
    fn restore(&mut self, f: &mut Func, region: RegionId) {
        for at in 0..f.region(region).ops.len() {
            let id = f.region(region).ops[at];
            if let Some(plain) = self.versions.remove(&id) {
                f.regions[region.index()].ops[at] = plain;
            }
        }
    }
}
