//! `@weft.kernel`: a function that one work-item runs, launched as `f[global_size](...)` or `f[global_size, local_size](...)`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use weft_passes::infer::Door;
use weft_runtime::Queue;

use crate::arguments::Arguments;
use crate::assumed::Calls;
use crate::at_work::border;
use crate::compile::{Request, compile};
use crate::dispatcher::{generic_alias, inspect, pointers};
use crate::event::{Event, wait_list};
use crate::function::{Function, RawModes};
use crate::key::Word;
use crate::placement::Placement;
use crate::report::report;
use crate::sizes::{Size, Sizes, local_size, one_or_more};
use crate::specialisation::Specialization;
use crate::tensor::UsmNdarray;
use crate::vectorcall::{ARGUMENTS_OFFSET, Vectorcall, enable_at, packed};
use crate::whole::Whole;
use crate::{debug, errors, run};

/// A kernel.
#[pyclass(frozen, dict, weakref, module = "weft")]
pub(crate) struct Kernel {
    function: Whole<Function>,
    /// `f[8, 4]` is a global and a local size, as in the packages whose names `weft.compat` has.
    pairs: AtomicBool,
}

/// A kernel with its sizes: what `f[global_size]` and `f[global_size, local_size]` are.
#[pyclass(frozen, module = "weft")]
pub(crate) struct Launcher {
    /// Read by CPython, at the offset that the type names.
    vectorcall: Vectorcall,
    kernel: Py<Kernel>,
    size: Size,
}

impl Kernel {
    /// Launches it, and says what `then` makes of the queue it went to.
    ///
    /// # Safety
    /// The objects are live, one for each parameter, and stay so during the call.
    unsafe fn launch<T>(
        &self,
        py: Python<'_>,
        size: &Size,
        objects: &[*mut ffi::PyObject],
        wait_for: &[weft_hal::Event],
        then: impl FnOnce(&Arc<Queue>) -> T,
    ) -> PyResult<T> {
        let function = &self.function;
        let _entered = function.enter();
        let sizes = &size.global;
        let mut call = Arguments::default();
        call.slots.extend_from_slice(sizes);
        for (k, &object) in objects.iter().enumerate() {
            // SAFETY: passed on to the caller.
            unsafe {
                // Most arguments of kernels.
                let borrowed = Bound::from_borrowed_ptr(py, object);
                match borrowed.cast_exact::<UsmNdarray>() {
                    Ok(tensor) => call.push_tensor(py, k, object, tensor.get())?,
                    Err(_) => call.push(py, k, object, function, 0)?,
                }
            }
        }
        let placement = Placement::of(py, function, &call)?;
        if let (Placement::Host, Some(k)) = (&placement, call.host_array) {
            return Err(self.no_place(py, k));
        }
        let dims = sizes.len() as u32;
        call.key.extend([Word::launch(placement.id(), dims), Word::GENERAL]);
        // A launch that has work is worth giving the GIL away for by its number of items.
        call.elements = sizes.iter().product::<u64>() as usize;
        let made = match function.find(py, &call.key, Calls::Any) {
            Some(made) => made,
            None => {
                function.tidy(py, &call.key);
                let (key, queue, door) = (call.key.clone(), placement.queue(py, &call)?, Door::Kernel { dims });
                let (home, calls) = (placement.home(&call), Calls::Any);
                let launch = (!self.pairs.load(Ordering::Relaxed)).then_some(size);
                function.add(py, compile(py, function, Request { key, door, queue, home, calls, launch })?)
            }
        };
        if !wait_for.is_empty() {
            let queue = call.queue(made).clone();
            py.detach(|| queue.wait_for(wait_for)).map_err(|e| errors::from_hal(py, &e))?;
        }
        match function.modes.debug {
            // Loops over the other sizes, however long, do nothing.
            _ if sizes.contains(&0) => {}
            // SAFETY: passed on to the caller.
            true => unsafe { debug::launch(py, function, made, &mut call, size) }?,
            // SAFETY: passed on to the caller.
            false => drop(unsafe { run::run_or_launch(py, function, made, &mut call, Some(size)) }?),
        }
        Ok(then(call.queue(made)))
    }

    /// NumPy arrays outside a device context (spec B6).
    fn no_place(&self, py: Python<'_>, k: usize) -> PyErr {
        let (name, argument) = (&self.function.name, &self.function.parameters[k]);
        let message = format!(
            "the kernel `{name}` runs where its arrays are, and its argument `{argument}` is a NumPy array: launch it \
             inside `with weft.device_context(...):`, which copies arrays in and back, or pass \
             weft.tensor.asarray({argument})"
        );
        errors::new(py, "ExecutionPlacementError", message)
    }
}

#[pymethods]
impl Kernel {
    #[new]
    fn new(
        function: &Bound<'_, PyAny>,
        source: Py<PyAny>,
        parameters: Vec<String>,
        parallel: &Bound<'_, PyAny>,
        nogil: Option<bool>,
        boundscheck: Option<bool>,
        modes: RawModes,
    ) -> PyResult<Kernel> {
        let mut function = Function::new(function, source, parameters, parallel, nogil, boundscheck, modes)?;
        // What is run to find faults is checked.
        function.unchecked &= !function.modes.debug;
        Ok(Kernel { function: Whole::new(function), pairs: AtomicBool::new(false) })
    }

    /// `Kernel[[Tensor, float]]`, for annotations.
    #[classmethod]
    fn __class_getitem__(cls: &Bound<'_, PyType>, item: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        generic_alias(cls, item)
    }

