//! Control flow, cells and calls: arrays go through as their slots.

use super::array::Array;
use super::{Lower, cost, space_of};
use crate::analysis::alias;
use std::collections::BTreeSet;
use std::sync::Arc;
use weft_diag::Diagnostic;
use weft_ir::attr::CmpOp;
use weft_ir::build::machine_type;
use weft_ir::{Builder, DType, Dim, Op, OpId, RegionId, Type, ValueId};

/// Ops that values pass through.
pub fn is_flow(op: &Op) -> bool {
    use Op::*;
    matches!(op, ScfIf | ScfFor | ScfLoop | ScfBlock | ScfTry | ParBlocks { .. })
        || matches!(op, Yield | Break { .. } | Continue { .. } | Call { .. })
}

/// Types of the slots of a value.
pub fn slot_types(ty: &Type) -> Vec<Type> {
    match ty {
        Type::Tensor(t) => {
            let mut types = vec![Type::Mem(t.dtype, space_of(&t.place)), Type::Owner];
            types.resize(2 + 2 * t.rank(), Type::I64);
            types
        }
        Type::Py(weft_ir::Weak::None) => vec![],
        Type::List(_) => vec![Type::Mem(DType::I64, weft_ir::Space::Host), Type::Owner],
        Type::Cell(held) => slot_types(held).into_iter().map(|ty| Type::Cell(Arc::new(ty))).collect(),
        other => vec![machine_type(other)],
    }
}

