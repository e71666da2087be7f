//! Operators on scalars: Python's rules between Python scalars, NumPy's once a NumPy scalar is there.

use super::Infer;
use super::abs::{Abs, Absent, EXACT, INT64};
use super::narrow::Said;
use std::cmp::Ordering;
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::attr::{BinOp, CmpOp, Const, UnaryOp};
use weft_ir::rules::{operator_dtype, promote, promote_weak};
use weft_ir::{DType, Dim, ExcClass, Op, Type, ValueId, Weak};

impl Infer<'_> {
    /// `a op b` of two scalars.
    pub(super) fn scalar_binop(&mut self, op: BinOp, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        match (self.as_weak(a), self.as_weak(b)) {
            (Some(x), Some(y)) => self.python_binop(op, a, x, b, y),
            _ => self.numpy_binop(op, a, b),
        }
    }

    /// Dtype in which two scalars, or elements of arrays, meet.
    pub(super) fn meet(&self, a: &Abs, b: &Abs) -> Result<DType, Diagnostic> {
        let strong = |s: &Self, x: &Abs| match s.type_of(x) {
            Some(Type::Num(d)) => Some(d),
            Some(Type::Tensor(t)) => Some(t.dtype),
            // A Python bool is dtype bool, not weak.
            Some(Type::Py(Weak::Bool)) => Some(DType::Bool),
            _ => None,
        };
        let weak = |s: &Self, x: &Abs| s.as_weak(x).filter(|w| *w != Weak::Bool);
        match (strong(self, a), strong(self, b), weak(self, a), weak(self, b)) {
            (Some(x), Some(y), ..) => Ok(promote(x, y)),
            (Some(x), None, _, Some(w)) | (None, Some(x), Some(w), _) => Ok(promote_weak(w, x)),
            (None, None, Some(v), Some(w)) => Ok(v.max(w).default_dtype()),
            _ => {
                let odd = if strong(self, a).is_none() && weak(self, a).is_none() { a } else { b };
                Err(self.typing(format!("expected a number or an array, found {}", self.describe(odd))))
            }
        }
    }

    fn numpy_binop(&mut self, op: BinOp, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        let common = self.meet(a, b)?;
        let Ok(dtype) = operator_dtype(op, common) else { return Err(self.not_defined(op, a, b)) };
        if op == BinOp::Pow {
            return self.numpy_pow(a, b, dtype);
        }
        let x = self.as_dtype(a, dtype)?;
        let y = self.as_dtype(b, dtype)?;
        let op = match op {
            BinOp::Mul => self.product(dtype),
            other => Op::from_binop(other).ok_or_else(|| self.not_defined(other, a, b))?,
        };
        Ok(Abs::Value(self.emit(op, &[x, y], Type::Num(dtype))))
    }

    /// The op that multiplies: NumPy's loops over complex arrays round otherwise than its scalars.
    pub(super) fn product(&self, dtype: DType) -> Op {
        if dtype.is_complex() && self.body.is_some() { Op::Cmul } else { Op::Mul }
    }

    /// The TypeError Python or NumPy would raise for these operands.
    pub(super) fn not_defined(&self, op: BinOp, a: &Abs, b: &Abs) -> Diagnostic {
        let (x, y) = (self.describe(a), self.describe(b));
        let d = self.typing(format!("unsupported operand types for {}: {x} and {y}", op.text()));
        match (op, self.type_of(a)) {
            (BinOp::Sub, Some(Type::Num(DType::Bool))) => d.help("NumPy has no `-` for bool: write `a ^ b`"),
            (BinOp::Sub, Some(Type::Tensor(t))) if t.dtype == DType::Bool => {
                d.help("NumPy has no `-` for bool: write `a ^ b`")
            }
            (BinOp::MatMul, _) => d.help("`@` takes two arrays of one dimension or more: write `*`"),
            _ => d,
        }
    }

    fn python_binop(&mut self, op: BinOp, a: &Abs, x: Weak, b: &Abs, y: Weak) -> Result<Abs, Diagnostic> {
        if x == Weak::Complex || y == Weak::Complex {
            return self.complex_binop(op, a, b);
        }
        let logical = matches!(op, BinOp::And | BinOp::Or | BinOp::Xor);
        if logical && x == Weak::Bool && y == Weak::Bool {
            let (x, y) = (self.materialise(a)?, self.materialise(b)?);
            let op = Op::from_binop(op).unwrap_or(Op::And);
            return Ok(Abs::Value(self.emit(op, &[x, y], Type::PYBOOL)));
        }
        if x == Weak::Float || y == Weak::Float {
            return self.float_binop(op, a, b);
        }
        if op == BinOp::Div {
            return self.int_division(a, b);
        }
        self.int_binop(op, a, b)
    }

    /// Raises where the divisor is zero, unless it is divided by all the same.
    fn zero_division(&mut self, divisor: &Abs, v: ValueId, message: &str) -> Result<(), Diagnostic> {
        if self.resolver.divides_by_zero() {
            return Ok(());
        }
        match divisor {
            Abs::Const(Const::Int(0)) | Abs::Const(Const::Bool(false)) => {}
            Abs::Const(Const::Float(f)) if *f == 0.0 => {}
            Abs::Const(_) => return Ok(()),
            _ => {
                let range = self.range(divisor);
                let ty = self.out.ty(v).clone();
                if ty == Type::PYINT && (range.0 > 0 || range.1 < 0) {
                    return Ok(());
                }
                let zero = if ty == Type::PYFLOAT { Const::Float(0.0) } else { Const::Int(0) };
                let zero = self.constant(zero, ty);
                let is_zero = self.test(CmpOp::Eq, v, zero);
                self.raise_if(is_zero, ExcClass::ZeroDivisionError, message, &[]);
                return Ok(());
            }
        }
        Err(Diagnostic::new(ErrorKind::ZeroDivision, self.span, message))
    }

    fn float_binop(&mut self, op: BinOp, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        if op == BinOp::Pow {
            return self.float_pow(a, b);
        }
        let (x, y) = (self.pyfloat(a)?, self.pyfloat(b)?);
        match op {
            BinOp::Div => self.zero_division(b, y, "float division by zero")?,
            BinOp::FloorDiv => self.zero_division(b, y, "float floor division by zero")?,
            BinOp::Mod => self.zero_division(b, y, "float modulo")?,
            BinOp::Add | BinOp::Sub | BinOp::Mul => {}
            _ => return Err(self.not_defined(op, a, b)),
        }
        let Some(op) = Op::from_binop(op) else { return Err(self.not_defined(op, a, b)) };
        Ok(Abs::Value(self.emit(op, &[x, y], Type::PYFLOAT)))
    }

    /// `int / int`, correctly rounded: a plain division where both are known to be exact doubles.
    fn int_division(&mut self, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        let exact = |r: (i128, i128)| r.0 >= EXACT.0 && r.1 <= EXACT.1;
        let both = exact(self.range(a)) && exact(self.range(b));
        if let (Abs::Const(Const::Int(x)), Abs::Const(Const::Int(y))) = (a, b)
            && both
            && *y != 0
        {
            return Ok(Abs::Const(Const::Float(*x as f64 / *y as f64)));
        }
        let (x, y) = (self.pyint(a)?, self.pyint(b)?);
        self.zero_division(b, y, "division by zero")?;
        if !both {
            return Ok(Abs::Value(self.large_quotient(b, x, y)));
        }
        let (x, y) = (self.cast(x, Type::PYFLOAT), self.cast(y, Type::PYFLOAT));
        Ok(Abs::Value(self.emit(Op::Div, &[x, y], Type::PYFLOAT)))
    }

    /// `x / y` of ints that need not be exact doubles.
    fn large_quotient(&mut self, divisor: &Abs, x: ValueId, y: ValueId) -> ValueId {
        let range = self.range(divisor);
        if !self.resolver.divides_by_zero() || range.0 > 0 || range.1 < 0 {
            return self.emit(Op::TrueDiv, &[x, y], Type::PYFLOAT);
        }
        // `arith.truediv` takes no 0: there the sign of `x` decides, as in a division of floats.
        let (zero, one) = (self.constant(Const::Int(0), Type::PYINT), self.constant(Const::Int(1), Type::PYINT));
        let is_zero = self.test(CmpOp::Eq, y, zero);
        let safe = self.emit(Op::Select, &[is_zero, one, y], Type::PYINT);
        let quotient = self.emit(Op::TrueDiv, &[x, safe], Type::PYFLOAT);
        let (x, y) = (self.cast(x, Type::PYFLOAT), self.cast(y, Type::PYFLOAT));
        let by_zero = self.emit(Op::Div, &[x, y], Type::PYFLOAT);
        self.emit(Op::Select, &[is_zero, by_zero, quotient], Type::PYFLOAT)
    }

    /// Python ints: folded where known, unchecked where the range proves it, checked otherwise.
    pub(super) fn int_binop(&mut self, op: BinOp, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        if let (Abs::Const(Const::Int(x)), Abs::Const(Const::Int(y))) = (a, b)
            && let Some(v) = fold(op, *x, *y)
        {
            return Ok(Abs::Const(Const::Int(v)));
        }
        match op {
            BinOp::Pow => return self.int_pow(a, b),
            BinOp::Shl => return self.int_shl(a, b),
            _ => {}
        }
        let (rx, ry) = (self.range(a), self.range(b));
        let (x, y) = (self.pyint(a)?, self.pyint(b)?);
        match op {
            BinOp::Add | BinOp::Sub | BinOp::Mul => {
                let mut range = int_range(op, rx, ry);
                if let (BinOp::Sub, Some(least)) = (op, self.least_difference(a, b)) {
                    range.0 = range.0.max(least).min(range.1);
                }
                if range.0 >= INT64.0 && range.1 <= INT64.1 {
                    let plain = Op::from_binop(op).unwrap_or(Op::Add);
                    let v = self.emit(plain, &[x, y], Type::PYINT);
                    self.affine_binop(op, a, b, v);
                    self.grow(op, a, b, v);
                    return Ok(self.with_range(v, range));
                }
                let v = self.checked(op, x, y);
                if self.resolver.wraps_overflow() {
                    return Ok(Abs::Value(v));
                }
                self.affine_binop(op, a, b, v);
                self.grow(op, a, b, v);
                Ok(self.with_range(v, (range.0.max(INT64.0), range.1.min(INT64.1))))
            }
            BinOp::FloorDiv => {
                self.zero_division(b, y, "integer division or modulo by zero")?;
                let may_overflow = rx.0 == INT64.0 && ry.0 <= -1 && ry.1 >= -1;
                let v =
                    if may_overflow { self.checked(op, x, y) } else { self.emit(Op::FloorDiv, &[x, y], Type::PYINT) };
                // What is divided by more comes nearer to 0, or to -1 from below.
                let by = |x: i128, near: i128, far: i128| x.div_euclid(if x < 0 { far } else { near });
                let range = if ry.0 > 0 { (by(rx.0, ry.1, ry.0), by(rx.1, ry.0, ry.1)) } else { INT64 };
                Ok(self.with_range(v, range))
            }
            BinOp::Mod => {
                self.zero_division(b, y, "integer modulo by zero")?;
                let v = self.emit(Op::Mod, &[x, y], Type::PYINT);
                let range = match (rx.0 >= 0, ry.0 > 0) {
                    (true, true) => (0, rx.1.min(ry.1 - 1)),
                    (false, true) => (0, ry.1 - 1),
                    _ => (ry.0.min(0), ry.1.max(0)),
                };
                Ok(self.with_range(v, range))
            }
            BinOp::And | BinOp::Or | BinOp::Xor => {
                let plain = Op::from_binop(op).unwrap_or(Op::And);
                let v = self.emit(plain, &[x, y], Type::PYINT);
                // A mask that is not negative leaves nothing beyond it.
                let range = match (op, rx.0 >= 0, ry.0 >= 0) {
                    (BinOp::And, true, true) => (0, rx.1.min(ry.1)),
                    (BinOp::And, true, false) => (0, rx.1),
                    (BinOp::And, false, true) => (0, ry.1),
                    _ => INT64,
                };
                Ok(self.with_range(v, range))
            }
            BinOp::Shr => {
                if ry.0 < 0 {
                    let zero = self.constant(Const::Int(0), Type::PYINT);
                    let negative = self.test(CmpOp::Lt, y, zero);
                    self.raise_if(negative, ExcClass::ValueError, "negative shift count", &[]);
                }
                let v = self.emit(Op::Shr, &[x, y], Type::PYINT);
                let least = ry.0.clamp(0, 63);
                Ok(self.with_range(v, (rx.0.min(0) >> least, rx.1.max(0) >> least)))
            }
            _ => Err(self.not_defined(op, a, b)),
        }
    }

    /// Arithmetic that raises when it leaves int64, or wraps where that was asked for.
    pub(super) fn checked(&mut self, op: BinOp, x: ValueId, y: ValueId) -> ValueId {
        if let (true, Some(plain)) = (self.resolver.wraps_overflow(), Op::from_binop(op)) {
            return self.emit(plain, &[x, y], Type::PYINT);
        }
        let template = format!("int {} int leaves the 64 bits Weft gives Python ints", op.text());
        let site = self.site(ExcClass::OverflowError, template);
        self.emit(Op::Checked { op, site }, &[x, y], Type::PYINT)
    }

    /// `x << n`: a product where `n` is known, else a shift that must come back.
    fn int_shl(&mut self, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        match b {
            Abs::Const(Const::Int(n)) if *n < 0 => {
                return Err(Diagnostic::new(ErrorKind::Value, self.span, "negative shift count"));
            }
            Abs::Const(Const::Int(n)) if *n < 63 => {
                return self.int_binop(BinOp::Mul, a, &Abs::Const(Const::Int(1 << n)));
            }
            _ => {}
        }
        let (x, n) = (self.pyint(a)?, self.pyint(b)?);
        let zero = self.constant(Const::Int(0), Type::PYINT);
        if self.range(b).0 < 0 {
            let negative = self.test(CmpOp::Lt, n, zero);
            self.raise_if(negative, ExcClass::ValueError, "negative shift count", &[]);
        }
        let shifted = self.emit(Op::Shl, &[x, n], Type::PYINT);
        if self.resolver.wraps_overflow() {
            return Ok(Abs::Value(shifted));
        }
        let back = self.emit(Op::Shr, &[shifted, n], Type::PYINT);
        let lost = self.test(CmpOp::Ne, back, x);
        self.raise_if(lost, ExcClass::OverflowError, "int << int leaves the 64 bits Weft gives Python ints", &[]);
        Ok(Abs::Value(shifted))
    }

    /// `op a` of a scalar.
    pub(super) fn scalar_unary(&mut self, op: UnaryOp, a: &Abs) -> Result<Abs, Diagnostic> {
        if op == UnaryOp::Not {
            return self.logical_not(a);
        }
        match (self.as_weak(a), self.type_of(a)) {
            (Some(Weak::Bool | Weak::Int), _) => match op {
                UnaryOp::Neg => self.int_binop(BinOp::Sub, &Abs::Const(Const::Int(0)), a),
                UnaryOp::Invert => {
                    let v = self.pyint(a)?;
                    let (lo, hi) = self.range(a);
                    let v = self.emit(Op::Not, &[v], Type::PYINT);
                    Ok(self.with_range(v, (!hi, !lo)))
                }
                _ => {
                    let range = self.range(a);
                    let v = self.pyint(a)?;
                    Ok(self.with_range(v, range))
                }
            },
            (Some(Weak::Float), _) => match (op, a) {
                (UnaryOp::Neg, Abs::Const(Const::Float(f))) => Ok(Abs::Const(Const::Float(-f))),
                (UnaryOp::Neg, _) => {
                    let v = self.materialise(a)?;
                    Ok(Abs::Value(self.emit(Op::Neg, &[v], Type::PYFLOAT)))
                }
                (UnaryOp::Pos, _) => Ok(a.clone()),
                _ => Err(self.typing(format!("bad operand type for unary {}: float", op.text()))),
            },
            (Some(Weak::Complex), _) => match (op, a) {
                (UnaryOp::Neg, Abs::Const(Const::Complex(re, im))) => Ok(Abs::Const(Const::Complex(-re, -im))),
                (UnaryOp::Neg, _) => {
                    let v = self.materialise(a)?;
                    Ok(Abs::Value(self.emit(Op::Neg, &[v], Type::PYCOMPLEX)))
                }
                (UnaryOp::Pos, _) => Ok(a.clone()),
                _ => Err(self.typing(format!("bad operand type for unary {}: complex", op.text()))),
            },
            (_, Some(Type::Num(d))) => {
                let v = self.materialise(a)?;
                match op {
                    UnaryOp::Neg if d == DType::Bool => Err(self
                        .typing("The numpy boolean negative, the `-` operator, is not supported")
                        .help("write `~x` or np.logical_not(x)")),
                    UnaryOp::Neg => Ok(Abs::Value(self.emit(Op::Neg, &[v], Type::Num(d)))),
                    UnaryOp::Pos if d == DType::Bool => Err(self.typing("unary + is not defined for NumPy's bool")),
                    UnaryOp::Invert if d.is_float() || d.is_complex() => {
                        Err(self.typing(format!("`~` is not defined for {}", d.numpy_name())))
                    }
                    UnaryOp::Invert => Ok(Abs::Value(self.emit(Op::Not, &[v], Type::Num(d)))),
                    _ => Ok(a.clone()),
                }
            }
            _ => Err(self.typing(format!("bad operand for unary {}: {}", op.text(), self.describe(a)))),
        }
    }

    /// `not a`.
    pub(super) fn logical_not(&mut self, a: &Abs) -> Result<Abs, Diagnostic> {
        match self.truth(a)? {
            Abs::Const(Const::Bool(b)) => Ok(Abs::Const(Const::Bool(!b))),
            t => {
                let v = self.materialise(&t)?;
                let not = self.emit(Op::Not, &[v], Type::PYBOOL);
                self.said.insert(not, Said::Not(v));
                Ok(Abs::Value(not))
            }
        }
    }

    /// `bool(a)`: a known constant, or a pybool.
    pub(super) fn truth(&mut self, a: &Abs) -> Result<Abs, Diagnostic> {
        let known = match a {
            Abs::Const(Const::Bool(b)) => Some(*b),
            Abs::Const(Const::Int(v)) => Some(*v != 0),
            Abs::Const(Const::Float(v)) => Some(*v != 0.0),
            Abs::Const(Const::Str(s)) => Some(!s.is_empty()),
            Abs::Const(Const::None) => Some(false),
            Abs::Tuple(items) => Some(!items.is_empty()),
            Abs::Function(_) => Some(true),
            Abs::Unbound(name) => return Err(self.unbound(name)),
            Abs::Const(Const::Complex(re, im)) => Some(*re != 0.0 || *im != 0.0),
            Abs::Const(Const::Ellipsis) => Some(true),
            Abs::Tagged(Absent::None, flag, inner) => {
                let (there, holds) = (Abs::Value(*flag), self.truth(inner)?);
                return self.both(&there, &holds);
            }
            Abs::Text(_) => {
                let same = self.equals(a, &Abs::Const(Const::Str(String::new())))?;
                return self.logical_not(&same);
            }
            Abs::Value(_) => None,
            other if self.as_list(other).is_some() => {
                let len = self.list_len(other)?;
                return self.truth(&len);
            }
            other => {
                let what = self.describe(other);
                return Err(self.refuse(format!("the truth value of a {what} is not supported yet")));
            }
        };
        if let Some(b) = known {
            return Ok(Abs::Const(Const::Bool(b)));
        }
        if let Some(t) = self.as_tensor(a) {
            let dims = self.tensor(t).map_or(vec![], |t| t.dims.to_vec());
            let wrong = |d: &Dim| matches!(d, Dim::Const(n) if *n > 1);
            if !self.is_kernel() && !dims.iter().any(wrong) {
                let decided =
                    self.call(&Abs::Function("weft.lib.creation.truth".into()), std::slice::from_ref(a), &[])?;
                return self.truth(&decided);
            }
            let message = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()";
            return Err(Diagnostic::new(ErrorKind::Value, self.span, message)
                .label(self.describe(a))
                .help("use np.where for a choice per element"));
        }
        let v = self.materialise(a)?;
        let truth = self.cast(v, Type::PYBOOL);
        self.said_by_truth(a, truth);
        Ok(Abs::Value(truth))
    }

    /// `a op b`, a comparison of two scalars.
    pub(super) fn scalar_compare(&mut self, is: CmpOp, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        let result = self.compare_scalars(is, a, b)?;
        self.compared(is, a, b, &result);
        Ok(result)
    }

    fn compare_scalars(&mut self, is: CmpOp, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        if let (Abs::Const(x), Abs::Const(y)) = (a, b)
            && let Some(r) = fold_compare(is, x, y)
        {
            return Ok(Abs::Const(Const::Bool(r)));
        }
        if let (Some(x), Some(y)) = (self.as_weak(a), self.as_weak(b)) {
            if let Some(found) = self.against_huge(is, a, b)? {
                return Ok(found);
            }
            return match (x, y) {
                (Weak::Complex, _) | (_, Weak::Complex) => self.python_complex_compare(is, a, b),
                (Weak::Float, Weak::Float) => {
                    let (x, y) = (self.materialise(a)?, self.materialise(b)?);
                    Ok(Abs::Value(self.test(is, x, y)))
                }
                (Weak::Float, _) => self.int_against_float(mirrored(is), b, a),
                (_, Weak::Float) => self.int_against_float(is, a, b),
                _ => {
                    let (x, y) = (self.pyint(a)?, self.pyint(b)?);
                    Ok(Abs::Value(self.test(is, x, y)))
                }
            };
        }
        let dtype = self.meet(a, b)?;
        if dtype.is_complex() {
            let (x, y) = (self.as_dtype(a, dtype)?, self.as_dtype(b, dtype)?);
            return Ok(Abs::Value(self.numpy_complex_compare(is, x, y)));
        }
        if let (Some(x), Some(y)) = (self.integer_kind(a), self.integer_kind(b)) {
            return self.integer_compare(is, (a, x), (b, y));
        }
        let (x, y) = (self.as_dtype(a, dtype)?, self.as_dtype(b, dtype)?);
        Ok(Abs::Value(self.emit(Op::Cmp { is }, &[x, y], Type::BOOL)))
    }

    /// A comparison with a constant that no 64 bits hold: every int of the program lies on one side of it, and floats are compared
    /// with the nearest ones.
    fn against_huge(&mut self, is: CmpOp, a: &Abs, b: &Abs) -> Result<Option<Abs>, Diagnostic> {
        for (x, y, is) in [(a, b, is), (b, a, mirrored(is))] {
            let &Abs::Const(Const::Int(n)) = y else { continue };
            if i64::try_from(n).is_ok() || n.unsigned_abs() >= 1 << 126 {
                continue;
            }
            let known = |holds: bool| Ok(Some(Abs::Const(Const::Bool(holds))));
            let less = matches!(is, CmpOp::Lt | CmpOp::Le);
            match (self.as_weak(x), is) {
                (Some(Weak::Int | Weak::Bool), CmpOp::Eq | CmpOp::Ne) => return known(is == CmpOp::Ne),
                (Some(Weak::Int | Weak::Bool), _) => return known(less == (n > 0)),
                (Some(Weak::Float), _) => {
                    let near = n as f64;
                    let (is, bound) = match (is, (near as i128).cmp(&n)) {
                        (is, Ordering::Equal) => (is, near),
                        (CmpOp::Eq | CmpOp::Ne, _) => return known(is == CmpOp::Ne),
                        (_, order) if less => (CmpOp::Le, if order.is_lt() { near } else { near.next_down() }),
                        (_, order) => (CmpOp::Ge, if order.is_gt() { near } else { near.next_up() }),
                    };
                    let (x, bound) = (self.materialise(x)?, self.constant(Const::Float(bound), Type::PYFLOAT));
                    return Ok(Some(Abs::Value(self.test(is, x, bound))));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The integer dtype that holds an operand of a comparison: its own, or for a Python int any of 64 bits. Nothing for
    /// floats; bool for a Python int that no dtype holds.
    fn integer_kind(&self, a: &Abs) -> Option<DType> {
        match (self.type_of(a)?, self.range(a)) {
            (Type::Py(Weak::Int), (lo, hi)) => {
                let holds = |d: &DType| d.int_bounds().is_some_and(|(low, high)| low <= lo && hi <= high);
                Some([DType::I64, DType::U64].into_iter().find(holds).unwrap_or(DType::Bool))
            }
            (ty, _) => ty.scalar_dtype().filter(|d| !d.is_float()),
        }
    }

    /// Integers compare by value, whatever their dtypes, and a Python int never raises.
    fn integer_compare(&mut self, is: CmpOp, a: (&Abs, DType), b: (&Abs, DType)) -> Result<Abs, Diagnostic> {
        for (x, y, is) in [(a, b, is), (b, a, mirrored(is))] {
            if self.as_weak(y.0) != Some(Weak::Int) {
                continue;
            }
            let (lo, hi) = self.range(y.0);
            let (low, high) = x.1.int_bounds().unwrap_or((0, 1));
            // Known from the dtype's bounds alone.
            let (below, above) = (hi < low, lo > high);
            if below || above {
                let holds = match is {
                    CmpOp::Lt | CmpOp::Le => above,
                    CmpOp::Gt | CmpOp::Ge => below,
                    is => is == CmpOp::Ne,
                };
                return Ok(Abs::Value(self.constant(Const::Bool(holds), Type::BOOL)));
            }
            if x.1 != DType::Bool && low <= lo && hi <= high {
                let (x, y) = (self.materialise(x.0)?, self.as_dtype(y.0, x.1)?);
                return Ok(Abs::Value(self.emit(Op::Cmp { is }, &[x, y], Type::BOOL)));
            }
        }
        let common = promote(a.1, b.1);
        if !common.is_float() {
            let (x, y) = (self.as_dtype(a.0, common)?, self.as_dtype(b.0, common)?);
            return Ok(Abs::Value(self.emit(Op::Cmp { is }, &[x, y], Type::BOOL)));
        }
        // uint64 against a signed one: a negative number is below all of them.
        let (signed, unsigned, is) = if a.1.is_signed() { (a.0, b.0, is) } else { (b.0, a.0, mirrored(is)) };
        let (x, y) = (self.as_dtype(signed, DType::I64)?, self.as_dtype(unsigned, DType::U64)?);
        let zero = self.constant(Const::Int(0), Type::I64);
        let negative = self.emit(Op::Cmp { is: CmpOp::Lt }, &[x, zero], Type::BOOL);
        let x = self.cast(x, Type::Num(DType::U64));
        let compared = self.emit(Op::Cmp { is }, &[x, y], Type::BOOL);
        let below = self.constant(Const::Bool(matches!(is, CmpOp::Lt | CmpOp::Le | CmpOp::Ne)), Type::BOOL);
        Ok(Abs::Value(self.emit(Op::Select, &[negative, below, compared], Type::BOOL)))
    }

    /// A Python int against a Python float, exactly: rounding the int keeps the order, so it decides unless both are
    /// then equal, and the float, being an integer, is compared as one.
    pub(super) fn int_against_float(&mut self, is: CmpOp, int: &Abs, float: &Abs) -> Result<Abs, Diagnostic> {
        let range = self.range(int);
        let (i, f) = (self.pyint(int)?, self.materialise(float)?);
        let rounded = self.cast(i, Type::PYFLOAT);
        let decided = self.test(is, rounded, f);
        if range.0 >= EXACT.0 && range.1 <= EXACT.1 {
            return Ok(Abs::Value(decided));
        }
        let tie = self.test(CmpOp::Eq, rounded, f);
        // Rounding may reach 2**63, which no int64 is.
        let limit = self.constant(Const::Float(-(i64::MIN as f64)), Type::PYFLOAT);
        let beyond = self.test(CmpOp::Ge, f, limit);
        let back = self.cast(f, Type::PYINT);
        let exact = self.test(is, i, back);
        let below = self.constant(Const::Bool(matches!(is, CmpOp::Lt | CmpOp::Le | CmpOp::Ne)), Type::PYBOOL);
        let at_tie = self.emit(Op::Select, &[beyond, below, exact], Type::PYBOOL);
        Ok(Abs::Value(self.emit(Op::Select, &[tie, at_tie, decided], Type::PYBOOL)))
    }
}

/// The comparison with its sides exchanged.
fn mirrored(is: CmpOp) -> CmpOp {
    match is {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
        other => other,
    }
}

/// Interval of a sum, difference or product.
fn int_range(op: BinOp, a: (i128, i128), b: (i128, i128)) -> (i128, i128) {
    match op {
        BinOp::Add => (a.0.saturating_add(b.0), a.1.saturating_add(b.1)),
        BinOp::Sub => (a.0.saturating_sub(b.1), a.1.saturating_sub(b.0)),
        _ => {
            let products = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)].map(|(x, y)| x.saturating_mul(y));
            (products.into_iter().min().unwrap_or(0), products.into_iter().max().unwrap_or(0))
        }
    }
}

/// Constant Python ints, computed as Python does; None where it would raise or leave the bits of a constant.
fn fold(op: BinOp, x: i128, y: i128) -> Option<i128> {
    Some(match op {
        BinOp::Add => x.checked_add(y)?,
        BinOp::Sub => x.checked_sub(y)?,
        BinOp::Mul => x.checked_mul(y)?,
        BinOp::FloorDiv if y != 0 => x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0),
        BinOp::Mod if y != 0 => ((x % y) + y) % y,
        BinOp::Pow if (0..128).contains(&y) => x.checked_pow(y as u32)?,
        BinOp::And => x & y,
        BinOp::Or => x | y,
        BinOp::Xor => x ^ y,
        BinOp::Shl if (0..127).contains(&y) => x.checked_mul(1 << y)?,
        BinOp::Shr if y >= 0 => x >> y.min(127),
        _ => return None,
    })
}

