//! `fused` → `loops`: no arrays any more, only pointers, sizes, byte strides and scalars.
//!
//! Comes in: placed, fused whole-array ops, or a kernel. Goes out: a host function whose parameters and results are
//! the slots of the calling convention, `par.for` loops in it, and kernels that it launches.
//!
//! - An array parameter is `mem, owner, sizes…, strides…`, all always present; so is an array result. A scalar is
//!   one value of its machine type. `none` has no slot.
//! - A size symbol is the value of the first parameter that has it, or what `shape.bind` gave it.
//! - Sizes that `nt.refine` compares and finds different raise; equal symbols are never compared.
//! - Device work is first written as parallel loops in the host function, each of which is then moved into a kernel with what it
//!   captured as parameters (`outline`).
//!
//! - Arrays pass through control flow, cells and calls as their slots. A symbol that such an array is the first to have is the
//!   size in its slot.
//!
//! Files: `array` (descriptors and offsets), `flow` (control flow), `elementwise`, `list`, `kernel` (user kernels), `outline`, `cost`, `split` (loops
//! without checks), `small` (temporaries on the stack),
//! `written` (what the host writes, where there are copies on a device).

mod array;
mod copy;
pub(crate) mod cost;
mod dot;
mod elementwise;
mod flow;
mod fold;
mod fold_device;
mod kernel;
mod linalg;
mod list;
mod masks;
mod matmul;
mod matmul_device;
mod outline;
mod parts;
mod reduce;
mod scan;
mod scan_device;
mod small;
mod split;
mod view;
mod written;

pub(crate) use split::{Tested, tested};

use crate::rebuild::Rebuild;
use crate::{PassCx, canon, own};
use array::Array;
use flow::{is_flow, slot_types};
use std::collections::{BTreeMap, BTreeSet};
use weft_diag::{Diagnostic, Span};
use weft_ir::attr::{Access, CmpOp, Const, Unit};
use weft_ir::build::machine_type;
use weft_ir::{Dim, ExcClass, Func, Module, Op, OpId, Place, RegionId, Site, Space, Stage, Type, ValueId};

/// The pass.
pub fn run(mut m: Module, cx: &PassCx) -> Result<Module, Diagnostic> {
    let mut funcs = vec![];
    // Sizes come from arguments, which may be views of little memory: what is allocated for them is checked.
    let too_big = m.sites.len() as u32;
    m.funcs.iter_mut().filter(|f| !f.kernel).for_each(split::run);
    let offloads = m.funcs.iter().any(uses_a_device);
    for f in &m.funcs {
        let (mut host, offloaded) = if f.kernel { kernel::lower(f, cx)? } else { lower_func(f, too_big, offloads)? };
        canon::cse(&mut host);
        canon::dce(&mut host);
        let kernels = outline::run(&mut host, &offloaded);
        canon::dce(&mut host);
        own::run(&mut host);
        if funcs.is_empty() {
            small::run(&mut host);
        }
        funcs.push(host);
        funcs.extend(kernels);
    }
    let uses = |wanted: &dyn Fn(&Op) -> bool| funcs.iter().any(|f| f.ops.iter().any(|o| wanted(&o.op)));
    if uses(&|op| matches!(op, Op::Checked { site, .. } if *site == too_big)) {
        let template = "array is too big; its bytes are more than an int64 can count".into();
        m.sites.push(Site {
            class: ExcClass::ValueError,
            template,
            span: Span::NONE,
            user: None,
            also: vec![],
            callers: vec![],
        });
    }
    if uses(&|op| matches!(op, Op::Call { .. })) {
        m.sites.push(Site::recursion());
    }
    Ok(Module { stage: Stage::Loops, funcs, sites: m.sites, fast: m.fast })
}

/// Whether a part of a function runs on a device.
fn uses_a_device(f: &Func) -> bool {
    let mut found = false;
    f.walk(&mut |op| found |= matches!(&f.op(op).op, Op::EnvRegion { at } if !at.is_host()));
    found
}

/// The function, and the loops of it that run on a device.
fn lower_func(f: &Func, too_big: u32, offloads: bool) -> Result<(Func, BTreeSet<OpId>), Diagnostic> {
    let mut l = Lower::new(f);
    l.too_big = too_big;
    l.told = offloads.then(|| written::Told::new(f));
    l.params();
    l.block(f.body)?;
    Ok((l.r.dst, l.offloaded))
}

