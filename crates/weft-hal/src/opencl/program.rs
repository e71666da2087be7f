//! Programs and kernels.

use std::ffi::{CString, c_char};
use std::sync::{Arc, Mutex, OnceLock};

use super::api::{self, ClKernel, ClProgram};
use super::device::OpenClDevice;
use crate::signature::{self, Signatures};
use crate::{Device, HalError, Kernel, Parameter, Program, ProgramSource, WorkGroups};

pub(crate) struct OpenClProgram(Arc<Handle>);

/// Releases the program when its last kernel is gone.
struct Handle {
    device: Arc<OpenClDevice>,
    program: ClProgram,
    /// What the kernels of a SPIR-V module declare; drivers tell it of OpenCL C only.
    signatures: Option<Signatures>,
}

pub(crate) struct OpenClKernel {
    name: String,
    max_work_group_size: u32,
    parameters: u32,
    kernel: ClKernel,
    /// Held from the first argument to the enqueue: the arguments are part of the kernel object.
    arguments: Mutex<()>,
    program: Arc<Handle>,
    declared: OnceLock<Option<Vec<Parameter>>>,
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
    let (signatures, options) = match source {
        ProgramSource::SpirV(module) => (Some(signature::of_spirv(module)), c""),
        _ => (None, c"-cl-kernel-arg-info"),
    };
    let handle = Handle { device: device.clone(), program, signatures };
    // SAFETY: the options end with NUL; no callback, so the call returns when the build is over.
    let code = unsafe {
        let null = std::ptr::null_mut();
        (api.clBuildProgram)(program, 1, &device.id(), options.as_ptr(), null, null)
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
            declared: OnceLock::new(),
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

impl OpenClKernel {
    /// One answer about a parameter.
    fn about(&self, index: u32, what: u32) -> Option<Vec<u8>> {
        let answer = api::property(|size, out, got| {
            let api = self.program.device.api();
            // SAFETY: `out` has room for `size` bytes.
            unsafe { (api.clGetKernelArgInfo)(self.kernel, index, what, size, out, got) }
        });
        answer.ok()
    }

    /// What the driver, or the module, says of the parameters.
    fn declare(&self) -> Option<Vec<Parameter>> {
        if let Some(signatures) = &self.program.signatures {
            return signatures.get(&self.name).filter(|list| list.len() == self.parameters as usize).cloned();
        }
        let parameter = |i| {
            let name = api::text(&self.about(i, api::KERNEL_ARG_NAME)?);
            let ty = api::text(&self.about(i, api::KERNEL_ARG_TYPE_NAME)?);
            let space = api::number(&self.about(i, api::KERNEL_ARG_ADDRESS_QUALIFIER)?) as u32;
            let qualifier = api::number(&self.about(i, api::KERNEL_ARG_TYPE_QUALIFIER)?);
            let space = space.wrapping_sub(api::KERNEL_ARG_ADDRESS_GLOBAL);
            Some(signature::of_opencl(name, &ty, space, qualifier & api::KERNEL_ARG_TYPE_CONST != 0))
        };
        (0..self.parameters).map(parameter).collect()
    }

    /// One answer about its work-groups.
    fn group(&self, what: u32) -> Option<Vec<u8>> {
        let device = &self.program.device;
        let answer = api::property(|size, out, got| {
            // SAFETY: `out` has room for `size` bytes.
            unsafe { (device.api().clGetKernelWorkGroupInfo)(self.kernel, device.id(), what, size, out, got) }
        });
        answer.ok()
    }
}

impl Kernel for OpenClKernel {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_work_group_size(&self) -> u32 {
        self.max_work_group_size
    }

    fn parameters(&self) -> Option<&[Parameter]> {
        if !self.program.device.is_usable() {
            return None;
        }
        self.declared.get_or_init(|| self.declare()).as_deref()
    }

    fn work_groups(&self) -> WorkGroups {
        if !self.program.device.is_usable() {
            return WorkGroups::default();
        }
        let number = |what| self.group(what).map(|bytes| api::number(&bytes));
        let required = self.group(api::KERNEL_COMPILE_WORK_GROUP_SIZE).map(|bytes| api::sizes(&bytes));
        WorkGroups {
            preferred_multiple: number(api::KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE).map(|n| n as u32),
            // Zeros where the program leaves it open.
            required: required.and_then(|list| list.try_into().ok()).filter(|size| *size != [0; 3]),
            local_mem_bytes: number(api::KERNEL_LOCAL_MEM_SIZE),
            private_mem_bytes: number(api::KERNEL_PRIVATE_MEM_SIZE),
        }
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
