//! Queues, which are streams and hence always in order, and events.

use std::any::Any;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::api::{self, Api, CuEvent, CuStream};
use super::device::{CudaDevice, Current};
use super::program::CudaKernel;
use crate::{ArgKind, Device, Event, EventImpl, HalError, Launch, Queue, QueueOptions, queue};

/// Arguments whose addresses fit on the stack.
const FEW: usize = 32;

/// So many operations may be pending before the driver makes the host wait: it takes a thousand.
const ROOM: u64 = 512;

pub(crate) struct CudaQueue {
    stream: Arc<Stream>,
    device: Arc<dyn Device>,
}

/// Destroys the stream when its last event is gone; the driver finishes what was submitted.
struct Stream {
    device: Arc<CudaDevice>,
    stream: CuStream,
    options: QueueOptions,
    /// Zero point of profiling times.
    origin: Option<CuEvent>,
    /// How many operations were submitted.
    submitted: AtomicU64,
    /// How many of them, the first ones, are known to be complete.
    complete: AtomicU64,
    /// The event of the last unwatched launches. Held while launching without watching, and while such an event gets its
    /// marker: an event with a marker stands for no further launch.
    open: Mutex<Option<Event>>,
}

/// A driver's event in a stream, after so many operations.
struct Marker {
    device: Arc<CudaDevice>,
    after: u64,
    event: CuEvent,
    timing: bool,
}

struct CudaEvent {
    stream: Arc<Stream>,
    /// Its operation's number in the stream, counted from one; of several operations, the last one's.
    number: AtomicU64,
    /// With profiling only.
    start: Option<Marker>,
    /// Of unwatched launches, none until somebody asks.
    end: OnceLock<Marker>,
}

impl CudaQueue {
    pub(crate) fn new(device: Arc<CudaDevice>, options: QueueOptions) -> Result<Self, HalError> {
        let mut stream = Stream {
            device: device.clone(),
            stream: CuStream::NULL,
            options,
            origin: None,
            submitted: AtomicU64::new(0),
            complete: AtomicU64::new(0),
            open: Mutex::default(),
        };
        {
            let _current = device.enter()?;
            // SAFETY: stores a handle.
            let code = unsafe { (device.api().cuStreamCreate)(&mut stream.stream, api::STREAM_NON_BLOCKING) };
            device.check("cuStreamCreate", code)?;
            if options.profiling {
                stream.origin = Some(stream.record_event(true)?);
            }
        }
        Ok(Self { stream: Arc::new(stream), device })
    }

