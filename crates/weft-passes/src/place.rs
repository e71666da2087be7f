//! `ntensor` → `placed`: every whole-array op gets a place, and transfers become explicit.
//!
//! Comes in: typed ops; the place in a parameter's type says where that array lives. Goes out: each run of ops at
//! a device stands in one `env.region`, with `env.transfer`s before and after it; every array of an op is at the
//! op's place; the function's result types say where results live.
//!
//! An array has a *home*. Parameters: what their type says. Results: their inputs' home. Host arrays under a device
//! context stay at home on the host, but their array work runs at the device, so such an array may have two
//! copies; the other one is made when first needed, and each only once. Device work collects in a pending
//! region that is emitted only when something needs its results: scalar and metadata ops in between are emitted
//! before it, so that neighbours merge.
//!
//! A result of device work whose home is the host goes there by one `env.transfer` that stands before all host uses, also
//! before a loop or branch with some of them inside: all see the same memory, and the elements move once. If the host may
//! write to it, the transfer says so (`update`), and device copies are asked for again after each write; at run time, that is
//! a branch where the copy is still valid.
//!
//! Kernels run where they are launched and are not touched here.

use crate::rebuild::Rebuild;
use crate::{PassCx, canon};
use std::collections::{BTreeMap, BTreeSet};
use weft_diag::{Diagnostic, ErrorKind, Span};
use weft_ir::attr::Access;
use weft_ir::{DType, Dim, Func, Module, Op, OpId, Place, RegionId, Stage, TensorType, Type, ValueId};

/// The pass.
pub fn run(m: Module, cx: &PassCx) -> Result<Module, Diagnostic> {
    let funcs = m.funcs.iter().map(|f| if f.kernel { kernel_place(f, cx).map(|_| f.clone()) } else { func(f, cx) });
    let funcs = funcs.collect::<Result<_, _>>()?;
    Ok(Module { stage: Stage::Placed, funcs, sites: m.sites, fast: m.fast })
}

/// Where a kernel runs: where its arrays live, or at the context's place if they are NumPy's.
pub fn kernel_place(f: &Func, cx: &PassCx) -> Result<Place, Diagnostic> {
    let arrays: Vec<(ValueId, &Place)> =
        f.params().iter().filter_map(|&p| f.ty(p).as_tensor().map(|t| (p, &t.place))).collect();
    let Some(&(first, home)) = arrays.first() else { return Ok(cx.place.clone()) };
    if let Some(&(other, place)) = arrays.iter().find(|(_, p)| *p != home) {
        let d =
            Diagnostic::new(ErrorKind::Placement, Span::NONE, "arrays of different places meet in one kernel launch");
        return Err(d.note(said(f, first, home)).note(said(f, other, place)).help(HELP));
    }
    Ok(if home.is_host() { cx.place.clone() } else { home.clone() })
}

const HELP: &str = "move one of them with `.to_device(…)` before the call";

/// Which array lives where, for messages.
fn said(f: &Func, v: ValueId, place: &Place) -> String {
    let name = &f.values[v.index()].name;
    let who = if name.is_empty() { "this array".into() } else { format!("`{name}`") };
    let place = place.to_string();
    format!("{who} ({}) lives at {}", f.ty(v).user_name(), place.trim_start_matches('#'))
}

fn func(f: &Func, cx: &PassCx) -> Result<Func, Diagnostic> {
    let homes = f.values.iter().map(|v| v.ty.as_tensor().map_or(Place::Host, |t| t.place.clone())).collect();
    let data_home = f.params().iter().filter_map(|&p| f.ty(p).as_tensor()).map(|t| &t.place).find(|p| !p.is_host());
    let mut p = Placer {
        r: Rebuild::new(f),
        homes,
        away: BTreeMap::new(),
        refined_away: vec![],
        pending: None,
        users: users(f),
        defs: canon::definitions(f),
        context: &cx.place,
        data_home: data_home.cloned(),
    };
    for &a in f.params() {
        p.r.arg(a, f.ty(a).clone());
    }
    p.block(f.body)?;
    Ok(p.r.dst)
}

/// The ops that use each value, by value index.
fn users(f: &Func) -> Vec<Vec<OpId>> {
    let mut users = vec![vec![]; f.values.len()];
    f.walk(&mut |op| {
        for v in &f.op(op).operands {
            users[v.index()].push(op);
        }
    });
    users
}

/// Ops that will share one `env.region`, not emitted yet: neither they nor the transfers they need.
struct Pending {
    at: Place,
    ops: Vec<OpId>,
    results: BTreeSet<ValueId>,
}

