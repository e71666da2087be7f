//! The part of OpenCL that we call: handles, constants from `cl.h` and `cl_ext.h`, function tables, names of errors.

use std::ffi::{c_char, c_void};

use crate::dl::functions;

macro_rules! handles {
    ($($name:ident)*) => {$(
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) *mut c_void);
        // SAFETY: OpenCL objects may be used from any thread. Setting kernel arguments may not, and `program` locks it.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}
    )*};
}
handles! { ClPlatform ClDevice ClContext ClQueue ClProgram ClKernel ClEvent }

pub(crate) const SUCCESS: i32 = 0;
pub(crate) const PLATFORM_NAME: u32 = 0x0902;
pub(crate) const PLATFORM_VERSION: u32 = 0x0901;
pub(crate) const DEVICE_TYPE_CPU: u64 = 1 << 1;
pub(crate) const DEVICE_TYPE_GPU: u64 = 1 << 2;
pub(crate) const DEVICE_TYPE_ALL: u64 = 0xFFFF_FFFF;
pub(crate) const DEVICE_TYPE: u32 = 0x1000;
pub(crate) const DEVICE_VENDOR_ID: u32 = 0x1001;
pub(crate) const DEVICE_MAX_COMPUTE_UNITS: u32 = 0x1002;
pub(crate) const DEVICE_MAX_WORK_GROUP_SIZE: u32 = 0x1004;
pub(crate) const DEVICE_MAX_WORK_ITEM_SIZES: u32 = 0x1005;
/// Of `char`; `short`, `int`, `long`, `float` and `double` follow.
pub(crate) const DEVICE_PREFERRED_VECTOR_WIDTH: u32 = 0x1006;
pub(crate) const DEVICE_MAX_CLOCK_FREQUENCY: u32 = 0x100C;
pub(crate) const DEVICE_ADDRESS_BITS: u32 = 0x100D;
pub(crate) const DEVICE_MAX_MEM_ALLOC_SIZE: u32 = 0x1010;
pub(crate) const DEVICE_MAX_PARAMETER_SIZE: u32 = 0x1017;
pub(crate) const DEVICE_GLOBAL_MEM_CACHELINE_SIZE: u32 = 0x101D;
pub(crate) const DEVICE_GLOBAL_MEM_CACHE_SIZE: u32 = 0x101E;
pub(crate) const DEVICE_GLOBAL_MEM_SIZE: u32 = 0x101F;
pub(crate) const DEVICE_MAX_CONSTANT_BUFFER_SIZE: u32 = 0x1020;
pub(crate) const DEVICE_LOCAL_MEM_SIZE: u32 = 0x1023;
pub(crate) const DEVICE_ERROR_CORRECTION_SUPPORT: u32 = 0x1024;
pub(crate) const DEVICE_PROFILING_TIMER_RESOLUTION: u32 = 0x1025;
pub(crate) const DEVICE_COMPILER_AVAILABLE: u32 = 0x1028;
pub(crate) const DEVICE_NAME: u32 = 0x102B;
pub(crate) const DEVICE_VENDOR: u32 = 0x102C;
pub(crate) const DRIVER_VERSION: u32 = 0x102D;
pub(crate) const DEVICE_VERSION: u32 = 0x102F;
pub(crate) const DEVICE_EXTENSIONS: u32 = 0x1030;
pub(crate) const DEVICE_PREFERRED_VECTOR_WIDTH_HALF: u32 = 0x1034;
pub(crate) const DEVICE_HOST_UNIFIED_MEMORY: u32 = 0x1035;
/// Of `char`; `short`, `int`, `long`, `float`, `double` and `half` follow.
pub(crate) const DEVICE_NATIVE_VECTOR_WIDTH: u32 = 0x1036;
pub(crate) const DEVICE_PARTITION_MAX_SUB_DEVICES: u32 = 0x1043;
pub(crate) const DEVICE_PARTITION_PROPERTIES: u32 = 0x1044;
pub(crate) const DEVICE_PARTITION_AFFINITY_DOMAIN: u32 = 0x1045;
pub(crate) const DEVICE_MAX_NUM_SUB_GROUPS: u32 = 0x105C;
pub(crate) const DEVICE_UUID_KHR: u32 = 0x106A;
pub(crate) const DEVICE_PARTITION_EQUALLY: u64 = 0x1086;
pub(crate) const DEVICE_PARTITION_BY_COUNTS: u64 = 0x1087;
pub(crate) const DEVICE_PARTITION_BY_AFFINITY_DOMAIN: u64 = 0x1088;
pub(crate) const AFFINITY_DOMAIN_NUMA: u64 = 1 << 0;
pub(crate) const AFFINITY_DOMAIN_L3_CACHE: u64 = 1 << 2;
pub(crate) const AFFINITY_DOMAIN_L2_CACHE: u64 = 1 << 3;
pub(crate) const AFFINITY_DOMAIN_NEXT_PARTITIONABLE: u64 = 1 << 5;
pub(crate) const DEVICE_IL_VERSION: u32 = 0x105B;
pub(crate) const DEVICE_PCI_BUS_INFO_KHR: u32 = 0x410F;
pub(crate) const DEVICE_SUB_GROUP_SIZES_INTEL: u32 = 0x4108;
pub(crate) const DEVICE_HOST_MEM_CAPABILITIES_INTEL: u32 = 0x4190;
pub(crate) const DEVICE_DEVICE_MEM_CAPABILITIES_INTEL: u32 = 0x4191;
pub(crate) const DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL: u32 = 0x4192;
pub(crate) const CONTEXT_PLATFORM: isize = 0x1084;
pub(crate) const QUEUE_PROPERTIES: u64 = 0x1093;
pub(crate) const QUEUE_OUT_OF_ORDER: u64 = 1 << 0;
pub(crate) const QUEUE_PROFILING: u64 = 1 << 1;
pub(crate) const PROGRAM_KERNEL_NAMES: u32 = 0x1168;
pub(crate) const PROGRAM_BUILD_LOG: u32 = 0x1183;
pub(crate) const KERNEL_NUM_ARGS: u32 = 0x1191;
pub(crate) const KERNEL_ARG_ADDRESS_QUALIFIER: u32 = 0x1196;
pub(crate) const KERNEL_ARG_TYPE_NAME: u32 = 0x1198;
pub(crate) const KERNEL_ARG_TYPE_QUALIFIER: u32 = 0x1199;
pub(crate) const KERNEL_ARG_NAME: u32 = 0x119A;
pub(crate) const KERNEL_ARG_ADDRESS_GLOBAL: u32 = 0x119B;
pub(crate) const KERNEL_ARG_TYPE_CONST: u64 = 1 << 0;
pub(crate) const KERNEL_WORK_GROUP_SIZE: u32 = 0x11B0;
pub(crate) const KERNEL_COMPILE_WORK_GROUP_SIZE: u32 = 0x11B1;
pub(crate) const KERNEL_LOCAL_MEM_SIZE: u32 = 0x11B2;
pub(crate) const KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: u32 = 0x11B3;
pub(crate) const KERNEL_PRIVATE_MEM_SIZE: u32 = 0x11B4;
pub(crate) const EVENT_COMMAND_EXECUTION_STATUS: u32 = 0x11D3;
pub(crate) const PROFILING_COMMAND_SUBMIT: u32 = 0x1281;
pub(crate) const PROFILING_COMMAND_START: u32 = 0x1282;
pub(crate) const PROFILING_COMMAND_END: u32 = 0x1283;
pub(crate) const INVALID_VALUE: i32 = -30;
pub(crate) const INVALID_KERNEL_NAME: i32 = -46;
pub(crate) const INVALID_OPERATION: i32 = -59;

