//! Launches: from the sizes of an index space to work-groups, and from the error buffer of a kernel to an exception.

use std::sync::Arc;

use smallvec::SmallVec;
use weft_hal::{ArgField, ArgKind, DeviceInfo, Event, HalError, Kernel, Launch, UsmKind};

use crate::buffer::Buffer;
use crate::error::RuntimeError;
use crate::interrupt;
use crate::queue::Queue;
use crate::trace::{self, Item, Kind, Location};
use weft_codegen::abi::{ExcRecord, device_error};

/// Work-items of a work-group, before the kernel's and the device's limits.
const GROUP: u32 = 256;

/// A kernel of an executable.
pub(crate) struct LoadedKernel {
    pub(crate) kernel: Arc<dyn Kernel>,
    pub(crate) name: String,
    /// One entry per parameter; the last one is the error buffer if the kernel may raise.
    pub(crate) fields: Vec<ArgField>,
    pub(crate) may_raise: bool,
    /// Items along x that a work-item takes at a time.
    pub(crate) items_per_thread: u32,
    /// Work-items of a work-group, where the kernel says so: its index space is one of groups.
    pub(crate) group: u32,
    pub(crate) span: Option<Location>,
}

impl LoadedKernel {
    /// The addresses among packed arguments.
    pub(crate) fn pointers<'a>(&'a self, args: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
        let fields = self.fields.iter().filter(|f| f.kind == ArgKind::Pointer);
        fields.filter_map(|f| Some(u64::from_ne_bytes(args.get(f.offset as usize..)?.get(..8)?.try_into().ok()?)))
    }
}

/// Work-groups and work-items along each dimension, index 0 the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) groups: [u32; 3],
    pub(crate) local: [u32; 3],
}

/// Covers a row-major index space with work-groups: the last size is x, the one before it y, all others together z.
/// Kernels stride by the grid, so a device that takes fewer groups gets fewer. `None` when there is nothing to do.
///
/// The grid covers the space in one pass: a smaller one whose work-items go round was slower on a GPU by 5 to 20%.
pub(crate) fn grid(sizes: &[u64], per_thread: u32, max_group: u32, info: &DeviceInfo) -> Option<Grid> {
    if sizes.contains(&0) {
        return None;
    }
    let mut size = [1_u64; 3];
    for (d, &n) in sizes.iter().rev().enumerate() {
        size[d.min(2)] = size[d.min(2)].saturating_mul(n);
    }
    if per_thread > 1 {
        size[0] = size[0].div_ceil(per_thread.into());
    }
    // x takes what it can use; only narrow spaces leave work-items to y and z.
    let mut left = GROUP.min(max_group).min(info.max_work_group_size).max(1);
    let (mut groups, mut local) = ([1; 3], [1; 3]);
    for d in 0..3 {
        // Divisions are slow, and most spaces have fewer dimensions.
        if size[d] == 1 {
            continue;
        }
        let most = left.min(info.max_work_item_sizes[d]).max(1);
        local[d] = u64::from(most).min(size[d].next_power_of_two()) as u32;
        left /= local[d];
        let whole = size[d].div_ceil(u64::from(local[d]));
        groups[d] = whole.min(u64::from(info.max_groups[d])).max(1) as u32;
    }
    Some(Grid { groups, local })
}

/// What became of a launch.
pub(crate) enum Outcome {
    /// There was no item, so nothing ran.
    Nothing,
    /// It was submitted; if it may raise, it is complete and did not.
    Launched(Event),
    /// It is complete, and an item raised.
    Raised(Event, ExcRecord),
}

/// Work-groups of a given size, which covers the index space or sticks out of it: kernels look where the space ends.
pub(crate) fn grid_of(sizes: &[u64], local: &[u64], per_thread: u32, info: &DeviceInfo) -> Option<Grid> {
    if sizes.contains(&0) {
        return None;
    }
    let mut grid = Grid { groups: [1; 3], local: [1; 3] };
    for (d, (&n, &wanted)) in sizes.iter().zip(local).rev().enumerate().take(3) {
        let n = if d == 0 { n.div_ceil(per_thread.max(1).into()) } else { n };
        // A number that no driver takes stays one: the check of the launch says what it does take.
        grid.local[d] = u32::try_from(wanted).unwrap_or(u32::MAX);
        grid.groups[d] = n.div_ceil(wanted.max(1)).min(u64::from(info.max_groups[d])).max(1) as u32;
    }
    Some(grid)
}

