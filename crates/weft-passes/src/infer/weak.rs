//! Weak scalars entering a dtype: NEP 50's range checks, and Python ints meeting floats.

use super::Infer;
use super::abs::Abs;
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{DType, ExcClass, Op, Type, ValueId, Weak, half};

impl Infer<'_> {
    /// A scalar as a value of `dtype`. Weak ints are range-checked where the dtype is narrower.
    pub(super) fn as_dtype(&mut self, a: &Abs, dtype: DType) -> Result<ValueId, Diagnostic> {
        let ty = Type::Num(dtype);
        match a {
            Abs::Const(Const::Int(v)) => self.int_constant(*v, dtype),
            Abs::Const(Const::Float(v)) if dtype.is_float() => Ok(self.constant(Const::Float(round_to(*v, dtype)), ty)),
            Abs::Const(Const::Float(v)) if dtype.is_complex() => Ok(self.complex_constant(*v, 0.0, dtype)),
            Abs::Const(Const::Complex(re, im)) if dtype.is_complex() => Ok(self.complex_constant(*re, *im, dtype)),
            Abs::Const(_) => {
                let v = self.materialise(a)?;
                Ok(self.cast(v, ty))
            }
            Abs::Value(v) => {
                let v = *v;
                match self.out.ty(v) {
                    Type::Py(Weak::Int) if dtype.is_int() => {
                        let range = self.range(a);
                        Ok(self.hoisted(v, |s| s.narrow(v, range, dtype)))
                    }
                    // NumPy goes through a C double.
                    Type::Py(Weak::Int) if dtype.is_float() || dtype.is_complex() => Ok(self.hoisted(v, |s| {
                        let wide = s.cast(v, Type::F64);
                        s.cast(wide, ty)
                    })),
                    Type::Py(_) => Ok(self.hoisted(v, |s| s.cast(v, ty))),
                    Type::Num(_) => Ok(self.cast(v, ty)),
                    _ => Err(self.typing(format!("expected a number, found {}", self.describe(a)))),
                }
            }
            other => Err(self.typing(format!("expected a number, found {}", self.describe(other)))),
        }
    }

    fn int_constant(&mut self, v: i128, dtype: DType) -> Result<ValueId, Diagnostic> {
        let value = match dtype {
            DType::Bool => Const::Bool(v != 0),
            d if d.is_float() => Const::Float(round_to(v as f64, d)),
            d if d.is_complex() => return Ok(self.complex_constant(v as f64, 0.0, d)),
            d => {
                let bounds = d.int_bounds().unwrap_or((0, 0));
                if v < bounds.0 || v > bounds.1 {
                    // NumPy makes a C long of it first.
                    return Err(match i64::try_from(v) {
                        Ok(v) => self.overflow(format!("Python integer {v} out of bounds for {}", d.numpy_name())),
                        Err(_) => self.overflow(super::index::TOO_LARGE),
                    });
                }
                Const::Int(v)
            }
        };
        Ok(self.constant(value, Type::Num(dtype)))
    }

    fn complex_constant(&mut self, re: f64, im: f64, dtype: DType) -> ValueId {
        let part = dtype.part().unwrap_or(DType::F64);
        self.constant(Const::Complex(round_to(re, part), round_to(im, part)), Type::Num(dtype))
    }

    /// A pyint as an integer dtype, or OverflowError.
    fn narrow(&mut self, v: ValueId, range: (i128, i128), dtype: DType) -> ValueId {
        let (lo, hi) = dtype.int_bounds().unwrap_or(range);
        let template = format!("Python integer {{i}} out of bounds for {}", dtype.numpy_name());
        if range.0 < lo {
            let bound = self.constant(Const::Int(lo), Type::PYINT);
            let low = self.test(CmpOp::Lt, v, bound);
            self.raise_if(low, ExcClass::OverflowError, &template, &[v]);
        }
        if range.1 > hi {
            let bound = self.constant(Const::Int(hi), Type::PYINT);
            let high = self.test(CmpOp::Gt, v, bound);
            self.raise_if(high, ExcClass::OverflowError, &template, &[v]);
        }
        self.cast(v, Type::Num(dtype))
    }

    /// A strong scalar with the default dtype of a weak one; strong ones stay.
    pub(super) fn strengthen(&mut self, a: &Abs) -> Result<ValueId, Diagnostic> {
        match self.as_weak(a) {
            Some(w) => self.as_dtype(a, w.default_dtype()),
            None => self.materialise(a),
        }
    }

    /// A NumPy integer as pyint, or OverflowError for a uint64 that is none.
    pub(super) fn integer_as_pyint(&mut self, v: ValueId) -> ValueId {
        if *self.out.ty(v) == Type::Num(DType::U64) {
            let most = self.constant(Const::Int(i64::MAX.into()), Type::Num(DType::U64));
            let beyond = self.test(CmpOp::Gt, v, most);
            let message = "a uint64 beyond 2**63 - 1 leaves the 64 bits Weft gives Python ints";
            self.raise_if(beyond, ExcClass::OverflowError, message, &[]);
        }
        self.cast(v, Type::PYINT)
    }

    /// A Python number as pyfloat by Python's own rounding (`float(x)`, and arithmetic with a float).
    pub(super) fn pyfloat(&mut self, a: &Abs) -> Result<ValueId, Diagnostic> {
        if let Abs::Const(Const::Int(v)) = a {
            return Ok(self.constant(Const::Float(*v as f64), Type::PYFLOAT));
        }
        let v = self.materialise(a)?;
        Ok(self.cast(v, Type::PYFLOAT))
    }

    /// A Python number as pycomplex.
    pub(super) fn pycomplex(&mut self, a: &Abs) -> Result<ValueId, Diagnostic> {
        if self.type_of(a).is_some_and(|t| t.part().is_some()) {
            let v = self.materialise(a)?;
            return Ok(self.cast(v, Type::PYCOMPLEX));
        }
        let v = self.pyfloat(a)?;
        Ok(self.cast(v, Type::PYCOMPLEX))
    }

    /// A Python int or bool as pyint.
    pub(super) fn pyint(&mut self, a: &Abs) -> Result<ValueId, Diagnostic> {
        if let Abs::Const(Const::Bool(b)) = a {
            return Ok(self.constant(Const::Int((*b).into()), Type::PYINT));
        }
        let range = self.range(a);
        let v = self.materialise(a)?;
        if *self.out.ty(v) == Type::PYINT {
            return Ok(v);
        }
        let v = self.emit(Op::Cast, &[v], Type::PYINT);
        self.ranges.insert(v, range);
        Ok(v)
    }
}

fn round_to(v: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => half::round(v),
        DType::F32 => f64::from(v as f32),
        _ => v,
    }
}
