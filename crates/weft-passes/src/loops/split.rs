//! Loops whose indices are tested before they run.
//!
//! Comes in: a host function at stage `fused`. An innermost `scf.for` over consecutive integers, with `nt.index` of
//! `i + c` in arrays whose sizes do not change, becomes two loops: the first runs as far as all such indices are known to be
//! inside and does not check them, the second has the checks and runs from there. Where nothing is wrong the second has no
//! turn to take; where something is, it does what the one loop would have done.
//!
//! `c` is a sum of values from outside the loop. All arithmetic before the loop is on integers within [`FAR`], so it cannot
//! wrap; for others the first loop takes no turn.

use std::collections::{BTreeMap, BTreeSet};

use weft_ir::attr::{BinOp, CmpOp, Const};
use weft_ir::{Builder, Func, Op, OpId, RegionId, Type, ValueId};

/// Farther than any index that is inside, and near enough for a few such numbers to be added.
const FAR: i64 = 1 << 58;
/// Most terms of an index.
const MAX_TERMS: usize = 6;
/// Most ops of a loop that is worth a second copy.
const MAX_OPS: usize = 200;

/// The pass.
pub fn run(f: &mut Func) {
    let mut loops = vec![];
    find(f, f.body, &mut loops);
    for (region, op) in loops {
        split(f, region, op);
    }
}

/// What the first of two loops does without.
#[derive(Default)]
pub(crate) struct Tested {
    /// Checks of indices.
    pub checks: BTreeSet<OpId>,
    /// Sums that cannot overflow then.
    pub exact: BTreeSet<OpId>,
}

/// What the pass would take out of the loops of a function, for the report.
pub(crate) fn tested(f: &Func) -> Tested {
    let mut loops = vec![];
    find(f, f.body, &mut loops);
    let mut all = Tested::default();
    for check in loops.into_iter().filter_map(|(_, op)| testable(f, op)).flatten() {
        all.checks.insert(check.op);
        all.exact.extend(check.sum.ops);
    }
    all
}

/// Loops that may be split, with the regions that hold them.
fn find(f: &Func, region: RegionId, loops: &mut Vec<(RegionId, OpId)>) {
    for &id in &f.region(region).ops {
        let data = f.op(id);
        if data.op == Op::ScfFor && is_simple(f, id) {
            loops.push((region, id));
        } else if !matches!(data.op, Op::NtElementwise | Op::EnvRegion { .. }) {
            data.regions.iter().for_each(|&r| find(f, r, loops));
        }
    }
}

/// Whether a loop carries numbers only, holds nothing but straight code and branches, and checks an index.
fn is_simple(f: &Func, id: OpId) -> bool {
    let data = f.op(id);
    let numbers = data.operands.iter().all(|&v| f.ty(v).is_scalar());
    let (mut simple, mut checks, mut ops) = (true, false, 0);
    f.walk_region(data.regions[0], &mut |inner| {
        let op = &f.op(inner).op;
        ops += 1;
        checks |= matches!(op, Op::NtIndex { .. });
        simple &= match op {
            Op::ScfIf => f.op(inner).results.iter().all(|&v| f.ty(v).is_scalar()),
            Op::Break { .. } | Op::Continue { .. } | Op::Return => false,
            _ => f.op(inner).regions.is_empty(),
        };
    });
    numbers && simple && checks && ops <= MAX_OPS
}

/// An index as what is added up in it.
#[derive(Default)]
struct Sum {
    /// How often the loop's own integer is in it.
    turns: i64,
    constant: i64,
    /// Values from outside the loop, added or subtracted.
    terms: Vec<(bool, Outside)>,
    /// The ops that add them up.
    ops: Vec<OpId>,
}

/// What is the same in every turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    Value(ValueId),
    /// The size of an array.
    Size(ValueId, u32),
}

/// What the pass knows of one loop.
struct Around<'f> {
    f: &'f Func,
    index: ValueId,
    defs: BTreeMap<ValueId, OpId>,
}

