//! Structured control flow: `scf.if`, loops and blocks with their exits, and the shape that all counted loops share.

use weft_ir::attr::{Const, Unit};
use weft_ir::{DType, Op, OpData, OpId, RegionId, ValueId};

use super::math::math_function;
use super::poll::{Counted, Looks};
use super::{Exit, Flow, Lowering, Target, malformed};
use crate::error::Result;
use crate::llvm::builder::{IntIs, Opcode};
use crate::llvm::metadata::LoopHints;
use crate::llvm::symbols;
use crate::llvm::{Block, Metadata, Type, Value};
use crate::mvec;

/// Values that came to a block from each of the blocks before it.
type Edges = Vec<(Vec<Value>, Block)>;

impl<'m, 'c> Lowering<'m, 'c> {
    /// `scf.if`.
    pub(crate) fn branch(&mut self, data: &OpData) -> Result<Flow> {
        if self.speculated(data)? {
            return Ok(Flow::Next);
        }
        let condition = self.operand(data, 0)?;
        let f = self.b.function();
        let (yes, no, join) = (self.b.block(f, c"then"), self.b.block(f, c"else"), self.b.block(f, c"join"));
        let branch = self.b.branch(condition, yes, no);
        if let [a, b] = [0, 1].map(|i| self.raises(data.regions[i]) || self.only_checks(data.regions[i]))
            && a != b
            && self.unit.target == Target::Native
        {
            self.b.annotate(branch, "prof", self.b.context.branch_weights(!a));
        }
        let mut arms = vec![];
        for (block, &region) in [yes, no].into_iter().zip(&data.regions) {
            self.b.at_end(block);
            if let Some(mut values) = self.region(region)? {
                // Where the condition is the result (`a and b`), it is known: LLVM sees where the next branch on it goes.
                let known = self.b.int(self.b.context.int(1), u64::from(block == yes));
                values.iter_mut().filter(|v| **v == condition).for_each(|v| *v = known);
                arms.push((values, self.b.here()));
                self.b.jump(join);
            }
        }
        self.join(data, join, arms)
    }

    /// Whether a region ends in an exception.
    fn raises(&self, region: RegionId) -> bool {
        let last = self.func.region(region).ops.last();
        last.is_some_and(|&op| matches!(self.func.op(op).op, Op::Raise { .. } | Op::ScfReraise))
    }

    /// Whether a region looks only for what to raise.
    fn only_checks(&self, region: RegionId) -> bool {
        let ops = &self.func.region(region).ops;
        let looks = |&id: &OpId| {
            let data = self.func.op(id);
            let check = data.op == Op::ScfIf && data.regions.iter().any(|&arm| self.raises(arm));
            check || data.op == Op::Yield || data.op.dialect() == "arith"
        };
        self.checks(region) && ops.iter().all(looks)
    }

    /// Whether something in a region raises if a condition holds.
    pub(crate) fn checks(&self, region: RegionId) -> bool {
        let mut found = false;
        self.func.walk_region(region, &mut |id| {
            let data = self.func.op(id);
            found |= data.op == Op::ScfIf && data.regions.iter().any(|&arm| self.raises(arm));
        });
        found
    }

    /// Goes on in `block`, where an op's results come together.
    fn join(&mut self, data: &OpData, block: Block, edges: Edges) -> Result<Flow> {
        self.b.at_end(block);
        if edges.is_empty() {
            self.b.unreachable();
            return Ok(Flow::Left);
        }
        let types = data.results.iter().map(|&v| self.llvm_type(self.ir_type(v), data.span));
        let types = types.collect::<Result<Vec<_>>>()?;
        for (i, v) in self.meet(&types, &edges)?.into_iter().enumerate() {
            self.define(data, i, v);
        }
        Ok(Flow::Next)
    }

