//! `nt.reduce` → calls of the one routine that reduces, in parallel where there is much to do.
//!
//! Of one line, blocks are reduced by themselves and their results together: the order of `weft_ir::reduce`, so that it does
//! not matter how many threads there are. Of many lines, tiles of lines.

use super::Lower;
use super::array::Array;
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Fold};
use weft_ir::{Op, OpId, Place, Space, Type, ValueId, reduce};

/// Lines that one item of a parallel loop reduces.
const TILE: i64 = 64;
/// Blocks from which on a line is reduced in parallel.
const FEW: i64 = 8;
/// Estimated nanoseconds of a block, and of a tile.
const COST: u32 = 1000;

impl Lower<'_> {
    /// The op, for one axis.
    pub fn reduce(&mut self, id: OpId, fold: Fold, axes: &[u32]) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let a = self.array(data.operands[0]).clone();
        let result = self.r.src.ty(data.results[0]).as_tensor().cloned();
        let ([axis], Some(ty)) = (axes, result) else {
            return Err(Diagnostic::internal(data.span, "a reduction of more than one axis"));
        };
        if !self.place.is_host() {
            let message = "reductions are not supported on a device yet";
            return Err(Diagnostic::unsupported(data.span, message).help("run it outside the device context"));
        }
        let axis = *axis as usize;
        let out = self.alloc(&ty, &Place::Host);
        let kept: Vec<usize> = (0..a.ty.rank()).filter(|&k| k != axis).collect();
        match kept.split_last() {
            None => self.reduce_line(&a, &out, fold)?,
            Some((&inner, outer)) => self.reduce_lines(&a, &out, fold, axis, inner, outer)?,
        }
        self.arrays.insert(data.results[0], out);
        Ok(())
    }

    /// A one-dimensional array.
    fn reduce_line(&mut self, a: &Array, out: &Array, fold: Fold) -> Result<(), Diagnostic> {
        let (n, stride) = (a.sizes[0], a.strides[0]);
        let whole = |l: &mut Self, from: ValueId, n: ValueId, stride: ValueId| {
            let mut b = l.r.b();
            let (one, zero) = (b.i64(1), b.i64(0));
            b.effect(Op::MemReduce { fold }, &[from, out.mem, n, stride, one, zero, zero]);
        };
        if matches!(fold, Fold::ArgMin | Fold::ArgMax) {
            whole(self, a.mem, n, stride);
            return Ok(());
        }
        let item = a.ty.dtype.size();
        let size = reduce::block(item) as i64;
        let mut b = self.r.b();
        let few = b.i64(FEW * size);
        let short = b.value(Op::Cmp { is: CmpOp::Le }, &[n, few], Type::BOOL);
        let (directly, ()) = self.nested(|l| {
            whole(l, a.mem, n, stride);
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        let (in_blocks, ()) = self.nested(|l| {
            let mut b = l.r.b();
            let (size, item_value, less) = (b.i64(size), b.i64(item as i64), b.i64(size - 1));
            let most = b.value(Op::Add, &[n, less], Type::I64);
            let blocks = b.value(Op::FloorDiv, &[most, size], Type::I64);
            let bytes = b.value(Op::Mul, &[blocks, item_value], Type::I64);
            let mem = Type::Mem(a.ty.dtype, Space::Host);
            let scratch = b.op(Op::MemAlloc { at: Place::Host }, &[bytes], &[mem.clone(), Type::Owner], &[]);
            let scratch = b.func.op(scratch).results[0];
            let (region, ()) = l.nested(|l| {
                let mut b = l.r.b();
                let block = b.arg(Type::I64);
                let start = b.value(Op::Mul, &[block, size], Type::I64);
                let left = b.value(Op::Sub, &[n, start], Type::I64);
                let count = b.value(Op::Min, &[left, size], Type::I64);
                let from = b.value(Op::Mul, &[start, stride], Type::I64);
                let from = b.value(Op::MemOffset, &[a.mem, from], mem.clone());
                let to = b.value(Op::Mul, &[block, item_value], Type::I64);
                let to = b.value(Op::MemOffset, &[scratch, to], mem.clone());
                let (one, zero) = (b.i64(1), b.i64(0));
                b.effect(Op::MemReduce { fold }, &[from, to, count, stride, one, zero, zero]);
                b.effect(Op::Yield, &[]);
                Ok(())
            })?;
            l.r.b().op(Op::ParFor { cost: COST }, &[blocks], &[], &[region]);
            whole(l, scratch, blocks, item_value);
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.r.b().op(Op::ScfIf, &[short], &[], &[directly, in_blocks]);
        Ok(())
    }

    /// Lines along `axis` of an array of more axes: `inner` is the last of those that stay.
    fn reduce_lines(
        &mut self,
        a: &Array,
        out: &Array,
        fold: Fold,
        axis: usize,
        inner: usize,
        outer: &[usize],
    ) -> Result<(), Diagnostic> {
        let (n, stride) = (a.sizes[axis], a.strides[axis]);
        let (m, in_step) = (a.sizes[inner], a.strides[inner]);
        let out_step = out.strides[outer.len()];
        let mut b = self.r.b();
        let (tile, less) = (b.i64(TILE), b.i64(TILE - 1));
        let most = b.value(Op::Add, &[m, less], Type::I64);
        let tiles = b.value(Op::FloorDiv, &[most, tile], Type::I64);
        let sizes: Vec<ValueId> = outer.iter().map(|&k| a.sizes[k]).chain([tiles]).collect();
        let (from_ty, to_ty) = (self.r.dst.ty(a.mem).clone(), self.r.dst.ty(out.mem).clone());
        let (region, ()) = self.nested(|l| {
            let mut b = l.r.b();
            let indices: Vec<ValueId> = sizes.iter().map(|_| b.arg(Type::I64)).collect();
            let start = b.value(Op::Mul, &[indices[outer.len()], tile], Type::I64);
            let left = b.value(Op::Sub, &[m, start], Type::I64);
            let count = b.value(Op::Min, &[left, tile], Type::I64);
            let mut from = b.value(Op::Mul, &[start, in_step], Type::I64);
            let mut to = b.value(Op::Mul, &[start, out_step], Type::I64);
            for (i, &k) in outer.iter().enumerate() {
                let step = b.value(Op::Mul, &[indices[i], a.strides[k]], Type::I64);
                from = b.value(Op::Add, &[from, step], Type::I64);
                let step = b.value(Op::Mul, &[indices[i], out.strides[i]], Type::I64);
                to = b.value(Op::Add, &[to, step], Type::I64);
            }
            let from = b.value(Op::MemOffset, &[a.mem, from], from_ty);
            let to = b.value(Op::MemOffset, &[out.mem, to], to_ty);
            b.effect(Op::MemReduce { fold }, &[from, to, n, stride, count, in_step, out_step]);
            b.effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.r.b().op(Op::ParFor { cost: COST }, &sizes, &[], &[region]);
        Ok(())
    }
}
