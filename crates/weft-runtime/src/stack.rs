//! How far the stack of this thread may grow.

use std::cell::Cell;

/// Bytes that are left for what compiled code calls: the runtime, and signal handlers.
const RESERVE: u64 = 256 << 10;

/// Most of the stack that one call may use, where the system sets no limit.
const MOST: u64 = 64 << 20;

thread_local! {
    static LOWEST: Cell<u64> = const { Cell::new(0) };
}

/// The address below which compiled code raises RecursionError.
pub(crate) fn limit() -> u64 {
    let here = 0u8;
    let here = &raw const here as u64;
    let lowest = LOWEST.with(|cell| {
        if cell.get() == 0 {
            cell.set(lowest().unwrap_or(1));
        }
        cell.get()
    });
    // A stack of unknown size is trusted with one more megabyte.
    let floor = if lowest == 1 { here.saturating_sub(1 << 20) } else { lowest + RESERVE };
    floor.max(here.saturating_sub(MOST))
}

/// The lowest address of this thread's stack.
fn lowest() -> Option<u64> {
    // SAFETY: the attributes are initialised by the first call and destroyed by the last.
    unsafe {
        let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return None;
        }
        let (mut address, mut bytes) = (std::ptr::null_mut(), 0);
        let failed = libc::pthread_attr_getstack(&attributes, &mut address, &mut bytes) != 0;
        libc::pthread_attr_destroy(&mut attributes);
        (!failed && !address.is_null()).then_some(address as u64)
    }
}
