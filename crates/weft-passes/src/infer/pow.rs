//! Powers: the operator with most special cases in both Python and NumPy.

use super::Infer;
use super::abs::Abs;
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::attr::{BinOp, CmpOp, Const};
use weft_ir::{Builder, DType, ExcClass, MathFn, Op, Type, ValueId, Weak};

const NEGATIVE_POWER: &str = "Integers to negative integer powers are not allowed.";

impl Infer<'_> {
    /// NumPy's `a ** b` in `dtype`.
    pub(super) fn numpy_pow(&mut self, a: &Abs, b: &Abs, dtype: DType) -> Result<Abs, Diagnostic> {
        let x = self.as_dtype(a, dtype)?;
        let ty = Type::Num(dtype);
        if dtype.is_int() {
            return self.numpy_int_pow(x, b, dtype);
        }
        let scalars = self.body.is_none();
        // NumPy's own shortcuts for these exponents; they decide the last bit.
        let exponent = match b {
            Abs::Const(Const::Int(n)) => *n as f64,
            Abs::Const(Const::Float(f)) => *f,
            _ => f64::NAN,
        };
        if exponent == 2.0 {
            return Ok(Abs::Value(self.emit(self.product(dtype), &[x, x], ty)));
        } else if exponent == 1.0 {
            return Ok(Abs::Value(x));
        } else if exponent == 0.5 && !(dtype.is_complex() && scalars) {
            return Ok(Abs::Value(self.emit(Op::math(MathFn::Sqrt), &[x], ty)));
        } else if exponent == -1.0 {
            let one = self.as_dtype(&Abs::Const(Const::Float(1.0)), dtype)?;
            return Ok(Abs::Value(self.emit(Op::Div, &[one, x], ty)));
        }
        if let (DType::F32 | DType::F64, 3.0 | 4.0) = (dtype, exponent) {
            // Products, within a few units of the last place of the power: nothing is lost on the way that it would keep.
            let square = self.emit(Op::Mul, &[x, x], ty.clone());
            let other = if exponent == 3.0 { x } else { square };
            return Ok(Abs::Value(self.emit(Op::Mul, &[square, other], ty)));
        }
        if let (DType::F32 | DType::F64, -2.0 | -1.5 | -0.5 | 1.5) = (dtype, exponent) {
            return self.root_pow(x, exponent, dtype).map(Abs::Value);
        }
        let y = self.as_dtype(b, dtype)?;
        Ok(Abs::Value(self.emit(Op::Pow, &[x, y], ty)))
    }

    /// Powers that are a root, a product or quotients, within two units of the last place, and a fraction of a power's time. One
    /// quotient after the other: nothing overflows on the way that the power would not.
    fn root_pow(&mut self, x: ValueId, exponent: f64, dtype: DType) -> Result<ValueId, Diagnostic> {
        let ty = || Type::Num(dtype);
        let number = |s: &mut Self, v| s.as_dtype(&Abs::Const(Const::Float(v)), dtype);
        let (zero, one) = (number(self, 0.0)?, number(self, 1.0)?);
        if exponent == -2.0 {
            let over = self.emit(Op::Div, &[one, x], ty());
            return Ok(self.emit(Op::Div, &[over, x], ty()));
        }
        // The root of -0.0 is -0.0, which a power would not tell from 0.0.
        let positive = self.emit(Op::Add, &[x, zero], ty());
        let root = self.emit(Op::math(MathFn::Sqrt), &[positive], ty());
        let power = if exponent > 0.0 {
            self.emit(Op::Mul, &[positive, root], ty())
        } else {
            let over = self.emit(Op::Div, &[one, root], ty());
            if exponent == -0.5 { over } else { self.emit(Op::Div, &[over, positive], ty()) }
        };
        // Of all numbers without a root, -inf alone has these powers.
        let least = number(self, f64::NEG_INFINITY)?;
        let end = if exponent > 0.0 { number(self, f64::INFINITY)? } else { zero };
        let is_least = self.emit(Op::Cmp { is: CmpOp::Eq }, &[x, least], Type::BOOL);
        Ok(self.emit(Op::Select, &[is_least, end, power], ty()))
    }

    fn numpy_int_pow(&mut self, x: ValueId, b: &Abs, dtype: DType) -> Result<Abs, Diagnostic> {
        let ty = Type::Num(dtype);
        if let Abs::Const(Const::Int(n)) = b {
            if *n < 0 && dtype.int_bounds().is_some_and(|(lo, _)| *n >= lo) {
                return Err(Diagnostic::new(ErrorKind::Value, self.span, NEGATIVE_POWER));
            }
            if *n == 2 {
                return Ok(Abs::Value(self.emit(Op::Mul, &[x, x], ty)));
            }
        }
        let y = self.as_dtype(b, dtype)?;
        if !matches!(b, Abs::Const(_)) && dtype.is_signed() && self.range(b).0 < 0 {
            self.hoisted(y, |s| {
                let zero = s.constant(Const::Int(0), ty.clone());
                let negative = s.test(CmpOp::Lt, y, zero);
                s.raise_if(negative, ExcClass::ValueError, NEGATIVE_POWER, &[]);
            });
        }
        Ok(Abs::Value(self.emit(Op::Pow, &[x, y], ty)))
    }

    /// Python's `int ** int`.
    pub(super) fn int_pow(&mut self, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        match b {
            Abs::Const(Const::Bool(n)) => self.int_pow(a, &Abs::Const(Const::Int((*n).into()))),
            Abs::Const(Const::Int(n)) if *n < 0 => self.float_pow(a, b),
            Abs::Const(Const::Int(n)) if *n <= 64 => {
                let mut result = Abs::Const(Const::Int(1));
                let mut square = a.clone();
                let mut rest = *n;
                while rest > 0 {
                    if rest & 1 == 1 {
                        result = self.int_binop(BinOp::Mul, &result, &square)?;
                    }
                    rest >>= 1;
                    if rest > 0 {
                        square = self.int_binop(BinOp::Mul, &square, &square)?;
                    }
                }
                Ok(result)
            }
            _ => self.int_pow_variable(a, b),
        }
    }

    /// By an exponent that is not known: its six low bits decide, since a larger base than one leaves int64 beyond them (-2 at 64).
    fn int_pow_variable(&mut self, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        let (x, n) = (self.pyint(a)?, self.pyint(b)?);
        let int = |s: &mut Self, v| s.constant(Const::Int(v), Type::PYINT);
        let (zero, one) = (int(self, 0), int(self, 1));
        if self.range(b).0 < 0 {
            let negative = self.test(CmpOp::Lt, n, zero);
            let message = "int ** int with a negative exponent is a float in Python: write float(x) ** n";
            self.raise_if(negative, ExcClass::UnsupportedError, message, &[]);
        }
        if self.resolver.wraps_overflow() {
            let (x, n) = (self.cast(x, Type::I64), self.cast(n, Type::I64));
            let v = self.emit(Op::Pow, &[x, n], Type::I64);
            return Ok(Abs::Value(self.cast(v, Type::PYINT)));
        }
        // 0, 1 and -1 to a large power are what they are to a small one of the same parity.
        let small = self.emit(Op::Abs, &[x], Type::PYINT);
        let small = self.test(CmpOp::Le, small, one);
        let limit = int(self, 63);
        let large = self.test(CmpOp::Gt, n, limit);
        let not_small = self.emit(Op::Not, &[small], Type::PYBOOL);
        let lost = self.emit(Op::And, &[large, not_small], Type::PYBOOL);
        let message = "int ** int leaves the 64 bits Weft gives Python ints";
        self.raise_if(lost, ExcClass::OverflowError, message, &[]);
        let parity = self.emit(Op::And, &[n, one], Type::PYINT);
        let two = int(self, 2);
        let folded = self.emit(Op::Add, &[two, parity], Type::PYINT);
        let n = self.emit(Op::Select, &[large, folded, n], Type::PYINT);

        let six = int(self, 6);
        let site = self.site(ExcClass::OverflowError, message);
        let multiply = Op::Checked { op: BinOp::Mul, site };
        let ty = || Type::PYINT;
        let mut builder = self.builder();
        let (body, ()) = builder.region(|b| {
            let (k, product, square) = (b.arg(ty()), b.arg(ty()), b.arg(ty()));
            let rest = b.value(Op::Shr, &[n, k], ty());
            let bit = b.value(Op::And, &[rest, one], ty());
            let product = when(b, bit, product, |b| b.value(multiply.clone(), &[product, square], ty()));
            let next = b.value(Op::Shr, &[rest, one], ty());
            let square = when(b, next, square, |b| b.value(multiply.clone(), &[square, square], ty()));
            b.effect(Op::Yield, &[product, square]);
        });
        let id = builder.op(Op::ScfFor, &[zero, six, one, one, x], &[ty(), ty()], &[body]);
        Ok(Abs::Value(self.out.op(id).results[0]))
    }

    /// Python's `float ** float`, with the exceptions CPython raises.
    pub(super) fn float_pow(&mut self, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        let (x, y) = (self.pyfloat(a)?, self.pyfloat(b)?);
        let zero = self.constant(Const::Float(0.0), Type::PYFLOAT);
        let exponent = match b {
            Abs::Const(Const::Int(n)) => Some(*n as f64),
            Abs::Const(Const::Float(f)) => Some(*f),
            _ => None,
        };
        let by_zero = self.resolver.divides_by_zero();
        if exponent.is_none_or(|e| e < 0.0) && !by_zero {
            let base_zero = self.test(CmpOp::Eq, x, zero);
            let negative = self.test(CmpOp::Lt, y, zero);
            // To the power of -inf even 0 is inf.
            let least = self.constant(Const::Float(f64::MIN), Type::PYFLOAT);
            let finite = self.test(CmpOp::Ge, y, least);
            let negative = self.emit(Op::And, &[negative, finite], Type::PYBOOL);
            let both = self.emit(Op::And, &[base_zero, negative], Type::PYBOOL);
            let message = "0.0 cannot be raised to a negative power";
            self.raise_if(both, ExcClass::ZeroDivisionError, message, &[]);
        }
        let integral = exponent.is_some_and(|e| e.fract() == 0.0) || self.as_weak(b) == Some(Weak::Int);
        if !integral {
            let base_negative = self.test(CmpOp::Lt, x, zero);
            let one = self.constant(Const::Float(1.0), Type::PYFLOAT);
            let part = self.emit(Op::Mod, &[y, one], Type::PYFLOAT);
            let fractional = self.test(CmpOp::Gt, part, zero);
            // -inf to any power is real.
            let least = self.constant(Const::Float(f64::MIN), Type::PYFLOAT);
            let finite = self.test(CmpOp::Ge, x, least);
            let base_negative = self.emit(Op::And, &[base_negative, finite], Type::PYBOOL);
            let both = self.emit(Op::And, &[base_negative, fractional], Type::PYBOOL);
            let message = "a negative float to a fractional power is complex in Python: write complex(x) ** y";
            self.raise_if(both, ExcClass::UnsupportedError, message, &[]);
        }
        let v = self.emit(Op::Math { function: MathFn::Pow, exact: true }, &[x, y], Type::PYFLOAT);
        // CPython reports a finite power that overflows.
        let size = self.emit(Op::Abs, &[v], Type::PYFLOAT);
        let limit = self.constant(Const::Float(f64::MAX), Type::PYFLOAT);
        let infinite = self.test(CmpOp::Gt, size, limit);
        let (ax, ay) = (self.emit(Op::Abs, &[x], Type::PYFLOAT), self.emit(Op::Abs, &[y], Type::PYFLOAT));
        let (fx, fy) = (self.test(CmpOp::Le, ax, limit), self.test(CmpOp::Le, ay, limit));
        let finite = self.emit(Op::And, &[fx, fy], Type::PYBOOL);
        let mut overflow = self.emit(Op::And, &[infinite, finite], Type::PYBOOL);
        if by_zero {
            // A zero to a negative power is infinite, and no overflow.
            let not_zero = self.test(CmpOp::Ne, x, zero);
            overflow = self.emit(Op::And, &[overflow, not_zero], Type::PYBOOL);
        }
        self.raise_if(overflow, ExcClass::OverflowError, "(34, 'Numerical result out of range')", &[]);
        Ok(Abs::Value(v))
    }
}

/// `f()` where `condition` is not zero, else `otherwise`, as pyints.
fn when(
    b: &mut Builder<'_>,
    condition: ValueId,
    otherwise: ValueId,
    f: impl FnOnce(&mut Builder<'_>) -> ValueId,
) -> ValueId {
    let holds = b.cast(condition, Type::PYBOOL);
    let (then, ()) = b.region(|b| {
        let v = f(b);
        b.effect(Op::Yield, &[v]);
    });
    let (other, ()) = b.region(|b| {
        b.effect(Op::Yield, &[otherwise]);
    });
    let id = b.op(Op::ScfIf, &[holds], &[Type::PYINT], &[then, other]);
    b.func.op(id).results[0]
}
