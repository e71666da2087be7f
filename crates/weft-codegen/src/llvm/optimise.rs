//! Our pass pipelines.
//!
//! Inlining, CSE and hoisting across our own ops are done before LLVM, so the pipeline is short: clean up, vectorise, clean
//! up. Volume is what costs (FACTS 2), so each pass is there for a reason that a test or a benchmark shows.

use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::transforms::pass_builder::*;

use super::module::{Module, c_string};
use super::target::Machine;
use crate::error::{CodegenError, Result};

/// Native code up to and including vectorisation.
pub(crate) const NATIVE: &str = "default<O3>";

/// PTX, after linking libdevice.
pub(crate) const PTX: &str = "globaldce,nvvm-reflect,default<O3>";

/// SPIR-V: the driver optimises; we only clean up.
pub(crate) const SPIRV: &str = "default<O2>";

/// Runs a pipeline in LLVM's text form.
pub(crate) fn run(module: &Module, machine: &Machine, passes: &str) -> Result<()> {
    let over = std::env::var("XPASSES"); let passes = c_string(over.as_deref().unwrap_or(passes));
    // SAFETY: module and machine are alive; options are ours; an error's message is freed by its own function.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        LLVMPassBuilderOptionsSetLoopVectorization(options, 1);
        LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
        LLVMPassBuilderOptionsSetLoopInterleaving(options, std::env::var_os("XNOINT").is_none() as i32);
        let error = LLVMRunPasses(module.raw, passes.as_ptr(), machine.raw, options);
        LLVMDisposePassBuilderOptions(options);
        if !error.is_null() {
            let text = LLVMGetErrorMessage(error);
            let owned = std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned();
            LLVMDisposeErrorMessage(text);
            return Err(CodegenError::Llvm(owned));
        }
    }
    module.context.check()
}
