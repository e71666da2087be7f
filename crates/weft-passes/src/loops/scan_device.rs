//! `nt.scan` on a device → kernels, in the order of [`reduce::SCAN`]: the bits are the host's.
//!
//! An item scans a block by itself. Where there are several, one group finds what comes before each of them, a piece of [`PIECE`]
//! blocks at a time in local memory, and items bring it in.

use super::Lower;
use super::array::Array;
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Const, Fold, Level, Unit};
use weft_ir::{DType, Op, Type, ValueId, reduce};

/// Blocks whose last elements are in local memory at a time, and the items that bring them there.
const PIECE: usize = 1024;
const ITEMS: usize = 128;

impl Lower<'_> {
    /// The scan of a vector into another one, or itself.
    pub(super) fn scan_on_device(&mut self, from: &Array, to: &Array, fold: Fold) -> Result<(), Diagnostic> {
        let dtype = to.ty.dtype;
        let n = from.sizes[0];
        let (size, one) = (self.r.b().i64(reduce::SCAN as i64), self.r.b().i64(1));
        let blocks = self.parts(n, size);
        let ty = Type::Num(dtype);
        let unit = Unit::Element;
        let region = self.item_region(|l, block| {
            let (start, count) = l.part_at(block, size, n);
            let end = l.int(Op::Add, start, count);
            let load = |l: &mut Self, at: ValueId| {
                let (at, unit) = l.offset(from, &[at]);
                l.r.b().value(Op::MemLoad { unit }, &[from.mem, at], ty.clone())
            };
            let first = load(l, start);
            l.r.b().effect(Op::MemStore { unit }, &[first, to.mem, start]);
            let second = l.int(Op::Add, start, one);
            l.turns([second, end, one], &[first], |l, at, so_far| {
                let v = load(l, at);
                let v = l.fold_two(fold, so_far[0], v);
                l.r.b().effect(Op::MemStore { unit }, &[v, to.mem, at]);
                Ok(vec![v])
            })?;
            Ok(())
        })?;
        self.items(&[blocks], region);
        let several = self.r.b().value(Op::Cmp { is: CmpOp::Gt }, &[blocks, one], Type::BOOL);
        let (more, ()) = self.nested(|l| {
            let [before, _] = l.room(dtype, blocks);
            l.before_blocks(to, before, [n, blocks], fold)?;
            let left = l.int(Op::Sub, n, size);
            let region = l.item_region(|l, at| {
                let at = l.int(Op::Add, at, size);
                let block = l.int(Op::FloorDiv, at, size);
                let mut b = l.r.b();
                let first = b.value(Op::MemLoad { unit }, &[before, block], ty.clone());
                let own = b.value(Op::MemLoad { unit }, &[to.mem, at], ty.clone());
                let v = l.fold_two(fold, first, own);
                let mut b = l.r.b();
                b.effect(Op::MemStore { unit }, &[v, to.mem, at]);
                Ok(())
            })?;
            l.items(&[left], region);
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        let (nothing, ()) = self.nested(|l| {
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.r.b().op(Op::ScfIf, &[several], &[], &[more, nothing]);
        Ok(())
    }

    /// The kernel that folds the last elements of all blocks before each one, but the first.
    fn before_blocks(
        &mut self,
        scanned: &Array,
        before: ValueId,
        [n, blocks]: [ValueId; 2],
        fold: Fold,
    ) -> Result<(), Diagnostic> {
        let dtype = scanned.ty.dtype;
        let ty = Type::Num(dtype);
        let unit = Unit::Element;
        let (region, ()) = self.nested(|l| {
            l.r.b().arg(Type::I64);
            let (shared, carried) = (l.local(dtype, PIECE), l.local(dtype, 1));
            let (zero, one) = (l.r.b().i64(0), l.r.b().i64(1));
            let (piece, items) = (l.r.b().i64(PIECE as i64), l.r.b().i64(ITEMS as i64));
            let block_size = l.r.b().i64(reduce::SCAN as i64);
            l.group(one, |l, item| {
                let nothing = l.nothing(dtype);
                l.r.b().effect(Op::MemStore { unit }, &[nothing, carried, item]);
                Ok(())
            })?;
            l.turns([zero, blocks, piece], &[], |l, first, _| {
                let left = l.int(Op::Sub, blocks, first);
                let count = l.int(Op::Min, left, piece);
                l.group(items, |l, item| {
                    l.turns([item, count, items], &[], |l, k, _| {
                        let next = l.int(Op::Add, first, k);
                        let next = l.int(Op::Add, next, one);
                        let end = l.int(Op::Mul, next, block_size);
                        let end = l.int(Op::Min, end, n);
                        let last = l.int(Op::Sub, end, one);
                        let v = l.r.b().value(Op::MemLoad { unit }, &[scanned.mem, last], ty.clone());
                        l.r.b().effect(Op::MemStore { unit }, &[v, shared, k]);
                        Ok(vec![])
                    })?;
                    Ok(())
                })?;
                l.group(one, |l, item| {
                    let so_far = l.r.b().value(Op::MemLoad { unit }, &[carried, item], ty.clone());
                    let so_far = l.turns([zero, count, one], &[so_far], |l, k, so_far| {
                        let block = l.int(Op::Add, first, k);
                        let mut b = l.r.b();
                        let last = b.value(Op::MemLoad { unit }, &[shared, k], ty.clone());
                        b.effect(Op::MemStore { unit }, &[so_far[0], shared, k]);
                        let all = l.fold_two(fold, so_far[0], last);
                        let mut b = l.r.b();
                        let is_first = b.value(Op::Cmp { is: CmpOp::Eq }, &[block, zero], Type::BOOL);
                        Ok(vec![b.value(Op::Select, &[is_first, last, all], ty.clone())])
                    })?;
                    l.r.b().effect(Op::MemStore { unit }, &[so_far[0], carried, item]);
                    Ok(())
                })?;
                l.group(items, |l, item| {
                    l.turns([item, count, items], &[], |l, k, _| {
                        let v = l.r.b().value(Op::MemLoad { unit }, &[shared, k], ty.clone());
                        let to = l.int(Op::Add, first, k);
                        l.r.b().effect(Op::MemStore { unit }, &[v, before, to]);
                        Ok(vec![])
                    })?;
                    Ok(())
                })?;
                Ok(vec![])
            })?;
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        let one = self.r.b().i64(1);
        self.at_place(Op::ParFor { cost: 1, level: Level::Grid(ITEMS as u32) }, &[one], region);
        Ok(())
    }

    /// Some element of a dtype.
    pub(super) fn nothing(&mut self, dtype: DType) -> ValueId {
        let value = match dtype {
            DType::Bool => Const::Bool(false),
            d if d.is_int() => Const::Int(0),
            _ => Const::Float(0.0),
        };
        self.r.b().constant(value, Type::Num(dtype))
    }
}