    /// Makes the stream wait for events the driver knows, and the host for others. Then the device is entered.
    fn ready(&self, waits: &[Event]) -> Result<Current<'_>, HalError> {
        let (stream, device) = (&self.stream, &self.stream.device);
        // Before entering: these may belong to another backend, or take long.
        waits.iter().filter(|w| w.downcast::<CudaEvent>().is_none()).try_for_each(Event::wait)?;
        let current = device.enter()?;
        for event in waits.iter().filter_map(Event::downcast::<CudaEvent>) {
            // A stream waits for itself anyway.
            if !Arc::ptr_eq(&event.stream, stream) && !event.is_known_complete() {
                let end = event.end()?;
                // SAFETY: both handles are alive; the event may be another device's.
                let code = unsafe { (device.api().cuStreamWaitEvent)(stream.stream, end.event, 0) };
                device.check("cuStreamWaitEvent", code)?;
            }
        }
        Ok(current)
    }

    /// Runs `submit` once `waits` are complete, with an event at its end.
    fn submit(
        &self,
        call: &'static str,
        waits: &[Event],
        submit: impl FnOnce(CuStream) -> i32,
    ) -> Result<Event, HalError> {
        let stream = &self.stream;
        let _current = self.ready(waits)?;
        let timing = stream.options.profiling;
        let start = if timing { Some(stream.record(true)?) } else { None };
        let number = AtomicU64::new(stream.submit(call, submit)?);
        let end = OnceLock::from(stream.record(timing)?);
        Ok(Event::new(CudaEvent { stream: stream.clone(), number, start, end }))
    }

    /// Runs `submit` once `waits` are complete, without telling the driver of an event.
    fn submit_unwatched(
        &self,
        call: &'static str,
        waits: &[Event],
        submit: impl FnOnce(CuStream) -> i32,
    ) -> Result<Event, HalError> {
        let stream = &self.stream;
        let _current = self.ready(waits)?;
        let mut open = stream.open.lock().unwrap_or_else(PoisonError::into_inner);
        let number = stream.submit(call, submit)?;
        // What is complete stays so, and stands for nothing new.
        if let Some(event) = &*open
            && let Some(ours) = event.downcast::<CudaEvent>().filter(|ours| !ours.is_known_complete())
        {
            ours.number.store(number, Ordering::Release);
            return Ok(event.clone());
        }
        let (number, end) = (AtomicU64::new(number), OnceLock::new());
        Ok(open.insert(Event::new(CudaEvent { stream: stream.clone(), number, start: None, end })).clone())
    }

    /// A launch as the driver takes it, checked: `cuLaunchKernel` with everything but the stream.
    fn prepared<T>(
        &self,
        launch: &Launch<'_>,
        run: impl FnOnce(&dyn Fn(CuStream) -> i32) -> Result<T, HalError>,
    ) -> Result<T, HalError> {
        let device = &self.stream.device;
        queue::check_launch(launch, device.info())?;
        let any: &dyn Any = &**launch.kernel;
        let Some(kernel) = any.downcast_ref::<CudaKernel>().filter(|k| k.belongs_to(device)) else {
            return Err(HalError::InvalidArgument(format!(
                "kernel `{}` was not loaded on {}",
                launch.kernel.name(),
                device.filter()
            )));
        };
        let mut shared = 0;
        let mut parameters = SmallVec::<[*mut c_void; FEW]>::new();
        for field in launch.fields {
            match field.kind {
                ArgKind::Local => shared += field.size.next_multiple_of(16),
                _ => parameters.push(launch.bytes(field).as_ptr().cast_mut().cast()),
            }
        }
        let ([gx, gy, gz], [lx, ly, lz]) = (launch.groups, launch.local);
        let (function, extra) = (kernel.function(), std::ptr::null_mut());
        let parameters = parameters.as_ptr().cast_mut();
        run(&|stream| {
            // SAFETY: one pointer per parameter, to as many bytes as it has (the caller's word), which the driver
            // copies during the call.
            unsafe {
                let launch = device.api().cuLaunchKernel;
                launch(function, gx, gy, gz, lx, ly, lz, shared, stream, parameters, extra)
            }
        })
    }
}

