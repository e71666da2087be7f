//! The closed list: every symbol that object code may refer to, and where it is in this process.
//!
//! libm, libmvec, three memory functions and [`helpers`](crate::helpers). Everything else of the runtime is reached through the table in
//! [`crate::abi::RuntimeTable`], so that cached objects need no relocation against us.

use std::ffi::CStr;
use std::sync::OnceLock;

use crate::{helpers, mvec};

/// libm functions that lowering or instruction selection may ask for, without the `f` suffix of their f32 twins.
const LIBM: &[&str] =
    &["fmod", "floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven", "sqrt", "fmin", "fmax"];

/// libm functions of complex numbers.
const LIBM_COMPLEX: &[&str] = &["csin", "ccos", "cexp", "clog", "csqrt", "cpow"];

/// Whether a symbol may be referred to.
pub fn is_known(name: &str) -> bool {
    memory_function(name).is_some()
        || helpers::address(name).is_some()
        || LIBM_COMPLEX.contains(&name.strip_suffix('f').unwrap_or(name))
        || LIBM.contains(&name.strip_suffix('f').unwrap_or(name))
        || LIBM.contains(&name)
        || mvec::is_scalar_symbol(name)
        || mvec::is_vector_symbol(name)
}

/// The address of a symbol of the closed list; `None` for others, and where a library lacks it.
pub fn address(name: &str) -> Option<u64> {
    if !is_known(name) {
        return None;
    }
    if let Some(p) = memory_function(name).or_else(|| helpers::address(name)) {
        return Some(p);
    }
    let library = if mvec::is_vector_symbol(name) { libmvec()? } else { libm()? };
    find(library, name)
}

/// Whether libmvec can be loaded in this process.
pub(crate) fn has_libmvec() -> bool {
    libmvec().is_some()
}

fn memory_function(name: &str) -> Option<u64> {
    Some(match name {
        "memcpy" => libc::memcpy as *const () as u64,
        "memmove" => libc::memmove as *const () as u64,
        "memset" => libc::memset as *const () as u64,
        _ => return None,
    })
}

fn libm() -> Option<usize> {
    static HANDLE: OnceLock<Option<usize>> = OnceLock::new();
    *HANDLE.get_or_init(|| open(c"libm.so.6"))
}

fn libmvec() -> Option<usize> {
    static HANDLE: OnceLock<Option<usize>> = OnceLock::new();
    *HANDLE.get_or_init(|| open(c"libmvec.so.1"))
}

fn open(name: &CStr) -> Option<usize> {
    // SAFETY: system libraries without constructors of note; never closed.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    (!handle.is_null()).then_some(handle as usize)
}

fn find(library: usize, name: &str) -> Option<u64> {
    let name = super::module::c_string(name);
    // SAFETY: a handle from `open`.
    let p = unsafe { libc::dlsym(library as *mut libc::c_void, name.as_ptr()) };
    (!p.is_null()).then_some(p as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_closed() {
        for known in ["memcpy", "fmod", "fmodf", "csqrtf", "weft_cpow", "sin", "_ZGVdN4v_sin", "_ZGVeN16vv_powf"] {
            assert!(address(known).is_some(), "{known}");
        }
        for other in ["malloc", "printf", "system", "PyObject_Call", "_ZGVdN4v_system", "weft.sin.f64"] {
            assert!(address(other).is_none(), "{other}");
        }
    }
}
