//! An OpenCL device, or a part of one, with a context of its own, made on first use; and handles on such devices in a
//! context that several share.

use std::any::Any;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::api::{self, Api, ClContext, ClDevice, ClPlatform, Usm};
use super::{find, program, queue};
use crate::fork::Owner;
use crate::{
    Device, DeviceInfo, HalError, Partition, PartitionKind, Program, ProgramSource, Queue, QueueOptions, UsmKind,
};

/// Alignment we ask for; drivers may give more.
const ALIGN: u32 = 64;

/// A platform and its functions. Lives as long as the process.
pub(crate) struct Driver {
    pub(crate) api: &'static Api,
    pub(crate) usm: Usm,
    pub(crate) platform: ClPlatform,
    pub(crate) platform_name: String,
}

pub(crate) struct OpenClDevice {
    info: DeviceInfo,
    filter: String,
    driver: &'static Driver,
    id: ClDevice,
    owner: Owner,
    context: Arc<Context>,
    parent: Option<Arc<OpenClDevice>>,
    /// For a handle in a shared context, the device itself.
    home: Option<Arc<OpenClDevice>>,
    /// The sub-devices that each partition gave. Numbers go on from one to the next.
    parts: Mutex<Vec<(Partition, Vec<Arc<OpenClDevice>>)>>,
    this: Weak<OpenClDevice>,
}

/// A driver's context over one or more devices, made on first use.
pub(crate) struct Context {
    driver: &'static Driver,
    ids: Vec<ClDevice>,
    owner: Owner,
    made: OnceLock<Result<ClContext, i32>>,
}

impl Context {
    fn new(driver: &'static Driver, ids: Vec<ClDevice>) -> Arc<Self> {
        Arc::new(Self { driver, ids, owner: Owner::here(), made: OnceLock::new() })
    }

    fn get(&self) -> Result<ClContext, i32> {
        let made = self.made.get_or_init(|| {
            let properties = [api::CONTEXT_PLATFORM, self.driver.platform.0 as isize, 0];
            let mut code = 0;
            // SAFETY: the property list ends with zero; as many devices are passed as there are; no callback is.
            let context = unsafe {
                let (null, count) = (std::ptr::null_mut(), self.ids.len() as u32);
                let create = self.driver.api.clCreateContext;
                create(properties.as_ptr(), count, self.ids.as_ptr(), null, null, &mut code)
            };
            if code == api::SUCCESS { Ok(context) } else { Err(code) }
        });
        *made
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if let Some(Ok(context)) = self.made.get().filter(|_| self.owner.is_here()) {
            // SAFETY: made by us, and whatever uses it holds a device that holds this.
            unsafe { (self.driver.api.clReleaseContext)(*context) };
        }
    }
}

/// Devices that share a context, and a handle on each of them in it.
type Shared = (Vec<ClDevice>, Vec<Arc<OpenClDevice>>);

static SHARED: Mutex<Vec<Shared>> = Mutex::new(Vec::new());

impl OpenClDevice {
    pub(crate) fn new(driver: &'static Driver, id: ClDevice, info: DeviceInfo) -> Arc<Self> {
        Self::with(driver, id, info, Context::new(driver, vec![id]), None, None)
    }