functions! {
    /// What a loader or a driver exports.
    Api {
        clGetPlatformIDs(u32, *mut ClPlatform, *mut u32) -> i32;
        clGetPlatformInfo(ClPlatform, u32, usize, *mut c_void, *mut usize) -> i32;
        clGetDeviceIDs(ClPlatform, u64, u32, *mut ClDevice, *mut u32) -> i32;
        clGetDeviceInfo(ClDevice, u32, usize, *mut c_void, *mut usize) -> i32;
        clCreateSubDevices(ClDevice, *const isize, u32, *mut ClDevice, *mut u32) -> i32;
        clGetExtensionFunctionAddressForPlatform(ClPlatform, *const c_char) -> *mut c_void;
        clCreateContext(*const isize, u32, *const ClDevice, *const c_void, *mut c_void, *mut i32) -> ClContext;
        clReleaseContext(ClContext) -> i32;
        clCreateCommandQueueWithProperties(ClContext, ClDevice, *const u64, *mut i32) -> ClQueue;
        clReleaseCommandQueue(ClQueue) -> i32;
        clCreateProgramWithIL(ClContext, *const c_void, usize, *mut i32) -> ClProgram;
        clCreateProgramWithSource(ClContext, u32, *const *const c_char, *const usize, *mut i32) -> ClProgram;
        clBuildProgram(ClProgram, u32, *const ClDevice, *const c_char, *const c_void, *mut c_void) -> i32;
        clGetProgramInfo(ClProgram, u32, usize, *mut c_void, *mut usize) -> i32;
        clGetProgramBuildInfo(ClProgram, ClDevice, u32, usize, *mut c_void, *mut usize) -> i32;
        clReleaseProgram(ClProgram) -> i32;
        clCreateKernel(ClProgram, *const c_char, *mut i32) -> ClKernel;
        clGetKernelInfo(ClKernel, u32, usize, *mut c_void, *mut usize) -> i32;
        clGetKernelArgInfo(ClKernel, u32, u32, usize, *mut c_void, *mut usize) -> i32;
        clGetKernelWorkGroupInfo(ClKernel, ClDevice, u32, usize, *mut c_void, *mut usize) -> i32;
        clSetKernelArg(ClKernel, u32, usize, *const c_void) -> i32;
        clReleaseKernel(ClKernel) -> i32;
        clEnqueueNDRangeKernel(
            ClQueue, ClKernel, u32, *const usize, *const usize, *const usize, u32, *const ClEvent, *mut ClEvent,
        ) -> i32;
        clEnqueueBarrierWithWaitList(ClQueue, u32, *const ClEvent, *mut ClEvent) -> i32;
        clFlush(ClQueue) -> i32;
        clFinish(ClQueue) -> i32;
        clWaitForEvents(u32, *const ClEvent) -> i32;
        clGetEventInfo(ClEvent, u32, usize, *mut c_void, *mut usize) -> i32;
        clGetEventProfilingInfo(ClEvent, u32, usize, *mut c_void, *mut usize) -> i32;
        clReleaseEvent(ClEvent) -> i32;
    }
}

