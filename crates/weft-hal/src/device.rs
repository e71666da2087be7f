//! The traits of a backend: a device makes memory, queues and programs; a program holds kernels.

use std::any::Any;
use std::sync::Arc;

use crate::native::pool::Team;
use crate::{DeviceInfo, HalError, Parameter, PartitionKind, Queue, QueueOptions, UsmKind};

/// Code in a form some driver takes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ProgramSource<'a> {
    /// NVIDIA assembly text, with or without a closing NUL. CUDA only.
    Ptx(&'a [u8]),
    /// A SPIR-V module. OpenCL only.
    SpirV(&'a [u8]),
    /// OpenCL C text. OpenCL only.
    OpenClC(&'a str),
}

impl ProgramSource<'_> {
    /// What to call it in a message.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ptx(_) => "PTX",
            Self::SpirV(_) => "SPIR-V",
            Self::OpenClC(_) => "OpenCL C",
        }
    }
}

/// How to cut a device into sub-devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Partition {
    /// As many parts of so many compute units as there are; what is left over stays unused.
    Equally(u32),
    /// One part for each number, of so many compute units.
    ByCounts(Vec<u32>),
    /// Along a border of the hardware: [`PartitionKind::Numa`], a cache, or the next that there is.
    Along(PartitionKind),
}

impl Partition {
    /// The kind of it.
    pub fn kind(&self) -> PartitionKind {
        match self {
            Self::Equally(_) => PartitionKind::Equally,
            Self::ByCounts(_) => PartitionKind::ByCounts,
            Self::Along(kind) => *kind,
        }
    }

    /// In words, after `cannot be divided`.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Equally(n) => format!("into parts of {n} compute units"),
            Self::ByCounts(counts) => format!("into parts of {counts:?} compute units"),
            Self::Along(kind) => format!("by `{kind}`"),
        }
    }

    /// The refusal of a device.
    pub(crate) fn refused(&self, info: &DeviceInfo, offers: impl Into<String>) -> HalError {
        HalError::BadPartition { device: info.filter_string(), asked: self.words(), offers: offers.into() }
    }

    /// Refuses what the device does not offer, and what does not fit its compute units. Equal parts become counts.
    pub(crate) fn check(&self, info: &DeviceInfo) -> Result<Self, HalError> {
        let (units, kinds) = (info.compute_units, &info.details.partitions);
        if !kinds.contains(&self.kind()) {
            let offers = match kinds.is_empty() {
                true => "it offers no partitions at all".to_owned(),
                false => format!("it offers {}", kinds.iter().map(|k| k.offer()).collect::<Vec<_>>().join(", ")),
            };
            return Err(self.refused(info, offers));
        }
        let counts = match self {
            Self::Along(_) => return Ok(self.clone()),
            Self::Equally(0) => return Err(self.refused(info, "a part has at least one")),
            Self::Equally(n) => vec![*n; (units / n) as usize],
            Self::ByCounts(counts) => counts.clone(),
        };
        let total: u64 = counts.iter().map(|&n| u64::from(n)).sum();
        if counts.contains(&0) {
            return Err(self.refused(info, "a part has at least one"));
        }
        if counts.is_empty() || total > u64::from(units) {
            return Err(self.refused(info, format!("it has {units}")));
        }
        Ok(Self::ByCounts(counts))
    }
}

/// One device. Lives as long as the process; compare two with [`Arc::ptr_eq`], or by their filter strings where handles in
/// different contexts ([`Device::among`]) are to be the same. Backends find their own type again through [`Any`].
pub trait Device: Send + Sync + Any {
    /// What it is.
    fn info(&self) -> &DeviceInfo;

    /// Whether it can be used at all: it is not lost, and was not opened before this process was forked. What touches
    /// host-visible memory without the driver asks.
    fn usable(&self) -> Result<(), HalError> {
        Ok(())
    }

    /// Allocates memory and returns its address, aligned to 64 bytes at least. Zero bytes are allowed and give a block
    /// of their own. The bytes are not initialised.
    fn alloc(&self, bytes: usize, kind: UsmKind) -> Result<u64, HalError>;

    /// Gives memory back. Zero is ignored.
    ///
    /// # Safety
    /// `address` came from `alloc` of this device with the same kind, was not freed before, and no submitted operation
    /// that uses it is unfinished.
    unsafe fn free(&self, address: u64, kind: UsmKind) -> Result<(), HalError>;

    /// Makes a queue.
    fn create_queue(&self, options: QueueOptions) -> Result<Arc<dyn Queue>, HalError>;

    /// Hands code to the driver.
    fn load_program(&self, source: ProgramSource<'_>) -> Result<Arc<dyn Program>, HalError>;

    /// Cuts the device into sub-devices, which are devices in every respect and live as long as the process. The same
    /// cut gives the same sub-devices.
    fn partition(&self, how: &Partition) -> Result<Vec<Arc<dyn Device>>, HalError> {
        Err(how.check(self.info()).err().unwrap_or_else(|| how.refused(self.info(), "its backend cannot do that")))
    }

    /// Its sub-devices so far, by number.
    fn sub_devices(&self) -> Vec<Arc<dyn Device>> {
        Vec::new()
    }

    /// The device that it is a part of.
    fn parent(&self) -> Option<Arc<dyn Device>> {
        None
    }

    /// This device in a context with others: another handle on it, whose memory all of `devices` can read, or `None`
    /// where the device itself is that. They are of one backend, and this one is among them. The same list gives the
    /// same handle.
    fn among(&self, devices: &[Arc<dyn Device>]) -> Result<Option<Arc<dyn Device>>, HalError> {
        let _ = devices;
        Ok(None)
    }

    /// The device itself, where this is a handle that [`Device::among`] gave.
    fn itself(&self) -> Option<Arc<dyn Device>> {
        None
    }

    /// The threads of a native sub-device; `None` everywhere else, and for the whole machine.
    fn team(&self) -> Option<&Team> {
        None
    }
}

/// Code that a driver has accepted.
pub trait Program: Send + Sync {
    /// A kernel by name. Kernels keep their program alive.
    fn kernel(&self, name: &str) -> Result<Arc<dyn Kernel>, HalError>;
}

/// One entry point of a program. Backends find their own type again through [`Any`].
pub trait Kernel: Send + Sync + Any {
    /// Its name in the program.
    fn name(&self) -> &str;

    /// Most work-items a work-group of this kernel can have (registers and local memory considered).
    fn max_work_group_size(&self) -> u32;

    /// What it declares to take, in order; `None` where neither the program nor the driver says.
    fn parameters(&self) -> Option<&[Parameter]> {
        None
    }

    /// What the driver says about work-groups of this kernel.
    fn work_groups(&self) -> WorkGroups {
        WorkGroups::default()
    }
}

/// What a driver says about work-groups of a kernel. `None` is what it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkGroups {
    /// Work-groups whose size is a multiple of this run best.
    pub preferred_multiple: Option<u32>,
    /// The only size that the program allows.
    pub required: Option<[u32; 3]>,
    /// Bytes of local memory that a work-group uses.
    pub local_mem_bytes: Option<u64>,
    /// Bytes of private memory that a work-item uses.
    pub private_mem_bytes: Option<u64>,
}
