//! Every environment variable this crate reads. Nothing else in the crate looks at the environment.

use std::ffi::OsString;
use std::path::PathBuf;

/// `WEFT_DEVICE`: a filter string, the default device.
pub(crate) fn device() -> Option<String> {
    std::env::var("WEFT_DEVICE").ok().filter(|s| !s.is_empty())
}

/// `WEFT_NULL_DEVICE=1`: list the null device.
pub(crate) fn null_device() -> bool {
    std::env::var_os("WEFT_NULL_DEVICE").is_some_and(|v| v == "1")
}

/// `WEFT_NUM_THREADS`: threads of the native pool, the caller's included. `Err` has a value that is no positive number.
pub(crate) fn num_threads() -> Result<Option<usize>, String> {
    let Some(value) = std::env::var_os("WEFT_NUM_THREADS").filter(|v| !v.is_empty()) else {
        return Ok(None);
    };
    let text = value.to_string_lossy();
    match text.trim().parse() {
        Ok(n) if n > 0 => Ok(Some(n)),
        _ => Err(format!("WEFT_NUM_THREADS=`{text}` is not a positive number and was ignored")),
    }
}

/// `WEFT_OPENCL_LIB`: an OpenCL library (loader or driver), tried before all others.
pub(crate) fn opencl_library() -> Option<OsString> {
    std::env::var_os("WEFT_OPENCL_LIB").filter(|v| !v.is_empty())
}

/// `WEFT_OPENCL_DIR`: colon-separated folders in which to look for `libintelocl.so`.
pub(crate) fn opencl_dirs() -> Vec<PathBuf> {
    std::env::var_os("WEFT_OPENCL_DIR")
        .map_or(Vec::new(), |v| std::env::split_paths(&v).filter(|p| !p.as_os_str().is_empty()).collect())
}
