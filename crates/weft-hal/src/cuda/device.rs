//! A CUDA device with its primary context, retained on first use and never released.

use std::any::Any;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::api::{self, Api, CuContext, CuDevice, CuEvent};
use super::{program, queue};
use crate::fork::Owner;
use crate::{Device, DeviceInfo, HalError, Partition, Program, ProgramSource, Queue, QueueOptions, UsmKind};

pub(crate) struct CudaDevice {
    info: DeviceInfo,
    filter: String,
    api: &'static Api,
    device: CuDevice,
    owner: Owner,
    context: OnceLock<Result<CuContext, HalError>>,
    /// Whether the driver moves shared memory when asked to.
    moves_memory: bool,
    /// Set by the first fatal error, and the answer to every call after it.
    lost: OnceLock<HalError>,
    /// Events nobody holds, to be used again: without timing, and with.
    spare_events: [Mutex<Vec<CuEvent>>; 2],
    this: Weak<CudaDevice>,
}

/// Our context is current on this thread. Puts back what was current before: other libraries (PyTorch, CuPy) keep
/// theirs there, which is also why nothing is remembered per thread.
pub(crate) struct Current<'a> {
    device: &'a CudaDevice,
    before: CuContext,
}

impl CudaDevice {
    pub(crate) fn new(api: &'static Api, device: CuDevice, info: DeviceInfo) -> Arc<Self> {
        let mut moves = 0;
        // SAFETY: stores an int; a driver that does not know the attribute leaves zero.
        unsafe { (api.cuDeviceGetAttribute)(&mut moves, api::attribute::CONCURRENT_MANAGED_ACCESS, device) };
        Arc::new_cyclic(|this| Self {
            moves_memory: moves != 0,
            filter: info.filter_string(),
            info,
            api,
            device,
            owner: Owner::here(),
            context: OnceLock::new(),
            lost: OnceLock::new(),
            spare_events: Default::default(),
            this: this.clone(),
        })
    }

    pub(crate) fn api(&self) -> &'static Api {
        self.api
    }

    /// The driver's number of it.
    pub(crate) fn ordinal(&self) -> CuDevice {
        self.device
    }

    pub(crate) fn moves_memory(&self) -> bool {
        self.moves_memory
    }

    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    /// Turns a driver's code into a result. A fatal one loses the device.
    pub(crate) fn check(&self, call: &'static str, code: i32) -> Result<(), HalError> {
        if code == api::SUCCESS {
            return Ok(());
        }
        let text = self.api.describe(code);
        if api::is_fatal(code) {
            let cause = format!("{call} reported {code}: {text}");
            let lost = self.lost.get_or_init(|| HalError::DeviceLost { device: self.filter.clone(), cause });
            return Err(lost.clone());
        }
        Err(HalError::Driver { device: self.filter.clone(), call, code, text })
    }

    /// What every operation starts with: the right process, a device that is not lost, and its context current.
    pub(crate) fn enter(&self) -> Result<Current<'_>, HalError> {
        self.same_process()?;
        if let Some(lost) = self.lost.get() {
            return Err(lost.clone());
        }
        let context = self.context()?;
        let mut before = CuContext::NULL;
        // SAFETY: stores a handle.
        self.check("cuCtxGetCurrent", unsafe { (self.api.cuCtxGetCurrent)(&mut before) })?;
        if before == context {
            return Ok(Current { device: self, before: CuContext::NULL });
        }
        // SAFETY: our primary context, which is never released.
        self.check("cuCtxSetCurrent", unsafe { (self.api.cuCtxSetCurrent)(context) })?;
        Ok(Current { device: self, before })
    }

    fn context(&self) -> Result<CuContext, HalError> {
        let made = self.context.get_or_init(|| {
            let mut context = CuContext::NULL;
            // SAFETY: stores a handle.
            let code = unsafe { (self.api.cuDevicePrimaryCtxRetain)(&mut context, self.device) };
            self.check("cuDevicePrimaryCtxRetain", code).map(|()| context)
        });
        made.as_ref().copied().map_err(HalError::clone)
    }

    /// Lets kernels and copies of this device use the memory of another.
    fn reach(&self, other: &CudaDevice) -> Result<(), HalError> {
        let mut can = 0;
        // SAFETY: stores an int.
        let code = unsafe { (self.api.cuDeviceCanAccessPeer)(&mut can, self.device, other.device) };
        self.check("cuDeviceCanAccessPeer", code)?;
        if can == 0 {
            let text = format!("{} cannot use memory of {}", self.filter, other.filter);
            return Err(HalError::Unsupported(format!("no context can hold both: {text}")));
        }
        let peer = other.context()?;
        let _current = self.enter()?;
        // SAFETY: a context of another device, never released; there are no flags.
        match unsafe { (self.api.cuCtxEnablePeerAccess)(peer, 0) } {
            api::PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            code => self.check("cuCtxEnablePeerAccess", code),
        }
    }

    /// Refuses in a forked child.
    pub(crate) fn same_process(&self) -> Result<(), HalError> {
        self.owner.check(&self.filter)
    }

    /// An event, new or used again. The device is entered.
    pub(crate) fn take_event(&self, timing: bool) -> Result<CuEvent, HalError> {
        let mut spare = self.spare_events[usize::from(timing)].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(event) = spare.pop() {
            return Ok(event);
        }
        let mut event = CuEvent::NULL;
        let flags = if timing { api::EVENT_DEFAULT } else { api::EVENT_DISABLE_TIMING };
        // SAFETY: stores a handle.
        self.check("cuEventCreate", unsafe { (self.api.cuEventCreate)(&mut event, flags) })?;
        Ok(event)
    }

    /// Gives an event back. Streams that were told to wait for it keep what it stood for, so it may be recorded again
    /// at once. Needs no driver, so it is safe in destructors, forked children and lost devices.
    pub(crate) fn give_event(&self, event: CuEvent, timing: bool) {
        self.spare_events[usize::from(timing)].lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    fn out_of_memory(&self, bytes: usize) -> HalError {
        let (mut free, mut total) = (0_usize, 0_usize);
        // SAFETY: stores two sizes; the device is entered.
        let known = unsafe { (self.api.cuMemGetInfo_v2)(&mut free, &mut total) } == api::SUCCESS;
        HalError::OutOfMemory {
            device: self.filter.clone(),
            requested: bytes as u64,
            free: known.then_some(free as u64),
            total: if known { total as u64 } else { self.info.global_mem_bytes },
        }
    }

    fn this(&self) -> Arc<Self> {
        // Devices are only made inside an Arc, and `&self` is reached through one.
        self.this.upgrade().expect("a device in use is alive")
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if self.before != CuContext::NULL {
            // SAFETY: it was current when we came.
            unsafe { (self.device.api.cuCtxSetCurrent)(self.before) };
        }
    }
}

