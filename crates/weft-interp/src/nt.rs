//! Whole-array ops, and transfers between places.

use crate::array::{Array, indices, strides_of};
use crate::exec::{Done, Flow, Frame};
use crate::scalar::{Scalar, binary, compare};
use crate::value::{Failure, Value};
use weft_ir::attr::{Access, CmpOp, Const, Fold, Order};
use weft_ir::{DType, Layout, Op, OpId, TensorType, ValueId, reduce};

impl<'m> Frame<'m> {
    fn tensor_type(&self, v: ValueId) -> Result<&'m TensorType, Failure> {
        let ty = self.f.ty(v);
        ty.as_tensor().ok_or_else(|| Failure::fault(format!("{ty} is no array type")))
    }

    fn shape_of(&self, t: &TensorType) -> Result<Vec<i64>, Failure> {
        t.dims.iter().map(|&d| self.size(d)).collect()
    }

    /// Every position in row-major order, so that the first position that raises decides.
    pub(crate) fn elementwise(&mut self, id: OpId) -> Result<Vec<Value>, Failure> {
        let data = self.f.op(id);
        let mut outputs = vec![];
        for &v in &data.results {
            let t = self.tensor_type(v)?;
            outputs.push(Array::fresh(&self.shape_of(t)?, t.dtype, t.layout)?);
        }
        for &v in &data.operands {
            let Value::Array(a) = self.get(v)? else { continue };
            let promised = self.shape_of(self.tensor_type(v)?)?;
            if a.shape != promised {
                let message = format!("an array of sizes {:?} has the type's {promised:?}", a.shape);
                return Err(Failure::fault(message));
            }
        }
        let outer = std::mem::take(&mut self.position);
        for position in indices(&outputs[0].shape) {
            let mut args = vec![];
            for &v in &data.operands {
                args.push(match self.get(v)? {
                    Value::Array(a) => Value::Scalar(a.load_broadcast(&position)?),
                    scalar => scalar.clone(),
                });
            }
            self.position.clone_from(&position);
            let Flow::Yield(elements) = self.region(data.regions[0], args)? else {
                return Err(Failure::fault("a return out of an nt.elementwise"));
            };
            for (output, element) in outputs.iter().zip(&elements) {
                output.store(&position, element.scalar()?)?;
            }
        }
        self.position = outer;
        Ok(outputs.into_iter().map(Value::Array).collect())
    }

    /// Indices of an `nt.load` or `nt.store` of `a`, negative ones counted from the end.
    pub(crate) fn index(&self, a: &Array, operands: &[ValueId], wrap: bool) -> Result<Vec<i64>, Failure> {
        let mut index = vec![];
        for (&v, &n) in operands.iter().zip(&a.shape) {
            let i = self.get(v)?.int()?;
            index.push(if wrap && i < 0 { i + n } else { i });
        }
        Ok(index)
    }

    /// `nt.view`: start and step of each axis move the offset and the strides.
    fn view(&self, id: OpId, axes: &[i32]) -> Result<Array, Failure> {
        let data = self.f.op(id);
        let a = self.operand(id, 0)?.array()?;
        let shape = self.shape_of(self.tensor_type(data.results[0])?)?;
        let parts: Vec<i64> = data.operands[1..].iter().map(|&v| self.get(v)?.int()).collect::<Result<_, _>>()?;
        let mut view = Array { shape, strides: vec![], ..a.clone() };
        for (axis, part) in parts.chunks(2).enumerate() {
            view.offset += part[0] * a.strides[axis];
        }
        for &axis in axes {
            view.strides.push(match usize::try_from(axis) {
                Ok(axis) => parts[2 * axis + 1] * a.strides[axis],
                Err(_) => 0,
            });
        }
        Ok(view)
    }

    /// `nt.expand`: sizes of 1 repeat.
    fn expand(&self, id: OpId, site: u32) -> Result<Array, Failure> {
        let data = self.f.op(id);
        let a = self.operand(id, 0)?.array()?;
        let shape = self.shape_of(self.tensor_type(data.results[0])?)?;
        let skip = shape.len() - a.shape.len();
        let mut strides = vec![0; skip];
        for (k, (&n, &stride)) in a.shape.iter().zip(&a.strides).enumerate() {
            if n != shape[skip + k] && n != 1 {
                let mut args = vec![];
                for &v in &data.operands[1..] {
                    args.extend(self.get(v)?.array()?.shape.iter().map(|&n| n as u64));
                }
                return Err(Failure::Raised { site, args });
            }
            strides.push(if n == shape[skip + k] { stride } else { 0 });
        }
        Ok(Array { shape, strides, ..a.clone() })
    }

    /// `nt.reduce`, in the order of [`weft_ir::reduce`].
    /// Of an array of this type.
    pub(crate) fn reduce(
        &self,
        id: OpId,
        a: &Array,
        ty: &TensorType,
        fold: Fold,
        axes: &[u32],
        order: Order,
    ) -> Result<Array, Failure> {
        let t = self.tensor_type(self.f.op(id).results[0])?;
        let out = Array::fresh(&self.shape_of(t)?, t.dtype, t.layout)?;
        let [first, .., last] = axes else {
            return match axes {
                [one] => self.reduce(id, a, ty, fold, &[*one, *one], order),
                _ => Err(Failure::fault("a reduction of no axis")),
            };
        };
        let (first, last) = (*first as usize, *last as usize);
        let folded = &a.shape[first..=last];
        let n: i64 = folded.iter().product();
        let inner =
            (0..a.shape.len()).rev().find(|k| !(first..=last).contains(k) && ty.dims[*k] != weft_ir::Dim::Const(1));
        let along = inner.is_none_or(|k| a.strides[k] == 0 || a.strides[last].abs() < a.strides[k].abs());
        let order = if along || order == Order::Tree { Lies::Along } else { Lies::Across };
        for position in indices(&out.shape) {
            let mut get = |i: usize| {
                let mut rest = i as i64;
                let mut at = vec![0; folded.len()];
                for (k, size) in folded.iter().enumerate().rev() {
                    (at[k], rest) = (rest % size, rest / size);
                }
                let (before, after) = position.split_at(first);
                a.load(&[before, &at, after].concat())
            };
            out.store(&position, reduce_line(fold, n as usize, a.dtype, order, &mut get)?)?;
        }
        Ok(out)
    }

    /// `nt.matmul`: sums in order, from the first product on.
    fn matmul(&self, id: OpId) -> Result<Array, Failure> {
        let t = self.tensor_type(self.f.op(id).results[0])?;
        let out = Array::fresh(&self.shape_of(t)?, t.dtype, t.layout)?;
        multiply(&out, self.operand(id, 0)?.array()?, self.operand(id, 1)?.array()?)?;
        Ok(out)
    }

    /// `nt.both_sides`.
    fn both_sides(&self, id: OpId) -> Result<Vec<Value>, Failure> {
        let data = self.f.op(id);
        let a = self.operand(id, 0)?.array()?;
        let [behind, before] = [0, 1].map(|k| {
            let t = self.tensor_type(data.results[k])?;
            Array::fresh(&self.shape_of(t)?, t.dtype, t.layout)
        });
        let (behind, before) = (behind?, before?);
        both_sides(a, self.operand(id, 1)?.array()?, &behind, false)?;
        let vector = if data.operands.len() > 2 { self.operand(id, 2)?.array()? } else { &behind };
        both_sides(a, vector, &before, true)?;
        Ok(vec![Value::Array(behind), Value::Array(before)])
    }

    /// `nt.product` without its region: gives the rows and columns.
    pub(crate) fn product(&self, id: OpId) -> Result<[i64; 2], Failure> {
        let [to, a, b] = [0, 1, 2].map(|k| self.operand(id, k).and_then(Value::array));
        let to = to?;
        multiply(to, a?, b?)?;
        Ok([to.shape[0], to.shape[1]])
    }

    /// Ops without regions.
    pub(crate) fn nt(&mut self, id: OpId) -> Result<Vec<Value>, Failure> {
        let data = self.f.op(id);
        let one = |s: Scalar| vec![Value::Scalar(s)];
        Ok(match &data.op {
            Op::NtPosition { dim } => {
                let i = self.position.get(*dim as usize);
                one(Scalar::i64(*i.ok_or_else(|| Failure::fault("no position along this dimension"))?))
            }
            Op::NtRefine { site } => {
                let a = self.operand(id, 0)?.array()?;
                if a.shape != self.shape_of(self.tensor_type(data.results[0])?)? {
                    let mut args = vec![];
                    for &v in &data.operands[1..] {
                        args.extend(self.get(v)?.array()?.shape.iter().map(|&n| n as u64));
                    }
                    return Err(Failure::Raised { site: *site, args });
                }
                vec![Value::Array(a.clone())]
            }
            Op::NtIndex { wrap, site } => {
                let (i, n) = (self.operand(id, 0)?.int()?, self.operand(id, 1)?.int()?);
                let at = if *wrap && i < 0 { i + n } else { i };
                if !(0..n).contains(&at) {
                    return Err(Failure::Raised { site: *site, args: vec![i as u64, n as u64] });
                }
                one(Scalar::i64(at))
            }
            Op::NtView { axes } => vec![Value::Array(self.view(id, axes)?)],
            Op::NtKeep => {
                let (from, to) = (self.operand(id, 0)?.array()?, self.operand(id, 1)?.array()?);
                if !from.overlaps(to) {
                    return Ok(vec![Value::Array(from.clone())]);
                }
                let layout = if from.has_layout(Layout::F) { Layout::F } else { Layout::C };
                let kept = Array::fresh(&from.shape, from.dtype, layout)?;
                copy(&kept, &Value::Array(from.clone()))?;
                vec![Value::Array(kept)]
            }
            Op::NtExpand { site } => vec![Value::Array(self.expand(id, *site)?)],
            Op::NtReshape => {
                let a = self.operand(id, 0)?.array()?.clone();
                let t = self.tensor_type(data.results[0])?;
                let shape = self.shape_of(t)?;
                if shape.iter().product::<i64>() != a.shape.iter().product::<i64>() || !a.has_layout(Layout::C) {
                    return Err(Failure::fault(format!("{:?} reshaped to {shape:?}", a.shape)));
                }
                let strides = strides_of(&shape, a.dtype, Layout::C);
                vec![Value::Array(Array { shape, strides, ..a })]
            }
            Op::NtAlloc { zero } => {
                let t = self.tensor_type(data.results[0])?;
                let a = Array::fresh(&self.shape_of(t)?, t.dtype, t.layout)?;
                if *zero {
                    a.memory.set_bytes(vec![0; a.memory.to_bytes().len()]);
                }
                vec![Value::Array(a)]
            }
            Op::NtCopy => {
                copy(self.operand(id, 0)?.array()?, self.operand(id, 1)?)?;
                vec![]
            }
            Op::NtCount => one(Scalar::i64(chosen(self.operand(id, 0)?.array()?)?.len() as i64)),
            Op::NtCompress => {
                let (from, mask) = (self.operand(id, 0)?.array()?, self.operand(id, 1)?.array()?);
                let t = self.tensor_type(data.results[0])?;
                let (to, chosen) = (Array::fresh(&self.shape_of(t)?, t.dtype, t.layout)?, chosen(mask)?);
                if to.shape != [chosen.len() as i64] || from.shape != mask.shape {
                    return Err(Failure::fault(format!("{} elements as {:?}", chosen.len(), to.shape)));
                }
                for (k, index) in chosen.iter().enumerate() {
                    to.store(&[k as i64], from.load(index)?)?;
                }
                vec![Value::Array(to)]
            }
            Op::NtPut => {
                let (to, mask) = (self.operand(id, 0)?.array()?, self.operand(id, 1)?.array()?);
                let chosen = chosen(mask)?;
                let values = match self.operand(id, 2)? {
                    Value::Array(from) => from.elements()?,
                    v => vec![v.scalar()?; chosen.len()],
                };
                if values.len() != chosen.len() {
                    return Err(Failure::fault(format!("{} values for {} elements", values.len(), chosen.len())));
                }
                for (index, v) in chosen.iter().zip(values) {
                    to.store(index, v)?;
                }
                vec![]
            }
            Op::NtCholesky => {
                let a = self.operand(id, 0)?.array()?;
                let to = Array::fresh(&a.shape, a.dtype, Layout::C)?;
                let outcome = crate::linalg::cholesky(a, &to)?;
                vec![Value::Array(to), Value::Scalar(Scalar::i64(outcome))]
            }
            Op::NtSolve => {
                let (a, b) = (self.operand(id, 0)?.array()?, self.operand(id, 1)?.array()?);
                let like = |x: &Array| Array::fresh(&x.shape, x.dtype, Layout::C);
                let to = [like(a)?, like(b)?];
                let sign = crate::linalg::solve(a, b, [&to[0], &to[1]])?;
                to.into_iter().map(Value::Array).chain([Value::Scalar(Scalar::i64(sign))]).collect()
            }
            Op::NtDot => {
                let (a, b) = (self.operand(id, 0)?.array()?, self.operand(id, 1)?.array()?);
                if a.shape != b.shape {
                    return Err(Failure::fault(format!("{:?} times {:?}", a.shape, b.shape)));
                }
                let mut get = |i: usize| Ok((a.load(&[i as i64])?, b.load(&[i as i64])?));
                one(sum_of_products(a.shape[0] as usize, a.dtype, &mut get)?)
            }
            Op::NtMatmul => vec![Value::Array(self.matmul(id)?)],
            Op::NtBothSides => self.both_sides(id)?,
            Op::NtReduce { fold, axes, order } => {
                let (a, ty) = (self.operand(id, 0)?.array()?, self.tensor_type(data.operands[0])?);
                vec![Value::Array(self.reduce(id, a, ty, *fold, axes, *order)?)]
            }
            Op::NtScan { fold } => {
                let a = self.operand(id, 0)?.array()?;
                let to = Array::fresh(&a.shape, a.dtype, Layout::C)?;
                let mut get = |i: usize| a.load(&[i as i64]);
                for (i, v) in scan_line(*fold, a.shape[0] as usize, &mut get)?.into_iter().enumerate() {
                    to.store(&[i as i64], v)?;
                }
                vec![Value::Array(to)]
            }
            Op::NtDim { dim } => one(Scalar::i64(self.operand(id, 0)?.array()?.shape[*dim as usize])),
            Op::NtStride { dim } => one(Scalar::i64(self.operand(id, 0)?.array()?.strides[*dim as usize])),
            Op::NtOverlaps => {
                let (a, b) = (self.operand(id, 0)?.array()?, self.operand(id, 1)?.array()?);
                one(Scalar::Bool(a.overlaps(b)))
            }
            Op::NtItem => one(self.operand(id, 0)?.array()?.load(&[])?),
            Op::NtLoad { wrap } => {
                let a = self.operand(id, 0)?.array()?;
                one(a.load(&self.index(a, &data.operands[1..], *wrap)?)?)
            }
            Op::NtStore { wrap } => {
                let a = self.operand(id, 1)?.array()?;
                a.store(&self.index(a, &data.operands[2..], *wrap)?, self.operand(id, 0)?.scalar()?)?;
                vec![]
            }
            Op::NtAtomic { rmw, wrap } => {
                let a = self.operand(id, 0)?.array()?;
                let at = self.index(a, &data.operands[1 + rmw.values()..], *wrap)?;
                let (v, last) = (self.operand(id, 1)?.scalar()?, self.operand(id, rmw.values())?.scalar()?);
                one(a.update(&at, |old| crate::scalar::atomic(*rmw, old, v, last))?)
            }
            Op::EnvTransfer { mode } => {
                let a = self.operand(id, 0)?.array()?;
                if *mode != Access::Read {
                    return Ok(vec![Value::Array(a.clone())]);
                }
                let copy = Array::fresh(&a.shape, a.dtype, self.tensor_type(data.results[0])?.layout)?;
                for index in indices(&a.shape) {
                    copy.store(&index, a.load(&index)?)?;
                }
                vec![Value::Array(copy)]
            }
            _ => return Err(Failure::fault("the interpreter does not know the op")),
        })
    }
}

