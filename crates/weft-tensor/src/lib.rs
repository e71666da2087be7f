//! Tensors, recorded: operations are noted, and run fused when something looks.
//!
//! A [`Tensor`] is a handle on a [`Node`]: stored memory, or a pending operation on other nodes.
//! [`record`] checks dtypes, shapes and places at once, by the compiler's own rules, and notes a
//! node. Looking ([`Tensor::buffer`]) flushes: the pending graph becomes one function at stage
//! `py`, which goes through the same `infer → place → fuse → loops` as anything a user writes.
//! Its structure is the key of a cache, so a loop over the same expression compiles once. Nodes
//! nobody holds are never stored.
//!
//! Files in the order data flows: `node` (tensors and what they wait for), `record` (operations
//! and their metadata), `graph` (pending nodes → function and key), `flush` (compile, run, store),
//! `host` (host arrays in and out).

#![deny(missing_docs)]
// A `Diagnostic` is made once per refused operation; boxing it would buy nothing.
#![allow(clippy::result_large_err)]

mod flush;
mod graph;
mod host;
mod node;
mod record;

pub use flush::{flush_count, flush_queue, inspect};
pub use host::pack;
pub use node::{Node, Operand, Operation, Tensor};
pub use record::{generate, record, set_context_rule, update};

use weft_diag::{Diagnostic, Sources, render};
use weft_runtime::{CallError, HalError, RuntimeError};

/// Why a tensor operation failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TensorError {
    /// Refused by the compiler's rules.
    #[error("{}", render(.0, &Sources::default()))]
    Refused(Diagnostic),
    /// Shapes that do not broadcast: `ValueError`.
    #[error("{0}")]
    Value(String),
    /// Operands on different queues: `ExecutionPlacementError`.
    #[error("{0}")]
    Placement(String),
    /// A Python int that the dtype cannot hold: `OverflowError`.
    #[error("{0}")]
    Overflow(String),
    /// An operation NumPy refuses by type: `TypeError`.
    #[error("{0}")]
    Type(String),
    /// It failed, or raised, while running.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl From<Diagnostic> for TensorError {
    fn from(d: Diagnostic) -> TensorError {
        TensorError::Refused(d)
    }
}

impl From<RuntimeError> for TensorError {
    fn from(e: RuntimeError) -> TensorError {
        TensorError::Call(e.into())
    }
}

impl From<HalError> for TensorError {
    fn from(e: HalError) -> TensorError {
        TensorError::Call(e.into())
    }
}
