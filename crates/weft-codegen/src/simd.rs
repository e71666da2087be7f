//! Vectors of floats, as registers of the processor: what sums of products are made of.

/// Some floats in a register.
///
/// # Safety
/// The functions may be called where the processor has the register's instructions, with pointers to as many floats as
/// they read.
pub(crate) trait Vector: Copy {
    type Item: Copy;
    /// Floats of one vector.
    const LANES: usize;
    unsafe fn zero() -> Self;
    unsafe fn load(from: *const Self::Item) -> Self;
    /// The first `count` floats, at most `LANES`; the others are 0.
    unsafe fn load_first(from: *const Self::Item, count: usize) -> Self;
    /// One float in every lane.
    unsafe fn repeated(from: *const Self::Item) -> Self;
    unsafe fn store(self, to: *mut Self::Item);
    /// The first `count` lanes, at most `LANES`.
    unsafe fn store_first(self, to: *mut Self::Item, count: usize);
    unsafe fn plus(self, other: Self) -> Self;
    /// `self + a * b`, lane by lane.
    unsafe fn plus_product(self, a: Self, b: Self) -> Self;
    /// `self - a * b`, lane by lane.
    unsafe fn minus_product(self, a: Self, b: Self) -> Self;
    /// Lanes 0 and 1 exchanged, and so on: real with imaginary parts.
    unsafe fn swapped(self) -> Self;
    /// The last lane first.
    unsafe fn reversed(self) -> Self;
    /// The sum of all lanes.
    unsafe fn sum(self) -> Self::Item;
    /// The sum of the even lanes, and that of the odd ones.
    unsafe fn sums(self) -> [Self::Item; 2];
}

/// Four floats without instructions of their own.
#[derive(Clone, Copy)]
pub(crate) struct Four<T>([T; 4]);

