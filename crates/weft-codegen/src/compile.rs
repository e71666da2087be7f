//! The doors of this crate: compile a module for the host or for devices, load objects, look at the code.

use weft_ir::{Func, Module as IrModule};

use crate::abi::Entry;
use crate::error::{CodegenError, Result};
use crate::llvm::context::Context;
use crate::llvm::fatal::guarded;
use crate::llvm::loader::LoadedCode;
use crate::llvm::module::Module;
use crate::llvm::target::{Emit, Machine, TargetKind, make_tables};
use crate::lower::call::write_called;
use crate::lower::host::{ENTRY, write_entry};
use crate::lower::kernel::{KernelInfo, kernel_info, write_kernel};
use crate::lower::{Target, Unit};
use crate::{native, ptx, spirv};

/// A kind of device code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceTarget {
    /// PTX text for an architecture (`sm_90`).
    Ptx {
        /// The architecture.
        arch: String,
    },
    /// A SPIR-V binary for OpenCL.
    SpirV,
}

impl From<&DeviceTarget> for Target {
    fn from(target: &DeviceTarget) -> Target {
        match target {
            DeviceTarget::Ptx { .. } => Target::Ptx,
            DeviceTarget::SpirV => Target::SpirV,
        }
    }
}

/// An object file for this machine's CPU: what to cache, and what [`load`] takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCode {
    /// ELF bytes.
    pub object: Vec<u8>,
}

/// Code for a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceCode {
    /// PTX text (without a final NUL) or a SPIR-V binary.
    pub text_or_binary: Vec<u8>,
    /// The module's kernels, in its order: the numbers that `launch` gets.
    pub kernels: Vec<KernelInfo>,
}

/// Compiles a host function of a module at stage `loops`.
pub fn compile_host(module: &IrModule, func: &str) -> Result<HostCode> {
    let func = module.func(func).ok_or_else(|| CodegenError::NoFunction(func.into()))?;
    guarded(|| {
        let _tables = make_tables();
        with_host(module, func, false, native::finish).map(|object| HostCode { object })
    })
}

/// Maps an object of [`compile_host`] into this process.
pub fn load(object: &[u8]) -> Result<LoadedCode> {
    LoadedCode::load(object)
}

impl LoadedCode {
    /// The specialisation's entry. It must not be called after `self` is dropped.
    pub fn entry(&self) -> Result<Entry> {
        let p = self.function(ENTRY).ok_or_else(|| CodegenError::BadObject("it has no entry".into()))?;
        // SAFETY: `compile_host` wrote this symbol with exactly this signature.
        Ok(unsafe { std::mem::transmute::<*const u8, Entry>(p) })
    }
}

/// Compiles all kernels of a module at stage `loops`.
pub fn compile_kernels(module: &IrModule, target: &DeviceTarget) -> Result<DeviceCode> {
    guarded(|| {
        let kernels = infos(module, target);
        let text_or_binary = with_kernels(module, target, |m, machine| match target {
            DeviceTarget::Ptx { .. } => ptx::finish(m, machine),
            DeviceTarget::SpirV => spirv::finish(m, machine),
        })?;
        Ok(DeviceCode { text_or_binary, kernels })
    })
}

/// The code of a module as text: `llvm` (optimised), `asm`, `ptx` or `spirv`.
pub fn inspect(module: &IrModule, what: &str) -> Result<String> {
    let what = what.to_string();
    let kernel_text = |target: DeviceTarget, emit: fn(&Module, &Machine) -> Result<Vec<u8>>| {
        with_kernels(module, &target, emit).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    guarded(|| match what.as_str() {
        "llvm" => with_host(module, module.entry(), false, |m, machine, unit| {
            native::prepare(m, machine, unit)?;
            Ok(m.text())
        }),
        "asm" => with_host(module, module.entry(), false, |m, machine, unit| {
            native::prepare(m, machine, unit)?;
            let text = machine.emit(m, Emit::Assembly)?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        }),
        "ptx" => kernel_text(DeviceTarget::Ptx { arch: "sm_90".into() }, ptx::finish),
        "spirv" => kernel_text(DeviceTarget::SpirV, spirv::text),
        other => Err(CodegenError::Llvm(format!("`{other}` is none of llvm, asm, ptx, spirv"))),
    })
}

/// The kernels' layouts, in the module's order.
pub fn infos(module: &IrModule, target: &DeviceTarget) -> Vec<KernelInfo> {
    module.funcs.iter().filter(|f| f.kernel).enumerate().map(|(i, f)| kernel_info(f, i, target.into())).collect()
}

/// Writes a host function for `finish`; `located`: its loops say where they stand.
pub(crate) fn with_host<T>(
    ir: &IrModule,
    func: &Func,
    located: bool,
    finish: impl FnOnce(&Module, &Machine, &Unit) -> Result<T>,
) -> Result<T> {
    let machine = Machine::new(&TargetKind::Host)?;
    let context = Context::new();
    let module = Module::new(&context, &func.name, &machine);
    let scope = located.then(|| module.scope());
    let unit = Unit { ir, module: &module, target: Target::Native, math: Default::default(), scope };
    write_entry(&unit, func)?;
    write_called(&unit, func)?;
    module.allow(ir.fast);
    // With locations for remarks it is no valid debug information, which nobody reads.
    if !located {
        check(&module)?;
    }
    finish(&module, &machine, &unit)
}

fn with_kernels<T>(
    ir: &IrModule,
    target: &DeviceTarget,
    finish: impl FnOnce(&Module, &Machine) -> Result<T>,
) -> Result<T> {
    let kind = match target {
        DeviceTarget::Ptx { arch } => TargetKind::Ptx { arch: arch.clone() },
        DeviceTarget::SpirV => TargetKind::SpirV,
    };
    let machine = Machine::new(&kind)?;
    let context = Context::new();
    let module = Module::new(&context, "weft", &machine);
    let unit = Unit { ir, module: &module, target: target.into(), math: Default::default(), scope: None };
    for (func, info) in ir.funcs.iter().filter(|f| f.kernel).zip(infos(ir, target)) {
        write_kernel(&unit, func, &info)?;
    }
    module.allow(ir.fast);
    check(&module)?;
    finish(&module, &machine)
}

/// LLVM's own verifier, where its cost does not matter: a wrong module is a bug of lowering.
fn check(module: &Module) -> Result<()> {
    if cfg!(any(test, debug_assertions)) || std::env::var_os("WEFT_VERIFY_LLVM").is_some() {
        module.verify()?;
    }
    Ok(())
}
