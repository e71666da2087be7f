//! Triangular systems with several right sides: some columns at a time, the parts of complex numbers apart, so that a row of
//! them is a few registers and each step is one multiplication and sum for each.

use crate::numbers::{Complex, Loop};
use crate::simd::{Doubles, Four, Vector, WideDoubles};

/// A matrix: where it begins, and elements from row to row. Those of a row are neighbours.
pub(crate) struct Rows<T> {
    pub data: *mut T,
    pub step: isize,
}

impl<T> Clone for Rows<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Rows<T> {}

/// Numbers of one or two floats.
pub(crate) trait Parted: Copy {
    /// Whether there is an imaginary part.
    const COMPLEX: bool;
    /// `1 / self`, if that is to be multiplied with instead of dividing.
    fn one_over(self) -> Option<Self>;
    fn divided(self, by: Self) -> Self;
    fn parts(self) -> [f64; 2];
    fn of(parts: [f64; 2]) -> Self;
}

impl Parted for f64 {
    const COMPLEX: bool = false;
    fn one_over(self) -> Option<f64> {
        None
    }
    fn divided(self, by: f64) -> f64 {
        self / by
    }
    fn parts(self) -> [f64; 2] {
        [self, 0.0]
    }
    fn of([real, _]: [f64; 2]) -> f64 {
        real
    }
}

impl Parted for Complex<f64> {
    const COMPLEX: bool = true;
    fn one_over(self) -> Option<Self> {
        let one = Complex(1.0, 0.0).divided(self);
        (one.0.is_finite() && one.1.is_finite()).then_some(one)
    }
    // Nothing is squared that might overflow.
    fn divided(self, by: Self) -> Self {
        if by.0.abs() >= by.1.abs() {
            let ratio = by.1 / by.0;
            let whole = by.0 + by.1 * ratio;
            Complex((self.0 + self.1 * ratio) / whole, (self.1 - self.0 * ratio) / whole)
        } else {
            let ratio = by.0 / by.1;
            let whole = by.0 * ratio + by.1;
            Complex((self.0 * ratio + self.1) / whole, (self.1 * ratio - self.0) / whole)
        }
    }
    fn parts(self) -> [f64; 2] {
        [self.0, self.1]
    }
    fn of([real, imag]: [f64; 2]) -> Self {
        Complex(real, imag)
    }
}

/// `b` becomes the `x` of `l x = b`, with ones on the diagonal of the lower triangle `l` of `a`, and then that of `u x = b`.
pub(crate) struct Substitute<T> {
    pub a: Rows<T>,
    pub n: usize,
    pub b: Rows<T>,
    pub columns: usize,
    pub lower: bool,
    pub upper: bool,
    /// So many bytes as [`Substitute::room`] says.
    pub room: *mut f64,
}

impl<T: Parted> Loop for Substitute<T> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool, const WIDE: bool>(self) {
        // SAFETY: who made this, and the processor has the instructions.
        unsafe {
            if WIDE {
                self.in_strips::<WideDoubles>()
            } else if FUSED {
                self.in_strips::<Doubles>()
            } else {
                self.in_strips::<Four<f64>>()
            }
        }
    }
}

impl<T: Parted> Substitute<T> {
    /// Bytes of room for `n` rows of four of the widest vectors, in real and imaginary parts.
    pub(crate) fn room(n: usize) -> usize {
        n * 2 * 4 * WideDoubles::LANES * size_of::<f64>()
    }

    /// # Safety
    /// The matrices may be read, and the right sides written; the processor has the instructions of `V`.
    #[inline(always)]
    unsafe fn in_strips<V: Vector<Item = f64>>(&self) {
        // SAFETY: there is room for so many: lanes that no column is in are computed with too.
        unsafe { self.room.write_bytes(0, self.n * 2 * 4 * V::LANES) };
        let mut at = 0;
        while at < self.columns {
            let left = self.columns - at;
            // SAFETY: columns that are there.
            unsafe {
                at += match left.div_ceil(V::LANES) {
                    1 => self.strip::<V, 1>(at, left),
                    2 => self.strip::<V, 2>(at, left),
                    _ => self.strip::<V, 4>(at, left),
                };
            }
        }
    }

