//! The traits of a backend: a device makes memory, queues and programs; a program holds kernels.

use std::any::Any;
use std::sync::Arc;

use crate::{DeviceInfo, HalError, Queue, QueueOptions, UsmKind};

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

/// One device. Lives as long as the process; compare two with [`Arc::ptr_eq`].
pub trait Device: Send + Sync {
    /// What it is.
    fn info(&self) -> &DeviceInfo;

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
}
