//! Queues and events.

use std::any::Any;
use std::ffi::c_void;
use std::sync::{Arc, PoisonError};

use super::api::{self, ClEvent, ClQueue};
use super::device::OpenClDevice;
use super::program::OpenClKernel;
use crate::{ArgKind, Device, Event, EventImpl, HalError, Launch, Queue, QueueOptions, queue};

pub(crate) struct OpenClQueue {
    handle: Arc<Handle>,
    device: Arc<dyn Device>,
}

/// Releases the queue when its last event is gone.
struct Handle {
    device: Arc<OpenClDevice>,
    queue: ClQueue,
    options: QueueOptions,
}

struct OpenClEvent {
    queue: Arc<Handle>,
    event: ClEvent,
}

impl OpenClQueue {
    pub(crate) fn new(device: Arc<OpenClDevice>, options: QueueOptions) -> Result<Self, HalError> {
        let context = device.context()?;
        let flags = if options.in_order { 0 } else { api::QUEUE_OUT_OF_ORDER }
            | if options.profiling { api::QUEUE_PROFILING } else { 0 };
        let properties = [api::QUEUE_PROPERTIES, flags, 0];
        let mut code = 0;
        // SAFETY: the property list ends with zero.
        let queue = unsafe {
            (device.api().clCreateCommandQueueWithProperties)(context, device.id(), properties.as_ptr(), &mut code)
        };
        device.check("clCreateCommandQueueWithProperties", code)?;
        Ok(Self { device: device.clone(), handle: Arc::new(Handle { device, queue, options }) })
    }

    /// Waits on the host for events that the driver does not know, and returns those it does.
    fn wait_list(&self, waits: &[Event]) -> Result<Vec<ClEvent>, HalError> {
        let mut list = Vec::new();
        for wait in waits {
            match wait.downcast::<OpenClEvent>() {
                // An in-order queue waits for its own events anyway.
                Some(event) if Arc::ptr_eq(&event.queue, &self.handle) && self.handle.options.in_order => {}
                Some(event) if event.queue.device.shares_context(&self.handle.device) => list.push(event.event),
                _ => wait.wait()?,
            }
        }
        Ok(list)
    }

    /// Calls one of the enqueue functions with its last three arguments, and sees that the device starts on it.
    fn enqueue(
        &self,
        call: &'static str,
        waits: &[ClEvent],
        enqueue: impl FnOnce(u32, *const ClEvent, *mut ClEvent) -> i32,
    ) -> Result<Event, HalError> {
        let (device, api) = (&self.handle.device, self.handle.device.api());
        let list = if waits.is_empty() { std::ptr::null() } else { waits.as_ptr() };
        let mut event = ClEvent(std::ptr::null_mut());
        device.check(call, enqueue(waits.len() as u32, list, &mut event))?;
        // Made before the flush, so that it is released if that fails.
        let event = Event::new(OpenClEvent { queue: self.handle.clone(), event });
        // SAFETY: our queue.
        device.check("clFlush", unsafe { (api.clFlush)(self.handle.queue) })?;
        Ok(event)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.device.is_usable() {
            // SAFETY: ours; the driver finishes what was submitted.
            unsafe { (self.device.api().clReleaseCommandQueue)(self.queue) };
        }
    }
}

impl Queue for OpenClQueue {
    fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    fn options(&self) -> QueueOptions {
        self.handle.options
    }