impl Around<'_> {
    /// What a value is that no turn changes.
    fn outside(&self, v: ValueId) -> Option<Outside> {
        let Some(&def) = self.defs.get(&v) else { return (v != self.index).then_some(Outside::Value(v)) };
        let data = self.f.op(def);
        match data.op {
            Op::NtDim { dim } if !self.defs.contains_key(&data.operands[0]) => {
                Some(Outside::Size(data.operands[0], dim))
            }
            Op::Cast if self.is_plain(def) => self.outside(data.operands[0]),
            _ => None,
        }
    }

    /// Whether a cast keeps the number.
    fn is_plain(&self, cast: OpId) -> bool {
        let data = self.f.op(cast);
        let wide = |v: ValueId| matches!(*self.f.ty(v), Type::I64 | Type::PYINT);
        wide(data.operands[0]) && wide(data.results[0])
    }

    /// Adds a value to a sum, or subtracts it.
    fn add(&self, v: ValueId, plus: bool, sum: &mut Sum) -> Option<()> {
        if v == self.index {
            sum.turns += if plus { 1 } else { -1 };
            return Some(());
        }
        if let Some(outside) = self.outside(v) {
            sum.terms.push((plus, outside));
            return Some(());
        }
        let &def = self.defs.get(&v)?;
        let data = self.f.op(def);
        let (a, b) = (data.operands.first().copied(), data.operands.get(1).copied());
        match &data.op {
            Op::Const { value: Const::Int(n) } => {
                let n = i64::try_from(*n).ok().filter(|n| n.abs() <= FAR)?;
                sum.constant = sum.constant.checked_add(if plus { n } else { -n }).filter(|n| n.abs() <= FAR)?;
                return Some(());
            }
            Op::Cast if self.is_plain(def) => return self.add(a?, plus, sum),
            Op::Add | Op::Checked { op: BinOp::Add, .. } if self.is_wide(v) => {
                self.add(a?, plus, sum)?;
                self.add(b?, plus, sum)?;
            }
            Op::Sub | Op::Checked { op: BinOp::Sub, .. } if self.is_wide(v) => {
                self.add(a?, plus, sum)?;
                self.add(b?, !plus, sum)?;
            }
            _ => return None,
        }
        sum.ops.push(def);
        Some(())
    }

    fn is_wide(&self, v: ValueId) -> bool {
        matches!(*self.f.ty(v), Type::I64 | Type::PYINT)
    }
}

/// One check that the first loop need not make.
struct Check {
    op: OpId,
    sum: Sum,
    size: Outside,
}

/// The checks that a loop over consecutive integers can do without, if that is worth a second loop.
fn testable(f: &Func, id: OpId) -> Option<Vec<Check>> {
    let data = f.op(id);
    let mut bounds = data.operands[..2].iter();
    if bounds.any(|&v| !matches!(*f.ty(v), Type::I64 | Type::PYINT)) || !is_one(f, data.operands[2]) {
        return None;
    }
    let checks = checks(f, data.regions[0]);
    // Checks of what no turn changes are LLVM's to move (`simple-loop-unswitch`).
    checks.iter().any(|c| c.sum.turns != 0).then_some(checks)
}

fn split(f: &mut Func, region: RegionId, id: OpId) {
    let Some(checks) = testable(f, id) else { return };
    let data = f.op(id).clone();
    let body = data.regions[0];
    let bounds = [data.operands[0], data.operands[1]];
    let at = f.region(region).ops.iter().position(|&op| op == id).unwrap_or(0);
    let after = f.regions[region.index()].ops.split_off(at);
    let mut b = Builder { func: f, region, span: data.span };
    let end = first_end(&mut b, bounds, &checks);
    let skipped: BTreeSet<OpId> = checks.iter().map(|c| c.op).collect();
    let exact: BTreeSet<OpId> = checks.iter().flat_map(|c| c.sum.ops.iter().copied()).collect();
    let copy = copy(b.func, body, &mut BTreeMap::new(), &skipped, &exact);
    let mut operands = data.operands.to_vec();
    operands[1] = end;
    let types: Vec<Type> = data.results.iter().map(|&v| b.func.ty(v).clone()).collect();
    let first = b.op(Op::ScfFor, &operands, &types, &[copy]);
    let carried = f.op(first).results.clone();
    let second = &mut f.ops[id.index()].operands;
    second[0] = end;
    second.truncate(3);
    second.extend(carried);
    f.regions[region.index()].ops.extend(after);
}

fn is_one(f: &Func, v: ValueId) -> bool {
    f.ops.iter().any(|o| o.results.first() == Some(&v) && matches!(o.op, Op::Const { value: Const::Int(1) }))
}

/// The checks of `i + c`, or of what no turn changes.
fn checks(f: &Func, body: RegionId) -> Vec<Check> {
    let (mut defs, mut indices) = (BTreeMap::new(), vec![]);
    let args = f.region(body).args.clone();
    f.walk_region(body, &mut |id| {
        defs.extend(f.op(id).results.iter().map(|&v| (v, id)));
        if matches!(f.op(id).op, Op::NtIndex { .. }) {
            indices.push(id);
        }
    });
    let around = Around { f, index: args[0], defs };
    let carried = &args[1..];
    let mut checks = vec![];
    for op in indices {
        let operands = &f.op(op).operands;
        let mut sum = Sum::default();
        let known = around.add(operands[0], true, &mut sum);
        let Some((size, ())) = around.outside(operands[1]).zip(known) else { continue };
        let mut outside = sum.terms.iter().map(|t| t.1).chain([size]);
        let changes = outside.any(|o| matches!(o, Outside::Value(v) if carried.contains(&v)));
        if !changes && (0..=1).contains(&sum.turns) && sum.terms.len() <= MAX_TERMS {
            checks.push(Check { op, sum, size });
        }
    }
    checks
}

