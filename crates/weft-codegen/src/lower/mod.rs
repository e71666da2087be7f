//! Lowering: our IR at stage `loops` → LLVM IR. One [`Lowering`] writes one LLVM function.
//!
//! Shared by all targets: [`types`], [`scalar`], [`complex`] and [`numpy`] (arithmetic), [`cast`], [`math`], [`memory`], [`control`] (with
//! [`speculate`] for branches without jumps). What
//! differs is how a function begins, raises and leaves: [`host`] (with [`call`] for functions that call each other, [`handle`]
//! for handlers and variables, [`parallel`] for outlined loops, and [`poll`] for where it can be ended) and [`kernel`] (with [`lanes`] for work-items that take several items) say that through [`Frame`]. [`levels`] has groups and their items for all of them.
//!
//! Rules that hold here: no fast-math flag is ever set; a bool is `i1` as a value and a byte in memory; nothing is emitted
//! that could be poison for an input NumPy defines.

pub(crate) mod call;
pub(crate) mod cast;
pub(crate) mod complex;
pub(crate) mod control;
pub(crate) mod handle;
pub(crate) mod host;
pub(crate) mod kernel;
pub(crate) mod lanes;
pub(crate) mod levels;
mod list;
pub(crate) mod math;
pub(crate) mod memory;
pub(crate) mod numpy;
pub(crate) mod parallel;
pub(crate) mod poll;
mod routine;
pub(crate) mod scalar;
mod speculate;
pub(crate) mod types;

use std::cell::RefCell;
use std::mem::offset_of;

use weft_diag::Span;
use weft_ir::{DType, Func, Op, OpData, OpId, RegionId, Type as IrType, ValueId};

use crate::abi::RuntimeTable;
use crate::error::{CodegenError, Result};
use crate::llvm::builder::Builder;
use crate::llvm::module::Module;
use crate::llvm::{Block, Metadata, Type, Value};
use crate::mvec::Calls;

/// Which machine the code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Native,
    Ptx,
    SpirV,
}

impl Target {
    /// In a message.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Target::Native => "the host",
            Target::Ptx => "CUDA devices",
            Target::SpirV => "OpenCL devices",
        }
    }
}

/// What the functions of one LLVM module share.
pub(crate) struct Unit<'m, 'c> {
    pub(crate) ir: &'m weft_ir::Module,
    pub(crate) module: &'m Module<'c>,
    pub(crate) target: Target,
    /// Math routines called so far (native).
    pub(crate) math: RefCell<Calls>,
    /// What loops stand in, where each is to say its place in the source.
    pub(crate) scope: Option<Metadata>,
}

impl Unit<'_, '_> {
    /// Whether a host function has a loop that the user wrote.
    pub(crate) fn has_serial_loops(&self) -> bool {
        self.ir.funcs.iter().filter(|f| !f.kernel).any(|f| {
            let mut found = false;
            f.walk(&mut |id| found |= matches!(f.op(id).op, Op::ScfLoop | Op::ScfFor));
            found
        })
    }
}

impl Unit<'_, '_> {
    /// Whether a host function has an innermost loop inside another that carries a float from turn to turn.
    pub(crate) fn has_inner_sums(&self) -> bool {
        self.ir.funcs.iter().any(|f| !f.kernel && has_inner_sum(f, f.body, false))
    }
}

fn is_loop(op: &Op) -> bool {
    matches!(op, Op::ScfFor | Op::ScfLoop)
}

fn has_inner_sum(f: &Func, region: RegionId, inside: bool) -> bool {
    f.region(region).ops.iter().any(|&id| {
        let data = f.op(id);
        let float = |&v: &ValueId| f.ty(v).scalar_dtype().is_some_and(DType::is_float);
        let mut innermost = true;
        data.regions.iter().for_each(|&r| f.walk_region(r, &mut |inner| innermost &= !is_loop(&f.op(inner).op)));
        let sums = inside && data.op == Op::ScfFor && innermost && data.results.iter().any(float);
        sums || data.regions.iter().any(|&r| has_inner_sum(f, r, inside || is_loop(&data.op)))
    })
}

/// How the function being written raises and leaves. `fail` is where a raise goes: the handler of the `scf.try` around, or
/// the block that returns 1.
pub(crate) enum Frame {
    /// The specialisation itself, or a function it calls.
    Entry { ctx: Value, ret: Ret, fail: Block },
    /// A chunk of a parallel loop: `ctx`, and the iteration's row-major position once known.
    Chunk { ctx: Value, fail: Block, iteration: Value },
    /// A kernel: the error buffer, and where the current work-item ends.
    Kernel { errors: Option<Value>, item: Option<Item> },
}

