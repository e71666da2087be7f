//! Tensors, and the nodes they stand for.

use crate::{TensorError, flush};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use weft_ir::attr::{BinOp, CmpOp, Const, UnaryOp};
use weft_ir::{DType, Place, Type};
use weft_runtime::{Buffer, Queue, UsmKind};

/// What a pending node does with its operands.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// `a op b`.
    Binary(BinOp),
    /// `op a`.
    Unary(UnaryOp),
    /// `a op b`.
    Compare(CmpOp),
    /// A library function by canonical name.
    Call(&'static str),
    /// A library function that makes a new array of the node's shape.
    Generate(&'static str),
}

/// An operand.
#[derive(Clone)]
pub enum Operand {
    /// A tensor.
    Tensor(Arc<Node>),
    /// A number known only when the flush runs: its type and its 8-byte slot.
    Scalar(Type, u64),
    /// A number that is part of the program.
    Const(Const),
}

/// An array: stored, or still to be computed.
pub struct Node {
    pub(crate) shape: Vec<i64>,
    pub(crate) dtype: DType,
    pub(crate) queue: Arc<Queue>,
    pub(crate) usm: UsmKind,
    state: Mutex<State>,
    /// The memory once it is stored, to be had without the lock.
    memory: OnceLock<Arc<Buffer>>,
    /// Handles outside the graph. Without any, the node need not be stored.
    holders: AtomicUsize,
    /// One count for each node over the same memory; empty while there is one only.
    shared: OnceLock<Arc<()>>,
}

pub(crate) enum State {
    Stored,
    Pending(Pending),
}

#[derive(Clone)]
pub(crate) struct Pending {
    pub op: Operation,
    pub operands: Vec<Operand>,
    /// Pending nodes at and below this one, counted once per path: a bound on the work of a flush.
    pub weight: usize,
}

impl Node {
    /// A node over memory, or, without any, one that will be computed as `state` says.
    pub(crate) fn new(
        shape: Vec<i64>,
        dtype: DType,
        queue: Arc<Queue>,
        usm: UsmKind,
        state: State,
        stored: Option<Arc<Buffer>>,
    ) -> Arc<Node> {
        let (holders, shared) = (AtomicUsize::new(0), OnceLock::new());
        let memory = stored.map_or_else(OnceLock::new, OnceLock::from);
        Arc::new(Node { shape, dtype, queue, usm, state: Mutex::new(state), memory, holders, shared })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stored(&self) -> Option<Arc<Buffer>> {
        self.memory.get().cloned()
    }

    pub(crate) fn pending(&self) -> Option<Pending> {
        match &*self.state() {
            State::Stored => None,
            State::Pending(p) => Some(p.clone()),
        }
    }

    pub(crate) fn weight(&self) -> usize {
        match &*self.state() {
            State::Stored => 0,
            State::Pending(p) => p.weight,
        }
    }

    /// Keeps the result; what it was computed from is let go.
    pub(crate) fn store(&self, buffer: Arc<Buffer>) {
        let old = std::mem::replace(&mut *self.state(), State::Stored);
        let _ = self.memory.set(buffer);
        // Dropped outside the lock: operands may be nodes whose own locks are taken on the way down.
        drop(old);
    }

    /// Sizes.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Where it lives.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    /// Its memory, where nothing is pending.
    pub fn memory(&self) -> Option<&Arc<Buffer>> {
        self.memory.get()
    }

    /// Whether another node has the same memory: whoever writes it takes a copy first.
    pub fn is_shared(&self) -> bool {
        self.shared.get().is_some_and(|token| Arc::strong_count(token) > 1)
    }

    pub(crate) fn is_held(&self) -> bool {
        self.holders.load(Ordering::Acquire) > 0
    }

    /// Where the passes place its ops.
    pub(crate) fn place(&self) -> Place {
        if self.queue.is_native() { Place::Host } else { Place::device(self.queue.filter()) }
    }
}

/// A handle on a node: what a Python tensor object holds.
pub struct Tensor(Arc<Node>);

impl Tensor {
    /// A handle on `node`.
    pub fn new(node: Arc<Node>) -> Tensor {
        if node.holders.fetch_add(1, Ordering::AcqRel) == 0 && node.stored().is_none() {
            flush::note_pending(&node);
        }
        Tensor(node)
    }

    /// A tensor over memory that holds its elements in C order.
    pub fn stored(shape: Vec<i64>, dtype: DType, queue: Arc<Queue>, buffer: Arc<Buffer>) -> Tensor {
        let usm = buffer.kind();
        Tensor::new(Node::new(shape, dtype, queue, usm, State::Stored, Some(buffer)))
    }

    /// The node, as an operand of other operations.
    pub fn node(&self) -> &Arc<Node> {
        &self.0
    }

    /// Sizes.
    pub fn shape(&self) -> &[i64] {
        &self.0.shape
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    /// Where it lives.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.0.queue
    }

    /// Kind of memory.
    pub fn usm(&self) -> UsmKind {
        self.0.usm
    }

    /// Number of elements.
    pub fn size(&self) -> usize {
        self.0.shape.iter().product::<i64>() as usize
    }

    /// Whether it is still to be computed.
    pub fn is_pending(&self) -> bool {
        self.0.stored().is_none()
    }

    /// Its memory, where nothing is pending.
    pub fn memory(&self) -> Option<Arc<Buffer>> {
        self.0.stored()
    }

    /// Its memory; runs what is pending.
    pub fn buffer(&self) -> Result<Arc<Buffer>, TensorError> {
        flush::force(&self.0)
    }

    /// The array on another queue. Nothing is copied where device and context are the same (spec B5): both then have one
    /// memory until one of them is written, and [`Tensor::is_shared`] says so.
    pub fn to_queue(&self, queue: &Arc<Queue>) -> Result<Tensor, TensorError> {
        let (buffer, mine) = (self.buffer()?, self.queue());
        if mine.context() != queue.context() || !Arc::ptr_eq(mine.device(), queue.device()) {
            let copy = buffer.copy_to(Some(queue), self.0.usm)?;
            return Ok(Tensor::stored(self.0.shape.clone(), self.0.dtype, queue.clone(), copy));
        }
        self.seen_from(queue)
    }

    /// The same memory on another queue of its context.
    pub(crate) fn seen_from(&self, queue: &Arc<Queue>) -> Result<Tensor, TensorError> {
        let moved = Tensor::stored(self.0.shape.clone(), self.0.dtype, queue.clone(), self.buffer()?);
        let token = self.0.shared.get_or_init(Arc::default).clone();
        let _ = moved.0.shared.set(token);
        Ok(moved)
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        self.0.holders.fetch_sub(1, Ordering::AcqRel);
    }
}