    fn with(
        driver: &'static Driver,
        id: ClDevice,
        info: DeviceInfo,
        context: Arc<Context>,
        parent: Option<Arc<Self>>,
        home: Option<Arc<Self>>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            filter: info.filter_string(),
            info,
            driver,
            id,
            owner: Owner::here(),
            context,
            parent,
            home,
            parts: Mutex::default(),
            this: this.clone(),
        })
    }

    pub(crate) fn driver(&self) -> &'static Driver {
        self.driver
    }

    pub(crate) fn api(&self) -> &'static Api {
        self.driver.api
    }

    pub(crate) fn usm(&self) -> &'static Usm {
        &self.driver.usm
    }

    pub(crate) fn id(&self) -> ClDevice {
        self.id
    }

    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    /// Whether the driver may be called at all: destructors ask.
    pub(crate) fn is_usable(&self) -> bool {
        self.owner.is_here()
    }

    /// Turns a driver's code into a result.
    pub(crate) fn check(&self, call: &'static str, code: i32) -> Result<(), HalError> {
        if code == api::SUCCESS {
            return Ok(());
        }
        let text = api::error_name(code).to_owned();
        Err(HalError::Driver { device: self.filter.clone(), call, code, text })
    }

    pub(crate) fn context(&self) -> Result<ClContext, HalError> {
        self.usable()?;
        self.context.get().or_else(|code| self.check("clCreateContext", code).map(|()| unreachable!("an error code")))
    }

    /// Whether the driver orders events of the two devices by itself.
    pub(crate) fn shares_context(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.context, &other.context)
    }

    /// The device itself, where this is a handle in a shared context.
    fn whole(&self) -> Arc<Self> {
        self.home.clone().unwrap_or_else(|| self.this())
    }

    /// Asks the driver for sub-devices. `how` is checked.
    fn cut(&self, how: &Partition) -> Result<Vec<ClDevice>, HalError> {
        let by_counts = self.info.details.partitions.contains(&PartitionKind::ByCounts);
        let mut properties: Vec<isize> = match how {
            Partition::ByCounts(counts) if !by_counts && counts.iter().all(|n| *n == counts[0]) => {
                vec![api::DEVICE_PARTITION_EQUALLY as isize, counts[0] as isize]
            }
            Partition::ByCounts(counts) => {
                let counts = counts.iter().map(|&n| n as isize).chain([0]);
                std::iter::once(api::DEVICE_PARTITION_BY_COUNTS as isize).chain(counts).collect()
            }
            Partition::Equally(n) => vec![api::DEVICE_PARTITION_EQUALLY as isize, *n as isize],
            Partition::Along(kind) => {
                let domain = match kind {
                    PartitionKind::Numa => api::AFFINITY_DOMAIN_NUMA,
                    PartitionKind::L3Cache => api::AFFINITY_DOMAIN_L3_CACHE,
                    PartitionKind::L2Cache => api::AFFINITY_DOMAIN_L2_CACHE,
                    _ => api::AFFINITY_DOMAIN_NEXT_PARTITIONABLE,
                };
                vec![api::DEVICE_PARTITION_BY_AFFINITY_DOMAIN as isize, domain as isize]
            }
        };
        properties.push(0);
        let (create, list) = (self.api().clCreateSubDevices, properties.as_ptr());
        let mut count = 0;
        // SAFETY: the property list ends with zero; the first call only counts, the second has room for as many.
        let (ids, code) = unsafe {
            let mut code = create(self.id, list, 0, std::ptr::null_mut(), &mut count);
            let mut ids = vec![ClDevice(std::ptr::null_mut()); count as usize];
            if code == api::SUCCESS && count > 0 {
                code = create(self.id, list, count, ids.as_mut_ptr(), std::ptr::null_mut());
            }
            (ids, code)
        };
        if code == api::SUCCESS && !ids.is_empty() {
            return Ok(ids);
        }
        Err(how.refused(&self.info, format!("the driver says {} ({code})", api::error_name(code))))
    }

    fn this(&self) -> Arc<Self> {
        // Devices are only made inside an Arc, and `&self` is reached through one.
        self.this.upgrade().expect("a device in use is alive")
    }
}

