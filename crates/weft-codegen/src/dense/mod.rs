//! Products of matrices of floats.
//!
//! Large ones in blocks: some products deep (`DEPTH`), the columns of `b` packed once for all threads, the rows of `a` in blocks,
//! each packed by the thread that multiplies it. Small ones where they lie. Every element is the sum of one chain
//! for each `DEPTH` products; so the bits depend on the sizes, and not on threads or on where the product is cut.

mod blocks;
mod direct;
mod pack;
mod tile;

use crate::abi::{CallCtx, Chunk};
use crate::each::each;
use crate::room::Raised;
use tile::Dense;

/// Products of elements in a nanosecond.
const SPEED: usize = 25;

/// What is to be done for each piece of a product that is there.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Then {
    chunk: Option<Chunk>,
    env: *const u64,
}

/// Elements of a piece that are looked at together, about: they are in a near cache.
const PIECE: usize = 1 << 14;

impl Then {
    /// Nothing.
    pub(crate) const NOTHING: Then = Then { chunk: None, env: std::ptr::null() };

    /// For some rows and columns of the product: how many, and which the first ones are.
    pub(crate) fn piece(&self, rows: [usize; 2], columns: [usize; 2]) {
        let Some(chunk) = self.chunk else { return };
        let numbers = [rows[0], rows[1], columns[0], columns[1]].map(|n| n as u64);
        // SAFETY: compiled code that reads four numbers, writes to this piece, and asks the runtime for nothing.
        unsafe { chunk(std::ptr::null_mut(), self.env, numbers.as_ptr().expose_provenance() as u64, 0) };
    }

    /// For all of a product.
    pub(crate) fn all(&self, ctx: *mut CallCtx, m: usize, n: usize) {
        if self.chunk.is_none() {
            return;
        }
        let rows = (PIECE / n.max(1)).clamp(1, m.max(1));
        each(ctx, m.div_ceil(rows), u32::try_from(rows * n).unwrap_or(u32::MAX), &|at| {
            let i = at * rows;
            self.piece([i, rows.min(m - i)], [0, n]);
        });
    }
}

// SAFETY: compiled code that threads may run at once, for different pieces.
unsafe impl Sync for Then {}

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
/// The matrices may be read and written; the product overlaps no factor, and its rows or columns are neighbours. The
/// call is running, or null.
pub(crate) unsafe fn product<T: Dense>(ctx: *mut CallCtx, p: &Product, then: &Then) -> Result<(), Raised> {
    let item = size_of::<T>() as isize;
    if p.to_steps[1] != item {
        // SAFETY: the caller's.
        unsafe { product::<T>(ctx, &p.transposed(), &Then::NOTHING) }?;
        then.all(ctx, p.m, p.n);
        return Ok(());
    }
    // SAFETY: the caller's.
    unsafe {
        match direct::Cut::of::<T>(p) {
            Some(cut) => direct::product::<T>(ctx, p, &cut, then),
            None if direct::is_turned::<T>(p) => {
                direct::turned::<T>(ctx, p)?;
                then.all(ctx, p.m, p.n);
                Ok(())
            }
            None => blocks::product::<T>(ctx, p, then),
        }
    }
}

/// So many products of elements, in nanoseconds.
fn cost(products: usize) -> u32 {
    u32::try_from(products / SPEED).unwrap_or(u32::MAX)
}
