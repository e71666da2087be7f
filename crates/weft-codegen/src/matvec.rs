//! Products of a matrix and a vector, and of two vectors.
//!
//! In which order the products of one element are summed depends on how many they are and on which axis of the matrix
//! lies closer together; never on the element's position. So it does not matter how a product is cut into tiles.

use crate::abi::CallCtx;
use crate::each::{each, try_each};
use crate::numbers::{Complex, Loop, Number, Processor, Truth, best, processor};
use crate::room::{Raised, Room};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use weft_ir::DType;

/// Products of elements up to which there is one part, and that take a nanosecond.
const FEW: usize = 1 << 15;
const SPEED: usize = 4;
/// Into how many parts of its rows a matrix is cut; of its columns, where it is read by them, and at least so many
/// columns of one.
pub(crate) const PARTS: usize = 16;
const SLICES: usize = 8;
const SLICE: usize = 32;

/// Elements up to which vectors are one block; the least elements of a block, and the most blocks.
const SHORT: usize = 1 << 13;
const BLOCK: usize = 1 << 12;
const BLOCKS: usize = 64;

/// `to[i] = sum of a[i, j] * x[j]`. Steps are in bytes.
#[derive(Clone, Copy)]
pub(crate) struct MatVec {
    pub to: *mut u8,
    pub to_step: isize,
    pub a: *const u8,
    pub rows: usize,
    pub columns: usize,
    /// From row to row.
    pub row: isize,
    /// From column to column.
    pub column: isize,
    pub x: *const u8,
    pub x_step: isize,
}

// SAFETY: threads write to parts of the product that do not overlap.
unsafe impl Sync for MatVec {}

/// The product of a matrix and a vector.
///
/// # Safety
/// The memory may be read and written; the product overlaps no factor. The call is running, or null.
pub(crate) unsafe fn matvec(ctx: *mut CallCtx, dtype: DType, product: MatVec) -> Result<(), Raised> {
    match dtype {
        DType::Bool => in_parts::<Truth>(ctx, &product),
        DType::I8 | DType::U8 => in_parts::<u8>(ctx, &product),
        DType::I16 | DType::U16 => in_parts::<u16>(ctx, &product),
        DType::I32 | DType::U32 => in_parts::<u32>(ctx, &product),
        DType::I64 | DType::U64 => in_parts::<u64>(ctx, &product),
        DType::F32 => in_parts::<f32>(ctx, &product),
        DType::F64 => in_parts::<f64>(ctx, &product),
        DType::C64 => in_parts::<Complex<f32>>(ctx, &product),
        DType::C128 => in_parts::<Complex<f64>>(ctx, &product),
        // Halves are computed as singles.
        DType::F16 => Ok(()),
    }
}

/// In parts that are given to threads.
pub(crate) fn in_parts<T: Number>(ctx: *mut CallCtx, p: &MatVec) -> Result<(), Raised> {
    if p.rows * p.columns <= FEW {
        return by_either::<T>(ctx, *p);
    }
    if p.row.unsigned_abs() == size_of::<T>() && p.column.unsigned_abs() > size_of::<T>() && p.columns >= SLICES * SLICE
    {
        return in_slices::<T>(ctx, p);
    }
    let part = p.rows.div_ceil(PARTS).next_multiple_of(16);
    try_each(ctx, p.rows.div_ceil(part), cost(part * p.columns), &|ctx, at| {
        let first = (at * part) as isize;
        // SAFETY: places in the matrix and the product.
        let (to, a) = unsafe { (p.to.offset(first * p.to_step), p.a.offset(first * p.row)) };
        by_either::<T>(ctx, MatVec { to, a, rows: part.min(p.rows - at * part), ..*p })
    })
}

/// So many products of elements, in nanoseconds.
pub(crate) fn cost(products: usize) -> u32 {
    u32::try_from(products / SPEED).unwrap_or(u32::MAX)
}

