//! Device memory, recycled in queue order.
//!
//! A freed block remembers the queue it was used on and that queue's last event at that moment. The same queue may have
//! it again at once, since its operations come one after the other; any other queue only when the event, and those
//! of all foreign users, are complete.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use weft_codegen::shortage;
use weft_hal::{Device, Event, HalError, UsmKind};

use super::{PoolStats, classes};

/// Drivers hand out memory in pieces of this size at least.
const SMALLEST: usize = 512;

/// Memory from a device pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its address.
    pub address: u64,
    /// Bytes it holds.
    pub size: usize,
}

/// Events that must be complete before something else may happen.
pub type Events = SmallVec<[Event; 2]>;

struct FreeBlock {
    address: u64,
    /// The queue whose operations used it last.
    home: u64,
    /// Covers everything `home` had submitted when the block was freed.
    home_event: Option<Event>,
    /// Last uses on other queues.
    foreign: Events,
}

impl FreeBlock {
    fn usable_on(&self, queue: u64) -> bool {
        let home = self.home == queue || self.home_event.as_ref().is_none_or(Event::is_complete);
        home && self.foreign.iter().all(Event::is_complete)
    }

    fn wait(&self) -> Result<(), HalError> {
        self.home_event.iter().chain(&self.foreign).try_for_each(Event::wait)
    }
}

struct State {
    /// Free blocks by size class.
    free: [Vec<FreeBlock>; classes::COUNT],
    live: u64,
    pooled: u64,
    peak: u64,
    allocations: u64,
    fresh: u64,
}

/// The pool of one device and kind of memory.
pub struct DevicePool {
    device: Arc<dyn Device>,
    kind: UsmKind,
    state: Mutex<State>,
}

static POOLS: Mutex<Vec<Arc<DevicePool>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pool of a device and kind; the same one every time.
pub fn pool_of(device: &Arc<dyn Device>, kind: UsmKind) -> Arc<DevicePool> {
    let mut pools = lock(&POOLS);
    let known = pools.iter().find(|p| p.kind == kind && Arc::ptr_eq(&p.device, device));
    if let Some(pool) = known {
        return pool.clone();
    }
    let pool = Arc::new(DevicePool { device: device.clone(), kind, state: Mutex::new(State::new()) });
    pools.push(pool.clone());
    pool
}

pub(crate) fn all() -> Vec<Arc<DevicePool>> {
    lock(&POOLS).clone()
}

impl DevicePool {
    /// Kind of memory.
    pub fn kind(&self) -> UsmKind {
        self.kind
    }

    /// Memory for use by operations of `queue` (an id), in order after what that queue has submitted. To touch it
    /// from the host or from elsewhere, wait for the queue first.
    pub fn alloc(&self, bytes: usize, queue: u64) -> Result<Block, HalError> {
        let class = classes::of(bytes.max(SMALLEST));
        if shortage::strikes() {
            let (device, total) = (self.device.info().filter_string(), self.device.info().global_mem_bytes);
            return Err(HalError::OutOfMemory { device, requested: bytes as u64, free: None, total });
        }
        if let Some(block) = class.and_then(|class| self.recycled(class, queue)) {
            return Ok(block);
        }
        let made = self.fresh(class.map_or(bytes, classes::size));
        let made = made.or_else(|error| match error {
            HalError::OutOfMemory { .. } => {
                super::trim();
                // To the byte this time: a fifth of a large block may decide.
                let size = bytes.max(SMALLEST).next_multiple_of(SMALLEST);
                self.fresh(size)
            }
            error => Err(error),
        });
        let made = made.map_err(|error| self.with_request(error, bytes))?;
        let mut state = lock(&self.state);
        state.fresh += 1;
        state.count(made.size);
        Ok(made)
    }

    /// [`DevicePool::alloc`] from what is kept for reuse; `None` where the driver would have to be asked.
    pub fn reuse(&self, bytes: usize, queue: u64) -> Option<Block> {
        let class = classes::of(bytes.max(SMALLEST)).filter(|_| !shortage::strikes());
        self.recycled(class?, queue)
    }

