//! What a decorated function is, whichever door it is behind: its Python function, its text, its specialisations.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use crate::constants::Constants;
use crate::guards::Numbers;
use crate::key::Word;
use crate::specialisation::Specialisation;

/// A decorated function.
pub(crate) struct Function {
    /// The plain function.
    pub(crate) py_func: Py<PyAny>,
    /// Its name.
    pub(crate) name: String,
    /// Parameter names in declaration order.
    pub(crate) parameters: Vec<String>,
    /// A `weft._source.Source`.
    pub(crate) source: Py<PyAny>,
    /// Functions, types and strings among the arguments so far.
    pub(crate) constants: Constants,
    /// Numbers that its names stood for.
    pub(crate) numbers: Numbers,
    /// `parallel=False` was asked for.
    pub(crate) serial: bool,
    /// `boundscheck=False` was asked for: the elements of arrays are taken without a check.
    pub(crate) unchecked: bool,
    /// `overflow="wrap"` was asked for.
    pub(crate) wraps: bool,
    /// Whether to release the GIL; `None` decides by the work.
    pub(crate) nogil: Option<bool>,
    /// Arguments can be taken as they come when all are given by position.
    positional: bool,
    binder: PyOnceLock<Py<PyAny>>,
    /// All that were ever made. Calls borrow them from here, so none goes before the function does.
    specialisations: Mutex<Vec<Arc<Specialisation>>>,
    /// The one used last; null at first.
    last: AtomicPtr<Specialisation>,
}

impl Function {
    pub(crate) fn new(
        function: &Bound<'_, PyAny>,
        source: Py<PyAny>,
        parameters: Vec<String>,
        parallel: &Bound<'_, PyAny>,
        nogil: Option<bool>,
        boundscheck: Option<bool>,
        wraps: bool,
    ) -> PyResult<Function> {
        let code = function.getattr("__code__")?;
        let flags: u32 = code.getattr("co_flags")?.extract()?;
        let keyword_only: u32 = code.getattr("co_kwonlyargcount")?.extract()?;
        Ok(Function {
            name: function.getattr("__name__")?.extract()?,
            serial: parallel.extract::<bool>().is_ok_and(|on| !on),
            unchecked: boundscheck == Some(false),
            wraps,
            // 4 is CO_VARARGS: such arguments are packed into a tuple.
            positional: keyword_only == 0 && flags & 4 == 0,
            py_func: function.clone().unbind(),
            source,
            parameters,
            constants: Constants::default(),
            numbers: Numbers::default(),
            nogil,
            binder: PyOnceLock::new(),
            specialisations: Mutex::default(),
            last: AtomicPtr::default(),
        })
    }

    /// Whether so many positional arguments, and no others, are one for each parameter.
    #[inline]
    pub(crate) fn takes(&self, count: usize) -> bool {
        self.positional && count == self.parameters.len()
    }

    /// The arguments of a call in declaration order, or CPython's own TypeError.
    pub(crate) fn bind<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let by_keyword = kwargs.is_some_and(|k| !k.is_empty());
        if !by_keyword && self.takes(args.len()) {
            return Ok(args.clone());
        }
        let py = args.py();
        let binder = self.binder.get_or_try_init(py, || {
            let made = py.import("weft._binding")?.getattr("binder")?.call1((&self.py_func,))?;
            PyResult::Ok(made.unbind())
        })?;
        Ok(binder.bind(py).call(args, kwargs)?.cast_into::<PyTuple>()?)
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Specialisation>>> {
        self.specialisations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The specialisation for a key whose assumptions hold. The last one used is looked at first.
    #[inline]
    pub(crate) fn find(&self, py: Python<'_>, key: &[Word]) -> Option<&Specialisation> {
        match self.last() {
            Some(last) if last.serves(py, key) => Some(last),
            Some(_) => self.find_other(py, key),
            None => None,
        }
    }

    fn find_other(&self, py: Python<'_>, key: &[Word]) -> Option<&Specialisation> {
        // Checking guards may run Python code: not under the lock.
        let fitting: Vec<*const Specialisation> =
            self.all().iter().rev().filter(|s| s.key.as_slice() == key).map(Arc::as_ptr).collect();
        for pointer in fitting {
            // SAFETY: no specialisation goes before the function does.
            let found = unsafe { &*pointer };
            if found.serves(py, key) {
                self.last.store(pointer.cast_mut(), Ordering::Release);
                return Some(found);
            }
        }
        None
    }

    /// Adds a specialisation, as the last used. Compiling lets other threads run: if one of them was faster with the same,
    /// that one is kept.
    pub(crate) fn add(&self, py: Python<'_>, made: Specialisation) -> &Specialisation {
        if let Some(found) = self.find(py, &made.key) {
            return found;
        }
        let made = Arc::new(made);
        let pointer = Arc::as_ptr(&made);
        self.all().push(made);
        self.last.store(pointer.cast_mut(), Ordering::Release);
        // SAFETY: it is in the list now, from which nothing is taken before the function goes.
        unsafe { &*pointer }
    }

    /// Lets nothing that was compiled so far be used again.
    pub(crate) fn forget(&self) {
        self.all().iter().for_each(|s| s.retire());
        self.last.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// Every specialisation in the order in which they were made.
    pub(crate) fn in_order(&self) -> Vec<Arc<Specialisation>> {
        self.all().iter().filter(|s| !s.is_retired()).cloned().collect()
    }

    /// The one used last.
    #[inline]
    pub(crate) fn last(&self) -> Option<&Specialisation> {
        // SAFETY: null or a specialisation of the list, from which nothing is taken before the function goes.
        unsafe { self.last.load(Ordering::Acquire).as_ref() }
    }

    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.py_func)?;
        visit.call(&self.source)?;
        self.constants.traverse(visit)?;
        self.numbers.traverse(visit)?;
        // Nobody holds the lock for longer than a few instructions; if somebody does now, the next collection sees it.
        let Ok(specialisations) = self.specialisations.try_lock() else { return Ok(()) };
        // Shared ones are being looked at, by somebody who keeps them.
        let owned = specialisations.iter().filter(|s| Arc::strong_count(s) == 1);
        owned.map(|s| &s.guards).try_for_each(|guards| guards.traverse(visit))
    }
}
