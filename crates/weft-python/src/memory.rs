//! Memory as bytes on a queue (`weft.memory`), the USM array interface both ways, and the pools' numbers.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyFloat, PyInt, PyTuple};
use weft_hal::HalError;
use weft_ir::DType;
use weft_runtime::{Buffer, End, UsmKind, pool};
use weft_tensor::Tensor;

use crate::device::Device;
use crate::errors;
use crate::event::{Event, await_event};
use crate::places::place_of;
use crate::queue::Queue;
use crate::tensor::UsmNdarray;

const INTERFACE: &str = "__sycl_usm_array_interface__";

/// What an operation needs until it is complete.
pub(crate) enum Keep {
    Buffer(#[allow(dead_code)] Arc<Buffer>),
    Host(HostView),
}

/// The bytes of a Python object with a buffer, in C order.
pub(crate) struct HostView(Box<ffi::Py_buffer>);

// SAFETY: the view is only read (address and size), and released under the GIL.
unsafe impl Send for HostView {}

impl HostView {
    fn get(object: &Bound<'_, PyAny>, write: bool) -> PyResult<HostView> {
        let mut view = Box::new(ffi::Py_buffer::new());
        let flags = ffi::PyBUF_C_CONTIGUOUS | if write { ffi::PyBUF_WRITABLE } else { 0 };
        // SAFETY: a live object and a place for the view, which stays where it is.
        match unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *view, flags) } {
            0 => Ok(HostView(view)),
            _ => Err(PyErr::fetch(object.py())),
        }
    }

    fn bytes(&self) -> usize {
        self.0.len as usize
    }

    fn address(&self) -> u64 {
        self.0.buf as u64
    }

    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: &pyo3::PyVisit<'_>) -> Result<(), pyo3::PyTraverseError> {
        // SAFETY: the view's count of the object whose bytes it shows, or null: what an `Option<Py>` is.
        let object = unsafe { &*(&raw const self.0.obj).cast::<Option<Py<PyAny>>>() };
        visit.call(object)
    }

    fn content(&self) -> &[u8] {
        match self.bytes() {
            0 => &[],
            // SAFETY: so many readable bytes while the view is held.
            n => unsafe { std::slice::from_raw_parts(self.0.buf.cast(), n) },
        }
    }
}

impl Drop for HostView {
    fn drop(&mut self) {
        // Without an interpreter there is nobody to give it back to.
        let _ = Python::try_attach(|_| {
            // SAFETY: a view that `get` made, released once.
            unsafe { ffi::PyBuffer_Release(&mut *self.0) }
        });
    }
}

/// One end of a copy, as an argument names it.
pub(crate) enum Target {
    Buffer(Arc<Buffer>),
    Host(HostView),
}

impl Target {
    pub(crate) fn readable(object: &Bound<'_, PyAny>) -> PyResult<Target> {
        if let Some((buffer, _)) = shared(object)? {
            return Ok(Target::Buffer(buffer));
        }
        HostView::get(object, false).map(Target::Host)
    }

    pub(crate) fn writable(object: &Bound<'_, PyAny>) -> PyResult<Target> {
        if object.cast::<UsmNdarray>().is_ok() {
            let text = "a tensor cannot be copied into, since pending operations may read it: copy into \
                        weft.memory.as_usm_memory(x) when nothing is pending";
            return Err(PyTypeError::new_err(text));
        }
        match shared(object)? {
            Some((_, true)) => Err(PyValueError::new_err("the memory is read-only")),
            Some((buffer, false)) => Ok(Target::Buffer(buffer)),
            None => HostView::get(object, true).map(Target::Host),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        match self {
            Target::Buffer(buffer) => buffer.bytes(),
            Target::Host(view) => view.bytes(),
        }
    }

    pub(crate) fn address(&self) -> u64 {
        match self {
            Target::Buffer(buffer) => buffer.address(),
            Target::Host(view) => view.address(),
        }
    }

    pub(crate) fn end(&self) -> End<'_> {
        match self {
            Target::Buffer(buffer) => End::Buffer(buffer, 0),
            Target::Host(view) => End::Host(view.address()),
        }
    }

    pub(crate) fn into_keep(self) -> Keep {
        match self {
            Target::Buffer(buffer) => Keep::Buffer(buffer),
            Target::Host(view) => Keep::Host(view),
        }
    }
}

