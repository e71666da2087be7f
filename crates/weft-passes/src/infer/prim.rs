//! What the library is written in: operations on one element that have no spelling in Python.

use super::Infer;
use super::abs::Abs;
use weft_diag::Diagnostic;
use weft_ir::rules::float_function;
use weft_ir::{DType, Op, Type, ValueId, Weak};

impl Infer<'_> {
    /// A call of `weft.lib.prim.<name>`.
    pub(super) fn primitive(&mut self, name: &str, args: &[Abs]) -> Result<Abs, Diagnostic> {
        let one = |s: &Self| args.first().ok_or_else(|| s.internal("a primitive without argument"));
        match (name, args) {
            ("sin", [x]) => self.math(Op::Sin, x),
            ("cos", [x]) => self.math(Op::Cos, x),
            ("exp", [x]) => self.math(Op::Exp, x),
            ("log", [x]) => self.math(Op::Log, x),
            ("sqrt", [x]) => self.math(Op::Sqrt, x),
            ("absolute", [x]) => self.absolute(x),
            ("minimum", [x, y]) => self.choose(Op::Min, x, y),
            ("maximum", [x, y]) => self.choose(Op::Max, x, y),
            ("select", [c, x, y]) => self.select(c, x, y),
            ("position", [dim]) => self.position(dim),
            ("cast_like", [x, like]) => self.cast_like(x, like),
            _ => {
                let what = format!("prim.{name} of {} arguments, {}", args.len(), self.describe(one(self)?));
                Err(self.internal(&what))
            }
        }
    }

    /// A float function: ints become the float NumPy computes in.
    fn math(&mut self, op: Op, x: &Abs) -> Result<Abs, Diagnostic> {
        let dtype = self.element_dtype(x)?;
        let v = self.as_dtype(x, float_function(dtype))?;
        let ty = self.out.ty(v).clone();
        Ok(Abs::Value(self.emit(op, &[v], ty)))
    }

    /// Dtype of an element; weak ones count as their default.
    fn element_dtype(&self, x: &Abs) -> Result<DType, Diagnostic> {
        self.type_of(x)
            .and_then(|t| t.scalar_dtype())
            .ok_or_else(|| self.typing(format!("expected a number or an array, found {}", self.describe(x))))
    }

    fn absolute(&mut self, x: &Abs) -> Result<Abs, Diagnostic> {
        let v = self.strengthen(x)?;
        match self.out.ty(v).clone() {
            Type::Num(DType::Bool) => Ok(Abs::Value(v)),
            ty => Ok(Abs::Value(self.emit(Op::Abs, &[v], ty))),
        }
    }

    /// Both values in the dtype where they meet.
    fn met(&mut self, x: &Abs, y: &Abs) -> Result<(ValueId, ValueId, Type), Diagnostic> {
        let dtype = self.meet(x, y)?;
        Ok((self.as_dtype(x, dtype)?, self.as_dtype(y, dtype)?, Type::Num(dtype)))
    }

    fn choose(&mut self, op: Op, x: &Abs, y: &Abs) -> Result<Abs, Diagnostic> {
        let (x, y, ty) = self.met(x, y)?;
        Ok(Abs::Value(self.emit(op, &[x, y], ty)))
    }

    fn select(&mut self, c: &Abs, x: &Abs, y: &Abs) -> Result<Abs, Diagnostic> {
        let c = self.as_dtype(c, DType::Bool)?;
        let (x, y, ty) = self.met(x, y)?;
        Ok(Abs::Value(self.emit(Op::Select, &[c, x, y], ty)))
    }

    /// Index of this element along a dimension of the result.
    fn position(&mut self, dim: &Abs) -> Result<Abs, Diagnostic> {
        let (Abs::Const(weft_ir::attr::Const::Int(dim)), Some(body)) = (dim, self.body) else {
            return Err(self.internal("prim.position outside an elementwise body"));
        };
        if *dim < 0 || *dim >= body.rank as i128 {
            return Err(self.internal("prim.position beyond the rank"));
        }
        Ok(Abs::Value(self.emit(Op::NtPosition { dim: *dim as u32 }, &[], Type::I64)))
    }

    /// `x` converted to the dtype of `like`.
    fn cast_like(&mut self, x: &Abs, like: &Abs) -> Result<Abs, Diagnostic> {
        let dtype = self.element_dtype(like)?;
        let v = match self.as_weak(x) {
            // Plain conversion: no range check, as `astype` does.
            Some(Weak::Int | Weak::Float | Weak::Bool) => self.strengthen(x)?,
            _ => self.materialise(x)?,
        };
        Ok(Abs::Value(self.cast(v, Type::Num(dtype))))
    }
}
