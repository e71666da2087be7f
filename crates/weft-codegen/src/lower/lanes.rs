//! Several items to a work-item: what it takes on a GPU for arithmetic to be as fast as a copy.
//!
//! A work-item that takes one item has too few bytes on their way to keep the memory busy: on an H200 `a*b+a` over 2^28
//! f32 moves 3.4 TB/s so, 4.4 with four items each, and a copy 4.3. Reading through the constant cache adds nothing.
//!
//! The items of a work-item, its lanes, go in step: each op is written for all lanes before the next op. Items may run in
//! any order and at once, so this order is allowed whatever arrays overlap. Loads come as early as they may.
//!
//! If every array is accessed at the item's own index and all begin on the right boundaries, which only the launch knows,
//! lanes are neighbours and share a vector access. Else they are a work-group apart, so that an access of neighbouring
//! work-items is one piece of memory. Both forms share one body: only loads and stores branch. A lane past the end
//! computes with zeros and touches no memory.

use std::collections::BTreeSet;

use weft_ir::attr::{Level, Unit};
use weft_ir::math::By;
use weft_ir::{DType, Func, Op, OpData, OpId, RegionId, Type as IrType, ValueId};

use super::kernel::Query;
use super::{Lowering, Target, types};
use crate::error::Result;
use crate::llvm::Value;
use crate::llvm::builder::{IntIs, Opcode};
use crate::llvm::metadata::LoopHints;

/// Bytes of the widest access.
const WIDEST: usize = 16;
/// Ops of all lanes together, roughly: a large body is bound by arithmetic, and its copies would only cost registers and
/// compile time.
const MOST_OPS: usize = 256;

/// How the items of a kernel are taken.
pub(crate) struct Plan {
    /// Items of a work-item.
    pub(crate) lanes: u32,
    /// Whether there are several lanes and every access that differs between items is at the item's own index.
    direct: bool,
    steps: Vec<Step>,
}

/// A part of the body.
enum Step {
    /// An op of each lane.
    Each(OpId),
    /// A load that is the same for all lanes.
    Shared(OpId),
    Loads(Vec<OpId>),
    Stores(Vec<OpId>),
}

/// The lanes being written.
struct Lanes {
    /// What each IR value is in each lane.
    values: Vec<Vec<Option<Value>>>,
    /// Whether each lane has an item; the first one always has.
    inside: Vec<Value>,
    /// Whether the lanes are neighbours, aligned, and all inside; `None` if never.
    vector: Option<Value>,
}

/// Items that a work-item of this kernel takes at a time.
pub(crate) fn items_per_thread(func: &Func, target: Target) -> u32 {
    let items =
        func.region(func.body).ops.iter().find(|&&op| matches!(func.op(op).op, Op::ParFor { level: Level::Item, .. }));
    items.and_then(|&op| plan(func, func.op(op), target)).map_or(1, |p| p.lanes)
}

/// A plan for the items of a kernel: one dimension and straight-line code that cannot raise, for PTX. OpenCL's compilers for CPUs
/// make vectors of work-items themselves: with lanes their code took 2 to 7 times as long.
pub(crate) fn plan(func: &Func, items: &OpData, target: Target) -> Option<Plan> {
    if target != Target::Ptx || items.operands.len() != 1 {
        return None;
    }
    let region = items.regions[0];
    let body = func.region(region);
    let (last, ops) = body.ops.split_last()?;
    if !matches!(func.op(*last).op, Op::Yield | Op::Return) {
        return None;
    }
    let (mut widest, mut work, mut direct) = (0, 0, true);
    let varying = varying(func, region);
    for &id in ops {
        let data = func.op(id);
        work += match data.op {
            Op::MemLoad { unit } | Op::MemStore { unit } => {
                let at = data.operands.len() - 2;
                let &IrType::Mem(d, _) = func.ty(data.operands[at]) else { return None };
                widest = widest.max(d.size());
                let index = data.operands[at + 1];
                let shared = at == 0 && !varying.contains(&index);
                direct &= shared || (unit == Unit::Element && index == body.args[0]);
                1
            }
            Op::Math { function, .. } if function.by() == By::Instruction => 1,
            Op::Math { .. } | Op::Pow | Op::FloorDiv | Op::Mod => {
                if func.ty(data.results[0]).scalar_dtype() == Some(DType::F64) { 64 } else { 16 }
            }
            _ if data.regions.is_empty() && data.op.effects().is_pure() => 1,
            _ => return None,
        };
    }
    let mut lanes = WIDEST / widest.clamp(1, WIDEST);
    while lanes > 1 && lanes * work > MOST_OPS {
        lanes /= 2;
    }
    (widest > 0).then(|| Plan { lanes: lanes as u32, direct: direct && lanes > 1, steps: steps(func, ops, &varying) })
}

