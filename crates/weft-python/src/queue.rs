//! `weft.Queue`: an ordered way into a device, with its copies, fills, barriers and waits.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use weft_hal::QueueOptions;

use crate::contexts::Context;
use crate::device::Device;
use crate::errors;
use crate::event::{Event, await_event, wait_list};
use crate::memory::{Keep, Target, pattern_of};
use crate::places::{describe, device_of};
use crate::program::{self, ProgramKernel};

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

/// Adds dpctl's names of properties to the options.
fn add_properties(options: &mut QueueOptions, property: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(name) = property.cast::<PyString>() {
        match &*name.to_cow()? {
            "enable_profiling" => options.profiling = true,
            "in_order" => options.in_order = true,
            "default" => {}
            other => {
                let text = format!("a queue property is \"in_order\" or \"enable_profiling\", not {other:?}");
                return Err(PyValueError::new_err(text));
            }
        }
        return Ok(());
    }
    let Ok(several) = property.try_iter() else {
        let ty = property.get_type().qualname()?;
        return Err(PyTypeError::new_err(format!("property= is a name or several, not {ty}")));
    };
    several.into_iter().try_for_each(|one| add_properties(options, &one?))
}

impl Queue {
    /// Runs what tensors on this queue have recorded.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| weft_tensor::flush_queue(&self.0)).map_err(|e| crate::tensor::from_tensor(py, &e))
    }

    fn copy(
        &self,
        dst: &Bound<'_, PyAny>,
        src: &Bound<'_, PyAny>,
        bytes: Option<usize>,
        wait_for: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<Event>> {
        let py = dst.py();
        let waits = wait_list(py, wait_for)?;
        let (dst, src) = (Target::writable(dst)?, Target::readable(src)?);
        let bytes = bytes.unwrap_or_else(|| src.bytes());
        for (end, what) in [(&dst, "into"), (&src, "out of")] {
            if bytes > end.bytes() {
                let text = format!("{bytes} bytes cannot be copied {what} {} bytes", end.bytes());
                return Err(PyValueError::new_err(text));
            }
        }
        let (to, from, size) = (dst.address(), src.address(), bytes as u64);
        if size > 0 && to < from + size && from < to + size {
            let text = format!("{bytes} bytes at {from:#x} and at {to:#x} overlap: copy by way of other memory");
            return Err(PyValueError::new_err(text));
        }
        let events: Vec<weft_hal::Event> = waits.iter().map(|e| e.get().inner().clone()).collect();
        let (dst_end, src_end) = (dst.end(), src.end());
        // SAFETY: sizes are checked above; the event keeps both memories until it is complete.
        let done = py.detach(|| unsafe { weft_runtime::copy(&self.0, dst_end, src_end, bytes, &events) });
        let event = done.map_err(|e| errors::from_hal(py, &e))?;
        Event::new(py, event, waits, vec![dst.into_keep(), src.into_keep()])
    }
}

#[pymethods]
impl Queue {
    /// `Queue(where, in_order=True, profiling=False)`, or `Queue(context, device)`. `property` takes dpctl's names.
    #[new]
    #[pyo3(signature = (place = None, device = None, *, in_order = true, profiling = false, property = None))]
    fn new(
        py: Python<'_>,
        place: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
        in_order: bool,
        profiling: bool,
        property: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Queue> {
        let mut options = QueueOptions { in_order, profiling };
        if let Some(property) = property.filter(|p| !p.is_none()) {
            add_properties(&mut options, property)?;
        }
        if let Some(made) = crate::contexts::queue_in(py, place, device, options) {
            return made;
        }
        if let (Some(place), Some(_)) = (place, device) {
            let ty = place.get_type().qualname()?;
            return Err(PyTypeError::new_err(format!("Queue(context, device): the first is a weft.Context, not {ty}")));
        }
        let device = device_of(py, place)?;
        let made = py.detach(|| weft_runtime::Queue::new(&device, options));
        made.map(Queue).map_err(|e| errors::from_hal(py, &e))
    }

    /// The device it feeds.
    #[getter]
    fn device(&self) -> Device {
        Device(self.0.device().itself().unwrap_or_else(|| self.0.device().clone()))
    }

    /// The context it is in.
    #[getter]
    fn context(&self) -> Context {
        crate::contexts::of_queue(&self.0)
    }

    /// The context it is in, by dpctl's name.
    #[getter(sycl_context)]
    fn dpctl_context(&self) -> Context {
        self.context()
    }

    /// The device it feeds, by dpctl's name.
    #[getter(sycl_device)]
    fn dpctl_device(&self) -> Device {
        self.device()
    }

    /// Name of the device's backend: `native`, `cuda`, `opencl`.
    #[getter]
    fn backend(&self) -> &'static str {
        self.0.info().backend.name()
    }

