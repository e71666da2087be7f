//! Complex numbers: CPython's rules between Python scalars, NumPy's comparisons, and their parts.

use super::Infer;
use super::abs::Abs;
use weft_diag::Diagnostic;
use weft_ir::attr::{BinOp, CmpOp, Const};
use weft_ir::{ExcClass, MathFn, Op, Type, ValueId, Weak};

impl Infer<'_> {
    /// Real and imaginary part of a complex value.
    fn complex_parts(&mut self, z: ValueId) -> (ValueId, ValueId, Type) {
        let ty = self.out.ty(z).part().unwrap_or(Type::PYFLOAT);
        (self.emit(Op::Real, &[z], ty.clone()), self.emit(Op::Imag, &[z], ty.clone()), ty)
    }

    /// `a op b` of Python numbers of which one is complex.
    pub(super) fn complex_binop(&mut self, op: BinOp, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        if let (Some(x), Some(y)) = (constant(a), constant(b))
            && let Some(folded) = fold(op, x, y)
        {
            return Ok(Abs::Const(folded));
        }
        let (x, y) = (self.pycomplex(a)?, self.pycomplex(b)?);
        match op {
            BinOp::Add => Ok(Abs::Value(self.emit(Op::Add, &[x, y], Type::PYCOMPLEX))),
            BinOp::Sub => Ok(Abs::Value(self.emit(Op::Sub, &[x, y], Type::PYCOMPLEX))),
            BinOp::Mul => Ok(Abs::Value(self.emit(Op::Mul, &[x, y], Type::PYCOMPLEX))),
            BinOp::Div => Ok(Abs::Value(self.complex_quotient(x, y))),
            BinOp::Pow => Ok(Abs::Value(self.complex_power(x, y))),
            _ => Err(self.not_defined(op, a, b)),
        }
    }

    /// CPython's division, which differs from NumPy's in its last rounding and raises for 0.
    fn complex_quotient(&mut self, x: ValueId, y: ValueId) -> ValueId {
        let ((xr, xi, ty), (yr, yi, _)) = (self.complex_parts(x), self.complex_parts(y));
        let float = |s: &mut Self, op: Op, p: ValueId, q: ValueId| s.emit(op, &[p, q], ty.clone());
        let (size_r, size_i) = (self.emit(Op::Abs, &[yr], ty.clone()), self.emit(Op::Abs, &[yi], ty.clone()));
        let zero = self.constant(Const::Float(0.0), ty.clone());
        let (zero_r, zero_i) = (self.test(CmpOp::Eq, yr, zero), self.test(CmpOp::Eq, yi, zero));
        let both = self.emit(Op::And, &[zero_r, zero_i], Type::PYBOOL);
        let by_zero = self.resolver.divides_by_zero();
        if !by_zero {
            self.raise_if(both, ExcClass::ZeroDivisionError, "complex division by zero", &[]);
        }
        let by_real = self.test(CmpOp::Ge, size_r, size_i);
        let pick = |s: &mut Self, p: ValueId, q: ValueId| s.emit(Op::Select, &[by_real, p, q], ty.clone());
        let (large, small) = (pick(self, yr, yi), pick(self, yi, yr));
        let ratio = float(self, Op::Div, small, large);
        let rest = float(self, Op::Mul, small, ratio);
        let divisor = float(self, Op::Add, large, rest);
        let (first, second) = (pick(self, xr, xi), pick(self, xi, xr));
        let scaled = float(self, Op::Mul, second, ratio);
        let real = float(self, Op::Add, first, scaled);
        let (left, right) = (float(self, Op::Mul, xr, ratio), float(self, Op::Mul, xi, ratio));
        let (left, right) = (float(self, Op::Sub, xi, left), float(self, Op::Sub, right, xr));
        let imaginary = pick(self, left, right);
        let (mut real, mut imaginary) = (float(self, Op::Div, real, divisor), float(self, Op::Div, imaginary, divisor));
        if by_zero {
            // As NumPy: each part is divided by zero.
            let (zero_real, zero_imaginary) = (float(self, Op::Div, xr, size_r), float(self, Op::Div, xi, size_r));
            real = self.emit(Op::Select, &[both, zero_real, real], ty.clone());
            imaginary = self.emit(Op::Select, &[both, zero_imaginary, imaginary], ty.clone());
        }
        self.emit(Op::Complex, &[real, imaginary], Type::PYCOMPLEX)
    }

    /// CPython's power, with its exceptions.
    fn complex_power(&mut self, x: ValueId, y: ValueId) -> ValueId {
        let ((xr, xi, ty), (yr, yi, _)) = (self.complex_parts(x), self.complex_parts(y));
        let zero = self.constant(Const::Float(0.0), ty.clone());
        let both = |s: &mut Self, op: Op, p: ValueId, q: ValueId| s.emit(op, &[p, q], Type::PYBOOL);
        let (zero_r, zero_i) = (self.test(CmpOp::Eq, xr, zero), self.test(CmpOp::Eq, xi, zero));
        let (negative, complex) = (self.test(CmpOp::Lt, yr, zero), self.test(CmpOp::Ne, yi, zero));
        let (base, exponent) = (both(self, Op::And, zero_r, zero_i), both(self, Op::Or, negative, complex));
        let refused = both(self, Op::And, base, exponent);
        if !self.resolver.divides_by_zero() {
            self.raise_if(refused, ExcClass::ZeroDivisionError, "0.0 to a negative or complex power", &[]);
        }
        let v = self.emit(Op::Pow, &[x, y], Type::PYCOMPLEX);
        let (vr, vi, _) = self.complex_parts(v);
        let (size_r, size_i) = (self.emit(Op::Abs, &[vr], ty.clone()), self.emit(Op::Abs, &[vi], ty.clone()));
        let most = self.constant(Const::Float(f64::MAX), ty);
        let (infinite_r, infinite_i) = (self.test(CmpOp::Gt, size_r, most), self.test(CmpOp::Gt, size_i, most));
        let infinite = both(self, Op::Or, infinite_r, infinite_i);
        self.raise_if(infinite, ExcClass::OverflowError, "complex exponentiation", &[]);
        v
    }

    /// `complex()`, `complex(z)` and `complex(re, im)`, where each may be any number: re + im * 1j.
    pub(super) fn builtin_complex(&mut self, args: &[Abs]) -> Result<Abs, Diagnostic> {
        for a in args {
            if !self.type_of(a).is_some_and(|t| t.is_scalar()) {
                return Err(self.typing(format!("complex() takes numbers, found {}", self.describe(a))));
            }
        }
        let [re, im] = args else {
            return match args {
                [z] => Ok(Abs::Value(self.pycomplex(z)?)),
                _ => Ok(Abs::Const(Const::Complex(0.0, 0.0))),
            };
        };
        let complex = |s: &Self, a: &Abs| s.type_of(a).is_some_and(|t| t.part().is_some());
        if !complex(self, re) && !complex(self, im) {
            let (re, im) = (self.pyfloat(re)?, self.pyfloat(im)?);
            return Ok(Abs::Value(self.emit(Op::Complex, &[re, im], Type::PYCOMPLEX)));
        }
        let (x, y) = (self.pycomplex(re)?, self.pycomplex(im)?);
        let ((xr, xi, ty), (yr, yi, _)) = (self.complex_parts(x), self.complex_parts(y));
        let real = if complex(self, im) { self.emit(Op::Sub, &[xr, yi], ty.clone()) } else { xr };
        let imaginary = if complex(self, re) { self.emit(Op::Add, &[yr, xi], ty) } else { yr };
        Ok(Abs::Value(self.emit(Op::Complex, &[real, imaginary], Type::PYCOMPLEX)))
    }

    /// `abs` of a Python complex.
    pub(super) fn complex_abs(&mut self, a: &Abs) -> Result<Abs, Diagnostic> {
        let z = self.pycomplex(a)?;
        let (re, im, ty) = self.complex_parts(z);
        // C's own function: CPython's bits.
        let v = self.emit(Op::Math { function: MathFn::Hypot, exact: true }, &[re, im], Type::PYFLOAT);
        let (size_r, size_i) = (self.emit(Op::Abs, &[re], ty.clone()), self.emit(Op::Abs, &[im], ty.clone()));
        let most = self.constant(Const::Float(f64::MAX), ty);
        let mut overflow = self.test(CmpOp::Gt, v, most);
        for size in [size_r, size_i] {
            let finite = self.test(CmpOp::Le, size, most);
            overflow = self.emit(Op::And, &[overflow, finite], Type::PYBOOL);
        }
        self.raise_if(overflow, ExcClass::OverflowError, "absolute value too large", &[]);
        Ok(Abs::Value(v))
    }

    /// `np.absolute` of a complex value.
    pub(super) fn modulus(&mut self, z: ValueId) -> ValueId {
        let (re, im, ty) = self.complex_parts(z);
        self.emit(Op::math(MathFn::Hypot), &[re, im], ty)
    }

    /// `==` and `!=` of Python numbers of which one is complex; an int meets the real part exactly.
    pub(super) fn python_complex_compare(&mut self, is: CmpOp, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        if !matches!(is, CmpOp::Eq | CmpOp::Ne) {
            let (x, y) = (self.describe(a), self.describe(b));
            return Err(self
                .typing(format!("'{}' not supported between instances of '{x}' and '{y}'", is.text()))
                .help("complex numbers have no order: compare abs(z) or z.real"));
        }
        let (a, b) = if self.as_weak(a) == Some(Weak::Complex) { (a, b) } else { (b, a) };
        if !matches!(self.as_weak(b), Some(Weak::Int | Weak::Bool)) {
            let (x, y) = (self.pycomplex(a)?, self.pycomplex(b)?);
            return Ok(Abs::Value(self.test(is, x, y)));
        }
        let z = self.pycomplex(a)?;
        let (re, im, ty) = self.complex_parts(z);
        let zero = self.constant(Const::Float(0.0), ty);
        let real = self.test(CmpOp::Eq, im, zero);
        let same = self.int_against_float(CmpOp::Eq, b, &Abs::Value(re))?;
        let same = self.materialise(&same)?;
        let same = self.emit(Op::And, &[real, same], Type::PYBOOL);
        Ok(Abs::Value(if is == CmpOp::Eq { same } else { self.emit(Op::Not, &[same], Type::PYBOOL) }))
    }

    /// NumPy's comparisons of complex numbers: by real part, then by imaginary part; with a nan nothing holds but `!=`.
    pub(super) fn numpy_complex_compare(&mut self, is: CmpOp, x: ValueId, y: ValueId) -> ValueId {
        if matches!(is, CmpOp::Eq | CmpOp::Ne) {
            return self.emit(Op::Cmp { is }, &[x, y], Type::BOOL);
        }
        let ((xr, xi, _), (yr, yi, _)) = (self.complex_parts(x), self.complex_parts(y));
        let compare = |s: &mut Self, is, p, q| s.emit(Op::Cmp { is }, &[p, q], Type::BOOL);
        let both = |s: &mut Self, op: Op, p: ValueId, q: ValueId| s.emit(op, &[p, q], Type::BOOL);
        let strict = if matches!(is, CmpOp::Lt | CmpOp::Le) { CmpOp::Lt } else { CmpOp::Gt };
        let real = compare(self, strict, xr, yr);
        let (known_x, known_y) = (compare(self, CmpOp::Eq, xi, xi), compare(self, CmpOp::Eq, yi, yi));
        let known = both(self, Op::And, known_x, known_y);
        let real = both(self, Op::And, real, known);
        let (tie, imaginary) = (compare(self, CmpOp::Eq, xr, yr), compare(self, is, xi, yi));
        let tie = both(self, Op::And, tie, imaginary);
        both(self, Op::Or, real, tie)
    }

    /// `np.minimum` (`is` being `<=`) and `np.maximum` (`>=`): a nan in either part wins, the first one of two.
    pub(super) fn complex_extremum(&mut self, is: CmpOp, x: ValueId, y: ValueId) -> ValueId {
        let (re, im, _) = self.complex_parts(x);
        let nan_r = self.emit(Op::Cmp { is: CmpOp::Ne }, &[re, re], Type::BOOL);
        let nan_i = self.emit(Op::Cmp { is: CmpOp::Ne }, &[im, im], Type::BOOL);
        let nan = self.emit(Op::Or, &[nan_r, nan_i], Type::BOOL);
        let better = self.numpy_complex_compare(is, x, y);
        let first = self.emit(Op::Or, &[nan, better], Type::BOOL);
        let ty = self.out.ty(x).clone();
        self.emit(Op::Select, &[first, x, y], ty)
    }

    /// `.real`, `.imag` and `.conjugate()` of one number, in its own family.
    pub(super) fn complex_part(&mut self, name: &str, a: &Abs) -> Result<Abs, Diagnostic> {
        let constant = match (name, a) {
            ("real", Abs::Const(Const::Complex(re, _))) => Some(Const::Float(*re)),
            ("imag", Abs::Const(Const::Complex(_, im))) => Some(Const::Float(*im)),
            ("imag", Abs::Const(Const::Int(_) | Const::Bool(_))) => Some(Const::Int(0)),
            ("imag", Abs::Const(Const::Float(_))) => Some(Const::Float(0.0)),
            _ => None,
        };
        if let Some(value) = constant {
            return Ok(Abs::Const(value));
        }
        let ty = self.type_of(a).filter(Type::is_scalar);
        let ty = ty.ok_or_else(|| self.typing(format!("{} has no attribute `{name}`", self.describe(a))))?;
        if ty.part().is_none() {
            return match (name, &ty) {
                ("imag", Type::Py(Weak::Float)) => Ok(Abs::Const(Const::Float(0.0))),
                ("imag", Type::Py(_)) => Ok(Abs::Const(Const::Int(0))),
                ("imag", Type::Num(d)) => Ok(Abs::Value(self.as_dtype(&Abs::Const(Const::Int(0)), *d)?)),
                // A Python bool becomes an int by these.
                (_, Type::Py(Weak::Bool)) => Ok(Abs::Value(self.pyint(a)?)),
                _ => Ok(a.clone()),
            };
        }
        let z = self.materialise(a)?;
        let (re, im, part) = self.complex_parts(z);
        Ok(Abs::Value(match name {
            "real" => re,
            "imag" => im,
            _ => {
                let im = self.emit(Op::Neg, &[im], part);
                self.emit(Op::Complex, &[re, im], ty)
            }
        }))
    }
}

/// The parts of a constant number, as Python converts it.
fn constant(a: &Abs) -> Option<(f64, f64)> {
    match a {
        Abs::Const(Const::Complex(re, im)) => Some((*re, *im)),
        Abs::Const(Const::Float(v)) => Some((*v, 0.0)),
        Abs::Const(Const::Int(v)) => Some((*v as f64, 0.0)),
        Abs::Const(Const::Bool(v)) => Some((f64::from(u8::from(*v)), 0.0)),
        _ => None,
    }
}

fn fold(op: BinOp, x: (f64, f64), y: (f64, f64)) -> Option<Const> {
    Some(match op {
        BinOp::Add => Const::Complex(x.0 + y.0, x.1 + y.1),
        BinOp::Sub => Const::Complex(x.0 - y.0, x.1 - y.1),
        BinOp::Mul => Const::Complex(x.0 * y.0 - x.1 * y.1, x.0 * y.1 + x.1 * y.0),
        _ => return None,
    })
}
