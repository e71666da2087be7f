//! What the library is written in: operations on one element that have no spelling in Python.

use super::Infer;
use super::abs::Abs;
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Const};
use weft_ir::rules::{float_function, promote, promote_weak};
use weft_ir::{DType, MathFn, Op, Type, ValueId, Weak};

impl Infer<'_> {
    /// A call of `weft.lib.prim.<name>`.
    pub(super) fn primitive(&mut self, name: &str, args: &[Abs]) -> Result<Abs, Diagnostic> {
        let one = |s: &Self| args.first().ok_or_else(|| s.internal("a primitive without argument"));
        if let Some(list) = name.strip_prefix("list_") {
            return self.list_primitive(list, args);
        }
        match (name, args) {
            ("absolute", [x]) => self.absolute(x),
            ("real" | "imag" | "conjugate", [x]) => self.complex_part(name, x),
            ("minimum", [x, y]) => self.choose(Op::Min, x, y),
            ("maximum", [x, y]) => self.choose(Op::Max, x, y),
            ("select", [c, x, y]) => self.select(c, x, y),
            ("position", [dim]) => self.position(dim),
            ("check_index", [i, size, axis]) => self.check_index(i, size, axis),
            ("keep", [x, written]) => self.keep(x, written),
            ("broadcast_to", [x, shape]) => self.broadcast_to(x, shape),
            ("cast_like", [x, like]) => self.cast_like(x, like),
            ("cast" | "convert", [x, Abs::Const(Const::Str(dtype))]) => self.as_named(x, dtype, name == "convert"),
            ("libm", [Abs::Const(Const::Str(function)), args @ ..]) => self.libm(function, args),
            ("kind", [x]) => Ok(self.number_kind(x)),
            ("is_python", [x]) => Ok(Abs::Const(Const::Bool(matches!(self.type_of(x), Some(Type::Py(_)))))),
            ("python_minor", []) => Ok(Abs::Const(Const::Int(self.resolver.python_minor().into()))),
            ("divides_by_zero", []) => Ok(Abs::Const(Const::Bool(self.resolver.divides_by_zero()))),
            ("is_absent", [x]) => Ok(Abs::Const(Const::Bool(*x == Abs::Const(Const::Ellipsis)))),
            ("least", [_, _, ..]) => self.builtin_extreme(CmpOp::Lt, args),
            ("greatest", [_, _, ..]) => self.builtin_extreme(CmpOp::Gt, args),
            ("is_array", [x]) => Ok(Abs::Const(Const::Bool(self.as_tensor(x).is_some()))),
            ("undefined", [Abs::Const(Const::Str(message))]) => Err(self.typing(message.clone())),
            ("refuse", [Abs::Const(Const::Str(message))]) => Err(self.refuse(message.clone())),
            ("refuse", [Abs::Const(Const::Str(message)), Abs::Const(Const::Str(help))]) => {
                Err(self.refuse(message.clone()).help(help.clone()))
            }
            ("size", [x]) => Ok(Abs::Const(Const::Int(self.number_dtype(x).map_or(0, DType::size) as i128))),
            ("to_float", [x]) => {
                let dtype = self.real_dtype(float_function(self.element_dtype(x)?))?;
                Ok(Abs::Value(self.as_dtype(x, dtype)?))
            }
            ("wide", [x]) => {
                let dtype = self.element_dtype(x)?;
                Ok(Abs::Value(self.as_dtype(x, if dtype == DType::F16 { DType::F32 } else { dtype })?))
            }
            ("largest", [x]) => self.largest(x),
            ("strong", [x]) => Ok(Abs::Value(self.strengthen(x)?)),
            ("promote", [_, ..]) => self.promote(args, |d| d),
            ("promote_float", [_, ..]) => {
                self.common(args, float_function).and_then(|d| self.real_dtype(d))?;
                self.promote(args, float_function)
            }
            ("bits", [x]) => self.bits(x),
            ("from_bits", [x, like]) => self.value_of_bits(x, like),
            ("to_complex", [x]) => match self.type_of(x) {
                Some(Type::Num(d)) if d.is_complex() => {
                    let v = self.materialise(x)?;
                    Ok(Abs::Value(self.cast(v, Type::PYCOMPLEX)))
                }
                _ => Ok(Abs::Value(self.pycomplex(x)?)),
            },
            ("complex", [re, im]) => self.complex_of(re, im),
            _ if MathFn::from_name(name).is_some_and(|f| f.arity() == args.len()) => self.math(name, args),
            _ => {
                if let Some(result) = self.array_primitive(name, args) {
                    return result;
                }
                let what = format!("prim.{name} of {} arguments, {}", args.len(), self.describe(one(self)?));
                Err(self.internal(&what))
            }
        }
    }

    /// A function of floats: ints become the float NumPy computes in.
    fn math(&mut self, name: &str, args: &[Abs]) -> Result<Abs, Diagnostic> {
        let Some(function) = MathFn::from_name(name) else { return Err(self.internal("no function of floats")) };
        let dtype = self.common(args, float_function)?;
        if dtype.is_complex() && !function.has_complex() {
            return Err(self.typing(format!("the function is not defined for {}", dtype.numpy_name())));
        }
        let values: Vec<ValueId> = args.iter().map(|x| self.as_dtype(x, dtype)).collect::<Result<_, _>>()?;
        Ok(Abs::Value(self.emit(Op::math(function), &values, Type::Num(dtype))))
    }

    /// C's own function of Python floats, as CPython calls it, or of a Python complex.
    fn libm(&mut self, name: &str, args: &[Abs]) -> Result<Abs, Diagnostic> {
        let function = MathFn::from_name(name).filter(|f| f.arity() == args.len());
        let Some(function) = function else { return Err(self.internal(&format!("prim.libm of {name}"))) };
        let op = Op::Math { function, exact: true };
        if let [z] = args
            && self.as_weak(z) == Some(Weak::Complex)
        {
            let v = self.materialise(z)?;
            return Ok(Abs::Value(self.emit(op, &[v], Type::PYCOMPLEX)));
        }
        let values: Vec<ValueId> = args.iter().map(|x| self.pyfloat(x)).collect::<Result<_, _>>()?;
        Ok(Abs::Value(self.emit(op, &values, Type::PYFLOAT)))
    }

    /// Dtype in which numbers meet after `each` has been applied to what is strong; Python's own count as weak unless
    /// there are no others.
    fn common(&self, args: &[Abs], each: impl Fn(DType) -> DType) -> Result<DType, Diagnostic> {
        let mut strong: Option<DType> = None;
        let mut weak: Option<Weak> = None;
        let mut given: Option<DType> = None;
        for x in args {
            match self.as_weak(x).filter(|w| *w != Weak::Bool) {
                Some(w) => weak = weak.max(Some(w)),
                None => {
                    let d = self.element_dtype(x)?;
                    given = Some(given.map_or(d, |s| promote(s, d)));
                    let d = each(d);
                    strong = Some(strong.map_or(d, |s| promote(s, d)));
                }
            }
        }
        Ok(match (strong, weak) {
            (Some(d), Some(w)) => match given.map(|g| (g, promote_weak(w, g))) {
                // Of a higher kind than what it stands beside: a Python float beside integers is not weak.
                Some((g, met)) if g != met => promote(d, each(met)),
                _ => promote_weak(w, d),
            },
            (Some(d), None) => d,
            (None, w) => each(w.unwrap_or(Weak::Float).default_dtype()),
        })
    }

    /// The dtype, which must not be complex.
    fn real_dtype(&self, dtype: DType) -> Result<DType, Diagnostic> {
        match dtype.is_complex() {
            true => Err(self.typing(format!("the function is not defined for {}", dtype.numpy_name()))),
            false => Ok(dtype),
        }
    }

    /// The numbers in the dtype where they meet, as a tuple.
    fn promote(&mut self, args: &[Abs], each: impl Fn(DType) -> DType) -> Result<Abs, Diagnostic> {
        let dtype = self.common(args, each)?;
        let values = args.iter().map(|x| Ok(Abs::Value(self.as_dtype(x, dtype)?)));
        Ok(Abs::Tuple(values.collect::<Result<_, Diagnostic>>()?))
    }

    /// Which kind of number it is, or of numbers it holds: known when compiling.
    fn number_kind(&self, x: &Abs) -> Abs {
        let kind = match self.number_dtype(x) {
            Some(DType::Bool) => "bool",
            Some(d) if d.is_signed() => "int",
            Some(d) if d.is_unsigned() => "uint",
            Some(d) if d.is_float() => "float",
            Some(_) => "complex",
            None => "",
        };
        Abs::Const(Const::Str(kind.into()))
    }

    /// Dtype of a number, or of the numbers in an array.
    fn number_dtype(&self, x: &Abs) -> Option<DType> {
        match self.type_of(x)? {
            Type::Tensor(t) => Some(t.dtype),
            t => t.scalar_dtype(),
        }
    }

    /// The largest float of a dtype, or of a complex dtype's parts.
    fn largest(&mut self, x: &Abs) -> Result<Abs, Diagnostic> {
        let dtype = self.number_dtype(x).map(|d| d.part().unwrap_or(d));
        let (dtype, value) = match dtype {
            Some(d @ DType::F16) => (d, 65504.0),
            Some(d @ DType::F32) => (d, f64::from(f32::MAX)),
            _ => (DType::F64, f64::MAX),
        };
        Ok(Abs::Value(self.constant(Const::Float(value), Type::Num(dtype))))
    }

    /// The bits of a float as a signed integer of its size and family.
    fn bits(&mut self, x: &Abs) -> Result<Abs, Diagnostic> {
        let v = self.materialise(x)?;
        let ty = match self.out.ty(v) {
            Type::Py(Weak::Float) => Type::PYINT,
            Type::Num(DType::F16) => Type::Num(DType::I16),
            Type::Num(DType::F32) => Type::I32,
            Type::Num(DType::F64) => Type::I64,
            _ => return Err(self.internal("prim.bits of no float")),
        };
        Ok(Abs::Value(self.emit(Op::Bits, &[v], ty)))
    }

    /// The float of the type of `like` with these bits.
    fn value_of_bits(&mut self, x: &Abs, like: &Abs) -> Result<Abs, Diagnostic> {
        let v = self.materialise(x)?;
        let ty = self.type_of(like).unwrap_or(Type::PYFLOAT);
        Ok(Abs::Value(self.emit(Op::Bits, &[v], ty)))
    }

    /// A complex number from its parts, which are of one type.
    fn complex_of(&mut self, re: &Abs, im: &Abs) -> Result<Abs, Diagnostic> {
        let (re, im) = (self.materialise(re)?, self.materialise(im)?);
        let ty = match self.out.ty(re) {
            Type::Py(_) => Type::PYCOMPLEX,
            Type::Num(DType::F32) => Type::Num(DType::C64),
            _ => Type::Num(DType::C128),
        };
        Ok(Abs::Value(self.emit(Op::Complex, &[re, im], ty)))
    }

    /// `x` as the dtype of this name, or as a Python number. `checked`: Python's numbers must fit, as in `np.int8(x)`.
    fn as_named(&mut self, x: &Abs, name: &str, checked: bool) -> Result<Abs, Diagnostic> {
        match name {
            "int" => return self.call(&Abs::Function("builtins.int".into()), std::slice::from_ref(x), &[]),
            "float" => return Ok(Abs::Value(self.pyfloat(x)?)),
            _ => {}
        }
        let dtype = DType::ALL.into_iter().find(|d| d.numpy_name() == name);
        let Some(dtype) = dtype else { return Err(self.internal(&format!("no dtype {name}"))) };
        if checked && self.as_weak(x) == Some(Weak::Complex) && !dtype.is_complex() {
            let kind = if dtype.is_float() { "float" } else { "int" };
            return Err(self.typing(format!("{kind}() argument must be a real number, not 'complex'")));
        }
        if checked && self.as_weak(x) == Some(Weak::Float) && dtype.is_int() {
            return Ok(Abs::Value(self.float_into_int(x, dtype)?));
        }
        if checked {
            return Ok(Abs::Value(self.as_dtype(x, dtype)?));
        }
        let v = self.strengthen(x)?;
        Ok(Abs::Value(self.cast(v, Type::Num(dtype))))
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
            ty if ty.part().is_some() => Ok(Abs::Value(self.modulus(v))),
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
        if ty.part().is_some() {
            let is = if op == Op::Min { CmpOp::Le } else { CmpOp::Ge };
            return Ok(Abs::Value(self.complex_extremum(is, x, y)));
        }
        if ty == Type::Num(DType::F16) {
            // Of two halves that are equal NumPy takes the first, of other floats the second: which zero it is.
            let first =
                self.emit(Op::Cmp { is: if op == Op::Min { CmpOp::Le } else { CmpOp::Ge } }, &[x, y], Type::BOOL);
            let nan = self.emit(Op::Cmp { is: CmpOp::Ne }, &[x, x], Type::BOOL);
            let first = self.emit(Op::Or, &[first, nan], Type::BOOL);
            return Ok(Abs::Value(self.emit(Op::Select, &[first, x, y], ty)));
        }
        Ok(Abs::Value(self.emit(op, &[x, y], ty)))
    }

    fn select(&mut self, c: &Abs, x: &Abs, y: &Abs) -> Result<Abs, Diagnostic> {
        let c = self.as_dtype(c, DType::Bool)?;
        let dtype = self.meet(x, y)?;
        let (x, y) = (self.unchecked(x, dtype)?, self.unchecked(y, dtype)?);
        Ok(Abs::Value(self.emit(Op::Select, &[c, x, y], Type::Num(dtype))))
    }

    /// A number in a dtype as `astype` and `np.where` convert: a Python int wraps where it does not fit.
    fn unchecked(&mut self, x: &Abs, dtype: DType) -> Result<ValueId, Diagnostic> {
        if self.as_weak(x) == Some(Weak::Int) && dtype.is_int() {
            let v = self.strengthen(x)?;
            return Ok(self.cast(v, Type::Num(dtype)));
        }
        self.as_dtype(x, dtype)
    }

    /// Index of this element along a dimension of the result.
    fn position(&mut self, dim: &Abs) -> Result<Abs, Diagnostic> {
        let (Abs::Const(Const::Int(dim)), Some(body)) = (dim, self.body) else {
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
            Some(Weak::Int | Weak::Float | Weak::Bool | Weak::Complex) => self.strengthen(x)?,
            _ => self.materialise(x)?,
        };
        Ok(Abs::Value(self.cast(v, Type::Num(dtype))))
    }
}
