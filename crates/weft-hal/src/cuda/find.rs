//! Looking for `libcuda.so.1` and the devices behind it.

use std::path::Path;
use std::sync::Arc;

use super::api::{self, Api, CuDevice, attribute};
use super::device::CudaDevice;
use crate::{BackendKind, BackendReport, Details, Device, DeviceInfo, DeviceType, UsmKind, VectorWidths, dl};

/// The driver's library, by the loader's rules and then where WSL keeps it.
const LIBRARIES: [&str; 2] = ["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"];

/// Most bytes of kernel arguments that every driver takes.
const MAX_ARGUMENT_BYTES: u32 = 4096;

/// Devices and the report on them.
pub(crate) fn discover() -> (Vec<Arc<dyn Device>>, BackendReport) {
    let mut report = BackendReport::new(BackendKind::Cuda);
    match find(&mut report) {
        Ok(devices) => (devices, report),
        Err(problem) => {
            report.problem = Some(problem);
            (Vec::new(), report)
        }
    }
}

fn find(report: &mut BackendReport) -> Result<Vec<Arc<dyn Device>>, String> {
    let mut library = None;
    for name in LIBRARIES {
        match dl::open(Path::new(name)) {
            Ok(opened) => {
                report.looked_for.push(name.to_owned());
                library = Some((name, opened));
                break;
            }
            Err(problem) => report.looked_for.push(format!("{name} ({problem})")),
        }
    }
    let Some((name, library)) = library else {
        return Err("libcuda.so.1 was not found: install the NVIDIA driver (the CUDA toolkit is not needed)".to_owned());
    };
    // SAFETY: a library of this name with these symbols is the CUDA driver.
    let api = unsafe { Api::find(|symbol| dl::address(library, symbol)) }
        .map_err(|missing| format!("{name} has no {missing}: the NVIDIA driver is too old"))?;
    let api: &'static Api = Box::leak(Box::new(api));
    let check = |call: &str, code: i32| match code {
        api::SUCCESS => Ok(()),
        code => Err(format!("{call} failed with {code}: {}", api.describe(code))),
    };
    let (mut version, mut count) = (0, 0);
    // SAFETY: plain calls that store an int each.
    unsafe {
        check("cuInit", (api.cuInit)(0))?;
        check("cuDriverGetVersion", (api.cuDriverGetVersion)(&mut version))?;
        check("cuDeviceGetCount", (api.cuDeviceGetCount)(&mut count))?;
    }
    let version = format!("CUDA {}.{}", version / 1000, version % 1000 / 10);
    report.found = Some(format!("{name}: {version}"));
    let mut devices: Vec<Arc<dyn Device>> = Vec::new();
    for ordinal in 0..count {
        let mut device = 0;
        // SAFETY: stores an int.
        let got = check("cuDeviceGet", unsafe { (api.cuDeviceGet)(&mut device, ordinal) });
        match got.and_then(|()| describe(api, device, devices.len() as u32, &version)) {
            Ok(info) => devices.push(CudaDevice::new(api, device, info)),
            Err(problem) => report.notes.push(format!("device {ordinal}: {problem}")),
        }
    }
    if devices.is_empty() {
        return Err("the NVIDIA driver is here, but has no device we can use".to_owned());
    }
    Ok(devices)
}

