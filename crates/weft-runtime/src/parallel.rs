//! Parallel regions on the host: inline when small, otherwise in chunks on the one thread pool, or on the threads of the
//! native sub-device whose queue the call uses.
//!
//! Chunks run in any order, yet the exception is always that of the lowest iteration: a chunk raises its own lowest, the
//! lowest chunk wins, and only chunks above one that has raised are skipped. So it does not depend on the number of
//! threads (COMPILER 4.3).

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use weft_hal::native::pool;

use crate::call::{Call, record_of};
use crate::error::RuntimeError;
use crate::interrupt;
use crate::trace::{self, Kind};
use weft_codegen::abi::{CallCtx, Chunk, ExcRecord, no_signal};

/// Regions of less estimated work, in nanoseconds, stay on the caller's thread.
pub const PARALLEL_FROM: u64 = 20_000;

/// The same where workers are awake: to wake one takes ten times as long as to hand it work. Of loops, whose items are taken
/// to be dearer than they are in a cache, and of blocks.
const LIVELY_FROM: u64 = 8_000;
const LIVELY_BLOCKS_FROM: u64 = 2_000;

/// So much work of such regions within a millisecond wakes workers.
const STIRRING: u64 = 100_000;
const STIRRED_WITHIN: Duration = Duration::from_millis(1);

/// Least work of a chunk in nanoseconds.
const CHUNK: u64 = 5_000;
const LIVELY_CHUNK: u64 = 1_000;

/// Most chunks per thread, so that a region still ends evenly if some items, or the other threads, take longer.
const CHUNKS_PER_THREAD: u64 = 4;

/// Where such chunks would take longer than this, there are more of them, up to so many: a thread that lost its core for a
/// while, or had the dearer items, is helped until the end.
const LONG_CHUNK: u64 = 250_000;
const MANY_CHUNKS: u64 = 32;

/// Least work of the chunks of even items, where there is more than one for each thread.
const EVEN_CHUNK: u64 = 100_000;

/// What items are thought to take between two looks whether the call is to end, in nanoseconds: chunks are no longer than this.
const LOOKS_AFTER: u64 = 10_000_000;

/// Chunks of many iterations are a multiple of this many: their borders lie on cache lines.
const BLOCK: u64 = 64;

/// Which regions of a call go to several threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Those that take long enough.
    #[default]
    WhereItPays,
    /// All with more than one item.
    Always,
    /// None.
    Never,
}

/// Threads that regions use from now on, the caller's included.
pub fn set_num_threads(n: usize) {
    pool::set_num_threads(n);
}

/// Threads that regions use, the caller's included.
pub fn num_threads() -> usize {
    pool::num_threads()
}

/// What items cost of which nobody can say it before.
pub(crate) const UNKNOWN: u32 = weft_ir::UNKNOWN_COST;

/// What a region goes through.
#[derive(Clone, Copy)]
pub(crate) struct Items {
    pub n: u64,
    /// Estimated nanoseconds of one; 0 keeps the region on the caller's thread, [`UNKNOWN`] is found out by running it.
    pub cost: u32,
    /// All take the same time.
    pub even: bool,
}

impl Items {
    fn work(self) -> u64 {
        self.n.saturating_mul(u64::from(self.cost.max(1)))
    }

    /// Items per chunk; all of them when the caller should run them. `lively`: whether workers would begin at once.
    fn per_chunk(self, threads: u64, sharing: Sharing, lively: impl FnOnce() -> bool) -> u64 {
        let (n, work) = (self.n, self.work());
        if sharing == Sharing::Always && work < PARALLEL_FROM {
            return n.div_ceil(threads);
        }
        let from = if self.even { LIVELY_FROM } else { LIVELY_BLOCKS_FROM };
        if work < from || threads < 2 || n < 2 || work < PARALLEL_FROM && !lively() {
            return n;
        }
        let chunk = if work < PARALLEL_FROM { LIVELY_CHUNK } else { CHUNK };
        let least = if self.even { EVEN_CHUNK } else { chunk };
        let enough = CHUNKS_PER_THREAD.max((work / threads / LONG_CHUNK).min(MANY_CHUNKS));
        // Blocks look by themselves.
        let looks = if self.even { work / threads / LOOKS_AFTER } else { 0 };
        let per_thread = (work / least / threads).clamp(1, enough).max(looks);
        let size = n.div_ceil((threads * per_thread).min(work / chunk).max(1));
        if size >= 4 * BLOCK { size.next_multiple_of(BLOCK) } else { size }
    }
}

