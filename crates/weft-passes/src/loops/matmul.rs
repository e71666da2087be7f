//! `nt.matmul` → calls of the one routine that multiplies matrices, one for each tile of a product.
//!
//! Where a product is cut depends on its sizes alone, so that it does not matter how many threads there are.

use super::Lower;
use super::array::Array;
use weft_diag::Diagnostic;
use weft_ir::attr::CmpOp;
use weft_ir::{Dim, Op, OpId, Place, Type, ValueId};

/// Of a product of matrices: about how many tiles along an axis, and least and most rows and columns of one.
const PARTS: [i64; 2] = [4, 2];
const LEAST: [i64; 2] = [128, 64];
const MOST: [i64; 2] = [512, 1024];
/// Of a product with a vector: how many tiles. Where a matrix is read by columns, fewer and wider ones read memory faster:
/// least and most elements of one.
const VECTOR_PARTS: i64 = 16;
const STRIPS: i64 = 4;
const STRIP: [i64; 2] = [256, 4096];
/// Products of elements up to which there is one tile: of matrices, and with a vector, which is slower for each of them.
const FEW: i64 = 1 << 18;
const FEW_WITH_VECTOR: i64 = 1 << 16;
/// Estimated nanoseconds of a tile, or of one matrix of a stack.
const COST: u32 = 10_000;

/// A product and its factors; the axes before the last two are `outer` many.
struct Product {
    outer: usize,
    to: Array,
    a: Array,
    b: Array,
}