    /// Memory from the driver, within the limit.
    fn fresh(&self, size: usize) -> Result<Block, HalError> {
        if let Some(limit) = super::memory_limit() {
            let held = |p: &Arc<DevicePool>| {
                let state = lock(&p.state);
                (state.live, state.pooled)
            };
            let mine = all().into_iter().filter(|p| Arc::ptr_eq(&p.device, &self.device));
            let (live, pooled) = mine.map(|p| held(&p)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
            if live + pooled + size as u64 > limit {
                return Err(HalError::OutOfMemory {
                    device: format!("{} (within weft.config.memory_limit)", self.device.info().filter_string()),
                    requested: size as u64,
                    free: Some(limit.saturating_sub(live)),
                    total: limit,
                });
            }
        }
        self.device.alloc(size, self.kind).map(|address| Block { address, size })
    }

    fn recycled(&self, class: usize, queue: u64) -> Option<Block> {
        let mut state = lock(&self.state);
        let blocks = &mut state.free[class];
        // The newest is the likeliest to be in a cache.
        let found = blocks.iter().rposition(|block| block.usable_on(queue))?;
        let block = blocks.swap_remove(found);
        let size = classes::size(class);
        state.pooled -= size as u64;
        state.count(size);
        // The block's events may be the last of their kind: not under the lock.
        drop(state);
        Some(Block { address: block.address, size })
    }

    /// The user's number of bytes instead of the size class.
    fn with_request(&self, error: HalError, bytes: usize) -> HalError {
        match error {
            HalError::OutOfMemory { device, free, total, .. } => {
                HalError::OutOfMemory { device, requested: bytes as u64, free, total }
            }
            error => error,
        }
    }

    /// Takes memory back. Operations that use it may still be running on `home`, up to `home_event`, and on other
    /// queues, up to `foreign`.
    ///
    /// # Safety
    /// The block came from this pool, was not freed before, and no operation will be submitted that uses it.
    pub unsafe fn free(&self, block: Block, home: u64, home_event: Option<Event>, foreign: Events) {
        // Asking a driver costs more than all the rest; another queue that wants the block will ask.
        let home_event = home_event.filter(|e| !e.is_known_complete());
        let freed = FreeBlock { address: block.address, home, home_event, foreign };
        let class = classes::of(block.size).filter(|&class| classes::size(class) == block.size);
        {
            let mut state = lock(&self.state);
            state.live -= block.size as u64;
            if let Some(class) = class {
                state.pooled += block.size as u64;
                state.free[class].push(freed);
                return;
            }
        }
        self.give_back(freed);
    }

    /// Hands a block to the driver. A device that fails here was lost, and its memory with it.
    fn give_back(&self, block: FreeBlock) {
        if block.wait().is_ok() {
            // SAFETY: from this device and kind, out of the free list, and its users are done.
            let _ = unsafe { self.device.free(block.address, self.kind) };
        }
    }

    /// Gives all free blocks back to the driver.
    pub fn trim(&self) -> u64 {
        let free = {
            let mut state = lock(&self.state);
            state.pooled = 0;
            std::mem::replace(&mut state.free, [const { Vec::new() }; classes::COUNT])
        };
        let mut total = 0;
        for (class, blocks) in free.into_iter().enumerate() {
            total += (classes::size(class) * blocks.len()) as u64;
            blocks.into_iter().for_each(|block| self.give_back(block));
        }
        total
    }

    /// What it holds.
    pub fn stats(&self) -> PoolStats {
        let state = lock(&self.state);
        PoolStats {
            place: self.device.info().filter_string(),
            kind: Some(self.kind),
            live: state.live,
            pooled: state.pooled,
            peak: state.peak,
            allocations: state.allocations,
            fresh: state.fresh,
        }
    }
}

impl State {
    const fn new() -> State {
        let free = [const { Vec::new() }; classes::COUNT];
        State { free, live: 0, pooled: 0, peak: 0, allocations: 0, fresh: 0 }
    }

    fn count(&mut self, size: usize) {
        self.allocations += 1;
        self.live += size as u64;
        self.peak = self.peak.max(self.live);
    }
}
