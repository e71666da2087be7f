//! Products of matrices of floats.
//!
//! Large ones in blocks: some products deep (`DEPTH`), the columns of `b` packed once for all threads, the rows of `a` in blocks,
//! each packed by the thread that multiplies it. Small ones where they lie. Every element is the sum of one chain
//! for each `DEPTH` products; so the bits depend on the sizes, and not on threads or on where the product is cut.

mod blocks;
mod pack;
mod tile;

use crate::abi::CallCtx;
use tile::{Dense, Tile};

/// Elements of the second factor up to which tiles read it where it lies.
const NEAR: usize = 4096;

/// `to[m, n] = a[m, k] b[k, n]`. Steps are in bytes, from row to row and from column to column.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub to: *mut u8,
    pub a: *const u8,
    pub b: *const u8,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub to_steps: [isize; 2],
    pub a_steps: [isize; 2],
    pub b_steps: [isize; 2],
}

// SAFETY: threads write to parts that do not overlap.
unsafe impl Sync for Product {}

impl Product {
    /// With rows as columns: the factors change places.
    fn transposed(&self) -> Product {
        let swap = |[row, column]: [isize; 2]| [column, row];
        Product {
            a: self.b,
            b: self.a,
            m: self.n,
            n: self.m,
            to_steps: swap(self.to_steps),
            a_steps: swap(self.b_steps),
            b_steps: swap(self.a_steps),
            ..*self
        }
    }

    /// Whether one factor is the other with rows as columns: then so is the product of itself.
    fn is_symmetric(&self) -> bool {
        let [row, column] = self.a_steps;
        self.a == self.b && self.m == self.n && self.b_steps == [column, row]
    }
}

/// The product; of nothing, 0.
///
/// # Safety
/// The matrices may be read and written; the product overlaps no factor, and its rows or columns are neighbours.
pub(crate) unsafe fn product<T: Dense>(ctx: *mut CallCtx, p: &Product) {
    let item = size_of::<T>() as isize;
    let turned;
    let p = if p.to_steps[1] == item {
        p
    } else {
        turned = p.transposed();
        &turned
    };
    // SAFETY: the caller's.
    unsafe {
        if p.k == 0 || p.b_steps[1] == item && p.k * p.n <= NEAR {
            where_it_lies::<T>(p);
        } else {
            blocks::product::<T>(ctx, p);
        }
    }
}

/// Without copying anything.
unsafe fn where_it_lies<T: Dense>(p: &Product) {
    let kernels = T::kernels();
    let item = size_of::<T>();
    for j in (0..p.n).step_by(kernels.columns()) {
        for i in (0..p.m).step_by(kernels.rows) {
            // SAFETY: parts of the matrices.
            unsafe {
                let tile = Tile {
                    depth: p.k,
                    a: p.a.offset(i as isize * p.a_steps[0]),
                    a_row: p.a_steps[0],
                    a_step: p.a_steps[1],
                    b: p.b.add(j * item),
                    b_step: p.b_steps[0],
                    to: p.to.offset(i as isize * p.to_steps[0]).add(j * item),
                    to_row: p.to_steps[0],
                    add: false,
                    next: p.b,
                };
                kernels.any(kernels.rows.min(p.m - i), kernels.columns().min(p.n - j), &tile);
            }
        }
    }
}