/// So many groups of `items` work-items, in one row. Kernels stride by the grid, so a device that takes fewer groups gets fewer.
fn groups(sizes: &[u64], items: u32, info: &DeviceInfo) -> Option<Grid> {
    let all = sizes.iter().fold(1_u64, |all, &n| all.saturating_mul(n));
    let count = all.min(u64::from(info.max_groups[0])) as u32;
    (count > 0).then_some(Grid { groups: [count, 1, 1], local: [items, 1, 1] })
}

/// Launches a kernel over `sizes`, in work-groups of `local` work-items where that is not empty. A kernel that may raise
/// is waited for.
///
/// # Safety
/// `args` are the kernel's, and every address among them is alive and in the order of the queue.
pub(crate) unsafe fn launch(
    queue: &Arc<Queue>,
    kernel: &LoadedKernel,
    sizes: &[u64],
    local: &[u64],
    args: &[u8],
) -> Result<Outcome, RuntimeError> {
    let (info, per_thread) = (queue.info(), kernel.items_per_thread);
    let grid = match local.len() == sizes.len() && !local.is_empty() {
        _ if kernel.group > 0 => groups(sizes, kernel.group, info),
        true => grid_of(sizes, local, per_thread, info),
        false => grid(sizes, per_thread, kernel.kernel.max_work_group_size(), info),
    };
    let Some(grid) = grid else { return Ok(Outcome::Nothing) };
    let watch = trace::stopwatch();
    let mut raised = None;
    let event = if kernel.may_raise {
        let mut args: SmallVec<[u8; 256]> = args.into();
        let errors = ErrorBuffer::new(queue)?;
        let slot = kernel.fields.last().and_then(|f| args.get_mut(f.offset as usize..)?.get_mut(..8));
        let slot = slot.ok_or_else(|| RuntimeError::Internal(format!("kernel {} has no error buffer", kernel.name)))?;
        slot.copy_from_slice(&errors.0.address().to_ne_bytes());
        // SAFETY: passed on to the caller; the error buffer outlives the wait.
        let event = unsafe { submit(queue, kernel, grid, &args) }?;
        interrupt::wait(&event)?;
        queue.wait()?;
        raised = errors.raised();
        event
    } else {
        // SAFETY: passed on to the caller.
        unsafe { submit(queue, kernel, grid, args) }?
    };
    watch.record(Kind::Launch, || Item { span: kernel.span.clone(), ..trace::item(&*kernel.name, queue.filter(), 0) });
    Ok(match raised {
        None => Outcome::Launched(event),
        Some(exc) => Outcome::Raised(event, exc),
    })
}

/// # Safety
/// As for [`launch`].
unsafe fn submit(queue: &Queue, kernel: &LoadedKernel, grid: Grid, args: &[u8]) -> Result<Event, HalError> {
    let launch =
        Launch { kernel: &kernel.kernel, groups: grid.groups, local: grid.local, args, fields: &kernel.fields };
    // SAFETY: passed on to the caller.
    queue.submit(&[], |q, waits| unsafe { q.launch_unwatched(&launch, waits) })
}

/// Memory that a kernel that may raise and the host both see.
struct ErrorBuffer(Arc<Buffer>);

impl ErrorBuffer {
    fn new(queue: &Arc<Queue>) -> Result<ErrorBuffer, HalError> {
        let usm = &queue.info().usm;
        let kind = [UsmKind::Host, UsmKind::Shared].into_iter().find(|kind| usm.contains(kind));
        let kind = kind.ok_or_else(|| {
            HalError::Unsupported(format!(
                "{queue} has no memory that host and device both see, to report exceptions by"
            ))
        })?;
        let buffer = Buffer::alloc(Some(queue), device_error::WORDS * 8, kind)?;
        // By the queue, not by the host: the memory's last user may still be at work there.
        buffer.fill(&device_error::NONE.to_ne_bytes())?;
        Ok(ErrorBuffer(buffer))
    }

