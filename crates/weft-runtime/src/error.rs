//! What can go wrong at run time, as data. The Python exception is made once, at the edge.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use weft_codegen::CodegenError;
use weft_diag::Span;
use weft_hal::HalError;
use weft_ir::{Argument, ExcClass};

/// An exception of whoever embeds the runtime, raised by what it was asked to do: a handler of a signal, or output.
#[derive(Clone)]
pub struct Foreign {
    /// What it is to handlers in compiled code.
    pub class: ExcClass,
    /// The exception itself, which leaves the call as it is.
    pub error: Arc<dyn Any + Send + Sync>,
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Foreign) -> bool {
        Arc::ptr_eq(&self.error, &other.error)
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foreign").field("class", &self.class).finish_non_exhaustive()
    }
}

/// A failure that is not the program's own exception.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// A device, driver or allocation failed. Out of memory has the sizes.
    #[error(transparent)]
    Hal(#[from] HalError),
    /// No code came out of the code generator.
    #[error(transparent)]
    Codegen(#[from] CodegenError),
    /// The caller asked for something that cannot be.
    #[error("{0}")]
    Invalid(String),
    /// Somebody ended the call ([`crate::Interrupter`]).
    #[error("the call was ended")]
    Interrupted(Foreign),
    /// Something raised that the call asked for.
    #[error("{} in what a call asked for", .0.class.name())]
    Foreign(Foreign),
    /// A broken invariant of ours: a panic below compiled code, or code that does not match its tables.
    #[error("{0}")]
    Internal(String),
}

/// An exception raised by compiled code, ready to become a Python object.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {message}", class.name())]
pub struct Raised {
    /// The exception class.
    pub class: ExcClass,
    /// An exception class of the user's, by its number in the table of the specialisation.
    pub user: Option<u32>,
    /// Its text, in CPython's or NumPy's words.
    pub message: String,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// The user's expression.
    pub span: Span,
    /// The calls of inlined functions that led there, outermost first.
    pub callers: Vec<Span>,
    /// The loop iteration or work-item that raised it (row-major), zero in serial code.
    pub iteration: i64,
}

/// Why a call did not return.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The program raised.
    #[error(transparent)]
    Raised(#[from] Raised),
    /// The machinery failed.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

impl From<HalError> for CallError {
    fn from(error: HalError) -> Self {
        Self::Runtime(RuntimeError::Hal(error))
    }
}
