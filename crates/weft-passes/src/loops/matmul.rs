//! `nt.matmul` → calls of the one routine that multiplies matrices, one for each tile of a product.
//!
//! Where a product is cut depends on its sizes alone, so that it does not matter how many threads there are.

use super::Lower;
use super::array::Array;
use weft_diag::Diagnostic;
use weft_ir::attr::CmpOp;
use weft_ir::{Op, OpId, Place, Type, ValueId};

/// Rows and columns of a tile.
const TILE: [i64; 2] = [256, 1024];
/// Products of elements up to which a matrix is one tile.
const FEW: i64 = 1 << 18;
/// Estimated nanoseconds of a tile.
const COST: u32 = 10_000;

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
        let outer = ty.rank() - 2;
        let (m, n, k) = (to.sizes[outer], to.sizes[outer + 1], a.sizes[outer + 1]);
        let mut at = self.r.b();
        let elements = at.value(Op::Mul, &[m, n], Type::I64);
        let work = at.value(Op::Mul, &[elements, k], Type::I64);
        let few = at.i64(FEW);
        let small = at.value(Op::Cmp { is: CmpOp::Le }, &[work, few], Type::BOOL);
        let one = at.i64(1);
        let tiles: Vec<(ValueId, ValueId)> = [m, n]
            .into_iter()
            .zip(TILE)
            .map(|(size, tile)| {
                let tile = at.i64(tile);
                let whole = at.value(Op::Max, &[size, one], Type::I64);
                let tile = at.value(Op::Select, &[small, whole, tile], Type::I64);
                let less = at.value(Op::Sub, &[tile, one], Type::I64);
                let most = at.value(Op::Add, &[size, less], Type::I64);
                (tile, at.value(Op::FloorDiv, &[most, tile], Type::I64))
            })
            .collect();
        let sizes: Vec<ValueId> = to.sizes[..outer].iter().copied().chain(tiles.iter().map(|t| t.1)).collect();
        let (region, ()) = self.nested(|l| {
            let mut at = l.r.b();
            let indices: Vec<ValueId> = sizes.iter().map(|_| at.arg(Type::I64)).collect();
            let mut start = [m, n];
            let mut count = [m, n];
            for (axis, &(tile, _)) in tiles.iter().enumerate() {
                let size = count[axis];
                start[axis] = at.value(Op::Mul, &[indices[outer + axis], tile], Type::I64);
                let left = at.value(Op::Sub, &[size, start[axis]], Type::I64);
                count[axis] = at.value(Op::Min, &[left, tile], Type::I64);
            }
            let to_mem = l.matrix(&to, &indices[..outer], [Some(start[0]), Some(start[1])]);
            let a_mem = l.matrix(&a, &indices[..outer], [Some(start[0]), None]);
            let b_mem = l.matrix(&b, &indices[..outer], [None, Some(start[1])]);
            let steps = [&to, &a, &b].into_iter().flat_map(|x| x.strides[outer..].to_vec());
            let operands: Vec<ValueId> =
                [to_mem, a_mem, b_mem, count[0], count[1], k].into_iter().chain(steps).collect();
            let mut at = l.r.b();
            at.effect(Op::MemMatmul, &operands);
            at.effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.r.b().op(Op::ParFor { cost: COST }, &sizes, &[], &[region]);
        self.arrays.insert(data.results[0], to);
        Ok(())
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
