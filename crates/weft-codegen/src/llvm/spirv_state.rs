//! Keeps LLVM 22's SPIR-V backend to one emission at a time, each from a clean start.
//!
//! The backend's module analysis is a C++ static that keeps what it learned from one module to the next: from the
//! second emission in a process on, ids may be defined twice (llvm-project issue 160613; fixed after LLVM 22). The
//! build script looks the object up in the archive; here its bytes, as they were before the first use, are put back
//! before each emission. What the object had allocated meanwhile is lost: a few kilobytes for each kernel module.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[cfg(spirv_static_analysis)]
mod analysis {
    use std::sync::OnceLock;

    const BYTES: usize = parse(env!("WEFT_SPIRV_ANALYSIS_BYTES"));

    const fn parse(text: &str) -> usize {
        let (digits, mut at, mut value) = (text.as_bytes(), 0, 0);
        while at < digits.len() {
            value = value * 10 + (digits[at] - b'0') as usize;
            at += 1;
        }
        value
    }

    unsafe extern "C" {
        #[link_name = "_ZN4llvm19SPIRVModuleAnalysis3MAIE"]
        static mut MAI: [u8; BYTES];
    }

    /// Puts the object back as it was before its first use. Only the one emission that is under way may touch it.
    pub(super) fn reset() {
        static PRISTINE: OnceLock<[u8; BYTES]> = OnceLock::new();
        // SAFETY: the size is the symbol's own; nobody else touches the object now. Its bytes hold no pointer to
        // memory that was freed: they are those of the freshly constructed object at the same address.
        unsafe {
            let object = &raw mut MAI;
            let pristine = PRISTINE.get_or_init(|| object.read());
            object.write(*pristine);
        }
    }
}

/// Whether an emission is under way.
static BUSY: Mutex<bool> = Mutex::new(false);
static FREE: Condvar = Condvar::new();

thread_local! {
    static MINE: Cell<bool> = const { Cell::new(false) };
}

fn busy() -> MutexGuard<'static, bool> {
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs an emission alone, from a clean start.
pub(crate) fn alone<T>(emit: impl FnOnce() -> T) -> T {
    {
        let mut taken = FREE.wait_while(busy(), |b| *b).unwrap_or_else(PoisonError::into_inner);
        *taken = true;
    }
    MINE.set(true);
    let guard = Release;
    #[cfg(spirv_static_analysis)]
    analysis::reset();
    let result = emit();
    drop(guard);
    result
}

struct Release;

impl Drop for Release {
    fn drop(&mut self) {
        abandon();
    }
}

/// Lets others go on when this thread was emitting: at the end, and before a fatal error parks it for ever.
pub(crate) fn abandon() {
    if MINE.replace(false) {
        *busy() = false;
        FREE.notify_one();
    }
}
