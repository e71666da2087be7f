//! What happened and how long it took: the records behind `weft.trace()`.
//!
//! Any number of [`Collector`]s may be active; each gets every item of every thread from its start to its end. With
//! none active an observer costs one atomic load. Parallel regions on the host count as one launch on
//! `native:cpu:0`, so that a test counts kernels in the same way on every device.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A source position for people: file and line.
pub type Location = (String, u32);

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The function, the kernel, or the direction of a copy (`host to device`).
    pub name: String,
    /// Filter string of the device.
    pub device: String,
    /// Bytes moved by a copy, bytes of code for a compile; zero otherwise.
    pub bytes: u64,
    /// How long the host was busy with it. For a launch without profiling: the time to submit it.
    pub seconds: f64,
    /// Where it stands in the user's source, if that is known.
    pub span: Option<Location>,
}

/// What a collector has seen, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// Modules compiled and loaded.
    pub compiles: Vec<Item>,
    /// Kernels launched and parallel regions run.
    pub launches: Vec<Item>,
    /// Copies between memories.
    pub copies: Vec<Item>,
    /// Waits of the host for a device.
    pub events: Vec<Item>,
}

/// Which list an item goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`Records::compiles`].
    Compile,
    /// [`Records::launches`].
    Launch,
    /// [`Records::copies`].
    Copy,
    /// [`Records::events`].
    Event,
}

/// An active trace. Ends when dropped.
#[derive(Debug)]
pub struct Collector {
    records: Arc<Mutex<Records>>,
}

/// How many collectors are active: what every observer looks at first.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
static COLLECTORS: Mutex<Vec<Arc<Mutex<Records>>>> = Mutex::new(Vec::new());

/// Starts a trace.
pub fn start() -> Collector {
    let records = Arc::new(Mutex::new(Records::default()));
    let mut all = COLLECTORS.lock().unwrap_or_else(PoisonError::into_inner);
    all.push(records.clone());
    ACTIVE.store(all.len(), Ordering::Relaxed);
    Collector { records }
}

impl Collector {
    /// What was seen so far.
    pub fn records(&self) -> Records {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the trace and hands over what was seen.
    pub fn finish(self) -> Records {
        self.records()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let mut all = COLLECTORS.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|r| !Arc::ptr_eq(r, &self.records));
        ACTIVE.store(all.len(), Ordering::Relaxed);
    }
}

/// Whether anybody is listening.
#[inline]
pub fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed) != 0
}

/// The start of something that may be recorded; reads the clock only when somebody is listening.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Option<Instant>);

/// Starts timing.
#[inline]
pub fn stopwatch() -> Stopwatch {
    Stopwatch(is_active().then(Instant::now))
}

impl Stopwatch {
    /// Records what was timed. `describe` runs only when somebody is listening.
    #[inline]
    pub fn record(self, kind: Kind, describe: impl FnOnce() -> Item) {
        if let Some(start) = self.0 {
            let seconds = start.elapsed().as_secs_f64();
            put(kind, Item { seconds, ..describe() });
        }
    }
}

/// Gives an item to every collector.
#[cold]
pub fn put(kind: Kind, item: Item) {
    let all = COLLECTORS.lock().unwrap_or_else(PoisonError::into_inner);
    for records in all.iter() {
        let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
        let list = match kind {
            Kind::Compile => &mut records.compiles,
            Kind::Launch => &mut records.launches,
            Kind::Copy => &mut records.copies,
            Kind::Event => &mut records.events,
        };
        list.push(item.clone());
    }
}

/// An item without a time and without a position.
pub(crate) fn item(name: impl Into<String>, device: impl Into<String>, bytes: u64) -> Item {
    Item { name: name.into(), device: device.into(), bytes, seconds: 0.0, span: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_active_collector_sees_what_happens_while_it_is_active() {
        let mine = |r: &Records| r.copies.iter().filter(|i| i.name == "trace test").count();
        let outer = start();
        stopwatch().record(Kind::Copy, || item("trace test", "here", 1));
        let inner = start();
        stopwatch().record(Kind::Copy, || item("trace test", "here", 2));
        assert_eq!(mine(&inner.finish()), 1);
        stopwatch().record(Kind::Copy, || item("trace test", "here", 3));
        assert_eq!(mine(&outer.finish()), 3);
    }
}
