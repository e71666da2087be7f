//! `nt.copy`, `nt.into` and `nt.alloc`: writing into arrays that are there.
//!
//! All values are read before the first is written: where the array written may share memory with one that is read, a test of
//! their extents decides at run time whether the values go through memory of their own. Identical arrays need none.
//!
//! On the host, arrays are copied by the one routine that does so (`mem.copy`), in parallel where there is much to do.

use super::Lower;
use super::array::Array;
use super::cost;
use super::elementwise::Space;
use crate::turn;
use std::collections::BTreeMap;
use weft_diag::Diagnostic;
use weft_ir::attr::{CmpOp, Const, Unit};
use weft_ir::{DType, Dim, Layout, Op, OpId, TensorType, Type, ValueId};

/// Elements that are written in place, if they are known to be no more.
const FEW: u64 = 32;

/// Elements that one thread goes through in order, where that saves an array of their own.
const IN_ORDER: i64 = 1 << 14;

/// Elements that one thread computes faster than two where they go through an array of their own and are read from elsewhere in the
/// array that is written, by a few instructions each: the other thread has just written what this one reads.
const ALONE: i64 = 1 << 15;
const FEW_TENTHS: u64 = 5;

/// What is written.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// One value everywhere.
    Scalar(ValueId),
    /// An array of the same sizes.
    Array(&'a Array),
}

/// An array that is read while another is written.
struct Read {
    from: Array,
    /// It is read element by element as it stands, not a part of it or in another order.
    as_is: bool,
}

