//! The batched form of a loop's body: ops that are the same in every iteration, and what decides whether to run it, go to a
//! region before; all others get one axis more.

use super::legal::raising_region;
use super::values::{Step, Value};
use crate::{canon, turn};
use std::collections::{BTreeMap, BTreeSet};
use weft_diag::Span;
use weft_ir::attr::{CmpOp, Fold, Order};
use weft_ir::{Builder, Dim, Func, Layout, Op, OpData, OpId, RegionId, Type, ValueId};

/// Sizes of axes that make an array no larger than one without them.
const FEW: u64 = 16;

/// A loop being batched.
pub(super) struct Batch<'f> {
    pub f: &'f mut Func,
    id: OpId,
    versions: &'f BTreeMap<OpId, OpId>,
    /// Before the loop, and what stands for it.
    pub setup: RegionId,
    pub code: RegionId,
    pub span: Span,
    /// How many iterations there are; the number of the last one, counted from 0.
    count: ValueId,
    pub last: ValueId,
    /// The size of the axis that is added.
    pub size: Dim,
    pub values: BTreeMap<ValueId, Value>,
    /// Sizes that the body binds, by what they are before the loop.
    pub sizes: BTreeMap<Dim, Dim>,
    /// What sizes are, as i64.
    bound: BTreeMap<Dim, ValueId>,
    /// What has to hold for the batched form to run.
    pub tests: Vec<ValueId>,
    /// Values of the body, and the arrays among them that an iteration writes to.
    pub inside: BTreeSet<ValueId>,
    pub written: BTreeSet<ValueId>,
    /// Values of the body that are reduced in an order that depends on where the iterations' axis is.
    pub reduced: BTreeSet<ValueId>,
    /// Batched arrays that nothing else names, in C order.
    pub fresh: BTreeSet<ValueId>,
    /// Batched views whose elements share memory.
    pub windows: BTreeSet<ValueId>,
    /// Where the axis of the iterations goes in what is computed for an array that is written: memory is written in its order.
    pub places: BTreeMap<ValueId, usize>,
    /// Views of all elements with their axes in another order: what they are of, and its axes.
    pub permutations: BTreeMap<ValueId, (ValueId, Vec<i32>)>,
    /// An array outside the loop that has a size, and its axis.
    holders: BTreeMap<Dim, (ValueId, u32)>,
}

