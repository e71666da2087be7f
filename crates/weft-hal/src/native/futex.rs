//! Sleeping on a word of memory: the Linux futex, which wakes any number of sleepers with one call and needs no
//! initialisation, so that nothing is left locked in a forked child.

use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps until the word is woken, unless it no longer holds `expected`. May return early for no reason.
pub(crate) fn wait(word: &AtomicU32, expected: u32) {
    sleep(word, expected, ptr::null());
}

/// As [`wait`], for so long at most.
pub(crate) fn wait_for(word: &AtomicU32, expected: u32, most: Duration) {
    let most = libc::timespec { tv_sec: most.as_secs() as libc::time_t, tv_nsec: most.subsec_nanos().into() };
    sleep(word, expected, &most);
}

fn sleep(word: &AtomicU32, expected: u32, most: *const libc::timespec) {
    // SAFETY: the word is valid for the call, and so is the time, if there is one.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, expected, most);
    }
}

/// Wakes at most `count` sleepers.
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    // SAFETY: the kernel uses the address as a key only.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, count);
    }
}