/// Where columns lie in one piece each: some of them for each thread, which reads them from end to end. Their sums are
/// added up in order.
fn in_slices<T: Number>(ctx: *mut CallCtx, p: &MatVec) -> Result<(), Raised> {
    let item = size_of::<T>();
    let slice = p.columns.div_ceil(SLICES).next_multiple_of(AT_A_TIME);
    let slices = p.columns.div_ceil(slice);
    let mut room = Room::for_rows(ctx, slices * p.rows * item)?;
    let sums = &Sums(room.start().cast::<T>());
    try_each(ctx, slices, cost(slice * p.rows), &|ctx, at| {
        let first = at * slice;
        // SAFETY: places in the factors, and in the room.
        unsafe {
            let (a, x) = (p.a.offset(first as isize * p.column), p.x.offset(first as isize * p.x_step));
            let (to, columns) = (sums.0.add(at * p.rows).cast(), slice.min(p.columns - first));
            by_either::<T>(ctx, MatVec { to, to_step: item as isize, a, columns, x, ..*p })
        }
    })?;
    // SAFETY: all have been written, and nobody else uses them any more.
    let all = unsafe { std::slice::from_raw_parts_mut(sums.0, slices * p.rows) };
    let (total, others) = all.split_at_mut(p.rows);
    for other in others.chunks_exact(p.rows) {
        total.iter_mut().zip(other).for_each(|(sum, &v)| *sum = sum.plus(v));
    }
    for (i, &sum) in total.iter().enumerate() {
        // SAFETY: an element of the product.
        unsafe { p.to.offset(i as isize * p.to_step).cast::<T>().write_unaligned(sum) };
    }
    Ok(())
}

/// Room for sums, in which every thread has a place of its own.
pub(crate) struct Sums<T>(pub *mut T);

// SAFETY: as it says.
unsafe impl<T> Sync for Sums<T> {}

/// By rows or by columns, whichever lie closer together.
pub(crate) fn by_either<T: Number>(ctx: *mut CallCtx, mut p: MatVec) -> Result<(), Raised> {
    let item = size_of::<T>() as isize;
    if p.columns == 0 {
        for i in 0..p.rows as isize {
            // SAFETY: an element of the product.
            unsafe { p.to.offset(i * p.to_step).cast::<T>().write_unaligned(T::ZERO) };
        }
        return Ok(());
    }
    // A matrix read backwards is one read forwards, with the vector turned around.
    if p.column == -item {
        let last = p.columns as isize - 1;
        // SAFETY: the last column, and the last element of the vector.
        unsafe { (p.a, p.x) = (p.a.offset(last * p.column), p.x.offset(last * p.x_step)) };
        (p.column, p.x_step) = (item, -p.x_step);
    }
    if p.row == -item {
        let last = p.rows as isize - 1;
        // SAFETY: the last row, and the last element of the product.
        unsafe { (p.a, p.to) = (p.a.offset(last * p.row), p.to.offset(last * p.to_step)) };
        (p.row, p.to_step) = (item, -p.to_step);
    }
    if p.column != item && (p.row == item || p.row.unsigned_abs() < p.column.unsigned_abs()) {
        best(ByColumns::<T>(p, PhantomData));
        return Ok(());
    }
    if p.x_step == item {
        best(ByRows::<T>(p, PhantomData));
        return Ok(());
    }
    // The vector is read for every row.
    let mut few = [const { MaybeUninit::<T>::uninit() }; 64];
    let mut many;
    // SAFETY: an element of the vector.
    let at = |j: usize| unsafe { p.x.offset(j as isize * p.x_step).cast::<T>().read_unaligned() };
    let x: *const T = if p.columns <= few.len() {
        for (j, v) in few[..p.columns].iter_mut().enumerate() {
            v.write(at(j));
        }
        few.as_ptr().cast()
    } else {
        many = Room::for_columns(ctx, p.columns * size_of::<T>())?;
        let start = many.start().cast::<T>();
        // SAFETY: there is room for so many.
        (0..p.columns).for_each(|j| unsafe { start.add(j).write(at(j)) });
        start.cast_const()
    };
    best(ByRows::<T>(MatVec { x: x.cast(), x_step: item, ..p }, PhantomData));
    Ok(())
}

