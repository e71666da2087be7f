//! The host: x86-64 object code.

use crate::error::Result;
use crate::llvm::loader::check_symbols;
use crate::llvm::module::Module;
use crate::llvm::optimise;
use crate::llvm::target::{Emit, Machine};
use crate::mvec::Calls;

/// Optimises and writes an object whose undefined symbols are all in the closed list.
pub(crate) fn finish(module: &Module, machine: &Machine, math: &Calls) -> Result<Vec<u8>> {
    prepare(module, machine, math)?;
    let object = machine.emit(module, Emit::Object)?;
    check_symbols(&object)?;
    Ok(object)
}

/// Everything before code generation.
pub(crate) fn prepare(module: &Module, machine: &Machine, math: &Calls) -> Result<()> {
    math.declare_vectors(module);
    optimise::run(module, machine, optimise::NATIVE)?;
    math.define(module);
    Ok(())
}