/// The bytes that `Queue.fill` repeats.
pub(crate) fn pattern_of(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if value.is_instance_of::<PyInt>() {
        let byte = value.extract::<u8>().map_err(|_| {
            let text = format!("a byte is 0 to 255, not {value}: for wider values give a NumPy scalar or bytes");
            PyValueError::new_err(text)
        })?;
        return Ok(vec![byte]);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(value.extract::<f64>()?.to_ne_bytes().to_vec());
    }
    let view = HostView::get(value, false)?;
    match view.bytes() {
        1 | 2 | 4 | 8 => Ok(view.content().to_vec()),
        n => Err(PyValueError::new_err(format!("a fill value has 1, 2, 4 or 8 bytes, not {n}"))),
    }
}

/// Waits until the content of a buffer is there, so that a copy that follows is short. Ctrl-C ends the wait.
pub(crate) fn settle(py: Python<'_>, buffer: &Buffer) -> PyResult<()> {
    buffer.last_writer().map_or(Ok(()), |event| await_event(py, &event))
}

/// Memory of a queue. When there is none left, what tensors have recorded runs (which lets go of what it read), and
/// it is tried again.
pub(crate) fn allocate(
    py: Python<'_>,
    queue: &Arc<weft_runtime::Queue>,
    bytes: usize,
    kind: UsmKind,
) -> PyResult<Arc<Buffer>> {
    // Not worth giving the GIL away for.
    if let Some(buffer) = Buffer::reuse(queue, bytes, kind) {
        return Ok(buffer);
    }
    let total = queue.info().global_mem_bytes;
    let made = py.detach(|| {
        if bytes as u64 > total {
            let device = queue.filter().to_owned();
            return Err(HalError::OutOfMemory { device, requested: bytes as u64, free: None, total });
        }
        match Buffer::alloc(Some(queue), bytes, kind) {
            Err(HalError::OutOfMemory { .. }) => {
                // What fails here fails again where its result is looked at.
                let _ = weft_tensor::flush_queue(queue);
                Buffer::alloc(Some(queue), bytes, kind)
            }
            made => made,
        }
    });
    made.map_err(|e| errors::from_hal(py, &e))
}

fn kind_named(name: &str) -> PyResult<UsmKind> {
    let found = UsmKind::ALL.into_iter().find(|k| k.name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("usm_type is \"device\", \"shared\" or \"host\", not {name:?}")))
}

// ---- The interface, out.

/// Memory whose address was handed out, by address: an interface that names it again means the same buffer.
static EXPOSED: Mutex<BTreeMap<u64, Weak<Buffer>>> = Mutex::new(BTreeMap::new());

fn expose(buffer: &Arc<Buffer>) {
    let mut exposed = EXPOSED.lock().unwrap_or_else(PoisonError::into_inner);
    if exposed.len() % 256 == 255 {
        exposed.retain(|_, b| b.strong_count() > 0);
    }
    exposed.insert(buffer.address(), Arc::downgrade(buffer));
}

/// The exposed buffer that a range of memory lies in.
fn exposed(address: u64, bytes: usize) -> Option<Arc<Buffer>> {
    let exposed = EXPOSED.lock().unwrap_or_else(PoisonError::into_inner);
    let before: Vec<_> = exposed.range(..=address).rev().take(64).filter_map(|(_, b)| b.upgrade()).collect();
    // One of these may be the last count of its buffer, whose end may run Python code.
    drop(exposed);
    let end = address.checked_add(bytes as u64)?;
    before.into_iter().find(|b| b.address() <= address && end <= b.address() + b.bytes() as u64)
}

/// NumPy's name of a dtype in array interfaces.
fn typestr(dtype: DType) -> String {
    let name = dtype.numpy_name();
    let kind = match name.as_bytes()[0] {
        b'b' => 'b',
        b'i' => 'i',
        b'u' => 'u',
        b'f' => 'f',
        _ => 'c',
    };
    format!("{}{kind}{}", if dtype.size() == 1 { '|' } else { '<' }, dtype.size())
}

