//! What `x.device` is: a `Device` that carries the array's queue, so that wherever a place is expected it means that
//! queue (spec B10).

use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::device::Device;
use crate::queue::Queue;

/// The device of an array, together with the array's queue. Equal to the plain `Device`, and hashed as it is.
#[pyclass(frozen, extends = Device, module = "weft._core")]
pub(crate) struct ArrayDevice {
    queue: Queue,
}

impl ArrayDevice {
    /// The device of a queue, with that queue.
    pub(crate) fn new(py: Python<'_>, queue: Queue) -> PyResult<Py<ArrayDevice>> {
        Py::new(py, ArrayDevice::py_new(&queue))
    }

    /// The queue it stands for.
    pub(crate) fn runtime_queue(&self) -> &std::sync::Arc<weft_runtime::Queue> {
        &self.queue.0
    }
}

#[pymethods]
impl ArrayDevice {
    #[new]
    fn py_new(queue: &Queue) -> PyClassInitializer<ArrayDevice> {
        let device = Device(queue.0.device().clone());
        PyClassInitializer::from(device).add_subclass(ArrayDevice { queue: queue.clone() })
    }

    /// Copies and pickles carry the queue too.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyType>, (Queue,)) {
        (slf.get_type(), (slf.get().queue.clone(),))
    }

    /// The array's queue.
    #[getter]
    fn queue(&self) -> Queue {
        self.queue.clone()
    }

    /// The array's queue, by dpctl's name.
    #[getter]
    fn sycl_queue(&self) -> Queue {
        self.queue.clone()
    }

    /// The plain device.
    #[getter]
    fn sycl_device(&self) -> Device {
        Device(self.queue.0.device().clone())
    }

    /// The context of the array's queue.
    #[getter]
    fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        context_of(py, self.queue.clone())
    }

    /// The context of the array's queue, by dpctl's name.
    #[getter]
    fn sycl_context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        context_of(py, self.queue.clone())
    }

    /// Blocks until everything submitted to the array's queue is complete.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        Bound::new(py, self.queue.clone())?.call_method0("wait").map(drop)
    }
}

/// The context of a queue.
pub(crate) fn context_of(py: Python<'_>, queue: Queue) -> PyResult<Bound<'_, PyAny>> {
    Bound::new(py, queue)?.into_any().getattr("context")
}