    unsafe fn launch(&self, launch: &Launch<'_>, waits: &[Event]) -> Result<Event, HalError> {
        let device = &self.handle.device;
        device.usable()?;
        queue::check_launch(launch, device.info())?;
        let any: &dyn Any = &**launch.kernel;
        let kernel = any.downcast_ref::<OpenClKernel>().filter(|k| k.belongs_to(device));
        let Some(kernel) = kernel else {
            return Err(HalError::InvalidArgument(format!(
                "kernel `{}` was not loaded on {}",
                launch.kernel.name(),
                device.filter()
            )));
        };
        if kernel.parameters() as usize != launch.fields.len() {
            return Err(HalError::InvalidArgument(format!(
                "kernel `{}` has {} parameters; {} arguments were given",
                launch.kernel.name(),
                kernel.parameters(),
                launch.fields.len()
            )));
        }
        if launch.is_empty() {
            return self.barrier(waits);
        }
        let waits = self.wait_list(waits)?;
        let _arguments = kernel.arguments().lock().unwrap_or_else(PoisonError::into_inner);
        for (i, field) in launch.fields.iter().enumerate() {
            let i = i as u32;
            // SAFETY: `check_launch` made sure that the bytes are there; the driver copies them. Whether an address is
            // alive is the caller's to know.
            let (call, code) = unsafe {
                match field.kind {
                    ArgKind::Pointer => {
                        let address = api::number(launch.bytes(field)) as *const c_void;
                        let code = (device.usm().clSetKernelArgMemPointerINTEL)(kernel.handle(), i, address);
                        ("clSetKernelArgMemPointerINTEL", code)
                    }
                    ArgKind::Value => {
                        let bytes = launch.bytes(field);
                        let code =
                            (device.api().clSetKernelArg)(kernel.handle(), i, bytes.len(), bytes.as_ptr().cast());
                        ("clSetKernelArg", code)
                    }
                    ArgKind::Local => {
                        let (size, none) = (field.size as usize, std::ptr::null());
                        ("clSetKernelArg", (device.api().clSetKernelArg)(kernel.handle(), i, size, none))
                    }
                }
            };
            device.check(call, code)?;
        }
        let local = launch.local.map(|n| n as usize);
        let global = std::array::from_fn::<_, 3, _>(|d| launch.groups[d] as usize * local[d]);
        let dimensions = 1 + (1..3).rev().find(|&d| global[d] > 1).unwrap_or(0);
        self.enqueue("clEnqueueNDRangeKernel", &waits, |n, list, event| {
            let (queue, none) = (self.handle.queue, std::ptr::null());
            // SAFETY: sizes have three entries, of which the driver reads as many as there are dimensions.
            unsafe {
                (device.api().clEnqueueNDRangeKernel)(
                    queue,
                    kernel.handle(),
                    dimensions as u32,
                    none,
                    global.as_ptr(),
                    local.as_ptr(),
                    n,
                    list,
                    event,
                )
            }
        })
    }

    unsafe fn memcpy(&self, dst: u64, src: u64, bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
        let device = &self.handle.device;
        device.usable()?;
        if bytes == 0 {
            return self.barrier(waits);
        }
        let waits = self.wait_list(waits)?;
        self.enqueue("clEnqueueMemcpyINTEL", &waits, |n, list, event| {
            let (queue, dst, src) = (self.handle.queue, dst as *mut c_void, src as *const c_void);
            // SAFETY: the caller vouches for both ranges until the event is complete. The copy does not block.
            unsafe { (device.usm().clEnqueueMemcpyINTEL)(queue, 0, dst, src, bytes, n, list, event) }
        })
    }

    unsafe fn fill(&self, dst: u64, pattern: &[u8], bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
        let device = &self.handle.device;
        device.usable()?;
        queue::check_fill(dst, pattern, bytes)?;
        if bytes == 0 {
            return self.barrier(waits);
        }
        let waits = self.wait_list(waits)?;
        self.enqueue("clEnqueueMemFillINTEL", &waits, |n, list, event| {
            let (queue, dst, data, size) = (self.handle.queue, dst as *mut c_void, pattern.as_ptr(), pattern.len());
            // SAFETY: the caller vouches for the range; the driver copies the pattern.
            unsafe { (device.usm().clEnqueueMemFillINTEL)(queue, dst, data.cast(), size, bytes, n, list, event) }
        })
    }

