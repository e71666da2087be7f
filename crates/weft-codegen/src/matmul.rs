//! Products of matrices that compiled code calls.
//!
//! With vectors by `matvec.rs`, of floats by `dense`. Complex numbers by the `gemm` crate, integers and bools by a loop over packed blocks: both in
//! tiles that are given to threads. Where a product is cut depends on its sizes alone, so that the bits do not depend on how many threads there are.

use crate::abi::CallCtx;
use crate::dense::{self, Product, Then};
use crate::each::try_each;
use crate::matvec::{MatVec, matvec};
use crate::numbers::{Complex, Number};
use crate::room::{Raised, Room, probe};
use gemm::{Parallelism, c32, c64};
use weft_ir::DType;

/// Products of elements up to which nothing is worth preparing.
const TINY: usize = 512;
/// Columns of such a product.
const NARROW: usize = 16;
/// Columns of a packed block.
const COLUMNS: usize = 256;
/// Rows of a packed block.
const ROWS: usize = 64;
/// About how many tiles along an axis, and least and most rows and columns of one.
const PARTS: [usize; 2] = [4, 2];
const LEAST: [usize; 2] = [128, 64];
const MOST: [usize; 2] = [512, 1024];
/// Products of elements up to which there is one tile, and that take a nanosecond.
const FEW: usize = 1 << 18;
const SPEED: usize = 8;

/// The product and its factors: `to[m, n] = a[m, k] b[k, n]`. Steps are in bytes, from row to row and from column to
/// column.
#[derive(Clone, Copy)]
#[repr(C)]
struct Matrices {
    to: *mut u8,
    a: *const u8,
    b: *const u8,
    m: usize,
    n: usize,
    k: usize,
    to_row: isize,
    to_column: isize,
    a_row: isize,
    a_column: isize,
    b_row: isize,
    b_column: isize,
    then: Then,
}

impl Matrices {
    /// As the product of a matrix and a vector, where it is one.
    fn with_vector(&self) -> Option<MatVec> {
        let columns = self.k;
        if self.n == 1 {
            let &Matrices {
                to, a, b: x, m: rows, to_row: to_step, a_row: row, a_column: column, b_row: x_step, ..
            } = self;
            return Some(MatVec { to, to_step, a, rows, columns, row, column, x, x_step });
        }
        let &Matrices { to, b: a, a: x, n: rows, to_column: to_step, .. } = self;
        let &Matrices { b_column: row, b_row: column, a_column: x_step, .. } = self;
        (self.m == 1).then_some(MatVec { to, to_step, a, rows, columns, row, column, x, x_step })
    }

    fn product(&self) -> Product {
        let &Matrices { to, a, b, m, n, k, .. } = self;
        Product {
            to,
            a,
            b,
            m,
            n,
            k,
            to_steps: [self.to_row, self.to_column],
            a_steps: [self.a_row, self.a_column],
            b_steps: [self.b_row, self.b_column],
        }
    }

    /// In tiles: a part of each axis, neither too small to be worth the trouble nor too large for the caches.
    fn in_tiles(
        &self,
        ctx: *mut CallCtx,
        work: impl Fn(*mut CallCtx, &Matrices) -> Result<(), Raised> + Sync,
    ) -> Result<(), Raised> {
        if self.m * self.n * self.k <= FEW {
            work(ctx, self)?;
            self.then.piece([0, self.m], [0, self.n]);
            return Ok(());
        }
        let part =
            |size: usize, axis: usize| size.div_ceil(PARTS[axis]).next_multiple_of(16).clamp(LEAST[axis], MOST[axis]);
        let (rows, columns) = (part(self.m, 0), part(self.n, 1));
        let across = self.n.div_ceil(columns);
        let cost = u32::try_from(rows * columns * self.k / SPEED).unwrap_or(u32::MAX);
        try_each(ctx, self.m.div_ceil(rows) * across, cost, &|ctx, at| {
            let (i, j) = (at / across * rows, at % across * columns);
            let (down, right) = (i as isize, j as isize);
            // SAFETY: places in the matrices.
            let tile = unsafe {
                Matrices {
                    to: self.to.offset(down * self.to_row + right * self.to_column),
                    a: self.a.offset(down * self.a_row),
                    b: self.b.offset(right * self.b_column),
                    m: rows.min(self.m - i),
                    n: columns.min(self.n - j),
                    ..*self
                }
            };
            work(ctx, &tile)?;
            self.then.piece([i, tile.m], [j, tile.n]);
            Ok(())
        })
    }
}

