//! An OpenCL device with a context of its own, made on first use.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock, Weak};

use super::api::{self, Api, ClContext, ClDevice, ClPlatform, Usm};
use super::{program, queue};
use crate::fork::Owner;
use crate::{Device, DeviceInfo, HalError, Program, ProgramSource, Queue, QueueOptions, UsmKind};

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
    context: OnceLock<Result<ClContext, HalError>>,
    this: Weak<OpenClDevice>,
}

impl OpenClDevice {
    pub(crate) fn new(driver: &'static Driver, id: ClDevice, info: DeviceInfo) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            filter: info.filter_string(),
            info,
            driver,
            id,
            owner: Owner::here(),
            context: OnceLock::new(),
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

    /// The check every operation starts with.
    pub(crate) fn usable(&self) -> Result<(), HalError> {
        self.owner.check(&self.filter)
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
        let made = self.context.get_or_init(|| {
            let properties = [api::CONTEXT_PLATFORM, self.driver.platform.0 as isize, 0];
            let mut code = 0;
            // SAFETY: the property list ends with zero; one device is passed; no callback is.
            let context = unsafe {
                let null = std::ptr::null_mut();
                (self.api().clCreateContext)(properties.as_ptr(), 1, &self.id, null, null, &mut code)
            };
            self.check("clCreateContext", code).map(|()| context)
        });
        made.clone()
    }

    fn this(&self) -> Arc<Self> {
        // Devices are only made inside an Arc, and `&self` is reached through one.
        self.this.upgrade().expect("a device in use is alive")
    }
}

impl Drop for OpenClDevice {
    fn drop(&mut self) {
        if let Some(Ok(context)) = self.context.get().filter(|_| self.owner.is_here()) {
            // SAFETY: made by us, and whatever uses it holds the device.
            unsafe { (self.driver.api.clReleaseContext)(*context) };
        }
    }
}

impl Device for OpenClDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
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
}