impl Lower<'_> {
    /// The op.
    pub fn matmul(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let (a, b) = (self.array(data.operands[0]).clone(), self.array(data.operands[1]).clone());
        let Some(ty) = self.r.src.ty(data.results[0]).as_tensor().cloned() else {
            return Err(Diagnostic::internal(data.span, "a product that is no array"));
        };
        if !self.place.is_host() {
            let message = "matrix products are not supported on a device yet";
            return Err(Diagnostic::unsupported(data.span, message).help("run it outside the device context"));
        }
        let to = self.alloc(&ty, &Place::Host);
        let product = Product { outer: ty.rank() - 2, to, a, b };
        let vector = ty.dims[product.outer..].contains(&Dim::Const(1));
        let few = self.r.b().i64(if vector { FEW_WITH_VECTOR } else { FEW });
        let work = self.work(&product);
        let small = self.r.b().value(Op::Cmp { is: CmpOp::Le }, &[work, few], Type::BOOL);
        let (at_once, ()) = self.nested(|l| {
            l.tiles(&product, None, 0)?;
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        let (in_tiles, ()) = self.nested(|l| {
            let tile = if vector { l.vector_tile(&product) } else { l.matrix_tile(&product) };
            l.tiles(&product, Some(tile), COST)?;
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.r.b().op(Op::ScfIf, &[small], &[], &[at_once, in_tiles]);
        self.arrays.insert(data.results[0], product.to);
        Ok(())
    }

    /// How many products of elements are summed, in all matrices.
    fn work(&mut self, p: &Product) -> ValueId {
        let mut at = self.r.b();
        let summed = p.a.sizes[p.outer + 1];
        p.to.sizes.iter().fold(summed, |work, &size| at.value(Op::Mul, &[work, size], Type::I64))
    }

    /// Rows and columns of a tile of a product of matrices: a part of each axis, neither too small to be worth the trouble nor
    /// too large for the caches.
    fn matrix_tile(&mut self, p: &Product) -> [ValueId; 2] {
        [0, 1].map(|axis| {
            let part = self.part(p.to.sizes[p.outer + axis], PARTS[axis]);
            let mut at = self.r.b();
            let (least, most) = (at.i64(LEAST[axis]), at.i64(MOST[axis]));
            let part = at.value(Op::Max, &[part, least], Type::I64);
            at.value(Op::Min, &[part, most], Type::I64)
        })
    }

    /// The tile of a product with a vector: the axis that is summed is never cut.
    fn vector_tile(&mut self, p: &Product) -> [ValueId; 2] {
        // Which axis of the result is long, the matrix, and its bytes from one element of the result to the next.
        let by_rows = p.to.ty.dims[p.outer + 1] == Dim::Const(1);
        let (axis, along) = match by_rows {
            true => (0, p.a.strides[p.outer]),
            false => (1, p.b.strides[p.outer + 1]),
        };
        let size = p.to.sizes[p.outer + axis];
        let (part, wide) = (self.part(size, VECTOR_PARTS), self.part(size, STRIPS));
        let mut at = self.r.b();
        let (one, item) = (at.i64(1), at.i64(p.to.ty.dtype.size() as i64));
        let [least, most] = STRIP.map(|elements| at.i64(elements));
        let by_columns = at.value(Op::Cmp { is: CmpOp::Eq }, &[along, item], Type::BOOL);
        let wide = at.value(Op::Max, &[wide, least], Type::I64);
        let wide = at.value(Op::Min, &[wide, most], Type::I64);
        let tile = at.value(Op::Select, &[by_columns, wide, part], Type::I64);
        if by_rows { [tile, one] } else { [one, tile] }
    }

    /// The `parts`th part of a size, rounded up, and a multiple of 16.
    fn part(&mut self, size: ValueId, parts: i64) -> ValueId {
        let mut at = self.r.b();
        let (unit, more, most) = (at.i64(16), at.i64(16 * parts), at.i64(16 * parts - 1));
        let size = at.value(Op::Add, &[size, most], Type::I64);
        let units = at.value(Op::FloorDiv, &[size, more], Type::I64);
        let one = at.i64(1);
        let units = at.value(Op::Max, &[units, one], Type::I64);
        at.value(Op::Mul, &[units, unit], Type::I64)
    }

    /// Calls of the routine, in tiles of so many rows and columns, or for a whole matrix at a time.
    fn tiles(&mut self, p: &Product, tile: Option<[ValueId; 2]>, cost: u32) -> Result<(), Diagnostic> {
        let (outer, to) = (p.outer, &p.to);
        let whole = [to.sizes[outer], to.sizes[outer + 1]];
        let mut sizes = to.sizes[..outer].to_vec();
        for (&size, &tile) in whole.iter().zip(tile.iter().flatten()) {
            let mut at = self.r.b();
            let one = at.i64(1);
            let less = at.value(Op::Sub, &[tile, one], Type::I64);
            let most = at.value(Op::Add, &[size, less], Type::I64);
            sizes.push(at.value(Op::FloorDiv, &[most, tile], Type::I64));
        }
        if sizes.is_empty() {
            self.tile(p, &[], [None, None], whole);
            return Ok(());
        }
        let (region, ()) = self.nested(|l| {
            let mut at = l.r.b();
            let indices: Vec<ValueId> = sizes.iter().map(|_| at.arg(Type::I64)).collect();
            let (mut start, mut count) = ([None, None], whole);
            for (axis, &tile) in tile.iter().flatten().enumerate() {
                let from = at.value(Op::Mul, &[indices[outer + axis], tile], Type::I64);
                let left = at.value(Op::Sub, &[whole[axis], from], Type::I64);
                start[axis] = Some(from);
                count[axis] = at.value(Op::Min, &[left, tile], Type::I64);
            }
            l.tile(p, &indices[..outer], start, count);
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.r.b().op(Op::ParFor { cost }, &sizes, &[], &[region]);
        Ok(())
    }

    /// One call: a tile that begins at a row and column (or at the first) of the matrix `outer`.
    fn tile(&mut self, p: &Product, outer: &[ValueId], start: [Option<ValueId>; 2], count: [ValueId; 2]) {
        let to_mem = self.matrix(&p.to, outer, start);
        let a_mem = self.matrix(&p.a, outer, [start[0], None]);
        let b_mem = self.matrix(&p.b, outer, [None, start[1]]);
        let steps = [&p.to, &p.a, &p.b].into_iter().flat_map(|x| x.strides[p.outer..].to_vec());
        let head = [to_mem, a_mem, b_mem, count[0], count[1], p.a.sizes[p.outer + 1]];
        let operands: Vec<ValueId> = head.into_iter().chain(steps).collect();
        self.r.b().effect(Op::MemMatmul, &operands);
    }

    /// Where a part of a matrix begins: `outer` are the indices of the matrix, `start` its first row and column.
    fn matrix(&mut self, x: &Array, outer: &[ValueId], start: [Option<ValueId>; 2]) -> ValueId {
        let ty = self.r.dst.ty(x.mem).clone();
        let mut mem = x.mem;
        let indices = outer.iter().copied().map(Some).chain(start);
        for (index, &stride) in indices.zip(&x.strides) {
            let Some(index) = index else { continue };
            let mut b = self.r.b();
            let bytes = b.value(Op::Mul, &[index, stride], Type::I64);
            mem = b.value(Op::MemOffset, &[mem, bytes], ty.clone());
        }
        mem
    }
}
