//! Kernels: a function whose body is a `par.for`, run by every work-item of a launch.
//!
//! Here over items; [`levels`] has loops over groups. Each work-item takes items in a grid-stride loop, one at a time or several ([`lanes`]), so any launch covers any size.
//! The last dimension is the fastest: `tid.x`, OpenCL's dimension 0; the one before it is y; all others together are z. A
//! raise writes to the error buffer, a hidden last parameter, and ends the item.

use weft_diag::Span;
use weft_ir::{DType, Func, Op, OpData};

use super::{Frame, Item, Lowering, Target, Unit, lanes, levels, malformed, types};
use crate::abi::device_error;
use crate::error::{CodegenError, Result};
use crate::llvm::Value;
use crate::llvm::builder::{Builder, IntIs, Opcode, Rmw};
use crate::llvm::metadata::LoopHints;
use crate::llvm::module::{Linkage, Place};
use crate::{ptx, spirv};

/// A field of a kernel's packed arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgField {
    /// Byte offset in the buffer.
    pub offset: u32,
    /// Bytes: 1, 4 or 8.
    pub size: u32,
    /// A device address.
    pub is_pointer: bool,
}

/// A kernel of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// Its entry point in PTX or SPIR-V.
    pub name: String,
    /// Its parameters in order, each at its natural alignment: CUDA's own layout, so the buffer can be passed whole.
    pub fields: Vec<ArgField>,
    /// Bytes of all fields.
    pub bytes: u32,
    /// Whether the last field is the address of an error buffer ([`crate::abi::device_error`]).
    pub may_raise: bool,
    /// Items along x that a work-item takes at a time: a launch needs so many times fewer work-items.
    pub items_per_thread: u32,
    /// Work-items of a work-group; 0 where the launch chooses.
    pub group: u32,
}

/// The layout of kernel number `index` of a module.
pub(crate) fn kernel_info(func: &Func, index: usize, target: Target) -> KernelInfo {
    let mut may_raise = false;
    func.walk(&mut |id| may_raise |= matches!(func.op(id).op, Op::Raise { .. } | Op::Checked { .. }));
    let mut fields = vec![];
    let mut at = 0u32;
    let mut put = |size: u32, is_pointer: bool| {
        at = at.next_multiple_of(size);
        fields.push(ArgField { offset: at, size, is_pointer });
        at += size;
    };
    for &p in func.params() {
        let ty = func.ty(p);
        put(types::argument_size(ty), matches!(ty, weft_ir::Type::Mem(..)));
    }
    if may_raise {
        put(8, true);
    }
    let plain: String = func.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let items_per_thread = lanes::items_per_thread(func, target);
    KernelInfo {
        name: format!("weft_{index}_{plain}"),
        fields,
        bytes: at,
        may_raise,
        items_per_thread,
        group: levels::group_size(func),
    }
}

/// Writes a kernel.
pub(crate) fn write_kernel(unit: &Unit, func: &Func, info: &KernelInfo) -> Result<()> {
    refuse_dtypes(unit, func)?;
    let cx = unit.module.context;
    let mut params = vec![];
    for &p in func.params() {
        params.push(match func.ty(p).scalar_dtype() {
            Some(d) => types::in_memory(cx, d),
            None => types::value(cx, unit.target, func.ty(p), Span::NONE)?,
        });
    }
    if info.may_raise {
        params.push(cx.ptr(1));
    }
    let f = unit.module.function(&info.name, cx.function(cx.void(), &params), Linkage::External);
    unit.module.attribute(f, Place::Function, "nounwind", 0);
    unit.module.convention(f, if unit.target == Target::Ptx { ptx::KERNEL } else { spirv::KERNEL });
    if info.group > 0 && unit.target == Target::Ptx {
        unit.module.text_attribute(f, "nvvm.reqntid", &format!("{},1,1", info.group));
    }
    let b = Builder::new(cx);
    b.at_end(b.block(f, c"entry"));
    let errors = info.may_raise.then(|| b.param(f, params.len() as u32 - 1));
    let mut this = Lowering::new(unit, func, b, Frame::Kernel { errors, item: None });
    for (k, &p) in func.params().iter().enumerate() {
        let v = this.b.param(f, k as u32);
        let v = func.ty(p).scalar_dtype().map_or(v, |d| types::from_memory(&this.b, d, v));
        this.bind(p, v);
    }
    if this.region(func.body)?.is_some() {
        this.b.ret(None);
    }
    Ok(())
}

/// Refuses what kernels do not compute with: complex numbers, and halves where the device need not have them.
fn refuse_dtypes(unit: &Unit, func: &Func) -> Result<()> {
    let refused = |d: DType| d.is_complex() || (d == DType::F16 && unit.target == Target::SpirV);
    let found = func.values.iter().filter_map(|v| match &v.ty {
        weft_ir::Type::Mem(d, _) => Some(*d),
        ty => ty.scalar_dtype(),
    });
    match found.into_iter().find(|&d| refused(d)) {
        None => Ok(()),
        Some(d) => {
            let op = format!("arithmetic in {}", d.numpy_name());
            Err(CodegenError::Unsupported { op, target: unit.target.name(), span: Span::NONE })
        }
    }
}

