//! `weft.program` (spec D6): kernels from OpenCL C, SPIR-V and PTX, launched by name with checked arguments.
//!
//! A launch flows so: [`grid`] turns sizes into work-groups, [`arguments`] checks the arguments against what the kernel
//! declares and packs them, and [`ProgramKernel::launch`] submits it in the order of the memory it touches.

mod arguments;
mod grid;

pub(crate) use arguments::WorkGroupMemory;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use smallvec::SmallVec;
use weft_hal::{HalError, Launch, Parameter, ProgramSource};
use weft_runtime::trace::{self, Item, Kind};

use crate::at_work::border;
use crate::errors;
use crate::event::{Event, await_event, wait_list};
use crate::places::place_of;
use crate::queue::Queue;
use crate::sizes::Size;

/// Code that a driver has accepted.
#[pyclass(frozen, module = "weft.program")]
pub(crate) struct Program {
    hal: Arc<dyn weft_hal::Program>,
    queue: Arc<weft_runtime::Queue>,
    language: &'static str,
}

/// One kernel of a program.
#[pyclass(frozen, module = "weft.program")]
pub(crate) struct ProgramKernel {
    hal: Arc<dyn weft_hal::Kernel>,
    queue: Arc<weft_runtime::Queue>,
    groups: weft_hal::WorkGroups,
    /// The last launch on each queue: the driver's kernel must outlive them.
    last: Mutex<SmallVec<[(u64, weft_hal::Event); 1]>>,
}

/// Kernels that Python let go of while launches of them were not complete.
static UNFINISHED: Mutex<Vec<(weft_hal::Event, Arc<dyn weft_hal::Kernel>)>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for ProgramKernel {
    fn drop(&mut self) {
        let last = std::mem::take(self.last.get_mut().unwrap_or_else(PoisonError::into_inner));
        let mut unfinished = lock(&UNFINISHED);
        unfinished.retain(|(event, _)| !event.is_complete());
        let pending = last.into_iter().filter(|(_, event)| !event.is_complete());
        unfinished.extend(pending.map(|(_, event)| (event, self.hal.clone())));
    }
}

/// Hands code in a language (`"OpenCL C"`, `"SPIR-V"`, `"PTX"`) to the driver of a queue's device.
#[pyfunction]
pub(crate) fn create_program(queue: &Bound<'_, PyAny>, language: &str, code: &Bound<'_, PyAny>) -> PyResult<Program> {
    let py = queue.py();
    let queue = place_of(py, Some(queue))?;
    let bytes: Vec<u8> = if let Ok(text) = code.cast::<PyString>() {
        if language == "SPIR-V" {
            return Err(PyTypeError::new_err("a SPIR-V module is bytes, not str"));
        }
        text.to_cow()?.as_bytes().to_vec()
    } else if let Ok(bytes) = code.cast::<PyBytes>() {
        bytes.as_bytes().to_vec()
    } else {
        let ty = code.get_type().qualname()?;
        return Err(PyTypeError::new_err(format!("{language} is given as bytes or text, not as {ty}")));
    };
    if queue.info().backend == weft_hal::BackendKind::Null {
        let text = format!("{} runs nothing, and so takes no programs: use an opencl or cuda device", queue.filter());
        return Err(errors::new(py, "DeviceError", text));
    }
    border(py, || {
        let (source, language) = match language {
            "SPIR-V" => (ProgramSource::SpirV(&bytes), "SPIR-V"),
            "PTX" => (ProgramSource::Ptx(&bytes), "PTX"),
            _ => {
                let text = std::str::from_utf8(&bytes);
                (ProgramSource::OpenClC(text.map_err(|_| PyTypeError::new_err("OpenCL C is UTF-8 text"))?), "OpenCL C")
            }
        };
        let made = py.detach(|| queue.device().load_program(source));
        let hal = made.map_err(|e| errors::from_hal(py, &e))?;
        Ok(Program { hal, queue: queue.clone(), language })
    })
}

#[pymethods]
impl Program {
    /// Whether it has a kernel of that name.
    fn has_kernel(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        match py.detach(|| self.hal.kernel(name)) {
            Ok(_) => Ok(true),
            Err(HalError::NoSuchKernel { .. }) => Ok(false),
            Err(error) => Err(errors::from_hal(py, &error)),
        }
    }

