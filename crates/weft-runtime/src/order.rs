//! Who used a buffer last (spec D7): the last writer's event and, per queue, the last reader's.

use smallvec::SmallVec;
use weft_hal::Event;

use crate::queue::Queue;

/// An event and the queue it belongs to.
type Use = (u64, Event);

/// The uses of one buffer that may still be pending.
#[derive(Default)]
pub(crate) struct Order {
    writer: Option<Use>,
    readers: SmallVec<[Use; 1]>,
}

impl Order {
    /// The buffer was written by an operation of `queue`, which waited for all earlier uses.
    pub(crate) fn wrote(&mut self, queue: &Queue, event: &Event) {
        self.readers.clear();
        // Launches that nobody watches may have one event.
        if self.writer.as_ref().is_some_and(|(_, known)| known.is_same(event)) {
            return;
        }
        let event = event.clone();
        self.writer = (!event.is_known_complete()).then_some((queue.id(), event));
    }

    /// The buffer was read by an operation of `queue`.
    pub(crate) fn read(&mut self, queue: &Queue, event: &Event) {
        if self.readers.iter().any(|(_, known)| known.is_same(event)) {
            return;
        }
        self.readers.retain(|(id, e)| *id != queue.id() && !e.is_complete());
        // Asking a driver costs as much as a launch: who waits for it later asks.
        if !event.is_known_complete() {
            self.readers.push((queue.id(), event.clone()));
        }
    }

    /// What an operation of `queue` that reads must wait for. Its own queue is in order anyway.
    pub(crate) fn before_read(&self, queue: Option<u64>, out: &mut SmallVec<[Event; 4]>) {
        push(self.writer.as_ref(), queue, out);
    }

    /// What an operation of `queue` that writes must wait for.
    pub(crate) fn before_write(&self, queue: Option<u64>, out: &mut SmallVec<[Event; 4]>) {
        push(self.writer.as_ref(), queue, out);
        for reader in &self.readers {
            push(Some(reader), queue, out);
        }
    }

    /// The last writer.
    pub(crate) fn writer(&self) -> Option<&Event> {
        self.writer.as_ref().map(|(_, event)| event)
    }
}

fn push(used: Option<&Use>, queue: Option<u64>, out: &mut SmallVec<[Event; 4]>) {
    if let Some((id, event)) = used
        && Some(*id) != queue
        && !event.is_complete()
    {
        out.push(event.clone());
    }
}
