//! What a turn of a loop makes, and which memory it writes: for steps that do work of many turns before the loop.

use crate::analysis::alias;
use std::collections::{BTreeMap, BTreeSet};
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{Builder, Dim, Func, Layout, Op, OpId, RegionId, Type, ValueId};

/// Turns from which a product before the loop is less work than something in each of them.
pub(crate) const TURNS: i64 = 16;

/// Whether the counter of a `scf.for` goes up by one.
pub(crate) fn goes_by_one(f: &Func, defs: &[Option<OpId>], id: OpId) -> bool {
    is_number(f, defs, f.op(id).operands[2], 1)
}

/// How many turns a loop has from `lo` to `hi`. There may be none though `hi - lo`, in 64 bits, is a large number.
pub(crate) fn count(b: &mut Builder<'_>, lo: ValueId, hi: ValueId) -> ValueId {
    let none = b.i64(0);
    let some = b.value(Op::Cmp { is: CmpOp::Lt }, &[lo, hi], Type::BOOL);
    let turns = b.value(Op::Sub, &[hi, lo], Type::I64);
    b.value(Op::Select, &[some, turns, none], Type::I64)
}

/// Whether a value is this constant.
pub(crate) fn is_number(f: &Func, defs: &[Option<OpId>], v: ValueId, number: i128) -> bool {
    defs[v.index()].is_some_and(|op| f.op(op).op == Op::Const { value: Const::Int(number) })
}

/// Whether the elements of an array are known to share no memory with each other, as those of some strides do.
pub(crate) fn has_own_places(f: &Func, v: ValueId) -> bool {
    f.ty(v).as_tensor().is_some_and(|t| matches!(t.layout, Layout::C | Layout::F))
}

/// A vector: an array, where it begins and by how much it goes on along each of the array's axes, and the one that it walks
/// along. Nothing of that where it is the array itself.
pub(crate) struct Vector {
    pub array: ValueId,
    pub walk: Vec<ValueId>,
    pub axis: i32,
}

/// What a turn of a loop makes.
pub(crate) struct Inside {
    turn: RegionId,
    pub counter: ValueId,
    pub values: BTreeSet<ValueId>,
    pub sizes: BTreeSet<Dim>,
}

impl Inside {
    pub fn new(f: &Func, turn: RegionId) -> Inside {
        let args = &f.region(turn).args;
        let mut inside =
            Inside { turn, counter: args[0], values: args.iter().copied().collect(), sizes: BTreeSet::new() };
        f.walk_region(turn, &mut |id| {
            let data = f.op(id);
            inside.values.extend(data.results.iter().copied());
            inside.values.extend(data.regions.iter().flat_map(|&r| f.region(r).args.iter().copied()));
            if let Op::ShapeBind { dim } = data.op {
                inside.sizes.insert(dim);
            }
        });
        inside
    }

    /// The value that a size is bound to here.
    pub fn bound(&self, f: &Func, size: Dim) -> Option<ValueId> {
        let bind = |&&op: &&OpId| f.op(op).op == Op::ShapeBind { dim: size };
        f.region(self.turn).ops.iter().find(bind).map(|&op| f.op(op).operands[0])
    }

    /// Whether a number follows from the loop's counter and what was there before.
    pub fn follows(&self, f: &Func, defs: &[Option<OpId>], v: ValueId) -> bool {
        if v == self.counter || !self.values.contains(&v) {
            return true;
        }
        let Some(data) = defs[v.index()].map(|op| f.op(op)) else { return false };
        let e = data.op.effects();
        let pure = data.regions.is_empty() && !(e.reads || e.writes || e.may_raise || e.exits || e.fresh);
        pure && f.ty(v).as_tensor().is_none() && data.operands.iter().all(|&v| self.follows(f, defs, v))
    }

    /// Computes such a number again, with other values for some; notes what was computed.
    pub fn again(
        &self,
        b: &mut Builder<'_>,
        defs: &[Option<OpId>],
        known: &mut BTreeMap<ValueId, ValueId>,
        v: ValueId,
    ) -> ValueId {
        if let Some(&v) = known.get(&v) {
            return v;
        }
        let Some(id) = defs[v.index()].filter(|_| self.values.contains(&v)) else { return v };
        let data = b.func.op(id).clone();
        let operands: Vec<ValueId> = data.operands.iter().map(|&v| self.again(b, defs, known, v)).collect();
        let ty = b.ty(v);
        let new = b.value(data.op, &operands, ty);
        known.insert(v, new);
        new
    }

