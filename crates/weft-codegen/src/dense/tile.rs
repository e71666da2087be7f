//! A tile of a product that stays in registers: rows of it times vectors of columns.
//!
//! Every element is one chain of sums, from the first product to the last, whatever the tile: its bits do not depend on
//! where a product is cut into tiles.

use super::pack::Packed;
use crate::numbers::{Processor, processor};
use crate::simd::{Doubles, Four, Singles, Vector, WideDoubles, WideSingles};

/// Vectors across a tile.
pub(super) const ACROSS: usize = 3;

/// Bytes that caches hold together.
pub(super) const LINE: usize = 64;

/// What one call computes. Steps are in bytes; columns of `b` and of the product are neighbours.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// Products that are summed.
    pub depth: usize,
    pub a: *const u8,
    /// From row to row, and from one product to the next.
    pub a_row: isize,
    pub a_step: isize,
    pub b: *const u8,
    pub b_step: isize,
    pub to: *mut u8,
    pub to_row: isize,
    /// Whether the sums are added to what is there.
    pub add: bool,
    /// What will be needed soon: a line of a cache for each product.
    pub next: *const u8,
}

/// Computes a tile; the number is that of the columns in its last vector.
type Kernel = unsafe fn(&Tile, usize);

/// The tiles of a dtype on one kind of processor.
pub(crate) struct Kernels {
    /// Rows of the largest tile.
    pub(super) rows: usize,
    /// Columns of one vector.
    lanes: usize,
    /// The largest tile, of factors that are packed: as many elements from one product to the next as there are rows
    /// and columns.
    packed: Kernel,
    /// Any tile of any factors, by rows and vectors.
    any: &'static [[Kernel; ACROSS]],
}

impl Kernels {
    /// Columns of the largest tile.
    pub(super) fn columns(&self) -> usize {
        ACROSS * self.lanes
    }

    /// # Safety
    /// The matrices have the tile's rows and columns, at least one and at most the largest tile's.
    #[inline(always)]
    pub(super) unsafe fn any(&self, rows: usize, columns: usize, tile: &Tile) {
        let before = (columns - 1) / self.lanes;
        // SAFETY: the caller's; `Dense::kernels` are those of this processor.
        unsafe { self.any[rows - 1][before](tile, columns - before * self.lanes) }
    }

    /// Of factors that are packed.
    ///
    /// # Safety
    /// As for [`Kernels::any`].
    #[inline(always)]
    pub(super) unsafe fn packed(&self, rows: usize, columns: usize, tile: &Tile) {
        // SAFETY: the caller's.
        unsafe {
            match rows == self.rows && columns == self.columns() {
                true => (self.packed)(tile, self.lanes),
                false => self.any(rows, columns, tile),
            }
        }
    }
}

/// Says that memory is going to be needed in the first or second cache.
#[inline(always)]
pub(super) fn ahead<const CACHE: u8>(data: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: nothing is read.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        match CACHE {
            1 => _mm_prefetch::<_MM_HINT_T0>(data.cast()),
            _ => _mm_prefetch::<_MM_HINT_T1>(data.cast()),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = data;
}

/// Sums of a tile: rows of vectors.
type Sums<V, const ROWS: usize, const VECTORS: usize> = [[V; VECTORS]; ROWS];

/// Adds the products of some elements of `a` with a line of `b`.
#[inline(always)]
unsafe fn step<V: Vector, const ROWS: usize, const VECTORS: usize>(
    sums: &mut Sums<V, ROWS, VECTORS>,
    a: impl Fn(usize) -> *const V::Item,
    b: [V; VECTORS],
) {
    for (r, sums) in sums.iter_mut().enumerate() {
        // SAFETY: the caller's.
        unsafe {
            let a = V::repeated(a(r));
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = sum.plus_product(a, b);
            }
        }
    }
}

/// Products that are added between two looks at where to stop. Whatever is not a product takes the place of one.
const UNROLLED: usize = 4;

