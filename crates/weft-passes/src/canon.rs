//! Canonical form inside a stage: the only pass that repeats, and only until nothing is left to remove.
//!
//! In and out: a function at any typed stage, edited in place. What it does keeps bits, raises and their order:
//! - [`unchanged`]: what a loop hands from turn to turn as it came is no longer handed on.
//! - [`fold`]: casts of constants, sizes known from types, sizes read from the earliest array that has them.
//! - [`push_refines`] (`ntensor`): the check of a computed array's sizes moves to the arrays it is computed from,
//!   so that `sin(x) + cos(y)` stays one loop though the sizes of `x` and `y` meet only at the sum.
//! - [`idle`]: checks that never raise.
//! - [`cse`]: equal scalar ops, branches and loops become one. Bodies of `nt.elementwise` and `env.region` see only their arguments.
//! - [`dce`]: unused ops, results and operands go.

use crate::{idle, sizes};
use std::collections::{BTreeMap, HashMap, HashSet};
use weft_ir::attr::Const;
use weft_ir::ops::Effects;
use weft_ir::{Builder, DType, Dim, Func, Op, OpId, RegionId, TensorType, Type, ValueId};

/// Everything, in order. `push_refines` only does something where whole arrays are refined.
pub fn run(f: &mut Func) {
    unchanged(f);
    fold(f);
    cse(f);
    sizes::run(f);
    idle::run(f);
    push_refines(f);
    cse(f);
    dce(f);
}

/// The op that defines each value, by value index; `None` for region arguments.
pub fn definitions(f: &Func) -> Vec<Option<OpId>> {
    let mut defs = vec![None; f.values.len()];
    f.walk(&mut |op| {
        for v in &f.op(op).results {
            defs[v.index()] = Some(op);
        }
    });
    defs
}

/// Whether an op writes to no array.
pub fn is_quiet(f: &Func, op: OpId) -> bool {
    matches!(f.op(op).op, Op::ShapeBind { .. }) || !f.effects(op).writes
}

/// Whether an op gives a view that begins with the first element of every axis and leaves none out.
pub fn takes_all(f: &Func, id: OpId) -> bool {
    let data = f.op(id);
    let walks = || data.operands[1..].chunks(2);
    let view = matches!(data.op, Op::NtView { .. });
    view && walks().all(|walk| walk.iter().map(|&v| f.constant_int(v)).eq([Some(0), Some(1)]))
}

/// The sizes of an array that are not known to be 1.
pub fn long_dims(f: &Func, v: ValueId) -> Vec<Dim> {
    dims(f, v).iter().copied().filter(|d| *d != Dim::Const(1)).collect()
}

/// Whether a region sees only its arguments.
fn is_isolated(op: &Op) -> bool {
    matches!(op, Op::NtElementwise | Op::EnvRegion { .. })
}

// ---- loops -----------------------------------------------------------------------------------

