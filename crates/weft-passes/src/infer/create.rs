//! New arrays, other shapes of arrays, and dtypes as values: what the library's functions of whole arrays are written in.

use super::Infer;
use super::abs::{Abs, SIZE};
use super::join::Ty;
use super::view::Part;
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::attr::{BinOp, CmpOp, Const};
use weft_ir::rules::promote;
use weft_ir::{DType, Dim, ExcClass, Layout, Op, Place, TensorType, Type, ValueId, Weak};

const INHOMOGENEOUS: &str = "setting an array element with a sequence. The requested array has an inhomogeneous shape";

impl Infer<'_> {
    /// A primitive about whole arrays; None if there is none of this name.
    pub(super) fn array_primitive(&mut self, name: &str, args: &[Abs]) -> Option<Result<Abs, Diagnostic>> {
        Some(match (name, args) {
            ("empty", [shape, dtype]) => self.new_array(shape, dtype, false),
            ("zeros", [shape, dtype]) => self.new_array(shape, dtype, true),
            ("dtype", [x]) => self.dtype_value(x),
            ("dtype_of", [x]) => self.dtype_of_value(x),
            ("promote_dtypes", [x, y]) => self.promoted(x, y),
            ("is_kind", [x, Abs::Const(Const::Str(kinds))]) => self.is_kind(x, kinds),
            ("as_dtype", [x, dtype]) => self.converted(x, dtype),
            ("array", [x, dtype]) => self.array_from(x, dtype),
            ("copy", [x]) => self.copied(x),
            ("is_known", [x]) => Ok(Abs::Const(Const::Bool(matches!(x, Abs::Const(_))))),
            ("read_only", [x]) => self.read_only(x),
            ("is_tuple", [x]) => Ok(Abs::Const(Const::Bool(matches!(x, Abs::Tuple(_))))),
            ("is_contiguous", [x]) => {
                let layout = self.as_tensor(x).and_then(|t| self.tensor(t)).map(|t| t.layout);
                Ok(Abs::Const(Const::Bool(layout == Some(Layout::C))))
            }
            ("shape_of", [x]) => match self.as_tensor(x) {
                Some(_) => self.attribute(x, "shape"),
                None => Ok(Abs::Tuple(vec![])),
            },
            ("reshape", [x, shape]) => self.reshape(x, shape),
            ("in_order", [x]) => self.array_argument(x).and_then(|t| self.in_order(t)).map(Abs::Value),
            ("permute", [x, axes]) => self.permute(x, axes),
            ("squeeze", [x, axes]) => self.squeeze(x, axes),
            ("item", [x]) => self.item(x),
            ("zero", [dtype]) => match self.dtype_argument(dtype) {
                Ok(d) => {
                    let v = self.constant(Const::Int(0), Type::I64);
                    Ok(Abs::Value(self.cast(v, Type::Num(d))))
                }
                Err(e) => Err(e),
            },
            ("reduce", [Abs::Const(Const::Str(fold)), x, axis, keep]) => self.reduction(fold, x, axis, keep),
            ("scan", [Abs::Const(Const::Str(fold)), x]) => self.scan(fold, x),
            ("count", [x, axis]) => self.reduced_count(x, axis),
            ("store_result", [Abs::Const(Const::Str(ufunc)), out, result]) => match self.as_tensor(out) {
                Some(to) => {
                    let wider = matches!(ufunc.as_str(), "clip" | "multiply");
                    self.assign_result(ufunc, to, result, wider).map(|()| out.clone())
                }
                None => Err(self.typing("return arrays must be of ArrayType").label(self.describe(out))),
            },
            ("generic", [inputs, init, iterators, maps, body]) => self.generic([inputs, init, iterators, maps, body]),
            ("walked", [arrays, has, k]) => self.walked(arrays, has, k),
            ("step", [arrays, body]) => self.step(arrays, body),
            ("layout", [x]) => {
                let layout = self.as_tensor(x).and_then(|t| self.tensor(t)).map(|t| t.layout);
                let letter = match layout {
                    Some(Layout::C) => "C",
                    Some(Layout::F) => "F",
                    _ => "A",
                };
                Ok(Abs::Const(Const::Str(letter.into())))
            }
            ("matmul", [x, y]) => self.matrix_product(x, y),
            ("dot", [x, y]) => self.vector_product(x, y),
            ("cholesky", [x]) => self.in_place(Op::NtCholesky, &[x]),
            ("solve", [x, y]) => self.in_place(Op::NtSolve, &[x, y]),
            ("real_dtype", [x]) => self.dtype_argument(x).map(|d| {
                Self::dtype_abs(match d {
                    DType::C64 => DType::F32,
                    DType::C128 => DType::F64,
                    d => d,
                })
            }),
            ("same_dtype", [x, y]) => self.same_dtype(x, y),
            ("swap", [x, a, b]) => self.swap_axes(x, a, b),
            ("expand_dims", [x, axis]) => self.expand_dims(x, axis),
            _ => return None,
        })
    }

    // ---- dtypes ------------------------------------------------------------------------------

    /// The dtype that a value names: a NumPy type, a Python type, a dtype's name.
    pub(super) fn named_dtype(&self, a: &Abs) -> Option<DType> {
        let by_name = |name: &str| {
            let d = DType::ALL.into_iter().find(|d| d.numpy_name() == name);
            d.or(match name {
                "bool_" => Some(DType::Bool),
                "float" | "double" => Some(DType::F64),
                "single" => Some(DType::F32),
                "half" => Some(DType::F16),
                "int" | "int_" | "intp" | "longlong" | "long" => Some(DType::I64),
                "intc" => Some(DType::I32),
                "short" => Some(DType::I16),
                "byte" => Some(DType::I8),
                "uint" | "uintp" | "ulonglong" | "ulong" => Some(DType::U64),
                "uintc" => Some(DType::U32),
                "ushort" => Some(DType::U16),
                "ubyte" => Some(DType::U8),
                "complex" | "cdouble" => Some(DType::C128),
                "csingle" => Some(DType::C64),
                _ => None,
            })
        };
        match a {
            Abs::Function(name) => match name.split_once('.') {
                Some(("numpy", name)) => by_name(name),
                Some(("builtins", name @ ("bool" | "int" | "float" | "complex"))) => by_name(name),
                _ => None,
            },
            Abs::Const(Const::Str(name)) => by_name(name).or(match name.as_str() {
                "?" => Some(DType::Bool),
                "i1" | "b" => Some(DType::I8),
                "i2" | "h" => Some(DType::I16),
                "i4" | "i" => Some(DType::I32),
                "i8" | "l" | "q" => Some(DType::I64),
                "u1" | "B" => Some(DType::U8),
                "u2" | "H" => Some(DType::U16),
                "u4" | "I" => Some(DType::U32),
                "u8" | "L" | "Q" => Some(DType::U64),
                "f2" | "e" => Some(DType::F16),
                "f4" | "f" => Some(DType::F32),
                "f8" | "d" => Some(DType::F64),
                "c8" | "F" => Some(DType::C64),
                "c16" | "D" => Some(DType::C128),
                _ => None,
            }),
            _ => None,
        }
    }

    /// A dtype as a value: its scalar type.
    pub(super) fn dtype_abs(dtype: DType) -> Abs {
        Abs::Function(format!("numpy.{}", dtype.numpy_name()))
    }

    /// What a `dtype=` argument names.
    fn dtype_argument(&self, a: &Abs) -> Result<DType, Diagnostic> {
        let named = self.named_dtype(a);
        let what = match a {
            Abs::Const(Const::Str(name)) => format!("data type {name:?}"),
            other => self.describe(other),
        };
        let help = "name one of NumPy's number types when compiling: np.float64, \"int32\", x.dtype";
        named.ok_or_else(|| self.typing(format!("{what} is not understood as a dtype")).help(help))
    }

    fn dtype_value(&self, x: &Abs) -> Result<Abs, Diagnostic> {
        self.dtype_argument(x).map(Self::dtype_abs)
    }

    /// Dtype of the elements of an array, or of the array that a scalar or a tuple makes.
    pub(super) fn element_dtype_of(&self, x: &Abs) -> Result<DType, Diagnostic> {
        if let Abs::Tuple(items) = x {
            let mut all: Option<DType> = None;
            for item in items {
                let d = self.element_dtype_of(item)?;
                all = Some(all.map_or(d, |a| promote(a, d)));
            }
            return Ok(all.unwrap_or(DType::F64));
        }
        if let Abs::List(_, site) = x {
            return Ok(self.item_form(*site).and_then(|f| self.form_dtype(&f)).unwrap_or(DType::F64));
        }
        match self.type_of(x) {
            Some(Type::Tensor(t)) => Ok(t.dtype),
            Some(t) => t.scalar_dtype().ok_or_else(|| self.typing("None is not a number")),
            None => Err(self.typing(format!("expected a number or an array, found {}", self.describe(x)))),
        }
    }

    /// Dtype of an array of things of this form.
    fn form_dtype(&self, form: &Ty) -> Option<DType> {
        match form {
            Ty::Leaf(Type::Tensor(t)) => Some(t.dtype),
            Ty::Leaf(t) => t.scalar_dtype(),
            Ty::List(site) => self.item_form(*site).and_then(|f| self.form_dtype(&f)),
            Ty::Tuple(items) => {
                items.iter().map(|t| self.form_dtype(t)).collect::<Option<Vec<_>>>()?.into_iter().reduce(promote)
            }
            _ => None,
        }
    }

    /// An array of the items of a list.
    fn array_from_list(&mut self, x: &Abs, site: u32, dtype: DType) -> Result<Abs, Diagnostic> {
        let dtype = Self::dtype_abs(dtype);
        let form = self.item_form(site);
        let Some(rank) = form.as_ref().map_or(Some(0), |form| self.form_rank(form)) else {
            let what = self.describe(x);
            return Err(self.refuse(format!("an array from {what} is not supported yet")).help("fill an array"));
        };
        let (name, width) = match form {
            _ if rank == 0 => ("from_numbers", None),
            Some(Ty::Tuple(items)) if rank == 1 => ("from_tuples", Some(Abs::Const(Const::Int(items.len() as i128)))),
            _ if rank == 1 => ("from_lists", None),
            // The shape of an item where there is none.
            _ => ("from_nested", Some(Abs::Tuple(vec![Abs::Const(Const::Int(0)); rank]))),
        };
        let args: Vec<Abs> = [x.clone(), dtype].into_iter().chain(width).collect();
        self.call(&Abs::Function(format!("weft.lib.arrays.{name}")), &args, &[])
    }

    /// Number of axes of an array of a thing of this form.
    fn form_rank(&self, form: &Ty) -> Option<usize> {
        match form {
            Ty::Leaf(Type::Tensor(t)) => Some(t.rank()),
            Ty::Leaf(t) => t.is_scalar().then_some(0),
            Ty::List(site) => Some(1 + self.item_form(*site).map_or(Some(0), |item| self.form_rank(&item))?),
            Ty::Tuple(items) => {
                let ranks: Option<Vec<usize>> = items.iter().map(|item| self.form_rank(item)).collect();
                let ranks = ranks?;
                let first = ranks.first().copied().unwrap_or(0);
                ranks.iter().all(|&r| r == first).then_some(1 + first)
            }
            _ => None,
        }
    }

    fn dtype_of_value(&self, x: &Abs) -> Result<Abs, Diagnostic> {
        self.element_dtype_of(x).map(Self::dtype_abs)
    }

    fn promoted(&self, x: &Abs, y: &Abs) -> Result<Abs, Diagnostic> {
        Ok(Self::dtype_abs(promote(self.dtype_argument(x)?, self.dtype_argument(y)?)))
    }

    fn same_dtype(&self, x: &Abs, y: &Abs) -> Result<Abs, Diagnostic> {
        Ok(Abs::Const(Const::Bool(self.dtype_argument(x)? == self.dtype_argument(y)?)))
    }

    /// Whether a dtype is of one of these kinds, by NumPy's letters.
    fn is_kind(&self, x: &Abs, kinds: &str) -> Result<Abs, Diagnostic> {
        let letter = match self.dtype_argument(x)? {
            DType::Bool => 'b',
            d if d.is_signed() => 'i',
            d if d.is_unsigned() => 'u',
            d if d.is_float() => 'f',
            _ => 'c',
        };
        Ok(Abs::Const(Const::Bool(kinds.contains(letter))))
    }

    // ---- new arrays --------------------------------------------------------------------------

    /// A size of a new array: an integer that is not negative.
    pub(super) fn new_size(&mut self, size: &Abs) -> Result<Dim, Diagnostic> {
        let integer = match self.type_of(size) {
            Some(Type::Py(w)) => matches!(w, Weak::Int | Weak::Bool),
            Some(Type::Num(d)) => d.is_int(),
            _ => false,
        };
        if !integer {
            let message = format!("'{}' object cannot be interpreted as an integer", self.describe(size));
            return Err(self.typing(message));
        }
        let (lo, hi) = self.range(size);
        if lo == hi && lo >= 0 && lo <= SIZE.1 {
            return Ok(Dim::Const(lo as u64));
        }
        let v = self.pyint(size)?;
        if lo < 0 {
            let zero = self.constant(Const::Int(0), Type::PYINT);
            let negative = self.test(CmpOp::Lt, v, zero);
            self.raise_if(negative, ExcClass::ValueError, "negative dimensions are not allowed", &[]);
        }
        Ok(self.size_symbol(v))
    }

    fn new_dims(&mut self, shape: &Abs) -> Result<Vec<Dim>, Diagnostic> {
        match shape {
            Abs::Tuple(sizes) => sizes.iter().map(|s| self.new_size(s)).collect(),
            one => Ok(vec![self.new_size(one)?]),
        }
    }

    fn new_array(&mut self, shape: &Abs, dtype: &Abs, zero: bool) -> Result<Abs, Diagnostic> {
        if self.is_kernel() {
            return Err(self.refuse("a kernel cannot make arrays"));
        }
        let dtype = if *dtype == Abs::Const(Const::None) { DType::F64 } else { self.dtype_argument(dtype)? };
        let dims = self.new_dims(shape)?;
        Ok(Abs::Value(self.allocate(dims, dtype, zero)))
    }

    pub(super) fn allocate(&mut self, dims: Vec<Dim>, dtype: DType, zero: bool) -> ValueId {
        let ty = Type::tensor(TensorType::fresh(dims, dtype, Place::Host));
        self.emit(Op::NtAlloc { zero }, &[], ty)
    }

    /// A new C-ordered array with the elements of another.
    pub(super) fn copied(&mut self, x: &Abs) -> Result<Abs, Diagnostic> {
        let Some(from) = self.as_tensor(x) else { return self.array_from(x, &Abs::Const(Const::None)) };
        let (dims, dtype) = self.tensor(from).map_or((vec![], DType::F64), |t| (t.dims.clone(), t.dtype));
        let to = self.allocate(dims, dtype, false);
        self.effect(Op::NtCopy, &[to, from]);
        Ok(Abs::Value(to))
    }

    /// A view of all of an array that cannot be written.
    fn read_only(&mut self, x: &Abs) -> Result<Abs, Diagnostic> {
        let t = self.array_argument(x)?;
        let Some(ty) = self.tensor(t).cloned() else { return Err(self.internal("no array")) };
        let (zero, one) = (self.constant(Const::Int(0), Type::I64), self.constant(Const::Int(1), Type::I64));
        let operands: Vec<ValueId> = std::iter::once(t).chain((0..ty.rank()).flat_map(|_| [zero, one])).collect();
        let axes = (0..ty.rank() as i32).collect();
        let view = Type::tensor(TensorType { readonly: true, ..ty });
        Ok(Abs::Value(self.emit(Op::NtView { axes }, &operands, view)))
    }

    /// The shape of nested tuples: all of one depth, of equal lengths.
    fn nested_dims(&self, x: &Abs) -> Result<Vec<Dim>, Diagnostic> {
        let Abs::Tuple(items) = x else {
            return Ok(self.as_tensor(x).and_then(|t| self.tensor(t)).map_or(vec![], |t| t.dims.clone()));
        };
        let mut inner: Option<Vec<Dim>> = None;
        for item in items {
            let dims = self.nested_dims(item)?;
            let known = inner.get_or_insert_with(|| dims.clone());
            let differ = |(a, b): (&Dim, &Dim)| a != b && matches!((a, b), (Dim::Const(_), Dim::Const(_)));
            if known.len() != dims.len() || known.iter().zip(&dims).any(differ) {
                return Err(Diagnostic::new(ErrorKind::Value, self.span, INHOMOGENEOUS));
            }
        }
        let mut dims = vec![Dim::Const(items.len() as u64)];
        dims.extend(inner.unwrap_or_default());
        Ok(dims)
    }

    /// `np.array(x, dtype)`: always a new array.
    pub(super) fn array_from(&mut self, x: &Abs, dtype: &Abs) -> Result<Abs, Diagnostic> {
        let own = self.element_dtype_of(x)?;
        let dtype = if *dtype == Abs::Const(Const::None) { own } else { self.dtype_argument(dtype)? };
        let literal = self.literal(x);
        let x = literal.as_ref().unwrap_or(x);
        if let Abs::List(_, site) = x {
            return self.array_from_list(x, *site, dtype);
        }
        if let Some(t) = self.as_tensor(x) {
            let cast = self.cast_array(t, dtype)?;
            return if cast == t { self.copied(x) } else { Ok(Abs::Value(cast)) };
        }
        // What lists are in tuples are arrays first: their lengths are known when they run.
        let x = &self.lists_as_arrays(std::slice::from_ref(x))?.swap_remove(0);
        let dims = self.nested_dims(x)?;
        self.check_nested(x)?;
        let to = self.allocate(dims, dtype, false);
        self.fill_nested(to, x, &mut vec![])?;
        Ok(Abs::Value(to))
    }

    /// Checks that all arrays in tuples have the same sizes.
    fn check_nested(&mut self, x: &Abs) -> Result<(), Diagnostic> {
        let mut arrays = vec![];
        self.arrays_in(x, &mut arrays);
        let Some((&first, others)) = arrays.split_first() else { return Ok(()) };
        let dims = |s: &Self, t: ValueId| s.tensor(t).map_or(vec![], |t| t.dims.clone());
        let expected = dims(self, first);
        for &t in others {
            let own = dims(self, t);
            for axis in (0..own.len().min(expected.len())).filter(|&k| own[k] != expected[k]) {
                let (size, wanted) = (self.size_i64(t, axis), self.size_i64(first, axis));
                let differ = self.test(CmpOp::Ne, size, wanted);
                self.raise_if(differ, ExcClass::ValueError, INHOMOGENEOUS, &[]);
            }
        }
        Ok(())
    }

    fn arrays_in(&self, x: &Abs, out: &mut Vec<ValueId>) {
        match x {
            Abs::Tuple(items) => items.iter().for_each(|item| self.arrays_in(item, out)),
            x => out.extend(self.as_tensor(x)),
        }
    }

    fn fill_nested(&mut self, to: ValueId, x: &Abs, at: &mut Vec<Abs>) -> Result<(), Diagnostic> {
        if let Abs::Tuple(items) = x {
            for (i, item) in items.iter().enumerate() {
                at.push(Abs::Const(Const::Int(i as i128)));
                self.fill_nested(to, item, at)?;
                at.pop();
            }
            return Ok(());
        }
        if at.is_empty() {
            return self.assign(to, x);
        }
        self.set_index(x, &Abs::Value(to), &[Abs::Tuple(at.clone())])
    }

    /// `x` by plain conversion: an array gives a new array, a scalar a scalar.
    fn converted(&mut self, x: &Abs, dtype: &Abs) -> Result<Abs, Diagnostic> {
        let dtype = self.dtype_argument(dtype)?;
        match self.as_tensor(x) {
            Some(t) => Ok(Abs::Value(self.cast_array(t, dtype)?)),
            None => {
                let v = self.strengthen(x)?;
                Ok(Abs::Value(self.cast(v, Type::Num(dtype))))
            }
        }
    }

    // ---- other shapes ------------------------------------------------------------------------

    fn array_argument(&self, x: &Abs) -> Result<ValueId, Diagnostic> {
        self.as_tensor(x).ok_or_else(|| self.typing(format!("expected an array, found {}", self.describe(x))))
    }

    /// Number of elements, as pyint.
    fn count(&mut self, t: ValueId) -> Result<Abs, Diagnostic> {
        self.attribute(&Abs::Value(t), "size")
    }

    /// `x` in another shape, one size of which may be -1. Arrays whose elements do not lie in C order are copied.
    pub(super) fn reshape(&mut self, x: &Abs, shape: &Abs) -> Result<Abs, Diagnostic> {
        let t = self.array_argument(x)?;
        let sizes = match shape {
            Abs::Tuple(items) => items.clone(),
            one => vec![one.clone()],
        };
        let total = self.count(t)?;
        // NumPy takes any negative number for -1.
        let unknown = Abs::Const(Const::Int(-1));
        let negative = |s: &Abs| matches!(s, Abs::Const(Const::Int(n)) if *n < 0);
        let sizes: Vec<Abs> = sizes.iter().map(|s| if negative(s) { unknown.clone() } else { s.clone() }).collect();
        let free: Vec<usize> = (0..sizes.len()).filter(|&k| sizes[k] == unknown).collect();
        if free.len() > 1 {
            let message = "can only specify one unknown dimension";
            return Err(Diagnostic::new(ErrorKind::Value, self.span, message));
        }
        let shown: Vec<&str> = sizes.iter().map(|s| if *s == unknown { "newaxis" } else { "{i}" }).collect();
        let comma = if sizes.len() == 1 { "," } else { "" };
        let template = format!("cannot reshape array of size {{i}} into shape ({}{comma})", shown.join(","));
        let mut known = Abs::Const(Const::Int(1));
        for size in sizes.iter().filter(|s| **s != unknown && self.range(s).0 >= 0).collect::<Vec<_>>() {
            let int = Abs::Value(self.pyint(size)?);
            known = self.int_binop(BinOp::Mul, &known, if matches!(size, Abs::Const(_)) { size } else { &int })?;
        }
        let own = self.tensor(t).map_or(vec![], |t| t.dims.clone());
        let may_be_negative = sizes.iter().any(|s| *s != unknown && self.range(s).0 < 0);
        let mut dims = vec![];
        for size in sizes.iter().filter(|_| !may_be_negative) {
            dims.push(if *size == unknown { Dim::Const(u64::MAX) } else { self.new_size(size)? });
        }
        match free[..] {
            _ if may_be_negative => dims = self.sizes_of_any_sign(&total, &sizes, &template)?,
            [k] => {
                let others: Vec<Dim> = (0..dims.len()).filter(|&i| i != k).map(|i| dims[i]).collect();
                dims[k] = self.remaining_size(&own, &others, &total, &known, &sizes, &template)?;
            }
            _ => self.same_count(&own, &dims, &total, &known, &sizes, &template)?,
        }
        let own = non_units(&own);
        let line = self.tensor(t).filter(|ty| ty.layout != Layout::C && ty.place == Place::Host).is_some();
        if let ([line], [k], true) = (&own[..], &non_units(&dims)[..], line && matches!(self.door, super::Door::Njit)) {
            // A line in any direction is the same line with other axes of size 1 beside it.
            let none = || Abs::Const(Const::None);
            let rank = self.tensor(t).map_or(0, TensorType::rank);
            let axes = (0..rank).map(|axis| match axis == *line {
                true => Part::Slice(Box::new([none(), none(), none()])),
                false => Part::At(Abs::Const(Const::Int(0))),
            });
            let new = |count: usize| std::iter::repeat_with(|| Part::New).take(count);
            let parts: Vec<Part> = new(*k).chain(axes).chain(new(dims.len() - 1 - k)).collect();
            return Ok(Abs::Value(self.view(t, &parts)?));
        }
        let source = self.in_order(t)?;
        let Some(ty) = self.tensor(source).cloned() else { return Err(self.internal("a shape of no array")) };
        let ty = Type::tensor(TensorType { dims, layout: Layout::C, ..ty });
        Ok(Abs::Value(self.emit(Op::NtReshape, &[source], ty)))
    }

    /// The array as a C-ordered one: its own memory if the elements lie in that order, else a copy.
    fn in_order(&mut self, t: ValueId) -> Result<ValueId, Diagnostic> {
        let Some(ty) = self.tensor(t).cloned() else { return Ok(t) };
        // Of an array that cannot be written, the copy could.
        let known = ty.layout == Layout::C || ty.readonly || ty.place != Place::Host;
        if known || !matches!(self.door, super::Door::Njit) {
            return self.dense(t);
        }
        let lies_in_order = self.lies_in_order(t, &ty)?;
        let (shared, copied) = (self.out.new_region(), self.out.new_region());
        let ty = Type::tensor(TensorType { layout: Layout::C, ..ty });
        self.inside(shared, |s| {
            let v = s.emit(Op::NtReshape, &[t], ty.clone());
            s.effect(Op::Yield, &[v]);
        });
        self.inside(copied, |s| -> Result<(), Diagnostic> {
            let v = s.dense(t)?;
            s.effect(Op::Yield, &[v]);
            Ok(())
        })?;
        let op = self.builder().op(Op::ScfIf, &[lies_in_order], &[ty], &[shared, copied]);
        Ok(self.out.op(op).results[0])
    }

    /// Whether the elements of an array lie one after the other, in C order.
    fn lies_in_order(&mut self, t: ValueId, ty: &TensorType) -> Result<ValueId, Diagnostic> {
        let total = self.count(t)?;
        let total = self.pyint(&total)?;
        let one = self.constant(Const::Int(1), Type::PYINT);
        let mut all = self.test(CmpOp::Lt, total, one);
        let mut so_far = self.constant(Const::Bool(true), Type::PYBOOL);
        let mut step = self.constant(Const::Int(ty.dtype.size() as i128), Type::PYINT);
        for k in (0..ty.rank()).rev() {
            let n = self.size(t, k);
            let n = self.pyint(&n)?;
            let stride = self.emit(Op::NtStride { dim: k as u32 }, &[t], Type::PYINT);
            let (single, fits) = (self.test(CmpOp::Eq, n, one), self.test(CmpOp::Eq, stride, step));
            let here = self.emit(Op::Or, &[single, fits], Type::PYBOOL);
            so_far = self.emit(Op::And, &[so_far, here], Type::PYBOOL);
            step = self.emit(Op::Mul, &[step, n], Type::PYINT);
        }
        all = self.emit(Op::Or, &[all, so_far], Type::PYBOOL);
        Ok(all)
    }

    /// The array if it is C-ordered, else a copy that is.
    fn dense(&mut self, t: ValueId) -> Result<ValueId, Diagnostic> {
        if self.tensor(t).is_some_and(|t| t.layout == Layout::C) {
            return Ok(t);
        }
        let copy = self.copied(&Abs::Value(t))?;
        self.materialise(&copy)
    }

    /// The values of the sizes that a message shows.
    fn shown_sizes(&mut self, total: &Abs, sizes: &[Abs]) -> Result<Vec<ValueId>, Diagnostic> {
        let mut values = vec![self.pyint(total)?];
        for size in sizes.iter().filter(|s| **s != Abs::Const(Const::Int(-1))) {
            values.push(self.pyint(size)?);
        }
        Ok(values)
    }

    /// The sizes of a new shape of which any may turn out to be negative, and so stand for what is left.
    fn sizes_of_any_sign(&mut self, total: &Abs, sizes: &[Abs], template: &str) -> Result<Vec<Dim>, Diagnostic> {
        let int = |s: &mut Self, n| s.constant(Const::Int(n), Type::PYINT);
        let (zero, one) = (int(self, 0), int(self, 1));
        let shown = self.shown_sizes(total, sizes)?;
        let (mut free, mut known) = (vec![], Abs::Value(one));
        let mut count = zero;
        for size in sizes {
            let v = self.pyint(size)?;
            let is_free = self.test(CmpOp::Lt, v, zero);
            let factor = self.emit(Op::Select, &[is_free, one, v], Type::PYINT);
            known = self.int_binop(BinOp::Mul, &known, &Abs::Value(factor))?;
            let more = self.cast(is_free, Type::PYINT);
            count = self.emit(Op::Add, &[count, more], Type::PYINT);
            free.push((v, is_free));
        }
        let several = self.test(CmpOp::Gt, count, one);
        self.raise_if(several, ExcClass::ValueError, "can only specify one unknown dimension", &[]);
        let (whole, known) = (self.pyint(total)?, self.pyint(&known)?);
        // Without one that is free the sizes must make up the whole; by zero both give 0, and NumPy refuses.
        let any = self.test(CmpOp::Eq, count, one);
        let rest = self.emit(Op::Mod, &[whole, known], Type::PYINT);
        let (uneven, none) = (self.test(CmpOp::Ne, rest, zero), self.test(CmpOp::Eq, known, zero));
        let unfit = self.emit(Op::Or, &[uneven, none], Type::PYBOOL);
        let differ = self.test(CmpOp::Ne, whole, known);
        let bad = self.emit(Op::Select, &[any, unfit, differ], Type::PYBOOL);
        self.raise_if(bad, ExcClass::ValueError, template, &shown);
        let left = self.emit(Op::FloorDiv, &[whole, known], Type::PYINT);
        let mut dims = vec![];
        for (v, is_free) in free {
            let size = self.emit(Op::Select, &[is_free, left, v], Type::PYINT);
            match self.with_range(size, SIZE) {
                Abs::Value(v) => dims.push(self.size_symbol(v)),
                _ => return Err(self.internal("a size")),
            }
        }
        Ok(dims)
    }

    /// The size that -1 stands for.
    fn remaining_size(
        &mut self,
        own: &[Dim],
        others: &[Dim],
        total: &Abs,
        known: &Abs,
        sizes: &[Abs],
        template: &str,
    ) -> Result<Dim, Diagnostic> {
        // What is left of the array's own sizes without the others, if that is one size.
        let mut left = own.to_vec();
        let all = others.iter().all(|d| match left.iter().position(|l| l == d) {
            Some(i) => {
                left.remove(i);
                true
            }
            None => *d == Dim::Const(1),
        });
        left.retain(|d| *d != Dim::Const(1));
        if all && !others.contains(&Dim::Const(0)) && others.iter().all(|d| matches!(d, Dim::Const(_))) {
            match left[..] {
                [] => return Ok(Dim::Const(1)),
                [one] => return Ok(one),
                _ => {}
            }
        }
        let zero = self.constant(Const::Int(0), Type::PYINT);
        let shown = self.shown_sizes(total, sizes)?;
        let (whole, by) = (self.pyint(total)?, self.pyint(known)?);
        // By zero both give 0: then the array must be empty, and NumPy refuses to say what -1 is.
        let rest = self.emit(Op::Mod, &[whole, by], Type::PYINT);
        let uneven = self.test(CmpOp::Ne, rest, zero);
        let none = self.test(CmpOp::Eq, by, zero);
        let bad = self.emit(Op::Or, &[uneven, none], Type::PYBOOL);
        self.raise_if(bad, ExcClass::ValueError, template, &shown);
        let size = self.emit(Op::FloorDiv, &[whole, by], Type::PYINT);
        if let Abs::Value(v) = self.with_range(size, SIZE) {
            return Ok(self.size_symbol(v));
        }
        Err(self.internal("a size"))
    }

    /// Checks that a new shape has as many elements as the array.
    fn same_count(
        &mut self,
        own: &[Dim],
        dims: &[Dim],
        total: &Abs,
        known: &Abs,
        sizes: &[Abs],
        template: &str,
    ) -> Result<(), Diagnostic> {
        let sorted = |dims: &[Dim]| {
            let mut d: Vec<Dim> = dims.iter().copied().filter(|d| *d != Dim::Const(1)).collect();
            d.sort();
            d
        };
        if sorted(own) == sorted(dims) || (total == known && matches!(total, Abs::Const(_))) {
            return Ok(());
        }
        let shown = self.shown_sizes(total, sizes)?;
        let (have, want) = (self.pyint(total)?, self.pyint(known)?);
        let differ = self.test(CmpOp::Ne, have, want);
        self.raise_if(differ, ExcClass::ValueError, template, &shown);
        Ok(())
    }

    /// Axes in another order.
    pub(super) fn permute(&mut self, x: &Abs, axes: &Abs) -> Result<Abs, Diagnostic> {
        let t = self.array_argument(x)?;
        let Some(ty) = self.tensor(t).cloned() else { return Err(self.internal("no array")) };
        let rank = ty.rank();
        let axes: Vec<usize> = match axes {
            Abs::Const(Const::None) => (0..rank).rev().collect(),
            Abs::Tuple(items) => self.axes(items, rank)?,
            other => return Err(self.typing(format!("axes are a tuple of ints, found {}", self.describe(other)))),
        };
        let mut seen = axes.clone();
        seen.sort_unstable();
        if seen != (0..rank).collect::<Vec<_>>() {
            let message = if axes.len() == rank { "repeated axis in transpose" } else { "axes don't match array" };
            return Err(Diagnostic::new(ErrorKind::Value, self.span, message));
        }
        let zero = self.constant(Const::Int(0), Type::I64);
        let one = self.constant(Const::Int(1), Type::I64);
        let operands: Vec<ValueId> = std::iter::once(t).chain((0..rank).flat_map(|_| [zero, one])).collect();
        let dims: Vec<Dim> = axes.iter().map(|&a| ty.dims[a]).collect();
        // Axes of size 1 do not count.
        let wide: Vec<usize> = axes.iter().copied().filter(|&a| ty.dims[a] != Dim::Const(1)).collect();
        let rising = wide.is_sorted();
        let falling = wide.is_sorted_by(|a, b| a > b);
        let last = axes.last().copied();
        let layout = match ty.layout {
            layout if rising => layout,
            Layout::C if falling => Layout::F,
            Layout::F if falling => Layout::C,
            Layout::C | Layout::I if last == Some(rank - 1) && wide.last() == last.as_ref() => Layout::I,
            _ => Layout::A,
        };
        let layout = if layout == Layout::I && (last != Some(rank - 1)) { Layout::A } else { layout };
        let axes = axes.into_iter().map(|a| a as i32).collect();
        let view = Type::tensor(TensorType { dims, layout, ..ty });
        Ok(Abs::Value(self.emit(Op::NtView { axes }, &operands, view)))
    }

    fn swap_axes(&mut self, x: &Abs, a: &Abs, b: &Abs) -> Result<Abs, Diagnostic> {
        let t = self.array_argument(x)?;
        let rank = self.tensor(t).map_or(0, TensorType::rank);
        let pair = self.axes(&[a.clone(), b.clone()], rank)?;
        let mut order: Vec<Abs> = (0..rank).map(|k| Abs::Const(Const::Int(k as i128))).collect();
        order.swap(pair[0], pair[1]);
        self.permute(x, &Abs::Tuple(order))
    }

    /// New axes of size 1, at these places of the result.
    fn expand_dims(&mut self, x: &Abs, axis: &Abs) -> Result<Abs, Diagnostic> {
        let t = self.array_argument(x)?;
        let items = match axis {
            Abs::Tuple(items) => items.clone(),
            one => vec![one.clone()],
        };
        let rank = self.tensor(t).map_or(0, TensorType::rank) + items.len();
        let new = self.axes(&items, rank)?;
        if (0..new.len()).any(|k| new[..k].contains(&new[k])) {
            return Err(Diagnostic::new(ErrorKind::Value, self.span, "repeated axis"));
        }
        let none = || Abs::Const(Const::None);
        let parts: Vec<Part> = (0..rank)
            .map(|k| match new.contains(&k) {
                true => Part::New,
                false => Part::Slice(Box::new([none(), none(), none()])),
            })
            .collect();
        // NumPy reshapes: a C-ordered array has the strides of the new shape.
        let ty = self.tensor(t).filter(|t| t.layout == Layout::C).cloned();
        if let Some(ty) = ty {
            let mut own = ty.dims.iter().copied();
            let dims = (0..rank).map(|k| if new.contains(&k) { Some(Dim::Const(1)) } else { own.next() });
            let dims = dims.collect::<Option<Vec<Dim>>>().ok_or_else(|| self.internal("axes"))?;
            return Ok(Abs::Value(self.emit(Op::NtReshape, &[t], Type::tensor(TensorType { dims, ..ty }))));
        }
        Ok(Abs::Value(self.view(t, &parts)?))
    }

    /// Constant axes of an array of this rank; negative ones count from the end.
    pub(super) fn axes(&self, items: &[Abs], rank: usize) -> Result<Vec<usize>, Diagnostic> {
        let mut out = vec![];
        for item in items {
            let Abs::Const(Const::Int(axis)) = item else {
                let d = self.refuse(format!("an axis must be a constant int, found {}", self.describe(item)));
                return Err(d.help("write the axis as a number, or one call for each axis under an `if`"));
            };
            let at = if *axis < 0 { axis + rank as i128 } else { *axis };
            if at < 0 || at >= rank as i128 {
                let message = format!("axis {axis} is out of bounds for array of dimension {rank}");
                return Err(Diagnostic::new(ErrorKind::Axis, self.span, message));
            }
            out.push(at as usize);
        }
        Ok(out)
    }

    /// Without the axes of size 1: all of them, or those named.
    fn squeeze(&mut self, x: &Abs, axes: &Abs) -> Result<Abs, Diagnostic> {
        let t = self.array_argument(x)?;
        let dims = self.tensor(t).map_or(vec![], |t| t.dims.clone());
        let named = match axes {
            Abs::Const(Const::None) => None,
            Abs::Tuple(items) => Some(self.axes(items, dims.len())?),
            one => Some(self.axes(std::slice::from_ref(one), dims.len())?),
        };
        let none = || Abs::Const(Const::None);
        let mut parts = vec![];
        for (k, &dim) in dims.iter().enumerate() {
            let goes = named.as_ref().map_or(dim == Dim::Const(1), |axes| axes.contains(&k));
            let computed = matches!(dim, Dim::Sym(_)) && !self.is_argument_size(dim);
            if (goes && dim != Dim::Const(1)) || (computed && named.is_none()) {
                let size = self.size_i64(t, k);
                let one = self.constant(Const::Int(1), Type::I64);
                let (is, class, message) = match goes {
                    true => (
                        CmpOp::Ne,
                        ExcClass::ValueError,
                        "cannot select an axis to squeeze out which has size not equal to one",
                    ),
                    false => (CmpOp::Eq, ExcClass::UnsupportedError, "squeeze of an axis that turned out to be 1"),
                };
                let bad = self.test(is, size, one);
                self.raise_if(bad, class, message, &[]);
            }
            parts.push(match goes {
                true => Part::At(Abs::Const(Const::Int(0))),
                false => Part::Slice(Box::new([none(), none(), none()])),
            });
        }
        // What has nothing to lose is the same object.
        if !parts.iter().any(|part| matches!(part, Part::At(_))) {
            return Ok(x.clone());
        }
        Ok(Abs::Value(self.view(t, &parts)?))
    }

    /// The one element of an array, as a Python scalar.
    fn item(&mut self, x: &Abs) -> Result<Abs, Diagnostic> {
        let v = match self.as_tensor(x) {
            None => self.strengthen(x)?,
            Some(t) => {
                let Some(ty) = self.tensor(t).cloned() else { return Err(self.internal("no array")) };
                let one = self.constant(Const::Int(1), Type::I64);
                for k in (0..ty.rank()).filter(|&k| ty.dims[k] != Dim::Const(1)) {
                    let size = self.size_i64(t, k);
                    let bad = self.test(CmpOp::Ne, size, one);
                    let message = "can only convert an array of size 1 to a Python scalar";
                    self.raise_if(bad, ExcClass::ValueError, message, &[]);
                }
                let zero = self.constant(Const::Int(0), Type::I64);
                let operands: Vec<ValueId> = std::iter::once(t).chain((0..ty.rank()).map(|_| zero)).collect();
                self.emit(Op::NtLoad { wrap: false }, &operands, Type::Num(ty.dtype))
            }
        };
        let weak = match self.out.ty(v).scalar_dtype() {
            Some(DType::Bool) => Weak::Bool,
            Some(d) if d.is_int() => Weak::Int,
            Some(d) if d.is_float() => Weak::Float,
            _ => Weak::Complex,
        };
        if self.out.ty(v).scalar_dtype() == Some(DType::U64) {
            let most = self.constant(Const::Int(i64::MAX.into()), Type::Num(DType::U64));
            let beyond = self.test(CmpOp::Gt, v, most);
            let message = "Python int does not fit in 64 bits";
            self.raise_if(beyond, ExcClass::OverflowError, message, &[]);
        }
        Ok(Abs::Value(self.cast(v, Type::Py(weak))))
    }

    /// Methods of arrays that take their arguments one by one or as a tuple.
    pub(super) fn variadic(&mut self, name: &str, args: &[Abs], keywords: &[String]) -> Result<Abs, Diagnostic> {
        let (x, rest) = args.split_first().ok_or_else(|| self.internal("a method of nothing"))?;
        if let ("reshape", [.., order], [key]) = (name, rest, keywords)
            && key == "order"
        {
            let shape = match &rest[..rest.len() - 1] {
                [one @ Abs::Tuple(_)] => one.clone(),
                many => Abs::Tuple(many.to_vec()),
            };
            let f = Abs::Function("numpy.reshape".into());
            return self.call(&f, &[x.clone(), shape, order.clone()], &[]);
        }
        if !keywords.is_empty() {
            return Err(self.refuse(format!("{name}() has no keyword `{}` that Weft supports", keywords.join("`, `"))));
        }
        let packed = match rest {
            [one @ (Abs::Tuple(_) | Abs::Const(Const::None))] => one.clone(),
            [] if name == "transpose" => Abs::Const(Const::None),
            [] => return Err(self.typing(format!("{name}() takes a shape"))),
            many => Abs::Tuple(many.to_vec()),
        };
        match name {
            "reshape" => self.reshape(x, &packed),
            _ => self.permute(x, &packed),
        }
    }
}

/// The axes whose size is not known to be 1.
fn non_units(dims: &[Dim]) -> Vec<usize> {
    (0..dims.len()).filter(|&k| dims[k] != Dim::Const(1)).collect()
}
