//! Arguments that a specialisation is for: strings, types, and functions, which have no run-time form, and numbers that a call
//! left to their default.
//!
//! Each decorated function numbers those it was called with; the number is in the dispatch key. Two functions are the
//! same if they have the same code, globals, defaults and closed-over values, so that a lambda written in a call is
//! compiled once. That keeps those values alive: of the constants that calls did not use for long, only so many stay.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyType};
use weft_ir::attr::Const;

use crate::dispatcher::Dispatcher;
use crate::guards::{cell_contents, same};
use crate::key::Word;
use crate::resolve::{is_dtype, known_name};

/// Such an argument.
pub(crate) enum Constant {
    /// A string.
    Text(String),
    /// A function or type Weft knows, by canonical name.
    Known(String),
    /// A Python function.
    Function(Closure),
    /// An int, a float or a bool.
    Number(Const),
}

/// What makes a Python function what it is.
pub(crate) struct Closure {
    /// One of the functions that are this.
    pub(crate) function: Py<PyAny>,
    code: Py<PyAny>,
    globals: Py<PyAny>,
    defaults: [Py<PyAny>; 2],
    cells: Vec<Option<Py<PyAny>>>,
}

/// How many constants of a function are kept at least.
const KEPT: usize = 64;

/// The constants that one decorated function was called with.
#[derive(Default)]
pub(crate) struct Constants(Mutex<Table>);

#[derive(Default)]
struct Table {
    /// Each with its number, the one used last at the end.
    known: Vec<(u32, Constant)>,
    /// The next number. None is given twice: keys with old ones may be about.
    next: u32,
}

impl Constants {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of an object, or `None` for one that cannot be an argument.
    pub(crate) fn number(&self, object: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        let made = describe(object)?;
        Ok(made.map(|made| self.number_of(object.py(), made)))
    }

    /// The number of a constant.
    pub(crate) fn number_of(&self, py: Python<'_>, made: Constant) -> u32 {
        let mut table = self.table();
        let is_same = |known: &Constant| match (known, &made) {
            (Constant::Text(a), Constant::Text(b)) | (Constant::Known(a), Constant::Known(b)) => a == b,
            (Constant::Function(a), Constant::Function(b)) => a.is_same(py, b),
            (Constant::Number(Const::Float(a)), Constant::Number(Const::Float(b))) => a.to_bits() == b.to_bits(),
            (Constant::Number(a), Constant::Number(b)) => a == b,
            _ => false,
        };
        if let Some(at) = table.known.iter().rposition(|(_, known)| is_same(known)) {
            table.known[at..].rotate_left(1);
            return table.known[table.known.len() - 1].0;
        }
        let number = table.next;
        table.next += 1;
        table.known.push((number, made));
        number
    }

    /// The object behind a function's number; a text or a name for what is none.
    pub(crate) fn get<T>(&self, number: u32, read: impl FnOnce(&Constant) -> T) -> Option<T> {
        self.table().known.iter().find(|(n, _)| *n == number).map(|(_, constant)| read(constant))
    }

    /// Takes out those that were not used for longest, where there are too many. Those of a key stay.
    pub(crate) fn forget_old(&self, key: &[Word]) -> Vec<(u32, Constant)> {
        let mut table = self.table();
        let mut surplus = table.known.len().saturating_sub(KEPT);
        let mut taken = vec![];
        let mut at = 0;
        while surplus > 0 && at < table.known.len() {
            if key.contains(&Word::constant(table.known[at].0)) {
                at += 1;
            } else {
                taken.push(table.known.remove(at));
                surplus -= 1;
            }
        }
        taken
    }

    /// Takes out all of them.
    pub(crate) fn forget_all(&self) -> Vec<(u32, Constant)> {
        std::mem::take(&mut self.table().known)
    }

    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        let Ok(table) = self.0.try_lock() else { return Ok(()) };
        for (_, constant) in &table.known {
            if let Constant::Function(closure) = constant {
                visit.call(&closure.function)?;
                visit.call(&closure.code)?;
                visit.call(&closure.globals)?;
                closure.defaults.iter().try_for_each(|d| visit.call(d))?;
                closure.cells.iter().try_for_each(|c| visit.call(c))?;
            }
        }
        Ok(())
    }
}

fn describe(object: &Bound<'_, PyAny>) -> PyResult<Option<Constant>> {
    let py = object.py();
    if object.is_exact_instance_of::<PyString>() {
        return Ok(Some(Constant::Text(object.extract()?)));
    }
    if let Some(name) = known_name(py, object)? {
        return Ok(Some(Constant::Known(name)));
    }
    if object.is_instance_of::<PyType>() || is_dtype(object) {
        return Ok(None);
    }
    let plain = match object.cast::<Dispatcher>() {
        Ok(jitted) => jitted.get().function().py_func.bind(py).clone(),
        Err(_) => object.clone(),
    };
    if !is_function(&plain) {
        return Ok(None);
    }
    let closure = plain.getattr("__closure__")?;
    let cells = match closure.is_none() {
        true => vec![],
        false => {
            closure.try_iter()?.map(|cell| Ok(cell_contents(&cell?).map(Bound::unbind))).collect::<PyResult<_>>()?
        }
    };
    Ok(Some(Constant::Function(Closure {
        code: plain.getattr("__code__")?.unbind(),
        globals: plain.getattr("__globals__")?.unbind(),
        defaults: [plain.getattr("__defaults__")?.unbind(), plain.getattr("__kwdefaults__")?.unbind()],
        cells,
        function: object.clone().unbind(),
    })))
}

/// An int, a float or a bool of Python's that compiled code can hold.
pub(crate) fn as_number(object: &Bound<'_, PyAny>) -> Option<Const> {
    if object.is_exact_instance_of::<PyBool>() {
        return object.is_truthy().ok().map(Const::Bool);
    }
    if object.is_exact_instance_of::<PyInt>() {
        return object.extract::<i64>().ok().map(|n| Const::Int(n.into()));
    }
    object.cast_exact::<PyFloat>().ok().map(|x| Const::Float(x.value()))
}

/// Whether an object is a function written in Python.
pub(crate) fn is_function(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().name().is_ok_and(|name| name == "function") && object.hasattr("__code__").unwrap_or(false)
}

impl Closure {
    fn is_same(&self, py: Python<'_>, other: &Closure) -> bool {
        let contents = |a: &Option<Py<PyAny>>, b: &Option<Py<PyAny>>| match (a, b) {
            (Some(a), Some(b)) => same(a.bind(py), b.bind(py)),
            (a, b) => a.is_none() && b.is_none(),
        };
        self.code.is(&other.code)
            && self.globals.is(&other.globals)
            && self.defaults.iter().zip(&other.defaults).all(|(a, b)| a.is(b))
            && self.cells.len() == other.cells.len()
            && self.cells.iter().zip(&other.cells).all(|(a, b)| contents(a, b))
    }
}
