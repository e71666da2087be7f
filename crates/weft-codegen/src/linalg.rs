//! Factors of matrices and solutions of systems, in place: what compiled code calls for `mem.cholesky` and `mem.solve`.
//! In doubles alone: NumPy calculates in them whatever it is given.
//!
//! By halves and blocks, so that nearly all is done by products of matrices. Large ones are given to threads in tiles,
//! which depend on sizes alone: the bits do not depend on how many threads there are.

use crate::abi::CallCtx;
use crate::each::{awaken, each, try_each};
use crate::matmul::gemm_room;
use crate::numbers::{Complex, Loop, Number, best};
use crate::room::{Raised, Room, probe};
use crate::substitute::{Parted, Rows, Substitute};
use gemm::{Parallelism, c64};
use weft_ir::DType;

/// Matrices up to this size are factored row by row.
const SMALL: usize = 24;
/// Systems up to this size are solved row by row: what is known of some columns stays in the nearest cache.
const NEAR: usize = 128;
/// Columns of a panel, in which pivots are looked for.
const PANEL: usize = 32;
/// Products of elements up to which a product is one tile.
const FEW: usize = 1 << 18;
/// Rows and columns of a tile.
const TILE: usize = 192;
/// Rows that are solved together, where they do not depend on each other.
const ROWS: usize = 64;
/// Right sides are solved in about so many stripes, of least and most so many columns.
const STRIPES: usize = 8;
const STRIPE: [usize; 2] = [32, 96];
/// Products of elements in a nanosecond.
const SPEED: usize = 8;
/// Estimated nanoseconds of a tile.
const COST: u32 = 20_000;

/// What a field has beyond sums of products.
trait Element: Number + Parted + Send + Sync + 'static {
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn conjugate(self) -> Self;
    fn negative(self) -> Self;
    /// By which the largest pivot is found: the sum of the parts' absolute values.
    fn size(self) -> f64;
    /// The root of the real part, if that is positive.
    fn root(self) -> Option<Self>;
    /// `c -= a b`, or with the conjugates of `b`. Steps count elements.
    ///
    /// # Safety
    /// The matrices may be read and written, and `c` overlaps no factor.
    unsafe fn subtract(size: [usize; 3], c: Part<Self>, a: Part<Self>, b: Part<Self>, conjugate: bool);
}

/// Where a matrix begins, and its elements from row to row and from column to column.
struct Part<T> {
    data: *mut T,
    row: isize,
    column: isize,
}

impl<T> Clone for Part<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Part<T> {}

// SAFETY: threads work on parts that do not overlap.
unsafe impl<T> Sync for Part<T> {}

impl<T: Copy> Part<T> {
    /// # Safety
    /// The element is in the matrix, or one past it.
    #[inline(always)]
    unsafe fn from(self, i: usize, j: usize) -> Part<T> {
        // SAFETY: the caller's.
        Part { data: unsafe { self.data.offset(i as isize * self.row + j as isize * self.column) }, ..self }
    }

    /// # Safety
    /// The element is in the matrix.
    #[inline(always)]
    unsafe fn at(self, i: usize, j: usize) -> T {
        // SAFETY: the caller's.
        unsafe { *self.from(i, j).data }
    }

    /// # Safety
    /// The element is in the matrix.
    #[inline(always)]
    unsafe fn set(self, i: usize, j: usize, v: T) {
        // SAFETY: the caller's.
        unsafe { *self.from(i, j).data = v }
    }

    /// Rows as columns.
    fn transposed(self) -> Part<T> {
        Part { row: self.column, column: self.row, ..self }
    }

    /// Some neighbours of a row.
    ///
    /// # Safety
    /// They are in the matrix, its rows are neighbours, and nobody else uses them now.
    #[inline(always)]
    unsafe fn line<'a>(self, i: usize, from: usize, to: usize) -> &'a mut [T] {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.from(i, from).data, to - from) }
    }
}

impl Element for f64 {
    #[inline(always)]
    fn minus(self, other: f64) -> f64 {
        self - other
    }
    #[inline(always)]
    fn times(self, other: f64) -> f64 {
        self * other
    }
    #[inline(always)]
    fn conjugate(self) -> f64 {
        self
    }
    #[inline(always)]
    fn negative(self) -> f64 {
        -self
    }
    #[inline(always)]
    fn size(self) -> f64 {
        self.abs()
    }
    #[inline(always)]
    fn root(self) -> Option<f64> {
        (self > 0.0).then(|| self.sqrt())
    }
    unsafe fn subtract(size: [usize; 3], c: Part<f64>, a: Part<f64>, b: Part<f64>, _: bool) {
        // SAFETY: the caller's.
        unsafe { multiply::<f64>(size, c, a, b, false, [1.0, -1.0]) };
    }
}

