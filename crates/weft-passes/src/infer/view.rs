//! Basic indexing: integers, slices, `...` and None make a view.

use super::Infer;
use super::abs::Abs;
use super::assume::End;
use super::facts::Computed;
use weft_diag::{Diagnostic, ErrorKind};
use weft_ir::attr::{CmpOp, Const};
use weft_ir::{DType, Dim, ExcClass, Layout, Op, TensorType, Type, ValueId, Weak};

/// One part of an index.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// An integer: the axis goes.
    At(Abs),
    /// `lower:upper:step`.
    Slice(Box<[Abs; 3]>),
    /// None: a new axis.
    New,
    /// An array of integers or of bools.
    Array(ValueId),
}

/// How an axis of the array is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    /// All of it.
    Full,
    /// Some neighbours.
    Run,
    /// Any step.
    Step,
    /// One place of it.
    At,
}

/// A bound of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Absent,
    /// So far from the front.
    Front(i128),
    /// So far from the end.
    Back(i128),
    /// As Python counts, i64.
    Value(ValueId),
}

/// What a slice takes of an axis.
struct Taken {
    start: ValueId,
    step: ValueId,
    size: Dim,
    walk: Walk,
}

impl Infer<'_> {
    /// The parts of an index of `t`, one for each of its axes that they name, `...` and absent ones filled in. Also
    /// whether the result is an array even if no axis is left.
    pub(super) fn parts(&mut self, t: ValueId, indices: &[Abs]) -> Result<(Vec<Part>, bool), Diagnostic> {
        let items = match indices {
            [Abs::Tuple(items)] => items,
            items => items,
        };
        let rank = self.tensor(t).map_or(0, TensorType::rank);
        let mut parts = vec![];
        let mut fill = None;
        let mut named = 0;
        for item in items {
            let part = match item {
                Abs::Const(Const::Ellipsis) if fill.is_some() => {
                    let message = "an index can only have a single ellipsis ('...')";
                    return Err(Diagnostic::new(ErrorKind::Index, self.span, message));
                }
                Abs::Const(Const::Ellipsis) => {
                    fill = Some(parts.len());
                    continue;
                }
                Abs::Const(Const::None) => Part::New,
                Abs::Slice(bounds) => Part::Slice(bounds.clone()),
                other => self.part(other)?,
            };
            named += match part {
                Part::New => 0,
                Part::Array(v) => match self.tensor(v) {
                    Some(m) if m.dtype == DType::Bool => m.rank(),
                    _ => 1,
                },
                _ => 1,
            };
            parts.push(part);
        }
        if named > rank {
            let message = format!("too many indices for array: array is {rank}-dimensional, but {named} were indexed");
            return Err(Diagnostic::new(ErrorKind::Index, self.span, message));
        }
        let none = || Abs::Const(Const::None);
        let rest = (named..rank).map(|_| Part::Slice(Box::new([none(), none(), none()])));
        let at = fill.unwrap_or(parts.len());
        parts.splice(at..at, rest);
        Ok((parts, fill.is_some()))
    }

    /// An integer or an array as part of an index.
    fn part(&mut self, item: &Abs) -> Result<Part, Diagnostic> {
        if self.as_list(item).is_some() || matches!(item, Abs::Tuple(_)) {
            let array = self.array_from(item, &Abs::Const(Const::None))?;
            return self.part(&array);
        }
        if let Some(v) = self.as_tensor(item) {
            let (rank, dtype) = self.tensor(v).map_or((0, DType::Bool), |t| (t.rank(), t.dtype));
            if rank == 0 && dtype.is_int() {
                return Ok(Part::At(Abs::Value(self.emit(Op::NtItem, &[v], Type::Num(dtype)))));
            }
            if dtype.is_int() || dtype == DType::Bool {
                return Ok(Part::Array(v));
            }
            let message = "arrays used as indices must be of integer (or boolean) type";
            return Err(Diagnostic::new(ErrorKind::Index, self.span, message).label(self.describe(item)));
        }
        match self.type_of(item) {
            Some(Type::Py(Weak::Int)) => Ok(Part::At(item.clone())),
            Some(Type::Num(d)) if d.is_int() => Ok(Part::At(item.clone())),
            Some(Type::Py(Weak::Bool) | Type::Num(DType::Bool)) => {
                Err(self.refuse("a bool as an index, which adds an axis, is not supported"))
            }
            _ => {
                let message = "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or \
                               boolean arrays are valid indices";
                Err(Diagnostic::new(ErrorKind::Index, self.span, message).label(self.describe(item)))
            }
        }
    }

    /// An integer as i64.
    pub(super) fn index_value(&mut self, i: &Abs) -> Result<ValueId, Diagnostic> {
        if self.type_of(i) == Some(Type::Num(DType::U64)) {
            // Beyond int64 is beyond every axis.
            let v = self.materialise(i)?;
            let most = self.constant(Const::Int(i64::MAX.into()), Type::Num(DType::U64));
            let v = self.emit(Op::Min, &[v, most], Type::Num(DType::U64));
            return Ok(self.cast(v, Type::I64));
        }
        self.as_dtype(i, DType::I64)
    }

    /// Size of an axis as i64.
    pub(super) fn size_i64(&mut self, t: ValueId, axis: usize) -> ValueId {
        match self.size(t, axis) {
            Abs::Value(v) => self.cast(v, Type::I64),
            Abs::Const(c) => self.constant(c, Type::I64),
            _ => self.constant(Const::Int(0), Type::I64),
        }
    }

    /// An index of an axis, counted from the front; raises if the axis does not have it.
    pub(super) fn checked_index(&mut self, i: &Abs, t: ValueId, axis: usize) -> Result<ValueId, Diagnostic> {
        let dim = self.tensor(t).map_or(Dim::Const(1), |t| t.dims[axis]);
        let (lo, hi) = self.range(i);
        if let Dim::Const(n) = dim
            && lo == hi
            && lo < 0
            && lo + i128::from(n) >= 0
        {
            return Ok(self.constant(Const::Int(lo + i128::from(n)), Type::I64));
        }
        let v = self.index_value(i)?;
        if lo >= 0 && self.is_below(i, dim) {
            return Ok(v);
        }
        let template = format!("index {{i}} is out of bounds for axis {axis} with size {{i}}");
        let site = self.site(ExcClass::IndexError, template);
        let size = self.size_i64(t, axis);
        if !self.resolver.checks_bounds() {
            return Ok(if lo < 0 { self.emit(Op::Wrap, &[v, size], Type::I64) } else { v });
        }
        let checked = self.emit(Op::NtIndex { wrap: lo < 0, site }, &[v, size], Type::I64);
        Ok(checked)
    }

    /// The view that parts without arrays make.
    pub(super) fn view(&mut self, t: ValueId, parts: &[Part]) -> Result<ValueId, Diagnostic> {
        let Some(ty) = self.tensor(t).cloned() else { return Err(self.internal("a view of no array")) };
        let mut operands = vec![t];
        let (mut axes, mut dims, mut walks) = (vec![], vec![], vec![]);
        let mut axis = 0;
        for part in parts {
            match part {
                Part::New => {
                    axes.push(-1);
                    dims.push(Dim::Const(1));
                    continue;
                }
                Part::At(i) => {
                    let start = self.checked_index(i, t, axis)?;
                    let step = self.constant(Const::Int(1), Type::I64);
                    operands.extend([start, step]);
                    walks.push(Walk::At);
                }
                Part::Slice(bounds) => {
                    let taken = self.slice(t, axis, bounds)?;
                    operands.extend([taken.start, taken.step]);
                    axes.push(axis as i32);
                    dims.push(taken.size);
                    walks.push(taken.walk);
                }
                Part::Array(_) => return Err(self.internal("an array in a basic index")),
            }
            axis += 1;
        }
        let layout = view_layout(&ty, &walks, &axes, &dims);
        let result = Type::tensor(TensorType { dims, layout, ..ty });
        Ok(self.emit(Op::NtView { axes }, &operands, result))
    }

    fn bound(&mut self, a: &Abs, dim: Dim) -> Result<Bound, Diagnostic> {
        if *a == Abs::Const(Const::None) {
            return Ok(Bound::Absent);
        }
        let integer = match self.type_of(a) {
            Some(Type::Py(w)) => matches!(w, Weak::Int | Weak::Bool),
            Some(Type::Num(d)) => d.is_int(),
            _ => false,
        };
        if !integer {
            let message = "slice indices must be integers or None or have an __index__ method";
            return Err(self.typing(message).label(self.describe(a)));
        }
        let (lo, hi) = self.range(a);
        if lo == hi {
            return Ok(if lo < 0 { Bound::Back(-lo) } else { Bound::Front(lo) });
        }
        // `n - 1` and `n - 2` of an axis of size n mean the same as -1 and -2, whatever n is.
        if let Some(by) = self.affine(a).and_then(|f| f.beyond(dim)).filter(|by| (-2..=0).contains(by)) {
            return Ok(Bound::Back(-by));
        }
        Ok(Bound::Value(self.index_value(a)?))
    }

    /// What `lower:upper:step` takes of an axis, clamped as Python does.
    fn slice(&mut self, t: ValueId, axis: usize, bounds: &[Abs; 3]) -> Result<Taken, Diagnostic> {
        let dim = self.tensor(t).map_or(Dim::Const(1), |t| t.dims[axis]);
        let (lower, upper) = (self.bound(&bounds[0], dim)?, self.bound(&bounds[1], dim)?);
        let step = match self.bound(&bounds[2], dim)? {
            Bound::Absent => Some(1),
            Bound::Front(n) => Some(n),
            // Of constants only: a step is never counted from the end.
            Bound::Back(n) if self.range(&bounds[2]).0 < 0 => Some(-n),
            _ => None,
        };
        if step == Some(0) {
            return Err(Diagnostic::new(ErrorKind::Value, self.span, "slice step cannot be zero"));
        }
        let Some(step) = step else { return self.slice_any(t, axis, lower, upper, &bounds[2]) };
        let step = step.clamp(-i128::from(i64::MAX), i64::MAX.into());
        let known = |b: Bound, absent: (bool, i128)| match b {
            Bound::Absent => Some(absent),
            Bound::Front(n) => Some((true, n)),
            Bound::Back(n) => Some((false, n)),
            Bound::Value(_) => None,
        };
        // With a negative step an absent lower bound is the last, an absent upper one before the first, which no
        // bound that is written can say: far beyond the front.
        let absent = if step > 0 { [(true, 0), (false, 0)] } else { [(false, 1), (false, i128::MAX)] };
        let ends = known(lower, absent[0]).zip(known(upper, absent[1]));
        if let (Dim::Const(n), Some((l, u))) = (dim, ends) {
            let (start, size) = constant_slice(n.into(), l, u, step);
            let walk = match (size == i128::from(n), step) {
                (true, 1) => Walk::Full,
                (_, 1) => Walk::Run,
                _ => Walk::Step,
            };
            let start = self.constant(Const::Int(start), Type::I64);
            let step = self.constant(Const::Int(step), Type::I64);
            return Ok(Taken { start, step, size: Dim::Const(size as u64), walk });
        }
        if step == 1
            && let Some(taken) = self.slice_inside(dim, bounds, lower, upper)
        {
            return Ok(taken);
        }
        let size = self.size_i64(t, axis);
        if let (1, Some(((true, l), (false, u)))) = (step, ends) {
            let one = self.constant(Const::Int(1), Type::I64);
            let front = self.constant(Const::Int(l.min(i64::MAX.into())), Type::I64);
            let start = if l == 0 { front } else { self.emit(Op::Min, &[front, size], Type::I64) };
            let less = l.saturating_add(u).min(i64::MAX.into());
            if less == 0 {
                return Ok(Taken { start, step: one, size: dim, walk: Walk::Full });
            }
            let size = self.shrunk(dim, size, less);
            return Ok(Taken { start, step: one, size, walk: Walk::Run });
        }
        let by = self.constant(Const::Int(step), Type::I64);
        let start = self.clamped(lower, size, step > 0, false);
        if (lower, upper, step) == (Bound::Absent, Bound::Absent, -1) {
            return Ok(Taken { start: self.inside_array(start), step: by, size: dim, walk: Walk::Step });
        }
        let what = ends.map(|(l, u)| Computed::Slice(dim, l, u, step));
        let walk = if step == 1 { Walk::Run } else { Walk::Step };
        if let Some(size) = what.and_then(|what| self.known_size(what)) {
            return Ok(Taken { start: self.inside_array(start), step: by, size, walk });
        }
        let stop = self.clamped(upper, size, step > 0, true);
        let (from, to) = if step > 0 { (start, stop) } else { (stop, start) };
        let length = self.emit(Op::Sub, &[to, from], Type::I64);
        let length = self.steps(length, step.unsigned_abs() as i128);
        let size = self.bind_size(length, what);
        Ok(Taken { start: self.inside_array(start), step: by, size, walk })
    }

    /// What a slice takes of an axis that it is known, or taken, to lie inside of.
    fn slice_inside(&mut self, dim: Dim, bounds: &[Abs; 3], lower: Bound, upper: Bound) -> Option<Taken> {
        let end = |bound: Bound, absent: End<'static>, written| match bound {
            Bound::Absent => absent,
            Bound::Front(n) => End::Front(n),
            Bound::Back(n) => End::Back(n),
            Bound::Value(_) => End::Written(written),
        };
        let from = end(lower, End::Front(0), &bounds[0]);
        let ends = self.ends_inside(dim, from, end(upper, End::Back(0), &bounds[1]))?;
        let walk = if ends.whole { Walk::Full } else { Walk::Run };
        let step = self.constant(Const::Int(1), Type::I64);
        Some(Taken { start: self.linear_value(ends.lower), step, size: ends.size, walk })
    }

    /// The symbol of `max(size - less, 0)`, where `size` is the value of `dim`.
    pub(super) fn shrunk(&mut self, dim: Dim, size: ValueId, less: i128) -> Dim {
        let what = self.less(dim, less);
        if let Some(known) = self.known_size(what) {
            return known;
        }
        let sum = self.linear_shrunk(dim, less);
        if let Some((_, Some(known))) = sum {
            return known;
        }
        let less = self.constant(Const::Int(less), Type::I64);
        let zero = self.constant(Const::Int(0), Type::I64);
        let left = self.emit(Op::Sub, &[size, less], Type::I64);
        let left = self.emit(Op::Max, &[left, zero], Type::I64);
        let dim = self.bind_size(left, Some(what));
        if let Some((sum, _)) = sum {
            self.know_size(sum, dim, left);
        }
        dim
    }

    /// `ceil(max(length, 0) / step)` for a positive step.
    fn steps(&mut self, length: ValueId, step: i128) -> ValueId {
        let zero = self.constant(Const::Int(0), Type::I64);
        let length = self.emit(Op::Max, &[length, zero], Type::I64);
        if step == 1 {
            return length;
        }
        let step = self.constant(Const::Int(step), Type::I64);
        self.ceil_div(length, step)
    }

    /// `ceil(length / step)` of i64 that are not negative, without overflow.
    fn ceil_div(&mut self, length: ValueId, step: ValueId) -> ValueId {
        let zero = self.constant(Const::Int(0), Type::I64);
        let whole = self.emit(Op::FloorDiv, &[length, step], Type::I64);
        let rest = self.emit(Op::Mod, &[length, step], Type::I64);
        let more = self.emit(Op::Cmp { is: CmpOp::Ne }, &[rest, zero], Type::BOOL);
        let more = self.cast(more, Type::I64);
        self.emit(Op::Add, &[whole, more], Type::I64)
    }

    /// The start of a slice, or 0 where one that goes down takes nothing: it points into the array.
    fn inside_array(&mut self, start: ValueId) -> ValueId {
        let zero = self.constant(Const::Int(0), Type::I64);
        self.emit(Op::Max, &[start, zero], Type::I64)
    }

    /// A bound as a place on an axis of `size`: in `0..=size` going up, in `-1..size` going down.
    fn clamped(&mut self, bound: Bound, size: ValueId, up: bool, stop: bool) -> ValueId {
        let zero = self.constant(Const::Int(0), Type::I64);
        let minus = self.constant(Const::Int(-1), Type::I64);
        let last = self.emit(Op::Add, &[size, minus], Type::I64);
        let (low, high) = if up { (zero, size) } else { (minus, last) };
        let at = match bound {
            Bound::Absent => {
                return match (up, stop) {
                    (true, false) => zero,
                    (true, true) => size,
                    (false, false) => last,
                    (false, true) => minus,
                };
            }
            Bound::Front(n) => {
                let n = self.constant(Const::Int(n.min(i64::MAX.into())), Type::I64);
                let at = self.emit(Op::Min, &[n, high], Type::I64);
                return if up { at } else { self.emit(Op::Max, &[at, low], Type::I64) };
            }
            Bound::Back(n) => {
                let n = self.constant(Const::Int(n.min(i64::MAX.into())), Type::I64);
                self.emit(Op::Sub, &[size, n], Type::I64)
            }
            Bound::Value(v) => {
                let negative = self.emit(Op::Cmp { is: CmpOp::Lt }, &[v, zero], Type::BOOL);
                let back = self.emit(Op::Add, &[v, size], Type::I64);
                self.emit(Op::Select, &[negative, back, v], Type::I64)
            }
        };
        let at = self.emit(Op::Min, &[at, high], Type::I64);
        self.emit(Op::Max, &[at, low], Type::I64)
    }

    /// A slice whose step is known only at run time.
    fn slice_any(
        &mut self,
        t: ValueId,
        axis: usize,
        lower: Bound,
        upper: Bound,
        step: &Abs,
    ) -> Result<Taken, Diagnostic> {
        let step = self.index_value(step)?;
        let zero = self.constant(Const::Int(0), Type::I64);
        let none = self.test(CmpOp::Eq, step, zero);
        self.raise_if(none, ExcClass::ValueError, "slice step cannot be zero", &[]);
        let least = self.constant(Const::Int(-i128::from(i64::MAX)), Type::I64);
        let step = self.emit(Op::Max, &[step, least], Type::I64);
        let size = self.size_i64(t, axis);
        let down = self.emit(Op::Cmp { is: CmpOp::Lt }, &[step, zero], Type::BOOL);
        let either = |s: &mut Self, bound, stop| {
            let (a, b) = (s.clamped(bound, size, false, stop), s.clamped(bound, size, true, stop));
            s.emit(Op::Select, &[down, a, b], Type::I64)
        };
        let (start, stop) = (either(self, lower, false), either(self, upper, true));
        let up = self.emit(Op::Sub, &[stop, start], Type::I64);
        let back = self.emit(Op::Neg, &[up], Type::I64);
        let length = self.emit(Op::Select, &[down, back, up], Type::I64);
        let length = self.emit(Op::Max, &[length, zero], Type::I64);
        let by = self.emit(Op::Abs, &[step], Type::I64);
        let length = self.ceil_div(length, by);
        let size = self.bind_size(length, None);
        Ok(Taken { start: self.inside_array(start), step, size, walk: Walk::Step })
    }
}