impl Drop for CudaQueue {
    fn drop(&mut self) {
        // It holds the stream, which holds it.
        drop(self.stream.open.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Stream {
    /// Submits an operation and counts it. The device is entered.
    fn submit(&self, call: &'static str, submit: impl FnOnce(CuStream) -> i32) -> Result<u64, HalError> {
        self.device.check(call, submit(self.stream))?;
        Ok(self.submitted.fetch_add(1, Ordering::AcqRel) + 1)
    }

    /// A driver's event at the stream's present end. The device is entered.
    fn record_event(&self, timing: bool) -> Result<CuEvent, HalError> {
        let event = self.device.take_event(timing)?;
        // SAFETY: both are handles of this context.
        let code = unsafe { (self.device.api().cuEventRecord)(event, self.stream) };
        self.device.check("cuEventRecord", code).inspect_err(|_| self.device.give_event(event, timing))?;
        Ok(event)
    }

    /// A marker at the stream's present end. The device is entered.
    fn record(&self, timing: bool) -> Result<Marker, HalError> {
        // Read first: what is submitted meanwhile may come before the event, but is not counted.
        let after = self.submitted.load(Ordering::Acquire);
        let event = self.record_event(timing)?;
        Ok(Marker { device: self.device.clone(), after, event, timing })
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        self.device.give_event(self.event, self.timing);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.origin.into_iter().for_each(|event| self.device.give_event(event, true));
        if self.stream == CuStream::NULL {
            return;
        }
        if let Ok(_current) = self.device.enter() {
            // SAFETY: ours, and nobody holds it any more.
            unsafe { (self.device.api().cuStreamDestroy_v2)(self.stream) };
        }
    }
}

impl Queue for CudaQueue {
    fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    fn options(&self) -> QueueOptions {
        self.stream.options
    }

    unsafe fn launch(&self, launch: &Launch<'_>, waits: &[Event]) -> Result<Event, HalError> {
        if launch.is_empty() {
            return self.prepared(launch, |_| self.barrier(waits));
        }
        self.prepared(launch, |start| self.submit("cuLaunchKernel", waits, start))
    }

    unsafe fn launch_unwatched(&self, launch: &Launch<'_>, waits: &[Event]) -> Result<Event, HalError> {
        if launch.is_empty() || self.stream.options.profiling {
            // SAFETY: passed on to the caller.
            return unsafe { self.launch(launch, waits) };
        }
        self.prepared(launch, |start| self.submit_unwatched("cuLaunchKernel", waits, start))
    }

    fn may_be_full(&self) -> bool {
        let (submitted, complete) = (&self.stream.submitted, &self.stream.complete);
        submitted.load(Ordering::Relaxed).saturating_sub(complete.load(Ordering::Relaxed)) > ROOM
    }

    unsafe fn launch_bare(&self, launch: &Launch<'_>, count: u32) -> Result<Option<Duration>, HalError> {
        let (stream, device) = (self.stream.stream, &self.stream.device);
        self.prepared(launch, |start| {
            let _current = device.enter()?;
            let begin = Instant::now();
            let failed = (0..count).map(|_| start(stream)).find(|code| *code != api::SUCCESS);
            let took = begin.elapsed();
            device.check("cuLaunchKernel", failed.unwrap_or(api::SUCCESS))?;
            // SAFETY: our stream.
            device.check("cuStreamSynchronize", unsafe { (device.api().cuStreamSynchronize)(stream) })?;
            Ok(Some(took))
        })
    }

    unsafe fn memcpy(&self, dst: u64, src: u64, bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
        if bytes == 0 {
            return self.barrier(waits);
        }
        let api = self.stream.device.api();
        // SAFETY: the caller vouches for both ranges until the event is complete. Unified addressing tells the driver
        // where each lies; pageable host memory is staged, and the call may block for it.
        self.submit("cuMemcpyAsync", waits, |stream| unsafe { (api.cuMemcpyAsync)(dst, src, bytes, stream) })
    }

    unsafe fn fill(&self, dst: u64, pattern: &[u8], bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
        queue::check_fill(dst, pattern, bytes)?;
        if bytes == 0 {
            return self.barrier(waits);
        }
        let api = self.stream.device.api();
        let word = |i: usize| u32::from_ne_bytes([pattern[i], pattern[i + 1], pattern[i + 2], pattern[i + 3]]);
        // SAFETY: the caller vouches for the range; `check_fill` made sure of alignment and whole patterns.
        self.submit("cuMemsetAsync", waits, |stream| unsafe {
            match pattern.len() {
                1 => (api.cuMemsetD8Async)(dst, pattern[0], bytes, stream),
                2 => {
                    let half = u16::from_ne_bytes([pattern[0], pattern[1]]);
                    (api.cuMemsetD16Async)(dst, half, bytes / 2, stream)
                }
                4 => (api.cuMemsetD32Async)(dst, word(0), bytes / 4, stream),
                _ if word(0) == word(4) => (api.cuMemsetD32Async)(dst, word(0), bytes / 4, stream),
                _ => fill_by_eight(api, dst, [word(0), word(4)], bytes, stream),
            }
        })
    }

    unsafe fn prefetch(&self, address: u64, bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
        let device = &self.stream.device;
        if bytes == 0 || !device.moves_memory() {
            return self.barrier(waits);
        }
        self.submit("cuMemPrefetchAsync", waits, |stream| {
            // SAFETY: the caller vouches for the range.
            unsafe { (device.api().cuMemPrefetchAsync)(address, bytes, device.ordinal(), stream) }
        })
    }

    fn barrier(&self, waits: &[Event]) -> Result<Event, HalError> {
        self.submit("cuEventRecord", waits, |_| api::SUCCESS)
    }

    fn wait(&self) -> Result<(), HalError> {
        let (stream, device) = (&self.stream, &self.stream.device);
        let _current = device.enter()?;
        let submitted = stream.submitted.load(Ordering::Acquire);
        // SAFETY: our stream.
        device.check("cuStreamSynchronize", unsafe { (device.api().cuStreamSynchronize)(stream.stream) })?;
        stream.complete.fetch_max(submitted, Ordering::Release);
        Ok(())
    }
}

/// The driver fills by four bytes at most. So: every other word, twice, over a little (6 GB/s on an H200); then copies
/// of what is there, each twice as long as the last (memory speed).
///
/// # Safety
/// `bytes` at `dst` are the device's, and a multiple of eight.
unsafe fn fill_by_eight(api: &Api, dst: u64, words: [u32; 2], bytes: usize, stream: CuStream) -> i32 {
    let mut done = bytes.min(64 << 10);
    for (i, word) in words.into_iter().enumerate() {
        // SAFETY: inside the range the caller vouches for.
        let code = unsafe { (api.cuMemsetD2D32Async)(dst + 4 * i as u64, 8, word, 1, done / 8, stream) };
        if code != api::SUCCESS {
            return code;
        }
    }
    while done < bytes {
        let more = done.min(bytes - done);
        // SAFETY: as above; source and target do not overlap, and the stream runs one after the other.
        let code = unsafe { (api.cuMemcpyAsync)(dst + done as u64, dst, more, stream) };
        if code != api::SUCCESS {
            return code;
        }
        done += more;
    }
    api::SUCCESS
}

impl CudaEvent {
    /// The marker of its end, recorded now if there is none.
    fn end(&self) -> Result<&Marker, HalError> {
        if let Some(end) = self.end.get() {
            return Ok(end);
        }
        let stream = &self.stream;
        let _current = stream.device.enter()?;
        let mut open = stream.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have been first.
        let marker = match self.end.get() {
            Some(_) => None,
            None => Some(stream.record(false)?),
        };
        let closed = open.take_if(|e| e.downcast::<CudaEvent>().is_some_and(|e| std::ptr::eq(e, self)));
        let end = self.end.get_or_init(|| marker.expect("recorded where there was none"));
        drop(open);
        drop(closed);
        Ok(end)
    }

    /// Milliseconds from one event to a later one, both complete.
    fn elapsed(&self, from: CuEvent, to: CuEvent) -> Option<f64> {
        let mut milliseconds = 0_f32;
        // SAFETY: stores a float; both events have timing.
        let code = unsafe { (self.stream.device.api().cuEventElapsedTime)(&mut milliseconds, from, to) };
        (code == api::SUCCESS).then_some(f64::from(milliseconds))
    }
}

impl EventImpl for CudaEvent {
    fn is_complete(&self) -> bool {
        if self.is_known_complete() {
            return true;
        }
        let device = &self.stream.device;
        // What cannot be asked any more is over; `wait` has the error.
        let Ok(_current) = device.enter() else { return true };
        let Ok(end) = self.end() else { return true };
        // SAFETY: our event.
        let code = unsafe { (device.api().cuEventQuery)(end.event) };
        if code == api::SUCCESS {
            self.stream.complete.fetch_max(end.after, Ordering::Release);
        }
        code != api::NOT_READY
    }

    fn is_known_complete(&self) -> bool {
        self.number.load(Ordering::Acquire) <= self.stream.complete.load(Ordering::Acquire)
    }

    fn wait(&self) -> Result<(), HalError> {
        let device = &self.stream.device;
        let _current = device.enter()?;
        if self.is_known_complete() {
            return Ok(());
        }
        let end = self.end()?;
        // SAFETY: our event.
        device.check("cuEventSynchronize", unsafe { (device.api().cuEventSynchronize)(end.event) })?;
        self.stream.complete.fetch_max(end.after, Ordering::Release);
        Ok(())
    }

    fn profiling(&self) -> Option<(u64, u64)> {
        let (origin, start, end) = (self.stream.origin?, self.start.as_ref()?, self.end.get()?);
        let _current = self.stream.device.enter().ok()?;
        // The driver's float is coarse far from the origin; the duration is exact, so it is measured by itself.
        let begin = self.elapsed(origin, start.event)? * 1e6;
        let duration = self.elapsed(start.event, end.event)? * 1e6;
        Some((begin as u64, begin as u64 + duration as u64))
    }
}