/// The product of a matrix with a vector behind or `before` it, where their sizes fit. Vectors have one row or column.
pub(crate) fn both_sides(a: &Array, vector: &Array, to: &Array, before: bool) -> Result<(), Failure> {
    let line = |v: &Array| if v.shape[1] == 1 { (v.shape[0], v.strides[0]) } else { (v.shape[1], v.strides[1]) };
    let as_column = |v: &Array| Array { shape: vec![line(v).0, 1], strides: vec![line(v).1, 0], ..v.clone() };
    let turned = |a: &Array| Array {
        shape: a.shape.iter().rev().copied().collect(),
        strides: a.strides.iter().rev().copied().collect(),
        ..a.clone()
    };
    let a = if before { turned(a) } else { a.clone() };
    if line(vector).0 == a.shape[1] {
        multiply(&as_column(to), &a, &as_column(vector))?;
    }
    Ok(())
}

/// Writes the products of matrices: sums in order, from the first product on.
fn multiply(out: &Array, a: &Array, b: &Array) -> Result<(), Failure> {
    let (row, column) = (out.shape.len() - 2, out.shape.len() - 1);
    if a.shape[column] != b.shape[row] {
        return Err(Failure::fault(format!("{:?} times {:?}", a.shape, b.shape)));
    }
    for position in indices(&out.shape) {
        let mut get = |l: usize| {
            let (mut from_a, mut from_b) = (position.clone(), position.clone());
            (from_a[column], from_b[row]) = (l as i64, l as i64);
            Ok((a.load(&from_a)?, b.load(&from_b)?))
        };
        out.store(&position, sum_of_products(a.shape[column] as usize, out.dtype, &mut get)?)?;
    }
    Ok(())
}

