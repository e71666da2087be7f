//! The host: x86-64 object code.

use crate::error::Result;
use crate::llvm::loader::check_symbols;
use crate::llvm::module::Module;
use crate::llvm::optimise;
use crate::llvm::target::{Emit, Machine, optimises};
use crate::lower::Unit;

/// Optimises and writes an object whose undefined symbols are all in the closed list.
pub(crate) fn finish(module: &Module, machine: &Machine, unit: &Unit) -> Result<Vec<u8>> {
    prepare(module, machine, unit)?;
    let object = machine.emit(module, Emit::Object)?;
    check_symbols(&object)?;
    Ok(object)
}

/// Everything before code generation.
pub(crate) fn prepare(module: &Module, machine: &Machine, unit: &Unit) -> Result<()> {
    let math = unit.math.borrow();
    math.declare_vectors(module);
    let passes = match () {
        _ if !optimises() => optimise::NATIVE_QUICK,
        _ if unit.has_inner_sums() => optimise::NATIVE_SUMS,
        _ if unit.has_serial_loops() => optimise::NATIVE_LOOPS,
        _ => optimise::NATIVE,
    };
    optimise::run(module, machine, passes)?;
    math.define(module);
    Ok(())
}
