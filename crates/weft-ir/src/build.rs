//! Building functions: a cursor into a region, and one method that every op goes through.

use crate::attr::Const;
use crate::func::{Func, OpData, OpId, RegionId, ValueId};
use crate::ops::Op;
use crate::types::{DType, Type, Weak};
use smallvec::SmallVec;
use weft_diag::Span;

/// Appends ops to a region of a function.
pub struct Builder<'f> {
    /// The function being built.
    pub func: &'f mut Func,
    /// Where ops go.
    pub region: RegionId,
    /// Span given to new ops.
    pub span: Span,
}

impl<'f> Builder<'f> {
    /// A builder at the end of the function's body.
    pub fn new(func: &'f mut Func) -> Builder<'f> {
        let region = func.body;
        Builder { func, region, span: Span::NONE }
    }

    /// Adds a parameter to the current region.
    pub fn arg(&mut self, ty: Type) -> ValueId {
        let v = self.func.new_value(ty);
        self.func.regions[self.region.index()].args.push(v);
        v
    }

    /// Appends an op.
    pub fn op(&mut self, op: Op, operands: &[ValueId], results: &[Type], regions: &[RegionId]) -> OpId {
        let results: SmallVec<[ValueId; 2]> = results.iter().map(|t| self.func.new_value(t.clone())).collect();
        let data = OpData { op, operands: operands.into(), results, regions: regions.into(), span: self.span };
        self.func.ops.push(data);
        let id = OpId((self.func.ops.len() - 1) as u32);
        self.func.regions[self.region.index()].ops.push(id);
        id
    }

    /// Appends an op with one result and returns it.
    pub fn value(&mut self, op: Op, operands: &[ValueId], result: Type) -> ValueId {
        let id = self.op(op, operands, &[result], &[]);
        self.func.op(id).results[0]
    }

    /// Appends an op without results.
    pub fn effect(&mut self, op: Op, operands: &[ValueId]) -> OpId {
        self.op(op, operands, &[], &[])
    }

    /// Fills a new region: `fill` runs with the cursor in it.
    pub fn region<R>(&mut self, fill: impl FnOnce(&mut Builder<'_>) -> R) -> (RegionId, R) {
        let region = self.func.new_region();
        let mut inner = Builder { func: self.func, region, span: self.span };
        let result = fill(&mut inner);
        (region, result)
    }

    /// `arith.const` of an i64.
    pub fn i64(&mut self, value: i64) -> ValueId {
        self.value(Op::Const { value: Const::Int(value.into()) }, &[], Type::I64)
    }

    /// `arith.const` of any scalar type from a number that fits it.
    pub fn constant(&mut self, value: Const, ty: Type) -> ValueId {
        self.value(Op::Const { value }, &[], ty)
    }

    /// `arith.cast`, or the value itself when it has the type already.
    pub fn cast(&mut self, v: ValueId, ty: Type) -> ValueId {
        if *self.func.ty(v) == ty { v } else { self.value(Op::Cast, &[v], ty) }
    }

    /// Type of a value.
    pub fn ty(&self, v: ValueId) -> Type {
        self.func.ty(v).clone()
    }
}

/// The strong type with a scalar's bits: what weak types become at stage `loops`.
pub fn machine_type(ty: &Type) -> Type {
    match ty {
        Type::Py(Weak::Bool) => Type::Num(DType::Bool),
        Type::Py(w) => Type::Num(w.default_dtype()),
        other => other.clone(),
    }
}
