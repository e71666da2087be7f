//! Products whose factors are read where they lie: copying them would not pay.

use super::pack::Lines;
use super::tile::{Dense, LINE, Tile, ahead};
use super::{Product, Then, cost};
use crate::abi::CallCtx;
use crate::each::each;
use crate::room::{Raised, Room};

/// Elements of `b` up to which it is near enough.
const NEAR: usize = 16 << 10;
/// Products of one chain, as in blocks; and where `b` is read only once, so that its rows are read along.
const DEPTH: usize = 256;
const SHALLOW: usize = 16;
/// Rows that are given to a thread together, at least and at most.
const FEW_ROWS: usize = 16;
const ROWS: usize = 64;
/// Columns that are, where there are few rows, in bytes.
const STRIP: usize = 4096;

/// How much is done at a time: rows and columns that are given to a thread, products of one chain.
pub(super) struct Cut {
    rows: usize,
    columns: usize,
    depth: usize,
    /// Whether `b` comes from far away.
    far: bool,
}

impl Cut {
    /// None where copying the factors pays.
    pub(super) fn of<T: Dense>(p: &Product) -> Option<Cut> {
        let (kernels, item) = (T::kernels(), size_of::<T>());
        let rows = p.m.div_ceil(4).clamp(FEW_ROWS, ROWS).next_multiple_of(kernels.rows);
        if p.k == 0 {
            return Some(Cut { rows, columns: p.n, depth: 1, far: false });
        }
        let tall = p.n <= 2 * kernels.columns() && p.a_steps[1] == item as isize;
        if p.k * p.n <= NEAR || tall {
            return Some(Cut { rows, columns: p.n, depth: DEPTH, far: false });
        }
        let columns = (STRIP / item).next_multiple_of(kernels.columns());
        let thin = p.m <= 4 * kernels.rows && p.b_steps[1] == item as isize;
        thin.then_some(Cut { rows: p.m, columns, depth: SHALLOW, far: true })
    }
}

/// Few rows times a matrix whose columns lie in one piece each: rather those columns times the rows.
///
/// # Safety
/// As for [`super::product`]; the product lies in one piece.
pub(super) unsafe fn turned<T: Dense>(ctx: *mut CallCtx, p: &Product) -> Result<(), Raised> {
    let item = size_of::<T>();
    let mut rows = Room::for_columns(ctx, p.m * p.k * item)?;
    let mut columns = Room::for_rows(ctx, p.n * p.m * item)?;
    let (a, to) = (rows.start().cast::<T>(), columns.start());
    let steps = [(p.m * item) as isize, item as isize];
    // SAFETY: the matrices, and room for the rows and the product.
    unsafe {
        let [line, along] = p.a_steps;
        Lines { from: p.a, to: a, lines: p.m, depth: p.k, line, along, width: p.m }.copy();
        let turned = Product { to, b: a.cast(), to_steps: steps, b_steps: steps, ..p.transposed() };
        let cut = Cut { rows: ROWS.next_multiple_of(T::kernels().rows), columns: p.m, depth: DEPTH, far: false };
        in_parts::<T>(ctx, &turned, &cut, &Then::NOTHING);
        let [line, along] = steps;
        Lines { from: to, to: p.to.cast::<T>(), lines: p.n, depth: p.m, line, along, width: p.n }.copy();
    }
    Ok(())
}

/// Whether [`turned`] pays.
pub(super) fn is_turned<T: Dense>(p: &Product) -> bool {
    let item = size_of::<T>() as isize;
    let in_one_piece = p.to_steps == [p.n as isize * item, item];
    in_one_piece && p.b_steps[0] == item && p.m <= T::kernels().columns() && p.k * p.n > NEAR
}

/// # Safety
/// As for [`super::product`]; the columns of the product are neighbours.
pub(super) unsafe fn product<T: Dense>(ctx: *mut CallCtx, p: &Product, cut: &Cut, then: &Then) -> Result<(), Raised> {
    let item = size_of::<T>();
    if p.b_steps[1] == item as isize || p.k == 0 {
        // SAFETY: the caller's.
        unsafe { in_parts::<T>(ctx, p, cut, then) };
        return Ok(());
    }
    let mut room = Room::for_columns(ctx, p.k * p.n * item)?;
    let to = room.start().cast::<T>();
    let [along, line] = p.b_steps;
    // SAFETY: the matrix, and room for it in rows.
    unsafe {
        Lines { from: p.b, to, lines: p.n, depth: p.k, line, along, width: p.n }.copy();
        let b_steps = [(p.n * item) as isize, item as isize];
        in_parts::<T>(ctx, &Product { b: to.cast(), b_steps, ..*p }, cut, then);
    }
    Ok(())
}

/// Columns of `b` are neighbours where anything is summed.
unsafe fn in_parts<T: Dense>(ctx: *mut CallCtx, p: &Product, cut: &Cut, then: &Then) {
    let across = p.n.div_ceil(cut.columns);
    each(ctx, p.m.div_ceil(cut.rows) * across, cost(cut.rows * cut.columns * p.k), &|at| {
        let (i, j) = (at / across * cut.rows, at % across * cut.columns);
        // SAFETY: parts of the matrices, which do not overlap.
        unsafe {
            let [to, a] = [(p.to.cast_const(), p.to_steps), (p.a, p.a_steps)].map(|(x, s)| x.offset(i as isize * s[0]));
            let (right, m, n) = (j * size_of::<T>(), cut.rows.min(p.m - i), cut.columns.min(p.n - j));
            part::<T>(&Product { to: to.cast_mut().add(right), a, b: p.b.add(right), m, n, ..*p }, cut);
            then.piece([i, m], [j, n]);
        }
    });
}

/// What one thread does.
unsafe fn part<T: Dense>(p: &Product, cut: &Cut) {
    let (kernels, item) = (T::kernels(), size_of::<T>());
    // Once for nothing to sum.
    for start in (0..p.k.max(1)).step_by(cut.depth) {
        let depth = cut.depth.min(p.k - start);
        for j in (0..p.n).step_by(kernels.columns()) {
            let columns = kernels.columns().min(p.n - j);
            let b = p.b.wrapping_offset(start as isize * p.b_steps[0]).wrapping_add(j * item);
            if cut.far {
                for row in cut.depth..(2 * cut.depth).min(p.k - start) {
                    let next = b.wrapping_offset(row as isize * p.b_steps[0]);
                    (0..columns * item).step_by(LINE).for_each(|at| ahead::<2>(next.wrapping_add(at)));
                }
            }
            for i in (0..p.m).step_by(kernels.rows) {
                let down = i as isize;
                let tile = Tile {
                    depth,
                    a: p.a.wrapping_offset(down * p.a_steps[0] + start as isize * p.a_steps[1]),
                    a_row: p.a_steps[0],
                    a_step: p.a_steps[1],
                    b,
                    b_step: p.b_steps[0],
                    to: p.to.wrapping_offset(down * p.to_steps[0]).wrapping_add(j * item),
                    to_row: p.to_steps[0],
                    add: start > 0,
                    next: b,
                };
                // SAFETY: parts of the matrices.
                unsafe { kernels.any(kernels.rows.min(p.m - i), columns, &tile) };
            }
        }
    }
}
