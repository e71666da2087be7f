//! A hit: running a specialisation on the arguments of a call.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;
use weft_runtime::{HostSpan, Touched, extent};

use crate::arguments::Arguments;
use crate::errors;
use crate::function::Function;
use crate::numpy::ArrayView;
use crate::results::{slots_of, to_python};
use crate::specialisation::Specialisation;

/// Elements of the largest array from which on a native call lets other Python threads run meanwhile. Below, giving
/// the GIL away costs more than the call when another thread is busy.
const RELEASE_FROM: usize = 50_000;

/// Calls a specialisation and makes Python objects of what it returns.
pub(crate) fn run(
    py: Python<'_>,
    function: &Function,
    made: &Specialisation,
    call: &Arguments,
    args: &Bound<'_, PyTuple>,
) -> PyResult<Py<PyAny>> {
    let device = !made.queue.is_native();
    let spans = if device { host_spans(args)? } else { SmallVec::new() };
    let touched = Touched { queue: device.then_some(&made.queue), host: &spans, ..Touched::default() };
    let count = made.results.iter().map(slots_of).sum();
    let mut results: SmallVec<[u64; 32]> = SmallVec::from_elem(0, count);
    let release = function.nogil.unwrap_or(device || call.elements >= RELEASE_FROM);
    // SAFETY: the slots are those of the parameters the code was compiled for (the key says so); `args` keeps the arrays
    // alive, and NumPy cannot move the memory of an array that somebody holds.
    let mut work = || unsafe { made.executable.call(&call.slots, &mut results, &touched) };
    let outcome = if release { py.detach(work) } else { work() };
    outcome.map_err(|e| errors::from_call(py, &e, &made.sources, &function.name))?;
    to_python(py, &made.results, made.returns, &results, args)
}

/// What the NumPy arrays among the arguments may touch.
fn host_spans(args: &Bound<'_, PyTuple>) -> PyResult<SmallVec<[HostSpan; 8]>> {
    let mut spans = SmallVec::new();
    for object in args.iter() {
        // SAFETY: the tuple keeps the object alive.
        let Some(view) = (unsafe { ArrayView::new(object.as_ptr()) }) else { continue };
        let wide = |list: &[isize]| list.iter().map(|&n| n as i64).collect::<SmallVec<[i64; 8]>>();
        let size = view.dtype().map_or(1, |d| d.size());
        spans.extend(extent(view.data() as u64, &wide(view.shape()), &wide(view.strides()), size));
    }
    Ok(spans)
}
