//! The one thread pool of the process: compiled loops, copies and library routines all spread their work here, so that
//! no two of them ever oversubscribe the machine. A sub-device has a [`Team`]: the same thing on some of the cores.
//!
//! A region is one call of [`run_chunks`]. The caller puts it into a free slot, wakes sleeping workers and works itself;
//! all of them claim chunk numbers, each from its own range first, until none is left. Several threads may have regions at once, each
//! in its own slot; a thread that finds no free slot, or is inside a region already, runs its chunks alone.
//!
//! - The pool has [`num_threads`] threads, the caller's included: `WEFT_NUM_THREADS`, or else the cores that affinity and
//!   cgroup limits leave to this process. Workers start when they are first needed.
//! - A worker without work spins for [`SPIN`], then sleeps: an idle process uses no processor time.
//! - Workers keep off the core of the thread that wakes them, where the system would not see to that itself ([`apart`](super::apart)).
//! - A forked child makes a pool of its own on first use. Forking inside a chunk is not supported.
//! - Workers block all asynchronous signals: handlers run on the program's own threads.
//! - A panic in a chunk stops the region early and is raised again on the caller.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::apart::Apart;
use super::futex;
use super::region::{MAX_WORKERS, Slot};
use crate::{fork, settings};

/// How long an idle worker, or a caller whose last chunks are on other threads, spins before it sleeps.
pub const SPIN: Duration = Duration::from_micros(50);

/// Regions that can be spread at the same time.
const SLOTS: usize = 16;

/// Stack of a worker: as much as a main thread usually has. Pages are only taken when touched.
const STACK: usize = 8 << 20;

/// The pool of [`run_chunks`].
static CURRENT: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());

/// Threads to use, zero until first asked.
static NUM_THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread is running a chunk.
    static IN_REGION: Cell<bool> = const { Cell::new(false) };
}

/// Threads on given cores: the pool of a sub-device. Each thread may run on any of them and nowhere else; the calling
/// thread is one of the threads, and is confined to these cores while a region runs.
pub struct Team {
    name: String,
    cores: Vec<usize>,
    current: AtomicPtr<Pool>,
}

struct Pool {
    /// The process it belongs to.
    generation: u32,
    /// What its threads are called, before their number.
    name: String,
    /// The cores its threads may use; empty for those the process may.
    cores: Vec<usize>,
    /// Grows with every region; sleeping workers wait on it.
    epoch: AtomicU32,
    apart: Apart,
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
    run_chunks_attending(chunks, f, None);
}

/// [`run_chunks`], with something that the caller does every few milliseconds while it has no chunk of its own any more. It
/// must not unwind.
pub fn run_chunks_attending(chunks: usize, f: &(dyn Fn(usize) + Sync), attend: Option<&dyn Fn()>) {
    let threads = num_threads().min(chunks);
    if threads > 1 && !IN_REGION.get() {
        let pool = Pool::current(&CURRENT, "weft", &[]);
        if let Some(slot) = pool.slots.iter().find(|slot| slot.claim()) {
            return pool.run(slot, threads - 1, chunks, f, attend);
        }
    }
    (0..chunks).for_each(f);
}

/// Whether a worker is awake, so that a region finds help at once.
pub fn is_awake() -> bool {
    // SAFETY: null or a leaked box, so valid for ever.
    let pool = unsafe { CURRENT.load(Ordering::Acquire).as_ref() };
    pool.is_some_and(|pool| {
        let asleep = pool.sleepers.load(Ordering::Relaxed) as usize;
        pool.workers.load(Ordering::Relaxed) > asleep && pool.generation == fork::generation()
    })
}

impl Team {
    /// A team on `cores`, at least one. Its threads start when they are first needed, and are called `name` and a number.
    pub(super) fn new(name: String, cores: Vec<usize>) -> Self {
        Self { name, cores, current: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The cores, by their numbers in the system.
    pub fn cores(&self) -> &[usize] {
        &self.cores
    }

    /// Threads a region uses at most, the caller's included: one for each core, or [`num_threads`] if that is less.
    pub fn num_threads(&self) -> usize {
        self.cores.len().min(num_threads())
    }

    /// [`run_chunks`] on the team's cores.
    pub fn run_chunks(&self, chunks: usize, f: &(dyn Fn(usize) + Sync)) {
        self.run_chunks_attending(chunks, f, None);
    }

    /// [`run_chunks_attending`] on the team's cores.
    pub fn run_chunks_attending(&self, chunks: usize, f: &(dyn Fn(usize) + Sync), attend: Option<&dyn Fn()>) {
        if IN_REGION.get() {
            return (0..chunks).for_each(f);
        }
        let _confined = Confined::to(&self.cores);
        let threads = self.num_threads().min(chunks);
        if threads > 1 {
            let pool = Pool::current(&self.current, &self.name, &self.cores);
            if let Some(slot) = pool.slots.iter().find(|slot| slot.claim()) {
                return pool.run(slot, threads - 1, chunks, f, attend);
            }
        }
        (0..chunks).for_each(f);
    }
}

/// The calling thread is confined to some cores; gets back what it had when this is dropped.
struct Confined(Option<libc::cpu_set_t>);

impl Confined {
    fn to(cores: &[usize]) -> Self {
        // SAFETY: a set of bits is valid when zero, and the call writes at most its size.
        let before = unsafe {
            let mut before: libc::cpu_set_t = std::mem::zeroed();
            let read = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut before) == 0;
            read.then_some(before)
        };
        // A thread that cannot be confined is slower, not wrong.
        Self(before.filter(|_| confine(cores)))
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: reads the set.
            unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), before) };
        }
    }
}

