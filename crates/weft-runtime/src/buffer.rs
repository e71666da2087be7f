//! Buffers: counted blocks of memory at a place, with the events of their last uses.
//!
//! In compiled code an array carries an *owner word*: 0 for constants, odd (`2k + 1`) for memory borrowed from argument
//! `k`, and otherwise one count of an `Arc<Buffer>`: [`Buffer::into_owner`] and [`Buffer::from_owner`].

use std::any::Any;
use std::fmt;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, MutexGuard};

use smallvec::SmallVec;
use weft_codegen::abi::VIEW_BITS;
use weft_hal::{Event, HalError, UsmKind};

use crate::order::{Order, OrderCell};
use crate::pool::{self, Block};
use crate::queue::Queue;

/// Where the bytes of a buffer came from.
enum Storage {
    /// The host pool; also the memory of native queues.
    Host,
    /// The header of a list, in the host pool; the items go with it.
    List,
    /// A device's pool.
    Device(Block),
    /// Somebody else's memory, kept alive here.
    Foreign(#[allow(dead_code)] Box<dyn Any + Send + Sync>),
    /// A part of another buffer, or the same memory seen from another queue. The uses are the whole's.
    Part(Arc<Buffer>),
}

/// A block of memory at a place.
pub struct Buffer {
    queue: Option<Arc<Queue>>,
    address: u64,
    bytes: usize,
    kind: UsmKind,
    storage: Storage,
    order: OrderCell,
    /// Where the call that made it keeps its counts: a hint.
    pub(crate) handed: AtomicU32,
}

impl Buffer {
    /// Uninitialised memory: on a queue's device, or plain host memory.
    pub fn alloc(queue: Option<&Arc<Queue>>, bytes: usize, kind: UsmKind) -> Result<Arc<Buffer>, HalError> {
        let (address, storage) = match queue {
            Some(queue) if !queue.is_native() => {
                let block = queue.pool(kind).alloc(bytes, queue.id())?;
                (block.address, Storage::Device(block))
            }
            _ => {
                let data = pool::host_alloc(bytes);
                if data.is_null() {
                    return Err(pool::host_exhausted(queue.map_or("host", |q| q.filter()), bytes));
                }
                (data as u64, Storage::Host)
            }
        };
        Ok(Arc::new(Buffer {
            queue: queue.cloned(),
            address,
            bytes,
            kind,
            storage,
            order: OrderCell::default(),
            handed: AtomicU32::new(0),
        }))
    }

    /// [`Buffer::alloc`] on a queue from what its pool keeps for reuse: no system and no driver is asked, so it takes a
    /// fraction of a microsecond. `None` where they would have to be.
    pub fn reuse(queue: &Arc<Queue>, bytes: usize, kind: UsmKind) -> Option<Arc<Buffer>> {
        let (address, storage) = match queue.is_native() {
            true => (pool::host_reuse(bytes) as u64, Storage::Host),
            false => {
                let block = queue.pool(kind).reuse(bytes, queue.id())?;
                (block.address, Storage::Device(block))
            }
        };
        let (order, handed) = (OrderCell::default(), AtomicU32::new(0));
        let queue = Some(queue.clone());
        (address != 0).then(|| Arc::new(Buffer { queue, address, bytes, kind, storage, order, handed }))
    }

    /// Plain host memory.
    pub fn alloc_host(bytes: usize) -> Result<Arc<Buffer>, HalError> {
        Buffer::alloc(None, bytes, UsmKind::Host)
    }

    /// Host memory for the header of a list, which whoever asks for it fills at once.
    pub(crate) fn alloc_list(bytes: usize) -> Result<Arc<Buffer>, HalError> {
        let mut buffer = Buffer::alloc_host(bytes)?;
        if let Some(only) = Arc::get_mut(&mut buffer) {
            only.storage = Storage::List;
        }
        Ok(buffer)
    }

    /// The header, if it is a list.
    pub fn list(&self) -> Option<*mut weft_codegen::abi::ListHeader> {
        matches!(self.storage, Storage::List).then_some(self.address as *mut _)
    }

    /// Memory that somebody else owns and `keep` keeps alive (an imported array, say).
    ///
    /// # Safety
    /// `bytes` at `address` are memory of that kind on the queue's device (or of the host), and stay so while `keep`
    /// lives.
    pub unsafe fn foreign(
        queue: Option<&Arc<Queue>>,
        address: u64,
        bytes: usize,
        kind: UsmKind,
        keep: Box<dyn Any + Send + Sync>,
    ) -> Arc<Buffer> {
        let storage = Storage::Foreign(keep);
        Arc::new(Buffer {
            queue: queue.cloned(),
            address,
            bytes,
            kind,
            storage,
            order: OrderCell::default(),
            handed: AtomicU32::new(0),
        })
    }

