//! Counts of owners in host functions at stage `loops`: what was allocated and is not passed on is given back.
//!
//! Comes in: owners as values. Goes out: each owner that an op or a region argument defines holds one count, and every way
//! out of its region accounts for it:
//! - A terminator that passes an owner on moves the count, if the owner is defined in a scope that is left and passed once;
//!   else it takes another one (`mem.retain`). So does a loop that carries an owner in, or a cell that keeps it, where
//!   that is the owner's last use. All other owners of the scopes that are left are released.
//! - After its last use in its region, in it or in regions inside, an owner is released.
//! - A cell of an owner holds one count; what `scf.get` gives has one of its own, which `loops` takes beside it.
//! - Parameters, and arguments of `scf.call`, hold none: the caller keeps them alive.
//!
//! An exception needs no releases: what it goes past is released by the runtime when the call ends.
//!
//! A `mem` stands directly before its `owner` wherever the two go through control flow: so pointers are known to need their
//! owners.

use weft_ir::{Func, Op, OpData, OpId, RegionId, Type, ValueId};

/// The pass. Kernels own nothing.
pub fn run(f: &mut Func) {
    if f.kernel || !f.values.iter().any(|v| v.ty == Type::Owner) {
        return;
    }
    let (mut roots, mut shared) = (vec![None; f.values.len()], vec![false; f.values.len()]);
    f.walk(&mut |id| {
        if f.op(id).op == Op::MemShare {
            f.op(id).operands.iter().for_each(|v| shared[v.index()] = true);
        }
    });
    find_roots(f, f.body, &shared, &mut roots);
    let body = f.body;
    let mut counts = Counts { f, roots, scopes: vec![] };
    counts.region(body, false);
}

/// The owner that keeps the memory behind each pointer or owner alive: the one it comes from. So does the owner of a list for
/// the words of its items until they are `shared`.
fn find_roots(f: &Func, region: RegionId, shared: &[bool], roots: &mut [Option<ValueId>]) {
    let define = |values: &[ValueId], roots: &mut [Option<ValueId>]| {
        for (i, &v) in values.iter().enumerate().filter(|(_, v)| *f.ty(**v) == Type::Owner) {
            roots[v.index()] = Some(v);
            if let Some(&before) = i.checked_sub(1).and_then(|k| values.get(k)).filter(|p| is_pointer(f, **p)) {
                roots[before.index()] = Some(v);
            }
        }
    };
    define(&f.region(region).args, roots);
    let ops = &f.region(region).ops;
    for (i, &id) in ops.iter().enumerate() {
        let data = f.op(id);
        match data.op {
            Op::MemOffset | Op::MemViewOwner { .. } => roots[data.results[0].index()] = roots[data.operands[0].index()],
            Op::MemPointer => roots[data.results[0].index()] = roots[data.operands[1].index()],
            Op::MemLoad { .. } if shared[data.results[0].index()] => {
                roots[data.results[0].index()] = roots[data.operands[0].index()];
            }
            // Nothing, for which nothing is counted.
            Op::MemNull => {}
            // The pointer of a cell is read directly before its owner.
            Op::CellGet if is_pointer(f, data.results[0]) => {
                let next = ops.get(i + 1).map(|&next| f.op(next)).filter(|next| next.op == Op::CellGet);
                let owner = next.map(|next| next.results[0]).filter(|&v| *f.ty(v) == Type::Owner);
                roots[data.results[0].index()] = owner;
            }
            _ => define(&data.results, roots),
        }
        data.regions.iter().for_each(|&r| find_roots(f, r, shared, roots));
    }
}

fn is_pointer(f: &Func, v: ValueId) -> bool {
    matches!(f.ty(v), Type::Mem(..))
}

fn is_owner_cell(f: &Func, v: ValueId) -> bool {
    matches!(f.ty(v), Type::Cell(held) if **held == Type::Owner)
}

/// A region being written, and what is alive in it.
struct Scope {
    /// The body of a loop or block, which exits count.
    breakable: bool,
    /// Owners that hold a count, oldest first.
    alive: Vec<ValueId>,
    /// Cells of owners.
    cells: Vec<ValueId>,
    /// The ops so far.
    out: Vec<OpId>,
}

struct Counts<'f> {
    f: &'f mut Func,
    roots: Vec<Option<ValueId>>,
    /// From the body inwards.
    scopes: Vec<Scope>,
}

