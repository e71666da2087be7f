//! An LLVM context: the types of one compilation, and the diagnostics LLVM reports into it.

use std::cell::RefCell;
use std::marker::PhantomData;

use llvm_sys::LLVMDiagnosticSeverity;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{Type, take_message};
use crate::error::{CodegenError, Result};

/// What LLVM reported.
#[derive(Default)]
struct Said {
    errors: Vec<String>,
    /// About loops; kept only if asked for.
    remarks: Option<Vec<String>>,
}

/// One compilation's context. Not shared between threads: each compilation has its own, so there is no lock.
pub(crate) struct Context {
    pub(super) raw: LLVMContextRef,
    said: Box<RefCell<Said>>,
    not_send: PhantomData<*mut ()>,
}

impl Context {
    /// A fresh context whose errors are collected instead of printed.
    pub(crate) fn new() -> Context {
        let said: Box<RefCell<Said>> = Box::default();
        // SAFETY: the handler gets a pointer to a box that lives as long as the context (see `Drop`).
        let raw = unsafe {
            let raw = LLVMContextCreate();
            LLVMContextSetDiagnosticHandler(raw, Some(collect), (&raw const *said).cast_mut().cast());
            raw
        };
        Context { raw, said, not_send: PhantomData }
    }

    /// Fails with what LLVM reported since the last look, if anything.
    pub(crate) fn check(&self) -> Result<()> {
        let errors = std::mem::take(&mut self.said.borrow_mut().errors);
        if errors.is_empty() { Ok(()) } else { Err(CodegenError::Llvm(errors.join("; "))) }
    }

    /// Keeps remarks from now on.
    pub(crate) fn keep_remarks(&self) {
        self.said.borrow_mut().remarks.get_or_insert_default();
    }

    /// The remarks kept so far.
    pub(crate) fn remarks(&self) -> Vec<String> {
        self.said.borrow_mut().remarks.take().unwrap_or_default()
    }

    /// An integer type.
    pub(crate) fn int(&self, bits: u32) -> Type {
        // SAFETY: the context is alive.
        Type(unsafe { LLVMIntTypeInContext(self.raw, bits) })
    }

    /// The bits of an integer type.
    pub(crate) fn bits(&self, ty: Type) -> u32 {
        // SAFETY: an integer type of this context.
        unsafe { LLVMGetIntTypeWidth(ty.0) }
    }

    /// `half`, `float` or `double`.
    pub(crate) fn float(&self, bits: u32) -> Type {
        // SAFETY: the context is alive.
        Type(unsafe {
            match bits {
                16 => LLVMHalfTypeInContext(self.raw),
                32 => LLVMFloatTypeInContext(self.raw),
                _ => LLVMDoubleTypeInContext(self.raw),
            }
        })
    }

    /// `ptr` in an address space.
    pub(crate) fn ptr(&self, space: u32) -> Type {
        // SAFETY: the context is alive.
        Type(unsafe { LLVMPointerTypeInContext(self.raw, space) })
    }

    /// `void`.
    pub(crate) fn void(&self) -> Type {
        // SAFETY: the context is alive.
        Type(unsafe { LLVMVoidTypeInContext(self.raw) })
    }

    /// A fixed vector.
    pub(crate) fn vector(&self, of: Type, lanes: u32) -> Type {
        // SAFETY: `of` is a scalar type of this context.
        Type(unsafe { LLVMVectorType(of.0, lanes) })
    }

    /// A fixed array.
    pub(crate) fn array(&self, of: Type, len: u64) -> Type {
        // SAFETY: `of` is a sized type of this context.
        Type(unsafe { LLVMArrayType2(of.0, len) })
    }

    /// An anonymous struct.
    pub(crate) fn structure(&self, fields: &[Type]) -> Type {
        let mut raw: Vec<LLVMTypeRef> = fields.iter().map(|t| t.0).collect();
        // SAFETY: the fields are types of this context; LLVM copies the list.
        Type(unsafe { LLVMStructTypeInContext(self.raw, raw.as_mut_ptr(), raw.len() as u32, 0) })
    }

    /// A function type.
    pub(crate) fn function(&self, ret: Type, params: &[Type]) -> Type {
        let mut raw: Vec<LLVMTypeRef> = params.iter().map(|t| t.0).collect();
        // SAFETY: as above.
        Type(unsafe { LLVMFunctionType(ret.0, raw.as_mut_ptr(), raw.len() as u32, 0) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: modules and builders borrow the context, so they are gone; the error box is dropped after this.
        unsafe { LLVMContextDispose(self.raw) }
    }
}

extern "C" fn collect(info: LLVMDiagnosticInfoRef, said: *mut libc::c_void) {
    // SAFETY: `said` is the context's box (see `Context::new`) and LLVM calls on the thread that owns the context;
    // the description is a message we take over.
    unsafe {
        let mut said = (*said.cast::<RefCell<Said>>()).borrow_mut();
        let list = match LLVMGetDiagInfoSeverity(info) {
            LLVMDiagnosticSeverity::LLVMDSError => Some(&mut said.errors),
            LLVMDiagnosticSeverity::LLVMDSRemark => said.remarks.as_mut(),
            _ => None,
        };
        if let Some(list) = list {
            list.push(take_message(LLVMGetDiagInfoDescription(info)));
        }
    }
}