/// The dictionary of `__sycl_usm_array_interface__` for memory in C order.
fn interface<'py>(
    py: Python<'py>,
    buffer: &Arc<Buffer>,
    queue: Queue,
    shape: &[i64],
    typestr: &str,
) -> PyResult<Bound<'py, PyDict>> {
    expose(buffer);
    let dict = PyDict::new(py);
    dict.set_item("data", (buffer.address(), false))?;
    dict.set_item("shape", PyTuple::new(py, shape)?)?;
    dict.set_item("strides", py.None())?;
    dict.set_item("typestr", typestr)?;
    dict.set_item("version", 1)?;
    dict.set_item("syclobj", queue)?;
    dict.set_item("offset", 0)?;
    Ok(dict)
}

/// The interface of a tensor. What is pending runs; a later `x += y` gives x new memory, which this does not show.
pub(crate) fn tensor_interface<'py>(py: Python<'py>, x: &UsmNdarray) -> PyResult<Bound<'py, PyDict>> {
    let tensor = x.handle();
    let buffer = x.buffer(py)?;
    interface(py, &buffer, Queue(tensor.queue().clone()), tensor.shape(), &typestr(tensor.dtype()))
}

// ---- The interface, in.

/// What somebody's `__sycl_usm_array_interface__` says.
struct Described {
    buffer: Arc<Buffer>,
    queue: Arc<weft_runtime::Queue>,
    shape: Vec<i64>,
    typestr: String,
    read_only: bool,
}

fn field<'py>(dict: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    dict.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("{INTERFACE} has no {name:?}")))
}

fn bad(name: &str, what: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let shown = what.repr().map_or_else(|_| "?".to_owned(), |r| r.to_string());
    PyValueError::new_err(format!("{INTERFACE}[{name:?}] is {shown}; expected {expected}"))
}

/// Bytes of one element of a type string, or `None` for one that nobody has.
fn element_bytes(typestr: &str) -> Option<usize> {
    let (order, rest) = typestr.split_at_checked(1)?;
    let (kind, size) = rest.split_at_checked(1)?;
    let size: usize = size.parse().ok()?;
    let known = match kind {
        "b" => size == 1,
        "i" | "u" => matches!(size, 1 | 2 | 4 | 8),
        "f" => matches!(size, 2 | 4 | 8),
        "c" => matches!(size, 8 | 16),
        _ => false,
    };
    (known && (matches!(order, "<" | "=") || (order == "|" && size == 1))).then_some(size)
}

/// The queue that an interface's `syclobj` means.
fn interface_queue(object: &Bound<'_, PyAny>) -> PyResult<Arc<weft_runtime::Queue>> {
    let py = object.py();
    if object.is_instance_of::<PyCapsule>() || object.hasattr("_get_capsule")? {
        let text = format!(
            "{INTERFACE}[\"syclobj\"] is a SYCL object, which Weft cannot use: it takes a weft.Queue or a \
                            filter string"
        );
        return Err(PyTypeError::new_err(text));
    }
    place_of(py, Some(object))
}

