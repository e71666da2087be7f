//! Systems of linear inequalities over integers, small ones: is there a solution, and between which numbers is a column in all of
//! them?
//!
//! Fourier-Motzkin elimination. A row says `constant + Σ factor × column >= 0`; after each step rows are divided by what their
//! factors have in common and the constant is rounded down, which loses no integer solution. Every answer errs to one side: "no
//! solution" is certain, a bound holds for all solutions; on overflow, or where the system grows beyond [`MOST_ROWS`], nothing is
//! known.

/// Rows above which a question is given up.
const MOST_ROWS: usize = 256;

/// A row: `constant + Σ factors[k] × column k >= 0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    factors: Vec<i128>,
    constant: i128,
}

/// A system.
#[derive(Clone, Debug)]
pub(crate) struct Inequalities {
    columns: usize,
    rows: Vec<Row>,
}

/// Between which numbers something is in all solutions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Nothing is known where `None`.
    pub least: Option<i128>,
    /// The same.
    pub most: Option<i128>,
}

/// There is surely no solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Infeasible;

impl Inequalities {
    /// No inequality yet, over so many columns.
    pub fn new(columns: usize) -> Inequalities {
        Inequalities { columns, rows: vec![] }
    }

    /// Demands that `constant + Σ factor × column` is 0 or more.
    pub fn at_least_zero(&mut self, terms: &[(usize, i128)], constant: i128) {
        let mut factors = vec![0; self.columns];
        for &(column, factor) in terms {
            factors[column] += factor;
        }
        self.rows.push(Row { factors, constant });
    }

    /// Demands that it is 0.
    pub fn zero(&mut self, terms: &[(usize, i128)], constant: i128) {
        self.at_least_zero(terms, constant);
        let negated: Vec<(usize, i128)> = terms.iter().map(|&(column, factor)| (column, -factor)).collect();
        self.at_least_zero(&negated, -constant);
    }

    /// Between which numbers a column is in all solutions.
    ///
    /// # Errors
    /// There is no solution.
    pub fn bounds(&self, column: usize) -> Result<Bounds, Infeasible> {
        let mut rows = match normalised(self.rows.clone())? {
            Some(rows) => rows,
            None => return Ok(Bounds { least: None, most: None }),
        };
        let mut waiting: Vec<usize> = (0..self.columns).filter(|&c| c != column).collect();
        while !waiting.is_empty() {
            // The column that adds fewest rows goes first.
            let cost = |c: usize| {
                let (up, down) = rows.iter().fold((0, 0), |(up, down), row| match row.factors[c] {
                    0 => (up, down),
                    n if n > 0 => (up + 1, down),
                    _ => (up, down + 1),
                });
                (up * down) as isize - (up + down) as isize
            };
            let k = (0..waiting.len()).min_by_key(|&k| cost(waiting[k])).expect("there is one");
            let gone = waiting.swap_remove(k);
            match eliminate(rows, gone)? {
                Some(next) => rows = next,
                None => return Ok(Bounds { least: None, most: None }),
            }
        }
        let (mut least, mut most): (Option<i128>, Option<i128>) = (None, None);
        for row in &rows {
            match row.factors[column] {
                0 => {}
                // factor × x >= -constant
                n if n > 0 => {
                    let bound = -row.constant.div_euclid(n);
                    least = Some(least.map_or(bound, |old| old.max(bound)));
                }
                n => {
                    let bound = row.constant.div_euclid(-n);
                    most = Some(most.map_or(bound, |old| old.min(bound)));
                }
            }
        }
        match (least, most) {
            (Some(low), Some(high)) if low > high => Err(Infeasible),
            _ => Ok(Bounds { least, most }),
        }
    }

    /// Whether there is surely no solution. Which column is left last makes a difference: each is tried.
    pub fn is_infeasible(&self) -> bool {
        (0..self.columns).any(|column| self.bounds(column).is_err())
    }
}

/// Rows without what is said twice; `None`: too many or too large.
fn normalised(rows: Vec<Row>) -> Result<Option<Vec<Row>>, Infeasible> {
    let mut found: Vec<Row> = Vec::with_capacity(rows.len());
    for mut row in rows {
        let common = row.factors.iter().fold(0, |all, &n| gcd(all, n.unsigned_abs()));
        let Ok(common) = i128::try_from(common) else { return Ok(None) };
        if common == 0 {
            if row.constant < 0 {
                return Err(Infeasible);
            }
            continue;
        }
        if common > 1 {
            row.factors.iter_mut().for_each(|n| *n /= common);
            row.constant = row.constant.div_euclid(common);
        }
        found.push(row);
    }
    found.sort();
    // Of rows with the same factors the first one says most: it is the one with the least constant.
    found.dedup_by(|later, first| later.factors == first.factors);
    Ok((found.len() <= MOST_ROWS).then_some(found))
}