fn fold_compare(is: CmpOp, x: &Const, y: &Const) -> Option<bool> {
    let order = match (x, y) {
        (Const::Int(x), Const::Int(y)) => x.partial_cmp(y),
        (Const::Float(x), Const::Float(y)) => x.partial_cmp(y),
        (Const::Bool(x), Const::Bool(y)) => x.partial_cmp(y),
        (Const::Bool(x), Const::Int(y)) => i128::from(*x).partial_cmp(y),
        (Const::Int(x), Const::Bool(y)) => x.partial_cmp(&i128::from(*y)),
        (Const::Str(x), Const::Str(y)) => x.partial_cmp(y),
        _ => return None,
    };
    Some(match is {
        CmpOp::Lt => order.is_some_and(|o| o.is_lt()),
        CmpOp::Le => order.is_some_and(|o| o.is_le()),
        CmpOp::Gt => order.is_some_and(|o| o.is_gt()),
        CmpOp::Ge => order.is_some_and(|o| o.is_ge()),
        CmpOp::Eq => order.is_some_and(|o| o.is_eq()),
        CmpOp::Ne => !order.is_some_and(|o| o.is_eq()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_floor_as_python_does() {
        let cases = [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -2, -3, 0), (-6, -2, 3, 0)];
        for (x, y, q, r) in cases {
            assert_eq!(fold(BinOp::FloorDiv, x, y), Some(q), "{x} // {y}");
            assert_eq!(fold(BinOp::Mod, x, y), Some(r), "{x} % {y}");
        }
        assert_eq!(fold(BinOp::Mul, 1 << 62, 4), Some(1 << 64));
        assert_eq!(fold(BinOp::Mul, 1 << 100, 1 << 60), None);
    }
}
