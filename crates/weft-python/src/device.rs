//! `weft.Device`, `weft.Queue`, and what a place may be named by.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, Once, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use weft_hal::{BackendReport, QueueOptions};

use crate::errors;

/// A device: what runs code.
#[pyclass(frozen, eq, hash, module = "weft")]
#[derive(Clone)]
pub(crate) struct Device(pub(crate) Arc<dyn weft_hal::Device>);

impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Hash for Device {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.info().filter_string().hash(state);
    }
}

#[pymethods]
impl Device {
    /// `Device(where)`: the device that a filter string, a device or a queue names.
    #[new]
    #[pyo3(signature = (place = None))]
    fn new(py: Python<'_>, place: Option<&Bound<'_, PyAny>>) -> PyResult<Device> {
        Ok(Device(place_of(py, place)?.device().clone()))
    }

    /// The device that a filter string, a device or a queue names.
    #[staticmethod]
    #[pyo3(signature = (place = None))]
    fn create_device(py: Python<'_>, place: Option<&Bound<'_, PyAny>>) -> PyResult<Device> {
        Device::new(py, place)
    }

    /// The one string that names this device: `cuda:gpu:0`.
    #[getter]
    fn filter_string(&self) -> String {
        self.0.info().filter_string()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.info().name
    }

    #[getter]
    fn vendor(&self) -> &str {
        &self.0.info().vendor
    }

    #[getter]
    fn driver_version(&self) -> &str {
        &self.0.info().driver_version
    }

    #[getter]
    fn backend(&self) -> &'static str {
        self.0.info().backend.name()
    }

    #[getter]
    fn device_type(&self) -> &'static str {
        self.0.info().device_type.name()
    }

    #[getter]
    fn index(&self) -> u32 {
        self.0.info().index
    }

    #[getter]
    fn global_mem_size(&self) -> u64 {
        self.0.info().global_mem_bytes
    }

    #[getter]
    fn max_mem_alloc_size(&self) -> u64 {
        self.0.info().max_alloc_bytes
    }

    #[getter]
    fn local_mem_size(&self) -> u64 {
        self.0.info().local_mem_bytes
    }

    #[getter]
    fn max_compute_units(&self) -> u32 {
        self.0.info().compute_units
    }

    #[getter]
    fn max_work_group_size(&self) -> u32 {
        self.0.info().max_work_group_size
    }

    #[getter]
    fn max_work_item_sizes(&self) -> [u32; 3] {
        self.0.info().max_work_item_sizes
    }

    #[getter]
    fn sub_group_sizes(&self) -> Vec<u32> {
        self.0.info().sub_group_sizes.clone()
    }

    #[getter]
    fn has_fp16(&self) -> bool {
        self.0.info().fp16
    }

    #[getter]
    fn has_fp64(&self) -> bool {
        self.0.info().fp64
    }

    #[getter]
    fn has_atomics64(&self) -> bool {
        self.0.info().atomics64
    }

    /// Kinds of memory it can allocate: `device`, `shared`, `host`.
    #[getter]
    fn usm_types(&self) -> Vec<&'static str> {
        self.0.info().usm.iter().map(|k| k.name()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<weft.Device {}: {}>", self.filter_string(), self.name())
    }
}

/// An ordered way into a device. Two are equal when context, device and properties are.
#[pyclass(frozen, eq, hash, module = "weft")]
#[derive(Clone)]
pub(crate) struct Queue(pub(crate) Arc<weft_runtime::Queue>);

impl PartialEq for Queue {
    fn eq(&self, other: &Queue) -> bool {
        *self.0 == *other.0
    }
}

impl Hash for Queue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[pymethods]
impl Queue {
    /// `Queue(where, in_order=True, profiling=False)`.
    #[new]
    #[pyo3(signature = (place = None, *, in_order = true, profiling = false))]
    fn new(py: Python<'_>, place: Option<&Bound<'_, PyAny>>, in_order: bool, profiling: bool) -> PyResult<Queue> {
        let device = place_of(py, place)?.device().clone();
        let made = py.detach(|| weft_runtime::Queue::new(&device, QueueOptions { in_order, profiling }));
        made.map(Queue).map_err(|e| errors::from_hal(py, &e))
    }

    #[getter]
    fn device(&self) -> Device {
        Device(self.0.device().clone())
    }

    #[getter]
    fn is_in_order(&self) -> bool {
        self.0.options().in_order
    }

    #[getter]
    fn has_profiling(&self) -> bool {
        self.0.options().profiling
    }

    /// Runs what is recorded for tensors on this queue, and blocks until everything submitted is complete.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| weft_tensor::flush_queue(&self.0)).map_err(|e| crate::tensor::from_tensor(py, &e))?;
        py.detach(|| self.0.wait()).map_err(|e| errors::from_hal(py, &e))
    }

    fn __repr__(&self) -> String {
        format!("<weft.Queue on {}>", describe(&self.0))
    }
}

