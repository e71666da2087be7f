//! What a specialisation assumed about globals and closure variables, checked at each call.
//!
//! Names in dictionaries (globals, builtins, modules) are grouped by dictionary: where CPython counts the changes of a
//! dictionary, an unchanged count is all that is looked at. Else each name is looked up, and must lead to the same
//! object, or to an equal number.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString};
use weft_ir::Weak;

use crate::arguments::array_word;
use crate::array_like::plain_array;
use crate::key::Word;

unsafe extern "C" {
    /// Not in the limited API, but exported by every CPython 3, with this signature.
    fn PyCell_Get(cell: *mut ffi::PyObject) -> *mut ffi::PyObject;
}

/// The namespaces that a function's global names are looked up in.
pub(crate) struct Scope {
    pub(crate) globals: Py<PyDict>,
    pub(crate) builtins: Py<PyDict>,
}

/// What a dictionary holds under a name, borrowed from it.
pub(crate) fn lookup<'py>(py: Python<'py>, dict: &Py<PyDict>, name: &Py<PyString>) -> Option<Bound<'py, PyAny>> {
    // SAFETY: both are live objects of the right types; the answer is borrowed from the dictionary.
    unsafe {
        let found = ffi::PyDict_GetItemWithError(dict.as_ptr(), name.as_ptr());
        Bound::from_borrowed_ptr_or_opt(py, found)
    }
}

/// What a closure cell holds; `None` if it is empty.
pub(crate) fn cell_contents<'py>(cell: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    // SAFETY: a live cell; the answer is a new reference or null.
    unsafe { Bound::from_owned_ptr_or_opt(cell.py(), PyCell_Get(cell.as_ptr())) }
}

/// What some name must lead to.
pub(crate) enum Expected {
    /// Nothing.
    Absent,
    /// This object, or an equal number.
    Object(Py<PyAny>),
}

impl Expected {
    fn holds(&self, py: Python<'_>, now: Option<&Bound<'_, PyAny>>) -> bool {
        match (self, now) {
            (Expected::Absent, None) => true,
            (Expected::Object(before), Some(now)) => same(before.bind(py), now),
            _ => false,
        }
    }
}

/// Where a name is looked up.
pub(crate) enum Place {
    /// A closure cell.
    Cell(Py<PyAny>),
    /// A dictionary.
    Dict(Py<PyDict>, Py<PyString>),
    /// An attribute of an object that is no module: looking may run code.
    Attribute(Py<PyAny>, Py<PyString>),
}

impl Place {
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        match self {
            Place::Cell(cell) => cell_contents(cell.bind(py)),
            Place::Dict(dict, name) => lookup(py, dict, name),
            Place::Attribute(object, name) => object.bind(py).getattr(name.bind(py)).ok(),
        }
    }

    fn clone_ref(&self, py: Python<'_>) -> Place {
        match self {
            Place::Cell(cell) => Place::Cell(cell.clone_ref(py)),
            Place::Dict(dict, name) => Place::Dict(dict.clone_ref(py), name.clone_ref(py)),
            Place::Attribute(object, name) => Place::Attribute(object.clone_ref(py), name.clone_ref(py)),
        }
    }

    /// What it keeps alive, where that is not a namespace.
    fn held(&self) -> Option<&Py<PyAny>> {
        match self {
            Place::Cell(object) | Place::Attribute(object, _) => Some(object),
            Place::Dict(..) => None,
        }
    }

    pub(crate) fn is_same(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Cell(a), Place::Cell(b)) => a.is(b),
            (Place::Dict(a, m), Place::Dict(b, n)) => a.is(b) && m.is(n),
            (Place::Attribute(a, m), Place::Attribute(b, n)) => a.is(b) && m.is(n),
            _ => false,
        }
    }

    fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        match self {
            Place::Cell(object) | Place::Attribute(object, _) => visit.call(object),
            Place::Dict(dict, _) => visit.call(dict),
        }
    }
}

struct Names {
    dict: Py<PyDict>,
    /// The dictionary's count of changes when all names last held; 0 where it has none.
    version: AtomicU64,
    names: Vec<(Py<PyString>, Expected)>,
}

/// All assumptions of a specialisation.
#[derive(Default)]
pub(crate) struct Guards {
    dicts: Vec<Names>,
    others: Vec<(Place, Expected)>,
    /// Arrays and numbers that compiled code reads without being given them, in the order of their parameters.
    pub(crate) hidden: Vec<(Place, Word)>,
}

impl Guards {
    /// Adds an assumption; one that is there already is not added again.
    pub(crate) fn add(&mut self, place: Place, expected: Expected) {
        match place {
            Place::Dict(dict, name) => {
                let at = self.dicts.iter().position(|d| d.dict.is(&dict)).unwrap_or_else(|| {
                    self.dicts.push(Names { dict, version: AtomicU64::new(0), names: vec![] });
                    self.dicts.len() - 1
                });
                let names = &mut self.dicts[at].names;
                if !names.iter().any(|(n, _)| n.is(&name)) {
                    names.push((name, expected));
                }
            }
            place => {
                if !self.others.iter().any(|(p, _)| p.is_same(&place)) {
                    self.others.push((place, expected));
                }
            }
        }
    }

    /// Keeps these of what is read, in this order.
    pub(crate) fn keep_hidden(&mut self, order: &[u32]) {
        let mut found: Vec<Option<(Place, Word)>> = std::mem::take(&mut self.hidden).into_iter().map(Some).collect();
        self.hidden = order.iter().filter_map(|&k| found.get_mut(k as usize).and_then(Option::take)).collect();
    }