fn described(object: &Bound<'_, PyAny>) -> PyResult<Option<Described>> {
    let py = object.py();
    let Some(found) = object.getattr_opt(INTERFACE)? else { return Ok(None) };
    let dict = found.cast::<PyDict>().map_err(|_| {
        PyTypeError::new_err(format!(
            "{INTERFACE} is a {}, not a dict",
            found.get_type().qualname().map_or_else(|_| "?".to_owned(), |n| n.to_string())
        ))
    })?;
    let version = field(dict, "version")?;
    if version.extract::<i64>().ok() != Some(1) {
        return Err(bad("version", &version, "1"));
    }
    let data = field(dict, "data")?;
    let (address, read_only): (u64, bool) = data.extract().map_err(|_| bad("data", &data, "(address, read-only)"))?;
    let name = field(dict, "typestr")?;
    let typestr: String = name.extract().map_err(|_| bad("typestr", &name, "a string such as \"<f8\""))?;
    let item = element_bytes(&typestr).ok_or_else(|| bad("typestr", &name, "one such as \"<f8\" or \"|u1\""))?;
    let sizes = field(dict, "shape")?;
    let shape: Vec<i64> = sizes.extract().map_err(|_| bad("shape", &sizes, "a tuple of sizes"))?;
    let mut bytes = item as u64;
    for &n in &shape {
        let size = u64::try_from(n).ok().and_then(|n| bytes.checked_mul(n)).filter(|b| *b < 1 << 60);
        bytes = size.ok_or_else(|| bad("shape", &sizes, "sizes that are not negative and fit a memory"))?;
    }
    if let Some(strides) = dict.get_item("strides")?.filter(|s| !s.is_none()) {
        let list: Vec<i64> = strides.extract().map_err(|_| bad("strides", &strides, "None or a tuple of steps"))?;
        if list.len() != shape.len() {
            return Err(bad("strides", &strides, &format!("{} steps, as many as sizes", shape.len())));
        }
        // In elements, as the protocol has it.
        let mut step = 1;
        for k in (0..shape.len()).rev() {
            if shape[k] != 1 && bytes > 0 && list[k] != step {
                return Err(bad("strides", &strides, "C order (copy the array into C order first)"));
            }
            step *= shape[k];
        }
    }
    let offset = match dict.get_item("offset")?.filter(|o| !o.is_none()) {
        Some(offset) => offset.extract::<u32>().map_err(|_| bad("offset", &offset, "a number of elements"))?,
        None => 0,
    };
    if address == 0 && bytes > 0 {
        return Err(bad("data", &data, &format!("the address of {bytes} bytes")));
    }
    let queue = interface_queue(&field(dict, "syclobj")?)?;
    let (address, bytes) = (address + u64::from(offset) * item as u64, bytes as usize);
    let said = match object.getattr_opt("usm_type")?.map(|k| k.extract::<String>()) {
        Some(Ok(kind)) => Some(kind_named(&kind)?),
        _ => None,
    };
    // Host memory without a queue is what native tensors are stored in.
    let here = |b: &Arc<Buffer>| b.queue().map_or(queue.is_native(), |q| Arc::ptr_eq(q.device(), queue.device()));
    let buffer = match exposed(address, bytes).filter(here) {
        Some(buffer) => {
            let offset = (address - buffer.address()) as usize;
            let own = if buffer.queue().is_some() { buffer.kind() } else { UsmKind::Device };
            let kind = if queue.is_native() { said.unwrap_or(own) } else { own };
            buffer.part(offset, bytes, Some((&queue, kind))).map_err(|e| errors::from_hal(py, &e))?
        }
        None => {
            let keep: Box<Py<PyAny>> = Box::new(object.clone().unbind());
            let kind = said.unwrap_or(UsmKind::Device);
            // SAFETY: the protocol says that the object keeps this memory, of the queue's device, alive.
            unsafe { Buffer::foreign(Some(&queue), address, bytes, kind, keep) }
        }
    };
    Ok(Some(Described { buffer, queue, shape, typestr, read_only }))
}

/// The buffer behind an object of ours or one with the interface, and whether it may only be read. Runs what is
/// pending on a tensor.
fn shared(object: &Bound<'_, PyAny>) -> PyResult<Option<(Arc<Buffer>, bool)>> {
    if let Ok(memory) = object.cast::<Memory>() {
        return Ok(Some((memory.get().buffer.clone(), false)));
    }
    if let Ok(tensor) = object.cast::<UsmNdarray>() {
        let (handle, buffer) = (tensor.get().handle(), tensor.get().buffer(object.py())?);
        let bytes = handle.size() * handle.dtype().size();
        let seen = buffer.part(0, bytes, Some((handle.queue(), handle.usm())));
        return seen.map(|seen| Some((seen, false))).map_err(|e| errors::from_hal(object.py(), &e));
    }
    Ok(described(object)?.map(|d| (d.buffer, d.read_only)))
}

/// The kind of memory behind an object with the interface.
#[pyfunction]
pub(crate) fn usm_kind(object: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    match shared(object)? {
        Some((buffer, _)) => Ok(buffer.kind().name()),
        None => Err(PyTypeError::new_err(format!("{} has no {INTERFACE}", object.get_type().qualname()?))),
    }
}