    /// The kernel of that name.
    fn get_kernel(&self, py: Python<'_>, name: &str) -> PyResult<ProgramKernel> {
        let found = py.detach(|| self.hal.kernel(name)).map_err(|e| errors::from_hal(py, &e))?;
        let groups = py.detach(|| found.work_groups());
        Ok(ProgramKernel { hal: found, queue: self.queue.clone(), groups, last: Mutex::default() })
    }

    /// The kernel of that name, by dpctl's name.
    fn get_sycl_kernel(&self, py: Python<'_>, name: &str) -> PyResult<ProgramKernel> {
        self.get_kernel(py, name)
    }

    /// Whether it has a kernel of that name, by dpctl's name.
    fn has_sycl_kernel(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.has_kernel(py, name)
    }

    /// The queue it was made for.
    #[getter]
    fn queue(&self) -> Queue {
        Queue(self.queue.clone())
    }

    fn __repr__(&self) -> String {
        format!("<weft.program.Program in {} on {}>", self.language, self.queue.filter())
    }
}

impl ProgramKernel {
    /// Whether local memory is no parameter of its kernels.
    fn shared_apart(&self) -> bool {
        self.queue.info().backend == weft_hal::BackendKind::Cuda
    }

    fn note(&self, queue: u64, event: weft_hal::Event) {
        let mut last = lock(&self.last);
        match last.iter_mut().find(|(id, _)| *id == queue) {
            Some(known) => known.1 = event,
            None => last.push((queue, event)),
        }
    }

    /// Launches it. With `queue`, there; else where its arguments live; else where the program was made.
    pub(crate) fn submit(
        &self,
        py: Python<'_>,
        size: Size,
        args: &Bound<'_, PyAny>,
        queue: Option<Arc<weft_runtime::Queue>>,
        wait_for: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<Event>> {
        let waits = wait_list(py, wait_for)?;
        border(py, || {
            let grid = grid::grid(&size, &*self.hal, self.groups.required, self.queue.info())?;
            let mut call = arguments::Call::read(args, &*self.hal, self.shared_apart())?;
            let queue = call.place(py, &*self.hal, queue, &self.queue)?;
            let packed = call.pack(py)?;
            let mut events: SmallVec<[weft_hal::Event; 4]> = waits.iter().map(|e| e.get().inner().clone()).collect();
            packed.reads.iter().for_each(|b| b.before_read(&queue, &mut events));
            packed.writes.iter().for_each(|b| b.before_write(&queue, &mut events));
            let watch = trace::stopwatch();
            let (groups, local, fields) = (grid.groups, grid.local, &packed.fields);
            let launch = Launch { kernel: &self.hal, groups, local, args: &packed.bytes, fields };
            // SAFETY: the fields are those the kernel declares; `last` keeps the kernel until it is complete, and buffers
            // keep their memory until their users are. That the kernel stays inside its arrays is its author's to see to.
            let done = py.detach(|| queue.submit(&events, |q, waits| unsafe { q.launch(&launch, waits) }));
            let event = done.map_err(|e| errors::from_hal(py, &e))?;
            watch.record(Kind::Launch, || Item {
                name: self.hal.name().to_owned(),
                device: queue.filter().to_owned(),
                bytes: 0,
                seconds: 0.0,
                span: None,
            });
            packed.reads.iter().for_each(|b| b.note_read(&queue, &event));
            packed.writes.iter().for_each(|b| b.note_write(&queue, &event));
            self.note(queue.id(), event.clone());
            Event::new(py, event, waits, vec![])
        })
    }
}

#[pymethods]
impl ProgramKernel {
    /// Its name in the program.
    #[getter]
    fn name(&self) -> &str {
        self.hal.name()
    }

    /// How many arguments it takes; None where the program does not say.
    #[getter]
    fn num_arguments(&self) -> Option<usize> {
        self.hal.parameters().map(<[Parameter]>::len)
    }

