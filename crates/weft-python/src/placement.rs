//! Where a call runs: compute follows data (SPEC B).

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use weft_ir::Place;
use weft_runtime::Queue;

use crate::arguments::Arguments;
use crate::function::Function;
use crate::{context, errors, places};

/// The `contextvars.ContextVar` that `weft.placement` sets: whether a common context is enough (C3).
static BY_CONTEXT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Names the variable. Called once, by `weft._placement`.
#[pyfunction]
pub(crate) fn set_placement_variable(py: Python<'_>, variable: Py<PyAny>) {
    let _ = BY_CONTEXT.set(py, variable);
    // What cannot be asked is not so.
    weft_tensor::set_context_rule(|| Python::attach(|py| by_context(py).unwrap_or(false)));
}

/// Whether arrays that share a context, and not a queue, may meet. Asked only where queues differ.
fn by_context(py: Python<'_>) -> PyResult<bool> {
    let Some(variable) = BY_CONTEXT.get(py) else { return Ok(false) };
    variable.bind(py).call_method0("get")?.extract()
}

/// What decides where a call runs.
pub(crate) enum Placement {
    /// No device arrays and no device context.
    Host,
    /// NumPy arrays or none, inside a device context.
    Context(Arc<Queue>),
    /// Device arrays: where they live.
    Data,
}

impl Placement {
    /// The placement of a call, or why its arguments cannot meet.
    pub(crate) fn of(py: Python<'_>, function: &Function, call: &Arguments) -> PyResult<Placement> {
        let context = context::current(py)?;
        let Some(first) = call.tensors.first() else {
            return Ok(context.map_or(Placement::Host, Placement::Context));
        };
        let queue = first.node.queue();
        if let Some(k) = call.host_array {
            return Err(mixed(py, function, k, first.k, queue));
        }
        if call.tensors.iter().any(|t| **t.node.queue() != **queue) {
            let near = call.tensors.iter().all(|t| t.node.queue().context() == queue.context());
            if !near || !by_context(py)? {
                return Err(apart(py, function, call));
            }
        }
        if let Some(named) = context.filter(|named| **named != **queue) {
            warn(py, function, &named, queue)?;
        }
        Ok(Placement::Data)
    }

    /// The id of the place in a dispatch key. Where data decide, their own words say it.
    pub(crate) fn id(&self) -> u32 {
        match self {
            Placement::Host | Placement::Data => 0,
            Placement::Context(queue) => places::place_id(queue),
        }
    }

    /// The queue of parallel work; the native one on the host.
    pub(crate) fn queue(&self, py: Python<'_>, call: &Arguments) -> PyResult<Arc<Queue>> {
        match (self, call.tensors.first()) {
            (Placement::Context(queue), _) => Ok(queue.clone()),
            (Placement::Data, Some(first)) => Ok(first.node.queue().clone()),
            _ => weft_runtime::queue_for("native").map_err(|e| errors::from_hal(py, &e)),
        }
    }

    /// Where array arguments live, as the passes name it.
    pub(crate) fn home(&self, call: &Arguments) -> Place {
        match (self, call.tensors.first().map(|t| t.node.queue())) {
            (Placement::Data, Some(queue)) if !queue.is_native() => Place::device(queue.filter()),
            _ => Place::Host,
        }
    }
}

/// NumPy arrays and device arrays in one call (B7).
fn mixed(py: Python<'_>, function: &Function, host: usize, other: usize, queue: &Queue) -> PyErr {
    let (host, other) = (&function.parameters[host], &function.parameters[other]);
    let message = format!(
        "`{}` was called with the NumPy array `{host}` and with `{other}`, which lives on {queue}: pass \
         weft.tensor.asarray({host}, device=\"{queue}\"), or weft.tensor.asnumpy({other})",
        function.name
    );
    errors::new(py, "ExecutionPlacementError", message)
}

/// Arrays of different queues in one call (B3).
fn apart(py: Python<'_>, function: &Function, call: &Arguments) -> PyErr {
    let first = call.tensors[0].node.queue();
    let mut message = format!("`{}` was called with arrays of different queues:", function.name);
    for argument in &call.tensors {
        let (name, queue) = (&function.parameters[argument.k], argument.node.queue());
        let fix = match **queue == **first {
            true => String::new(),
            false => format!(": pass {name}.to_device({}.queue)", function.parameters[call.tensors[0].k]),
        };
        message.push_str(&format!("\n  `{name}` lives on {}{fix}", places::describe(queue)));
    }
    errors::new(py, "ExecutionPlacementError", message)
}

/// Data win over a context that names another place (B8).
fn warn(py: Python<'_>, function: &Function, context: &Queue, data: &Queue) -> PyResult<()> {
    let message = format!(
        "`{}` runs on {data}, where its arrays live, although the open device_context names {context}",
        function.name
    );
    let class = py.import("weft.errors")?.getattr("PlacementWarning")?;
    py.import("warnings")?.getattr("warn")?.call1((message, class, 1))?;
    Ok(())
}
