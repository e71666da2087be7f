//! NumPy's memory handler over our pool: how an array that Weft made is freed and resized by NumPy.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use weft_ir::DType;
use weft_runtime::pool;

use super::new_array;

/// `PyDataMem_Handler`, version 1.
#[repr(C)]
struct Handler {
    name: [c_char; 127],
    version: u8,
    ctx: *mut c_void,
    malloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    calloc: unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
}

// SAFETY: constant after construction; its functions may be called from any thread.
unsafe impl Sync for Handler {}

/// What `numpy._core.multiarray.get_handler_name(array)` shows.
const NAME: &[u8] = b"weft";

/// The name NumPy gives to capsules that hold a handler.
const CAPSULE_NAME: &CStr = c"mem_handler";

static HANDLER: Handler = Handler {
    name: {
        let mut name = [0; 127];
        let mut i = 0;
        while i < NAME.len() {
            name[i] = NAME[i] as c_char;
            i += 1;
        }
        name
    },
    version: 1,
    ctx: null_mut(),
    malloc: malloc_in_pool,
    calloc: calloc_in_pool,
    realloc: realloc_in_pool,
    free: free_in_pool,
};

unsafe extern "C" fn malloc_in_pool(_: *mut c_void, size: usize) -> *mut c_void {
    pool::host_alloc(size).cast()
}

unsafe extern "C" fn calloc_in_pool(_: *mut c_void, count: usize, size: usize) -> *mut c_void {
    count.checked_mul(size).map_or(null_mut(), |bytes| pool::host_calloc(bytes).cast())
}

unsafe extern "C" fn realloc_in_pool(_: *mut c_void, data: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: NumPy hands back what this handler gave it, and uses only the answer from here on.
    unsafe { pool::host_realloc(data.cast(), size).cast() }
}

unsafe extern "C" fn free_in_pool(_: *mut c_void, data: *mut c_void, _size: usize) {
    // SAFETY: NumPy hands back, once, what this handler gave it.
    unsafe { pool::host_free(data.cast()) };
}

/// The capsule that arrays of ours carry.
pub(super) fn handler(py: Python<'_>) -> PyResult<Py<PyAny>> {
    static CAPSULE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let capsule = CAPSULE.get_or_try_init(py, || {
        // SAFETY: the handler and the name are statics; there is nothing to destroy.
        unsafe {
            let pointer = &raw const HANDLER as *mut c_void;
            let capsule = ffi::PyCapsule_New(pointer, CAPSULE_NAME.as_ptr(), None);
            Bound::from_owned_ptr_or_err(py, capsule).map(Bound::unbind)
        }
    })?;
    Ok(capsule.clone_ref(py))
}

/// Frees memory of the pool that no array took.
///
/// # Safety
/// `data` came from the pool and nobody uses it.
pub(crate) unsafe fn free(data: *mut u8) {
    // SAFETY: passed on to the caller.
    unsafe { pool::host_free(data) };
}

/// A C-ordered f64 array of zeros in memory of the pool: what results of compiled code are. For tests.
#[pyfunction]
#[pyo3(name = "_pool_array")]
pub(crate) fn pool_array(py: Python<'_>, shape: Vec<isize>) -> PyResult<Py<PyAny>> {
    let mut strides = vec![8; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i].max(1);
    }
    let bytes = shape.iter().product::<isize>() as usize * 8;
    let data = pool::host_calloc(bytes);
    if data.is_null() {
        return Err(pyo3::exceptions::PyMemoryError::new_err(format!("{bytes} bytes")));
    }
    // SAFETY: fresh memory of the pool, described by shape and strides.
    unsafe { new_array(py, DType::F64, &shape, &strides, data) }.map(Bound::unbind)
}
