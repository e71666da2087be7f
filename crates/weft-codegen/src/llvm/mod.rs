//! A thin layer over LLVM's C API: just what lowering needs, and the only files of this crate that call `llvm-sys`.
//!
//! In the order data flows: `context` and `module` hold IR, `builder` writes it, `metadata` annotates it,
//! [`target`] and `optimise` turn it into object code, `elf` reads that back and [`loader`] maps it, with [`symbols`]
//! as the closed list of what it may refer to. `remarks` asks the vectoriser what it did. [`fatal`] runs all of it on a thread that LLVM may stop without stopping
//! the process.
//!
//! Handles (`Type`, `Value`, `Block`, `Metadata`) are plain copies of LLVM's pointers. They are valid as long as the
//! `Context` they came from; a compilation makes one context, uses it on one thread, and drops it at the end,
//! so handles are never stored beyond it. That rule is kept by hand inside this crate and no handle is public.

pub(crate) mod builder;
pub(crate) mod context;
pub(crate) mod elf;
pub mod fatal;
pub mod loader;
pub(crate) mod masks;
pub(crate) mod metadata;
pub(crate) mod module;
pub(crate) mod optimise;
pub(crate) mod remarks;
pub(crate) mod spirv_state;
pub mod symbols;
pub mod target;

use llvm_sys::prelude::{LLVMBasicBlockRef, LLVMMetadataRef, LLVMTypeRef, LLVMValueRef};

/// A type of the current context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Type(pub(crate) LLVMTypeRef);

/// A value of the current module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Value(pub(crate) LLVMValueRef);

/// A basic block of the current module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block(pub(crate) LLVMBasicBlockRef);

/// A metadata node of the current context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Metadata(pub(crate) LLVMMetadataRef);

/// Takes over a message that LLVM allocated.
///
/// # Safety
/// `text` is null, or came from LLVM and is freed by `LLVMDisposeMessage`; nobody else uses it afterwards.
pub(crate) unsafe fn take_message(text: *mut libc::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: non-null, and a C string by the caller's promise.
    unsafe {
        let s = std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned();
        llvm_sys::core::LLVMDisposeMessage(text);
        s
    }
}