    /// Name and type of each parameter; None where the program does not say.
    #[getter]
    fn parameters(&self) -> Option<Vec<(String, String)>> {
        let list = self.hal.parameters()?;
        Some(list.iter().map(|p| (p.name.clone(), arguments::words(&p.kind))).collect())
    }

    /// Most work-items a work-group of it can have.
    #[getter]
    fn work_group_size(&self) -> u32 {
        self.hal.max_work_group_size()
    }

    /// Most work-items a work-group of it can have.
    #[getter]
    fn max_work_group_size(&self) -> u32 {
        self.hal.max_work_group_size()
    }

    /// Work-groups whose size is a multiple of this run best; None where the driver does not say.
    #[getter]
    fn preferred_work_group_size_multiple(&self) -> Option<u32> {
        self.groups.preferred_multiple
    }

    /// The only work-group size the program allows; None where it leaves that open.
    #[getter]
    fn required_work_group_size(&self) -> Option<(u32, u32, u32)> {
        self.groups.required.map(|[x, y, z]| (x, y, z))
    }

    /// Bytes of local memory that a work-group uses; None where the driver does not say.
    #[getter]
    fn local_mem_size(&self) -> Option<u64> {
        self.groups.local_mem_bytes
    }

    /// Bytes of private memory that a work-item uses; None where the driver does not say.
    #[getter]
    fn private_mem_size(&self) -> Option<u64> {
        self.groups.private_mem_bytes
    }

    /// Launches it over a `Range`, an `NdRange`, an int or a tuple of up to three; index 0 is dimension 0 of the program.
    /// Returns an event; with `sync`, after it is complete.
    #[pyo3(signature = (size, args, *, queue = None, wait_for = None, sync = false))]
    fn launch(
        &self,
        size: &Bound<'_, PyAny>,
        args: &Bound<'_, PyAny>,
        queue: Option<&Bound<'_, PyAny>>,
        wait_for: Option<&Bound<'_, PyAny>>,
        sync: bool,
    ) -> PyResult<Py<Event>> {
        let py = size.py();
        let queue = queue.map(|q| place_of(py, Some(q))).transpose()?;
        let event = self.submit(py, grid::read(size, None)?, args, queue, wait_for)?;
        if sync {
            await_event(py, event.get().inner())?;
        }
        Ok(event)
    }

    /// Seconds that the driver's own launch call takes, on average of `count` in a loop of machine code: what benchmarks
    /// compare launches with. None where there is no driver to ask.
    fn _driver_launch_seconds(
        &self,
        size: &Bound<'_, PyAny>,
        args: &Bound<'_, PyAny>,
        count: u32,
    ) -> PyResult<Option<f64>> {
        let py = size.py();
        let grid = grid::grid(&grid::read(size, None)?, &*self.hal, self.groups.required, self.queue.info())?;
        let packed = arguments::Call::read(args, &*self.hal, self.shared_apart())?.pack(py)?;
        let (groups, local, fields) = (grid.groups, grid.local, &packed.fields);
        let launch = Launch { kernel: &self.hal, groups, local, args: &packed.bytes, fields };
        py.detach(|| self.queue.wait()).map_err(|e| errors::from_hal(py, &e))?;
        // SAFETY: the fields are those the kernel declares, and everything is waited for before this returns.
        let took = py.detach(|| unsafe { self.queue.hal().launch_bare(&launch, count) });
        let took = took.map_err(|e| errors::from_hal(py, &e))?;
        Ok(took.map(|took| took.as_secs_f64() / f64::from(count.max(1))))
    }

    fn __repr__(&self) -> String {
        format!("<weft.program.Kernel {} on {}>", self.hal.name(), self.queue.filter())
    }
}

/// `queue.submit(kernel, args, range, local, wait_for)`.
pub(crate) fn submit(
    queue: &Queue,
    kernel: &Bound<'_, ProgramKernel>,
    args: &Bound<'_, PyAny>,
    range: &Bound<'_, PyAny>,
    local: Option<&Bound<'_, PyAny>>,
    wait_for: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<Event>> {
    let size = grid::read(range, local)?;
    kernel.get().submit(kernel.py(), size, args, Some(queue.0.clone()), wait_for)
}