impl Counts<'_> {
    fn region(&mut self, region: RegionId, breakable: bool) {
        let ops = std::mem::take(&mut self.f.regions[region.index()].ops);
        let last = self.last_uses(&ops);
        let is_dead = |v: &ValueId, i: Option<usize>| last[v.index()] <= i;
        let mut alive = vec![];
        if region != self.f.body {
            alive = self.owners(&self.f.region(region).args);
        }
        let (dead, alive): (Vec<_>, Vec<_>) = alive.into_iter().partition(|v| is_dead(v, None));
        self.scopes.push(Scope { breakable, alive, cells: vec![], out: vec![] });
        dead.iter().for_each(|&v| self.count(Op::MemRelease, v));
        for (i, &id) in ops.iter().enumerate() {
            let data = self.f.op(id).clone();
            match data.op {
                ref op if op.is_terminator() => {
                    self.leave(&data);
                    self.push(id);
                    continue;
                }
                Op::ScfFor | Op::ScfLoop => self.keep(&data, &last, i),
                Op::CellNew if *self.f.ty(data.operands[0]) == Type::Owner => {
                    self.keep(&data, &last, i);
                    self.scope().cells.push(data.results[0]);
                }
                Op::CellSet if is_owner_cell(self.f, data.operands[1]) => {
                    self.keep(&data, &last, i);
                    let old = self.f.new_value(Type::Owner);
                    self.roots.push(None);
                    self.insert(Op::CellGet, &[data.operands[1]], &[old]);
                    self.push(id);
                    self.count(Op::MemRelease, old);
                    self.release_dead(|v| is_dead(v, Some(i)));
                    continue;
                }
                _ => {}
            }
            // Items of these parallel loops neither own nor leave; a block of a `prange` is a scope of its own.
            if !matches!(data.op, Op::ParFor { .. }) {
                data.regions.iter().for_each(|&r| self.region(r, data.op.is_breakable()));
            }
            self.push(id);
            if !matches!(data.op, Op::MemViewOwner { .. } | Op::MemNull) {
                let owners = self.owners(&data.results);
                self.scope().alive.extend(owners);
            }
            self.release_dead(|v| is_dead(v, Some(i)));
        }
        let done = self.scopes.pop().expect("pushed above");
        self.f.regions[region.index()].ops = done.out;
    }

    fn owners(&self, values: &[ValueId]) -> Vec<ValueId> {
        values.iter().copied().filter(|&v| *self.f.ty(v) == Type::Owner).collect()
    }

    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a region is being written")
    }

    fn push(&mut self, id: OpId) {
        self.scope().out.push(id);
    }

    fn insert(&mut self, op: Op, operands: &[ValueId], results: &[ValueId]) {
        let span = weft_diag::Span::NONE;
        let data = OpData { op, operands: operands.into(), results: results.into(), regions: vec![].into(), span };
        self.f.ops.push(data);
        self.push(OpId((self.f.ops.len() - 1) as u32));
    }

    fn count(&mut self, op: Op, owner: ValueId) {
        self.insert(op, &[owner], &[]);
    }

    /// Releases the owners of this scope that nothing uses any more, newest first.
    fn release_dead(&mut self, dead: impl Fn(&ValueId) -> bool) {
        let (dead, alive): (Vec<_>, Vec<_>) = std::mem::take(&mut self.scope().alive).into_iter().partition(dead);
        self.scope().alive = alive;
        dead.iter().rev().for_each(|&v| self.count(Op::MemRelease, v));
    }

    /// For each value: the last op of this region that needs it as an owner, in it or in its regions.
    fn last_uses(&self, ops: &[OpId]) -> Vec<Option<usize>> {
        let mut last = vec![None; self.f.values.len()];
        for (i, &id) in ops.iter().enumerate() {
            self.needed(id, &mut |owner| last[owner.index()] = Some(i));
        }
        last
    }

    /// Owners that an op needs, itself or inside.
    fn needed(&self, id: OpId, visit: &mut dyn FnMut(ValueId)) {
        let data = self.f.op(id);
        data.operands.iter().filter_map(|v| self.roots[v.index()]).for_each(&mut *visit);
        for &r in &data.regions {
            self.f.region(r).ops.iter().for_each(|&inner| self.needed(inner, visit));
        }
    }

    /// An op that takes over a count of each owner it is given: a loop that carries them, a cell that holds one.
    fn keep(&mut self, data: &OpData, last: &[Option<usize>], i: usize) {
        let mut inside = vec![];
        for &r in &data.regions {
            for &op in &self.f.region(r).ops {
                self.needed(op, &mut |owner| inside.push(owner));
            }
        }
        let mut moved = vec![];
        for v in self.owners(&data.operands) {
            let Some(root) = self.roots[v.index()] else { continue };
            let here = self.scopes.last().is_some_and(|s| s.alive.contains(&root));
            let gone = last[root.index()] == Some(i) && !inside.contains(&root);
            if here && gone && !moved.contains(&root) {
                moved.push(root);
            } else {
                self.count(Op::MemRetain, v);
            }
        }
        self.scope().alive.retain(|v| !moved.contains(v));
    }

    /// Counts at a terminator: what it passes on has one each, everything else that is left is released.
    fn leave(&mut self, data: &OpData) {
        let mut left = match data.op {
            Op::Yield => 1,
            Op::Return => self.scopes.len(),
            Op::Break { depth } | Op::Continue { depth } => {
                let mut bodies = self.scopes.iter().rev().enumerate().filter(|(_, s)| s.breakable);
                bodies.nth(depth as usize).map_or(0, |(i, _)| i + 1)
            }
            _ => return,
        };
        left = left.min(self.scopes.len());
        let first = self.scopes.len() - left;
        let mut leaving: Vec<ValueId> = self.scopes[first..].iter().flat_map(|s| s.alive.iter().copied()).collect();
        for v in self.owners(&data.operands) {
            let Some(root) = self.roots[v.index()] else { continue };
            match leaving.iter().position(|&o| o == root) {
                Some(at) => {
                    leaving.remove(at);
                }
                None => self.count(Op::MemRetain, v),
            }
        }
        leaving.iter().rev().for_each(|&v| self.count(Op::MemRelease, v));
        let cells: Vec<ValueId> = self.scopes[first..].iter().flat_map(|s| s.cells.iter().copied()).collect();
        for &cell in cells.iter().rev() {
            let held = self.f.new_value(Type::Owner);
            self.roots.push(None);
            self.insert(Op::CellGet, &[cell], &[held]);
            self.count(Op::MemRelease, held);
        }
    }
}