/// A tensor over memory that an object describes, as elements of `dtype` in that shape or as the object says: no copy.
/// `None` if the object has no interface.
#[pyfunction]
#[pyo3(signature = (object, shape = None, dtype = None))]
pub(crate) fn tensor_from_usm(
    object: &Bound<'_, PyAny>,
    shape: Option<Vec<i64>>,
    dtype: Option<&str>,
) -> PyResult<Option<UsmNdarray>> {
    let Some(found) = described(object)? else { return Ok(None) };
    let named = DType::ALL.into_iter().find(|d| match dtype {
        Some(name) => d.numpy_name() == name,
        None => typestr(*d)[1..] == found.typestr[1..],
    });
    let Some(dtype) = named else {
        let name = dtype.unwrap_or(&found.typestr);
        let message = format!("memory with elements of type {name:?} cannot be a tensor yet");
        return Err(errors::new(object.py(), "UnsupportedError", message));
    };
    let shape = shape.unwrap_or(found.shape);
    let sizes = shape.iter().try_fold(dtype.size() as u64, |b, &n| b.checked_mul(u64::try_from(n).ok()?));
    let bytes = found.buffer.bytes();
    let Some(wanted) = sizes.filter(|&n| n <= bytes as u64) else {
        let text = format!("{bytes} bytes of memory cannot be an array of {} with shape {shape:?}", dtype.numpy_name());
        return Err(PyValueError::new_err(text));
    };
    if !found.buffer.address().is_multiple_of(dtype.size() as u64) {
        let text = format!("memory at {:#x} is not aligned for {}", found.buffer.address(), dtype.numpy_name());
        return Err(PyValueError::new_err(text));
    }
    let part = found.buffer.part(0, wanted as usize, None);
    let buffer = part.map_err(|e| errors::from_hal(object.py(), &e))?;
    Ok(Some(UsmNdarray::new(Tensor::stored(shape, dtype, found.queue, buffer))))
}

// ---- Memory.

/// Bytes on a queue: the base of `weft.memory`'s classes.
#[pyclass(frozen, subclass, weakref, module = "weft.memory")]
pub(crate) struct Memory {
    buffer: Arc<Buffer>,
    queue: Arc<weft_runtime::Queue>,
}

/// A number of bytes to allocate, checked.
fn byte_count(source: &Bound<'_, PyAny>, queue: &weft_runtime::Queue) -> PyResult<usize> {
    if source.is_exact_instance_of::<PyInt>()
        && let Ok(bytes @ 1..0x1000_0000_0000_0000) = source.extract::<usize>()
    {
        return Ok(bytes);
    }
    let source = source.py().import("operator")?.getattr("index")?.call1((source,))?;
    if source.lt(1)? {
        return Err(PyValueError::new_err(format!("memory has at least one byte, not {source}")));
    }
    source.extract::<usize>().ok().filter(|&n| n < 1 << 60).ok_or_else(|| {
        let text = format!(
            "{} is out of memory: {source} bytes were asked for, {} bytes in all",
            queue.filter(),
            queue.info().global_mem_bytes
        );
        errors::new(source.py(), "DeviceMemoryError", text)
    })
}

/// Fresh memory at an address that is a multiple of `alignment`.
fn aligned(
    py: Python<'_>,
    queue: &Arc<weft_runtime::Queue>,
    bytes: usize,
    kind: UsmKind,
    alignment: usize,
) -> PyResult<Arc<Buffer>> {
    if !queue.info().usm.contains(&kind) {
        let text = format!("{} has no {} memory", queue.filter(), kind.name());
        return Err(errors::new(py, "DeviceError", text));
    }
    // Every address is a multiple of 64.
    if alignment <= 64 {
        return allocate(py, queue, bytes, kind);
    }
    let whole = allocate(py, queue, bytes + alignment, kind)?;
    let offset = whole.address().next_multiple_of(alignment as u64) - whole.address();
    whole.part(offset as usize, bytes, None).map_err(|e| errors::from_hal(py, &e))
}

/// The queue of new memory: the one named, else where new arrays go (spec B10).
fn queue_for_new(py: Python<'_>, named: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<weft_runtime::Queue>> {
    if named.is_some() {
        return place_of(py, named);
    }
    let chosen = py.import("weft._global_queue")?.getattr("queue_for_new_array")?.call1((py.None(), py.None()))?;
    place_of(py, Some(&chosen))
}