// SAFETY: threads write to tiles that do not overlap.
unsafe impl Sync for Matrices {}

/// What compiled code calls: the call, the number of a dtype, and a [`Matrices`] in words.
///
/// # Safety
/// The words describe memory that may be read and written; the product overlaps no factor, and its rows or its columns
/// are neighbours. The call is running, or null.
pub(crate) unsafe extern "C" fn matmul(ctx: *mut CallCtx, dtype: u64, words: *const u64) -> u32 {
    // SAFETY: words in the order of the fields, as lowering wrote them.
    let matrices = unsafe { words.cast::<Matrices>().read_unaligned() };
    // SAFETY: the caller's.
    Raised::status(unsafe { product(ctx, dtype, &matrices) })
}

unsafe fn product(ctx: *mut CallCtx, dtype: u64, matrices: &Matrices) -> Result<(), Raised> {
    if matrices.m == 0 || matrices.n == 0 {
        return Ok(());
    }
    let Some(&dtype) = DType::ALL.get(dtype as usize) else { return Ok(()) };
    if let Some(product) = matrices.with_vector() {
        // SAFETY: the caller's.
        unsafe { matvec(ctx, dtype, product) }?;
        matrices.then.all(ctx, matrices.m, matrices.n);
        return Ok(());
    }
    let few = matrices.n <= NARROW && matrices.m * matrices.n * matrices.k <= TINY;
    match dtype {
        // SAFETY: the caller's.
        DType::F32 => unsafe { dense::product::<f32>(ctx, &matrices.product(), &matrices.then) },
        // SAFETY: the caller's.
        DType::F64 => unsafe { dense::product::<f64>(ctx, &matrices.product(), &matrices.then) },
        DType::C64 if few => {
            tiny::<Complex<f32>>(matrices);
            matrices.then.piece([0, matrices.m], [0, matrices.n]);
            Ok(())
        }
        DType::C128 if few => {
            tiny::<Complex<f64>>(matrices);
            matrices.then.piece([0, matrices.m], [0, matrices.n]);
            Ok(())
        }
        DType::C64 => {
            matrices.in_tiles(ctx, |ctx, tile| complex::<c32>(ctx, tile, c32::new(0.0, 0.0), c32::new(1.0, 0.0)))
        }
        DType::C128 => {
            matrices.in_tiles(ctx, |ctx, tile| complex::<c64>(ctx, tile, c64::new(0.0, 0.0), c64::new(1.0, 0.0)))
        }
        _ => matrices.in_tiles(ctx, |ctx, tile| {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has the instructions.
                return unsafe { wide(ctx, dtype, tile) };
            }
            exact(ctx, dtype, tile)
        }),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn wide(ctx: *mut CallCtx, dtype: DType, matrices: &Matrices) -> Result<(), Raised> {
    exact(ctx, dtype, matrices)
}

#[inline(always)]
fn exact(ctx: *mut CallCtx, dtype: DType, matrices: &Matrices) -> Result<(), Raised> {
    match dtype {
        DType::Bool => blocks::<u8>(ctx, matrices, 0, |sum, a, b| sum | (a & b)),
        DType::I8 | DType::U8 => blocks::<u8>(ctx, matrices, 0, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b))),
        DType::I16 | DType::U16 => blocks::<u16>(ctx, matrices, 0, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b))),
        DType::I32 | DType::U32 => blocks::<u32>(ctx, matrices, 0, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b))),
        DType::I64 | DType::U64 => blocks::<u64>(ctx, matrices, 0, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b))),
        // Halves are computed as singles; the others have been dealt with.
        DType::F16 | DType::F32 | DType::F64 | DType::C64 | DType::C128 => Ok(()),
    }
}

/// Whether elements lie where `T` may lie, whole elements apart: arrays of bytes seen as numbers may not.
fn aligned<T>(data: *const u8, steps: [isize; 2]) -> bool {
    data.addr().is_multiple_of(align_of::<T>()) && steps.iter().all(|s| s % size_of::<T>() as isize == 0)
}

