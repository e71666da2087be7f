//! Whether Weft is at work on this thread, and the border that no panic crosses.
//!
//! Every door (a jitted call, a compilation, a tensor operation) works inside [`border`]. The test mode in which NumPy's
//! functions raise when entered asks [`at_work`].

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};

use pyo3::prelude::*;

use crate::errors;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// What the last panic on this thread said, and where.
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

struct Inside;

impl Inside {
    fn enter() -> Inside {
        DEPTH.with(|d| d.set(d.get() + 1));
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.with(|d| d.set(d.get() - 1));
    }
}

/// How many of Weft's doors this thread is inside of; zero outside.
#[pyfunction]
pub(crate) fn at_work() -> u32 {
    DEPTH.with(Cell::get)
}

/// Runs code of others that a door has to call, such as an object's `__array__`: what it does is not Weft's work.
pub(crate) fn outside<T>(work: impl FnOnce() -> T) -> T {
    struct Restored(u32);
    impl Drop for Restored {
        fn drop(&mut self) {
            DEPTH.with(|d| d.set(self.0));
        }
    }
    let _restored = Restored(DEPTH.with(|d| d.replace(0)));
    work()
}

/// Runs `work` as Weft's own: a panic becomes `WeftInternalError`.
pub(crate) fn border<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let inside = Inside::enter();
    // What `work` leaves half done is either dropped with it or behind locks that ignore poison.
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    drop(inside);
    done.unwrap_or_else(|payload| {
        let said = LAST_PANIC.with(|p| p.borrow_mut().take());
        let said = said.unwrap_or_else(|| message(&*payload));
        Err(errors::internal(py, &said))
    })
}

/// Runs `work` as Weft's own; `None` if it panicked.
#[inline]
pub(crate) fn silent_border<T>(work: impl FnOnce() -> T) -> Option<T> {
    let _inside = Inside::enter();
    panic::catch_unwind(AssertUnwindSafe(work)).ok()
}

fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".into())
}

/// Keeps panics that will become exceptions from also being printed.
pub(crate) fn install_panic_hook() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if at_work() == 0 {
            return before(info);
        }
        let place = info.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
        let said = format!("{}{place}", message(info.payload()));
        LAST_PANIC.with(|p| *p.borrow_mut() = Some(said));
    }));
}