/// Where the first loop ends: before the first turn in which one of the indices is outside, and at `hi` at the latest.
fn first_end(b: &mut Builder<'_>, [lo, hi]: [ValueId; 2], checks: &[Check]) -> ValueId {
    let ty = b.ty(lo);
    let (lo, hi) = (b.cast(lo, Type::I64), b.cast(hi, Type::I64));
    let mut made: Vec<(Outside, ValueId)> = vec![];
    let mut fine = near(b, lo);
    let mut end = hi;
    for check in checks {
        let mut plus = b.i64(check.sum.constant);
        for &(added, term) in &check.sum.terms {
            let v = term_of(b, term, &mut made, &mut fine);
            plus = b.value(if added { Op::Add } else { Op::Sub }, &[plus, v], Type::I64);
        }
        let size = size_of(b, check.size);
        if check.sum.turns == 1 {
            let first = b.value(Op::Add, &[lo, plus], Type::I64);
            let zero = b.i64(0);
            let inside = b.value(Op::Cmp { is: CmpOp::Ge }, &[first, zero], Type::BOOL);
            fine = b.value(Op::And, &[fine, inside], Type::BOOL);
            let most = b.value(Op::Sub, &[size, plus], Type::I64);
            end = b.value(Op::Min, &[end, most], Type::I64);
        } else {
            let zero = b.i64(0);
            let front = b.value(Op::Cmp { is: CmpOp::Ge }, &[plus, zero], Type::BOOL);
            let back = b.value(Op::Cmp { is: CmpOp::Lt }, &[plus, size], Type::BOOL);
            let inside = b.value(Op::And, &[front, back], Type::BOOL);
            fine = b.value(Op::And, &[fine, inside], Type::BOOL);
        }
    }
    let end = b.value(Op::Max, &[end, lo], Type::I64);
    let end = b.value(Op::Select, &[fine, end, lo], Type::I64);
    b.cast(end, ty)
}

/// A term before the loop; `fine` then says that it is near, too.
fn term_of(b: &mut Builder<'_>, what: Outside, made: &mut Vec<(Outside, ValueId)>, fine: &mut ValueId) -> ValueId {
    if let Some(&(_, v)) = made.iter().find(|(o, _)| *o == what) {
        return v;
    }
    let v = value_of(b, what);
    let near = near(b, v);
    *fine = b.value(Op::And, &[*fine, near], Type::BOOL);
    made.push((what, v));
    v
}

/// A size before the loop, brought near: the first loop does not go farther.
fn size_of(b: &mut Builder<'_>, what: Outside) -> ValueId {
    let (size, zero, far) = (value_of(b, what), b.i64(0), b.i64(FAR));
    let size = b.value(Op::Max, &[size, zero], Type::I64);
    b.value(Op::Min, &[size, far], Type::I64)
}

fn value_of(b: &mut Builder<'_>, what: Outside) -> ValueId {
    let v = match what {
        Outside::Value(v) => v,
        Outside::Size(array, dim) => b.value(Op::NtDim { dim }, &[array], Type::PYINT),
    };
    b.cast(v, Type::I64)
}

/// Whether a number is within [`FAR`].
fn near(b: &mut Builder<'_>, v: ValueId) -> ValueId {
    let (low, high) = (b.i64(-FAR), b.i64(FAR));
    let above = b.value(Op::Cmp { is: CmpOp::Ge }, &[v, low], Type::BOOL);
    let below = b.value(Op::Cmp { is: CmpOp::Le }, &[v, high], Type::BOOL);
    b.value(Op::And, &[above, below], Type::BOOL)
}

/// A copy of a region without the checks `skipped`, and with the sums `exact` known to fit.
fn copy(
    f: &mut Func,
    region: RegionId,
    map: &mut BTreeMap<ValueId, ValueId>,
    skipped: &BTreeSet<OpId>,
    exact: &BTreeSet<OpId>,
) -> RegionId {
    let new = f.new_region();
    let old = f.region(region).clone();
    for a in old.args {
        let ty = f.ty(a).clone();
        let v = f.new_value(ty);
        f.regions[new.index()].args.push(v);
        map.insert(a, v);
    }
    for id in old.ops {
        let mut data = f.op(id).clone();
        for v in &mut data.operands {
            *v = map.get(v).copied().unwrap_or(*v);
        }
        if skipped.contains(&id) {
            map.insert(data.results[0], data.operands[0]);
            continue;
        }
        data.op = match data.op {
            Op::Checked { op: BinOp::Add, .. } if exact.contains(&id) => Op::Add,
            Op::Checked { op: BinOp::Sub, .. } if exact.contains(&id) => Op::Sub,
            op => op,
        };
        let regions: Vec<RegionId> = data.regions.iter().map(|&r| copy(f, r, map, skipped, exact)).collect();
        let types: Vec<Type> = data.results.iter().map(|&v| f.ty(v).clone()).collect();
        let mut b = Builder { func: f, region: new, span: data.span };
        let made = b.op(data.op, &data.operands, &types, &regions);
        for (&from, &to) in data.results.iter().zip(&f.op(made).results) {
            map.insert(from, to);
        }
    }
    new
}