    /// So many bytes of this buffer from `offset` on, as a buffer of its own: on its queue and of its kind or, for other
    /// queues of the same device and memory that is all kinds, on another and of another. It keeps the whole alive and
    /// shares its order.
    pub fn part(
        self: &Arc<Self>,
        offset: usize,
        bytes: usize,
        seen: Option<(&Arc<Queue>, UsmKind)>,
    ) -> Result<Arc<Buffer>, HalError> {
        self.check(offset, bytes)?;
        Ok(Arc::new(Buffer {
            queue: seen.map(|(queue, _)| queue).or(self.queue.as_ref()).cloned(),
            address: self.address + offset as u64,
            bytes,
            kind: seen.map_or(self.kind, |(_, kind)| kind),
            storage: Storage::Part(self.clone()),
            order: OrderCell::default(),
            handed: AtomicU32::new(0),
        }))
    }

    /// The buffer whose memory this is: itself, unless it is a part.
    fn whole(&self) -> &Buffer {
        match &self.storage {
            Storage::Part(of) => of.whole(),
            _ => self,
        }
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        self.whole().order.lock()
    }

    /// Memory on a queue's device with the given content. The content is taken before this returns.
    pub fn from_host(queue: Option<&Arc<Queue>>, content: &[u8], kind: UsmKind) -> Result<Arc<Buffer>, HalError> {
        let buffer = Buffer::alloc(queue, content.len(), kind)?;
        buffer.write(0, content)?;
        Ok(buffer)
    }

    /// The queue it belongs to; `None` for plain host memory.
    pub fn queue(&self) -> Option<&Arc<Queue>> {
        self.queue.as_ref()
    }

    /// Where it is.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// How many bytes were asked for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Kind of memory.
    pub fn kind(&self) -> UsmKind {
        self.kind
    }

    /// Whether host code may touch the memory (after [`Buffer::wait`]).
    pub fn host_visible(&self) -> bool {
        self.queue.as_ref().is_none_or(|q| q.host_visible(self.kind))
    }

    /// Whether it is plain memory of the host pool, and only that.
    pub(crate) fn is_plain_host(&self) -> bool {
        self.queue.is_none() && matches!(self.storage, Storage::Host)
    }

    /// Whether an address lies in it.
    pub fn contains(&self, address: u64) -> bool {
        (self.address..self.address + self.bytes as u64).contains(&address)
    }

    /// Blocks until what was written is there.
    pub fn wait(&self) -> Result<(), HalError> {
        self.usable()?;
        let writer = self.order().writer().cloned();
        writer.map_or(Ok(()), |event| event.wait())
    }

    /// Whether its device can still be used (spec D8).
    fn usable(&self) -> Result<(), HalError> {
        self.queue.as_ref().map_or(Ok(()), |queue| queue.device().usable())
    }

    /// Blocks until nobody uses it: before the host writes.
    pub fn wait_idle(&self) -> Result<(), HalError> {
        self.usable()?;
        let mut events = SmallVec::new();
        self.order().before_write(None, &mut events);
        events.iter().try_for_each(Event::wait)
    }

    /// Event of the last write that may still be pending.
    pub fn last_writer(&self) -> Option<Event> {
        self.order().writer().cloned()
    }

    /// Appends what an operation of `queue` that reads must wait for.
    pub fn before_read(&self, queue: &Queue, waits: &mut SmallVec<[Event; 4]>) {
        self.whole().order.before_read(queue, waits);
    }

    /// Appends what an operation of `queue` that writes must wait for.
    pub fn before_write(&self, queue: &Queue, waits: &mut SmallVec<[Event; 4]>) {
        self.whole().order.before_write(queue, waits);
    }

    /// Notes that an operation of `queue` reads it until `event`.
    pub fn note_read(&self, queue: &Queue, event: &Event) {
        self.whole().order.read(queue, event);
    }

    /// Notes that an operation of `queue`, which waited for [`Buffer::before_write`], writes it until `event`.
    pub fn note_write(&self, queue: &Queue, event: &Event) {
        self.whole().order.wrote(queue, event);
    }

    /// Copies its bytes from `offset` on into host memory; waits for the last writer and for the copy.
    pub fn to_host(&self, offset: usize, out: &mut [u8]) -> Result<(), HalError> {
        self.check(offset, out.len())?;
        // SAFETY: checked to lie inside; `out` is ours until the copy is complete.
        unsafe { self.download(offset, out.as_mut_ptr() as u64, out.len()) }
    }

