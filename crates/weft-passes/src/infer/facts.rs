//! What is known of sizes at run time: which values are a size plus a constant, which are below one, and which computed
//! sizes are the same.

use super::Infer;
use super::abs::Abs;
use super::assume::Linear;
use std::collections::HashMap;
use weft_ir::attr::{BinOp, Const};
use weft_ir::{Dim, Op, RegionId, ValueId};

/// A size plus a constant, less another size where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Affine {
    pub dim: Dim,
    pub minus: Option<Dim>,
    pub plus: i128,
    /// The value is exactly this, not only at most.
    pub exact: bool,
}

impl Affine {
    /// Exactly a size.
    pub(super) fn size(dim: Dim) -> Affine {
        Affine { dim, minus: None, plus: 0, exact: true }
    }

    /// How much more than this size it is, if it is exactly that.
    pub(super) fn beyond(&self, dim: Dim) -> Option<i128> {
        (self.exact && self.minus.is_none() && self.dim == dim).then_some(self.plus)
    }

    /// The sum, where a size that one lacks is what the other has.
    fn add(self, other: Affine) -> Option<Affine> {
        let (a, b) = if self.minus == Some(other.dim) { (self, other) } else { (other, self) };
        let fits = a.minus == Some(b.dim);
        let plus = a.plus.saturating_add(b.plus);
        fits.then_some(Affine { dim: a.dim, minus: b.minus, plus, exact: a.exact && b.exact })
    }
}

/// A size that the program computes from another one, in a form that makes equal sizes equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Computed {
    /// `max(size - n, 0)`.
    Less(Dim, i128),
    /// The length of a slice: bounds from the front (true) or the end, and the step.
    Slice(Dim, (bool, i128), (bool, i128), i128),
    /// What two sizes broadcast to.
    Joined(Dim, Dim),
    /// An integer of the program.
    Value(ValueId),
    /// A sum that is not negative.
    Linear(Linear),
    /// A sum, or 0 if it is negative.
    Clamped(Linear),
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    affine: HashMap<ValueId, Affine>,
    /// The symbol of a computed size, the region that binds it, and the value bound.
    computed: HashMap<Computed, (Dim, RegionId, ValueId)>,
    /// Where each symbol that is no argument's is bound.
    homes: HashMap<Dim, RegionId>,
    /// Symbols that are another size plus a constant, less a third one where there is one.
    based: HashMap<Dim, Affine>,
    /// The least that sizes are where ops go now, if more than 0: of those that are not another plus a constant.
    pub(super) least: HashMap<Dim, i128>,
    /// Values that are another plus a constant.
    added: HashMap<ValueId, (ValueId, i128)>,
    /// Integers in terms of the arguments.
    pub(super) linear: HashMap<ValueId, Linear>,
    /// Symbols in terms of the arguments.
    pub(super) sized: HashMap<Dim, Linear>,
}

impl Facts {
    /// What was bound in one region is bound in another now.
    pub(super) fn moved(&mut self, from: RegionId, to: RegionId) {
        self.computed.values_mut().filter(|(_, r, _)| *r == from).for_each(|(_, r, _)| *r = to);
        self.homes.values_mut().filter(|r| **r == from).for_each(|r| *r = to);
    }
}