    /// What was raised, once the kernel is complete.
    fn raised(&self) -> Option<ExcRecord> {
        let mut words = [0; device_error::WORDS];
        for (i, word) in words.iter_mut().enumerate() {
            // SAFETY: host-visible, and the kernel that wrote it is complete.
            *word = unsafe { (self.0.address() as *const u64).add(i).read_volatile() };
        }
        let key = words[0];
        if key == device_error::NONE {
            return None;
        }
        let mut exc = ExcRecord {
            site: device_error::site(key),
            iteration: device_error::item(key) as i64,
            ..ExcRecord::default()
        };
        // Another work-item may have been the last to store its values; then the message goes without.
        if words[device_error::KEY_OF_ARGS] == key {
            let values = &words[device_error::FIRST_ARG..];
            exc.nargs = values.len() as u32;
            exc.args[..values.len()].copy_from_slice(values);
        }
        Some(exc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sizes: &[u64]) -> ([u32; 3], [u32; 3]) {
        let grid = grid(sizes, 1, 1024, weft_hal::null::device().info()).unwrap();
        (grid.groups, grid.local)
    }

    #[test]
    fn the_last_size_is_the_fastest_dimension() {
        assert_eq!(of(&[1000]), ([4, 1, 1], [256, 1, 1]));
        assert_eq!(of(&[7, 1000]), ([4, 7, 1], [256, 1, 1]));
        assert_eq!(of(&[1000, 7]), ([1, 32, 1], [8, 32, 1]));
        assert_eq!(of(&[5, 6, 7]), ([1, 1, 2], [8, 8, 4]));
        assert_eq!(of(&[2, 3, 4, 1024]), ([4, 4, 6], [256, 1, 1]));
        assert_eq!(of(&[]), ([1, 1, 1], [1, 1, 1]));
    }

    #[test]
    fn work_items_that_take_several_items_are_fewer() {
        let of = |sizes: &[u64]| grid(sizes, 4, 256, weft_hal::null::device().info()).unwrap();
        assert_eq!((of(&[4096]).groups, of(&[4096]).local), ([4, 1, 1], [256, 1, 1]));
        assert_eq!((of(&[4097]).groups, of(&[4097]).local), ([5, 1, 1], [256, 1, 1]));
        assert_eq!((of(&[5]).groups, of(&[5]).local), ([1, 1, 1], [2, 1, 1]));
    }

    #[test]
    fn groups_of_a_kernel_are_in_one_row() {
        let info = DeviceInfo { max_groups: [1000, 1, 1], ..weft_hal::null::device().info().clone() };
        assert_eq!(groups(&[3, 5], 64, &info), Some(Grid { groups: [15, 1, 1], local: [64, 1, 1] }));
        assert_eq!(groups(&[1 << 40, 1 << 40], 64, &info).unwrap().groups, [1000, 1, 1]);
        assert_eq!(groups(&[3, 0], 64, &info), None);
    }

    // spec: K1
    #[test]
    fn a_given_local_size_is_used_and_may_stick_out() {
        let info = weft_hal::null::device().info().clone();
        let of = |sizes: &[u64], local: &[u64]| grid_of(sizes, local, 1, &info).unwrap();
        assert_eq!(of(&[1000], &[64]), Grid { groups: [16, 1, 1], local: [64, 1, 1] });
        assert_eq!(of(&[40, 25], &[8, 5]), Grid { groups: [5, 5, 1], local: [5, 8, 1] });
        assert_eq!(of(&[3, 5, 7], &[2, 2, 2]), Grid { groups: [4, 3, 2], local: [2, 2, 2] });
        assert_eq!(grid_of(&[0, 5], &[1, 1], 1, &info), None);
    }

    #[test]
    fn grids_keep_to_the_limits_and_empty_spaces_launch_nothing() {
        let info = DeviceInfo { max_groups: [u32::MAX, 65535, 65535], ..weft_hal::null::device().info().clone() };
        assert_eq!(grid(&[3, 0], 1, 256, &info), None);
        assert_eq!(grid(&[1 << 40, 1024], 1, 256, &info).unwrap().groups, [4, 65535, 1]);
        assert_eq!(grid(&[1000], 1, 100, &info).unwrap().local, [100, 1, 1]);
    }
}
