//! `[f(i) for i in range(n)]`: a new list has as many items as the loop has turns, and turns that touch nothing else run at once.
//!
//! In and out: a host function at stage `fused`, edited in place. A loop that appends one item of numbers at every turn to a list that
//! is still empty, and changes nothing else, sets the items of a list that has all of them. Such turns need no other turn:
//! blocks of them are given to threads, as those of a `prange` are. What a turn raises is what the first turn that raises does.

use crate::analysis::alias;
use crate::canon;
use crate::fuse::each_op;
use crate::infer::{BLOCKS, LONGEST};
use std::collections::BTreeSet;
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{Builder, Func, Op, OpId, RegionId, Type, ValueId};

/// The step.
pub fn run(f: &mut Func) {
    let defs = canon::definitions(f);
    each_op(f, f.body, &mut |f, region, at| Some(Comprehension::new(f, region, at, &defs)?.rewrite(f, region, at)));
}

/// A loop that fills a list.
struct Comprehension {
    body: RegionId,
    list: ValueId,
    push: OpId,
    /// The first index, and one after the last.
    bounds: [ValueId; 2],
}

impl Comprehension {
    fn new(f: &Func, region: RegionId, at: usize, defs: &[Option<OpId>]) -> Option<Comprehension> {
        let ops = &f.region(region).ops;
        let data = f.op(ops[at]);
        if data.op != Op::ScfFor {
            return None;
        }
        // It carries nothing, and counts up by one from a number that is not negative: no number of turns is too large.
        let &[first, end, step] = &data.operands[..] else { return None };
        let number = |v: ValueId| match defs[v.index()].map(|id| &f.op(id).op) {
            Some(Op::Const { value: Const::Int(n) }) => Some(*n),
            _ => None,
        };
        if number(step) != Some(1) || number(first).is_none_or(|n| n < 0) {
            return None;
        }
        let body = data.regions[0];
        let (_, turn) = f.region(body).ops.split_last()?;
        let push = *turn.iter().find(|&&op| f.op(op).op == Op::ListPush)?;
        let (&list, values) = f.op(push).operands.split_first()?;
        let made = ops[..at].iter().rposition(|&op| f.op(op).results.contains(&list))?;
        let new = f.op(ops[made]).op == Op::ListNew;
        let untouched = ops[made + 1..at].iter().all(|&op| !uses(f, op, list));
        let alone = turn.iter().all(|&op| op == push || (!uses(f, op, list) && !f.effects(op).exits));
        let numbers = values.iter().all(|&v| f.ty(v).is_scalar());
        let found = Comprehension { body, list, push, bounds: [first, end] };
        (new && untouched && alone && numbers && found.is_apart(f, defs)).then_some(found)
    }

    /// Whether no turn writes to anything that another could see.
    fn is_apart(&self, f: &Func, defs: &[Option<OpId>]) -> bool {
        let mut inside: BTreeSet<ValueId> = BTreeSet::new();
        f.walk_region(self.body, &mut |op| inside.extend(&f.op(op).results));
        let mut apart = true;
        f.walk_region(self.body, &mut |op| {
            let data = f.op(op);
            let own = match &data.op {
                _ if op == self.push || !data.op.effects().writes => true,
                Op::ShapeBind { .. } => true,
                Op::CellSet => true,
                Op::ListPush | Op::ListSet | Op::ListReserve | Op::ListTruncate => inside.contains(&data.operands[0]),
                _ => data.written().first().is_some_and(|&v| {
                    let root = alias::root(f, defs, v);
                    let made = defs[root.index()].is_some_and(|id| f.op(id).op.effects().fresh);
                    inside.contains(&root) && made
                }),
            };
            // A variable of the function around may be set elsewhere; threads know only values.
            let outer = |&v: &ValueId| matches!(f.ty(v), Type::Cell(_)) && !inside.contains(&v);
            apart &= !data.operands.iter().any(outer);
            let plain = !matches!(data.op, Op::ParBlocks { .. } | Op::Call { .. }) && data.op.dialect() != "env";
            apart &= own && plain;
        });
        apart
    }

