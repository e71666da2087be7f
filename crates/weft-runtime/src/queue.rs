//! Queues: a device, a way into it, and the event of what was submitted last.
//!
//! Work of one queue runs in the order in which it was submitted, also where it was made out of order, so the last event
//! stands for all of it. The driver's queue is therefore always in order: nothing is lost by it, and Intel's OpenCL for
//! CPUs stops for ever when several threads wait for events of out-of-order queues. Work of different queues is
//! ordered by events only; see [`crate::Buffer`].

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use weft_hal::{BackendKind, Device, DeviceInfo, Event, HalError, QueueOptions, UsmKind};

use crate::pool::{DevicePool, pool_of};
use crate::trace;

/// A queue. Two are equal when context, device and properties are (spec B2); [`Queue::id`] tells them apart.
pub struct Queue {
    hal: Arc<dyn weft_hal::Queue>,
    device: Arc<dyn Device>,
    options: QueueOptions,
    context: u64,
    id: u64,
    /// The same for equal queues.
    class: u32,
    filter: String,
    native: bool,
    /// Whether operations are complete when they return: no events to keep.
    immediate: bool,
    last: Mutex<Option<Event>>,
    pools: [OnceLock<Arc<DevicePool>>; 3],
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// What queues are equal by: context, device and properties. The k-th is class k.
static CLASSES: Mutex<Vec<(u64, u64, QueueOptions)>> = Mutex::new(Vec::new());

/// The class of queues with these.
fn class_of(context: u64, device: &Arc<dyn Device>, options: QueueOptions) -> u32 {
    let key = (context, default_context(device), options);
    let mut classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = classes.iter().position(|known| *known == key);
    known.unwrap_or_else(|| {
        classes.push(key);
        classes.len() - 1
    }) as u32
}

/// Default queues by device.
static DEFAULTS: Mutex<Vec<Arc<Queue>>> = Mutex::new(Vec::new());

/// The number of a device's default context: devices live as long as the process, so their address will do. It is even.
pub fn default_context(device: &Arc<dyn Device>) -> u64 {
    Arc::as_ptr(device).cast::<()>() as u64
}

/// The default queue of the device that a filter string names.
pub fn queue_for(filter: &str) -> Result<Arc<Queue>, HalError> {
    Queue::default_on(&weft_hal::find_device(filter)?)
}

/// The default queue of the default device (`WEFT_DEVICE`, else the first GPU, else native).
pub fn default_queue() -> Result<Arc<Queue>, HalError> {
    Queue::default_on(&weft_hal::default_device()?)
}

impl Queue {
    /// A new queue on a device, in its default context.
    pub fn new(device: &Arc<dyn Device>, options: QueueOptions) -> Result<Arc<Queue>, HalError> {
        let itself = device.itself();
        let device = itself.as_ref().unwrap_or(device);
        Queue::in_context(device, options, default_context(device))
    }

    /// A new queue on a device (or a handle on one, [`Device::among`]) in the context of that number.
    pub fn in_context(device: &Arc<dyn Device>, options: QueueOptions, context: u64) -> Result<Arc<Queue>, HalError> {
        let hal = device.create_queue(QueueOptions { in_order: true, ..options })?;
        let info = device.info();
        Ok(Arc::new(Queue {
            hal,
            device: device.clone(),
            options,
            context,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            class: class_of(context, device, options),
            filter: info.filter_string(),
            native: info.backend == BackendKind::Native,
            immediate: matches!(info.backend, BackendKind::Native | BackendKind::Null),
            last: Mutex::new(None),
            pools: Default::default(),
        }))
    }

    /// The one default queue of a device: in order, without profiling.
    pub fn default_on(device: &Arc<dyn Device>) -> Result<Arc<Queue>, HalError> {
        let itself = device.itself();
        let device = itself.as_ref().unwrap_or(device);
        let mut defaults = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = defaults.iter().find(|q| Arc::ptr_eq(&q.device, device)) {
            return Ok(queue.clone());
        }
        let queue = Queue::new(device, QueueOptions::default())?;
        defaults.push(queue.clone());
        Ok(queue)
    }

    /// The device it feeds.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// What is known about that device.
    pub fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    /// The driver's queue.
    pub fn hal(&self) -> &Arc<dyn weft_hal::Queue> {
        &self.hal
    }

    /// How it was made.
    pub fn options(&self) -> QueueOptions {
        self.options
    }

