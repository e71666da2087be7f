//! Loop metadata: what the vectoriser is told about a loop.

use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use llvm_sys::prelude::*;

use super::Metadata;
use super::context::Context;
use super::module::Module;
use crate::error::{CodegenError, Result};

/// What is said about one loop.
#[derive(Clone, Copy, Default)]
pub(crate) struct LoopHints {
    /// Lanes to use, whatever they cost; 0 leaves the choice to the cost model. LLVM takes a width as leave to reorder float
    /// sums, so it is for parallel loops only: they carry nothing.
    pub(crate) width: u32,
    /// Fold the tail into the loop by masks, so that every element goes through the vector routine.
    pub(crate) predicate: bool,
    /// Leave the loop as it is.
    pub(crate) scalar: bool,
    /// No vectors, but perhaps several turns in one.
    pub(crate) unrolled: bool,
    /// What vectors leave over is a few turns, or all where arrays overlap: not worth several copies of the body.
    pub(crate) rest_is_short: bool,
    /// One vector at a time: there are few.
    pub(crate) few: bool,
    /// The accesses of this group carry no dependence between iterations.
    pub(crate) parallel: Option<Metadata>,
    /// Where the loop stands, for remarks about it.
    pub(crate) location: Option<Metadata>,
}

impl Context {
    fn text_node(&self, text: &str) -> LLVMMetadataRef {
        // SAFETY: the text is copied.
        unsafe { LLVMMDStringInContext2(self.raw, text.as_ptr().cast(), text.len()) }
    }

    fn node(&self, parts: &mut [LLVMMetadataRef]) -> LLVMMetadataRef {
        // SAFETY: the parts are nodes of this context; the list is copied.
        unsafe { LLVMMDNodeInContext2(self.raw, parts.as_mut_ptr(), parts.len()) }
    }

    fn setting(&self, key: &str, bits: u32, value: u64) -> LLVMMetadataRef {
        // SAFETY: a constant of this context.
        let value = unsafe { LLVMValueAsMetadata(LLVMConstInt(self.int(bits).0, value, 0)) };
        self.node(&mut [self.text_node(key), value])
    }

    /// The node to hang on a loop's back edge as `llvm.loop`.
    pub(crate) fn loop_node(&self, hints: LoopHints) -> Metadata {
        let mut parts = vec![std::ptr::null_mut()];
        if hints.width > 0 {
            parts.push(self.setting("llvm.loop.vectorize.enable", 1, 1));
            parts.push(self.setting("llvm.loop.vectorize.width", 32, hints.width.into()));
        }
        if hints.scalar || hints.unrolled {
            parts.push(self.setting("llvm.loop.vectorize.enable", 1, 0));
        }
        let no_unrolling = self.node(&mut [self.text_node("llvm.loop.unroll.disable")]);
        if hints.scalar {
            parts.push(no_unrolling);
        } else if hints.rest_is_short {
            let key = self.text_node("llvm.loop.vectorize.followup_epilogue");
            let done = self.setting("llvm.loop.isvectorized", 32, 1);
            parts.push(self.node(&mut [key, done, no_unrolling]));
        }
        if hints.few {
            parts.push(self.setting("llvm.loop.interleave.count", 32, 1));
        }
        if hints.predicate {
            parts.push(self.setting("llvm.loop.vectorize.predicate.enable", 1, 1));
        }
        if let Some(group) = hints.parallel {
            parts.push(self.node(&mut [self.text_node("llvm.loop.parallel_accesses"), group.0]));
        }
        parts.extend(hints.location.map(|location| location.0));
        // A loop's node is distinct by referring to itself: the placeholder becomes the node.
        // SAFETY: the temporary node is consumed by the replacement.
        unsafe {
            let placeholder = LLVMTemporaryMDNode(self.raw, std::ptr::null_mut(), 0);
            parts[0] = placeholder;
            let node = self.node(&mut parts);
            LLVMMetadataReplaceAllUsesWith(placeholder, node);
            Metadata(node)
        }
    }

    /// The node to hang on a branch as `prof`: which of its two ways is the usual one.
    pub(crate) fn branch_weights(&self, first: bool) -> Metadata {
        let weight = |often: bool| {
            let n = if often { 1 << 20 } else { 1 };
            // SAFETY: a constant of this context.
            unsafe { LLVMValueAsMetadata(LLVMConstInt(self.int(32).0, n, 0)) }
        };
        Metadata(self.node(&mut [self.text_node("branch_weights"), weight(first), weight(!first)]))
    }

    /// A new access group: the memory accesses of one parallel loop.
    ///
    /// The C API makes no distinct empty node, so it is read from text; it lives as long as the context.
    pub(crate) fn access_group(&self) -> Result<Metadata> {
        let module = Module::from_text(self, "!weft = !{!0}\n!0 = distinct !{}\n")?;
        // SAFETY: the named node has one operand.
        unsafe {
            if LLVMGetNamedMetadataNumOperands(module.raw, c"weft".as_ptr()) != 1 {
                return Err(CodegenError::Llvm("no access group".into()));
            }
            let mut node = std::ptr::null_mut();
            LLVMGetNamedMetadataOperands(module.raw, c"weft".as_ptr(), &mut node);
            Ok(Metadata(LLVMValueAsMetadata(node)))
        }
    }
}

impl Metadata {
    /// A node that lists others.
    pub(crate) fn list(context: &Context, nodes: &[Metadata]) -> Metadata {
        let mut raw: Vec<LLVMMetadataRef> = nodes.iter().map(|n| n.0).collect();
        Metadata(context.node(&mut raw))
    }
}
