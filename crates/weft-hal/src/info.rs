//! What a device is: backend, type, limits, abilities.

use std::fmt;

/// A family of drivers. `level_zero` is a reserved name and has no variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BackendKind {
    /// This machine's cores, through compiled host code and the thread pool. Always there.
    Native,
    /// OpenCL with SPIR-V and unified shared memory.
    OpenCl,
    /// The CUDA driver API.
    Cuda,
    /// Accepts everything, runs nothing. Present only with `WEFT_NULL_DEVICE=1`.
    Null,
}

impl BackendKind {
    /// All backends, in the order in which discovery lists their devices.
    pub const ALL: [Self; 4] = [Self::Native, Self::Cuda, Self::OpenCl, Self::Null];

    /// The name used in filter strings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::OpenCl => "opencl",
            Self::Cuda => "cuda",
            Self::Null => "null",
        }
    }
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What kind of processor a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeviceType {
    /// A host processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// Anything else.
    Accelerator,
}

impl DeviceType {
    /// All types.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Gpu, Self::Accelerator];

    /// The name used in filter strings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Accelerator => "accelerator",
        }
    }
}

impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Kind of unified shared memory: who owns the pages and who may touch them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UsmKind {
    /// On the device; the host reaches it by copies only.
    Device,
    /// Moves between host and device; both may touch it.
    Shared,
    /// On the host; the device reaches it over the bus.
    Host,
}

impl UsmKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Device, Self::Shared, Self::Host];

    /// The name used in messages and in Python (`usm_type`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Shared => "shared",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for UsmKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Everything that is known about a device before it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Backend that drives it.
    pub backend: BackendKind,
    /// Kind of processor.
    pub device_type: DeviceType,
    /// Position among the devices of the same backend *and* type, in the driver's order.
    pub index: u32,
    /// Name, in the driver's words.
    pub name: String,
    /// Vendor, in the driver's words.
    pub vendor: String,
    /// Driver version, in the driver's words.
    pub driver_version: String,
    /// Bytes of global memory.
    pub global_mem_bytes: u64,
    /// Largest single allocation in bytes.
    pub max_alloc_bytes: u64,
    /// Bytes of local (work-group) memory.
    pub local_mem_bytes: u64,
    /// Cores or multiprocessors.
    pub compute_units: u32,
    /// Most work-items in a work-group.
    pub max_work_group_size: u32,
    /// Most work-items in a work-group along each dimension; index 0 is the fastest.
    pub max_work_item_sizes: [u32; 3],
    /// Most work-groups along each dimension; index 0 is the fastest.
    pub max_groups: [u32; 3],
    /// Most bytes of kernel arguments.
    pub max_argument_bytes: u32,
    /// Sub-group (warp) sizes a kernel can have.
    pub sub_group_sizes: Vec<u32>,
    /// Arithmetic on 16-bit floats.
    pub fp16: bool,
    /// Arithmetic on 64-bit floats.
    pub fp64: bool,
    /// Atomics on 64-bit integers.
    pub atomics64: bool,
    /// Kinds of memory it can allocate.
    pub usm: Vec<UsmKind>,
    /// Code generation target: `sm_90` on CUDA, empty elsewhere.
    pub arch: String,
    /// For a sub-device its number below its parent, after those of the parents above; empty for a whole device.
    pub sub: Vec<u32>,
    /// What is good to know and decides nothing.
    pub details: Details,
}