/// Confines the calling thread to some cores. Returns whether the system did.
fn confine(cores: &[usize]) -> bool {
    // SAFETY: a set of bits is valid when zero; numbers outside the set are left out.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &core in cores.iter().filter(|&&c| c < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(core, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

impl Pool {
    /// The pool of this process behind a pointer, made on first use.
    fn current(current: &AtomicPtr<Pool>, name: &str, cores: &[usize]) -> &'static Self {
        let generation = fork::generation();
        let mut seen = current.load(Ordering::Acquire);
        loop {
            // SAFETY: null or a leaked box, so valid for ever.
            match unsafe { seen.as_ref() } {
                Some(pool) if pool.generation == generation => return pool,
                _ => {}
            }
            // A parent's pool is left as it is: its slots may be in use, its workers are not in this process.
            let new = Box::into_raw(Box::new(Self {
                generation,
                name: name.to_owned(),
                cores: cores.to_vec(),
                epoch: AtomicU32::new(0),
                apart: Apart::default(),
                sleepers: AtomicU32::new(0),
                workers: AtomicUsize::new(0),
                starting: Mutex::new(()),
                slots: [const { Slot::new() }; SLOTS],
            }));
            match current.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Acquire) {
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
    fn run(
        &'static self,
        slot: &'static Slot,
        helpers: usize,
        chunks: usize,
        f: &(dyn Fn(usize) + Sync),
        attend: Option<&dyn Fn()>,
    ) {
        if self.workers.load(Ordering::Relaxed) < helpers {
            self.start_workers(helpers);
        }
        // SAFETY: `finish` below returns only when no worker is inside the slot, and before that nothing here unwinds:
        // `work` catches what `f` throws.
        unsafe { slot.open(helpers as u32, chunks, f) };
        // Pairs with the worker that counts itself as a sleeper and then looks at the epoch again.
        self.epoch.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            self.apart.before_waking();
            futex::wake(&self.epoch, helpers as u32);
        }
        IN_REGION.set(true);
        slot.work(0);
        IN_REGION.set(false);
        if let Some(panic) = slot.finish(attend) {
            resume_unwind(panic);
        }
    }

    /// Brings the number of workers up to `wanted`, or as far as the system lets us.
    fn start_workers(&'static self, wanted: usize) {
        let _one_at_a_time = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        with_signals_blocked(|| {
            while self.workers.load(Ordering::Relaxed) < wanted {
                let number = self.workers.load(Ordering::Relaxed) + 1;
                let name = format!("{}-{number}", self.name);
                let thread = std::thread::Builder::new().name(name).stack_size(STACK);
                match thread.spawn(move || self.worker(number)) {
                    Ok(_) => self.workers.fetch_add(1, Ordering::Relaxed),
                    // Fewer workers are slower, not wrong.
                    Err(_) => break,
                };
            }
        });
    }

    fn worker(&'static self, number: usize) {
        IN_REGION.set(true);
        if !self.cores.is_empty() {
            confine(&self.cores);
        }
        self.apart.add_worker();
        loop {
            let epoch = self.epoch.load(Ordering::SeqCst);
            let mut worked = false;
            for slot in &self.slots {
                if slot.join() {
                    worked |= slot.work(number);
                    slot.leave();
                }
            }
            if !worked && !spin_until(|| self.epoch.load(Ordering::Relaxed) != epoch) {
                self.sleepers.fetch_add(1, Ordering::SeqCst);
                // Looks at the word again inside the kernel, so a region opened meanwhile is not missed.
                futex::wait(&self.epoch, epoch);
                self.sleepers.fetch_sub(1, Ordering::SeqCst);
                self.apart.after_waking();
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