/// Values that every turn of a loop hands on as they came (`x += 1` of an array) are known from outside the loop.
fn unchanged(f: &mut Func) {
    let mut loops = vec![];
    f.walk(&mut |id| match f.op(id).op {
        // A `scf.for` ends with what the last turn hands on, a `scf.loop` with what a break gives.
        Op::ScfFor if f.op(id).operands.len() > 3 => loops.push((id, 3, 1)),
        Op::ScfLoop if !f.op(id).operands.is_empty() => loops.push((id, 0, 0)),
        _ => {}
    });
    let defs = definitions(f);
    let mut known: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    // Sizes of the arrays that only the loop had names for, by what they are outside.
    let mut names: BTreeMap<Dim, Dim> = BTreeMap::new();
    for (id, first, first_arg) in loops {
        let region = f.op(id).regions[0];
        let counts = f.op(id).op == Op::ScfFor;
        let mut leaves = false;
        f.walk_region(region, &mut |op| match f.op(op).op {
            Op::Break { .. } => leaves |= counts,
            Op::Continue { .. } => leaves = true,
            _ => {}
        });
        let Some(&last) = f.region(region).ops.last() else { continue };
        if leaves || f.op(last).op != Op::Yield {
            continue;
        }
        for k in (0..f.op(id).operands.len() - first).rev() {
            let (init, arg) = (f.op(id).operands[first + k], f.region(region).args[first_arg + k]);
            let result = f.op(id).results.get(k).copied().filter(|_| counts);
            let differs = |v: ValueId| f.ty(v) != f.ty(arg);
            if f.op(last).operands[k] != arg || differs(init) || result.is_some_and(differs) {
                continue;
            }
            if let Some(weaken) = defs[init.index()].map(|def| f.op(def)).filter(|o| o.op == Op::NtWeaken) {
                let pairs = dims(f, init).iter().zip(dims(f, weaken.operands[0]));
                names.extend(pairs.filter(|(inside, outside)| inside != outside));
            }
            known.insert(arg, init);
            f.ops[id.index()].operands.remove(first + k);
            if let Some(result) = result {
                known.insert(result, init);
                f.ops[id.index()].results.remove(k);
            }
            f.ops[last.index()].operands.remove(k);
            f.regions[region.index()].args.remove(first_arg + k);
        }
    }
    if known.is_empty() {
        return;
    }
    for v in f.ops.iter_mut().flat_map(|o| &mut o.operands) {
        while let Some(&earlier) = known.get(v) {
            *v = earlier;
        }
    }
    let outermost = |d: Dim| std::iter::successors(Some(d), |d| names.get(d).copied()).last().unwrap_or(d);
    sizes::rename(f, &names.keys().map(|&d| (d, outermost(d))).collect());
}

// ---- folds -----------------------------------------------------------------------------------

/// Folds casts of constants and sizes, and lets metadata come from inputs instead of computed arrays.
pub fn fold(f: &mut Func) {
    let defs = definitions(f);
    let sources = dim_sources(f);
    let mut ids = vec![];
    f.walk(&mut |op| ids.push(op));
    for id in ids {
        let data = f.op(id);
        match data.op {
            Op::Cast => {
                let Some(def) = defs[data.operands[0].index()] else { continue };
                let Op::Const { value } = &f.op(def).op else { continue };
                // The constant is what its own type makes of it: 0.1 as f32 is not 0.1 as f64.
                let own = cast_const(value, f.ty(data.operands[0]));
                let Some(value) = own.and_then(|v| cast_const(&v, f.ty(data.results[0]))) else { continue };
                f.ops[id.index()].op = Op::Const { value };
                f.ops[id.index()].operands.clear();
            }
            Op::NtDim { dim } => {
                let Some(size) = f.ty(data.operands[0]).as_tensor().map(|t| t.dims[dim as usize]) else { continue };
                match (size, sources.get(&size)) {
                    (Dim::Const(n), _) => {
                        f.ops[id.index()].op = Op::Const { value: Const::Int(n.into()) };
                        f.ops[id.index()].operands.clear();
                    }
                    (_, Some(&(v, k))) => {
                        f.ops[id.index()].op = Op::NtDim { dim: k };
                        f.ops[id.index()].operands[0] = v;
                    }
                    _ => {}
                }
            }
            Op::NtRefine { .. } | Op::NtExpand { .. } => {
                for i in 1..f.op(id).operands.len() {
                    let v = f.op(id).operands[i];
                    f.ops[id.index()].operands[i] = same_shape_input(f, &defs, v);
                }
            }
            _ => {}
        }
    }
}

