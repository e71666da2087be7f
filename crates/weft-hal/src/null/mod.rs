//! A device that accepts everything and runs nothing: the least a backend has to do, and a way to measure or test what
//! lies above one. Memory is real host memory, so copies and fills work; launches do nothing. [`faults`] makes it fail
//! as real devices do.

mod faults;

use std::sync::{Arc, OnceLock, Weak};

use crate::{
    BackendKind, BackendReport, Details, Device, DeviceInfo, DeviceType, Event, HalError, Kernel, Launch, Program,
    ProgramSource, Queue, QueueOptions, UsmKind, VectorWidths, host, native, queue,
};

pub use faults::{Fault, Faults, faults};

struct NullDevice {
    info: DeviceInfo,
    this: Weak<NullDevice>,
}

struct NullQueue {
    device: Arc<dyn Device>,
    options: QueueOptions,
}

struct NullProgram;

struct NullKernel(String);

const MAX_WORK_GROUP_SIZE: u32 = 1024;

/// The null device, listed by discovery or not.
pub fn device() -> Arc<dyn Device> {
    static DEVICE: OnceLock<Arc<NullDevice>> = OnceLock::new();
    DEVICE
        .get_or_init(|| {
            let info = DeviceInfo {
                backend: BackendKind::Null,
                device_type: DeviceType::Accelerator,
                name: "null device".to_owned(),
                vendor: "Weft".to_owned(),
                compute_units: 1,
                local_mem_bytes: 1 << 16,
                max_work_group_size: MAX_WORK_GROUP_SIZE,
                max_work_item_sizes: [MAX_WORK_GROUP_SIZE; 3],
                max_argument_bytes: 4096,
                sub_group_sizes: vec![32],
                details: Details {
                    max_sub_groups: Some(MAX_WORK_GROUP_SIZE / 32),
                    preferred_vectors: VectorWidths::scalar(),
                    native_vectors: VectorWidths::scalar(),
                    address_bits: usize::BITS,
                    timer_resolution_ns: Some(1),
                    unified_memory: Some(true),
                    languages: vec!["SPIR-V", "PTX", "OpenCL C"],
                    ..Details::default()
                },
                ..native::describe()
            };
            Arc::new_cyclic(|this| NullDevice { info, this: this.clone() })
        })
        .clone()
}

pub(crate) fn report() -> BackendReport {
    let mut report = BackendReport::new(BackendKind::Null);
    report.found = Some("WEFT_NULL_DEVICE=1".to_owned());
    report
}

impl Device for NullDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn usable(&self) -> Result<(), HalError> {
        faults().alive()
    }

    fn alloc(&self, bytes: usize, _kind: UsmKind) -> Result<u64, HalError> {
        faults().alive()?;
        let memory = if faults().happens(Fault::Allocation) { None } else { host::alloc(bytes) };
        memory.ok_or_else(|| HalError::OutOfMemory {
            device: self.info.filter_string(),
            requested: bytes as u64,
            free: None,
            total: self.info.global_mem_bytes,
        })
    }

    unsafe fn free(&self, address: u64, _kind: UsmKind) -> Result<(), HalError> {
        // SAFETY: the caller vouches that `alloc` made it, and `alloc` uses `host::alloc`.
        unsafe { host::free(address) };
        faults().alive()
    }

    fn create_queue(&self, options: QueueOptions) -> Result<Arc<dyn Queue>, HalError> {
        faults().alive()?;
        // The device is only ever made inside the Arc that `this` points to, and lives in a static.
        let device = self.this.upgrade().expect("the null device lives in a static");
        Ok(Arc::new(NullQueue { device, options }))
    }

    fn load_program(&self, _source: ProgramSource<'_>) -> Result<Arc<dyn Program>, HalError> {
        faults().alive()?;
        Ok(Arc::new(NullProgram))
    }
}

impl Program for NullProgram {
    fn kernel(&self, name: &str) -> Result<Arc<dyn Kernel>, HalError> {
        Ok(Arc::new(NullKernel(name.to_owned())))
    }
}

impl Kernel for NullKernel {
    fn name(&self) -> &str {
        &self.0
    }

    fn max_work_group_size(&self) -> u32 {
        MAX_WORK_GROUP_SIZE
    }
}

impl Queue for NullQueue {
    fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    fn options(&self) -> QueueOptions {
        self.options
    }

    unsafe fn launch(&self, launch: &Launch<'_>, waits: &[Event]) -> Result<Event, HalError> {
        faults().alive()?;
        queue::check_launch(launch, self.device.info())?;
        faults().launch(launch.kernel.name())?;
        host::inline(self.options, waits, || ())
    }

    unsafe fn memcpy(&self, dst: u64, src: u64, bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
        faults().alive()?;
        if faults().happens(Fault::Copy) {
            return Err(faults::driver("memcpy"));
        }
        // SAFETY: passed on to the caller.
        unsafe { host::memcpy(self.options, dst, src, bytes, waits) }
    }

    unsafe fn fill(&self, dst: u64, pattern: &[u8], bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
        faults().alive()?;
        // SAFETY: passed on to the caller.
        unsafe { host::fill(self.options, dst, pattern, bytes, waits) }
    }

    fn barrier(&self, waits: &[Event]) -> Result<Event, HalError> {
        faults().alive()?;
        host::inline(self.options, waits, || ())
    }

    fn wait(&self) -> Result<(), HalError> {
        faults().alive()
    }
}
