//! `@weft.kernel`: a function that one work-item runs, launched as `f[global_size](...)` or `f[global_size, local_size](...)`.

use std::sync::{Arc, Once};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;
use weft_passes::infer::Door;
use weft_runtime::Queue;

use crate::arguments::Arguments;
use crate::assumed::Calls;
use crate::at_work::border;
use crate::compile::{Request, compile};
use crate::dispatcher::{inspect, pointers};
use crate::event::{Event, wait_list};
use crate::function::Function;
use crate::key::Word;
use crate::placement::Placement;
use crate::report::report;
use crate::specialisation::Specialization;
use crate::tensor::UsmNdarray;
use crate::vectorcall::{ARGUMENTS_OFFSET, Vectorcall, enable_at, packed};
use crate::{errors, run};

/// Sizes of a launch, slowest dimension first.
type Sizes = SmallVec<[u64; 3]>;

/// A kernel.
#[pyclass(frozen, dict, weakref, module = "weft")]
pub(crate) struct Kernel(Function);

/// A kernel with its sizes: what `f[global_size]` and `f[global_size, local_size]` are.
#[pyclass(frozen, module = "weft")]
pub(crate) struct Launcher {
    /// Read by CPython, at the offset that the type names.
    vectorcall: Vectorcall,
    kernel: Py<Kernel>,
    size: Size,
}

/// What a launch was asked for.
struct Size {
    global: Sizes,
    /// Work-items of a work-group; empty where the runtime chooses.
    local: Sizes,
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
        let function = &self.0;
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
                function.add(py, compile(py, function, Request { key, door, queue, home, calls })?)
            }
        };
        if !wait_for.is_empty() {
            let queue = call.queue(made).clone();
            py.detach(|| queue.wait_for(wait_for)).map_err(|e| errors::from_hal(py, &e))?;
        }
        // SAFETY: passed on to the caller.
        unsafe { run::run_or_launch(py, function, made, &mut call, Some(&size.local)) }?;
        Ok(then(call.queue(made)))
    }

    /// NumPy arrays outside a device context (spec B6).
    fn no_place(&self, py: Python<'_>, k: usize) -> PyErr {
        let (name, argument) = (&self.0.name, &self.0.parameters[k]);
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
        modes: (bool, bool, u8),
    ) -> PyResult<Kernel> {
        Function::new(function, source, parameters, parallel, nogil, boundscheck, modes).map(Kernel)
    }

    /// `f[global_size]` or `f[global_size, local_size]`, sizes being ints or tuples of up to three.
    fn __getitem__<'py>(slf: Py<Self>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Launcher>> {
        let launcher = Launcher { vectorcall: call, kernel: slf, size: launch_size(index)? };
        let launcher = Bound::new(index.py(), launcher)?;
        static ENABLED: Once = Once::new();
        ENABLED.call_once(|| enable_at(launcher.as_any(), &raw const launcher.get().vectorcall as usize));
        Ok(launcher)
    }

    #[pyo3(signature = (*_args, **_kwargs))]
    fn __call__(&self, _args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let (name, parameters) = (&self.0.name, self.0.parameters.join(", "));
        Err(PyTypeError::new_err(format!(
            "`{name}` is a kernel and needs a global size: launch it as {name}[global_size]({parameters}), where \
             global_size is an int or a tuple of up to three, such as a.shape"
        )))
    }

    /// The plain function.
    #[getter]
    fn py_func(&self, py: Python<'_>) -> Py<PyAny> {
        self.0.py_func.clone_ref(py)
    }

    /// What was compiled so far, in order.
    #[getter]
    fn specializations(&self) -> Vec<Specialization> {
        self.0.in_order().iter().map(|s| Specialization::from(&**s)).collect()
    }

    /// The parameter types of each specialisation.
    #[getter]
    fn signatures(&self) -> Vec<String> {
        self.0.in_order().iter().map(|s| s.signature()).collect()
    }

    /// The text of a compiler stage of the last used specialisation, or of the one with that index.
    #[pyo3(signature = (stage, index = None))]
    fn inspect(&self, stage: &str, index: Option<usize>) -> PyResult<String> {
        inspect(&self.0, stage, index)
    }

    /// What became of each line of the source: a `weft.Report`. Of the last used specialisation, or the one with that index.
    #[pyo3(signature = (index = None))]
    fn report(&self, py: Python<'_>, index: Option<usize>) -> PyResult<Py<PyAny>> {
        report(py, &self.0, index)
    }

    fn __repr__(&self) -> String {
        format!("<weft.kernel {}>", self.0.name)
    }

    /// Pickled as functions are: by name.
    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Ok(slf.getattr("__qualname__")?.unbind())
    }

    fn __traverse__(&self, visit: pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        self.0.traverse(&visit)
    }
}

impl Launcher {
    fn bound<T>(
        &self,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
        wait_for: &[weft_hal::Event],
        then: impl FnOnce(&Arc<Queue>) -> T,
    ) -> PyResult<T> {
        let kernel = self.kernel.get();
        let args = kernel.0.bind(args, kwargs)?;
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
        format!("<weft.kernel {}[{:?}{local}]>", self.kernel.get().0.name, global.as_slice())
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
            border(py, || match kwnames.is_null() && kernel.0.takes(count) {
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

/// The sizes of `f[...]`. Ints alone are one global size, since `f[a.shape]` is the same to Python as `f[n, m]`; a local
/// size is recognised by being a tuple.
fn launch_size(index: &Bound<'_, PyAny>) -> PyResult<Size> {
    let Ok(tuple) = index.cast::<PyTuple>() else {
        return Ok(Size { global: SmallVec::from_slice(&[one_size(index)?]), local: Sizes::new() });
    };
    if tuple.len() == 2
        && let Ok(local) = tuple.get_item(1)?.cast::<PyTuple>()
    {
        let global = launch_size(&tuple.get_item(0)?)?.global;
        // An empty one is DEFAULT_LOCAL_SIZE: the runtime chooses.
        let local: Sizes = local.iter().map(|n| one_size(&n)).collect::<PyResult<_>>()?;
        if local.contains(&0) {
            return Err(PyValueError::new_err("a local size has no zeros"));
        }
        if !local.is_empty() && local.len() != global.len() {
            return Err(PyValueError::new_err(format!(
                "the local size has {} dimensions and the global size {}",
                local.len(),
                global.len()
            )));
        }
        return Ok(Size { global, local });
    }
    let global: Sizes = tuple.iter().map(|n| one_size(&n)).collect::<PyResult<_>>()?;
    match global.len() {
        1..=3 => Ok(Size { global, local: Sizes::new() }),
        0 => Err(PyValueError::new_err("a global size has one to three dimensions, not none")),
        n => Err(PyValueError::new_err(format!("a global size has one to three dimensions, not {n}"))),
    }
}

fn one_size(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    let size: i64 = object.extract().map_err(|_| {
        let ty = object.get_type().qualname().map_or_else(|_| "?".to_owned(), |s| s.to_string());
        PyTypeError::new_err(format!("a global size is an int or a tuple of up to three, not {ty}"))
    })?;
    u64::try_from(size).map_err(|_| PyValueError::new_err(format!("a size is not negative, and {size} is")))
}
