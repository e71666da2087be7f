//! Keeps workers off the core of the thread that wakes them.
//!
//! Some systems (virtual machines above all, which do not know what their cores share) wake a thread on the core of the one that
//! wakes it, and leave both there for milliseconds while other cores are idle: two threads then take as long as one. Where a worker
//! finds itself so, workers are forbidden the core of the thread that wakes them from then on. They move only when that thread has,
//! and not again and again where threads on different cores take turns to wake them.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Least time between two changes, for each worker: one takes two system calls, a microsecond or two.
const PAUSE: Duration = Duration::from_micros(20);

/// See the module.
pub(super) struct Apart {
    /// The core of the thread that woke workers last, and the one that they are forbidden; negative for none.
    waker: AtomicI32,
    forbidden: AtomicI32,
    /// A worker was woken where the waker was.
    needed: AtomicBool,
    workers: Mutex<Workers>,
}

#[derive(Default)]
struct Workers {
    all: Vec<Worker>,
    /// When they were last told where to run.
    told: Option<Instant>,
}

struct Worker {
    thread: libc::pid_t,
    /// The cores it was given, and what this module has left of them.
    cores: Option<(libc::cpu_set_t, libc::cpu_set_t)>,
}

impl Default for Apart {
    fn default() -> Self {
        let none = || AtomicI32::new(-1);
        Self { waker: none(), forbidden: none(), needed: AtomicBool::new(false), workers: Mutex::default() }
    }
}

/// The core this thread is on.
fn here() -> i32 {
    // SAFETY: only asks.
    unsafe { libc::sched_getcpu() }
}

impl Apart {
    /// The calling thread is a worker.
    pub(super) fn add_worker(&self) {
        // SAFETY: only asks.
        let thread = unsafe { libc::gettid() };
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).all.push(Worker { thread, cores: None });
        // It keeps off with the next waking.
        self.forbidden.store(-1, Ordering::Relaxed);
    }

    /// The calling thread is about to wake workers.
    pub(super) fn before_waking(&self) {
        let core = here();
        self.waker.store(core, Ordering::Relaxed);
        if self.needed.load(Ordering::Relaxed)
            && core >= 0
            && self.forbidden.load(Ordering::Relaxed) != core
            && let Ok(mut workers) = self.workers.try_lock()
            && workers.told.is_none_or(|told| told.elapsed() > PAUSE * workers.all.len() as u32)
        {
            self.forbidden.store(core, Ordering::Relaxed);
            workers.all.iter_mut().for_each(|worker| worker.keep_off(core as usize));
            workers.told = Some(Instant::now());
        }
    }

    /// The calling thread, a worker, was woken.
    pub(super) fn after_waking(&self) {
        if !self.needed.load(Ordering::Relaxed) && here() == self.waker.load(Ordering::Relaxed) {
            self.needed.store(true, Ordering::Relaxed);
        }
    }
}

impl Worker {
    fn keep_off(&mut self, core: usize) {
        // SAFETY: the calls write and read sets of bits of the size that they are told.
        unsafe {
            let size = size_of::<libc::cpu_set_t>();
            let mut now: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(self.thread, size, &mut now) != 0 {
                return;
            }
            // Who has changed them since has the last word.
            let given = match &self.cores {
                Some((given, left)) if libc::CPU_EQUAL(left, &now) => *given,
                _ => now,
            };
            let mut left = given;
            libc::CPU_CLR(core, &mut left);
            if libc::CPU_COUNT(&left) > 0 && libc::sched_setaffinity(self.thread, size, &left) == 0 {
                self.cores = Some((given, left));
            }
        }
    }
}