/// A sum of `n` products, in order, from the first on.
pub(crate) fn sum_of_products(
    n: usize,
    dtype: DType,
    get: &mut dyn FnMut(usize) -> Result<(Scalar, Scalar), Failure>,
) -> Result<Scalar, Failure> {
    let (times, plus) = if dtype == DType::Bool { (Op::And, Op::Or) } else { (Op::Mul, Op::Add) };
    let mut sum = Scalar::from_const(&Const::Int(0), DType::I64)?.cast(dtype)?;
    for i in 0..n {
        let (a, b) = get(i)?;
        sum = binary(&plus, sum, binary(&times, a, b)?)?;
    }
    Ok(sum)
}

/// The running folds of `n` elements.
pub(crate) fn scan_line(
    fold: Fold,
    n: usize,
    get: &mut dyn FnMut(usize) -> Result<Scalar, Failure>,
) -> Result<Vec<Scalar>, Failure> {
    let op = match fold {
        Fold::Sum => Op::Add,
        Fold::Prod => Op::Mul,
        Fold::Min => Op::Min,
        Fold::Max => Op::Max,
        Fold::Any => Op::Or,
        _ => Op::And,
    };
    let mut all: Vec<Scalar> = vec![];
    for first in (0..n).step_by(reduce::SCAN) {
        let before = all.last().copied();
        let mut so_far = None;
        for i in first..n.min(first + reduce::SCAN) {
            let v = get(i)?;
            let v = so_far.map_or(Ok(v), |so_far| binary(&op, so_far, v))?;
            so_far = Some(v);
            all.push(before.map_or(Ok(v), |before| binary(&op, before, v))?);
        }
    }
    Ok(all)
}