impl<'f> Batch<'f> {
    pub fn new(f: &'f mut Func, id: OpId, versions: &'f BTreeMap<OpId, OpId>) -> Option<Batch<'f>> {
        let data = f.op(id).clone();
        let (setup, code) = (f.new_region(), f.new_region());
        let mut b = Builder { func: f, region: setup, span: data.span };
        let by = i64::try_from(b.func.constant_int(data.operands[2])?).ok().filter(|by| *by != 0)?;
        let [lo, hi] = [0, 1].map(|k| b.cast(data.operands[k], Type::I64));
        let whole = whole_axis(b.func, &data).filter(|_| by == 1);
        let one = b.i64(1);
        let count = match by {
            _ if whole.is_some() => hi,
            1 => turn::count(&mut b, lo, hi),
            _ => {
                let distance = if by > 0 { turn::count(&mut b, lo, hi) } else { turn::count(&mut b, hi, lo) };
                let (less, by) = (b.value(Op::Sub, &[distance, one], Type::I64), b.i64(by.saturating_abs()));
                let steps = b.value(Op::FloorDiv, &[less, by], Type::I64);
                b.value(Op::Add, &[steps, one], Type::I64)
            }
        };
        let step = Step { value: if by == 1 { one } else { b.i64(by) }, known: Some(by) };
        let last = b.value(Op::Sub, &[count, one], Type::I64);
        let size = whole.unwrap_or_else(|| {
            let size = Dim::Sym(b.func.new_symbol());
            b.effect(Op::ShapeBind { dim: size }, &[count]);
            size
        });
        let mut batch = Batch {
            id,
            versions,
            setup,
            code,
            span: data.span,
            count,
            last,
            size,
            values: BTreeMap::new(),
            sizes: BTreeMap::new(),
            bound: BTreeMap::from([(size, count)]),
            tests: vec![],
            inside: BTreeSet::new(),
            written: BTreeSet::new(),
            reduced: BTreeSet::new(),
            fresh: BTreeSet::new(),
            windows: BTreeSet::new(),
            places: BTreeMap::new(),
            permutations: BTreeMap::new(),
            holders: BTreeMap::new(),
            f,
        };
        batch.look(data.regions[0]);
        let counter = batch.f.region(data.regions[0]).args[0];
        batch.values.insert(counter, Value::Linear { first: data.operands[0], step });
        Some(batch)
    }

    /// Notes what the body makes, writes and reduces, and where sizes can be asked for.
    fn look(&mut self, body: RegionId) {
        let defs = canon::definitions(self.f);
        let mut used = self.f.params().to_vec();
        let (mut inside, mut written, mut reduced) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        inside.extend(self.f.region(body).args.iter().copied());
        self.f.walk_region(body, &mut |op| {
            let data = self.f.op(op);
            inside.extend(&data.results);
            used.extend(&data.operands);
            for &v in data.written() {
                written.insert(crate::analysis::alias::root(self.f, &defs, v));
            }
            if let Op::NtReduce { fold, axes, order } = &data.op
                && (axes.len() > 1 || !keeps_tree(self.f, data.operands[0], *fold, axes, *order))
            {
                reduced.insert(data.operands[0]);
            }
        });
        for v in used.into_iter().filter(|v| !inside.contains(v)) {
            for (k, &d) in canon::dims(self.f, v).iter().enumerate() {
                self.holders.entry(d).or_insert((v, k as u32));
            }
        }
        (self.inside, self.written, self.reduced) = (inside, written, reduced);
        self.places = self.find_places(body, &defs);
    }

    /// The axis that each elementwise result is to have for the iterations: that of the array that it is copied into.
    fn find_places(&self, body: RegionId, defs: &[Option<OpId>]) -> BTreeMap<ValueId, usize> {
        let f = &*self.f;
        let mut ops = vec![];
        f.walk_region(body, &mut |op| ops.push(op));
        let mut moving: BTreeSet<ValueId> = f.region(body).args.iter().copied().collect();
        for &op in &ops {
            if f.op(op).operands.iter().any(|v| moving.contains(v)) {
                moving.extend(&f.op(op).results);
            }
        }
        let mut places = BTreeMap::new();
        for &op in ops.iter().rev() {
            let data = f.op(op);
            match &data.op {
                Op::NtCopy => {
                    let Some(view) = defs[data.operands[0].index()].map(|id| f.op(id)) else { continue };
                    let Op::NtView { axes } = &view.op else { continue };
                    let along = view.operands[1..].iter().position(|v| moving.contains(v)).map(|k| (k / 2) as i32);
                    if let Some(along) = along.filter(|_| !self.inside.contains(&view.operands[0])) {
                        let place = axes.iter().position(|&a| a >= along).unwrap_or(axes.len());
                        places.entry(data.operands[1]).or_insert(place);
                    }
                }
                Op::NtElementwise if data.results.len() == 1 => {
                    let Some(&place) = places.get(&data.results[0]) else { continue };
                    let rank = |v: ValueId| canon::dims(f, v).len();
                    for &v in data.operands.iter().filter(|v| rank(**v) == rank(data.results[0])) {
                        places.entry(v).or_insert(place);
                    }
                }
                _ => {}
            }
        }
        places
    }

    /// The regions before the loop and in its place, and the value that says whether the second one is to run.
    pub fn run(mut self, disjoint: BTreeSet<(ValueId, ValueId)>) -> Option<(RegionId, RegionId, Option<ValueId>)> {
        for (a, b) in disjoint {
            if self.inside.contains(&a) || self.inside.contains(&b) {
                return None;
            }
            let meet = self.setup(Op::NtOverlaps, &[a, b], &Type::BOOL);
            let apart = self.setup(Op::Not, &[meet], &Type::BOOL);
            self.tests.push(apart);
        }
        let given: Vec<ValueId> = self.written.difference(&self.inside).copied().collect();
        for v in given {
            self.assume_own_places(v)?;
        }
        self.region(self.f.op(self.id).regions[0])?;
        if !self.is_compact() {
            return None;
        }
        let mut tests = std::mem::take(&mut self.tests);
        if tests.is_empty() {
            return Some((self.setup, self.code, None));
        }
        // What is computed of the first and the last iteration means nothing where there is none.
        let zero = self.number(0);
        tests.push(self.setup(Op::Cmp { is: CmpOp::Lt }, &[zero, self.count], &Type::BOOL));
        let all = tests.into_iter().reduce(|a, b| self.setup(Op::And, &[a, b], &Type::BOOL));
        Some((self.setup, self.code, all))
    }

    /// Demands that the elements of an array share no memory, as those of some strides do: then other indices are other elements.
    fn assume_own_places(&mut self, v: ValueId) -> Option<()> {
        let ty = self.f.ty(v).as_tensor()?.clone();
        if turn::has_own_places(self.f, v) {
            return Some(());
        }
        // From the last axis on, each step goes over all that the axes behind it span.
        let mut span = self.number(i64::try_from(ty.dtype.size()).ok()?);
        for k in (0..ty.rank()).rev().filter(|&k| ty.dims[k] != Dim::Const(1)) {
            let stride = self.setup(Op::NtStride { dim: k as u32 }, &[v], &Type::PYINT);
            let stride = self.as_i64(stride);
            let stride = self.setup(Op::Abs, &[stride], &Type::I64);
            let test = self.setup(Op::Cmp { is: CmpOp::Ge }, &[stride, span], &Type::BOOL);
            self.tests.push(test);
            let size = self.setup(Op::NtDim { dim: k as u32 }, &[v], &Type::PYINT);
            let size = self.as_i64(size);
            span = self.setup(Op::Mul, &[stride, size], &Type::I64);
        }
        Some(())
    }

    fn region(&mut self, region: RegionId) -> Option<()> {
        for id in self.f.region(region).ops.clone() {
            self.op(id)?;
        }
        Some(())
    }

    fn op(&mut self, id: OpId) -> Option<()> {
        let data = self.f.op(id).clone();
        self.span = data.span;
        let value = match &data.op {
            Op::Yield => return Some(()),
            Op::ScfIf if self.versions.contains_key(&id) => {
                let Value::Same { value, early: true } = self.value(data.operands[0]) else { return None };
                self.tests.push(value);
                return self.region(data.regions[0]);
            }
            Op::ScfIf => {
                let raises_if = raising_region(self.f, id)? == 0;
                let condition = self.value(data.operands[0]);
                return self.assume_no_raise(&condition, raises_if);
            }
            Op::ShapeBind { dim } => {
                let value = self.value(data.operands[0]).as_early()?;
                let new = Dim::Sym(self.f.new_symbol());
                self.setup_builder().effect(Op::ShapeBind { dim: new }, &[value]);
                let value = self.as_i64(value);
                self.sizes.insert(*dim, new);
                self.bound.insert(new, value);
                return Some(());
            }
            Op::NtStore { wrap } => return self.store(id, *wrap),
            Op::NtCopy => return self.copy(id),
            Op::Checked { .. } => self.checked(id)?,
            Op::NtDim { dim } => {
                let d = self.dims_of(data.operands[0])[*dim as usize];
                let size = self.size_of(d)?;
                Value::early(self.setup_builder().cast(size, Type::PYINT))
            }
            Op::NtIndex { .. } => self.index(id)?,
            Op::NtView { axes } => self.view(id, axes)?,
            Op::NtExpand { .. } | Op::NtRefine { .. } => self.resized(id)?,
            Op::NtElementwise => self.elementwise(id)?,
            Op::NtReduce { fold, axes, order } => self.reduce(id, *fold, axes, *order)?,
            Op::NtItem => match self.value(data.operands[0]) {
                value @ Value::Batched { .. } => value,
                value => self.repeat_op(id, &[value]),
            },
            Op::NtLoad { wrap } => self.load(id, *wrap)?,
            Op::NtAlloc { .. } => self.alloc(id)?,
            Op::NtReshape => self.reshape(id)?,
            Op::NtDot => self.dot(id)?,
            Op::NtMatmul => self.matmul(id)?,
            op if matches!(op.dialect(), "arith" | "math") => self.scalar(id)?,
            _ => return None,
        };
        // What an iteration writes to is its own.
        if value.is_same() && self.written.contains(&data.results[0]) {
            return None;
        }
        self.values.insert(data.results[0], value);
        Some(())
    }

    // ---- values ------------------------------------------------------------------------------

    /// What a value is; those from outside are the same in every iteration.
    pub fn value(&self, v: ValueId) -> Value {
        self.values.get(&v).cloned().unwrap_or(Value::early(v))
    }

    /// The op once, of operands that are the same in every iteration.
    pub fn repeat_op(&mut self, id: OpId, operands: &[Value]) -> Value {
        let data = self.f.op(id).clone();
        let e = self.f.effects(id);
        let early = operands.iter().all(|v| v.as_early().is_some()) && !(e.reads || e.writes || e.fresh || e.may_raise);
        let operands: Vec<ValueId> = operands
            .iter()
            .map(|v| match v {
                Value::Same { value, .. } => *value,
                _ => unreachable!("asked for before"),
            })
            .collect();
        let ty = self.with_sizes(self.f.ty(data.results[0]));
        let region = if early { self.setup } else { self.code };
        let regions: Vec<RegionId> = data.regions.iter().map(|&r| self.copy_region(r)).collect();
        let mut b = Builder { func: self.f, region, span: self.span };
        let new = b.op(data.op, &operands, &[ty], &regions);
        Value::Same { value: self.f.op(new).results[0], early }
    }

    fn copy_region(&mut self, region: RegionId) -> RegionId {
        let new = self.f.new_region();
        let mut map = BTreeMap::new();
        for a in self.f.region(region).args.clone() {
            let ty = self.f.ty(a).clone();
            map.insert(a, Builder { func: self.f, region: new, span: self.span }.arg(ty));
        }
        let yields = crate::fuse::inline(self.f, region, new, &mut map, &|op| op.clone());
        Builder { func: self.f, region: new, span: self.span }.effect(Op::Yield, &yields);
        new
    }

    pub fn setup_builder(&mut self) -> Builder<'_> {
        Builder { func: self.f, region: self.setup, span: self.span }
    }

    pub fn builder(&mut self) -> Builder<'_> {
        Builder { func: self.f, region: self.code, span: self.span }
    }

    // ---- sizes -------------------------------------------------------------------------------

    /// A type with the sizes that are known before the loop.
    pub fn with_sizes(&self, ty: &Type) -> Type {
        let Some(t) = ty.as_tensor() else { return ty.clone() };
        let dims = t.dims.iter().map(|&d| self.size_before(d)).collect();
        Type::tensor(weft_ir::TensorType { dims, ..t.clone() })
    }

    pub fn size_before(&self, d: Dim) -> Dim {
        self.sizes.get(&d).copied().unwrap_or(d)
    }

    /// The sizes of an array of the body, without the axis that is added.
    pub fn dims_of(&self, v: ValueId) -> Vec<Dim> {
        canon::dims(self.f, v).iter().map(|&d| self.size_before(d)).collect()
    }

    /// A size as an i64 before the loop.
    pub fn size_of(&mut self, d: Dim) -> Option<ValueId> {
        if let Some(&v) = self.bound.get(&d) {
            return Some(v);
        }
        let v = match d {
            Dim::Const(n) => self.number(i64::try_from(n).ok()?),
            Dim::Sym(_) => {
                let (array, dim) = *self.holders.get(&d)?;
                let size = self.setup(Op::NtDim { dim }, &[array], &Type::PYINT);
                self.as_i64(size)
            }
        };
        self.bound.insert(d, v);
        Some(v)
    }

    // ---- worth ---------------------------------------------------------------------------------

    /// Whether nothing has to be stored that has more axes than the arrays that the loop goes through: temporaries that are folded as
    /// they are computed, or computed where they are used, have no size.
    fn is_compact(&self) -> bool {
        let ops: Vec<OpId> = self.f.region(self.code).ops.clone();
        let is_long = |d: &&Dim| !matches!(d, Dim::Const(n) if *n <= FEW);
        let long = |v: ValueId| canon::dims(self.f, v).iter().filter(is_long).count();
        let viewed: BTreeMap<ValueId, ValueId> =
            ops.iter().filter_map(|&op| Some((*self.f.op(op).results.first()?, self.f.op(op).viewed()?))).collect();
        // Views of arrays that are there before the loop, but for those that have elements more than once.
        let goes_through = |&&v: &&ValueId| {
            let mut root = v;
            while let Some(&of) = viewed.get(&root) {
                root = of;
            }
            !self.fresh.contains(&root) && !self.windows.contains(&v)
        };
        let given = viewed.keys().filter(goes_through).map(|&v| long(v)).max().unwrap_or(0);
        let mut users: BTreeMap<ValueId, Vec<OpId>> = BTreeMap::new();
        for &op in &ops {
            for &v in &self.f.op(op).operands {
                users.entry(v).or_default().push(op);
            }
        }
        ops.iter().all(|&op| {
            let data = self.f.op(op);
            let made = data.results.iter().filter(|_| data.op.effects().fresh);
            made.copied().all(|v| {
                let used = users.get(&v).map_or(&[][..], |u| u);
                let stays = |&user: &OpId| match self.f.op(user).op {
                    Op::NtElementwise => canon::dims(self.f, self.f.op(user).results[0]) == canon::dims(self.f, v),
                    Op::NtReduce { fold, .. } => used.len() == 1 && !matches!(fold, Fold::ArgMin | Fold::ArgMax),
                    _ => false,
                };
                long(v) <= given || data.op == Op::NtElementwise && used.iter().all(stays)
            })
        })
    }
}