/// Solves the rows for a column and leaves what that says of the others.
fn eliminate(rows: Vec<Row>, column: usize) -> Result<Option<Vec<Row>>, Infeasible> {
    let (with, mut left): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.factors[column] != 0);
    let (below, above): (Vec<Row>, Vec<Row>) = with.into_iter().partition(|row| row.factors[column] > 0);
    if left.len() + below.len() * above.len() > 4 * MOST_ROWS {
        return Ok(None);
    }
    for low in &below {
        for high in &above {
            let Some(row) = combined(low, high, column) else { return Ok(None) };
            left.push(row);
        }
    }
    normalised(left)
}

/// The sum of multiples of two rows in which a column is gone.
fn combined(low: &Row, high: &Row, column: usize) -> Option<Row> {
    let (a, b) = (low.factors[column], -high.factors[column]);
    let common = i128::try_from(gcd(a.unsigned_abs(), b.unsigned_abs())).ok()?;
    let (a, b) = (a / common, b / common);
    let sum = |x: i128, y: i128| x.checked_mul(b)?.checked_add(y.checked_mul(a)?);
    let factors = low.factors.iter().zip(&high.factors).map(|(&x, &y)| sum(x, y)).collect::<Option<_>>()?;
    Some(Row { factors, constant: sum(low.constant, high.constant)? })
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every answer against all points of a small box.
    #[test]
    fn answers_hold_for_every_point() {
        let mut seed = 7_u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) % n) as i128
        };
        let (mut infeasible, mut exact, mut all) = (0, 0, 0);
        for _ in 0..3000 {
            let mut system = Inequalities::new(3);
            let mut rows = vec![];
            for column in 0..3 {
                rows.push((vec![(column, 1)], 4));
                rows.push((vec![(column, -1)], 4));
            }
            for _ in 0..next(5) {
                let terms: Vec<(usize, i128)> = (0..3).map(|column| (column, next(7) - 3)).collect();
                rows.push((terms, next(15) - 9));
            }
            rows.iter().for_each(|(terms, constant)| system.at_least_zero(terms, *constant));
            let mut points = vec![];
            for x in -4..=4 {
                for y in -4..=4 {
                    for z in -4..=4 {
                        let at = [x, y, z];
                        let holds = |(terms, constant): &(Vec<(usize, i128)>, i128)| {
                            terms.iter().map(|&(column, n)| at[column] * n).sum::<i128>() + constant >= 0
                        };
                        if rows.iter().all(holds) {
                            points.push(at);
                        }
                    }
                }
            }
            match system.bounds(0) {
                Err(Infeasible) => {
                    assert!(points.is_empty(), "{system:?} has the solutions {points:?}");
                    assert!(system.is_infeasible());
                    infeasible += 1;
                }
                Ok(bounds) => {
                    let (least, most) = (bounds.least.expect("a box"), bounds.most.expect("a box"));
                    assert!(points.iter().all(|p| least <= p[0] && p[0] <= most), "{system:?}: {bounds:?}");
                    let (low, high) = (points.iter().map(|p| p[0]).min(), points.iter().map(|p| p[0]).max());
                    exact += usize::from(low == Some(least) && high == Some(most));
                }
            }
            all += usize::from(!points.is_empty());
        }
        assert!(infeasible > 300 && exact * 100 >= all * 95, "{infeasible} infeasible, {exact} of {all} exact");
    }

    #[test]
    fn what_factors_have_in_common_decides() {
        // 2x = 2y + 1
        let mut system = Inequalities::new(2);
        system.zero(&[(0, 2), (1, -2)], -1);
        assert!(system.is_infeasible());
        // 2x = 2y + 2
        let mut system = Inequalities::new(2);
        system.zero(&[(0, 2), (1, -2)], -2);
        assert!(!system.is_infeasible());
    }

    #[test]
    fn what_is_not_bounded_has_no_bound() {
        let mut system = Inequalities::new(2);
        system.at_least_zero(&[(0, 1), (1, -1)], 0);
        assert_eq!(system.bounds(0), Ok(Bounds { least: None, most: None }));
        system.at_least_zero(&[(1, 1)], -3);
        assert_eq!(system.bounds(0), Ok(Bounds { least: Some(3), most: None }));
    }
}