/// One reduction of `n` elements.
pub(crate) fn reduce_line(
    fold: Fold,
    n: usize,
    dtype: DType,
    order: Lies,
    get: &mut dyn FnMut(usize) -> Result<Scalar, Failure>,
) -> Result<Scalar, Failure> {
    if let Fold::ArgMin | Fold::ArgMax = fold {
        let is = if fold == Fold::ArgMin { CmpOp::Lt } else { CmpOp::Gt };
        let nan = |v: Scalar| Ok::<bool, Failure>(compare(CmpOp::Ne, v, v)? == Scalar::Bool(true));
        let (mut at, mut best) = (0, get(0)?);
        for i in 1..n {
            let v = get(i)?;
            if !nan(best)? && (nan(v)? || compare(is, v, best)? == Scalar::Bool(true)) {
                (at, best) = (i, v);
            }
        }
        return Ok(Scalar::i64(at as i64));
    }
    let (op, identity) = match fold {
        Fold::Sum => (Op::Add, Const::Float(0.0)),
        Fold::Prod => (Op::Mul, Const::Float(1.0)),
        Fold::Any => (Op::Or, Const::Float(0.0)),
        Fold::All => (Op::And, Const::Float(1.0)),
        // What changes nothing is no element.
        _ => {
            let op = if fold == Fold::Min { Op::Min } else { Op::Max };
            let mut get = |i: usize| get(i).map(Some);
            let mut combine = |a: Option<Scalar>, b: Option<Scalar>| match (a, b) {
                // The first of two zeros of either sign stays.
                (Some(a), Some(b)) => binary(&op, b, a).map(Some),
                (one, other) => Ok(one.or(other)),
            };
            let best = in_order(order, (n, dtype), &None, &mut get, &mut combine)?;
            return best.ok_or_else(|| Failure::fault("the least or greatest of nothing"));
        }
    };
    let identity = Scalar::from_const(&identity, DType::F64)?.cast(dtype)?;
    let mut combine = |a: Scalar, b: Scalar| binary(&op, a, b);
    in_order(order, (n, dtype), &identity, get, &mut combine)
}

