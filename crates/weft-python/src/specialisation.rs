//! One compiled version of a function: for these argument types, at this place, under these assumptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use weft_diag::Sources;
use weft_ir::print::print_module;
use weft_ir::{Module, Place, Type};
use weft_passes::PassCx;
use weft_passes::infer::Returns;
use weft_passes::pipeline::{self, Stages};
use weft_runtime::{Executable, Queue};

use crate::guards::Guard;
use crate::key::Key;

/// A specialisation.
pub(crate) struct Specialisation {
    /// In the order in which they are made, over the whole process.
    pub(crate) number: u64,
    pub(crate) key: Key,
    pub(crate) guards: Vec<Guard>,
    /// Types of the parameters.
    pub(crate) params: Vec<Type>,
    /// Types of the results.
    pub(crate) results: Vec<Type>,
    /// Which parameters it stores into.
    pub(crate) written: Vec<bool>,
    pub(crate) returns: Returns,
    pub(crate) executable: Arc<Executable>,
    /// Where parallel work runs.
    pub(crate) queue: Arc<Queue>,
    /// For messages of exceptions.
    pub(crate) sources: Sources,
    /// The untyped function, as text.
    pub(crate) py_text: String,
    pub(crate) stages: Stages,
    /// Dimensions of the launch, for kernels.
    pub(crate) kernel_dims: u32,
    pub(crate) seconds: f64,
}

impl Specialisation {
    /// The next number.
    pub(crate) fn number() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// The parameter types in a user's words: `(float64[:], int)`.
    pub(crate) fn signature(&self) -> String {
        let names: Vec<String> = self.params.iter().map(Type::user_name).collect();
        format!("({})", names.join(", "))
    }

    /// The text of a stage, or why there is none.
    pub(crate) fn text(&self, stage: &str) -> Result<String, String> {
        let module = match stage {
            "py" => return Ok(self.py_text.clone()),
            "ntensor" => &self.stages.ntensor,
            "placed" => &self.stages.placed,
            "fused" => &self.stages.fused,
            "loops" => &self.stages.loops,
            "ptx" | "spirv" => return self.device_text(stage),
            _ => return weft_codegen::inspect(&self.stages.loops, stage).map_err(|e| e.to_string()),
        };
        Ok(print_module(module, true))
    }

    /// Device code. A specialisation for the host shows what it would be on a device of that kind.
    fn device_text(&self, stage: &str) -> Result<String, String> {
        let has_kernels = |module: &Module| module.funcs.iter().any(|f| f.kernel);
        let text = |module: &Module| weft_codegen::inspect(module, stage).map_err(|e| e.to_string());
        if has_kernels(&self.stages.loops) {
            return text(&self.stages.loops);
        }
        let place = if stage == "ptx" { "cuda:gpu:0" } else { "opencl:cpu:0" };
        let cx = PassCx { kernel_dims: self.kernel_dims, ..PassCx::new(Place::device(place)) };
        let stages = pipeline::lower(self.stages.ntensor.clone(), &cx).map_err(|d| d.message)?;
        match has_kernels(&stages.loops) {
            true => text(&stages.loops),
            false => Err("has no parallel work, so no kernels".to_owned()),
        }
    }
}

/// What `f.specializations` shows of one.
#[pyclass(frozen, get_all, module = "weft")]
pub(crate) struct Specialization {
    /// Parameter types: `(float64[:], int)`.
    signature: String,
    /// Filter string of the device that parallel work runs on.
    device: String,
    /// How long compiling took.
    seconds: f64,
    /// `compiled`, or `disk` when it was found there.
    origin: &'static str,
}

#[pymethods]
impl Specialization {
    fn __repr__(&self) -> String {
        let Specialization { signature, device, seconds, origin } = self;
        format!("<{signature} on {device}, {origin} in {:.1} ms>", seconds * 1e3)
    }
}

impl From<&Specialisation> for Specialization {
    fn from(s: &Specialisation) -> Specialization {
        let device = s.queue.filter().to_owned();
        Specialization { signature: s.signature(), device, seconds: s.seconds, origin: "compiled" }
    }
}
