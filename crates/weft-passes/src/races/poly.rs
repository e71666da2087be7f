//! Polynomials with integer coefficients in values and sizes.

use std::collections::BTreeMap;
use weft_ir::ValueId;

/// What a polynomial is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Symbol {
    Value(ValueId),
    /// A size of an array.
    Size(u32),
}

/// A sum of products. No coefficient is 0.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Poly(BTreeMap<Vec<Symbol>, i128>);

impl Poly {
    pub fn constant(n: i128) -> Poly {
        Poly::default().with(vec![], n)
    }

    pub fn symbol(s: Symbol) -> Poly {
        Poly::default().with(vec![s], 1)
    }

    fn with(mut self, product: Vec<Symbol>, times: i128) -> Poly {
        let sum = self.0.remove(&product).unwrap_or(0).saturating_add(times);
        if sum != 0 {
            self.0.insert(product, sum);
        }
        self
    }

    pub fn plus(&self, other: &Poly) -> Poly {
        other.0.iter().fold(self.clone(), |sum, (product, &n)| sum.with(product.clone(), n))
    }

    pub fn minus(&self, other: &Poly) -> Poly {
        self.plus(&other.times(&Poly::constant(-1)))
    }

    pub fn times(&self, other: &Poly) -> Poly {
        let mut all = Poly::default();
        for (a, m) in &self.0 {
            for (b, n) in &other.0 {
                let mut product = [a.as_slice(), b].concat();
                product.sort();
                all = all.with(product, m.saturating_mul(*n));
            }
        }
        all
    }

    pub fn as_constant(&self) -> Option<i128> {
        match self.0.iter().next() {
            None => Some(0),
            Some((product, &n)) => (product.is_empty() && self.0.len() == 1).then_some(n),
        }
    }

    pub fn as_symbol(&self) -> Option<Symbol> {
        match self.0.iter().next() {
            Some((product, 1)) if product.len() == 1 && self.0.len() == 1 => Some(product[0]),
            _ => None,
        }
    }

    /// Whether it is 0 or more whatever the sizes are, and those other symbols are positive.
    pub fn is_never_negative(&self, positive: &[Symbol]) -> bool {
        let is_size = |s: &Symbol| matches!(s, Symbol::Size(_)) || positive.contains(s);
        self.0.iter().all(|(product, &n)| n > 0 && product.iter().all(is_size))
    }

    pub fn uses(&self, s: Symbol) -> bool {
        self.0.keys().any(|product| product.contains(&s))
    }

    /// What a symbol is multiplied with; `None` if it is squared.
    pub fn coefficient(&self, s: Symbol) -> Option<Poly> {
        let mut all = Poly::default();
        for (product, &n) in &self.0 {
            let rest: Vec<Symbol> = product.iter().copied().filter(|&p| p != s).collect();
            match product.len() - rest.len() {
                0 => {}
                1 => all = all.with(rest, n),
                _ => return None,
            }
        }
        Some(all)
    }

    /// With a symbol that is between two others at the end where this is least; only for constant factors.
    pub fn least(&self, s: Symbol, from: &Poly, last: &Poly) -> Option<Poly> {
        let factor = self.coefficient(s)?.as_constant()?;
        let end = if factor >= 0 { from } else { last };
        let change = end.minus(&Poly::symbol(s)).times(&Poly::constant(factor));
        Some(self.plus(&change))
    }

    /// The same where this is greatest.
    pub fn greatest(&self, s: Symbol, from: &Poly, last: &Poly) -> Option<Poly> {
        self.least(s, last, from)
    }
}
