//! This machine's cores. Memory of every kind is host memory, copies and fills happen before the call returns, and
//! there is nothing to launch: compiled host code is called directly and spreads its work with [`pool`].

mod apart;
mod futex;
pub mod pool;
mod region;

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::{
    BackendKind, BackendReport, Details, Device, DeviceInfo, DeviceType, Event, HalError, Launch, Partition,
    PartitionKind, Program, ProgramSource, Queue, QueueOptions, UsmKind, VectorWidths, host, settings, topology,
};

struct NativeDevice {
    info: DeviceInfo,
    /// The threads of a sub-device.
    team: Option<pool::Team>,
    parent: Option<Arc<NativeDevice>>,
    /// Sub-devices by number: each set of cores once.
    parts: Mutex<Vec<Arc<NativeDevice>>>,
    this: Weak<NativeDevice>,
}

struct NativeQueue {
    device: Arc<dyn Device>,
    options: QueueOptions,
}

/// The one native device. Looks for no driver.
pub fn device() -> Arc<dyn Device> {
    static DEVICE: OnceLock<Arc<NativeDevice>> = OnceLock::new();
    DEVICE.get_or_init(|| NativeDevice::new(describe(), None, None)).clone()
}

impl NativeDevice {
    fn new(info: DeviceInfo, team: Option<pool::Team>, parent: Option<Arc<NativeDevice>>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self { info, team, parent, parts: Mutex::default(), this: this.clone() })
    }

    fn this(&self) -> Arc<Self> {
        // A device is only ever made inside the Arc that `this` points to, and lives in a static or in its parent.
        self.this.upgrade().expect("native devices live as long as the process")
    }

    fn cores(&self) -> Vec<usize> {
        self.team.as_ref().map_or_else(topology::cores, |team| team.cores().to_vec())
    }

    /// The sub-device on some cores.
    fn part(&self, cores: Vec<usize>) -> Arc<NativeDevice> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |part: &&Arc<NativeDevice>| part.team.as_ref().is_some_and(|team| team.cores() == cores);
        if let Some(part) = parts.iter().find(same) {
            return part.clone();
        }
        let mut info = self.info.clone();
        info.sub.push(parts.len() as u32);
        info.compute_units = cores.len() as u32;
        info.details.max_sub_devices = info.compute_units;
        let path: Vec<String> = info.sub.iter().map(u32::to_string).collect();
        let team = pool::Team::new(format!("weft.{}", path.join(".")), cores);
        let part = NativeDevice::new(info, Some(team), Some(self.this()));
        parts.push(part.clone());
        part
    }
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
        sub: Vec::new(),
        details: details(&field(&["flags", "Features"]).unwrap_or_default(), field(&["cpu MHz"])),
    }
}

/// What `/proc/cpuinfo` and sysfs know beyond the name.
fn details(flags: &str, mhz: Option<String>) -> Details {
    let has = |flag: &str| flags.split_whitespace().any(|f| f == flag);
    let bytes = match () {
        () if has("avx512f") => 64,
        () if has("avx2") || has("avx") => 32,
        () => 16,
    };
    let caches = topology::caches(topology::cores()[0]);
    let level = |n: u32| caches.iter().find(|c| c.level == n).map(|c| c.bytes);
    let current = mhz.and_then(|text| text.parse::<f64>().ok()).map(|mhz| mhz as u32);
    let vectors = VectorWidths::of_bytes(bytes);
    Details {
        cache_bytes: [level(1), level(2), level(3)],
        cache_line_bytes: caches.first().map(|c| c.line).filter(|&n| n > 0),
        max_clock_mhz: topology::max_clock().or(current),
        max_sub_groups: Some(8192),
        preferred_vectors: vectors,
        native_vectors: vectors,
        address_bits: usize::BITS,
        timer_resolution_ns: Some(1),
        unified_memory: Some(true),
        max_sub_devices: pool::available() as u32,
        partitions: vec![
            PartitionKind::Equally,
            PartitionKind::ByCounts,
            PartitionKind::Numa,
            PartitionKind::L3Cache,
            PartitionKind::L2Cache,
            PartitionKind::NextPartitionable,
        ],
        ..Details::default()
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
        Ok(Arc::new(NativeQueue { device: self.this(), options }))
    }

    fn load_program(&self, source: ProgramSource<'_>) -> Result<Arc<dyn Program>, HalError> {
        Err(HalError::Unsupported(format!(
            "{} takes no {}: host code is compiled and called directly",
            self.info.filter_string(),
            source.kind()
        )))
    }

    fn partition(&self, how: &Partition) -> Result<Vec<Arc<dyn Device>>, HalError> {
        let how = how.check(&self.info)?;
        let cores = self.cores();
        let along = |kind: PartitionKind| match kind {
            PartitionKind::Numa => topology::by_node(&cores),
            PartitionKind::L3Cache => topology::by_cache(&cores, 3),
            _ => topology::by_cache(&cores, 2),
        };
        let parts = match &how {
            Partition::Along(PartitionKind::NextPartitionable) => {
                let borders = [PartitionKind::Numa, PartitionKind::L3Cache, PartitionKind::L2Cache];
                let found = borders.into_iter().map(along).find(|parts| parts.len() > 1);
                found.ok_or_else(|| {
                    let (n, s) = (cores.len(), if cores.len() == 1 { "" } else { "s" });
                    how.refused(&self.info, format!("its {n} core{s} share all caches and one NUMA node"))
                })?
            }
            Partition::Along(kind) => along(*kind),
            // `check` has made equal parts counts, and has seen that they fit.
            Partition::ByCounts(counts) => {
                let mut left = cores.iter().copied();
                counts.iter().map(|&n| left.by_ref().take(n as usize).collect()).collect()
            }
            Partition::Equally(n) => cores.chunks_exact(*n as usize).map(<[usize]>::to_vec).collect(),
        };
        Ok(parts.into_iter().map(|cores| self.part(cores) as Arc<dyn Device>).collect())
    }

    fn sub_devices(&self) -> Vec<Arc<dyn Device>> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.iter().map(|part| part.clone() as Arc<dyn Device>).collect()
    }

    fn parent(&self) -> Option<Arc<dyn Device>> {
        self.parent.clone().map(|parent| parent as Arc<dyn Device>)
    }

    fn team(&self) -> Option<&pool::Team> {
        self.team.as_ref()
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
            "kernel `{}` cannot be launched on a queue of {}: host code is compiled and called directly",
            launch.kernel.name(),
            self.device.info().filter_string()
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
        host::inline(self.options, waits, || ())
    }

    fn wait(&self) -> Result<(), HalError> {
        Ok(())
    }
}