/// The index and the results inside that are no constants.
fn varying(func: &Func, region: RegionId) -> BTreeSet<ValueId> {
    let mut out: BTreeSet<ValueId> = func.region(region).args.iter().copied().collect();
    for &id in &func.region(region).ops {
        if !matches!(func.op(id).op, Op::Const { .. }) {
            out.extend(func.op(id).results.iter().copied());
        }
    }
    out
}

/// The body in order, but for constants and for loads before the first store whose index is known at once: they come
/// first, so that all of them are on their way before anything waits.
fn steps(func: &Func, ops: &[OpId], varying: &BTreeSet<ValueId>) -> Vec<Step> {
    let computed: BTreeSet<ValueId> =
        ops.iter().flat_map(|&id| &func.op(id).results).copied().filter(|v| varying.contains(v)).collect();
    let stores = ops.iter().position(|&id| matches!(func.op(id).op, Op::MemStore { .. })).unwrap_or(ops.len());
    let rank = |&(at, id): &(usize, OpId)| match func.op(id).op {
        Op::Const { .. } => 0,
        Op::MemLoad { .. } if at < stores && !computed.contains(&func.op(id).operands[1]) => 1,
        _ => 2,
    };
    let mut order: Vec<(usize, OpId)> = ops.iter().copied().enumerate().collect();
    order.sort_by_key(rank);
    let mut out: Vec<Step> = vec![];
    for (_, id) in order {
        let data = func.op(id);
        match (&data.op, out.last_mut()) {
            (Op::MemLoad { .. }, _) if !varying.contains(&data.operands[1]) => out.push(Step::Shared(id)),
            (Op::MemLoad { .. }, Some(Step::Loads(run))) | (Op::MemStore { .. }, Some(Step::Stores(run))) => {
                run.push(id);
            }
            (Op::MemLoad { .. }, _) => out.push(Step::Loads(vec![id])),
            (Op::MemStore { .. }, _) => out.push(Step::Stores(vec![id])),
            _ => out.push(Step::Each(id)),
        }
    }
    out
}

impl Lowering<'_, '_> {
    /// A loop over items by a plan.
    pub(crate) fn lane_items(&mut self, data: &OpData, plan: &Plan) -> Result<()> {
        let index_type = self.b.type_of(self.operand(data, 0)?);
        let size = self.to_i64(self.operand(data, 0)?);
        let index = self.func.region(data.regions[0]).args[0];
        let aligned = if plan.direct { Some(self.aligned(plan)?) } else { None };
        let ask = |what: Query| self.query(what, 0);
        let (id, local, group, all) =
            (ask(Query::GlobalId), ask(Query::LocalId), ask(Query::LocalSize), ask(Query::GlobalSize));
        let b = &self.b;
        let lanes = b.i64(plan.lanes.into());
        let times = |v: Value| b.op(Opcode::LLVMMul, v, lanes);
        let tile = times(b.op(Opcode::LLVMSub, id, local));
        let (mut start, mut apart) = (local, group);
        if let Some(aligned) = aligned {
            start = b.select(aligned, times(local), start);
            apart = b.select(aligned, b.i64(1), apart);
        }
        let (start, step) = (b.op(Opcode::LLVMAdd, tile, start), times(all));
        self.strided_loop(start, size, step, &[], LoopHints::default(), |this, first, _, _| {
            let mut indices = vec![first];
            for k in 1..plan.lanes as usize {
                indices.push(this.b.add_nsw(indices[k - 1], apart));
            }
            let inside: Vec<Value> = indices.iter().map(|&i| this.b.icmp(IntIs::LLVMIntSLT, i, size)).collect();
            let vector = aligned.map(|a| this.b.op(Opcode::LLVMAnd, a, inside[inside.len() - 1]));
            let mut lanes = Lanes { values: vec![this.values.clone(); indices.len()], inside, vector };
            for (values, &i) in lanes.values.iter_mut().zip(&indices) {
                let wide = this.b.type_of(i) == index_type;
                values[index.index()] = Some(if wide { i } else { this.b.cast(Opcode::LLVMTrunc, i, index_type) });
            }
            for step in &plan.steps {
                this.lane_step(step, &mut lanes)?;
            }
            Ok(Some(vec![]))
        })?;
        Ok(())
    }

