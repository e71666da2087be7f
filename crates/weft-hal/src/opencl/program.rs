//! Programs and kernels.

use std::ffi::{CString, c_char};
use std::sync::{Arc, Mutex};

use super::api::{self, ClKernel, ClProgram};
use super::device::OpenClDevice;
use crate::{Device, HalError, Kernel, Program, ProgramSource};

pub(crate) struct OpenClProgram(Arc<Handle>);

/// Releases the program when its last kernel is gone.
struct Handle {
    device: Arc<OpenClDevice>,
    program: ClProgram,
}

pub(crate) struct OpenClKernel {
    name: String,
    max_work_group_size: u32,
    parameters: u32,
    kernel: ClKernel,
    /// Held from the first argument to the enqueue: the arguments are part of the kernel object.
    arguments: Mutex<()>,
    program: Arc<Handle>,
}

pub(crate) fn load(device: Arc<OpenClDevice>, source: ProgramSource<'_>) -> Result<OpenClProgram, HalError> {
    let (context, api) = (device.context()?, device.api());
    let bad = |log: String| HalError::BadProgram { device: device.filter().to_owned(), log };
    let mut code = 0;
    let (call, program) = match source {
        ProgramSource::SpirV(module) => {
            // Drivers have crashed on what is no module at all; the rest is for their own reader to find.
            let magic = module.first_chunk::<4>().map(|word| u32::from_le_bytes(*word));
            if module.len() % 4 != 0 || !matches!(magic, Some(0x0723_0203 | 0x0302_2307)) {
                return Err(bad("not a SPIR-V module: it does not begin with the magic number".to_owned()));
            }
            // SAFETY: the driver reads the module's bytes during the call.
            let program =
                unsafe { (api.clCreateProgramWithIL)(context, module.as_ptr().cast(), module.len(), &mut code) };
            ("clCreateProgramWithIL", program)
        }
        ProgramSource::OpenClC(text) => {
            let (start, length) = (text.as_ptr().cast::<c_char>(), text.len());
            // SAFETY: one string with its length; the driver copies it.
            let program = unsafe { (api.clCreateProgramWithSource)(context, 1, &start, &length, &mut code) };
            ("clCreateProgramWithSource", program)
        }
        other => {
            return Err(HalError::Unsupported(format!(
                "{} takes SPIR-V and OpenCL C, not {}",
                device.filter(),
                other.kind()
            )));
        }
    };
    device.check(call, code).map_err(|error| bad(error.to_string()))?;
    // From here on dropping the handle releases the program.
    let handle = Handle { device: device.clone(), program };
    // SAFETY: options are none; no callback, so the call returns when the build is over.
    let code = unsafe {
        let null = std::ptr::null_mut();
        (api.clBuildProgram)(program, 1, &device.id(), c"".as_ptr(), null, null)
    };
    device.check("clBuildProgram", code).map_err(|error| {
        let log = api::property(|size, out, got| {
            // SAFETY: `out` has room for `size` bytes.
            unsafe { (api.clGetProgramBuildInfo)(program, device.id(), api::PROGRAM_BUILD_LOG, size, out, got) }
        });
        let log = log.map_or(String::new(), |log| api::text(&log));
        bad(if log.is_empty() { error.to_string() } else { log })
    })?;
    Ok(OpenClProgram(Arc::new(handle)))
}

impl Handle {
    fn kernel_names(&self) -> Vec<String> {
        let names = api::property(|size, out, got| {
            // SAFETY: `out` has room for `size` bytes.
            unsafe { (self.device.api().clGetProgramInfo)(self.program, api::PROGRAM_KERNEL_NAMES, size, out, got) }
        });
        let names = names.map_or(String::new(), |names| api::text(&names));
        names.split(';').filter(|n| !n.is_empty()).map(str::to_owned).collect()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.device.is_usable() {
            // SAFETY: ours; kernels hold a reference to this handle.
            unsafe { (self.device.api().clReleaseProgram)(self.program) };
        }
    }
}

impl Program for OpenClProgram {
    fn kernel(&self, name: &str) -> Result<Arc<dyn Kernel>, HalError> {
        let handle = &self.0;
        let (device, api) = (&handle.device, handle.device.api());
        device.usable()?;
        let missing = || HalError::NoSuchKernel { name: name.to_owned(), known: handle.kernel_names() };
        let c_name = CString::new(name).map_err(|_| missing())?;
        let mut code = 0;
        // SAFETY: the name ends with NUL.
        let kernel = unsafe { (api.clCreateKernel)(handle.program, c_name.as_ptr(), &mut code) };
        if code == api::INVALID_KERNEL_NAME {
            return Err(missing());
        }
        device.check("clCreateKernel", code)?;
        let mut kernel = OpenClKernel {
            name: name.to_owned(),
            max_work_group_size: 0,
            parameters: 0,
            kernel,
            arguments: Mutex::new(()),
            program: handle.clone(),
        };
        let parameters = api::property(|size, out, got| {
            // SAFETY: `out` has room for `size` bytes.
            unsafe { (api.clGetKernelInfo)(kernel.kernel, api::KERNEL_NUM_ARGS, size, out, got) }
        });
        let limit = api::property(|size, out, got| {
            let what = api::KERNEL_WORK_GROUP_SIZE;
            // SAFETY: `out` has room for `size` bytes.
            unsafe { (api.clGetKernelWorkGroupInfo)(kernel.kernel, device.id(), what, size, out, got) }
        });
        let number = |call, value: Result<Vec<u8>, i32>| match value {
            Ok(bytes) => Ok(u32::try_from(api::number(&bytes)).unwrap_or(u32::MAX)),
            Err(code) => device.check(call, code).map(|()| 0),
        };
        kernel.parameters = number("clGetKernelInfo", parameters)?;
        kernel.max_work_group_size = number("clGetKernelWorkGroupInfo", limit)?.min(device.info().max_work_group_size);
        Ok(Arc::new(kernel))
    }
}

impl OpenClKernel {
    pub(crate) fn handle(&self) -> ClKernel {
        self.kernel
    }

    pub(crate) fn arguments(&self) -> &Mutex<()> {
        &self.arguments
    }

    pub(crate) fn parameters(&self) -> u32 {
        self.parameters
    }

    pub(crate) fn belongs_to(&self, device: &OpenClDevice) -> bool {
        std::ptr::eq(&*self.program.device, device)
    }
}

impl Kernel for OpenClKernel {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_work_group_size(&self) -> u32 {
        self.max_work_group_size
    }
}

impl Drop for OpenClKernel {
    fn drop(&mut self) {
        if self.program.device.is_usable() {
            // SAFETY: ours; a launched kernel is retained by the driver.
            unsafe { (self.program.device.api().clReleaseKernel)(self.kernel) };
        }
    }
}
