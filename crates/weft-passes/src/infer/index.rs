//! Element access, and what arrays tell about themselves.

use super::Infer;
use super::abs::{Abs, SIZE};
use super::facts::Affine;
use super::library;
use super::view::Part;
use weft_diag::{Diagnostic, ErrorKind, nearest};
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{DType, Dim, ExcClass, Op, Type, ValueId, Weak};

/// CPython's words for an int that no C long can hold.
pub(super) const TOO_LARGE: &str = "Python int too large to convert to C long";

/// What an index of an array names.
pub(super) enum Place {
    /// One element: its i64 indices, and whether negative ones count from the end.
    Element(Vec<ValueId>, bool),
    /// A view.
    View(Vec<Part>),
    /// What arrays of integers or bools pick.
    Picked(Vec<Part>),
}

impl Infer<'_> {
    /// `x.name`.
    pub(super) fn attribute(&mut self, x: &Abs, name: &str) -> Result<Abs, Diagnostic> {
        const KNOWN: [&str; 8] = ["shape", "size", "ndim", "dtype", "itemsize", "nbytes", "strides", "T"];
        if let Some(found) = self.library_attribute(x, name)? {
            return Ok(found);
        }
        match (x, name) {
            (Abs::Slice(bounds), "start") => return Ok(bounds[0].clone()),
            (Abs::Slice(bounds), "stop") => return Ok(bounds[1].clone()),
            (Abs::Slice(bounds), "step") => return Ok(bounds[2].clone()),
            // A method of ufuncs.
            (Abs::Function(ufunc), "outer") if is_binary_ufunc(ufunc)? => {
                return Ok(Abs::Method(Box::new(x.clone()), "weft.lib.products.ufunc_outer".into()));
            }
            _ => {}
        }
        let (dims, dtype) = match self.type_of(x) {
            Some(Type::Tensor(t)) => (t.dims.clone(), t.dtype),
            Some(Type::Num(d)) => (vec![], d),
            _ => {
                let message = format!("{} has no attribute `{name}` that Weft knows", self.describe(x));
                let d = Diagnostic::new(ErrorKind::Attribute, self.span, message);
                return Err(self.suggest(x, name, &[], d));
            }
        };
        let int = |n: usize| Abs::Const(Const::Int(n as i128));
        match name {
            "ndim" => Ok(int(dims.len())),
            "dtype" => Ok(Self::dtype_abs(dtype)),
            "itemsize" => Ok(int(dtype.size())),
            "shape" => match self.as_tensor(x) {
                Some(t) => Ok(Abs::Tuple((0..dims.len()).map(|k| self.size(t, k)).collect())),
                None => Ok(Abs::Tuple(vec![])),
            },
            "strides" => match self.as_tensor(x) {
                Some(t) => {
                    let stride = |s: &mut Self, k: usize| s.emit(Op::NtStride { dim: k as u32 }, &[t], Type::PYINT);
                    Ok(Abs::Tuple((0..dims.len()).map(|k| Abs::Value(stride(self, k))).collect()))
                }
                None => Ok(Abs::Tuple(vec![])),
            },
            "size" | "nbytes" => {
                let mut product = int(if name == "size" { 1 } else { dtype.size() });
                for k in 0..dims.len() {
                    let t = self.as_tensor(x).ok_or_else(|| self.internal("no array"))?;
                    let n = self.size(t, k);
                    if product == int(1) {
                        product = n;
                        continue;
                    }
                    product = self.int_binop(weft_ir::attr::BinOp::Mul, &product, &n)?;
                }
                Ok(product)
            }
            "reshape" | "transpose" if self.as_tensor(x).is_some() => {
                Ok(Abs::Method(Box::new(x.clone()), format!("weft.array.{name}")))
            }
            _ => {
                let message = format!("Weft does not know the array attribute `{name}` yet");
                let d = Diagnostic::new(ErrorKind::Attribute, self.span, message).label(self.describe(x));
                Err(self.suggest(x, name, &KNOWN, d))
            }
        }
    }

    /// Adds the attribute nearest to `name` among `own` and the library's for values like `x`.
    fn suggest(&self, x: &Abs, name: &str, own: &[&str], d: Diagnostic) -> Diagnostic {
        let classes = self.classes_of(x);
        let of_class = |path: &'static str| {
            let (class, name) = path.rsplit_once('.')?;
            classes.iter().any(|c| c == class).then_some(name)
        };
        let known = super::known_functions().filter_map(of_class);
        match nearest(name, known.chain(own.iter().copied())) {
            Some(near) => d.help(format!("did you mean `{near}`?")),
            None if classes.iter().any(|c| c == "numpy.ndarray") => {
                d.help("write it as a loop or with functions of NumPy")
            }
            None => d.help("compute it outside and pass it as an argument"),
        }
    }

    /// Size of a dimension, as pyint.
    pub(super) fn size(&mut self, t: ValueId, k: usize) -> Abs {
        match self.tensor(t).map(|t| t.dims[k]) {
            Some(Dim::Const(n)) => Abs::Const(Const::Int(n.into())),
            dim => {
                let v = self.emit(Op::NtDim { dim: k as u32 }, &[t], Type::PYINT);
                let mut least = 0;
                if let Some(dim) = dim {
                    self.set_affine(v, Affine::size(dim));
                    let size = self.rooted(Affine::size(dim));
                    least = if size.minus.is_none() { self.least_size(size.dim).saturating_add(size.plus) } else { 0 };
                }
                self.with_range(v, (least.max(0), SIZE.1))
            }
        }
    }

    /// `x[i, …]`.
    pub(super) fn index(&mut self, x: &Abs, indices: &[Abs]) -> Result<Abs, Diagnostic> {
        if let Abs::Tuple(items) = x {
            return self.tuple_item(items, indices);
        }
        if self.as_list(x).is_some() {
            return self.index_list(x, indices);
        }
        if matches!(x, Abs::Function(name) if name == "numpy.mgrid") {
            let slices = match indices {
                [one] => one.clone(),
                many => Abs::Tuple(many.to_vec()),
            };
            return self.call(x, &[slices], &[]);
        }
        let t = self.indexed(x)?;
        if let Some(condition) = self.only_bool(indices) {
            let pick = Abs::Function("weft.lib.indexing.pick_if".into());
            return self.call(&pick, &[x.clone(), condition], &[]);
        }
        let mut ready = vec![];
        for index in indices {
            // A list of nothing is of any dtype: as an index, of integers.
            ready.push(match self.is_empty(index) && self.as_list(index).is_some() {
                true => self.array_from(index, &Self::dtype_abs(DType::I64))?,
                false => index.clone(),
            });
        }
        let indices = &self.lists_as_arrays(&ready)?[..];
        // An array without axes takes its axis away as a number does, but what it picks is a copy, as with other arrays.
        let by_array = indices.iter().any(|index| self.as_tensor(index).is_some());
        match self.place(t, indices)? {
            Place::View(parts) if by_array => {
                let view = self.view(t, &parts)?;
                self.copied(&Abs::Value(view))
            }
            Place::Element(places, wrap) => {
                let dtype = self.tensor(t).map_or(DType::F64, |t| t.dtype);
                let operands: Vec<ValueId> = std::iter::once(t).chain(places).collect();
                Ok(Abs::Value(self.emit(Op::NtLoad { wrap }, &operands, Type::Num(dtype))))
            }
            Place::View(parts) => Ok(Abs::Value(self.view(t, &parts)?)),
            Place::Picked(parts) => self.pick(t, &parts),
        }
    }

    /// The array that is indexed.
    fn indexed(&self, x: &Abs) -> Result<ValueId, Diagnostic> {
        let d = || match x {
            Abs::Tuple(_) | Abs::Const(Const::Str(_)) => self
                .typing(format!("{} does not support item assignment", self.describe(x)))
                .help("make a new one, or use a list or an array"),
            _ => self.typing(format!("{} cannot be indexed", self.describe(x))),
        };
        self.as_tensor(x).ok_or_else(d)
    }

    /// The one bool that is the whole index, as a scalar.
    fn only_bool(&mut self, indices: &[Abs]) -> Option<Abs> {
        let [index] = indices else { return None };
        if self.is_kernel() {
            return None;
        }
        match self.type_of(index)? {
            Type::Py(Weak::Bool) | Type::Num(DType::Bool) => Some(index.clone()),
            Type::Tensor(t) if t.rank() == 0 && t.dtype == DType::Bool => {
                let mask = self.as_tensor(index)?;
                Some(Abs::Value(self.emit(Op::NtItem, &[mask], Type::BOOL)))
            }
            _ => None,
        }
    }

    /// What an index of an array names.
    pub(super) fn place(&mut self, t: ValueId, indices: &[Abs]) -> Result<Place, Diagnostic> {
        if self.is_kernel() {
            let (places, wrap) = self.kernel_element(t, indices)?;
            return Ok(Place::Element(places, wrap));
        }
        let (parts, array) = self.parts(t, indices)?;
        if parts.iter().any(|p| matches!(p, Part::Array(_))) {
            return Ok(Place::Picked(parts));
        }
        if array || parts.iter().any(|p| !matches!(p, Part::At(_))) {
            return Ok(Place::View(parts));
        }
        let mut places = vec![];
        for (axis, part) in parts.iter().enumerate() {
            if let Part::At(i) = part {
                places.push(self.checked_index(i, t, axis)?);
            }
        }
        Ok(Place::Element(places, false))
    }

    fn tuple_item(&mut self, items: &[Abs], indices: &[Abs]) -> Result<Abs, Diagnostic> {
        let n = items.len() as i128;
        match indices {
            [Abs::Const(Const::Int(i))] => {
                let at = if *i < 0 { i + n } else { *i };
                match items.get(at as usize) {
                    Some(item) if at >= 0 => Ok(item.clone()),
                    _ => Err(Diagnostic::new(ErrorKind::Index, self.span, "tuple index out of range")),
                }
            }
            [Abs::Slice(bounds)] => self.tuple_slice(items, bounds),
            [i] if n > 0 && matches!(self.type_of(i), Some(Type::Py(Weak::Int | Weak::Bool) | Type::Num(_))) => {
                let at = self.pyint(i)?;
                let site = self.site(ExcClass::IndexError, "tuple index out of range");
                let len = self.constant(Const::Int(n), Type::PYINT);
                let at = self.emit(Op::NtIndex { wrap: true, site }, &[at, len], Type::PYINT);
                self.choose_item(items, &Abs::Value(at))
            }
            _ => Err(self.typing("tuple indices must be integers or slices")),
        }
    }

    /// `items[lower:upper:step]` with constants.
    fn tuple_slice(&mut self, items: &[Abs], bounds: &[Abs; 3]) -> Result<Abs, Diagnostic> {
        let mut parts = [None; 3];
        for (part, bound) in parts.iter_mut().zip(bounds) {
            *part = match bound {
                Abs::Const(Const::None) => None,
                Abs::Const(Const::Int(v)) => Some(*v),
                _ => return Err(self.refuse("a slice of a tuple takes constants").help("use an array")),
            };
        }
        let n = items.len() as i128;
        let step = parts[2].unwrap_or(1);
        if step == 0 {
            return Err(Diagnostic::new(ErrorKind::Value, self.span, "slice step cannot be zero"));
        }
        let clamp = |v: Option<i128>, absent: i128| match v {
            None => absent,
            Some(v) => {
                let v = if v < 0 { v + n } else { v };
                if step > 0 { v.clamp(0, n) } else { v.clamp(-1, n - 1) }
            }
        };
        let (mut at, stop) = match step > 0 {
            true => (clamp(parts[0], 0), clamp(parts[1], n)),
            false => (clamp(parts[0], n - 1), clamp(parts[1], -1)),
        };
        let mut out = vec![];
        while if step > 0 { at < stop } else { at > stop } {
            out.push(items[at as usize].clone());
            at += step;
        }
        Ok(Abs::Tuple(out))
    }

    /// `x[i, …] = v`.
    pub(super) fn set_index(&mut self, v: &Abs, x: &Abs, indices: &[Abs]) -> Result<(), Diagnostic> {
        if self.as_list(x).is_some() {
            return self.set_index_list(v, x, indices);
        }
        let t = self.indexed(x)?;
        if let Some(condition) = self.only_bool(indices) {
            let put = Abs::Function("weft.lib.indexing.put_if".into());
            return self.call(&put, &[x.clone(), condition, v.clone()], &[]).map(drop);
        }
        let indices = &self.lists_as_arrays(indices)?[..];
        let v = &if self.as_list(v).is_some() { self.array_from(v, &Abs::Const(Const::None))? } else { v.clone() };
        self.writable(t)?;
        match self.place(t, indices)? {
            Place::Element(places, wrap) => {
                let dtype = self.tensor(t).map_or(DType::F64, |t| t.dtype);
                let value = self.stored(v, dtype)?;
                let operands: Vec<ValueId> = [value, t].into_iter().chain(places).collect();
                self.effect(Op::NtStore { wrap }, &operands);
                Ok(())
            }
            Place::View(parts) => {
                let view = self.view(t, &parts)?;
                self.assign(view, v)
            }
            Place::Picked(parts) => self.put(t, &parts, v),
        }
    }

    /// Refuses to write into a read-only array.
    pub(super) fn writable(&self, t: ValueId) -> Result<(), Diagnostic> {
        match self.tensor(t).is_some_and(|t| t.readonly) {
            true => Err(Diagnostic::new(ErrorKind::Value, self.span, "assignment destination is read-only")),
            false => Ok(()),
        }
    }

    /// A value as an element: casts as NumPy's item assignment does.
    pub(super) fn stored(&mut self, v: &Abs, dtype: DType) -> Result<ValueId, Diagnostic> {
        if let Some(t) = self.as_tensor(v).filter(|&t| self.tensor(t).is_some_and(|t| t.rank() == 0)) {
            let from = self.tensor(t).map_or(dtype, |t| t.dtype);
            let item = self.emit(Op::NtItem, &[t], Type::Num(from));
            return Ok(self.cast(item, Type::Num(dtype)));
        }
        if self.as_tensor(v).is_some() {
            let message = "setting an array element with a sequence.";
            return Err(Diagnostic::new(ErrorKind::Value, self.span, message).label(self.describe(v)));
        }
        if self.type_of(v).is_none_or(|t| !t.is_scalar()) {
            let message = format!("an element of a {} array cannot be {}", dtype.numpy_name(), self.describe(v));
            return Err(self.typing(message));
        }
        match self.type_of(v) {
            // NumPy casts its own scalars into unsigned ints without a look; else they go through a Python int.
            Some(Type::Num(d)) if d.is_int() && dtype.is_unsigned() => {}
            Some(Type::Num(d)) if d.is_int() && dtype.is_signed() && d != dtype => {
                return self.int_into_int(v, d, dtype);
            }
            Some(Type::Num(d)) if d.is_float() && dtype.is_signed() => return self.float_into_int(v, dtype),
            Some(Type::Py(Weak::Float)) if dtype.is_int() => return self.float_into_int(v, dtype),
            Some(Type::Py(Weak::Complex)) if dtype.is_int() => {
                let message = "int() argument must be a string, a bytes-like object or a real number, not 'complex'";
                return Err(self.typing(message));
            }
            Some(Type::Py(Weak::Complex)) if dtype.is_float() => {
                return Err(self.typing("float() argument must be a string or a real number, not 'complex'"));
            }
            _ => {}
        }
        self.as_dtype(v, dtype)
    }

    /// A NumPy integer as a signed one that must hold it.
    fn int_into_int(&mut self, v: &Abs, from: DType, dtype: DType) -> Result<ValueId, Diagnostic> {
        let x = self.materialise(v)?;
        if from == DType::U64 {
            let most = self.constant(Const::Int(i64::MAX.into()), Type::Num(DType::U64));
            let beyond = self.test(CmpOp::Gt, x, most);
            self.raise_if(beyond, ExcClass::OverflowError, TOO_LARGE, &[]);
        }
        let range = self.range(v);
        let int = self.cast(x, Type::PYINT);
        let int = self.with_range(int, (range.0, range.1.min(i64::MAX.into())));
        self.as_dtype(&int, dtype)
    }

    /// NumPy refuses floats that no integer of the dtype can hold.
    pub(super) fn float_into_int(&mut self, v: &Abs, dtype: DType) -> Result<ValueId, Diagnostic> {
        if dtype == DType::U64 {
            let wide = self.float_inside(v, dtype)?;
            return Ok(self.cast(wide, Type::Num(dtype)));
        }
        let int = self.float_inside(v, DType::I64)?;
        self.as_dtype(&Abs::Value(int), dtype)
    }

    /// A float as a pyint, or the exception `int(x)` raises.
    pub(super) fn checked_int(&mut self, v: &Abs) -> Result<ValueId, Diagnostic> {
        self.float_inside(v, DType::I64)
    }

    /// A float that is known to fit a 64-bit integer dtype once truncated: the int, or for u64 the float as pyfloat.
    fn float_inside(&mut self, v: &Abs, dtype: DType) -> Result<ValueId, Diagnostic> {
        let v = self.materialise(v)?;
        let wide = self.cast(v, Type::PYFLOAT);
        let (lo, hi) = dtype.int_bounds().unwrap_or((0, 0));
        // One test for what fits, nearly: which exception it is, and the least integer itself, only matter for the others.
        // hi + 1 is a power of two, and lo is one or 0: all bounds are exact.
        let high = self.constant(Const::Float((hi + 1) as f64), Type::PYFLOAT);
        let fits = if lo == 0 {
            let low = self.constant(Const::Float(-1.0), Type::PYFLOAT);
            let (above, below) = (self.test(CmpOp::Gt, wide, low), self.test(CmpOp::Lt, wide, high));
            self.emit(Op::And, &[above, below], Type::PYBOOL)
        } else {
            let size = self.emit(Op::Abs, &[wide], Type::PYFLOAT);
            self.test(CmpOp::Lt, size, high)
        };
        let (goes_on, raises) = (self.out.new_region(), self.out.new_region());
        self.inside(goes_on, |s| {
            let given = (lo < 0).then(|| s.cast(wide, Type::PYINT));
            s.effect(Op::Yield, given.as_slice());
        });
        self.inside(raises, |s| {
            let nan = s.test(CmpOp::Ne, wide, wide);
            s.raise_if(nan, ExcClass::ValueError, "cannot convert float NaN to integer", &[]);
            let limit = s.constant(Const::Float(f64::INFINITY), Type::PYFLOAT);
            let size = s.emit(Op::Abs, &[wide], Type::PYFLOAT);
            let infinite = s.test(CmpOp::Eq, size, limit);
            s.raise_if(infinite, ExcClass::OverflowError, "cannot convert float infinity to integer", &[]);
            if lo < 0 {
                let least = s.constant(Const::Float(lo as f64), Type::PYFLOAT);
                let other = s.test(CmpOp::Ne, wide, least);
                s.raise_if(other, ExcClass::OverflowError, TOO_LARGE, &[]);
                let least = s.constant(Const::Int(lo), Type::PYINT);
                s.effect(Op::Yield, &[least]);
            } else {
                // What a Python int of 64 bits holds is shown: it is negative.
                let (least, none) = (
                    s.constant(Const::Float(-(2f64.powi(63))), Type::PYFLOAT),
                    s.constant(Const::Float(0.0), Type::PYFLOAT),
                );
                let (above, below) = (s.test(CmpOp::Ge, wide, least), s.test(CmpOp::Lt, wide, none));
                let shown = s.emit(Op::And, &[above, below], Type::PYBOOL);
                let int = s.cast(wide, Type::PYINT);
                let template = format!("Python integer {{i}} out of bounds for {}", dtype.numpy_name());
                s.raise_if(shown, ExcClass::OverflowError, &template, &[int]);
                let site = s.site(ExcClass::OverflowError, TOO_LARGE);
                s.effect(Op::Raise { site }, &[]);
            }
        });
        if lo < 0 {
            let made = self.builder().op(Op::ScfIf, &[fits], &[Type::PYINT], &[goes_on, raises]);
            return Ok(self.out.op(made).results[0]);
        }
        self.builder().op(Op::ScfIf, &[fits], &[], &[goes_on, raises]);
        Ok(wide)
    }

    /// The i64 indices of an element in a kernel, unchecked but under `debug=True`; whether one may be negative.
    fn kernel_element(&mut self, t: ValueId, indices: &[Abs]) -> Result<(Vec<ValueId>, bool), Diagnostic> {
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
        let checked = self.resolver.is_debugging();
        for (axis, i) in flat.iter().enumerate() {
            let integer = match self.type_of(i) {
                Some(Type::Py(Weak::Int)) => true,
                Some(Type::Num(d)) => d.is_int(),
                _ => false,
            };
            if !integer {
                let message = format!("an index must be an integer, found {}", self.describe(i));
                return Err(Diagnostic::new(ErrorKind::Index, self.span, message));
            }
            if checked {
                places.push(self.checked_index(i, t, axis)?);
                continue;
            }
            wrap |= self.range(i).0 < 0;
            places.push(self.as_dtype(i, DType::I64)?);
        }
        Ok((places, wrap))
    }
}

/// Whether NumPy's function of this name is applied to two elements.
fn is_binary_ufunc(name: &str) -> Result<bool, Diagnostic> {
    let found = library::find(name)?.filter(|_| name.starts_with("numpy."));
    Ok(found.is_some_and(|o| o.form == library::Form::Elementwise && o.params.len() == 2))
}