/// Sizes of arrays that are made here are the numbers that they were bound to: nobody needs an array to ask for them.
pub fn known_sizes(f: &mut Func) {
    let (defs, mut bound, mut asked) = (definitions(f), BTreeMap::new(), vec![]);
    f.walk(&mut |id| {
        let data = f.op(id);
        match data.op {
            Op::ShapeBind { dim } => {
                bound.entry(dim).or_insert(data.operands[0]);
            }
            Op::NtDim { dim } => {
                let made = defs[data.operands[0].index()].is_some_and(|op| f.op(op).op.effects().fresh);
                if let Some(size) = dims(f, data.operands[0]).get(dim as usize).filter(|_| made) {
                    asked.push((id, *size));
                }
            }
            _ => {}
        }
    });
    for (id, size) in asked {
        let Some(&number) = bound.get(&size) else { continue };
        let result = f.op(id).results[0];
        if f.ty(number) == f.ty(result) {
            let uses = f.ops.iter_mut().flat_map(|op| op.operands.iter_mut());
            uses.filter(|v| **v == result).for_each(|v| *v = number);
        } else {
            f.ops[id.index()].op = Op::Cast;
            f.ops[id.index()].operands = vec![number].into();
        }
    }
}

/// The first parameter that has each symbol, and in which dimension: parameters are visible everywhere.
fn dim_sources(f: &Func) -> BTreeMap<Dim, (ValueId, u32)> {
    let mut sources = BTreeMap::new();
    for &p in f.params() {
        for (k, &d) in f.ty(p).as_tensor().map_or(&[][..], |t| &t.dims).iter().enumerate() {
            sources.entry(d).or_insert((p, k as u32));
        }
    }
    sources
}

/// An array of exactly `v`'s sizes that `v` is computed from, as far up as there is one; else `v`.
fn same_shape_input(f: &Func, defs: &[Option<OpId>], v: ValueId) -> ValueId {
    let Some(def) = defs[v.index()] else { return v };
    if f.op(def).op != Op::NtElementwise {
        return v;
    }
    match input_with_dims(f, def, dims(f, v)) {
        Some(input) => same_shape_input(f, defs, input),
        None => v,
    }
}

fn input_with_dims(f: &Func, op: OpId, want: &[Dim]) -> Option<ValueId> {
    f.op(op).operands.iter().copied().find(|&o| f.ty(o).as_tensor().is_some_and(|t| t.dims == want))
}

/// Sizes of an array; none for scalars.
pub fn dims(f: &Func, v: ValueId) -> &[Dim] {
    f.ty(v).as_tensor().map_or(&[], |t| &t.dims)
}

/// A constant in another scalar type, where the result is exact or rounds once.
fn cast_const(value: &Const, ty: &Type) -> Option<Const> {
    let dtype = ty.scalar_dtype()?;
    match (value, dtype) {
        (Const::Bool(b), DType::Bool) => Some(Const::Bool(*b)),
        (Const::Bool(b), d) if d.is_int() => Some(Const::Int(i128::from(*b))),
        (Const::Bool(b), d) if d.is_float() => Some(Const::Float(f64::from(u8::from(*b)))),
        (Const::Int(v), DType::Bool) => Some(Const::Bool(*v != 0)),
        (Const::Int(v), d) if d.is_int() => d.int_bounds().filter(|(lo, hi)| lo <= v && v <= hi).map(|_| value.clone()),
        (Const::Int(v), DType::F64) if v.unsigned_abs() <= 1 << 53 => Some(Const::Float(*v as f64)),
        (Const::Int(v), DType::F32) if v.unsigned_abs() <= 1 << 53 => Some(Const::Float(f64::from(*v as f64 as f32))),
        (Const::Float(v), DType::Bool) => Some(Const::Bool(*v != 0.0)),
        (Const::Float(v), DType::F64) => Some(Const::Float(*v)),
        // A nan's payload is not ours to round.
        (Const::Float(v), DType::F32) if !v.is_nan() => Some(Const::Float(f64::from(*v as f32))),
        _ => None,
    }
}

// ---- refinements -----------------------------------------------------------------------------

/// `refine(elementwise(y))` becomes `elementwise(refine(y))`, where the elementwise result has no other use and
/// one of its inputs has exactly its sizes (so that the message shows the same shapes). So does `expand`.
pub fn push_refines(f: &mut Func) {
    let mut regions = vec![f.body];
    f.walk(&mut |op| regions.extend(f.op(op).regions.iter().copied()));
    for region in regions {
        while push_one(f, region) {}
    }
}