    /// The device's own name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.info().name
    }

    /// Version of the device's driver.
    #[getter]
    fn driver_version(&self) -> &str {
        &self.0.info().driver_version
    }

    /// `context`, by dpctl's name.
    fn get_sycl_context(&self) -> Context {
        self.context()
    }

    /// `device`, by dpctl's name.
    fn get_sycl_device(&self) -> Device {
        self.device()
    }

    /// `backend`, by dpctl's name.
    #[pyo3(name = "get_sycl_backend")]
    fn dpctl_backend(&self) -> &'static str {
        self.backend()
    }

    /// Whether operations run one after the other.
    #[getter]
    fn is_in_order(&self) -> bool {
        self.0.options().in_order
    }

    /// Whether events carry device times.
    #[getter]
    fn has_profiling(&self) -> bool {
        self.0.options().profiling
    }

    /// Whether events carry device times, by dpctl's name.
    #[getter]
    fn has_enable_profiling(&self) -> bool {
        self.0.options().profiling
    }

    /// Runs what is recorded for tensors on this queue, and blocks until everything submitted is complete.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        self.flush(py)?;
        if let Some(event) = self.0.last_event() {
            await_event(py, &event)?;
        }
        py.detach(|| self.0.wait()).map_err(|e| errors::from_hal(py, &e))
    }

    /// Copies `nbytes` (all of `src` by default) between any two memories: those of `weft.memory`, tensors as a
    /// source, and objects of the host with a buffer (NumPy arrays, `bytes`). Returns the event; with `sync`, complete.
    #[pyo3(signature = (dst, src, nbytes = None, *, wait_for = None, sync = true))]
    fn memcpy(
        &self,
        dst: &Bound<'_, PyAny>,
        src: &Bound<'_, PyAny>,
        nbytes: Option<usize>,
        wait_for: Option<&Bound<'_, PyAny>>,
        sync: bool,
    ) -> PyResult<Py<Event>> {
        let event = self.copy(dst, src, nbytes, wait_for)?;
        if sync {
            await_event(dst.py(), event.get().inner())?;
        }
        Ok(event)
    }

    /// `memcpy(..., sync=False)`. Host memory must not be touched before the event is complete.
    #[pyo3(signature = (dst, src, nbytes = None, wait_for = None))]
    fn memcpy_async(
        &self,
        dst: &Bound<'_, PyAny>,
        src: &Bound<'_, PyAny>,
        nbytes: Option<usize>,
        wait_for: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<Event>> {
        self.copy(dst, src, nbytes, wait_for)
    }

    /// Repeats a value over memory: an int from 0 to 255 (a byte), a float (8 bytes), or 1, 2, 4 or 8 bytes (a NumPy
    /// scalar, `bytes`).
    #[pyo3(signature = (memory, value, *, wait_for = None, sync = false))]
    fn fill(
        &self,
        memory: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        wait_for: Option<&Bound<'_, PyAny>>,
        sync: bool,
    ) -> PyResult<Py<Event>> {
        let py = memory.py();
        let pattern = pattern_of(value)?;
        let waits = wait_list(py, wait_for)?;
        let Target::Buffer(buffer) = Target::writable(memory)? else {
            return Err(PyTypeError::new_err("fill takes memory of weft.memory"));
        };
        if !buffer.bytes().is_multiple_of(pattern.len()) {
            let text = format!("{} bytes are not a whole number of {}-byte values", buffer.bytes(), pattern.len());
            return Err(PyValueError::new_err(text));
        }
        let events: Vec<weft_hal::Event> = waits.iter().map(|e| e.get().inner().clone()).collect();
        // The memory's own device fills it; this queue, if it is one of that device.
        let home = buffer.queue().filter(|q| !Arc::ptr_eq(q.device(), self.0.device())).unwrap_or(&self.0).clone();
        let done = py.detach(|| buffer.fill_on(&home, &pattern, &events));
        let event = done.map_err(|e| errors::from_hal(py, &e))?;
        if sync {
            await_event(py, &event)?;
        }
        Event::new(py, event, waits, vec![Keep::Buffer(buffer)])
    }

    /// `fill` with one byte.
    #[pyo3(signature = (memory, byte, *, wait_for = None, sync = false))]
    fn memset(
        &self,
        memory: &Bound<'_, PyAny>,
        byte: u8,
        wait_for: Option<&Bound<'_, PyAny>>,
        sync: bool,
    ) -> PyResult<Py<Event>> {
        self.fill(memory, byte.into_pyobject(memory.py())?.as_any(), wait_for, sync)
    }

    /// Asks for shared memory (its first `nbytes`) to be on the device before what is submitted later uses it. Memory of
    /// other kinds, and all of a native queue's, stays where it is. Returns the event; with `sync`, complete.
    #[pyo3(signature = (memory, nbytes = None, *, wait_for = None, sync = false))]
    fn prefetch(
        &self,
        memory: &Bound<'_, PyAny>,
        nbytes: Option<usize>,
        wait_for: Option<&Bound<'_, PyAny>>,
        sync: bool,
    ) -> PyResult<Py<Event>> {
        let py = memory.py();
        let waits = wait_list(py, wait_for)?;
        let target = Target::readable(memory)?;
        let bytes = nbytes.unwrap_or_else(|| target.bytes());
        if bytes > target.bytes() {
            return Err(PyValueError::new_err(format!("{bytes} bytes cannot be prefetched of {}", target.bytes())));
        }
        let Target::Buffer(buffer) = target else {
            let text = "prefetch takes memory of weft.memory or a tensor: memory of the host alone stays there";
            return Err(PyTypeError::new_err(text));
        };
        let events: Vec<weft_hal::Event> = waits.iter().map(|e| e.get().inner().clone()).collect();
        // Memory moves to the device that it is of.
        let home = buffer.queue().filter(|q| !Arc::ptr_eq(q.device(), self.0.device())).unwrap_or(&self.0).clone();
        let done = py.detach(|| buffer.prefetch_on(&home, bytes, &events));
        let event = done.map_err(|e| errors::from_hal(py, &e))?;
        if sync {
            await_event(py, &event)?;
        }
        Event::new(py, event, waits, vec![Keep::Buffer(buffer)])
    }

    /// An event that is complete when everything submitted before it (what tensors have recorded, too) and all
    /// `events` are. What is submitted later comes after it.
    #[pyo3(signature = (events = None))]
    fn barrier(&self, py: Python<'_>, events: Option<&Bound<'_, PyAny>>) -> PyResult<Py<Event>> {
        self.flush(py)?;
        let waits = wait_list(py, events)?;
        let list: Vec<weft_hal::Event> = waits.iter().map(|e| e.get().inner().clone()).collect();
        let done = py.detach(|| self.0.submit(&list, |queue, waits| queue.barrier(waits)));
        Event::new(py, done.map_err(|e| errors::from_hal(py, &e))?, waits, vec![])
    }

    /// Launches a kernel of `weft.program` over a `Range`, an `NdRange`, an int or a tuple. Returns its event.
    #[pyo3(signature = (kernel, args, range, local = None, wait_for = None))]
    fn submit(
        &self,
        kernel: &Bound<'_, ProgramKernel>,
        args: &Bound<'_, PyAny>,
        range: &Bound<'_, PyAny>,
        local: Option<&Bound<'_, PyAny>>,
        wait_for: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<Event>> {
        program::submit(self, kernel, args, range, local, wait_for)
    }

    /// `barrier`, by dpctl's name.
    #[pyo3(signature = (events = None))]
    fn submit_barrier(&self, py: Python<'_>, events: Option<&Bound<'_, PyAny>>) -> PyResult<Py<Event>> {
        self.barrier(py, events)
    }

    /// A queue is made anew in the other process: on the device of the same filter string, with the same properties.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.import("weft.memory")?.getattr("_restore_queue")?;
        let options = self.0.options();
        let state = (self.0.filter(), options.in_order, options.profiling);
        Ok((restore, state.into_pyobject(py)?))
    }

    fn __repr__(&self) -> String {
        format!("<weft.Queue on {}>", describe(&self.0))
    }
}
