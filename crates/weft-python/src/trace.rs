//! `weft.trace()`: what was compiled, launched, copied and waited for.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use weft_runtime::trace::{Collector, Item, Records, start};

/// One thing that happened.
#[pyclass(frozen, get_all, module = "weft")]
pub(crate) struct TraceItem {
    /// The function, the kernel, or the direction of a copy.
    name: String,
    /// Filter string of the device.
    device: String,
    /// Bytes moved by a copy, bytes of code for a compile; zero otherwise.
    bytes: u64,
    /// How long the host was busy with it.
    seconds: f64,
    /// File and line in the user's source, where known.
    span: Option<(String, u32)>,
}

#[pymethods]
impl TraceItem {
    fn __repr__(&self) -> String {
        let bytes = if self.bytes > 0 { format!(", {} bytes", self.bytes) } else { String::new() };
        let span = self.span.as_ref().map_or(String::new(), |(file, line)| format!(" at {file}:{line}"));
        format!("<{} on {}{bytes}, {:.6} s{span}>", self.name, self.device, self.seconds)
    }
}

enum State {
    Ready,
    Running(Collector),
    Done(Records),
}

/// A trace of what happens inside its `with` block, in every thread.
#[pyclass(frozen, module = "weft")]
pub(crate) struct Trace(Mutex<State>);

impl Trace {
    fn items(&self, pick: impl FnOnce(Records) -> Vec<Item>) -> Vec<TraceItem> {
        let records = match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Ready => Records::default(),
            State::Running(collector) => collector.records(),
            State::Done(records) => records.clone(),
        };
        let item =
            |i: Item| TraceItem { name: i.name, device: i.device, bytes: i.bytes, seconds: i.seconds, span: i.span };
        pick(records).into_iter().map(item).collect()
    }
}

#[pymethods]
impl Trace {
    #[new]
    fn new() -> Trace {
        Trace(Mutex::new(State::Ready))
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        *slf.get().0.lock().unwrap_or_else(PoisonError::into_inner) = State::Running(start());
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Running(collector) = &*state {
            let records = collector.records();
            *state = State::Done(records);
        }
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.py().import("weft._tables")?.call_method1("trace_text", (slf,))?.extract()
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.py().import("weft._tables")?.call_method1("trace_page", (slf,))?.extract()
    }

    /// Functions compiled and loaded.
    #[getter]
    fn compiles(&self) -> Vec<TraceItem> {
        self.items(|r| r.compiles)
    }

    /// Kernels launched and parallel regions run.
    #[getter]
    fn launches(&self) -> Vec<TraceItem> {
        self.items(|r| r.launches)
    }

    /// Copies between memories.
    #[getter]
    fn copies(&self) -> Vec<TraceItem> {
        self.items(|r| r.copies)
    }

    /// Waits of the host for a device.
    #[getter]
    fn events(&self) -> Vec<TraceItem> {
        self.items(|r| r.events)
    }
}
