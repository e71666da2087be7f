//! Integers as sums of multiples of symbols, and a constant.
//!
//! The one such form: subscripts, bounds of loops, sizes. A term may be a product of symbols (`i * n` of `a[i * n + j]`), which
//! counts as a symbol of its own to all who ask only about sums. Arithmetic is exact: what leaves 128 bits is `None`, and so is a
//! sum of more than [`MOST_TERMS`] terms, so that no question takes long.

use std::collections::BTreeMap;
use std::fmt;
use weft_ir::ValueId;

/// What a sum is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Symbol {
    /// An integer of 64 bits.
    Value(ValueId),
    /// The number behind a symbol of sizes: never negative.
    Size(u32),
    /// What an analysis counts by, and no value holds.
    Position(u32),
}

/// Terms of the longest sum.
pub(crate) const MOST_TERMS: usize = 32;

/// Symbols that are multiplied, in order. Empty: the constant term.
type Product = Vec<Symbol>;

/// A sum of products. Equal sums are equal: no factor is 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Affine(BTreeMap<Product, i128>);

impl Affine {
    /// A number.
    pub fn constant(n: i128) -> Affine {
        Affine(if n == 0 { BTreeMap::new() } else { BTreeMap::from([(vec![], n)]) })
    }

    /// A symbol, once.
    pub fn symbol(s: Symbol) -> Affine {
        Affine(BTreeMap::from([(vec![s], 1)]))
    }

    /// `self + factor * other`.
    pub fn plus_times(&self, factor: i128, other: &Affine) -> Option<Affine> {
        let mut sum = self.0.clone();
        for (product, &n) in &other.0 {
            let by = n.checked_mul(factor)?;
            match sum.get_mut(product) {
                Some(times) => *times = times.checked_add(by)?,
                None => {
                    sum.insert(product.clone(), by);
                }
            }
        }
        sum.retain(|_, n| *n != 0);
        (sum.len() <= MOST_TERMS).then_some(Affine(sum))
    }

    /// The sum of two.
    pub fn plus(&self, other: &Affine) -> Option<Affine> {
        self.plus_times(1, other)
    }

    /// The difference of two.
    pub fn minus(&self, other: &Affine) -> Option<Affine> {
        self.plus_times(-1, other)
    }

    /// The product of two.
    pub fn times(&self, other: &Affine) -> Option<Affine> {
        let mut all = Affine::default();
        for (product, &n) in &self.0 {
            let mut part = BTreeMap::new();
            for (other, &m) in &other.0 {
                let mut both = [product.as_slice(), other].concat();
                both.sort_unstable();
                part.insert(both, n.checked_mul(m)?);
            }
            all = all.plus(&Affine(part))?;
        }
        Some(all)
    }

    /// The number that it is, whatever the symbols are.
    pub fn as_constant(&self) -> Option<i128> {
        match self.0.iter().next() {
            None => Some(0),
            Some((product, &n)) => (product.is_empty() && self.0.len() == 1).then_some(n),
        }
    }

    /// The symbol that it is.
    pub fn as_symbol(&self) -> Option<Symbol> {
        match self.0.iter().next() {
            Some((product, 1)) if product.len() == 1 && self.0.len() == 1 => Some(product[0]),
            _ => None,
        }
    }

    /// What it is without any symbol.
    pub fn constant_term(&self) -> i128 {
        self.0.get(&vec![]).copied().unwrap_or(0)
    }

    /// Products of symbols with their factors; the constant is not among them.
    pub fn terms(&self) -> impl Iterator<Item = (&[Symbol], i128)> {
        self.0.iter().filter(|(product, _)| !product.is_empty()).map(|(product, &n)| (product.as_slice(), n))
    }

    /// Every symbol in it.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> {
        self.0.keys().flatten().copied()
    }

    /// Whether a symbol occurs.
    pub fn uses(&self, s: Symbol) -> bool {
        self.symbols().any(|other| other == s)
    }

    /// What a symbol is multiplied with; `None` if it is squared.
    pub fn coefficient(&self, s: Symbol) -> Option<Affine> {
        let mut all = Affine::default();
        for (product, &n) in &self.0 {
            let rest: Product = product.iter().copied().filter(|&p| p != s).collect();
            match product.len() - rest.len() {
                0 => {}
                1 => all = all.plus(&Affine(BTreeMap::from([(rest, n)])))?,
                _ => return None,
            }
        }
        Some(all)
    }

    /// With another sum in the place of a symbol; `None` if that is squared.
    pub fn with(&self, s: Symbol, value: &Affine) -> Option<Affine> {
        let factor = self.coefficient(s)?;
        let rest = self.minus(&factor.times(&Affine::symbol(s))?)?;
        rest.plus(&factor.times(value)?)
    }

    /// Whether it is 0 or more, if these symbols and all sizes are.
    pub fn is_never_negative(&self, naturals: &[Symbol]) -> bool {
        let natural = |s: &Symbol| matches!(s, Symbol::Size(_)) || naturals.contains(s);
        self.0.iter().all(|(product, &n)| n > 0 && product.iter().all(natural))
    }

    /// With a symbol that is between two others at the end where this is least; only where its factor is a constant.
    pub fn least(&self, s: Symbol, first: &Affine, last: &Affine) -> Option<Affine> {
        let factor = self.coefficient(s)?.as_constant()?;
        self.with(s, if factor >= 0 { first } else { last })
    }

    /// The same where this is greatest.
    pub fn greatest(&self, s: Symbol, first: &Affine, last: &Affine) -> Option<Affine> {
        self.least(s, last, first)
    }

    /// What it is where symbols are these numbers.
    #[cfg(test)]
    pub fn value(&self, of: &dyn Fn(Symbol) -> i128) -> Option<i128> {
        let product = |symbols: &[Symbol]| symbols.iter().try_fold(1, |n: i128, &s| n.checked_mul(of(s)));
        self.0.iter().try_fold(0, |sum: i128, (symbols, &n)| sum.checked_add(product(symbols)?.checked_mul(n)?))
    }
}

