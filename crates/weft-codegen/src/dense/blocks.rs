//! Large products, in blocks that fit the caches.

use super::pack::Lines;
use super::tile::{Dense, LINE, Tile};
use super::{PIECE, Product, Then, cost};
use crate::abi::CallCtx;
use crate::each::{each, try_each};
use crate::room::{Raised, Room};

/// Products of one chain: the bits depend on it.
const DEPTH: usize = 512;
/// Most rows of a block of `a`, which stays in the second cache, and fewest.
const ROWS: usize = 96;
const FEW_ROWS: usize = 32;
/// Of how many blocks there should be a multiple, for threads.
const BLOCKS: usize = 8;
/// Columns that are packed at a time: they stay in the last cache.
const COLUMNS: usize = 1536;
/// Fewest columns that a block of rows is multiplied with.
const FEW_COLUMNS: usize = 192;
/// Rows of `b` that are packed together.
const PACKED: usize = 8;

/// A size cut into equal parts of at most `most`, rounded up to multiples of `unit`.
fn part(size: usize, most: usize, unit: usize) -> usize {
    let parts = size.div_ceil(most).max(1);
    size.div_ceil(parts).next_multiple_of(unit)
}

/// # Safety
/// As for [`super::product`]; the columns of the product are neighbours.
pub(super) unsafe fn product<T: Dense>(ctx: *mut CallCtx, p: &Product, then: &Then) -> Result<(), Raised> {
    let (kernels, item) = (T::kernels(), size_of::<T>());
    let symmetric = p.is_symmetric();
    let across = kernels.columns();
    let depth = part(p.k, DEPTH, 8);
    let columns = part(p.n, COLUMNS, across);
    let mut room = Room::for_columns(ctx, depth * columns.min(p.n.next_multiple_of(across)) * item)?;
    let packed = Shared(room.start());
    for first in (0..p.n).step_by(columns) {
        let columns = columns.min(p.n - first);
        for start in (0..p.k).step_by(depth) {
            let depth = depth.min(p.k - start);
            let slice = Slice { first, columns, start, depth };
            slice.pack::<T>(ctx, p, packed);
            let then = if start + depth == p.k && !symmetric { then } else { &Then::NOTHING };
            // SAFETY: the caller's.
            unsafe { slice.multiply::<T>(ctx, p, packed, symmetric, then) }?;
        }
    }
    if symmetric {
        // SAFETY: a square matrix.
        unsafe { mirror::<T>(ctx, p) };
        then.all(ctx, p.m, p.n);
    }
    Ok(())
}

/// Memory that threads read, or write to in different places.
#[derive(Clone, Copy)]
struct Shared(*mut u8);

// SAFETY: as it says.
unsafe impl Sync for Shared {}

impl Shared {
    fn get(self) -> *mut u8 {
        self.0
    }
}

/// Some columns of `b` that have been packed: `columns` from `first` on, `depth` rows from `start` on.
struct Slice {
    first: usize,
    columns: usize,
    start: usize,
    depth: usize,
}

impl Slice {
    /// Copies the columns of the slice side by side, in panels as wide as a tile.
    fn pack<T: Dense>(&self, ctx: *mut CallCtx, p: &Product, packed: Shared) {
        let across = T::kernels().columns();
        let &Slice { first, columns, start, depth } = self;
        let [along, line] = p.b_steps;
        let panel = |at: usize, from: usize, depth: usize| {
            // SAFETY: columns of the matrix, and room for them that no other thread uses.
            unsafe {
                let to = packed.get().cast::<T>().add(at * self.depth + from * across);
                let from = p.b.offset((start + from) as isize * along + (first + at) as isize * line);
                Lines { from, to, lines: across.min(columns - at), depth, line, along, width: across }.copy();
            }
        };
        // Always along what lies close together.
        if line.unsigned_abs() <= along.unsigned_abs() {
            let cost = columns * PACKED / 2;
            each(ctx, depth.div_ceil(PACKED), cost as u32, &|part| {
                let from = part * PACKED;
                (0..columns).step_by(across).for_each(|at| panel(at, from, PACKED.min(depth - from)));
            });
        } else {
            let cost = depth * across / 2;
            each(ctx, columns.div_ceil(across), cost as u32, &|at| panel(at * across, 0, depth));
        }
    }

