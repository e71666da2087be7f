//! `nt.copy` and `nt.alloc`: loops that only store.
//!
//! All values are read before the first is written: where the two arrays may share memory, a test of their extents
//! decides at run time whether the values go through memory of their own. Identical arrays need none.

use super::Lower;
use super::array::Array;
use super::cost;
use super::elementwise::Space;
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{DType, Dim, Layout, Op, OpId, TensorType, Type, ValueId};

/// What is written.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// One value everywhere.
    Scalar(ValueId),
    /// An array of the same sizes.
    Array(&'a Array),
}

impl Lower<'_> {
    /// `nt.alloc`.
    pub fn new_array(&mut self, id: OpId, zero: bool) -> Result<(), Diagnostic> {
        let result = self.r.src.op(id).results[0];
        let ty = self.r.src.ty(result).as_tensor().cloned();
        let ty = ty.ok_or_else(|| Diagnostic::internal(self.r.src.op(id).span, "an allocation of no array"))?;
        let at = self.place.clone();
        let (array, bytes) = self.alloc_counted(&ty, &at);
        if zero && at.is_host() {
            self.r.b().effect(Op::MemZero, &[array.mem, bytes]);
        } else if zero {
            let zero = self.zero(ty.dtype);
            self.copy_loop(&array, Source::Scalar(zero))?;
        }
        self.arrays.insert(result, array);
        Ok(())
    }

    fn zero(&mut self, dtype: DType) -> ValueId {
        let value = match dtype {
            DType::Bool => Const::Bool(false),
            d if d.is_int() => Const::Int(0),
            d if d.is_complex() => Const::Complex(0.0, 0.0),
            _ => Const::Float(0.0),
        };
        self.r.b().constant(value, Type::Num(dtype))
    }

    /// `nt.copy`.
    pub fn copy(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let to = self.array(data.operands[0]).clone();
        let Some(from) = self.arrays.get(&data.operands[1]).cloned() else {
            let v = self.element(data.operands[1], to.ty.dtype);
            return self.copy_loop(&to, Source::Scalar(v));
        };
        if self.apart(&to, &from) {
            return self.copy_loop(&to, Source::Array(&from));
        }
        let from = self.read_first(&to, &from)?;
        self.copy_loop(&to, Source::Array(&from))
    }

    /// Whether two arrays cannot share memory: they are of different memory, some of which this function allocated.
    fn apart(&self, a: &Array, b: &Array) -> bool {
        match (self.roots.get(&a.owner), self.roots.get(&b.owner)) {
            (Some(a), Some(b)) => a != b && (self.allocated.contains(a) || self.allocated.contains(b)),
            _ => false,
        }
    }

    /// `from`, or a copy of it if writing `to` would change what is read.
    fn read_first(&mut self, to: &Array, from: &Array) -> Result<Array, Diagnostic> {
        let (a, b) = (self.extent(to), self.extent(from));
        let mut build = self.r.b();
        let below = build.value(Op::Cmp { is: CmpOp::Lt }, &[a.1, b.2], Type::BOOL);
        let above = build.value(Op::Cmp { is: CmpOp::Lt }, &[b.1, a.2], Type::BOOL);
        let mut overlaps = build.value(Op::And, &[below, above], Type::BOOL);
        let mut other = build.value(Op::Cmp { is: CmpOp::Ne }, &[a.0, b.0], Type::BOOL);
        for k in (0..to.ty.rank()).filter(|&k| to.ty.dims[k] != Dim::Const(1)) {
            let ne = build.value(Op::Cmp { is: CmpOp::Ne }, &[to.strides[k], from.strides[k]], Type::BOOL);
            other = build.value(Op::Or, &[other, ne], Type::BOOL);
        }
        overlaps = build.value(Op::And, &[overlaps, other], Type::BOOL);
        let (copies, ()) = self.nested(|l| {
            let layout = if from.ty.layout == Layout::F { Layout::F } else { Layout::C };
            let place = from.ty.place.clone();
            let copy = l.alloc(&TensorType { layout, ..from.ty.clone() }, &place);
            l.copy_loop(&copy, Source::Array(from))?;
            let values: Vec<ValueId> = [copy.mem, copy.owner].into_iter().chain(copy.strides).collect();
            l.r.b().effect(Op::Yield, &values);
            Ok(())
        })?;
        let same: Vec<ValueId> = [from.mem, from.owner].into_iter().chain(from.strides.iter().copied()).collect();
        let types: Vec<Type> = same.iter().map(|&v| self.r.dst.ty(v).clone()).collect();
        let mut build = self.r.b();
        let (stays, _) = build.region(|b| b.effect(Op::Yield, &same));
        let chosen = build.op(Op::ScfIf, &[overlaps], &types, &[copies, stays]);
        let values = self.r.dst.op(chosen).results.to_vec();
        Ok(Array { mem: values[0], owner: values[1], strides: values[2..].to_vec(), ..from.clone() })
    }

    /// Address of an array, and the addresses between which its elements are.
    fn extent(&mut self, a: &Array) -> (ValueId, ValueId, ValueId) {
        let mut b = self.r.b();
        let address = b.value(Op::MemAddress, &[a.mem], Type::I64);
        let (zero, one) = (b.i64(0), b.i64(1));
        let item = b.i64(a.ty.dtype.size() as i64);
        let (mut low, mut high) = (address, b.value(Op::Add, &[address, item], Type::I64));
        for k in (0..a.ty.rank()).filter(|&k| a.ty.dims[k] != Dim::Const(1)) {
            let last = b.value(Op::Sub, &[a.sizes[k], one], Type::I64);
            let reach = b.value(Op::Mul, &[last, a.strides[k]], Type::I64);
            let down = b.value(Op::Min, &[reach, zero], Type::I64);
            let up = b.value(Op::Max, &[reach, zero], Type::I64);
            low = b.value(Op::Add, &[low, down], Type::I64);
            high = b.value(Op::Add, &[high, up], Type::I64);
        }
        (address, low, high)
    }

    /// Stores every element of `to`.
    pub fn copy_loop(&mut self, to: &Array, from: Source<'_>) -> Result<(), Diagnostic> {
        let dims = to.ty.dims.clone();
        let axes: Vec<usize> = (0..dims.len()).filter(|&k| dims[k] != Dim::Const(1)).collect();
        let layouts = match from {
            Source::Scalar(_) => [to.ty.layout; 2],
            Source::Array(a) => [to.ty.layout, a.ty.layout],
        };
        let collapsed = axes.len() > 1 && (layouts == [Layout::C; 2] || layouts == [Layout::F; 2]);
        let space = Space { dims, axes, collapsed };
        let mut sizes: Vec<ValueId> = space.axes.iter().map(|&k| self.size(space.dims[k])).collect();
        if collapsed {
            sizes = vec![self.product(&sizes)];
        }
        if sizes.is_empty() {
            self.copy_item(&space, to, from, &[]);
            return Ok(());
        }
        let count = sizes.len();
        let (region, ()) = self.nested(|l| {
            let indices: Vec<ValueId> = (0..count).map(|_| l.r.b().arg(Type::I64)).collect();
            l.copy_item(&space, to, from, &indices);
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        let cost = cost::of_region(&self.r.dst, region);
        let op = if self.place.is_host() { Op::ParFor { cost } } else { Op::SimtItems };
        self.r.b().op(op, &sizes, &[], &[region]);
        Ok(())
    }

    fn copy_item(&mut self, space: &Space, to: &Array, from: Source<'_>, indices: &[ValueId]) {
        let position = self.position_of(space, indices);
        let v = match from {
            Source::Scalar(v) => v,
            Source::Array(a) => {
                let (at, unit) = self.place_of(a, space, &position, indices);
                self.r.b().value(Op::MemLoad { unit }, &[a.mem, at], Type::Num(a.ty.dtype))
            }
        };
        let (at, unit) = self.place_of(to, space, &position, indices);
        self.r.b().effect(Op::MemStore { unit }, &[v, to.mem, at]);
    }
}
