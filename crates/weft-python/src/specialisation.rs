//! One compiled version of a function: for these argument types, at this place, under these assumptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use weft_ir::attr::Const;
use weft_ir::print::print_module;
use weft_ir::{Module, Place, Type};
use weft_passes::PassCx;
use weft_passes::infer::{Param, Returns};
use weft_passes::pipeline::{self, Stages};
use weft_runtime::{Executable, Queue};

use crate::assumed::{Assumed, Calls};
use crate::errors::Origin;
use crate::guards::Guards;
use crate::key::{Key, Word};
use crate::pace::Pace;
use crate::timings::Timings;

/// What `inspect` is asked for a pass by: `"after:fuse"`.
pub(crate) const AFTER: &str = "after:";

/// A specialisation.
pub(crate) struct Specialisation {
    pub(crate) key: Key,
    /// Not to be used for further calls.
    pub(crate) retired: AtomicBool,
    pub(crate) guards: Guards,
    /// What it assumed about sizes.
    pub(crate) assumed: Assumed,
    /// What the arguments are.
    pub(crate) params: Vec<Param>,
    /// Types of the results.
    pub(crate) results: Vec<Type>,
    /// Slots that the results take.
    pub(crate) result_slots: usize,
    /// Which values it stores into.
    pub(crate) written: Vec<bool>,
    pub(crate) returns: Returns,
    /// Parameters of the entry that are lists, by position, and how they go back.
    pub(crate) lists: Vec<(usize, Returns)>,
    /// Types of lists that it may change.
    pub(crate) written_lists: Vec<Type>,
    /// Whether the queue is the host's.
    pub(crate) native: bool,
    pub(crate) executable: Arc<Executable>,
    /// Where parallel work runs.
    pub(crate) queue: Arc<Queue>,
    /// For its exceptions.
    pub(crate) origin: Origin,
    /// The untyped function, as text.
    pub(crate) py_text: String,
    pub(crate) stages: Stages,
    /// What the passes were told.
    pub(crate) cx: PassCx,
    /// How long compiling took.
    pub(crate) timings: Timings,
    pub(crate) pace: Pace,
}

impl Specialisation {
    /// Whether it is the one for such calls with this key, now.
    #[inline]
    pub(crate) fn serves(&self, py: Python<'_>, key: &[Word], calls: Calls<'_>) -> bool {
        self.is_for(key) && self.assumed.serves(calls) && self.guards.hold(py) && !self.is_retired()
    }

    /// Whether it was compiled for calls with this key.
    #[inline]
    pub(crate) fn is_for(&self, key: &[Word]) -> bool {
        let (Some((own, arguments)), Some((last, given))) = (self.key.split_last(), key.split_last()) else {
            return false;
        };
        own.serves(*last) && arguments == given
    }

    /// Lets no further call use it.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    /// Whether it was retired.
    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// The parameter types in a user's words: `(float64[:], int)`.
    pub(crate) fn signature(&self) -> String {
        let names: Vec<String> = self.params.iter().map(parameter_name).collect();
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
            _ if stage.starts_with(AFTER) => return self.text_after(&stage[AFTER.len()..]),
            _ => return weft_codegen::inspect(&self.stages.loops, stage).map_err(|e| e.to_string()),
        };
        Ok(print_module(module, true))
    }

    /// The module behind an entry of the table of passes: they run again, up to there.
    fn text_after(&self, pass: &str) -> Result<String, String> {
        let ntensor = &self.stages.ntensor;
        let passes = pipeline::until(ntensor.stage, pass).expect("the dispatcher knows the names");
        let module = pipeline::run(ntensor, passes, &self.cx, &mut |_, _| {}).map_err(|d| d.message)?;
        Ok(print_module(&module, true))
    }

    /// Device code. A specialisation for the host shows what it would be on a device of that kind.
    fn device_text(&self, stage: &str) -> Result<String, String> {
        let has_kernels = |module: &Module| module.funcs.iter().any(|f| f.kernel);
        let text = |module: &Module| weft_codegen::inspect(module, stage).map_err(|e| e.to_string());
        if has_kernels(&self.stages.loops) {
            return text(&self.stages.loops);
        }
        let place = if stage == "ptx" { "cuda:gpu:0" } else { "opencl:cpu:0" };
        let cx = PassCx { place: Place::device(place), ..self.cx.clone() };
        let stages = pipeline::lower(self.stages.ntensor.clone(), &cx).map_err(|d| d.message)?;
        match has_kernels(&stages.loops) {
            true => text(&stages.loops),
            false => Err("has no parallel work, so no kernels".to_owned()),
        }
    }
}

/// After so many specialisations went, the C library is asked to give their memory back: it keeps small blocks for later.
const TRIM_AFTER: usize = 128;

impl Drop for Specialisation {
    fn drop(&mut self) {
        static GONE: AtomicUsize = AtomicUsize::new(0);
        if (GONE.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(TRIM_AFTER) {
            #[cfg(target_env = "gnu")]
            // SAFETY: gives free memory of the heap back to the system, and touches nothing else.
            unsafe {
                libc::malloc_trim(0);
            }
        }
    }
}

fn parameter_name(param: &Param) -> String {
    match param {
        Param::Value(ty) => ty.user_name(),
        Param::Size(_) => Type::PYINT.user_name(),
        Param::Tuple(parts) => format!("tuple[{}]", parts.iter().map(parameter_name).collect::<Vec<_>>().join(", ")),
        Param::List(item) => format!("list[{}]", item.as_deref().map_or(String::new(), parameter_name)),
        Param::Const(Const::Str(text)) => format!("{text:?}"),
        Param::Const(Const::None) => "None".to_owned(),
        Param::Const(Const::Int(n)) => format!("int={n}"),
        Param::Const(Const::Float(x)) => format!("float={x:?}"),
        Param::Const(Const::Bool(b)) => format!("bool={}", if *b { "True" } else { "False" }),
        Param::Const(other) => format!("{other:?}"),
        Param::Function(_) => "function".to_owned(),
        Param::Known(name) => name.clone(),
    }
}

/// What `f.specializations` shows of one.
#[pyclass(frozen, module = "weft")]
pub(crate) struct Specialization {
    /// Parameter types: `(float64[:], int)`.
    #[pyo3(get)]
    signature: String,
    /// Filter string of the device that parallel work runs on.
    #[pyo3(get)]
    device: String,
    /// How long compiling took.
    #[pyo3(get)]
    seconds: f64,
    /// `compiled`, or `disk` when it was found there.
    #[pyo3(get)]
    origin: &'static str,
    parts: Vec<(&'static str, f64)>,
}

#[pymethods]
impl Specialization {
    /// Seconds by part of the compiler, in the order in which they run: `source`, `parse`, `infer`, `passes`, `code`,
    /// `load`.
    #[getter]
    fn timings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let timings = PyDict::new(py);
        self.parts.iter().try_for_each(|(part, seconds)| timings.set_item(part, seconds))?;
        Ok(timings)
    }

    fn __repr__(&self) -> String {
        let Specialization { signature, device, seconds, origin, .. } = self;
        format!("<{signature} on {device}, {origin} in {:.1} ms>", seconds * 1e3)
    }
}

impl From<&Specialisation> for Specialization {
    fn from(s: &Specialisation) -> Specialization {
        let device = s.queue.filter().to_owned();
        let (seconds, parts) = (s.timings.total(), s.timings.parts());
        Specialization { signature: s.signature(), device, seconds, origin: "compiled", parts }
    }
}
