//! OpenCL: SPIR-V binaries, with math from OpenCL.std.
//!
//! Functions are called by OpenCL C's mangled names, which LLVM's SPIR-V backend turns into extended instructions. It
//! writes `ContractionOff` by default, so nothing is fused (tested).

use crate::error::Result;
use crate::llvm::Value;
use crate::llvm::builder::Builder;
use crate::llvm::module::{Linkage, Module, Place};
use crate::llvm::target::{Emit, Machine};
use crate::llvm::{masks, optimise, spirv_state};
use crate::lower::kernel::Query;
use weft_ir::attr::Fence;

/// Calling convention of a SPIR-V kernel.
pub(crate) const KERNEL: u32 = 76;
/// Calling convention of other SPIR-V functions.
pub(crate) const FUNCTION: u32 = 75;

/// OpenCL's mangled name of a function of floats.
pub(crate) fn builtin_name(name: &str, bits: u32, arity: usize) -> String {
    let letter = if bits == 32 { "f" } else { "d" };
    format!("_Z{}{name}{}", name.len(), letter.repeat(arity))
}

/// A barrier for the work-group, behind which its items see each other's writes to this memory.
pub(crate) fn barrier(module: &Module, b: &Builder, fence: Fence) {
    let flags = match fence {
        Fence::Local => 1,
        Fence::Global => 2,
        Fence::All => 3,
    };
    let ty = b.context.function(b.context.void(), &[b.context.int(32)]);
    let f = module.function("_Z7barrierj", ty, Linkage::External);
    module.convention(f, FUNCTION);
    module.attribute(f, Place::Function, "nounwind", 0);
    module.attribute(f, Place::Function, "convergent", 0);
    let v = b.call(ty, f, &[b.i32(flags)]);
    b.call_convention(v, FUNCTION);
}

/// What a work-item asks about itself along x, y or z, as i64.
pub(crate) fn query(module: &Module, b: &Builder, what: Query, dim: usize) -> Value {
    let name = match what {
        Query::GlobalId => "_Z13get_global_idj",
        Query::GlobalSize => "_Z15get_global_sizej",
        Query::GroupId => "_Z12get_group_idj",
        Query::GroupCount => "_Z14get_num_groupsj",
        Query::LocalId => "_Z12get_local_idj",
        Query::LocalSize => "_Z14get_local_sizej",
    };
    let ty = b.context.function(b.context.int(64), &[b.context.int(32)]);
    let f = module.function(name, ty, Linkage::External);
    module.convention(f, FUNCTION);
    module.attribute(f, Place::Function, "nounwind", 0);
    module.attribute(f, Place::Function, "willreturn", 0);
    module.attribute(f, Place::Function, "memory", 0);
    let v = b.call(ty, f, &[b.i32(dim as u32)]);
    b.call_convention(v, FUNCTION);
    v
}

/// Optimises and writes a SPIR-V binary.
pub(crate) fn finish(module: &Module, machine: &Machine) -> Result<Vec<u8>> {
    emit(module, machine, Emit::Object)
}

/// Optimises and writes SPIR-V in LLVM's text form.
pub(crate) fn text(module: &Module, machine: &Machine) -> Result<Vec<u8>> {
    emit(module, machine, Emit::Assembly)
}

fn emit(module: &Module, machine: &Machine, form: Emit) -> Result<Vec<u8>> {
    optimise::run(module, machine, optimise::SPIRV)?;
    masks::run(module);
    spirv_state::alone(|| machine.emit(module, form))
}