impl Element for Complex<f64> {
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Complex(self.0 - other.0, self.1 - other.1)
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Complex(self.0 * other.0 - self.1 * other.1, self.0 * other.1 + self.1 * other.0)
    }
    #[inline(always)]
    fn conjugate(self) -> Self {
        Complex(self.0, -self.1)
    }
    #[inline(always)]
    fn negative(self) -> Self {
        Complex(-self.0, -self.1)
    }
    #[inline(always)]
    fn size(self) -> f64 {
        self.0.abs() + self.1.abs()
    }
    #[inline(always)]
    fn root(self) -> Option<Self> {
        (self.0 > 0.0).then(|| Complex(self.0.sqrt(), 0.0))
    }
    unsafe fn subtract(size: [usize; 3], c: Part<Self>, a: Part<Self>, b: Part<Self>, conjugate: bool) {
        let cast = |p: Part<Self>| Part { data: p.data.cast::<c64>(), row: p.row, column: p.column };
        let one = c64::new(1.0, 0.0);
        // SAFETY: the caller's.
        unsafe { multiply::<c64>(size, cast(c), cast(a), cast(b), conjugate, [one, -one]) };
    }
}

/// `c = c + factor a b`, with 1 and the factor.
unsafe fn multiply<T: Copy + 'static>(
    [m, n, k]: [usize; 3],
    c: Part<T>,
    a: Part<T>,
    b: Part<T>,
    conjugate: bool,
    [one, factor]: [T; 2],
) {
    // SAFETY: the caller's.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.data,
            c.column,
            c.row,
            true,
            a.data.cast_const(),
            a.column,
            a.row,
            b.data.cast_const(),
            b.column,
            b.row,
            one,
            factor,
            false,
            false,
            conjugate,
            Parallelism::None,
        );
    }
}

/// `c -= a b`, or with the conjugates of `b`, in tiles; `lower`: only those that reach below the diagonal.
unsafe fn subtract<T: Element>(
    ctx: *mut CallCtx,
    [m, n, k]: [usize; 3],
    [c, a, b]: [Part<T>; 3],
    conjugate: bool,
    lower: bool,
) -> Result<(), Raised> {
    if m == 0 || n == 0 || k == 0 {
        return Ok(());
    }
    let whole = m * n * k <= FEW;
    let [rows, columns] = [m, n].map(|size| if whole && !lower { size } else { TILE });
    let across = n.div_ceil(columns);
    probe(ctx, gemm_room::<T>(rows, columns, k))?;
    let tile = |at: usize| {
        let (i, j) = (at / across * rows, at % across * columns);
        let (height, width) = (rows.min(m - i), columns.min(n - j));
        if lower && j >= i + height {
            return;
        }
        // SAFETY: a part of each matrix; tiles of `c` do not overlap.
        unsafe { T::subtract([height, width, k], c.from(i, j), a.from(i, 0), b.from(0, j), conjugate) };
    };
    let tiles = m.div_ceil(rows) * across;
    if whole {
        (0..tiles).for_each(tile);
    } else {
        each(ctx, tiles, COST, &tile);
    }
    Ok(())
}

/// `a[k] -= factor * b[k]`.
#[inline(always)]
fn subtract_line<T: Element, const FUSED: bool>(a: &mut [T], factor: T, b: &[T]) {
    let factor = factor.negative();
    for (a, &b) in a.iter_mut().zip(b) {
        *a = a.plus_product::<FUSED>(factor, b);
    }
}

/// The larger half of a size, a multiple of 8.
fn half(n: usize) -> usize {
    (n / 2).next_multiple_of(8)
}