fn push_one(f: &mut Func, region: RegionId) -> bool {
    if !f.region(region).ops.iter().any(|&id| matches!(f.op(id).op, Op::NtRefine { .. })) {
        return false;
    }
    let defs = definitions(f);
    let uses = f.use_counts();
    let found = f.region(region).ops.iter().copied().enumerate().find_map(|(at, id)| {
        let data = f.op(id);
        let (Op::NtRefine { .. } | Op::NtExpand { .. }) = data.op else { return None };
        let producer = defs[data.operands[0].index()]?;
        let p = f.op(producer);
        let mentioned = data.operands.iter().filter(|v| **v == data.operands[0]).count() as u32;
        let alone = p.op == Op::NtElementwise && p.results.len() == 1 && uses[data.operands[0].index()] == mentioned;
        let from = f.region(region).ops[..at].iter().position(|&op| op == producer)?;
        // The producer moves down to here: nothing between may write what it reads.
        let quiet = |&op: &OpId| is_quiet(f, op);
        let here = !f.effects(producer).may_raise && f.region(region).ops[from..at].iter().all(quiet);
        let changes = dims(f, data.operands[0]) != dims(f, data.results[0]);
        let shown = input_with_dims(f, producer, dims(f, data.operands[0]))?;
        (alone && here && changes).then_some((at, id, producer, shown))
    });
    let Some((at, refine, producer, shown)) = found else { return false };
    let op = f.op(refine).op.clone();
    let old_dims = dims(f, f.op(refine).operands[0]).to_vec();
    let new_dims = dims(f, f.op(refine).results[0]).to_vec();
    let added = new_dims.len() - old_dims.len();
    let computed = f.op(refine).operands[0];
    let message: Vec<ValueId> =
        f.op(refine).operands[1..].iter().map(|&v| if v == computed { shown } else { v }).collect();
    let mut p = f.op(producer).clone();
    // The refinements stand where the one refinement stood; ops appended here are moved into place below.
    let tail = f.region(region).ops.len();
    // The input whose shape the message shows comes first: it is the one that can raise.
    let mut inputs: Vec<ValueId> = vec![shown];
    inputs.extend(p.operands.iter().copied().filter(|&o| o != shown));
    let mut refined = BTreeMap::new();
    for input in inputs {
        let Some(t) = f.ty(input).as_tensor() else { continue };
        let skip = old_dims.len() - t.rank();
        let pairs = t.dims.iter().enumerate();
        // What is surely 1 repeats anyway.
        let better: Vec<Dim> = pairs
            .map(|(k, &d)| match d == old_dims[skip + k] && d != Dim::Const(1) {
                true => new_dims[added + skip + k],
                false => d,
            })
            .collect();
        if better == t.dims || refined.contains_key(&input) {
            continue;
        }
        let ty = Type::tensor(TensorType { dims: better, ..t.clone() });
        let mut b = Builder { func: f, region, span: p.span };
        b.span = b.func.op(refine).span;
        let mut operands = vec![input];
        operands.extend(&message);
        let v = b.value(op.clone(), &operands, ty);
        refined.insert(input, v);
    }
    for o in &mut p.operands {
        *o = refined.get(o).copied().unwrap_or(*o);
    }
    // The producer, now over the better sizes, defines the refinement's own result.
    p.results.clone_from(&f.op(refine).results);
    f.ops.push(p);
    let moved = OpId((f.ops.len() - 1) as u32);
    let ops = &mut f.regions[region.index()].ops;
    ops.push(moved);
    let added: Vec<OpId> = ops.drain(tail..).collect();
    ops.splice(at..=at, added);
    ops.retain(|&op| op != producer);
    true
}

// ---- common subexpressions -------------------------------------------------------------------