/// What is good to know about a device and decides nothing here. `None`, zero or empty where the driver does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// PCI vendor id, or what the driver has for it.
    pub vendor_id: Option<u32>,
    /// Version of the interface that the driver implements: `OpenCL 3.0`, `CUDA 12.8`.
    pub version: Option<String>,
    /// Sizes in bytes of the first to third level data cache: of one core, of one core, of one die.
    pub cache_bytes: [Option<u64>; 3],
    /// Bytes of a line of the cache before global memory.
    pub cache_line_bytes: Option<u32>,
    /// Highest clock in MHz.
    pub max_clock_mhz: Option<u32>,
    /// Most sub-groups in a work-group.
    pub max_sub_groups: Option<u32>,
    /// Vectors that code should use, in elements.
    pub preferred_vectors: VectorWidths,
    /// Vectors that the hardware has, in elements.
    pub native_vectors: VectorWidths,
    /// Bits of an address.
    pub address_bits: u32,
    /// Nanoseconds between two ticks of the clock that events are measured with.
    pub timer_resolution_ns: Option<u64>,
    /// Bytes of constant memory in one allocation.
    pub constant_bytes: Option<u64>,
    /// Whether the host and the device have the same memory.
    pub unified_memory: Option<bool>,
    /// Whether memory errors are corrected.
    pub error_correction: Option<bool>,
    /// Domain, bus, device, function.
    pub pci: Option<[u32; 4]>,
    /// Sixteen bytes that name the device in every process.
    pub uuid: Option<[u8; 16]>,
    /// What the driver can read: `OpenCL C`, `SPIR-V`, `PTX`.
    pub languages: Vec<&'static str>,
    /// Most sub-devices at once; zero where it cannot be cut.
    pub max_sub_devices: u32,
    /// Ways in which it can be cut.
    pub partitions: Vec<PartitionKind>,
    /// Extensions, in the driver's words.
    pub extensions: Vec<String>,
}

/// Elements in a vector of each type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VectorWidths {
    /// 8-bit integers.
    pub char: u32,
    /// 16-bit integers.
    pub short: u32,
    /// 32-bit integers.
    pub int: u32,
    /// 64-bit integers.
    pub long: u32,
    /// 16-bit floats; zero where there are none.
    pub half: u32,
    /// 32-bit floats.
    pub float: u32,
    /// 64-bit floats; zero where there are none.
    pub double: u32,
}

impl VectorWidths {
    /// Registers of so many bytes.
    pub(crate) fn of_bytes(n: u32) -> Self {
        Self { char: n, short: n / 2, int: n / 4, long: n / 8, half: n / 2, float: n / 4, double: n / 8 }
    }

    /// One element of every type.
    pub(crate) fn scalar() -> Self {
        Self { char: 1, short: 1, int: 1, long: 1, half: 1, float: 1, double: 1 }
    }
}

/// A way to cut a device into sub-devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartitionKind {
    /// Parts of the same number of compute units.
    Equally,
    /// Parts of given numbers of compute units.
    ByCounts,
    /// One part for each NUMA node.
    Numa,
    /// One part for each second-level cache.
    L2Cache,
    /// One part for each third-level cache.
    L3Cache,
    /// Along the outermost border there is.
    NextPartitionable,
}

impl PartitionKind {
    /// How it is asked for: a number, a list of numbers, a name.
    pub(crate) fn offer(self) -> &'static str {
        match self {
            Self::Equally => "partition=n",
            Self::ByCounts => "partition=[n, m]",
            named => named.name(),
        }
    }

    /// Its name; `create_sub_devices(partition=…)` takes those of borders.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equally => "equally",
            Self::ByCounts => "by_counts",
            Self::Numa => "numa",
            Self::L2Cache => "L2_cache",
            Self::L3Cache => "L3_cache",
            Self::NextPartitionable => "next_partitionable",
        }
    }
}

impl fmt::Display for PartitionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl DeviceInfo {
    /// The one string that names this device: `cuda:gpu:0`; `native:cpu:0.1` for a sub-device.
    pub fn filter_string(&self) -> String {
        let mut text = format!("{}:{}:{}", self.backend, self.device_type, self.index);
        for part in &self.sub {
            text.push('.');
            text.push_str(&part.to_string());
        }
        text
    }

    /// How good a default it is: GPUs before the host's cores, those before other drivers' view of the same cores.
    pub fn score(&self) -> i32 {
        let of_type = match self.device_type {
            DeviceType::Gpu => 500,
            DeviceType::Cpu => 300,
            DeviceType::Accelerator => 75,
        };
        match self.backend {
            BackendKind::Null => -1,
            BackendKind::Native | BackendKind::Cuda => of_type + 50,
            BackendKind::OpenCl => of_type,
        }
    }

    /// Whether host code may dereference an address of that kind.
    pub fn host_visible(&self, kind: UsmKind) -> bool {
        match self.backend {
            BackendKind::Native | BackendKind::Null => true,
            BackendKind::OpenCl | BackendKind::Cuda => kind != UsmKind::Device,
        }
    }
}
