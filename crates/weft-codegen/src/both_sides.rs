//! A matrix times a vector, and another vector times the matrix, which is read once.
//!
//! Some rows at a time: their products with the first vector are found, and while they are in a core's own cache, they are added up
//! by the elements of the second, which may be those products, beside the products of the next rows. The sums of each part of the
//! rows are added up in order, so bits depend on sizes alone. What is small, or does not lie by rows, is two products.

use crate::abi::CallCtx;
use crate::each::try_each;
use crate::matvec::{MatVec, PARTS, Sums, by_either, cost, in_parts};
use crate::numbers::{Loop, Number, best};
use crate::room::{Raised, Room};
use crate::simd::{Doubles, Four, Singles, Vector, WideDoubles, WideSingles};
use weft_ir::DType;

/// Bytes of a matrix from which reading it twice takes long, and of a row of which a core's cache holds four.
const FAR: usize = 1 << 23;
const HELD: usize = 1 << 17;

/// What compiled code gives, in its order. Steps are in bytes.
#[repr(C)]
#[derive(Clone, Copy)]
struct Sides {
    behind: *mut u8,
    before: *mut u8,
    a: *const u8,
    x: *const u8,
    y: *const u8,
    rows: usize,
    columns: usize,
    row: isize,
    column: isize,
    behind_step: isize,
    before_step: isize,
    x_step: isize,
    y_step: isize,
    x_size: usize,
    y_size: usize,
}

// SAFETY: threads write to parts of the products that do not overlap.
unsafe impl Sync for Sides {}

/// What compiled code calls: the call, the number of a dtype, and [`Sides`] in words.
///
/// # Safety
/// The words describe memory that may be read and written; the products overlap no factor, but the second vector may be the first
/// product. The call is running, or null.
pub(crate) unsafe extern "C" fn both_sides(ctx: *mut CallCtx, dtype: u64, words: *const u64) -> u32 {
    // SAFETY: words in the order of the fields, as lowering wrote them.
    let p = unsafe { words.cast::<Sides>().read_unaligned() };
    Raised::status(match DType::ALL.get(dtype as usize) {
        Some(DType::F32) => p.multiply::<f32>(ctx),
        Some(DType::F64) => p.multiply::<f64>(ctx),
        // The compiler asks for no others.
        _ => Ok(()),
    })
}

impl Sides {
    fn multiply<T: Number>(&self, ctx: *mut CallCtx) -> Result<(), Raised>
    where
        Step<T, 4>: Loop<Out = [T; 4]>,
        Step<T, 2>: Loop<Out = [T; 2]>,
    {
        let line = self.columns * size_of::<T>();
        let fits = self.x_size == self.columns && self.y_size == self.rows;
        let by_rows = self.column == size_of::<T>() as isize && self.row.unsigned_abs() >= line;
        let together = self.x_step == size_of::<T>() as isize && self.rows * line >= FAR;
        // Rows wait in the cache for the product that they are added up by.
        let most = if self.is_chained() { 2 * HELD } else { 8 * HELD };
        if fits && by_rows && together && line <= most {
            return if line <= HELD { self.at_once::<T, 4>(ctx) } else { self.at_once::<T, 2>(ctx) };
        }
        if self.x_size == self.columns {
            in_parts::<T>(ctx, &self.with_x(0, self.rows))?;
        }
        if self.y_size == self.rows {
            in_parts::<T>(ctx, &self.with_y(0, self.rows, self.before, self.before_step))?;
        }
        Ok(())
    }

    /// `ROWS` rows at a time are multiplied with the vector behind them, while the rows before those are added up.
    fn at_once<T: Number, const ROWS: usize>(&self, ctx: *mut CallCtx) -> Result<(), Raised>
    where
        Step<T, ROWS>: Loop<Out = [T; ROWS]>,
    {
        let (item, columns) = (size_of::<T>(), self.columns);
        let part = self.rows.div_ceil(PARTS).next_multiple_of(ROWS);
        let parts = self.rows.div_ceil(part);
        let mut room = Room::for_rows(ctx, parts * columns * item)?;
        let sums = &Sums(room.start().cast::<T>());
        try_each(ctx, parts, cost(2 * part * columns), &|ctx, at| {
            let (begin, end) = (at * part, self.rows.min((at + 1) * part));
            let whole = begin + (end - begin) / ROWS * ROWS;
            // SAFETY: each part has a place of its own in the room, and rows of its own.
            unsafe {
                let total = sums.0.add(at * columns);
                (0..columns).for_each(|j| total.add(j).write(T::ZERO));
                let rows = |first: usize| std::array::from_fn(|r| self.row::<T>(first + r));
                // Where the second vector is the first product, rows are added up when that is known.
                let behind = if self.is_chained() { ROWS } else { 0 };
                if behind > 0 {
                    by_either::<T>(ctx, self.with_x(begin, ROWS.min(end - begin)))?;
                }
                for first in (begin + behind..whole).step_by(ROWS) {
                    let (next, last) = (rows(first), rows(first - behind));
                    let weights = std::array::from_fn(|r| self.weight::<T>(first - behind + r));
                    let step = Step { next, last, weights, x: self.x.cast(), total, columns };
                    for (r, sum) in best(step).into_iter().enumerate() {
                        let to = self.behind.offset((first + r) as isize * self.behind_step);
                        to.cast::<T>().write_unaligned(sum);
                    }
                }
                if whole < end && (whole > begin || behind == 0) {
                    by_either::<T>(ctx, self.with_x(whole, end - whole))?;
                }
                for i in whole.saturating_sub(behind).max(begin)..end {
                    let (row, weight) = (self.row::<T>(i), self.weight::<T>(i));
                    for j in 0..columns {
                        let sum = (*total.add(j)).plus_product::<false>(row.add(j).read_unaligned(), weight);
                        total.add(j).write(sum);
                    }
                }
            }
            Ok(())
        })?;
        for at in 1..parts {
            for j in 0..columns {
                // SAFETY: all have been written, and no thread uses them any more.
                unsafe { sums.0.add(j).write((*sums.0.add(j)).plus(*sums.0.add(at * columns + j))) };
            }
        }
        for j in 0..columns {
            // SAFETY: an element of the product.
            unsafe { self.before.offset(j as isize * self.before_step).cast::<T>().write_unaligned(*sums.0.add(j)) };
        }
        Ok(())
    }