impl Memory {
    /// New memory of so many bytes; or, from an object with memory (of `weft.memory`, a tensor, anything with
    /// `__sycl_usm_array_interface__`), the same memory, or a copy of it.
    fn make(
        source: &Bound<'_, PyAny>,
        kind: UsmKind,
        alignment: i64,
        queue: Option<&Bound<'_, PyAny>>,
        copy: bool,
    ) -> PyResult<Memory> {
        let py = source.py();
        let queue = queue.filter(|q| !q.is_none());
        if alignment != 0 && (alignment < 0 || alignment.count_ones() != 1 || alignment > 1 << 40) {
            let text = format!("an alignment is zero or a power of two, not {alignment}");
            return Err(PyValueError::new_err(text));
        }
        let alignment = alignment as usize;
        if source.is_instance_of::<PyInt>() || source.hasattr("__index__")? && source.getattr_opt(INTERFACE)?.is_none()
        {
            let queue = queue_for_new(py, queue)?;
            let bytes = byte_count(source, &queue)?;
            let buffer = aligned(py, &queue, bytes, kind, alignment)?;
            return Ok(Memory { buffer, queue });
        }
        let Some((buffer, _)) = shared(source)? else {
            let ty = source.get_type().qualname()?;
            return Err(PyTypeError::new_err(format!(
                "memory is made of a number of bytes, or of an object with {INTERFACE}, not of {ty}"
            )));
        };
        let home = match (queue, buffer.queue()) {
            (Some(queue), _) => place_of(py, Some(queue))?,
            (None, Some(home)) => home.clone(),
            (None, None) => queue_for_new(py, None)?,
        };
        let elsewhere = buffer.queue().is_none_or(|q| !Arc::ptr_eq(q.device(), home.device()));
        let askew = alignment > 0 && !buffer.address().is_multiple_of(alignment as u64);
        if !copy && (buffer.kind() != kind || elsewhere || askew) {
            let text = format!(
                "the object has {} memory on {} at {:#x}, not {} memory on {} aligned to {alignment}: pass copy=True",
                buffer.kind().name(),
                buffer.queue().map_or("the host", |q| q.filter()),
                buffer.address(),
                kind.name(),
                home.filter()
            );
            return Err(PyValueError::new_err(text));
        }
        if !copy {
            return Ok(Memory { buffer, queue: home });
        }
        let fresh = Memory { buffer: aligned(py, &home, buffer.bytes(), kind, alignment)?, queue: home };
        fresh.copy_in(py, Target::Buffer(buffer))?;
        Ok(fresh)
    }
}

impl Memory {
    fn copy_in(&self, py: Python<'_>, src: Target) -> PyResult<()> {
        if src.bytes() > self.buffer.bytes() {
            let text = format!("{} bytes do not fit into memory of {} bytes", src.bytes(), self.buffer.bytes());
            return Err(PyValueError::new_err(text));
        }
        let bytes = src.bytes();
        self.copy(py, Target::Buffer(self.buffer.clone()), src, bytes)
    }

    /// Copies `bytes`, which are inside both, and waits. Ctrl-C ends the wait; the copy goes on, and keeps both.
    fn copy(&self, py: Python<'_>, dst: Target, src: Target, bytes: usize) -> PyResult<()> {
        let (to, from) = (dst.end(), src.end());
        // SAFETY: the caller checked the sizes, and the event keeps both memories until it is complete.
        let done = py.detach(|| unsafe { weft_runtime::copy(&self.queue, to, from, bytes, &[]) });
        let event = done.map_err(|e| errors::from_hal(py, &e))?;
        Event::new(py, event, vec![], vec![dst.into_keep(), src.into_keep()])?.get().wait(py)
    }
}

#[pymethods]
impl Memory {
    /// How many bytes it has.
    #[getter]
    fn nbytes(&self) -> usize {
        self.buffer.bytes()
    }

    /// How many bytes it has.
    #[getter]
    fn size(&self) -> usize {
        self.buffer.bytes()
    }

    fn __len__(&self) -> usize {
        self.buffer.bytes()
    }

