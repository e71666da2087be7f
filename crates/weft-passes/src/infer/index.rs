//! Element access, and what arrays tell about themselves.

use super::Infer;
use super::abs::{Abs, SIZE};
use weft_diag::{Diagnostic, ErrorKind, nearest};
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{DType, Dim, ExcClass, Op, Type, ValueId, Weak};

impl Infer<'_> {
    /// `x.name`.
    pub(super) fn attribute(&mut self, x: &Abs, name: &str) -> Result<Abs, Diagnostic> {
        const KNOWN: [&str; 3] = ["shape", "size", "ndim"];
        let Some(t) = self.as_tensor(x) else {
            return Err(Diagnostic::new(
                ErrorKind::Attribute,
                self.span,
                format!("{} has no attribute `{name}` that Weft knows", self.describe(x)),
            ));
        };
        let rank = self.tensor(t).map_or(0, |t| t.rank());
        match name {
            "ndim" => Ok(Abs::Const(Const::Int(rank as i128))),
            "shape" => Ok(Abs::Tuple((0..rank).map(|k| self.size(t, k)).collect())),
            "size" => {
                let mut product = Abs::Const(Const::Int(1));
                for k in 0..rank {
                    let n = self.size(t, k);
                    product = self.int_binop(weft_ir::attr::BinOp::Mul, &product, &n)?;
                }
                Ok(product)
            }
            _ => {
                let message = format!("Weft does not know the array attribute `{name}` yet");
                let d = Diagnostic::new(ErrorKind::Attribute, self.span, message).label(self.describe(x));
                Err(match nearest(name, KNOWN) {
                    Some(near) => d.help(format!("did you mean `{near}`?")),
                    None => d.note(format!("known: {}", KNOWN.join(", "))),
                })
            }
        }
    }

    /// Size of a dimension, as pyint.
    pub(super) fn size(&mut self, t: ValueId, k: usize) -> Abs {
        match self.tensor(t).map(|t| t.dims[k]) {
            Some(Dim::Const(n)) => Abs::Const(Const::Int(n.into())),
            _ => {
                let v = self.emit(Op::NtDim { dim: k as u32 }, &[t], Type::PYINT);
                self.with_range(v, SIZE)
            }
        }
    }

    /// `x[i, …]`.
    pub(super) fn index(&mut self, x: &Abs, indices: &[Abs]) -> Result<Abs, Diagnostic> {
        if let Abs::Tuple(items) = x {
            return self.tuple_item(items, indices);
        }
        let (t, places, wrap) = self.element_place(x, indices)?;
        let dtype = self.tensor(t).map_or(DType::F64, |t| t.dtype);
        let mut operands = vec![t];
        operands.extend(places);
        Ok(Abs::Value(self.emit(Op::NtLoad { wrap }, &operands, Type::Num(dtype))))
    }

    fn tuple_item(&self, items: &[Abs], indices: &[Abs]) -> Result<Abs, Diagnostic> {
        let [Abs::Const(Const::Int(i))] = indices else {
            return Err(self.refuse("a tuple is indexed by one constant"));
        };
        let n = items.len() as i128;
        let at = if *i < 0 { i + n } else { *i };
        match items.get(at as usize) {
            Some(item) if at >= 0 => Ok(item.clone()),
            _ => Err(Diagnostic::new(ErrorKind::Index, self.span, "tuple index out of range")),
        }
    }

    /// `x[i, …] = v`.
    pub(super) fn set_index(&mut self, v: &Abs, x: &Abs, indices: &[Abs]) -> Result<(), Diagnostic> {
        let (t, places, wrap) = self.element_place(x, indices)?;
        let (dtype, readonly) = self.tensor(t).map_or((DType::F64, false), |t| (t.dtype, t.readonly));
        if readonly {
            return Err(Diagnostic::new(ErrorKind::Value, self.span, "assignment destination is read-only"));
        }
        let value = self.stored(v, dtype)?;
        let mut operands = vec![value, t];
        operands.extend(places);
        self.effect(Op::NtStore { wrap }, &operands);
        Ok(())
    }

    /// A value as an element: casts as NumPy's item assignment does.
    fn stored(&mut self, v: &Abs, dtype: DType) -> Result<ValueId, Diagnostic> {
        if self.as_tensor(v).is_some() || self.type_of(v).is_none_or(|t| !t.is_scalar()) {
            let message = format!("an element of a {} array cannot be {}", dtype.numpy_name(), self.describe(v));
            return Err(self.typing(message));
        }
        let is_float = match self.type_of(v) {
            Some(Type::Py(w)) => w == Weak::Float,
            Some(Type::Num(d)) => d.is_float(),
            _ => false,
        };
        if is_float && dtype.is_int() {
            return self.float_into_int(v, dtype);
        }
        self.as_dtype(v, dtype)
    }

    /// NumPy refuses floats that no integer of the dtype can hold.
    fn float_into_int(&mut self, v: &Abs, dtype: DType) -> Result<ValueId, Diagnostic> {
        let wide = self.float_inside(v, dtype)?;
        Ok(self.cast(wide, Type::Num(dtype)))
    }

    /// A float as an i64, or the exception `int(x)` raises.
    pub(super) fn checked_int(&mut self, v: &Abs) -> Result<ValueId, Diagnostic> {
        self.float_inside(v, DType::I64)
    }

    /// A float, as pyfloat, that is known to fit `dtype` once truncated.
    fn float_inside(&mut self, v: &Abs, dtype: DType) -> Result<ValueId, Diagnostic> {
        let v = self.materialise(v)?;
        let wide = self.cast(v, Type::PYFLOAT);
        let nan = self.test(CmpOp::Ne, wide, wide);
        self.raise_if(nan, ExcClass::ValueError, "cannot convert float NaN to integer", &[]);
        let (lo, hi) = dtype.int_bounds().unwrap_or((0, 0));
        // The first floats outside: hi + 1 is a power of two, so both bounds are exact.
        let low = self.constant(Const::Float((lo - 1) as f64), Type::PYFLOAT);
        let below = if (lo - 1) as f64 == lo as f64 {
            let low = self.constant(Const::Float(lo as f64), Type::PYFLOAT);
            self.test(CmpOp::Lt, wide, low)
        } else {
            self.test(CmpOp::Le, wide, low)
        };
        let high = self.constant(Const::Float((hi + 1) as f64), Type::PYFLOAT);
        let above = self.test(CmpOp::Ge, wide, high);
        let outside = self.emit(Op::Or, &[below, above], Type::PYBOOL);
        let message = format!("cannot convert float {{f}} to {}: out of bounds", dtype.numpy_name());
        self.raise_if(outside, ExcClass::OverflowError, &message, &[wide]);
        Ok(wide)
    }

    /// The tensor and its i64 indices; whether an index may be negative.
    fn element_place(&mut self, x: &Abs, indices: &[Abs]) -> Result<(ValueId, Vec<ValueId>, bool), Diagnostic> {
        let Some(t) = self.as_tensor(x) else {
            return Err(self.typing(format!("{} cannot be indexed", self.describe(x))));
        };
        if !self.is_kernel() {
            return Err(self
                .refuse("indexing is supported only in kernels yet")
                .help("write an array expression, or move the loop into a @weft.kernel"));
        }
        let mut flat = vec![];
        for i in indices {
            match i {
                Abs::Tuple(items) => flat.extend(items.iter().cloned()),
                other => flat.push(other.clone()),
            }
        }
        let rank = self.tensor(t).map_or(0, |t| t.rank());
        if flat.len() > rank {
            let message =
                format!("too many indices for array: array is {rank}-dimensional, but {} were indexed", flat.len());
            return Err(Diagnostic::new(ErrorKind::Index, self.span, message));
        }
        if flat.len() < rank {
            let message = format!("a {rank}-dimensional array needs {rank} indices here, found {}", flat.len());
            return Err(self.refuse(message).help("views of arrays inside a kernel are not supported yet"));
        }
        let mut places = vec![];
        let mut wrap = false;
        for i in &flat {
            let integer = match self.type_of(i) {
                Some(Type::Py(Weak::Int)) => true,
                Some(Type::Num(d)) => d.is_int(),
                _ => false,
            };
            if !integer {
                let message = format!("an index must be an integer, found {}", self.describe(i));
                return Err(Diagnostic::new(ErrorKind::Index, self.span, message));
            }
            wrap |= self.range(i).0 < 0;
            places.push(self.as_dtype(i, DType::I64)?);
        }
        Ok((t, places, wrap))
    }
}
