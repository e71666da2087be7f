//! One parallel region: a function, counters of chunks, and who is working on it, in a slot that is used again and
//! again.
//!
//! The chunks are cut into one range for each thread. A thread begins with its own range, which is the same in every region
//! of so many chunks: what it wrote in the one before is still in its cache. Then it helps with the others.
//!
//! The state word holds, from the low end: how many workers are inside, how many may be, and three flags.
//!
//! ```text
//! free ── claim ──→ CLAIMED ── open ──→ CLAIMED|ACTIVE ── finish ──→ CLAIMED ── last worker left ──→ free
//!                                         ↑↓ join, leave              ↓ leave
//! ```
//!
//! Invariants: the job is written only between claim and open, by the claiming thread; it is read only by that thread
//! and by workers inside; a worker gets inside only while ACTIVE is set; the slot becomes free only when none is inside.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::futex;
use super::pool::spin_until;

/// Most workers a region can have.
pub(super) const MAX_WORKERS: usize = 1023;

const INSIDE: u32 = 0xfff;
const LIMIT_SHIFT: u32 = 12;
const CLAIMED: u32 = 1 << 24;
const ACTIVE: u32 = 1 << 25;
/// The caller sleeps on the state word.
const SLEEPING: u32 = 1 << 26;

type Panic = Box<dyn Any + Send>;

/// How often a caller that waits for the last chunks looks after other things.
const ATTENDS: Duration = Duration::from_millis(10);

/// Most ranges that chunks are cut into.
const RANGES: usize = 32;

/// The next chunk of a range, on a cache line of its own.
#[repr(align(64))]
struct Next(AtomicUsize);

/// A place for one region. Aligned so that neighbours share no cache line.
#[repr(align(128))]
pub(super) struct Slot {
    state: AtomicU32,
    next: [Next; RANGES],
    job: UnsafeCell<Job>,
    panic: Mutex<Option<Panic>>,
}

#[derive(Clone, Copy)]
struct Job {
    f: &'static (dyn Fn(usize) + Sync),
    chunks: usize,
    ranges: usize,
}

impl Job {
    /// Where a range begins, and the one before it ends.
    fn start(&self, range: usize) -> usize {
        self.chunks * range / self.ranges
    }
}

// SAFETY: the invariants above order all accesses to `job`; the rest is Sync by itself.
unsafe impl Sync for Slot {}

impl Slot {
    pub(super) const fn new() -> Self {
        Self {
            state: AtomicU32::new(0),
            next: [const { Next(AtomicUsize::new(0)) }; RANGES],
            job: UnsafeCell::new(Job { f: &|_| (), chunks: 0, ranges: 1 }),
            panic: Mutex::new(None),
        }
    }

    /// Takes the slot if it is free.
    pub(super) fn claim(&self) -> bool {
        self.state.compare_exchange(0, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Lets workers in.
    ///
    /// # Safety
    /// The calling thread has claimed the slot, and `f` stays valid until its call of `finish` returns.
    pub(super) unsafe fn open(&self, helpers: u32, chunks: usize, f: &(dyn Fn(usize) + Sync)) {
        // SAFETY: only the lifetime changes, and the caller vouches for it.
        let f: &'static (dyn Fn(usize) + Sync) = unsafe { std::mem::transmute(f) };
        let job = Job { f, chunks, ranges: (helpers as usize + 1).min(RANGES) };
        // SAFETY: claimed and not active, so nobody else reads or writes the job.
        unsafe { *self.job.get() = job };
        for (range, next) in self.next[..job.ranges].iter().enumerate() {
            next.0.store(job.start(range), Ordering::Relaxed);
        }
        self.state.store(CLAIMED | ACTIVE | (helpers << LIMIT_SHIFT), Ordering::Release);
    }

    /// Lets a worker in if the region is active and has not enough of them.
    pub(super) fn join(&self) -> bool {
        let enter = |state: u32| {
            let limit = (state >> LIMIT_SHIFT) & INSIDE;
            (state & ACTIVE != 0 && state & INSIDE < limit).then_some(state + 1)
        };
        self.state.fetch_update(Ordering::Acquire, Ordering::Relaxed, enter).is_ok()
    }

    /// Lets a worker out.
    pub(super) fn leave(&self) {
        let before = self.state.fetch_sub(1, Ordering::Release);
        if before & INSIDE == 1 && before & SLEEPING != 0 {
            futex::wake(&self.state, 1);
        }
    }

    /// Runs chunks until none is left, those of the `thread`'s own range first; for the claiming thread, which is thread 0,
    /// and for workers inside. Returns whether it ran any.
    pub(super) fn work(&self, thread: usize) -> bool {
        // SAFETY: the job is not written while the slot is active or somebody is inside.
        let job = unsafe { *self.job.get() };
        let mut worked = false;
        for range in (0..job.ranges).map(|k| (thread + k) % job.ranges) {
            let (next, end) = (&self.next[range].0, job.start(range + 1));
            loop {
                let chunk = next.fetch_add(1, Ordering::Relaxed);
                if chunk >= end {
                    break;
                }
                worked = true;
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (job.f)(chunk))) {
                    self.next.iter().for_each(|next| next.0.store(job.chunks, Ordering::Relaxed));
                    self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
                }
            }
        }
        worked
    }

    /// Waits for the workers inside, frees the slot, and returns what a chunk threw. For the claiming thread, which runs `attend`
    /// now and then meanwhile; that must not unwind.
    pub(super) fn finish(&self, attend: Option<&dyn Fn()>) -> Option<Panic> {
        self.state.fetch_and(!ACTIVE, Ordering::Relaxed);
        let empty = || self.state.load(Ordering::Acquire) & INSIDE == 0;
        if !empty() && !spin_until(empty) {
            let mut state = self.state.fetch_or(SLEEPING, Ordering::Acquire) | SLEEPING;
            while state & INSIDE != 0 {
                match attend {
                    None => futex::wait(&self.state, state),
                    Some(attend) => {
                        futex::wait_for(&self.state, state, ATTENDS);
                        attend();
                    }
                }
                state = self.state.load(Ordering::Acquire);
            }
        }
        let panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.state.store(0, Ordering::Release);
        panic
    }
}