/// A matrix in rows, one after the other, in its room.
fn pack<T: Copy>(mut room: Room, data: *const u8, rows: usize, columns: usize, steps: [isize; 2]) -> Room {
    let mut to = room.start().cast::<T>();
    for i in 0..rows as isize {
        for j in 0..columns as isize {
            // SAFETY: an element of the matrix, and room for so many.
            unsafe {
                to.write(data.offset(i * steps[0] + j * steps[1]).cast::<T>().read_unaligned());
                to = to.add(1);
            }
        }
    }
    room
}

fn complex<T: Copy + 'static>(ctx: *mut CallCtx, matrices: &Matrices, zero: T, one: T) -> Result<(), Raised> {
    let &Matrices { to, a, b, m, n, k, to_row, to_column, .. } = matrices;
    let item = size_of::<T>() as isize;
    if k == 0 {
        for i in 0..m as isize {
            for j in 0..n as isize {
                // SAFETY: an element of the product.
                unsafe { to.offset(i * to_row + j * to_column).cast::<T>().write_unaligned(zero) };
            }
        }
        return Ok(());
    }
    let (mut a_steps, mut b_steps) = ([matrices.a_row, matrices.a_column], [matrices.b_row, matrices.b_column]);
    let (mut a, mut b) = (a, b);
    let (mut own_a, mut own_b);
    if !aligned::<T>(a, a_steps) {
        own_a = pack::<T>(Room::for_rows(ctx, m * k * size_of::<T>())?, a, m, k, a_steps);
        (a, a_steps) = (own_a.start(), [k as isize * item, item]);
    }
    if !aligned::<T>(b, b_steps) {
        own_b = pack::<T>(Room::for_columns(ctx, k * n * size_of::<T>())?, b, k, n, b_steps);
        (b, b_steps) = (own_b.start(), [n as isize * item, item]);
    }
    probe(ctx, gemm_room::<T>(m, n, k))?;
    // SAFETY: the matrices lie in memory as compiled code says; the product is fresh, and so aligned.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            to.cast::<T>(),
            to_column / item,
            to_row / item,
            false,
            a.cast::<T>(),
            a_steps[1] / item,
            a_steps[0] / item,
            b.cast::<T>(),
            b_steps[1] / item,
            b_steps[0] / item,
            zero,
            one,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
    Ok(())
}

/// Bytes that the `gemm` crate takes for a product of one tile, about: packed factors, of so many products at a time.
pub(crate) fn gemm_room<T>(m: usize, n: usize, k: usize) -> usize {
    const DEEP: usize = 512;
    const WIDE: usize = 64;
    (m + n + 2 * WIDE) * k.min(DEEP) * size_of::<T>()
}

/// Row by row, without any preparation.
fn tiny<T: Number>(matrices: &Matrices) {
    match matrices.b_column == size_of::<T>() as isize {
        true => rows::<T>(matrices, |row, j| row.cast::<T>().wrapping_add(j)),
        false => rows::<T>(matrices, |row, j| row.wrapping_offset(j as isize * matrices.b_column).cast::<T>()),
    }
}

/// `at` says where an element of a row of `b` is.
#[inline(always)]
fn rows<T: Number>(matrices: &Matrices, at: impl Fn(*const u8, usize) -> *const T) {
    let &Matrices { to, a, b, m, n, k, to_row, to_column, a_row, a_column, b_row, .. } = matrices;
    let mut sums = [T::ZERO; NARROW];
    let sums = &mut sums[..n];
    for i in 0..m as isize {
        sums.fill(T::ZERO);
        for l in 0..k as isize {
            // SAFETY: elements of the factors.
            unsafe {
                let factor = a.offset(i * a_row + l * a_column).cast::<T>().read_unaligned();
                let row = b.offset(l * b_row);
                for (j, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.plus_product::<false>(factor, at(row, j).read_unaligned());
                }
            }
        }
        for (j, &sum) in sums.iter().enumerate() {
            // SAFETY: an element of the product.
            unsafe { to.offset(i * to_row + j as isize * to_column).cast::<T>().write_unaligned(sum) };
        }
    }
}