    /// The columns from `at` on that are in `VECTORS` vectors. Gives how many.
    ///
    /// # Safety
    /// As for [`Substitute::in_strips`].
    #[inline(always)]
    unsafe fn strip<V: Vector<Item = f64>, const VECTORS: usize>(&self, at: usize, left: usize) -> usize {
        let width = VECTORS * V::LANES;
        let (columns, rows) = (left.min(width), self.room);
        // SAFETY: rows of the matrices, and `n` rows of real and imaginary parts of room.
        unsafe {
            let right_side = |i: usize| self.b.data.offset(i as isize * self.b.step).add(at);
            let row = |i: usize| rows.add(2 * width * i);
            for i in 0..self.n {
                let (from, to) = (std::slice::from_raw_parts(right_side(i), columns), row(i));
                for (j, v) in from.iter().enumerate() {
                    let [real, imag] = v.parts();
                    *to.add(j) = real;
                    *to.add(width + j) = imag;
                }
            }
            if self.lower {
                for i in 1..self.n {
                    self.minus_known::<V, VECTORS>(i, 0, i, rows);
                }
            }
            if self.upper {
                for i in (0..self.n).rev() {
                    self.minus_known::<V, VECTORS>(i, i + 1, self.n, rows);
                    self.divide(i, row(i), width);
                }
            }
            for i in 0..self.n {
                let (to, from) = (std::slice::from_raw_parts_mut(right_side(i), columns), row(i));
                for (j, v) in to.iter_mut().enumerate() {
                    *v = T::of([*from.add(j), *from.add(width + j)]);
                }
            }
        }
        columns
    }

    /// Subtracts from row `i` the rows `first..end`, times their factors in row `i` of the matrix.
    ///
    /// # Safety
    /// As for [`Substitute::in_strips`].
    #[inline(always)]
    unsafe fn minus_known<V: Vector<Item = f64>, const VECTORS: usize>(
        &self,
        i: usize,
        first: usize,
        end: usize,
        rows: *mut f64,
    ) {
        let width = VECTORS * V::LANES;
        // SAFETY: the caller's.
        unsafe {
            let own = rows.add(2 * width * i);
            let factors = self.a.data.offset(i as isize * self.a.step).cast::<f64>().cast_const();
            let mut real = [V::zero(); VECTORS];
            let mut imag = [V::zero(); VECTORS];
            for v in 0..VECTORS {
                real[v] = V::load(own.add(v * V::LANES));
                if T::COMPLEX {
                    imag[v] = V::load(own.add(width + v * V::LANES));
                }
            }
            for k in first..end {
                let other = rows.add(2 * width * k).cast_const();
                if T::COMPLEX {
                    let (x, y) = (V::repeated(factors.add(2 * k)), V::repeated(factors.add(2 * k + 1)));
                    for v in 0..VECTORS {
                        let re = V::load(other.add(v * V::LANES));
                        let im = V::load(other.add(width + v * V::LANES));
                        real[v] = real[v].minus_product(x, re).plus_product(y, im);
                        imag[v] = imag[v].minus_product(x, im).minus_product(y, re);
                    }
                } else {
                    let x = V::repeated(factors.add(k));
                    for (v, real) in real.iter_mut().enumerate() {
                        *real = real.minus_product(x, V::load(other.add(v * V::LANES)));
                    }
                }
            }
            for v in 0..VECTORS {
                real[v].store(own.add(v * V::LANES));
                if T::COMPLEX {
                    imag[v].store(own.add(width + v * V::LANES));
                }
            }
        }
    }

    /// Divides row `i` by the element on the diagonal.
    ///
    /// # Safety
    /// As for [`Substitute::in_strips`].
    #[inline(always)]
    unsafe fn divide(&self, i: usize, row: *mut f64, width: usize) {
        // SAFETY: the caller's.
        unsafe {
            let divisor = *self.a.data.offset(i as isize * self.a.step).add(i);
            let (real, imag) =
                (std::slice::from_raw_parts_mut(row, width), std::slice::from_raw_parts_mut(row.add(width), width));
            let both = real.iter_mut().zip(imag);
            match divisor.one_over().map(T::parts) {
                Some([x, y]) => both.for_each(|(re, im)| (*re, *im) = (*re * x - *im * y, *re * y + *im * x)),
                None => both.for_each(|(re, im)| [*re, *im] = T::of([*re, *im]).divided(divisor).parts()),
            }
        }
    }
}
