//! Slices that are taken to lie inside their axis.
//!
//! The size of `a[1:n + 3]` is `min(n + 3, size) - 1`, which nothing is known of. Where a bound is a sum of sizes of array
//! arguments, of int arguments and of constants, the walk goes on as if no bound were beyond the axis: then it is `n + 2`, and equal sizes
//! have one symbol. What was taken for granted is part of the output, as sums that are not negative. Whoever calls the code
//! sees to it that they are; for other calls the function is typed without ([`super::Resolver::may_assume`]).

use super::Infer;
use super::abs::Abs;
use super::facts::{Affine, Computed};
use weft_ir::attr::{BinOp, Const};
use weft_ir::{Dim, Op, Type, ValueId};

/// Most terms of a sum.
const TERMS: usize = 4;
/// Most sums that are taken for granted: they are computed at every call.
const ASSUMED: usize = 16;
/// Factors and constants below these: no sum of 64-bit numbers leaves 128 bits. A larger bound says "to the end".
const FACTOR: i64 = 1 << 20;
const CONSTANT: i128 = 1 << 40;

/// A number that is known where the entry begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Term {
    /// The size of an axis of an array argument.
    Size(Dim),
    /// An int argument.
    Int(ValueId),
}

/// A sum of multiples of what is known at the entry, and a constant. Equal sums are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Linear {
    /// In order, each with a factor that is not 0.
    terms: [Option<(Term, i64)>; TERMS],
    plus: i128,
}

impl Linear {
    fn constant(n: i128) -> Option<Linear> {
        (n.abs() < CONSTANT).then_some(Linear { terms: [None; TERMS], plus: n })
    }

    fn term(term: Term) -> Linear {
        let mut terms = [None; TERMS];
        terms[0] = Some((term, 1));
        Linear { terms, plus: 0 }
    }

    fn terms(&self) -> impl Iterator<Item = (Term, i64)> {
        self.terms.into_iter().flatten()
    }

    /// `self + factor * other`, if that is not too long or too large.
    fn plus(self, factor: i64, other: Linear) -> Option<Linear> {
        let mut sum: Vec<(Term, i64)> = self.terms().collect();
        for (term, by) in other.terms() {
            let by = by.checked_mul(factor)?;
            match sum.iter_mut().find(|(known, _)| *known == term) {
                Some((_, times)) => *times = times.checked_add(by)?,
                None => sum.push((term, by)),
            }
        }
        sum.retain(|(_, times)| *times != 0);
        sum.sort_unstable();
        let plus = self.plus.checked_add(other.plus.checked_mul(factor.into())?)?;
        let fits = sum.len() <= TERMS && sum.iter().all(|(_, times)| times.abs() < FACTOR) && plus.abs() < CONSTANT;
        let mut terms = [None; TERMS];
        terms.iter_mut().zip(sum).for_each(|(slot, term)| *slot = Some(term));
        fits.then_some(Linear { terms, plus })
    }

    fn less(self, other: Linear) -> Option<Linear> {
        self.plus(-1, other)
    }

    fn as_constant(&self) -> Option<i128> {
        self.terms[0].is_none().then_some(self.plus)
    }

    /// Whether it is not negative, whatever the arguments: sizes are not.
    fn is_natural(&self) -> bool {
        self.plus >= 0 && self.terms().all(|(term, times)| matches!(term, Term::Size(_)) && times > 0)
    }
}

/// A number of the call: a parameter of the entry by position, the size of one of its axes if it is an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Position among the parameters of the entry.
    pub param: usize,
    /// The axis of an array; of an int nothing.
    pub axis: Option<usize>,
}

/// A sum that the code is right for only if it is not negative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// What is added, and how often.
    pub terms: Vec<(Known, i64)>,
    /// And a constant.
    pub plus: i128,
}

/// Where a slice begins and ends.
pub(super) struct Ends {
    pub lower: Linear,
    pub size: Dim,
    /// It takes the whole axis.
    pub whole: bool,
}