/// Start and length of a slice of `n`: bounds from the front (true) or the end.
fn constant_slice(n: i128, l: (bool, i128), u: (bool, i128), step: i128) -> (i128, i128) {
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let place = |(front, k): (bool, i128)| (if front { k } else { n.saturating_sub(k) }).clamp(low, high);
    let (start, stop) = (place(l), place(u));
    let length = if step > 0 { stop - start } else { start - stop };
    let size = if length > 0 { (length - 1) / step.abs() + 1 } else { 0 };
    (start.max(0), size)
}

/// Layout of a view: what its walks leave of the array's.
fn view_layout(from: &TensorType, walks: &[Walk], axes: &[i32], dims: &[Dim]) -> Layout {
    // Axes of the result that count, as axes of the array.
    let kept: Vec<usize> =
        axes.iter().zip(dims).filter(|&(&a, &d)| a >= 0 && d != Dim::Const(1)).map(|(&a, _)| a as usize).collect();
    let contiguous = |order: &mut dyn Iterator<Item = usize>| {
        let mut whole = true;
        for k in order {
            let full = walks[k] == Walk::Full || from.dims[k] == Dim::Const(1);
            if kept.contains(&k) && (!whole || !matches!(walks[k], Walk::Full | Walk::Run)) {
                return false;
            }
            whole &= full;
        }
        true
    };
    let rank = walks.len();
    let c = from.layout == Layout::C && contiguous(&mut (0..rank).rev());
    let f = from.layout == Layout::F && contiguous(&mut (0..rank));
    let dense = |k: usize| matches!(walks[k], Walk::Full | Walk::Run);
    let last_is_dense = matches!(from.layout, Layout::C | Layout::I)
        && axes.last().is_some_and(|&a| a >= 0 && a as usize + 1 == rank && dense(a as usize))
        && dims.last() != Some(&Dim::Const(1));
    match kept.len() {
        0 => Layout::C,
        1 if c || f || last_is_dense && kept[0] + 1 == rank => Layout::C,
        _ if c => Layout::C,
        _ if f => Layout::F,
        _ if last_is_dense => Layout::I,
        _ => Layout::A,
    }
}
