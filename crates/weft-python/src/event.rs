//! `weft.Event`, and waits that Ctrl-C ends.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use smallvec::SmallVec;
use weft_ir::ExcClass;
use weft_runtime::{Foreign, Interrupter, wait_unless};

use crate::errors;
use crate::memory::Keep;

unsafe extern "C" {
    /// Of the C library, since glibc 2.30.
    safe fn gettid() -> c_int;
}

/// Whether this is the process's first thread, the only one that Python handles signals on.
fn handles_signals() -> bool {
    u32::try_from(gettid()).is_ok_and(|id| id == std::process::id())
}

/// Blocks until an event is complete, without the GIL. Handlers of signals run every 50 ms; what one raises ends the wait
/// (the operation itself goes on).
pub(crate) fn await_event(py: Python<'_>, event: &weft_hal::Event) -> PyResult<()> {
    let waited = py.detach(|| match handles_signals() {
        true => wait_unless(event, || Python::attach(|py| py.check_signals())),
        false => Ok(event.wait()),
    });
    waited?.map_err(|e| errors::from_hal(py, &e))
}

/// Lets what handlers of signals raise end jitted calls, and compiled code print. Called once, when the module is made.
pub(crate) fn install_hooks() {
    let stop = || Python::attach(|py| py.check_signals().err().map(|error| foreign(py, error)));
    weft_runtime::set_interrupter(Interrupter { listens: handles_signals, stop });
    weft_runtime::set_writer(|text| Python::attach(|py| write(py, text).map_err(|error| foreign(py, error))));
}

/// An exception on its way through compiled code, whose handlers know it by the first of its classes that they know.
fn foreign(py: Python<'_>, error: PyErr) -> Foreign {
    let known = |class: Bound<'_, PyAny>| {
        let class = class.cast_into::<PyType>().ok()?;
        let builtin = class.module().is_ok_and(|module| module == "builtins");
        ExcClass::from_name(class.name().ok()?.to_str().ok()?).filter(|_| builtin)
    };
    let class = error.get_type(py).mro().iter().find_map(known);
    Foreign { class: class.unwrap_or(ExcClass::BaseException), error: Arc::new(error) }
}

/// Writes what compiled code prints to Python's standard output, as `print` does: nowhere if that is None.
fn write(py: Python<'_>, text: &str) -> PyResult<()> {
    let Some(out) = py.import("sys")?.getattr_opt("stdout")? else {
        return Err(PyRuntimeError::new_err("lost sys.stdout"));
    };
    if !out.is_none() && !text.is_empty() {
        out.call_method1("write", (text,))?;
    }
    Ok(())
}

/// What dropped events still keep: memory of operations that are not complete, oldest first.
static ORPHANS: Mutex<VecDeque<(weft_hal::Event, Vec<Keep>)>> = Mutex::new(VecDeque::new());

/// How many of them a new event looks at: more than it can add, so that their number does not grow with the work done.
const LOOK_AT: usize = 4;

/// Lets go of what complete operations kept. Needs the GIL, since Python's memory is among it.
fn sweep(_py: Python<'_>) {
    let mut orphans = ORPHANS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut done = SmallVec::<[_; LOOK_AT]>::new();
    for _ in 0..LOOK_AT.min(orphans.len()) {
        let Some(oldest) = orphans.pop_front() else { break };
        match oldest.0.is_complete() {
            true => done.push(oldest),
            // Later: those of other queues may be further.
            false => orphans.push_back(oldest),
        }
    }
    // After the lock: dropping may run Python code.
    drop(orphans);
    drop(done);
}

/// A submitted operation.
#[pyclass(frozen, module = "weft")]
pub(crate) struct Event {
    inner: weft_hal::Event,
    /// Not the objects, which would keep those they waited for, and so on without end.
    waits: Vec<weft_hal::Event>,
    keep: Mutex<Vec<Keep>>,
}

impl Event {
    /// An event with what it waited for, and with the memory that must live until it is complete.
    pub(crate) fn new(
        py: Python<'_>,
        inner: weft_hal::Event,
        waits: Vec<Py<Event>>,
        keep: Vec<Keep>,
    ) -> PyResult<Py<Event>> {
        sweep(py);
        let keep = if keep.is_empty() || inner.is_complete() { vec![] } else { keep };
        let waits = waits.iter().map(|e| e.get().inner.clone()).collect();
        Py::new(py, Event { inner, waits, keep: Mutex::new(keep) })
    }