impl Lower<'_> {
    /// `nt.alloc`.
    pub fn new_array(&mut self, id: OpId, zero: bool) -> Result<(), Diagnostic> {
        let result = self.r.src.op(id).results[0];
        let ty = self.r.src.ty(result).as_tensor().cloned();
        let ty = ty.ok_or_else(|| Diagnostic::internal(self.r.src.op(id).span, "an allocation of no array"))?;
        let at = self.place.clone();
        let (array, bytes) = self.alloc_counted(&ty, &at);
        if zero && at.is_host() {
            self.r.b().effect(Op::MemZero, &[array.mem, bytes]);
        } else if zero {
            let zero = self.zero(ty.dtype);
            self.copy_loop(&array, Source::Scalar(zero))?;
        }
        self.arrays.insert(result, array);
        Ok(())
    }

    fn zero(&mut self, dtype: DType) -> ValueId {
        let value = match dtype {
            DType::Bool => Const::Bool(false),
            d if d.is_int() => Const::Int(0),
            d if d.is_complex() => Const::Complex(0.0, 0.0),
            _ => Const::Float(0.0),
        };
        self.r.b().constant(value, Type::Num(dtype))
    }

    /// `nt.copy`.
    pub fn copy(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let to = self.array(data.operands[0]).clone();
        let Some(from) = self.arrays.get(&data.operands[1]).cloned() else {
            let v = self.element(data.operands[1], to.ty.dtype);
            return self.fill_array(&to, v);
        };
        let from = match self.other_row(data.operands[0], data.operands[1]) {
            true => from,
            false => self.read_first(&to, &from)?,
        };
        self.copy_array(&to, &from)
    }

    /// `nt.into`: the elements are computed where they go, unless that would change what is still to be read, or sizes of
    /// 1 repeat.
    pub fn into(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let to = self.array(data.operands[0]).clone();
        let [work, ref after @ .., _] = self.r.src.region(data.regions[0]).ops[..] else {
            return Err(Diagnostic::internal(data.span, "nothing is computed"));
        };
        let after = after.to_vec();
        let result = self.r.src.op(work).results[0];
        let Some(ty) = self.r.src.ty(result).as_tensor().cloned() else {
            return Err(Diagnostic::internal(data.span, "no array is computed"));
        };
        if let Some(&mask) = data.operands.get(1) {
            let read: Vec<ValueId> = self.r.src.op(work).operands.iter().copied().chain([mask]).collect();
            return self.read_copies(&to, &read, |l| {
                let mask = l.array(mask).clone();
                l.elementwise_into(work, std::slice::from_ref(&to), Some(&mask))
            });
        }
        if self.writes_new {
            return self.elementwise_into(work, &[to], None);
        }
        let mut detour: Option<ValueId> = None;
        for (&have, &want) in ty.dims.iter().zip(&to.ty.dims) {
            if have != want {
                let (n, m) = (self.size(have), self.size(want));
                let ne = self.r.b().value(Op::Cmp { is: CmpOp::Ne }, &[n, m], Type::BOOL);
                detour = Some(self.either(detour, ne));
            }
        }
        let factors: Option<[Array; 2]> = match self.r.src.op(work) {
            data if data.op == Op::NtMatmul => Some([0, 1].map(|k| self.array(data.operands[k]).clone())),
            _ => None,
        };
        for factor in factors.iter().flatten() {
            if let Some(shares) = self.share_memory(&to, factor) {
                detour = Some(self.either(detour, shares));
            }
        }
        let (mut columns, mut saved) = (vec![], BTreeMap::new());
        if factors.is_none() {
            columns = self.columns(work, &to, &ty.dims);
            saved = self.save_repeated(work, &to, &ty.dims, &columns)?;
        }
        for &v in &columns {
            let column = self.array(v).clone();
            let copy = match self.meets_other_rows(&to, &column) {
                Some(needed) => self.copy_if(needed, &column)?,
                None => column.clone(),
            };
            self.arrays.insert(v, copy);
            saved.insert(v, column);
        }
        let mut in_order: Option<ValueId> = None;
        let read = if factors.is_some() { vec![] } else { self.read_by(work, data.operands[0], &saved) };
        for Read { from, as_is } in read {
            let meets = if as_is { self.meets(&to, &from) } else { self.share_memory(&to, &from) };
            let Some(mut meets) = meets else { continue };
            if as_is
                && columns.is_empty()
                && let Some(ahead) = self.is_ahead(&to, &from)
            {
                let mut b = self.r.b();
                let now = b.value(Op::And, &[meets, ahead], Type::BOOL);
                let behind = b.value(Op::Not, &[ahead], Type::BOOL);
                meets = b.value(Op::And, &[meets, behind], Type::BOOL);
                in_order = Some(self.either(in_order, now));
            }
            detour = Some(self.either(detour, meets));
        }
        let layout = if to.ty.layout == Layout::F { Layout::F } else { Layout::C };
        let own = TensorType { layout, ..ty.clone() };
        let Some(detour) = detour else {
            match factors {
                Some([a, b]) => self.multiply(a, b, to)?,
                None => self.elementwise_by_rows(work, &to, &columns)?,
            }
            self.arrays.extend(saved);
            return Ok(());
        };
        let cost: u64 = self.r.src.op(work).regions.iter().map(|&r| cost::tenths(self.r.src, r)).sum();
        let short = to.ty.rank() == 1 && factors.is_none() && cost <= FEW_TENTHS;
        if short && self.loops > 0 && self.place.is_host() {
            let mut b = self.r.b();
            let most = b.i64(ALONE);
            let few = b.value(Op::Cmp { is: CmpOp::Le }, &[to.sizes[0], most], Type::BOOL);
            let alone = b.value(Op::And, &[detour, few], Type::BOOL);
            in_order = Some(self.either(in_order, alone));
        }
        let place = to.ty.place.clone();
        let (elsewhere, ()) = self.nested(|l| {
            let fresh = l.alloc(&own, &place);
            let values: Vec<ValueId> = [fresh.mem, fresh.owner].into_iter().chain(fresh.strides).collect();
            l.r.b().effect(Op::Yield, &values);
            Ok(())
        })?;
        let there: Vec<ValueId> = [to.mem, to.owner].into_iter().chain(to.strides.iter().copied()).collect();
        let types: Vec<Type> = there.iter().map(|&v| self.r.dst.ty(v).clone()).collect();
        let mut build = self.r.b();
        let (stays, _) = build.region(|b| b.effect(Op::Yield, &there));
        let chosen = build.op(Op::ScfIf, &[detour], &types, &[elsewhere, stays]);
        let values = self.r.dst.op(chosen).results.to_vec();
        let sizes = ty.dims.iter().map(|&d| self.size(d)).collect();
        // The strides are those of `to`, or of an array with at least its order.
        let ty = TensorType { layout: to.ty.layout, ..ty };
        let out = Array { ty, mem: values[0], owner: values[1], sizes, strides: values[2..].to_vec() };
        match (in_order, factors) {
            (_, Some([a, b])) => self.multiply(a, b, out.clone())?,
            (Some(in_order), None) => {
                self.elementwise_in_order(work, std::slice::from_ref(&out), None, Some(in_order))?
            }
            (None, None) => self.elementwise_by_rows(work, &out, &columns)?,
        }
        self.arrays.extend(saved);
        let (moves, ()) = self.nested(|l| {
            l.arrays.insert(result, out);
            let mut from = result;
            for op in after {
                l.op(op)?;
                from = l.r.src.op(op).results[0];
            }
            let from = l.array(from).clone();
            l.copy_rarely(&to, &from)?;
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        let mut build = self.r.b();
        let (nothing, _) = build.region(|b| b.effect(Op::Yield, &[]));
        build.op(Op::ScfIf, &[detour], &[], &[moves, nothing]);
        Ok(())
    }

    /// `nt.into_all`: nothing that is still to be read can change.
    pub fn write_all(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let to: Vec<Array> = data.operands.iter().map(|&v| self.array(v).clone()).collect();
        let work = self.r.src.region(data.regions[0]).ops[0];
        self.elementwise_into(work, &to, None)
    }

    /// Lets an op read copies of the arrays that it reads again and again, where `to` shares their memory: they are smaller than
    /// what is written. Returns the arrays themselves.
    fn save_repeated(
        &mut self,
        op: OpId,
        to: &Array,
        space: &[Dim],
        but: &[ValueId],
    ) -> Result<BTreeMap<ValueId, Array>, Diagnostic> {
        let repeated = |v: &&ValueId| {
            !but.contains(v)
                && self.arrays.get(v).is_some_and(|a| {
                    let skip = space.len() - a.ty.rank();
                    let repeats = |k: usize| k < skip || a.ty.dims[k - skip] != space[k];
                    !a.ty.dims.is_empty() && (0..space.len()).any(repeats) && !self.apart(to, a)
                })
        };
        let operands: Vec<ValueId> = self.r.src.op(op).operands.iter().filter(repeated).copied().collect();
        self.save(to, &operands)
    }

    /// Arrays with one element for each row of `to` that may lie in it. Where they do, each in its row, threads read them when they
    /// begin with the row: what another thread wrote last need not be brought here to be copied.
    fn columns(&self, op: OpId, to: &Array, space: &[Dim]) -> Vec<ValueId> {
        let &[rows, columns] = space else { return vec![] };
        if !self.place.is_host() || to.ty.dims != space || rows == Dim::Const(1) || columns == Dim::Const(1) {
            return vec![];
        }
        let fits = |v: &&ValueId| {
            let column = |a: &Array| a.ty.dims == [rows, Dim::Const(1)] && a.ty.dtype == to.ty.dtype;
            self.arrays.get(v).is_some_and(|a| column(a) && !self.apart(to, a))
        };
        self.r.src.op(op).operands.iter().filter(fits).copied().collect()
    }

    /// Whether elements of a column lie in other rows of `to` than their own, decided at run time; `None` if they never do.
    fn meets_other_rows(&mut self, to: &Array, column: &Array) -> Option<ValueId> {
        let overlaps = self.share_memory(to, column)?;
        let mut b = self.r.b();
        let (start, at) =
            (b.value(Op::MemAddress, &[to.mem], Type::I64), b.value(Op::MemAddress, &[column.mem], Type::I64));
        let row = b.value(Op::Mul, &[to.sizes[1], to.strides[1]], Type::I64);
        let (end, zero) = (b.value(Op::Add, &[start, row], Type::I64), b.i64(0));
        let down = b.value(Op::Sub, &[zero, to.strides[0]], Type::I64);
        let step = b.value(Op::Max, &[to.strides[0], down], Type::I64);
        // The first element is in no place of the first row, the next row is another step away, or rows run into each other.
        let outside = [
            (CmpOp::Lt, at, start),
            (CmpOp::Ge, at, end),
            (CmpOp::Ne, column.strides[0], to.strides[0]),
            (CmpOp::Lt, step, row),
        ];
        let mut elsewhere: Option<ValueId> = None;
        for (is, x, y) in outside {
            let is_so = self.r.b().value(Op::Cmp { is }, &[x, y], Type::BOOL);
            elsewhere = Some(self.either(elsewhere, is_so));
        }
        elsewhere.map(|elsewhere| self.r.b().value(Op::And, &[overlaps, elsewhere], Type::BOOL))
    }

    /// Lets copies of arrays be read where writing `to` would change them. Returns the arrays themselves.
    fn save(&mut self, to: &Array, read: &[ValueId]) -> Result<BTreeMap<ValueId, Array>, Diagnostic> {
        let mut saved = BTreeMap::new();
        for v in read {
            if let Some(a) = self.arrays.get(v).filter(|_| !saved.contains_key(v)).cloned() {
                let copy = self.read_first(to, &a)?;
                self.arrays.insert(*v, copy);
                saved.insert(*v, a);
            }
        }
        Ok(saved)
    }

    /// Lowers something that reads arrays and writes `to`: copies of them are read where that would change what is still to be read.
    pub(super) fn read_copies(
        &mut self,
        to: &Array,
        read: &[ValueId],
        work: impl FnOnce(&mut Self) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let saved = self.save(to, read)?;
        work(self)?;
        self.arrays.extend(saved);
        Ok(())
    }

    /// The arrays that an op reads, but for some, as far as writing to `to` may change them: of a parameter that `to` is no part
    /// of, all of it once.
    fn read_by(&self, op: OpId, to: ValueId, but: &BTreeMap<ValueId, Array>) -> Vec<Read> {
        let mut found: Vec<Read> = vec![];
        let root = self.roots.get(&self.array(to).owner);
        let operands = self.r.src.op(op).operands.iter().filter(|v| !but.contains_key(v) && !self.other_row(to, **v));
        for a in operands.filter_map(|v| self.arrays.get(v)) {
            let lender = self.roots.get(&a.owner).filter(|r| Some(*r) != root).and_then(|r| self.lenders.get(r));
            let from = lender.unwrap_or(a).clone();
            let as_is = from.mem == a.mem && from.strides == a.strides;
            match found.iter_mut().find(|known| known.from.mem == from.mem && known.from.strides == from.strides) {
                Some(known) => known.as_is &= as_is,
                None => found.push(Read { from, as_is }),
            }
        }
        found
    }

    /// Whether two arrays are of different rows of one: along an axis that neither walks along, their indices differ by a constant.
    fn other_row(&self, a: ValueId, b: ValueId) -> bool {
        let view = |v: ValueId| {
            let data = self.defs[v.index()].map(|op| self.r.src.op(op))?;
            let Op::NtView { axes } = &data.op else { return None };
            let array = data.operands[0];
            turn::has_own_places(self.r.src, array).then_some((array, &data.operands[1..], axes))
        };
        let (Some((a, a_walk, a_axes)), Some((b, b_walk, b_axes))) = (view(a), view(b)) else { return false };
        let stays = |k: usize| !a_axes.contains(&(k as i32)) && !b_axes.contains(&(k as i32));
        let differ = |k: usize| {
            let (x, y) = (self.sum(a_walk[2 * k]), self.sum(b_walk[2 * k]));
            x.0 == y.0 && x.1 != y.1
        };
        a == b && (0..a_walk.len() / 2).any(|k| stays(k) && differ(k))
    }

    /// A number of the old function, as another and a constant.
    fn sum(&self, mut v: ValueId) -> (ValueId, i128) {
        let data = |v: ValueId| self.defs[v.index()].map(|op| self.r.src.op(op));
        let constant = |v: ValueId| match data(v)?.op {
            Op::Const { value: Const::Int(n) } => Some(n),
            _ => None,
        };
        let is_int = |v: ValueId| matches!(*self.r.src.ty(v), Type::I64 | Type::PYINT);
        let mut more = 0;
        while let Some(data) = data(v) {
            let &[x, ref rest @ ..] = &data.operands[..] else { break };
            let by = rest.first().and_then(|&y| constant(y));
            match (&data.op, by) {
                (Op::Cast, _) if is_int(v) && is_int(x) => {}
                (Op::NtIndex { wrap: false, .. }, _) => {}
                (Op::Add, Some(by)) => more += by,
                (Op::Sub, Some(by)) => more -= by,
                _ => break,
            }
            v = x;
        }
        (v, more)
    }

    /// Whether a vector that is read lies ahead of one of the same sizes that is written, by the same steps, decided at run time: what
    /// goes through both from the start to the end reads every element before it is written. Of few elements, since one
    /// thread has to; and not for what is done once: `None`.
    fn is_ahead(&mut self, to: &Array, from: &Array) -> Option<ValueId> {
        let alike = to.ty.dims == from.ty.dims && to.ty.dtype == from.ty.dtype && to.ty.rank() == 1;
        if !alike || self.loops == 0 || !self.place.is_host() {
            return None;
        }
        let mut b = self.r.b();
        let [here, there] = [to, from].map(|a| b.value(Op::MemAddress, &[a.mem], Type::I64));
        let (zero, few) = (b.i64(0), b.i64(IN_ORDER));
        let tests = [
            (CmpOp::Lt, here, there),
            (CmpOp::Eq, to.strides[0], from.strides[0]),
            (CmpOp::Lt, zero, to.strides[0]),
            (CmpOp::Le, to.sizes[0], few),
        ];
        let tests = tests.map(|(is, x, y)| b.value(Op::Cmp { is }, &[x, y], Type::BOOL));
        tests.into_iter().reduce(|x, y| b.value(Op::And, &[x, y], Type::BOOL))
    }

    /// `sum or more`.
    pub(super) fn either(&mut self, sum: Option<ValueId>, more: ValueId) -> ValueId {
        sum.map_or(more, |sum| self.r.b().value(Op::Or, &[sum, more], Type::BOOL))
    }

    /// Whether writing `to` changes elements of `from` before they are read, decided at run time; `None` if it never does.
    fn meets(&mut self, to: &Array, from: &Array) -> Option<ValueId> {
        let alike = to.ty.dims == from.ty.dims && to.ty.dtype == from.ty.dtype;
        // One element is written after all has been read.
        let is_one = |a: &Array| a.ty.dims.iter().all(|d| *d == Dim::Const(1));
        if is_one(to) && is_one(from) {
            return None;
        }
        if self.apart(to, from) || (alike && to.mem == from.mem && to.strides == from.strides) {
            return None;
        }
        let (a, b) = (self.extent(to), self.extent(from));
        let mut build = self.r.b();
        let below = build.value(Op::Cmp { is: CmpOp::Lt }, &[a.1, b.2], Type::BOOL);
        let above = build.value(Op::Cmp { is: CmpOp::Lt }, &[b.1, a.2], Type::BOOL);
        let overlaps = build.value(Op::And, &[below, above], Type::BOOL);
        if !alike {
            return Some(overlaps);
        }
        let mut other = build.value(Op::Cmp { is: CmpOp::Ne }, &[a.0, b.0], Type::BOOL);
        for k in (0..to.ty.rank()).filter(|&k| to.ty.dims[k] != Dim::Const(1)) {
            let ne = build.value(Op::Cmp { is: CmpOp::Ne }, &[to.strides[k], from.strides[k]], Type::BOOL);
            other = build.value(Op::Or, &[other, ne], Type::BOOL);
        }
        Some(build.value(Op::And, &[overlaps, other], Type::BOOL))
    }

    /// Whether the elements of two arrays lie in the same stretch of memory, decided at run time; `None` if they cannot.
    pub(super) fn share_memory(&mut self, a: &Array, b: &Array) -> Option<ValueId> {
        if self.apart(a, b) {
            return None;
        }
        let (a, b) = (self.extent(a), self.extent(b));
        let mut build = self.r.b();
        let below = build.value(Op::Cmp { is: CmpOp::Lt }, &[a.1, b.2], Type::BOOL);
        let above = build.value(Op::Cmp { is: CmpOp::Lt }, &[b.1, a.2], Type::BOOL);
        Some(build.value(Op::And, &[below, above], Type::BOOL))
    }

    /// Whether two arrays, of which one is written, cannot share memory: they are of different memory, some of which this function
    /// allocated, or of parameters that do not share any.
    fn apart(&self, a: &Array, b: &Array) -> bool {
        match (self.roots.get(&a.owner), self.roots.get(&b.owner)) {
            (Some(a), Some(b)) => {
                a != b && (self.r.src.apart || self.allocated.contains(a) || self.allocated.contains(b))
            }
            _ => false,
        }
    }

    /// `from`, or a copy of it if writing `to` would change what is read.
    pub(super) fn read_first(&mut self, to: &Array, from: &Array) -> Result<Array, Diagnostic> {
        match self.meets(to, from) {
            Some(overlaps) => self.copy_if(overlaps, from),
            None => Ok(from.clone()),
        }
    }

    /// `nt.keep`: what is written is written in any order, so that also the same array is copied.
    pub(super) fn keep(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let (from, to) = (self.array(data.operands[0]).clone(), self.array(data.operands[1]).clone());
        let kept = match self.share_memory(&from, &to) {
            Some(overlaps) => self.copy_if(overlaps, &from)?,
            None => from,
        };
        self.arrays.insert(data.results[0], kept);
        Ok(())
    }

    /// An array, or a copy of it where `needed`.
    fn copy_if(&mut self, needed: ValueId, from: &Array) -> Result<Array, Diagnostic> {
        let (copies, ()) = self.nested(|l| {
            let layout = if from.ty.layout == Layout::F { Layout::F } else { Layout::C };
            let place = from.ty.place.clone();
            let copy = l.alloc(&TensorType { layout, ..from.ty.clone() }, &place);
            l.copy_rarely(&copy, from)?;
            let values: Vec<ValueId> = [copy.mem, copy.owner].into_iter().chain(copy.strides).collect();
            l.r.b().effect(Op::Yield, &values);
            Ok(())
        })?;
        let same: Vec<ValueId> = [from.mem, from.owner].into_iter().chain(from.strides.iter().copied()).collect();
        let types: Vec<Type> = same.iter().map(|&v| self.r.dst.ty(v).clone()).collect();
        let mut build = self.r.b();
        let (stays, _) = build.region(|b| b.effect(Op::Yield, &same));
        let chosen = build.op(Op::ScfIf, &[needed], &types, &[copies, stays]);
        let values = self.r.dst.op(chosen).results.to_vec();
        Ok(Array { mem: values[0], owner: values[1], strides: values[2..].to_vec(), ..from.clone() })
    }

    /// Address of an array, and the addresses between which its elements are.
    fn extent(&mut self, a: &Array) -> (ValueId, ValueId, ValueId) {
        let mut b = self.r.b();
        let address = b.value(Op::MemAddress, &[a.mem], Type::I64);
        let (zero, one) = (b.i64(0), b.i64(1));
        let item = b.i64(a.ty.dtype.size() as i64);
        let (mut low, mut high) = (address, b.value(Op::Add, &[address, item], Type::I64));
        for k in (0..a.ty.rank()).filter(|&k| a.ty.dims[k] != Dim::Const(1)) {
            let last = b.value(Op::Sub, &[a.sizes[k], one], Type::I64);
            let reach = b.value(Op::Mul, &[last, a.strides[k]], Type::I64);
            let down = b.value(Op::Min, &[reach, zero], Type::I64);
            let up = b.value(Op::Max, &[reach, zero], Type::I64);
            low = b.value(Op::Add, &[low, down], Type::I64);
            high = b.value(Op::Add, &[high, up], Type::I64);
        }
        (address, low, high)
    }

    /// Copies an array of the same sizes that does not overlap.
    fn copy_array(&mut self, to: &Array, from: &Array) -> Result<(), Diagnostic> {
        if to.ty.dims.iter().all(|d| *d == Dim::Const(1)) {
            return self.copy_loop(to, Source::Array(from));
        }
        self.copy_rarely(to, from)
    }

    /// [`Lower::copy_array`] where it is the exception that anything is copied: with little code. On the host the steps from element
    /// to element alone count, whatever the type says of the layout.
    pub(super) fn copy_rarely(&mut self, to: &Array, from: &Array) -> Result<(), Diagnostic> {
        if !self.place.is_host() {
            return self.copy_loop(to, Source::Array(from));
        }
        self.copy_by_routine(to, from.mem, &from.strides);
        Ok(())
    }

    /// Writes one value everywhere: by the routine that copies, for which there is less to compile than for a loop. In a loop of
    /// the user's it may be done often, and for few elements.
    fn fill_array(&mut self, to: &Array, v: ValueId) -> Result<(), Diagnostic> {
        let known = |n: u64, d: &Dim| if let Dim::Const(m) = d { n.checked_mul(*m) } else { None };
        let few = to.ty.dims.iter().try_fold(1, known).is_some_and(|n| n <= FEW);
        if few || self.loops > 0 || !self.place.is_host() {
            return self.copy_loop(to, Source::Scalar(v));
        }
        let ty = self.r.dst.ty(to.mem).clone();
        let mut b = self.r.b();
        let (one, zero) = (b.value(Op::MemStack { bytes: to.ty.dtype.size() as u32 }, &[], ty), b.i64(0));
        b.effect(Op::MemStore { unit: Unit::Element }, &[v, one, zero]);
        self.copy_by_routine(to, one, &vec![zero; to.ty.rank()]);
        Ok(())
    }

    fn copy_by_routine(&mut self, to: &Array, from: ValueId, strides: &[ValueId]) {
        let axes: Vec<usize> = (0..to.ty.rank()).filter(|&k| to.ty.dims[k] != Dim::Const(1)).collect();
        let mut words = vec![to.mem, from];
        words.extend(axes.iter().map(|&k| self.size(to.ty.dims[k])));
        words.extend(axes.iter().map(|&k| to.strides[k]));
        words.extend(axes.iter().map(|&k| strides[k]));
        self.r.b().effect(Op::MemCopy { rank: axes.len() as u32 }, &words);
    }

    /// Stores every element of `to`.
    pub fn copy_loop(&mut self, to: &Array, from: Source<'_>) -> Result<(), Diagnostic> {
        let dims = to.ty.dims.clone();
        let axes: Vec<usize> = (0..dims.len()).filter(|&k| dims[k] != Dim::Const(1)).collect();
        let layouts = match from {
            Source::Scalar(_) => [to.ty.layout; 2],
            Source::Array(a) => [to.ty.layout, a.ty.layout],
        };
        let collapsed = axes.len() > 1 && (layouts == [Layout::C; 2] || layouts == [Layout::F; 2]);
        let space = Space { dims, axes, collapsed };
        let mut sizes: Vec<ValueId> = space.axes.iter().map(|&k| self.size(space.dims[k])).collect();
        if collapsed {
            sizes = vec![self.product(&sizes)];
        }
        if sizes.is_empty() {
            self.copy_item(&space, to, from, &[]);
            return Ok(());
        }
        let count = sizes.len();
        let (region, ()) = self.nested(|l| {
            let indices: Vec<ValueId> = (0..count).map(|_| l.r.b().arg(Type::I64)).collect();
            l.copy_item(&space, to, from, &indices);
            l.r.b().effect(Op::Yield, &[]);
            Ok(())
        })?;
        self.items(&sizes, region);
        Ok(())
    }

    fn copy_item(&mut self, space: &Space, to: &Array, from: Source<'_>, indices: &[ValueId]) {
        let position = self.position_of(space, indices);
        let v = match from {
            Source::Scalar(v) => v,
            Source::Array(a) => {
                let (at, unit) = self.place_of(a, space, &position, indices);
                self.r.b().value(Op::MemLoad { unit }, &[a.mem, at], Type::Num(a.ty.dtype))
            }
        };
        let (at, unit) = self.place_of(to, space, &position, indices);
        self.r.b().effect(Op::MemStore { unit }, &[v, to.mem, at]);
    }
}