    /// Kind of memory: `device`, `shared` or `host`.
    #[getter(usm_type)]
    fn kind_name(&self) -> &'static str {
        self.buffer.kind().name()
    }

    /// Kind of memory, as a method.
    #[pyo3(signature = (_syclobj = None))]
    fn get_usm_type(&self, _syclobj: Option<&Bound<'_, PyAny>>) -> &'static str {
        self.buffer.kind().name()
    }

    /// Its address.
    #[getter]
    fn _pointer(&self) -> u64 {
        expose(&self.buffer);
        self.buffer.address()
    }

    /// The queue it belongs to.
    #[getter]
    fn queue(&self) -> Queue {
        Queue(self.queue.clone())
    }

    /// The queue it belongs to, by dpctl's name.
    #[getter]
    fn sycl_queue(&self) -> Queue {
        self.queue()
    }

    /// The device it lies on.
    #[getter]
    fn device(&self) -> Device {
        Device(self.queue.device().itself().unwrap_or_else(|| self.queue.device().clone()))
    }

    /// The device it lies on, by dpctl's name.
    #[getter]
    fn sycl_device(&self) -> Device {
        self.device()
    }

    /// The context it lies in.
    #[getter]
    fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(py, self.queue())?.into_any().getattr("context")
    }

    /// The context it lies in, by dpctl's name.
    #[getter]
    fn sycl_context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.context(py)
    }

    /// The protocol by which others use this memory without a copy.
    #[getter]
    fn __sycl_usm_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        interface(py, &self.buffer, self.queue(), &[self.buffer.bytes() as i64], "|u1")
    }

    /// Copies the bytes into `out`, an object with a writable buffer that is large enough; without one, into a new
    /// NumPy array of bytes. Returns it.
    #[pyo3(signature = (out = None))]
    fn copy_to_host<'py>(&self, py: Python<'py>, out: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let out = match out.filter(|o| !o.is_none()) {
            Some(out) => out,
            None => py.import("numpy")?.getattr("empty")?.call1((self.buffer.bytes(), "u1"))?,
        };
        let view = HostView::get(&out, true)?;
        if view.bytes() < self.buffer.bytes() {
            let text = format!("{} bytes do not fit into {} bytes", self.buffer.bytes(), view.bytes());
            return Err(PyValueError::new_err(text));
        }
        self.copy(py, Target::Host(view), Target::Buffer(self.buffer.clone()), self.buffer.bytes())?;
        Ok(out)
    }

    /// Copies the bytes of an object with a buffer to the start of this memory.
    fn copy_from_host(&self, source: &Bound<'_, PyAny>) -> PyResult<()> {
        self.copy_in(source.py(), Target::Host(HostView::get(source, false)?))
    }

    /// Copies other memory (of `weft.memory`, a tensor, anything with `__sycl_usm_array_interface__`), on whatever
    /// device, to the start of this memory.
    fn copy_from_device(&self, source: &Bound<'_, PyAny>) -> PyResult<()> {
        let Some((buffer, _)) = shared(source)? else {
            let ty = source.get_type().qualname()?;
            return Err(PyTypeError::new_err(format!("expected memory or an object with {INTERFACE}, not {ty}")));
        };
        if Arc::ptr_eq(&buffer, &self.buffer) {
            return Ok(());
        }
        let (to, from, size) = (self.buffer.address(), buffer.address(), buffer.bytes() as u64);
        if to < from + size && from < to + size {
            let text = format!("{size} bytes at {from:#x} and at {to:#x} overlap: copy by way of other memory");
            return Err(PyValueError::new_err(text));
        }
        self.copy_in(source.py(), Target::Buffer(buffer))
    }

    /// Sets every byte.
    #[pyo3(signature = (value = 0))]
    fn memset(&self, py: Python<'_>, value: u8) -> PyResult<()> {
        let done = py.detach(|| self.buffer.fill_on(&self.queue, &[value], &[]));
        await_event(py, &done.map_err(|e| errors::from_hal(py, &e))?)
    }

    /// A copy of the bytes.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        settle(py, &self.buffer)?;
        PyBytes::new_with(py, self.buffer.bytes(), |out| {
            let done = py.detach(|| self.buffer.to_host(0, out));
            done.map_err(|e| errors::from_hal(py, &e))
        })
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.tobytes(py)
    }

    /// Content, kind and device travel; the queue there is the device's default one.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let restore = py.import("weft.memory")?.getattr("_restore")?;
        let this = slf.get();
        let state = (slf.get_type(), this.tobytes(py)?, this.queue.filter());
        Ok((restore, state.into_pyobject(py)?))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let this = slf.get();
        let (name, bytes) = (slf.get_type().name()?, this.buffer.bytes());
        Ok(format!("<weft.memory.{name} of {bytes} bytes on {}>", this.queue.filter()))
    }

    /// The bytes themselves, where the host can see them. Waits until nobody uses them.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let py = slf.py();
        let buffer = &slf.get().buffer;
        if !buffer.host_visible() {
            let text = format!(
                "the host cannot see {} memory of {}: use copy_to_host()",
                buffer.kind().name(),
                slf.get().queue.filter()
            );
            return Err(PyBufferError::new_err(text));
        }
        settle(py, buffer)?;
        py.detach(|| buffer.wait_idle()).map_err(|e| errors::from_hal(py, &e))?;
        let (address, bytes) = (buffer.address() as *mut c_void, buffer.bytes() as isize);
        // SAFETY: the interpreter gives a place for the view; the object, of which the view has a count, keeps the memory.
        match unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), address, bytes, 0, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(py)),
        }
    }

    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {}
}

