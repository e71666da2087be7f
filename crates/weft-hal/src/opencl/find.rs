//! Which libraries to load, which of their devices to list.
//!
//! In this order: `WEFT_OPENCL_LIB`; the system's loader `libOpenCL.so.1`; `libintelocl.so` in the given folders, which
//! is where pip puts Intel's CPU runtime. That driver exports the OpenCL functions itself and finds its own libraries
//! next to it, so it needs neither a loader nor an `.icd` file. It is left alone once an earlier library has given us a
//! CPU: two copies of it in one process, or one device listed twice, help nobody.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::api::{self, Api, ClDevice, ClPlatform, Usm};
use super::device::{Driver, OpenClDevice};
use crate::{
    BackendKind, BackendReport, Details, Device, DeviceInfo, DeviceType, PartitionKind, UsmKind, VectorWidths, dl,
    settings,
};

const LOADER: &str = "libOpenCL.so.1";
const INTEL_CPU: &str = "libintelocl.so";
const USM: &str = "cl_intel_unified_shared_memory";
const HELP: &str = "no OpenCL device with SPIR-V and unified shared memory was found; \
                    `pip install intel-opencl-rt intel-cmplr-lib-rt` makes this machine's processor one";

/// Devices and the report on them.
pub(crate) fn discover(dirs: &[PathBuf]) -> (Vec<Arc<dyn Device>>, BackendReport) {
    let mut search = Search { devices: Vec::new(), report: BackendReport::new(BackendKind::OpenCl) };
    if let Some(library) = settings::opencl_library() {
        search.library(Path::new(&library));
    }
    search.library(Path::new(LOADER));
    for dir in dirs {
        let path = dir.join(INTEL_CPU);
        if search.has(DeviceType::Cpu) {
            search.report.looked_for.push(format!("{} (not needed)", path.display()));
        } else if path.exists() {
            search.library(&path);
        } else {
            search.report.looked_for.push(format!("{} (not there)", path.display()));
        }
    }
    if search.devices.is_empty() {
        search.report.problem = Some(HELP.to_owned());
    }
    (search.devices.into_iter().map(|d| d as Arc<dyn Device>).collect(), search.report)
}

struct Search {
    devices: Vec<Arc<OpenClDevice>>,
    report: BackendReport,
}

impl Search {
    fn has(&self, device_type: DeviceType) -> bool {
        self.devices.iter().any(|d| d.info().device_type == device_type)
    }

    /// Looks at one library.
    fn library(&mut self, path: &Path) {
        let line = match self.platforms(path) {
            Ok(()) => path.display().to_string(),
            Err(problem) => format!("{} ({problem})", path.display()),
        };
        self.report.looked_for.push(line);
    }

    fn platforms(&mut self, path: &Path) -> Result<(), String> {
        let library = dl::open(path)?;
        // SAFETY: a library that exports these names is an OpenCL loader or driver.
        let api = unsafe { Api::find(|name| dl::address(library, name)) }
            .map_err(|missing| format!("it has no {missing}: OpenCL 2.1 or later is needed"))?;
        let api: &'static Api = Box::leak(Box::new(api));
        let platforms = list(ClPlatform(std::ptr::null_mut()), |n, out, count| {
            // SAFETY: `out` has room for `n`.
            unsafe { (api.clGetPlatformIDs)(n, out, count) }
        })?;
        let mut found = Vec::new();
        for platform in platforms {
            let name = platform_text(api, platform, api::PLATFORM_NAME);
            let before = self.devices.len();
            if self.devices.iter().any(|d| d.driver().platform_name == name) {
                self.report.notes.push(format!("{name} of {} is listed already", path.display()));
                continue;
            }
            match self.platform(api, platform, &name) {
                Ok(()) if self.devices.len() > before => {
                    found.push(format!("{name} ({})", platform_text(api, platform, api::PLATFORM_VERSION)));
                }
                Ok(()) => {}
                Err(problem) => self.report.notes.push(format!("{name}: {problem}")),
            }
        }
        if !found.is_empty() {
            let found = format!("{}: {}", path.display(), found.join(", "));
            self.report.found = Some(self.report.found.take().map_or(found.clone(), |old| format!("{old}; {found}")));
        }
        Ok(())
    }

