//! `nt.matmul` on a device → a kernel whose items each compute a few rows and columns of a product in registers. Sums are in the
//! order of what is summed, from the first product on.

use super::Lower;
use super::array::Array;
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Fold};
use weft_ir::{DType, Dim, Op, Type, ValueId};

/// Most rows and columns of an item.
const TILE: usize = 4;

impl Lower<'_> {
    /// The product of two arrays, of which the axes before the last two are the same in all three.
    pub(super) fn multiply_on_device(&mut self, a: &Array, b: &Array, to: &Array) -> Result<(), Diagnostic> {
        let outer = to.ty.rank() - 2;
        let ty = Type::Num(to.ty.dtype);
        let of = |k: usize| if to.ty.dims[outer + k] == Dim::Const(1) { 1 } else { TILE };
        let (high, wide) = (of(0), of(1));
        let (rows, columns, summed) = (to.sizes[outer], to.sizes[outer + 1], a.sizes[outer + 1]);
        let tiles = [(rows, high), (columns, wide)].map(|(n, tile)| {
            let tile = self.r.b().i64(tile as i64);
            self.parts(n, tile)
        });
        let sizes: Vec<ValueId> = to.sizes[..outer].iter().copied().chain(tiles).collect();
        let (region, ()) = self.nested(|l| {
            let indices: Vec<ValueId> = sizes.iter().map(|_| l.r.b().arg(Type::I64)).collect();
            let (around, tile) = indices.split_at(outer);
            // Neighbouring items have neighbouring columns. Those past the end are computed as the last one, and not stored.
            let one = l.r.b().i64(1);
            let high_n = l.r.b().i64(high as i64);
            let first_row = l.int(Op::Mul, tile[0], high_n);
            let [at_rows, at_columns] =
                [(first_row, one, high, rows), (tile[1], tiles[1], wide, columns)].map(|(first, apart, many, n)| {
                    let last = l.int(Op::Sub, n, one);
                    let place = |k: usize| {
                        let k = l.r.b().i64(k as i64);
                        let skipped = l.int(Op::Mul, apart, k);
                        let wanted = l.int(Op::Add, first, skipped);
                        (wanted, l.int(Op::Min, wanted, last))
                    };
                    (0..many).map(place).collect::<Vec<_>>()
                });
            let sum = if to.ty.dtype == DType::Bool { Fold::Any } else { Fold::Sum };
            let nothing = l.identity(sum, to.ty.dtype);
            let zero = l.r.b().i64(0);
            let sums = l.turns([zero, summed, one], &vec![nothing; high * wide], |l, at, sums| {
                let load = |l: &mut Self, x: &Array, i: ValueId, j: ValueId| {
                    let (place, unit) = l.offset(x, &[around, &[i, j]].concat());
                    l.r.b().value(Op::MemLoad { unit }, &[x.mem, place], ty.clone())
                };
                let left: Vec<ValueId> = at_rows.iter().map(|&(_, i)| load(l, a, i, at)).collect();
                let right: Vec<ValueId> = at_columns.iter().map(|&(_, j)| load(l, b, at, j)).collect();
                let pairs = left.iter().flat_map(|&x| right.iter().map(move |&y| (x, y)));
                let next = pairs.zip(sums).map(|((x, y), &so_far)| {
                    let product = l.r.b().value(Op::Mul, &[x, y], ty.clone());
                    l.r.b().value(Op::Add, &[so_far, product], ty.clone())
                });
                Ok(next.collect())
            })?;
            for (r, &(row, _)) in at_rows.iter().enumerate() {
                for (c, &(column, _)) in at_columns.iter().enumerate() {
                    let (stores, ()) = l.nested(|l| {
                        let (place, unit) = l.offset(to, &[around, &[row, column]].concat());
                        l.r.b().effect(Op::MemStore { unit }, &[sums[r * wide + c], to.mem, place]);
                        l.r.b().effect(Op::Yield, &[]);
                        Ok(())
                    })?;
                    let (past, ()) = l.nested(|l| {
                        l.r.b().effect(Op::Yield, &[]);
                        Ok(())
                    })?;
                    let mut at = l.r.b();
                    let [in_rows, in_columns] = [(row, rows), (column, columns)]
                        .map(|(i, n)| at.value(Op::Cmp { is: CmpOp::Lt }, &[i, n], Type::BOOL));
                    let inside = at.value(Op::And, &[in_rows, in_columns], Type::BOOL);
                    at.op(Op::ScfIf, &[inside], &[], &[stores, past]);
                }
            }
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.items(&sizes, region);
        Ok(())
    }
}
