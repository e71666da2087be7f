//! Allocations that fail on demand, to prove that what lies above survives it: those whose size depends on the user's
//! arrays, of the pools and of the routines here.

use std::sync::atomic::{AtomicU64, Ordering};

/// Allocations that succeed before the first one that fails, and one more; 0 where none fails.
static BEFORE: AtomicU64 = AtomicU64::new(0);
/// How many fail then.
static FAILING: AtomicU64 = AtomicU64::new(0);
/// How many have failed.
static FAILED: AtomicU64 = AtomicU64::new(0);

/// Lets the `nth` allocation from now on fail (the first is 1), and those after it, `count` in all; 0: none. Gives how many
/// have failed since it was last asked.
pub fn arm(nth: u64, count: u64) -> u64 {
    BEFORE.store(0, Ordering::Relaxed);
    FAILING.store(count, Ordering::Relaxed);
    let failed = FAILED.swap(0, Ordering::Relaxed);
    BEFORE.store(nth, Ordering::Relaxed);
    failed
}

/// Counts an allocation, and says whether it fails.
#[inline]
pub fn strikes() -> bool {
    BEFORE.load(Ordering::Relaxed) != 0 && counted()
}

#[cold]
fn counted() -> bool {
    let less = |n: u64| n.checked_sub(1);
    // The last one before the first that fails stays at 1.
    let fine = BEFORE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n > 1).then(|| n - 1)).is_ok();
    if fine || FAILING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
        return false;
    }
    FAILED.fetch_add(1, Ordering::Relaxed);
    true
}
