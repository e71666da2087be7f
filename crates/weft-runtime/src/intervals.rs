//! Sets of byte addresses as sorted intervals: which part of an array has a valid copy, and which part is newer there.

use smallvec::SmallVec;

/// A half-open range of addresses, never empty inside an [`Intervals`].
pub(crate) type Interval = (u64, u64);

/// Disjoint intervals in order; touching ones are one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Intervals(SmallVec<[Interval; 2]>);

impl Intervals {
    /// Adds an interval.
    pub(crate) fn insert(&mut self, (mut lo, mut hi): Interval) {
        if lo >= hi {
            return;
        }
        let mut merged = SmallVec::new();
        for &(a, b) in &self.0 {
            if b < lo || hi < a {
                merged.push((a, b));
            } else {
                lo = lo.min(a);
                hi = hi.max(b);
            }
        }
        let at = merged.iter().position(|&(a, _)| a > lo).unwrap_or(merged.len());
        merged.insert(at, (lo, hi));
        self.0 = merged;
    }

    /// Takes an interval out.
    pub(crate) fn remove(&mut self, (lo, hi): Interval) {
        if lo >= hi {
            return;
        }
        let mut kept = SmallVec::new();
        for &(a, b) in &self.0 {
            if a < lo.min(b) {
                kept.push((a, lo.min(b)));
            }
            if hi.max(a) < b {
                kept.push((hi.max(a), b));
            }
        }
        self.0 = kept;
    }

    /// The parts of an interval that are in the set.
    pub(crate) fn within(&self, (lo, hi): Interval) -> SmallVec<[Interval; 2]> {
        let parts = self.0.iter().map(|&(a, b)| (a.max(lo), b.min(hi)));
        parts.filter(|&(a, b)| a < b).collect()
    }

    /// The parts of an interval that are not in the set.
    pub(crate) fn missing(&self, (lo, hi): Interval) -> SmallVec<[Interval; 2]> {
        let mut gaps = SmallVec::new();
        let mut next = lo;
        for (a, b) in self.within((lo, hi)) {
            if next < a {
                gaps.push((next, a));
            }
            next = b;
        }
        if next < hi {
            gaps.push((next, hi));
        }
        gaps
    }

    /// All of it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Interval> + '_ {
        self.0.iter().copied()
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether two intervals have a byte in common.
pub(crate) fn overlap(a: Interval, b: Interval) -> bool {
    a.0.max(b.0) < a.1.min(b.1)
}

/// Intervals joined wherever they overlap: the arrays of one group share one copy.
pub(crate) fn groups(spans: impl IntoIterator<Item = Interval>) -> Vec<Interval> {
    let mut spans: Vec<Interval> = spans.into_iter().filter(|(lo, hi)| lo < hi).collect();
    spans.sort_unstable();
    let mut groups: Vec<Interval> = Vec::new();
    for span in spans {
        match groups.last_mut() {
            Some(last) if overlap(*last, span) => last.1 = last.1.max(span.1),
            _ => groups.push(span),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(parts: &[Interval]) -> Intervals {
        let mut set = Intervals::default();
        parts.iter().for_each(|&p| set.insert(p));
        set
    }

    #[test]
    fn insert_joins_what_touches() {
        assert_eq!(set(&[(0, 4), (8, 12), (4, 8)]), set(&[(0, 12)]));
        assert_eq!(set(&[(8, 12), (0, 4)]).iter().collect::<Vec<_>>(), [(0, 4), (8, 12)]);
        assert!(set(&[(3, 3)]).is_empty());
    }

    #[test]
    fn remove_cuts() {
        let mut s = set(&[(0, 10), (20, 30)]);
        s.remove((5, 25));
        assert_eq!(s, set(&[(0, 5), (25, 30)]));
        s.remove((1, 2));
        assert_eq!(s, set(&[(0, 1), (2, 5), (25, 30)]));
        s.remove((0, 100));
        assert!(s.is_empty());
    }

    #[test]
    fn within_and_missing_part_an_interval() {
        let s = set(&[(2, 4), (6, 8)]);
        assert_eq!(s.within((3, 7)).to_vec(), [(3, 4), (6, 7)]);
        assert_eq!(s.missing((0, 10)).to_vec(), [(0, 2), (4, 6), (8, 10)]);
        assert_eq!(s.missing((2, 4)).to_vec(), []);
    }

    #[test]
    fn agrees_with_a_set_of_bytes() {
        // A fixed pseudo-random walk over insert and remove, checked byte by byte.
        let (mut s, mut bytes, mut seed) = (Intervals::default(), [false; 64], 1_u64);
        for _ in 0..2000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (a, b, add) = ((seed >> 33) % 64, (seed >> 43) % 64, seed >> 63 == 1);
            let (lo, hi) = (a.min(b), a.max(b));
            if add {
                s.insert((lo, hi))
            } else {
                s.remove((lo, hi))
            }
            bytes[lo as usize..hi as usize].fill(add);
            for (i, &there) in bytes.iter().enumerate() {
                assert_eq!(!s.within((i as u64, i as u64 + 1)).is_empty(), there);
                assert_eq!(s.missing((i as u64, i as u64 + 1)).is_empty(), there);
            }
            let flat: Vec<u64> = s.iter().flat_map(|(a, b)| [a, b]).collect();
            assert!(flat.windows(2).all(|w| w[0] < w[1]));
        }
    }

    #[test]
    fn groups_are_joined_by_overlap_only() {
        assert_eq!(groups([(10, 20), (0, 5), (15, 30), (30, 40), (7, 7)]), [(0, 5), (10, 30), (30, 40)]);
    }
}
