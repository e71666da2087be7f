//! The part of the CUDA driver API that we call. Names are those the library exports: `_v2` where `cuda.h` maps the
//! plain name to it.

use std::ffi::{CStr, c_char, c_void};

use crate::dl::functions;

macro_rules! handles {
    ($($name:ident)*) => {$(
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) *mut c_void);
        // SAFETY: the driver's objects may be used from any thread that has their context current.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}
        impl $name {
            pub(crate) const NULL: Self = Self(std::ptr::null_mut());
        }
    )*};
}
handles! { CuContext CuStream CuEvent CuModule CuFunction }

pub(crate) type CuDevice = i32;

pub(crate) const SUCCESS: i32 = 0;
pub(crate) const OUT_OF_MEMORY: i32 = 2;
pub(crate) const NOT_FOUND: i32 = 500;
pub(crate) const NOT_READY: i32 = 600;
pub(crate) const PEER_ACCESS_ALREADY_ENABLED: i32 = 704;

pub(crate) const STREAM_NON_BLOCKING: u32 = 1;
pub(crate) const EVENT_DEFAULT: u32 = 0;
pub(crate) const EVENT_DISABLE_TIMING: u32 = 2;
pub(crate) const MEM_ATTACH_GLOBAL: u32 = 1;
pub(crate) const MEMHOSTALLOC_PORTABLE: u32 = 1;
pub(crate) const MEMHOSTALLOC_DEVICEMAP: u32 = 2;
pub(crate) const JIT_ERROR_LOG_BUFFER: u32 = 5;
pub(crate) const JIT_ERROR_LOG_BUFFER_SIZE_BYTES: u32 = 6;
pub(crate) const FUNC_MAX_THREADS_PER_BLOCK: i32 = 0;
pub(crate) const FUNC_SHARED_SIZE_BYTES: i32 = 1;
pub(crate) const FUNC_LOCAL_SIZE_BYTES: i32 = 3;

/// `CU_DEVICE_ATTRIBUTE_…`
pub(crate) mod attribute {
    pub(crate) const MAX_THREADS_PER_BLOCK: i32 = 1;
    pub(crate) const MAX_BLOCK_DIM_X: i32 = 2;
    pub(crate) const MAX_GRID_DIM_X: i32 = 5;
    pub(crate) const MAX_SHARED_MEMORY_PER_BLOCK: i32 = 8;
    pub(crate) const TOTAL_CONSTANT_MEMORY: i32 = 9;
    pub(crate) const WARP_SIZE: i32 = 10;
    pub(crate) const CLOCK_RATE_KHZ: i32 = 13;
    pub(crate) const MULTIPROCESSOR_COUNT: i32 = 16;
    pub(crate) const INTEGRATED: i32 = 18;
    pub(crate) const CAN_MAP_HOST_MEMORY: i32 = 19;
    pub(crate) const ECC_ENABLED: i32 = 32;
    pub(crate) const PCI_BUS_ID: i32 = 33;
    pub(crate) const PCI_DEVICE_ID: i32 = 34;
    pub(crate) const L2_CACHE_SIZE: i32 = 38;
    pub(crate) const UNIFIED_ADDRESSING: i32 = 41;
    pub(crate) const PCI_DOMAIN_ID: i32 = 50;
    pub(crate) const COMPUTE_CAPABILITY_MAJOR: i32 = 75;
    pub(crate) const COMPUTE_CAPABILITY_MINOR: i32 = 76;
    pub(crate) const MANAGED_MEMORY: i32 = 83;
    pub(crate) const CONCURRENT_MANAGED_ACCESS: i32 = 89;
}

