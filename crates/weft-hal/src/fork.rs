//! Telling a forked child from its parent, for the price of one atomic load.
//!
//! Drivers do not survive `fork`: their threads and their connection to the kernel stay with the parent. Everything
//! that holds a driver handle remembers the [`generation`] it was made in and refuses to touch the driver in another.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::HalError;

static GENERATION: AtomicU32 = AtomicU32::new(0);

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// How many forks lie between the first process that asked and this one.
pub fn generation() -> u32 {
    static REGISTER: Once = Once::new();
    REGISTER.call_once(|| {
        // SAFETY: the handler only bumps an atomic, which is allowed between fork and exec. Registering fails only for
        // want of memory, and then nothing else would work either.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
    GENERATION.load(Ordering::Relaxed)
}

/// The process a driver handle belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Owner(u32);

impl Owner {
    /// This process.
    pub(crate) fn here() -> Self {
        Self(generation())
    }

    /// Whether the calling process made the handle. Destructors ask, and leave the parent's handles alone.
    pub(crate) fn is_here(self) -> bool {
        self.0 == generation()
    }

    /// The error for a child that uses its parent's device.
    pub(crate) fn check(self, device: &str) -> Result<(), HalError> {
        if self.is_here() {
            return Ok(());
        }
        Err(HalError::Unsupported(format!(
            "{device} was opened before this process was forked, and its driver does not survive a fork: use the \
             `spawn` or `forkserver` start method, or open devices in the child only"
        )))
    }
}
