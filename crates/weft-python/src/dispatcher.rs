//! `@weft.njit`: a callable that finds or compiles the specialisation for its arguments.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use weft_ir::Place;
use weft_passes::infer::Door;
use weft_passes::pipeline::PASSES;
use weft_runtime::Sharing;

use crate::arguments::Arguments;
use crate::assumed::Calls;
use crate::at_work::border;
use crate::binding::Objects;
use crate::compile::{Request, compile};
use crate::function::{Function, RawModes};
use crate::key::{Key, Word};
use crate::placement::Placement;
use crate::report::report;
use crate::run::Ran;
use crate::settings::{OffloadConflict, offload_conflict};
use crate::signature::{describe, push_words};
use crate::specialisation::{AFTER, Specialisation, Specialization};
use crate::vectorcall::{self, Vectorcall};
use crate::whole::Whole;
use crate::{context, errors, run};

/// A jitted function.
#[pyclass(frozen, dict, weakref, module = "weft")]
pub(crate) struct Dispatcher {
    /// Read by CPython, at the offset that the type names.
    vectorcall: Option<Vectorcall>,
    function: Whole<Function>,
}

/// The stages that `inspect` knows.
const STAGES: [&str; 9] = ["py", "ntensor", "placed", "fused", "loops", "llvm", "asm", "ptx", "spirv"];

/// The objects of a tuple, borrowed from it.
pub(crate) fn pointers(args: &Bound<'_, PyTuple>) -> Objects {
    // SAFETY: the index is in range; the reference is the tuple's.
    (0..args.len()).map(|i| unsafe { ffi::PyTuple_GetItem(args.as_ptr(), i as ffi::Py_ssize_t) }).collect()
}

impl Dispatcher {
    /// The function behind it.
    pub(crate) fn function(&self) -> &Function {
        &self.function
    }

    /// Where CPython finds the entry.
    pub(crate) fn vectorcall_address(&self) -> usize {
        &raw const self.vectorcall as usize
    }

