//! What a decorated function is, whichever door it is behind: its Python function, its text, its specialisations.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;
use weft_ir::FastMath;
use weft_runtime::Sharing;

use crate::assumed::Calls;
use crate::binding::Binding;
use crate::constants::Constants;
use crate::guards::Numbers;
use crate::key::{Key, Word};
use crate::specialisation::Specialisation;

/// Patterns of equal sizes that a function is compiled for, for one kind of arguments.
const PATTERNS: usize = 2;

/// Options that change what compiled code computes, here and in what is called.
pub(crate) struct Modes {
    /// `overflow="wrap"` was asked for.
    pub(crate) wraps: bool,
    /// `error_model="numpy"` was asked for.
    pub(crate) divides_by_zero: bool,
    /// `debug=True` was asked for.
    pub(crate) debug: bool,
    /// `fastmath=`.
    pub(crate) fast: FastMath,
}

impl From<RawModes> for Modes {
    fn from((wraps, divides_by_zero, debug, fast): RawModes) -> Modes {
        Modes { wraps, divides_by_zero, debug, fast: FastMath::from_bits(fast).unwrap_or_default() }
    }
}

/// [`Modes`] as the decorators give them; the last are the bits of `fastmath=`.
pub(crate) type RawModes = (bool, bool, bool, u8);

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
    /// `parallel=`
    pub(crate) sharing: Sharing,
    /// `boundscheck=False` was asked for: the elements of arrays are taken without a check.
    pub(crate) unchecked: bool,
    /// What its arithmetic, and that of what it calls, may do.
    pub(crate) modes: Modes,
    /// Whether to release the GIL; `None` decides by the work.
    pub(crate) nogil: Option<bool>,
    /// Arguments can be taken as they come when all are given by position.
    positional: bool,
    /// Not a lock of PyO3's, which the garbage collector could not look into.
    binder: OnceLock<Py<PyAny>>,
    binding: PyOnceLock<Binding>,
    /// All that may be called again. Calls borrow them from here, so none goes while calls are under way.
    specialisations: Mutex<Vec<Arc<Specialisation>>>,
    /// Calls under way. Changed under the GIL alone.
    calls: AtomicUsize,
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
        modes: RawModes,
    ) -> PyResult<Function> {
        let code = function.getattr("__code__")?;
        let flags: u32 = code.getattr("co_flags")?.extract()?;
        let keyword_only: u32 = code.getattr("co_kwonlyargcount")?.extract()?;
        Ok(Function {
            name: function.getattr("__name__")?.extract()?,
            sharing: match parallel.extract() {
                Ok(true) => Sharing::Always,
                Ok(false) => Sharing::Never,
                Err(_) => Sharing::WhereItPays,
            },
            unchecked: boundscheck == Some(false),
            modes: modes.into(),
            // 4 is CO_VARARGS: such arguments are packed into a tuple.
            positional: keyword_only == 0 && flags & 4 == 0,
            py_func: function.clone().unbind(),
            source,
            parameters,
            constants: Constants::default(),
            numbers: Numbers::default(),
            nogil,
            binder: OnceLock::new(),
            binding: PyOnceLock::new(),
            specialisations: Mutex::default(),
            calls: AtomicUsize::new(0),
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
        let binder = match self.binder.get() {
            Some(binder) => binder,
            None => {
                let made = py.import("weft._binding")?.getattr("binder")?.call1((&self.py_func,))?.unbind();
                self.binder.get_or_init(|| made)
            }
        };
        Ok(binder.bind(py).call(args, kwargs)?.cast_into::<PyTuple>()?)
    }

    /// How calls are bound.
    pub(crate) fn binding(&self, py: Python<'_>) -> PyResult<&Binding> {
        self.binding.get_or_try_init(py, || Binding::of(self.py_func.bind(py), &self.parameters))
    }

    /// [`Function::binding`] if a call needed it before.
    pub(crate) fn known_binding(&self, py: Python<'_>) -> Option<&Binding> {
        self.binding.get(py)
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Specialisation>>> {
        self.specialisations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a call is under way for as long as the result lives: what [`Function::find`] and [`Function::add`]
    /// give may be used until then. Made and dropped under the GIL.
    #[inline]
    pub(crate) fn enter(&self) -> Entered<'_> {
        // Under the GIL nobody comes between.
        self.calls.store(self.calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Entered(self)
    }

    /// Before a call that has to compile for `key`: lets go of what will not be called again, and of what is for
    /// constants that are forgotten. Does nothing while another call is under way, which may use them.
    pub(crate) fn tidy(&self, py: Python<'_>, key: &[Word]) {
        if self.calls.load(Ordering::Relaxed) != 1 {
            return;
        }
        let constants = self.constants.forget_old(key);
        let is_of_these = |word: &Word| word.as_constant().is_some_and(|n| constants.iter().any(|(k, _)| *k == n));
        let gone: Vec<Arc<Specialisation>> = {
            let mut all = self.all();
            let gone = all.extract_if(.., |s| s.is_retired() || s.key.iter().any(is_of_these)).collect();
            let last = all.last().map_or(std::ptr::null(), Arc::as_ptr);
            self.last.store(last.cast_mut(), Ordering::Release);
            gone
        };
        // Not under the locks: what they refer to may run code of its own when it goes.
        drop((gone, constants));
        self.numbers.forget_unused(py);
    }

    /// The specialisation for such calls with a key whose assumptions hold. The last one used is looked at first.
    #[inline]
    pub(crate) fn find(&self, py: Python<'_>, key: &[Word], calls: Calls<'_>) -> Option<&Specialisation> {
        match self.last() {
            Some(last) if last.serves(py, key, calls) => Some(last),
            Some(_) => self.find_other(py, key, calls),
            None => None,
        }
    }

    fn find_other(&self, py: Python<'_>, key: &[Word], calls: Calls<'_>) -> Option<&Specialisation> {
        // Checking guards may run Python code: not under the lock.
        let fitting: Vec<*const Specialisation> =
            self.all().iter().rev().filter(|s| s.is_for(key)).map(Arc::as_ptr).collect();
        for pointer in fitting {
            // SAFETY: no specialisation goes while this call is under way.
            let found = unsafe { &*pointer };
            if found.serves(py, key, calls) {
                self.last.store(pointer.cast_mut(), Ordering::Release);
                return Some(found);
            }
        }
        None
    }

    /// The key to compile for, for a call that nothing serves yet: with its pattern of equal sizes, or, after a few of them, for
    /// any sizes.
    pub(crate) fn key_for(&self, call: &Key) -> Key {
        let mut key = call.clone();
        let Some((last, arguments)) = key.split_last_mut() else { return key };
        let mut patterns = SmallVec::<[Word; 4]>::new();
        for made in self.all().iter().filter(|s| !s.is_retired()) {
            if let Some((own, rest)) = made.key.split_last()
                && rest == arguments
                && !patterns.contains(own)
            {
                patterns.push(*own);
            }
        }
        if patterns.len() >= PATTERNS && !patterns.contains(last) {
            *last = Word::GENERAL;
        }
        key
    }

    /// Adds a specialisation, as the last used. Compiling lets other threads run: if one of them was faster with the same,
    /// that one is kept.
    pub(crate) fn add(&self, py: Python<'_>, made: Specialisation) -> &Specialisation {
        if let Some(found) = self.find(py, &made.key, made.assumed.calls()) {
            return found;
        }
        let made = Arc::new(made);
        let pointer = Arc::as_ptr(&made);
        self.all().push(made);
        self.last.store(pointer.cast_mut(), Ordering::Release);
        // SAFETY: it is in the list now, from which nothing is taken while this call is under way.
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
        // SAFETY: null or a specialisation of the list; what is taken from there is not the last any more.
        unsafe { self.last.load(Ordering::Acquire).as_ref() }
    }

    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.py_func)?;
        visit.call(&self.source)?;
        visit.call(self.binder.get())?;
        self.constants.traverse(visit)?;
        self.numbers.traverse(visit)?;
        // Nobody holds the lock for longer than a few instructions; if somebody does now, the next collection sees it.
        let Ok(specialisations) = self.specialisations.try_lock() else { return Ok(()) };
        // Shared ones are being looked at, by somebody who keeps them.
        for owned in specialisations.iter().filter(|s| Arc::strong_count(s) == 1) {
            owned.guards.traverse(visit)?;
            owned.origin.exceptions.iter().try_for_each(|class| visit.call(class))?;
        }
        Ok(())
    }

    /// For the garbage collector: lets go of what may lead back here, as the guard of a function that calls itself does.
    /// What it drops can be made again.
    pub(crate) fn clear(&self) {
        if self.calls.load(Ordering::Relaxed) != 0 {
            return;
        }
        self.last.store(std::ptr::null_mut(), Ordering::Release);
        let specialisations = std::mem::take(&mut *self.all());
        let constants = self.constants.forget_all();
        let numbers = self.numbers.forget_all();
        // Not under the locks: what they refer to may run code of its own when it goes.
        drop((specialisations, constants, numbers));
    }
}

/// A call under way.
pub(crate) struct Entered<'a>(&'a Function);

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.calls.store(self.0.calls.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }
}
