//! `nt.elementwise` → a loop on the host, work-items on a device, or nothing but its body for a single element.
//!
//! Dimensions of constant size 1 are no loops. If every array covers the whole space and all are C or all are F, the
//! space is one dimension and elements are counted; else there is one index per dimension, and each array is
//! addressed by element (C and F) or by byte strides (others).

use super::array::Array;
use super::{Lower, cost};
use weft_diag::Diagnostic;
use weft_ir::attr::{Level, Unit};
use weft_ir::{Dim, Layout, Op, OpId, Type, ValueId};

/// The iteration space of one op.
pub(super) struct Space {
    pub dims: Vec<Dim>,
    /// Dimensions that need an index.
    pub axes: Vec<usize>,
    /// One index for all of them.
    pub collapsed: bool,
}

impl Lower<'_> {
    /// The op with its loop.
    pub fn elementwise(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let at = self.place.clone();
        let mut outputs = vec![];
        for &v in &data.results {
            let t = self.r.src.ty(v).as_tensor().cloned();
            let t = t.ok_or_else(|| Diagnostic::internal(data.span, "an elementwise result is not an array"))?;
            outputs.push(self.alloc(&t, &at));
        }
        self.elementwise_into(id, &outputs, None)?;
        for (&v, a) in data.results.iter().zip(outputs) {
            self.arrays.insert(v, a);
        }
        Ok(())
    }

    /// The loop, with its results in arrays that are there; with a mask, only where it is true.
    pub(super) fn elementwise_into(
        &mut self,
        id: OpId,
        outputs: &[Array],
        mask: Option<&Array>,
    ) -> Result<(), Diagnostic> {
        self.elementwise_in_order(id, outputs, mask, None)
    }

    /// The same, by one thread from the first element to the last where `in_order` is true.
    pub(super) fn elementwise_in_order(
        &mut self,
        id: OpId,
        outputs: &[Array],
        mask: Option<&Array>,
        in_order: Option<ValueId>,
    ) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let at = self.place.clone();
        let inputs: Vec<Option<Array>> = data.operands.iter().map(|v| self.arrays.get(v).cloned()).collect();
        let arrays: Vec<&Array> = inputs.iter().flatten().chain(mask).chain(outputs).collect();
        let space = self.space(id, &outputs[0].ty.dims, &arrays);
        let mut sizes: Vec<ValueId> = space.axes.iter().map(|&k| self.size(space.dims[k])).collect();
        if space.collapsed {
            sizes = vec![self.product(&sizes)];
        }
        if sizes.is_empty() && at.is_host() {
            self.items_body(id, &space, &inputs, (outputs, mask), &[])?;
        } else {
            if sizes.is_empty() {
                sizes.push(self.r.b().i64(1));
            }
            let count = sizes.len();
            let (region, ()) = self.nested(|l| {
                let indices: Vec<ValueId> = (0..count).map(|_| l.r.b().arg(Type::I64)).collect();
                l.items_body(id, &space, &inputs, (outputs, mask), &indices)?;
                l.r.b().effect(Op::Yield, &[]);
                Ok(())
            })?;
            self.r.span = data.span;
            sizes.extend(in_order);
            self.items(&sizes, region);
        }
        Ok(())
    }

    /// The loop, row by row, where each row begins with reading its elements of some columns.
    pub(super) fn elementwise_by_rows(&mut self, id: OpId, to: &Array, columns: &[ValueId]) -> Result<(), Diagnostic> {
        let outputs = std::slice::from_ref(to);
        if columns.is_empty() {
            return self.elementwise_into(id, outputs, None);
        }
        let data = self.r.src.op(id).clone();
        let inputs: Vec<Option<Array>> = data.operands.iter().map(|v| self.arrays.get(v).cloned()).collect();
        let arrays: Vec<&Array> = inputs.iter().flatten().chain(outputs).collect();
        let space = self.space(id, &to.ty.dims, &arrays);
        let sizes: Vec<ValueId> = space.dims.iter().map(|&d| self.size(d)).collect();
        let mut cost = 1;
        let (rows, ()) = self.nested(|l| {
            let row = l.r.b().arg(Type::I64);
            let first = [row, l.r.b().i64(0)];
            for &v in columns {
                let a = l.array(v).clone();
                let (at, unit) = l.place_of(&a, &space, &first, &first);
                let loaded = l.r.b().value(Op::MemLoad { unit }, &[a.mem, at], Type::Num(a.ty.dtype));
                l.loaded.insert(v, loaded);
            }
            let (items, ()) = l.nested(|l| {
                let column = l.r.b().arg(Type::I64);
                l.items_body(id, &space, &inputs, (outputs, None), &[row, column])?;
                l.r.b().effect(Op::Yield, &[]);
                Ok(())
            })?;
            l.loaded.clear();
            l.r.span = data.span;
            cost = cost::of_region(&l.r.dst, items);
            let mut b = l.r.b();
            b.op(Op::ParFor { cost, level: Level::Item }, &sizes[1..], &[], &[items]);
            b.effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.r.b().op(Op::ParBlocks { cost }, &sizes, &[], &[rows]);
        Ok(())
    }

    /// The space of these sizes, with the arrays that are read and written in it.
    pub(super) fn space(&self, id: OpId, dims: &[Dim], arrays: &[&Array]) -> Space {
        let dims = dims.to_vec();
        let axes: Vec<usize> = (0..dims.len()).filter(|&k| dims[k] != Dim::Const(1)).collect();
        let wide = |a: &&&Array| a.ty.dims.iter().any(|&d| d != Dim::Const(1));
        let arrays: Vec<&Array> = arrays.iter().filter(wide).copied().collect();
        let covers = |a: &Array| {
            let skip = dims.len() - a.ty.rank();
            axes.iter().all(|&k| k >= skip && a.ty.dims[k - skip] == dims[k])
        };
        let all = |layout: Layout| arrays.iter().all(|a| a.ty.layout == layout);
        let mut positions = false;
        let body = self.r.src.op(id).regions[0];
        self.r.src.walk_region(body, &mut |op| positions |= matches!(self.r.src.op(op).op, Op::NtPosition { .. }));
        let contiguous = all(Layout::C) || all(Layout::F);
        let collapsed = axes.len() > 1 && !positions && contiguous && arrays.iter().all(|a| covers(a));
        Space { dims, axes, collapsed }
    }

    /// Loads and the scalar body at the cursor. Returns the position, and what the body yields, as values of before.
    pub(super) fn values_at(
        &mut self,
        id: OpId,
        space: &Space,
        inputs: &[Option<Array>],
        indices: &[ValueId],
    ) -> Result<(Vec<ValueId>, Vec<ValueId>), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let position = self.position_of(space, indices);
        self.position.clone_from(&position);
        let body = self.r.src.region(data.regions[0]).clone();
        for ((&v, &arg), input) in data.operands.iter().zip(&body.args).zip(inputs) {
            if let Some(&loaded) = self.loaded.get(&v) {
                self.r.set(arg, loaded);
                continue;
            }
            let Some(a) = input else {
                self.alias(v, arg);
                continue;
            };
            let (at, unit) = self.place_of(a, space, &position, indices);
            let loaded = self.r.b().value(Op::MemLoad { unit }, &[a.mem, at], Type::Num(a.ty.dtype));
            self.r.set(arg, loaded);
        }
        for &op in &body.ops {
            let inner = self.r.src.op(op).clone();
            self.r.span = inner.span;
            match inner.op {
                Op::Yield => return Ok((position, inner.operands.to_vec())),
                Op::Raise { .. } => {
                    let message = "an elementwise body that always raises reached `loops`";
                    return Err(Diagnostic::internal(inner.span, message));
                }
                _ => self.op(op)?,
            }
        }
        Err(Diagnostic::internal(data.span, "an elementwise body yields nothing"))
    }

    /// Loads, the scalar body, stores, at the cursor.
    fn items_body(
        &mut self,
        id: OpId,
        space: &Space,
        inputs: &[Option<Array>],
        (outputs, mask): (&[Array], Option<&Array>),
        indices: &[ValueId],
    ) -> Result<(), Diagnostic> {
        let (position, yields) = self.values_at(id, space, inputs, indices)?;
        let store = |l: &mut Self| {
            for (a, &v) in outputs.iter().zip(&yields) {
                let v = l.element(v, a.ty.dtype);
                let (at, unit) = l.place_of(a, space, &position, indices);
                l.r.b().effect(Op::MemStore { unit }, &[v, a.mem, at]);
            }
        };
        let Some(mask) = mask else {
            store(self);
            return Ok(());
        };
        let (at, unit) = self.place_of(mask, space, &position, indices);
        let chosen = self.r.b().value(Op::MemLoad { unit }, &[mask.mem, at], Type::BOOL);
        let (stores, ()) = self.nested(|l| {
            store(l);
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        let mut build = self.r.b();
        let (nothing, _) = build.region(|b| b.effect(Op::Yield, &[]));
        build.op(Op::ScfIf, &[chosen], &[], &[stores, nothing]);
        Ok(())
    }

    /// One index per dimension of the space, unless it is collapsed; dimensions of size 1 are at 0.
    pub(super) fn position_of(&mut self, space: &Space, indices: &[ValueId]) -> Vec<ValueId> {
        if space.collapsed {
            return vec![];
        }
        let zero = self.r.b().i64(0);
        let mut position = vec![zero; space.dims.len()];
        for (&k, &i) in space.axes.iter().zip(indices) {
            position[k] = i;
        }
        position
    }

    /// Where an array's element for this item is, broadcast dimensions left out.
    pub(super) fn place_of(
        &mut self,
        a: &Array,
        space: &Space,
        position: &[ValueId],
        indices: &[ValueId],
    ) -> (ValueId, Unit) {
        let single = a.ty.dims.iter().all(|&d| d == Dim::Const(1));
        if space.collapsed && !single {
            return (indices[0], Unit::Element);
        }
        if single {
            return (self.r.b().i64(0), Unit::Element);
        }
        let skip = space.dims.len() - a.ty.rank();
        self.offset(a, &position[skip..])
    }
}