macro_rules! plain {
    ($($t:ty),*) => {$(
        impl Vector for Four<$t> {
            type Item = $t;
            const LANES: usize = 4;
            #[inline(always)]
            unsafe fn zero() -> Self { Four([0.0; 4]) }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: the caller's.
                Four(unsafe { from.cast::<[$t; 4]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn load_first(from: *const $t, count: usize) -> Self {
                // SAFETY: the caller's.
                Four(std::array::from_fn(|k| if k < count { unsafe { from.add(k).read_unaligned() } } else { 0.0 }))
            }
            #[inline(always)]
            unsafe fn repeated(from: *const $t) -> Self {
                // SAFETY: the caller's.
                Four([unsafe { from.read_unaligned() }; 4])
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: the caller's.
                unsafe { to.cast::<[$t; 4]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn store_first(self, to: *mut $t, count: usize) {
                for (k, &v) in self.0[..count].iter().enumerate() {
                    // SAFETY: the caller's.
                    unsafe { to.add(k).write_unaligned(v) };
                }
            }
            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self { Four(std::array::from_fn(|k| self.0[k] + other.0[k])) }
            #[inline(always)]
            unsafe fn plus_product(self, a: Self, b: Self) -> Self {
                Four(std::array::from_fn(|k| self.0[k] + a.0[k] * b.0[k]))
            }
            #[inline(always)]
            unsafe fn minus_product(self, a: Self, b: Self) -> Self {
                Four(std::array::from_fn(|k| self.0[k] - a.0[k] * b.0[k]))
            }
            #[inline(always)]
            unsafe fn swapped(self) -> Self { Four(std::array::from_fn(|k| self.0[k ^ 1])) }
            #[inline(always)]
            unsafe fn reversed(self) -> Self { Four(std::array::from_fn(|k| self.0[3 - k])) }
            #[inline(always)]
            unsafe fn sum(self) -> $t { (self.0[0] + self.0[2]) + (self.0[1] + self.0[3]) }
            #[inline(always)]
            unsafe fn sums(self) -> [$t; 2] { [self.0[0] + self.0[2], self.0[1] + self.0[3]] }
        }
    )*};
}

plain!(f32, f64);

#[cfg(target_arch = "x86_64")]
pub(crate) use std::arch::x86_64::{
    __m256 as Singles, __m256d as Doubles, __m512 as WideSingles, __m512d as WideDoubles,
};
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type Singles = Four<f32>;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type WideSingles = Four<f32>;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type Doubles = Four<f64>;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type WideDoubles = Four<f64>;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Vector;
    use std::arch::x86_64::*;

    macro_rules! vectors {
        ($($v:ident $t:ident $lanes:literal $zero:ident $load:ident $set:ident $store:ident $add:ident $fma:ident $fnma:ident |$s:ident| $swap:expr, $reversed:expr;
            |$from:ident, $count:ident| $part:expr; |$to:ident| $stored:expr; $halves:expr;)*) => {$(
            // SAFETY: of every call here: the caller's.
            impl Vector for $v {
                type Item = $t;
                const LANES: usize = $lanes;
                #[inline(always)]
                unsafe fn zero() -> Self { unsafe { $zero() } }
                #[inline(always)]
                unsafe fn load(from: *const $t) -> Self { unsafe { $load(from) } }
                #[inline(always)]
                unsafe fn load_first($from: *const $t, $count: usize) -> Self { unsafe { $part } }
                #[inline(always)]
                unsafe fn repeated(from: *const $t) -> Self { unsafe { $set(from.read_unaligned()) } }
                #[inline(always)]
                unsafe fn store(self, to: *mut $t) { unsafe { $store(to, self) } }
                #[inline(always)]
                unsafe fn store_first(self, $to: *mut $t, $count: usize) {
                    let $s = self;
                    unsafe { $stored }
                }
                #[inline(always)]
                unsafe fn plus(self, other: Self) -> Self { unsafe { $add(self, other) } }
                #[inline(always)]
                unsafe fn plus_product(self, a: Self, b: Self) -> Self { unsafe { $fma(a, b, self) } }
                #[inline(always)]
                unsafe fn minus_product(self, a: Self, b: Self) -> Self { unsafe { $fnma(a, b, self) } }
                #[inline(always)]
                unsafe fn swapped(self) -> Self {
                    let $s = self;
                    unsafe { $swap }
                }
                #[inline(always)]
                unsafe fn reversed(self) -> Self {
                    let $s = self;
                    unsafe { $reversed }
                }
                #[inline(always)]
                unsafe fn sum(self) -> $t {
                    let [even, odd] = unsafe { self.sums() };
                    even + odd
                }
                #[inline(always)]
                unsafe fn sums(self) -> [$t; 2] { unsafe { $halves(self) } }
            }
        )*};
    }

    #[inline(always)]
    unsafe fn sums_4d(v: __m256d) -> [f64; 2] {
        // SAFETY: the caller's.
        unsafe {
            let both = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
            [_mm_cvtsd_f64(both), _mm_cvtsd_f64(_mm_unpackhi_pd(both, both))]
        }
    }

    #[inline(always)]
    unsafe fn sums_8d(v: __m512d) -> [f64; 2] {
        // SAFETY: the caller's.
        unsafe { sums_4d(_mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1))) }
    }

    #[inline(always)]
    unsafe fn sums_8s(v: __m256) -> [f32; 2] {
        // SAFETY: the caller's.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
            let both = _mm_add_ps(four, _mm_movehl_ps(four, four));
            [_mm_cvtss_f32(both), _mm_cvtss_f32(_mm_shuffle_ps(both, both, 1))]
        }
    }

    #[inline(always)]
    unsafe fn sums_16s(v: __m512) -> [f32; 2] {
        // SAFETY: the caller's.
        unsafe { sums_8s(_mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1))) }
    }

    /// Read from some word on, as many words have their highest bit as there is to load.
    static LOADED: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];
    static LOADED_SINGLES: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

    vectors! {
        __m512d f64 8 _mm512_setzero_pd _mm512_loadu_pd _mm512_set1_pd _mm512_storeu_pd _mm512_add_pd _mm512_fmadd_pd _mm512_fnmadd_pd |v| _mm512_permute_pd(v, 0x55),
            _mm512_permutexvar_pd(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), v);
            |from, count| _mm512_maskz_loadu_pd(((1u32 << count) - 1) as u8, from);
            |to| _mm512_mask_storeu_pd(to, ((1u32 << count) - 1) as u8, v); sums_8d;
        __m512 f32 16 _mm512_setzero_ps _mm512_loadu_ps _mm512_set1_ps _mm512_storeu_ps _mm512_add_ps _mm512_fmadd_ps _mm512_fnmadd_ps |v| _mm512_permute_ps(v, 0xb1),
            _mm512_permutexvar_ps(_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), v);
            |from, count| _mm512_maskz_loadu_ps(((1u32 << count) - 1) as u16, from);
            |to| _mm512_mask_storeu_ps(to, ((1u32 << count) - 1) as u16, v); sums_16s;
        __m256d f64 4 _mm256_setzero_pd _mm256_loadu_pd _mm256_set1_pd _mm256_storeu_pd _mm256_add_pd _mm256_fmadd_pd _mm256_fnmadd_pd |v| _mm256_permute_pd(v, 0x5),
            _mm256_permute4x64_pd(v, 0x1b);
            |from, count| _mm256_maskload_pd(from, _mm256_loadu_si256(LOADED.as_ptr().add(4 - count).cast()));
            |to| _mm256_maskstore_pd(to, _mm256_loadu_si256(LOADED.as_ptr().add(4 - count).cast()), v); sums_4d;
        __m256 f32 8 _mm256_setzero_ps _mm256_loadu_ps _mm256_set1_ps _mm256_storeu_ps _mm256_add_ps _mm256_fmadd_ps _mm256_fnmadd_ps |v| _mm256_permute_ps(v, 0xb1),
            _mm256_permutevar8x32_ps(v, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
            |from, count| _mm256_maskload_ps(from, _mm256_loadu_si256(LOADED_SINGLES.as_ptr().add(8 - count).cast()));
            |to| _mm256_maskstore_ps(to, _mm256_loadu_si256(LOADED_SINGLES.as_ptr().add(8 - count).cast()), v); sums_8s;
    }
}