/// Runs `body` over all items. Returns 0, or 1 with the exception of the lowest raising iteration in `ctx`.
///
/// # Safety
/// `ctx` is the call's, and `body` and `env` belong together.
pub(crate) unsafe fn run(ctx: *mut CallCtx, body: Chunk, env: *const u64, items: Items, name: &str) -> u32 {
    if items.n == 0 {
        return 0;
    }
    let watch = trace::stopwatch();
    // SAFETY: the context of a running call has its state, which outlives it and is shared by reference only.
    let call = unsafe { &*(*ctx).call.cast::<Call<'_>>() };
    let queue = call.native_queue();
    let team = queue.and_then(|q| q.device().team());
    // SAFETY: passed on to the caller.
    let status = unsafe {
        match call.sharing() {
            _ if items.cost == 0 => in_pieces(ctx, body, env, 0, items),
            Sharing::Never => in_pieces(ctx, body, env, 0, items),
            Sharing::WhereItPays if items.cost == UNKNOWN => learning(ctx, body, env, items, team),
            sharing => in_chunks(ctx, body, env, 0, items, sharing, team),
        }
    };
    watch.record(Kind::Launch, || trace::item(name, queue.map_or("native:cpu:0", |q| q.filter()), 0));
    status
}

/// Bytes that are made 0 as one iteration, and the nanoseconds that takes in a cache.
const PAGE: u64 = 4096;
const PAGE_COST: u32 = 100;

/// Makes memory 0, as a parallel region.
///
/// # Safety
/// `ctx` is the call's, and nobody else uses the memory.
pub(crate) unsafe fn zero(ctx: *mut CallCtx, address: *mut u8, bytes: u64, name: &str) {
    unsafe extern "C" fn pages(_: *mut CallCtx, env: *const u64, lo: u64, hi: u64) -> u32 {
        // SAFETY: the two words below; iterations are pages of that memory.
        unsafe {
            let (address, bytes) = (*env as *mut u8, *env.add(1));
            let (start, end) = (lo * PAGE, (hi * PAGE).min(bytes));
            address.add(start as usize).write_bytes(0, (end - start) as usize);
        }
        0
    }
    let env = [address as u64, bytes];
    let items = Items { n: bytes.div_ceil(PAGE), cost: PAGE_COST, even: true };
    // SAFETY: passed on to the caller; the chunks end before `env` goes.
    unsafe {
        // What is made 0 is there, or else the call would go on without it.
        let signal = std::mem::replace(&mut (*ctx).signal, no_signal());
        run(ctx, pages, env.as_ptr(), items, name);
        (*ctx).signal = signal;
    }
}

/// The parts of a call that every chunk sees.
struct Shared {
    ctx: *mut CallCtx,
    body: Chunk,
    env: *const u64,
    /// Whether the call is to end.
    stopped: AtomicBool,
}

// SAFETY: chunks only read the context's table and call state, which are made for use by many threads, and the captured
// values.
unsafe impl Sync for Shared {}

impl Shared {
    /// Runs one chunk with a context of its own; what it raised, if it did, with the runtime's error behind it.
    fn run(&self, lo: u64, hi: u64) -> Option<(ExcRecord, Option<RuntimeError>)> {
        // SAFETY: the caller of `par_for` vouches for all three; neither the exception record nor the state is shared.
        unsafe {
            let call = (*(*self.ctx).call.cast::<Call<'_>>()).of_chunk(&self.stopped);
            let state = (&raw const call).cast_mut().cast();
            let (exc, signal) = (ExcRecord::default(), (*self.ctx).signal);
            let mut own =
                CallCtx { rt: (*self.ctx).rt, call: state, exc, stack_limit: 0, alone: 0, signal, stopped: 0 };
            let status = (self.body)(&mut own, self.env, lo, hi);
            call.release_all();
            (status != 0).then(|| (own.exc, call.failure()))
        }
    }
}

/// Whether regions of this thread that are worth sharing among workers that are awake follow each other so closely that it
/// pays to wake some. Single ones, with pauses between them, are done before a worker is there.
fn stirs(work: u64) -> bool {
    thread_local! {
        /// Since when how much work was done.
        static RECENT: Cell<Option<(Instant, u64)>> = const { Cell::new(None) };
    }
    let now = Instant::now();
    let recent = RECENT.get().filter(|(since, _)| now.duration_since(*since) < STIRRED_WITHIN);
    let (since, done) = recent.unwrap_or((now, 0));
    let enough = done + work >= STIRRING;
    RECENT.set((!enough).then_some((since, done + work)));
    enough
}

/// Runs items of unknown cost. A region that took long the last time, or was never run, is shared at once. Another one the
/// caller begins by itself, and shares what is left as soon as that looks as if it would take long after all.
unsafe fn learning(ctx: *mut CallCtx, body: Chunk, env: *const u64, items: Items, team: Option<&pool::Team>) -> u32 {
    let start = Instant::now();
    let learned = Learned::of(body);
    let n = items.n;
    let (mut done, mut share) = (0, learned.cost().is_none_or(|cost| Items { cost, ..items }.work() >= PARALLEL_FROM));
    let threads = team.map_or_else(num_threads, pool::Team::num_threads) as u64;
    let mut some = 1;
    while !share && done < n {
        let (before, next) = (start.elapsed(), (done + some).min(n));
        // SAFETY: passed on to the caller.
        let status = unsafe { body(ctx, env, done, next) };
        if status != 0 {
            return status;
        }
        let each = (start.elapsed() - before).as_nanos() as u64 / (next - done);
        (done, some) = (next, some * 2);
        share = threads > 1 && each.saturating_mul(n - done) >= PARALLEL_FROM;
    }
    let rest = n - done;
    let shared = rest > 0 && threads > 1;
    let status = match rest {
        0 => 0,
        // SAFETY: passed on to the caller.
        _ => unsafe { in_chunks(ctx, body, env, done, Items { n: rest, ..items }, Sharing::WhereItPays, team) },
    };
    let work = start.elapsed().as_nanos() as u64 * if shared { threads.min(n) } else { 1 };
    learned.set(work / n);
    status
}

/// What an item of a region took the last time. The regions of different functions may share a place: that costs time, not results.
struct Learned {
    place: &'static AtomicU64,
    /// The high half of what is stored there: whose it is.
    name: u64,
}

impl Learned {
    fn of(body: Chunk) -> Learned {
        const PLACES: usize = 256;
        static ALL: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];
        let name = (body as usize as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Learned { place: &ALL[(name >> 32) as usize % PLACES], name: name & !u64::from(u32::MAX) | 1 << 63 }
    }

    fn cost(&self) -> Option<u32> {
        let found = self.place.load(Ordering::Relaxed);
        (found & !u64::from(u32::MAX) == self.name).then_some(found as u32)
    }

    fn set(&self, nanoseconds: u64) {
        let cost = u32::try_from(nanoseconds).unwrap_or(u32::MAX).clamp(1, UNKNOWN - 1);
        self.place.store(self.name | u64::from(cost), Ordering::Relaxed);
    }
}

/// Items from `first` on, by this thread, which looks now and then whether the call is to end.
unsafe fn in_pieces(ctx: *mut CallCtx, body: Chunk, env: *const u64, first: u64, items: Items) -> u32 {
    let end = first + items.n;
    // Items of unknown cost look by themselves.
    let piece = if items.cost == UNKNOWN { items.n } else { (LOOKS_AFTER / u64::from(items.cost.max(1))).max(1) };
    let mut lo = first;
    loop {
        let hi = end.min(lo.saturating_add(piece.next_multiple_of(BLOCK)));
        // SAFETY: passed on to the caller.
        let status = unsafe { body(ctx, env, lo, hi) };
        if status != 0 || hi == end {
            return status;
        }
        // SAFETY: the context of a running call.
        if unsafe { CallCtx::ends(ctx) } {
            return 1;
        }
        lo = hi;
    }
}

/// Items from `first` on.
unsafe fn in_chunks(
    ctx: *mut CallCtx,
    body: Chunk,
    env: *const u64,
    first: u64,
    items: Items,
    sharing: Sharing,
    team: Option<&pool::Team>,
) -> u32 {
    let (n, end) = (items.n, first + items.n);
    let lively = || team.is_none() && (pool::is_awake() || stirs(items.work()));
    let threads = team.map_or_else(num_threads, pool::Team::num_threads) as u64;
    let size = items.per_chunk(threads, sharing, lively);
    // A region of some size is brought to the team's cores even if they are one.
    let inline = size >= n && (team.is_none() || items.work() < PARALLEL_FROM);
    if inline {
        // SAFETY: passed on to the caller.
        return unsafe { in_pieces(ctx, body, env, first, items) };
    }
    let chunks = n.div_ceil(size) as usize;
    let shared = Shared { ctx, body, env, stopped: AtomicBool::new(false) };
    // The lowest chunk that raised, and what it raised.
    let lowest = AtomicUsize::new(usize::MAX);
    let raised = Mutex::new(None);
    // What ends the call goes before what chunks raise: nothing else is heard of it.
    let stop = |error: (ExcRecord, Option<RuntimeError>)| {
        *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        shared.stopped.store(true, Ordering::Relaxed);
        // Chunks on other threads look at it.
        interrupt::came();
    };
    // SAFETY: the call's context, whose word lives for ever.
    let signal = unsafe { &*(*ctx).signal };
    let look = || {
        if signal.load(Ordering::Relaxed) != 0
            && !shared.stopped.load(Ordering::Relaxed)
            && let Err(error) = interrupt::answer()
        {
            stop((record_of(&error), Some(error)));
        }
    };
    let one = |chunk: usize| {
        look();
        if chunk > lowest.load(Ordering::Relaxed) || shared.stopped.load(Ordering::Relaxed) {
            return;
        }
        let lo = first + chunk as u64 * size;
        let Some(exc) = shared.run(lo, (lo + size).min(end)) else { return };
        if matches!(exc.1, Some(RuntimeError::Interrupted(_))) {
            return stop(exc);
        }
        let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
        if !shared.stopped.load(Ordering::Relaxed) && chunk < lowest.fetch_min(chunk, Ordering::Relaxed) {
            *raised = Some(exc);
        }
    };
    let attend = || drop(catch_unwind(AssertUnwindSafe(look)));
    let attend: Option<&dyn Fn()> = if std::ptr::eq(signal, no_signal()) { None } else { Some(&attend) };
    match team {
        None => pool::run_chunks_attending(chunks, &one, attend),
        Some(team) => team.run_chunks_attending(chunks, &one, attend),
    }
    match raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
        None => 0,
        Some((exc, failure)) => {
            // SAFETY: the call's context, which no chunk uses any more.
            unsafe {
                (*ctx).exc = exc;
                if let Some(error) = failure {
                    (*(*ctx).call.cast::<Call<'_>>()).set_failure(error);
                }
            }
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_that_follow_each_other_wake_workers_and_single_ones_do_not() {
        let times = (0..100).map(|_| stirs(10_000)).filter(|&woke| woke).count();
        assert!((5..=10).contains(&times), "{times}");
        for _ in 0..30 {
            std::thread::sleep(STIRRED_WITHIN);
            assert!(!stirs(10_000));
        }
    }

    #[test]
    fn small_regions_are_one_chunk_and_large_ones_are_cut_evenly() {
        let size = |n, cost, threads, even| Items { n, cost, even }.per_chunk(threads, Sharing::WhereItPays, || false);
        for even in [false, true] {
            assert_eq!(size(1000, 1, 8, even), 1000);
            assert_eq!(size(1 << 20, 1, 1, even), 1 << 20);
            assert_eq!(size(1 << 20, 1, 2, even), (1 << 20) / 8);
            // Long regions have more chunks.
            assert_eq!(size(1 << 20, 8, 2, even), (1 << 20) / 32);
            assert_eq!(size(1 << 20, 400, 2, even), (1 << 20) / 64);
            // Few dear iterations: one each.
            assert_eq!(size(8, 1_000_000, 4, even), 1);
            // Many cheap ones: no chunk under five microseconds.
            assert_eq!(size(30_000, 1, 64, even), 5056);
            assert_eq!(size(u64::MAX, u32::MAX, 2, even) % BLOCK, 0);
        }
        // No chunk of a loop takes so long that somebody who wants to end the call would wait; blocks look by themselves.
        assert!(size(1 << 30, 1 << 10, 2, true) << 10 <= 2 * LOOKS_AFTER);
        assert_eq!([size(1 << 20, 1 << 20, 2, true), size(1 << 20, 1 << 20, 2, false)], [10, (1 << 20) / 64]);
        // What is hardly worth it is shared among workers that are awake.
        assert_eq!(
            [10_000, 7_000].map(|n| Items { n, cost: 1, even: true }.per_chunk(2, Sharing::WhereItPays, || true)),
            [5_056, 7_000]
        );
        // Unless all are to be shared.
        let always = |n, threads| Items { n, cost: 1, even: true }.per_chunk(threads, Sharing::Always, || false);
        assert_eq!([always(1, 2), always(8, 2), always(8, 1), always(3, 8), always(1 << 20, 2)], [1, 4, 8, 1, 1 << 17]);
        // Short regions of even items have one chunk for each thread.
        assert_eq!([size(60_000, 1, 2, true), size(60_000, 1, 2, false)], [30_016, 7_552]);
    }
}
