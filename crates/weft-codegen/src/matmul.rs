//! Products of matrices that compiled code calls.
//!
//! With vectors by loops of our own. Floats by the `gemm` crate, on the thread that calls: tiles of a product are computed by themselves, so that the bits
//! do not depend on how many threads there are. Integers and bools by a loop over packed blocks.

use crate::matvec::{MatVec, matvec};
use gemm::{Parallelism, c32, c64};
use weft_ir::DType;

/// Columns of a packed block.
const COLUMNS: usize = 256;
/// Rows of a packed block.
const ROWS: usize = 64;

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
}

/// What compiled code calls: the number of a dtype, and a [`Matrices`] in words.
///
/// # Safety
/// The words describe memory that may be read and written; the product overlaps no factor.
pub(crate) unsafe extern "C" fn matmul(dtype: u64, words: *const u64) {
    // SAFETY: words in the order of the fields, as lowering wrote them.
    let matrices = unsafe { words.cast::<Matrices>().read_unaligned() };
    if matrices.m == 0 || matrices.n == 0 {
        return;
    }
    let Some(&dtype) = DType::ALL.get(dtype as usize) else { return };
    if let Some(product) = matrices.with_vector() {
        // SAFETY: the caller's.
        return unsafe { matvec(dtype, product) };
    }
    match dtype {
        DType::F32 => floats::<f32>(&matrices, 0.0, 1.0),
        DType::F64 => floats::<f64>(&matrices, 0.0, 1.0),
        DType::C64 => floats::<c32>(&matrices, c32::new(0.0, 0.0), c32::new(1.0, 0.0)),
        DType::C128 => floats::<c64>(&matrices, c64::new(0.0, 0.0), c64::new(1.0, 0.0)),
        _ => {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has the instructions.
                return unsafe { wide(dtype, &matrices) };
            }
            exact(dtype, &matrices);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn wide(dtype: DType, matrices: &Matrices) {
    exact(dtype, matrices);
}

#[inline(always)]
fn exact(dtype: DType, matrices: &Matrices) {
    match dtype {
        DType::Bool => blocks::<u8>(matrices, 0, |sum, a, b| sum | (a & b)),
        DType::I8 | DType::U8 => blocks::<u8>(matrices, 0, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b))),
        DType::I16 | DType::U16 => blocks::<u16>(matrices, 0, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b))),
        DType::I32 | DType::U32 => blocks::<u32>(matrices, 0, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b))),
        DType::I64 | DType::U64 => blocks::<u64>(matrices, 0, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b))),
        // Halves are computed as singles; the others have been dealt with.
        DType::F16 | DType::F32 | DType::F64 | DType::C64 | DType::C128 => {}
    }
}

/// Whether elements lie where `T` may lie, whole elements apart: arrays of bytes seen as numbers may not.
fn aligned<T>(data: *const u8, steps: [isize; 2]) -> bool {
    data.addr().is_multiple_of(align_of::<T>()) && steps.iter().all(|s| s % size_of::<T>() as isize == 0)
}

/// A matrix in rows, one after the other.
fn packed<T: Copy>(data: *const u8, rows: usize, columns: usize, steps: [isize; 2]) -> Vec<T> {
    let mut all = Vec::with_capacity(rows * columns);
    for i in 0..rows as isize {
        for j in 0..columns as isize {
            // SAFETY: an element of the matrix.
            all.push(unsafe { data.offset(i * steps[0] + j * steps[1]).cast::<T>().read_unaligned() });
        }
    }
    all
}

fn floats<T: Copy + 'static>(matrices: &Matrices, zero: T, one: T) {
    let &Matrices { to, a, b, m, n, k, to_row, to_column, .. } = matrices;
    let item = size_of::<T>() as isize;
    if k == 0 {
        for i in 0..m as isize {
            for j in 0..n as isize {
                // SAFETY: an element of the product.
                unsafe { to.offset(i * to_row + j * to_column).cast::<T>().write_unaligned(zero) };
            }
        }
        return;
    }
    let (mut a_steps, mut b_steps) = ([matrices.a_row, matrices.a_column], [matrices.b_row, matrices.b_column]);
    let (mut a, mut b) = (a, b);
    let (own_a, own_b);
    if !aligned::<T>(a, a_steps) {
        own_a = packed::<T>(a, m, k, a_steps);
        (a, a_steps) = (own_a.as_ptr().cast(), [k as isize * item, item]);
    }
    if !aligned::<T>(b, b_steps) {
        own_b = packed::<T>(b, k, n, b_steps);
        (b, b_steps) = (own_b.as_ptr().cast(), [n as isize * item, item]);
    }
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
}

/// Blocks of `b` are packed, and added to the rows of the product with the factors of `a`.
#[inline(always)]
fn blocks<T: Copy>(matrices: &Matrices, zero: T, add: impl Fn(T, T, T) -> T + Copy) {
    let &Matrices { to, a, b, m, n, k, to_row, to_column, a_row, a_column, b_row, b_column } = matrices;
    let mut row = [zero; COLUMNS];
    for first in (0..n).step_by(COLUMNS) {
        let columns = COLUMNS.min(n - first);
        for start in (0..k.max(1)).step_by(ROWS) {
            let rows = ROWS.min(k - start);
            // SAFETY: the block begins inside the matrix, or has no rows.
            let from = unsafe { b.offset(start as isize * b_row + first as isize * b_column) };
            let block = packed::<T>(from, rows, columns, [b_row, b_column]);
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product<T: Copy + Default>(dtype: DType, a: &[T], b: &[T], m: usize, n: usize, k: usize) -> Vec<T> {
        let mut to = vec![T::default(); m * n];
        let item = size_of::<T>();
        let address = |data: *const T| data.addr() as u64;
        let (rows, columns) = ((n * item) as u64, item as u64);
        let words: [u64; 12] = [
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
        ];
        // SAFETY: matrices in rows.
        unsafe { matmul(dtype as u64, words.as_ptr()) };
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
