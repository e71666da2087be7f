//! Queues, which are streams and hence always in order, and events.

use std::any::Any;
use std::ffi::c_void;
use std::sync::Arc;

use super::api::{self, Api, CuEvent, CuStream};
use super::device::CudaDevice;
use super::program::CudaKernel;
use crate::{Device, Event, EventImpl, HalError, Launch, Queue, QueueOptions, queue};

/// Arguments whose addresses fit on the stack.
const FEW: usize = 32;

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
}

struct CudaEvent {
    stream: Arc<Stream>,
    /// With profiling only.
    start: Option<CuEvent>,
    end: CuEvent,
}

impl CudaQueue {
    pub(crate) fn new(device: Arc<CudaDevice>, options: QueueOptions) -> Result<Self, HalError> {
        let mut stream = Stream { device: device.clone(), stream: CuStream::NULL, options, origin: None };
        {
            let _current = device.enter()?;
            // SAFETY: stores a handle.
            let code = unsafe { (device.api().cuStreamCreate)(&mut stream.stream, api::STREAM_NON_BLOCKING) };
            device.check("cuStreamCreate", code)?;
            if options.profiling {
                stream.origin = Some(stream.record(true)?);
            }
        }
        Ok(Self { stream: Arc::new(stream), device })
    }

    /// Makes the stream wait for events the driver knows, and the host for others; then runs `submit` between the
    /// events that an [`Event`] is made of.
    fn submit(
        &self,
        call: &'static str,
        waits: &[Event],
        submit: impl FnOnce(CuStream) -> i32,
    ) -> Result<Event, HalError> {
        let (stream, device) = (&self.stream, &self.stream.device);
        // Before entering: these may belong to another backend, or take long.
        waits.iter().filter(|w| w.downcast::<CudaEvent>().is_none()).try_for_each(Event::wait)?;
        let _current = device.enter()?;
        for event in waits.iter().filter_map(Event::downcast::<CudaEvent>) {
            // A stream waits for itself anyway.
            if !Arc::ptr_eq(&event.stream, stream) {
                event.stream.device.same_process()?;
                // SAFETY: both handles are alive; the event may be another device's.
                let code = unsafe { (device.api().cuStreamWaitEvent)(stream.stream, event.end, 0) };
                device.check("cuStreamWaitEvent", code)?;
            }
        }
        let timing = stream.options.profiling;
        let start = if timing { Some(stream.record(true)?) } else { None };
        let submitted = device.check(call, submit(stream.stream)).and_then(|()| stream.record(timing));
        match submitted {
            Ok(end) => Ok(Event::new(CudaEvent { stream: stream.clone(), start, end })),
            Err(error) => {
                start.into_iter().for_each(|event| device.give_event(event, true));
                Err(error)
            }
        }
    }
}

impl Stream {
    /// An event at the stream's present end. The device is entered.
    fn record(&self, timing: bool) -> Result<CuEvent, HalError> {
        let event = self.device.take_event(timing)?;
        // SAFETY: both are handles of this context.
        let code = unsafe { (self.device.api().cuEventRecord)(event, self.stream) };
        self.device.check("cuEventRecord", code).inspect_err(|_| self.device.give_event(event, timing))?;
        Ok(event)
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
        if launch.is_empty() {
            return self.barrier(waits);
        }
        let (mut few, mut many) = ([std::ptr::null_mut::<c_void>(); FEW], Vec::new());
        let parameters = if launch.fields.len() <= FEW {
            &mut few[..launch.fields.len()]
        } else {
            many.resize(launch.fields.len(), std::ptr::null_mut());
            &mut many[..]
        };
        for (parameter, field) in parameters.iter_mut().zip(launch.fields) {
            *parameter = launch.bytes(field).as_ptr().cast_mut().cast();
        }
        let ([gx, gy, gz], [lx, ly, lz]) = (launch.groups, launch.local);
        self.submit("cuLaunchKernel", waits, |stream| {
            let (function, extra) = (kernel.function(), std::ptr::null_mut());
            // SAFETY: one pointer per parameter, to as many bytes as it has (the caller's word), which the driver
            // copies during the call.
            unsafe {
                (device.api().cuLaunchKernel)(
                    function,
                    gx,
                    gy,
                    gz,
                    lx,
                    ly,
                    lz,
                    0,
                    stream,
                    parameters.as_mut_ptr(),
                    extra,
                )
            }
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

    fn barrier(&self, waits: &[Event]) -> Result<Event, HalError> {
        self.submit("cuEventRecord", waits, |_| api::SUCCESS)
    }

    fn wait(&self) -> Result<(), HalError> {
        let device = &self.stream.device;
        let _current = device.enter()?;
        // SAFETY: our stream.
        device.check("cuStreamSynchronize", unsafe { (device.api().cuStreamSynchronize)(self.stream.stream) })
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
        let device = &self.stream.device;
        // What cannot be asked any more is over; `wait` has the error.
        let Ok(_current) = device.enter() else { return true };
        // SAFETY: our event.
        let code = unsafe { (device.api().cuEventQuery)(self.end) };
        code != api::NOT_READY
    }

    fn wait(&self) -> Result<(), HalError> {
        let device = &self.stream.device;
        let _current = device.enter()?;
        // SAFETY: our event.
        device.check("cuEventSynchronize", unsafe { (device.api().cuEventSynchronize)(self.end) })
    }

    fn profiling(&self) -> Option<(u64, u64)> {
        let (origin, start) = (self.stream.origin?, self.start?);
        let _current = self.stream.device.enter().ok()?;
        // The driver's float is coarse far from the origin; the duration is exact, so it is measured by itself.
        let begin = self.elapsed(origin, start)? * 1e6;
        let duration = self.elapsed(start, self.end)? * 1e6;
        Some((begin as u64, begin as u64 + duration as u64))
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        let device = &self.stream.device;
        self.start.into_iter().for_each(|event| device.give_event(event, true));
        device.give_event(self.end, self.start.is_some());
    }
}
