//! Copies between any two memories: of the host, of one device, of two.

use std::sync::Arc;

use smallvec::SmallVec;
use weft_hal::{Event, HalError, UsmKind};

use crate::buffer::Buffer;
use crate::queue::Queue;

/// One end of a copy.
#[derive(Clone, Copy)]
pub enum End<'a> {
    /// Memory of the host at an address.
    Host(u64),
    /// A buffer, from an offset on.
    Buffer(&'a Arc<Buffer>, usize),
}

impl<'a> End<'a> {
    fn address(self) -> u64 {
        match self {
            End::Host(address) => address,
            End::Buffer(buffer, offset) => buffer.address() + offset as u64,
        }
    }

    /// The queue of a buffer whose memory is a device's own.
    fn device_queue(self) -> Option<&'a Arc<Queue>> {
        match self {
            End::Host(_) => None,
            End::Buffer(buffer, _) => buffer.queue().filter(|q| !q.is_native()),
        }
    }

    fn host_visible(self) -> bool {
        match self {
            End::Host(_) => true,
            End::Buffer(buffer, _) => buffer.host_visible(),
        }
    }

    fn before(self, write: bool, queue: &Queue, waits: &mut SmallVec<[Event; 4]>) {
        match self {
            End::Host(_) => {}
            End::Buffer(buffer, _) if write => buffer.before_write(queue, waits),
            End::Buffer(buffer, _) => buffer.before_read(queue, waits),
        }
    }

    fn note(self, write: bool, queue: &Queue, event: &Event) {
        match self {
            End::Host(_) => {}
            End::Buffer(buffer, _) if write => buffer.note_write(queue, event),
            End::Buffer(buffer, _) => buffer.note_read(queue, event),
        }
    }

    fn settle(self, write: bool) -> Result<(), HalError> {
        match self {
            End::Host(_) => Ok(()),
            End::Buffer(buffer, _) if write => buffer.wait_idle(),
            End::Buffer(buffer, _) => buffer.wait(),
        }
    }
}

/// Copies `bytes` from `src` to `dst` once `waits` are complete, on `queue` if it is one of a device that either end
/// belongs to, else on the queue of that end. Both ends see the copy in their order (spec D7). Between two devices
/// that cannot see each other's memory it goes by way of the host, and is complete when this returns.
///
/// # Safety
/// Both ranges are inside their memory and do not overlap. Host memory, and buffers of host memory, stay alive and
/// unwritten by others until the event is complete.
pub unsafe fn copy(
    queue: &Queue,
    dst: End<'_>,
    src: End<'_>,
    bytes: usize,
    waits: &[Event],
) -> Result<Event, HalError> {
    let apart = match (dst.device_queue(), src.device_queue()) {
        // Within one context each device can use the memory of the others.
        (Some(d), Some(s)) => !Arc::ptr_eq(d.device(), s.device()) && d.context() != s.context(),
        _ => false,
    };
    let (dst_home, src_home) = (dst.device_queue(), src.device_queue());
    let (home, direction, settle) = match (dst_home, src_home) {
        // SAFETY: passed on to the caller.
        (None, None) => return unsafe { on_host(queue, dst, src, bytes, waits) },
        (Some(_), Some(_)) if apart && !dst.host_visible() && !src.host_visible() => {
            let staged = Buffer::alloc(None, bytes, UsmKind::Host)?;
            // SAFETY: passed on to the caller; the staged copy is as large, and each half is complete before it goes.
            unsafe {
                copy(queue, End::Buffer(&staged, 0), src, bytes, waits)?.wait()?;
                let event = copy(queue, dst, End::Buffer(&staged, 0), bytes, &[])?;
                event.wait()?;
                return Ok(event);
            }
        }
        // The end that the host can see is settled first, since its own device orders it.
        (Some(d), Some(_)) if apart && src.host_visible() => (d, "device to device", Some((src, false))),
        (Some(_), Some(s)) if apart => (s, "device to device", Some((dst, true))),
        (Some(d), Some(_)) => (d, "device to device", None),
        (Some(d), None) => (d, "host to device", None),
        (None, Some(s)) => (s, "device to host", None),
    };
    if let Some((end, write)) = settle {
        end.settle(write)?;
    }
    let queue = if Arc::ptr_eq(queue.device(), home.device()) { queue } else { home };
    let mut all: SmallVec<[Event; 4]> = waits.into();
    src.before(false, queue, &mut all);
    dst.before(true, queue, &mut all);
    // SAFETY: passed on to the caller for host memory; device memory is kept by the order of its buffers.
    let event = unsafe { queue.copy(dst.address(), src.address(), bytes, &all, direction) }?;
    src.note(false, queue, &event);
    dst.note(true, queue, &event);
    if settle.is_some() {
        // The other device knows nothing of this queue.
        event.wait()?;
    }
    Ok(event)
}

/// # Safety
/// As for [`copy`]; both ends are host memory.
unsafe fn on_host(queue: &Queue, dst: End<'_>, src: End<'_>, bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
    waits.iter().try_for_each(Event::wait)?;
    src.settle(false)?;
    dst.settle(true)?;
    if queue.is_native() {
        // SAFETY: passed on to the caller; complete when it returns.
        return unsafe { queue.copy(dst.address(), src.address(), bytes, &[], "host to host") };
    }
    // SAFETY: passed on to the caller.
    unsafe { std::ptr::copy(src.address() as *const u8, dst.address() as *mut u8, bytes) };
    Ok(Event::ready())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue_for;

    // spec: D4
    #[test]
    fn copies_parts_of_buffers() {
        let queue = queue_for("native").unwrap();
        let whole = Buffer::from_host(Some(&queue), b"warp and weft", UsmKind::Device).unwrap();
        let part = whole.part(9, 4, None).unwrap();
        assert!(whole.part(9, 5, None).is_err());
        let target = Buffer::from_host(None, b"------", UsmKind::Host).unwrap();
        // SAFETY: inside both buffers, which are alive throughout.
        unsafe { copy(&queue, End::Buffer(&target, 1), End::Buffer(&part, 0), 4, &[]) }.unwrap().wait().unwrap();
        let mut out = [0; 6];
        drop(whole);
        target.to_host(0, &mut out).unwrap();
        assert_eq!(&out, b"-weft-");
        let mut back = [0; 4];
        part.to_host(0, &mut back).unwrap();
        assert_eq!(&back, b"weft");
    }
}
