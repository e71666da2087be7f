//! Parts of matrices, copied so that tiles read them one element after the other.

use crate::numbers::{Loop, Number, best};
use std::marker::PhantomData;

/// Lines of a matrix, side by side: element `d` of line `l` goes to place `d * width + l`. Steps are in bytes.
pub(super) struct Lines<T> {
    pub from: *const u8,
    pub to: *mut T,
    pub lines: usize,
    pub depth: usize,
    /// From line to line, and along one.
    pub line: isize,
    pub along: isize,
    pub width: usize,
}

impl<T: Packed> Lines<T> {
    /// # Safety
    /// The matrix may be read, and there is room for `depth * width` elements.
    pub(super) unsafe fn copy(self) {
        best(Copied(self, PhantomData));
    }
}

struct Copied<T>(Lines<T>, PhantomData<T>);

/// Lines and elements of lines that change places at once.
const SQUARE: usize = 4;

impl<T: Packed> Loop for Copied<T> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool, const WIDE: bool>(self) {
        let Lines { from, to, lines, depth, line, along, width } = self.0;
        let item = size_of::<T>() as isize;
        // SAFETY: elements of the matrix, and places for them.
        unsafe {
            let one = |l: usize, d: usize| {
                let from = from.offset(l as isize * line + d as isize * along);
                to.add(d * width + l).write(from.cast::<T>().read_unaligned());
            };
            if line == item && lines == width {
                return match width {
                    4 => neighbours::<T, 4>(from, to, depth, along),
                    12 => neighbours::<T, 12>(from, to, depth, along),
                    8 => neighbours::<T, 8>(from, to, depth, along),
                    24 => neighbours::<T, 24>(from, to, depth, along),
                    48 => neighbours::<T, 48>(from, to, depth, along),
                    _ => (0..depth).for_each(|d| (0..lines).for_each(|l| one(l, d))),
                };
            }
            if along != item {
                return (0..depth).for_each(|d| (0..lines).for_each(|l| one(l, d)));
            }
            let (whole_lines, whole) = (lines - lines % SQUARE, depth - depth % SQUARE);
            for d in (0..whole).step_by(SQUARE) {
                for l in (0..whole_lines).step_by(SQUARE) {
                    T::square(from.offset(l as isize * line + d as isize * item), line, to.add(d * width + l), width);
                }
                (d..d + SQUARE).for_each(|d| (whole_lines..lines).for_each(|l| one(l, d)));
            }
            (whole..depth).for_each(|d| (0..lines).for_each(|l| one(l, d)));
        }
    }
}

/// Lines that are neighbours: so many at a time.
#[inline(always)]
unsafe fn neighbours<T: Copy, const WIDTH: usize>(from: *const u8, to: *mut T, depth: usize, along: isize) {
    for d in 0..depth {
        // SAFETY: the caller's.
        unsafe {
            let some = from.offset(d as isize * along).cast::<[T; WIDTH]>().read_unaligned();
            to.add(d * WIDTH).cast::<[T; WIDTH]>().write(some);
        }
    }
}

/// Floats that are packed.
pub(crate) trait Packed: Number {
    /// Four elements of each of four lines to places that are neighbours for one element of all lines.
    ///
    /// # Safety
    /// The elements may be read and the places written.
    unsafe fn square(from: *const u8, line: isize, to: *mut Self, width: usize);
}

#[cfg(target_arch = "x86_64")]
impl Packed for f64 {
    #[inline(always)]
    unsafe fn square(from: *const u8, line: isize, to: *mut f64, width: usize) {
        use std::arch::x86_64::{_mm_loadu_pd, _mm_storeu_pd, _mm_unpackhi_pd, _mm_unpacklo_pd};
        // SAFETY: the caller's.
        unsafe {
            for l in [0, 2] {
                for d in [0, 2] {
                    let from = from.offset(l as isize * line).cast::<f64>().add(d);
                    let to = to.add(d * width + l);
                    let (a, b) = (_mm_loadu_pd(from), _mm_loadu_pd(from.byte_offset(line)));
                    _mm_storeu_pd(to, _mm_unpacklo_pd(a, b));
                    _mm_storeu_pd(to.add(width), _mm_unpackhi_pd(a, b));
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Packed for f32 {
    #[inline(always)]
    unsafe fn square(from: *const u8, line: isize, to: *mut f32, width: usize) {
        use std::arch::x86_64::{_MM_TRANSPOSE4_PS, _mm_loadu_ps, _mm_storeu_ps};
        // SAFETY: the caller's.
        unsafe {
            let [mut a, mut b, mut c, mut d] =
                [0, 1, 2, 3].map(|l: isize| _mm_loadu_ps(from.offset(l * line).cast::<f32>()));
            _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
            for (e, v) in [a, b, c, d].into_iter().enumerate() {
                _mm_storeu_ps(to.add(e * width), v);
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
macro_rules! plain {
    ($($t:ty),*) => {$(
        impl Packed for $t {
            #[inline(always)]
            unsafe fn square(from: *const u8, line: isize, to: *mut $t, width: usize) {
                for l in 0..SQUARE {
                    for d in 0..SQUARE {
                        // SAFETY: the caller's.
                        unsafe {
                            let from = from.offset(l as isize * line).cast::<$t>().add(d);
                            to.add(d * width + l).write(from.read_unaligned());
                        }
                    }
                }
            }
        }
    )*};
}

#[cfg(not(target_arch = "x86_64"))]
plain!(f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    fn lines<T: Packed + PartialEq + std::fmt::Debug + From<u8>>() {
        for (width, depth) in [(1, 1), (2, 9), (4, 5), (5, 3), (8, 8), (12, 7), (24, 30), (48, 6), (50, 10)] {
            for lines in [1, width / 2 + 1, width] {
                let item = size_of::<T>() as isize;
                let from: Vec<T> = (0..lines * depth).map(|i| T::from((i % 251) as u8)).collect();
                for (line, along) in [(item, lines as isize * item), (depth as isize * item, item)] {
                    let mut to = vec![T::from(255); width * depth];
                    let (data, room) = (from.as_ptr().cast::<u8>(), to.as_mut_ptr());
                    // SAFETY: all of it is in the vectors above.
                    unsafe { Lines { from: data, to: room, lines, depth, line, along, width }.copy() };
                    for (place, &got) in to.iter().enumerate() {
                        let (d, l) = ((place / width) as isize, (place % width) as isize);
                        let at = ((l * line + d * along) / item) as usize;
                        let there = place % width < lines;
                        assert_eq!(got, if there { from[at] } else { T::from(255) }, "{lines} of {width}, {depth}");
                    }
                }
            }
        }
    }

    #[test]
    fn lines_of_any_number_and_layout() {
        lines::<f32>();
        lines::<f64>();
    }
}