/// Turns the lower half of a matrix into its Cholesky factor, in what is on and below the diagonal; false where it has none.
unsafe fn cholesky<T: Element>(ctx: *mut CallCtx, a: Part<T>, n: usize) -> Result<bool, Raised> {
    if n <= SMALL {
        return Ok(best(SmallCholesky { a, n }));
    }
    let (left, right) = (half(n), n - half(n));
    // SAFETY: parts of the matrix.
    unsafe {
        let below = a.from(left, 0);
        if !cholesky(ctx, a, left)? {
            return Ok(false);
        }
        probe(ctx, gemm_room::<T>(ROWS, left, left))?;
        let rows = |at: usize| solve_rows(a, left, below.from(at * ROWS, 0), ROWS.min(right - at * ROWS));
        match left * left * right <= FEW {
            true => (0..right.div_ceil(ROWS)).for_each(rows),
            false => each(ctx, right.div_ceil(ROWS), COST, &rows),
        }
        let rest = a.from(left, left);
        subtract(ctx, [right, right, left], [rest, below, below.transposed()], true, true)?;
        cholesky(ctx, rest, right)
    }
}

struct SmallCholesky<T> {
    a: Part<T>,
    n: usize,
}

impl<T: Element> Loop for SmallCholesky<T> {
    type Out = bool;

    #[inline(always)]
    fn run<const FUSED: bool, const WIDE: bool>(self) -> bool {
        let (a, n) = (self.a, self.n);
        let mut column = [T::ZERO; SMALL];
        for j in 0..n {
            // SAFETY: elements of the matrix.
            unsafe {
                let Some(root) = a.at(j, j).root() else { return false };
                a.set(j, j, root);
                for i in j + 1..n {
                    let factor = a.at(i, j).divided(root);
                    a.set(i, j, factor);
                    column[i] = factor.conjugate();
                    subtract_line::<T, FUSED>(a.line(i, j + 1, i), factor, &column[j + 1..i]);
                    let square = factor.times(factor.conjugate());
                    a.set(i, i, a.at(i, i).minus(square));
                }
            }
        }
        true
    }
}

/// `b` becomes the `x` of `x lᴴ = b`: rows by themselves.
unsafe fn solve_rows<T: Element>(l: Part<T>, n: usize, b: Part<T>, rows: usize) {
    if n <= PANEL {
        return best(SmallRows { l, n, b, rows });
    }
    let (left, right) = (half(n), n - half(n));
    // SAFETY: parts of the matrices.
    unsafe {
        solve_rows(l, left, b, rows);
        T::subtract([rows, right, left], b.from(0, left), b, l.from(left, 0).transposed(), true);
        solve_rows(l.from(left, left), right, b.from(0, left), rows);
    }
}

struct SmallRows<T> {
    l: Part<T>,
    n: usize,
    b: Part<T>,
    rows: usize,
}

impl<T: Element> Loop for SmallRows<T> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool, const WIDE: bool>(self) {
        let SmallRows { l, n, b, rows } = self;
        // Columns of `b`, as lines.
        let mut columns = [[T::ZERO; ROWS]; PANEL];
        // SAFETY: elements of the matrices.
        unsafe {
            for i in 0..rows {
                for (column, &v) in columns.iter_mut().zip(&*b.line(i, 0, n)) {
                    column[i] = v;
                }
            }
            for j in 0..n {
                let (before, after) = columns.split_at_mut(j);
                let column = &mut after[0];
                let whole = j - j % 4;
                for k in (0..whole).step_by(4) {
                    let [c0, c1, c2, c3] = [0, 1, 2, 3].map(|d| &before[k + d]);
                    let [f0, f1, f2, f3] = [0, 1, 2, 3].map(|d| l.at(j, k + d).conjugate().negative());
                    for i in 0..ROWS {
                        let sum = column[i].plus_product::<FUSED>(f0, c0[i]).plus_product::<FUSED>(f1, c1[i]);
                        column[i] = sum.plus_product::<FUSED>(f2, c2[i]).plus_product::<FUSED>(f3, c3[i]);
                    }
                }
                for (k, other) in before.iter().enumerate().skip(whole) {
                    subtract_line::<T, FUSED>(column, l.at(j, k).conjugate(), other);
                }
                let divisor = l.at(j, j);
                match divisor.one_over() {
                    Some(factor) => column.iter_mut().for_each(|v| *v = v.times(factor)),
                    None => column.iter_mut().for_each(|v| *v = v.divided(divisor)),
                }
            }
            for i in 0..rows {
                for (v, column) in b.line(i, 0, n).iter_mut().zip(&columns) {
                    *v = column[i];
                }
            }
        }
    }
}