    /// `f[global_size]` or `f[global_size, local_size]`, sizes being ints or tuples of up to three.
    fn __getitem__<'py>(slf: Py<Self>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Launcher>> {
        let size = match slf.get().pairs.load(Ordering::Relaxed) {
            true => Size::of_pair(index)?,
            false => Size::of_index(index)?,
        };
        Launcher::new(index.py(), slf, size)
    }

    /// A launch over sizes that are told apart: what `Range` and `NdRange` mean.
    #[pyo3(signature = (global_size, local_size = None))]
    fn _over<'py>(
        slf: Py<Self>,
        global_size: &Bound<'py, PyAny>,
        local_size: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Launcher>> {
        let local = local_size.map_or(Ok(Sizes::new()), self::local_size)?;
        Launcher::new(global_size.py(), slf, Size::new(one_or_more(global_size, "global", true)?, local)?)
    }

    /// From now on, `f[8, 4]` is a launch of 8 work-items in groups of 4.
    fn _take_pairs(&self) {
        self.pairs.store(true, Ordering::Relaxed);
    }

    /// Every number is a size to launch with: without this, Python's loop over `f[0]`, `f[1]` … has no end.
    fn __iter__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a kernel has no items: it is launched by f[global_size](...)"))
    }

    #[pyo3(signature = (*_args, **_kwargs))]
    fn __call__(&self, _args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let (name, parameters) = (&self.function.name, self.function.parameters.join(", "));
        Err(PyTypeError::new_err(format!(
            "`{name}` is a kernel and needs a global size: launch it as {name}[global_size]({parameters}), where \
             global_size is an int or a tuple of up to three, such as a.shape"
        )))
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
        self.function.in_order().iter().map(|s| s.signature()).collect()
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

    fn __repr__(&self) -> String {
        format!("<weft.kernel {}>", self.function.name)
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

impl Launcher {
    fn new(py: Python<'_>, kernel: Py<Kernel>, size: Size) -> PyResult<Bound<'_, Launcher>> {
        let launcher = Bound::new(py, Launcher { vectorcall: call, kernel, size })?;
        static ENABLED: Once = Once::new();
        ENABLED.call_once(|| enable_at(launcher.as_any(), &raw const launcher.get().vectorcall as usize));
        Ok(launcher)
    }

    fn bound<T>(
        &self,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
        wait_for: &[weft_hal::Event],
        then: impl FnOnce(&Arc<Queue>) -> T,
    ) -> PyResult<T> {
        let kernel = self.kernel.get();
        let args = kernel.function.bind(args, kwargs)?;
        // SAFETY: the tuple keeps the objects alive for the launch.
        unsafe { kernel.launch(args.py(), &self.size, &pointers(&args), wait_for, then) }
    }
}

#[pymethods]
impl Launcher {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(&self, py: Python<'_>, args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        border(py, || self.bound(args, kwargs, &[], |_| ()))
    }

    /// Launches it after some events, and returns the event of the launch. NumPy arrays hold their results on return.
    #[pyo3(signature = (args, wait_for = None))]
    fn _start(&self, args: &Bound<'_, PyTuple>, wait_for: Option<&Bound<'_, PyAny>>) -> PyResult<Py<Event>> {
        let py = args.py();
        let waits = wait_list(py, wait_for)?;
        border(py, || {
            let events: Vec<weft_hal::Event> = waits.iter().map(|e| e.get().inner().clone()).collect();
            let queue = self.bound(args, None, &events, Arc::clone)?;
            let done = py.detach(|| queue.submit(&[], |queue, waits| queue.barrier(waits)));
            Event::new(py, done.map_err(|e| errors::from_hal(py, &e))?, waits, vec![])
        })
    }

    fn __repr__(&self) -> String {
        let Size { global, local } = &self.size;
        let local = if local.is_empty() { String::new() } else { format!(", {:?}", local.as_slice()) };
        format!("<weft.kernel {}[{:?}{local}]>", self.kernel.get().function.name, global.as_slice())
    }

    // What is made without a `__dict__` is whole before anything can visit it.
    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        visit.call(&self.kernel)
    }
}

/// The entry of every launcher: as for dispatchers, see [`crate::vectorcall`].
unsafe extern "C" fn call(
    callable: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    nargsf: usize,
    kwnames: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    Python::attach(|py| {
        // SAFETY: CPython calls this only for objects whose type has this offset: launchers, kept alive by the caller,
        // as are the arguments.
        let done = unsafe {
            let callable = Bound::from_borrowed_ptr(py, callable);
            let launcher = callable.cast_unchecked::<Launcher>().get();
            let count = nargsf & !ARGUMENTS_OFFSET;
            let objects = if count == 0 { &[] } else { std::slice::from_raw_parts(args, count) };
            let kernel = launcher.kernel.get();
            border(py, || match kwnames.is_null() && kernel.function.takes(count) {
                true => kernel.launch(py, &launcher.size, objects, &[], |_| ()),
                false => {
                    let names = Bound::from_borrowed_ptr_or_opt(py, kwnames);
                    let (args, kwargs) = packed(py, objects, args.wrapping_add(count), names)?;
                    launcher.bound(&args, Some(&kwargs), &[], |_| ())
                }
            })
        };
        match done {
            Ok(()) => py.None().into_ptr(),
            Err(error) => {
                error.restore(py);
                std::ptr::null_mut()
            }
        }
    })
}