/// A function being lowered.
struct Lower<'s> {
    /// Scalars go through this map.
    r: Rebuild<'s>,
    /// The ops that define the old values.
    defs: Vec<Option<OpId>>,
    /// What each old array has become.
    arrays: BTreeMap<ValueId, Array>,
    /// Values of size symbols that are visible at the cursor.
    sizes: BTreeMap<Dim, ValueId>,
    /// Sizes that a refinement before the cursor has found equal.
    proved: Vec<(Dim, Dim)>,
    /// Where ops at the cursor run.
    place: Place,
    /// Index of each dimension, inside an elementwise body that asks for them.
    position: Vec<ValueId>,
    /// What was read of arrays before the loop over a row, inside it.
    loaded: BTreeMap<ValueId, ValueId>,
    /// Indices and sizes of the launch, inside a kernel.
    items: Vec<(ValueId, ValueId)>,
    /// The site of arrays too big to be counted in bytes.
    too_big: u32,
    /// Owners of arrays whose memory is known, and the owner of the parameter or allocation it is of.
    roots: BTreeMap<ValueId, ValueId>,
    /// The array parameters, by owner.
    lenders: BTreeMap<ValueId, Array>,
    /// Owners of what this function allocated itself.
    allocated: BTreeSet<ValueId>,
    /// The cells of each old cell's slots.
    cells: BTreeMap<ValueId, Vec<ValueId>>,
    /// What each old list has become.
    lists: BTreeMap<ValueId, list::List>,
    /// The old list whose items are set next, by the blocks of a comprehension, and where they are: nothing moves them there, and
    /// an address that is read in every turn keeps items out of vectors.
    room: Option<(ValueId, ValueId)>,
    /// Masks by their old counts.
    counted: BTreeMap<ValueId, masks::Counted>,
    /// Whether what is written here shares memory with nothing that is read, but itself.
    writes_new: bool,
    /// New loops that run on a device: kernels to be.
    offloaded: BTreeSet<OpId>,
    /// How many loops of the user's the cursor is in.
    loops: u32,
    /// What the runtime knows of the host's writes, where parts of the program run on a device.
    told: Option<written::Told>,
}

fn space_of(place: &Place) -> Space {
    if place.is_host() { Space::Host } else { Space::Global }
}

