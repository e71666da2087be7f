//! What the global names of a function stand for: the compiler's `Resolver` over Python's namespaces.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyModule, PyString};
use weft_ir::DType;
use weft_ir::attr::Const;
use weft_passes::infer::{Resolved, Resolver, known_functions};

use crate::guards::{Guard, Root, Scope};
use crate::numpy::{ArrayView, read_scalar, scalar_dtype};

/// Looks names up for one compilation, and notes what it found.
pub(crate) struct Names<'a, 'py> {
    py: Python<'py>,
    scope: &'a Scope,
    /// Closure variables and their cells.
    cells: &'a [(String, Py<PyAny>)],
    /// Every assumption made.
    pub(crate) guards: Vec<Guard>,
}

impl<'a, 'py> Names<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, scope: &'a Scope, cells: &'a [(String, Py<PyAny>)]) -> Names<'a, 'py> {
        Names { py, scope, cells, guards: vec![] }
    }

    fn root(&self, name: &str) -> Root {
        match self.cells.iter().find(|(cell, _)| cell == name) {
            Some((_, cell)) => Root::Cell(cell.clone_ref(self.py)),
            None => Root::Global(PyString::intern(self.py, name).unbind()),
        }
    }

    /// Names in scope, for suggestions.
    fn candidates(&self) -> Vec<String> {
        let mut names: Vec<String> = self.cells.iter().map(|(name, _)| name.clone()).collect();
        for dict in [&self.scope.globals, &self.scope.builtins] {
            names.extend(dict.bind(self.py).keys().iter().filter_map(|k| k.extract::<String>().ok()));
        }
        names
    }

    /// Follows a path; the guard covers it up to the first module that is not the user's.
    fn follow(&mut self, path: &str) -> Result<Bound<'py, PyAny>, Resolved> {
        let mut parts = path.split('.');
        let first = parts.next().unwrap_or_default();
        let root = self.root(first);
        let mut object = root.get(self.py, self.scope);
        let mut guard = Guard { root, attributes: vec![], expected: object.as_ref().map(|o| o.clone().unbind()) };
        let mut guarded = true;
        for part in parts {
            let Some(from) = &object else { break };
            guarded &= !is_library(from);
            let name = PyString::intern(self.py, part);
            let Ok(next) = from.getattr(&name) else {
                let nearest = nearest_attribute(from, part);
                self.guards.push(guard);
                return Err(Resolved::Missing { nearest });
            };
            if guarded {
                guard.attributes.push(name.unbind());
                guard.expected = Some(next.clone().unbind());
            }
            object = Some(next);
        }
        self.guards.push(guard);
        object.ok_or_else(|| {
            let candidates = self.candidates();
            let nearest = weft_diag::nearest(first, candidates.iter().map(String::as_str));
            Resolved::Missing { nearest: nearest.map(str::to_owned) }
        })
    }
}

impl Resolver for Names<'_, '_> {
    fn resolve(&mut self, path: &str) -> Resolved {
        match self.follow(path) {
            Ok(object) => describe(self.py, &object).unwrap_or_else(|_| Resolved::Other { what: "an object".into() }),
            Err(missing) => missing,
        }
    }
}

/// Whether attributes of this object are taken as constant: those of modules that are nobody's to change.
fn is_library(object: &Bound<'_, PyAny>) -> bool {
    let Ok(module) = object.cast::<PyModule>() else { return false };
    let Ok(name) = module.name() else { return false };
    let name = name.to_string();
    let top = name.split('.').next().unwrap_or_default();
    ["numpy", "math", "weft", "builtins"].contains(&top)
}

fn nearest_attribute(object: &Bound<'_, PyAny>, wanted: &str) -> Option<String> {
    let names: Vec<String> = object.dir().ok()?.iter().filter_map(|n| n.extract().ok()).collect();
    weft_diag::nearest(wanted, names.iter().map(String::as_str)).map(str::to_owned)
}

