//! A hit: running a specialisation on the arguments of a call.

use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;
use smallvec::SmallVec;
use weft_passes::infer::Returns;
use weft_runtime::{Buffer, CallError, HostSpan, Touched, UsmKind, extent};
use weft_tensor::Tensor;

use crate::arguments::Arguments;
use crate::errors;
use crate::function::Function;
use crate::lists::Copied;
use crate::numpy::ArrayView;
use crate::results::{Home, to_python, with_lists};
use crate::sizes::Size;
use crate::specialisation::Specialisation;
use crate::tensor::UsmNdarray;

/// Calls a specialisation and makes Python objects of what it returns.
///
/// # Safety
/// The objects that `call` was read from are alive and stay so during the call.
pub(crate) unsafe fn run(
    py: Python<'_>,
    function: &Function,
    made: &Specialisation,
    call: &mut Arguments,
) -> PyResult<Py<PyAny>> {
    // SAFETY: passed on to the caller.
    unsafe { run_or_launch(py, function, made, call, None) }
}

/// How a call of host code on host arrays went.
pub(crate) enum Ran {
    /// It returned; what became of the results.
    Returned(PyResult<Py<PyAny>>),
    /// It did not.
    Failed(CallError),
}

/// [`run`] where nothing is on a device: the short way.
///
/// # Safety
/// As for [`run`]; the specialisation is for the host.
#[inline]
pub(crate) unsafe fn run_on_host(
    py: Python<'_>,
    function: &Function,
    made: &Specialisation,
    call: &mut Arguments,
) -> Ran {
    if !made.guards.hidden.is_empty() && !hidden(py, made, call) {
        return Ran::Returned(Err(changed(py)));
    }
    let mut results: SmallVec<[u64; 32]> = SmallVec::from_elem(0, made.result_slots);
    let touched = Touched { sharing: function.sharing, ..Touched::default() };
    // SAFETY: as in `run_or_launch`.
    let work = || unsafe { made.executable.call(&call.slots, &mut results, &touched) };
    match made.pace.run(py, nogil(function, made), call, work) {
        // SAFETY: passed on to the caller; the results are those of this call.
        Ok(()) => {
            Ran::Returned(unsafe { to_python(py, &made.results, &made.returns, &results, &call.values, Home::NumPy) })
        }
        Err(error) => Ran::Failed(error),
    }
}

/// Whether a call is to let other Python threads run. One that prints does: a worker waits for the GIL then.
fn nogil(function: &Function, made: &Specialisation) -> Option<bool> {
    if made.executable.prints() { Some(true) } else { function.nogil }
}

/// Reads the global arrays and numbers that compiled code uses. They were looked at when the specialisation was chosen.
fn hidden(py: Python<'_>, made: &Specialisation, call: &mut Arguments) -> bool {
    made.guards.hidden.iter().all(|(place, word)| {
        let Some(object) = place.get(py) else { return false };
        let pointer = object.as_ptr();
        call.kept.push(object.unbind());
        // SAFETY: kept alive for the call.
        unsafe { call.push_hidden(pointer, *word) }
    })
}

/// A global that another thread replaced just now.
fn changed(py: Python<'_>) -> PyErr {
    errors::new(py, "WeftError", "a global was replaced during the call by one of another type: call again")
}

/// What comes before any run: device arrays that will be written stand for themselves, and what compiled code reads without
/// its being an argument is there.
///
/// # Safety
/// As for [`run`].
pub(crate) unsafe fn prepare(py: Python<'_>, made: &Specialisation, call: &mut Arguments) -> PyResult<()> {
    // SAFETY: passed on to the caller.
    unsafe { separate_versions(py, made, call) }?;
    match hidden(py, made, call) {
        true => Ok(()),
        false => Err(changed(py)),
    }
}

