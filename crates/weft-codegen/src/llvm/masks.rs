//! Extensions of truncated integers, written as masks.
//!
//! Of `zext(trunc x)`, LLVM 22's SPIR-V backend makes an `and` of `x` itself where `x` is wider than the result: an
//! instruction whose operand and result have different types, which drivers refuse. So that it meets none, each becomes
//! `and(trunc x, mask)` before: the same number.

use llvm_sys::LLVMOpcode::{LLVMTrunc, LLVMZExt};
use llvm_sys::core::*;
use llvm_sys::prelude::LLVMValueRef;

use super::module::Module;

/// Rewrites all of them.
pub(crate) fn run(module: &Module) {
    let mut found = vec![];
    module.each_instruction(&mut |instruction| {
        if is_masked(instruction) {
            found.push(instruction);
        }
    });
    // SAFETY: instructions of this module: an extension is replaced by what is built where it stands, of its type.
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.context.raw);
        for extension in found {
            let truncated = LLVMGetOperand(extension, 0);
            let (ty, narrow) = (LLVMTypeOf(extension), LLVMGetIntTypeWidth(LLVMTypeOf(truncated)));
            LLVMPositionBuilderBefore(builder, extension);
            let low = LLVMBuildTrunc(builder, LLVMGetOperand(truncated, 0), ty, c"".as_ptr());
            let mask = LLVMConstInt(ty, (1 << narrow) - 1, 0);
            let masked = LLVMBuildAnd(builder, low, mask, c"".as_ptr());
            LLVMReplaceAllUsesWith(extension, masked);
            LLVMInstructionEraseFromParent(extension);
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Whether it is an extension, of what was truncated from more bits than it has.
fn is_masked(instruction: LLVMValueRef) -> bool {
    // SAFETY: instructions of a module have their operands; both operations are of integers.
    unsafe {
        if LLVMGetInstructionOpcode(instruction) != LLVMZExt {
            return false;
        }
        let truncated = LLVMGetOperand(instruction, 0);
        let is_trunc = !LLVMIsAInstruction(truncated).is_null() && LLVMGetInstructionOpcode(truncated) == LLVMTrunc;
        is_trunc && {
            let width = |v| LLVMGetIntTypeWidth(LLVMTypeOf(v));
            width(LLVMGetOperand(truncated, 0)) > width(instruction)
        }
    }
}