/// Every row is summed by itself; the vector's elements are neighbours.
struct ByRows<T>(MatVec, PhantomData<T>);

impl<T: Number> Loop for ByRows<T> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool, const WIDE: bool>(self) {
        let p = &self.0;
        // SAFETY: the memory may be read and written.
        unsafe {
            match p.column == size_of::<T>() as isize {
                true if size_of::<T>() < 16 => by_rows::<T, FUSED, WIDE, 4>(p),
                true => by_rows::<T, FUSED, WIDE, 2>(p),
                false => by_strided_rows::<T, FUSED>(p),
            }
        }
    }
}

/// Columns, times their elements of the vector, are added up.
struct ByColumns<T>(MatVec, PhantomData<T>);

impl<T: Number> Loop for ByColumns<T> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool, const WIDE: bool>(self) {
        let p = &self.0;
        // SAFETY: the memory may be read and written.
        unsafe {
            match p.row == size_of::<T>() as isize {
                true => by_columns::<T, FUSED>(p, &|data, i| data.cast::<T>().add(i)),
                false => by_columns::<T, FUSED>(p, &|data, i| data.offset(i as isize * p.row).cast::<T>()),
            }
        }
    }
}

/// `ROWS` rows of neighbours at a time.
#[inline(always)]
unsafe fn by_rows<T: Number, const FUSED: bool, const WIDE: bool, const ROWS: usize>(p: &MatVec) {
    let x = p.x.cast::<T>();
    let whole = p.rows - p.rows % ROWS;
    // SAFETY: rows of the matrix, elements of the product.
    unsafe {
        let start = |i: usize| p.a.offset(i as isize * p.row).cast::<T>();
        let write = |i: usize, sum: T| p.to.offset(i as isize * p.to_step).cast::<T>().write_unaligned(sum);
        for i in (0..whole).step_by(ROWS) {
            let starts: [*const T; ROWS] = std::array::from_fn(|r| start(i + r));
            let sums = T::sums::<FUSED, WIDE, ROWS, 2>(p.columns, &starts, x);
            for (r, sum) in sums.into_iter().enumerate() {
                write(i + r, sum);
            }
        }
        for i in whole..p.rows {
            let [sum] = T::sums::<FUSED, WIDE, 1, 2>(p.columns, &[start(i)], x);
            write(i, sum);
        }
    }
}

/// Rows whose elements are apart.
#[inline(always)]
unsafe fn by_strided_rows<T: Number, const FUSED: bool>(p: &MatVec) {
    for i in 0..p.rows as isize {
        // SAFETY: a row of the matrix, an element of the product.
        unsafe {
            let a = Strided { data: p.a.offset(i * p.row), step: p.column };
            let sum = strided::<T, FUSED>(p.columns, a, Strided { data: p.x, step: size_of::<T>() as isize });
            p.to.offset(i * p.to_step).cast::<T>().write_unaligned(sum);
        }
    }
}

/// Elements that are apart.
#[derive(Clone, Copy)]
struct Strided {
    data: *const u8,
    /// Bytes from one to the next.
    step: isize,
}

// SAFETY: they are only read.
unsafe impl Sync for Strided {}

impl Strided {
    /// All but the first so many.
    #[inline(always)]
    fn past(self, first: usize) -> Strided {
        Strided { data: self.data.wrapping_offset(first as isize * self.step), step: self.step }
    }
}

/// The sum of the products of two vectors, in four parts.
#[inline(always)]
unsafe fn strided<T: Number, const FUSED: bool>(n: usize, a: Strided, b: Strided) -> T {
    let get = |x: Strided, j: usize| {
        // SAFETY: one of `n` elements.
        unsafe { x.data.offset(j as isize * x.step).cast::<T>().read_unaligned() }
    };
    let mut acc = [T::ZERO; 4];
    let whole = n - n % 4;
    for j in (0..whole).step_by(4) {
        for (k, sum) in acc.iter_mut().enumerate() {
            *sum = sum.plus_product::<FUSED>(get(a, j + k), get(b, j + k));
        }
    }
    let mut rest = T::ZERO;
    for j in whole..n {
        rest = rest.plus_product::<FUSED>(get(a, j), get(b, j));
    }
    acc[0].plus(acc[2]).plus(acc[1].plus(acc[3])).plus(rest)
}