    /// A call with keywords, defaults, or the wrong number of arguments.
    pub(crate) fn call(&self, args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<Py<PyAny>> {
        let args = self.function.bind(args, kwargs)?;
        let (py, objects) = (args.py(), pointers(&args));
        let binding = self.function.binding(py)?;
        let omitted = |(k, &object): (usize, &*mut ffi::PyObject)| binding.number_default(k, object).is_some();
        // SAFETY: the tuple keeps the objects alive for the call.
        unsafe {
            match objects.iter().enumerate().any(omitted) {
                true => self.run_omitted(py, &objects),
                false => self.run(py, &objects),
            }
        }
    }

    /// A call that leaves numbers to their defaults: these are constants of the code, unless there is code already that takes
    /// them as arguments.
    ///
    /// # Safety
    /// As for [`Dispatcher::run`].
    unsafe fn run_omitted(&self, py: Python<'_>, objects: &[*mut ffi::PyObject]) -> PyResult<Py<PyAny>> {
        let mut call = Arguments::default();
        // SAFETY: passed on to the caller.
        unsafe { call.read_omitted(py, objects, &self.function) }?;
        let placement = self.place(py, &mut call)?;
        if self.find(py, &call).is_none() {
            let mut general = Arguments::default();
            // SAFETY: passed on to the caller.
            unsafe { general.read(py, objects, &self.function) }?;
            let placement = self.place(py, &mut general)?;
            if self.find(py, &general).is_some() {
                // SAFETY: passed on to the caller.
                return unsafe { self.run_placed(py, &mut general, &placement) };
            }
        }
        // SAFETY: passed on to the caller.
        unsafe { self.run_placed(py, &mut call, &placement) }
    }

    /// A call with one argument for each parameter. The caller has entered the function.
    ///
    /// # Safety
    /// The objects are live and stay so during the call.
    pub(crate) unsafe fn run(&self, py: Python<'_>, objects: &[*mut ffi::PyObject]) -> PyResult<Py<PyAny>> {
        let mut call = Arguments::default();
        // SAFETY: passed on to the caller.
        unsafe {
            call.read(py, objects, &self.function)?;
            let placement = self.place(py, &mut call)?;
            self.run_placed(py, &mut call, &placement)
        }
    }

    /// Where a call runs whose arguments were read; completes its key.
    fn place(&self, py: Python<'_>, call: &mut Arguments) -> PyResult<Placement> {
        let placement = self.settle(py, Placement::of(py, &self.function, call)?)?;
        call.key.extend([Word::context(placement.id()), call.alike.word(&call.slots)]);
        Ok(placement)
    }

    fn find(&self, py: Python<'_>, call: &Arguments) -> Option<&Specialisation> {
        self.function.find(py, &call.key, Calls::Like(&call.slots))
    }

    /// Finds or makes the specialisation, and runs it.
    ///
    /// # Safety
    /// As for [`Dispatcher::run`].
    unsafe fn run_placed(&self, py: Python<'_>, call: &mut Arguments, placement: &Placement) -> PyResult<Py<PyAny>> {
        let function = &self.function;
        let made = match self.find(py, call) {
            Some(made) => made,
            None => {
                function.tidy(py, &call.key);
                let (key, queue) = (function.key_for(&call.key), placement.queue(py, call)?);
                let calls = Calls::Like(&call.slots);
                let request = Request { key, door: Door::Njit, queue, home: placement.home(call), calls, launch: None };
                function.add(py, compile(py, function, request)?)
            }
        };
        // SAFETY: passed on to the caller.
        unsafe { run::run(py, function, made, call) }
    }

    /// A call with one argument for each parameter, whose arguments are plain and whose specialisation is there; `None` for any
    /// other, which did nothing. Drops no reference of Python's: CPython calls this without PyO3 knowing.
    ///
    /// # Safety
    /// As for [`Dispatcher::run`].
    #[inline]
    pub(crate) unsafe fn hit(&self, py: Python<'_>, objects: &[*mut ffi::PyObject]) -> Option<(Ran, &Specialisation)> {
        let mut call = Arguments::default();
        // SAFETY: passed on to the caller.
        unsafe { call.read_plain(objects).then(|| self.hit_read(py, &mut call))? }
    }

    /// [`Dispatcher::hit`] for a call with keywords or defaults.
    ///
    /// # Safety
    /// As for [`Dispatcher::run`], and for [`crate::binding::Binding::arrange`].
    pub(crate) unsafe fn hit_bound(
        &self,
        py: Python<'_>,
        given: &[*mut ffi::PyObject],
        values: *const *mut ffi::PyObject,
        keywords: *mut ffi::PyObject,
    ) -> Option<(Ran, &Specialisation)> {
        let binding = self.function.known_binding(py)?;
        let mut call = Arguments::default();
        // SAFETY: passed on to the caller; what the binding holds it keeps.
        unsafe {
            let objects = binding.arrange(given, values, keywords)?;
            let plain = call.read_plain_omitted(py, &objects, &self.function, binding);
            plain.then(|| self.hit_read(py, &mut call))?
        }
    }

    /// [`Dispatcher::hit`] after the arguments were read.
    ///
    /// # Safety
    /// As for [`Dispatcher::run`].
    #[inline]
    unsafe fn hit_read(&self, py: Python<'_>, call: &mut Arguments) -> Option<(Ran, &Specialisation)> {
        if context::current(py).is_ok_and(|c| c.is_some()) {
            return None;
        }
        call.key.extend([Word::context(0), call.alike.word(&call.slots)]);
        let made = self.find(py, call);
        let made = made.filter(|made| made.native && made.guards.hidden.is_empty())?;
        // SAFETY: passed on to the caller.
        Some((unsafe { run::run_on_host(py, &self.function, made, call) }, made))
    }

    fn compile_for_host(&self, py: Python<'_>, key: Key, calls: Calls<'_>) -> PyResult<&Specialisation> {
        let queue = Placement::Host.queue(py, &Arguments::default())?;
        let request = Request { key, door: Door::Njit, queue, home: Place::Host, calls, launch: None };
        Ok(self.function.add(py, compile(py, &self.function, request)?))
    }

    /// The placement after the answer to a conflict of `parallel=False` and a device context (A5).
    fn settle(&self, py: Python<'_>, placement: Placement) -> PyResult<Placement> {
        let Placement::Context(queue) = &placement else { return Ok(placement) };
        if self.function.sharing != Sharing::Never {
            return Ok(placement);
        }
        match offload_conflict() {
            OffloadConflict::Ignore => Ok(placement),
            OffloadConflict::Host => Ok(Placement::Host),
            OffloadConflict::Error => {
                let code = self.function.py_func.bind(py).getattr("__code__")?;
                let message = format!(
                    "`{}` was compiled with parallel=False ({}:{}), and is called inside device_context(\"{queue}\"), \
                     which offloads parallel code: remove one of the two, or set weft.config.offload_conflict to \
                     \"ignore\" or \"host\"",
                    self.function.name,
                    code.getattr("co_filename")?,
                    code.getattr("co_firstlineno")?,
                );
                Err(errors::new(py, "OffloadConflictError", message))
            }
        }
    }
}

/// What `cls[item]` is for a class that is generic to type checkers alone.
pub(crate) fn generic_alias(cls: &Bound<'_, PyType>, item: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    Ok(cls.py().import("types")?.getattr("GenericAlias")?.call1((cls, item))?.unbind())
}

/// The text of a stage of a specialisation: the last used, or the one with that index.
pub(crate) fn inspect(function: &Function, stage: &str, index: Option<usize>) -> PyResult<String> {
    let passes: Vec<&str> = PASSES.iter().map(|pass| pass.name).collect();
    let (kind, name, all) = match stage.strip_prefix(AFTER) {
        Some(pass) => ("pass", pass, &passes[..]),
        None => ("stage", stage, &STAGES[..]),
    };
    if !all.contains(&name) {
        let near = weft_diag::nearest(name, all.iter().copied());
        let near = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
        let message = format!("there is no {kind} '{name}': it is one of {}{near}", all.join(", "));
        return Err(PyValueError::new_err(message));
    }
    let made = chosen(function, index)?;
    made.text(stage).map_err(|why| {
        PyValueError::new_err(format!("the specialisation {} has no stage {stage:?}: it {why}", made.signature()))
    })
}

/// The specialisation that was used last, or the one with that index.
pub(crate) fn chosen(function: &Function, index: Option<usize>) -> PyResult<Arc<Specialisation>> {
    let all = function.in_order();
    let made = match index {
        Some(index) => all.get(index),
        None => all.iter().find(|made| function.last().is_some_and(|last| std::ptr::eq(&***made, last))).or(all.last()),
    };
    made.cloned().ok_or_else(|| {
        let name = &function.name;
        match index {
            Some(index) => PyIndexError::new_err(format!("`{name}` has no specialisation {index}")),
            None => PyValueError::new_err(format!("`{name}` has not been compiled yet: call it first")),
        }
    })
}

#[pymethods]
impl Dispatcher {
    #[new]
    fn new(
        function: &Bound<'_, PyAny>,
        source: Py<PyAny>,
        parameters: Vec<String>,
        parallel: &Bound<'_, PyAny>,
        nogil: Option<bool>,
        boundscheck: Option<bool>,
        modes: RawModes,
    ) -> PyResult<Dispatcher> {
        let function = Function::new(function, source, parameters, parallel, nogil, boundscheck, modes)?;
        Ok(Dispatcher { vectorcall: Some(vectorcall::call), function: Whole::new(function) })
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let _entered = self.function.enter();
        border(py, || self.call(args, kwargs))
    }