/// Of each of some rows of neighbours, the sum of its products with `x`.
///
/// # Safety
/// As for [`Vector`]: all have `n` floats.
// Two arrays are indexed at a time.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
pub(crate) unsafe fn real_sums<V: Vector, const ROWS: usize, const DEPTH: usize>(
    n: usize,
    rows: &[*const V::Item; ROWS],
    x: *const V::Item,
) -> [V::Item; ROWS] {
    // SAFETY: `n` floats from every pointer.
    unsafe {
        let mut acc = [[V::zero(); DEPTH]; ROWS];
        let mut j = 0;
        while j + DEPTH * V::LANES <= n {
            for d in 0..DEPTH {
                let x = V::load(x.add(j + d * V::LANES));
                for r in 0..ROWS {
                    acc[r][d] = acc[r][d].plus_product(V::load(rows[r].add(j + d * V::LANES)), x);
                }
            }
            j += DEPTH * V::LANES;
        }
        while j + V::LANES <= n {
            let x = V::load(x.add(j));
            for r in 0..ROWS {
                acc[r][0] = acc[r][0].plus_product(V::load(rows[r].add(j)), x);
            }
            j += V::LANES;
        }
        if j < n {
            let x = V::load_first(x.add(j), n - j);
            for r in 0..ROWS {
                acc[r][DEPTH - 1] = acc[r][DEPTH - 1].plus_product(V::load_first(rows[r].add(j), n - j), x);
            }
        }
        let mut sums = [V::zero().sum(); ROWS];
        for r in 0..ROWS {
            sums[r] = together(acc[r]).sum();
        }
        sums
    }
}