/// The size of the axis that the counter of a loop goes along from end to end (`for i in range(len(x))`), of an array that the loop
/// uses: then the axis that is added is known to have that size.
fn whole_axis(f: &Func, data: &OpData) -> Option<Dim> {
    let defs = canon::definitions(f);
    let behind_casts = |mut v: ValueId| {
        while let Some(op) = defs[v.index()].map(|id| f.op(id)).filter(|o| o.op == Op::Cast) {
            v = op.operands[0];
        }
        v
    };
    let (lo, hi) = (behind_casts(data.operands[0]), behind_casts(data.operands[1]));
    if f.constant_int(lo) != Some(0) {
        return None;
    }
    let size = match defs[hi.index()].map(|id| f.op(id)) {
        Some(OpData { op: Op::NtDim { dim }, operands, .. }) => canon::dims(f, operands[0])[*dim as usize],
        _ => f.ops.iter().find_map(|o| match o.op {
            Op::ShapeBind { dim } if behind_casts(o.operands[0]) == hi => Some(dim),
            _ => None,
        })?,
    };
    // An array that the loop uses, and that is there before it, has its sizes bound before it too.
    let (mut inside, mut used) = (BTreeSet::<ValueId>::new(), vec![]);
    f.walk_region(data.regions[0], &mut |op| {
        inside.extend(&f.op(op).results);
        used.extend(&f.op(op).operands);
        inside.extend(f.op(op).regions.iter().flat_map(|&r| &f.region(r).args));
    });
    let holds = |v: &ValueId| !inside.contains(v) && canon::dims(f, *v).contains(&size);
    used.iter().any(holds).then_some(size)
}

/// Whether an array is folded in the order of the tree: then it may be, wherever the axis that is added goes.
pub(super) fn keeps_tree(f: &Func, v: ValueId, fold: Fold, axes: &[u32], order: Order) -> bool {
    let Some(ty) = f.ty(v).as_tensor() else { return false };
    let last = axes.iter().max().map_or(0, |&k| k as usize);
    let rest = ty.dims.iter().skip(last + 1).all(|d| *d == Dim::Const(1));
    let ordered = ty.rank() == 1 || (ty.layout == Layout::C && rest);
    let plain = !matches!(fold, Fold::ArgMin | Fold::ArgMax) && (fold == Fold::Sum || !ty.dtype.is_complex());
    plain && (ordered || order == Order::Tree)
}