impl Device for CudaDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn usable(&self) -> Result<(), HalError> {
        self.same_process()?;
        self.lost.get().map_or(Ok(()), |lost| Err(lost.clone()))
    }

    fn alloc(&self, bytes: usize, kind: UsmKind) -> Result<u64, HalError> {
        let _current = self.enter()?;
        if !self.info.usm.contains(&kind) {
            return Err(HalError::Unsupported(format!("{} has no {kind} memory", self.filter)));
        }
        // The driver would let managed memory outgrow the device, and then page it to a standstill.
        if kind == UsmKind::Shared && bytes as u64 > self.info.global_mem_bytes {
            return Err(self.out_of_memory(bytes));
        }
        let size = bytes.max(1);
        let mut address = 0_u64;
        // SAFETY: stores an address; the context is current.
        let (call, code) = unsafe {
            match kind {
                UsmKind::Device => ("cuMemAlloc", (self.api.cuMemAlloc_v2)(&mut address, size)),
                UsmKind::Shared => {
                    ("cuMemAllocManaged", (self.api.cuMemAllocManaged)(&mut address, size, api::MEM_ATTACH_GLOBAL))
                }
                UsmKind::Host => {
                    let flags = api::MEMHOSTALLOC_PORTABLE | api::MEMHOSTALLOC_DEVICEMAP;
                    let mut pointer: *mut c_void = std::ptr::null_mut();
                    let code = (self.api.cuMemHostAlloc)(&mut pointer, size, flags);
                    // Unified addressing: the device uses the host's address.
                    address = pointer as u64;
                    ("cuMemHostAlloc", code)
                }
            }
        };
        if code == api::OUT_OF_MEMORY {
            return Err(self.out_of_memory(bytes));
        }
        self.check(call, code).map(|()| address)
    }

    unsafe fn free(&self, address: u64, kind: UsmKind) -> Result<(), HalError> {
        if address == 0 {
            return Ok(());
        }
        let _current = self.enter()?;
        // SAFETY: the caller vouches that `alloc` made it with this kind and that nothing uses it any more.
        let (call, code) = unsafe {
            match kind {
                UsmKind::Device | UsmKind::Shared => ("cuMemFree", (self.api.cuMemFree_v2)(address)),
                UsmKind::Host => ("cuMemFreeHost", (self.api.cuMemFreeHost)(address as *mut c_void)),
            }
        };
        self.check(call, code)
    }

    fn create_queue(&self, options: QueueOptions) -> Result<Arc<dyn Queue>, HalError> {
        Ok(Arc::new(queue::CudaQueue::new(self.this(), options)?))
    }

    fn load_program(&self, source: ProgramSource<'_>) -> Result<Arc<dyn Program>, HalError> {
        Ok(Arc::new(program::load(self.this(), source)?))
    }

    /// The primary contexts stay what they are, and each device gets to use the memory of the others.
    fn among(&self, devices: &[Arc<dyn Device>]) -> Result<Option<Arc<dyn Device>>, HalError> {
        let ours = devices.iter().filter_map(|device| {
            let any: &dyn Any = &**device;
            any.downcast_ref::<Self>()
        });
        let ours: Vec<&Self> = ours.collect();
        for from in &ours {
            ours.iter().filter(|to| !std::ptr::eq(**to, *from)).try_for_each(|to| from.reach(to))?;
        }
        Ok(None)
    }

    fn partition(&self, how: &Partition) -> Result<Vec<Arc<dyn Device>>, HalError> {
        let offers = format!(
            "CUDA divides no device at run time; it offers queues that share its {} multiprocessors, and MIG instances, \
             set up with nvidia-smi, are listed as devices of their own",
            self.info.compute_units
        );
        Err(how.refused(&self.info, offers))
    }
}