functions! {
    /// What `libcuda.so.1` exports.
    Api {
        cuInit(u32) -> i32;
        cuDriverGetVersion(*mut i32) -> i32;
        cuGetErrorName(i32, *mut *const c_char) -> i32;
        cuGetErrorString(i32, *mut *const c_char) -> i32;
        cuDeviceGetCount(*mut i32) -> i32;
        cuDeviceGet(*mut CuDevice, i32) -> i32;
        cuDeviceGetName(*mut c_char, i32, CuDevice) -> i32;
        cuDeviceTotalMem_v2(*mut usize, CuDevice) -> i32;
        cuDeviceGetUuid(*mut [u8; 16], CuDevice) -> i32;
        cuDeviceGetAttribute(*mut i32, i32, CuDevice) -> i32;
        cuDevicePrimaryCtxRetain(*mut CuContext, CuDevice) -> i32;
        cuCtxGetCurrent(*mut CuContext) -> i32;
        cuCtxSetCurrent(CuContext) -> i32;
        cuCtxEnablePeerAccess(CuContext, u32) -> i32;
        cuDeviceCanAccessPeer(*mut i32, CuDevice, CuDevice) -> i32;
        cuMemGetInfo_v2(*mut usize, *mut usize) -> i32;
        cuMemAlloc_v2(*mut u64, usize) -> i32;
        cuMemFree_v2(u64) -> i32;
        cuMemAllocManaged(*mut u64, usize, u32) -> i32;
        cuMemHostAlloc(*mut *mut c_void, usize, u32) -> i32;
        cuMemFreeHost(*mut c_void) -> i32;
        cuMemcpyAsync(u64, u64, usize, CuStream) -> i32;
        cuMemPrefetchAsync(u64, usize, CuDevice, CuStream) -> i32;
        cuMemsetD8Async(u64, u8, usize, CuStream) -> i32;
        cuMemsetD16Async(u64, u16, usize, CuStream) -> i32;
        cuMemsetD32Async(u64, u32, usize, CuStream) -> i32;
        cuMemsetD2D32Async(u64, usize, u32, usize, usize, CuStream) -> i32;
        cuStreamCreate(*mut CuStream, u32) -> i32;
        cuStreamDestroy_v2(CuStream) -> i32;
        cuStreamSynchronize(CuStream) -> i32;
        cuStreamWaitEvent(CuStream, CuEvent, u32) -> i32;
        cuEventCreate(*mut CuEvent, u32) -> i32;
        cuEventRecord(CuEvent, CuStream) -> i32;
        cuEventQuery(CuEvent) -> i32;
        cuEventSynchronize(CuEvent) -> i32;
        cuEventElapsedTime(*mut f32, CuEvent, CuEvent) -> i32;
        cuModuleLoadDataEx(*mut CuModule, *const c_void, u32, *mut u32, *mut *mut c_void) -> i32;
        cuModuleUnload(CuModule) -> i32;
        cuModuleGetFunction(*mut CuFunction, CuModule, *const c_char) -> i32;
        cuFuncGetAttribute(*mut i32, i32, CuFunction) -> i32;
        cuLaunchKernel(
            CuFunction, u32, u32, u32, u32, u32, u32, u32, CuStream, *mut *mut c_void, *mut *mut c_void,
        ) -> i32;
    }
}

impl Api {
    /// The driver's name and sentence for a code.
    pub(crate) fn describe(&self, code: i32) -> String {
        let ask = |function: unsafe extern "C" fn(i32, *mut *const c_char) -> i32| {
            let mut text = std::ptr::null();
            // SAFETY: the driver stores a pointer to a constant string, or null for a code it does not know.
            unsafe {
                function(code, &mut text);
                (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        match (ask(self.cuGetErrorName), ask(self.cuGetErrorString)) {
            (Some(name), Some(sentence)) => format!("{name}, {sentence}"),
            (Some(name), None) => name,
            _ => "an error without a name".to_owned(),
        }
    }
}

/// Whether a code means that the context is gone: after these the driver gives no working context to the process.
pub(crate) fn is_fatal(code: i32) -> bool {
    matches!(
        code,
        214 // uncorrectable ECC error
        | 220 // uncorrectable NVLink error
        | 226 // contained memory error
        | 700 // illegal address
        | 702 // launch timeout
        | 709 // context is destroyed
        | 710 // assert
        | 714
            ..=719 // stack, instruction, alignment, address space, program counter, launch failure
        | 721 // tensor memory leak
    )
}