/// A bound of a slice: where it is, if it is known, or what is written there.
pub(super) enum End<'a> {
    /// So far from the front.
    Front(i128),
    /// So far from the end.
    Back(i128),
    /// As Python counts.
    Written(&'a Abs),
}

impl Infer<'_> {
    fn assumes(&self) -> bool {
        self.compiling.is_empty() && self.resolver.may_assume()
    }

    /// Where a size of an array argument can be read.
    fn source(&self, dim: Dim) -> Option<(usize, usize)> {
        let sizes = |p: &ValueId| self.tensor(*p).and_then(|t| t.dims.iter().position(|d| *d == dim));
        let arguments = self.out.params().iter().take(self.declared);
        arguments.enumerate().find_map(|(k, p)| Some((k, sizes(p)?)))
    }

    /// What a size is in terms of the arguments.
    fn linear_size(&self, dim: Dim) -> Option<Linear> {
        match dim {
            Dim::Const(n) => Linear::constant(n.into()),
            Dim::Sym(_) => self.facts.sized.get(&dim).copied().or_else(|| {
                self.source(dim)?;
                Some(Linear::term(Term::Size(dim)))
            }),
        }
    }

    /// What a Python int is in terms of the arguments.
    fn linear(&self, a: &Abs) -> Option<Linear> {
        match a {
            Abs::Const(Const::Int(n)) => Linear::constant(*n),
            Abs::Value(v) => self.facts.linear.get(v).copied().or_else(|| {
                let known = self.affine(a).filter(|known| known.exact)?;
                let size = self.linear_size(known.dim)?.plus(1, Linear::constant(known.plus)?)?;
                known.minus.map_or(Some(size), |dim| size.less(self.linear_size(dim)?))
            }),
            _ => None,
        }
    }

    /// Notes what the int arguments are. To be called when all have been declared.
    pub(super) fn know_arguments(&mut self) {
        for k in 0..self.declared {
            let v = self.out.params()[k];
            if *self.out.ty(v) == Type::PYINT && self.affine(&Abs::Value(v)).is_none() {
                self.facts.linear.insert(v, Linear::term(Term::Int(v)));
            }
        }
    }

    /// Notes what `a op b` is, for a result that cannot have wrapped.
    pub(super) fn linear_binop(&mut self, op: BinOp, a: &Abs, b: &Abs, result: ValueId) {
        if !self.assumes() {
            return;
        }
        let (Some(a), Some(b)) = (self.linear(a), self.linear(b)) else { return };
        let zero = Linear { terms: [None; TERMS], plus: 0 };
        let times = |of: Linear, by: i128| zero.plus(i64::try_from(by).ok()?, of);
        let value = match op {
            BinOp::Add => a.plus(1, b),
            BinOp::Sub => a.less(b),
            BinOp::Mul => match (a.as_constant(), b.as_constant()) {
                (_, Some(by)) => times(a, by),
                (Some(by), None) => times(b, by),
                (None, None) => None,
            },
            _ => None,
        };
        if let Some(value) = value {
            self.facts.linear.insert(result, value);
        }
    }

    /// Whether a sum is not negative, given what has been taken for granted.
    fn is_sure(&self, l: Linear) -> bool {
        l.is_natural() || self.assumed.iter().any(|a| l.less(*a).is_some_and(|more| more.is_natural()))
    }

    /// Takes for granted that a sum is not negative, unless it is known.
    fn suppose(&mut self, l: Linear) {
        if !self.is_sure(l) {
            self.assumed.retain(|a| !a.less(l).is_some_and(|more| more.is_natural()));
            self.assumed.push(l);
        }
    }

    /// What a slice with step 1 takes of an axis if its bounds lie inside, which is supposed where it helps.
    pub(super) fn ends_inside(&mut self, dim: Dim, lower: End<'_>, upper: End<'_>) -> Option<Ends> {
        if !self.assumes() {
            return None;
        }
        // `a[1:]` and `a[:-1]` are sizes less a constant, which `Computed::Less` knows without taking anything for granted.
        let supposes = match (&lower, &upper) {
            (End::Written(_), _)
            | (_, End::Written(_))
            | (End::Front(_), End::Front(_))
            | (End::Back(_), End::Back(_)) => true,
            (End::Front(_), End::Back(_)) | (End::Back(_), End::Front(_)) => false,
        };
        // An axis of one item is there to be repeated: it is cut to what it is.
        let supposes = supposes && dim != Dim::Const(1);
        let axis = self.linear_size(dim)?;
        let mut conditions = vec![];
        let mut place = |end: End<'_>| match end {
            End::Front(n) => Linear::constant(n),
            End::Back(n) => axis.less(Linear::constant(n)?),
            End::Written(a) => {
                let at = self.linear(a)?;
                // `a[:-k]` counts from the end, if it counts at all.
                if at.plus <= 0 && at.terms().all(|(_, times)| times < 0) {
                    conditions.push(Linear::constant(-1)?.less(at)?);
                    return axis.plus(1, at);
                }
                Some(at)
            }
        };
        let (from, to) = (place(lower)?, place(upper)?);
        let length = to.less(from)?;
        conditions.extend([from, length, axis.less(to)?]);
        let never = |l: &Linear| l.as_constant().is_some_and(|n| n < 0);
        let unsure = conditions.iter().filter(|l| !self.is_sure(**l)).count();
        if conditions.iter().any(never) || unsure > 0 && (!supposes || self.assumed.len() + unsure > ASSUMED) {
            return None;
        }
        conditions.into_iter().for_each(|l| self.suppose(l));
        let whole = length == axis;
        let size = if whole { dim } else { self.linear_symbol(length) };
        Some(Ends { lower: from, size, whole })
    }

    /// Takes for granted that a size that meets an argument's in a broadcast is the same number, if it is a sum.
    pub(super) fn suppose_same(&mut self, size: Dim, argument: Dim) {
        if !self.assumes() || self.is_argument_size(size) {
            return;
        }
        let sum = self.linear_size(size).or_else(|| self.clamped_sum(size));
        let (Some(a), Some(b)) = (self.linear_size(argument), sum) else { return };
        let (Some(more), Some(less)) = (a.less(b), b.less(a)) else { return };
        let differ = more.as_constant().is_some_and(|n| n != 0);
        if differ || self.assumed.len() + 2 > ASSUMED {
            return;
        }
        self.suppose(more);
        self.suppose(less);
        self.same_sizes.insert(size, argument);
    }

    /// The size that stands for all that are taken to be the same.
    pub(super) fn one_size(&self, dim: Dim) -> Dim {
        self.same_sizes.get(&dim).copied().unwrap_or(dim)
    }

    /// The symbol of a sum that is not negative, if there is one where ops go now.
    fn known_linear(&self, l: Linear) -> Option<Dim> {
        match (l.as_constant(), l.terms[0], l.terms[1]) {
            (Some(n), ..) => u64::try_from(n).ok().map(Dim::Const),
            (None, Some((Term::Size(dim), 1)), None) if l.plus == 0 && self.is_bound(dim) => Some(dim),
            _ => self.known_size(Computed::Linear(l)).or_else(|| self.known_size(Computed::Clamped(l))),
        }
    }

    /// The symbol of a sum that is not negative.
    fn linear_symbol(&mut self, l: Linear) -> Dim {
        self.known_linear(l).unwrap_or_else(|| {
            let v = self.linear_value(l);
            let dim = self.bind_size(v, Some(Computed::Linear(l)));
            self.sized(dim, l);
            dim
        })
    }

    /// Notes that a symbol is a sum.
    fn sized(&mut self, dim: Dim, l: Linear) {
        self.facts.sized.insert(dim, l);
        match (l.terms[0], l.terms[1]) {
            (Some((Term::Size(on), 1)), None) => self.based(dim, on, l.plus),
            // Loops up to the argument stay below the size.
            (Some((Term::Int(v), 1)), None) if self.affine(&Abs::Value(v)).is_none() => {
                self.set_affine(v, Affine { plus: -l.plus, ..Affine::size(dim) });
            }
            _ => {}
        }
    }

    /// The symbol of a size that the program computed, if it is a known sum; else what to note of the one it gets.
    pub(super) fn computed_symbol(&self, v: ValueId) -> Result<Dim, Option<Linear>> {
        if !self.assumes() {
            return Err(None);
        }
        let Some(l) = self.linear(&Abs::Value(v)) else { return Err(None) };
        self.known_linear(l).ok_or(Some(l))
    }

    /// Notes that a new symbol, bound to `v`, is a sum.
    pub(super) fn set_linear(&mut self, dim: Dim, l: Linear, v: ValueId) {
        self.know_size(Computed::Linear(l), dim, v);
        self.sized(dim, l);
    }

    /// `max(size - less, 0)` as what it is in terms of the arguments, and its symbol, if there is one.
    pub(super) fn linear_shrunk(&self, dim: Dim, less: i128) -> Option<(Computed, Option<Dim>)> {
        if !self.assumes() {
            return None;
        }
        let l = self.linear_size(dim)?.less(Linear::constant(less)?)?;
        // What has a symbol as a sum has been taken to be no less than 0.
        let known = self.known_size(Computed::Linear(l)).or_else(|| self.known_size(Computed::Clamped(l)));
        Some((Computed::Clamped(l), known))
    }

    /// The value of a sum, i64: always the same ops for equal ones.
    pub(super) fn linear_value(&mut self, l: Linear) -> ValueId {
        let mut sum = None;
        let positive = l.terms().filter(|(_, times)| *times > 0);
        for (term, times) in positive.chain(l.terms().filter(|(_, times)| *times < 0)) {
            let value = self.term_value(term);
            let by = match times.abs() {
                1 => value,
                times => {
                    let times = self.constant(Const::Int(times.into()), Type::I64);
                    self.emit(Op::Mul, &[value, times], Type::I64)
                }
            };
            sum = Some(match (sum, times > 0) {
                (Some(sum), true) => self.emit(Op::Add, &[sum, by], Type::I64),
                (Some(sum), false) => self.emit(Op::Sub, &[sum, by], Type::I64),
                (None, true) => by,
                (None, false) => self.emit(Op::Neg, &[by], Type::I64),
            });
        }
        match sum {
            Some(sum) if l.plus == 0 => sum,
            Some(sum) => {
                let plus = self.constant(Const::Int(l.plus), Type::I64);
                self.emit(Op::Add, &[sum, plus], Type::I64)
            }
            None => self.constant(Const::Int(l.plus), Type::I64),
        }
    }

    fn term_value(&mut self, term: Term) -> ValueId {
        match term {
            Term::Int(v) => self.cast(v, Type::I64),
            Term::Size(dim) => match self.source(dim) {
                Some((param, axis)) => self.size_i64(self.out.params()[param], axis),
                None => self.constant(Const::Int(0), Type::I64),
            },
        }
    }

    /// What was taken for granted, for whoever calls the code.
    pub(super) fn assumptions(&self) -> Vec<Assumption> {
        let known = |term: Term| match term {
            Term::Size(dim) => self.source(dim).map(|(param, axis)| Known { param, axis: Some(axis) }),
            Term::Int(v) => {
                let param = self.out.params().iter().position(|p| *p == v)?;
                Some(Known { param, axis: None })
            }
        };
        let assumption = |l: &Linear| Assumption {
            terms: l.terms().filter_map(|(term, times)| Some((known(term)?, times))).collect(),
            plus: l.plus,
        };
        self.assumed.iter().map(assumption).collect()
    }
}