/// The sum of the products of two vectors, of which `y` begins at its last element. The products of a whole number of
/// vectors alone: also how many those are.
///
/// # Safety
/// As for [`Vector`]: `n` floats from `x` on, and up to `y`.
#[inline(always)]
pub(crate) unsafe fn flipped_sum<V: Vector, const DEPTH: usize>(
    n: usize,
    x: *const V::Item,
    y: *const V::Item,
) -> (V::Item, usize) {
    // SAFETY: the caller's.
    unsafe {
        let mut acc = [V::zero(); DEPTH];
        let mut j = 0;
        while j + DEPTH * V::LANES <= n {
            for (d, acc) in acc.iter_mut().enumerate() {
                let at = j + d * V::LANES;
                *acc = acc.plus_product(V::load(x.add(at)), V::load(y.sub(at + V::LANES - 1)).reversed());
            }
            j += DEPTH * V::LANES;
        }
        while j + V::LANES <= n {
            acc[0] = acc[0].plus_product(V::load(x.add(j)), V::load(y.sub(j + V::LANES - 1)).reversed());
            j += V::LANES;
        }
        (together(acc).sum(), j)
    }
}

/// As [`real_sums`], of complex numbers: `n` counts floats, real and imaginary parts alternate.
///
/// # Safety
/// As for [`real_sums`].
#[allow(clippy::needless_range_loop)]
#[inline(always)]
pub(crate) unsafe fn complex_sums<V: Vector, const ROWS: usize, const DEPTH: usize>(
    n: usize,
    rows: &[*const V::Item; ROWS],
    x: *const V::Item,
) -> [[V::Item; 2]; ROWS]
where
    V::Item: std::ops::Sub<Output = V::Item> + std::ops::Add<Output = V::Item>,
{
    // SAFETY: `n` floats from every pointer.
    unsafe {
        // Products of parts of one kind, and of different kinds.
        let mut same = [[V::zero(); DEPTH]; ROWS];
        let mut mixed = [[V::zero(); DEPTH]; ROWS];
        let mut j = 0;
        while j + DEPTH * V::LANES <= n {
            for d in 0..DEPTH {
                let x = V::load(x.add(j + d * V::LANES));
                let swapped = x.swapped();
                for r in 0..ROWS {
                    let a = V::load(rows[r].add(j + d * V::LANES));
                    same[r][d] = same[r][d].plus_product(a, x);
                    mixed[r][d] = mixed[r][d].plus_product(a, swapped);
                }
            }
            j += DEPTH * V::LANES;
        }
        while j + V::LANES <= n {
            let x = V::load(x.add(j));
            let swapped = x.swapped();
            for r in 0..ROWS {
                let a = V::load(rows[r].add(j));
                same[r][0] = same[r][0].plus_product(a, x);
                mixed[r][0] = mixed[r][0].plus_product(a, swapped);
            }
            j += V::LANES;
        }
        if j < n {
            let x = V::load_first(x.add(j), n - j);
            let swapped = x.swapped();
            for r in 0..ROWS {
                let a = V::load_first(rows[r].add(j), n - j);
                same[r][DEPTH - 1] = same[r][DEPTH - 1].plus_product(a, x);
                mixed[r][DEPTH - 1] = mixed[r][DEPTH - 1].plus_product(a, swapped);
            }
        }
        let mut sums = [V::zero().sums(); ROWS];
        for r in 0..ROWS {
            let [real, imag] = together(same[r]).sums();
            sums[r] = [real - imag, together(mixed[r]).sum()];
        }
        sums
    }
}

/// The sum of vectors.
#[inline(always)]
unsafe fn together<V: Vector, const DEPTH: usize>(mut acc: [V; DEPTH]) -> V {
    let mut half = DEPTH / 2;
    while half > 0 {
        for k in 0..half {
            // SAFETY: the caller's.
            acc[k] = unsafe { acc[k].plus(acc[k + half]) };
        }
        half /= 2;
    }
    acc[0]
}
