//! One call of compiled code: its state, and the table through which compiled code reaches the runtime.
//!
//! No entry of the table lets a panic out: it becomes an internal error, since nothing may unwind through compiled code.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use smallvec::SmallVec;
use weft_hal::{Event, HalError, UsmKind};

use crate::buffer::Buffer;
use crate::error::RuntimeError;
use crate::executable::Executable;
use crate::extent::{HostSpan, extent, is_dense};
use crate::handed::{Handed, Spare};
use crate::interrupt;
use crate::launch::{self, Outcome};
use crate::list;
use crate::parallel::{self, Items, Sharing};
use crate::pool;
use crate::queue::Queue;
use crate::transfers::{Mode, Residency, Wanted};
use weft_ir::ExcClass;

use weft_codegen::abi::{CallCtx, Chunk, ExcRecord, ListHeader, RuntimeTable, mode, place};

/// What a call uses besides its slots. All empty for a host function of host arrays.
#[derive(Clone, Copy, Default)]
pub struct Touched<'a> {
    /// The queue to use: one equal to the one the executable was built for, or `None` for that one itself.
    pub queue: Option<&'a Arc<Queue>>,
    /// Buffers of the arguments that may be read.
    pub reads: &'a [&'a Buffer],
    /// Buffers of the arguments that may be written (and read).
    pub writes: &'a [&'a Buffer],
    /// What plain host arrays among the arguments may touch; needed only where they go to a device.
    pub host: &'a [HostSpan],
    /// Kind of new device memory; `None` is [`UsmKind::Device`].
    pub usm: Option<UsmKind>,
    /// Work-items of a work-group along each dimension of the launches, slowest first; where empty, the runtime chooses.
    pub local: &'a [u64],
    /// Which parallel loops go to several threads.
    pub sharing: Sharing,
}

/// The state of one call.
pub(crate) struct Call<'a> {
    executable: &'a Executable,
    queue: Option<&'a Arc<Queue>>,
    touched: &'a Touched<'a>,
    residency: Mutex<Residency>,
    /// Owner words that compiled code holds a count of. After an error nobody else would release them.
    handed: OneThread<Handed>,
    spare: OneThread<Spare>,
    /// Device memory made during the call: what is still alive at the end was written by it.
    fresh: Mutex<SmallVec<[Weak<Buffer>; 4]>>,
    /// The last launch.
    launched: Mutex<Option<Event>>,
    /// Whether host arrays were needed on the device.
    moved: AtomicBool,
    failure: Mutex<Option<RuntimeError>>,
    /// Of a chunk: whether the call is to end.
    stopped: Option<&'a AtomicBool>,
}

/// State that only one thread touches: chunks of parallel loops, which run on others, have a `Call` of their own.
#[derive(Default)]
struct OneThread<T>(UnsafeCell<T>);

impl<T> OneThread<T> {
    /// Uses the state. `work` must not use it again.
    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: there is one thread, and no use inside another.
        work(unsafe { &mut *self.0.get() })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a table entry does not return 0.
enum Stop {
    Raised(Box<ExcRecord>),
    Failed(RuntimeError),
}

impl<E: Into<RuntimeError>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Failed(error.into())
    }
}

