//! Indexing with arrays of integers and bools: views before and after what the library does with them.
//!
//! The parts that are no arrays make a view first. The axes that arrays (and, beside arrays, integers) index come to the
//! front, `python/weft/lib/indexing.py` picks or puts, and the new axes go where NumPy wants them: in place of the indexed ones
//! if those stand together, else first.

use super::Infer;
use super::abs::Abs;
use super::facts::Computed;
use super::view::Part;
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{DType, Dim, ExcClass, Layout, Op, TensorType, Type, ValueId};

/// An index taken apart.
struct Taken {
    /// The view with its indexed axes first.
    front: Abs,
    /// Integer arrays of one shape, one for each of these axes.
    ids: Abs,
    /// Where the new axes go among the others.
    at: usize,
    /// How many there are.
    new: usize,
    /// Axes of the view that are not indexed.
    rest: usize,
}

impl Infer<'_> {
    fn library(&mut self, name: &str, args: &[Abs]) -> Result<Abs, Diagnostic> {
        self.call(&Abs::Function(format!("weft.lib.indexing.{name}")), args, &[])
    }

    /// `x[…]` with arrays of integers or bools.
    pub(super) fn pick(&mut self, t: ValueId, parts: &[Part]) -> Result<Abs, Diagnostic> {
        if let Some((t, mask)) = self.whole_mask(t, parts)? {
            let n = self.count_of(mask);
            let dims = vec![self.size_of_count(n)];
            let Some(ty) = self.tensor(t).cloned() else { return Err(self.internal("no array")) };
            let ty = Type::tensor(TensorType::fresh(dims, ty.dtype, ty.place));
            return Ok(Abs::Value(self.emit(Op::NtCompress, &[t, mask, n], ty)));
        }
        let taken = self.taken(t, parts)?;
        let picked = self.library("pick", &[taken.front.clone(), taken.ids.clone()])?;
        self.move_axes(&picked, &taken)
    }

    /// `x[…] = v` with arrays of integers or bools.
    pub(super) fn put(&mut self, t: ValueId, parts: &[Part], v: &Abs) -> Result<(), Diagnostic> {
        let v = &self.cast_to_put(t, v)?;
        if let Some((t, mask)) = self.whole_mask(t, parts)?
            && self.put_where(t, mask, v)?
        {
            return Ok(());
        }
        if let [Part::Array(mask)] = parts
            && self.as_tensor(v).is_none()
            && self.tensor(*mask).is_some_and(|m| m.dtype == DType::Bool && m.rank() == 1)
            && self.type_of(v).is_some_and(|ty| ty.is_scalar())
        {
            self.mask_fits(t, 0, *mask)?;
            return self.library("put_mask", &[Abs::Value(t), Abs::Value(*mask), v.clone()]).map(|_| ());
        }
        let taken = self.taken(t, parts)?;
        let v = match v {
            Abs::Tuple(_) => self.primitive("array", &[v.clone(), Abs::Const(Const::None)])?,
            v if self.as_list(v).is_some() => self.primitive("array", &[v.clone(), Abs::Const(Const::None)])?,
            v => v.clone(),
        };
        // Values come in the order of NumPy's result; here the indexed axes are first.
        let rank = self.as_tensor(&v).and_then(|t| self.tensor(t)).map(TensorType::rank);
        let v = match rank {
            Some(rank) if taken.at > 0 && rank == taken.new + taken.rest => {
                let first = taken.at..taken.at + taken.new;
                let order = first.clone().chain((0..rank).filter(|k| !first.contains(k)));
                let axes = Abs::Tuple(order.map(|k| Abs::Const(Const::Int(k as i128))).collect());
                self.primitive("permute", &[v, axes])?
            }
            Some(rank) if taken.at > 0 && rank > taken.rest - taken.at => {
                return Err(self
                    .refuse(
                        "an assignment that repeats values along axes indexed by an array is not supported here yet",
                    )
                    .help("give the values the full shape"));
            }
            // Only axes after the indexed ones: they are last here too.
            _ => v,
        };
        self.library("put", &[taken.front, taken.ids, v]).map(|_| ())
    }

    /// NumPy's own numbers and arrays in the dtype of `t`: such an assignment casts them, and looks at Python's numbers only.
    fn cast_to_put(&mut self, t: ValueId, v: &Abs) -> Result<Abs, Diagnostic> {
        let Some(dtype) = self.tensor(t).map(|t| t.dtype) else { return Err(self.internal("no array")) };
        if let Some(from) = self.as_tensor(v) {
            return Ok(Abs::Value(self.cast_array(from, dtype)?));
        }
        match self.type_of(v) {
            Some(Type::Num(from)) if from != dtype => {
                let v = self.materialise(v)?;
                Ok(Abs::Value(self.cast(v, Type::Num(dtype))))
            }
            _ => Ok(v.clone()),
        }
    }

    /// The array and the mask of an index that is one for the whole array, if both are C-ordered and of the same sizes. Those of
    /// lines are compared at run time: the array is then a view of as many elements as the mask has.
    fn whole_mask(&mut self, t: ValueId, parts: &[Part]) -> Result<Option<(ValueId, ValueId)>, Diagnostic> {
        let [Part::Array(mask)] = *parts else { return Ok(None) };
        let (Some(x), Some(m)) = (self.tensor(t), self.tensor(mask)) else { return Ok(None) };
        let fits = m.dtype == DType::Bool && m.rank() > 0 && m.rank() == x.rank();
        if !fits || [x.layout, m.layout] != [Layout::C; 2] || self.is_kernel() {
            return Ok(None);
        }
        // Of the same type, and so of the same sizes.
        let mask = self.computed_before(mask);
        if m.dims == x.dims {
            return Ok(Some((t, mask)));
        }
        if m.rank() > 1 {
            return Ok(None);
        }
        let fitted = Type::tensor(TensorType { dims: m.dims.clone(), ..x.clone() });
        self.mask_fits(t, 0, mask)?;
        let (start, step) = (self.constant(Const::Int(0), Type::I64), self.constant(Const::Int(1), Type::I64));
        Ok(Some((self.emit(Op::NtView { axes: vec![0] }, &[t, start, step], fitted), mask)))
    }

    /// How many elements of a mask are true: counted anew if something has been written since it was counted.
    fn count_of(&mut self, mask: ValueId) -> ValueId {
        for &op in self.out.region(self.region).ops.iter().rev() {
            let data = self.out.op(op);
            if data.op == Op::NtCount && data.operands[0] == mask {
                return data.results[0];
            }
            let others = data.written().first().is_some_and(|&written| self.made_apart(mask, written));
            if self.out.effects(op).writes && !matches!(data.op, Op::ShapeBind { .. }) && !others {
                break;
            }
        }
        self.emit(Op::NtCount, &[mask], Type::I64)
    }

    /// Whether two arrays are new ones, each with memory of its own.
    fn made_apart(&self, a: ValueId, b: ValueId) -> bool {
        let fresh = |v: ValueId| {
            let made = self.out.ops.iter().find(|o| o.results.contains(&v));
            made.is_some_and(|o| matches!(o.op, Op::NtElementwise | Op::NtCompress | Op::NtAlloc { .. }))
        };
        a != b && fresh(a) && fresh(b)
    }

    /// The symbol of a count.
    fn size_of_count(&mut self, n: ValueId) -> Dim {
        let what = Computed::Value(n);
        self.known_size(what).unwrap_or_else(|| self.bind_size(n, Some(what)))
    }

    /// `t[mask] = v`, if that is a number or known to be as many as are true.
    fn put_where(&mut self, t: ValueId, mask: ValueId, v: &Abs) -> Result<bool, Diagnostic> {
        let Some(dtype) = self.tensor(t).map(|t| t.dtype) else { return Ok(false) };
        let value = match self.as_tensor(v) {
            None if self.type_of(v).is_some_and(|ty| ty.is_scalar()) => {
                self.writable(t)?;
                self.stored(v, dtype)?
            }
            Some(from) if self.tensor(from).is_some_and(|from| from.rank() == 1) => {
                let n = self.count_of(mask);
                let dim = self.size_of_count(n);
                if self.tensor(from).is_none_or(|from| from.dims != [dim] || from.layout != Layout::C) {
                    self.enough_values(from, n);
                    return Ok(false);
                }
                self.writable(t)?;
                from
            }
            _ => return Ok(false),
        };
        self.effect(Op::NtPut, &[t, mask, value]);
        Ok(true)
    }

    /// One value, or as many as are true.
    fn enough_values(&mut self, values: ValueId, n: ValueId) {
        let (size, one) = (self.size_i64(values, 0), self.constant(Const::Int(1), Type::I64));
        let several = self.test(CmpOp::Ne, size, one);
        let others = self.test(CmpOp::Ne, size, n);
        let wrong = self.emit(Op::And, &[several, others], Type::PYBOOL);
        let message = "NumPy boolean array indexing assignment cannot assign {i} input values to the {i} output values where \
                       the mask is true";
        self.raise_if(wrong, ExcClass::ValueError, message, &[size, n]);
    }

    /// Takes an index apart.
    fn taken(&mut self, t: ValueId, parts: &[Part]) -> Result<Taken, Diagnostic> {
        // Masks become integer arrays, one for each of their axes.
        let mut wide: Vec<Part> = vec![];
        let mut axis = 0;
        for part in parts {
            match part {
                Part::Array(mask) if self.tensor(*mask).is_some_and(|m| m.dtype == DType::Bool) => {
                    let rank = self.tensor(*mask).map_or(0, TensorType::rank);
                    self.mask_fits(t, axis, *mask)?;
                    let Abs::Tuple(found) = self.library("nonzero", &[Abs::Value(*mask)])? else {
                        return Err(self.internal("nonzero gives a tuple"));
                    };
                    for a in found {
                        wide.push(Part::Array(self.materialise(&a)?));
                    }
                    axis += rank;
                }
                part => {
                    axis += usize::from(!matches!(part, Part::New));
                    wide.push(part.clone());
                }
            }
        }
        // Everything but the indexed axes is a view; they stay whole in it.
        let indexed = |p: &Part| matches!(p, Part::Array(_) | Part::At(_));
        let none = || Abs::Const(Const::None);
        let whole: Vec<Part> = wide
            .iter()
            .map(|p| if indexed(p) { Part::Slice(Box::new([none(), none(), none()])) } else { p.clone() })
            .collect();
        let view = self.view(t, &whole)?;
        let axes: Vec<usize> = (0..wide.len()).filter(|&k| indexed(&wide[k])).collect();
        let together = axes.windows(2).all(|w| w[1] == w[0] + 1);
        let at = if together { axes[0] } else { 0 };
        let order = axes.iter().copied().chain((0..wide.len()).filter(|k| !axes.contains(k)));
        let order = Abs::Tuple(order.map(|k| Abs::Const(Const::Int(k as i128))).collect());
        let front = self.primitive("permute", &[Abs::Value(view), order])?;
        let mut ids: Vec<Abs> = vec![];
        for part in &wide {
            match part {
                Part::Array(v) => ids.push(Abs::Value(*v)),
                Part::At(i) => ids.push(Abs::Value(self.as_dtype(i, DType::I64)?)),
                _ => {}
            }
        }
        let ids = self.one_shape(ids)?;
        let new = self.as_tensor(&ids[0]).and_then(|t| self.tensor(t)).map_or(1, TensorType::rank);
        Ok(Taken { front, rest: wide.len() - axes.len(), ids: Abs::Tuple(ids), at, new })
    }

    /// Index arrays broadcast to one shape.
    fn one_shape(&mut self, ids: Vec<Abs>) -> Result<Vec<Abs>, Diagnostic> {
        let dims = |s: &Self, a: &Abs| s.as_tensor(a).and_then(|t| s.tensor(t)).map(|t| t.dims.clone());
        let first = dims(self, &ids[0]);
        if ids.iter().all(|a| dims(self, a) == first) {
            return Ok(ids);
        }
        let mut all = ids[0].clone();
        for a in &ids[1..] {
            all = self.library("together", &[all, a.clone()])?;
        }
        ids.iter().map(|a| self.library("together", &[a.clone(), all.clone()])).collect()
    }

    /// A mask has the sizes of the axes it stands for, or none: NumPy does not look at those.
    fn mask_fits(&mut self, t: ValueId, axis: usize, mask: ValueId) -> Result<(), Diagnostic> {
        let rank = self.tensor(mask).map_or(0, TensorType::rank);
        for k in 0..rank {
            let have = self.tensor(mask).map(|m| m.dims[k]);
            let want = self.tensor(t).map(|t| t.dims[axis + k]);
            if have == want {
                continue;
            }
            let (size, len) = (self.size(t, axis + k), self.size(mask, k));
            let (size, len) = (self.pyint(&size)?, self.pyint(&len)?);
            let none = self.constant(Const::Int(0), Type::PYINT);
            let (others, some) = (self.test(CmpOp::Ne, size, len), self.test(CmpOp::Ne, len, none));
            let differ = self.emit(Op::And, &[others, some], Type::PYBOOL);
            let message = format!(
                "boolean index did not match indexed array along axis {}; size of axis is {{i}} but size of corresponding \
                 boolean axis is {{i}}",
                axis + k
            );
            self.raise_if(differ, ExcClass::IndexError, &message, &[size, len]);
        }
        Ok(())
    }

    /// The new axes of what was picked, moved to where NumPy has them.
    fn move_axes(&mut self, picked: &Abs, taken: &Taken) -> Result<Abs, Diagnostic> {
        if taken.at == 0 {
            return Ok(picked.clone());
        }
        let rank = taken.new + taken.rest;
        let before = taken.new..taken.new + taken.at;
        let order = before.clone().chain(0..taken.new).chain(before.end..rank);
        let axes = Abs::Tuple(order.map(|k| Abs::Const(Const::Int(k as i128))).collect());
        self.primitive("permute", &[picked.clone(), axes])
    }

    /// `prim.check_index(i, size, axis)`.
    pub(super) fn check_index(&mut self, i: &Abs, size: &Abs, axis: &Abs) -> Result<Abs, Diagnostic> {
        let Abs::Const(Const::Int(axis)) = axis else {
            return Err(Diagnostic::new(ErrorKind::Internal, self.span, "an axis that is not known"));
        };
        let site =
            self.site(ExcClass::IndexError, format!("index {{i}} is out of bounds for axis {axis} with size {{i}}"));
        let i = self.as_dtype(i, DType::I64)?;
        let size = self.as_dtype(size, DType::I64)?;
        self.emit(Op::NtIndex { wrap: true, site }, &[i, size], Type::I64);
        Ok(Abs::Const(Const::None))
    }

    /// `prim.keep(x, written)`. Arrays of two dtypes are not looked at: only arguments that are two views of the same bytes could
    /// share memory, and the check is code in every assignment. A kernel has no memory to copy to; who writes what another of its
    /// items reads there answers for it.
    pub(super) fn keep(&mut self, x: &Abs, written: &Abs) -> Result<Abs, Diagnostic> {
        let (Some(t), Some(to)) = (self.as_tensor(x), self.as_tensor(written)) else {
            return Err(self.internal("keep takes two arrays"));
        };
        let ty = self.out.ty(t).clone();
        let alike = self.tensor(t).map(|t| t.dtype) == self.tensor(to).map(|t| t.dtype);
        if self.is_kernel() || !alike {
            return Ok(x.clone());
        }
        Ok(Abs::Value(self.emit(Op::NtKeep, &[t, to], ty)))
    }

    /// `prim.broadcast_to(x, shape)`: a view.
    pub(super) fn broadcast_to(&mut self, x: &Abs, shape: &Abs) -> Result<Abs, Diagnostic> {
        let (Some(t), Abs::Tuple(sizes)) = (self.as_tensor(x), shape) else {
            return Err(self.internal("broadcast_to takes an array and a shape"));
        };
        let dims = self.space(sizes)?;
        let Some(ty) = self.tensor(t).cloned() else { return Err(self.internal("no array")) };
        if ty.rank() > dims.len() {
            let message = "input operand has more dimensions than allowed by the axis remapping";
            return Err(Diagnostic::new(ErrorKind::Value, self.span, message));
        }
        let rank = ty.rank();
        let template =
            format!("shape mismatch: value array of shape {{shape {rank}}} could not be broadcast to indexing result");
        let site = self.site(ExcClass::ValueError, template);
        // A view, whatever the sizes are.
        let layout = if dims == ty.dims { ty.layout } else { Layout::A };
        let to = TensorType { dims, layout, readonly: true, ..ty };
        Ok(Abs::Value(self.emit(Op::NtExpand { site }, &[t, t], Type::tensor(to))))
    }
}