impl Device for OpenClDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn usable(&self) -> Result<(), HalError> {
        self.owner.check(&self.filter)
    }

    fn alloc(&self, bytes: usize, kind: UsmKind) -> Result<u64, HalError> {
        let (context, usm) = (self.context()?, self.usm());
        if !self.info.usm.contains(&kind) {
            return Err(HalError::Unsupported(format!("{} has no {kind} memory", self.filter)));
        }
        let (size, none) = (bytes.max(1), std::ptr::null());
        let mut code = 0;
        // SAFETY: context and device belong together; no properties are given.
        let (call, address) = unsafe {
            match kind {
                UsmKind::Device => (
                    "clDeviceMemAllocINTEL",
                    (usm.clDeviceMemAllocINTEL)(context, self.id, none, size, ALIGN, &mut code),
                ),
                UsmKind::Shared => (
                    "clSharedMemAllocINTEL",
                    (usm.clSharedMemAllocINTEL)(context, self.id, none, size, ALIGN, &mut code),
                ),
                UsmKind::Host => {
                    ("clHostMemAllocINTEL", (usm.clHostMemAllocINTEL)(context, none, size, ALIGN, &mut code))
                }
            }
        };
        match code {
            api::SUCCESS if !address.is_null() => Ok(address as u64),
            // Out of resources of some sort, or larger than the device allows.
            api::SUCCESS | -4 | -5 | -6 | -61 => Err(HalError::OutOfMemory {
                device: self.filter.clone(),
                requested: bytes as u64,
                free: None,
                total: self.info.global_mem_bytes,
            }),
            code => self.check(call, code).map(|()| 0),
        }
    }

    unsafe fn free(&self, address: u64, _kind: UsmKind) -> Result<(), HalError> {
        if address == 0 {
            return Ok(());
        }
        let context = self.context()?;
        // SAFETY: the caller vouches that `alloc` made it in this context and that nothing uses it any more.
        let code = unsafe { (self.usm().clMemFreeINTEL)(context, address as *mut c_void) };
        self.check("clMemFreeINTEL", code)
    }

    fn create_queue(&self, options: QueueOptions) -> Result<Arc<dyn Queue>, HalError> {
        Ok(Arc::new(queue::OpenClQueue::new(self.this(), options)?))
    }

    fn load_program(&self, source: ProgramSource<'_>) -> Result<Arc<dyn Program>, HalError> {
        Ok(Arc::new(program::load(self.this(), source)?))
    }
    fn partition(&self, how: &Partition) -> Result<Vec<Arc<dyn Device>>, HalError> {
        let how = how.check(&self.info)?;
        self.usable()?;
        let whole = self.whole();
        let mut parts = whole.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = parts.iter().find(|(by, _)| *by == how) {
            return Ok(known.iter().map(|d| d.clone() as Arc<dyn Device>).collect());
        }
        let first = parts.iter().map(|(_, devices)| devices.len()).sum::<usize>() as u32;
        let mut made = Vec::new();
        for (k, id) in (first..).zip(whole.cut(&how)?) {
            let described = find::describe(self.api(), id).map_err(HalError::Unsupported)?;
            let mut sub = self.info.sub.clone();
            sub.push(k);
            let info = DeviceInfo { index: self.info.index, sub, ..described };
            let context = Context::new(self.driver, vec![id]);
            made.push(Self::with(self.driver, id, info, context, Some(whole.clone()), None));
        }
        parts.push((how, made.clone()));
        Ok(made.into_iter().map(|d| d as Arc<dyn Device>).collect())
    }

    fn sub_devices(&self) -> Vec<Arc<dyn Device>> {
        let whole = self.whole();
        let parts = whole.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.iter().flat_map(|(_, devices)| devices).map(|d| d.clone() as Arc<dyn Device>).collect()
    }

    fn parent(&self) -> Option<Arc<dyn Device>> {
        self.parent.clone().map(|parent| parent as Arc<dyn Device>)
    }

    fn itself(&self) -> Option<Arc<dyn Device>> {
        self.home.clone().map(|home| home as Arc<dyn Device>)
    }

    fn among(&self, devices: &[Arc<dyn Device>]) -> Result<Option<Arc<dyn Device>>, HalError> {
        let ours = devices.iter().map(|device| {
            let any: &dyn Any = &**device;
            let other = any.downcast_ref::<Self>().filter(|d| std::ptr::eq(d.driver, self.driver));
            other.map(|d| d.whole()).ok_or_else(|| {
                let text = format!("{} and {} have different drivers", self.filter, device.info().filter_string());
                HalError::InvalidArgument(format!("no context can hold both: {text}"))
            })
        });
        let ours: Vec<Arc<Self>> = ours.collect::<Result<_, _>>()?;
        let ids: Vec<ClDevice> = ours.iter().map(|d| d.id).collect();
        if ids == [self.id] {
            return Ok(Some(self.whole()));
        }
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if !shared.iter().any(|(known, handles)| *known == ids && handles[0].is_usable()) {
            let context = Context::new(self.driver, ids.clone());
            let handle = |d: &Arc<Self>| {
                let (info, parent) = (d.info.clone(), d.parent.clone());
                Self::with(d.driver, d.id, info, context.clone(), parent, Some(d.clone()))
            };
            let handles: Vec<Arc<Self>> = ours.iter().map(handle).collect();
            // What the driver has against it is said now.
            handles[0].context()?;
            shared.push((ids.clone(), handles));
        }
        let handles = shared.iter().rev().find(|(known, _)| *known == ids);
        let own = handles.and_then(|(_, handles)| handles.iter().find(|d| d.id == self.id));
        Ok(own.map(|d| d.clone() as Arc<dyn Device>))
    }
}