impl<'a> Call<'a> {
    pub(crate) fn new(executable: &'a Executable, queue: Option<&'a Arc<Queue>>, touched: &'a Touched<'a>) -> Call<'a> {
        Call {
            executable,
            queue,
            touched,
            residency: Mutex::default(),
            handed: OneThread::default(),
            spare: OneThread::default(),
            fresh: Mutex::default(),
            launched: Mutex::new(None),
            moved: AtomicBool::new(false),
            failure: Mutex::new(None),
            stopped: None,
        }
    }

    /// The state of a chunk of a parallel loop of this call, which runs on a thread of its own. `stopped`: whether the call is
    /// to end.
    pub(crate) fn of_chunk<'b>(&self, stopped: &'b AtomicBool) -> Call<'b>
    where
        'a: 'b,
    {
        Call { stopped: Some(stopped), ..Call::new(self.executable, self.queue, self.touched) }
    }

    /// Lets handlers of signals run. An error: the call is to end.
    fn poll(&self) -> Result<(), Stop> {
        // Whoever stopped a region knows why.
        if self.stopped.is_some_and(|stopped| stopped.load(Ordering::Relaxed)) {
            return Err(Stop::Raised(Box::new(runtime_record(ExcClass::KeyboardInterrupt))));
        }
        Ok(interrupt::answer()?)
    }

    /// Takes over the error that a chunk ended with.
    pub(crate) fn set_failure(&self, error: RuntimeError) {
        *lock(&self.failure) = Some(error);
    }

    /// The queue, if it is one with memory and kernels of its own.
    fn device(&self) -> Option<&'a Arc<Queue>> {
        self.queue.filter(|q| !q.is_native())
    }

    /// The queue that parallel loops of host code belong to: a sub-device has threads of its own. `None` for the whole
    /// machine.
    pub(crate) fn native_queue(&self) -> Option<&'a Arc<Queue>> {
        self.queue.filter(|q| q.is_native())
    }

    /// Which parallel loops go to several threads.
    pub(crate) fn sharing(&self) -> Sharing {
        self.touched.sharing
    }

    /// Orders the call after pending uses of its buffers on other queues.
    pub(crate) fn begin(&self) -> Result<(), HalError> {
        let Touched { reads, writes, .. } = self.touched;
        match self.device() {
            Some(queue) => {
                let mut waits = SmallVec::<[Event; 4]>::new();
                reads.iter().for_each(|b| b.before_read(queue, &mut waits));
                writes.iter().for_each(|b| b.before_write(queue, &mut waits));
                queue.wait_for(&waits)
            }
            None => {
                reads.iter().try_for_each(|b| b.wait())?;
                writes.iter().try_for_each(|b| b.wait_idle())
            }
        }
    }

    /// Brings what the device wrote back to host arrays, and notes the uses of all buffers. `failed` says that an error of
    /// the runtime ends the call; one that was handled does not count.
    pub(crate) fn end(&mut self, failed: bool) -> Result<(), RuntimeError> {
        let Some(queue) = self.device() else { return Ok(()) };
        // Compiled code is done: nobody else has these.
        let residency = self.residency.get_mut().unwrap_or_else(PoisonError::into_inner);
        let failure = self.failure.get_mut().unwrap_or_else(PoisonError::into_inner);
        let fresh = self.fresh.get_mut().unwrap_or_else(PoisonError::into_inner);
        let launched = self.launched.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The part that takes long first: it leaves host memory alone, and so may be ended.
        let stopped = failed && matches!(failure, Some(RuntimeError::Interrupted(_)));
        let waited = match residency.is_empty() || stopped {
            true => Ok(()),
            false => queue.last_event().map_or(Ok(()), |event| interrupt::wait(&event)),
        };
        let pending = match waited.is_ok() && !stopped {
            true => residency.finish(queue),
            false => residency.abandon().map(|()| false),
        };
        if let Some(event) = &*launched {
            self.touched.reads.iter().for_each(|b| b.note_read(queue, event));
            self.touched.writes.iter().for_each(|b| b.note_write(queue, event));
            for buffer in fresh.iter().filter_map(Weak::upgrade) {
                buffer.note_write(queue, event);
            }
        }
        // Host arrays are complete on return (A6), and nothing may touch them afterwards, whatever went wrong.
        if *pending.as_ref().unwrap_or(&true) {
            queue.wait()?;
        }
        waited?;
        Ok(pending.map(drop)?)
    }

    /// The error that a runtime entry left behind.
    pub(crate) fn failure(&self) -> Option<RuntimeError> {
        lock(&self.failure).take()
    }

    fn alloc(&self, at: u32, bytes: u64) -> Result<[u64; 2], Stop> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let buffer = if at == place::HOST {
            match self.spare.with(|spare| spare.take(bytes)) {
                Some(buffer) => buffer,
                None => Buffer::alloc_host(bytes)?,
            }
        } else {
            let queue = self.queue.ok_or_else(no_device)?;
            let buffer = Buffer::alloc(Some(queue), bytes, self.touched.usm.unwrap_or(UsmKind::Device))?;
            if !queue.is_native() {
                lock(&self.fresh).push(Arc::downgrade(&buffer));
            }
            buffer
        };
        Ok(self.hand_out(buffer.address(), buffer))
    }

    /// An address with a count of the buffer behind it.
    fn hand_out(&self, address: u64, buffer: Arc<Buffer>) -> [u64; 2] {
        let owner = buffer.into_owner();
        // SAFETY: the word was just made of a count.
        self.handed.with(|handed| unsafe { handed.add(owner) });
        [address, owner]
    }

    /// An address with another count of its owner, if it has counts.
    fn hand_again(&self, address: u64, owner: u64) -> [u64; 2] {
        // SAFETY: the word is a live value of compiled code.
        match unsafe { Buffer::from_owner_ref(owner) } {
            Some(buffer) => self.hand_out(address, buffer),
            None => [address, owner],
        }
    }

    /// Takes a count back.
    ///
    /// # Safety
    /// Compiled code had the count and gives it up.
    unsafe fn release(&self, owner: u64) {
        // SAFETY: passed on to the caller.
        let Some(buffer) = (unsafe { Buffer::from_owner(owner) }) else { return };
        // SAFETY: `buffer` has the count, and compiled code those in the list.
        self.handed.with(|handed| unsafe { handed.take(Buffer::owner_of(owner)) });
        self.spare.with(|spare| spare.put(buffer));
    }

    /// Gives compiled code one more count.
    ///
    /// # Safety
    /// The word is a live value of compiled code.
    unsafe fn retain(&self, owner: u64) {
        // SAFETY: passed on to the caller.
        if let Some(buffer) = unsafe { Buffer::from_owner_ref(owner) } {
            self.hand_out(0, buffer);
        }
    }

    /// After a call that returned these owner words among its results: releases what a handler went past.
    pub(crate) fn settle(&self, returned: impl Iterator<Item = u64>) {
        self.handed.with(|handed| {
            if !handed.is_empty() {
                for owner in returned.filter(|owner| *owner != 0 && owner & 1 == 0) {
                    // SAFETY: the result has its count, and compiled code had those in the list.
                    unsafe { handed.take(Buffer::owner_of(owner)) };
                }
            }
        });
        self.release_all();
    }

    /// Releases what compiled code did not and no result carries.
    pub(crate) fn release_all(&self) {
        let left = self.handed.with(Handed::drain);
        for (owner, count) in left {
            for _ in 0..count {
                // SAFETY: compiled code is done; no result carries the count, and nobody else knows of it.
                drop(unsafe { Buffer::from_owner(owner) });
            }
        }
    }

    /// # Safety
    /// `args` are the packed arguments of kernel `site`.
    unsafe fn launch(&self, site: u32, sizes: &[u64], args: &[u8]) -> Result<(), Stop> {
        let queue = self.device().ok_or_else(no_device)?;
        let kernels = self.executable.kernels();
        let kernel = kernels.get(site as usize);
        let kernel = kernel.ok_or_else(|| RuntimeError::Internal(format!("there is no kernel {site} to launch")))?;
        // SAFETY: passed on to the caller.
        match unsafe { launch::launch(queue, kernel, sizes, self.touched.local, args) }? {
            Outcome::Nothing => Ok(()),
            Outcome::Launched(event) => {
                *lock(&self.launched) = Some(event);
                if self.moved.load(Ordering::Relaxed) {
                    lock(&self.residency).launched(kernel.pointers(args));
                }
                Ok(())
            }
            Outcome::Raised(event, exc) => {
                *lock(&self.launched) = Some(event);
                Err(Stop::Raised(Box::new(exc)))
            }
        }
    }

    fn need(&self, array: &Array<'_>, at: u32, mode: Mode) -> Result<[u64; 2], Stop> {
        let Array { data, owner, shape, strides, itemsize } = *array;
        let Some(queue) = self.device() else {
            // One memory for all: everything is everywhere.
            return Ok(self.hand_again(data, owner));
        };
        let mut residency = lock(&self.residency);
        // The copy of a host array stands for that array.
        let on_device = residency.host_of(data).is_none() && self.on_device(data, owner);
        let Some(span) = extent(data, shape, strides, itemsize) else {
            // No element: nothing to move, but a result on the host is host memory.
            if at == place::HOST && on_device {
                let empty = Buffer::alloc_host(0)?;
                return Ok(self.hand_out(empty.address(), empty));
            }
            return Ok(self.hand_again(data, owner));
        };
        if on_device {
            // SAFETY: the word is a live value of compiled code.
            match unsafe { Buffer::from_owner_ref(owner) } {
                Some(buffer) if at == place::HOST => residency.add_home(&buffer)?,
                _ => return Ok(self.hand_again(data, owner)),
            }
            self.moved.store(true, Ordering::Relaxed);
        }
        // A host array, or the address of its copy.
        let (host, owner) = residency.host_of(data).unwrap_or((data, owner));
        let lo = host - (data - span.lo);
        let span = HostSpan { lo, hi: lo + (span.hi - span.lo) };
        let mode = if mode == Mode::WriteAll && !is_dense(shape, strides, itemsize) { Mode::Update } else { mode };
        if at == place::HOST {
            if residency.host_waits(span, mode)
                && let Some(event) = queue.last_event()
            {
                interrupt::wait(&event)?;
            }
            residency.valid_on_host(queue, span, mode)?;
            return Ok(self.hand_again(host, owner));
        }
        let align = itemsize.clamp(1, 8) as u64;
        let odd = |(&n, &stride): (&i64, &i64)| n > 1 && !stride.unsigned_abs().is_multiple_of(align);
        if shape.iter().zip(strides).any(odd) {
            let text = format!("an array whose strides are no multiple of {align} bytes cannot go to {queue}: copy it");
            return Err(RuntimeError::Invalid(text).into());
        }
        let wanted = Wanted { data: host, span, align, owner, mode };
        self.moved.store(true, Ordering::Relaxed);
        let (there, copy) = residency.valid_on_device(queue, self.touched.host, wanted)?;
        Ok(self.hand_out(there, copy))
    }

    /// Whether an array is device memory: fresh, or a device array among the arguments. Copies of host arrays are not.
    fn on_device(&self, data: u64, owner: u64) -> bool {
        let is_device = |b: &Buffer| b.queue().is_some_and(|q| !q.is_native());
        // SAFETY: the word is a live value of compiled code.
        match unsafe { Buffer::from_owner_ref(owner) } {
            Some(buffer) => is_device(&buffer),
            None => self.touched.reads.iter().chain(self.touched.writes).any(|b| is_device(b) && b.contains(data)),
        }
    }
}