    pub(crate) fn inner(&self) -> &weft_hal::Event {
        &self.inner
    }

    fn times(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        await_event(py, &self.inner)?;
        self.inner.profiling().ok_or_else(|| {
            let text = "this event has no device times: make its queue with weft.Queue(where, profiling=True)";
            errors::new(py, "DeviceError", text)
        })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let keep = std::mem::take(self.keep.get_mut().unwrap_or_else(PoisonError::into_inner));
        if !keep.is_empty() && !self.inner.is_complete() {
            let mut orphans = ORPHANS.lock().unwrap_or_else(PoisonError::into_inner);
            orphans.push_back((self.inner.clone(), keep));
        }
    }
}

/// Events from an argument: `None`, one event, or several.
pub(crate) fn wait_list(py: Python<'_>, events: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Py<Event>>> {
    let Some(events) = events.filter(|e| !e.is_none()) else { return Ok(vec![]) };
    if let Ok(one) = events.cast::<Event>() {
        return Ok(vec![one.clone().unbind()]);
    }
    let wrong = |object: &Bound<'_, PyAny>| -> PyErr {
        let ty = object.get_type().qualname().map_or_else(|_| "?".to_owned(), |n| n.to_string());
        PyTypeError::new_err(format!("expected a weft.Event or several, not {ty}"))
    };
    let several = events.try_iter().map_err(|_| wrong(events))?;
    let mut list = vec![];
    for one in several {
        let one = one?;
        list.push(one.cast::<Event>().map_err(|_| wrong(&one))?.clone().unbind());
    }
    let _ = py;
    Ok(list)
}

#[pymethods]
impl Event {
    /// An event that is complete.
    #[new]
    fn py_new() -> Event {
        Event { inner: weft_hal::Event::ready(), waits: vec![], keep: Mutex::default() }
    }

    /// `"submitted"` while what it waits for is not complete, then `"running"`, then `"complete"`.
    #[getter]
    fn execution_status(&self) -> &'static str {
        if self.inner.is_complete() {
            "complete"
        } else if self.waits.iter().all(weft_hal::Event::is_complete) {
            "running"
        } else {
            "submitted"
        }
    }

    /// `execution_status`, by a shorter name.
    #[getter]
    fn status(&self) -> &'static str {
        self.execution_status()
    }

    /// Whether the operation is over, well or badly.
    #[getter]
    fn is_complete(&self) -> bool {
        self.inner.is_complete()
    }

    /// Blocks until the operation is over, and raises if it failed. May be called again.
    pub(crate) fn wait(&self, py: Python<'_>) -> PyResult<()> {
        await_event(py, &self.inner)?;
        let kept = std::mem::take(&mut *self.keep.lock().unwrap_or_else(PoisonError::into_inner));
        drop(kept);
        Ok(())
    }

    /// Blocks until all of several events are complete.
    #[staticmethod]
    fn wait_for(py: Python<'_>, events: &Bound<'_, PyAny>) -> PyResult<()> {
        wait_list(py, Some(events))?.iter().try_for_each(|e| e.get().wait(py))
    }

    /// The events it waited for, as objects of their own, which no longer know what those waited for.
    fn get_wait_list(&self) -> Vec<Event> {
        let again = |e: &weft_hal::Event| Event { inner: e.clone(), waits: vec![], keep: Mutex::default() };
        self.waits.iter().map(again).collect()
    }

    /// When it was handed to the device, in nanoseconds of the device's clock. Waits; needs a queue with profiling.
    #[getter]
    fn profiling_info_submit(&self, py: Python<'_>) -> PyResult<u64> {
        let (start, _) = self.times(py)?;
        Ok(self.inner.submitted().map_or(start, |t| t.min(start)))
    }

    /// When it started, in nanoseconds of the device's clock. Waits; needs a queue with profiling.
    #[getter]
    fn profiling_info_start(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.times(py)?.0)
    }

    /// When it ended, in nanoseconds of the device's clock. Waits; needs a queue with profiling.
    #[getter]
    fn profiling_info_end(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.times(py)?.1)
    }

    fn __repr__(&self) -> String {
        format!("<weft.Event {}>", self.execution_status())
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        // Locked for a few instructions only; if it is now, the next collection sees what it holds.
        let Ok(keep) = self.keep.try_lock() else { return Ok(()) };
        keep.iter().try_for_each(|kept| match kept {
            Keep::Host(view) => view.traverse(&visit),
            Keep::Buffer(_) => Ok(()),
        })
    }
}
