//! Who used a buffer last (spec D7): the last writer's event and, per queue, the last reader's.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// The uses of one buffer behind a lock, and beside it what most launches need to know: that only their own queue has used
/// the buffer, and that the event they would note is noted already.
#[derive(Default)]
pub(crate) struct OrderCell {
    /// The queue that all noted uses are of, zero while there is none, [`SEVERAL`] otherwise.
    queue: AtomicU64,
    /// The writer's event where there are no readers, else zero.
    writer: AtomicUsize,
    /// The event of the last reader noted since the last writer, else zero.
    reader: AtomicUsize,
    order: Mutex<Order>,
}

const SEVERAL: u64 = u64::MAX;

impl OrderCell {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get_mut(&mut self) -> &mut Order {
        self.order.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing but operations of a queue has used the buffer: it waits for nothing then.
    fn is_own(&self, queue: &Queue) -> bool {
        let known = self.queue.load(Ordering::Acquire);
        known == 0 || known == queue.id()
    }

    /// What an operation of `queue` that reads must wait for.
    pub(crate) fn before_read(&self, queue: &Queue, out: &mut SmallVec<[Event; 4]>) {
        if !self.is_own(queue) {
            self.lock().before_read(Some(queue.id()), out);
        }
    }

    /// What an operation of `queue` that writes must wait for.
    pub(crate) fn before_write(&self, queue: &Queue, out: &mut SmallVec<[Event; 4]>) {
        if !self.is_own(queue) {
            self.lock().before_write(Some(queue.id()), out);
        }
    }

    /// The buffer was read by an operation of `queue`.
    pub(crate) fn read(&self, queue: &Queue, event: &Event) {
        if self.reader.load(Ordering::Acquire) == event.id() {
            return;
        }
        let mut order = self.lock();
        order.read(queue, event);
        let noted = order.readers.iter().any(|(_, known)| known.is_same(event));
        let queue = if self.is_own(queue) { queue.id() } else { SEVERAL };
        self.queue.store(queue, Ordering::Release);
        self.writer.store(0, Ordering::Release);
        self.reader.store(if noted { event.id() } else { 0 }, Ordering::Release);
    }

    /// The buffer was written by an operation of `queue`, which waited for all earlier uses.
    pub(crate) fn wrote(&self, queue: &Queue, event: &Event) {
        if self.writer.load(Ordering::Acquire) == event.id() {
            return;
        }
        let mut order = self.lock();
        order.wrote(queue, event);
        let noted = order.writer.is_some();
        self.queue.store(queue.id(), Ordering::Release);
        self.writer.store(if noted { event.id() } else { 0 }, Ordering::Release);
        self.reader.store(0, Ordering::Release);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use weft_hal::{EventImpl, HalError, QueueOptions};

    struct Pending;

    impl EventImpl for Pending {
        fn is_complete(&self) -> bool {
            false
        }

        fn wait(&self) -> Result<(), HalError> {
            Ok(())
        }

        fn profiling(&self) -> Option<(u64, u64)> {
            None
        }
    }

    /// How many events a read and a write on a queue wait for.
    fn waits(cell: &OrderCell, queue: &Queue) -> (usize, usize) {
        let (mut reads, mut writes) = (SmallVec::new(), SmallVec::new());
        cell.before_read(queue, &mut reads);
        cell.before_write(queue, &mut writes);
        (reads.len(), writes.len())
    }

    // spec: D7
    #[test]
    fn a_queue_waits_for_others_and_not_for_itself() {
        let device = weft_hal::native::device();
        let [here, there] = [(); 2].map(|()| Queue::new(&device, QueueOptions::default()).unwrap());
        let [first, second, third] = [(); 3].map(|()| Event::new(Pending));
        let cell = OrderCell::default();
        assert_eq!((waits(&cell, &here), waits(&cell, &there)), ((0, 0), (0, 0)));
        // Noting one event again changes nothing.
        for _ in 0..2 {
            cell.wrote(&here, &first);
            assert_eq!((waits(&cell, &here), waits(&cell, &there)), ((0, 0), (1, 1)));
        }
        for _ in 0..2 {
            cell.read(&there, &second);
            assert_eq!((waits(&cell, &here), waits(&cell, &there)), ((0, 1), (1, 1)));
        }
        // The same writer's event after readers: they are no longer waited for.
        cell.wrote(&here, &first);
        assert_eq!((waits(&cell, &here), waits(&cell, &there)), ((0, 0), (1, 1)));
        cell.wrote(&there, &third);
        assert_eq!((waits(&cell, &here), waits(&cell, &there)), ((1, 1), (0, 0)));
        // What is complete is not kept.
        cell.wrote(&there, &Event::ready());
        assert_eq!((waits(&cell, &here), waits(&cell, &there)), ((0, 0), (0, 0)));
    }
}
