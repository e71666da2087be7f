//! One parallel region: a function, a counter of chunks, and who is working on it, in a slot that is used again and
//! again.
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

/// A place for one region. Aligned so that neighbours share no cache line.
#[repr(align(128))]
pub(super) struct Slot {
    state: AtomicU32,
    next: AtomicUsize,
    job: UnsafeCell<Job>,
    panic: Mutex<Option<Panic>>,
}

#[derive(Clone, Copy)]
struct Job {
    f: &'static (dyn Fn(usize) + Sync),
    chunks: usize,
}

// SAFETY: the invariants above order all accesses to `job`; the rest is Sync by itself.
unsafe impl Sync for Slot {}

impl Slot {
    pub(super) const fn new() -> Self {
        Self {
            state: AtomicU32::new(0),
            next: AtomicUsize::new(0),
            job: UnsafeCell::new(Job { f: &|_| (), chunks: 0 }),
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
        // SAFETY: claimed and not active, so nobody else reads or writes the job.
        unsafe { *self.job.get() = Job { f, chunks } };
        self.next.store(0, Ordering::Relaxed);
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

    /// Runs chunks until none is left; for the claiming thread and for workers inside. Returns whether it ran any.
    pub(super) fn work(&self) -> bool {
        // SAFETY: the job is not written while the slot is active or somebody is inside.
        let Job { f, chunks } = unsafe { *self.job.get() };
        let mut worked = false;
        loop {
            let chunk = self.next.fetch_add(1, Ordering::Relaxed);
            if chunk >= chunks {
                return worked;
            }
            worked = true;
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| f(chunk))) {
                self.next.store(chunks, Ordering::Relaxed);
                self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
            }
        }
    }

    /// Waits for the workers inside, frees the slot, and returns what a chunk threw. For the claiming thread.
    pub(super) fn finish(&self) -> Option<Panic> {
        self.state.fetch_and(!ACTIVE, Ordering::Relaxed);
        let empty = || self.state.load(Ordering::Acquire) & INSIDE == 0;
        if !empty() && !spin_until(empty) {
            let mut state = self.state.fetch_or(SLEEPING, Ordering::Acquire) | SLEEPING;
            while state & INSIDE != 0 {
                futex::wait(&self.state, state);
                state = self.state.load(Ordering::Acquire);
            }
        }
        let panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.state.store(0, Ordering::Release);
        panic
    }
}