    unsafe fn prefetch(&self, address: u64, bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
        let device = &self.handle.device;
        device.usable()?;
        if bytes == 0 {
            return self.barrier(waits);
        }
        let list = self.wait_list(waits)?;
        let asked = self.enqueue("clEnqueueMigrateMemINTEL", &list, |n, list, event| {
            let (queue, address) = (self.handle.queue, address as *const c_void);
            // SAFETY: the caller vouches for the range. No flags: to the queue's device.
            unsafe { (device.usm().clEnqueueMigrateMemINTEL)(queue, address, bytes, 0, n, list, event) }
        });
        match asked {
            // A driver whose device shares the host's memory has nothing to move, and may refuse to.
            Err(HalError::Driver { code: api::INVALID_VALUE | api::INVALID_OPERATION, .. }) => self.barrier(waits),
            asked => asked,
        }
    }

    fn barrier(&self, waits: &[Event]) -> Result<Event, HalError> {
        let device = &self.handle.device;
        device.usable()?;
        let waits = self.wait_list(waits)?;
        let barrier = |waits: &[ClEvent]| {
            self.enqueue("clEnqueueBarrierWithWaitList", waits, |n, list, event| {
                // SAFETY: the list has `n` events.
                unsafe { (device.api().clEnqueueBarrierWithWaitList)(self.handle.queue, n, list, event) }
            })
        };
        // With a list, a barrier waits for the list only; without one, for everything before it.
        if !waits.is_empty() {
            let event = barrier(&waits)?;
            if self.handle.options.in_order {
                return Ok(event);
            }
        }
        barrier(&[])
    }

    fn wait(&self) -> Result<(), HalError> {
        let device = &self.handle.device;
        device.usable()?;
        // SAFETY: our queue.
        device.check("clFinish", unsafe { (device.api().clFinish)(self.handle.queue) })
    }
}

impl OpenClEvent {
    /// Zero when complete, negative when failed, positive before.
    fn status(&self) -> i32 {
        let api = self.queue.device.api();
        let mut status = 0_i32;
        // SAFETY: the status is an int; our event.
        let code = unsafe {
            let out = (&raw mut status).cast();
            (api.clGetEventInfo)(self.event, api::EVENT_COMMAND_EXECUTION_STATUS, 4, out, std::ptr::null_mut())
        };
        if code == api::SUCCESS { status } else { code }
    }

    fn time(&self, what: u32) -> Option<u64> {
        let mut time = 0_u64;
        // SAFETY: times have eight bytes; our event.
        let code = unsafe {
            let (api, out) = (self.queue.device.api(), (&raw mut time).cast());
            (api.clGetEventProfilingInfo)(self.event, what, 8, out, std::ptr::null_mut())
        };
        (code == api::SUCCESS).then_some(time)
    }
}

impl EventImpl for OpenClEvent {
    fn is_complete(&self) -> bool {
        // In a forked child it will never be otherwise; `wait` says so.
        !self.queue.device.is_usable() || self.status() <= 0
    }

    fn wait(&self) -> Result<(), HalError> {
        let device = &self.queue.device;
        device.usable()?;
        // SAFETY: our event.
        let code = unsafe { (device.api().clWaitForEvents)(1, &self.event) };
        match self.status() {
            failed if failed < 0 => device.check("the operation", failed),
            _ => device.check("clWaitForEvents", code),
        }
    }

    fn profiling(&self) -> Option<(u64, u64)> {
        if !self.queue.options.profiling || !self.queue.device.is_usable() || self.status() != 0 {
            return None;
        }
        Some((self.time(api::PROFILING_COMMAND_START)?, self.time(api::PROFILING_COMMAND_END)?))
    }

    fn submitted(&self) -> Option<u64> {
        self.profiling()?;
        self.time(api::PROFILING_COMMAND_SUBMIT)
    }
}

impl Drop for OpenClEvent {
    fn drop(&mut self) {
        if self.queue.device.is_usable() {
            // SAFETY: ours; the driver keeps what is still running.
            unsafe { (self.queue.device.api().clReleaseEvent)(self.event) };
        }
    }
}
