//! Waits that somebody may end: a person with Ctrl-C.
//!
//! What runs on the device goes on when the host stops waiting for it. So only waits that leave host memory alone are
//! ended early; copies to and from the host are short by then, and are waited for to their end.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use weft_hal::{Event, HalError};
use weft_ir::ExcClass;

use crate::error::RuntimeError;

/// How often a wait asks whether to go on.
const SLICE: Duration = Duration::from_millis(50);

/// How long a wait asks the event without a pause: a pause takes some sixty microseconds, however short it is meant.
const EAGER: Duration = Duration::from_micros(300);

/// Who may end waits.
pub struct Interrupter {
    /// Whether waits of the calling thread may be ended at all.
    pub listens: fn() -> bool,
    /// Whether to stop waiting now, and what that is to handlers in compiled code: a `KeyboardInterrupt`, or an
    /// `Exception`. Asked about every 50 ms.
    pub stop: fn() -> Option<ExcClass>,
}

static INTERRUPTER: OnceLock<Interrupter> = OnceLock::new();

/// Names who may end waits inside calls. The first one stays.
pub fn set_interrupter(interrupter: Interrupter) {
    let _ = INTERRUPTER.set(interrupter);
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
    match INTERRUPTER.get().filter(|who| (who.listens)()) {
        None => Ok(event.wait()?),
        Some(who) => {
            let stop = || (who.stop)().map_or(Ok(()), |class| Err(RuntimeError::Interrupted { class }));
            Ok(wait_unless(event, stop)??)
        }
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
