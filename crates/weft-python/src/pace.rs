//! Whether a call lets other Python threads run meanwhile.
//!
//! Giving the GIL away pays where a call takes long, and costs more than a short one where another thread is busy. What a
//! call will take is not known before it: large arrays take long, and so does what took long the last time. The first call
//! lets others run, and of calls that take little one in a few is timed.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Elements of the largest array from which on calls always let others run.
const MANY: usize = 50_000;

/// Calls from so long on let others run the next time.
const LONG: Duration = Duration::from_micros(20);

/// Of so many short calls one is timed.
const EACH: u8 = 16;

/// How long calls of a specialisation have taken.
#[derive(Default)]
pub(crate) struct Pace {
    /// 0: long, or there was none. Else the last one that was timed was short, and so many have come since, it included.
    short: AtomicU8,
}

impl Pace {
    /// Runs a call on arrays of at most so many elements. `nogil`: what the user wants.
    #[inline]
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        nogil: Option<bool>,
        elements: usize,
        work: impl FnOnce() -> T + Send,
    ) -> T {
        match nogil {
            Some(true) => py.detach(work),
            None if elements >= MANY => py.detach(work),
            Some(false) => work(),
            None => match self.short.load(Ordering::Relaxed) {
                0 => py.detach(|| self.timed(work)),
                EACH => self.timed(work),
                n => {
                    self.short.store(n + 1, Ordering::Relaxed);
                    work()
                }
            },
        }
    }

    #[cold]
    fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.short.store(if start.elapsed() < LONG { 1 } else { 0 }, Ordering::Relaxed);
        result
    }
}
