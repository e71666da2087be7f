//! An LLVM module: functions, globals, attributes, linking, printing.

use std::ffi::CString;
use std::marker::PhantomData;

use llvm_sys::LLVMLinkage;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_reader::LLVMGetBitcodeModuleInContext2;
use llvm_sys::core::*;
use llvm_sys::ir_reader::LLVMParseIRInContext2;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMDisposeTargetData, LLVMSetModuleDataLayout};

use weft_ir::FastMath;

use super::context::Context;
use super::target::Machine;
use super::{Type, Value, take_message};
use crate::error::{CodegenError, Result};

/// A module of a context.
pub(crate) struct Module<'c> {
    pub(super) raw: LLVMModuleRef,
    pub(crate) context: &'c Context,
    own: PhantomData<&'c ()>,
}

/// Who sees a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Linkage {
    /// Visible outside the object.
    External,
    /// Private to the object.
    Internal,
}

/// Where an attribute goes.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// The function itself.
    Function,
    /// Its parameter, from 0.
    Param(u32),
}

impl Place {
    pub(super) fn index(self) -> u32 {
        match self {
            Place::Function => u32::MAX,
            Place::Param(i) => i + 1,
        }
    }
}

impl<'c> Module<'c> {
    /// An empty module laid out for a machine.
    pub(crate) fn new(context: &'c Context, name: &str, machine: &Machine) -> Module<'c> {
        let name = c_string(name);
        // SAFETY: the context outlives the module by the lifetime; LLVM copies name, triple and layout.
        let raw = unsafe { LLVMModuleCreateWithNameInContext(name.as_ptr(), context.raw) };
        let module = Module { raw, context, own: PhantomData };
        module.lay_out_for(machine);
        module
    }

    /// Reads LLVM's text form.
    pub(crate) fn from_text(context: &'c Context, text: &str) -> Result<Module<'c>> {
        let text = c_string(text);
        let mut raw = std::ptr::null_mut();
        let mut message = std::ptr::null_mut();
        // SAFETY: the copying buffer is consumed by the parser whether or not it succeeds.
        unsafe {
            let buffer =
                LLVMCreateMemoryBufferWithMemoryRangeCopy(text.as_ptr(), text.as_bytes().len(), c"weft".as_ptr());
            if LLVMParseIRInContext2(context.raw, buffer, &mut raw, &mut message) != 0 {
                return Err(CodegenError::Llvm(take_message(message)));
            }
        }
        Ok(Module { raw, context, own: PhantomData })
    }

    /// Opens bitcode without reading its function bodies; they are read when linked.
    pub(crate) fn from_bitcode_lazily(context: &'c Context, bytes: &'static [u8]) -> Result<Module<'c>> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the bytes live for ever, and the module takes the buffer on success.
        let failed = unsafe {
            let buffer =
                LLVMCreateMemoryBufferWithMemoryRange(bytes.as_ptr().cast(), bytes.len(), c"libdevice".as_ptr(), 0);
            LLVMGetBitcodeModuleInContext2(context.raw, buffer, &mut raw) != 0
        };
        if failed {
            context.check()?;
            return Err(CodegenError::Llvm("the bitcode cannot be read".into()));
        }
        Ok(Module { raw, context, own: PhantomData })
    }

    /// Sets triple and data layout to a machine's.
    pub(crate) fn lay_out_for(&self, machine: &Machine) {
        // SAFETY: module and machine are alive; both strings are copied.
        unsafe {
            LLVMSetTarget(self.raw, machine.triple.as_ptr());
            let layout = machine.data_layout();
            LLVMSetModuleDataLayout(self.raw, layout);
            LLVMDisposeTargetData(layout);
        }
    }

    /// Lets all float instructions so far take liberties. Numbers may still be compared with infinity, which loops that look for
    /// the least begin with.
    pub(crate) fn allow(&self, fast: FastMath) {
        if fast == FastMath::default() {
            return;
        }
        let to_choose = fast.but("ninf");
        self.each_instruction(&mut |instruction| {
            // SAFETY: an instruction of this module; those that can be marked are.
            unsafe {
                if LLVMCanValueUseFastMathFlags(instruction) != 0 {
                    use llvm_sys::LLVMOpcode::{LLVMFCmp, LLVMPHI, LLVMSelect};
                    let chooses = matches!(LLVMGetInstructionOpcode(instruction), LLVMFCmp | LLVMSelect | LLVMPHI);
                    let flags = if chooses { to_choose } else { fast };
                    LLVMSetFastMathFlags(instruction, flags.bits().into());
                }
            }
        });
    }

    /// Shows every instruction, in order. None is added or removed meanwhile.
    pub(super) fn each_instruction(&self, visit: &mut dyn FnMut(LLVMValueRef)) {
        // SAFETY: the lists of a module that nobody changes meanwhile.
        unsafe {
            let mut f = LLVMGetFirstFunction(self.raw);
            while !f.is_null() {
                let mut block = LLVMGetFirstBasicBlock(f);
                while !block.is_null() {
                    let mut instruction = LLVMGetFirstInstruction(block);
                    while !instruction.is_null() {
                        visit(instruction);
                        instruction = LLVMGetNextInstruction(instruction);
                    }
                    block = LLVMGetNextBasicBlock(block);
                }
                f = LLVMGetNextFunction(f);
            }
        }
    }

    /// Links from `other` what this module refers to, and nothing else.
    ///
    /// With every definition `linkonce_odr` the linker takes only what is reached; bodies of a lazily opened module are read
    /// only then.
    pub(crate) fn link_needed(&self, other: Module<'c>) -> Result<()> {
        // SAFETY: both modules are of one context; the linker consumes `other`.
        unsafe {
            let mut f = LLVMGetFirstFunction(other.raw);
            while !f.is_null() {
                if LLVMIsDeclaration(f) == 0 {
                    LLVMSetLinkage(f, LLVMLinkage::LLVMLinkOnceODRLinkage);
                }
                f = LLVMGetNextFunction(f);
            }
            let raw = other.raw;
            std::mem::forget(other);
            if LLVMLinkModules2(self.raw, raw) != 0 {
                self.context.check()?;
                return Err(CodegenError::Llvm("linking failed".into()));
            }
        }
        self.context.check()
    }

    /// Declares a function, or finds the one that has this name.
    pub(crate) fn function(&self, name: &str, ty: Type, linkage: Linkage) -> Value {
        if let Some(f) = self.find(name) {
            return f;
        }
        let name = c_string(name);
        // SAFETY: `ty` is a function type of this context; the name is copied.
        unsafe {
            let f = LLVMAddFunction(self.raw, name.as_ptr(), ty.0);
            if linkage == Linkage::Internal {
                LLVMSetLinkage(f, LLVMLinkage::LLVMInternalLinkage);
            }
            Value(f)
        }
    }

    /// Memory of a work-group: a variable in the address space that PTX and SPIR-V have for it.
    pub(crate) fn local(&self, ty: Type, align: u32) -> Value {
        // SAFETY: `ty` is a type of this context; the name is copied, and LLVM makes it another one if it is taken.
        unsafe {
            let v = LLVMAddGlobalInAddressSpace(self.raw, ty.0, c"weft_local".as_ptr(), 3);
            LLVMSetLinkage(v, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetInitializer(v, LLVMGetUndef(ty.0));
            LLVMSetAlignment(v, align);
            Value(v)
        }
    }

    /// Removes a declaration that nothing uses; says whether it did.
    pub(crate) fn remove_if_unused(&self, f: Value) -> bool {
        // SAFETY: `f` is a function of this module; without uses nothing can refer to it afterwards.
        unsafe {
            let unused = LLVMGetFirstUse(f.0).is_null();
            if unused {
                LLVMDeleteFunction(f.0);
            }
            unused
        }
    }

    /// Makes a function private to the object.
    pub(crate) fn make_internal(&self, f: Value) {
        // SAFETY: `f` is a function of this module.
        unsafe { LLVMSetLinkage(f.0, LLVMLinkage::LLVMInternalLinkage) }
    }

    /// The function with a name.
    pub(crate) fn find(&self, name: &str) -> Option<Value> {
        let name = c_string(name);
        // SAFETY: the module is alive.
        let f = unsafe { LLVMGetNamedFunction(self.raw, name.as_ptr()) };
        (!f.is_null()).then_some(Value(f))
    }

    /// A function's name.
    pub(crate) fn name(&self, f: Value) -> String {
        let mut len = 0;
        // SAFETY: LLVM gives a pointer and a length into its own table.
        unsafe {
            let p = LLVMGetValueName2(f.0, &mut len);
            String::from_utf8_lossy(std::slice::from_raw_parts(p.cast(), len)).into_owned()
        }
    }

    /// Whether a function has no body.
    pub(crate) fn is_declaration(&self, f: Value) -> bool {
        // SAFETY: `f` is a function of this module.
        unsafe { LLVMIsDeclaration(f.0) != 0 }
    }

    /// Every function, in order.
    pub(crate) fn functions(&self) -> Vec<Value> {
        let mut all = Vec::new();
        // SAFETY: walks the module's own list.
        unsafe {
            let mut f = LLVMGetFirstFunction(self.raw);
            while !f.is_null() {
                all.push(Value(f));
                f = LLVMGetNextFunction(f);
            }
        }
        all
    }

    /// Makes sure that optimisation keeps these declarations although nothing calls them yet.
    pub(crate) fn keep(&self, values: &[Value]) {
        let ptr = self.context.ptr(0);
        let mut raw: Vec<LLVMValueRef> = values.iter().map(|v| v.0).collect();
        // SAFETY: the values are functions of this module; names and lists are copied.
        unsafe {
            let old = LLVMGetNamedGlobal(self.raw, c"llvm.compiler.used".as_ptr());
            assert!(old.is_null(), "llvm.compiler.used is written once");
            let list = LLVMConstArray2(ptr.0, raw.as_mut_ptr(), raw.len() as u64);
            let g = LLVMAddGlobal(self.raw, LLVMTypeOf(list), c"llvm.compiler.used".as_ptr());
            LLVMSetInitializer(g, list);
            LLVMSetLinkage(g, LLVMLinkage::LLVMAppendingLinkage);
            LLVMSetSection(g, c"llvm.metadata".as_ptr());
        }
    }

    /// Forgets what [`Module::keep`] kept, so that unused declarations leave no symbol.
    pub(crate) fn release_kept(&self) {
        // SAFETY: the global is ours and nothing refers to it.
        unsafe {
            let g = LLVMGetNamedGlobal(self.raw, c"llvm.compiler.used".as_ptr());
            if !g.is_null() {
                LLVMDeleteGlobal(g);
            }
        }
    }

    /// Sets a numbered or flag attribute (`nounwind`, `alignstack` = 64) on a function or its parameter.
    pub(crate) fn attribute(&self, f: Value, at: Place, name: &str, number: u64) {
        // SAFETY: `f` is a function of this module; the name is LLVM's own (checked below).
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            assert!(kind != 0, "LLVM has no attribute `{name}`");
            let attribute = LLVMCreateEnumAttribute(self.context.raw, kind, number);
            LLVMAddAttributeAtIndex(f.0, at.index(), attribute);
        }
    }

    /// Sets a string attribute on a function.
    pub(crate) fn text_attribute(&self, f: Value, key: &str, value: &str) {
        // SAFETY: `f` is a function of this module; both strings are copied.
        unsafe { LLVMAddAttributeAtIndex(f.0, Place::Function.index(), self.context.text_attribute(key, value)) }
    }

    /// Sets a function's calling convention.
    pub(crate) fn convention(&self, f: Value, cc: u32) {
        // SAFETY: `f` is a function of this module.
        unsafe { LLVMSetFunctionCallConv(f.0, cc) }
    }

    /// Checks the module's structure; the text names the first broken rule.
    pub(crate) fn verify(&self) -> Result<()> {
        let mut message = std::ptr::null_mut();
        // SAFETY: the message is taken over in either case.
        let (broken, text) = unsafe {
            let b = LLVMVerifyModule(self.raw, LLVMVerifierFailureAction::LLVMReturnStatusAction, &mut message);
            (b != 0, take_message(message))
        };
        if broken { Err(CodegenError::Llvm(format!("invalid LLVM IR: {}", text.trim()))) } else { Ok(()) }
    }

    /// LLVM's text form.
    pub(crate) fn text(&self) -> String {
        // SAFETY: the message is ours.
        unsafe { take_message(LLVMPrintModuleToString(self.raw)) }
    }
}

impl Context {
    /// A string attribute of this context.
    pub(super) fn text_attribute(&self, key: &str, value: &str) -> LLVMAttributeRef {
        // SAFETY: both strings are copied.
        unsafe {
            LLVMCreateStringAttribute(
                self.raw,
                key.as_ptr().cast(),
                key.len() as u32,
                value.as_ptr().cast(),
                value.len() as u32,
            )
        }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: the module is ours unless a linker took it, and then it was forgotten.
        unsafe { LLVMDisposeModule(self.raw) }
    }
}

/// A C string; IR names have no NUL in them.
pub(crate) fn c_string(s: &str) -> CString {
    CString::new(s.replace('\0', "")).unwrap_or_default()
}