struct Placer<'s> {
    r: Rebuild<'s>,
    /// Where each old value lives.
    homes: Vec<Place>,
    /// Copies at a device of arrays whose home is the host, by old value. The map of `r` has those at home.
    away: BTreeMap<ValueId, ValueId>,
    /// `nt.refine`s and views in scope of arrays that were only at a device then. An array comes home with all of them.
    refined_away: Vec<OpId>,
    pending: Option<Pending>,
    users: Vec<Vec<OpId>>,
    defs: Vec<Option<OpId>>,
    context: &'s Place,
    /// The device where this function's array parameters live, if one does.
    data_home: Option<Place>,
}

fn at_place(ty: &Type, place: &Place) -> Type {
    match ty {
        Type::Tensor(t) => Type::tensor(TensorType { place: place.clone(), ..(**t).clone() }),
        other => other.clone(),
    }
}

impl Placer<'_> {
    fn block(&mut self, region: RegionId) -> Result<(), Diagnostic> {
        let ops = self.r.src.region(region).ops.clone();
        for id in ops {
            match self.r.src.op(id).op {
                _ if self.offloads(id) => self.array_work(id)?,
                Op::NtItem if self.is_away(id) => self.item(id),
                Op::NtRefine { .. } => self.refine(id),
                Op::NtReshape | Op::NtView { .. } if self.stays_away(id) => self.refine(id),
                Op::NtDim { .. } | Op::NtStride { .. } => {
                    let v = self.r.src.op(id).operands[0];
                    let v = self.existing_copy(v);
                    self.emit_same(id, &[v]);
                }
                _ => self.other(id)?,
            }
        }
        Ok(())
    }

    /// Whether an op is array work that has a place: elementwise, or what a device does where its arrays live or the context says.
    fn offloads(&self, id: OpId) -> bool {
        match self.r.src.op(id).op {
            Op::NtElementwise => true,
            Op::NtReduce { .. } | Op::NtScan { .. } | Op::NtMatmul => {
                self.choose(id).is_ok_and(|(at, _)| !at.is_host() && self.has_dtypes(id, &at))
            }
            _ => false,
        }
    }

    /// Whether a device computes with the dtypes of an op.
    fn has_dtypes(&self, id: OpId, at: &Place) -> bool {
        let data = self.r.src.op(id);
        let mut dtypes = data.operands.iter().chain(&data.results).filter_map(|&v| match self.r.src.ty(v) {
            Type::Tensor(t) => Some(t.dtype),
            ty => ty.scalar_dtype(),
        });
        let halves = matches!(at, Place::Device(name) if name.starts_with("cuda"));
        dtypes.all(|d| !d.is_complex() && (halves || d != DType::F16))
    }

    /// Whether an op uses an array that lives at a device.
    fn is_away(&self, id: OpId) -> bool {
        let data = self.r.src.op(id);
        data.operands.iter().any(|&v| self.r.src.ty(v).as_tensor().is_some() && !self.homes[v.index()].is_host())
    }

    /// The element of an array without axes that lives at a device: it comes here.
    fn item(&mut self, id: OpId) {
        let data = self.r.src.op(id).clone();
        let there = self.existing_copy(data.operands[0]);
        let ty = at_place(self.r.src.ty(data.operands[0]), &Place::Host);
        self.r.span = data.span;
        let here = self.r.b().value(Op::EnvTransfer { mode: Access::Read }, &[there], ty);
        self.emit_same(id, &[here]);
    }

    /// Where array work runs and where its results live; refuses arrays that live at different places.
    fn choose(&self, id: OpId) -> Result<(Place, Place), Diagnostic> {
        let src = self.r.src;
        let data = src.op(id);
        let mut first: Option<ValueId> = None;
        for &v in data.operands.iter().filter(|&&v| src.ty(v).as_tensor().is_some()) {
            let Some(one) = first else {
                first = Some(v);
                continue;
            };
            if self.homes[one.index()] != self.homes[v.index()] {
                return Err(self.conflict(id, one, v));
            }
        }
        let home = match first {
            Some(v) => self.homes[v.index()].clone(),
            None => self.data_home.clone().unwrap_or(Place::Host),
        };
        let at = if home.is_host() && !self.is_single(id) { self.context.clone() } else { home.clone() };
        Ok((at, home))
    }

    fn conflict(&self, id: OpId, a: ValueId, b: ValueId) -> Diagnostic {
        let src = self.r.src;
        let message = "arrays of different places meet in one operation";
        let mut d = Diagnostic::new(ErrorKind::Placement, src.op(id).span, message);
        for v in [a, b] {
            d = match self.defs[v.index()].map(|op| src.op(op).span).filter(|s| s.is_known()) {
                Some(span) => d.other(span, said(src, v, &self.homes[v.index()])),
                None => d.note(said(src, v, &self.homes[v.index()])),
            };
        }
        d.help(HELP)
    }

    fn array_work(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let (at, home) = self.choose(id)?;
        let data = self.r.src.op(id).clone();
        for v in &data.results {
            self.homes[v.index()] = home.clone();
        }
        let raising = self.r.src.effects(id).may_raise;
        let elsewhere = self.pending.as_ref().is_some_and(|p| p.at != at);
        if elsewhere || (raising && self.pending_raises()) {
            self.flush();
        }
        if at.is_host() {
            let operands: Vec<ValueId> = data.operands.iter().map(|&v| self.at_home(v)).collect();
            self.emit_same(id, &operands);
            return Ok(());
        }
        let pending = self.pending.get_or_insert_with(|| Pending { at, ops: vec![], results: BTreeSet::new() });
        pending.ops.push(id);
        pending.results.extend(data.results);
        Ok(())
    }

    /// Metadata: on whichever copy there is, so that it moves nothing.
    fn refine(&mut self, id: OpId) {
        let data = self.r.src.op(id).clone();
        if self.pending_raises() {
            self.flush();
        }
        let operands: Vec<ValueId> = data.operands.iter().map(|&v| self.existing_copy(v)).collect();
        self.homes[data.results[0].index()] = self.homes[data.operands[0].index()].clone();
        let home = self.homes[data.operands[0].index()].clone();
        let place = self.r.dst.ty(operands[0]).as_tensor().map_or(Place::Host, |t| t.place.clone());
        let ty = at_place(self.r.src.ty(data.results[0]), &place);
        if place == home {
            self.r.emit(id, data.op, &operands, &[ty], &[]);
        } else {
            self.r.span = data.span;
            let v = self.r.b().value(data.op, &operands, ty);
            self.away.insert(data.results[0], v);
            self.refined_away.push(id);
        }
    }

    /// Whether a view is made at a device: of an array that lives there, for work that is done there; or of one that is only there
    /// so far, if nobody writes to either.
    fn stays_away(&self, id: OpId) -> bool {
        let data = self.r.src.op(id);
        let v = data.operands[0];
        if !self.homes[v.index()].is_host() {
            return data.results.iter().all(|&view| self.is_only_worked_on(view));
        }
        let only_away = self.is_pending(v) || self.away.contains_key(&v) && self.r.find(v).is_none();
        let written = data.results.iter().any(|&view| self.may_be_written(view));
        only_away && !written && !self.may_be_written(v)
    }

    /// Whether all that happens to an array is work that has a place.
    fn is_only_worked_on(&self, v: ValueId) -> bool {
        self.users[v.index()].iter().all(|&user| {
            let data = self.r.src.op(user);
            match data.op {
                Op::NtDim { .. } | Op::NtStride { .. } => true,
                Op::NtRefine { .. } | Op::NtReshape | Op::NtView { .. } => {
                    data.operands[0] != v || data.results.iter().all(|&view| self.is_only_worked_on(view))
                }
                _ => self.offloads(user),
            }
        })
    }

    /// Every other op runs on the host with arrays at home.
    fn other(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        self.refuse_on_device(id)?;
        if matches!(data.op, Op::ParBlocks { .. }) && !self.context.is_host() {
            let d = Diagnostic::unsupported(data.span, "a prange cannot run on a device yet");
            return Err(d.help("call it outside the device context, or use array expressions or a kernel"));
        }
        let effects = self.r.src.effects(id);
        let binds = matches!(data.op, Op::ShapeBind { .. });
        let mut inside_arrays = false;
        let mut inside_pending = false;
        for &r in &data.regions {
            self.r.src.walk_region(r, &mut |op| {
                let inner = self.r.src.op(op);
                inside_arrays |= self.offloads(op);
                let pending = self.pending.as_ref();
                inside_pending |= inner.operands.iter().any(|v| pending.is_some_and(|p| p.results.contains(v)));
            });
        }
        let ordered = (effects.may_raise || effects.exits) && self.pending_raises();
        if inside_arrays || inside_pending || ordered || effects.writes && !binds {
            self.flush();
        }
        for v in self.needed_inside(id) {
            self.at_home(v);
        }
        let operands: Vec<ValueId> = data.operands.iter().map(|&v| self.at_home(v)).collect();
        if effects.writes && !binds {
            // The host may have written any array: copies elsewhere are asked for again.
            let r = &self.r;
            self.away.retain(|&v, _| r.find(v).is_none());
        }
        if data.op == Op::Return {
            // Pending work that no result needs is dropped with the pending region.
            self.r.dst.results = operands.iter().map(|&v| self.r.dst.ty(v).clone()).collect();
        }
        let mut regions = vec![];
        for &r in &data.regions {
            let (map, away, refined) = (self.r.snapshot(), self.away.clone(), self.refined_away.len());
            let new = self.r.dst.new_region();
            let outer = std::mem::replace(&mut self.r.at, new);
            for &a in &self.r.src.region(r).args {
                self.r.arg(a, self.r.src.ty(a).clone());
            }
            let waiting = self.pending.take();
            self.block(r)?;
            self.pending = waiting;
            self.r.at = outer;
            self.r.restore(map);
            self.away = away;
            self.refined_away.truncate(refined);
            regions.push(new);
        }
        let types: Vec<Type> =
            data.results.iter().map(|&v| at_place(self.r.src.ty(v), &self.homes[v.index()])).collect();
        self.r.emit(id, data.op, &operands, &types, &regions);
        Ok(())
    }

    /// Arrays that are only at a device, and that have to come home before an op because the host uses them in its regions.
    /// What is only read may come home in the branch that reads it.
    fn needed_inside(&self, id: OpId) -> Vec<ValueId> {
        let src = self.r.src;
        let is_branch = src.op(id).op == Op::ScfIf;
        let mut needed = vec![];
        for &region in &src.op(id).regions {
            src.walk_region(region, &mut |op| {
                for &v in &src.op(op).operands {
                    let is_away = self.r.find(v).is_none() && self.away.contains_key(&v);
                    let v = if is_away { self.unrefined(v) } else { continue };
                    if !needed.contains(&v) && self.needs_at_home(op) && (!is_branch || self.may_be_written(v)) {
                        needed.push(v);
                    }
                }
            });
        }
        needed
    }

    /// The array that comes home when `v` does: the one behind the refinements that were made at a device.
    fn unrefined(&self, mut v: ValueId) -> ValueId {
        while let Some(&op) = self.refined_away.iter().find(|&&op| self.r.src.op(op).results[0] == v) {
            v = self.r.src.op(op).operands[0];
        }
        v
    }

    /// Whether an op needs its arrays at home, or hands them on under a name of which that is not known.
    fn needs_at_home(&self, id: OpId) -> bool {
        match self.r.src.op(id).op {
            Op::NtElementwise => self.is_single(id),
            _ if self.offloads(id) => false,
            Op::NtDim { .. } | Op::NtStride { .. } => false,
            Op::NtRefine { .. } => {
                self.users[self.r.src.op(id).results[0].index()].iter().any(|&u| self.needs_at_home(u))
            }
            _ => true,
        }
    }

    /// Whether an op computes one element, or of one: no parallel work, and not worth a transfer.
    fn is_single(&self, id: OpId) -> bool {
        let data = self.r.src.op(id);
        let arrays = if data.op == Op::NtElementwise { &data.results[..1] } else { &data.operands[..] };
        arrays.iter().all(|&v| canon::dims(self.r.src, v).iter().all(|&d| d == Dim::Const(1)))
    }

    /// Whether an array, or a view of it, may be written to after it has come home.
    fn may_be_written(&self, v: ValueId) -> bool {
        self.users[v.index()].iter().any(|&user| {
            let data = self.r.src.op(user);
            data.written().contains(&v)
                || data.passes_on()
                || data.viewed() == Some(v) && data.results.iter().any(|&view| self.may_be_written(view))
        })
    }

    /// Elements of arrays that live at a device are not at hand here, and such arrays stay where they are.
    fn refuse_on_device(&self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id);
        let away = |v: &&ValueId| self.r.src.ty(**v).as_tensor().is_some() && !self.homes[v.index()].is_host();
        let Some(&v) = data.operands.iter().find(away).filter(|_| data.op != Op::Return) else { return Ok(()) };
        let what = match data.op.dialect() {
            "scf" => "an array that changes in a loop or branch",
            _ => "access to elements and parts of arrays",
        };
        let d = Diagnostic::unsupported(data.span, format!("{what} is not supported on a device yet"));
        let d = d.note(said(self.r.src, v, &self.homes[v.index()]));
        Err(d.help("run it outside the device context, with arrays that live on the host"))
    }

    /// Copies an op of the host or of metadata with these operands.
    fn emit_same(&mut self, id: OpId, operands: &[ValueId]) {
        let data = self.r.src.op(id).clone();
        let same = |t: &Type| t.clone();
        let regions: Vec<RegionId> = data.regions.iter().map(|&r| self.r.copy_region(r, &same)).collect();
        let types: Vec<Type> =
            data.results.iter().map(|&v| at_place(self.r.src.ty(v), &self.homes[v.index()])).collect();
        self.r.emit(id, data.op, operands, &types, &regions);
    }

    fn pending_raises(&self) -> bool {
        self.pending.as_ref().is_some_and(|p| p.ops.iter().any(|&op| self.r.src.effects(op).may_raise))
    }

    fn is_pending(&self, v: ValueId) -> bool {
        self.pending.as_ref().is_some_and(|p| p.results.contains(&v))
    }

    /// Returns an existing copy of a value, preferring the one at home. Emits the pending region first if that defines it.
    fn existing_copy(&mut self, v: ValueId) -> ValueId {
        if self.is_pending(v) {
            self.flush();
        }
        self.r.find(v).or_else(|| self.away.get(&v).copied()).unwrap_or_else(|| self.r.get(v))
    }

    /// Returns a value at its home. An array that is only at a device is brought there with all its refinements, so that a
    /// write through one of them is seen through all.
    fn at_home(&mut self, v: ValueId) -> ValueId {
        let found = self.existing_copy(v);
        if self.r.find(v).is_some() {
            return found;
        }
        let unrefined = self.unrefined(v);
        if unrefined != v {
            self.at_home(unrefined);
            return self.r.get(v);
        }
        let ty = self.r.src.ty(v).clone();
        let refinements: Vec<OpId> = self.refined_away.clone();
        let mode = if self.may_be_written(v) { Access::Update } else { Access::Read };
        let home = self.r.b().value(Op::EnvTransfer { mode }, &[found], ty);
        self.r.set(v, home);
        for op in refinements {
            let data = self.r.src.op(op).clone();
            if self.r.find(data.operands[0]).is_some() && self.r.find(data.results[0]).is_none() {
                let operands: Vec<ValueId> = data.operands.iter().map(|&v| self.existing_copy(v)).collect();
                let ty = self.r.src.ty(data.results[0]).clone();
                self.r.emit(op, data.op, &operands, &[ty], &[]);
            }
        }
        home
    }

    /// An array at a device, transferred there once; other values as they are.
    fn at_device(&mut self, v: ValueId, at: &Place) -> ValueId {
        if self.homes[v.index()] == *at || self.r.src.ty(v).as_tensor().is_none() {
            return self.existing_copy(v);
        }
        if let Some(&there) = self.away.get(&v) {
            return there;
        }
        let here = self.r.get(v);
        let ty = at_place(self.r.src.ty(v), at);
        let there = self.r.b().value(Op::EnvTransfer { mode: Access::Read }, &[here], ty);
        self.away.insert(v, there);
        there
    }

    /// Emits the pending region; its results that others use become copies at its place.
    fn flush(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        let src = self.r.src;
        let mut outer: Vec<ValueId> = vec![];
        let mut out: Vec<ValueId> = vec![];
        for &op in &pending.ops {
            for &v in &src.op(op).operands {
                if !pending.results.contains(&v) && !outer.contains(&v) {
                    outer.push(v);
                }
            }
            let leaves = |v: &&ValueId| self.users[v.index()].iter().any(|u| !pending.ops.contains(u));
            out.extend(src.op(op).results.iter().filter(leaves));
        }
        let operands: Vec<ValueId> = outer.iter().map(|&v| self.at_device(v, &pending.at)).collect();
        let map = self.r.snapshot();
        let region = self.r.dst.new_region();
        let around = std::mem::replace(&mut self.r.at, region);
        for (&v, &new) in outer.iter().zip(&operands) {
            let ty = self.r.dst.ty(new).clone();
            self.r.arg(v, ty);
        }
        for &op in &pending.ops {
            self.r.copy(op, &|t| at_place(t, &pending.at));
            self.r.span = src.op(op).span;
        }
        let yields: Vec<ValueId> = out.iter().map(|&v| self.r.get(v)).collect();
        let types: Vec<Type> = yields.iter().map(|&v| self.r.dst.ty(v).clone()).collect();
        self.r.b().effect(Op::Yield, &yields);
        self.r.at = around;
        self.r.restore(map);
        let op = self.r.b().op(Op::EnvRegion { at: pending.at.clone() }, &operands, &types, &[region]);
        for (i, &v) in out.iter().enumerate() {
            let new = self.r.dst.op(op).results[i];
            if self.homes[v.index()] == pending.at {
                self.r.set(v, new);
            } else {
                self.away.insert(v, new);
            }
        }
    }
}
