//! `weft.Context`: one or more devices whose memory each of them can read.
//!
//! A device has one default context. Contexts over the same devices in the same order are the same context, so that
//! queues made in them can be equal.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use weft_hal::QueueOptions;
use weft_runtime::default_context;

use crate::device::Device;
use crate::errors;
use crate::places::device_of;
use crate::queue::Queue;

/// Devices that share memory.
#[pyclass(frozen, eq, hash, module = "weft")]
#[derive(Clone)]
pub(crate) struct Context {
    devices: Vec<Device>,
    /// The number that queues have.
    id: u64,
}

impl PartialEq for Context {
    fn eq(&self, other: &Context) -> bool {
        self.id == other.id
    }
}

impl Hash for Context {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// Contexts of several devices. The k-th has the number 2k + 1; numbers of default contexts are even.
static SHARED: Mutex<Vec<Vec<Device>>> = Mutex::new(Vec::new());

impl Context {
    fn of(devices: Vec<Device>) -> Context {
        if let [one] = &devices[..] {
            return Context { id: default_context(&one.0), devices };
        }
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let at = shared.iter().position(|known| *known == devices).unwrap_or_else(|| {
            shared.push(devices.clone());
            shared.len() - 1
        });
        Context { devices, id: 2 * at as u64 + 1 }
    }

    fn names(&self) -> String {
        self.devices.iter().map(|d| d.0.info().filter_string()).collect::<Vec<_>>().join(", ")
    }

    fn hal_devices(&self) -> Vec<Arc<dyn weft_hal::Device>> {
        self.devices.iter().map(|d| d.0.clone()).collect()
    }
}

#[pymethods]
impl Context {
    /// `Context(where)`: a device's default context. `Context([a, b])`: a context that several devices share.
    #[new]
    #[pyo3(signature = (devices = None))]
    fn new(py: Python<'_>, devices: Option<&Bound<'_, PyAny>>) -> PyResult<Context> {
        let several = devices.filter(|d| d.is_instance_of::<PyList>() || d.is_instance_of::<PyTuple>());
        let Some(several) = several else {
            if let Some(Ok(context)) = devices.map(|d| d.cast::<Context>()) {
                return Ok(context.get().clone());
            }
            return Ok(Context::of(vec![Device(device_of(py, devices)?)]));
        };
        let mut list: Vec<Device> = Vec::new();
        for device in several.try_iter()? {
            let device = Device(device_of(py, Some(&device?))?);
            if list.contains(&device) {
                let name = device.0.info().filter_string();
                return Err(PyValueError::new_err(format!("a context holds each device once; {name} is given twice")));
            }
            list.push(device);
        }
        let Some(first) = list.first() else {
            return Err(PyValueError::new_err("a context holds at least one device"));
        };
        if let Some(other) = list.iter().find(|d| d.0.info().backend != first.0.info().backend) {
            let (a, b) = (first.0.info().filter_string(), other.0.info().filter_string());
            let text = format!("no context can hold both {a} and {b}: its devices are of one backend");
            return Err(errors::new(py, "DeviceError", text));
        }
        let context = Context::of(list);
        // What the driver has against it is said here, not at the first queue.
        let all = context.hal_devices();
        py.detach(|| all[0].among(&all)).map_err(|e| errors::from_hal(py, &e))?;
        Ok(context)
    }

    /// The devices in it.
    #[getter(devices)]
    fn list(&self) -> Vec<Device> {
        self.devices.clone()
    }

    /// The devices in it, by dpctl's name.
    #[pyo3(name = "get_devices")]
    fn dpctl_devices(&self) -> Vec<Device> {
        self.devices.clone()
    }

    /// How many devices are in it.
    #[getter]
    fn device_count(&self) -> usize {
        self.devices.len()
    }

    fn __contains__(&self, device: &Device) -> bool {
        self.devices.contains(device)
    }

    fn __len__(&self) -> usize {
        self.devices.len()
    }

    fn __repr__(&self) -> String {
        format!("<weft.Context of {}>", self.names())
    }
}

/// The context that a queue is in.
pub(crate) fn of_queue(queue: &weft_runtime::Queue) -> Context {
    let id = queue.context();
    let shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let several = (id % 2 == 1).then(|| shared.get(id as usize / 2)).flatten();
    let device = || queue.device().itself().unwrap_or_else(|| queue.device().clone());
    Context { devices: several.cloned().unwrap_or_else(|| vec![Device(device())]), id }
}

/// A queue's context in words, where it is not its device's default one.
pub(crate) fn describe(queue: &weft_runtime::Queue) -> String {
    match queue.context() % 2 {
        1 => format!(", in a context of {}", of_queue(queue).names()),
        _ => String::new(),
    }
}

/// A queue on (context, device), if `context` is one.
pub(crate) fn queue_in(
    py: Python<'_>,
    context: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    options: QueueOptions,
) -> Option<PyResult<Queue>> {
    let context = context?.cast::<Context>().ok()?.get();
    Some(new_queue(py, context, device.filter(|d| !d.is_none()), options))
}

fn new_queue(
    py: Python<'_>,
    context: &Context,
    device: Option<&Bound<'_, PyAny>>,
    options: QueueOptions,
) -> PyResult<Queue> {
    let device = match (device, &context.devices[..]) {
        (None, [one]) => one.clone(),
        (None, _) => {
            let text = format!("Queue(context, device): the context holds {}; say which", context.names());
            return Err(PyTypeError::new_err(text));
        }
        (Some(device), _) => Device(device_of(py, Some(device))?),
    };
    if !context.devices.contains(&device) {
        let name = device.0.info().filter_string();
        return Err(PyValueError::new_err(format!("{name} is not in the context of {}", context.names())));
    }
    let all = context.hal_devices();
    let made = py.detach(|| {
        let handle = if all.len() > 1 { device.0.among(&all)? } else { None };
        weft_runtime::Queue::in_context(handle.as_ref().unwrap_or(&device.0), options, context.id)
    });
    made.map(Queue).map_err(|e| errors::from_hal(py, &e))
}