    /// [`Buffer::to_host`] to an address.
    ///
    /// # Safety
    /// The range lies in the buffer, `bytes` at `dst` are writable host memory, and nobody else uses them.
    pub(crate) unsafe fn download(&self, offset: usize, dst: u64, bytes: usize) -> Result<(), HalError> {
        let src = self.address + offset as u64;
        match &self.queue {
            Some(queue) if !queue.is_native() => {
                let mut waits = SmallVec::<[Event; 4]>::new();
                self.before_read(queue, &mut waits);
                // SAFETY: passed on to the caller; complete before this returns.
                unsafe { queue.copy(dst, src, bytes, &waits, "device to host") }?.wait()
            }
            _ => {
                self.wait()?;
                // SAFETY: passed on to the caller; host memory on both sides.
                unsafe { std::ptr::copy(src as *const u8, dst as *mut u8, bytes) };
                Ok(())
            }
        }
    }

    /// Writes host bytes at `offset`; the bytes are taken before this returns.
    pub fn write(&self, offset: usize, content: &[u8]) -> Result<(), HalError> {
        self.check(offset, content.len())?;
        let (dst, src) = (self.address + offset as u64, content.as_ptr());
        match &self.queue {
            Some(queue) if !queue.is_native() => {
                let mut waits = SmallVec::<[Event; 4]>::new();
                self.before_write(queue, &mut waits);
                // SAFETY: inside the buffer, and complete before `content` can go.
                let event = unsafe { queue.copy(dst, src as u64, content.len(), &waits, "host to device") }?;
                self.note_write(queue, &event);
                event.wait()
            }
            _ => {
                self.wait_idle()?;
                // SAFETY: inside the buffer, which is host memory; `content` is borrowed and so cannot be freed.
                unsafe { std::ptr::copy(src, dst as *mut u8, content.len()) };
                Ok(())
            }
        }
    }

    /// Repeats a pattern of 1, 2, 4 or 8 bytes over the whole buffer (whose size is a multiple of it).
    pub fn fill(&self, pattern: &[u8]) -> Result<(), HalError> {
        match &self.queue {
            Some(queue) => self.fill_on(queue, pattern, &[]).map(drop),
            None => {
                if pattern.is_empty() || !self.bytes.is_multiple_of(pattern.len()) {
                    return Err(HalError::InvalidArgument(format!(
                        "a fill of {} bytes is not a whole number of {}-byte patterns",
                        self.bytes,
                        pattern.len()
                    )));
                }
                self.wait_idle()?;
                for i in 0..self.bytes / pattern.len() {
                    let dst = (self.address as *mut u8).wrapping_add(i * pattern.len());
                    // SAFETY: inside the buffer, which is host memory.
                    unsafe { std::ptr::copy_nonoverlapping(pattern.as_ptr(), dst, pattern.len()) };
                }
                Ok(())
            }
        }
    }

    /// [`Buffer::fill`] by an operation of a queue on its device, after `waits`.
    pub fn fill_on(&self, queue: &Queue, pattern: &[u8], waits: &[Event]) -> Result<Event, HalError> {
        let mut all: SmallVec<[Event; 4]> = waits.into();
        self.before_write(queue, &mut all);
        // SAFETY: the buffer's own range; its pool keeps it until the event is complete.
        let event = queue.submit(&all, |q, waits| unsafe { q.fill(self.address, pattern, self.bytes, waits) })?;
        self.note_write(queue, &event);
        Ok(event)
    }

    /// Asks for the first `bytes` of shared memory to be on a queue's device when later operations of that queue use them
    /// (spec D3). Memory of other kinds does not move: the event then only says that what was submitted before is complete.
    pub fn prefetch_on(&self, queue: &Queue, bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
        self.check(0, bytes)?;
        let mut all: SmallVec<[Event; 4]> = waits.into();
        self.before_read(queue, &mut all);
        let moves = self.kind == UsmKind::Shared && self.queue.as_ref().is_some_and(|q| !q.is_native());
        let event = queue.submit(&all, |q, waits| match moves {
            // SAFETY: the buffer's own range; its pool keeps it until the event is complete.
            true => unsafe { q.prefetch(self.address, bytes, waits) },
            false => q.barrier(waits),
        })?;
        self.note_read(queue, &event);
        Ok(event)
    }

