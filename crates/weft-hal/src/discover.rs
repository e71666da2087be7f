//! Looking for devices, once per process.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::{BackendKind, Device, DeviceInfo, HalError, filter, settings};
use crate::{cuda, native, null, opencl};

/// What was found, and what was not and why.
pub struct Discovery {
    /// All devices: native, then CUDA, OpenCL and null, each in its driver's order. Never empty.
    pub devices: Vec<Arc<dyn Device>>,
    /// One line of `weft doctor` per backend.
    pub reports: Vec<BackendReport>,
}

/// What happened when one backend was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendReport {
    /// The backend.
    pub backend: BackendKind,
    /// Libraries tried, in order, with what the loader said about those that failed.
    pub looked_for: Vec<String>,
    /// The driver in use: library and version.
    pub found: Option<String>,
    /// Why the backend has no devices, and what to do about it.
    pub problem: Option<String>,
    /// Devices that were seen and not listed, and other things worth knowing.
    pub notes: Vec<String>,
}

impl BackendReport {
    pub(crate) fn new(backend: BackendKind) -> Self {
        Self { backend, looked_for: Vec::new(), found: None, problem: None, notes: Vec::new() }
    }
}

/// Folders given by [`add_library_dir`]; `None` once discovery has read them.
static LIBRARY_DIRS: Mutex<Option<Vec<PathBuf>>> = Mutex::new(Some(Vec::new()));

/// Names a folder in which drivers may lie (`sys.prefix/lib` of a virtual environment), before the first use of
/// [`discovery`]. Returns whether it was in time.
pub fn add_library_dir(dir: impl Into<PathBuf>) -> bool {
    let mut dirs = LIBRARY_DIRS.lock().unwrap_or_else(PoisonError::into_inner);
    match dirs.as_mut() {
        Some(dirs) => {
            let dir = dir.into();
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
            true
        }
        None => false,
    }
}

/// Looks for devices on first use; later calls are free. Takes as long as the drivers take to start.
pub fn discovery() -> &'static Discovery {
    static DISCOVERY: OnceLock<Discovery> = OnceLock::new();
    DISCOVERY.get_or_init(|| {
        let dirs = LIBRARY_DIRS.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut dirs = dirs.unwrap_or_default();
        dirs.splice(0..0, settings::opencl_dirs());
        let (cuda_devices, cuda_report) = cuda::discover();
        let (opencl_devices, opencl_report) = opencl::discover(&dirs);
        let mut devices = vec![native::device()];
        let mut reports = vec![native::report(), cuda_report, opencl_report];
        devices.extend(cuda_devices);
        devices.extend(opencl_devices);
        if settings::null_device() {
            devices.push(null::device());
            reports.push(null::report());
        }
        Discovery { devices, reports }
    })
}

/// Devices, each followed by its sub-devices.
fn with_sub_devices(devices: &[Arc<dyn Device>]) -> Vec<Arc<dyn Device>> {
    let below = |d: &Arc<dyn Device>| {
        let parts = with_sub_devices(&d.sub_devices());
        std::iter::once(d.clone()).chain(parts).collect::<Vec<_>>()
    };
    devices.iter().flat_map(below).collect()
}

/// The device that a filter string names. `""` and `"default"` are [`default_device`]. Filters that can only mean the
/// native device are answered without looking for drivers.
pub fn find_device(filter: &str) -> Result<Arc<dyn Device>, HalError> {
    if filter::is_default(filter) {
        return default_device();
    }
    if filter::is_native(filter) {
        return Ok(native::device());
    }
    let found = discovery();
    let devices = with_sub_devices(&found.devices);
    let infos: Vec<&DeviceInfo> = devices.iter().map(|d| d.info()).collect();
    match filter::select(filter, &infos) {
        Ok(i) => Ok(devices[i].clone()),
        Err(HalError::NoSuchDevice { filter, nearest, .. }) => {
            let meant = filter::backends_meant(&filter);
            let why = found.reports.iter().filter(|r| meant.contains(&r.backend));
            let why = why.flat_map(|r| {
                let lines = r.problem.iter().chain(&r.notes);
                lines.map(|line| format!("{}: {line}", r.backend))
            });
            let sub = filter.contains('.').then(|| "a sub-device is there once create_sub_devices made it".to_owned());
            let why = why.chain(sub).collect();
            Err(HalError::NoSuchDevice { filter, nearest, why })
        }
        Err(error) => Err(error),
    }
}

/// The device to use when nobody said: `WEFT_DEVICE` if set (an error if it names none), else the first GPU, else the
/// native device.
pub fn default_device() -> Result<Arc<dyn Device>, HalError> {
    if let Some(filter) = settings::device().filter(|f| !filter::is_default(f)) {
        return find_device(&filter);
    }
    let found = discovery();
    let infos: Vec<&DeviceInfo> = found.devices.iter().map(|d| d.info()).collect();
    filter::select("", &infos).map(|i| found.devices[i].clone())
}