    /// Cuts the loop into blocks. Returns the position after them.
    fn rewrite(self, f: &mut Func, region: RegionId, at: usize) -> usize {
        let span = f.op(f.region(region).ops[at]).span;
        let setup = f.new_region();
        let mut b = Builder { func: f, region: setup, span };
        let [first, end] = self.bounds.map(|v| b.cast(v, Type::I64));
        let some = b.value(Op::Cmp { is: CmpOp::Gt }, &[end, first], Type::BOOL);
        let (distance, zero) = (b.value(Op::Sub, &[end, first], Type::I64), b.i64(0));
        let turns = b.value(Op::Select, &[some, distance, zero], Type::I64);
        b.effect(Op::ListRoom, &[self.list, turns]);
        let block = rounded_up(&mut b, turns, BLOCKS as i64);
        let (one, longest) = (b.i64(1), b.i64(LONGEST as i64));
        let block = b.value(Op::Max, &[block, one], Type::I64);
        let block = b.value(Op::Min, &[block, longest], Type::I64);
        let less = b.value(Op::Sub, &[block, one], Type::I64);
        let up = b.value(Op::Add, &[turns, less], Type::I64);
        let blocks = b.value(Op::FloorDiv, &[up, block], Type::I64);
        let (some, number) = b.region(|b| b.arg(Type::I64));
        b.op(Op::ParBlocks { cost: 0 }, &[blocks, block], &[], &[some]);
        let mut b = Builder { func: f, region: some, span };
        let skipped = b.value(Op::Mul, &[number, block], Type::I64);
        let from = b.value(Op::Add, &[first, skipped], Type::I64);
        let rest = b.value(Op::Sub, &[end, from], Type::I64);
        let count = b.value(Op::Min, &[rest, block], Type::I64);
        let to = b.value(Op::Add, &[from, count], Type::I64);
        let (from, to) = (b.cast(from, Type::PYINT), b.cast(to, Type::PYINT));
        let one = b.constant(Const::Int(1), Type::PYINT);
        b.op(Op::ScfFor, &[from, to, one], &[], &[self.body]);
        b.effect(Op::Yield, &[]);
        self.set_instead(f, first);
        let setup = std::mem::take(&mut f.regions[setup.index()].ops);
        let next = at + setup.len();
        f.regions[region.index()].ops.splice(at..=at, setup);
        next
    }

    /// The item at the turn's number, where one was appended.
    fn set_instead(&self, f: &mut Func, first: ValueId) {
        let index = f.region(self.body).args[0];
        let (before, span) = (f.new_region(), f.op(self.push).span);
        let mut b = Builder { func: f, region: before, span };
        let index = b.cast(index, Type::I64);
        let place = b.value(Op::Sub, &[index, first], Type::I64);
        let place = b.cast(place, Type::PYINT);
        let data = &mut f.ops[self.push.index()];
        data.op = Op::ListSet;
        let mut operands = data.operands.to_vec();
        operands.insert(1, place);
        data.operands = operands.into();
        let before = std::mem::take(&mut f.regions[before.index()].ops);
        let ops = &mut f.regions[self.body.index()].ops;
        let at = ops.iter().position(|&op| op == self.push).unwrap_or(0);
        ops.splice(at..at, before);
    }
}

/// Whether an op or what is in it uses a value.
fn uses(f: &Func, op: OpId, v: ValueId) -> bool {
    let mut used = f.op(op).operands.contains(&v);
    f.op(op).regions.iter().for_each(|&r| f.walk_region(r, &mut |inner| used |= f.op(inner).operands.contains(&v)));
    used
}

/// `n / parts`, rounded up.
fn rounded_up(b: &mut Builder<'_>, n: ValueId, parts: i64) -> ValueId {
    let (parts, less) = (b.i64(parts), b.i64(parts - 1));
    let up = b.value(Op::Add, &[n, less], Type::I64);
    b.value(Op::FloorDiv, &[up, parts], Type::I64)
}