    /// Whether the second vector is the first product.
    fn is_chained(&self) -> bool {
        std::ptr::eq(self.y, self.behind)
    }

    fn row<T>(&self, i: usize) -> *const T {
        self.a.wrapping_offset(i as isize * self.row).cast()
    }

    /// # Safety
    /// There are more rows.
    unsafe fn weight<T: Copy>(&self, i: usize) -> T {
        // SAFETY: the caller's.
        unsafe { self.y.offset(i as isize * self.y_step).cast::<T>().read_unaligned() }
    }

    /// The product of some rows with the vector behind them.
    fn with_x(&self, first: usize, rows: usize) -> MatVec {
        let &Sides { columns, row, column, x, x_step, behind_step: to_step, .. } = self;
        let (to, a) =
            (self.behind.wrapping_offset(first as isize * to_step), self.a.wrapping_offset(first as isize * row));
        MatVec { to, to_step, a, rows, columns, row, column, x, x_step }
    }

    /// The product of a part of the vector before them with some rows: the matrix is turned.
    fn with_y(&self, first: usize, rows: usize, to: *mut u8, to_step: isize) -> MatVec {
        let (x, a) =
            (self.y.wrapping_offset(first as isize * self.y_step), self.a.wrapping_offset(first as isize * self.row));
        let (row, column) = (self.column, self.row);
        MatVec { to, to_step, a, rows: self.columns, columns: rows, row, column, x, x_step: self.y_step }
    }
}

/// The products of some rows with the vector behind them, and the sums of others, weighed: the processor reads the first from memory
/// while it adds up the others from its cache.
struct Step<T, const ROWS: usize> {
    next: [*const T; ROWS],
    last: [*const T; ROWS],
    weights: [T; ROWS],
    x: *const T,
    total: *mut T,
    columns: usize,
}

macro_rules! steps {
    ($($t:ident $wide:ident $narrow:ident;)*) => {$(
        impl<const ROWS: usize> Loop for Step<$t, ROWS> {
            type Out = [$t; ROWS];

            #[inline(always)]
            fn run<const FUSED: bool, const WIDE: bool>(self) -> [$t; ROWS] {
                // SAFETY: all of it is in the matrix, the vectors and the room; the processor is such a one.
                unsafe {
                    if WIDE {
                        self.in_vectors::<$wide>()
                    } else if FUSED {
                        self.in_vectors::<$narrow>()
                    } else {
                        self.in_vectors::<Four<$t>>()
                    }
                }
            }
        }
    )*};
}

steps! {
    f32 WideSingles Singles;
    f64 WideDoubles Doubles;
}

impl<T: Copy, const ROWS: usize> Step<T, ROWS> {
    #[inline(always)]
    unsafe fn in_vectors<V: Vector<Item = T>>(&self) -> [T; ROWS] {
        let whole = self.columns - self.columns % V::LANES;
        // SAFETY: the caller's.
        unsafe {
            let weights: [V; ROWS] = std::array::from_fn(|r| V::repeated(&self.weights[r]));
            let mut sums = [V::zero(); ROWS];
            for j in (0..whole).step_by(V::LANES) {
                let (x, mut total) = (V::load(self.x.add(j)), V::load(self.total.add(j)));
                for r in 0..ROWS {
                    sums[r] = sums[r].plus_product(V::load(self.next[r].add(j)), x);
                    total = total.plus_product(V::load(self.last[r].add(j)), weights[r]);
                }
                total.store(self.total.add(j));
            }
            let rest = self.columns - whole;
            if rest > 0 {
                let first = |from: *const T| V::load_first(from.add(whole), rest);
                let (x, mut total) = (first(self.x), first(self.total));
                for r in 0..ROWS {
                    sums[r] = sums[r].plus_product(first(self.next[r]), x);
                    total = total.plus_product(first(self.last[r]), weights[r]);
                }
                total.store_first(self.total.add(whole), rest);
            }
            std::array::from_fn(|r| sums[r].sum())
        }
    }
}