    /// The values of these types that come to the start of the current block.
    fn meet(&self, types: &[Type], edges: &Edges) -> Result<Vec<Value>> {
        let mut values = vec![];
        for (i, &ty) in types.iter().enumerate() {
            let from: Option<Vec<_>> = edges.iter().map(|(v, b)| Some((*v.get(i)?, *b))).collect();
            let from = from.ok_or_else(|| malformed("a region is left with too few values", weft_diag::Span::NONE))?;
            let phi = self.b.phi(ty);
            self.b.incoming(phi, &from);
            values.push(phi);
        }
        Ok(values)
    }

    /// `break` and `continue`.
    pub(crate) fn exit(&mut self, data: &OpData, depth: u32, leaves: bool) -> Result<Flow> {
        let (values, here) = (self.operands(data)?, self.b.here());
        let exit = self.exits.iter_mut().rev().nth(depth as usize);
        let exit = exit.ok_or_else(|| malformed("an exit out of nothing", data.span))?;
        let to = if leaves { Some(exit.leave) } else { exit.again };
        let to = to.ok_or_else(|| malformed("`continue` of a block", data.span))?;
        if leaves { &mut exit.left } else { &mut exit.turned }.push((values, here));
        self.b.jump(to);
        Ok(Flow::Left)
    }

    /// `scf.block`.
    pub(crate) fn block(&mut self, data: &OpData) -> Result<Flow> {
        let leave = self.b.block(self.b.function(), c"leave");
        self.exits.push(Exit { leave, left: vec![], again: None, turned: vec![] });
        let end = self.region(data.regions[0])?;
        let mut edges = self.exits.pop().expect("pushed above").left;
        if let Some(values) = end {
            edges.push((values, self.b.here()));
            self.b.jump(leave);
        }
        self.join(data, leave, edges)
    }

    /// `scf.loop`.
    pub(crate) fn endless_loop(&mut self, data: &OpData) -> Result<Flow> {
        if let Some(counted) = self.counted(data) {
            return self.counting_loop(data, &counted);
        }
        let (f, inits) = (self.b.function(), self.operands(data)?);
        let location = self.location();
        let (top, latch, leave) = (self.b.block(f, c"again"), self.b.block(f, c"latch"), self.b.block(f, c"leave"));
        let before = self.b.here();
        self.b.jump(top);
        self.b.at_end(top);
        let types: Vec<Type> = inits.iter().map(|&v| self.b.type_of(v)).collect();
        let carried: Vec<Value> = types.iter().map(|&ty| self.b.phi(ty)).collect();
        let region = data.regions[0];
        self.bind_all(&self.func.region(region).args.clone(), &carried);
        self.exits.push(Exit { leave, left: vec![], again: Some(latch), turned: vec![] });
        let end = self.region(region)?;
        let Exit { left, mut turned, .. } = self.exits.pop().expect("pushed above");
        if let Some(values) = end {
            turned.push((values, self.b.here()));
            self.b.jump(latch);
        }
        self.b.at_end(latch);
        let mut edges = vec![(inits, before)];
        if turned.is_empty() {
            self.b.unreachable();
        } else {
            let next = self.meet(&types, &turned)?;
            self.poll(data.span)?;
            edges.push((next, self.b.here()));
            let back = self.b.jump(top);
            if location.is_some() {
                let hints = LoopHints { location, ..LoopHints::default() };
                self.b.annotate(back, "llvm.loop", self.b.context.loop_node(hints));
            }
        }
        for (i, &phi) in carried.iter().enumerate() {
            let from: Vec<_> = edges.iter().map(|(v, b)| (v[i], *b)).collect();
            self.b.incoming(phi, &from);
        }
        self.join(data, leave, left)
    }