    /// A view along one axis, made here of an array that was there before.
    fn view(&self, f: &Func, defs: &[Option<OpId>], v: ValueId) -> Option<Vector> {
        let data = f.op(defs[v.index()]?);
        let Op::NtView { axes } = &data.op else { return None };
        let (&array, &[axis]) = (data.operands.first()?, &axes[..]) else { return None };
        let before = !self.values.contains(&array);
        (before && axis >= 0).then(|| Vector { array, walk: data.operands[1..].to_vec(), axis })
    }

    /// A vector that is one further along an axis in every turn: with that axis, and the index along it.
    pub fn moved(&self, f: &Func, defs: &[Option<OpId>], v: ValueId) -> Option<(Vector, usize, ValueId)> {
        let found = self.view(f, defs, v)?;
        let mut moving = found.walk.iter().enumerate().filter(|(_, v)| self.values.contains(v));
        let ((at, &index), None) = (moving.next()?, moving.next()) else { return None };
        let along = at / 2;
        let one_by_one = at % 2 == 0 && along as i32 != found.axis && self.counts(f, defs, index);
        one_by_one.then_some((found, along, index))
    }

    /// Whether a value is the loop's counter, as an index. Where it has been looked at, it is inside: who does the work of many
    /// turns at once asks whether all of them are.
    pub fn counts(&self, f: &Func, defs: &[Option<OpId>], v: ValueId) -> bool {
        let made = defs[v.index()].map(|id| f.op(id));
        match made {
            Some(o) if matches!(o.op, Op::NtIndex { .. }) => self.counts(f, defs, o.operands[0]),
            Some(o) if o.op == Op::Cast => o.operands[0] == self.counter && *f.ty(v) == Type::I64,
            _ => v == self.counter && *f.ty(v) == Type::I64,
        }
    }

    /// Whether every turn comes to the op at a position, but for those with an index that is not there. What else a turn finds
    /// out before it may be why the op can be done at all.
    pub fn reaches(&self, f: &Func, at: usize) -> bool {
        f.region(self.turn).ops[..at].iter().all(|&op| {
            let e = f.effects(op);
            !e.exits && (!e.may_raise || matches!(f.op(op).op, Op::NtIndex { .. }))
        })
    }

    /// Which arrays must not share memory if no turn is to write what the dot at a position reads in a later one.
    /// `None`: one does, or it cannot be told.
    pub fn apart(
        &self,
        f: &Func,
        defs: &[Option<OpId>],
        at: usize,
        same: &Vector,
        (moves, along): (&Vector, usize),
    ) -> Option<BTreeSet<(ValueId, ValueId)>> {
        let root = |v: ValueId| alias::root(f, defs, v);
        let fresh = |v: ValueId| defs[v.index()].is_some_and(|id| f.op(id).op.effects().fresh);
        let (mut pairs, mut fine) = (BTreeSet::new(), true);
        for (position, &outer) in f.region(self.turn).ops.iter().enumerate() {
            let mut look = |id: OpId| {
                let data = f.op(id);
                if !data.op.effects().writes || matches!(data.op, Op::ShapeBind { .. }) {
                    return;
                }
                let Some(&to) = data.written().first() else {
                    fine = false;
                    return;
                };
                // What a turn stores after its dot, in the row or column of its own.
                let own = || {
                    let (array, index) = match data.op {
                        Op::NtStore { .. } => (to, data.operands.get(2 + along).copied()),
                        _ => match self.view(f, defs, to) {
                            Some(part) if part.axis != along as i32 => (part.array, part.walk.get(2 * along).copied()),
                            _ => return false,
                        },
                    };
                    let mine = array == moves.array && position > at && has_own_places(f, array);
                    mine && index.is_some_and(|v| self.counts(f, defs, v))
                };
                for (&read, mine) in [(&same.array, false), (&moves.array, own())] {
                    let (a, b) = (root(to), root(read));
                    if a == b {
                        fine &= mine;
                    } else if !fresh(a) && !fresh(b) {
                        fine &= !self.values.contains(&a);
                        pairs.insert((a.min(b), a.max(b)));
                    }
                }
            };
            look(outer);
            f.op(outer).regions.iter().for_each(|&r| f.walk_region(r, &mut look));
        }
        fine.then_some(pairs)
    }
}