    fn platform(&mut self, api: &'static Api, platform: ClPlatform, name: &str) -> Result<(), String> {
        let ids = list(ClDevice(std::ptr::null_mut()), |n, out, count| {
            // SAFETY: `out` has room for `n`.
            unsafe { (api.clGetDeviceIDs)(platform, api::DEVICE_TYPE_ALL, n, out, count) }
        })?;
        // SAFETY: the extension's functions have these types wherever they are found.
        let usm = unsafe { Usm::find(|name| (api.clGetExtensionFunctionAddressForPlatform)(platform, name.as_ptr())) };
        let usm = usm.map_err(|_| format!("no {USM}"))?;
        let driver = Box::leak(Box::new(Driver { api, usm, platform, platform_name: name.to_owned() }));
        for id in ids {
            match describe(api, id) {
                Ok(mut info) => {
                    let same = |d: &&Arc<OpenClDevice>| d.info().device_type == info.device_type;
                    info.index = self.devices.iter().filter(same).count() as u32;
                    self.devices.push(OpenClDevice::new(driver, id, info));
                }
                Err(problem) => self.report.notes.push(problem),
            }
        }
        Ok(())
    }
}

/// Calls one of the functions that list handles: once for the count, once for the handles.
fn list<T: Copy>(null: T, get: impl Fn(u32, *mut T, *mut u32) -> i32) -> Result<Vec<T>, String> {
    let error = |code: i32| format!("{} ({code})", api::error_name(code));
    let mut count = 0;
    match get(0, std::ptr::null_mut(), &mut count) {
        api::SUCCESS => {}
        code => return Err(error(code)),
    }
    let mut all = vec![null; count as usize];
    match get(count, all.as_mut_ptr(), &mut count) {
        _ if all.is_empty() => Ok(all),
        api::SUCCESS => Ok(all),
        code => Err(error(code)),
    }
}

fn platform_text(api: &Api, platform: ClPlatform, what: u32) -> String {
    let bytes = api::property(|size, out, got| {
        // SAFETY: `out` has room for `size` bytes.
        unsafe { (api.clGetPlatformInfo)(platform, what, size, out, got) }
    });
    bytes.map_or_else(|code| api::error_name(code).to_owned(), |bytes| api::text(&bytes))
}

