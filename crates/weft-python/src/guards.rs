//! What a specialisation assumed about globals and closure variables, checked at each call.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

/// Where a name is looked up first.
pub(crate) enum Root {
    /// A closure cell.
    Cell(Py<PyAny>),
    /// The function's globals, then builtins.
    Global(Py<PyString>),
}

/// One assumption: this path led to this object.
pub(crate) struct Guard {
    pub(crate) root: Root,
    /// Attributes of user modules along the way.
    pub(crate) attributes: Vec<Py<PyString>>,
    /// What it led to; `None` where there was nothing.
    pub(crate) expected: Option<Py<PyAny>>,
}

/// The namespaces that a function's global names are looked up in.
pub(crate) struct Scope {
    pub(crate) globals: Py<PyDict>,
    pub(crate) builtins: Py<PyDict>,
}

impl Scope {
    /// What a global name stands for now.
    pub(crate) fn global<'py>(&self, py: Python<'py>, name: &Py<PyString>) -> Option<Bound<'py, PyAny>> {
        let find = |dict: &Py<PyDict>| {
            // SAFETY: both are live objects of the right types; the answer is borrowed from the dictionary.
            unsafe {
                let found = ffi::PyDict_GetItemWithError(dict.as_ptr(), name.as_ptr());
                Bound::from_borrowed_ptr_or_opt(py, found)
            }
        };
        find(&self.globals).or_else(|| find(&self.builtins))
    }
}

impl Root {
    /// What the root stands for now.
    pub(crate) fn get<'py>(&self, py: Python<'py>, scope: &Scope) -> Option<Bound<'py, PyAny>> {
        match self {
            Root::Global(name) => scope.global(py, name),
            // An empty cell raises ValueError.
            Root::Cell(cell) => cell.bind(py).getattr(pyo3::intern!(py, "cell_contents")).ok(),
        }
    }
}

impl Guard {
    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        if let Root::Cell(cell) = &self.root {
            visit.call(cell)?;
        }
        visit.call(&self.expected)
    }

    /// Whether the path still leads to the same object, or to an equal number.
    pub(crate) fn holds(&self, py: Python<'_>, scope: &Scope) -> bool {
        let mut now = self.root.get(py, scope);
        for name in &self.attributes {
            now = now.and_then(|object| object.getattr(name.bind(py)).ok());
        }
        match (&self.expected, now) {
            (None, None) => true,
            (Some(before), Some(now)) => before.is(&now) || same_number(before.bind(py), &now),
            _ => false,
        }
    }
}

/// Whether two objects are Python numbers that no program can tell apart by value.
fn same_number(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> bool {
    if a.is_exact_instance_of::<PyFloat>() && b.is_exact_instance_of::<PyFloat>() {
        let bits = |x: &Bound<'_, PyAny>| x.extract::<f64>().map(f64::to_bits).ok();
        return bits(a) == bits(b);
    }
    let number = |x: &Bound<'_, PyAny>| x.is_exact_instance_of::<PyInt>() && !x.is_instance_of::<PyBool>();
    number(a) && number(b) && a.eq(b).unwrap_or(false)
}
