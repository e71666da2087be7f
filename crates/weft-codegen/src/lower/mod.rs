//! Lowering: our IR at stage `loops` → LLVM IR. One [`Lowering`] writes one LLVM function.
//!
//! Shared by all targets: [`types`], [`scalar`] and [`numpy`] (arithmetic), [`cast`], [`math`], [`memory`], [`control`]. What
//! differs is how a function begins, raises and leaves: [`host`] (with [`parallel`] for its outlined loops) and
//! [`kernel`] (with [`lanes`] for work-items that take several items) say that through [`Frame`].
//!
//! Rules that hold here: no fast-math flag is ever set; a bool is `i1` as a value and a byte in memory; nothing is emitted
//! that could be poison for an input NumPy defines.

pub(crate) mod cast;
pub(crate) mod control;
pub(crate) mod host;
pub(crate) mod kernel;
pub(crate) mod lanes;
pub(crate) mod math;
pub(crate) mod memory;
pub(crate) mod numpy;
pub(crate) mod parallel;
pub(crate) mod scalar;
pub(crate) mod types;

use std::cell::RefCell;

use weft_diag::Span;
use weft_ir::{DType, Func, Op, OpData, OpId, RegionId, Type as IrType, ValueId};

use crate::error::{CodegenError, Result};
use crate::llvm::builder::Builder;
use crate::llvm::module::Module;
use crate::llvm::{Block, Metadata, Value};
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
}

/// How the function being written raises and leaves.
pub(crate) enum Frame {
    /// The specialisation itself: `ctx`, `ret`, and the block that returns 1.
    Entry { ctx: Value, ret: Value, fail: Block },
    /// A chunk of a parallel loop: `ctx`, the block that returns 1, and the iteration's row-major position once known.
    Chunk { ctx: Value, fail: Block, iteration: Value },
    /// A kernel: the error buffer, and where the current work-item ends.
    Kernel { errors: Option<Value>, item: Option<Item> },
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
    /// Groups of the parallel loops around: every memory access belongs to all of them.
    pub(crate) groups: Vec<Metadata>,
}

impl<'m, 'c> Lowering<'m, 'c> {
    pub(crate) fn new(unit: &'m Unit<'m, 'c>, func: &'m Func, b: Builder<'c>, frame: Frame) -> Self {
        let values = vec![None; func.values.len()];
        Lowering { unit, func, b, frame, values, groups: vec![] }
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
        match &data.op {
            Op::Yield => return Ok(Flow::Yield(self.operands(data)?)),
            Op::Return => return self.leave(data),
            Op::Raise { site } => return self.raise(data, *site),
            Op::ScfIf => return self.branch(data),
            Op::ScfFor => self.serial_loop(data)?,
            Op::ParFor { cost } => self.parallel_loop(data, *cost)?,
            Op::SimtItems => self.work_items(data)?,
            Op::SimtLaunch { kernel, dims } => self.launch(data, kernel, *dims)?,
            Op::MemLoad { unit } => self.load(data, *unit)?,
            Op::MemStore { unit } => self.store(data, *unit)?,
            Op::MemAlloc { at } => self.alloc(data, at)?,
            Op::MemRelease => self.release(data)?,
            Op::MemNeed { at, mode, rank } => self.need(data, at, *mode, *rank)?,
            Op::Checked { op, site } => self.checked(data, *op, *site)?,
            Op::Sin | Op::Cos | Op::Exp | Op::Log | Op::Sqrt => {
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