/// Where a function's results go.
#[derive(Clone)]
pub(crate) enum Ret {
    /// To 8-byte slots from this address on.
    Slots(Value),
    /// They are given, behind the status, as a value of this type.
    Values(Type),
}

/// A loop or block around the op being written, for `break` and `continue`.
pub(crate) struct Exit {
    /// Where `break` goes, and with what it came there from which blocks.
    pub(crate) leave: Block,
    pub(crate) left: Vec<(Vec<Value>, Block)>,
    /// The same of `continue`; a block has none.
    pub(crate) again: Option<Block>,
    pub(crate) turned: Vec<(Vec<Value>, Block)>,
}

/// The work-item being written.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    /// Its row-major position.
    pub(crate) position: Value,
    /// Where it ends.
    pub(crate) done: Block,
}

/// Writes one LLVM function from (a region of) one IR function.
pub(crate) struct Lowering<'m, 'c> {
    pub(crate) unit: &'m Unit<'m, 'c>,
    pub(crate) func: &'m Func,
    pub(crate) b: Builder<'c>,
    pub(crate) frame: Frame,
    values: Vec<Option<Value>>,
    /// The group whose items are being written.
    pub(crate) group: Option<levels::Group>,
    /// Access groups of the parallel loops around: every memory access belongs to all of them.
    pub(crate) groups: Vec<Metadata>,
    /// Pointers that stand for others, whose first elements are so far on.
    pub(crate) shifted: Vec<(ValueId, Value)>,
    /// The loops and blocks around, innermost last.
    pub(crate) exits: Vec<Exit>,
    /// Exceptions being handled, innermost last: the address of each record.
    pub(crate) handled: Vec<Value>,
    /// The op being written.
    pub(crate) span: Span,
    /// Whether what is written here may be left where it looks for signals.
    pub(crate) ends: bool,
    /// How many `scf.try` there are around.
    pub(crate) tries: u32,
    /// Where it looks, once it does.
    pub(crate) signal: Option<Value>,
}

impl<'m, 'c> Lowering<'m, 'c> {
    pub(crate) fn new(unit: &'m Unit<'m, 'c>, func: &'m Func, b: Builder<'c>, frame: Frame) -> Self {
        let values = vec![None; func.values.len()];
        Lowering {
            unit,
            func,
            b,
            frame,
            values,
            group: None,
            groups: vec![],
            shifted: vec![],
            exits: vec![],
            handled: vec![],
            span: Span::NONE,
            ends: true,
            tries: 0,
            signal: None,
        }
    }

    /// Lowers a region's ops. Gives the values it yields, or `None` if control never reaches its end.
    pub(crate) fn region(&mut self, region: RegionId) -> Result<Option<Vec<Value>>> {
        for &id in &self.func.region(region).ops {
            match self.op(id)? {
                Flow::Next => {}
                Flow::Yield(values) => return Ok(Some(values)),
                Flow::Left => return Ok(None),
            }
        }
        Ok(Some(vec![]))
    }