/// The largest tile.
#[inline(always)]
unsafe fn packed<V: Vector, const ROWS: usize>(t: &Tile) {
    // SAFETY: the caller's.
    unsafe {
        let width = ACROSS * V::LANES;
        let mut sums = [[V::zero(); ACROSS]; ROWS];
        let (mut a, mut b, mut next) = (t.a.cast::<V::Item>(), t.b.cast::<V::Item>(), t.next);
        for r in 0..ROWS {
            let to = t.to.wrapping_offset(r as isize * t.to_row).cast::<V::Item>();
            (0..ACROSS).for_each(|v| ahead::<1>(to.wrapping_add(v * V::LANES).cast()));
            ahead::<1>(to.wrapping_add(width - 1).cast());
        }
        let mut left = t.depth;
        while left >= UNROLLED {
            for u in 0..UNROLLED {
                ahead::<2>(next.wrapping_add(u * LINE));
                let line = std::array::from_fn(|v| V::load(b.add(u * width + v * V::LANES)));
                step(&mut sums, |r| a.add(u * ROWS + r), line);
            }
            (a, b) = (a.add(UNROLLED * ROWS), b.add(UNROLLED * width));
            next = next.wrapping_add(UNROLLED * LINE);
            left -= UNROLLED;
        }
        for _ in 0..left {
            step(&mut sums, |r| a.add(r), std::array::from_fn(|v| V::load(b.add(v * V::LANES))));
            (a, b) = (a.add(ROWS), b.add(width));
        }
        write(t, sums, V::LANES);
    }
}

/// Any tile of any factors.
#[inline(always)]
unsafe fn any<V: Vector, const ROWS: usize, const VECTORS: usize>(t: &Tile, last: usize) {
    // SAFETY: the caller's.
    unsafe {
        let mut sums = [[V::zero(); VECTORS]; ROWS];
        let line = |b: *const u8| {
            std::array::from_fn(|v| {
                let from = b.cast::<V::Item>().add(v * V::LANES);
                if v + 1 < VECTORS { V::load(from) } else { V::load_first(from, last) }
            })
        };
        let (mut a, mut b, mut left) = (t.a, t.b, t.depth);
        if t.a_step == size_of::<V::Item>() as isize {
            while left >= UNROLLED {
                let rows: [*const u8; ROWS] = std::array::from_fn(|r| a.wrapping_offset(r as isize * t.a_row));
                for u in 0..UNROLLED {
                    step(&mut sums, |r| rows[r].cast::<V::Item>().wrapping_add(u), line(b));
                    b = b.wrapping_offset(t.b_step);
                }
                a = a.wrapping_add(UNROLLED * size_of::<V::Item>());
                left -= UNROLLED;
            }
        }
        for _ in 0..left {
            step(&mut sums, |r| a.wrapping_offset(r as isize * t.a_row).cast(), line(b));
            (a, b) = (a.wrapping_offset(t.a_step), b.wrapping_offset(t.b_step));
        }
        write(t, sums, last);
    }
}

/// Writes the sums; `last` columns of the last vector.
#[inline(always)]
unsafe fn write<V: Vector, const ROWS: usize, const VECTORS: usize>(
    t: &Tile,
    sums: Sums<V, ROWS, VECTORS>,
    last: usize,
) {
    for (r, sums) in sums.into_iter().enumerate() {
        for (v, mut sum) in sums.into_iter().enumerate() {
            // SAFETY: the caller's.
            unsafe {
                let to = t.to.offset(r as isize * t.to_row).cast::<V::Item>().add(v * V::LANES);
                if v + 1 < VECTORS || last == V::LANES {
                    if t.add {
                        sum = V::load(to).plus(sum);
                    }
                    sum.store(to);
                } else {
                    if t.add {
                        sum = V::load_first(to, last).plus(sum);
                    }
                    sum.store_first(to, last);
                }
            }
        }
    }
}

