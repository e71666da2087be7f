//! Modules and their functions.

use std::borrow::Cow;
use std::ffi::{CString, c_void};
use std::sync::Arc;

use super::api::{self, CuFunction, CuModule};
use super::device::CudaDevice;
use crate::signature::{self, Signatures};
use crate::{Device, HalError, Kernel, Parameter, Program, ProgramSource, WorkGroups};

/// Room for what the assembler says about a bad program.
const LOG_BYTES: usize = 16 << 10;

pub(crate) struct CudaProgram(Arc<Handle>);

/// Unloads the module when its last kernel is gone.
struct Handle {
    device: Arc<CudaDevice>,
    module: CuModule,
    /// What the text declares: the driver reads as many arguments as the kernel has parameters.
    signatures: Signatures,
}

pub(crate) struct CudaKernel {
    name: String,
    max_work_group_size: u32,
    function: CuFunction,
    program: Arc<Handle>,
}

pub(crate) fn load(device: Arc<CudaDevice>, source: ProgramSource<'_>) -> Result<CudaProgram, HalError> {
    let ProgramSource::Ptx(ptx) = source else {
        return Err(HalError::Unsupported(format!("{} takes PTX, not {}", device.filter(), source.kind())));
    };
    // The driver reads up to a NUL.
    let ptx: Cow<'_, [u8]> = match ptx.contains(&0) {
        true => ptx.into(),
        false => [ptx, b"\0"].concat().into(),
    };
    let mut log = vec![0_u8; LOG_BYTES];
    let mut options = [api::JIT_ERROR_LOG_BUFFER, api::JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // Sizes are passed in the place of the pointer, not behind it.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
    let mut module = CuModule::NULL;
    let code = {
        let _current = device.enter()?;
        // SAFETY: the text ends with NUL; the options and their values come in pairs; the log has the size given.
        unsafe {
            (device.api().cuModuleLoadDataEx)(
                &mut module,
                ptx.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        }
    };
    match device.check("cuModuleLoadDataEx", code) {
        Ok(()) => Ok(CudaProgram(Arc::new(Handle { device, module, signatures: signature::of_ptx(&ptx) }))),
        Err(HalError::Driver { text, .. }) if code != api::OUT_OF_MEMORY => {
            let end = log.iter().position(|&b| b == 0).unwrap_or(log.len());
            let log = String::from_utf8_lossy(&log[..end]);
            Err(HalError::BadProgram {
                device: device.filter().to_owned(),
                log: format!("{text}\n{log}").trim_end().to_owned(),
            })
        }
        Err(error) => Err(error),
    }
}

impl Handle {
    fn kernel_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.signatures.keys().cloned().collect();
        names.sort();
        names
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Ok(_current) = self.device.enter() {
            // SAFETY: ours; kernels hold a reference to this handle, and launches are over (the contract of `launch`).
            unsafe { (self.device.api().cuModuleUnload)(self.module) };
        }
    }
}

impl Program for CudaProgram {
    fn kernel(&self, name: &str) -> Result<Arc<dyn Kernel>, HalError> {
        let (device, api) = (&self.0.device, self.0.device.api());
        let missing = || HalError::NoSuchKernel { name: name.to_owned(), known: self.0.kernel_names() };
        let c_name = CString::new(name).map_err(|_| missing())?;
        let _current = device.enter()?;
        let mut function = CuFunction::NULL;
        // SAFETY: the name ends with NUL; stores a handle.
        let code = unsafe { (api.cuModuleGetFunction)(&mut function, self.0.module, c_name.as_ptr()) };
        if code == api::NOT_FOUND {
            return Err(missing());
        }
        device.check("cuModuleGetFunction", code)?;
        let mut limit = 0;
        // SAFETY: stores an int.
        let code = unsafe { (api.cuFuncGetAttribute)(&mut limit, api::FUNC_MAX_THREADS_PER_BLOCK, function) };
        device.check("cuFuncGetAttribute", code)?;
        Ok(Arc::new(CudaKernel {
            name: name.to_owned(),
            max_work_group_size: u32::try_from(limit).unwrap_or(0),
            function,
            program: self.0.clone(),
        }))
    }
}

impl CudaKernel {
    pub(crate) fn function(&self) -> CuFunction {
        self.function
    }

    pub(crate) fn belongs_to(&self, device: &CudaDevice) -> bool {
        std::ptr::eq(&*self.program.device, device)
    }
}

impl Kernel for CudaKernel {
    fn name(&self) -> &str {
        &self.name
    }

    fn max_work_group_size(&self) -> u32 {
        self.max_work_group_size
    }

    fn parameters(&self) -> Option<&[Parameter]> {
        self.program.signatures.get(&self.name).map(Vec::as_slice)
    }

    fn work_groups(&self) -> WorkGroups {
        let device = &self.program.device;
        let Ok(_current) = device.enter() else { return WorkGroups::default() };
        let attribute = |what| {
            let mut value = 0;
            // SAFETY: stores an int.
            let code = unsafe { (device.api().cuFuncGetAttribute)(&mut value, what, self.function) };
            u64::try_from(value).ok().filter(|_| code == api::SUCCESS)
        };
        WorkGroups {
            preferred_multiple: device.info().sub_group_sizes.first().copied(),
            required: None,
            local_mem_bytes: attribute(api::FUNC_SHARED_SIZE_BYTES),
            private_mem_bytes: attribute(api::FUNC_LOCAL_SIZE_BYTES),
        }
    }
}
