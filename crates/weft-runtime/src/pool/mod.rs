//! Recycled memory: one pool of host memory, and one per device and kind of memory.
//!
//! Blocks come in size classes. A freed block is kept, with the pages it has touched, for the next request of its
//! class: the first touch of a page is otherwise the largest cost of `a + b`. Every address is aligned to 64 bytes.
//! When memory runs out, a pool gives back what it keeps and tries once more; then the error has the sizes.

mod classes;
mod device;
mod host;

pub use device::{Block, DevicePool, pool_of};
pub use host::{
    exhausted as host_exhausted, host_alloc, host_calloc, host_capacity, host_free, host_realloc, set_host_limit,
};

pub(crate) use host::host_reuse;

use std::sync::atomic::{AtomicU64, Ordering};

use weft_codegen::shortage;
use weft_hal::{HalError, UsmKind};

/// So many zeros, which are in no pool, or why there is no memory for them.
pub fn zeros(bytes: usize) -> Result<Vec<u8>, HalError> {
    let mut all = vec![];
    if shortage::strikes() || all.try_reserve_exact(bytes).is_err() {
        return Err(host_exhausted("host", bytes));
    }
    all.resize(bytes, 0);
    Ok(all)
}

/// What a pool holds. Bytes count whole size classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolStats {
    /// `host`, or the device's filter string.
    pub place: String,
    /// Kind of memory; `None` for plain host memory.
    pub kind: Option<UsmKind>,
    /// Bytes in use.
    pub live: u64,
    /// Bytes kept for reuse.
    pub pooled: u64,
    /// Most bytes that were in use at once.
    pub peak: u64,
    /// Requests answered so far.
    pub allocations: u64,
    /// Requests for which the system or the driver had to be asked.
    pub fresh: u64,
}

/// Statistics of the host pool, then of every device pool that was used.
pub fn stats() -> Vec<PoolStats> {
    let mut all = vec![host::stats()];
    all.extend(device::all().iter().map(|pool| pool.stats()));
    all
}

/// Gives everything that is kept for reuse back to the system and the drivers. Returns the bytes given back.
pub fn trim() -> u64 {
    host::trim() + device::all().iter().map(|pool| pool.trim()).sum::<u64>()
}

/// Most bytes that each device's pools, and the host's, may hold in all.
static MEMORY_LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Limits how many bytes, in use or kept for reuse, each device and the host may have from these pools
/// (`WEFT_MEMORY_LIMIT`); `None` is no limit. What is in use already stays.
pub fn set_memory_limit(bytes: Option<u64>) {
    MEMORY_LIMIT.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// The limit, if there is one.
pub fn memory_limit() -> Option<u64> {
    Some(MEMORY_LIMIT.load(Ordering::Relaxed)).filter(|&limit| limit != u64::MAX)
}