    /// Whether every array of a direct plan begins where a vector may.
    fn aligned(&self, plan: &Plan) -> Result<Value> {
        let runs = plan.steps.iter().filter_map(|s| match s {
            Step::Loads(run) | Step::Stores(run) => Some(run),
            _ => None,
        });
        let word = self.b.context.int(64);
        let mut low = self.b.i64(0);
        let mut seen = BTreeSet::new();
        for &id in runs.flatten() {
            let data = self.func.op(id);
            let pointer = data.operands[data.operands.len() - 2];
            if let (&IrType::Mem(d, _), true) = (self.func.ty(pointer), seen.insert(pointer)) {
                let address = self.b.cast(Opcode::LLVMPtrToInt, self.value(pointer)?, word);
                let mask = self.b.i64(u64::from(plan.lanes) * d.size() as u64 - 1);
                low = self.b.op(Opcode::LLVMOr, low, self.b.op(Opcode::LLVMAnd, address, mask));
            }
        }
        Ok(self.b.icmp(IntIs::LLVMIntEQ, low, self.b.i64(0)))
    }

    fn lane_step(&mut self, step: &Step, lanes: &mut Lanes) -> Result<()> {
        match step {
            Step::Each(id) => (0..lanes.values.len()).try_for_each(|k| self.in_lane(lanes, k, *id)),
            Step::Shared(id) => {
                self.in_lane(lanes, 0, *id)?;
                let result = self.func.op(*id).results[0].index();
                let v = lanes.values[0][result];
                lanes.values.iter_mut().for_each(|values| values[result] = v);
                Ok(())
            }
            Step::Loads(run) => self.lane_loads(run, lanes),
            Step::Stores(run) => self.lane_stores(run, lanes),
        }
    }

    /// An op with the values of one lane.
    fn in_lane(&mut self, lanes: &mut Lanes, k: usize, id: OpId) -> Result<()> {
        std::mem::swap(&mut self.values, &mut lanes.values[k]);
        let done = self.op(id);
        std::mem::swap(&mut self.values, &mut lanes.values[k]);
        done.map(drop)
    }

    /// `run` as vector loads, or of each lane that has an item.
    fn lane_loads(&mut self, run: &[OpId], lanes: &mut Lanes) -> Result<()> {
        let results: Vec<ValueId> = run.iter().map(|&id| self.func.op(id).results[0]).collect();
        let f = self.b.function();
        let mut whole = None;
        if let Some(vector) = lanes.vector {
            let (yes, no) = (self.b.block(f, c"vector"), self.b.block(f, c"lanes"));
            self.b.branch(vector, yes, no);
            self.b.at_end(yes);
            let mut loaded = vec![];
            for &id in run {
                loaded.push(self.vector_load(id, lanes)?);
            }
            whole = Some((loaded, self.b.here()));
            self.b.at_end(no);
        }
        for k in 0..lanes.values.len() {
            self.when_inside(lanes, k, |this, lanes| {
                run.iter().try_for_each(|&id| this.in_lane(lanes, k, id))?;
                Ok(results.iter().map(|r| lanes.values[k][r.index()].expect("a load defines its result")).collect())
            })?
            .into_iter()
            .zip(&results)
            .for_each(|(v, r)| lanes.values[k][r.index()] = Some(v));
        }
        let Some((loaded, from)) = whole else { return Ok(()) };
        let (join, here) = (self.b.block(f, c"loaded"), self.b.here());
        self.b.jump(join);
        self.b.at_end(from);
        self.b.jump(join);
        self.b.at_end(join);
        for (r, vector) in results.iter().zip(&loaded) {
            for (k, values) in lanes.values.iter_mut().enumerate() {
                let scalar = values[r.index()].expect("just loaded");
                let phi = self.b.phi(self.b.type_of(scalar));
                self.b.incoming(phi, &[(vector[k], from), (scalar, here)]);
                values[r.index()] = Some(phi);
            }
        }
        Ok(())
    }