/// What a device is, or why it cannot be used.
pub(super) fn describe(api: &Api, id: ClDevice) -> Result<DeviceInfo, String> {
    // Properties that a device does not know read as empty or zero.
    let bytes = |what: u32| {
        let get = |size, out, got| {
            // SAFETY: `out` has room for `size` bytes.
            unsafe { (api.clGetDeviceInfo)(id, what, size, out, got) }
        };
        api::property(get).unwrap_or_default()
    };
    let (text, number) = (|what| api::text(&bytes(what)), |what| api::number(&bytes(what)));
    let narrow = |what| u32::try_from(number(what)).unwrap_or(u32::MAX);

    let name = text(api::DEVICE_NAME);
    let extensions = text(api::DEVICE_EXTENSIONS);
    let has = |extension: &str| extensions.split_whitespace().any(|e| e == extension);
    if !text(api::DEVICE_IL_VERSION).contains("SPIR-V") {
        return Err(format!("{name}: its driver takes no SPIR-V"));
    }
    if !has(USM) {
        return Err(format!("{name}: its driver has no {USM}"));
    }
    let items = api::sizes(&bytes(api::DEVICE_MAX_WORK_ITEM_SIZES));
    let limit = |d: usize| items.get(d).copied().unwrap_or(1);
    let usm = [
        (UsmKind::Device, api::DEVICE_DEVICE_MEM_CAPABILITIES_INTEL),
        (UsmKind::Shared, api::DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL),
        (UsmKind::Host, api::DEVICE_HOST_MEM_CAPABILITIES_INTEL),
    ];
    let known = |what: u32| Some(number(what)).filter(|&n| n != 0);
    let known_narrow = |what: u32| known(what).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let widths = |first: u32, half: u32| VectorWidths {
        char: narrow(first),
        short: narrow(first + 1),
        int: narrow(first + 2),
        long: narrow(first + 3),
        float: narrow(first + 4),
        double: narrow(first + 5),
        half: narrow(half),
    };
    let mut languages = vec!["SPIR-V"];
    languages.extend((number(api::DEVICE_COMPILER_AVAILABLE) != 0).then_some("OpenCL C"));
    let details = Details {
        vendor_id: known_narrow(api::DEVICE_VENDOR_ID),
        version: Some(text(api::DEVICE_VERSION)).filter(|t| !t.is_empty()),
        // OpenCL knows one cache: the last before global memory.
        cache_bytes: [None, known(api::DEVICE_GLOBAL_MEM_CACHE_SIZE), None],
        cache_line_bytes: known_narrow(api::DEVICE_GLOBAL_MEM_CACHELINE_SIZE),
        max_clock_mhz: known_narrow(api::DEVICE_MAX_CLOCK_FREQUENCY),
        max_sub_groups: known_narrow(api::DEVICE_MAX_NUM_SUB_GROUPS),
        preferred_vectors: widths(api::DEVICE_PREFERRED_VECTOR_WIDTH, api::DEVICE_PREFERRED_VECTOR_WIDTH_HALF),
        native_vectors: widths(api::DEVICE_NATIVE_VECTOR_WIDTH, api::DEVICE_NATIVE_VECTOR_WIDTH + 6),
        address_bits: narrow(api::DEVICE_ADDRESS_BITS),
        timer_resolution_ns: known(api::DEVICE_PROFILING_TIMER_RESOLUTION),
        constant_bytes: known(api::DEVICE_MAX_CONSTANT_BUFFER_SIZE),
        unified_memory: Some(number(api::DEVICE_HOST_UNIFIED_MEMORY) != 0),
        error_correction: Some(number(api::DEVICE_ERROR_CORRECTION_SUPPORT) != 0),
        pci: pci(&bytes(api::DEVICE_PCI_BUS_INFO_KHR)),
        uuid: bytes(api::DEVICE_UUID_KHR).try_into().ok(),
        languages,
        max_sub_devices: narrow(api::DEVICE_PARTITION_MAX_SUB_DEVICES),
        partitions: partitions(
            &api::wide(&bytes(api::DEVICE_PARTITION_PROPERTIES)),
            number(api::DEVICE_PARTITION_AFFINITY_DOMAIN),
        ),
        extensions: extensions.split_whitespace().map(str::to_owned).collect(),
    };
    Ok(DeviceInfo {
        backend: BackendKind::OpenCl,
        device_type: match number(api::DEVICE_TYPE) {
            t if t & api::DEVICE_TYPE_CPU != 0 => DeviceType::Cpu,
            t if t & api::DEVICE_TYPE_GPU != 0 => DeviceType::Gpu,
            _ => DeviceType::Accelerator,
        },
        index: 0,
        name,
        vendor: text(api::DEVICE_VENDOR),
        driver_version: text(api::DRIVER_VERSION),
        global_mem_bytes: number(api::DEVICE_GLOBAL_MEM_SIZE),
        max_alloc_bytes: number(api::DEVICE_MAX_MEM_ALLOC_SIZE),
        local_mem_bytes: number(api::DEVICE_LOCAL_MEM_SIZE),
        compute_units: narrow(api::DEVICE_MAX_COMPUTE_UNITS),
        max_work_group_size: narrow(api::DEVICE_MAX_WORK_GROUP_SIZE),
        max_work_item_sizes: [limit(0), limit(1), limit(2)],
        max_groups: [u32::MAX; 3],
        max_argument_bytes: narrow(api::DEVICE_MAX_PARAMETER_SIZE),
        sub_group_sizes: api::sizes(&bytes(api::DEVICE_SUB_GROUP_SIZES_INTEL)),
        fp16: has("cl_khr_fp16"),
        fp64: has("cl_khr_fp64"),
        atomics64: has("cl_khr_int64_base_atomics"),
        usm: usm.into_iter().filter(|&(_, what)| number(what) != 0).map(|(kind, _)| kind).collect(),
        arch: String::new(),
        sub: Vec::new(),
        details,
    })
}

/// Domain, bus, device and function from four numbers of four bytes.
fn pci(bytes: &[u8]) -> Option<[u32; 4]> {
    let numbers: Vec<u32> = bytes.chunks_exact(4).map(|b| api::number(b) as u32).collect();
    numbers.try_into().ok()
}

/// Ways to cut a device, from the kinds and the affinity domains that the driver lists.
fn partitions(kinds: &[u64], domains: u64) -> Vec<PartitionKind> {
    let along = kinds.contains(&api::DEVICE_PARTITION_BY_AFFINITY_DOMAIN);
    let domain = |bit: u64| along && domains & bit != 0;
    [
        (PartitionKind::Equally, kinds.contains(&api::DEVICE_PARTITION_EQUALLY)),
        (PartitionKind::ByCounts, kinds.contains(&api::DEVICE_PARTITION_BY_COUNTS)),
        (PartitionKind::Numa, domain(api::AFFINITY_DOMAIN_NUMA)),
        (PartitionKind::L3Cache, domain(api::AFFINITY_DOMAIN_L3_CACHE)),
        (PartitionKind::L2Cache, domain(api::AFFINITY_DOMAIN_L2_CACHE)),
        (PartitionKind::NextPartitionable, domain(api::AFFINITY_DOMAIN_NEXT_PARTITIONABLE)),
    ]
    .into_iter()
    .filter_map(|(kind, there)| there.then_some(kind))
    .collect()
}