impl<'s> Lower<'s> {
    fn new(f: &'s Func) -> Lower<'s> {
        let mut r = Rebuild::new(f);
        r.dst.symbols = 0;
        let (arrays, sizes) = (BTreeMap::new(), BTreeMap::new());
        Lower {
            r,
            defs: canon::definitions(f),
            arrays,
            sizes,
            proved: vec![],
            place: Place::Host,
            position: vec![],
            loaded: BTreeMap::new(),
            items: vec![],
            too_big: 0,
            roots: BTreeMap::new(),
            lenders: BTreeMap::new(),
            allocated: BTreeSet::new(),
            cells: BTreeMap::new(),
            lists: BTreeMap::new(),
            room: None,
            counted: BTreeMap::new(),
            writes_new: false,
            offloaded: BTreeSet::new(),
            loops: 0,
            told: None,
        }
    }

    /// One slot per scalar, `2 + 2·rank` per array.
    fn params(&mut self) {
        for &p in self.r.src.params() {
            let ty = self.r.src.ty(p).clone();
            if let Some(t) = ty.as_tensor() {
                let name = self.r.src.values[p.index()].name.clone();
                let array = self.array_param(t, &name);
                self.roots.insert(array.owner, array.owner);
                self.lenders.insert(array.owner, array.clone());
                self.arrays.insert(p, array);
            } else if matches!(ty, Type::List(_) | Type::Cell(_)) {
                let slots: Vec<ValueId> = slot_types(&ty).into_iter().map(|ty| self.r.b().arg(ty)).collect();
                self.define(p, &slots);
            } else if ty != Type::NONE {
                self.r.arg(p, machine_type(&ty));
            }
        }
    }

    fn block(&mut self, region: RegionId) -> Result<(), Diagnostic> {
        for &id in &self.r.src.region(region).ops {
            self.op(id)?;
        }
        Ok(())
    }

    fn op(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        self.r.span = data.span;
        self.tell_of_writes(id);
        match data.op {
            Op::NtElementwise => self.elementwise(id)?,
            Op::NtRefine { site } => self.refine(id, site),
            Op::NtView { ref axes } => self.view(id, axes),
            Op::NtKeep => self.keep(id)?,
            Op::NtExpand { site } => self.expand(id, site)?,
            Op::NtReshape => self.reshape(id),
            Op::NtAlloc { zero } => self.new_array(id, zero)?,
            Op::NtCopy => self.copy(id)?,
            Op::NtInto => self.into(id)?,
            Op::NtIntoAll => self.write_all(id)?,
            Op::NtReduce { fold, ref axes, order } => self.reduce(id, fold, axes, order)?,
            Op::NtFold { fold, ref axes, order } => self.fold(id, fold, axes, order)?,
            Op::NtScan { fold } => self.scan(id, fold)?,
            Op::NtCount => self.count(id)?,
            Op::NtCompress => self.compress(id)?,
            Op::NtPut => self.put(id)?,
            Op::NtMatmul => self.matmul(id)?,
            Op::NtBothSides => self.both_sides(id)?,
            Op::NtProduct => {
                self.product_with(id)?;
                self.forget_writes(id);
            }
            Op::NtDot => self.dot(id)?,
            Op::NtCholesky => self.cholesky(id)?,
            Op::NtSolve => self.solve(id)?,
            Op::NtDim { dim } => {
                let size = self.array(data.operands[0]).sizes[dim as usize];
                self.r.set(data.results[0], size);
            }
            Op::NtStride { dim } => {
                let stride = self.array(data.operands[0]).strides[dim as usize];
                self.r.set(data.results[0], stride);
            }
            Op::NtOverlaps => {
                let (a, b) = (self.array(data.operands[0]).clone(), self.array(data.operands[1]).clone());
                let meet = match self.share_memory(&a, &b) {
                    Some(meet) => meet,
                    None => self.r.b().constant(Const::Bool(false), Type::BOOL),
                };
                self.r.set(data.results[0], meet);
            }
            Op::NtPosition { dim } => self.r.set(data.results[0], self.position[dim as usize]),
            Op::NtItem => {
                let mem = self.array(data.operands[0]).mem;
                let zero = self.r.b().i64(0);
                let ty = self.r.src.ty(data.results[0]).clone();
                self.r.emit(id, Op::MemLoad { unit: Unit::Element }, &[mem, zero], &[ty], &[]);
            }
            Op::NtLoad { wrap } => self.load(id, wrap),
            Op::NtStore { wrap } => self.store(id, wrap),
            Op::NtAtomic { rmw, wrap } => self.atomic(id, rmw, wrap),
            Op::ShapeBind { dim } => {
                let v = self.r.get(data.operands[0]);
                let v = self.r.b().cast(v, Type::I64);
                self.sizes.insert(dim, v);
            }
            Op::EnvTransfer { mode } => {
                let from = self.array(data.operands[0]).clone();
                let to = self.r.src.ty(data.results[0]).as_tensor().map_or(Place::Host, |t| t.place.clone());
                // What the host writes later, the runtime is told just before (`written`): until then both copies are valid.
                let mode = if to.is_host() && self.told.is_some() { Access::Read } else { mode };
                let moved = self.need(&from, &to, mode);
                self.arrays.insert(data.results[0], moved);
            }
            Op::EnvRegion { at } => self.region_at(id, at)?,
            Op::SimtGlobalId { dim } => {
                let (index, _) = self.item(id, dim)?;
                self.r.set(data.results[0], index);
            }
            Op::SimtGlobalSize { dim } => {
                let (_, size) = self.item(id, dim)?;
                self.r.set(data.results[0], size);
            }
            Op::NtWeaken => {
                let ty = self.r.src.ty(data.results[0]).as_tensor().cloned();
                let from = self.array(data.operands[0]).clone();
                let weak = Array { ty: ty.unwrap_or_else(|| from.ty.clone()), ..from };
                self.arrays.insert(data.results[0], weak);
            }
            Op::NtNull => self.null(id),
            Op::NtIndex { wrap, site } => self.checked_index(id, wrap, site),
            Op::Return if self.items.is_empty() => self.leave(id),
            Op::CellNew | Op::CellGet | Op::CellSet => self.cell(id),
            ref op if is_flow(op) => {
                let repeats = u32::from(matches!(op, Op::ScfFor | Op::ScfLoop | Op::ParBlocks { .. }));
                self.loops += repeats;
                self.flow(id)?;
                self.loops -= repeats;
                self.forget_writes(id);
                self.room = self.room.filter(|_| !matches!(op, Op::ParBlocks { .. }));
            }
            ref op if op.dialect() == "list" => self.list_op(id),
            Op::Const { .. } if *self.r.src.ty(data.results[0]) == Type::NONE => {}
            Op::Cast => {
                let v = self.r.get(data.operands[0]);
                let ty = machine_type(self.r.src.ty(data.results[0]));
                let v = self.r.b().cast(v, ty);
                self.r.set(data.results[0], v);
            }
            _ => self.scalar(id)?,
        }
        Ok(())
    }

    /// Scalar ops: the same op on machine types.
    fn scalar(&mut self, id: OpId) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let mut values = data.operands.iter().chain(&data.results);
        if values.any(|&v| self.r.src.ty(v).as_tensor().is_some()) {
            let message = format!("arrays cannot pass through `{}` yet", data.op.name());
            return Err(Diagnostic::unsupported(data.span, message));
        }
        let operands: Vec<ValueId> = data.operands.iter().map(|&v| self.r.get(v)).collect();
        let types: Vec<Type> = data.results.iter().map(|&v| machine_type(self.r.src.ty(v))).collect();
        self.r.emit(id, data.op, &operands, &types, &[]);
        Ok(())
    }

