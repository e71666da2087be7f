//! The one thread pool of the process: compiled loops, copies and library routines all spread their work here, so that
//! no two of them ever oversubscribe the machine.
//!
//! A region is one call of [`run_chunks`]. The caller puts it into a free slot, wakes sleeping workers and works itself;
//! all of them claim chunk numbers from one counter until none is left. Several threads may have regions at once, each
//! in its own slot; a thread that finds no free slot, or is inside a region already, runs its chunks alone.
//!
//! - The pool has [`num_threads`] threads, the caller's included: `WEFT_NUM_THREADS`, or else the cores that affinity and
//!   cgroup limits leave to this process. Workers start when they are first needed.
//! - A worker without work spins for [`SPIN`], then sleeps: an idle process uses no processor time.
//! - A forked child makes a pool of its own on first use. Forking inside a chunk is not supported.
//! - Workers block all asynchronous signals: handlers run on the program's own threads.
//! - A panic in a chunk stops the region early and is raised again on the caller.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::futex;
use super::region::{MAX_WORKERS, Slot};
use crate::{fork, settings};

/// How long an idle worker, or a caller whose last chunks are on other threads, spins before it sleeps.
pub const SPIN: Duration = Duration::from_micros(50);

/// Regions that can be spread at the same time.
const SLOTS: usize = 16;

/// Stack of a worker: as much as a main thread usually has. Pages are only taken when touched.
const STACK: usize = 8 << 20;

/// Threads to use, zero until first asked.
static NUM_THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread is running a chunk.
    static IN_REGION: Cell<bool> = const { Cell::new(false) };
}

struct Pool {
    /// The process it belongs to.
    generation: u32,
    /// Grows with every region; sleeping workers wait on it.
    epoch: AtomicU32,
    sleepers: AtomicU32,
    workers: AtomicUsize,
    starting: Mutex<()>,
    slots: [Slot; SLOTS],
}

/// Cores that this process may use: affinity mask and cgroup quota (v1 and v2) considered.
pub fn available() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// Threads a region uses at most, the caller's included.
pub fn num_threads() -> usize {
    match NUM_THREADS.load(Ordering::Relaxed) {
        0 => {
            // A value that is no number is noted in the native backend's report.
            let n = settings::num_threads().ok().flatten().unwrap_or_else(available);
            let n = n.clamp(1, MAX_WORKERS + 1);
            let _ = NUM_THREADS.compare_exchange(0, n, Ordering::Relaxed, Ordering::Relaxed);
            NUM_THREADS.load(Ordering::Relaxed)
        }
        n => n,
    }
}

/// Changes [`num_threads`] for regions that start from now on; `n` is brought into 1 to 1024. Workers too many stay
/// asleep.
pub fn set_num_threads(n: usize) {
    NUM_THREADS.store(n.clamp(1, MAX_WORKERS + 1), Ordering::Relaxed);
}

/// Runs `f(0)` to `f(chunks - 1)`, each once, in any order, on the caller and the workers, and returns when all are
/// done. Inside a chunk it runs everything on the calling thread. Panics in `f` are raised again here.
pub fn run_chunks(chunks: usize, f: &(dyn Fn(usize) + Sync)) {
    let threads = num_threads().min(chunks);
    if threads > 1 && !IN_REGION.get() {
        let pool = Pool::current();
        if let Some(slot) = pool.slots.iter().find(|slot| slot.claim()) {
            return pool.run(slot, threads - 1, chunks, f);
        }
    }
    (0..chunks).for_each(f);
}

impl Pool {
    /// The pool of this process, made on first use.
    fn current() -> &'static Self {
        static CURRENT: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());
        let generation = fork::generation();
        let mut seen = CURRENT.load(Ordering::Acquire);
        loop {
            // SAFETY: null or a leaked box, so valid for ever.
            match unsafe { seen.as_ref() } {
                Some(pool) if pool.generation == generation => return pool,
                _ => {}
            }
            // A parent's pool is left as it is: its slots may be in use, its workers are not in this process.
            let new = Box::into_raw(Box::new(Self {
                generation,
                epoch: AtomicU32::new(0),
                sleepers: AtomicU32::new(0),
                workers: AtomicUsize::new(0),
                starting: Mutex::new(()),
                slots: [const { Slot::new() }; SLOTS],
            }));
            match CURRENT.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => seen = new,
                Err(other) => {
                    // SAFETY: made above and never shared.
                    drop(unsafe { Box::from_raw(new) });
                    seen = other;
                }
            }
        }
    }

    /// Runs a region in a slot that the caller has claimed.
    fn run(&'static self, slot: &'static Slot, helpers: usize, chunks: usize, f: &(dyn Fn(usize) + Sync)) {
        if self.workers.load(Ordering::Relaxed) < helpers {
            self.start_workers(helpers);
        }
        // SAFETY: `finish` below returns only when no worker is inside the slot, and before that nothing here unwinds:
        // `work` catches what `f` throws.
        unsafe { slot.open(helpers as u32, chunks, f) };
        // Pairs with the worker that counts itself as a sleeper and then looks at the epoch again.
        self.epoch.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            futex::wake(&self.epoch, helpers as u32);
        }
        IN_REGION.set(true);
        slot.work();
        IN_REGION.set(false);
        if let Some(panic) = slot.finish() {
            resume_unwind(panic);
        }
    }

    /// Brings the number of workers up to `wanted`, or as far as the system lets us.
    fn start_workers(&'static self, wanted: usize) {
        let _one_at_a_time = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        with_signals_blocked(|| {
            while self.workers.load(Ordering::Relaxed) < wanted {
                let name = format!("weft-{}", self.workers.load(Ordering::Relaxed) + 1);
                let thread = std::thread::Builder::new().name(name).stack_size(STACK);
                match thread.spawn(|| self.worker()) {
                    Ok(_) => self.workers.fetch_add(1, Ordering::Relaxed),
                    // Fewer workers are slower, not wrong.
                    Err(_) => break,
                };
            }
        });
    }

    fn worker(&'static self) {
        IN_REGION.set(true);
        loop {
            let epoch = self.epoch.load(Ordering::SeqCst);
            let mut worked = false;
            for slot in &self.slots {
                if slot.join() {
                    worked |= slot.work();
                    slot.leave();
                }
            }
            if !worked && !spin_until(|| self.epoch.load(Ordering::Relaxed) != epoch) {
                self.sleepers.fetch_add(1, Ordering::SeqCst);
                // Looks at the word again inside the kernel, so a region opened meanwhile is not missed.
                futex::wait(&self.epoch, epoch);
                self.sleepers.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

/// Spins until `done`, for [`SPIN`] at most. Returns whether it was.
pub(super) fn spin_until(done: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..16 {
            if done() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.elapsed() > SPIN {
            return done();
        }
    }
}

/// Runs `f` so that threads it starts inherit a mask with all signals blocked but those a fault raises.
fn with_signals_blocked(f: impl FnOnce()) {
    // SAFETY: both sets are initialised before they are read (`old` by the call that changes the mask).
    unsafe {
        let mut mask = std::mem::zeroed();
        let mut old = std::mem::zeroed();
        libc::sigfillset(&mut mask);
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT] {
            libc::sigdelset(&mut mask, fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &mask, &mut old);
        f();
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
    }
}
