//! What besides `numpy.ndarray` itself is taken as an array: subclasses without rules of their own, which are read where they
//! are, and objects that offer their memory by a protocol, of which an `ndarray` is made. `weft._arrays` decides.

use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use crate::at_work::outside;
use crate::errors;
use crate::numpy::{Api, ArrayView};

/// The functions of `weft._arrays`, found once.
struct Decisions {
    is_plain: Py<PyAny>,
    offered: Py<PyAny>,
    why_refused: Py<PyAny>,
}

fn decisions(py: Python<'_>) -> PyResult<&Decisions> {
    static DECISIONS: PyOnceLock<Decisions> = PyOnceLock::new();
    DECISIONS.get_or_try_init(py, || {
        let module = py.import("weft._arrays")?;
        let function = |name: &str| module.getattr(name).map(Bound::unbind);
        Ok(Decisions {
            is_plain: function("is_plain")?,
            offered: function("offered")?,
            why_refused: function("why_refused")?,
        })
    })
}

/// Whether a type inherits from `numpy.ndarray`.
fn inherits(ty: *mut ffi::PyTypeObject) -> bool {
    // SAFETY: both are types that live as long as the object whose type is looked at; only their MROs are read.
    unsafe { ffi::PyType_IsSubtype(ty, Api::get().array_type()) != 0 }
}

/// The array behind an object that is an `ndarray`, or of a subclass without rules of its own.
///
/// # Safety
/// As for [`ArrayView::new`].
#[inline]
pub(crate) unsafe fn plain_array<'a>(object: *mut ffi::PyObject) -> Option<ArrayView<'a>> {
    // SAFETY: passed on to the caller.
    unsafe { ArrayView::new(object).or_else(|| plain_subclass(object)) }
}

/// [`plain_array`] of what is not exactly an `ndarray`.
///
/// # Safety
/// As for [`ArrayView::new`].
pub(crate) unsafe fn plain_subclass<'a>(object: *mut ffi::PyObject) -> Option<ArrayView<'a>> {
    // SAFETY: a live object, under the GIL, as the caller vouches.
    unsafe {
        if !inherits(ffi::Py_TYPE(object)) {
            return None;
        }
        let py = Python::assume_attached();
        let object = Bound::from_borrowed_ptr(py, object);
        let plain = decisions(py).and_then(|known| known.is_plain.call1(py, (object.get_type(),)));
        let plain = plain.and_then(|answer| answer.is_truthy(py)).unwrap_or(false);
        plain.then(|| ArrayView::of_any(object.as_ptr())).flatten()
    }
}

/// Why an array of a subclass is not taken, and what to pass instead.
pub(crate) fn why_refused(object: &Bound<'_, PyAny>, name: &str) -> PyErr {
    let py = object.py();
    let said = decisions(py).and_then(|known| known.why_refused.call1(py, (object.get_type(), name)));
    match said.and_then(|message| Ok(message.bind(py).cast::<PyString>()?.to_string())) {
        Ok(message) => errors::new(py, "UnsupportedError", message),
        Err(error) => error,
    }
}

/// The `ndarray` that an object offers by the buffer protocol, `__array_interface__`, `__array__` or `__dlpack__`; `None` if it
/// offers none. It shows the object's own memory, or cannot be written.
///
/// # Errors
/// Where what it offers is no array in the host's memory.
pub(crate) fn offered<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let known = decisions(py)?;
    // The object's own code runs, and NumPy's.
    let found = outside(|| known.offered.bind(py).call1((object,)));
    match found {
        Ok(array) if array.is_none() => Ok(None),
        Ok(array) => Ok(Some(array)),
        Err(error) if error.is_instance_of::<PyException>(py) => {
            let ty = object.get_type().fully_qualified_name()?;
            let why = error.value(py).to_string();
            let message = format!(
                "the argument `{name}` is a {ty}, which gives no array in the host's memory ({}): pass a NumPy array of it",
                why.lines().next().unwrap_or("it does not say why")
            );
            let refusal = errors::new(py, "UnsupportedError", message);
            refusal.set_cause(py, Some(error));
            Err(refusal)
        }
        // Ctrl-C, and the like.
        Err(error) => Err(error),
    }
}