/// A queue in words: its device and what is not the default.
pub(crate) fn describe(queue: &weft_runtime::Queue) -> String {
    let options = queue.options();
    let order = if options.in_order { "" } else { ", out of order" };
    let profiling = if options.profiling { ", profiling" } else { "" };
    format!("{}{order}{profiling}", queue.filter())
}

/// Tells the finders of drivers and of libdevice where this Python environment keeps such files. Before the first search.
fn prepare(py: Python<'_>) {
    static ONCE: Once = Once::new();
    if ONCE.is_completed() {
        return;
    }
    let sys = py.import("sys");
    let prefix = sys.as_ref().ok().and_then(|sys| sys.getattr("prefix").ok()?.extract::<String>().ok());
    let path = sys.as_ref().ok().and_then(|sys| sys.getattr("path").ok()?.extract::<Vec<String>>().ok());
    ONCE.call_once(|| {
        if let Some(prefix) = prefix {
            weft_hal::add_library_dir(format!("{prefix}/lib"));
        }
        // NVIDIA's packages lie side by side: nvidia/cuda_nvcc/nvvm/libdevice, nvidia/nvvm/libdevice …
        let folders = path.into_iter().flatten().filter_map(|p| std::fs::read_dir(format!("{p}/nvidia")).ok());
        for package in folders.flatten().flatten() {
            for inner in ["nvvm/libdevice", "libdevice"] {
                let folder = package.path().join(inner);
                if folder.is_dir() {
                    weft_codegen::ptx::add_libdevice_dir(folder);
                }
            }
        }
    });
}

/// The queue that an object names: a filter string, a `Device`, a `Queue`, or anything with a `queue` (`x.device`).
/// `None` names the default device's.
pub(crate) fn place_of(py: Python<'_>, place: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<weft_runtime::Queue>> {
    prepare(py);
    let refused = |e: weft_hal::HalError| errors::from_hal(py, &e);
    let Some(place) = place.filter(|p| !p.is_none()) else {
        let filter = default_filter();
        return py.detach(|| weft_runtime::queue_for(&filter)).map_err(refused);
    };
    if let Ok(queue) = place.cast::<Queue>() {
        return Ok(queue.get().0.clone());
    }
    if let Ok(device) = place.cast::<Device>() {
        let device = device.get().0.clone();
        return py.detach(|| weft_runtime::Queue::default_on(&device)).map_err(refused);
    }
    if let Ok(filter) = place.cast::<PyString>() {
        let filter = filter.to_string();
        return py.detach(|| weft_runtime::queue_for(&filter)).map_err(refused);
    }
    if let Ok(Some(queue)) = place.getattr_opt("queue")
        && let Ok(queue) = queue.cast::<Queue>()
    {
        return Ok(queue.get().0.clone());
    }
    Err(PyTypeError::new_err(format!(
        "a place is a filter string such as \"cuda:gpu:0\", a weft.Device or a weft.Queue, not {}",
        place.get_type().qualname()?
    )))
}

/// `place_of` for Python: the queue that an object names.
#[pyfunction]
#[pyo3(signature = (place = None))]
pub(crate) fn queue_of(py: Python<'_>, place: Option<&Bound<'_, PyAny>>) -> PyResult<Queue> {
    place_of(py, place).map(Queue)
}

/// Every device found: native, then CUDA, then OpenCL.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> Vec<Device> {
    prepare(py);
    py.detach(|| weft_hal::discovery().devices.iter().cloned().map(Device).collect())
}

/// What happened when each backend was looked for, as dictionaries.
#[pyfunction]
pub(crate) fn backend_reports(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    prepare(py);
    let reports = py.detach(|| &weft_hal::discovery().reports);
    let as_dict = |report: &BackendReport| {
        let dict = PyDict::new(py);
        dict.set_item("backend", report.backend.name())?;
        dict.set_item("looked_for", &report.looked_for)?;
        dict.set_item("found", &report.found)?;
        dict.set_item("problem", &report.problem)?;
        dict.set_item("notes", &report.notes)?;
        Ok(dict)
    };
    reports.iter().map(as_dict).collect()
}

static DEFAULT_DEVICE: Mutex<String> = Mutex::new(String::new());

fn default_filter() -> String {
    DEFAULT_DEVICE.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// `weft.config.device`: a filter string; empty for the first GPU, else native.
#[pyfunction]
pub(crate) fn set_default_device(filter: String) {
    *DEFAULT_DEVICE.lock().unwrap_or_else(PoisonError::into_inner) = filter;
}

/// A small number for a queue, the same for equal queues: what dispatch keys hold. Zero stands for the host.
pub(crate) fn place_id(queue: &Arc<weft_runtime::Queue>) -> u32 {
    static KNOWN: Mutex<Vec<Arc<weft_runtime::Queue>>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let at = known.iter().position(|q| **q == **queue).unwrap_or_else(|| {
        known.push(queue.clone());
        known.len() - 1
    });
    at as u32 + 1
}
