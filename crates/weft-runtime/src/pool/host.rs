//! Host memory that can be freed by its address alone, so that NumPy's memory handler can be this pool.
//!
//! A header of 64 bytes lies before the data and holds the size class. Free blocks of a class form a list through their
//! headers, under one short lock per class. The locks are held across `fork`, so that a child finds them free and the
//! lists whole.

use std::cell::UnsafeCell;
use std::ptr::{self, null_mut};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_codegen::shortage;
use weft_hal::HalError;

use super::{PoolStats, classes};

/// Bytes before the data: a cache line, so that the data are as aligned as the block.
const HEADER: usize = 64;

/// Blocks from this size on are mappings of their own: fresh ones are zero, and they go back to the system whole.
const MAP_FROM: usize = 256 << 10;

/// Blocks from this size on count towards the limit of [`set_host_limit`]; of a smaller class so many bytes are kept.
const LARGE_FROM: usize = 64 << 10;
const SMALL_LIMIT: u64 = 4 << 20;

/// Blocks from this size on ask for huge pages.
const HUGE_FROM: usize = 4 << 20;

const LIVE: u32 = 0x5745_4654;
const FREE: u32 = 0x4652_4545;

#[repr(C)]
struct Header {
    state: u32,
    class: u32,
    next: *mut Header,
}

/// The blocks of one class.
struct List {
    locked: AtomicBool,
    state: UnsafeCell<Blocks>,
}

/// What the lock of a class protects. Counting here costs nothing beside the lock.
struct Blocks {
    free: *mut Header,
    pooled: u64,
    allocations: u64,
    fresh: u64,
}

// SAFETY: `state` is touched only inside `with`.
unsafe impl Sync for List {}

impl List {
    const fn new() -> List {
        let blocks = Blocks { free: null_mut(), pooled: 0, allocations: 0, fresh: 0 };
        List { locked: AtomicBool::new(false), state: UnsafeCell::new(blocks) }
    }

    fn lock(&self) {
        while self.locked.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            let mut spins = 0;
            while self.locked.load(Ordering::Relaxed) {
                spins += 1;
                if spins < 64 { std::hint::spin_loop() } else { std::thread::yield_now() }
            }
        }
    }

    fn unlock(&self) {
        self.locked.store(false, Ordering::Release);
    }

    /// Runs `f`, which must not panic, under the lock.
    fn with<T>(&self, f: impl FnOnce(&mut Blocks) -> T) -> T {
        self.lock();
        // SAFETY: locked.
        let result = f(unsafe { &mut *self.state.get() });
        self.unlock();
        result
    }
}

static LISTS: [List; classes::COUNT] = [const { List::new() }; classes::COUNT];
static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);
static PEAK_BYTES: AtomicU64 = AtomicU64::new(0);
/// Bytes of free large blocks; small ones are few and counted by class.
static LARGE_POOLED: AtomicU64 = AtomicU64::new(0);
/// Most bytes to keep; zero until it is first needed.
static LIMIT: AtomicU64 = AtomicU64::new(0);

extern "C" fn before_fork() {
    LISTS.iter().for_each(List::lock);
}

extern "C" fn after_fork() {
    LISTS.iter().for_each(List::unlock);
}

/// Sets how many bytes of free host memory (in blocks of 64 KiB and more) are kept for reuse. The default is an eighth of the machine's memory, at
/// least 256 MiB and at most 8 GiB.
pub fn set_host_limit(bytes: u64) {
    LIMIT.store(bytes.max(1), Ordering::Relaxed);
}

fn limit() -> u64 {
    match LIMIT.load(Ordering::Relaxed) {
        0 => {
            let limit = (total_memory() / 8).clamp(256 << 20, 8 << 30);
            LIMIT.store(limit, Ordering::Relaxed);
            limit
        }
        limit => limit,
    }
}

/// Bytes of memory this machine has.
fn total_memory() -> u64 {
    // SAFETY: sysconf reads system constants.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0) * u64::try_from(size).unwrap_or(0)
}