functions! {
    /// `cl_intel_unified_shared_memory`, found through the platform.
    Usm {
        clHostMemAllocINTEL(ClContext, *const u64, usize, u32, *mut i32) -> *mut c_void;
        clDeviceMemAllocINTEL(ClContext, ClDevice, *const u64, usize, u32, *mut i32) -> *mut c_void;
        clSharedMemAllocINTEL(ClContext, ClDevice, *const u64, usize, u32, *mut i32) -> *mut c_void;
        clMemFreeINTEL(ClContext, *mut c_void) -> i32;
        clSetKernelArgMemPointerINTEL(ClKernel, u32, *const c_void) -> i32;
        clEnqueueMemcpyINTEL(
            ClQueue, u32, *mut c_void, *const c_void, usize, u32, *const ClEvent, *mut ClEvent,
        ) -> i32;
        clEnqueueMemFillINTEL(
            ClQueue, *mut c_void, *const c_void, usize, usize, u32, *const ClEvent, *mut ClEvent,
        ) -> i32;
        clEnqueueMigrateMemINTEL(ClQueue, *const c_void, usize, u64, u32, *const ClEvent, *mut ClEvent) -> i32;
    }
}

/// Reads a property of variable length through one of the `clGet…Info` functions, given its last three arguments.
pub(crate) fn property(get: impl Fn(usize, *mut c_void, *mut usize) -> i32) -> Result<Vec<u8>, i32> {
    let mut size = 0;
    match get(0, std::ptr::null_mut(), &mut size) {
        SUCCESS => {}
        code => return Err(code),
    }
    let mut bytes = vec![0_u8; size];
    if size > 0 {
        match get(size, bytes.as_mut_ptr().cast(), std::ptr::null_mut()) {
            SUCCESS => {}
            code => return Err(code),
        }
    }
    Ok(bytes)
}

