//! Numbers whose products are summed, and the processor's widest instructions for loops over them.

use crate::simd::{Doubles, Four, Singles, WideDoubles, WideSingles, complex_sums, flipped_sum, real_sums};

/// An element of a product.
pub(crate) trait Number: Copy {
    const ZERO: Self;
    fn plus(self, other: Self) -> Self;
    /// `self + a * b`; rounded once where `FUSED`.
    fn plus_product<const FUSED: bool>(self, a: Self, b: Self) -> Self;
    /// Of each of some rows of `n` neighbours, the sum of its products with the neighbours at `x`.
    /// `FUSED` and `WIDE` are those of the [`Loop`]; `DEPTH`: how many vectors of one row are under way at a time.
    ///
    /// # Safety
    /// The elements may be read; the processor has the instructions.
    unsafe fn sums<const FUSED: bool, const WIDE: bool, const ROWS: usize, const DEPTH: usize>(
        n: usize,
        rows: &[*const Self; ROWS],
        x: *const Self,
    ) -> [Self; ROWS];
    /// The sum of the products of `n` neighbours at `x` with those that end at `y`, last first, as far as vectors go; and
    /// how many products that were.
    ///
    /// # Safety
    /// As for `sums`.
    #[inline(always)]
    unsafe fn flipped<const FUSED: bool, const WIDE: bool>(_: usize, _: *const Self, _: *const Self) -> (Self, usize) {
        (Self::ZERO, 0)
    }
}

/// For numbers whose sums do not depend on their order: the compiler finds the lanes.
#[inline(always)]
unsafe fn any_order<T: Number, const ROWS: usize>(n: usize, rows: &[*const T; ROWS], x: *const T) -> [T; ROWS] {
    rows.map(|row| {
        // SAFETY: the caller's.
        (0..n).fold(T::ZERO, |sum, j| unsafe {
            sum.plus_product::<false>(row.add(j).read_unaligned(), x.add(j).read_unaligned())
        })
    })
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const ZERO: $t = 0;
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self.wrapping_add(other) }
            #[inline(always)]
            fn plus_product<const FUSED: bool>(self, a: $t, b: $t) -> $t { self.wrapping_add(a.wrapping_mul(b)) }
            #[inline(always)]
            unsafe fn sums<const FUSED: bool, const WIDE: bool, const ROWS: usize, const DEPTH: usize>(
                n: usize,
                rows: &[*const Self; ROWS],
                x: *const Self,
            ) -> [Self; ROWS] {
                // SAFETY: the caller's.
                unsafe { any_order(n, rows, x) }
            }
        }
    )*};
}

