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
}

impl DeviceInfo {
    /// The one string that names this device: `cuda:gpu:0`.
    pub fn filter_string(&self) -> String {
        format!("{}:{}:{}", self.backend, self.device_type, self.index)
    }

    /// Whether host code may dereference an address of that kind.
    pub fn host_visible(&self, kind: UsmKind) -> bool {
        match self.backend {
            BackendKind::Native | BackendKind::Null => true,
            BackendKind::OpenCl | BackendKind::Cuda => kind != UsmKind::Device,
        }
    }
}
