//! Target machines: the host's CPU, NVPTX and SPIR-V.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::thread::JoinHandle;

use llvm_sys::core::{LLVMDisposeMemoryBuffer, LLVMGetBufferSize, LLVMGetBufferStart};
use llvm_sys::support::LLVMParseCommandLineOptions;
use llvm_sys::target::*;
use llvm_sys::target_machine::*;

use super::module::Module;
use super::take_message;
use crate::error::{CodegenError, Result};

// SPIR-V's entry points are missing in llvm-sys.
unsafe extern "C" {
    fn LLVMInitializeSPIRVTargetInfo();
    fn LLVMInitializeSPIRVTarget();
    fn LLVMInitializeSPIRVTargetMC();
    fn LLVMInitializeSPIRVAsmPrinter();
    /// `llvm::lookupUnfoldTable(unsigned)`, for which there is nothing in C: makes its table when it is first called.
    #[link_name = "_ZN4llvm17lookupUnfoldTableEj"]
    safe fn lookup_unfold_table(opcode: libc::c_uint) -> *const libc::c_void;
}

/// What this process runs on, as LLVM names it. Part of every cache key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCpu {
    /// CPU name (`znver4`).
    pub name: String,
    /// Feature string (`+avx2,-avx512f,…`).
    pub features: String,
    /// The widest vector registers: 512, 256 or 128 bits.
    pub vector_bits: u32,
}

/// The host CPU, asked once.
pub fn host_cpu() -> &'static HostCpu {
    static HOST: OnceLock<HostCpu> = OnceLock::new();
    HOST.get_or_init(|| {
        // SAFETY: both give messages that we take over.
        let (name, features) = unsafe { (take_message(LLVMGetHostCPUName()), take_message(LLVMGetHostCPUFeatures())) };
        let has = |f: &str| features.split(',').any(|x| x.strip_prefix('+') == Some(f));
        let vector_bits = if ["avx512f", "avx512vl", "avx512dq", "avx512bw"].into_iter().all(has) {
            512
        } else if has("avx2") {
            256
        } else {
            128
        };
        HostCpu { name, features, vector_bits }
    })
}

/// A kind of machine to generate code for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TargetKind {
    /// The CPU of this process.
    Host,
    /// NVIDIA, by architecture (`sm_90`).
    Ptx { arch: String },
    /// OpenCL's portable form.
    SpirV,
}

/// A configured code generator, used by one compilation at a time.
pub(crate) struct Machine {
    pub(super) raw: LLVMTargetMachineRef,
    pub(super) triple: CString,
    /// Goes back to [`IDLE`] after use.
    kept: bool,
    optimised: bool,
}

/// Whether native code is optimised.
static OPTIMISES: AtomicBool = AtomicBool::new(true);

/// Whether native code is optimised from now on. Without, code is made in half the time and runs slower.
pub fn set_optimises(on: bool) {
    OPTIMISES.store(on, Ordering::Relaxed);
}

/// Whether native code is optimised.
pub(crate) fn optimises() -> bool {
    OPTIMISES.load(Ordering::Relaxed)
}

/// Machines for the host between uses: describing the CPU to LLVM anew costs a tenth of a compilation. Those for
/// SPIR-V hold what they learned of a module and are made anew; those for NVPTX are cheap.
static IDLE: Mutex<Vec<Machine>> = Mutex::new(vec![]);

// SAFETY: a target machine is tied to no thread; it is handed over whole.
unsafe impl Send for Machine {}

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emit {
    /// Assembly text (PTX for NVPTX).
    Assembly,
    /// An object file (a SPIR-V binary for SPIR-V).
    Object,
}

impl Machine {
    /// The machine for a target.
    pub(crate) fn new(kind: &TargetKind) -> Result<Machine> {
        initialise();
        let kept = *kind == TargetKind::Host;
        let optimised = !kept || optimises();
        let idle = || IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(machine) = kept.then(idle).flatten().filter(|machine| machine.optimised == optimised) {
            return Ok(machine);
        }
        let (triple, cpu, features) = match kind {
            TargetKind::Host => {
                let host = host_cpu();
                // SAFETY: a message that we take over.
                let triple = unsafe { take_message(LLVMGetDefaultTargetTriple()) };
                (triple, host.name.clone(), host.features.clone())
            }
            TargetKind::Ptx { arch } => ("nvptx64-nvidia-cuda".into(), arch.clone(), "+ptx83".into()),
            TargetKind::SpirV => ("spirv64-unknown-unknown".into(), String::new(), String::new()),
        };
        let (triple, cpu, features) =
            (super::module::c_string(&triple), super::module::c_string(&cpu), super::module::c_string(&features));
        // SAFETY: the strings live through the calls and are copied; the target is static.
        let raw = unsafe {
            let mut target = std::ptr::null_mut();
            let mut message = std::ptr::null_mut();
            if LLVMGetTargetFromTriple(triple.as_ptr(), &mut target, &mut message) != 0 {
                return Err(CodegenError::Llvm(take_message(message)));
            }
            LLVMCreateTargetMachine(
                target,
                triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                match optimised {
                    true => LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
                    false => LLVMCodeGenOptLevel::LLVMCodeGenLevelNone,
                },
                LLVMRelocMode::LLVMRelocPIC,
                LLVMCodeModel::LLVMCodeModelSmall,
            )
        };
        if raw.is_null() {
            return Err(CodegenError::Llvm(format!("no target machine for {triple:?}")));
        }
        Ok(Machine { raw, triple, kept, optimised })
    }

