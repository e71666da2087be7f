//! What a decorated function is, whichever door it is behind: its Python function, its text, its specialisations.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

use crate::guards::Scope;
use crate::key::Word;
use crate::resolve::{cells_of, scope_of};
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
    /// Where its global names are.
    pub(crate) scope: Scope,
    /// Its closure.
    pub(crate) cells: Vec<(String, Py<PyAny>)>,
    /// `parallel=False` was asked for.
    pub(crate) serial: bool,
    /// Whether to release the GIL; `None` decides by the work.
    pub(crate) nogil: Option<bool>,
    /// Arguments can be taken as they come when all are given by position.
    positional: bool,
    binder: PyOnceLock<Py<PyAny>>,
    specialisations: Mutex<Vec<Arc<Specialisation>>>,
}

impl Function {
    pub(crate) fn new(
        function: &Bound<'_, PyAny>,
        source: Py<PyAny>,
        parameters: Vec<String>,
        parallel: &Bound<'_, PyAny>,
        nogil: Option<bool>,
    ) -> PyResult<Function> {
        let code = function.getattr("__code__")?;
        Ok(Function {
            name: function.getattr("__name__")?.extract()?,
            scope: scope_of(function)?,
            cells: cells_of(function)?,
            serial: parallel.extract::<bool>().is_ok_and(|on| !on),
            positional: code.getattr("co_kwonlyargcount")?.extract::<u32>()? == 0,
            py_func: function.clone().unbind(),
            source,
            parameters,
            nogil,
            binder: PyOnceLock::new(),
            specialisations: Mutex::default(),
        })
    }

    /// Whether so many positional arguments, and no others, are one for each parameter.
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

    fn all(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Specialisation>>> {
        self.specialisations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The specialisation for a key whose assumptions hold. The last one used is looked at first.
    pub(crate) fn find(&self, py: Python<'_>, key: &[Word]) -> Option<Arc<Specialisation>> {
        let holds = |s: &Specialisation| s.key.as_slice() == key && s.guards.iter().all(|g| g.holds(py, &self.scope));
        // Checking guards may run Python code: not under the lock.
        let last = self.last()?;
        if holds(&last) {
            return Some(last);
        }
        let others: SmallVec<[Arc<Specialisation>; 2]> =
            self.all().iter().rev().skip(1).filter(|s| s.key.as_slice() == key).cloned().collect();
        let found = others.into_iter().find(|s| holds(s))?;
        let mut all = self.all();
        if let Some(at) = all.iter().position(|s| Arc::ptr_eq(s, &found)) {
            let used = all.remove(at);
            all.push(used);
        }
        Some(found)
    }

    /// Adds a specialisation, as the last used. Compiling lets other threads run: if one of them was faster with the same,
    /// that one is kept.
    pub(crate) fn add(&self, py: Python<'_>, made: Specialisation) -> Arc<Specialisation> {
        if let Some(found) = self.find(py, &made.key) {
            return found;
        }
        let made = Arc::new(made);
        self.all().push(made.clone());
        made
    }

    /// Every specialisation in the order in which they were made.
    pub(crate) fn in_order(&self) -> Vec<Arc<Specialisation>> {
        let mut all = self.all().clone();
        all.sort_by_key(|s| s.number);
        all
    }

    /// The one used last.
    pub(crate) fn last(&self) -> Option<Arc<Specialisation>> {
        self.all().last().cloned()
    }

    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.py_func)?;
        visit.call(&self.source)?;
        visit.call(&self.scope.globals)?;
        self.cells.iter().try_for_each(|(_, cell)| visit.call(cell))?;
        // Nobody holds the lock for longer than a few instructions; if somebody does now, the next collection sees it.
        let Ok(specialisations) = self.specialisations.try_lock() else { return Ok(()) };
        // Shared ones are in use by a call, which keeps them.
        let owned = specialisations.iter().filter(|s| Arc::strong_count(s) == 1);
        owned.flat_map(|s| &s.guards).try_for_each(|guard| guard.traverse(visit))
    }
}