/// Elements of the product that are computed together, in bytes: they stay in the nearest cache.
const STRIP: usize = 32 << 10;
/// Columns that are added at a time.
const AT_A_TIME: usize = 8;

/// A strip of the product at a time. `at` says where an element of a column is.
#[inline(always)]
unsafe fn by_columns<T: Number, const FUSED: bool>(p: &MatVec, at: &impl Fn(*const u8, usize) -> *const T) {
    let strips = p.rows.div_ceil(STRIP / size_of::<T>()).max(1);
    let width = p.rows.div_ceil(strips).max(1);
    // In words, in which any number is at its place.
    let mut strip = [const { MaybeUninit::<u64>::uninit() }; STRIP / 8];
    let factor = |j: usize| {
        // SAFETY: an element of the vector.
        unsafe { p.x.offset(j as isize * p.x_step).cast::<T>().read_unaligned() }
    };
    for first in (0..p.rows).step_by(width) {
        let count = width.min(p.rows - first);
        let sums = strip.as_mut_ptr().cast::<T>();
        // SAFETY: there is room for so many; all are written before they are a slice.
        let strip = unsafe {
            (0..count).for_each(|i| sums.add(i).write(T::ZERO));
            std::slice::from_raw_parts_mut(sums, count)
        };
        // SAFETY: the first element of a column that is in the strip.
        let start = |j: usize| unsafe { at(p.a.offset(j as isize * p.column), first).cast::<u8>() };
        let whole = p.columns - p.columns % AT_A_TIME;
        for j in (0..whole).step_by(AT_A_TIME) {
            let starts: [*const u8; AT_A_TIME] = std::array::from_fn(|c| start(j + c));
            let factors: [T; AT_A_TIME] = std::array::from_fn(|c| factor(j + c));
            for (i, sum) in strip.iter_mut().enumerate() {
                let mut several = T::ZERO;
                for (start, factor) in starts.iter().zip(factors) {
                    // SAFETY: an element of a column.
                    let a = unsafe { at(*start, i).read_unaligned() };
                    several = several.plus_product::<FUSED>(a, factor);
                }
                *sum = sum.plus(several);
            }
        }
        for j in whole..p.columns {
            let (start, factor) = (start(j), factor(j));
            for (i, sum) in strip.iter_mut().enumerate() {
                // SAFETY: an element of a column.
                *sum = sum.plus_product::<FUSED>(unsafe { at(start, i).read_unaligned() }, factor);
            }
        }
        for (i, &sum) in strip.iter().enumerate() {
            // SAFETY: an element of the product.
            unsafe { p.to.offset((first + i) as isize * p.to_step).cast::<T>().write_unaligned(sum) };
        }
    }
}

/// The sum of the products of two vectors of `n` elements, written to `to`. Steps are in bytes.
pub(crate) type Dot =
    unsafe extern "C" fn(*mut CallCtx, a: *const u8, b: *const u8, n: usize, a_step: isize, b_step: isize, to: *mut u8);

/// What compiled code calls for vectors of a dtype, on this processor.
pub(crate) fn dot(dtype: DType) -> Option<Dot> {
    Some(match dtype {
        DType::Bool => dot_of::<Truth>(),
        DType::I8 | DType::U8 => dot_of::<u8>(),
        DType::I16 | DType::U16 => dot_of::<u16>(),
        DType::I32 | DType::U32 => dot_of::<u32>(),
        DType::I64 | DType::U64 => dot_of::<u64>(),
        DType::F32 => dot_of::<f32>(),
        DType::F64 => dot_of::<f64>(),
        DType::C64 => dot_of::<Complex<f32>>(),
        DType::C128 => dot_of::<Complex<f64>>(),
        // Halves are computed as singles.
        DType::F16 => return None,
    })
}