/// A view, as `need` gets it.
struct Array<'a> {
    data: u64,
    owner: u64,
    shape: &'a [i64],
    strides: &'a [i64],
    itemsize: usize,
}

fn no_device() -> RuntimeError {
    RuntimeError::Internal("device code was called without a device queue".to_owned())
}

/// The message of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!("the runtime panicked: {}", text.as_deref().unwrap_or("no message"))
}

/// What an error of the runtime is to compiled code.
pub(crate) fn record_of(error: &RuntimeError) -> ExcRecord {
    runtime_record(match error {
        RuntimeError::Hal(HalError::OutOfMemory { .. }) => ExcClass::MemoryError,
        RuntimeError::Interrupted(raised) | RuntimeError::Foreign(raised) => raised.class,
        _ => ExcClass::Exception,
    })
}

fn runtime_record(class: ExcClass) -> ExcRecord {
    let mut exc = ExcRecord { site: ExcRecord::RUNTIME, ..ExcRecord::default() };
    exc.args[0] = class as u64;
    exc
}

/// Runs the body of a table entry: errors and panics go to the call's state, and the status says so.
///
/// # Safety
/// `ctx` is a context of a call that is running.
unsafe fn guard(ctx: *mut CallCtx, entry: impl FnOnce(&Call<'_>) -> Result<(), Stop>) -> u32 {
    // SAFETY: contexts are made by `Executable::call` with a `Call` that outlives them, and shared by reference only.
    let call = unsafe { &*(*ctx).call.cast::<Call<'_>>() };
    let stop = match catch_unwind(AssertUnwindSafe(|| entry(call))) {
        Ok(Ok(())) => return 0,
        Ok(Err(stop)) => stop,
        Err(panic) => Stop::Failed(RuntimeError::Internal(panic_text(&*panic))),
    };
    let exc = match stop {
        Stop::Raised(exc) => *exc,
        Stop::Failed(error) => {
            let exc = record_of(&error);
            // One that is there already was handled.
            call.set_failure(error);
            exc
        }
    };
    // SAFETY: each thread of a call has a context of its own.
    unsafe { (*ctx).exc = exc };
    1
}

unsafe extern "C" fn alloc(ctx: *mut CallCtx, place: u32, bytes: u64, out: *mut [u64; 2]) -> u32 {
    // SAFETY: compiled code passes its context and a place for two words.
    unsafe {
        guard(ctx, |call| {
            *out = call.alloc(place, bytes)?;
            Ok(())
        })
    }
}

unsafe extern "C" fn release(ctx: *mut CallCtx, owner: u64) {
    // SAFETY: compiled code passes its context and gives up one count.
    unsafe {
        guard(ctx, |call| {
            call.release(owner);
            Ok(())
        })
    };
}

unsafe extern "C" fn retain(ctx: *mut CallCtx, owner: u64) {
    // SAFETY: compiled code passes its context and a word that has a count.
    unsafe {
        guard(ctx, |call| {
            call.retain(owner);
            Ok(())
        })
    };
}

unsafe extern "C" fn par_for(ctx: *mut CallCtx, body: Chunk, env: *const u64, n: u64, cost: u32) -> u32 {
    // SAFETY: the caller's.
    unsafe { in_parallel(ctx, body, env, Items { n, cost, even: true }) }
}

unsafe extern "C" fn par_blocks(ctx: *mut CallCtx, body: Chunk, env: *const u64, n: u64, cost: u32) -> u32 {
    // SAFETY: the caller's.
    unsafe { in_parallel(ctx, body, env, Items { n, cost, even: false }) }
}

unsafe fn in_parallel(ctx: *mut CallCtx, body: Chunk, env: *const u64, items: Items) -> u32 {
    let mut status = 0;
    // SAFETY: compiled code passes its context and a loop body with what it captured.
    let failed = unsafe {
        guard(ctx, |call| {
            status = parallel::run(ctx, body, env, items, call.executable.name());
            Ok(())
        })
    };
    status | failed
}

unsafe extern "C" fn launch(
    ctx: *mut CallCtx,
    site: u32,
    sizes: *const u64,
    ndims: u32,
    args: *const u8,
    bytes: u32,
) -> u32 {
    // SAFETY: compiled code passes so many sizes and so many bytes of arguments.
    unsafe {
        guard(ctx, |call| {
            let sizes = std::slice::from_raw_parts(sizes, ndims as usize);
            let args = if bytes == 0 { &[] } else { std::slice::from_raw_parts(args, bytes as usize) };
            call.launch(site, sizes, args)
        })
    }
}

unsafe extern "C" fn need(
    ctx: *mut CallCtx,
    data: u64,
    owner: u64,
    rank: u32,
    shape: *const i64,
    strides: *const i64,
    itemsize: u32,
    place: u32,
    mode: u32,
    out: *mut [u64; 2],
) -> u32 {
    // SAFETY: compiled code passes `rank` sizes and strides and a place for two words.
    unsafe {
        guard(ctx, |call| {
            let list = |list: *const i64| match rank {
                0 => &[][..],
                _ => std::slice::from_raw_parts(list, rank as usize),
            };
            let array = Array { data, owner, shape: list(shape), strides: list(strides), itemsize: itemsize as usize };
            let mode = match mode {
                mode::READ => Mode::Read,
                mode::WRITE_ALL => Mode::WriteAll,
                _ => Mode::Update,
            };
            *out = call.need(&array, place, mode)?;
            Ok(())
        })
    }
}

unsafe extern "C" fn list_new(ctx: *mut CallCtx, words: u64, owners: u64, out: *mut [u64; 2]) -> u32 {
    // SAFETY: compiled code passes its context and a place for two words.
    unsafe {
        guard(ctx, |call| {
            let buffer = list::new_list(words, owners)?;
            *out = call.hand_out(buffer.address(), buffer);
            Ok(())
        })
    }
}

unsafe extern "C" fn list_reserve(ctx: *mut CallCtx, header: *mut ListHeader, items: u64) -> u32 {
    // SAFETY: compiled code passes its context and a list that it holds.
    unsafe { guard(ctx, |_| Ok(list::reserve(header, items)?)) }
}

unsafe extern "C" fn keep(_: *mut CallCtx, owner: u64) {
    // SAFETY: compiled code passes a word that has a count; the one that is added stays with the word.
    std::mem::forget(unsafe { Buffer::from_owner_ref(owner) });
}

unsafe extern "C" fn drop_kept(ctx: *mut CallCtx, owner: u64) {
    // SAFETY: compiled code passes its context, and the memory that held the count forgets it.
    unsafe {
        guard(ctx, |_| {
            drop(Buffer::from_owner(owner));
            Ok(())
        })
    };
}

unsafe extern "C" fn print(ctx: *mut CallCtx, site: u32, values: *const u64, count: u32) -> u32 {
    // SAFETY: compiled code passes its context and so many values.
    unsafe {
        guard(ctx, |call| {
            let values = if count == 0 { &[] } else { std::slice::from_raw_parts(values, count as usize) };
            crate::print::write(&call.executable.text(site, values)).map_err(RuntimeError::Foreign)?;
            Ok(())
        })
    }
}

unsafe extern "C" fn zero(ctx: *mut CallCtx, address: *mut u8, bytes: u64) {
    // SAFETY: compiled code passes its context and memory that it holds.
    unsafe {
        guard(ctx, |call| {
            parallel::zero(ctx, address, bytes, call.executable.name());
            Ok(())
        })
    };
}

unsafe extern "C" fn exhausted(ctx: *mut CallCtx, bytes: u64) -> u32 {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    // SAFETY: routines pass the context that they got.
    unsafe { guard(ctx, |_| Err(pool::host_exhausted("host", bytes).into())) }
}

unsafe extern "C" fn poll(ctx: *mut CallCtx) -> u32 {
    // SAFETY: compiled code and routines pass their context.
    unsafe { guard(ctx, |call| call.poll()) }
}

/// The one table.
pub(crate) static TABLE: RuntimeTable = RuntimeTable {
    version: RuntimeTable::VERSION,
    alloc,
    release,
    par_for,
    par_blocks,
    launch,
    need,
    retain,
    list_new,
    list_reserve,
    keep,
    drop_kept,
    print,
    zero,
    exhausted,
    poll,
};
