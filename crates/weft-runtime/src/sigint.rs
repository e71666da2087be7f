//! Hearing of Ctrl-C while compiled code runs: a handler in front of the one that is there.
//!
//! CPython's handler notes the signal for the interpreter, which runs Python's handlers when compiled code is done. Ours
//! calls it, and then tells compiled code. It takes the place of CPython's alone, with its flags and mask, so that
//! `signal.getsignal` and everything else says what it said. Whoever replaces it has the last word: `signal.signal` puts CPython's
//! back, and the next call ours; ignored signals, and handlers of other libraries, are left alone.
//!
//! Asking the system for the handler costs as much as some calls. So it is asked once for each tick of the coarse clock (a few
//! milliseconds), and by calls of which nobody knows that they are short ([`look_again`]).

use std::ffi::{c_int, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use libc::{SIGINT, siginfo_t};

use crate::interrupt;

/// The tick in which the handler was asked for last; 0 to ask again.
static TICK: AtomicU64 = AtomicU64::new(0);

/// The handler that ours stands in front of: the first that there was.
static BEHIND: AtomicUsize = AtomicUsize::new(0);

/// Whether that one takes three arguments.
static BEHIND_TAKES_MORE: AtomicBool = AtomicBool::new(false);

/// The next call of the thread that handles signals looks whether our handler is there.
pub fn look_again() {
    TICK.store(0, Ordering::Relaxed);
}

/// Sees to it that our handler is there. For the thread that handles signals.
#[inline]
pub(crate) fn watch() {
    // SAFETY: a place for the result.
    let now = unsafe {
        let mut now: libc::timespec = mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut now);
        1 + (now.tv_sec as u64) * 1_000_000_000 + now.tv_nsec as u64
    };
    if TICK.load(Ordering::Relaxed) != now {
        TICK.store(now, Ordering::Relaxed);
        stand_in_front();
    }
}

extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let behind = BEHIND.load(Ordering::Relaxed);
    // SAFETY: it is a handler that the system was to call, with these arguments.
    unsafe {
        if BEHIND_TAKES_MORE.load(Ordering::Relaxed) {
            mem::transmute::<usize, extern "C" fn(c_int, *mut siginfo_t, *mut c_void)>(behind)(signal, info, context);
        } else {
            mem::transmute::<usize, extern "C" fn(c_int)>(behind)(signal);
        }
    }
    interrupt::came();
}

#[cold]
fn stand_in_front() {
    let ours = on_signal as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
    // SAFETY: the calls read and write what they are given, and the new handler takes what its flags say.
    unsafe {
        let mut now: libc::sigaction = mem::zeroed();
        if libc::sigaction(SIGINT, ptr::null(), &mut now) != 0 {
            return;
        }
        let there = now.sa_sigaction;
        if there == ours || there == libc::SIG_DFL || there == libc::SIG_IGN {
            return;
        }
        let takes_more = now.sa_flags & libc::SA_SIGINFO != 0;
        match BEHIND.load(Ordering::Relaxed) {
            0 => {
                BEHIND.store(there, Ordering::Relaxed);
                BEHIND_TAKES_MORE.store(takes_more, Ordering::Relaxed);
            }
            behind if behind == there && BEHIND_TAKES_MORE.load(Ordering::Relaxed) == takes_more => {}
            // It may call ours, and ours would call it.
            _ => return,
        }
        now.sa_sigaction = ours;
        now.sa_flags |= libc::SA_SIGINFO;
        libc::sigaction(SIGINT, &now, ptr::null_mut());
    }
}