    /// Adds the products with the slice.
    unsafe fn multiply<T: Dense>(
        &self,
        ctx: *mut CallCtx,
        p: &Product,
        packed: Shared,
        symmetric: bool,
        then: &Then,
    ) -> Result<(), Raised> {
        let kernels = T::kernels();
        // Whole tiles, as evenly as they go: threads are done at the same time.
        let tiles = p.m.div_ceil(kernels.rows);
        let high = p.m.div_ceil(ROWS).next_multiple_of(BLOCKS).min(p.m / FEW_ROWS).max(1);
        let row = |block: usize| p.m.min(block * tiles / high * kernels.rows);
        // Where there are few rows, by columns too.
        let wide =
            part(self.columns, self.columns.div_ceil(BLOCKS / high.min(BLOCKS)).max(FEW_COLUMNS), kernels.columns());
        let across = self.columns.div_ceil(wide);
        try_each(ctx, high * across, cost(p.m / high * wide * self.depth), &|ctx, at| {
            // The last rows first: of a symmetric product they have most columns.
            let (block, j) = (high - 1 - at / across, at % across * wide);
            let i = row(block);
            let block = Block { i, rows: row(block + 1) - i, j, columns: wide.min(self.columns - j) };
            // SAFETY: parts of the product that do not overlap.
            unsafe {
                self.block::<T>(ctx, p, packed, &block, symmetric, &|columns| then.piece([i, block.rows], columns))
            }
        })
    }

    /// Packs some rows of `a` and multiplies them; says which columns are there, some at a time.
    unsafe fn block<T: Dense>(
        &self,
        ctx: *mut CallCtx,
        p: &Product,
        packed: Shared,
        block: &Block,
        symmetric: bool,
        done: &dyn Fn([usize; 2]),
    ) -> Result<(), Raised> {
        let (kernels, item) = (T::kernels(), size_of::<T>());
        let (height, width, depth) = (kernels.rows, kernels.columns(), self.depth);
        let end = block.i + block.rows;
        if symmetric && self.first + block.j >= end {
            return Ok(());
        }
        let (together, mut told) = (PIECE / block.rows.max(1), block.j);
        let mut room = Room::for_rows(ctx, block.rows.next_multiple_of(height) * depth * item)?;
        let rows = room.start().cast::<T>();
        // SAFETY: parts of the matrices, and room for the rows.
        unsafe {
            let from = p.a.offset(self.start as isize * p.a_steps[1]);
            for i in (0..block.rows).step_by(height) {
                let from = from.offset((block.i + i) as isize * p.a_steps[0]);
                let (lines, to, [line, along]) = (height.min(block.rows - i), rows.add(i * depth), p.a_steps);
                Lines { from, to, lines, depth, line, along, width: height }.copy();
            }
            for j in (block.j..block.j + block.columns).step_by(width) {
                let column = self.first + j;
                if symmetric && column >= end {
                    break;
                }
                let columns = width.min(block.j + block.columns - j);
                let b = packed.get().cast::<T>().add(j * depth).cast::<u8>().cast_const();
                for i in (0..block.rows).step_by(height) {
                    if symmetric && column >= block.i + i + height {
                        continue;
                    }
                    // The next columns come while the first rows are multiplied with these.
                    let (part, all) = (i / height * depth * LINE, width * depth * item);
                    let next = b.wrapping_add(if part < all { all + part } else { 0 });
                    let tile = Tile {
                        depth,
                        a: rows.add(i * depth).cast(),
                        a_row: item as isize,
                        a_step: (height * item) as isize,
                        b,
                        b_step: (width * item) as isize,
                        to: p.to.offset((block.i + i) as isize * p.to_steps[0]).add(column * item),
                        to_row: p.to_steps[0],
                        add: self.start > 0,
                        next,
                    };
                    kernels.packed(height.min(block.rows - i), columns, &tile);
                }
                if j + columns - told >= together || j + columns == block.j + block.columns {
                    done([self.first + told, j + columns - told]);
                    told = j + columns;
                }
            }
        }
        Ok(())
    }
}

/// Rows of the product from `i` on, and columns of the slice from `j` on.
struct Block {
    i: usize,
    rows: usize,
    j: usize,
    columns: usize,
}

/// Rows and columns that are copied at a time.
const SQUARE: usize = 16;

/// Copies what is below the diagonal of a square matrix to what is above.
unsafe fn mirror<T: Copy>(ctx: *mut CallCtx, p: &Product) {
    let parts = p.m.div_ceil(SQUARE);
    each(ctx, parts, (p.m * SQUARE / 4) as u32, &|part| {
        let i = part * SQUARE;
        for j in (i..p.m).step_by(SQUARE) {
            for row in i..p.m.min(i + SQUARE) {
                // SAFETY: elements of the matrix; this thread alone writes to these rows above the diagonal.
                unsafe {
                    let at = |i: usize, j: usize| p.to.offset(i as isize * p.to_steps[0]).cast::<T>().add(j);
                    for column in j.max(row + 1)..p.m.min(j + SQUARE) {
                        *at(row, column) = *at(column, row);
                    }
                }
            }
        }
    });
}