fn dot_of<T: Number>() -> Dot {
    match processor() {
        #[cfg(target_arch = "x86_64")]
        Processor::Avx512 => dot_avx512::<T>,
        #[cfg(target_arch = "x86_64")]
        Processor::Avx2 => dot_avx2::<T>,
        Processor::Any => dot_anywhere::<T>,
    }
}

macro_rules! dots {
    ($($(#[$on:meta])* $name:ident $fused:literal $wide:literal;)*) => {$(
        $(#[$on])*
        unsafe extern "C" fn $name<T: Number>(
            ctx: *mut CallCtx,
            a: *const u8,
            b: *const u8,
            n: usize,
            a_step: isize,
            b_step: isize,
            to: *mut u8,
        ) {
            let (a, b) = (Strided { data: a, step: a_step }, Strided { data: b, step: b_step });
            // SAFETY: the caller's.
            let part = |first, count| unsafe { sum::<T, $fused, $wide>(count, a.past(first), b.past(first)) };
            // SAFETY: the caller's.
            let total = if n <= SHORT { unsafe { sum::<T, $fused, $wide>(n, a, b) } } else { in_blocks(ctx, n, [a, b], &part) };
            // SAFETY: the caller's.
            unsafe { to.cast::<T>().write_unaligned(total) };
        }
    )*};
}

dots! {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    dot_avx512 true true;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    dot_avx2 true false;
    dot_anywhere false false;
}

/// Whether this core's own cache holds both vectors, of so many bytes: its thread has read most of them just before. To another one
/// they would have to be brought.
fn are_near(vectors: [Strided; 2], bytes: usize) -> bool {
    thread_local! {
        static LAST: Cell<[usize; 2]> = const { Cell::new([0; 2]) };
    }
    let now = vectors.map(|v| v.data as usize);
    let last = LAST.replace(now);
    now.iter().zip(last).all(|(at, before)| at.abs_diff(before) < bytes / 2)
}

/// Blocks are given to threads, and their sums are added up in order.
#[inline(never)]
fn in_blocks<T: Number>(
    ctx: *mut CallCtx,
    n: usize,
    vectors: [Strided; 2],
    sum: &(dyn Fn(usize, usize) -> T + Sync),
) -> T {
    let block = n.div_ceil((n / BLOCK).min(BLOCKS)).next_multiple_of(AT_A_TIME);
    let mut sums = [T::ZERO; BLOCKS];
    let to = &Sums(sums.as_mut_ptr());
    let blocks = n.div_ceil(block);
    let ctx = if n <= FEW && are_near(vectors, n * size_of::<T>()) { null_mut() } else { ctx };
    each(ctx, blocks, cost(block), &|at| {
        let first = at * block;
        // SAFETY: an item of its own.
        unsafe { to.0.add(at).write(sum(first, block.min(n - first))) };
    });
    let (total, others) = (sums[0], &sums[1..blocks]);
    others.iter().fold(total, |total, &sum| total.plus(sum))
}

#[inline(always)]
unsafe fn sum<T: Number, const FUSED: bool, const WIDE: bool>(n: usize, a: Strided, b: Strided) -> T {
    let item = size_of::<T>() as isize;
    // SAFETY: the caller's.
    unsafe {
        match (a.step == item, b.step == item) {
            (true, true) => T::sums::<FUSED, WIDE, 1, 4>(n, &[a.data.cast()], b.data.cast())[0],
            (true, false) if b.step == -item => flipped::<T, FUSED, WIDE>(n, a, b),
            (false, true) if a.step == -item => flipped::<T, FUSED, WIDE>(n, b, a),
            (false, false) if a.step == -item && b.step == -item && n > 0 => {
                let back = (n as isize - 1) * item;
                let (a, b) = (a.data.offset(-back).cast(), b.data.offset(-back).cast());
                T::sums::<FUSED, WIDE, 1, 4>(n, &[a], b)[0]
            }
            _ => strided::<T, FUSED>(n, a, b),
        }
    }
}

/// Of neighbours, and neighbours that are read backwards.
#[inline(always)]
unsafe fn flipped<T: Number, const FUSED: bool, const WIDE: bool>(n: usize, a: Strided, b: Strided) -> T {
    // SAFETY: the caller's.
    unsafe {
        let (sum, done) = T::flipped::<FUSED, WIDE>(n, a.data.cast(), b.data.cast());
        sum.plus(strided::<T, FUSED>(n - done, a.past(done), b.past(done)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every order of axes, forwards and backwards, is the same sum.
    #[test]
    fn any_steps_and_sizes() {
        for (rows, columns) in [(1, 1), (3, 5), (4, 16), (7, 33), (70, 67), (2100, 9)] {
            let a: Vec<f64> = (0..rows * columns).map(|i| (i % 17) as f64 - 8.0).collect();
            let x: Vec<f64> = (0..columns).map(|i| (i % 5) as f64 - 2.0).collect();
            let expected: Vec<f64> = (0..rows).map(|i| (0..columns).map(|j| a[i * columns + j] * x[j]).sum()).collect();
            let other: Vec<f64> = (0..rows * columns).map(|i| a[i % rows * columns + i / rows]).collect();
            for (data, row, column) in [(&a, 8 * columns as isize, 8), (&other, 8, 8 * rows as isize)] {
                for (flip_rows, flip_columns) in [(false, false), (true, false), (false, true), (true, true)] {
                    let mut to = vec![f64::NAN; rows];
                    let (mut from, mut vector, mut steps) =
                        (data.as_ptr().cast::<u8>(), x.as_ptr().cast::<u8>(), [row, column, 8]);
                    if flip_columns {
                        // The vector backwards too, so that the sum stays.
                        from = from.wrapping_offset((columns as isize - 1) * column);
                        vector = vector.wrapping_offset((columns as isize - 1) * 8);
                        steps = [row, -column, -8];
                    }
                    if flip_rows {
                        from = from.wrapping_offset((rows as isize - 1) * row);
                        steps[0] = -row;
                    }
                    let product = MatVec {
                        to: to.as_mut_ptr().cast(),
                        to_step: 8,
                        a: from,
                        rows,
                        columns,
                        row: steps[0],
                        column: steps[1],
                        x: vector,
                        x_step: steps[2],
                    };
                    // SAFETY: all of it is in the vectors above.
                    unsafe { matvec(null_mut(), DType::F64, product) }.unwrap();
                    if flip_rows {
                        to.reverse();
                    }
                    assert_eq!(to, expected);
                }
            }
        }
    }

    /// On every kind of processor, the same small whole numbers.
    #[test]
    fn vectors_on_any_processor() {
        for n in [0, 1, 3, 4, 7, 8, 31, 32, 33, 100, SHORT, SHORT + 1, 40_001, 300_000] {
            let a: Vec<f32> = (0..n).map(|i| (i % 7) as f32 - 3.0).collect();
            let b: Vec<f32> = (0..n).map(|i| (i % 11) as f32 - 5.0).collect();
            let last = b.as_ptr().wrapping_add(n).wrapping_sub(1).cast::<u8>();
            let straight: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            let turned: f32 = a.iter().zip(b.iter().rev()).map(|(x, y)| x * y).sum();
            let Some(best) = dot(DType::F32) else { continue };
            for routine in [best, dot_anywhere::<f32>] {
                let mut sums = [f32::NAN; 2];
                let (to, from) = (sums.as_mut_ptr().cast::<u8>(), a.as_ptr().cast());
                // SAFETY: all of it is in the vectors above.
                unsafe {
                    routine(null_mut(), from, b.as_ptr().cast(), n, 4, 4, to);
                    routine(null_mut(), from, last, n, 4, -4, to.add(4));
                }
                assert_eq!(sums, [straight, turned]);
            }
        }
    }
}
