//! The settings that `weft.config` hands down. Nothing else in this crate holds a setting.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use pyo3::prelude::*;

static VERIFY: AtomicBool = AtomicBool::new(false);
static CONFLICT: AtomicU8 = AtomicU8::new(0);

/// What a device context does to a function with `parallel=False`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OffloadConflict {
    /// Raise.
    Error,
    /// Offload all the same.
    Ignore,
    /// Stay on the host.
    Host,
}

/// Whether the IR is verified after each pass.
pub(crate) fn verify() -> bool {
    VERIFY.load(Ordering::Relaxed)
}

/// `weft.config.verify`.
#[pyfunction]
pub(crate) fn set_verify(on: bool) {
    VERIFY.store(on, Ordering::Relaxed);
}

/// `weft.config.optimise`.
#[pyfunction]
pub(crate) fn set_optimise(on: bool) {
    weft_codegen::llvm::target::set_optimises(on);
}

/// The answer to a conflict of `parallel=False` and a device context.
pub(crate) fn offload_conflict() -> OffloadConflict {
    match CONFLICT.load(Ordering::Relaxed) {
        0 => OffloadConflict::Error,
        1 => OffloadConflict::Ignore,
        _ => OffloadConflict::Host,
    }
}

/// `weft.config.offload_conflict`, checked by the caller.
#[pyfunction]
pub(crate) fn set_offload_conflict(answer: &str) {
    let number = ["error", "ignore", "host"].iter().position(|&a| a == answer).unwrap_or(0);
    CONFLICT.store(number as u8, Ordering::Relaxed);
}

/// `weft.config.num_threads`.
#[pyfunction]
pub(crate) fn set_num_threads(count: usize) {
    weft_hal::native::pool::set_num_threads(count);
}

/// Threads of the native pool.
#[pyfunction]
pub(crate) fn num_threads() -> usize {
    weft_hal::native::pool::num_threads()
}
