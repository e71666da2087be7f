//! What a specialisation assumed about the arguments of a call: slices that lie inside their axis
//! ([`weft_passes::infer::Assumption`]), and arrays that share no memory ([`Func::apart`]). A function that assumes something has code for calls of which it is so, and code for all
//! others; each is compiled when a call needs it.

use smallvec::SmallVec;
use weft_ir::Func;
use weft_passes::infer::Assumption;

use crate::results::slots_of;

/// See the module.
#[derive(Default)]
pub(crate) struct Assumed {
    sums: Box<[Sum]>,
    arrays: Box<[Array]>,
    /// Those of them that share no memory.
    apart: Box<[(u32, u32)]>,
    /// The code is for calls that break an assumption.
    broken: bool,
}

/// Where an array's slots are.
struct Array {
    first: u32,
    rank: u32,
    /// Bytes of an element.
    item: u32,
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
    /// Assumptions about the parameters of an entry, of which some are written.
    pub(crate) fn new(assumptions: &[Assumption], entry: &Func, written: &[bool]) -> Assumed {
        let first = |param: usize| -> usize { entry.params()[..param].iter().map(|&p| slots_of(entry.ty(p))).sum() };
        // The sizes of an array come after its address and its owner.
        let slot = |param, axis: Option<usize>| first(param) + axis.map_or(0, |axis| 2 + axis);
        let terms = |a: &Assumption| a.terms.iter().map(|(k, times)| (slot(k.param, k.axis) as u32, *times)).collect();
        let sums = assumptions.iter().map(|a| Sum { terms: terms(a), plus: a.plus }).collect();
        let (mut arrays, mut params) = (vec![], vec![]);
        for (k, &p) in entry.params().iter().enumerate().filter(|_| entry.apart) {
            if let Some(ty) = entry.ty(p).as_tensor() {
                let (rank, item) = (ty.rank() as u32, ty.dtype.size() as u32);
                arrays.push(Array { first: first(k) as u32, rank, item });
                params.push(k);
            }
        }
        let pairs = (0..params.len()).flat_map(|a| (a + 1..params.len()).map(move |b| (a, b)));
        let apart = pairs.filter(|&(a, b)| written[params[a]] || written[params[b]]);
        let apart = apart.map(|(a, b)| (a as u32, b as u32)).collect();
        Assumed { sums, arrays: arrays.into(), apart, broken: false }
    }

    fn is_empty(&self) -> bool {
        self.sums.is_empty() && self.apart.is_empty()
    }

    /// The same, for calls that break an assumption.
    pub(crate) fn broken(self) -> Assumed {
        Assumed { broken: true, ..self }
    }

    /// Whether the code is for these calls.
    #[inline]
    pub(crate) fn serves(&self, calls: Calls<'_>) -> bool {
        if self.is_empty() {
            return true;
        }
        match calls {
            Calls::Any => false,
            Calls::Like(slots) => self.hold(slots) != self.broken,
            Calls::Broken(broken) => broken == self.broken,
        }
    }

    /// Which calls the code is for, in words: empty if for all.
    pub(crate) fn in_words(&self) -> String {
        let mut parts = vec![];
        if !self.apart.is_empty() {
            parts.push("no array that it writes shares memory with another argument");
        }
        if !self.sums.is_empty() {
            parts.push("slices lie inside their arrays");
        }
        match (parts.is_empty(), self.broken) {
            (true, _) => String::new(),
            (_, false) => format!("for calls in which {}", parts.join(", and ")),
            (_, true) => format!("for all calls but those in which {}", parts.join(", and ")),
        }
    }

    /// The calls that the code is for, if it is to be made again.
    pub(crate) fn calls(&self) -> Calls<'static> {
        if self.is_empty() { Calls::Any } else { Calls::Broken(self.broken) }
    }

    fn hold(&self, slots: &[u64]) -> bool {
        // Factors are small: no sum leaves 128 bits.
        let value = |(at, times): &(u32, i64)| i128::from(slots[*at as usize] as i64) * i128::from(*times);
        self.sums.iter().all(|sum| sum.terms.iter().map(value).sum::<i128>() + sum.plus >= 0) && self.are_apart(slots)
    }

    fn are_apart(&self, slots: &[u64]) -> bool {
        if self.apart.is_empty() {
            return true;
        }
        let extents: SmallVec<[(i64, i64); 8]> = self.arrays.iter().map(|array| array.extent(slots)).collect();
        let meet = |a: (i64, i64), b: (i64, i64)| a.0 < b.1 && b.0 < a.1;
        self.apart.iter().all(|&(a, b)| !meet(extents[a as usize], extents[b as usize]))
    }
}

impl Array {
    /// The addresses between which its elements are.
    fn extent(&self, slots: &[u64]) -> (i64, i64) {
        let rank = self.rank as usize;
        let slots = &slots[self.first as usize..];
        let (mut low, mut high) = (slots[0] as i64, slots[0] as i64);
        for (&n, &stride) in slots[2..2 + rank].iter().zip(&slots[2 + rank..]) {
            if n == 0 {
                return (0, 0);
            }
            let reach = (n as i64 - 1).wrapping_mul(stride as i64);
            low = low.wrapping_add(reach.min(0));
            high = high.wrapping_add(reach.max(0));
        }
        (low, high.wrapping_add(self.item.into()))
    }
}