    /// `scf.loop` that counts: an inner loop counts to the end of a strip, as a loop over a range does.
    fn counting_loop(&mut self, data: &OpData, counted: &Counted) -> Result<Flow> {
        let (f, inits) = (self.b.function(), self.operands(data)?);
        let location = self.location();
        let region = data.regions[0];
        let (args, ops) = (self.func.region(region).args.clone(), self.func.region(region).ops.clone());
        let (compare, branch) = (self.func.op(ops[counted.at]), self.func.op(ops[counted.at + 1]));
        let bound = self.value(counted.bound)?;
        let [strip, top, body, over, again, leave] =
            [c"strip", c"turn", c"body", c"over", c"again", c"leave"].map(|name| self.b.block(f, name));
        let before = self.b.here();
        self.b.jump(strip);
        self.b.at_end(strip);
        let types: Vec<Type> = inits.iter().map(|&v| self.b.type_of(v)).collect();
        let first: Vec<Value> = types.iter().map(|&ty| self.b.phi(ty)).collect();
        let end = self.bound_of_strip(first[counted.counter], bound, counted.span);
        self.b.jump(top);
        self.b.at_end(top);
        let carried: Vec<Value> = types.iter().map(|&ty| self.b.phi(ty)).collect();
        self.bind_all(&args, &carried);
        for &id in &ops[..counted.at] {
            self.op(id)?;
        }
        let goes_on = self.b.icmp(counted.is, carried[counted.counter], end);
        self.define(compare, 0, goes_on);
        self.b.branch(goes_on, body, over);
        self.b.at_end(over);
        let left = self.func.op(self.func.region(branch.regions[1]).ops[0]);
        let left = (self.operands(left)?, self.b.here());
        let more = self.b.icmp(counted.is, carried[counted.counter], bound);
        let more = self.b.branch(more, again, leave);
        self.b.annotate(more, "prof", self.b.context.branch_weights(false));
        self.b.at_end(again);
        self.poll(data.span)?;
        for ((&phi, &init), &v) in first.iter().zip(&inits).zip(&carried) {
            self.b.incoming(phi, &[(init, before), (v, self.b.here())]);
        }
        self.b.jump(strip);
        self.b.at_end(body);
        let mut next = None;
        for &id in &ops[counted.at + 2..] {
            match self.op(id)? {
                Flow::Next => {}
                Flow::Yield(values) => next = Some(values),
                Flow::Left => break,
            }
        }
        let here = self.b.here();
        if let Some(next) = &next {
            let back = self.b.jump(top);
            if location.is_some() {
                let hints = LoopHints { location, ..LoopHints::default() };
                self.b.annotate(back, "llvm.loop", self.b.context.loop_node(hints));
            }
            for ((&phi, &v), &next) in carried.iter().zip(&first).zip(next) {
                self.b.incoming(phi, &[(v, strip), (next, here)]);
            }
        } else {
            for (&phi, &v) in carried.iter().zip(&first) {
                self.b.incoming(phi, &[(v, strip)]);
            }
        }
        self.join(data, leave, vec![left])
    }

    /// `scf.for`: lo, hi, step, carried….
    pub(crate) fn serial_loop(&mut self, data: &OpData) -> Result<()> {
        let (lo, hi, step) = (self.operand(data, 0)?, self.operand(data, 1)?, self.operand(data, 2)?);
        let inits = self.operands(data)?.split_off(3);
        let region = data.regions[0];
        let args = self.func.region(region).args.clone();
        if args.len() != inits.len() + 1 {
            return Err(malformed("`scf.for` carries another number of values than its region takes", data.span));
        }
        let ty = self.b.type_of(lo);
        // Float accumulators must keep their order, and forcing a width would let LLVM change it: only ask for masks.
        // A loop that checks, and begins where another ended, is what is left of that one (`loops/split.rs`).
        let rest = |o: &OpData| o.op == Op::ScfFor && o.operands[1] == data.operands[0];
        let by = self.constant_operand(data.operands[2]);
        let scalar = self.checks(region) && self.func.ops.iter().any(rest);
        let unrolled = by.is_none() && self.only_moves(region);
        let predicate = !scalar && self.vector_math(region).is_some();
        let rest_is_short = self.takes_neighbours(region);
        let hints = LoopHints { predicate, scalar, unrolled, rest_is_short, ..LoopHints::default() };
        let by_one = by == Some(1);
        let one = self.b.int(ty, 1);
        let looks = self.looks(data);
        let results = if by_one {
            self.any_loop(lo, hi, one, &inits, hints, true, looks, |this, i, carried, _| {
                this.bind(args[0], i);
                this.bind_all(&args[1..], carried);
                this.region(region)
            })?
        } else {
            let count = self.trip_count(ty, lo, hi, step);
            self.any_loop(self.b.zero(ty), count, one, &inits, hints, true, looks, |this, k, carried, _| {
                let offset = this.b.op(Opcode::LLVMMul, k, step);
                let i = this.b.op(Opcode::LLVMAdd, lo, offset);
                this.bind(args[0], i);
                this.bind_all(&args[1..], carried);
                this.region(region)
            })?
        };
        for (i, v) in results.into_iter().enumerate() {
            self.define(data, i, v);
        }
        Ok(())
    }