    /// Whether everything still is as it was.
    #[inline]
    pub(crate) fn hold(&self, py: Python<'_>) -> bool {
        self.dicts.iter().all(|d| d.hold(py))
            && self.others.iter().all(|(p, e)| e.holds(py, p.get(py).as_ref()))
            && self.hidden.iter().all(|(p, word)| p.get(py).is_some_and(|object| word_of(&object) == Some(*word)))
    }

    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        let object = |expected: &Expected| match expected {
            Expected::Object(object) => visit.call(object),
            _ => Ok(()),
        };
        for names in &self.dicts {
            visit.call(&names.dict)?;
            names.names.iter().try_for_each(|(_, e)| object(e))?;
        }
        for (place, expected) in &self.others {
            place.traverse(visit)?;
            object(expected)?;
        }
        self.hidden.iter().try_for_each(|(place, _)| place.traverse(visit))
    }
}

/// The word of an array or number that compiled code can read without being given it.
pub(crate) fn word_of(object: &Bound<'_, PyAny>) -> Option<Word> {
    // SAFETY: a live object, under the GIL.
    match unsafe { plain_array(object.as_ptr()) } {
        Some(view) => array_word(view),
        None if object.is_exact_instance_of::<PyFloat>() => Some(Word::weak(Weak::Float)),
        None if object.is_exact_instance_of::<PyInt>() => {
            object.extract::<i64>().is_ok().then_some(Word::weak(Weak::Int))
        }
        None => None,
    }
}

/// How often the numbers that a function's names stand for have changed. One that goes on changing is read at every
/// call instead of being compiled in.
#[derive(Default)]
pub(crate) struct Numbers(Mutex<Vec<Number>>);

/// What a name stands for, and how often that has changed.
type Number = (Place, Py<PyAny>, u32);

impl Numbers {
    /// Notes what a name stands for now, and says how often that has changed.
    pub(crate) fn changes(&self, place: &Place, object: &Bound<'_, PyAny>) -> u32 {
        let py = object.py();
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.iter_mut().find(|(p, ..)| p.is_same(place)) {
            Some((_, before, changes)) => {
                if !same(before.bind(py), object) {
                    *before = object.clone().unbind();
                    *changes += 1;
                }
                *changes
            }
            None => {
                seen.push((place.clone_ref(py), object.clone().unbind(), 0));
                0
            }
        }
    }

    /// Forgets closure variables and objects that nobody else has any more.
    pub(crate) fn forget_unused(&self, py: Python<'_>) {
        // SAFETY: a live object, under the GIL; the count is only looked at.
        let count = |object: &Py<PyAny>| unsafe { ffi::Py_REFCNT(object.bind(py).as_ptr()) };
        let gone: Vec<_> = {
            let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let mut ours: HashMap<*mut ffi::PyObject, ffi::Py_ssize_t> = HashMap::new();
            seen.iter().filter_map(|(place, ..)| place.held()).for_each(|o| *ours.entry(o.as_ptr()).or_default() += 1);
            let alone = |place: &Place| place.held().is_some_and(|o| ours.get(&o.as_ptr()) == Some(&count(o)));
            seen.extract_if(.., |(place, ..)| alone(place)).collect()
        };
        // Not under the lock: what they hold may run code of its own when it goes.
        drop(gone);
    }

    /// Takes out all of them.
    pub(crate) fn forget_all(&self) -> Vec<Number> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        let Ok(seen) = self.0.try_lock() else { return Ok(()) };
        seen.iter().try_for_each(|(place, ..)| place.traverse(visit))
    }
}

impl Names {
    #[inline]
    fn hold(&self, py: Python<'_>) -> bool {
        let version = version(self.dict.bind(py));
        if version != 0 && version == self.version.load(Ordering::Relaxed) {
            return true;
        }
        let holds = self.names.iter().all(|(name, e)| e.holds(py, lookup(py, &self.dict, name).as_ref()));
        if holds {
            self.version.store(version, Ordering::Relaxed);
        }
        holds
    }
}

/// The beginning of CPython's dictionaries up to 3.13.
#[repr(C)]
struct DictHead {
    head: [usize; 2],
    used: isize,
    version: u64,
}

/// How often CPython has changed a dictionary, or 0 where this CPython does not count.
#[inline]
fn version(dict: &Bound<'_, PyDict>) -> u64 {
    static COUNTED: OnceLock<bool> = OnceLock::new();
    // SAFETY: every dictionary is larger than this head; what the word means was tried out.
    let read = |dict: &Bound<'_, PyDict>| unsafe { (*(dict.as_ptr() as *const DictHead)).version };
    let counted = COUNTED.get_or_init(|| {
        let probe = PyDict::new(dict.py());
        let mut seen = vec![];
        let steps: [&dyn Fn() -> PyResult<()>; 4] =
            [&|| probe.set_item("a", 1), &|| probe.set_item("b", 2), &|| probe.set_item("a", 3), &|| {
                probe.del_item("a")
            }];
        for step in steps {
            if step().is_err() {
                return false;
            }
            seen.push(read(&probe));
        }
        seen.windows(2).all(|w| w[0] != w[1]) && !seen.contains(&0) && seen[3] == read(&probe)
    });
    if *counted { read(dict) } else { 0 }
}

/// Whether two objects are one, or Python numbers that no program can tell apart by value.
#[inline]
pub(crate) fn same(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> bool {
    a.is(b) || same_number(a, b)
}

fn same_number(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> bool {
    if a.is_exact_instance_of::<PyFloat>() && b.is_exact_instance_of::<PyFloat>() {
        let bits = |x: &Bound<'_, PyAny>| x.extract::<f64>().map(f64::to_bits).ok();
        return bits(a) == bits(b);
    }
    let number = |x: &Bound<'_, PyAny>| x.is_exact_instance_of::<PyInt>();
    number(a) && number(b) && a.eq(b).unwrap_or(false)
}
