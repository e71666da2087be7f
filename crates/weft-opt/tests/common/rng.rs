//! Random choices that a seed repeats.

/// A generator of numbers: xorshift, good enough to pick with and the same on every machine.
pub struct Rng(u64);

impl Rng {
    /// The generator of a seed; neighbouring seeds have nothing in common.
    pub fn new(seed: u64) -> Rng {
        let mut rng = Rng(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        rng.next();
        rng.next();
        rng
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// True so many times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// Any 52 bits.
    pub fn bits(&mut self) -> u64 {
        self.next()
    }
}