    /// A copy of the content at another place (or the same): on a queue's device, or in plain host memory.
    pub fn copy_to(&self, queue: Option<&Arc<Queue>>, kind: UsmKind) -> Result<Arc<Buffer>, HalError> {
        let copy = Buffer::alloc(queue, self.bytes, kind)?;
        match (&self.queue, queue) {
            (_, None) => {
                // SAFETY: the copy is as large, host memory and nobody else's.
                unsafe { self.download(0, copy.address, self.bytes) }?;
            }
            (Some(from), Some(to)) if Arc::ptr_eq(from.device(), to.device()) || from.context() == to.context() => {
                let mut waits = SmallVec::<[Event; 4]>::new();
                self.before_read(to, &mut waits);
                // SAFETY: both ranges are whole buffers of one device or one context; the events below keep them until it is done.
                let event = unsafe { to.copy(copy.address, self.address, self.bytes, &waits, "device to device") }?;
                self.note_read(to, &event);
                copy.note_write(to, &event);
            }
            (_, Some(to)) if self.host_visible() => {
                self.wait()?;
                // SAFETY: as above; waited for, since the source has no order with this queue.
                unsafe { to.copy(copy.address, self.address, self.bytes, &[], "host to device") }?.wait()?;
            }
            // Two devices that need not see each other: by way of the host.
            (Some(_), Some(_)) => return self.copy_to(None, UsmKind::Host)?.copy_to(queue, kind),
            (None, Some(_)) => unreachable!("plain host memory is visible to the host"),
        }
        Ok(copy)
    }

    fn check(&self, offset: usize, bytes: usize) -> Result<(), HalError> {
        if offset.checked_add(bytes).is_some_and(|end| end <= self.bytes) {
            return Ok(());
        }
        Err(HalError::InvalidArgument(format!(
            "{bytes} bytes at {offset} lie outside a buffer of {} bytes",
            self.bytes
        )))
    }

    /// One count as an owner word.
    pub fn into_owner(self: Arc<Self>) -> u64 {
        Arc::into_raw(self) as u64
    }

    /// An owner word without what it says of views.
    pub fn owner_of(word: u64) -> u64 {
        word & !VIEW_BITS
    }

    /// The count behind an owner word; `None` if the word is 0 or odd.
    ///
    /// # Safety
    /// An even word other than 0 holds a count of a buffer, which passes to the result.
    pub unsafe fn from_owner(owner: u64) -> Option<Arc<Buffer>> {
        if owner == 0 || owner & 1 == 1 {
            return None;
        }
        // SAFETY: the caller vouches for the count.
        Some(unsafe { Arc::from_raw(Self::owner_of(owner) as *const Buffer) })
    }

    /// The buffer behind an owner word, with a count of its own.
    ///
    /// # Safety
    /// An even word other than 0 holds a count of a buffer, which stays with the word.
    pub unsafe fn from_owner_ref(owner: u64) -> Option<Arc<Buffer>> {
        if owner == 0 || owner & 1 == 1 {
            return None;
        }
        let buffer = Self::owner_of(owner) as *const Buffer;
        // SAFETY: the caller vouches for one count; this adds the one that is taken.
        unsafe {
            Arc::increment_strong_count(buffer);
            Some(Arc::from_raw(buffer))
        }
    }

    /// Hands the memory over to whoever will call [`pool::host_free`] (NumPy). The buffer must be the only count and
    /// memory of the host pool; otherwise it comes back.
    pub fn into_host_memory(self: Arc<Self>) -> Result<*mut u8, Arc<Buffer>> {
        if !matches!(self.storage, Storage::Host) || self.wait_idle().is_err() {
            return Err(self);
        }
        let mut only = self;
        match Arc::get_mut(&mut only) {
            Some(buffer) => {
                let data = buffer.address as *mut u8;
                buffer.storage = Storage::Foreign(Box::new(()));
                Ok(data)
            }
            None => Err(only),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let order = self.order.get_mut();
        match (&self.storage, &self.queue) {
            (Storage::Device(block), Some(queue)) => {
                let mut foreign = SmallVec::new();
                order.before_write(Some(queue.id()), &mut foreign);
                let foreign = foreign.into_iter().collect();
                // SAFETY: the block is this buffer's, which nobody can name any more.
                unsafe { queue.pool(self.kind).free(*block, queue.id(), queue.last_event(), foreign) };
            }
            // SAFETY: from the host pool; what is pending on host memory is waited for by whoever submits it.
            (Storage::Host, _) => unsafe { pool::host_free(self.address as *mut u8) },
            // SAFETY: as above; nobody can name the list any more.
            (Storage::List, _) => unsafe {
                crate::list::free(self.address as *mut _);
                pool::host_free(self.address as *mut u8);
            },
            // Whoever owns the memory knows nothing of our queues.
            (Storage::Foreign(_), _) => {
                let mut events = SmallVec::new();
                order.before_write(None, &mut events);
                // A device that fails here was lost, and its memory with it.
                let _ = events.iter().try_for_each(Event::wait);
            }
            (Storage::Part(_), _) => {}
            (Storage::Device(_), None) => unreachable!("device memory has a queue"),
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.queue.as_ref().map_or("host", |q| q.filter());
        f.debug_struct("Buffer")
            .field("place", &place)
            .field("kind", &self.kind)
            .field("address", &format_args!("{:#x}", self.address))
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}
