//! A hit: running a specialisation on the arguments of a call.

use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;
use smallvec::SmallVec;
use weft_runtime::{Buffer, HostSpan, Touched, UsmKind, extent};
use weft_tensor::Tensor;

use crate::arguments::Arguments;
use crate::errors;
use crate::function::Function;
use crate::numpy::ArrayView;
use crate::results::{Home, slots_of, to_python};
use crate::specialisation::Specialisation;
use crate::tensor::UsmNdarray;

/// Elements of the largest array from which on a native call lets other Python threads run meanwhile. Below, giving
/// the GIL away costs more than the call when another thread is busy.
const RELEASE_FROM: usize = 50_000;

/// Calls a specialisation and makes Python objects of what it returns.
///
/// # Safety
/// `objects` are the live arguments that `call` was read from, and stay so during the call.
pub(crate) unsafe fn run(
    py: Python<'_>,
    function: &Function,
    made: &Specialisation,
    call: &mut Arguments,
    objects: &[*mut ffi::PyObject],
) -> PyResult<Py<PyAny>> {
    // SAFETY: passed on to the caller.
    unsafe { separate_versions(py, made, call, objects) }?;
    // Data say which of several equal queues is used; else the context's, else the native one.
    let queue = call.tensors.first().map_or(&made.queue, |t| t.tensor.queue());
    let device = !queue.is_native();
    let spans = if device { host_spans(objects) } else { SmallVec::new() };
    let buffers = |written: bool| -> Vec<Arc<Buffer>> {
        call.tensors.iter().filter(|t| made.written[t.k] == written).map(|t| t.buffer.clone()).collect()
    };
    let usm = call.tensors.iter().map(|t| t.buffer.kind()).min();
    let touched = Touched { queue: Some(queue), reads: &buffers(false), writes: &buffers(true), host: &spans, usm };
    let count = made.results.iter().map(slots_of).sum();
    let mut results: SmallVec<[u64; 32]> = SmallVec::from_elem(0, count);
    let release = function.nogil.unwrap_or(device || call.elements >= RELEASE_FROM);
    // SAFETY: the slots are those of the parameters the code was compiled for (the key says so); the caller keeps the
    // arrays alive, and NumPy cannot move the memory of an array that somebody holds.
    let mut work = || unsafe { made.executable.call(&call.slots, &mut results, &touched) };
    let outcome = if release { py.detach(work) } else { work() };
    outcome.map_err(|e| errors::from_call(py, &e, &made.sources, &function.name))?;
    let home = if call.tensors.is_empty() { Home::NumPy } else { Home::Queue(queue, usm.unwrap_or(UsmKind::Device)) };
    // SAFETY: passed on to the caller; the results are those of this call.
    unsafe { to_python(py, &made.results, made.returns, &results, objects, home) }
}

/// Gives a device array that will be written, and that pending operations still read or whose memory another array
/// has too, a version of its own: they keep the old one.
///
/// # Safety
/// `objects` are the live arguments that `call` was read from.
unsafe fn separate_versions(
    py: Python<'_>,
    made: &Specialisation,
    call: &mut Arguments,
    objects: &[*mut ffi::PyObject],
) -> PyResult<()> {
    for i in 0..call.tensors.len() {
        let node = call.tensors[i].tensor.node().clone();
        let mine = call.tensors.iter().filter(|t| Arc::ptr_eq(t.tensor.node(), &node)).count();
        // The object's own handle, those of this call, and `node`.
        let old = &call.tensors[i].tensor;
        let alone = Arc::strong_count(&node) <= mine + 2 && !old.is_shared();
        if !made.written[call.tensors[i].k] || alone {
            continue;
        }
        let (shape, dtype, queue) = (old.shape().to_vec(), old.dtype(), old.queue().clone());
        let (buffer, kind) = (call.tensors[i].buffer.clone(), call.tensors[i].buffer.kind());
        let copy = py.detach(|| buffer.copy_to(Some(&queue), kind)).map_err(|e| errors::from_hal(py, &e))?;
        let version = Tensor::stored(shape, dtype, queue, copy.clone());
        // SAFETY: a live object.
        let object = unsafe { Bound::from_borrowed_ptr(py, objects[call.tensors[i].k]) };
        *object.cast::<UsmNdarray>()?.get().tensor() = Tensor::new(version.node().clone());
        // Every argument that is this object gets the new version.
        let same: SmallVec<[usize; 4]> =
            (0..call.tensors.len()).filter(|&j| Arc::ptr_eq(call.tensors[j].tensor.node(), &node)).collect();
        for j in same {
            let argument = &mut call.tensors[j];
            argument.tensor = Tensor::new(version.node().clone());
            argument.buffer = copy.clone();
            call.slots[argument.slot] = copy.address();
        }
    }
    Ok(())
}

/// What the NumPy arrays among the arguments may touch.
fn host_spans(objects: &[*mut ffi::PyObject]) -> SmallVec<[HostSpan; 8]> {
    let mut spans = SmallVec::new();
    for &object in objects {
        // SAFETY: the arguments of a call are alive.
        let Some(view) = (unsafe { ArrayView::new(object) }) else { continue };
        let wide = |list: &[isize]| list.iter().map(|&n| n as i64).collect::<SmallVec<[i64; 8]>>();
        let size = view.dtype().map_or(1, |d| d.size());
        spans.extend(extent(view.data() as u64, &wide(view.shape()), &wide(view.strides()), size));
    }
    spans
}
