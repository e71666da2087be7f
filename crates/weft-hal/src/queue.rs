//! Queues and launches, and the checks that every backend makes before it calls its driver.

use std::sync::Arc;
use std::time::Duration;

use crate::{Device, DeviceInfo, Event, HalError, Kernel};

/// How a queue behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueOptions {
    /// Operations run one after the other. An out-of-order queue may still do so.
    pub in_order: bool,
    /// Events carry device times.
    pub profiling: bool,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self { in_order: true, profiling: false }
    }
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// Bytes, handed over as they are.
    Value,
    /// An address of device-accessible memory: eight bytes.
    Pointer,
    /// Local memory of each work-group. It has a size and no bytes: on OpenCL it is a parameter, a pointer to local memory;
    /// CUDA has no such parameters, and the sizes together are those of the kernel's `extern .shared` memory.
    Local,
}

/// One argument inside a packed argument buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgField {
    /// Where it starts.
    pub offset: u32,
    /// How many bytes it has.
    pub size: u32,
    /// What it is.
    pub kind: ArgKind,
}

/// A kernel with its grid and arguments. Index 0 of `groups` and `local` is the fastest dimension: `tid.x` on CUDA,
/// dimension 0 on OpenCL. A grid with a zero in it launches nothing and still orders the queue.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// What to run.
    pub kernel: &'a Arc<dyn Kernel>,
    /// Work-groups along each dimension.
    pub groups: [u32; 3],
    /// Work-items in a work-group along each dimension.
    pub local: [u32; 3],
    /// Argument bytes; read before `launch` returns.
    pub args: &'a [u8],
    /// One entry per kernel parameter, in order.
    pub fields: &'a [ArgField],
}

impl Launch<'_> {
    /// Whether there is no work-group to run.
    pub fn is_empty(&self) -> bool {
        self.groups.contains(&0)
    }

    /// The bytes of one field. Panics if the field is outside `args`, which [`check_launch`] excludes.
    pub(crate) fn bytes(&self, field: &ArgField) -> &[u8] {
        &self.args[field.offset as usize..][..field.size as usize]
    }
}

/// An ordered way into a device. All methods may be called from any thread.
pub trait Queue: Send + Sync {
    /// The device it feeds.
    fn device(&self) -> &Arc<dyn Device>;

    /// How it was made.
    fn options(&self) -> QueueOptions;

