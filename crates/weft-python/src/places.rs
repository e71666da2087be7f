//! What a place may be named by, and what is found: filter strings, devices, queues, `x.device` → a queue.

use std::sync::{Arc, Mutex, Once, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use weft_hal::null::Fault;
use weft_hal::{BackendKind, BackendReport};

use crate::array_device::ArrayDevice;
use crate::device::Device;
use crate::errors;
use crate::queue::Queue;

/// The device that an object names, without opening it.
pub(crate) fn device_of(py: Python<'_>, place: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<dyn weft_hal::Device>> {
    prepare(py);
    let place = place.filter(|p| !p.is_none());
    if let Some(Ok(device)) = place.map(|p| p.cast::<Device>()) {
        return Ok(device.get().0.clone());
    }
    let filter = match place {
        None => default_filter(),
        Some(place) => match place.cast::<PyString>() {
            Ok(filter) => filter.to_string(),
            Err(_) => {
                let queue = place_of(py, Some(place))?;
                return Ok(queue.device().itself().unwrap_or_else(|| queue.device().clone()));
            }
        },
    };
    py.detach(|| weft_hal::find_device(&filter)).map_err(|e| errors::from_hal(py, &e))
}

/// A queue in words: its device and what is not the default.
pub(crate) fn describe(queue: &weft_runtime::Queue) -> String {
    let options = queue.options();
    let order = if options.in_order { "" } else { ", out of order" };
    let profiling = if options.profiling { ", profiling" } else { "" };
    let context = crate::contexts::describe(queue);
    format!("{}{order}{profiling}{context}", queue.filter())
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
    // Before the plain device, which it also is.
    if let Ok(device) = place.cast::<ArrayDevice>() {
        return Ok(device.get().runtime_queue().clone());
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

/// The null device, listed or not.
#[pyfunction(name = "_null_device")]
pub(crate) fn null_device() -> Device {
    Device(weft_hal::null::device())
}

/// Makes the null device fail, each by (the first operation that fails, counted from 1; how many fail in all). What is
/// not given works; nothing given finds a lost device again.
#[pyfunction(name = "_null_faults")]
#[pyo3(signature = (*, allocation = None, launch = None, copy = None, loss = None))]
pub(crate) fn null_faults(
    allocation: Option<(u64, u64)>,
    launch: Option<(u64, u64)>,
    copy: Option<(u64, u64)>,
    loss: Option<(u64, u64)>,
) {
    let faults = weft_hal::null::faults();
    faults.clear();
    let all = [(Fault::Allocation, allocation), (Fault::Launch, launch), (Fault::Copy, copy), (Fault::Loss, loss)];
    for (fault, when) in all {
        if let Some((nth, count)) = when {
            faults.arm(fault, nth, count);
        }
    }
}

/// What happened when each backend was looked for, as dictionaries.
#[pyfunction]
pub(crate) fn backend_reports(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    prepare(py);
    let reports = py.detach(|| &weft_hal::discovery().reports);
    let as_dict = |report: &BackendReport| {
        let dict = PyDict::new(py);
        let (mut looked_for, mut notes) = (report.looked_for.clone(), report.notes.clone());
        if report.backend == BackendKind::Cuda && report.found.is_some() {
            match weft_codegen::ptx::find_libdevice() {
                Ok(path) => looked_for.push(path.display().to_string()),
                Err(missing) => notes.push(missing.to_string()),
            }
        }
        dict.set_item("backend", report.backend.name())?;
        dict.set_item("looked_for", looked_for)?;
        dict.set_item("found", &report.found)?;
        dict.set_item("problem", &report.problem)?;
        dict.set_item("notes", notes)?;
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
pub(crate) fn place_id(queue: &weft_runtime::Queue) -> u32 {
    queue.class() + 1
}