    /// Number of its context: equal for all queues of a device's default context.
    pub fn context(&self) -> u64 {
        self.context
    }

    /// Number of this queue, unique in the process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// A small number that equal queues share.
    pub fn class(&self) -> u32 {
        self.class
    }

    /// The device's filter string: `cuda:gpu:0`.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Whether compiled host code runs its work: no kernels, no copies.
    pub fn is_native(&self) -> bool {
        self.native
    }

    /// Whether host code may touch memory of that kind here.
    pub fn host_visible(&self, kind: UsmKind) -> bool {
        self.info().host_visible(kind)
    }

    /// The pool that memory of that kind comes from.
    pub fn pool(&self, kind: UsmKind) -> &Arc<DevicePool> {
        let slot = match kind {
            UsmKind::Device => &self.pools[0],
            UsmKind::Shared => &self.pools[1],
            UsmKind::Host => &self.pools[2],
        };
        slot.get_or_init(|| pool_of(&self.device, kind))
    }

    /// Event of the last operation, which comes after all others. `None` when nothing was submitted, or nothing is
    /// ever pending here.
    pub fn last_event(&self) -> Option<Event> {
        if self.immediate {
            return None;
        }
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Submits one operation: `operation` gets the driver's queue and the events to wait for, and returns its event.
    pub fn submit(
        &self,
        waits: &[Event],
        operation: impl FnOnce(&dyn weft_hal::Queue, &[Event]) -> Result<Event, HalError>,
    ) -> Result<Event, HalError> {
        if self.immediate {
            return operation(&*self.hal, waits);
        }
        // Held while submitting, so that the last event to be stored is the last to be submitted.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let event = operation(&*self.hal, waits)?;
        // Launches that nobody watches may have one event.
        if !last.as_ref().is_some_and(|known| known.is_same(&event)) {
            *last = Some(event.clone());
        }
        Ok(event)
    }

    /// Makes later operations wait for events of other queues. Nothing happens when there are none.
    pub fn wait_for(&self, events: &[Event]) -> Result<(), HalError> {
        if events.is_empty() {
            return Ok(());
        }
        self.submit(events, |queue, waits| queue.barrier(waits)).map(drop)
    }

    /// Blocks until everything submitted is complete.
    pub fn wait(&self) -> Result<(), HalError> {
        let watch = trace::stopwatch();
        let done = self.hal.wait();
        if !self.immediate {
            watch.record(trace::Kind::Event, || trace::item("wait", &*self.filter, 0));
        }
        done
    }

    /// Copies and records it. `direction` names the copy in the trace.
    ///
    /// # Safety
    /// As for [`weft_hal::Queue::memcpy`].
    pub unsafe fn copy(
        &self,
        dst: u64,
        src: u64,
        bytes: usize,
        waits: &[Event],
        direction: &'static str,
    ) -> Result<Event, HalError> {
        let watch = trace::stopwatch();
        // SAFETY: passed on to the caller.
        let event = self.submit(waits, |queue, waits| unsafe { queue.memcpy(dst, src, bytes, waits) })?;
        watch.record(trace::Kind::Copy, || trace::item(direction, &*self.filter, bytes as u64));
        Ok(event)
    }
}

impl PartialEq for Queue {
    fn eq(&self, other: &Queue) -> bool {
        self.class == other.class
    }
}

impl Eq for Queue {}

impl Hash for Queue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.class.hash(state);
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.filter)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("device", &self.filter).field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    // spec: B2
    #[test]
    fn queues_are_equal_when_context_device_and_properties_are() {
        let native = weft_hal::native::device();
        let default = queue_for("native").unwrap();
        assert!(Arc::ptr_eq(&default, &queue_for("native:cpu:0").unwrap()));
        let twin = Queue::new(&native, QueueOptions::default()).unwrap();
        let profiling = Queue::new(&native, QueueOptions { in_order: true, profiling: true }).unwrap();
        let other = Queue::default_on(&weft_hal::null::device()).unwrap();
        assert_eq!(*default, *twin);
        assert_ne!(default.id(), twin.id());
        assert_ne!(*default, *profiling);
        assert_ne!(*default, *other);
        assert_eq!(HashSet::from([&*default, &*twin, &*profiling]).len(), 2);
        assert_eq!(default.to_string(), "native:cpu:0");
    }
}
