//! The open device context of this thread or task.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::queue::Queue;

unsafe extern "C" {
    /// Not in the limited API, but exported by every CPython since 3.7, with this signature.
    fn PyContextVar_Get(
        var: *mut ffi::PyObject,
        default: *mut ffi::PyObject,
        value: *mut *mut ffi::PyObject,
    ) -> std::ffi::c_int;
}

/// The `contextvars.ContextVar` that `weft.device_context` sets.
static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Whether a context was ever opened: calls in programs without contexts do not look.
static USED: AtomicBool = AtomicBool::new(false);

/// Names the variable. Called once, by `weft._placement`.
#[pyfunction]
pub(crate) fn set_context_variable(py: Python<'_>, variable: Py<PyAny>) {
    let _ = VARIABLE.set(py, variable);
}

/// Notes that a context is opened.
#[pyfunction]
pub(crate) fn context_opened() {
    USED.store(true, Ordering::Relaxed);
}

/// The queue of the innermost open context.
pub(crate) fn current(py: Python<'_>) -> PyResult<Option<Arc<weft_runtime::Queue>>> {
    if !USED.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let Some(variable) = VARIABLE.get(py) else { return Ok(None) };
    let mut value = std::ptr::null_mut();
    // SAFETY: a live ContextVar, no default, and a place for the answer, which is a new reference or null.
    let value = unsafe {
        if PyContextVar_Get(variable.as_ptr(), std::ptr::null_mut(), &mut value) < 0 {
            return Err(PyErr::fetch(py));
        }
        Bound::from_owned_ptr_or_opt(py, value)
    };
    Ok(value.and_then(|v| v.cast::<Queue>().ok().map(|q| q.get().0.clone())))
}