/// A property that is text.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

/// A property that is a list of eight-byte numbers.
pub(crate) fn wide(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(number).collect()
}

/// A property that is a whole number of four or eight bytes; zero if it has another size.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => 0,
    }
}

/// A property that is a list of `size_t`.
pub(crate) fn sizes(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(8).map(|b| u32::try_from(number(b)).unwrap_or(u32::MAX)).collect()
}

/// Name of an error code: OpenCL has no function for it.
pub(crate) fn error_name(code: i32) -> &'static str {
    match code {
        -1 => "CL_DEVICE_NOT_FOUND",
        -2 => "CL_DEVICE_NOT_AVAILABLE",
        -3 => "CL_COMPILER_NOT_AVAILABLE",
        -4 => "CL_MEM_OBJECT_ALLOCATION_FAILURE",
        -5 => "CL_OUT_OF_RESOURCES",
        -6 => "CL_OUT_OF_HOST_MEMORY",
        -7 => "CL_PROFILING_INFO_NOT_AVAILABLE",
        -8 => "CL_MEM_COPY_OVERLAP",
        -11 => "CL_BUILD_PROGRAM_FAILURE",
        -14 => "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
        -18 => "CL_DEVICE_PARTITION_FAILED",
        -30 => "CL_INVALID_VALUE",
        -32 => "CL_INVALID_PLATFORM",
        -33 => "CL_INVALID_DEVICE",
        -34 => "CL_INVALID_CONTEXT",
        -35 => "CL_INVALID_QUEUE_PROPERTIES",
        -36 => "CL_INVALID_COMMAND_QUEUE",
        -42 => "CL_INVALID_BINARY",
        -43 => "CL_INVALID_BUILD_OPTIONS",
        -44 => "CL_INVALID_PROGRAM",
        -45 => "CL_INVALID_PROGRAM_EXECUTABLE",
        -46 => "CL_INVALID_KERNEL_NAME",
        -48 => "CL_INVALID_KERNEL",
        -49 => "CL_INVALID_ARG_INDEX",
        -50 => "CL_INVALID_ARG_VALUE",
        -51 => "CL_INVALID_ARG_SIZE",
        -52 => "CL_INVALID_KERNEL_ARGS",
        -53 => "CL_INVALID_WORK_DIMENSION",
        -54 => "CL_INVALID_WORK_GROUP_SIZE",
        -55 => "CL_INVALID_WORK_ITEM_SIZE",
        -57 => "CL_INVALID_EVENT_WAIT_LIST",
        -58 => "CL_INVALID_EVENT",
        -59 => "CL_INVALID_OPERATION",
        -61 => "CL_INVALID_BUFFER_SIZE",
        -63 => "CL_INVALID_GLOBAL_WORK_SIZE",
        -64 => "CL_INVALID_PROPERTY",
        -68 => "CL_INVALID_DEVICE_PARTITION_COUNT",
        -1001 => "CL_PLATFORM_NOT_FOUND_KHR",
        _ => "an error without a name",
    }
}
