//! What a specialisation assumed about the sizes and integers of a call: slices that lie inside their axis
//! ([`weft_passes::infer::Assumption`]). A function that assumes something has code for calls of which it is so, and code for all
//! others; each is compiled when a call needs it.

use smallvec::SmallVec;
use weft_ir::Func;
use weft_passes::infer::Assumption;

use crate::results::slots_of;

/// See the module.
#[derive(Default)]
pub(crate) struct Assumed {
    sums: Box<[Sum]>,
    /// The code is for calls that break an assumption.
    broken: bool,
}

/// A sum of slots that must not be negative.
struct Sum {
    /// Positions of slots, and how often each counts.
    terms: SmallVec<[(u32, i64); 4]>,
    plus: i128,
}

/// Which calls code is compiled for.
#[derive(Clone, Copy)]
pub(crate) enum Calls<'a> {
    /// All.
    Any,
    /// Those that are like the one with these slots.
    Like(&'a [u64]),
    /// Those that keep, or break (true), what is assumed.
    Broken(bool),
}

impl Assumed {
    /// Assumptions about the parameters of an entry.
    pub(crate) fn new(assumptions: &[Assumption], entry: &Func) -> Assumed {
        let first = |param: usize| -> usize { entry.params()[..param].iter().map(|&p| slots_of(entry.ty(p))).sum() };
        // The sizes of an array come after its address and its owner.
        let slot = |param, axis: Option<usize>| first(param) + axis.map_or(0, |axis| 2 + axis);
        let terms = |a: &Assumption| a.terms.iter().map(|(k, times)| (slot(k.param, k.axis) as u32, *times)).collect();
        let sums = assumptions.iter().map(|a| Sum { terms: terms(a), plus: a.plus }).collect();
        Assumed { sums, broken: false }
    }

    /// The same, for calls that break an assumption.
    pub(crate) fn broken(self) -> Assumed {
        Assumed { broken: true, ..self }
    }

    /// Whether the code is for these calls.
    #[inline]
    pub(crate) fn serves(&self, calls: Calls<'_>) -> bool {
        if self.sums.is_empty() {
            return true;
        }
        match calls {
            Calls::Any => false,
            Calls::Like(slots) => self.hold(slots) != self.broken,
            Calls::Broken(broken) => broken == self.broken,
        }
    }

    /// The calls that the code is for, if it is to be made again.
    pub(crate) fn calls(&self) -> Calls<'static> {
        if self.sums.is_empty() { Calls::Any } else { Calls::Broken(self.broken) }
    }

    fn hold(&self, slots: &[u64]) -> bool {
        // Factors are small: no sum leaves 128 bits.
        let value = |(at, times): &(u32, i64)| i128::from(slots[*at as usize] as i64) * i128::from(*times);
        self.sums.iter().all(|sum| sum.terms.iter().map(value).sum::<i128>() + sum.plus >= 0)
    }
}