/// Blocks of `b` are packed, and added to the rows of the product with the factors of `a`.
#[inline(always)]
fn blocks<T: Copy>(
    ctx: *mut CallCtx,
    matrices: &Matrices,
    zero: T,
    add: impl Fn(T, T, T) -> T + Copy,
) -> Result<(), Raised> {
    let &Matrices { to, a, b, m, n, k, to_row, to_column, a_row, a_column, b_row, b_column, .. } = matrices;
    let mut row = [zero; COLUMNS];
    for first in (0..n).step_by(COLUMNS) {
        let columns = COLUMNS.min(n - first);
        for start in (0..k.max(1)).step_by(ROWS) {
            let rows = ROWS.min(k - start);
            // SAFETY: the block begins inside the matrix, or has no rows.
            let from = unsafe { b.offset(start as isize * b_row + first as isize * b_column) };
            let room = Room::for_columns(ctx, rows * columns * size_of::<T>())?;
            let mut room = pack::<T>(room, from, rows, columns, [b_row, b_column]);
            // SAFETY: as many elements as were packed.
            let block = unsafe { std::slice::from_raw_parts(room.start().cast::<T>(), rows * columns) };
            for i in 0..m as isize {
                // SAFETY: elements of the product, in this row and these columns.
                let at = |j: usize| unsafe { to.offset(i * to_row + (first + j) as isize * to_column).cast::<T>() };
                let row = &mut row[..columns];
                for (j, sum) in row.iter_mut().enumerate() {
                    // SAFETY: as above.
                    *sum = if start == 0 { zero } else { unsafe { at(j).read_unaligned() } };
                }
                for (r, values) in block.chunks_exact(columns).enumerate() {
                    let place = i * a_row + (start + r) as isize * a_column;
                    // SAFETY: an element of the factor.
                    let factor = unsafe { a.offset(place).cast::<T>().read_unaligned() };
                    for (sum, &value) in row.iter_mut().zip(values) {
                        *sum = add(*sum, factor, value);
                    }
                }
                for (j, &sum) in row.iter().enumerate() {
                    // SAFETY: as above.
                    unsafe { at(j).write_unaligned(sum) };
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product<T: Copy + Default>(dtype: DType, a: &[T], b: &[T], m: usize, n: usize, k: usize) -> Vec<T> {
        let mut to = vec![T::default(); m * n];
        let item = size_of::<T>();
        let address = |data: *const T| data.addr() as u64;
        let (rows, columns) = ((n * item) as u64, item as u64);
        let words: [u64; 14] = [
            to.as_mut_ptr().expose_provenance() as u64,
            address(a.as_ptr()),
            address(b.as_ptr()),
            m as u64,
            n as u64,
            k as u64,
            rows,
            columns,
            (k * item) as u64,
            columns,
            rows,
            columns,
            0,
            0,
        ];
        // SAFETY: matrices in rows.
        let status = unsafe { matmul(std::ptr::null_mut(), dtype as u64, words.as_ptr()) };
        assert_eq!(status, 0);
        to
    }

    #[test]
    fn integers_wrap_and_cross_blocks() {
        let (m, n, k) = (3, 300, 130);
        let a: Vec<u8> = (0..m * k).map(|i| i as u8).collect();
        let b: Vec<u8> = (0..k * n).map(|i| (i / 7) as u8).collect();
        let got = product(DType::U8, &a, &b, m, n, k);
        for i in 0..m {
            for j in 0..n {
                let sum = (0..k).fold(0u8, |s, l| s.wrapping_add(a[i * k + l].wrapping_mul(b[l * n + j])));
                assert_eq!(got[i * n + j], sum);
            }
        }
    }

    #[test]
    fn nothing_summed_is_zero() {
        assert_eq!(product::<f64>(DType::F64, &[], &[], 2, 2, 0), [0.0; 4]);
        assert_eq!(product::<i32>(DType::I32, &[], &[], 1, 2, 0), [0; 2]);
        assert_eq!(product::<u8>(DType::Bool, &[1, 0], &[1, 1], 2, 2, 1), [1, 1, 0, 0]);
    }
}