/// Turns `a` into its triangular factors (the lower one has ones on its diagonal, which are not stored), and `b` into the
/// solution. Gives the sign of the exchanges of rows, or 0 where `a` is singular.
unsafe fn solve<T: Element>(
    ctx: *mut CallCtx,
    a: Part<T>,
    n: usize,
    b: Part<T>,
    columns: usize,
) -> Result<i64, Raised> {
    let mut sign = 1;
    if n <= NEAR && columns > 1 {
        // Small factors are there before a worker that begins to wake up then would be.
        awaken(ctx, u32::try_from(n * n * columns / SPEED).unwrap_or(u32::MAX));
    }
    for (first, end) in parts(0, n, NEAR) {
        for (left, right) in parts(first, end, PANEL) {
            // SAFETY: parts of the matrices.
            unsafe {
                let exchanged = best(Panel { a, n, first: left, end: right, b, columns });
                if exchanged == 0 {
                    return Ok(0);
                }
                sign *= exchanged;
                update(ctx, a, left, right, end - right, n - right)?;
            }
        }
        // SAFETY: as above.
        unsafe { update(ctx, a, first, end, n - end, n - end) }?;
    }
    if columns == 1 {
        best(Vector { a, n, b });
    } else {
        // SAFETY: columns of the right sides.
        in_stripes(ctx, n, columns, |ctx, at, count| unsafe { solve_stripe(ctx, a, n, b.from(0, at), count) })?;
    }
    Ok(sign)
}

/// Brings the `columns` after the columns `first..end`, which have been factored, up to date.
unsafe fn update<T: Element>(
    ctx: *mut CallCtx,
    a: Part<T>,
    first: usize,
    end: usize,
    columns: usize,
    rows: usize,
) -> Result<(), Raised> {
    let width = end - first;
    // SAFETY: parts of the matrix.
    unsafe {
        let (corner, right) = (a.from(first, first), a.from(first, end));
        in_stripes(ctx, width, columns, |ctx, at, count| {
            substitute(ctx, corner, width, right.from(0, at), count, [true, false])
        })?;
        subtract(ctx, [rows, columns, width], [a.from(end, end), a.from(end, first), right], false, false)
    }
}

/// Runs `work` for stripes of columns, of which it is told the first and how many there are. `n`: rows of the system.
fn in_stripes(
    ctx: *mut CallCtx,
    n: usize,
    columns: usize,
    work: impl Fn(*mut CallCtx, usize, usize) -> Result<(), Raised> + Sync,
) -> Result<(), Raised> {
    let width = columns.div_ceil(STRIPES).next_multiple_of(16).clamp(STRIPE[0], STRIPE[1]);
    let cost = u32::try_from(n * n * width / SPEED).unwrap_or(u32::MAX);
    let stripe = |ctx, at| work(ctx, at * width, width.min(columns - at * width));
    try_each(ctx, columns.div_ceil(width), cost, &stripe)
}

/// Where parts of so many columns begin and end.
fn parts(first: usize, end: usize, size: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    (0..(end - first).div_ceil(size)).map(move |at| (first + at * size, end.min(first + (at + 1) * size)))
}

/// Turns right sides, whose rows have been exchanged, into solutions, with the factors of the matrix.
unsafe fn solve_stripe<T: Element>(
    ctx: *mut CallCtx,
    a: Part<T>,
    n: usize,
    b: Part<T>,
    columns: usize,
) -> Result<(), Raised> {
    // SAFETY: parts of the matrices.
    unsafe {
        if n <= NEAR {
            return substitute(ctx, a, n, b, columns, [true, true]);
        }
        probe(ctx, gemm_room::<T>(n, columns, NEAR))?;
        for (first, end) in parts(0, n, NEAR) {
            let mine = b.from(first, 0);
            substitute(ctx, a.from(first, first), end - first, mine, columns, [true, false])?;
            if end < n {
                T::subtract([n - end, columns, end - first], b.from(end, 0), a.from(end, first), mine, false);
            }
        }
        for (first, end) in parts(0, n, NEAR).rev() {
            let mine = b.from(first, 0);
            substitute(ctx, a.from(first, first), end - first, mine, columns, [false, true])?;
            if first > 0 {
                T::subtract([first, columns, end - first], b, a.from(0, first), mine, false);
            }
        }
    }
    Ok(())
}