macro_rules! kernels {
    ($(#[$on:meta])* $name:ident $whole:ident $part:ident $vector:ty: $rows:literal of [$($row:literal)*]) => {
        $(#[$on])*
        unsafe fn $whole(t: &Tile, _: usize) {
            // SAFETY: the caller's.
            unsafe { packed::<$vector, $rows>(t) }
        }
        $(#[$on])*
        unsafe fn $part<const ROWS: usize, const VECTORS: usize>(t: &Tile, last: usize) {
            // SAFETY: the caller's.
            unsafe { any::<$vector, ROWS, VECTORS>(t, last) }
        }
        static $name: Kernels = Kernels {
            rows: $rows,
            lanes: <$vector>::LANES,
            packed: $whole,
            any: &[$([$part::<$row, 1>, $part::<$row, 2>, $part::<$row, 3>]),*],
        };
    };
}

/// Floats that there are tiles of.
pub(crate) trait Dense: Packed {
    /// Those for a kind of processor.
    fn kernels_for(processor: Processor) -> &'static Kernels;

    /// Those for this one.
    fn kernels() -> &'static Kernels {
        Self::kernels_for(processor())
    }
}

macro_rules! dense {
    ($($t:ident $wide:ident $narrow:ident;)*) => {$(
        impl Dense for $t {
            fn kernels_for(processor: Processor) -> &'static Kernels {
                #[cfg(target_arch = "x86_64")]
                kernels! {
                    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
                    WIDE wide any_wide $wide: 8 of [1 2 3 4 5 6 7 8]
                }
                #[cfg(target_arch = "x86_64")]
                kernels! {
                    #[target_feature(enable = "avx2,fma")]
                    NARROW narrow any_narrow $narrow: 4 of [1 2 3 4]
                }
                kernels!(ANY plain any_plain Four<$t>: 2 of [1 2]);
                match processor {
                    #[cfg(target_arch = "x86_64")]
                    Processor::Avx512 => &WIDE,
                    #[cfg(target_arch = "x86_64")]
                    Processor::Avx2 => &NARROW,
                    Processor::Any => &ANY,
                }
            }
        }
    )*};
}

dense! {
    f32 WideSingles Singles;
    f64 WideDoubles Doubles;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds of processors whose instructions this one has.
    fn processors() -> Vec<Processor> {
        let mut all = vec![Processor::Any];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                all.push(Processor::Avx2);
            }
            if let Processor::Avx512 = processor() {
                all.push(Processor::Avx512);
            }
        }
        all
    }

    fn tiles<T: Dense + PartialEq + std::fmt::Debug + From<i8>>(kernels: &Kernels) {
        let (height, width, item) = (kernels.rows, kernels.columns(), size_of::<T>());
        let number = |i: usize| T::from((i % 7) as i8 - 3);
        for depth in [0, 1, 3, 4, 9] {
            // Packed: an element of every row, then the next of every row; and of every column.
            let a: Vec<T> = (0..depth * height).map(number).collect();
            let b: Vec<T> = (0..depth * width).map(|i| number(i / 2)).collect();
            for (rows, columns) in (1..=height).flat_map(|r| (1..=width).map(move |c| (r, c))) {
                for add in [false, true] {
                    let mut to = vec![T::from(5); height * width];
                    let tile = Tile {
                        depth,
                        a: a.as_ptr().cast(),
                        a_row: item as isize,
                        a_step: (height * item) as isize,
                        b: b.as_ptr().cast(),
                        b_step: (width * item) as isize,
                        to: to.as_mut_ptr().cast(),
                        to_row: (width * item) as isize,
                        add,
                        next: b.as_ptr().cast(),
                    };
                    // SAFETY: all of it is in the vectors above.
                    unsafe { kernels.packed(rows, columns, &tile) };
                    for (place, &got) in to.iter().enumerate() {
                        let (i, j) = (place / width, place % width);
                        let inside = i < rows && j < columns;
                        let first = if add || !inside { T::from(5) } else { T::ZERO };
                        let products = if inside { depth } else { 0 };
                        let sum = (0..products)
                            .fold(first, |sum, d| sum.plus_product::<false>(a[d * height + i], b[d * width + j]));
                        assert_eq!(got, sum, "{rows} rows, {columns} columns, {depth} deep, at {i}, {j}");
                    }
                }
            }
        }
    }

    /// Small whole numbers: exact on every kind of processor.
    #[test]
    fn every_tile_on_every_processor() {
        for processor in processors() {
            tiles::<f32>(f32::kernels_for(processor));
            tiles::<f64>(f64::kernels_for(processor));
        }
    }
}
