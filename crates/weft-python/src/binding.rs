//! Which argument of a call goes to which parameter.
//!
//! Calls with keywords, and such that leave numbers or `None` to their defaults, are bound here. Anything else, and whatever is
//! wrong, is CPython's own to bind: `weft._binding` makes a function that does it.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use smallvec::SmallVec;
use weft_ir::attr::Const;

use crate::constants::as_number;

/// The arguments of a call, one for each parameter.
pub(crate) type Objects = SmallVec<[*mut ffi::PyObject; 8]>;

/// The parameters of a function.
pub(crate) struct Binding {
    parameters: Vec<Parameter>,
    /// How many can be given by position; `None` for a function with `*args`.
    by_position: Option<usize>,
    /// How many cannot be given by keyword.
    not_by_keyword: usize,
}

struct Parameter {
    /// Interned, as are the keywords of calls.
    name: Py<PyString>,
    default: Option<Default>,
}

/// A default that is a number or `None`: these are in no cycle that the garbage collector must see.
struct Default {
    object: Py<PyAny>,
    number: Option<Const>,
}

impl Binding {
    pub(crate) fn of(function: &Bound<'_, PyAny>, parameters: &[String]) -> PyResult<Binding> {
        let py = function.py();
        let code = function.getattr("__code__")?;
        let flags: u32 = code.getattr("co_flags")?.extract()?;
        let defaults = py.import("weft._binding")?.getattr("defaults")?.call1((function,))?;
        let parameter = |name: &String| -> PyResult<Parameter> {
            let default = defaults.cast::<PyDict>()?.get_item(name)?.and_then(|object| {
                let number = as_number(&object);
                (number.is_some() || object.is_none()).then(|| Default { object: object.unbind(), number })
            });
            Ok(Parameter { name: PyString::intern(py, name).unbind(), default })
        };
        Ok(Binding {
            parameters: parameters.iter().map(parameter).collect::<PyResult<_>>()?,
            // 4 is CO_VARARGS.
            by_position: if flags & 4 == 0 { Some(code.getattr("co_argcount")?.extract()?) } else { None },
            not_by_keyword: code.getattr("co_posonlyargcount")?.extract()?,
        })
    }

    /// The arguments by parameter, of a call with `given` by position and `values` by keyword; `None` if CPython has to say.
    /// Borrowed from the call and from here.
    ///
    /// # Safety
    /// The objects are live; `keywords` is a tuple of strings, or null, and there are as many values.
    pub(crate) unsafe fn arrange(
        &self,
        given: &[*mut ffi::PyObject],
        values: *const *mut ffi::PyObject,
        keywords: *mut ffi::PyObject,
    ) -> Option<Objects> {
        if given.len() > self.by_position? {
            return None;
        }
        let mut objects = Objects::from_slice(given);
        objects.resize(self.parameters.len(), std::ptr::null_mut());
        // SAFETY: a tuple, with as many values.
        unsafe {
            let count = if keywords.is_null() { 0 } else { ffi::PyTuple_Size(keywords) };
            for i in 0..count {
                let name = ffi::PyTuple_GetItem(keywords, i);
                let at = self.parameters.iter().position(|p| p.name.as_ptr() == name)?;
                if at < self.not_by_keyword || !objects[at].is_null() {
                    return None;
                }
                objects[at] = *values.add(i as usize);
            }
        }
        for (object, parameter) in objects.iter_mut().zip(&self.parameters) {
            if object.is_null() {
                *object = parameter.default.as_ref()?.object.as_ptr();
            }
        }
        Some(objects)
    }

    /// The number that the argument for the `k`-th parameter is, if it is its default.
    pub(crate) fn number_default(&self, k: usize, object: *mut ffi::PyObject) -> Option<&Const> {
        let default = self.parameters[k].default.as_ref()?;
        default.number.as_ref().filter(|_| default.object.as_ptr() == object)
    }
}
