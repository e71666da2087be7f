//! Early `return` in a kernel that runs as a `par.for`: iterations end only at their end, so what follows a possible
//! return moves under a condition.
//!
//! In: a kernel's body. Out: the same body without `return`; it ends with `yield`. Where one arm of a branch always
//! leaves, what follows moves into the other arm. Else the branch or loop also yields whether the item is still
//! alive, and what follows runs if it is.

use weft_ir::attr::Const;
use weft_ir::{Builder, DType, Func, Op, OpId, RegionId, Type, ValueId};

/// Rewrites the body.
pub fn eliminate(f: &mut Func) {
    tail(f, f.body);
}

fn returns(f: &Func, op: OpId) -> bool {
    let mut found = false;
    f.op(op).regions.iter().for_each(|&r| f.walk_region(r, &mut |op| found |= f.op(op).op == Op::Return));
    found
}

/// Position of the first op in a region that may return from inside.
fn first_leaving(f: &Func, region: RegionId) -> Option<usize> {
    f.region(region).ops.iter().position(|&op| returns(f, op))
}

fn end(f: &Func, region: RegionId) -> OpId {
    *f.region(region).ops.last().expect("a region ends with a terminator")
}

fn at(f: &mut Func, region: RegionId) -> Builder<'_> {
    Builder { func: f, region, span: weft_diag::Span::NONE }
}

/// A region whose end is the item's end.
fn tail(f: &mut Func, region: RegionId) {
    let Some(i) = first_leaving(f, region) else {
        let last = end(f, region);
        if f.op(last).op == Op::Return {
            f.ops[last.index()].op = Op::Yield;
        }
        return;
    };
    let op = f.region(region).ops[i];
    let rest = f.regions[region.index()].ops.split_off(i + 1);
    let arms = f.op(op).regions.clone();
    let through: Vec<RegionId> = arms.iter().copied().filter(|&r| f.op(end(f, r)).op == Op::Yield).collect();
    if f.op(op).op == Op::ScfIf && through.len() < 2 {
        if let [arm] = through[..] {
            // The results are what this arm yields, and only what follows uses them.
            let yields = end(f, arm);
            let pairs: Vec<(ValueId, ValueId)> =
                f.op(op).results.iter().copied().zip(f.op(yields).operands.iter().copied()).collect();
            for v in f.ops.iter_mut().flat_map(|o| &mut o.operands) {
                *v = pairs.iter().find(|(old, _)| old == v).map_or(*v, |p| p.1);
            }
            let ops = &mut f.regions[arm.index()].ops;
            ops.pop();
            ops.extend(rest);
        }
        f.ops[op.index()].results.clear();
        arms.iter().for_each(|&arm| tail(f, arm));
    } else {
        let alive = guard(f, op);
        let then = f.new_region();
        f.regions[then.index()].ops = rest;
        tail(f, then);
        let (other, _) = at(f, region).region(|b| b.effect(Op::Yield, &[]));
        at(f, region).op(Op::ScfIf, &[alive], &[], &[then, other]);
    }
    at(f, region).effect(Op::Yield, &[]);
}

/// Makes a branch or loop that may return also yield whether it did not; returns that value.
fn guard(f: &mut Func, op: OpId) -> ValueId {
    let types: Vec<Type> = f.op(op).results.iter().map(|&v| f.ty(v).clone()).collect();
    let regions = f.op(op).regions.clone();
    if f.op(op).op == Op::ScfFor {
        guard_loop(f, op, &types);
    } else {
        regions.iter().for_each(|&r| alive_region(f, r, &types));
    }
    let alive = f.new_value(Type::BOOL);
    f.ops[op.index()].results.push(alive);
    alive
}

/// A loop that carries `alive`; iterations after the one that returned do nothing.
fn guard_loop(f: &mut Func, op: OpId, types: &[Type]) {
    let body = f.op(op).regions[0];
    // The start stands before the loop, in the region that holds it.
    let start = f.new_value(Type::BOOL);
    let mut constant = f.op(op).clone();
    constant.op = Op::Const { value: Const::Bool(true) };
    constant.operands.clear();
    constant.regions.clear();
    constant.results = vec![start].into();
    f.ops.push(constant);
    let id = OpId((f.ops.len() - 1) as u32);
    let holder = f.regions.iter_mut().find(|r| r.ops.contains(&op)).expect("the loop stands in a region");
    let position = holder.ops.iter().position(|&o| o == op).expect("found just above");
    holder.ops.insert(position, id);
    f.ops[op.index()].operands.push(start);
    let carried: Vec<ValueId> = f.region(body).args[1..].to_vec();
    let alive = at(f, body).arg(Type::BOOL);
    let then = f.new_region();
    f.regions[then.index()].ops = std::mem::take(&mut f.regions[body.index()].ops);
    alive_region(f, then, types);
    let (other, ()) = at(f, body).region(|b| {
        let dead = b.constant(Const::Bool(false), Type::BOOL);
        b.effect(Op::Yield, &[&carried[..], &[dead]].concat());
    });
    finish(f, body, alive, then, other, types);
}

/// Rewrites a region that yields values of these types, or returns, so that it yields them and whether it did not return.
fn alive_region(f: &mut Func, region: RegionId, types: &[Type]) {
    let Some(i) = first_leaving(f, region) else {
        let last = end(f, region);
        match f.op(last).op {
            Op::Yield => {
                let values = f.op(last).operands.to_vec();
                f.regions[region.index()].ops.pop();
                let mut b = at(f, region);
                let alive = b.constant(Const::Bool(true), Type::BOOL);
                b.effect(Op::Yield, &[&values[..], &[alive]].concat());
            }
            Op::Return => {
                f.regions[region.index()].ops.pop();
                yield_dead(&mut at(f, region), types);
            }
            _ => {}
        }
        return;
    };
    let op = f.region(region).ops[i];
    let rest = f.regions[region.index()].ops.split_off(i + 1);
    let alive = guard(f, op);
    let then = f.new_region();
    f.regions[then.index()].ops = rest;
    alive_region(f, then, types);
    let (other, ()) = at(f, region).region(|b| yield_dead(b, types));
    finish(f, region, alive, then, other, types);
}

/// `scf.if(alive)` with both arms, and the yield of its results.
fn finish(f: &mut Func, region: RegionId, alive: ValueId, then: RegionId, other: RegionId, types: &[Type]) {
    let types = [types, &[Type::BOOL]].concat();
    let branch = at(f, region).op(Op::ScfIf, &[alive], &types, &[then, other]);
    let results = f.op(branch).results.to_vec();
    at(f, region).effect(Op::Yield, &results);
}

/// Values nobody will look at, and `false`.
fn yield_dead(b: &mut Builder<'_>, types: &[Type]) {
    let mut values: Vec<ValueId> = vec![];
    for ty in types {
        let zero = match ty.scalar_dtype() {
            Some(DType::Bool) => Const::Bool(false),
            Some(d) if d.is_int() => Const::Int(0),
            _ => Const::Float(0.0),
        };
        values.push(b.constant(zero, ty.clone()));
    }
    values.push(b.constant(Const::Bool(false), Type::BOOL));
    b.effect(Op::Yield, &values);
}
