//! Events: one per submitted operation, shared by clones.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::HalError;

/// What a backend supplies for its events.
pub trait EventImpl: Send + Sync + Any {
    /// Whether the operation is over, well or badly.
    fn is_complete(&self) -> bool;

    /// Whether it is known, without asking a driver, that the operation is over and went well.
    fn is_known_complete(&self) -> bool {
        false
    }

    /// Blocks until the operation is over; a failure of the operation, or of an earlier one that the driver reports
    /// only now, is the error.
    fn wait(&self) -> Result<(), HalError>;

    /// Start and end on the device in nanoseconds. The zero point is the device's own. `None` without profiling or
    /// before completion.
    fn profiling(&self) -> Option<(u64, u64)>;

    /// When the operation was handed to the device, on the same clock, where the driver says.
    fn submitted(&self) -> Option<u64> {
        None
    }
}

/// A handle to a submitted operation. Clones are the same event; dropping one does not cancel anything.
#[derive(Clone)]
pub struct Event(Arc<dyn EventImpl>);

impl Event {
    /// Wraps a backend's event.
    pub fn new(inner: impl EventImpl) -> Self {
        Self(Arc::new(inner))
    }

    /// An event that is complete already.
    pub fn ready() -> Self {
        static READY: OnceLock<Event> = OnceLock::new();
        READY.get_or_init(|| Self::new(Ready(None))).clone()
    }

    /// An event that is complete already and ran from `start` to `end`.
    pub(crate) fn ready_with_times(start: u64, end: u64) -> Self {
        Self::new(Ready(Some((start, end))))
    }

    /// Whether the operation is over. An operation that failed is over too: `wait` has the error.
    pub fn is_complete(&self) -> bool {
        self.0.is_complete()
    }

    /// Whether it is known, without asking a driver, that the operation is over and went well. Costs nothing.
    pub fn is_known_complete(&self) -> bool {
        self.0.is_known_complete()
    }

    /// Blocks until the operation is over.
    pub fn wait(&self) -> Result<(), HalError> {
        self.0.wait()
    }

    /// Start and end on the device in nanoseconds, from a queue with profiling and after completion.
    pub fn profiling(&self) -> Option<(u64, u64)> {
        self.0.profiling()
    }

    /// When the operation was handed to the device, on the clock of [`Event::profiling`], where the driver says.
    pub fn submitted(&self) -> Option<u64> {
        self.0.submitted()
    }

    /// A number that no other event has while this one, or a clone of it, lives.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0).cast::<()>() as usize
    }

    /// Whether the two are clones of one event.
    pub fn is_same(&self, other: &Event) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The backend's own event, if it is of that type.
    pub fn downcast<T: EventImpl>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("complete", &self.is_complete()).finish()
    }
}

/// Complete from the start; with times where the queue profiles.
struct Ready(Option<(u64, u64)>);

impl EventImpl for Ready {
    fn is_complete(&self) -> bool {
        true
    }

    fn is_known_complete(&self) -> bool {
        true
    }

    fn wait(&self) -> Result<(), HalError> {
        Ok(())
    }

    fn profiling(&self) -> Option<(u64, u64)> {
        self.0
    }
}

/// Waits on the host for each event: what a queue does with events its driver does not know.
pub(crate) fn wait_all(events: &[Event]) -> Result<(), HalError> {
    events.iter().try_for_each(Event::wait)
}
