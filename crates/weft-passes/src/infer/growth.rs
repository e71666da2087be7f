//! How far integers that a loop carries can get: what is added to them in each turn, and how many turns there can be.
//!
//! A counter needs no overflow check if its start, plus its steps times the most that a step adds, stays within 64 bits. No
//! program lives long enough for more than [`STEPS`] steps.

use super::abs::{Abs, INT64};
use super::exits::Pending;
use super::{Infer, Key};
use weft_diag::Diagnostic;
use weft_ir::attr::BinOp;
use weft_ir::{Type, ValueId};

/// More steps than anybody waits for: at one per nanosecond, two years.
const STEPS: i128 = 1 << 56;

/// What a value is beside one that a loop carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    base: ValueId,
    /// Least and most that was added, for each turn of the innermost loop that adds.
    by: (i128, i128),
    /// An inner loop adds: its turns count.
    nested: bool,
    /// Or it is something else on some path, in this range, to which turns add from there on.
    or: Option<(i128, i128)>,
}

impl Growth {
    fn of(base: ValueId) -> Growth {
        Growth { base, by: (0, 0), nested: false, or: None }
    }

    /// One of two, beside the same base.
    fn join(self, other: Growth) -> Growth {
        let or = self.or.into_iter().chain(other.or).reduce(hull);
        Growth { by: hull(self.by, other.by), nested: self.nested || other.nested, or, ..self }
    }
}

/// The range of what is in either.
pub(super) fn hull(a: (i128, i128), b: (i128, i128)) -> (i128, i128) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// What is known of an integer that a loop carries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Course {
    range: Option<(i128, i128)>,
    /// It is never more than what it starts from is at most.
    falls: bool,
}

impl Course {
    /// Whether all that another one says is so.
    fn implies(&self, other: Course) -> bool {
        let within = match (self.range, other.range) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(new), Some(old)) => old.0 <= new.0 && new.1 <= old.1,
        };
        within && (self.falls || !other.falls)
    }
}

/// An integer that a loop carries goes another course than the walk took it for.
struct News {
    /// The loop, and which of what it carries.
    place: (Key, usize),
    course: Course,
    /// Nothing was taken for it.
    first: bool,
}