    /// `run` as vector stores, or of each lane that has an item.
    fn lane_stores(&mut self, run: &[OpId], lanes: &mut Lanes) -> Result<()> {
        let f = self.b.function();
        let mut join = None;
        if let Some(vector) = lanes.vector {
            let (yes, no) = (self.b.block(f, c"vector"), self.b.block(f, c"lanes"));
            let end = self.b.block(f, c"stored");
            self.b.branch(vector, yes, no);
            self.b.at_end(yes);
            for &id in run {
                self.vector_store(id, lanes)?;
            }
            self.b.jump(end);
            self.b.at_end(no);
            join = Some(end);
        }
        for k in 0..lanes.values.len() {
            self.when_inside(lanes, k, |this, lanes| {
                run.iter().try_for_each(|&id| this.in_lane(lanes, k, id))?;
                Ok(vec![])
            })?;
        }
        if let Some(join) = join {
            self.b.jump(join);
            self.b.at_end(join);
        }
        Ok(())
    }

    /// Writes `body` for a lane that may have no item. Gives its values, which are zeros then.
    fn when_inside(
        &mut self,
        lanes: &mut Lanes,
        k: usize,
        body: impl FnOnce(&mut Self, &mut Lanes) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        if k == 0 {
            return body(self, lanes);
        }
        let f = self.b.function();
        let (inside, join, before) = (self.b.block(f, c"inside"), self.b.block(f, c"next"), self.b.here());
        self.b.branch(lanes.inside[k], inside, join);
        self.b.at_end(inside);
        let values = body(self, lanes)?;
        let from = self.b.here();
        self.b.jump(join);
        self.b.at_end(join);
        let merge = |v: Value| {
            let ty = self.b.type_of(v);
            let phi = self.b.phi(ty);
            self.b.incoming(phi, &[(v, from), (self.b.zero(ty), before)]);
            phi
        };
        Ok(values.into_iter().map(merge).collect())
    }

    /// One load for all lanes; gives each lane's element.
    fn vector_load(&mut self, id: OpId, lanes: &mut Lanes) -> Result<Vec<Value>> {
        let data = self.func.op(id);
        let count = lanes.values.len() as u32;
        std::mem::swap(&mut self.values, &mut lanes.values[0]);
        let address = self.element_address(data, data.operands[0], 0, Unit::Element);
        std::mem::swap(&mut self.values, &mut lanes.values[0]);
        let (p, d, align) = address?;
        let ty = self.b.context.vector(types::in_memory(self.b.context, d), count);
        let all = self.b.load(ty, p, align * count);
        Ok((0..count).map(|k| types::from_memory(&self.b, d, self.b.lane(all, k))).collect())
    }

    /// One store for all lanes.
    fn vector_store(&mut self, id: OpId, lanes: &mut Lanes) -> Result<()> {
        let data = self.func.op(id);
        let count = lanes.values.len() as u32;
        std::mem::swap(&mut self.values, &mut lanes.values[0]);
        let address = self.element_address(data, data.operands[1], 1, Unit::Element);
        std::mem::swap(&mut self.values, &mut lanes.values[0]);
        let (p, d, align) = address?;
        let mut all = self.b.poison(self.b.context.vector(types::in_memory(self.b.context, d), count));
        for (k, values) in lanes.values.iter().enumerate() {
            let v = values[data.operands[0].index()]
                .ok_or_else(|| super::malformed("a stored value is not defined", data.span))?;
            all = self.b.with_lane(all, types::to_memory(&self.b, d, v), k as u32);
        }
        self.b.store(all, p, align * count);
        Ok(())
    }
}