    /// Number of values in `range(lo, hi, step)`.
    fn trip_count(&self, ty: Type, lo: Value, hi: Value, step: Value) -> Value {
        let b = &self.b;
        let (zero, one) = (b.zero(ty), b.int(ty, 1));
        let up = b.icmp(IntIs::LLVMIntSGT, step, zero);
        let distance = b.select(up, b.op(Opcode::LLVMSub, hi, lo), b.op(Opcode::LLVMSub, lo, hi));
        let stride = b.select(up, step, b.op(Opcode::LLVMSub, zero, step));
        // `range` refuses a step of 0 before this; 1 keeps the division defined.
        let stride = b.select(b.icmp(IntIs::LLVMIntEQ, stride, zero), one, stride);
        let nonempty = b.select(up, b.icmp(IntIs::LLVMIntSGT, hi, lo), b.icmp(IntIs::LLVMIntSGT, lo, hi));
        let last = b.op(Opcode::LLVMUDiv, b.op(Opcode::LLVMSub, distance, one), stride);
        b.select(nonempty, b.op(Opcode::LLVMAdd, last, one), zero)
    }

    /// `for i in lo..hi` with carried values, tested at the bottom behind a guard: the shape LLVM's loop passes want.
    ///
    /// `body` gives the next carried values, or `None` if it never reaches its end. Returns the carried values at the end.
    pub(crate) fn counted_loop(
        &mut self,
        lo: Value,
        hi: Value,
        inits: &[Value],
        hints: LoopHints,
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Result<Option<Vec<Value>>>,
    ) -> Result<Vec<Value>> {
        self.looking_loop(lo, hi, inits, hints, Looks::Never, body)
    }

    /// As [`Lowering::counted_loop`], and can be ended.
    pub(crate) fn looking_loop(
        &mut self,
        lo: Value,
        hi: Value,
        inits: &[Value],
        hints: LoopHints,
        looks: Looks,
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Result<Option<Vec<Value>>>,
    ) -> Result<Vec<Value>> {
        let one = self.b.int(self.b.type_of(lo), 1);
        self.any_loop(lo, hi, one, inits, hints, false, looks, |this, i, carried, _| body(this, i, carried))
    }

    /// As [`Lowering::counted_loop`], advancing by `step` > 0. `body` also gets the block that ends an iteration early,
    /// which may be used only when nothing is carried.
    pub(crate) fn strided_loop(
        &mut self,
        lo: Value,
        hi: Value,
        step: Value,
        inits: &[Value],
        hints: LoopHints,
        body: impl FnOnce(&mut Self, Value, &[Value], Block) -> Result<Option<Vec<Value>>>,
    ) -> Result<Vec<Value>> {
        self.any_loop(lo, hi, step, inits, hints, false, Looks::Never, body)
    }