/// What a work-item asks about itself along x, y or z (0, 1, 2).
#[derive(Clone, Copy)]
pub(crate) enum Query {
    GlobalId,
    GlobalSize,
    LocalId,
    LocalSize,
    GroupId,
    GroupCount,
}

impl Lowering<'_, '_> {
    /// `par.for` over the items of a kernel.
    pub(crate) fn work_items(&mut self, data: &OpData) -> Result<()> {
        let region = data.regions[0];
        let args = self.func.region(region).args.clone();
        let sizes = self.operands(data)?;
        let Frame::Kernel { errors, .. } = self.frame else {
            return Err(malformed("work-items outside of a kernel", data.span));
        };
        if args.len() != sizes.len() || sizes.is_empty() {
            return Err(malformed("a loop over items needs one index per size", data.span));
        }
        if let Some(plan) = lanes::plan(self.func, data, self.unit.target) {
            return self.lane_items(data, &plan);
        }
        // x, y, and everything else as one loop over z. Counting is in 64 bits: a 32-bit index plus the stride may overflow.
        let index_type = self.b.type_of(sizes[0]);
        let sizes: Vec<Value> = sizes.into_iter().map(|n| self.to_i64(n)).collect();
        let split = sizes.len().saturating_sub(2);
        let mut loops: Vec<Value> = sizes[split..].iter().rev().copied().collect();
        if split > 0 {
            loops.push(sizes[..split].iter().fold(self.b.i64(1), |p, &n| self.b.op(Opcode::LLVMMul, p, n)));
        }
        self.item_loops(loops.len(), &loops, &mut vec![], &mut |this, coordinates, done| {
            let mut indices = vec![];
            if split > 0 {
                let mut rest = coordinates[0];
                for (k, &n) in sizes[..split].iter().enumerate().rev() {
                    indices.push(if k == 0 { rest } else { this.b.op(Opcode::LLVMURem, rest, n) });
                    rest = if k == 0 { rest } else { this.b.op(Opcode::LLVMUDiv, rest, n) };
                }
                indices.reverse();
            }
            indices.extend(&coordinates[usize::from(split > 0)..]);
            let mut position = this.b.i64(0);
            for (&i, &n) in indices.iter().zip(&sizes) {
                position = this.b.op(Opcode::LLVMMul, position, n);
                position = this.b.op(Opcode::LLVMAdd, position, i);
            }
            let narrow = |i: Value| match this.b.type_of(i) == index_type {
                true => i,
                false => this.b.cast(Opcode::LLVMTrunc, i, index_type),
            };
            let indices: Vec<Value> = indices.into_iter().map(narrow).collect();
            this.frame = Frame::Kernel { errors, item: Some(Item { position, done }) };
            this.bind_all(&args, &indices);
            let reached = this.region(region)?.is_some();
            this.frame = Frame::Kernel { errors, item: None };
            Ok(reached)
        })
    }

    /// Grid-stride loops from the slowest dimension to x. `coordinates` are in that order.
    #[allow(clippy::type_complexity)]
    fn item_loops(
        &mut self,
        left: usize,
        sizes: &[Value],
        coordinates: &mut Vec<Value>,
        body: &mut dyn FnMut(&mut Self, &[Value], crate::llvm::Block) -> Result<bool>,
    ) -> Result<()> {
        let dim = left - 1;
        let (start, step) = (self.query(Query::GlobalId, dim), self.query(Query::GlobalSize, dim));
        self.strided_loop(start, sizes[dim], step, &[], LoopHints::default(), |this, i, _, latch| {
            coordinates.push(i);
            let reached = if dim == 0 {
                body(this, coordinates, latch)?
            } else {
                this.item_loops(dim, sizes, coordinates, body)?;
                true
            };
            coordinates.pop();
            Ok(reached.then(Vec::new))
        })?;
        Ok(())
    }

    pub(crate) fn query(&self, what: Query, dim: usize) -> Value {
        match self.unit.target {
            Target::Ptx => ptx::query(self.unit.module, &self.b, what, dim),
            _ => spirv::query(self.unit.module, &self.b, what, dim),
        }
    }

    /// Reports a raise: the least `item << 16 | site` wins; its values are written after it.
    pub(crate) fn raise_in_kernel(&mut self, site: u32, words: &[Value], span: Span) -> Result<()> {
        let Frame::Kernel { errors: Some(errors), item: Some(item) } = self.frame else {
            return Err(malformed("a kernel raises outside of its work-items", span));
        };
        if site > 0xffff {
            return Err(malformed("a module has too many sites", span));
        }
        let b = &self.b;
        let shifted = b.op(Opcode::LLVMShl, item.position, b.i64(16));
        let key = b.op(Opcode::LLVMOr, shifted, b.i64(site.into()));
        let old = b.atomic(Rmw::LLVMAtomicRMWBinOpUMin, errors, key);
        let won = b.block(b.function(), c"raised");
        b.branch(b.icmp(IntIs::LLVMIntULT, key, old), won, item.done);
        b.at_end(won);
        let room = device_error::WORDS - device_error::FIRST_ARG;
        for (k, &w) in words.iter().take(room).enumerate() {
            b.store(w, b.bytes_past(errors, 8 * (device_error::FIRST_ARG + k) as u64), 8);
        }
        b.store(key, b.bytes_past(errors, 8 * device_error::KEY_OF_ARGS as u64), 8);
        b.jump(item.done);
        Ok(())
    }
}