fn in_order<T: Clone>(
    order: Lies,
    (n, dtype): (usize, DType),
    identity: &T,
    get: &mut dyn FnMut(usize) -> Result<T, Failure>,
    combine: &mut dyn FnMut(T, T) -> Result<T, Failure>,
) -> Result<T, Failure> {
    match order {
        Lies::Along => reduce::along(n, dtype.size(), identity, get, combine),
        Lies::Across => reduce::across(n, reduce::RUN, identity, get, combine),
        Lies::Pairs => reduce::across(n, 1, identity, get, combine),
    }
}

/// How the elements of a line are reduced.
#[derive(Clone, Copy)]
pub(crate) enum Lies {
    Along,
    Across,
    /// The elements are results of runs.
    Pairs,
}

/// Where a mask is true.
fn chosen(mask: &Array) -> Done<Vec<Vec<i64>>> {
    let all = indices(&mask.shape).zip(mask.elements()?);
    Ok(all.filter(|(_, v)| *v == Scalar::Bool(true)).map(|(index, _)| index).collect())
}

/// Writes the elements where a mask is true.
pub(crate) fn copy_where(to: &Array, mask: &Array, values: &Array) -> Done<()> {
    for (index, v) in chosen(mask)?.iter().map(|index| (index, values.load(index))) {
        to.store(index, v?)?;
    }
    Ok(())
}

/// Writes values, an array of the same sizes or one scalar, into an array: all are read before the first is written.
pub(crate) fn copy(to: &Array, values: &Value) -> Done<()> {
    let values = match values {
        Value::Array(from) if from.shape != to.shape => {
            return Err(Failure::fault(format!("{:?} copied into {:?}", from.shape, to.shape)));
        }
        Value::Array(from) => from.elements()?,
        v => vec![v.scalar()?; indices(&to.shape).count()],
    };
    for (index, v) in indices(&to.shape).zip(values) {
        to.store(&index, v)?;
    }
    Ok(())
}
