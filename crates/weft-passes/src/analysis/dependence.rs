//! Whether two accesses meet, and in which iterations.
//!
//! An access touches the elements whose indices are affine in the variables that it runs over: counters of loops around it, and
//! positions of its own (the elements of a slice). Two accesses are told apart by the values that the counters of loops around
//! both have for each: iteration `i` of the first and iteration `i + d` of the second. [`Question::distances`] says between
//! which numbers `d` lies for every element that both touch.
//!
//! The answer is that of a system of inequalities ([`super::inequalities`]): where nothing is known, every distance may be.
//! Products of variables and sizes (`i * n + j`) are columns of their own; what is known of them is what bounds of `i` say when
//! they are multiplied with `n`.

use super::affine::{Affine, Symbol};
use super::inequalities::{Bounds, Inequalities};
use std::collections::{BTreeMap, BTreeSet};

/// An integer that goes from `from` up to, but not including, `to`, one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// What affine forms know it by.
    pub symbol: Symbol,
    /// First, where that is known.
    pub from: Option<Affine>,
    /// Behind the last.
    pub to: Option<Affine>,
}

/// The elements of an array that an op touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// The index along each axis; `None`: any.
    pub axes: Vec<Option<Affine>>,
    /// What it runs over beside the loops around both accesses; bounds may use those and earlier ones.
    pub over: Vec<Variable>,
}

/// Two accesses to one array, and the loops around both.
pub(crate) struct Question<'a> {
    pub first: &'a Access,
    pub second: &'a Access,
    /// Loops around both, the outermost first. All but the last are in the same iteration.
    pub around: &'a [Variable],
    /// Symbols that are known not to be negative, beside sizes.
    pub naturals: &'a [Symbol],
    /// Sums that are known not to be negative.
    pub known: &'a [Affine],
}

/// Between which numbers the distance of iterations lies; no element is touched by both where `None`.
pub(crate) type Distances = Option<Bounds>;

/// Any distance.
const ANY: Distances = Some(Bounds { least: None, most: None });

impl Question<'_> {
    /// How many iterations of the last loop around both the second access comes after the first, where they meet.
    pub fn distances(&self) -> Distances {
        self.solved().unwrap_or(ANY)
    }

    /// `None`: a sum is too large.
    fn solved(&self) -> Option<Distances> {
        let mut system = System::default();
        let mut second: BTreeMap<Symbol, Symbol> = BTreeMap::new();
        // Symbols of the second access where they stand for something else: numbered from the other end.
        let rename = |s: Symbol, second: &mut BTreeMap<Symbol, Symbol>| {
            second.insert(s, Symbol::Position(u32::MAX - second.len() as u32));
        };
        let moving = self.around.last();
        for variable in self.around {
            system.variable(variable, &BTreeMap::new())?;
        }
        if let Some(variable) = moving {
            rename(variable.symbol, &mut second);
            system.variable(variable, &second)?;
        }
        for variable in &self.first.over {
            system.variable(variable, &BTreeMap::new())?;
        }
        for variable in &self.second.over {
            rename(variable.symbol, &mut second);
            system.variable(variable, &second)?;
        }
        for (a, b) in self.first.axes.iter().zip(&self.second.axes) {
            if let (Some(a), Some(b)) = (a, b) {
                system.zero.push(a.minus(&renamed(b, &second)?)?);
            }
        }
        system.natural.extend(self.known.iter().cloned());
        let distance = match moving {
            Some(variable) => {
                renamed(&Affine::symbol(variable.symbol), &second)?.minus(&Affine::symbol(variable.symbol))?
            }
            None => Affine::default(),
        };
        Some(system.bounds(&distance, self.naturals))
    }
}

/// With other symbols.
fn renamed(a: &Affine, names: &BTreeMap<Symbol, Symbol>) -> Option<Affine> {
    names
        .iter()
        .try_fold(a.clone(), |a, (from, to)| if a.uses(*from) { a.with(*from, &Affine::symbol(*to)) } else { Some(a) })
}

/// What is known, as sums that are 0, or 0 or more.
#[derive(Default)]
struct System {
    zero: Vec<Affine>,
    natural: Vec<Affine>,
    /// Those of `natural` that are bounds of variables.
    bounds: Vec<Affine>,
}

