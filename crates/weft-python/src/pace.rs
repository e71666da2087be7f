//! Whether a call lets other Python threads run meanwhile.
//!
//! Giving the GIL away pays where a call takes long, and costs more than a short one where another thread is busy. What a
//! call will take is not known before it, but learnt from those before: large arrays take long; so do other calls, unless
//! one with arrays and ints as large as these was short.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::arguments::Arguments;

/// Elements of the largest array from which on calls always let others run.
const MANY: usize = 50_000;

/// Calls from so long on should let others run.
const LONG: Duration = Duration::from_micros(20);

/// Of so many calls that are taken to be short one is timed.
const EACH: u8 = 16;

/// How long calls of a specialisation take. Threads may overwrite what others have just learnt: it will be learnt again.
#[derive(Default)]
pub(crate) struct Pace {
    /// Calls of this size, by [`size`], and of all below, are short.
    short: AtomicU64,
    /// Such calls since one was timed.
    since: AtomicU8,
}

/// What tells most of how long a call takes: the elements of the largest array, or the largest int. Never 0.
fn size(call: &Arguments) -> u64 {
    call.int.max(call.elements as u64).max(1)
}

impl Pace {
    /// Runs a call with these arguments. `nogil`: what the user wants.
    #[inline]
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        nogil: Option<bool>,
        call: &Arguments,
        work: impl FnOnce() -> T + Send,
    ) -> T {
        if nogil.unwrap_or(call.elements >= MANY) {
            weft_runtime::look_again();
            return py.detach(work);
        }
        if nogil.is_some() {
            return work();
        }
        let size = size(call);
        // A little more than what was short is taken to be short too: counters need not be timed at every step.
        if size / 2 >= self.short.load(Ordering::Relaxed) {
            weft_runtime::look_again();
            return py.detach(|| self.timed(size, work));
        }
        let since = self.since.load(Ordering::Relaxed);
        if since >= EACH {
            return self.timed(size, work);
        }
        self.since.store(since + 1, Ordering::Relaxed);
        work()
    }

    #[cold]
    fn timed<T>(&self, size: u64, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        let short = self.short.load(Ordering::Relaxed);
        match start.elapsed() < LONG {
            true => self.short.store(short.max(size), Ordering::Relaxed),
            false => self.short.store(short.min(size / 2), Ordering::Relaxed),
        }
        self.since.store(0, Ordering::Relaxed);
        result
    }
}