    /// Lets CPython call this type the fast way. Called by the decorator with each dispatcher it makes.
    fn _enable_vectorcall(slf: &Bound<'_, Self>) {
        vectorcall::enable(slf);
    }

    /// `Dispatcher[[float], float]`, for annotations.
    #[classmethod]
    fn __class_getitem__(cls: &Bound<'_, PyType>, item: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        generic_alias(cls, item)
    }

    /// Binds as a function does when it is looked up on an instance.
    fn __get__(
        slf: Py<Self>,
        py: Python<'_>,
        instance: &Bound<'_, PyAny>,
        _owner: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        if instance.is_none() {
            return Ok(slf.into_any());
        }
        Ok(py.import("types")?.getattr("MethodType")?.call1((slf, instance))?.unbind())
    }

    /// The plain function.
    #[getter]
    fn py_func(&self, py: Python<'_>) -> Py<PyAny> {
        self.function.py_func.clone_ref(py)
    }

    /// What was compiled so far, in order.
    #[getter]
    fn specializations(&self) -> Vec<Specialization> {
        self.function.in_order().iter().map(|s| Specialization::from(&**s)).collect()
    }

    /// The parameter types of each specialisation.
    #[getter]
    fn signatures(&self) -> Vec<String> {
        let mut found: Vec<String> = vec![];
        for signature in self.function.in_order().iter().map(|s| s.signature()) {
            // Code for other sizes has the same.
            if !found.contains(&signature) {
                found.push(signature);
            }
        }
        found
    }