    /// Lowers one op.
    pub(crate) fn op(&mut self, id: OpId) -> Result<Flow> {
        let data = self.func.op(id);
        self.span = data.span;
        match &data.op {
            Op::Yield => return Ok(Flow::Yield(self.operands(data)?)),
            Op::Return => return self.leave(data),
            Op::Raise { site } => return self.raise(data, *site),
            Op::ScfIf => return self.branch(data),
            Op::ScfFor => self.serial_loop(data)?,
            Op::ScfLoop => return self.endless_loop(data),
            Op::ScfBlock => return self.block(data),
            Op::Break { depth } => return self.exit(data, *depth, true),
            Op::Continue { depth } => return self.exit(data, *depth, false),
            Op::ScfTry => return self.guarded(data),
            Op::ScfCatch { classes } => self.catch(data, classes)?,
            Op::ScfReraise => return self.reraise(data),
            Op::CellNew => self.cell(data)?,
            Op::CellGet => self.cell_get(data)?,
            Op::CellSet => self.cell_set(data)?,
            Op::Call { function } => self.call(data, function)?,
            Op::ParFor { cost, level } => self.parallel(data, *cost, *level)?,
            Op::ParBlocks { cost } => self.parallel_blocks(data, *cost)?,
            Op::SimtLaunch { kernel, dims } => self.launch(data, kernel, *dims)?,
            Op::MemLoad { unit } => self.load(data, *unit)?,
            Op::MemStore { unit } => self.store(data, *unit)?,
            Op::MemAtomic { rmw, unit } => self.atomic(data, *rmw, *unit)?,
            Op::MemAlloc { at } => self.alloc(data, at)?,
            Op::MemZero => self.clear(data)?,
            Op::MemNull => self.null(data)?,
            Op::MemOffset => self.offset(data)?,
            Op::MemAddress => self.address(data)?,
            Op::MemViewOwner { number } => self.view_owner(data, *number)?,
            Op::Print { site } => self.print(data, *site)?,
            Op::MemRetain => self.count(data, offset_of!(RuntimeTable, retain))?,
            Op::MemRelease => self.count(data, offset_of!(RuntimeTable, release))?,
            Op::MemPointer => self.pointer(data)?,
            Op::MemShare => self.share(data)?,
            Op::MemKeep => self.keep(data)?,
            Op::MemDrop => self.count(data, offset_of!(RuntimeTable, drop_kept))?,
            Op::MemList { words, owners } => self.new_list(data, *words, owners)?,
            Op::MemReserve => self.reserve(data)?,
            Op::MemScan { fold } => self.scan(data, *fold)?,
            Op::MemReduce { fold, order } => self.reduce(data, *fold, *order)?,
            Op::SimtBarrier { fence } => self.explicit_barrier(data, *fence)?,
            Op::MemLocal { bytes } => self.local(data, *bytes)?,
            Op::MemStack { bytes } => {
                let buffer = self.b.stack(self.b.context.array(self.b.context.int(8), u64::from(*bytes)), 64);
                self.define(data, 0, buffer);
            }
            Op::MemCopy { rank } => self.copy(data, *rank)?,
            Op::MemCount => self.count_true(data)?,
            Op::MemCompress { back } => self.compress(data, *back)?,
            Op::MemMatmul | Op::MemProduct => self.matmul(data)?,
            Op::MemBothSides => self.both_sides(data)?,
            Op::MemDot => self.dot(data)?,
            Op::MemCholesky | Op::MemSolve => self.linalg(data)?,
            Op::MemNeed { at, mode, rank } => self.need(data, at, *mode, *rank)?,
            Op::Checked { op, site } => self.checked(data, *op, *site)?,
            Op::Math { .. } => {
                let v = self.math(data)?;
                self.define(data, 0, v);
            }
            _ if matches!(data.op.dialect(), "arith") => {
                let v = self.arith(data)?;
                self.define(data, 0, v);
            }
            other => return Err(malformed(format!("`{}` is not an op of stage loops", other.name()), data.span)),
        }
        Ok(Flow::Next)
    }

    /// The LLVM value of an IR value.
    pub(crate) fn value(&self, id: ValueId) -> Result<Value> {
        let known = self.values.get(id.index()).copied().flatten();
        known.ok_or_else(|| malformed(format!("{id:?} is used before it is defined"), Span::NONE))
    }

    /// Operand `i` of an op.
    pub(crate) fn operand(&self, data: &OpData, i: usize) -> Result<Value> {
        match data.operands.get(i) {
            Some(&id) => self.value(id),
            None => Err(malformed(format!("`{}` lacks operand {i}", data.op.name()), data.span)),
        }
    }

    /// All operands of an op.
    pub(crate) fn operands(&self, data: &OpData) -> Result<Vec<Value>> {
        data.operands.iter().map(|&v| self.value(v)).collect()
    }

    /// Says what result `i` of an op is.
    pub(crate) fn define(&mut self, data: &OpData, i: usize, v: Value) {
        self.bind(data.results[i], v);
    }

    /// Says what an IR value is.
    pub(crate) fn bind(&mut self, id: ValueId, v: Value) {
        self.values[id.index()] = Some(v);
    }

    /// The dtype of a scalar IR value.
    pub(crate) fn dtype(&self, id: ValueId, span: Span) -> Result<DType> {
        let ty = self.func.ty(id);
        ty.scalar_dtype().ok_or_else(|| malformed(format!("a scalar was expected, not {ty}"), span))
    }

    /// The refusal of an op for want of an instruction or routine.
    pub(crate) fn unsupported(&self, data: &OpData, dtype: DType) -> CodegenError {
        let op = format!("{} : {}", data.op.name(), dtype.name());
        CodegenError::Unsupported { op, target: self.unit.target.name(), span: data.span }
    }

    /// The type of an IR value.
    pub(crate) fn ir_type(&self, id: ValueId) -> &'m IrType {
        self.func.ty(id)
    }
}

/// Where control is after an op.
pub(crate) enum Flow {
    Next,
    Yield(Vec<Value>),
    Left,
}

/// An error in the IR.
pub(crate) fn malformed(message: impl Into<String>, span: Span) -> CodegenError {
    CodegenError::Malformed { message: message.into(), span }
}