    /// Fills a new region; what becomes known in it is forgotten after it.
    fn nested<R>(
        &mut self,
        fill: impl FnOnce(&mut Self) -> Result<R, Diagnostic>,
    ) -> Result<(RegionId, R), Diagnostic> {
        let new = self.r.dst.new_region();
        let outer = std::mem::replace(&mut self.r.at, new);
        let (sizes, proved) = (self.sizes.clone(), self.proved.len());
        let result = fill(self)?;
        self.r.at = outer;
        self.sizes = sizes;
        self.proved.truncate(proved);
        Ok((new, result))
    }

    /// The ops of an `env.region`, where they stand: places are in the ops now.
    fn region_at(&mut self, id: OpId, at: Place) -> Result<(), Diagnostic> {
        let data = self.r.src.op(id).clone();
        let region = self.r.src.region(data.regions[0]).clone();
        for (&v, &a) in data.operands.iter().zip(&region.args) {
            self.alias(v, a);
        }
        let outer = std::mem::replace(&mut self.place, at);
        for &op in &region.ops {
            let inner = self.r.src.op(op).clone();
            if inner.op == Op::Yield {
                for (&v, &result) in inner.operands.iter().zip(&data.results) {
                    self.alias(v, result);
                }
            } else {
                self.op(op)?;
            }
        }
        self.place = outer;
        Ok(())
    }

    /// Makes `new` another name of what `old` has become.
    fn alias(&mut self, old: ValueId, new: ValueId) {
        if let Some(&list) = self.lists.get(&old) {
            self.lists.insert(new, list);
            return;
        }
        match self.arrays.get(&old).cloned() {
            Some(array) => {
                self.arrays.insert(new, array);
            }
            None => {
                let v = self.r.get(old);
                self.r.set(new, v);
            }
        }
    }

    fn item(&self, id: OpId, dim: u32) -> Result<(ValueId, ValueId), Diagnostic> {
        self.items.get(dim as usize).copied().ok_or_else(|| {
            let n = self.items.len();
            let plural = if n == 1 { "" } else { "s" };
            let message =
                format!("the kernel asks for dimension {dim} of its index; the launch has {n} dimension{plural}");
            Diagnostic::typing(self.r.src.op(id).span, message)
        })
    }

    /// Compares sizes that no symbol proves equal; raises with the shapes of all operands.
    fn refine(&mut self, id: OpId, site: u32) {
        let data = self.r.src.op(id).clone();
        let mut array = self.array(data.operands[0]).clone();
        let wanted = canon::dims(self.r.src, data.results[0]).to_vec();
        let mut differ: Option<ValueId> = None;
        let pairs: Vec<(Dim, Dim)> = array.ty.dims.iter().copied().zip(wanted.iter().copied()).collect();
        for (have, want) in pairs {
            if have == want || self.proved.contains(&(have, want)) {
                continue;
            }
            let (a, b) = (self.size(have), self.size(want));
            let ne = self.r.b().value(Op::Cmp { is: CmpOp::Ne }, &[a, b], Type::BOOL);
            differ = Some(match differ {
                Some(d) => self.r.b().value(Op::Or, &[d, ne], Type::BOOL),
                None => ne,
            });
            self.proved.push((have, want));
        }
        if let Some(differ) = differ {
            let shapes: Vec<ValueId> = data.operands[1..].iter().flat_map(|&v| self.array(v).sizes.clone()).collect();
            let mut b = self.r.b();
            let (raises, _) = b.region(|b| b.effect(Op::Raise { site }, &shapes));
            let (goes_on, _) = b.region(|b| b.effect(Op::Yield, &[]));
            b.op(Op::ScfIf, &[differ], &[], &[raises, goes_on]);
        }
        array.sizes = wanted.iter().map(|&d| self.size(d)).collect();
        array.ty.dims = wanted;
        self.arrays.insert(data.results[0], array);
    }

    /// `return` with every array as its slots.
    fn leave(&mut self, id: OpId) {
        let slots: Vec<ValueId> = self.r.src.op(id).operands.iter().flat_map(|&v| self.slots(v)).collect();
        self.r.dst.results = slots.iter().map(|&v| self.r.dst.ty(v).clone()).collect();
        self.r.emit(id, Op::Return, &slots, &[], &[]);
    }

    fn array(&self, v: ValueId) -> &Array {
        self.arrays.get(&v).expect("the verifier has checked that this operand is an array defined before")
    }
}