/// Asks the system for a block of a class, header included.
fn fresh(class: usize) -> Option<*mut Header> {
    static FORK: Once = Once::new();
    FORK.call_once(|| {
        // SAFETY: the handlers take and give back locks that no code holds for longer than a few instructions.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(after_fork)) };
    });
    if !within_limit(classes::size(class) as u64) {
        return None;
    }
    let bytes = classes::size(class) + HEADER;
    let address = if bytes >= MAP_FROM {
        // SAFETY: a new private mapping touches nothing that exists.
        let address = unsafe {
            libc::mmap(
                null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return None;
        }
        if bytes >= HUGE_FROM {
            // SAFETY: advice on our own mapping; a refusal changes nothing.
            unsafe { libc::madvise(address, bytes, libc::MADV_HUGEPAGE) };
        }
        address
    } else {
        let mut address = null_mut();
        // SAFETY: `address` is a place for the result; 64 is a power of two and a multiple of a pointer's size.
        if unsafe { libc::posix_memalign(&mut address, HEADER, bytes) } != 0 {
            return None;
        }
        address
    };
    let block = address.cast::<Header>();
    // SAFETY: the block is ours and larger than a header.
    unsafe { block.write(Header { state: FREE, class: class as u32, next: null_mut() }) };
    LISTS[class].with(|blocks| {
        blocks.fresh += 1;
        blocks.allocations += 1;
    });
    Some(block)
}

/// Whether the pool may grow by so many bytes. Counts only where there is a limit.
fn within_limit(bytes: u64) -> bool {
    super::memory_limit().is_none_or(|limit| {
        let held = stats();
        held.live + held.pooled + bytes <= limit
    })
}

/// # Safety
/// The block came from [`fresh`], is in no list, and nobody uses it any more.
unsafe fn give_back(block: *mut Header) {
    // SAFETY: passed on to the caller; the class says how the block was made.
    unsafe {
        let bytes = classes::size((*block).class as usize) + HEADER;
        if bytes >= MAP_FROM {
            libc::munmap(block.cast(), bytes);
        } else {
            libc::free(block.cast());
        }
    }
}

/// Marks a block as in use and returns its data.
fn hand_out(block: *mut Header, class: usize) -> *mut u8 {
    let bytes = classes::size(class) as u64;
    let live = LIVE_BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
    if live > PEAK_BYTES.load(Ordering::Relaxed) {
        PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
    }
    // SAFETY: the block was just taken from the system or from a list.
    unsafe {
        (*block).state = LIVE;
        block.cast::<u8>().add(HEADER)
    }
}

fn recycled(class: usize) -> Option<*mut Header> {
    let block = LISTS[class].with(|blocks| {
        let block = blocks.free;
        if !block.is_null() {
            // SAFETY: a block in the list is whole and nobody else's.
            blocks.free = unsafe { (*block).next };
            blocks.pooled -= 1;
            blocks.allocations += 1;
        }
        block
    });
    if block.is_null() {
        return None;
    }
    if classes::size(class) >= LARGE_FROM {
        LARGE_POOLED.fetch_sub(classes::size(class) as u64, Ordering::Relaxed);
    }
    Some(block)
}

fn fresh_or_trim(class: usize) -> Option<*mut Header> {
    fresh(class).or_else(|| {
        super::trim();
        fresh(class)
    })
}

/// Uninitialised host memory, aligned to 64 bytes; null when there is none. Zero bytes give a block of their own.
pub fn host_alloc(bytes: usize) -> *mut u8 {
    let Some(class) = classes::of(bytes).filter(|_| !shortage::strikes()) else { return null_mut() };
    match recycled(class).or_else(|| fresh_or_trim(class)) {
        Some(block) => hand_out(block, class),
        None => null_mut(),
    }
}

/// [`host_alloc`] from what is kept for reuse; null where the system would have to be asked.
pub(crate) fn host_reuse(bytes: usize) -> *mut u8 {
    let class = classes::of(bytes).filter(|_| !shortage::strikes());
    let found = class.and_then(|class| Some((recycled(class)?, class)));
    found.map_or(null_mut(), |(block, class)| hand_out(block, class))
}

/// Like [`host_alloc`], zeroed. Large blocks are fresh mappings, whose pages cost nothing until they are touched.
pub fn host_calloc(bytes: usize) -> *mut u8 {
    let Some(class) = classes::of(bytes) else { return null_mut() };
    if classes::size(class) >= HUGE_FROM && !shortage::strikes() {
        return fresh_or_trim(class).map_or(null_mut(), |block| hand_out(block, class));
    }
    let data = host_alloc(bytes);
    if !data.is_null() {
        // SAFETY: the block holds at least `bytes`.
        unsafe { data.write_bytes(0, bytes) };
    }
    data
}

/// The header of a live block. Ends the process on an address that is not one: memory is corrupt then, and going on
/// would spread it.
///
/// # Safety
/// 64 readable bytes lie before `data`.
unsafe fn header(data: *mut u8) -> *mut Header {
    // SAFETY: the caller vouches for the bytes; the data of a block are aligned, so its header is.
    let block = unsafe { data.sub(HEADER).cast::<Header>() };
    // SAFETY: as above.
    if unsafe { (*block).state } != LIVE {
        eprintln!("weft: {data:p} was freed twice or is not from weft's host pool");
        std::process::abort();
    }
    block
}

/// Gives memory back. Null is ignored.
///
/// # Safety
/// `data` is null or came from this pool, is not in use, and was not freed before.
pub unsafe fn host_free(data: *mut u8) {
    if data.is_null() {
        return;
    }
    // SAFETY: passed on to the caller.
    unsafe {
        let block = header(data);
        let class = (*block).class as usize;
        let bytes = classes::size(class) as u64;
        (*block).state = FREE;
        LIVE_BYTES.fetch_sub(bytes, Ordering::Relaxed);
        let large = bytes >= LARGE_FROM as u64;
        if large && LARGE_POOLED.fetch_add(bytes, Ordering::Relaxed) + bytes > limit() {
            LARGE_POOLED.fetch_sub(bytes, Ordering::Relaxed);
            return give_back(block);
        }
        let kept = LISTS[class].with(|blocks| {
            let keep = large || blocks.pooled * bytes < SMALL_LIMIT;
            if keep {
                (*block).next = blocks.free;
                blocks.free = block;
                blocks.pooled += 1;
            }
            keep
        });
        if !kept {
            give_back(block);
        }
    }
}

/// Bytes that fit into a block without moving it.
///
/// # Safety
/// `data` came from this pool and was not freed.
pub unsafe fn host_capacity(data: *mut u8) -> usize {
    // SAFETY: passed on to the caller.
    unsafe { classes::size((*header(data)).class as usize) }
}

/// A block with the same content and another size. Null, with the old block intact, when there is no memory. A null
/// `data` is an allocation.
///
/// # Safety
/// As for [`host_free`].
pub unsafe fn host_realloc(data: *mut u8, bytes: usize) -> *mut u8 {
    if data.is_null() {
        return host_alloc(bytes);
    }
    // SAFETY: passed on to the caller.
    let capacity = unsafe { host_capacity(data) };
    // Stay while the request fits and does not leave most of the block unused.
    if bytes <= capacity && (bytes >= capacity / 4 || capacity <= 4096) {
        return data;
    }
    let moved = host_alloc(bytes);
    if !moved.is_null() {
        // SAFETY: both blocks hold that many bytes and are different; the old one is the caller's to free.
        unsafe {
            ptr::copy_nonoverlapping(data, moved, bytes.min(capacity));
            host_free(data);
        }
    }
    moved
}

/// Why there was no host memory.
pub fn exhausted(place: &str, bytes: usize) -> HalError {
    let live = LIVE_BYTES.load(Ordering::Relaxed);
    let (device, free, total) = match super::memory_limit() {
        Some(limit) => (format!("{place} (within weft.config.memory_limit)"), Some(limit.saturating_sub(live)), limit),
        None => (place.to_owned(), None, total_memory()),
    };
    HalError::OutOfMemory { device, requested: bytes as u64, free, total }
}

pub(crate) fn stats() -> PoolStats {
    let (mut pooled, mut allocations, mut fresh) = (0, 0, 0);
    for (class, list) in LISTS.iter().enumerate() {
        list.with(|blocks| {
            pooled += blocks.pooled * classes::size(class) as u64;
            allocations += blocks.allocations;
            fresh += blocks.fresh;
        });
    }
    let live = LIVE_BYTES.load(Ordering::Relaxed);
    let peak = PEAK_BYTES.load(Ordering::Relaxed);
    PoolStats { place: "host".to_owned(), kind: None, live, pooled, peak, allocations, fresh }
}

/// Gives all free blocks back to the system.
pub(crate) fn trim() -> u64 {
    let mut total = 0;
    for (class, list) in LISTS.iter().enumerate() {
        let (mut block, count) =
            list.with(|blocks| (std::mem::replace(&mut blocks.free, null_mut()), std::mem::take(&mut blocks.pooled)));
        while !block.is_null() {
            // SAFETY: the whole list is ours now; `next` is read before the block goes.
            unsafe {
                let next = (*block).next;
                give_back(block);
                block = next;
            }
        }
        let bytes = count * classes::size(class) as u64;
        if classes::size(class) >= LARGE_FROM {
            LARGE_POOLED.fetch_sub(bytes, Ordering::Relaxed);
        }
        total += bytes;
    }
    total
}