type Available = HashMap<(&'static str, Vec<ValueId>), Vec<OpId>>;

/// Equal pure scalar ops become one. So do checks of an index: one that was made need not be made again. Views that go somewhere
/// as the objects they are stay apart: two of the same elements are two.
pub fn cse(f: &mut Func) {
    let mut objects = HashSet::new();
    f.walk(&mut |id| {
        let data = f.op(id);
        if data.op == Op::NtWeaken || !matches!(data.op.dialect(), "nt" | "arith" | "math" | "shape") {
            objects.extend(data.operands.iter().copied().filter(|&v| f.ty(v).as_tensor().is_some()));
        }
    });
    let mut map = BTreeMap::new();
    cse_region(f, f.body, &objects, &mut Available::new(), &mut map);
}

fn cse_region(
    f: &mut Func,
    region: RegionId,
    objects: &HashSet<ValueId>,
    known: &mut Available,
    map: &mut BTreeMap<ValueId, ValueId>,
) {
    let mut kept = vec![];
    let mut added = vec![];
    for id in std::mem::take(&mut f.regions[region.index()].ops) {
        for v in &mut f.ops[id.index()].operands {
            while let Some(&next) = map.get(v) {
                *v = next;
            }
        }
        let regions = f.op(id).regions.clone();
        for r in regions {
            if is_isolated(&f.op(id).op) {
                share_operands(f, id, map);
                cse_region(f, r, objects, &mut Available::new(), map);
            } else {
                cse_region(f, r, objects, known, map);
            }
        }
        if repeats(f, id) {
            let data = f.op(id);
            let key = (data.op.name(), data.operands.to_vec());
            let equal = |&&other: &&OpId| is_same(f, other, id, &mut BTreeMap::new());
            let is_object = data.op.dialect() == "nt" && data.results.iter().any(|v| objects.contains(v));
            let first = known.get(&key).and_then(|ids| ids.iter().find(equal));
            if let Some(&first) = first.filter(|_| !is_object) {
                let pairs: Vec<_> = data.results.iter().copied().zip(f.op(first).results.iter().copied()).collect();
                map.extend(pairs);
                continue;
            }
            known.entry(key.clone()).or_default().push(id);
            added.push(key);
        }
        kept.push(id);
    }
    f.regions[region.index()].ops = kept;
    // What this region computed is not visible after it.
    for key in added.iter().rev() {
        if let Some(ids) = known.get_mut(key) {
            ids.pop();
        }
    }
}

/// Whether an op gives the same whenever it has the same operands, and does nothing else. What would raise the second time has raised
/// the first time.
fn repeats(f: &Func, id: OpId) -> bool {
    let data = f.op(id);
    match data.op {
        Op::NtIndex { .. } | Op::Checked { .. } => true,
        Op::ScfFor | Op::ScfIf => {
            let numbers = data.results.iter().all(|&v| f.ty(v).as_tensor().is_none());
            numbers && Effects { may_raise: false, ..f.effects(id) }.is_pure()
        }
        _ => data.op.effects().is_pure() && data.regions.is_empty() && !data.results.is_empty(),
    }
}

/// Whether two ops do the same. `names`: what the values that the second one defines are in the first.
fn is_same(f: &Func, first: OpId, second: OpId, names: &mut BTreeMap<ValueId, ValueId>) -> bool {
    let (a, b) = (f.op(first), f.op(second));
    let named = |v: &ValueId, names: &BTreeMap<ValueId, ValueId>| *names.get(v).unwrap_or(v);
    let alike = a.operands.len() == b.operands.len()
        && a.results.len() == b.results.len()
        && a.regions.len() == b.regions.len()
        && a.operands.iter().zip(&b.operands).all(|(x, y)| *x == named(y, names))
        && computes_the_same(&a.op, &b.op);
    let same = |these: &[ValueId], those: &[ValueId], names: &mut BTreeMap<ValueId, ValueId>| {
        let types = these.len() == those.len() && these.iter().zip(those).all(|(&x, &y)| f.ty(x) == f.ty(y));
        names.extend(those.iter().copied().zip(these.iter().copied()));
        types
    };
    alike
        && same(&a.results, &b.results, names)
        && a.regions.iter().zip(&b.regions).all(|(&r, &s)| {
            let (r, s) = (f.region(r), f.region(s));
            same(&r.args, &s.args, names)
                && r.ops.len() == s.ops.len()
                && r.ops.iter().zip(&s.ops).all(|(&x, &y)| is_same(f, x, y, names))
        })
}

/// Whether two ops of the same operands have the same results. Where one would raise, and what it would say, does not matter: the
/// other has raised.
fn computes_the_same(first: &Op, second: &Op) -> bool {
    match (first, second) {
        (Op::NtIndex { wrap: a, .. }, Op::NtIndex { wrap: b, .. }) => a == b,
        (Op::Checked { op: a, .. }, Op::Checked { op: b, .. }) => a == b,
        (Op::Raise { .. }, Op::Raise { .. }) => true,
        _ => first == second,
    }
}

/// Arguments that stand for one operand become one; [`dce`] then drops the others.
fn share_operands(f: &Func, id: OpId, map: &mut BTreeMap<ValueId, ValueId>) {
    let (operands, args) = (&f.op(id).operands, &f.region(f.op(id).regions[0]).args);
    for i in 1..operands.len() {
        let first = operands[..i].iter().position(|v| *v == operands[i]);
        if let Some(first) = first.filter(|&k| f.ty(args[k]) == f.ty(args[i])) {
            map.insert(args[i], args[first]);
        }
    }
}

// ---- dead code -------------------------------------------------------------------------------

/// Removes unused ops; unused results and operands of ops with isolated regions; repeats while that frees more.
pub fn dce(f: &mut Func) {
    loop {
        let mut uses = f.use_counts();
        let sizes = mentions(f);
        let mut changed = forget_lists(f, &mut uses);
        changed |= sweep(f, f.body, &mut uses, &sizes);
        let mut ids = vec![];
        f.walk(&mut |op| ids.push(op));
        for id in ids {
            if is_isolated(&f.op(id).op) {
                changed |= trim(f, id, &uses);
            }
        }
        if !changed {
            return;
        }
    }
}

/// Takes away lists that are only appended to: nobody looks at them.
fn forget_lists(f: &mut Func, uses: &mut [u32]) -> bool {
    let mut pushes: HashMap<ValueId, u32> = HashMap::new();
    let mut made = vec![];
    f.walk(&mut |op| match f.op(op).op {
        Op::ListNew => made.push(f.op(op).results[0]),
        Op::ListPush => *pushes.entry(f.op(op).operands[0]).or_default() += 1,
        _ => {}
    });
    made.retain(|list| pushes.get(list).copied().unwrap_or(0) == uses[list.index()]);
    if made.is_empty() {
        return false;
    }
    for region in 0..f.regions.len() {
        let (gone, kept): (Vec<OpId>, Vec<OpId>) = f.regions[region].ops.iter().partition(|&&op| {
            let data = f.op(op);
            let list = if data.op == Op::ListPush { data.operands.first() } else { data.results.first() };
            matches!(data.op, Op::ListPush | Op::ListNew) && list.is_some_and(|list| made.contains(list))
        });
        gone.into_iter().for_each(|op| forget(f, op, uses));
        f.regions[region].ops = kept;
    }
    true
}

/// How many values have each size symbol in their type.
fn mentions(f: &Func) -> HashMap<Dim, u32> {
    let mut counts = HashMap::new();
    let mut count = |v: ValueId| {
        for &d in dims(f, v).iter().filter(|d| matches!(d, Dim::Sym(_))) {
            *counts.entry(d).or_insert(0) += 1;
        }
    };
    f.walk(&mut |op| {
        f.op(op).results.iter().for_each(|&v| count(v));
        f.op(op).regions.iter().flat_map(|&r| &f.region(r).args).for_each(|&v| count(v));
    });
    counts
}

/// Whether an array that passes through control flow, or out of a cell or a list, is what gives others their sizes.
fn binds_sizes(f: &Func, id: OpId, sizes: &HashMap<Dim, u32>) -> bool {
    let op = &f.op(id).op;
    if op.dialect() != "scf" && !matches!(op, Op::NtWeaken | Op::NtNull | Op::ListGet) {
        return false;
    }
    let own: Vec<Dim> = f.op(id).results.iter().flat_map(|&v| dims(f, v)).copied().collect();
    let times = |d: &Dim| own.iter().filter(|o| *o == d).count() as u32;
    own.iter().any(|d| sizes.get(d).is_some_and(|&n| n > times(d)))
}

/// Backwards through a region, so that one sweep removes a whole dead chain.
fn sweep(f: &mut Func, region: RegionId, uses: &mut [u32], sizes: &HashMap<Dim, u32>) -> bool {
    let mut changed = false;
    let mut kept = vec![];
    for id in std::mem::take(&mut f.regions[region.index()].ops).into_iter().rev() {
        let unused = f.op(id).results.iter().all(|v| uses[v.index()] == 0);
        let dead = unused && f.effects(id).removable() && !never_ends(f, id) && !binds_sizes(f, id, sizes);
        let idle = matches!(f.op(id).op, Op::ShapeBind { dim } if !sizes.contains_key(&dim));
        if dead || idle {
            changed = true;
            forget(f, id, uses);
            continue;
        }
        for r in f.op(id).regions.clone() {
            changed |= sweep(f, r, uses, sizes);
        }
        kept.push(id);
    }
    kept.reverse();
    f.regions[region.index()].ops = kept;
    changed
}

/// Whether an op is a loop without a way out: it has no effect, and what follows is never reached.
fn never_ends(f: &Func, id: OpId) -> bool {
    f.op(id).op == Op::ScfLoop && !leaves(f, f.op(id).regions[0], 0)
}

/// Whether a region breaks out of the loop or block `depth` levels around it.
fn leaves(f: &Func, region: RegionId, depth: u32) -> bool {
    f.region(region).ops.iter().any(|&id| {
        let data = f.op(id);
        let inside = depth + u32::from(data.op.is_breakable());
        matches!(data.op, Op::Break { depth: d } if d == depth) || data.regions.iter().any(|&r| leaves(f, r, inside))
    })
}

/// Takes back the uses of an op and of everything in it.
fn forget(f: &Func, id: OpId, uses: &mut [u32]) {
    for v in &f.op(id).operands {
        uses[v.index()] -= 1;
    }
    for &r in &f.op(id).regions {
        for &inner in &f.region(r).ops {
            forget(f, inner, uses);
        }
    }
}

/// Drops unused results (keeping one of an `nt.elementwise`) and operands that the region does not use.
fn trim(f: &mut Func, id: OpId, uses: &[u32]) -> bool {
    let region = f.op(id).regions[0];
    let mut changed = false;
    // A body that ends in `raise` yields nothing; its results stay.
    let end = f.region(region).ops.last().copied().filter(|&e| f.op(e).op == Op::Yield);
    if let Some(end) = end {
        for i in (0..f.op(id).results.len()).rev() {
            let last_one = f.op(id).results.len() == 1 && f.op(id).op == Op::NtElementwise;
            if uses[f.op(id).results[i].index()] == 0 && !last_one {
                f.ops[id.index()].results.remove(i);
                f.ops[end.index()].operands.remove(i);
                changed = true;
            }
        }
    }
    for i in (0..f.op(id).operands.len()).rev() {
        if uses[f.region(region).args[i].index()] == 0 {
            f.ops[id.index()].operands.remove(i);
            f.regions[region.index()].args.remove(i);
            changed = true;
        }
    }
    changed
}
