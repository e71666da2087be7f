//! Host memory, host copies and the host clock, for the backends whose device memory is the host's (native, null).

use std::time::Instant;

use crate::{Event, HalError, QueueOptions, event, queue};

/// Cache line, and the widest vector register.
const ALIGN: usize = 64;

/// Allocates aligned host memory. `None` if there is none.
pub(crate) fn alloc(bytes: usize) -> Option<u64> {
    let mut address = std::ptr::null_mut();
    // SAFETY: `address` is a valid place for the result; the alignment is a power of two and a multiple of a pointer.
    let code = unsafe { libc::posix_memalign(&mut address, ALIGN, bytes.max(1)) };
    (code == 0 && !address.is_null()).then_some(address as u64)
}

/// Frees host memory.
///
/// # Safety
/// `address` is zero or came from [`alloc`] and was not freed before.
pub(crate) unsafe fn free(address: u64) {
    // SAFETY: passed on to the caller; `free` ignores null.
    unsafe { libc::free(address as *mut libc::c_void) }
}

/// Bytes of memory this machine has.
pub(crate) fn total_memory() -> u64 {
    // SAFETY: sysconf reads system constants.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0) * u64::try_from(size).unwrap_or(0)
}

/// Nanoseconds since the first call in this process.
fn now() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Runs an operation on the calling thread once `waits` are complete.
pub(crate) fn inline(options: QueueOptions, waits: &[Event], operation: impl FnOnce()) -> Result<Event, HalError> {
    event::wait_all(waits)?;
    if !options.profiling {
        operation();
        return Ok(Event::ready());
    }
    let start = now();
    operation();
    Ok(Event::ready_with_times(start, now()))
}

/// Copies host memory; ranges that overlap are copied as if through a buffer.
///
/// # Safety
/// Both ranges are allocated, and nobody else writes them meanwhile.
pub(crate) unsafe fn memcpy(
    options: QueueOptions,
    dst: u64,
    src: u64,
    bytes: usize,
    waits: &[Event],
) -> Result<Event, HalError> {
    inline(options, waits, || {
        if bytes > 0 {
            // SAFETY: the caller vouches for both ranges.
            unsafe { std::ptr::copy(src as *const u8, dst as *mut u8, bytes) }
        }
    })
}

/// Fills host memory with a pattern.
///
/// # Safety
/// The range is allocated, and nobody else touches it meanwhile.
pub(crate) unsafe fn fill(
    options: QueueOptions,
    dst: u64,
    pattern: &[u8],
    bytes: usize,
    waits: &[Event],
) -> Result<Event, HalError> {
    queue::check_fill(dst, pattern, bytes)?;
    inline(options, waits, || {
        if bytes == 0 {
            return;
        }
        // SAFETY: the caller vouches for the range, which may be uninitialised: it is only written, and `check_fill`
        // made sure that it is aligned and holds whole patterns.
        unsafe {
            match *pattern {
                [byte] => std::ptr::write_bytes(dst as *mut u8, byte, bytes),
                [a, b] => repeat(dst, u16::from_ne_bytes([a, b]), bytes),
                [a, b, c, d] => repeat(dst, u32::from_ne_bytes([a, b, c, d]), bytes),
                _ => {
                    let mut eight = [0; 8];
                    eight.copy_from_slice(pattern);
                    repeat(dst, u64::from_ne_bytes(eight), bytes);
                }
            }
        }
    })
}

/// # Safety
/// `bytes` at `dst` are writable, aligned for `T` and a multiple of its size.
unsafe fn repeat<T: Copy>(dst: u64, value: T, bytes: usize) {
    let dst = dst as *mut T;
    for i in 0..bytes / size_of::<T>() {
        // SAFETY: inside the range the caller vouches for.
        unsafe { dst.add(i).write(value) }
    }
}