impl Infer<'_> {
    /// What is known of an integer beside a size.
    pub(super) fn affine(&self, a: &Abs) -> Option<Affine> {
        let Abs::Value(v) = a else { return None };
        self.facts.affine.get(v).copied()
    }

    /// Notes that a value is a size, or a size plus a constant.
    pub(super) fn set_affine(&mut self, v: ValueId, fact: Affine) {
        self.facts.affine.insert(v, fact);
    }

    /// The same where something may be known.
    pub(super) fn put_affine(&mut self, v: ValueId, fact: Option<Affine>) {
        match fact {
            Some(fact) => self.facts.affine.insert(v, fact),
            None => self.facts.affine.remove(&v),
        };
    }

    /// Whether what is at most `a` is surely less than or equal to what `b` says.
    pub(super) fn is_tighter(&self, a: Affine, b: Affine) -> bool {
        let (a, b) = (self.rooted(a), self.rooted(b));
        a.dim == b.dim && (b.minus.is_none() || a.minus == b.minus) && a.plus <= b.plus
    }

    /// The least that a size is which is not known to be another plus a constant.
    pub(super) fn least_size(&self, dim: Dim) -> i128 {
        match dim {
            Dim::Const(n) => n.into(),
            Dim::Sym(_) => self.facts.least.get(&dim).copied().unwrap_or(0),
        }
    }

    /// What a value that is one of these is at most.
    pub(super) fn joined_bound<'a>(&self, values: impl Iterator<Item = &'a Abs> + Clone) -> Option<Affine> {
        let mut joined = values.clone().find_map(|a| self.affine(a)).map(|f| self.rooted(f))?;
        for a in values {
            match (a, self.affine(a)) {
                (_, Some(f)) => {
                    let f = self.rooted(f);
                    if f.dim != joined.dim || f.minus != joined.minus {
                        return None;
                    }
                    joined.exact &= f.exact && f.plus == joined.plus;
                    joined.plus = joined.plus.max(f.plus);
                }
                (Abs::Const(Const::Int(c)), None) if joined.minus.is_none() => {
                    let plus = c.saturating_sub(self.least_size(joined.dim));
                    joined = Affine { plus: joined.plus.max(plus), exact: false, ..joined };
                }
                _ => return None,
            }
        }
        Some(joined)
    }

    /// What the smaller of two values is at most.
    pub(super) fn least_bound(&self, a: &Abs, b: &Abs) -> Option<Affine> {
        let least = match (self.affine(a), self.affine(b)) {
            (Some(f), Some(g)) => {
                if self.is_tighter(f, g) {
                    f
                } else {
                    g
                }
            }
            (f, g) => f.or(g)?,
        };
        Some(Affine { exact: false, ..least })
    }

    /// Notes what `a op b` is beside a size, for a result that cannot have wrapped.
    pub(super) fn affine_binop(&mut self, op: BinOp, a: &Abs, b: &Abs, result: ValueId) {
        match (op, a, b) {
            (BinOp::Add, Abs::Value(v), Abs::Const(Const::Int(c)))
            | (BinOp::Add, Abs::Const(Const::Int(c)), Abs::Value(v)) => {
                self.facts.added.insert(result, (*v, *c));
            }
            (BinOp::Sub, Abs::Value(v), Abs::Const(Const::Int(c))) => {
                self.facts.added.insert(result, (*v, -*c));
            }
            _ => {}
        }
        self.linear_binop(op, a, b, result);
        let (fact, by) = match (op, self.affine(a), self.affine(b), a, b) {
            (BinOp::Add, Some(f), _, _, Abs::Const(Const::Int(c))) => (f, *c),
            (BinOp::Add, _, Some(f), Abs::Const(Const::Int(c)), _) => (f, *c),
            (BinOp::Add, Some(f), Some(g), ..) => match self.rooted(f).add(self.rooted(g)) {
                Some(sum) => (sum, 0),
                None => return,
            },
            (BinOp::Sub, Some(f), _, _, Abs::Const(Const::Int(c))) => (f, -*c),
            (BinOp::Sub, Some(f), Some(g), ..)
                if f.minus.is_none() && g.minus.is_none() && g.exact && self.rooted(f).dim != self.rooted(g).dim =>
            {
                (Affine { minus: Some(g.dim), ..f }, g.plus.saturating_neg())
            }
            (BinOp::Sub, Some(f), ..) => (Affine { exact: false, ..f }, self.range(b).0.saturating_neg()),
            _ => return,
        };
        self.facts.affine.insert(result, Affine { plus: fact.plus.saturating_add(by), ..fact });
    }

    /// The least that `a - b` can be, where `a` is a size plus a constant and `b` at most that size plus another.
    pub(super) fn least_difference(&self, a: &Abs, b: &Abs) -> Option<i128> {
        let (a, b) = (self.rooted(self.affine(a)?), self.rooted(self.affine(b)?));
        // A size that is taken off can be left out of what is at most.
        let alike = a.dim == b.dim && (a.minus.is_none() || a.minus == b.minus);
        (a.exact && alike).then(|| a.plus.saturating_sub(b.plus))
    }

    /// The same in terms of a size that is not known to be another plus a constant.
    pub(super) fn rooted(&self, mut f: Affine) -> Affine {
        while let Some(on) = self.facts.based.get(&f.dim).filter(|on| on.minus.is_none() || f.minus.is_none()) {
            f = Affine { dim: on.dim, minus: f.minus.or(on.minus), plus: f.plus.saturating_add(on.plus), ..f };
        }
        let plain = |dim: Dim| self.facts.based.get(&dim).filter(|on| on.minus.is_none());
        while let Some(on) = f.minus.and_then(plain) {
            f = Affine { minus: Some(on.dim), plus: f.plus.saturating_sub(on.plus), ..f };
        }
        f
    }

    /// Notes that a new symbol is the size `v`: also what it is beside other sizes, and what `v` was computed from beside it.
    pub(super) fn set_size(&mut self, v: ValueId, dim: Dim) {
        if let Some(on) = self.facts.affine.get(&v).filter(|on| on.exact && on.dim != dim) {
            self.facts.based.insert(dim, *on);
        }
        self.set_affine(v, Affine::size(dim));
        if let Some(&(from, by)) = self.facts.added.get(&v)
            && !self.facts.affine.contains_key(&from)
        {
            self.set_affine(from, Affine { plus: -by, ..Affine::size(dim) });
        }
    }

    /// Notes that a symbol is another size plus a constant.
    pub(super) fn based(&mut self, dim: Dim, on: Dim, plus: i128) {
        self.facts.based.insert(dim, Affine { plus, ..Affine::size(on) });
    }

    /// Notes that the items of `range(…, hi, positive step)` are below `hi`.
    pub(super) fn below(&mut self, item: ValueId, hi: &Abs) {
        if let Some(f) = self.affine(hi) {
            self.facts.affine.insert(item, Affine { plus: f.plus - 1, exact: false, ..f });
        }
    }

    /// Notes that the items of `range(lo, …, negative step)` are no more than `lo`.
    pub(super) fn at_most(&mut self, item: ValueId, lo: &Abs) {
        if let Some(f) = self.affine(lo) {
            self.facts.affine.insert(item, Affine { exact: false, ..f });
        }
    }

    /// Whether an integer is known to be below a size.
    pub(super) fn is_below(&self, a: &Abs, dim: Dim) -> bool {
        match dim {
            Dim::Const(n) => self.range(a).1 < i128::from(n),
            Dim::Sym(_) => {
                let size = self.rooted(Affine::size(dim));
                let least = self.least_size(size.dim).saturating_add(size.plus);
                let beside = |f: Affine| {
                    let f = self.rooted(f);
                    // Whatever is taken off is no less than 0.
                    f.dim == size.dim && (size.minus.is_none() || f.minus == size.minus) && f.plus < size.plus
                };
                size.minus.is_none() && self.range(a).1 < least || self.affine(a).is_some_and(beside)
            }
        }
    }

    /// Whether a size is an argument's of the entry, and so is 1 only if its type says so.
    pub(super) fn is_argument_size(&self, dim: Dim) -> bool {
        if !self.compiling.is_empty() {
            return false;
        }
        let mut types = self.out.params().iter().filter_map(|&p| self.tensor(p));
        types.any(|t| t.dims.contains(&dim))
    }

    /// The sum that a size is, or 0 if that is negative.
    pub(super) fn clamped_sum(&self, dim: Dim) -> Option<Linear> {
        self.facts.computed.iter().find_map(|(what, bound)| match what {
            Computed::Clamped(sum) if bound.0 == dim => Some(*sum),
            _ => None,
        })
    }

    /// The symbol of a computed size, if one is bound where ops go now.
    pub(super) fn known_size(&self, what: Computed) -> Option<Dim> {
        self.known_binding(what).map(|(dim, _)| dim)
    }

    /// The symbol of a computed size and the value it is bound to.
    pub(super) fn known_binding(&self, what: Computed) -> Option<(Dim, ValueId)> {
        let &(dim, region, v) = self.facts.computed.get(&what)?;
        (region == self.region || self.open.contains(&region)).then_some((dim, v))
    }

    /// `max(size - n, 0)` of a size that may be computed so itself: both subtractions in one.
    pub(super) fn less(&self, dim: Dim, n: i128) -> Computed {
        let of = self.facts.computed.iter().find_map(|(what, (d, ..))| match what {
            Computed::Less(base, k) if *d == dim => Some(Computed::Less(*base, k.saturating_add(n))),
            _ => None,
        });
        of.unwrap_or(Computed::Less(dim, n))
    }

    /// Whether a symbol is bound where ops go now.
    pub(super) fn is_bound(&self, dim: Dim) -> bool {
        self.facts.homes.get(&dim).is_none_or(|r| *r == self.region || self.open.contains(r))
    }

    /// Notes that a symbol is bound by a result or an argument in the current region.
    pub(super) fn bound_here(&mut self, dim: Dim) {
        self.facts.homes.insert(dim, self.region);
    }

    /// A new symbol for the size `v` (i64, not negative).
    pub(super) fn bind_size(&mut self, v: ValueId, what: Option<Computed>) -> Dim {
        let dim = Dim::Sym(self.out.new_symbol());
        self.bound_here(dim);
        self.effect(Op::ShapeBind { dim }, &[v]);
        if let Some(what) = what {
            self.know_size(what, dim, v);
        }
        dim
    }

    /// Notes what a symbol is that was bound to `v` here.
    pub(super) fn know_size(&mut self, what: Computed, dim: Dim, v: ValueId) {
        self.facts.computed.insert(what, (dim, self.region, v));
    }
}