/// A class of `weft.memory`: its name, the kind of its memory, what it says about itself.
macro_rules! memory_class {
    ($name:ident, $kind:expr, $($doc:literal)+) => {
        $(#[doc = $doc])+
        #[pyclass(frozen, subclass, extends = Memory, module = "weft.memory")]
        pub(crate) struct $name;

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (nbytes, *, alignment = 0, queue = None, copy = false))]
            fn new(
                nbytes: &Bound<'_, PyAny>,
                alignment: i64,
                queue: Option<&Bound<'_, PyAny>>,
                copy: bool,
            ) -> PyResult<PyClassInitializer<$name>> {
                let memory = Memory::make(nbytes, $kind, alignment, queue, copy)?;
                Ok(PyClassInitializer::from(memory).add_subclass($name))
            }
        }
    };
}

memory_class!(
    DeviceMemory,
    UsmKind::Device,
    "`DeviceMemory(nbytes, *, alignment=0, queue=None)`: memory of the device itself."
    ""
    "Made of an object that has device memory, it is that memory; `copy=True` copies from any kind and device."
);
memory_class!(
    SharedMemory,
    UsmKind::Shared,
    "`SharedMemory(nbytes, *, alignment=0, queue=None)`: memory that device and host see, moved by the driver."
    ""
    "Made of an object that has shared memory, it is that memory; `copy=True` copies from any kind and device."
);
memory_class!(
    HostMemory,
    UsmKind::Host,
    "`HostMemory(nbytes, *, alignment=0, queue=None)`: memory of the host that the device sees."
    ""
    "Made of an object that has host memory, it is that memory; `copy=True` copies from any kind and device."
);

// ---- The pools.

/// What each pool holds: (place, kind or None, live, pooled, peak, allocations, fresh).
type Row = (String, Option<&'static str>, u64, u64, u64, u64, u64);

/// The numbers of every pool that was used.
#[pyfunction]
pub(crate) fn memory_stats(py: Python<'_>) -> Vec<Row> {
    let all = py.detach(pool::stats);
    let row =
        |s: pool::PoolStats| (s.place, s.kind.map(UsmKind::name), s.live, s.pooled, s.peak, s.allocations, s.fresh);
    all.into_iter().map(row).collect()
}

/// Gives all memory that is kept for reuse back. Returns the bytes.
#[pyfunction]
pub(crate) fn memory_trim(py: Python<'_>) -> u64 {
    py.detach(pool::trim)
}

/// Seconds to take memory from a queue's pool and give it back, on average of `count` in a loop of machine code: the way
/// of compiled code and of tensors, for benchmarks.
#[pyfunction(name = "_pool_seconds")]
pub(crate) fn pool_seconds(py: Python<'_>, queue: &Queue, bytes: usize, count: u32) -> PyResult<f64> {
    let run = || -> Result<f64, HalError> {
        let start = Instant::now();
        for _ in 0..count {
            drop(Buffer::alloc(Some(&queue.0), bytes, UsmKind::Device)?);
        }
        Ok(start.elapsed().as_secs_f64() / f64::from(count.max(1)))
    };
    py.detach(run).map_err(|e| errors::from_hal(py, &e))
}

/// Lets the `nth` allocation from now on fail whose size depends on the user's arrays (the first is 1), and those after it,
/// `count` in all; 0: none. Returns how many have failed since it was last called.
#[pyfunction(name = "_allocation_faults")]
pub(crate) fn allocation_faults(nth: u64, count: u64) -> u64 {
    weft_codegen::shortage::arm(nth, count)
}

/// `weft.config.memory_limit`.
#[pyfunction]
#[pyo3(signature = (bytes))]
pub(crate) fn set_memory_limit(bytes: Option<u64>) {
    pool::set_memory_limit(bytes);
}
