//! `@weft.kernel`: a function that one work-item runs, launched as `f[global_size](...)`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;
use weft_passes::infer::Door;

use crate::arguments::Arguments;
use crate::at_work::border;
use crate::compile::{Request, compile};
use crate::dispatcher::{inspect, pointers};
use crate::function::Function;
use crate::key::Word;
use crate::placement::Placement;
use crate::specialisation::Specialization;
use crate::{errors, run};

/// Sizes of a launch, slowest dimension first.
type Sizes = SmallVec<[u64; 3]>;

/// A kernel.
#[pyclass(frozen, dict, weakref, module = "weft")]
pub(crate) struct Kernel(Function);

/// A kernel with its sizes: what `f[global_size]` is.
#[pyclass(frozen, module = "weft")]
pub(crate) struct Launcher {
    kernel: Py<Kernel>,
    sizes: Sizes,
}

impl Kernel {
    fn launch(&self, sizes: &Sizes, args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let py = args.py();
        let function = &self.0;
        let args = function.bind(args, kwargs)?;
        let objects = pointers(&args);
        let mut call = Arguments::default();
        // SAFETY: the tuple keeps the objects alive for the launch.
        unsafe { call.read(py, &objects, &function.parameters) }?;
        let placement = Placement::of(py, function, &call)?;
        if let (Placement::Host, Some(k)) = (&placement, call.host_array) {
            return Err(self.no_place(py, k));
        }
        let dims = sizes.len() as u32;
        call.key.push(Word::launch(placement.id(), dims));
        call.put_first(sizes);
        // A launch that has work is worth giving the GIL away for by its number of items.
        call.elements = sizes.iter().product::<u64>() as usize;
        let made = match function.find(py, &call.key) {
            Some(made) => made,
            None => {
                let (key, queue, door) = (call.key.clone(), placement.queue(py)?, Door::Kernel { dims });
                function.add(py, compile(py, function, Request { key, door, queue, home: placement.home() })?)
            }
        };
        // SAFETY: as above.
        unsafe { run::run(py, function, &made, &mut call, &objects) }.map(drop)
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
    ) -> PyResult<Kernel> {
        Function::new(function, source, parameters, parallel, nogil).map(Kernel)
    }

    /// `f[global_size]` or `f[global_size, local_size]`, sizes being ints or tuples of up to three.
    fn __getitem__(slf: Py<Self>, index: &Bound<'_, PyAny>) -> PyResult<Launcher> {
        let sizes = launch_sizes(index)?;
        Ok(Launcher { kernel: slf, sizes })
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

#[pymethods]
impl Launcher {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(&self, py: Python<'_>, args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        border(py, || self.kernel.get().launch(&self.sizes, args, kwargs))
    }

    fn __repr__(&self) -> String {
        format!("<weft.kernel {}[{:?}]>", self.kernel.get().0.name, self.sizes.as_slice())
    }
}

/// The global size of `f[...]`. Ints alone are one global size, since `f[a.shape]` is the same to Python as
/// `f[n, m]`; a local size is recognised by being a tuple.
fn launch_sizes(index: &Bound<'_, PyAny>) -> PyResult<Sizes> {
    let Ok(tuple) = index.cast::<PyTuple>() else { return one_size(index).map(|n| SmallVec::from_slice(&[n])) };
    if tuple.len() == 2
        && let Ok(local) = tuple.get_item(1)?.cast::<PyTuple>()
    {
        let global = launch_sizes(&tuple.get_item(0)?)?;
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
        return Ok(global);
    }
    let sizes: Sizes = tuple.iter().map(|n| one_size(&n)).collect::<PyResult<_>>()?;
    match sizes.len() {
        1..=3 => Ok(sizes),
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
