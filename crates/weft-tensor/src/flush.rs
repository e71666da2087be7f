//! Flushing: the pending graph is compiled once per structure, run, and its results stored.

use crate::TensorError;
use crate::graph::{self, Canonical, Graph};
use crate::node::Node;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use weft_passes::PassCx;
use weft_passes::infer::{self, Door};
use weft_passes::pipeline::{self, Stages};
use weft_runtime::{Buffer, Executable, Queue, RuntimeError, Touched};

/// A compiled structure.
struct Plan {
    executable: Executable,
    stages: Stages,
}

/// Compiled structures, by queue and key.
type Plans = HashMap<(u64, String), Arc<Plan>>;

static PLANS: LazyLock<Mutex<Plans>> = LazyLock::new(Mutex::default);
static FLUSHES: AtomicU64 = AtomicU64::new(0);

/// One flush at a time: two threads that look at one pending node must not both compute it.
static FLUSH: Mutex<()> = Mutex::new(());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many flushes have run in this process.
pub fn flush_count() -> u64 {
    FLUSHES.load(Ordering::Relaxed)
}

/// The memory of a node, computing it first if need be.
pub(crate) fn force(node: &Arc<Node>) -> Result<Arc<Buffer>, TensorError> {
    if let Some(buffer) = node.stored() {
        return Ok(buffer);
    }
    let _one = lock(&FLUSH);
    if let Some(buffer) = node.stored() {
        return Ok(buffer);
    }
    let graph = graph::collect(node);
    let plan = plan(node, &graph)?;
    run(node, &graph, &plan)?;
    FLUSHES.fetch_add(1, Ordering::Relaxed);
    node.stored().ok_or_else(|| RuntimeError::Internal("a flush did not store its result".into()).into())
}

/// Held nodes that were pending when they were made; those that died or were stored since are swept out as it grows.
struct Waiting {
    nodes: Vec<Weak<Node>>,
    sweep_at: usize,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { nodes: vec![], sweep_at: 64 });

/// Notes that somebody holds a pending node.
pub(crate) fn note_pending(node: &Arc<Node>) {
    let mut waiting = lock(&WAITING);
    if waiting.nodes.len() >= waiting.sweep_at {
        waiting.nodes.retain(|n| n.upgrade().is_some_and(|n| n.is_held() && n.stored().is_none()));
        waiting.sweep_at = 64.max(2 * waiting.nodes.len());
    }
    waiting.nodes.push(Arc::downgrade(node));
}

/// Runs everything pending on a queue that somebody holds, as waiting for it or timing it expects.
pub fn flush_queue(queue: &Queue) -> Result<(), TensorError> {
    let nodes: Vec<Arc<Node>> = lock(&WAITING).nodes.iter().filter_map(Weak::upgrade).collect();
    for node in nodes.iter().rev().filter(|n| *n.queue == *queue && n.is_held()) {
        force(node)?;
    }
    Ok(())
}

fn plan(node: &Arc<Node>, graph: &Graph) -> Result<Arc<Plan>, TensorError> {
    let key = (node.queue.id(), graph.key.clone());
    if let Some(plan) = lock(&PLANS).get(&key) {
        return Ok(plan.clone());
    }
    let place = node.place();
    let typed = infer::run(&graph.func, &graph.params, Door::Tensor { place: place.clone() }, &mut Canonical)?;
    let stages = pipeline::lower(typed.module, &PassCx::new(place))?;
    let executable = Executable::build(&stages.loops, Some(&node.queue), None)?;
    let plan = Arc::new(Plan { executable, stages });
    lock(&PLANS).insert(key, plan.clone());
    Ok(plan)
}

fn run(node: &Arc<Node>, graph: &Graph, plan: &Plan) -> Result<(), TensorError> {
    let mut results = vec![0; plan.executable.slots().1];
    let leaves: Vec<&Buffer> = graph.leaves.iter().map(|leaf| &**leaf).collect();
    let touched = Touched { queue: Some(&node.queue), reads: &leaves, usm: Some(node.usm), ..Touched::default() };
    // SAFETY: the slots were made from the parameters' types in their order, and `graph` keeps every buffer alive;
    // device work that outlives the call is ordered by the buffers' events.
    unsafe { plan.executable.call(&graph.slots, &mut results, &touched)? };
    let mut at = 0;
    for output in &graph.outputs {
        // SAFETY: results are (data, owner, sizes, strides) for each output; fresh arrays carry one count.
        let buffer = unsafe { Buffer::from_owner(results[at + 1]) };
        let buffer = buffer.ok_or_else(|| RuntimeError::Internal("a tensor result without an owner".into()))?;
        // What has no parallel work was computed on the host.
        let buffer = match buffer.queue() {
            None if !output.queue.is_native() => buffer.copy_to(Some(&output.queue), output.usm)?,
            _ => buffer,
        };
        output.store(buffer);
        at += 2 + 2 * output.shape.len();
    }
    Ok(())
}

/// The text of every stage of what a flush of `node` would run, for inspection; runs nothing.
pub fn inspect(node: &Arc<Node>) -> Result<Option<Stages>, TensorError> {
    if node.stored().is_some() {
        return Ok(None);
    }
    let graph = graph::collect(node);
    Ok(Some(plan(node, &graph)?.stages.clone()))
}