    /// As [`Lowering::strided_loop`]; `breakable`: `break` and `continue` inside count it. Only loops with a step of 1 have strips.
    #[allow(clippy::too_many_arguments)]
    fn any_loop(
        &mut self,
        lo: Value,
        hi: Value,
        step: Value,
        inits: &[Value],
        hints: LoopHints,
        breakable: bool,
        looks: Looks,
        body: impl FnOnce(&mut Self, Value, &[Value], Block) -> Result<Option<Vec<Value>>>,
    ) -> Result<Vec<Value>> {
        let hints = LoopHints { location: self.location(), ..hints };
        let (f, span) = (self.b.function(), self.span);
        let (top, latch, exit) = (self.b.block(f, c"loop"), self.b.block(f, c"latch"), self.b.block(f, c"exit"));
        let types: Vec<Type> = inits.iter().map(|&v| self.b.type_of(v)).collect();
        let guard = self.b.here();
        let begins = self.b.icmp(IntIs::LLVMIntSLT, lo, hi);
        // A loop in strips stands in another one, whose turn is a strip. Both are tested at the bottom.
        let (whole, mut before, mut over, mut firsts) = ((lo, hi, inits), guard, exit, vec![]);
        let (mut lo, mut hi) = (lo, hi);
        if let Looks::Strips(turns, checks) = looks {
            (before, over) = (self.b.block(f, c"strip"), self.b.block(f, c"over"));
            self.b.branch(begins, before, exit);
            self.b.at_end(before);
            lo = self.b.phi(self.b.type_of(lo));
            firsts = types.iter().map(|&ty| self.b.phi(ty)).collect();
            hi = self.end_of_strip(lo, hi, turns, checks);
            self.b.jump(top);
        } else {
            self.b.branch(begins, top, exit);
        }
        let inits = if firsts.is_empty() { inits } else { &firsts };
        self.b.at_end(top);
        let i = self.b.phi(self.b.type_of(lo));
        let carried: Vec<Value> = types.iter().map(|&ty| self.b.phi(ty)).collect();
        if breakable {
            self.exits.push(Exit { leave: exit, left: vec![], again: Some(latch), turned: vec![] });
        }
        let end = body(self, i, &carried, latch)?;
        let (mut left, mut turned) = (vec![], vec![]);
        if breakable {
            Exit { left, turned, .. } = self.exits.pop().expect("pushed above");
        }
        if let Some(values) = end {
            turned.push((values, self.b.here()));
            self.b.jump(latch);
        }
        self.b.at_end(latch);
        let next = match &turned[..] {
            // Nothing comes here, or nothing that carries a value.
            [] => carried.clone(),
            [(values, _)] if values.len() >= inits.len() => values[..inits.len()].to_vec(),
            _ => self.meet(&types, &turned)?,
        };
        if looks == Looks::Turns {
            self.poll(span)?;
        }
        let latch = self.b.here();
        let following = self.b.add_nsw(i, step);
        // Of a strip that is as long as LLVM sees, the end is met.
        let goes_on = if matches!(looks, Looks::Strips(_, false)) { IntIs::LLVMIntNE } else { IntIs::LLVMIntSLT };
        let back = self.b.branch(self.b.icmp(goes_on, following, hi), top, over);
        self.b.annotate(back, "llvm.loop", self.b.context.loop_node(hints));
        self.b.incoming(i, &[(lo, before), (following, latch)]);
        for ((&phi, &init), &v) in carried.iter().zip(inits).zip(&next) {
            self.b.incoming(phi, &[(init, before), (v, latch)]);
        }
        left.push((whole.2.to_vec(), guard));
        if let Looks::Strips(..) = looks {
            self.b.at_end(over);
            let again = self.b.block(f, c"again");
            let more = self.b.branch(self.b.icmp(IntIs::LLVMIntSLT, hi, whole.1), again, exit);
            self.b.annotate(more, "prof", self.b.context.branch_weights(false));
            self.b.at_end(again);
            self.poll(span)?;
            let again = self.b.here();
            self.b.jump(before);
            self.b.incoming(lo, &[(whole.0, guard), (hi, again)]);
            for ((&phi, &init), &v) in firsts.iter().zip(whole.2).zip(&next) {
                self.b.incoming(phi, &[(init, guard), (v, again)]);
            }
            left.push((next, over));
        } else {
            left.push((next, latch));
        }
        self.b.at_end(exit);
        self.meet(&types, &left)
    }

    /// Where the op being written stands, if loops are to say so.
    fn location(&self) -> Option<Metadata> {
        Some(self.b.context.location(self.unit.scope?, self.span))
    }

