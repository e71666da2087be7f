//! Ops on arrays with one axis more.

use super::batch::{Batch, keeps_tree};
use super::values::Value;
use crate::canon;
use weft_ir::attr::{CmpOp, Fold, Order};
use weft_ir::build::machine_type;
use weft_ir::{Builder, DType, Dim, Layout, Op, OpId, Place, RegionId, TensorType, Type, ValueId};

/// An operand of a batched statement, and the axis of the iterations, if it has one.
type Operand = (ValueId, Option<usize>);

impl Batch<'_> {
    fn tensor(&self, v: ValueId) -> Option<TensorType> {
        self.f.ty(v).as_tensor().cloned()
    }

    // ---- views -------------------------------------------------------------------------------

    /// A view with all of some axes of an array (-1: a new one of size 1).
    fn permuted(&mut self, v: ValueId, axes: &[i32]) -> ValueId {
        if let Some((of, inner)) = self.permutations.get(&v).cloned() {
            let axes: Vec<i32> = axes.iter().map(|&a| usize::try_from(a).map_or(-1, |a| inner[a])).collect();
            return self.permuted(of, &axes);
        }
        let Some(ty) = self.tensor(v) else { return v };
        if axes.iter().copied().eq(0..ty.rank() as i32) {
            return v;
        }
        let dims = axes.iter().map(|&a| usize::try_from(a).map_or(Dim::Const(1), |a| ty.dims[a])).collect();
        let mut b = self.builder();
        let (zero, one) = (b.i64(0), b.i64(1));
        let walks = [zero, one].repeat(ty.rank());
        let view = self.view_of(v, walks, axes.to_vec(), dims);
        self.permutations.insert(view, (v, axes.to_vec()));
        if self.windows.contains(&v) {
            self.windows.insert(view);
        }
        view
    }

    /// A view of an array, where ops of the batched form stand.
    fn view_of(&mut self, v: ValueId, walks: Vec<ValueId>, axes: Vec<i32>, dims: Vec<Dim>) -> ValueId {
        self.view_in(self.code, v, walks, axes, dims)
    }

    fn view_in(
        &mut self,
        region: RegionId,
        v: ValueId,
        walks: Vec<ValueId>,
        axes: Vec<i32>,
        dims: Vec<Dim>,
    ) -> ValueId {
        let ty = self.tensor(v).expect("views are of arrays");
        let layout = self.layout(&ty, &walks, &axes, &dims);
        let operands: Vec<ValueId> = [v].into_iter().chain(walks).collect();
        let ty = Type::tensor(TensorType { dims, layout, ..ty });
        Builder { func: self.f, region, span: self.span }.value(Op::NtView { axes }, &operands, ty)
    }

    /// Whether a view has all elements of an array.
    fn is_permutation(&self, of: ValueId, walks: &[ValueId], axes: &[i32], dims: &[Dim]) -> bool {
        canon::dims(self.f, of).iter().enumerate().all(|(k, &size)| {
            let whole = self.known(walks[2 * k]) == Some(0) && self.known(walks[2 * k + 1]) == Some(1);
            let seen = axes.iter().position(|&a| a == k as i32).map_or(Dim::Const(1), |at| dims[at]);
            whole && seen == size
        })
    }

    /// How the elements of a view lie.
    fn layout(&self, of: &TensorType, walks: &[ValueId], axes: &[i32], dims: &[Dim]) -> Layout {
        let wide: Vec<(usize, Dim)> = axes
            .iter()
            .zip(dims)
            .filter(|(_, d)| **d != Dim::Const(1))
            .filter_map(|(&a, &d)| Some((usize::try_from(a).ok()?, d)))
            .collect();
        let Some(&(last, _)) = wide.last() else { return Layout::C };
        let by_one = |axis: usize| self.known(walks[2 * axis + 1]) == Some(1);
        let whole =
            |&(axis, d): &(usize, Dim)| by_one(axis) && self.known(walks[2 * axis]) == Some(0) && of.dims[axis] == d;
        let rising = wide.windows(2).all(|w| w[0].0 < w[1].0);
        // Axes of the array that are not those of the view leave gaps, unless they come first or last.
        let between = |from: usize, to: usize| {
            (from..to).filter(|k| of.dims[*k] != Dim::Const(1)).all(|k| wide.iter().any(|(axis, _)| *axis == k))
        };
        let dense = of.dense_axis() == Some(last) && by_one(last);
        match of.layout {
            _ if wide.len() == 1 => {
                if dense {
                    Layout::C
                } else {
                    Layout::A
                }
            }
            Layout::C
                if rising && dense && between(wide[0].0, last) && wide[1..].iter().all(whole) && by_one(wide[0].0) =>
            {
                Layout::C
            }
            Layout::C | Layout::I if rising && dense => Layout::I,
            Layout::F if rising && between(0, last) && wide[..wide.len() - 1].iter().all(whole) && by_one(last) => {
                Layout::F
            }
            _ => Layout::A,
        }
    }

    /// `nt.view`.
    pub(super) fn view(&mut self, id: OpId, axes: &[i32]) -> Option<Value> {
        let data = self.f.op(id).clone();
        let values: Vec<Value> = data.operands.iter().map(|&v| self.value(v)).collect();
        let dims = self.dims_of(data.results[0]);
        let walks: Vec<Option<ValueId>> = values[1..].iter().map(Value::as_early).collect();
        match values[0] {
            Value::Same { .. } if values.iter().all(Value::is_same) => Some(self.repeat_op(id, &values)),
            Value::Batched { array, axis } => {
                let mut walks = walks.into_iter().collect::<Option<Vec<_>>>()?;
                let (zero, one) = (self.number(0), self.number(1));
                walks.splice(2 * axis..2 * axis, [zero, one]);
                let mut moved: Vec<i32> = axes.iter().map(|&a| a + i32::from(a >= axis as i32)).collect();
                let place = moved.iter().position(|&a| a > axis as i32).unwrap_or(moved.len());
                moved.insert(place, axis as i32);
                let dims = with(&dims, place, self.size);
                if self.is_permutation(array, &walks, &moved, &dims) {
                    return Some(Value::Batched { array: self.permuted(array, &moved), axis: place });
                }
                let view = self.view_of(array, walks, moved, dims);
                if self.windows.contains(&array) {
                    self.windows.insert(view);
                }
                Some(Value::Batched { array: view, axis: place })
            }
            Value::Same { value: array, .. } => {
                let mut walks: Vec<Option<ValueId>> = walks;
                let mut along = None;
                for (k, value) in values[1..].iter().enumerate() {
                    if let Value::Linear { first, step } = value {
                        if along.is_some() || k % 2 == 1 {
                            return None;
                        }
                        along = Some((k / 2, *step));
                        walks[k] = Some(*first);
                    }
                }
                let (along, step) = along?;
                let mut walks = walks.into_iter().collect::<Option<Vec<_>>>()?;
                let windows = axes.contains(&(along as i32));
                if windows {
                    // Each iteration sees its own stretch of the axis: both walk along it by the same step.
                    let own = self.known(walks[2 * along + 1]);
                    if own.is_none() || own != step.known {
                        return None;
                    }
                } else {
                    walks[2 * along + 1] = step.value;
                }
                let place = axes.iter().position(|&a| a >= along as i32).unwrap_or(axes.len());
                let mut axes = axes.to_vec();
                axes.insert(place, along as i32);
                let dims = with(&dims, place, self.size);
                let view = self.view_of(array, walks, axes, dims);
                if windows {
                    self.windows.insert(view);
                }
                Some(Value::Batched { array: view, axis: place })
            }
            _ => None,
        }
    }

    /// `nt.expand` and `nt.refine`: sizes are taken to agree; those that are known to be 1 repeat in whatever reads the array.
    pub(super) fn resized(&mut self, id: OpId) -> Option<Value> {
        let data = self.f.op(id).clone();
        let (from, to) = (self.dims_of(data.operands[0]), self.dims_of(data.results[0]));
        let skip = to.len() - from.len();
        let mut dims = from.clone();
        for (have, want) in dims.iter_mut().zip(&to[skip..]) {
            if have == want || *have == Dim::Const(1) {
                continue;
            }
            let (n, m) = (self.size_of(*have)?, self.size_of(*want)?);
            self.assume(CmpOp::Eq, &Value::early(n), &Value::early(m));
            *have = *want;
        }
        let value = self.value(data.operands[0]);
        if dims == from {
            return Some(value);
        }
        let (array, axis) = match value {
            Value::Same { value, .. } => (value, None),
            Value::Batched { array, axis } => (array, Some(axis)),
            _ => return None,
        };
        let dims = axis.map_or(dims.clone(), |axis| with(&dims, axis, self.size));
        let rank = dims.len();
        let (zero, one) = (self.number(0), self.number(1));
        let ty = self.tensor(array)?;
        let operands: Vec<ValueId> = [array].into_iter().chain([zero, one].repeat(rank)).collect();
        let ty = Type::tensor(TensorType { dims, ..ty });
        let view = self.builder().value(Op::NtView { axes: (0..rank as i32).collect() }, &operands, ty);
        if self.windows.contains(&array) {
            self.windows.insert(view);
        }
        Some(axis.map_or(Value::Same { value: view, early: false }, |axis| Value::Batched { array: view, axis }))
    }

    // ---- elementwise -----------------------------------------------------------------------------

    /// An elementwise op over a space of these sizes and the iterations, which come at axis `place`. The body is given an element of
    /// each operand.
    fn compute(
        &mut self,
        operands: &[Operand],
        dims: &[Dim],
        place: usize,
        dtypes: &[DType],
        at: Place,
        body: &mut dyn FnMut(&mut Builder<'_>, &[ValueId]) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let aligned: Vec<ValueId> = operands.iter().map(|&o| self.aligned(o, dims.len(), place)).collect();
        let region = self.f.new_region();
        let mut b = Builder { func: self.f, region, span: self.span };
        let args: Vec<ValueId> = aligned
            .iter()
            .map(|&v| {
                let ty = b.ty(v);
                let ty = ty.as_tensor().map_or_else(|| ty.clone(), |t| Type::Num(t.dtype));
                b.arg(ty)
            })
            .collect();
        let yields = body(&mut b, &args);
        b.effect(Op::Yield, &yields);
        let dims = with(dims, place, self.size);
        let fresh = |d: &DType| Type::tensor(TensorType::fresh(dims.clone(), *d, at.clone()));
        let types: Vec<Type> = dtypes.iter().map(fresh).collect();
        let op = self.builder().op(Op::NtElementwise, &aligned, &types, &[region]);
        let results = self.f.op(op).results.to_vec();
        self.fresh.extend(&results);
        results
    }

    /// An array as it stands in a space of so many axes and that of the iterations.
    fn aligned(&mut self, (v, axis): Operand, rank: usize, place: usize) -> ValueId {
        let Some(ty) = self.tensor(v) else { return v };
        let own = ty.rank() - usize::from(axis.is_some());
        let axes = (0..=rank).map(|k| {
            if k == place {
                return axis.map_or(-1, |a| a as i32);
            }
            let k = k - usize::from(k > place);
            match (k + own).checked_sub(rank) {
                Some(k) => (k + usize::from(axis.is_some_and(|a| k >= a))) as i32,
                None => -1,
            }
        });
        let axes: Vec<i32> = axes.skip_while(|&a| a == -1).collect();
        self.permuted(v, &axes)
    }

    /// What a value is among the operands of an elementwise op.
    fn operand(&mut self, v: &Value, ty: &Type) -> Operand {
        match v {
            Value::Same { value, .. } if ty.as_tensor().is_some() => (*value, None),
            Value::Same { value, .. } => (self.builder().cast(*value, machine_type(ty)), None),
            Value::Batched { array, axis } => (*array, Some(*axis)),
            Value::Linear { first, step } => {
                let (first, step) = (self.as_i64(*first), step.value);
                let array =
                    self.compute(&[(first, None), (step, None)], &[], 0, &[DType::I64], Place::Host, &mut |b, args| {
                        let number = b.value(Op::NtPosition { dim: 0 }, &[], Type::I64);
                        let up = b.value(Op::Mul, &[number, args[1]], Type::I64);
                        vec![b.value(Op::Add, &[args[0], up], Type::I64)]
                    });
                (array[0], Some(0))
            }
            Value::Test { is, left, right } => {
                let operands = [left, right].map(|v| self.operand(v, &Type::I64));
                let is = *is;
                let array = self.compute(&operands, &[], 0, &[DType::Bool], Place::Host, &mut |b, args| {
                    vec![b.value(Op::Cmp { is }, args, Type::BOOL)]
                });
                (array[0], Some(0))
            }
        }
    }

    /// A scalar op, of the elements of all iterations.
    pub(super) fn elements(&mut self, id: OpId, values: &[Value]) -> Option<Value> {
        let data = self.f.op(id).clone();
        let result = machine_type(self.f.ty(data.results[0]));
        let dtype = result.scalar_dtype()?;
        let operands: Vec<Operand> = data
            .operands
            .iter()
            .zip(values)
            .map(|(&v, value)| {
                let ty = self.f.ty(v).clone();
                self.operand(value, &ty)
            })
            .collect();
        let array = self.compute(&operands, &[], 0, &[dtype], Place::Host, &mut |b, args| {
            vec![b.value(data.op.clone(), args, result.clone())]
        });
        Some(Value::Batched { array: array[0], axis: 0 })
    }

    /// `nt.elementwise`.
    pub(super) fn elementwise(&mut self, id: OpId) -> Option<Value> {
        let data = self.f.op(id).clone();
        let &[result] = &data.results[..] else { return None };
        let values: Vec<Value> = data.operands.iter().map(|&v| self.value(v)).collect();
        if values.iter().all(Value::is_same) && !self.written.contains(&result) {
            return Some(self.repeat_op(id, &values));
        }
        let (ty, dims) = (self.tensor(result)?, self.dims_of(result));
        let operands: Vec<Operand> = data
            .operands
            .iter()
            .zip(&values)
            .map(|(&v, value)| {
                let ty = self.f.ty(v).clone();
                self.operand(value, &ty)
            })
            .collect();
        // Without an array that it goes to, where the elements of an operand lie: memory is read in its order.
        let full = operands
            .iter()
            .filter_map(|&(v, axis)| (canon::dims(self.f, v).len() == dims.len() + 1).then_some(axis).flatten());
        let place = match self.places.get(&result) {
            _ if self.reduced.contains(&result) => 0,
            Some(&place) => place,
            None => full.min().unwrap_or(0),
        };
        let inner = data.regions[0];
        let args = self.f.region(inner).args.clone();
        let results = self.compute(&operands, &dims, place, &[ty.dtype], ty.place, &mut |b, given| {
            let mut map = std::collections::BTreeMap::new();
            for (&arg, &v) in args.iter().zip(given) {
                let ty = b.ty(arg);
                let v = b.cast(v, ty);
                map.insert(arg, v);
            }
            let moved = |op: &Op| match op {
                Op::NtPosition { dim } => Op::NtPosition { dim: dim + u32::from(*dim as usize >= place) },
                other => other.clone(),
            };
            crate::fuse::inline(b.func, inner, b.region, &mut map, &moved)
        });
        Some(Value::Batched { array: results[0], axis: place })
    }

    /// The elements of an array in memory of their own, with these sizes and the iterations at an axis.
    fn stored(&mut self, operand: Operand, dims: &[Dim], place: usize) -> ValueId {
        let ty = self.f.ty(operand.0).clone();
        let dtype = ty.as_tensor().map(|t| t.dtype).or(ty.scalar_dtype()).expect("elements are numbers");
        let at = ty.as_tensor().map_or(Place::Host, |t| t.place.clone());
        self.compute(&[operand], dims, place, &[dtype], at, &mut |_, args| args.to_vec())[0]
    }

    // ---- elements --------------------------------------------------------------------------------

    /// An index that is looked at: it is taken to be inside, counted from the front.
    pub(super) fn index(&mut self, id: OpId) -> Option<Value> {
        let data = self.f.op(id).clone();
        let (value, size) = (self.value(data.operands[0]), self.value(data.operands[1]));
        if !matches!(value, Value::Same { early: true, .. } | Value::Linear { .. }) {
            return None;
        }
        size.as_early()?;
        let zero = Value::early(self.number(0));
        self.assume(CmpOp::Ge, &value, &zero);
        self.assume(CmpOp::Lt, &value, &size);
        Some(value)
    }

    /// A view with one element for each iteration; `None` if it is one element for all.
    fn elements_at(&mut self, array: ValueId, indices: &[ValueId], wrap: bool) -> Option<Operand> {
        let value = self.value(array);
        let mut walks = vec![];
        let mut along = None;
        for (k, &index) in indices.iter().enumerate() {
            let mut index = self.value(index);
            if wrap && !index.is_same() {
                let zero = Value::early(self.number(0));
                if !matches!(index, Value::Linear { .. }) {
                    return None;
                }
                self.assume(CmpOp::Ge, &index, &zero);
            } else if wrap {
                let size = self.dims_of(array)[k];
                let (at, size) = (index.as_early()?, self.size_of(size)?);
                let at = self.as_i64(at);
                index = Value::early(self.setup(Op::Wrap, &[at, size], &Type::I64));
            }
            match index {
                Value::Same { value, early: true } => {
                    let (at, one) = (self.as_i64(value), self.number(1));
                    walks.extend([at, one]);
                }
                Value::Linear { first, step } if along.is_none() => {
                    along = Some(k);
                    let first = self.as_i64(first);
                    walks.extend([first, step.value]);
                }
                _ => return None,
            }
        }
        match (value, along) {
            (Value::Same { value: array, .. }, Some(along)) => {
                Some((self.view_of(array, walks, vec![along as i32], vec![self.size]), Some(0)))
            }
            (Value::Batched { array, axis }, None) => {
                let (zero, one) = (self.number(0), self.number(1));
                walks.splice(2 * axis..2 * axis, [zero, one]);
                Some((self.view_of(array, walks, vec![axis as i32], vec![self.size]), Some(0)))
            }
            _ => None,
        }
    }

    /// `nt.load`: what is there now.
    pub(super) fn load(&mut self, id: OpId, wrap: bool) -> Option<Value> {
        let data = self.f.op(id).clone();
        let values: Vec<Value> = data.operands.iter().map(|&v| self.value(v)).collect();
        if values.iter().all(Value::is_same) {
            return Some(self.repeat_op(id, &values));
        }
        let elements = self.elements_at(data.operands[0], &data.operands[1..], wrap)?;
        Some(Value::Batched { array: self.stored(elements, &[], 0), axis: 0 })
    }

    /// `nt.store`.
    pub(super) fn store(&mut self, id: OpId, wrap: bool) -> Option<()> {
        let data = self.f.op(id).clone();
        let (to, _) = self.elements_at(data.operands[1], &data.operands[2..], wrap)?;
        let (value, ty) = (self.value(data.operands[0]), self.f.ty(data.operands[0]).clone());
        let (from, _) = self.operand(&value, &ty);
        self.builder().effect(Op::NtCopy, &[to, from]);
        Some(())
    }

    /// `nt.copy`.
    pub(super) fn copy(&mut self, id: OpId) -> Option<()> {
        let data = self.f.op(id).clone();
        let Value::Batched { array: to, axis } = self.value(data.operands[0]) else { return None };
        if self.windows.contains(&to) {
            return None;
        }
        let dims = self.dims_of(data.operands[0]);
        let (value, ty) = (self.value(data.operands[1]), self.f.ty(data.operands[1]).clone());
        let from = self.operand(&value, &ty);
        let mut source = self.aligned(from, dims.len(), axis);
        // Numbers, one for each iteration, or elements that repeat.
        let fits = self.tensor(source).is_none_or(|t| t.dims == with(&dims, axis, self.size));
        if !fits {
            source = self.stored(from, &dims, axis);
        }
        self.builder().effect(Op::NtCopy, &[to, source]);
        Some(())
    }

    /// `nt.alloc`: each iteration has its own.
    pub(super) fn alloc(&mut self, id: OpId) -> Option<Value> {
        let data = self.f.op(id).clone();
        let (ty, dims) = (self.tensor(data.results[0])?, self.dims_of(data.results[0]));
        if ty.layout != Layout::C {
            return None;
        }
        let ty = Type::tensor(TensorType { dims: with(&dims, 0, self.size), ..ty });
        let array = self.builder().value(data.op, &[], ty);
        self.fresh.insert(array);
        Some(Value::Batched { array, axis: 0 })
    }

    /// `nt.reshape`, of what has the same sizes anyway, or of an array of its own.
    pub(super) fn reshape(&mut self, id: OpId) -> Option<Value> {
        let data = self.f.op(id).clone();
        let dims = self.dims_of(data.results[0]);
        let same = self.dims_of(data.operands[0]) == dims;
        match self.value(data.operands[0]) {
            value @ Value::Same { .. } => Some(self.repeat_op(id, &[value])),
            value @ Value::Batched { .. } if same => Some(value),
            Value::Batched { array, axis: 0 } if self.fresh.contains(&array) => {
                let ty = self.tensor(array)?;
                let ty = Type::tensor(TensorType { dims: with(&dims, 0, self.size), ..ty });
                let array = self.builder().value(Op::NtReshape, &[array], ty);
                self.fresh.insert(array);
                Some(Value::Batched { array, axis: 0 })
            }
            _ => None,
        }
    }

    // ---- folds and products --------------------------------------------------------------------

    /// `nt.reduce`, in the order that it has by itself: that of the tree wherever the iterations' axis is, any other with that axis
    /// first and in C order.
    pub(super) fn reduce(&mut self, id: OpId, fold: Fold, axes: &[u32], order: Order) -> Option<Value> {
        let data = self.f.op(id).clone();
        let (array, axis) = match self.value(data.operands[0]) {
            Value::Batched { array, axis } => (array, axis),
            value => return Some(self.repeat_op(id, &[value])),
        };
        let (from, to) = (self.tensor(data.operands[0])?, self.tensor(data.results[0])?);
        let (dims, left) = (self.dims_of(data.operands[0]), self.dims_of(data.results[0]));
        let moved: Vec<u32> = axes.iter().map(|&a| a + u32::from(a as usize >= axis)).collect();
        let neighbours = moved.windows(2).all(|w| w[0] + 1 == w[1]);
        let tree = keeps_tree(self.f, data.operands[0], fold, axes, order);
        let (array, axes, place, order) = if tree && neighbours && (axes.len() == 1 || self.fresh.contains(&array)) {
            let place = axis - axes.iter().filter(|&&a| (a as usize) < axis).count();
            (array, moved, place, Order::Tree)
        } else {
            if from.layout != Layout::C && from.rank() > 1 {
                return None;
            }
            let ordered = axis == 0 && self.fresh.contains(&array);
            let array = if ordered { array } else { self.stored((array, Some(axis)), &dims, 0) };
            (array, axes.iter().map(|a| a + 1).collect(), 0, order)
        };
        let ty = Type::tensor(TensorType::fresh(with(&left, place, self.size), to.dtype, to.place));
        let result = self.builder().value(Op::NtReduce { fold, axes, order }, &[array], ty);
        self.fresh.insert(result);
        Some(Value::Batched { array: result, axis: place })
    }

    fn product(&mut self, a: ValueId, b: ValueId, dims: Vec<Dim>) -> Option<ValueId> {
        let ty = self.tensor(a)?;
        let ty = Type::tensor(TensorType::fresh(dims, ty.dtype, ty.place));
        let product = self.builder().value(Op::NtMatmul, &[a, b], ty);
        self.fresh.insert(product);
        Some(product)
    }

    /// `nt.dot`: a matrix and a vector.
    pub(super) fn dot(&mut self, id: OpId) -> Option<Value> {
        let data = self.f.op(id).clone();
        let (one, size) = (Dim::Const(1), self.size);
        let array = match [self.value(data.operands[0]), self.value(data.operands[1])] {
            [a @ Value::Same { .. }, b @ Value::Same { .. }] => return Some(self.repeat_op(id, &[a, b])),
            [Value::Batched { array: a, axis }, Value::Same { value: b, .. }] => {
                let (a, b) = (self.permuted(a, &[axis as i32, 1 - axis as i32]), self.permuted(b, &[0, -1]));
                let product = self.product(a, b, vec![size, one])?;
                self.line(product, 0)
            }
            [Value::Same { value: a, .. }, Value::Batched { array: b, axis }] => {
                let (a, b) = (self.permuted(a, &[-1, 0]), self.permuted(b, &[1 - axis as i32, axis as i32]));
                let product = self.product(a, b, vec![one, size])?;
                self.line(product, 1)
            }
            [Value::Batched { array: a, axis: i }, Value::Batched { array: b, axis: j }] => {
                let a = self.permuted(a, &[i as i32, -1, 1 - i as i32]);
                let b = self.permuted(b, &[j as i32, 1 - j as i32, -1]);
                let product = self.product(a, b, vec![size, one, one])?;
                self.line(product, 0)
            }
            _ => return None,
        };
        Some(Value::Batched { array, axis: 0 })
    }

    /// The one axis of an array that is not of size 1.
    fn line(&mut self, v: ValueId, axis: i32) -> ValueId {
        self.permuted(v, &[axis])
    }

    /// `nt.matmul`: rows of a larger product, or columns, or a stack.
    pub(super) fn matmul(&mut self, id: OpId) -> Option<Value> {
        let data = self.f.op(id).clone();
        let dims = self.dims_of(data.results[0]);
        if dims.len() != 2 {
            return None;
        }
        let size = self.size;
        match [self.value(data.operands[0]), self.value(data.operands[1])] {
            [a @ Value::Same { .. }, b @ Value::Same { .. }] => Some(self.repeat_op(id, &[a, b])),
            [Value::Batched { array: a, axis }, Value::Same { value: b, .. }] if dims[0] == Dim::Const(1) => {
                let inner = if axis == 2 { 1 } else { 2 };
                let a = self.permuted(a, &[axis as i32, inner]);
                let product = self.product(a, b, vec![size, dims[1]])?;
                Some(Value::Batched { array: self.permuted(product, &[0, -1, 1]), axis: 0 })
            }
            [Value::Same { value: a, .. }, Value::Batched { array: b, axis }] if dims[1] == Dim::Const(1) => {
                let inner = if axis == 0 { 1 } else { 0 };
                let b = self.permuted(b, &[inner, axis as i32]);
                let product = self.product(a, b, vec![dims[0], size])?;
                Some(Value::Batched { array: self.permuted(product, &[0, 1, -1]), axis: 1 })
            }
            [Value::Batched { array: a, axis: i }, Value::Batched { array: b, axis: j }] => {
                let [a, b] = [(a, i), (b, j)].map(|operand| self.aligned((operand.0, Some(operand.1)), 2, 0));
                let product = self.product(a, b, with(&dims, 0, size))?;
                Some(Value::Batched { array: product, axis: 0 })
            }
            _ => None,
        }
    }
}

/// Sizes with that of the iterations at an axis.
fn with(dims: &[Dim], place: usize, size: Dim) -> Vec<Dim> {
    let mut dims = dims.to_vec();
    dims.insert(place, size);
    dims
}