/// What a device is, or why it cannot be used.
fn describe(api: &Api, device: CuDevice, index: u32, version: &str) -> Result<DeviceInfo, String> {
    let check = |call: &str, code: i32| match code {
        api::SUCCESS => Ok(()),
        code => Err(format!("{call} failed with {code}: {}", api.describe(code))),
    };
    let mut name = [0_u8; 256];
    let mut memory = 0_usize;
    // SAFETY: the driver writes at most the given length, and one size.
    unsafe {
        check("cuDeviceGetName", (api.cuDeviceGetName)(name.as_mut_ptr().cast(), name.len() as i32, device))?;
        check("cuDeviceTotalMem", (api.cuDeviceTotalMem_v2)(&mut memory, device))?;
    }
    let name = name.split(|&b| b == 0).next().unwrap_or_default();
    // An attribute that the driver does not know reads as zero.
    let get = |what: i32| {
        let mut value = 0;
        // SAFETY: stores an int.
        let code = unsafe { (api.cuDeviceGetAttribute)(&mut value, what, device) };
        if code == api::SUCCESS { u32::try_from(value).unwrap_or(0) } else { 0 }
    };
    let three = |first: i32| [get(first), get(first + 1), get(first + 2)];
    if get(attribute::UNIFIED_ADDRESSING) == 0 {
        return Err("it has no unified addressing".to_owned());
    }
    let capability = (get(attribute::COMPUTE_CAPABILITY_MAJOR), get(attribute::COMPUTE_CAPABILITY_MINOR));
    let mut uuid = [0_u8; 16];
    // SAFETY: stores sixteen bytes.
    let named = unsafe { (api.cuDeviceGetUuid)(&mut uuid, device) } == api::SUCCESS;
    let known = |n: u32| (n != 0).then_some(n);
    // Compute capabilities know no vectors: a thread works on scalars, and loads up to 16 bytes.
    let details = Details {
        vendor_id: Some(0x10de),
        version: Some(version.to_owned()),
        cache_bytes: [None, known(get(attribute::L2_CACHE_SIZE)).map(u64::from), None],
        cache_line_bytes: Some(128),
        max_clock_mhz: known(get(attribute::CLOCK_RATE_KHZ) / 1000),
        max_sub_groups: get(attribute::MAX_THREADS_PER_BLOCK).checked_div(get(attribute::WARP_SIZE)),
        preferred_vectors: VectorWidths::scalar(),
        native_vectors: VectorWidths::scalar(),
        address_bits: 64,
        // Half a microsecond, says the reference of cuEventElapsedTime.
        timer_resolution_ns: Some(500),
        constant_bytes: Some(u64::from(get(attribute::TOTAL_CONSTANT_MEMORY))),
        unified_memory: Some(get(attribute::INTEGRATED) != 0),
        error_correction: Some(get(attribute::ECC_ENABLED) != 0),
        pci: Some([get(attribute::PCI_DOMAIN_ID), get(attribute::PCI_BUS_ID), get(attribute::PCI_DEVICE_ID), 0]),
        uuid: named.then_some(uuid),
        languages: vec!["PTX"],
        ..Details::default()
    };
    let mut usm = vec![UsmKind::Device];
    usm.extend((get(attribute::MANAGED_MEMORY) != 0).then_some(UsmKind::Shared));
    usm.extend((get(attribute::CAN_MAP_HOST_MEMORY) != 0).then_some(UsmKind::Host));
    Ok(DeviceInfo {
        backend: BackendKind::Cuda,
        device_type: DeviceType::Gpu,
        index,
        name: String::from_utf8_lossy(name).into_owned(),
        vendor: "NVIDIA Corporation".to_owned(),
        driver_version: version.to_owned(),
        global_mem_bytes: memory as u64,
        max_alloc_bytes: memory as u64,
        local_mem_bytes: u64::from(get(attribute::MAX_SHARED_MEMORY_PER_BLOCK)),
        compute_units: get(attribute::MULTIPROCESSOR_COUNT),
        max_work_group_size: get(attribute::MAX_THREADS_PER_BLOCK),
        max_work_item_sizes: three(attribute::MAX_BLOCK_DIM_X),
        max_groups: three(attribute::MAX_GRID_DIM_X),
        max_argument_bytes: MAX_ARGUMENT_BYTES,
        sub_group_sizes: vec![get(attribute::WARP_SIZE)],
        fp16: capability >= (5, 3),
        fp64: true,
        atomics64: true,
        usm,
        arch: format!("sm_{}{}", capability.0, capability.1),
        sub: Vec::new(),
        details,
    })
}
