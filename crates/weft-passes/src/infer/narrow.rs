//! What a condition says of integers: it holds in the arm of an `if` that the condition chooses, and after the `if` where the
//! other arm does not go on.

use super::Infer;
use super::abs::Abs;
use super::facts::Affine;
use std::collections::HashMap;
use std::hash::Hash;
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{Dim, Type, ValueId, Weak};

/// What the truth of a value says.
#[derive(Clone, Debug)]
pub(super) enum Said {
    /// How two integers compare.
    Compare(CmpOp, Abs, Abs),
    /// The opposite of another value.
    Not(ValueId),
    /// True only where both are.
    And(ValueId, ValueId),
    /// False only where both are.
    Or(ValueId, ValueId),
}

/// What was known before a condition said more.
#[derive(Clone, Copy, Debug)]
pub(super) enum Before {
    Value(ValueId, Option<(i128, i128)>, Option<Affine>),
    /// The least that a size is.
    Size(Dim, Option<i128>),
}

impl Infer<'_> {
    /// Notes that a result is how two integers compare.
    pub(super) fn compared(&mut self, is: CmpOp, a: &Abs, b: &Abs, result: &Abs) {
        if let Abs::Value(v) = result
            && self.is_integer(a)
            && self.is_integer(b)
        {
            self.said.insert(*v, Said::Compare(is, a.clone(), b.clone()));
        }
    }

    /// Notes what the truth of `a` is, if it is a value.
    pub(super) fn said_by_truth(&mut self, a: &Abs, truth: ValueId) {
        let Abs::Value(v) = a else { return };
        if let Some(said) = self.said.get(v).cloned() {
            self.said.insert(truth, said);
        } else if self.is_integer(a) {
            let zero = Abs::Const(Const::Int(0));
            self.said.insert(truth, Said::Compare(CmpOp::Ne, a.clone(), zero));
        }
    }

    /// Notes what the result of an `if` says that chose one of two truths by `cond`: `and` and `or` are written so.
    pub(super) fn said_by_choice(&mut self, cond: ValueId, first: &Abs, second: &Abs, result: ValueId) {
        let said = match (first, second) {
            (Abs::Value(v), b) if *b == Abs::Value(cond) || *b == Abs::Const(Const::Bool(false)) => Said::And(cond, *v),
            (a, Abs::Value(v)) if *a == Abs::Value(cond) || *a == Abs::Const(Const::Bool(true)) => Said::Or(cond, *v),
            _ => return,
        };
        // Where both arms give what was there before, nothing new is said.
        if let Said::And(a, b) | Said::Or(a, b) = said
            && result > a.max(b)
        {
            self.said.insert(result, said);
        }
    }

    /// Takes a truth to be known where ops go now, until the end of that region.
    pub(super) fn grant(&mut self, cond: ValueId, holds: bool) {
        match (self.said.get(&cond).cloned(), holds) {
            (Some(Said::Compare(is, a, b)), true) => self.grant_compared(is, &a, &b),
            (Some(Said::Compare(is, a, b)), false) => self.grant_compared(opposite(is), &a, &b),
            (Some(Said::Not(v)), _) => self.grant(v, !holds),
            (Some(Said::And(a, b)), true) | (Some(Said::Or(a, b)), false) => {
                self.grant(a, holds);
                self.grant(b, holds);
            }
            _ => {}
        }
    }

    fn grant_compared(&mut self, is: CmpOp, a: &Abs, b: &Abs) {
        let ((a0, a1), (b0, b1)) = (self.range(a), self.range(b));
        let (in_a, in_b) = match is {
            CmpOp::Lt => ((a0, a1.min(b1 - 1)), (b0.max(a0 + 1), b1)),
            CmpOp::Le => ((a0, a1.min(b1)), (b0.max(a0), b1)),
            CmpOp::Eq => ((a0.max(b0), a1.min(b1)), (b0.max(a0), b1.min(a1))),
            CmpOp::Ne => (without((a0, a1), (b0, b1)), without((b0, b1), (a0, a1))),
            CmpOp::Gt => return self.grant_compared(CmpOp::Lt, b, a),
            CmpOp::Ge => return self.grant_compared(CmpOp::Le, b, a),
            _ => return,
        };
        match is {
            CmpOp::Lt => self.grant_bound(a, self.affine(b).map(|f| Affine { plus: f.plus - 1, exact: false, ..f })),
            CmpOp::Le => self.grant_bound(a, self.affine(b).map(|f| Affine { exact: false, ..f })),
            CmpOp::Eq => {
                self.grant_bound(a, self.affine(b));
                self.grant_bound(b, self.affine(a));
            }
            _ => {}
        }
        self.grant_range(a, in_a);
        self.grant_range(b, in_b);
    }

    /// The counter of a loop is below its end where the loop's body runs.
    pub(super) fn grant_counter(&mut self, counter: ValueId, end: ValueId) {
        self.grant_compared(CmpOp::Lt, &Abs::Value(counter), &Abs::Value(end));
    }

    fn grant_range(&mut self, a: &Abs, range: (i128, i128)) {
        // Where nothing is left control never comes.
        if let Abs::Value(v) = a
            && range != self.range(a)
            && range.0 <= range.1
        {
            self.keep_known(*v);
            self.ranges.insert(*v, range);
            self.grant_size(a, range.0);
        }
    }

    /// A value is no less than this, and so is the size that it is.
    fn grant_size(&mut self, a: &Abs, least: i128) {
        let Some(size) = self.affine(a).map(|f| self.rooted(f)) else { return };
        let least = least.saturating_sub(size.plus);
        if size.exact && size.minus.is_none() && least > self.least_size(size.dim) {
            let before = self.facts.least.insert(size.dim, least);
            self.granted.push(Before::Size(size.dim, before));
        }
    }

    fn grant_bound(&mut self, a: &Abs, bound: Option<Affine>) {
        let (Abs::Value(v), Some(bound)) = (a, bound) else { return };
        let better = match self.affine(a) {
            None => true,
            Some(known) => !known.exact && (bound.exact || !self.is_tighter(known, bound)),
        };
        if better {
            self.keep_known(*v);
            self.set_affine(*v, bound);
        }
    }

    fn keep_known(&mut self, v: ValueId) {
        let before = Before::Value(v, self.ranges.get(&v).copied(), self.affine(&Abs::Value(v)));
        self.granted.push(before);
    }

    /// Forgets what was granted since this much was.
    pub(super) fn forget_granted(&mut self, until: usize) {
        while self.granted.len() > until
            && let Some(before) = self.granted.pop()
        {
            match before {
                Before::Value(v, range, affine) => {
                    put(&mut self.ranges, v, range);
                    self.put_affine(v, affine);
                }
                Before::Size(dim, least) => put(&mut self.facts.least, dim, least),
            }
        }
    }

    fn is_integer(&self, a: &Abs) -> bool {
        match self.type_of(a) {
            Some(Type::Py(w)) => w == Weak::Int,
            Some(Type::Num(d)) => d.is_int(),
            _ => false,
        }
    }
}

fn put<K: Hash + Eq, V>(map: &mut HashMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    };
}

/// What is left of a range without a number that is one of its ends.
fn without(range: (i128, i128), other: (i128, i128)) -> (i128, i128) {
    let alone = other.0 == other.1;
    (range.0 + i128::from(alone && range.0 == other.0), range.1 - i128::from(alone && range.1 == other.0))
}

fn opposite(is: CmpOp) -> CmpOp {
    match is {
        CmpOp::Lt => CmpOp::Ge,
        CmpOp::Le => CmpOp::Gt,
        CmpOp::Gt => CmpOp::Le,
        CmpOp::Ge => CmpOp::Lt,
        CmpOp::Eq => CmpOp::Ne,
        CmpOp::Ne => CmpOp::Eq,
        other => other,
    }
}