    /// Starts a kernel once `waits` are complete.
    ///
    /// # Safety
    /// `fields` describe the kernel's parameters; the kernel is not dropped, and everything it touches stays allocated,
    /// and unwritten by others, until the event is complete.
    unsafe fn launch(&self, launch: &Launch<'_>, waits: &[Event]) -> Result<Event, HalError>;

    /// [`Queue::launch`] for a caller that hardly ever looks at the event. It stands for this launch and, where the queue
    /// is in order, may stand for what comes after it too, up to the moment at which somebody first asks about it: a driver
    /// that wants to be told of an event when it is made is then not told of any. Several launches may have one event.
    ///
    /// # Safety
    /// As for [`Queue::launch`].
    unsafe fn launch_unwatched(&self, launch: &Launch<'_>, waits: &[Event]) -> Result<Event, HalError> {
        // SAFETY: passed on to the caller.
        unsafe { self.launch(launch, waits) }
    }

    /// Whether so much may be pending that the next operation has to wait for room.
    fn may_be_full(&self) -> bool {
        true
    }

    /// The driver's own launch, `count` times over, with nothing of ours between the calls: what benchmarks compare
    /// launches with. `None` where there is no driver.
    ///
    /// # Safety
    /// As for [`Queue::launch`], and everything is waited for before anything else happens.
    unsafe fn launch_bare(&self, launch: &Launch<'_>, count: u32) -> Result<Option<Duration>, HalError> {
        let _ = (launch, count);
        Ok(None)
    }

    /// Copies between host memory and memory of this device, or of others in its context, in any direction, once `waits`
    /// are complete. The ranges do not overlap.
    ///
    /// # Safety
    /// Both ranges are allocated, and stay so and unwritten by others, until the event is complete.
    unsafe fn memcpy(&self, dst: u64, src: u64, bytes: usize, waits: &[Event]) -> Result<Event, HalError>;

    /// Repeats a pattern of 1, 2, 4 or 8 bytes over memory of this device; `bytes` is a multiple of its length and
    /// `dst` is aligned to it.
    ///
    /// # Safety
    /// The range came from this device's `alloc`, and stays allocated, and untouched by others, until the event is
    /// complete.
    unsafe fn fill(&self, dst: u64, pattern: &[u8], bytes: usize, waits: &[Event]) -> Result<Event, HalError>;

    /// Asks for shared memory to be on the device when later operations use it. The content does not change, and a driver
    /// that does not move memory ahead of its use has nothing to do: then this only orders the queue.
    ///
    /// # Safety
    /// The range is shared memory from this device's `alloc`, and stays allocated until the event is complete.
    unsafe fn prefetch(&self, address: u64, bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
        let _ = (address, bytes);
        self.barrier(waits)
    }

    /// An event that is complete when everything submitted before it and all `waits` are. Later operations of the queue
    /// come after it.
    fn barrier(&self, waits: &[Event]) -> Result<Event, HalError>;

    /// Blocks until everything submitted is complete.
    fn wait(&self) -> Result<(), HalError>;
}

/// What every backend checks before a launch: cheap, and enough that a driver never reads outside `args`.
pub(crate) fn check_launch(launch: &Launch<'_>, info: &DeviceInfo) -> Result<(), HalError> {
    let name = launch.kernel.name();
    let invalid = |text: String| Err(HalError::InvalidArgument(format!("kernel `{name}`: {text}")));
    let items: u64 = launch.local.iter().map(|&n| u64::from(n)).product();
    let most = launch.kernel.max_work_group_size();
    if items == 0 || items > u64::from(most) {
        return invalid(format!(
            "work-group {:?} has {items} work-items; it can have 1 to {most} on {}",
            launch.local,
            info.filter_string()
        ));
    }
    for d in 0..3 {
        if launch.local[d] > info.max_work_item_sizes[d] || launch.groups[d] > info.max_groups[d] {
            return invalid(format!(
                "grid {:?} of work-groups {:?} is over the limits of {} ({:?} of {:?})",
                launch.groups,
                launch.local,
                info.filter_string(),
                info.max_groups,
                info.max_work_item_sizes
            ));
        }
    }
    if launch.args.len() > info.max_argument_bytes as usize {
        return invalid(format!(
            "{} bytes of arguments; {} takes {}",
            launch.args.len(),
            info.filter_string(),
            info.max_argument_bytes
        ));
    }
    let mut local = 0;
    for (i, field) in launch.fields.iter().enumerate() {
        if field.kind == ArgKind::Local {
            local += u64::from(field.size);
            continue;
        }
        let end = u64::from(field.offset) + u64::from(field.size);
        if field.size == 0 || end > launch.args.len() as u64 {
            return invalid(format!("argument {i} lies outside the {} argument bytes", launch.args.len()));
        }
        if field.kind == ArgKind::Pointer && field.size != 8 {
            return invalid(format!("argument {i} is a pointer of {} bytes", field.size));
        }
    }
    if local > info.local_mem_bytes {
        return invalid(format!(
            "{local} bytes of local memory; a work-group on {} has {}",
            info.filter_string(),
            info.local_mem_bytes
        ));
    }
    Ok(())
}

/// What every backend checks before a fill.
pub(crate) fn check_fill(dst: u64, pattern: &[u8], bytes: usize) -> Result<(), HalError> {
    let n = pattern.len();
    if !matches!(n, 1 | 2 | 4 | 8) {
        return Err(HalError::InvalidArgument(format!("a fill pattern has 1, 2, 4 or 8 bytes, not {n}")));
    }
    if !bytes.is_multiple_of(n) || !dst.is_multiple_of(n as u64) {
        return Err(HalError::InvalidArgument(format!(
            "a fill of {bytes} bytes at {dst:#x} is not a whole number of aligned {n}-byte patterns"
        )));
    }
    Ok(())
}