    /// What to tell the vectoriser about a parallel loop over this region.
    pub(crate) fn parallel_hints(&self, region: RegionId, group: Metadata) -> LoopHints {
        match self.vector_math(region) {
            Some(bits) if self.unit.target == Target::Native => {
                let parallel = Some(group);
                LoopHints { width: mvec::lanes(bits), predicate: true, parallel, ..LoopHints::default() }
            }
            None if self.stores_some_complex(region) => {
                LoopHints { scalar: true, parallel: Some(group), ..LoopHints::default() }
            }
            _ => LoopHints { parallel: Some(group), ..LoopHints::default() },
        }
    }

    /// Whether all arrays of a region are known to be without gaps. Of others, LLVM makes vectors for the case that they are,
    /// and the loop that it takes for the rest is the loop.
    fn takes_neighbours(&self, region: RegionId) -> bool {
        let mut all = true;
        self.func.walk_region(region, &mut |id| {
            all &= !matches!(self.func.op(id).op, Op::MemLoad { unit: Unit::Byte } | Op::MemStore { unit: Unit::Byte });
        });
        all
    }

    /// Whether a region only moves elements from one place to another, or computes integers. Where elements are not neighbours,
    /// vectors of them are put together and taken apart one by one, which LLVM takes for a gain.
    fn only_moves(&self, region: RegionId) -> bool {
        let mut moves = true;
        self.func.walk_region(region, &mut |id| {
            let data = self.func.op(id);
            let number = |&v: &ValueId| self.func.ty(v).scalar_dtype().is_some_and(DType::is_int);
            moves &= match data.op {
                Op::Const { .. } | Op::MemLoad { .. } | Op::MemStore { .. } | Op::Yield => true,
                _ => data.op.dialect() == "arith" && data.results.iter().all(number),
            };
        });
        moves
    }

    /// Whether complex numbers are stored under a condition: in vectors that takes two scatters, which cost more than a
    /// branch for each number, and LLVM does not know it.
    fn stores_some_complex(&self, region: RegionId) -> bool {
        let mut found = false;
        for branch in self.func.region(region).ops.iter().map(|&id| self.func.op(id)).filter(|o| o.op == Op::ScfIf) {
            for &r in &branch.regions {
                self.func.walk_region(r, &mut |id| {
                    let data = self.func.op(id);
                    let complex = |&v: &ValueId| self.func.ty(v).scalar_dtype().is_some_and(DType::is_complex);
                    found |= matches!(data.op, Op::MemStore { .. }) && data.operands.first().is_some_and(complex);
                });
            }
        }
        found
    }

    /// The widest float that a vector routine is called on in an innermost loop over this region, if any.
    fn vector_math(&self, region: RegionId) -> Option<u32> {
        if self.unit.target != Target::Native {
            return None;
        }
        let mut widest = None;
        let mut innermost = true;
        self.func.walk_region(region, &mut |id| {
            let data = self.func.op(id);
            innermost &= !matches!(data.op, Op::ScfFor | Op::ScfLoop | Op::ParFor { .. } | Op::ParBlocks { .. });
            if math_function(&data.op).is_some() {
                match data.results.first().map(|&v| self.func.ty(v).scalar_dtype()) {
                    Some(Some(DType::F64)) => widest = Some(64),
                    Some(Some(DType::F32 | DType::F16)) => widest = widest.or(Some(32)),
                    _ => {}
                }
            }
        });
        // The routines are asked for last: the first time they are looked up in the system's libraries.
        widest.filter(|_| innermost && symbols::has_libmvec())
    }

    /// The integer that a value is, if an `arith.const` defines it.
    pub(crate) fn constant_operand(&self, v: ValueId) -> Option<i128> {
        self.func.ops.iter().find(|o| o.results.first() == Some(&v)).and_then(|o| match o.op {
            Op::Const { value: Const::Int(n) } => Some(n),
            _ => None,
        })
    }

    /// Binds region arguments to values.
    pub(crate) fn bind_all(&mut self, ids: &[ValueId], values: &[Value]) {
        for (&id, &v) in ids.iter().zip(values) {
            self.bind(id, v);
        }
    }
}