/// Factors the columns `first..end` from the row `first` on, exchanging whole rows of `a` and `b`.
struct Panel<T> {
    a: Part<T>,
    n: usize,
    first: usize,
    end: usize,
    b: Part<T>,
    columns: usize,
}

impl<T: Element> Loop for Panel<T> {
    /// The sign, or 0.
    type Out = i64;

    #[inline(always)]
    fn run<const FUSED: bool, const WIDE: bool>(self) -> i64 {
        let Panel { a, n, first, end, b, columns } = self;
        let mut sign = 1;
        for k in first..end {
            // SAFETY: elements and rows of the matrices.
            unsafe {
                let (mut pivot, mut largest) = (k, a.at(k, k).size());
                for i in k + 1..n {
                    let size = a.at(i, k).size();
                    if size > largest {
                        (pivot, largest) = (i, size);
                    }
                }
                if largest == 0.0 {
                    return 0;
                }
                if pivot != k {
                    sign = -sign;
                    a.line(k, 0, n).swap_with_slice(a.line(pivot, 0, n));
                    b.line(k, 0, columns).swap_with_slice(b.line(pivot, 0, columns));
                }
                let divisor = a.at(k, k);
                let reciprocal = divisor.one_over();
                let row = &*a.line(k, k + 1, end);
                for i in k + 1..n {
                    let v = a.at(i, k);
                    let factor = match reciprocal {
                        Some(one_over) => v.times(one_over),
                        None => v.divided(divisor),
                    };
                    a.set(i, k, factor);
                    subtract_line::<T, FUSED>(a.line(i, k + 1, end), factor, row);
                }
            }
        }
        sign
    }
}

/// `b` becomes the `x` of `l x = b`, with ones on the diagonal of the lower triangle, and then that of `u x = b`.
unsafe fn substitute<T: Element>(
    ctx: *mut CallCtx,
    a: Part<T>,
    n: usize,
    b: Part<T>,
    columns: usize,
    [lower, upper]: [bool; 2],
) -> Result<(), Raised> {
    let mut room = Room::for_rows(ctx, Substitute::<T>::room(n))?;
    let rows = |p: Part<T>| Rows { data: p.data, step: p.row };
    best(Substitute { a: rows(a), n, b: rows(b), columns, lower, upper, room: room.start().cast() });
    Ok(())
}

/// The solution for one vector, whose elements are neighbours and have been exchanged.
struct Vector<T> {
    a: Part<T>,
    n: usize,
    b: Part<T>,
}

impl<T: Element> Loop for Vector<T> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool, const WIDE: bool>(self) {
        let Vector { a, n, b: Part { data: x, .. } } = self;
        // SAFETY: elements of the matrix and of the vector.
        unsafe {
            for i in 1..n {
                let [known] = T::sums::<FUSED, WIDE, 1, 4>(i, &[a.from(i, 0).data.cast_const()], x);
                *x.add(i) = (*x.add(i)).minus(known);
            }
            for i in (0..n).rev() {
                let row = [a.from(i, i + 1).data.cast_const()];
                let [known] = T::sums::<FUSED, WIDE, 1, 4>(n - 1 - i, &row, x.add(i + 1));
                *x.add(i) = (*x.add(i)).minus(known).divided(a.at(i, i));
            }
        }
    }
}

/// What compiled code calls for `mem.cholesky`: its outcome is 1, or 0 where there is no factor. `row`: bytes from row to row.
///
/// # Safety
/// The matrix may be read and written, and is aligned; the context is the call's.
pub(crate) unsafe extern "C" fn cholesky_in_place(
    ctx: *mut CallCtx,
    dtype: u64,
    a: *mut u8,
    n: usize,
    row: isize,
    outcome: *mut i64,
) -> u32 {
    // SAFETY: the caller's.
    let done = unsafe {
        match DType::ALL.get(dtype as usize) {
            Some(DType::F64) => lower_factor::<f64>(ctx, a, n, row),
            Some(DType::C128) => lower_factor::<Complex<f64>>(ctx, a, n, row),
            // Lowering has refused the others.
            _ => Ok(0),
        }
    };
    // SAFETY: the caller's.
    Raised::status(done.map(|n| unsafe { outcome.write(n) }))
}