impl Infer<'_> {
    /// Notes what `v = a op b` is beside a carried value.
    pub(super) fn grow(&mut self, op: BinOp, a: &Abs, b: &Abs, v: ValueId) {
        let of = |s: &Self, x: &Abs| if let Abs::Value(x) = x { s.grown.get(x).copied() } else { None };
        let (growth, by) = match (op, of(self, a), of(self, b)) {
            (BinOp::Add, Some(g), _) => (g, self.range(b)),
            (BinOp::Add, None, Some(g)) => (g, self.range(a)),
            (BinOp::Sub, Some(g), _) => {
                let r = self.range(b);
                (g, (-r.1, -r.0))
            }
            _ => return,
        };
        let added = |to: (i128, i128)| (to.0 + by.0, to.1 + by.1);
        let growth = Growth { by: added(growth.by), or: growth.or.map(added), ..growth };
        if growth.by.0 > -STEPS && growth.by.1 < STEPS {
            self.grown.insert(v, growth);
        }
    }

    /// Notes what a value that is one of these on each path is beside a carried one.
    pub(super) fn grow_joined<'a>(&mut self, values: impl Iterator<Item = &'a Abs>, v: ValueId) {
        let (mut joined, mut or): (Option<Growth>, _) = (None, None);
        for a in values {
            let grown = if let Abs::Value(x) = a { self.grown.get(x).copied() } else { None };
            match (joined, grown) {
                (None, Some(g)) => joined = Some(g),
                (Some(j), Some(g)) if j.base == g.base => joined = Some(j.join(g)),
                _ => or = or.into_iter().chain([self.range(a)]).reduce(hull),
            }
        }
        if let Some(g) = joined {
            self.grown.insert(v, g.join(Growth { or, ..Growth::of(g.base) }));
        }
    }

    /// Makes what a loop carries the base of what is added to it, with the courses that earlier walks found.
    pub(super) fn grow_from(&mut self, key: Key, inits: &[Abs], carried: &[Abs]) {
        for a in carried {
            if let Abs::Value(v) = a
                && *self.out.ty(*v) == Type::PYINT
            {
                self.grown.insert(*v, Growth::of(*v));
            }
        }
        self.run_course(key, inits, carried);
    }

    /// Takes integers to have gone the courses that earlier walks found.
    pub(super) fn run_course(&mut self, key: Key, inits: &[Abs], values: &[Abs]) {
        for (k, (init, a)) in inits.iter().zip(values).enumerate() {
            let (Abs::Value(v), Some(course)) = (a, self.found.courses.get(&(key, k)).copied()) else { continue };
            if *self.out.ty(*v) != Type::PYINT {
                continue;
            }
            if let Some(range) = course.range {
                self.ranges.insert(*v, range);
            }
            if course.falls {
                self.at_most(*v, init);
            }
        }
    }

    /// After a loop: the courses of what it carried. Begins anew where that says more, or less, than
    /// the walk assumed.
    pub(super) fn grow_through(
        &mut self,
        key: Key,
        turns: i128,
        inits: &[Abs],
        carried: &[Abs],
        exits: &[Pending],
    ) -> Result<Vec<Option<Growth>>, Diagnostic> {
        let mut all = vec![];
        let mut news = vec![];
        for (k, (init, a)) in inits.iter().zip(carried).enumerate() {
            let Abs::Value(v) = a else {
                all.push(None);
                continue;
            };
            if *self.out.ty(*v) != Type::PYINT {
                all.push(None);
                continue;
            }
            let growth = self.per_turn(*v, k, exits);
            let course = self.course(init, growth, turns, exits.iter().map(|exit| exit.values.get(k)));
            let assumed = self.found.courses.get(&(key, k)).copied();
            let holds = course.implies(assumed.unwrap_or_default());
            if !holds || assumed.is_none() && course != Course::default() {
                // What was assumed and did not hold is not assumed again.
                let course = if assumed.is_none() { course } else { Course::default() };
                news.push(News { place: (key, k), course, first: assumed.is_none() });
            }
            all.push(growth.map(|g| self.beside_init(init, g)).unwrap_or(None));
        }
        self.learn(news)?;
        Ok(all)
    }

    /// Where an integer can get from `init` that grows like this, and is one of these after a turn.
    fn course<'a>(
        &self,
        init: &Abs,
        growth: Option<Growth>,
        turns: i128,
        after: impl Iterator<Item = Option<&'a Abs>> + Clone,
    ) -> Course {
        let start = self.range(init);
        // What each turn ends with bounds it, however it came about.
        let ends = after.clone().map(|a| a.map_or(INT64, |a| self.range(a)));
        let mut range = ends.fold(start, hull);
        if let Some(g) = growth {
            let steps = if g.nested { STEPS } else { turns.min(STEPS) };
            let from = g.or.map_or(start, |or| hull(start, or));
            range.0 = range.0.max(from.0 + steps * g.by.0.min(0));
            range.1 = range.1.min(from.1 + steps * g.by.1.max(0));
        }
        let range = (range.0.max(INT64.0), range.1.min(INT64.1));
        let falls = self.affine(init).is_some_and(|most| {
            let kept = |a: &Abs| self.affine(a).is_some_and(|f| self.is_tighter(f, most));
            growth.is_some_and(|g| g.by.1 <= 0 && g.or.is_none()) || after.clone().all(|a| a.is_some_and(kept))
        });
        Course { range: (range != INT64).then_some(range), falls }
    }

    /// Takes courses in for the next walk. A first one of something only says more than this walk knows: it goes on, and so
    /// finds those of later loops too. What these depend on may be less than the walk allows for, never more.
    fn learn(&mut self, news: Vec<News>) -> Result<(), Diagnostic> {
        // Where lists were not known yet, code may have been taken for unreachable: what it adds is missing.
        if news.is_empty() || self.again {
            return Ok(());
        }
        if self.next.is_none() && news.iter().any(|n| !n.first) {
            self.found.courses.extend(news.into_iter().map(|n| (n.place, n.course)));
            return Err(self.restart());
        }
        let next = self.next.get_or_insert_with(|| Box::new(self.found.clone()));
        for n in news.into_iter().filter(|n| n.first) {
            next.courses.entry(n.place).or_insert(n.course);
        }
        Ok(())
    }

    /// What each turn adds to value `k`, or else makes of it.
    fn per_turn(&self, v: ValueId, k: usize, exits: &[Pending]) -> Option<Growth> {
        let own = Growth::of(v);
        exits.iter().try_fold(own, |joined, exit| {
            let a = exit.values.get(k)?;
            let grown = if let Abs::Value(x) = a { self.grown.get(x).copied() } else { None };
            let set = Growth { or: Some(self.range(a)), ..own };
            Some(joined.join(grown.filter(|g| g.base == v).unwrap_or(set)))
        })
    }

    /// The growth over a whole inner loop, beside what its start grew from.
    fn beside_init(&self, init: &Abs, g: Growth) -> Option<Growth> {
        let Abs::Value(v) = init else { return None };
        let start = self.grown.get(v).filter(|start| start.or.is_none() && g.or.is_none())?;
        let by = (start.by.0 + g.by.0.min(0), start.by.1 + g.by.1.max(0));
        Some(Growth { by, nested: true, ..*start })
    }

    /// Notes what the results of a `while` are beside what it started from.
    pub(super) fn grow_left(
        &mut self,
        growths: &[Option<Growth>],
        carried: &[Abs],
        breaks: &[Pending],
        results: &[Abs],
    ) {
        for (k, result) in results.iter().enumerate() {
            let Abs::Value(r) = result else { continue };
            if *self.out.ty(*r) != Type::PYINT {
                continue;
            }
            let values = || breaks.iter().filter_map(|b| b.values.get(k));
            let range = values().map(|a| self.range(a)).reduce(hull);
            let mut joined: Option<Growth> = None;
            let known = values().all(|a| {
                let Abs::Value(x) = a else { return false };
                let Some(g) = self.grown.get(x).copied() else { return false };
                let from = carried.iter().position(|c| *c == Abs::Value(g.base));
                let Some(Some(start)) = from.and_then(|j| growths.get(j)) else { return false };
                if start.or.is_some() || g.or.is_some() {
                    return false;
                }
                let by = (start.by.0 + g.by.0, start.by.1 + g.by.1);
                let whole = Growth { by, nested: true, ..*start };
                joined = Some(joined.map_or(whole, |j| j.join(whole)));
                joined.is_some_and(|j| j.base == start.base)
            });
            if let Some(range) = range {
                self.ranges.insert(*r, range);
            }
            self.put_affine(*r, self.joined_bound(values()));
            if let (true, Some(g)) = (known, joined) {
                self.grown.insert(*r, g);
            }
        }
    }

    /// Notes the growth of a loop's results.
    pub(super) fn grow_results(&mut self, growths: &[Option<Growth>], results: &[Abs]) {
        for (g, a) in growths.iter().zip(results) {
            if let (Some(g), Abs::Value(v)) = (g, a) {
                self.grown.insert(*v, *g);
            }
        }
    }
}
