//! Reductions of whole arrays.

use super::Infer;
use super::abs::Abs;
use super::view::Part;
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::attr::{CmpOp, Const, Fold, Order};
use weft_ir::{DType, Dim, ExcClass, Layout, Op, TensorType, Type, ValueId};

impl Infer<'_> {
    /// `prim.reduce(fold, x, axis, keepdims)`: axes that are named, or all of them.
    pub(super) fn reduction(&mut self, fold: &str, x: &Abs, axis: &Abs, keep: &Abs) -> Result<Abs, Diagnostic> {
        let (Some(fold), Some(t)) = (Fold::from_text(fold), self.as_tensor(x)) else {
            return Err(self.internal("a reduction of no array"));
        };
        let Abs::Const(Const::Bool(keep)) = *keep else {
            return Err(self.refuse("keepdims must be a constant"));
        };
        let rank = self.tensor(t).map_or(0, TensorType::rank);
        let mut axes = match axis {
            Abs::Const(Const::None) => (0..rank).collect(),
            Abs::Tuple(items) => self.axes(items, rank)?,
            one => self.axes(std::slice::from_ref(one), rank)?,
        };
        axes.sort_unstable();
        if axes.windows(2).any(|w| w[0] == w[1]) {
            return Err(Diagnostic::new(ErrorKind::Value, self.span, "duplicate value in 'axis'"));
        }
        let (mut result, mut left) = (t, axes.clone());
        if axes.len() == rank && (rank == 0 || (rank > 1 && !self.is_c(t))) {
            (result, left) = (self.flat(t)?, vec![0]);
        }
        while let Some(last) = left.pop() {
            let mut group = vec![last];
            while self.is_c(result) && left.last().is_some_and(|&k| k + 1 == group[0]) {
                group.splice(0..0, left.pop());
            }
            result = self.reduce_axes(fold, result, &group)?;
        }
        // Without axes the result is a number, as in NumPy.
        if keep && rank > 0 {
            let none = || Abs::Const(Const::None);
            let part = |k: usize| match axes.contains(&k) {
                true => Part::New,
                false => Part::Slice(Box::new([none(), none(), none()])),
            };
            return Ok(Abs::Value(self.view(result, &(0..rank).map(part).collect::<Vec<_>>())?));
        }
        let ty = self.tensor(result).cloned();
        match ty {
            Some(ty) if ty.rank() == 0 => Ok(Abs::Value(self.emit(Op::NtItem, &[result], Type::Num(ty.dtype)))),
            _ => Ok(Abs::Value(result)),
        }
    }

    /// `prim.scan(fold, x)`: the running folds of a vector.
    pub(super) fn scan(&mut self, fold: &str, x: &Abs) -> Result<Abs, Diagnostic> {
        let (Some(fold), Some(t)) = (Fold::from_text(fold), self.as_tensor(x)) else {
            return Err(self.internal("a scan of no array"));
        };
        let Some(ty) = self.tensor(t).cloned() else { return Err(self.internal("no array")) };
        let result = Type::tensor(TensorType::fresh(ty.dims, ty.dtype, ty.place));
        Ok(Abs::Value(self.emit(Op::NtScan { fold }, &[t], result)))
    }

    /// All elements in one dimension, in the order of memory where that is C or Fortran.
    fn flat(&mut self, t: ValueId) -> Result<ValueId, Diagnostic> {
        let mut x = Abs::Value(t);
        if self.tensor(t).is_some_and(|t| t.layout == Layout::F) {
            x = self.permute(&x, &Abs::Const(Const::None))?;
        }
        let flat = self.reshape(&x, &Abs::Tuple(vec![Abs::Const(Const::Int(-1))]))?;
        self.materialise(&flat)
    }

    fn is_c(&self, t: ValueId) -> bool {
        self.tensor(t).is_some_and(|t| t.layout == Layout::C)
    }

    /// One axis, or neighbours of a C-ordered array.
    fn reduce_axes(&mut self, fold: Fold, t: ValueId, axes: &[usize]) -> Result<ValueId, Diagnostic> {
        let Some(ty) = self.tensor(t).cloned() else { return Err(self.internal("no array")) };
        let empty = match fold {
            Fold::Min => "zero-size array to reduction operation minimum which has no identity",
            Fold::Max => "zero-size array to reduction operation maximum which has no identity",
            Fold::ArgMin => "attempt to get argmin of an empty sequence",
            Fold::ArgMax => "attempt to get argmax of an empty sequence",
            _ => "",
        };
        for &axis in axes.iter().filter(|&&k| !empty.is_empty() && !matches!(ty.dims[k], Dim::Const(n) if n > 0)) {
            let zero = self.constant(Const::Int(0), Type::I64);
            let size = self.size_i64(t, axis);
            let none = self.test(CmpOp::Eq, size, zero);
            self.raise_if(none, ExcClass::ValueError, empty, &[]);
        }
        let fold = match (ty.dtype, fold) {
            (DType::Bool, Fold::Max) => Fold::Any,
            (DType::Bool, Fold::Min) => Fold::All,
            _ => fold,
        };
        let kept = ty.dims.iter().enumerate().filter(|(k, _)| !axes.contains(k));
        let dims: Vec<Dim> = kept.map(|(_, d)| *d).collect();
        let dtype = if matches!(fold, Fold::ArgMin | Fold::ArgMax) { DType::I64 } else { ty.dtype };
        let result = Type::tensor(TensorType::fresh(dims, dtype, ty.place));
        let axes = axes.iter().map(|&k| k as u32).collect();
        Ok(self.emit(Op::NtReduce { fold, axes, order: Order::Auto }, &[t], result))
    }

    /// `prim.matmul(x, y)`: of arrays of one dtype and rank, whose sizes are known to fit.
    pub(super) fn matrix_product(&mut self, x: &Abs, y: &Abs) -> Result<Abs, Diagnostic> {
        let tensor = |s: &Self, x: &Abs| s.as_tensor(x).and_then(|t| Some((t, s.tensor(t)?.clone())));
        let (Some((a, left)), Some((b, right))) = (tensor(self, x), tensor(self, y)) else {
            return Err(self.internal("a product of no arrays"));
        };
        let mut dims = left.dims;
        if let (Some(last), Some(columns)) = (dims.last_mut(), right.dims.last()) {
            *last = *columns;
        }
        let ty = Type::tensor(TensorType::fresh(dims, left.dtype, left.place));
        Ok(Abs::Value(self.emit(Op::NtMatmul, &[a, b], ty)))
    }

    /// `prim.dot(x, y)`: of vectors of one dtype, whose sizes are known to fit.
    pub(super) fn vector_product(&mut self, x: &Abs, y: &Abs) -> Result<Abs, Diagnostic> {
        let (Some(a), Some(b)) = (self.as_tensor(x), self.as_tensor(y)) else {
            return Err(self.internal("a product of no arrays"));
        };
        let Some(dtype) = self.tensor(a).map(|t| t.dtype) else { return Err(self.internal("no array")) };
        Ok(Abs::Value(self.emit(Op::NtDot, &[a, b], Type::Num(dtype))))
    }

    /// `prim.cholesky(x)`, `prim.solve(x, y)`: of matrices of one dtype, whose sizes are known to fit. What becomes of each of them,
    /// and the outcome.
    pub(super) fn in_place(&mut self, op: Op, matrices: &[&Abs]) -> Result<Abs, Diagnostic> {
        let (mut operands, mut types) = (vec![], vec![]);
        for x in matrices {
            let Some(t) = self.as_tensor(x) else { return Err(self.internal("a factor of no array")) };
            let Some(ty) = self.tensor(t) else { return Err(self.internal("no array")) };
            types.push(Type::tensor(TensorType::fresh(ty.dims.clone(), ty.dtype, ty.place.clone())));
            operands.push(t);
        }
        types.push(Type::I64);
        let id = self.builder().op(op, &operands, &types, &[]);
        Ok(Abs::Tuple(self.out.op(id).results.iter().copied().map(Abs::Value).collect()))
    }

    /// How many elements a reduction of these axes combines, as a Python int.
    pub(super) fn reduced_count(&mut self, x: &Abs, axis: &Abs) -> Result<Abs, Diagnostic> {
        let Some(t) = self.as_tensor(x) else { return Ok(Abs::Const(Const::Int(1))) };
        let rank = self.tensor(t).map_or(0, TensorType::rank);
        let axes = match axis {
            Abs::Const(Const::None) => (0..rank).collect(),
            Abs::Tuple(items) => self.axes(items, rank)?,
            one => self.axes(std::slice::from_ref(one), rank)?,
        };
        let mut count = Abs::Const(Const::Int(1));
        for axis in axes {
            let n = self.size(t, axis);
            count = self.int_binop(weft_ir::attr::BinOp::Mul, &count, &n)?;
        }
        Ok(count)
    }
}
