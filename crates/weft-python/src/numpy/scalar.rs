//! NumPy scalars: reading one without calling NumPy, and making one.

use std::ffi::c_void;

use pyo3::ffi;
use pyo3::prelude::*;
use weft_ir::DType;

use super::{Api, type_num};

/// Positions of the scalar types in NumPy's table, by dtype. `long long` has a type of its own.
const SCALAR_TYPES: [(usize, DType); 16] = [
    (31, DType::F64),
    (30, DType::F32),
    (23, DType::I64),
    (22, DType::I32),
    (8, DType::Bool),
    (24, DType::I64),
    (20, DType::I8),
    (21, DType::I16),
    (25, DType::U8),
    (26, DType::U16),
    (27, DType::U32),
    (28, DType::U64),
    (29, DType::U64),
    (33, DType::C64),
    (34, DType::C128),
    (217, DType::F16),
];

/// A scalar object: its value follows the head.
#[repr(C)]
struct RawScalar {
    head: [usize; 2],
    value: u64,
}

/// The dtype of a NumPy scalar by its exact type, or `None` for any other object.
///
/// # Safety
/// `object` is a live object and the GIL is held.
pub(crate) unsafe fn scalar_dtype(object: *mut ffi::PyObject) -> Option<DType> {
    let api = Api::get();
    // SAFETY: a live object has a type.
    let ty = unsafe { ffi::Py_TYPE(object) };
    SCALAR_TYPES.iter().find(|(slot, _)| api.type_at(*slot) == ty).map(|&(_, d)| d)
}

/// The bytes of a scalar, in the low ones of a number.
///
/// # Safety
/// `object` is a live NumPy scalar of `dtype`, as [`scalar_dtype`] found it.
pub(crate) unsafe fn read_scalar(object: *mut ffi::PyObject, dtype: DType) -> u128 {
    let address = object as usize + std::mem::offset_of!(RawScalar, value);
    // SAFETY: the value lies behind the head, aligned, in as many bytes as its dtype has.
    unsafe {
        match dtype.size() {
            1 => u128::from(*(address as *const u8)),
            2 => u128::from(*(address as *const u16)),
            4 => u128::from(*(address as *const u32)),
            8 => u128::from(*(address as *const u64)),
            // Only aligned to eight.
            _ => (address as *const u128).read_unaligned(),
        }
    }
}

/// A NumPy scalar from its bytes.
pub(crate) fn make_scalar(py: Python<'_>, dtype: DType, mut bits: u128) -> PyResult<Py<PyAny>> {
    if dtype == DType::Bool {
        bits &= 1;
    }
    let api = Api::get();
    // SAFETY: little-endian: the low bytes are the element; the descriptor is ours to release.
    unsafe {
        let descr = api.descr(type_num(dtype));
        let object = api.scalar(&raw mut bits as *mut c_void, descr);
        ffi::Py_DECREF(descr);
        Ok(Bound::from_owned_ptr_or_err(py, object)?.unbind())
    }
}