/// [`run`], or with its size the launch of a kernel, and nothing else.
///
/// # Safety
/// As for [`run`].
pub(crate) unsafe fn run_or_launch(
    py: Python<'_>,
    function: &Function,
    made: &Specialisation,
    call: &mut Arguments,
    launch: Option<&Size>,
) -> PyResult<Py<PyAny>> {
    // SAFETY: passed on to the caller.
    unsafe { prepare(py, made, call) }?;
    // SAFETY: passed on to the caller.
    let copied = unsafe { Copied::copy_in(py, made, call) }?;
    let queue = call.queue(made);
    let device = !queue.is_native();
    let spans = if device && call.host_array.is_some() { host_spans(&call.values) } else { SmallVec::new() };
    let (mut reads, mut writes, mut usm) = (SmallVec::<[&Buffer; 4]>::new(), SmallVec::<[&Buffer; 4]>::new(), None);
    for argument in &call.tensors {
        let buffer = &**argument.buffer();
        if made.written[argument.value] {
            writes.push(buffer)
        } else {
            reads.push(buffer)
        }
        usm = Some(usm.map_or(buffer.kind(), |least| buffer.kind().min(least)));
    }
    let (reads, writes, local) = (&reads, &writes, launch.map_or(&[][..], |size| &size.local));
    let touched = Touched { queue: Some(queue), reads, writes, host: &spans, usm, local, sharing: function.sharing };
    let mut results: SmallVec<[u64; 32]> = SmallVec::from_elem(0, made.result_slots);
    // A launch is over before another thread could begin, unless it has to wait.
    let short = launch.is_some() && spans.is_empty() && !made.executable.may_raise() && !queue.hal().may_be_full();
    let nogil = nogil(function, made).or(device.then_some(!short));
    // SAFETY: the slots are those of the parameters the code was compiled for (the key says so); the caller keeps the
    // arrays alive, and NumPy cannot move the memory of an array that somebody holds.
    let work = || unsafe { made.executable.call(&call.slots, &mut results, &touched) };
    let outcome = made.pace.run(py, nogil, call, work);
    let home = if call.tensors.is_empty() { Home::NumPy } else { Home::Queue(queue, usm.unwrap_or(UsmKind::Device)) };
    if let Err(error) = outcome {
        // What was done to a list until then was done.
        // SAFETY: passed on to the caller; there are no results.
        unsafe { with_lists(py, &[], &Returns::Nothing, &[], &call.values, home, &copied.lists) }?;
        let exception = errors::from_call(py, &error, &made.origin);
        return Err(match (launch, &error) {
            (Some(size), CallError::Raised(raised)) => {
                size.name_item(py, exception, &function.name, raised.iteration as u64)
            }
            _ => exception,
        });
    }
    // SAFETY: passed on to the caller; the results are those of this call.
    unsafe { with_lists(py, &made.results, &made.returns, &results, &call.values, home, &copied.lists) }
}

/// Gives a device array that will be written, and that pending operations still read or whose memory another array
/// has too, a version of its own: they keep the old one.
///
/// # Safety
/// The objects that `call` was read from are alive.
unsafe fn separate_versions(py: Python<'_>, made: &Specialisation, call: &mut Arguments) -> PyResult<()> {
    for i in 0..call.tensors.len() {
        if !made.written[call.tensors[i].value] {
            continue;
        }
        let old = &call.tensors[i].node;
        let mine = call.tensors.iter().filter(|t| Arc::ptr_eq(&t.node, old)).count();
        // The object's own handle, and those of this call.
        let alone = Arc::strong_count(old) <= mine + 1 && !old.is_shared();
        if alone {
            continue;
        }
        let old = old.clone();
        let (shape, dtype, queue) = (old.shape().to_vec(), old.dtype(), old.queue().clone());
        let (buffer, kind) = (call.tensors[i].buffer().clone(), call.tensors[i].buffer().kind());
        let copy = py.detach(|| buffer.copy_to(Some(&queue), kind)).map_err(|e| errors::from_hal(py, &e))?;
        let version = Tensor::stored(shape, dtype, queue, copy.clone());
        // SAFETY: a live object.
        let object = unsafe { Bound::from_borrowed_ptr(py, call.values[call.tensors[i].value]) };
        *object.cast::<UsmNdarray>()?.get().tensor() = Tensor::new(version.node().clone());
        // Every argument that is this object gets the new version.
        for argument in call.tensors.iter_mut().filter(|t| Arc::ptr_eq(&t.node, &old)) {
            argument.node = version.node().clone();
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
        let Some(view) = (unsafe { ArrayView::of_any(object) }) else { continue };
        let wide = |list: &[isize]| list.iter().map(|&n| n as i64).collect::<SmallVec<[i64; 8]>>();
        let size = view.dtype().map_or(1, |d| d.size());
        spans.extend(extent(view.data() as u64, &wide(view.shape()), &wide(view.strides()), size));
    }
    spans
}