    /// The text of a compiler stage of the last used specialisation, or of the one with that index.
    #[pyo3(signature = (stage, index = None))]
    fn inspect(&self, stage: &str, index: Option<usize>) -> PyResult<String> {
        inspect(&self.function, stage, index)
    }

    /// What became of each line of the source: a `weft.Report`. Of the last used specialisation, or the one with that index.
    #[pyo3(signature = (index = None))]
    fn report(&self, py: Python<'_>, index: Option<usize>) -> PyResult<Py<PyAny>> {
        report(py, &self.function, index)
    }

    /// Compiles for arguments that `weft.types` described, outside any device context, and describes the result.
    fn _compile<'py>(&self, py: Python<'py>, arguments: Vec<Bound<'py, PyTuple>>) -> PyResult<Bound<'py, PyTuple>> {
        let _entered = self.function.enter();
        border(py, || {
            let mut key = Key::new();
            arguments.iter().try_for_each(|described| push_words(&mut key, described))?;
            key.extend([Word::context(0), Word::GENERAL]);
            let made = match self.function.find(py, &key, Calls::Any) {
                Some(made) => made,
                None => self.compile_for_host(py, key, Calls::Any)?,
            };
            describe(py, &made.returns, &mut made.results.iter())
        })
    }

    /// Forgets what was compiled, and compiles for the same arguments again.
    fn recompile(&self, py: Python<'_>) -> PyResult<()> {
        let _entered = self.function.enter();
        let made = self.function.in_order();
        self.function.forget();
        // What ran on a device is compiled when it is called there again.
        let of_host = |key: &Key| matches!(key[..], [.., context, _] if context == Word::context(0));
        let mut again = made.iter().filter(|s| s.native && of_host(&s.key));
        border(py, || again.try_for_each(|s| self.compile_for_host(py, s.key.clone(), s.assumed.calls()).map(drop)))
    }

    fn __repr__(&self) -> String {
        format!("<weft.njit function {}>", self.function.name)
    }

    /// Pickled as functions are: by name.
    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Ok(slf.getattr("__qualname__")?.unbind())
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.function.get().map_or(Ok(()), |function| function.traverse(&visit))
    }

    fn __clear__(&self) {
        self.function.clear();
    }
}
