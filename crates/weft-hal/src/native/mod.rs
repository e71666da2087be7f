//! This machine's cores. Memory of every kind is host memory, copies and fills happen before the call returns, and
//! there is nothing to launch: compiled host code is called directly and spreads its work with [`pool`].

mod futex;
pub mod pool;
mod region;

use std::sync::{Arc, OnceLock, Weak};

use crate::{
    BackendKind, BackendReport, Device, DeviceInfo, DeviceType, Event, HalError, Launch, Program, ProgramSource, Queue,
    QueueOptions, UsmKind, event, host, settings,
};

struct NativeDevice {
    info: DeviceInfo,
    this: Weak<NativeDevice>,
}

struct NativeQueue {
    device: Arc<dyn Device>,
    options: QueueOptions,
}

/// The one native device. Looks for no driver.
pub fn device() -> Arc<dyn Device> {
    static DEVICE: OnceLock<Arc<NativeDevice>> = OnceLock::new();
    DEVICE.get_or_init(|| Arc::new_cyclic(|this| NativeDevice { info: describe(), this: this.clone() })).clone()
}

pub(crate) fn report() -> BackendReport {
    let mut report = BackendReport::new(BackendKind::Native);
    report.found = Some(format!("{} threads", pool::num_threads()));
    report.notes.extend(settings::num_threads().err());
    report
}

pub(crate) fn describe() -> DeviceInfo {
    let total = host::total_memory();
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |names: &[&str]| {
        let mut lines = cpu.lines().filter_map(|line| line.split_once(':'));
        let value = lines.find(|(key, _)| names.contains(&key.trim()));
        value.map(|(_, value)| value.trim().to_owned()).filter(|v| !v.is_empty())
    };
    DeviceInfo {
        backend: BackendKind::Native,
        device_type: DeviceType::Cpu,
        index: 0,
        name: field(&["model name", "Model", "cpu model"])
            .unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH)),
        vendor: field(&["vendor_id", "CPU implementer"]).unwrap_or_else(|| "unknown".to_owned()),
        driver_version: env!("CARGO_PKG_VERSION").to_owned(),
        global_mem_bytes: total,
        max_alloc_bytes: total,
        local_mem_bytes: 0,
        compute_units: pool::available() as u32,
        // Work-groups are loops in compiled host code; these are limits on what the code generator lays out.
        max_work_group_size: 8192,
        max_work_item_sizes: [8192; 3],
        max_groups: [u32::MAX; 3],
        max_argument_bytes: u32::MAX,
        sub_group_sizes: vec![1],
        fp16: true,
        fp64: true,
        atomics64: true,
        usm: UsmKind::ALL.to_vec(),
        arch: String::new(),
    }
}

impl Device for NativeDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn alloc(&self, bytes: usize, _kind: UsmKind) -> Result<u64, HalError> {
        host::alloc(bytes).ok_or_else(|| HalError::OutOfMemory {
            device: self.info.filter_string(),
            requested: bytes as u64,
            free: None,
            total: self.info.global_mem_bytes,
        })
    }

    unsafe fn free(&self, address: u64, _kind: UsmKind) -> Result<(), HalError> {
        // SAFETY: the caller vouches that `alloc` made it, and `alloc` uses `host::alloc`.
        unsafe { host::free(address) };
        Ok(())
    }

    fn create_queue(&self, options: QueueOptions) -> Result<Arc<dyn Queue>, HalError> {
        // The device is only ever made inside the Arc that `this` points to, and lives in a static.
        let device = self.this.upgrade().expect("the native device lives in a static");
        Ok(Arc::new(NativeQueue { device, options }))
    }

    fn load_program(&self, source: ProgramSource<'_>) -> Result<Arc<dyn Program>, HalError> {
        Err(HalError::Unsupported(format!(
            "native:cpu:0 takes no {}: host code is compiled and called directly",
            source.kind()
        )))
    }
}

impl Queue for NativeQueue {
    fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    fn options(&self) -> QueueOptions {
        self.options
    }

    unsafe fn launch(&self, launch: &Launch<'_>, _waits: &[Event]) -> Result<Event, HalError> {
        Err(HalError::Unsupported(format!(
            "kernel `{}` cannot be launched on a queue of native:cpu:0: host code is compiled and called directly",
            launch.kernel.name()
        )))
    }

    unsafe fn memcpy(&self, dst: u64, src: u64, bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
        // SAFETY: passed on to the caller.
        unsafe { host::memcpy(self.options, dst, src, bytes, waits) }
    }

    unsafe fn fill(&self, dst: u64, pattern: &[u8], bytes: usize, waits: &[Event]) -> Result<Event, HalError> {
        // SAFETY: passed on to the caller.
        unsafe { host::fill(self.options, dst, pattern, bytes, waits) }
    }

    fn barrier(&self, waits: &[Event]) -> Result<Event, HalError> {
        event::wait_all(waits)?;
        Ok(Event::ready())
    }

    fn wait(&self) -> Result<(), HalError> {
        Ok(())
    }
}