macro_rules! floats {
    ($($t:ident $wide:ident $narrow:ident;)*) => {$(
        impl Number for $t {
            const ZERO: $t = 0.0;
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self + other }
            #[inline(always)]
            fn plus_product<const FUSED: bool>(self, a: $t, b: $t) -> $t {
                if FUSED { a.mul_add(b, self) } else { self + a * b }
            }
            #[inline(always)]
            unsafe fn sums<const FUSED: bool, const WIDE: bool, const ROWS: usize, const DEPTH: usize>(
                n: usize,
                rows: &[*const Self; ROWS],
                x: *const Self,
            ) -> [Self; ROWS] {
                // SAFETY: the caller's.
                unsafe {
                    if WIDE {
                        real_sums::<$wide, ROWS, DEPTH>(n, rows, x)
                    } else if FUSED {
                        real_sums::<$narrow, ROWS, DEPTH>(n, rows, x)
                    } else {
                        real_sums::<Four<$t>, ROWS, DEPTH>(n, rows, x)
                    }
                }
            }
            #[inline(always)]
            unsafe fn flipped<const FUSED: bool, const WIDE: bool>(n: usize, x: *const $t, y: *const $t) -> ($t, usize) {
                // SAFETY: the caller's.
                unsafe {
                    if WIDE {
                        flipped_sum::<$wide, 4>(n, x, y)
                    } else if FUSED {
                        flipped_sum::<$narrow, 4>(n, x, y)
                    } else {
                        flipped_sum::<Four<$t>, 4>(n, x, y)
                    }
                }
            }
        }

        impl Number for Complex<$t> {
            const ZERO: Self = Complex(0.0, 0.0);
            #[inline(always)]
            fn plus(self, other: Self) -> Self { Complex(self.0 + other.0, self.1 + other.1) }
            #[inline(always)]
            fn plus_product<const FUSED: bool>(self, a: Self, b: Self) -> Self {
                Complex(
                    self.0.plus_product::<FUSED>(a.0, b.0).plus_product::<FUSED>(-a.1, b.1),
                    self.1.plus_product::<FUSED>(a.0, b.1).plus_product::<FUSED>(a.1, b.0),
                )
            }
            #[inline(always)]
            unsafe fn sums<const FUSED: bool, const WIDE: bool, const ROWS: usize, const DEPTH: usize>(
                n: usize,
                rows: &[*const Self; ROWS],
                x: *const Self,
            ) -> [Self; ROWS] {
                let (rows, x) = (&rows.map(|row| row.cast::<$t>()), x.cast::<$t>());
                // SAFETY: the caller's.
                let sums = unsafe {
                    if WIDE {
                        complex_sums::<$wide, ROWS, DEPTH>(2 * n, rows, x)
                    } else if FUSED {
                        complex_sums::<$narrow, ROWS, DEPTH>(2 * n, rows, x)
                    } else {
                        complex_sums::<Four<$t>, ROWS, DEPTH>(2 * n, rows, x)
                    }
                };
                sums.map(|[real, imag]| Complex(real, imag))
            }
        }
    )*};
}

integers!(u8, u16, u32, u64);
floats! {
    f32 WideSingles Singles;
    f64 WideDoubles Doubles;
}

/// A bool: sums are "or", products "and".
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Truth(u8);

impl Number for Truth {
    const ZERO: Truth = Truth(0);
    #[inline(always)]
    fn plus(self, other: Truth) -> Truth {
        Truth(self.0 | other.0)
    }
    #[inline(always)]
    fn plus_product<const FUSED: bool>(self, a: Truth, b: Truth) -> Truth {
        Truth(self.0 | (a.0 & b.0))
    }
    #[inline(always)]
    unsafe fn sums<const FUSED: bool, const WIDE: bool, const ROWS: usize, const DEPTH: usize>(
        n: usize,
        rows: &[*const Self; ROWS],
        x: *const Self,
    ) -> [Self; ROWS] {
        // SAFETY: the caller's.
        unsafe { any_order(n, rows, x) }
    }
}

/// Real and imaginary part.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Complex<T>(pub T, pub T);

/// A loop that is compiled for each kind of processor. `run` must be `#[inline(always)]`.
pub(crate) trait Loop {
    type Out;
    /// `WIDE`: there are 32 registers of 64 bytes; else count on 16 of 32.
    fn run<const FUSED: bool, const WIDE: bool>(self) -> Self::Out;
}

/// The kinds of processors that loops are compiled for.
#[derive(Clone, Copy)]
pub(crate) enum Processor {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Any,
}

/// This one.
#[inline]
pub(crate) fn processor() -> Processor {
    #[cfg(target_arch = "x86_64")]
    {
        let wide = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw");
        if wide {
            return Processor::Avx512;
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return Processor::Avx2;
        }
    }
    Processor::Any
}

/// Runs a loop with the widest instructions that this processor has.
#[inline]
pub(crate) fn best<L: Loop>(work: L) -> L::Out {
    match processor() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has the instructions.
        Processor::Avx512 => unsafe { with_avx512(work) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Processor::Avx2 => unsafe { with_avx2(work) },
        Processor::Any => work.run::<false, false>(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
fn with_avx512<L: Loop>(work: L) -> L::Out {
    work.run::<true, true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2<L: Loop>(work: L) -> L::Out {
    work.run::<true, false>()
}