impl System {
    fn variable(&mut self, v: &Variable, names: &BTreeMap<Symbol, Symbol>) -> Option<()> {
        let own = renamed(&Affine::symbol(v.symbol), names)?;
        if let Some(from) = &v.from {
            self.bounds.push(own.minus(&renamed(from, names)?)?);
        }
        if let Some(to) = &v.to {
            self.bounds.push(renamed(to, names)?.minus(&own)?.minus(&Affine::constant(1))?);
        }
        Some(())
    }

    /// Between which numbers a sum is.
    fn bounds(self, sum: &Affine, naturals: &[Symbol]) -> Distances {
        let all = || self.zero.iter().chain(&self.natural).chain(&self.bounds);
        // What multiplies a variable somewhere multiplies its bounds too, if it is never negative.
        let mut factors: BTreeSet<Symbol> = BTreeSet::new();
        let products = all().flat_map(|a| a.terms()).filter(|(symbols, _)| symbols.len() > 1);
        factors.extend(products.flat_map(|(symbols, _)| symbols));
        let negative = |s: &Symbol| Affine::constant(-1).minus(&Affine::symbol(*s));
        factors.retain(|s| {
            let known = matches!(s, Symbol::Size(_)) || naturals.contains(s);
            known || negative(s).is_some_and(|below| self.solve(sum, naturals, &[below]).is_none())
        });
        if factors.is_empty() {
            return self.solve(sum, naturals, &[]);
        }
        let times = |a: &Affine| factors.iter().filter_map(|s| a.times(&Affine::symbol(*s))).collect::<Vec<_>>();
        let more: Vec<Affine> = self.bounds.iter().flat_map(times).collect();
        // Iterations that differ, differ by one at least, which can be multiplied too: before, in and after the same.
        let (none, one) = (Affine::default(), Affine::constant(1));
        let before = none.minus(sum).and_then(|s| s.minus(&one));
        let same = none.minus(sum).map(|negated| vec![sum.clone(), negated]);
        let cases = [before.map(|s| vec![s]), same, sum.minus(&one).map(|s| vec![s])];
        let mut found: Distances = None;
        for case in cases {
            let part = match case {
                Some(case) => {
                    let extra: Vec<Affine> = case.iter().flat_map(times).chain(case.iter().cloned()).collect();
                    self.solve(sum, naturals, &[more.clone(), extra].concat())
                }
                None => ANY,
            };
            found = either(found, part);
        }
        found
    }

    /// The same, of what is known and these sums, which are 0 or more.
    fn solve(&self, sum: &Affine, naturals: &[Symbol], more: &[Affine]) -> Distances {
        let at_least_zero = || self.natural.iter().chain(&self.bounds).chain(more);
        // Column 0 is the sum that is asked about.
        let mut columns: BTreeMap<&[Symbol], usize> = BTreeMap::new();
        for (product, _) in at_least_zero().chain(&self.zero).chain([sum]).flat_map(|a| a.terms()) {
            let next = columns.len() + 1;
            columns.entry(product).or_insert(next);
        }
        let mut system = Inequalities::new(columns.len() + 1);
        let row = |a: &Affine| -> Vec<(usize, i128)> { a.terms().map(|(product, n)| (columns[product], n)).collect() };
        let mut asked = row(sum);
        asked.push((0, -1));
        system.zero(&asked, sum.constant_term());
        self.zero.iter().for_each(|a| system.zero(&row(a), a.constant_term()));
        at_least_zero().for_each(|a| system.at_least_zero(&row(a), a.constant_term()));
        let natural = |s: &Symbol| matches!(s, Symbol::Size(_)) || naturals.contains(s);
        for (product, &column) in columns.iter().filter(|(product, _)| product.iter().all(natural)) {
            debug_assert!(!product.is_empty(), "the constant term is no column");
            system.at_least_zero(&[(column, 1)], 0);
        }
        if system.is_infeasible() { None } else { system.bounds(0).ok() }
    }
}