impl Lower<'_> {
    /// What an old value is now.
    pub fn slots(&self, v: ValueId) -> Vec<ValueId> {
        if let Some(list) = self.lists.get(&v) {
            return vec![list.header, list.owner];
        }
        if let Some(cells) = self.cells.get(&v) {
            return cells.clone();
        }
        match self.arrays.get(&v) {
            Some(a) => a.slots().collect(),
            None if *self.r.src.ty(v) == Type::NONE => vec![],
            None => vec![self.r.get(v)],
        }
    }

    /// Says what an old value is now. Symbols that an array is the first to have get their values from it.
    pub fn define(&mut self, old: ValueId, slots: &[ValueId]) {
        match self.r.src.ty(old).clone() {
            Type::Tensor(t) => {
                let (sizes, strides) = slots[2..].split_at(t.rank());
                for (&d, &v) in t.dims.iter().zip(sizes).filter(|(d, _)| matches!(d, Dim::Sym(_))) {
                    self.sizes.entry(d).or_insert(v);
                }
                let sizes = t.dims.iter().map(|&d| self.size(d)).collect();
                let array = Array { ty: (*t).clone(), mem: slots[0], owner: slots[1], sizes, strides: strides.into() };
                self.arrays.insert(old, array);
            }
            Type::List(_) => {
                self.lists.insert(old, super::list::List { header: slots[0], owner: slots[1] });
            }
            Type::Cell(_) => {
                self.cells.insert(old, slots.into());
            }
            _ => slots.iter().for_each(|&v| self.r.set(old, v)),
        }
    }

    /// The same op on slots.
    pub fn flow(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let mut operands: Vec<ValueId> = data.operands.iter().flat_map(|&v| self.slots(v)).collect();
        if matches!(data.op, Op::ParBlocks { .. })
            && let Some(overlaps) = self.blocks_overlap(data.regions[0])
        {
            let zero = self.r.b().i64(0);
            operands[1] = self.r.b().value(Op::Select, &[overlaps, zero, operands[1]], Type::I64);
        }
        let types: Vec<Vec<Type>> = data.results.iter().map(|&v| slot_types(self.r.src.ty(v))).collect();
        let mut regions = vec![];
        for &old in &data.regions {
            let (new, ()) = self.nested(|l| {
                let mut args = vec![];
                for &a in &l.r.src.region(old).args {
                    let slots = slot_types(l.r.src.ty(a)).into_iter().map(|ty| l.r.b().arg(ty));
                    args.push((a, slots.collect::<Vec<_>>()));
                }
                args.iter().for_each(|(a, slots)| l.define(*a, slots));
                l.block(old)
            })?;
            regions.push(new);
        }
        self.r.span = data.span;
        let op = match data.op {
            Op::ParBlocks { cost: 0 } if cost::is_unknown(&self.r.dst, regions[0]) => {
                Op::ParBlocks { cost: weft_ir::UNKNOWN_COST }
            }
            // Of the region, most is a loop over the block's iterations, of which the estimate takes there to be 16.
            Op::ParBlocks { cost: 0 } => Op::ParBlocks { cost: (cost::of_region(&self.r.dst, regions[0]) / 16).max(1) },
            op => op,
        };
        let op = self.r.b().op(op, &operands, &types.concat(), &regions);
        let slots = self.r.dst.op(op).results.clone();
        let mut slots = &slots[..];
        for (&v, types) in data.results.iter().zip(&types) {
            let (own, rest) = slots.split_at(types.len());
            self.define(v, own);
            slots = rest;
        }
        Ok(())
    }

    /// Whether different arrays that blocks of a `prange` use share memory that they write, decided at run time; `None` if
    /// that cannot be. What each array's own accesses do to each other was looked at before (`races`).
    fn blocks_overlap(&mut self, region: RegionId) -> Option<ValueId> {
        let src = self.r.src;
        let defs = crate::canon::definitions(src);
        let (mut used, mut written) = (BTreeSet::new(), BTreeSet::new());
        src.walk_region(region, &mut |id| {
            let data = src.op(id);
            let tensors = data.operands.iter().filter(|&&v| src.ty(v).as_tensor().is_some());
            used.extend(tensors.map(|&v| alias::root(src, &defs, v)));
            written.extend(data.written().iter().map(|&v| alias::root(src, &defs, v)));
        });
        let mut overlaps = None;
        for w in &written {
            for other in used.iter().filter(|&o| o != w && !(written.contains(o) && o < w)) {
                // Those made inside have become nothing yet.
                let (Some(a), Some(b)) = (self.arrays.get(w).cloned(), self.arrays.get(other).cloned()) else {
                    continue;
                };
                if let Some(meet) = self.share_memory(&a, &b) {
                    overlaps = Some(self.either(overlaps, meet));
                }
            }
        }
        overlaps
    }

    /// `scf.cell`, `scf.get`, `scf.set`: one for each slot.
    pub fn cell(&mut self, id: OpId) {
        let data = self.r.src.op(id).clone();
        match data.op {
            Op::CellNew => {
                let mut cells = vec![];
                for v in self.slots(data.operands[0]) {
                    let ty = Type::Cell(Arc::new(self.r.dst.ty(v).clone()));
                    cells.push(self.r.b().value(Op::CellNew, &[v], ty));
                }
                self.cells.insert(data.results[0], cells);
            }
            Op::CellGet => {
                let mut slots = vec![];
                for cell in self.cells[&data.operands[0]].clone() {
                    let Type::Cell(held) = self.r.dst.ty(cell).clone() else { continue };
                    let v = self.r.b().value(Op::CellGet, &[cell], (*held).clone());
                    if *held == Type::Owner {
                        // The cell may be given another array while this one is in use.
                        self.r.b().effect(Op::MemRetain, &[v]);
                    }
                    slots.push(v);
                }
                // Another array than the last time, maybe of other sizes.
                for d in crate::canon::dims(self.r.src, data.results[0]) {
                    self.sizes.remove(d);
                }
                self.define(data.results[0], &slots);
            }
            _ => {
                let slots = self.slots(data.operands[0]);
                for (v, cell) in slots.into_iter().zip(self.cells[&data.operands[1]].clone()) {
                    self.r.b().effect(Op::CellSet, &[v, cell]);
                }
            }
        }
    }

    /// `nt.null`.
    pub fn null(&mut self, id: OpId) {
        let old = self.r.src.op(id).results[0];
        let Some(t) = self.r.src.ty(old).as_tensor().cloned() else { return };
        let zero = self.r.b().i64(0);
        let types = [Type::Mem(t.dtype, space_of(&t.place)), Type::Owner];
        let op = self.r.b().op(Op::MemNull, &[], &types, &[]);
        let results = self.r.dst.op(op).results.clone();
        let size = |l: &mut Self, d: Dim| if let Dim::Const(_) = d { l.size(d) } else { zero };
        let sizes = t.dims.iter().map(|&d| size(self, d)).collect();
        let strides = vec![zero; t.rank()];
        self.arrays.insert(old, Array { ty: t, mem: results[0], owner: results[1], sizes, strides });
    }

    /// `nt.index`: an exception where the index is outside. Sizes are not negative, so one comparison without sign does.
    pub fn checked_index(&mut self, id: OpId, wrap: bool, site: u32) {
        let data = self.r.src.op(id).clone();
        let (index, size) = (self.r.get(data.operands[0]), self.r.get(data.operands[1]));
        let ty = self.r.dst.ty(index).clone();
        let unsigned = if ty == Type::I32 { DType::U32 } else { DType::U64 };
        let on_host = self.place.is_host() && !self.r.src.kernel;
        let mut b = self.r.b();
        let mut at = index;
        if wrap && !on_host {
            at = b.value(Op::Wrap, &[index, size], ty.clone());
        }
        let is_outside = |b: &mut Builder<'_>, at: ValueId| {
            let (have, most) = (b.cast(at, Type::Num(unsigned)), b.cast(size, Type::Num(unsigned)));
            b.value(Op::Cmp { is: CmpOp::Ge }, &[have, most], Type::BOOL)
        };
        let outside = is_outside(&mut b, at);
        let given = (wrap && on_host).then_some(index);
        let (goes_on, _) = b.region(|b| b.effect(Op::Yield, given.as_slice()));
        let raise = |b: &mut Builder<'_>| b.effect(Op::Raise { site }, &[index, size]);
        if wrap && on_host {
            // Most indices are inside as they are: the others are looked at again, counted from the end. What was too large
            // is so still, and the sum of two such numbers at most becomes negative.
            let (other, _) = b.region(|b| {
                let from_end = b.value(Op::Add, &[index, size], ty.clone());
                let outside = is_outside(b, from_end);
                let (raises, _) = b.region(raise);
                let (inside, _) = b.region(|b| b.effect(Op::Yield, &[]));
                b.op(Op::ScfIf, &[outside], &[], &[raises, inside]);
                b.effect(Op::Yield, &[from_end]);
            });
            let made = b.op(Op::ScfIf, &[outside], &[ty], &[other, goes_on]);
            at = b.func.op(made).results[0];
        } else {
            let (raises, _) = b.region(raise);
            b.op(Op::ScfIf, &[outside], &[], &[raises, goes_on]);
        }
        self.r.set(data.results[0], at);
    }
}
