//! Our pass pipelines.
//!
//! Inlining, CSE and hoisting across our own ops are done before LLVM, so the pipeline is short: clean up, vectorise, clean
//! up. Volume is what costs (FACTS 2), so each pass is there for a reason that a test or a benchmark shows.

use llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use llvm_sys::transforms::pass_builder::*;

use super::module::{Module, c_string};
use super::remarks;
use super::target::Machine;
use crate::error::{CodegenError, Result};

/// Native code up to and including vectorisation. Against `default<O3>` on an idle Xeon, `a*b+a` from IR to object: 8.6 ms
/// instead of 10.6 (of which 6 are code generation), with the same loop speed everywhere.
///
/// Loops come in rotated and in SSA form, so neither `loop-rotate` nor an inliner is there. Full unrolling comes before the
/// vectoriser, so that a loop over a short constant range does not hide the parallel loop around it. No SLP vectoriser:
/// it cost 0.4 ms and found only the copying of arguments.
pub(crate) const NATIVE: &str = "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,\
loop-mssa(licm),loop(indvars,loop-unroll-full),loop-vectorize,instcombine<no-verify-fixpoint>,simplifycfg)";

/// As [`NATIVE`], for functions with loops of the user's. Branches are put together before what is computed twice goes: what the
/// condition of a `while` has loaded (`a[j] > v`) is there in its body. What a loop's own test implies is taken out of it (indices inside,
/// counters that fit), then it is rotated: `while i < n: s += a[i]; i += 1` is vectorised as the loop over a range is. What both
/// ways of a branch do is done once, so that little is left to jump for. A check of what a loop does not change is made before
/// it (`simple-loop-unswitch`), what the turn before stored is not loaded (`loop-load-elim`: a quarter of the time of
/// `a[i] = (a[i] + a[i - 1]) / 9`; before the vectoriser, which wants the same analysis of accesses), and short bodies that
/// carry a sum are unrolled. At the end operands are put in order (`reassociate`): the value that is there last goes first, and
/// is not copied (a tenth of the time of a checksum that goes bit by bit; nothing elsewhere, and no time of compilation).
pub(crate) const NATIVE_LOOPS: &str = "function(sroa,simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,\
constraint-elimination,correlated-propagation,simplifycfg<hoist-common-insts;sink-common-insts>,loop(loop-rotate),\
loop-mssa(licm,simple-loop-unswitch),loop(indvars,loop-unroll-full),loop-load-elim,loop-vectorize,loop-unroll<O2>,\
instcombine<no-verify-fixpoint>,simplifycfg,reassociate)";

/// As [`NATIVE_LOOPS`], where an inner loop sums floats, which keep their order and so are not vectorised: what is computed
/// around each item then counts, and strength reduction makes it less (5 to 15% of the time, for a third of the compilation).
pub(crate) const NATIVE_SUMS: &str = "function(sroa,simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,\
constraint-elimination,correlated-propagation,simplifycfg<hoist-common-insts;sink-common-insts>,loop(loop-rotate),\
loop-mssa(licm,simple-loop-unswitch),loop(indvars,loop-unroll-full),loop-load-elim,loop-vectorize,loop-unroll<O2>,\
instcombine<no-verify-fixpoint>,simplifycfg,reassociate,loop(loop-reduce))";

/// Native code that is wanted soon and not fast.
pub(crate) const NATIVE_QUICK: &str = "function(sroa,simplifycfg)";

/// PTX, after linking libdevice: its conditions on the target are decided before everything else.
pub(crate) const PTX: &str = "globaldce,nvvm-reflect,default<O2>";

/// SPIR-V: the driver's compiler optimises; we only remove what lowering repeats, and make nothing it would not know.
pub(crate) const SPIRV: &str = "function(sroa,early-cse,simplifycfg,loop-mssa(licm))";

/// Runs a pipeline in LLVM's text form.
pub(crate) fn run(module: &Module, machine: &Machine, passes: &str) -> Result<()> {
    let passes = c_string(passes);
    let _options = remarks::steady();
    // SAFETY: module and machine are alive; options are ours; an error's message is freed by its own function.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        LLVMPassBuilderOptionsSetLoopVectorization(options, 1);
        LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
        LLVMPassBuilderOptionsSetLoopInterleaving(options, 1);
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