/// What an object is to the compiler.
fn describe(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Resolved> {
    if let Some(name) = known(py, object)? {
        return Ok(Resolved::Function(name));
    }
    if object.is_none() {
        return Ok(Resolved::Const(Const::None));
    }
    if object.is_exact_instance_of::<PyBool>() {
        return Ok(Resolved::Const(Const::Bool(object.extract()?)));
    }
    if object.is_exact_instance_of::<PyInt>() {
        return Ok(match object.extract::<i64>() {
            Ok(value) => Resolved::Const(Const::Int(value.into())),
            Err(_) => Resolved::Other { what: "an int of more than 64 bits".into() },
        });
    }
    if object.is_exact_instance_of::<PyFloat>() {
        return Ok(Resolved::Const(Const::Float(object.extract()?)));
    }
    if object.is_exact_instance_of::<PyString>() {
        return Ok(Resolved::Const(Const::Str(object.extract()?)));
    }
    // SAFETY: a live object, under the GIL.
    if let Some(dtype) = unsafe { scalar_dtype(object.as_ptr()) }.filter(|d| d.is_supported()) {
        // SAFETY: a scalar of that dtype.
        let bits = unsafe { read_scalar(object.as_ptr(), dtype) };
        return Ok(Resolved::Scalar(dtype, scalar_const(dtype, bits)));
    }
    // SAFETY: a live object, under the GIL.
    if unsafe { ArrayView::new(object.as_ptr()) }.is_some() {
        return Ok(Resolved::Other { what: "a global array (pass it as an argument)".into() });
    }
    let what = match object.cast::<PyModule>() {
        Ok(module) => format!("the module `{}`", module.name()?),
        Err(_) if object.is_callable() => {
            let name = object.getattr("__qualname__").or_else(|_| object.getattr("__name__"));
            name.map_or_else(|_| "a callable".into(), |n| format!("the function `{n}`"))
        }
        Err(_) => format!("an object of type `{}`", object.get_type().qualname()?),
    };
    Ok(Resolved::Other { what })
}

fn scalar_const(dtype: DType, bits: u64) -> Const {
    match dtype {
        DType::Bool => Const::Bool(bits & 1 == 1),
        DType::I32 => Const::Int((bits as i32).into()),
        DType::F32 => Const::Float(f32::from_bits(bits as u32).into()),
        DType::F64 => Const::Float(f64::from_bits(bits)),
        _ => Const::Int((bits as i64).into()),
    }
}

/// The canonical name of a function that the compiler knows, by the function's identity.
fn known(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    static KNOWN: PyOnceLock<HashMap<usize, (Py<PyAny>, String)>> = PyOnceLock::new();
    let table = KNOWN.get_or_try_init(py, || {
        let mut table = HashMap::new();
        // `weft.lib` is reached through what it overloads.
        for name in known_functions().into_iter().filter(|n| !n.starts_with("weft.lib.")) {
            if let Some(function) = import_path(py, &name) {
                let function = original(&function);
                table.entry(function.as_ptr() as usize).or_insert((function.unbind(), name));
            }
        }
        PyResult::Ok(table)
    })?;
    let object = original(object);
    Ok(table.get(&(object.as_ptr() as usize)).map(|(_, name)| name.clone()))
}

/// The function that a test's stand-in stands for, or the object itself.
fn original<'py>(object: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    // Functions only: asking arrays or modules for an attribute may run code.
    if object.is_callable() && object.cast::<PyModule>().is_err() {
        let name = pyo3::intern!(object.py(), "__weft_stands_for__");
        if let Ok(Some(found)) = object.getattr_opt(name) {
            return found;
        }
    }
    object.clone()
}

/// The object behind a canonical name (`numpy.linalg.norm`), if this NumPy has it.
fn import_path<'py>(py: Python<'py>, path: &str) -> Option<Bound<'py, PyAny>> {
    let mut parts = path.split('.');
    let mut object = py.import(parts.next()?).ok()?.into_any();
    for part in parts {
        object = object.getattr(part).ok()?;
    }
    Some(object)
}

/// The namespaces of a Python function.
pub(crate) fn scope_of(function: &Bound<'_, PyAny>) -> PyResult<Scope> {
    let globals = function.getattr("__globals__")?.cast_into::<PyDict>()?;
    let builtins = function.getattr("__builtins__")?.cast_into::<PyDict>()?;
    Ok(Scope { globals: globals.unbind(), builtins: builtins.unbind() })
}

/// The closure of a Python function: variable names and their cells.
pub(crate) fn cells_of(function: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Py<PyAny>)>> {
    let closure = function.getattr("__closure__")?;
    if closure.is_none() {
        return Ok(vec![]);
    }
    let names: Vec<String> = function.getattr("__code__")?.getattr("co_freevars")?.extract()?;
    let cells: Vec<Py<PyAny>> = closure.extract()?;
    Ok(names.into_iter().zip(cells).collect())
}
