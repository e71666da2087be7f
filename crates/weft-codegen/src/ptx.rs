//! NVIDIA: PTX text, with math from libdevice.
//!
//! No FMA contraction: without fast-math flags LLVM writes `mul.rn`/`add.rn`, which `ptxas` never fuses (tested). LLVM selects
//! almost no math function here and aborts on the rest, so every function of [`MathFn`] is libdevice's.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use crate::error::{CodegenError, Result};
use crate::llvm::Value;
use crate::llvm::builder::{Builder, Opcode};
use crate::llvm::module::{Linkage, Module};
use crate::llvm::optimise;
use crate::llvm::target::{Emit, Machine};
use crate::lower::kernel::Query;
use crate::mvec::c_name;
use weft_ir::MathFn;

/// Calling convention of a PTX kernel.
pub(crate) const KERNEL: u32 = 71;

/// libdevice's name of a function.
pub(crate) fn libdevice_name(f: MathFn, bits: u32) -> String {
    format!("__nv_{}", c_name(f, bits))
}

/// A barrier for the work-group, behind which its items see each other's writes to any memory.
pub(crate) fn barrier(module: &Module, b: &Builder) {
    let ty = b.context.function(b.context.void(), &[b.context.int(32)]);
    let f = module.function("llvm.nvvm.barrier.cta.sync.aligned.all", ty, Linkage::External);
    b.call(ty, f, &[b.i32(0)]);
}

/// What a work-item asks about itself along x, y or z, as i64.
pub(crate) fn query(module: &Module, b: &Builder, what: Query, dim: usize) -> Value {
    let axis = ["x", "y", "z"][dim];
    let read = |register: &str| {
        let ty = b.context.function(b.context.int(32), &[]);
        let f = module.function(&format!("llvm.nvvm.read.ptx.sreg.{register}.{axis}"), ty, Linkage::External);
        b.cast(Opcode::LLVMZExt, b.call(ty, f, &[]), b.context.int(64))
    };
    let block = read("ntid");
    match what {
        Query::GroupId => read("ctaid"),
        Query::GroupCount => read("nctaid"),
        Query::LocalId => read("tid"),
        Query::LocalSize => block,
        Query::GlobalSize => b.op(Opcode::LLVMMul, read("nctaid"), block),
        Query::GlobalId => b.op(Opcode::LLVMAdd, b.op(Opcode::LLVMMul, read("ctaid"), block), read("tid")),
    }
}

/// Links libdevice where needed, optimises, and writes PTX.
pub(crate) fn finish(module: &Module, machine: &Machine) -> Result<Vec<u8>> {
    prepare(module, machine)?;
    machine.emit(module, Emit::Assembly)
}

/// Everything before code generation.
pub(crate) fn prepare(module: &Module, machine: &Machine) -> Result<()> {
    if module.functions().into_iter().any(|f| module.name(f).starts_with("__nv_")) {
        let library = Module::from_bitcode_lazily(module.context, libdevice()?)?;
        library.lay_out_for(machine);
        module.link_needed(library)?;
        let missing =
            module.functions().into_iter().find(|&f| module.is_declaration(f) && module.name(f).starts_with("__nv_"));
        if let Some(f) = missing {
            return Err(CodegenError::Llvm(format!("libdevice has no `{}`", module.name(f))));
        }
    }
    optimise::run(module, machine, optimise::PTX)
}

static EXTRA_DIRS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Adds a directory to look for `libdevice.10.bc` in, before it is first needed.
pub fn add_libdevice_dir(dir: impl AsRef<Path>) {
    let mut dirs = EXTRA_DIRS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    dirs.push(dir.as_ref().to_path_buf());
}

/// libdevice's path, if there is one.
pub fn find_libdevice() -> Result<PathBuf> {
    const FILE: &str = "libdevice.10.bc";
    let mut searched = vec![];
    let mut look = |path: PathBuf| {
        let found = path.is_file();
        searched.push(path.display().to_string());
        found.then_some(path)
    };
    if let Some(path) = std::env::var_os("WEFT_LIBDEVICE") {
        let path = PathBuf::from(path);
        let path = if path.is_dir() { path.join(FILE) } else { path };
        if let Some(found) = look(path) {
            return Ok(found);
        }
    }
    let extra = EXTRA_DIRS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
    let roots = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let toolkits = roots.chain(installed_toolkits()).map(|root| root.join("nvvm/libdevice"));
    for dir in extra.into_iter().chain(toolkits) {
        if let Some(found) = look(dir.join(FILE)) {
            return Ok(found);
        }
    }
    searched.push("/usr/local/cuda*/nvvm/libdevice".into());
    Err(CodegenError::NoLibdevice { searched: searched.join(", ") })
}

/// `/usr/local/cuda*`, newest name first.
fn installed_toolkits() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/usr/local").into_iter().flatten().flatten();
    let is_cuda = |e: &std::fs::DirEntry| e.file_name().to_string_lossy().starts_with("cuda");
    let mut found: Vec<PathBuf> = entries.filter(is_cuda).map(|e| e.path()).collect();
    found.sort();
    found.reverse();
    found
}

/// libdevice's bitcode, read once in a process.
fn libdevice() -> Result<&'static [u8]> {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    if let Some(bytes) = BYTES.get() {
        return Ok(bytes);
    }
    let path = find_libdevice()?;
    let bytes = std::fs::read(&path).map_err(|e| CodegenError::Llvm(format!("{}: {e}", path.display())))?;
    Ok(BYTES.get_or_init(|| bytes))
}
