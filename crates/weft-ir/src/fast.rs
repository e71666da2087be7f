//! What float arithmetic may do that IEEE 754 does not allow.

/// Liberties, one bit each, by LLVM's numbers. None of them is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FastMath(u8);

impl FastMath {
    /// Their names, from the lowest bit: sums in another order; no nan, no infinity, no sign of zero matters; reciprocals for
    /// divisions; products and sums rounded once; approximate functions.
    pub const NAMES: [&str; 7] = ["reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"];

    /// Those with these bits.
    pub fn from_bits(bits: u8) -> Option<FastMath> {
        (bits >> FastMath::NAMES.len() == 0).then_some(FastMath(bits))
    }

    /// LLVM's number.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<FastMath> {
        FastMath::NAMES.iter().position(|n| *n == name).map(|k| FastMath(1 << k))
    }

    /// Both.
    pub fn and(self, other: FastMath) -> FastMath {
        FastMath(self.0 | other.0)
    }

    /// All but the one with this name.
    pub fn but(self, name: &str) -> FastMath {
        FastMath(self.0 & !FastMath::from_name(name).map_or(0, FastMath::bits))
    }

    /// What is allowed, by name.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        FastMath::NAMES.into_iter().enumerate().filter(move |(k, _)| self.0 >> k & 1 == 1).map(|(_, name)| name)
    }
}