    /// The machine's data layout; the caller disposes of it.
    pub(super) fn data_layout(&self) -> LLVMTargetDataRef {
        // SAFETY: the machine is alive.
        unsafe { LLVMCreateTargetDataLayout(self.raw) }
    }

    /// Generates code. The module is not fit for anything else afterwards.
    pub(crate) fn emit(&self, module: &Module, what: Emit) -> Result<Vec<u8>> {
        let file = match what {
            Emit::Assembly => LLVMCodeGenFileType::LLVMAssemblyFile,
            Emit::Object => LLVMCodeGenFileType::LLVMObjectFile,
        };
        let mut message = std::ptr::null_mut();
        let mut buffer = std::ptr::null_mut();
        // SAFETY: machine and module are alive; buffer and message are ours.
        unsafe {
            if LLVMTargetMachineEmitToMemoryBuffer(self.raw, module.raw, file, &mut message, &mut buffer) != 0 {
                return Err(CodegenError::Llvm(take_message(message)));
            }
            let start = LLVMGetBufferStart(buffer).cast::<u8>();
            let bytes = std::slice::from_raw_parts(start, LLVMGetBufferSize(buffer)).to_vec();
            LLVMDisposeMemoryBuffer(buffer);
            module.context.check()?;
            Ok(bytes)
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let whole = !std::thread::panicking();
        if self.kept && whole && self.optimised == optimises() {
            let triple = std::mem::take(&mut self.triple);
            let machine = Machine { raw: self.raw, triple, kept: true, optimised: self.optimised };
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(machine);
            return;
        }
        // SAFETY: ours.
        unsafe { LLVMDisposeTargetMachine(self.raw) }
    }
}

/// Registers the three targets, once in a process.
pub(super) fn initialise() {
    static ONCE: Once = Once::new();
    // SAFETY: registration functions of linked components, called once.
    ONCE.call_once(|| unsafe {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
        LLVMInitializeNVPTXTargetInfo();
        LLVMInitializeNVPTXTarget();
        LLVMInitializeNVPTXTargetMC();
        LLVMInitializeNVPTXAsmPrinter();
        LLVMInitializeSPIRVTargetInfo();
        LLVMInitializeSPIRVTarget();
        LLVMInitializeSPIRVTargetMC();
        LLVMInitializeSPIRVAsmPrinter();
        // Loop strength reduction took a fifth of a compilation and made hardly one of our loops faster
        // (examples/loop_speed): they have one induction variable, which addressing modes scale. Where it does, it is in the
        // pipeline (`optimise::NATIVE_SUMS`).
        // Tests whether arrays overlap stay before the loop they are for: beside the rows of all turns around it, a row of
        // the same array always does (elimination in place: 2 to 4 times faster).
        // The parts of complex numbers are read and written by whole vectors also where the last turn, or a condition, leaves
        // some out: gathers take several times as long, and nothing scatters.
        // Steps from element to element are in bytes: a loop for steps of one byte, which LLVM would make of every loop over columns,
        // is never run, and what is left for all others is not vectorised.
        // Innermost loops begin where a processor fetches from: a short one that straddled two such places took 1.35 times as long
        // (distances of points in four dimensions, on Zen 4; with 64 bytes instead of 32 it was no faster).
        let options = [
            c"weft".as_ptr(),
            c"-disable-lsr".as_ptr(),
            c"-enable-mem-access-versioning=0".as_ptr(),
            c"-hoist-runtime-checks=0".as_ptr(),
            c"-x86-experimental-pref-innermost-loop-alignment=5".as_ptr(),
            c"-enable-masked-interleaved-mem-accesses".as_ptr(),
        ];
        LLVMParseCommandLineOptions(options.len() as i32, options.as_ptr(), std::ptr::null());
    });
}

/// Beside the first compilation of a process, makes the table that LLVM would sort in the middle of it (1.6 of about 15 ms).
/// It is there when what this returns is dropped.
pub(crate) fn make_tables() -> impl Drop {
    static STARTED: AtomicBool = AtomicBool::new(false);
    struct Made(Option<JoinHandle<()>>);
    impl Drop for Made {
        fn drop(&mut self) {
            if let Some(thread) = self.0.take() {
                drop(thread.join());
            }
        }
    }
    if STARTED.swap(true, Ordering::Relaxed) || std::thread::available_parallelism().is_ok_and(|n| n.get() == 1) {
        return Made(None);
    }
    let builder = std::thread::Builder::new().name("weft-tables".into());
    // Without a thread for it, LLVM makes the table when it needs it.
    Made(builder.spawn(|| _ = lookup_unfold_table(0)).ok())
}

/// LLVM's version, for cache keys.
pub fn llvm_version() -> String {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three out-parameters.
    unsafe { llvm_sys::core::LLVMGetVersion(&mut major, &mut minor, &mut patch) };
    format!("{major}.{minor}.{patch}")
}
