//! Calls, and waits in them, that somebody may end: a person with Ctrl-C.
//!
//! Compiled code looks at a word ([`signal`]) where loops turn back. Of calls on the thread that handles signals it is
//! [`CAME`], which [`sigint`] sets when a signal comes: then handlers run, and what one raises ends the call. Whether a
//! signal came is known to Python alone; the word only says that it is time to ask. Workers see the word too, and go on until
//! that thread has found that the call is to end.
//!
//! What runs on the device goes on when the host stops waiting for it. So only waits that leave host memory alone are
//! ended early; copies to and from the host are short by then, and are waited for to their end.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use weft_codegen::abi::no_signal;
use weft_hal::{Event, HalError};

use crate::error::{Foreign, RuntimeError};
use crate::sigint;

/// How often a wait asks whether to go on.
const SLICE: Duration = Duration::from_millis(50);

/// How long a wait asks the event without a pause: a pause takes some sixty microseconds, however short it is meant.
const EAGER: Duration = Duration::from_micros(300);

/// Who may end waits.
pub struct Interrupter {
    /// Whether calls of the calling thread may be ended at all. The same for all its life, but in a forked child.
    pub listens: fn() -> bool,
    /// Lets handlers of signals run: whether to stop now, and what was raised. Waits ask about every 50 ms.
    pub stop: fn() -> Option<Foreign>,
}

static INTERRUPTER: OnceLock<Interrupter> = OnceLock::new();

/// Names who may end waits inside calls. The first one stays.
pub fn set_interrupter(interrupter: Interrupter) {
    let _ = INTERRUPTER.set(interrupter);
}

/// Not 0 since a signal came.
static CAME: AtomicU32 = AtomicU32::new(0);

/// Says that a signal came. Called by handlers of signals.
pub(crate) fn came() {
    CAME.store(1, Ordering::SeqCst);
}

/// Whoever may end calls of this thread.
fn listener() -> Option<&'static Interrupter> {
    thread_local! {
        /// Twice the process by [`weft_hal::fork_generation`], and 1 if this thread listens; `u64::MAX` before it was asked.
        static LISTENS: Cell<u64> = const { Cell::new(u64::MAX) };
    }
    let who = INTERRUPTER.get()?;
    let process = u64::from(weft_hal::fork_generation()) * 2;
    let known = LISTENS.get();
    if known & !1 != process {
        LISTENS.set(process | u64::from((who.listens)()));
    }
    (LISTENS.get() & 1 == 1).then_some(who)
}

/// What a call of this thread looks at.
#[inline]
pub(crate) fn signal() -> *const AtomicU32 {
    match listener() {
        Some(_) => {
            sigint::watch();
            &CAME
        }
        None => no_signal(),
    }
}

/// Lets handlers of signals run, if one came and this is the thread for it. An error: the call is to end.
pub(crate) fn answer() -> Result<(), RuntimeError> {
    let Some(who) = listener() else { return Ok(()) };
    // Before they run: a signal that comes meanwhile is not missed.
    CAME.store(0, Ordering::SeqCst);
    (who.stop)().map_or(Ok(()), |raised| Err(RuntimeError::Interrupted(raised)))
}

/// Asks an event for one slice of time at most; whether it is complete. `before` is how long it was asked already: the
/// pauses grow with it, so that they are a small part of the whole.
fn poll_slice(event: &Event, before: Duration) -> bool {
    let start = Instant::now();
    loop {
        if event.is_complete() {
            return true;
        }
        let waited = start.elapsed();
        if waited > SLICE {
            return false;
        }
        match before + waited {
            short if short < EAGER => std::thread::yield_now(),
            long => std::thread::sleep((long / 32).min(Duration::from_millis(2))),
        }
    }
}

/// Blocks until an event is complete, or until `stop` says so between two slices. Whether it is complete.
pub fn wait_unless<E>(event: &Event, mut stop: impl FnMut() -> Result<(), E>) -> Result<Result<(), HalError>, E> {
    let mut waited = Duration::ZERO;
    while !poll_slice(event, waited) {
        stop()?;
        waited += SLICE;
    }
    Ok(event.wait())
}

/// Blocks until an event is complete; [`RuntimeError::Interrupted`] if somebody ends the wait.
pub(crate) fn wait(event: &Event) -> Result<(), RuntimeError> {
    match listener() {
        None => Ok(event.wait()?),
        Some(_) => Ok(wait_unless(event, answer)??),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use weft_hal::EventImpl;

    static DONE: AtomicBool = AtomicBool::new(false);

    struct UntilDone;

    impl EventImpl for UntilDone {
        fn is_complete(&self) -> bool {
            DONE.load(Ordering::Relaxed)
        }

        fn wait(&self) -> Result<(), HalError> {
            assert!(self.is_complete(), "waited for without an end");
            Ok(())
        }

        fn profiling(&self) -> Option<(u64, u64)> {
            None
        }
    }

    // spec: D8
    #[test]
    fn a_wait_ends_when_it_is_told_to_and_when_the_event_is_complete() {
        let event = Event::new(UntilDone);
        let mut asked = 0;
        let stopped = wait_unless(&event, || {
            asked += 1;
            if asked < 2 { Ok(()) } else { Err("enough") }
        });
        assert_eq!((stopped, asked), (Err("enough"), 2));
        DONE.store(true, Ordering::Relaxed);
        assert_eq!(wait_unless(&event, || Err("never asked")), Ok(Ok(())));
    }
}