unsafe fn lower_factor<T: Element>(ctx: *mut CallCtx, a: *mut u8, n: usize, row: isize) -> Result<i64, Raised> {
    let a = Part { data: a.cast::<T>(), row: row / size_of::<T>() as isize, column: 1 };
    // SAFETY: the caller's.
    unsafe {
        if !cholesky(ctx, a, n)? {
            return Ok(0);
        }
        (0..n).for_each(|i| a.line(i, i + 1, n).fill(T::ZERO));
    }
    Ok(1)
}

/// What compiled code calls for `mem.solve`, with the words `a, b, n, columns`, and the bytes from row to row of `a` and `b`.
///
/// # Safety
/// As for [`cholesky_in_place`], and the matrices do not overlap.
pub(crate) unsafe extern "C" fn solve_in_place(
    ctx: *mut CallCtx,
    dtype: u64,
    words: *const u64,
    outcome: *mut i64,
) -> u32 {
    // SAFETY: words in the order of the fields, as lowering wrote them.
    let system = unsafe { words.cast::<System>().read_unaligned() };
    // SAFETY: the caller's.
    let done = unsafe {
        match DType::ALL.get(dtype as usize) {
            Some(DType::F64) => system.solve::<f64>(ctx),
            Some(DType::C128) => system.solve::<Complex<f64>>(ctx),
            // Lowering has refused the others.
            _ => Ok(0),
        }
    };
    // SAFETY: the caller's.
    Raised::status(done.map(|n| unsafe { outcome.write(n) }))
}

#[derive(Clone, Copy)]
#[repr(C)]
struct System {
    a: *mut u8,
    b: *mut u8,
    n: usize,
    columns: usize,
    a_row: isize,
    b_row: isize,
}

impl System {
    unsafe fn solve<T: Element>(self, ctx: *mut CallCtx) -> Result<i64, Raised> {
        let part =
            |data: *mut u8, row: isize| Part { data: data.cast::<T>(), row: row / size_of::<T>() as isize, column: 1 };
        // SAFETY: the caller's.
        unsafe { solve(ctx, part(self.a, self.a_row), self.n, part(self.b, self.b_row), self.columns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Well-conditioned numbers without any order.
    fn numbers(count: usize) -> Vec<f64> {
        let mut seed = 1u64;
        let next = |_| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 40) as f64 / (1u64 << 24) as f64 - 0.5
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn solutions_solve_and_factors_multiply() {
        for n in [1, 7, 8, 24, 25, 33, 100, 260] {
            let mut a = numbers(n * n);
            (0..n).for_each(|i| a[i * n + (i + 1) % n] += 4.0);
            for columns in [1, 3, 70] {
                let b = numbers(n * columns);
                let (mut lu, mut x) = (a.clone(), b.clone());
                let words = [
                    lu.as_mut_ptr().expose_provenance() as u64,
                    x.as_mut_ptr().expose_provenance() as u64,
                    n as u64,
                    columns as u64,
                    8 * n as u64,
                    8 * columns as u64,
                ];
                let mut sign = 0;
                let none = std::ptr::null_mut();
                // SAFETY: matrices in rows; no call, and so no threads.
                let status = unsafe { solve_in_place(none, DType::F64 as u64, words.as_ptr(), &mut sign) };
                assert!(status == 0 && sign != 0);
                for i in 0..n {
                    for j in 0..columns {
                        let sum: f64 = (0..n).map(|k| a[i * n + k] * x[k * columns + j]).sum();
                        assert!((sum - b[i * columns + j]).abs() < 1e-9);
                    }
                }
            }
            let mut square: Vec<f64> =
                (0..n * n).map(|at| (0..n).map(|k| a[at / n * n + k] * a[at % n * n + k]).sum::<f64>()).collect();
            let expected = square.clone();
            let mut is = 0;
            // SAFETY: as above.
            let status = unsafe {
                cholesky_in_place(
                    std::ptr::null_mut(),
                    DType::F64 as u64,
                    square.as_mut_ptr().cast(),
                    n,
                    8 * n as isize,
                    &mut is,
                )
            };
            assert_eq!((status, is), (0, 1));
            for i in 0..n {
                for j in 0..n {
                    let sum: f64 = (0..n).map(|k| square[i * n + k] * square[j * n + k]).sum();
                    assert!((sum - expected[i * n + j]).abs() < 1e-9);
                    assert!(j <= i || square[i * n + j] == 0.0);
                }
            }
        }
    }
}