/// What lies between the numbers of either.
fn either(a: Distances, b: Distances) -> Distances {
    let (Some(x), Some(y)) = (a, b) else { return a.or(b) };
    Some(Bounds { least: x.least.zip(y.least).map(|(x, y)| x.min(y)), most: x.most.zip(y.most).map(|(x, y)| x.max(y)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_ir::ValueId;

    const N: Symbol = Symbol::Size(0);
    const M: Symbol = Symbol::Size(1);

    fn v(n: u32) -> Symbol {
        Symbol::Value(ValueId(n))
    }

    /// `constant + Σ factor × symbol`.
    fn sum(terms: &[(i128, Symbol)], constant: i128) -> Affine {
        let add = |a: Affine, (n, s): &(i128, Symbol)| a.plus_times(*n, &Affine::symbol(*s)).expect("small");
        terms.iter().fold(Affine::constant(constant), add)
    }

    fn variable(symbol: Symbol, from: Affine, to: Affine) -> Variable {
        Variable { symbol, from: Some(from), to: Some(to) }
    }

    fn element(axes: &[Affine]) -> Access {
        Access { axes: axes.iter().cloned().map(Some).collect(), over: vec![] }
    }

    fn ask(first: &Access, second: &Access, around: &[Variable]) -> Distances {
        Question { first, second, around, naturals: &[], known: &[] }.distances()
    }

    fn exactly(n: i128) -> Distances {
        Some(Bounds { least: Some(n), most: Some(n) })
    }

    #[test]
    fn distances_of_textbook_loops() {
        let i = variable(v(0), sum(&[], 0), sum(&[(1, N)], 0));
        let around = std::slice::from_ref(&i);
        let at = |k: i128| element(&[sum(&[(1, v(0))], k)]);
        // a[i] = …; … = a[i - 2]
        assert_eq!(ask(&at(0), &at(-2), around), exactly(2));
        assert_eq!(ask(&at(0), &at(0), around), exactly(0));
        // a[2i], a[2i + 1]
        let even = element(&[sum(&[(2, v(0))], 0)]);
        let odd = element(&[sum(&[(2, v(0))], 1)]);
        assert_eq!(ask(&even, &odd, around), None);
        // a[i], a[i + n]
        let far = element(&[sum(&[(1, v(0)), (1, N)], 0)]);
        assert_eq!(ask(&at(0), &far, around), None);
        // a[i], a[k]: any
        let fixed = element(&[sum(&[(1, v(9))], 0)]);
        assert_ne!(ask(&at(0), &fixed, around), None);
    }

    #[test]
    fn rows_of_a_matrix_written_as_a_vector() {
        // for i in range(n): for j in range(m): a[i * m + j] = …
        let i = variable(v(0), sum(&[], 0), sum(&[(1, N)], 0));
        // Also where m is any integer: there is a j only if it is positive.
        for m in [M, v(5)] {
            let j = variable(v(1), sum(&[], 0), sum(&[(1, m)], 0));
            let product = Affine::symbol(v(0)).times(&Affine::symbol(m)).unwrap();
            let access = Access { axes: vec![product.plus(&Affine::symbol(v(1)))], over: vec![j] };
            assert_eq!(ask(&access, &access, std::slice::from_ref(&i)), exactly(0));
            let unbounded = Variable { symbol: v(0), from: None, to: None };
            assert_eq!(ask(&access, &access, &[unbounded]), exactly(0));
        }
    }

    #[test]
    fn slices_that_an_iteration_has_for_itself() {
        // for b in range(n): y[2b : 2b + 2], read and written
        let b = variable(v(0), sum(&[], 0), sum(&[(1, N)], 0));
        let t = variable(v(1), sum(&[], 0), sum(&[], 2));
        let slice = Access { axes: vec![Some(sum(&[(2, v(0)), (1, v(1))], 0))], over: vec![t] };
        assert_eq!(ask(&slice, &slice, std::slice::from_ref(&b)), exactly(0));
        // y[b : b + 2]: the next one too
        let t = variable(v(1), sum(&[], 0), sum(&[], 2));
        let slice = Access { axes: vec![Some(sum(&[(1, v(0)), (1, v(1))], 0))], over: vec![t] };
        let near = Some(Bounds { least: Some(-1), most: Some(1) });
        assert_eq!(ask(&slice, &slice, std::slice::from_ref(&b)), near);
    }

    #[test]
    fn triangles() {
        // for i in range(n): for j in range(i): … = a[j]; a[i] = …: what is read was written before
        let i = variable(v(0), sum(&[], 0), sum(&[(1, N)], 0));
        let j = variable(v(1), sum(&[], 0), sum(&[(1, v(0))], 0));
        let read = Access { axes: vec![Some(sum(&[(1, v(1))], 0))], over: vec![j] };
        let written = element(&[sum(&[(1, v(0))], 0)]);
        let found = ask(&written, &read, std::slice::from_ref(&i)).expect("they meet");
        assert_eq!(found.least, Some(1));
    }

    /// All distances at which random accesses meet, by trying every iteration, lie between the bounds; and bounds are not given
    /// away for nothing.
    #[test]
    fn bounds_hold_for_every_iteration() {
        let mut seed = 3_u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) % n) as i128
        };
        let (mut apart, mut exact, mut all) = (0, 0, 0);
        for _ in 0..1500 {
            // Loops o around i around both; each access has up to one variable of its own. Bounds and indices use n.
            let (o, i) = (v(0), v(1));
            let around = [
                variable(o, sum(&[], 0), sum(&[], 2 + next(2))),
                variable(i, sum(&[], next(2)), [sum(&[(1, N)], next(2)), sum(&[(1, o)], 2)][next(2) as usize].clone()),
            ];
            let mut access = |own: Symbol| {
                let over = match next(3) {
                    0 => vec![],
                    1 => vec![variable(own, sum(&[], 0), sum(&[], 1 + next(3)))],
                    _ => vec![variable(own, sum(&[], 0), sum(&[(1, i)], next(2)))],
                };
                let mut axis = || {
                    let inner = if over.is_empty() { 0 } else { next(3) - 1 };
                    let terms = [(next(5) - 2, i), (next(3) - 1, o), (next(3) - 1, N), (inner, own)];
                    let index = sum(&terms, next(5) - 2);
                    match (next(8), over.is_empty()) {
                        (0, _) => None,
                        // i * n + j
                        (1, false) => Affine::symbol(i).times(&Affine::symbol(N)).unwrap().plus(&Affine::symbol(own)),
                        _ => Some(index),
                    }
                };
                let axes = vec![axis(), axis()];
                Access { axes, over }
            };
            let (first, second) = (access(v(2)), access(v(3)));
            let found = ask(&first, &second, &around);
            let mut met: Vec<i128> = vec![];
            for n in 0..5 {
                let run = |access: &Access| {
                    let mut touched = vec![];
                    each(&around, &mut BTreeMap::from([(N, n)]), &mut |at| {
                        each(&access.over, &mut at.clone(), &mut |at| {
                            let of = |s: Symbol| at[&s];
                            let index = |a: &Option<Affine>| a.as_ref().map(|a| a.value(&of).unwrap());
                            touched.push((at[&o], at[&i], access.axes.iter().map(index).collect::<Vec<_>>()));
                        });
                    });
                    touched
                };
                let (a, b) = (run(&first), run(&second));
                for (outer, i, place) in &a {
                    for (other, j, where_) in &b {
                        let same = place.iter().zip(where_).all(|(x, y)| x.is_none() || y.is_none() || x == y);
                        if outer == other && same {
                            met.push(j - i);
                        }
                    }
                }
            }
            let (low, high) = (met.iter().min().copied(), met.iter().max().copied());
            match found {
                None => {
                    assert!(met.is_empty(), "{first:?} and {second:?} in {around:?} meet at {met:?}");
                    apart += 1;
                }
                Some(bounds) => {
                    let within = |d: &i128| bounds.least.is_none_or(|l| l <= *d) && bounds.most.is_none_or(|m| *d <= m);
                    assert!(met.iter().all(within), "{first:?} and {second:?} in {around:?}: {met:?}, {bounds:?}");
                    all += 1;
                    // Sizes beyond those tried may have more.
                    let near = |bound: Option<i128>, seen: Option<i128>| bound.is_none() || bound == seen;
                    exact += usize::from(near(bounds.least, low) && near(bounds.most, high));
                }
            }
        }
        assert!(apart > 400 && exact * 10 >= all * 8, "{apart} apart, {exact} of {all} exact");
    }

    /// Calls `visit` with every combination of values.
    fn each(over: &[Variable], at: &mut BTreeMap<Symbol, i128>, visit: &mut dyn FnMut(&BTreeMap<Symbol, i128>)) {
        let Some((variable, rest)) = over.split_first() else { return visit(at) };
        let bound = |a: &Affine, at: &BTreeMap<Symbol, i128>| a.value(&|s| at[&s]).unwrap();
        let (from, to) = (variable.from.as_ref().expect("bounded"), variable.to.as_ref().expect("bounded"));
        for n in bound(from, at)..bound(to, at) {
            at.insert(variable.symbol, n);
            each(rest, at, visit);
        }
        at.remove(&variable.symbol);
    }
}