impl fmt::Display for Affine {
    /// As one would write it: `2*%3*?0 + %1 - 4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (symbols, n) in
            self.terms().chain(Some((&[][..], self.constant_term())).filter(|(_, n)| *n != 0 || self.0.is_empty()))
        {
            let sign = match (first, n < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            f.write_str(sign)?;
            let names: Vec<String> = symbols
                .iter()
                .map(|s| match s {
                    Symbol::Value(v) => format!("%{}", v.0),
                    Symbol::Size(n) => format!("?{n}"),
                    Symbol::Position(n) => format!("@{n}"),
                })
                .collect();
            match (n.unsigned_abs(), names.is_empty()) {
                (1, false) => {}
                (n, true) => write!(f, "{n}")?,
                (n, false) => write!(f, "{n}*")?,
            }
            f.write_str(&names.join("*"))?;
            first = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(n: u32) -> Symbol {
        Symbol::Value(ValueId(n))
    }

    /// A sum of small multiples of four symbols and products of two.
    fn random(seed: &mut u64) -> Affine {
        let mut next = |n: u64| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*seed >> 33) % n
        };
        let symbols = [value(0), value(1), Symbol::Size(0), Symbol::Size(1)];
        let mut sum = Affine::constant(next(9) as i128 - 4);
        for _ in 0..next(4) {
            let mut term = Affine::constant(next(7) as i128 - 3);
            for _ in 0..next(3) {
                term = term.times(&Affine::symbol(symbols[next(4) as usize])).expect("small");
            }
            sum = sum.plus(&term).expect("small");
        }
        sum
    }

    #[test]
    fn arithmetic_agrees_with_numbers() {
        let mut seed = 1;
        for _ in 0..2000 {
            let (a, b, c) = (random(&mut seed), random(&mut seed), random(&mut seed));
            let numbers = [3, -2, 5, 7].map(|n: i128| n + (seed % 11) as i128);
            let of = |s: Symbol| match s {
                Symbol::Value(v) => numbers[v.0 as usize],
                Symbol::Size(n) | Symbol::Position(n) => numbers[2 + n as usize],
            };
            let at = |a: &Affine| a.value(&of).expect("small");
            assert_eq!(at(&a.plus(&b).unwrap()), at(&a) + at(&b));
            assert_eq!(at(&a.minus(&b).unwrap()), at(&a) - at(&b));
            assert_eq!(at(&a.times(&b).unwrap()), at(&a) * at(&b));
            assert_eq!(a.plus(&b), b.plus(&a));
            assert_eq!(a.minus(&a), Some(Affine::default()));
            assert_eq!(a.times(&b.plus(&c).unwrap()), a.times(&b).unwrap().plus(&a.times(&c).unwrap()));
            if let Some(factor) = a.coefficient(value(0)) {
                let rest = a.with(value(0), &Affine::default()).unwrap();
                assert_eq!(at(&rest) + at(&factor) * numbers[0], at(&a));
                assert_eq!(at(&a.with(value(0), &b).unwrap()), at(&rest) + at(&factor) * at(&b));
            }
        }
    }

    #[test]
    fn what_is_too_large_is_nothing() {
        let large = Affine::constant(i128::MAX);
        assert_eq!(large.plus(&Affine::constant(1)), None);
        assert_eq!(large.times(&Affine::constant(2)), None);
        assert_eq!(large.minus(&large), Some(Affine::default()));
        let many = (0..MOST_TERMS as u32).try_fold(Affine::default(), |sum, n| sum.plus(&Affine::symbol(value(n))));
        assert_eq!(many.expect("fits").plus(&Affine::constant(1)), None);
    }

    #[test]
    fn sums_are_written_as_one_writes_them() {
        let product = Affine::symbol(value(3)).times(&Affine::symbol(Symbol::Size(0))).unwrap();
        let sum = Affine::symbol(value(1)).plus_times(-2, &product).unwrap().plus(&Affine::constant(-4)).unwrap();
        assert_eq!(sum.to_string(), "%1 - 2*%3*?0 - 4");
        assert_eq!(Affine::default().to_string(), "0");
        assert_eq!(Affine::constant(-1).to_string(), "-1");
    }
}
